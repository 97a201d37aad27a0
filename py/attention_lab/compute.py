"""State → Problem → Trace, or the error that stops it.

The only place that knows where Q, K, V of a state come from: typed matrices, an example, or a sentence.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError, Options
from attention_lab.problem import Problem, take

if TYPE_CHECKING:
    from attention_lab.inputs.paste import Parsed
    from attention_lab.render.view import View
    from attention_lab.state import State

Array = NDArray[np.float64]


@lru_cache(maxsize=32)
def parsed(text: str) -> Parsed:
    """A text read as a matrix, kept: typing in one box must not read the others again. Raises PasteError.

    A link's own form (rows by `;`, entries by `,`, nothing else) is never taken for decimal commas.
    """
    from attention_lab.inputs.paste import parse_matrix
    from attention_lab.state import spread_matrix

    return parse_matrix(spread_matrix(text))


def read_matrix(text: str, field: str) -> Array:
    """Q, K or V as the reader typed it. Raises LabError with `field` set."""
    from attention_lab.inputs.paste import require_finite

    try:
        found = parsed(text)
        require_finite(found, field)
    except LabError as error:
        error.field = field
        raise
    return np.asarray(found.values, dtype=np.float64)


def options_of(state: State) -> Options:
    """The Options a state asks for. Its framework has set its fields already (State.from_fragment, the form)."""
    base = Options()
    changes: dict[str, tuple[Any, Any]] = {
        "scale": (state.scale, "sqrt_dk"),
        "temperature": (state.T, 1.0),
        "softcap": (state.softcap, None),
        "causal": (state.causal, None),
        "window": (state.window, None),
        "lengths": (state.lengths, None),
        "heads": (state.heads, None),
        "empty_row": (state.empty, None),
        "precision": (state.precision, "float64"),
    }
    return replace(base, **{name: value for name, (value, neutral) in changes.items() if value != neutral})


def problem_of(state: State) -> Problem:
    """Gather Q, K, V, labels, mask, bias and options. Raises LabError naming the field that caused it."""
    options = options_of(state)
    matrices, labels = _sources(state)
    if state.labels is not None:
        labels = state.labels
    n, m = matrices["q"].shape[-2], matrices["k"].shape[-2]
    keep = bias = None
    if state.keep:
        keep = _mask(state.keep, n, m)
    if state.bias:
        bias = _bias(state.bias, n, m)
    query_labels = key_labels = labels
    if state.labels is not None:
        query_labels, key_labels = _labels(state.labels, n, m)
    return Problem(matrices["q"], matrices["k"], matrices["v"], options, keep, bias, query_labels, key_labels)


def _sources(state: State) -> tuple[dict[str, Array], tuple[str, ...] | None]:
    if state.real_head and state.text is not None:
        from attention_lab.model.encoder import pass_of

        sentence = pass_of(state.text)
        q, k, v = sentence.head(state.layer, state.modelhead)
        return {"q": q, "k": k, "v": v}, sentence.pieces
    if state.text is not None and state.q is None:
        from attention_lab.inputs.sentence import DEFAULT_DIMENSION, read_sentence

        d = DEFAULT_DIMENSION if state.d is None else state.d
        made = read_sentence(state.text, d, state.seed, state.positions == "sinusoidal")
        x = made.vectors + 0.0  # a copy of our own: the sentence's vectors are cached and read-only
        return {"q": x, "k": x, "v": x}, made.words
    from attention_lab.inputs.examples import load

    matrices: dict[str, Array] = {}
    labels = None
    if state.example is not None:
        try:
            example = load().get(state.example)
        except LabError as error:
            error.field = "example"
            raise
        matrices = {"q": example.q, "k": example.k, "v": example.v}
        labels = example.tokens if state.q is None and state.k is None else None
    for name in ("q", "k", "v"):
        text = getattr(state, name)
        if text is not None:
            matrices[name] = read_matrix(text, name)
    missing = [name for name in ("q", "k", "v") if name not in matrices]
    if missing:
        raise LabError(
            f"{' and '.join(name.upper() for name in missing)} not given: expected numbers, rows by new lines.",
            field=missing[0],
        )
    return matrices, labels


def _labels(labels: tuple[str, ...], n: int, m: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """One label for each token, or the queries' and then the keys'."""
    if len(labels) == n == m:
        return labels, labels
    if len(labels) == n + m:
        return labels[:n], labels[n:]
    wanted = (
        f"{n}, one for each token"
        if n == m
        else f"{n + m}, those of the {n} queries and then of the {m} keys"
    )
    raise LabError(f"Labels: expected {wanted}; got {len(labels)}.", field="labels")


def _mask(text: str, n: int, m: int) -> NDArray[np.bool_]:
    values = read_matrix(text, "keep")
    expected = f"The keep mask needs {n} rows (queries) of {m} entries (keys), each 0 or 1 (1 = may attend)"
    if values.shape[-2:] != (n, m):
        raise LabError(f"{expected}; got shape {'×'.join(map(str, values.shape))}.", field="keep")
    other = values[~np.isin(values, (0.0, 1.0))]
    if other.size:
        raise LabError(f"{expected}; got {other.flat[0]:g}.", field="keep")
    return values.astype(bool)


def _bias(text: str, n: int, m: int) -> Array:
    try:
        values = np.asarray(parsed(text).values, dtype=np.float64)
    except LabError as error:
        error.field = "bias"
        raise
    if values.shape[-2:] != (n, m):
        raise LabError(
            f"The bias needs {n} rows (queries) of {m} entries (keys); got shape {'×'.join(map(str, values.shape))}.",
            field="bias",
        )
    return values


OPENINGS: dict[str, View] = {}
"""Lab → the view it opens with. The build's memory snapshot holds them, computed; elsewhere it is empty."""


