"""Which row of a sentence to open first: the one whose attention is most divided between different words.

Does not say anything about one row; that is `row.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attention_lab.core import Trace
from attention_lab.explain.row import FloatArray, entropies

NOTICEABLE = 0.01
"""A different word must get at least this weight for a row to count as divided."""
_SAME = 1e-12
"""Two ratios closer than this differ by rounding only, and tie."""


def relative_entropies(trace: Trace) -> FloatArray:
    """(n,) entropy ÷ ln(visible keys) of each row of a 2-D trace; 0 where fewer than two keys are visible."""
    visible = (~np.isneginf(trace.masked)).sum(axis=-1)
    return np.asarray(
        np.divide(
            entropies(trace.weights),
            np.log(np.maximum(visible, 2)),
            where=visible > 1,
            out=np.zeros(len(visible)),
        )
    )


def most_divided_row(trace: Trace, words: Sequence[str], among: slice = slice(None)) -> int:
    """Index, among the rows asked for, of the row with the highest relative entropy among rows where a different word gets at least 1 %.

    `words` (n,) are the spellings of the tokens; two tokens with the same spelling are the same word. Ties: the first.
    When no row gives a different word 1 %, all rows asked for compete.
    """
    codes = np.unique(np.asarray(words, dtype=object).astype(str), return_inverse=True)[1].reshape(-1)
    different = codes[:, None] != codes[None, :]
    divided = (different & (np.asarray(trace.weights) >= NOTICEABLE)).any(axis=-1)
    ratios, divided = relative_entropies(trace)[among], divided[among]
    ratios = np.where(np.isnan(ratios), -1.0, ratios)
    if divided.any():
        ratios = np.where(divided, ratios, -1.0)
    return int(np.argmax(ratios >= ratios.max() - _SAME))
