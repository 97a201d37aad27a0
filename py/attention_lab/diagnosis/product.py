"""Product mistakes: the wrong matrices are multiplied, or the right ones the wrong way round.

Does not: cover heads (heads.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .entry import Family
from .flow import Label, State, Step, Variant, softmax, transposed
from .setting import Array, Setting

FAMILY = Family("product")

NUMPY = "w = softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])); out = w @ v"
TORCH = "F.scaled_dot_product_attention(q, k, v)"


@FAMILY.mistake(
    "L1",
    name="Q and K swapped",
    says="Q and K are swapped",
    formula="softmax(K Qᵀ / √d) V",
    fingerprint="the scores are transposed",
    needs="n = m",
    same_as="correct when the scores are symmetric",
    numpy=NUMPY,
    torch=TORCH,
)
def swapped(setting: Setting) -> Iterator[Variant]:
    def swap(setting: Setting, state: State) -> None:
        state.update(q=state["k"], k=state["q"])

    if setting.n == setting.m:
        yield Variant((("alter", swap),), (Label("L1"),))


@FAMILY.mistake(
    "L2",
    name="weights transposed",
    says="the transposed weights are multiplied with V",
    formula="softmax(Z)ᵀ V",
    fingerprint="columns of the used weights sum to 1, rows do not",
    needs="n = m",
    same_as="X1 when Z is symmetric",
    numpy=NUMPY,
    torch=TORCH,
    links=("Open-Deep-ML/DML-OpenProblem#424",),
)
def weights_transposed(setting: Setting) -> Iterator[Variant]:
    def transpose(setting: Setting, state: State) -> None:
        state["weights"] = transposed(state["weights"])

    if setting.n == setting.m:
        yield Variant((("after", transpose),), (Label("L2"),))


@FAMILY.mistake(
    "L3",
    name="K and V swapped",
    says="K and V are swapped",
    formula="softmax(Q Vᵀ / √d) K",
    fingerprint="the output is a mean of the rows of K",
    needs="dᵥ = dₖ",
    same_as="correct when K = V",
    numpy=NUMPY,
    torch=TORCH + "  # the order of the arguments is q, k, v",
    links=("cneuralnetwork/solving-ml-papers#1",),
)
def keys_and_values(setting: Setting) -> Iterator[Variant]:
    def swap(setting: Setting, state: State) -> None:
        state.update(k=state["v"], v=state["k"])

    if setting.dv == setting.d:
        yield Variant((("alter", swap),), (Label("L3"),))


@FAMILY.mistake(
    "L4",
    name="K mixed instead of V",
    says="the weights mix K instead of V",
    formula="softmax(Z) K",
    fingerprint="V has no influence",
    needs="dᵥ = dₖ",
    same_as="correct when K = V",
    numpy=NUMPY,
    torch=TORCH,
    links=("ruvnet/agentic-flow#191",),
)
def keys_mixed(setting: Setting) -> Iterator[Variant]:
    def take(setting: Setting, state: State) -> None:
        state["v"] = state["k"]

    if setting.dv == setting.d:
        yield Variant((("values", take),), (Label("L4"),))


@FAMILY.mistake(
    "L5",
    name="K not transposed",
    says="Q is multiplied with K instead of Kᵀ",
    formula="softmax(Q K / √d) V",
    fingerprint="the scores are Q K",
    needs="m = dₖ",
    same_as="correct when K is symmetric",
    numpy=NUMPY,
    torch=TORCH,
)
def untransposed(setting: Setting) -> Iterator[Variant]:
    def multiply(setting: Setting, state: State) -> None:
        state["scores"] = state["q"] @ state["k"]

    if setting.m == setting.d:
        yield Variant((("scores", multiply),), (Label("L5"),))


@FAMILY.mistake(
    "L6",
    name="attention over features",
    says="attention runs over the features (QᵀK) instead of the positions",
    formula="V softmax(Qᵀ K / √d)ᵀ",
    fingerprint="each output row depends on its own row of V only",
    needs="n = m and dᵥ = dₖ",
    numpy=NUMPY,
    torch=TORCH,
)
def over_features(setting: Setting) -> Iterator[Variant]:
    def attend(turn: bool) -> Step:
        def output(setting: Setting, state: State) -> None:
            weights = softmax(transposed(state["q"]) @ state["k"] * setting.scale)
            state["output"] = state["v"] @ (transposed(weights) if turn else weights)

        return output

    if setting.n == setting.m and setting.dv == setting.d:
        yield Variant((("output", attend(True)),), (Label("L6"),), pairs=False)
        yield Variant(
            (("output", attend(False)),), (Label("L6", "weights not transposed", 0.1),), pairs=False
        )


@FAMILY.mistake(
    "L7",
    name="Q used as K, or K as Q",
    says="one of Q and K takes the place of the other",
    formula="softmax(Q Qᵀ / √d) V or softmax(K Kᵀ / √d) V",
    fingerprint="the scores are symmetric",
    needs="n = m",
    same_as="correct when Q = K",
    numpy=NUMPY,
    torch=TORCH,
)
def doubled(setting: Setting) -> Iterator[Variant]:
    def queries(setting: Setting, state: State) -> None:
        state["k"] = state["q"]

    def keys(setting: Setting, state: State) -> None:
        state["q"] = state["k"]

    if setting.n == setting.m:
        yield Variant((("alter", queries),), (Label("L7", "Q twice"),))
        yield Variant((("alter", keys),), (Label("L7", "K twice"),))


@FAMILY.mistake(
    "L8",
    name="rows of V shifted by one",
    says="the rows of V are shifted by one position",
    formula="softmax(Z) roll(V, ±1)",
    fingerprint="the weights are right, the output is not",
    needs="rows of V that differ",
    numpy=NUMPY,
    torch=TORCH,
)
def rolled(setting: Setting) -> Iterator[Variant]:
    def roll(by: int) -> Step:
        def step(setting: Setting, state: State) -> None:
            state["v"] = np.roll(state["v"], by, -2)

        return step

    if setting.m > 1:
        for by in (1, -1):
            yield Variant((("values", roll(by)),), (Label("L8", "down" if by == 1 else "up"),))


@FAMILY.mistake(
    "L9",
    name="element-wise q · k",
    says="Q and K are multiplied element by element, with one softmax for each channel",
    formula="W_ijc = softmaxⱼ(q_ic k_jc / √d), O_ic = Σⱼ W_ijc V_jc",
    fingerprint="each output channel depends on its own channel only",
    needs="dᵥ = dₖ",
    numpy=NUMPY,
    torch=TORCH,
    links=("cvignac/DiGress#47",),
)
def by_channel(setting: Setting) -> Iterator[Variant]:
    def attend(scale: float) -> Step:
        def output(setting: Setting, state: State) -> None:
            products = transposed(state["q"])[..., :, None] * transposed(state["k"])[..., None, :] * scale
            if state["keep"] is not None:
                products = np.where(np.expand_dims(state["keep"], -3), products, -np.inf)
            mixed = softmax(products) @ transposed(state["v"])[..., None]
            state["output"] = transposed(mixed[..., 0])

        return output

    if (
        setting.dv == setting.d
        and setting.batches * setting.heads * setting.n * setting.m * setting.d <= 1_000_000
    ):
        yield Variant((("output", attend(setting.scale)),), (Label("L9"),), pairs=False)
        yield Variant((("output", attend(1.0)),), (Label("L9", "unscaled", 0.1),), pairs=False)


def unit(rows: Array) -> Array:
    lengths = np.sqrt((rows**2).sum(-1, keepdims=True))
    return np.asarray(rows / np.where(lengths == 0, 1.0, lengths))


@FAMILY.mistake(
    "L10",
    name="cosine scores",
    says="the scores are cosines: Q and K are normalised to length 1",
    formula="softmax(q̂ k̂ᵀ) V",
    fingerprint="the effective scale changes with |q| and |k|",
    needs="rows that are not of length 1",
    same_as="S1 for unit vectors",
    numpy=NUMPY,
    torch=TORCH,
)
def cosine(setting: Setting) -> Iterator[Variant]:
    def normalise(setting: Setting, state: State) -> None:
        state["scores"] = unit(state["q"]) @ transposed(unit(state["k"]))

    def unscaled(setting: Setting, state: State) -> None:
        state["scaled"] = state["scores"]

    yield Variant((("scores", normalise), ("scaled", unscaled)), (Label("L10"),), pairs=False)
    yield Variant((("scores", normalise),), (Label("L10", "and scaled", 0.1),), pairs=False)
