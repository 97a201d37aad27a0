"""The Calculator: summary strip, the stages as tables, one query row taken apart, and the checks.

HTML strings from a computed View. Computes no attention; every number is the Trace's.
"""

from __future__ import annotations

import math as m
from html import unescape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError
from attention_lab.explain.cell import sums_of_products
from attention_lab.explain.row import RowTrace, entropies, row
from attention_lab.explain.stages import Stage, stages
from attention_lab.render import mathml
from attention_lab.render.html import escape, plural, reprs, shade, stage_table, written
from attention_lab.render.view import View

if TYPE_CHECKING:
    from attention_lab.state import State

Array = NDArray[np.floating[Any]]
MOST_LISTED = 8
"""Rows up to which the strip names each row's figures."""
MOST_TABLE = 64
"""Rows or columns above which a stage is drawn on canvas instead of as a table."""

MATHML = {
    "scores": mathml.SCORES,
    "tempered": mathml.TEMPERED,
    "capped": mathml.CAPPED,
    "biased": mathml.BIASED,
    "masked": mathml.MASKED,
    "weights": mathml.WEIGHTS,
    "output": mathml.OUTPUT,
}

__all__ = ["copied", "first", "inputs", "is_large", "render"]

_pinned: list[tuple[State, View]] = []
"""The pinned result computed last: an edit of the other one must not compute it again."""


def render(view: View) -> dict[str, str]:
    """Slots of the Calculator: its inputs as tables, summary, stages, row trace and checks."""
    slots = first(view)
    drawn = view.drawn
    if "calculator-summary" not in drawn:
        drawn["calculator-summary"] = summary(view)
        drawn["calculator-checks"] = checks(view)
    if view.state.blank:  # whatever would give the answers away waits until they are shown
        from attention_lab.render.blank import check_line

        return slots | {
            "calculator-row": check_line(),
            "calculator-summary": "",
            "calculator-pinned": "",
            "calculator-checks": "",
        }
    return slots | drawn | {"calculator-row": row_trace(view), "calculator-pinned": compared(view)}


def first(view: View) -> dict[str, str]:
    """The stages and the inputs alone: what an edit of a large matrix shows before the rest."""
    drawn = view.drawn
    if "calculator-stages" not in drawn:
        shown = stages(view.slice_trace, view.write)
        drawn["calculator-inputs"] = inputs(view)
        drawn["calculator-stages"] = "".join(stage(view, item, place) for place, item in enumerate(shown, 1))
    return {name: drawn[name] for name in ("calculator-inputs", "calculator-stages")}


def is_large(view: View) -> bool:
    """True when a stage is drawn on canvas."""
    return max(*view.slice_trace.scores.shape[-2:], view.slice_trace.v.shape[-1]) > MOST_TABLE


def compared(view: View) -> str:
    """The pinned result beside this one, or why it cannot be shown; empty when nothing is pinned."""
    other = view.state.second()
    if other is None:
        return ""
    from attention_lab.compute import view_of
    from attention_lab.render.pinned import pinned

    try:
        if not _pinned or _pinned[0][0] != other:
            _pinned[:] = [(other, view_of(other))]
        return pinned(view, _pinned[0][1])
    except LabError as error:
        return f'<p class="error">The pinned result cannot be computed: {escape(str(error))}</p>'


def shape(array: Array) -> str:
    """`2×3`, with leading axes in front: `1×8×5×64`."""
    return "×".join(map(str, array.shape))


def summary(view: View) -> str:
    """One line of facts: shapes, d_k, d_v, √d_k, row sums, stable against naive."""
    trace = view.trace
    d_k, d_v = view.slice_trace.q.shape[-1], view.slice_trace.v.shape[-1]
    facts = [
        ("shapes", f"Q {shape(view.problem.q)} · K {shape(view.problem.k)} · V {shape(view.problem.v)}"),
        ("d<sub>k</sub>", str(d_k)),
        ("d<sub>v</sub>", str(d_v)),
        ("√d<sub>k</sub>", view.write(m.sqrt(d_k))),
        ("rows sum to 1", _row_sums(trace.row_sum_error)),
        ("stable ≡ naive", _stable(trace.stable_vs_naive, trace.naive_failure)),
        *_rows(view),
    ]
    return "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)


def _rows(view: View) -> list[tuple[str, str]]:
    """Entropy and largest weight of each row; of many rows the range."""
    weights = view.slice_trace.weights
    facts = (("entropy of each row", entropies(weights)), ("largest weight", weights.max(axis=-1)))
    if len(weights) <= MOST_LISTED:
        return [(name, ", ".join(written(values, view.state.decimals))) for name, values in facts]
    spread = [
        (name.replace("of each row", "of the rows"), np.array([values.min(), values.max()]))
        for name, values in facts
    ]
    return [(name, " to ".join(written(values, view.state.decimals))) for name, values in spread]


