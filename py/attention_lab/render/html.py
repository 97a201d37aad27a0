"""Small pieces every view is made of: escaped text, numbers as shown, tables of one stage.

Pure functions from values to HTML strings. No arithmetic of attention, no browser, no inline styles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.render.cividis import LEVELS

Array = NDArray[np.float64]
Formatter = Callable[[float], str]

SUBSCRIPTS = str.maketrans("0123456789−-", "₀₁₂₃₄₅₆₇₈₉₋₋")

__all__ = ["data_set", "escape", "formatter", "index_label", "number", "plural", "shade", "stage_table"]


def _shortest(x: float) -> str:
    return str(int(x)) if x == int(x) and abs(x) < 1e16 else repr(x)


def formatter(decimals: int | str) -> Formatter:
    """A function that writes one number for reading. `decimals`: 0–12, "exact" (shortest text that reads back
    as the same float), or "auto" (halves and integers exactly, anything else with 4 decimals).

    `formatter(2)(-0.5)` → `"−0.50"` with a true minus sign
    """
    places = decimals if isinstance(decimals, int) else 4
    fixed = f"%.{places}f"
    general = f"%.{max(places, 1)}e"
    zero = fixed % 0.0
    exact = decimals == "exact"
    auto = decimals == "auto"

    def write(x: float) -> str:
        if x != x:
            return "NaN"
        if x in (float("inf"), float("-inf")):
            return "∞" if x > 0 else "−∞"
        if exact or (auto and 2 * x == int(2 * x) and abs(x) < 1e15):
            text = _shortest(x)
        elif abs(x) >= 1e15:
            text = general % x
        else:
            text = fixed % x
            if text[0] == "-" and text[1:] == zero:
                return zero  # −0.0000 would look like a negative number
        return "−" + text[1:] if text[0] == "-" else text

    return write


def number(x: float, decimals: int | str = 4) -> str:
    """One number as text; see `formatter`."""
    return formatter(decimals)(float(x))


def plural(count: int, word: str, many: str | None = None) -> str:
    """`plural(1, "row")` → `1 row`; `plural(2, "row")` → `2 rows`."""
    return f"{count:,} {word if count == 1 else many or word + 's'}"


def index_label(letter: str, index: int, labels: Sequence[str] | None = None, first: int = 1) -> str:
    """The escaped header of a row or column: the reader's own label, else `Q₁`."""
    if labels is not None:
        return escape(labels[index])
    return letter + str(index + first).translate(SUBSCRIPTS)


def data_set(**values: object) -> str:
    """The attribute that applies keys to the state when its element is clicked: `data-set="row=2"`."""
    from urllib.parse import quote

    text = "&".join(f"{key}={quote(str(value))}" for key, value in values.items())
    return f'data-set="{escape(text)}"'


def shade(weights: Array) -> NDArray[np.int_]:
    """Level 0…64 on the colour ramp for weights in [0, 1], by their square root so that small ones still show."""
    safe = np.nan_to_num(np.clip(weights, 0.0, 1.0), nan=0.0)
    return np.rint(np.sqrt(safe) * LEVELS).astype(int)


def stage_table(
    stage: str,
    values: Array,
    *,
    caption: str,
    rows: Sequence[str],
    columns: Sequence[str],
    decimals: int | str,
    masked: NDArray[np.bool_] | None = None,
    masked_text: str = "−∞",
    shades: NDArray[np.int_] | None = None,
    row_buttons: bool = False,
    extra: tuple[str, Sequence[str]] | None = None,
    role: str = "stage",
) -> str:
    """One stage as a table. rows and columns are header texts already escaped; values is (rows, columns).

    masked cells keep their value and say so in an attribute, a class and words; shades colours cells by level; role "pinned" or "difference" makes it a companion of the stage, not the stage itself;
    row_buttons makes each row header a button that opens that row (the page marks the open one); extra is one more column: header and cell texts.
    """
    write = formatter(decimals)
    head = "".join(f'<th scope="col">{name}</th>' for name in columns)
    if extra is not None:
        head += f'<th scope="col" class="extra">{extra[0]}</th>'
    body = []
    first = True
    for i, line in enumerate(values.tolist()):
        cells = []
        for j, x in enumerate(line):
            off = masked is not None and bool(masked[i, j])
            kind = " masked" if off else ""
            if shades is not None and not off:
                kind = f" w{shades[i, j]}"
            mark = " data-masked" if off else ""
            tab = "0" if first else "-1"
            first = False
            text = masked_text if off else write(x)
            cells.append(
                f'<td data-i="{i}" data-j="{j}" data-value="{x!r}"{mark} class="n{kind}" tabindex="{tab}">{text}</td>'
            )
        if extra is not None:
            cells.append(f'<td class="n extra">{extra[1][i]}</td>')
        name = rows[i]
        if row_buttons:
            name = f'<button type="button" class="row-name" data-set="row={i}">{name}</button>'
        body.append(f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>')
    return (
        f'<div class="scroll"><table class="stage" data-{role}="{stage}"><caption>{caption}</caption>'
        f'<thead><tr><td class="corner"></td>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'
    )


def attribute(name: str, value: Any) -> str:
    """` name="value"` with the value escaped."""
    return f' {name}="{escape(str(value))}"'
