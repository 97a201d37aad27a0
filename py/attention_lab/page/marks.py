"""Marks on <html> that the style sheet reads: hidden parts, hidden answers, and whether a worksheet stands alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_lab.page.dom import by_id, root

if TYPE_CHECKING:
    from attention_lab.state import State


def mark(state: State) -> str:
    """Set the marks of a state; returns a sentence about what of it cannot be honoured, or ""."""
    for name, value in (("data-hide", " ".join(state.hide)), ("data-blank", "1" if state.blank else "")):
        if value:
            root.setAttribute(name, value)
        else:
            root.removeAttribute(name)
    if not state.sheet and not by_id("worksheet").hidden:
        by_id("worksheet").hidden = True
        root.removeAttribute("data-sheet")
    if state.blank and state.lab != "calculator":
        return "blank= hides answers in the Calculator only."
    if state.hide:
        from attention_lab.render.panels import unknown_names

        return unknown_names(state.hide, state.lab)
    return ""
