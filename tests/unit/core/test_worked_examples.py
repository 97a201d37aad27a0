"""Published worked examples and expected results from other projects' tests, number by number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attention_lab.core import Options, attend

I2 = [[1, 0], [0, 1]]


def near(got: Any, expected: Any, tolerance: float = 5e-7) -> None:
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)


def test_one_query_two_keys() -> None:
    """q·k = 1 and 0, divided by √2 = 1.414214; e^0.707107 = 2.028115, so 2.028115 / 3.028115 = 0.669762."""
    trace = attend([[1, 0]], I2, [[1, 2], [3, 4]])
    near(trace.scores, [[1, 0]])
    near(trace.scaled, [[0.707107, 0]])
    near(trace.row_max, [0.707107])
    near(trace.exponentials, [[1, 0.493069]])
    near(trace.denominators, [1.493069])
    near(trace.log_sum_exp, [1.107940])
    near(trace.weights, [[0.669762, 0.330238]])
    near(trace.output, [[1.660477, 2.660477]])


def test_opening_example_of_the_calculator() -> None:
    trace = attend(I2, I2, [[1, 2], [3, 4]])
    near(trace.output, [[1.6605, 2.6605], [2.3395, 3.3395]], 5e-5)


def test_causal_identity() -> None:
    """The first query sees one key only; the second has weights 0.330238 and 0.669762."""
    trace = attend(I2, I2, I2, Options(causal="top-left"))
    near(trace.output, [[1, 0], [0.330238, 0.669762]])
    near(trace.weights, trace.output)


def test_negative_query() -> None:
    """S = −0.5 − 1 = −1.5 and −1 + 2 = 1; e^(−2.5/√2) = 0.1707138, so 0.1707138 / 1.1707138 = 0.145820."""
    trace = attend([[-1, -2]], [[0.5, 0.5], [1, -1]], [[2, 0], [0, 2]])
    near(trace.scores, [[-1.5, 1]])
    near(trace.scaled, [[-1.060660, 0.707107]])
    near(trace.weights, [[0.145820, 0.854180]])
    near(trace.output, [[0.291640, 1.708360]])
    near(trace.output, [[0.2916404999872387, 1.7083595000127614]], 1e-15)


FIRST_ONLY = [[True, False], [True, False]]
TWELFTHS = (np.array([[3, 4], [7, 8], [11, 12]]) / 12).tolist()  # NNlib numbers its entries in twelfths
OTHERS: dict[str, dict[str, Any]] = {
    "Keras attention_test.py, test_attention_with_mask": {
        "qkv": (I2, [[1, 1], [1, 1]], [[1, 1], [1, 1]]),
        "options": Options(scale=1.0), "keep": FIRST_ONLY, "weights": [[1, 0], [1, 0]], "atol": 1e-6,
    },
    "Burn module_attention, its mask [[F, T], [F, T]] with True = mask out": {
        "qkv": (I2, I2, [[1, 2], [3, 4]]),
        "options": Options(), "keep": FIRST_ONLY, "output": [[1, 2], [1, 2]], "atol": 1e-6,
    },
    # The published third weight of the last row, 0.4898013305787966, has a wrong digit: its row does not sum to 1.
    "NNlib.jl test/attention.jl, specific results, head 2": {
        "qkv": (TWELFTHS, TWELFTHS, TWELFTHS),
        "options": Options(), "atol": 2e-9,
        "weights": [[0.2886914482847165, 0.33124273666190807, 0.3800658150533755],
                    [0.24123865285082136, 0.3238934260675431, 0.43486792108163547],
                    [0.19843756656539277, 0.31176110185581074, 0.4898013305787966]],
        "output": [[0.6137914555895531, 0.6971247889228864],
                   [0.6478764227436047, 0.731209756076938],
                   [0.6804545876711346, 0.763787921004468]],
    },
    "TensorFlow transformer tutorial, first query": {
        "qkv": ([[0, 10, 0]], [[10, 0, 0], [0, 10, 0], [0, 0, 10], [0, 0, 10]],
                [[1, 0], [10, 0], [100, 5], [1000, 6]]),
        "options": Options(), "output": [[10, 0]], "atol": 1e-4,
    },
    "deep-sets test_attention.py without a mask": {
        "qkv": ([[0, 10, 0]], [[3, 0, 0], [0, 10, 0], [0, 0, 4], [0, 0, 1]], [[5, 9], [2, 6], [5, 3], [5, 3]]),
        "options": Options(), "output": [[2, 6]], "atol": 1e-4,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_numbers_of_other_projects(name: str) -> None:
    example = OTHERS[name]
    trace = attend(*example["qkv"], example["options"], keep=example.get("keep"))
    for stage in ("weights", "output"):
        if stage in example:
            near(getattr(trace, stage), example[stage], example["atol"])
