"""Scale mistakes: the scores are multiplied by the wrong number, at the wrong place, or by the wrong base.

Does not: fit an unknown scale; fit.py does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from .conventions import names
from .entry import Family
from .flow import Label, State, Variant, log_sum_exp, single, softmax
from .setting import Array, Setting

FAMILY = Family("scale")

NUMPY = "scaled = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])"
TORCH = "F.scaled_dot_product_attention(q, k, v)  # multiplies by 1/sqrt(q.size(-1)) by itself"
LN2 = math.log(2.0)
# Numbers that people write into code: 1/√16, 1/√64, 1/√128, …
HARD_CODED = (
    0.5,
    0.25,
    0.125,
    0.1,
    1 / 16,
    1 / 32,
    128**-0.5,
    32**-0.5,
    256**-0.5,
    512**-0.5,
    768**-0.5,
    1024**-0.5,
)


def set_scale(setting: Setting, state: State, scale: Array) -> None:
    state["scaled"] = state["scores"] * scale


def scaled_by(
    setting: Setting, id: str, scale: float, detail: str = "", rank: float = 0.0
) -> Iterator[Variant]:
    """The variant with this scale, unless it is the right one."""
    if not math.isclose(scale, setting.scale, rel_tol=1e-12):
        yield single("scaled", set_scale, Label(id, detail, rank, scale=scale), scale)


@FAMILY.mistake(
    "S1",
    name="scale missing",
    says="the scores are not divided by √dₖ",
    formula="softmax(Q Kᵀ + B) V",
    fingerprint="effective scale c = 1",
    needs="dₖ > 1",
    numpy=NUMPY,
    torch=TORCH,
    same_as="the default of Keras' Attention layer (use_scale=False)",
    frameworks=names("scale", "none"),
    links=("huggingface/blog!2893", "ggml-org/llama.cpp!14892", "Sakuraaa0/RaBitQCache!1"),
)
def missing(setting: Setting) -> Iterator[Variant]:
    yield from scaled_by(setting, "S1", 1.0)


@FAMILY.mistake(
    "S2",
    name="divided by dₖ",
    says="the scores are divided by dₖ instead of √dₖ",
    formula="softmax(Q Kᵀ / d) V",
    fingerprint="effective scale c = 1/d",
    needs="dₖ > 1",
    numpy=NUMPY,
    torch=TORCH,
    same_as="S4 (the scale applied twice), and muP models, where 1/d is meant",
    links=("delzac/cntkx#10", "thegregyang/NTK4A#3"),
)
def by_d(setting: Setting) -> Iterator[Variant]:
    yield from scaled_by(setting, "S2", 1 / setting.d)


@FAMILY.mistake(
    "S3",
    name="scale inverted",
    says="the scores are multiplied by √dₖ instead of divided by it",
    formula="softmax(Q Kᵀ · √d) V",
    fingerprint="effective scale c = √d; weights close to 0 and 1",
    needs="dₖ > 1",
    numpy=NUMPY,
    torch=TORCH,
    links=("esceptico/perceiver-io#9", "AI-Hypercomputer/maxtext#1370"),
)
def inverted(setting: Setting) -> Iterator[Variant]:
    yield from scaled_by(setting, "S3", math.sqrt(setting.d))


@FAMILY.mistake(
    "S4",
    name="scale applied twice",
    says="the scale is applied twice",
    formula="softmax(Q Kᵀ / √d / √d) V",
    fingerprint="effective scale c = 1/d",
    needs="dₖ > 1",
    same_as="S2 (divided by dₖ)",
    numpy=NUMPY + "  # once: neither q nor k may carry the factor already",
    torch="F.scaled_dot_product_attention(q, k, v, scale=1.0)  # if q was scaled before",
    links=("vllm-project/vllm!48016",),
)
def twice(setting: Setting) -> Iterator[Variant]:
    yield from scaled_by(setting, "S4", setting.scale**2, rank=0.02)


@FAMILY.mistake(
    "S5",
    name="√d_model instead of √d_head",
    says="the scores are divided by √(H·dₖ), the width of all heads together",
    formula="softmax(Q Kᵀ / √(H d)) V",
    fingerprint="effective scale c = 1/√(H·d) with a whole H",
    needs="more than one head in the model",
    same_as="S2 when H = d",
    numpy="scaled = scores / np.sqrt(d_model // heads)",
    torch="scaled = scores / math.sqrt(d_model // heads)",
    links=("omihub777/ViT-CIFAR!11", "chelsea0x3b/dfdx#171", "lucidrains/vit-pytorch#65"),
)
def model_width(setting: Setting) -> Iterator[Variant]:
    for heads in range(2, 65):
        known = heads == setting.heads
        usual = heads in (2, 4, 8, 12, 16, 32)
        yield from scaled_by(
            setting,
            "S5",
            (heads * setting.d) ** -0.5,
            f"with H = {heads}",
            0.0 if known else 0.4 if usual else 1.2,
        )


@FAMILY.mistake(
    "S6",
    name="√ of a length",
    says="the scores are divided by the square root of a sequence length",
    formula="softmax(Q Kᵀ / √n) V or softmax(Q Kᵀ / √m) V",
    fingerprint="effective scale c = 1/√n or 1/√m",
    needs="n and m different from dₖ",
    same_as="S9 when 1/√n or 1/√m is the constant",
    numpy=NUMPY + "  # the last axis",
    torch="scaled = scores / math.sqrt(q.size(-1))  # not q.size(-2)",
)
def length(setting: Setting) -> Iterator[Variant]:
    yield from scaled_by(setting, "S6", setting.n**-0.5, "the number of queries", 0.1)
    if setting.m != setting.n:
        yield from scaled_by(setting, "S6", setting.m**-0.5, "the number of keys", 0.1)


@FAMILY.mistake(
    "S7",
    name="√dᵥ",
    says="the scores are divided by √dᵥ, the width of V",
    formula="softmax(Q Kᵀ / √dᵥ) V",
    fingerprint="effective scale c = 1/√dᵥ",
    needs="dᵥ different from dₖ",
    numpy=NUMPY + "  # q, not v",
    torch=TORCH,
)
def value_width(setting: Setting) -> Iterator[Variant]:
    yield from scaled_by(setting, "S7", setting.dv**-0.5, rank=0.1)


@FAMILY.mistake(
    "S8",
    name="only one of Q and K carries d^(−1/4)",
    says="only one of Q and K is scaled by d^(−1/4)",
    formula="softmax(Q Kᵀ · d^(−1/4)) V",
    fingerprint="effective scale c = d^(−1/4)",
    needs="dₖ > 1",
    numpy="q, k = q * d ** -0.25, k * d ** -0.25",
    torch="q, k = q * d ** -0.25, k * d ** -0.25",
)
def half(setting: Setting) -> Iterator[Variant]:
    yield from scaled_by(setting, "S8", setting.d**-0.25, rank=0.1)


@FAMILY.mistake(
    "S9",
    name="hard-coded scale",
    says="the scale is a fixed number and not 1/√dₖ",
    formula="softmax(Q Kᵀ · c₀) V",
    fingerprint="effective scale c = 1/8, 0.5, 0.0884, …",
    needs="dₖ different from 1/c₀²",
    same_as="S6 when 1/√n or 1/√m is the constant",
    numpy=NUMPY,
    torch=TORCH,
    links=("BobMcDear/attorch#14",),
)
def constant(setting: Setting) -> Iterator[Variant]:
    for place, scale in enumerate(HARD_CODED):
        yield from scaled_by(setting, "S9", scale, f"c₀ = {scale:.6g}", 0.3 + 0.02 * place)


@FAMILY.mistake(
    "S10",
    name="scale after softmax",
    says="the softmax comes first and its weights are then divided by √dₖ",
    formula="(softmax(Q Kᵀ) / √d) V",
    fingerprint="every row sums to 1/√d",
    needs="dₖ > 1",
    numpy=NUMPY,
    torch=TORCH,
    links=(
        "FrancescoSaverioZuppichini/ViT#2",
        "FrancescoSaverioZuppichini/ViT#5",
        "FrancescoSaverioZuppichini/ViT#6",
    ),
)
def after_softmax(setting: Setting) -> Iterator[Variant]:
    def unscaled(setting: Setting, state: State) -> None:
        state["scaled"] = state["scores"]

    def scale_weights(setting: Setting, state: State) -> None:
        state["weights"] = state["weights"] * setting.scale

    if setting.scale != 1.0:
        yield Variant((("scaled", unscaled), ("after", scale_weights)), (Label("S10"),))
        yield Variant((("after", scale_weights),), (Label("S10", "besides the scores", 0.25),))


def base_two(setting: Setting, state: State) -> None:
    state["weights"] = softmax(state["masked"] * LN2)
    state["log_sum_exp"] = log_sum_exp(state["masked"] * LN2)


def base_two_sums(setting: Setting, state: State) -> None:
    """Right weights, but the log-sum-exp that comes with them is a binary logarithm."""
    state["weights"] = softmax(state["masked"])
    state["log_sum_exp"] = log_sum_exp(state["masked"]) / LN2


@FAMILY.mistake(
    "S12",
    name="softmax in base 2",
    says="the exponentials are powers of 2 without the factor log₂e in the scale",
    formula="W = 2^Z / Σ 2^Z",
    fingerprint="effective scale c = ln 2/√d",
    needs="nothing",
    numpy="w = np.exp2(z * np.log2(np.e))",
    torch="w = torch.exp2(z * math.log2(math.e))",
    links=("lightseekorg/tokenspeed!571", "vllm-project/vllm!28840", "deepseek-ai/FlashMLA!106"),
)
def binary(setting: Setting) -> Iterator[Variant]:
    yield Variant((("softmax", base_two),), (Label("S12", rank=0.05, scale=setting.scale * LN2),))
    yield Variant(
        (("softmax", base_two_sums),),
        (Label("S12", "the log-sum-exp is a binary logarithm", 0.06),),
        pairs=False,
    )
