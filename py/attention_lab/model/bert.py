"""The forward pass of a BERT encoder, layer by layer, every stage kept; attention itself is attend().

Devlin et al. 2018 with the layer order of Vaswani et al. 2017 (norm after each residual). Numbers are float64, computed
from weights rounded to int8 rows. Work comes in steps of a few milliseconds, so that a page can breathe in between.
Does not: pool, train or mask.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import attend
from attention_lab.model.pack import Manifest, PackError, restored

Array = NDArray[np.float64]
Arrays = Mapping[str, NDArray[Any]]
T = TypeVar("T")
Steps = Generator[None, None, T]
"""Work that pauses at every `yield`; what it returns is the result."""

PRODUCTS = 8_000_000
"""Multiplications of a matrix product between two pauses: under 10 ms in WebAssembly on the project's machine."""
CELLS = 60_000
"""Entries of attention matrices between two pauses."""
VALUES = 30_000
"""Values that gelu takes between two pauses."""


def finished(steps: Steps[T]) -> T:
    """All of the steps at once, and the result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


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

    def some(self, x: Array, part: slice) -> Array:
        """Only some of the outputs, (n, outputs of `part`)."""
        return np.asarray(x @ restored(self.rows[part], self.scales[part]).T + self.bias[part])

    def __call__(self, x: Array) -> Steps[Array]:
        """A few outputs at a time, so that W never stands in memory as float64 as a whole."""
        out = np.empty((len(x), len(self.rows)))
        size = max(1, PRODUCTS // max(x.size, 1))
        for start in range(0, len(self.rows), size):
            part = slice(start, start + size)
            out[:, part] = self.some(x, part)
            yield
        return out


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


def gelu_of(x: Array) -> Steps[Array]:
    """gelu, a few rows at a time."""
    out = np.empty_like(x)
    size = max(1, VALUES // x.shape[1])
    for start in range(0, len(x), size):
        part = slice(start, start + size)
        out[part] = gelu(x[part])
        yield
    return out


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

    chunks: tuple[tuple[NDArray[np.int8], NDArray[np.float16]], ...]
    """(rows, scales) of the pieces in order; every chunk but the last has as many."""
    positions: Array
    kind: Array
    norm: Norm
    vocabulary: dict[str, int]
    original: NDArray[np.int32]
    """The place of each piece in the whole model's list."""

    @classmethod
    def of(cls, arrays: Arrays, facts: Manifest) -> Embeddings:
        """From the arrays of all embedding parts together. Raises PackError."""
        try:
            names = sorted(name for name in arrays if name.startswith("words.") and name.endswith(".rows"))
            chunks = tuple((arrays[name], arrays[name.replace(".rows", ".scales")]) for name in names)
            listed = arrays["pieces"].tobytes().decode().split("\n")
            made = cls(
                chunks, arrays["positions"].astype(np.float64), arrays["kind"].astype(np.float64),
                _norm(arrays, "norm", facts.epsilon), {piece: at for at, piece in enumerate(listed)},
                arrays["original"],
            )  # fmt: skip
        except (KeyError, ValueError) as error:
            raise PackError(f"The embeddings of the pack are incomplete: {error}.") from None
        rows, scales = (sum(len(chunk[which]) for chunk in chunks) for which in (0, 1))
        even = len({len(chunk[0]) for chunk in chunks[:-1]}) <= 1
        if not even or not rows == scales == len(made.vocabulary) == len(made.original) == facts.pieces:
            raise PackError(f"The pack has {rows:,} vectors of pieces; {facts.pieces:,} were expected.")
        return made

    def words(self, ids: list[int]) -> Array:
        """The vectors of these pieces, (n, hidden)."""
        size = len(self.chunks[0][0])
        found = []
        for place in ids:
            rows, scales = self.chunks[place // size]
            found.append(restored(rows[[place % size]], scales[[place % size]])[0])
        return np.array(found)

    def __call__(self, ids: list[int]) -> Embedded:
        word = self.words(ids)
        position, kind = self.positions[: len(ids)], np.broadcast_to(self.kind, word.shape)
        total = word + position + kind
        return Embedded(word, position, kind, total, self.norm.normalized(total), self.norm(total))


@dataclass(frozen=True, eq=False)
class LayerPass:
    """One layer on one sentence: its input (n, hidden), the weights of its heads (heads, n, n), its output (n, hidden).

    The weights, in float32, are for the table of all heads. Everything else of a head is computed again, in float64, when
    it is looked at: kept for all 72 heads it would take 60 MB for 128 pieces.
    """

    x: Array
    weights: NDArray[np.float32]
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

    def head(self, x: Array, head: int) -> tuple[Array, Array, Array]:
        """q, k and v (n, d) of one head from the layer's input."""
        d = x.shape[1] // self.heads
        mine = slice(head * d, (head + 1) * d)
        return self.query.some(x, mine), self.key.some(x, mine), self.value.some(x, mine)

    def attention(self, q: Array, k: Array, v: Array) -> Steps[tuple[NDArray[np.float32], Array]]:
        """softmax(QKᵀ/√d) and softmax(QKᵀ/√d)V of every head, some heads at a time: (heads, n, n), (heads, n, d)."""
        heads, n, _ = q.shape
        weights, output = np.empty((heads, n, n), np.float32), np.empty_like(v)
        size = max(1, CELLS // (n * n))
        for start in range(0, heads, size):
            part = slice(start, start + size)
            trace = attend(q[part], k[part], v[part])
            weights[part], output[part] = trace.weights, trace.output
            yield
        return weights, output

    def __call__(self, x: Array) -> Steps[LayerPass]:
        """Attention in every head, joined and projected, then the feed-forward part; a norm after each sum."""
        q = self.split((yield from self.query(x)))
        k = self.split((yield from self.key(x)))
        v = self.split((yield from self.value(x)))
        weights, output = yield from self.attention(q, k, v)
        joined = output.transpose(1, 0, 2).reshape(x.shape)
        middle = self.after_norm(x + (yield from self.after(joined)))
        inner = yield from gelu_of((yield from self.up(middle)))
        out = self.down_norm(middle + (yield from self.down(inner)))
        return LayerPass(x, weights, out)
