"""The Calculator's HTML: the numbers of the public contract, read back from the strings."""

from __future__ import annotations

import re

import numpy as np
import pytest

from attention_lab.compute import view_of
from attention_lab.core import LabError
from attention_lab.render.calculator import render
from attention_lab.state import State

CELL = re.compile(r'<td (?:tabindex="0" )?data-i="(\d+)" data-j="(\d+)" data-value="([^"]+)"')


def values(html: str, stage: str) -> np.ndarray:
    table = re.search(rf'<table class="stage" data-stage="{stage}".*?</table>', html, re.S)
    assert table, f"no table {stage}"
    cells = {(int(i), int(j)): float(x) for i, j, x in CELL.findall(table.group())}
    rows, columns = max(i for i, _ in cells) + 1, max(j for _, j in cells) + 1
    return np.array([[cells[i, j] for j in range(columns)] for i in range(rows)])


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
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
        ("", {"output": [[1.6605, 2.6605], [2.3395, 3.3395]]}),
    ],
)
def test_worked_examples(fragment: str, expected: dict[str, list[list[float]]]) -> None:
    html = render(view_of(State.from_fragment(fragment)))["calculator-stages"]
    for stage, numbers in expected.items():
        digits = 4 if fragment == "" else 6
        np.testing.assert_allclose(values(html, stage), numbers, rtol=0, atol=0.5 * 10**-digits)


def test_masked_cells_say_so_and_are_exactly_zero() -> None:
    html = render(view_of(State.from_fragment("example=identity&causal=top-left")))["calculator-stages"]
    assert values(html, "masked")[0, 1] == -np.inf and values(html, "weights")[0, 1] == 0.0
    assert '<td data-i="0" data-j="1" data-value="-inf" data-masked class="masked">−∞</td>' in html
    assert '<td data-i="0" data-j="1" data-value="0.0" data-masked class="masked">0</td>' in html
    assert np.isfinite(values(html, "scaled")).all(), "scaled is before the mask"


@pytest.mark.parametrize(("policy", "weight"), [("uniform", 0.5), ("nan", np.nan), ("zero", 0.0)])
def test_a_row_that_may_attend_to_nothing_shows_the_weights_of_its_policy(policy: str, weight: float) -> None:
    slots = render(view_of(State.from_fragment(f"q=1;1&k=1;2&v=1;2&keep=0,0;1,1&empty={policy}&row=0")))
    np.testing.assert_array_equal(values(slots["calculator-stages"], "weights")[0], [weight, weight])
    text = {"uniform": "0.5000", "nan": "NaN", "zero": "0"}[policy]
    assert slots["calculator-stages"].count(f">{text}</td>") >= 2
    result = {
        "uniform": "0.5000·V₁ + 0.5000·V₂ = (1.5000)",
        "nan": "NaN·V₁ + NaN·V₂ = (NaN)",
        "zero": "0 = (0.0000)",
    }
    assert f"O₁ = {result[policy]}" in slots["calculator-row"]


def test_labels_are_text() -> None:
    state = State.from_fragment("example=identity").with_values({"labels": "<img src=x>,b&c"})
    html = "".join(render(view_of(state)).values())
    assert "<img" not in html and "&lt;img src=x&gt;" in html and "b&amp;c" in html


@pytest.mark.parametrize(
    ("fragment", "said"),
    [
        ("q=-10000,0&k=1,0&v=3", "underflows to 0 / 0 on these numbers"),
        ("q=10000,0&k=1,0&v=3", "overflows on these numbers"),
    ],
)
def test_how_the_naive_softmax_fails(fragment: str, said: str) -> None:
    slots = render(view_of(State.from_fragment(fragment)))
    assert f"exp(x) / Σ exp(x), {said}" in "".join(slots.values())


def test_an_empty_label_leaves_the_plain_name() -> None:
    html = "".join(render(view_of(State.from_fragment("example=identity&labels=,cat"))).values())
    assert "Q₁" in html and "cat" in html and "Q₂" not in html


@pytest.mark.parametrize(
    ("fragment", "field", "words"),
    [
        ("q=1,0;0,1&k=1,0,2;0,1,2&v=1,2;3,4", "k", ("3", "2", "columns")),
        ("q=1,0;0,1&k=1,0;0,1&v=1,2", "v", ("1", "2", "rows")),
        ("q=1,x;0,1&k=1,0;0,1&v=1,2;3,4", "q", ("x",)),
        ("q=&k=1,0;0,1&v=1,2;3,4", "q", ()),
        ("q=1,nan;0,1&k=1,0;0,1&v=1,2;3,4", "q", ("row 1",)),
        ("q=1e400,1;0,1&k=1,0;0,1&v=1,2;3,4", "q", ("1e400",)),
        ("q=1,2;3&k=1,0;0,1&v=1,2;3,4", "q", ()),
        ("q=1,0;0,1&k=1,0;0,1&v=1,2;3,4&keep=2,0;1,1", "keep", ("2",)),
    ],
)
def test_bad_input_names_its_field(fragment: str, field: str, words: tuple[str, ...]) -> None:
    with pytest.raises(LabError) as caught:
        view_of(State.from_fragment(fragment))
    assert caught.value.field == field
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_what_does_not_depend_on_the_change_is_not_computed_again() -> None:
    first = view_of(State.from_fragment("example=identity"))
    opened = view_of(State.from_fragment("example=identity&row=1"), first)
    changed = view_of(State.from_fragment("example=identity&T=2"), opened)
    assert opened.trace is first.trace and opened.drawn is first.drawn and changed.trace is not first.trace
