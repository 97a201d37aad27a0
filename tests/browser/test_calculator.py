"""The Calculator in a real browser: numbers, editing, errors, highlighting, keyboard, pinning, copying."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from attention_lab.compute import view_of
from attention_lab.explain.stages import stages
from attention_lab.render.page import example_state, render
from attention_lab.state import State

WORKED = [
    (
        "q=1,0&k=1,0;0,1&v=1,2;3,4",
        {
            "scores": [[1, 0]],
            "scaled": [[0.707107, 0]],
            "weights": [[0.669762, 0.330238]],
            "output": [[1.660477, 2.660477]],
        },
    ),
    ("q=1,0;0,1&k=1,0;0,1&v=1,0;0,1&causal=top-left", {"output": [[1, 0], [0.330238, 0.669762]]}),
    (
        "q=-1,-2&k=0.5,0.5;1,-1&v=2,0;0,2",
        {
            "scores": [[-1.5, 1]],
            "scaled": [[-1.060660, 0.707107]],
            "weights": [[0.145820, 0.854180]],
            "output": [[0.291640, 1.708360]],
        },
    ),
]
THIRDS = [[0.25, 1 / 3], [0.5833333333333334, 2 / 3], [0.9166666666666666, 1.0]]
GOLDENS = [
    # published results of other projects: fragment, stage, numbers, tolerance
    (
        "q=1,0;0,1&k=1,1;1,1&v=1,1;1,1&scale=1&keep=1,0;1,0",
        "weights",
        [[1, 0], [1, 0]],
        1e-6,
    ),  # Keras attention_test
    ("q=1,0;0,1&k=1,0;0,1&v=1,2;3,4&keep=1,0;1,0", "output", [[1, 2], [1, 2]], 1e-6),  # Burn module_attention
    (
        f"q={';'.join(','.join(map(repr, row)) for row in THIRDS)}"
        f"&k={';'.join(','.join(map(repr, row)) for row in THIRDS)}&v={';'.join(','.join(map(repr, row)) for row in THIRDS)}",
        "output",
        [
            [0.6137914555895531, 0.6971247889228864],
            [0.6478764227436047, 0.731209756076938],
            [0.6804545876711346, 0.763787921004468],
        ],
        2e-9,
    ),  # NNlib.jl test/attention.jl
    (
        "q=0,10,0&k=10,0,0;0,10,0;0,0,10;0,0,10&v=1,0;10,0;100,5;1000,6",
        "output",
        [[10, 0]],
        1e-4,
    ),  # TensorFlow transformer tutorial
    (
        "q=0,10,0&k=3,0,0;0,10,0;0,0,4;0,0,1&v=5,9;2,6;5,3;5,3",
        "output",
        [[2, 6]],
        1e-4,
    ),  # deep-sets test_attention
    (
        "q=-1,-2&k=0.5,0.5;1,-1&v=2,0;0,2",
        "output",
        [[0.2916404999872387, 1.7083595000127614]],
        1e-12,
    ),
]


def type_into(page: Page, field: str, text: str) -> None:
    page.fill(f"#{field}", text)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_opening_numbers(lab) -> None:
    np.testing.assert_allclose(lab.table("output"), [[1.6605, 2.6605], [2.3395, 3.3395]], rtol=0, atol=5e-5)
    assert lab.page.locator('[data-slot="calculator-stages"] table[data-stage] caption').count() == 4
    text = lab.page.inner_text('[data-slot="calculator-stages"]')
    for title in ("S = Q·Kᵀ", "S / √dₖ (√2 = 1.4142)", "A = softmax(scores), row-wise", "O = A·V", "Σ"):
        assert title in text
    assert "1.6605" in text


@pytest.mark.parametrize(("fragment", "expected"), WORKED)
def test_worked_examples(lab, fragment: str, expected: dict[str, list[list[float]]]) -> None:
    lab.open(fragment)
    for stage, numbers in expected.items():
        np.testing.assert_allclose(lab.table(stage), numbers, rtol=0, atol=5e-7)


@pytest.mark.parametrize(("fragment", "stage", "numbers", "tolerance"), GOLDENS)
def test_published_results(
    lab, fragment: str, stage: str, numbers: list[list[float]], tolerance: float
) -> None:
    lab.open(fragment)
    np.testing.assert_allclose(lab.table(stage), numbers, rtol=0, atol=tolerance)


def test_the_prerendered_page_is_the_live_page(lab, fresh_page: Callable, site: str) -> None:
    """Same text at 4 and at 10 decimals; values within 1e-13·max(1, |x|): the two machines differ in last bits."""
    early = fresh_page(site, javascript=False)
    early.page.goto(site)
    for slot in ("calculator-stages", "calculator-row", "calculator-summary", "calculator-inputs"):
        assert early.page.inner_text(f'[data-slot="{slot}"]') == lab.page.inner_text(
            f'[data-slot="{slot}"]'
        ), slot
    for stage in ("scores", "scaled", "weights", "output"):
        a, b = np.array(early.table(stage)), np.array(lab.table(stage))
        assert (np.abs(a - b) <= 1e-13 * np.maximum(1, np.abs(a))).all()


@pytest.mark.parametrize("name", ["identity", "cross", "saturation", "ties", "naive-overflow"])
def test_cpython_and_webassembly_agree_at_ten_decimals(lab, name: str) -> None:
    state = example_state(name).with_values({"decimals": "10"})
    lab.open(state.to_fragment())
    view = view_of(state)
    for item in stages(view.slice_trace, view.write):
        live = np.array(lab.table(item.name))
        same = (live == item.array) | (np.abs(live - item.array) <= 1e-13 * np.maximum(1, np.abs(item.array)))
        assert same.all(), item.name
    cells = re.findall(r"data-value[^>]*>([^<]*)</td>", render(view)["calculator-stages"])
    assert lab.page.locator('[data-slot="calculator-stages"] td[data-value]').all_inner_texts() == cells


def test_typing_updates_the_tables(lab) -> None:
    type_into(lab.page, "q", "2 0\n0 2")
    assert lab.table("scores") == [[2, 0], [0, 2]]
    assert "q=2,0;0,2" in lab.page.evaluate("new Promise((d) => setTimeout(() => d(location.hash), 400))")


def test_a_shape_mismatch_stands_beside_its_field_and_the_old_result_stays(lab) -> None:
    page = lab.page
    type_into(page, "k", "1 0 3\n0 1 3")
    error = page.locator('[data-error-for="k"]')
    expect(error).to_be_visible()
    assert "3" in error.inner_text() and "2" in error.inner_text() and "columns" in error.inner_text()
    assert page.input_value("#k") == "1 0 3\n0 1 3"
    assert page.get_attribute("#k", "aria-invalid") == "true"
    expect(page.locator("#stale-note")).to_be_visible()
    np.testing.assert_allclose(lab.table("output"), [[1.6605, 2.6605], [2.3395, 3.3395]], atol=5e-5)
    type_into(page, "k", "1 0\n0 1")
    expect(error).to_be_hidden()
    expect(page.locator("#stale-note")).to_be_hidden()


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("q", ""),
        ("q", "   \n  "),
        ("q", "1 2\n3"),
        ("q", "one two"),
        ("q", "1e400 1\n0 1"),
        ("q", "nan 1\n0 1"),
        ("v", "1 2"),
        ("v", "1 2\n3 4\n5 6"),
        ("q", "1e308 1e308\n1e308 1e308"),
        ("q", "1,5 2,5\n3,5 4,5"),
        ("T", "0"),
        ("T", "warm"),
        ("window", "3"),
        ("softcap", "-1"),
        ("keep", "1 0 1"),
        ("bias", "1"),
        ("heads", "3"),
        ("lengths", "9"),
        ("labels", "only"),
    ],
)
def test_bad_input_is_answered_beside_its_field(lab, field: str, text: str) -> None:
    page = lab.page
    page.evaluate("for (const d of document.querySelectorAll('#lab-form details')) d.open = true")
    if text.startswith("1e308"):
        type_into(page, "k", text)
    type_into(page, field, text)
    shown = [item.inner_text() for item in page.locator(".error:visible").all() if item.inner_text()]
    assert len(shown) >= 1 and len(shown[0]) > 20, "a sentence"
    assert page.input_value(f"#{field}") == text
    assert page.locator(f'[data-error-for="{field}"]').inner_text(), f"beside {field}, not only {shown}"
    assert page.locator('table[data-stage="output"]').count() == 1


@pytest.mark.parametrize(
    ("q", "k", "v", "output"),
    [
        ("−1 0", "1 0\n0 1", "1\n2", None),  # Unicode minus
        ("5e-324 0", "1 0\n0 1", "1\n2", [[1.5]]),  # denormal
        ("1", "2", "3", [[3.0]]),  # one row, one column
        ("1 2 3", "1 2 3", "4 5", [[4.0, 5.0]]),  # one key
    ],
)
def test_unusual_input_gives_a_right_answer(
    lab, q: str, k: str, v: str, output: list[list[float]] | None
) -> None:
    lab.page.fill("#q", q)
    lab.page.fill("#k", k)
    type_into(lab.page, "v", v)
    expect(lab.page.locator(".error:visible")).to_have_count(0)
    state = State.from_values([("q", q), ("k", k), ("v", v)])
    np.testing.assert_allclose(
        lab.table("output"), view_of(state).trace.output if output is None else output, atol=1e-12
    )


def test_both_readings_of_an_ambiguous_text_are_offered(lab) -> None:
    page = lab.page
    type_into(page, "q", "1,5 2,5\n3,5 4,5")
    expect(page.locator('[data-error-for="q"]')).to_be_visible()
    page.get_by_role("button", name="Read as decimal commas: 2×2").click()
    assert lab.table("q") == [[1.5, 2.5], [3.5, 4.5]]
    expect(page.locator('[data-error-for="q"]')).to_be_hidden()


def test_what_reading_changed_is_said(lab) -> None:
    type_into(lab.page, "q", "0,25\t-1,5\n12\t-7,125")
    expect(lab.page.locator('[data-said-for="q"]')).to_contain_text("ecimal comma")
    assert lab.table("q") == [[0.25, -1.5], [12, -7.125]]


def test_a_huge_paste_is_answered(lab) -> None:
    page = lab.page
    page.evaluate(
        """() => { const box = document.querySelector("#q");
        box.value = Array.from({length: 2000}, () => Array(2000).fill("1").join(" ")).join("\\n");
        box.dispatchEvent(new Event("input", {bubbles: true})); }"""
    )
    expect(page.locator(".error:visible").first).to_be_visible(timeout=60_000)
    page.evaluate(
        """() => { const box = document.querySelector("#q"); box.value = "1 0\\n0 1";
        box.dispatchEvent(new Event("input", {bubbles: true})); }"""
    )
    expect(page.locator(".error:visible")).to_have_count(0)


def test_switches(lab) -> None:
    page = lab.page
    page.uncheck("#scale")
    expect(page.locator('table[data-stage="scaled"]')).to_have_count(0)
    page.check("#scale")
    page.check("#causal")
    expect(page.locator('table[data-stage="masked"]')).to_have_count(1)
    assert lab.table("weights")[0] == [1.0, 0.0]
    type_into(page, "T", "2")
    expect(page.locator('table[data-stage="tempered"]')).to_have_count(1)


def test_reset_and_examples(lab) -> None:
    page = lab.page
    page.select_option("#example", "causal-pair")
    assert page.input_value("#v") == "1 0\n0 1" and page.is_checked("#causal")
    page.click("#reset")
    assert page.input_value("#v") == "1 2\n3 4" and not page.is_checked("#causal")
    assert page.locator("#example option").count() >= 11


def test_opening_a_row(lab) -> None:
    page = lab.page
    page.click('table[data-stage="weights"] button[data-set="row=1"]')
    expect(page.locator("table[data-row-trace]")).to_have_attribute("data-i", "1")
    terms = {
        cell.get_attribute("data-term"): float(cell.get_attribute("data-value") or "nan")
        for cell in page.locator('table[data-row-trace] td[data-j="1"]').all()
    }
    assert terms["dot"] == 1.0 and abs(terms["scaled"] - 2**-0.5) < 1e-15 and terms["exp"] == 1.0
    assert abs(terms["weight"] - lab.table("weights")[1][1]) == 0.0
    assert page.locator('button[data-set="row=1"][aria-pressed="true"]').count() >= 4


def test_a_cell_shows_its_formula_and_lights_up_its_sources(lab) -> None:
    page = lab.page
    page.hover('table[data-stage="scores"] td[data-i="1"][data-j="0"]')
    expect(page.locator("#cell-formula")).to_have_text("S₂₁ = q₂·k₁ = 0×1 + 1×0 = 0.0000")
    line = page.locator("#cell-formula").bounding_box()
    assert line
    lit = 'getComputedStyle(document.querySelector(\'table[data-stage="q"] td[data-i="1"]\')).backgroundColor'
    plain = (
        'getComputedStyle(document.querySelector(\'table[data-stage="q"] td[data-i="0"]\')).backgroundColor'
    )
    assert page.evaluate(lit) != page.evaluate(plain)
    page.focus('table[data-stage="scores"] td[data-i="0"][data-j="0"]')
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#cell-formula")).to_have_text("S₂₂ = q₂·k₂ = 0×0 + 1×1 = 1.0000")


@pytest.mark.parametrize("changed", [0, 1, 2, 5])
def test_tab_reaches_one_cell_of_a_table_whatever_row_is_written(lab, changed: int) -> None:
    """An edit may write some rows of a table anew: the cell moved to stays the one that Tab reaches, and keeps the focus."""
    page = lab.page
    rows = [f"{i} {8 - i}" for i in range(8)]
    lab.open("&".join(f"{name}={';'.join(rows).replace(' ', ',')}" for name in "qkv"))
    page.focus('table[data-stage="weights"] td[data-i="0"][data-j="0"]')
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    rows[changed] = "9 9"
    page.evaluate(
        """(text) => { const q = document.getElementById("q"); q.value = text;
        q.dispatchEvent(new Event("input", {bubbles: true})); }""",
        "\n".join(rows),
    )
    expect(page.locator(f'table[data-stage="scores"] td[data-i="{changed}"][data-j="0"]')).to_have_attribute(
        "data-value", "72.0"
    )
    place = "(cell) => [cell.closest('table').dataset.stage, cell.dataset.i, cell.dataset.j].join()"
    stops = page.evaluate(
        f"""[...document.querySelectorAll('table[data-stage="weights"] td[tabindex="0"]')].map({place})"""
    )
    assert stops == ["weights,1,1"]
    assert page.evaluate(f"({place})(document.activeElement)") == "weights,1,1"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(f"({place})(document.activeElement)") == "weights,2,1"


def test_the_grid_writes_the_text_box(lab) -> None:
    page = lab.page
    page.click('[data-grid-toggle="q"]')
    page.fill('input[data-grid="q"][data-r="0"][data-c="0"]', "5")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.r") == "1"
    expect(page.locator('table[data-stage="scores"] td[data-i="0"][data-j="0"]')).to_have_attribute(
        "data-value", "5.0"
    )
    page.click('[data-grid-change="q add-row"]')
    expect(page.locator('[data-shape-of="q"]')).to_have_text("3×2")
    page.evaluate(
        """() => { const cell = document.querySelector('input[data-grid="q"][data-r="1"][data-c="0"]'); cell.focus();
        const data = new DataTransfer(); data.setData("text/plain", "7\\t8\\n9\\t10\\n11\\t12");
        cell.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true})); }"""
    )
    expect(page.locator('[data-shape-of="q"]')).to_have_text("4×2")
    assert lab.table("q") == [[5, 0], [7, 8], [9, 10], [11, 12]]


def test_undo_and_redo(lab) -> None:
    page = lab.page
    page.select_option("#example", "ties")
    page.select_option("#example", "cross")
    page.click("#undo")
    assert page.input_value("#example") == "ties"
    page.click("#redo")
    assert page.input_value("#example") == "cross"


def test_pin_and_compare(lab) -> None:
    page = lab.page
    page.click("#pin")
    type_into(page, "T", "0.5")
    largest = page.locator('[data-largest-change="weights"]')
    expect(largest).to_be_visible()
    change = float(largest.get_attribute("data-value") or "nan")
    pinned = view_of(State.opening()).trace.weights
    assert abs(abs(change) - float(np.abs(np.array(lab.table("weights")) - pinned).max())) < 1e-12
    assert page.locator('table[data-pinned="output"]').count() == 1
    page.click('button[data-set="compare="]')
    expect(page.locator('table[data-pinned="output"]')).to_have_count(0)


def test_copies_are_exact(lab) -> None:
    page = lab.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click('[data-action="copy-json weights"]')
    expect(page.locator("#announce")).to_have_text("Copied.")
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert copied["data"] == lab.table("weights")
    page.click('[data-action="copy-row"]')
    page.wait_for_function("navigator.clipboard.readText().then((text) => text.startsWith('Row Q₁'))")


def test_back_and_forward(lab) -> None:
    page = lab.page
    page.select_option("#example", "ties")
    page.select_option("#example", "cross")
    page.go_back()
    expect(page.locator("#example")).to_have_value("ties")
    page.go_forward()
    expect(page.locator("#example")).to_have_value("cross")


def test_the_work_survives_a_reload(lab) -> None:
    type_into(lab.page, "v", "5 6\n7 8")
    lab.page.wait_for_function("location.hash.includes('v=5,6;7,8')")
    lab.page.reload()
    lab.wait()
    assert lab.page.input_value("#v") == "5 6\n7 8" and lab.table("v") == [[5, 6], [7, 8]]


def test_submit_never_navigates(lab) -> None:
    lab.page.focus("#T")
    before = lab.page.evaluate("performance.timeOrigin")
    lab.page.keyboard.press("Enter")
    assert lab.page.evaluate("performance.timeOrigin") == before


def test_edits_made_while_python_starts_are_kept(fresh_page: Callable, site: str) -> None:
    early = fresh_page(site)
    early.page.goto(site, wait_until="domcontentloaded")
    early.page.fill("#v", "10 20\n30 40")
    early.wait()
    assert early.page.input_value("#v") == "10 20\n30 40"
    np.testing.assert_allclose(early.table("v"), [[10, 20], [30, 40]])


def test_an_example_chosen_before_python_is_ready_shows_its_result(fresh_page: Callable, site: str) -> None:
    early = fresh_page(site)
    early.page.route("**/*.wasm", lambda route: None)  # Python never arrives
    early.page.goto(site, wait_until="domcontentloaded")
    early.page.select_option("#example", "causal-pair")
    np.testing.assert_allclose(early.table("output"), [[1, 0], [0.330238, 0.669762]], atol=5e-7)
    assert early.page.is_checked("#causal") and early.page.input_value("#v") == "1 0\n0 1"


def test_when_python_never_starts_the_page_says_so_and_keeps_the_answer(
    fresh_page: Callable, site: str
) -> None:
    early = fresh_page(site)
    early.page.route("**/*.wasm", lambda route: route.abort())
    early.page.route("**/snapshot*", lambda route: route.abort())
    early.page.goto(site)
    early.page.wait_for_function("document.documentElement.dataset.python === 'failed'", timeout=60_000)
    assert "Python could not start" in early.page.inner_text("#python-status")
    np.testing.assert_allclose(early.table("output"), [[1.6605, 2.6605], [2.3395, 3.3395]], rtol=0, atol=5e-5)


def test_64_by_64_stays_usable(lab) -> None:
    rng = np.random.default_rng(3)
    rows = "\n".join(" ".join(f"{x:.3f}" for x in line) for line in rng.standard_normal((64, 64)))
    for field in ("q", "k", "v"):
        lab.page.fill(f"#{field}", rows)
    type_into(lab.page, "T", "2")
    expect(lab.page.locator('table[data-stage="output"] td[data-i="63"][data-j="63"]')).to_have_count(1)
    lab.page.click('table[data-stage="weights"] button[data-set="row=63"]')
    expect(lab.page.locator("table[data-row-trace]")).to_have_attribute("data-i", "63")


def test_above_64_the_stages_are_drawn_with_numbers_at_hand(lab) -> None:
    rng = np.random.default_rng(4)
    rows = "\n".join(" ".join(f"{x:.2f}" for x in line) for line in rng.standard_normal((100, 4)))
    for field in ("q", "k", "v"):
        lab.page.fill(f"#{field}", rows)
    expect(lab.page.locator('[data-canvas="weights"] canvas')).to_have_count(1)


def large(seed: int, rows: int = 100) -> list[str]:
    """The lines of a matrix that is drawn on canvas."""
    rng = np.random.default_rng(seed)
    return [" ".join(f"{x:.2f}" for x in line) for line in rng.standard_normal((rows, 4))]


def test_what_follows_the_stages_of_a_large_edit_is_of_the_same_numbers(lab) -> None:
    """The stages come first. Until the edits pause, the rest is marked as of the numbers before; then it is of these."""
    page = lab.page
    lines = large(5)
    for field in ("q", "k", "v"):
        page.fill(f"#{field}", "\n".join(lines))
    panel = page.locator('[data-lab-panel="calculator"]')
    expect(panel).not_to_have_attribute("aria-busy", "true")
    for first in ("3", "4", "5"):
        lines[0] = f"{first} 0 1 -1"
        seen = page.evaluate(
            """async (text) => {
                const field = document.getElementById("q");
                field.value = text;
                field.dispatchEvent(new InputEvent("input", { bubbles: true }));
                await new Promise(requestAnimationFrame);
                await new Promise(requestAnimationFrame);
                const panel = document.querySelector('[data-lab-panel="calculator"]');
                const cell = panel.querySelector('[data-window="scores"] td[data-i="0"][data-j="1"]');
                return [panel.getAttribute("aria-busy"), cell.dataset.value,
                    getComputedStyle(panel.querySelector(".summary")).opacity];
            }""",
            "\n".join(lines),
        )
        text = "\n".join(lines)
        plain = "\n".join(large(5))
        trace = view_of(State(q=text, k=plain, v=plain)).slice_trace
        assert float(seen[1]) == pytest.approx(trace.scores[0, 1], rel=1e-12)
        assert seen[0] == "true" and float(seen[2]) < 0.5
    expect(panel).not_to_have_attribute("aria-busy", "true")
    dots = page.locator('[data-row-trace] td[data-term="dot"]')
    expect(dots).to_have_count(100)
    values = dots.evaluate_all("cells => cells.map((cell) => Number(cell.dataset.value))")
    np.testing.assert_allclose(values, trace.scores[0], rtol=1e-12)
    check = page.locator('[data-check="stable-naive"]').get_attribute("data-value")
    assert float(check or "nan") == pytest.approx(trace.stable_vs_naive, abs=1e-15)
    page.locator('[data-window="weights"] button[data-set="row=7"]').click()
    expect(page.locator("table[data-row-trace]")).to_have_attribute("data-i", "7")


def test_leaving_a_large_edit_before_its_rest_has_come(lab) -> None:
    page = lab.page
    text = "\n".join(large(6))
    for field in ("q", "k", "v"):
        page.fill(f"#{field}", text)
    page.locator('nav [data-lab-link="walkthrough"]').click()
    page.locator('nav [data-lab-link="calculator"]').click()
    expect(page.locator('[data-row-trace] td[data-term="dot"]')).to_have_count(100)
    page.fill("#q", text.replace("\n", "\n0 0 0 0\n", 1))
    page.fill("#q", "1 2\nx")  # stops what was to follow with an error: the result before it is completed
    expect(page.locator("#stale-note")).to_be_visible()
    expect(page.locator('[data-lab-panel="calculator"]')).not_to_have_attribute("aria-busy", "true")
    expect(page.locator(".summary")).to_contain_text("Q 101×4")


def test_typing_fast_into_64_by_64_ends_with_what_was_typed(lab) -> None:
    """Forty keys without a rest between them: old work is dropped, and the last state stands everywhere."""
    rng = np.random.default_rng(8)
    lines = [" ".join(f"{x:.3f}" for x in line) for line in rng.standard_normal((64, 64))]
    text = "\n".join(lines)
    for field in ("q", "k", "v"):
        lab.page.fill(f"#{field}", text)
    computed = lab.page.evaluate(
        """async (rest) => {
            const field = document.getElementById("q");
            const stages = document.querySelector(".stages");
            let writes = 0;
            const watch = new MutationObserver(() => writes++);
            watch.observe(stages, { childList: true, subtree: true, characterData: true });
            for (let i = 0; i < 40; i++) {
                field.value = `${i}.5` + rest;
                field.dispatchEvent(new InputEvent("input", { bubbles: true }));
                if (i % 4 === 3) await new Promise(requestAnimationFrame);
            }
            for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
            return writes;
        }""",
        " " + text.split(" ", 1)[1],
    )
    assert 1 <= computed <= 13, "at most one drawing for each frame"
    edited = "39.5 " + text.split(" ", 1)[1]
    trace = view_of(State(q=edited, k=text, v=text)).slice_trace
    for stage, i, row in (("output", 0, trace.output[0]), ("scores", 63, trace.scores[63])):
        cells = lab.page.locator(f'table[data-stage="{stage}"] td[data-i="{i}"]')
        values = cells.evaluate_all("cells => cells.map((cell) => Number(cell.dataset.value))")
        np.testing.assert_allclose(values, row, rtol=1e-12, atol=1e-13)


def test_long_texts_are_read_as_they_stand(lab) -> None:
    """Python is handed only what changed of a long text; characters outside the basic plane must not shift it."""
    lab.open("lab=heatmap")
    word = "a" * 2100
    sentences = [
        word,
        word + "b",
        "c" + word,
        word[:1000] + "d" + word,
        word + "😀",
        "😀" + word + "e",
        word[:-1] + "f😀",
        word,
    ]
    for sentence in sentences:
        lab.page.fill("#sentence", sentence)
        lab.page.wait_for_function(
            "(wanted) => new URLSearchParams(location.hash.slice(1)).get('text') === wanted", arg=sentence
        )
