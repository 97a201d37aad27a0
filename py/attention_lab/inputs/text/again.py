"""Reads a text again after an edit: only the lines that changed, the rest from the reading before.

Takes plain numbers between spaces or tabs, one row on each line; returns None for anything else, and then the whole text
is read anew. Both give the same result.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from attention_lab.inputs.text.fast import resolution
from attention_lab.inputs.text.parsed import Parsed

KEPT = 6
"""Readings kept: an edit of each of Q, K, V and their like finds its own."""
MOST_CHARACTERS = 4 * 2**20
_PLAIN = b"0123456789+-.eE \t\n"


@dataclass(frozen=True, eq=False)
class _Reading:
    text: str
    values: NDArray[np.float64]


_readings: list[_Reading] = []


def keep(text: str, parsed: Parsed) -> None:
    """Remember the reading of a text, if an edit of it can be read line by line."""
    values = parsed.values
    if len(text) > MOST_CHARACTERS or values.ndim != 2 or values.dtype != np.float64:
        return
    if parsed.warnings or parsed.alternatives or not _is_plain(text):
        return
    if text.rstrip("\n").count("\n") + 1 != len(values):
        return  # lines without a row
    if any(reading.text == text for reading in _readings):
        return
    _readings.insert(0, _Reading(text, values.astype(np.float64, copy=False)))
    del _readings[KEPT:]


def read_again(text: str) -> Parsed | None:
    """The reading of a text that differs in few lines from one that is kept, or None."""
    if "\t" in text and " " in text:
        return None  # there a space may also group digits
    for reading in _readings:
        values = _changed(reading, text)
        if values is not None:
            return Parsed.later(values, lambda: resolution(text))
    return None


def _changed(reading: _Reading, text: str) -> NDArray[np.float64] | None:
    old = reading.text
    if abs(len(text) - len(old)) > 100 + len(old) // 10:
        return None
    start = old.rfind("\n", 0, _same(old, text, at_end=False)) + 1  # before the first line that differs
    tail = min(_same(old, text, at_end=True), min(len(old), len(text)) - start)
    old_end = old.find("\n", len(old) - tail)
    old_end = len(old) if old_end < 0 else old_end
    end = old_end + len(text) - len(old)
    if end - start > max(200, len(text) // 4):
        return None
    lines = text[start:end].split("\n")
    width = reading.values.shape[1]
    if len(lines) != old.count("\n", start, old_end) + 1:
        return None
    rows = [_row(line, width) for line in lines]
    first = old.count("\n", 0, start)
    if any(row is None for row in rows) or first + len(rows) > len(reading.values):
        return None
    values = reading.values.copy()
    values[first : first + len(rows)] = rows
    return values


def _row(line: str, width: int) -> list[float] | None:
    """The numbers of a line, if each is beyond doubt and exactly what float() makes of it."""
    words = line.split("\t") if "\t" in line else line.split()
    if len(words) != width or not all(words) or not _is_plain(line):
        return None
    try:
        row = [float(word) for word in words]
    except ValueError:
        return None
    return row if all(map(_beyond_doubt, words, row)) else None


def _is_plain(text: str) -> bool:
    return text.isascii() and not text.encode("ascii").translate(None, _PLAIN)


def _beyond_doubt(word: str, value: float) -> bool:
    """False for what a reader would get a note about: underflow, overflow, integers that float64 cannot hold."""
    if len(word) > 15 and ("e" in word.lower() or "." not in word[:-1]):
        return False
    return isfinite(value) and (value != 0 or not word.strip("+-0."))


def _same(one: str, other: str, at_end: bool) -> int:
    """How many characters two texts have in common at their beginning, or at their end."""
    low, high = 0, min(len(one), len(other))
    while low < high:  # slices are compared as memory, so the halving costs next to nothing
        middle = (low + high + 1) // 2
        if at_end:
            same = one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]
        else:
            same = one[low:middle] == other[low:middle]
        low, high = (middle, high) if same else (low, middle - 1)
    return low
