"""Predict mode: what a step asks for, whether an answer is right, and which common slip explains a wrong one.

A slip is only named when its own number is the reader's number. It knows pencil slips; the catalogue of
mistakes in code is diagnosis/.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError
from attention_lab.explain.steps import Walk, ranges

if TYPE_CHECKING:
    from attention_lab.core import Trace

Table = NDArray[np.floating[Any]]

MOST_SLIPS = 3


@dataclass(frozen=True)
class Question:
    """What to predict before a step: the question, the cell meant (None for a count) and the Trace's value."""

    text: str
    table: str
    i: int
    j: int | None
    value: float


@dataclass(frozen=True)
class Answer:
    """What became of a guess: right or not, one sentence, and the names of the slips that give this number."""

    right: bool
    sentence: str
    slips: tuple[str, ...] = ()


def question(walk: Walk, index: int) -> Question | None:
    """What step `index` asks, or None for a framing step or a row without a number to predict."""
    step = walk[index]
    i = step.i
    if i is None:
        return None
    trace = walk.trace
    if step.phase == "scores" and step.j is not None:
        return Question(
            f"What is the score of query {i} and key {step.j}?",
            "scores",
            i,
            step.j,
            float(trace.scores[i, step.j]),
        )
    if step.phase == "mask":
        return Question(f"How many keys may row {i} see?", "masked", i, None, float(walk.visible[i].sum()))
    if step.phase == "output":
        return _finite(
            Question(f"What is entry 0 of output row {i}?", "output", i, 0, float(trace.output[i, 0]))
        )
    if not walk.visible[i].any():
        return None
    if step.phase == "divide":
        row = np.asarray(getattr(trace, walk.logits)[i], dtype=np.float64)
        size = np.abs(np.where(np.isfinite(row) & (trace.scores[i] != 0), row, 0.0))
        j = int(np.argmax(size))
        what = (
            "divided" if walk.logits in ("scaled", "tempered") else "after the division, the cap and the bias"
        )
        return _finite(
            Question(f"What is the score of query {i} and key {j}, {what}?", walk.logits, i, j, float(row[j]))
        )
    j = int(np.argmax(trace.weights[i]))
    return _finite(
        Question(f"What weight does row {i} give to key {j}?", "weights", i, j, float(trace.weights[i, j]))
    )


def answer(walk: Walk, index: int, text: str, decimals: int = 4) -> Answer:
    """Judge a guess for step `index`: right when it is within half a unit of the last shown decimal.

    Raises LabError (field "guess") when the text is not a number, or the step asks nothing.
    """
    asked = question(walk, index)
    if asked is None:
        raise LabError("This step asks for no number.", field="guess")
    guess = read_number(text)
    # one part in 10⁹ more, so that the text the page itself would show is never refused
    tolerance = (0.5 + 1e-9) * 10.0**-decimals
    if abs(guess - asked.value) <= tolerance:
        return Answer(True, f"Right: {_shown(asked.value, walk)}.")
    found = []
    for name, value in slips(walk, asked):
        if abs(value - guess) <= tolerance and abs(value - asked.value) > tolerance and name not in found:
            found.append(name)
    if not found:
        return Answer(False, "Not this number, and no common slip gives it. Try again, or show the step.")
    listed = "; or ".join(found[:MOST_SLIPS])
    return Answer(False, f"Not this number. It is what comes out when you {listed}.", tuple(found))


def read_number(text: str) -> float:
    """`"−1,5"` → -1.5, `"1/2"` → 0.5. Raises LabError (field "guess") for anything that is not one finite number."""
    plain = text.strip().replace("−", "-").replace("\u2009", "").replace(",", ".")
    try:
        value = float(Fraction(plain.replace(" ", ""))) if "/" in plain else float(plain)
    except (ValueError, ZeroDivisionError, OverflowError):
        value = math.nan
    if not math.isfinite(value) or len(plain) > 40:
        shown = text if len(text) <= 40 else text[:39] + "…"
        raise LabError(f"Expected one number, such as 2.5 or 1/2; got “{shown}”.", field="guess")
    return value


def slips(walk: Walk, asked: Question) -> Iterator[tuple[str, float]]:
    """(what the reader did, the number it gives) for every slip that can be made at this question.

    The names complete the sentence “it is what comes out when you …”.
    """
    makers: dict[str, Callable[[Walk, Question], Iterator[tuple[str, float]]]] = {
        "scores": _score_slips,
        "masked": _mask_slips,
        "weights": _weight_slips,
        "output": _output_slips,
    }
    for name, value in makers.get(asked.table, _division_slips)(walk, asked):
        if math.isfinite(value):
            yield name, value


def _score_slips(walk: Walk, asked: Question) -> Iterator[tuple[str, float]]:
    trace, i, j = walk.trace, asked.i, asked.j or 0
    q, k, v = trace.q, trace.k, trace.v
    if j < walk.n and i < walk.m:
        yield f"take query {j} and key {i} (rows and columns swapped)", float(trace.scores[j, i])
    yield "divide by √dₖ already", asked.value / math.sqrt(walk.dk)
    yield "add the entries instead of multiplying them", float(q[i].sum() + k[j].sum())
    yield "multiply two sums instead of summing products", float(q[i].sum() * k[j].sum())
    if walk.dv == walk.dk:
        yield f"use the value of token {j} instead of its key", float(q[i] @ v[j])
    if i < walk.m:
        yield "multiply two keys", float(k[i] @ k[j])
    if j < walk.n:
        yield "multiply two queries", float(q[i] @ q[j])
    if walk.dk > 1:
        yield "leave out the last product", float(q[i, :-1] @ k[j, :-1])
        yield "leave out the first product", float(q[i, 1:] @ k[j, 1:])


