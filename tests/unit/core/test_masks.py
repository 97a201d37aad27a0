"""Masks: what each hides, how they combine, and that `why` names the reason for every masked cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from reference import problems, reasons

from attention_lab.core import Options, ShapeError, attend
from attention_lab.core.masks import combine, rules, why


def drawn(mask: np.ndarray) -> str:
    return "/".join("".join("01"[int(cell)] for cell in row) for row in mask)


def mask_of(n: int, m: int, keep: Any = None, **settings: Any) -> str:
    ones = (np.ones((rows, 1)) for rows in (n, m, m))
    return drawn(attend(*ones, Options(**settings), keep=keep).mask)


@pytest.mark.parametrize(
    ("n", "m", "causal", "expected"),
    [
        (2, 5, "top-left", "10000/11000"),  # as measured with PyTorch, JAX, Keras and ONNX
        (5, 2, "top-left", "10/11/11/11/11"),
        (2, 5, "bottom-right", "11110/11111"),  # as measured with MLX and PyTorch's causal_lower_right
        (5, 2, "bottom-right", "00/00/00/10/11"),
        (2, 5, 3, "11110/11111"),
        (2, 5, -1, "00000/10000"),
        (2, 2, 100, "11/11"),
        (2, 2, -100, "00/00"),
        (2, 2, 2**31, "11/11"),
        (2, 2, -(2**31), "00/00"),
    ],
)
def test_causal(n: int, m: int, causal: Any, expected: str) -> None:
    assert mask_of(n, m, causal=causal) == expected


@pytest.mark.parametrize(
    ("window", "causal", "expected"),
    [
        ((1, 1), None, "11000/11100/01110/00111/00011"),  # JAX local_window_size=1, measured
        ((2, 0), None, "10000/11000/11100/01110/00111"),  # JAX local_window_size=(2, 0)
        ((2, 0), "top-left", "10000/11000/11100/01110/00111"),
        ((1, None), None, "11111/11111/01111/00111/00011"),
        ((None, 1), None, "11000/11100/11110/11111/11111"),
        ((None, None), None, "11111/11111/11111/11111/11111"),
        ((2**31, 2**31), 2**31, "11111/01111/00111/00011/00001"),
        ((0, 5), "top-left", "10000/01000/00100/00010/00001"),
        ((1, 0), 1, "11000/01100/00110/00011/00001"),  # the window moves with the causal offset
    ],
)
def test_window(window: Any, causal: Any, expected: str) -> None:
    assert mask_of(5, 5, window=window, causal=causal) == expected


def test_window_follows_the_bottom_right_offset() -> None:
    """n = 2 queries over m = 5 keys stand at positions 3 and 4: two keys back each."""
    assert mask_of(2, 5, causal="bottom-right", window=(2, 0)) == "01110/00111"


def test_lengths() -> None:
    assert mask_of(2, 4, lengths=3) == "1110/1110"
    assert mask_of(2, 4, lengths=(0,)) == "0000/0000"


def test_lengths_per_batch_entry() -> None:
    q, k, v = (np.ones((2, 3, rows, 2)) for rows in (2, 4, 4))
    mask = attend(q, k, v, Options(lengths=(1, 4))).mask
    assert {drawn(mask[0, head]) for head in range(3)} == {"1000/1000"}
    assert {drawn(mask[1, head]) for head in range(3)} == {"1111/1111"}
    assert drawn(attend(q[0], k[0], v[0], Options(lengths=(1, 2, 3))).mask[2]) == "1110/1110"


def test_lengths_with_packed_heads_go_by_batch() -> None:
    """Scores are (batch 2, heads 3, …); two lengths belong to the batches, not to the heads."""
    q, k, v = (np.ones((2, rows, 6)) for rows in (2, 4, 4))
    mask = attend(q, k, v, Options(heads=(3, 3), lengths=(1, 2))).mask
    assert mask.shape == (2, 3, 2, 4)
    assert drawn(mask[0, 2]) == "1000/1000"
    assert drawn(mask[1, 0]) == "1100/1100"
    assert drawn(attend(q[0], k[0], v[0], Options(heads=(3, 3), lengths=2)).mask[1]) == "1100/1100"
    with pytest.raises(ShapeError, match="one for each of 1 batch entries; got 3"):
        attend(q[0], k[0], v[0], Options(heads=(3, 3), lengths=(1, 2, 3)))


def test_keep_and_bias_broadcast() -> None:
    q, k, v = (np.ones((2, 3, rows, 2)) for rows in (2, 4, 4))
    keep = np.array([[[[True, False, True, True]]], [[[False, True, True, True]]]])
    bias = np.zeros((3, 1, 4))
    bias[1, 0, 3] = -np.inf
    mask = attend(q, k, v, keep=keep, bias=bias).mask
    assert drawn(mask[0, 0]) == "1011/1011"
    assert drawn(mask[1, 1]) == "0110/0110"
    assert mask_of(2, 3, keep=[True, False, True]) == "101/101"
    assert mask_of(2, 3, keep=[[1, 0, 1], [0, 0, 1]]) == "101/001"


@given(problems())
def test_all_masks_combine_by_and_and_why_agrees(problem: dict[str, Any]) -> None:
    trace = attend(**problem)
    n, m = trace.mask.shape
    for i in range(n):
        for j in range(m):
            expected = reasons(i, j, n, m, problem["options"], problem["keep"], problem["bias"])
            assert [reason.code for reason in trace.why(i, j)] == expected
            assert trace.mask[i, j] == (expected == [])


@pytest.mark.parametrize(
    ("settings", "index", "code", "text"),
    [
        ({"causal": "top-left"}, (0, 1), "causal",
         "key 1 comes after key 0, the last one that query 0 may attend to"),
        ({"causal": -1}, (0, 0), "causal", "query 0 comes before every key (causal offset -1)"),
        ({"window": (1, 0)}, (2, 0), "window", "key 0 is outside the window of query 2 (from key 1 up to key 2)"),
        ({"window": (None, 0)}, (0, 2), "window", "key 2 is outside the window of query 0 (up to key 0)"),
        ({"lengths": 2}, (1, 2), "lengths", "key 2 is padding: the number of valid keys is 2"),
    ],
)  # fmt: skip
def test_why_in_words(settings: dict[str, Any], index: tuple[int, int], code: str, text: str) -> None:
    ones = np.ones((3, 1))
    (reason,) = attend(ones, ones, ones, Options(**settings)).why(*index)
    assert (reason.code, reason.text) == (code, text)


def test_why_counts_from_one_if_asked() -> None:
    ones = np.ones((3, 1))
    (reason,) = attend(ones, ones, ones, Options(causal="top-left")).why(0, 1, base=1)
    assert reason.text == "key 2 comes after key 1, the last one that query 1 may attend to"


def test_why_gives_every_reason_with_leading_axes() -> None:
    q = np.ones((2, 2, 3, 1))
    bias = np.zeros((2, 1, 3, 3))
    bias[1, 0, 0, 2] = -np.inf
    keep = np.ones((3, 3), bool)
    keep[0, 2] = False
    trace = attend(q, q, q, Options(causal=0, window=(None, 1), lengths=(3, 2)), keep=keep, bias=bias)
    codes = {index: [reason.code for reason in trace.why(*index)] for index in ((0, 1, 0, 2), (1, 1, 0, 2))}
    assert codes[0, 1, 0, 2] == ["causal", "window", "keep"]
    assert codes[1, 1, 0, 2] == ["causal", "window", "lengths", "keep", "bias"]


@pytest.mark.parametrize("index", [(0,), (0, 0, 0), (3, 0), (0, -1)])
def test_why_refuses_an_index_that_is_no_score(index: tuple[int, ...]) -> None:
    ones = np.ones((3, 1))
    with pytest.raises(IndexError, match=r"expected the index of a score, within \(3, 3\)"):
        attend(ones, ones, ones).why(*index)


def test_rules_can_be_made_without_any_numbers() -> None:
    found = rules(Options(causal="bottom-right", lengths=3), (2, 4))
    assert drawn(combine(found)) == "1110/1110"
    assert [reason.code for reason in why(found, (0, 3))] == ["causal", "lengths"]


def test_masked_weights_are_exactly_zero_and_masked_numbers_do_nothing() -> None:
    """NaN, ∞ and absurd numbers in a masked key and value leave every bit of the result as it was."""
    rng = np.random.default_rng(3)
    for m in (6, 90):
        q, k, v = (rng.standard_normal(shape) for shape in ((4, 3), (m, 3), (m, 2)))
        keep = rng.random((4, m)) < 0.7
        keep[:, 2] = False
        clean = attend(q, k, v, keep=keep)
        for poison in (np.nan, np.inf, -np.inf, 1e308, -1e308):
            bad_k, bad_v = k.copy(), v.copy()
            bad_k[2], bad_v[2] = poison, poison
            trace = attend(q, bad_k, bad_v, keep=keep)
            assert not trace.weights[~keep].any()
            for stage in ("masked", "exponentials", "denominators", "log_sum_exp", "weights", "output"):
                np.testing.assert_array_equal(getattr(trace, stage), getattr(clean, stage))
            np.testing.assert_array_equal(trace.naive_output, clean.naive_output)


def test_a_value_masked_for_one_query_only() -> None:
    """V[1] is NaN: query 0 may not attend to it and is clean, query 1 may and is NaN."""
    v = [[1.0, 2.0], [np.nan, 5.0]]
    trace = attend(np.ones((2, 1)), np.ones((2, 1)), v, Options(causal="top-left"))
    np.testing.assert_array_equal(trace.output, [[1, 2], [np.nan, 3.5]])


def test_visible_wild_values_mix_as_ieee_arithmetic_says() -> None:
    """w·∞ = ∞, ∞ − ∞ = NaN, 0·∞ = NaN (a weight that underflowed to 0 is not masked), NaN spreads."""
    inf = np.inf
    v = [[inf, inf, 1, inf, np.nan], [1, -inf, -inf, 2, 1], [1, 1, 1, 3, 1]]
    q = [[0.0], [1.0]]  # the second query has weights 0, 1, 0
    k = [[0.0], [2000.0], [0.0]]
    trace = attend(q, k, v, Options(scale=1.0))
    np.testing.assert_array_equal(trace.weights[1], [0, 1, 0])
    np.testing.assert_array_equal(trace.output[0], [inf, np.nan, -inf, inf, np.nan])
    np.testing.assert_array_equal(trace.output[1], [np.nan, np.nan, -inf, np.nan, np.nan])


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_a_visible_wild_key_spoils_its_rows_but_no_masked_weight(poison: float) -> None:
    k = np.array([[poison], [1.0], [2.0]])
    trace = attend([[1.0], [1.0]], k, np.ones((3, 1)), keep=[[True, True, False], [False, True, True]])
    assert trace.weights[0, 2] == 0
    assert trace.weights[1, 0] == 0
    assert np.isfinite(trace.output[1]).all()
    assert np.isnan(trace.output[0, 0]) == (poison != -np.inf)
    alone = attend([[1.0]], [[poison], [1.0]], np.ones((2, 1)), keep=[[True, False]])
    assert np.isnan(alone.weights[0, 0])
    assert alone.exponentials[0, 1] == alone.weights[0, 1] == 0


def test_a_masked_query_row_of_nan() -> None:
    trace = attend([[np.nan], [1.0]], [[1.0]], [[3.0]], keep=[[False], [True]])
    np.testing.assert_array_equal(trace.output, [[0], [3]])
