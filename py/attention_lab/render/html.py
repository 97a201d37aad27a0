"""Small pieces every view is made of: escaped text, numbers as shown, tables of one stage.

Pure functions from values to HTML strings. No arithmetic of attention, no browser, no inline styles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.render.cividis import LEVELS

Array = NDArray[np.floating[Any]]
Formatter = Callable[[float], str]

EXPONENT_FROM = 1e15
"""Size from which a number with a chosen count of decimals is written with an exponent."""
_drawn: dict[str, tuple[tuple[Any, ...], list[NDArray[np.uint8]], list[str]]] = {}
"""Of each table drawn last: what it looks like, the bytes of its numbers, and its rows."""
SUBSCRIPTS = str.maketrans("0123456789−-", "₀₁₂₃₄₅₆₇₈₉₋₋")

__all__ = [
    "data_set",
    "escape",
    "formatter",
    "index_label",
    "index_labels",
    "number",
    "plural",
    "shade",
    "stage_table",
]


def _shortest(x: float) -> str:
    return str(int(x)) if abs(x) < 1e16 and x == int(x) else repr(x)


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
        if exact or (auto and abs(x) < EXPONENT_FROM and 2 * x == int(2 * x)):
            text = _shortest(x)
        elif abs(x) >= EXPONENT_FROM:
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
    """The escaped header of a row or column: the reader's own label, or `Q₁` where there is none."""
    if labels is not None and labels[index].strip():
        return escape(labels[index])
    return letter + str(index + first).translate(SUBSCRIPTS)


@lru_cache(maxsize=32)
def index_labels(letter: str, count: int, first: int) -> tuple[str, ...]:
    """The headers of `count` rows or columns without labels of their own: `index_labels("Q", 2, 1)` → `("Q₁", "Q₂")`."""
    return tuple(index_label(letter, index, None, first) for index in range(count))


def data_set(**values: object) -> str:
    """The attribute that applies keys to the state when its element is clicked: `data-set="row=2"`."""
    from urllib.parse import quote

    text = "&".join(f"{key}={quote(str(value))}" for key, value in values.items())
    return f'data-set="{escape(text)}"'


def shade(weights: Array) -> NDArray[np.int_]:
    """Level 0…64 on the colour ramp for weights in [0, 1], by their square root so that small ones still show."""
    safe = np.nan_to_num(np.clip(weights, 0.0, 1.0), nan=0.0)
    return np.asarray(np.rint(np.sqrt(safe) * LEVELS), dtype=int)


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
    head = "".join(f'<th scope="col">{name}</th>' for name in columns)
    if extra is not None:
        head += f'<th scope="col" class="extra">{extra[0]}</th>'
    names = rows
    if row_buttons:  # the page marks the open row, so that opening one draws no table again
        names = [
            f'<button type="button" class="row-name" data-set="row={i}">{name}</button>'
            for i, name in enumerate(rows)
        ]
    ends = [""] * len(rows) if extra is None else [f'<td class="extra">{text}</td>' for text in extra[1]]
    cells = _rows(f"{role} {stage}", values, decimals, masked, masked_text, shades)
    body = "".join(
        f'<tr><th scope="row">{name}</th>{line}{end}</tr>'
        for name, line, end in zip(names, cells, ends, strict=True)
    )
    return (
        f'<div class="scroll"><table class="stage" data-{role}="{stage}"><caption>{caption}</caption>'
        f'<thead><tr><td class="corner"></td>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _rows(
    table: str,
    values: Array,
    decimals: int | str,
    masked: NDArray[np.bool_] | None,
    masked_text: str,
    shades: NDArray[np.int_] | None,
) -> list[str]:
    """The cells of each row. Rows that are those of the same table drawn last are not written again."""
    look = (values.shape, values.dtype, decimals, masked_text)
    parts = [_bytes_of(part) for part in (values, masked, shades) if part is not None]
    every = range(len(values))
    before = _drawn.get(table)
    changed: Sequence[int] = every
    if before is not None and before[0] == look and len(before[1]) == len(parts):
        differs = [(now != old).any(axis=1) for now, old in zip(parts, before[1], strict=True)]
        changed = np.flatnonzero(np.logical_or.reduce(differs)).tolist()
    if len(changed) == len(values):
        rows = _cells(values, decimals, masked, masked_text, shades, every)
    else:
        assert before is not None
        rows = before[2].copy()
        hidden = None if masked is None else masked[changed]
        levels = None if shades is None else shades[changed]
        if changed:
            fresh = _cells(values[changed], decimals, hidden, masked_text, levels, changed)
            for i, row in zip(changed, fresh, strict=True):
                rows[i] = row
    _drawn[table] = (look, parts, rows)
    return rows


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """(rows, bytes): equal where the numbers are the very same, also −0.0 and NaN."""
    return np.ascontiguousarray(array).view(np.uint8).reshape(len(array), -1)


def _cells(
    values: Array,
    decimals: int | str,
    masked: NDArray[np.bool_] | None,
    masked_text: str,
    shades: NDArray[np.int_] | None,
    rows: Sequence[int],
) -> list[str]:
    """The cells of each row of `values`, which are these `rows` of their table. All numbers are written by two string
    operations, not cell by cell: in WebAssembly a Python call for each of 4096 cells would cost more than the
    browser's own work."""
    count = values.size
    texts, exact = written(values, decimals), reprs(values)
    marks = [""] * count if shades is None else [f' class="w{level}"' for level in shades.ravel().tolist()]
    if masked is not None:
        for place in np.flatnonzero(masked).tolist():
            texts[place], marks[place] = masked_text, ' data-masked class="masked"'
    fields = [""] * (3 * count)
    fields[0::3], fields[1::3], fields[2::3] = exact, marks, texts
    templates = [_row_template(i, values.shape[1]) for i in rows]
    return ("\n".join(templates) % tuple(fields)).split("\n")


@lru_cache(maxsize=512)
def _row_template(i: int, columns: int) -> str:
    """The cells of row i with places for value, attributes and text.

    The first cell of a table is the one that Tab reaches; arrow keys move on from it.
    """
    line = "".join(f'<td data-i="{i}" data-j="{j}" data-value="%s"%s>%s</td>' for j in range(columns))
    return line if i else line.replace("<td ", '<td tabindex="0" ', 1)


def written(values: Array, decimals: int | str) -> list[str]:
    """Every entry as `formatter(decimals)` writes it, in one operation where that is possible."""
    flat = values.ravel().tolist()
    large = np.isfinite(values) & (np.abs(values) >= EXPONENT_FROM)
    if isinstance(decimals, int) and flat and not large.any():
        joined = (f"<%.{decimals}f>" * len(flat)) % tuple(flat)
        zero = f"{0:.{decimals}f}"
        for old, new in ((f"<-{zero}>", f"<{zero}>"), ("-", "−"), ("inf", "∞"), ("nan", "NaN")):
            joined = joined.replace(old, new)
        return joined[1:-1].split("><")
    write = formatter(decimals)
    if (
        decimals == "auto" and flat and not large.any()
    ):  # few are halves: the others as above, in one operation
        texts = written(values, 4)
        for place in np.flatnonzero(~np.isfinite(values) | (2 * values == np.rint(2 * values))).tolist():
            texts[place] = write(flat[place])
        return texts
    return [write(x) for x in flat]


def reprs(values: Array) -> list[str]:
    """`repr(float(x))` of every entry."""
    return repr(values.ravel().tolist())[1:-1].split(", ") if values.size else []


def attribute(name: str, value: Any) -> str:
    """` name="value"` with the value escaped."""
    return f' {name}="{escape(str(value))}"'
