"""The Heatmap of a real head: the 6 × 12 heads to choose from, what they attend to, and what is real about the numbers.

Pictures of heads are PNG data; every number is the pass's own. Fetches and computes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from attention_lab.model.bert import LayerPass
from attention_lab.model.encoder import Encoder, Pass, pass_of
from attention_lab.model.tags import MOST, Tag, tags
from attention_lab.render import cividis
from attention_lab.render.html import escape, plural, shade
from attention_lab.render.view import View
from attention_lab.state import State

PAIR = ("The cat sat because it was tired.", "The cat sat because it was flat.")


def picture(weights: NDArray[Any]) -> str:
    """weights (n, n) as a PNG of n × n pixels in the colours of the tables, as a data address."""
    import base64
    import zlib

    n, m = weights.shape
    colours = b"".join(bytes(cividis.colour(level / cividis.LEVELS)) for level in range(cividis.LEVELS + 1))
    rows = np.zeros((n, m + 1), np.uint8)  # each line begins with its filter: 0, none
    rows[:, 1:] = shade(weights)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    header = m.to_bytes(4, "big") + n.to_bytes(4, "big") + b"\x08\x03\x00\x00\x00"
    parts = (
        chunk(b"IHDR", header),
        chunk(b"PLTE", colours),
        chunk(b"IDAT", zlib.compress(rows.tobytes())),
        chunk(b"IEND", b""),
    )
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


@dataclass(frozen=True)
class Small:
    """One head in the table of all heads: what it attends to, and its picture as a data address."""

    tag: Tag
    picture: str


_drawn: WeakKeyDictionary[LayerPass, list[Small]] = WeakKeyDictionary()


def small_heads(sentence: Pass, layer: int) -> list[Small]:
    """Every head of one computed layer, drawn once."""
    done = sentence.done[layer]
    if done not in _drawn:
        found = tags(done.weights.astype(np.float64), sentence.pieces)
        _drawn[done] = [
            Small(tag, picture(weights)) for tag, weights in zip(found, done.weights, strict=True)
        ]
    return _drawn[done]


def _head(layer: int, head: int, small: Small, chosen: bool) -> str:
    tag = small.tag
    name = f"Layer {layer}, head {head}: {tag.words}, {tag.share:.2f}"
    return (
        f'<td data-layer="{layer}" data-head="{head}" data-tag="{tag.kind}" data-value="{tag.share!r}">'
        f'<button type="button" class="head" data-set="layer={layer}&amp;modelhead={head}&amp;row=" aria-label="{name}" title="{name}" '
        f'aria-pressed="{"true" if chosen else "false"}"><img alt="" src="{small.picture}"><small>{tag.words}</small></button></td>'
    )


def heads(sentence: Pass, state: State) -> str:
    """The table of all heads, one row for each layer of the model, with those that are computed."""
    facts, ready = sentence.encoder.facts, sentence.encoder.ready
    columns = "".join(f'<th scope="col">{head}</th>' for head in range(facts.heads))
    lines = []
    for layer in range(facts.layers):
        if layer < len(sentence.done):
            cells = "".join(
                _head(layer, head, small, (layer, head) == (state.layer, state.modelhead))
                for head, small in enumerate(small_heads(sentence, layer))
            )
        else:
            why = "being computed" if layer < ready else "not here yet"
            cells = f'<td colspan="{facts.heads}" class="quiet">{why}</td>'
        lines.append(f'<tr><th scope="row">{layer}</th>{cells}</tr>')
    return (
        '<h3>All heads on this sentence</h3><p class="hint">Choose one. Each picture is the head’s weights, rows looking at columns. '
        f"The word under it is measured on this sentence: where the largest mean share of its words’ attention goes, if that is {MOST:g} or more; "
        "“spread out” when the weights are nearly even, else “mixed”. The number is in the button’s name.</p>"
        f'<div class="scroll" tabindex="0" role="region" aria-label="All heads"><table class="heads"><thead><tr><td class="corner">layer ↓ head →</td>{columns}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def choices(state: State, last: int) -> str:
    """The comparisons that are asked for most, and whether [CLS] and [SEP] are in view; `last` is the row of [SEP]."""
    first, second = PAIR
    both = f"text={quote(first)}&amp;row=5&amp;compare={quote('text=' + quote(second), safe='')}"
    stop = ' <button type="button" data-set="compare=">Stop comparing</button>' if state.compare else ""
    hidden = state.special == "hide"
    marks = "Show" if hidden else "Leave out"
    change = "special=" if hidden else "special=hide&amp;row=" if state.row in (0, last) else "special=hide"
    return (
        f'<p class="compare-choices">Compare with <button type="button" data-set="compare=model%3D">spelling vectors, same sentence</button> '
        f'<button type="button" data-set="{both}">this head on “… it was tired” and “… it was flat”</button>{stop}</p>'
        f'<p class="compare-choices"><button type="button" data-set="{change}" aria-pressed="{"true" if hidden else "false"}">'
        f'{marks} [CLS] and [SEP]</button> <span class="quiet">They stay in the arithmetic{": Σ counts them, so the weights on show add up to less" if hidden else ""}.</span></p>'
    )


def chips(pieces: tuple[str, ...], selected: int, part: slice = slice(None)) -> str:
    """The pieces of `part` in order; choosing one opens its row."""
    items = "".join(
        f'<li><button type="button" class="chip" data-set="row={j}" aria-pressed="{"true" if j == selected else "false"}">'
        f"<bdi>{escape(pieces[j])}</bdi></button></li>"
        for j in range(len(pieces))[part]
    )
    cut = " They are left out of view." if len(pieces[part]) < len(pieces) else ""
    return (
        f'<details class="chips" open><summary>{plural(len(pieces), "piece")}</summary>'
        f'<p class="hint">WordPiece: lower case, ## continues the word before it. [CLS] and [SEP] are the model’s own first and last piece.{cut}</p>'
        f'<ol class="chip-list" dir="auto">{items}</ol></details>'
    )


def real(view: View, encoder: Encoder) -> str:
    """What of this is the trained model's own, and what is rounded, cut or only asked for."""
    facts, state = encoder.facts, view.state
    unknown = pass_of(state.text or "").unknown
    missing = (
        f" {plural(unknown, 'word')} of this sentence became [UNK], as in the reference tokenizer or because the pieces were cut."
        if unknown
        else ""
    )
    what_if = (
        "<p><strong>A what-if:</strong> this encoder was trained to look both ways, without a causal mask. The mask you turned on changes "
        "only this one head; the vectors that come into it were computed without.</p>"
        if state.causal is not None or state.window is not None
        else "<p>The encoder looks both ways: it was trained without a causal mask. Turning the mask on here is a what-if for this one head.</p>"
    )
    return (
        "<h3>What is real, what stands in</h3>"
        f"<p><strong>Real:</strong> layer {state.layer}, head {state.modelhead} of {escape(facts.name)} ({facts.layers} layers × {facts.heads} heads, "
        f"hidden size {facts.hidden}, head dimension {facts.hidden // facts.heads}), with its learned embeddings, positions and projections, on your sentence. "
        "Q, K and V are this head’s own; the softmax is computed here in float64.</p>"
        "<p><strong>Rounded:</strong> the weights are int8, with a float16 scale for every 96 of a row, instead of float32. On 24 test sentences this moves an attention weight by "
        "about 0.001 on average.</p>"
        f"<p><strong>Cut:</strong> {facts.pieces:,} of the model’s {facts.full_pieces:,} pieces are here: all single characters, the most useful words and endings. "
        f"A rarer word falls into more pieces than in the full model.{missing}</p>"
        f"{what_if}"
        f'<details><summary>Licence and model card</summary><p>{escape(facts.name)}: Apache License 2.0 (<a href="./models/minilm/LICENSE.txt">text</a>), '
        f"by the sentence-transformers project, on MiniLM by Microsoft. Weights rounded and vocabulary cut by this page’s build.</p>"
        f'<pre class="model-card" tabindex="0">{escape(facts.card)}</pre></details>'
    )


