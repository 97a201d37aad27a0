"""The page as named slots: which view draws which, the examples menu, and what the build prerenders.

Knows the views by name and imports one only when it is drawn, so that start-up pays for nothing it does not show.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

from attention_lab import __version__
from attention_lab.compute import view_of
from attention_lab.core import LabError, Options
from attention_lab.inputs.examples import Example, load
from attention_lab.inputs.paste import format_matrix
from attention_lab.render import cividis
from attention_lab.render.html import data_set, escape, plural
from attention_lab.render.view import View
from attention_lab.state import DEFAULTS, State, spread_matrix

CROSS_CHECKED = "29 November 2026, against PyTorch 2.13.0 and ONNX 1.23.2"
"""When the cross-checks of tests/unit/core last passed, and against what; shown in the footer."""
VIEWS = {
    "check": "attention_lab.render.check",
    "calculator": "attention_lab.render.calculator",
    "walkthrough": "attention_lab.render.walkthrough",
    "heatmap": "attention_lab.render.heatmap",
}
LESSON_KEYS = (
    "scale",
    "T",
    "causal",
    "softcap",
    "window",
    "empty",
    "precision",
    "keep",
    "bias",
    "lengths",
    "q",
    "k",
    "v",
)
DEFAULT_VALUES = {"scale": "sqrt_dk", "T": "1", "decimals": "4", "empty": "", "causal": ""}


def render(view: View) -> dict[str, str]:
    """Every slot of the view that the state asks for: slot name → inner HTML."""
    module = import_module(VIEWS[view.state.lab])
    slots: dict[str, str] = module.render(view)
    return slots


def first(view: View) -> dict[str, str] | None:
    """The slots that an edit of large matrices shows before all the others, or None where all are quick to draw."""
    if view.state.lab != "calculator" or view.state.blank:
        return None
    from attention_lab.render import calculator

    return calculator.first(view) if calculator.is_large(view) else None


def example_state(name: str, lab: str = "calculator") -> State:
    """The state that choosing an example leads to: its options written out, everything else neutral."""
    example = load().get(name)
    return State(lab=lab, example=name).with_values(example.options)


def form_values(state: State) -> dict[str, str]:
    """What the form's fields hold for a state: every key as text, Q, K and V written out when an example gives them."""
    values = state.to_values()
    if state.example is not None:
        example = load().get(state.example)
        for name in ("q", "k", "v"):
            values.setdefault(name, format_matrix(getattr(example, name)))
    for name in ("q", "k", "v", "keep", "bias", "observed"):
        raw = getattr(state, name)
        if raw is not None:
            values[name] = spread_matrix(raw)
    return values


def examples_menu() -> str:
    """The options of the examples select."""

    def option(example: Example) -> str:
        return f'<option value="{escape(example.name)}">{escape(example.title)}</option>'

    groups = (("Calculator", load().calculator), ("Walkthrough, eight tokens", load().walkthrough))
    options = "".join(
        f'<optgroup label="{label}">{"".join(map(option, examples))}</optgroup>' for label, examples in groups
    )
    return f'<option value="">your own numbers</option>{options}'


def frameworks_menu() -> str:
    """The options of the conventions select."""
    from attention_lab.core.conventions import conventions

    return "".join(
        f'<option value="{item.id}">{escape(item.name)}</option>' for item in conventions().values()
    )


def framework_notes(view: View) -> str:
    """What the chosen framework does by design, and which weights it would give otherwise than PyTorch's SDPA."""
    if not view.state.framework:
        return ""
    from attention_lab.core.conventions import convention
    from attention_lab.explain.differences import differences

    chosen = convention(view.state.framework)
    notes = "".join(f"<li>{escape(note)}</li>" for note in chosen.notes)
    problem = view.problem
    options = problem.options
    if options.scale == chosen.scale:  # both frameworks are asked for their own default
        options = replace(options, scale="sqrt_dk")
    masks = {"keep": problem.keep, "bias": problem.bias}
    apart = "On this input it gives the same weights as PyTorch SDPA."
    try:
        found = differences("torch", chosen.id, problem.q, problem.k, problem.v, options, **masks)
    except LabError as error:  # the other convention may uncover a cell that overflows
        return f"<p>{escape(chosen.name)} {escape(chosen.version)}. {escape(str(error))}</p><ul>{notes}</ul>"
    if found:
        apart = f"Given these arguments, {plural(len(found), 'weight')} would differ from PyTorch SDPA: {escape(found[0].text)}."
    return f"<p>{escape(chosen.name)} {escape(chosen.version)}. {apart}</p><ul>{notes}</ul>"


