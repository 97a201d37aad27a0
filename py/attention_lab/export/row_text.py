"""The arithmetic of one query row as plain text, to paste into a message or a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attention_lab.explain.row import RowTrace

MOST_TERMS = 12


def row_text(item: RowTrace, query: str, keys: Sequence[str], write: Callable[[float], str]) -> str:
    """Every step of the row, one line each: dot products, division, mask, maximum, exponentials, weights, output."""
    lines = [f"Row {query}", f"q = ({', '.join(write(float(x)) for x in item.query)})"]
    for j, key in enumerate(keys):
        terms = [
            f"{write(float(a))}×{write(float(b))}" for a, b in zip(item.query, item.keys[j], strict=True)
        ]
        if len(terms) > MOST_TERMS:
            terms = [*terms[: MOST_TERMS - 2], f"… {len(terms) - MOST_TERMS + 1} more …", terms[-1]]
        chain = f"q·{key} = {' + '.join(terms)} = {write(float(item.dot[j]))}; scaled {write(float(item.scaled[j]))}"
        for name in item.active:
            values = item.logits if name == "masked" else getattr(item, name)
            chain += (
                "; masked" if name == "masked" and item.masked[j] else f"; {name} {write(float(values[j]))}"
            )
        lines.append(chain)
    lines.append(f"row maximum = {write(item.row_max)}")
    for j, key in enumerate(keys):
        lines.append(f"exp({key}) = {write(float(item.exponentials[j]))}")
    lines.append(f"denominator = {write(item.denominator)}")
    for j, key in enumerate(keys):
        lines.append(f"weight({key}) = {write(float(item.weights[j]))}")
    lines.append(f"output = ({', '.join(write(float(x)) for x in item.output)})")
    return "\n".join(lines) + "\n"
