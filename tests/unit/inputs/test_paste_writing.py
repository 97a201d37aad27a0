"""What the page writes into its fields and into the URL fragment reads back exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attention_lab.inputs.paste import format_compact, format_matrix, parse_matrix

ANY = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.float16, np.int64, np.bool_]),
    hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4),
)


@given(array=ANY)
@example(array=np.array([[1, 12], [3, 456]]))  # “1,12;3,456” must not be taken for decimal commas
@example(array=np.array([[1, 500], [2, 0]]))
def test_reads_back_exactly(array: np.ndarray) -> None:  # type: ignore[type-arg]
    """Every bit of every float, also -0.0, nan and inf; booleans stay booleans; integers within 2⁵³."""
    expected = np.atleast_2d(array if array.dtype == np.bool_ else array.astype(np.float64))
    for write in (format_matrix, format_compact):
        parsed = parse_matrix(write(array))
        assert parsed.values.dtype == expected.dtype
        np.testing.assert_array_equal(parsed.values, expected)
        if expected.dtype != np.bool_:
            finite = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(parsed.values[finite]), np.signbit(expected[finite]))
        assert parsed.alternatives == ()


def test_looks_as_a_person_writes() -> None:
    assert format_matrix([[1.0, 0.5], [-0.0, 1e-5]]) == "1 0.5\n-0 1e-05"
    assert format_compact([[1.0, 0.5], [0.0, 1e22]]) == "1,0.5;0,1e+22"
    assert format_matrix([[True, False]]) == "True False"
    assert format_compact(np.ones((1, 2, 1))) == "[[[1],[1]]]"


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 1), (64, 64), (300, 300)])
def test_large_matrices_read_back(shape: tuple[int, int]) -> None:
    """Also above the length where the whole-array reader takes over."""
    array = np.random.default_rng(1).normal(size=shape)
    np.testing.assert_array_equal(parse_matrix(format_matrix(array)).values, array)
    np.testing.assert_array_equal(parse_matrix(format_compact(array)).values, array)
