"""The tables of the Walkthrough: Q, K, V, the n×m grid and the output, each row a slot of its own.

The grid tells three facts apart in three ways each: not computed yet (no fill, no text, dashed border), computed
(fill, a number, solid border; a zero is a drawn 0) and masked (hatched, −∞ or 0, dotted border).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from attention_lab.explain.steps import Grid, Step, Walk, short
from attention_lab.render.html import escape, shade
from attention_lab.render.view import View

MOST_AROUND = 8  # entries of vectors that stand around the grid
MOST_SHOWN = 64  # columns of a vector table; longer vectors end in a note
WIDEST = 24  # characters; the style sheet has a class for each width
GRID_TITLES = {
    "vectors": "Scores S = Q·Kᵀ",
    "scores": "Scores S = Q·Kᵀ",
    "divide": "Scores S, row by row divided",
    "mask": "Scaled scores, row by row masked",
    "softmax": "Weights A, row by row",
    "output": "Weights A",
}


def stage(view: View, walk: Walk) -> str:
    """All tables, with empty places for their rows.

    Short vectors make a picture: Q left of the grid, the keys above it and the values below it in the grid's own
    columns, the output to the right. Long ones stand as tables of their own.
    """
    keys = view.slice.key_labels
    heads = "".join(f'<th scope="col">{_name(j, keys)}</th>' for j in range(walk.m))
    grid = _table(
        "grid",
        '<span data-slot="walk-grid-title"></span>',
        f'<td class="corner"></td>{heads}',
        "walk-g",
        walk.n,
        "lid",
    )
    if is_picture(walk):
        top = f'<td class="corner"></td>{heads}'
        parts = (
            ("k", _table("k", "Keys K, one in each column", top, "walk-k", walk.dk)),
            ("q", _table("q", "Queries Q", _numbers(walk.dk), "walk-q", walk.n)),
            ("g", grid),
            ("o", _table("output", "Output O = A·V", _numbers(walk.dv), "walk-o", walk.n)),
            ("v", _table("v", "Values V, one in each column", top, "walk-v", walk.dv, "lid")),
        )
        made = "".join(f'<div class="at-{place}">{table}</div>' for place, table in parts)
        made += f'<div class="at-size" aria-hidden="true">{_size_of_queries(view, walk)}</div>'
        body = scroll("Q, K, V, scores and output", f'<div class="picture">{made}</div>', ' id="walk-scroll"')
    else:
        tables = (
            grid,
            _table("output", "Output O = A·V", _numbers(walk.dv), "walk-o", walk.n),
            _table("q", "Queries Q", _numbers(walk.dk), "walk-q", walk.n),
            _table("k", "Keys K", _numbers(walk.dk), "walk-k", walk.m),
            _table("v", "Values V", _numbers(walk.dv), "walk-v", walk.m),
        )
        names = ("Scores", "Output", "Queries", "Keys", "Values")
        body = (
            '<div class="apart">'
            + "".join(scroll(name, table) for name, table in zip(names, tables, strict=True))
            + "</div>"
        )
    masked = '<span class="key masked">−∞</span> masked' if walk.masked else ""
    legend = (
        '<p class="walk-legend"><span class="key todo"></span> not computed yet '
        f'<span class="key done">0</span> computed: a zero is a score too {masked}</p>'
    )
    return f'<div class="walk-stage ch{_longest(view, walk)}">{body}{legend}</div>'


def scroll(label: str, inner: str, extra: str = "") -> str:
    """A box that may scroll sideways, so it must be reachable by keyboard and have a name."""
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{label}"{extra}>{inner}</div>'


def _size_of_queries(view: View, walk: Walk) -> str:
    """An unseen copy of Q that keeps its column as wide as Q itself, which floats over the grid on narrow screens."""
    rows = "".join(
        f"<tr><th>{_name(i, view.slice.query_labels)}</th>"
        + "".join(f'<td class="n">{short(x, view.write)}</td>' for x in walk.trace.q[i].tolist())
        + "</tr>"
        for i in range(walk.n)
    )
    return f"<table><tbody>{rows}</tbody></table>"


def is_picture(walk: Walk) -> bool:
    """True when the vectors are short enough to stand around the grid."""
    return max(walk.dk, walk.dv) <= MOST_AROUND


def _longest(view: View, walk: Walk) -> int:
    """Characters of the longest number in the grid's columns, within the classes that the style sheet has."""
    trace = walk.trace
    arrays = [trace.scores, getattr(trace, walk.logits)]
    if is_picture(walk):
        arrays += [trace.k, trace.v]
    lengths = [len(short(x, view.write)) for array in arrays for x in np.ravel(array).tolist()]
    lengths += [len(view.write(x)) for x in np.ravel(trace.weights).tolist()]
    return min(max(lengths), WIDEST)


