"""Cache and block mistakes: past keys lost, blocks merged wrongly in an online softmax.

Does not: model a kernel; each mistake is written as the weights it amounts to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from .entry import Family
from .flow import Label, State, Variant, single
from .mask import causal_mask, masked_by
from .setting import Array, Setting, meet

FAMILY = Family("blocks")

NUMPY = (
    "factor = np.exp(m_old - m_new); o = o * factor + p @ v_block; l = l * factor + p.sum(-1, keepdims=True)"
)
TORCH = (
    "factor = (m_old - m_new).exp(); o = o * factor + p @ v_block; l = l * factor + p.sum(-1, keepdim=True)"
)


def block_sizes(keys: int) -> list[int]:
    """Sizes worth trying: every small one, then powers of two."""
    return [size for size in [*range(1, 17), 32, 48, 64, 128, 256, 512] if size < keys]


def usual(size: int) -> float:
    """Rank of a block size: blocks of a single key are hardly ever meant."""
    return 0.2 if size == 1 else 0.002 * size


@FAMILY.mistake(
    "K1",
    name="past keys missing",
    says="the cached keys and values are missing: only the last ones are used",
    formula="K = K_new",
    fingerprint="only the last keys have weight",
    needs="cached keys",
    numpy="k = np.concatenate([k_past, k_new], axis=-2)",
    torch="k = torch.cat([k_past, k_new], dim=-2)",
)
def no_past(setting: Setting) -> Iterator[Variant]:
    keys = np.arange(setting.m)
    for fresh in range(1, min(setting.m, 65)):
        detail, rank = f"only the last {fresh} of {setting.m} keys", 0.1 if fresh == setting.n else 0.5
        late = (keys >= setting.m - fresh)[None, None, None]
        yield from masked_by(setting, "K1", meet(setting.keep, late), detail, rank)
        if "causal" in setting.parts:
            causal = causal_mask(setting, setting.m - fresh)[None, None]
            yield from masked_by(
                setting,
                "K1",
                meet(setting.without("causal"), causal, late),
                f"{detail}, causal among themselves",
                rank + 0.05,
            )


@FAMILY.mistake(
    "K6",
    name="last partial block dropped",
    says="the last, incomplete block of keys is dropped",
    formula="keys m − (m mod b) … are missing",
    fingerprint="the last keys have no weight",
    needs="m not a multiple of the block size",
    numpy="for start in range(0, m, block): ...  # not range(m // block)",
    torch="blocks = (m + block - 1) // block",
)
def dropped_block(setting: Setting) -> Iterator[Variant]:
    lost = sorted({setting.m % size for size in range(2, setting.m + 1)} - {0})
    for count in lost[:64]:
        early = (np.arange(setting.m) < setting.m - count)[None, None, None]
        yield from masked_by(setting, "K6", meet(setting.keep, early), f"the last {count} keys", 0.2)


def online(rule: Callable[[Array, Array, Array], Array]) -> Callable[..., None]:
    """A step that makes weights from logits, the running maximum at the end of each key's block, and the final one."""

    def step(setting: Setting, state: State, ends: NDArray[np.int64]) -> None:
        logits = state["masked"]
        running = np.maximum.accumulate(logits, -1)
        shape = np.broadcast_shapes(logits.shape, ends.shape)
        then = np.take_along_axis(np.broadcast_to(running, shape), np.broadcast_to(ends, shape), -1)
        weights = rule(logits, np.where(np.isneginf(then), 0.0, then), logits.max(-1, keepdims=True))
        state["weights"] = np.where(np.isneginf(logits), 0.0, weights)

    return step


def total(terms: Array) -> Array:
    return np.asarray(terms.sum(-1, keepdims=True))


old_output = online(lambda z, then, last: np.exp(z - then) / total(np.exp(z - last)))
inverse_output = online(lambda z, then, last: np.exp(z - then + last - then) / total(np.exp(z - last)))
inverse_both = online(
    lambda z, then, last: np.exp(z - then + last - then) / total(np.exp(z - then + last - then))
)
old_sum = online(lambda z, then, last: np.exp(z - last) / total(np.exp(z - then)))
old_both = online(lambda z, then, last: np.exp(z - then) / total(np.exp(z - then)))


