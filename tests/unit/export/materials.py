"""Problems that between them use every option, as Materials for the export tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_lab.core import Options
from attention_lab.export.material import Material
from attention_lab.inputs.examples import load
from attention_lab.problem import Problem, take

LINK = "https://example.org/lab/#q=1,0;0,1&k=1,0;0,1&v=1,2;3,4"
INF = float("inf")


def material(problem: Problem, **more: Any) -> Material:
    trace = problem.trace()
    part, part_trace = take(problem, trace)
    n, m = part_trace.scores.shape
    width = max(part.q.shape[-1], part_trace.output.shape[-1])
    names = {
        "query_names": problem.query_labels or tuple(f"Q{i + 1}" for i in range(n)),
        "key_names": problem.key_labels or tuple(f"K{j + 1}" for j in range(m)),
        "dim_names": tuple(f"d{c + 1}" for c in range(width)),
    }
    return Material(problem, trace, part, part_trace, **{"link": LINK, **names, **more})


def random(
    q: tuple[int, ...], k: tuple[int, ...], options: Options, dv: int = 3, seed: int = 3, **more: Any
) -> Problem:
    rng = np.random.default_rng(seed)
    return Problem(
        rng.standard_normal(q), rng.standard_normal(k), rng.standard_normal((*k[:-1], dv)), options, **more
    )


def problems() -> dict[str, Problem]:
    """name → problem."""
    made = {f"example {e.name}": Problem(e.q, e.k, e.v) for e in load().all}
    bias = np.array([[0.0, -1.5, -INF, 2.0, 0.25], [1.0, 0, 0, 0, -INF], [-INF] * 5])
    keep = np.array([[1, 1, 0, 1, 1], [0, 0, 0, 0, 0], [1, 0, 1, 0, 1]], bool)
    small = (3, 4), (5, 4)
    made |= {
        "plain": random(*small, Options()),
        "unscaled": random(*small, Options(scale="none")),
        "own scale": random(*small, Options(scale=-0.3)),
        "temperature": random(*small, Options(temperature=0.3)),
        "softcap": random(*small, Options(softcap=1.5, causal="top-left")),
        "causal top-left": random(*small, Options(causal="top-left")),
        "causal bottom-right": random(*small, Options(causal="bottom-right")),
        "causal offset with empty row": random(*small, Options(causal=-1)),
        "empty rows NaN": random(*small, Options(causal=-1, empty_row="nan")),
        "empty rows uniform": random(*small, Options(causal=-2, empty_row="uniform")),
        "window": random(*small, Options(window=(1, 0))),
        "open window, causal": random(*small, Options(window=(1, None), causal="bottom-right")),
        "keep": random(*small, Options(), keep=keep),
        "keep of one row": random(*small, Options(), keep=keep[:1]),
        "bias": random(*small, Options(), bias=bias),
        "finite bias": random(*small, Options(), bias=np.where(np.isinf(bias), 0.5, bias)),
        "everything": random(
            *small,
            Options(
                scale=0.7,
                temperature=2.0,
                softcap=3.0,
                causal=1,
                window=(2, 2),
                lengths=(4,),
                empty_row="uniform",
            ),
            keep=keep,
            bias=bias,
        ),
        "batch": random((2, 3, 4), (2, 5, 4), Options(causal="bottom-right", lengths=(5, 2))),
        "batch, lengths alone": random((2, 3, 4), (2, 5, 4), Options(lengths=(5, 2))),
        "no valid keys": random(*small, Options(lengths=(0,))),
        "spread batch": random((2, 1, 3, 4), (1, 3, 5, 4), Options(causal="top-left")),
        "grouped heads": random((2, 4, 3, 4), (2, 2, 5, 4), Options(lengths=(3, 5), temperature=0.7)),
        "packed heads": random((2, 3, 8), (2, 5, 4), Options(heads=(4, 2)), dv=6),
        "packed heads, one sequence": random((3, 8), (5, 8), Options(heads=(2, 2), causal="top-left"), dv=4),
        "packed, empty rows": random(
            (2, 3, 8), (2, 5, 4), Options(heads=(4, 2), causal=-1, lengths=(0, 5)), dv=6
        ),
        "float32": random(*small, Options(precision="float32", causal="top-left")),
        "float16": random(*small, Options(precision="float16", causal="top-left")),
        "bfloat16": random(*small, Options(precision="bfloat16", window=(1, 1))),
        "large numbers": Problem(
            np.array([[3e5, -2e5]]), np.array([[1e5, 2e5], [2e5, 3e5]]), np.array([[1e6, -1.0], [-1e6, 2.0]])
        ),
        "one number": Problem(np.array([[0.1]]), np.array([[0.3]]), np.array([[1 / 3]])),
    }
    return made


def bare(problem: Problem) -> Problem:
    """The same without token labels."""
    return Problem(problem.q, problem.k, problem.v, problem.options, problem.keep, problem.bias)


PROBLEMS = problems()
