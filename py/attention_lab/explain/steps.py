"""One attention computation as a sequence of steps: what each reads, writes and says, as plain data.

A step is a pure function of its index, so going back is exact. Every value shown is the Trace's own; only the
what-if of a division frame (largest weight without it) is computed here. It draws nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError

if TYPE_CHECKING:
    from attention_lab.core import Trace
    from attention_lab.problem import Problem

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Write = Callable[[float], str]

MOST_TOKENS = 16
MOST_TERMS = 16  # a longer sum is shortened in the text; the numbers all stand in the tables
MOST_COLUMNS = 8
ULP = 2.0**-52  # distance from 1 to the next float64
FRAMES = 4  # start, scores complete, weights complete, output complete
TITLES = {
    "vectors": "Vectors",
    "scores": "Scores",
    "divide": "Division",
    "mask": "Mask",
    "softmax": "Softmax",
    "output": "Output",
}


class Cell(NamedTuple):
    """One number: the table it stands in ("q", "k", "v" or a stage of the Trace), row and column from 0."""

    table: str
    i: int
    j: int


class Phase(NamedTuple):
    """A run of steps of one kind: name, title, index of its first step, number of steps."""

    name: str
    title: str
    first: int
    length: int


@dataclass(frozen=True)
class Step:
    """One step. `i` is the query row at work, `j` the key; None where a whole row or nothing is at work."""

    index: int
    phase: str
    title: str
    i: int | None
    j: int | None
    reads: tuple[Cell, ...]
    writes: tuple[Cell, ...]
    sentence: str
    arithmetic: tuple[str, ...]
    """Lines of text with the step's own numbers."""
    dots: int
    """Dot products of a query with a key done once this step is done."""
    multiplications: int
    """Multiplications done once this step is done: d_k for each dot product, m·d_v for each output row."""


@dataclass(frozen=True, eq=False)
class Grid:
    """The n×m grid as it stands after a step."""

    stage: tuple[str, ...]
    """Stage of the Trace that each row shows."""
    values: FloatArray
    known: BoolArray
    masked: BoolArray
    output_rows: int
    """Rows of the output that are done."""


@dataclass(frozen=True, eq=False)
class Division:
    """Row i before and after the division, with the largest weight softmax gives each over the visible keys."""

    i: int
    before: FloatArray
    after: FloatArray
    divisor: float
    largest_before: float
    largest_after: float

    @property
    def applies(self) -> bool:
        """The statement is about divisors above one, and about rows with a key to see."""
        return self.divisor > 1 and not math.isnan(self.largest_before)

    @property
    def holds(self) -> bool:
        """Dividing did not raise the largest weight, beyond rounding."""
        return not self.applies or self.largest_after <= self.largest_before * (1 + 16 * ULP)


def four_decimals(x: float) -> str:
    """The default way to write a number: `-0.5` → `−0.5000`."""
    if math.isnan(x):
        return "NaN"
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    text = f"{x:.4f}" if abs(x) < 1e15 else f"{x:.4e}"
    return "0.0000" if text == "-0.0000" else text.replace("-", "−")


def short(x: float, write: Write) -> str:
    """Whole numbers and halves as people write them, anything else by `write`: `2.5` → `2.5`, `-1.0` → `−1`."""
    if math.isfinite(x) and 2 * x == int(2 * x) and abs(x) < 1e6:
        return (str(int(x)) if x == int(x) else repr(x)).replace("-", "−")
    return write(x)


def largest_weight(scores: FloatArray, visible: BoolArray) -> float:
    """The largest softmax weight of one row over its visible keys; NaN when there is none.

    The largest shifted exponential is 1, so the weight is one over the denominator. Source: as in `attend()`.
    """
    seen = scores[visible]
    if seen.size == 0 or not np.isfinite(seen).any():
        return math.nan
    return float(1.0 / np.exp(seen - seen.max()).sum())


