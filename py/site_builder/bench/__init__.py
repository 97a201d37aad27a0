"""`build.py bench`: how fast the page is, each figure beside a baseline measured alternately in the same run.

Starts Chromium, and Firefox and WebKit where installed, without a driver: the pages report by themselves (tests/bench/).
"""

from __future__ import annotations

import gzip
import json
import math
import os
import platform
import re
import shutil
import statistics
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from site_builder import model
from site_builder.build import build
from site_builder.console import BuildError, say
from site_builder.fetch import NUMPY_WHEEL, PINS, obtain
from site_builder.paths import ROOT, SINGLE_FILE
from site_builder.runtime import PYSCRIPT_CORE, lock_file
from site_builder.serve import background

from . import head, labs
from .browsers import Engine, engines
from .figures import PAGES, Figure, figure_of
from .rounds import Rounds

BLOCKS = "longest task of an edit at 16 × 16, 0 when under 50 ms,"
SIZES = [2, 8, 64, 256, 512, 1024]
MARKS = ("<!--bench-->", "<!--/bench-->")
NO_HEAD = "No figures of the real head: the model is not in the cache. `build.py build --with-model` fetches it once."
PACKED = {".bin", ".zip", ".whl"}


def bench(pairs: int = 7, as_json: bool = False, only: str | None = None, readme: bool = False) -> int:
    """Measure, print one table; the exit code says whether every limit is kept."""
    if pairs < 7:
        raise BuildError(f"{pairs} pairs are too few for a median with a spread: at least 7")
    site = build(with_model=model.is_cached(ROOT / "py"))
    found = [engine for engine in engines() if only in (None, engine.name.lower())]
    if not found:
        raise BuildError("no browser to measure with: install Chromium, Firefox or WebKitGTK's MiniBrowser")
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="attention-lab-bench-") as work:
        folder = Path(work) / "site"
        with background(Rounds(prepare(site, folder))) as server:
            write_pages(folder, site, server.address)
            for engine in found:
                say(f"Measuring in {engine.name} {engine.version}: {pairs} pairs ...")
                figures += measure(server, engine, Path(work) / f"profile-{engine.name}", folder, pairs)
            asked = server.asked[f"{server.address}lab/index.html"]
    sizes = bytes_until_ready(site, asked)
    result = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "browsers": {engine.name: engine.version for engine in found},
        "pairs": pairs,
        "figures": [asdict(figure) for figure in figures],
        "bytes": {
            "parts": sizes,
            "until ready": sum(sizes.values()),
            "single file": (site / SINGLE_FILE).stat().st_size,
        },
        "real head": head.is_there(site),
    }
    say(json.dumps(result, indent=2) if as_json else "\n".join(table(result, figures)))
    if readme:
        into_readme(result, figures)
    missed = [figure for figure in figures if figure.limit is not None and not figure.ratio <= figure.limit]
    return 1 if missed else 0


# --- what is opened ---------------------------------------------------------------------------------------------------


def prepare(site: Path, folder: Path) -> Path:
    """The built site without its service worker, and the two baselines, side by side."""
    shutil.copytree(site, folder / "lab", ignore=shutil.ignore_patterns("service-worker.js", SINGLE_FILE))
    found = obtain("pyodide", "pyscript")
    stock = folder / "stock"
    for name, path in found.items():
        place = (
            stock / "pyodide" / name
            if name in PINS["pyodide"]["files"]
            else stock / "pyscript" / Path(name).name
        )
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    core = (stock / "pyscript" / PYSCRIPT_CORE).read_text(encoding="utf-8")
    (stock / "pyscript" / "core.js").write_text(f'import "./{PYSCRIPT_CORE}";\n')
    for name in re.findall(
        r"\./(pyodide_graph-[\w-]+\.js)", core
    ):  # only for a warning about unknown packages
        (stock / "pyscript" / name).write_text("export default {};\n")
    lock = lock_file()
    lock["packages"] = {
        "numpy": {
            "name": "numpy",
            "version": NUMPY_WHEEL.split("-")[1],
            "file_name": NUMPY_WHEEL,
            "sha256": PINS["pyodide"]["files"][NUMPY_WHEEL]["sha256"],
            "install_dir": "site",
            "package_type": "package",
            "imports": ["numpy"],
            "depends": [],
            "unvendored_tests": False,
        }
    }
    (stock / "pyodide" / "pyodide-lock.json").write_text(json.dumps(lock))
    return folder


