"""The encoder as far as it has arrived, and sentences as far as they are computed: the one in use stands here.

A layer's numbers exist only when the embeddings and every layer up to it are verified. Does not fetch, draw or wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError
from attention_lab.model.bert import Embedded, Embeddings, Layer, LayerPass, Steps
from attention_lab.model.pack import Manifest, Part, read_part
from attention_lab.model.wordpiece import UNKNOWN, tokenize

Array = NDArray[np.float64]
MOST_PIECES = 128
KEPT = 4
"""Sentences whose passes are remembered: the one on show, the one compared with it, and the ones before."""
KEPT_PIECES = 2 * MOST_PIECES
"""Pieces that these have together; the two last ones are kept in any case. 128 pieces take 8 MB."""


class ModelError(LabError):
    """The model cannot answer: not loaded so far, or the sentence does not fit. `field` is "model" or "text"."""


class NotLoaded(ModelError):
    """The numbers asked for need parts that are not here yet."""


@dataclass(eq=False)
class Encoder:
    """The model of one pack. `add` takes its parts in any order; only whole, verified parts are ever in it."""

    facts: Manifest
    embeddings: Embeddings | None = None
    layers: dict[int, Layer] = field(default_factory=dict)
    _waiting: dict[str, Mapping[str, NDArray[Any]]] = field(default_factory=dict)
    _passes: dict[str, Pass] = field(default_factory=dict)

    def add(self, part: Part, data: bytes | bytearray) -> None:
        """Verify and take in one part. Raises PackError and stays as it was when the bytes are wrong."""
        arrays = read_part(part, data)
        if part.layer is not None:
            self.layers[part.layer] = Layer.of(arrays, self.facts)
            return
        self._waiting[part.file] = arrays
        wanted = {each.file for each in self.facts.parts if each.layer is None}
        if self._waiting.keys() == wanted:
            together = {name: array for each in self._waiting.values() for name, array in each.items()}
            self.embeddings = Embeddings.of(together, self.facts)
            self._waiting = {}

    @property
    def ready(self) -> int:
        """How many layers, from the first, can be computed."""
        if self.embeddings is None:
            return 0
        return next((i for i in range(self.facts.layers) if i not in self.layers), self.facts.layers)

    @property
    def complete(self) -> bool:
        return self.ready == self.facts.layers

    def pass_of(self, text: str) -> Pass:
        """The pass of a sentence, begun or remembered. Raises ModelError."""
        if self.embeddings is None:
            raise NotLoaded("The real head is not loaded yet.", field="model")
        found = self._passes.pop(text, None) or Pass(self, text)
        self._passes[text] = found  # the last one used stands last
        while len(self._passes) > 2 and (
            len(self._passes) > KEPT or sum(len(each.pieces) for each in self._passes.values()) > KEPT_PIECES
        ):
            del self._passes[next(iter(self._passes))]
        return found


@dataclass(eq=False)
class Pass:
    """One sentence on its way through the layers. Layers are computed when they are first asked for, one by one."""

    encoder: Encoder
    text: str
    pieces: tuple[str, ...] = ()
    done: list[LayerPass] = field(default_factory=list)
    _under_way: Steps[LayerPass] | None = None

    def __post_init__(self) -> None:
        assert self.encoder.embeddings is not None
        vocabulary = self.encoder.embeddings.vocabulary
        pieces = tokenize(self.text, vocabulary)
        if len(pieces) == 2:
            raise ModelError(
                "There is no word to attend to: expected at least one piece, got 0.", field="text"
            )
        most = min(MOST_PIECES, self.encoder.facts.positions)
        if len(pieces) > most:
            raise ModelError(
                f"This text has {len(pieces):,} pieces with [CLS] and [SEP]; the real head takes at most {most}. "
                f"Shorten it by {len(pieces) - most:,}.",
                field="text",
            )
        self.pieces = tuple(pieces)
        self.ids = [vocabulary[piece] for piece in pieces]
        self.embedded: Embedded = self.encoder.embeddings(self.ids)

    @property
    def unknown(self) -> int:
        """How many words the model has no pieces for."""
        return self.pieces.count(UNKNOWN)

    def steps(self, index: int) -> Iterator[None]:
        """Compute every layer up to this one, pausing every few milliseconds. Raises NotLoaded until its parts are here.

        Whoever stops half-way loses nothing: the next one goes on from there.
        """
        ready, layers = self.encoder.ready, self.encoder.facts.layers
        if not 0 <= index < layers:
            raise ModelError(f"There is no layer {index}: expected 0 to {layers - 1}.", field="layer")
        if index >= ready:
            raise NotLoaded(
                f"Layer {index} is not loaded yet; {ready} of {layers} layers are.", field="model"
            )
        while len(self.done) <= index:
            if self._under_way is None:
                before = self.done[-1].out if self.done else self.embedded.out
                self._under_way = self.encoder.layers[len(self.done)](before)
            try:
                next(self._under_way)
            except StopIteration as end:
                self._under_way = None
                self.done.append(end.value)
            yield

    def layer(self, index: int) -> LayerPass:
        """Everything about one layer on this sentence, computed now if it was not. Raises NotLoaded."""
        for _ in self.steps(index):
            pass
        return self.done[index]

    def head(self, layer: int, head: int) -> tuple[Array, Array, Array]:
        """q, k and v (n, d) of one head. Raises ModelError."""
        heads = self.encoder.facts.heads
        if not 0 <= head < heads:
            raise ModelError(f"There is no head {head}: expected 0 to {heads - 1}.", field="modelhead")
        x = self.layer(layer).x
        return self.encoder.layers[layer].head(x, head)


class Current:
    """The encoder that this program works with, or None. Set by whoever loads a pack."""

    encoder: Encoder | None = None


def pass_of(text: str) -> Pass:
    """The pass of a sentence in the current encoder. Raises ModelError, NotLoaded when there is none."""
    if Current.encoder is None:
        raise NotLoaded("The real head is not loaded yet.", field="model")
    return Current.encoder.pass_of(text)
