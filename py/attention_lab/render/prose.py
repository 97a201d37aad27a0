"""The Calculator's text: how it works, worked examples, questions, references. HTML made at build time.

Every number in it is computed here by `attend()` on the example named, never typed.
"""

from __future__ import annotations

import math as m
from functools import cache

from attention_lab.core import Options, Trace, attend
from attention_lab.inputs.examples import load
from attention_lab.render import mathml
from attention_lab.render.html import formatter

six = formatter(6)
four = formatter(4)
auto = formatter("auto")

BIBTEX = """@inproceedings{vaswani2017attention,
  title     = {Attention Is All You Need},
  author    = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and Uszkoreit, Jakob and Jones, Llion and
               Gomez, Aidan N. and Kaiser, {\\L}ukasz and Polosukhin, Illia},
  booktitle = {Advances in Neural Information Processing Systems 30},
  year      = {2017},
  url       = {https://arxiv.org/abs/1706.03762}
}"""


@cache
def _trace(name: str) -> Trace:
    from attention_lab.compute import view_of
    from attention_lab.render.page import example_state

    return view_of(example_state(name)).trace


def prose() -> str:
    """The whole article under the Calculator."""
    return "".join((how_it_works(), worked_examples(), questions(), references(), limits()))


def how_it_works() -> str:
    trace = _trace("identity")
    s, z, a = (float(x[0, 0]) for x in (trace.scores, trace.scaled, trace.weights))
    return f"""<h2>How it works</h2>
{mathml.ATTENTION}
<p>Attention lets every query token read from every key token. Five stages do it; the numbers below are those of the opening example.</p>
<ol>
<li><strong>Project.</strong> A model makes a query, a key and a value vector for each token. Here you give them: the rows of Q, K and V.</li>
<li><strong>Score.</strong> Each query meets each key in one dot product. The first score here is S₁₁ = {four(s)}.</li>
<li><strong>Scale and mask.</strong> Every score is divided by √dₖ, so S₁₁ becomes {four(z)}. A mask then sets the scores of hidden keys to −∞.</li>
<li><strong>Softmax.</strong> Along each row, exp turns scores into positive numbers and division by their sum turns these into weights: A₁₁ = {four(a)}. Each row of weights sums to 1.</li>
<li><strong>Mix.</strong> Each output row is the average of the rows of V with those weights: O₁ = ({four(float(trace.output[0, 0]))}, {four(float(trace.output[0, 1]))}).</li>
</ol>
<p><strong>A score is not a weight.</strong> A score may have any sign and size, and rows of scores sum to anything; a weight depends on its whole row.
In this example the score {four(float(trace.scores[0, 1]))} still gets the weight {four(float(trace.weights[0, 1]))}, because softmax compares it with its neighbour instead of reading it alone.</p>"""


def _vector(values: object) -> str:
    return "[" + ", ".join(six(float(x)) for x in values) + "]"  # type: ignore[attr-defined]


def _matrix(values: object) -> str:
    return "[" + ", ".join("[" + ", ".join(auto(float(x)) for x in line) + "]" for line in values) + "]"  # type: ignore[attr-defined]


def worked_examples() -> str:
    pieces = ["<h2>Worked examples</h2>"]
    for name in ("one-query", "causal-pair", "negative"):
        example, trace = load().get(name), _trace(name)
        i = trace.scores.shape[0] - 1
        visible = [float(x) for x, seen in zip(trace.scaled[i], trace.mask[i], strict=True) if seen]
        top = max(visible)
        exps = " + ".join(six(m.exp(x - top)) for x in visible)
        pieces.append(
            f"<h3>{example.title}</h3><p>{example.lesson} "
            f'<a href="#example={name}{"".join(f"&amp;{key}={value}" for key, value in example.options.items())}">Open it above.</a></p>'
            f"<p>Q = {_matrix(example.q)}, K = {_matrix(example.k)}, V = {_matrix(example.v)}. "
            f"Query {i + 1}: S = {_vector(trace.scores[i])}; divided by √{trace.q.shape[-1]} = {six(m.sqrt(trace.q.shape[-1]))}: "
            f"{_vector(trace.scaled[i])}. Less the largest, exp and sum: {exps} = {six(float(trace.denominators[i]))}. "
            f"A = {_vector(trace.weights[i])}, O = {_vector(trace.output[i])}.</p>"
        )
    return "".join(pieces)


