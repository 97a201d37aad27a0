"""Rows are bit for bit the same whether masked keys are there or left out, as if their sums ran in key order.

A BLAS product and NumPy's pairwise sum group their terms by the shape of the whole array and fail this test.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from attention_lab.core import Options, Trace, attend
from attention_lab.core.ordered import product, sums

KEYS = 64


def bits(array: np.ndarray) -> Any:
    return np.ascontiguousarray(array).view(np.uint8).tolist()


def dot_products(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    return product(q, np.swapaxes(k, -1, -2))


def fused(a: float, b: float, c: float) -> float:
    """a·b + c rounded once, as processors with such an instruction do inside einsum."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def dropped(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray, i: int, options: Options) -> Trace:
    return attend(q[i : i + 1], k[mask[i]], v[mask[i]], options)


@pytest.mark.parametrize("precision", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("softcap", [None, 3.0])
def test_included_or_dropped_up_to_64_keys(precision: Any, softcap: float | None) -> None:
    rng = np.random.default_rng(64)
    options = Options(precision=precision, softcap=softcap)
    for _ in range(40):
        n, m = int(rng.integers(1, 12)), int(rng.integers(1, KEYS + 1))
        dk, dv = int(rng.integers(1, 70)), int(rng.integers(1, 9))
        q, k, v = (rng.standard_normal(shape) * 2 for shape in ((n, dk), (m, dk), (m, dv)))
        keep = rng.random((n, m)) < rng.choice((0.2, 0.5, 0.9))
        trace = attend(q, k, v, options, keep=keep)
        for i in np.flatnonzero(keep.any(-1)):
            alone = dropped(q, k, v, keep, i, options)
            assert bits(trace.denominators[i]) == bits(alone.denominators[0])
            assert bits(trace.weights[i][keep[i]]) == bits(alone.weights[0])
            assert bits(trace.output[i]) == bits(alone.output[0])
            assert bits(trace.log_sum_exp[i]) == bits(alone.log_sum_exp[0])


def test_causal_rows_equal_a_growing_cache() -> None:
    """Query i of a causal problem is what a decoder computes that has only seen keys 0 to i."""
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((2, KEYS, 16)) for _ in range(3))
    trace = attend(q, k, v, Options(causal="top-left"))
    for i in range(KEYS):
        step = attend(q[:, i : i + 1], k[:, : i + 1], v[:, : i + 1])
        assert bits(trace.output[:, i]) == bits(step.output[:, 0])


def test_sums_run_in_key_order() -> None:
    """Outputs and denominators (with the error of each addition, Knuth's two-sum) are those of a loop, to the bit."""
    rng = np.random.default_rng(2)
    q, k, v = (rng.standard_normal((KEYS, 8)) for _ in range(3))
    trace = attend(q, k, v, Options(causal=3))
    for i in range(KEYS):
        total, error, output, once = 0.0, 0.0, np.zeros(8), [0.0] * 8
        for j in range(KEYS):
            before, term = total, float(trace.exponentials[i, j])
            total += term
            error += (before - (total - (total - before))) + (term - (total - before))
            weight = float(trace.weights[i, j])
            output = output + weight * trace.v[j]
            once = [fused(weight, value, part) for value, part in zip(trace.v[j].tolist(), once, strict=True)]
        assert total + error == trace.denominators[i]
        assert bits(trace.output[i]) in (bits(output), bits(np.array(once)))


def test_negative_zero_survives_neither_way() -> None:
    """A masked term adds 0.0; had a sum started with −0.0, dropping the term would change its sign."""
    q, k, v = np.ones((1, 1)), np.ones((2, 1)), np.array([[-0.0], [5.0]])
    trace = attend(q, k, v, keep=[[True, False]])
    assert bits(trace.output) == bits(attend(q, k[:1], v[:1]).output)
    assert bits(attend([[-1.0]], [[0.0]], v[:1]).scores) == bits(np.zeros((1, 1)))


@pytest.mark.parametrize(
    ("n", "m", "dv"), [(20, 65, 8), (20, 300, 1), (1, 300, 1), (3, 3000, 8), (400, 400, 8)]
)
def test_more_than_64_keys(n: int, m: int, dv: int) -> None:
    """Above, everything is the same bits too."""
    rng = np.random.default_rng(m)
    for share in (0.02, 0.5, 0.9):
        q, k, v = (rng.standard_normal(shape) for shape in ((n, 16), (m, 16), (m, dv)))
        keep = rng.random((n, m)) < share
        trace = attend(q, k, v, keep=keep)
        for i in np.flatnonzero(keep.any(-1))[:20]:
            alone = dropped(q, k, v, keep, i, Options())
            assert bits(trace.denominators[i]) == bits(alone.denominators[0])
            assert bits(trace.weights[i][keep[i]]) == bits(alone.weights[0])
            assert bits(trace.output[i]) == bits(alone.output[0])


