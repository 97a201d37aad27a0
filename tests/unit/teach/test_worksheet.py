"""Worksheets: the same seed gives the same sheets, the numbers suit a pencil, blanks are empty, keys are complete."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from urllib.parse import unquote

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lab.compute import view_of
from attention_lab.core import LabError, attend
from attention_lab.export.worksheet_latex import worksheet_latex
from attention_lab.render.worksheet import standalone, worksheet, worksheet_or_error
from attention_lab.render.worksheet_style import STYLE
from attention_lab.state import State
from attention_lab.teach.plan import STAGES, Plan
from attention_lab.teach.worksheet import calculator_values, sheets, written

PLANS = [
    Plan(),
    Plan(seed=7, variants=4, queries=3, keys=4, values=3),
    Plan(seed=2, scaled=False),
    Plan(seed=3, causal=True, keys=4),
    Plan(seed=4, base="2", queries=3, keys=3),
    Plan(seed=5, base="2", causal=True, keys=4, scaled=False),
    Plan(seed=6, queries=6, keys=6, values=4, variants=2),
    Plan(seed=8, blank=("weights", "output"), decimals=2),
    Plan(seed=9, queries=1, keys=2, values=1, variants=1, blank=()),
]


def link(values: dict[str, str]) -> str:
    return "https://example.org/lab/#" + State.from_values(values.items()).to_fragment()


def test_a_seed_on_paper_stays_good() -> None:
    """Sheet A of seed 1, frozen: another release must print the same numbers."""
    sheet = sheets(Plan(seed=1, variants=1))[0]
    assert sheet.problem.q.tolist() == [[2, 1, 0, 1], [1, 0, 0, -1]]
    assert sheet.problem.k.tolist() == [[-1, 3, 0, 1], [1, 1, 3, -1], [2, 0, 1, 2]]
    assert sheet.problem.v.tolist() == [[0, 1], [2, 1], [6, 2]]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.to_text())
def test_the_numbers_suit_a_pencil(plan: Plan) -> None:
    """Integers from −1 to 3 in Q and K, integer scores close together in each row, and no row without a difference."""
    for sheet in sheets(plan):
        q, k, v, trace = sheet.problem.q, sheet.problem.k, sheet.problem.v, sheet.trace
        assert q.shape == (plan.queries, plan.d_k) and v.shape == (plan.keys, plan.values)
        for array in (q, k):
            assert set(array.flat) <= {-1, 0, 1, 2, 3}
        assert len({tuple(row) for row in q.tolist()}) == plan.queries, "two queries are equal"
        for i in range(plan.queries):
            row = sheet.logits[i][trace.mask[i]]
            assert (row == np.rint(row)).all() and np.abs(trace.scores[i][trace.mask[i]]).max() <= 12
            assert len(row) == 1 or 0 < row.max() - row.min() <= 3
        if plan.base == "2":
            for x in (*trace.weights.flat, *trace.output.flat):
                fraction = Fraction(x).limit_denominator(999)
                assert abs(float(fraction) - x) < 1e-12 and fraction.denominator <= 24 * 4


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.to_text())
def test_the_key_holds_the_numbers_of_attend(plan: Plan) -> None:
    """Every number of a key, as printed, is attend()'s for the Q, K and V that stand on the same page."""
    html = worksheet(plan.to_text(), link)
    pages = re.findall(r'<section class="sheet sheet-key.*?(?=<section class="sheet |$)', html, re.S)
    assert len(pages) == plan.variants
    for page, sheet in zip(pages, sheets(plan), strict=True):
        tables = {
            name: [
                [float(x) for x in re.findall(r'data-value="([^"]+)"', row)]
                for row in re.findall(r"<tr>(.*?)</tr>", body, re.S)
            ]
            for name, body in re.findall(r'data-sheet="(\w+)".*?<tbody>(.*?)</tbody>', page, re.S)
        }
        trace = attend(tables["q"], tables["k"], tables["v"], sheet.problem.options)
        for name in ("scores", "weights", "output"):
            np.testing.assert_array_equal(tables[name], getattr(trace, name), err_msg=name)
        np.testing.assert_array_equal(np.array(tables["exponentials"])[:, -1], trace.denominators)
        for exact_text, text in re.findall(r'data-value="([^"]+)">([^<]*)<', page):
            shown = float(Fraction(text.replace("−∞", "-999").replace("−", "-")))
            exact = max(float(exact_text), -999.0)
            assert abs(shown - exact) <= 0.5 * 10.0**-plan.decimals + 1e-12


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.to_text())
def test_what_is_blank_is_not_in_the_sheet(plan: Plan) -> None:
    html = worksheet(plan.to_text(), link)
    sheet_part = html.split("sheet-key")[0]
    for name in STAGES:
        tables = re.findall(rf'data-sheet="{name}".*?<tbody>(.*?)</tbody>', sheet_part, re.S)
        for table in tables:
            blanks, filled = table.count("sheet-blank"), table.count("data-value")
            if name == "exponentials":
                continue
            assert (blanks > 0, filled > 0) == ((True, False) if name in plan.blank else (False, True))
    exponentials = re.findall(r'data-sheet="exponentials".*?<tbody>(.*?)</tbody>', sheet_part, re.S)[0]
    rows, keys = plan.queries, plan.keys
    expected = ("exponentials" in plan.blank) * rows * keys + ("sums" in plan.blank) * rows
    assert exponentials.count("sheet-blank") == expected


