"""The walkthrough's steps: how many, in which order, what each reads, writes, says and counts."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from attention_lab.core import LabError, Options
from attention_lab.explain.steps import Cell, Walk, largest_weight, ranges, short, steps
from attention_lab.inputs.examples import Example, load
from attention_lab.problem import Problem

MASKED, UNMASKED = load().walkthrough


def problem_of(example: Example, **changes: object) -> Problem:
    """The example as a Problem, with its own mask unless `changes` says otherwise."""
    options = {"causal": example.options.get("causal")} | changes
    return Problem(
        example.q,
        example.k,
        example.v,
        Options(**options),
        query_labels=example.tokens,
        key_labels=example.tokens,
    )


def walk_of(example: Example, **changes: object) -> Walk:
    problem = problem_of(example, **changes)
    return steps(problem, problem.trace())


def random_walk(n: int, m: int, dk: int = 3, dv: int = 2, **options: object) -> Walk:
    draw = np.random.default_rng(n * 100 + m)
    problem = Problem(
        draw.normal(size=(n, dk)), draw.normal(size=(m, dk)), draw.normal(size=(m, dv)), Options(**options)
    )
    return steps(problem, problem.trace())


# counts


def test_eight_tokens_take_92_steps_without_a_mask_and_100_with_one() -> None:
    assert len(walk_of(UNMASKED)) == 92
    assert len(walk_of(MASKED)) == 100
    assert len(walk_of(UNMASKED, causal="top-left")) == 100
    assert len(walk_of(MASKED, causal=None)) == 92


def test_the_100_steps_are_64_dots_8_divisions_8_masks_8_softmax_rows_8_output_rows_and_4_frames() -> None:
    counted: dict[str, int] = {}
    for step in walk_of(MASKED):
        kind = "frame" if not step.writes else step.phase
        counted[kind] = counted.get(kind, 0) + 1
    assert counted == {"frame": 4, "scores": 64, "divide": 8, "mask": 8, "softmax": 8, "output": 8}


@pytest.mark.parametrize("n", range(1, 17, 3))
@pytest.mark.parametrize("m", range(1, 17, 5))
def test_the_count_follows_the_formula_for_any_size(n: int, m: int) -> None:
    assert len(random_walk(n, m)) == n * m + n + n + n + 4
    keep = np.ones((n, m), dtype=bool)
    keep[0, 0] = False
    problem = dataclasses.replace(random_walk(n, m).problem, keep=keep)
    assert len(steps(problem, problem.trace())) == n * m + n + n + n + n + 4


def test_without_scaling_the_division_frames_stay_and_divide_by_one() -> None:
    walk = walk_of(MASKED, scale="none")
    assert len(walk) == 100
    frames = [step for step in walk if step.phase == "divide"]
    assert len(frames) == 8
    assert all("÷ 1" in step.sentence for step in frames)


def test_a_larger_problem_is_refused_with_both_numbers() -> None:
    draw = np.random.default_rng(0)
    problem = Problem(draw.normal(size=(17, 2)), draw.normal(size=(5, 2)), draw.normal(size=(5, 2)))
    with pytest.raises(LabError, match="at most 16 queries and 16 keys; this problem has 17 and 5"):
        steps(problem, problem.trace())


def test_a_problem_with_a_batch_axis_is_refused() -> None:
    problem = Problem(np.ones((2, 3, 2)), np.ones((2, 3, 2)), np.ones((2, 3, 2)))
    with pytest.raises(LabError, match="one batch and head"):
        steps(problem, problem.trace())


# a step is a pure function of its index


def test_any_order_of_visits_gives_the_same_steps() -> None:
    forward = list(walk_of(MASKED))
    walk = walk_of(MASKED)
    backward = [walk[index] for index in range(len(walk) - 1, -1, -1)]
    assert backward[::-1] == forward
    assert [step.index for step in forward] == list(range(100))


def test_it_behaves_like_a_sequence() -> None:
    walk = walk_of(MASKED)
    assert walk[-1] == walk[99]
    assert walk[3:6] == [walk[3], walk[4], walk[5]]
    with pytest.raises(IndexError, match="no step 100: expected 0 to 99"):
        walk[100]


# what a step reads and writes


def test_a_dot_product_reads_one_query_row_and_one_key_row_and_writes_one_score() -> None:
    step = walk_of(MASKED)[1 + 2 * 8 + 1]
    assert (step.i, step.j) == (2, 1)
    assert step.reads == tuple(Cell("q", 2, c) for c in range(4)) + tuple(Cell("k", 1, c) for c in range(4))
    assert step.writes == (Cell("scores", 2, 1),)


def test_every_cell_of_every_stage_is_written_exactly_once() -> None:
    walk = walk_of(MASKED)
    written = [cell for step in walk for cell in step.writes]
    assert len(set(written)) == len(written)
    for table, columns in (("scores", 8), ("scaled", 8), ("masked", 8), ("weights", 8), ("output", 4)):
        assert {cell for cell in written if cell.table == table} == {
            Cell(table, i, j) for i in range(8) for j in range(columns)
        }


def test_nothing_is_read_before_it_is_written() -> None:
    for walk in (walk_of(MASKED), random_walk(3, 5, softcap=2.0, temperature=0.7, causal="bottom-right")):
        known: set[Cell] = set()
        for step in walk:
            computed = [cell for cell in step.reads if cell.table not in "qkv"]
            assert known.issuperset(computed), step
            known.update(step.writes)


def test_an_output_row_reads_no_masked_value() -> None:
    walk = walk_of(MASKED)
    step = walk[91 + 2]
    assert step.title == "Output, row 2"
    assert {cell.i for cell in step.reads if cell.table == "v"} == {0, 1, 2}


# counters


def test_the_counters_end_at_64_dot_products_and_nm_dk_plus_dv_multiplications() -> None:
    for example in (MASKED, UNMASKED):
        last = walk_of(example)[-1]
        assert (last.dots, last.multiplications) == (64, 8 * 8 * (4 + 4))


def test_the_counters_never_fall_and_count_each_kind() -> None:
    walk = walk_of(MASKED)
    assert (walk[0].dots, walk[0].multiplications) == (0, 0)
    assert (walk[5].dots, walk[5].multiplications) == (5, 20)
    assert (walk[64].dots, walk[64].multiplications) == (64, 256)
    assert walk[90].multiplications == 256
    assert walk[91].multiplications == 256 + 8 * 4
    pairs = [(step.dots, step.multiplications) for step in walk]
    assert pairs == sorted(pairs)


# what a step says


def test_the_arithmetic_of_a_dot_product_can_be_checked_with_a_pencil() -> None:
    walk = walk_of(MASKED)
    step = walk[1 + 2 * 8 + 1]
    assert step.arithmetic == ("S[2,1] = 1·0 + 1·1 + 0·0 + 2·2 = 5",)
    assert step.sentence == "Query 2 “where” meets key 1 “bends”: their score is 5."


def test_every_line_of_every_dot_product_adds_up() -> None:
    for example in (MASKED, UNMASKED):
        for step in walk_of(example)[1:65]:
            _, products, result = step.arithmetic[0].split("=")
            total = sum(int(a) * int(b) for a, b in (term.split("·") for term in products.split("+")))
            assert total == int(result)


def test_a_zero_score_is_said_to_be_a_score() -> None:
    step = walk_of(MASKED)[1 + 2 * 8]
    assert (
        step.sentence
        == "Query 2 “where” meets key 0 “light”: their score is 0. Zero is a score, not a blank."
    )


def test_negative_numbers_stand_in_brackets_and_rounded_results_say_so() -> None:
    problem = Problem(np.array([[-1.0, 0.1]]), np.array([[0.5, 1 / 3]]), np.ones((1, 1)))
    line = steps(problem, problem.trace())[1].arithmetic[0]
    assert line == "S[0,0] = (−1)·0.5 + 0.1000·0.3333 ≈ −0.4667"


def test_a_long_sum_is_shortened_and_counted() -> None:
    line = random_walk(2, 2, dk=40)[1].arithmetic[0]
    assert "… 32 more …" in line
    assert line.count("·") == 8


def test_every_step_has_one_plain_sentence_and_some_arithmetic() -> None:
    shapes = [walk_of(MASKED), walk_of(UNMASKED), random_walk(1, 1), random_walk(16, 16, dv=12)]
    shapes += [
        random_walk(2, 5),
        random_walk(5, 2, causal="bottom-right"),
        random_walk(4, 4, scale=0.3, softcap=1.0),
    ]
    for walk in shapes:
        for step in walk:
            assert step.sentence[0] == step.sentence[0].upper() and step.sentence.endswith("."), step
            assert step.arithmetic and all(step.arithmetic), step
            assert "nan" not in step.sentence.lower(), step


def test_the_mask_frame_names_visible_and_masked_keys_and_the_reason() -> None:
    step = walk_of(MASKED)[74 + 2]
    assert step.title == "Mask, row 2"
    assert step.sentence == "Row 2 “where” may see keys 0–2; keys 3–7 are masked: their scores become −∞."
    assert step.arithmetic[1] == "after: 0  2.5  1  −∞  −∞  −∞  −∞  −∞"
    assert "key 3 comes after key 2" in step.arithmetic[2]


def test_a_row_that_may_see_nothing_is_told_apart() -> None:
    walk = random_walk(3, 2, causal="bottom-right")
    said = {step.title: step.sentence for step in walk}
    assert said["Mask, row 0"] == "Row 0 may see no key at all: every score becomes −∞."
    assert "may see no key: its weights are set to 0" in said["Softmax, row 0"]
    assert "mixes no value" in said["Output, row 0"]


# the facts of the first example


def test_tokens_0_and_4_are_the_same_word_with_identical_rows() -> None:
    assert MASKED.tokens is not None and MASKED.tokens[0] == MASKED.tokens[4]
    trace = problem_of(MASKED).trace()
    for rows in (MASKED.q, MASKED.k, MASKED.v, trace.scores):
        assert np.array_equal(rows[0], rows[4])


def test_the_scores_the_prose_names() -> None:
    scores = problem_of(MASKED).trace().scores
    assert scores[2, 0] == 0
    assert scores[4, 0] == scores[4, 4] == 2


@pytest.mark.parametrize(("row", "scaled", "unscaled"), [(2, 0.7662, 0.9465), (6, 0.2945, 0.4748)])
def test_the_largest_weights_with_and_without_the_division(row: int, scaled: float, unscaled: float) -> None:
    """Row 2 sees scores 0, 5, 2: softmax(0, 2.5, 1) peaks at 0.7662, softmax(0, 5, 2) at 0.9465."""
    walk = walk_of(MASKED)
    division = walk.division(row)
    assert round(division.largest_after, 4) == scaled
    assert round(division.largest_before, 4) == unscaled
    assert division.largest_after == pytest.approx(walk.trace.weights[row].max(), abs=1e-15)
    bare = problem_of(MASKED, scale="none").trace()
    assert division.largest_before == pytest.approx(bare.weights[row].max(), abs=1e-15)
    step = walk[66 + row]
    assert f"{unscaled:.4f} without this and is {scaled:.4f} with it" in step.sentence


def test_every_scaled_score_is_a_whole_number_or_a_half() -> None:
    for example in (MASKED, UNMASKED):
        scaled = problem_of(example).trace().scaled
        assert np.array_equal(2 * scaled, np.round(2 * scaled))


def test_dividing_by_more_than_one_never_raises_a_rows_largest_weight() -> None:
    draw = np.random.default_rng(3)
    for _ in range(200):
        n, m, dk = (int(x) for x in draw.integers(1, 9, 3))
        scale = float(draw.uniform(0.01, 1.0))
        problem = Problem(
            draw.normal(size=(n, dk)) * 3, draw.normal(size=(m, dk)), np.ones((m, 1)), Options(scale=scale)
        )
        walk = steps(problem, problem.trace())
        assert all(walk.division(i).holds for i in range(n))


def test_the_statement_is_not_claimed_for_a_divisor_below_one() -> None:
    walk = walk_of(MASKED, scale=2.0)
    assert walk.divisor == 0.5
    assert not walk.division(2).applies
    assert walk.division(2).largest_after > walk.division(2).largest_before


# the mask, exactly


def test_every_masked_weight_is_exactly_zero() -> None:
    walk = walk_of(MASKED)
    hidden = ~walk.visible
    assert hidden.sum() == 28
    assert not walk.trace.weights[hidden].any()
    assert not np.signbit(walk.trace.weights[hidden]).any()


def test_each_output_row_is_bit_identical_with_its_masked_terms_dropped() -> None:
    whole = problem_of(MASKED).trace()
    for i in range(8):
        seen = slice(0, i + 1)
        alone = Problem(MASKED.q[i : i + 1], MASKED.k[seen], MASKED.v[seen]).trace()
        assert alone.output[0].tobytes() == whole.output[i].tobytes()
        assert alone.weights[0].tobytes() == whole.weights[i, seen].tobytes()


@pytest.mark.parametrize("absurd", [1e300, -1e300, math.inf, math.nan])
def test_an_absurd_masked_value_vector_changes_nothing(absurd: float) -> None:
    usual = problem_of(MASKED).trace().output
    values = MASKED.v.copy()
    values[7] = absurd
    changed = dataclasses.replace(problem_of(MASKED), v=values).trace().output
    assert changed[:7].tobytes() == usual[:7].tobytes()


# the grid


def test_the_grid_fills_cell_by_cell() -> None:
    walk = walk_of(MASKED)
    for index in (0, 1, 9, 17, 64):
        grid = walk.grid(index)
        assert grid.known.sum() == index
        assert grid.stage == ("scores",) * 8
        assert not grid.masked.any()
    assert walk.grid(17).known[2, 0] and walk.grid(17).values[2, 0] == 0


def test_each_row_of_the_grid_shows_the_stage_it_has_reached() -> None:
    walk = walk_of(MASKED)
    assert walk.grid(66 + 2).stage == ("scaled",) * 3 + ("scores",) * 5
    assert walk.grid(74 + 2).stage == ("masked",) * 3 + ("scaled",) * 5
    assert walk.grid(74 + 2).masked.sum() == 7 + 6 + 5
    assert walk.grid(82 + 2).stage == ("weights",) * 3 + ("masked",) * 5
    assert walk.grid(91 + 2).output_rows == 3
    last = walk.grid(99)
    assert last.stage == ("weights",) * 8 and last.output_rows == 8
    assert np.array_equal(last.values, walk.trace.weights)


def test_the_grid_after_a_step_holds_what_the_step_wrote() -> None:
    for walk in (walk_of(MASKED), walk_of(UNMASKED), random_walk(3, 4, temperature=2.0, softcap=1.5)):
        for step in walk:
            grid = walk.grid(step.index)
            for cell in step.writes:
                if cell.table == "output":
                    assert grid.output_rows == cell.i + 1
                else:
                    assert grid.stage[cell.i] == cell.table
                    assert grid.known[cell.i, cell.j]
                    assert grid.values[cell.i, cell.j] == getattr(walk.trace, cell.table)[cell.i, cell.j]


def test_inexact_rows_are_counted_from_the_weights() -> None:
    walk = walk_of(MASKED)
    sums = []
    for row in walk.trace.weights.tolist():
        total = 0.0
        for weight in row:  # the built-in sum() of newer Pythons carries its rounding errors along
            total += weight
        sums.append(total)
    assert walk.inexact_rows()[:2] == (sum(total != 1 for total in sums), 8)
    assert walk.inexact_rows()[2] == max(abs(total - 1) for total in sums)
    assert walk.inexact_rows()[2] <= 2 * 2.0**-52


# small helpers


def test_ranges_and_short_numbers() -> None:
    assert ranges([0, 1, 2, 5]) == "0–2, 5"
    assert ranges([3]) == "3"
    assert ranges([]) == ""
    assert [short(x, str) for x in (2.0, -0.5, 0.0, 0.25)] == ["2", "−0.5", "0", "0.25"]
    assert largest_weight(np.array([0.0, 0.0, 9.0]), np.array([True, True, False])) == 0.5
    assert math.isnan(largest_weight(np.zeros(2), np.zeros(2, dtype=bool)))
