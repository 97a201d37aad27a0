"""The grid editor: one matrix as a table of small text fields. HTML only; page/grid.py moves and reads them."""

from __future__ import annotations

from collections.abc import Sequence

from attention_lab.render.html import escape

MOST_CELLS = 64
"""Rows or columns up to which a matrix is edited as a grid."""

LETTERS = {"q": ("Q", "d"), "k": ("K", "d"), "v": ("V", "d")}


def grid(name: str, cells: Sequence[Sequence[str]]) -> str:
    """The editor of matrix `name` ("q", "k" or "v"); cells are texts, rows of equal length."""
    row_letter, column_letter = LETTERS[name]
    columns = len(cells[0])
    head = "".join(f'<th scope="col">{column_letter}{j + 1}</th>' for j in range(columns))
    body = "".join(
        f'<tr><th scope="row">{row_letter}{i + 1}</th>'
        + "".join(
            f'<td><input data-grid="{name}" data-r="{i}" data-c="{j}" value="{escape(text)}" size="6" '
            f'inputmode="decimal" aria-label="{name.upper()} row {i + 1} column {j + 1}"></td>'
            for j, text in enumerate(line)
        )
        + "</tr>"
        for i, line in enumerate(cells)
    )
    buttons = "".join(
        f'<button type="button" data-grid-change="{name} {change}">{label}</button>'
        for change, label in (
            ("add-row", "+ row"),
            ("drop-row", "− row"),
            ("add-column", "+ column"),
            ("drop-column", "− column"),
        )
    )
    return (
        f'<div class="scroll"><table class="grid"><caption class="visually-hidden">{name.upper()} as a grid</caption>'
        f'<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div><p class="line">{buttons}</p>'
    )
