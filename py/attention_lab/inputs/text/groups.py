"""Questions about a bracketed part: does it hold numbers, is it data, one scalar, or a computation.

It decides from the brackets and the names in vocabulary.py; it reads no numbers into arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

from attention_lab.inputs.text.brackets import Group
from attention_lab.inputs.text.cells import Cell, Layout, is_numeric
from attention_lab.inputs.text.literals import is_missing
from attention_lab.inputs.text.parsed import PasteError, error_at, shorten
from attention_lab.inputs.text.vocabulary import (
    DICTIONARIES,
    LISTS,
    METADATA,
    RATIONALS,
    SCALARS,
    TYPED,
    WRAPPERS,
    base_name,
)


@dataclass
class Found:
    """An array in the text: its entries and shape, the name it was given, where it begins.

    flat: it has one axis in the text (its layout is one row then).
    """

    name: str
    layout: Layout
    position: int
    flat: bool = False


def holds_numbers(group: Group) -> bool:
    """True if an entry at any depth is a number or a mark for a missing one."""
    for item in group.items:
        if isinstance(item, Group):
            if holds_numbers(item):
                return True
        elif is_numeric(item) or is_missing(item.text):
            return True
    return False


def holds_list(group: Group) -> bool:
    """True for a list or a constructor call with numbers in it."""
    return (group.bracket in "[{" or is_data(group)) and holds_numbers(group)


def is_data(group: Group) -> bool:
    """True for a list-like part or a constructor call around one."""
    base = base_name(group.name)
    if group.bracket == "{":
        return True
    if group.bracket == "<":
        return any(isinstance(item, Group) and holds_list(item) for item in _values(group))
    if group.bracket == "[":
        return not group.name or base in TYPED or base in WRAPPERS
    if not group.name:
        lists = any(holds_list(child) for child in group.groups())
        return not any(group.keys) and (len(group.items) > 1 or lists)
    if base in LISTS or is_listed(group) or is_record(group):
        return True
    known = base in WRAPPERS | DICTIONARIES or base.endswith(("tensor", "array", "matrix"))
    return known and any(isinstance(item, Group) for item in group.items)


def _values(group: Group) -> list[Group | Cell]:
    """The items that are not metadata."""
    return [i for i, key in zip(group.items, group.keys, strict=True) if base_name(key) not in METADATA]


def is_listed(group: Group) -> bool:
    """Scala's Array(1, 2): entries as arguments."""
    return (
        base_name(group.name) == "array"
        and len(group.items) > 1
        and not any(group.keys)
        and (isinstance(group.items[0], Cell) or base_name(group.items[0].name) == "array")
    )


def is_record(group: Group) -> bool:
    """A printed object: Output(scores=tensor(…), weights=tensor(…)); its class begins with a capital letter."""
    return (
        group.bracket == "("
        and group.name.rsplit(".", 1)[-1][:1].isupper()
        and base_name(group.name) not in WRAPPERS
        and all(group.keys)
        and any(isinstance(item, Group) and holds_list(item) for item in _values(group))
    )


def is_call(group: Group) -> bool:
    """True for a named constructor, which is read by its arguments; false for lists."""
    if group.bracket == "<":
        return True
    listed = base_name(group.name) in LISTS or is_listed(group) or is_record(group)
    return group.bracket == "(" and bool(group.name) and not listed


def scalar_cell(group: Group) -> Cell | None:
    """np.float32(0.25) → its entry; Fraction(1, 4) → "1/4"; (0.25) → 0.25; None for anything else."""
    if group.bracket != "(":
        return None
    base = base_name(group.name)
    cells = [item for item in group.items if isinstance(item, Cell)]
    if len(cells) != len(group.items) or not cells or group.keys[0]:
        return None
    alone = len(cells) == 1 or all(group.keys[1:])
    if base in SCALARS and alone:
        return cells[0]._replace(scalar=base)
    if base in RATIONALS and len(cells) == 2:
        return Cell(f"{cells[0].text}/{cells[1].text}", cells[0].position)
    return cells[0] if alone and base in ("", "integer", "real", "tensor", "array") else None


def computation(text: str, group: Group) -> PasteError:
    """The refusal of a call that is not a constructor."""
    return error_at(
        text,
        group.position - len(group.name),
        "NOT_A_MATRIX",
        f"{shorten(group.name + group.bracket)} is a computation; paste the numbers it gives.",
    )
