"""Diagnosis: the verdict on someone's numbers and the evidence for it, as plain data.

Does not: compute; match.py fills it in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from . import compare
from .entry import Entry
from .setting import Array

Verdict = Literal["match", "rounding", "convention", "mistake", "unknown", "inconsistent"]
Place = tuple[str, tuple[int, ...], float, float]  # stage, index, expected, observed


@dataclass(frozen=True)
class Candidate:
    """One explanation tried: a catalogue id (or a pair "H1+H3"), its parameter, and its errors.

    error is the largest |difference| from the observed numbers, times the same in units of what their digits
    or precision allow; `fits` when that is at most 1.
    """

    id: str
    name: str
    detail: str
    error: float
    times: float
    fits: bool


@dataclass(frozen=True)
class Invariant:
    """Something that holds for every right result of that stage; `detail` says where it fails."""

    name: str
    holds: bool
    detail: str = ""


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """verdict, and for it:

    stage             the stage the numbers were read as
    matches           ids of mistakes that give these numbers, best first; pairs as "H1+H3"
    frameworks        libraries that do this by design
    first_divergence  (stage, index, expected, observed) of the first cell that differs, or None
    message           one plain sentence

    Evidence, arrays in the shape of `observed`: expected (ours), mistaken (what the best match gives, or None),
    tolerance. `stages` lists, for the best match, the first cell of every stage that it changes: (stage, index,
    ours, theirs). precision names the format that explains a rounding. effective_scale is the factor of Q Kᵀ
    that the numbers betray, where it could be found. recovered_weights are the weights behind an output, when V
    determines them. candidates are the closest explanations, whether or not they fit. separable is False when
    several ids fit and this input cannot tell them apart.
    """

    verdict: Verdict
    stage: str
    matches: tuple[str, ...]
    frameworks: tuple[str, ...]
    first_divergence: Place | None
    message: str
    observed: Array
    expected: Array
    tolerance: Array
    mistaken: Array | None = None
    detail: str = ""
    precision: str | None = None
    effective_scale: float | None = None
    stages: tuple[Place, ...] = ()
    invariants: tuple[Invariant, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    recovered_weights: Array | None = None
    notes: tuple[str, ...] = ()
    separable: bool = True

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The catalogue entries of the best match: one, or two of a pair; empty without a match."""
        from .mistakes import CATALOGUE

        return tuple(CATALOGUE[part] for part in self.matches[0].split("+")) if self.matches else ()

    @property
    def absolute_error(self) -> Array:
        return compare.absolute(self.expected, self.observed)

    @property
    def relative_error(self) -> Array:
        return compare.relative(self.expected, self.observed)

    @property
    def ulp_error(self) -> Array:
        """In units in the last place of float32."""
        return compare.in_ulps(self.expected, self.observed)

    def beyond(self, atol: float, rtol: float) -> Array:
        """True where |observed − expected| > atol + rtol · |expected|, the rule of numpy.allclose."""
        return np.asarray(compare.differs(self.expected, self.observed, atol + rtol * np.abs(self.expected)))
