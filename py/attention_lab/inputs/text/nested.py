"""Turns groups into shaped entries: lists of lists, constructor calls, MATLAB and Julia rows.

Every level must be even; the first part that differs is named. Nothing is evaluated.
"""

from __future__ import annotations

from attention_lab.inputs.text.brackets import COMMA, NEWLINE, NONE, SEMICOLON, Group
from attention_lab.inputs.text.cells import Cell, Layout, is_numeric
from attention_lab.inputs.text.groups import Found, computation, holds_numbers, is_call, is_data, scalar_cell
from attention_lab.inputs.text.objects import (
    are_pairs,
    are_records,
    column_major,
    has_sizes,
    read_object,
    read_pairs,
    read_records,
    reshaped,
)
from attention_lab.inputs.text.parsed import MAX_AXES, PasteError, error_at, shorten
from attention_lab.inputs.text.vocabulary import DATA, WRAPPERS, base_name

_WRAPPED_LINE = 50  # characters of a line that a printer may have wrapped


def read_group(text: str, group: Group, name: str) -> list[Found]:
    """The arrays in one group: one, or several for the entries of an object."""
    if is_call(group):
        return _read_call(text, group, name)
    if group.bracket == "[" and base_name(group.name) in WRAPPERS and len(group.items) == 1:
        inner = group.items[0]
        if isinstance(inner, Group):  # MatrixForm[{{…}}]
            return read_group(text, inner, name)
    if any(group.keys):
        return read_object(text, group, name, read_group)
    if are_records(group):
        return [read_records(text, group, name)]
    if are_pairs(group):
        return read_pairs(text, group, read_group)
    return [_read_list(text, group, name, 1)]


def _read_call(text: str, group: Group, name: str) -> list[Found]:
    """tensor([[…]], dtype=…), masked_array(data=…), matrix(c(…), nrow=2)."""
    data: list[Group] = []
    numbers: list[Cell] = []  # sizes, as in sympy's Matrix(2, 2, […])
    options: dict[str, Group | Cell] = {}
    for item, key in zip(group.items, group.keys, strict=True):
        if key and base_name(key) not in DATA:
            options[base_name(key)] = item
        elif isinstance(item, Group) and is_data(item):
            data.append(item)
        elif isinstance(item, Group) and item.name and holds_numbers(item):
            raise computation(text, item)
        elif isinstance(item, Cell) and is_numeric(item):
            numbers.append(item)
    if len(data) != 1:
        raise error_at(
            text,
            group.position,
            "NOT_A_MATRIX",
            f"{shorten(group.name)} was expected to hold one list, {len(data)} came.",
        )
    if "indices" in options or "crow_indices" in options:
        raise error_at(
            text, group.position, "NOT_A_MATRIX", "this is a sparse tensor; paste what .to_dense() prints."
        )
    found = read_group(text, data[0], name)
    base = base_name(group.name)
    if base in ("matrix", "structure", "array") and has_sizes(options):
        return [column_major(text, one, options) for one in found]
    if numbers and base_name(group.name).endswith("matrix") and len(found) == 1 and found[0].flat:
        return [reshaped(text, found[0], Group("(", group.position, items=[*numbers]))]
    if numbers:
        raise computation(text, group)
    # A parameter is what the model holds, not a result to compare: its decimals are not worth a warning.
    parameter = "Parameter" in text[max(0, group.position - 60) : group.position]
    if base == "tensor" and "." not in group.name and not parameter:
        for one in found:
            one.layout.fixed = True
    return found


def _read_list(text: str, group: Group, name: str, depth: int) -> Found:
    """A list of entries or of lists; raises RAGGED where the lengths differ."""
    if depth > MAX_AXES:
        raise error_at(text, group.position, "TOO_DEEP", f"brackets nest deeper than {MAX_AXES} axes.")
    if not group.items:
        raise error_at(text, group.position, "EMPTY", "numbers were expected in these brackets, none came.")
    items: list[Group | Cell] = [
        (scalar_cell(item) or item) if isinstance(item, Group) else item for item in group.items
    ]
    cells = [item for item in items if isinstance(item, Cell)]
    if len(cells) == len(items):
        return _read_entries(text, group, cells, name, depth)
    parts: list[Found] = []
    for item in items:
        if isinstance(item, Cell):
            raise error_at(
                text, item.position, "RAGGED", f"a row in brackets was expected, {shorten(item.text)} came."
            )
        parts += _read_part(text, item, depth)
    return _stacked(text, parts, name, group.position)


