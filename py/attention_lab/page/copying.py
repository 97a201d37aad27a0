"""Texts for the reader to take along: onto the clipboard, or selected in a dialog where that is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from attention_lab.page.dom import JsException, by_id, window

CLOSED = "The clipboard is closed to this page. The text is selected: copy it with the keyboard."


class Copying:
    """Copies texts: `say` gets "Copied.", `closed` the sentence and the text where the browser refuses."""

    def __init__(self, say: Callable[[str], object], closed: Callable[[str, str], object]) -> None:
        self._say, self._closed = say, closed
        self._running: Any = None

    def copy(self, text: str) -> None:
        """Onto the clipboard."""
        self._running = asyncio.ensure_future(self._copy(text))  # kept, or it could be collected unfinished

    async def _copy(self, text: str) -> None:
        try:
            await window.navigator.clipboard.writeText(text)
        except (JsException, AttributeError):  # denied, or absent outside secure contexts
            self._closed(CLOSED, text)
        else:
            self._say("Copied.")


def show_text(words: str, text: str) -> None:
    """A text for the reader to copy, selected, in a dialog of its own."""
    by_id("copy-words").textContent = words
    by_id("copy-text").value = text
    by_id("copy-dialog").showModal()
    by_id("copy-text").select()


def open_report(fragment: str) -> None:
    """The dialog with what a report of a problem needs: version, link, browser."""
    from attention_lab import __version__

    link = str(window.location.href).split("#")[0] + "#" + fragment
    browser = window.navigator.userAgent
    by_id(
        "report-text"
    ).value = f"Attention Lab {__version__}\nLink: {link}\nBrowser: {browser}\n\nExpected:\n\nSeen:\n"
    by_id("report-dialog").showModal()
