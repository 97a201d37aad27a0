"""diagnose(): compare someone's scores, weights or output with ours and name the mistake that gives their numbers.

Does not: read text or files (inputs/ does), and never widens a tolerance to make something fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attention_lab.core import LabError, Options

from . import compare
from .flow import base_state
from .reading import STAGES, readings
from .result import Diagnosis
from .session import Progress, Session
from .setting import Array, compute

DEFAULT = Options()


def diagnose(
    q: Any,
    k: Any,
    v: Any,
    observed: Any,
    options: Options = DEFAULT,
    keep: Any = None,
    bias: Any = None,
    stage: str = "auto",
    digits: int | None = None,
    *,
    resolution: Any = None,
) -> Diagnosis:
    """What `observed` is: our result, a rounding of it, a library's convention, a known mistake, or none of these.

    q, k, v, options, keep and bias as in attend(). `observed` are scores, weights, output or log-sum-exp in the shape
    attend() gives (axes of size 1 may be missing; heads may be packed or averaged). stage is "auto" or a name of a Trace
    array. digits is the number of decimals printed, None at full precision; resolution, instead of it, gives what each
    number may be off by (Parsed.resolution). Raises LabError, `field` "observed" for numbers that fit no stage.
    """
    steps = diagnose_steps(q, k, v, observed, options, keep, bias, stage, digits, resolution=resolution)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Diagnosis = end.value
            return result


def diagnose_steps(
    q: Any,
    k: Any,
    v: Any,
    observed: Any,
    options: Options = DEFAULT,
    keep: Any = None,
    bias: Any = None,
    stage: str = "auto",
    digits: int | None = None,
    *,
    resolution: Any = None,
) -> Progress:
    """diagnose() in small pieces: yields the fraction done, returns the Diagnosis (as StopIteration.value)."""
    numbers = _numbers(observed)
    trace, setting = compute(q, k, v, options, keep, bias)
    half = compare.half_widths(numbers, digits, resolution)
    found = readings(setting, trace, numbers.shape, stage)
    yield 0.02
    session = Session(setting, base_state(setting), found, numbers, half)
    steps = session.steps(digits is None and resolution is None)
    while True:
        # NaN, ∞ and overflow are ordinary here; the caller's own settings hold between the pieces.
        with np.errstate(all="ignore"):
            try:
                done = next(steps)
            except StopIteration as end:
                result: Diagnosis = end.value
                return result
        yield done


def diagnose_stages(
    q: Any,
    k: Any,
    v: Any,
    arrays: Mapping[str, Any],
    options: Options = DEFAULT,
    keep: Any = None,
    bias: Any = None,
    digits: int | None = None,
) -> tuple[Diagnosis, ...]:
    """diagnose() for several stages of one computation, in the order in which they are computed.

    arrays maps stage names to numbers. The first result that is not "match" or "rounding" is where it goes wrong.
    """
    order = (*STAGES[:-3], "log_sum_exp", "weights", "output")
    unknown = sorted(set(arrays) - set(order))
    if unknown:
        raise LabError(f"stages must be among {', '.join(order)}; got {', '.join(unknown)}", "stage")
    return tuple(
        diagnose(q, k, v, arrays[stage], options, keep, bias, stage, digits)
        for stage in order
        if stage in arrays
    )


def _numbers(observed: Any) -> Array:
    try:
        array = np.asarray(observed)
        if array.dtype.kind not in "fiub":
            raise TypeError
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        raise LabError(
            "The numbers to check must form one rectangular array of real numbers.", "observed"
        ) from None
    if numbers.size == 0:
        raise LabError("There are no numbers to check.", "observed")
    return numbers
