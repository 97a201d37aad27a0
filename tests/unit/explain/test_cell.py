"""The formula behind one cell, with its own numbers, and the cells it was computed from."""

from __future__ import annotations

import numpy as np
import pytest

from attention_lab.core import LabError, Options, attend
from attention_lab.explain.cell import cell, regions_to_selectors
from attention_lab.explain.stages import stages
from attention_lab.render.html import formatter

Q, K, V = [[0.5, 2.0], [0.0, -1.0]], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [3.0, 4.0]]
write = formatter(4)


def test_a_score_is_its_dot_product() -> None:
    story = cell(attend(Q, K, V), "scores", 0, 0, write)
    assert story.text == "S₁₁ = q₁·k₁ = 0.5×1 + 2×0 = 0.5000"
    assert story.reads == (("q", 0, None), ("k", 0, None))


def test_negative_factors_stand_in_brackets() -> None:
    assert cell(attend(Q, K, V), "scores", 1, 1, write).text == "S₂₂ = q₂·k₂ = 0×0 + (−1)×1 = −1.0000"


def test_scaling_names_the_root() -> None:
    assert cell(attend(Q, K, V), "scaled", 0, 1, write).text == "2.0000 ÷ √2 = 2.0000 ÷ 1.4142 = 1.4142"


def test_a_weight_shows_its_row_maximum_and_denominator() -> None:
    """Row 1 scaled is (0, −0.7071): maximum 0, denominator 1 + e^−0.7071 = 1.4931, weight 0.4931 / 1.4931."""
    story = cell(attend(Q, K, V), "weights", 1, 1, write)
    assert story.text == "A₂₂ = e^(−0.7071 − 0.0000) / 1.4931 = 0.3302"
    assert story.reads == (("scaled", 1, None),) and ("q", 1, None) in story.behind


def test_a_subtracted_negative_maximum_reads_as_plus() -> None:
    trace = attend([[-1.0]], [[1.0], [2.0]], [[1.0], [2.0]], Options(scale="none"))
    assert cell(trace, "weights", 0, 1, write).text.startswith("A₁₂ = e^(−2.0000 + 1.0000) / ")


def test_an_output_reads_its_weights_and_a_column_of_v() -> None:
    story = cell(attend(Q, K, V), "output", 0, 1, write)
    assert story.reads == (("weights", 0, None), ("v", None, 1))
    assert story.text.startswith("O₁₂ = Σ A₁ⱼ·Vⱼ₂ = ")


def test_a_masked_cell_says_so() -> None:
    trace = attend(Q, K, V, Options(causal="top-left"))
    assert cell(trace, "masked", 0, 1, write).text.endswith("→ −∞: masked, so its weight is exactly 0")
    assert cell(trace, "weights", 0, 1, write).text == "A₁₂ = 0 exactly: masked"


def test_every_optional_stage_has_a_formula() -> None:
    options = Options(scale=2.0, temperature=4.0, softcap=5.0, causal="top-left")
    trace = attend(Q, K, V, options, bias=np.full((2, 2), -0.5))
    names = [item.name for item in stages(trace)]
    assert names == ["scores", "scaled", "tempered", "capped", "biased", "masked", "weights", "output"]
    assert cell(trace, "scaled", 0, 0, write).text == "0.5000 × 2.0000 = 1.0000"
    assert cell(trace, "tempered", 0, 0, write).text == "1.0000 ÷ 4.0000 = 0.2500"
    assert cell(trace, "capped", 0, 0, write).text == "5.0000 × tanh(0.2500 ÷ 5.0000) = 0.2498"
    assert cell(trace, "biased", 0, 0, write).text == "0.2498 + (−0.5000) = −0.2502"


def test_stages_that_do_nothing_are_left_out() -> None:
    assert [item.name for item in stages(attend(Q, K, V, Options(scale="none")))] == [
        "scores",
        "weights",
        "output",
    ]


def test_long_dot_products_are_shortened_and_counted() -> None:
    trace = attend(np.ones((1, 20)), np.ones((1, 20)), [[1.0]])
    assert cell(trace, "scores", 0, 0, write).text.count("×") == 6
    assert "… 14 more …" in cell(trace, "scores", 0, 0, write).text


def test_where_there_is_no_cell() -> None:
    with pytest.raises(LabError, match="scores is 2×2: it has no cell"):
        cell(attend(Q, K, V), "scores", 0, 2, write)
    with pytest.raises(LabError, match="no stage “capped”"):
        cell(attend(Q, K, V), "capped", 0, 0, write)


def test_selectors() -> None:
    assert regions_to_selectors([("q", 1, None)]) == ['[data-stage="q"] td[data-j][data-i="1"]']
