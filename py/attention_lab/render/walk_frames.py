"""Every step of the opening walkthrough as ready HTML, packed, so that stepping works before Python has started.

Made at build time by the view itself; static/early-walk.js unpacks and shows it. Nothing here runs in the page.
"""

from __future__ import annotations

from attention_lab.compute import view_of
from attention_lab.render import walkthrough
from attention_lab.state import State


def frames() -> dict[str, list[tuple[int, str]]]:
    """For each slot the steps at which it changes, with its HTML from there on: going to a step is a look-up."""
    changes: dict[str, list[tuple[int, str]]] = {}
    state = State.opening("walkthrough")
    view = view_of(state)
    for index in range(len(walkthrough.walk_of(view))):
        view = view_of(state.with_values({"step": str(index)}), view)
        for name, html in walkthrough.render(view).items():
            known = changes.setdefault(name, [])
            if name != "walk-frame" and (not known or known[-1][1] != html):
                known.append((index, html))
    del changes["walk-frame"]
    return changes


def opening() -> str:
    """The opening walkthrough at its first step, complete, as the page holds it before any script runs."""
    return walkthrough.compose(walkthrough.render(view_of(State.opening("walkthrough"))))


def packed(values: dict[str, str], lesson: str) -> str:
    """The frames as an inert script element: JSON, gzip, base64.

    `values` are the texts of the form's fields, `lesson` the example's sentence as HTML.
    """
    import base64
    import gzip
    import json

    made = frames() | {"lesson": [(0, lesson)]}
    count = max(step for steps in made.values() for step, _ in steps) + 1
    text = json.dumps(
        {"steps": count, "values": values, "slots": made}, ensure_ascii=False, separators=(",", ":")
    )
    data = base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
    return f'<script type="text/plain" id="walk-frames">{data}</script>'
