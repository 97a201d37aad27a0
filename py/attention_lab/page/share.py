"""The Share dialog's behaviour: writes the chosen text, saves it, copies it, and shows worksheets.

Where a frame forbids saving and copying, the text is selected instead, so that the keyboard can copy it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attention_lab.core import LabError
from attention_lab.page.copying import Copying, show_text
from attention_lab.page.dom import by_id, data, every, on, one, root, window
from attention_lab.page.download import save_bytes, save_png, save_text
from attention_lab.render import share
from attention_lab.render.recipes import RECIPES, Frame, recipe
from attention_lab.state import State
from attention_lab.teach.plan import Plan

if TYPE_CHECKING:
    from attention_lab.page.app import App

LAB_TITLES = {
    "calculator": "Attention Lab: calculator",
    "walkthrough": "Attention Lab: walkthrough",
    "heatmap": "Attention Lab: heatmap",
    "check": "Attention Lab: check mine",
}
SINGLE_FILE = "attention-lab.html"


def closed_frame() -> bool:
    """True in a frame without an origin of its own, which may not save, print or use the clipboard (static/embed.js)."""
    return bool(root.hasAttribute("data-closed"))


class SharePage:
    """The dialog and the worksheets of one page."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.tab = "export"
        self.format = share.FIRST_FORMAT
        self.plan = Plan()
        self.shown_sheet: str | None = None
        self._copying = Copying(self._note, lambda words, text: self._select(words))
        box = by_id("share-dialog")
        on(box, "click", self._on_click)
        on(box, "input", self._on_change)
        on(by_id("worksheet"), "click", self._on_sheet_click)

    # the dialog

    def open(self, tab: str | None = None) -> None:
        """Show the dialog, on the tab it was left on."""
        self.tab = tab or self.tab
        self._draw()
        if not by_id("share-dialog").open:
            by_id("share-dialog").showModal()

    def _draw(self) -> None:
        by_id("share-body").innerHTML = share.dialog(self.tab, self.app.state, self.plan, self.format)
        self._refresh()

    def _refresh(self) -> None:
        """Write the text that the controls ask for."""
        try:
            if self.tab == "export":
                self._write_export()
            elif self.tab == "embed":
                self._write_embed()
            self._say("")
        except LabError as error:
            by_id("share-text").value = ""
            self._say(str(error))

    def _say(self, message: str) -> None:
        place = by_id("share-error")
        place.textContent = message
        place.hidden = not message

    def _write_export(self) -> None:
        from attention_lab.export.formats import format_of, write

        if self.app.state.blank:
            raise LabError(
                "The answers of this link are hidden until they are checked, so there is nothing to export yet."
            )
        view = self.app.result()
        material = share.material_of(view, self.address(self.app.state))
        note = share.export_note(self.format, material)
        self.content: str | bytes
        if self.format in ("svg", "png"):
            self.content = share.picture_of(view)
            self.file, self.media = f"attention-heatmap.{self.format}", "image/svg+xml"
            text = self.content
        else:
            chosen = format_of(self.format)
            self.content = write(self.format, material)
            self.file, self.media = chosen.file, chosen.media
            text = self.content if isinstance(self.content, str) else self._bytes_as_text(self.content)
        by_id("share-text").value = text
        by_id("share-note").textContent = note
        one('[data-share-do="copy"]').disabled = isinstance(self.content, bytes) and not closed_frame()

    def _bytes_as_text(self, content: bytes) -> str:
        """A data file for eyes; where it cannot be saved, a program that makes it."""
        if not closed_frame():
            return f"{self.file}: {len(content):,} bytes. Save it."
        import base64

        text = base64.b64encode(content).decode()
        return f'import base64\n\nopen("{self.file}", "wb").write(base64.b64decode("{text}"))\n'

    def _write_embed(self) -> None:
        hidden = tuple(str(data(box, "hide-panel")) for box in every("input[data-hide-panel]") if box.checked)
        raw = str(by_id("embed-height").value).strip()
        if not (raw.isascii() and raw.isdigit() and 50 <= int(raw[:6]) <= 10_000):
            raise LabError(f"Height: expected a whole number from 50 to 10000; got “{raw[:20]}”.")
        state = replace(self.app.state, embed=True, hide=hidden)
        self.embed_address = self.address(state)
        frame = Frame(
            self.embed_address, LAB_TITLES[state.lab], int(raw), bool(by_id("embed-sandbox").checked)
        )
        chosen = str(by_id("embed-recipe").value)
        by_id("share-text").value = recipe(chosen, frame)
        hints = {item.id: item.hint for item in RECIPES}
        note = hints[chosen]
        if str(window.location.protocol) == "file:":
            note += f" This page is open from a file: put {SINGLE_FILE} beside your page, or write the address of your site instead."
        by_id("share-note").textContent = note

    def address(self, state: State) -> str:
        """The full address of a state; of a page that is open from a file, the file's name alone."""
        from attention_lab.page.app import PACK_ABOVE

        here = str(window.location.href).split("#")[0]
        if not here.startswith(("http:", "https:")):
            here = SINGLE_FILE
        return f"{here}#{state.to_fragment(PACK_ABOVE)}"

    def _on_change(self, event: Any) -> None:
        target = event.target
        if target.id == "share-format":
            self.format = str(target.value)
        if self.tab == "worksheet":
            try:
                self._read_plan()
                self._say("")
            except LabError as error:
                self._say(str(error))
            return
        self._refresh()

    def _on_click(self, event: Any) -> None:
        target = event.target
        if not getattr(target, "closest", None):
            return
        tab = target.closest("[data-share-tab]")
        if tab:
            self.tab = str(data(tab, "share-tab"))
            self._draw()
            again = one(f'[data-share-tab="{self.tab}"]')
            again.focus()
            return
        button = target.closest("[data-share-do]")
        if button:
            self._do(str(data(button, "share-do")))

    def _do(self, what: str) -> None:
        if what == "copy":
            self.copy()
        elif what == "save" and self.tab == "embed":
            window.open(self.embed_address, "_blank", "noopener")
        elif what == "save":
            self._save()
        elif what == "another":
            self.plan = replace(self.plan, seed=(self.plan.seed + 1) % 1_000_000)
            by_id("sheet-seed").value = str(self.plan.seed)
        elif what in ("sheets", "quiz"):
            try:
                self._read_plan()
                self._make() if what == "sheets" else self._quiz()
            except LabError as error:
                self._say(str(error))

    def _save(self) -> None:
        content = getattr(self, "content", None)
        if content is None or not by_id("share-error").hidden:
            return
        if closed_frame():
            self._select("This frame may not save files. The text is selected: copy it with the keyboard.")
        elif isinstance(content, bytes):
            save_bytes(self.file, self.media, content)
        elif self.format == "png":
            save_png(self.file, content)
        else:
            save_text(self.file, self.media, content)

    def copy(self) -> None:
        """Copy the text, or select it where the clipboard is closed."""
        self._copying.copy(str(by_id("share-text").value))

    def _note(self, message: str) -> None:
        by_id("share-note").textContent = message

    def _select(self, message: str) -> None:
        by_id("share-text").focus()
        by_id("share-text").select()
        self._note(message)

    # worksheets

    def _read_plan(self) -> None:
        parts = []
        for field in every("#share-dialog [data-plan]"):
            value = ("1" if field.checked else "0") if field.type == "checkbox" else str(field.value).strip()
            parts.append(f"{data(field, 'plan')}={value}")
        blank = [
            str(data(box, "plan-blank")) for box in every("#share-dialog [data-plan-blank]") if box.checked
        ]
        self.plan = Plan.from_text("&".join([*parts, "blank=" + ",".join(blank)]))

    def _make(self) -> None:
        from attention_lab.teach.worksheet import sheets

        sheets(self.plan)  # refuses here, where the sentence can be read
        by_id("share-dialog").close()
        self.app.go(self.app.state.with_values({"sheet": self.plan.to_text()}), push=True)

    def _quiz(self) -> None:
        from attention_lab.explain.stages import stages

        names = [item.name for item in stages(self.app.result().slice_trace) if item.name in self.plan.blank]
        if not names:
            raise LabError(
                "Choose at least one of scores, scaled scores, masked scores, weights or output to be left blank."
            )
        by_id("share-dialog").close()
        self.app.go(
            replace(self.app.state, lab="calculator", sheet=None, blank=tuple(names), row=None), push=True
        )

    def show_sheet(self) -> str:
        """Draw the sheets of the state, or take them away; returns what is wrong with `sheet=`, or ""."""
        text = self.app.state.sheet
        place = by_id("worksheet")
        error = ""
        if text:
            from attention_lab.render.worksheet import worksheet_or_error

            html, error = worksheet_or_error(text, self._sheet_link)
            if not error:
                if text != self.shown_sheet:
                    place.innerHTML = (
                        f'<h1 class="visually-hidden">Worksheets</h1><div class="sheet-scroll">{html}</div>'
                    )
                    self.shown_sheet = text
                    self.plan = Plan.from_text(text)
                if place.hidden:
                    place.hidden = False
                    root.dataset.sheet = "1"
                    window.scrollTo(0, 0)
                    place.focus()
                return ""
        if not place.hidden:
            place.hidden = True
            root.removeAttribute("data-sheet")
        return error

    def _sheet_link(self, values: dict[str, str]) -> str:
        return self.address(State.from_values(values.items()))

    def _on_sheet_click(self, event: Any) -> None:
        button = event.target.closest("[data-sheet-do]") if getattr(event.target, "closest", None) else None
        if not button or not self.app.state.sheet:
            return
        what = str(data(button, "sheet-do"))
        if what == "print":
            if closed_frame():
                show_text(
                    "This frame may not print. Open this address by itself", self.address(self.app.state)
                )
            else:
                window.print()
        elif what == "latex":
            from attention_lab.export.worksheet_latex import worksheet_latex

            self._offer(
                "attention-worksheet.tex",
                "application/x-tex",
                worksheet_latex(self.app.state.sheet, self._sheet_link),
            )
        elif what == "html":
            from attention_lab.render.worksheet import standalone
            from attention_lab.render.worksheet_style import STYLE

            page = standalone(self.app.state.sheet, self._sheet_link, STYLE)
            self._offer("attention-worksheet.html", "text/html", page)
        else:
            self.app.go(self.app.state.with_values({"sheet": ""}), push=True)
            if what == "change":
                self.open("worksheet")

    def _offer(self, name: str, media: str, text: str) -> None:
        if closed_frame():
            show_text("This frame may not save files. The text is selected: copy it with the keyboard", text)
        else:
            save_text(name, media, text)
