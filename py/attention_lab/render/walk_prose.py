"""The Walkthrough's text: what to notice, what it costs, where the numbers come from. HTML made at build time.

Every number in it is computed here from the opening example or from the √d experiment, never typed.
"""

from __future__ import annotations

from attention_lab.compute import view_of
from attention_lab.explain.growth import growth
from attention_lab.render.html import escape, formatter, plural
from attention_lab.render.walkthrough import walk_of
from attention_lab.state import State

four = formatter(4)
auto = formatter("auto")


def prose() -> str:
    """The whole article under the Walkthrough."""
    return "".join((to_notice(), why_it_matters(), where_from(), absent(), compared()))


def to_notice() -> str:
    view = view_of(State.opening("walkthrough"))
    walk, trace = walk_of(view), view.slice_trace
    words = [escape(word) for word in view.slice.query_labels or ()]
    a, twin = (row for row in range(8) if words[row] == words[0])
    rows = {i: walk.division(i) for i in (2, 6)}
    zero = float(trace.weights[2, 0])
    return f"""<h2>What the opening example shows</h2>
<p><strong>A row sums to one as far as floating point allows.</strong> Each weight is rounded to 53 binary digits, so a sum of eight of them may miss one
by its last digit. The panel above counts the rows that do, in your browser, now; the count can differ from machine to machine because e<sup>x</sup> is rounded
a little differently. Test such sums with a tolerance of a few ulps, never with “equals one”.</p>
<p><strong>Masked means exactly zero.</strong> The mask replaces a score by −∞ before softmax, and e<sup>−∞</sup> is 0, not a small number. {plural(int((~walk.visible).sum()), "weight")} of the
{walk.dots} are masked in the opening example. Had the mask been applied after softmax, the rest of the row would no longer sum to one.</p>
<p><strong>Zero is a score, not a blank.</strong> Query 2 (“{words[2]}”) and key 0 (“{words[0]}”) have no entry in which both are non-zero, so S[2,0] = {auto(float(trace.scores[2, 0]))}. It still receives
the weight {four(zero)}: softmax compares scores with each other, and nothing is special about zero. The grid therefore draws the 0, leaves cells that are not computed empty, and hatches masked ones.</p>
<p><strong>Equal words, equal rows.</strong> Tokens {a} and {twin} are both “{words[0]}”, so their queries, keys and values agree entry by entry, and S[{twin},{a}] = S[{twin},{twin}] = {auto(float(trace.scores[twin, a]))}.
From vectors alone, attention cannot tell first from fifth. A real model adds something that depends on the position before it makes queries and keys; here nothing does, and only the mask treats the two differently.</p>
<p><strong>The division tames the largest weight.</strong> Without ÷ √dₖ the largest weight of row 2 would be {four(rows[2].largest_before)}; with it, it is {four(rows[2].largest_after)}. In row 6 it falls from
{four(rows[6].largest_before)} to {four(rows[6].largest_after)}. The order of the weights stays the same.</p>"""


def why_it_matters() -> str:
    walk = walk_of(view_of(State.opening("walkthrough")))
    return f"""<h2>Why it matters, and what it costs</h2>
<p>In a transformer, this is the one step in which a position reads from other positions. Everything else (projections, feed-forward layers, normalisation) treats each token by itself.</p>
<p>The price is a dot product for every pair: {walk.n} tokens need {walk.dots}, twice as many tokens need {4 * walk.dots}. None of them needs the result of another. The stepper shows them one after the other so that you can follow;
hardware computes them all at once, as one matrix product, and that is one reason why attention took over from methods that read a sentence word by word.</p>
<p>With the causal mask, earlier rows never change when a token is added. A model that writes text therefore keeps the keys and values of all earlier tokens (the “KV cache”) and computes only the new row:
{walk.n + 1} dot products for token {walk.n}, not {(walk.n + 1) ** 2}. What it saves in time it pays in memory, two vectors per token, head and layer.</p>"""


def where_from() -> str:
    measured = growth()
    first, last = measured.points[0], measured.points[-1]
    return f"""<h2>Where the numbers come from</h2>
<p>The vectors are hand-made: every entry is 0, 1 or 2, so that a pencil is enough, and a small search helped to pick digits that show the effects above. No language model runs on this page. The dimensions have numbers and no names, because four
small integers mean nothing by themselves. In real models a head has some 64 to 128 dimensions and a token some hundreds or thousands, all learned, none readable.</p>
<p>The measurement of √d does not use these vectors. It draws random ones, {measured.queries:,} queries with {measured.keys} keys each, from a generator whose seed you can change. The spread of their dot products grows like √d
(here {first.deviation:.2f} at d = {first.d} and {last.deviation:.1f} at d = {last.d}); without the division the strongest key’s average weight climbs from {first.largest_raw:.2f} to {last.largest_raw:.3f},
with it, it stays near {last.largest_scaled:.2f}.</p>"""


def absent() -> str:
    return """<h2>What is not here</h2>
<p>One head of one layer, and nothing around it. A model runs many heads side by side and many layers on top of each other; it makes Q, K and V by multiplying token vectors with learned matrices (projections); it adds the output back to its input
(a residual connection) and rescales it (normalisation). None of that is shown, and none of it changes what happens inside a head.</p>"""


def compared() -> str:
    rows = (
        (
            "Attention",
            "an n × n grid of dot products",
            "nothing: every cell stands alone",
            "a soft mixture; every visible key has a part",
        ),
        (
            "Tokenisation (byte pair encoding)",
            "a list of pieces, merged pair by pair",
            "all merges before it",
            "a hard split, made once, before any model runs",
        ),
        (
            "Beam search",
            "a few best unfinished sentences",
            "all choices before it, and a whole model run for each",
            "a hard choice; what falls off the beam is lost",
        ),
        (
            "Edit distance",
            "an n × m grid of costs",
            "three neighbouring cells",
            "one number, the cheapest path",
        ),
    )
    body = "".join(
        f'<tr><th scope="row">{name}</th><td>{what}</td><td>{needs}</td><td>{gives}</td></tr>'
        for name, what, needs, gives in rows
    )
    return f"""<h2>Beside other step-by-step methods</h2>
<p>Three methods that are often taught next to attention, seen as steppers:</p>
<div class="scroll" role="region" tabindex="0" aria-label="Comparison of four methods"><table class="compared"><caption class="visually-hidden">Attention, tokenisation, beam search and edit distance as stepwise methods</caption>
<thead><tr><th scope="col">method</th><th scope="col">fills</th><th scope="col">a step needs</th><th scope="col">and gives</th></tr></thead><tbody>{body}</tbody></table></div>
<p>Edit distance looks most alike, a grid filled cell by cell, but its cells must be filled in order. In attention the order on screen is only ours.</p>"""
