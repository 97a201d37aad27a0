"""Writes a matrix as text that parse_matrix reads back exactly: for the page's fields and for the URL fragment.

It rounds nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike


def format_matrix(array: ArrayLike) -> str:
    """Text that reads back exactly: rows on lines, entries between spaces; nested brackets for more axes."""
    return _format(array, " ", "\n")


def format_compact(array: ArrayLike) -> str:
    """The form of the URL fragment: rows by ";", entries by ",". Reads back exactly."""
    return _format(array, ",", ";")


def _format(given: ArrayLike, entry_mark: str, row_mark: str) -> str:
    array = np.asarray(given)
    write: Callable[[object], str] = str if array.dtype == np.bool_ else _shortest
    if array.ndim <= 2:
        return row_mark.join(entry_mark.join(map(write, row)) for row in np.atleast_2d(array).tolist())

    def nested(part: object) -> str:
        if isinstance(part, list):
            return "[" + ",".join(map(nested, part)) + "]"
        return write(part)

    return nested(array.tolist())


def _shortest(value: object) -> str:
    """`1.0` → "1", `0.1` → "0.1"."""
    text = repr(float(value))  # type: ignore[arg-type]
    return text.removesuffix(".0")
