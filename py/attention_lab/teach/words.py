"""What a worksheet says at each stage, for HTML and LaTeX alike: plain text with Unicode signs."""

from __future__ import annotations

from attention_lab.teach.plan import Plan

TITLES = {
    "scores": "Scores S = Q·Kᵀ",
    "scaled": "Scaled scores",
    "masked": "Causal mask",
    "exponentials": "Exponentials, with the sum of each row",
    "weights": "Weights A",
    "output": "Output O = A·V",
}


def instruction(plan: Plan, stage: str) -> str:
    """One or two sentences that say what to compute."""
    before = "masked scores" if plan.causal else "scaled scores" if plan.scaled else "scores"
    return {
        "scores": "Row i, column j: the dot product of query i and key j.",
        "scaled": "Divide every score by √dₖ = √4 = 2.",
        "masked": "A query may not see later keys: write −∞ there, copy the rest.",
        "exponentials": (
            f"In each row of the {before} subtract the largest, then take "
            f"{'e' if plan.base == 'e' else '2'} to that power. Σ is the sum of the row."
        ),
        "weights": "Divide each exponential by the sum of its row. Each row adds up to 1.",
        "output": "Each row is the average of the rows of V, with the weights of that row.",
    }[stage]


def task(plan: Plan) -> str:
    """The sentence at the top of a sheet."""
    scale = "/√dₖ" if plan.scaled else ""
    mask = ", with a causal mask" if plan.causal else ""
    base = ", with 2ˣ in place of eˣ so that every number is an exact fraction" if plan.base == "2" else ""
    precision = "" if plan.base == "2" else f" Write {plan.decimals} decimals where a number is not whole."
    return f"Compute attention, softmax(Q·Kᵀ{scale})·V{mask}{base}. Fill in the empty boxes.{precision}"
