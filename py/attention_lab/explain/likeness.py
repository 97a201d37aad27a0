"""How alike two words look to the spelling vectors, in numbers and in a sentence that follows the numbers.

Shows what stands in for meaning: “runs” and “running” share letters, “cat” and “kitten” share a meaning and few letters.
Does not compute attention.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from attention_lab.inputs.spelling import grams_of, spelling_vectors

PAIRS = (("runs", "running"), ("cat", "kitten"))
LEAST_DIMENSION = 64
"""Below this, chance collisions of the hash drown the comparison."""
_NEAR_ZERO = 2.0
"""Chance collisions give q·k ÷ √d a spread of at most about 1; a score inside two of them says nothing."""


@dataclass(frozen=True)
class Likeness:
    """Two words compared with d-dimensional spelling vectors: `score` is q·k, `share` is q·k ÷ d (1 = same spelling)."""

    first: str
    second: str
    d: int
    score: float
    share: float
    shared: tuple[str, ...]
    """The grams both words contain."""

    @property
    def scaled(self) -> float:
        """q·k ÷ √d, the number softmax would see."""
        return self.score / math.sqrt(self.d)

    @property
    def verdict(self) -> str:
        """“alike”, “opposed” or “unrelated”: what the score says, and nothing else."""
        if abs(self.scaled) < _NEAR_ZERO:
            return "unrelated"
        return "alike" if self.score > 0 else "opposed"


@lru_cache(maxsize=16)
def compare_words(first: str, second: str, d: int, seed: int = 0) -> Likeness:
    """Compare two words at dimension d (raised to 64 when smaller)."""
    d = max(d, LEAST_DIMENSION)
    x, y = spelling_vectors((first, second), d, seed)
    score = float(x @ y)
    others = set(grams_of(second))
    shared = tuple(dict.fromkeys(gram for gram in grams_of(first) if gram in others))
    return Likeness(first, second, d, score, score / d, shared)


def sentence_about(pair: Likeness) -> str:
    """What the score of one pair says, in one sentence."""
    letters = (
        f"they share {len(pair.shared)} letter groups"
        if len(pair.shared) != 1
        else "they share one letter group"
    )
    if not pair.shared:
        letters = "they share no letter group"
    outcome = {
        "alike": "so these vectors call them alike"
        if pair.shared
        else "yet chance collisions of the hash make these vectors call them alike",
        "opposed": "and chance signs of the hash make these vectors call them opposed",
        "unrelated": "yet the score stays within what chance gives"
        if pair.shared
        else "so these vectors see nothing in common",
    }[pair.verdict]
    return f"“{pair.first}” and “{pair.second}” score {pair.score:.2f} out of {pair.d}: {letters}, {outcome}."


def conclusion(related_spelling: Likeness, related_meaning: Likeness) -> str:
    """What the two pairs together show. The wording is chosen by the two scores."""
    spelled, meant = related_spelling.score, related_meaning.score
    if spelled > meant:
        return (
            f"“{related_spelling.first}”/“{related_spelling.second}” outscores "
            f"“{related_meaning.first}”/“{related_meaning.second}” by {spelled - meant:.2f}: spelling is seen, meaning is not."
        )
    if spelled < meant:
        return (
            f"With this seed “{related_meaning.first}”/“{related_meaning.second}” scores {meant - spelled:.2f} higher than "
            f"“{related_spelling.first}”/“{related_spelling.second}”, by chance collisions of the hash: try another seed or a larger d."
        )
    return "Both pairs score the same here: the hash sees no difference between them."
