"""What attend() is given, turned into arrays, and refusal of numbers that the precision cannot hold.

Does not: refuse NaN and ∞ in q, k and v. A kernel meets them too, and masked ones must do nothing.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DtypeError, OptionError, OverflowLabError, ShapeError
from .options import Precision
from .precision import FORMATS, Floats, Shape

Bools = NDArray[np.bool_]


def matrix(value: Any, label: str) -> Floats:
    """A float64 copy of an input with rows and columns, and perhaps leading axes; field: `label` in small."""
    array = _array(value, label, "iuf", "real numbers")
    if array.ndim < 2 or array.size == 0:
        problem = "must have rows and columns (2 axes);" if array.ndim < 2 else "is empty:"
        raise ShapeError(f"{label} {problem} its shape is {array.shape}", label.lower())
    return np.array(array, np.float64)


def additive_bias(value: Any, shape: Shape) -> Floats:
    """A float64 copy of a bias for scores of `shape`: finite or −∞."""
    array = _array(value, "bias", "iuf", "numbers to add to the scores, finite or −∞", shape)
    for cell in np.argwhere(np.isnan(array) | np.isposinf(array))[:1].tolist():
        raise DtypeError(f"bias must be finite or −∞; bias{cell} is {array[tuple(cell)]}", "bias")
    return np.array(array, np.float64)


def keep_mask(value: Any, shape: Shape) -> Bools:
    """A copy of a keep mask for scores of `shape`: booleans, or whole numbers 0 and 1."""
    expected = "booleans, True = may attend (numbers to add to the scores are a bias)"
    array = _array(value, "keep", "biu", expected, shape)
    if array.dtype.kind != "b" and not ((array == 0) | (array == 1)).all():
        raise DtypeError(f"keep must hold {expected}; got {array.dtype} other than 0 and 1", "keep")
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


def _array(value: Any, label: str, kinds: str, expected: str, scores: Shape = ()) -> NDArray[Any]:
    """An array of these kinds of numbers; if the shape of the scores is given, one that broadcasts to it."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        raise ShapeError(f"{label} must be rectangular; its rows differ in length", label.lower()) from None
    if array.dtype.kind not in kinds:
        raise DtypeError(f"{label} must hold {expected}; got {array.dtype}", label.lower())
    sizes = zip(array.shape[::-1], scores[::-1], strict=False)
    if scores and not (0 < array.ndim <= len(scores) and all(own in (1, size) for own, size in sizes)):
        shape = f"{scores[-2:]} (queries, keys) or broadcast to the scores {scores}"
        raise ShapeError(f"{label} must have shape {shape}; its shape is {array.shape}", label)
    return array
