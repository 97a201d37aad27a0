"""A pinned result A beside the present one B: each stage of A, the difference B − A, and the largest change named."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.explain.stages import Stage, stages
from attention_lab.render.html import escape, formatter, number, shade, stage_table
from attention_lab.render.view import View

MOST_TABLE = 64
SYMBOLS = {"scores": "S", "weights": "A", "output": "O"}


def pinned(present: View, kept: View) -> str:
    """Every stage that both results have, compared; a stage that only one has is named."""
    before = {item.name: item for item in stages(kept.slice_trace, kept.write)}
    after = {item.name: item for item in stages(present.slice_trace, present.write)}
    pieces = [
        "<h3>Pinned result A against the present result B</h3>"
        '<p><button type="button" data-set="compare=">Unpin A</button> A is '
        f"{escape(_settings(kept))}. B is {escape(_settings(present))}.</p>"
    ]
    for name in dict.fromkeys([*before, *after]):
        if name in before and name in after:
            pieces.append(_stage(present, before[name], after[name]))
        else:
            only = before.get(name) or after[name]
            pieces.append(f"<p>{only.title}: only {'A' if name in before else 'B'} has this stage.</p>")
    return "".join(pieces)


def _settings(view: View) -> str:
    values = view.state.to_values()
    hidden = ("lab", "q", "k", "v", "row", "step", "decimals", "compare", "keep", "bias")
    parts = [f"{key}={value}" for key, value in values.items() if key not in hidden]
    return ", ".join(parts) or "the numbers given, scaled by √dₖ"


def _stage(view: View, before: Stage, after: Stage) -> str:
    a, b = np.asarray(before.array, float), np.asarray(after.array, float)
    title = f"<h4>{after.title}</h4>"
    if a.shape != b.shape:
        shapes = " and ".join("×".join(map(str, array.shape)) for array in (a, b))
        return f"{title}<p>A and B have shapes {shapes}: there is no cell by cell difference.</p>"
    change = _difference(a, b)
    words = _largest(view, after.name, a, b, change)
    if max(a.shape) > MOST_TABLE:
        return title + words
    columns = view.dim_names(a.shape[-1]) if after.name == "output" else view.key_names()
    tables = "".join(
        stage_table(
            after.name,
            values,
            caption=caption,
            rows=view.query_names(),
            columns=columns,
            decimals=view.state.decimals,
            shades=shade(values) if after.name == "weights" and role != "difference" else None,
            role=role,
        )
        for role, caption, values in (
            ("pinned", "A", a),
            ("present", "B", b),
            ("difference", "B − A", change),
        )
    )
    return f'{title}{words}<div class="stages">{tables}</div>'


def _difference(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """B − A, where two equal infinities (a cell masked in both) differ by 0."""
    with np.errstate(invalid="ignore"):
        return np.where(a == b, 0.0, b - a)


def _largest(view: View, name: str, a: NDArray[Any], b: NDArray[Any], change: NDArray[Any]) -> str:
    sizes = np.where(np.isnan(change), np.inf, np.abs(change))
    i, j = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
    if sizes[i, j] == 0:
        return f'<p data-largest-change="{name}" data-value="0.0">No cell changed.</p>'
    write = formatter(view.state.decimals)
    column = view.dim_names(a.shape[-1])[j] if name == "output" else view.key_names()[j]
    sign = "+" if change[i, j] > 0 else ""
    return (
        f'<p data-largest-change="{name}" data-i="{i}" data-j="{j}" data-value="{float(change[i, j])!r}">'
        f"Largest change: {view.query_names()[i]}, {column}: from {write(float(a[i, j]))} to {write(float(b[i, j]))} "
        f"({sign}{number(float(change[i, j]), view.state.decimals)}).</p>"
    )
