"""The computation again in PyTorch, and what F.scaled_dot_product_attention makes of the same arguments.

Its conventions: True in a boolean mask means "may attend", is_causal aligns top-left, the default scale is 1/√d_k
(documentation of torch.nn.functional.scaled_dot_product_attention; core/conventions.json has what was measured).
"""

from __future__ import annotations

from attention_lab.core.masks import offset
from attention_lab.export.material import Material
from attention_lab.export.scripts.dialect import TORCH
from attention_lab.export.scripts.steps import (
    Program,
    closing,
    compare_own,
    has_leading_axes_to_spread,
    opening,
    stages,
)


def torch_script(material: Material) -> str:
    """A program that needs PyTorch alone (2.1 or later) and fails where a number differs."""
    program = Program(material, TORCH)
    opening(
        program, "Scaled dot-product attention in PyTorch, one stage after the other, then its own function."
    )
    stages(program)
    own(program)
    return closing(program)


def own(program: Program) -> None:
    """The call of PyTorch's function, with a comment for each thing it cannot express."""
    trace, options = program.material.trace, program.material.options
    program.add("", "# PyTorch's own function")
    if options.softcap is not None:
        program.add(
            "# scaled_dot_product_attention has no softcap, so it cannot compute this.",
            "# torch.nn.attention.flex_attention can, with a score_mod.",
        )
        return
    codes = [rule.code for rule in trace.rules]
    n, m = trace.scores.shape[-2:]
    aligned = offset(options, n, m) == 0
    arguments = ["Q", "K", "V"]
    if has_leading_axes_to_spread(program):
        program.add("lead = scores.shape[:-2]")
        arguments = [f"{name}.expand(*lead, -1, -1)" for name in arguments]
    if codes == ["causal"] and aligned and trace.biased is trace.capped:
        arguments.append("is_causal=True")
    elif codes or trace.biased is not trace.capped:
        if "causal" in codes and not aligned:
            program.add("# is_causal aligns the mask top-left; any other alignment needs a mask of its own.")
        if "window" in codes or "lengths" in codes:
            program.add("# It has no sliding window and no lengths: the mask carries them.")
        if trace.biased is not trace.capped:
            program.add("# A mask of numbers is added to the scaled scores.")
            added = program.put("where", c="mask", x="bias", y="-inf") if codes else "bias"
            program.add(f"attn_mask = torch.broadcast_to({added}, scores.shape)")
        else:
            program.add(
                "# True in a boolean mask means: may attend. (nn.MultiheadAttention means the opposite.)"
            )
            program.add("attn_mask = torch.broadcast_to(mask, scores.shape)")
        arguments.append("attn_mask=attn_mask")
    if options.temperature != 1:
        program.add("# It has no temperature: the scale is divided by it.")
    factor = trace.scale / options.temperature
    if options.scale == "sqrt_dk" and options.temperature == 1:
        program.add("# Its default scale is 1/√dₖ.")
    else:
        arguments.append(f"scale={factor!r}")
    if trace.empty_rows.any():
        program.add(
            "# A row that may attend to nothing gives 0 (NaN in older releases); such rows are not compared."
        )
    if program.low:
        program.add(
            f"# It runs in float32 on the rounded inputs here: a kernel in {options.precision} rounds in other places."
        )
    program.add(f"own = F.scaled_dot_product_attention({', '.join(arguments)})")
    compare_own(program, "scaled_dot_product_attention", "own")
