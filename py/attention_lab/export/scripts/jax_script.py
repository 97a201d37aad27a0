"""The computation again in JAX, and what jax.nn.dot_product_attention makes of the same arguments.

Its conventions: axes are (batch, time, heads, width), True in a mask means "may attend", is_causal aligns top-left,
the softmax is always taken in float32 (documentation of jax.nn.dot_product_attention; measured with 0.10.2).
"""

from __future__ import annotations

import numpy as np

from attention_lab.core.masks import offset
from attention_lab.export.material import Material
from attention_lab.export.scripts.dialect import JAX
from attention_lab.export.scripts.steps import Program, closing, compare_own, opening, stages

JAX_PAD = "jnp.pad({x}, [(0, 0)] * ({x}.ndim - 1) + [(0, {more})])"


def jax_script(material: Material) -> str:
    """A program that needs JAX (with the NumPy it brings) and fails where a number differs."""
    program = Program(material, JAX)
    opening(program, "Scaled dot-product attention in JAX, one stage after the other, then its own function.")
    if material.options.precision == "float64":
        at = program.lines.index("import numpy as np") + 1
        program.lines[at:at] = [
            "",
            'jax.config.update("jax_enable_x64", True)  # without it JAX computes in float32',
        ]
    stages(program)
    own(program)
    return closing(program)


def own(program: Program) -> None:
    """The call of JAX's function, with a comment for each thing it cannot express."""
    trace, options = program.material.trace, program.material.options
    program.add("", "# JAX's own function")
    if options.softcap is not None:
        program.add("# jax.nn.dot_product_attention has no softcap, so it cannot compute this.")
        return
    codes = [rule.code for rule in trace.rules]
    n, m = trace.scores.shape[-2:]
    aligned = offset(options, n, m) == 0
    biased = trace.biased is not trace.capped
    program.add(
        "# Its axes are (batch, time, heads, width). Batches and heads share the first axis here.",
        "def laid_out(x):",
        "    full = jnp.broadcast_to(x, (*scores.shape[:-2], *x.shape[-2:]))",
        "    return full.reshape(-1, x.shape[-2], 1, x.shape[-1])",
        "",
        "",
    )
    arguments = [f"laid_out({name})" for name in equal_widths(program, JAX_PAD)]
    if biased:
        program.add(f"full_bias = jnp.broadcast_to(bias, scores.shape).reshape(-1, 1, {n}, {m})")
        arguments.append("bias=full_bias")
    if codes == ["causal"] and aligned:
        arguments.append("is_causal=True")
    elif codes:
        if "causal" in codes and not aligned:
            program.add("# is_causal aligns the mask top-left; any other alignment needs a mask of its own.")
        program.add("# True in a mask means: may attend.")
        program.add(f"full_mask = jnp.broadcast_to(mask, scores.shape).reshape(-1, 1, {n}, {m})")
        arguments.append("mask=full_mask")
    if options.temperature != 1:
        program.add("# It has no temperature: the scale is divided by it.")
    if options.scale == "sqrt_dk" and options.temperature == 1 and trace.v.shape[-1] <= trace.q.shape[-1]:
        program.add("# Its default scale is 1/√dₖ.")
    else:
        arguments.append(f"scale={trace.scale / options.temperature!r}")
    if trace.empty_rows.any():
        program.add("# A row that may attend to nothing gives uniform weights; such rows are not compared.")
    program.add("# Its softmax is in float32 whatever the inputs, so it cannot reach float64 accuracy.")
    program.add(f"own = jax.nn.dot_product_attention({', '.join(arguments)})")
    own_shape = "heads_output.shape" if options.heads is not None else "output.shape"
    cut = f"[..., :{trace.v.shape[-1]}]" if trace.v.shape[-1] < trace.q.shape[-1] else ""
    compare_own(
        program, "dot_product_attention", f"own{cut}.reshape({own_shape})", repr(single_tolerance(program))
    )


def equal_widths(program: Program, pad: str) -> list[str]:
    """The names Q, K and V, after lines that pad the narrower of K and V: JAX wants them equally wide."""
    names = {"Q": "Q", "K": "K", "V": "V"}
    d_k, d_v = program.material.trace.q.shape[-1], program.material.trace.v.shape[-1]
    if d_k == d_v:
        return list(names)
    program.add(
        "# JAX wants K and V equally wide. Columns of zeros change neither a dot product nor the columns before them."
    )
    for name in "V" if d_v < d_k else "QK":
        names[name] = f"wide_{name}"
        program.add(f"wide_{name} = {pad.format(x=name, more=abs(d_k - d_v))}")
    return list(names.values())


def single_tolerance(program: Program) -> float:
    """What a softmax in float32 leaves: its error grows with the size of the logits and of the values."""
    trace = program.material.trace
    logits = trace.masked[np.isfinite(trace.masked)]
    reach = 1 + float(np.abs(logits).max(initial=0.0))
    least = 1e-5 if program.material.options.precision in ("float64", "float32") else 1.6e-2
    return float(f"{max(least, 4e-7 * reach * max(1.0, float(np.abs(trace.v).max()))):.1g}")
