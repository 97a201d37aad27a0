"""Reads .safetensors bytes: an 8-byte length, a JSON header, then raw numbers.

F64, F32, F16, BF16 (widened to float32, which is exact), integers and BOOL. Other types are left out by name.
Format: the safetensors project's README.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.inputs.npy import MAX_AXES, MAX_MEMBERS, FileError, check_size, from_bytes

_TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2",
    "I8": "i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?",
}  # fmt: skip
_MAX_HEADER = 4 * 2**20


def looks_like_safetensors(data: bytes) -> bool:
    """True if a JSON object begins where the header should."""
    return len(data) > 9 and data[8:9] == b"{" and int.from_bytes(data[:8], "little") <= len(data) - 8


def read_safetensors(data: bytes, name: str) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Arrays by name, and the tensors of other types with the reason."""
    header, begin = _header(data, name)
    arrays: dict[str, NDArray[Any]] = {}
    skipped: dict[str, str] = {}
    body = memoryview(data)[begin:]
    for label, entry in header.items():
        if label == "__metadata__":
            continue
        where = f"{name}, tensor {label[:60]}"
        kind, shape, first, last = _entry(entry, where)
        if kind not in _TYPES:
            skipped[label] = f"{where}: real numbers or booleans were expected, type {kind[:20]} came."
            continue
        if last > len(body):
            raise FileError(f"{where}: ends at byte {last:,} of the data, the file has {len(body):,}.")
        dtype = np.dtype(_TYPES[kind])
        check_size(shape, dtype.itemsize, last - first, where)
        flat = from_bytes(body[first:last], dtype)
        if kind == "BF16":  # bfloat16 is the upper half of a float32
            flat = (flat.astype(np.uint32) << 16).view(np.float32)
        arrays[label] = flat.reshape(shape)
    return arrays, skipped


def _header(data: bytes, name: str) -> tuple[dict[str, Any], int]:
    import json

    if len(data) < 8:
        raise FileError(f"{name}: truncated before the safetensors header.")
    length = int.from_bytes(data[:8], "little")
    if length > _MAX_HEADER:
        raise FileError(
            f"{name}: a safetensors header of at most {_MAX_HEADER:,} bytes was expected, {length:,} came."
        )
    if length > len(data) - 8:
        raise FileError(f"{name}: truncated inside the safetensors header.")
    text = data[8 : 8 + length].decode("utf-8", errors="replace")
    if _deepest(text) > 8:
        raise FileError(f"{name}: the safetensors header is damaged.")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise FileError(f"{name}: the safetensors header is not JSON.") from None
    if not isinstance(header, dict) or len(header) > MAX_MEMBERS:
        raise FileError(
            f"{name}: the safetensors header should be an object of at most {MAX_MEMBERS} tensors."
        )
    return header, 8 + length


def _deepest(text: str) -> int:
    """Upper bound of the nesting; brackets inside strings count too."""
    depth = deepest = 0
    for character in text:
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def _entry(entry: Any, where: str) -> tuple[str, tuple[int, ...], int, int]:
    """dtype, shape and byte range of one tensor, if they are what the format says."""
    fields = entry if isinstance(entry, dict) else {}
    kind, shape, offsets = (
        fields.get("dtype"),
        _sizes(fields.get("shape")),
        _sizes(fields.get("data_offsets")),
    )
    if not isinstance(kind, str) or shape is None or offsets is None or len(offsets) != 2:
        raise FileError(f"{where}: dtype, shape and data_offsets were expected in the header.")
    if len(shape) > MAX_AXES or offsets[0] > offsets[1]:
        raise FileError(f"{where}: the header has no usable shape or place.")
    return kind, shape, offsets[0], offsets[1]


def _sizes(value: Any) -> tuple[int, ...] | None:
    """A list of whole numbers from the header, or None."""
    if not isinstance(value, list) or not all(type(size) is int and 0 <= size < 2**63 for size in value):
        return None
    return tuple(value)
