"""A heatmap as an SVG picture that stands alone: labels, numbers where they fit, legend from 0 to 1, and a title.

Draws what it is given: the weights, their levels on the ramp and the ramp's colours. Does not compute attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape as _escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

CELL = 40
"""Side of one cell in picture units, large enough for two decimals."""
MOST_WITH_NUMBERS = 64
SMALL_CELL = 12
LONGEST_LABEL = 18
FONT = "font-family='system-ui, sans-serif'"


def heatmap_svg(
    weights: NDArray[np.floating[Any]],
    visible: NDArray[np.bool_],
    levels: NDArray[np.int_],
    palette: Sequence[tuple[str, str]],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    sums: NDArray[np.floating[Any]] | None = None,
) -> str:
    """weights, visible and levels are (n, m); palette gives (background, text colour) of each level.

    sums (n,) are those of the whole rows where weights is only a part of them.

    Cells carry two decimals up to 64 rows and columns; above that the picture has colours only and says so.
    """
    n, m = weights.shape
    numbers = max(n, m) <= MOST_WITH_NUMBERS
    side = CELL if numbers else SMALL_CELL
    row_labels, column_labels = [_short(x) for x in rows], [_short(x) for x in columns]
    size = 12 if numbers else 9
    left = 16 + size * 0.62 * max(map(len, row_labels), default=0) + 8
    top = 44 + size * 0.62 * max(map(len, column_labels), default=0) + 8
    legend_width = 11 * 30
    width = max(left + m * side + (52 if numbers else 0), 16 + legend_width, 16 + 7.2 * len(title)) + 16
    height = top + n * side + 76

    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width:.0f}' height='{height:.0f}' "
        f"viewBox='0 0 {width:.0f} {height:.0f}' role='img' aria-label='{escape(title)}'>",
        f"<title>{escape(title)}</title>",
        "<defs><pattern id='masked' width='6' height='6' patternUnits='userSpaceOnUse' patternTransform='rotate(45)'>"
        "<rect width='6' height='6' fill='#f2f2f0'/><path d='M0 0V6' stroke='#b8b8b4' stroke-width='2'/></pattern></defs>",
        f"<rect width='{width:.0f}' height='{height:.0f}' fill='#fff'/>",
        f"<text x='16' y='26' {FONT} font-size='14' fill='#111'>{escape(title)}</text>",
        f"<g {FONT} font-size='{size}' fill='#111'>",
    ]
    for j, label in enumerate(column_labels):
        x = left + (j + 0.5) * side
        parts.append(
            f"<text transform='translate({x + size * 0.35:.1f} {top - 6:.1f}) rotate(-90)'>{escape(label)}</text>"
        )
    for i, label in enumerate(row_labels):
        y = top + (i + 0.5) * side + size * 0.35
        parts.append(f"<text x='{left - 6:.1f}' y='{y:.1f}' text-anchor='end'>{escape(label)}</text>")
    if numbers:
        parts.append(f"<text x='{left + m * side + 26:.1f}' y='{top - 6:.1f}' text-anchor='middle'>Σ</text>")
    parts.append("</g>")

    parts.append(f"<g {FONT} font-size='11' text-anchor='middle' shape-rendering='crispEdges'>")
    for i in range(n):
        y = top + i * side
        for j in range(m):
            x = left + j * side
            if visible[i, j]:
                back, ink = palette[int(levels[i, j])]
                text = f"{weights[i, j]:.2f}"
            else:
                back, ink, text = "url(#masked)", "#111", "–"
            parts.append(f"<rect x='{x:.1f}' y='{y:.1f}' width='{side}' height='{side}' fill='{back}'/>")
            if numbers:
                parts.append(
                    f"<text x='{x + side / 2:.1f}' y='{y + side / 2 + 4:.1f}' fill='{ink}'>{text}</text>"
                )
        if numbers:
            total = float(weights[i].sum() if sums is None else sums[i])
            parts.append(
                f"<text x='{left + m * side + 26:.1f}' y='{y + side / 2 + 4:.1f}' fill='#111'>{total:.2f}</text>"
            )
    parts.append("</g>")
    parts += _legend(palette, top + n * side + 20, numbers)
    parts.append("</svg>")
    return "".join(parts)


def escape(text: str) -> str:
    """Escaped for XML, which also forbids U+FFFE and U+FFFF."""
    return _escape(text.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd"))


def _legend(palette: Sequence[tuple[str, str]], y: float, numbers: bool) -> list[str]:
    """Eleven swatches from 0 to 1 and what the colours mean."""
    last = len(palette) - 1
    parts = [f"<g {FONT} font-size='11'>"]
    for step in range(11):
        weight = step / 10
        back, ink = palette[round(weight**0.5 * last)]
        x = 16 + step * 30
        parts.append(f"<rect x='{x}' y='{y:.1f}' width='30' height='18' fill='{back}'/>")
        parts.append(
            f"<text x='{x + 15}' y='{y + 13:.1f}' text-anchor='middle' fill='{ink}'>{weight:g}</text>"
        )
    words = "weight, colour by its square root; striped: masked, exactly 0"
    if not numbers:
        words += "; numbers: see the CSV"
    parts.append(f"<text x='16' y='{y + 36:.1f}' fill='#111'>{words}</text></g>")
    return parts


def _short(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
