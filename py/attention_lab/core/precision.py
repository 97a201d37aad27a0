"""Rounding to float16, bfloat16 and float32, to nearest even, and distances in units in the last place.

Does not: compute in these formats. Fused kernels keep scores and sums in float32, and so does attend().
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .options import Precision

Floats = NDArray[np.floating[Any]]
Shape = tuple[int, ...]


class Format(NamedTuple):
    """A binary format: bits of the significand with the hidden one, least normal exponent, largest number."""

    bits: int
    least: int
    largest: float
    work: type[np.floating[Any]]  # what scores, maxima, exponentials and sums are kept in


FORMATS: dict[Precision, Format] = {
    "float64": Format(53, -1022, float(np.finfo(np.float64).max), np.float64),
    "float32": Format(24, -126, float(np.finfo(np.float32).max), np.float32),
    "float16": Format(11, -14, 65504.0, np.float32),
    "bfloat16": Format(8, -126, (2 - 2.0**-7) * 2.0**127, np.float32),
}


def round_to(values: Floats, precision: Precision) -> Floats:
    """`values` rounded to nearest even, kept in the format's working type; beyond the largest number, ±∞.

    round_to([1.00390625], "bfloat16") → [1.0], the even one of its two neighbours 1 and 1.0078125.
    """
    form = FORMATS[precision]
    with np.errstate(all="ignore"):
        if precision == "bfloat16":
            step = _step(values, form)  # of the given type: by way of float32 some would be rounded twice
            return np.asarray(np.ldexp(np.rint(np.ldexp(values, -step)), step), form.work)
        return values.astype(precision, copy=False).astype(form.work, copy=False)


def ulps(values: Floats, exact: Floats, precision: Precision) -> float:
    """The largest |values − exact| in units in the last place of `exact`; 0 where both are equal or NaN."""
    with np.errstate(all="ignore"):
        same = (values == exact) | (np.isnan(values) & np.isnan(exact))
        difference = np.where(same, 0.0, np.abs(np.subtract(values, exact, dtype=np.float64)))
        return float(np.ldexp(difference, -_step(exact, FORMATS[precision])).max(initial=0.0))


def _step(values: Floats, form: Format) -> NDArray[np.int32]:
    """The exponent of the last place of each value: 2**step is the distance between neighbours there."""
    exponent = np.where(values == 0, form.least, np.frexp(values)[1] - 1)
    return np.asarray(np.maximum(exponent, form.least) - (form.bits - 1), np.int32)
