"""Worksheets: attention problems small enough for a pencil, drawn from a seed, with the stages of their Trace.

Numbers are chosen so that the work is short: entries are small integers, scaled scores are integers close together,
and with base 2 every weight is an exact fraction. The answers are the Trace's; nothing is computed here.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError, Options, Trace
from attention_lab.problem import Problem
from attention_lab.teach.plan import Plan

Array = NDArray[np.floating[Any]]

ENTRIES = (0, 1, 1, 2, 2, 3, -1)
"""Where Q and K draw from: mostly 1 and 2, now and then −1."""
VALUES = (0, 1, 2, 3, 4, 6)
MOST_APART = 3
"""How far the scaled scores of a row spread, so that the table of powers on the sheet is short."""
MOST_HALVINGS = 2
EASY_TOTALS = (4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 24)
"""With base 2: sums of powers, counted in quarters, whose fractions are easy."""
LARGEST_SCORE = 12
LARGEST_DENOMINATOR = 999
TRIES = 3000


@dataclass(frozen=True, eq=False)
class Sheet:
    """One variant: its letter, problem and trace."""

    letter: str
    plan: Plan
    problem: Problem
    trace: Trace

    @property
    def logits(self) -> Array:
        """What is exponentiated, before the base-2 temperature: integers."""
        logits = self.trace.scaled
        return np.where(self.trace.mask, logits, -np.inf)

    @property
    def stages(self) -> dict[str, Array]:
        """Name → 2-D array, in order; `sums` is one column. Leaves out what this plan does not do."""
        trace = self.trace
        made: dict[str, Array] = {"scores": trace.scores}
        if self.plan.scaled:
            made["scaled"] = trace.scaled
        if self.plan.causal:
            made["masked"] = self.logits
        return made | {
            "exponentials": trace.exponentials,
            "sums": trace.denominators[:, None],
            "weights": trace.weights,
            "output": trace.output,
        }

    @property
    def powers(self) -> list[tuple[int, float]]:
        """(difference from the row's largest score, its power) for every difference that occurs, from 0 down."""
        seen: dict[int, float] = {}
        for i, j in np.argwhere(self.trace.mask):
            difference = round(float(self.logits[i, j] - self.logits[i].max()))
            seen[difference] = float(self.trace.exponentials[i, j])
        return sorted(seen.items(), reverse=True)


def sheets(plan: Plan) -> tuple[Sheet, ...]:
    """The variants of a plan, A, B, C …, each with numbers of its own."""
    return tuple(_sheet(plan, place) for place in range(plan.variants))


def options_of(plan: Plan) -> Options:
    """The Options whose trace a sheet shows; 2ˣ is eˣ at temperature 1/ln 2."""
    return Options(
        scale="sqrt_dk" if plan.scaled else "none",
        temperature=1 / math.log(2) if plan.base == "2" else 1.0,
        causal="top-left" if plan.causal else None,
    )


def _sheet(plan: Plan, place: int) -> Sheet:
    draw = _source(f"attention-lab {plan.seed} {place}")
    candidates = _candidates(plan.d_k)
    for _ in range(TRIES):
        k = _matrix(draw, plan.keys, plan.d_k, ENTRIES)
        if len({tuple(row) for row in k.tolist()}) < plan.keys:
            continue
        q = _queries(draw, plan, candidates, k)
        if q is None:
            continue
        v = _matrix(draw, plan.keys, plan.values, VALUES)
        if len({tuple(row) for row in v.tolist()}) < min(plan.keys, 3):
            continue
        problem = Problem(q, k, v, options_of(plan))
        return Sheet(chr(ord("A") + place), plan, problem, problem.trace())
    raise LabError(
        "No numbers that suit a pencil were found for this size: try another seed or a smaller size.", "sheet"
    )


def _candidates(d_k: int) -> NDArray[np.float64]:
    """Every query vector that may be drawn, the zero vector apart: (count, d_k)."""
    values = sorted(set(ENTRIES))
    vectors = np.array(np.meshgrid(*[values] * d_k, indexing="ij"), float).reshape(d_k, -1).T
    return np.asarray(vectors[vectors.any(-1)])


def _queries(
    draw: Callable[[int], int], plan: Plan, candidates: NDArray[np.float64], k: Array
) -> NDArray[np.float64] | None:
    """Query rows whose scores with k are friendly, all different; None when this k yields too few.

    Rows whose weights would be those of an earlier row are drawn only when no others are left.
    """
    scores = candidates @ k.T
    if plan.scaled:  # masked scores are computed, too, before the mask hides them
        even = ~(scores % 2).any(-1)
        candidates, scores = candidates[even], scores[even]
    rows: list[int] = []
    patterns: set[bytes] = set()
    for i in range(plan.queries):
        visible = scores[:, : i + 1] if plan.causal else scores
        friendly = [int(c) for c in np.flatnonzero(_friendly(visible, plan)) if c not in rows]
        fresh = [c for c in friendly if (visible[c] - visible[c].max()).tobytes() not in patterns]
        if not friendly:
            return None
        pool = fresh or friendly
        rows.append(pool[draw(len(pool))])
        patterns.add((visible[rows[-1]] - visible[rows[-1]].max()).tobytes())
    return np.asarray(candidates[rows])


def _friendly(scores: Array, plan: Plan) -> NDArray[np.bool_]:
    """Which rows of visible scores (count, keys) make short work."""
    logits = scores / 2 if plan.scaled else scores
    apart = logits.max(-1, keepdims=True) - logits
    spread = apart.max(-1)
    good = (np.abs(scores).max(-1) <= LARGEST_SCORE) & (logits == np.rint(logits)).all(-1)
    good &= spread <= (MOST_APART if plan.base == "e" else MOST_HALVINGS)
    if scores.shape[-1] > 1:
        good &= spread > 0
    if plan.base == "2":
        good &= np.isin(np.exp2(MOST_HALVINGS - apart).sum(-1), EASY_TOTALS)
    return np.asarray(good)


def _matrix(
    draw: Callable[[int], int], rows: int, columns: int, entries: tuple[int, ...]
) -> NDArray[np.float64]:
    return np.array([[float(entries[draw(len(entries))]) for _ in range(columns)] for _ in range(rows)])


def _source(seed: str) -> Callable[[int], int]:
    """A function giving whole numbers below its argument. `Random.random` is the part of Python's generator whose
    sequence never changes between versions, so a seed on paper stays good."""
    numbers = random.Random(seed)
    return lambda below: int(numbers.random() * below)


def written(sheet: Sheet, stage: str, x: float) -> str:
    """One number as a sheet prints it: integers as they are, with base 2 fractions (`2/3`), else fixed decimals."""
    if not math.isfinite(x):
        return "−∞" if x < 0 else str(x)
    nearest = round(x)
    if stage in ("q", "k", "v", "scores", "scaled", "masked"):
        text = str(nearest) if x == nearest else f"{x:g}"
    elif sheet.plan.base == "2":
        from fractions import Fraction

        fraction = Fraction(x).limit_denominator(LARGEST_DENOMINATOR)
        text = str(fraction) if abs(fraction - x) < 1e-12 else f"{x:.{sheet.plan.decimals}f}"
    else:
        text = f"{x:.{sheet.plan.decimals}f}"
    return text.replace("-", "−")


def calculator_values(sheet: Sheet, blank: bool = True) -> dict[str, str]:
    """The fragment keys that open this sheet's problem in the Calculator, its blank stages waiting for answers."""
    plan, problem = sheet.plan, sheet.problem
    values = {"lab": "calculator"}
    for name, array in (("q", problem.q), ("k", problem.k), ("v", problem.v)):
        values[name] = ";".join(",".join(f"{x:.0f}" for x in row) for row in array.tolist())
    values["scale"] = "sqrt_dk" if plan.scaled else "none"
    if plan.base == "2":
        values["T"] = repr(problem.options.temperature)
        values["hide"] = "tempered"  # the sheet goes from scores to powers of 2 without this stage
    if plan.causal:
        values["causal"] = "top-left"
    tables = [name for name in sheet.stages if name in plan.blank and name not in ("exponentials", "sums")]
    if blank and tables:
        values["blank"] = ",".join(tables)
    return values