def write_pages(folder: Path, site: Path, address: str) -> None:
    """The pages that report, each with its task in front of everything else."""
    report = (PAGES / "report.js").read_text(encoding="utf-8")
    plain = (PAGES / "plain.js").read_text(encoding="utf-8")

    def page(text: str, more: str = "", **task: object) -> str:
        task = {"done": f"{address}done", "until": "ready", "then": "", "sizes": SIZES, **task}
        script = f"<script>const BENCH = {json.dumps(task)};\n{more}{report}</script>"
        changed, count = re.subn(r"<head>", lambda match: match[0] + script, text, count=1)
        if not count:
            raise BuildError("a page to be measured has no <head>")
        return changed

    lab = (site / "index.html").read_text(encoding="utf-8")
    bare = re.sub(r"<script\b.*?</script>|<link rel=\"(?:module)?preload\"[^>]*>", "", lab, flags=re.DOTALL)
    (folder / "lab" / "index.html").write_text(page(lab), encoding="utf-8")
    (folder / "lab" / "bare.html").write_text(page(bare, until="paint"), encoding="utf-8")
    (folder / "lab" / "engine.html").write_text(page(lab, plain, then="engine"), encoding="utf-8")
    (folder / "lab" / "edits.html").write_text(page(lab, then="edits"), encoding="utf-8")
    (folder / "stock" / "index.html").write_text(
        page((PAGES / "stock.html").read_text(encoding="utf-8")), encoding="utf-8"
    )
    (folder / "plain").mkdir()
    (folder / "plain" / "plain.js").write_text(plain, encoding="utf-8")
    text = (PAGES / "plain.html").read_text(encoding="utf-8")
    (folder / "plain" / "index.html").write_text(page(text, then="edits"), encoding="utf-8")
    labs.write_pages(folder, lab, page)
    head.write_page(folder, lab, page, address)
    disk = folder.parent / "disk"
    disk.mkdir()
    single = (site / SINGLE_FILE).read_text(encoding="utf-8")
    (disk / SINGLE_FILE).write_text(page(single), encoding="utf-8")
    wait = f"<!doctype html><script>setTimeout(() => location.replace('./{SINGLE_FILE}'), 1000)</script>"
    (disk / "wait.html").write_text(wait)


# --- measuring --------------------------------------------------------------------------------------------------------


def measure(server: Rounds, engine: Engine, profile: Path, folder: Path, pairs: int) -> list[Figure]:
    """Every figure of one engine. Two rounds first fill its caches, as a second visit finds them.

    Each page is the first of a browser started for it. In one browser, pages share cached files and compiled code, and
    a page after another of the same site is painted in half the time, so the order would count more than the page.
    """
    stock, lab, bare = (
        f"{server.address}{name}" for name in ("stock/index.html", "lab/index.html", "lab/bare.html")
    )
    single = (folder.parent / "disk" / "wait.html").as_uri()
    pages = [single, stock, lab, bare]
    for i in range(-2, pairs):
        if i == 0:
            server.reports.clear()
        for page in [*pages[i % 4 :], *pages[: i % 4]]:
            server.open(engine, profile, [page])
    took = {page: server.taken(engine, page) for page in pages}

    def figure(name: str, key: str, ours: str, baseline: str, unit: str, limit: float | None) -> list[Figure]:
        mine, theirs = ([report.get(key) for report in took[page]] for page in (ours, baseline))
        both = [(a, b) for a, b in zip(mine, theirs, strict=False) if a is not None and b]
        return [figure_of(name, engine.name, unit, both, limit)] if both else []

    figures = figure("ready, served ÷ stock PyScript page", "ready", lab, stock, "ms", 0.30)
    figures += figure("ready, single file from disk ÷ stock, served", "ready", single, stock, "ms", 0.60)
    figures += figure("first paint of the answer ÷ same page without script", "paint", lab, bare, "ms", 1.2)
    figures += figure("longest main-thread task in start ÷ stock", "longest", lab, stock, "ms", 0.4)
    if engine.name == "Chromium":
        shifts = [report["shift"] for report in took[lab]]
        figures.append(
            Figure(
                "cumulative layout shift",
                engine.name,
                "",
                max(shifts),
                0.02,
                max(shifts) / 0.02,
                0,
                0,
                pairs,
                1,
            )
        )
        figures += measure_work(server, engine, profile, pairs)
        figures += labs.measure(server, engine, profile, pairs)
        if head.is_there(folder / "lab"):
            figures += head.measure(server, engine, profile, folder / "lab" / model.FOLDER, pairs)
    return figures


