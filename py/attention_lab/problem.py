"""One attention problem: Q, K, V, token labels, mask, bias and options, validated together.

Where the numbers came from no longer matters here. It computes nothing itself: `Problem.trace()` calls `attend()`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError, Options, Rule, ShapeError, Trace, attend

Array = NDArray[np.floating[Any]]
PAGE_LIMIT = 4_000_000  # batch·heads·n·m scores the page will compute; attend() itself allows more


@dataclass(frozen=True, eq=False)
class Problem:
    """Inputs of one attention computation.

    q (…, n, dk), k (…, m, dk), v (…, m, dv); keep (n, m) True = may attend; bias (n, m), finite or −inf.
    query_labels and key_labels name the tokens when the reader gave names. Raises ShapeError when they do not fit.
    """

    q: Array
    k: Array
    v: Array
    options: Options = field(default_factory=Options)
    keep: NDArray[np.bool_] | None = None
    bias: Array | None = None
    query_labels: tuple[str, ...] | None = None
    key_labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for labels, array, rows in ((self.query_labels, self.q, "query"), (self.key_labels, self.k, "key")):
            if labels is not None and len(labels) != array.shape[-2]:
                raise ShapeError(
                    f"There are {len(labels)} {rows} labels for {array.shape[-2]} {rows} rows: "
                    "each row needs exactly one label.",
                    field="labels",
                )

    def trace(self, limit: int = PAGE_LIMIT) -> Trace:
        """Compute every stage. Raises the LabError of `attend()`."""
        return attend(self.q, self.k, self.v, self.options, keep=self.keep, bias=self.bias, limit=limit)


def take(problem: Problem, trace: Trace, batch: int = 0, head: int = 0) -> tuple[Problem, Trace]:
    """The 2-D slice of one batch entry and head, with its problem; a 2-D problem is returned as it is.

    One leading axis is the batch axis unless heads came packed; the last of several is the head axis.
    Raises LabError (field "batch" or "head") when there is no such entry.
    """
    leading = trace.scores.shape[:-2]
    if not leading:
        return problem, trace
    index = _leading_index(leading, batch, head, packed=trace.options.heads is not None)

    def part(array: NDArray[Any]) -> NDArray[Any]:
        own = array.shape[:-2] if array.ndim > 2 else ()
        at = index[len(index) - len(own) :]
        return np.asarray(array[tuple(0 if size == 1 else i for i, size in zip(at, own, strict=True))])

    def explained(rule: Rule) -> Rule:
        return replace(
            rule, visible=part(rule.visible), explain=lambda at, base: rule.explain((*index, *at), base)
        )

    lengths = trace.options.lengths
    options = replace(
        trace.options,
        heads=None,
        lengths=lengths if lengths is None or len(lengths) == 1 else (lengths[index[0]],),
    )
    arrays: dict[str, Any] = {
        item.name: getattr(trace, item.name)
        for item in fields(trace)
        if isinstance(getattr(trace, item.name), np.ndarray)
    }
    made: dict[int, NDArray[Any]] = {}
    for array in arrays.values():  # a stage that does nothing must stay the very array before it
        made.setdefault(id(array), array[index])
    changed: dict[str, Any] = {name: made[id(array)] for name, array in arrays.items()}
    given_q, given_k, given_v, bias = trace.given
    sliced = replace(
        trace,
        **changed,
        options=options,
        rules=tuple(explained(rule) for rule in trace.rules),
        given=(given_q[index], given_k[index], given_v[index], None if bias is None else part(bias)),
    )
    sliced_problem = Problem(
        sliced.given[0],
        sliced.given[1],
        sliced.given[2],
        options,
        None if problem.keep is None else part(np.asarray(problem.keep)),
        None if problem.bias is None else part(np.asarray(problem.bias)),
        problem.query_labels,
        problem.key_labels,
    )
    return sliced_problem, sliced


def _leading_index(leading: tuple[int, ...], batch: int, head: int, packed: bool) -> tuple[int, ...]:
    if len(leading) == 1 and packed:
        places = [("head", head, leading[0])]
    elif len(leading) == 1:
        places = [("batch", batch or head, leading[0])]
    else:
        places = [("batch", batch, math.prod(leading[:-1])), ("head", head, leading[-1])]
    for name, place, size in places:
        if place >= size:
            raise LabError(f"There is no {name} {place}: expected 0 to {size - 1}.", field=name)
    if len(leading) == 1:
        return (places[0][1],)
    return (*(int(i) for i in np.unravel_index(batch, leading[:-1])), head)
