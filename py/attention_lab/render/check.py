"""Check mine: the verdict on the reader's numbers, the evidence, the correction, and what else comes close.

HTML from a Diagnosis. It compares nothing itself; page/check.py runs diagnose() and calls `verdict`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.diagnosis import CATALOGUE, Diagnosis, Probe, Separation, probe_code
from attention_lab.diagnosis.probe_code import Language
from attention_lab.diagnosis.separate import CORRECT
from attention_lab.render.html import escape, formatter, plural, shade, stage_table
from attention_lab.render.view import View

MOST_ROWS = 64
WORDS = {
    "match": "These are our numbers",
    "rounding": "Right, to rounding",
    "convention": "Right, by another convention",
    "mistake": "A known mistake",
    "inconsistent": "No softmax gives these numbers",
    "unknown": "No known mistake gives these numbers",
}
KINDS = {
    "oblong": "5 queries, 7 keys",
    "square": "4 queries, 4 keys",
    "large": "large scores",
    "heads": "two heads",
    "grouped": "grouped heads",
}
LANGUAGES: tuple[tuple[Language, str], ...] = (
    ("numpy", "NumPy"),
    ("pytorch", "PyTorch"),
    ("jax", "JAX"),
    ("c", "C"),
)
STAGES = {
    "scores": "raw scores",
    "scaled": "scaled scores",
    "tempered": "scores at this temperature",
    "capped": "capped scores",
    "biased": "biased scores",
    "masked": "masked scores",
    "weights": "weights",
    "output": "output",
    "log_sum_exp": "log-sum-exp",
}


def render(view: View) -> dict[str, str]:
    """The slots that do not wait for a diagnosis."""
    from attention_lab.render.calculator import inputs

    return {"check-inputs": inputs(view), "check-start": start(view), "check-examples": examples()}


def start(view: View) -> str:
    """What to do when nothing has been pasted yet."""
    if view.state.observed:
        return ""
    return (
        "<p>Give the Q, K and V that your code was given, set the options it should follow, and paste what it gave: "
        "scores, weights, output or log-sum-exp.</p>"
    )


def examples() -> str:
    """Six mistakes from public reports, to load."""
    from attention_lab.diagnosis.showcase import SHOWS

    buttons = "".join(
        f'<li><button type="button" data-action="mistake {show.id}">{escape(show.title)}</button> '
        f'<a href="{escape(show.report)}" rel="noopener noreferrer">{escape(show.report.removeprefix("https://github.com/"))}</a></li>'
        for show in SHOWS
    )
    return (
        f'<details><summary>Load one of six real mistakes</summary><ul class="plain">{buttons}</ul></details>'
    )


def meter(separation: Separation) -> str:
    """How many mistakes the reader's own input can tell apart, and which it cannot."""
    hidden = next((group for group in separation.groups if CORRECT in group), ())
    alike = [group for group in separation.groups if CORRECT not in group]
    pieces = [
        f'<p data-separable="{separation.count}" data-total="{separation.total}">This input can tell apart '
        f"<strong>{separation.count}</strong> of the {separation.total} mistakes that can be made on it. "
        f'<meter min="0" max="{separation.total}" value="{separation.count}">{separation.count} of {separation.total}</meter></p>'
    ]
    if len(hidden) > 1:
        pieces.append(f"<p>It does not show: {', '.join(_called(id) for id in hidden if id != CORRECT)}.</p>")
    if alike:
        groups = "; ".join(" and ".join(map(_called, group)) for group in alike)
        pieces.append(f"<p>It gives the same numbers for: {groups}.</p>")
    return "".join(pieces)


def probe_panel(seed: int, kind: str, probe: Probe | None = None) -> str:
    """Make a probe: a small input that tells apart what can be told apart, and the code that runs it."""
    kinds = "".join(
        f'<option value="{name}"{" selected" if name == kind else ""}>{words}</option>'
        for name, words in KINDS.items()
    )
    code = ""
    if probe is not None:
        listing = "".join(
            f"<details><summary>{words}</summary><pre tabindex='0' role='group' aria-label='Probe in {words}'>{escape(probe_code(probe, name))}</pre></details>"
            for name, words in LANGUAGES
        )
        code = (
            f"<p>Q, K and V of this probe are in the boxes. It separates {probe.separation.count} of "
            f"{probe.separation.total}. Run your code on it and paste what it gives:</p>{listing}"
        )
    return (
        "<h3>Make a probe</h3><p>A small seeded Q, K and V on which as many mistakes as possible give different numbers.</p>"
        f'<p><label for="probe-seed">Seed</label> <input id="probe-seed" inputmode="numeric" size="6" value="{seed}"> '
        f'<label for="probe-kind">Shape</label> <select id="probe-kind">{kinds}</select> '
        f'<button type="button" data-action="probe">Make a probe</button></p><div data-probe="{seed}">{code}</div>'
    )


