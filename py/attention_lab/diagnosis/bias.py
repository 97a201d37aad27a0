"""Bias mistakes: the additive bias (ALiBi and others) scaled, negated or left out.

Does not: fit an unknown factor; fit.py does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .entry import Family
from .flow import Label, State, Variant, single
from .setting import Array, Setting

FAMILY = Family("bias")

NUMPY = "z = scores * scale + bias"
TORCH = "F.scaled_dot_product_attention(q, k, v, attn_mask=bias)  # added after the scale"


def set_bias(setting: Setting, state: State, factor: Array) -> None:
    state["biased"] = state["capped"] + state["bias"] * factor


def biased_by(
    setting: Setting, id: str, factor: float, detail: str = "", rank: float = 0.0
) -> Iterator[Variant]:
    if setting.bias is not None and factor != 1.0 and setting.bias.any():
        yield single("biased", set_bias, Label(id, detail, rank), factor)


@FAMILY.mistake(
    "S13",
    name="bias added before the scale",
    says="the bias is added before the scale, which then shrinks it",
    formula="softmax((Q Kᵀ + B) / √d) V",
    fingerprint="the bias counts only 1/√d",
    needs="a finite bias",
    same_as="correct for masks of 0 and −∞",
    numpy=NUMPY,
    torch=TORCH,
    links=("NVIDIA/OpenSeq2Seq!76", "tenstorrent/tt-metal!56406"),
)
def before_scale(setting: Setting) -> Iterator[Variant]:
    yield from biased_by(setting, "S13", setting.scale)
    if setting.options.temperature != 1.0:
        yield from biased_by(
            setting, "S13", setting.scale / setting.options.temperature, "and the temperature", 0.1
        )
        yield from biased_by(
            setting, "S13", 1 / setting.options.temperature, "only the temperature shrinks it", 0.1
        )


@FAMILY.mistake(
    "A1",
    name="sign of the bias wrong",
    says="the bias has the wrong sign",
    formula="softmax(Z − B) V, as in +m|i − j| for ALiBi",
    fingerprint="far keys get more weight instead of less",
    needs="a finite bias",
    numpy=NUMPY + "  # ALiBi: bias = -slope * |i - j|",
    torch=TORCH,
    links=("meta-pytorch/attention-gym!86",),
)
def wrong_sign(setting: Setting) -> Iterator[Variant]:
    yield from biased_by(setting, "A1", -1.0)


@FAMILY.mistake(
    "A2",
    name="ALiBi slope exponent",
    says="the bias is too large or too small by a constant factor, as with a wrong ALiBi slope",
    formula="slope 2^(−8h/H) instead of 2^(−8(h + 1)/H)",
    fingerprint="the bias is off by a factor such as 2^(8/H)",
    needs="a finite bias",
    numpy="slopes = 2.0 ** (-8 * np.arange(1, heads + 1) / heads)",
    torch="slopes = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)",
    links=("paiml/aprender!2143",),
)
def wrong_slope(setting: Setting) -> Iterator[Variant]:
    for heads in (1, 2, 3, 4, 6, 8, 12, 16, 32):
        for sign in (1, -1):
            factor = 2.0 ** (sign * 8 / heads)
            known = heads == (setting.heads if setting.heads > 1 else 8)
            yield from biased_by(
                setting, "A2", factor, f"factor {factor:.4g}, as with {heads} heads", 0.05 if known else 0.3
            )


@FAMILY.mistake(
    "O3",
    name="bias left out",
    says="the bias is not added",
    formula="softmax(Q Kᵀ / √d) V",
    fingerprint="the bias has no influence",
    needs="a finite bias",
    numpy=NUMPY,
    torch=TORCH,
)
def left_out(setting: Setting) -> Iterator[Variant]:
    yield from biased_by(setting, "O3", 0.0, rank=0.1)


@FAMILY.mistake(
    "O6",
    name="bias added after the softmax",
    says="the bias is added to the weights, after the softmax",
    formula="(softmax(Z) + B) V",
    fingerprint="rows sum to 1 plus the sum of the bias",
    needs="a finite bias",
    numpy=NUMPY,
    torch=TORCH,
)
def after_softmax(setting: Setting) -> Iterator[Variant]:
    def without(setting: Setting, state: State) -> None:
        state["biased"] = state["capped"]

    def add(setting: Setting, state: State) -> None:
        state["weights"] = state["weights"] + np.where(np.isneginf(state["masked"]), 0.0, state["bias"])

    if setting.bias is not None and setting.bias.any():
        yield Variant((("biased", without), ("after", add)), (Label("O6", rank=0.1),), pairs=False)
