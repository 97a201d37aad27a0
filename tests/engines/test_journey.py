"""The same core journey in every engine: load, edit, example, step, heatmap row, check mine, permalink, single file.

Clicks, keys and inserted text are the browser's own input events; only a list box is set by script, because its popup
is not in the page.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from engine import Engine

from attention_lab.core import Options, attend
from attention_lab.inputs.examples import load
from attention_lab.inputs.paste import format_compact
from site_builder.paths import SINGLE_FILE

START_SECONDS = 120
READY = "['ready', 'failed'].includes(document.documentElement.dataset.python)"
IDENTITY = np.eye(2)
VALUES = np.array([[1.0, 2.0], [3.0, 4.0]])
TABLE = """[...document.querySelectorAll('table[data-stage="%s"] td[data-value]')]
    .filter((cell) => cell.checkVisibility()).map((cell) => Number(cell.dataset.value))"""
NO_ERROR = "[...document.querySelectorAll('.error')].every((e) => e.hidden || !e.textContent)"


def begin(engine: Engine, address: str) -> Engine:
    """Load the page and wait until Python is ready; from another page, so that a fragment alone never counts."""
    engine.open("about:blank")
    engine.open(address)
    engine.wait(READY, START_SECONDS)
    said = engine.js("document.getElementById('python-status').textContent")
    assert engine.js("document.documentElement.dataset.python") == "ready", said
    return engine


@pytest.fixture(scope="module")
def lab(engine: Engine, site: str) -> Engine:
    """The served page in this engine, ready."""
    return begin(engine, site)


def go(lab: Engine, fragment: str) -> None:
    """Follow a link inside the page."""
    lab.js(f"(location.hash = '#{fragment}', new Promise((done) => setTimeout(done, 50)))")


def shows(lab: Engine, stage: str, expected: np.ndarray) -> None:
    """Until the table on show holds these numbers, to the last digits that summing order can change."""
    wanted = [float(x) for x in expected.ravel()]
    lab.wait(
        f"((got, want) => got.length === want.length && got.every((x, i) => Math.abs(x - want[i]) < 1e-12))"
        f"({TABLE % stage}, {wanted})"
    )


def choose(lab: Engine, selector: str, value: str) -> None:
    """Choose an entry of a list box."""
    lab.js(
        f"((e) => {{ e.value = '{value}'; e.dispatchEvent(new Event('input', {{bubbles: true}})) }})"
        f"(document.querySelector('{selector}'))"
    )


def test_load(lab: Engine) -> None:
    assert lab.js("document.documentElement.dataset.lab") == "calculator"
    shows(lab, "output", attend(IDENTITY, IDENTITY, VALUES).output)
    assert lab.js(NO_ERROR)


def test_edit(lab: Engine) -> None:
    go(lab, "example=identity")
    lab.fill("#q", "2 0\n0 -1\n1 1")
    q = np.array([[2.0, 0.0], [0.0, -1.0], [1.0, 1.0]])
    shows(lab, "weights", attend(q, IDENTITY, VALUES).weights)
    lab.click("#causal")
    shows(lab, "output", attend(q, IDENTITY, VALUES, Options(causal="top-left")).output)
    lab.click("#T")
    lab.press("Control+a", "4")  # the one field that is typed key by key
    shows(lab, "weights", attend(q, IDENTITY, VALUES, Options(causal="top-left", temperature=4.0)).weights)
    lab.press("Control+a", "1")
    lab.fill("#q", "2 0\n0 x")
    lab.wait("!document.querySelector('[data-error-for=q]').hidden")
    lab.fill("#q", "1 0\n0 1")
    shows(lab, "output", attend(IDENTITY, IDENTITY, VALUES, Options(causal="top-left")).output)
    assert lab.js(NO_ERROR)


def test_example(lab: Engine) -> None:
    go(lab, "example=identity")
    choose(lab, "#example", "cross")
    example = load().get("cross")
    shows(lab, "weights", attend(example.q, example.k, example.v).weights)


def test_step(lab: Engine) -> None:
    lab.click('nav [data-lab-link="walkthrough"]')
    lab.wait("document.documentElement.dataset.steps > 1")
    last = int(lab.js("document.documentElement.dataset.steps")) - 1
    lab.click('[data-walk="first"]')
    for step in (1, 2):
        lab.click('[data-walk="next"]')
        lab.wait(f"document.documentElement.dataset.step === '{step}'")
    lab.press("ArrowRight")
    lab.wait("document.documentElement.dataset.step === '3'")
    lab.press("ArrowLeft")
    lab.wait("document.documentElement.dataset.step === '2'")
    assert lab.js("document.querySelector('.walk-sentence').textContent.length > 10")
    lab.click('[data-walk="last"]')
    lab.wait(f"document.documentElement.dataset.step === '{last}'")


def test_heatmap_row(lab: Engine) -> None:
    lab.click('nav [data-lab-link="heatmap"]')
    lab.fill("#sentence", "to be or not to be")
    rows = """document.querySelectorAll('[data-lab-panel="heatmap"] table[data-stage="weights"] tbody tr').length"""
    lab.wait(f"{rows} === 6")
    lab.click('[data-lab-panel="heatmap"] [data-set="row=3"]')
    term = """[...document.querySelectorAll('[data-lab-panel="heatmap"] [data-row-trace][data-i="3"] [data-term="weight"]')]"""
    lab.wait(f"{term}.length === 6")
    assert lab.js(f"{term}.reduce((sum, cell) => sum + Number(cell.dataset.value), 0)") == pytest.approx(1)


def test_check_mine(lab: Engine) -> None:
    go(lab, "lab=check&example=cross")
    example = load().get("cross")
    lab.fill(
        "#observed", format_compact(attend(example.q, example.k, example.v, Options(scale="none")).weights)
    )
    lab.wait("document.querySelector('[data-verdict]')?.dataset.verdict === 'mistake'")
    assert "S1" in lab.js("document.querySelector('[data-verdict]').dataset.matches").split()


def test_permalink(lab: Engine, site: str) -> None:
    go(lab, "example=identity")
    lab.fill("#v", "5 6\n7 8")
    values = np.array([[5.0, 6.0], [7.0, 8.0]])
    shows(lab, "output", attend(IDENTITY, IDENTITY, values).output)
    lab.wait("location.hash.includes('v=5,6;7,8')")
    address = str(lab.js("location.href"))
    assert address.startswith(site)
    begin(lab, address)
    shows(lab, "output", attend(IDENTITY, IDENTITY, values).output)


def test_nothing_was_reported(lab: Engine) -> None:
    """The console of this run so far, in the two engines whose drivers can tell."""
    assert lab.problems() == []


def test_the_policy_refuses_requests_to_elsewhere(engine: Engine, site: str) -> None:
    """In a page of its own, since refusals are reported as errors."""
    begin(engine, site)
    refused = engine.js(
        """new Promise((done) => {
            const seen = [];
            document.addEventListener("securitypolicyviolation", (event) => {
                seen.push(event.effectiveDirective);
                if (seen.length === 3) done(seen.sort());
            });
            fetch("https://elsewhere.invalid/a").catch(() => 0);
            new Image().src = "https://elsewhere.invalid/b";
            navigator.sendBeacon("https://elsewhere.invalid/c", "x");
            setTimeout(() => done(seen.sort()), 10_000);
        })"""
    )
    assert refused == ["connect-src", "connect-src", "img-src"]
    engine.problems().clear()


def test_single_file_from_disk(engine: Engine, dist: Path) -> None:
    lab = begin(engine, (dist / SINGLE_FILE).as_uri())
    assert lab.js("location.protocol") == "file:"
    shows(lab, "output", attend(IDENTITY, IDENTITY, VALUES).output)
    lab.fill("#k", "1 0\n0 3")
    shows(lab, "output", attend(IDENTITY, np.diag([1.0, 3.0]), VALUES).output)
    lab.click('nav [data-lab-link="walkthrough"]')
    lab.wait("document.documentElement.dataset.steps > 1")
    lab.press("ArrowRight")
    lab.wait("document.documentElement.dataset.step === '1'")
    assert lab.problems() == []
