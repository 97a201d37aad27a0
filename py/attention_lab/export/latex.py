r"""LaTeX: every stage as a `bmatrix`, and one query row worked out line by line. Needs the package amsmath.

Numbers are rounded as on the page. The text stands inside a document; `document()` puts one around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from attention_lab.explain.row import RowTrace, row
from attention_lab.export.material import AnyArray, Material, refuse_too_many

SYMBOLS = {
    "q": "Q",
    "k": "K",
    "v": "V",
    "keep": r"\mathrm{keep}",
    "bias": "B",
    "scores": r"S = QK^{\mathsf T}",
    "tempered": r"S_T = S_{\text{scaled}}/T",
    "capped": r"S_c = c\tanh(S/c)",
    "biased": r"S_B = S + B",
    "masked": r"S_{\text{masked}}",
    "exponentials": r"E = \exp(S - \max)",
    "weights": r"A = \operatorname{softmax}(S)",
    "output": "O = AV",
}
STAGE_NAMES = {
    "tempered": "after the temperature",
    "capped": "after the softcap",
    "biased": "with the bias",
    "masked": "after the mask",
}
MOST_KEYS = 16
"""Keys that a worked row spells out; of more, the strongest are shown."""
MOST_TERMS = 8

Writer = Callable[[float], str]


def everything_latex(material: Material) -> str:
    """Every input and stage of the slice on show, then its chosen row worked out."""
    arrays = material.tables
    refuse_too_many(arrays)
    write = latex_number(material.write)
    widest = max(array.shape[1] for array in arrays.values())
    lines = [r"% Needs \usepackage{amsmath}."]
    if material.link:
        lines.append("% " + material.link.replace("\n", " "))
    if widest > 10:
        lines.append(rf"\setcounter{{MaxMatrixCols}}{{{widest}}}")
    for name, array in arrays.items():
        lines.append(rf"\[ {_symbol(material, name)} = {bmatrix(array, write)} \]")
    return "\n".join(
        [*lines, "", worked_row(row(material.part, material.part_trace, material.row), write, material)]
    )


def document(body: str) -> str:
    """A document of its own around a text of this module, landscape so that wide matrices fit."""
    return "\n".join(
        [
            r"\documentclass[a4paper,landscape]{article}",
            r"\usepackage[margin=15mm]{geometry}",
            r"\usepackage{amsmath}",
            r"\begin{document}",
            body,
            r"\end{document}",
            "",
        ]
    )


def bmatrix(array: AnyArray, write: Writer) -> str:
    r"""`bmatrix([[1, 2]], str)` → `\begin{bmatrix} 1 & 2 \end{bmatrix}`."""
    lines = (
        " & ".join(str(int(x)) if isinstance(x, bool) else write(x) for x in line) for line in array.tolist()
    )
    return r"\begin{bmatrix} " + r" \\ ".join(lines) + r" \end{bmatrix}"


def latex_number(write: Writer) -> Writer:
    r"""The page's way to write a number, in LaTeX: `−∞` → `-\infty`, `1.5e+20` → `1.5 \cdot 10^{20}`."""

    def converted(x: float) -> str:
        text = write(float(x)).replace("−", "-").replace("∞", r"\infty").replace("NaN", r"\mathrm{NaN}")
        return re.sub(r"e([+-]?)0*(\d+)$", lambda m: rf" \cdot 10^{{{m[1].replace('+', '')}{m[2]}}}", text)

    return converted


def _symbol(material: Material, name: str) -> str:
    if name == "scaled":
        scale = material.options.scale
        return (
            r"S/\sqrt{d_k}"
            if scale == "sqrt_dk"
            else rf"{latex_number(material.write)(material.part_trace.scale)}\,S"
        )
    return SYMBOLS[name]


