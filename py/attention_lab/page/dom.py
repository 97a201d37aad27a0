"""Thin, typed access to the browser: the few DOM operations the app needs, each one call across the bridge.

No state and no arithmetic of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from js import console, document, window
from pyodide.ffi import JsException, create_proxy, to_js

root = document.documentElement

__all__ = [
    "Failures",
    "FormValues",
    "JsException",
    "Later",
    "by_id",
    "console",
    "create_proxy",
    "data",
    "document",
    "every",
    "guarded",
    "number",
    "on",
    "one",
    "root",
    "window",
    "write_html",
]


def by_id(name: str) -> Any:
    return document.getElementById(name)


def one(selector: str) -> Any:
    return document.querySelector(selector)


def every(selector: str) -> Iterable[Any]:
    found: Iterable[Any] = document.querySelectorAll(selector)
    return found


def data(element: Any, name: str) -> str | None:
    """The element's `data-name`, or None: `data(row, "lab-link")`."""
    value = element.getAttribute(f"data-{name}")
    return value if isinstance(value, str) else None  # an absent attribute is JavaScript's null, not None


class Failures:
    """Where an exception in any handler goes, so that none leaves the page stuck. The app sets `tell`."""

    tell: Callable[[Exception], object] = staticmethod(lambda error: console.error(repr(error)))


def guarded(handler: Callable[..., object]) -> Callable[..., None]:
    """The handler, with its exceptions told instead of lost in the browser's event loop."""

    def run(*arguments: Any) -> None:
        try:
            handler(*arguments)
        except Exception as error:
            Failures.tell(error)

    return run


def number(element: Any, name: str) -> int:
    """The element's `data-name` as a whole number; the attribute must be there."""
    return int(str(element.getAttribute(f"data-{name}")))


def on(target: Any, event: str, handler: Callable[[Any], object], passive: bool = False) -> None:
    """Listen for as long as the page lives, so the proxy is never released."""
    target.addEventListener(event, create_proxy(guarded(handler)), passive)


class FormValues:
    """The form's names and values. Each reading hands over only what changed since the last one, in one crossing."""

    def __init__(self, form: str) -> None:
        self._form = form  # its id
        self._values: dict[str, str] = {}
        self._fresh = True

    def read(self) -> dict[str, str]:
        """All names and values as a submit would send them. The caller may not change the dictionary."""
        try:
            self._take(window.labChanges(by_id(self._form), self._fresh).to_py())
            self._fresh = False
        except Exception:  # what is known here may no longer be what was told: begin anew
            self._values, self._fresh = {}, True
            self._take(window.labChanges(by_id(self._form), True).to_py())
        return self._values

    def _take(self, changes: list[Any]) -> None:
        for at in range(0, len(changes), 5):
            name, length, start, end, now = changes[at : at + 5]
            if not isinstance(now, str):
                self._values.pop(name, None)
                continue
            old = self._values.get(name, "")
            self._values[name] = now if len(now) == length else old[:start] + now + old[end:]


def write_html(place: Any, old: str | None, new: str) -> None:
    """Put `new` into the element, which holds `old`; where only some table rows differ, only these are written.

    Anything else goes through static/patch.js, which changes only the nodes that differ.
    """
    rows = changed_rows(old, new) if old is not None else None
    if rows is None:
        window.labPatch(place, new)
        return
    elements = place.getElementsByTagName("tr")
    for index, html in rows:
        elements[index].innerHTML = html


def changed_rows(old: str, new: str) -> list[tuple[int, str]] | None:
    """(index among all `<tr>`, new inner HTML) of the rows that differ, or None when more than rows does.

    `changed_rows("<tr><td>1</tr>", "<tr><td>2</tr>")` → `[(0, "<td>2")]`
    """
    before, after = old.split("<tr>"), new.split("<tr>")
    if len(before) != len(after) or before[0] != after[0] or len(after) == 1:
        return None
    rows = []
    for index, (was, now) in enumerate(zip(before[1:], after[1:], strict=True)):
        if was != now:
            row, _, rest = now.partition("</tr>")
            if was.partition("</tr>")[2] != rest:
                return None
            rows.append((index, row))
    return rows if 2 * len(rows) <= len(after) else None


class Once:
    """Run a function once in the next animation frame (or after a delay), however often it is asked for."""

    def __init__(self, run: Callable[[], object], delay: int | None = None) -> None:
        self._run = guarded(run)
        self._delay = delay
        self._asked = False  # somebody waits for a run
        self._timed = False  # the browser will call, needed or not
        self._proxy = create_proxy(self._fire)

    @property
    def waiting(self) -> bool:
        """True from the asking until the run."""
        return self._asked

    def __call__(self) -> None:
        self._asked = True
        if self._timed:
            return
        self._timed = True
        if self._delay is None and not document.hidden:
            window.requestAnimationFrame(self._proxy)
        else:
            window.setTimeout(self._proxy, self._delay or 0)

    def now(self) -> None:
        """Run at once if somebody waits."""
        if self._asked:
            self._asked = False
            self._run()

    def drop(self) -> None:
        """Nobody waits any more."""
        self._asked = False

    def _fire(self, *_: object) -> None:
        self._timed = False
        self.now()


class Later(Once):
    """Run a function once nobody has asked for it for a while: what an edit can do without until the next one."""

    def __init__(self, run: Callable[[], object], delay: int) -> None:
        super().__init__(run, delay)
        self._timer: Any = None

    def __call__(self, delay: int | None = None) -> None:
        """Ask; `delay` is this time's while in milliseconds, if it is another."""
        self._asked = True
        if self._timer is not None:
            window.clearTimeout(self._timer)
        self._timer = window.setTimeout(self._proxy, self._delay if delay is None else delay)


class LiveSheet:
    """A style sheet of our own that highlights cells by selector: one write, however many cells."""

    def __init__(self) -> None:
        self._sheet = window.CSSStyleSheet.new()
        document.adoptedStyleSheets = to_js([self._sheet])

    def show(self, css: str) -> None:
        self._sheet.replaceSync(css)
