"""Prints that say more than their numbers: headers, column blocks, pages and display factors.

MATLAB, Octave, Julia, R, pandas, Lua Torch. Gives the rows of each block; table.py cuts them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from attention_lab.inputs.cells import Cell, Layout, assemble, from_rows
from attention_lab.inputs.commas import read_table
from attention_lab.inputs.headers import trim
from attention_lab.inputs.literals import read_number
from attention_lab.inputs.parsed import Parsed, error_at
from attention_lab.inputs.table import Line, by_space, split_lines

_COLUMNS = re.compile(r"\s*Columns?\s+\d+(?:\s*(?:through|to|and|-|:)\s*\d+)?\s*:?\s*", re.IGNORECASE)
_FACTOR = re.compile(r"\s*(\d[\d.]*(?:[eE][+-]?\d+)?)\s*\*\s*")
_PAGE = re.compile(
    r"\s*(?:[A-Za-z_]\w*)?\s*(?:\(\s*:\s*,\s*:\s*((?:,\s*\d+\s*)+)\)|\[\s*:\s*,\s*:\s*((?:,\s*\d+\s*)+)\])\s*=\s*"
    r"|\s*\(((?:\s*\d+\s*,)+)\s*\.\s*,\s*\.\s*\)\s*=\s*|\s*, , (\d+(?:, \d+)*)\s*"
)
_NAME = re.compile(r"\s*([A-Za-z_][\w.]*)\s*(?:=|:)\s*")
_JULIA = re.compile(r"\s*(?:\d+(?:×\d+)+|\d+-element)\s[^:]*:\s*")
_FOOTER = re.compile(
    r"\s*\[(?:torch\.)?\w*Tensor of (?:size|dimension)[^\]]*\]\s*|\s*\[\d+ rows x \d+ columns\]\s*"
    r"|\s*(?:Name: [^,]*, )?(?:Length: \d+, )?dtype: \w+\s*|\s*shape: \(\d+(?:, \d+)*\)\s*"
)
_R_HEADER = re.compile(r"\s+\[,\d+\](?:\s+\[,\d+\])*\s*")
_R_ROW = re.compile(r"\s*\[\d+,\](?=\s)")
_R_VECTOR = re.compile(r"\s*\[\d+\](?=\s+[-+.\dTFNI])")
_PANDAS_WRAP = re.compile(r".*\s\\\s*")


@dataclass
class Block:
    lines: list[Line] = field(default_factory=list)
    factor: float = 1.0


@dataclass
class Display:
    """Pages of blocks; blocks of one page stand side by side."""

    pages: list[list[Block]] = field(default_factory=lambda: [[Block()]])
    warnings: list[str] = field(default_factory=list)
    boolean: bool = False
    special: bool = False
    vector: bool = False


def read_display(text: str) -> Parsed | None:
    """Read a print with blocks, pages, a factor or R's brackets; None if it has none of these."""
    display = _take_apart(text)
    if not display.special:
        return None
    cells: list[Cell] = []
    factors: list[float] = []
    shape: tuple[int, int] | None = None
    pages = [[block for block in page if block.lines] for page in display.pages]
    pages = [page for page in pages if page]
    if not pages:
        return None
    if len(pages) == 1 and len(pages[0]) == 1 and pages[0][0].factor == 1.0 and not display.vector:
        parsed = read_table(_only(text, pages[0][0].lines))
        if display.boolean:
            return Parsed(parsed.values.astype(bool), parsed.resolution, parsed.warnings)
        return parsed
    for page in pages:
        rows, scales = _beside(text, page, display)
        layout = from_rows(text, rows)
        if shape is None:
            shape = (layout.shape[0], layout.shape[1])
        elif shape != layout.shape:
            raise error_at(
                text,
                layout.cells[0].position,
                "RAGGED",
                f"every page needs the same shape: the first is {shape[0]}×{shape[1]}, "
                f"this one is {layout.shape[0]}×{layout.shape[1]}.",
            )
        cells += layout.cells
        factors += scales
    assert shape is not None
    if display.vector:
        shape = (1, len(cells))
    full = (len(pages), *shape) if len(pages) > 1 else shape
    if len(pages) > 1:
        display.warnings.append("pages stacked along the first axis")
    scaled = factors if any(f != 1.0 for f in factors) else None
    return assemble(text, Layout(cells, full, display.warnings, factors=scaled, boolean=display.boolean))


