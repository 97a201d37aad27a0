"""The app: page event → State → View → slots → page. The one flow, and nothing else.

Arithmetic, parsing and drawing live elsewhere; this decides when they run and keeps the last good result.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attention_lab.compute import OPENINGS, shapes_of, unplaced, view_of
from attention_lab.core import LabError
from attention_lab.page import edits, form
from attention_lab.page.cells import ARROWS, Cells, focus_key
from attention_lab.page.copying import Copying, open_report, show_text
from attention_lab.page.dom import (
    Failures,
    JsException,
    Later,
    Once,
    by_id,
    console,
    data,
    document,
    every,
    on,
    one,
    root,
    window,
    write_html,
)
from attention_lab.page.files import Files
from attention_lab.page.grid import Grids
from attention_lab.page.history import History
from attention_lab.page.marks import mark
from attention_lab.render.calculator import copied
from attention_lab.render.page import (
    first,
    fold_line,
    framework_notes,
    lesson,
    render,
)
from attention_lab.render.said import said
from attention_lab.render.view import View
from attention_lab.render.walkthrough import beyond
from attention_lab.state import State

if TYPE_CHECKING:
    from attention_lab.page.answers import AnswersPage
    from attention_lab.page.check import CheckPage
    from attention_lab.page.heatmap import HeatmapPage
    from attention_lab.page.model import ModelPage
    from attention_lab.page.player import Player
    from attention_lab.page.share import SharePage

PACK_ABOVE = 4000
REST_MS = 100
"""How long an edit of large matrices must rest before its row, summary and checks follow its stages."""
SAVE_MS, SAVE_LONG_MS, LONG = 250, 1000, 20_000
"""How long edits must pause before the address follows; of a state of more than LONG characters, which takes a while."""
LARGEST_LINK = 400_000
"""Characters of numbers up to which a state is kept in the address."""
OLD_RESULT = (
    "Old result: the inputs have changed but cannot be computed yet. See the sentence beside the field."
)
NO_RESULT = "There is no result yet: see the sentence beside the field."
LAB_NAMES = {
    "calculator": "Calculator",
    "walkthrough": "Walkthrough",
    "heatmap": "Heatmap",
    "check": "Check mine",
}


class App:
    """Binds one page. `state` is what the reader asked for; `view` is the last good result."""

    def __init__(self) -> None:
        self.state = State.opening()
        self.view: View | None = None
        self.shown: dict[str, str] = {}
        self.errors: dict[str, str] = {}
        self.remembered: dict[str, State] = {}
        self.edited: str | None = None
        self.typed = False
        self.drawn_lab: str | None = None
        self.named: tuple[str, bool] | None = None
        self.resting = False
        self.histories: dict[str, History] = {}
        self.heatmap: HeatmapPage | None = None
        self.player: Player | None = None
        self.check: CheckPage | None = None
        self.sharing: SharePage | None = None
        self.answers: AnswersPage | None = None
        self.model: ModelPage | None = None
        self.next_edit = Once(self._apply_edit)
        self.copying = Copying(self.announce, show_text)
        self.next_rest = Later(self._show_rest, REST_MS)
        self.save = Later(self._save_link, SAVE_MS)
        self.address = ""
        """The fragment that `state` was read from or written to; another one in the address bar is on its way here."""

    @property
    def history(self) -> History:
        """Each lab undoes its own changes."""
        return self.histories.setdefault(self.state.lab, History())

    def start(self) -> None:
        """Take over from the prerendered page: keep what the reader did meanwhile, and compute."""
        self.address = str(window.location.hash)
        self.state = State.from_fragment(self.address)
        early = form.touched((data(root, "touched") or "").split())
        form_element = by_id("lab-form")
        if early:
            self._catch_up(early)
        Failures.tell = lambda error: self.add_error("link", self._broken(error))
        self.grids = Grids(self.edit, self.add_error)
        self.files = Files(self._on_files, lambda message: self.add_error("files", message))
        on(form_element, "input", self._on_input)
        on(document, "click", self._on_click)
        on(document, "keydown", self._on_key)
        self.cells = Cells(self)
        on(window, "hashchange", self._on_hash)
        on(window, "pagehide", self._on_leave)
        as_built = not early and self.state == State.opening() and bool(window.labAsBuilt())
        self.show(write_form=not early, as_built=as_built)
        if early:
            self._save_soon()
        root.dataset.python = "ready"
        status = by_id("python-status")
        status.textContent = "Python ready"
        status.dataset.status = "ready"

    def _catch_up(self, early: list[tuple[str, str | bool]]) -> None:
        """Make the edits that were made before Python ran, one after the other, on the state of the link."""
        form.write(self.state)
        for name, value in early:
            form.put(name, value)
            self.edited = name
            self.state = edits.after(self.state, self.edited, form.read(self.edited))
            if name in edits.REWRITES_FORM:
                form.write(self.state)

    # events → State

    def _on_input(self, event: Any) -> None:
        if event.target.name:  # the cells of a grid have none: they write their text box instead
            name = str(event.target.name)
            if (
                self.next_edit.waiting and name != self.edited
            ):  # two fields are two edits, even within one frame
                newer = form.touched([name])
                self.next_edit.now()
                form.put(*newer[0])
            self.edited = name
            self.typed = str(event.target.type) in ("text", "textarea", "range", "number")
            if self.typed:
                self.next_edit()
            else:
                self._apply_edit()

    def _on_leave(self, event: Any) -> None:
        """A closed page that is opened again has its last edit in the address."""
        self.next_edit.now()
        self.save.now()

    def edit(self, name: str) -> None:
        """A field was changed by something that writes it for the reader: a grid, a slider."""
        if self.edited != name:
            self.next_edit.now()
        self.edited, self.typed = name, True
        self.next_edit()

    def _on_files(self, values: dict[str, str]) -> None:
        base = self.state
        if set(values) & set(edits.MATRICES):
            base = replace(base, text=None, example=None, labels=None, model=None)
        self.go(base.with_values(values), push=True)

    def _apply_edit(self) -> None:
        self.go(
            edits.after(self.state, self.edited, form.read(self.edited)),
            push=self.edited == "example",
            from_form=True,
        )

    def _on_click(self, event: Any) -> None:
        target = event.target
        if not getattr(target, "closest", None):
            return
        self.next_edit.now()  # what was typed just before counts, however busy the page was
        setter = target.closest("[data-set]")
        if setter:
            self.go(
                self.state.with_values(_pairs(str(data(setter, "set")))),
                push=not setter.hasAttribute("data-key"),
            )
            return
        link = target.closest("[data-lab-link]")
        if link and not (event.ctrlKey or event.metaKey or event.shiftKey):
            event.preventDefault()
            self._open_lab(str(data(link, "lab-link")))
            return
        action = target.closest("[data-action]")
        if action:
            self._act(str(data(action, "action")))
        elif target.id == "copy-link":
            self.copying.copy(
                str(window.location.href).split("#")[0] + "#" + self.state.to_fragment(PACK_ABOVE)
            )
        elif target.id == "share":
            self.share.open()
        elif target.id == "report":
            open_report(self.state.to_fragment())
        elif target.id == "report-copy":
            self.copying.copy(str(by_id("report-text").value))
        elif target.hasAttribute("data-close"):
            target.closest("dialog").close()

    def _act(self, name: str) -> None:
        if name == "reset":
            self.go(State.opening(self.state.lab), push=True)
        elif name == "pin":
            self.go(self.state.pinned(), push=True)
        elif name in ("undo", "redo"):
            state = getattr(self.history, name)(self.state)
            if state is not None:
                self.state = state
                self.show()
                self._save_soon()
                self.announce(f"{name.capitalize()} done.")
        elif name.startswith("mistake ") and self.check is not None:
            self.check.load(name.removeprefix("mistake "))
        elif name == "probe" and self.check is not None:
            try:
                self.check.make_probe()
            except LabError as error:
                self.add_error("probe", str(error))
        elif name.startswith("copy-") and self.view is not None:
            self.copying.copy(copied(self.view, name.removeprefix("copy-")))

    @property
    def share(self) -> SharePage:
        if self.sharing is None:
            from attention_lab.page.share import SharePage

            self.sharing = SharePage(self)
        return self.sharing

    def _open_lab(self, lab: str) -> None:
        self.remembered[self.state.lab] = self.state
        self.go(self.remembered.get(lab) or State.opening(lab), push=True)

    def _on_hash(self, event: Any) -> None:
        fragment = str(window.location.hash)
        if fragment == self.address:
            return  # written by the app since, over an address that was only passed through
        self.address = fragment
        self.next_edit.drop()  # typed for the entry that was left
        self.save.drop()
        for dialog in every("dialog[open]"):
            dialog.close()  # it speaks of the state that is left
        if fragment.removeprefix("#") != self.state.to_fragment(PACK_ABOVE) and fragment != "#main":
            self.go(State.from_fragment(fragment), push=False, save=False)

    def _on_key(self, event: Any) -> None:
        target = event.target
        tag = str(target.tagName)
        if (
            event.ctrlKey
            or event.metaKey
            or event.altKey
            or tag in ("TEXTAREA", "INPUT", "SELECT")
            or one("dialog[open]")
        ):
            return
        key = str(event.key)
        if tag == "TD" and key in ARROWS:
            self.cells.move(target, key)
            event.preventDefault()
            return
        if tag == "BUTTON" and key == " ":
            return
        for element in every(f'[data-key~="{"Space" if key == " " else key}"]') if key.isprintable() else ():
            if element.offsetParent and not element.disabled:
                element.click()
                event.preventDefault()
                return

    def go(self, state: State, push: bool, from_form: bool = False, save: bool = True) -> None:
        """Show another state; `push` makes it an entry of the browser's history.

        `save` keeps the address in step; a followed link stays as it was written, and so do back and forward.
        """
        if state.lab == self.state.lab:
            field = self.edited if from_form and self.typed else None
            self.history.record(self.state, state, field, window.performance.now() / 1000)
        if push:
            self.save.now()  # an edit still on its way belongs to the entry that is left, not to the new one
        self.state = state
        if push:
            self._save_link(push=True)
        self.show(write_form=not from_form or self.edited in edits.REWRITES_FORM)
        if save and not push:
            self._save_soon()

    def show(self, write_form: bool = True, as_built: bool = False) -> None:
        """Compute the state and draw it. An error leaves the last good result on show, marked as old.

        `as_built`: the page stands as the build drew it for this very state, so that nothing need be written.
        """
        self._name_lab()
        errors = {note.key: note.message for note in self.state.notes}
        strange = mark(self.state)
        if strange:
            errors["link"] = strange
        if self.state.real_head or self.model is not None:
            self._want_model()
        try:
            if write_form and not as_built:
                form.write(self.state)
            if self.model is not None and self.model.waits(self.state):
                self.show_errors(errors)
                return  # it comes back here when the sentence is computed
            before = self.view.trace if self.view else None
            self.view = view_of(self.state, self.view or OPENINGS.get(self.state.lab))
            self._clear_others()
            soon = first(self.view) if self.view.trace is not before or self.resting else None
            slots = _slots(self.view) if soon is None else soon | _lines(self.view)
            if as_built:
                self.shown |= slots
            else:
                self._write(slots)
            self._rest(soon is not None)
            self._mark_row(self.state.lab)
            self._draw_rest(self.view)
            if self.state.sheet and (wrong := self.share.show_sheet()):
                errors["sheet"] = wrong
            errors |= unplaced(self.view) | beyond(self.view)
            fresh = True
        except LabError as error:
            errors[error.field or "link"] = str(error)
            fresh = False
        except Exception as error:
            errors["link"] = self._broken(error)
            self.shown.clear()  # a slot may be half written: the next drawing compares with the page itself
            fresh = False
        if as_built and not errors:
            return
        self.show_errors(errors)
        by_id("undo").disabled = not self.history.can_undo
        by_id("redo").disabled = not self.history.can_redo
        form.show_example(self.state.example)
        form.show_said(said(self.state))
        form.show_shapes(shapes_of(self.state))
        self.grids.refresh()
        self._mark_stale(not fresh)

    def _rest(self, waits: bool) -> None:
        """Let the rest of the view follow when the edits pause, or note that all of it stands."""
        if waits:
            self.next_rest()
        if waits != self.resting:
            self.resting = waits
            panel = one('[data-lab-panel="calculator"]')
            panel.setAttribute("aria-busy", "true") if waits else panel.removeAttribute("aria-busy")

    def _show_rest(self) -> None:
        if not self.resting or self.view is None or self.view.state.lab != self.drawn_lab:
            return
        try:
            self._write(_slots(self.view))
        except Exception:
            self.shown.clear()  # a slot may be half written
            raise
        self._mark_row(self.view.state.lab)
        self._rest(False)

    def _name_lab(self) -> None:
        """What says which lab is open, where that has changed."""
        if self.named == (self.state.lab, self.state.embed):
            return
        root.dataset.lab = self.state.lab
        document.title = f"{LAB_NAMES[self.state.lab]} · Attention Lab"
        if self.state.embed:
            root.dataset.embed = "1"
        else:
            root.removeAttribute("data-embed")
        for link in every("[data-lab-link]"):
            if data(link, "lab-link") == self.state.lab and not link.closest("h1"):
                link.setAttribute("aria-current", "page")
            else:
                link.removeAttribute("aria-current")
        self.named = (self.state.lab, self.state.embed)

    def _write(self, slots: dict[str, str]) -> None:
        focus = focus_key()
        for name, html in slots.items():
            if self.shown.get(name) != html:
                place = one(f'[data-slot="{name}"]')
                if place:
                    write_html(place, self.shown.get(name), html)
                self.shown[name] = html
                if 'data-slot="' in html:  # new places are empty, whatever the old ones held
                    for inner in html.split('data-slot="')[1:]:
                        self.shown.pop(inner.partition('"')[0], None)
        root.removeAttribute("data-pending")
        self.cells.keep_stops()
        if focus and document.activeElement == document.body:
            back = one(focus)
            if back:
                back.focus()

    def _want_model(self) -> None:
        """Bring in what fetches the model, and tell it that a state needs it."""
        if self.model is None:
            from attention_lab.page.model import ModelPage

            self.model = ModelPage(self)
        self.model.wanted(asked=self.edited == "model")

    def _clear_others(self) -> None:
        """Empty the panels of the other labs, so that a stage's table stands in the page once."""
        if self.drawn_lab == self.state.lab:
            return
        self.drawn_lab = self.state.lab
        for panel in every(f'[data-lab-panel]:not([data-lab-panel="{self.state.lab}"])'):
            for place in (panel, *panel.querySelectorAll("[data-slot]")):
                name = data(place, "slot")
                if name is not None:
                    place.replaceChildren()
                    self.shown[name] = ""

    def _mark_row(self, lab: str) -> None:
        """Mark the open row in every stage table; its trace stands below them."""
        for element in every(f'[data-lab-panel="{lab}"] .row-name[aria-pressed="true"]'):
            element.setAttribute("aria-pressed", "false")
            element.closest("tr").classList.remove("selected")
        opened = one(f'[data-lab-panel="{lab}"] table[data-row-trace]')
        if opened:
            for element in every(f'[data-lab-panel="{lab}"] .row-name[data-set="row={data(opened, "i")}"]'):
                element.setAttribute("aria-pressed", "true")
                element.closest("tr").classList.add("selected")

    def _draw_rest(self, view: View) -> None:
        """What HTML alone cannot do; its code loads when a lab first needs it."""
        if self.state.blank and self.answers is None:
            from attention_lab.page.answers import AnswersPage

            self.answers = AnswersPage(self)
        if self.player and self.state.lab != "walkthrough":
            self.player.leave()
        if self.state.lab == "heatmap":
            if self.heatmap is None:
                from attention_lab.page.heatmap import HeatmapPage

                self.heatmap = HeatmapPage(self)
            self.heatmap.show()
        elif self.state.lab == "walkthrough":
            if self.player is None:
                from attention_lab.page.player import Player

                self.player = Player(self)
            self.player.show()
        elif self.state.lab == "check":
            if self.check is None:
                from attention_lab.page.check import CheckPage

                self.check = CheckPage(self, self._write, self._fail_late)
            self.check.show(view)
        elif one(f'[data-lab-panel="{self.state.lab}"] [data-canvas]'):
            from attention_lab.page.canvas import show_canvases

            show_canvases(
                view, lambda i: self.go(self.state.with_values({"row": str(i)}), push=False), self.state.row
            )

    def _broken(self, error: Exception) -> str:
        """One sentence for an exception that is our fault; the console gets all of it."""
        import traceback

        console.error("".join(traceback.format_exception(error)))
        return (
            f"Something failed inside the page ({type(error).__name__}: {error}): your input is kept, change it to go on, "
            "or use “Report a problem” below."
        )

    def show_errors(self, errors: dict[str, str]) -> None:
        """Put each message in its place, and say those that were not there before."""
        form.show_errors(errors)
        told = self.errors.values()
        fresh = [message for message in errors.values() if message not in told]
        self.errors = errors
        if fresh:
            self.announce(" ".join(fresh))

    def add_error(self, name: str, message: str) -> None:
        """One message more, for what went wrong outside of `show`; the next one clears it."""
        self.show_errors({**self.errors, name: message})

    def result(self) -> View:
        """The result of the very state on show, never an older one that still stands on the page. Raises LabError."""
        self.next_edit.now()
        if self.view is None or self.view.state != self.state:
            raise LabError("There is no result of these inputs yet: see the sentence beside them.")
        return self.view

    def _fail_late(self, error: LabError) -> None:
        """An error that came after the view was drawn."""
        self.add_error(error.field or "link", str(error))

    def wait_for(self, words: str) -> None:
        """Say that a long computation is under way; what is on show is the result before."""
        self._mark_stale(True)
        by_id("stale-note").textContent = (
            f"{words} The result on show is the one before." if self.view else words
        )

    def _mark_stale(self, stale: bool) -> None:
        results, note = by_id("results"), by_id("stale-note")
        if stale:
            results.setAttribute("data-stale", "")
            note.textContent = OLD_RESULT if self.view is not None else NO_RESULT
        else:
            results.removeAttribute("data-stale")
        note.hidden = not stale

    # link, clipboard, report

    def _save_soon(self) -> None:
        self.save(SAVE_LONG_MS if self.state.size > LONG else None)

    def _save_link(self, push: bool = False) -> None:
        if self.state.size > LARGEST_LINK:
            return  # browsers cut or refuse such addresses; the page itself still has everything
        if not push and str(window.location.hash) != self.address:
            return  # the reader is leaving this entry; what it would hold must not be written over the next
        fragment = self.state.to_fragment(PACK_ABOVE)
        if fragment != str(window.location.hash).removeprefix("#"):
            write = window.history.pushState if push else window.history.replaceState
            try:
                write(None, "", "#" + fragment)
            except JsException:
                return  # some sandboxed frames forbid it; the state itself is unharmed
        self.address = str(window.location.hash)

    def announce(self, text: str) -> None:
        by_id("announce").textContent = text


def _slots(view: View) -> dict[str, str]:
    """Everything that is shown of a view as HTML."""
    return render(view) | _lines(view) | {"framework-notes": framework_notes(view)}


def _lines(view: View) -> dict[str, str]:
    return {"lesson": lesson(view.state), "fold-line": fold_line(view)}


def _pairs(text: str) -> list[tuple[str, str]]:
    from urllib.parse import unquote

    pairs = (part.partition("=") for part in text.split("&") if part)
    return [(unquote(key), unquote(value)) for key, _, value in pairs]
