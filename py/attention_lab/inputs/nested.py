"""Finds the arrays in a tree of groups: which group is data, its name, its shape.

A constructor (array, tensor, vec! …) is read; any other call or operation is refused, never evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from attention_lab.inputs.brackets import (
    COMMA,
    COMMA_NEWLINE,
    NEWLINE,
    NONE,
    SEMICOLON,
    SPACE,
    Group,
    Piece,
)
from attention_lab.inputs.cells import Cell, Layout, is_numeric
from attention_lab.inputs.literals import is_missing
from attention_lab.inputs.parsed import MAX_AXES, PasteError, error_at, shorten

SCALARS = {
    "float16", "float32", "float64", "bfloat16", "half", "single", "double", "longdouble", "float", "int",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool_", "bool", "f16",
    "f32", "f64", "decimal", "number", "intp", "longlong", "float8_e4m3fn", "float8_e5m2",
}  # fmt: skip
RATIONALS = {"fraction", "rational"}
LISTS = {
    "c", "list", "vec", "vector", "seq", "tuple", "arrayof", "listof", "floatarrayof", "doublearrayof",
    "intarrayof", "of", "list_", "rbind",
}  # fmt: skip
WRAPPERS = {
    "array", "asarray", "asanyarray", "as_tensor", "tensor", "parameter", "variable", "constant",
    "ndarray", "matrix", "mat", "devicearray", "masked_array", "from_numpy", "convert_to_tensor",
    "to_tensor", "matrixform", "print", "mutabledensematrix", "immutabledensematrix", "immutablematrix",
    "smatrix", "sa", "arr1", "arr2", "arr3", "disp", "structure", "kerasvariable", "eagertensor",
    "dataframe", "display", "immutabledensendimarray", "repr", "n", "arrayimpl",
}  # fmt: skip
_TYPED = {
    "float32", "float64", "float16", "int", "int32", "int64", "float", "double", "bool", "integer", "real",
    "sa", "number", "any", "vec", "array", "matrix", "tensor", "list", "tuple", "c", "smatrix",
}  # fmt: skip
METADATA = {
    "shape", "dtype", "device", "strides", "layout", "ndim", "size", "place", "stop_gradient",
    "requires_grad", "grad_fn", "order", "weak_type", "fill_value", "index", "columns", "axes", "nrow",
    "ncol", "byrow", "dim", "dims", "copy", "kind", "backend", "path", "sharding", "itemsize", "offset",
    "nnz", "grad", "is_leaf", "rows", "cols", "type", "version", "dimnames", "id", "capacity", "const",
    "names", "layer", "n", "m", "d", "step", "row_stride", "mutable",
}  # fmt: skip
DATA = {"data", "values", "value", "numpy", "array", "object", "buffer", "_data", "entries"}
# Methods that change neither the numbers nor the shape.
HARMLESS = {
    ".to", ".cuda", ".cpu", ".float", ".double", ".numpy", ".detach", ".clone", ".contiguous", ".tolist",
    ".requires_grad_", ".copy", ".to_vec", ".into",
}  # fmt: skip


@dataclass
class Found:
    """An array in the text: entries in row-major order, shape, the name it was given and its print style."""

    name: str
    layout: Layout
    position: int
    flat: bool = False  # one axis in the text
    alternatives: list[tuple[str, Layout]] = field(default_factory=list)


def find_arrays(text: str, pieces: list[Piece]) -> list[Found]:
    """Every array at the top level with its name. Raises PasteError for computations and uneven shapes."""
    found: list[Found] = []
    name = ""
    metadata = False
    stray = False
    weak: list[bool] = []  # "(2, 2)" in passing is data only if there is nothing else
    for index, piece in enumerate(pieces):
        item = piece.item
        before = pieces[index - 1] if index else None
        if isinstance(item, Cell):
            if piece.assign:
                if before is not None and isinstance(before.item, Cell):
                    name = before.item.text
                    metadata = _base(name) in METADATA
            elif item.text in (",", ";"):
                metadata = False
            elif not metadata and is_numeric(item):
                stray = True
            continue
        if (
            index + 1 < len(pieces)
            and pieces[index + 1].assign
            and pieces[index + 1].item.text in ("=", ":=", "<-")
        ):  # type: ignore[union-attr]
            continue  # a declaration: let q: [[f32; 2]; 2] = …
        if metadata:
            metadata = False
            continue
        if not _holds_numbers(item):
            continue
        if not _is_data(item):
            if item.name and any(_holds_list(child) for child in item.groups()):
                raise _refuse_call(text, item)
            continue
        _refuse_operations(text, pieces, index)
        found += _arrays(text, item, "" if _base(name) in DATA | {"containing"} else name)
        weak.append(item.bracket == "(" and not item.name and not item.groups())
        if len(weak) < len(found):
            weak += [False] * (len(found) - len(weak))
        name = ""
    if not all(weak):
        found = [one for one, passing in zip(found, weak, strict=True) if not passing]
    if stray and found:
        found[0].layout.warnings.append("text around the brackets left out")
    return _joined_rows(text, found)


def _base(name: str) -> str:
    """`np.array` → `array`, `torch::tensor` → `tensor`, `vec!` → `vec`."""
    return name.replace("::", ".").rstrip("!").rsplit(".", 1)[-1].lower()


def _holds_numbers(group: Group) -> bool:
    for item in group.items:
        if isinstance(item, Group):
            if _holds_numbers(item):
                return True
        elif is_numeric(item) or is_missing(item.text):
            return True
    return False


def _holds_list(group: Group) -> bool:
    return (group.bracket in "[{" or _is_data(group)) and _holds_numbers(group)


def _is_data(group: Group) -> bool:
    """True for a list-like group or a constructor call around one."""
    base = _base(group.name)
    if group.bracket == "{":
        return True
    if group.bracket == "<":
        return any(
            isinstance(item, Group) and _holds_list(item) and _base(key) not in METADATA
            for item, key in zip(group.items, group.keys, strict=True)
        )
    if group.bracket == "[":
        return not group.name or base in _TYPED or base in WRAPPERS
    if not group.name:
        return len(group.items) > 1 or any(_holds_list(child) for child in group.groups())
    if base in LISTS or _listed(group):
        return True
    return (base in WRAPPERS or base.endswith(("tensor", "array", "matrix"))) and any(
        isinstance(item, Group) for item in group.items
    )


def _listed(group: Group) -> bool:
    """Scala's Array(1, 2): entries as arguments."""
    return (
        _base(group.name) == "array"
        and len(group.items) > 1
        and not any(group.keys)
        and all(isinstance(item, Cell) for item in group.items)
    )


