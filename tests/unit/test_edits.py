"""What an edit of one field makes of a State: the form's values as they stand after it."""

from __future__ import annotations

import pytest

from attention_lab.page.edits import after
from attention_lab.render.page import form_values
from attention_lab.state import State


def edit(link: str, name: str, value: str) -> str:
    """The fragment after the field was changed in a form that shows the link."""
    state = State.from_fragment(link)
    values = {"scale": "sqrt_dk", "causal": "", "positions": "", **form_values(state), name: value}
    return after(state, name, values).to_fragment()


@pytest.mark.parametrize(
    ("link", "name", "value", "expected"),
    [
        ("example=cross", "T", "2", "example=cross&T=2"),
        ("example=cross", "q", "1 0\n0 1", "q=1,0;0,1&k=1,1;0,2;2,0&v=1,0,0,1;0,1,0,2;0,0,1,3"),
        ("q=1&k=1&v=1", "decimals", "2", "q=1&k=1&v=1&decimals=2"),
        ("lab=heatmap&text=a b&T=2", "text", "c d", "lab=heatmap&text=c%20d&T=2"),
        ("lab=heatmap&text=a b", "q", "1 0\n0 1", "lab=heatmap&q=1,0;0,1"),
        (
            "lab=heatmap&text=a b&causal=top-left&row=1",
            "model",
            "minilm",
            "lab=heatmap&text=a%20b&model=minilm",
        ),
        ("example=cross&framework=torch", "scale", "none", "example=cross&scale=none&empty=zero"),
    ],
)
def test_an_edit_changes_what_it_replaces_and_nothing_else(
    link: str, name: str, value: str, expected: str
) -> None:
    assert edit(link, name, value) == expected


def test_another_example_brings_its_own_options() -> None:
    assert (
        edit("q=1&k=1&v=1&T=3", "example", "causal-pair")
        == State.from_fragment("example=causal-pair&causal=top-left&decimals=6").to_fragment()
    )


def test_a_menu_that_still_names_the_example_does_not_bring_it_back() -> None:
    state = State.from_fragment("q=5,6&k=1,0;0,1&v=1,2;3,4")
    values = {"scale": "sqrt_dk", "causal": "", "positions": "", "example": "identity", "q": "5 6"}
    values |= {"k": "1 0\n0 1", "v": "1 2\n3 4", "decimals": "2"}
    assert after(state, "decimals", values).example is None
