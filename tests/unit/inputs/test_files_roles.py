"""Which array is Q, K, V, mask or result, and in which order its axes are."""

from __future__ import annotations

import numpy as np
import pytest

from attention_lab.inputs.roles import assign_roles, guess_layout, heads_first

NAMES = {
    "paper": (["Q", "K", "V", "O"], {"q": "Q", "k": "K", "v": "V", "out": "O"}),
    "words": (["query", "key", "value", "mask", "output"],
              {"q": "query", "k": "key", "v": "value", "mask": "mask", "out": "output"}),
    "hugging face": (["query_states", "key_states", "value_states", "attention_mask", "attn_output", "attn_weights"],
                     {"q": "query_states", "k": "key_states", "v": "value_states", "mask": "attention_mask",
                      "out": "attn_output", "weights": "attn_weights"}),
    "onnx": (["Q", "K", "V", "attn_mask", "Y", "qk_matmul_output"],
             {"q": "Q", "k": "K", "v": "V", "mask": "attn_mask", "out": "Y", "scores": "qk_matmul_output"}),
    "flash": (["q", "k", "v", "out", "softmax_lse"], {"q": "q", "k": "k", "v": "v", "out": "out", "lse": "softmax_lse"}),
    "scores and weights": (["scores", "weights"], {"scores": "scores", "weights": "weights"}),
    "short": (["S", "P", "lse"], {"scores": "S", "weights": "P", "lse": "lse"}),
    "long": (["attention_scores", "attention_probs", "log_sum_exp", "context_layer", "alibi"],
             {"scores": "attention_scores", "weights": "attention_probs", "lse": "log_sum_exp",
              "out": "context_layer", "bias": "alibi"}),
    "paths": (["layer.3.attn.q", "layer.3.attn.k", "layer.3.attn.v"],
              {"q": "layer.3.attn.q", "k": "layer.3.attn.k", "v": "layer.3.attn.v"}),
    "numbered": (["q0", "k_0", "V-1"], {"q": "q0", "k": "k_0", "v": "V-1"}),
    "suffixes": (["q_np", "k_tensor", "v_matrix"], {"q": "q_np", "k": "k_tensor", "v": "v_matrix"}),
    "best name wins": (["queries", "q", "x"], {"q": "q"}),
    "parameters are not activations": (["q_proj.weight", "k_proj.weight", "out_proj.bias", "q"], {"q": "q"}),
    "gradients and caches": (["dq", "q_grad", "grad.k", "past.k", "v_cache", "present.v"], {}),
    "nothing known": (["x", "foo", "", ".", "arr_0"], {}),
    "code": (["__proto__", "q'; drop", "k<script>"], {}),
}  # fmt: skip


@pytest.mark.parametrize("kind", NAMES)
def test_roles_by_name(kind: str) -> None:
    names, roles = NAMES[kind]
    assert assign_roles(names) == roles


def test_each_role_and_each_name_once() -> None:
    roles = assign_roles(["q", "query", "Q", "queries"])
    assert roles == {"q": "q"}


def test_float_masks_are_biases() -> None:
    """A float mask with other entries than 0 and 1 is added to the scores."""
    additive = {"mask": np.array([[0.0, -np.inf]])}
    assert assign_roles(list(additive), additive) == {"bias": "mask"}
    for keep in (np.array([[True, False]]), np.array([[1, 0]]), np.array([[1.0, 0.0]])):
        assert assign_roles(["mask"], {"mask": keep}) == {"mask": "mask"}


def test_scalars_have_no_role() -> None:
    arrays = {"q": np.ones((2, 2)), "k": np.float64(0.5)[()] * np.ones(())}
    assert assign_roles(list(arrays), arrays) == {"q": "q"}


