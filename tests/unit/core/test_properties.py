"""Laws of attention, in float64, on random problems (hypothesis)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from reference import matrices, problems

from attention_lab.core import Options, attend


def bound(m: int) -> float:
    return (4 + math.log2(m)) * 2.0**-52


@given(problems(most=12))
def test_rows_that_may_attend_sum_to_one(problem: dict[str, Any]) -> None:
    trace = attend(**problem)
    m = trace.weights.shape[-1]
    assert trace.row_sum_error <= bound(m)
    for row, empty in zip(trace.weights, trace.empty_rows, strict=True):
        if not empty:
            assert abs(math.fsum(row) - 1) <= bound(m)
            assert abs(row.sum() - 1) <= bound(m)


@given(st.sampled_from((2, 3, 17, 63, 64, 65, 128, 1000)), st.floats(-20, 0), st.integers(0, 2**32 - 1))
def test_rows_of_many_keys_sum_to_one(m: int, step: float, seed: int) -> None:
    """Equal terms are the hard case: every addition rounds to the same side."""
    rng = np.random.default_rng(seed)
    for scores in (np.full(m, step), rng.standard_normal(m) * 3):
        scores[rng.integers(m)] = 0.0
        trace = attend(np.ones((1, 1)), scores[:, None], np.ones((m, 1)), Options(scale="none"))
        assert trace.row_sum_error <= bound(m)
        assert abs(math.fsum(trace.weights[0]) - 1) <= bound(m)


@given(problems(), st.floats(-1000, 1000))
def test_a_constant_added_to_a_row_of_scores_changes_nothing(problem: dict[str, Any], c: float) -> None:
    n, m = len(problem["q"]), len(problem["k"])
    bias = np.zeros((n, m)) if problem["bias"] is None else problem["bias"]
    before = attend(**{**problem, "bias": bias}).weights
    after = attend(**{**problem, "bias": bias + c}).weights
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-12)


@given(problems(masks=False), st.data())
def test_keys_and_values_permute_together(problem: dict[str, Any], data: Any) -> None:
    order = data.draw(st.permutations(range(len(problem["k"]))))
    before = attend(**problem)
    after = attend(**{**problem, "k": problem["k"][order], "v": problem["v"][order]})
    np.testing.assert_allclose(after.weights, before.weights[:, order], rtol=0, atol=1e-14)
    np.testing.assert_allclose(after.output, before.output, rtol=0, atol=1e-12)


@given(st.data(), st.integers(1, 8), st.integers(1, 8), st.integers(1, 5), st.integers(1, 5))
def test_the_first_query_of_a_causal_mask_copies_the_first_value(
    data: Any, n: int, m: int, dk: int, dv: int
) -> None:
    q, k, v = (data.draw(matrices(*shape)) for shape in ((n, dk), (m, dk), (m, dv)))
    np.testing.assert_array_equal(attend(q, k, v, Options(causal="top-left")).output[0], v[0])


@given(problems(), st.floats(1, 1e6, exclude_min=True))
def test_dividing_the_scores_never_raises_the_largest_weight(problem: dict[str, Any], c: float) -> None:
    """Division by c > 1 flattens a row; the scores are given as a bias, so that nothing else is divided."""
    scores = attend(**problem).masked
    zeros = np.zeros_like(problem["q"])
    options = Options(empty_row=problem["options"].empty_row)
    before, after = (
        attend(
            zeros,
            problem["k"],
            problem["v"],
            options,
            bias=np.where(np.isneginf(scores), scores, scores / by),
        )
        for by in (1.0, c)
    )
    known = ~before.empty_rows
    assert (
        after.weights[known].max(-1) <= before.weights[known].max(-1) * (1 + bound(scores.shape[-1]))
    ).all()


@given(problems())
def test_outputs_stay_between_the_smallest_and_largest_visible_value(problem: dict[str, Any]) -> None:
    trace = attend(**problem)
    for i in np.flatnonzero(~trace.empty_rows):
        seen = problem["v"][trace.mask[i]]
        slack = 1e-14 * (1 + np.abs(seen).max())
        assert (trace.output[i] >= seen.min(0) - slack).all()
        assert (trace.output[i] <= seen.max(0) + slack).all()


@given(problems())
def test_weights_are_a_distribution_on_the_visible_keys(problem: dict[str, Any]) -> None:
    trace = attend(**problem)
    known = ~trace.empty_rows
    assert (trace.weights[known] >= 0).all()
    assert (trace.weights[known] <= 1).all()
    assert (trace.weights[known][~trace.mask[known]] == 0).all()
    assert (trace.exponentials[known].max(-1) == 1).all()
