"""What attend() is given, turned into arrays, and refusal of numbers that the precision cannot hold.

Does not: refuse NaN and ∞ in q, k and v. A kernel meets them too, and masked ones must do nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DtypeError, OptionError, OverflowLabError, ShapeError
from .options import Precision
from .precision import FORMATS, Floats

Bools = NDArray[np.bool_]


def matrix(value: Any, label: str, field: str) -> Floats:
    """A float64 copy of an input with rows and columns, and perhaps leading axes."""
    array = _array(value, label, field, "iuf", "real numbers")
    if array.ndim < 2:
        raise ShapeError(f"{label} must have rows and columns (2 axes); its shape is {array.shape}", field)
    if array.size == 0:
        raise ShapeError(f"{label} is empty: its shape is {array.shape}", field)
    return np.array(array, np.float64)


def additive_bias(value: Any, shape: tuple[int, ...]) -> Floats:
    """A float64 copy of a bias for scores of `shape`: finite or −∞."""
    array = _array(value, "bias", "bias", "iuf", "numbers to add to the scores, finite or −∞")
    _check_broadcast(array, shape, "bias")
    for cell in np.argwhere(np.isnan(array) | np.isposinf(array))[:1].tolist():
        raise DtypeError(f"bias must be finite or −∞; bias{cell} is {array[tuple(cell)]}", "bias")
    return np.array(array, np.float64)


def keep_mask(value: Any, shape: tuple[int, ...]) -> Bools:
    """A copy of a keep mask for scores of `shape`: booleans, or whole numbers 0 and 1."""
    expected = "booleans, True = may attend (numbers to add to the scores are a bias)"
    array = _array(value, "keep", "keep", "biu", expected)
    if array.dtype.kind != "b" and not ((array == 0) | (array == 1)).all():
        raise DtypeError(f"keep must hold {expected}; got {array.dtype} other than 0 and 1", "keep")
    _check_broadcast(array, shape, "keep")
    return np.array(array, bool)


def constant(value: float, work: type[np.floating[Any]], field: str) -> Any:
    """A setting in the working type, which must not turn it into 0 or ∞."""
    number = work(value)
    if not np.isfinite(number) or (number == 0 and value != 0):
        raise OptionError(f"{field} = {value!r} does not fit {work.__name__}, the type of the scores", field)
    return number


def refuse(bad: Any, name: str, field: str, precision: Precision) -> None:
    """Raise OverflowLabError for the first cell where `bad` holds."""
    for cell in np.argwhere(bad)[:1].tolist():
        largest = f"whose largest number is {FORMATS[precision].largest:.4g} (indices count from 0)"
        raise OverflowLabError(f"{name}{cell} is beyond {precision}, {largest}", field, tuple(cell))


def finite(array: Floats) -> Bools:
    """np.isfinite, typed as an array."""
    return np.asarray(np.isfinite(array))


def _array(value: Any, label: str, field: str, kinds: str, expected: str) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        raise ShapeError(f"{label} must be rectangular; its rows differ in length", field) from None
    if array.dtype.kind not in kinds:
        raise DtypeError(f"{label} must hold {expected}; got {array.dtype}", field)
    return array


def _check_broadcast(array: NDArray[Any], shape: tuple[int, ...], field: str) -> None:
    try:
        fits = array.ndim > 0 and np.broadcast_shapes(array.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        expected = f"{shape[-2:]} (queries, keys) or broadcast to the scores {shape}"
        raise ShapeError(f"{field} must have shape {expected}; its shape is {array.shape}", field)
