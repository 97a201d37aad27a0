"""Dropout mistakes: weights dropped at random, with or without the factor 1/(1 − p).

The pattern is random, so it is recovered from the numbers (recover.py). Does not: guess a seed.
"""

from __future__ import annotations

from collections.abc import Iterator

from .entry import Family
from .flow import Label, State, Variant, single
from .setting import Array, Setting

FAMILY = Family("dropout")

NUMPY = "w = softmax(z)  # no dropout when evaluating"
TORCH = "model.eval(); F.scaled_dot_product_attention(q, k, v, dropout_p=0.0)"
USUAL = (0.1, 0.2, 0.5, 0.3, 0.25, 0.05, 0.15, 0.4)


def set_factor(setting: Setting, state: State, factor: Array) -> None:
    state["weights"] = state["weights"] * factor


FAMILY.add(
    "D1",
    name="dropout active",
    says="dropout is active: some weights are 0 and the others are divided by 1 − p",
    formula="W · Bernoulli(1 − p) / (1 − p)",
    fingerprint="each weight is 0 or w/(1 − p)",
    needs="nothing",
    numpy=NUMPY,
    torch=TORCH,
    links=("pytorch/pytorch#124464", "karpathy/nanoGPT!240", "huggingface/pytorch-image-models!1978"),
    note="The pattern is random: it is recovered from the weights, or from the output when there are few keys.",
)


@FAMILY.mistake(
    "D2",
    name="dropout without its factor",
    says="weights are dropped without the factor 1/(1 − p), or all are multiplied by 1 − p",
    formula="W · Bernoulli(1 − p), or (1 − p) · W",
    fingerprint="each weight is 0 or w; or all rows sum to 1 − p",
    needs="nothing",
    numpy=NUMPY,
    torch=TORCH,
)
def constant(setting: Setting) -> Iterator[Variant]:
    for place, p in enumerate(USUAL):
        yield single(
            "after", set_factor, Label("D2", f"all weights times {1 - p:g}", 0.3 + 0.02 * place), 1 - p
        )
