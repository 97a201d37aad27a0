"""What the build says on the terminal: plain lines, progress on long downloads, and errors.

Nothing here decides anything; it only prints.
"""

from __future__ import annotations

import sys
import time


class BuildError(Exception):
    """The build cannot go on. The message is one or more plain lines for the person who ran it."""


def say(text: str) -> None:
    """Print one line at once, also when the output is a pipe."""
    print(text, flush=True)


def megabytes(count: float) -> str:
    """A number of bytes for people: 151659070 -> '151.7 MB'."""
    return f"{count / 1e6:.1f} MB"


class Progress:
    """Progress of one download: a line that updates on a terminal, a line now and then elsewhere."""

    def __init__(self, label: str, total: int | None) -> None:
        self.label = label
        self.total = total
        self.live = sys.stdout.isatty()
        self.pause = 0.2 if self.live else 5.0
        self.last = time.monotonic()
        self.printed = False

    def update(self, done: int) -> None:
        now = time.monotonic()
        if now - self.last < self.pause:
            return
        self.last = now
        of = f" of {megabytes(self.total)} ({100 * done // self.total} %)" if self.total else ""
        line = f"  {self.label}: {megabytes(done)}{of}"
        if self.live:
            sys.stdout.write(f"\r{line:<70}")
            sys.stdout.flush()
            self.printed = True
        else:
            say(line)

    def close(self) -> None:
        if self.printed:
            sys.stdout.write("\r" + " " * 70 + "\r")
            sys.stdout.flush()
