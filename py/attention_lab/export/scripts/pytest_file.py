"""A pytest file that checks the reader's own attention function against the numbers of a Trace."""

from __future__ import annotations

import numpy as np

from attention_lab.export.material import Material, inputs_of, refuse_too_many
from attention_lab.export.scripts.steps import literal

BODY = '''
TOLERANCES = {"float64": 1e-9, "float32": 1e-5}  # relative and absolute, by the type your function returns
NARROW = 2e-2  # for float16 and bfloat16


def results():
    """Your output, and your weights if you return them."""
    result = mine(**{name: array.copy() for name, array in INPUTS.items()})
    output, weights = result if isinstance(result, tuple) else (result, None)
    return np.asarray(output), None if weights is None else np.asarray(weights)


def compare(name, got, expected):
    """The same shape and, cell by cell, the same numbers; the message names the first cell that differs."""
    assert got.shape == expected.shape, f"{name}: your shape is {got.shape}, expected {expected.shape}"
    tolerance = TOLERANCES.get(got.dtype.name, NARROW)
    same = np.isclose(got.astype(float), expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    if not same.all():
        cell = tuple(int(i) for i in np.argwhere(~same)[0])
        raise AssertionError(
            f"{name}: {int((~same).sum())} of {same.size} numbers differ. First at {cell} (from 0): "
            f"yours {got[cell]}, expected {expected[cell]}. " + HELP
        )


def test_output():
    compare("output", results()[0], OUTPUT)


def test_weights():
    weights = results()[1]
    if weights is None:
        pytest.skip("mine() returns the output alone; return (output, weights) to have the weights checked too")
    compare("weights", weights, WEIGHTS)


def test_the_inputs_are_left_as_they_were():
    given = {name: array.copy() for name, array in INPUTS.items()}
    mine(**given)
    for name, array in given.items():
        assert np.array_equal(array, INPUTS[name]), f"your function changes its argument {name}"


def test_two_calls_agree():
    first, second = results()[0], results()[0]
    assert np.array_equal(first, second, equal_nan=True), "two calls differ: is dropout on?"
'''


def pytest_file(material: Material) -> str:
    """The file's text: inputs, expected output and weights, one function for the reader to fill in, four tests."""
    arrays = inputs_of(material.problem)
    refuse_too_many(arrays | {"weights": material.trace.weights, "output": material.trace.output})
    link = material.link.replace("\\", "%5C").replace('"', "%22").replace("\n", " ")
    names = ", ".join(arrays)
    passed = ", ".join(name if name in "qkv" else f"{name}={name}" for name in arrays)
    lines = [
        '"""Checks your own attention function against numbers of Attention Lab. Write its call into mine(), then run pytest.',
        "",
        *([link] if link else []),
        '"""',
        "",
        "import numpy as np",
        "import pytest",
        "",
        'inf, nan = float("inf"), float("nan")',
        "",
        "",
        f"def mine({names}):",
        '    """Call your function here and return its output, or (output, weights). All arguments are NumPy arrays."""',
        *(f"    # {line}" for line in setting_words(material)),
        "    from my_attention import attention  # your module and your function",
        "",
        f"    return attention({passed})",
        "",
        "",
        "INPUTS = {",
    ]
    for name, array in arrays.items():
        kind = "bool" if array.dtype == bool else "np.float64"
        lines.append(f'    "{name}": np.array({literal(array, "    ")}, dtype={kind}),')
    lines += [
        "}",
        f"OUTPUT = np.array({literal(np.asarray(material.trace.output, float))})",
        f"WEIGHTS = np.array({literal(np.asarray(material.trace.weights, float))})",
        f'HELP = "Paste yours into Check mine to find the mistake: {link}"' if link else 'HELP = ""',
    ]
    return "\n".join(lines) + "\n" + BODY


def setting_words(material: Material) -> list[str]:
    """Every option that is not neutral, in words, one line each."""
    options, trace = material.options, material.trace
    scale = {"sqrt_dk": "1/√dₖ", "none": "none"}.get(str(options.scale), repr(options.scale))
    words = [f"Scale: {scale}. Softmax along the last axis."]
    if options.temperature != 1:
        words.append(f"Temperature: scaled scores are divided by {options.temperature!r}.")
    if options.softcap is not None:
        words.append(f"Softcap {options.softcap!r}: c·tanh(x/c), before bias and mask.")
    if options.causal is not None:
        words.append(
            f"Causal mask: {options.causal if isinstance(options.causal, str) else f'j <= i + {options.causal}'}."
        )
    if options.window is not None:
        words.append(f"Sliding window (left, right), inclusive, None is open: {options.window}.")
    if options.lengths is not None:
        words.append(f"Valid keys of each batch entry: {options.lengths}.")
    if options.heads is not None:
        words.append(f"Heads packed in the last axis (query heads, key/value heads): {options.heads}.")
    if material.problem.keep is not None:
        words.append("keep: True = may attend.")
    if material.problem.bias is not None:
        words.append("bias: added to the scaled scores; -inf masks.")
    if trace.empty_rows.any():
        words.append(f"Weights of a query that may attend to nothing: {options.empty_row}.")
    if options.precision != "float64":
        words.append(f"Computed in {options.precision}: inputs, weights and output are rounded to it.")
    return words
