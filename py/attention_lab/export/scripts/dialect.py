"""How each framework spells the few array operations that attention needs. Writes no program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """Templates with {x} for an expression. `types` maps a precision to the type that stages are kept in.

    narrow rounds an expression to float16 or bfloat16 and widens it again; `narrow_help` is code it needs first.
    """

    name: str
    imports: tuple[str, ...]
    array: str
    booleans: str
    arange: str
    swap: str
    matmul: str
    exp: str
    tanh: str
    where: str
    row_max: str
    row_sum: str
    repeat: str
    reshape: str
    narrow: dict[str, str]
    narrow_help: dict[str, str]
    types: dict[str, str]
    check: str


CHECK_WITH_NUMPY = '''def check(name, got, expected, tolerance=TOLERANCE):
    """got must have the shape and the numbers of expected; says where they differ if not."""
    got, expected = {to_numpy}, {expected}
    assert got.shape == expected.shape, f"{{name}}: shape {{got.shape}}, expected {{expected.shape}}"
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True, err_msg=name)'''

BFLOAT16 = '''def to_bfloat16(x):
    """To the nearest bfloat16, ties to even, kept as float32: NumPy has no such type."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)'''

NUMPY = Dialect(
    name="NumPy",
    imports=("import numpy as np",),
    array="np.array({x}, dtype={dtype})",
    booleans="np.array({x}, dtype=bool)",
    arange="np.arange({x})",
    swap="{x}.swapaxes({a}, {b})",
    matmul="{x} @ {y}",
    exp="np.exp({x})",
    tanh="np.tanh({x})",
    where="np.where({c}, {x}, {y})",
    row_max="{x}.max(-1, keepdims=True)",
    row_sum="{x}.sum(-1, keepdims=True)",
    repeat="np.repeat({x}, {count}, axis=-3)",
    reshape="{x}.reshape({shape})",
    narrow={"float16": "{x}.astype(np.float16).astype(np.float32)", "bfloat16": "to_bfloat16({x})"},
    narrow_help={"bfloat16": BFLOAT16},
    types={"float64": "np.float64", "float32": "np.float32"},
    check=CHECK_WITH_NUMPY.format(to_numpy="np.asarray(got)", expected="np.asarray(expected)"),
)

TORCH = Dialect(
    name="PyTorch",
    imports=("import torch", "import torch.nn.functional as F"),
    array="torch.tensor({x}, dtype={dtype})",
    booleans="torch.tensor({x}, dtype=torch.bool)",
    arange="torch.arange({x})",
    swap="{x}.transpose({a}, {b})",
    matmul="{x} @ {y}",
    exp="torch.exp({x})",
    tanh="torch.tanh({x})",
    where="torch.where({c}, {x}, {y})",
    row_max="{x}.amax(-1, keepdim=True)",
    row_sum="{x}.sum(-1, keepdim=True)",
    repeat="{x}.repeat_interleave({count}, dim=-3)",
    reshape="{x}.reshape({shape})",
    narrow={"float16": "{x}.half().float()", "bfloat16": "{x}.bfloat16().float()"},
    narrow_help={},
    types={"float64": "torch.float64", "float32": "torch.float32"},
    check='''def check(name, got, expected, tolerance=TOLERANCE):
    """got must have the shape and the numbers of expected; says where they differ if not."""
    expected = torch.as_tensor(expected, dtype=got.dtype)
    torch.testing.assert_close(
        got, expected, rtol=tolerance, atol=tolerance, equal_nan=True, msg=lambda text: f"{name}: {text}"
    )''',
)

JAX = Dialect(
    name="JAX",
    imports=("import jax", "import jax.numpy as jnp", "import numpy as np"),
    array="jnp.array({x}, dtype={dtype})",
    booleans="jnp.array({x}, dtype=bool)",
    arange="jnp.arange({x})",
    swap="{x}.swapaxes({a}, {b})",
    matmul='jnp.matmul({x}, {y}, precision="highest")',
    exp="jnp.exp({x})",
    tanh="jnp.tanh({x})",
    where="jnp.where({c}, {x}, {y})",
    row_max="{x}.max(-1, keepdims=True)",
    row_sum="{x}.sum(-1, keepdims=True)",
    repeat="jnp.repeat({x}, {count}, axis=-3)",
    reshape="{x}.reshape({shape})",
    narrow={
        "float16": "{x}.astype(jnp.float16).astype(jnp.float32)",
        "bfloat16": "{x}.astype(jnp.bfloat16).astype(jnp.float32)",
    },
    narrow_help={},
    types={"float64": "jnp.float64", "float32": "jnp.float32"},
    check=CHECK_WITH_NUMPY.format(to_numpy="np.asarray(got)", expected="np.asarray(expected)"),
)

KERAS = Dialect(
    name="Keras",
    imports=("import keras", "import numpy as np", "from keras import ops"),
    array="ops.convert_to_tensor({x}, dtype={dtype})",
    booleans='ops.convert_to_tensor({x}, dtype="bool")',
    arange="ops.arange({x})",
    swap="ops.swapaxes({x}, {a}, {b})",
    matmul="ops.matmul({x}, {y})",
    exp="ops.exp({x})",
    tanh="ops.tanh({x})",
    where="ops.where({c}, {x}, {y})",
    row_max="ops.max({x}, axis=-1, keepdims=True)",
    row_sum="ops.sum({x}, axis=-1, keepdims=True)",
    repeat="ops.repeat({x}, {count}, axis=-3)",
    reshape="ops.reshape({x}, ({shape}))",
    narrow={
        "float16": 'ops.cast(ops.cast({x}, "float16"), "float32")',
        "bfloat16": 'ops.cast(ops.cast({x}, "bfloat16"), "float32")',
    },
    narrow_help={},
    types={"float64": '"float32"', "float32": '"float32"'},  # only Keras' TensorFlow backend keeps float64
    check=CHECK_WITH_NUMPY.format(to_numpy="ops.convert_to_numpy(got)", expected="np.asarray(expected)"),
)
