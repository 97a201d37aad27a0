"""Every refusal: its class, the field it belongs to, and a message with what was expected and what came."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import problems

from attention_lab.core import LabError, Options, ShapeError, attend
from attention_lab.core.errors import DtypeError, LimitError, OptionError, OverflowLabError

ONE = [[1.0]]
I2 = np.eye(2)


@pytest.mark.parametrize(
    ("settings", "field", "message"),
    [
        ({"scale": "sqrt"}, "scale", """scale must be "sqrt_dk", "none" or a finite number; got 'sqrt'"""),
        ({"scale": np.nan}, "scale", "got nan"),
        ({"scale": np.inf}, "scale", "got inf"),
        ({"scale": True}, "scale", "got True"),
        ({"scale": None}, "scale", "got None"),
        ({"scale": 1j}, "scale", "got 1j"),
        ({"temperature": 0}, "T", "temperature must be a finite number above 0; got 0"),
        ({"temperature": -1.0}, "T", "got -1.0"),
        ({"temperature": "2"}, "T", "got '2'"),
        ({"temperature": 10**400}, "T", "got 1000"),
        ({"softcap": 0.0}, "softcap", "softcap must be a finite number above 0, or None for no cap; got 0.0"),
        ({"causal": "left"}, "causal", """causal must be None, "top-left", "bottom-right" or a whole offset; got"""),
        ({"causal": True}, "causal", "got True"),
        ({"causal": 1.0}, "causal", "got 1.0"),
        ({"causal": 10**30}, "causal", "got 1000"),
        ({"window": 3}, "window", "window must be (left, right): whole, 0 or more, None for an open side; got 3"),
        ({"window": (1, 2, 3)}, "window", "got (1, 2, 3)"),
        ({"window": (-1, 0)}, "window", "got (-1, 0)"),
        ({"window": (0.5, 0)}, "window", "got (0.5, 0)"),
        ({"lengths": ()}, "lengths", "the valid keys of each batch entry, whole, 0 or more; got ()"),
        ({"lengths": (2, -1)}, "lengths", "got (2, -1)"),
        ({"lengths": 2.5}, "lengths", "got 2.5"),
        ({"heads": (3, 2)}, "heads", "heads must be (query heads, key/value heads), the second dividing the first"),
        ({"heads": 4}, "heads", "got 4"),
        ({"heads": (0, 0)}, "heads", "got (0, 0)"),
        ({"empty_row": "ones"}, "empty", "empty_row must be \"zero\", \"nan\" or \"uniform\"; got 'ones'"),
        ({"precision": "int8"}, "precision", "one of float64, float32, float16, bfloat16; got 'int8'"),
    ],
)  # fmt: skip
def test_options(settings: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)) as error:
        Options(**settings)
    assert error.value.field == field


def test_options_take_what_numpy_and_json_give() -> None:
    options = Options(scale=np.float32(0.5), causal=np.int64(2), window=[1, None], lengths=np.array([1, 2]),
                      heads=[4, 2], temperature=2)  # fmt: skip
    assert options == Options(0.5, 2.0, None, 2, (1, None), (1, 2), (4, 2))
    assert Options(lengths=3).lengths == (3,)
    assert hash(options) == hash(Options(0.5, 2.0, None, 2, (1, None), (1, 2), (4, 2)))
    assert type(options.scale) is float
    assert type(options.causal) is int


@pytest.mark.parametrize(
    ("arguments", "kind", "field", "message"),
    [
        ({"q": [[1, 2], [3]]}, ShapeError, "q", "Q must be rectangular; its rows differ in length"),
        ({"k": [["1"]]}, DtypeError, "k", "K must hold real numbers; got <U1"),
        ({"v": [[None]]}, DtypeError, "v", "V must hold real numbers; got object"),
        ({"q": [[1j]]}, DtypeError, "q", "Q must hold real numbers; got complex128"),
        ({"q": [[True]]}, DtypeError, "q", "Q must hold real numbers; got bool"),
        ({"q": [1.0]}, ShapeError, "q", "Q must have rows and columns (2 axes); its shape is (1,)"),
        ({"v": 3}, ShapeError, "v", "V must have rows and columns (2 axes); its shape is ()"),
        ({"k": np.ones((0, 1))}, ShapeError, "k", "K is empty: its shape is (0, 1)"),
        ({"q": np.ones((2, 0))}, ShapeError, "q", "Q is empty: its shape is (2, 0)"),
        ({"k": [[1.0, 2.0, 3.0]]}, ShapeError, "k", "K has 3 columns, Q has 1: both need dₖ columns"),
        ({"v": np.ones((3, 1))}, ShapeError, "v", "V has 3 rows, K has 1: every key needs one value"),
        ({"keep": [[0.0]]}, DtypeError, "keep", "keep must hold booleans, True = may attend (numbers to add to the "
         "scores are a bias); got float64"),
        ({"keep": [[2]]}, DtypeError, "keep", "got int64 other than 0 and 1"),
        ({"keep": [[True, True]]}, ShapeError, "keep", "keep must have shape (1, 1) (queries, keys) or broadcast to "
         "the scores (1, 1); its shape is (1, 2)"),
        ({"keep": True}, ShapeError, "keep", "its shape is ()"),
        ({"keep": [[True], []]}, ShapeError, "keep", "keep must be rectangular"),
        ({"bias": [["x"]]}, DtypeError, "bias", "bias must hold numbers to add to the scores, finite or −∞; got <U1"),
        ({"bias": [[True]]}, DtypeError, "bias", "got bool"),
        ({"bias": [[np.nan]]}, DtypeError, "bias", "bias must be finite or −∞; bias[0, 0] is nan"),
        ({"bias": [[np.inf]]}, DtypeError, "bias", "bias[0, 0] is inf"),
        ({"bias": np.zeros((2, 1, 1))}, ShapeError, "bias", "its shape is (2, 1, 1)"),
        ({"options": Options(lengths=2)}, ShapeError, "lengths", "lengths must be at most 1, the number of keys; got 2"),
        ({"options": Options(lengths=(1, 1))}, ShapeError, "lengths",
         "lengths must hold one number, or one for each of 1 batch entries; got 2"),
        ({"limit": 0}, LimitError, None, "1 × 1 = 1 scores (leading axes × queries × keys) are more than the limit of 0"),
    ],
)  # fmt: skip
def test_arguments(arguments: dict[str, Any], kind: type[LabError], field: str | None, message: str) -> None:
    if np.dtype(int).itemsize == 4:  # 32-bit Python, as in the page
        message = message.replace("int64", "int32")
    with pytest.raises(kind, match=re.escape(message)) as error:
        attend(**{"q": ONE, "k": ONE, "v": ONE, **arguments})
    assert error.value.field == field
    assert isinstance(error.value, LabError)


def test_the_limit_is_checked_before_anything_is_made() -> None:
    """4000 × 4000 is 16 million and allowed; 4001 queries are not. Views of one number keep this test small."""
    wide = np.broadcast_to(1.0, (4001, 1))
    with pytest.raises(
        LimitError, match=r"4001 × 4000 = 16,004,000 scores .* are more than the limit of 16,000,000"
    ):
        attend(wide, wide[:4000], wide[:4000])
    with pytest.raises(LimitError, match=r"2 × 8 × 100 × 100 = 160,000 scores"):
        attend(np.ones((2, 8, 100, 1)), np.ones((100, 1)), np.ones((100, 1)), limit=159_999)
    with pytest.raises(LimitError, match="4,000,000"):
        attend(wide, wide, wide, limit=4_000_000)


@pytest.mark.parametrize(
    ("q", "k", "options", "field", "cell", "start"),
    [
        ([[1.0], [1e200]], [[1.0], [1e200]], {}, "q", (1, 1), "scores[1, 1] is beyond float64"),
        ([[1e200, 1e200]], [[1e200, -1e200]], {}, "q", (0, 0), "scores[0, 0]"),  # ∞ − ∞ is NaN
        ([[1e160]], [[1e100]], {"scale": 1e100}, "scale", (0, 0), "scaled[0, 0]"),
        ([[1e160]], [[1e140]], {"temperature": 1e-10}, "T", (0, 0), "tempered[0, 0]"),
        ([[1e20]], [[1e20]], {"precision": "float32"}, "q", (0, 0), "scores[0, 0] is beyond float32"),
        ([[1e200]], [[1e20]], {"precision": "float32"}, "q", (0, 0), "Q[0, 0] is beyond float32"),
        ([[1.0]], [[1.0], [70000.0]], {"precision": "float16"}, "k", (1, 0), "K[1, 0] is beyond float16, whose largest "
         "number is 6.55e+04"),
        ([[3.4e38]], [[1.0]], {"precision": "bfloat16"}, "q", (0, 0), "Q[0, 0] is beyond bfloat16"),
    ],
)  # fmt: skip
def test_finite_inputs_that_overflow(q: Any, k: Any, options: dict[str, Any], field: str, cell: tuple[int, ...],
                                     start: str) -> None:  # fmt: skip
    with pytest.raises(OverflowLabError, match=re.escape(start)) as error:
        attend(q, k, np.ones((len(k), 1)), Options(**options))
    assert (error.value.field, error.value.cell) == (field, cell)
    assert "indices count from 0" in str(error.value)


def test_values_and_bias_that_overflow() -> None:
    with pytest.raises(OverflowLabError, match=r"V\[1, 0\] is beyond float16") as error:
        attend(ONE, np.ones((2, 1)), [[1.0], [1e5]], Options(precision="float16"))
    assert error.value.field == "v"
    with pytest.raises(OverflowLabError, match=r"bias\[0, 0\] is beyond float32") as error:
        attend(ONE, ONE, ONE, Options(precision="float16"), bias=[[-1e300]])
    assert error.value.field == "bias"
    with pytest.raises(OverflowLabError, match=r"biased\[0, 0\] is beyond float64"):
        attend([[1e200]], [[1e108]], ONE, Options(scale=1.0), bias=[[1.7e308]])
    with pytest.raises(OverflowLabError, match=r"output\[0, 0\] is beyond float64"):
        attend(np.zeros((1, 1)), np.zeros((11, 1)), np.full((11, 1), np.finfo(float).max))  # 11·fl(1/11) > 1


@pytest.mark.parametrize("precision", ["float64", "float32", "float16", "bfloat16"])
def test_masked_numbers_may_overflow(precision: Any) -> None:
    """The same numbers behind a mask are no error, and change nothing."""
    q, k, v = [[1e200], [1.0]], [[1e200], [1.0]], [[1e300], [5.0]]
    keep = [[False, False], [False, True]]
    trace = attend(q, k, v, Options(precision=precision), keep=keep)
    np.testing.assert_array_equal(trace.output, [[0], [5]])


@pytest.mark.parametrize("field", ["scale", "temperature", "softcap"])
def test_settings_that_float32_cannot_hold(field: str) -> None:
    for value in (1e-60, 1e60):
        with pytest.raises(OptionError, match="does not fit float32, the type of the scores"):
            attend(ONE, ONE, ONE, Options(**{field: value}, precision="float16"))
        attend(ONE, ONE, ONE, Options(**{field: value}))


def test_inputs_that_are_not_finite_are_no_error() -> None:
    for wild in (np.nan, np.inf, -np.inf):
        trace = attend([[wild], [1.0]], [[1.0], [2.0]], [[3.0], [wild]], keep=[[True, True], [True, False]])
        assert trace.output[1, 0] == 3
        assert np.isnan(trace.output[0, 0])


@given(
    problems(), st.sampled_from((1e308, -1e308, 1e154, 1e-320, 5e-324, np.nan, np.inf, -np.inf)), st.data()
)
def test_any_number_anywhere_gives_a_result_or_a_lab_error(
    problem: dict[str, Any], wild: float, data: Any
) -> None:
    """Never a Python error, and never a NaN from finite numbers."""
    name = data.draw(st.sampled_from("qkv"))
    array = problem[name]
    at = tuple(data.draw(st.integers(0, size - 1)) for size in array.shape)
    array[at] = wild
    try:
        trace = attend(**problem)
    except OverflowLabError as error:
        assert np.isfinite(wild)
        assert error.cell
        return
    if np.isfinite(wild) and problem["options"].empty_row != "nan":
        assert np.isfinite(trace.output).all()
        assert np.isfinite(trace.weights).all()
    assert (trace.weights[~trace.mask & ~trace.empty_rows[:, None]] == 0).all()
    assert not np.isnan(trace.stable_vs_naive)


@pytest.mark.parametrize("options", [None, {"causal": "top-left"}, "causal"])
def test_options_of_another_type_are_refused(options: Any) -> None:
    with pytest.raises(LabError, match=r"options must be Options\(…\); got"):
        attend([[1.0]], [[1.0]], [[1.0]], options)
