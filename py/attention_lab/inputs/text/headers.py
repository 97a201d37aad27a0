"""Leaves out what surrounds the numbers of a table: header rows, index columns, row labels, footers.

Each is left out only on evidence, and said. A row of numbers is never dropped for its values alone.
"""

from __future__ import annotations

from attention_lab.inputs.text.cells import ELIDED_HINT, Cell, is_numeric, number_at
from attention_lab.inputs.text.literals import is_elision, is_missing
from attention_lab.inputs.text.parsed import EMPTY_MESSAGE, PasteError, error_at, shorten


def trim(text: str, rows: list[list[Cell]], warnings: list[str], *, marked: bool) -> list[list[Cell]]:
    """Leave out header rows, an index column, row labels, empty outer columns and a footer.

    marked: the cells were separated by a visible mark or a tab, so an empty cell is an entry.
    """
    rows = _without_blank_ends([row for row in rows if row])
    numeric = [any(is_numeric(cell) for cell in row) for row in rows]
    if not any(numeric):
        _refuse_words(text, rows)
    first = numeric.index(True)
    end = len(numeric) - numeric[::-1].index(True)
    for number, row in enumerate(rows):
        if not first <= number < end:
            _refuse_gaps(text, row, every=number < first)
            if not any(is_label(cell) for cell in row):
                number_at(text, next(cell for cell in row if cell.text))
    header = rows[first - 1] if first else None
    footer = end < len(rows)
    rows = rows[first:end]
    if marked:
        first_cells = rows[0]
        rows, header = _drop_empty_columns(rows, header)
        if text[
            first_cells[0].position : rows[0][0].position
        ].strip():  # a mark, not the tab of an indentation
            warnings.append("empty first column left out")
    if header is None and _is_numbered(text, rows):
        header, rows = rows[0], rows[1:]
    if header is not None:
        warnings.append("header row left out")
    if footer:
        warnings.append("text after the numbers left out")
    if header is not None and len(rows[0]) > 1 and _has_index(text, header, rows, marked):
        warnings.append("index column left out")
        rows = [row[1:] for row in rows]
    elif len(rows) > 1 and len(rows[0]) > 1 and all(is_label(row[0]) for row in rows):
        warnings.append("row labels left out")
        rows = [row[1:] for row in rows]
    return [row for row in rows if row] or rows


def _without_blank_ends(rows: list[list[Cell]]) -> list[list[Cell]]:
    """Without rows of empty cells before and after: Markdown's empty header, a spreadsheet's empty rows."""
    filled = [number for number, row in enumerate(rows) if any(cell.text for cell in row)]
    return rows[filled[0] : filled[-1] + 1] if filled else []


def _has_index(text: str, header: list[Cell], rows: list[list[Cell]], marked: bool) -> bool:
    """True if the header shows that the first column is an index: an empty corner, or a column without a name."""
    width = len(rows[0])
    first = [row[0].text for row in rows]
    if len(header) == width:
        return header[0].text == "" or (_is_index_name(header[0].text) and _counts(first))
    if len(header) != width - 1:
        return False
    if all(is_label(row[0]) or text[row[0].position - 1 : row[0].position] == '"' for row in rows):
        return True
    if marked:
        return len(header) > 1 and _counts(first)
    return _is_indented(text, header, rows[0]) or (len(header) > 1 and _counts_among_decimals(rows))


def _is_numbered(text: str, rows: list[list[Cell]]) -> bool:
    """True for a first row of column numbers, as pandas prints it: one shorter and indented, or with a corner."""
    if len(rows) < 2:
        return False
    head, width = rows[0], len(rows[1])
    if width < 2 or any(len(row) != width for row in rows[1:]):
        return False
    if len(head) == width - 1 and _consecutive([cell.text for cell in head]):
        return _is_indented(text, head, rows[1]) or (
            head[0].text == "0" and len(head) > 1 and _counts_among_decimals(rows[1:])
        )
    if len(head) != width or not _counts([cell.text for cell in head[1:]]):
        return False
    if is_label(head[0]):
        named = _is_index_name(head[0].text) and _counts([row[0].text for row in rows[1:]])
        labelled = all(is_label(row[0]) for row in rows[1:])
        return width > 2 and (named or labelled) and _has_decimals(rows[1:])
    return head[0].text == ""


