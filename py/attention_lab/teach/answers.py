"""Whether a number that a student typed is the number of the Trace, as far as its digits go.

Judges text against one exact value; knows no page.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from attention_lab.core import LabError

FEWEST_DECIMALS = 2


class Verdict(NamedTuple):
    """`code`: right, wrong, coarse, unreadable or empty; `text` says so to the student."""

    code: str
    text: str


RIGHT = Verdict("right", "✓")
WRONG = Verdict("wrong", "✗ not this number")
EMPTY = Verdict("empty", "")
COARSE = Verdict("coarse", f"✓ so far: give {FEWEST_DECIMALS} decimals")
UNREADABLE = Verdict("unreadable", "✗ not a number")


def judge(text: str, exact: float) -> Verdict:
    """Right when `text` is `exact` rounded to its own digits, one unit in the last of them allowed: a student who
    rounded on the way is not wrong. Fewer than two decimals are right only if exact.

    judge("0.67", 0.6698) → right; judge("0.7", 0.6698) → coarse; judge("2/3", 2 / 3) → right
    """
    from attention_lab.inputs.paste import parse_matrix

    if not text.strip():
        return EMPTY
    try:
        parsed = parse_matrix(text.strip().replace(",", ".") if text.count(",") == 1 else text)
    except LabError:
        return UNREADABLE
    if parsed.values.size != 1:
        return UNREADABLE
    typed, half = float(parsed.values.flat[0]), float(parsed.resolution.flat[0])
    if typed == exact or (math.isnan(typed) and math.isnan(exact)):
        return RIGHT
    if not math.isfinite(typed) or not math.isfinite(exact):
        return WRONG
    difference = abs(typed - exact)
    if difference <= 1e-9 * max(1.0, abs(exact)):
        return RIGHT
    if difference > 2 * half + 1e-9:
        return WRONG
    return RIGHT if half <= 0.5 * 10.0**-FEWEST_DECIMALS + 1e-12 else COARSE
