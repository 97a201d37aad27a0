"""Find a browser for the tests: a Chromium of the system, else Debian's package, else Playwright's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from .console import BuildError, say
from .environment import run

ON_PATH = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge"]
USUAL_PLACES = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
]
NEEDED = (
    "The browser tests need Chromium: install it, or name one with ATTENTION_LAB_CHROMIUM=/path/to/chromium."
)


def system_chromium() -> str | None:
    """The path of a Chromium that is installed already."""
    chosen = os.environ.get("ATTENTION_LAB_CHROMIUM")
    if chosen:
        if not Path(chosen).is_file():
            raise BuildError(f"ATTENTION_LAB_CHROMIUM names {chosen}, which does not exist.")
        return chosen
    for name in ON_PATH:
        if found := shutil.which(name):
            return found
    return next((place for place in USUAL_PLACES if Path(place).is_file()), None)


def install_from_debian() -> str | None:
    """Debian's own Chromium, where this process may install packages."""
    apt = shutil.which("apt-get")
    if not apt or not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    say("No Chromium found: installing the system's package chromium ...")
    try:
        run([apt, "update", "-q"], what="apt-get update", timeout=600)
        run(
            [apt, "install", "-q", "-y", "--no-install-recommends", "chromium"],
            what="apt-get install chromium",
        )
    except BuildError as error:
        say(f"  {error}\n  trying Playwright's own")
        return None
    return shutil.which("chromium")


def playwright_chromium(python: Path) -> str:
    """Playwright's own Chromium, downloaded if it is not here yet."""
    ask = "from playwright.sync_api import sync_playwright as s\nwith s() as p: print(p.chromium.executable_path)"

    def path() -> str:
        done = subprocess.run(
            [str(python), "-c", ask], stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        return done.stdout.strip()

    if not Path(path()).is_file():
        say("No Chromium found: downloading Playwright's own ...")
        try:
            run([str(python), "-m", "playwright", "install", "chromium"], what="playwright install chromium")
        except BuildError as error:
            raise BuildError(f"{error}\n{NEEDED}") from None
    found = path()
    if not Path(found).is_file():
        raise BuildError(NEEDED)
    return found


def find_chromium(python: Path) -> str:
    """A Chromium for Playwright; `python` is the environment that has Playwright."""
    found = system_chromium() or install_from_debian() or playwright_chromium(python)
    if sys.platform.startswith("linux") and not os.access(found, os.X_OK):
        raise BuildError(f"{found} cannot be run. {NEEDED}")
    return found
