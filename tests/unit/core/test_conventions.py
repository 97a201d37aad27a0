"""Conventions of frameworks as data.

The expected values were measured with the released packages (PyTorch 2.13.0, JAX 0.10.2, Keras 3.15.1, Flax 0.12.8,
MLX 0.32.4, ONNX 1.23.2, ONNX Runtime 1.32.0, transformers 5.24.0) or read in their documentation.
"""

from __future__ import annotations

import numpy as np
import pytest

from attention_lab.core import LabError, Options, attend
from attention_lab.core.conventions import convention, conventions

RNG = np.random.default_rng(14)
Q, K, V = RNG.standard_normal((2, 4)), RNG.standard_normal((5, 4)), RNG.standard_normal((5, 3))
#                     causal          True means  empty row  by −∞ bias  default scale
MEASURED = {
    "torch":           ("top-left",     "keep",     "zero",    "zero",   "sqrt_dk"),
    "torch-mha":       (None,           "mask out", "nan",     "nan",    "sqrt_dk"),
    "jax":             ("top-left",     "keep",     "uniform", "nan",    "sqrt_dk"),
    "flax":            (None,           "keep",     "uniform", None,     "sqrt_dk"),
    "keras-attention": ("top-left",     "keep",     "uniform", None,     "none"),
    "keras-mha":       ("top-left",     "keep",     "zero",    None,     "sqrt_dk"),
    "flash-attention": ("bottom-right", None,       "zero",    "zero",   "sqrt_dk"),
    "xformers":        ("top-left",     None,       None,      None,     "sqrt_dk"),
    "mlx":             ("bottom-right", "keep",     "uniform", "nan",    None),
    "onnx":            ("top-left",     "keep",     "zero",    "zero",   "sqrt_dk"),
    "onnxruntime":     ("top-left",     "keep",     "zero",    "zero",   "sqrt_dk"),
    "transformers":    (None,           "keep",     "uniform", None,     "sqrt_dk"),
    "openvino":        ("top-left",     "keep",     "nan",     "nan",    "sqrt_dk"),
    "burn":            (None,           "mask out", None,      None,     "sqrt_dk"),
}  # fmt: skip


def test_the_data() -> None:
    assert list(conventions()) == list(MEASURED)
    for name, facts in MEASURED.items():
        rule = convention(name)
        assert (rule.causal, rule.true_means, rule.empty_row, rule.empty_row_bias, rule.scale) == facts, name
        assert rule.source
    assert [rule.id for rule in conventions().values() if rule.causal_drops_mask] == ["openvino"]


@pytest.mark.parametrize("name", MEASURED)
def test_options_for_every_framework(name: str) -> None:
    causal, _, empty, _, scale = MEASURED[name]
    options = Options.for_framework(name)
    assert options == Options(scale=scale or "sqrt_dk", empty_row=empty or "zero")
    assert Options.for_framework(name, causal=True).causal == (causal or "top-left")
    attend(Q, K, V, options)


def test_other_settings_of_a_framework() -> None:
    options = Options.for_framework("jax", causal=2, window=(1, 1), empty_row="zero", scale=0.5)
    assert options == Options(causal=2, window=(1, 1), scale=0.5)
    assert Options.for_framework("pytorch") == Options.for_framework("torch")


def test_an_unknown_framework() -> None:
    with pytest.raises(
        LabError, match=r"framework must be one of torch, torch-mha, jax, .*; got 'pandas'"
    ) as error:
        Options.for_framework("pandas")
    assert error.value.field == "framework"
