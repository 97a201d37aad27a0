"""Which libraries do by design what would be a mistake elsewhere (measured with the versions in core/conventions.py).

Does not: decide anything; mask.py and the others attach these names to their formulas.
"""

TOP_LEFT = ("PyTorch SDPA", "JAX", "Keras", "ONNX", "ONNX Runtime", "xFormers LowerTriangularMask", "OpenVINO")
BOTTOM_RIGHT = ("FlashAttention 2.1 or later", "MLX", "PyTorch causal_lower_right", "xFormers FromBottomRightMask")

EMPTY_ROW = {
    "zero": ("PyTorch SDPA", "Keras MultiHeadAttention", "ONNX 1.23", "ONNX Runtime", "FlashAttention"),
    "nan": ("PyTorch MultiheadAttention with need_weights", "JAX with a −∞ bias", "MLX with a −∞ mask", "OpenVINO"),
    "uniform": ("JAX with a boolean mask", "Flax", "MLX with a boolean mask", "Keras Attention", "Hugging Face eager"),
}

WINDOW_INCLUSIVE = ("FlashAttention", "JAX", "ONNX opset 25")
WINDOW_COUNT = ("Hugging Face",)
TRUE_MASKS_OUT = ("PyTorch MultiheadAttention", "Burn")
MEAN_WEIGHTS = ("PyTorch MultiheadAttention",)
