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
IMPOSSIBLE = (
    "each row sums to 1",
    "no weight is negative",
    "each output is a mean of visible rows of V",
    "no NaN",
    "nothing infinite",
)
STEPS = 40


def check(case: Case, right: bool = False) -> tuple[Invariant, ...]:
    """The invariants of the stage that `case` reads its numbers as; `right` numbers are means of V without a search."""
    return tuple(_checks(case, right))


def _checks(case: Case, right: bool) -> Iterator[Invariant]:
    stage, observed = case.reading.stage, case.observed.reshape(case.reading.shape)
    inputs_finite = all(
        np.isfinite(array).all() for array in (case.setting.q, case.setting.k, case.setting.v)
    )
    expected = case.reading.expected
    if inputs_finite:
        yield _where("no NaN", np.isnan(observed) & ~np.isnan(expected))
        yield _where("nothing infinite", np.isinf(observed) & np.isfinite(expected))
    tolerance = case.tolerance("digits").reshape(observed.shape)
    if stage == "weights" and not case.reading.note:
        yield from _weights(observed, expected, tolerance)
    if stage == "output":
        yield from _output(case, observed, tolerance, right)
    if stage == "masked":
        yield _where("masked cells are −∞", np.isneginf(expected) & (observed > -1e4))


def _weights(observed: Array, expected: Array, tolerance: Array) -> Iterator[Invariant]:
    yield _where("no weight is negative", observed < -tolerance)
    finite = np.isfinite(observed).all(-1)
    off = np.abs(observed.sum(-1) - 1) > tolerance.sum(-1)
    empty = (expected == 0).all(-1) | np.isnan(expected).all(-1)
    yield _where("each row sums to 1", off & finite & ~empty, "row")
    yield _where("masked keys have weight 0", (expected == 0) & (np.abs(observed) > tolerance + 1e-30))


def _output(case: Case, observed: Array, tolerance: Array, right: bool) -> Iterator[Invariant]:
    values, keep = case.base["v"], case.setting.keep
    if case.reading.note or not np.isfinite(values).all():
        return
    shape = case.base["output"].shape
    order = case.order
    four, widths = case.observed[order].reshape(shape), tolerance.reshape(-1)[order].reshape(shape)
    visible = np.ones((1, 1, 1, case.setting.m), bool) if keep is None else keep
    visible = np.broadcast_to(visible, shape[:3] + (case.setting.m,))
    # What a query without keys gives is convention, and NaN is another matter.
    asked = np.asarray(visible.any(-1) & np.isfinite(four).all(-1))
    outside = (
        np.zeros_like(asked)
        if right
        else outside_hull(np.where(asked[..., None], four, 0.0), values, visible, widths)
    )
    yield _where(
        "each output is a mean of visible rows of V",
        (outside & asked).reshape(case.setting.lead + shape[2:3]),
        "row",
    )
    if keep is not None:
        lone = np.broadcast_to((keep.sum(-1) == 1)[..., None], shape)
        alone = case.reading.arrange(lone.astype(float)).reshape(observed.shape) > 0
        if alone.any():
            with np.errstate(invalid="ignore"):
                wrong = alone & ~(np.abs(observed - case.reading.expected) <= tolerance)
            yield _where("a query with one visible key gives that row of V", wrong)


def outside_hull(
    points: Array, values: Array, visible: NDArray[np.bool_], widths: Array
) -> NDArray[np.bool_]:
    """(B, H, n): True where no mean of the visible rows of V comes within `widths` of the point.

    Gilbert's algorithm (1966) walks to the closest mean; a row is called outside only once a plane proves it.
    """

    def along(direction: Array) -> Array:
        return np.where(visible, direction @ np.swapaxes(values, -1, -2), -np.inf)

    def vertex(scores: Array) -> Array:
        return np.take_along_axis(values, scores.argmax(-1)[..., None], -2)

    nearest = vertex(along(points))
    proven = np.zeros(points.shape[:-1], bool)
    for _ in range(STEPS):
        direction = points - nearest
        scores = along(direction)
        reach = (direction * points).sum(-1) - (np.abs(direction) * widths).sum(-1)
        proven |= scores.max(-1) < reach
        move = vertex(scores) - nearest
        length = (move**2).sum(-1)
        step = np.clip((direction * move).sum(-1) / np.where(length == 0, 1.0, length), 0.0, 1.0)
        if (proven | (step * length == 0)).all():
            break
        nearest = nearest + step[..., None] * move
    return proven


def _where(name: str, broken: NDArray[np.bool_], unit: str = "cell") -> Invariant:
    """Says how many places break it, and the first one, counted from 0."""
    count = int(broken.sum())
    if not count:
        return Invariant(name, True)
    first = tuple(int(i) for i in np.argwhere(broken)[0])
    place = first[0] if len(first) == 1 else first
    return Invariant(name, False, f"broken in {count} {unit}{'s' if count > 1 else ''}, first {unit} {place}")
