"""Numbers and tables as HTML: the fast way of writing a whole table must equal the plain one, cell by cell."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lab.render import html
from attention_lab.render.html import formatter, number, reprs, shade, stage_table, written


@pytest.mark.parametrize(
    ("x", "decimals", "text"),
    [
        (0.70710678, 4, "0.7071"),
        (-0.5, 2, "−0.50"),
        (-0.00001, 4, "0.0000"),
        (2.5, 0, "2"),
        (1e20, 4, "1.0000e+20"),
        (float("-inf"), 4, "−∞"),
        (float("nan"), 4, "NaN"),
        (0.1, "exact", "0.1"),
        (3.0, "exact", "3"),
        (-1.5, "auto", "−1.5"),
        (2.0, "auto", "2"),
        (1 / 3, "auto", "0.3333"),
        (1.7e308, "auto", "1.7000e+308"),
        (-1.7e308, "exact", "−1.7e+308"),
    ],
)
def test_one_number(x: float, decimals: int | str, text: str) -> None:
    assert number(x, decimals) == text


@settings(deadline=None)
@given(
    st.lists(
        st.floats() | st.sampled_from([0.0, -0.0, 1e15, 9.99e14, -1e300, 5e-324, 0.5]),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from([0, 1, 4, 12, "exact", "auto"]),
)
def test_a_table_is_written_as_its_cells_are(numbers: list[float], decimals: int | str) -> None:
    values = np.array([numbers])
    write = formatter(decimals)
    assert written(values, decimals) == [write(x) for x in numbers]
    assert reprs(values) == [repr(x) for x in numbers]


def test_a_stage_table() -> None:
    html = stage_table(
        "weights",
        np.array([[1.0, 0.0], [0.25, 0.75]]),
        caption="A",
        rows=["Q₁", "Q₂"],
        columns=["K₁", "K₂"],
        decimals=2,
        masked=np.array([[False, True], [False, False]]),
        masked_text="0",
        shades=shade(np.array([[1.0, 0.0], [0.25, 0.75]])),
        extra=("Σ", ["1.00", "1.00"]),
    )
    cells = re.findall(r"<td (?:tabindex=\"0\" )?data-i.*?</td>", html)
    assert cells == [
        '<td tabindex="0" data-i="0" data-j="0" data-value="1.0" class="w64">1.00</td>',
        '<td data-i="0" data-j="1" data-value="0.0" data-masked class="masked">0</td>',
        '<td data-i="1" data-j="0" data-value="0.25" class="w32">0.25</td>',
        '<td data-i="1" data-j="1" data-value="0.75" class="w55">0.75</td>',
    ]
    assert html.count('<th scope="row">') == 2 and html.count('<td class="extra">1.00</td>') == 2


def test_percent_signs_in_headers_are_text() -> None:
    html = stage_table("scores", np.ones((1, 1)), caption="50 %s", rows=["100 %"], columns=["%d"], decimals=0)
    assert "100 %" in html and "%d" in html and "50 %s" in html


def test_shades_follow_the_root_of_the_weight() -> None:
    assert shade(np.array([0.0, 0.25, 1.0, np.nan])).tolist() == [0, 32, 64, 0]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0, float("nan")]), min_size=6, max_size=6),
            st.lists(st.booleans(), min_size=6, max_size=6),
            st.sampled_from([4, "auto"]),
            st.booleans(),
        ),
        min_size=2,
        max_size=5,
    )
)
def test_a_table_drawn_after_another_is_the_one_drawn_alone(
    tables: list[tuple[list[float], list[bool], int | str, bool]],
) -> None:
    """Only rows that differ from the table drawn before are written; what comes out must not show it."""

    def draw(numbers: list[float], hidden: list[bool], decimals: int | str, shaded: bool) -> str:
        values = np.array(numbers).reshape(3, 2)
        return stage_table(
            "weights",
            values,
            caption="A",
            rows=["a", "b", "c"],
            columns=["d", "e"],
            decimals=decimals,
            masked=np.array(hidden).reshape(3, 2) if any(hidden) else None,
            shades=shade(values) if shaded else None,
        )

    html._drawn.clear()
    in_turn = [draw(*table) for table in tables]
    alone = []
    for table in tables:
        html._drawn.clear()
        alone.append(draw(*table))
    assert in_turn == alone
