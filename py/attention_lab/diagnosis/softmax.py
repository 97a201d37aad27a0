"""Softmax mistakes: over the wrong axis, not at all, twice, or with another denominator.

Does not: fit an unknown sink; fit.py does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .entry import Family
from .flow import Label, State, Variant, single, softmax
from .setting import Array, Setting

FAMILY = Family("softmax")

NUMPY = "e = np.exp(z - z.max(-1, keepdims=True)); w = e / e.sum(-1, keepdims=True)"
TORCH = "w = torch.softmax(z, dim=-1)"
# The largest x whose exponential is finite.
OVERFLOW = {"float16": 11.0898, "float32": 88.7228, "float64": 709.7827}


def weigh(function: Callable[[Setting, Array], Any]) -> Any:
    """A step that makes the weights from the masked logits by another function."""

    def step(setting: Setting, state: State) -> None:
        state["weights"] = function(setting, state["masked"])

    return step


def visible(logits: Array) -> Array:
    """Logits with masked cells at 0, for formulas that −∞ would drown."""
    return np.where(np.isneginf(logits), 0.0, logits)


def one(id: str, function: Callable[[Setting, Array], Any], detail: str = "", rank: float = 0.0) -> Variant:
    return Variant((("softmax", weigh(function)),), (Label(id, detail, rank),))


@FAMILY.mistake(
    "X1",
    name="softmax over the queries",
    says="the softmax runs over the queries (columns) instead of the keys (rows)",
    formula="W = softmax(Z, axis = 0)",
    fingerprint="columns of W sum to 1, rows do not",
    needs="scores that are not symmetric",
    same_as="L2 (weights transposed) when Z is symmetric",
    numpy=NUMPY,
    torch=TORCH,
    links=(
        "PetrochukM/PyTorch-NLP#2",
        "FudanNLP/fastNLP#254",
        "labmlai/annotated_deep_learning_paper_implementations#146",
    ),
)
def over_queries(setting: Setting) -> Iterator[Variant]:
    yield one("X1", lambda _, z: softmax(z, -2))


@FAMILY.mistake(
    "X2",
    name="softmax over the whole matrix",
    says="one softmax runs over all scores at once",
    formula="W = e^Z / Σᵢⱼ e^Z",
    fingerprint="all weights together sum to 1",
    needs="more than one query",
    numpy=NUMPY,
    torch=TORCH,
)
def over_all(setting: Setting) -> Iterator[Variant]:
    yield one("X2", lambda _, z: softmax(z, (-2, -1)))
    if setting.batches * setting.heads > 1:
        yield one("X2", lambda _, z: softmax(z, (-4, -3, -2, -1)), "over all batches and heads together", 0.5)


@FAMILY.mistake(
    "X3",
    name="softmax over a batch, head or size-1 axis",
    says="the softmax runs over an axis of size 1, a batch or a head axis",
    formula="W = 1 (axis of size 1)",
    fingerprint="every weight is 1, the output is the sum of V",
    needs="more than one key",
    numpy=NUMPY,
    torch=TORCH,
    same_as="",
    links=(
        "PetrochukM/PyTorch-NLP#2",
        "DEEP-PolyU/KEQA_WSDM19#2",
        "phanideepgampa/stacked-capsule-networks!5",
    ),
)
def over_other_axis(setting: Setting) -> Iterator[Variant]:
    yield one("X3", lambda _, z: np.ones_like(z), "every weight is 1")
    if setting.keep is not None:
        yield one("X3", lambda _, z: np.where(np.isneginf(z), 0.0, 1.0), "every visible weight is 1", 0.3)
    if setting.heads > 1:
        yield one(
            "X3",
            lambda _, z: softmax(z, -3),
            "over the heads" if not setting.one_axis else "over the leading axis",
            0.2,
        )
    if setting.batches > 1:
        yield one("X3", lambda _, z: softmax(z, -4), "over the batch", 0.2)


@FAMILY.mistake(
    "X4",
    name="no softmax",
    says="there is no softmax: the scaled scores are used as weights",
    formula="W = Z",
    fingerprint="weights are the scaled scores, some negative",
    needs="nothing",
    numpy=NUMPY,
    torch=TORCH,
)
def none(setting: Setting) -> Iterator[Variant]:
    yield one("X4", lambda _, z: visible(z))
    if setting.keep is not None:
        yield one("X4", lambda _, z: z, "with −∞ in masked cells", 0.3)


@FAMILY.mistake(
    "X5",
    name="divided by the sum, no exponential",
    says="the scores are divided by their sum without the exponential",
    formula="W = Z / Σⱼ Z",
    fingerprint="rows sum to 1 but hold negative weights",
    needs="nothing",
    numpy=NUMPY,
    torch=TORCH,
)
def by_sum(setting: Setting) -> Iterator[Variant]:
    yield one("X5", lambda _, z: visible(z) / visible(z).sum(-1, keepdims=True))


@FAMILY.mistake(
    "X6",
    name="log-softmax",
    says="log-softmax is used in place of softmax",
    formula="W = log softmax(Z)",
    fingerprint="all weights are 0 or less",
    needs="nothing",
    numpy=NUMPY,
    torch=TORCH + "  # not log_softmax",
)
def logarithm(setting: Setting) -> Iterator[Variant]:
    def log_softmax(_: Setting, z: Array) -> Array:
        shifted = z - z.max(-1, keepdims=True)
        return np.asarray(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)))

    yield one("X6", lambda s, z: visible(log_softmax(s, z)))
    if setting.keep is not None:
        yield one("X6", log_softmax, "with −∞ in masked cells", 0.3)


@FAMILY.mistake(
    "X7",
    name="softmax twice",
    says="softmax is applied twice",
    formula="W = softmax(softmax(Z))",
    fingerprint="very flat weights: none exceeds e times another",
    needs="nothing",
    numpy=NUMPY + "  # once",
    torch=TORCH + "  # once",
)
def twice(setting: Setting) -> Iterator[Variant]:
    yield one("X7", lambda _, z: softmax(softmax(z)))
    if setting.keep is not None:
        yield one(
            "X7",
            lambda _, z: softmax(np.where(np.isneginf(z), -np.inf, softmax(z))),
            "masked both times",
            0.2,
        )


def of_rows(logits: Array, weights: Array) -> Array:
    """The weights, but 0 in fully masked rows: those are M21's matter."""
    return np.asarray(np.where(np.isneginf(logits).all(-1, keepdims=True), 0.0, weights))


