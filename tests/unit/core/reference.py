"""Attention once more, in plain Python loops over numbers, to compare attend() with. Also random problems.

Written from the definition (DESIGN.md, section 3), not from the engine; slow, 2-D, float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from attention_lab.core import Options


def reasons(i: int, j: int, n: int, m: int, options: Options, keep: Any, bias: Any) -> list[str]:
    """Every option that hides key j from query i."""
    shift = {None: 0, "top-left": 0, "bottom-right": m - n}.get(options.causal, options.causal)
    left, right = options.window or (None, None)
    hides = {
        "causal": options.causal is not None and j > i + shift,
        "window": (left is not None and j < i + shift - left)
        or (right is not None and j > i + shift + right),
        "lengths": options.lengths is not None and j >= options.lengths[0],
        "keep": keep is not None and not keep[i][j],
        "bias": bias is not None and bias[i][j] == -math.inf,
    }
    return [code for code, hidden in hides.items() if hidden]


def attention(q: Any, k: Any, v: Any, options: Options, keep: Any = None, bias: Any = None) -> dict[str, Any]:
    """Weights (n rows of m), output (n rows of dv) and log-sum-exps, computed by exact sums where it matters."""
    n, m, dv = len(q), len(k), len(v[0])
    scale = {"sqrt_dk": 1 / math.sqrt(len(q[0])), "none": 1.0}.get(options.scale, options.scale)
    weights, output, log_sum_exp = [], [], []
    for i in range(n):
        logits = {}
        for j in range(m):
            if reasons(i, j, n, m, options, keep, bias):
                continue
            z = math.fsum(float(a) * float(b) for a, b in zip(q[i], k[j], strict=True))
            z = z * scale / options.temperature
            if options.softcap is not None:
                z = options.softcap * math.tanh(z / options.softcap)
            logits[j] = z + (0.0 if bias is None else float(bias[i][j]))
        if not logits:
            weights.append([{"zero": 0.0, "nan": math.nan, "uniform": 1 / m}[options.empty_row]] * m)
            log_sum_exp.append(-math.inf)
        else:
            top = max(logits.values())
            total = math.fsum(math.exp(z - top) for z in logits.values())
            weights.append([math.exp(logits[j] - top) / total if j in logits else 0.0 for j in range(m)])
            log_sum_exp.append(top + math.log(total))
        terms = [j for j in range(m) if weights[-1][j] != 0]
        output.append([math.fsum(weights[-1][j] * float(v[j][c]) for j in terms) for c in range(dv)])
    return {"weights": weights, "output": output, "log_sum_exp": log_sum_exp}


def numbers(limit: float = 8.0) -> st.SearchStrategy[float]:
    return st.floats(-limit, limit, allow_subnormal=False)


@st.composite
def matrices(draw: Any, rows: int, columns: int, limit: float = 8.0) -> np.ndarray:
    """Mostly different numbers, now and then a few that repeat: ties and equal rows must work too."""
    if draw(st.booleans()):
        seed = draw(st.integers(0, 2**32 - 1))
        return np.random.default_rng(seed).standard_normal((rows, columns)) * draw(
            st.sampled_from((0.1, 1, 4))
        )
    flat = draw(st.lists(numbers(limit), min_size=rows * columns, max_size=rows * columns))
    return np.array(flat).reshape(rows, columns)


@st.composite
def problems(draw: Any, masks: bool = True, most: int = 7) -> dict[str, Any]:
    """Arguments of attend() for one 2-D problem with any mix of settings."""
    n, m, dk, dv = (draw(st.integers(1, most)) for _ in range(4))
    q, k, v = draw(matrices(n, dk)), draw(matrices(m, dk)), draw(matrices(m, dv))
    side = st.none() | st.integers(0, 4)
    settings: dict[str, Any] = {
        "scale": draw(st.sampled_from(("sqrt_dk", "none")) | numbers(3.0)),
        "temperature": draw(st.just(1.0) | st.floats(0.2, 5.0)),
        "softcap": draw(st.none() | st.floats(0.5, 50.0)),
        "empty_row": draw(st.sampled_from(("zero", "nan", "uniform"))),
    }
    keep = bias = None
    if masks:
        settings |= {
            "causal": draw(st.none() | st.sampled_from(("top-left", "bottom-right")) | st.integers(-8, 8)),
            "window": draw(st.none() | st.tuples(side, side)),
            "lengths": draw(st.none() | st.tuples(st.integers(0, m))),
        }
        flags = st.lists(st.booleans(), min_size=n * m, max_size=n * m)
        keep = np.array(draw(flags)).reshape(n, m) if draw(st.booleans()) else None
        if draw(st.booleans()):
            bias = np.where(np.array(draw(flags)).reshape(n, m), draw(matrices(n, m)), -np.inf)
    return {"q": q, "k": k, "v": v, "options": Options(**settings), "keep": keep, "bias": bias}
