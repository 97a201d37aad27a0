"""Links made once keep working: the same state and the same numbers. Hostile links fall back and say so."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from attention_lab.compute import shapes_of, view_of
from attention_lab.core import LabError
from attention_lab.render.page import form_values, render
from attention_lab.state import DEFAULTS, SPECS, State, pack

LINKS = json.loads((Path(__file__).parent.parent / "frozen_links.json").read_text(encoding="utf-8"))
GOOD, FALL_BACK = LINKS["good"], LINKS["fall_back"]


def names(links: list[dict[str, Any]]) -> list[str]:
    return [item["link"][:60] or "(empty)" for item in links]


def test_the_file_holds_links_of_every_kind() -> None:
    """Each key of the contract, each lab, readable and packed."""
    keys = {key for item in GOOD for key in item["values"]}
    assert len(GOOD) >= 60 and len(FALL_BACK) >= 15
    assert set(SPECS) - keys == set(), "a key of the fragment has no frozen link"
    assert sum(item["link"].startswith("z=") for item in GOOD) >= 3


@pytest.mark.parametrize("item", GOOD, ids=names(GOOD))
def test_a_frozen_link_opens_the_same_state(item: dict[str, Any]) -> None:
    """Every key that was there is there with the same value; what has been added since is neutral."""
    state = State.from_fragment(item["link"])
    assert state.notes == ()
    assert state.to_values() == item["values"]


@pytest.mark.parametrize("item", GOOD, ids=names(GOOD))
def test_a_frozen_link_shows_the_same_numbers(item: dict[str, Any]) -> None:
    """To 1e-12, or to the precision that the link asks for."""
    state = State.from_fragment(item["link"])
    trace = view_of(state).slice_trace
    atol = 1e-12 if state.precision == "float64" else 1e-2
    assert list(trace.output.shape) == item["shape"]
    for array, frozen in ((trace.output[0], item["first_output"]), (trace.weights[-1], item["last_weights"])):
        expected = [np.nan if x is None else x for x in frozen]
        np.testing.assert_allclose(np.asarray(array, float)[: len(expected)], expected, rtol=0, atol=atol)


@pytest.mark.parametrize("item", GOOD, ids=names(GOOD))
def test_a_frozen_link_can_be_written_and_read_again(item: dict[str, Any]) -> None:
    state = State.from_fragment(item["link"])
    for fragment in (state.to_fragment(), state.to_fragment(pack_above=0)):
        again = State.from_fragment(fragment)
        assert again.to_fragment() == state.to_fragment()
        np.testing.assert_array_equal(view_of(again).trace.output, view_of(state).trace.output)


@pytest.mark.parametrize("item", FALL_BACK, ids=names(FALL_BACK))
def test_a_bad_value_falls_back_with_a_sentence(item: dict[str, Any]) -> None:
    state = State.from_fragment(item["link"])
    assert [note.key for note in state.notes] == item["keys"]
    for note in state.notes:
        assert note.message.endswith(".") and len(note.message) < 300
        if note.key != "z":
            assert getattr(state, note.key) == DEFAULTS[note.key]
    view_of(state)  # the rest of the link still computes


HOSTILE = [
    "%", "%zz", "%00=%00", "&&&&", "====", "=", "a", "__proto__=1&constructor=2&toString=3",
    "q=<script>alert(1)</script>", "text=<img src=x onerror=alert(1)>", "labels=<b>,\"',&#", "example=<svg/onload=alert(1)>",
    "q=" + "[" * 5000, "q=" + "(" * 5000 + "1", "q=" + "1" * 100_000, "q=" + "1," * 50_000, "q=1e999", "q=١٢", "q=0x10",
    "d=4097", "d=99999999999999999999", "text=" + "a " * 5000 + "&d=4096", "text=" + "%F0%9F%91%8D" * 500,
    "T=1e-320&q=1e300&k=1e300&v=1", "scale=1e308&q=1,1&k=1e300,1&v=1", "softcap=5e-324&q=1&k=1&v=1", "T=1e308", "row=999999999",
    "step=99999999999", "batch=999&head=999", "heads=4096,4096&q=1&k=1&v=1", "window=999999,999999", "lengths=" + "1," * 999 + "1",
    "causal=-1000000&q=1&k=1&v=1&empty=nan", "compare=compare%3Dcompare%253Dq%25253D1", "compare=" + "x" * 5000,
    "keep=2", "bias=nan&q=1&k=1&v=1", "bias=inf&q=1&k=1&v=1", "observed=" + "9" * 5000 + "&lab=check", "hide=" + ",".join("ab" * 99),
    "sheet=seed%3D1%26variants%3D999999999", "sheet=%00", "blank=scores,scores", "z=" + "A" * 10_000, "z=%00", "z=" + pack("z=" + pack("T=2")),
    "z=" + pack("q=" + "1," * 200_000 + "1&k=1&v=1"), "text=\ud800", "labels=\udfff,a", "\ud800=\udfff",
]  # fmt: skip


def opened(fragment: str) -> tuple[State, list[str]]:
    """What the page does with a link: the state, and every sentence it would show."""
    state = State.from_fragment(fragment)
    said = [note.message for note in state.notes]
    try:
        form_values(state)
        shapes_of(state)
        render(view_of(state))
    except LabError as error:
        said.append(str(error))
    return state, said


@pytest.mark.parametrize(
    "fragment", HOSTILE, ids=[text[:30].encode("ascii", "replace").decode() for text in HOSTILE]
)
def test_a_hostile_link_never_breaks_the_page(fragment: str) -> None:
    """Only a LabError, which the page shows, may come of it; and what it was can be written as a link again."""
    state, said = opened(fragment)
    assert all(said), "a sentence must say something"
    again = State.from_fragment(state.to_fragment())
    assert again.to_fragment() == state.to_fragment()


def test_no_link_writes_markup() -> None:
    """Whatever stands in a link is text on the page."""
    evil = quote('"><script>alert(1)</script>&#')
    for fragment in (
        f"q=1,2&k=1,2&v=1,2&labels={evil}",
        f"lab=heatmap&text={evil}%20b",
        f"lab=walkthrough&q=1&k=1&v=1&labels={evil}",
    ):
        state = State.from_fragment(fragment)
        for name, html in render(view_of(state)).items():
            assert "<script" not in html, name


PIECES = [
    "", "0", "1", "-1", "1e308", "1e-320", "nan", "−∞", "1,2", "1,2;3,4", "1,0;0,1", "1;2;3", "[[1,2],[3,4]]", "[", "1e999", "<b>",
    "top-left", "999999999", "sqrt_dk", "none", "zero", "uniform", "float16", "bfloat16", "torch", "mlx", "4,2", ",", "a,b", "identity",
    "cross", "nope", "the cat sat", "T=2", "scores", "calculator", "walkthrough", "heatmap", "check", "sinusoidal", "exact", "auto",
    "ä👍🏽", pack("T=2&q=1,2;3,4"),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_no_mixture_of_keys_breaks_the_page(seed: int) -> None:
    """150 links with one to seven keys and values drawn at random."""
    draw = random.Random(seed)
    for _ in range(150):
        keys = draw.sample([*SPECS, "z", "main"], draw.randint(1, 7))
        pairs = [f"{key}={quote(draw.choice(PIECES))}" for key in keys]
        opened("&".join(pairs) + draw.choice(["", "&q=1,0;0,1&k=1,0;0,1&v=1,2;3,4"]))
