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

from .arrays import Bools, keep_mask
from .errors import ShapeError
from .options import Options
from .precision import Floats

Code = Literal["causal", "window", "lengths", "keep", "bias"]


@dataclass(frozen=True)
class Reason:
    """Why one cell is masked: `code` is the option that does it (also its form field), `text` a clause."""

    code: Code
    text: str


@dataclass(frozen=True, eq=False)
class Rule:
    """One mask: `visible` broadcasts to the scores, True = may attend; `explain(index, base)` why not."""

    code: Code
    visible: Bools
    explain: Callable[[tuple[int, ...], int], str]


def offset(options: Options, n: int, m: int) -> int:
    """o in "key j is visible to query i if j ≤ i + o"; 0 without causal, so that windows centre on i."""
    if options.causal is None or options.causal == "top-left":
        return 0
    return m - n if options.causal == "bottom-right" else int(options.causal)


def rules(
    options: Options, shape: tuple[int, ...], keep: Any = None, bias: Floats | None = None
) -> tuple[Rule, ...]:
    """Every mask that `options`, `keep` and the −∞ entries of `bias` put on scores of `shape` (…, n, m).

    The first axis is the batch axis of `lengths`, unless it is the axis of packed heads.
    Raises ShapeError and DtypeError with `field` "lengths" or "keep".
    """
    n, m = shape[-2:]
    shift = offset(options, n, m)
    # 64 bits: NumPy's own integers have 32 in WebAssembly
    keys, last = np.arange(m, dtype=np.int64), np.arange(n, dtype=np.int64)[:, None] + shift
    left, right = options.window or (None, None)
    valid = np.array([m]) if options.lengths is None else _valid_keys(options, shape)

    def causal(at: tuple[int, ...], base: int) -> str:
        i, j = at[-2] + base, at[-1] + base
        if at[-2] + shift < 0:
            return f"query {i} comes before every key (causal offset {shift})"
        return f"key {j} comes after key {i + shift}, the last one that query {i} may attend to"

    def window(at: tuple[int, ...], base: int) -> str:
        i, j = at[-2] + base, at[-1] + base
        sides = [] if left is None else [f"from key {i + shift - left}"]
        sides += [] if right is None else [f"up to key {i + shift + right}"]
        return f"key {j} is outside the window of query {i} ({' '.join(sides)})"

    def padding(at: tuple[int, ...], base: int) -> str:
        return f"key {at[-1] + base} is padding: the number of valid keys is {_at(valid, at)}"

    found: list[Rule] = []
    if options.causal is not None:
        found.append(Rule("causal", keys <= last, causal))
    if options.window is not None:
        after = keys >= last - (2**32 if left is None else left)
        found.append(Rule("window", after & (keys <= last + (2**32 if right is None else right)), window))
    if options.lengths is not None:
        found.append(Rule("lengths", keys < valid, padding))
    if keep is not None:
        found.append(Rule("keep", keep_mask(keep, shape), lambda at, base: "the keep mask is False here"))
    if bias is not None and (hidden := np.isneginf(bias)).any():
        found.append(Rule("bias", ~hidden, lambda at, base: "the bias is −∞ here"))
    return tuple(found)


def combine(found: tuple[Rule, ...]) -> Bools:
    """The cells that every rule leaves visible; broadcasts to the scores."""
    visible: Bools = np.ones((1, 1), bool)
    for rule in found:
        visible = visible & rule.visible
    return visible


def why(found: tuple[Rule, ...], index: tuple[int, ...], base: int = 0) -> tuple[Reason, ...]:
    """All reasons why the cell `index` = (…, query, key) is masked; empty when it is visible.

    Texts count from `base`. Top-left causal, (0, 1) → code "causal", "key 1 comes after key 0, the last one
    that query 0 may attend to".
    """
    hidden = (rule for rule in found if not _at(rule.visible, index))
    return tuple(Reason(rule.code, rule.explain(index, base)) for rule in hidden)


def _at(array: NDArray[Any], index: tuple[int, ...]) -> Any:
    """The entry that broadcasting would put at `index` of the scores."""
    own = index[len(index) - array.ndim :]
    return array[tuple(0 if size == 1 else i for i, size in zip(own, array.shape, strict=True))]


def _valid_keys(options: Options, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """The valid keys of every batch entry, as an array that broadcasts to the scores."""
    lengths, m = np.array(options.lengths, np.int64), shape[-1]
    batches = shape[0] if len(shape) > (2 if options.heads is None else 3) else 1
    if len(lengths) not in (1, batches):
        expected = f"one number, or one for each of {batches} batch entries"
        raise ShapeError(f"lengths must hold {expected}; got {len(lengths)}", "lengths")
    if lengths.max() > m:
        raise ShapeError(f"lengths must be at most {m}, the number of keys; got {lengths.max()}", "lengths")
    return lengths.reshape(-1, *[1] * (len(shape) - 1)) if len(lengths) > 1 else lengths