def test_variants_differ_and_a_seed_repeats() -> None:
    first, again = sheets(Plan(seed=3, variants=6)), sheets(Plan(seed=3, variants=6))
    assert [s.letter for s in first] == list("ABCDEF")
    assert len({s.problem.q.tobytes() + s.problem.k.tobytes() for s in first}) == 6
    assert all(np.array_equal(a.problem.q, b.problem.q) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(sheets(Plan(seed=4))[0].problem.k, first[0].problem.k)


@settings(max_examples=30)
@given(
    st.builds(
        Plan,
        seed=st.integers(0, 999_999),
        variants=st.integers(1, 2),
        queries=st.integers(1, 4),
        keys=st.integers(2, 4),
        values=st.integers(1, 3),
        scaled=st.booleans(),
        causal=st.booleans(),
        base=st.sampled_from(["e", "2"]),
        blank=st.lists(st.sampled_from(STAGES), unique=True).map(tuple),
        decimals=st.integers(2, 4),
    )
)
def test_any_usual_plan_can_be_made_and_linked(plan: Plan) -> None:
    assert Plan.from_text(plan.to_text()) == plan
    state = State(sheet=plan.to_text())
    assert State.from_fragment(state.to_fragment()).sheet == plan.to_text()
    assert len(sheets(plan)) == plan.variants


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("seed=-1", "needs a whole number for seed"),
        ("seed=1e3", "needs a whole number"),
        ("variants=27", "variants from 1 to 26; got 27"),
        ("keys=1", "keys from 2 to 6"),
        ("base=10", "base e or 2; got 10"),
        ("blank=scores,soup", "got soup"),
        ("scaled=yes", "needs 0 or 1 for scaled"),
        ("colour=red", "does not know “colour”"),
        ("base=2&scaled=0&queries=6&keys=6", "try another seed or a smaller size"),
    ],
)
def test_a_bad_plan_is_refused_with_a_sentence(text: str, words: str) -> None:
    html, error = worksheet_or_error(text, link)
    assert html == "" and words in error and error.endswith(".")


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.to_text())
def test_the_link_on_a_sheet_opens_its_problem_with_the_answers_hidden(plan: Plan) -> None:
    for sheet in sheets(plan):
        state = State.from_fragment(link(calculator_values(sheet)).partition("#")[2])
        assert state.notes == ()
        np.testing.assert_array_equal(view_of(state).trace.output, sheet.trace.output)
        asked = {name for name in plan.blank if name in sheet.stages} - {"exponentials", "sums"}
        assert set(state.blank) == asked
        assert (
            link(calculator_values(sheet)).replace("&", "&amp;") in worksheet(plan.to_text(), link)
            or not asked
        )


def test_fractions_and_decimals_as_printed() -> None:
    half, third = sheets(Plan(seed=4, base="2"))[0], sheets(Plan())[0]
    assert written(half, "weights", 1 / 3) == "1/3" and written(half, "output", 2.0) == "2"
    assert written(third, "weights", 1 / 3) == "0.333" and written(third, "scores", -2.0) == "−2"
    assert written(third, "masked", float("-inf")) == "−∞"


def test_a_saved_worksheet_stands_alone() -> None:
    page = standalone("seed=1", link, STYLE)
    assert page.startswith("<!doctype html>") and "break-after: page" in page
    assert not re.findall(r"""(?:src|href)=["'](?!https://example\.org)""", page)
    assert "<script" not in page


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.to_text())
def test_latex_has_the_pages_and_the_blanks(plan: Plan) -> None:
    text = worksheet_latex(plan.to_text(), link)
    assert text.isascii()
    assert text.count(r"\clearpage") == 2 * plan.variants - 1
    sheet = sheets(plan)[0]
    blanks = sum(array.size for name, array in sheet.stages.items() if name in plan.blank)
    assert text.count(r"\blank &") + text.count(r"\blank \\") == plan.variants * blanks
    assert text.count("{") == text.count("}")


@pytest.mark.needs_cpython
def test_latex_compiles_to_a_page_for_each_sheet_and_key(typeset: Callable[[str], str]) -> None:
    for plan in PLANS:
        printed = typeset(worksheet_latex(plan.to_text(), link))
        pages = re.search(r"\((\d+) pages?,", printed)
        most = 1 if plan.keys <= 4 else 2  # a sheet with six keys takes a second page
        assert pages and 2 * plan.variants <= int(pages[1]) <= (1 + most) * plan.variants
        assert "Overfull" not in printed


def test_a_plan_without_causal_keeps_its_queries() -> None:
    assert Plan(queries=2, keys=4).queries == 2
    assert Plan(queries=2, keys=4, causal=True).queries == 4
    with pytest.raises(LabError):
        Plan(seed=-1)


def test_the_link_of_a_sheet_is_readable() -> None:
    address = link(calculator_values(sheets(Plan())[0]))
    assert "q=2,1,0,1;1,0,0,-1" in unquote(address) and "blank=scores,scaled,weights,output" in address
