"""attend(): scaled dot-product attention, softmax(softcap(QKᵀ·scale/T) + bias, masked)·V, every stage kept.

Vaswani et al. 2017, §3.2.1; the order of the stages is that of ONNX Attention and FlashAttention.
Does not: project (multihead.py), add positions or read text. It is a reference, not a fast kernel.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from . import heads, masks, ordered
from .arrays import Bools, additive_bias, constant, matrix, refuse
from .errors import OptionError
from .options import Options, Precision
from .precision import FORMATS, Floats, round_to, ulps

Given = tuple[Floats, Floats, Floats, Floats | None]
LIMIT = 16_000_000
DEFAULT = Options()


@dataclass(frozen=True, eq=False)
class Trace:
    """Every intermediate of one attention computation, as read-only arrays.

    L stands for the leading axes (batch, heads), n for queries, m for keys:
    q (L, n, dk), k (L, m, dk), v (L, m, dv) as used: rounded, packed heads split, shared heads repeated;
    scores, scaled, tempered, capped, biased, masked, exponentials, weights, mask (L, n, m);
    row_max, denominators, log_sum_exp (L, n); output (L, n, dv), or (batch, n, heads·dv) from packed heads.

    A stage that does nothing is the array before it. Masked cells hold −∞ in `masked`, 0 in exponentials and
    weights. A query that may attend to nothing has row_max and log_sum_exp −∞; its exponentials and
    denominator are 0 (1 and m for "uniform"), its weights and output what `empty_row` says.
    """

    q: Floats
    k: Floats
    v: Floats
    options: Options
    scale: float  # what the raw scores are multiplied by
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
    head_output: Floats  # (L, n, dv), also when heads came packed
    given: Given  # q, k, v and bias before rounding

    def __post_init__(self) -> None:
        for value in (*vars(self).values(), *self.given):
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @cached_property
    def output(self) -> Floats:
        return self._merged(self.head_output)

    @cached_property
    def empty_rows(self) -> Bools:
        """(L, n): True where a query may attend to nothing."""
        return np.asarray(~self.mask.any(-1))

    def why(self, *index: int, base: int = 0) -> tuple[masks.Reason, ...]:
        """Every reason why the cell (…, query, key) is masked, none if it is not. Texts count from `base`."""
        shape = self.mask.shape
        if len(index) != len(shape) or any(not 0 <= i < size for i, size in zip(index, shape, strict=True)):
            raise IndexError(f"expected the index of a score, within {shape}; got {index}")
        return masks.why(self.rules, index, base)

    @cached_property
    def row_sum_error(self) -> float:
        """The largest |Σ weights − 1| over rows that may attend to something; 0 if there is none."""
        errors = np.abs(self.weights.sum(-1, dtype=np.float64) - 1.0)
        return float(errors[~self.empty_rows].max(initial=0.0))

    @property
    def naive_output(self) -> Floats:
        """The output by exp(x)/Σexp(x) without subtracting the row maximum; empty rows as in `output`.

        Entries are ∞ where an exponential or their sum overflows, NaN where all of them vanish (0/0).
        """
        return self._naive[0]

    @property
    def naive_failure(self) -> str | None:
        """What goes wrong in the naive form: "overflow", "underflow" (a row of exponentials is 0) or None."""
        return self._naive[1]

    @cached_property
    def stable_vs_naive(self) -> float:
        """The largest |output − naive_output| where output is finite; ∞ if the naive form fails."""
        known = np.isfinite(self.output)
        difference = np.abs(self.output[known] - self.naive_output[known])
        return math.inf if self.naive_failure else float(difference.max(initial=0.0))

    @cached_property
    def largest_ulps(self) -> dict[str, float]:
        """The largest error of "weights" and "output" in units in the last place of the chosen precision.

        Measured against the same computation in float64 on the inputs as given; 0 for float64 itself.
        """
        exact = _forward(self.given, self.rules, replace(self.options, precision="float64"))
        pairs = {name: (getattr(self, name), getattr(exact, name)) for name in ("weights", "output")}
        return {name: ulps(*pair, self.options.precision) for name, pair in pairs.items()}

    @cached_property
    def _naive(self) -> tuple[Floats, str | None]:
        with np.errstate(all="ignore"):
            exponentials = np.exp(self.masked)
            sums = exponentials.sum(-1)
            exponentials /= np.where(self.empty_rows, sums.dtype.type(1), sums)[..., None]
            output = _mix(round_to(exponentials, self.options.precision), self.v, self.mask)
        output[np.isposinf(sums)] = np.inf
        output[self.empty_rows] = self.head_output[self.empty_rows]
        sound = np.isfinite(self.denominators) & ~self.empty_rows
        failures = (("overflow", np.isposinf(sums)), ("underflow", sums == 0))
        failure = next((name for name, rows in failures if (rows & sound).any()), None)
        return self._merged(round_to(output, self.options.precision)), failure

    def _merged(self, output: Floats) -> Floats:
        merged = heads.merge(output) if self.options.heads else output
        merged.setflags(write=False)
        return merged


def attend(
    q: Any, k: Any, v: Any, options: Options = DEFAULT, *, keep: Any = None, bias: Any = None, limit: int = LIMIT,
) -> Trace:  # fmt: skip
    """Scaled dot-product attention of queries q (…, n, dk), keys k (…, m, dk) and values v (…, m, dv).

    Leading axes broadcast. In the last of them, the heads, k and v may have fewer entries that divide those
    of q: query head h then uses key/value head h // (query heads / key heads). keep, True = may attend, and
    bias, added after the softcap, finite or −∞ (masks), are (n, m) or broadcast to the scores. q, k and v may
    hold NaN and ∞: masked ones contribute nothing.

    Raises ShapeError, DtypeError, OptionError, LimitError (more than `limit` scores) and OverflowLabError
    (finite inputs gave a number beyond the precision; names the cell). All are LabError and have `field`.
    """
    if not isinstance(options, Options):
        raise OptionError(f"options must be Options(…); got {type(options).__name__}")
    inputs = [matrix(array, label) for array, label in ((q, "Q"), (k, "K"), (v, "V"))]
    if options.heads is not None:
        counts = (*options.heads, options.heads[1])
        inputs = [heads.split(*each) for each in zip(inputs, counts, "qkv", strict=True)]
    arrays = heads.align(inputs[0], inputs[1], inputs[2], limit)
    shape = (*arrays[0].shape[:-1], arrays[1].shape[-2])
    added = None if bias is None else additive_bias(bias, shape)
    return _forward((*arrays, added), masks.rules(options, shape, keep, added), options)


def _forward(given: Given, rules: tuple[masks.Rule, ...], options: Options) -> Trace:
    precision, work, bias = options.precision, FORMATS[options.precision].work, given[3]
    with np.errstate(all="ignore"):
        q, k, v = (round_to(array, precision) for array in given[:3])
        scores = ordered.product(q, np.swapaxes(k, -1, -2))
        visible = masks.combine(rules)
        mask = np.broadcast_to(visible, scores.shape)
        empty = np.broadcast_to(~visible.any(-1), scores.shape[:-1])

        named = {"sqrt_dk": 1 / math.sqrt(q.shape[-1]), "none": 1.0}
        scale: Any = named.get(str(options.scale), options.scale)
        scaled = scores if scale == 1 else scores * constant(scale, work, "scale")
        tempered = scaled if options.temperature == 1 else scaled / constant(options.temperature, work, "T")
        capped = tempered
        if options.softcap is not None:
            cap = constant(options.softcap, work, "softcap")
            capped = np.tanh(tempered / cap) * cap
        biased = capped
        if bias is not None:  # −∞ hides even NaN, and puts itself where it masks
            biased = np.where(np.isneginf(bias), bias.astype(work), capped + bias.astype(work))
        in_place = all(rule.code == "bias" for rule in rules) or visible.all()
        masked = biased if in_place else np.where(mask, biased, work(-np.inf))

        row_max = masked.max(-1)
        exponentials = masked - np.where(empty, work(0), row_max)[..., None]
        np.exp(exponentials, out=exponentials)
        if spoiled := not np.isfinite(row_max[~empty]).all():
            exponentials[~mask] = 0  # a visible NaN or ∞ makes its row NaN, but a masked cell stays 0
        if uniform := options.empty_row == "uniform":
            exponentials[empty] = 1
        denominators = ordered.sums(exponentials)
        log_sum_exp = row_max + np.log(denominators)
        divisor = np.where(empty, work(1), denominators) if options.empty_row == "zero" else denominators
        weights = exponentials / divisor[..., None]
        if spoiled:
            weights[~mask & ~empty[..., None]] = 0
        weights = round_to(weights, precision)
        used = mask | empty[..., None] if uniform else mask
        output = _mix(weights, v, used)
        trace = Trace(
            q, k, v, options, scale, rules, mask, scores, scaled, tempered, capped, biased, masked,
            row_max, exponentials, denominators, log_sum_exp, weights, round_to(output, precision), given,
        )  # fmt: skip
        _refuse_overflow(trace, used)
    return trace


def _mix(weights: Floats, v: Floats, used: Bools) -> Floats:
    """weights · v, where a value that is NaN or ∞ reaches only the queries that may attend to it."""
    wild = ~np.isfinite(v)
    if not wild.any():
        return ordered.product(weights, v)
    output = ordered.product(weights, np.where(wild, v.dtype.type(0), v))
    seen, vanished = used & (weights > 0), used & (weights == 0)
    up, down = seen @ np.isposinf(v), seen @ np.isneginf(v)  # a product of booleans: is there any?
    output[up], output[down] = np.inf, -np.inf
    output[used @ np.isnan(v) | vanished @ np.isinf(v) | up & down] = np.nan  # 0·∞ and ∞ − ∞
    return output


def _refuse_overflow(trace: Trace, used: Bools) -> None:
    """Raise where finite inputs gave a visible number that is not finite; WebAssembly has no flags to ask."""
    precision, finite = trace.options.precision, np.isfinite
    work: Precision = "float64" if precision == "float64" else "float32"
    q, k, v, bias = trace.given
    # Bounds on the inputs nearly always rule overflow out, which spares a pass per stage.
    most_q, most_k, most_v = (
        max(float(each.max()), -float(each.min())) for each in (trace.q, trace.k, trace.v)
    )
    added = 0.0 if bias is None else float(np.abs(bias[finite(bias)]).max(initial=0.0))
    factor = max(1.0, abs(trace.scale), abs(trace.scale) / trace.options.temperature)
    reach = most_q * most_k * trace.q.shape[-1] * factor + added
    if reach < FORMATS[work].largest / 2 and most_v < FORMATS[precision].largest / 2:
        return
    inputs = ((q, trace.q, trace.mask.any(-1)), (k, trace.k, trace.mask.any(-2)), (v, trace.v, used.any(-2)))
    for name, (before, after, seen) in zip("qkv", inputs, strict=True):
        refuse(finite(before) & ~finite(after) & np.expand_dims(seen, -1), name.upper(), name, precision)
    if bias is not None:
        refuse(finite(bias) & ~finite(bias.astype(trace.scores.dtype)), "bias", "bias", work)
    clean = trace.mask & finite(q).all(-1, keepdims=True) & np.expand_dims(finite(k).all(-1), -2)
    stages = {"scores": "q", "scaled": "scale", "tempered": "T", "capped": "softcap", "biased": "bias"}
    for stage, field in stages.items():
        refuse(clean & ~finite(getattr(trace, stage)), stage, field, work)
    clean = finite(trace.weights).all(-1, keepdims=True) & ~(used @ ~finite(v))
    refuse(clean & ~finite(trace.head_output), "output", "v", precision)
