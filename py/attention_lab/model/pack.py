"""The compact pack of a model: its list of parts, each checked against its hash before a single number is read.

A part is gzip around the safetensors layout: int8 rows with float16 scales. Does not fetch anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError

FORMAT = 1
MOST_RAW = 32 * 2**20
"""Bytes a part may unpack to."""


class PackError(LabError):
    """The pack, or a part of it, is not what its list says. `field` is "model"."""

    def __init__(self, message: str) -> None:
        super().__init__(message, field="model")


@dataclass(frozen=True)
class Part:
    """One file: `holds` is "embeddings" or "layer", `layer` which one, None for embeddings."""

    file: str
    holds: str
    layer: int | None
    size: int
    raw: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The list of a pack. Counts as the model has them; `pieces` of `full_pieces` are in it."""

    name: str
    identity: str
    licence: str
    card: str
    layers: int
    heads: int
    hidden: int
    positions: int
    epsilon: float
    pieces: int
    full_pieces: int
    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        """Bytes to fetch in all."""
        return sum(part.size for part in self.parts)


def read_manifest(text: str) -> Manifest:
    """The list of a pack from its JSON. Raises PackError when it is none of ours."""
    import json

    try:
        facts = json.loads(text)
        if facts["format"] != FORMAT:
            raise PackError(
                f"The pack has format {facts['format']}; this page reads format {FORMAT}. Reload the page."
            )
        parts = tuple(Part(**part) for part in facts["parts"])
        names = [name for name in Manifest.__dataclass_fields__ if name != "parts"]
        return Manifest(**{name: facts[name] for name in names}, parts=parts)
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, PackError):
            raise
        raise PackError(f"The list of the pack (manifest.json) is damaged: {type(error).__name__}.") from None


def check(part: Part, data: bytes | bytearray) -> None:
    """Raise PackError unless these are exactly the bytes of the part."""
    import hashlib

    if len(data) != part.size:
        raise PackError(f"{part.file} has {len(data):,} bytes; {part.size:,} were expected.")
    found = hashlib.sha256(data).hexdigest()
    if found != part.sha256:
        raise PackError(f"{part.file} has the SHA-256 {found[:12]}…; {part.sha256[:12]}… was expected.")


def read_part(part: Part, data: bytes | bytearray) -> dict[str, NDArray[Any]]:
    """The arrays of a part whose bytes are checked here first. Raises PackError."""
    import zlib

    from attention_lab.inputs.npy import FileError
    from attention_lab.inputs.safetensors import read_safetensors

    check(part, data)
    if part.raw > MOST_RAW:
        raise PackError(
            f"{part.file} says it unpacks to {part.raw:,} bytes; at most {MOST_RAW:,} are allowed."
        )
    try:
        raw = zlib.decompressobj(31).decompress(data, part.raw + 1)
    except zlib.error as error:
        raise PackError(f"{part.file} cannot be unpacked: {error}.") from None
    if len(raw) != part.raw:
        raise PackError(f"{part.file} unpacks to {len(raw):,} bytes; {part.raw:,} were expected.")
    try:
        arrays, skipped = read_safetensors(raw, part.file)
    except FileError as error:
        raise PackError(str(error)) from None
    if skipped:
        raise PackError(
            f"{part.file} holds numbers of a type that this page does not read: {', '.join(skipped)}."
        )
    return arrays


def quantized(
    matrix: NDArray[Any], steps: int = 127, stretch: int | None = None
) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """A matrix (outputs, inputs) as int8 with one float16 scale for each stretch of a row: entry ≈ scale · int8.

    stretch None is the whole row. A scale is the stretch's largest magnitude / `steps`, rounded up in float16 so that
    no int8 exceeds `steps`. Returns the int8 matrix and the scales, (outputs, inputs / stretch).
    """
    parts = matrix.astype(np.float64).reshape(len(matrix), -1, stretch or matrix.shape[1])
    wanted = np.abs(parts).max(axis=-1) / steps
    scales = wanted.astype(np.float16)
    scales = np.where(scales.astype(np.float64) < wanted, np.nextafter(scales, np.float16(np.inf)), scales)
    scales = np.where(scales == 0, np.float16(1), scales).astype(np.float16)
    rows = np.rint(parts / scales.astype(np.float64)[..., None]).astype(np.int8)
    return rows.reshape(matrix.shape), scales


def restored(rows: NDArray[np.int8], scales: NDArray[np.float16]) -> NDArray[np.float64]:
    """The numbers that `quantized` stands for, float64, (outputs, inputs)."""
    parts = rows.reshape(*scales.shape, -1) * scales.astype(np.float64)[..., None]
    return np.asarray(parts.reshape(rows.shape))
