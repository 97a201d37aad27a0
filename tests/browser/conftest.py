"""A real Chromium on the built pages: `lab` (served), `single_file` (from disk, network off), `fresh_page`.

One browser and one started page of each kind serve the whole run, because starting Python costs seconds; each test
gets the page in its opening state. At the end of every test nothing may have left the page's own origin, and the
console must hold no error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

from site_builder.browser import system_chromium
from site_builder.paths import DIST, SINGLE_FILE
from site_builder.serve import running

START_SECONDS = 90
SUB_PATH = "/some/course/"
VIEWPORT = {"width": 1280, "height": 900}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs a browser."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.needs_browser)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, object]) -> dict[str, object]:
    """Launch the Chromium that build.py found, without its own calls home."""
    arguments = ["--disable-background-networking", "--disable-component-update", "--no-first-run"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--no-sandbox")  # Chromium refuses its sandbox to root
    found = os.environ.get("ATTENTION_LAB_CHROMIUM") or system_chromium()
    path = {"executable_path": found} if found else {}
    return {**browser_type_launch_args, **path, "args": arguments}


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
    with running(dist, SUB_PATH) as server:
        yield server.address


FIGURES: list[str] = []


@pytest.fixture(scope="session")
def figures() -> list[str]:
    """Lines that a test wants said at the end of the run: what was counted."""
    return FIGURES


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in FIGURES:
        terminalreporter.write_line(line)


class Watch:
    """What a page did that it should not: console errors, exceptions, requests to anywhere but its own place."""

    def __init__(self, page: Page, home: str) -> None:
        self.home = home
        self.errors: list[str] = []
        self.requests: list[str] = []
        page.on("console", self.on_console)
        page.on("pageerror", lambda error: self.errors.append(f"exception: {error}"))
        page.on("request", self.on_request)

    def on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"console: {message.text}")

    def on_request(self, request: Request) -> None:
        self.requests.append(request.url)

    def foreign(self) -> list[str]:
        """Requests that left the page's own origin (for a file: anything but the file itself)."""
        return [url for url in self.requests if not url.startswith((self.home, "blob:", "data:", "about:"))]

    def check(self) -> None:
        assert self.foreign() == [], "the page asked for something outside its own origin"
        assert self.errors == []

    def clear(self) -> None:
        self.errors.clear()
        self.requests.clear()


class Lab:
    """One page of the lab. `page` is Playwright's; the rest are shorthands."""

    def __init__(self, page: Page, address: str) -> None:
        parts = urlsplit(address)
        home = f"{parts.scheme}://{parts.netloc}/" if parts.netloc else address
        self.page = page
        self.address = address
        self.watch = Watch(page, home)

    def start(self, fragment: str = "") -> Lab:
        """Load the page and wait until Python is ready."""
        self.page.goto(f"{self.address}#{fragment}")
        self.wait()
        return self

    def wait(self) -> None:
        """Until Python is ready. If it fails to start, say why at once."""
        state = "document.documentElement.dataset.python"
        self.page.wait_for_function(f"['ready', 'failed'].includes({state})", timeout=START_SECONDS * 1000)
        if self.page.evaluate(state) != "ready":
            pytest.fail(
                f"Python did not start: {self.page.inner_text('#python-status')}\n{self.watch.errors}"
            )

    def open(self, fragment: str = "") -> Lab:
        """Go to a state without loading the page again, as following a link does."""
        self.page.evaluate(
            """async (hash) => {
                const changed = () => new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
                if ((location.hash || "#") === hash) { // an edit need not have reached the address: leave it first
                    location.hash = "#passing=1";
                    await changed();
                }
                location.hash = hash;
                await changed();
                for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
            }""",
            f"#{fragment}",
        )
        return self

    def table(self, stage: str) -> list[list[float]]:
        """The values of one stage's table, exactly as the page holds them."""
        rows: dict[int, list[float]] = {}
        for cell in self.page.locator(f'table[data-stage="{stage}"] td[data-j]').all():
            rows.setdefault(int(cell.get_attribute("data-i") or 0), []).append(
                float(cell.get_attribute("data-value") or "nan")
            )
        return [rows[i] for i in sorted(rows)]

    def reset(self) -> None:
        """Back to what a reader sees first: opening state, light, wide, nothing remembered."""
        self.page.set_viewport_size(VIEWPORT)  # type: ignore[arg-type]
        self.page.emulate_media(
            media="screen", color_scheme="light", forced_colors="none", reduced_motion="no-preference"
        )
        self.page.evaluate("try { localStorage.clear() } catch {}")
        self.page.evaluate(
            "for (const dialog of document.querySelectorAll('dialog[open]')) dialog.close();"
            "document.activeElement?.blur()"  # a focused field would take the keys of the next test
        )
        self.open()
        self.watch.clear()


def new_context(browser: Browser, offline: bool = False) -> BrowserContext:
    """A fresh profile, without service worker so that every request is seen."""
    context = browser.new_context(viewport=VIEWPORT, offline=offline, service_workers="block")  # type: ignore[arg-type]
    context.set_default_timeout(15_000)
    return context


@pytest.fixture(scope="session")
def started_lab(browser: Browser, site: str) -> Iterator[Lab]:
    """The served page, started once for the whole run. Tests use `lab`."""
    context = new_context(browser)
    yield Lab(context.new_page(), site).start()
    context.close()


@pytest.fixture(scope="session")
def started_single_file(browser: Browser, dist: Path) -> Iterator[Lab]:
    """The single file, started once from disk with the network off. Tests use `single_file`."""
    context = new_context(browser, offline=True)
    yield Lab(context.new_page(), (dist / SINGLE_FILE).as_uri()).start()
    context.close()


def checked(started: Lab) -> Iterator[Lab]:
    """One test's turn with a started page."""
    if started.page.url.split("#")[0] != started.address:
        started.start()  # the test before went elsewhere
    started.reset()
    yield started
    started.watch.check()


@pytest.fixture
def lab(started_lab: Lab) -> Iterator[Lab]:
    """The served page, ready, in its opening state."""
    yield from checked(started_lab)


@pytest.fixture
def single_file(started_single_file: Lab) -> Iterator[Lab]:
    """The single file from disk with the network off, ready, in its opening state."""
    yield from checked(started_single_file)


@pytest.fixture
def fresh_page(browser: Browser) -> Iterator[Callable[..., Lab]]:
    """`fresh_page(address, offline=False, javascript=True)`: a page of its own that has loaded nothing yet.

    For what happens while the page starts, and for pages that a test means to break. Nothing is checked at the end.
    """
    contexts = []

    def make(address: str, offline: bool = False, javascript: bool = True) -> Lab:
        context = browser.new_context(
            viewport=VIEWPORT,  # type: ignore[arg-type]
            offline=offline,
            java_script_enabled=javascript,
            service_workers="block",
        )
        contexts.append(context)
        return Lab(context.new_page(), address)

    yield make
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def lab_class() -> type[Lab]:
    """`Lab`, for tests that open pages of their own."""
    return Lab
