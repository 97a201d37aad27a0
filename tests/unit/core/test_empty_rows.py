"""A query that may attend to nothing: zero, NaN or uniform weights, in every precision and for every cause."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attention_lab.core import Options, attend

Q = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]])
K = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
V = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
EXPECTED = {"zero": (0.0, [0.0, 0.0]), "nan": (np.nan, [np.nan, np.nan]), "uniform": (0.25, [4.0, 5.0])}
ROW_1 = np.array([[True] * 4, [False] * 4, [True] * 4])
CAUSES: dict[str, tuple[dict[str, Any], dict[str, Any], list[int]]] = {
    "keep": ({}, {"keep": ROW_1}, [1]),
    "bias": ({}, {"bias": np.where(ROW_1, 0.0, -np.inf)}, [1]),
    "causal": ({"causal": -2}, {}, [0, 1]),
    "lengths": ({"lengths": 0}, {}, [0, 1, 2]),
    "window": ({"causal": 5, "window": (1, 0)}, {}, [0, 1, 2]),
    "keep and causal": ({"causal": 0}, {"keep": [[False, True, True, True]] * 3}, [0]),
}


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("precision", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("policy", EXPECTED)
def test_policy(policy: Any, precision: Any, cause: str) -> None:
    settings, masks, empty = CAUSES[cause]
    trace = attend(Q, K, V, Options(empty_row=policy, precision=precision, **settings), **masks)
    weight, output = EXPECTED[policy]
    assert np.flatnonzero(trace.empty_rows).tolist() == empty
    for i in range(3):
        if i in empty:
            np.testing.assert_array_equal(trace.weights[i], [weight] * 4)
            np.testing.assert_array_equal(trace.output[i], output)
            np.testing.assert_array_equal(trace.naive_output[i], output)
            assert trace.row_max[i] == trace.log_sum_exp[i] == -np.inf
            assert trace.denominators[i] == (4 if policy == "uniform" else 0)
        else:
            assert np.isfinite(trace.output[i]).all()
            assert abs(trace.weights[i].sum(dtype=np.float64) - 1) < 0.01
    assert trace.row_sum_error < 0.01
    assert np.isfinite(trace.stable_vs_naive)
    assert np.isfinite(trace.largest_ulps["output"])


@pytest.mark.parametrize("policy", EXPECTED)
def test_with_packed_and_grouped_heads(policy: Any) -> None:
    """Batch entry 1 has no valid key: all its heads are empty, those of entry 0 are not."""
    rng = np.random.default_rng(5)
    q, k, v = rng.standard_normal((2, 3, 8)), rng.standard_normal((2, 5, 4)), rng.standard_normal((2, 5, 6))
    trace = attend(q, k, v, Options(heads=(4, 2), lengths=(5, 0), empty_row=policy))
    assert trace.output.shape == (2, 3, 12)
    assert trace.empty_rows[1].all()
    assert not trace.empty_rows[0].any()
    mean = np.repeat(v[1].mean(0).reshape(2, 3), 2, axis=0).ravel()
    expected = {"zero": np.zeros(12), "nan": np.full(12, np.nan), "uniform": mean}[policy]
    np.testing.assert_allclose(trace.output[1], np.tile(expected, (3, 1)), rtol=0, atol=1e-15)


def test_uniform_rows_mix_every_value_also_wild_ones() -> None:
    v = [[1.0], [np.nan]]
    trace = attend([[1.0]], [[1.0], [1.0]], v, Options(empty_row="uniform", lengths=0))
    assert np.isnan(trace.output[0, 0])
    assert attend([[1.0]], [[1.0], [1.0]], v, Options(lengths=0)).output[0, 0] == 0


def test_no_row_left() -> None:
    trace = attend(Q, K, V, Options(lengths=0))
    assert trace.row_sum_error == 0
    assert trace.stable_vs_naive == 0
    assert not trace.output.any()


@pytest.mark.parametrize("policy", EXPECTED)
def test_wild_numbers_in_an_empty_row_of_the_query(policy: Any) -> None:
    q = np.array([[np.nan, np.inf], [1.0, 1.0]])
    trace = attend(q, K, V, Options(empty_row=policy), keep=[[False] * 4, [True] * 4])
    np.testing.assert_array_equal(trace.output[0], EXPECTED[policy][1])
    assert np.isfinite(trace.output[1]).all()
