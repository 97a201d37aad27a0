"""Twelve wrong outputs that releases 1.18 and 1.21 of the onnx package published for their own Attention tests.

Each is explained by name from the output alone. The inputs are the package's own: float32 numbers of numpy's legacy
generator with seed 0, drawn in the order of the operator's inputs; a marked test compares them with the package.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attention_lab.core import Options, attend
from attention_lab.diagnosis import diagnose

ERRATA: list[dict[str, Any]] = json.loads((Path(__file__).parent / "onnx_errata.json").read_text())["errata"]
HEAD, VALUES = 8, {"diff_heads_sizes": 10}
QUERIES, KEYS, PAST = 4, 6, 12
Array = NDArray[np.float32]


def inputs(erratum: dict[str, Any]) -> dict[str, Array]:
    """Q, K, V and, where the case has them, the mask (a float bias) and the past keys and values."""
    case, attributes = erratum["case"], erratum["attributes"]
    dv = 10 if "diff_heads_sizes" in case else HEAD
    past = "past" in case
    if "_4d_" in case:
        shapes = {"Q": (2, 3, QUERIES, HEAD), "K": (2, 3, KEYS, HEAD), "V": (2, 3, KEYS, dv)}
    else:
        q, kv = attributes["q_num_heads"], attributes["kv_num_heads"]
        shapes = {"Q": (2, QUERIES, q * HEAD), "K": (2, KEYS, kv * HEAD), "V": (2, KEYS, kv * dv)}
    if past or "_4d_" in case:
        shapes["attn_mask"] = (QUERIES, KEYS + (PAST if past else 0))
    if past:
        shapes["past_key"] = shapes["past_value"] = (2, 3, PAST, HEAD)
    generator = np.random.RandomState(0)
    return {name: generator.rand(*shape).astype(np.float32) for name, shape in shapes.items()}


def problem(erratum: dict[str, Any]) -> tuple[Array, Array, Array, Options, Array | None]:
    given, attributes = inputs(erratum), erratum["attributes"]
    k, v = given["K"], given["V"]
    if "past_key" in given:  # cached keys come with their heads apart
        k, v = (
            np.concatenate([given[past].transpose(0, 2, 1, 3).reshape(2, PAST, -1), new], 1)
            for past, new in (("past_key", k), ("past_value", v))
        )
    heads = (attributes["q_num_heads"], attributes["kv_num_heads"]) if "q_num_heads" in attributes else None
    options = Options(
        heads=heads,
        softcap=attributes.get("softcap"),
        causal="top-left" if attributes.get("is_causal") else None,
    )
    return given["Q"], k, v, options, given.get("attn_mask")


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: erratum["case"])
@pytest.mark.parametrize("digits", [None, 4])
def test_a_published_wrong_output_is_explained(erratum: dict[str, Any], digits: int | None) -> None:
    q, k, v, options, bias = problem(erratum)
    old = np.array(erratum["output"])
    result = diagnose(
        q, k, v, old if digits is None else np.round(old, digits), options, bias=bias, digits=digits
    )
    assert result.verdict == "mistake"
    assert result.stage == "output"
    assert result.matches[0].split("+") == erratum["mistakes"], result.message
    assert result.detail.endswith("after 12 cached keys") == ("past" in erratum["case"])


@pytest.mark.parametrize(
    "erratum", [one for one in ERRATA if "_3d_" in one["case"]], ids=lambda erratum: erratum["case"]
)
def test_it_is_explained_with_heads_given_apart_as_well(erratum: dict[str, Any]) -> None:
    q, k, v, options, bias = problem(erratum)
    assert options.heads is not None
    q, k, v = (
        x.reshape(2, x.shape[1], count, -1).transpose(0, 2, 1, 3)
        for x, count in zip((q, k, v), (options.heads[0], options.heads[1], options.heads[1]), strict=True)
    )
    apart = Options(softcap=options.softcap, causal=options.causal)
    result = diagnose(q, k, v, erratum["output"], apart, bias=bias)
    assert result.matches[0].split("+") == erratum["mistakes"]


def test_there_are_twelve() -> None:
    assert len(ERRATA) == 12
    assert sorted({id for erratum in ERRATA for id in erratum["mistakes"]}) == ["C2", "H1", "H3"]


@pytest.mark.needs_onnx
def test_the_inputs_are_those_of_the_package_and_its_present_outputs_are_right() -> None:
    onnx = pytest.importorskip("onnx", reason="compares with the test data of the onnx package")
    from onnx.backend.test.case.node import collect_testcases

    cases = {case.name: case for case in collect_testcases("Attention")}
    for erratum in ERRATA:
        case = cases[erratum["case"]]
        (given, published), *_ = case.data_sets
        for name, array in zip([value.name for value in case.model.graph.input], given, strict=True):
            np.testing.assert_array_equal(inputs(erratum)[name], array)
        q, k, v, options, bias = problem(erratum)
        np.testing.assert_allclose(
            attend(q, k, v, options, bias=bias).output, published[0], rtol=1e-3, atol=1e-6
        )
        result = diagnose(q, k, v, np.asarray(published[0], float), options, bias=bias)
        assert result.verdict in ("match", "rounding")
    assert onnx.__version__
