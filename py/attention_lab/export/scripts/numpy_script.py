"""The computation again in NumPy, with nothing of ours in it."""

from __future__ import annotations

from attention_lab.export.material import Material
from attention_lab.export.scripts.dialect import NUMPY
from attention_lab.export.scripts.steps import Program, closing, opening, stages


def numpy_script(material: Material) -> str:
    """A program that needs NumPy alone and fails where a number differs."""
    program = Program(material, NUMPY)
    opening(program, "Scaled dot-product attention in NumPy, one stage after the other.")
    stages(program)
    return closing(program)
