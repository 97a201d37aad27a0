"""The served site: the page, its style and scripts, and the runtime, as plain files with relative URLs."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import mimetypes
import re
from pathlib import Path

from .console import BuildError
from .page import map_references, static_references
from .runtime import PYSCRIPT_CORE, PYSCRIPT_PLUGINS, Runtime

MANIFEST = "manifest.webmanifest"
"""Makes the served site installable. The single file has none: it has no address to be installed from."""


def pyscript_tag(interpreter: str, source: str | None = None, code: str = "") -> str:
    """The element that makes PyScript run main.py on our interpreter, without a package manager of its own."""
    config = json.dumps({"interpreter": interpreter, "packages_cache": "never", "plugins": PYSCRIPT_PLUGINS})
    src = f' src="{source}"' if source else ""
    return f'<script type="py"{src} config="{html.escape(config)}">{code}</script>'


def without_micropython(page: str) -> str:
    """PyScript loads every plugin for MicroPython unless its configuration, too, says not to."""
    config = json.dumps({"plugins": PYSCRIPT_PLUGINS})
    built, count = re.subn(
        r"<body\b[^>]*>", lambda m: f'{m[0]}\n<mpy-config type="json" hidden>{config}</mpy-config>', page
    )
    if count != 1:
        raise BuildError(f"index.html has {count} body elements, expected 1")
    return built


def boot(runtime: Runtime) -> str:
    """What stands in the head: the modules in their order; runtime.mjs fetches the rest after the first paint."""
    # No modulepreload and no preload but the smallest: reading them early delays the first paint (static/docs/starting.md).
    lines = ['<link rel="preload" as="fetch" crossorigin href="./main.py">']
    lines += [
        '<script defer src="./before.js"></script>',
        '<script defer src="./offline.js"></script>',
        f'<link rel="manifest" href="./{MANIFEST}">',
        '<script type="module" src="./runtime.mjs"></script>',
        f'<script type="module" src="./pyscript/{PYSCRIPT_CORE}"></script>',
        pyscript_tag("./runtime.mjs", "./main.py"),
    ]
    return "\n".join(lines)


def site_files(page: str, static: Path, main: bytes, stylesheet: str, runtime: Runtime) -> dict[str, bytes]:
    """The site as {path: content}. `page` has its slots filled; its references to static/ are settled here."""
    files: dict[str, bytes] = {
        "index.html": map_references(without_micropython(page), lambda path: f"./{path}").encode()
    }
    for path in dict.fromkeys(
        ["runtime.mjs", "snapshot.mjs", "before.js", "offline.js", MANIFEST, *static_references(page)]
    ):
        files[path] = static_file(static, path, stylesheet)
    listing = {
        name: {"path": f"./{asset.path}", "size": len(asset.content)}
        for name, asset in runtime.assets.items()
    }
    files["assets.mjs"] = (
        runtime.manifest(listing) + (static / "assets.mjs").read_text(encoding="utf-8")
    ).encode()
    files["main.py"] = main
    for asset in runtime.assets.values():
        files[asset.path] = asset.content
    files |= {f"pyscript/{name}": code.encode() for name, code in runtime.pyscript.items()}
    return files


def service_worker(static: Path, files: dict[str, bytes]) -> bytes:
    """The script that keeps `files` for visits without network: their names, hashes and a name for all of them."""
    hashes = {
        path: "sha256-" + base64.b64encode(hashlib.sha256(content).digest()).decode()
        for path, content in sorted(files.items())
    }
    build = {"id": hashlib.sha256(json.dumps(hashes).encode()).hexdigest()[:16], "files": hashes}
    return f"const BUILD = {json.dumps(build, indent=2)};\n".encode() + static_file(
        static, "service-worker.js", ""
    )


def static_file(static: Path, path: str, stylesheet: str) -> bytes:
    """A file of static/; the style sheet gets its generated part at the end."""
    try:
        content = (static / path).read_bytes()
    except FileNotFoundError:
        raise BuildError(f"index.html refers to static/{path}, which does not exist") from None
    return content + b"\n" + stylesheet.encode() if path == "style.css" else content


def mime_of(path: str) -> str:
    """The media type of a static file, the same on every machine."""
    known = {
        ".mjs": "text/javascript",
        ".js": "text/javascript",
        ".css": "text/css",
        ".html": "text/html",
        ".json": "application/json",
        ".webmanifest": "application/manifest+json",
        ".wasm": "application/wasm",
        ".whl": "application/zip",
        ".zip": "application/zip",
        ".py": "text/x-python",
        ".svg": "image/svg+xml",
        ".png": "image/png",
        ".ico": "image/x-icon",
        ".txt": "text/plain",
    }
    suffix = Path(path).suffix
    return known.get(suffix) or mimetypes.guess_type(path)[0] or "application/octet-stream"
