"""Chromium through Playwright, as in the browser tests."""

from __future__ import annotations

import json
import os
from typing import Any

from engine import MIDDLE, Engine, NotInstalled
from playwright.sync_api import Error, Playwright

from site_builder.browser import system_chromium


class Chromium(Engine):
    name = "Chromium"

    def __init__(self, playwright: Playwright) -> None:
        path = system_chromium()
        flags = ["--disable-background-networking", "--disable-component-update", "--no-first-run"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            flags.append("--no-sandbox")
        try:
            self.browser = playwright.chromium.launch(executable_path=path, args=flags)
        except Error as error:
            raise NotInstalled(f"no Chromium could be started: {error.message.splitlines()[0]}") from None
        self.version = self.browser.version
        self.page = self.browser.new_page()
        self.seen: list[str] = []
        self.page.on("pageerror", lambda error: self.seen.append(str(error)))
        self.page.on("console", lambda m: self.seen.append(m.text) if m.type == "error" else None)

    def open(self, address: str) -> None:
        self.page.goto(address)

    def js(self, expression: str) -> Any:
        return self.page.evaluate(expression)

    def click(self, selector: str) -> None:
        name = json.dumps(selector)
        x, y, width = self.js(MIDDLE % (name, name))
        assert width, f"{selector} is not shown"
        self.page.mouse.click(x, y)

    def press(self, *keys: str) -> None:
        for key in keys:
            if key == "\n":
                key = "Enter"
            self.page.keyboard.press(key) if len(key) > 1 else self.page.keyboard.type(key)

    def problems(self) -> list[str]:
        return self.seen

    def close(self) -> None:
        self.browser.close()
