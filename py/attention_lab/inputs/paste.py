"""Reads a matrix from whatever text a reader pastes: `parse_matrix(text)`; and writes one that reads back exactly.

Chooses the reader for the text (brackets, LaTeX, display, table). Nothing is ever evaluated.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from attention_lab.inputs.brackets import blank_types, parse_groups
from attention_lab.inputs.cells import assemble
from attention_lab.inputs.characters import clean_characters, strip_comments, strip_prompts
from attention_lab.inputs.commas import read_table
from attention_lab.inputs.displays import read_display, split_named
from attention_lab.inputs.fast import SHORTEST, read_plain
from attention_lab.inputs.latex import looks_like_latex, read_latex
from attention_lab.inputs.nested import find_arrays
from attention_lab.inputs.parsed import EMPTY_MESSAGE, MAX_CHARACTERS, Parsed, PasteError

MAX_GENERAL = 8 * 2**20  # characters; the general readers take some microseconds for each

__all__ = [
    "Parsed",
    "PasteError",
    "format_compact",
    "format_matrix",
    "parse_matrix",
    "parse_named",
    "require_finite",
]


def parse_matrix(text: str) -> Parsed:
    """Read one matrix: `parse_matrix("1 0\\n0 1").values` → 2 x 2 float64.

    Takes Python, NumPy, PyTorch, JAX, TensorFlow, MATLAB, Julia, R, LaTeX, Markdown, CSV, TSV, pandas, JSON, C,
    Rust, Go and Mathematica forms, and rows separated by line ends or ";". Deeper nesting gives more axes; a single
    row is 1 x n. Raises PasteError with code, line and column; several matrices or readings are in its
    `alternatives`.
    """
    found = _read(text)
    if len(found) == 1:
        return found[0][1]
    first = found[0][1]
    if all(_same(first, other) for _, other in found[1:]):
        return first
    labels = [(name or f"matrix {i + 1}", parsed) for i, (name, parsed) in enumerate(found)]
    names = ", ".join(name for name, _ in labels[:6]) + (" …" if len(labels) > 6 else "")
    raise PasteError(
        f"one matrix was expected, {len(found)} came ({names}). Choose one.",
        code="SEVERAL_MATRICES",
        alternatives=labels,
    )


def parse_named(text: str) -> dict[str, Parsed]:
    """Read every matrix with its name: `parse_named("Q = [[1]]; K = [[2]]")` → {"Q": …, "K": …}. Raises PasteError."""
    result: dict[str, Parsed] = {}
    for index, (name, parsed) in enumerate(_read(text)):
        label = name or f"matrix {index + 1}"
        while label in result:
            label += "'"
        result[label] = parsed
    return result


def require_finite(parsed: Parsed, field: str | None = None) -> Parsed:
    """The same, or NOT_FINITE naming the first entry that is NaN or infinite."""
    bad = np.argwhere(~np.isfinite(parsed.values.astype(np.float64)))
    if bad.size:
        index = tuple(int(i) for i in bad[0])
        place = f"row {index[-2] + 1}, column {index[-1] + 1}"
        if len(index) > 2:
            place = f"slice {', '.join(str(i + 1) for i in index[:-2])}, {place}"
        name = field.upper() if field in ("q", "k", "v") else field or "this matrix"
        raise PasteError(
            f"{name}: a finite number was expected at {place}, {parsed.values[index]} came.",
            code="NOT_FINITE",
            field=field,
        )
    return parsed


def format_matrix(array: ArrayLike) -> str:
    """Text that reads back exactly: rows on lines, entries between spaces; nested brackets beyond two axes."""
    return _format(array, " ", "\n")


def format_compact(array: ArrayLike) -> str:
    """The form of the URL fragment: rows by ";", entries by ",". Reads back exactly."""
    return _format(array, ",", ";")


def _format(given: ArrayLike, entry_mark: str, row_mark: str) -> str:
    array = np.asarray(given)
    write: Callable[[object], str] = str if array.dtype == np.bool_ else _shortest
    if array.ndim <= 2:
        return row_mark.join(entry_mark.join(map(write, row)) for row in np.atleast_2d(array).tolist())

    def nested(part: object) -> str:
        if isinstance(part, list):
            return "[" + ",".join(map(nested, part)) + "]"
        return write(part)

    return nested(array.tolist())


def _shortest(value: object) -> str:
    """`1.0` → "1", `0.1` → "0.1"."""
    text = repr(float(value))  # type: ignore[arg-type]
    return text.removesuffix(".0")


def _same(one: Parsed, other: Parsed) -> bool:
    return np.array_equal(one.values, other.values, equal_nan=one.values.dtype != np.bool_)


def _read(text: str) -> list[tuple[str, Parsed]]:
    if len(text) > MAX_CHARACTERS:
        raise PasteError(
            f"at most {MAX_CHARACTERS:,} characters can be read; this text has {len(text):,}.",
            code="TOO_LARGE",
        )
    text, warnings = clean_characters(text)
    if len(text) >= SHORTEST:
        plain = read_plain(text)
        if plain is not None:
            return _warned([("", plain)], warnings)
        if len(text) > MAX_GENERAL:
            raise PasteError(
                f"a text of {len(text):,} characters can only be read when it is plain numbers in even rows with one "
                f"kind of separator; other forms are read up to {MAX_GENERAL:,} characters.",
                code="TOO_LARGE",
            )
    if not text.strip():
        raise PasteError(EMPTY_MESSAGE, code="EMPTY")
    if looks_like_latex(text):
        return _warned(read_latex(text), warnings)
    text = strip_comments(strip_prompts(text))
    if not text.strip():
        raise PasteError(EMPTY_MESSAGE, code="EMPTY")
    if not any(c.isalnum() or c in "∞-.…" for c in text):
        raise PasteError(EMPTY_MESSAGE, code="EMPTY")
    return _warned(_without_latex(text), warnings)


def _without_latex(text: str) -> list[tuple[str, Parsed]]:
    if not any(c in text for c in "[({"):
        return _plain(text)
    try:
        return _bracketed(text) or _plain(text)
    except PasteError as error:
        rest = text.lstrip("\n").partition("\n")[2]
        if not rest.strip() or any(c in rest for c in "[({"):
            raise
        try:  # brackets in a header row only: "loss (nats, mean),accuracy"
            return _plain(text)
        except PasteError:
            raise error from None


def _warned(found: list[tuple[str, Parsed]], warnings: list[str]) -> list[tuple[str, Parsed]]:
    if not warnings:
        return found
    return [
        (name, Parsed(p.values, p.resolution, tuple(dict.fromkeys((*warnings, *p.warnings))), p.alternatives))
        for name, p in found
    ]


def _bracketed(text: str) -> list[tuple[str, Parsed]] | None:
    """Arrays in brackets, or None when the brackets hold no data (a header, a footer, R's row marks)."""
    display = read_display(text)
    if display is not None:
        return [("", display)]
    bare = blank_types(text)
    arrays = find_arrays(bare, parse_groups(bare))
    return [(one.name, assemble(bare, one.layout)) for one in arrays] or None


def _plain(text: str) -> list[tuple[str, Parsed]]:
    found = []
    for name, part in split_named(text):
        display = read_display(part)
        found.append((name, display if display is not None else read_table(part)))
    return found
