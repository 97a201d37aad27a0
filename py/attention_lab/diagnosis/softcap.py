"""Softcap mistakes: c·tanh(x/c) missing, misplaced or half done.

Does not: fit another cap.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .entry import Family
from .flow import Label, State, Step, Variant
from .setting import Setting

FAMILY = Family("softcap")

NUMPY = "z = cap * np.tanh(scores * scale / cap); z = np.where(keep, z, -np.inf)"
TORCH = "z = cap * torch.tanh(scores * scale / cap); z = z.masked_fill(~keep, float('-inf'))"


@FAMILY.mistake(
    "C1",
    name="softcap missing",
    says="the softcap is not applied",
    formula="softmax(Z) V",
    fingerprint="large logits are not capped",
    needs="scores of the size of the cap",
    numpy=NUMPY,
    torch=TORCH,
    links=("vllm-project/vllm-metal#665", "EricLBuehler/mistral.rs!1928", "ml-explore/mlx-swift-examples!99"),
)
def missing(setting: Setting) -> Iterator[Variant]:
    def uncapped(setting: Setting, state: State) -> None:
        state["capped"] = state["tempered"]

    if setting.options.softcap is not None:
        yield Variant((("capped", uncapped),), (Label("C1"),))


def cap_late(setting: Setting, state: State) -> None:
    cap = setting.options.softcap
    logits = state["tempered"] if state["bias"] is None else state["tempered"] + state["bias"]
    if state["keep"] is not None:
        logits = np.where(state["keep"], logits, -np.inf)
    state["masked"] = cap * np.tanh(logits / cap)


def cap_bias(setting: Setting, state: State) -> None:
    cap = setting.options.softcap
    state["biased"] = cap * np.tanh((state["tempered"] + state["bias"]) / cap)


@FAMILY.mistake(
    "C2",
    name="softcap after the mask",
    says="the softcap comes after the bias or mask, which it makes finite",
    formula="softmax(c tanh((Z + mask)/c)) V",
    fingerprint="masked logits are −c",
    needs="a mask or bias",
    numpy=NUMPY,
    torch=TORCH,
    links=("onnx/onnx#7865", "onnx/onnx!7867", "microsoft/onnxruntime!28370"),
)
def late(setting: Setting) -> Iterator[Variant]:
    if setting.options.softcap is None or (setting.keep is None and setting.bias is None):
        return
    yield Variant((("masked", cap_late),), (Label("C2"),))
    if setting.bias is not None and setting.keep is not None:
        yield Variant((("biased", cap_bias),), (Label("C2", "after the bias, before the mask", 0.1),))


@FAMILY.mistake(
    "C3",
    name="softcap before the scale",
    says="the softcap is applied to the raw scores, before the scale",
    formula="softmax(s · c tanh(Q Kᵀ / c)) V",
    fingerprint="no logit exceeds s·c",
    needs="scores of the size of the cap",
    numpy=NUMPY,
    torch=TORCH,
)
def early(setting: Setting) -> Iterator[Variant]:
    def cap_first(setting: Setting, state: State) -> None:
        cap = setting.options.softcap
        state["capped"] = cap * np.tanh(state["scores"] / cap) * setting.scale / setting.options.temperature

    if setting.options.softcap is not None:
        yield Variant((("capped", cap_first),), (Label("C3"),), pairs=False)


@FAMILY.mistake(
    "C4",
    name="tanh not multiplied by the cap",
    says="the tanh is not multiplied by the cap again",
    formula="softmax(tanh(Z/c)) V",
    fingerprint="logits differ by less than 2",
    needs="nothing",
    numpy=NUMPY,
    torch=TORCH,
)
def unscaled(setting: Setting) -> Iterator[Variant]:
    def half_done(setting: Setting, state: State) -> None:
        state["capped"] = np.tanh(state["tempered"] / setting.options.softcap)

    def undivided(setting: Setting, state: State) -> None:
        state["capped"] = setting.options.softcap * np.tanh(state["tempered"])

    if setting.options.softcap is not None:
        yield Variant((("capped", half_done),), (Label("C4"),))
        yield Variant((("capped", undivided),), (Label("C4", "multiplied, but not divided before", 0.2),))


@FAMILY.mistake(
    "C5",
    name="tanh by exponentials overflows",
    says="tanh is computed from exponentials that overflow",
    formula="(e^2x − 1)/(e^2x + 1) with e^2x = ∞",
    fingerprint="NaN where |Z/c| is large (above 44 or 88 in float32)",
    needs="very large scores",
    numpy=NUMPY,
    torch=TORCH,
    links=("vllm-project/vllm#56578",),
)
def overflow(setting: Setting) -> Iterator[Variant]:
    def by_exponentials(limit: float, both: bool) -> Step:
        def cap(setting: Setting, state: State) -> None:
            ratio = state["tempered"] / setting.options.softcap
            lost = np.abs(ratio) > limit if both else ratio > limit
            state["capped"] = np.where(lost, np.nan, setting.options.softcap * np.tanh(ratio))

        return cap

    if setting.options.softcap is None:
        return
    for precision, limit in (("float32", 88.7228), ("float16", 11.0898), ("float64", 709.7827)):
        yield Variant((("capped", by_exponentials(limit, True)),), (Label("C5", precision),), pairs=False)
        yield Variant(
            (("capped", by_exponentials(limit / 2, False)),),
            (Label("C5", f"{precision}, from e^2x"),),
            pairs=False,
        )
