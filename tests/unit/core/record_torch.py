"""Seeded attention problems, and what torch.nn.functional.scaled_dot_product_attention makes of them.

`python tests/unit/core/record_torch.py` (needs torch) writes torch_outputs.json. The inputs are made again from the
seed wherever the test runs, so only outputs are recorded. They rest on the raw stream of PCG64, which NumPy keeps.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

COUNT = 500
RECORD = Path(__file__).with_name("torch_outputs.json")


class Stream:
    """Uniform and N(0, 1) numbers (Box and Muller 1958) from PCG64's raw 64-bit integers."""

    def __init__(self, seed: int) -> None:
        self.bits = np.random.PCG64(seed)

    def uniform(self, *shape: int) -> np.ndarray:
        raw = self.bits.random_raw(math.prod(shape)) >> np.uint64(11)
        return (raw.astype(np.float64) * 2.0**-53).reshape(shape)

    def normal(self, *shape: int) -> np.ndarray:
        radius = np.sqrt(-2 * np.log1p(-self.uniform(*shape)))
        return radius * np.cos(2 * np.pi * self.uniform(*shape))

    def whole(self, low: int, high: int) -> int:
        return low + int(self.uniform(1)[0] * (high - low + 1))


@dataclass(frozen=True)
class Case:
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    causal: bool
    scale: float | None
    keep: np.ndarray | None
    bias: np.ndarray | None

    @property
    def grouped(self) -> bool:
        return self.q.ndim == 4 and self.q.shape[1] != self.k.shape[1]


def case(seed: int) -> Case:
    """Problem number `seed`: every kind of leading axes and mask in turn, a long one with over 64 keys in ten."""
    draw = Stream(seed)
    n, dk, dv = draw.whole(1, 6), draw.whole(1, 8), draw.whole(1, 4)
    m = draw.whole(65, 140) if seed % 10 == 9 else draw.whole(1, 12)
    batch, kv_heads, group = draw.whole(1, 2), draw.whole(1, 2), draw.whole(2, 3)
    axes, kv_axes = [
        ((), ()), ((batch,), (batch,)), ((batch, kv_heads), (batch, kv_heads)),
        ((batch, kv_heads * group), (batch, kv_heads)),
    ][seed % 4]  # fmt: skip
    q, k, v = draw.normal(*axes, n, dk), draw.normal(*kv_axes, m, dk), draw.normal(*kv_axes, m, dv)
    kind = seed // 4 % 5
    keep = draw.uniform(n, m) < 0.6 if kind in (1, 4) else None
    bias = draw.normal(n, m) if kind in (2, 4) else None
    if kind == 2:
        bias[draw.uniform(n, m) < 0.2] = -np.inf
    scale = None if seed % 3 else 2 * float(draw.uniform(1)[0])
    return Case(q, k, v, kind == 3 or seed % 7 == 0, scale, keep, bias)


def torch_output(problem: Case) -> np.ndarray:
    import torch

    n, m = problem.q.shape[-2], problem.k.shape[-2]
    mask, causal = problem.keep, problem.causal
    if causal and (mask is not None or problem.bias is not None):  # PyTorch takes one or the other
        mask, causal = np.tril(np.ones((n, m), bool)) & (True if mask is None else mask), False
    if problem.bias is not None:
        mask = problem.bias if mask is None else np.where(mask, problem.bias, -np.inf)
    tensors = [torch.from_numpy(array) for array in (problem.q, problem.k, problem.v)]
    result = torch.nn.functional.scaled_dot_product_attention(
        *tensors,
        attn_mask=None if mask is None else torch.from_numpy(mask),
        is_causal=causal,
        scale=problem.scale,
        enable_gqa=problem.grouped,
    )
    return np.asarray(result.numpy())


def recorded() -> dict[str, Any]:
    return json.loads(RECORD.read_text("utf-8"))


def main() -> None:
    import torch

    outputs = [[float(f"{x:.16g}") for x in torch_output(case(seed)).ravel()] for seed in range(COUNT)]
    lines = ",\n".join(json.dumps(values, separators=(",", ":")) for values in outputs)
    RECORD.write_text(f'{{"torch": "{torch.__version__}", "outputs": [\n{lines}\n]}}\n', "utf-8")


if __name__ == "__main__":
    main()
