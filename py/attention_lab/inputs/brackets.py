"""Reads nested brackets: Python, NumPy, PyTorch, JAX, TensorFlow, JSON, C, Rust, Go, Julia, MATLAB, Mathematica.

Builds a tree of groups and entries, then finds the groups that hold numbers. Calls are recognised by name
and never evaluated: a constructor is read, a computation is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from attention_lab.inputs.cells import ELIDED_HINT, Cell
from attention_lab.inputs.literals import is_elision
from attention_lab.inputs.parsed import MAX_AXES, error_at, shorten

# What stands before an item: nothing, a space, a line's end, a comma, a comma at a line's end, a semicolon.
NONE, SPACE, NEWLINE, COMMA, COMMA_NEWLINE, SEMICOLON = range(6)

_TOKEN = re.compile(
    r"(?P<newline>\n)|(?P<space>[^\S\n]+)|(?P<open>[\[({])|(?P<close>[\])}])|(?P<comma>,)|(?P<semicolon>;+)"
    r"|(?P<string>\"[^\"\n]*\"|'[^'\n]*')|(?P<assign><-|:=|::|=>|->|==|[=:])|(?P<mark>[<>|&\"])"
    r"|(?P<chunk>[^\s\[\](){},;=:<>|&\"]+)"
)
_CLOSING = {"[": "]", "(": ")", "{": "}", "<": ">"}
_TAG = re.compile(r"<[ ]?((?:tf\.)?\w{0,40}(?:Tensor|Variable))\b:?")
_INDEX = re.compile(r"\b[A-Za-z_]\w*((?:\[[ \t]*(?:\w+[ \t]*|[ ,\t]*)\])+)")
_GO_TYPE = re.compile(r"(?<!\])(?:\[[ \t]*(?:\w+[ \t]*)?\])++[ \t]*+[A-Za-z_][\w.]*+(?=[ \t]*\{)")
_SKELETON = re.compile(r"<<\s?\d+\s?>>")
_CANDLE = re.compile(r"^[ \t]*Tensor\[\[?[\d, ]*\]?, \w+[^\n]*\]", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_\\$][\w.!:$]*")


@dataclass
class Group:
    """A bracketed part: its bracket, the name directly before it, and what it holds.

    items, keys and marks run in parallel: the entry, its key ("" without one) and what stood before it.
    """

    bracket: str
    position: int
    name: str = ""
    items: list[Group | Cell] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    end: int = 0
    trailing: int = NONE

    def groups(self) -> list[Group]:
        return [item for item in self.items if isinstance(item, Group)]


@dataclass
class Piece:
    """Something at the top level: a group, a word, or an operator."""

    item: Group | Cell
    assign: bool = False


def blank_types(text: str) -> str:
    """Blank out brackets that are types or sizes: float q[2][2], []float32{…}, Tensor[[2, 2], f32]."""

    def blank(match: re.Match[str]) -> str:
        return " " * len(match[0])

    def blank_index(match: re.Match[str]) -> str:
        return match[0][: match.start(1) - match.start()] + " " * len(match[1])

    if "Tensor[" in text:
        text = _CANDLE.sub(blank, text)
    text = _GO_TYPE.sub(blank, text)
    return _INDEX.sub(blank_index, text)


def parse_groups(text: str) -> list[Piece]:
    """The top level of a text: groups, words and assignment marks in order. Raises UNBALANCED, ELIDED, TOO_DEEP."""
    root = Group("", 0)
    pieces: list[Piece] = []
    stack: list[Group] = [root]
    mark = NONE
    key = ""
    skip_to = 0
    keyed = False  # a key came, its mark comes next
    prefix: Cell | None = None
    continued = False
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        token = match[0]
        start = match.start()
        group = stack[-1]
        if start < skip_to:
            continue
        if kind == "space":
            mark = mark or SPACE
            continue
        if kind == "newline":
            if continued:
                continued = False
                continue
            if mark == COMMA:
                mark = COMMA_NEWLINE
            elif mark in (NONE, SPACE):
                mark = NEWLINE
            continue
        if kind == "chunk" or kind == "string":
            after = text[match.end() : match.end() + 1]
            if kind == "chunk" and after and after in "[({" and _WORD.fullmatch(token):
                prefix = Cell(token, start)
                continue
            if is_elision(token):
                if _is_continuation(text, match.end(), group, len(stack)):
                    continued = True
                    continue
                raise error_at(text, start, "ELIDED", f"{ELIDED_HINT}.")
            if kind == "string":
                token, start = token[1:-1], start + 1
            if _is_key(text, match.end()) and (kind == "string" or _WORD.fullmatch(token)):
                if len(stack) > 1:
                    key, keyed = token, True
                    continue
            if token == "new" and len(stack) > 1:
                continue
            cell = Cell(token, start)
            if len(stack) == 1:
                pieces.append(Piece(cell))
            else:
                _add(group, cell, key, mark)
            key, mark = "", NONE
        elif kind == "open":
            if len(stack) > MAX_AXES * 2:
                raise error_at(text, start, "TOO_DEEP", f"brackets nest deeper than {MAX_AXES} axes.")
            new = Group(token, start, prefix.text if prefix else "")
            prefix = None
            if len(stack) == 1:
                pieces.append(Piece(new))
            else:
                _add(group, new, key, mark)
            stack.append(new)
            key, mark = "", NONE
        elif kind == "close":
            if len(stack) == 1:
                raise error_at(
                    text, start, "UNBALANCED", f"“{token}” closes a bracket that was never opened."
                )
            if _CLOSING[group.bracket] != token:
                raise error_at(
                    text, start, "UNBALANCED", f"“{_CLOSING[group.bracket]}” was expected, “{token}” came."
                )
            group.end, group.trailing = match.end(), mark
            stack.pop()
            key, mark = "", NONE
        elif kind == "comma":
            if len(stack) > 1 and (mark in (COMMA, COMMA_NEWLINE, SEMICOLON) or not group.items):
                raise error_at(
                    text, start, "MISSING_VALUE", "an entry was expected before this comma, nothing came."
                )
            mark = COMMA if len(stack) > 1 else NONE
            if len(stack) == 1:
                pieces.append(Piece(Cell(",", start)))
        elif kind == "semicolon":
            mark = SEMICOLON
            if len(stack) == 1:
                pieces.append(Piece(Cell(";", start)))
                mark = NONE
        elif kind == "assign":
            if len(stack) == 1:
                pieces.append(Piece(Cell(token, start), assign=True))
            elif not keyed:
                raise error_at(
                    text, start, "NOT_A_NUMBER", f"a number was expected here, {shorten(token)} came."
                )
            keyed = False
        elif kind == "mark":
            if token == "<" and len(stack) > 1 and _SKELETON.match(text, start):
                raise error_at(text, start, "ELIDED", f"{ELIDED_HINT}.")
            tag = _TAG.match(text, start) if token == "<" else None
            if tag:  # <tf.Tensor: shape=…, numpy=…>
                new = Group("<", start, tag[1])
                if len(stack) == 1:
                    pieces.append(Piece(new))
                else:
                    _add(group, new, key, mark)
                stack.append(new)
                skip_to, key, mark = tag.end(), "", NONE
            elif token == ">" and group.bracket == "<":
                group.end, group.trailing = match.end(), mark
                stack.pop()
                key, mark = "", NONE
            elif token == "<" and key:  # grad_fn=<AddBackward0>
                closing = text.find(">", start)
                skip_to, key = closing + 1, ""
                _add(group, Cell("", start), "grad_fn", mark)
            elif len(stack) > 1 and token != "&":
                raise error_at(
                    text, start, "NOT_A_NUMBER", f"a number was expected here, {shorten(token)} came."
                )
    if len(stack) > 1:
        opened = stack[-1]
        raise error_at(text, opened.position, "UNBALANCED", f"“{opened.bracket}” is never closed.")
    return pieces


def _add(group: Group, item: Group | Cell, key: str, mark: int) -> None:
    group.items.append(item)
    group.keys.append(key)
    group.marks.append(mark)


_KEY_MARK = re.compile(r"[ \t]{0,8}(?:=(?!=)|:(?!:)|=>)")


def _is_key(text: str, end: int) -> bool:
    return bool(_KEY_MARK.match(text, end))


_REST_BLANK = re.compile(r"[ \t]*\n")


def _is_continuation(text: str, end: int, group: Group, depth: int) -> bool:
    """MATLAB's "..." at a line's end, outside or inside one pair of square brackets."""
    if not _REST_BLANK.match(text, end):
        return False
    if depth == 1:
        return True
    if depth > 2 or group.bracket != "[" or group.groups():
        return False
    begin = text.rfind("\n", 0, end) + 1
    assigned = text[: group.position].rstrip().endswith("=")
    ahead = text.find("]", end)
    return assigned or ";" in text[group.position : ahead if ahead > 0 else end] or end - begin < 60
