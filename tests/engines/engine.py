"""What the journey needs of a browser, whatever drives it: open, evaluate, click, type, press a key.

An engine that is not installed raises `NotInstalled` with the reason. Knows nothing of the lab.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

KEYS = {
    "Enter": "\ue007",
    "ArrowRight": "\ue014",
    "ArrowLeft": "\ue012",
    "Control": "\ue009",
    "Delete": "\ue017",
}
"""WebDriver's code points for keys that are no character."""
MIDDLE = """(() => {
    const element = document.querySelector(%s);
    if (!element) throw new Error("nothing matches " + %s);
    element.scrollIntoView({block: "center", inline: "center"});
    const box = element.getBoundingClientRect();
    return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2), box.width];
})()"""


class NotInstalled(Exception):
    """This engine, or what drives it, is not on this machine."""


class Engine:
    """One window of one browser."""

    name = ""
    version = ""

    def open(self, address: str) -> None:
        """Load an address as typing it in does."""
        raise NotImplementedError

    def js(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; a promise is waited for."""
        raise NotImplementedError

    def click(self, selector: str) -> None:
        """Press and release the mouse in the middle of the element."""
        raise NotImplementedError

    def press(self, *keys: str) -> None:
        """Press keys one after the other: characters, or names of KEYS; `Control+a` holds the first."""
        raise NotImplementedError

    def problems(self) -> list[str]:
        """What the console reported as errors, where the driver can tell."""
        return []

    def close(self) -> None:
        """End the browser and everything started with it."""
        raise NotImplementedError

    def wait(self, expression: str, seconds: float = 30) -> Any:
        """Until the expression is true; its value."""
        end = time.monotonic() + seconds
        while True:
            value = self.js(expression)
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"{self.name}: not true within {seconds} s: {expression}")
            time.sleep(0.1)

    def fill(self, selector: str, text: str) -> None:
        """Replace what is in a field, as pasting does: the browser inserts the text and tells the page."""
        self.click(selector)
        self.press("Control+a")
        assert self.js(f"document.execCommand('insertText', false, {json.dumps(text)})")


class Process:
    """A program with a temporary folder of its own, in a process group of its own so that all of it can be ended."""

    def __init__(
        self, command: list[str], folder: tempfile.TemporaryDirectory[str], **variables: str
    ) -> None:
        self.folder = folder
        self.log = Path(folder.name, "output.log")
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **variables},
            )

    def wait_for(self, found: Any, seconds: float = 60) -> Any:
        """Call `found(output so far)` until it returns something."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            output = self.log.read_text(encoding="utf-8", errors="replace")
            if value := found(output):
                return value
            if self.process.poll() is not None:
                raise AssertionError(f"it ended with {self.process.returncode}: {output[-1000:]}")
            time.sleep(0.1)
        raise AssertionError(f"it did not start within {seconds} s: {output[-1000:]}")

    def end(self) -> None:
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, sign)
            except ProcessLookupError:
                break
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                continue
        self.folder.cleanup()


def pressed(key: str) -> list[str]:
    """The code points of one argument of `press`, the held ones first: `Control+a` → [Control, a]."""
    parts = key.split("+") if len(key) > 1 else [key]
    return [KEYS.get(part, part) for part in parts]


def key_actions(keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """WebDriver's action sequence for `press`."""
    actions = []
    for key in keys:
        codes = pressed(key)
        actions += [{"type": "keyDown", "value": code} for code in codes]
        actions += [{"type": "keyUp", "value": code} for code in reversed(codes)]
    return [{"type": "key", "id": "keyboard", "actions": actions}]


def click_actions(x: int, y: int) -> list[dict[str, Any]]:
    """WebDriver's action sequence for one click."""
    moves = [
        {"type": "pointerMove", "x": x, "y": y, "duration": 0},
        {"type": "pointerDown", "button": 0},
        {"type": "pointerUp", "button": 0},
    ]
    return [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": moves}]
