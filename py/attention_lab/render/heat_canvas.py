"""What the canvas of a large matrix shows: pixels, labels, and the 16×16 table around the cursor.

Arrays in, bytes and HTML out; page/canvas.py does the drawing. Does not compute attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from html import unescape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError, Trace
from attention_lab.render import cividis
from attention_lab.render.heat_compare import second_view
from attention_lab.render.heat_labels import in_view, key_labels, query_labels
from attention_lab.render.heat_table import MASKED_TEXT, short_label
from attention_lab.render.html import escape, formatter, reprs, shade, written
from attention_lab.render.view import View

WINDOW = 16
"""Rows and columns of the moving table."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A matrix ready for the canvas: values (n, m), visible, the ramp level of each cell, and plain labels.

    Rows and columns are counted from 0 here; the matrix's own row is that plus `cut`.
    """

    name: str
    values: NDArray[np.floating[Any]]
    visible: NDArray[np.bool_]
    levels: NDArray[np.uint8]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    decimals: int | str
    first: int
    cut: int = 0
    """How many rows and columns before the first one are left out of view."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    @cached_property
    def all_visible(self) -> bool:
        one = self.visible.strides == (0, 0)  # one entry stands for all
        return bool(self.visible[0, 0] if one else self.visible.all())


def picture_of(view: View, name: str) -> Picture:
    """The matrix that `<div data-canvas="name">` stands for: a stage, or "second" for the compared setting.

    Weights are coloured by √weight from 0 to 1, anything else from its smallest to its largest finite value.
    Raises LabError when the view has no such matrix.
    """
    from attention_lab.explain.stages import stages

    trace = second_view(view).slice_trace if name == "second" else view.slice_trace
    stage = "weights" if name == "second" else name
    tables = {item.name: item.array for item in stages(trace)} | {"q": trace.q, "k": trace.k, "v": trace.v}
    if stage not in tables:
        raise LabError(f"There is no matrix “{name}” to draw: expected one of {', '.join(tables)}.")
    values = tables[stage]
    visible = _visible(trace, stage, values.shape)
    levels = _by_root(values) if stage == "weights" else _linear(values, visible)
    rows, columns = _labels(view, stage, values.shape)
    decimals: int | str = 2 if view.state.lab == "heatmap" else view.state.decimals
    whole = Picture(name, values, visible, levels.astype(np.uint8), rows, columns, decimals, view.first)
    shown = in_view(second_view(view) if name == "second" else view)
    if stage != "weights" or view.state.lab != "heatmap" or not shown.start:
        return whole
    return replace(
        whole, values=values[shown, shown], visible=visible[shown, shown], levels=whole.levels[shown, shown],
        rows=rows[shown], columns=columns[shown], first=view.first + shown.start, cut=shown.start,
    )  # fmt: skip


