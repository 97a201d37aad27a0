"""Decides what commas and semicolons mean in bracketless text: between entries, decimal, or thousands.

Tries each meaning that the text allows. One that works is taken and said; two that work are both offered.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np

from attention_lab.inputs.text.cells import Cell, assemble, from_rows, is_numeric
from attention_lab.inputs.text.headers import trim
from attention_lab.inputs.text.parsed import EMPTY_MESSAGE, Parsed, PasteError, error_at
from attention_lab.inputs.text.table import (
    Line,
    by_mark,
    by_space,
    drop_labels,
    drop_rules,
    pipe_cells,
    split_lines,
)

DECIMAL, THOUSANDS, SEPARATORS = "decimal_comma", "thousands_separators", "comma_and_space_separators"
BLANK_LINES = "blank lines left out: read as one matrix"
_NOTICE = {DECIMAL: "decimal comma detected", THOUSANDS: "thousands separators removed"}

_TIGHT = re.compile(r"(?<=\d),(?=\d)")
_DECIMAL_CELL = re.compile(r"[+-]?(?:\d{1,3}(?:[._']\d{3})+|[\d_']*),\d+(?:[eE][+-]?\d+)?%?", re.ASCII)
_DOTTED_GROUPS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3}){2,}", re.ASCII)
_THOUSANDS_CELL = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?(?:[eE][+-]?\d+)?%?", re.ASCII)
_SPACED_GROUPS = re.compile(r"[+-]?\d{1,3}(?: \d{3})+(?:[.,]\d*)?", re.ASCII)
_LEADING_ZERO = re.compile(r"(?<=\d),0\d")
_LOOSE_COMMA = re.compile(r", | ,")
_GAP = re.compile(r"[^\s,][ ]+[^\s,]")
_NUMBER_GAP = re.compile(r"[\d.] +[-+.]?\d")
_ONE_PAIR = re.compile(r"\s*[-+]?\d+,\d\d+\s*")
_PAIR = re.compile(r"\s*[-+]?\d+,\d+\s*")
_LONG_PAIR = re.compile(r"\s*[-+]?\d{1,4},\d{3,}\s*")


def read_table(text: str) -> Parsed:
    """Read bracketless text: `read_table("1 0\\n0 1")` → a 2 x 2 matrix. Raises PasteError."""
    parsed = _read_lines(text)
    return (
        replace(parsed, warnings=(*parsed.warnings, BLANK_LINES)) if _has_parts(split_lines(text)) else parsed
    )


def _has_parts(lines: list[Line]) -> bool:
    """True if blank lines separate some lines but not all: perhaps two matrices."""
    gaps = [b[1] - a[1] - len(a[0]) > 1 for a, b in pairwise(lines)]
    return any(gaps) and not all(gaps)


def _read_lines(text: str) -> Parsed:
    lines = drop_labels(drop_rules(split_lines(text)))
    if not lines:
        raise PasteError(EMPTY_MESSAGE, code="EMPTY")
    joined = "\n".join(line for line, _ in lines)
    if "\t" in joined.strip() and any("\t" in line.strip() for line, _ in lines):
        return _marked_cells(text, lines, "\t")
    if "|" in joined:
        return _marked_cells(text, lines, "|")
    if "&" in joined:
        return _marked_cells(text, lines, "&")
    if ";" in joined:
        return _with_semicolons(text, lines)
    if "," in joined:
        return _with_commas(text, lines)
    return _finish(text, [by_space(line) for line in lines], [], marked=False)


def read_cells(text: str, rows: list[list[Cell]], warnings: list[str]) -> Parsed:
    """Rows that another reader cut into cells; commas inside a cell are decimal or group thousands."""
    if _hold_commas(rows):
        parsed = _settle(text, {DECIMAL: rows, THOUSANDS: rows}, marked=True)
        return replace(parsed, warnings=(*warnings, *parsed.warnings))
    return _finish(text, rows, warnings, marked=True)


def _hold_commas(rows: list[list[Cell]]) -> bool:
    """True if a cell that begins like a number has a comma in it; a header's words may have theirs."""
    return any("," in cell.text and not cell.text[0].isalpha() for row in rows for cell in row)


def _finish(text: str, rows: list[list[Cell]], warnings: list[str], *, marked: bool) -> Parsed:
    rows = trim(text, rows, warnings, marked=marked)
    return assemble(text, from_rows(text, rows, warnings))


def _marked_cells(text: str, lines: list[Line], mark: str) -> Parsed:
    """Tabs, pipes or ampersands: a comma inside a cell cannot separate entries."""
    split = pipe_cells if mark == "|" else by_mark(mark)
    rows = [[_without_end_comma(cell) for cell in split(line)] for line in lines]
    gaps = [cell for row in rows for cell in row if _NUMBER_GAP.search(cell.text)]
    if not gaps or mark == "&":
        return read_cells(text, rows, [])
    # Spaces separate too, or they group thousands.
    spaced = [by_space((line.replace("|", " "), start)) for line, start in lines]
    spaced = [[_without_end_comma(cell) for cell in row] for row in spaced]
    if not all(_SPACED_GROUPS.fullmatch(cell.text) for cell in gaps):
        return read_cells(text, spaced, [])
    grouped = [[cell._replace(text=cell.text.replace(" ", "_")) for cell in row] for row in rows]
    return _choose_spaces(text, gaps[0], {THOUSANDS: grouped, "spaces_and_tabs": spaced})


