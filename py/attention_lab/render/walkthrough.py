"""The Walkthrough lab: the state of the stepper as slots, one for each part that can change by itself.

A table row is a slot, so that a step rewrites two or three rows and not the page. What a step says comes from
explain/steps.py; this only draws it. The frame is written first: it holds the places of all other slots.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from attention_lab.core import LabError
from attention_lab.explain.slips import question
from attention_lab.explain.steps import MOST_COLUMNS, MOST_TOKENS, Step, Walk, steps
from attention_lab.render import walk_panels, walk_tables
from attention_lab.render.html import escape, formatter
from attention_lab.render.view import View

if TYPE_CHECKING:
    from attention_lab.core import Trace
    from attention_lab.problem import Problem

__all__ = ["compose", "current", "is_too_large", "render", "walk_of"]

MOST_BIG = 70  # characters of a line that can stand in large type
MOST_LINES = (
    7  # reserved; a longer step pushes the tables down rather than leave a hole above them in all others
)
SAY = {"Home": "Home", "ArrowLeft": "←", "Space": "space", "ArrowRight": "→", "End": "End"}


def is_too_large(view: View) -> bool:
    """True when the problem on show has more queries or keys than the stepper takes."""
    return max(view.slice_trace.scores.shape) > MOST_TOKENS


def walk_of(view: View) -> Walk:
    """The steps of the problem on show. Raises LabError when it is too large."""
    return _walk(view.slice, view.slice_trace, view.state.decimals)


@lru_cache(maxsize=2)
def _walk(problem: Problem, trace: Trace, decimals: int | str) -> Walk:
    """Problems and traces are told apart by identity, so that the steps of one problem share what they look up."""
    return steps(problem, trace, formatter(decimals))


def current(view: View, walk: Walk) -> int:
    """The step on show: that of the state, no further than the last."""
    return min(view.state.step or 0, len(walk) - 1)


def beyond(view: View) -> dict[str, str]:
    """Key → sentence when the state asks for a step that this problem does not have."""
    step = view.state.step
    if step is None or view.state.lab != "walkthrough":
        return {}
    try:
        last = len(walk_of(view)) - 1
    except LabError:  # told in place of the steps
        return {}
    return (
        {"step": f"step={step}: there are steps 0 to {last}; the last one is shown."} if step > last else {}
    )


def render(view: View) -> dict[str, str]:
    """Every slot of the lab: slot name → inner HTML."""
    try:
        walk = walk_of(view)
    except LabError as error:
        return {"walk-frame": f'<p class="absent" data-walk-refused>{escape(str(error))}</p>'}
    index = current(view, walk)
    step = walk[index]
    asked = question(walk, index + 1) if view.state.predict and index + 1 < len(walk) else None
    ahead = walk[index + 1] if asked else None
    slots = {"walk-frame": _frame(view, walk)}
    slots |= walk_tables.rows(view, walk, step, ahead)
    slots["walk-step"] = f"<b>{index}</b> of {len(walk) - 1}"
    slots["walk-count"] = _count(walk, step)
    slots["walk-sentence"] = escape(step.sentence)
    slots["walk-arithmetic"] = _arithmetic(view, walk, step)
    slots["walk-predict"] = walk_panels.predict(asked, index + 1)
    return slots


def compose(slots: dict[str, str]) -> str:
    """The frame with every other slot put in its place: what stands in the page before any script runs."""
    html = slots["walk-frame"]
    for name, inner in slots.items():
        html = html.replace(f'data-slot="{name}">', f'data-slot="{name}">{inner}', 1)
    return html


def _frame(view: View, walk: Walk) -> str:
    """Everything that does not change from step to step, with the empty places of what does."""
    made = view.drawn.get("walk-frame")
    if made is None:
        phases = "".join(
            f'<button type="button" data-walk="go" data-to="{phase.first}" data-phase="{phase.name}">'
            f"{phase.title}</button>"
            for phase in walk.phases
        )
        made = (
            f"{_bar(len(walk) - 1)}"
            f'<div class="walk-line"><div class="walk-phases" role="group" aria-label="Jump to">{phases}</div>'
            f'<p class="walk-count" data-slot="walk-count"></p></div>'
            f'<p class="walk-sentence" data-slot="walk-sentence"></p>'
            f'<div class="walk-words lines-{_lines(walk)}"><div class="walk-predict" data-slot="walk-predict"></div>'
            f'<p class="walk-verdict" id="walk-verdict" hidden></p>'
            f'<div class="walk-arithmetic" data-slot="walk-arithmetic"></div></div>'
            f"{walk_tables.stage(view, walk)}"
            f"{walk_panels.vectors(view, walk)}"
            f'<div class="walk-panels">{walk_panels.notice(view, walk)}{walk_panels.cost(walk)}</div>'
            f"{walk_panels.experiment(view.state)}"
        )
        view.drawn["walk-frame"] = made
    return made


def _lines(walk: Walk) -> int:
    """Lines of text that the longest step needs, so that the tables below never move."""
    output = min(walk.dv, MOST_COLUMNS) + (walk.dv > MOST_COLUMNS)
    softmax = 1 + -(-walk.m // 3)
    return min(max(output, softmax, 4) + walk.masked, MOST_LINES)


def _bar(last: int) -> str:
    """The controls. What they do is in page/player.py; their keys are read by the page as for any control."""
    buttons = (
        ("first", "Home", "First step", "First"),
        ("back", "ArrowLeft", "Back one step", "Back"),
        ("play", "Space", "Play", "Play"),
        ("next", "ArrowRight", "Next step", "Next"),
        ("last", "End", "Last step", "Last"),
    )
    made = "".join(
        f'<button type="button" class="walk-{name}" data-walk="{name}" data-key="{key}" title="{title} ({SAY[key]})">'
        f"{text}</button>"
        for name, key, title, text in buttons
    )
    speeds = "".join(
        f'<option value="{rate}"{" selected" if rate == "2" else ""}>{text}</option>'
        for rate, text in (
            ("0.5", "every 2 s"),
            ("1", "every second"),
            ("2", "2 a second"),
            ("8", "8 a second"),
        )
    )
    return (
        f'<div class="walk-bar" role="group" aria-label="Steps"><div class="walk-buttons">{made}</div>'
        f'<label class="walk-scrub"><span>Step</span> <input type="range" id="walk-scrub" form="lab-form" '
        f'min="0" max="{last}" step="1" value="0"></label><span class="walk-step" data-slot="walk-step"></span>'
        f'<label class="walk-speed"><span>Speed</span> <select id="walk-speed" form="lab-form">{speeds}</select></label>'
        f'<label class="walk-guess"><input type="checkbox" id="walk-predict" form="lab-form"> Predict</label></div>'
    )


def _count(walk: Walk, step: Step) -> str:
    return (
        f"<span><b>{step.dots}</b> of {walk.dots} dot products</span> "
        f"<span><b>{step.multiplications:,}</b> of {walk.multiplications:,} multiplications</span>"
    )


def _arithmetic(view: View, walk: Walk, step: Step) -> str:
    if step.phase == "divide" and step.i is not None:
        return walk_panels.division(view, walk, step)
    many = " many" if step.phase == "softmax" and len(step.arithmetic) > 4 else ""
    if step.phase == "scores" and step.j is not None and len(step.arithmetic[0]) < MOST_BIG:
        many = " big"  # the line that people check with a pencil
    return f'<ol class="walk-lines{many}">{_items(step.arithmetic)}</ol>'


def _items(lines: Iterable[str]) -> str:
    return "".join(f"<li>{escape(line)}</li>" for line in lines)
