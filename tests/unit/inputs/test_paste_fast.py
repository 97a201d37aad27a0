"""The whole-array reader for long texts gives exactly what the general readers give, or steps aside."""

from __future__ import annotations

import re
import sys
import time

import numpy as np
import pytest

from attention_lab.inputs.paste import Parsed, PasteError, format_matrix, parse_matrix
from attention_lab.inputs.text import fast as fast_reader
from attention_lab.inputs.text.fast import read_plain


def both(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Parsed | None, Parsed | PasteError]:
    monkeypatch.setattr(fast_reader, "SHORTEST", 10**12)
    try:
        general: Parsed | PasteError = parse_matrix(text)
    except PasteError as error:
        general = error
    return read_plain(text), general


def number(rng: np.random.Generator) -> str:
    """A spelling of a random kind: integer, fixed, shortest, padded, exponent."""
    value = rng.normal() * 10.0 ** rng.integers(-6, 7)
    return [
        str(int(value)), f"{value:.4f}", repr(float(value)), f"{value:.6e}", f"{value:.3g}", f"{int(value)}.",
        f"{value:.2f}".replace("0.", "."), "0", "-0.0", "9007199254740993", "1e-400", f"{value:+.1f}", f"{value:.0e}",
    ][rng.integers(13)]  # fmt: skip


TEMPLATES = {
    "spaces": ("", " ", "\n", ""),
    "tabs": ("", "\t", "\n", ""),
    "csv": ("", ",", "\n", ""),
    "comma space": ("", ", ", "\n", "\n"),
    "fragment": ("", ",", ";", ""),
    "list": ("[[", ", ", "], [", "]]"),
    "numpy": ("[[", " ", "]\n [", "]]"),
    "wrapped": ("[[", "\n   ", "]\n [", "]]"),
    "json": ("[[", ",", "],[", "]]"),
    "array": ("array([[", ", ", "],\n       [", "]], dtype=float32)"),
    "tensor": ("tensor([[", ", ", "],\n        [", "]], device='cuda:0')"),
    "one row": ("[", ", ", ", ", "]"),
    "deep": ("[[[", ", ", "]], [[", "]]]"),
    "assigned": ("q = [[", ", ", "], [", "]];"),
    "header": ("a b c d\n", " ", "\n", ""),
    "csv header": ("a,b,c,d\n", ",", "\n", ""),
    "csv index": (",b,c,d\n", ",", "\n", ""),
    "short header": (" " * 30 + "b c d\n", " ", "\n", ""),
    "integer header": (" " * 30 + "0 1 2\n", " ", "\n", ""),
    "uneven": ("1 2\n", " ", "\n", ""),
    "uneven list": ("[[1], [", ", ", "], [", "]]"),
    "mixed": ("1,2 3 4\n", " ", "\n", ""),
    "mixed list": ("[[1,2 3, 4], [", ", ", "], [", "]]"),
    "unbalanced": ("[[", ", ", "], [", "]"),
    "double comma": ("[[1,,2,3], [", ",", "], [", "]]"),
    "stray dash": ("1 - 2 3\n", " ", "\n", ""),
    "semicolons": ("[", " ", "; ", "]"),
}


@pytest.mark.parametrize("form", TEMPLATES)
def test_agrees_with_the_general_readers(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values, resolution and warnings are the same on random tables; where they differ, fast steps aside."""
    head, mark, ending, tail = TEMPLATES[form]
    rng = np.random.default_rng(len(form))
    taken = 0
    for _ in range(30):
        text = head + ending.join(mark.join(number(rng) for _ in range(4)) for _ in range(5)) + tail
        try:
            fast, general = both(text, monkeypatch)
        except PasteError as error:
            with pytest.raises(PasteError, match=re.escape(str(error))):
                parse_matrix(text)
            taken += 1
            continue
        if fast is None:
            continue
        taken += 1
        assert isinstance(general, Parsed), (text, general)
        assert fast.values.shape == general.values.shape
        np.testing.assert_array_equal(fast.values, general.values)
        np.testing.assert_array_equal(np.signbit(fast.values), np.signbit(general.values))
        np.testing.assert_allclose(fast.resolution, general.resolution, rtol=1e-12)
        assert fast.warnings == general.warnings
        assert not general.alternatives
    aside = ("mixed", "mixed list", "unbalanced", "double comma", "stray dash", "semicolons")
    assert (taken > 0) == (form not in aside)


def test_a_million_numbers() -> None:
    """1024 x 1024 full-precision numbers read back exactly, in seconds; a quarter of them in the page.

    About 1.5 s of processor time on a desktop machine. The limit leaves room for slow and busy ones.
    """
    side = 512 if sys.platform == "emscripten" else 1024
    matrix = np.random.default_rng(8).normal(size=(side, side))
    text = format_matrix(matrix)
    begin = time.process_time()
    parsed = parse_matrix(text)
    assert time.process_time() - begin < 20
    np.testing.assert_array_equal(parsed.values, matrix)


def test_a_large_uneven_paste_is_refused_quickly() -> None:
    """One entry too few among 250 000 is named by its row."""
    rows = ["0.125 " * 500] * 500
    rows[400] = "0.125 " * 499
    with pytest.raises(PasteError, match="row 1 has 500, row 401 has 499") as caught:
        parse_matrix("\n".join(rows))
    assert caught.value.line == 401


def test_four_million_entries_at_most() -> None:
    with pytest.raises(PasteError) as caught:
        parse_matrix("0 " * (2**22 + 1))
    assert caught.value.code == "TOO_LARGE"
    with pytest.raises(PasteError) as caught:
        parse_matrix("[[" + "x" * 2**24 + "]]")
    assert caught.value.code == "TOO_LARGE"
