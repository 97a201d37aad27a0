"""The Share dialog: exports, embedding and worksheets. HTML strings, and the material of an export from a View.

What the buttons do is in page/share.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import unescape

from attention_lab.core import LabError
from attention_lab.export.formats import FORMATS
from attention_lab.export.material import Material
from attention_lab.render.html import escape
from attention_lab.render.panels import panels_of
from attention_lab.render.recipes import RECIPES
from attention_lab.render.view import View
from attention_lab.state import State
from attention_lab.teach.plan import RANGES, STAGES, Plan

TABS = (("export", "Export"), ("embed", "Embed"), ("worksheet", "Worksheet"))
PICTURES = (("svg", "Heatmap of the weights, SVG"), ("png", "Heatmap of the weights, PNG"))
FIRST_FORMAT = "numpy"
STAGE_WORDS = {
    "scores": "scores",
    "scaled": "scaled scores",
    "masked": "masked scores",
    "exponentials": "exponentials",
    "sums": "row sums",
    "weights": "weights",
    "output": "output",
}


def material_of(view: View, link: str) -> Material:
    """What the exports of this view hold."""
    widest = max(view.slice.q.shape[-1], view.slice.v.shape[-1])
    rows = view.slice_trace.scores.shape[-2]
    return Material(
        view.problem,
        view.trace,
        view.slice,
        view.slice_trace,
        view.write,
        link,
        min(view.state.row or 0, rows - 1),
        tuple(map(unescape, view.query_names())),
        tuple(map(unescape, view.key_names())),
        tuple(map(unescape, view.dim_names(widest))),
    )


def dialog(tab: str, state: State, plan: Plan, format_id: str) -> str:
    """The dialog's content on one of its tabs."""
    buttons = "".join(
        f'<button type="button" data-share-tab="{name}" aria-pressed="{"true" if name == tab else "false"}">{title}</button>'
        for name, title in TABS
    )
    body = {
        "export": lambda: export_tab(format_id),
        "embed": lambda: embed_tab(state),
        "worksheet": lambda: worksheet_tab(plan),
    }
    return (
        f'<h2 id="share-title">Share</h2><div class="share-tabs" role="group" aria-label="What to share">{buttons}</div>'
        f"{body[tab]()}"
    )


def export_tab(format_id: str) -> str:
    programs = ("numpy", "torch", "jax", "keras", "pytest")
    groups = (
        ("Programs that check themselves", [f for f in FORMATS if f.id in programs]),
        ("Numbers", [f for f in FORMATS if f.id not in programs]),
    )
    options = "".join(
        f'<optgroup label="{label}">{"".join(_option(f.id, f.title, format_id) for f in formats)}</optgroup>'
        for label, formats in groups
    )
    pictures = "".join(_option(name, title, format_id) for name, title in PICTURES)
    return (
        f'<div class="share-fields"><p><label for="share-format">Format</label> <select id="share-format">{options}'
        f'<optgroup label="Pictures">{pictures}</optgroup></select></p></div>'
        f"{_text_box('Exported text', 'Save')}"
    )


def embed_tab(state: State) -> str:
    recipes = "".join(_option(item.id, item.title, "html") for item in RECIPES)
    boxes = "".join(
        f'<label><input type="checkbox" data-hide-panel="{panel.name}"{" checked" if panel.name in state.hide else ""}> '
        f"{escape(panel.title)}</label>"
        for panel in panels_of(state.lab)
    )
    return (
        "<p>A frame that shows the view now on screen, without title and inputs.</p>"
        f'<div class="share-fields"><p><label for="embed-recipe">For</label> <select id="embed-recipe">{recipes}</select></p>'
        '<p><label for="embed-height">Height in pixels</label> <input id="embed-height" inputmode="numeric" size="6" value="540"></p>'
        '<p class="share-check"><input type="checkbox" id="embed-sandbox"> <label for="embed-sandbox" class="share-check">sandboxed frame</label></p></div>'
        f'<fieldset class="share-hide"><legend>Hide in it</legend>{boxes}</fieldset>'
        f"{_text_box('Code to embed', 'Open the view')}"
    )


