"""What an edit of one field makes of a State: which other values it replaces, and which it leaves.

Pure: reads no page, computes no attention.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from attention_lab.render.page import example_state, framework_values
from attention_lab.state import State

MATRICES = ("q", "k", "v")
REWRITES_FORM = ("example", "framework", "model")
"""Fields whose change fills others."""
_FRAMEWORK_SETS = ("scale", "scale-number", "causal", "alignment", "causal-offset", "empty")


def after(state: State, edited: str | None, values: Mapping[str, str]) -> State:
    """The state once the field `edited` was changed; `values` are those of the whole form, as raw texts.

    Typed matrices leave the example, the sentence and the model; a sentence or a model leaves the matrices.
    """
    if edited == "example" and values.get("example"):
        return example_state(values["example"], state.lab)
    drop: dict[str, str] = {}
    if edited == "framework" and values.get("framework"):
        drop = framework_values(values["framework"], bool(values["causal"]))
    elif edited == "framework" and state.framework:
        drop = {"scale": "", "empty": ""}  # what the framework had set
    elif edited in _FRAMEWORK_SETS:
        drop = {"framework": ""}  # no longer that framework's convention
    if edited in MATRICES:
        drop = {"example": ""}
    elif edited in ("text", "model") or state.text is not None:
        drop |= {"example": ""}
    keep_source = state.example is not None and edited not in MATRICES
    pairs = {key: value for key, value in values.items() if not (keep_source and key in MATRICES)}
    if edited != "example":
        pairs.pop("example", None)  # the menu may still name what an edit has left
    if edited in MATRICES:
        state = replace(state, text=None, model=None)
        pairs.pop("text", None)
        pairs.pop("model", None)
    elif edited in ("text", "model") or (state.text is not None and state.q is None):
        state = replace(state, q=None, k=None, v=None)
        pairs = {key: value for key, value in pairs.items() if key not in MATRICES}
    else:
        pairs.pop("text", None)
    if edited == "model" and values.get("model"):  # an encoder: both ways, positions of its own
        drop |= {"causal": "", "positions": "", "row": "", "compare": ""}
    if not values.get("observed"):
        pairs["observed"] = ""
    return state.with_values({**pairs, **drop})
