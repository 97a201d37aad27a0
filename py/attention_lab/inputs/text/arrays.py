"""Finds the arrays at the top level of a text, with their names, and refuses computations around them.

What is inside an array is read by nested.py.
"""

from __future__ import annotations

import re

from attention_lab.inputs.text.brackets import Group, Piece
from attention_lab.inputs.text.cells import Cell, Layout, is_numeric
from attention_lab.inputs.text.groups import (
    Found,
    computation,
    holds_list,
    holds_numbers,
    is_call,
    is_data,
    scalar_cell,
)
from attention_lab.inputs.text.nested import check_even, read_group
from attention_lab.inputs.text.parsed import PasteError, error_at, shorten
from attention_lab.inputs.text.vocabulary import DATA, HARMLESS, METADATA, base_name

_OPERATORS = ("*", "/", "@", "^")
_AFTER = (*_OPERATORS, "+", "-", "'", "ᵀ", "†", "′")
_NUMBERED = re.compile(r"(.*?)_?\d+")


def find_arrays(text: str, pieces: list[Piece]) -> list[Found]:
    """Every array at the top level. Raises PasteError for computations and uneven shapes."""
    found: list[Found] = []
    passing: list[Found] = []  # "(2, 2)" is data only if there is nothing else
    name = ""
    stray = False
    for index, piece in enumerate(pieces):
        item = piece.item
        if isinstance(item, Cell):
            if piece.assign:
                name = _name_before(pieces, index)
            elif item.text in (",", ";"):
                name = ""
            elif base_name(name) not in METADATA and is_numeric(item):
                stray = True
            continue
        if _is_declaration(pieces, index):  # let q: [[f32; 2]; 2] = …
            continue
        metadata = base_name(name) in METADATA and not item.groups()
        if metadata or base_name(item.name) in METADATA or not holds_numbers(item):
            name = "" if metadata else name
            continue
        if not is_data(item):
            if item.name and any(holds_list(child) for child in item.groups()):
                raise computation(text, item)
            continue
        _refuse_operations(text, pieces, index)
        label = "" if base_name(name) in DATA | METADATA else name
        if _is_tuple_of_calls(item):
            found += [one for child in item.groups() for one in read_group(text, child, "")]
        elif item.bracket == "(" and not item.name and not item.groups():
            passing += read_group(text, item, label)
        else:
            found += read_group(text, item, label)
        name = ""
    found = found or (passing if _is_alone(pieces) else []) or _single_scalar(pieces)
    if stray and found:
        found[0].layout.warnings.append("text around the brackets left out")
    return _joined(text, found)


def _is_alone(pieces: list[Piece]) -> bool:
    """True if a text is one group with nothing but a name and marks around it."""
    words = [p for p in pieces if isinstance(p.item, Cell) and not p.assign and p.item.text not in (",", ";")]
    return (
        len(words) <= 1
        and len([p for p in pieces if isinstance(p.item, Group)]) == 1
        and (not words or any(p.assign for p in pieces))
    )


def _name_before(pieces: list[Piece], index: int) -> str:
    """The word that an assignment mark follows: the q of `float q[2][2] =` and of `let q: [[f32; 2]; 2] =`."""
    for piece in reversed(pieces[max(0, index - 3) : index]):
        if isinstance(piece.item, Cell) and not piece.assign:
            text = piece.item.text
            return "" if text in (",", ";") or is_numeric(piece.item) or text == "containing" else text
    return ""


def _is_declaration(pieces: list[Piece], index: int) -> bool:
    after = pieces[index + 1] if index + 1 < len(pieces) else None
    return after is not None and isinstance(after.item, Cell) and after.item.text in ("=", ":=", "<-")


def _is_tuple_of_calls(group: Group) -> bool:
    """(tensor([[…]]), tensor([[…]])): several results, not one array."""
    return (
        group.bracket == "("
        and not group.name
        and len(group.items) > 1
        and all(
            isinstance(item, Group)
            and is_call(item)
            and is_data(item)
            and any(g.groups() for g in item.groups())
            for item in group.items
        )
    )


def _single_scalar(pieces: list[Piece]) -> list[Found]:
    """tensor(0.25) alone is one number."""
    cells = [scalar_cell(piece.item) for piece in pieces if isinstance(piece.item, Group) and piece.item.name]
    numbers = [cell for cell in cells if cell is not None and is_numeric(cell)]
    if len(numbers) != 1:
        return []
    return [Found("", Layout(numbers, (1, 1)), numbers[0].position)]


def _refuse_operations(text: str, pieces: list[Piece], index: int) -> None:
    """Refuse what would change the numbers: `2 * [[…]]`, `[[…]].T`, `[…]'`."""
    group = pieces[index].item
    before = pieces[index - 1].item if index else None
    operator = isinstance(before, Cell) and (
        before.text.endswith(_OPERATORS) or before.text in ("+", "-", "~")
    )
    if isinstance(before, Cell) and operator and not _is_bullet(text, before):
        raise _operation(text, before.position, before.text)
    end = group.end if isinstance(group, Group) else 0
    called = False  # a harmless method came, its arguments may follow
    for piece in pieces[index + 1 :]:
        after = piece.item
        if "\n" in text[end : after.position]:
            return
        if isinstance(after, Group):
            if after.position == end and not called:  # [[1, 2], [3, 4]][0]
                raise _operation(text, end, after.bracket)
            end, called, symbol = after.end, False, after.name
            if after.bracket == "(" and not after.name:
                continue
        else:
            symbol = after.text
            called = symbol in HARMLESS
            if called:
                end = after.position + len(symbol)
                continue
        if symbol.startswith(_AFTER) or (symbol[:1] == "." and symbol[1:2].isalpha()):
            raise _operation(text, end, symbol)
        return


def _operation(text: str, position: int, symbol: str) -> PasteError:
    return error_at(
        text, position, "NOT_A_MATRIX", f"{shorten(symbol)} is a computation; paste the numbers it gives."
    )


def _is_bullet(text: str, cell: Cell) -> bool:
    """A list mark at the beginning of a line: "- [1, 2]"."""
    begin = text.rfind("\n", 0, cell.position) + 1
    spaced = text[cell.position + 1 : cell.position + 2] == " "
    return cell.text in ("-", "*", "+") and spaced and not text[begin : cell.position].strip()


def _joined(text: str, found: list[Found]) -> list[Found]:
    """Rows written one after the other, each in its own brackets, are one matrix."""
    names = {one.name for one in found}
    stems = names if len(names) == 1 else {_stem(name) for name in names}
    if len(found) < 2 or not all(one.flat for one in found) or len(stems) > 1 or None in stems:
        return found
    check_even(text, found)
    cells = [cell for one in found for cell in one.layout.cells]
    warnings = [warning for one in found for warning in one.layout.warnings]
    shape = (len(found), found[0].layout.shape[1])
    return [Found("", Layout(cells, shape, warnings, fixed=found[0].layout.fixed), found[0].position)]


def _stem(name: str) -> str | None:
    """The common part of numbered names: "row1" → "row"; None for a name without a number."""
    match = _NUMBERED.fullmatch(name)
    return match[1] if match else None
