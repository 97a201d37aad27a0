"""Everything as JSON: exact floats, shapes, types, options, labels and the link. Does not round.

JSON has no ∞ and NaN: they are the texts "Infinity", "-Infinity" and "NaN".
"""

from __future__ import annotations

import math
from typing import Any

from attention_lab.export.material import AnyArray, Material, options_of, refuse_too_many


def everything_json(material: Material) -> str:
    """{"options": {…}, "query_labels": […] or null, "arrays": {name: {"dtype", "shape", "data"}}, …}, all batches and heads."""
    import json

    from attention_lab import __version__

    arrays = material.whole
    refuse_too_many(arrays)
    document = {
        "attention_lab": __version__,
        "link": material.link,
        "options": options_of(material.trace),
        "query_labels": material.problem.query_labels,
        "key_labels": material.problem.key_labels,
    }
    head = json.dumps(document, ensure_ascii=False, indent=2)[:-2]
    body = ",\n".join(
        f"    {json.dumps(name)}: {json.dumps(_array(array))}" for name, array in arrays.items()
    )
    return f'{head},\n  "arrays": {{\n{body}\n  }}\n}}\n'


def _array(array: AnyArray) -> dict[str, Any]:
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": _plain(array.tolist())}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value
