"""Cells of the stage tables under the pointer and the keyboard: moving, Tab's way in, and what a cell came from.

Draws no table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attention_lab.core import LabError
from attention_lab.explain.cell import cell, regions_to_selectors
from attention_lab.page.dom import LiveSheet, Once, data, document, number, on, one

if TYPE_CHECKING:
    from attention_lab.page.app import App

ARROWS = {"ArrowUp": (-1, 0), "ArrowDown": (1, 0), "ArrowLeft": (0, -1), "ArrowRight": (0, 1)}
_STYLES = {
    "here": "outline:2px solid var(--accent);outline-offset:-2px",
    "lit": "background:var(--lit);color:var(--lit-ink);box-shadow:inset 0 -2px var(--accent)",
    "behind": "background:var(--behind);color:var(--ink)",
}


class Cells:
    """The cell that is pointed at, and in each table the one that Tab reaches."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._pointed: tuple[str, int, int] | None = None
        self._stops: dict[str, tuple[int, int]] = {}
        self._sheet = LiveSheet()
        self._next = Once(self._show)
        on(document, "pointerover", self._on_point, passive=True)
        on(document, "focusin", self._on_point)

    def move(self, element: Any, key: str) -> None:
        """From a cell to its neighbour in the direction of an arrow key."""
        down, right = ARROWS[key]
        table = element.closest("table")
        i, j = int(data(element, "i") or 0) + down, int(data(element, "j") or 0) + right
        there = table.querySelector(f'td[data-i="{i}"][data-j="{j}"]')
        if there:
            element.removeAttribute("tabindex")
            there.tabIndex = 0
            there.focus()
            stage = data(table, "stage")
            if stage:
                lab = self._app.state.lab
                self._stops[f'[data-lab-panel="{lab}"] table[data-stage="{stage}"]'] = (i, j)

    def keep_stops(self) -> None:
        """Tab reaches the cell of a table that the reader moved to, whatever has been written of the table since."""
        for selector, (i, j) in list(self._stops.items()):
            table = one(selector)
            there = table and table.querySelector(f'td[data-i="{i}"][data-j="{j}"]')
            if not there:
                del self._stops[selector]
                continue
            for other in table.querySelectorAll('td[tabindex="0"]'):
                other.tabIndex = -1
            there.tabIndex = 0

    def _on_point(self, event: Any) -> None:
        target = event.target
        found = target.closest("table[data-stage] td[data-i]") if getattr(target, "closest", None) else None
        if found:
            place = (str(data(found.closest("table"), "stage")), number(found, "i"), number(found, "j"))
            if place != self._pointed:
                self._pointed = place
                self._next()

    def _show(self) -> None:
        """Light up what the cell was computed from, and write its arithmetic."""
        view, state = self._app.view, self._app.state
        if view is None or self._pointed is None or state.blank:
            return
        stage, i, j = self._pointed
        try:
            story = cell(view.slice_trace, stage, i, j, view.write, view.first)
        except LabError:
            return  # the pointer rests on an old table whose cell is gone
        css = ""
        for regions, style in ((story.behind, "behind"), (story.reads, "lit")):
            selectors = regions_to_selectors(regions)
            if selectors:
                css += f"{','.join(selectors)}{{{_STYLES[style]}}}\n"
        css += f'[data-stage="{stage}"] td[data-i="{i}"][data-j="{j}"]{{{_STYLES["here"]}}}'
        self._sheet.show(css)
        place = one(f'[data-lab-panel="{state.lab}"] .cell-formula')
        if place:
            place.textContent = story.text


def focus_key() -> str | None:
    """A selector that finds the focused element again after its slot has been written anew."""
    active = document.activeElement
    if not active or not active.closest("[data-slot]"):
        return None
    if data(active, "set"):
        return f'[data-set="{data(active, "set")}"]'
    table = active.closest("table[data-stage]")
    if table and data(active, "i"):
        return f'table[data-stage="{data(table, "stage")}"] td[data-i="{data(active, "i")}"][data-j="{data(active, "j")}"]'
    return f"#{active.id}" if active.id else None
