"""Arrays with names or a shape beside them: JSON objects, pandas' dictionaries and records, R's matrix().

Lists inside are read by the function given; this file arranges what it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from attention_lab.inputs.text.brackets import Group
from attention_lab.inputs.text.cells import Cell, Layout, is_numeric
from attention_lab.inputs.text.groups import Found, holds_numbers
from attention_lab.inputs.text.parsed import MAX_AXES, error_at
from attention_lab.inputs.text.vocabulary import DATA, METADATA

Reader = Callable[[str, Group, str], list[Found]]


def read_object(text: str, group: Group, name: str, read: Reader) -> list[Found]:
    """{"q": […], "k": […]}, {"shape": […], "data": […]}, and pandas' dictionaries of columns."""
    entries = {key.lower(): item for key, item in zip(group.keys, group.items, strict=True) if key}
    shape = _first(entries, ("shape", "dims", "dim", "size"))
    data = _first(entries, ("data", "values", "array", "buffer", "_data"))
    if data is not None and holds_numbers(data):
        found = read(text, data, name)
        if shape is not None and len(found) == 1:
            return [reshaped(text, found[0], shape)]
        return found
    columns = _columns(group)
    if columns is not None:
        return [Found(name, columns, group.position)]
    found = []
    for key, item in zip(group.keys, group.items, strict=True):
        if not isinstance(item, Group) or not holds_numbers(item):
            continue
        if key.lower() in METADATA and not item.groups():
            continue
        found += read(text, item, name if not key or key.lower() in DATA else key)
    if not found:
        raise error_at(
            text, group.position, "NOT_A_MATRIX", "lists of numbers were expected in this object, none came."
        )
    return found


def _first(entries: dict[str, Group | Cell], keys: tuple[str, ...]) -> Group | None:
    for key in keys:
        item = entries.get(key)
        if isinstance(item, Group):
            return item
    return None


def _columns(group: Group) -> Layout | None:
    """{"a": {"0": 1, "1": 2}, "b": {…}}: columns that hold their rows by key."""
    columns = group.groups()
    if not columns or len(columns) != len(group.items) or not all(_is_mapping(column) for column in columns):
        return None
    keys = columns[0].keys
    if any(column.keys != keys for column in columns) or any(key.lower() in DATA for key in keys):
        return None
    cells = [column.items[row] for row in range(len(keys)) for column in columns]
    layout = Layout([cell for cell in cells if isinstance(cell, Cell)], (len(keys), len(columns)))
    layout.warnings.append("read column by column, as pandas writes it")
    return layout


def _is_mapping(group: Group) -> bool:
    return bool(group.items) and all(group.keys) and all(isinstance(item, Cell) for item in group.items)


def are_records(group: Group) -> bool:
    """[{"a": 1, "b": 2}, …]."""
    return bool(group.items) and all(
        isinstance(item, Group) and item.bracket == "{" and any(item.keys) for item in group.items
    )


def read_records(text: str, group: Group, name: str) -> Found:
    """One row per record; every record needs the same keys."""
    records = group.groups()
    keys = records[0].keys
    cells: list[Cell] = []
    for number, record in enumerate(records):
        if record.keys != keys or not _is_mapping(record):
            raise error_at(
                text,
                record.position,
                "RAGGED",
                f"every record needs the same keys: record {number + 1} differs from the first.",
            )
        cells += [item for item in record.items if isinstance(item, Cell)]
    return Found(name, Layout(cells, (len(records), len(keys))), group.position)


def are_pairs(group: Group) -> bool:
    """[("q", …), ("k", …)], as an OrderedDict prints."""
    return bool(group.items) and all(
        isinstance(item, Group)
        and item.bracket == "("
        and not item.name
        and len(item.items) == 2
        and isinstance(item.items[0], Cell)
        and not is_numeric(item.items[0])
        and isinstance(item.items[1], Group)
        for item in group.items
    )


def read_pairs(text: str, group: Group, read: Reader) -> list[Found]:
    """Each pair's array under its name."""
    found: list[Found] = []
    for pair in group.groups():
        name, value = pair.items
        if isinstance(name, Cell) and isinstance(value, Group) and holds_numbers(value):
            found += read(text, value, name.text)
    if not found:
        raise error_at(text, group.position, "NOT_A_MATRIX", "lists of numbers were expected, none came.")
    return found


def _sizes(items: list[Group | Cell]) -> list[int]:
    """Whole numbers among the items; R writes 2 as 2L."""
    texts = [item.text.rstrip("L") for item in items if isinstance(item, Cell)]
    return [int(text) for text in texts if text.isdecimal() and len(text) < 9]


def reshaped(text: str, found: Found, shape: Group) -> Found:
    """A flat list in the shape that stands beside it, row by row."""
    sizes = _sizes(shape.items)
    total = prod(sizes)
    if len(sizes) != len(shape.items) or total != len(found.layout.cells) or not 0 < len(sizes) <= MAX_AXES:
        spelled = "×".join(map(str, sizes)) or "()"
        raise error_at(
            text,
            shape.position,
            "RAGGED",
            f"the shape {spelled} needs {total} entries, {len(found.layout.cells)} came.",
        )
    found.flat = len(sizes) == 1
    found.layout.shape = tuple(sizes) if len(sizes) > 1 else (1, sizes[0])
    return found


def has_sizes(options: dict[str, Group | Cell]) -> bool:
    """True for the arguments of R's matrix() and structure()."""
    return bool({"nrow", "ncol", "dim", "byrow"} & options.keys())


def column_major(text: str, found: Found, options: dict[str, Group | Cell]) -> Found:
    """R's matrix(c(…), nrow = 2) and dim = c(2, 2): the first axis runs fastest unless byrow = TRUE."""
    cells = found.layout.cells
    sizes = _r_sizes(options, len(cells))
    if not 2 <= len(sizes) <= 3 or prod(sizes) != len(cells):
        spelled = "×".join(map(str, sizes))
        raise error_at(
            text,
            found.position,
            "RAGGED",
            f"two or three sizes that need {len(cells)} entries were expected, {spelled} came.",
        )
    byrow = options.get("byrow")
    if not (isinstance(byrow, Cell) and byrow.text.upper() in ("TRUE", "T")):
        order = np.arange(len(cells)).reshape(sizes, order="F")
        if len(sizes) == 3:
            order = np.moveaxis(order, -1, 0)
            found.layout.warnings.append("pages stacked along the first axis")
        cells = [cells[index] for index in order.ravel().tolist()]
        sizes = list(order.shape)
        found.layout.warnings.append("filled column by column, as R does")
    found.layout.cells, found.layout.shape, found.flat = cells, tuple(sizes), False
    return found


def _r_sizes(options: dict[str, Group | Cell], entries: int) -> list[int]:
    dim = options.get("dim")
    if isinstance(dim, Group):
        return _sizes(dim.items)
    if isinstance(dim, Cell):  # dim = 4:5
        first, _, last = dim.text.replace("L", "").partition(":")
        return list(range(int(first), int(last) + 1))[:4] if len(dim.text) < 9 and last.isdecimal() else []
    given = [_sizes([options[key]]) if key in options else [] for key in ("nrow", "ncol")]
    rows, columns = (size[0] if size else 0 for size in given)
    rows = rows or (entries // columns if columns else entries)
    return [rows, columns or (entries // rows if rows else 0)]
