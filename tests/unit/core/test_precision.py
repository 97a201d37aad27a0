"""Rounding to float16, bfloat16 and float32, and attention in these formats."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_lab.core import Options, attend
from attention_lab.core.precision import FORMATS, round_to, ulps

LOW = ("float32", "float16", "bfloat16")


def bfloat16_values() -> np.ndarray:
    """All finite bfloat16 numbers ≥ 0: the upper half of a float32, so every pattern up to 0x7F7F."""
    return (np.arange(0x7F80, dtype=np.uint32) << 16).view(np.float32).astype(np.float64)


def test_every_bfloat16_number_stays() -> None:
    values = bfloat16_values()
    np.testing.assert_array_equal(round_to(values, "bfloat16"), values)
    np.testing.assert_array_equal(round_to(-values, "bfloat16"), -values)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_every_bfloat16_midpoint_goes_to_even(kind: Any) -> None:
    """Half way between two neighbours the one with an even last bit wins; a hair to either side decides."""
    values = bfloat16_values()
    low, high = values[:-1], values[1:]
    middle = ((low + high) / 2).astype(kind)
    even = np.where(np.arange(len(low)) % 2 == 0, low, high)
    np.testing.assert_array_equal(round_to(middle, "bfloat16"), even)
    np.testing.assert_array_equal(round_to(np.nextafter(middle, kind(0)), "bfloat16"), low)
    np.testing.assert_array_equal(round_to(np.nextafter(middle, kind(np.inf)), "bfloat16"), high)


def test_no_double_rounding() -> None:
    """1 + 2⁻⁸ + 2⁻⁴⁰ lies above the midpoint; by way of float32 it would fall on it and go down to 1."""
    value = np.array([1 + 2.0**-8 + 2.0**-40])
    assert round_to(value, "bfloat16")[0] == 1 + 2.0**-7
    assert round_to(value.astype(np.float32), "bfloat16")[0] == 1
    assert round_to(np.array([1 + 2.0**-11 + 2.0**-40] * 9), "float16").tolist() == [1 + 2.0**-10] * 9


@pytest.mark.parametrize("precision", LOW)
def test_edges(precision: Any) -> None:
    largest = FORMATS[precision].largest
    past = largest + 2.0 ** (np.frexp(largest)[1] - 1 - FORMATS[precision].bits)  # half a step above: to ∞
    given_ = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, largest, np.nextafter(past, 0), past, -past, 5e-324]
    )
    rounded = round_to(given_, precision)
    np.testing.assert_array_equal(
        rounded, [0, 0, np.inf, -np.inf, np.nan, largest, largest, np.inf, -np.inf, 0]
    )
    assert np.signbit(rounded[1])
    assert rounded.dtype == np.float32
    assert round_to(given_, "float64") is given_


@given(st.sampled_from(LOW), st.floats(-60000, 60000) | st.floats(-1e-6, 1e-6))
def test_rounding_is_to_the_nearest(precision: Any, value: float) -> None:
    """By exact fractions: no neighbour is nearer, and a tie goes to an even multiple of the step."""
    form = FORMATS[precision]
    got = Fraction(float(round_to(np.array([value]), precision)[0]))
    exponent = max(np.frexp(abs(value))[1] - 1, form.least)
    step = Fraction(2) ** int(exponent - form.bits + 1)
    distance = abs(got - Fraction(value))
    assert distance <= step / 2
    if distance == step / 2:
        assert got / step % 2 == 0


def test_ulps() -> None:
    one, above = np.array([1.0]), np.array([1.0 + 2.0**-7])
    assert ulps(above, one, "bfloat16") == 1
    assert ulps(above, one, "float16") == 8
    assert ulps(np.array([np.nan, np.inf, 0.0]), np.array([np.nan, np.inf, 0.0]), "float16") == 0
    assert ulps(np.array([2.0**-24]), np.array([0.0]), "float16") == 1


@pytest.mark.parametrize("precision", LOW)
def test_inputs_weights_and_output_are_rounded_the_rest_is_float32(precision: Any) -> None:
    rng = np.random.default_rng(11)
    q, k, v = (rng.standard_normal(shape) for shape in ((5, 8), (9, 8), (9, 3)))
    trace = attend(q, k, v, Options(precision=precision, softcap=4.0), bias=rng.standard_normal((5, 9)))
    for name in ("q", "k", "v", "weights", "output"):
        values = getattr(trace, name)
        assert values.dtype == np.float32
        np.testing.assert_array_equal(round_to(values, precision), values)
    for name in ("scores", "scaled", "capped", "biased", "row_max", "exponentials", "denominators"):
        assert getattr(trace, name).dtype == np.float32
    if precision != "float32":
        assert (round_to(trace.scores, precision) != trace.scores).any()
    np.testing.assert_array_equal(trace.q, round_to(q, precision))
    exact = attend(q, k, v, Options(softcap=4.0), bias=trace.given[3])
    error = np.abs(trace.output - exact.output).max()
    assert 0 < error < {"float32": 1e-6, "float16": 5e-3, "bfloat16": 4e-2}[precision]


def test_the_largest_error_is_reported_in_ulps() -> None:
    """Rounding 1/3 to 11 bits is off by 1/3 of an ulp, and so is the weight; float64 reports none."""
    arguments = (np.zeros((1, 1)), np.zeros((3, 1)), np.array([[1.0], [1.0], [1.0]]))
    errors = attend(*arguments, Options(precision="float16")).largest_ulps
    assert errors["weights"] == pytest.approx(1 / 3)
    assert errors["output"] <= 1
    assert attend(*arguments).largest_ulps == {"weights": 0.0, "output": 0.0}


def test_ulps_are_measured_from_the_inputs_as_given() -> None:
    """V = 1 + 2⁻⁹ lies half an ulp of bfloat16 … a quarter: rounding V alone already costs 0.25."""
    trace = attend([[1.0]], [[1.0]], [[1 + 2.0**-9]], Options(precision="bfloat16"))
    assert trace.output[0, 0] == 1
    assert trace.largest_ulps == {"weights": 0.0, "output": 0.25}


def test_ulps_with_packed_heads_masks_and_empty_rows() -> None:
    rng = np.random.default_rng(12)
    q, k, v = rng.standard_normal((2, 3, 8)), rng.standard_normal((2, 4, 4)), rng.standard_normal((2, 4, 4))
    options = Options(heads=(4, 2), causal=-1, lengths=(2, 4), precision="float16", empty_row="nan")
    errors = attend(q, k, v, options).largest_ulps
    assert 0 < errors["weights"] < 10
    assert np.isfinite(errors["output"])


def test_low_precision_rows_sum_to_one_within_their_rounding() -> None:
    rng = np.random.default_rng(13)
    for precision, bound in (("float32", 1e-6), ("float16", 2e-2), ("bfloat16", 2e-1)):
        trace = attend(*(rng.standard_normal((40, 8)) for _ in range(3)), Options(precision=precision))
        assert 0 < trace.row_sum_error < bound
