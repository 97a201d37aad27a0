"""Every input and stage as Markdown tables, rounded as on the page, with labels. For notes, issues and wikis."""

from __future__ import annotations

from collections.abc import Sequence

from attention_lab.export.material import AnyArray, Material, refuse_too_many

TITLES = {
    "q": "Q, queries",
    "k": "K, keys",
    "v": "V, values",
    "keep": "Keep mask, 1 = may attend",
    "bias": "Additive bias",
    "scores": "Scores Q·Kᵀ",
    "scaled": "Scaled scores",
    "tempered": "Scores divided by T",
    "capped": "Capped scores",
    "biased": "Biased scores",
    "masked": "Masked scores",
    "exponentials": "Exponentials, row maximum subtracted",
    "weights": "Weights, softmax of each row",
    "output": "Output, weights · V",
}


def everything_markdown(material: Material) -> str:
    """The slice on show, one table for each array."""
    arrays = material.tables
    refuse_too_many(arrays)
    parts = []
    for name, array in arrays.items():
        rows, columns = names_of(material, name)
        parts.append(
            f"**{TITLES[name]}** ({'×'.join(map(str, array.shape))})\n\n{_table(material, array, rows, columns)}"
        )
    address = material.link.replace("(", "%28").replace(")", "%29").replace("\n", " ")
    source = f"\nComputed by [Attention Lab]({address}).\n" if address else ""
    return "\n".join(parts) + source


def names_of(material: Material, name: str) -> tuple[Sequence[str], Sequence[str]]:
    """Row and column labels of one array of the slice."""
    queries, keys, dims = material.query_names, material.key_names, material.dim_names
    array = material.tables[name]
    rows = keys if name in ("k", "v") else queries
    columns = dims[: array.shape[1]] if name in ("q", "k", "v", "output") else keys
    return rows, columns


def _table(material: Material, array: AnyArray, rows: Sequence[str], columns: Sequence[str]) -> str:
    lines = ["| | " + " | ".join(map(_cell, columns)) + " |", "|---|" + "---:|" * len(columns)]
    for label, line in zip(rows, array.tolist(), strict=True):
        numbers = (str(int(x)) if isinstance(x, bool) else material.write(x) for x in line)
        lines.append(f"| {_cell(label)} | " + " | ".join(numbers) + " |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """A label that cannot end its cell or turn into markup."""
    safe = "".join(f"\\{sign}" if sign in "\\`*_[]<>|#~" else sign for sign in text)
    return safe.replace("\r", " ").replace("\n", " ")
