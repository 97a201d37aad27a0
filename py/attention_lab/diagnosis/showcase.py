"""Six mistakes from public reports, each on a probe, with the numbers that it gives: something to load and look at.

The numbers are computed by the catalogue's own formula. Does not: hold numbers of anybody's code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_lab.core import LabError, Options, attend
from attention_lab.inputs.paste import format_matrix

from .flow import base_state, run
from .mistakes import CATALOGUE, variants
from .probe import Kind, make_probe
from .setting import Array, setting_of

DECIMALS = 4  # as PyTorch prints


@dataclass(frozen=True)
class Show:
    """One mistake to load: its id, the stage it is pasted at, and the probe and options that show it."""

    id: str
    stage: str
    kind: Kind = "oblong"
    causal: str | None = None
    softcap: float | None = None

    @property
    def options(self) -> Options:
        return Options(causal=self.causal, softcap=self.softcap)  # type: ignore[arg-type]

    @property
    def title(self) -> str:
        return CATALOGUE[self.id].name

    @property
    def report(self) -> str:
        return CATALOGUE[self.id].links[0]


SHOWS = (
    Show("S1", "weights"),
    Show("X1", "weights"),
    Show("M12", "output", "square", "top-left"),
    Show("M3", "output", "square", "top-left"),
    Show("C2", "output", "square", "top-left", 2.0),
    Show("K2", "output"),
)


def showcase(id: str) -> dict[str, str]:
    """Raw texts of State keys: the probe, its options and the mistaken numbers with 4 decimals."""
    show = next((item for item in SHOWS if item.id == id), None)
    if show is None:
        raise LabError(
            f"There is no example of “{id}”: expected one of {', '.join(item.id for item in SHOWS)}."
        )
    probe = make_probe(0, show.kind, show.options)
    numbers = simulate(probe, show.id, show.stage)
    observed = "\n".join(" ".join(f"{x:.{DECIMALS}f}" for x in row) for row in numbers.tolist())
    return {
        **{name: format_matrix(getattr(probe, name)) for name in ("q", "k", "v")},
        "causal": show.causal or "",
        "softcap": "" if show.softcap is None else f"{show.softcap:g}",
        "observed": observed,
    }


def simulate(problem: Any, id: str, stage: str = "output") -> Array:
    """What `stage` of a 2-D problem becomes under a mistake with its most usual parameter that shows there.

    Raises LabError when the mistake cannot be made on this problem.
    """
    trace = attend(problem.q, problem.k, problem.v, problem.options, keep=problem.keep, bias=problem.bias)
    setting = setting_of(trace, None)
    base = base_state(setting)
    right = np.asarray(getattr(trace, stage), np.float64)
    best: tuple[float, Array] | None = None
    for variant in variants(setting):
        if id not in {label.id for label in variant.labels}:
            continue
        results = np.asarray(run(setting, base, variant, stage)[stage], np.float64)
        for label, numbers in zip(variant.labels, results.reshape(len(variant.labels), -1), strict=True):
            if (
                label.id != id
                or numbers.size != right.size
                or np.allclose(numbers, right.ravel(), equal_nan=True)
            ):
                continue
            if best is None or label.rank < best[0]:
                best = (label.rank, numbers.reshape(right.shape))
    if best is None:
        raise LabError(f"{id} cannot be made on this input, or does not show in its {stage}.")
    return best[1]
