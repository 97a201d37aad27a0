"""One number in every spelling that is read, and the near misses that are not."""

from __future__ import annotations

import math

import pytest

from attention_lab.inputs.text.literals import LiteralError, read_number

SPELLINGS = {
    "0": 0.0, "-0": -0.0, "+1": 1.0, "5.": 5.0, ".5": 0.5, "-.5e1": -5.0, "1E3": 1000.0, "007": 7.0,
    "2.5d-1": 0.25, "2.5Q0": 2.5, "1.5*^-3": 0.0015, "2.`": 2.0, "0.25`17.": 0.25, "0.25f": 0.25, "2L": 2.0, "3u": 3.0,
    "0.25F": 0.25, "1.5m": 1.5, "0.25f32": 0.25, "0.25_f64": 0.25, "7i32": 7.0, "7usize": 7.0, "1.5f0": 1.5, "1.5f-3": 0.0015,
    "1_000": 1000.0, "1_000.5_f32": 1000.5, "1'000": 1000.0, "-12'345'678.5": -12345678.5, "25%": 0.25, "12.5%": 0.125,
    "1/4": 0.25, "-3/2": -1.5, "1//4": 0.25, "3/-4": -0.75, "0x1F": 31.0, "0x1.8p+3": 12.0, "-0x1p-2f": -0.25, "½": 0.5, "-1¾": -1.75,
    "4.9e-324": 5e-324, "1.7976931348623157e308": 1.7976931348623157e308, "9007199254740993": 9007199254740992.0,
    "0.1": 0.1, "0.30000000000000004": 0.30000000000000004, "1" + "0" * 22: 1e22, "0." + "0" * 400 + "1": 0.0,
}  # fmt: skip


@pytest.mark.parametrize("text", SPELLINGS)
def test_value(text: str) -> None:
    number = read_number(text)
    assert number is not None
    assert number.value == SPELLINGS[text]
    assert math.copysign(1, number.value) == math.copysign(1, SPELLINGS[text])


@pytest.mark.parametrize(
    "text",
    ["", "+", "-", ".", "e5", "1e", "1e+", "1.2.3", "1,5", "--1", "+-1", "1-2", "1+2", "0x", "0xg", "1__0", "_1", "1_", "1''0", "1'00",
     "1/2/3", "1/", "/2", "1.5/2", "%", "5%%", "1e5e5", "one", "nanx", "in", "infinit", "truely", "0b101", "1:2", "$5", "1e5.5", "٣", "²",
     "½½", "f32", "1f99999", "1 2", "1\n", "\t1", "i", "j", "1.2e3'000"],
)  # fmt: skip
def test_not_a_number(text: str) -> None:
    assert read_number(text) is None


@pytest.mark.parametrize("text", ["1e309", "-1e400", "1" * 310, "0x1p1024", "9" * 400 + "/1"])
def test_overflow(text: str) -> None:
    with pytest.raises(LiteralError, match="too large") as caught:
        read_number(text)
    assert caught.value.code == "LITERAL_OVERFLOW"


@pytest.mark.parametrize("text", ["1+2j", "1.5i", "2im", "0.5-1.5j", "1e5+2i"])
def test_complex(text: str) -> None:
    with pytest.raises(LiteralError, match="complex"):
        read_number(text)


NOTES = {
    "1e-400": "1e-400 underflows to 0",
    "9007199254740993": "9007199254740993 is not exactly representable",
    "1'000": "thousands separators removed",
    "9007199254740992": "",
    "0e-400": "",
    "5e-324": "",
}


@pytest.mark.parametrize("text", NOTES)
def test_note(text: str) -> None:
    number = read_number(text)
    assert number is not None
    assert number.note == NOTES[text]
