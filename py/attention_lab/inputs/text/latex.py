"""Reads LaTeX matrices: bmatrix, pmatrix, array, \\frac, \\hline, decimal {,}.

Only what a matrix of numbers needs; any other command is refused.
"""

from __future__ import annotations

import re

from attention_lab.inputs.text.cells import ELIDED_HINT, Cell
from attention_lab.inputs.text.commas import read_cells
from attention_lab.inputs.text.parsed import EMPTY_MESSAGE, Parsed, PasteError, error_at, shorten
from attention_lab.inputs.text.table import by_mark

_BEGIN = re.compile(r"\\begin\{([A-Za-z*]+)\}(?:\[[^\]\n]{0,20}\])?(?:\{[^{}\n]{0,200}\})?|\\[pb]?matrix\{")
_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
_DOTS = re.compile(r"\\[cvdl]?dots\b|\\dots[a-z]?\b|\\iddots\b")
_FRACTION = re.compile(
    r"\\[tdc]?frac[ ]?\{[ ]?(-?\d{1,40})[ ]?\}[ ]?\{[ ]?(-?\d{1,40})[ ]?\}|\\[tdc]?frac(\d)(\d)"
)
_SPACING = re.compile(
    r"\\[,;:!> ]|~|\\q?quad\b|\\phantom\{[^{}\n]{0,20}\}|\\(?:left|right|displaystyle|hline|phantom)\b"
    r"|\\(?:big|Big|bigg|Bigg)[lr]?\b|\$|\\[\[\]()]|\\(?:top|mid|bottom)rule\b"
)
_WRAPPER = re.compile(
    r"\\(?:num|mathrm|mathbf|text|textbf|boldsymbol|color\{[a-z]{1,20}\})\{([^{}\n]{0,80})\}"
)
_ROW_END = re.compile(r"\\\\(?:\[[^\]\n&]{0,12}\])?")
_DECIMAL_COMMA = re.compile(r"(\d)\{,\}(\d{1,40})")
_FENCE = r"(?:[\s()\[\]$]|\\(?:left|right|[bB]igg?[lr]?)\b\.?|\\[()\[\],;:!]){0,12}"
# An operation directly before a matrix, and directly after its \end{…} or closing brace.
_BEFORE = re.compile(
    rf"([-+*/\d]|\\(?:cdot|times|div)|\\[tdc]?frac\s?\{{[^{{}}]{{1,20}}\}}\s?\{{[^{{}}]{{1,20}}\}}){_FENCE}\Z"
)
_AFTER = re.compile(rf"(?:\\end\{{[a-zA-Z*]{{1,20}}\}}|\}}){_FENCE}([\^'*/+\d-]|\\(?:cdot|times|div|top)\b)")
_POWER = re.compile(r"[ ]?(?:\\times|\\cdot)[ ]?10[ ]?\^[ ]?(?:\{[ ]?([+-]?\d{1,4})[ ]?\}|(\d))")


def looks_like_latex(text: str) -> bool:
    return "\\begin{" in text or "matrix{" in text or ("\\\\" in text and "&" in text)


def read_latex(text: str) -> list[tuple[Parsed, int]]:
    """Every matrix in the text and where it begins. Raises PasteError."""
    text = _COMMENT.sub(lambda m: " " * len(m[0]), text)
    found = [(match.start(), match.end()) for match in _BEGIN.finditer(text) if _is_matrix(match)]
    if not found:
        if "\\begin{" in text:
            raise error_at(
                text,
                text.index("\\begin{"),
                "NOT_A_MATRIX",
                "a matrix environment such as bmatrix was expected.",
            )
        return [(_body(text, 0, len(text)), 0)]
    results = []
    limits = [start for start, _ in found[1:]] + [len(text)]
    for (start, begin), limit in zip(found, limits, strict=True):
        plain = not text.startswith("\\begin", start)
        end = _closing(text, begin, limit) if plain else text.find("\\end{", begin, limit)
        if end < 0:
            raise error_at(text, start, "UNBALANCED", "this matrix is never closed.")
        _refuse_operations(text, start, end)
        results.append((_body(text, begin, end), start))
    return results


def _refuse_operations(text: str, start: int, end: int) -> None:
    """Refuse what would change the numbers: 2\\begin{bmatrix}…, \\end{bmatrix}^\\top, \\cdot 2."""
    before = _BEFORE.search(text, max(0, start - 80), start)
    after = _AFTER.match(text, end)
    for match in (before, after):
        if match:
            raise error_at(
                text,
                match.start(1),
                "NOT_A_MATRIX",
                f"{shorten(match[1])} is a computation; paste its result.",
            )


def _is_matrix(match: re.Match[str]) -> bool:
    name = match[1]
    return (
        name is None
        or name.rstrip("*").endswith("matrix")
        or name in ("array", "tabular", "cases", "vmatrix")
    )


def _closing(text: str, begin: int, limit: int) -> int:
    depth = 1
    for position in range(begin, limit):
        if text[position] == "{":
            depth += 1
        elif text[position] == "}":
            depth -= 1
            if depth == 0:
                return position
    return -1


def _body(text: str, begin: int, end: int) -> Parsed:
    body = text[begin:end]
    dots = _DOTS.search(body)
    if dots:
        raise error_at(text, begin + dots.start(), "ELIDED", f"{ELIDED_HINT}.")
    decimal_comma = "{,}" in body
    body = body.replace("\\%", "% ")
    body = _DECIMAL_COMMA.sub(r"\1.\2  ", body).replace("\\infty", "inf   ").replace("\\cr", "\\\\ ")
    body = _POWER.sub(lambda m: f"e{m[1] or m[2]}".ljust(len(m[0])), body)
    body = _FRACTION.sub(lambda m: f"{m[1] or m[3]}/{m[2] or m[4]}".ljust(len(m[0])), body)
    body = _WRAPPER.sub(lambda m: m[1].rjust(len(m[0])), body)
    body = _ROW_END.sub(lambda m: "\0" + " " * (len(m[0]) - 1), body)
    body = _SPACING.sub(lambda m: " " * len(m[0]), body)
    rows: list[list[Cell]] = []
    position = begin
    split = by_mark("&")
    for line in body.split("\0"):
        if line.strip():
            cells = split((line.replace("\n", " "), position))
            rows.append([_tidy(cell) for cell in cells])
        position += len(line) + 1
    if not rows:
        raise PasteError(EMPTY_MESSAGE, code="EMPTY")
    warnings = ["decimal comma detected"] if decimal_comma else []
    return read_cells(text, rows, warnings)


def _tidy(cell: Cell) -> Cell:
    """Braces around an entry, a space after a sign and spaces left by commands are no part of the number."""
    bare = cell.text.replace("{", " ").replace("}", " ")
    parts = bare.split()
    if len(parts) == 2 and parts[0] in ("-", "+"):
        return cell._replace(text="".join(parts))
    return cell._replace(text=" ".join(parts))
