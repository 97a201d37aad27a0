"""Where frameworks legitimately disagree, as data: what each makes of the same arguments.

The facts stand in conventions.json with their sources, measured or read in November 2026.
Does not: model kernels, dropout or caches, only what the arguments mean; explain/differences.py compares two.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from .errors import OptionError
from .options import EmptyRow


@dataclass(frozen=True)
class Convention:
    """What one framework makes of the same arguments; None where it leaves that open or it is unknown."""

    id: str
    aliases: list[str]
    name: str
    version: str
    causal: Literal["top-left", "bottom-right"] | None  # how its causal switch aligns when n ≠ m
    true_means: Literal["keep", "mask out"] | None  # True in its boolean mask
    empty_row: EmptyRow | None  # weights of a row emptied by boolean masks
    empty_row_bias: EmptyRow | None  # by a −∞ bias
    scale: Literal["sqrt_dk", "none"] | None  # its default
    causal_drops_mask: bool  # with causal on, keep and bias are ignored
    notes: list[str]
    source: str


@cache
def conventions() -> dict[str, Convention]:
    """Every convention by id, in the order of the file."""
    import json

    rows = json.loads(Path(__file__).with_name("conventions.json").read_text("utf-8"))
    return {row["id"]: Convention(**row) for row in rows}


def convention(framework: str) -> Convention:
    """The convention with this id or alias. Raises OptionError, field "framework", with the known ids."""
    for each in conventions().values():
        if framework in (each.id, *each.aliases):
            return each
    raise OptionError(f"framework must be one of {', '.join(conventions())}; got {framework!r}", "framework")
