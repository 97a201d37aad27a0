"""Python comes from the build's memory snapshot, and the normal way where anything about the snapshot does not fit.

Each misfit is made by the test: files that are not what the build wrote, or a browser that lacks something.
"""

from __future__ import annotations

import gzip
import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

OUTPUT = [1.6605, 2.6605, 2.3395, 3.3395]
NOT_NEEDED = re.compile(r"python_stdlib\.zip|numpy-.*\.zip|attention_lab\.zip")
PYTHON = """async (code) => {
    const pyodide = await (await import(document.querySelector("script[data-module]")
        ? "https://attention-lab.invalid/runtime.mjs" : "./runtime.mjs")).loadPyodide({});
    return String(pyodide.runPython(code));
}"""


@pytest.fixture(scope="module")
def plan(dist: Path) -> dict[str, Any]:
    """What the build wrote about the snapshot."""
    text = (dist / "assets.mjs").read_text(encoding="utf-8")
    found: dict[str, Any] = json.JSONDecoder().raw_decode(text.partition("manifest = ")[2])[0]
    assert found["snapshot"], "this build made no snapshot; its output says why"
    return found


def output(lab: Any) -> list[float]:
    return [value for row in lab.table("output") for value in row]


def started_as(lab: Any) -> tuple[str, str]:
    """How Python starts in this page, and the reason if not from the snapshot. Does not wait until it has started."""
    notes: list[str] = []
    lab.page.on("console", lambda message: notes.append(message.text))
    lab.page.goto(lab.address)
    lab.page.wait_for_function("document.documentElement.dataset.start", timeout=90_000)
    reasons = [note for note in notes if "without the snapshot" in note]
    return lab.page.evaluate("document.documentElement.dataset.start"), "".join(reasons)


def test_python_comes_from_the_snapshot(fresh_page: Callable, site: str) -> None:
    lab = fresh_page(site).start()
    assert lab.page.evaluate("document.documentElement.dataset.start") == "snapshot"
    assert output(lab) == pytest.approx(OUTPUT, abs=5e-5)
    assert [url for url in lab.watch.requests if NOT_NEEDED.search(url)] == []


def test_the_single_file_carries_the_snapshot(single_file: Any) -> None:
    assert single_file.page.evaluate("document.documentElement.dataset.start") == "snapshot"


def test_the_labs_import_nothing_outside_the_snapshot(lab: Any) -> None:
    for name in ("calculator", "walkthrough", "heatmap", "check"):
        lab.open(f"lab={name}")
    assert [url for url in lab.watch.requests if NOT_NEEDED.search(url)] == []


def test_every_start_has_its_own_random_numbers(fresh_page: Callable, site: str) -> None:
    draw = "import random; random.random()"
    numbers = {fresh_page(site).start().page.evaluate(PYTHON, draw) for _ in range(2)}
    assert len(numbers) == 2


# --- later imports ----------------------------------------------------------------------------------------------------


def test_the_rest_of_the_standard_library_is_fetched_when_it_is_imported(
    fresh_page: Callable, site: str
) -> None:
    lab = fresh_page(site).start()
    lab.watch.clear()
    assert lab.page.evaluate(PYTHON, "import calendar, json.tool; calendar.isleap(2024)") == "true"
    assert lab.page.evaluate(PYTHON, "import wave; wave.__name__") == "wave"
    assert [url.rpartition("/")[2] for url in lab.watch.requests] == ["python_stdlib.zip"]


def test_the_rest_of_numpy_is_fetched_when_it_is_imported(fresh_page: Callable, site: str) -> None:
    lab = fresh_page(site).start()
    lab.watch.clear()
    code = "import numpy as np\nrng = np.random.default_rng(1)\nfloat(np.fft.fft(rng.standard_normal(8)).real.std()) > 0"
    assert lab.page.evaluate(PYTHON, code) == "true"
    assert "numpy-2.2.5.zip" in [url.rpartition("/")[2] for url in lab.watch.requests]


def test_the_single_file_has_the_rest_inside(single_file: Any) -> None:
    assert single_file.page.evaluate(PYTHON, "import calendar; calendar.isleap(1900)") == "false"


def test_errors_inside_the_standard_library_still_have_a_traceback(lab: Any) -> None:
    """Not its exact lines, but the chain of calls; our own code keeps its lines."""
    code = """
import json, traceback
try:
    json.loads("[1,")
except ValueError:
    text = traceback.format_exc()
text"""
    text = lab.page.evaluate(PYTHON, code)
    assert "in loads" in text and "in raw_decode" in text
    assert "JSONDecodeError: Expecting value" in text


def test_an_import_that_cannot_be_fetched_says_so(fresh_page: Callable, site: str) -> None:
    lab = fresh_page(site).start()
    lab.page.route("**/python_stdlib.zip", lambda route: route.abort())
    code = "try:\n    import calendar\nexcept ImportError as error:\n    text = str(error)\ntext"
    message = lab.page.evaluate(PYTHON, code)
    assert "calendar is not in the part of Python that this page starts with" in message
    assert "python_stdlib.zip could not be fetched" in message


def test_a_module_that_does_not_exist_is_not_looked_for_elsewhere(fresh_page: Callable, site: str) -> None:
    lab = fresh_page(site).start()
    lab.watch.clear()
    code = (
        "try:\n    import no_such_module\nexcept ModuleNotFoundError as error:\n    text = str(error)\ntext"
    )
    assert lab.page.evaluate(PYTHON, code) == "No module named 'no_such_module'"
    assert lab.watch.requests == []