def measure_work(server: Rounds, engine: Engine, profile: Path, pairs: int) -> list[Figure]:
    """Computing and editing against plain JavaScript."""
    work, edits, plain = (
        f"{server.address}{name}" for name in ("lab/engine.html", "lab/edits.html", "plain/index.html")
    )
    server.reports.clear()
    for i in range(pairs):
        server.open(engine, profile, [work, *([plain, edits] if i % 2 else [edits, plain])])
    took = {page: server.taken(engine, page) for page in (work, edits, plain)}
    speeds = [(report["engine"]["python"], report["engine"]["plain"]) for report in took[work]]
    figures = [figure_of("attend(), n = m = 512, d = 64 ÷ JavaScript loops", engine.name, "ms", speeds, 0.5)]
    heap = [(report["heap"] / 1e6, 400.0) for report in took[work]]
    figures.append(figure_of("Python's memory after start ÷ 400 MB", engine.name, "MB", heap, None))
    heap = [(report["heapAt1024"] / 1e6, 400.0) for report in took[work]]
    figures.append(
        figure_of("Python's memory with a trace of 1024 × 1024 ÷ 400 MB", engine.name, "MB", heap, 1.0)
    )
    tasks = [(report["blocks"], 50.0) for report in took[edits] if "blocks" in report]
    if tasks:
        figures.append(figure_of(f"{BLOCKS} ÷ 50 ms", engine.name, "ms", tasks, 1.0))
    limits = {8: 2.0, 64: 1.5, 512: 0.7}
    growth: dict[str, list[tuple[int, float]]] = {"ours": [], "plain": []}
    for size in SIZES:
        both = [
            (mine["edits"].get(str(size)), theirs["edits"].get(str(size)))
            for mine, theirs in zip(took[edits], took[plain], strict=True)
        ]
        numbers = [(a, b) for a, b in both if isinstance(a, float | int) and isinstance(b, float | int)]
        if not numbers:
            say(f"  edit to painted at {size} × {size}: {both[0]}")
            continue
        figures.append(
            figure_of(
                f"edit → painted, {size} × {size} ÷ plain JavaScript",
                engine.name,
                "ms",
                numbers,
                limits.get(size),
            )
        )
        for name, values in zip(growth, zip(*numbers, strict=True), strict=True):
            growth[name].append((size, statistics.median(values)))
    ours, plains = (exponent([point for point in points if point[0] >= 64]) for points in growth.values())
    if ours is not None and plains is not None:
        name = "growth exponent of edit → painted, from 64"
        figures.append(figure_of(name, engine.name, "", [(ours, plains)], None))
    return figures


def exponent(points: list[tuple[int, float]]) -> float | None:
    """The slope of log time over log size: [(64, 1), (128, 4)] -> 2.0."""
    if len(points) < 2:
        return None
    return statistics.linear_regression(
        [math.log(n) for n, _ in points], [math.log(t) for _, t in points]
    ).slope


def bytes_until_ready(site: Path, asked: list[str]) -> dict[str, int]:
    """What one visit downloads until Python is ready, compressed as static hosts do, by part."""
    paths = dict.fromkeys(path.removeprefix("/lab/") for path in asked if path.startswith("/lab/"))
    sizes: dict[str, int] = {}
    for path in paths:
        file = site / path
        if not file.is_file():
            continue
        content = file.read_bytes()
        size = len(content) if file.suffix in PACKED else len(gzip.compress(content, 9))
        part = {".wasm": "WebAssembly", ".bin": "memory snapshot", ".zip": "archives"}.get(file.suffix)
        part = part or (
            "page and style" if file.suffix in (".html", ".css", ".svg") else "JavaScript and main.py"
        )
        sizes[part] = sizes.get(part, 0) + size
    return sizes


# --- telling ----------------------------------------------------------------------------------------------------------


def machine() -> str:
    """The machine in a few words: processor, cores, system."""
    name = platform.processor() or platform.machine()
    try:
        text = Path("/proc/cpuinfo").read_text()
        if match := re.search(r"model name\s*: (.+)", text):
            name = match[1]
    except OSError:
        pass
    busy = f", load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else ""
    return f"{name}, {os.cpu_count()} cores, {platform.system()}{busy}"


def table(result: dict[str, Any], figures: list[Figure]) -> list[str]:
    """The result as Markdown that reads well on a terminal."""
    browsers = ", ".join(f"{name} {version}" for name, version in result["browsers"].items())
    lines = [
        f"{result['date']}, {result['machine']}; {browsers}; medians of {result['pairs']} alternating pairs",
        "",
    ]
    lines += [
        "| figure | engine | ours | baseline | ratio | spread | at most |",
        "|---|---|---|---|---|---|---|",
    ]
    for item in figures:
        ours, baseline = (
            f"{value:.3g} {item.unit}".strip() if value < 1000 else f"{value:.0f} {item.unit}"
            for value in (item.ours, item.baseline)
        )
        limit = (
            "" if item.limit is None else f"{item.limit:g}{'' if item.ratio <= item.limit else ' (missed)'}"
        )
        lines.append(
            f"| {item.name} | {item.engine} | {ours} | {baseline} | {item.ratio:.2f} | {item.low:.2f}–{item.high:.2f} | {limit} |"
        )
    sizes = result["bytes"]
    parts = ", ".join(
        f"{name} {size / 1e6:.2f}" for name, size in sorted(sizes["parts"].items(), key=lambda item: -item[1])
    )
    lines += [
        "",
        f"Bytes until ready, compressed: {sizes['until ready'] / 1e6:.2f} MB, at most 12 ({parts}).",
    ]
    lines.append(f"Single file: {sizes['single file'] / 1e6:.1f} MB, at most 23.")
    if not result["real head"]:
        lines.append(NO_HEAD)
    return lines


def into_readme(result: dict[str, Any], figures: list[Figure]) -> None:
    """Put the table between the marks in README.md."""
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    if any(mark not in text for mark in MARKS):
        raise BuildError(f"README.md has no place for the table: {' … '.join(MARKS)}")
    before, rest = text.split(MARKS[0], 1)
    after = rest.split(MARKS[1], 1)[1]
    body = "\n".join(table(result, figures))
    path.write_text(f"{before}{MARKS[0]}\n{body}\n{MARKS[1]}{after}", encoding="utf-8")
    say("README.md has the new table.")
