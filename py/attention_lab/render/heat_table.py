"""A matrix of weights as one HTML table, fast enough to be rebuilt at every keystroke.

Everything but the numbers comes from a cached template, and the numbers go in with one `%`: in WebAssembly a Python
call for each of 4,096 cells would cost more than the browser needs to paint them. Does not compute attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.render.cividis import LEVELS
from attention_lab.render.html import escape, shade

Array = NDArray[np.floating[Any]]

MASKED_TEXT = "–"
LONGEST_LABEL = 18
_HUNDREDTHS = np.array([f"{n / 100:.2f}" for n in range(101)], dtype=object)
_LEVELS = np.array([f"w{n}" for n in range(LEVELS + 1)], dtype=object)


def two_decimals(weights: Array) -> list[str]:
    """Each weight in [0, 1] as Python's `%.2f` writes it: [0.125, 0.005] -> ["0.12", "0.01"]."""
    hundred = weights * 100.0
    nearest = np.rint(hundred)
    if not np.all((nearest >= 0) & (nearest <= 100)):  # NaN rows of an empty query
        return [f"{x:.2f}" if x == x else "NaN" for x in weights.tolist()]
    texts: list[str] = _HUNDREDTHS[nearest.astype(np.intp)].tolist()
    # Multiplying rounds, so next to a half the product may fall on the wrong side: write those digit by digit.
    for at in np.flatnonzero(np.abs(np.abs(hundred - nearest) - 0.5) < 1e-9).tolist():
        texts[at] = f"{weights[at]:.2f}"
    return texts


def shortest(values: Array) -> list[str]:
    """`repr` of each float, in one C loop."""
    return repr(values.tolist())[1:-1].split(", ") if len(values) else []


@lru_cache(maxsize=4096)
def short_label(label: str) -> str:
    """The escaped label, cut to 18 characters with an ellipsis; the whole word goes into a title."""
    if len(label) <= LONGEST_LABEL:
        return escape(label)
    whole = label if len(label) <= 300 else label[:299] + "…"
    return f'<span title="{escape(whole)}">{escape(label[: LONGEST_LABEL - 1])}…</span>'


@lru_cache(maxsize=16)
def _template(n: int, m: int, visible: bytes, buttons: bool, stage: str, first: int) -> str:
    """The table with `%s` where a label or a number goes. Which row is open is marked by the page, not here.

    Rows and columns are counted from `first` on.
    """
    mask = np.frombuffer(visible, dtype=np.bool_).reshape(n, m).tolist()
    masked = f'" data-value="0.0" data-masked class="n masked" tabindex="-1">{MASKED_TEXT}</td>'
    number = '" data-value="%s" class="n %s" tabindex="-1">%s</td>'
    columns = [f'" data-j="{j}' for j in range(first, first + m)]
    head = '<th scope="col">%s</th>' * m
    lines = []
    for i, row in enumerate(mask, first):
        cells = "".join(
            [
                f'<td data-i="{i}{column}{number if on else masked}'
                for column, on in zip(columns, row, strict=True)
            ]
        )
        name = (
            f'<button type="button" class="row-name" data-set="row={i}" aria-pressed="false">%s</button>'
            if buttons
            else "%s"
        )
        lines.append(f'<tr><th scope="row">{name}</th>{cells}<td class="n extra" data-sum="%s">%s</td></tr>')
    line = lines[0].replace('tabindex="-1"', 'tabindex="0"', 1) if lines else ""
    return (
        f'<table class="stage heat" {stage}><caption>%s</caption><thead><tr>'
        '<td class="corner">query ↓ key →</td>'
        f'{head}<th scope="col" class="extra">Σ</th></tr></thead><tbody>{line}{"".join(lines[1:])}</tbody></table>'
    )


def heat_table(
    weights: Array,
    visible: NDArray[np.bool_],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    caption: str,
    stage: str = 'data-stage="weights"',
    buttons: bool = True,
    part: slice = slice(None),
) -> str:
    """weights (n, m) as a table; visible (n, m) is False where the mask hides a key; rows and columns are plain labels.

    `part` says which rows and columns are shown, under their own numbers; the sums are those of the whole rows.
    """
    sums = weights[part].sum(axis=-1)
    weights, visible = weights[part, part], visible[part, part]
    rows, columns = rows[part], columns[part]
    n, m = weights.shape
    seen_at = np.ascontiguousarray(visible, dtype=np.bool_).tobytes()
    template = _template(n, m, seen_at, buttons, stage, part.start or 0)
    seen = weights[visible]
    numbers = shortest(seen)
    levels = _LEVELS[shade(seen)].tolist()
    texts = two_decimals(seen)
    sum_values, sum_texts = shortest(sums), [f"{x:.2f}" for x in sums.tolist()]

    arguments: list[str] = [caption]
    arguments += map(short_label, columns)
    start = 0
    for i, count in enumerate(visible.sum(axis=-1).tolist()):
        end = start + count
        arguments.append(short_label(rows[i]))
        cells = [""] * (3 * count)
        cells[0::3] = numbers[start:end]
        cells[1::3] = levels[start:end]
        cells[2::3] = texts[start:end]
        arguments += cells
        arguments += (sum_values[i], sum_texts[i])
        start = end
    return template % tuple(arguments)


def legend() -> str:
    """The colour scale from 0 to 1, with its numbers."""
    steps = [n / 10 for n in range(11)]
    cells = "".join(
        f'<span class="w{level}">{t:g}</span>' for t, level in zip(steps, shade(np.array(steps)), strict=True)
    )
    return (
        f'<p class="heat-legend"><span class="heat-scale" role="img" aria-label="Colour scale of weights from 0 to 1">{cells}</span>'
        f' <span class="quiet">weight; colour follows √weight, so that small weights still show.</span>'
        f' <span class="masked heat-masked">{MASKED_TEXT}</span> <span class="quiet">masked: exactly 0.</span></p>'
    )
