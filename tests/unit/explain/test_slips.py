"""Predict mode: the right answer passes, and each common slip is recognised by its own number."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_steps import MASKED, UNMASKED, random_walk, walk_of

from attention_lab.core import LabError
from attention_lab.explain.slips import answer, question, read_number, slips
from attention_lab.explain.steps import Walk, four_decimals


def index_of(walk: Walk, title: str) -> int:
    return next(step.index for step in walk if step.title == title)


def test_the_text_the_page_shows_is_always_right() -> None:
    for walk in (
        walk_of(MASKED),
        walk_of(UNMASKED),
        random_walk(3, 5, causal="bottom-right", temperature=0.5),
    ):
        asked = [(k, question(walk, k)) for k in range(len(walk))]
        for k, it in asked:
            if it is not None:
                assert answer(walk, k, four_decimals(it.value)).right, it
        assert sum(it is not None for _, it in asked) == sum(bool(step.writes) for step in walk)


def test_framing_steps_and_empty_rows_ask_nothing() -> None:
    walk = walk_of(MASKED)
    assert [k for k in range(100) if question(walk, k) is None] == [0, 65, 90, 99]
    with pytest.raises(LabError, match="asks for no number"):
        answer(walk, 0, "1")
    empty = random_walk(3, 2, causal="bottom-right")
    assert question(empty, index_of(empty, "Softmax, row 0")) is None
    assert question(empty, index_of(empty, "Mask, row 0")).value == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["2.5", "2,5", " 5/2 ", "2.50004", "2.49996"])
def test_a_right_answer_within_the_shown_decimals(text: str) -> None:
    walk = walk_of(MASKED)
    k = index_of(walk, "Division, row 2")
    assert question(walk, k).text == "What is the score of query 2 and key 1, divided?"  # type: ignore[union-attr]
    assert answer(walk, k, text).right
    assert not answer(walk, k, "2.5002").right


@pytest.mark.parametrize("text", ["", "two", "1e400", "nan", "1/0", "1 2", "9" * 50])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(LabError, match="Expected one number") as caught:
        read_number(text)
    assert caught.value.field == "guess"


def test_numbers_as_people_write_them() -> None:
    assert read_number("−1,5") == -1.5
    assert read_number("-3/4") == -0.75
    assert read_number("1e-3") == 0.001


def wrong(walk: Walk, title: str, number: float) -> tuple[str, ...]:
    given = answer(walk, index_of(walk, title), repr(round(number, 4)))
    assert not given.right
    for name in given.slips[:3]:
        assert name in given.sentence
    return given.slips


def test_the_four_slips_of_the_softmax_rows() -> None:
    """Row 2 sees the scores 0, 5, 2; its scaled row is 0, 2.5, 1, its largest weight 0.7662 at key 1."""
    walk = walk_of(MASKED)

    def share(scores: list[float], at: int) -> float:
        return math.exp(scores[at]) / sum(map(math.exp, scores))

    assert "forget to divide" in wrong(walk, "Softmax, row 2", share([0, 5, 2], 1))
    assert "divide by dₖ instead of √dₖ" in wrong(walk, "Softmax, row 2", share([0, 1.25, 0.5], 1))
    column = [float(x) for x in walk.trace.scaled[1:, 1]]
    assert "take softmax down the column instead of along the row" in wrong(
        walk, "Softmax, row 2", share(column, 1)
    )
    whole = [float(x) for x in walk.trace.scaled[2]]
    names = wrong(walk, "Softmax, row 2", share(whole, 1))
    assert "mask after softmax, so that the row no longer adds up to 1" in names
    assert "forget the mask" in names, "both give this number for a visible cell, and both are said"


def test_slips_of_the_other_phases() -> None:
    walk = walk_of(MASKED)
    assert "forget to divide" in wrong(walk, "Division, row 2", 5)
    assert "divide by dₖ instead of √dₖ" in wrong(walk, "Division, row 2", 1.25)
    assert "count the masked keys instead of the visible ones" in wrong(walk, "Mask, row 2", 5)
    assert "hide the token from itself too" in wrong(walk, "Mask, row 2", 2)
    swapped = float(walk.trace.scores[3, 1])
    assert "take query 3 and key 1 (rows and columns swapped)" in wrong(
        walk, "Score of query 1 and key 3", swapped
    )
    mean = float(MASKED.v[:3, 0].mean())
    assert "take the plain mean of the visible values" in wrong(walk, "Output, row 2", mean)


def test_a_number_no_slip_gives_is_said_to_be_that() -> None:
    given = answer(walk_of(MASKED), 20, "123.456")
    assert not given.right and given.slips == ()
    assert "no common slip gives it" in given.sentence


def test_every_slip_that_gives_another_number_is_named() -> None:
    walk = walk_of(MASKED)
    named = 0
    for k in range(len(walk)):
        asked = question(walk, k)
        if asked is None:
            continue
        for name, value in slips(walk, asked):
            if abs(value - asked.value) > 1e-3:
                assert name in answer(walk, k, repr(value)).slips
                named += 1
    assert named > 500


def test_slips_are_finite_and_need_no_square_problem() -> None:
    for walk in (
        random_walk(1, 1),
        random_walk(2, 5),
        random_walk(5, 2, causal="top-left"),
        random_walk(3, 3, scale=0.0),
    ):
        for k in range(len(walk)):
            asked = question(walk, k)
            if asked is not None:
                assert all(np.isfinite(value) for _, value in slips(walk, asked))
