"""Entries before they are numbers: their text and place, arranged in rows or a deeper shape.

Turns them into arrays and says which one is at fault. It does not decide how a text is cut into entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from attention_lab.inputs.text.digits import fixed_decimals, resolutions
from attention_lab.inputs.text.literals import (
    BOOLEAN,
    LiteralError,
    Number,
    is_elision,
    is_missing,
    read_number,
)
from attention_lab.inputs.text.parsed import MAX_ENTRIES, Parsed, PasteError, error_at, shorten


class Cell(NamedTuple):
    """One entry: its text and where it starts. scalar: the type a constructor names, as in np.float32(0.25)."""

    text: str
    position: int
    scalar: str = ""


@dataclass
class Layout:
    """Entries in row-major order and their shape, with what is known about the printer.

    factors: a display factor for each entry, such as MATLAB's 1.0e+03 *. fixed: the printer writes one
    number of decimals, which limits a comparison (PyTorch). boolean: 1 and 0 stand for True and False.
    alternative: another shape that the same text allows, with its label.
    """

    cells: list[Cell]
    shape: tuple[int, ...]
    warnings: list[str] = field(default_factory=list)
    factors: list[float] | None = None
    fixed: bool = False
    boolean: bool = False
    alternative: tuple[str, Layout] | None = None


ELIDED_HINT = (
    "entries were left out of this print. Print all of them: np.set_printoptions(threshold=sys.maxsize), "
    "torch.set_printoptions(profile='full'), or .tolist()"
)
# Relative half-spacing of the formats that constructors name.
_HALF_SPACING = {
    "float16": 2.0**-11, "half": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "single": 2.0**-24,
    "f32": 2.0**-24, "float64": 2.0**-53, "double": 2.0**-53, "float": 2.0**-53, "longdouble": 2.0**-53,
}  # fmt: skip


def number_at(text: str, cell: Cell) -> Number:
    """The number a cell stands for, or a PasteError with its place."""
    try:
        number = read_number(cell.text)
    except LiteralError as error:
        raise error_at(text, cell.position, error.code, f"{shorten(cell.text)} {error}.") from None
    if number is not None:
        return number
    if is_elision(cell.text):
        raise error_at(text, cell.position, "ELIDED", f"{ELIDED_HINT}.")
    if is_missing(cell.text):
        what = shorten(cell.text) if cell.text else "nothing"
        raise error_at(text, cell.position, "MISSING_VALUE", f"a number was expected here, {what} came.")
    raise error_at(
        text, cell.position, "NOT_A_NUMBER", f"a number was expected here, {shorten(cell.text)} came."
    )


def is_numeric(cell: Cell) -> bool:
    """True for a number, also one that float64 cannot hold."""
    try:
        return read_number(cell.text) is not None
    except LiteralError:
        return True


def assemble(text: str, layout: Layout) -> Parsed:
    """Read every cell and give the arrays, with the precision that the digits show."""
    if len(layout.cells) > MAX_ENTRIES:
        raise PasteError(too_large(len(layout.cells)), code="TOO_LARGE")
    numbers = [number_at(text, cell) for cell in layout.cells]
    count = len(numbers)
    values = np.fromiter((n.value for n in numbers), np.float64, count)
    kinds = np.array([n.kind for n in numbers], dtype="U1")
    warnings = list(layout.warnings)
    notes = list(dict.fromkeys(n.note for n in numbers if n.note))
    warnings += notes[:4] + ([f"and {len(notes) - 4} more like this"] if len(notes) > 4 else [])

    logical = kinds == BOOLEAN
    if logical.all() or (layout.boolean and bool(np.isin(values, (0.0, 1.0)).all())):
        return Parsed(values.astype(np.bool_).reshape(layout.shape), np.zeros(layout.shape), tuple(warnings))
    if logical.any():
        warnings.append("True and False read as 1 and 0")

    last = np.fromiter((n.last for n in numbers), np.int64, count)
    digits = np.fromiter((n.digits for n in numbers), np.int64, count)
    known = np.fromiter((np.nan if n.half is None else n.half for n in numbers), np.float64, count)
    for index, cell in enumerate(layout.cells):
        if cell.scalar:
            known[index] = abs(values[index]) * _HALF_SPACING.get(cell.scalar, 0.0)
    half = resolutions(values, kinds, last, digits, known, layout.shape)
    if any("%" in cell.text for cell in layout.cells):
        warnings.append("percent signs: divided by 100")
    if layout.fixed:
        warnings += fixed_decimals(kinds, last)
    if layout.factors is not None:
        factors = np.array(layout.factors)
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = values * factors
        beyond = np.flatnonzero(np.isfinite(values) & ~np.isfinite(scaled))
        if beyond.size:
            cell = layout.cells[int(beyond[0])]
            raise error_at(
                text,
                cell.position,
                "LITERAL_OVERFLOW",
                f"{shorten(cell.text)} times its display factor is too large for a 64-bit float.",
            )
        values, half = scaled, half * np.abs(factors)
        shown = ", ".join(f"{f:g}" for f in dict.fromkeys(layout.factors) if f != 1.0)
        warnings.append(f"multiplied by the display factor {shown}")
    parsed = Parsed(values.reshape(layout.shape), half.reshape(layout.shape), tuple(dict.fromkeys(warnings)))
    if layout.alternative is None:
        return parsed
    label, other = layout.alternative
    return replace(
        parsed,
        alternatives=(
            (label, Parsed(values.reshape(other.shape), half.reshape(other.shape), tuple(other.warnings))),
        ),
    )


def too_large(entries: int) -> str:
    return f"at most {MAX_ENTRIES:,} entries can be read; this text has {entries:,}."


def from_rows(text: str, rows: Sequence[Sequence[Cell]], warnings: list[str] | None = None) -> Layout:
    """Rows of equal length, or RAGGED with the first row that differs."""
    width = len(rows[0])
    for number, row in enumerate(rows):
        if len(row) != width:
            for cell in (cell for other in rows for cell in other):
                if is_elision(cell.text):
                    number_at(text, cell)
            place = row[width].position if len(row) > width else row[0].position
            raise error_at(
                text,
                place,
                "RAGGED",
                f"every row needs the same number of entries: row 1 has {width}, row {number + 1} has {len(row)}.",
            )
    return Layout([cell for row in rows for cell in row], (len(rows), width), warnings or [])
