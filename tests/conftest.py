"""What all suites share: which tests cannot run where, and how hypothesis behaves.

A test that is left out says why. With ATTENTION_LAB_REQUIRE_TORCH=1 (in .ci/run) PyTorch's absence is a failure.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

IN_PYODIDE = sys.platform == "emscripten"

# The same examples in every run and on every machine; no time limit, because Pyodide is slower than CPython.
settings.register_profile("lab", deadline=None, derandomize=True, database=None)
settings.register_profile("pyodide", parent=settings.get_profile("lab"), max_examples=25)
settings.load_profile("pyodide" if IN_PYODIDE else "lab")

NOT_IN_PYODIDE = {
    "needs_torch": "PyTorch does not exist inside Pyodide",
    "needs_onnx": "the onnx package does not exist inside Pyodide",
    "needs_browser": "a browser cannot be driven from inside Pyodide",
    "needs_model": "the model's pack stands outside of what Pyodide sees here; the browser tests load it there",
    "needs_cpython": "Pyodide has no processes, no sockets and a small stack",
}


def find_pack() -> Path | None:
    """The folder with the model's pack in the built site, or None."""
    site = Path(os.environ.get("ATTENTION_LAB_DIST") or Path(__file__).parents[1] / "dist")
    folder = site / "models" / "minilm"
    return folder if (folder / "manifest.json").is_file() else None


@pytest.fixture(scope="session")
def model_pack() -> Path:
    """The folder with the model's pack. Only for tests marked needs_model."""
    folder = find_pack()
    assert folder is not None
    return folder


@pytest.fixture
def typeset(tmp_path: Path) -> Callable[[str], str]:
    """Run pdflatex on a document; gives what it printed. Without it the test is left out, or fails in .ci/run."""
    tex = shutil.which("pdflatex")
    if tex is None:
        if os.environ.get("ATTENTION_LAB_REQUIRE_LATEX") == "1":
            pytest.fail("pdflatex is not installed, and ATTENTION_LAB_REQUIRE_LATEX=1 says that it must be")
        pytest.skip("pdflatex is not installed; .ci/run installs it and typesets every LaTeX export")

    def run(document: str) -> str:
        (tmp_path / "it.tex").write_text(document, encoding="utf-8")
        command = [tex, "-halt-on-error", "-interaction=nonstopmode", "it.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:]
        return done.stdout

    return run


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what cannot run here, with the reason."""
    for marker, reason in NOT_IN_PYODIDE.items():
        if IN_PYODIDE and item.get_closest_marker(marker):
            pytest.skip(reason)
    if item.get_closest_marker("needs_model") and find_pack() is None:
        if os.environ.get("ATTENTION_LAB_REQUIRE_MODEL") == "1":
            pytest.fail(
                "there is no pack of the model, and ATTENTION_LAB_REQUIRE_MODEL=1 says that there must be"
            )
        pytest.skip("there is no pack of the model; `build.py build --with-model` makes it, and .ci/run does")
    if item.get_closest_marker("needs_torch") and importlib.util.find_spec("torch") is None:
        if os.environ.get("ATTENTION_LAB_REQUIRE_TORCH") == "1":
            pytest.fail("PyTorch is not installed, and ATTENTION_LAB_REQUIRE_TORCH=1 says that it must be")
        pytest.skip("PyTorch is not installed; .ci/run installs it and runs this")
