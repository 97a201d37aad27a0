"""`build.py test`: make .venv, find a browser, run the four suites, add up the results.

Arguments that are not ours go to pytest in every suite: `build.py test -k paste`, `build.py test tests/unit/core`.
A path under tests/unit runs there in CPython and in Pyodide; one under tests/browser in the browser.
An engine that is not installed is left out with the reason; .ci/run requires all three.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from . import model
from .browser import find_chromium
from .build import build
from .console import BuildError, say
from .environment import make_venv, node
from .fetch import NUMPY_WHEEL, PINS, obtain
from .paths import ROOT
from .runtime import lock_file

SUITES = {
    "unit": "unit tests in CPython",
    "pyodide": "the same unit tests inside Pyodide",
    "browser": "browser tests: the served site and the single file",
    "engines": "the core journey in Chromium, Firefox and WebKitGTK",
}
FOLDERS = {
    "unit": "tests/unit",
    "pyodide": "tests/unit",
    "browser": "tests/browser",
    "engines": "tests/engines",
}
NO_TESTS = 5  # pytest's exit code for a run that collected nothing

# Options that only the browser suite's plugin, or a run that keeps files, understands.
NOT_IN_PYODIDE = frozenset(
    [
        "--headed",
        "--browser",
        "--slowmo",
        "--tracing",
        "--video",
        "--screenshot",
        "--device",
        "--output",
        "--pdb",
        "--lf",
        "--last-failed",
        "--ff",
        "--failed-first",
        "--nf",
        "--new-first",
        "--sw",
        "--stepwise",
    ]
)
WITH_VALUE = {"--browser", "--slowmo", "--tracing", "--video", "--screenshot", "--device", "--output"}


@dataclass
class Result:
    """How one suite ended."""

    suite: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    code: int = 0

    def line(self) -> str:
        return f"{self.suite}: {self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def test(arguments: list[str], suites: list[str] | None = None, root: Path = ROOT) -> int:
    """Run the suites asked for, all of them by default. 0 if every one passed and something was tested."""
    plan = plan_suites(arguments, suites or list(SUITES), root)
    site = build(root, with_model=model.is_required() or model.is_cached(root / "py"))
    python = make_venv_for_tests(root)
    results = []
    for suite, pytest_arguments in plan.items():
        started = time.monotonic()
        say(f"\n=== {SUITES[suite]} ===")
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            if suite == "pyodide":
                code = run_in_pyodide(pytest_arguments, report, root)
            else:
                code = run_in_cpython(suite, pytest_arguments, report, python, site, root)
            results.append(read_report(suite, report, code))
        say(f"({suite}: {time.monotonic() - started:.1f} s)")
    return conclude(results, narrowed=is_narrowed(arguments, root))


def test_requirements(root: Path) -> list[str]:
    """The pinned test needs, from the one place where they stand: pyproject.toml."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return list(project["optional-dependencies"]["test"])


def make_venv_for_tests(root: Path) -> Path:
    """The environment .venv with the test needs."""
    requirements = test_requirements(root)
    folder = root / ".venv"
    if not folder.exists():
        say(f"Making .venv with {len(requirements)} pinned packages ...")
    return make_venv(folder, requirements)


def plan_suites(arguments: list[str], suites: list[str], root: Path) -> dict[str, list[str]]:
    """What to run: suite -> arguments for pytest. Paths among the arguments go only where they belong."""
    paths = [argument for argument in arguments if is_path(argument, root)]
    rest = [argument for argument in arguments if argument not in paths]
    plan = {}
    for suite in SUITES:
        if suite not in suites:
            continue
        mine = [relative(path, root) for path in paths]
        mine = [path for path in mine if path.startswith(FOLDERS[suite]) or FOLDERS[suite].startswith(path)]
        if paths and not mine:
            continue
        mine = [path if path.startswith(FOLDERS[suite]) else FOLDERS[suite] for path in mine]
        plan[suite] = (without(rest, NOT_IN_PYODIDE) if suite == "pyodide" else rest) + (
            mine or [FOLDERS[suite]]
        )
    if not plan:
        raise BuildError(f"{', '.join(paths)}: no test suite covers this path")
    return plan


def is_path(argument: str, root: Path) -> bool:
    """True for `tests/unit/core` and `tests/unit/test_state.py::test_one`."""
    return not argument.startswith("-") and "tests" in argument and (root / argument.split("::")[0]).exists()