def _only(text: str, lines: list[Line]) -> str:
    """The text with everything but these lines blanked out, so that places stay right."""
    result = ["\n" if c == "\n" else " " for c in text] if len(text) < 4096 else None
    if result is None:
        blank = re.sub(r"[^\n]+", lambda m: " " * len(m[0]), text)
        result = list(blank)
    for line, start in lines:
        result[start : start + len(line)] = line
    return "".join(result)


def split_named(text: str) -> list[tuple[str, str]]:
    """Parts that begin with a line such as "Q =" or "K:", each with the rest of the text blanked out.

    `"Q =\\n1 2\\nK =\\n3 4"` → two parts named Q and K; a text without such lines is one part named "".
    """
    marks: list[tuple[str, int, int]] = []
    for line, start in split_lines(text):
        match = _NAME.fullmatch(line)
        if match and not _COLUMNS.fullmatch(line):
            marks.append((match[1], start, start + len(line)))
    if not marks:
        return [("", text)]
    parts: list[tuple[str, str]] = []
    head = text[: marks[0][1]]
    if head.strip() and any(c.isdigit() for c in head):
        parts.append(("", head))
    for index, (name, _, begin) in enumerate(marks):
        stop = marks[index + 1][1] if index + 1 < len(marks) else len(text)
        body = text[begin:stop]
        if body.strip():
            parts.append((name, re.sub(r"[^\n]", " ", text[:begin]) + body))
    return parts


def _take_apart(text: str) -> Display:
    display = Display()
    wrapped = False
    end = 0
    for line, start in split_lines(text):
        page = display.pages[-1]
        block = page[-1]
        if _COLUMNS.fullmatch(line):
            display.special = True
            page.append(Block(factor=block.factor))
        elif match := _FACTOR.fullmatch(line):
            display.special = True
            number = read_number(match[1])
            block.factor = number.value if number else 1.0
        elif _PAGE.fullmatch(line):
            display.special = True
            display.pages.append([Block()])
        elif _R_HEADER.fullmatch(line):
            display.special = True
            page.append(Block(factor=block.factor))
        elif _JULIA.fullmatch(line):
            display.special = True
            display.boolean = "Bool" in line or "BitMatrix" in line or "BitVector" in line
        elif _FOOTER.fullmatch(line):
            display.special = True
        elif _PANDAS_WRAP.fullmatch(line):
            display.special = wrapped = True
            page.append(Block([(line.rstrip()[:-1], start)], block.factor))
        elif wrapped and "\n" in text[end + 1 : start]:  # a blank line begins the next block of columns
            page.append(Block([(line, start)], block.factor))
        else:
            for pattern in (_R_ROW, _R_VECTOR):
                match = pattern.match(line)
                if match:
                    display.special = True
                    display.vector = display.vector or pattern is _R_VECTOR
                    line = " " * match.end() + line[match.end() :]
                    break
            block.lines.append((line, start))
        end = start + len(line)
    return display


def _beside(text: str, page: list[Block], display: Display) -> tuple[list[list[Cell]], list[float]]:
    """Blocks of columns side by side, with each entry's factor."""
    rows: list[list[Cell]] = []
    scales: list[list[float]] = []
    for block in page:
        cells = [by_space(line) for line in block.lines]
        if display.vector:
            cells = [[cell for row in cells for cell in row]]
        else:
            cells = trim(text, cells, display.warnings, marked=False)
        if rows and len(cells) != len(rows):
            raise error_at(
                text,
                cells[0][0].position,
                "RAGGED",
                f"every block of columns needs the same rows: the first has {len(rows)}, this one {len(cells)}.",
            )
        if not rows:
            rows, scales = [[] for _ in cells], [[] for _ in cells]
        for row, scale, new in zip(rows, scales, cells, strict=True):
            row += new
            scale += [block.factor] * len(new)
    return rows, [value for scale in scales for value in scale]
