"""Hand the reader a file: text or bytes as they are, or an SVG drawn into a PNG. Makes no file contents itself."""

from __future__ import annotations

from typing import Any

from js import URL, Blob, Image, Object
from pyodide.ffi import create_once_callable, create_proxy, to_js

from attention_lab.page.dom import document, window

LARGEST_SIDE = 8192
"""Pixels; browsers refuse larger canvases sooner or later."""


def save_text(name: str, kind: str, text: str) -> None:
    """Offer `text` as a file; kind is its media type."""
    _save(name, _blob(text, kind))


def save_bytes(name: str, kind: str, content: bytes) -> None:
    """Offer bytes as a file."""
    _save(name, Blob.new(to_js([to_js(content)]), _options(kind)))


def save_png(name: str, svg: str) -> None:
    """Offer an SVG picture as a PNG at twice its size (less when that would be too large)."""
    address = URL.createObjectURL(_blob(svg, "image/svg+xml"))
    image = Image.new()

    def drawn(_: Any) -> None:
        factor = min(2.0, LARGEST_SIDE / max(image.width, image.height))
        canvas = document.createElement("canvas")
        canvas.width, canvas.height = int(image.width * factor), int(image.height * factor)
        pen = canvas.getContext("2d")
        pen.drawImage(image, 0, 0, canvas.width, canvas.height)
        URL.revokeObjectURL(address)
        canvas.toBlob(keep, "image/png")

    def kept(blob: Any) -> None:
        _save(name, blob)
        keep.destroy()
        draw.destroy()

    keep, draw = create_proxy(kept), create_proxy(drawn)
    image.onload = draw
    image.src = address


def _blob(text: str, kind: str) -> Any:
    return Blob.new(to_js([text]), _options(f"{kind};charset=utf-8"))


def _options(kind: str) -> Any:
    return Object.fromEntries(to_js([["type", kind]]))


def _save(name: str, blob: Any) -> None:
    address = URL.createObjectURL(blob)
    link = document.createElement("a")
    link.href, link.download = address, name
    document.body.appendChild(link)
    link.click()
    link.remove()
    # Later, because the browser may still be reading it.
    window.setTimeout(create_once_callable(lambda: URL.revokeObjectURL(address)), 60_000)
