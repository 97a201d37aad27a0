"""What the Heatmap needs beyond clicks on `data-set`: moving and removing tokens, the log slider, exports, canvases.

Turns events into another State and hands it to the app. Computes and draws nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from attention_lab.core import LabError
from attention_lab.inputs.sentence import moved, read_tokens, without
from attention_lab.page.canvas import show_canvases
from attention_lab.page.dom import Once, by_id, document, on, one
from attention_lab.page.download import save_png, save_text
from attention_lab.render.heat_sentence import OPEN_CHIPS, chip_list
from attention_lab.render.heatmap import is_large, render_row, selected_row

if TYPE_CHECKING:
    from attention_lab.inputs.tokenize import Tokens
    from attention_lab.page.app import App

NEUTRAL_WIDTH = 0.03
"""Decades around T = 1 in which the slider snaps to exactly 1."""


class HeatmapPage:
    """Listens once for the life of the page; `show` runs after every drawing of the lab."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.dragged: int | None = None
        self.next_row = Once(self._show_row)
        on(document, "click", self._on_click)
        on(document, "keydown", self._on_key)
        for event, handler in (
            ("dragstart", self._on_drag),
            ("dragover", self._on_over),
            ("drop", self._on_drop),
        ):
            on(document, event, handler)
        on(by_id("T-slider"), "input", self._on_slider)
        self.chips_open: bool | None = None

    def show(self) -> None:
        """Bring the slider and the canvases up to the view, and keep the keyboard on the chosen word."""
        view = self.app.view
        if view is None:
            return
        slider = by_id("T-slider")
        if document.activeElement != slider:
            slider.value = str(math.log10(view.state.T))
        slider.setAttribute("aria-valuetext", f"T = {view.state.T:g}")
        fold = one("details.chips")
        if fold and view.slice.key_labels:
            few = len(view.slice.key_labels) <= OPEN_CHIPS
            wanted = few if self.chips_open is None else self.chips_open  # as the reader left it
            if bool(fold.open) != wanted:
                fold.open = wanted
        if fold and fold.open and not view.state.real_head:
            self._fill_chips(fold)
        if view.state.real_head and self.app.model is not None:
            self.app.model.show_heads()
        show_canvases(view, self._open_row, selected_row(view))
        if is_large(view):
            self.next_row()
        if document.activeElement and document.activeElement.closest(".strip"):
            current = one('.strip [aria-current="true"]')
            if current:
                current.focus()

    def _show_row(self) -> None:
        view = self.app.view
        if view is not None and view.state.lab == "heatmap":
            self.app._write(render_row(view))
            self.app._mark_row("heatmap")

    def _open_row(self, i: int) -> None:
        self.app.go(self.app.state.with_values({"row": str(i)}), push=False)

    def _on_slider(self, event: Any) -> None:
        decades = float(event.target.value)
        t = 1.0 if abs(decades) < NEUTRAL_WIDTH else float(f"{10**decades:.3g}")
        by_id("T").value = f"{t:g}"  # the slider has no name in the form: T is its field
        self.app.edit("T")

    # tokens

    def _fill_chips(self, fold: Any) -> None:
        """Write the list of a folded box when it is opened; closed, hundreds of chips would only cost time."""
        view, place = self.app.view, fold.querySelector(".chip-list")
        if place and not place.firstChild and view is not None and view.slice.key_labels:
            place.innerHTML = chip_list(view.slice.key_labels, selected_row(view))

    def _sentence(self) -> Tokens | None:
        """The tokens that the chips on show stand for; None, aloud, when the sentence has changed since."""
        text = self.app.state.text or ""
        if self.app.view is None or self.app.view.state.text != text:
            self.app.add_error("link", "These tokens are those of an older sentence: mend the inputs first.")
            return None
        return read_tokens(text)

    def _edit(self, action: str, index: int) -> None:
        tokens = self._sentence()
        if tokens is None:
            return
        count, row = len(tokens.tokens), self.app.state.row
        to = {"left": index - 1, "right": index + 1}.get(action)
        if to is not None:
            self._move(index, to)
        elif action == "remove" and count > 1:
            text = without(tokens, index)
            if row is not None and (row > index or row == count - 1):
                row -= 1
            self._go(text, row, min(index, count - 2))

    def _move(self, index: int, to: int) -> None:
        tokens = self._sentence()
        if tokens is not None and 0 <= to < len(tokens.tokens) and to != index:
            self._go(moved(tokens, index, to), to, to)

    def _go(self, text: str, row: int | None, focus: int) -> None:
        self.app.go(
            self.app.state.with_values({"text": text, "row": "" if row is None else str(row)}), push=True
        )
        chip = one(f'[data-chip="{focus}"]')
        if chip:
            chip.focus()

    def _on_click(self, event: Any) -> None:
        if not getattr(event.target, "closest", None):
            return
        button = event.target.closest("[data-token]")
        if button:
            self._edit(str(button.dataset.token), int(button.dataset.index))
        summary = event.target.closest("details.chips > summary")
        if summary:
            self.chips_open = not summary.parentElement.open  # the click opens or closes it after this
            if self.chips_open:
                self._fill_chips(summary.parentElement)
        export = event.target.closest("[data-export]")
        if export:
            self._export(str(export.dataset.export))

    def _on_key(self, event: Any) -> None:
        chip = event.target.closest("[data-chip]")
        key = str(event.key)
        if not chip:
            return
        if key in ("Delete", "Backspace"):
            action = "remove"
        elif event.altKey and key in ("ArrowLeft", "ArrowRight"):
            action = key.removeprefix("Arrow").lower()
        else:
            return
        event.preventDefault()
        self._edit(action, int(chip.dataset.chip))

    def _on_drag(self, event: Any) -> None:
        chip = event.target.closest("[data-chip]") if getattr(event.target, "closest", None) else None
        self.dragged = int(chip.dataset.chip) if chip else None
        if chip:
            event.dataTransfer.setData("text/plain", chip.textContent)
            event.dataTransfer.effectAllowed = "move"

    def _on_over(self, event: Any) -> None:
        if self.dragged is not None and event.target.closest(".chip-list"):
            event.preventDefault()

    def _on_drop(self, event: Any) -> None:
        dragged, self.dragged = self.dragged, None
        item = event.target.closest(".chip-list li") if dragged is not None else None
        if item:
            event.preventDefault()
            self._move(dragged or 0, int(item.querySelector("[data-chip]").dataset.chip))

    # files

    def _export(self, kind: str) -> None:
        from attention_lab.render.heat_export import export_csv, export_svg

        try:
            view = self.app.result()
        except LabError as error:
            self.app.add_error("link", str(error))
            return
        if kind == "csv":
            save_text("attention-weights.csv", "text/csv", export_csv(view))
        elif kind == "svg":
            save_text("attention-heatmap.svg", "image/svg+xml", export_svg(view))
        elif kind == "png":
            save_png("attention-heatmap.png", export_svg(view))