def _choose_spaces(text: str, first: Cell, readings: dict[str, list[list[Cell]]]) -> Parsed:
    """ "1 234" in a cell: one number or two; the reading that works, or both."""
    found: dict[str, Parsed] = {}
    for label, rows in readings.items():
        try:
            found[label] = read_cells(text, rows, [_NOTICE[label]] if label in _NOTICE else [])
        except PasteError:
            continue
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        return read_cells(text, readings["spaces_and_tabs"], [])
    choices = " or ".join(f"{label.replace('_', ' ')} ({_shape(parsed)})" for label, parsed in found.items())
    error = error_at(
        text,
        first.position,
        "AMBIGUOUS_SPACE",
        f"the spaces can be read as {choices}. Choose one, or remove the spaces inside numbers.",
    )
    error.alternatives = tuple(found.items())
    raise error


def _without_end_comma(cell: Cell) -> Cell:
    return (
        cell._replace(text=cell.text[:-1].rstrip())
        if cell.text.endswith(",") and len(cell.text) > 1
        else cell
    )


def _with_semicolons(text: str, lines: list[Line]) -> Parsed:
    """ "1,0;0,1" is rows; but semicolons inside several lines are how a European spreadsheet separates entries."""
    lines = [_without_last(line, ";") for line in lines]
    lines = [line for line in lines if line[0].strip()]
    if not lines:
        raise PasteError(EMPTY_MESSAGE, code="EMPTY")
    inner = [line for line in lines if ";" in line[0]]
    split = by_mark(";")
    pieces: list[Line] = []
    for line in lines:
        position = line[1]
        for piece in line[0].split(";"):
            pieces.append((piece, position))
            position += len(piece) + 1
    if len(lines) == 1 or not inner:
        empty = next((p for p in pieces if not p[0].strip()), None)
        if empty is not None:
            raise error_at(
                text, empty[1], "MISSING_VALUE", "a row was expected between semicolons, nothing came."
            )
        return _rows_of_pieces(text, pieces)
    cells = [split(line) for line in lines]
    words = not any(is_numeric(cell) for cell in cells[0]) and cells[0][0].text[:1].isalpha()
    single = all(not _NUMBER_GAP.search(cell.text) and ", " not in cell.text for row in cells for cell in row)
    if not single and not words:
        return _rows_of_pieces(text, [p for p in pieces if p[0].strip()])
    notice = "semicolons read as separators between entries"
    if not _hold_commas(cells):
        return _finish(text, cells, [notice], marked=True)
    readings = {DECIMAL: cells, THOUSANDS: cells}
    if not words and all(p[0].strip() and '"' not in p[0] for p in pieces):
        readings[SEPARATORS] = [_comma_cells(piece) for piece in pieces]
    return _settle(text, readings, marked=True)


def _rows_of_pieces(text: str, pieces: list[Line]) -> Parsed:
    if any("," in piece for piece, _ in pieces):
        return _with_commas(text, pieces)
    return _finish(text, [by_space(piece) for piece in pieces], [], marked=False)


def _without_last(line: Line, mark: str) -> Line:
    return line[0].rstrip(mark + " \t"), line[1]


def _with_commas(text: str, lines: list[Line]) -> Parsed:
    lines = [(line.rstrip(), start) for line, start in lines]
    tight = any(_TIGHT.search(line) for line, _ in lines)
    loose = any(_LOOSE_COMMA.search(line) for line, _ in lines)
    gaps = any(_GAP.search(line) for line, _ in lines)
    separated = [_comma_cells(line) for line in lines]
    if not tight or any('"' in line for line, _ in lines):
        return read_cells(text, separated, [])
    whole = [_loose_cells(line) for line in lines]
    readings = {SEPARATORS: separated, DECIMAL: whole, THOUSANDS: whole}
    numeric_gaps = gaps and any(_NUMBER_GAP.search(line) for line, _ in lines)
    # "a" above pairs: one column with decimal commas, or a title above two columns.
    single_header = len(lines) > 1 and "," not in lines[0][0] and _pairs(lines[1:], _PAIR)
    several = "\n" in text.strip()  # the one-line form of the URL fragment is never in doubt
    long_pairs = several and (single_header or _pairs(lines, _LONG_PAIR))
    if numeric_gaps or loose or long_pairs or any(_LEADING_ZERO.search(line) for line, _ in lines):
        return _settle(text, readings, marked=True)
    try:  # commas only: an ordinary CSV
        parsed = _finish(text, separated, [], marked=True)
    except PasteError as error:
        if error.code not in ("RAGGED", "NOT_A_NUMBER"):
            raise
        try:
            return _settle(text, {DECIMAL: whole, THOUSANDS: whole}, marked=True)
        except PasteError as other:
            if other.code == "AMBIGUOUS_COMMA":
                raise
            raise error from None
    if several and _pairs(lines, _ONE_PAIR):
        parsed = replace(parsed, alternatives=tuple(_try(text, {DECIMAL: whole}, marked=True).items()))
    return parsed


