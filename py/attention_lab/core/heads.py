"""Leading axes and heads: packed heads split and merged, shared key/value heads repeated, shapes checked.

Does not: project. multihead.py does, with the weight matrices.
"""

from __future__ import annotations

import numpy as np

from .errors import ShapeError
from .precision import Floats


def split(array: Floats, count: int, name: str) -> Floats:
    """(…, length, count·d) → (…, count, length, d); head h is columns h·d to (h + 1)·d − 1."""
    columns = array.shape[-1]
    if columns % count:
        raise ShapeError(f"{name.upper()} has {columns} columns: {count} heads do not divide them", name)
    return np.swapaxes(array.reshape(*array.shape[:-1], count, columns // count), -3, -2)


def merge(array: Floats) -> Floats:
    """(…, count, length, d) → (…, length, count·d), the reverse of split."""
    swapped = np.swapaxes(array, -3, -2)
    return np.ascontiguousarray(swapped).reshape(*swapped.shape[:-2], -1)


def scores_shape(q: Floats, k: Floats, v: Floats) -> tuple[int, ...]:
    """The shape (…, n, m) of the scores; raises ShapeError where q, k and v do not fit together."""
    if k.shape[-1] != q.shape[-1]:
        raise ShapeError(f"K has {k.shape[-1]} columns, Q has {q.shape[-1]}: both need dₖ columns", "k")
    if v.shape[-2] != k.shape[-2]:
        raise ShapeError(f"V has {v.shape[-2]} rows, K has {k.shape[-2]}: every key needs one value", "v")
    leading = q.shape[:-2]
    for array, name in ((k, "k"), (v, "v")):
        own = _repeated(array.shape[:-2], q.shape[:-2])
        try:
            leading = np.broadcast_shapes(leading, own)
        except ValueError:
            got = f"{name.upper()} has leading axes {array.shape[:-2]}"
            expected = f"{leading}: each equal or 1, but key/value heads may divide query heads"
            raise ShapeError(f"{got}, expected {expected}", name) from None
    return (*leading, q.shape[-2], k.shape[-2])


def broadcast(array: Floats, q_leading: tuple[int, ...], leading: tuple[int, ...]) -> Floats:
    """`array` with the leading axes of the scores; key/value head h serves query heads h·r to (h+1)·r − 1."""
    own = array.shape[:-2]
    repeated = _repeated(own, q_leading)
    if repeated != own:
        array = np.repeat(array, repeated[-1] // own[-1], axis=-3)
    return np.broadcast_to(array, (*leading, *array.shape[-2:]))


def _repeated(own: tuple[int, ...], q_leading: tuple[int, ...]) -> tuple[int, ...]:
    """The leading axes after key/value heads that divide the query heads are repeated."""
    if own and q_leading and 1 < own[-1] < q_leading[-1] and q_leading[-1] % own[-1] == 0:
        return (*own[:-1], q_leading[-1])
    return own
