"""The one form ↔ the State: reads raw values, writes them back, and puts errors beside their fields.

Never loses text: an edit is read from the form and does not write it back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from attention_lab.page.dom import FormValues, by_id, data, document, every, one
from attention_lab.page.edits import MATRICES
from attention_lab.render.page import default_text, form_values

if TYPE_CHECKING:
    from attention_lab.state import State

NEUTRAL_OFF = {"scale": "none", "causal": "", "positions": ""}
"""What an unticked switch means: the browser leaves it out of the form's data."""
_values = FormValues("lab-form")
_shown: dict[str, dict[str, str]] = {}
"""What Python has written so far; what has not changed is not written again."""


def read(edited: str | None) -> dict[str, str]:
    """The form's values as raw texts of the State's keys. `edited` is the field that changed, None for all.

    Editing Q, K or V leaves the example and the sentence; editing the sentence leaves the matrices.
    """
    raw = _values.read()
    values = {**NEUTRAL_OFF, **raw}
    if edited == "scale-number" and raw.get("scale-number", "").strip():
        one("#scale").checked = True  # the number would otherwise do nothing and say nothing
        values["scale"] = "sqrt_dk"
    if edited == "causal-offset" and raw.get("causal-offset", "").strip():
        one("#causal").checked, one("#alignment").value = True, "offset"
        values |= {"causal": "top-left", "alignment": "offset"}
    number = values.pop("scale-number", "").strip()
    if number and values["scale"] != "none":
        values["scale"] = number
    alignment, offset = values.pop("alignment", "top-left"), values.pop("causal-offset", "").strip()
    if values["causal"]:
        values["causal"] = (offset or "0") if alignment == "offset" else alignment
    for name in ("T", "decimals", "d", "seed", "batch", "head"):
        if values.get(name, "").strip() == default_text(name):
            values[name] = ""
    return {
        key: value if key in (*MATRICES, "text", "observed", "keep", "bias") else value.strip()
        for key, value in values.items()
    }


def touched(names: Iterable[str]) -> list[tuple[str, str | bool]]:
    """What the fields of these names hold now; a checkbox holds True or False."""
    fields = [(name, one(f'#lab-form [name="{name}"]')) for name in names]
    return [
        (name, bool(field.checked) if field.type == "checkbox" else str(field.value))
        for name, field in fields
        if field
    ]


def put(name: str, value: str | bool) -> None:
    """Put a value that `touched` gave back into its field."""
    field = one(f'#lab-form [name="{name}"]')
    if isinstance(value, bool):
        field.checked = value
    elif field.value != value:
        field.value = value


def write(state: State) -> None:
    """Show a state in the form's fields."""
    values = form_values(state)
    scale, causal = values.get("scale", "sqrt_dk"), values.get("causal", "")
    is_number = scale not in ("sqrt_dk", "none")
    is_offset = causal not in ("", "top-left", "bottom-right")
    fields: dict[str, str] = {
        **{name: values.get(name, default_text(name)) for name in _names()},
        "scale-number": scale if is_number else "",
        "causal-offset": causal if is_offset else "",
        "alignment": "offset" if is_offset else causal or "top-left",
    }
    source = ""  # what an empty box of a matrix stands for
    if state.real_head:
        source = f"from MiniLM, layer {state.layer}, head {state.modelhead}"
    elif state.text is not None and state.q is None:
        source = "from the sentence"
    for element in by_id("lab-form").elements:
        name = element.name
        if not name:
            continue
        if name in MATRICES and element.placeholder != source:
            element.placeholder = source
        if element.type == "checkbox":
            element.checked = scale != "none" if name == "scale" else bool(values.get(name))
        elif element.value != fields.get(name, ""):
            element.value = fields.get(name, "")


def _names() -> Iterable[str]:
    return {element.name for element in by_id("lab-form").elements if element.name}


def show_errors(errors: dict[str, str]) -> None:
    """Put each message beside the field of that name; clear all others.

    Those about the link, and those without a place, go to the top, a line each.
    """
    if not errors and _shown.get("errors") == {}:
        return
    _shown.pop("errors", None)  # until all of them stand
    placed = set()
    for place in every('[data-error-for]:not([data-error-for="link"])'):
        name = data(place, "error-for") or ""
        message = errors.get(name, "")
        if message:
            placed.add(name)
        if place.textContent != message:
            place.textContent = message
        place.hidden = not message
        field: Any = one(f'#lab-form [name="{name}"]')
        if field:
            if message:
                field.setAttribute("aria-invalid", "true")
                _unfold(place)
            else:
                field.removeAttribute("aria-invalid")
    top = [message for name, message in errors.items() if name not in placed]
    notes = by_id("notes")
    lines = [document.createElement("span") for _ in top]
    for line, message in zip(lines, top, strict=True):
        line.textContent = message
    notes.replaceChildren(*lines)
    notes.hidden = not top
    _shown["errors"] = dict(errors)


def _unfold(element: Any) -> None:
    """Open whatever folded part of the form hides the element."""
    hidden_by = element.closest("details:not([open])")
    while hidden_by:
        hidden_by.open = True
        hidden_by = element.closest("details:not([open])")


def show_example(name: str | None) -> None:
    """The menu names the example on show, or none once its numbers were changed."""
    menu = by_id("example")
    if str(menu.value) != (name or ""):
        menu.value = name or ""


def show_said(said: dict[str, str]) -> None:
    """What reading each box changed or could not decide."""
    for name in _changed("said-for", said):
        for place in every(f'[data-said-for="{name}"]'):
            place.innerHTML = said.get(name, "")


def show_shapes(shapes: dict[str, str]) -> None:
    """The live shape badges of the matrix boxes."""
    for name in _changed("shape-of", shapes):
        for badge in every(f'[data-shape-of="{name}"]'):
            badge.textContent = shapes.get(name, "")


def _changed(kind: str, now: dict[str, str]) -> list[str]:
    """The names whose text is another than the one written last; every name in the page the first time."""
    old = _shown.get(kind)
    _shown[kind] = dict(now)
    if old is None:
        return [data(place, kind) or "" for place in every(f"[data-{kind}]")]
    return [name for name in {**old, **now} if old.get(name, "") != now.get(name, "")]