def framework_values(framework: str, causal: bool) -> dict[str, str]:
    """The fields that choosing a framework sets: its default scale, its causal alignment, its empty rows."""
    options = Options.for_framework(framework, causal=causal)
    alignment = "" if options.causal is None else str(options.causal)
    return {"scale": str(options.scale), "causal": alignment, "empty": options.empty_row}


def lesson(state: State) -> str:
    """The one sentence that the chosen example teaches; with other options, how to get the example's own."""
    if not state.example:
        return ""
    own = example_state(state.example, state.lab)
    if any(getattr(own, key) != getattr(state, key) for key in LESSON_KEYS):
        return f"<button type='button' class='link' {data_set(**own.to_values())}>Set this example’s own options</button>"
    return escape(load().get(state.example).lesson)


def fold_line(view: View) -> str:
    """The inputs in one line, for a narrow screen: `Q 2×2 · K 2×2 · V 2×2 · scaled`."""
    state, problem = view.state, view.problem
    if state.text is not None and state.q is None:
        parts = [plural(len(problem.q), "token"), f"d = {problem.q.shape[-1]}"]
    else:
        parts = [
            f"{name.upper()} {'×'.join(map(str, getattr(problem, name).shape))}" for name in ("q", "k", "v")
        ]
    options = problem.options
    parts.append(
        {"sqrt_dk": "scaled", "none": "not scaled"}.get(str(options.scale), f"scale {options.scale}")
    )
    if options.causal is not None:
        parts.append("causal")
    if options.temperature != 1:
        parts.append(f"T {options.temperature:g}")
    return " · ".join(parts)


def templates(slots: dict[str, str]) -> str:
    """Slots kept aside in the page until their lab is opened: no two labs' tables may stand in it at once."""
    return "".join(f'<template data-for-slot="{name}">{html}</template>' for name, html in slots.items())


def prerender() -> dict[str, str]:
    """Slots of the built page: the opening calculator, complete, and the result of every example in the menu."""
    import json

    from attention_lab.render import walk_frames, walk_prose
    from attention_lab.render.prose import prose

    opening = State.opening("calculator")
    slots = render(view_of(opening))
    slots["examples-menu"] = examples_menu().replace(
        f'value="{opening.example}"', f'value="{opening.example}" selected'
    )
    slots["lesson"] = lesson(opening)
    slots["fold-line"] = fold_line(view_of(opening))
    slots["frameworks"] = frameworks_menu()
    slots["prose"] = prose()
    slots["walk-frame"] = walk_frames.opening()
    first = State.opening("walkthrough")
    slots["walk-frames"] = walk_frames.packed(form_values(first), lesson(first))
    slots["walk-prose"] = walk_prose.prose()
    slots["early-heat"] = templates(render(view_of(State.opening("heatmap"))))
    slots["status"] = "Python starts …"
    slots["version"] = escape(__version__)
    slots["cross-checked"] = CROSS_CHECKED
    ready = {}
    for example in load().calculator:
        state = example_state(example.name)
        ready[example.name] = {
            "slots": render(view_of(state))
            | {"lesson": lesson(state), "fold-line": fold_line(view_of(state))},
            "values": form_values(state),
        }
    # "<" is written as an escape so that no text of an example can end the script element.
    text = json.dumps(ready, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    slots["prerendered"] = f'<script type="application/json" id="prerendered">{text}</script>'
    return slots


def stylesheet() -> str:
    """CSS made by code: the colour ramp, the parts that `hide=` hides, and worksheets."""
    from attention_lab.render import panels, worksheet_style

    return cividis.stylesheet() + panels.stylesheet() + worksheet_style.STYLE


def default_text(key: str) -> str:
    """The text of an option's field when the state leaves it neutral."""
    value = DEFAULTS.get(key)
    return DEFAULT_VALUES.get(key, "" if value is None else str(value))