def rows(view: View, walk: Walk, step: Step, ahead: Step | None) -> dict[str, str]:
    """The slots of all rows after `step`. `ahead` is the step the reader is asked to predict, if any."""
    drawn, grid = view.drawn, walk.grid(step.index)
    lit = _by_row((ahead or step).reads)
    now = {} if ahead else _by_row(step.writes)
    asked = _by_row(ahead.writes) if ahead else {}
    trace = walk.trace
    slots = {"walk-grid-title": GRID_TITLES[step.phase]}

    def slot(name: str, key: object, make: object, *arguments: object) -> None:
        """Draw a row once for each look it can have."""
        cached = f"{name}:{key}"
        html = drawn.get(cached)
        if html is None:
            html = drawn[cached] = make(*arguments)  # type: ignore[operator]
        slots[name] = html

    known = [int(count) for count in grid.known.sum(axis=1)]
    masked = [bool(row.any()) for row in grid.masked]
    for i in range(walk.n):
        look = (
            grid.stage[i],
            known[i],
            masked[i],
            _columns(now, i, "grid"),
            _columns(lit, i, "grid"),
            _columns(asked, i, "grid"),
        )
        slot(f"walk-g{i}", look, _grid_row, view, walk, grid, i, *look[3:])
    picture = is_picture(walk)
    for table, array, labels in (
        ("q", trace.q, view.slice.query_labels),
        ("k", trace.k, view.slice.key_labels),
        ("v", trace.v, view.slice.key_labels),
    ):
        if picture and table != "q":
            on = tuple(i for i in range(walk.m) if _columns(lit, i, table))
            for c in range(array.shape[1]):
                slot(f"walk-{table}{c}", on, _across_row, view, array[:, c].tolist(), c, on)
            continue
        for i in range(array.shape[0]):
            on = _columns(lit, i, table)
            slot(f"walk-{table}{i}", on, _vector_row, view, array[i].tolist(), i, labels, on)
    for i in range(walk.n):
        done = i < grid.output_rows
        look_out = (done, _columns(now, i, "output"), _columns(asked, i, "output"))
        values = trace.output[i].tolist() if done else None
        slot(f"walk-o{i}", look_out, _output_row, view, walk, values, i, *look_out[1:])
    return slots


def _by_row(cells: Iterable[tuple[str, int, int]]) -> dict[tuple[str, int], tuple[int, ...]]:
    """Cells grouped by table and row; every stage before the output stands in the grid."""
    grouped: dict[tuple[str, int], tuple[int, ...]] = {}
    for table, i, j in cells:
        key = (table if table in ("q", "k", "v", "output") else "grid", i)
        grouped[key] = (*grouped.get(key, ()), j)
    return grouped


def _columns(grouped: dict[tuple[str, int], tuple[int, ...]], i: int, table: str) -> tuple[int, ...]:
    return grouped.get((table, i), ())


