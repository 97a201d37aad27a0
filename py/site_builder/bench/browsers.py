"""Which browsers are on this machine, and how to open a page in one without any driver."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from site_builder.browser import system_chromium

PREFERENCES = {
    "browser.aboutwelcome.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "startup.homepage_welcome_url": "",
    "browser.startup.homepage_override.mstone": "ignore",
    "app.update.auto": False,
    "browser.sessionstore.resume_from_crash": False,  # it is ended by a signal, and must not open the last page again
    "toolkit.startup.max_resumed_crashes": -1,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
}


@dataclass(frozen=True)
class Engine:
    """One browser: its name, its version, and the command before the address."""

    name: str
    version: str
    command: list[str]

    @contextlib.contextmanager
    def showing(self, address: str, profile: Path) -> Iterator[int]:
        """The page open in this browser (its process), with a profile that keeps its caches between calls."""
        profile.mkdir(parents=True, exist_ok=True)
        command = [part.replace("{profile}", str(profile)) for part in self.command]
        environment = {**os.environ, "XDG_CACHE_HOME": str(profile), "XDG_DATA_HOME": str(profile)}
        if self.name == "Firefox":
            lines = [
                f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items()
            ]
            (profile / "user.js").write_text("\n".join(lines) + "\n")
        process = subprocess.Popen(
            [*command, address],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        try:
            yield process.pid
        finally:
            for ending in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, ending)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(10)
                    break


def _version(command: list[str]) -> str:
    done = subprocess.run(
        [*command, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )
    return next((word for word in done.stdout.split() if word[:1].isdigit()), "?")


def engines() -> list[Engine]:
    """What is installed, Chromium first."""
    found = []
    if chromium := system_chromium():
        quiet = [
            "--window-size=1280,900",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
        ]
        sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        command = [chromium, "--headless=new", "--user-data-dir={profile}", *quiet, *sandbox]
        found.append(Engine("Chromium", _version([chromium]), command))
    if firefox := shutil.which("firefox-esr") or shutil.which("firefox"):
        found.append(
            Engine(
                "Firefox",
                _version([firefox]),
                [
                    firefox,
                    "--headless",
                    "--width=1280",
                    "--height=900",
                    "--no-remote",
                    "--profile",
                    "{profile}",
                ],
            )
        )
    browsers = sorted(Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"))
    display = [] if os.environ.get("DISPLAY") else ["xvfb-run", "-a"]
    if browsers and (not display or shutil.which("xvfb-run")):
        version = subprocess.run(
            [*display, str(browsers[-1]), "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout.split()
        found.append(Engine("WebKit", version[-1] if version else "?", [*display, str(browsers[-1])]))
    return found