def naive(limit: float) -> Callable[[Setting, Array], Array]:
    """exp(z)/Σ exp(z) in a precision whose exponentials overflow above `limit`."""

    def weights(_: Setting, z: Array) -> Array:
        exponentials = np.where(z > limit, np.inf, np.exp(np.minimum(z, limit)))
        sums = exponentials.sum(-1, keepdims=True)
        return of_rows(z, exponentials / np.where(sums > np.exp(limit), np.inf, sums))

    return weights


@FAMILY.mistake(
    "X8",
    name="row maximum not subtracted",
    says="the exponentials overflow because the row maximum is not subtracted first",
    formula="W = e^Z / Σ e^Z in finite precision",
    fingerprint="NaN rows wherever max Z > 88.72 (float32), 709.78 (float64) or 11.09 (float16)",
    needs="large scores",
    same_as="correct when nothing overflows",
    numpy=NUMPY,
    torch=TORCH,
    links=("ggml-org/llama.cpp!2665", "NVIDIA/FasterTransformer#43", "pytorch/executorch!18407"),
)
def no_shift(setting: Setting) -> Iterator[Variant]:
    for precision, limit in OVERFLOW.items():
        yield one("X8", naive(limit), f"in {precision}")


@FAMILY.mistake(
    "X9",
    name="denominator missing",
    says="the exponentials are not divided by their sum",
    formula="W = e^Z",
    fingerprint="rows sum to Σ e^Z",
    needs="nothing",
    numpy=NUMPY,
    torch=TORCH,
)
def no_denominator(setting: Setting) -> Iterator[Variant]:
    yield one("X9", lambda _, z: np.exp(z))
    yield one(
        "X9", lambda _, z: np.exp(z - z.max(-1, keepdims=True)), "after subtracting the row maximum", 0.1
    )


def with_sink(setting: Setting, state: State, sink: Array) -> None:
    """One more logit in every denominator, with no value behind it."""
    logits = state["masked"]
    top = np.maximum(logits.max(-1, keepdims=True), sink)
    exponentials = np.exp(logits - top)
    sums = np.exp(sink - top) + exponentials.sum(-1, keepdims=True)
    state["weights"] = exponentials / sums
    state["log_sum_exp"] = top + np.log(sums)


