"""Six mistakes from public bug reports, as somebody would paste them: the view's examples.

Does not: store numbers; each sample computes the mistaken result of a probe.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attention_lab.core import LabError, Options, attend

from .flow import base_state, run
from .mistakes import CATALOGUE, variants
from .probe import Kind, Probe, make_probe
from .reading import readings
from .separate import Asked
from .setting import Array, setting_of


@dataclass(frozen=True)
class Sample:
    """One mistake to try: `title` says whose numbers these are, not what is wrong with them."""

    title: str
    id: str
    stage: str
    decimals: int
    probe: Callable[[], Probe]

    @property
    def links(self) -> tuple[str, ...]:
        """Where it was reported."""
        return tuple(dict.fromkeys(link for id in self.id.split("+") for link in CATALOGUE[id].links))

    def observed(self) -> Array:
        """What code with this mistake prints, rounded to `decimals`."""
        return np.asarray(np.round(mistaken(self.probe(), self.id, self.stage), self.decimals) + 0.0)


def _probe(kind: Kind, options: Options, masked: bool = False) -> Callable[[], Probe]:
    return lambda: make_probe(7, kind, options, masked=masked)


SAMPLES = (
    Sample("a tutorial's attention layer", "S1", "output", 4, _probe("oblong", Options())),
    Sample("weights of a seq2seq model", "X1", "weights", 4, _probe("square", Options())),
    Sample("a padding mask of booleans", "M8", "output", 4, _probe("oblong", Options(), masked=True)),
    Sample("a decoder with cached keys", "M14", "output", 6, _probe("oblong", Options(causal="bottom-right"))),
    Sample("a multi-head block", "H1", "output", 4, _probe("heads", Options(causal="top-left"))),
    Sample("a fused kernel", "S12", "output", 5, _probe("oblong", Options(causal="bottom-right"))),
)


def mistaken(problem: Asked, id: str, stage: str = "output") -> Array:
    """The numbers of `stage` under mistake `id` (its most usual parameter), in the shape attend() gives.

    Raises LabError when the problem does not admit the mistake.
    """
    k = problem.k
    trace = attend(problem.q, k, problem.v, problem.options, keep=problem.keep, bias=problem.bias)
    heads = problem.options.heads[1] if problem.options.heads else np.shape(k)[-3] if np.ndim(k) > 2 else None
    setting = setting_of(trace, heads)
    found = [(label.rank, place, variant) for variant in variants(setting)
             for place, label in enumerate(variant.labels) if label.id == id]
    if not found:
        raise LabError(f"This problem does not admit the mistake {id}.")
    _, place, variant = min(found, key=lambda item: item[:2])
    state = run(setting, base_state(setting), variant.part([place]), stage)
    shape = getattr(trace, stage).shape
    return readings(setting, trace, shape, stage)[0].cells(state).reshape(shape)
