"""What the page runs on: the pinned files under the names by which `static/runtime.mjs` asks for them.

Knows the pieces, not how they are delivered: `dist.py` lays them out as files, `single.py` packs them into one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from .archive import package_files, zip_bytes
from .fetch import NUMPY_WHEEL, PINS, obtain
from .numpy_parts import LIBRARIES, libraries, other_files_zip
from .snapshot import Snapshot, make_snapshot

PYSCRIPT_MODULES = {Path(name).name: name for name in PINS["pyscript"]["files"] if name.endswith(".js")}
PYSCRIPT_CORE = next(name for name in PYSCRIPT_MODULES if name.startswith("core-"))

# Our page needs no plugin of PyScript and reports errors itself, in its own words. (The error plugin is
# loaded all the same: that is how it learns to stay silent.)
PYSCRIPT_PLUGINS = [
    f"!{name}"
    for name in (
        "codemirror",
        "deprecations-manager",
        "donkey",
        "error",
        "py-editor",
        "py-game",
        "py-terminal",
    )
]


@dataclass(frozen=True)
class Asset:
    """One file that the interpreter needs."""

    path: str  # in the served site
    mime: str
    content: bytes
    packed: bool = False  # compressed already


@dataclass(frozen=True)
class Runtime:
    """Everything that is not the page itself."""

    assets: dict[str, Asset]
    pyscript: dict[str, str]  # module name -> code
    pyscript_licence: str
    lock: dict[str, object]
    snapshot: Snapshot | None

    def manifest(self, files: dict[str, dict[str, object]]) -> str:
        """The line that goes in front of an assets module: what there is, how big, and where it goes."""
        manifest = {
            "version": PINS["pyodide"]["version"],
            "python": PINS["pyodide"]["python"].rpartition(".")[0],
            "lock": self.lock,
            "libraries": [{"name": name, "path": path} for name, path in LIBRARIES.items()],
            "files": files,
            "snapshot": self.snapshot.plan if self.snapshot else None,
        }
        return f"export const manifest = {json.dumps(manifest, indent=2, sort_keys=True)};\n"


def lock_file() -> dict[str, object]:
    """A Pyodide lock file that knows no package, so that none can be asked for. NumPy comes by our own hand."""
    facts = PINS["pyodide"]
    info = {
        "version": facts["version"],
        "python": facts["python"],
        "abi_version": facts["abi"],
        "platform": facts["platform"],
        "arch": "wasm32",
    }
    return {"info": info, "packages": {}}


def gather(package: Path, static: Path) -> Runtime:
    """Fetch what is missing, verify it, pack our own package beside it, and make the snapshot of it all."""
    found = obtain("pyodide", "pyscript")

    def asset(name: str, mime: str, packed: bool = False) -> Asset:
        return Asset(f"runtime/{name}", mime, found[name].read_bytes(), packed)

    sources, lock, wheel = package_files(package), lock_file(), found[NUMPY_WHEEL].read_bytes()
    pyscript = {name: found[path].read_text(encoding="utf-8") for name, path in PYSCRIPT_MODULES.items()}
    pyodide = {name: found[name].read_bytes() for name in PINS["pyodide"]["files"] if name != NUMPY_WHEEL}
    snapshot = make_snapshot(
        sources, pyodide, wheel, pyscript[PYSCRIPT_CORE], {**lock, "packages": {}}, static
    )
    extra: dict[str, Asset] = {}
    for name, content in libraries(wheel).items():
        file = LIBRARIES[name].rpartition("/")[2].partition(".")[0]
        extra[name] = Asset(f"runtime/{file}.wasm", "application/wasm", content)
    if snapshot:
        identity = str(snapshot.plan["id"])[:12]
        extra["snapshot"] = Asset(
            f"snapshot-{identity}.bin", "application/octet-stream", snapshot.content, packed=True
        )
    rest = f"runtime/{'-'.join(NUMPY_WHEEL.split('-')[:2])}.zip"
    return Runtime(
        assets={
            "loader": asset("pyodide.mjs", "text/javascript"),
            "asm": asset("pyodide.asm.js", "text/javascript"),
            "wasm": asset("pyodide.asm.wasm", "application/wasm"),
            "stdlib": asset("python_stdlib.zip", "application/zip", packed=True),
            "numpy": Asset(rest, "application/zip", other_files_zip(wheel), packed=True),
            "app": Asset("attention_lab.zip", "application/zip", zip_bytes(sources), packed=True),
            **extra,
        },
        pyscript=pyscript,
        pyscript_licence=found["LICENSE"].read_text(encoding="utf-8"),
        lock=lock,
        snapshot=snapshot,
    )
