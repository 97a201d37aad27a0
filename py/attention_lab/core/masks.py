"""Which key each query may attend to, as a list of rules, and why a cell is masked.

The rules combine by "and", and the same arrays answer `why`, so the two cannot disagree.
Does not: apply anything to scores; sdpa.py does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .errors import DtypeError, ShapeError
from .options import Options

Code = Literal["causal", "window", "lengths", "keep", "bias"]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Reason:
    """Why one cell is masked: `code` is the option that does it (also its form field), `text` a clause."""

    code: Code
    text: str


@dataclass(frozen=True, eq=False)
class Rule:
    """One mask: `visible` broadcasts to the scores, True = may attend; `explain(index, base)` says why not."""

    code: Code
    visible: Bools
    explain: Callable[[tuple[int, ...], int], str]


def offset(options: Options, n: int, m: int) -> int:
    """o in "key j is visible to query i if j ≤ i + o"; 0 without causal, so that windows are centred on i."""
    if options.causal is None or options.causal == "top-left":
        return 0
    return m - n if options.causal == "bottom-right" else int(options.causal)


def rules(
    options: Options, shape: tuple[int, ...], keep: Any = None, bias: NDArray[np.floating[Any]] | None = None
) -> tuple[Rule, ...]:
    """Every mask that `options`, `keep` and the −∞ entries of `bias` put on scores of `shape` (…, n, m).

    With packed heads the axis before n is the head axis and holds no batch. Raises ShapeError, DtypeError.
    """
    n, m = shape[-2:]
    shift = offset(options, n, m)
    last = np.arange(n)[:, None] + shift
    keys = np.arange(m)
    found: list[Rule] = []
    if options.causal is not None:
        found.append(Rule("causal", keys <= last, lambda index, base: _why_causal(index, base, shift)))
    if options.window is not None:
        left, right = options.window
        visible = np.ones((n, m), bool)
        if left is not None:
            visible &= keys >= last - left
        if right is not None:
            visible &= keys <= last + right
        found.append(
            Rule("window", visible, lambda index, base: _why_window(index, base, shift, left, right))
        )
    if options.lengths is not None:
        valid = _valid_keys(options, shape)
        found.append(
            Rule(
                "lengths",
                keys < valid,
                lambda index, base: (
                    f"key {index[-1] + base} is padding: only the first {_at(valid, index)} keys are valid"
                ),
            )
        )
    if keep is not None:
        found.append(Rule("keep", _keep(keep, shape), lambda index, base: "the keep mask is False here"))
    if bias is not None and (hidden := np.isneginf(bias)).any():
        found.append(Rule("bias", ~hidden, lambda index, base: "the bias is −∞ here"))
    return tuple(found)


def combine(found: tuple[Rule, ...]) -> Bools:
    """The cells that every rule leaves visible; broadcasts to the scores."""
    visible: Bools = np.ones((1, 1), bool)
    for rule in found:
        visible = visible & rule.visible
    return visible


def why(found: tuple[Rule, ...], index: tuple[int, ...], base: int = 0) -> tuple[Reason, ...]:
    """All reasons why the cell `index` = (…, query, key) is masked; empty when it is visible.

    `base` is where labels in the texts count from: why(rules, (0, 1)) of a causal mask → (Reason("causal",
    "key 1 comes after key 0, the last one that query 0 may attend to"),).
    """
    return tuple(
        Reason(rule.code, rule.explain(index, base)) for rule in found if not _at(rule.visible, index)
    )


def _at(array: NDArray[Any], index: tuple[int, ...]) -> Any:
    """The entry that broadcasting would put at `index` of the scores."""
    own = index[len(index) - array.ndim :]
    return array[tuple(0 if size == 1 else i for i, size in zip(own, array.shape, strict=True))]


def _why_causal(index: tuple[int, ...], base: int, shift: int) -> str:
    i, j = index[-2:]
    if i + shift < 0:
        return f"query {i + base} comes before every key (causal offset {shift})"
    return (
        f"key {j + base} comes after key {i + shift + base}, the last one that query {i + base} may attend to"
    )


def _why_window(index: tuple[int, ...], base: int, shift: int, left: int | None, right: int | None) -> str:
    i, j = index[-2:]
    centre = i + shift + base
    sides = [
        f"from key {centre - left}" if left is not None else "",
        f"up to key {centre + right}" if right is not None else "",
    ]
    return f"key {j + base} is outside the window of query {i + base} ({' '.join(filter(None, sides))})"


def _valid_keys(options: Options, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Valid keys as an array that broadcasts along the batch axis, which is the first one."""
    lengths = options.lengths or ()
    m = shape[-1]
    batch_axes = len(shape) - (2 if options.heads is None else 3)
    batches = shape[0] if batch_axes else 1
    if len(lengths) not in (1, batches):
        raise ShapeError(
            f"lengths must hold one number, or one for each of the {batches} batch entries; "
            f"got {len(lengths)}",
            "lengths",
        )
    for batch, length in enumerate(lengths):
        if length > m:
            raise ShapeError(f"lengths[{batch}] is {length}, but there are only {m} keys", "lengths")
    return (
        np.array(lengths).reshape((-1,) + (1,) * (len(shape) - 1)) if len(lengths) > 1 else np.array(lengths)
    )


def _keep(keep: Any, shape: tuple[int, ...]) -> Bools:
    try:
        array = np.asarray(keep)
    except ValueError:
        raise ShapeError(
            "keep must be a rectangular array; its rows have different lengths", "keep"
        ) from None
    if array.dtype != np.bool_ and (array.dtype.kind not in "iu" or not np.isin(array, (0, 1)).all()):
        raise DtypeError(
            f"keep must hold booleans (True = may attend); got {array.dtype}. "
            "Numbers to be added to the scores are a bias",
            "keep",
        )
    check_broadcast(array, shape, "keep")
    return np.array(array, bool)


def check_broadcast(array: NDArray[Any], shape: tuple[int, ...], field: str) -> None:
    """Refuse an array that does not broadcast to scores of `shape`."""
    try:
        fits = array.ndim > 0 and np.broadcast_shapes(array.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(
            f"{field} must have shape {shape[-2:]}, (queries, keys), or broadcast to the scores "
            f"{shape}; got {array.shape}",
            field,
        )
