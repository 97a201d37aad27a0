"""Every stage of the Trace: its value, its shape, what aliases what, and agreement with the plain-Python reference."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from reference import attention, problems

from attention_lab.core import Options, attend

RNG = np.random.default_rng(20170612)
Q, K, V = (RNG.standard_normal(shape) for shape in ((3, 4), (5, 4), (5, 2)))
STAGES = ("scores", "scaled", "tempered", "capped", "biased", "masked")


@given(problems())
def test_agrees_with_the_definition(problem: dict[str, Any]) -> None:
    trace = attend(**problem)
    expected = attention(**problem)
    np.testing.assert_allclose(trace.weights, expected["weights"], rtol=0, atol=2e-13)
    np.testing.assert_allclose(trace.output, expected["output"], rtol=0, atol=1e-11)
    np.testing.assert_allclose(trace.log_sum_exp, expected["log_sum_exp"], rtol=1e-12, atol=1e-12)


def test_each_stage_follows_from_the_one_before() -> None:
    bias = RNG.standard_normal((3, 5))
    options = Options(scale=0.7, temperature=1.3, softcap=2.0, causal="bottom-right")
    trace = attend(Q, K, V, options, bias=bias)
    np.testing.assert_allclose(trace.scores, Q @ K.T, rtol=1e-13)
    np.testing.assert_array_equal(trace.scaled, trace.scores * 0.7)
    np.testing.assert_array_equal(trace.tempered, trace.scaled / 1.3)
    np.testing.assert_allclose(trace.capped, 2 * np.tanh(trace.tempered / 2), rtol=1e-15)
    np.testing.assert_array_equal(trace.biased, trace.capped + bias)
    np.testing.assert_array_equal(trace.masked, np.where(np.tri(3, 5, 2) > 0, trace.biased, -np.inf))
    np.testing.assert_array_equal(trace.row_max, trace.masked.max(-1))
    np.testing.assert_allclose(trace.exponentials, np.exp(trace.masked - trace.row_max[:, None]), rtol=1e-15)
    np.testing.assert_allclose(trace.denominators, trace.exponentials.sum(-1), rtol=1e-15)
    np.testing.assert_array_equal(trace.log_sum_exp, trace.row_max + np.log(trace.denominators))
    np.testing.assert_array_equal(trace.weights, trace.exponentials / trace.denominators[:, None])
    np.testing.assert_allclose(trace.output, trace.weights @ V, rtol=0, atol=1e-15)
    assert trace.scale == 0.7


def test_softcap_comes_before_bias_and_mask() -> None:
    """A cap of 1 keeps |capped| below 1, but a bias of 5 is added whole and a masked cell is −∞, not −1."""
    trace = attend(
        [[10.0]], [[10.0], [9.0]], [[1.0], [2.0]], Options(softcap=1.0, causal=0), bias=[[5.0, 0.0]]
    )
    assert abs(trace.capped).max() <= 1
    assert trace.biased[0, 0] == trace.capped[0, 0] + 5
    assert trace.masked[0, 1] == -np.inf


def test_stages_that_do_nothing_are_the_array_before() -> None:
    trace = attend(Q, K, V, Options(scale="none"))
    assert all(getattr(trace, stage) is trace.scores for stage in STAGES)
    full = attend(Q, K, V, Options(temperature=2, softcap=3, causal=0), bias=np.zeros((3, 5)))
    assert len({id(getattr(full, stage)) for stage in STAGES}) == len(STAGES)


@pytest.mark.parametrize("settings", [{"causal": 4}, {"window": (None, None)}, {"lengths": 5}])
def test_a_mask_that_hides_nothing_makes_no_stage(settings: dict[str, Any]) -> None:
    trace = attend(Q, K, V, Options(**settings), keep=np.ones((3, 5), bool))
    assert trace.masked is trace.biased
    assert trace.mask.all()


def test_arrays_are_read_only_and_independent_of_the_input() -> None:
    q = Q.copy()
    trace = attend(q, K, V, Options(causal=0))
    before = trace.q.copy()
    q[:] = 7
    np.testing.assert_array_equal(trace.q, before)
    assert q.flags.writeable
    arrays = [getattr(trace, field.name) for field in fields(trace)] + [trace.output, trace.naive_output]
    assert not any(array.flags.writeable for array in arrays if isinstance(array, np.ndarray))


def test_shapes_with_leading_axes() -> None:
    q, k, v = (RNG.standard_normal((2, 3, rows, size)) for rows, size in ((4, 5), (6, 5), (6, 7)))
    trace = attend(q, k, v, Options(causal="bottom-right"))
    assert trace.scores.shape == trace.mask.shape == trace.weights.shape == (2, 3, 4, 6)
    assert trace.row_max.shape == trace.denominators.shape == trace.log_sum_exp.shape == (2, 3, 4)
    assert trace.output.shape == trace.naive_output.shape == (2, 3, 4, 7)
    for b in range(2):
        for h in range(3):
            alone = attend(q[b, h], k[b, h], v[b, h], Options(causal="bottom-right"))
            np.testing.assert_array_equal(trace.output[b, h], alone.output)
            np.testing.assert_array_equal(trace.weights[b, h], alone.weights)


def test_leading_axes_broadcast() -> None:
    trace = attend(
        RNG.standard_normal((2, 1, 4, 5)), RNG.standard_normal((3, 6, 5)), RNG.standard_normal((6, 2))
    )
    assert trace.output.shape == (2, 3, 4, 2)
    assert trace.q.shape == (2, 3, 4, 5)
    assert trace.k.shape == (2, 3, 6, 5)
    assert trace.v.shape == (2, 3, 6, 2)


def test_temperature_divides() -> None:
    """T = 2 halves the scaled scores; the weights are the square roots of those at T = 1, rescaled."""
    cold, warm = attend(Q, K, V), attend(Q, K, V, Options(temperature=2.0))
    np.testing.assert_array_equal(warm.tempered, cold.scaled / 2)
    roots = np.sqrt(cold.weights)
    np.testing.assert_allclose(warm.weights, roots / roots.sum(-1, keepdims=True), rtol=1e-14)


@pytest.mark.parametrize("scale", [0, -1.5, 3, 1e-300])
def test_any_number_is_a_scale(scale: float) -> None:
    trace = attend(Q, K, V, Options(scale=scale))
    np.testing.assert_array_equal(trace.scaled, trace.scores * scale)
    assert trace.row_sum_error < 1e-15


class TestNaiveForm:
    """exp(x)/Σexp(x) without the shift: what it gives, and that its failures are reported, never silent."""

    def test_same_where_nothing_overflows(self) -> None:
        trace = attend(Q, K, V, Options(causal=0))
        assert trace.naive_failure is None
        assert trace.stable_vs_naive < 1e-15
        np.testing.assert_allclose(trace.naive_output, trace.output, rtol=0, atol=1e-15)

    def test_overflow(self) -> None:
        """e^800 is beyond float64, and e^709 + e^709.5 too, term by term below it."""
        trace = attend([[800.0], [1.0]], [[1.0], [0.5]], [[1.0], [2.0]], Options(scale=1.0))
        assert trace.naive_failure == "overflow"
        assert trace.stable_vs_naive == np.inf
        assert trace.naive_output[0, 0] == np.inf
        assert abs(trace.naive_output[1, 0] - trace.output[1, 0]) < 1e-15
        assert np.isfinite(trace.output).all()
        both = attend([[1.0]], [[709.5], [709.6]], [[1.0], [2.0]], Options(scale=1.0))
        assert both.naive_failure == "overflow"
        assert both.stable_vs_naive == np.inf

    def test_underflow(self) -> None:
        """e^−800 is 0 in float64, so that every weight is 0/0."""
        trace = attend([[-800.0]], [[1.0], [1.0]], [[1.0], [2.0]], Options(scale=1.0))
        assert trace.naive_failure == "underflow"
        assert trace.stable_vs_naive == np.inf
        assert trace.output[0, 0] == 1.5

    def test_float32_overflows_at_89(self) -> None:
        arguments = ([[90.0]], [[1.0], [0.5]], [[1.0], [2.0]])
        assert attend(*arguments, Options(scale=1.0)).naive_failure is None
        assert attend(*arguments, Options(scale=1.0, precision="float32")).naive_failure == "overflow"

    def test_masked_cells_and_empty_rows_do_not_count(self) -> None:
        arguments = ([[1.0], [1.0]], [[1.0], [900.0]], [[1.0], [2.0]])
        trace = attend(*arguments, Options(scale=1.0), keep=[[True, False], [False, False]])
        assert trace.naive_failure is None
        assert trace.stable_vs_naive == 0

    @given(problems())
    def test_never_a_silent_nan(self, problem: dict[str, Any]) -> None:
        trace = attend(**problem)
        if trace.naive_failure is None:
            assert np.isfinite(trace.stable_vs_naive)
            np.testing.assert_array_equal(np.isnan(trace.naive_output), np.isnan(trace.output))


def test_a_bias_that_masks_needs_no_masked_stage_of_its_own() -> None:
    """−∞ in the bias has put every masked cell in place: the masked stage does nothing."""
    trace = attend([[1.0]], [[1.0], [2.0]], [[1.0], [2.0]], bias=[[0.0, -np.inf]])
    assert trace.masked is trace.biased and trace.weights.tolist() == [[1.0, 0.0]]
