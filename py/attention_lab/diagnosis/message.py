"""The one plain sentence of a diagnosis.

Does not: decide anything, and holds no HTML.
"""

from __future__ import annotations

from dataclasses import replace

from .mistakes import CATALOGUE
from .result import Diagnosis, Verdict

STAGE = {
    "scores": "scores",
    "scaled": "scaled scores",
    "tempered": "scores after the temperature",
    "capped": "capped scores",
    "biased": "scores with the bias",
    "masked": "masked scores",
    "weights": "weights",
    "output": "output",
    "log_sum_exp": "log-sum-exp",
}
MOST = 3  # names in a sentence
PRECISION = {"float32": "float32", "float16": "float16", "bfloat16": "bfloat16", "tf32": "TF32"}


def completed(diagnosis: Diagnosis, verdict: Verdict | None = None, lone: bool = False) -> Diagnosis:
    """The same diagnosis with its sentence, and with another verdict if given; `lone`: one single number is wrong."""
    result = replace(diagnosis, verdict=verdict or diagnosis.verdict)
    return replace(result, message=_sentence(result, lone))


def with_note(diagnosis: Diagnosis, note: str) -> Diagnosis:
    """The same diagnosis with a note, which its sentence repeats."""
    result = replace(diagnosis, notes=(*diagnosis.notes, note))
    return replace(result, message=f"{result.message[:-1]} ({note}).")


def _sentence(result: Diagnosis, lone: bool) -> str:
    what = STAGE[result.stage]
    be = "are" if what.endswith("s") else "is"
    seen = next((f", {note}," for note in result.notes if note.startswith("read ")), "")
    if result.verdict == "match":
        return f"Your {what}{seen} {be} right: every number agrees with ours to the digits given."
    if result.verdict == "rounding":
        how = f" ({result.detail})" if result.detail else ""
        return f"Your {what}{seen} {be} right, computed in {PRECISION.get(result.precision or '', 'a lower precision')}{how}: the differences are its rounding."
    if result.verdict == "convention":
        done = f"{_list(result.frameworks)} {_do(result.frameworks)} this by design"
        return f"Your {what} {be} what comes out when {_clause(result)}; {done}."
    if result.verdict == "mistake":
        others = _list(tuple(_named(match) for match in result.matches[1:4]), "or")
        design = (
            f", as {_list(result.frameworks)} {_do(result.frameworks)} by design" if result.frameworks else ""
        )
        more = f"; this input cannot tell it from {others}" if others else ""
        return f"Your {what} {be} what comes out when {_clause(result)}{design}{more}."
    broken = next((one for one in result.invariants if not one.holds), None)
    if result.verdict == "inconsistent":
        if lone and result.first_divergence:
            _, index, ours, theirs = result.first_divergence
            return f"One single number of your {what} is wrong, at {_place(index)}: expected {ours:.6g}, got {theirs:.6g}."
        if broken:
            return f"No softmax attention could give this {what}: “{broken.name}” is {broken.detail}."
    where = ""
    if result.first_divergence:
        _, index, ours, theirs = result.first_divergence
        where = f"; they differ first at {_place(index)} (expected {ours:.6g}, got {theirs:.6g})"
    return f"Your {what} {be} not ours, and no mistake we know gives these numbers{where}."


def _do(frameworks: tuple[str, ...]) -> str:
    return "does" if len(frameworks) == 1 else "do"


def _clause(result: Diagnosis) -> str:
    parts = [CATALOGUE[id].says for id in result.matches[0].split("+")]
    detail = f" ({result.detail})" if result.detail else ""
    return " and ".join(parts) + detail


def _named(match: str) -> str:
    return f"“{' and '.join(CATALOGUE[id].name for id in match.split('+'))}”"


def _list(names: tuple[str, ...], word: str = "and") -> str:
    if len(names) < 2:
        return "".join(names)
    if len(names) > MOST + 1:
        names = (*names[:MOST], f"{len(names) - MOST} others")
    return f"{', '.join(names[:-1])} {word} {names[-1]}"


def _place(index: tuple[int, ...]) -> str:
    """Counted from 0, as in code."""
    return f"[{', '.join(map(str, index))}]"
