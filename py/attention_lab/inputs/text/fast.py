"""Reads long texts of plain numbers with whole-array operations: a 1024 x 1024 paste in about two seconds.

Takes only what is beyond doubt (one kind of separator, even rows); returns None for everything else, and then
the general readers decide. Both give the same result.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from attention_lab.inputs.text.digits import fixed_decimals, resolutions
from attention_lab.inputs.text.literals import DECIMAL, INTEGER, PADDED, POWER, POWER_PADDED, read_number
from attention_lab.inputs.text.parsed import MAX_AXES, MAX_ENTRIES, Parsed, PasteError, error_at

SHORTEST = 20_000  # characters below which the general readers are quick enough

Indices = NDArray[np.int64]
_PLAIN = b"0123456789+-.eE \t\n,;[]"
_PLAIN_LINES = b"0123456789+-.eE \t\n,"
_BLANK = bytes.maketrans(b",;[]\n\t", b"      ")
_IN_NUMBER = np.zeros(256, dtype=bool)
_IN_NUMBER[list(b"0123456789+-.eE")] = True
_FEW = 1000  # zeros that are looked at one by one
_LONGEST = 400  # characters of one number; longer ones go to the general readers
_HEAD = re.compile(
    r"\s*(?:[A-Za-z_]\w{0,40}\s{0,3}=\s{0,3})?(?:(?:np|numpy|jnp)\.)?((?:array|Array|tensor)\()?\s*"
)
_TAIL = re.compile(r"\s*(?:,\s{0,12}(?:dtype|device)=[\w.:']{1,30})*\s*(\))?\s*;?\s*")


def resolution(text: str) -> NDArray[np.float64]:
    """The resolution of a text that read_plain takes."""
    parsed = read_plain(text, at_once=True)
    assert parsed is not None, "the same text was taken before"
    return parsed.resolution


def read_plain(text: str, at_once: bool = False) -> Parsed | None:
    """Numbers separated in one way, in lines or in nested square brackets; None if the text is anything else.

    The resolution is found when it is first asked for, unless `at_once`.
    """
    if not text.isascii():
        return None
    offset, header = _header(text)
    if header is not None:
        scan = _Scan(text[offset:].encode("ascii"), text, offset, at_once)
        return scan.lines(header) if not scan.data.translate(None, _PLAIN_LINES) else None
    body, printed = _unwrapped(text)
    if body is None:
        return None
    data = body.encode("ascii")
    if data.translate(None, _PLAIN):
        return None
    offset = text.index(body[:1024]) if body is not text else 0
    if b"[" in data or b"]" in data:
        return _Scan(data, text, offset, at_once).bracketed(printed)
    if b";" in data:
        if b"\n" in data.strip():
            return None
        data = data.strip().rstrip(b";").replace(b";", b"\n")
    return _Scan(data, text, offset, at_once).lines()


def _header(text: str) -> tuple[int, list[str] | None]:
    """Where the lines after a header row of words begin, and its cells; (0, None) without one."""
    end = text.find("\n")
    line = text[: max(end, 0)]
    if not 0 < end < 10**6 or any(mark in line for mark in "[](){}=;:|&\"'#%\\/") or not line.strip():
        return 0, None
    mark = "\t" if "\t" in line else "," if "," in line else None
    cells = [cell.strip() for cell in line.split(mark)]
    if not all(
        cell[:1].isalpha() and cell.lower() not in ("nan", "inf", "true", "false") for cell in cells[1:]
    ):
        return 0, None
    if len(cells) < 2 or (cells[0] and not cells[0][0].isalpha()):
        return 0, None
    return end + 1, cells


def _unwrapped(text: str) -> tuple[str | None, bool]:
    """The text without `array(` … `, dtype=float32)` around it, and whether PyTorch printed it."""
    first, last = text.find("["), text.rfind("]")
    if first < 0 or last < first:
        return text, False
    head, tail = _HEAD.fullmatch(text[:first]), _TAIL.fullmatch(text[last + 1 :])
    if first > 200 or len(text) - last > 200 or not head or not tail or bool(head[1]) != bool(tail[1]):
        return None, False
    return text[first : last + 1], head[1] == "tensor("


class _Scan:
    """Where the numbers of a plain text begin and end, and what stands between them."""

    def __init__(self, data: bytes, text: str, offset: int, at_once: bool) -> None:
        self.data, self.text, self.offset, self.at_once = data, text, offset, at_once
        self.characters = np.frombuffer(data, dtype=np.uint8)
        inside = np.zeros(len(data) + 2, dtype=np.int8)
        inside[1:-1] = _IN_NUMBER[self.characters]
        edges = np.diff(inside)
        self.starts: Indices = np.flatnonzero(edges == 1)
        self.ends: Indices = np.flatnonzero(edges == -1)
        self.count = len(self.starts)
        if self.count > MAX_ENTRIES:
            raise PasteError(
                f"at most {MAX_ENTRIES:,} entries can be read; this text has {self.count:,}.",
                code="TOO_LARGE",
            )

    def gaps(self, mark: bytes) -> Indices:
        """How often a character stands before each number; the last entry counts what follows all numbers."""
        places = np.flatnonzero(self.characters == mark[0])
        return np.bincount(np.searchsorted(self.starts, places), minlength=self.count + 1)

    def lines(self, header: list[str] | None = None) -> Parsed | None:
        if not self.count:
            return None
        if b"\t" in self.data and b"," in self.data:
            return None
        breaks = self.gaps(b"\n")
        breaks[0] = breaks[-1] = 0
        if (breaks > 1).any() and (breaks == 1).any():  # blank lines: perhaps two matrices
            return None
        rows = np.flatnonzero(breaks)
        bounds = np.concatenate(([0], rows, [self.count]))
        widths = np.diff(bounds)
        if not self._one_separator(breaks > 0, int(widths.min())):
            return None
        if header is not None:
            width = int(widths[0])
            if not (widths == width).all() or len(header) not in (width, width - 1):
                return None
            names = header[0].lower()
            index = not names
            if len(header) == width - 1:
                line = self.text[: self.offset]
                if not self._indented(line[: len(line) - len(line.lstrip())].encode(), 0):
                    return None
                index = True
            if not index and (names in ("index", "idx", "id", "row", "i") or names.startswith("unnamed")):
                return None
            if index and width < 2:
                return None
            if index:
                self._keep(np.arange(self.count) % width > 0)
            notes = ["header row left out"] + (["index column left out"] if index else [])
            return self._parsed((len(widths), width - index), notes, False)
        if (widths == widths[0]).all():
            return self._parsed((len(widths), int(widths[0])), [], False)
        if b"," in self.data or len(widths) < 3:
            return None
        if widths[0] == widths[1] - 1 and (widths[1:] == widths[1]).all():
            return self._with_header(int(widths[0]))
        row = int(np.flatnonzero(widths != widths[0])[0])
        place = bounds[row] + (widths[0] if widths[row] > widths[0] else 0)
        raise self._ragged(int(self.starts[place]), int(widths[0]), row, int(widths[row]))

    def _ragged(self, place: int, width: int, row: int, found: int) -> PasteError:
        return error_at(
            self.text,
            self.offset + place,
            "RAGGED",
            f"every row needs the same number of entries: row 1 has {width}, row {row + 1} has {found}.",
        )

    def _one_separator(self, breaks: NDArray[np.bool_], narrowest: int) -> bool:
        """True if only spaces separate, or one comma each, always followed by the same kind of space."""
        if b"," not in self.data:
            return True
        commas = self.gaps(b",")
        between = ~breaks
        between[0] = between[-1] = False
        if (commas[~between] != 0).any() or (commas[between] != 1).any() or narrowest < 3:
            return False
        length = (self.starts[1:] - self.ends[:-1])[between[1:-1]]
        tight = length == 1
        first, second = (
            self.characters[self.starts],
            self.characters[np.minimum(self.starts + 1, len(self.data) - 1)],
        )
        zeros = (first == 48) & (second >= 48) & (second <= 57) & (self.ends - self.starts > 1)
        return bool((tight.all() or not tight.any()) and not zeros.any())

    def _with_header(self, width: int) -> Parsed | None:
        """A first row of column numbers, one shorter than the rest and indented, as pandas prints it."""
        if not self._indented(self.data[: self.starts[0]], width):
            return None
        head = [self.data[s:e] for s, e in zip(self.starts[:width], self.ends[:width], strict=True)]
        if not all(h.isdigit() and len(h) < 10 for h in head):
            return None
        if [int(h) - int(head[0]) for h in head] != list(range(width)):
            return None
        keep = np.ones(self.count, dtype=bool)
        keep[:width] = False
        keep[width :: width + 1] = False
        self._keep(keep)
        return self._parsed(
            (self.count // width, width), ["header row left out", "index column left out"], False
        )

    def _indented(self, indent: bytes, first: int) -> bool:
        """True if a header line's indent reaches past the first number of the row that begins at `first`."""
        begin = max(self.data.rfind(b"\n", 0, int(self.starts[first])) + 1, 0)
        return len(indent.rpartition(b"\n")[2]) >= int(self.ends[first]) - begin and b"," not in self.data

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        """Narrow the scan; the numbers left out stay in the text."""
        self.starts, self.ends = self.starts[kept], self.ends[kept]
        self.count = len(self.starts)

    def bracketed(self, printed: bool) -> Parsed | None:
        opening, closing = self.gaps(b"["), self.gaps(b"]")
        depth = int(opening[0]) if self.count else 0
        if (
            not 0 < depth <= MAX_AXES
            or closing[-1] != depth
            or opening[-1]
            or closing[0]
            or b";" in self.data
        ):
            return None
        inner = closing[1:-1]
        if (opening[1:-1] != inner).any() or (depth == 1 and b"\n" in self.data):
            return None
        leaf = inner == 0
        commas = self.gaps(b",")
        if commas[0] or commas[-1]:
            return None
        between = commas[1:-1]
        if b"," in self.data and ((between[leaf] != 1).any() or (between[~leaf] > 1).any()):
            return None
        edges = np.flatnonzero(~leaf) + 1
        shapes = {
            bytes(self.data[self.ends[i - 1] : self.starts[i]]).translate(None, b" \t\n,")
            for i in edges.tolist()
        }
        if any(shape != b"]" * (len(shape) // 2) + b"[" * (len(shape) // 2) for shape in shapes):
            return None
        if len(self.data[: self.starts[0]].split()) > depth or b"," in self.data[: self.starts[0]]:
            return None
        shape = self._even(inner, depth)
        if shape is None:
            return None
        if b"," in self.data and b"\n" not in self.data:
            length = (self.starts[1:] - self.ends[:-1])[leaf]
            if (length == 1).any() and (length > 1).any():
                return None
        return self._parsed(shape if depth > 1 else (1, *shape), [], printed)

    def _even(self, closed: Indices, depth: int) -> tuple[int, ...] | None:
        """The shape if every part has the same length; RAGGED for uneven rows of a matrix."""
        shape: list[int] = []
        size = 1  # entries in one part of the level being measured
        for level in range(1, depth):
            ends = np.flatnonzero(closed >= level) + 1
            bounds = np.concatenate((ends, [self.count]))
            length = int(bounds[0])
            widths = np.diff(bounds, prepend=0)
            if (widths != length).any():
                if depth != 2:
                    return None
                row = int(np.flatnonzero(widths != length)[0])
                begin = int(bounds[row - 1])
                place = self.data.rfind(b"[", 0, int(self.starts[begin]))
                raise self._ragged(place, length, row, int(widths[row]))
            shape.append(length // size)
            size = length
        shape.append(self.count // size)
        return tuple(reversed(shape))

    def _parsed(self, shape: tuple[int, ...], warnings: list[str], printed: bool) -> Parsed | None:
        if int((self.ends - self.starts).max()) > _LONGEST:
            return None
        values = self._values()
        if values is None or not np.isfinite(values).all():
            return None
        if not self.at_once and not printed and not warnings and self._nothing_to_note(values):
            text = self.text  # and nothing more of the scan is kept
            return Parsed.later(values.reshape(shape), lambda: resolution(text))
        kinds, last, digits = self._precision()
        known = np.full(self.count, np.nan)
        inexact = (kinds == INTEGER) & (digits > 15)
        notes: dict[str, None] = {}
        for index in np.flatnonzero(((values == 0.0) & (digits > 0)) | inexact).tolist():
            number = read_number(self.data[self.starts[index] : self.ends[index]].decode())
            if number is None:
                return None
            if number.note:
                notes[number.note] = None
            if number.half is not None:
                known[index] = number.half
        warnings = (
            warnings + list(notes)[:4] + ([f"and {len(notes) - 4} more like this"] if len(notes) > 4 else [])
        )
        half = resolutions(values, kinds, last, digits, known, shape)
        if printed:
            warnings += fixed_decimals(kinds, last)
        return Parsed(values.reshape(shape), half.reshape(shape), tuple(warnings))

    def _nothing_to_note(self, values: NDArray[np.float64]) -> bool:
        """True if no entry can be one that underflows or that float64 cannot hold exactly."""
        if int((self.ends - self.starts).max()) > 15:
            return False
        zeros = np.flatnonzero(values == 0.0)
        if len(zeros) > _FEW:
            return False
        pairs = zip(self.starts[zeros].tolist(), self.ends[zeros].tolist(), strict=True)
        return not any(self.data[start:end].strip(b"+-0.") for start, end in pairs)

    def _values(self) -> NDArray[np.float64] | None:
        values = np.empty(self.count)
        block = 2**17  # so that a long text never has all its pieces in memory at once
        for begin in range(0, self.count, block):
            end = min(begin + block, self.count)
            piece = self.data[self.starts[begin] : self.ends[end - 1]].translate(_BLANK).split()
            if len(piece) != end - begin:  # a header was left out, or a sign stands alone
                piece = [
                    self.data[s:e]
                    for s, e in zip(
                        self.starts[begin:end].tolist(), self.ends[begin:end].tolist(), strict=True
                    )
                ]
            try:
                values[begin:end] = list(map(float, piece))
            except ValueError:
                return None
        return values

    def _precision(self) -> tuple[NDArray[np.str_], Indices, Indices]:
        """For each number its kind, the power of ten of its last digit, and its significant digits."""
        starts, ends, chars = self.starts, self.ends, self.characters
        exponent = np.zeros(self.count, dtype=np.int64)
        mantissa = ends.copy()
        places = np.flatnonzero((chars | 32) == 101)
        owner = np.searchsorted(starts, places, side="right") - 1
        inside = (owner >= 0) & (places < ends[owner])
        places, owner = places[inside], owner[inside]
        if len(places):
            mantissa[owner] = places
            pairs = zip(places.tolist(), ends[owner].tolist(), strict=True)
            exponent[owner] = [int(self.data[p + 1 : q][:8]) for p, q in pairs]
        point = mantissa.copy()
        places = np.flatnonzero(chars == 46)
        owner = np.searchsorted(starts, places, side="right") - 1
        inside = (owner >= 0) & (places < ends[owner])
        point[owner[inside]] = places[inside]
        fraction = np.maximum(mantissa - point - 1, 0)
        last = exponent - fraction

        whole = (last >= 0) & (fraction == 0)
        padded = (fraction >= 2) & (chars[mantissa - 1] == 48)
        plain = np.where(padded, PADDED, DECIMAL)
        kinds = np.where(
            whole, INTEGER, np.where(mantissa < ends, np.where(padded, POWER_PADDED, POWER), plain)
        )

        first = starts + ((chars[starts] == 45) | (chars[starts] == 43))
        active = np.flatnonzero(first < mantissa)
        while len(active):
            zero = (chars[first[active]] == 48) | (chars[first[active]] == 46)
            active = active[zero]
            first[active] += 1
            active = active[first[active] < mantissa[active]]
        digits = np.where(first < mantissa, mantissa - first - ((point > first) & (point < mantissa)), 0)
        return kinds, last, digits
