"""Python starts in the page: served under a sub-path, from one file without network, inside a sandboxed frame.

And when it cannot start, the page says so and keeps the answer that the build put there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from site_builder.paths import SINGLE_FILE

# The opening example: Q = K = I2, V = [[1, 2], [3, 4]], checked against the published worked example.
OUTPUT = [[1.6605, 2.6605], [2.3395, 3.3395]]
STAGES = ["scores", "scaled", "weights", "output"]
STATE = "document.documentElement.dataset.python"


def flat(rows: list[list[float]]) -> list[float]:
    return [value for row in rows for value in row]


def test_the_served_page_computes_the_opening_example(lab) -> None:
    assert flat(lab.table("output")) == pytest.approx(flat(OUTPUT), abs=5e-5)


def test_the_single_file_computes_the_opening_example_without_network(single_file) -> None:
    assert single_file.page.evaluate("location.protocol") == "file:"
    assert flat(single_file.table("output")) == pytest.approx(flat(OUTPUT), abs=5e-5)


def test_starting_asks_for_nothing_outside_the_site(fresh_page: Callable, site: str) -> None:
    lab = fresh_page(site).start()
    assert len(lab.watch.requests) > 5
    assert [url for url in lab.watch.requests if not url.startswith((site, "blob:", "data:"))] == []
    assert lab.watch.errors == []


def test_starting_from_one_file_asks_for_nothing_else(fresh_page: Callable, dist: Path) -> None:
    address = (dist / SINGLE_FILE).as_uri()
    lab = fresh_page(address, offline=True).start()
    assert [url for url in lab.watch.requests if not url.startswith((address, "blob:", "data:"))] == []
    assert lab.watch.errors == []


def test_inside_a_frame_that_may_only_run_scripts(browser: Browser, dist: Path, tmp_path: Path) -> None:
    host = tmp_path / "course.html"
    file = (dist / SINGLE_FILE).as_uri()
    host.write_text(
        f'<!doctype html><iframe sandbox="allow-scripts" src="{file}" width="1200" height="900"></iframe>'
    )
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(host.as_uri())
    frame = page.frames[1]
    frame.wait_for_function(f"['ready', 'failed'].includes({STATE})", timeout=90_000)
    assert frame.evaluate("origin") == "null"
    assert frame.evaluate(STATE) == "ready", frame.inner_text("#python-status")
    values = frame.locator('table[data-stage="output"] td[data-i]').evaluate_all(
        "t => t.map(c => +c.dataset.value)"
    )
    assert values == pytest.approx(flat(OUTPUT), abs=5e-5)
    context.close()


def test_the_prerendered_answer_is_the_live_one(fresh_page: Callable, site: str, lab) -> None:
    still = fresh_page(site, javascript=False)
    still.page.goto(site)
    shown = lab.page.locator("table[data-stage]").evaluate_all("t => t.map(x => x.dataset.stage)")
    assert set(STAGES) <= set(shown)
    for stage in STAGES:
        selector = f'table[data-stage="{stage}"]'
        assert still.page.inner_text(selector) == lab.page.inner_text(selector)
        assert flat(still.table(stage)) == pytest.approx(flat(lab.table(stage)), rel=0, abs=1e-13)


@pytest.mark.parametrize("blocked", ["**/*.wasm", "**/runtime.mjs", "**/core-*.js"])
def test_if_python_cannot_start_the_page_says_so_and_keeps_the_answer(
    fresh_page: Callable, site: str, blocked: str
) -> None:
    lab = fresh_page(site)
    lab.page.route(blocked, lambda route: route.abort())
    lab.page.goto(site)
    lab.page.wait_for_function(f"{STATE} === 'failed'")
    expect(lab.page.locator("#python-status")).to_contain_text("could not be fetched")
    assert flat(lab.table("output")) == pytest.approx(flat(OUTPUT), abs=5e-5)


def test_a_damaged_file_is_noticed(fresh_page: Callable, site: str) -> None:
    lab = fresh_page(site)
    for name in ("**/numpy-*.zip", "**/snapshot-*"):
        lab.page.route(name, lambda route: route.fulfill(status=200, body=b"short"))
    lab.page.goto(site)
    lab.page.wait_for_function(f"{STATE} === 'failed'")
    expect(lab.page.locator("#python-status")).to_contain_text("Python could not start")


def test_an_exception_in_main_is_reported(fresh_page: Callable, site: str) -> None:
    lab = fresh_page(site)
    lab.page.route(
        "**/main.py", lambda route: route.fulfill(status=200, body="raise ValueError('broken on purpose')")
    )
    lab.page.goto(site)
    lab.page.wait_for_function(f"{STATE} === 'failed'", timeout=60_000)
    expect(lab.page.locator("#python-status")).to_contain_text("ValueError: broken on purpose")


def test_what_the_build_drew_is_what_python_draws(fresh_page: Callable, site: str) -> None:
    """Python does not draw the opening page again. Made to, it changes nothing, in the answer and in the form."""
    lab = fresh_page(site).start()
    assert lab.page.evaluate("labAsBuilt()")
    drawn = """() => [document.querySelector("main").outerHTML,
        ...[...document.getElementById("lab-form").elements].map((field) => `${field.value} ${field.checked}`)]"""
    before = lab.page.evaluate(drawn)
    lab.page.evaluate("""async () => (await (await import("./runtime.mjs")).loadPyodide({}))
        .runPython("import __main__; __main__.app.shown.clear(); __main__.app.show()")""")
    assert lab.page.evaluate(drawn) == before


def test_a_form_that_the_browser_has_filled_is_written_again(fresh_page: Callable, site: str) -> None:
    lab = fresh_page(site)
    lab.page.add_init_script(
        "addEventListener('DOMContentLoaded', () => { document.getElementById('T').value = '7'; })"
    )
    lab.start()
    assert lab.page.input_value("#T") == "1"


def test_progress_is_shown_while_python_loads(fresh_page: Callable, site: str) -> None:
    """A quick start shows none: each report makes the browser draw the page again. So the files come slowly here."""
    lab = fresh_page(site)

    def late(route: Any) -> None:
        time.sleep(0.4)
        route.continue_()

    for name in ("**/*.wasm", "**/snapshot-*"):
        lab.page.route(name, late)
    lab.page.add_init_script(
        "window.seen = []; addEventListener('lab-progress', (event) => seen.push(event.detail))"
    )
    lab.start()
    seen = lab.page.evaluate("seen")
    assert len(seen) >= 3
    assert all(step["text"] and 0 <= step["fraction"] <= 1 for step in seen)
    assert seen[-1]["fraction"] > seen[0]["fraction"]
