"""Tools the build borrows: pip, private virtual environments under the cache, node and npm.

Nothing is installed into the Python that runs the build, and nothing outside the cache or `.venv`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from .console import BuildError, say
from .paths import cache_dir

Command = list[str]


def run(command: Command, *, what: str, timeout: float = 1800) -> subprocess.CompletedProcess[str]:
    """Run a helper command quietly; on failure raise BuildError with the end of what it printed."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
        )
    except FileNotFoundError:
        raise BuildError(f"{what} failed: {command[0]} is not there.") from None
    except subprocess.TimeoutExpired:
        raise BuildError(f"{what} failed: no result after {timeout:.0f} s.") from None
    if done.returncode:
        tail = "\n".join("    " + line for line in done.stdout.strip().splitlines()[-12:])
        raise BuildError(f"{what} failed (exit code {done.returncode}). The end of its output:\n{tail}")
    return done


def venv_python(folder: Path) -> Path:
    """The interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


STAMP = "attention-lab.stamp"


def make_venv(folder: Path, requirements: list[str]) -> Path:
    """A virtual environment with exactly these requirements; reused while both they and Python stay the same.

    The stamp says whose folder it is, and what is in it once that is true: an interrupted install is made again
    from nothing, and a folder that somebody else made is left alone.
    """
    stamp = folder / STAMP
    wanted = "\n".join([sys.version, *requirements])
    python = venv_python(folder)
    if stamp.is_file() and stamp.read_text() == wanted and python.exists():
        return python
    if stamp.is_file():
        shutil.rmtree(folder)
    elif folder.exists() and any(folder.iterdir()):
        raise BuildError(f"{folder} was not made by build.py. Move it away and run the same command again.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(exist_ok=True)
    stamp.write_text("unfinished")
    import venv  # not part of Pyodide's standard library, where the pure parts of this package are tested too

    try:
        venv.create(folder, with_pip=True, symlinks=os.name != "nt")
    except (subprocess.CalledProcessError, OSError) as error:
        raise BuildError(
            f"could not make a virtual environment in {folder}: {error}\n"
            "On Debian and Ubuntu the module is in the package python3-venv."
        ) from None
    if requirements:
        run(
            [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet", *requirements],
            what=f"installing {', '.join(requirements)}",
            timeout=3600,
        )
    stamp.write_text(wanted)
    return python


def private_python(requirements: list[str], label: str) -> Path:
    """A virtual environment of our own under the cache, named by what is in it."""
    key = hashlib.sha256("\n".join([sys.version, *requirements]).encode()).hexdigest()[:12]
    folder = cache_dir() / "venvs" / f"{label}-{key}"
    if not (folder / STAMP).is_file() and requirements:
        say(f"Installing {', '.join(requirements)} for the build ...")
    return make_venv(folder, requirements)


@cache
def pip() -> Command:
    """How to call pip: the running Python's own, else that of a private environment."""
    probe = subprocess.run(
        [sys.executable, "-m", "pip", "--version"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    python = sys.executable if probe.returncode == 0 else str(private_python([], "pip"))
    return [python, "-m", "pip", "--disable-pip-version-check"]


def _node_version(node: str) -> int:
    try:
        out = subprocess.run(
            [node, "--version"], capture_output=True, text=True, timeout=60, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    match = re.match(r"v(\d+)\.", out)
    return int(match[1]) if match else 0


@cache
def wheel_node(requirement: str) -> tuple[str, str]:
    """(node, npm) out of a PyPI package, for machines that have neither."""
    scripts = private_python([requirement], "node").parent
    found = [shutil.which(name, path=str(scripts)) for name in ("node", "npm")]
    if not all(found):
        raise BuildError(f"the package {requirement} brought no node and npm.")
    return str(found[0]), str(found[1])


@cache
def node(requirement: str) -> str:
    """A node that can run Pyodide (18 or newer): the one on PATH, else one from PyPI."""
    found = shutil.which("node")
    return found if found and _node_version(found) >= 18 else wheel_node(requirement)[0]
