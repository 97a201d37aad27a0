"""What reading a box changed or could not decide: warnings, and both readings of an ambiguous text to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_lab.compute import parsed
from attention_lab.core import LabError
from attention_lab.inputs.paste import format_compact
from attention_lab.render.html import data_set, escape

if TYPE_CHECKING:
    from attention_lab.state import State

FIELDS = ("q", "k", "v", "observed", "keep", "bias")
MOST_ENTRIES = 4096
WORDS = {"decimal_comma": "decimal commas", "comma_and_space_separators": "commas between entries"}


def said(state: State) -> dict[str, str]:
    """Field → HTML that stands under its box; empty where there is nothing to say."""
    return {field: _field(field, getattr(state, field)) for field in FIELDS}


def _field(field: str, text: str | None) -> str:
    if not text:
        return ""
    try:
        found = parsed(text)
        warnings, alternatives = found.warnings, found.alternatives
    except LabError as error:
        warnings, alternatives = (), getattr(error, "alternatives", ())
    pieces = [f'<p class="hint">{escape(warning[:1].upper() + warning[1:])}.</p>' for warning in warnings]
    for label, other in alternatives or ():
        if other.values.size <= MOST_ENTRIES:
            shape = "×".join(map(str, other.values.shape))
            words = escape(WORDS.get(label, label.replace("_", " ")))
            setter = data_set(**{field: format_compact(other.values), "example": ""})
            pieces.append(f'<button type="button" {setter}>Read as {words}: {shape}</button> ')
    return "".join(pieces)
