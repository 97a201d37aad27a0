"""Prints that say more than their numbers: headers, column blocks, pages and display factors.

MATLAB, Octave, Julia, R, pandas, Lua Torch. Gives the rows of each block; table.py cuts them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import numpy as np

from attention_lab.inputs.text.cells import Cell, Layout, assemble, from_rows, number_at
from attention_lab.inputs.text.commas import read_table
from attention_lab.inputs.text.headers import is_label, trim
from attention_lab.inputs.text.parsed import Parsed, error_at
from attention_lab.inputs.text.table import Line, by_space, split_lines

# All patterns but the last two see a line with its spaces reduced to one, so that none can backtrack far.
_COLUMNS = re.compile(r"Columns? \d+(?: ?(?:through|to|and|-|:) ?\d+)? ?:?", re.IGNORECASE)
_FACTOR = re.compile(r"(\d[\d.]*(?:[eE][+-]?\d+)?) ?\*")
_PAGE = re.compile(
    r"(?:[A-Za-z_]\w{0,60} ?)?(?:\( ?: ?, ?: ?(?:, ?\d{1,6} ?){1,8}\)|\[ ?: ?, ?: ?(?:, ?\d{1,6} ?){1,8}\]) ?="
    r"|\((?: ?\d{1,6} ?,){1,8} ?\. ?, ?\. ?\) ?=|, , \d{1,6}(?:, \d{1,6}){0,8}"
)
_NAME = re.compile(r"([A-Za-z_][\w.]{0,60}) ?[=:]|\$([\w.]{1,60})")
# Julia's "2×2 Matrix{Float64}:" and MATLAB's "2×2 single matrix".
_SIZE = re.compile(
    r"(?:\d{1,9}(?:×\d{1,9}){1,8}|\d{1,9}-element) [^:]*:"
    r"|\d{1,9}(?:[×x]\d{1,9}){1,8} (?:\w+ )?(?:matrix|array|vector|row vector|column vector)"
)
_FOOTER = re.compile(
    r"\[(?:torch\.)?\w*Tensor of (?:size|dimension)[^\]]*\]|\[\d+ rows x \d+ columns\]"
    r"|(?:Name: [^,]*, )?(?:Length: \d+, )?dtype: \w+|shape: \(\d+(?:, \d+)*\)"
)
_R_HEADER = re.compile(r"\[,\d{1,6}\]")
_R_ROW = re.compile(r"\s*\[\d+,\](?=\s)")
_R_VECTOR = re.compile(r"\s*\[(\d{1,9})\](?=\s+[-+.\dTFNI])")
_NOT_PLAIN = re.compile(r"[^-+.\d\s]")
_LONGEST_MARK = 300
MAX_PARTS = 64  # matrices with a name in one text


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
    marks: list[tuple[int, int]] = field(default_factory=list)  # R's [k] and how many entries came before

    @property
    def vector(self) -> bool:
        """True if the marks count entries, as R does; otherwise they are row labels."""
        return bool(self.marks) and all(mark == before + 1 for mark, before in self.marks)


def read_display(text: str) -> Parsed | None:
    """Read a print with blocks, pages, a factor or R's brackets; None if it has none of these."""
    display = _take_apart(text)
    if len(display.pages) == 1 and len(display.pages[0]) == 1:
        display.pages[0] = _repeated_headers(display.pages[0][0])
        display.special = display.special or len(display.pages[0]) > 1
    pages = [[block for block in page if block.lines] for page in display.pages]
    pages = [page for page in pages if page]
    if not display.special or not pages:
        return None
    if len(pages) > 1 or len(pages[0]) > 1 or pages[0][0].factor != 1.0 or display.vector:
        return _joined(text, pages, display)
    parsed = read_table(_only(text, pages[0][0].lines))
    if display.marks:
        parsed = replace(parsed, warnings=(*parsed.warnings, "row labels left out"))
    if display.boolean and bool(np.isin(parsed.values, (0, 1)).all()):
        return replace(parsed, values=parsed.values.astype(np.bool_))
    return parsed


def _repeated_headers(block: Block) -> list[Block]:
    """R prints a wide table in blocks that each begin with an indented row of column names."""
    if not block.lines or not _is_header(block.lines[0]):
        return [block]
    blocks: list[Block] = []
    for line in block.lines:
        if _is_header(line):
            blocks.append(Block(factor=block.factor))
        blocks[-1].lines.append(line)
    return blocks if all(len(part.lines) > 1 for part in blocks) else [block]


def _is_header(line: Line) -> bool:
    return line[0][0] in " \t" and all(map(is_label, by_space(line)))