def box(phase: str, done: int, total: int, message: str) -> str:
    """The one place that says how the model is coming along: offer, progress with megabytes, failure."""
    megabytes = f"{done / 1e6:.1f} of {total / 1e6:.1f} MB"
    instead = '<button type="button" data-set="model=">Use spelling vectors</button>'
    if phase == "checking":
        return "<p>Looking for the model …</p>"
    if phase == "loading":
        return (
            f'<p><label>Fetching the real head: {megabytes} <progress max="{total}" value="{done}"></progress></label> '
            '<button type="button" data-model="cancel">Cancel</button></p>'
        )
    if phase == "offer":
        rest = f"{(total - done) / 1e6:.1f} MB" if done else f"{total / 1e6:.1f} MB"
        kept = f" {megabytes} are here already." if done else ""
        return (
            f"<p>The real head (all-MiniLM-L6-v2) is fetched only when you ask: {rest}, then kept by your browser.{kept} {escape(message)}</p>"
            f'<p><button type="button" data-model="load">{"Go on" if done else "Fetch it"}</button> {instead}</p>'
        )
    if phase == "failed":
        return (
            f'<p class="error">{escape(message)}{" What has arrived is kept." if done else ""}</p>'
            f'<p><button type="button" data-model="load">Try again</button> {instead}</p>'
        )
    return f'<p class="error">{escape(message)}</p><p>{instead}</p>'


WHY_NOT = {
    "single": "This single file does not hold the model (15 MB), and a page opened from disk may fetch nothing. Open the Attention Lab from a web "
    "address, or run python build.py serve, to see a real head.",
    "absent": "This copy of the page was built without the model. Whoever publishes it can build it in with: python build.py build --with-model.",
}
