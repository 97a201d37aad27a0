"""Precision: overflow of float16 scores, and low precision as such, which is no mistake.

Does not: decide whether a rounding explains the numbers; rounding.py does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .entry import Family
from .flow import Label, State, Step, Variant
from .setting import Setting

FAMILY = Family("precision")

HALF_MAX = 65520.0  # from here on float16 rounds to infinity

FAMILY.add(
    "P1",
    name="low precision",
    says="the numbers were computed in a lower precision",
    formula="inputs, scores or weights rounded",
    fingerprint="relative errors near 2⁻¹¹ (float16, TF32) or 2⁻⁸ (bfloat16)",
    needs="nothing",
    same_as="not a mistake",
    numpy="q, k, v = (x.astype(np.float32) for x in (q, k, v))",
    torch="torch.backends.cuda.matmul.allow_tf32 = False",
    note="A rounding, found by recomputing with rounded inputs, scores and weights.",
)


@FAMILY.mistake(
    "P2",
    name="float16 overflow of unscaled scores",
    says="Q Kᵀ overflows float16 before it is scaled",
    formula="∞ − ∞ = NaN in the softmax",
    fingerprint="NaN rows wherever |Q Kᵀ| exceeds 65504",
    needs="scores above 65504",
    numpy="scores = (q * d ** -0.5) @ np.swapaxes(k, -1, -2)  # scale q first",
    torch="scores = (q * d ** -0.5) @ k.transpose(-1, -2)",
    links=("ultralytics/ultralytics!24990", "tinygrad/tinygrad!4985", "stanford-crfm/mistral#67"),
)
def overflow(setting: Setting) -> Iterator[Variant]:
    def half(setting: Setting, state: State) -> None:
        scores = state["scores"]
        state["scores"] = np.where(np.abs(scores) >= HALF_MAX, np.copysign(np.inf, scores), scores)

    yield Variant((("scaled", _after(half)),), (Label("P2"),), pairs=False)


def _after(change: Step) -> Step:
    def scaled(setting: Setting, state: State) -> None:
        change(setting, state)
        state["scaled"] = state["scores"] * setting.scale

    return scaled
