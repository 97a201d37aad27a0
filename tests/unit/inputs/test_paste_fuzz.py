"""Random and mutated texts: nothing outside the error family, no input takes a second, and what is read is sound.

100 000 texts with ATTENTION_LAB_FUZZ=1, a tenth of it by default.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np
import pytest
from fuzzing import SECONDS_PER_INPUT, budget, mutate, repeated
from hypothesis import given, settings
from hypothesis import strategies as st
from paste_corpus import DIALECTS, PIECES, SAMPLES

from attention_lab.core import LabError
from attention_lab.inputs.paste import Parsed, PasteError, format_matrix, parse_matrix

CORPUS = SAMPLES + DIALECTS
SEEDS = range(10)


def check(text: str) -> Parsed | None:
    """Parse one text within a second of processor time; a result or an error that says where."""
    begin = time.process_time()
    try:
        parsed = parse_matrix(text)
    except LabError as error:
        assert isinstance(error, PasteError), repr(text)
        assert error.code, repr(text)
        if error.line is not None:
            assert f"line {error.line}, column {error.column}" in str(error), repr(text)
            assert 1 <= error.line <= text.count("\n") + text.count("\r") + text.count("\x85") + 3, repr(text)
        parsed = None
    assert time.process_time() - begin < SECONDS_PER_INPUT, repr(text[:200])
    if parsed is not None:
        assert parsed.values.ndim >= 2 and parsed.values.size > 0, repr(text)
        assert parsed.values.dtype in (np.float64, np.bool_), repr(text)
        assert parsed.resolution.shape == parsed.values.shape, repr(text)
        assert np.isfinite(parsed.resolution).all() and (parsed.resolution >= 0).all(), repr(text)
    return parsed


@pytest.mark.parametrize("seed", SEEDS)
def test_mutated_texts(seed: int) -> None:
    """Samples with random edits. Every third result is written and read again."""
    rng = np.random.default_rng(seed)
    read = 0
    # In the page 1 000 in all: Python is several times slower there.
    for number in range(budget(87_000, 850) // len(SEEDS)):
        parsed = check(mutate(CORPUS[int(rng.integers(len(CORPUS)))], CORPUS, PIECES, rng))
        if parsed is not None:
            read += 1
            if number % 3 == 0:
                again = parse_matrix(format_matrix(parsed.values))
                assert again.values.dtype == parsed.values.dtype
                np.testing.assert_array_equal(again.values, parsed.values)
    assert read > 0  # the edits leave some texts readable, else nothing was tested


def test_random_fragments() -> None:
    """Fragments of all dialects in any order."""
    rng = np.random.default_rng(20)
    for _ in range(budget(10_000, 100)):
        check("".join(PIECES[int(i)] for i in rng.integers(len(PIECES), size=int(rng.integers(1, 40)))))


def test_repeated_fragments() -> None:
    """Short fragments repeated to 20 000 characters, alone and inside a sample: time must grow in proportion."""
    rng = np.random.default_rng(21)
    for number in range(budget(1_000, 20)):
        text = repeated(PIECES, rng, 20_000)
        if number % 2:
            sample = CORPUS[int(rng.integers(len(CORPUS)))]
            cut = int(rng.integers(0, len(sample) + 1))
            text = sample[:cut] + text + sample[cut:]
        check(text)


EXAMPLES = budget(1_000, 15)


@settings(max_examples=EXAMPLES)
@given(text=st.text(max_size=200))
def test_any_text(text: str) -> None:
    check(text)


@settings(max_examples=EXAMPLES)
@given(pieces=st.lists(st.sampled_from(PIECES + CORPUS), max_size=8))
def test_any_pieces(pieces: list[str]) -> None:
    check("".join(pieces))


HOSTILE = {
    "long number": "1" * 100_000 + "x",
    "long fraction": "1/" + "3" * 100_000,
    "long decimals": "0." + "1" * 100_000,
    "zeros": "0" * 100_000,
    "spaces": "1" + " " * 100_000 + "x",
    "spaces in columns": "Columns 1" + " " * 100_000 + "x",
    "dashes": "-" * 100_000 + "x",
    "dashes and pipes": "|-" * 50_000 + "x",
    "open brackets": "[" * 100_000,
    "pairs": "[]" * 50_000,
    "pairs and a word": "[]" * 50_000 + "x",
    "index pairs": "a" + "[1]" * 30_000 + "x",
    "quotes": '"' * 99_999,
    "quoted quotes": '"a"' * 33_333,
    "commas": "," * 100_000,
    "semicolons": ";" * 100_000,
    "tabs": "1\t2" + "\t" * 100_000,
    "names": "Q:\n1\n" * 20_000,
    "continuations": "[" + "1 ...\n" * 15_000 + "]",
    "matrices": "\\begin{bmatrix}" * 6_000 + "\\end{",
    "begins and ends": "\\begin{bmatrix}1\\end{bmatrix}" * 3_000,
    "tags": "[a=<" * 25_000,
    "comments": "/*" * 50_000,
    "closed comments": "/**/" * 25_000,
    "hashes": "1 # " * 25_000,
    "percents": "1 % 2" * 20_000,
    "prompts": ">>> 1\n" * 16_000,
    "powers": "1×10" * 25_000,
    "escapes": "\x1b[" * 50_000,
    "combining": "1\u0301" * 50_000,
    "surrogate": "\ud800 1",
    "nul": "\x00" * 100_000,
    "thousands": "1,000" * 20_000,
    "apostrophes": "1'" * 50_000,
    "underscores": "1_" * 50_000,
    "keys": '{"a":' * 20_000,
    "dots": "." * 100_000,
    "ranges": "1:" * 50_000,
    "calls": "tensor(" * 14_000,
    "factors": "1.0e+03 *\n" * 10_000,
    "pages": "ans(:,:,1) =\n1\n" * 7_000,
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile(kind: str) -> None:
    """100 000 characters made to be slow; fewer in the page, where Python is several times slower."""
    check(HOSTILE[kind][: 20_000 if sys.platform == "emscripten" else None])


@pytest.mark.skipif(
    sys.platform == "emscripten", reason="the environment of the tests is not passed into Pyodide"
)
def test_the_budget_follows_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTION_LAB_FUZZ", "1.0")
    assert budget(100_000, 1_000) == 100_000
    monkeypatch.delenv("ATTENTION_LAB_FUZZ")
    assert budget(100_000, 1_000) == 10_000
    assert "ATTENTION_LAB_FUZZ" not in os.environ