def _refuse_call(text: str, group: Group) -> PasteError:
    return error_at(
        text,
        group.position - len(group.name),
        "NOT_A_MATRIX",
        f"{shorten(group.name + group.bracket)} is a computation; paste the numbers it gives.",
    )


def _refuse_operations(text: str, pieces: list[Piece], index: int) -> None:
    """Refuse what would change the numbers: `2 * [[…]]`, `[[…]].T`, `[…]'`."""
    before = pieces[index - 1].item if index else None
    if isinstance(before, Cell) and before.text in ("*", "-", "+", "/", "@", "**", ".*", "~"):
        following = pieces[index].item
        if not (before.text in "-*+" and _bullet(text, before.position) and isinstance(following, Group)):
            raise error_at(
                text,
                before.position,
                "NOT_A_MATRIX",
                f"{shorten(before.text)} is a computation; paste the numbers it gives.",
            )
    if index + 1 >= len(pieces):
        return
    group, after = pieces[index].item, pieces[index + 1].item
    assert isinstance(group, Group)
    gap = text[group.end : after.position]
    symbol = after.text if isinstance(after, Cell) else after.name
    adjacent = "\n" not in gap
    if isinstance(after, Group) and after.position == group.end:
        symbol = after.bracket
    elif symbol.startswith(".") and symbol != "." and not symbol[1:2].isdigit():
        if symbol in HARMLESS or not adjacent:
            return
    elif not (adjacent and symbol and (symbol[0] in "*+/@^'" or symbol in ("-", ".*"))):
        return
    if isinstance(after, Cell) and is_numeric(after):
        return
    raise error_at(
        text,
        group.end,
        "NOT_A_MATRIX",
        f"{shorten(symbol)} after the brackets is a computation; paste the numbers it gives.",
    )


def _bullet(text: str, position: int) -> bool:
    """A list mark at the beginning of a line: "- [1, 2]"."""
    begin = text.rfind("\n", 0, position) + 1
    return not text[begin:position].strip() and text[position + 1 : position + 2] == " "


