"""Reads arrays from dropped files: .npy, .npz, .safetensors, .json, .csv, .tsv and other text.

The kind is taken from the content, then from the name. Nothing is unpickled, evaluated or sent anywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.inputs.npy import MAX_BYTES, FileError, is_npy, read_npy, read_npz
from attention_lab.inputs.paste import parse_named
from attention_lab.inputs.roles import LayoutGuess, assign_roles, guess_layout, heads_first
from attention_lab.inputs.safetensors import looks_like_safetensors, read_safetensors
from attention_lab.inputs.text.parsed import MAX_ENTRIES, PasteError

__all__ = ["Arrays", "FileError", "LayoutGuess", "assign_roles", "guess_layout", "heads_first", "read_arrays"]

_OTHER_KINDS = {
    b"\x80": "a pickle, which is never opened. Save with numpy.save or safetensors",
    b"\x89HDF": "an HDF5 file, which is not read here. Save with numpy.save or safetensors",
    b"MATLAB 5.0": "a MATLAB .mat file, which is not read here. Save with writematrix to .csv",
    b"PAR1": "a Parquet file, which is not read here. Save as .csv",
    b"\x1f\x8b": "compressed with gzip. Unpack it first",
    b"%PDF": "a PDF",
    b"\x89PNG": "an image",
}
_LARGE_JSON = 2**20


class Arrays(dict[str, NDArray[Any]]):
    """Arrays by name, as stored (bfloat16 as float32). skipped: members left out and why. warnings: from text."""

    def __init__(
        self,
        arrays: dict[str, NDArray[Any]],
        skipped: dict[str, str] | None = None,
        warnings: tuple[str, ...] = (),
    ) -> None:
        super().__init__(arrays)
        self.skipped = skipped or {}
        self.warnings = warnings


def read_arrays(filename: str, data: bytes) -> Arrays:
    """Every array in a file: `read_arrays("q.npy", data)` → {"q": array}.

    Numbers keep their stored type in native byte order; text gives float64 or bool. A file with one unnamed
    array names it after the file. Raises FileError for a damaged, truncated, too large or foreign file.
    """
    name = filename.replace("\\", "/").rsplit("/", 1)[-1][:120] or "file"
    stem, _, ending = name.rpartition(".")
    stem, ending = (stem, ending.lower()) if stem else (name, "")
    if not data:
        raise FileError(f"{name}: the file is empty.")
    if len(data) > MAX_BYTES:
        raise FileError(f"{name}: at most {MAX_BYTES:,} bytes are read, the file has {len(data):,}.")
    skipped: dict[str, str] = {}
    if is_npy(data) or ending == "npy":
        arrays = {stem: read_npy(data, name)}
    elif data[:4] == b"PK\x03\x04" or data[:4] == b"PK\x05\x06" or ending == "npz":
        arrays, skipped = read_npz(data, name)
    elif ending == "safetensors" or looks_like_safetensors(data):
        arrays, skipped = read_safetensors(data, name)
    else:
        for magic, kind in _OTHER_KINDS.items():
            if data.startswith(magic):
                raise FileError(f"{name}: numbers were expected, this is {kind}.")
        return _text(name, stem, ending, data)
    empty = [label for label, array in arrays.items() if array.size == 0]
    for label in empty:
        skipped[label] = f"{name}, {label[:60]}: has no entries."
        del arrays[label]
    if not arrays:
        raise FileError(next(iter(skipped.values()), f"{name}: holds no arrays."))
    return Arrays(arrays, skipped)


def _text(name: str, stem: str, ending: str, data: bytes) -> Arrays:
    text = _decoded(name, data)
    if ending == "json" and (len(text) > _LARGE_JSON or _is_export(text)):
        return _large_json(name, stem, text)
    try:
        found = parse_named(text)
    except PasteError as error:
        raise FileError(f"{name}: {error}") from None
    arrays: dict[str, NDArray[Any]] = {}
    warnings: list[str] = []
    for label, parsed in found.items():
        arrays[stem if len(found) == 1 and label == "matrix 1" else label] = parsed.values
        warnings += parsed.warnings
    return Arrays(arrays, None, tuple(dict.fromkeys(warnings)))


def _decoded(name: str, data: bytes) -> str:
    """UTF-8, UTF-16 with its mark (Excel's Unicode text), or the Western Windows code page."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    if b"\0" in data[:65536]:
        raise FileError(f"{name}: .npy, .npz, .safetensors or text was expected, other binary data came.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _is_export(text: str) -> bool:
    """True for the page's own JSON export, which keeps its arrays one level down."""
    return text[:80].lstrip("{ \r\n\t").startswith('"attention_lab":')


def _large_json(name: str, stem: str, text: str) -> Arrays:
    """Long JSON goes through the standard parser; short JSON through the paste readers, which name line and column."""
    import json

    if _nests_too_deep(text):
        raise FileError(f"{name}: the JSON nests too deep.")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{name}: not valid JSON ({str(error)[:80]}).") from None
    if isinstance(content, dict) and _is_export(text):
        content = content.get("arrays")
    arrays: dict[str, NDArray[Any]] = {}
    skipped: dict[str, str] = {}
    parts = {stem: content}
    if isinstance(content, dict) and not ("data" in content and "shape" in content):
        parts = {str(key): value for key, value in content.items() if isinstance(value, list | dict)}
    for label, value in parts.items():
        array = _json_array(value)
        if array is None:
            skipped[label] = f"{name}, {label[:60]}: rows of equal length holding numbers were expected."
        else:
            arrays[label] = array
    if not arrays:
        raise FileError(next(iter(skipped.values()), f"{name}: holds no arrays."))
    return Arrays(arrays, skipped)


def _nests_too_deep(text: str, limit: int = 64) -> bool:
    codes = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
    steps = np.isin(codes, (91, 123)).astype(np.int32) - np.isin(codes, (93, 125))
    return bool(np.cumsum(steps, dtype=np.int32).max(initial=0) > limit)


def _with_infinities(value: Any) -> Any:
    """`["-Infinity", 1]` → `[-inf, 1]`: JSON has no such numbers, so our exports write them as texts."""
    if isinstance(value, list):
        return [_with_infinities(item) for item in value]
    return (
        {"Infinity": np.inf, "-Infinity": -np.inf, "NaN": np.nan}.get(value, value)
        if isinstance(value, str)
        else value
    )


def _json_array(value: Any) -> NDArray[Any] | None:
    shape = None
    if isinstance(value, dict):
        shape, value = value.get("shape"), _with_infinities(value.get("data"))
    if not isinstance(value, list):
        return None
    try:
        array = np.array(value)
        if array.dtype.kind == "O":
            array = np.array(value, dtype=np.float64)  # null → NaN
        if array.dtype.kind not in "bif" or not 0 < array.size <= 16 * MAX_ENTRIES:
            return None
        if array.dtype.kind != "b":
            array = array.astype(np.float64)
        if isinstance(shape, list) and all(isinstance(size, int) and size >= 0 for size in shape):
            array = array.reshape(shape)
    except (ValueError, TypeError, OverflowError):
        return None
    return np.atleast_2d(array)
