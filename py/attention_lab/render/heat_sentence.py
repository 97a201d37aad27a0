"""The sentence itself as a picture of one row: each word's background is the attention it gets. And the token chips.

Writes HTML from words and weights. Does not tokenize or compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.render.heat_table import short_label, two_decimals
from attention_lab.render.html import escape, plural, shade

Array = NDArray[np.floating[Any]]

OPEN_CHIPS = 64
"""Above this many tokens the chips start folded."""


def strip(
    words: Sequence[str],
    weights: Array,
    masked: NDArray[np.bool_],
    selected: int,
    part: slice = slice(None),
) -> str:
    """Every word of `part` as a button that selects it, shaded by the weight that the selected word gives it."""
    levels = shade(weights).tolist()
    texts = two_decimals(weights)
    pieces = []
    for j in range(*part.indices(len(words))):
        word = words[j]
        kind, text = (f"w{levels[j]}", texts[j]) if not masked[j] else ("masked", "masked")
        key = (
            ' data-key="ArrowLeft"'
            if j == selected - 1
            else ' data-key="ArrowRight"'
            if j == selected + 1
            else ""
        )
        current = ' aria-current="true"' if j == selected else ""
        tab = "0" if j == selected else "-1"
        pieces.append(
            f'<button type="button" class="strip-word {kind}" data-set="row={j}" data-strip="{j}"{key}{current} '
            f'tabindex="{tab}"><bdi>{short_label(word)}</bdi><small>{text}</small></button>'
        )
    return (
        f'<p class="hint">What “{escape(words[selected][:40])}” attends to: the stronger the background, the larger the '
        "weight under the word. Left and right arrow keys move through the tokens.</p>"
        f'<div class="strip" dir="auto" role="group" aria-label="The sentence, shaded by attention">{"".join(pieces)}</div>'
    )


def chips(words: Sequence[str], selected: int) -> str:
    """The tokens as chips: choose one to open its row; the chosen one can be moved or removed.

    Above 64 tokens the list is folded and empty until it is opened: `chip_list` fills it.
    """
    last = len(words) - 1
    name = escape(words[selected][:40])

    def tool(action: str, text: str, possible: bool) -> str:
        off = "" if possible else " disabled"
        return f'<button type="button" data-token="{action}" data-index="{selected}"{off}>{text}</button>'

    tools = (
        f'<p class="chip-tools">“{name}” ({selected}): {tool("left", "Move left", selected > 0)} '
        f"{tool('right', 'Move right', selected < last)} {tool('remove', 'Remove', last > 0)}</p>"
    )
    few = len(words) <= OPEN_CHIPS
    return (
        f'<details class="chips"{" open" if few else ""}><summary>{plural(len(words), "token")}</summary>{tools}'
        f'<ol class="chip-list" dir="auto">{chip_list(words, selected) if few else ""}</ol></details>'
    )


def chip_list(words: Sequence[str], selected: int) -> str:
    """One chip for each token, with its own button to remove it."""
    single = len(words) == 1
    pieces = []
    for j, word in enumerate(words):
        remove = (
            ""
            if single
            else f'<button type="button" class="chip-remove" data-token="remove" data-index="{j}" '
            f'aria-label="Remove token {j}">×</button>'
        )
        pieces.append(
            f'<li><button type="button" class="chip" data-set="row={j}" data-chip="{j}" draggable="true" '
            f'aria-pressed="{"true" if j == selected else "false"}"><bdi>{short_label(word)}</bdi></button>{remove}</li>'
        )
    return "".join(pieces)
