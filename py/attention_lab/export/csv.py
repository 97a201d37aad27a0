"""Weights as CSV: the numbers of the screen at full precision.

One header row of keys, one line per query, and the row sum. Does not round, and does not choose a file name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def weights_csv(weights: NDArray[np.floating[Any]], rows: Sequence[str], columns: Sequence[str]) -> str:
    """weights (n, m) with row and column labels, as RFC 4180 text (comma, CRLF, quotes doubled).

    Every number is the shortest text that reads back as the same float: weights_csv([[1.0]], ["0 a"], ["0 a"])
    -> 'query,0 a,sum\\r\\n0 a,1.0,1.0\\r\\n'
    """
    lines = [["query", *map(_field, columns), "sum"]]
    for label, line, total in zip(rows, weights.tolist(), weights.sum(axis=-1).tolist(), strict=True):
        lines.append([_field(label), *map(repr, line), repr(total)])
    return "".join(",".join(line) + "\r\n" for line in lines)


def _field(text: str) -> str:
    if any(sign in text for sign in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text
