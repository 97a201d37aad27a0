"""All Attention cases that the ONNX project publishes for implementers, run through attend().

The onnx package makes its cases when it is asked for them: 93 models of one node in onnx 1.23.2, opset 23 to 25.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.needs_onnx

CASES = 93
TOLERANCES = {"float32": (1e-3, 1e-7), "float16": (2e-3, 1e-5), "bfloat16": (1.6e-2, 1e-3)}


@cache
def cases() -> dict[str, Any]:
    """Every case that consists of the operator itself; `_expanded` ones spell it out in other operators."""
    pytest.importorskip("onnx", reason="the onnx package holds the cases; `build.py test` installs it")
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other operators' cases overflow on purpose while they are made
        found = collect_testcases("Attention")
    return {
        case.name: case for case in found if [node.op_type for node in case.model.graph.node] == ["Attention"]
    }


def compare(case: Any) -> None:
    import onnx
    from onnx_adapter import attention

    node = case.model.graph.node[0]
    attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    rtol, atol = TOLERANCES[case.data_sets[0][0][0].dtype.name]
    for given, expected in case.data_sets:
        inputs = dict(zip((name for name in node.input if name), given, strict=True))
        results = attention(inputs, attributes)
        for name, values in zip((name for name in node.output if name), expected, strict=True):
            assert results[name].shape == values.shape, f"{case.name}: shape of {name}"
            np.testing.assert_allclose(
                results[name], values.astype(np.float64), rtol, atol, err_msg=f"{case.name}: {name}"
            )


def test_the_package_still_holds_every_case() -> None:
    assert len(cases()) >= CASES
    opsets = {case.model.opset_import[0].version for case in cases().values()}
    assert opsets >= {23, 24, 25}


@pytest.mark.parametrize("number", range(CASES))
def test_case(number: int) -> None:
    names = sorted(cases())
    compare(cases()[names[number]])


def test_cases_beyond_the_known_ones() -> None:
    """A newer package may publish more; they must hold as well."""
    for name in sorted(cases())[CASES:]:
        compare(cases()[name])