def _pairs(lines: list[Line], pattern: re.Pattern[str]) -> bool:
    """True if every line without a letter is one comma between two whole numbers."""
    numbers = [line for line, _ in lines if not any(c.isalpha() for c in line)]
    return all(pattern.fullmatch(line) for line in numbers)


def _comma_cells(line: Line) -> list[Cell]:
    """Cells between commas; spaces between two numbers separate too. A comma at the line's end is none."""
    cells: list[Cell] = []
    for cell in by_mark(",")(line):
        if _NUMBER_GAP.search(cell.text):
            cells += [Cell(c.text, c.position) for c in by_space((cell.text, cell.position))]
        else:
            cells.append(cell)
    return cells


def _loose_cells(line: Line) -> list[Cell]:
    """Cells between spaces, with commas at their ends removed: "1,5, 2" → "1,5" and "2"."""
    cells: list[Cell] = []
    for cell in by_space(line):
        bare = cell.text.strip(",")
        if bare:
            cells.append(Cell(bare, cell.position + cell.text.index(bare)))
    return cells or [Cell("", line[1])]


def _as_point(cell: Cell) -> Cell | None:
    """ "1.250,5" → "1250.5"; a cell with a decimal point is not written this way."""
    if "," in cell.text:
        if not _DECIMAL_CELL.fullmatch(cell.text):
            return None if is_numeric(cell._replace(text=cell.text.replace(",", ""))) else cell
        return cell._replace(text=cell.text.replace(".", "").replace(",", "."))
    if "." in cell.text and is_numeric(cell):
        return None
    if _DOTTED_GROUPS.fullmatch(cell.text):
        return cell._replace(text=cell.text.replace(".", ""))
    return cell


def _without_groups(cell: Cell) -> Cell | None:
    """ "1,250.5" → "1250.5"."""
    if "," not in cell.text:
        return cell
    if not _THOUSANDS_CELL.fullmatch(cell.text):
        return None if is_numeric(cell._replace(text=cell.text.replace(",", ""))) else cell
    return cell._replace(text=cell.text.replace(",", ""))


def _try(text: str, readings: dict[str, list[list[Cell]]], *, marked: bool) -> dict[str, Parsed]:
    """The readings that give a matrix, each with its warning."""
    found: dict[str, Parsed] = {}
    for label, rows in readings.items():
        convert = {DECIMAL: _as_point, THOUSANDS: _without_groups}.get(label)
        warnings = [_NOTICE[label]] if label in _NOTICE else []
        converted: list[list[Cell]] = []
        dotted = False
        for row in rows:
            new = [convert(cell) if convert else cell for cell in row]
            if any(cell is None for cell in new):
                break
            dotted = dotted or (label == DECIMAL and any("." in cell.text for cell in row))
            converted.append([cell for cell in new if cell is not None])
        else:
            if dotted:
                warnings.append(_NOTICE[THOUSANDS])
            try:
                found[label] = _finish(text, converted, warnings, marked=marked)
            except PasteError:
                continue
    return found


def _settle(text: str, readings: dict[str, list[list[Cell]]], *, marked: bool) -> Parsed:
    """Take the one reading that works, or raise AMBIGUOUS_COMMA with all that do."""
    found = _try(text, readings, marked=marked)
    distinct: dict[str, Parsed] = {}
    for label, parsed in found.items():
        if not any(
            np.array_equal(parsed.values, other.values, equal_nan=True) for other in distinct.values()
        ):
            distinct[label] = parsed
    if len(distinct) == 1:
        return next(iter(distinct.values()))
    if not distinct:
        # No reading works: the plainest one says what is wrong.
        label = SEPARATORS if SEPARATORS in readings else DECIMAL
        return _finish(text, readings[label], [], marked=marked)
    place = _TIGHT.search(text)
    where = place.start() if place else 0
    names = {
        DECIMAL: "decimal commas",
        THOUSANDS: "thousands separators",
        SEPARATORS: "commas between entries",
    }
    choices = " or ".join(f"{names[k]} ({_shape(v)})" for k, v in distinct.items())
    error = error_at(
        text,
        where,
        "AMBIGUOUS_COMMA",
        f"the commas can be read as {choices}. Choose one, or write decimals with a point.",
    )
    error.alternatives = tuple(distinct.items())
    raise error


def _shape(parsed: Parsed) -> str:
    return "×".join(map(str, parsed.values.shape))
