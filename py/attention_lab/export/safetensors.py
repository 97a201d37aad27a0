"""Every array as .safetensors: eight bytes of header length, a JSON header, then the numbers, little-endian.

Written from the published description of the format; needs no library.
"""

from __future__ import annotations

from attention_lab.export.material import AnyArray, Material, options_of

TYPES = {"float64": ("F64", "<f8"), "float32": ("F32", "<f4"), "bool": ("BOOL", "?")}


def everything_safetensors(material: Material) -> bytes:
    """All batches and heads; options, labels and the link as JSON texts in the header's metadata."""
    import json

    from attention_lab import __version__

    metadata = {
        "attention_lab": __version__,
        "link": material.link,
        "options": json.dumps(options_of(material.trace)),
        "query_labels": json.dumps(material.problem.query_labels),
        "key_labels": json.dumps(material.problem.key_labels),
    }
    return safetensors(material.whole, metadata)


def safetensors(arrays: dict[str, AnyArray], metadata: dict[str, str]) -> bytes:
    """The bytes of a file with these arrays, widest type first so that every tensor starts on its own alignment."""
    import json

    import numpy as np

    header: dict[str, object] = {"__metadata__": metadata}
    pieces: list[bytes] = []
    at = 0
    for name, array in sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize):
        kind, layout = TYPES[array.dtype.name]
        data = np.ascontiguousarray(array, layout).tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [at, at + len(data)]}
        pieces.append(data)
        at += len(data)
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(pieces)
