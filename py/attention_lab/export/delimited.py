"""Comma- and tab-separated text: one array with its labels, or everything as one long table.

Every number is the shortest text that reads back as the same float. −∞ and NaN are written "-inf" and "nan",
which NumPy, pandas and spreadsheets' importers know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.export.material import Material, refuse_too_many

FORMULA_SIGNS = "=+-@\t\r"


def one_table(
    values: NDArray[Any], corner: str, rows: Sequence[str], columns: Sequence[str], sign: str
) -> str:
    """values (n, m) with a header row and a first column of labels; sign "," or "\\t". RFC 4180, lines end in CRLF.

    one_table([[1.0]], "query", ["Q1"], ["K1"], ",") → 'query,K1\\r\\nQ1,1.0\\r\\n'
    """
    lines = [[_field(corner, sign), *(_field(name, sign) for name in columns)]]
    for label, line in zip(rows, np.asarray(values).tolist(), strict=True):
        lines.append([_field(label, sign), *map(_number, line)])
    return _text(lines, sign)


def long_table(material: Material, sign: str) -> str:
    """Every input and stage of the slice on show: columns array, row, column, value; indices count from 0."""
    arrays = material.tables
    refuse_too_many(arrays)
    lines = [["array", "row", "column", "value"]]
    for name, array in arrays.items():
        for i, line in enumerate(array.tolist()):
            lines += [[name, str(i), str(j), _number(x)] for j, x in enumerate(line)]
    return _text(lines, sign)


def _text(lines: Sequence[Sequence[str]], sign: str) -> str:
    return "".join(sign.join(line) + "\r\n" for line in lines)


def _number(x: float | bool) -> str:
    return str(int(x)) if isinstance(x, bool) else repr(float(x))


def _field(text: str, sign: str) -> str:
    """A label that stays one field, and that no spreadsheet takes for a formula."""
    if text[:1] and text[0] in FORMULA_SIGNS:
        text = "'" + text
    if sign in text or any(mark in text for mark in '"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text
