"""Head mistakes: heads split, shared, merged or attended over wrongly.

Does not: know of projections (H10), which happen before attention; recover.py recognises their trace in the output.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from . import conventions
from .entry import Family
from .flow import Label, State, Step, Variant, single, softmax
from .setting import Array, Setting, packed, split

FAMILY = Family("heads")

NUMPY_SPLIT = "q = q.reshape(batch, length, heads, d).transpose(0, 2, 1, 3)"
TORCH_SPLIT = "q = q.view(batch, length, heads, d).transpose(1, 2)"


def reshaped(array: Array, start: int = 0) -> Array:
    """Heads as a bare reshape of packed rows would give them, from row `start` on (earlier rows are right)."""
    rest = array[..., start:, :]
    flat = packed(rest)
    wrong = flat.reshape(flat.shape[:-2] + rest.shape[-3:])
    return np.concatenate([array[..., :start, :], wrong], -2) if start else wrong


def set_split(setting: Setting, state: State, q: Array, k: Array, v: Array) -> None:
    state.update(q=q, own_k=k, own_v=v, keep=setting.keep, bias=setting.bias)


@FAMILY.mistake(
    "H1",
    name="heads split by reshape alone",
    says="heads are split by a reshape without the transpose",
    formula="X.reshape(B, H, T, d) instead of X.reshape(B, T, H, d) transposed",
    fingerprint="each head mixes positions and heads",
    needs="more than one head and position",
    numpy=NUMPY_SPLIT,
    torch=TORCH_SPLIT,
    links=("reczoo/FuxiCTR#30", "649453932/Chinese-Text-Classification-Pytorch#10", "onnx/onnx#7118"),
)
def by_reshape(setting: Setting) -> Iterator[Variant]:
    if setting.heads == 1:
        return
    q, k, v = setting.q, setting.k, setting.v
    if setting.n > 1 or setting.m > 1:
        yield single("split", set_split, Label("H1"), reshaped(q), reshaped(k), reshaped(v))
        yield single("split", set_split, Label("H1", "only in Q", 0.3), reshaped(q), k, v)
        yield single("split", set_split, Label("H1", "only in K and V", 0.3), q, reshaped(k), reshaped(v))
        yield single("split", set_split, Label("H1", "only in V", 0.4), q, k, reshaped(v))
    if setting.m > setting.n:
        # Cached keys and values come split already; only the new ones pass through the wrong reshape.
        for past in range(1, min(setting.m, 65)):
            label = Label("H1", f"after {past} cached keys", 0.2)
            yield single("split", set_split, label, reshaped(q), reshaped(k, past), reshaped(v, past))


@FAMILY.mistake(
    "H2",
    name="heads merged without the transpose",
    says="heads are merged by a reshape without the transpose",
    formula="O.reshape(B, T, H·d)",
    fingerprint="the output holds the right numbers in other places",
    needs="more than one head and query",
    numpy="out = out.transpose(0, 2, 1, 3).reshape(batch, length, heads * d)",
    torch="out = out.transpose(1, 2).reshape(batch, length, heads * d)",
    links=(
        "jsbaan/transformer-from-scratch!6",
        "ajhalthor/Transformer-Neural-Network!4",
        "hackiey/QAnet-pytorch#2",
    ),
)
def merged_by_reshape(setting: Setting) -> Iterator[Variant]:
    def merge(setting: Setting, state: State) -> None:
        output = state["output"]
        state["output"] = split(output.reshape(output.shape[:-3] + (setting.n, -1)), setting.heads)

    if setting.heads > 1 and setting.n > 1:
        yield Variant((("merged", merge),), (Label("H2"),))


@FAMILY.mistake(
    "H3",
    name="shared heads tiled",
    says="key/value heads are tiled over the query heads instead of each serving a run of them",
    formula="key/value head h mod H_kv instead of h // g",
    fingerprint="query heads read another group's keys",
    needs="1 < key/value heads < query heads",
    numpy="k = np.repeat(k, groups, axis=1)  # not np.tile",
    torch="k = k.repeat_interleave(groups, dim=1)  # not k.repeat(1, groups, 1, 1)",
    links=("onnx/onnx!7274", "ekzhang/jax-js!180"),
)
def tiled(setting: Setting) -> Iterator[Variant]:
    def tile(setting: Setting, state: State) -> None:
        heads = np.arange(setting.heads) % setting.kv_heads
        state.update(k=state["own_k"][..., heads, :, :], v=state["own_v"][..., heads, :, :])

    if 1 < setting.kv_heads < setting.heads:
        yield Variant((("group", tile),), (Label("H3"),))


@FAMILY.mistake(
    "H4",
    name="weights averaged over the heads",
    says="the weights are averaged over the heads",
    formula="W = mean_h W_h",
    fingerprint="one weight matrix for all heads",
    needs="more than one head",
    convention=True,
    frameworks=conventions.MEAN_WEIGHTS,
    numpy="return weights  # (batch, heads, n, m), not weights.mean(1)",
    torch="mha(x, x, x, average_attn_weights=False)",
)
def averaged(setting: Setting) -> Iterator[Variant]:
    def average(setting: Setting, state: State) -> None:
        weights = state["weights"]
        state["weights"] = np.broadcast_to(weights.mean(-3, keepdims=True), weights.shape)

    if setting.heads > 1:
        yield Variant((("after", average),), (Label("H4", frameworks=conventions.MEAN_WEIGHTS),))


def merge_one(setting: Setting, state: State) -> None:
    state["output"] = split(state["output"][..., 0, :, :], setting.heads)


@FAMILY.mistake(
    "H5",
    name="heads not split",
    says="the heads are not split: one head spans the whole width",
    formula="softmax(Q Kᵀ / √(H d)) V over the packed width",
    fingerprint="the scores are the sum over heads, with c = 1/√(H·d)",
    needs="more than one head",
    numpy=NUMPY_SPLIT,
    torch=TORCH_SPLIT,
)
def unsplit(setting: Setting) -> Iterator[Variant]:
    def join(setting: Setting, state: State) -> None:
        state.update(
            q=packed(setting.q)[:, None],
            own_k=packed(setting.k)[:, None],
            own_v=packed(setting.v)[:, None],
            keep=None if setting.keep is None else setting.keep[:, :1],
            bias=None if setting.bias is None else setting.bias[:, :1],
        )

    def no_groups(setting: Setting, state: State) -> None:
        state.update(k=state["own_k"], v=state["own_v"])

    def wide_scale(setting: Setting, state: State) -> None:
        state["scaled"] = state["scores"] / np.sqrt(setting.d * setting.heads)

    if setting.heads == setting.kv_heads > 1:
        ends = (("merged", merge_one),)
        begin = (("split", join), ("group", no_groups))
        if setting.options.scale == "sqrt_dk":
            yield Variant((*begin, ("scaled", wide_scale), *ends), (Label("H5"),), pairs=False)
        yield Variant((*begin, *ends), (Label("H5", "with the scale of one head", 0.1),), pairs=False)


@FAMILY.mistake(
    "H6",
    name="attention over the heads",
    says="attention runs over the heads of each token instead of the tokens of each head",
    formula="softmax over H × H for each token",
    fingerprint="a token does not depend on any other token",
    needs="n = m > 1",
    numpy=NUMPY_SPLIT,
    torch=TORCH_SPLIT,
)
def over_heads(setting: Setting) -> Iterator[Variant]:
    if setting.n == setting.m and setting.heads > 1:
        # With one leading axis, a batch is more usual than heads: H7 first.
        yield Variant(
            (("output", across(-3)),), (Label("H6", rank=0.05 if setting.one_axis else 0.0),), pairs=False
        )
        yield Variant(
            (("output", across(-3)), ("merged", _merge_tokens)),
            (Label("H6", "and the result transposed before the merge", 0.2),),
            pairs=False,
        )


def _merge_tokens(setting: Setting, state: State) -> None:
    """(B, H, T, d) reshaped to (B, T, H·d), as code does that transposes without having transposed before."""
    output = state["output"]
    state["output"] = split(output.reshape(output.shape[:-3] + (setting.n, -1)), setting.heads)


def across(axis: int) -> Step:
    """A step that lets the entries of another axis attend to each other, position by position."""

    def output(setting: Setting, state: State) -> None:
        q, k, v = (np.moveaxis(state[name], axis, -2) for name in "qkv")
        logits = q @ np.swapaxes(k, -1, -2) * setting.scale / setting.options.temperature
        if setting.options.softcap is not None:
            logits = setting.options.softcap * np.tanh(logits / setting.options.softcap)
        state["output"] = np.moveaxis(softmax(logits) @ v, -2, axis)

    return output


@FAMILY.mistake(
    "H7",
    name="attention over the batch",
    says="attention runs over the batch axis instead of the positions",
    formula="axes 0 and 1 swapped",
    fingerprint="the result depends on the other batch entries",
    needs="more than one batch entry, n = m",
    numpy="x = x.transpose(1, 0, 2)  # to (batch, length, width)",
    torch="nn.MultiheadAttention(width, heads, batch_first=True)",
    links=("om-ai-lab/OmDet#19",),
)
def over_batch(setting: Setting) -> Iterator[Variant]:
    if setting.n != setting.m:
        return
    if setting.batches > 1:
        yield Variant((("output", across(-4)),), (Label("H7"),), pairs=False)
    elif setting.one_axis and setting.heads == setting.kv_heads > 1:
        yield Variant((("output", across(-3)),), (Label("H7"),), pairs=False)


@FAMILY.mistake(
    "H8",
    name="every head reads head 0",
    says="every head uses the numbers of head 0",
    formula="O_h = O_0",
    fingerprint="all heads are equal",
    needs="more than one head",
    numpy="k_h = k[:, h]  # not k[:, 0]",
    torch="k_h = k[:, h]  # not k[:, 0]",
)
def first_head(setting: Setting) -> Iterator[Variant]:
    def output(setting: Setting, state: State) -> None:
        for name in ("weights", "output"):
            state[name] = np.broadcast_to(state[name][..., :1, :, :], state[name].shape)

    def weights(setting: Setting, state: State) -> None:
        state["weights"] = np.broadcast_to(state["weights"][..., :1, :, :], state["weights"].shape)

    def keys(setting: Setting, state: State) -> None:
        for name in "kv":
            array = state[f"own_{name}"][..., :1, :, :]
            state[name] = np.broadcast_to(array, array.shape[:-3] + (setting.heads,) + array.shape[-2:])

    if setting.heads == 1:
        return
    yield Variant((("merged", output),), (Label("H8"),))
    yield Variant((("after", weights),), (Label("H8", "for the weights", 0.1),))
    if setting.kv_heads > 1:
        yield Variant((("group", keys),), (Label("H8", "of K and V", 0.1),))


FAMILY.add(
    "H10",
    name="projection mismatch",
    says="the projections differ: x W against x Wᵀ, a bias, or their order",
    formula="V′ = x W",
    fingerprint="the output is the right one times a fixed matrix; the first causal row is not V[0]",
    needs="a causal mask, or n > dᵥ + 1",
    same_as="not an attention mistake",
    numpy="v = x @ w_v.T + b_v  # nn.Linear stores W as (out, in)",
    torch="v = F.linear(x, w_v, b_v)",
    links=("neetcode-gh/leetcode#5219", "neetcode-gh/leetcode#5169", "neetcode-gh/leetcode#5712"),
    note="It happens before attention; it is recognised when the output is the right one times one matrix.",
)