def test_positional_arrays_of_savez() -> None:
    """numpy.savez(file, q, k, v, out) names them arr_0 … arr_3; shapes must fit."""
    arrays = {
        "arr_0": np.ones((4, 3)),
        "arr_1": np.ones((5, 3)),
        "arr_2": np.ones((5, 2)),
        "arr_3": np.ones((4, 2)),
    }
    assert assign_roles(list(arrays), arrays) == {"q": "arr_0", "k": "arr_1", "v": "arr_2", "out": "arr_3"}
    arrays["arr_1"] = np.ones((5, 4))
    assert assign_roles(list(arrays), arrays) == {}


LAYOUTS = {
    "two axes": (((5, 3), None), {}, "ld", 1.0),
    "few heads first": (((1, 8, 128, 64), None), {}, "bhld", 0.9),
    "few heads last": (((1, 128, 8, 64), None), {}, "blhd", 0.9),
    "a little fewer": (((1, 8, 12, 64), None), {}, "bhld", 0.65),
    "same": (((1, 8, 8, 64), None), {}, "bhld", 0.5),
    "other key length": (((2, 4, 5, 8), (2, 4, 7, 8)), {}, "bhld", 1.0),
    "other key length, heads last": (((2, 5, 4, 8), (2, 7, 4, 8)), {}, "blhd", 1.0),
    "grouped heads": (((2, 8, 6, 8), (2, 2, 6, 8)), {}, "bhld", 0.8),
    "grouped heads last": (((2, 6, 8, 8), (2, 6, 2, 8)), {}, "blhd", 0.8),
    "weights decide": (((1, 8, 8, 4), (1, 8, 9, 4)), {"weights": (1, 8, 8, 9)}, "bhld", 1.0),
    "weights decide against sizes": (((1, 6, 4, 8), (1, 6, 4, 8)), {"weights": (1, 6, 4, 4)}, "bhld", 1.0),
    "log-sum-exp decides": (((1, 6, 4, 8), (1, 6, 4, 8)), {"lse": (1, 6, 4)}, "bhld", 1.0),
    "mask decides": (((1, 6, 4, 8), (1, 6, 4, 8)), {"mask": (4, 4)}, "bhld", 1.0),
    "mask of heads decides": (((1, 4, 6, 8), (1, 4, 6, 8)), {"mask": (1, 6, 4, 4)}, "blhd", 1.0),
    "nothing fits": (((1, 6, 4, 8), (1, 5, 7, 8)), {}, "bhld", 0.5),
    "three axes": (((2, 50, 8), None), {}, "hld", 0.9),
    "three axes, length first": (((50, 2, 8), None), {}, "lhd", 0.9),
    "three axes, key length": (((3, 5, 8), (3, 7, 8)), {}, "hld", 1.0),
    "three axes, key length first": (((5, 3, 8), (7, 3, 8)), {}, "lhd", 1.0),
    "five axes": (((1, 1, 2, 3, 4), None), {}, "bhld", 0.5),
}


@pytest.mark.parametrize("kind", LAYOUTS)
def test_layout(kind: str) -> None:
    (q, k), others, layout, confidence = LAYOUTS[kind]
    guess = guess_layout(q, k, **others)
    assert (guess.layout, guess.confidence) == (layout, confidence)
    assert guess.reason.endswith(".")


def test_layout_is_spelled_out() -> None:
    assert guess_layout((1, 128, 8, 64)).spelled == "(batch, length, heads, d)"
    assert guess_layout((2, 50, 8)).spelled == "(batch or heads, length, d)"
    assert guess_layout((5, 3)).spelled == "(length, d)"


def test_heads_first() -> None:
    array = np.arange(24).reshape(1, 4, 2, 3)
    moved = heads_first(array, "blhd")
    assert moved.shape == (1, 2, 4, 3)
    np.testing.assert_array_equal(moved[0, 1, 3], array[0, 3, 1])
    assert heads_first(array, "bhld") is array
    assert heads_first(np.ones((5, 2, 3)), "lhd").shape == (2, 5, 3)
