"""Problem and its 2-D slices: a slice must be what attend() gives for that slice alone."""

from __future__ import annotations

import numpy as np
import pytest

from attention_lab.core import LabError, Options, ShapeError
from attention_lab.problem import Problem, take

STAGES = ("scores", "scaled", "tempered", "capped", "biased", "masked", "weights", "output", "exponentials")


def problem(shape_q: tuple[int, ...], shape_k: tuple[int, ...], options: Options, **more: object) -> Problem:
    rng = np.random.default_rng(5)
    q, k, v = (
        rng.standard_normal(shape_q),
        rng.standard_normal(shape_k),
        rng.standard_normal((*shape_k[:-1], 3)),
    )
    return Problem(q, k, v, options, **more)  # type: ignore[arg-type]


def test_a_2d_problem_is_its_own_slice() -> None:
    whole = problem((2, 4), (3, 4), Options())
    trace = whole.trace()
    assert take(whole, trace) == (whole, trace)


@pytest.mark.parametrize(("batch", "head"), [(0, 0), (1, 2), (1, 3)])
def test_grouped_heads_with_every_mask(batch: int, head: int) -> None:
    keep = np.random.default_rng(1).random((2, 1, 5, 6)) < 0.8
    options = Options(causal="bottom-right", window=(3, 0), lengths=(6, 4), softcap=2.0, temperature=1.5)
    whole = problem((2, 4, 5, 4), (2, 2, 6, 4), options, keep=keep)
    part, trace = take(whole, whole.trace(), batch, head)
    alone = part.trace()
    for name in STAGES:
        np.testing.assert_array_equal(getattr(trace, name), getattr(alone, name), err_msg=name)
    for i in range(5):
        for j in range(6):
            assert [r.text for r in trace.why(i, j)] == [r.text for r in alone.why(i, j)]
            assert bool(trace.why(i, j)) == (not trace.mask[i, j])


def test_packed_heads_are_taken_apart() -> None:
    whole = problem((2, 5, 8), (2, 5, 4), Options(heads=(4, 2)))
    rng = np.random.default_rng(2)
    whole = Problem(whole.q, whole.k, rng.standard_normal((2, 5, 6)), whole.options)
    trace = whole.trace()
    part, sliced = take(whole, trace, 1, 3)
    assert part.q.shape == (5, 2) and sliced.output.shape == (5, 3)
    np.testing.assert_array_equal(sliced.output, trace.output[1, :, 9:12])


def test_stages_that_do_nothing_stay_the_same_array_in_a_slice() -> None:
    whole = problem((2, 3, 4), (2, 3, 4), Options(scale="none"))
    _, trace = take(whole, whole.trace(), 1)
    assert trace.scaled is trace.scores and trace.masked is trace.scores


def test_there_is_no_such_head() -> None:
    whole = problem((2, 4, 5, 4), (2, 2, 6, 4), Options())
    with pytest.raises(LabError, match="no head 4: expected 0 to 3") as caught:
        take(whole, whole.trace(), 0, 4)
    assert caught.value.field == "head"


def test_labels_must_fit() -> None:
    with pytest.raises(ShapeError, match="2 query labels for 3 query rows"):
        Problem(np.ones((3, 2)), np.ones((2, 2)), np.ones((2, 1)), query_labels=("a", "b"))
