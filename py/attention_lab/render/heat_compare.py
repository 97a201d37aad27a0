"""Two settings side by side: the second heatmap, and the open row's weights under both with their difference.

The second setting is the state with a few keys changed, computed in the same way as the first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from attention_lab.core import LabError
from attention_lab.render.heat_row import fixed
from attention_lab.render.heat_table import heat_table, short_label, shortest
from attention_lab.render.html import escape, number, shade
from attention_lab.render.view import View
from attention_lab.state import State
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]

CHANGES = ("T", "positions", "causal", "scale", "d", "seed", "softcap", "window", "precision")
"""Keys that a second setting may change; the sentence stays the same."""


def second_state(state: State) -> State:
    """The state that `compare=` describes: `compare=T%3D0.5` is this state at temperature 0.5."""
    from urllib.parse import unquote

    pairs = []
    for part in (state.compare or "").split("&"):
        key, _, value = part.partition("=")
        if key in CHANGES:
            pairs.append((key, unquote(value)))
    return replace(state.with_values(pairs), compare=None)


def setting_words(state: State) -> str:
    """`T = 0.5 · causal · no positions · d = 32`, escaped."""
    parts = [
        f"T = {state.T:g}",
        "no mask"
        if state.causal is None
        else "causal"
        if state.causal == "top-left"
        else f"causal {state.causal}",
        "sinusoidal positions" if state.positions else "no positions",
    ]
    if state.scale != "sqrt_dk":
        parts.append("not scaled" if state.scale == "none" else f"scale {state.scale}")
    if state.d is not None:
        parts.append(f"d = {state.d}")
    if state.seed:
        parts.append(f"seed {state.seed}")
    return escape(" · ".join(parts))


def second_view(view: View) -> View:
    """The second setting computed. Raises LabError."""
    from attention_lab.compute import view_of

    return view_of(second_state(view.state))


def compare(
    view: View, rows: tuple[str, ...], labels: tuple[str, ...], selected: int, most_table: int
) -> str:
    """The second setting's heatmap and the row's difference, or why it cannot be computed."""
    if not view.state.compare:
        return ""
    second = second_state(view.state)
    if second == replace(view.state, compare=None):
        return (
            f'<p class="hint">Both settings are the same ({setting_words(second)}): choose another second setting, or change '
            "this one.</p>"
        )
    try:
        other = second_view(view)
    except LabError as error:
        return f'<p class="error" data-error-for="compare">The second setting cannot be computed: {escape(str(error))}</p>'
    first, then = view.slice_trace, other.slice_trace
    if first.weights.shape != then.weights.shape:
        return '<p class="error" data-error-for="compare">The two settings have different shapes and cannot be compared.</p>'
    if max(then.weights.shape) > most_table:
        picture = '<div class="canvas-slot" data-canvas="second"></div>'
    else:
        picture = (
            '<div class="scroll heat-scroll">'
            + heat_table(
                then.weights,
                then.mask,
                rows,
                labels,
                caption=f"Weights with the second setting: {setting_words(second)}",
                stage='data-second="weights"',
            )
            + "</div>"
        )
    return (
        f"<h3>Second setting: {setting_words(second)}</h3>{picture}"
        f"{difference(first.weights[selected], then.weights[selected], labels, rows[selected], selected, view.state, second)}"
    )


def difference(
    first: Array, then: Array, labels: tuple[str, ...], row: str, i: int, one: State, two: State
) -> str:
    """The open row under both settings: weight, weight, and second − first, for every key."""
    change = then - first
    columns = (("first", first, shade(first)), ("second", then, shade(then)), ("difference", change, None))
    lines = []
    texts = [fixed(values, 4) for _, values, _ in columns]
    numbers = [shortest(values) for _, values, _ in columns]
    for j, label in enumerate(labels):
        cells = ""
        for place, (name, _, levels) in enumerate(columns):
            text = texts[place][j]
            if levels is None and change[j] > 0:
                text = "+" + text
            kind = "" if levels is None else f" w{levels[j]}"
            cells += f'<td class="n{kind}" data-j="{j}" data-compare="{name}" data-value="{numbers[place][j]}">{text}</td>'
        lines.append(f'<tr><th scope="row">{short_label(label)}</th>{cells}</tr>')
    moved = float(np.abs(change).sum() / 2)
    return (
        f'<div class="scroll"><table class="row-trace" data-difference data-i="{i}"><caption>Row {short_label(row)} under both '
        f"settings: {number(moved)} of its weight goes to other keys.</caption>"
        f'<thead><tr><th scope="col">Key</th><th scope="col">{setting_words(one)}</th>'
        f'<th scope="col">{setting_words(two)}</th><th scope="col">second − first</th></tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )
