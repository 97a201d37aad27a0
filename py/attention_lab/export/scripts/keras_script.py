"""The computation again in Keras 3, and what its own layer or function makes of the same arguments.

layers.Attention takes (query, value, key) and does not scale by default; ops.dot_product_attention takes
(batch, time, heads, width) and scales by 1/√d_k (documentation of both; measured with 3.15).
"""

from __future__ import annotations

from attention_lab.core.masks import offset
from attention_lab.export.material import Material
from attention_lab.export.scripts.dialect import KERAS
from attention_lab.export.scripts.jax_script import equal_widths
from attention_lab.export.scripts.steps import Program, closing, compare_own, opening, stages

KERAS_PAD = "ops.pad({x}, [[0, 0]] * (len({x}.shape) - 1) + [[0, {more}]])"


def keras_script(material: Material) -> str:
    """A program for any Keras 3 backend (KERAS_BACKEND chooses) that fails where a number differs."""
    program = Program(material, KERAS)
    opening(program, "Scaled dot-product attention in Keras, one stage after the other, then its own.")
    stages(program)
    own(program)
    return closing(program)


def own(program: Program) -> None:
    """Keras' layer where it can express the options, else its function, else a comment that neither can."""
    trace, options = program.material.trace, program.material.options
    n, m = trace.scores.shape[-2:]
    program.add("", "# Keras' own")
    if options.softcap is not None:
        program.add(
            "# layers.Attention and layers.MultiHeadAttention have no softcap, and ops.dot_product_attention has it on",
            "# TPUs only, so none of them can compute this here.",
        )
        return
    codes: set[str] = {rule.code for rule in trace.rules}
    fits = codes <= {"causal", "lengths"} and trace.biased is trace.capped
    fits = fits and ("causal" not in codes or offset(options, n, m) == 0)
    if fits and options.heads is None and trace.scores.ndim <= 3:
        layer(program, codes)
    else:
        function(program, codes)


def layer(program: Program, codes: set[str]) -> None:
    """layers.Attention."""
    trace, options = program.material.trace, program.material.options
    lead = trace.scores.ndim - 2
    batch = trace.scores.shape[0] if lead else 1
    n, m = trace.scores.shape[-2:]
    program.add(
        "# layers.Attention takes query, value, key in this order, and does not scale unless use_scale makes it learn one:",
        "# here the query is scaled beforehand. It masks by subtracting 1e9.",
    )
    arrays = []
    for name, rows, columns in (
        ("Q", n, trace.q.shape[-1]),
        ("V", m, trace.v.shape[-1]),
        ("K", m, trace.k.shape[-1]),
    ):
        given = {
            "Q": program.material.problem.q,
            "K": program.material.problem.k,
            "V": program.material.problem.v,
        }[name]
        arrays.append(
            name
            if given.shape == (batch, rows, columns)
            else f"ops.broadcast_to({name}, ({batch}, {rows}, {columns}))"
        )
    factor = trace.scale / options.temperature
    if factor != 1:
        arrays[0] = f"{arrays[0]} * {factor!r}"
    settings = ""
    if "causal" in codes:
        program.add("# use_causal_mask aligns top-left.")
        settings += ", use_causal_mask=True"
    if "lengths" in codes:
        counts = list(options.lengths or ()) * (batch if len(options.lengths or ()) == 1 else 1)
        program.add(f"valid = ops.arange({m}) < ops.convert_to_tensor({counts})[:, None]")
        settings += ", mask=[None, valid]"
    if trace.empty_rows.any():
        program.add(
            "# A row that may attend to nothing gets nearly uniform weights; such rows are not compared."
        )
    program.add(
        f"attention = keras.layers.Attention(dtype={program.dtype})",
        f"own, own_weights = attention([{', '.join(arrays)}]{settings}, return_attention_scores=True)",
    )
    for name, variable, whole in (
        ("Attention's weights", "own_weights", "weights"),
        ("Attention", "own", "output"),
    ):
        got = variable if lead else f"{variable}[0]"
        if whole == "output":
            compare_own(program, name, got)
        else:
            pair = [got, whole]
            if trace.empty_rows.any():
                pair = [program.put("where", c="empty", x="0.0", y=each) for each in pair]
            program.add(f'check("{name}", {pair[0]}, ops.convert_to_numpy({pair[1]}))')
            program.checks += 1


def function(program: Program, codes: set[str]) -> None:
    """ops.dot_product_attention."""
    trace, options = program.material.trace, program.material.options
    n, m = trace.scores.shape[-2:]
    count = trace.scores.size // (n * m)
    biased = trace.biased is not trace.capped
    program.add(
        "# layers.Attention masks whole keys only (and causal, top-left), so this needs ops.dot_product_attention.",
        "# Its axes are (batch, time, heads, width). Batches and heads share the first axis here.",
        "def laid_out(x):",
        "    full = ops.broadcast_to(x, (*scores.shape[:-2], *x.shape[-2:]))",
        f"    return ops.reshape(full, ({count}, x.shape[-2], 1, x.shape[-1]))",
        "",
        "",
    )
    arguments = [f"laid_out({name})" for name in equal_widths(program, KERAS_PAD)]
    shape = f"({count}, 1, {n}, {m})"
    if biased:
        program.add("# It takes a bias or a mask; −∞ in the bias masks.")
        added = program.put("where", c="mask", x="bias", y="-inf") if codes else "bias"
        program.add(f"full_bias = ops.reshape(ops.broadcast_to({added}, scores.shape), {shape})")
        arguments.append("bias=full_bias")
    elif codes:
        program.add("# True in a mask means: may attend.")
        program.add(f"full_mask = ops.reshape(ops.broadcast_to(mask, scores.shape), {shape})")
        arguments.append("mask=full_mask")
    if options.temperature != 1:
        program.add("# It has no temperature: the scale is divided by it.")
    arguments.append(f"scale={trace.scale / options.temperature!r}")
    if trace.empty_rows.any():
        program.add(
            "# What a row that may attend to nothing gives depends on the backend; such rows are not compared."
        )
    program.add(
        f"own = ops.dot_product_attention({', '.join(arguments)})",
    )
    result = "heads_output" if options.heads is not None else "output"
    cut = f"[..., :{trace.v.shape[-1]}]" if trace.v.shape[-1] < trace.q.shape[-1] else ""
    compare_own(program, "dot_product_attention", f"ops.reshape(own{cut}, {result}.shape)")
