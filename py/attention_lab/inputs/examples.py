"""The worked examples that ship with the page, read from examples.json and checked when loaded.

A broken file is refused with the place of the first fault. This module does not compute attention.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attention_lab.core.errors import LabError

FloatArray = NDArray[np.float64]

WALKTHROUGH_TOKENS = 8
WALKTHROUGH_ENTRIES = 4
PENCIL_DIGITS = frozenset({0, 1, 2})
OPTION_KEYS = frozenset(
    [
        "scale",
        "T",
        "causal",
        "softcap",
        "window",
        "empty",
        "precision",
        "decimals",
        "positions",
        "keep",
        "bias",
        "lengths",
        "heads",
    ]
)


class ExampleError(LabError):
    """The examples file is unreadable or breaks a rule; the message names the place."""


@dataclass(frozen=True, eq=False)
class Example:
    """One worked example: q (n, d_k), k (m, d_k), v (m, d_v) in float64, and options as fragment keys."""

    name: str
    title: str
    lesson: str
    q: FloatArray
    k: FloatArray
    v: FloatArray
    options: Mapping[str, str] = field(default_factory=dict)
    tokens: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Examples:
    """All examples. The first of each section is the one its lab opens with."""

    calculator: tuple[Example, ...]
    walkthrough: tuple[Example, ...]

    @property
    def all(self) -> tuple[Example, ...]:
        return self.calculator + self.walkthrough

    def get(self, name: str) -> Example:
        """The example called `name`; raises ExampleError listing the names there are."""
        for example in self.all:
            if example.name == name:
                return example
        names = ", ".join(example.name for example in self.all)
        raise ExampleError(f"There is no example called “{name}”. Expected one of: {names}.")


@cache
def load() -> Examples:
    """Read and check the examples that ship with the package."""
    return parse(Path(__file__).with_name("examples.json").read_text(encoding="utf-8"))


def parse(text: str) -> Examples:
    """Turn the text of an examples file into `Examples`, or raise ExampleError naming the first fault."""
    import json

    try:
        data = json.loads(text)
    except RecursionError:
        raise ExampleError("The examples file is nested too deeply.") from None
    except json.JSONDecodeError as error:
        raise ExampleError(
            f"The examples file is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    sections = _mapping(data, "the file")
    missing = {"calculator", "walkthrough"} - sections.keys()
    if missing:
        raise ExampleError(f"The examples file lacks the section “{min(missing)}”.")
    calculator = tuple(
        _example(item, f"calculator[{i}]")
        for i, item in enumerate(_list(sections["calculator"], "calculator"))
    )
    walkthrough = tuple(
        _walkthrough_example(item, f"walkthrough[{i}]")
        for i, item in enumerate(_list(sections["walkthrough"], "walkthrough"))
    )
    seen: set[str] = set()
    for example in calculator + walkthrough:
        if example.name in seen:
            raise ExampleError(f"Two examples are called “{example.name}”; names must differ.")
        seen.add(example.name)
    return Examples(calculator, walkthrough)


def _walkthrough_example(item: object, where: str) -> Example:
    """A hand-made example: eight tokens, four entries from {0, 1, 2} each, equal words with equal rows."""
    example = _example(item, where)
    if example.tokens is None:
        raise ExampleError(f"{where} lacks “tokens”: expected a list of {WALKTHROUGH_TOKENS} words.")
    expected = (WALKTHROUGH_TOKENS, WALKTHROUGH_ENTRIES)
    for name, rows in (("q", example.q), ("k", example.k), ("v", example.v)):
        if rows.shape != expected:
            raise ExampleError(f"{where}.{name}: expected {expected[0]}×{expected[1]}, got {_shape(rows)}.")
        for (i, j), value in np.ndenumerate(rows):
            if value not in PENCIL_DIGITS:
                raise ExampleError(f"{where}.{name}[{i}][{j}]: expected 0, 1 or 2, got {value:g}.")
        first: dict[str, int] = {}
        for i, word in enumerate(example.tokens):
            j = first.setdefault(word, i)
            if not np.array_equal(rows[i], rows[j]):
                raise ExampleError(
                    f"{where}.{name}: tokens {j} and {i} are both “{word}”, so their rows must be equal."
                )
    return example


def _example(item: object, where: str) -> Example:
    fields = _mapping(item, where)
    unknown = fields.keys() - {"name", "title", "lesson", "q", "k", "v", "options", "tokens"}
    if unknown:
        raise ExampleError(f"{where}: unknown entry “{min(unknown)}”.")
    name, title, lesson = (_text(fields, key, where) for key in ("name", "title", "lesson"))
    q, k, v = (_matrix(fields.get(key), f"{where}.{key}") for key in ("q", "k", "v"))
    if k.shape[1] != q.shape[1]:
        raise ExampleError(f"{where}: k has {k.shape[1]} columns, q has {q.shape[1]}; both need d_k columns.")
    if v.shape[0] != k.shape[0]:
        raise ExampleError(
            f"{where}: v has {v.shape[0]} rows, k has {k.shape[0]}; both need one row per key."
        )
    options = _mapping(fields.get("options", {}), f"{where}.options")
    for key, value in options.items():
        if key not in OPTION_KEYS:
            raise ExampleError(
                f"{where}.options: “{key}” is not an option; expected one of {sorted(OPTION_KEYS)}."
            )
        if not isinstance(value, str):
            raise ExampleError(f"{where}.options.{key}: expected text as in the address, got {value!r}.")
    tokens = None
    if "tokens" in fields:
        tokens = tuple(str(word) for word in _list(fields["tokens"], f"{where}.tokens"))
        if not len(tokens) == len(q) == len(k):
            raise ExampleError(
                f"{where}: {len(tokens)} tokens for {len(q)} query rows and {len(k)} key rows; the counts must agree."
            )
    return Example(name, title, lesson, q, k, v, {key: str(value) for key, value in options.items()}, tokens)


def _matrix(rows: object, where: str) -> FloatArray:
    """[[1, 2], [3, 4]] → a read-only float64 array of shape (2, 2)."""
    lines = [_list(row, f"{where}[{i}]") for i, row in enumerate(_list(rows, where))]
    for i, line in enumerate(lines):
        if len(line) != len(lines[0]):
            raise ExampleError(f"{where}: row {i} has {len(line)} entries, row 0 has {len(lines[0])}.")
        for j, value in enumerate(line):
            if not _is_finite_number(value):
                raise ExampleError(f"{where}[{i}][{j}]: expected a finite number, got {value!r}.")
    values = np.array(lines, dtype=np.float64)
    values.flags.writeable = False  # load() is cached: nobody may change a shared example
    return values


def _is_finite_number(value: object) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # JSON integers have no size limit
        return False


def _mapping(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ExampleError(f"{where}: expected an object with named entries, got {type(value).__name__}.")
    return value


def _list(value: object, where: str) -> list[object]:
    if not isinstance(value, list) or not value:
        got = "an empty list" if value == [] else type(value).__name__
        raise ExampleError(f"{where}: expected a list with at least one entry, got {got}.")
    return value


def _text(fields: dict[str, object], key: str, where: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ExampleError(f"{where}.{key}: expected a non-empty text, got {value!r}.")
    return value


def _shape(values: FloatArray) -> str:
    return "×".join(map(str, values.shape))
