"""How one query vector of a real head came about, as plain data: the vectors on the way and the rows of W_Q.

Does not compute attention; q is the pass's own, and a test adds the products up to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attention_lab.model.encoder import Pass

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Origin:
    """For the piece at `row`: word, position, kind, total, embedded and x (hidden,), weight (d, hidden), bias and q (d,).

    `embedded` is what leaves the first norm; `x` is what comes into this layer, the same in layer 0.
    """

    piece: str
    index_in_model: int
    row: int
    layer: int
    word: Array
    position: Array
    kind: Array
    total: Array
    embedded: Array
    x: Array
    weight: Array
    bias: Array
    q: Array

    def products(self, entry: int) -> Array:
        """(hidden,) xᵢ · W_Q[entry, i]; with the bias they add up to q[entry]."""
        return np.asarray(self.x * self.weight[entry])


def origin_of(sentence: Pass, layer: int, head: int, row: int) -> Origin:
    """The origin of the query at `row` in one head. Raises ModelError when the layer is not loaded."""
    x = sentence.layer(layer).x[row]
    encoder, way = sentence.encoder, sentence.embedded
    assert encoder.embeddings is not None
    d = len(x) // encoder.facts.heads
    mine = slice(head * d, (head + 1) * d)
    query = encoder.layers[layer].query
    return Origin(
        sentence.pieces[row], int(encoder.embeddings.original[sentence.ids[row]]), row, layer,
        way.word[row], way.position[row], way.kind[row], way.total[row], way.out[row],
        x, query.weight[mine], query.bias[mine], sentence.head(layer, head)[0][row],
    )  # fmt: skip
