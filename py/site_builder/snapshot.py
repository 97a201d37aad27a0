"""The memory snapshot: Python, NumPy and our package, already imported. Made by Node, proved there, kept in the cache.

Where it cannot be made the build goes on without it and says so in one line; the page then starts the normal way.
Not reproducible byte for byte: it holds addresses and times of one run.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

from .console import BuildError, megabytes, say
from .environment import node
from .fetch import PINS
from .numpy_parts import LIBRARIES, SITE, libraries, other_files
from .paths import cache_dir

HERE = Path(__file__).parent
KEPT = 4  # snapshots that stay in the cache
SECONDS = 300


@dataclass(frozen=True)
class Snapshot:
    """The compressed memory, and what a page must know and check to restore it."""

    content: bytes
    plan: dict[str, object]


def make_snapshot(
    package: dict[str, bytes],
    runtime: dict[str, bytes],
    wheel: bytes,
    core: str,
    lock: dict[str, object],
    static: Path,
) -> Snapshot | None:
    """From the cache or newly made; None where it cannot be made.

    `package` is our package as {path: content}, `runtime` Pyodide's files by name, `wheel` NumPy's, `core` PyScript's
    bundle, `lock` a lock file that names no package.
    """
    sources = [static / "snapshot.mjs", HERE / "make_snapshot.mjs", *sorted((HERE / "inside").glob("*.py"))]
    key = hashlib.sha256()
    for name, content in [
        *sorted(package.items()),
        *sorted(runtime.items()),
        ("wheel", wheel),
        ("core", core.encode()),
    ]:
        key.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    for path in sources:
        key.update(path.read_bytes())
    folder = cache_dir() / "snapshots" / key.hexdigest()[:24]
    if not (folder / "plan.json").is_file():
        say("Making the memory snapshot ...")
        started = time.monotonic()
        try:
            _make(folder, package, runtime, wheel, core, lock, static)
        except (BuildError, OSError, subprocess.TimeoutExpired) as error:
            if not (folder / "plan.json").is_file():  # else another build made it meanwhile
                reason = " ".join(str(error).split())[-300:]
                say(f"No memory snapshot, so the page will start more slowly: {reason}")
                return None
        size = megabytes((folder / "memory.bin").stat().st_size)
        say(f"  made and checked in {time.monotonic() - started:.1f} s: {size}")
    os.utime(folder)
    return Snapshot(
        (folder / "memory.bin").read_bytes(), json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    )


def _make(
    folder: Path,
    package: dict[str, bytes],
    runtime: dict[str, bytes],
    wheel: bytes,
    core: str,
    lock: dict[str, object],
    static: Path,
) -> None:
    """Run the script in a scratch folder; the cache gets only a finished result."""
    node_path = node(PINS["packages"]["node"])
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="new-", ignore_cleanup_errors=True) as scratch:
        work = Path(scratch)
        for name, content in runtime.items():
            (work / name).write_bytes(content)
        (work / "core.js").write_text(core, encoding="utf-8")
        for name, content in libraries(wheel).items():
            (work / f"{name}.wasm").write_bytes(content)
        modules = {name: content for name, content in other_files(wheel).items() if name.endswith(".py")}
        with zipfile.ZipFile(work / "python_stdlib.zip") as archive:
            standard = sorted({name.partition("/")[0].partition(".")[0] for name in archive.namelist()})
        result = work / "result"
        result.mkdir()
        job = {
            "runtime": str(work),
            "restore": str(static / "snapshot.mjs"),
            "inside": str(HERE / "inside"),
            "libraries": [
                {"path": SITE + path, "file": str(work / f"{name}.wasm")} for name, path in LIBRARIES.items()
            ],
            "numpy": {name: content.decode("utf-8") for name, content in modules.items()},
            "package": {name: content.decode("utf-8") for name, content in package.items()},
            "core": str(work / "core.js"),
            "archives": {"stdlib": standard, "numpy": ["numpy"]},
            "lock": lock,
            "id": hashlib.sha256(
                folder.name.encode() + os.urandom(16)
            ).hexdigest(),  # no two snapshots are the same
            "memory": str(result / "memory"),
            "plan": str(result / "plan.json"),
        }
        (work / "job.json").write_text(json.dumps(job), encoding="utf-8")
        done = subprocess.run(
            [node_path, str(HERE / "make_snapshot.mjs"), str(work / "job.json")],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=SECONDS,
            env={**os.environ, "TZ": "UTC", "NODE_OPTIONS": "", "NO_COLOR": "1"},
        )
        if done.returncode or not (result / "plan.json").is_file():
            raise BuildError(done.stderr.strip()[-600:] or f"Node ended with code {done.returncode}")
        memory = (result / "memory").read_bytes()
        _refuse_traces(memory, [str(work), str(Path.home()), str(cache_dir())])
        (result / "memory").unlink()
        (result / "memory.bin").write_bytes(gzip.compress(memory, 9, mtime=0))
        shutil.rmtree(folder, ignore_errors=True)
        result.rename(folder)
    finished = [path for path in folder.parent.iterdir() if not path.name.startswith("new-")]
    kept = sorted(finished, key=lambda path: path.stat().st_mtime, reverse=True)
    for old in kept[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


def _refuse_traces(memory: bytes, paths: list[str]) -> None:
    """A published snapshot must not tell where it was made."""
    for path in paths:
        if len(path) > 5 and path.encode() in memory:
            raise BuildError(f"the memory holds the path {path} of this machine")
