"""Tags on weights made to show one thing each."""

from __future__ import annotations

import numpy as np
import pytest

from attention_lab.model.tags import EVEN, MOST, shares, tags

PIECES = ("[CLS]", "the", "cat", "saw", "the", "dog", "[SEP]")
N = len(PIECES)


def head(target: np.ndarray, strength: float = 0.8) -> np.ndarray:
    """(1, N, N): `strength` spread over the target's cells, the rest over all."""
    cells = target / np.maximum(target.sum(1, keepdims=True), 1)
    weights = strength * cells + (1 - strength * cells.sum(1, keepdims=True)) / N
    return weights[None]


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        (np.eye(N, k=-1), "previous"),
        (np.eye(N, k=1), "next"),
        (np.eye(N), "same"),
        (np.equal.outer(PIECES, PIECES).astype(float), "same"),
        (np.tile(np.arange(N) == N - 1, (N, 1)).astype(float), "separator"),
        (np.tile(np.arange(N) == 0, (N, 1)).astype(float), "first"),
        (np.ones((N, N)), "spread"),
    ],
)
def test_each_kind(target: np.ndarray, kind: str) -> None:
    (tag,) = tags(head(target), PIECES)
    assert tag.kind == kind
    assert tag.share >= (EVEN if kind == "spread" else MOST)


def test_neither_here_nor_there_is_mixed() -> None:
    weights = np.zeros((1, N, N))
    weights[0, :, 2], weights[0, :, 3], weights[0, :, 5] = 0.35, 0.33, 0.32
    (tag,) = tags(weights, PIECES)
    assert tag.kind == "mixed"


def test_shares_by_hand() -> None:
    """Rows of the five words; of "the" (row 1) the same piece stands in columns 1 and 4."""
    weights = np.full((1, N, N), 1 / N)
    found = shares(weights, PIECES)
    assert found["same"][0] == pytest.approx((2 + 1 + 1 + 2 + 1) / 5 / N)
    assert found["previous"][0] == pytest.approx(4 / 5 / N)  # before the first word stands [CLS]
    assert found["separator"][0] == found["first"][0] == pytest.approx(1 / N)
