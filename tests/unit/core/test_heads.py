"""Leading axes, grouped-query heads and heads packed in the last axis."""

from __future__ import annotations

import numpy as np
import pytest

from attention_lab.core import Options, ShapeError, attend
from attention_lab.core.heads import merge, split

RNG = np.random.default_rng(8)


def test_split_takes_neighbouring_columns() -> None:
    """(length 2, 2 heads of 3): head 0 is columns 0 to 2, head 1 is columns 3 to 5."""
    packed = np.arange(12.0).reshape(2, 6)
    heads = split(packed, 2, "q")
    np.testing.assert_array_equal(heads, [[[0, 1, 2], [6, 7, 8]], [[3, 4, 5], [9, 10, 11]]])
    np.testing.assert_array_equal(merge(heads), packed)


def test_grouped_query_heads_repeat_and_interleave() -> None:
    """Six query heads over two: heads 0, 1, 2 use key head 0, heads 3, 4, 5 use key head 1."""
    q, k, v = (RNG.standard_normal((2, heads, 4, 5)) for heads in (6, 2, 2))
    trace = attend(q, k, v, Options(causal="top-left"))
    for head in range(6):
        alone = attend(q[1, head], k[1, head // 3], v[1, head // 3], Options(causal="top-left"))
        np.testing.assert_array_equal(trace.output[1, head], alone.output)
    assert trace.k.shape == (2, 6, 4, 5)


def test_multi_query_heads() -> None:
    q, k, v = (
        RNG.standard_normal((2, 3, 4, 5)),
        RNG.standard_normal((2, 1, 6, 5)),
        RNG.standard_normal((1, 6, 2)),
    )
    trace = attend(q, k, v)
    np.testing.assert_array_equal(trace.output[1, 2], attend(q[1, 2], k[1, 0], v[0]).output)


def test_key_and_value_heads_may_differ() -> None:
    q, k, v = (RNG.standard_normal((heads, 3, 4)) for heads in (4, 2, 4))
    trace = attend(q, k, v)
    np.testing.assert_array_equal(trace.output[3], attend(q[3], k[1], v[3]).output)


@pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
@pytest.mark.parametrize("heads", [(1, 1), (4, 4), (4, 2), (4, 1)])
def test_packed_heads_equal_separate_ones(leading: tuple[int, ...], heads: tuple[int, int]) -> None:
    n_q, n_kv = heads
    q = RNG.standard_normal((*leading, 3, n_q * 5))
    k, v = RNG.standard_normal((*leading, 6, n_kv * 5)), RNG.standard_normal((*leading, 6, n_kv * 2))
    trace = attend(q, k, v, Options(heads=heads, causal="bottom-right"))
    assert trace.output.shape == (*leading, 3, n_q * 2)
    assert trace.head_output.shape == (*leading, n_q, 3, 2)
    assert trace.scores.shape == (*leading, n_q, 3, 6)
    at = tuple(size - 1 for size in leading)
    for head in range(n_q):
        kv = head // (n_q // n_kv)
        alone = attend(
            q[at][:, head * 5 : head * 5 + 5],
            k[at][:, kv * 5 : kv * 5 + 5],
            v[at][:, kv * 2 : kv * 2 + 2],
            Options(causal="bottom-right"),
        )
        np.testing.assert_array_equal(trace.output[at][:, head * 2 : head * 2 + 2], alone.output)
        np.testing.assert_array_equal(trace.naive_output[at][:, head * 2 : head * 2 + 2], alone.naive_output)


def test_scale_of_packed_heads_is_that_of_one_head() -> None:
    trace = attend(np.ones((2, 8)), np.ones((2, 8)), np.ones((2, 8)), Options(heads=(2, 2)))
    assert trace.scale == 0.5
    assert (trace.scores == 4).all()


@pytest.mark.parametrize(
    ("shapes", "heads", "field", "message"),
    [
        (((2, 6), (2, 6), (2, 6)), (4, 2), "q", "Q has 6 columns: 4 heads do not divide them"),
        (((2, 8), (2, 7), (2, 6)), (4, 2), "k", "K has 7 columns: 2 heads do not divide them"),
        (((2, 8), (2, 4), (2, 5)), (4, 2), "v", "V has 5 columns: 2 heads do not divide them"),
        (((2, 8), (2, 8), (2, 8)), (4, 2), "k", "K has 4 columns, Q has 2: both need dₖ columns"),
        (((5, 2, 2), (2, 2, 2), (5, 2, 2)), None, "k", r"K has leading axes \(2,\), expected \(5,\)"),
        (((4, 2, 2), (4, 2, 2), (3, 2, 2)), None, "v", r"V has leading axes \(3,\), expected \(4,\)"),
        (
            ((2, 4, 2, 2), (3, 4, 2, 2), (2, 4, 2, 2)),
            None,
            "k",
            r"K has leading axes \(3, 4\), expected \(2, 4\)",
        ),
    ],
)
def test_shapes_that_do_not_fit(shapes: tuple[tuple[int, ...], ...], heads: tuple[int, int] | None, field: str,
                                message: str) -> None:  # fmt: skip
    with pytest.raises(ShapeError, match=message) as error:
        attend(*(np.ones(shape) for shape in shapes), Options(heads=heads))
    assert error.value.field == field
