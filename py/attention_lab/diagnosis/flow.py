"""Attention as a list of small steps, any of which a mistake may replace, for many parameters at once.

Does not: keep rounding or key order like core does; the numbers agree with attend() to about 1e-15 (tested).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .setting import Array, Setting, meet

State = dict[str, Any]
Step = Callable[..., None]


@dataclass(frozen=True)
class Label:
    """Which mistake, with which parameter. `rank`: lower is more usual and is named first."""

    id: str
    detail: str = ""
    rank: float = 0.0
    frameworks: tuple[str, ...] = ()
    scale: float | None = None


@dataclass(frozen=True, eq=False)
class Variant:
    """Steps replaced by other functions (setting, state, *params), in order.

    With params (each (L, …four axes)) the first function is computed for L parameters at once, one label each.
    """

    steps: tuple[tuple[str, Step], ...]
    labels: tuple[Label, ...]
    params: tuple[NDArray[Any], ...] = ()
    pairs: bool = True

    @property
    def first(self) -> int:
        return INDEX[self.steps[0][0]]

    def part(self, chosen: Sequence[int]) -> Variant:
        """Only the labels with these numbers."""
        return replace(
            self,
            labels=tuple(self.labels[i] for i in chosen),
            params=tuple(array[list(chosen)] for array in self.params),
        )

    def parts(self, size: int) -> Iterator[Variant]:
        """The same in parts of at most `size` labels."""
        if not self.params or len(self.labels) <= size:
            yield self
            return
        for start in range(0, len(self.labels), size):
            yield self.part(range(start, min(start + size, len(self.labels))))


def single(step: str, function: Step, label: Label, *params: Any, pairs: bool = True) -> Variant:
    """A Variant with one label; params become arrays of one entry each, so that variants can be stacked."""
    arrays = tuple(_five(np.asarray(param)) for param in params)
    return Variant(((step, function),), (label,), arrays, pairs)


def _five(array: NDArray[Any]) -> NDArray[Any]:
    return array.reshape((1,) * (5 - array.ndim) + array.shape)


def stack(variants: Iterable[Variant]) -> list[Variant]:
    """Join variants that replace the same step by the same function with other parameters."""
    groups: dict[Any, list[Variant]] = {}
    for variant in variants:
        key = (variant.steps, variant.pairs) if variant.params else variant
        groups.setdefault(key, []).append(variant)
    joined = []
    for group in groups.values():
        if len(group) == 1:
            joined.append(group[0])
            continue
        params = []
        for arrays in zip(*(variant.params for variant in group), strict=True):
            shape = np.broadcast_shapes(*(array.shape[1:] for array in arrays))
            params.append(np.concatenate([np.broadcast_to(a, a.shape[:1] + shape) for a in arrays]))
        labels = tuple(label for variant in group for label in variant.labels)
        joined.append(replace(group[0], labels=labels, params=tuple(params)))
    return joined


def transposed(array: NDArray[Any]) -> NDArray[Any]:
    return np.swapaxes(array, -1, -2)


def softmax(logits: Array, axis: Any = -1) -> Array:
    """Softmax without overflow; a row of −∞ only gives zeros, a NaN or +∞ gives NaN in its row."""
    top = logits.max(axis, keepdims=True)
    exponentials = np.exp(logits - np.where(np.isneginf(top), 0.0, top))
    sums = exponentials.sum(axis, keepdims=True)
    return np.asarray(exponentials / np.where(sums == 0, 1.0, sums))


def log_sum_exp(logits: Array) -> Array:
    """(…, n, 1); −∞ where nothing is visible."""
    top = logits.max(-1, keepdims=True)
    shift = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(shift + np.log(np.exp(logits - shift).sum(-1, keepdims=True)))


def stage_of(state: State, stage: str) -> Array:
    """The numbers of a stage; log_sum_exp has one column."""
    return np.asarray(state[stage] if stage in state else log_sum_exp(state["masked"]), np.float64)


def mix(weights: Array, values: Array) -> Array:
    """weights @ values, where a weight of exactly 0 ignores its value, even NaN."""
    if np.isfinite(values).all():
        return weights @ values
    terms = np.where(weights[..., None] == 0, 0.0, weights[..., None] * values[..., None, :, :])
    return np.asarray(terms.sum(-2))


def _split(setting: Setting, state: State) -> None:
    state.update(q=setting.q, own_k=setting.k, own_v=setting.v, keep=setting.keep, bias=setting.bias)


def _group(setting: Setting, state: State) -> None:
    # Other names, so that a state can be resumed before this step.
    every = setting.heads // setting.kv_heads
    for name in "kv":
        own = state[f"own_{name}"]
        state[name] = own if every == 1 else np.repeat(own, every, -3)


def _scores(setting: Setting, state: State) -> None:
    state["scores"] = state["q"] @ transposed(state["k"])


def _scaled(setting: Setting, state: State) -> None:
    state["scaled"] = state["scores"] * setting.scale


def _tempered(setting: Setting, state: State) -> None:
    state["tempered"] = state["scaled"] / setting.options.temperature


def _capped(setting: Setting, state: State) -> None:
    cap = setting.options.softcap
    state["capped"] = state["tempered"] if cap is None else cap * np.tanh(state["tempered"] / cap)


def _biased(setting: Setting, state: State) -> None:
    state["biased"] = state["capped"] if state["bias"] is None else state["capped"] + state["bias"]


def _masked(setting: Setting, state: State) -> None:
    keep = state["keep"]
    if keep is None:
        state["masked"] = state["biased"]
        return
    state["masked"] = np.where(keep, state["biased"], empty_fill(keep, setting.options.empty_row))


def empty_fill(keep: NDArray[np.bool_], policy: str) -> Array | float:
    """What stands in masked cells so that softmax() treats fully masked rows by `policy`."""
    if policy == "zero":
        return -np.inf
    return np.where(keep.any(-1, keepdims=True), -np.inf, np.nan if policy == "nan" else 0.0)


def _softmax(setting: Setting, state: State) -> None:
    state["weights"] = softmax(state["masked"])


def _output(setting: Setting, state: State) -> None:
    state["output"] = mix(state["weights"], state["v"])


def _nothing(setting: Setting, state: State) -> None:
    pass


STEPS: dict[str, Step] = {
    "split": _split,
    "group": _group,
    "alter": _nothing,
    "scores": _scores,
    "scaled": _scaled,
    "tempered": _tempered,
    "capped": _capped,
    "biased": _biased,
    "masked": _masked,
    "softmax": _softmax,
    "after": _nothing,
    "values": _nothing,
    "output": _output,
    "merged": _nothing,
}
NAMES = tuple(STEPS)
INDEX = {name: position for position, name in enumerate(NAMES)}
# The last step that may still change a stage.
LAST = {
    "scores": "scores",
    "scaled": "scaled",
    "tempered": "tempered",
    "capped": "capped",
    "biased": "biased",
    "masked": "masked",
    "log_sum_exp": "softmax",
    "weights": "after",
    "output": "merged",
}


def base_state(setting: Setting) -> State:
    """The state after every step, nothing replaced."""
    state: State = {}
    with np.errstate(all="ignore"):
        for step in STEPS.values():
            step(setting, state)
    return state


def run(setting: Setting, state: State, variant: Variant, stage: str, inside: Variant | None = None) -> State:
    """The state at `stage` under `variant`, from a state computed without it (but with `inside`, if given)."""
    changes = dict(variant.steps)
    if inside is not None:
        changes |= dict(inside.steps)
    state = dict(state)
    if variant.params:
        _widen(state)
    params = variant.params
    with np.errstate(all="ignore"):
        for name in NAMES[variant.first : INDEX[LAST[stage]] + 1]:
            function = changes.get(name)
            if function is None:
                STEPS[name](setting, state)
            else:
                function(setting, state, *params)
                params = ()
    return state


def _widen(state: State) -> None:
    """Make room for another axis of parameters before the four axes of every array that has such axes."""
    for name, array in state.items():
        if isinstance(array, np.ndarray) and array.ndim > 4:
            state[name] = array[..., None, :, :, :, :]


def composable(first: Variant, second: Variant) -> bool:
    """Two variants make a pair if they replace different steps, the first one earlier."""
    steps = {name for name, _ in first.steps}
    return (
        first.pairs
        and second.pairs
        and first.first < second.first
        and not steps & {name for name, _ in second.steps}
    )


__all__ = [
    "INDEX",
    "LAST",
    "Label",
    "State",
    "Variant",
    "base_state",
    "composable",
    "empty_fill",
    "log_sum_exp",
    "meet",
    "mix",
    "run",
    "single",
    "softmax",
    "stack",
    "stage_of",
    "transposed",
]
