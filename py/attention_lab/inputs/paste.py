"""Reads a matrix from whatever text a reader pastes, and writes one that reads back exactly.

Chooses the reader for the text (brackets, LaTeX, display, table). Nothing is ever evaluated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from attention_lab.inputs.text.parsed import EMPTY_MESSAGE, MAX_CHARACTERS, Parsed, PasteError, error_at
from attention_lab.inputs.text.writing import format_compact, format_matrix

MAX_GENERAL = 4 * 2**20  # characters; the general readers take some microseconds for each

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

    Takes Python, NumPy, PyTorch, JAX, TensorFlow, MATLAB, Julia, R, LaTeX, Markdown, CSV, TSV, pandas, JSON,
    C, Rust, Go and Mathematica forms, and rows separated by line ends or ";". Deeper nesting gives more axes;
    a single row is 1 x n. Raises PasteError with code, line and column; several matrices or readings are in
    its `alternatives`.
    """
    text, found = _read(text)
    first = found[0].parsed
    if len(found) == 1 or all(_same(first, other.parsed) for other in found[1:]):
        return first
    labels = [(one.name or f"matrix {number + 1}", one.parsed) for number, one in enumerate(found)]
    names = ", ".join(label for label, _ in labels[:6]) + (" …" if len(labels) > 6 else "")
    error = error_at(
        text,
        found[1].position,
        "SEVERAL_MATRICES",
        f"one matrix was expected, {len(found)} came ({names}); the second begins here. Choose one.",
    )
    error.alternatives = (*labels, *_as_one(labels))
    raise error


def parse_named(text: str) -> dict[str, Parsed]:
    """Read every matrix with its name: `parse_named("Q = [[1]]; K = [[2]]")` → {"Q": …, "K": …}.

    Raises PasteError.
    """
    result: dict[str, Parsed] = {}
    for number, one in enumerate(_read(text)[1]):
        label = one.name or f"matrix {number + 1}"
        while label in result:
            label += "'"
        result[label] = one.parsed
    return result


def require_finite(parsed: Parsed, field: str | None = None) -> Parsed:
    """The same, or NOT_FINITE naming the first entry that is NaN or infinite."""
    known = np.isfinite(parsed.values)
    if not known.all():
        bad = np.argwhere(~known)
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


def _as_one(labels: list[tuple[str, Parsed]]) -> list[tuple[str, Parsed]]:
    """Vectors of one length can also be the rows or the columns of one matrix."""
    shapes = {parsed.values.shape for _, parsed in labels}
    if len(shapes) != 1 or len(next(iter(shapes))) != 2 or next(iter(shapes))[0] != 1:
        return []
    values = np.concatenate([parsed.values for _, parsed in labels])
    half = np.concatenate([parsed.resolution for _, parsed in labels])
    return [("as_rows", Parsed(values, half)), ("as_columns", Parsed(values.T, half.T))]


def _same(one: Parsed, other: Parsed) -> bool:
    return np.array_equal(one.values, other.values, equal_nan=one.values.dtype != np.bool_)


class _Named(NamedTuple):
    """A matrix, the name it was given ("" without one) and where it begins."""

    name: str
    parsed: Parsed
    position: int


def _read(text: str) -> tuple[str, list[_Named]]:
    """Every matrix in the text; and the text with characters replaced, which positions refer to."""
    if len(text) > MAX_CHARACTERS:
        raise PasteError(
            f"at most {MAX_CHARACTERS:,} characters can be read; this text has {len(text):,}.",
            code="TOO_LARGE",
        )
    # The readers are imported when a text comes: a page that only shows its example never needs them.
    from attention_lab.inputs.text import again, fast
    from attention_lab.inputs.text.characters import clean_characters, strip_comments, strip_prompts
    from attention_lab.inputs.text.latex import looks_like_latex, read_latex

    text, warnings = clean_characters(text)
    plain = again.read_again(text)
    if plain is None and len(text) >= fast.SHORTEST:
        plain = fast.read_plain(text)
        if plain is None and len(text) > MAX_GENERAL:
            raise PasteError(
                f"a text of {len(text):,} characters can be read only when it is plain numbers in even rows "
                f"with one kind of separator; other forms are read up to {MAX_GENERAL:,} characters.",
                code="TOO_LARGE",
            )
    if plain is not None:
        again.keep(text, plain)
        return text, [_Named("", _warned(plain, warnings), 0)]
    if looks_like_latex(text):
        found = [_Named("", parsed, position) for parsed, position in read_latex(text)]
    else:
        bare = strip_comments(strip_prompts(_without_quotes(text)))
        if not any(c.isalnum() or c in "∞-.…" for c in bare):
            raise PasteError(EMPTY_MESSAGE, code="EMPTY")
        found = _general(bare)
        if len(found) == 1 and not found[0].name:
            again.keep(text, found[0].parsed)
    return text, [one._replace(parsed=_warned(one.parsed, warnings)) for one in found]


def _without_quotes(text: str) -> str:
    """The text inside one pair of quotes around all of it, as a cell or a string literal is copied."""
    inner = text.strip()
    quote = inner[:1]
    if quote in ("'", '"') and len(inner) > 2 and inner.endswith(quote) and inner.count(quote) == 2:
        return text.replace(quote, " ")
    return text


def _warned(parsed: Parsed, warnings: list[str]) -> Parsed:
    return (
        replace(parsed, warnings=tuple(dict.fromkeys((*warnings, *parsed.warnings)))) if warnings else parsed
    )


def _general(text: str) -> list[_Named]:
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


def _bracketed(text: str) -> list[_Named]:
    """Arrays in brackets; none when the brackets hold no data (a header, a footer, R's row marks)."""
    from attention_lab.inputs.text.arrays import find_arrays
    from attention_lab.inputs.text.brackets import blank_types, parse_groups
    from attention_lab.inputs.text.cells import assemble
    from attention_lab.inputs.text.commas import read_table
    from attention_lab.inputs.text.displays import read_display, split_named

    parts = [(name, part, read_display(part), begin) for name, part, begin in split_named(text)]
    if any(display is not None for _, _, display, _ in parts):
        return [_Named(name, display or read_table(part), begin) for name, part, display, begin in parts]
    bare = blank_types(text)
    arrays = find_arrays(bare, parse_groups(bare))
    return [_Named(one.name, assemble(bare, one.layout), one.position) for one in arrays]


def _plain(text: str) -> list[_Named]:
    from attention_lab.inputs.text.commas import read_table
    from attention_lab.inputs.text.displays import read_display, split_named

    return [
        _Named(name, read_display(part) or read_table(part), begin) for name, part, begin in split_named(text)
    ]
