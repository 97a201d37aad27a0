"""What a student types against the exact number: rounding is right, too few decimals are not enough, slips are wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_lab.teach.answers import judge

THIRD, WEIGHT = 1 / 3, 0.6697615493266569


@pytest.mark.parametrize(
    ("text", "exact", "code"),
    [
        ("0.67", WEIGHT, "right"),
        ("0.6698", WEIGHT, "right"),
        ("0.6697615493266569", WEIGHT, "right"),
        (" 0.67 ", WEIGHT, "right"),
        ("0,67", WEIGHT, "right"),
        (".67", WEIGHT, "right"),
        ("67%", WEIGHT, "right"),
        ("0.66", WEIGHT, "right"),  # one unit in the last digit: rounded on the way
        ("0.7", WEIGHT, "coarse"),
        ("0.65", WEIGHT, "wrong"),
        ("0.6690", WEIGHT, "wrong"),
        ("1", WEIGHT, "wrong"),
        ("-0.67", WEIGHT, "wrong"),
        ("1/3", THIRD, "right"),
        ("2/6", THIRD, "right"),
        ("1/4", THIRD, "wrong"),
        ("2", 2.0, "right"),
        ("2.0", 2.0, "right"),
        ("−2", -2.0, "right"),
        ("3", 2.0, "wrong"),
        ("0.5", 0.5, "right"),
        ("-inf", float("-inf"), "right"),
        ("−∞", float("-inf"), "right"),
        ("-999", float("-inf"), "wrong"),
        ("nan", float("nan"), "right"),
        ("", WEIGHT, "empty"),
        ("   ", WEIGHT, "empty"),
        ("abc", WEIGHT, "unreadable"),
        ("0.67 0.33", WEIGHT, "unreadable"),
        ("1e999", WEIGHT, "unreadable"),
    ],
)
def test_judge(text: str, exact: float, code: str) -> None:
    assert judge(text, exact).code == code


@given(st.floats(-1e6, 1e6), st.integers(2, 6))
def test_a_rounded_number_is_right(exact: float, decimals: int) -> None:
    assert judge(f"{exact:.{decimals}f}", exact).code == "right"


@given(st.floats(-100, 100), st.integers(2, 6), st.integers(3, 50))
def test_a_number_several_units_off_is_wrong(exact: float, decimals: int, units: int) -> None:
    assert judge(f"{exact + units * 10.0**-decimals:.{decimals}f}", exact).code == "wrong"


def test_every_verdict_says_something_but_the_empty_one() -> None:
    assert (
        judge("x", 1.0).text and judge("2", 1.0).text and judge("1", 1.0).text and judge("0.7", WEIGHT).text
    )
    assert judge("", 1.0).text == ""
