"""The served site without network: after one visit it is all there, nothing is fetched twice, and builds never mix."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserType, Error, Page

from site_builder import dist as layout
from site_builder.paths import ROOT, SINGLE_FILE
from site_builder.serve import Handler, running

UNTIL = """async (condition) => {
    const registration = await navigator.serviceWorker.ready;
    const met = new Function("worker", `return ${condition}`);
    while (!met(registration)) await new Promise((resolve) => setTimeout(resolve, 50));
}"""
ACTIVE = "worker.active.state === 'activated'"
READY = "document.documentElement.dataset.python === 'ready'"


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Callable[[], Page]]:
    """A reader with a profile of their own, in which service workers may run."""
    contexts = []

    def arrive() -> Page:
        contexts.append(browser.new_context())
        contexts[-1].set_default_timeout(90_000)
        return contexts[-1].new_page()

    yield arrive
    for context in contexts:
        context.close()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What the server was asked for, and how it answered."""
    seen: list[tuple[str, int]] = []
    reply = Handler.reply

    def noted(self: Any, status: int, *rest: Any) -> None:
        seen.append((self.path, status))
        reply(self, status, *rest)

    monkeypatch.setattr(Handler, "reply", noted)
    return seen


def visit(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_function(READY)


def test_after_one_visit_the_site_works_without_network(
    visitor: Callable[[], Page], dist: Path, asked: list[tuple[str, int]]
) -> None:
    page = visitor()
    with running(dist, "/some/course/") as server:
        visit(page, server.address)
        page.evaluate(UNTIL, ACTIVE)
        asked.clear()
        visit(page, server.address)
        fetched = [path for path, status in asked if status == 200]
        assert [path for path in fetched if not path.endswith("service-worker.js")] == []
        address = server.address
    # the server is gone
    visit(page, address)
    assert page.evaluate("document.documentElement.dataset.start") == "snapshot"
    values = page.locator('table[data-stage="output"] td[data-i]').evaluate_all(
        "t => t.map(c => +c.dataset.value)"
    )
    assert values == pytest.approx([1.6605, 2.6605, 2.3395, 3.3395], abs=5e-5)


def test_a_first_visit_downloads_each_file_once(
    browser_type: BrowserType,
    browser_type_launch_args: dict[str, Any],
    dist: Path,
    tmp_path: Path,
    asked: list[tuple[str, int]],
) -> None:
    """With a profile on disk: a private window's cache is too small for the largest file."""
    context = browser_type.launch_persistent_context(tmp_path, **browser_type_launch_args)
    context.set_default_timeout(90_000)
    page = context.new_page()
    with running(dist) as server:
        visit(page, server.address)
        page.evaluate(UNTIL, ACTIVE)
        context.close()
    whole = [path for path, status in asked if status == 200]
    assert sorted(set(whole)) == sorted(whole)


def test_the_single_file_is_not_kept(dist: Path) -> None:
    text = (dist / "service-worker.js").read_text(encoding="utf-8")
    assert "pyodide.asm.wasm" in text
    assert SINGLE_FILE not in text


def test_the_single_file_registers_nothing(single_file: Any) -> None:
    assert single_file.page.locator("script[src]").count() == 0
    assert "serviceWorker.register" not in single_file.page.content()


def site_of(folder: Path, mark: str) -> None:
    """A small site in three files that all bear one mark."""
    folder.mkdir(exist_ok=True)
    files = {
        "index.html": f'<!doctype html><title>{mark}</title><html data-python="ready"><script src="a.js"></script>'
        '<script src="b.js"></script><script src="offline.js"></script>',
        "a.js": f"window.a = '{mark}'",
        "b.js": f"window.b = '{mark}'",
        "offline.js": (ROOT / "static" / "offline.js").read_text(encoding="utf-8"),
    }
    encoded = {name: text.encode() for name, text in files.items()}
    encoded["service-worker.js"] = layout.service_worker(ROOT / "static", encoded)
    for name, content in encoded.items():
        (folder / name).write_bytes(content)


def marks(page: Page) -> list[str]:
    found: list[str] = page.evaluate("[document.title, window.a, window.b]")
    return found


def test_a_new_build_replaces_the_old_one_as_a_whole(visitor: Callable[[], Page], tmp_path: Path) -> None:
    site_of(tmp_path / "site", "old")
    page = visitor()
    with running(tmp_path / "site") as server:
        page.goto(server.address)
        page.evaluate(UNTIL, ACTIVE)
        site_of(tmp_path / "site", "new")
        page.goto(server.address)
        assert marks(page) == ["old"] * 3  # from the old build's cache, all of it
        page.evaluate("navigator.serviceWorker.ready.then((r) => r.update())")
        page.evaluate(UNTIL, "worker.waiting")
        page.goto(server.address)
        for _ in range(50):  # the page loads itself again
            page.wait_for_timeout(100)
            with contextlib.suppress(Error):  # asked in the middle of it
                if marks(page)[2] == "new":
                    break
        assert marks(page) == ["new"] * 3
        names = page.evaluate("caches.keys()")
        assert len([name for name in names if name.startswith("attention-lab ")]) == 1


def test_a_half_published_build_is_not_taken(visitor: Callable[[], Page], tmp_path: Path) -> None:
    """The new worker is there, one of the new files is not yet: the old build stays whole."""
    site_of(tmp_path / "site", "old")
    late = (tmp_path / "site" / "b.js").read_bytes()
    page = visitor()
    with running(tmp_path / "site") as server:
        page.goto(server.address)
        page.evaluate(UNTIL, ACTIVE)
        site_of(tmp_path / "site", "new")
        (tmp_path / "site" / "b.js").write_bytes(late)
        page.goto(server.address)
        page.evaluate("navigator.serviceWorker.ready.then((r) => r.update()).catch(() => {})")
        page.evaluate(UNTIL, "!worker.installing")
        page.goto(server.address)
        assert marks(page) == ["old"] * 3
