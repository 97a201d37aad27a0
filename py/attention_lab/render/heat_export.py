"""The Heatmap's files: gathers what a view shows for the export writers, and the buttons that ask for them."""

from __future__ import annotations

from attention_lab.export.csv import weights_csv
from attention_lab.export.svg import heatmap_svg
from attention_lab.render import cividis
from attention_lab.render.heat_compare import setting_words
from attention_lab.render.heat_labels import in_view, is_cut, key_labels, query_labels
from attention_lab.render.html import shade
from attention_lab.render.view import View


def export_csv(view: View) -> str:
    """All weights at full precision, also those that are left out of view."""
    return weights_csv(view.slice_trace.weights, query_labels(view), key_labels(view))


def export_svg(view: View) -> str:
    """The heatmap on screen as a picture with its legend."""
    from html import unescape

    trace = view.slice_trace
    colours = [cividis.colour(level / cividis.LEVELS) for level in range(cividis.LEVELS + 1)]
    palette = [("#" + bytes(rgb).hex(), cividis.ink(rgb)) for rgb in colours]
    title = f"Attention weights: {unescape(setting_words(view.state))}"
    part, sums = in_view(view), trace.weights.sum(axis=-1)
    if is_cut(view):
        title += " · [CLS] and [SEP] not shown; Σ counts them"
    weights, mask = trace.weights[part, part], trace.mask[part, part]
    rows, columns = query_labels(view)[part], key_labels(view)[part]
    return heatmap_svg(weights, mask, shade(weights), palette, rows, columns, title, sums[part])
