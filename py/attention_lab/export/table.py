"""One stage as text to paste elsewhere: tab-separated for a spreadsheet, or JSON with the exact values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def tsv(values: NDArray[Any]) -> str:
    """Rows by new lines, entries by tabs, every float in its shortest exact form: `[[1, 0.5]]` → `1.0\\t0.5`."""
    return "\n".join("\t".join(_text(x) for x in line) for line in np.asarray(values, float).tolist())


def exact_json(name: str, values: NDArray[Any]) -> str:
    """`{"name": …, "shape": […], "data": [[…]]}`; −∞, ∞ and NaN, which JSON has no numbers for, as texts."""
    import json

    array = np.asarray(values, float)
    data = [[x if math.isfinite(x) else _text(x) for x in line] for line in array.tolist()]
    return json.dumps({"name": name, "shape": list(array.shape), "data": data})


def _text(x: float) -> str:
    if math.isfinite(x):
        return repr(x)
    return "NaN" if x != x else "Infinity" if x > 0 else "-Infinity"
