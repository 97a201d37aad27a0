"""Entry: one catalogued mistake, its description as data and, when it can be computed, its formula as a function.

Does not: hold the mistakes themselves; those stand in one module per family, and mistakes.py collects them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .flow import Variant
from .setting import Setting

Maker = Callable[[Setting], Iterable[Variant]]


@dataclass(frozen=True, eq=False)
class Entry:
    """One way in which attention code goes wrong.

    says         a clause that completes "your numbers are what comes out when …"
    formula      in plain text; Z = QKᵀ/√d, W the weights, B the bias, c the scale
    fingerprint  what gives it away in the numbers
    needs        what the input must have for the mistake to show
    same_as      what it cannot be told from, and when
    numpy, torch the correction
    links        public reports of it; may be empty
    frameworks   libraries in which it is the documented behaviour
    variants     None for a mistake that cannot be computed from Q, K, V; `note` then says why
    """

    id: str
    family: str
    name: str
    says: str
    formula: str
    fingerprint: str
    needs: str
    numpy: str
    torch: str
    same_as: str = ""
    links: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    convention: bool = False
    note: str = ""
    variants: Maker | None = field(default=None, repr=False)


class Family:
    """Collects the entries of one module: `@FAMILY.mistake("S1", …)` above the function that computes it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.entries: list[Entry] = []

    def mistake(self, id: str, **about: Any) -> Callable[[Maker], Maker]:
        def keep(maker: Maker) -> Maker:
            self.add(id, variants=maker, **about)
            return maker

        return keep

    def add(self, id: str, **about: Any) -> None:
        """An entry without a formula of its own."""
        links = tuple(_link(text) for text in about.pop("links", ()))
        self.entries.append(Entry(id=id, family=self.name, links=links, **about))

    def variants(self, setting: Setting, skip: frozenset[str] = frozenset()) -> Iterator[Variant]:
        for entry in self.entries:
            if entry.variants is not None and entry.id not in skip:
                yield from entry.variants(setting)


def _link(text: str) -> str:
    """ "owner/repository#12" → the address of that issue; with "!" instead of "#", of that pull request."""
    kind, sign = ("pull", "!") if "!" in text else ("issues", "#")
    repository, number = text.split(sign)
    return f"https://github.com/{repository}/{kind}/{number}"
