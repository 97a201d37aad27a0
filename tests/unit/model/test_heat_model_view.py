"""The Heatmap of a real head as HTML, on the tiny model."""

from __future__ import annotations

import base64
import re
import zlib
from dataclasses import replace

import numpy as np
import pytest

from attention_lab.compute import unplaced, view_of
from attention_lab.model.encoder import Encoder, pass_of
from attention_lab.render import heat_canvas, heat_export, heat_model, heatmap, panels
from attention_lab.render.html import number, shade
from attention_lab.render.view import View
from attention_lab.state import State

TEXT = "The cats sat."
FRAGMENT = "lab=heatmap&text=The%20cats%20sat.&model=minilm&layer=1&modelhead=2"


def test_a_picture_holds_the_levels_of_the_weights() -> None:
    weights = np.random.default_rng(2).dirichlet(np.ones(5), 5)
    data = base64.b64decode(heat_model.picture(weights).removeprefix("data:image/png;base64,"))
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at = data.index(b"IDAT")
    rows = zlib.decompress(data[at + 4 : at + 4 + int.from_bytes(data[at - 4 : at], "big")])
    pixels = np.frombuffer(rows, np.uint8).reshape(5, 6)
    np.testing.assert_array_equal(pixels[:, 1:], shade(weights))


def test_every_slot_of_a_real_head(tiny: Encoder) -> None:
    view = view_of(State.from_fragment(FRAGMENT))
    slots = heatmap.render(view)
    assert "MiniLM layer 1, head 2 · 7 pieces · d = 4" in slots["heatmap-status"]
    assert "##s" in slots["heatmap-chips"] and "data-token" not in slots["heatmap-chips"]
    assert "Where the query of" in slots["heatmap-origin"]
    values = re.findall(r'data-query="\d+" data-value="([^"]+)"', slots["heatmap-origin"])
    row = heatmap.selected_row(view)
    assert [float(value) for value in values] == view.problem.q[row].tolist()
    assert "A &lt;tiny&gt; model." in slots["heatmap-real"]
    assert "14 of the model’s 99 pieces" in slots["heatmap-real"]
    assert " style=" not in "".join(slots.values())


def test_the_terms_of_one_entry_are_all_there(tiny: Encoder) -> None:
    view = view_of(State.from_fragment(FRAGMENT + "&entry=3&row=2"))
    html = heatmap.render(view)["heatmap-origin"]
    table = html[html.index("data-origin-terms") :]
    cells = np.array([float(value) for value in re.findall(r'data-value="([^"]+)"', table)]).reshape(-1, 8)
    np.testing.assert_allclose(cells[:, 5] * cells[:, 6], cells[:, 7], rtol=1e-15)
    bias = tiny.layers[1].query.bias[2 * 4 + 3]
    assert cells[:, 7].sum() + bias == pytest.approx(view.problem.q[2, 3])


def test_the_table_of_heads_shows_only_what_is_computed(tiny: Encoder) -> None:
    sentence = pass_of(TEXT)
    sentence.layer(0)
    html = heat_model.heads(sentence, State.from_fragment(FRAGMENT))
    assert html.count('data-layer="0"') == 3 and 'data-layer="1"' not in html
    assert html.count("being computed") == 1
    sentence.layer(1)
    html = heat_model.heads(sentence, State.from_fragment(FRAGMENT))
    assert html.count("<img") == 6 and html.count('aria-pressed="true"') == 1


def test_a_layer_that_has_not_arrived_is_not_in_the_table(tiny: Encoder) -> None:
    del tiny.layers[1]
    sentence = pass_of(TEXT)
    sentence.layer(0)
    html = heat_model.heads(sentence, State.from_fragment(FRAGMENT))
    assert html.count("not here yet") == 1 and html.count("<img") == 3


def test_the_mask_is_called_a_what_if(tiny: Encoder) -> None:
    with_mask = heatmap.render(view_of(State.from_fragment(FRAGMENT + "&causal=top-left")))
    assert "A what-if" in with_mask["heatmap-real"]
    assert "A what-if" not in heatmap.render(view_of(State.from_fragment(FRAGMENT)))["heatmap-real"]


