"""Where frameworks legitimately disagree, as data, and which cells of a problem that changes.

The facts stand in conventions.json with their sources, measured or read in November 2026.
Does not: model kernels, dropout or caches, only what the arguments mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .arrays import keep_mask
from .errors import OptionError
from .options import EmptyRow, Options
from .precision import Floats
from .sdpa import DEFAULT, LIMIT, attend


@dataclass(frozen=True)
class Convention:
    """What one framework makes of the same arguments; None where it leaves that open or it is unknown."""

    id: str
    aliases: list[str]
    name: str
    version: str
    causal: Literal["top-left", "bottom-right"] | None  # how its causal switch aligns when n ≠ m
    true_means: Literal["keep", "mask out"] | None  # True in its boolean mask
    empty_row: EmptyRow | None  # weights of a row emptied by boolean masks
    empty_row_bias: EmptyRow | None  # by a −∞ bias
    scale: Literal["sqrt_dk", "none"] | None  # its default
    causal_drops_mask: bool  # with causal on, keep and bias are ignored
    notes: list[str]
    source: str


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


@dataclass(frozen=True, eq=False)
class Differences(Sequence[Difference]):
    """All of them in the order of their indices, each made when it is asked for: there may be millions."""

    first: Floats
    second: Floats
    cells: NDArray[np.intp]
    causes: list[tuple[tuple[str, ...], str]]
    cause: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        cell = tuple(self.cells[at].tolist())
        return Difference(
            cell, float(self.first[cell]), float(self.second[cell]), *self.causes[self.cause[cell]]
        )


@cache
def conventions() -> dict[str, Convention]:
    """Every convention by id, in the order of the file."""
    import json

    rows = json.loads(Path(__file__).with_name("conventions.json").read_text("utf-8"))
    return {row["id"]: Convention(**row) for row in rows}


def convention(framework: str) -> Convention:
    """The convention with this id or alias. Raises OptionError, field "framework", with the known ids."""
    for each in conventions().values():
        if framework in (each.id, *each.aliases):
            return each
    raise OptionError(f"framework must be one of {', '.join(conventions())}; got {framework!r}", "framework")


def options_for(framework: str, *, causal: Any = False, **settings: Any) -> Options:
    """Options with the framework's default scale and empty rows; causal=True is its causal switch."""
    rule = convention(framework)
    if isinstance(causal, bool):
        causal = (rule.causal or "top-left") if causal else None
    defaults = {"scale": rule.scale or "sqrt_dk", "empty_row": rule.empty_row or "zero", "causal": causal}
    return Options(**{**defaults, **settings})


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
    aspects = [name for name in one if one[name] != two[name]]

    def weights(reading: dict[str, Any]) -> Floats:
        return _weights(reading, (q, k, v), options, **settings)

    def changed(a: Floats, b: Floats) -> Any:
        return ~((np.abs(a - b) <= 1e-12) | (np.isnan(a) & np.isnan(b)))

    a, b = weights(one), weights(two)
    unexplained = changed(a, b)
    cells, cause = np.argwhere(unexplained), np.zeros(a.shape, np.intp)
    causes: list[tuple[tuple[str, ...], str]] = []
    for codes in (some for size in range(len(aspects)) for some in combinations(aspects, size + 1)):
        if not unexplained.any():
            break
        same = unexplained & ~changed(weights({**one, **{code: two[code] for code in codes}}), b)
        unexplained = unexplained & ~same
        cause[same] = len(causes)
        names = [rule.name for rule in rules]
        text = "; ".join(f"{_ASPECTS[c]} {one[c]} in {names[0]}, {two[c]} in {names[1]}" for c in codes)
        causes.append((codes, text))
    return Differences(a, b, cells, causes, cause)


_ASPECTS = {
    "causal": "the causal mask is aligned",
    "scale": "the default scale is",
    "true_means": "True in a boolean mask means",
    "causal_drops_mask": "causal ignores other masks:",
    "empty_row": "the weights of a query masked from every key are",
    "empty_row_bias": "the weights of a query whose bias is −∞ everywhere are",
}


def _reading(rule: Convention, other: Convention, options: Options) -> dict[str, Any]:
    """What `rule` makes of the arguments; what it leaves open is as in `other`, else as the caller says."""

    def of(name: str, fallback: Any) -> Any:
        return getattr(rule, name) or getattr(other, name) or fallback

    return {
        "causal": of("causal", options.causal) if isinstance(options.causal, str) else options.causal,
        "scale": of("scale", "sqrt_dk") if options.scale == "sqrt_dk" else options.scale,
        "true_means": of("true_means", "keep"),
        "causal_drops_mask": "yes" if rule.causal_drops_mask else "no",
        "empty_row": of("empty_row", options.empty_row),
        "empty_row_bias": of("empty_row_bias", options.empty_row),
    }


def _weights(
    reading: dict[str, Any],
    arrays: Any,
    options: Options,
    keep: Any = None,
    bias: Any = None,
    limit: int = LIMIT,
) -> Floats:
    if keep is not None and reading["true_means"] == "mask out":
        keep = ~keep_mask(keep, np.shape(keep))
    if reading["causal_drops_mask"] == "yes" and reading["causal"] is not None:
        keep = bias = None
    options = replace(options, causal=reading["causal"], scale=reading["scale"], empty_row="zero")
    q, k, v = arrays
    trace = attend(q, k, v, options, keep=keep, bias=bias, limit=limit)
    shown = next((rule.visible for rule in trace.rules if rule.code == "bias"), np.True_)
    by_bias = ~np.broadcast_to(shown, trace.mask.shape).any(-1)
    fill = {"zero": 0.0, "nan": np.nan, "uniform": 1 / trace.mask.shape[-1]}
    weights = trace.weights.copy()
    weights[trace.empty_rows & ~by_bias] = fill[reading["empty_row"]]
    weights[trace.empty_rows & by_bias] = fill[reading["empty_row_bias"]]
    return weights
