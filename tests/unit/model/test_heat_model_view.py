"""The Heatmap of a real head as HTML, on the tiny model."""

from __future__ import annotations

import base64
import re
import zlib
from dataclasses import replace

import numpy as np
import pytest

from attention_lab.compute import view_of
from attention_lab.model.encoder import Encoder, pass_of
from attention_lab.render import heat_model, heatmap, panels
from attention_lab.render.html import shade
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
    assert html.count("not here yet") == 1
    sentence.layer(1)
    html = heat_model.heads(sentence, State.from_fragment(FRAGMENT))
    assert html.count("<img") == 6 and html.count('aria-pressed="true"') == 1


def test_the_mask_is_called_a_what_if(tiny: Encoder) -> None:
    with_mask = heatmap.render(view_of(State.from_fragment(FRAGMENT + "&causal=top-left")))
    assert "A what-if" in with_mask["heatmap-real"]
    assert "A what-if" not in heatmap.render(view_of(State.from_fragment(FRAGMENT)))["heatmap-real"]


def test_special_pieces_leave_the_view_and_not_the_arithmetic(tiny: Encoder) -> None:
    shown, hidden = (view_of(State.from_fragment(FRAGMENT + more)) for more in ("", "&special=hide"))
    assert "no-special" in heatmap.render(hidden)["heatmap-table"]
    assert "no-special" not in heatmap.render(shown)["heatmap-table"]
    np.testing.assert_array_equal(shown.slice_trace.weights, hidden.slice_trace.weights)


@pytest.mark.parametrize(
    ("compare", "rows", "note"),
    [("model%3D", 4, True), ("text%3Dthe%20cat%20sat%20flat", 6, True), ("modelhead%3D0", 7, False)],
)  # fmt: skip
def test_second_pictures(tiny: Encoder, compare: str, rows: int, note: bool) -> None:
    view = view_of(State.from_fragment(f"{FRAGMENT}&compare={compare}"))
    html = heatmap.render(view)["heatmap-second"]
    assert html.count("<tr>") == rows + 1
    assert ("different tokens" in html) is note


def test_boxes_say_what_is_going_on() -> None:
    assert 'max="15000000" value="2500000"' in heat_model.box("loading", 2_500_000, 15_000_000, "")
    assert "2.5 of 15.0 MB" in heat_model.box("loading", 2_500_000, 15_000_000, "")
    assert "Go on" in heat_model.box("offer", 1, 2, "Cancelled.")
    assert "Try again" in heat_model.box("failed", 1, 2, "No.")
    for why in ("single", "absent"):
        assert "build.py" in heat_model.box("absent", 0, 0, heat_model.WHY_NOT[why])


def test_the_parts_can_be_hidden() -> None:
    assert {"heads", "origin"} <= set(panels.NAMES)


def test_model_keys_are_read_and_written() -> None:
    state = State.from_fragment(FRAGMENT)
    assert (state.model, state.layer, state.modelhead) == ("minilm", 1, 2)
    assert State.from_fragment(state.to_fragment()) == state
    broken = State.from_fragment("text=a&model=gpt&layer=9&modelhead=12&special=1&entry=99")
    assert {note.key for note in broken.notes} == {"model", "layer", "modelhead", "special", "entry"}
    assert replace(broken, notes=()) == State.from_fragment("text=a")
