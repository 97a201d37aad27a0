"""Which stages of a Trace have something to show, in order, with their names.

A stage that does nothing is the very array before it (the Trace's contract) and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from attention_lab.core import Trace

OPTIONAL = ("scaled", "tempered", "capped", "biased", "masked")


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage to show: its name in the contract, a title, the formula in plain text and its array (…, n, m or dv)."""

    name: str
    title: str
    formula: str
    array: NDArray[np.floating[Any]]


def stages(trace: Trace, write: Callable[[float], str] = str) -> tuple[Stage, ...]:
    """The stages of `trace` that do something; `write` turns option values into text for the formulas."""
    options = trace.options
    titles = {
        "scaled": ("Scaled scores", _scale_formula(trace, write)),
        "tempered": ("Scores at this temperature", f"÷ T = {write(options.temperature)}"),
        "capped": ("Capped scores", f"c·tanh(x/c), c = {write(options.softcap or math.inf)}"),
        "biased": ("Biased scores", "+ B"),
        "masked": ("Masked scores", "masked cells set to −∞"),
    }
    shown = [Stage("scores", "Raw scores", "S = Q·Kᵀ", trace.scores)]
    before = trace.scores
    for name in OPTIONAL:
        array = getattr(trace, name)
        if array is not before:
            title, formula = titles[name]
            shown.append(Stage(name, title, formula, array))
        before = array
    shown.append(Stage("weights", "Attention weights", "A = softmax(scores), row-wise", trace.weights))
    shown.append(Stage("output", "Output context vectors", "O = A·V", trace.output))
    return tuple(shown)


def logits_name(trace: Trace) -> str:
    """The shown stage that softmax reads: the last one before the weights."""
    return stages(trace)[-3].name


def _scale_formula(trace: Trace, write: Callable[[float], str]) -> str:
    if trace.options.scale == "sqrt_dk":
        d_k = trace.q.shape[-1]
        return f"S / √dₖ (√{d_k} = {write(math.sqrt(d_k))})"
    return f"S · {write(float(trace.scale))}"
