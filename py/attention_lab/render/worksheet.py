"""Worksheets as HTML: one printed page for each variant, then one page with the answers of each.

Draws what teach/worksheet.py made. Blank cells are empty in the HTML, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from attention_lab.core import LabError
from attention_lab.render.html import escape
from attention_lab.teach.plan import Plan
from attention_lab.teach.words import TITLES, instruction, task
from attention_lab.teach.worksheet import Array, Sheet, calculator_values, sheets, written

Linker = Callable[[dict[str, str]], str]
"""Turns fragment keys into a full address."""


def worksheet(text: str, link: Linker) -> str:
    """Every page of the plan written in `text` (`sheet=`): the sheets, then their answer keys. Raises LabError."""
    made = sheets(Plan.from_text(text))
    return "".join(_page(sheet, link, False) for sheet in made) + "".join(
        _page(sheet, link, True) for sheet in made
    )


def toolbar(text: str) -> str:
    """What stands above the sheets on the screen and is not printed; or the error that stops them."""
    plan = Plan.from_text(text)
    count = (
        f"{plan.variants} sheets, then {plan.variants} answer keys"
        if plan.variants > 1
        else "One sheet, then its answer key"
    )
    return (
        '<div class="sheet-bar"><button type="button" data-sheet-do="print">Print</button> '
        '<button type="button" data-sheet-do="latex">LaTeX</button> '
        '<button type="button" data-sheet-do="html">Save as HTML</button> '
        '<button type="button" data-sheet-do="change">Change</button> '
        f'<button type="button" data-sheet-do="close">Close</button> <span class="quiet">{count}.</span></div>'
    )


def worksheet_or_error(text: str, link: Linker) -> tuple[str, str]:
    """(toolbar and pages, "") or ("", what is wrong with the plan)."""
    try:
        return toolbar(text) + worksheet(text, link), ""
    except LabError as error:
        return "", str(error)


def standalone(text: str, link: Linker, stylesheet: str) -> str:
    """A file of its own with the same pages."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>Attention worksheet</title>\n'
        f"<style>\n{stylesheet}\n</style>\n</head>\n<body>\n{worksheet(text, link)}\n</body>\n</html>\n"
    )


def _page(sheet: Sheet, link: Linker, key: bool) -> str:
    plan = sheet.plan
    title = f"Attention {'answer key' if key else 'worksheet'} {sheet.letter}"
    names = "" if key else '<p class="sheet-name">Name <span></span> Date <span></span></p>'
    head = "" if key else f'<p class="sheet-task">{escape(task(plan))}</p>'
    given = "".join(_given(sheet, name) for name in "qkv")
    steps = []
    place = 0
    for name in sheet.stages:
        if name == "sums":
            continue
        place += 1
        steps.append(_step(sheet, name, place, key))
    address = link(calculator_values(sheet, blank=not key))
    foot = "The steps of every number" if key else "Check your answers"
    return (
        f'<section class="sheet{" sheet-key" if key else ""}{" sheet-wide" if plan.keys > 4 else ""}" data-letter="{sheet.letter}">'
        f"<header><h2>{title}</h2>{names}</header>{head}"
        f'<div class="sheet-given">{given}</div><div class="sheet-steps">{"".join(steps)}</div>'
        f'<footer>Seed {plan.seed}, sheet {sheet.letter}. {foot}: <a href="{escape(address)}">{escape(address)}</a></footer></section>'
    )


def _given(sheet: Sheet, name: str) -> str:
    array = getattr(sheet.problem, name)
    letter = "q" if name == "q" else "k" if name == "k" else "v"
    rows = [f"{letter}<sub>{i + 1}</sub>" for i in range(array.shape[0])]
    titles = {"q": "Q: a query in each row", "k": "K: a key in each row", "v": "V: values"}
    return _table(sheet, name, titles[name], rows, [""] * array.shape[1], array, set(), False)


def _step(sheet: Sheet, name: str, place: int, key: bool) -> str:
    plan, array = sheet.plan, sheet.stages[name]
    rows = [f"q<sub>{i + 1}</sub>" for i in range(array.shape[0])]
    columns = [f"k<sub>{j + 1}</sub>" for j in range(plan.keys)]
    if name == "output":
        columns = [""] * array.shape[1]
    blank = {name} & set(plan.blank)
    if name == "exponentials":
        array = np.hstack([array, sheet.stages["sums"]])
        columns = [*columns, "Σ"]
        blank = {"exponentials", "sums"} & set(plan.blank)
    help_line = _powers(sheet) if name == "exponentials" and not key else ""
    table = _table(sheet, name, TITLES[name], rows, columns, array, blank, key)
    words = "" if key else f"<p>{escape(instruction(plan, name))}</p>"
    return f'<section class="sheet-step"><h3>{place}. {escape(TITLES[name])}</h3>{words}{help_line}{table}</section>'


def _powers(sheet: Sheet) -> str:
    """`e⁰ = 1 · e⁻¹ ≈ 0.368`: the powers that occur, where the exponentials are to be filled in."""
    if "exponentials" not in sheet.plan.blank or sheet.plan.base == "2":
        return ""
    terms = []
    for difference, power in sheet.powers:
        equal = "=" if difference == 0 else "≈"
        terms.append(
            f"e<sup>{str(difference).replace('-', '−')}</sup> {equal} {written(sheet, 'exponentials', power)}"
        )
    return f'<p class="sheet-powers">{" · ".join(terms)}</p>'


def _table(
    sheet: Sheet,
    name: str,
    caption: str,
    rows: Sequence[str],
    columns: Sequence[str],
    array: Array,
    blank: set[str],
    key: bool,
) -> str:
    """blank names the stages of this table that are left out; with `key` they are filled in and marked."""
    last = array.shape[1] - 1
    body = []
    for i, line in enumerate(array.tolist()):
        cells = []
        for j, x in enumerate(line):
            part = "sums" if name == "exponentials" and j == last else name
            if part in blank and not key:
                cells.append('<td class="sheet-blank"></td>')
            else:
                mark = ' class="sheet-answer"' if part in blank else ""
                cells.append(f'<td{mark} data-value="{x!r}">{written(sheet, part, x)}</td>')
        body.append(f'<tr><th scope="row">{rows[i]}</th>{"".join(cells)}</tr>')
    head = (
        f"<thead><tr><td></td>{''.join(f'<th scope=col>{each}</th>' for each in columns)}</tr></thead>"
        if any(columns)
        else ""
    )
    shown = (
        f"<caption>{caption}</caption>"
        if name in "qkv"
        else f'<caption class="visually-hidden">{escape(caption)}</caption>'
    )
    return (
        f'<table class="sheet-table" data-sheet="{name}">{shown}{head}<tbody>{"".join(body)}</tbody></table>'
    )