def questions() -> str:
    trace = _trace("identity")
    unscaled = attend(trace.q, trace.k, trace.v, Options(scale="none"))
    naive = _trace("naive-overflow")
    ordinary = f"{trace.stable_vs_naive:.1e}" if trace.stable_vs_naive else "exactly 0"
    overflow = "overflows" if naive.stable_vs_naive == m.inf else f"differs by {naive.stable_vs_naive:.1e}"
    items = (
        (
            "How is a score computed?",
            "As a dot product: multiply the entries of query i and key j pairwise and add. Point at any score to see the products.",
        ),
        (
            "Why divide by √dₖ?",
            "If the entries of q and k are independent with mean 0 and variance 1, their dot product has variance dₖ. "
            "Dividing by √dₖ brings the variance back to 1, so softmax does not saturate as vectors grow "
            "(Vaswani et al. 2017, §3.2.1, footnote 4). "
            f"Without the division the opening example’s largest weight is {four(float(unscaled.weights.max()))} instead of {four(float(trace.weights.max()))}.",
        ),
        (
            "What is the difference between scores and weights?",
            "Scores say how well a query matches each key, on no fixed scale. Weights say how the output is mixed: positive, at most 1, and each row sums to 1.",
        ),
        (
            "How does softmax make weights?",
            "It raises e to each score and divides by the row’s sum. The row’s largest score is subtracted first: this changes nothing in the result and keeps exp from overflowing.",
        ),
        (
            "What are Q, K and V?",
            "Three views of the tokens. A query says what a token looks for, a key what a token offers to be found by, a value what it hands over when found. In a model all three are learned projections.",
        ),
        (
            "What does the causal mask do?",
            "It hides later tokens: query i may attend to keys up to i, as a decoder needs (§3.2.3). Hidden scores become −∞, so their weights are exactly 0 and the rest of the row still sums to 1.",
        ),
        (
            "Is multi-head attention supported?",
            "The engine computes batches and heads, grouped-query heads and heads packed in the last axis. The page shows one head at a time: choose it with Batch and Head under “More”.",
        ),
        (
            "Can I unit-test my implementation with it?",
            "Yes. Copy exact values from here, or install the package and compare with <code>attend(q, k, v, Options(…)).output</code> in your own tests. "
            "For the inputs above, compare with a tolerance of 1e-12 in float64; lower precisions need more.",
        ),
    )
    body = "".join(
        f"<details><summary>{question}</summary><p>{answer}</p></details>" for question, answer in items
    )
    return (
        f"<h2>Questions</h2>{body}<p>Every result is computed twice, by the stable softmax and by the naive one. On the opening example they differ by "
        f"{ordinary} (rounding, about 1e-16 on ordinary inputs). On the example “{load().get('naive-overflow').title}” the naive form {overflow}; "
        "that is why the stable form is used.</p>"
    )


def references() -> str:
    return f"""<h2>References</h2>
<p>A. Vaswani, N. Shazeer, N. Parmar, J. Uszkoreit, L. Jones, A. N. Gomez, Ł. Kaiser, I. Polosukhin: Attention Is All You Need. NeurIPS 2017.
<a href="https://arxiv.org/abs/1706.03762">arXiv:1706.03762</a>. §3.2.1 scaled dot-product attention, §3.2.2 multi-head attention, §3.2.3 masking in the decoder, §3.5 positional encoding.</p>
<details><summary>BibTeX</summary><pre tabindex="0" role="group" aria-label="BibTeX entry">{BIBTEX}</pre></details>"""


def limits() -> str:
    return """<h2>Limits</h2>
<p>This is a reference, not a fast kernel: it keeps every intermediate. Tables go up to 64 rows or columns; larger stages are drawn as pictures with the numbers under the cursor.
The page computes at most 4 million scores at once. It trains nothing, and the matrices mean only what you put into them.</p>"""