def test_sums_round_only_at_the_end() -> None:
    """The denominators of many rows are the doubles nearest to the exact sums, however long and steep the row."""
    rng = np.random.default_rng(11)
    for m in (2, 64, 1000, 20000):
        terms = np.exp(-np.abs(rng.standard_normal((40, m))) * rng.choice((0.1, 10.0, 300.0), (40, 1)))
        terms[:, 0] = 1.0
        assert sums(terms).tolist() == [math.fsum(row) for row in terms]
        assert bits(sums(terms)) == bits(sums(terms[:, rng.permutation(m)]))
        single = terms.astype(np.float32)
        assert sums(single).tolist() == [np.float32(math.fsum(row)) for row in single]


@pytest.mark.parametrize("m", [1, 2, 63, 64, 65, 5000])
def test_sums_do_not_drift(m: int) -> None:
    """Equal small terms after a large one, added in turn, all round to the same side: 63 are off by 30 ulps."""
    terms = np.exp(np.full((3, m), -20.0))
    terms[0, 0], terms[1, -1], terms[2] = 1.0, 1.0, 0.1
    for got, row in zip(sums(terms), terms, strict=True):
        assert abs(got - math.fsum(row)) <= np.spacing(math.fsum(row))


def test_an_infinite_sum_is_infinite() -> None:
    with np.errstate(all="ignore"):
        got = sums(np.array([[1.0, np.inf, 2.0], [1e308, 1e308, 1e308], [1.0, np.nan, 2.0]]))
    np.testing.assert_array_equal(got, [np.inf, np.inf, np.nan])


def test_a_score_depends_on_its_two_rows_alone() -> None:
    """Any subset of queries and keys gives the same bits: einsum adds up along them, in order."""
    rng = np.random.default_rng(6)
    for kind in (np.float64, np.float32):
        for _ in range(60):
            n, m, d = (int(rng.integers(1, high)) for high in (30, 90, 140))
            q, k = (rng.standard_normal((rows, d)).astype(kind) for rows in (n, m))
            some_q, some_k = rng.random(n) < 0.5, rng.random(m) < 0.4
            some_q[rng.integers(n)] = some_k[rng.integers(m)] = True
            part = dot_products(q[some_q], k[some_k])
            assert bits(part) == bits(dot_products(q, k)[np.ix_(some_q, some_k)])
            assert bits(dot_products(q[:1], k[:1])) == bits(dot_products(q, k)[:1, :1])


@pytest.mark.parametrize(
    "shape",
    [(1, 9, 1), (1, 300, 1), (2, 70, 1), (3, 70, 1), (50, 9, 3), (7, 9, 3), (3, 9, 50), (1, 9, 5), (4, 1, 2)],
)
def test_products_of_every_shape_add_up_in_order(shape: tuple[int, int, int]) -> None:
    """One query, one column, tall and wide: the inner loop runs along another axis, the order is the same."""
    n, m, d = shape
    rng = np.random.default_rng(n + m + d)
    left, right = rng.standard_normal((2, n, m)), rng.standard_normal((2, m, d))
    plain, once = np.zeros((2, n, d)), np.zeros((2, n, d))
    for h, i, c, j in np.ndindex(2, n, d, m):
        plain[h, i, c] += left[h, i, j] * right[h, j, c]
        once[h, i, c] = fused(left[h, i, j], right[h, j, c], once[h, i, c])
    assert bits(product(left, right)) in (bits(plain), bits(once))
    assert product(left, right).flags.c_contiguous


def test_products_agree_with_matmul() -> None:
    rng = np.random.default_rng(9)
    for m in (1, 5, 64, 65, 200, 2000):
        for leading in ((), (2,), (2, 3)):
            q, k, v = (rng.standard_normal((*leading, *shape)) for shape in ((7, 6), (m, 6), (m, 3)))
            np.testing.assert_allclose(dot_products(q, k), q @ np.swapaxes(k, -1, -2), rtol=0, atol=1e-14)
            weights = rng.random((*leading, 7, m))
            np.testing.assert_allclose(product(weights, v), weights @ v, rtol=1e-13, atol=1e-12)


def test_blocks_do_not_change_a_row() -> None:
    """Denominators of many queries are added up in blocks of rows; each row is as if it were alone."""
    rng = np.random.default_rng(10)
    q, k, v = rng.standard_normal((3000, 4)), rng.standard_normal((40, 4)), rng.standard_normal((40, 3))
    trace = attend(q, k, v)
    for i in (0, 818, 819, 820, 2999):
        alone = attend(q[i : i + 1], k, v)
        assert bits(trace.weights[i]) == bits(alone.weights[0])
        assert bits(trace.output[i]) == bits(alone.output[0])
