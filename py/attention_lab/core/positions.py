"""Sinusoidal positions (Vaswani et al. 2017, §3.5). Does not: add them to anything."""

import numpy as np
from numpy.typing import NDArray

from .errors import OptionError


def sinusoidal(length: int, d: int, *, start: int = 0, base: float = 10_000.0) -> NDArray[np.float64]:
    """(length, d): column 2i holds sin(p / base^(2i/d)), column 2i + 1 the cosine, p = start, start + 1, …

    sinusoidal(2, 2) → [[0, 1], [sin 1, cos 1]]. An odd d ends with a sine.
    """
    if length < 1 or d < 1 or base <= 0:
        given = f"{length}, {d}, {base}"
        raise OptionError(f"length and d must be 1 or more and base above 0; got {given}", "positions")
    column = np.arange(d)
    angles = np.arange(start, start + length)[:, None] / base ** (2 * (column // 2) / d)
    return np.where(column % 2 == 0, np.sin(angles), np.cos(angles))
