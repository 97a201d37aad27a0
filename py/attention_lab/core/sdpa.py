"""attend(): scaled dot-product attention, softmax(softcap(QKᵀ·scale/T) + bias, masked)·V, every stage kept.

Vaswani et al. 2017, §3.2.1; the order of the stages is that of ONNX Attention and FlashAttention.
Does not: project, add positions or read text; and it is a reference, not a fast kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import heads, masks, ordered
from .errors import DtypeError, LimitError, OptionError, OverflowLabError, ShapeError
from .options import Options
from .precision import FORMATS, round_to, ulps

Floats = NDArray[np.floating[Any]]
Bools = NDArray[np.bool_]

LIMIT = 16_000_000


@dataclass(frozen=True, eq=False)
class Trace:
    """Every intermediate of one attention computation; arrays are read-only.

    With leading axes L (batch, heads), n queries, m keys: q (L, n, dk), k (L, m, dk) and v (L, m, dv) as used (rounded,
    packed heads split, shared heads repeated, broadcast); mask (L, n, m), True = may attend; scores, scaled, tempered,
    capped, biased, masked, exponentials, weights (L, n, m); row_max, denominators, log_sum_exp (L, n); output (L, n, dv),
    or (batch, n, heads·dv) when heads came packed, and then head_output keeps them apart.

    A stage that does nothing is the array before it. Masked cells hold −∞ in `masked`, 0 in exponentials and weights.
    A query that may attend to nothing has row_max and log_sum_exp −∞; its exponentials and denominator are 0 (1 and m
    for "uniform"), its weights and output what `empty_row` says.
    """

    q: Floats
    k: Floats
    v: Floats
    options: Options
    scale: float
    rules: tuple[masks.Rule, ...]
    mask: Bools
    scores: Floats
    scaled: Floats
    tempered: Floats
    capped: Floats
    biased: Floats
    masked: Floats
    row_max: Floats
    exponentials: Floats
    denominators: Floats
    log_sum_exp: Floats
    weights: Floats
    head_output: Floats
    given: tuple[Floats, Floats, Floats, Floats | None]  # q, k, v, bias before rounding

    def __post_init__(self) -> None:
        for value in (*vars(self).values(), *self.given):
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @property
    def output(self) -> Floats:
        return heads.merge(self.head_output) if self.options.heads else self.head_output

    @cached_property
    def empty_rows(self) -> Bools:
        """(L, n): True where a query may attend to nothing."""
        return np.asarray(~self.mask.any(-1))

    def why(self, *index: int, base: int = 0) -> tuple[masks.Reason, ...]:
        """Why the cell (…, query, key) is masked, every reason; empty if it is visible. Texts count from `base`."""
        return masks.why(self.rules, index, base)

    @cached_property
    def row_sum_error(self) -> float:
        """The largest |Σ weights − 1| over rows that may attend to something; 0 if there is none."""
        sums = self.weights.sum(-1, dtype=np.float64)
        return float(np.abs(sums - 1.0)[~self.empty_rows].max(initial=0.0))

    @cached_property
    def naive_output(self) -> Floats:
        """The output by exp(x)/Σexp(x) without subtracting the row maximum, in the shape of `output`.

        Entries are ∞ in rows where an exponential or their sum overflows, NaN where all of them vanish (0/0); empty
        rows are as in `output`.
        """
        with np.errstate(all="ignore"):
            exponentials = np.exp(self.masked)
            sums = ordered.sums(exponentials, self.mask.sum(-1))
            exponentials /= np.where(self.empty_rows, 1.0, sums).astype(sums.dtype)[..., None]
            output = _mix(round_to(exponentials, self.options.precision), self.v, self.mask)
        output[np.isposinf(sums)] = np.inf
        output[self.empty_rows] = self.head_output[self.empty_rows]
        output = round_to(output, self.options.precision)
        output = heads.merge(output) if self.options.heads else output
        output.setflags(write=False)
        return output

    @cached_property
    def stable_vs_naive(self) -> float:
        """The largest |output − naive_output| where output is finite; ∞ if the naive form over- or underflows."""
        finite = np.isfinite(self.output)
        difference = np.abs(self.output[finite] - self.naive_output[finite])
        return float(np.where(np.isnan(difference), np.inf, difference).max(initial=0.0))

    @cached_property
    def largest_ulps(self) -> dict[str, float]:
        """The largest error of "weights" and "output" in units in the last place of the chosen precision.

        Measured against the same computation in float64 on the inputs as given; 0 for float64 itself.
        """
        if self.options.precision == "float64":
            return {"weights": 0.0, "output": 0.0}
        exact = _forward(*self.given, self.rules, replace(self.options, precision="float64"))
        return {
            "weights": ulps(self.weights, exact.weights, self.options.precision),
            "output": ulps(self.output, exact.output, self.options.precision),
        }


def attend(
    q: Any,
    k: Any,
    v: Any,
    options: Options = Options(),
    *,
    keep: Any = None,
    bias: Any = None,  # noqa: B008
    limit: int = LIMIT,
) -> Trace:
    """Scaled dot-product attention of queries q (…, n, dk), keys k (…, m, dk) and values v (…, m, dv).

    Leading axes broadcast; in the last one of them (heads) k and v may have fewer entries that divide those of q: head h
    then uses key/value head h // (query heads / key heads). keep (n, m) or broadcastable, True = may attend; bias
    likewise, numbers added after the softcap, −∞ masks. Non-finite entries are accepted; masked ones contribute nothing.

    Raises ShapeError, DtypeError, LimitError (more than `limit` scores) and OverflowLabError (finite inputs whose scores
    do not fit the precision; names the cell), all LabError with `field`.
    """
    inputs = [_matrix(array, name) for array, name in ((q, "q"), (k, "k"), (v, "v"))]
    if options.heads is not None:
        q_heads, kv_heads = options.heads
        inputs = [
            heads.split(array, count, name)
            for array, count, name in zip(inputs, (q_heads, kv_heads, kv_heads), "qkv", strict=True)
        ]
    shape = heads.scores_shape(*inputs)
    if math.prod(shape) > limit:
        raise LimitError(
            f"{' × '.join(map(str, shape))} = {math.prod(shape):,} scores (leading axes × queries × keys) "
            f"are more than the limit of {limit:,}"
        )
    full = [heads.broadcast(array, inputs[0].shape[:-2], shape[:-2]) for array in inputs]
    added = None if bias is None else _bias(bias, shape)
    return _forward(full[0], full[1], full[2], added, masks.rules(options, shape, keep, added), options)


def _forward(
    q: Floats, k: Floats, v: Floats, bias: Floats | None, rules: tuple[masks.Rule, ...], options: Options
) -> Trace:
    precision = options.precision
    work = FORMATS[precision].work
    given = (q, k, v, bias)
    with np.errstate(all="ignore"):
        q, k, v = (round_to(array, precision) for array in (q, k, v))
        scale = effective_scale(options, q.shape[-1])
        visible = masks.combine(rules)
        scores = ordered.dot_products(q, k)
        mask = np.broadcast_to(visible, scores.shape)
        counts = np.broadcast_to(
            visible.sum(-1) if visible.shape[-1] > 1 else visible[..., 0] * scores.shape[-1],
            scores.shape[:-1],
        )
        scaled = scores if scale == 1 else scores * _constant(scale, work, "scale")
        tempered = scaled if options.temperature == 1 else scaled / _constant(options.temperature, work, "T")
        capped = tempered
        if options.softcap is not None:
            cap = _constant(options.softcap, work, "softcap")
            capped = np.tanh(tempered / cap)
            capped *= cap
        biased = capped if bias is None else _add_bias(capped, bias, work)
        masked = biased if not rules else np.where(mask, biased, work(-np.inf))
        empty = counts == 0
        used = mask | empty[..., None] if options.empty_row == "uniform" else mask
        _refuse_overflow(
            given,
            (q, k, v),
            mask,
            used,
            options,
            (
                ("scores", "q", scores),
                ("scaled", "scale", scaled),
                ("tempered", "T", tempered),
                ("capped", "softcap", capped),
                ("biased", "bias", biased),
            ),
        )

        row_max = masked.max(-1)
        exponentials = masked - np.where(empty, work(0), row_max)[..., None]
        np.exp(exponentials, out=exponentials)
        spoiled = not np.isfinite(row_max[~empty]).all()
        if spoiled:  # a visible NaN or ∞ makes its row NaN, and must not reach the masked cells
            exponentials[~mask] = 0
        if options.empty_row == "uniform":
            exponentials[empty] = 1
            counts = np.where(empty, scores.shape[-1], counts)
        denominators = ordered.sums(exponentials, counts)
        log_sum_exp = row_max + np.log(denominators)
        log_sum_exp[empty] = -np.inf
        divisor = np.where(empty, work(1), denominators) if options.empty_row == "zero" else denominators
        weights = exponentials / divisor[..., None]
        if spoiled:
            weights[~mask & ~empty[..., None]] = 0
        weights = round_to(weights, precision)
        output = _mix(weights, v, used)
        if options.empty_row == "nan":
            output[empty] = np.nan
        output = round_to(output, precision)
        _refuse_output_overflow(output, given[2], weights, used, precision)
    return Trace(
        q,
        k,
        v,
        options,
        float(scale),
        rules,
        mask,
        scores,
        scaled,
        tempered,
        capped,
        biased,
        masked,
        row_max,
        exponentials,
        denominators,
        log_sum_exp,
        weights,
        output,
        given,
    )


def effective_scale(options: Options, dk: int) -> float:
    """What the raw scores are multiplied by, temperature apart."""
    if options.scale == "sqrt_dk":
        return 1 / math.sqrt(dk)
    return 1.0 if options.scale == "none" else float(options.scale)


def _mix(weights: Floats, v: Floats, used: Bools) -> Floats:
    """weights · v, where a value that is NaN or ∞ reaches only the queries that may attend to it."""
    wild = ~np.isfinite(v)
    if not wild.any():
        return ordered.mix(weights, v)
    output = ordered.mix(weights, np.where(wild, v.dtype.type(0), v))
    for j in np.flatnonzero(wild.any(-1).reshape(-1, v.shape[-2]).any(0)):
        term = weights[..., j, None] * np.where(wild[..., j, :], v[..., j, :], 0)[..., None, :]
        output += np.where(used[..., j, None], term, v.dtype.type(0))
    return output


def _refuse_overflow(
    given: tuple[Floats, Floats, Floats, Floats | None],
    rounded: tuple[Floats, Floats, Floats],
    mask: Bools,
    used: Bools,
    options: Options,
    stages: tuple[tuple[str, str, Floats], ...],
) -> None:
    """Raise where finite inputs gave a visible number that is not finite."""
    q, k, v = rounded
    form, work = FORMATS[options.precision], FORMATS["float64" if q.dtype == np.float64 else "float32"]
    scores = float(np.abs(q).max()) * float(np.abs(k).max()) * q.shape[-1]
    scaled = scores * abs(effective_scale(options, q.shape[-1]))
    added = 0.0 if given[3] is None else float(np.abs(given[3][np.isfinite(given[3])]).max(initial=0.0))
    if (
        max(scores, scaled, scaled / options.temperature) + added < work.largest / 2
        and float(np.abs(v).max()) < form.largest
    ):
        return  # no cell can overflow, which is nearly always so: spare the passes below
    for name, before, after, seen in (
        ("q", given[0], q, mask.any(-1)),
        ("k", given[1], k, mask.any(-2)),
        ("v", given[2], v, used.any(-2)),
    ):
        _refuse(
            np.isfinite(before) & ~np.isfinite(after) & seen[..., None], name.upper(), name, options.precision
        )
    clean = mask & np.isfinite(given[0]).all(-1)[..., None] & np.isfinite(given[1]).all(-1)[..., None, :]
    for stage, field, array in stages:
        _refuse(clean & ~np.isfinite(array), stage, field, work.work.__name__)


def _refuse_output_overflow(output: Floats, v: Floats, weights: Floats, used: Bools, precision: str) -> None:
    bad = ~np.isfinite(output) & np.isfinite(weights).all(-1)[..., None]
    if bad.any():
        wild = ordered.mix(used.astype(np.float64), (~np.isfinite(v)).astype(np.float64))
        _refuse(bad & (wild == 0), "output", "v", precision)


def _refuse(bad: Bools, name: str, field: str, precision: str) -> None:
    if bad.any():
        cell = tuple(int(i) for i in np.argwhere(bad)[0])
        raise OverflowLabError(
            f"{name}{list(cell)} is too large for {precision}, whose largest number is "
            f"{FORMATS[precision].largest:.4g} (indices count from 0)",
            field,
            cell,
        )  # type: ignore[index]


def _constant(value: float, work: type[np.floating[Any]], field: str) -> np.floating[Any]:
    """A setting in the working type, which must neither lose it to 0 nor to ∞."""
    constant = work(value)
    if not np.isfinite(constant) or (constant == 0 and value != 0):
        raise OptionError(
            f"{field} = {value!r} does not fit {work.__name__}, in which scores are kept", field
        )
    return constant


def _matrix(value: Any, name: str) -> Floats:
    """A float64 copy of one input."""
    label = name.upper()
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        raise ShapeError(
            f"{label} must be a rectangular array of numbers; its rows differ in length", name
        ) from None
    if array.dtype.kind not in "iuf":
        raise DtypeError(f"{label} must hold real numbers; got {array.dtype}", name)
    if array.ndim < 2:
        raise ShapeError(
            f"{label} must have rows and columns (2 axes or more); got shape {array.shape}", name
        )
    if array.size == 0:
        raise ShapeError(f"{label} is empty: its shape is {array.shape}", name)
    return np.array(array, np.float64)


def _bias(value: Any, shape: tuple[int, ...]) -> Floats:
    """A float64 copy of the additive bias: finite or −∞."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        raise ShapeError(
            "the bias must be a rectangular array of numbers; its rows differ in length", "bias"
        ) from None
    if array.dtype.kind not in "iuf":
        raise DtypeError(f"the bias must hold real numbers or −∞; got {array.dtype}", "bias")
    masks.check_broadcast(array, shape, "bias")
    wrong = np.argwhere(np.isnan(array) | np.isposinf(array))
    if len(wrong):
        cell = tuple(int(i) for i in wrong[0])
        raise DtypeError(f"the bias must be finite or −∞; bias{list(cell)} is {array[cell]}", "bias")
    return np.array(array, np.float64)


def _add_bias(capped: Floats, bias: Floats, work: type[np.floating[Any]]) -> Floats:
    added = bias.astype(work)
    _refuse(np.isfinite(bias) & ~np.isfinite(added), "bias", "bias", work.__name__)
    biased = np.asarray(capped + added)
    np.copyto(biased, -np.inf, where=np.isneginf(added))
    return biased
