"""Leading axes and heads: packed heads split and merged, shared key/value heads repeated, shapes checked.

Does not: project. multihead.py does, with the weight matrices.
"""

import math

import numpy as np

from .errors import LimitError, ShapeError
from .precision import Floats, Shape


def split(array: Floats, count: int, name: str) -> Floats:
    """(…, length, count·d) → (…, count, length, d); head h is columns h·d to (h + 1)·d − 1."""
    columns = array.shape[-1]
    if columns % count:
        raise ShapeError(f"{name.upper()} has {columns} columns: {count} heads do not divide them", name)
    return np.swapaxes(array.reshape(*array.shape[:-1], count, columns // count), -3, -2)


def merge(array: Floats) -> Floats:
    """(…, count, length, d) → (…, length, count·d), the reverse of split."""
    return np.swapaxes(array, -3, -2).reshape(*array.shape[:-3], array.shape[-2], -1)


def align(q: Floats, k: Floats, v: Floats, limit: int) -> tuple[Floats, Floats, Floats]:
    """All three with the leading axes of the scores; key/value head h serves query heads h·r to (h + 1)·r − 1.

    Raises ShapeError where they do not fit together, LimitError for more than `limit` scores.
    """
    if k.shape[-1] != q.shape[-1]:
        raise ShapeError(f"K has {k.shape[-1]} columns, Q has {q.shape[-1]}: both need dₖ columns", "k")
    if v.shape[-2] != k.shape[-2]:
        raise ShapeError(f"V has {v.shape[-2]} rows, K has {k.shape[-2]}: every key needs one value", "v")
    leading = q.shape[:-2]
    for array, name in ((k, "k"), (v, "v")):
        try:
            leading = np.broadcast_shapes(leading, _repeated(array, q))
        except ValueError:
            got = f"{name.upper()} has leading axes {array.shape[:-2]}"
            expected = f"{leading}: each equal or 1, but key/value heads may divide query heads"
            raise ShapeError(f"{got}, expected {expected}", name) from None
    shape = (*leading, q.shape[-2], k.shape[-2])
    if math.prod(shape) > limit:
        size = f"{' × '.join(map(str, shape))} = {math.prod(shape):,} scores (leading axes × queries × keys)"
        raise LimitError(f"{size} are more than the limit of {limit:,}")

    def spread(array: Floats) -> Floats:
        if (repeated := _repeated(array, q)) != array.shape[:-2]:
            array = np.repeat(array, repeated[-1] // array.shape[-3], axis=-3)
        return np.broadcast_to(array, (*leading, *array.shape[-2:]))

    return spread(q), spread(k), spread(v)


def _repeated(array: Floats, q: Floats) -> Shape:
    """The leading axes of `array` after key/value heads that divide the query heads are repeated."""
    *batch, own = array.shape[:-2] or (1,)
    if q.ndim > 2 and 1 < own < q.shape[-3] and q.shape[-3] % own == 0:
        return (*batch, q.shape[-3])
    return array.shape[:-2]