class TestLeftOutOfView:
    """[CLS] and [SEP] leave every view, never the arithmetic: Σ, denominators and entropies stay those of all pieces."""

    @pytest.fixture
    def both(self, tiny: Encoder) -> tuple[View, View]:
        shown, hidden = (view_of(State.from_fragment(FRAGMENT + more)) for more in ("", "&special=hide"))
        np.testing.assert_array_equal(shown.slice_trace.weights, hidden.slice_trace.weights)
        return shown, hidden

    @staticmethod
    def cells(html: str) -> dict[tuple[int, int], str]:
        found = re.findall(r'data-i="(\d+)" data-j="(\d+)" data-value="([^"]+)"', html)
        return {(int(i), int(j)): value for i, j, value in found}

    def test_the_table_keeps_numbers_places_and_sums(self, both: tuple[View, View]) -> None:
        whole, part = (self.cells(heatmap.render(view)["heatmap-table"]) for view in both)
        assert part == {(i, j): value for (i, j), value in whole.items() if 0 < i < 6 and 0 < j < 6}
        html = heatmap.render(both[1])["heatmap-table"]
        sums = [float(value) for value in re.findall(r'data-sum="([^"]+)"', html)]
        assert sums == pytest.approx([1.0] * 5)
        assert "[CLS]" not in html and "[SEP]" not in html
        assert (
            html.count('tabindex="0"') == 1 and 'data-set="row=1"' in html and 'data-set="row=0"' not in html
        )

    def test_the_sentence_and_the_pieces(self, both: tuple[View, View]) -> None:
        slots = heatmap.render(both[1])
        assert re.findall(r'data-strip="(\d)"', slots["heatmap-strip"]) == list("12345")
        assert re.findall(r'data-set="row=(\d)"', slots["heatmap-chips"]) == list("12345")
        assert "left out of view" in slots["heatmap-chips"]

    def test_the_open_row_says_what_is_missing(self, both: tuple[View, View]) -> None:
        whole, part = (heatmap.render(replace_row(view, 3))["heatmap-row"] for view in both)
        assert re.findall(r'data-j="(\d)" data-term="weight"', part) == list("12345")
        assert "data-left-out" in part and "data-left-out" not in whole
        assert "strongest key in view" in part and "strongest key in view" not in whole
        weights = both[1].slice_trace.weights[3]
        assert f"[CLS] {number(float(weights[0]))} and 6 [SEP] {number(float(weights[6]))}" in part
        assert f"<dd>{number(float(weights[1:6].max()))}</dd>" in part
        denominator = re.compile(r"softmax denominator</dt><dd>([^<]+)<")
        assert denominator.findall(part) == denominator.findall(whole)

    @pytest.mark.parametrize(("asked", "shown"), [("0", 1), ("6", 5), ("3", 3), ("99", 5)])
    def test_the_open_row_is_one_in_view(self, tiny: Encoder, asked: str, shown: int) -> None:
        view = view_of(State.from_fragment(f"{FRAGMENT}&special=hide&row={asked}"))
        assert heatmap.selected_row(view) == shown
        assert ("row" in unplaced(view)) is (asked != "3")

    def test_the_button_closes_a_row_that_it_hides(self, tiny: Encoder) -> None:
        for row, closes in (("0", True), ("6", True), ("2", False)):
            html = heatmap.render(view_of(State.from_fragment(f"{FRAGMENT}&row={row}")))["heatmap-head"]
            assert ("special=hide&amp;row=" in html) is closes

    def test_the_second_setting_and_the_difference(self, tiny: Encoder) -> None:
        view = view_of(State.from_fragment(f"{FRAGMENT}&special=hide&compare=modelhead%3D0&row=2"))
        slots = heatmap.render(view)
        assert "[CLS]" not in slots["heatmap-second"] and "1 the" in slots["heatmap-second"]
        assert re.findall(r'data-j="(\d)" data-compare="first"', slots["heatmap-difference"]) == list("12345")

    def test_the_canvas(self, both: tuple[View, View]) -> None:
        """Above 64 pieces the page draws this on canvas; a row opened there is the matrix's own."""
        whole, part = (heat_canvas.picture_of(view, "weights") for view in both)
        np.testing.assert_array_equal(part.values, whole.values[1:-1, 1:-1])
        np.testing.assert_array_equal(part.levels, whole.levels[1:-1, 1:-1])
        assert (part.rows, part.columns, part.cut) == (whole.rows[1:-1], whole.columns[1:-1], 1)
        assert heat_canvas.reading(part, 0, 1) == heat_canvas.reading(whole, 1, 2)
        html = heat_canvas.neighbourhood(part, 0, 0, 2)
        assert self.cells(html) == {
            (i, j): repr(float(whole.values[i, j])) for i in range(1, 6) for j in range(1, 6)
        }
        assert (
            '<tr class="selected"><th scope="row"><button type="button" class="row-name" data-set="row=3"'
            in html
        )

    def test_pictures_say_so_and_the_csv_has_everything(self, both: tuple[View, View]) -> None:
        svg = heat_export.export_svg(both[1])
        assert "[CLS] and [SEP] not shown; Σ counts them" in svg and ">0 [CLS]<" not in svg
        assert svg.count(">1.00</text>") >= 5
        csv = heat_export.export_csv(both[1])
        assert csv == heat_export.export_csv(both[0]) and "0 [CLS]" in csv
        assert "the CSV holds every row and column" in heatmap.render(both[1])["heatmap-export"]
        assert "the CSV holds every row and column" not in heatmap.render(both[0])["heatmap-export"]