def working(fraction: float) -> dict[str, str]:
    """While a long diagnosis runs."""
    percent = round(100 * fraction)
    return {
        "check-verdict": f'<p>Comparing with every mistake we know … <progress max="100" value="{percent}">{percent} %'
        "</progress></p>"
    }


def nothing() -> dict[str, str]:
    """No numbers, no verdict."""
    return {"check-verdict": "", "check-evidence": "", "check-fix": "", "check-others": ""}


def verdict(view: View, found: Diagnosis) -> dict[str, str]:
    """Every slot that a diagnosis fills."""
    return {
        "check-verdict": _verdict(found),
        "check-evidence": evidence(view, found),
        "check-fix": fix(found),
        "check-others": others(found),
    }


def _verdict(found: Diagnosis) -> str:
    frameworks = ""
    if found.frameworks:
        frameworks = f"<p>Libraries that do this by design: {escape(', '.join(found.frameworks))}.</p>"
    notes = "".join(f'<p class="quiet">{escape(note)}</p>' for note in found.notes)
    together = ""
    if len(found.matches) > 1:
        together = (
            '<p class="quiet">This input cannot tell these apart: '
            + ", ".join(_called(id) for id in found.matches)
            + ". A probe input can, where anything can.</p>"
        )
    return (
        f'<div class="verdict verdict-{found.verdict}" data-verdict="{found.verdict}" '
        f'data-matches="{escape(" ".join(found.matches))}" data-stage-read="{found.stage}">'
        f"<h3>{WORDS[found.verdict]}</h3><p>{escape(found.message)}</p>{together}{frameworks}"
        f'<p class="quiet">Read as: {STAGES.get(found.stage, found.stage)}.</p>{notes}</div>'
    )


def _called(id: str) -> str:
    """`scale missing (S1)`; both names of a pair."""
    return " with ".join(f"{escape(CATALOGUE[part].name)} ({part})" for part in id.split("+"))


def evidence(view: View, found: Diagnosis) -> str:
    """Where the numbers part from ours, the errors, and the three sets of numbers side by side."""
    write = formatter(view.state.decimals)
    pieces = ["<h3>Evidence</h3>"]
    if found.first_divergence is not None:
        stage, index, expected, observed = found.first_divergence
        pieces.append(
            f'<p data-first-divergence="{stage}" data-index="{",".join(map(str, index))}">First cell that differs: '
            f"{STAGES.get(stage, stage)} at {_place(index)}: expected {write(expected)}, got {write(observed)}.</p>"
        )
    if found.stages:
        lines = "".join(
            f'<tr><th scope="row">{STAGES.get(stage, stage)}</th><td class="n">{_place(index)}</td>'
            f'<td class="n">{write(ours)}</td><td class="n">{write(theirs)}</td></tr>'
            for stage, index, ours, theirs in found.stages
        )
        pieces.append(
            '<div class="scroll" tabindex="0" role="group" aria-label="Differences by stage"><table data-stage-differences><caption>Stage by stage: the first cell that this mistake '
            'changes</caption><thead><tr><th scope="col">stage</th><th scope="col">cell</th><th scope="col">ours</th>'
            f'<th scope="col">with the mistake</th></tr></thead><tbody>{lines}</tbody></table></div>'
        )
    pieces.append(_errors(view, found))
    pieces.append(_tables(view, found))
    pieces.append(_invariants(found))
    return "".join(pieces)


def _place(index: tuple[int, ...]) -> str:
    """Indices from 0, as in the address: `row 2, column 0`."""
    if len(index) == 2:
        return f"row {index[0]}, column {index[1]}"
    return "[" + ", ".join(map(str, index)) + "]"


def _errors(view: View, found: Diagnosis) -> str:
    absolute, relative, ulps = (
        _largest(array) for array in (found.absolute_error, found.relative_error, found.ulp_error)
    )
    atol, rtol = view.state.atol, view.state.rtol
    beyond = int(found.beyond(atol, rtol).sum())
    return (
        f'<p data-errors data-beyond="{beyond}">Against ours: largest absolute error {absolute:.3g}, relative {relative:.3g}, '
        f"{ulps:.3g} units in the last place of float32. {plural(beyond, 'cell')} of {found.observed.size:,} "
        f"{'is' if beyond == 1 else 'are'} beyond atol {atol:g} + rtol {rtol:g} · |expected|.</p>"
    )