def _is_indented(text: str, header: list[Cell], row: list[Cell]) -> bool:
    """True if the header begins to the right of the first column."""

    def column(position: int) -> int:
        return position - text.rfind("\n", 0, position)

    return column(header[0].position) >= column(row[0].position + len(row[0].text))


def _counts_among_decimals(rows: list[list[Cell]]) -> bool:
    """True if the first column is 0, 1, 2 … and the other entries are not all whole."""
    counting = [row[0].text for row in rows] == [str(i) for i in range(len(rows))]
    return counting and _has_decimals(rows)


def _has_decimals(rows: list[list[Cell]]) -> bool:
    """True if not every entry after the first column is a whole number."""
    return any(not cell.text.lstrip("-").isdecimal() for row in rows for cell in row[1:])


def _counts(texts: list[str]) -> bool:
    """True for 0, 1, 2 … or 1, 2, 3 …"""
    return _consecutive(texts) and texts[0] in ("0", "1")


def _consecutive(texts: list[str]) -> bool:
    """True for whole numbers in steps of one, from any start."""
    if not texts or not all(text.isdecimal() and len(text) < 10 for text in texts):
        return False
    return [int(text) - int(texts[0]) for text in texts] == list(range(len(texts)))


def _is_index_name(name: str) -> bool:
    return name.lower() in ("index", "idx", "id", "row", "i") or name.lower().startswith("unnamed")


def _is_word(cell: Cell) -> bool:
    return (
        bool(cell.text) and not is_numeric(cell) and not is_missing(cell.text) and not is_elision(cell.text)
    )


def is_label(cell: Cell) -> bool:
    """A word that cannot be a misspelt number: it begins with a letter."""
    return _is_word(cell) and (cell.text[0].isalpha() or cell.text[0] in "_<▁Ġ#")


def _drop_empty_columns(
    rows: list[list[Cell]], header: list[Cell] | None
) -> tuple[list[list[Cell]], list[Cell] | None]:
    """Without outer columns that are empty in every row: tabs used as indentation or at line ends."""
    same = header is not None and len(header) == len(rows[0])
    outer = [*rows, header] if same and header is not None else rows
    right = min(_empty_cells(row[::-1]) for row in outer)
    left = min(_empty_cells(row) for row in outer)
    if left or right:
        rows = [row[left : len(row) - right] for row in rows]
        header = header[left : len(header) - right] if same and header is not None else header
    # A separator after the last entry of some rows only is an ending, unless the row needs it.
    width = max(len(row) - (row[-1].text == "") for row in rows)
    rows = [row[:-1] if row[-1].text == "" and len(row) == width + 1 else row for row in rows]
    return rows, header


def _refuse_gaps(text: str, row: list[Cell], *, every: bool = True) -> None:
    """Rows without a number may be words; but not marks for entries that are absent (every one, or any)."""
    for cell in row:
        if is_elision(cell.text):
            raise error_at(text, cell.position, "ELIDED", f"{ELIDED_HINT}.")
    missing = [cell for cell in row if is_missing(cell.text)]
    if missing and (len(missing) == len(row) or not every):
        number_at(text, missing[0])


def _refuse_words(text: str, rows: list[list[Cell]]) -> None:
    for row in rows:
        _refuse_gaps(text, row)
    if not rows:
        raise PasteError(EMPTY_MESSAGE, code="EMPTY")
    cell = rows[0][0]
    what = shorten(text[cell.position : cell.position + 60].split("\n")[0])
    raise error_at(text, cell.position, "NOT_A_MATRIX", f"numbers in rows were expected, {what} came.")


def _empty_cells(row: list[Cell]) -> int:
    """How many empty cells a row begins with; its last cell is never counted."""
    return next((number for number, cell in enumerate(row) if cell.text), len(row)) if len(row) > 1 else 0
