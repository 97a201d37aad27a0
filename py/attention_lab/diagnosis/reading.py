"""Reading: which stage, and in which layout, someone's numbers can be, judged by shape alone.

Does not: compare values; compare.py does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError, ShapeError, Trace

from .flow import State, stage_of, transposed
from .setting import Array, Setting

LOGITS = ("scores", "scaled", "tempered", "capped", "biased", "masked")
STAGES = (*LOGITS, "weights", "output", "log_sum_exp")


@dataclass(frozen=True, eq=False)
class Reading:
    """Numbers of `shape` read as `stage`. `arrange` brings (…, B, H, rows, columns) to (…, *shape).

    `mean` says that the weights are averaged over the heads; `note` names an unusual layout.
    """

    stage: str
    shape: tuple[int, ...]
    arrange: Callable[[Array], Array]
    expected: Array
    note: str = ""
    mean: bool = False

    def cells(self, state: State) -> Array:
        """The predicted numbers, (…, cells), in the order of the observed ones."""
        arranged = self.arrange(stage_of(state, self.stage))
        return arranged.reshape(arranged.shape[:-4] + (-1,))


def _same(array: Array) -> Array:
    return array


def _pack(array: Array) -> Array:
    return np.swapaxes(array, -3, -2)


def _mean(array: Array) -> Array:
    return np.asarray(array.mean(-3, keepdims=True))


def readings(setting: Setting, trace: Trace, shape: tuple[int, ...], stage: str = "auto") -> list[Reading]:
    """Every way to read an array of `shape`, most usual first. Raises LabError when there is none.

    With "auto", logit stages that do nothing are left out. Axes of size 1 may be added or missing.
    """
    if stage != "auto" and stage not in STAGES:
        raise LabError(f"stage must be auto or one of {', '.join(STAGES)}; got {stage!r}", "stage")
    wanted = ("output", "weights", *LOGITS, "log_sum_exp") if stage == "auto" else (stage,)
    exact: list[Reading] = []
    loose: list[Reading] = []
    seen: list[NDArray[Any]] = []
    for name in wanted:
        array = getattr(trace, "head_output" if name == "output" else name)
        if any(array is other for other in seen):
            continue
        seen.append(array)
        for place, (own, arrange, note, mean) in enumerate(_layouts(setting, name)):
            if own == shape:
                found = exact if place == 0 else loose
            elif _squeezed(own) == _squeezed(shape):
                found = loose
            else:
                continue
            four = _four(setting, name, array)
            found.append(Reading(name, shape, arrange, arrange(four).reshape(shape), note, mean))
            break
    if not exact and not loose:
        raise ShapeError(_message(setting, shape, stage), "observed")
    return exact + loose if stage == "auto" or not exact else exact


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def _four(setting: Setting, name: str, array: NDArray[Any]) -> Array:
    rows = array.shape[-1:] + (1,) if name == "log_sum_exp" else array.shape[-2:]
    return np.asarray(array, np.float64).reshape((setting.batches, setting.heads) + rows)


Layout = tuple[tuple[int, ...], Callable[[Array], Array], str, bool]


def _layouts(setting: Setting, stage: str) -> list[Layout]:
    """Shapes that this stage may come in: the one that attend() gives, then others people use."""
    batches, heads, n, m, dv = setting.batches, setting.heads, setting.n, setting.m, setting.dv
    lead = setting.lead
    if stage == "log_sum_exp":
        found: list[Layout] = [((*lead, n), _same, "", False)]
        if heads > 1 and n > 1:
            found.append(((batches, n, heads), _pack, "read as (batch, queries, heads)", False))
        return found
    if stage == "output":
        merged = ((batches, n, heads * dv), _pack, "", False)
        apart = ((*lead, n, dv), _same, "", False)
        found = [merged, apart] if setting.packed else [apart, merged]
        if heads > 1:
            found.append(((batches, n, heads, dv), _pack, "read as (batch, queries, heads, dv)", False))
        found.append(((*lead, dv, n), transposed, "read transposed", False))
        return found
    found = [((*lead, n, m), _same, "", False)]
    if stage == "weights" and heads > 1:
        found.append(((batches, n, m), _mean, "read as the mean over the heads", True))
    found.append(((*lead, m, n), transposed, "read transposed", False))
    return found


def _message(setting: Setting, shape: tuple[int, ...], stage: str) -> str:
    def told(name: str) -> str:
        return "×".join(map(str, _layouts(setting, name)[0][0]))

    fits = {
        "scores and weights": told("weights"),
        "output": told("output"),
        "log-sum-exp": told("log_sum_exp"),
    }
    names = (
        ("output",)
        if stage == "output"
        else ("log-sum-exp",)
        if stage == "log_sum_exp"
        else (tuple(fits) if stage == "auto" else ("scores and weights",))
    )
    expected = ", ".join(f"{name} {fits[name]}" for name in names)
    return (
        f"These numbers have shape {'×'.join(map(str, shape)) or 'of a single number'}; expected {expected}."
    )
