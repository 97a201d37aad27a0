"""What printed digits say about precision: the half-width of what each entry could have meant.

Works on whole arrays of what literals.py found. It reads no text.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attention_lab.inputs.text.literals import DECIMAL, INTEGER, PADDED, POWER, POWER_PADDED

# Significant digits that the shortest unambiguous print of float16 and float32 can need, and the relative
# half-spacing of the format.
_FORMATS = ((5, 2.0**-11), (9, 2.0**-24))
_ROUND_TRIP_DIGITS = 16

_MAX_PAGES = 4096
_OTHER = 10**6  # a style that no number of decimals has
POINTED = (DECIMAL, PADDED, POWER, POWER_PADDED)

Floats = NDArray[np.float64]


def resolutions(
    values: Floats,
    kinds: NDArray[np.str_],
    last: NDArray[np.int64],
    digits: NDArray[np.int64],
    known: Floats,
    shape: tuple[int, ...],
) -> Floats:
    """Half-width of what each printed entry could have meant; all arrays flat, in the order of `shape`.

    An entry alone means half a unit of its last digit: "0.25" → 0.005, "0.2500" → 5e-5. Printers that drop
    trailing zeros (NumPy, %g, repr) say more: "12." beside "-7.125" was printed with three decimals.
    There the precision common to the print counts: the looser of its most decimals, its most significant
    digits and the format that needs that many, and never looser than the entry alone. Integers among integers
    are exact. Printers that set the decimals page by page (Octave) or column by column (R) are recognised.
    known: a half-width from the notation itself, NaN where there is none.
    """
    result = _common(values, kinds, last, digits, shape[-1])
    pages = len(values) // (shape[-1] * shape[-2])
    if 1 < pages <= _MAX_PAGES:
        for page in np.split(np.arange(len(values)), pages):
            if np.isin(kinds[page], POINTED).any():
                result[page] = _common(values[page], kinds[page], last[page], digits[page], shape[-1])
    result = np.where(np.isnan(known), result, known)
    result[~np.isfinite(values)] = 0.0
    return result


def _common(
    values: Floats, kinds: NDArray[np.str_], last: NDArray[np.int64], digits: NDArray[np.int64], width: int
) -> Floats:
    """The half-widths in one print."""
    fixed = (kinds == DECIMAL) | (kinds == PADDED)
    power = (kinds == POWER) | (kinds == POWER_PADDED)
    whole = kinds == INTEGER
    printed = fixed | power | whole
    if not (fixed.any() or power.any()):
        return np.zeros(values.shape)
    most = int(digits[printed].max())
    # Decimals are common to entries without an exponent only: those of 3e-05 say nothing about 0.0005.
    decimals = _half_unit(last[fixed].min(keepdims=True)) if fixed.any() else np.zeros(1)
    magnitude = np.abs(values)
    common = np.maximum(_from_digits(magnitude, most), decimals)
    if power.any():
        # So do its digits, unless this is a repr with one or two such entries.
        own_most = int(digits[power].max())
        if most >= _ROUND_TRIP_DIGITS and power.sum() <= 2:
            own_most = most
        common = np.where(power, _from_digits(magnitude, own_most), common)
    columns = _by_column(
        np.where(fixed, last, np.where(power, _OTHER, np.where(whole, 2 * _OTHER, 0))), width
    )
    trimmed = whole
    if not columns:
        keeps = (kinds == PADDED).any(), (kinds == POWER_PADDED).any()
        trimmed = whole | (fixed & (not keeps[0])) | (power & (not keeps[1]))
    own = _half_unit(last)
    return np.where(printed, np.where(trimmed, np.minimum(own, common), own), 0.0)


def _by_column(style: NDArray[np.int64], width: int) -> bool:
    """True if every column keeps to one number of decimals or one notation: no printer dropped zeros."""
    columns = style.reshape(-1, width)
    return len(columns) > 1 and bool((columns == columns[0]).all())


def _from_digits(magnitude: Floats, most: int) -> Floats:
    """Half-width of entries printed with at most `most` significant digits, trailing zeros dropped."""
    usable = (magnitude > 0) & np.isfinite(magnitude)
    logarithm = np.log10(magnitude, where=usable, out=np.full(magnitude.shape, -400.0))
    half = _half_unit(np.floor(logarithm).astype(np.int64) - most + 1)
    relative = next((spacing for needed, spacing in _FORMATS if most <= needed), 2.0**-53)
    return np.maximum(half, magnitude * relative)


def _half_unit(power: NDArray[np.int64]) -> Floats:
    return np.asarray(0.5 * np.power(10.0, np.clip(power, -330, 307).astype(np.float64)))


def fixed_decimals(kinds: NDArray[np.str_], last: NDArray[np.int64]) -> list[str]:
    """The warning for a print with one number of decimals: "4 decimals printed: compare with +-5e-5"."""
    pointed = last[(kinds == DECIMAL) | (kinds == PADDED)]
    if not pointed.size or not 0 < -int(pointed.min()) <= 12 or pointed.min() != pointed.max():
        return []
    decimals = -int(pointed.min())
    return [f"{decimals} decimals printed: compare with +-5e-{decimals + 1}"]