def _arrays(text: str, group: Group, name: str) -> list[Found]:
    """The arrays in one top-level group: one, or several for named entries of an object."""
    if group.bracket == "<" or (
        group.bracket == "("
        and group.name
        and _base(group.name) not in LISTS
        and not _listed(group)
        and not (_base(group.name) == "array" and len(group.items) > 1 and not any(group.keys))
    ):
        return _constructed(text, group, name)
    if group.bracket == "[" and _base(group.name) in WRAPPERS and len(group.items) == 1 and group.groups():
        return _arrays(text, group.groups()[0], name)  # MatrixForm[{{…}}]
    if any(group.keys):
        return _object(text, group, name)
    keyed = [child for child in group.groups() if child.bracket == "{" and any(child.keys)]
    if keyed and len(keyed) == len(group.items):
        return [_records(text, group, name)]
    layout, axes = _nested(text, group)
    return [_found(name, layout, axes, group)]


def _found(name: str, layout: Layout, axes: int, group: Group) -> Found:
    return Found(name, layout, group.position, flat=axes == 1)


def _constructed(text: str, group: Group, name: str) -> list[Found]:
    """tensor([[…]], dtype=…), masked_array(data=…), matrix(c(…), nrow=2)."""
    base = _base(group.name)
    data: list[Group] = []
    options: dict[str, Group | Cell] = {}
    for item, key in zip(group.items, group.keys, strict=True):
        if key and _base(key) not in DATA:
            options[_base(key)] = item
        elif isinstance(item, Group) and _is_data(item):
            data.append(item)
        elif isinstance(item, Group) and item.name and _holds_numbers(item):
            raise _refuse_call(text, item)
    if len(data) != 1:
        raise error_at(
            text,
            group.position,
            "NOT_A_MATRIX",
            f"{shorten(group.name)} was expected to hold one list, {len(data)} came.",
        )
    found = _arrays(text, data[0], name)
    if base in ("matrix", "structure", "array") and ({"nrow", "ncol", "dim", "byrow"} & options.keys()):
        return [_column_major(text, one, options, group) for one in found]
    printed = base == "tensor" and "." not in group.name
    for one in found:
        one.layout.fixed = one.layout.fixed or (printed and not _is_parameter(text, group))
    return found


def _is_parameter(text: str, group: Group) -> bool:
    """A parameter is what the model holds, not a result to compare."""
    head = text[max(0, group.position - 60) : group.position]
    return "Parameter" in head


