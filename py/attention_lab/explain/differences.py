"""On which weights two frameworks differ when both are given the same arguments, and why.

Computed with attend() from the table in core/conventions.json, one reading of the arguments per framework.
Does not: compare kernels, whose rounding differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import Options, attend
from attention_lab.core.arrays import keep_mask
from attention_lab.core.conventions import Convention, convention
from attention_lab.core.precision import Floats
from attention_lab.core.sdpa import DEFAULT

_ASPECTS = {
    "causal": "the causal mask is aligned",
    "scale": "the default scale is",
    "true_means": "True in a boolean mask means",
    "causal_drops_mask": "causal ignores other masks:",
    "empty_row": "the weights of a query masked from every key are",
    "empty_row_bias": "the weights of a query whose bias is −∞ everywhere are",
}


@dataclass(frozen=True)
class Difference:
    """A weight on which two conventions differ: its index, both values, and why, as codes and in words.

    Codes are fields of Convention, the fewest whose difference accounts for this one.
    """

    index: tuple[int, ...]
    first: float
    second: float
    codes: tuple[str, ...]
    text: str


class Differences(Sequence[Difference]):
    """All of them in the order of their indices, each made when it is asked for: there may be millions."""

    def __init__(self, cells: NDArray[np.intp], make: Callable[[tuple[int, ...]], Difference]) -> None:
        self._cells, self._make = cells, make

    def __len__(self) -> int:
        return len(self._cells)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        return self._make(tuple(self._cells[at].tolist()))


def differences(
    first: str, second: str, q: Any, k: Any, v: Any, options: Options = DEFAULT, **settings: Any
) -> Differences:
    """The weights on which two frameworks differ when both are given these very arguments, and why.

    "top-left" and "bottom-right" both stand for the causal switch, a number for an offset that both obey;
    "sqrt_dk" stands for the default scale. What a framework leaves open never differs. settings: keep, bias
    and limit of attend(), whose errors it raises. Equal means within 1e-12, or both NaN.
    """
    rules = convention(first), convention(second)
    one, two = (_reading(rule, other, options) for rule, other in (rules, rules[::-1]))
    apart = [name for name in one if one[name] != two[name]]

    def weights(reading: dict[str, Any]) -> Floats:
        return _weights(reading, (q, k, v), options, **settings)

    a, b = weights(one), weights(two)
    open_ = ~np.isclose(a, b, rtol=0, atol=1e-12, equal_nan=True)
    cells, cause = np.argwhere(open_), np.zeros(a.shape, np.intp)
    causes = list(chain.from_iterable(combinations(apart, size) for size in range(1, len(apart) + 1)))
    for at, codes in enumerate(causes):
        if open_.any():
            as_two = weights({**one, **{code: two[code] for code in codes}})
            same = open_ & np.isclose(as_two, b, rtol=0, atol=1e-12, equal_nan=True)
            open_, cause[same] = open_ & ~same, at

    def make(cell: tuple[int, ...]) -> Difference:
        codes, says, names = causes[cause[cell]], _ASPECTS, [rule.name for rule in rules]
        text = "; ".join(f"{says[c]} {one[c]} in {names[0]}, {two[c]} in {names[1]}" for c in codes)
        return Difference(cell, float(a[cell]), float(b[cell]), codes, text)

    return Differences(cells, make)


def _reading(rule: Convention, other: Convention, options: Options) -> dict[str, Any]:
    """What `rule` makes of the arguments; what it leaves open is as in `other`, else as the caller says."""
    empty = options.empty_row
    otherwise = {"causal": options.causal, "scale": "sqrt_dk", "true_means": "keep"}
    otherwise |= {"causal_drops_mask": "no", "empty_row": empty, "empty_row_bias": empty}
    reading = {name: getattr(rule, name) or getattr(other, name) or last for name, last in otherwise.items()}
    reading["causal_drops_mask"] = "yes" if rule.causal_drops_mask else "no"
    if not isinstance(options.causal, str):
        reading["causal"] = options.causal
    if options.scale != "sqrt_dk":
        reading["scale"] = options.scale
    return reading


def _weights(
    reading: dict[str, Any], arrays: Any, options: Options, keep: Any = None, bias: Any = None, **limit: Any
) -> Floats:
    if keep is not None and reading["true_means"] == "mask out":
        keep = ~keep_mask(keep, np.shape(keep))
    if reading["causal_drops_mask"] == "yes" and reading["causal"] is not None:
        keep = bias = None
    options = replace(options, causal=reading["causal"], scale=reading["scale"], empty_row="zero")
    q, k, v = arrays
    trace = attend(q, k, v, options, keep=keep, bias=bias, **limit)
    shown = next((rule.visible for rule in trace.rules if rule.code == "bias"), np.True_)
    by_bias = ~np.broadcast_to(shown, trace.mask.shape).any(-1)
    fill = {"zero": 0.0, "nan": np.nan, "uniform": 1 / trace.mask.shape[-1]}
    weights = trace.weights.copy()
    for rows, name in ((~by_bias, "empty_row"), (by_bias, "empty_row_bias")):
        weights[trace.empty_rows & rows] = fill[reading[name]]
    return weights
