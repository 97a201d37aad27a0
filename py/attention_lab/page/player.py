"""What the Walkthrough needs beyond clicks on `data-set`: stepping, playing, the scrubber, predictions, the experiment.

Turns events into a step number and writes the few slots that change. Computes and draws nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attention_lab.compute import view_of
from attention_lab.core import LabError
from attention_lab.explain.growth import Experiment
from attention_lab.explain.slips import answer
from attention_lab.explain.steps import Walk
from attention_lab.page.dom import (
    Once,
    by_id,
    create_proxy,
    data,
    document,
    every,
    guarded,
    on,
    one,
    root,
    window,
)
from attention_lab.render.walk_growth import chart
from attention_lab.render.walk_panels import growth_values
from attention_lab.render.walkthrough import current, is_too_large, render, walk_of

if TYPE_CHECKING:
    from attention_lab.page.app import App

PORTION_MS = 25
"""How long the experiment may hold the page before it gives way to a click."""


class Player:
    """Listens once for the life of the page; `show` runs after every drawing of the lab, `pause` when it is left."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.walk: Walk | None = None
        self.playing = False
        self._tick = create_proxy(guarded(self._on_tick))
        self._waiting = False
        self._experiment: Experiment | None = None
        self._measured: tuple[str, ...] = ()
        self._in_view = Once(self._keep_in_sight)
        self._measure = Once(self._on_measure, delay=0)
        self._seen = window.IntersectionObserver.new(create_proxy(guarded(self._on_seen)))
        self._in_sight = False
        on(document, "click", self._on_click)
        on(document, "input", self._on_input)
        on(document, "change", self._on_change)
        on(document, "keydown", self._on_key)

    # what is on show

    def show(self) -> None:
        """Bring the controls up to the view."""
        view = self.app.view
        if view is None or is_too_large(view):
            self.walk = None
            root.dataset.step = root.dataset.steps = "0"
            return
        self.walk = walk = walk_of(view)
        index, last = current(view, walk), len(walk) - 1
        root.dataset.step, root.dataset.steps = str(index), str(len(walk))
        scrubber = by_id("walk-scrub")
        scrubber.value = str(index)
        scrubber.setAttribute("aria-valuetext", f"step {index} of {last}, {walk[index].title}")
        self._show_place(walk.phase_of(index).name, index == 0, index == last)
        by_id("walk-predict").checked = view.state.predict
        self._in_view()
        self._watch()

    def _show_place(self, phase: str, at_first: bool, at_last: bool) -> None:
        """Mark the phase, and the controls that lead nowhere; only when something about them has changed."""
        predict = self.app.state.predict
        place = (phase, at_first, at_last, predict)
        if self._control("next").getAttribute("data-place") == repr(place):
            return
        self._control("next").setAttribute("data-place", repr(place))
        ends = (("first", at_first), ("back", at_first), ("next", at_last), ("last", at_last))
        for name, off in ends:
            self._control(name).setAttribute("aria-disabled", "true" if off else "false")
        self._control("play").disabled = predict
        for button in every("[data-phase]"):
            if data(button, "phase") == phase:
                button.setAttribute("aria-current", "step")
            else:
                button.removeAttribute("aria-current")

    def _keep_in_sight(self) -> None:
        """Where the picture is wider than the screen, scroll it (never the page) to the cell at work."""
        box = by_id("walk-scroll")
        if not box or box.scrollWidth <= box.clientWidth:
            return
        cell = box.querySelector(".at-g .now, .at-g .asked, .at-o .now, .at-o .asked")
        if not cell:
            return
        fixed = box.querySelector(".at-q").offsetWidth
        frame, place = box.getBoundingClientRect(), cell.getBoundingClientRect()
        if place.left < frame.left + fixed:
            box.scrollLeft -= frame.left + fixed - place.left + 8
        elif place.right > frame.right:
            box.scrollLeft += place.right - frame.right + 8

    def pause(self) -> None:
        """Stop playing; nothing else changes."""
        if self.playing:
            self.playing = False
            self._show_playing()

    def leave(self) -> None:
        """Another lab is on show."""
        self.pause()
        root.removeAttribute("data-step")
        root.removeAttribute("data-steps")

    def _control(self, name: str) -> Any:
        return one(f'.walk-bar [data-walk="{name}"]')

    # stepping

    def go(self, index: int, say: bool = True) -> None:
        """Show a step: only what the step changes is computed, written and said."""
        if self.walk is None:
            return
        app = self.app
        last = len(self.walk) - 1
        index = max(0, min(index, last))
        if (app.state.step or 0) > last:  # the page speaks of a step that is not there
            app.go(replace(app.state, step=index), push=False)
            return
        app.state = replace(app.state, step=index)
        self._verdict("")
        try:
            app.view = view_of(app.state, app.view)
        except LabError:  # the inputs are broken just now: the app says where, and the old result stays
            app.go(app.state, push=False)
            return
        app._write(render(app.view))
        self.show()
        app.save()
        if say and self.walk is not None:
            app.announce(self.walk[index].sentence)

    @property
    def index(self) -> int:
        return int(root.dataset.step)

    def _on_click(self, event: Any) -> None:
        button = event.target.closest("[data-walk]") if getattr(event.target, "closest", None) else None
        if not button or self.walk is None:
            return
        action = data(button, "walk")
        if action == "play":
            self._toggle()
            return
        self.pause()
        if action == "check":
            self._check()
        elif action == "next" and by_id("guess"):
            by_id("guess").focus()
            self._verdict("Type the number you expect, or choose “Show it”.")
        elif action in ("next", "show"):
            self.go(self.index + 1)
            if action == "show":
                self._back_to_guess()
        elif action == "go":
            self.go(int(data(button, "to") or 0))
        elif action in ("first", "back", "last"):
            self.go({"first": 0, "back": self.index - 1, "last": len(self.walk) - 1}[action])

    def _on_input(self, event: Any) -> None:
        if event.target.id == "walk-scrub":
            self.pause()
            self.go(int(event.target.value), say=False)  # the slider itself says where it is

    def _on_change(self, event: Any) -> None:
        target = event.target
        if target.id == "walk-predict":
            self.pause()
            self.app.go(self.app.state.with_values({"predict": "1" if target.checked else ""}), push=False)
            if by_id("guess"):
                by_id("guess").focus()
        elif data(target, "growth"):
            self.app.state = self.app.state.with_values(
                {str(data(target, "growth")): str(target.value).strip()}
            )
            self.app.save()
            self._watch()

    def _on_key(self, event: Any) -> None:
        if event.target.id == "guess" and event.key == "Enter":
            event.preventDefault()
            self._check()

    # playing

    def _toggle(self) -> None:
        if self.walk is None:
            return
        if not self.playing and self.index == len(self.walk) - 1:
            self.go(0, say=False)
        self.playing = not self.playing
        self._show_playing()
        if self.playing:
            self._wait()
        else:
            self.app.announce(self.walk[self.index].sentence)

    def _show_playing(self) -> None:
        button = self._control("play")
        if button:
            button.textContent = "Pause" if self.playing else "Play"
            button.title = "Pause (space)" if self.playing else "Play (space)"

    def _wait(self) -> None:
        if self._waiting:
            return
        rate = float(by_id("walk-speed").value)
        if window.matchMedia("(prefers-reduced-motion: reduce)").matches:
            rate = min(rate, 1.0)  # whoever asks for less motion gets no rapid change
        self._waiting = True
        window.setTimeout(self._tick, 1000 / rate)

    def _on_tick(self, *_: object) -> None:
        self._waiting = False
        if not self.playing or self.walk is None:
            return
        self.go(self.index + 1, say=False)
        if self.walk is None or self.index == len(self.walk) - 1:
            self.pause()
            self.app.announce("The last step is reached.")
        else:
            self._wait()

    # predicting

    def _check(self) -> None:
        field = by_id("guess")
        if not field or self.walk is None:
            return
        decimals = self.app.state.decimals
        try:
            given = answer(
                self.walk, self.index + 1, str(field.value), decimals if isinstance(decimals, int) else 4
            )
        except LabError as error:
            self._verdict(str(error), wrong=True)
            field.select()
            return
        if not given.right:
            self._verdict(given.sentence, wrong=True)
            field.select()
            return
        self.go(self.index + 1, say=False)
        self._verdict(f"{given.sentence} {self.walk[self.index].sentence}")
        self._back_to_guess()

    def _back_to_guess(self) -> None:
        (by_id("guess") or self._control("next")).focus()

    def _verdict(self, text: str, wrong: bool = False) -> None:
        place = by_id("walk-verdict")
        place.textContent = text
        place.hidden = not text
        place.className = "walk-verdict wrong" if wrong else "walk-verdict"
        if text:
            self.app.announce(text)

    # the experiment

    def _watch(self) -> None:
        """Measure once the chart's place comes into sight, and again when its settings change."""
        place = one('[data-slot="walk-growth"]')
        if not place:
            return
        wanted = tuple(growth_values(self.app.state).values())
        if wanted == self._measured and (self._experiment is not None or place.firstChild):
            return
        self._measured = ()
        if self._in_sight and place.firstChild:
            self._begin()
        else:
            self._seen.observe(place)

    def _on_seen(self, entries: Any, observer: Any) -> None:
        self._in_sight = any(entry.isIntersecting for entry in entries)
        if self._in_sight:
            observer.disconnect()
            self._begin()

    def _begin(self) -> None:
        values = growth_values(self.app.state)
        wrong = by_id("growth-error")
        try:
            seed, keys = (_whole(values[name], name) for name in ("growth-seed", "growth-keys"))
            self._experiment = Experiment(seed, keys, values["growth-values"])
        except LabError as error:
            self._experiment = None
            self._measured = tuple(values.values())
            wrong.textContent = str(error)
            wrong.hidden = False
            return
        wrong.hidden = True
        self._measured = tuple(values.values())
        self._measure()

    def _on_measure(self) -> None:
        experiment = self._experiment
        if experiment is None:
            return
        start = window.performance.now()
        while not experiment.done and window.performance.now() - start < PORTION_MS:
            experiment.advance()
        if not experiment.done:
            self._measure()
            return
        self._experiment = None
        place = one('[data-slot="walk-growth"]')
        if place:
            place.innerHTML = chart(experiment.result)


def _whole(text: str, field: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise LabError(f"Expected a whole number; got “{text[:40]}”.", field=field) from None
