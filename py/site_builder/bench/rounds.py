"""Open pages one after the other in one browser and gather what each reports: a small server that leads from page to page.

It also tells a page how much memory its process takes, which no page can find out by itself.
"""

from __future__ import annotations

import json
import threading
import urllib.parse
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from site_builder.console import BuildError
from site_builder.serve import Handler, Server

from .browsers import Engine
from .memory import memory_of

REST_SECONDS = 1.0
LIMIT_SECONDS = 150
WAIT = "<!doctype html><title>…</title><script>setTimeout(() => location.replace({address}), {time})</script>"


class Guide(Handler):
    """Serves files as a static host does, and three more addresses.

    /done takes a report, /go leads to the next page, /memory has the bytes of the page's process or null.
    """

    server: Rounds

    def answer(self, *, body: bool) -> None:
        parts = urllib.parse.urlsplit(self.path)
        if parts.path == "/done":
            self.server.take(json.loads(urllib.parse.unquote(parts.query)))
        if parts.path in ("/done", "/go"):
            page = self.server.lead(again=parts.path == "/go")
            self.reply(200, page.encode(), body, {"Content-Type": "text/html; charset=utf-8"})
            return
        if parts.path == "/memory":
            answer = json.dumps(memory_of(self.server.process)).encode()
            self.reply(200, answer, body, {"Content-Type": "application/json"})
            return
        self.server.asked[self.server.current].append(parts.path)
        super().answer(body=body)

    def reply(self, status: int, content: bytes, body: bool, headers: dict[str, str]) -> None:
        lasting = self.path.startswith(("/done", "/go", "/memory"))
        super().reply(
            status, content, body, {**headers, "Cache-Control": "no-store" if lasting else "max-age=3600"}
        )


class Rounds(Server):
    """The pages still to be opened, and what the opened ones reported."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 0)
        self.RequestHandlerClass = Guide
        self.pages: list[str] = []
        self.current: str | None = None
        self.process: int | None = None
        self.reports: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.asked: dict[str | None, list[str]] = defaultdict(list)
        self.finished = threading.Event()

    def handle_error(self, *_: object) -> None:
        """A browser that is closed resets its connections; nothing is wrong then."""

    def lead(self, again: bool = False) -> str:
        """The page that leads on. A browser that has just started may ask twice for where to begin."""
        if not (again and self.current):
            self.current = self.pages.pop(0) if self.pages else None
        if self.current is None:
            self.finished.set()
            return "<!doctype html><title>done</title>"
        return WAIT.format(address=json.dumps(self.current), time=int(1000 * REST_SECONDS))

    def take(self, report: dict[str, Any]) -> None:
        if self.current is not None:
            self.reports[self.current].append(report)

    def taken(self, engine: Engine, page: str) -> list[dict[str, Any]]:
        """What the page reported, each time it was open. Raises BuildError if it failed once."""
        reports = self.reports[page]
        if failed := [report["error"] for report in reports if "error" in report]:
            raise BuildError(f"{engine.name}, {page}: {failed[0]}")
        return reports

    def open(self, engine: Engine, profile: Path, pages: Iterable[str]) -> None:
        """Show these pages in this order, each after a rest. The first may be a file: address."""
        self.pages, self.current = list(pages), None
        self.finished.clear()
        first = f"{self.address}go"
        if self.pages[0].startswith("file:"):
            self.current = self.pages.pop(0)
            first = self.current
        with engine.showing(first, profile) as self.process:
            if not self.finished.wait(LIMIT_SECONDS):
                raise BuildError(f"{engine.name} did not finish {self.current} in {LIMIT_SECONDS} s")
