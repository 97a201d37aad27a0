"""Comparing numbers: tolerances from digits or precision, errors in three units, and the worst cell.

Does not: know what attention is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError

from .setting import Array

# A tie printed either way must not count as a difference.
HALF = 0.5 * (1 + 1e-6)


def half_widths(observed: Array, digits: int | None, resolution: Any) -> Array:
    """How far each observed number may be from what it stands for: 0 at full precision."""
    if resolution is not None:
        widths = np.asarray(resolution, np.float64)
        try:
            return np.broadcast_to(widths, observed.shape) * (1 + 1e-6)
        except ValueError:
            raise LabError(
                f"resolution must fit the observed numbers {observed.shape}; got {widths.shape}", "observed"
            ) from None
    if digits is None:
        return np.zeros(observed.shape)
    if isinstance(digits, bool) or not isinstance(digits, (int, np.integer)) or digits < 0:
        raise LabError(
            f"digits must be a whole number of decimals, 0 or more, or None; got {digits!r}", "digits"
        )
    return np.full(observed.shape, HALF * 10.0 ** -int(digits))


def worst(predicted: Array, observed: Array, tolerance: Array) -> Array:
    """The largest |difference|/tolerance over the cells (last axis); ∞ where NaN or ∞ do not agree."""
    with np.errstate(all="ignore"):
        ratio = np.abs(predicted - observed) / tolerance
        if not np.isfinite(observed).all():
            agree = (predicted == observed) | (np.isnan(predicted) & np.isnan(observed))
            ratio = np.where(agree, 0.0, ratio)
        result = ratio.max(-1)
    return np.asarray(np.where(np.isnan(result), np.inf, result))


def middle(values: Array) -> float:
    """The median, or the larger of two middle values (np.median would import numpy.ma: half a second in a browser)."""
    return float(np.sort(values, None)[values.size // 2])


def differs(predicted: Array, observed: Array, tolerance: Array) -> NDArray[np.bool_]:
    """Cell by cell, True where they differ by more than the tolerance."""
    with np.errstate(all="ignore"):
        close = (
            (np.abs(predicted - observed) <= tolerance)
            | (predicted == observed)
            | (np.isnan(predicted) & np.isnan(observed))
        )
    return np.asarray(~close)


def absolute(predicted: Array, observed: Array) -> Array:
    """|observed − predicted|; 0 where both are the same infinity or NaN, ∞ where only one is finite."""
    with np.errstate(all="ignore"):
        error = np.abs(observed - predicted)
        error = np.where((predicted == observed) | (np.isnan(predicted) & np.isnan(observed)), 0.0, error)
    return np.asarray(np.where(np.isnan(error), np.inf, error))


def relative(predicted: Array, observed: Array) -> Array:
    """The absolute error over |predicted|; ∞ where that is 0 and the error is not."""
    error = absolute(predicted, observed)
    with np.errstate(all="ignore"):
        return np.asarray(np.where(error == 0, 0.0, error / np.abs(predicted)))


def in_ulps(predicted: Array, observed: Array, bits: int = 24, least: int = -126) -> Array:
    """The absolute error in units in the last place of `predicted` (float32 unless told otherwise)."""
    exponent = np.maximum(np.frexp(np.where(np.isfinite(predicted), predicted, 1.0))[1] - 1, least)
    with np.errstate(all="ignore"):
        return np.asarray(np.ldexp(absolute(predicted, observed), (bits - 1) - exponent))