@FAMILY.mistake(
    "X10",
    name="softmax1, attention sink",
    says="the denominator has one more term (an attention sink)",
    formula="W = e^Z / (e^sink + Σ e^Z)",
    fingerprint="rows sum to less than 1; log(1/sum − 1) + log Σ e^Z is the sink in every row",
    needs="nothing",
    same_as="M23: p zero-padded keys are a sink of ln p",
    numpy=NUMPY,
    torch=TORCH,
    links=("fla-org/flash-linear-attention!831", "vllm-project/vllm-metal!550", "ROCm/rocm-libraries!12229"),
)
def sink(setting: Setting) -> Iterator[Variant]:
    for value, rank in ((0.0, 0.1), (1.0, 0.6), (-1.0, 0.6)):
        yield single("softmax", with_sink, Label("X10", f"sink {value:g}", rank), value)


@FAMILY.mistake(
    "X11",
    name="1 added after the shift",
    says="1 is added to the denominator after the row maximum was subtracted",
    formula="W = e^(Z − max) / (1 + Σ e^(Z − max))",
    fingerprint="rows sum to s/(1 + s)",
    needs="nothing",
    numpy="e = np.exp(z - m); w = e / (np.exp(-m) + e.sum(-1, keepdims=True))  # if softmax1 is wanted",
    torch="e = (z - m).exp(); w = e / ((-m).exp() + e.sum(-1, keepdim=True))",
    links=("kyegomez/AttentionIsOFFByOne#5",),
)
def shifted_plus_one(setting: Setting) -> Iterator[Variant]:
    def weights(_: Setting, z: Array) -> Array:
        exponentials = np.exp(z - z.max(-1, keepdims=True))
        return np.asarray(exponentials / (1 + exponentials.sum(-1, keepdims=True)))

    yield one("X11", weights, rank=0.05)


def global_shift(limit: float) -> Callable[[Setting, Array], Array]:
    """The largest score of the whole matrix subtracted, in a precision whose exponentials vanish below −limit."""

    def weights(_: Setting, z: Array) -> Array:
        shifted = z - z.max((-2, -1), keepdims=True)
        exponentials = np.where(shifted < -limit, 0.0, np.exp(shifted))
        return of_rows(z, exponentials / exponentials.sum(-1, keepdims=True))

    return weights


@FAMILY.mistake(
    "X12",
    name="global maximum subtracted",
    says="the largest score of the whole matrix is subtracted instead of each row's own",
    formula="e^(Z − maxᵢⱼ Z) / Σⱼ e^(Z − maxᵢⱼ Z) in finite precision",
    fingerprint="0/0 in rows far below the largest score",
    needs="a spread above 745 (float64), 103 (float32) or 17 (float16)",
    same_as="correct when nothing vanishes",
    numpy=NUMPY,
    torch=TORCH,
)
def global_maximum(setting: Setting) -> Iterator[Variant]:
    for precision, limit in (("float16", 17.33), ("float32", 103.98), ("float64", 745.14)):
        yield one("X12", global_shift(limit), f"in {precision}")


@FAMILY.mistake(
    "X13",
    name="sigmoid",
    says="a sigmoid is used in place of softmax",
    formula="W = 1 / (1 + e^(−Z))",
    fingerprint="log(W/(1 − W)) is the scaled score",
    needs="nothing",
    numpy=NUMPY,
    torch=TORCH,
)
def sigmoid(setting: Setting) -> Iterator[Variant]:
    yield one("X13", lambda _, z: 1 / (1 + np.exp(-z)))


@FAMILY.mistake(
    "X14",
    name="hard attention",
    says="each query takes only the key with the largest score",
    formula="W = one-hot(argmaxⱼ Z)",
    fingerprint="weights are 0 and 1",
    needs="nothing",
    same_as="S3 when dₖ is large",
    numpy=NUMPY,
    torch=TORCH,
)
def hardest(setting: Setting) -> Iterator[Variant]:
    yield one("X14", lambda _, z: (np.arange(z.shape[-1]) == z.argmax(-1)[..., None]) & ~np.isneginf(z))


@FAMILY.mistake(
    "X15",
    name="uniform mean",
    says="every key gets the same weight",
    formula="W = 1/m",
    fingerprint="all weights are equal",
    needs="nothing",
    same_as="every row fully masked with one finite fill",
    numpy=NUMPY,
    torch=TORCH,
)
def uniform(setting: Setting) -> Iterator[Variant]:
    yield one("X15", lambda _, z: np.full_like(z, 1 / z.shape[-1]))
    if setting.keep is not None:
        yield one("X15", lambda _, z: softmax(np.where(np.isneginf(z), z, 0.0)), "over the visible keys", 0.1)
