"""Every input and stage as NumPy array literals, exact, to paste into a notebook. The program is in scripts/."""

from __future__ import annotations

from attention_lab.export.material import Material, refuse_too_many
from attention_lab.export.scripts.steps import literal


def everything_numpy(material: Material) -> str:
    """`q = np.array([...])` for each array, all batches and heads."""
    arrays = material.whole
    refuse_too_many(arrays)
    parts = ["import numpy as np", "", 'inf, nan = float("inf"), float("nan")']
    if material.link:
        parts.insert(0, "# " + material.link.replace("\n", " "))
    for name, array in arrays.items():
        kind = (
            "" if array.dtype.name == "float64" else f", dtype=np.{array.dtype.name.replace('bool', 'bool_')}"
        )
        parts.append(f"{name} = np.array({literal(array)}{kind})")
    return "\n".join(parts) + "\n"
