"""Rounding: how far right numbers may be off in each precision, and which precision some numbers betray.

Does not: excuse anything else; a difference above these bounds is no rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .flow import State, Variant, run, transposed
from .setting import Array, Setting


class Format(NamedTuple):
    """Significant bits, exponent of the smallest normal number, largest number."""

    bits: int
    least: int
    largest: float

    @property
    def unit(self) -> float:
        return 2.0**-self.bits

    @property
    def tiny(self) -> float:
        """The distance between the smallest numbers."""
        return 2.0 ** max(self.least - self.bits + 1, -1022)


FORMATS = {
    "float64": Format(53, -1022, float(np.finfo(np.float64).max)),
    "float32": Format(24, -126, float(np.finfo(np.float32).max)),
    "tf32": Format(11, -126, float(np.finfo(np.float32).max)),
    "float16": Format(11, -14, 65504.0),
    "bfloat16": Format(8, -126, 3.3895313892515355e38),
}
STORED = ("bfloat16", "float16", "float32")  # coarsest first; tf32 exists only inside matrix units


def rounded(values: Array, name: str) -> Array:
    """`values` to nearest even in that format, as float64."""
    form = FORMATS[name]
    with np.errstate(all="ignore"):
        step = np.maximum(np.frexp(values)[1] - 1, form.least) - (form.bits - 1)
        result = np.ldexp(np.rint(np.ldexp(values, -step)), step)
        return np.where(np.abs(result) > form.largest, np.copysign(np.inf, result), result)


def on_grid(observed: Array, half: Array, name: str) -> bool:
    """Whether every finite number can be one of this format, printed with the digits that `half` allows."""
    finite = np.isfinite(observed)
    numbers = observed[finite]
    return bool((np.abs(rounded(numbers, name) - numbers) <= half[finite]).all())


def stored_as(observed: Array, half: Array) -> str:
    """The coarsest format whose numbers these can be."""
    for name in STORED:
        if on_grid(observed, half, name):
            return name
    return "float64"


def bounds(setting: Setting, state: State, name: str) -> dict[str, Array]:
    """For each stage, how far a computation in this format may be off, cell by cell.

    First-order error analysis: inputs, scores, scaled scores, weights and output are each rounded once;
    independent errors are added as squares, with a margin that simulations never reached (see the tests).
    """
    form = FORMATS[name]
    unit, tiny = form.unit, form.tiny
    options = setting.options
    with np.errstate(all="ignore"):
        q, k, v = (np.nan_to_num(state[key], posinf=0, neginf=0) for key in "qkv")
        squares = np.sqrt(2 * (q**2) @ transposed(k**2))
        found = {"scores": unit * (2 * squares + 2 * np.abs(state["scores"])) + tiny}
        scale = abs(setting.scale)
        found["scaled"] = found["scores"] * scale + 2 * unit * np.abs(state["scaled"]) + tiny
        found["tempered"] = found["scaled"] / options.temperature + 2 * unit * np.abs(state["tempered"])
        cap = options.softcap
        found["capped"] = found["tempered"] + (0 if cap is None else 4 * unit * np.abs(state["capped"]))
        found["biased"] = found["capped"] + (
            0 if state["bias"] is None else unit * (2 * np.abs(state["biased"]) + np.abs(state["bias"]))
        )
        found["masked"] = found["biased"]
        weights = np.nan_to_num(state["weights"])
        # A change of δ in a logit multiplies its weight by e^±δ.
        growth = np.expm1(np.minimum(np.where(np.isfinite(state["masked"]), found["masked"], 0.0), 30.0))
        common = (weights * growth).sum(-1, keepdims=True)
        found["log_sum_exp"] = (
            common
            + 2
            * unit
            * np.abs(np.log(setting.m) + np.nan_to_num(state["masked"], neginf=0).max(-1, keepdims=True))
            + unit
        )
        found["weights"] = np.minimum(weights * (growth + common + 3 * unit) + tiny, 1.0)
        found["output"] = (
            2 * np.sqrt(found["weights"] ** 2 @ v**2)
            + 3 * unit * np.sqrt(weights**2 @ v**2)
            + 2 * unit * np.abs(np.nan_to_num(state["output"]))
            + tiny
        )
    return found


def relative_noise(setting: Setting, state: State, name: str) -> Array:
    """What a mistaken computation in this format may be off by, relative to its largest number: (B, H, n, 1).

    Errors of the logits grow with |q||k|; mistakes of the scale are covered by taking at least 1 for it.
    """
    with np.errstate(all="ignore"):
        q, k = (
            np.sqrt((np.nan_to_num(state[key], posinf=0, neginf=0) ** 2).sum(-1, keepdims=True))
            for key in "qk"
        )
        reach = q * k.max(-2, keepdims=True) * max(abs(setting.scale) / setting.options.temperature, 1.0)
    noise = FORMATS[name].unit * (8 + 4 * np.minimum(np.nan_to_num(reach), 1e6))
    return np.asarray(np.clip(noise, 1e-12 if name == "float64" else 0.0, 0.1))


def simulations(setting: Setting, state: State, stage: str) -> Iterator[tuple[str, str, State]]:
    """(precision, what was rounded, state) of right computations rounded at single places."""
    for name in ("float16", "bfloat16", "tf32"):
        for told, change in _PLACES.items():
            steps = tuple((step, _rounding(step, key, name)) for step, keys in change for key in (keys,))
            yield name, told, run(setting, state, Variant(steps, ()), stage)


# Which step leaves what to be rounded.
_PLACES: dict[str, tuple[tuple[str, str], ...]] = {
    "inputs": (("alter", "qkv"),),
    "Q and K": (("alter", "qk"),),
    "inputs and weights": (("alter", "qkv"), ("after", "weights")),
    "scores": (("scores", "scores"),),
    "weights": (("after", "weights"),),
    "inputs and scores": (("alter", "qkv"), ("scores", "scores")),
}


def _rounding(step: str, key: str, name: str):  # type: ignore[no-untyped-def]
    def change(setting: Setting, state: State) -> None:
        if step == "scores":
            state["scores"] = state["q"] @ transposed(state["k"])
        for one in key if step == "alter" else (key,):
            state[one] = rounded(state[one], name)

    return change