def view_of(state: State, previous: View | None = None) -> View:
    """Compute everything a view needs; what does not depend on the change is taken from `previous`. Raises LabError."""
    from attention_lab.render.view import View

    if previous is not None and _arithmetic(previous.state) == _arithmetic(state):
        problem, trace = previous.problem, previous.trace
        if (previous.state.batch, previous.state.head) == (state.batch, state.head):
            before, now = (
                (each.decimals, each.blank, View.first_of(each)) for each in (previous.state, state)
            )
            same_look = before == now
            return View(
                state,
                problem,
                trace,
                previous.slice,
                previous.slice_trace,
                previous.drawn if same_look else {},
            )
    else:
        problem = problem_of(state)
        trace = problem.trace()
    try:
        part, part_trace = take(problem, trace, state.batch, state.head)
    except LabError:  # there is no such entry; `unplaced` says so
        part, part_trace = take(problem, trace)
    return View(state, problem, trace, part, part_trace)


def unplaced(view: View) -> dict[str, str]:
    """Key → sentence for each value of the state that this problem has no place for, and what is shown instead."""
    state, found = view.state, {}
    rows = view.slice_trace.scores.shape[-2]
    if state.row is not None and state.row >= rows:
        found["row"] = f"row={state.row}: there are rows 0 to {rows - 1}; the last one is shown."
    elif state.special and state.real_head and state.row in (0, rows - 1) and state.lab == "heatmap":
        found["row"] = f"row={state.row}: [CLS] and [SEP] are left out of view; the row beside it is shown."
    try:
        take(view.problem, view.trace, state.batch, state.head)
    except LabError as error:
        found[error.field or "batch"] = f"{error} Entry 0 is shown."
    leading = view.trace.scores.ndim - 2
    packed = view.trace.options.heads is not None
    for key, axes in (
        ("batch", leading > (1 if packed else 0)),
        ("head", leading > 1 or (leading and packed)),
    ):
        if getattr(state, key) and not axes:
            found[key] = f"{key}={getattr(state, key)}: these numbers have no {key} axis; it is left out."
    if state.positions and (state.text is None or state.q is not None):
        found["positions"] = "Positions are added to a sentence; these matrices are taken as they are."
    if state.model is not None and not state.real_head:
        found["model"] = "A real head reads a sentence; these matrices are taken as they are."
    second = state.second()
    if second is not None and second.notes:
        found["compare"] = "The second setting: " + " ".join(note.message for note in second.notes)
    return found


def asked(view: View, observed: NDArray[Any]) -> Problem:
    """The problem that someone's numbers answer: the slice on show when they have its shape, else the whole."""
    part = view.slice_trace
    shapes = (part.scores.shape, part.output.shape)
    return view.slice if view.trace.scores.ndim > 2 and observed.shape in shapes else view.problem


LOOKS = {
    "lab",
    "row",
    "step",
    "decimals",
    "observed",
    "stage",
    "atol",
    "rtol",
    "compare",
    "predict",
    "embed",
    "hide",
    "blank",
    "sheet",
    "batch",
    "head",
    "entry",
}
"""Keys that change what is shown of a result, never the result."""


def _arithmetic(state: State) -> tuple[object, ...]:
    from attention_lab.state import SPECS

    return tuple(getattr(state, key) for key in SPECS if key not in LOOKS)


def observed_of(state: State) -> Parsed:
    """The reader's own numbers, with what their digits allow. Raises LabError, field "observed"."""
    try:
        return parsed(state.observed or "")
    except LabError as error:
        error.field = "observed"
        raise


def shapes_of(state: State) -> dict[str, str]:
    """`2×3` for each of Q, K, V and the observed numbers that can be read: the live badges of the boxes."""
    shapes = {}
    for name in ("q", "k", "v", "observed"):
        text = getattr(state, name)
        try:
            if text:
                shapes[name] = "×".join(map(str, parsed(text).values.shape))
            elif text is None and name != "observed" and state.example:
                from attention_lab.inputs.examples import load

                shapes[name] = "×".join(map(str, getattr(load().get(state.example), name).shape))
        except LabError:
            shapes[name] = ""
    return shapes
