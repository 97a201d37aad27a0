"""Which suite gets which arguments, how results add up, and when a run has failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from site_builder.console import BuildError
from site_builder.testing import SUITES, Result, conclude, is_narrowed, plan_suites, read_report

ALL = list(SUITES)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("tests/unit/core", "tests/browser"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "tests/unit/core/test_a.py").touch()
    return tmp_path


def test_without_arguments_every_suite_runs_its_folder(root: Path) -> None:
    assert plan_suites([], ALL, root) == {
        "unit": ["tests/unit"],
        "pyodide": ["tests/unit"],
        "browser": ["tests/browser"],
        "engines": ["tests/engines"],
    }


def test_a_path_runs_only_where_it_belongs(root: Path) -> None:
    assert plan_suites(["tests/unit/core/test_a.py::test_x", "-q"], ALL, root) == {
        "unit": ["-q", "tests/unit/core/test_a.py::test_x"],
        "pyodide": ["-q", "tests/unit/core/test_a.py::test_x"],
    }
    assert list(plan_suites(["tests/browser"], ALL, root)) == ["browser"]
    assert list(plan_suites(["tests"], ALL, root)) == ALL


def test_filters_go_everywhere_and_browser_options_not_into_pyodide(root: Path) -> None:
    plan = plan_suites(["-k", "paste", "--headed", "--slowmo", "50", "--tracing=on"], ALL, root)
    assert plan["browser"] == ["-k", "paste", "--headed", "--slowmo", "50", "--tracing=on", "tests/browser"]
    assert plan["pyodide"] == ["-k", "paste", "tests/unit"]


def test_suites_keep_their_order_whatever_was_asked(root: Path) -> None:
    assert list(plan_suites([], ["browser", "unit"], root)) == ["unit", "browser"]


def test_a_path_outside_the_suite_asked_for_is_an_error(root: Path) -> None:
    with pytest.raises(BuildError, match="no test suite covers"):
        plan_suites(["tests/browser"], ["unit"], root)


def test_narrowing(root: Path) -> None:
    assert is_narrowed(["-k", "paste"], root)
    assert is_narrowed(["-kpaste"], root)
    assert is_narrowed(["tests/unit"], root)
    assert not is_narrowed(["-x", "-q"], root)


REPORT = """<testsuites><testsuite>
<testcase name="a"/><testcase name="b"/>
<testcase name="c"><failure>no</failure></testcase>
<testcase name="d"><error>no</error></testcase>
<testcase name="e"><skipped/></testcase>
</testsuite></testsuites>"""


def test_a_report_is_added_up(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT)
    result = read_report("unit", tmp_path / "report.xml", 1)
    assert result.line() == "unit: 2 passed, 2 failed, 1 skipped"


def test_a_run_without_a_report_has_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = read_report("unit", tmp_path / "report.xml", 0)
    assert (result.failed, result.code) == (1, 1)
    assert conclude([result], narrowed=False) == 1


def test_the_last_line_is_the_total(capsys: pytest.CaptureFixture[str]) -> None:
    assert conclude([Result("unit", 3, 0, 1), Result("browser", 2, 0, 0)], narrowed=False) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3:] == [
        "unit: 3 passed, 0 failed, 1 skipped",
        "browser: 2 passed, 0 failed, 0 skipped",
        "5 passed, 0 failed, 1 skipped",
    ]


@pytest.mark.parametrize(
    ("results", "narrowed", "code"),
    [
        ([Result("unit", 3), Result("browser", 0, code=5)], False, 1),  # a suite without tests
        ([Result("unit", 3), Result("browser", 0, code=5)], True, 0),  # ... is fine under -k
        ([Result("unit", 0, code=5)], True, 1),  # but something must have run
        ([Result("unit", 3, failed=1, code=1)], True, 1),
        ([Result("unit", 3, code=2)], False, 1),  # interrupted
        ([Result("unit", 0, skipped=4)], False, 1),  # nothing but skips
    ],
)
def test_when_a_run_has_failed(results: list[Result], narrowed: bool, code: int) -> None:
    assert conclude(results, narrowed) == code
