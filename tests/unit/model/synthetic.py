"""A tiny pack with random weights, written like the real one: 2 layers × 3 heads of 4, a few pieces. Same every time."""

from __future__ import annotations

import gzip
import hashlib
import json
from typing import Any

import numpy as np

from attention_lab.model.encoder import Encoder
from attention_lab.model.pack import Manifest, Part, quantized, read_manifest

PIECES = [
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "the",
    "cat",
    "sat",
    "##s",
    "c",
    "##a",
    "##t",
    ".",
    "flat",
    "tired",
    "it",
]
LAYERS, HEADS, HIDDEN, POSITIONS = 2, 3, 12, 16
TYPES = {"int8": "I8", "uint8": "U8", "int32": "I32", "float16": "F16", "float32": "F32"}


def laid_out(arrays: dict[str, Any]) -> bytes:
    """The safetensors layout, in the order given."""
    header, body = {}, b""
    for name, array in arrays.items():
        data = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": TYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [len(body), len(body) + len(data)],
        }
        body += data
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def layer_weights(seed: int) -> dict[str, Any]:
    """Plain float arrays of one layer: matrices (outputs, inputs), biases, gains."""
    dice = np.random.default_rng(seed)
    shapes = dict.fromkeys(("query", "key", "value", "after"), (HIDDEN, HIDDEN))
    shapes |= {"up": (4 * HIDDEN, HIDDEN), "down": (HIDDEN, 4 * HIDDEN)}
    made = {name: dice.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    made |= {f"{name}.bias": dice.normal(size=shape[0]).astype(np.float32) for name, shape in shapes.items()}
    for name in ("after_norm", "down_norm"):
        made[f"{name}.gain"] = dice.uniform(0.5, 1.5, HIDDEN).astype(np.float32)
        made[f"{name}.bias"] = dice.normal(size=HIDDEN).astype(np.float32)
    return made


def synthetic() -> tuple[str, dict[str, bytes]]:
    """manifest.json and {file: content}."""
    dice = np.random.default_rng(7)
    words, scales = quantized(dice.normal(size=(len(PIECES), HIDDEN)))
    first = {
        "positions": dice.normal(size=(POSITIONS, HIDDEN)).astype(np.float32),
        "kind": dice.normal(size=HIDDEN).astype(np.float32),
        "norm.gain": np.ones(HIDDEN, np.float32),
        "norm.bias": np.zeros(HIDDEN, np.float32),
        "original": np.arange(100, 100 + len(PIECES), dtype=np.int32),
        "words.0.scales": scales[:8],
        "words.0.rows": words[:8],
        "pieces": np.frombuffer("\n".join(PIECES).encode(), np.uint8),
    }
    contents = [
        ("embeddings-0", None, first),
        ("embeddings-1", None, {"words.1.scales": scales[8:], "words.1.rows": words[8:]}),
    ]
    for layer in range(LAYERS):
        plain = layer_weights(layer)
        arrays = {}
        for name in ("query", "key", "value", "after", "up", "down"):
            arrays[f"{name}.rows"], arrays[f"{name}.scales"] = quantized(plain[name], stretch=6)
            arrays[f"{name}.bias"] = plain[f"{name}.bias"]
        arrays |= {name: plain[name] for name in plain if name.endswith(("norm.gain", "norm.bias"))}
        contents.append((f"layer-{layer}", layer, arrays))
    files, parts = {}, []
    for name, layer, arrays in contents:
        raw = laid_out(arrays)
        data = gzip.compress(raw, mtime=0)
        files[f"{name}.bin"] = data
        parts.append({
            "file": f"{name}.bin", "holds": "embeddings" if layer is None else "layer", "layer": layer,
            "size": len(data), "raw": len(raw), "sha256": hashlib.sha256(data).hexdigest(),
        })  # fmt: skip
    manifest = {
        "format": 1, "name": "tiny", "identity": "tiny", "licence": "none", "card": "A <tiny> model.", "layers": LAYERS,
        "heads": HEADS, "hidden": HIDDEN, "positions": POSITIONS, "epsilon": 1e-12, "pieces": len(PIECES),
        "full_pieces": 99, "parts": parts,
    }  # fmt: skip
    return json.dumps(manifest), files


def facts_and_files() -> tuple[Manifest, dict[str, bytes]]:
    text, files = synthetic()
    return read_manifest(text), files


def whole() -> Encoder:
    """The tiny encoder with every part in it."""
    facts, files = facts_and_files()
    encoder = Encoder(facts)
    for part in facts.parts:
        encoder.add(part, files[part.file])
    return encoder


def damaged(data: bytes) -> bytes:
    """One bit of the last byte but three turned over."""
    return data[:-4] + bytes([data[-4] ^ 1]) + data[-3:]


__all__ = ["Part", "damaged", "facts_and_files", "layer_weights", "synthetic", "whole"]
