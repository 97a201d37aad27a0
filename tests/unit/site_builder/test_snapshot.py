"""The snapshot's part in the build: it may be missing, it tells nothing about its maker, NumPy comes in parts."""

from __future__ import annotations

import io
import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from site_builder import numpy_parts, snapshot
from site_builder.console import BuildError
from site_builder.dist import service_worker
from site_builder.paths import ROOT

pytestmark = pytest.mark.needs_cpython


def wheel(*more: str) -> bytes:
    """A wheel like NumPy's, in small."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in (*numpy_parts.LIBRARIES.values(), *more):
            archive.writestr(name, f"content of {name}")
    return buffer.getvalue()


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[object, ...]:
    """Arguments of make_snapshot, with an empty cache."""
    monkeypatch.setenv("ATTENTION_LAB_CACHE", str(tmp_path / "cache"))
    library = io.BytesIO()
    with zipfile.ZipFile(library, "w") as archive:
        archive.writestr("json/__init__.py", "")
    package = {"attention_lab/__init__.py": b""}
    runtime = {"pyodide.mjs": b"", "python_stdlib.zip": library.getvalue()}
    return package, runtime, wheel("numpy/__init__.py"), "", {}, ROOT / "static"


def test_without_node_the_build_goes_on_and_says_so(
    parts: tuple[object, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_node(_: str) -> str:
        raise BuildError("there is no node")

    monkeypatch.setattr(snapshot, "node", no_node)
    assert snapshot.make_snapshot(*parts) is None  # type: ignore[arg-type]
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "slowly" in line] == [
        "No memory snapshot, so the page will start more slowly: there is no node"
    ]


def test_a_maker_that_fails_leaves_nothing_in_the_cache(
    parts: tuple[object, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def failing(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", "the heap cannot be walked at 12")

    monkeypatch.setattr(snapshot, "node", lambda _: "node")
    monkeypatch.setattr(subprocess, "run", failing)
    assert snapshot.make_snapshot(*parts) is None  # type: ignore[arg-type]
    assert "the heap cannot be walked at 12" in capsys.readouterr().out
    assert list((tmp_path / "cache" / "snapshots").iterdir()) == []


def test_a_snapshot_that_tells_where_it_was_made_is_refused() -> None:
    snapshot._refuse_traces(b"....nothing here....", ["/home/somebody"])
    with pytest.raises(BuildError, match="/home/somebody"):
        snapshot._refuse_traces(b"....from /home/somebody/lab....", ["/home/somebody"])


def test_numpy_comes_without_tests_stubs_and_headers() -> None:
    kept = [
        "numpy/__init__.py",
        "numpy/random/mtrand.cpython-313-wasm32-emscripten.so",
        "numpy-2.dist-info/LICENSE.txt",
    ]
    dropped = [
        "numpy/tests/test_public_api.py",
        "numpy/linalg/tests/test_linalg.py",
        "numpy/f2py/f2py2e.py",
        "numpy/__init__.pyi",
        "numpy/_core/include/numpy/arrayobject.h",
    ]
    assert sorted(numpy_parts.other_files(wheel(*kept, *dropped))) == sorted(kept)
    assert numpy_parts.other_files_zip(wheel(*kept)) == numpy_parts.other_files_zip(wheel(*reversed(kept)))
    assert list(numpy_parts.libraries(wheel())) == ["multiarray", "linalg"]


def test_the_service_worker_names_its_build_by_what_is_in_it() -> None:
    def build(files: dict[str, bytes]) -> dict[str, object]:
        text = service_worker(ROOT / "static", files).decode()
        found: dict[str, object] = json.JSONDecoder().raw_decode(text.partition("BUILD = ")[2])[0]
        return found

    one = build({"index.html": b"a", "main.py": b"b"})
    assert one == build({"main.py": b"b", "index.html": b"a"})
    assert one["id"] != build({"index.html": b"a", "main.py": b"c"})["id"]
    assert one["files"]["index.html"] == "sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs="  # type: ignore[index]
