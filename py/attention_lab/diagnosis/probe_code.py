"""The probe as code to run: arrays, the attention under test with a plain version in its place, and a print to paste.

Does not: run it (the tests do).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError, attend

from .probe import Probe

Language = Literal["numpy", "pytorch", "jax", "c"]
REPLACE = "put your own attention here; this one is right"


def probe_code(probe: Probe, language: Language) -> str:
    """A complete program in that language that prints the output of the probe. Raises LabError for another language."""
    makers = {"numpy": _numpy, "pytorch": _pytorch, "jax": _jax, "c": _c}
    if language not in makers:
        raise LabError(f"language must be one of {', '.join(makers)}; got {language!r}", "language")
    return "\n".join(makers[language](probe)) + "\n"


def _settings(probe: Probe) -> tuple[float, NDArray[np.bool_] | None, NDArray[np.float64] | None]:
    """Scale with temperature, the whole mask, and the finite part of the bias, as plain numbers."""
    trace = attend(probe.q, probe.k, probe.v, probe.options, keep=probe.keep, bias=probe.bias)
    visible: NDArray[np.bool_] = np.ones((1, 1), bool)
    for rule in trace.rules:
        visible = visible & rule.visible
    mask: NDArray[np.bool_] | None = None
    if trace.rules:
        mask = np.broadcast_to(visible, visible.shape[:-2] + trace.scores.shape[-2:])
    return trace.scale / probe.options.temperature, mask, probe.bias


def _about(probe: Probe, comment: str) -> str:
    return (
        f"{comment} Attention probe, seed {probe.seed}, {probe.kind}. Paste what it prints into Check mine."
    )


def _list(array: NDArray[np.generic]) -> str:
    return repr(array.tolist())


def _numpy(probe: Probe) -> Iterator[str]:
    yield _about(probe, "#")
    yield "import numpy as np\n"
    yield from _arrays(probe, "np.array({})")
    yield ""
    yield from _python(
        probe, "np", "np.swapaxes({}, -1, -2)", "np.repeat({}, {}, axis=1)", ".transpose(0, 2, 1, 3)"
    )
    yield "\nprint(attention(q, k, v).tolist())"


def _pytorch(probe: Probe) -> Iterator[str]:
    yield _about(probe, "#")
    yield "import torch\n"
    yield "torch.set_default_dtype(torch.float64)  # remove this line to test float32"
    yield from _arrays(probe, "torch.tensor({})")
    yield ""
    yield from _python(
        probe, "torch", "{}.transpose(-1, -2)", "{}.repeat_interleave({}, dim=1)", ".transpose(1, 2)"
    )
    yield "\nprint(attention(q, k, v).tolist())"


def _jax(probe: Probe) -> Iterator[str]:
    yield _about(probe, "#")
    yield "import jax\nimport jax.numpy as jnp\n"
    yield 'jax.config.update("jax_enable_x64", True)  # remove this line to test float32'
    yield from _arrays(probe, "jnp.array({})")
    yield ""
    yield from _python(
        probe, "jnp", "jnp.swapaxes({}, -1, -2)", "jnp.repeat({}, {}, axis=1)", ".transpose(0, 2, 1, 3)"
    )
    yield "\nprint(attention(q, k, v).tolist())"


def _arrays(probe: Probe, wrap: str) -> Iterator[str]:
    _, mask, bias = _settings(probe)
    for name, array in (("q", probe.q), ("k", probe.k), ("v", probe.v), ("keep", mask), ("bias", bias)):
        if array is not None:
            comment = "  # True = may attend" if name == "keep" else ""
            yield f"{name} = {wrap.format(_list(array))}{comment}"


def _python(probe: Probe, module: str, swap: str, repeat: str, turn: str) -> Iterator[str]:
    """The function under test. softmax is written out, so that all three read alike."""
    scale, mask, bias = _settings(probe)
    keepdims = "keepdim" if module == "torch" else "keepdims"
    largest = "amax" if module == "torch" else "max"
    heads = probe.options.heads
    yield "def attention(q, k, v):"
    yield f"    # {REPLACE}"
    if heads is not None:
        yield f"    q = q.reshape({q_shape(probe.q, heads[0])}){turn}  # (batch, heads, length, d)"
        yield f"    k = k.reshape({q_shape(probe.k, heads[1])}){turn}"
        yield f"    v = v.reshape({q_shape(probe.v, heads[1])}){turn}"
        if heads[0] != heads[1]:
            yield f"    k = {repeat.format('k', heads[0] // heads[1])}  # each key/value head serves a run of query heads"
            yield f"    v = {repeat.format('v', heads[0] // heads[1])}"
    yield f"    z = q @ {swap.format('k')} * {scale!r}"
    cap = probe.options.softcap
    if cap is not None:
        yield f"    z = {cap!r} * {module}.tanh(z / {cap!r})"
    if bias is not None:
        yield "    z = z + bias"
    if mask is not None:
        yield f"    z = {module}.where(keep, z, -{module}.inf)"
    rows = "" if mask is None or mask.any(-1).all() else "  # a query without keys gives NaN here"
    yield f"    e = {module}.exp(z - z.{largest}(-1, {keepdims}=True)){rows}"
    yield f"    out = e / e.sum(-1, {keepdims}=True) @ v"
    if heads is not None:
        yield f"    out = out{turn}.reshape({probe.q.shape[0]}, {probe.q.shape[1]}, -1)"
    yield "    return out"


def q_shape(array: NDArray[np.float64], heads: int) -> str:
    return f"{array.shape[0]}, {array.shape[1]}, {heads}, {array.shape[2] // heads}"


def _c(probe: Probe) -> Iterator[str]:
    scale, mask, bias = _settings(probe)
    q_heads, kv_heads = probe.options.heads or (1, 1)
    q, k, v = (array if array.ndim == 3 else array[None] for array in (probe.q, probe.k, probe.v))
    batches, n, m = q.shape[0], q.shape[1], k.shape[1]
    yield _about(probe, "//")
    yield "#include <math.h>\n#include <stdio.h>\n"
    sizes = {
        "B": batches,
        "N": n,
        "M": m,
        "HQ": q_heads,
        "HK": kv_heads,
        "D": q.shape[2] // q_heads,
        "DV": v.shape[2] // kv_heads,
    }
    yield f"enum {{ {', '.join(f'{name} = {size}' for name, size in sizes.items())} }};  // packed heads, batch first"
    for name, array, shape in (
        ("q", q, "[B][N][HQ * D]"),
        ("k", k, "[B][M][HK * D]"),
        ("v", v, "[B][M][HK * DV]"),
    ):
        yield f"static const double {name}{shape} = {_braces(array)};"
    if mask is not None:
        full = np.broadcast_to(mask.reshape(-1, n, m), (batches, n, m))  # one mask for all heads
        yield f"static const int keep[B][N][M] = {_braces(full.astype(int))};  // 1 = may attend"
    if bias is not None:
        yield f"static const double bias[N][M] = {_braces(bias)};"
    if mask is not None and not mask.any(-1).all():
        yield "// a query without keys gives NaN here"
    yield "static double out[B][N][HQ * DV];\n"
    yield "static void attention(void) {"
    yield f"  // {REPLACE}"
    yield "  for (int b = 0; b < B; b++) for (int h = 0; h < HQ; h++) for (int i = 0; i < N; i++) {"
    yield "    int g = h / (HQ / HK);"
    yield "    double z[M], largest = -INFINITY, sum = 0;"
    yield "    for (int j = 0; j < M; j++) {"
    yield "      double dot = 0;"
    yield "      for (int c = 0; c < D; c++) dot += q[b][i][h * D + c] * k[b][j][g * D + c];"
    yield f"      z[j] = dot * {scale!r};"
    if probe.options.softcap is not None:
        yield f"      z[j] = {probe.options.softcap!r} * tanh(z[j] / {probe.options.softcap!r});"
    if bias is not None:
        yield "      z[j] += bias[i][j];"
    if mask is not None:
        yield "      if (!keep[b][i][j]) z[j] = -INFINITY;"
    yield "      if (z[j] > largest) largest = z[j];"
    yield "    }"
    yield "    for (int j = 0; j < M; j++) sum += z[j] = exp(z[j] - largest);"
    yield "    for (int j = 0; j < M; j++) for (int c = 0; c < DV; c++) out[b][i][h * DV + c] += z[j] / sum * v[b][j][g * DV + c];"
    yield "  }"
    yield "}\n"
    yield "int main(void) {"
    yield "  attention();"
    if probe.q.ndim == 3:
        yield '  printf("[");'
    yield "  for (int b = 0; b < B; b++) {"
    yield '    printf("%s[", b ? ",\\n" : "");'
    yield "    for (int i = 0; i < N; i++) for (int c = 0; c < HQ * DV; c++)"
    yield '      printf("%s%.17g%s", c ? ", " : i ? ",\\n[" : "[", out[b][i][c], c == HQ * DV - 1 ? "]" : "");'
    yield '    printf("]");'
    yield "  }"
    if probe.q.ndim == 3:
        yield '  printf("]");'
    yield '  printf("\\n");'
    yield "  return 0;"
    yield "}"


def _braces(array: NDArray[np.generic]) -> str:
    return _list(array).replace("[", "{").replace("]", "}")
