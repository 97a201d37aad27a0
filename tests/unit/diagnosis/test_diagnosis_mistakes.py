"""Every mistake, written a second time in plain_mistakes.py, is recognised from its numbers alone.

ATTENTION_LAB_SWEEP=1 runs the 20 problems for each mistake that the project promises; by default 3, in Pyodide 1.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import plain_mistakes
import pytest

from attention_lab.core import Options, attend
from attention_lab.diagnosis import CATALOGUE, diagnose
from attention_lab.diagnosis.mistakes import recognisable

PROBLEMS = 20 if os.environ.get("ATTENTION_LAB_SWEEP") else 1 if sys.platform == "emscripten" else 3
NEEDED = {None: 0.99, 4: 0.97, 3: 0.93}


def test_every_recognisable_mistake_is_written_a_second_time() -> None:
    ours = {id for id in recognisable() if not id.startswith("O")}
    assert ours == set(plain_mistakes.MADE)


@pytest.mark.parametrize("id", plain_mistakes.MADE)
def test_a_mistake_is_named_at_full_precision(id: str) -> None:
    pasted = plain_mistakes.MADE[id](np.random.default_rng(0))
    result = diagnose(pasted.q, pasted.k, pasted.v, pasted.observed, pasted.options, pasted.keep, pasted.bias)
    assert result.matches[0] in (id, *pasted.also), result.message
    assert result.verdict == (
        "rounding"
        if id == "P1"
        else "convention"
        if CATALOGUE[id].convention and result.frameworks
        else "mistake"
    )
    if id in ("P1", "H10", "H4"):
        return  # no cell is wrong, all are, or there is nothing to compare with cell by cell
    assert result.first_divergence is not None
    stage, index, expected, observed = result.first_divergence
    assert stage == result.stage
    np.testing.assert_equal(observed, pasted.observed[index])
    np.testing.assert_equal(expected, result.expected[index])
    assert not np.isclose(expected, observed, rtol=1e-9, atol=0)
    assert result.mistaken is not None
    np.testing.assert_allclose(result.mistaken, pasted.observed, rtol=1e-6, atol=1e-9)
    assert CATALOGUE[result.matches[0].split("+")[0]].says in result.message


@pytest.mark.parametrize("digits", NEEDED)
def test_the_promised_share_is_named_first(digits: int | None) -> None:
    """Only results that differ from the right ones by more than the digits given are counted."""
    named = counted = 0
    missed = []
    for seed in range(PROBLEMS):
        for pasted in plain_mistakes.problems(np.random.default_rng(seed)):
            if not _shows(pasted, digits):
                continue
            numbers = pasted.observed if digits is None else np.round(pasted.observed, digits)
            result = diagnose(
                pasted.q, pasted.k, pasted.v, numbers, pasted.options, pasted.keep, pasted.bias, digits=digits
            )
            counted += 1
            if result.matches[:1] and result.matches[0] in (pasted.id, *pasted.also):
                named += 1
            else:
                missed.append((seed, pasted.id, result.verdict, result.matches))
    assert counted > 70 * PROBLEMS
    assert named >= NEEDED[digits] * counted, missed


def _shows(pasted: plain_mistakes.Pasted, digits: int | None) -> bool:
    right = attend(pasted.q, pasted.k, pasted.v, pasted.options, keep=pasted.keep, bias=pasted.bias).output
    if right.shape != pasted.observed.shape:
        return True
    difference = np.nan_to_num(np.abs(pasted.observed - right), nan=np.inf).max()
    return bool(difference > (1e-12 if digits is None else 0.5 * 10.0**-digits))


EYE = np.eye(plain_mistakes.N)
TRIANGLE = plain_mistakes.tri(plain_mistakes.N, plain_mistakes.N)
WEIGHTS = {
    "S1": lambda z: plain_mistakes.rowwise(plain_mistakes.hide(z * plain_mistakes.D**0.5, TRIANGLE), EYE),
    "S12": lambda z: plain_mistakes.rowwise(plain_mistakes.hide(z * np.log(2), TRIANGLE), EYE),
    "X7": lambda z: plain_mistakes.rowwise(
        plain_mistakes.rowwise(plain_mistakes.hide(z, TRIANGLE), EYE), EYE
    ),
    "X9": lambda z: np.exp(plain_mistakes.hide(z, TRIANGLE)),
    "M3": lambda z: plain_mistakes.rowwise(z, EYE) * TRIANGLE,
    "M13": lambda z: plain_mistakes.rowwise(plain_mistakes.hide(z, plain_mistakes.tri(*z.shape, 1)), EYE),
    "M16": lambda z: plain_mistakes.rowwise(z, EYE),
    "L1": lambda z: plain_mistakes.rowwise(plain_mistakes.hide(z.T, TRIANGLE), EYE),
    "L2": lambda z: plain_mistakes.rowwise(plain_mistakes.hide(z, TRIANGLE), EYE).T,
}


@pytest.mark.parametrize("id", WEIGHTS)
@pytest.mark.parametrize("digits", [None, 4])
def test_weights_name_the_mistake_as_the_output_does(id: str, digits: int | None) -> None:
    q, k, v = plain_mistakes.draw(np.random.default_rng(5), m=plain_mistakes.N)
    weights = WEIGHTS[id](plain_mistakes.z_of(q, k))
    if digits is not None:
        weights = np.round(weights, digits)
    result = diagnose(q, k, v, weights, Options(causal="top-left"), stage="weights", digits=digits)
    assert (result.verdict, result.stage, result.matches[0]) == ("mistake", "weights", id)


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_a_mistake_computed_in_low_precision_is_still_named(kind: type) -> None:
    named = counted = 0
    for pasted in plain_mistakes.problems(np.random.default_rng(9)):
        right = attend(
            pasted.q, pasted.k, pasted.v, pasted.options, keep=pasted.keep, bias=pasted.bias
        ).output
        far = 1e-5 if kind is np.float32 else 5e-2
        if right.shape != pasted.observed.shape or not np.abs(pasted.observed - right).max() > far:
            continue
        low = pasted.observed.astype(kind).astype(float)
        result = diagnose(pasted.q, pasted.k, pasted.v, low, pasted.options, pasted.keep, pasted.bias)
        counted += 1
        named += result.matches[:1] != () and result.matches[0] in (pasted.id, *pasted.also)
    assert counted >= 60
    assert named >= (0.98 if kind is np.float32 else 0.9) * counted