def replace_row(view: View, row: int) -> View:
    return view_of(replace(view.state, row=row))


def test_the_first_row_opened_is_a_word(tiny: Encoder) -> None:
    for head in range(3):
        view = view_of(
            State.from_fragment(f"lab=heatmap&text=The%20cats%20sat.&model=minilm&layer=0&modelhead={head}")
        )
        assert 1 <= heatmap.selected_row(view) <= 5


@pytest.mark.parametrize(
    ("compare", "rows", "note"),
    [("model%3D", 4, True), ("text%3Dthe%20cat%20sat%20flat", 6, True), ("modelhead%3D0", 7, False)],
)  # fmt: skip
def test_second_pictures(tiny: Encoder, compare: str, rows: int, note: bool) -> None:
    view = view_of(State.from_fragment(f"{FRAGMENT}&compare={compare}"))
    html = heatmap.render(view)["heatmap-second"]
    assert html.count("<tr>") == rows + 1
    assert ("different tokens" in html) is note
    assert ("row-name" in html) is not note
    assert ("other-tokens" in html) is (compare != "modelhead%3D0")
    assert ("Second setting: spelling vectors · T = 1" in html) is (compare == "model%3D")


def test_places_with_another_word_carry_both(tiny: Encoder) -> None:
    view = view_of(State.from_fragment(f"{FRAGMENT}&row=2&compare=text%3DThe%20cats%20flat."))
    html = heatmap.render(view)["heatmap-difference"]
    assert ">4 sat / flat<" in html and ">5 .<" in html and ">1 the<" in html


def test_boxes_say_what_is_going_on() -> None:
    assert 'max="15000000" value="2500000"' in heat_model.box("loading", 2_500_000, 15_000_000, "")
    assert "2.5 of 15.0 MB" in heat_model.box("loading", 2_500_000, 15_000_000, "")
    assert "Go on" in heat_model.box("offer", 1, 2, "Cancelled.")
    assert "Try again" in heat_model.box("failed", 1, 2, "No.")
    for why in ("single", "absent"):
        assert "build.py" in heat_model.box("absent", 0, 0, heat_model.WHY_NOT[why])


def test_the_parts_can_be_hidden() -> None:
    assert {"heads", "origin"} <= set(panels.NAMES)


def test_given_matrices_are_not_a_head() -> None:
    """A link with Q, K and V and a model: the numbers are the matrices', and a sentence says so."""
    view = view_of(State.from_fragment("lab=heatmap&q=1,0;0,1&k=1,0;0,1&v=1,2;3,4&model=minilm&special=hide"))
    assert "MiniLM" not in heatmap.render(view)["heatmap-status"]
    assert unplaced(view) == {"model": "A real head reads a sentence; these matrices are taken as they are."}


def test_model_keys_are_read_and_written() -> None:
    state = State.from_fragment(FRAGMENT)
    assert (state.model, state.layer, state.modelhead) == ("minilm", 1, 2)
    assert State.from_fragment(state.to_fragment()) == state
    broken = State.from_fragment("text=a&model=gpt&layer=9&modelhead=12&special=1&entry=99")
    assert {note.key for note in broken.notes} == {"model", "layer", "modelhead", "special", "entry"}
    assert replace(broken, notes=()) == State.from_fragment("text=a")
