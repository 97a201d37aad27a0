"""The Heatmap's files: gathers what a view shows for the export writers, and the buttons that ask for them."""

from __future__ import annotations

from attention_lab.export.csv import weights_csv
from attention_lab.export.svg import heatmap_svg
from attention_lab.render import cividis
from attention_lab.render.heat_compare import setting_words
from attention_lab.render.heat_labels import key_labels, query_labels
from attention_lab.render.html import shade
from attention_lab.render.view import View


def export_csv(view: View) -> str:
    """The weights on screen at full precision."""
    return weights_csv(view.slice_trace.weights, query_labels(view), key_labels(view))


def export_svg(view: View) -> str:
    """The heatmap on screen as a picture with its legend."""
    from html import unescape

    trace = view.slice_trace
    colours = [cividis.colour(level / cividis.LEVELS) for level in range(cividis.LEVELS + 1)]
    palette = [("#" + bytes(rgb).hex(), cividis.ink(rgb)) for rgb in colours]
    title = f"Attention weights: {unescape(setting_words(view.state))}"
    weights = trace.weights
    return heatmap_svg(
        weights, trace.mask, shade(weights), palette, query_labels(view), key_labels(view), title
    )
