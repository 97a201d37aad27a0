"""Why divide by √d: measure how dot products of random vectors grow with d, and what that does to softmax.

The vectors are drawn here, seeded; they are not the reader's Q, K, V. It has its own small generator because
numpy.random would be one more megabyte to fetch, and so that a seed gives the same draws everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from attention_lab.core.errors import LabError

DIMENSIONS = (4, 16, 64, 256, 1024, 4096)
QUERIES = 2000
MIN_KEYS, MAX_KEYS = 2, 64
MAX_SEED = 999_999_999
PORTION = 400_000  # entries drawn between two looks at the clock
FACES = 1 << 16  # equally likely values per entry: one 16-bit draw picks one

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """What was measured at one head dimension d."""

    d: int
    deviation: float
    """Standard deviation of q·k over all query-key pairs."""
    expected: float
    """σ²·√d, the deviation that theory gives for independent entries of variance σ²."""
    largest_raw: float
    """Average over queries of the largest weight of softmax(q·k)."""
    largest_scaled: float
    """The same for softmax(q·k / √d)."""


@dataclass(frozen=True)
class Growth:
    """The whole experiment: one Point per dimension, and the constant c of deviation = c·√d."""

    seed: int
    keys: int
    distribution: str
    variance: float
    queries: int
    points: tuple[Point, ...]
    constant: float


@dataclass(frozen=True)
class Distribution:
    """What an entry of a random vector may be: zero mean, the given variance."""

    title: str
    variance: float
    faces: Callable[[], FloatArray]


def _three_values() -> FloatArray:
    return np.repeat([-1.0, 0.0, 0.0, 1.0], FACES // 4)


def _two_values() -> FloatArray:
    return np.repeat([-1.0, 1.0], FACES // 2)


def _even() -> FloatArray:
    return (np.arange(FACES) + 0.5) / FACES - 0.5


def _bell() -> FloatArray:
    """Quantiles of the normal distribution, from its density summed on a fine grid."""
    x = np.linspace(-6, 6, 24_001)
    below = np.cumsum(np.exp(-x * x / 2))
    # a quarter-symmetric table: build one half and mirror it, so that the mean is exactly 0
    upper = np.interp((np.arange(FACES // 2) + 0.5) / FACES + 0.5, below / below[-1], x)
    return np.concatenate([-upper[::-1], upper])


DISTRIBUTIONS = {
    "three": Distribution("−1, 0, 0 or 1, equally likely (variance ½)", 0.5, _three_values),
    "normal": Distribution("normal, variance ½", 0.5, _bell),
    "uniform": Distribution("uniform, variance ½", 0.5, _even),
    "signs": Distribution("−1 or 1 (variance 1)", 1.0, _two_values),
}


def random_bits(seed: int, start: int, count: int) -> NDArray[np.uint64]:
    """Outputs `start` … `start + count - 1` of the SplitMix64 generator (Steele, Lea and Flood, 2014).

    The n-th output depends only on the seed and n, so a whole block is a few array operations.
    random_bits(1234567, 0, 2) -> [6457827717110365317, 3203168211198807973]
    """
    position = np.arange(start + 1, start + count + 1, dtype=np.uint64)
    z = position * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def groups_at(d: int) -> int:
    """How many sets of keys share the queries. Short keys vary most, so they get more sets; long ones cost most."""
    return 200 if d <= 256 else 40


class Experiment:
    """The experiment in small portions, so that a page can run it without freezing.

    Each `advance()` does one portion; `result` is the Growth once `done`. Each query is compared with `keys` keys;
    all entries are independent draws of `distribution`. Raises LabError when an argument is out of range.
    """

    def __init__(self, seed: int = 0, keys: int = 8, distribution: str = "normal") -> None:
        chosen = DISTRIBUTIONS.get(distribution)
        if chosen is None:
            names = ", ".join(DISTRIBUTIONS)
            raise LabError(
                f"The distribution is one of {names}; got “{distribution}”.", field="growth-values"
            )
        if not MIN_KEYS <= keys <= MAX_KEYS:
            raise LabError(
                f"The number of keys is {MIN_KEYS} to {MAX_KEYS}; got {keys}.", field="growth-keys"
            )
        if not 0 <= seed <= MAX_SEED:
            raise LabError(f"The seed is 0 to {MAX_SEED}; got {seed}.", field="growth-seed")
        self.seed, self.keys, self.distribution, self.variance = seed, keys, distribution, chosen.variance
        faces = chosen.faces()
        self._faces = (faces * np.sqrt(chosen.variance / np.mean(faces * faces))).astype(np.float32)
        self._drawn = 0
        self._parts: list[FloatArray] = []
        self._points: list[Point] = []

    @property
    def done(self) -> bool:
        return len(self._points) == len(DIMENSIONS)

    @property
    def result(self) -> Growth:
        """What was measured. Only once `done`."""
        deviations = np.array([point.deviation for point in self._points])
        # least squares on the ratios: every dimension counts alike, or the last would decide by itself
        constant = float(np.mean(deviations / np.sqrt(np.array(DIMENSIONS, dtype=np.float64))))
        points = tuple(self._points)
        return Growth(self.seed, self.keys, self.distribution, self.variance, QUERIES, points, constant)

    def advance(self) -> None:
        """Do the next portion: some groups of queries at one dimension."""
        d = DIMENSIONS[len(self._points)]
        have = sum(map(len, self._parts)) * groups_at(d) // QUERIES
        self._parts.append(self._dot_products(d, groups_at(d) - have))
        if sum(map(len, self._parts)) == QUERIES:
            scores = np.concatenate(self._parts)
            self._parts = []
            self._points.append(
                Point(
                    d=d,
                    deviation=float(scores.std()),
                    expected=self.variance * d**0.5,
                    largest_raw=average_largest_weight(scores),
                    largest_scaled=average_largest_weight(scores / d**0.5),
                )
            )

    def _dot_products(self, d: int, most_groups: int) -> FloatArray:
        """(queries, keys) dot products of fresh vectors, for as many groups as fit one portion."""
        per_group = QUERIES // groups_at(d)
        rows = per_group + self.keys
        words = -(-rows * d // 4)  # four 16-bit draws in each word
        groups = max(1, min(most_groups, PORTION // (rows * d)))
        draws = random_bits(self.seed, self._drawn, groups * words).view(np.uint16).reshape(groups, -1)
        self._drawn += groups * words
        vectors = self._faces[draws[:, : rows * d]].reshape(groups, rows, d)
        queries, key_rows = vectors[:, :per_group], vectors[:, per_group:]
        scores: FloatArray = (queries @ key_rows.transpose(0, 2, 1)).astype(np.float64)
        return scores.reshape(-1, self.keys)


@lru_cache(maxsize=8)
def growth(seed: int = 0, keys: int = 8, distribution: str = "normal") -> Growth:
    """Run the whole experiment at once. Time in the page: below one second."""
    experiment = Experiment(seed, keys, distribution)
    while not experiment.done:
        experiment.advance()
    return experiment.result


def average_largest_weight(scores: FloatArray) -> float:
    """The largest softmax weight of each row of (rows, keys) scores, averaged.

    The largest exponential, shifted by the row maximum, is 1: so the weight is one over the denominator.
    average_largest_weight([[0, 0]]) -> 0.5
    """
    scores = np.asarray(scores, dtype=np.float64)
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return float(np.mean(1 / shifted.sum(axis=-1)))