def _row_sums(error: float) -> str:
    mark = "✓" if error <= 1e-12 else "✗"
    return (
        f'<span data-check="row-sums" data-value="{error!r}">{mark} off by {error:.1e}</span>'
        if error
        else ('<span data-check="row-sums" data-value="0.0">✓ exactly</span>')
    )


def _stable(difference: float, failure: str | None) -> str:
    if failure:
        text = f"✗ the naive form {failure}s"
    elif difference:
        text = f"✓ Δ {difference:.1e}"
    else:
        text = "✓ Δ 0"
    return f'<span data-check="stable-naive" data-value="{difference!r}">{text}</span>'


def inputs(view: View) -> str:
    """Q, K and V as tables, so that the cells a result came from can light up."""
    part = view.slice_trace
    d_k, d_v = part.q.shape[-1], part.v.shape[-1]
    pieces = []
    for name, array, rows, columns in (
        ("q", part.q, view.query_names(), view.dim_names(d_k)),
        ("k", part.k, view.key_names(), view.dim_names(d_k)),
        ("v", part.v, view.key_names(), view.dim_names(d_v)),
    ):
        if max(array.shape) > MOST_TABLE:
            continue
        pieces.append(
            stage_table(
                name,
                array,
                caption=f"{name.upper()} <span class='shape'>{shape(array)}</span>",
                rows=rows,
                columns=columns,
                decimals="exact" if view.state.decimals == "exact" else "auto",
            )
        )
    return "".join(pieces)


def stage(view: View, item: Stage, place: int) -> str:
    """One numbered stage: a table with its title and formula."""
    if max(item.array.shape) > MOST_TABLE and item.name not in view.state.blank:
        return _large(item, place)
    part = view.slice_trace
    keys = view.key_names()
    masked: NDArray[np.bool_] | None = ~part.mask
    columns = keys
    extra = None
    shades = None
    masked_text = "−∞"
    if item.name == "output":
        columns, masked = view.dim_names(item.array.shape[-1]), None
    elif item.name == "weights":
        shades, masked = shade(item.array), ~view.given_out
        masked_text = "0"
        sums = item.array.sum(axis=-1)
        extra = ("Σ", written(sums, view.state.decimals))
    elif item.name not in ("masked", "biased"):
        masked = None
    elif item.name == "biased":
        masked = np.isneginf(item.array)
    if item.name in view.state.blank:
        from attention_lab.render.blank import blank_table

        n, m = item.array.shape
        return blank_table(item.name, (n, m), _caption(view, item, place), view.query_names(), columns)
    return (
        f'<section class="stage-box stage-{item.name}">'
        + stage_table(
            item.name,
            item.array,
            caption=_caption(view, item, place),
            rows=view.query_names(),
            columns=columns,
            decimals=view.state.decimals,
            masked=masked,
            masked_text=masked_text,
            shades=shades,
            row_buttons=True,
            extra=extra,
        )
        + (
            f'<p class="copy"><button type="button" class="link" data-action="copy-tsv {item.name}">Copy TSV</button>'
            f'<button type="button" class="link" data-action="copy-json {item.name}">Copy JSON</button></p></section>'
        )
    )


def _caption(view: View, item: Stage, place: int) -> str:
    return (
        f'<span class="number">{place}</span> <span class="title">{item.title} {_formula(view, item)}</span>'
    )


def copied(view: View, what: str) -> str:
    """The text of a copy button: "tsv weights", "json weights", or "row" for the open row."""
    if what == "row":
        from attention_lab.export.row_text import row_text

        item = row(view.slice, view.slice_trace, _selected(view))
        names = [unescape(name) for name in (view.query_names()[item.index], *view.key_names())]
        return row_text(item, names[0], names[1:], view.write)
    from attention_lab.export.table import exact_json, tsv

    kind, _, name = what.partition(" ")
    array = next(item.array for item in stages(view.slice_trace, view.write) if item.name == name)
    return tsv(array) if kind == "tsv" else exact_json(name, array)


def _large(item: Stage, place: int) -> str:
    return (
        f'<section class="stage-box"><p class="caption"><span class="number">{place}</span> {item.title} '
        f"<span class='shape'>{shape(item.array)}</span></p>"
        f'<div class="canvas-slot" data-canvas="{item.name}"></div></section>'
    )


def _formula(view: View, item: Stage) -> str:
    """The stage's formula twice: as text, which is how the stage is called, and as MathML."""
    trace = view.slice_trace
    if item.name == "scaled":
        by_root = trace.options.scale == "sqrt_dk"
        drawn = mathml.scaled(None if by_root else view.write(float(trace.scale)))
    else:
        drawn = MATHML[item.name]
    return f'<span class="formula">{item.formula}</span> <span class="drawn">{drawn}</span>'


def _selected(view: View) -> int:
    rows = view.slice_trace.scores.shape[-2]
    return min(view.state.row or 0, rows - 1)


