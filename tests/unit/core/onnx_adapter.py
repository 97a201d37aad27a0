"""ONNX's Attention operator (opset 23 to 25) in terms of attend(): inputs and attributes renamed and reshaped.

Does not: compute attention. Scores, masks, softmax and output all come from attend().
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_lab.core import Options, Trace, attend

PRECISIONS = {"float64": "float64", "float32": "float32", "float16": "float16", "bfloat16": "bfloat16"}
# qk_matmul_output_mode: ONNX applies the scale before the product, so its raw product is our scaled stage.
STAGES = {0: "scaled", 1: "capped", 2: "masked", 3: "weights"}


def attention(inputs: dict[str, Any], attributes: dict[str, Any]) -> dict[str, np.ndarray]:
    """Inputs by the operator's names → outputs Y, present_key, present_value, qk_matmul_output by name."""
    precision = PRECISIONS[inputs["Q"].dtype.name]
    q, k, v = (np.asarray(inputs[name], np.float64) for name in "QKV")
    packed = q.ndim == 3
    heads = (attributes["q_num_heads"], attributes["kv_num_heads"]) if packed else None
    if packed:
        k, v = (_split(array, heads[1]) for array in (k, v))
    past = 0
    if inputs.get("past_key") is not None:
        past = inputs["past_key"].shape[-2]
        k = np.concatenate([inputs["past_key"].astype(np.float64), k], axis=-2)
        v = np.concatenate([inputs["past_value"].astype(np.float64), v], axis=-2)
    present = {"present_key": k, "present_value": v}
    if packed:
        k, v = _pack(k), _pack(v)
    settings = {
        "scale": attributes.get("scale") or "sqrt_dk",
        "softcap": attributes.get("softcap") or None,
        "heads": heads,
        "precision": precision,
    }
    masks = _mask(inputs.get("attn_mask"), present["present_key"].shape[-2])
    lengths = inputs.get("nonpad_kv_seqlen")
    if lengths is None:
        traces = [attend(q, k, v, Options(**settings, **_positions(attributes, past)), **masks)]
    else:  # the offset differs between batch entries: one call for each
        n = q.shape[-2]
        traces = [
            attend(
                q[b : b + 1], k[b : b + 1], v[b : b + 1],
                Options(**settings, **_positions(attributes, int(length) - n), lengths=(int(length),)),
                **{name: _entry(mask, b) for name, mask in masks.items()},
            )
            for b, length in enumerate(lengths)
        ]  # fmt: skip
    stage = STAGES[attributes.get("qk_matmul_output_mode", 0)]
    return {"Y": _stack(traces, "output"), "qk_matmul_output": _stack(traces, stage), **present}


def _positions(attributes: dict[str, Any], offset: int) -> dict[str, Any]:
    """Causal and window settings; ONNX counts a window from i + offset even without causal."""
    left, right = (attributes.get(f"{side}_window_size", -1) for side in ("left", "right"))
    window = None if left < 0 and right < 0 else (None if left < 0 else left, None if right < 0 else right)
    if attributes.get("is_causal", 0):
        return {"causal": offset, "window": window}
    if window is None or offset == 0:
        return {"window": window}
    # j <= i + offset + right is a causal mask of that offset, from which the left side is as far as both together
    reach = 10**6 if window[1] is None else window[1]
    return {"causal": offset + reach, "window": (None if window[0] is None else window[0] + reach, None)}


def _mask(mask: Any, keys: int) -> dict[str, Any]:
    """keep or bias; a last axis that is too short is filled up with masked keys, as the operator says."""
    if mask is None:
        return {}
    boolean = mask.dtype == np.bool_
    mask = mask if boolean else np.asarray(mask, np.float64)
    width = [(0, 0)] * (mask.ndim - 1) + [(0, keys - mask.shape[-1])]
    return {"keep" if boolean else "bias": np.pad(mask, width, constant_values=False if boolean else -np.inf)}


def _entry(mask: np.ndarray, batch: int) -> np.ndarray:
    return mask[batch : batch + 1] if mask.ndim == 4 and mask.shape[0] > 1 else mask


def _split(array: np.ndarray, heads: int) -> np.ndarray:
    return array.reshape(*array.shape[:2], heads, -1).swapaxes(1, 2)


def _pack(array: np.ndarray) -> np.ndarray:
    return array.swapaxes(1, 2).reshape(array.shape[0], array.shape[2], -1)


def _stack(traces: list[Trace], name: str) -> np.ndarray:
    return np.concatenate([getattr(trace, name) for trace in traces])