def _division_slips(walk: Walk, asked: Question) -> Iterator[tuple[str, float]]:
    score, root = float(walk.trace.scores[asked.i, asked.j or 0]), math.sqrt(walk.dk)
    yield "forget to divide", score
    yield "divide by dₖ instead of √dₖ", score / walk.dk
    yield "multiply by √dₖ instead of dividing", score * root
    yield "divide by √n, the number of tokens, instead of √dₖ", score / math.sqrt(walk.n)
    yield "divide by √dᵥ instead of √dₖ", score / math.sqrt(walk.dv)
    yield "divide by √dₖ although this problem does not scale so", score / root
    yield "divide twice", score / walk.divisor / walk.divisor if walk.divisor else math.nan
    if walk.trace.options.temperature != 1:
        yield "forget the temperature", float(walk.trace.scaled[asked.i, asked.j or 0])


def _mask_slips(walk: Walk, asked: Question) -> Iterator[tuple[str, float]]:
    seen = asked.value
    yield "count the masked keys instead of the visible ones", walk.m - seen
    yield "hide the token from itself too", seen - 1
    yield "let one key too many be seen", seen + 1
    yield "forget the mask", float(walk.m)
    yield (
        f"mask the earlier keys instead of the later ones (keys {ranges(range(asked.i, walk.m))} stay)",
        float(walk.m - asked.i),
    )


def _weight_slips(walk: Walk, asked: Question) -> Iterator[tuple[str, float]]:
    i, j = asked.i, asked.j or 0
    for name, weights in _wrong_weights(walk):
        yield name, float(weights[i, j])
    trace = walk.trace
    top, exponential = float(np.ravel(trace.row_max)[i]), float(trace.exponentials[i, j])
    yield "stop at e^(score − largest), before dividing by the sum", exponential
    if top < 700:
        yield "stop at e^score, before dividing by the sum", exponential * math.exp(top)
    logits = np.where(walk.visible, trace.masked, 0.0)[i]
    total = float(logits.sum())
    if total:
        yield "divide the score by the sum of the scores, without e", float(logits[j]) / total
    others = float(np.ravel(trace.denominators)[i]) - exponential
    if others > 0:
        yield "leave the key's own term out of the sum", exponential / others


def _output_slips(walk: Walk, asked: Question) -> Iterator[tuple[str, float]]:
    trace, i, c = walk.trace, asked.i, asked.j or 0
    for name, weights in _wrong_weights(walk):
        yield name, float(weights[i] @ trace.v[:, c])
    if c < walk.dk:
        yield "mix the keys instead of the values", float(trace.weights[i] @ trace.k[:, c])
    if i < walk.m:
        yield "take the token's own value instead of the mixture", float(trace.v[i, c])
        if walk.n == walk.m:
            yield (
                "take the weights from the column instead of the row",
                float(trace.weights[:, i] @ trace.v[:, c]),
            )
    seen = walk.visible[i]
    if seen.any():
        yield "take the plain mean of the visible values", float(trace.v[seen, c].mean())
        yield "add up the visible values without weights", float(trace.v[seen, c].sum())
        yield "take the value of the strongest key alone", float(trace.v[int(np.argmax(trace.weights[i])), c])
        logits = trace.masked[i, seen]
        yield "mix by the scores instead of the weights", float(logits @ trace.v[seen, c])


def _wrong_weights(walk: Walk) -> Iterator[tuple[str, Table]]:
    """Whole weight tables that a slip earlier on would give, each computed by the same engine."""
    trace, problem = walk.trace, walk.problem
    options = trace.options

    def again(**changes: object) -> Trace:
        return replace(problem, options=replace(options, **changes)).trace()  # type: ignore[arg-type]

    if walk.divisor != 1:
        yield "forget to divide", again(scale="none", temperature=1.0).weights
    if options.scale != 1 / walk.dk:
        yield "divide by dₖ instead of √dₖ", again(scale=1 / walk.dk).weights
    yield "multiply by √dₖ instead of dividing", again(scale=math.sqrt(walk.dk)).weights
    if options.temperature != 1:
        yield "forget the temperature", again(temperature=1.0).weights
    if walk.masked:
        open_problem = replace(
            problem, options=replace(options, causal=None, window=None, lengths=None), keep=None, bias=None
        )
        unmasked = open_problem.trace().weights
        yield "forget the mask", unmasked
        yield (
            "mask after softmax, so that the row no longer adds up to 1",
            np.where(walk.visible, unmasked, 0.0),
        )
        yield (
            "put 0 instead of −∞ for masked scores",
            _softmax(np.where(walk.visible, np.asarray(trace.biased, dtype=np.float64), 0.0)),
        )
    logits = np.asarray(trace.masked, dtype=np.float64)
    yield "take softmax down the column instead of along the row", _softmax(logits.T).T
    strict = walk.visible & ~np.eye(walk.n, walk.m, dtype=bool)
    if walk.masked:
        yield "hide the token from itself too", _softmax(np.where(strict, logits, -np.inf))
    yield "use powers of 2 instead of e", _softmax(logits * math.log(2))


def _softmax(logits: Table) -> Table:
    """Rows of weights; a row without a finite entry becomes zeros. Only for the wrong tables above."""
    top = np.max(logits, axis=-1, keepdims=True)
    shifted = np.exp(logits - np.where(np.isfinite(top), top, 0.0))
    total = shifted.sum(axis=-1, keepdims=True)
    weights: Table = np.divide(shifted, total, out=np.zeros_like(shifted), where=total > 0)
    return weights


def _finite(asked: Question) -> Question | None:
    return asked if math.isfinite(asked.value) else None


def _shown(value: float, walk: Walk) -> str:
    from attention_lab.explain.steps import short

    return short(value, walk.write)
