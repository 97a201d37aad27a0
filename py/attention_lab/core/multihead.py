"""Multi-head attention with its projections (Vaswani et al. 2017, §3.2.2), every step kept.

Weight matrices multiply from the right, X·W, as in the paper; PyTorch's Linear stores the transpose.
Does not: add projection biases, positions, dropout or a residual.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import ordered
from .arrays import matrix, refuse
from .errors import ShapeError
from .options import Options, Precision
from .precision import Floats, round_to
from .sdpa import DEFAULT, Trace, attend


@dataclass(frozen=True, eq=False)
class MultiHeadTrace:
    """x (…, n, d); context (…, m, d') of keys and values; query, key, value (…, length, heads·dim) projected.

    attention is the Trace of all heads: its q, k, v are the split projections; merged (…, n, heads·dv) holds
    the heads' outputs side by side; output is merged·W_O.
    """

    x: Floats
    context: Floats
    query: Floats
    key: Floats
    value: Floats
    attention: Trace
    merged: Floats
    output: Floats


def multi_head(
    x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, heads: int | tuple[int, int],
    options: Options = DEFAULT, *, context: Any = None, **settings: Any,
) -> MultiHeadTrace:  # fmt: skip
    """Concat(head_1, …)·W_O with head_h = attend(X W_Q, C W_K, C W_V) on the columns of head h.

    x (…, n, d); context C (…, m, d'), x by default; w_q (d, H·dk), w_k (d', Hkv·dk), w_v (d', Hkv·dv),
    w_o (H·dv, any); heads is H or (H, Hkv); settings: keep, bias and limit of attend(). Raises what attend()
    raises; `field` may also be "x", "context", "w_q", "w_k", "w_v" or "w_o".
    """
    options = replace(options, heads=heads if isinstance(heads, tuple) else (heads, heads))
    source = matrix(x, "X")
    other = source if context is None else matrix(context, "context")
    query = _project(source, w_q, "W_Q", options.precision)
    key, value = (_project(other, w, name, options.precision) for w, name in ((w_k, "W_K"), (w_v, "W_V")))
    attention = attend(query, key, value, options, **settings)
    output = _project(attention.output, w_o, "W_O", options.precision)
    return MultiHeadTrace(source, other, query, key, value, attention, attention.output, output)


def _project(left: Floats, weights: Any, label: str, precision: Precision) -> Floats:
    right, field = matrix(weights, label), label.lower()
    if right.ndim != 2 or right.shape[0] != left.shape[-1]:
        raise ShapeError(f"{label} must have {left.shape[-1]} rows; its shape is {right.shape}", field)
    with np.errstate(all="ignore"):
        spread = np.broadcast_to(round_to(right, precision), (*left.shape[:-2], *right.shape))
        product = round_to(ordered.product(round_to(left, precision), spread), precision)
    clean = np.isfinite(left).all(-1, keepdims=True) & np.isfinite(right).all(0)
    refuse(clean & ~np.isfinite(product), f"the product with {label} at ", field, precision)
    product.setflags(write=False)
    return product
