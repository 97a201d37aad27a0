"""Probes: small seeded problems on which as many mistakes as possible give numbers of their own.

Does not: run anybody's code; probe_code.py writes what they run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError, Options
from attention_lab.inputs.spelling import hash_grams

from .separate import Separation, separable
from .setting import Array

Kind = Literal["oblong", "square", "heads", "grouped", "large"]
# Oblong keeps n, m, dₖ and dᵥ apart; square lets matrices be swapped; heads and grouped have (batch, length, heads·d);
# large is oblong with scores that overflow, for what shows only then.
SHAPES: dict[Kind, tuple[tuple[int, int], tuple[int, int], tuple[int, int] | None]] = {
    "oblong": ((5, 3), (7, 2), None),
    "large": ((5, 3), (7, 2), None),
    "square": ((4, 4), (4, 4), None),
    "heads": ((4, 3), (4, 3), (2, 2)),
    "grouped": ((4, 3), (4, 2), (4, 2)),
}
BATCHES = 2
LARGEST = (2.0, 30.0, 200.0, 1500.0, 90_000.0)
TRIES = 3


@dataclass(frozen=True, eq=False)
class Probe:
    """q, k, v with two decimals, and what to compute on them. Unpacks to (q, k, v). The seed makes it again.

    oblong, large: q (5, 3), k (7, 3), v (7, 2). square: all (4, 4). heads, grouped: (2, 4, heads·d), heads in the options.
    """

    q: Array
    k: Array
    v: Array
    options: Options
    seed: int
    kind: Kind
    keep: NDArray[np.bool_] | None = None
    bias: Array | None = None
    separation: Separation = field(default_factory=lambda: Separation(0, ()))

    def __iter__(self) -> Iterator[Array]:
        return iter((self.q, self.k, self.v))


def make_probe(
    seed: int = 0,
    kind: Kind = "oblong",
    options: Options | None = None,
    *,
    masked: bool = False,
    biased: bool = False,
) -> Probe:
    """The probe of this seed; of a few draws, the one that separates most mistakes.

    options are those under test (lengths and heads are fitted to the probe). masked and biased add a keep mask and an
    additive bias. Raises LabError for an unknown kind.
    """
    if kind not in SHAPES:
        raise LabError(f"kind must be one of {', '.join(SHAPES)}; got {kind!r}", "kind")
    best: Probe | None = None
    for attempt in range(TRIES):
        probe = _draw(seed, attempt, kind, options or Options(), masked, biased)
        probe = replace(probe, separation=separable(probe))
        if best is None or probe.separation.count > best.separation.count:
            best = probe
    assert best is not None
    return best


class _Draws:
    """Numbers from a seed by SplitMix64, the same on every machine; numpy.random is not part of the page."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.used = 0

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """Between 0 and 1, multiples of 2⁻⁵³."""
        count = math.prod(shape)
        bits = hash_grams(np.arange(self.used, self.used + count, dtype=np.uint64), self.seed)
        self.used += count
        return np.asarray((bits >> np.uint64(11)) * 2.0**-53).reshape(shape)

    def numbers(self, shape: tuple[int, ...]) -> Array:
        """About normal with deviation 1.3 (a sum of twelve uniform numbers), two decimals."""
        return np.asarray(
            np.round(1.3 * (self.uniform((12, *shape)).sum(0) - 6), 2) + 0.0
        )  # + 0.0 turns −0.0 into 0.0


def _draw(seed: int, attempt: int, kind: Kind, options: Options, masked: bool, biased: bool) -> Probe:
    draws = _Draws(seed * TRIES + attempt)
    (n, d), (m, dv), heads = SHAPES[kind]

    def matrix(rows: int, columns: int, count: int) -> Array:
        return draws.numbers((rows, columns) if heads is None else (BATCHES, rows, columns * count))

    q_heads, kv_heads = heads or (1, 1)
    q, k, v = matrix(n, d, q_heads), matrix(m, d, kv_heads), matrix(m, dv, kv_heads)
    if kind == "large":
        # The largest score of each row: ordinary, then beyond the exponentials of float16, float32 and float64, then
        # beyond float16 itself before the scale.
        factors = np.array(LARGEST) * math.sqrt(d) / np.abs(q @ k.T).max(-1)
        q = np.round(q * factors[:, None], 2) + 0.0
    keep = bias = None
    if masked:
        keep = draws.uniform((n, m)) < 0.6
        keep[:, 0] = True  # every query sees a key, also under a causal mask …
        keep[np.arange(n), 1 + np.arange(n) % (m - 1)] = False  # … and misses one
    if biased:
        bias = draws.numbers((n, m))
    lengths = None
    if options.lengths is not None:
        lengths = (m - 2,) if heads is None else tuple(m - 1 - batch for batch in range(BATCHES))
    return Probe(q, k, v, replace(options, heads=heads, lengths=lengths), seed, kind, keep, bias)
