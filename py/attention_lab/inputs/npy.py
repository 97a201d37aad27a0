"""Reads .npy (versions 1 to 3) and .npz bytes without NumPy's own loader: no pickle, no trust in a header.

Sizes are checked against the bytes at hand before anything is allocated.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core.errors import LabError

MAX_BYTES = 256 * 2**20  # of a file, and of what an archive unpacks to
MAX_MEMBERS = 4096
MAX_AXES = 16
_MAGIC = b"\x93NUMPY"
_MAX_HEADER = 10_000
_DESCR = re.compile(r"'descr'\s{0,9}:\s{0,9}'([^']{0,40})'\s{0,9},?")
_ORDER = re.compile(r"'fortran_order'\s{0,9}:\s{0,9}(True|False)\s{0,9},?")
_SHAPE = re.compile(r"'shape'\s{0,9}:\s{0,9}\(([\d,\sL]{0,400})\)\s{0,9},?")
_TYPE = re.compile(r"([<>|=]?)([biufcOSUVMm?])(\d{0,3})(?:\[\w{1,9}\])?")


class FileError(LabError):
    """A file that cannot be read as arrays; the message says which file or member, and why."""


class UnsupportedArray(FileError):
    """An array that is intact but not of real numbers or booleans."""


def is_npy(data: bytes) -> bool:
    return data[:6] == _MAGIC


def read_npy(data: bytes, name: str) -> NDArray[Any]:
    """One array in native byte order and row-major memory: `read_npy(bytes, "q.npy").shape`."""
    dtype, fortran, shape, begin = _header(data, name)
    return _filled(data, begin, dtype, fortran, shape, name)


def _header(data: bytes, name: str) -> tuple[np.dtype[Any], bool, tuple[int, ...], int]:
    """dtype, order, shape and where the entries begin; `data` may end after the header."""
    if not is_npy(data):
        raise FileError(f"{name}: an .npy file was expected, but it does not begin with the .npy signature.")
    if len(data) < 10:
        raise FileError(f"{name}: truncated inside the .npy header.")
    major = data[6]
    if major not in (1, 2, 3):
        raise FileError(f"{name}: .npy version 1, 2 or 3 was expected, version {major} came.")
    size = 2 if major == 1 else 4
    length = int.from_bytes(data[8 : 8 + size], "little")
    begin = 8 + size + length
    if length > _MAX_HEADER:
        raise FileError(
            f"{name}: an .npy header of at most {_MAX_HEADER:,} bytes was expected, {length:,} came."
        )
    if len(data) < begin:
        raise FileError(f"{name}: truncated inside the .npy header.")
    text = data[8 + size : begin].decode("utf-8" if major == 3 else "latin-1", errors="replace").strip()
    descr, order, shape = _DESCR.search(text), _ORDER.search(text), _SHAPE.search(text)
    if "'descr'" in text and not descr:
        raise UnsupportedArray(f"{name}: one number per entry was expected, a structured array came.")
    if not (descr and order and shape and text.startswith("{") and text.endswith("}")):
        raise FileError(f"{name}: the .npy header is damaged.")
    sizes = [part.strip().rstrip("L") for part in shape[1].split(",")]
    sizes = [part for part in sizes if part]
    if (
        not all(part.isascii() and part.isdigit() and len(part) < 20 for part in sizes)
        or len(sizes) > MAX_AXES
    ):
        raise FileError(f"{name}: the .npy header has no usable shape.")
    return _dtype(descr[1], name), order[1] == "True", tuple(int(part) for part in sizes), begin


def _dtype(descr: str, name: str) -> np.dtype[Any]:
    match = _TYPE.fullmatch(descr)
    kind, width = (match[2], match[3]) if match else ("", "")
    if kind == "O":
        raise UnsupportedArray(
            f"{name}: numbers were expected, Python objects came; they are stored as pickle, which is never opened. "
            "Save with array.astype(float)."
        )
    if kind == "V" and width == "2":
        raise UnsupportedArray(
            f"{name}: two raw bytes per entry (bfloat16 saved by ml_dtypes?). Save with array.astype(np.float32)."
        )
    if kind == "?" or (kind == "b" and width == "1"):
        return np.dtype(np.bool_)
    if (kind in "iu" and width in ("1", "2", "4", "8")) or (kind == "f" and width in ("2", "4", "8")):
        return np.dtype(descr)
    raise UnsupportedArray(f"{name}: real numbers or booleans were expected, type {descr!r} came.")


def entries(shape: tuple[int, ...]) -> int:
    """Number of entries: `entries((2, 3))` → 6."""
    total = 1
    for size in shape:
        total *= size
    return total


def check_size(shape: tuple[int, ...], itemsize: int, available: int, name: str) -> int:
    """The number of bytes that a shape needs, if they are there. Nothing is allocated."""
    needed = entries(shape) * itemsize
    spelled = "×".join(map(str, shape)) or "scalar"
    if needed > MAX_BYTES:
        raise FileError(
            f"{name}: claims {spelled} entries ({needed:,} bytes); at most {MAX_BYTES:,} bytes are read."
        )
    if needed != available:
        raise FileError(
            f"{name}: {spelled} entries of {itemsize} bytes need {needed:,} bytes, the file has {available:,}."
        )
    return needed


def _filled(
    data: bytes, begin: int, dtype: np.dtype[Any], fortran: bool, shape: tuple[int, ...], name: str
) -> NDArray[Any]:
    check_size(shape, dtype.itemsize, len(data) - begin, name)
    flat = from_bytes(memoryview(data)[begin:], dtype)
    if fortran:
        return np.ascontiguousarray(flat.reshape(shape[::-1]).T)
    return flat.reshape(shape)


def from_bytes(data: bytes | memoryview, dtype: np.dtype[Any]) -> NDArray[Any]:
    """A flat array of its own in native byte order; any non-zero byte is True."""
    if dtype == np.bool_:
        return np.asarray(np.frombuffer(data, dtype=np.uint8) != 0)
    return np.frombuffer(data, dtype=dtype).astype(dtype.newbyteorder("="))


def read_npz(data: bytes, name: str) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Arrays of an archive, and the members that are not arrays of numbers with the reason."""
    import io
    import zipfile
    import zlib

    broken = (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        ValueError,
        RuntimeError,
        NotImplementedError,
        KeyError,
        OverflowError,
        IndexError,
        TypeError,
        MemoryError,
        AttributeError,
        AssertionError,
    )
    arrays: dict[str, NDArray[Any]] = {}
    skipped: dict[str, str] = {}
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = archive.infolist()
    except broken:
        raise FileError(f"{name}: not a readable .npz archive (truncated or damaged).") from None
    if len(members) > MAX_MEMBERS:
        raise FileError(f"{name}: at most {MAX_MEMBERS} members are read, {len(members)} came.")
    if any(member.filename.endswith("data.pkl") for member in members):
        raise FileError(
            f"{name}: a PyTorch checkpoint holds pickle, which is never opened. Save with safetensors or numpy.savez."
        )
    budget = MAX_BYTES
    for member in members:
        label = member.filename.removesuffix(".npy")
        where = f"{name}, member {label[:60]}"
        if not member.filename.endswith(".npy"):
            skipped[label] = f"{where}: not an .npy member."
            continue
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
            raise FileError(f"{where}: stored or deflated members were expected, another kind came.")
        try:
            with archive.open(member) as stream:
                head = stream.read(12 + _MAX_HEADER)
                dtype, fortran, shape, begin = _header(head, where)
                needed = entries(shape) * dtype.itemsize
                if needed > budget:
                    raise FileError(
                        f"{where}: claims {needed:,} bytes; at most {MAX_BYTES:,} bytes are read from an archive."
                    )
                budget -= needed
                rest = stream.read(max(0, begin + needed + 1 - len(head)))
            arrays[label] = _filled(head + rest, begin, dtype, fortran, shape, where)
        except UnsupportedArray as error:
            skipped[label] = str(error)
        except LabError:
            raise
        except broken:
            raise FileError(f"{where}: damaged (it does not unpack to what the archive says).") from None
    return arrays, skipped
