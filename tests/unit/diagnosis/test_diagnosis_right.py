"""No right result is ever called a mistake: every precision, mask and odd shape, printed with any number of digits.

ATTENTION_LAB_SWEEP=1 checks 1,000 problems; by default 60, in Pyodide 24.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attention_lab.core import Options, attend
from attention_lab.diagnosis import diagnose
from attention_lab.diagnosis.flow import base_state
from attention_lab.diagnosis.rounding import FORMATS, bounds, rounded
from attention_lab.diagnosis.setting import setting_of

PROBLEMS = 1000 if os.environ.get("ATTENTION_LAB_SWEEP") else 24 if sys.platform == "emscripten" else 60
RIGHT = ("match", "rounding")
Array = NDArray[np.float64]


def draw(seed: int) -> tuple[Array, Array, Array, Options, Any, Any]:
    """A problem of one of twelve kinds, with random settings."""
    rng = np.random.default_rng(seed)
    kind = seed % 12
    n, m, d, dv = (int(size) for size in rng.integers(1, 8, 4))
    lead: tuple[int, ...] = ()
    heads = None
    if kind == 0:
        m = 1
    elif kind == 1:
        n = 1
    elif kind == 2:
        n = m = d = dv = max(d, 2)
    elif kind in (3, 4):
        lead = (2, 3)
    elif kind == 7:
        m = n
    size = float(rng.choice([0.3, 1, 1, 3, 8]))
    q, k, v = (
        rng.normal(size=(*lead, n, d)) * size,
        rng.normal(size=(*lead, m, d)),
        rng.normal(size=(*lead, m, dv)),
    )
    if kind == 4:  # grouped heads
        q, k, v = rng.normal(size=(2, 4, n, d)), rng.normal(size=(2, 2, m, d)), rng.normal(size=(2, 2, m, dv))
    elif kind == 5:
        heads = (4, 2)
        q, k, v = (
            rng.normal(size=(2, n, 4 * d)),
            rng.normal(size=(2, m, 2 * d)),
            rng.normal(size=(2, m, 2 * dv)),
        )
    elif kind == 6:
        v = np.broadcast_to(v[:1], v.shape).copy()  # constant V
    elif kind == 7:
        k = q.copy()
    elif kind == 8:
        q = q * 0
    elif kind == 9:
        q, k, v = np.rint(q), np.rint(k), np.rint(v)
    elif kind == 10:
        q = q * 40  # weights of 0 and 1
    keep = rng.random((n, m)) < 0.7 if rng.random() < 0.3 else None
    bias = rng.normal(size=(n, m)) if rng.random() < 0.3 else None
    if bias is not None and rng.random() < 0.4:
        bias[rng.random((n, m)) < 0.3] = -np.inf
    options = Options(
        heads=heads,
        scale=["sqrt_dk", "sqrt_dk", "none", 0.3][rng.integers(4)],  # type: ignore[arg-type]
        temperature=float(rng.choice([1, 1, 0.5, 2])),
        softcap=[None, None, 1.0, 30.0][rng.integers(4)],
        causal=[None, None, "top-left", "bottom-right", 1][rng.integers(5)],  # type: ignore[arg-type]
        window=[None, None, None, (1, 2)][rng.integers(4)],  # type: ignore[arg-type]
        empty_row=["zero", "zero", "nan", "uniform"][rng.integers(4)],  # type: ignore[arg-type]
    )
    return q, k, v, options, keep, bias


@pytest.mark.parametrize("precision", ["float64", "float32", "float16", "bfloat16"])
def test_no_right_result_is_called_a_mistake(precision: str) -> None:
    """As attend() computes it in that precision, and as exact numbers rounded to it."""
    wrong = []
    for seed in range(PROBLEMS):
        q, k, v, options, keep, bias = draw(seed)
        exact = attend(q, k, v, options, keep=keep, bias=bias)
        computed = attend(q, k, v, replace(options, precision=precision), keep=keep, bias=bias)  # type: ignore[arg-type]
        for stage in ("output", "weights", "scores") if seed % 4 == 0 else ("output",):
            for numbers in (
                np.asarray(getattr(computed, stage), float),
                rounded(np.asarray(getattr(exact, stage)), precision),
            ):
                for digits in (None, 4, 3) if seed % 3 == 0 else (None,):
                    pasted = numbers if digits is None else np.round(numbers, digits)
                    result = diagnose(q, k, v, pasted, options, keep, bias, digits=digits)
                    if result.verdict not in RIGHT:
                        wrong.append((seed, stage, digits, result.verdict, result.matches))
    assert not wrong


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_rounding_anywhere_on_the_way_is_no_mistake(precision: str) -> None:
    """Only some of Q, K, V, scores and weights are rounded, and the output is not."""
    wrong = []
    for seed in range(PROBLEMS):
        q, k, v, options, keep, bias = draw(seed)
        if options.heads or options.empty_row != "zero" or q.ndim > 2:
            continue
        rng = np.random.default_rng(seed + 1)
        here = rng.random(5) < 0.5
        a, b, c = (rounded(x, precision) if low else x for x, low in zip((q, k, v), here, strict=False))
        trace = attend(q, k, v, options, keep=keep, bias=bias)
        z = a @ b.T
        z = (rounded(z, precision) if here[3] else z) * trace.scale / options.temperature
        z = z if options.softcap is None else options.softcap * np.tanh(z / options.softcap)
        z = np.where(trace.mask, z if bias is None else z + bias, -np.inf)
        top = z.max(-1, keepdims=True)
        e = np.exp(z - np.where(np.isneginf(top), 0, top))
        weights = e / np.maximum(e.sum(-1, keepdims=True), 1e-300)
        output = (rounded(weights, precision) if here[4] else weights) @ c
        for digits in (None, 4, 3):
            pasted = output if digits is None else np.round(output, digits)
            result = diagnose(q, k, v, pasted, options, keep, bias, digits=digits)
            if result.verdict not in RIGHT:
                wrong.append((seed, digits, result.verdict, result.matches))
    assert not wrong


@pytest.mark.parametrize("precision", ["float32", "float16", "bfloat16"])
def test_the_error_bounds_hold_with_room_and_are_not_idle(precision: str) -> None:
    """Results computed in a precision use at most 90 % of its bound, and some use more than 5 %."""
    used = []
    for seed in range(60):
        q, k, v, options, keep, bias = draw(seed)
        options = replace(options, empty_row="zero")
        exact = attend(q, k, v, options, keep=keep, bias=bias)
        computed = attend(q, k, v, replace(options, precision=precision), keep=keep, bias=bias)  # type: ignore[arg-type]
        setting = setting_of(
            exact, options.heads[1] if options.heads else k.shape[-3] if k.ndim > 2 else None
        )
        bound = bounds(setting, base_state(setting), precision)
        for stage in ("scores", "weights", "head_output"):
            error = np.abs(np.asarray(getattr(computed, stage), float) - getattr(exact, stage))
            name = "output" if stage == "head_output" else stage
            used.append(float((error / bound[name].reshape(error.shape)).max()))
    assert max(used) <= 0.9
    assert max(used) >= 0.05


def test_a_match_needs_every_digit() -> None:
    q, k, v, *_ = draw(11)
    right = attend(q, k, v).output
    assert diagnose(q, k, v, right).verdict == "match"
    assert diagnose(q, k, v, np.round(right, 4), digits=4).verdict == "match"
    wrong = right.copy()
    wrong += 1e-9
    assert diagnose(q, k, v, wrong).verdict != "match"
    assert diagnose(q, k, v, np.round(right + 2e-4, 4), digits=4).verdict != "match"


def test_each_precision_names_itself() -> None:
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(5, 3)), rng.normal(size=(7, 3)), rng.normal(size=(7, 2))
    for precision in ("float32", "float16", "bfloat16"):
        numbers = attend(q, k, v, Options(precision=precision)).output.astype(float)
        result = diagnose(q, k, v, numbers)
        assert (result.verdict, result.precision) == ("rounding", precision)
        assert result.matches == (() if precision == "float32" else ("P1",))
        assert result.first_divergence is None
    low = [rounded(x, "tf32") for x in (q, k)]
    z = low[0] @ low[1].T / np.sqrt(3)
    weights = np.exp(z) / np.exp(z).sum(-1, keepdims=True)
    result = diagnose(q, k, v, (weights @ v).astype(np.float32).astype(float))
    assert result.verdict == "rounding"


def test_our_own_precision_is_the_reference_when_options_ask_for_it() -> None:
    rng = np.random.default_rng(1)
    q, k, v = (rng.normal(size=(6, 4)) for _ in range(3))
    options = Options(precision="bfloat16")
    assert diagnose(q, k, v, attend(q, k, v, options).output.astype(float), options).verdict == "match"


@pytest.mark.parametrize("name", FORMATS)
def test_rounded_gives_numbers_of_the_format(name: str) -> None:
    values = np.array([0.0, 1.0, -2.5, 1 / 3, 1e-5, 6e-8, 65519.0, 1e300, np.inf, -np.inf, np.nan])
    once = rounded(values, name)
    np.testing.assert_array_equal(rounded(once, name), once)
    if name in ("float16", "float32"):
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(once, values.astype(name).astype(float))
    if name == "bfloat16":
        assert rounded(np.array([1.00390625]), name)[0] == 1.0  # a tie, to the even neighbour
