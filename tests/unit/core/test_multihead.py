"""The multi-head helper: projections, heads, merge and output projection, each step kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attention_lab.core import LabError, Options, attend
from attention_lab.core.multihead import multi_head

RNG = np.random.default_rng(21)


def weights(d: int, d_context: int, dk: int, dv: int, heads: int, kv_heads: int) -> tuple[np.ndarray, ...]:
    shapes = ((d, heads * dk), (d_context, kv_heads * dk), (d_context, kv_heads * dv), (heads * dv, d))
    return tuple(RNG.standard_normal(shape) for shape in shapes)


@pytest.mark.parametrize("leading", [(), (2,)])
@pytest.mark.parametrize("heads", [(3, 3), (4, 2), (2, 1)])
def test_every_step(leading: tuple[int, ...], heads: tuple[int, int]) -> None:
    x, context = RNG.standard_normal((*leading, 5, 6)), RNG.standard_normal((*leading, 7, 4))
    w_q, w_k, w_v, w_o = weights(6, 4, 3, 2, *heads)
    trace = multi_head(x, w_q, w_k, w_v, w_o, heads, Options(causal="bottom-right"), context=context)
    np.testing.assert_allclose(trace.query, x @ w_q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(trace.key, context @ w_k, rtol=0, atol=1e-13)
    np.testing.assert_allclose(trace.value, context @ w_v, rtol=0, atol=1e-13)
    outputs = []
    for head in range(heads[0]):
        kv = head // (heads[0] // heads[1])
        columns, kv_columns = slice(head * 3, head * 3 + 3), slice(kv * 3, kv * 3 + 3)
        alone = attend(
            trace.query[..., columns],
            trace.key[..., kv_columns],
            trace.value[..., kv * 2 : kv * 2 + 2],
            Options(causal="bottom-right"),
        )
        np.testing.assert_array_equal(trace.attention.weights[..., head, :, :], alone.weights)
        outputs.append(alone.output)
    np.testing.assert_array_equal(trace.merged, np.concatenate(outputs, axis=-1))
    np.testing.assert_allclose(trace.output, trace.merged @ w_o, rtol=0, atol=1e-13)


def test_self_attention_with_one_number_of_heads() -> None:
    x = RNG.standard_normal((4, 6))
    w = weights(6, 6, 3, 3, 2, 2)
    keep = np.tri(4, dtype=bool)
    trace = multi_head(x, *w, 2, keep=keep)
    np.testing.assert_array_equal(trace.context, x)
    np.testing.assert_array_equal(trace.attention.mask, np.broadcast_to(keep, (2, 4, 4)))
    np.testing.assert_array_equal(trace.output, multi_head(x, *w, (2, 2), Options(causal=0)).output)


def test_precision_rounds_the_projections() -> None:
    x = RNG.standard_normal((4, 6))
    trace = multi_head(x, *weights(6, 6, 3, 3, 2, 2), 2, Options(precision="bfloat16"))
    for step in (trace.query, trace.merged, trace.output):
        assert (step.view(np.uint32) & 0xFFFF == 0).all()  # nothing below bfloat16's last bit


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"w_q": np.ones((5, 4))}, "w_q", r"W_Q must have 6 rows; its shape is \(5, 4\)"),
        ({"w_o": np.ones((3, 6))}, "w_o", r"W_O must have 4 rows; its shape is \(3, 6\)"),
        ({"w_k": np.ones((2, 6, 4))}, "w_k", r"W_K must have 6 rows; its shape is \(2, 6, 4\)"),
        ({"w_k": np.ones((6, 6))}, "k", "K has 3 columns, Q has 2"),
        ({"x": np.ones(3)}, "x", "X must have rows and columns"),
        ({"w_v": [["a"]]}, "w_v", "W_V must hold real numbers"),
        ({"heads": 3}, "q", "3 heads do not divide"),
        ({"heads": 0}, "heads", "heads must be"),
        ({"w_q": np.full((6, 4), 1e308)}, "w_q", r"the product with W_Q at \[0, 0\] is beyond float64"),
    ],
)
def test_errors(change: dict[str, Any], field: str, message: str) -> None:
    w_q, w_k, w_v, w_o = (np.ones(shape) for shape in ((6, 4), (6, 4), (6, 4), (4, 6)))
    arguments: dict[str, Any] = {
        "x": np.ones((3, 6)) * 2,
        "w_q": w_q,
        "w_k": w_k,
        "w_v": w_v,
        "w_o": w_o,
        "heads": 2,
    }
    with pytest.raises(LabError, match=message) as error:
        multi_head(**{**arguments, **change})
    assert error.value.field == field