def _column_major(text: str, found: Found, options: dict[str, Group | Cell], group: Group) -> Found:
    """R fills columns first unless byrow = TRUE."""
    cells = found.layout.cells
    sizes: list[int] = []
    for key in ("nrow", "ncol"):
        item = options.get(key)
        if isinstance(item, Cell) and item.text.rstrip("L").isdecimal() and len(item.text) < 9:
            sizes.append(int(item.text.rstrip("L")))
        else:
            sizes.append(0)
    dim = options.get("dim")
    if isinstance(dim, Group):
        sizes = [
            int(i.text.rstrip("L"))
            for i in dim.items
            if isinstance(i, Cell) and i.text.rstrip("L").isdecimal() and len(i.text) < 9
        ]
    if len(sizes) != 2:
        raise error_at(text, group.position, "NOT_A_MATRIX", f"two sizes were expected, {len(sizes)} came.")
    rows, columns = sizes
    rows = rows or (len(cells) // columns if columns else len(cells))
    columns = columns or (len(cells) // rows if rows else 0)
    if rows * columns != len(cells):
        raise error_at(
            text,
            group.position,
            "RAGGED",
            f"{rows}×{columns} needs {rows * columns} entries, {len(cells)} came.",
        )
    byrow = options.get("byrow")
    if not (isinstance(byrow, Cell) and byrow.text.upper() in ("TRUE", "T")):
        cells = [cells[c * rows + r] for r in range(rows) for c in range(columns)]
        found.layout.warnings.append("filled column by column, as R does")
    found.layout.cells, found.layout.shape = cells, (rows, columns)
    found.flat = False
    return found


def _object(text: str, group: Group, name: str) -> list[Found]:
    """{"q": […], "k": […]}, {"shape": […], "data": […]}, and pandas' dictionaries of columns."""
    entries = {key.lower(): item for key, item in zip(group.keys, group.items, strict=True) if key}
    shape = next((entries[k] for k in ("shape", "dims", "dim") if isinstance(entries.get(k), Group)), None)
    data = next(
        (entries[k] for k in ("data", "values", "array", "buffer") if isinstance(entries.get(k), Group)), None
    )
    if isinstance(data, Group) and _holds_numbers(data):
        found = _arrays(text, data, name)
        if isinstance(shape, Group) and len(found) == 1:
            found[0] = _reshaped(text, found[0], shape)
        return found
    columns = [item for item in group.items if isinstance(item, Group)]
    if len(columns) == len(group.items) and columns and all(_is_mapping(c) for c in columns):
        keys = columns[0].keys
        if all(c.keys == keys for c in columns) and not any(k.lower() in ("data", "values") for k in keys):
            cells = [c.items[i] for i in range(len(keys)) for c in columns]
            layout = Layout([c for c in cells if isinstance(c, Cell)], (len(keys), len(columns)))
            layout.warnings.append("read column by column, as pandas writes it")
            return [Found(name, layout, group.position)]
    found = []
    for key, item in zip(group.keys, group.items, strict=True):
        if isinstance(item, Group) and key.lower() not in METADATA and _holds_numbers(item):
            inner = key if key.lower() not in DATA else name
            found += _arrays(text, item, inner or name)
    if not found:
        raise error_at(
            text, group.position, "NOT_A_MATRIX", "lists of numbers were expected in this object, none came."
        )
    return found


def _is_mapping(group: Group) -> bool:
    return bool(group.items) and all(group.keys) and all(isinstance(item, Cell) for item in group.items)


def _records(text: str, group: Group, name: str) -> Found:
    """[{"a": 1, "b": 2}, …]: one row per record."""
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


def _reshaped(text: str, found: Found, shape: Group) -> Found:
    sizes = [
        int(i.text) for i in shape.items if isinstance(i, Cell) and i.text.isdecimal() and len(i.text) < 9
    ]
    total = 1
    for size in sizes:
        total *= size
    if len(sizes) != len(shape.items) or total != len(found.layout.cells) or not 0 < len(sizes) <= MAX_AXES:
        raise error_at(
            text,
            shape.position,
            "RAGGED",
            f"the shape {'×'.join(map(str, sizes)) or '()'} needs {total} entries, {len(found.layout.cells)} came.",
        )
    found.flat = len(sizes) == 1
    found.layout.shape = tuple(sizes) if len(sizes) > 1 else (1, sizes[0])
    return found


def _scalar(text: str, group: Group) -> Cell | None:
    """np.float32(0.25) → its number; Fraction(1, 4) → "1/4"; (0.25) → 0.25."""
    if group.bracket != "(":
        return None
    base = _base(group.name)
    cells = [item for item in group.items if isinstance(item, Cell)]
    if len(cells) != len(group.items) or not cells:
        return None
    if base in SCALARS and (len(cells) == 1 or any(group.keys[1:])):
        return cells[0]._replace(scalar=base)
    if base in RATIONALS and len(cells) == 2:
        return Cell(f"{cells[0].text}/{cells[1].text}", cells[0].position)
    if base in ("integer", "real") and len(cells) == 1:
        return cells[0]
    if (not base or base in ("tensor", "array")) and len(cells) == 1:
        return cells[0]
    if base in ("tensor", "array") and all(group.keys[1:]) and not group.keys[0]:
        return cells[0]
    return None


def _nested(text: str, group: Group, depth: int = 1) -> tuple[Layout, int]:
    """Entries of a list of lists and its number of axes; raises RAGGED where the lengths differ."""
    if depth > MAX_AXES:
        raise error_at(text, group.position, "TOO_DEEP", f"brackets nest deeper than {MAX_AXES} axes.")
    items: list[Group | Cell] = []
    for item in group.items:
        scalar = _scalar(text, item) if isinstance(item, Group) else None
        items.append(scalar if scalar is not None else item)
    if all(isinstance(item, Cell) for item in items):
        cells = [item for item in items if isinstance(item, Cell)]
        if not cells:
            raise error_at(
                text, group.position, "EMPTY", "numbers were expected between the brackets, none came."
            )
        return _leaf(text, group, cells, depth)
    layouts: list[tuple[Layout, int, int]] = []
    for item in items:
        if isinstance(item, Cell):
            raise error_at(
                text,
                item.position,
                "RAGGED",
                f"a row in brackets was expected here, {shorten(item.text)} came.",
            )
        inner = item
        if item.bracket == "<" or (
            item.bracket == "(" and item.name and _base(item.name) not in LISTS and not _listed(item)
        ):
            if not _is_data(item):
                raise _refuse_call(text, item)
            for one in _constructed(text, item, ""):
                layout, axes = one.layout, 1 if one.flat else len(one.layout.shape)
                layouts.append((layout, axes, item.position))
            continue
        if item.bracket == "[" and item.name and not _is_data(item):
            raise _refuse_call(text, item)
        if any(item.keys):
            raise error_at(
                text, item.position, "NOT_A_MATRIX", "a list of numbers was expected here, an object came."
            )
        layout, axes = _nested(text, inner, depth + 1)
        layouts.append((layout, axes, item.position))
    first, axes, _ = layouts[0]
    for number, (layout, other, position) in enumerate(layouts):
        if other != axes or layout.shape != first.shape:
            raise error_at(
                text,
                position,
                "RAGGED",
                f"every row needs the same number of entries: row 1 has {_size(first, axes)}, "
                f"row {number + 1} has {_size(layout, other)}.",
            )
    cells = [cell for layout, _, _ in layouts for cell in layout.cells]
    inner_shape = first.shape if axes > 1 else (first.shape[1],)
    warnings = [warning for layout, _, _ in layouts for warning in layout.warnings]
    fixed = any(layout.fixed for layout, _, _ in layouts)
    return Layout(cells, (len(layouts), *inner_shape), list(dict.fromkeys(warnings)), fixed=fixed), axes + 1


def _size(layout: Layout, axes: int) -> str:
    return str(layout.shape[1]) if axes == 1 else "×".join(map(str, layout.shape))


def _leaf(text: str, group: Group, cells: list[Cell], depth: int) -> tuple[Layout, int]:
    """A group of entries: one row, or several where semicolons or line ends separate rows (MATLAB, Julia)."""
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
    breaks = {SEMICOLON, NEWLINE} if depth == 1 and group.bracket == "[" else set()
    rows: list[list[Cell]] = [[]]
    for index, (cell, mark) in enumerate(zip(cells, marks, strict=True)):
        if index and mark in breaks:
            rows.append([])
        rows[-1].append(cell)
    if len(rows) == 1:
        return Layout(cells, (1, len(cells))), 1
    widths = {len(row) for row in rows}
    if not semicolons and (len(widths) > 1 or COMMA in marks) and _looks_wrapped(text, group, rows):
        return Layout(cells, (1, len(cells)), ["line ends inside the brackets read as wrapping"]), 1
    if len(widths) > 1:
        number = next(i for i, row in enumerate(rows) if len(row) != len(rows[0]))
        raise error_at(
            text,
            rows[number][0].position,
            "RAGGED",
            f"every row needs the same number of entries: row 1 has {len(rows[0])}, "
            f"row {number + 1} has {len(rows[number])}.",
        )
    return Layout(cells, (len(rows), len(rows[0]))), 2


def _looks_wrapped(text: str, group: Group, rows: list[list[Cell]]) -> bool:
    """A long one-dimensional print: full lines, the last one not longer."""
    widths = [len(row) for row in rows]
    lines = text[group.position : group.end].split("\n")
    return len(lines[0]) > 50 and all(len(line) > 50 for line in lines[:-1]) and widths[-1] <= max(widths)


def _joined_rows(text: str, found: list[Found]) -> list[Found]:
    """Rows written one after the other, each in its own brackets, are one matrix."""
    if len(found) < 2 or not all(one.flat for one in found) or any(one.name for one in found):
        return found
    first = found[0].layout
    for number, one in enumerate(found):
        if one.layout.shape != first.shape:
            raise error_at(
                text,
                one.position,
                "RAGGED",
                f"every row needs the same number of entries: row 1 has {first.shape[1]}, "
                f"row {number + 1} has {one.layout.shape[1]}.",
            )
    cells = [cell for one in found for cell in one.layout.cells]
    warnings = [warning for one in found for warning in one.layout.warnings]
    layout = Layout(cells, (len(found), first.shape[1]), warnings, fixed=first.fixed)
    return [Found("", layout, found[0].position)]


__all__ = ["COMMA_NEWLINE", "SPACE", "Found", "find_arrays"]