def _largest(array: NDArray[Any]) -> float:
    return float(np.max(np.where(np.isnan(array), np.inf, array), initial=0.0))


def _flat(array: NDArray[Any]) -> NDArray[Any]:
    """Any shape as rows: leading axes one under the other, a vector as one column."""
    return array.reshape(-1, 1) if array.ndim < 2 else array.reshape(-1, array.shape[-1])


def _tables(view: View, found: Diagnosis) -> str:
    yours, ours = _flat(found.observed), _flat(found.expected)
    if max(yours.shape) > MOST_ROWS:
        return f"<p>The numbers are {yours.shape[0]}×{yours.shape[1]}: too many to show side by side.</p>"
    difference = np.abs(np.where(yours == ours, 0.0, yours - ours))
    top = float(np.max(difference[np.isfinite(difference)], initial=0.0)) or 1.0
    shown: list[tuple[str, str, NDArray[Any], NDArray[Any] | None]] = [
        ("observed", "Yours", yours, None),
        ("expected", "Ours", ours, None),
    ]
    if found.mistaken is not None and found.matches:
        shown.append(("mistaken", f"With {found.matches[0]}", _flat(found.mistaken), None))
    shown.append(("difference", "Yours against ours, |difference|", difference, shade(difference / top)))
    rows = [str(i) for i in range(len(yours))]
    columns = [str(j) for j in range(yours.shape[1])]
    tables = "".join(
        stage_table(
            name,
            values,
            caption=title,
            rows=rows,
            columns=columns,
            decimals=view.state.decimals,
            shades=shades,
            role="evidence",
        )
        for name, title, values, shades in shown
    )
    return f'<div class="stages">{tables}</div>'


def _invariants(found: Diagnosis) -> str:
    if not found.invariants:
        return ""
    lines = "".join(
        f"<li>{'✓' if item.holds else '✗'} {escape(item.name)}{': ' + escape(item.detail) if item.detail else ''}</li>"
        for item in found.invariants
    )
    return f'<p>What every right result has:</p><ul class="plain">{lines}</ul>'


def fix(found: Diagnosis) -> str:
    """The correction as code, for each part of the best match."""
    if found.verdict not in ("mistake", "convention") or not found.entries:
        return ""
    pieces = ["<h3>The correction</h3>"]
    for entry in found.entries:
        links = "".join(
            f'<li><a href="{escape(link)}" rel="noopener noreferrer">{escape(link.removeprefix("https://github.com/"))}</a></li>'
            for link in entry.links
        )
        same = f"<p>Cannot be told from: {escape(entry.same_as)}.</p>" if entry.same_as else ""
        seen = f"<p>Seen in:</p><ul>{links}</ul>" if links else ""
        pieces.append(
            f"<h4>{escape(entry.name)} ({entry.id})</h4>"
            f"<dl class='facts'><dt>What it computes</dt><dd>{escape(entry.formula)}</dd>"
            f"<dt>What gives it away</dt><dd>{escape(entry.fingerprint)}</dd></dl>{same}"
            f"<p>NumPy</p><pre tabindex='0' role='group' aria-label='{entry.id} in NumPy'>{escape(entry.numpy)}</pre><p>PyTorch</p><pre tabindex='0' role='group' aria-label='{entry.id} in PyTorch'>{escape(entry.torch)}</pre>{seen}"
        )
    return "".join(pieces)


def others(found: Diagnosis) -> str:
    """The other explanations tried, closest first, with their errors."""
    rest = [item for item in found.candidates if item.id not in found.matches[:1]]
    if not rest:
        return ""
    lines = "".join(
        f'<tr><th scope="row">{escape(item.id)}</th><td>{escape(item.name)}{" " + escape(item.detail) if item.detail else ""}</td>'
        f'<td class="n">{item.error:.3g}</td><td class="n">{item.times:.3g}</td></tr>'
        for item in rest
    )
    return (
        '<details><summary>Other candidates</summary><div class="scroll" tabindex="0" role="group" aria-label="Other candidates"><table data-candidates><caption>The closest other '
        'explanations</caption><thead><tr><th scope="col">id</th><th scope="col">mistake</th><th scope="col">largest error</th>'
        f'<th scope="col">times what the digits allow</th></tr></thead><tbody>{lines}</tbody></table></div></details>'
    )
