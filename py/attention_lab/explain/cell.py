"""What one cell of a stage is made of: the formula with its own numbers, and the cells it was computed from.

Takes one 2-D slice. Plain data; every number is the Trace's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError
from attention_lab.explain.stages import stages

if TYPE_CHECKING:
    from attention_lab.core import Trace

Floats = NDArray[np.floating[Any]]
SUB = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
MOST_TERMS = 8
Region = tuple[str, int | None, int | None]
"""(table, row, column); None stands for all of them."""


@dataclass(frozen=True)
class CellStory:
    """One cell: where it stands, the formula with numbers, what it reads directly, and what lies behind that."""

    stage: str
    i: int
    j: int
    text: str
    reads: tuple[Region, ...]
    behind: tuple[Region, ...]


def cell(
    trace: Trace, stage: str, i: int, j: int, write: Callable[[float], str], first: int = 1
) -> CellStory:
    """Explain cell (i, j), counted from 0, of a stage of a 2-D trace or of "q", "k", "v".

    `write` formats numbers; `first` is the index that labels start from. Raises LabError when there is no such cell.
    """
    shown = {item.name: item.array for item in stages(trace)}
    tables = shown | {"q": trace.q, "k": trace.k, "v": trace.v}
    if stage not in tables:
        raise LabError(f"There is no stage “{stage}” here: expected one of {', '.join(tables)}.")
    array = tables[stage]
    if not (0 <= i < array.shape[-2] and 0 <= j < array.shape[-1]):
        raise LabError(f"{stage} is {array.shape[-2]}×{array.shape[-1]}: it has no cell ({i}, {j}).")
    names = list(shown)
    logits = names[-3]
    at = f"{_sub(i, j, first)}"
    value = write(float(array[i, j]))
    qk: tuple[Region, ...] = (("q", i, None), ("k", j, None))

    if stage in ("q", "k", "v"):
        use = {
            "q": f"used in every score of row {i + first}",
            "k": f"used in every score of column {i + first}",
            "v": f"mixed into every output, by weight column {i + first}",
        }[stage]
        targets: dict[str, Region] = {
            "q": ("scores", i, None),
            "k": ("scores", None, i),
            "v": ("output", None, j),
        }
        return CellStory(stage, i, j, f"{stage.upper()}{at} = {value}: {use}", (targets[stage],), ())
    if stage == "scores":
        products = sum_of_products(trace.q[i], trace.k[j], write)
        text = f"S{at} = q{_one(i, first)}·k{_one(j, first)} = {products} = {value}"
        return CellStory(stage, i, j, text, qk, ())
    if stage == "weights":
        return CellStory(stage, i, j, _weight_text(trace, i, j, at, value, write), ((logits, i, None),), qk)
    if stage == "output":
        products = sum_of_products(trace.weights[i], trace.v[:, j], write)
        text = f"O{at} = Σ A{_one(i, first)}ⱼ·Vⱼ{_one(j, first)} = {products} = {value}"
        return CellStory(stage, i, j, text, (("weights", i, None), ("v", None, j)), ((logits, i, None), *qk))
    before = names[names.index(stage) - 1]
    text = _logit_text(trace, stage, i, j, write(float(shown[before][i, j])), value, write)
    return CellStory(stage, i, j, text, ((before, i, j),), qk)


def _logit_text(
    trace: Trace, stage: str, i: int, j: int, before: str, value: str, write: Callable[[float], str]
) -> str:
    options = trace.options
    if stage == "scaled":
        if options.scale == "sqrt_dk":
            d_k = trace.q.shape[-1]
            return f"{before} ÷ √{d_k} = {before} ÷ {write(math.sqrt(d_k))} = {value}"
        return f"{before} × {write(float(trace.scale))} = {value}"
    if stage == "tempered":
        return f"{before} ÷ {write(options.temperature)} = {value}"
    if stage == "capped":
        cap = write(float(options.softcap or math.inf))
        return f"{cap} × tanh({before} ÷ {cap}) = {value}"
    if stage == "biased":
        change = "−∞" if value == "−∞" else write(float(trace.biased[i, j]) - float(trace.capped[i, j]))
        return f"{before} + ({change}) = {value}"
    if bool(trace.mask[i, j]):
        return f"{before}, visible: unchanged"
    return f"{before} → −∞: masked, so its weight is exactly 0"


def _weight_text(trace: Trace, i: int, j: int, at: str, value: str, write: Callable[[float], str]) -> str:
    if not bool(trace.mask[i].any()):
        return f"A{at} = {value}: this query may attend to nothing"
    if not bool(trace.mask[i, j]):
        return f"A{at} = 0 exactly: masked"
    top = float(np.ravel(trace.row_max)[i])
    total = float(np.ravel(trace.denominators)[i])
    return (
        f"A{at} = e^({write(float(trace.masked[i, j]))} − {write(top)}) / {write(total)} = {value}".replace(
            "− −", "+ "
        )
    )


def sum_of_products(left: Floats, right: Floats, write: Callable[[float], str]) -> str:
    """`[1, 2]·[3, 4]` → `1×3 + 2×4`; the middle of a long sum is left out and counted."""
    return sums_of_products(left, right[None, :], write)[0]


def sums_of_products(left: Floats, rights: Floats, write: Callable[[float], str]) -> list[str]:
    """The same for left (d,) with each row of rights (m, d); what is left out is not written either."""
    count = left.shape[0]
    rest = count > MOST_TERMS
    kept = [*range(4), count - 2, count - 1] if rest else list(range(count))
    factors = [f"{_factor(a, write)}×" for a in left[kept].tolist()]
    sums = []
    for right in rights[:, kept].tolist():
        terms = [a + _factor(b, write) for a, b in zip(factors, right, strict=True)]
        if rest:
            terms.insert(4, f"… {count - 6} more …")
        sums.append(" + ".join(terms))
    return sums


def _factor(x: float, write: Callable[[float], str]) -> str:
    text = _short(x, write)
    return f"({text})" if text.startswith("−") else text


def _short(x: float, write: Callable[[float], str]) -> str:
    """Whole numbers and halves as people write them; anything else with the chosen decimals."""
    if abs(x) < 1e6 and 2 * x == int(2 * x):
        return (str(int(x)) if x == int(x) else repr(x)).replace("-", "−")
    return write(x)


def _one(index: int, first: int) -> str:
    return str(index + first).translate(SUB)


def _sub(i: int, j: int, first: int) -> str:
    """`(1, 0)` → `₂₁`; a comma keeps two-digit indices apart."""
    left, right = _one(i, first), _one(j, first)
    return left + right if len(left) == len(right) == 1 else f"{left}͵{right}"


def regions_to_selectors(regions: Sequence[Region]) -> list[str]:
    """CSS selectors of the cells of regions: `("q", 1, None)` → `[data-stage="q"] [data-i="1"]`."""
    selectors = []
    for table, i, j in regions:
        row = "" if i is None else f'[data-i="{i}"]'
        column = "" if j is None else f'[data-j="{j}"]'
        selectors.append(f'[data-stage="{table}"] td[data-j]{row}{column}')
    return selectors