def _grid_row(
    view: View, walk: Walk, grid: Grid, i: int, now: Sequence[int], lit: Sequence[int], asked: Sequence[int]
) -> str:
    stage = grid.stage[i]
    weights = stage == "weights"
    levels = shade(grid.values[i]) if weights else None
    cells = []
    for j, x in enumerate(grid.values[i].tolist()):
        mark = " now" if j in now else " lit" if j in lit else " asked" if j in asked else ""
        place = f'data-i="{i}" data-j="{j}"'
        if not grid.known[i, j]:
            text = "?" if j in asked else ""
            cells.append(f'<td {place} data-state="todo" class="n todo{mark}">{text}</td>')
            continue
        if grid.masked[i, j]:
            text = "0" if weights and x == 0 else _text(view, x, stage)
            cells.append(
                f'<td {place} data-state="masked" data-masked data-value="{x!r}" class="n masked{mark}">{text}</td>'
            )
            continue
        state = "zero" if x == 0 else "value"
        fill = f"w{levels[j]}" if levels is not None else "done"
        cells.append(
            f'<td {place} data-state="{state}" data-value="{x!r}" class="n {fill}{mark}">{_text(view, x, stage)}</td>'
        )
    return (
        f'<th scope="row" data-row-stage="{stage}">{_name(i, view.slice.query_labels)}</th>{"".join(cells)}'
    )


def _vector_row(
    view: View, values: list[float], i: int, labels: tuple[str, ...] | None, lit: Sequence[int]
) -> str:
    on = " lit" if lit else ""
    cells = "".join(
        f'<td data-i="{i}" data-j="{j}" data-value="{x!r}" class="n{on}">{short(x, view.write)}</td>'
        for j, x in enumerate(values[:MOST_SHOWN])
    )
    return f'<th scope="row">{_name(i, labels)}</th>{cells}{_more(len(values))}'


def _output_row(
    view: View, walk: Walk, values: list[float] | None, i: int, now: Sequence[int], asked: Sequence[int]
) -> str:
    name = f'<th scope="row">{_name(i, view.slice.query_labels)}</th>'
    shown = min(walk.dv, MOST_SHOWN)
    if values is None:
        cells = "".join(
            f'<td data-i="{i}" data-j="{j}" data-state="todo" class="n todo{" asked" if j in asked else ""}">'
            f"{'?' if j in asked else ''}</td>"
            for j in range(shown)
        )
    else:
        on = " now" if now else ""
        cells = "".join(
            f'<td data-i="{i}" data-j="{j}" data-state="{"zero" if x == 0 else "value"}" data-value="{x!r}" '
            f'class="n done{on}">{view.write(x)}</td>'
            for j, x in enumerate(values[:shown])
        )
    return name + cells + _more(walk.dv)


def _across_row(view: View, values: list[float], c: int, lit: Sequence[int]) -> str:
    """Entry c of every key or value: one row of the transposed matrix. data-i and data-j are those of K or V."""
    cells = "".join(
        f'<td data-i="{i}" data-j="{c}" data-value="{x!r}" class="n{" lit" if i in lit else ""}">'
        f"{short(x, view.write)}</td>"
        for i, x in enumerate(values)
    )
    return f'<th scope="row">{c}</th>{cells}'


def _table(name: str, title: str, head: str, slot: str, count: int, lid: str = "") -> str:
    """A table with a place for each row. A `lid` is a header row that the picture has no need to show twice."""
    kind = f' class="{lid}"' if lid else ""
    return (
        f'<table data-walk-table="{name}"><caption>{title}</caption><thead{kind}><tr>{head}</tr></thead>'
        f"<tbody>{_places(slot, count)}</tbody></table>"
    )


def _numbers(columns: int) -> str:
    heads = "".join(f'<th scope="col">{j}</th>' for j in range(min(columns, MOST_SHOWN)))
    return f'<td class="corner"></td>{heads}{_more(columns, head=True)}'


def _places(slot: str, count: int) -> str:
    return "".join(f'<tr data-slot="{slot}{i}"></tr>' for i in range(count))


def _more(columns: int, head: bool = False) -> str:
    if columns <= MOST_SHOWN:
        return ""
    text = f"+{columns - MOST_SHOWN}" if head else "…"
    return f'<td class="n quiet">{text}</td>'


def _text(view: View, x: float, stage: str) -> str:
    return view.write(x) if stage == "weights" else short(x, view.write)


def _name(index: int, labels: tuple[str, ...] | None) -> str:
    """`4 light`: the index, and the reader's token where there is one."""
    word = f' <span class="word">{escape(labels[index])}</span>' if labels else ""
    return f'<span class="idx">{index}</span>{word}'
