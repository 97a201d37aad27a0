"""The Heatmap: which word attends to which, as a table (or a canvas above 64 tokens), with one row opened.

Puts the parts in heat_*.py together for one computed View. Computes no attention; every number is the Trace's.
"""

from __future__ import annotations

import math
from functools import lru_cache

from attention_lab.core import Trace
from attention_lab.explain.divided import most_divided_row
from attention_lab.explain.likeness import PAIRS, compare_words, conclusion, sentence_about
from attention_lab.explain.row import row
from attention_lab.inputs.sentence import read_tokens
from attention_lab.inputs.spelling import spelling_of
from attention_lab.render.heat_compare import difference, second_picture, setting_words
from attention_lab.render.heat_labels import in_view, is_cut, key_labels, query_labels
from attention_lab.render.heat_row import row_section
from attention_lab.render.heat_sentence import chips, strip
from attention_lab.render.heat_table import heat_table, legend
from attention_lab.render.html import escape, plural
from attention_lab.render.view import View

MOST_TABLE = 64
"""Tokens above which the weights are drawn on canvas instead of as a table."""

EXPORTS = (
    '<p class="export">Save: <button type="button" data-export="svg">Picture (SVG)</button> '
    '<button type="button" data-export="png">Picture (PNG)</button> '
    '<button type="button" data-export="csv">Weights (CSV)</button></p>'
)

EXPORTED = (
    '<p class="hint">The pictures leave out [CLS] and [SEP] as the page does, and say so; '
    "the CSV holds every row and column.</p>"
)

__all__ = ["is_large", "render", "render_row", "selected_row"]


def render(view: View) -> dict[str, str]:
    """Slots of the Heatmap: slot name → inner HTML. Of a large one the open row is left to `render_row`."""
    trace = view.slice_trace
    rows, columns = query_labels(view), key_labels(view)
    drawn = view.drawn
    if "heatmap-table" not in drawn:
        drawn["heatmap-table"] = picture(view, rows, columns)
        drawn["heatmap-status"] = status(view)
        drawn["heatmap-real"] = real_and_standing_in(view)
        drawn["heatmap-inverse"] = inverse_root(trace)
        drawn["heatmap-temperature"] = temperature_words(trace)
        drawn["heatmap-export"] = EXPORTS + (EXPORTED if is_cut(view) else "")
    chosen = selected_row(view)
    words = view.slice.key_labels or columns
    square = len(rows) == len(columns)
    slots = drawn | {
        "heatmap-chips": _chips(view, words, chosen),
        "heatmap-strip": strip(words, trace.weights[chosen], ~view.given_out[chosen], chosen, in_view(view))
        if square
        else "",
    }
    slots |= second_picture(view, rows, columns, MOST_TABLE)
    if not view.state.real_head:
        slots |= {"heatmap-heads": "", "heatmap-origin": "", "heatmap-head": ""}
    else:
        from attention_lab.render.heat_model import choices
        from attention_lab.render.heat_origin import origin

        slots["heatmap-head"] = choices(view.state, len(rows) - 1)
        slots["heatmap-origin"] = origin(view, chosen)
    return slots if is_large(view) else slots | render_row(view)


def _chips(view: View, words: tuple[str, ...], chosen: int) -> str:
    if view.state.text is None:
        return ""
    if not view.state.real_head:
        return chips(words, chosen)
    from attention_lab.render import heat_model

    return heat_model.chips(words, chosen, in_view(view))


def is_large(view: View) -> bool:
    """Whether the page draws the open row one frame after the picture, so that an edit is seen sooner."""
    return max(view.slice_trace.weights.shape) > MOST_TABLE


def render_row(view: View) -> dict[str, str]:
    """The slots of the open row: its arithmetic, and its difference under the second setting."""
    rows, columns, chosen = query_labels(view), key_labels(view), selected_row(view)
    item = row(view.slice, view.slice_trace, chosen)
    name = view.slice.query_labels[chosen] if view.slice.query_labels else rows[chosen]
    return {
        "heatmap-row": row_section(item, columns, name, view.state.scale, view.state.T, in_view(view)),
        "heatmap-difference": difference(view, rows, columns, chosen),
    }


@lru_cache(maxsize=4)
def selected_row(view: View) -> int:
    """The row asked for, or the most divided one when none is."""
    rows = view.slice_trace.scores.shape[-2]
    part = in_view(view)
    if view.state.row is not None:
        return (
            max(part.start, min(view.state.row, rows - 1, part.stop - 1))
            if is_cut(view)
            else min(view.state.row, rows - 1)
        )
    words = view.slice.query_labels
    if words is None or view.slice.key_labels != words:
        return 0
    if view.state.real_head:  # [CLS] and [SEP] stand for no word
        return 1 + most_divided_row(view.slice_trace, words, slice(1, rows - 1))
    return most_divided_row(view.slice_trace, [spelling_of(word) for word in words])


