"""One row of the heatmap opened: six cards and the arithmetic of every key.

Rounds and writes HTML; every number is the RowTrace's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.explain.row import RowTrace
from attention_lab.render.heat_table import short_label, shortest
from attention_lab.render.html import escape, number, shade

Array = NDArray[np.floating[Any]]

EXTRA = {"capped": "softcap", "biased": "+ bias"}


def row_section(
    item: RowTrace,
    labels: tuple[str, ...],
    name: str,
    scale: str | float,
    temperature: float,
    part: slice = slice(None),
) -> str:
    """Heading, cards and table of one row. labels are the key headers (`8 cat`), name the row's own word.

    `part` says which keys are on show; every card but the first one counts all of them.
    """
    return (
        f"<h3>Inside row {item.index}: “{escape(_short(name))}”</h3>{cards(item, labels, part)}{_left_out(item, labels, part)}"
        f"{table(item, labels, scale, part)}{explanation(item, scale, temperature)}"
    )


def _left_out(item: RowTrace, labels: tuple[str, ...], part: slice) -> str:
    hidden = [j for j in range(len(labels)) if j not in range(*part.indices(len(labels)))]
    if not hidden:
        return ""
    those = " and ".join(f"{short_label(labels[j])} {number(float(item.weights[j]))}" for j in hidden)
    return (
        f'<p class="hint" data-left-out>Left out of view, not of the arithmetic: {those}. The denominator, the entropy, the '
        "effective number of keys and the visible positions count them.</p>"
    )


def cards(item: RowTrace, labels: tuple[str, ...], part: slice = slice(None)) -> str:
    """Weight on the strongest key on show, √d, visible positions, denominator, entropy, effective number of keys."""
    cut = len(labels[part]) < len(labels)
    if item.strongest is None:
        strongest, value = "no key", "0" if item.empty else "NaN"
    else:
        at = range(len(labels))[part][int(np.argmax(item.weights[part]))] if cut else item.strongest
        strongest, value = short_label(labels[at]), number(float(item.weights[at]))
    facts = (
        (f"weight on the strongest key{' in view' if cut else ''}", value, strongest),
        ("√d", number(item.sqrt_dk, 3), f"d = {item.keys.shape[-1]}"),
        ("visible positions", str(item.visible), f"of {len(item.weights)}"),
        ("softmax denominator", number(item.denominator), "Σ exp (shifted)"),
        ("entropy", number(item.entropy), "nats"),
        ("effective number of keys", number(item.effective_keys, 2), "e to the entropy"),
    )
    return (
        '<dl class="cards">'
        + "".join(
            f"<div><dt>{title}</dt><dd>{text}</dd><dd class='quiet'>{note}</dd></div>"
            for title, text, note in facts
        )
        + "</dl>"
    )


def table(item: RowTrace, labels: tuple[str, ...], scale: str | float, part: slice = slice(None)) -> str:
    """Key · q·k · ÷√d · ÷T · exp (shifted) · weight, for every key of `part`."""
    scaled = {"sqrt_dk": "÷√d", "none": "× 1"}.get(str(scale), f"× {scale}")
    columns: list[tuple[str, str, Array, int]] = [
        ("dot", "q·k", item.dot, 2),
        ("scaled", scaled, item.scaled, 3),
        ("tempered", "÷T", item.tempered, 3),
    ]
    columns += [(term, EXTRA[term], getattr(item, term), 3) for term in item.active if term in EXTRA]
    columns += [("exp", "exp (shifted)", item.exponentials, 4), ("weight", "weight", item.weights, 4)]

    hidden = item.masked[part]
    parts = []
    for term, _, whole, decimals in columns:
        values = whole[part]
        texts, numbers = fixed(values, decimals), shortest(values)
        kinds = ["n"] * len(texts)
        if term == "weight":
            kinds = [f"n w{level}" for level in shade(values).tolist()]
        if term not in ("dot", "scaled"):
            logit = term not in ("exp", "weight")
            # A row emptied by the mask may still be given weights by its policy; these are shown as they are.
            for j in np.flatnonzero(hidden if logit else hidden & (values == 0)).tolist():
                texts[j] = "masked" if term == "tempered" else "" if logit else "0"
                numbers[j] = "-inf" if logit else numbers[j]
                kinds[j] = 'n masked" data-masked="'
        parts.append((term, numbers, kinds, texts))

    places = range(len(labels))[part]
    labels, m = labels[part], len(places)
    arguments: list[object] = [""] * (m * (1 + 4 * len(parts)))
    stride = 1 + 4 * len(parts)
    arguments[0::stride] = map(short_label, labels)
    for place, (_, numbers, kinds, texts) in enumerate(parts):
        at = 1 + 4 * place
        arguments[at::stride] = places
        arguments[at + 1 :: stride] = numbers
        arguments[at + 2 :: stride] = kinds
        arguments[at + 3 :: stride] = texts
    cells = "".join(
        f'<td data-j="%d" data-term="{term}" data-value="%s" class="%s">%s</td>' for term, *_ in parts
    )
    body = (f'<tr><th scope="row">%s</th>{cells}</tr>' * m) % tuple(arguments)
    head = "".join(f'<th scope="col">{title}</th>' for _, title, _, _ in columns)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Arithmetic of the row"><table class="row-trace" data-row-trace data-i="{item.index}"><thead><tr>'
        f'<th scope="col">Key</th>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def fixed(values: Array, decimals: int) -> list[str]:
    """Every number with fixed decimals and a true minus sign: fixed([-0.5, -0.0], 2) -> ["−0.50", "0.00"]."""
    if not np.isfinite(values).all():
        return [number(x, decimals) for x in values.tolist()]
    text = (f"%.{decimals}f\n" * len(values) % tuple(values.tolist())).replace("-", "−")
    zero = f"{0:.{decimals}f}\n"
    return text.replace("−" + zero, zero).split("\n")[:-1]


def explanation(item: RowTrace, scale: str | float, temperature: float) -> str:
    """Why a maximum was subtracted, with the numbers of this row."""
    if item.empty:
        return "<p>Every key is masked: this row may attend to nothing.</p>"
    top = number(item.row_max, 3)
    return (
        f"<p>The row maximum, {top}, is subtracted from every visible score before exp, so that the largest exponential is "
        f"exactly 1 and none can overflow. It cancels: e<sup>x − {top}</sup> is e<sup>x</sup> divided by "
        f"e<sup>{top}</sup>, and that factor stands in every numerator and in the denominator "
        f"{number(item.denominator)} alike.</p>"
    )


def _short(word: str) -> str:
    return word if len(word) <= 40 else word[:39] + "…"
