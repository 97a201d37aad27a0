"""The Walkthrough in a real browser: stepping by keyboard, the grid, playing, predicting, the experiment."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import reduce
from operator import add

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from attention_lab.compute import view_of
from attention_lab.explain.growth import growth
from attention_lab.explain.steps import Walk
from attention_lab.inputs.examples import load
from attention_lab.render import walkthrough
from attention_lab.state import State
from site_builder.paths import ROOT

OPENING = "lab=walkthrough&example=walkthrough-masked&causal=top-left"
CHOSEN = (0, 1, 17, 40, 64, 65, 68, 73, 76, 84, 93, 99)
"""Steps at which the grid is read: the start, dot products, and one or two of every later phase."""
PLAIN = ROOT / "tests" / "bench" / "plain_walkthrough.html"


def opening_walk() -> Walk:
    return walkthrough.walk_of(view_of(State.opening("walkthrough")))


def walk_at(fragment: str) -> Walk:
    return walkthrough.walk_of(view_of(State.from_fragment(fragment)))


def step_of(page: Page) -> int:
    return int(page.evaluate("document.documentElement.dataset.step"))


def cells(page: Page, table: str) -> list[dict[str, str | None]]:
    """Every cell of a table of the stage, in one look."""
    found: list[dict[str, str | None]] = page.evaluate(
        """(table) => [...document.querySelectorAll(`[data-walk-table="${table}"] td[data-i]`)].map((cell) => ({
            i: cell.dataset.i, j: cell.dataset.j, state: cell.dataset.state ?? null, value: cell.dataset.value ?? null,
            masked: "masked" in cell.dataset ? "yes" : null, text: cell.textContent, kind: cell.className}))""",
        table,
    )
    return found


def check_grid(page: Page, walk: Walk, index: int) -> None:
    """The grid on the page is the grid of the steps: value for value, state for state."""
    grid = walk.grid(index)
    found = cells(page, "grid")
    assert len(found) == walk.n * walk.m
    for cell in found:
        i, j = int(cell["i"] or 0), int(cell["j"] or 0)
        if not grid.known[i, j]:
            assert (cell["state"], cell["value"], cell["text"]) == ("todo", None, "")
            continue
        value, expected = float(cell["value"] or "nan"), float(grid.values[i, j])
        assert value == expected or abs(value - expected) <= 1e-13 * max(1.0, abs(expected))
        assert (cell["masked"] == "yes") == bool(grid.masked[i, j])
        if grid.masked[i, j]:
            assert (value, cell["text"]) in ((float("-inf"), "−∞"), (0.0, "0"))
        else:
            assert cell["state"] == ("zero" if expected == 0 else "value")
            assert cell["text"] != ""
    for cell in cells(page, "output"):
        done = int(cell["i"] or 0) < grid.output_rows
        assert (cell["value"] is not None) == done


def press(page: Page, key: str, times: int = 1) -> None:
    for _ in range(times):
        page.keyboard.press(key)


# stepping


def test_it_opens_on_the_masked_example_and_counts_100_steps(lab) -> None:
    lab.open("lab=walkthrough")
    assert lab.page.evaluate(
        "[document.documentElement.dataset.step, document.documentElement.dataset.steps]"
    ) == [
        "0",
        "100",
    ]
    lab.open("lab=walkthrough&example=walkthrough-unmasked")
    assert lab.page.evaluate("document.documentElement.dataset.steps") == "92"
    lab.open(OPENING + "&scale=none&step=68")
    assert lab.page.evaluate("document.documentElement.dataset.steps") == "100"
    assert "÷ 1" in lab.page.inner_text(".walk-sentence")


def test_from_first_to_last_and_back_by_keyboard(lab) -> None:
    lab.open(OPENING)
    page, walk = lab.page, opening_walk()
    seen: dict[int, str] = {}
    for index in range(100):
        assert step_of(page) == index
        seen[index] = page.inner_text(".walk-stage") + page.inner_text(".walk-sentence")
        if index in CHOSEN:
            check_grid(page, walk, index)
            assert page.inner_text(".walk-sentence") == walk[index].sentence
        press(page, "ArrowRight")
    assert step_of(page) == 99, "the last step has no next"
    for index in range(99, -1, -1):
        assert step_of(page) == index
        assert page.inner_text(".walk-stage") + page.inner_text(".walk-sentence") == seen[index]
        if index in CHOSEN:
            check_grid(page, walk, index)
        press(page, "ArrowLeft")
    assert step_of(page) == 0
    press(page, "End")
    assert step_of(page) == 99
    press(page, "Home")
    assert step_of(page) == 0


def test_the_step_stands_in_the_address_and_an_address_opens_it(lab) -> None:
    lab.open(OPENING + "&step=76")
    assert step_of(lab.page) == 76
    press(lab.page, "ArrowRight")
    lab.page.wait_for_function("location.hash.includes('step=77')")
    lab.open(OPENING + "&step=4000")
    assert step_of(lab.page) == 99, "a step beyond the last shows the last"


def test_the_buttons_the_phases_and_the_scrubber(lab) -> None:
    lab.open(OPENING)
    page = lab.page
    page.click('[data-walk="next"]')
    assert step_of(page) == 1
    page.click('[data-walk="last"]')
    assert step_of(page) == 99
    page.click('[data-walk="back"]')
    assert step_of(page) == 98
    starts = {"Vectors": 0, "Scores": 1, "Division": 66, "Mask": 74, "Softmax": 82, "Output": 91}
    for title, first in starts.items():
        page.click(f'.walk-phases button:text-is("{title}")')
        assert step_of(page) == first
        assert page.locator('.walk-phases [aria-current="step"]').inner_text() == title
    page.locator("#walk-scrub").fill("40")
    assert step_of(page) == 40
    assert (
        page.locator("#walk-scrub").get_attribute("aria-valuetext")
        == "step 40 of 99, Score of query 4 and key 7"
    )


def test_the_keyboard_stays_on_the_button_it_pressed(lab) -> None:
    lab.open(OPENING)
    lab.page.focus('[data-walk="next"]')
    press(lab.page, "Enter", 5)
    assert step_of(lab.page) == 5
    assert lab.page.evaluate("document.activeElement.dataset.walk") == "next"


def test_the_current_cells_query_and_key_light_up(lab) -> None:
    lab.open(OPENING + "&step=18")
    page = lab.page
    now = [(cell["i"], cell["j"]) for cell in cells(page, "grid") if " now" in (cell["kind"] or "")]
    assert now == [("2", "1")]
    for table, row in (("q", "2"), ("k", "1")):
        lit = [(cell["i"], cell["j"]) for cell in cells(page, table) if " lit" in (cell["kind"] or "")]
        assert sorted(lit) == [(row, str(c)) for c in range(4)]
    lab.open(OPENING + "&step=93")
    lit_values = {cell["i"] for cell in cells(page, "v") if " lit" in (cell["kind"] or "")}
    assert lit_values == {"0", "1", "2"}, "masked values have no part in row 2"


def test_three_facts_in_three_channels(lab) -> None:
    """Not computed, computed and zero, masked: fill, text and border differ between any two of them."""
    lab.open(OPENING + "&step=76")
    look = """(selector) => { const cell = document.querySelector(selector), style = getComputedStyle(cell);
        return [style.backgroundColor + style.backgroundImage, cell.textContent, style.borderTopStyle]; }"""
    grid = '[data-walk-table="grid"] td'
    masked = lab.page.evaluate(look, f'{grid}[data-state="masked"]:not(.now)')
    zero = lab.page.evaluate(look, f'{grid}[data-state="zero"]:not(.now)')
    lab.open(OPENING + "&step=17")
    todo = lab.page.evaluate(look, f'{grid}[data-state="todo"]')
    for channel in range(3):
        assert len({todo[channel], zero[channel], masked[channel]}) == 3
    assert (todo[1], zero[1], masked[1]) == ("", "0", "−∞")


def test_the_division_frames_show_before_and_after_and_check_the_statement(lab) -> None:
    for row, after, before in ((2, "0.7662", "0.9465"), (6, "0.2945", "0.4748")):
        lab.open(f"{OPENING}&step={66 + row}")
        page = lab.page
        assert page.inner_text('[data-division="before"] .largest') == before
        assert page.inner_text('[data-division="after"] .largest') == after
        assert page.locator("[data-division-check]").get_attribute("data-division-check") == "8/8"
    assert page.locator('[data-division="before"] td[data-j]').count() == 8


def test_counters_of_dot_products_and_multiplications(lab) -> None:
    lab.open(OPENING + "&step=20")
    assert (
        " ".join(lab.page.inner_text(".walk-count").split())
        == "20 of 64 dot products 80 of 512 multiplications"
    )
    lab.open(OPENING + "&step=99")
    assert (
        " ".join(lab.page.inner_text(".walk-count").split())
        == "64 of 64 dot products 512 of 512 multiplications"
    )


# playing and hearing


def test_space_plays_and_pauses_and_nothing_plays_by_itself(lab) -> None:
    lab.open(OPENING)
    page = lab.page
    page.wait_for_timeout(700)
    assert step_of(page) == 0
    page.select_option("#walk-speed", "8")
    page.locator("h2:visible").first.click()
    press(page, " ")
    expect(page.locator(".walk-play")).to_have_text("Pause")
    page.wait_for_function("Number(document.documentElement.dataset.step) >= 4")
    press(page, " ")
    stopped = step_of(page)
    page.wait_for_timeout(500)
    assert step_of(page) == stopped
    expect(page.locator(".walk-play")).to_have_text("Play")
    page.select_option("#walk-speed", "2")


def test_less_motion_means_no_rapid_change(lab) -> None:
    page = lab.page
    page.emulate_media(reduced_motion="reduce")
    lab.open(OPENING)
    page.select_option("#walk-speed", "8")
    page.click(".walk-play")
    page.wait_for_timeout(900)
    assert step_of(page) == 0
    page.wait_for_function("document.documentElement.dataset.step === '1'")
    page.click(".walk-play")
    page.select_option("#walk-speed", "2")


def test_a_screen_reader_hears_each_steps_sentence_once(lab) -> None:
    lab.open(OPENING)
    page, walk = lab.page, opening_walk()
    assert page.locator("[aria-live]:visible, .walk [aria-live], .walk [role=status]").count() == 1
    page.evaluate(
        """() => { window.heard = []; const place = document.getElementById("announce");
            window.ear = new MutationObserver(() => window.heard.push(place.textContent));
            window.ear.observe(place, {childList: true, characterData: true, subtree: true}); }"""
    )
    for _ in range(3):
        press(page, "ArrowRight")
        page.wait_for_timeout(50)
    assert page.evaluate("window.heard") == [walk[index].sentence for index in (1, 2, 3)]
    page.evaluate("window.ear.disconnect()")


# predicting


def test_predict_mode_hides_the_next_cell_and_names_slips(lab) -> None:
    lab.open(OPENING + "&step=67")
    page, walk = lab.page, opening_walk()
    page.check("#walk-predict")
    expect(page.locator('label[for="guess"]')).to_have_text(
        "Step 68: What is the score of query 2 and key 1, divided?"
    )
    assert page.evaluate("document.activeElement.id") == "guess"
    assert page.locator(".walk-play").is_disabled()
    page.locator("h2:visible").first.click()
    press(page, "ArrowRight")
    assert step_of(page) == 67, "the arrow asks for a number instead of giving the answer away"
    assert page.evaluate("document.activeElement.id") == "guess"
    for guess, slip in (("5", "forget to divide"), ("1.25", "divide by dₖ instead of √dₖ")):
        page.fill("#guess", guess)
        press(page, "Enter")
        expect(page.locator("#walk-verdict")).to_contain_text(slip)
        assert step_of(page) == 67
    page.fill("#guess", "2,5")
    press(page, "Enter")
    expect(page.locator("#walk-verdict")).to_contain_text("Right: 2.5.")
    assert step_of(page) == 68
    assert page.evaluate("document.activeElement.id") == "guess"
    page.fill("#guess", "many")
    page.click('[data-walk="check"]')
    expect(page.locator("#walk-verdict")).to_contain_text("Expected one number")
    page.click('[data-walk="show"]')
    assert step_of(page) == 69
    page.wait_for_function("location.hash.includes('predict=1')")
    page.uncheck("#walk-predict")
    expect(page.locator("#guess")).to_have_count(0)
    assert page.inner_text(".walk-sentence") == walk[69].sentence


def test_softmax_slips_are_named_on_the_page(lab) -> None:
    lab.open(OPENING + "&step=83&predict=1")
    page = lab.page
    for guess, slip in (
        (0.9465, "forget to divide"),
        (round(float(np.exp(1.25) / (1 + np.exp(1.25) + np.exp(0.5))), 4), "divide by dₖ instead of √dₖ"),
    ):
        page.fill("#guess", str(guess))
        press(page, "Enter")
        expect(page.locator("#walk-verdict")).to_contain_text(slip)
    page.fill("#guess", "0.7662")
    press(page, "Enter")
    assert step_of(page) == 84


# any problem


@pytest.mark.parametrize(
    ("fragment", "steps"),
    [
        ("example=cross", 2 * 3 + 3 * 2 + 4),
        ("q=1,2;3,4&k=1,0;0,1;1,1&v=1;2;3&causal=bottom-right&T=2&softcap=3", 2 * 3 + 4 * 2 + 4),
        ("text=the cat sat on the mat because the cat was tired&d=32&causal=top-left", 11 * 11 + 4 * 11 + 4),
        ("q=-1,-2&k=0.5,0.5;1,-1&v=2,0;0,2", 2 + 3 + 4),
    ],
)
def test_the_same_stepper_works_on_any_problem(lab, fragment: str, steps: int) -> None:
    fragment = "lab=walkthrough&" + fragment
    walk = walk_at(fragment)
    assert len(walk) == steps
    for index in sorted({0, 1, steps // 2, steps - 4, steps - 1}):
        lab.open(f"{fragment}&step={index}")
        assert lab.page.evaluate("document.documentElement.dataset.steps") == str(steps)
        check_grid(lab.page, walk, index)


def test_sixteen_by_sixteen_steps_and_seventeen_says_why_not(lab) -> None:
    rows = ";".join(f"{i % 3},{(i * 7) % 5}" for i in range(16))
    fragment = f"lab=walkthrough&q={rows}&k={rows}&v={rows}&causal=top-left"
    walk = walk_at(fragment)
    for index in (200, 290, len(walk) - 1):
        lab.open(f"{fragment}&step={index}")
        check_grid(lab.page, walk, index)
    lab.open(f"lab=walkthrough&q={rows};1,1&k={rows}&v={rows}")
    expect(lab.page.locator("[data-walk-refused]")).to_contain_text(
        "at most 16 queries and 16 keys; this problem has 17 and 16"
    )
    lab.open(OPENING)
    check_grid(lab.page, opening_walk(), 0)


def test_editing_a_matrix_keeps_the_stepper_going(lab) -> None:
    lab.open(OPENING + "&step=18")
    page = lab.page
    text = page.input_value("#q")
    assert text.splitlines()[2] == "1 1 0 2"
    page.fill("#q", text.replace("1 1 0 2", "1 3 0 2"))
    page.wait_for_function(
        "document.querySelector('.walk-sentence').textContent.endsWith('their score is 7.')"
    )
    assert step_of(page) == 18
    page.fill("#q", "1 2 3")
    expect(page.locator('[data-error-for="q"]:visible, [data-error-for="k"]:visible').first).to_be_visible()
    press(page, "ArrowLeft")
    assert page.inner_text(".walk-sentence").endswith("their score is 7."), "the last good result stays"


# the experiment and the panels


def test_the_experiment_runs_and_follows_its_controls(lab) -> None:
    lab.open(OPENING)
    page = lab.page
    page.locator(".walk-growth").scroll_into_view_if_needed()
    table = page.locator(".growth-table")
    expect(table).to_be_visible(timeout=20_000)
    expected = growth(0, 8, "normal")
    for point in expected.points:
        shown = page.locator(f'.growth-table tr[data-d="{point.d}"] td[data-value]')
        values = [float(cell.get_attribute("data-value") or "nan") for cell in shown.all()]
        np.testing.assert_allclose(
            values, [point.deviation, point.largest_raw, point.largest_scaled], rtol=1e-5
        )
    assert page.locator('.growth-chart svg[role="img"]').get_attribute("aria-label")
    page.fill("#growth-keys", "16")
    page.locator("#growth-keys").blur()
    expect(page.locator('[data-slot="walk-growth"]')).to_contain_text("16 keys each", timeout=20_000)
    page.wait_for_function("location.hash.includes('growth-keys=16')")
    page.fill("#growth-keys", "1")
    page.locator("#growth-keys").blur()
    expect(page.locator("#growth-error")).to_have_text("The number of keys is 2 to 64; got 1.")


def test_the_panels_count_live(lab) -> None:
    lab.open(OPENING + "&step=99")
    page = lab.page
    rows: dict[str | None, list[float]] = {}
    for cell in cells(page, "grid"):
        rows.setdefault(cell["i"], []).append(float(cell["value"] or "nan"))
    # added one by one: the built-in sum() of newer Pythons carries its rounding errors along
    missed = sum(reduce(add, row, 0.0) != 1.0 for row in rows.values())
    text = page.inner_text(".walk-notice")
    said = f"{missed} of 8 not exactly" if missed else "all exactly"
    assert said in text
    assert "28 of 28" in text
    assert "identical vectors" in text
    assert "512" in page.inner_text(".walk-cost")
    page.click(".walk-vectors summary")
    assert page.locator(".walk-vectors tbody tr").count() == 8
    assert "same as 0" in page.inner_text(".walk-vectors tbody tr:nth-child(5)")
    page.click(".walk-vectors summary")


# before Python, and from disk


def test_stepping_works_before_python_has_started(fresh_page: Callable, site: str) -> None:
    early = fresh_page(site)
    early.page.route("**/runtime/**", lambda route: route.abort())
    early.page.goto(f"{site}#lab=walkthrough")
    early.page.wait_for_selector('html[data-steps="100"]')
    walk = opening_walk()
    for index in range(100):
        if index in CHOSEN:
            check_grid(early.page, walk, index)
            assert early.page.inner_text(".walk-sentence") == walk[index].sentence
        press(early.page, "ArrowRight")
    press(early.page, "Home")
    assert step_of(early.page) == 0
    assert early.page.evaluate("document.documentElement.dataset.python") != "ready"


def test_python_takes_over_at_the_step_on_show(fresh_page: Callable, site: str) -> None:
    early = fresh_page(site)
    held: list[object] = []
    early.page.route("**/main.py", lambda route: held.append(route))
    early.page.goto(f"{site}#lab=walkthrough")
    early.page.wait_for_selector('html[data-steps="100"]')
    press(early.page, "ArrowRight", 20)
    before = early.page.inner_text(".walk-stage")
    for _ in range(100):
        if held:
            break
        early.page.wait_for_timeout(100)
    for route in held:
        route.continue_()  # type: ignore[attr-defined]
    early.wait()
    assert step_of(early.page) == 20
    assert early.page.inner_text(".walk-stage") == before
    press(early.page, "ArrowRight")
    assert step_of(early.page) == 21


def test_the_prerendered_frame_is_the_live_one(lab, fresh_page: Callable, site: str) -> None:
    early = fresh_page(site, javascript=False)
    early.page.goto(site)
    lab.open("lab=walkthrough")
    for part in (".walk-stage", ".walk-sentence", ".walk-count", ".walk-phases", ".walk-cost"):
        live = lab.page.locator(part).first.text_content()
        assert early.page.locator(part).first.text_content() == live, part


def test_the_single_file_steps_too(single_file) -> None:
    single_file.open(OPENING + "&step=98")
    press(single_file.page, "ArrowRight")
    check_grid(single_file.page, opening_walk(), 99)


# look and speed


def test_no_sideways_scrolling_of_the_page_on_a_phone(lab) -> None:
    page = lab.page
    page.set_viewport_size({"width": 390, "height": 844})
    for index in (0, 20, 68, 84, 93):
        lab.open(f"{OPENING}&step={index}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    lab.open(f"{OPENING}&step=24")
    press(page, "ArrowLeft")
    page.wait_for_timeout(100)
    seen = page.evaluate(
        """() => { const box = document.querySelector("#walk-scroll").getBoundingClientRect();
            const cell = document.querySelector(".at-g .now").getBoundingClientRect();
            const q = document.querySelector(".at-q").getBoundingClientRect();
            return cell.left >= q.right - 1 && cell.right <= box.right + 1; }"""
    )
    assert seen, "the cell at work is scrolled into sight beside its query"


def test_nothing_jumps_while_stepping(lab) -> None:
    lab.open(OPENING)
    page = lab.page
    tops = set()
    for index in (0, 5, 65, 68, 76, 84, 89, 93, 98, 99):
        lab.open(f"{OPENING}&step={index}")
        tops.add(page.evaluate("document.querySelector('.walk-stage').offsetTop"))
    assert len(tops) == 1


def test_a_step_beyond_the_last_is_said_until_the_reader_moves(lab) -> None:
    lab.open(OPENING + "&step=999")
    expect(lab.page.locator("#notes")).to_have_text(
        "step=999: there are steps 0 to 99; the last one is shown."
    )
    assert step_of(lab.page) == 99
    lab.page.locator("[data-walk=back]").click()
    expect(lab.page.locator("#notes")).to_be_hidden()
    assert step_of(lab.page) == 98


def test_the_plain_stepper_of_the_bench_does_the_same_work(fresh_page: Callable, site: str) -> None:
    """`build.py bench` times a step beside it; that is fair only if it draws the same grid."""
    example = load().get("walkthrough-masked")
    problem = json.dumps({name: getattr(example, name).tolist() for name in "qkv"})
    plain = fresh_page(site).page
    plain.goto(site.rstrip("/") + "/NOTICES.html")
    plain.set_content(PLAIN.read_text(encoding="utf-8").replace("./static/", "./"))
    plain.evaluate(f"load({problem})")
    for index in (20, 84):
        plain.evaluate(f"step = {index}; draw()")
        grid = opening_walk().grid(index)
        drawn = plain.evaluate(
            "[...document.querySelectorAll('.at-g td[data-value]')].map((c) => c.dataset.value)"
        )
        known = [float(x) for x in grid.values[grid.known]]
        assert [float(text) for text in drawn] == pytest.approx(known)


def test_the_prose_stands_below_with_computed_numbers(lab) -> None:
    lab.open("lab=walkthrough")
    text = lab.page.inner_text("article.prose:visible")
    for said in (
        "0.0629",
        "0.9465",
        "0.7662",
        "0.4748",
        "0.2945",
        "KV cache",
        "Beam search",
        "Edit distance",
    ):
        assert said in text
    assert "No language model runs" in text
