"""Case: one reading of the observed numbers with its tolerances, and the trials of formulas against it.

Does not: decide; match.py does, from the trials.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from . import rounding
from .compare import worst
from .flow import INDEX, LAST, Label, State, Variant, composable, run
from .reading import Reading
from .setting import Array, Setting

CHUNK = 200_000  # numbers computed at once


@dataclass(frozen=True, eq=False)
class Trial:
    """One formula with one parameter: how far it is from the observed numbers.

    `error` is the largest |difference|, `times` the same in tolerances of each level. `predicted` is kept only if
    it fits at some level. `which` and `within` number the labels of `variant` and `inside`. `fitted` numbers were
    chosen so that it fits: as many cells prove nothing.
    """

    case: Case
    label: Label
    error: float
    times: tuple[float, ...]
    predicted: Array | None
    variant: Variant | None = None
    which: int = 0
    inside: Variant | None = None
    within: int = 0
    fitted: int = 0

    def replay(self) -> State | None:
        """Their state after every step; None for numbers not made by the flow."""
        if self.variant is None:
            return None
        state, setting, inside = self.case.base, self.case.setting, None
        if self.inside is not None:
            inside = self.inside.part([self.within])
            state = run(setting, state, inside, "output")
        return run(setting, state, self.variant.part([self.which]), "output", inside)


@dataclass(frozen=True, eq=False)
class Case:
    """`half` is what the digits leave open; `levels` name the precisions tried, finest first ("digits" first)."""

    setting: Setting
    base: State
    reading: Reading
    observed: Array
    half: Array
    levels: tuple[str, ...]

    @property
    def expected(self) -> Array:
        return self.reading.expected.reshape(-1)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Where each number of the output (B, H, n, dv) stands among the observed ones."""
        place = np.arange(self.observed.size, dtype=float).reshape(self.base["output"].shape)
        return np.argsort(self.reading.arrange(place).reshape(-1))

    @cached_property
    def peak(self) -> float:
        finite = np.abs(self.observed[np.isfinite(self.observed)])
        return max(float(finite.max(initial=0.0)), 1e-30)

    @cached_property
    def stored(self) -> str:
        return rounding.stored_as(self.observed, self.half)

    def tolerance(self, level: str) -> Array:
        """Half-width of the digits plus the noise of that precision."""
        if level == "digits":
            # Printed digits may hide a float32 computation whose last rounding fell the other way.
            return np.asarray(
                self.half + self._noise("float64") + np.minimum(self._noise("float32"), 0.02 * self.half)
            )
        return np.asarray(self.half + self._noise(level))

    def _noise(self, name: str) -> Array:
        """The noise of that precision, cell by cell."""
        reading, setting = self.reading, self.setting
        rows = rounding.relative_noise(setting, self.base, name)
        columns = {"output": setting.dv, "log_sum_exp": 1}.get(reading.stage, setting.m)
        full = np.broadcast_to(rows, (setting.batches, setting.heads, setting.n, columns))
        return reading.arrange(full).reshape(-1) * self.peak

    @cached_property
    def tolerances(self) -> tuple[Array, ...]:
        return tuple(self.tolerance(level) for level in self.levels)

    def bound(self, precision: str) -> Array:
        """How far the right numbers may be off when computed in this precision, digits included."""
        found = self.reading.cells(dict(rounding.bounds(self.setting, self.base, precision)))
        return np.asarray(self.half + found)

    def information(self, level: int, fitted: int = 0) -> float:
        """Bits that the numbers carry at this tolerance: what chance would have to guess beyond the fitted numbers."""
        finite = self.observed[np.isfinite(self.observed)]
        if finite.size < 2:
            return 0.0
        spread = float((finite / self.peak).std()) * self.peak  # squares of huge numbers would overflow
        bits = float(np.log2(np.maximum(1.0, spread / self.tolerances[level])).sum())
        return float(bits * max(0.0, 1 - fitted / finite.size))

    @cached_property
    def noise(self) -> Array | None:
        """How far a low precision somewhere on the way may move each number, if that could explain them all."""
        for name in ("float16", "bfloat16"):
            bound = self.bound(name)
            if worst(self.exact, self.observed, bound) <= 1:
                return bound
        return None

    @cached_property
    def exact(self) -> Array:
        """The right numbers in float64, whatever precision the options ask for."""
        return np.asarray(np.broadcast_to(self.reading.cells(self.base), self.observed.shape))

    def surprise(self, level: int) -> float:
        """Bits against the right numbers with low-precision noise falling within the tolerance of another formula."""
        return np.inf if self.noise is None else self._bits(self.noise / (2 * self.tolerances[level]))

    def misfit(self, level: int, fitted: int) -> float:
        """Bits by which the numbers differ from the right ones beyond the tolerance; ∞ if no noise explains that."""
        if self.noise is None:
            return np.inf
        return self._bits(np.abs(self.observed - self.exact) / self.tolerances[level], fitted)

    def _bits(self, ratio: Array, fitted: int = 0) -> float:
        """Sum of log₂ over as many cells as rows of weights are free to vary in, less one for each fitted number."""
        setting = self.setting
        counts = np.array(setting.m) if setting.keep is None else setting.keep.sum(-1)
        visible = np.broadcast_to(counts, (setting.batches, setting.heads, setting.n))
        free = {"output": np.minimum(visible - 1, setting.dv), "weights": visible - 1}.get(
            self.reading.stage, visible
        )
        with np.errstate(all="ignore"):
            bits = np.clip(np.log2(ratio), 0.0, 64.0)
        bits = np.sort(np.where(np.isnan(bits), 64.0, bits))[::-1]
        return float(bits[fitted : int(free.clip(0).sum())].sum())

    def affects(self, variant: Variant) -> bool:
        return variant.first <= INDEX[LAST[self.reading.stage]]

    def trials(
        self, variant: Variant, inside: Variant | None = None, state: State | None = None
    ) -> Iterator[list[Trial]]:
        """Try every parameter of `variant`, on top of `inside` (whose state is given), some at a time."""
        cells = self.observed.size
        setting, labels = self.setting, len(variant.labels)
        scores = setting.batches * setting.heads * setting.n * setting.m
        size = max(1, CHUNK // max(cells, scores) // (len(inside.labels) if inside else 1))
        for start in range(0, labels if variant.params else 1, size):
            chosen = range(start, min(start + size, labels)) if variant.params else range(labels)
            part = variant.part(chosen) if len(chosen) < labels else variant
            after = run(setting, self.base if state is None else state, part, self.reading.stage, inside)
            predicted = self.reading.cells(after)
            names = (
                part.labels if inside is None else [join(a, b) for a in inside.labels for b in part.labels]
            )
            if predicted.size != cells * len(names):
                return  # other axes attend to each other, or a later step makes the earlier one irrelevant
            rows = predicted.reshape(-1, cells)
            errors, times = self._measure(rows)
            yield [
                Trial(
                    self,
                    label,
                    errors[row],
                    times[row],
                    rows[row].copy() if min(times[row]) <= 1 else None,
                    variant,
                    start + row % len(chosen),
                    inside,
                    row // len(chosen),
                )
                for row, label in enumerate(names)
            ]

    def trial(self, label: Label, predicted: Array, fitted: int = 0) -> Trial:
        """A trial of numbers computed elsewhere, from so many fitted ones."""
        errors, times = self._measure(predicted[None])
        return Trial(self, label, errors[0], times[0], predicted, fitted=fitted)

    def _measure(self, rows: Array) -> tuple[list[float], list[tuple[float, ...]]]:
        times = [worst(rows, self.observed, tolerance).tolist() for tolerance in self.tolerances]
        return worst(rows, self.observed, np.ones(())).tolist(), list(zip(*times, strict=True))


def join(first: Label, second: Label) -> Label:
    """The label of a pair."""
    details = ", ".join(f"{label.id}: {label.detail}" for label in (first, second) if label.detail)
    return Label(
        f"{first.id}+{second.id}",
        details,
        first.rank + second.rank,
        tuple(dict.fromkeys(first.frameworks + second.frameworks)),
        first.scale or second.scale,
    )


__all__ = ["Case", "Trial", "composable", "join"]
