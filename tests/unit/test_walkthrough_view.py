"""The Walkthrough's view: its slots, what a step changes, prerendered frames, escaping, and its text."""

from __future__ import annotations

import base64
import gzip
import json
import re
from html.parser import HTMLParser

import pytest

from attention_lab.compute import view_of
from attention_lab.explain.growth import growth
from attention_lab.render import walk_frames, walk_growth, walk_prose, walkthrough
from attention_lab.render.view import View
from attention_lab.state import State

OPENING = State.opening("walkthrough")


def view_at(index: int, state: State = OPENING, previous: View | None = None) -> View:
    return view_of(state.with_values({"step": str(index)}), previous)


class Balance(HTMLParser):
    """Refuses markup whose elements do not close in order."""

    VOID = frozenset({"input", "br", "circle", "rect", "line", "path", "colgroup-void"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert "style" not in names and not any(name.startswith("on") for name in names), (tag, names)
        assert len(names) == len(set(names)), (tag, names)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()


def check_markup(html: str) -> None:
    parser = Balance()
    parser.feed(html)
    parser.close()
    assert parser.open == []


def test_the_opening_is_the_masked_example_at_step_0() -> None:
    walk = walkthrough.walk_of(view_of(OPENING))
    assert len(walk) == 100
    assert OPENING.example == "walkthrough-masked" and OPENING.causal == "top-left"


def test_every_step_is_well_formed_and_without_inline_style_or_script() -> None:
    view = view_of(OPENING)
    for index in range(0, 100, 3):
        view = view_at(index, previous=view)
        check_markup(walkthrough.compose(walkthrough.render(view)))
    for fragment in (
        "lab=walkthrough&example=cross&step=9",
        "lab=walkthrough&text=a b c&d=32&step=4&predict=1",
    ):
        check_markup(walkthrough.compose(walkthrough.render(view_of(State.from_fragment(fragment)))))
    check_markup(walk_prose.prose())
    check_markup(walk_growth.chart(growth()))


def test_what_is_drawn_depends_on_the_step_alone() -> None:
    fresh = {index: walkthrough.render(view_at(index)) for index in (0, 20, 68, 76, 84, 93, 99)}
    view = view_of(OPENING)
    for index in (99, 0, 84, 20, 76, 93, 68, 20, 99):
        view = view_at(index, previous=view)
        slots = walkthrough.render(view)
        if index in fresh:
            assert slots == fresh[index]


def test_a_step_changes_a_few_slots_and_never_the_frame() -> None:
    view = view_of(OPENING)
    before = walkthrough.render(view)
    for index in range(1, 100):
        view = view_at(index, previous=view)
        after = walkthrough.render(view)
        changed = [name for name in after if after[name] != before[name]]
        assert "walk-frame" not in changed
        assert 1 <= len(changed) <= 20
        before = after


def test_every_slot_has_its_place_in_the_frame_exactly_once() -> None:
    for fragment in (
        "lab=walkthrough",
        "lab=walkthrough&text=one two three&d=64",
        "lab=walkthrough&example=cross",
    ):
        slots = walkthrough.render(view_of(State.from_fragment(fragment)))
        places = re.findall(r'data-slot="([^"]+)"', slots["walk-frame"])
        assert len(places) == len(set(places))
        assert set(slots) - {"walk-frame"} <= set(places)


def test_cells_carry_their_state_value_and_place() -> None:
    slots = walkthrough.render(view_at(76))
    row = slots["walk-g2"]
    cells = re.findall(
        r'<td data-i="2" data-j="(\d)" data-state="(\w+)"( data-masked)?[^>]*data-value="([^"]+)"', row
    )
    assert [cell[0] for cell in cells] == list("01234567")
    assert cells[0] == ("0", "zero", "", "0.0")
    assert cells[1] == ("1", "value", "", "2.5")
    assert cells[3] == ("3", "masked", " data-masked", "-inf")
    assert 'data-row-stage="masked"' in row
    assert 'data-state="todo"' in walkthrough.render(view_at(5))["walk-g2"]


def test_a_larger_problem_gets_one_clear_sentence() -> None:
    rows = ";".join(["1,2"] * 17)
    slots = walkthrough.render(view_of(State.from_fragment(f"lab=walkthrough&q={rows}&k=1,2&v=3")))
    assert list(slots) == ["walk-frame"]
    assert "at most 16 queries and 16 keys; this problem has 17 and 1" in slots["walk-frame"]


def test_labels_are_text_never_markup() -> None:
    state = State.from_fragment(
        'lab=walkthrough&q=1;2&k=1;2&v=1;2&labels=<b>x</b>,"&step=1'.replace('"', "%22")
    )
    html = walkthrough.compose(walkthrough.render(view_of(state)))
    assert "<b>x</b>" not in html
    assert "&lt;b&gt;x&lt;/b&gt;" in html
    check_markup(html)


def test_predict_mode_shows_a_question_and_no_answer() -> None:
    state = OPENING.with_values({"predict": "1"})
    view = view_at(17, state)
    slots = walkthrough.render(view)
    assert "What is the score of query 2 and key 1?" in slots["walk-predict"]
    asked = re.search(r'<td data-i="2" data-j="1"[^>]*>([^<]*)</td>', slots["walk-g2"])
    assert asked and asked[1] == "?" and "data-value" not in asked[0]
    assert walkthrough.render(view_at(64, state))["walk-predict"] == "", "a framing step asks nothing"


@pytest.mark.parametrize("index", [0, 1, 20, 65, 73, 82, 99])
def test_the_packed_frames_rebuild_every_step(index: int) -> None:
    script = walk_frames.packed({"q": "1"}, "lesson")
    match = re.fullmatch(r'<script type="text/plain" id="walk-frames">([\w+/=]+)</script>', script)
    assert match and len(script) < 40_000
    made = json.loads(gzip.decompress(base64.b64decode(match[1])))
    assert made["steps"] == 100 and made["values"] == {"q": "1"}
    expected = walkthrough.render(view_at(index))
    for name, changes in made["slots"].items():
        if name != "lesson":
            assert next(html for at, html in reversed(changes) if at <= index) == expected[name]
    assert set(made["slots"]) == set(expected) - {"walk-frame"} | {"lesson"}


def test_the_chart_and_its_table_hold_the_same_points() -> None:
    measured = growth()
    html = walk_growth.chart(measured)
    assert html.count("<circle") == html.count("<rect") == len(measured.points)
    for point in measured.points:
        assert f'data-value="{point.largest_raw!r}"' in html
        assert f"{point.deviation:.3f}" in html
    assert f"{measured.constant:.3f}·√d" in html


def test_the_prose_says_what_the_lab_must_say() -> None:
    text = re.sub(r"<[^>]+>", "", walk_prose.prose())
    for said in (
        "S[2,0] = 0",
        "S[4,0] = S[4,4] = 2",
        "0.9465",
        "0.7662",
        "0.4748",
        "0.2945",
        "28 weights",
        "No language model runs",
        "hundreds or thousands",
        "random ones",
        "projections",
        "residual connection",
        "normalisation",
        "many heads",
        "many layers",
        "KV cache",
        "Tokenisation",
        "Beam search",
        "Edit distance",
    ):
        assert said in text, said


def test_a_step_that_is_not_there_is_named() -> None:
    assert walkthrough.beyond(view_at(99)) == {}
    assert walkthrough.beyond(view_at(100)) == {
        "step": "step=100: there are steps 0 to 99; the last one is shown."
    }
    assert walkthrough.beyond(view_of(State.from_fragment("step=100"))) == {}


def test_one_row_is_not_called_rows() -> None:
    view = view_of(State.from_fragment("lab=walkthrough&q=1&k=1;1&v=1;2"))
    said = [step.sentence for step in walkthrough.walk_of(view)]
    assert "All weights are computed. The one row adds up to exactly 1." in said