def _read_part(text: str, item: Group, depth: int) -> list[Found]:
    """A list inside a list."""
    if item.name and not is_data(item):
        raise computation(text, item)
    if is_call(item):
        return _read_call(text, item, "")
    if any(item.keys):
        raise error_at(text, item.position, "NOT_A_MATRIX", "a list of numbers was expected, an object came.")
    return [_read_list(text, item, "", depth + 1)]


def _stacked(text: str, parts: list[Found], name: str, position: int) -> Found:
    """Parts of one shape along a new first axis."""
    first = parts[0]
    check_even(text, parts)
    cells = [cell for part in parts for cell in part.layout.cells]
    shape = first.layout.shape[1:] if first.flat else first.layout.shape
    warnings = list(dict.fromkeys(warning for part in parts for warning in part.layout.warnings))
    layout = Layout(cells, (len(parts), *shape), warnings, fixed=any(part.layout.fixed for part in parts))
    return Found(name, layout, position)


def check_even(text: str, parts: list[Found]) -> None:
    """Raise RAGGED at the first part whose shape differs from the first."""
    for number, part in enumerate(parts):
        if part.flat != parts[0].flat or part.layout.shape != parts[0].layout.shape:
            raise uneven(text, part.position, _size(parts[0]), number, _size(part))


def uneven(text: str, position: int, first: str, number: int, came: str) -> PasteError:
    return error_at(
        text,
        position,
        "RAGGED",
        f"every row needs the same number of entries: row 1 has {first}, row {number + 1} has {came}.",
    )


def _size(part: Found) -> str:
    return str(part.layout.shape[1]) if part.flat else "×".join(map(str, part.layout.shape))


def _read_entries(text: str, group: Group, cells: list[Cell], name: str, depth: int) -> Found:
    """One row; or several where semicolons or line ends separate rows (MATLAB, Julia)."""
    marks = group.marks
    for index, cell in enumerate(cells):
        if index and marks[index] == NONE:
            raise error_at(
                text, cell.position, "NOT_A_NUMBER", f"a separator was expected before {shorten(cell.text)}."
            )
    semicolons = SEMICOLON in marks[1:]
    if semicolons and (depth > 1 or group.name.endswith("!")):
        raise error_at(
            text,
            group.position,
            "NOT_A_MATRIX",
            "“;” inside nested brackets is a computation; paste the numbers it gives.",
        )
    one_row = Layout(cells, (1, len(cells)))
    breaks = {SEMICOLON, NEWLINE} if depth == 1 else set()
    rows: list[list[Cell]] = [[]]
    for index, (cell, mark) in enumerate(zip(cells, marks, strict=True)):
        if index and mark in breaks:
            rows.append([])
        rows[-1].append(cell)
    if len(rows) == 1:
        return Found(name, one_row, group.position, flat=True)
    wrapped = not semicolons and COMMA not in marks and _looks_wrapped(text, group)
    number = next((i for i, row in enumerate(rows) if len(row) != len(rows[0])), None)
    if number is not None:
        if wrapped:
            one_row.warnings.append("line ends inside the brackets read as wrapping")
            return Found(name, one_row, group.position, flat=True)
        raise uneven(text, rows[number][0].position, str(len(rows[0])), number, str(len(rows[number])))
    layout = Layout(cells, (len(rows), len(rows[0])))
    if wrapped:
        layout.warnings.append("each line inside the brackets read as a row")
        layout.alternative = ("one_wrapped_row", one_row)
    return Found(name, layout, group.position)


def _looks_wrapped(text: str, group: Group) -> bool:
    """Long lines before the last: a printer may have wrapped one row."""
    lines = text[group.position : group.end].split("\n")
    return all(len(line) > _WRAPPED_LINE for line in lines[:-1])
