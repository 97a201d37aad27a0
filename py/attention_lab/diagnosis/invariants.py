"""What holds for every right result of a stage, checked on someone's numbers.

Does not: name a cause; it says what is impossible and where.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .case import Case
from .result import Invariant
from .setting import Array

# Failing one of these means that no softmax could have given the numbers.
IMPOSSIBLE = ("each row sums to 1", "no weight is negative", "inside the range of V", "no NaN", "nothing infinite")


def check(case: Case) -> tuple[Invariant, ...]:
    """The invariants of the stage that `case` reads its numbers as."""
    return tuple(_checks(case))


def _checks(case: Case) -> Iterator[Invariant]:
    stage, observed = case.reading.stage, case.observed.reshape(case.reading.shape)
    inputs_finite = all(np.isfinite(array).all() for array in (case.setting.q, case.setting.k, case.setting.v))
    expected = case.reading.expected
    if inputs_finite:
        yield _where("no NaN", np.isnan(observed) & ~np.isnan(expected))
        yield _where("nothing infinite", np.isinf(observed) & np.isfinite(expected))
    tolerance = case.tolerance("digits").reshape(observed.shape)
    if stage == "weights" and not case.reading.note:
        yield from _weights(observed, expected, tolerance)
    if stage == "output":
        yield from _output(case, observed, tolerance)
    if stage == "masked":
        yield _where("masked cells are −∞", np.isneginf(expected) & (observed > -1e4))


def _weights(observed: Array, expected: Array, tolerance: Array) -> Iterator[Invariant]:
    yield _where("no weight is negative", observed < -tolerance)
    finite = np.isfinite(observed).all(-1)
    off = np.abs(observed.sum(-1) - 1) > tolerance.sum(-1)
    empty = (expected == 0).all(-1) | np.isnan(expected).all(-1)
    yield _where("each row sums to 1", off & finite & ~empty, "row")
    yield _where("masked keys have weight 0", (expected == 0) & (np.abs(observed) > tolerance + 1e-30))


def _output(case: Case, observed: Array, tolerance: Array) -> Iterator[Invariant]:
    if case.reading.note:
        return
    # V's range in each column, brought into the layout of the output.
    values = case.base["v"]
    if not np.isfinite(values).all():
        return
    shape = case.base["output"].shape
    low = case.reading.arrange(np.broadcast_to(values.min(-2, keepdims=True), shape)).reshape(observed.shape)
    high = case.reading.arrange(np.broadcast_to(values.max(-2, keepdims=True), shape)).reshape(observed.shape)
    # A query without keys gives 0 by convention, wherever V lies.
    outside = ((observed < low - tolerance) | (observed > high + tolerance)) & (case.reading.expected != 0)
    yield _where("inside the range of V", outside)
    keep = case.setting.keep
    if keep is not None:
        lone = np.broadcast_to((keep.sum(-1) == 1)[..., None], shape)
        alone = case.reading.arrange(lone.astype(float)).reshape(observed.shape) > 0
        if alone.any():
            with np.errstate(invalid="ignore"):
                wrong = alone & ~(np.abs(observed - case.reading.expected) <= tolerance)
            yield _where("a query with one visible key gives that row of V", wrong)


def _where(name: str, broken: NDArray[np.bool_], unit: str = "cell") -> Invariant:
    """Says how many places break it, and the first one, counted from 0."""
    count = int(broken.sum())
    if not count:
        return Invariant(name, True)
    first = tuple(int(i) for i in np.argwhere(broken)[0])
    place = first[0] if len(first) == 1 else first
    return Invariant(name, False, f"broken in {count} {unit}{'s' if count > 1 else ''}, first {unit} {place}")