def by_block(
    setting: Setting, id: str, step: Callable[..., None], rank: float = 0.0, detail: str = ""
) -> Iterator[Variant]:
    for size in block_sizes(setting.m):
        ends = np.minimum((np.arange(setting.m) // size + 1) * size, setting.m) - 1
        told = ", ".join(filter(None, (f"blocks of {size}", detail)))
        yield single("softmax", step, Label(id, told, rank + usual(size)), ends)


@FAMILY.mistake(
    "K2",
    name="accumulator not rescaled",
    says="the running output is not rescaled when the running maximum rises",
    formula="O ← O + P V without e^(m_old − m_new)",
    fingerprint="wrong only in rows where a later block holds the maximum",
    needs="the maximum in a later block",
    numpy=NUMPY,
    torch=TORCH,
    links=("Dao-AILab/flash-attention#2082",),
)
def output_not_rescaled(setting: Setting) -> Iterator[Variant]:
    yield from by_block(setting, "K2", old_output, 0.1)
    yield from by_block(setting, "K2", old_both, 0.3, "the denominator neither")


@FAMILY.mistake(
    "K3",
    name="rescale inverted",
    says="the running output is multiplied by e^(m_new − m_old) instead of its inverse",
    formula="O ← O · e^(m_new − m_old) + P V",
    fingerprint="huge values in rows where a later block holds the maximum",
    needs="the maximum in a later block",
    numpy=NUMPY,
    torch=TORCH,
    links=("deepseek-ai/FlashMLA!177", "Dao-AILab/flash-attention#991"),
)
def inverse(setting: Setting) -> Iterator[Variant]:
    yield from by_block(setting, "K3", inverse_output, 0.1)
    yield from by_block(setting, "K3", inverse_both, 0.2, "also in the denominator")


@FAMILY.mistake(
    "K4",
    name="denominator not rescaled",
    says="the running denominator is not rescaled when the running maximum rises",
    formula="l ← l + Σ P without e^(m_old − m_new)",
    fingerprint="rows sum to less than 1 where a later block holds the maximum",
    needs="the maximum in a later block",
    numpy=NUMPY,
    torch=TORCH,
)
def sum_not_rescaled(setting: Setting) -> Iterator[Variant]:
    yield from by_block(setting, "K4", old_sum, 0.1)


def block_mean(setting: Setting, state: State, block: NDArray[np.float64]) -> None:
    """Softmax within each block; all blocks count alike. `block` is the number of each key's block."""
    logits = state["masked"]
    exponentials = np.exp(logits - np.where(np.isneginf(top := logits.max(-1, keepdims=True)), 0.0, top))
    same = (block == np.swapaxes(block, -1, -2)).astype(float)
    sums = exponentials @ same
    count = block.max(-1, keepdims=True) + 1
    state["weights"] = np.where(sums == 0, 0.0, exponentials / np.where(sums == 0, 1.0, sums)) / count


@FAMILY.mistake(
    "K5",
    name="block outputs averaged",
    says="the outputs of the blocks are averaged instead of merged by their log-sum-exp",
    formula="O = mean over blocks of O_b",
    fingerprint="each block has the same total weight",
    needs="more keys than one block holds",
    numpy="w = np.exp(lse_b - np.logaddexp.reduce(lse_b, axis=0)); out = (w[..., None] * out_b).sum(0)",
    torch="w = torch.softmax(lse_b, dim=0); out = (w[..., None] * out_b).sum(0)",
)
def averaged(setting: Setting) -> Iterator[Variant]:
    for size in block_sizes(setting.m):
        number = (np.arange(setting.m) // size).astype(float)
        yield single("softmax", block_mean, Label("K5", f"blocks of {size}", 0.1 + usual(size)), number)
