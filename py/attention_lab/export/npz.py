"""Every array as .npz, which numpy.load opens. Arrays alone: options and labels are in the JSON export."""

from __future__ import annotations

from attention_lab.export.material import Material


def everything_npz(material: Material) -> bytes:
    """All batches and heads, uncompressed, each array under its name; keep is bool, the rest floats."""
    import io

    import numpy as np

    memory = io.BytesIO()
    np.savez(memory, allow_pickle=False, **material.whole)
    return memory.getvalue()
