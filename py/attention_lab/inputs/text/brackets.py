"""Cuts text with brackets into a tree of groups and entries: Python, NumPy, PyTorch, JSON, C, Rust, MATLAB …

It knows no names and no numbers; groups.py and nested.py decide what the tree holds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from attention_lab.inputs.text.cells import ELIDED_HINT, Cell
from attention_lab.inputs.text.literals import is_elision
from attention_lab.inputs.text.parsed import MAX_AXES, PasteError, error_at, shorten

# What stands before an item: nothing, a space, a line's end, a comma, a comma at a line's end, a semicolon.
NONE, SPACE, NEWLINE, COMMA, COMMA_NEWLINE, SEMICOLON = range(6)

_TOKEN = re.compile(
    r"(?P<newline>\n)|(?P<space>[^\S\n]+)|(?P<open>[\[({])|(?P<close>[\])}])|(?P<comma>,)|(?P<semicolon>;+)"
    r"|(?P<string>\"[^\"\n]*\"|'[^'\n]*')|(?P<assign><-|:=|=>|->|==|=|:(?!:))|(?P<mark>[<>|&\"])"
    r"|(?P<chunk>\d+L?:\d+L?(?=[\s,)])|(?:[^\s\[\](){},;=:<>|&\"]|::)+)"
)
_CLOSING = {"[": "]", "(": ")", "{": "}", "<": ">"}
_WORD = re.compile(r"[A-Za-z_\\$][\w.!:$]*")
_KEY_MARK = re.compile(r"[ \t]{0,8}(?:=(?!=)|:(?!:)|=>)")
_TAG = re.compile(r"<[ ]?((?:tf\.)?\w{0,40}(?:Tensor|Variable))\b:?")
_SKELETON = re.compile(r"<<\s?\d+\s?>>")
_REST_BLANK = re.compile(r"[ \t]*\n")
_INDEX = re.compile(r"\b[A-Za-z_]\w*((?:\[[ \t]*(?:\w+[ \t]*|[ ,\t]*)\])+)")
_GO_TYPE = re.compile(r"(?<!\])(?:\[[ \t]*(?:\w+[ \t]*)?\])++[ \t]*+[A-Za-z_][\w.]*+(?=[ \t]*\{)")
_CANDLE = re.compile(r"^[ \t]*Tensor\[\[?[\d, ]*\]?, \w+[^\n]*\]", re.MULTILINE)
_FULL_LINE = 60  # characters after which NumPy may have wrapped a line


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

    def groups(self) -> list[Group]:
        return [item for item in self.items if isinstance(item, Group)]


@dataclass
class Piece:
    """Something at the top level: a group, a word, or a mark such as "=" (assign)."""

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
    return _INDEX.sub(blank_index, _GO_TYPE.sub(blank, text))


def parse_groups(text: str) -> list[Piece]:
    """The top level of a text in order. Raises UNBALANCED, ELIDED, MISSING_VALUE, NOT_A_NUMBER, TOO_DEEP."""
    return _Parser(text).pieces()


class _Parser:
    """One pass over the tokens with a stack of open groups."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.top: list[Piece] = []
        self.stack: list[Group] = []
        self.mark = NONE  # what stands before the next item
        self.key = ""  # its key, if one came
        self.keyed = False  # the key came just now, its mark follows
        self.name = ""  # the word directly before an opening bracket
        self.skip_to = 0
        self.continued = False  # MATLAB's "..." takes the line's end with it

    def pieces(self) -> list[Piece]:
        actions = {
            "newline": self._newline,
            "space": self._space,
            "open": self._open,
            "close": self._close,
            "comma": self._comma,
            "semicolon": self._semicolon,
            "string": self._string,
            "assign": self._assign,
            "mark": self._mark,
            "chunk": self._chunk,
        }
        for match in _TOKEN.finditer(self.text):
            if match.start() >= self.skip_to:
                actions[match.lastgroup or ""](match)
        if self.stack:
            opened = self.stack[-1]
            raise error_at(self.text, opened.position, "UNBALANCED", f"“{opened.bracket}” is never closed.")
        return self.top

    def _add(self, item: Group | Cell) -> None:
        if self.stack:
            group = self.stack[-1]
            group.items.append(item)
            group.keys.append(self.key)
            group.marks.append(self.mark)
        else:
            self.top.append(Piece(item))
        self.key, self.mark = "", NONE

    def _space(self, match: re.Match[str]) -> None:
        self.mark = self.mark or SPACE

    def _newline(self, match: re.Match[str]) -> None:
        if self.continued:
            self.continued = False
        elif self.mark == COMMA:
            self.mark = COMMA_NEWLINE
        elif self.mark in (NONE, SPACE):
            self.mark = NEWLINE

    def _comma(self, match: re.Match[str]) -> None:
        if not self.stack:
            self._add(Cell(",", match.start()))
            return
        if self.mark in (COMMA, COMMA_NEWLINE, SEMICOLON) or not self.stack[-1].items:
            raise error_at(
                self.text,
                match.start(),
                "MISSING_VALUE",
                "an entry was expected before this comma, nothing came.",
            )
        self.mark = COMMA

    def _semicolon(self, match: re.Match[str]) -> None:
        if self.stack:
            self.mark = SEMICOLON
        else:
            self._add(Cell(";", match.start()))

    def _string(self, match: re.Match[str]) -> None:
        self._word(match[0][1:-1], match.start() + 1, match.end(), quoted=True)

    def _chunk(self, match: re.Match[str]) -> None:
        token, end = match[0], match.end()
        if self.text[end : end + 1] in ("[", "(", "{") and _WORD.fullmatch(token):
            self.name = token
        elif is_elision(token):
            if not self._is_continuation(end):
                raise error_at(self.text, match.start(), "ELIDED", f"{ELIDED_HINT}.")
            self.continued = True
        elif token != "new" or not self.stack:
            self._word(token, match.start(), end, quoted=False)

    def _word(self, token: str, start: int, end: int, *, quoted: bool) -> None:
        if self.stack and (quoted or _WORD.fullmatch(token)) and _KEY_MARK.match(self.text, end):
            self.key, self.keyed = token, True
        else:
            self._add(Cell(token, start))

    def _assign(self, match: re.Match[str]) -> None:
        if not self.stack:
            self.top.append(Piece(Cell(match[0], match.start()), assign=True))
        elif not self.keyed:
            raise self._unexpected(match)
        self.keyed = False

    def _open(self, match: re.Match[str]) -> None:
        self._push(Group(match[0], match.start(), self.name))
        self.name = ""

    def _push(self, group: Group) -> None:
        if len(self.stack) >= 2 * MAX_AXES:
            raise error_at(
                self.text, group.position, "TOO_DEEP", f"brackets nest deeper than {MAX_AXES} axes."
            )
        self._add(group)
        self.stack.append(group)

    def _close(self, match: re.Match[str]) -> None:
        if not self.stack:
            raise error_at(
                self.text,
                match.start(),
                "UNBALANCED",
                f"“{match[0]}” closes a bracket that was never opened.",
            )
        expected = _CLOSING[self.stack[-1].bracket]
        if expected != match[0]:
            raise error_at(
                self.text, match.start(), "UNBALANCED", f"“{expected}” was expected, “{match[0]}” came."
            )
        self._pop(match.end())

    def _pop(self, end: int) -> None:
        self.stack.pop().end = end
        self.key, self.mark = "", NONE

    def _mark(self, match: re.Match[str]) -> None:
        token, start = match[0], match.start()
        tag = _TAG.match(self.text, start) if token == "<" else None
        if tag:  # <tf.Tensor: shape=…, numpy=…>
            self._push(Group("<", start, tag[1]))
            self.skip_to = tag.end()
        elif token == ">" and self.stack and self.stack[-1].bracket == "<":
            self._pop(match.end())
        elif token == "<" and self.key:  # grad_fn=<AddBackward0>
            self.skip_to = self.text.find(">", start, start + 200) + 1
            self._add(Cell("", start))
        elif self.stack and token == "<" and _SKELETON.match(self.text, start):  # Mathematica's <<5>>
            raise error_at(self.text, start, "ELIDED", f"{ELIDED_HINT}.")
        elif self.stack and token != "&":
            raise self._unexpected(match)

    def _unexpected(self, match: re.Match[str]) -> PasteError:
        return error_at(
            self.text, match.start(), "NOT_A_NUMBER", f"a number was expected here, {shorten(match[0])} came."
        )

    def _is_continuation(self, end: int) -> bool:
        """MATLAB's "..." at a line's end, outside or inside one pair of square brackets."""
        if not _REST_BLANK.match(self.text, end):
            return False
        if not self.stack:
            return True
        group = self.stack[-1]
        if len(self.stack) > 1 or group.bracket != "[" or any(isinstance(i, Group) for i in group.items[:1]):
            return False
        if end - self.text.rfind("\n", 0, end) <= _FULL_LINE:
            return True
        # On a long line this could be a wrapped NumPy print, unless semicolons or an assignment show MATLAB.
        before = self.text[max(0, group.position - 20) : group.position].rstrip()
        return before.endswith("=") or SEMICOLON in group.marks
