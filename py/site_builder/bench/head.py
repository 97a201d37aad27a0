"""The real head's figures: a sentence of 12 words through all layers, in the page and in CPython, and the page's memory.

Needs a build with the model.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from site_builder.console import BuildError
from site_builder.model import FOLDER
from site_builder.paths import ROOT
from site_builder.prerender import python_with_numpy

from .browsers import Engine
from .figures import PAGES, Figure, figure_of
from .rounds import Rounds

SENTENCES = [
    f"she opened the {colour} door and the cold wind came in quickly"
    for colour in ("old", "red", "blue", "green", "small", "front")
]
MOST_SECONDS = 1.5
MOST_MEMORY = 250
"""Megabytes, private to the process."""
PROGRAM = """
import json, sys, time
from pathlib import Path
from attention_lab.model.folder import load_folder
encoder, times = load_folder(Path(sys.argv[1])), []
for text in json.loads(sys.argv[2]):
    sentence = encoder.pass_of(text)
    begin = time.perf_counter()
    sentence.layer(encoder.facts.layers - 1)
    times.append(1000 * (time.perf_counter() - begin))
print(json.dumps(times))
"""


def is_there(site: Path) -> bool:
    """Whether this build has the model."""
    return (site / FOLDER / "manifest.json").is_file()


def in_cpython(pack: Path) -> float:
    """Milliseconds of the forward pass in CPython: the median over the sentences, the first of which warms up."""
    done = subprocess.run(
        [python_with_numpy(), "-B", "-c", PROGRAM, str(pack), json.dumps(SENTENCES)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT / "py")},
    )
    if done.returncode:
        raise BuildError(f"the forward pass in CPython failed:\n{done.stderr.strip()[-2000:]}")
    times: list[float] = json.loads(done.stdout)
    return statistics.median(times[1:])


def write_page(folder: Path, lab: str, page: Callable[..., str], address: str) -> None:
    """The page that measures; `page(text, more, **task)` adds the report."""
    work = (PAGES / "head.js").read_text(encoding="utf-8")
    task = {"sentences": SENTENCES, "memory": f"{address}memory"}
    (folder / "lab" / "head.html").write_text(page(lab, work, then="head", **task), encoding="utf-8")


def measure(server: Rounds, engine: Engine, profile: Path, pack: Path, pairs: int) -> list[Figure]:
    """CPython and the page take turns. Memory is left out where the system does not tell it."""
    page = f"{server.address}lab/head.html"
    server.open(engine, profile, [page])  # fetches the model once; the others find it in the browser's cache
    server.reports.clear()
    baseline = []
    for _ in range(pairs):
        baseline.append(in_cpython(pack))
        server.open(engine, profile, [page])
    reports: list[dict[str, Any]] = [report["lab"] for report in server.taken(engine, page)]

    def beside(key: str, limit: float) -> list[tuple[float, float]]:
        return [(report[key], limit) for report in reports if report[key] is not None]

    lines = [
        ("real head, 12 words through 6 layers ÷ CPython", "ms", [
            (report["pass"], time) for report, time in zip(reports, baseline, strict=True)
        ], None),
        (f"real head, 12 words → 6 layers painted ÷ {MOST_SECONDS:g} s", "ms", beside("shown", 1000 * MOST_SECONDS), 1.0),
        (f"the page's process with the real head ÷ {MOST_MEMORY:g} MB", "MB", beside("memory", MOST_MEMORY), 1.0),
        (f"the page's process with the real head and 128 pieces ÷ {MOST_MEMORY:g} MB", "MB", beside("longest", MOST_MEMORY), 1.0),
    ]  # fmt: skip
    return [figure_of(name, engine.name, unit, both, limit) for name, unit, both, limit in lines if both]
