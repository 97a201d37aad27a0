"""What was found in dropped files: each array with its shape, its role and the layout, all of which can be changed."""

from __future__ import annotations

from collections.abc import Mapping

from attention_lab.inputs.bundle import LAYOUTS, ROLES, Bundle
from attention_lab.render.html import escape

ROLE_WORDS = {
    "q": "Q",
    "k": "K",
    "v": "V",
    "mask": "keep mask",
    "bias": "additive bias",
    "out": "your output",
    "scores": "your scores",
    "weights": "your weights",
    "lse": "your log-sum-exp",
}


def files(found: Bundle, skipped: Mapping[str, str], warnings: tuple[str, ...] = ()) -> str:
    """The panel under the file button."""
    by_name = {name: role for role, name in found.roles.items()}
    lines = "".join(_line(name, array, by_name.get(name, "")) for name, array in found.arrays.items())
    layout = ""
    if any(found.arrays[name].ndim >= 3 for role, name in found.roles.items() if role in ("q", "k", "v")):
        choices = "".join(
            f'<option value="{key}"{" selected" if key == found.layout else ""}>{words}</option>'
            for key, words in LAYOUTS.items()
        )
        layout = (
            f'<p><label for="file-layout">Axes</label> <select id="file-layout" data-file-layout>{choices}</select></p>'
            f'<p class="hint">{escape(found.reason)} Choose the batch entry and head under “More”.</p>'
        )
    left_out = "".join(f"<li>{escape(name)}: {escape(why)}</li>" for name, why in skipped.items())
    said = "".join(f"<li>{escape(text)}</li>" for text in warnings)
    notes = f'<ul class="plain hint">{left_out}{said}</ul>' if left_out or said else ""
    return (
        '<table class="files"><caption>Found in the file (it stays in this page)</caption><thead><tr><th scope="col">array</th>'
        f'<th scope="col">shape</th><th scope="col">is</th></tr></thead><tbody>{lines}</tbody></table>{layout}{notes}'
    )


def _line(name: str, array: object, role: str) -> str:
    options = "".join(
        f'<option value="{key}"{" selected" if key == role else ""}>{ROLE_WORDS[key]}</option>'
        for key in ROLES
    )
    shape = "×".join(map(str, array.shape)) or "one number"  # type: ignore[attr-defined]
    shown = name if len(name) <= 40 else name[:39] + "…"
    return (
        f'<tr><th scope="row">{escape(shown)}</th><td>{shape}</td><td><select data-file-role="{escape(name)}" '
        f'aria-label="{escape(shown)} is"><option value="">not used</option>{options}</select></td></tr>'
    )
