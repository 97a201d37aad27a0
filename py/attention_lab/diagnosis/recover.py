"""What can be recovered from observed numbers: weights behind an output, dropped weights, a factor, a matrix, a scale.

Does not: accept what it recovers; session.py judges it like any other explanation.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .case import Case, Trial
from .dropout import USUAL
from .flow import Label
from .setting import Array

PATTERNS = 60_000  # patterns of dropped keys tried, over all queries


def weakened(case: Case) -> Iterator[Trial]:
    """All weights times one factor."""
    expected = case.expected
    if (
        not np.isfinite(expected).all()
        or not (size := float(expected @ expected))
        or not np.isfinite(case.observed).all()
    ):
        return
    factor = float(expected @ case.observed) / size
    if 0 < factor < 0.995:
        yield case.trial(Label("D2", f"all weights times {factor:.6g}", 2.4), factor * expected, 1)
    elif factor > 1.005:
        yield case.trial(
            Label("D1", f"nothing dropped, all weights times {factor:.6g}", 2.5), factor * expected, 1
        )


def dropped(case: Case) -> Iterator[Trial]:
    """Dropout: each weight is 0 or a common factor times what it should be."""
    if not np.isfinite(case.observed).all():
        return
    if case.reading.stage == "weights":
        yield from _dropped_weights(case)
    elif 2.0**case.setting.m * case.setting.batches * case.setting.heads * case.setting.n <= PATTERNS:
        yield from _dropped_output(case)
    elif recover(case) is not None:
        yield from _dropped_recovered(case)


def _dropout_label(factor: float) -> Label:
    if abs(factor - 1) < 1e-3:
        return Label("D2", "some weights dropped, the others unchanged", 2.4)
    if factor < 1:
        return Label("D2", f"some weights dropped, the others times {factor:.6g}", 2.5)
    return Label("D1", f"p = {1 - 1 / factor:.4g}", 2.4)


def _dropped_weights(case: Case) -> Iterator[Trial]:
    expected, observed = case.expected, case.observed
    for tolerance in case.tolerances:
        zero = (np.abs(observed) <= tolerance) & (expected > tolerance)
        kept = ~zero & (expected > tolerance)
        if not zero.any() or not kept.any():
            continue
        factor = float(expected[kept] @ observed[kept] / (expected[kept] @ expected[kept]))
        yield case.trial(_dropout_label(factor), np.where(zero, 0.0, factor * expected), 1)


def _dropped_output(case: Case) -> Iterator[Trial]:
    """Every pattern of dropped keys is tried for each query; all queries must agree on the factor."""
    setting, base = case.setting, case.base
    order = case.order
    observed = case.observed[order].reshape(-1, setting.dv)
    patterns = (np.arange(2**setting.m)[:, None] >> np.arange(setting.m)) & 1
    terms = (base["weights"][..., None] * base["v"][..., None, :, :]).reshape(-1, setting.m, setting.dv)
    sums = np.einsum("pm,rmc->rpc", patterns.astype(float), terms)
    for tolerance in case.tolerances:
        width = tolerance[order].reshape(-1, setting.dv)
        best = np.inf
        for factor in _factors(sums, observed, width):
            misses = (np.abs(sums * factor - observed[:, None]) / width[:, None]).max(-1)
            chosen = misses.argmin(-1)
            miss = float(misses[np.arange(len(chosen)), chosen].max())
            if miss <= 1 and miss < best:
                best = miss
                predicted = np.empty(case.observed.size)
                predicted[order] = (sums[np.arange(len(chosen)), chosen] * factor).reshape(-1)
                # Each row chose one of 2^m patterns; told in cells, so that chance is reckoned with.
                cells = len(chosen) * setting.m / max(np.log2(case.peak / tolerance).mean(), 1.0)
                found = case.trial(_dropout_label(factor), predicted, 1 + int(cells))
        if best <= 1:
            yield found
            return


def _factors(sums: Array, observed: Array, width: Array) -> list[float]:
    """Factors worth trying: the usual ones, then those that explain the row with the fewest explanations."""
    usual = [1 / (1 - p) for p in USUAL] + [1.0]
    with np.errstate(all="ignore"):
        factors = (sums * observed[:, None]).sum(-1) / (sums**2).sum(-1)
        fits = (
            (np.abs(sums * factors[..., None] - observed[:, None]) <= width[:, None]).all(-1)
            & (factors > 0.5)
            & (factors < 20)
        )
    counts = fits.sum(-1)
    rows = np.flatnonzero(counts)
    if not rows.size:
        return usual
    row = rows[counts[rows].argmin()]
    # A factor within 1 % of 1 would be a dropout nobody uses.
    return usual + [float(factor) for factor in factors[row][fits[row]] if abs(factor - 1) > 0.01][:64]


def recover(case: Case) -> Array | None:
    """The weights (B, H, n, m) behind an observed output, when V determines them (rank m)."""
    setting = case.setting
    if case.reading.stage != "output" or setting.dv < setting.m or not np.isfinite(case.observed).all():
        return None
    values = case.base["v"]
    if not np.isfinite(values).all() or (np.linalg.matrix_rank(values) < setting.m).any():
        return None
    return np.asarray(case.observed[case.order].reshape(case.base["output"].shape) @ np.linalg.pinv(values))


def _dropped_recovered(case: Case) -> Iterator[Trial]:
    weights, right = recover(case), case.base["weights"]
    assert weights is not None
    zero = np.abs(weights) < 0.25 * right
    kept = ~zero & (right > 0)
    if not zero.any() or not kept.any():
        return
    factor = float((right[kept] * weights[kept]).sum() / (right[kept] ** 2).sum())
    state = {**case.base, "output": np.where(zero, 0.0, factor * right) @ case.base["v"]}
    yield case.trial(_dropout_label(factor), case.reading.cells(state), 1)


def projected(case: Case) -> Iterator[Trial]:
    """The output is the right one times one matrix, possibly plus one row."""
    setting = case.setting
    right = case.base["output"].reshape(-1, setting.dv)
    if (
        case.reading.note
        or setting.packed
        or not np.isfinite(case.observed).all()
        or not np.isfinite(right).all()
    ):
        return
    if case.peak > 1e6 * max(float(np.abs(right).max()), 1e-6):
        return  # no projection is that large, and its squares might overflow
    observed = case.observed.reshape(-1, setting.dv)
    for columns, told in (
        (right, "one matrix"),
        (np.hstack([right, np.ones((len(right), 1))]), "one matrix plus one row"),
    ):
        if len(right) < columns.shape[1] + 2:
            continue
        matrix = _closest(columns, observed, bool(case.half.any()))
        if np.linalg.svd(matrix[: setting.dv], compute_uv=False).min() < 0.02:
            continue  # the right output hardly enters
        yield case.trial(
            Label("H10", f"the right output times {told}", 3.0), (columns @ matrix).reshape(-1), matrix.size
        )


def _closest(columns: Array, observed: Array, printed: bool) -> Array:
    """The matrix for which columns @ matrix is closest to the observed rows.

    Least squares; for printed digits, weighted again and again (Lawson 1961) towards the smallest largest error, for
    least squares may leave a cell outside its digits.
    """
    matrix: Array = np.asarray(np.linalg.lstsq(columns, observed, rcond=None)[0], np.float64)
    for place in range(observed.shape[1] if printed else 0):
        weights = np.full(len(columns), 1 / len(columns))
        for _ in range(40):
            weights = weights * np.abs(columns @ matrix[:, place] - observed[:, place])
            if not (total := float(weights.sum())):
                break
            weights /= total
            root = np.sqrt(weights)
            matrix[:, place] = np.linalg.lstsq(
                columns * root[:, None], observed[:, place] * root, rcond=None
            )[0]
    return matrix


def effective_scale(case: Case) -> float | None:
    """The factor of Q Kᵀ in observed or recovered weights, from the ratios of weights within each row.

    None unless one factor explains all rows to about 1e−3.
    """
    setting = case.setting
    if (
        case.reading.mean
        or case.reading.note
        or setting.options.softcap is not None
        or setting.bias is not None
    ):
        return None
    if case.reading.stage == "weights":
        weights, doubt = case.observed.reshape(case.base["weights"].shape), float(case.tolerances[0].max())
    elif (recovered := recover(case)) is not None:
        weights, doubt = (
            recovered,
            float(case.tolerances[0].max() * np.abs(np.linalg.pinv(case.base["v"])).sum(-2).max()),
        )
    else:
        return None
    if not np.isfinite(weights).all():
        return None
    seen = weights > max(20 * doubt, 1e-300)
    with np.errstate(all="ignore"):
        logs = np.where(seen, np.log(np.where(seen, weights, 1.0)), 0.0)
        counts = np.maximum(seen.sum(-1, keepdims=True), 1)
        scores = np.where(seen, case.base["scores"], 0.0)
        logs = np.where(seen, logs - logs.sum(-1, keepdims=True) / counts, 0.0)
        scores = np.where(seen, scores - scores.sum(-1, keepdims=True) / counts, 0.0)
    size = float((scores**2).sum())
    if size == 0 or not np.isfinite(size):
        return None
    scale = float((scores * logs).sum() / size)
    left = float(np.abs(logs - scale * scores).max())
    return scale if left <= 1e-3 * max(float(np.abs(logs).max()), 1e-3) else None