def relative(path: str, root: Path) -> str:
    file, *node_id = path.split("::")
    name = (root / file).resolve().relative_to(root.resolve()).as_posix()
    return "::".join([name, *node_id])


def without(arguments: list[str], unwanted: frozenset[str]) -> list[str]:
    """The arguments less some options and their values."""
    kept, skip = [], False
    for argument in arguments:
        name = argument.split("=")[0]
        if skip:
            skip = False
        elif name in unwanted:
            skip = name in WITH_VALUE and "=" not in argument
        else:
            kept.append(argument)
    return kept


def is_narrowed(arguments: list[str], root: Path) -> bool:
    """True if the arguments select tests, so that a suite in which nothing is left is no failure."""
    selecting = ("-k", "-m", "--lf", "--last-failed", "--deselect", "--ignore")
    return any(is_path(argument, root) or argument.startswith(selecting) for argument in arguments)


def environment(site: Path) -> dict[str, str]:
    return {**os.environ, "ATTENTION_LAB_DIST": str(site), "PYTHONDONTWRITEBYTECODE": "1"}


def run_in_cpython(
    suite: str, arguments: list[str], report: Path, python: Path, site: Path, root: Path
) -> int:
    """pytest with the .venv; the exit code."""
    variables = environment(site)
    if suite in ("browser", "engines"):
        variables["ATTENTION_LAB_CHROMIUM"] = find_chromium(python)
    command = [str(python), "-m", "pytest", f"--junitxml={report}", *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, cwd=root, env=variables).returncode


def run_in_pyodide(arguments: list[str], report: Path, root: Path) -> int:
    """pytest inside the pinned Pyodide with its NumPy, under Node; the exit code."""
    runtime = report.parent / "runtime"
    runtime.mkdir()
    for name, path in obtain("pyodide").items():
        shutil.copyfile(path, runtime / name)
    (runtime / "pyodide-lock.json").write_text(json.dumps(lock_with_numpy()))
    task = {
        "runtime": str(runtime),
        "wheels": [str(path) for path in obtain("test-wheels").values()],
        "repository": str(root),
        "results": str(report.parent),
        "arguments": [f"--junitxml=/results/{report.name}", "-p", "no:cacheprovider", *arguments],
    }
    command = [node(PINS["packages"]["node"]), str(root / "tests" / "pyodide" / "run.mjs"), json.dumps(task)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, cwd=root).returncode


def lock_with_numpy() -> dict[str, object]:
    """The page's lock file, with the whole NumPy wheel as a package that Pyodide may load."""
    numpy = {
        "name": "numpy",
        "version": NUMPY_WHEEL.split("-")[1],
        "file_name": NUMPY_WHEEL,
        "sha256": PINS["pyodide"]["files"][NUMPY_WHEEL]["sha256"],
        "install_dir": "site",
        "package_type": "package",
        "imports": ["numpy"],
        "depends": [],
        "unvendored_tests": False,
    }
    return {**lock_file(), "packages": {"numpy": numpy}}


def read_report(suite: str, report: Path, code: int) -> Result:
    """Add up pytest's own report. A run that wrote none has failed."""
    result = Result(suite, code=code)
    try:
        cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        result.failed = 1
        result.code = code or 1
        return result
    for case in cases:
        if case.find("failure") is not None or case.find("error") is not None:
            result.failed += 1
        elif case.find("skipped") is not None:
            result.skipped += 1
        else:
            result.passed += 1
    return result


def conclude(results: list[Result], narrowed: bool) -> int:
    """Print one line a suite and the total; the exit code of the whole run."""
    say("")
    total = Result("total")
    failures = []
    for result in results:
        say(result.line())
        total.passed += result.passed
        total.failed += result.failed
        total.skipped += result.skipped
        empty = result.passed + result.failed == 0
        if empty and not narrowed:
            failures.append(f"{result.suite} ran no test")
        elif result.code not in (0, NO_TESTS) or result.failed:
            failures.append(f"{result.suite} failed (exit code {result.code})")
    if total.passed + total.failed == 0 and not failures:
        failures.append("no test was run")
    for failure in failures:
        say(f"build.py test: {failure}")
    say(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if failures else 0
