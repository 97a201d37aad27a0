"""Where two frameworks differ on one problem, and why.

The conventions are those of core/conventions.json, which tests/unit/core/test_conventions.py checks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from attention_lab.core import LabError, Options, attend
from attention_lab.explain.differences import differences

RNG = np.random.default_rng(14)
Q, K, V = RNG.standard_normal((2, 4)), RNG.standard_normal((5, 4)), RNG.standard_normal((5, 3))


def cells(found: Any) -> list[tuple[int, ...]]:
    return [each.index for each in found]


def test_causal_alignment_when_lengths_differ() -> None:
    """n = 2, m = 5: top-left shows 1 and 2 keys, bottom-right 4 and 5; every visible weight of row 0 changes."""
    found = differences("torch", "flash-attention", Q, K, V, Options(causal="top-left"))
    assert cells(found) == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3), (1, 4)]
    top = attend(Q, K, V, Options(causal="top-left")).weights
    bottom = attend(Q, K, V, Options(causal="bottom-right")).weights
    for each in found:
        assert (each.first, each.second) == (top[each.index], bottom[each.index])
        assert each.codes == ("causal",)
        assert (
            each.text == "the causal mask is aligned top-left in PyTorch SDPA, bottom-right in FlashAttention"
        )


def test_no_difference_for_square_problems_and_explicit_offsets() -> None:
    assert len(differences("torch", "mlx", K, K, K, Options(causal="bottom-right"))) == 0
    assert len(differences("torch", "mlx", Q, K, V, Options(causal=3))) == 0
    assert len(differences("torch", "onnx", Q, K, V, Options(causal="top-left"), keep=np.eye(2, 5) < 1)) == 0


def test_default_scale() -> None:
    found = differences("keras-mha", "keras-attention", Q, K, V)
    assert len(found) == 10
    assert {each.codes for each in found} == {("scale",)}
    np.testing.assert_allclose(
        [each.second for each in found], attend(Q, K, V, Options(scale="none")).weights.ravel()
    )
    assert len(differences("keras-mha", "keras-attention", Q, K, V, Options(scale=0.5))) == 0


def test_polarity_of_a_boolean_mask() -> None:
    keep = np.array([[True, True, False, False, False], [True] * 5])
    found = differences("torch", "torch-mha", Q, K, V, keep=keep)
    row_0 = [each for each in found if each.index[0] == 0]
    assert cells(row_0) == [(0, j) for j in range(5)]
    assert {each.codes for each in row_0} == {("true_means",)}
    row_1 = [each for each in found if each.index[0] == 1]
    assert all(
        math.isnan(each.second) for each in row_1
    )  # there everything is masked out, and that gives NaN
    assert {each.codes for each in row_1} == {("true_means", "empty_row")}


@pytest.mark.parametrize(
    ("pair", "masks", "values", "code"),
    [
        (("torch", "jax"), "keep", (0.0, 0.2), "empty_row"),
        (("torch", "jax"), "bias", (0.0, math.nan), "empty_row_bias"),
        (("jax", "openvino"), "keep", (0.2, math.nan), "empty_row"),
        (("mlx", "keras-mha"), "keep", (0.2, 0.0), "empty_row"),
    ],
)
def test_empty_rows(pair: tuple[str, str], masks: str, values: tuple[float, float], code: str) -> None:
    keep = np.array([[False] * 5, [True] * 5])
    mask = {"keep": keep} if masks == "keep" else {"bias": np.where(keep, 0.0, -np.inf)}
    found = differences(*pair, Q, K, V, **mask)
    assert cells(found) == [(0, j) for j in range(5)]
    for each in found:
        np.testing.assert_array_equal((each.first, each.second), values)
        assert each.codes == (code,)


def test_what_is_unknown_never_differs() -> None:
    keep = np.array([[False] * 5, [True] * 5])
    assert len(differences("torch", "xformers", Q, K, V, keep=keep)) == 0
    assert len(differences("openvino", "xformers", Q, K, V, keep=keep)) == 0


def test_causal_that_ignores_other_masks() -> None:
    keep = np.array([[True] * 5, [False, True, True, True, True]])
    found = differences("torch", "openvino", Q, K, V, Options(causal="top-left"), keep=keep)
    assert cells(found) == [(1, 0), (1, 1)]
    assert {each.codes for each in found} == {("causal_drops_mask",)}


def test_leading_axes_and_no_framework_of_that_name() -> None:
    q = RNG.standard_normal((2, 3, 2, 4))
    found = differences("torch", "mlx", q, K, V, Options(causal="top-left"))
    assert found[0].index == (0, 0, 0, 0)
    assert len(found) == 2 * 3 * 9
    with pytest.raises(LabError, match="framework must be one of"):
        differences("torch", "numpy", Q, K, V)


def test_millions_of_differences_are_made_one_by_one() -> None:
    """1000 × 1000 weights differ; the answer holds arrays, not a million objects, and reads like a sequence."""
    q = RNG.standard_normal((1000, 2))
    found = differences("torch", "keras-attention", q, q, q)
    assert len(found) > 990_000
    assert found[-1].index == (999, 999)
    assert [each.index for each in found[1:3]] == [(0, 1), (0, 2)]
    with pytest.raises(IndexError):
        found[len(found)]
