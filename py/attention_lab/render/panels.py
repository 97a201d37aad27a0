"""The parts of the page that `hide=` can hide: their names, what a person calls them, and where they stand.

The style sheet gets one rule for each name, so a hidden part never flashes up. Knows no state.
"""

from __future__ import annotations

from typing import NamedTuple


class Panel(NamedTuple):
    """One part: name in the link, title in the dialog, CSS selectors, labs it belongs to."""

    name: str
    title: str
    selectors: tuple[str, ...]
    labs: tuple[str, ...]


EVERY = ("calculator", "walkthrough", "heatmap", "check")


def _slot(name: str) -> str:
    return f'[data-slot="{name}"]'


PANELS = (
    Panel("chrome", "title, texts and footer", ("[data-chrome]",), EVERY),
    Panel("form", "inputs beside the result", (".inputs",), EVERY),
    Panel("summary", "summary line", (_slot("calculator-summary"),), ("calculator",)),
    Panel("stages", "all stages", (_slot("calculator-stages"),), ("calculator",)),
    *(
        Panel(name, title, (f".stage-{name}",), ("calculator",))
        for name, title in (
            ("scores", "raw scores"),
            ("scaled", "scaled scores"),
            ("tempered", "scores divided by T"),
            ("capped", "capped scores"),
            ("biased", "biased scores"),
            ("masked", "masked scores"),
            ("weights", "weights"),
            ("output", "output"),
        )
    ),
    Panel("copy", "copy buttons", (".copy",), ("calculator",)),
    Panel(
        "formula",
        "formula of the cell under the pointer",
        (".cell-formula",),
        ("calculator", "heatmap", "check"),
    ),
    Panel(
        "inputs",
        "Q, K and V as tables",
        (_slot("calculator-inputs"), _slot("check-inputs")),
        ("calculator", "check"),
    ),
    Panel("pinned", "pinned result", (_slot("calculator-pinned"),), ("calculator",)),
    Panel("row", "the open row", (_slot("calculator-row"), _slot("heatmap-row")), ("calculator", "heatmap")),
    Panel("checks", "checks", (_slot("calculator-checks"),), ("calculator",)),
    Panel("controls", "buttons", (".walk-bar",), ("walkthrough",)),
    Panel("keys", "list of keys", (".walk-keys",), ("walkthrough",)),
    Panel("progress", "phases and counts", (".walk-line",), ("walkthrough",)),
    Panel("sentence", "sentence of the step", (".walk-sentence",), ("walkthrough",)),
    Panel("arithmetic", "arithmetic of the step", (".walk-words",), ("walkthrough",)),
    Panel("tables", "tables", (".walk-stage",), ("walkthrough",)),
    Panel("vectors", "all vectors", (".walk-vectors",), ("walkthrough",)),
    Panel("notes", "what to notice, what it costs", (".walk-panels",), ("walkthrough",)),
    Panel("growth", "the √dₖ measurement", (".walk-growth",), ("walkthrough",)),
    Panel("status", "formula and size", (_slot("heatmap-status"),), ("heatmap",)),
    Panel("strip", "the sentence as words", (_slot("heatmap-strip"),), ("heatmap",)),
    Panel("table", "the heatmap itself", (".heat-pair",), ("heatmap",)),
    Panel("legend", "legend", (".heat-legend",), ("heatmap",)),
    Panel("heads", "all heads of the model", (_slot("heatmap-heads"), _slot("heatmap-head")), ("heatmap",)),
    Panel("origin", "where a query comes from", (_slot("heatmap-origin"),), ("heatmap",)),
    Panel("choices", "comparisons to choose", (_slot("heatmap-choices"),), ("heatmap",)),
    Panel("difference", "differences of the comparison", (_slot("heatmap-difference"),), ("heatmap",)),
    Panel("export", "save buttons", (_slot("heatmap-export"),), ("heatmap",)),
    Panel("real", "what is real, what stands in", (_slot("heatmap-real"),), ("heatmap",)),
    Panel("verdict", "verdict", (_slot("check-start"), _slot("check-verdict")), ("check",)),
    Panel("fix", "the way to mend it", (_slot("check-fix"),), ("check",)),
    Panel("evidence", "evidence", (_slot("check-evidence"),), ("check",)),
    Panel("others", "other candidates", (_slot("check-others"),), ("check",)),
    Panel("meter", "which mistakes this input can tell apart", (_slot("check-meter"),), ("check",)),
)
NAMES = tuple(panel.name for panel in PANELS)
ALWAYS_HIDDEN = ("chrome", "form")
"""What `embed=1` hides without being asked."""


def panels_of(lab: str) -> tuple[Panel, ...]:
    """The parts that an embedded view of this lab may hide."""
    return tuple(panel for panel in PANELS if lab in panel.labs and panel.name not in ALWAYS_HIDDEN)


def stylesheet() -> str:
    """One rule for each name: `html[data-hide~="row"] …{display:none}`."""
    rules = []
    for panel in PANELS:
        where = ",".join(f'html[data-hide~="{panel.name}"] {selector}' for selector in panel.selectors)
        rules.append(f"{where}{{display:none}}")
    return "\n".join(rules) + "\n"


def unknown_names(names: tuple[str, ...], lab: str) -> str:
    """A sentence about names that are no part of the page, or ""."""
    strange = [name for name in names if name not in NAMES]
    if not strange:
        return ""
    shown = ", ".join(f"“{name[:20]}”" for name in strange[:3])
    return f"hide= has no part called {shown}: expected {', '.join(p.name for p in PANELS if lab in p.labs)}."
