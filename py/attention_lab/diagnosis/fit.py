"""Mistakes with one unknown number in them: the number is fitted to what was observed, then judged like any other.

Does not: accept a fit; session.py asks whether the numbers carry enough information for it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bias import set_bias
from .case import CHUNK, Case, Trial
from .flow import INDEX, LAST, Label, Step, Variant, run
from .mask import set_mask
from .recover import dropped, projected, weakened
from .scale import set_scale
from .setting import Array
from .softmax import with_sink

ROUNDS = 12
Found = tuple[float, Array] | None


def fitted(case: Case) -> Generator[Trial | None, None, None]:
    """Every mistake with a fitted number that this problem admits; None in between, as a sign of life."""
    setting = case.setting
    factors = np.geomspace(1 / 256, 256, 49) * max(abs(setting.scale), 1e-6)
    if found := (yield from fit_number(case, "scaled", set_scale, np.concatenate([-factors[::-1], factors]))):
        yield case.trial(Label("S9", f"c₀ = {found[0]:.6g}", 2.0, scale=found[0]), found[1], 1)
    if found := (yield from fit_number(case, "softmax", with_sink, np.linspace(-15, 15, 31))):
        yield case.trial(Label("X10", f"sink {found[0]:.6g}", 2.1), found[1], 1)
    keep, bias = setting.keep, setting.bias
    # The fill comes after the mask among the parameters of set_mask.
    if keep is not None and (
        found := (yield from fit_number(case, "masked", set_mask, np.linspace(-30, 6, 37), keep))
    ):
        yield case.trial(Label("M7", f"filled with {found[0]:.6g}", 2.2), found[1], 1)
    if (
        bias is not None
        and bias.any()
        and (found := (yield from fit_number(case, "biased", set_bias, np.linspace(-8, 8, 33))))
    ):
        yield case.trial(Label("A2", f"factor {found[0]:.6g}", 2.3), found[1], 1)
    if case.reading.stage in ("weights", "output"):
        yield from weakened(case)
        yield from dropped(case)
    if case.reading.stage == "output":
        yield from projected(case)


def fit_number(
    case: Case, step: str, function: Step, grid: NDArray[Any], *fixed: NDArray[Any]
) -> Generator[None, None, Found]:
    """The number that brings `function(…, *fixed, number)` closest to the observed numbers, and what it then gives.

    The best of `grid`, then Gauss–Newton steps, which reach full precision when an exact answer exists.
    """
    if INDEX[step] > INDEX[LAST[case.reading.stage]]:
        return None
    setting, usable = case.setting, np.isfinite(case.observed)
    at_once = max(1, CHUNK // (setting.batches * setting.heads * setting.n * setting.m))

    def predict(values: Array) -> Array:
        params = tuple(np.broadcast_to(array, (len(values), *array.shape)) for array in fixed)
        numbers = values.reshape(-1, 1, 1, 1, 1)
        variant = Variant(((step, function),), (Label(""),) * len(values), (*params, numbers))
        return case.reading.cells(run(setting, case.base, variant, case.reading.stage)).reshape(
            len(values), -1
        )

    def miss(values: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(((predict(values) - case.observed)[:, usable] ** 2).sum(-1))

    misses = np.empty(len(grid))
    for start in range(0, len(grid), at_once):
        misses[start : start + at_once] = miss(grid[start : start + at_once])
        yield
    if not np.isfinite(misses).any():
        return None
    best = int(np.nanargmin(misses))
    number = float(grid[best])
    gap = float(np.abs(np.diff(grid)[max(best - 1, 0) : best + 1]).max())
    for _ in range(ROUNDS):
        middle, slope = _slope(predict, number)
        steepness = float(slope[usable] @ slope[usable])
        if not np.isfinite(steepness) or steepness == 0:
            return None
        move = float(np.clip(slope[usable] @ (case.observed - middle)[usable] / steepness, -gap, gap))
        number += move
        if abs(move) < 1e-15 * abs(number):
            break
        yield
    number = _centred(case, predict, number)
    return number, predict(np.array([number]))[0]


def _slope(predict: Callable[[Array], Array], number: float) -> tuple[Array, Array]:
    """What the number gives, and its derivative."""
    nudge = 1e-6 * max(abs(number), 1e-3)
    low, middle, high = (predict(np.array([value]))[0] for value in (number - nudge, number, number + nudge))
    return middle, (high - low) / (2 * nudge)


def _centred(case: Case, predict: Callable[[Array], Array], number: float) -> float:
    """Least squares may leave a cell outside its tolerance; the middle of what all cells allow does not."""
    usable = np.isfinite(case.observed)
    middle, slope = _slope(predict, number)
    miss, slope = (case.observed - middle)[usable], slope[usable]
    told = np.abs(slope) > 1e-12 * case.peak
    for tolerance in case.tolerances:
        allowed = tolerance[usable]
        if not told.any() or (np.abs(miss) <= allowed).all():
            break
        ends = (miss[told] + np.array([[-1], [1]]) * allowed[told]) / slope[told]
        least, most = ends.min(0).max(), ends.max(0).min()
        if least <= most:
            return number + float(least + most) / 2
    return number
