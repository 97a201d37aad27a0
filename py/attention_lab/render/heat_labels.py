"""Headers of the Heatmap's rows and columns: position and word, `8 cat`, and which of them are in view.

Plain text; escape before it becomes HTML.
"""

from __future__ import annotations

from functools import lru_cache

from attention_lab.render.view import View


@lru_cache(maxsize=8)
def _labels(names: tuple[str, ...] | None, count: int, letter: str) -> tuple[str, ...]:
    return (
        tuple(f"{i} {names[i]}" for i in range(count))
        if names
        else tuple(f"{letter}{i}" for i in range(count))
    )


def in_view(view: View) -> slice:
    """The rows and columns on show: all, or those between [CLS] and [SEP]. It is never asked by any arithmetic."""
    n = view.slice_trace.scores.shape[-1]
    if view.state.special == "hide" and view.state.real_head and n > 2:
        return slice(1, n - 1)
    return slice(0, n)


def is_cut(view: View) -> bool:
    """Whether [CLS] and [SEP] are left out of view."""
    return bool(in_view(view).start)


def key_labels(view: View) -> tuple[str, ...]:
    """One header for each key."""
    return _labels(view.slice.key_labels, view.slice_trace.scores.shape[-1], "k")


def query_labels(view: View) -> tuple[str, ...]:
    """One header for each query."""
    return _labels(view.slice.query_labels, view.slice_trace.scores.shape[-2], "q")
