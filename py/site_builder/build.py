"""Build `dist/`: gather, prerender, lay out, write. Does nothing when nothing has changed.

The stamp of the last build lives in the cache, so that `dist/` holds only what is to be published.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import time
from pathlib import Path

from . import dist, model, policy, single
from .archive import package_files
from .console import BuildError, megabytes, say
from .notices import notices_page, notices_popover
from .page import fill
from .paths import NOTICES, ROOT, SINGLE_FILE, cache_dir
from .prerender import numpy_requirement, prerender
from .runtime import gather


def build(root: Path = ROOT, target: Path | None = None, with_model: bool = False) -> Path:
    """Make `dist/` of the checkout `root`, with or without the trained model, and return its path."""
    target = target or root / "dist"
    stamp = (
        cache_dir() / "builds" / (hashlib.sha256(str(target.resolve()).encode()).hexdigest()[:16] + ".json")
    )
    inputs = digest_of(input_files(root), [sys.version, numpy_requirement(), f"model {with_model}"])
    if is_current(stamp, inputs, target):
        say(f"{shown(target)} is up to date.")
        return target
    started = time.monotonic()
    files = make(root, with_model)
    write(files, target)
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(json.dumps({"inputs": inputs, "outputs": digest_of(files)}))
    size = sum(len(content) for name, content in files.items() if name != SINGLE_FILE)
    say(
        f"Built {shown(target)} in {time.monotonic() - started:.1f} s: {len(files) - 1} files, {megabytes(size)}; "
        f"single file {SINGLE_FILE}, {megabytes(len(files[SINGLE_FILE]))}."
    )
    return target


def make(root: Path, with_model: bool = False) -> dict[str, bytes]:
    """Everything that dist/ holds, as {path: content}."""
    source_path = root / "index.html"
    if not source_path.is_file():
        raise BuildError(f"{source_path} does not exist")
    source, static = source_path.read_text(encoding="utf-8"), root / "static"
    main = (root / "py" / "main.py").read_text(encoding="utf-8")
    runtime = gather(root / "py" / "attention_lab", static)
    rendered = prerender(root / "py")
    notices = (static / NOTICES).read_text(encoding="utf-8")
    learned = model.files(root / "py", runtime.pyscript_licence) if with_model else {}
    served = fill(
        source,
        {
            **rendered.slots,
            "boot": dist.boot(runtime),
            policy.SLOT: policy.meta(),
            model.SLOT: model.facts(learned),
        },
    )
    files = dist.site_files(served, static, main.encode(), rendered.stylesheet, runtime)
    files[NOTICES] = notices_page(notices, runtime).encode()
    files["service-worker.js"] = dist.service_worker(static, files)
    files |= learned  # after the service worker's list: 15 MB are fetched only when a reader asks for them
    no_model = model.facts({}, single=True)
    inside = fill(
        source, {**rendered.slots, "boot": "", policy.SLOT: single.POLICY_PLACE, model.SLOT: no_model}
    )
    popover = notices_popover(notices, runtime)
    files[SINGLE_FILE] = single.single_file(inside, popover, static, main, rendered.stylesheet, runtime)
    return files


def input_files(root: Path) -> dict[str, bytes]:
    """Whatever can change the result: the page, static/, py/ (with the pins)."""
    files = {"index.html": (root / "index.html").read_bytes()} if (root / "index.html").is_file() else {}
    for folder in (root / "static", root / "py"):
        files |= package_files(folder)
    return files


def digest_of(files: dict[str, bytes], more: list[str] | None = None) -> str:
    """One hash over names, contents and further facts."""
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(f"{name}\0{hashlib.sha256(files[name]).hexdigest()}\n".encode())
    total.update("\n".join(more or []).encode())
    return total.hexdigest()


def is_current(stamp: Path, inputs: str, target: Path) -> bool:
    """True if the last build had these inputs and its output still stands there unchanged."""
    try:
        facts = json.loads(stamp.read_text())
    except (OSError, ValueError):
        return False
    if facts.get("inputs") != inputs or not target.is_dir():
        return False
    there = {
        path.relative_to(target).as_posix(): path.read_bytes()
        for path in sorted(target.rglob("*"))
        if path.is_file()
    }
    return bool(facts.get("outputs") == digest_of(there))


def write(files: dict[str, bytes], target: Path) -> None:
    """Replace the folder's content. A half-written folder is never taken for a finished one: the stamp comes last."""
    fresh = target.with_name(target.name + ".new")
    for folder in (fresh, target):
        if folder.exists() and not folder.is_dir():
            raise BuildError(f"{folder} is in the way: it is not a folder")
    shutil.rmtree(fresh, ignore_errors=True)
    for name, content in files.items():
        path = fresh / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    shutil.rmtree(target, ignore_errors=True)
    fresh.replace(target)


def shown(path: Path) -> str:
    """A path as a person would write it: relative where that is shorter."""
    try:
        return str(path.resolve().relative_to(Path.cwd())) + "/"
    except ValueError:
        return str(path) + "/"
