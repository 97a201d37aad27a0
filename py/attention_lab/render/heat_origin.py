"""From a query vector of a real head back to the token: embedding + position + kind → norm → W_Q row by row → q.

Every number is the pass's own, or one product of two of them. Writes HTML; computes no attention.
"""

from __future__ import annotations

import numpy as np

from attention_lab.explain.origin import Origin, origin_of
from attention_lab.model.encoder import pass_of
from attention_lab.render.html import escape, number
from attention_lab.render.view import View

LARGEST = 6


def origin(view: View, row: int) -> str:
    """The panel for the open row's query."""
    state = view.state
    found = origin_of(pass_of(state.text or ""), state.layer, state.modelhead, row)
    return (
        f"<h3>Where the query of “{escape(found.piece)}” comes from</h3>"
        f"{_steps(found)}{_entries(found, state.entry)}{_terms(found, state.entry) if state.entry is not None else ''}"
    )


def _steps(found: Origin) -> str:
    size = len(found.x)

    def vector(name: str, values: object) -> str:
        shown = np.asarray(values)
        first = ", ".join(number(float(value)) for value in shown[:4])
        return f'<li data-origin="{name}">{_TEXT[name]}: <span class="n">({first}, …)</span></li>'

    lines = [vector(name, getattr(found, name)) for name in ("word", "position", "kind", "total", "embedded")]
    between = ""
    if found.layer:
        between = f"<li>layers 0 to {found.layer - 1} (attention, residual, norm, feed-forward, residual, norm) turn that into the input x of layer {found.layer}</li>"
    lines += [between, vector("x", found.x)]
    return (
        f'<p class="hint">Piece {found.index_in_model} of the model’s list, at position {found.row}. Each vector has {size} entries; the first four are shown.</p>'
        f'<ol class="origin">{"".join(lines)}<li>q<sub>c</sub> = Σᵢ xᵢ · W<sub>Q</sub>[c, i] + b[c], one row of W<sub>Q</sub> for each of the {len(found.q)} entries below</li></ol>'
    )


_TEXT = {
    "word": "embedding of the piece",
    "position": "+ embedding of its position",
    "kind": "+ embedding of its kind (one kind here)",
    "total": "= their sum",
    "embedded": "layer norm: minus the mean, over the standard deviation, × gain + bias",
    "x": "x, the input of W<sub>Q</sub>",
}


def _entries(found: Origin, chosen: int | None) -> str:
    items = "".join(
        f'<li><button type="button" data-set="entry={"" if c == chosen else c}" aria-pressed="{"true" if c == chosen else "false"}" '
        f'data-query="{c}" data-value="{value!r}">q<sub>{c}</sub> {number(value)}</button></li>'
        for c, value in enumerate(found.q.tolist())
    )
    return f'<p class="hint">Choose an entry of q to see its {len(found.x)} products.</p><ol class="query-entries" start="0">{items}</ol>'


def _terms(found: Origin, c: int) -> str:
    products = found.products(c)
    order = np.argsort(-np.abs(products), kind="stable")[:LARGEST]
    rest = float(found.q[c] - found.bias[c] - products[order].sum())
    largest = " ".join(
        f'{"+" if products[i] >= 0 else "−"} {number(abs(float(products[i])))} <span class="quiet">(i = {i})</span>'
        for i in order.tolist()
    ).removeprefix("+ ")
    lines = "".join(
        f'<tr><th scope="row">{i}</th>'
        + "".join(f'<td class="n" data-value="{value!r}">{number(value)}</td>' for value in values)
        + "</tr>"
        for i, values in enumerate(
            zip(
                found.word.tolist(),
                found.position.tolist(),
                found.kind.tolist(),
                found.total.tolist(),
                found.embedded.tolist(),
                found.x.tolist(),
                found.weight[c].tolist(),
                products.tolist(),
                strict=True,
            )
        )
    )
    heads = "".join(
        f'<th scope="col">{name}</th>'
        for name in (
            "i",
            "piece",
            "position",
            "kind",
            "sum",
            "after norm",
            "xᵢ",
            f"W<sub>Q</sub>[{c}, i]",
            "product",
        )
    )
    return (
        f'<p data-entry="{c}">q<sub>{c}</sub> = {largest} {"+" if rest >= 0 else "−"} {number(abs(rest))} <span class="quiet">(the other {len(products) - LARGEST})</span> '
        f'{"+" if found.bias[c] >= 0 else "−"} {number(abs(float(found.bias[c])))} <span class="quiet">(bias)</span> = <strong>{number(float(found.q[c]))}</strong></p>'
        f'<div class="scroll heat-scroll" tabindex="0" role="region" aria-label="Products of the entry"><table class="stage" data-origin-terms="{c}"><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>'
    )