# --- misfits ------------------------------------------------------------------------------------------------------------


def with_words(content: bytes, changes: dict[int, int]) -> bytes:
    """The snapshot file with some of its first 32-bit words changed."""
    memory = bytearray(gzip.decompress(content))
    for at, word in changes.items():
        struct.pack_into("<I", memory, 4 * at, word)
    return gzip.compress(bytes(memory), 1)


FILES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "another kind of file": (lambda content: with_words(content, {0: 7}), "kind of file"),
    "another format": (lambda content: with_words(content, {1: 99}), "format"),
    "another build": (lambda content: with_words(content, {4: 0, 11: 0}), "build"),
    "too few words": (lambda content: with_words(content, {3: 8}), "length"),
}


@pytest.mark.parametrize("misfit", FILES)
def test_a_snapshot_file_that_does_not_fit(
    fresh_page: Callable, site: str, dist: Path, plan: dict[str, Any], misfit: str
) -> None:
    change, reason = FILES[misfit]
    path = plan["files"]["snapshot"]["path"].removeprefix("./")
    content = change((dist / path).read_bytes())
    lab = fresh_page(site)
    lab.page.route(f"**/{path}", lambda route: route.fulfill(status=200, body=content))
    # the size is checked as well; let it agree, so that what is inside gets looked at
    served = {
        **plan,
        "files": {**plan["files"], "snapshot": {**plan["files"]["snapshot"], "size": len(content)}},
    }
    with_plan(lab, dist, served)
    start, note = started_as(lab)
    assert start == "normal"
    assert reason in note


def test_a_truncated_snapshot(fresh_page: Callable, site: str, dist: Path, plan: dict[str, Any]) -> None:
    path = plan["files"]["snapshot"]["path"].removeprefix("./")
    content = (dist / path).read_bytes()[:100_000]
    lab = fresh_page(site)
    lab.page.route(f"**/{path}", lambda route: route.fulfill(status=200, body=content))
    assert started_as(lab)[0] == "normal"


def with_plan(lab: Any, dist: Path, manifest: dict[str, Any]) -> None:
    """Serve the page another manifest than the build wrote."""
    text = (dist / "assets.mjs").read_text(encoding="utf-8")
    rest = text[text.index("// Where the runtime's files come from") :]
    body = f"export const manifest = {json.dumps(manifest)};\n{rest}"
    lab.page.route(
        "**/assets.mjs", lambda route: route.fulfill(status=200, content_type="text/javascript", body=body)
    )


def table(layout: dict[str, Any]) -> None:
    layout["libraries"][1]["table"] += 1024


def table_end(layout: dict[str, Any]) -> None:
    layout["libraries"][1]["end"] += 1


def table_too_short(layout: dict[str, Any]) -> None:
    layout["libraries"][0]["table"] = 100


def memory_base(layout: dict[str, Any]) -> None:
    layout["libraries"][1]["memory"] += 16


def heap(layout: dict[str, Any]) -> None:
    layout["heap"] += 16


def memory_size(layout: dict[str, Any]) -> None:
    layout["memory"] += 65536 // 2


def data(layout: dict[str, Any]) -> None:
    layout["data"] ^= 1


LAYOUTS: dict[Callable[[dict[str, Any]], None], str] = {
    table: "end of library 1",
    table_end: "end of library 1",
    table_too_short: "the function table has",
    memory_base: "memory of library 1",
    heap: "heap",
    memory_size: "memory",
    data: "data",
}


@pytest.mark.parametrize("misfit", LAYOUTS, ids=lambda change: change.__name__)
def test_places_that_differ(
    fresh_page: Callable,
    site: str,
    dist: Path,
    plan: dict[str, Any],
    misfit: Callable[[dict[str, Any]], None],
) -> None:
    changed = json.loads(json.dumps(plan))
    misfit(changed["snapshot"]["layout"])
    lab = fresh_page(site)
    with_plan(lab, dist, changed)
    start, note = started_as(lab)
    assert start == "normal"
    assert LAYOUTS[misfit] in note


def test_libraries_that_are_not_the_ones_in_the_snapshot(
    fresh_page: Callable, site: str, dist: Path, plan: dict[str, Any]
) -> None:
    changed = json.loads(json.dumps(plan))
    files = changed["files"]
    files["multiarray"], files["linalg"] = files["linalg"], files["multiarray"]
    lab = fresh_page(site)
    with_plan(lab, dist, changed)
    start, note = started_as(lab)
    assert start == "normal"
    assert "library" in note or "function" in note


def test_a_browser_without_decompression(fresh_page: Callable, site: str) -> None:
    lab = fresh_page(site)
    lab.page.add_init_script("delete window.DecompressionStream")
    lab.start()
    assert lab.page.evaluate("document.documentElement.dataset.start") == "normal"
    assert output(lab) == pytest.approx(OUTPUT, abs=5e-5)


def test_after_a_misfit_the_page_works_all_the_same(
    fresh_page: Callable, site: str, dist: Path, plan: dict[str, Any]
) -> None:
    changed = json.loads(json.dumps(plan))
    changed["snapshot"]["layout"]["data"] ^= 1
    lab = fresh_page(site)
    with_plan(lab, dist, changed)
    lab.start()
    assert lab.page.evaluate("document.documentElement.dataset.start") == "normal"
    assert output(lab) == pytest.approx(OUTPUT, abs=5e-5)
    assert lab.watch.errors == []
