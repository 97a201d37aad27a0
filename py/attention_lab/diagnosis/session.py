"""Session: one diagnosis on its way, from exact agreement down to "unknown", in the order of belief.

A right result comes before any mistake, one mistake before two, a fixed formula before a fitted number; each
must earn bits of evidence. Does not: check arguments (match.py) or write sentences (message.py).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import NamedTuple

import numpy as np

from . import compare, invariants, message, rounding
from .case import CHUNK, Case, Trial, composable
from .conventions import MEAN_WEIGHTS
from .fit import fitted
from .flow import Label, State, Variant, run, stack
from .mistakes import CATALOGUE, variants
from .reading import LOGITS, Reading
from .recover import effective_scale, recover
from .result import Candidate, Diagnosis, Place, Verdict
from .setting import Array, Setting

# Mistakes that are common enough to be expected together with another one.
PAIRS = frozenset(
    (
        "S1",
        "S2",
        "S3",
        "S5",
        "S7",
        "S8",
        "S10",
        "S12",
        "S13",
        "A1",
        "X1",
        "X2",
        "X9",
        "X10",
        "X11",
        "M1",
        "M2",
        "M3",
        "M5",
        "M8",
        "M11",
        "M12",
        "M13",
        "M14",
        "M15",
        "M16",
        "M21",
        "L1",
        "L2",
        "L3",
        "L4",
        "L7",
        "L8",
        "H1",
        "H2",
        "H3",
        "H8",
        "C1",
        "C2",
        "C4",
        "O1",
        "O2",
        "O3",
        "O4",
    )
)
PAIR_RANK = 0.45  # only their usual parameters
CONSIDERED = 8  # candidates reported
MOST_FOR_PAIRS = 150_000  # scores; above, trying all pairs would take minutes in a browser
Progress = Generator[float, None, Diagnosis]


class Doubt(NamedTuple):
    """Bits that an explanation must earn before it is believed.

    information: what the numbers hold in all, against chance among many formulas. surprise and misfit: against the
    right numbers computed in a low precision, where that could explain them.
    """

    information: float
    surprise: float
    misfit: float


SINGLE, FITTED, PAIRED = Doubt(0.0, 12.0, 0.0), Doubt(14.0, 20.0, 30.0), Doubt(22.0, 20.0, 10.0)


class Session:
    """One diagnosis on its way: cases, the trials so far, and the order in which explanations are preferred."""

    def __init__(
        self, setting: Setting, base: State, found: list[Reading], numbers: Array, half: Array
    ) -> None:
        self.setting, self.base, self.numbers = setting, base, numbers
        self.cases = [self._case(reading, half) for reading in found]
        self.scores = setting.batches * setting.heads * setting.n * setting.m
        self.trials: list[Trial] = []
        self.variants: list[Variant] = []

    def _case(self, reading: Reading, half: Array) -> Case:
        observed, flat = self.numbers.reshape(-1).copy(), half.reshape(-1)
        if reading.stage in ("biased", "masked"):
            # Code often writes a large negative number where we write −∞.
            hidden = np.isneginf(reading.expected.reshape(-1)) & (observed <= -1e4)
            observed[hidden] = -np.inf
        stored = rounding.stored_as(observed, flat)
        levels = ["digits", "float32"]
        if stored in ("float16", "bfloat16") and _telling(observed, flat, stored):
            levels.append(stored)
        return Case(self.setting, self.base, reading, observed, flat, tuple(levels))

    def steps(self, exact: bool) -> Progress:
        """The order of preference; the first explanation that fits ends it."""
        right = self._right()
        if right is not None:
            return right
        self.variants = variants(self.setting)
        yield 0.05
        yield from self._singles()
        if result := self._best(0, self.trials, SINGLE):
            return result
        if result := self._lone():
            return result
        if exact and (digits := _decimals(self.numbers)) is not None:
            # Few decimals without being told: perhaps the numbers were rounded.
            half = np.full(self.numbers.shape, compare.HALF * 10.0**-digits)
            again = Session(
                self.setting, self.base, [case.reading for case in self.cases], self.numbers, half
            )
            result = yield from again.steps(False)
            if result.verdict in ("match", "rounding", "convention", "mistake"):
                return message.with_note(result, f"taken as rounded to {digits} decimals")
        if result := self._rounded(("float32",)):
            return result
        if result := self._best(1, self.trials, SINGLE):
            return result
        fits = []
        for case in self.cases:
            for trial in fitted(case):
                if trial is not None:
                    fits.append(trial)
                yield 0.45
        for level in (0, 1):
            if result := self._best(level, fits, FITTED):
                return result
        pairs: list[Trial] = []
        if self.scores <= MOST_FOR_PAIRS:
            yield from self._pairs(pairs)
        for level in (0, 1):
            if result := self._best(level, pairs, PAIRED):
                return result
        for trials, doubt in ((self.trials, SINGLE), (fits, FITTED), (pairs, PAIRED)):
            if result := self._best(2, trials, doubt):
                return result
        if result := self._rounded(("float16", "bfloat16")):
            return result
        return self._unexplained([*self.trials, *fits, *pairs])

    def _right(self) -> Diagnosis | None:
        """A stage that is right, exactly or up to a rounding that its digits betray."""
        for case in self.cases:
            if compare.worst(case.expected, case.observed, self._own(case)) <= 1:
                if case.reading.mean:
                    return self._averaged(case)
                return self._finish(case, "match")
        # Numbers of bfloat16 are numbers of float16 as well: the coarser format explains more.
        return self._rounded(("float32", "bfloat16", "float16"), on_grid=True) or self._simulated()

    def _own(self, case: Case) -> Array:
        """The tolerance of the right numbers: at a low precision of ours, its last place counts as equal."""
        precision = self.setting.options.precision
        if precision == "float64":
            return case.tolerances[0]
        return case.tolerances[0] + 4 * rounding.FORMATS[precision].unit * np.abs(
            np.nan_to_num(case.expected)
        )

    def _rounded(self, precisions: Iterable[str], on_grid: bool = False) -> Diagnosis | None:
        for precision in precisions:
            for case in self.cases:
                if on_grid and not rounding.on_grid(case.observed, case.half, precision):
                    continue
                if compare.worst(case.exact, case.observed, case.bound(precision)) <= 1:
                    return (
                        self._averaged(case)
                        if case.reading.mean
                        else self._finish(case, "rounding", precision=precision)
                    )
        return None

    def _simulated(self) -> Diagnosis | None:
        """Right numbers with one thing rounded on the way, recomputed and compared."""
        for case in self.cases:
            if case.reading.mean or compare.worst(case.exact, case.observed, 2 * case.bound("bfloat16")) > 1:
                continue
            for precision, told, state in rounding.simulations(self.setting, self.base, case.reading.stage):
                predicted = np.broadcast_to(case.reading.cells(state), case.observed.shape)
                if compare.worst(predicted, case.observed, case.tolerance("float32")) <= 1:
                    return self._finish(case, "rounding", precision=precision, detail=f"{told} rounded")
        return None

    def _averaged(self, case: Case) -> Diagnosis:
        label = Label("H4", "the returned weights", frameworks=MEAN_WEIGHTS)
        return self._finish(case, "convention", trials=[case.trial(label, case.expected)])

    def _singles(self) -> Generator[float, None, None]:
        for place, variant in enumerate(self.variants):
            for case in self.cases:
                if case.affects(variant):
                    for trials in case.trials(variant):
                        self.trials.extend(trials)
                        yield 0.05 + 0.35 * place / len(self.variants)

    def _pairs(self, found: list[Trial]) -> Generator[float, None, None]:
        usual = []
        for variant in self.variants:
            chosen = [
                i for i, label in enumerate(variant.labels) if label.id in PAIRS and label.rank <= PAIR_RANK
            ]
            if chosen and variant.pairs:
                usual.append(variant.part(chosen) if variant.params else variant)
        usual = stack(usual)
        at_once = max(1, CHUNK // self.scores)
        parts = [part for variant in usual for part in variant.parts(at_once)]
        for place, inner in enumerate(parts):
            for case in self.cases:
                partners = [outer for outer in usual if composable(inner, outer) and case.affects(outer)]
                if not partners:
                    continue
                state = run(self.setting, self.base, inner, "output")
                for outer in partners:
                    for trials in case.trials(outer, inner, state):
                        found.extend(trials)
                        yield 0.5 + 0.45 * place / len(parts)

    def _best(self, level: int, trials: list[Trial], doubt: Doubt) -> Diagnosis | None:
        """The trials that fit at this level and survive the doubt, if any, as a diagnosis."""
        fits = [trial for trial in trials if level < len(trial.times) and trial.times[level] <= 1]
        proofs = {(trial.case, trial.fitted) for trial in fits}
        believed = {
            (case, fitted)
            for case, fitted in proofs
            if case.information(level, fitted) >= doubt.information
            and case.surprise(level) >= doubt.surprise
            and case.misfit(level, fitted) >= doubt.misfit
        }
        fits = [trial for trial in fits if (trial.case, trial.fitted) in believed]
        if not fits:
            return None
        if level:
            closest = min(trial.times[level] for trial in fits)
            fits = [trial for trial in fits if trial.times[level] <= max(4 * closest, 0.02)]
        fits.sort(key=lambda trial: (trial.label.rank, trial.times[level]))
        if doubt is FITTED:  # more numbers to fit always fit as well
            fits = [trial for trial in fits if trial.label.rank < fits[0].label.rank + 0.5]
        case = fits[0].case
        fits = [trial for trial in fits if trial.case is case]
        ids = fits[0].label.id.split("+")
        convention = all(CATALOGUE[id].convention for id in ids) and bool(fits[0].label.frameworks)
        return self._finish(case, "convention" if convention else "mistake", trials=fits, level=level)

    def _finish(
        self,
        case: Case,
        verdict: Verdict,
        *,
        trials: list[Trial] | None = None,
        level: int = 0,
        precision: str | None = None,
        detail: str = "",
    ) -> Diagnosis:
        trials = trials or []
        best = trials[0] if trials else None
        matches = tuple(dict.fromkeys(trial.label.id for trial in trials))
        if verdict == "rounding" and precision in ("float16", "bfloat16", "tf32"):
            matches = ("P1",)
        shape = self.numbers.shape
        tolerance = case.tolerances[level].reshape(shape)
        expected = case.reading.expected
        observed = case.observed.reshape(shape)
        diagnosis = Diagnosis(
            verdict=verdict,
            stage=case.reading.stage,
            matches=matches,
            frameworks=self._frameworks(best) if best else (),
            first_divergence=None
            if verdict in ("match", "rounding")
            else _first(case.reading.stage, expected, observed, tolerance),
            message="",
            observed=observed,
            expected=expected,
            tolerance=tolerance,
            mistaken=best.predicted.reshape(shape) if best and best.predicted is not None else None,
            detail=best.label.detail if best else detail,
            precision=precision,
            effective_scale=self._scale(case, best, verdict),
            stages=self._stages(best) if best else (),
            invariants=invariants.check(case, verdict in ("match", "rounding")),
            candidates=self._candidates(case, trials, level),
            recovered_weights=recover(case),
            notes=(case.reading.note,) if case.reading.note else (),
            separable=len(matches) < 2,
        )
        return message.completed(diagnosis)

    @staticmethod
    def _frameworks(best: Trial) -> tuple[str, ...]:
        return best.label.frameworks or (
            CATALOGUE[best.label.id].frameworks if best.label.id in CATALOGUE else ()
        )

    def _scale(self, case: Case, best: Trial | None, verdict: Verdict) -> float | None:
        if best is not None and best.label.scale is not None:
            return best.label.scale
        if verdict in ("match", "rounding"):
            return self.setting.scale
        return effective_scale(case)

    def _stages(self, best: Trial) -> tuple[Place, ...]:
        """For every stage that the best match changes, its first cell that changes."""
        ours, theirs = self.base, best.replay()
        if theirs is None:
            return ()
        found = []
        for stage in (*LOGITS, "weights", "output"):
            right, wrong = ours[stage], theirs[stage]
            right, wrong = right.reshape(self.setting.lead + right.shape[-2:]), np.asarray(wrong, np.float64)
            if wrong.size == right.size:
                scale = np.abs(right[np.isfinite(right)]).max(initial=0.0)
                place = _first(stage, right, wrong.reshape(right.shape), np.full(right.shape, 1e-12 * scale))
                if place:
                    found.append(place)
        return tuple(found)

    def _candidates(self, case: Case, fits: list[Trial], level: int) -> tuple[Candidate, ...]:
        """The closest trial of each id, those that fit first."""
        closest: dict[str, Trial] = {}
        for trial in [
            *fits,
            *sorted(
                self.trials, key=lambda trial: trial.times[level] if level < len(trial.times) else np.inf
            ),
        ]:
            if trial.case is case and len(closest) < CONSIDERED:
                closest.setdefault(trial.label.id, trial)
        return tuple(self._candidate(trial, level) for trial in closest.values() if level < len(trial.times))

    @staticmethod
    def _candidate(trial: Trial, level: int) -> Candidate:
        name = " and ".join(CATALOGUE[id].name for id in trial.label.id.split("+"))
        return Candidate(
            trial.label.id, name, trial.label.detail, trial.error, trial.times[level], trial.times[level] <= 1
        )

    def _unexplained(self, trials: list[Trial]) -> Diagnosis:
        """Nothing fits: impossible for any softmax, or unknown."""
        case = min(
            self.cases, key=lambda case: compare.middle(compare.absolute(case.expected, case.observed))
        )
        self.trials = trials
        diagnosis = self._finish(case, "unknown")
        if any(not one.holds and one.name in invariants.IMPOSSIBLE for one in diagnosis.invariants):
            return message.completed(diagnosis, "inconsistent")
        if self.scores > MOST_FOR_PAIRS:
            return message.with_note(diagnosis, "pairs of mistakes were not tried on so many scores")
        return diagnosis

    def _lone(self) -> Diagnosis | None:
        """All numbers right but a single one, by more than noise would explain: no computation does that."""
        for case in self.cases:
            wrong = compare.differs(case.expected, case.observed, case.tolerances[0])
            if wrong.sum() == 1 and wrong.size >= 4:
                far = compare.differs(case.expected, case.observed, 8 * case.tolerances[0]).any()
                if far or not case.half.any():
                    return message.completed(self._finish(case, "inconsistent"), lone=True)
        return None


def _telling(observed: Array, half: Array, name: str) -> bool:
    """Whether at least three numbers would be off this format's grid if they were not computed in it."""
    step = np.abs(observed) * 2 * rounding.FORMATS[name].unit
    return bool((np.isfinite(observed) & (step > 4 * half) & (observed != np.rint(observed))).sum() >= 3)


def _decimals(numbers: Array) -> int | None:
    """How many decimals the numbers have, if at most 7."""
    finite = numbers[np.isfinite(numbers)]
    for digits in range(8):
        if (np.abs(np.round(finite, digits) - finite) <= 1e-15 * np.abs(finite)).all():
            return digits if digits else None
    return None


def _first(stage: str, expected: Array, observed: Array, tolerance: Array) -> Place | None:
    wrong = np.argwhere(compare.differs(expected, observed, tolerance))
    if not len(wrong):
        return None
    index = tuple(int(i) for i in wrong[0])
    return stage, index, float(expected[index]), float(observed[index])
