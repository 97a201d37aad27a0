"""The forward pass of a BERT encoder, layer by layer, every stage kept; attention itself is attend().

Devlin et al. 2018 with the layer order of Vaswani et al. 2017 (norm after each residual). Numbers are float64, computed
from weights rounded to int8 rows. Does not: pool, train or mask.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import Trace, attend
from attention_lab.model.pack import Manifest, PackError, restored

Array = NDArray[np.float64]
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Linear:
    """x (n, inputs) → x·Wᵀ + b, W (outputs, inputs) held as int8 rows with a scale for each stretch of a row."""

    rows: NDArray[np.int8]
    scales: NDArray[np.float16]
    bias: Array

    @property
    def weight(self) -> Array:
        """W as the numbers it stands for, (outputs, inputs)."""
        return restored(self.rows, self.scales)

    def __call__(self, x: Array) -> Array:
        return np.asarray(x @ self.weight.T + self.bias)


@dataclass(frozen=True, eq=False)
class Norm:
    """Layer normalisation of each row: (x − mean) / √(variance + ε) · gain + bias."""

    gain: Array
    bias: Array
    epsilon: float

    def normalized(self, x: Array) -> Array:
        """Before gain and bias."""
        centred = x - x.mean(-1, keepdims=True)
        return np.asarray(centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + self.epsilon))

    def __call__(self, x: Array) -> Array:
        return np.asarray(self.normalized(x) * self.gain + self.bias)


def gelu(x: Array) -> Array:
    """x · Φ(x) with the exact Φ (Hendrycks and Gimpel 2016)."""
    erf = np.fromiter(map(math.erf, (x * math.sqrt(0.5)).ravel().tolist()), np.float64, x.size)
    return np.asarray(0.5 * x * (1 + erf.reshape(x.shape)))


def _linear(arrays: Arrays, name: str) -> Linear:
    rows, scales, bias = arrays[f"{name}.rows"], arrays[f"{name}.scales"], arrays[f"{name}.bias"]
    if rows.dtype != np.int8 or scales.shape[:1] != rows.shape[:1] or bias.shape != rows.shape[:1]:
        raise PackError(f"{name} of the pack has arrays that do not fit together.")
    return Linear(rows, scales, bias.astype(np.float64))


def _norm(arrays: Arrays, name: str, epsilon: float) -> Norm:
    return Norm(arrays[f"{name}.gain"].astype(np.float64), arrays[f"{name}.bias"].astype(np.float64), epsilon)


@dataclass(frozen=True, eq=False)
class Embedded:
    """The way from pieces to the first layer's input, each (n, hidden): word + position + kind, then the norm."""

    word: Array
    position: Array
    kind: Array
    total: Array
    normalized: Array
    out: Array


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Vectors of pieces (int8 rows), of positions, and of the one kind of segment used here."""

    rows: NDArray[np.int8]
    scales: NDArray[np.float16]
    positions: Array
    kind: Array
    norm: Norm
    vocabulary: dict[str, int]
    original: tuple[int, ...]
    """The place of each piece in the whole model's list."""

    @classmethod
    def of(cls, arrays: Arrays, facts: Manifest) -> Embeddings:
        """From the arrays of all embedding parts together. Raises PackError."""
        try:
            chunks = sorted(name for name in arrays if name.startswith("words.") and name.endswith(".rows"))
            rows = np.concatenate([arrays[name] for name in chunks])
            scales = np.concatenate([arrays[name.replace(".rows", ".scales")] for name in chunks])
            listed = arrays["pieces"].tobytes().decode().split("\n")
            made = cls(
                rows, scales, arrays["positions"].astype(np.float64), arrays["kind"].astype(np.float64),
                _norm(arrays, "norm", facts.epsilon), {piece: at for at, piece in enumerate(listed)},
                tuple(arrays["original"].tolist()),
            )  # fmt: skip
        except (KeyError, ValueError) as error:
            raise PackError(f"The embeddings of the pack are incomplete: {error}.") from None
        if not len(rows) == len(scales) == len(made.vocabulary) == len(made.original) == facts.pieces:
            raise PackError(f"The pack has {len(rows):,} vectors of pieces; {facts.pieces:,} were expected.")
        return made

    def __call__(self, ids: list[int]) -> Embedded:
        word = restored(self.rows[ids], self.scales[ids])
        position, kind = self.positions[: len(ids)], np.broadcast_to(self.kind, word.shape)
        total = word + position + kind
        return Embedded(word, position, kind, total, self.norm.normalized(total), self.norm(total))


@dataclass(frozen=True, eq=False)
class LayerPass:
    """One layer on one sentence: its input (n, hidden), q, k and v (heads, n, d), attention, and its output."""

    x: Array
    q: Array
    k: Array
    v: Array
    trace: Trace
    out: Array


@dataclass(frozen=True, eq=False)
class Layer:
    """One encoder layer."""

    query: Linear
    key: Linear
    value: Linear
    after: Linear
    after_norm: Norm
    up: Linear
    down: Linear
    down_norm: Norm
    heads: int

    @classmethod
    def of(cls, arrays: Arrays, facts: Manifest) -> Layer:
        """From the arrays of its part. Raises PackError."""
        try:
            query, key, value, after, up, down = (
                _linear(arrays, name) for name in ("query", "key", "value", "after", "up", "down")
            )
            norms = [_norm(arrays, name, facts.epsilon) for name in ("after_norm", "down_norm")]
        except KeyError as error:
            raise PackError(f"A layer of the pack lacks {error}.") from None
        return cls(query, key, value, after, norms[0], up, down, norms[1], facts.heads)

    def split(self, x: Array) -> Array:
        """(n, hidden) → (heads, n, d), contiguous."""
        n, width = x.shape
        return np.ascontiguousarray(x.reshape(n, self.heads, width // self.heads).transpose(1, 0, 2))

    def __call__(self, x: Array) -> LayerPass:
        """softmax(QKᵀ/√d)V in every head, joined and projected, then the feed-forward part; a norm after each sum."""
        q, k, v = (self.split(part(x)) for part in (self.query, self.key, self.value))
        trace = attend(q, k, v)
        joined: Array = trace.output.transpose(1, 0, 2).reshape(x.shape).astype(np.float64)
        middle = self.after_norm(x + self.after(joined))
        out = self.down_norm(middle + self.down(gelu(self.up(middle))))
        return LayerPass(x, q, k, v, trace, out)
