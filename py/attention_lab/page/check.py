"""Runs a diagnosis in small pieces between frames, so that the page stays alive, and shows what it found.

Compares and draws nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from attention_lab.compute import observed_of
from attention_lab.core import LabError
from attention_lab.diagnosis import diagnose_steps
from attention_lab.page.dom import Once, window
from attention_lab.render import check as render

if TYPE_CHECKING:
    from attention_lab.page.app import App
    from attention_lab.render.view import View

SLICE_MS = 30
"""How long a piece may run before the page gets its turn."""


class CheckPage:
    """One diagnosis at a time; a newer question drops the one that is running."""

    def __init__(self, app: App, write: Callable[[dict[str, str]], object], fail: Callable[[LabError], object]) -> None:
        self._app = app
        self._write = write
        self._fail = fail
        self._asked: tuple[Any, ...] | None = None
        self._running: Generator[float, None, Any] | None = None
        self._view: View | None = None
        self._found: Any = None
        self._next = Once(self._run, delay=0)

    def show(self, view: View) -> None:
        """Answer for this view: at once when the question is the old one."""
        state = view.state
        if not state.observed:
            self._asked, self._running, self._found = None, None, None
            self._write(render.nothing())
            return
        question = (id(view.trace), state.observed, state.stage)
        self._view = view
        if question == self._asked:
            if self._found is not None:
                self._write(render.verdict(view, self._found))
            return
        self._asked, self._found = None, None
        observed = observed_of(state)  # LabError: the app shows it beside the box
        problem = view.problem
        self._running = diagnose_steps(
            problem.q,
            problem.k,
            problem.v,
            observed.values,
            problem.options,
            keep=problem.keep,
            bias=problem.bias,
            stage=state.stage,
            resolution=observed.resolution,
        )
        self._asked = question
        self._run()

    def _run(self) -> None:
        if self._running is None or self._view is None:
            return
        end = window.performance.now() + SLICE_MS
        fraction = 0.0
        try:
            while window.performance.now() < end:
                fraction = next(self._running)
        except StopIteration as done:
            self._running, self._found = None, done.value
            self._write(render.verdict(self._view, self._found))
            return
        except LabError as error:
            self._running, self._asked = None, None
            self._write(render.nothing())
            self._fail(error)
            return
        self._write(render.working(fraction))
        self._next()
