"""WebKitGTK through its own WebDriver program, on a virtual screen where there is none.

https://www.w3.org/TR/webdriver2/ by plain HTTP: no client library is needed. It cannot tell what the console reported.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from engine import MIDDLE, Engine, NotInstalled, Process, click_actions, key_actions

PLACES = "*/webkit2gtk-4.*/MiniBrowser"


class WebKit(Engine):
    name = "WebKitGTK"

    def __init__(self) -> None:
        driver = shutil.which("WebKitWebDriver")
        browser = next(iter(sorted(Path("/usr/lib").glob(PLACES), reverse=True)), None)
        if driver is None or browser is None:
            raise NotInstalled(
                "WebKitGTK's driver is not installed (Debian: apt-get install webkit2gtk-driver)"
            )
        screen = [] if os.environ.get("DISPLAY") else ["xvfb-run", "-a"]
        if screen and shutil.which("xvfb-run") is None:
            raise NotInstalled("WebKitGTK needs a screen (Debian: apt-get install xvfb)")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        folder = tempfile.TemporaryDirectory(prefix="lab-webkit-", ignore_cleanup_errors=True)
        command = [*screen, driver, "--host=127.0.0.1", f"--port={port}"]
        self.base = f"http://127.0.0.1:{port}"
        self.process = Process(command, folder, HOME=folder.name, WEBKIT_DISABLE_COMPOSITING_MODE="1")
        try:
            self.process.wait_for(lambda _: self.is_up())
            options = {"binary": str(browser), "args": ["--automation"]}
            wanted = {"alwaysMatch": {"webkitgtk:browserOptions": options, "timeouts": {"script": 120_000}}}
            answer = self.ask("POST", "/session", {"capabilities": wanted})
            self.session = f"/session/{answer['sessionId']}"
            self.version = answer["capabilities"]["browserVersion"]
            self.ask("POST", f"{self.session}/window/rect", {"width": 1280, "height": 900})
        except BaseException:
            self.process.end()
            raise
        shown = subprocess.run(
            [str(browser), "--version"], capture_output=True, text=True, check=False
        ).stdout
        self.version = (re.search(r"\d+\.\d+\.\d+", shown) or [self.version])[0]

    def is_up(self) -> bool:
        try:
            return bool(self.ask("GET", "/status"))
        except OSError:
            return False

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """One command; its value."""
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.base + path, content, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=150) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise AssertionError(f"WebKitGTK: {path}: {value['error']}: {value['message']}") from None

    def open(self, address: str) -> None:
        self.ask("POST", f"{self.session}/url", {"url": address})

    def js(self, expression: str) -> Any:
        script = (
            "const done = arguments[arguments.length - 1];"
            f"(async () => ({expression}))().then((value) => done(JSON.stringify([value ?? null])),"
            " (error) => done(JSON.stringify({error: String(error)})))"
        )
        answer = json.loads(self.ask("POST", f"{self.session}/execute/async", {"script": script, "args": []}))
        if isinstance(answer, dict):
            raise AssertionError(f"WebKitGTK: {answer['error']}")
        return answer[0]

    def click(self, selector: str) -> None:
        name = json.dumps(selector)
        x, y, width = self.js(MIDDLE % (name, name))
        assert width, f"{selector} is not shown"
        self.ask("POST", f"{self.session}/actions", {"actions": click_actions(x, y)})

    def press(self, *keys: str) -> None:
        keys = tuple("Enter" if key == "\n" else key for key in keys)
        self.ask("POST", f"{self.session}/actions", {"actions": key_actions(keys)})

    def close(self) -> None:
        try:
            self.ask("DELETE", self.session)
        finally:
            self.process.end()
