"""The panels around the stepper: the division side by side, predict mode, all vectors, what to notice, the cost.

Plain HTML from the Walk's numbers; the √d experiment's chart is in walk_growth.py.
"""

from __future__ import annotations

import numpy as np

from attention_lab.explain.growth import DISTRIBUTIONS
from attention_lab.explain.slips import Question
from attention_lab.explain.steps import FRAMES, Step, Walk, short
from attention_lab.render import mathml
from attention_lab.render.html import escape, plural
from attention_lab.render.view import View
from attention_lab.render.walk_tables import scroll
from attention_lab.state import State

GROWTH_KEYS = {"growth-seed": "0", "growth-keys": "8", "growth-values": "normal"}
"""Fragment keys of the experiment, with their neutral values."""


def division(view: View, walk: Walk, step: Step) -> str:
    """A division frame: the row before and after, side by side, and the statement about its largest weight."""
    it = walk.division(step.i or 0)
    visible = walk.visible[it.i]
    heads = "".join(f'<th scope="col">{j}</th>' for j in range(walk.m))

    def line(name: str, values: np.ndarray, largest: float, kind: str) -> str:  # type: ignore[type-arg]
        cells = "".join(
            f'<td class="n{"" if visible[j] else " unseen"}" data-j="{j}" data-value="{x!r}">{short(x, view.write)}</td>'
            for j, x in enumerate(values.tolist())
        )
        shown = "none" if np.isnan(largest) else view.write(largest)
        return (
            f'<tr data-division="{kind}"><th scope="row">{name}</th>{cells}'
            f'<td class="n largest" data-largest="{largest!r}">{shown}</td></tr>'
        )

    rows = line("before", it.before, it.largest_before, "before") + line(
        "after", it.after, it.largest_after, "after"
    )
    others = "".join(f"<li>{escape(text)}</li>" for text in step.arithmetic[2:])
    more = f'<ol class="walk-lines">{others}</ol>' if others else ""
    unseen = (
        ""
        if visible.all()
        else '<p class="quiet">Struck out: keys the mask will hide; they get no weight.</p>'
    )
    table = (
        f'<table class="division"><caption>Row {it.i}, {escape(walk.division_text())}</caption>'
        f'<thead><tr><td class="corner"></td>{heads}<th scope="col">largest weight</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )
    return (
        f'<div class="division-both">{scroll("The row before and after the division", table)}'
        f"<div>{_statement(walk)}{unseen}{more}</div></div>"
    )


def _statement(walk: Walk) -> str:
    rows = [walk.division(i) for i in range(walk.n)]
    claimed = [row for row in rows if row.applies]
    if not claimed:
        return (
            f'<p data-division-check="none">The divisor here is {escape(short(walk.divisor, str))}, not above one: '
            "nothing is promised about the largest weight.</p>"
        )
    held = sum(row.holds for row in claimed)
    return (
        f'<p data-division-check="{held}/{len(claimed)}">Dividing by more than one cannot raise a row’s largest weight: '
        f"checked now, true in <b>{held} of {plural(len(claimed), 'row')}</b>.</p>"
    )


def predict(asked: Question | None, index: int) -> str:
    """The question about the next step, or nothing."""
    if asked is None:
        return ""
    return (
        f'<label for="guess">Step {index}: {escape(asked.text)}</label> '
        f'<input id="guess" form="lab-form" inputmode="decimal" autocomplete="off" size="10" aria-describedby="walk-verdict"> '
        f'<button type="button" data-walk="check">Check</button> '
        f'<button type="button" class="link" data-walk="show">Show it</button>'
    )


def vectors(view: View, walk: Walk) -> str:
    """Every vector in full, one token to a row; only where queries and keys are the same tokens."""
    trace, labels = walk.trace, view.slice.query_labels
    if walk.n != walk.m or walk.dk + walk.dv > 32:
        return ""
    groups = (("Query", trace.q), ("Key", trace.k), ("Value", trace.v))
    heads = "".join(f'<th scope="colgroup" colspan="{array.shape[1]}">{name}</th>' for name, array in groups)
    spans = "".join(f'<colgroup span="{array.shape[1]}"></colgroup>' for _, array in groups)
    numbers = "".join(
        f'<th scope="col"{_start(j)}>{j}</th>' for _, array in groups for j in range(array.shape[1])
    )
    first: dict[bytes, int] = {}
    lines = []
    for i in range(walk.n):
        row = b"".join(np.ascontiguousarray(array[i]).tobytes() for _, array in groups)
        twin = first.setdefault(row, i)
        cells = "".join(
            f'<td class="n"{_start(j)}>{short(x, view.write)}</td>'
            for _, array in groups
            for j, x in enumerate(array[i].tolist())
        )
        note = f"same as {twin}" if twin != i else ""
        word = f' <span class="word">{escape(labels[i])}</span>' if labels else ""
        lines.append(f'<tr><th scope="row">{i}{word}</th>{cells}<td class="quiet">{note}</td></tr>')
    table = (
        f'<table class="vectors"><caption>Typed by hand or given by you; dimensions have numbers, not meanings</caption>'
        f"<colgroup></colgroup>{spans}<colgroup></colgroup>"
        f'<thead><tr><td class="corner"></td>{heads}<td></td></tr>'
        f'<tr><td class="corner"></td>{numbers}<td></td></tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
    return (
        f'<details class="walk-vectors"><summary>Vectors: all {3 * walk.n} in one table</summary>'
        f"{scroll('All vectors', table)}</details>"
    )


def _start(j: int) -> str:
    """The first column of a group carries a rule on its left."""
    return ' data-start=""' if j == 0 else ""


def notice(view: View, walk: Walk) -> str:
    """What to notice, with this problem's own counts."""
    trace = walk.trace
    inexact, rows, miss = walk.inexact_rows()
    points = []
    if rows:
        how = (
            "all exactly"
            if not inexact
            else f"<b>{inexact}</b> of {rows} not exactly, the furthest off by {miss:.1e}"
        )
        points.append(
            f"Each row of weights adds up to one within rounding: {how}. Floating-point sums round; that is no error."
        )
    hidden = int(np.count_nonzero(~walk.visible))
    if hidden:
        zero = int(np.count_nonzero(trace.weights[~walk.visible] == 0))
        points.append(
            f"A masked weight is exactly zero, not nearly: <b>{zero}</b> of {hidden}. Put any value at a masked key and the output stays."
        )
    zeros = int(np.count_nonzero(trace.scores == 0))
    if zeros:
        i, j = (int(x) for x in np.argwhere(trace.scores == 0)[0])
        points.append(
            f"Zero is a score like any other: {plural(zeros, 'cell')} here, the first at S[{i},{j}]. "
            "Unless masked, it still gets a weight."
        )
    twins = _twins(walk)
    if twins:
        a, b = twins
        word = f" (“{escape(view.slice.query_labels[a])}”)" if view.slice.query_labels else ""
        same = bool(np.array_equal(trace.output[a], trace.output[b]))
        result = (
            "they get the same output"
            if same
            else "the mask lets them see different keys, so their outputs differ"
        )
        points.append(
            f"Tokens {a} and {b}{word} have identical vectors, so their scores are identical too; {result}. "
            "A real model adds a position to each token before it makes these vectors, so that repeated words differ."
        )
    items = "".join(f"<li>{point}</li>" for point in points)
    return f'<section class="walk-notice"><h3>What to notice</h3><ul>{items}</ul></section>'


def _twins(walk: Walk) -> tuple[int, int] | None:
    """The first two tokens with the same query, key and value."""
    if walk.n != walk.m:
        return None
    trace = walk.trace
    for b in range(walk.n):
        for a in range(b):
            if all(np.array_equal(array[a], array[b]) for array in (trace.q, trace.k, trace.v)):
                return a, b
    return None


def cost(walk: Walk) -> str:
    """What the computation costs, here and with twice as many tokens."""
    n, m, frames = walk.n, walk.m, 4 if walk.masked else 3
    lines = []
    for name, here, doubled in (
        ("dot products n·m", n * m, 4 * n * m),
        ("multiplications n·m·(dₖ + dᵥ)", walk.multiplications, 4 * walk.multiplications),
        ("weights to hold n·m", n * m, 4 * n * m),
        ("steps shown here", len(walk), 4 * n * m + 2 * n * frames + FRAMES),
    ):
        lines.append(
            f'<tr><th scope="row">{name}</th><td class="n">{here:,}</td><td class="n">{doubled:,}</td>'
            f'<td class="n">×{doubled / here:.3g}</td></tr>'
        )
    squared = mathml.sup(mathml.mi("n"), mathml.mn("2"))
    time = mathml.math(
        mathml.mi("O"), mathml.mo("("), squared, mathml.D_K, mathml.mo(")"), label="order n squared times d k"
    )
    space = mathml.math(mathml.mi("O"), mathml.mo("("), squared, mathml.mo(")"), label="order n squared")
    return (
        f'<section class="walk-cost"><h3>What it costs</h3><p>{time} time and {space} space for n tokens: twice the '
        f"tokens, four times the work. Masked products are counted too; a kernel may skip them.</p>"
        f'<table><caption class="visually-hidden">Cost here and with twice as many tokens</caption>'
        f'<thead><tr><td class="corner"></td><th scope="col">n = {n}{"" if n == m else f", m = {m}"}</th>'
        f'<th scope="col">n = {2 * n}{"" if n == m else f", m = {2 * m}"}</th><th scope="col">growth</th></tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></section>"
    )


def experiment(state: State) -> str:
    """The frame of the √d experiment: its controls, and the place of its chart."""
    given = growth_values(state)
    choices = "".join(
        f'<option value="{name}"{" selected" if name == given["growth-values"] else ""}>{escape(kind.title)}</option>'
        for name, kind in DISTRIBUTIONS.items()
    )

    def number(key: str, label: str, size: int) -> str:
        return (
            f'<label>{label} <input id="{key}" form="lab-form" data-growth="{key}" inputmode="numeric" size="{size}" '
            f'value="{escape(given[key])}"></label>'
        )

    return (
        '<section class="walk-growth"><h3>Why divide by √dₖ: a measurement</h3>'
        "<p>Random vectors, not the ones above: for each dimension d the spread of their dot products, and how much of "
        "the weight the strongest key gets on average.</p>"
        f'<p class="walk-growth-controls">{number("growth-seed", "Seed", 9)} {number("growth-keys", "Keys", 3)} '
        f'<label>Entries <select id="growth-values" form="lab-form" data-growth="growth-values">{choices}</select></label></p>'
        '<p class="error" id="growth-error" hidden></p><div data-slot="walk-growth"></div></section>'
    )


def growth_values(state: State) -> dict[str, str]:
    """The experiment's settings as texts: what the link says, else neutral."""
    unknown = dict(state.unknown)
    return {key: unknown.get(key) or neutral for key, neutral in GROWTH_KEYS.items()}
