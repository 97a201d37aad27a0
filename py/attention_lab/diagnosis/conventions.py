"""Which libraries do by design what would be a mistake elsewhere, from the table in core.

Does not: decide anything; mask.py and the others attach these names to their formulas.
"""

from __future__ import annotations

from functools import cache

from attention_lab.core.conventions import conventions

# Documented behaviour that the table keeps in its notes.
OTHER_CORNER = {
    "top-left": (),
    "bottom-right": ("PyTorch causal_lower_right", "xFormers FromBottomRightMask"),
}
WINDOW_INCLUSIVE = ("FlashAttention", "JAX", "ONNX opset 25")
WINDOW_COUNT = ("Hugging Face",)
MEAN_WEIGHTS = ("PyTorch nn.MultiheadAttention",)


@cache
def names(field: str, value: object) -> tuple[str, ...]:
    """Libraries whose convention has this value: names("causal", "bottom-right") → ("FlashAttention", "MLX")."""
    return tuple(one.name for one in conventions().values() if getattr(one, field) == value)


@cache
def empty_row(policy: str) -> tuple[str, ...]:
    """Libraries that treat a fully masked row so, by a boolean mask or by a bias of −∞."""
    return tuple(one.name for one in conventions().values() if policy in (one.empty_row, one.empty_row_bias))


@cache
def aligned(corner: str) -> tuple[str, ...]:
    return names("causal", corner) + OTHER_CORNER[corner]
