"""One query row of a Trace, taken apart: everything there is to say about it, as plain data.

Does: name the row's numbers key by key, the products behind each dot product, and the row's summary.
Does not: recompute a stage (every stage value is the Trace's own), round, or write HTML.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError

if TYPE_CHECKING:
    from attention_lab.core import Trace
    from attention_lab.problem import Problem

FloatArray = NDArray[np.floating[Any]]

STAGES = ("tempered", "capped", "biased", "masked")
"""The stages that an option may leave out, in the order in which they happen."""


@dataclass(frozen=True, eq=False)
class RowTrace:
    """Row `index` of an attention computation over m keys. Arrays are (m,) unless a shape is given.

    A row that may attend to nothing has `empty` true, `row_max` -inf, `denominator` 0 and whatever weights
    the empty-row option asked for.
    """

    index: int
    label: str | None
    key_labels: tuple[str, ...] | None

    query: FloatArray
    """(d_k,) the query vector as the arithmetic saw it."""
    keys: FloatArray
    """(m, d_k)"""
    values: FloatArray
    """(m, d_v)"""

    products: FloatArray
    """(m, d_k) q_c · k_jc term by term; row j adds up to `dot[j]` (to rounding)."""
    dot: FloatArray
    scaled: FloatArray
    tempered: FloatArray
    capped: FloatArray
    biased: FloatArray
    logits: FloatArray
    """What softmax received: -inf where masked."""
    masked: NDArray[np.bool_]
    exponentials: FloatArray
    """exp(logit - row_max): the shifted exponentials, 0 where masked."""
    weights: FloatArray

    row_max: float
    denominator: float
    log_sum_exp: float
    entropy: float
    """-Σ a ln a in nats; 0 when one key takes everything."""
    effective_keys: float
    """exp(entropy): how many equally weighted keys would be as divided. 0 when no weight is given out."""
    visible: int
    """How many keys the mask leaves."""
    strongest: int | None
    """Index of the largest weight (the first of equals); None when the row is empty or not a number."""
    empty: bool

    contributions: FloatArray
    """(m, d_v) weight_j · V_j; masked keys contribute exactly 0. Column sums give `output` (to rounding)."""
    output: FloatArray
    """(d_v,) the Trace's own output row."""

    sqrt_dk: float
    active: tuple[str, ...]
    """Those of STAGES that an option switched on, in order."""

    @property
    def relative_entropy(self) -> float:
        """Entropy ÷ ln(visible keys), 0 … 1: how divided the row is. 0 when fewer than two keys are visible."""
        return self.entropy / math.log(self.visible) if self.visible > 1 else 0.0


def entropies(weights: FloatArray) -> FloatArray:
    """Entropy of each row of (…, m) weights, in nats; a zero weight adds nothing.

    entropies([[0.5, 0.5], [1, 0]]) -> [ln 2, 0]
    """
    weights = np.asarray(weights, dtype=np.float64)
    safe = np.where(weights > 0, weights, 1.0)
    # NaN weights fail the comparison above, so bring them back: an undefined row has no entropy.
    total = np.where(np.isnan(weights), np.nan, weights * np.log(safe)).sum(axis=-1)
    return np.asarray(np.abs(total))  # every term is ≤ 0; abs also turns -0.0 into 0.0


def row(problem: Problem, trace: Trace, i: int) -> RowTrace:
    """Take query row `i` (from 0) of one 2-D slice apart.

    `problem` is the slice (q (n, d_k), k (m, d_k), v (m, d_v)), `trace` its Trace.
    Raises LabError, field "row", when there is no such row.
    """
    scores = np.asarray(trace.scores)
    if scores.ndim != 2:
        raise LabError(
            f"A row is taken from one batch and head: expected scores with 2 axes, got shape {scores.shape}.",
            field="row",
        )
    rows = scores.shape[0]
    if not 0 <= i < rows:
        raise LabError(f"There is no row {i}: expected 0 to {rows - 1}, for {rows} queries.", field="row")

    query, keys, values = _numbers(trace.q)[i], _numbers(trace.k), _numbers(trace.v)
    logits = _numbers(trace.masked)[i]
    weights = _numbers(trace.weights)[i]
    masked = np.isneginf(logits)
    empty = bool(masked.all())

    entropy = float(entropies(weights))
    given_out = bool(np.any(weights != 0))
    undefined = bool(np.isnan(weights).any())
    contributions = weights[:, None] * np.where(masked[:, None] & (weights == 0)[:, None], 0.0, values)

    return RowTrace(
        index=i,
        label=problem.query_labels[i] if problem.query_labels else None,
        key_labels=problem.key_labels,
        query=query,
        keys=keys,
        values=values,
        products=query * keys,
        dot=_numbers(scores)[i],
        scaled=_numbers(trace.scaled)[i],
        tempered=_numbers(trace.tempered)[i],
        capped=_numbers(trace.capped)[i],
        biased=_numbers(trace.biased)[i],
        logits=logits,
        masked=masked,
        exponentials=_numbers(trace.exponentials)[i],
        weights=weights,
        row_max=_of_row(trace.row_max, i),
        denominator=_of_row(trace.denominators, i),
        log_sum_exp=_of_row(trace.log_sum_exp, i),
        entropy=entropy,
        effective_keys=math.exp(entropy) if given_out else 0.0,
        visible=int((~masked).sum()),
        strongest=None if empty or undefined else int(np.argmax(weights)),
        empty=empty,
        contributions=contributions,
        output=_numbers(trace.output)[i],
        sqrt_dk=math.sqrt(keys.shape[-1]),
        active=_active(trace),
    )


def _active(trace: Trace) -> tuple[str, ...]:
    """A stage that does nothing is the very array before it (Trace's contract)."""
    before, names = trace.scaled, []
    for name in STAGES:
        after = getattr(trace, name)
        if after is not before:
            names.append(name)
        before = after
    return tuple(names)


def _numbers(array: object) -> FloatArray:
    return np.asarray(array, dtype=np.float64)


def _of_row(array: object, i: int) -> float:
    """Row statistics may be kept as (n,) or (n, 1)."""
    return float(_numbers(array).reshape(-1)[i])
