"""The catalogue: every entry of every family, by id, and the formulas of one setting ready to run.

Does not: compare anything; match.py does.
"""

from __future__ import annotations

from . import bias, blocks, dropout, heads, mask, options, precision, product, scale, softcap, softmax
from .entry import Entry
from .flow import Variant, stack
from .setting import Setting

FAMILIES = tuple(
    module.FAMILY
    for module in (scale, softmax, mask, product, heads, softcap, bias, dropout, blocks, precision, options)
)
CATALOGUE: dict[str, Entry] = {entry.id: entry for family in FAMILIES for entry in family.entries}
# Recognised from the numbers although no fixed formula can be run beforehand.
RECOVERED = ("D1", "H10", "P1")


def variants(setting: Setting) -> list[Variant]:
    """Every formula that this problem admits, those of one step stacked."""
    return stack(variant for family in FAMILIES for variant in family.variants(setting))


def recognisable() -> tuple[str, ...]:
    """Ids that a diagnosis can name: all but those whose numbers are right."""
    return tuple(
        entry.id for entry in CATALOGUE.values() if entry.variants is not None or entry.id in RECOVERED
    )
