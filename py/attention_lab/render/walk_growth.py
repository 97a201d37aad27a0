"""The chart and table of the √d experiment: how dot products of random vectors grow, and what softmax makes of it.

Draws a Growth (explain/growth.py) as SVG with classes, no inline style; every point is a number in the table too.
"""

from __future__ import annotations

import math

from attention_lab.explain.growth import DISTRIBUTIONS, Growth
from attention_lab.render.html import escape
from attention_lab.render.walk_tables import scroll

WIDTH, HEIGHT = 520, 250
LEFT, RIGHT, TOP, BOTTOM = 44, 128, 14, 40


def chart(growth: Growth) -> str:
    """Line chart, statement and table."""
    return f'<div class="growth-both">{_figure(growth)}{_table(growth)}</div>{_statement(growth)}'


def _statement(growth: Growth) -> str:
    first, last = growth.points[0], growth.points[-1]
    kind = DISTRIBUTIONS[growth.distribution]
    scaled = [point.largest_scaled for point in growth.points]
    return (
        f"<p>{growth.queries:,} queries, {growth.keys} keys each; entries {escape(kind.title)}, seed {growth.seed}. "
        f"The spread is <b>{growth.constant:.3f}·√d</b>; σ²·√d with σ² = {growth.variance:g} is what theory gives. "
        f"Without the division the strongest key gets {first.largest_raw:.2f} of the weight at d = {first.d} and "
        f"{last.largest_raw:.3f} at d = {last.d}: softmax saturates. Divided by √d it stays between {min(scaled):.2f} and "
        f"{max(scaled):.2f}.</p>"
    )


def _x(growth: Growth, d: int) -> float:
    low, high = math.log2(growth.points[0].d), math.log2(growth.points[-1].d)
    return LEFT + (math.log2(d) - low) / (high - low) * (WIDTH - LEFT - RIGHT)


def _y(weight: float) -> float:
    return TOP + (1 - weight) * (HEIGHT - TOP - BOTTOM)


def _figure(growth: Growth) -> str:
    bottom, right = _y(0), WIDTH - RIGHT
    ticks = "".join(
        f'<line class="rule" x1="{LEFT}" x2="{right}" y1="{_y(t):.1f}" y2="{_y(t):.1f}"/>'
        f'<text class="tick" x="{LEFT - 8}" y="{_y(t) + 4:.1f}" text-anchor="end">{t:g}</text>'
        for t in (0, 0.25, 0.5, 0.75, 1)
    )
    dims = "".join(
        f'<text class="tick" x="{_x(growth, point.d):.1f}" y="{bottom + 18:.1f}" text-anchor="middle">{point.d}</text>'
        for point in growth.points
    )
    lines = ""
    for kind, name, values, mark in (
        ("raw", "softmax(q·k)", [p.largest_raw for p in growth.points], _circle),
        ("scaled", "softmax(q·k ÷ √d)", [p.largest_scaled for p in growth.points], _square),
    ):
        places = [(_x(growth, p.d), _y(value)) for p, value in zip(growth.points, values, strict=True)]
        path = " ".join(f"{'M' if k == 0 else 'L'}{x:.1f} {y:.1f}" for k, (x, y) in enumerate(places))
        marks = "".join(mark(x, y) for x, y in places)
        end = places[-1]
        lines += (
            f'<g class="{kind}"><path class="curve" d="{path}"/>{marks}'
            f'<text class="name" x="{end[0] + 10:.1f}" y="{end[1] + 4:.1f}">{name}</text></g>'
        )
    label = (
        f"Average largest weight against dimension: without the division from {growth.points[0].largest_raw:.2f} to "
        f"{growth.points[-1].largest_raw:.2f}, with it near {growth.points[-1].largest_scaled:.2f}. "
        "The table holds every value."
    )
    return (
        f'<figure class="growth-chart"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
        f'{ticks}{dims}<text class="tick" x="{(LEFT + right) / 2:.1f}" y="{HEIGHT - 4}" text-anchor="middle">'
        f"dimension d (each step ×4)</text>{lines}</svg>"
        f"<figcaption>Average largest softmax weight</figcaption></figure>"
    )


def _circle(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"/>'


def _square(x: float, y: float) -> str:
    return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>'


def _table(growth: Growth) -> str:
    lines = "".join(
        f'<tr data-d="{p.d}"><th scope="row">{p.d}</th><td class="n" data-value="{p.deviation!r}">{p.deviation:.3f}</td>'
        f'<td class="n">{p.expected:.3f}</td><td class="n" data-value="{p.largest_raw!r}">{p.largest_raw:.3f}</td>'
        f'<td class="n" data-value="{p.largest_scaled!r}">{p.largest_scaled:.3f}</td></tr>'
        for p in growth.points
    )
    return scroll(
        "Table of the measurement",
        '<table class="growth-table"><caption>Dot products of random vectors</caption><thead>'
        '<tr><th scope="col">d</th><th scope="col">spread of q·k</th><th scope="col">σ²·√d</th>'
        '<th scope="col">largest weight</th><th scope="col">divided by √d</th></tr></thead>'
        f"<tbody>{lines}</tbody></table>",
    )