def status(view: View) -> str:
    """`11 tokens · d = 32 · √d = 5.657`, the formula, and how to read the picture."""
    trace = view.slice_trace
    d, state = trace.q.shape[-1], view.state
    left_out = read_tokens(state.text).controls if state.text is not None and not state.real_head else 0
    source, unit = "", "token"
    if state.real_head:
        source, unit = f"MiniLM layer {state.layer}, head {state.modelhead} · ", "piece"
    note = f" · {plural(left_out, 'control character')} left out" if left_out else ""
    return (
        f'<p class="heat-status">{source}{plural(trace.scores.shape[-1], unit)} · d = {d} · √d = {math.sqrt(d):.3f}{note}</p>'
        f'<p class="heat-formula">{formula(view)}</p>'
        '<p class="hint">Read it like a book: each row is one word looking, each column a word it looks at, and each row of '
        f"weights adds up to 1{', together with [CLS] and [SEP], which are left out of view' if is_cut(view) else ''}. Choose a row’s header to open its arithmetic.</p>"
    )


def formula(view: View) -> str:
    """The formula of these settings, as text that can be quoted."""
    scale = view.slice_trace.options.scale
    inside = {"sqrt_dk": "qᵢ·kⱼ / (√d × T)", "none": "qᵢ·kⱼ / T"}.get(str(scale), f"qᵢ·kⱼ × {scale} / T")
    if view.state.softcap is not None:
        inside = f"{view.state.softcap:g}·tanh({inside} / {view.state.softcap:g})"
    if view.state.bias:
        inside += " + bias"
    where = " over j ≤ i" if view.state.causal == "top-left" else ""
    return f"softmax({inside}){where}, T = {view.state.T:g}"


def picture(view: View, rows: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """The weights as a table with its legend, or the place for the canvas."""
    trace = view.slice_trace
    caption = f"Attention weights: {setting_words(view.state)}"
    if max(trace.weights.shape) > MOST_TABLE:
        return (
            f'<p class="caption">{caption}</p><div class="canvas-slot" data-canvas="weights"></div>{legend()}'
        )
    table = heat_table(trace.weights, view.given_out, rows, columns, caption=caption, part=in_view(view))
    return f'<div class="scroll heat-scroll">{table}</div>{legend()}'


def inverse_root(trace: Trace) -> str:
    """`1/√d = 0.1768`."""
    return f"1/√d = {1 / math.sqrt(trace.q.shape[-1]):.4f}"


def temperature_words(trace: Trace) -> str:
    """What T does here, in words."""
    t = trace.options.temperature
    if t == 1:
        return "Neutral: the scores go into softmax as they are."
    change = f"{1 / t:.3g} times as far apart" if t < 1 else f"{t:.3g} times closer together"
    if t < 1:
        return f"Sharper: scores stand {change}, so the strongest key takes more."
    return f"Flatter: scores stand {change}, so weights even out."


def real_and_standing_in(view: View) -> str:
    """What of this is a transformer's own arithmetic and what only takes the place of trained parts, with live scores."""
    if view.state.real_head:
        from attention_lab.model.encoder import pass_of
        from attention_lab.render.heat_model import real

        return real(view, pass_of(view.state.text or "").encoder)
    d, seed = view.state.d or view.slice_trace.q.shape[-1], view.state.seed
    spelled, meant = (compare_words(first, second, d, seed) for first, second in PAIRS)
    raised = (
        f" (compared at d = {spelled.d}: below that, chance collisions drown the difference)"
        if spelled.d != d
        else ""
    )
    pairs = "".join(
        f'<li data-pair="{pair.first} {pair.second}" data-d="{pair.d}" data-value="{pair.score!r}" data-verdict-word="{pair.verdict}">'
        f"{escape(sentence_about(pair))}</li>"
        for pair in (spelled, meant)
    )
    return (
        "<h3>What is real, what stands in</h3>"
        "<p><strong>Real:</strong> the dot products, the division by √d and T, the mask, softmax, and the sinusoidal positions are those of "
        "a transformer’s attention head, computed here to full precision.</p>"
        "<p><strong>Standing in:</strong> the vectors. A trained model learns them from text; here each token’s vector comes from its spelling: "
        "groups of 2 and 3 characters, with the word’s ends marked, hashed to + or − at one of d places and scaled so that a "
        "token’s score with itself is d. Q, K and V are these same vectors: there are no trained projections, one head, one "
        "layer. So the picture shows how attention computes, not what a model has learned.</p>"
        f"<ul>{pairs}</ul><p>{escape(conclusion(spelled, meant))}{raised}</p>"
    )
