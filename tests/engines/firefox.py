"""Firefox through WebDriver BiDi, which it speaks by itself over a WebSocket: no driver program is needed.

https://www.w3.org/TR/webdriver-bidi/
"""

from __future__ import annotations

import itertools
import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import websocket
from engine import MIDDLE, Engine, NotInstalled, Process, click_actions, key_actions

# Nothing of Firefox's own goes out, opens or asks.
PREFERENCES = {
    "app.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "browser.safebrowsing.downloads.remote.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "datareporting.healthreport.uploadEnabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "remote.prefs.recommended": True,
    "toolkit.telemetry.enabled": False,
}


class Firefox(Engine):
    name = "Firefox"

    def __init__(self) -> None:
        path = next((found for name in ("firefox-esr", "firefox") if (found := shutil.which(name))), None)
        if path is None:
            raise NotInstalled("Firefox is not installed (Debian: apt-get install firefox-esr)")
        folder = tempfile.TemporaryDirectory(prefix="lab-firefox-", ignore_cleanup_errors=True)
        lines = [
            f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items()
        ]
        Path(folder.name, "user.js").write_text("\n".join(lines))
        command = [
            path,
            "--headless",
            "--no-remote",
            "--profile",
            folder.name,
            "--remote-debugging-port",
            "0",
        ]
        self.process = Process([*command, "about:blank"], folder, HOME=folder.name)
        try:
            found = self.process.wait_for(re.compile(r"BiDi listening on (ws://\S+)").search)
            self.socket = websocket.create_connection(
                f"{found[1]}/session", timeout=120, suppress_origin=True
            )
            self.numbers = itertools.count(1)
            self.seen: list[str] = []
            self.version = self.ask("session.new", capabilities={})["capabilities"]["browserVersion"]
            self.tab = self.ask("browsingContext.getTree")["contexts"][0]["context"]
            self.ask("session.subscribe", events=["log.entryAdded"])
        except BaseException:
            self.process.end()
            raise

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its answer; events that come between are kept if they are errors."""
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("method") == "log.entryAdded":
                entry = message["params"]
                if entry["level"] == "error":
                    self.seen.append(str(entry["text"]))
            elif message.get("id") == number:
                if message["type"] == "error":
                    raise AssertionError(f"Firefox: {method}: {message['error']}: {message['message']}")
                result: dict[str, Any] = message["result"]
                return result

    def open(self, address: str) -> None:
        self.ask("browsingContext.navigate", context=self.tab, url=address, wait="complete")

    def js(self, expression: str) -> Any:
        # The value crosses as JSON text, so that all engines give plain Python values.
        answer = self.ask(
            "script.evaluate",
            expression=f"Promise.resolve({expression}).then((value) => JSON.stringify(value ?? null))",
            target={"context": self.tab},
            awaitPromise=True,
        )
        if answer["type"] == "exception":
            raise AssertionError(f"Firefox: {answer['exceptionDetails']['text']}")
        return json.loads(answer["result"]["value"])

    def click(self, selector: str) -> None:
        name = json.dumps(selector)
        x, y, width = self.js(MIDDLE % (name, name))
        assert width, f"{selector} is not shown"
        self.ask("input.performActions", context=self.tab, actions=click_actions(x, y))

    def press(self, *keys: str) -> None:
        keys = tuple("Enter" if key == "\n" else key for key in keys)
        for key in keys:  # one at a time: in a long sequence it drops some while the page computes
            self.ask("input.performActions", context=self.tab, actions=key_actions((key,)))
            self.js("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    def problems(self) -> list[str]:
        self.js("1")  # events that are on their way arrive first
        return self.seen

    def close(self) -> None:
        self.socket.close()
        self.process.end()