def row_trace(view: View) -> str:
    """The arithmetic of the chosen query row, key by key, and its output as a weighted sum."""
    item = row(view.slice, view.slice_trace, _selected(view))
    write = view.write
    keys = view.key_names()
    query = view.query_names()[item.index]
    steps = _columns(view, item)
    head = "".join(f'<th scope="col">{title}</th>' for _, title, _ in steps)
    cells = [_row_cells(view, item, term, values) for term, _, values in steps]
    products = sums_of_products(item.query, item.keys, write)
    lines = [
        f'<tr><th scope="row">{key}</th><td class="terms">{product}</td>{"".join(line)}</tr>'
        for key, product, *line in zip(keys, products, *cells, strict=True)
    ]
    return (
        f'<h3>Inside row {query} <button type="button" class="link" data-action="copy-row">Copy as text</button></h3>'
        f'<div class="scroll" tabindex="0" role="group" aria-label="Arithmetic of the row"><table data-row-trace data-i="{item.index}"><caption class="quiet">{_row_words(view, item)}'
        f'</caption><thead><tr><th scope="col">key</th><th scope="col">q·k, term by term</th>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
        f"{_row_output(view, item)}"
    )


def _row_cells(view: View, item: RowTrace, term: str, values: Array) -> list[str]:
    """The cells of one column of the row trace, one for each key."""
    levels = shade(values).tolist() if term == "weight" else []
    hides = term in ("masked", "exp", "weight")
    cells = []
    for j, (x, exact, text, masked) in enumerate(
        zip(
            values.tolist(),
            reprs(values),
            written(values, view.state.decimals),
            item.masked.tolist(),
            strict=True,
        )
    ):
        start = f'data-j="{j}" data-term="{term}" data-value="{exact}"'
        if masked and hides and (term == "masked" or x == 0):
            word = "masked" if term == "masked" else "0"
            cells.append(f'<td class="n masked" {start} data-masked>{word}</td>')
        else:
            kind = f" w{levels[j]}" if levels else ""
            cells.append(f'<td class="n{kind}" {start}>{text}</td>')
    return cells


def _columns(view: View, item: RowTrace) -> list[tuple[str, str, Array]]:
    """(term, column title, values) of each step that does something in this row."""
    trace = view.slice_trace
    titles = {
        "tempered": "÷T",
        "capped": "softcap",
        "biased": "+ bias",
        "masked": "mask",
    }
    columns: list[tuple[str, str, Array]] = [("dot", "q·k", item.dot)]
    if trace.scaled is not trace.scores:
        scaled = "÷√d<sub>k</sub>" if trace.options.scale == "sqrt_dk" else "× scale"
        columns.append(("scaled", scaled, item.scaled))
    for name in item.active:
        columns.append((name, titles[name], item.logits if name == "masked" else getattr(item, name)))
    columns += [("exp", "exp (shifted)", item.exponentials), ("weight", "weight", item.weights)]
    return columns


def _row_words(view: View, item: RowTrace) -> str:
    write = view.write
    if item.empty:
        return "Every key is masked: this row may attend to nothing."
    return (
        f"The largest score, {write(item.row_max)}, is subtracted before exp so that nothing overflows; "
        f"it cancels in the division by the denominator {write(item.denominator)}."
    )


def _row_output(view: View, item: RowTrace) -> str:
    """`O₁ = 0.6698·V₁ + 0.3302·V₂ = (1.6605, 2.6605)`."""
    write = view.write
    values = [
        name.replace("K", "V", 1) if view.slice.key_labels is None else f"V({name})"
        for name in view.key_names()
    ]
    seen = [j for j in range(len(values)) if not item.masked[j] or item.weights[j] != 0]
    shown = seen if len(seen) <= 8 else seen[:4] + seen[-2:]
    terms = [f"{write(float(item.weights[j]))}·{values[j]}" for j in shown]
    if len(seen) > 8:
        terms.insert(4, f"… {len(seen) - 6} more …")
    result = ", ".join(write(float(x)) for x in item.output)
    query = view.query_names()[item.index]
    left = query.replace("Q", "O", 1) if view.slice.query_labels is None else f"O({query})"
    facts = (
        f"{plural(item.visible, 'visible key')} · entropy {write(item.entropy)} nats · "
        f"as divided as {write(item.effective_keys)} equal keys"
    )
    return f'<p class="sum">{left} = {" + ".join(terms) or "0"} = ({result})</p><p class="quiet">{facts}</p>'


def checks(view: View) -> str:
    """The method line under the results: what was checked, on these very numbers."""
    trace = view.trace
    lines = [
        f"Computed in your browser by Python and NumPy in {trace.options.precision}; softmax subtracts each row’s maximum.",
    ]
    if trace.naive_failure:
        how = "overflows" if trace.naive_failure == "overflow" else "underflows to 0 / 0"
        lines.append(
            f"The naive softmax, exp(x) / Σ exp(x), {how} on these numbers; the stable form above does not."
        )
    else:
        lines.append(
            "The same softmax without the maximum subtracted differs by at most "
            f"{trace.stable_vs_naive:.1e} in the output: the two agree."
        )
    return "".join(f"<p>{line}</p>" for line in lines)
