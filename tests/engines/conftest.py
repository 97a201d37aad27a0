"""One started browser of each engine for the whole run.

An engine that is not installed is left out with the reason. With ATTENTION_LAB_REQUIRE_ENGINES=1 (in .ci/run) that is
a failure.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Chromium
from engine import Engine, NotInstalled
from firefox import Firefox
from webkit import WebKit

from site_builder.paths import DIST
from site_builder.serve import running

DRIVEN: list[str] = []
"""One line for each engine that was asked for."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs a browser."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.needs_browser)


@pytest.fixture(scope="session")
def dist() -> Path:
    """The built site."""
    folder = Path(os.environ.get("ATTENTION_LAB_DIST") or DIST)
    if not (folder / "index.html").is_file():
        pytest.fail(f"{folder} is not built: run `python build.py test`, or `python build.py build` first")
    return folder


@pytest.fixture(scope="session")
def site(dist: Path) -> Iterator[str]:
    """The address of the built site, served under a sub-path as project pages are."""
    with running(dist, "/some/course/") as server:
        yield server.address


@pytest.fixture(scope="session", params=["chromium", "firefox", "webkit"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """One started browser."""
    try:
        started: Engine
        if request.param == "chromium":
            started = Chromium(request.getfixturevalue("playwright"))
        else:
            started = {"firefox": Firefox, "webkit": WebKit}[request.param]()
    except NotInstalled as error:
        if os.environ.get("ATTENTION_LAB_REQUIRE_ENGINES") == "1":
            pytest.fail(f"{error}, and ATTENTION_LAB_REQUIRE_ENGINES=1 says that it must be")
        DRIVEN.append(f"{request.param}: left out, {error}")
        pytest.skip(str(error))
    DRIVEN.append(f"{request.param}: {started.name} {started.version}")
    yield started
    started.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Which engines these results are about."""
    for line in DRIVEN:
        terminalreporter.write_line(line)
