"""The search that found the walkthrough's two examples. It is evidence, not a test: run it and read the rows.

It draws query, key and value rows from {0, 1, 2} until every fact in `holds` (masked example) or `holds_unmasked`
is true. A test checks that the first hits are the examples that ship.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

TOKENS = 8
ENTRIES = 4
SEED = 7
ROW_2 = [
    2,
    5,
]  # the visible scores of row 2 besides S[2, 0] = 0: largest weight 0.7662 scaled, 0.9465 unscaled
ROW_6 = [0, 0, 1, 1, 2, 2, 3]  # row 6 up to a constant: largest weight 0.2945 scaled, 0.4748 unscaled
EVERY_ROW = np.array(np.meshgrid(*[range(3)] * ENTRIES)).reshape(ENTRIES, -1).T  # the 81 possible rows


def holds(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> bool:
    """True when the rows carry every fact the walkthrough's prose relies on."""
    scores = q @ k.T
    row_6 = np.sort(scores[6, :7])
    distinct = [[row.tobytes() for row in np.delete(rows, 4, axis=0)] for rows in (q, k, v)]
    return bool(
        scores[2, 0] == 0
        and scores[4, 0] == scores[4, 4] == 2
        and sorted(scores[2, 1:3]) == ROW_2
        and np.array_equal(row_6 - row_6[0], ROW_6)
        and all(len(set(rows)) == TOKENS - 1 for rows in distinct)
        and scores.max() <= 8
        and 3 <= np.count_nonzero(scores == 0) <= 8
        # some later token should prefer a key that is neither itself nor the first
        and scores[7].argmax() not in (0, 4, 7)
    )


def found(seed: int = SEED) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield (q, k, v), each (8, 4), that satisfy `holds`; the same seed gives the same rows."""
    generator = np.random.default_rng(seed)
    while True:
        k = generator.integers(0, 3, (TOKENS, ENTRIES))
        k[4] = k[0]
        products = EVERY_ROW @ k.T
        for_row_2 = EVERY_ROW[
            (products[:, 0] == 0) & (np.sort(products[:, 1:3], axis=1) == ROW_2).all(axis=1)
        ]
        ordered = np.sort(products[:, :7], axis=1)
        for_row_6 = EVERY_ROW[(ordered - ordered[:, :1] == ROW_6).all(axis=1)]
        for_row_0 = EVERY_ROW[products[:, 0] == 2]
        if not (len(for_row_2) and len(for_row_6) and len(for_row_0)):
            continue
        for _ in range(20):
            q, v = generator.integers(0, 3, (2, TOKENS, ENTRIES))
            q[0] = q[4] = generator.choice(for_row_0)
            q[2] = generator.choice(for_row_2)
            q[6] = generator.choice(for_row_6)
            v[4] = v[0]
            if holds(q, k, v):
                yield q, k, v


def holds_unmasked(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> bool:
    """True when the unmasked example shows what only an unmasked head can."""
    scores = q @ k.T
    favourite = scores.argmax(axis=1)
    distinct = [[row.tobytes() for row in np.delete(rows, 4, axis=0)] for rows in (q, k, v)]
    return bool(
        all(len(set(rows)) == TOKENS - 1 for rows in distinct)
        and scores.max() <= 8
        and 3 <= np.count_nonzero(scores == 0) <= 8
        and favourite[0] > 4  # the first token looks ahead, which a causal mask forbids
        and favourite[3]
        == 0  # one row prefers the repeated word: its two copies, and only they, share the top
        and np.count_nonzero(scores[3] == scores[3].max()) == 2
        and len(set(favourite)) >= 4
    )


def found_unmasked(seed: int = SEED) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield (q, k, v), each (8, 4), that satisfy `holds_unmasked`."""
    generator = np.random.default_rng(seed)
    while True:
        q, k, v = generator.integers(0, 3, (3, TOKENS, ENTRIES))
        q[4], k[4], v[4] = q[0], k[0], v[0]
        if holds_unmasked(q, k, v):
            yield q, k, v


if __name__ == "__main__":
    for hits in (found(), found_unmasked()):
        for name, rows in zip("qkv", next(hits), strict=True):
            print(f'"{name}": {rows.tolist()},')