def _joined(text: str, pages: list[list[Block]], display: Display) -> Parsed:
    """Blocks side by side, pages along a new first axis."""
    cells: list[Cell] = []
    factors: list[float] = []
    shapes: list[tuple[int, ...]] = []
    for page in pages:
        rows, scales = _beside(text, page, display)
        layout = from_rows(text, rows)
        shapes.append(layout.shape)
        if layout.shape != shapes[0]:
            first, other = ("×".join(map(str, shape)) for shape in (shapes[0], layout.shape))
            raise error_at(
                text,
                layout.cells[0].position,
                "RAGGED",
                f"every page needs the same shape: the first is {first}, this one is {other}.",
            )
        cells += layout.cells
        factors += scales
    shape = (1, len(cells)) if display.vector else shapes[0]
    if len(pages) > 1:
        shape = (len(pages), *shapes[0])
        display.warnings.append("pages stacked along the first axis")
    scaled = factors if any(factor != 1.0 for factor in factors) else None
    return assemble(text, Layout(cells, shape, display.warnings, factors=scaled, boolean=display.boolean))


def _only(text: str, lines: list[Line]) -> str:
    """The text with everything but these lines blanked out, so that places stay right."""
    result = list(re.sub(r"[^\n]+", lambda m: " " * len(m[0]), text))
    for line, start in lines:
        result[start : start + len(line)] = line
    return "".join(result)


def split_named(text: str) -> list[tuple[str, str, int]]:
    """Parts that begin with a line such as "Q =" or "K:": name, the text with all else blanked out, and place.

    `"Q =\\n1 2\\nK =\\n3 4"` → two parts named Q and K; a text without such lines is one part named "".
    """
    marks: list[tuple[str, int, int]] = []
    for line, start in split_lines(text):
        match = _NAME.fullmatch(_short(line)) if line.rstrip()[-1] in "=:" or "$" in line else None
        if match:
            marks.append((match[1] or match[2], start, start + len(line)))
    if not marks:
        return [("", text, 0)]
    bounds = [
        ("", 0, marks[0][1]),
        *(
            (name, begin, marks[i + 1][1] if i + 1 < len(marks) else len(text))
            for i, (name, _, begin) in enumerate(marks)
        ),
    ]
    filled = [bound for bound in bounds if any(c.isdigit() for c in text[bound[1] : bound[2]])]
    if len(filled) > MAX_PARTS:
        raise error_at(
            text,
            filled[1][1],
            "SEVERAL_MATRICES",
            f"at most {MAX_PARTS} matrices are told apart, {len(filled)} came.",
        )
    if not filled:
        return [("", text, 0)]
    return [
        (name, re.sub(r"[^\n]", " ", text[:begin]) + text[begin:end], begin) for name, begin, end in filled
    ]


def _short(line: str) -> str:
    """A line with single spaces, or "" if it is too long to be a mark."""
    bare = line.strip()
    short = " ".join(bare.split()) if len(bare) < 4 * _LONGEST_MARK else ""
    return short if len(short) <= _LONGEST_MARK else ""


def _take_apart(text: str) -> Display:
    display = Display()
    wrapped = False
    entries = 0
    end = 0
    for line, start in split_lines(text):
        page = display.pages[-1]
        block = page[-1]
        short = _short(line) if _NOT_PLAIN.search(line) else ""
        if _COLUMNS.fullmatch(short):
            display.special = True
            page.append(Block(factor=block.factor))
        elif match := _FACTOR.fullmatch(short):
            display.special = True
            block.factor = number_at(text, Cell(match[1], start + line.index(match[1]))).value
        elif _PAGE.fullmatch(short):
            display.special = True
            display.pages.append([Block()])
        elif line.lstrip().startswith("[,") and all(map(_R_HEADER.fullmatch, line.split())):
            display.special = True
            page.append(Block(factor=block.factor))
        elif _SIZE.fullmatch(short):
            display.special = True
            display.boolean = any(word in short for word in ("Bool", "BitMatrix", "BitVector", "logical"))
        elif _FOOTER.fullmatch(short):
            display.special = True
        elif line.rstrip().endswith((" \\", "\t\\")):
            display.special = wrapped = True
            page.append(Block([(line.rstrip()[:-1], start)], block.factor))
        elif wrapped and "\n" in text[end + 1 : start]:  # a blank line begins the next block of columns
            page.append(Block([(line, start)], block.factor))
        else:
            match = _R_ROW.match(line) or _R_VECTOR.match(line)
            if match:
                display.special = True
                if match.re is _R_VECTOR:
                    display.marks.append((int(match[1]), entries))
                line = " " * match.end() + line[match.end() :]
            block.lines.append((line, start))
            entries += len(line.split())
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
