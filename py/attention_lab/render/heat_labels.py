"""Headers of the Heatmap's rows and columns: position and word, `8 cat`. Plain text; escape before it becomes HTML."""

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


def key_labels(view: View) -> tuple[str, ...]:
    """One header for each key."""
    return _labels(view.slice.key_labels, view.slice_trace.scores.shape[-1], "k")


def query_labels(view: View) -> tuple[str, ...]:
    """One header for each query."""
    return _labels(view.slice.query_labels, view.slice_trace.scores.shape[-2], "q")
