"""Sinusoidal positions against the formula of Vaswani et al. 2017, §3.5."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attention_lab.core import LabError, sinusoidal


def test_formula() -> None:
    table = sinusoidal(50, 6)
    assert table.shape == (50, 6)
    for position in range(50):
        for i in range(3):
            angle = position / 10000 ** (2 * i / 6)
            assert table[position, 2 * i] == pytest.approx(math.sin(angle), abs=1e-15)
            assert table[position, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-15)


def test_first_rows() -> None:
    np.testing.assert_allclose(sinusoidal(2, 2), [[0, 1], [math.sin(1), math.cos(1)]], rtol=1e-15)
    np.testing.assert_allclose(sinusoidal(1, 3), [[0, 1, 0]])


def test_start_and_base() -> None:
    np.testing.assert_array_equal(sinusoidal(3, 4, start=5), sinusoidal(8, 4)[5:])
    assert sinusoidal(3, 4, base=100.0)[1, 2] == pytest.approx(math.sin(0.1), abs=1e-15)


def test_a_shift_is_a_rotation() -> None:
    """The dot product of two positions depends on their distance alone: Σ cos((p − q)/base^(2i/d))."""
    table = sinusoidal(40, 8)
    assert table[3] @ table[10] == pytest.approx(table[23] @ table[30], abs=1e-13)


@pytest.mark.parametrize("arguments", [(0, 4), (4, 0)])
def test_errors(arguments: tuple[int, int]) -> None:
    with pytest.raises(LabError, match="length and d must be 1 or more"):
        sinusoidal(*arguments)
