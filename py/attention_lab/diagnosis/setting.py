"""Setting: one attention problem with every array brought to (batch, heads, rows, columns), and its masks apart.

The mistakes change one piece of it at a time. Does not: compute attention; flow.py does, step by step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import Options, Trace, attend

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Setting:
    """q (B, Hq, n, d), k (B, Hk, m, d), v (B, Hk, m, dv), float64 and as given (not rounded).

    `lead` are the caller's leading axes. With one leading axis nobody can know whether it counts batches or
    heads (`one_axis`): it is taken as heads, unless lengths say that it counts batches. `parts` holds each mask
    apart, broadcastable to (B, Hq, n, m), True = may attend; the −∞ entries of the bias are a mask here.
    """

    options: Options
    q: Array
    k: Array
    v: Array
    lead: tuple[int, ...]
    scale: float
    bias: Array | None
    parts: dict[str, Bools]

    @property
    def packed(self) -> bool:
        return self.options.heads is not None

    @property
    def one_axis(self) -> bool:
        return len(self.lead) == 1 and self.options.lengths is None

    @property
    def batches(self) -> int:
        return self.q.shape[0]

    @property
    def heads(self) -> int:
        return self.q.shape[1]

    @property
    def kv_heads(self) -> int:
        return self.k.shape[1]

    @property
    def n(self) -> int:
        return self.q.shape[-2]

    @property
    def m(self) -> int:
        return self.k.shape[-2]

    @property
    def d(self) -> int:
        return self.q.shape[-1]

    @property
    def dv(self) -> int:
        return self.v.shape[-1]

    @property
    def offset(self) -> int:
        """o of the causal rule j ≤ i + o; 0 when there is none."""
        causal = self.options.causal
        if causal is None or causal == "top-left":
            return 0
        return self.m - self.n if causal == "bottom-right" else int(causal)

    @cached_property
    def keep(self) -> Bools | None:
        """All masks together, or None when there is none."""
        return self.without()

    def without(self, *names: str) -> Bools | None:
        """All masks but the named ones, or None when nothing is left."""
        return meet(*(part for name, part in self.parts.items() if name not in names))


def meet(*masks: Bools | None) -> Bools | None:
    """The cells that all the given masks keep; None stands for "keep everything"."""
    result: Bools | None = None
    for mask in masks:
        if mask is not None:
            result = mask if result is None else result & mask
    return result


def compute(
    q: Any, k: Any, v: Any, options: Options, keep: Any = None, bias: Any = None
) -> tuple[Trace, Setting]:
    """attend(), and the Setting of its problem. Raises the LabError of attend()."""
    trace = attend(q, k, v, options, keep=keep, bias=bias)
    return trace, setting_of(
        trace, options.heads[1] if options.heads else np.shape(k)[-3] if np.ndim(k) > 2 else None
    )


def setting_of(trace: Trace, kv_heads: int | None) -> Setting:
    """The Setting of a computed trace; `kv_heads` of the caller's K (None: as many as Q has)."""
    q, k, v, bias = trace.given
    lead = q.shape[:-2]
    batched = len(lead) == 1 and trace.options.lengths is not None
    axes = (lead[0], 1) if batched else (math.prod(lead[:-1]), lead[-1] if lead else 1)

    def four(array: NDArray[Any]) -> Array:
        return np.asarray(array, np.float64).reshape(axes + array.shape[-2:])

    def four_mask(array: NDArray[Any]) -> NDArray[Any]:
        spread = array.reshape((1,) * (2 + len(lead) - array.ndim) + array.shape)
        if len(lead) == 1:
            spread = spread[:, None] if batched else spread[None]
        elif len(lead) != 2:
            spread = np.broadcast_to(spread, lead + spread.shape[-2:]).reshape(axes + spread.shape[-2:])
        # Rules that do not depend on the query come as one row: the mistakes want the whole matrix.
        return np.broadcast_to(spread, spread.shape[:2] + trace.scores.shape[-2:])

    # One K head for all, or K that broadcasts over batches: the axis then has another length than heads.
    every = axes[1] // kv_heads if kv_heads and not batched and axes[1] % kv_heads == 0 else 1
    parts: dict[str, Bools] = {rule.code: four_mask(rule.visible) for rule in trace.rules}
    finite = (
        None if bias is None else four_mask(np.where(np.isneginf(bias), 0.0, np.asarray(bias, np.float64)))
    )
    return Setting(
        trace.options, four(q), four(k)[:, ::every], four(v)[:, ::every], lead, trace.scale, finite, parts
    )


def packed(split: Array) -> Array:
    """Heads put side by side: (…, H, rows, d) → (…, rows, H·d)."""
    swapped = np.swapaxes(split, -3, -2)
    return swapped.reshape(swapped.shape[:-2] + (-1,))


def split(array: Array, heads: int) -> Array:
    """The inverse of `packed`: (…, rows, H·d) → (…, H, rows, d)."""
    return np.swapaxes(array.reshape(array.shape[:-1] + (heads, -1)), -3, -2)
