"""Cuts bracketless text into rows and cells: spaces, tabs, commas, semicolons, pipes.

It keeps every cell: headers.py leaves out what is not data, commas.py settles commas with two meanings.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from attention_lab.inputs.text.cells import Cell

Line = tuple[str, int]  # a line's text and the position of its first character
Splitter = Callable[[Line], list[Cell]]

_RULE_CHARACTERS = set(" \t|+=:.-")
_RULE_MARKS = ("--", "|-|", "-|-", "==", "+-", "-+", ":-", "-:")
_LABEL = re.compile(r"[ \t]*[A-Za-z_][\w.]{0,40}[ \t]{0,8}(?::=|<-|=|:)(?=[ \t]*[-+.\d])")
_WORD_AFTER = re.compile(r"[,\t] ?[A-Za-z]")  # "Unnamed: 0,a,b" is a header, not a label
_NOT_SPACE = re.compile(r"\S+")
_QUOTED_OR_NOT = re.compile(r'"[^"]*"|\S+')
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')


def split_lines(text: str) -> list[Line]:
    """Non-blank lines with their positions."""
    lines: list[Line] = []
    position = 0
    for line in text.split("\n"):
        if line.strip():
            lines.append((line, position))
        position += len(line) + 1
    return lines


def by_space(line: Line) -> list[Cell]:
    """`("1 2", 0)` → two cells."""
    text, start = line
    if '"' in text:
        found = _QUOTED_OR_NOT.finditer(text)
        return [Cell(_unquote(m[0]), start + m.start() + (m[0][0] == '"')) for m in found]
    return [Cell(m[0], start + m.start()) for m in _NOT_SPACE.finditer(text)]


def by_mark(mark: str) -> Splitter:
    """Split at a one-character separator outside double quotes; cells are stripped, and may be empty."""

    def split(line: Line) -> list[Cell]:
        text, start = line
        # Separators inside quotes are hidden while the line is cut.
        hidden = _QUOTED.sub(lambda m: m[0].replace(mark, "\0"), text) if '"' in text else text
        cells: list[Cell] = []
        position = 0
        for piece in hidden.split(mark):
            bare = piece.strip()
            offset = position + (len(piece) - len(piece.lstrip()) if bare else 0)
            cells.append(Cell(_unquote(bare.replace("\0", mark)), start + offset))
            position += len(piece) + 1
        return cells

    return split


def _unquote(text: str) -> str:
    if not text or text[0] not in "\"'`*$":
        return text
    for quote in ('"', "'", "`", "**", "$"):
        if len(text) >= 2 * len(quote) and text.startswith(quote) and text.endswith(quote):
            text = text[len(quote) : len(text) - len(quote)].strip()
    return text


def drop_rules(lines: list[Line]) -> list[Line]:
    """Without lines that only draw: |---|---|, +----+, =====."""
    return [line for line in lines if not _is_rule(line[0]) or _only_missing(line[0])]


def _is_rule(text: str) -> bool:
    return _RULE_CHARACTERS.issuperset(text) and any(mark in text for mark in _RULE_MARKS)


def _only_missing(text: str) -> bool:
    """A row of "--" marks is data that is missing, not a rule."""
    parts = text.split()
    return len(parts) > 1 and all(part in ("--", "-") for part in parts)


def drop_labels(lines: list[Line]) -> list[Line]:
    """Blank out "Q =" and "row 1:" before numbers: `Q = 1 0` → `    1 0`."""
    found = [None if _WORD_AFTER.search(text) else _LABEL.match(text) for text, _ in lines]
    return [
        (" " * match.end() + text[match.end() :], start) if match else (text, start)
        for match, (text, start) in zip(found, lines, strict=True)
    ]


def pipe_cells(line: Line) -> list[Cell]:
    """`| 1 | 2 |` → two cells; the outer pipes are borders."""
    cells = by_mark("|")(line)
    stripped = line[0].strip()
    if stripped.startswith("|"):
        cells = cells[1:]
    if stripped.endswith("|") and len(stripped) > 1:
        cells = cells[:-1]
    return cells