def worked_row(item: RowTrace, write: Writer, material: Material) -> str:
    """The arithmetic of one row as an align* with a line for every dot product, exponential and weight."""
    i = item.index + 1
    shown, left_out = _shown_keys(item)
    lines = [rf"q_{{{i}}} &= {_vector(item.query, write)}"]
    for j in shown:
        lines.append(rf"q_{{{i}}}\cdot k_{{{j + 1}}} &= {_dot(item, j, write)} = {write(item.dot[j])}")
    factor = material.part_trace.scale
    by = r"/\sqrt{d_k}" if material.options.scale == "sqrt_dk" else rf"\cdot {_signed(factor, write)}"
    final = "scaled"
    if factor != 1:
        for j in shown:
            lines.append(rf"s_{{{j + 1}}} = q_{{{i}}}\cdot k_{{{j + 1}}}{by} &= {write(item.scaled[j])}")
    for name in item.active:
        final = name
        values = item.logits if name == "masked" else getattr(item, name)
        numbers = ",\\ ".join(rf"s_{{{j + 1}}} = {write(values[j])}" for j in shown)
        lines.append(rf"\text{{{STAGE_NAMES[name]}: }} & {numbers}")
    logits = item.logits if final == "masked" else getattr(item, final)
    if item.empty:
        lines.append(r"& \text{every key is masked: this row may attend to nothing}")
        lines.append(rf"a_{{{i}}} &= {_vector(item.weights, write)}")
        lines.append(rf"o_{{{i}}} &= {_vector(item.output, write)}")
        return _align(lines)
    lines.append(rf"m = \max_j s_j &= {write(item.row_max)}")
    for j in shown:
        shift = rf"{write(logits[j])} - {_signed(item.row_max, write)}"
        lines.append(rf"e_{{{j + 1}}} = \exp({shift}) &= {write(item.exponentials[j])}")
    dots = r" + \cdots" if left_out else ""
    total = " + ".join(write(item.exponentials[j]) for j in shown)
    lines.append(rf"\textstyle\sum_j e_j = {total}{dots} &= {write(item.denominator)}")
    for j in shown:
        quotient = rf"{write(item.exponentials[j])}/{write(item.denominator)}"
        lines.append(
            rf"a_{{{i}{',' if max(i, j + 1) > 9 else ''}{j + 1}}} = {quotient} &= {write(item.weights[j])}"
        )
    mixed = " + ".join(rf"{write(item.weights[j])}\,v_{{{j + 1}}}" for j in shown)
    lines.append(rf"o_{{{i}}} = {mixed}{dots} &= {_vector(item.output, write)}")
    if left_out:
        lines.append(rf"& \text{{{left_out} keys with smaller weights are left out above}}")
    return _align(lines)


def _align(lines: Sequence[str]) -> str:
    return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}\n"


def _shown_keys(item: RowTrace) -> tuple[list[int], int]:
    count = len(item.dot)
    if count <= MOST_KEYS:
        return list(range(count)), 0
    strongest = sorted(
        range(count), key=lambda j: (-item.weights[j] if item.weights[j] == item.weights[j] else 0.0, j)
    )
    return sorted(strongest[:MOST_KEYS]), count - MOST_KEYS


def _vector(values: AnyArray, write: Writer) -> str:
    shown = [write(x) for x in values.tolist()]
    if len(shown) > MOST_KEYS:
        shown = [*shown[: MOST_KEYS - 2], r"\ldots", shown[-1]]
    return "(" + ",\\ ".join(shown) + ")"


def _dot(item: RowTrace, j: int, write: Writer) -> str:
    pairs = zip(item.query.tolist(), item.keys[j].tolist(), strict=True)
    terms = [rf"{write(a)}\cdot {_signed(b, write)}" for a, b in pairs]
    if len(terms) > MOST_TERMS:
        terms = [*terms[: MOST_TERMS - 1], r"\cdots"]
    return " + ".join(
        term if n == 0 or not term.startswith("-") else f"({term})" for n, term in enumerate(terms)
    )


def _signed(x: float, write: Writer) -> str:
    text = write(x)
    return f"({text})" if text.startswith("-") else text
