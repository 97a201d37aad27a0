"""Run the page's own rendering code in CPython, for the part of the page that is there before Python starts.

NumPy is needed for it, in a pinned version. If the running Python has that version it is used as it is,
otherwise a private virtual environment under the cache.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .console import BuildError
from .environment import private_python
from .fetch import PINS

PROGRAM = """
import json, sys
from attention_lab.render import page
json.dump({"slots": page.prerender(), "stylesheet": page.stylesheet()}, sys.stdout)
"""


@dataclass(frozen=True)
class Prerendered:
    """Slot name -> HTML, and the generated part of the style sheet."""

    slots: dict[str, str]
    stylesheet: str


def numpy_requirement() -> str:
    """The pinned NumPy for this Python, as 'numpy==X'."""
    old = sys.version_info < (3, 14)
    for line in PINS["packages"]["prerender"]:
        requirement, _, marker = line.partition(";")
        if ("<" in marker) == old:
            return str(requirement.strip())
    raise BuildError("pins.json names no NumPy for this Python")


def python_with_numpy() -> str:
    """An interpreter that has the pinned NumPy."""
    requirement = numpy_requirement()
    try:
        if importlib.metadata.version("numpy") == requirement.partition("==")[2]:
            return sys.executable
    except importlib.metadata.PackageNotFoundError:
        pass
    return str(private_python([requirement], "prerender"))


def prerender(package_root: Path) -> Prerendered:
    """Render the default page with the package under `package_root`."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(package_root),
        "PYTHONHASHSEED": "0",
        "PYTHONIOENCODING": "utf-8",
    }
    done = subprocess.run(
        [python_with_numpy(), "-B", "-c", PROGRAM],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env=environment,
    )
    if done.returncode:
        raise BuildError(f"prerendering the page failed:\n{done.stderr.strip()}")
    result = json.loads(done.stdout)
    return Prerendered(result["slots"], result["stylesheet"])
