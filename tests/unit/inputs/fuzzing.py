"""Budgets, seeds and mutations shared by the fuzz tests. It holds no test."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import numpy as np

# Inside Pyodide Python runs several times slower.
SECONDS_PER_INPUT = 5.0 if sys.platform == "emscripten" else 1.0


def budget(full: int, in_page: int) -> int:
    """How many inputs to try: ATTENTION_LAB_FUZZ times `full`, a tenth of it when the variable is not set.

    Inside Pyodide always `in_page`: Python runs several times slower there, and the code is the same.
    """
    if sys.platform == "emscripten":
        return in_page
    return max(1, round(full * float(os.environ.get("ATTENTION_LAB_FUZZ", "0.1"))))


def mutate(text: str, corpus: list[str], pieces: list[str], rng: np.random.Generator) -> str:
    """One to five random edits: cut, copy, insert, splice with another text, repeat a fragment."""
    for _ in range(int(rng.integers(1, 6))):
        length = len(text)
        begin = int(rng.integers(0, length + 1))
        end = min(length, begin + int(rng.integers(0, 12)))
        piece = pieces[int(rng.integers(len(pieces)))]
        action = int(rng.integers(9))
        if action == 0:
            text = text[:begin] + text[end:]
        elif action == 1:
            text = text[:begin] + text[begin:end] * int(rng.integers(2, 4)) + text[end:]
        elif action in (2, 3):
            text = text[:begin] + piece + text[begin:]
        elif action == 4:
            text = text[:begin] + piece + text[end:]
        elif action == 5:
            other = corpus[int(rng.integers(len(corpus)))]
            text = text[:begin] + other[int(rng.integers(0, len(other) + 1)) :]
        elif action == 6:
            text = text.replace(text[begin:end] or " ", piece, 3)
        elif action == 7 and length:
            text = text[:begin] + chr(int(rng.integers(1, 0x3000))) + text[end:]
        else:
            lines = text.split("\n")
            rng.shuffle(lines)
            text = "\n".join(lines)
        text = text[:20_000]
    return text


def mutate_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """One to eight random edits: flip, overwrite, cut, insert, truncate, set a length to its largest."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 9))):
        if not changed:
            break
        # Half of the edits fall into the first 128 bytes, where headers are.
        place = int(rng.integers(0, min(len(changed), 128 if rng.random() < 0.5 else len(changed))))
        action = int(rng.integers(7))
        if action == 0:
            changed[place] ^= 1 << int(rng.integers(8))
        elif action == 1:
            changed[place] = int(rng.integers(256))
        elif action == 2:
            del changed[place : place + int(rng.integers(1, 9))]
        elif action == 3:
            changed[place:place] = rng.bytes(int(rng.integers(1, 9)))
        elif action == 4:
            del changed[place:]
        elif action == 5:
            changed[place : place + 4] = b"\xff\xff\xff\xff"
        else:
            digit = b"0123456789"[int(rng.integers(10)) :][:1]
            changed[place : place + 1] = digit * int(rng.integers(1, 16))
    return bytes(changed)


def repeated(pieces: list[str], rng: np.random.Generator, length: int) -> str:
    """One to three short fragments repeated to a length: what makes a careless pattern slow."""
    chosen = [pieces[int(rng.integers(len(pieces)))] for _ in range(int(rng.integers(1, 4)))]
    unit = "".join(chosen) or "["
    head = pieces[int(rng.integers(len(pieces)))]
    return head + (unit * (length // len(unit) + 1))[:length]


def slowest(run: Callable[[], object], clock: Callable[[], float]) -> float:
    """Processor time of one call, which other work on the machine does not lengthen."""
    begin = clock()
    run()
    return clock() - begin
