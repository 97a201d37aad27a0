"""How many mistakes a given input can tell apart: all formulas are run on it and equal results are grouped.

Does not: need anybody's numbers; probe.py looks for inputs that separate more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from attention_lab.core import Options

from .flow import INDEX, LAST, Label, base_state, run, stage_of
from .mistakes import variants
from .setting import Array, Setting, compute

CORRECT = "correct"


class Asked(Protocol):
    """What separable() needs of a Problem or a Probe."""

    @property
    def q(self) -> Any: ...
    @property
    def k(self) -> Any: ...
    @property
    def v(self) -> Any: ...
    @property
    def options(self) -> Options: ...
    @property
    def keep(self) -> Any: ...
    @property
    def bias(self) -> Any: ...


class Separation(NamedTuple):
    """count: ids with numbers of their own. groups: ids that share theirs; the one that begins with "correct" is invisible."""

    count: int  # type: ignore[assignment]  # a field, where tuples have a method
    groups: tuple[tuple[str, ...], ...]

    @property
    def total(self) -> int:
        """How many mistakes can be made on this input at all."""
        return self.count + sum(len(group) - (CORRECT in group) for group in self.groups)


@np.errstate(all="ignore")
def separable(problem: Asked, stage: str = "output", digits: int | None = None) -> Separation:
    """Which catalogue entries `stage` of this problem tells apart, at full precision or with `digits` decimals.

    Only entries with a formula that this problem admits are counted, each with its most usual parameter that shows.
    """
    _, setting = compute(problem.q, problem.k, problem.v, problem.options, problem.keep, problem.bias)
    base = base_state(setting)
    right = stage_of(base, stage).reshape(-1)
    peak = float(np.abs(right[np.isfinite(right)]).max(initial=0.0))
    tolerance = 1e-9 * max(peak, 1e-30) if digits is None else 10.0**-digits
    usual: dict[str, tuple[bool, float, Array]] = {}
    for label, numbers in _predictions(setting, base, stage):
        hidden = _same(numbers, right, tolerance)
        if label.id not in usual or (hidden, label.rank) < usual[label.id][:2]:
            usual[label.id] = (hidden, label.rank, numbers)
    found: list[tuple[Array, list[str]]] = [(right, [CORRECT])]
    for id, (_, _, numbers) in usual.items():
        for other, ids in found:
            if _same(numbers, other, tolerance):
                ids.append(id)
                break
        else:
            found.append((numbers, [id]))
    groups = tuple(tuple(ids) for _, ids in found if len(ids) > 1)
    return Separation(sum(len(ids) == 1 and ids != [CORRECT] for _, ids in found), groups)


def _predictions(setting: Setting, base: dict[str, Any], stage: str) -> Iterator[tuple[Label, Array]]:
    for variant in variants(setting):
        if variant.first > INDEX[LAST[stage]]:
            continue
        numbers = stage_of(run(setting, base, variant, stage), stage)
        if numbers.size == stage_of(base, stage).size * len(variant.labels):
            yield from zip(variant.labels, numbers.reshape(len(variant.labels), -1), strict=True)


def _same(one: Array, other: Array, tolerance: float) -> bool:
    with np.errstate(invalid="ignore"):
        close = (np.abs(one - other) <= tolerance) | (one == other) | (np.isnan(one) & np.isnan(other))
    return bool(close.all())