def _visible(trace: Trace, stage: str, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    if stage in ("weights", "masked"):
        return trace.mask
    return np.broadcast_to(np.True_, shape)


def _by_root(weights: NDArray[np.floating[Any]]) -> NDArray[Any]:
    """The levels of `shade`, in two passes instead of six; NaN becomes level 0."""
    with np.errstate(all="ignore"):
        levels = np.sqrt(weights)
        levels *= cividis.LEVELS
    if not levels.max(initial=0.0) <= cividis.LEVELS:  # NaN, as an empty row may hold, or not weights at all
        return shade(weights)
    return np.asarray(np.rint(levels, out=levels))


def _linear(values: NDArray[np.floating[Any]], visible: NDArray[np.bool_]) -> NDArray[Any]:
    low, high = float(values.min()), float(values.max())
    with np.errstate(all="ignore"):
        if np.isfinite(high - low):  # so is every value: no pass to look for others
            scaled = values - low
            scaled /= (high - low) or 1.0
            scaled *= cividis.LEVELS
            return np.asarray(np.rint(scaled, out=scaled))
        usable = visible & np.isfinite(values)
        if not usable.any():
            return np.zeros(values.shape)
        low, high = float(values[usable].min()), float(values[usable].max())
        scaled = (np.clip(values, low, high) - low) / ((high - low) or 1.0) * cividis.LEVELS
    return np.asarray(np.rint(np.nan_to_num(scaled)))


def _labels(view: View, stage: str, shape: tuple[int, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if view.state.lab == "heatmap":
        return query_labels(view), key_labels(view)
    dims = view.dim_names(shape[1])
    rows = view.key_names() if stage in ("k", "v") else view.query_names()
    columns = dims if stage in ("q", "k", "v", "output") else view.key_names()
    return _plain(tuple(rows)), _plain(tuple(columns))


@lru_cache(maxsize=16)
def _plain(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(unescape, names))


@lru_cache(maxsize=1)
def _lookup() -> NDArray[np.uint32]:
    """(levels + 2) red, green, blue, alpha of each level as one number; the last is transparent, for masked cells."""
    colours = [(*cividis.colour(level / cividis.LEVELS), 255) for level in range(cividis.LEVELS + 1)]
    return np.array([*colours, (0, 0, 0, 0)], dtype=np.uint8).view(np.uint32)[:, 0]


def pixels(picture: Picture) -> NDArray[np.uint8]:
    """(n, m, 4) one RGBA pixel for each cell; masked cells are transparent so that their pattern shows through."""
    levels = picture.levels
    if not picture.all_visible:
        levels = np.where(picture.visible, levels, np.uint8(cividis.LEVELS + 1))
    # Whole pixels are looked up as one number each: four times fewer steps than byte by byte.
    return _lookup()[levels].view(np.uint8).reshape(*picture.shape, 4)


def frame(name: str, n: int, m: int) -> str:
    """The canvas with its buttons, and the places for the reading line and the moving table."""
    label = f"Heatmap of {n} rows and {m} columns. Arrow keys move the cursor, plus and minus zoom, 0 shows all, Enter opens the row."
    return (
        '<p class="canvas-tools"><button type="button" data-zoom="in">Zoom in</button> '
        '<button type="button" data-zoom="out">Zoom out</button> <button type="button" data-zoom="fit">Whole picture</button> '
        '<span class="quiet">Point, or click in and use the arrow keys; drag to pan; + and − zoom, also Ctrl and the wheel.</span></p>'
        f'<canvas tabindex="0" role="application" aria-roledescription="heatmap" aria-label="{label}"></canvas>'
        f'<p class="canvas-reading"></p><div class="scroll canvas-window" data-window="{name}"></div>'
    )


def span(at: int, count: int) -> tuple[int, int]:
    """The at most 16 indices around `at`: span(0, 100) -> (0, 16)."""
    start = max(0, min(at - WINDOW // 2, count - WINDOW))
    return start, min(count, start + WINDOW)


def reading(picture: Picture, i: int, j: int) -> str:
    """The cell under the cursor in words, with its exact value."""
    row, column = picture.rows[i], picture.columns[j]
    if not picture.visible[i, j]:
        return (
            f"{row} → {column}: masked, exactly 0"
            if picture.name != "masked"
            else f"{row} → {column}: masked, −∞"
        )
    value = float(picture.values[i, j])
    return f"{row} → {column}: {formatter('exact')(value)}"


def neighbourhood(picture: Picture, i: int, j: int, selected: int | None = None) -> str:
    """The table of up to 16×16 cells around row i and column j; `selected` is the open row."""
    (n, m), cut = picture.shape, picture.cut
    (top, bottom), (left, right) = span(i, n), span(j, m)
    part = slice(top, bottom), slice(left, right)
    stage = "weights" if picture.name == "second" else picture.name
    attribute = "data-second" if picture.name == "second" else "data-stage"
    head = "".join(f'<th scope="col">{short_label(label)}</th>' for label in picture.columns[left:right])
    values, visible = picture.values[part], picture.visible[part]
    fields: list[object] = [None] * (4 * values.size)
    exact, texts = reprs(values), written(values, picture.decimals)
    marks = [""] * values.size
    kinds = [f"w{level}" for level in picture.levels[part].ravel().tolist()]
    hidden_text, hidden_value = ("−∞", "-inf") if stage == "masked" else (MASKED_TEXT, "0.0")
    for at in np.flatnonzero(~visible).tolist():
        exact[at], marks[at], kinds[at], texts[at] = hidden_value, " data-masked", "masked", hidden_text
    kinds[(i - top) * (right - left) + j - left] += " here"
    fields[0::4], fields[1::4], fields[2::4], fields[3::4] = exact, marks, kinds, texts
    rows = (_cells(top + cut, bottom + cut, left + cut, right + cut) % tuple(fields)).split("\n")
    lines = []
    for r, cells in enumerate(rows):
        name = short_label(picture.rows[top + r])
        opened = top + r == selected
        button = (
            f'<button type="button" class="row-name" data-set="row={top + r + cut}" '
            f'aria-pressed="{"true" if opened else "false"}">{name}</button>'
        )
        mark = ' class="selected"' if opened else ""
        lines.append(f'<tr{mark}><th scope="row">{button}</th>{cells}</tr>')
    f = picture.first
    return (
        f'<table class="stage heat" {attribute}="{escape(stage)}"><caption>Rows {top + f}–{bottom - 1 + f} and columns '
        f'{left + f}–{right - 1 + f} of {n} × {m}</caption><thead><tr><td class="corner"></td>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


@lru_cache(maxsize=64)
def _cells(top: int, bottom: int, left: int, right: int) -> str:
    """The cells of the moving table with places for value, mark, classes and text; rows are parted by new lines."""
    return "\n".join(
        "".join(
            f'<td data-i="{i}" data-j="{j}" data-value="%s"%s class="n %s">%s</td>'
            for j in range(left, right)
        )
        for i in range(top, bottom)
    )


def tick_step(cell: float, least: float, count: int) -> int:
    """Every how many rows a label fits: the smallest power of two with step · cell ≥ least."""
    step = 1
    while step * cell < least and step < count:
        step *= 2
    return step


def tick_text(labels: Sequence[str], at: int, step: int, first: int) -> str:
    """The label itself when every row has one, else its index."""
    if step > 1:
        return str(at + first)
    label = labels[at]
    return label if len(label) <= 10 else label[:9] + "…"
