"""Two settings side by side: the second heatmap, and the open row's weights under both with their difference.

The second setting is the state with a few keys changed, computed in the same way as the first.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError
from attention_lab.render.heat_labels import in_view, key_labels, query_labels
from attention_lab.render.heat_row import fixed
from attention_lab.render.heat_table import heat_table, short_label, shortest
from attention_lab.render.html import escape, number, shade
from attention_lab.render.view import View
from attention_lab.state import State

Array = NDArray[np.floating[Any]]


OTHER_MASKS = (("window", "window"), ("key lengths", "lengths"), ("keep mask", "keep"))


def setting_words(state: State) -> str:
    """`T = 0.5 · causal · no positions · d = 32`, escaped; of a real head its layer and head instead of d."""
    masks = (
        [] if state.causal is None else ["causal" if state.causal == "top-left" else f"causal {state.causal}"]
    )
    masks += [words for words, on in OTHER_MASKS if getattr(state, on)]
    parts = [f"T = {state.T:g}", *(masks or ["no mask"])]
    if state.bias:
        parts.append("bias")
    if state.softcap is not None:
        parts.append(f"softcap {state.softcap:g}")
    if state.real_head:
        parts.insert(0, f"MiniLM layer {state.layer}, head {state.modelhead}")
    else:
        parts.append("sinusoidal positions" if state.positions else "no positions")
    if state.scale != "sqrt_dk":
        parts.append("not scaled" if state.scale == "none" else f"scale {state.scale}")
    if state.d is not None and not state.real_head:
        parts.append(f"d = {state.d}")
    if state.seed and not state.real_head:
        parts.append(f"seed {state.seed}")
    return escape(" · ".join(parts))


@lru_cache(maxsize=2)
def second_view(view: View) -> View:
    """The second setting computed, once for each view. Raises LabError."""
    from attention_lab.compute import view_of

    second = view.state.second()
    if second is None:
        raise LabError("There is no second setting.", field="compare")
    return view_of(second)


def chooser(state: State) -> str:
    """Buttons that put a second setting beside this one, each differing in one thing."""
    from urllib.parse import quote

    cooler = "T=1" if state.T == 0.5 else "T=0.5"
    placed, causal, scaled = bool(state.positions), state.causal is not None, state.scale != "none"
    choices: tuple[tuple[str, str], ...] = (
        (cooler, cooler.replace("=", " = ")),
        ("positions=", "without positions") if placed else ("positions=sinusoidal", "with positions"),
        ("causal=", "not causal") if causal else ("causal=top-left", "causal"),
        ("scale=none", "not scaled") if scaled else ("scale=sqrt_dk", "scaled by √d"),
    )
    if state.real_head:  # a trained encoder has positions of its own
        choices = tuple(choice for choice in choices if not choice[0].startswith("positions"))
    buttons = "".join(
        f'<button type="button" data-set="compare={quote(value)}" '
        f'aria-pressed="{"true" if state.compare == value else "false"}">{text}</button> '
        for value, text in choices
    )
    stop = '<button type="button" data-set="compare=">Stop comparing</button>' if state.compare else ""
    return f'<p class="compare-choices">Compare with the same {buttons}{stop}</p>'


def second_picture(
    view: View, rows: tuple[str, ...], labels: tuple[str, ...], most_table: int
) -> dict[str, str]:
    """The choices of a second setting and its heatmap, or why there is none."""
    second = view.state.second()
    slots = {"heatmap-choices": chooser(view.state), "heatmap-second": ""}
    if second is None:
        return slots
    if second == replace(view.state, compare=None):
        same = f"Both settings are the same now: {setting_words(second)}."
        return slots | {"heatmap-second": f'<p class="hint">{same}</p>'}
    try:
        other = second_view(view)
    except LabError as error:
        words = f"The second setting cannot be computed: {escape(str(error))}"
        return slots | {"heatmap-second": f'<p class="error">{words}</p>'}
    then = other.slice_trace
    caption = setting_words(second)
    note = others = ""
    if view.state.real_head and not second.real_head:
        caption = f"spelling vectors · {caption}"
    if second.text != view.state.text or second.real_head != view.state.real_head:
        rows, labels = query_labels(other), key_labels(other)  # other tokens: each picture has its own names
        others = " other-tokens"
        if second.text and second.text != view.state.text:
            caption = f"“{escape(second.text[:80])}” · {caption}"
    caption = f"Second setting: {caption}"
    alike = view.slice_trace.weights.shape == then.weights.shape
    if not alike:
        note = '<p class="hint">The two have different tokens, so their rows are not subtracted.</p>'
    if max(then.weights.shape) > most_table:
        return slots | {
            "heatmap-second": f'<p class="caption">{caption}</p><div class="canvas-slot" data-canvas="second"></div>{note}'
        }
    table = heat_table(
        then.weights,
        then.mask | (then.weights != 0),
        rows,
        labels,
        caption=caption,
        stage='data-second="weights"',
        buttons=alike,  # else row 5 here is no row 5 there
        part=in_view(other),
    )
    return slots | {"heatmap-second": f'<div class="scroll heat-scroll{others}">{table}</div>{note}'}


def difference(view: View, rows: tuple[str, ...], labels: tuple[str, ...], i: int) -> str:
    """Row i under both settings: weight, weight, and second − first, for every key. Empty without a second one."""
    second = view.state.second()
    if second is None or second == replace(view.state, compare=None):
        return ""
    try:
        also = second_view(view)
    except LabError:
        return ""  # second_picture says why
    trace, other = view.slice_trace, also.slice_trace
    if trace.weights.shape != other.weights.shape:
        return ""
    first, then = trace.weights[i], other.weights[i]
    masked = (~trace.mask[i], ~other.mask[i])
    change = then - first
    if second.text != view.state.text and also.slice.key_labels:  # the same places, some with another word
        labels = tuple(
            label if label.endswith(f" {word}") else f"{label} / {word}"
            for label, word in zip(labels, also.slice.key_labels, strict=True)
        )
    columns = (("first", first, shade(first)), ("second", then, shade(then)), ("difference", change, None))
    lines = []
    texts = [fixed(values, 4) for _, values, _ in columns]
    numbers = [shortest(values) for _, values, _ in columns]
    for j in range(*in_view(view).indices(len(labels))):
        cells, label = "", labels[j]
        for place, (name, _, levels) in enumerate(columns):
            text, kind = texts[place][j], ""
            if levels is None:
                text = "+" + text if change[j] > 0 else text
            elif masked[place][j]:
                text, kind = "0", " masked"
            else:
                kind = f" w{levels[j]}"
            cells += f'<td class="n{kind}" data-j="{j}" data-compare="{name}" data-value="{numbers[place][j]}">{text}</td>'
        lines.append(f'<tr><th scope="row">{short_label(label)}</th>{cells}</tr>')
    moved = float(np.abs(change).sum() / 2)
    return (
        f'<h3>Row {i} under both settings</h3><div class="scroll" tabindex="0" role="region" aria-label="Difference of the row"><table class="row-trace" data-difference data-i="{i}">'
        f"<caption>Of the weight of {short_label(rows[i])}, {number(moved)} goes to other keys.</caption>"
        '<thead><tr><th scope="col">Key</th><th scope="col">this setting</th><th scope="col">second setting</th>'
        f'<th scope="col">second − this</th></tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
    )
