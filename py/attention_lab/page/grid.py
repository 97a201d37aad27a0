"""The grid editor's behaviour: arrow keys, Enter, pasted blocks, rows and columns added or removed.

The text box stays the one source: every change of a cell writes the box, and the app reads the box as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attention_lab.core import LabError
from attention_lab.inputs.paste import format_matrix, parse_matrix
from attention_lab.page.dom import by_id, data, every, number, on, one
from attention_lab.render.grid import MOST_CELLS, grid

Cells = list[list[str]]
MOVES = {"ArrowUp": (-1, 0), "ArrowDown": (1, 0), "Enter": (1, 0), "ArrowLeft": (0, -1), "ArrowRight": (0, 1)}


class Grids:
    """The open grid editors. `changed(name)` is called after a cell has written its text box."""

    def __init__(self, changed: Callable[[str], object], say: Callable[[str, str], object]) -> None:
        self._changed = changed
        self._say = say
        self._open: set[str] = set()
        form = by_id("lab-form")
        on(form, "click", self._on_click)
        on(form, "input", self._on_input)
        on(form, "keydown", self._on_key)
        on(form, "paste", self._on_paste)

    def refresh(self) -> None:
        """Show what the text boxes say now, unless the reader is in the grid itself."""
        for name in self._open:
            if not one(f'[data-grid-for="{name}"]:focus-within'):
                self._draw(name, self._read_box(name))

    def _read_box(self, name: str) -> Cells | None:
        try:
            values = parse_matrix(str(by_id(name).value)).values
        except LabError:
            return None
        if values.ndim != 2 or max(values.shape) > MOST_CELLS:
            return None
        return [line.split(" ") for line in format_matrix(values).split("\n")]

    def _draw(self, name: str, cells: Cells | None) -> None:
        place = one(f'[data-grid-for="{name}"]')
        if cells is None:
            place.innerHTML = (
                f'<p class="hint">The grid opens for a matrix of up to {MOST_CELLS}×{MOST_CELLS} numbers that can be read. '
                "Mend the text first.</p>"
            )
        else:
            place.innerHTML = grid(name, cells)

    def _cells(self, name: str) -> Cells:
        cells: Cells = []
        for element in every(f'input[data-grid="{name}"]'):
            if number(element, "c") == 0:
                cells.append([])
            cells[-1].append(str(element.value).strip())
        return cells

    def _store(self, name: str, cells: Cells) -> None:
        by_id(name).value = "\n".join("\t".join(text or "?" for text in line) for line in cells)
        self._changed(name)

    def _on_click(self, event: Any) -> None:
        toggle = event.target.closest("[data-grid-toggle]")
        if toggle:
            name = str(data(toggle, "grid-toggle"))
            opened = name not in self._open
            (self._open.add if opened else self._open.discard)(name)
            toggle.setAttribute("aria-expanded", "true" if opened else "false")
            one(f'[data-grid-for="{name}"]').hidden = not opened
            if opened:
                self._draw(name, self._read_box(name))
            return
        change = event.target.closest("[data-grid-change]")
        if change:
            name, what = str(data(change, "grid-change")).split(" ")
            self._resize(name, what)
            again = one(f'[data-grid-change="{name} {what}"]')
            if again:
                again.focus()

    def _resize(self, name: str, what: str) -> None:
        cells = self._cells(name)
        rows, columns = len(cells), len(cells[0])
        if what == "add-row" and rows < MOST_CELLS:
            cells.append(["0"] * columns)
        elif what == "drop-row" and rows > 1:
            cells.pop()
        elif what == "add-column" and columns < MOST_CELLS:
            cells = [[*line, "0"] for line in cells]
        elif what == "drop-column" and columns > 1:
            cells = [line[:-1] for line in cells]
        self._draw(name, cells)
        self._store(name, cells)

    def _on_input(self, event: Any) -> None:
        name = data(event.target, "grid")
        if name:
            event.stopPropagation()
            self._store(str(name), self._cells(str(name)))

    def _on_key(self, event: Any) -> None:
        target, key = event.target, str(event.key)
        if not data(target, "grid") or key not in MOVES or event.isComposing:
            return
        if key == "ArrowLeft" and (target.selectionStart or target.selectionEnd):
            return
        if key == "ArrowRight" and target.selectionStart < len(str(target.value)):
            return
        event.preventDefault()  # Enter must not submit, arrows must not scroll
        down, right = MOVES[key]
        self._focus(str(data(target, "grid")), number(target, "r") + down, number(target, "c") + right)

    def _focus(self, name: str, i: int, j: int) -> None:
        there = one(f'input[data-grid="{name}"][data-r="{i}"][data-c="{j}"]')
        if there:
            there.focus()
            there.select()

    def _on_paste(self, event: Any) -> None:
        name = data(event.target, "grid")
        text = str(event.clipboardData.getData("text/plain")) if name and event.clipboardData else ""
        if not name or len(text.split()) < 2:
            return  # a single number goes into the cell as usual
        event.preventDefault()
        name = str(name)
        try:
            block = [line.split(" ") for line in format_matrix(parse_matrix(text).values).split("\n")]
        except LabError as error:
            self._say(name, f"The pasted block was left out: {error}")
            return
        cells = self._cells(name)
        top, left = number(event.target, "r"), number(event.target, "c")
        rows, columns = max(len(cells), top + len(block)), max(len(cells[0]), left + len(block[0]))
        if max(rows, columns) > MOST_CELLS:
            self._say(
                name,
                f"The pasted block of {len(block)}×{len(block[0])} from this cell would make {rows}×{columns}; "
                f"the grid goes up to {MOST_CELLS}×{MOST_CELLS}. Paste it into the text box instead.",
            )
            return
        cells = [line + ["0"] * (columns - len(line)) for line in cells]
        cells += [["0"] * columns for _ in range(rows - len(cells))]
        for i, line in enumerate(block):
            cells[top + i][left : left + len(line)] = line
        self._draw(name, cells)
        self._store(name, cells)
        self._focus(name, top, left)
