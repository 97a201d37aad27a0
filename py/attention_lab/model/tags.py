"""What a head attends to on this very sentence, measured and in plain words. Says nothing about any other sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.model.wordpiece import FIRST, SEPARATOR

MOST = 0.4
"""The share of the attention that must go one way for it to name the head."""
EVEN = 0.75
"""The mean entropy, relative to that of even attention, from which a head counts as spread out."""
WORDS = {
    "previous": "previous",
    "next": "next",
    "same": "same word",
    "separator": "separator",
    "first": "first token",
    "spread": "spread out",
    "mixed": "mixed",
}


@dataclass(frozen=True)
class Tag:
    """`kind` is a key of WORDS; `share` the mean weight that goes that way (of "spread": the relative entropy)."""

    kind: str
    share: float

    @property
    def words(self) -> str:
        return WORDS[self.kind]


def shares(weights: NDArray[Any], pieces: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Of weights (heads, n, n): the mean over the words' rows of what goes to each target, (heads,) each.

    Rows are those of the pieces between [CLS] and [SEP]. "same" is the piece itself and every other place where the
    same piece stands; "previous" and "next" are its neighbours, whatever they are, [CLS] and [SEP] excepted.
    """
    n = len(pieces)
    inner = np.array([piece not in (FIRST, SEPARATOR) for piece in pieces])
    at = np.arange(n)
    codes = np.unique(np.asarray(pieces, dtype=str), return_inverse=True)[1].reshape(-1)
    neighbour = at[None, :] - at[:, None]
    targets = {
        "previous": (neighbour == -1) & inner[None, :],
        "next": (neighbour == 1) & inner[None, :],
        "same": (codes[:, None] == codes[None, :]) & inner[None, :],
        "separator": np.broadcast_to(np.array([piece == SEPARATOR for piece in pieces]), (n, n)),
        "first": np.broadcast_to(np.array([piece == FIRST for piece in pieces]), (n, n)),
    }
    return {name: (weights * target).sum(-1)[:, inner].mean(-1) for name, target in targets.items()}


def evenness(weights: NDArray[Any], pieces: Sequence[str]) -> NDArray[np.float64]:
    """(heads,) mean entropy of the words' rows, 1 when every key gets the same."""
    inner = np.array([piece not in (FIRST, SEPARATOR) for piece in pieces])
    logs = np.log(np.where(weights > 0, weights, 1.0))
    entropies = -(weights * logs).sum(-1)[:, inner]
    return np.asarray(entropies.mean(-1) / np.log(weights.shape[-1]))


def tags(weights: NDArray[Any], pieces: Sequence[str]) -> list[Tag]:
    """One tag for each head: the target with the largest share if that is 0.4 or more, else spread out, else mixed."""
    found = shares(weights, pieces)
    even = evenness(weights, pieces)
    made = []
    for head in range(len(weights)):
        kind = max(found, key=lambda name: float(found[name][head]))
        share = float(found[kind][head])
        if share < MOST:
            kind, share = ("spread", float(even[head])) if even[head] >= EVEN else ("mixed", share)
        made.append(Tag(kind, share))
    return made
