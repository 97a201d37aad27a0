"""A text read again after an edit is what reading it whole gives: values, resolution, warnings, errors."""

from __future__ import annotations

import random

import numpy as np
import pytest

from attention_lab.inputs.paste import Parsed, PasteError, parse_matrix
from attention_lab.inputs.text import again
from attention_lab.inputs.text.fast import SHORTEST

ROWS, COLUMNS = 60, 64


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    again._readings.clear()


def long_text(seed: int = 0, mark: str = " ") -> str:
    values = np.random.default_rng(seed).standard_normal((ROWS, COLUMNS))
    text = "\n".join(mark.join(f"{x:.4f}" for x in row) for row in values)
    assert len(text) >= SHORTEST
    return text


def read(text: str) -> Parsed | PasteError:
    try:
        return parse_matrix(text)
    except PasteError as error:
        return error


def whole(text: str) -> Parsed | PasteError:
    kept, again._readings[:] = again._readings[:], []
    found = read(text)
    again._readings[:] = kept
    return found


def agree(one: Parsed | PasteError, other: Parsed | PasteError) -> None:
    assert type(one) is type(other)
    if isinstance(one, PasteError):
        assert str(one) == str(other)
        return
    assert isinstance(other, Parsed)
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.resolution, other.resolution)
    assert one.warnings == other.warnings


def edits(text: str, chance: random.Random) -> str:
    """A text with one small change of the kinds that a reader makes, also such that spoil it."""
    at = chance.randrange(len(text))
    end = min(len(text), at + chance.choice([0, 0, 1, 3, 9]))
    piece = chance.choice(
        ["1", "-", ".", " ", "\t", "\n", "e5", "1e400", "1e-400", "0", "", "", "7 8", "x", ",", "[", "nan", "９", "12345678901234567", "\n\n"]
    )  # fmt: skip
    return text[:at] + piece + text[end:]


@pytest.mark.parametrize("mark", [" ", "\t", "  "])
def test_random_edits_in_a_row_give_what_reading_whole_gives(mark: str) -> None:
    chance = random.Random(mark)
    text = long_text(mark=mark)
    again.keep(text, parse_matrix(text))
    line_by_line = 0
    for _ in range(100):
        changed = edits(text, chance)
        again.keep(text, parse_matrix(text))
        taken = again.read_again(changed) is not None
        line_by_line += taken
        found = read(changed)
        agree(found, whole(changed))
        text = changed if taken else text
    assert line_by_line >= 8


@pytest.mark.parametrize(
    ("old", "new"),
    [("0", "5"), ("", "\n"), ("\n", ""), ("\n", "\n\n"), ("\n", " \n"), (".", ""), (".", "..")],
)
@pytest.mark.parametrize("place", ["first", "last"])
def test_edits_at_either_end(old: str, new: str, place: str) -> None:
    text = long_text() + ("\n" if place == "last" else "")
    again.keep(text, parse_matrix(text))
    at = text.find(old) if place == "first" else text.rfind(old)
    changed = text[:at] + new + text[at + len(old) :]
    agree(read(changed), whole(changed))


def test_only_the_changed_lines_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = long_text()
    before = parse_matrix(text)
    rows: list[str] = []
    real = again._row
    monkeypatch.setattr(again, "_row", lambda line, width: rows.append(line) or real(line, width))
    lines = text.split("\n")
    lines[7] = "5 " + lines[7].partition(" ")[2]
    found = parse_matrix("\n".join(lines))
    assert rows == [lines[7]]
    assert found.values[7, 0] == 5 and before.values[7, 0] != 5
    np.testing.assert_array_equal(np.delete(found.values, 7, 0), np.delete(before.values, 7, 0))


def test_few_readings_are_kept() -> None:
    for seed in range(2 * again.KEPT):
        parse_matrix(long_text(seed))
    assert len(again._readings) == again.KEPT


def small(chance: random.Random) -> str:
    """Few rows of what could be taken for something else: counted columns, indents, signs, lone points."""
    words = ["0", "1", "2", "-1", "0.5", "1.0", "1e3", "12.", "0.250", ".5", "+2", "007", "1234", "0.0"]
    rows, columns = chance.randint(1, 5), chance.randint(1, 4)
    table = [[chance.choice(words) for _ in range(columns)] for _ in range(rows)]
    if chance.random() < 0.3:
        table[0] = [str(j) for j in range(columns)]
    if chance.random() < 0.3:
        table = [[str(i), *row[1:]] for i, row in enumerate(table)]
    mark = chance.choice([" ", "\t", "  "])
    indent = "" if mark == "\t" else chance.choice(["", " ", "   "])
    ends = chance.choice(["", "\n"])
    return "\n".join(indent * chance.randint(0, 1) + mark.join(row) for row in table) + ends


def test_small_texts_too() -> None:
    chance = random.Random(7)
    taken = 0
    for _ in range(3000):
        text = small(chance)
        at = chance.randrange(len(text))
        piece = chance.choice(["1", "", ".", "-", " ", "\t", "\n", "e", "5 6", "0", "\n\n", "e2", "+"])
        changed = text[:at] + piece + text[at + chance.randint(0, 2) :]
        again._readings.clear()
        read(text)
        found = again.read_again(changed)
        if found is not None:
            taken += 1
            expected = whole(changed)
            agree(found, expected)
            assert isinstance(expected, Parsed) and not expected.alternatives
            assert np.array_equal(np.signbit(found.values), np.signbit(expected.values))
    assert taken > 500