def worksheet_tab(plan: Plan) -> str:
    titles = {
        "seed": "Seed",
        "variants": "Sheets",
        "queries": "Queries",
        "keys": "Keys",
        "values": "Columns of V",
        "decimals": "Decimals",
    }
    numbers = "".join(
        f'<p><label for="sheet-{name}">{titles[name]} {low}–{high}</label> '
        f'<input id="sheet-{name}" data-plan="{name}" inputmode="numeric" size="7" value="{getattr(plan, name)}"></p>'
        for name, (low, high) in RANGES.items()
    )
    blanks = "".join(
        f'<label><input type="checkbox" data-plan-blank="{name}"{" checked" if name in plan.blank else ""}> '
        f"{STAGE_WORDS[name]}</label>"
        for name in STAGES
    )
    return (
        "<p>Sheets to fill in with a pencil: small integers, chosen so that the work is short, and answer keys on pages of "
        "their own. The same seed gives the same sheets.</p>"
        f'<div class="share-fields">{numbers}</div>'
        f'<div class="share-fields"><p><label for="sheet-base">Exponentials</label> <select id="sheet-base" data-plan="base">'
        f"{_option('e', 'eˣ, with a table of powers', plan.base)}{_option('2', '2ˣ: every weight a fraction', plan.base)}</select></p>"
        f"{_check('scaled', 'divide by √dₖ (dₖ = 4)', plan.scaled)}{_check('causal', 'causal mask', plan.causal)}</div>"
        f'<fieldset class="share-hide"><legend>Leave blank</legend>{blanks}</fieldset>'
        '<p class="error" id="share-error" hidden></p>'
        '<div class="share-buttons"><button type="button" data-share-do="sheets">Make the sheets</button> '
        '<button type="button" data-share-do="another">Another seed</button> '
        '<button type="button" data-share-do="quiz">Link with hidden answers</button> <button type="button" data-close>Close</button></div>'
        '<p class="quiet" id="share-note">A link with hidden answers opens the view now on screen with the blank stages as '
        "boxes; the answers show only after a check.</p>"
    )


def _text_box(label: str, action: str) -> str:
    return (
        f'<p class="quiet" id="share-note"></p><p class="error" id="share-error" hidden></p>'
        f'<textarea id="share-text" readonly spellcheck="false" aria-label="{label}"></textarea>'
        f'<div class="share-buttons"><button type="button" data-share-do="copy">Copy</button> '
        f'<button type="button" data-share-do="save">{action}</button> <button type="button" data-close>Close</button></div>'
    )


def _option(value: str, title: str, chosen: str) -> str:
    return f'<option value="{value}"{" selected" if value == chosen else ""}>{escape(title)}</option>'


def _check(name: str, title: str, on: bool) -> str:
    return (
        f'<p class="share-check"><input type="checkbox" id="sheet-{name}" data-plan="{name}"{" checked" if on else ""}> '
        f'<label for="sheet-{name}" class="share-check">{title}</label></p>'
    )


def export_note(format_id: str, material: Material, tables: Sequence[str] = ()) -> str:
    """What the export holds, in one sentence."""
    several = material.trace.scores.ndim > 2
    chosen = {item.id: item for item in FORMATS}.get(format_id)
    if chosen is None:
        return "The weights as they stand on screen, with the colours of the page." + (
            " One batch and head." if several else ""
        )
    what = {
        "numpy": "Every stage again in NumPy, each compared with the numbers here.",
        "torch": "Every stage again in PyTorch, then scaled_dot_product_attention, each compared with the numbers here.",
        "jax": "Every stage again in JAX, then jax.nn.dot_product_attention, each compared with the numbers here.",
        "keras": "Every stage again in Keras 3, then its own attention, each compared with the numbers here.",
        "pytest": "Tests for your own function: write its call into mine().",
        "csv": "Inputs and every stage in one table: array, row, column, value; exact.",
        "tsv": "Inputs and every stage in one table: array, row, column, value; exact.",
        "json": "Inputs, options and every stage, exact.",
        "latex": "Inputs, every stage and the open row worked out; needs amsmath; decimals as on screen.",
        "markdown": "Inputs and every stage as tables; decimals as on screen.",
        "numpy-text": "Inputs and every stage as array literals, exact.",
        "npz": "Inputs and every stage for numpy.load, exact.",
        "safetensors": "Inputs and every stage, exact, with the options as metadata.",
    }[format_id]
    if several:
        what += " All batches and heads." if chosen.whole else " The batch and head on screen."
    return what


def picture_of(view: View) -> str:
    """The weights on screen as SVG. Raises LabError when there are too many for a picture."""
    from attention_lab.render.heat_export import export_svg

    if view.slice_trace.weights.size > MOST_IN_PICTURE:
        raise LabError(
            f"A picture holds up to {MOST_IN_PICTURE:,} weights; here are {view.slice_trace.weights.size:,}."
        )
    return export_svg(view)


MOST_IN_PICTURE = 512 * 512
