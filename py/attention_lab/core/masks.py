"""Which key each query may attend to, as a list of rules, and why a cell is masked.

The rules combine by "and", and the same arrays answer `why`, so the two cannot disagree.
Does not: apply anything to scores; sdpa.py does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import Bools, keep_mask
from .errors import ShapeError
from .options import Options
from .precision import Floats, Shape

Code = Literal["causal", "window", "lengths", "keep", "bias"]


class Reason(NamedTuple):
    """Why one cell is masked: `code` is the option that does it (also its form field), `text` a clause."""

    code: Code
    text: str


@dataclass(frozen=True, eq=False)
class Rule:
    """One mask: `visible` broadcasts to the scores, True = may attend; `explain(index, base)` why not."""

    code: Code
    visible: Bools
    explain: Callable[[Shape, int], str]


def offset(options: Options, n: int, m: int) -> int:
    """o in "key j is visible to query i if j ≤ i + o"; 0 without causal, so that windows centre on i."""
    causal: Any = options.causal
    return int({None: 0, "top-left": 0, "bottom-right": m - n}.get(causal, causal))


def rules(options: Options, shape: Shape, keep: Any = None, bias: Floats | None = None) -> tuple[Rule, ...]:
    """Every mask that `options`, `keep` and the −∞ entries of `bias` put on scores of `shape` (…, n, m).

    The first axis is the batch axis of `lengths`, unless it is the axis of packed heads.
    Raises ShapeError and DtypeError with `field` "lengths" or "keep".
    """
    n, m = shape[-2:]
    shift = offset(options, n, m)
    # 64 bits: NumPy's own integers have 32 in WebAssembly
    keys, last = np.arange(m, dtype=np.int64), np.arange(n, dtype=np.int64)[:, None] + shift
    valid = _valid_keys(options, shape)

    def explain(code: Code, at: Shape, base: int) -> str:
        query, key, aligned = f"query {at[-2] + base}", f"key {at[-1] + base}", at[-2] + base + shift
        if code == "causal" and at[-2] + shift < 0:
            return f"{query} comes before every key (causal offset {shift})"
        if code == "causal":
            return f"{key} comes after key {aligned}, the last one that {query} may attend to"
        if code == "window":
            left, right = options.window or (None, None)
            sides = [] if left is None else [f"from key {aligned - left}"]
            sides += [] if right is None else [f"up to key {aligned + right}"]
            return f"{key} is outside the window of {query} ({' '.join(sides)})"
        if code == "lengths":
            return f"{key} is padding: the number of valid keys is {_at(valid, at)}"
        return "the keep mask is False here" if code == "keep" else "the bias is −∞ here"

    found: dict[Code, Bools] = {}
    if options.causal is not None:
        found["causal"] = keys <= last
    if options.window is not None:
        back, ahead = (2**32 if side is None else side for side in options.window)
        found["window"] = (keys >= last - back) & (keys <= last + ahead)
    if options.lengths is not None:
        found["lengths"] = keys < valid
    if keep is not None:
        found["keep"] = keep_mask(keep, shape)
    if bias is not None and (hidden := np.isneginf(bias)).any():
        found["bias"] = ~hidden
    return tuple(Rule(code, visible, partial(explain, code)) for code, visible in found.items())


def combine(found: tuple[Rule, ...]) -> Bools:
    """The cells that every rule leaves visible; broadcasts to the scores."""
    return reduce(np.logical_and, (rule.visible for rule in found), np.ones((1, 1), bool))


def why(found: tuple[Rule, ...], index: Shape, base: int = 0) -> tuple[Reason, ...]:
    """All reasons why the cell `index` = (…, query, key) is masked, none if it is not; texts count from `base`.

    Top-left causal, (0, 1) → code "causal", "key 1 comes after key 0, the last one that query 0 may attend to".
    """
    hidden = (rule for rule in found if not _at(rule.visible, index))
    return tuple(Reason(rule.code, rule.explain(index, base)) for rule in hidden)


def _at(array: NDArray[Any], index: Shape) -> Any:
    """The entry that broadcasting would put at `index` of the scores."""
    own = index[len(index) - array.ndim :]
    return array[tuple(0 if size == 1 else i for i, size in zip(own, array.shape, strict=True))]


def _valid_keys(options: Options, shape: Shape) -> NDArray[np.int64]:
    """The valid keys of every batch entry, as an array that broadcasts to the scores."""
    m = shape[-1]
    lengths = np.array((m,) if options.lengths is None else options.lengths, np.int64)
    batches = shape[0] if len(shape) > (2 if options.heads is None else 3) else 1
    if len(lengths) not in (1, batches):
        expected = f"one number, or one for each of {batches} batch entries"
        raise ShapeError(f"lengths must hold {expected}; got {len(lengths)}", "lengths")
    if lengths.max() > m:
        raise ShapeError(f"lengths must be at most {m}, the number of keys; got {lengths.max()}", "lengths")
    return lengths.reshape(-1, *[1] * (len(shape) - 1)) if len(lengths) > 1 else lengths
