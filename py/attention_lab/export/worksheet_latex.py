r"""Worksheets as a LaTeX document of their own: the sheets, then their answer keys, a page each.

Needs the article class and the packages amsmath, array, geometry and url. Draws what teach/worksheet.py made.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attention_lab.teach.plan import Plan
from attention_lab.teach.words import TITLES, instruction, task
from attention_lab.teach.worksheet import Array, Sheet, calculator_values, sheets, written

SIGNS = {
    "√dₖ": r"$\sqrt{d_k}$",
    "√4": r"$\sqrt4$",
    "Q·Kᵀ": r"$QK^{\mathsf T}$",
    "A·V": "$AV$",
    "−∞": r"$-\infty$",
    "Σ": r"$\Sigma$",
    "2ˣ": "$2^x$",
    "eˣ": "$e^x$",
    "·V": r"$\,V$",
    "−": "$-$",
}

HEAD = r"""\documentclass[a4paper]{article}
\usepackage[margin=18mm]{geometry}
\usepackage{amsmath,array,url}
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt}
\setlength{\tabcolsep}{1mm}
\newcolumntype{C}{>{\centering\arraybackslash}p{8.6mm}}
\newcommand{\blank}{\rule{0pt}{7mm}}
\renewcommand{\arraystretch}{1.2}
\pagestyle{empty}
\begin{document}
"""


def worksheet_latex(text: str, link: Callable[[dict[str, str]], str]) -> str:
    """The document for the plan written in `text` (`sheet=`). Raises LabError."""
    made = sheets(Plan.from_text(text))
    pages = [_page(sheet, link, False) for sheet in made] + [_page(sheet, link, True) for sheet in made]
    return HEAD + "\n\\clearpage\n".join(pages) + "\n\\end{document}\n"


def _page(sheet: Sheet, link: Callable[[dict[str, str]], str], key: bool) -> str:
    plan = sheet.plan
    lines = [rf"{{\Large\bfseries Attention {'answer key' if key else 'worksheet'} {sheet.letter}}}"]
    if not key:
        lines.append(r"\hfill Name \underline{\hspace{45mm}}")
    lines += ["", "" if key else _tex(task(plan)), ""]
    for name in "qkv":
        array = getattr(sheet.problem, name)
        lines.append(rf"$ {name.upper()} = {_matrix(sheet, name, array)} $\quad")
    place = 0
    for name in sheet.stages:
        if name == "sums":
            continue
        place += 1
        words = "" if key else " " + _tex(instruction(plan, name))
        lines += ["" if place % 2 else r"\hfill", r"\begin{minipage}[t]{0.485\linewidth}"]
        lines.append(rf"\raggedright\textbf{{{place}. {_tex(TITLES[name])}.}}{words}\\[2mm]")
        if name == "exponentials" and not key and "exponentials" in plan.blank and plan.base == "e":
            equals = {True: "=", False: r"\approx"}
            terms = [
                f"e^{{{difference}}} {equals[difference == 0]} {written(sheet, name, power)}"
                for difference, power in sheet.powers
            ]
            lines.append("$" + r",\quad ".join(terms) + r"$\\[2mm]")
        lines += [_table(sheet, name, key), r"\end{minipage}" + ("" if place % 2 else r"\\[4mm]")]
    address = link(calculator_values(sheet, blank=not key))
    lines += [
        "",
        r"\vfill",
        rf"{{\raggedright\footnotesize Seed {plan.seed}, sheet {sheet.letter}. \url{{{_url(address)}}}\par}}",
    ]
    return "\n".join(lines)


def _matrix(sheet: Sheet, name: str, array: Array) -> str:
    rows = (" & ".join(_number(sheet, name, x) for x in line) for line in array.tolist())
    return r"\begin{bmatrix} " + r" \\ ".join(rows) + r" \end{bmatrix}"


def _table(sheet: Sheet, name: str, key: bool) -> str:
    array = sheet.stages[name]
    columns = (
        [f"$k_{{{j + 1}}}$" for j in range(sheet.plan.keys)] if name != "output" else [""] * array.shape[1]
    )
    if name == "exponentials":
        array = np.hstack([array, sheet.stages["sums"]])
        columns.append(r"$\Sigma$")
    last = array.shape[1] - 1
    lines = [rf"\begin{{tabular}}{{r|{'C|' * array.shape[1]}}}"]
    if name != "output":
        lines.append(" & ".join(["", *columns]) + r" \\")
    lines.append(r"\hline")
    for i, line in enumerate(array.tolist()):
        cells = [rf"$q_{{{i + 1}}}$"]
        for j, x in enumerate(line):
            part = "sums" if name == "exponentials" and j == last else name
            cells.append(
                r"\blank" if part in sheet.plan.blank and not key else f"${_number(sheet, part, x)}$"
            )
        lines.append(" & ".join(cells) + r" \\ \hline")
    return "\n".join([*lines, r"\end{tabular}"])


def _number(sheet: Sheet, stage: str, x: float) -> str:
    return written(sheet, stage, x).replace("−∞", r"-\infty").replace("−", "-")


def _tex(text: str) -> str:
    for sign, code in SIGNS.items():
        text = text.replace(sign, code)
    return text


def _url(address: str) -> str:
    """An address that can stand inside \\url: braces must balance, and the rest is taken as it is."""
    return address.replace("{", "%7B").replace("}", "%7D").replace("\\", "%5C").replace("\n", "")
