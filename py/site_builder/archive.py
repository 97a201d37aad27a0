"""Reproducible archives and compression: the same content gives the same bytes, whenever it is packed."""

from __future__ import annotations

import base64
import gzip
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

EPOCH = (1980, 1, 1, 0, 0, 0)


def zip_bytes(files: Mapping[str, bytes]) -> bytes:
    """A zip archive of {name: content}: sorted, with one fixed date and mode."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            archive.writestr(entry, files[name], zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue()


def package_files(package: Path) -> dict[str, bytes]:
    """What a Python package consists of, without caches: {'attention_lab/core/sdpa.py': ..., ...}."""
    return {
        path.relative_to(package.parent).as_posix(): path.read_bytes()
        for path in sorted(package.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }


def gzip_base64(content: bytes) -> str:
    """Compressed as far as gzip goes, without a date, as base64 text."""
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode("ascii")


def plain_base64(content: bytes) -> str:
    """Base64 text of content that is compressed already."""
    return base64.b64encode(content).decode("ascii")
