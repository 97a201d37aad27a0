"""Formulae as MathML, built from a few small pieces. Text in, markup out; knows nothing of values."""

from __future__ import annotations


def mi(name: str) -> str:
    return f"<mi>{name}</mi>"


def mo(sign: str) -> str:
    return f"<mo>{sign}</mo>"


def mn(text: str) -> str:
    return f"<mn>{text}</mn>"


def row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


def sup(base: str, raised: str) -> str:
    return f"<msup>{base}{raised}</msup>"


def sub(base: str, lowered: str) -> str:
    return f"<msub>{base}{lowered}</msub>"


def frac(top: str, bottom: str) -> str:
    return f"<mfrac>{top}{bottom}</mfrac>"


def sqrt(inside: str) -> str:
    return f"<msqrt>{inside}</msqrt>"


def math(*parts: str, label: str = "", block: bool = False) -> str:
    """A whole formula. `label` is what a screen reader says where MathML is not spoken."""
    display = ' display="block"' if block else ' displaystyle="true"'
    spoken = f' aria-label="{label}"' if label else ""
    return f"<math{display}{spoken}>{row(*parts)}</math>"


D_K = sub(mi("d"), mi("k"))
SCORES = math(mi("S"), mo("="), mi("Q"), sup(mi("K"), mi("T")), label="S equals Q times K transposed")
WEIGHTS = math(
    mi("A"),
    mo("="),
    mi("softmax"),
    mo("("),
    mi("Z"),
    mo(")"),
    label="A equals softmax of the last scores, row by row",
)
OUTPUT = math(mi("O"), mo("="), mi("A"), mi("V"), label="O equals A times V")
ATTENTION = math(
    mi("Attention"),
    *(mo("("), mi("Q"), mo(","), mi("K"), mo(","), mi("V"), mo(")"), mo("=")),
    *(mi("softmax"), mo("("), frac(row(mi("Q"), sup(mi("K"), mi("T"))), sqrt(D_K)), mo(")"), mi("V")),
    label="Attention of Q, K, V equals softmax of Q K transposed over the square root of d k, times V",
    block=True,
)


def scaled(factor: str | None) -> str:
    """The scaling stage: S over √d_k, or S times a number when one is given."""
    if factor is not None:
        return math(mi("S"), mo("·"), mn(factor), label=f"S times {factor}")
    return math(frac(mi("S"), sqrt(D_K)), label="S over the square root of d k")


TEMPERED = math(frac(mi("x"), mi("T")), label="x over T")
CAPPED = math(
    mi("c"), mo("·"), mi("tanh"), mo("("), frac(mi("x"), mi("c")), mo(")"), label="c times tanh of x over c"
)
BIASED = math(mi("x"), mo("+"), mi("B"), label="x plus B")
MASKED = math(mi("x"), mo("→"), mo("−"), mi("∞"), label="masked cells become minus infinity")