def ranges(numbers: Sequence[int]) -> str:
    """`[0, 1, 2, 5]` → `0–2, 5`."""
    parts: list[str] = []
    start = previous = None
    for number in [*numbers, None]:
        if start is not None and number != (previous or 0) + 1:
            parts.append(f"{start}" if start == previous else f"{start}–{previous}")
            start = None
        if start is None:
            start = number
        previous = number
    return ", ".join(parts)


class Walk(Sequence[Step]):
    """All steps of one 2-D problem, made when asked for. Index it like a list; `grid(index)` is the state after a step."""

    def __init__(self, problem: Problem, trace: Trace, write: Write) -> None:
        self.problem, self.trace, self.write = problem, trace, write
        self.n, self.m = trace.scores.shape
        self.dk, self.dv = trace.k.shape[-1], trace.v.shape[-1]
        self.visible: BoolArray = np.asarray(trace.mask, dtype=bool) & ~np.isneginf(trace.biased)
        self.masked = trace.masked is not trace.biased or not bool(self.visible.all())
        self.logits = self._logits_stage()
        self.phases = self._phases()

    # the sequence

    def __len__(self) -> int:
        return sum(phase.length for phase in self.phases)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> list[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | list[Step]:
        if isinstance(index, slice):
            return [self._step(k) for k in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"There is no step {index}: expected 0 to {len(self) - 1}.")
        return self._step(index % len(self))

    def __iter__(self) -> Iterator[Step]:
        return (self._step(k) for k in range(len(self)))

    def phase_of(self, index: int) -> Phase:
        """The phase that step `index` belongs to."""
        return next(phase for phase in reversed(self.phases) if index >= phase.first)

    @property
    def dots(self) -> int:
        """Dot products in all."""
        return self.n * self.m

    @property
    def multiplications(self) -> int:
        """Multiplications in all, those with a masked weight included (a kernel may skip them)."""
        return self.n * self.m * (self.dk + self.dv)

    # what the screen shows

    def grid(self, index: int) -> Grid:
        """The grid once step `index` is done."""
        trace = self.trace
        values = np.array(trace.scores, dtype=np.float64)
        known = np.arange(self.n * self.m).reshape(self.n, self.m) < index
        masked = np.zeros((self.n, self.m), dtype=bool)
        stage = ["scores"] * self.n
        done = {phase.name: min(max(index - phase.first + 1, 0), self.n) for phase in self.phases}
        for name, table in (("divide", self.logits), ("mask", "masked"), ("softmax", "weights")):
            rows = done.get(name, 0)
            if rows:
                values[:rows] = getattr(trace, table)[:rows]
                stage[:rows] = [table] * rows
        rows = done["softmax"] if not self.masked else max(done["mask"], done["softmax"])
        masked[:rows] = ~self.visible[:rows]
        return Grid(tuple(stage), values, known, masked, done["output"])

    def division(self, i: int) -> Division:
        """Row i before and after scale and temperature."""
        before, after = self._row("scores", i), self._row("tempered", i)
        visible = self.visible[i]
        return Division(
            i, before, after, self.divisor, largest_weight(before, visible), largest_weight(after, visible)
        )

    @property
    def divisor(self) -> float:
        """What scores are divided by in all: √d_k, or one over the chosen scale, times the temperature."""
        scale = float(self.trace.scale)
        return float(self.trace.options.temperature) / scale if scale else math.inf

    def division_text(self) -> str:
        """`÷ √dₖ = 2`, `÷ 1`, `× 0.3000`, each with `÷ T = …` when there is a temperature."""
        options = self.trace.options
        if options.scale == "sqrt_dk":
            text = f"÷ √dₖ = √{self.dk} = {short(math.sqrt(self.dk), self.write)}"
        elif options.scale == "none":
            text = "÷ 1"
        else:
            text = f"× {short(float(self.trace.scale), self.write)}"
        if options.temperature != 1:
            text += f", ÷ T = {short(float(options.temperature), self.write)}"
        return text

    def inexact_rows(self) -> tuple[int, int, float]:
        """(rows whose weights do not add up to exactly 1, rows with a key to see, the largest miss)."""
        misses = [abs(_sum(self._row("weights", i)) - 1.0) for i in range(self.n) if self.visible[i].any()]
        return sum(miss != 0 for miss in misses), len(misses), max(misses, default=0.0)

    # one kind of step each

    def _step(self, index: int) -> Step:
        phase = self.phase_of(index)
        at = index - phase.first
        if phase.name == "vectors":
            return self._start(index)
        if phase.name == "scores":
            return self._dot(index, *divmod(at, self.m)) if at < self.dots else self._scores_complete(index)
        if phase.name == "divide":
            return self._divide(index, at)
        if phase.name == "mask":
            return self._mask(index, at)
        if phase.name == "softmax":
            return self._softmax(index, at) if at < self.n else self._weights_complete(index)
        return self._output(index, at) if at < self.n else self._output_complete(index)

    def _start(self, index: int) -> Step:
        if self.n == self.m:
            sentence = (
                f"{_count(self.n, 'token')}, each with a query and a key of {_count(self.dk, 'number')} and a value of "
                f"{_count(self.dv, 'number')}. Nothing is computed yet."
            )
        else:
            sentence = (
                f"{_count(self.n, 'query', 'queries')} and {_count(self.m, 'key')} of {_count(self.dk, 'number')}, "
                f"each key with a value of {_count(self.dv, 'number')}. Nothing is computed yet."
            )
        lines = (
            f"to come: {self.n} × {self.m} = {_count(self.dots, 'dot product')}",
            f"and {self.n}·{self.m}·({self.dk} + {self.dv}) = {_count(self.multiplications, 'multiplication')} in all",
        )
        return self._made(index, "Start", sentence, lines)

    def _dot(self, index: int, i: int, j: int) -> Step:
        query, key, value = self.trace.q[i], self.trace.k[j], float(self.trace.scores[i, j])
        shown = self._short(value)
        sentence = f"{self._query(i)} meets {self._key(j)}: their score is {shown}."
        if value == 0:
            sentence += " Zero is a score, not a blank."
        line = f"S[{i},{j}] = {self._products(query, key)} {self._equals(value)} {shown}"
        reads = _line("q", i, self.dk) + _line("k", j, self.dk)
        return self._made(
            index, f"Score of query {i} and key {j}", sentence, (line,), i, j, reads, (Cell("scores", i, j),)
        )

    def _scores_complete(self, index: int) -> Step:
        zeros = int(np.count_nonzero(self.trace.scores == 0))
        counted = f"{zeros} of them {'is' if zeros == 1 else 'are'} zero" if zeros else "none of them is zero"
        sentence = f"All {_count(self.dots, 'score')} are computed; {counted}. No score needed any other."
        line = f"{self.dots} dot products × {self.dk} = {_count(self.dots * self.dk, 'multiplication')}"
        return self._made(index, "Scores complete", sentence, (line,))

    def _divide(self, index: int, i: int) -> Step:
        division = self.division(i)
        how = self.division_text()
        if math.isnan(division.largest_before):
            effect = "it will see no key, so no weight depends on it."
        else:
            effect = (
                f"its largest weight would be {self.write(division.largest_before)} without this "
                f"and {'is' if self._only_division() else 'would be'} {self.write(division.largest_after)} with it."
            )
        sentence = f"Row {self._who(i, self.problem.query_labels)}: {how}; {effect}"
        lines = [f"before: {self._list(division.before)}", f"{how}: {self._list(division.after)}"]
        trace = self.trace
        if trace.capped is not trace.tempered:
            cap = self._short(float(trace.options.softcap or math.inf))
            lines.append(f"softcap {cap}·tanh(x ÷ {cap}): {self._list(self._row('capped', i))}")
        if trace.biased is not trace.capped:
            lines.append(f"plus bias: {self._list(self._row('biased', i))}")
        return self._made(
            index,
            f"Division, row {i}",
            sentence,
            tuple(lines),
            i,
            None,
            _line("scores", i, self.m),
            _line(self.logits, i, self.m),
        )

    def _mask(self, index: int, i: int) -> Step:
        seen = [int(j) for j in np.flatnonzero(self.visible[i])]
        hidden = [int(j) for j in np.flatnonzero(~self.visible[i])]
        who = f"Row {self._who(i, self.problem.query_labels)}"
        if not hidden:
            sentence = f"{who} may see every key; its scores stay as they are."
        elif not seen:
            sentence = f"{who} may see no key at all: every score becomes −∞."
        else:
            sentence = (
                f"{who} may see {_keys(seen)}; {_keys(hidden)} {'is' if len(hidden) == 1 else 'are'} masked: "
                f"{'its score becomes' if len(hidden) == 1 else 'their scores become'} −∞."
            )
        lines = [
            f"before: {self._list(self._row(self.logits, i))}",
            f"after: {self._list(self._row('masked', i))}",
        ]
        if hidden:
            lines += [reason.text for reason in self.trace.why(i, hidden[0])]
        return self._made(
            index,
            f"Mask, row {i}",
            sentence,
            tuple(lines),
            i,
            None,
            _line(self.logits, i, self.m),
            _line("masked", i, self.m),
        )

    def _softmax(self, index: int, i: int) -> Step:
        trace, visible = self.trace, self.visible[i]
        weights, logits = self._row("weights", i), self._row("masked", i)
        who = f"Row {self._who(i, self.problem.query_labels)}"
        if not visible.any():
            sentence = f"{who} may see no key: its weights are set to {self._list(weights[:1])} by the empty-row option."
            lines: tuple[str, ...] = (f"weights: {self._list(weights)}",)
        else:
            top = float(np.ravel(trace.row_max)[i])
            total = float(np.ravel(trace.denominators)[i])
            exponentials = self._row("exponentials", i)
            j = int(np.argmax(weights))
            ties = [int(t) for t in np.flatnonzero(weights == weights[j])]
            sentence = f"{who}: the largest weight is {self.write(float(weights[j]))}, on {_keys(ties)}."
            if len(ties) == 1:
                sentence = sentence[:-1] + f"{self._label(j, self.problem.key_labels)}."
            rows = [
                f"largest score {self._short(top)}; the sum of e^(score − {_bracket(self._short(top))}) is "
                f"{self.write(total)}; weight = e^(score − {_bracket(self._short(top))}) ÷ {self.write(total)}"
            ]
            for key in np.flatnonzero(visible).tolist():
                power, weight = float(exponentials[key]), float(weights[key])
                rows.append(
                    f"key {key}: e^({self._short(float(logits[key]))} − {_bracket(self._short(top))}) "
                    f"{self._equals(power)} {self.write(power)} → {self.write(weight)}"
                )
            hidden = [int(t) for t in np.flatnonzero(~visible)]
            if hidden:
                rows.append(f"{_keys(hidden)}: e^(−∞) = 0, weight exactly 0")
            lines = tuple(rows)
        return self._made(
            index,
            f"Softmax, row {i}",
            sentence,
            lines,
            i,
            None,
            _line("masked" if self.masked else self.logits, i, self.m),
            _line("weights", i, self.m),
        )

    def _weights_complete(self, index: int) -> Step:
        inexact, rows, miss = self.inexact_rows()
        if rows == 0:
            sentence = "No row may see a key, so there is nothing to add up."
        elif inexact == 0:
            each = "The one row" if rows == 1 else f"Each of the {rows:,} rows"
            sentence = f"All weights are computed. {each} adds up to exactly 1."
        else:
            bound = "one ulp (2.2e-16)" if miss <= ULP else f"{miss:.1e}"
            sentence = (
                f"All weights are computed. Each row adds up to 1 within {bound}; "
                f"{inexact} of {_count(rows, 'row')} {'is' if inexact == 1 else 'are'} not exactly 1."
            )
        hidden = int(np.count_nonzero(~self.visible))
        lines = [f"largest distance of a row sum from 1: {f'{miss:.1e}' if miss else '0'}"]
        if hidden:
            zero = int(np.count_nonzero(self.trace.weights[~self.visible] == 0))
            lines.append(f"masked weights that are exactly 0: {zero} of {hidden}")
        return self._made(index, "Weights complete", sentence, tuple(lines))

    def _output(self, index: int, i: int) -> Step:
        weights, output = self._row("weights", i), self._row("output", i)
        used = np.flatnonzero(self.visible[i] | (weights != 0))
        who = f"Row {self._who(i, self.problem.query_labels)}"
        if used.size == 0:
            sentence = f"{who} mixes no value: its output is {self._vector(output)}."
        else:
            by = "its weights" if used.size > 1 else "the weight"
            sentence = f"{who} mixes {_count(int(used.size), 'value')} by {by}: the output is {self._vector(output)}."
        lines = []
        for c in range(min(self.dv, MOST_COLUMNS)):
            value = float(output[c])
            products = self._products(weights[used], self.trace.v[used, c]) or "nothing to add"
            lines.append(f"O[{i},{c}] = {products} {self._equals(value)} {self.write(value)}")
        if self.dv > MOST_COLUMNS:
            lines.append(f"… and {self.dv - MOST_COLUMNS} more columns")
        hidden = [int(j) for j in range(self.m) if j not in set(used.tolist())]
        if hidden:
            lines.append(f"{_keys(hidden)}: weight exactly 0, nothing to add")
        reads = _line("weights", i, self.m) + tuple(
            Cell("v", int(j), c) for j in used for c in range(self.dv)
        )
        return self._made(
            index, f"Output, row {i}", sentence, tuple(lines), i, None, reads, _line("output", i, self.dv)
        )

    def _output_complete(self, index: int) -> Step:
        sentence = (
            f"Done: {_count(self.n, 'output row')} of {_count(self.dv, 'number')}, each a mixture of values. "
            f"{_count(self.dots, 'dot product')}, {_count(self.multiplications, 'multiplication')}."
        )
        line = f"{self.n}·{self.m}·({self.dk} + {self.dv}) = {_count(self.multiplications, 'multiplication')}"
        return self._made(index, "Output complete", sentence, (line,))

    def _made(
        self,
        index: int,
        title: str,
        sentence: str,
        arithmetic: tuple[str, ...],
        i: int | None = None,
        j: int | None = None,
        reads: tuple[Cell, ...] = (),
        writes: tuple[Cell, ...] = (),
    ) -> Step:
        dots = min(index, self.dots)
        rows = min(max(index - self.phases[-1].first + 1, 0), self.n)
        return Step(
            index=index,
            phase=self.phase_of(index).name,
            title=title,
            i=i,
            j=j,
            reads=reads,
            writes=writes,
            sentence=sentence,
            arithmetic=arithmetic,
            dots=dots,
            multiplications=dots * self.dk + rows * self.m * self.dv,
        )

    # layout and wording

    def _phases(self) -> tuple[Phase, ...]:
        counts = {
            "vectors": 1,
            "scores": self.dots + 1,
            "divide": self.n,
            "mask": self.n if self.masked else 0,
            "softmax": self.n + 1,
            "output": self.n + 1,
        }
        phases, first = [], 0
        for name, count in counts.items():
            if count:
                phases.append(Phase(name, TITLES[name], first, count))
            first += count
        return tuple(phases)

    def _logits_stage(self) -> str:
        """The last stage before the mask that an option switched on; "scaled" when there is none."""
        name, before = "scaled", self.trace.scaled
        for stage in ("tempered", "capped", "biased"):
            array = getattr(self.trace, stage)
            if array is not before:
                name, before = stage, array
        return name

    def _only_division(self) -> bool:
        """True when the division alone decides the weights, so that `largest_after` is the Trace's own weight."""
        trace = self.trace
        return trace.biased is trace.tempered and trace.options.precision == "float64"

    def _row(self, stage: str, i: int) -> FloatArray:
        return np.asarray(getattr(self.trace, stage)[i], dtype=np.float64)

    def _short(self, x: float) -> str:
        return short(x, self.write)

    def _list(self, values: FloatArray) -> str:
        return "  ".join(self._short(float(x)) for x in values)

    def _vector(self, values: FloatArray) -> str:
        """`(1, 0.4048)`, cut after a few entries."""
        shown = ", ".join(self._short(float(x)) for x in values[:MOST_COLUMNS])
        return f"({shown}, …)" if len(values) > MOST_COLUMNS else f"({shown})"

    def _equals(self, value: float) -> str:
        """ "=" when the text is the number, "≈" when it is rounded."""
        text = self._short(value).replace("−", "-")
        try:
            return "=" if float(text) == value else "≈"
        except ValueError:
            return "="

    def _products(self, left: FloatArray, right: FloatArray) -> str:
        """`[1, -2]`, `[3, 4]` → `1·3 + (−2)·4`; the middle of a long sum is left out and counted."""
        pairs = zip(np.asarray(left).tolist(), np.asarray(right).tolist(), strict=True)
        terms = [f"{_bracket(self._short(a))}·{_bracket(self._short(b))}" for a, b in pairs]
        if len(terms) > MOST_TERMS:
            terms = [*terms[:6], f"… {len(terms) - 8} more …", *terms[-2:]]
        return " + ".join(terms)

    def _query(self, i: int) -> str:
        return f"Query {self._who(i, self.problem.query_labels)}"

    def _key(self, j: int) -> str:
        return f"key {self._who(j, self.problem.key_labels)}"

    def _who(self, index: int, labels: tuple[str, ...] | None) -> str:
        return f"{index}{self._label(index, labels)}"

    @staticmethod
    def _label(index: int, labels: tuple[str, ...] | None) -> str:
        return f" “{labels[index]}”" if labels else ""


def steps(problem: Problem, trace: Trace, write: Write = four_decimals) -> Walk:
    """All steps of one 2-D problem: n·m + n + (n if masked) + n + n + 4 of them.

    `problem` is q (n, d_k), k (m, d_k), v (m, d_v) with its Trace; `write` turns numbers into text.
    Raises LabError for more than 16 queries or keys, and for a problem with batch or head axes.
    """
    if trace.scores.ndim != 2:
        raise LabError(
            f"The walkthrough takes one batch and head: expected scores with 2 axes, got {trace.scores.ndim}."
        )
    n, m = trace.scores.shape
    if n > MOST_TOKENS or m > MOST_TOKENS:
        raise LabError(
            f"The walkthrough takes at most {MOST_TOKENS} queries and {MOST_TOKENS} keys; this problem has {n} and {m}. "
            "The Calculator shows all its stages at once."
        )
    return Walk(problem, trace, write)


def _sum(values: FloatArray) -> float:
    """Added in key order, as a reader would."""
    total = 0.0
    for value in values.tolist():
        total += value
    return total


def _line(table: str, i: int, count: int) -> tuple[Cell, ...]:
    return tuple(Cell(table, i, j) for j in range(count))


def _keys(indices: Sequence[int]) -> str:
    return f"key{'' if len(indices) == 1 else 's'} {ranges(indices)}"


def _bracket(text: str) -> str:
    return f"({text})" if text.startswith("−") else text


def _count(count: int, word: str, many: str | None = None) -> str:
    return f"{count:,} {word if count == 1 else many or word + 's'}"
