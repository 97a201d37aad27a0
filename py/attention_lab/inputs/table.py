"""Cuts bracketless text into rows and cells: spaces, tabs, commas, semicolons, pipes.

Finds header rows, index columns and row labels and leaves them out. Commas that could mean two things are
settled in commas.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from attention_lab.inputs.cells import ELIDED_HINT, Cell, is_numeric, number_at
from attention_lab.inputs.literals import is_elision, is_missing
from attention_lab.inputs.parsed import PasteError, error_at, shorten

Line = tuple[str, int]  # a line's text and the position of its first character
Splitter = Callable[[Line], list[Cell]]

_RULE = re.compile(r"[\s|+=:.-]*(?:--|==|\+-|-\+|:-|-:)[\s|+=:.-]*")
_LABEL = re.compile(r"[ \t]*[A-Za-z_][\w.]{0,40}[ \t]{0,8}(?::=|<-|=|:)(?=[ \t]*[-+.\d])")
_NOT_SPACE = re.compile(r"\S+")
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')


def split_lines(text: str) -> list[Line]:
    """Non-blank lines with their positions."""
    lines: list[Line] = []
    position = 0
    for line in text.split("\n"):
        if line.strip():
            lines.append((line, position))
        position += len(line) + 1
    return lines


def by_space(line: Line) -> list[Cell]:
    """`("1 2", 0)` → two cells."""
    text, start = line
    return [Cell(m[0], start + m.start()) for m in _NOT_SPACE.finditer(text)]


def by_mark(mark: str) -> Splitter:
    """Split at a one-character separator outside double quotes; cells are stripped, and may be empty."""

    def split(line: Line) -> list[Cell]:
        text, start = line
        if '"' in text:  # hide separators inside quotes
            hidden = _QUOTED.sub(lambda m: m[0].replace(mark, "\0"), text)
        else:
            hidden = text
        cells: list[Cell] = []
        position = 0
        for piece in hidden.split(mark):
            bare = piece.strip()
            offset = position + (len(piece) - len(piece.lstrip()) if bare else 0)
            cells.append(Cell(_unquote(bare.replace("\0", mark)), start + offset))
            position += len(piece) + 1
        return cells

    return split


def _unquote(text: str) -> str:
    if not text or text[0] not in "\"'`*$":
        return text
    for quote in ('"', "'", "`", "**", "$"):
        if len(text) >= 2 * len(quote) and text.startswith(quote) and text.endswith(quote):
            text = text[len(quote) : len(text) - len(quote)].strip()
    return text


def drop_rules(lines: list[Line]) -> list[Line]:
    """Without lines that only draw: |---|---|, +----+, =====."""
    return [line for line in lines if not _RULE.fullmatch(line[0]) or _only_missing(line[0])]


def _only_missing(text: str) -> bool:
    """A row of "--" marks is data that is missing, not a rule."""
    parts = text.split()
    return len(parts) > 1 and all(part in ("--", "-") for part in parts)


def drop_labels(lines: list[Line]) -> list[Line]:
    """Blank out "Q =" and "row 1:" before numbers: `Q = 1 0` → `    1 0`."""
    return [(_LABEL.sub(lambda m: " " * len(m[0]), text, count=1), start) for text, start in lines]


def pipe_cells(line: Line) -> list[Cell]:
    """`| 1 | 2 |` → two cells; the outer pipes are borders."""
    cells = by_mark("|")(line)
    stripped = line[0].strip()
    if stripped.startswith("|"):
        cells = cells[1:]
    if stripped.endswith("|") and len(stripped) > 1:
        cells = cells[:-1]
    return cells


def trim(text: str, rows: list[list[Cell]], warnings: list[str], *, marked: bool) -> list[list[Cell]]:
    """Leave out header rows, an index column, row labels, empty outer columns and a footer.

    marked: the cells were separated by a visible mark or a tab, so an empty cell is an entry.
    """
    rows = [row for row in rows if row]
    numeric = [any(is_numeric(cell) for cell in row) for row in rows]
    if not any(numeric):
        _refuse_words(text, rows)
    first = numeric.index(True)
    end = len(numeric) - numeric[::-1].index(True)
    for row in rows[:first] + rows[end:]:
        _refuse_gaps(text, row)
        if not any(_is_label(cell) for cell in row):
            number_at(text, next(cell for cell in row if cell.text))
    header = rows[first - 1] if first else None
    footer = end < len(rows)
    rows = rows[first:end]
    if marked:
        rows, header = _drop_empty_columns(rows, header)
    index = False
    if header is not None:
        width = len(rows[0])
        named = header[0].text.lower() if header else ""
        index = len(header) == width - 1 or (
            len(header) == width and (named == "" or (_is_index_name(named) and _counts(column(rows, 0))))
        )
        warnings.append("header row left out")
    elif _header_of_integers(rows, marked):
        warnings.append("header row left out")
        if len(rows[0]) == len(rows[1]):
            index = True
        else:
            index = len(rows[0]) == len(rows[1]) - 1
        rows = rows[1:]
    if footer:
        warnings.append("text after the numbers left out")
    if index and len(rows[0]) > 1:
        warnings.append("index column left out")
        rows = [row[1:] for row in rows]
    elif len(rows) > 1 and len(rows[0]) > 1 and all(_is_label(row[0]) for row in rows):
        warnings.append("row labels left out")
        rows = [row[1:] for row in rows]
    return [row for row in rows if row] or rows


def column(rows: list[list[Cell]], index: int) -> list[str]:
    return [row[index].text if len(row) > index else "" for row in rows]


def _counts(texts: list[str]) -> bool:
    """True for 0, 1, 2 … or 1, 2, 3 …"""
    return texts == [str(i) for i in range(len(texts))] or texts == [str(i + 1) for i in range(len(texts))]


def _consecutive(texts: list[str]) -> bool:
    """True for whole numbers in steps of one, from any start."""
    if not all(text.isdecimal() and len(text) < 10 for text in texts):
        return False
    return [int(text) - int(texts[0]) for text in texts] == list(range(len(texts)))


def _is_index_name(name: str) -> bool:
    return name in ("index", "idx", "id", "#", "row", "i") or name.startswith("unnamed")


def _is_word(cell: Cell) -> bool:
    return bool(cell.text) and not is_numeric(cell) and not is_missing(cell.text) and not is_elision(cell.text)


def _is_label(cell: Cell) -> bool:
    """A word that cannot be a misspelt number: it begins with a letter."""
    return _is_word(cell) and (cell.text[0].isalpha() or cell.text[0] in "_<▁Ġ#")


def _header_of_integers(rows: list[list[Cell]], marked: bool) -> bool:
    """A first row 0, 1, 2 … one shorter than the rest (or with an empty corner): column numbers."""
    if len(rows) < 2:
        return False
    head, width = rows[0], len(rows[1])
    if any(len(row) != width for row in rows[1:]) or width < 2:
        return False
    if len(head) == width - 1:
        return _consecutive([cell.text for cell in head])
    if len(head) == width and (head[0].text == "" or _is_word(head[0])) and _counts([c.text for c in head[1:]]):
        return head[0].text == "" or all(_is_word(row[0]) or _is_index_name(head[0].text.lower()) for row in rows[1:])
    return False


def _drop_empty_columns(
    rows: list[list[Cell]], header: list[Cell] | None
) -> tuple[list[list[Cell]], list[Cell] | None]:
    """Without outer columns that are empty in every row: tabs used as indentation or at line ends."""
    while len(rows[0]) > 1 and all(len(row) > 1 and row[-1].text == "" for row in rows):
        if header is not None and len(header) == len(rows[0]):
            if header[-1].text:
                break
            header = header[:-1]
        rows = [row[:-1] for row in rows]
    while len(rows[0]) > 1 and all(len(row) > 1 and row[0].text == "" for row in rows):
        if header is not None and len(header) == len(rows[0]):
            if header[0].text:
                break
            header = header[1:]
        rows = [row[1:] for row in rows]
    # A separator after the last entry of some rows only is an ending, unless the row needs it.
    width = max(len(row) - (row[-1].text == "") for row in rows)
    rows = [row[:-1] if row[-1].text == "" and len(row) == width + 1 else row for row in rows]
    return rows, header


def _refuse_gaps(text: str, row: list[Cell]) -> None:
    """Rows without a number may be words; but not marks for entries that are absent."""
    for cell in row:
        if is_elision(cell.text):
            raise error_at(text, cell.position, "ELIDED", f"{ELIDED_HINT}.")
    if row and all(is_missing(cell.text) for cell in row):
        what = shorten(row[0].text) if row[0].text else "nothing"
        raise error_at(text, row[0].position, "MISSING_VALUE", f"a number was expected here, {what} came.")


def _refuse_words(text: str, rows: list[list[Cell]]) -> None:
    for row in rows:
        _refuse_gaps(text, row)
    if not rows:
        raise PasteError(EMPTY_MESSAGE, code="EMPTY")
    cell = rows[0][0]
    what = shorten(text[cell.position : cell.position + 60].split("\n")[0])
    raise error_at(text, cell.position, "NOT_A_MATRIX", f"numbers in rows were expected, {what} came.")


EMPTY_MESSAGE = "numbers in rows were expected, an empty text came. Example: “1 0” on one line, “0 1” on the next."
