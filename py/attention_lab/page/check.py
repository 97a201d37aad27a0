"""Runs a diagnosis in small pieces between frames, so that the page stays alive, and shows what it found.

Compares and draws nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attention_lab.compute import asked, observed_of, options_of
from attention_lab.core import LabError
from attention_lab.diagnosis import diagnose_steps, make_probe, separable
from attention_lab.inputs.paste import format_matrix
from attention_lab.page.dom import Once, by_id, window
from attention_lab.render import check as render
from attention_lab.state import State

if TYPE_CHECKING:
    from attention_lab.page.app import App
    from attention_lab.render.view import View

MOST_METERED = 1024
"""Scores up to which the meter runs: it computes every mistake once."""
SLICE_MS = 30
"""How long a piece may run before the page gets its turn."""


class CheckPage:
    """One diagnosis at a time; a newer question drops the one that is running."""

    def __init__(
        self, app: App, write: Callable[[dict[str, str]], object], fail: Callable[[LabError], object]
    ) -> None:
        self._app = app
        self._write = write
        self._fail = fail
        self._asked: tuple[Any, ...] | None = None
        self._running: Generator[float, None, Any] | None = None
        self._view: View | None = None
        self._found: Any = None
        self._next = Once(self._run, delay=0)
        self._measured: Any = None
        self._meter = ""
        self._measure = Once(self._show_meter, delay=60)
        self._panel = render.probe_panel(0, "oblong")

    def show(self, view: View) -> None:
        """Answer for this view: at once when the question is the old one."""
        state = view.state
        self._write({"check-probe": self._panel})
        if view.trace is self._measured:
            self._write({"check-meter": self._meter})
        else:
            self._view = view
            self._write({"check-meter": ""})
            self._measure()
        if not state.observed:
            self._asked, self._running, self._found = None, None, None
            self._write(render.nothing())
            return
        question = (id(view.slice_trace), state.observed, state.stage)
        self._view = view
        if question == self._asked:
            if self._found is not None:
                self._write(render.verdict(view, self._found))
            return
        self._asked, self._found = None, None
        observed = observed_of(state)  # LabError: the app shows it beside the box
        problem = asked(view, observed.values)
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
        self._step()

    def _show_meter(self) -> None:
        """How telling the reader's own input is; after the verdict, which matters more."""
        if self._view is None or self._view.trace is self._measured:
            return
        if self._running is not None:
            self._measure()
            return
        self._measured = self._view.trace
        small = self._view.trace.scores.size <= MOST_METERED
        self._meter = render.meter(separable(self._view.problem)) if small else ""
        self._write({"check-meter": self._meter})

    def load(self, id: str) -> None:
        """Put one of the six mistakes into the boxes."""
        from attention_lab.diagnosis.showcase import showcase

        self._app.go(State(lab="check").with_values(showcase(id)), push=True)

    def make_probe(self) -> None:
        """Put a probe into the boxes, keep the options, and show the code that runs it."""
        text, kind = str(by_id("probe-seed").value).strip(), str(by_id("probe-kind").value)
        if not text.isascii() or not text.isdigit() or len(text) > 9:
            raise LabError(
                f"The seed of a probe must be a whole number from 0 to 999,999,999; got “{text[:40]}”."
            )
        options = replace(options_of(self._app.state), heads=None, lengths=None)
        made = make_probe(int(text), kind, options)  # type: ignore[arg-type]
        values = {name: format_matrix(getattr(made, name)) for name in ("q", "k", "v")}
        if made.options.heads:
            values["heads"] = ",".join(map(str, made.options.heads))
        cleared = replace(
            self._app.state,
            example=None,
            text=None,
            observed=None,
            labels=None,
            keep=None,
            bias=None,
            heads=None,
            lengths=None,
        )
        self._app.go(cleared.with_values(values), push=True)
        self._panel = render.probe_panel(int(text), kind, made)
        self._write({"check-probe": self._panel})

    def _run(self) -> None:
        """A later piece: nobody waits for it any more, so its error is told from here."""
        try:
            self._step()
        except LabError as error:
            self._fail(error)

    def _step(self) -> None:
        """One piece of the running diagnosis. Raises LabError for numbers that fit no stage."""
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
            self._app.announce(self._found.message)
            return
        except LabError:
            self._running, self._asked = None, None
            self._write(render.nothing())
            raise
        self._write(render.working(fraction))
        self._next()
