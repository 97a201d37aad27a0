"""What every export writes: the inputs and stages of one computation by name, with its options and labels.

Gathers arrays of a Trace and computes none. Knows no format.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError, Options, Trace
from attention_lab.problem import Problem

AnyArray = NDArray[Any]

OPTIONAL_STAGES = ("scaled", "tempered", "capped", "biased", "masked")
MOST_NUMBERS = 200_000
"""Numbers that a text export writes out; a data file has no such limit."""


@dataclass(frozen=True, eq=False)
class Material:
    """One computation to export. `whole` has every batch and head, `part` is the 2-D slice on show.

    write puts a number the way the page shows it; link is the address of this very state.
    """

    problem: Problem
    trace: Trace
    part: Problem
    part_trace: Trace
    write: Callable[[float], str] = repr
    link: str = ""
    row: int = 0
    query_names: tuple[str, ...] = ()
    key_names: tuple[str, ...] = ()
    dim_names: tuple[str, ...] = ()

    @property
    def options(self) -> Options:
        return self.trace.options

    @property
    def whole(self) -> dict[str, AnyArray]:
        """Inputs as given (heads still packed) and every stage, with all batches and heads."""
        return inputs_of(self.problem) | stages_of(self.trace) | sums_of(self.trace)

    @property
    def tables(self) -> dict[str, AnyArray]:
        """The 2-D arrays of the slice on show, keep and bias written out for every query."""
        arrays = inputs_of(self.part)
        for name in ("keep", "bias"):
            if name in arrays:
                arrays[name] = np.broadcast_to(arrays[name], self.part_trace.scores.shape)
        return arrays | stages_of(self.part_trace)


def inputs_of(problem: Problem) -> dict[str, AnyArray]:
    """q, k, v, and keep and bias where given."""
    arrays: dict[str, AnyArray] = {"q": problem.q, "k": problem.k, "v": problem.v}
    if problem.keep is not None:
        arrays["keep"] = np.asarray(problem.keep, bool)
    if problem.bias is not None:
        arrays["bias"] = np.asarray(problem.bias, float)
    return arrays


def stages_of(trace: Trace) -> dict[str, AnyArray]:
    """The stages that do something, in order, with the exponentials: name → (…, n, m), output (…, n, dv)."""
    arrays: dict[str, AnyArray] = {"scores": trace.scores}
    before = trace.scores
    for name in OPTIONAL_STAGES:
        array = getattr(trace, name)
        if array is not before:
            arrays[name] = array
        before = array
    return arrays | {"exponentials": trace.exponentials, "weights": trace.weights, "output": trace.output}


def sums_of(trace: Trace) -> dict[str, AnyArray]:
    """One number for each query row: name → (…, n)."""
    return {"row_max": trace.row_max, "denominators": trace.denominators, "log_sum_exp": trace.log_sum_exp}


def options_of(trace: Trace) -> dict[str, Any]:
    """The options as plain values, with the factor that the scores are multiplied by."""
    from dataclasses import asdict

    return asdict(trace.options) | {"effective_scale": trace.scale}


def refuse_too_many(arrays: dict[str, AnyArray]) -> None:
    """Raise LabError where a text would hold more numbers than anybody reads."""
    count = sum(array.size for array in arrays.values())
    if count > MOST_NUMBERS:
        raise LabError(
            f"This has {count:,} numbers, and a text export writes up to {MOST_NUMBERS:,}: save .npz or .safetensors."
        )
