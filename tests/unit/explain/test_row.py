"""One row taken apart: every number is the Trace's, the products add up, and the summary follows its definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_lab.core import LabError, Options
from attention_lab.explain.divided import most_divided_row, relative_entropies
from attention_lab.explain.likeness import Likeness, compare_words, conclusion, sentence_about
from attention_lab.explain.row import entropies, row
from attention_lab.inputs.sentence import read_sentence
from attention_lab.inputs.spelling import spelling_of
from attention_lab.problem import Problem

OPENING = "the cat sat on the mat because the cat was tired"


def pencil() -> Problem:
    """Q = K = I, V = [[1, 2], [3, 4]]: softmax(1/√2, 0) = (0.6698, 0.3302)."""
    return Problem(np.eye(2), np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]), Options())


class TestRow:
    def test_a_row_small_enough_for_a_pencil(self) -> None:
        """q₀·k₀ = 1, ÷√2 = 0.7071; minus the maximum: 0 and −0.7071; exp: 1 and 0.4931; sum 1.4931."""
        problem = pencil()
        item = row(problem, problem.trace(), 0)
        assert item.dot.tolist() == [1.0, 0.0]
        assert item.scaled == pytest.approx([math.sqrt(0.5), 0])
        assert item.tempered.tolist() == item.scaled.tolist()
        assert item.row_max == pytest.approx(math.sqrt(0.5))
        assert item.exponentials == pytest.approx([1, math.exp(-math.sqrt(0.5))])
        assert item.denominator == pytest.approx(1.493068691)
        assert item.weights == pytest.approx([0.669761549, 0.330238451])
        assert item.output == pytest.approx([1.660476902, 2.660476902])
        assert item.sqrt_dk == math.sqrt(2)
        assert item.visible == 2
        assert item.strongest == 0
        assert item.active == ()
        assert item.products.tolist() == [[1, 0], [0, 0]]

    @given(st.integers(0, 7), st.floats(0.05, 20), st.booleans(), st.integers(0, 2**32 - 1))
    def test_every_number_is_the_traces_and_the_parts_add_up(
        self, i: int, t: float, causal: bool, seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        q, k, v = rng.normal(size=(8, 3)), rng.normal(size=(8, 3)), rng.normal(size=(8, 5))
        problem = Problem(q, k, v, Options(temperature=t, softcap=2.0, causal="top-left" if causal else None))
        trace = problem.trace()
        item = row(problem, trace, i)
        for ours, theirs in (
            (item.dot, trace.scores), (item.scaled, trace.scaled), (item.tempered, trace.tempered),
            (item.capped, trace.capped), (item.biased, trace.biased), (item.logits, trace.masked),
            (item.exponentials, trace.exponentials), (item.weights, trace.weights), (item.output, trace.output),
        ):  # fmt: skip
            assert np.array_equal(ours, theirs[i])
        assert item.products.sum(axis=1) == pytest.approx(item.dot, abs=1e-12)
        assert item.contributions.sum(axis=0) == pytest.approx(item.output, abs=1e-12)
        assert item.visible == (i + 1 if causal else 8)
        assert item.masked.tolist() == [causal and j > i for j in range(8)]
        assert item.log_sum_exp == pytest.approx(item.row_max + math.log(item.denominator))
        assert 1 - 1e-12 <= item.effective_keys <= item.visible + 1e-9
        assert item.effective_keys == pytest.approx(math.exp(item.entropy))

    def test_masked_keys_keep_their_scores_and_contribute_exactly_nothing(self) -> None:
        problem = Problem(np.eye(2), np.eye(2), np.array([[1.0], [np.nan]]), Options(causal="top-left"))
        item = row(problem, problem.trace(), 0)
        assert item.dot.tolist() == [1, 0]
        assert item.scaled[1] == 0
        assert item.logits[1] == -math.inf
        assert item.weights.tolist() == [1, 0]
        assert item.contributions.tolist() == [[1], [0]]
        assert item.active == ("masked",)

    def test_active_stages_in_order(self) -> None:
        problem = Problem(
            np.eye(2),
            np.eye(2),
            np.eye(2),
            Options(temperature=2.0, softcap=5.0, causal="top-left"),
            bias=np.ones((2, 2)),
        )
        assert row(problem, problem.trace(), 1).active == ("tempered", "capped", "biased", "masked")

    @pytest.mark.parametrize(
        ("empty", "weight", "effective"),
        [("zero", 0.0, 0.0), ("nan", math.nan, math.nan), ("uniform", 0.5, 2.0)],
    )
    def test_a_row_that_sees_nothing(self, empty: str, weight: float, effective: float) -> None:
        keep = np.array([[False, False], [True, True]])
        problem = Problem(np.eye(2), np.eye(2), np.eye(2), Options(empty_row=empty), keep=keep)
        item = row(problem, problem.trace(), 0)
        assert item.empty
        assert item.visible == 0
        assert item.strongest is None
        assert item.weights.tolist() == pytest.approx([weight, weight], nan_ok=True)
        assert item.effective_keys == pytest.approx(effective, nan_ok=True)
        assert item.relative_entropy == 0

    @pytest.mark.parametrize("i", [-1, 2])
    def test_no_such_row(self, i: int) -> None:
        problem = pencil()
        with pytest.raises(LabError, match=f"There is no row {i}: expected 0 to 1, for 2 queries") as caught:
            row(problem, problem.trace(), i)
        assert caught.value.field == "row"

    def test_a_batch_must_be_sliced_first(self) -> None:
        x = np.ones((2, 3, 4))
        problem = Problem(x, x, x)
        with pytest.raises(LabError, match=r"expected scores with 2 axes, got shape \(2, 3, 3\)"):
            row(problem, problem.trace(), 0)

    def test_entropy_of_known_rows(self) -> None:
        assert entropies(np.array([[0.5, 0.5], [1.0, 0.0]])) == pytest.approx([math.log(2), 0])
        assert math.isnan(entropies(np.array([math.nan, 1.0])))


class TestMostDivided:
    def test_opening_sentence(self) -> None:
        """By the definition, one row at a time in plain Python."""
        words = OPENING.split()
        trace = read_sentence(OPENING).problem(Options(causal="top-left")).trace()
        best, chosen = -1.0, 0
        for i, weights in enumerate(trace.weights.tolist()):
            if not any(a >= 0.01 and words[j] != words[i] for j, a in enumerate(weights)):
                continue
            entropy = -sum(a * math.log(a) for a in weights if a > 0)
            ratio = entropy / math.log(i + 1) if i else 0.0
            if ratio > best + 1e-12:
                best, chosen = ratio, i
        assert most_divided_row(trace, words) == chosen

    def test_ties_go_to_the_first(self) -> None:
        """Four different words with equal scores: every row is as divided as it can be."""
        x = np.zeros((4, 8))
        trace = Problem(x, x, x).trace()
        assert relative_entropies(trace) == pytest.approx([1, 1, 1, 1])
        assert most_divided_row(trace, ["a", "b", "c", "d"]) == 0

    def test_a_row_divided_between_equal_words_only_is_passed_over(self) -> None:
        """Rows 0 and 1 split evenly between two copies of one word; row 2 gives a different word 12 %."""
        scores = np.array([[50.0, 50, 0], [50, 50, 0], [0, 0, 2.0]])
        problem = Problem(scores, np.eye(3), np.eye(3), Options(scale="none"))
        assert most_divided_row(problem.trace(), ["cat", "cat", "dog"]) == 2

    def test_when_no_row_is_divided_the_most_even_one_is_opened(self) -> None:
        trace = read_sentence("cat cat Cat").problem(Options(causal="top-left")).trace()
        assert most_divided_row(trace, [spelling_of(w) for w in ("cat", "cat", "Cat")]) == 1

    def test_one_token(self) -> None:
        assert most_divided_row(read_sentence("cat").problem().trace(), ["cat"]) == 0


class TestLikeness:
    def test_runs_and_running_are_alike_and_cat_and_kitten_are_not(self) -> None:
        for d in (64, 128, 512):
            spelled, meant = compare_words("runs", "running", d), compare_words("cat", "kitten", d)
            assert spelled.verdict == "alike"
            assert meant.verdict == "unrelated"
            assert spelled.shared == ("‹r", "ru", "un", "‹ru", "run")
            assert meant.shared == ()
            assert "spelling is seen, meaning is not" in conclusion(spelled, meant)

    def test_small_dimensions_are_raised_to_64(self) -> None:
        assert compare_words("a", "b", 8).d == 64

    @pytest.mark.parametrize(
        ("score", "shared", "words"),
        [
            (30.0, ("ru",), "they share one letter group, so these vectors call them alike"),
            (
                30.0,
                (),
                "they share no letter group, yet chance collisions of the hash make these vectors call them alike",
            ),
            (-30.0, (), "call them opposed"),
            (3.0, ("a", "b"), "they share 2 letter groups, yet the score stays within what chance gives"),
            (0.0, (), "so these vectors see nothing in common"),
        ],
    )
    def test_the_wording_follows_the_numbers(self, score: float, shared: tuple[str, ...], words: str) -> None:
        assert words in sentence_about(Likeness("x", "y", 64, score, score / 64, shared))

    def test_the_conclusion_follows_the_numbers(self) -> None:
        low, high = (
            Likeness("runs", "running", 64, 1.0, 1 / 64, ()),
            Likeness("cat", "kitten", 64, 5.0, 5 / 64, ()),
        )
        assert "“cat”/“kitten” scores 4.00 higher" in conclusion(low, high)
        assert "outscores" in conclusion(high, low)
        assert "the same" in conclusion(low, low)
