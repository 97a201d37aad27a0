"""What programs print and what programmers write: each form gives its numbers, dtype and warnings."""

from __future__ import annotations

import numpy as np
import pytest

from attention_lab.inputs.paste import parse_matrix, parse_named

# The matrix most forms spell: integers, halves, eighths, a sign.
M = [[0.25, -1.5], [12.0, -7.125]]
FOUR = "4 decimals printed: compare with +-5e-5"

FORMS = {
    # Python and NumPy
    "list over lines": "[\n  [0.25, -1.5],\n  [12, -7.125],\n]",
    "tuples": "((0.25, -1.5), (12, -7.125))",
    "list of tuples": "[(0.25, -1.5), (12, -7.125)]",
    "rows one by one": "[0.25, -1.5]\n[12, -7.125]",
    "rows with commas": "[0.25, -1.5],\n[12, -7.125],",
    "assignment": "Q = [[0.25, -1.5], [12, -7.125]]",
    "annotated": "q: list[list[float]] = [[0.25, -1.5], [12, -7.125]]",
    "constructor": "Q = np.array([[0.25, -1.5], [12, -7.125]], dtype=np.float32)",
    "harmless methods": "torch.tensor([[0.25, -1.5], [12, -7.125]]).to('cuda').double()",
    "comment after": "[[0.25, -1.5],  # first\n [12, -7.125]]  # [[9, 9]]",
    "numpy matrix": "matrix([[ 0.25 , -1.5  ],\n        [12.   , -7.125]])",
    "numpy print with exponents": "[[ 2.500e-01 -1.500e+00]\n [ 1.200e+01 -7.125e+00]]",
    "list of arrays": "[array([ 0.25, -1.5 ]), array([12.   , -7.125])]",
    "float32 scalars": "[[np.float32(0.25), np.float32(-1.5)], [np.float32(12.0), np.float32(-7.125)]]",
    "Decimal": "[[Decimal('0.25'), Decimal('-1.5')], [Decimal('12'), Decimal('-7.125')]]",
    "Fraction": "[[Fraction(1, 4), Fraction(-3, 2)], [Fraction(12, 1), Fraction(-57, 8)]]",
    "underscores": "[[0.25, -1.5], [1_2.0, -7.125]]",
    "REPL input": ">>> Q = np.array([[0.25, -1.5],\n...               [12, -7.125]])",
    "REPL input and output": ">>> np.eye(3)[[0, 1]] @ w\narray([[ 0.25 , -1.5  ],\n       [12.   , -7.125]])",
    "IPython": "In [3]: out\nOut[3]: \narray([[ 0.25 , -1.5  ],\n       [12.   , -7.125]])",
    "pdb": "(Pdb) p out\narray([[ 0.25 , -1.5  ],\n       [12.   , -7.125]])",
    "shell": "$ python attention.py\n[[ 0.25  -1.5  ]\n [12.    -7.125]]",
    "code fence": "```python\n[[0.25, -1.5],\n [12, -7.125]]\n```",
    "ANSI colours": "\x1b[32m[[0.25, -1.5],\n [12, -7.125]]\x1b[0m",
    "prose around": "Here is my output:\n[[0.25, -1.5], [12, -7.125]]\nWhat is wrong?",
    "shape beside it": "torch.Size([2, 2])\n[[0.25, -1.5], [12, -7.125]]",
    "shape in brackets before": "shape (2, 2)\n[[0.25, -1.5], [12, -7.125]]",
    "bullets": "- [0.25, -1.5]\n- [12, -7.125]",
    "printed row by row": "q[0] = [0.25, -1.5]\nq[1] = [12, -7.125]",
    "numbered rows": "q0: [0.25, -1.5]\nq1: [12, -7.125]",
    # PyTorch, JAX, TensorFlow and others
    "jax": "Array([[ 0.25 , -1.5  ],\n       [12.   , -7.125]], dtype=float32)",
    "old jax": "DeviceArray([[ 0.25 , -1.5  ],\n             [12.   , -7.125]], dtype=float32)",
    "jax weak": "Array([[ 0.25 , -1.5  ],\n       [12.   , -7.125]], dtype=float32, weak_type=True)",
    "tf print": "tf.Tensor(\n[[ 0.25  -1.5  ]\n [12.    -7.125]], shape=(2, 2), dtype=float32)",
    "tf variable": "<tf.Variable 'w:0' shape=(2, 2) dtype=float32, numpy=\narray([[ 0.25 , -1.5  ],\n       [12.   , -7.125]], "
    "dtype=float32)>",
    "keras variable": "<Variable path=dense/kernel, shape=(2, 2), dtype=float32, value=[[ 0.25  -1.5  ]\n [12.    -7.125]]>",
    "list of tf tensors": "[<tf.Tensor: shape=(2,), dtype=float32, numpy=array([ 0.25, -1.5 ], dtype=float32)>, "
    "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([12.   , -7.125], dtype=float32)>]",
    "mlx": "array([[0.25, -1.5],\n       [12, -7.125]], dtype=float32)",
    "tfjs": "Tensor\n    [[0.25, -1.5  ],\n     [12  , -7.125]]",
    "burn": 'Tensor {\n  data:\n[[0.25, -1.5],\n [12.0, -7.125]],\n  shape:  [2, 2],\n  device:  Cpu,\n  backend:  "ndarray",\n}',
    "candle": "[[ 0.25, -1.5],\n [12, -7.125]]\nTensor[[2, 2], f32]",
    "rust ndarray": "[[0.25, -1.5],\n [12.0, -7.125]], shape=[2, 2], strides=[2, 1], layout=Cc (0x5), const ndim=2",
    "model output": "Output(scores=tensor([[ 0.25, -1.5],\n        [12, -7.125]]), loss=None)",
    "masked array without masks": "masked_array(\n  data=[[0.25, -1.5],\n        [12.0, -7.125]],\n  mask=False,\n  fill_value=1e+20)",
    "sympy": "Matrix([[1/4, -3/2], [12, -57/8]])",
    "sympy pretty": "⎡1/4  -3/2 ⎤\n⎢          ⎥\n⎣12   -57/8⎦",
    # C and its family
    "C": "double q[] [2] = {{0.25, -1.5}, {12., -7.125}};",
    "C with comments": "/* query */ float q[2][2] = {\n  {0.25f, -1.5f}, // first\n  {12.f, -7.125f}\n};",
    "C++": "std::vector<std::vector<float>> q = {{0.25f, -1.5f}, {12.f, -7.125f}};",
    "C#": "float[,] q = new float[,] {{0.25f, -1.5f}, {12f, -7.125f}};",
    "Java": "double[][] q = new double[][] {{0.25, -1.5}, {12, -7.125}};",
    "JavaScript": "const q = [new Float32Array([0.25, -1.5]), new Float32Array([12, -7.125])];",
    "node": "[ [ 0.25, -1.5 ], [ 12, -7.125 ] ]",
    "Rust": "let q: [[f32; 2]; 2] = [[0.25, -1.5], [12.0, -7.125]];",
    "Rust vec": "let q = vec![vec![0.25_f32, -1.5], vec![12f32, -7.125]];",
    "Rust slices": "let q = arr2(&[[0.25, -1.5], [12.0, -7.125]]);",
    "Go": "q := [][]float32{{0.25, -1.5}, {12, -7.125}}",
    "Go sized": "var q = [2][2]float64{\n\t{0.25, -1.5},\n\t{12, -7.125},\n}",
    "Kotlin": "val q = arrayOf(floatArrayOf(0.25f, -1.5f), floatArrayOf(12f, -7.125f))",
    "Scala": "val q = Array(Array(0.25, -1.5), Array(12, -7.125))",
    "Mathematica": "{{0.25, -1.5}, {12, -7.125`}}",
    "Mathematica output": "Out[3]//MatrixForm= {{2.5*^-1, -3/2}, {12., -7.125}}",
    "Mathematica form": "MatrixForm[{{0.25, -1.5}, {12, -7.125}}]",
    # MATLAB, Octave, Julia, R
    "MATLAB": "Q = [0.25 -1.5; 12 -7.125];",
    "MATLAB commas": "Q = [0.25, -1.5; 12, -7.125]",
    "MATLAB lines": "Q = [0.25 -1.5\n     12   -7.125];",
    "MATLAB continuation": "Q = [0.25 ...\n     -1.5; 12 ... \n     -7.125];",
    "MATLAB continuation before": "Q = ...\n  [0.25 -1.5; 12 -7.125];",
    "rows in round brackets": "(0.25 -1.5\n 12 -7.125)",
    "rows in braces": "{0.25 -1.5; 12 -7.125}",
    "sympy with sizes": "Matrix(2, 2, [0.25, -1.5, 12, -7.125])",
    "string literal": "'[[0.25, -1.5], [12, -7.125]]'",
    "MATLAB comment": "Q = [0.25 -1.5 % first\n     12 -7.125 % second\n];",
    "MATLAB rational": "Q =\n\n       1/4           -3/2     \n      12            -57/8     \n",
    "MATLAB single": "Q =\n\n  2×2 single matrix\n\n    0.25   -1.5\n   12   -7.125\n",
    "Octave prompt": "octave:1> Q\nQ =\n\n    0.25   -1.5\n   12   -7.125\n\n",
    "Julia literal": "Float32[0.25 -1.5; 12 -7.125]",
    "Julia suffixes": "[0.25f0 -1.5f0; 1.2f1 -7.125f0]",
    "Julia rationals": "2×2 Matrix{Rational{Int64}}:\n  1//4   -3//2\n 12//1  -57//8",
    "Julia prompt": "julia> q\n2×2 Matrix{Float64}:\n  0.25  -1.5\n 12.0   -7.125",
    "R": "      [,1]   [,2]\n[1,]  0.25 -1.500\n[2,] 12.00 -7.125",
    "R prompt": "> q\n      [,1]   [,2]\n[1,]  0.25 -1.500\n[2,] 12.00 -7.125",
    "R by row": "q <- matrix(c(0.25, -1.5, 12, -7.125), nrow = 2, byrow = TRUE)",
    "Fortran": "  2.500000000000000E-001 -1.500000000000000E+000\n  1.200000000000000D+001 -7.125000000000000D+000",
    "hex floats": "0x1p-2 -0x1.8p+0\n0x1.8p3 -0x1.c8p2",
    "C hex floats": "{{0x1p-2f, -0x1.8p0f}, {0x1.8p3f, -0x1.c8p2f}}",
}

WARNED = {
    "PyTorch": ("tensor([[ 0.2500, -1.5000],\n        [12.0000, -7.1250]])", [FOUR]),
    "PyTorch module": ("tensor([[ 0.2500, -1.5000],\n        [12.0000, -7.1250]], device='mps:0', grad_fn=<MmBackward0>)", [FOUR]),
    "list of PyTorch tensors": ("[tensor([ 0.2500, -1.5000]), tensor([12.0000, -7.1250])]", [FOUR]),
    "PyTorch parameter": ("Parameter containing:\ntensor([[ 0.2500, -1.5000],\n        [12.0000, -7.1250]], requires_grad=True)", []),
    "paddle": ("Tensor(shape=[2, 2], dtype=float32, place=Place(cpu), stop_gradient=True,\n       [[ 0.25000000, -1.50000000],\n"
               "        [12.00000000, -7.12500000]])", ["8 decimals printed: compare with +-5e-9"]),
    "R column by column": ("matrix(c(0.25, 12, -1.5, -7.125), ncol = 2)", ["filled column by column, as R does"]),
    "R dput of a range": ("structure(c(0.25, 12, -1.5, -7.125), dim = c(2L, 2L), dimnames = list(NULL, NULL))",
                          ["filled column by column, as R does"]),
    "R dput": ("structure(c(0.25, 12, -1.5, -7.125), dim = c(2L, 2L))", ["filled column by column, as R does"]),
    "MATLAB factor": ("Q =\n\n   1.0e+01 *\n\n    0.0250   -0.1500\n    1.2000   -0.7125\n", ["multiplied by the display factor 10"]),
    "old Torch factor": (" 1.00000e+01  *\n 0.0250 -0.1500\n 1.2000 -0.7125\n[torch.DoubleTensor of size 2x2]",
                         ["multiplied by the display factor 10"]),
    "Unicode minus": ("0.25 −1.5\n12 –7.125", ["read as their plain forms: – −"]),
    "full width": ("［［０．２５，　－１．５］，［１２，－７．１２５］］", None),
    "Arabic digits": ("٠٫٢٥ -١٫٥\n١٢ -٧٫١٢٥", None),
    "powers of ten": ("2.5×10⁻¹ -1.5 × 10^0\n1.2·10¹ -7.125", []),
    "numbers beside": ("loss 0.5\n[[0.25, -1.5], [12, -7.125]]", ["text around the brackets left out"]),
    "percent": ("25% -150%\n1200% -712.5%", ["percent signs: divided by 100"]),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_form(form: str) -> None:
    """Read without a warning: nothing had to be changed."""
    parsed = parse_matrix(FORMS[form])
    assert parsed.values.tolist() == M
    assert parsed.values.dtype == np.float64
    assert parsed.warnings == ()
    assert parsed.alternatives == ()


@pytest.mark.parametrize("form", WARNED)
def test_form_with_warning(form: str) -> None:
    text, warnings = WARNED[form]
    parsed = parse_matrix(text)
    np.testing.assert_allclose(parsed.values, M, rtol=1e-15)
    if warnings is None:
        assert [w.split(":")[0] for w in parsed.warnings] == ["read as their plain forms"]
    else:
        assert list(parsed.warnings) == warnings


BOOLEANS = {
    "Python": "[[True, False], [True, True]]",
    "NumPy": "[[ True False]\n [ True  True]]",
    "JSON": "[[true, false], [true, true]]",
    "R": "      [,1]  [,2]\n[1,] TRUE FALSE\n[2,] TRUE  TRUE",
    "CSV": "TRUE,FALSE\nTRUE,TRUE",
    "Julia": "2×2 BitMatrix:\n 1  0\n 1  1",
    "Julia matrix": "2×2 Matrix{Bool}:\n 1  0\n 1  1",
    "MATLAB": "keep =\n\n  2×2 logical array\n\n   1   0\n   1   1\n",
    "Fortran": ".true. .false.\n.true. .true.",
    "NumPy scalars": "[[np.True_, np.False_], [np.True_, np.True_]]",
}


@pytest.mark.parametrize("form", BOOLEANS)
def test_boolean(form: str) -> None:
    """A mask keeps dtype bool."""
    parsed = parse_matrix(BOOLEANS[form])
    assert parsed.values.dtype == np.bool_
    assert parsed.values.tolist() == [[True, False], [True, True]]
    assert not parsed.resolution.any()


def test_ones_and_zeros_stay_numbers() -> None:
    assert parse_matrix("1 0\n1 1").values.dtype == np.float64
    mixed = parse_matrix("[[True, 0.5]]")
    assert mixed.values.tolist() == [[1.0, 0.5]]
    assert mixed.warnings == ("True and False read as 1 and 0",)


SHAPES = {
    "one number": ("5", (1, 1)),
    "one row": ("1 2 3", (1, 3)),
    "one column": ("1\n2\n3", (3, 1)),
    "list of one axis": ("[1, 2, 3]", (1, 3)),
    "wrapped list of one axis": ("tensor([1., 2., 3.,\n        4.])", (1, 4)),
    "scalar tensor": ("tensor(0.2500)", (1, 1)),
    "numpy scalar": ("np.float64(0.25)", (1, 1)),
    "R vector": (" [1] 1 2 3\n [4] 4 5 6\n", (1, 6)),
    "three axes": ("[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]", (2, 2, 2)),
    "numpy of three axes": ("[[[1. 2.]\n  [3. 4.]]\n\n [[5. 6.]\n  [7. 8.]]]", (2, 2, 2)),
    "four axes of size one": ("tensor([[[[0.2500, 0.5000]]]])", (1, 1, 1, 2)),
    "heads": ("[[[[1, 2, 3]], [[4, 5, 6]]]]", (1, 2, 1, 3)),
    "MATLAB pages": ("ans(:,:,1) =\n\n     1     2\n     3     4\n\n\nans(:,:,2) =\n\n     5     6\n     7     8\n", (2, 2, 2)),
    "Julia pages": ("2×2×2 Array{Int64, 3}:\n[:, :, 1] =\n 1  2\n 3  4\n\n[:, :, 2] =\n 5  6\n 7  8", (2, 2, 2)),
    "R dput with a range": ("structure(c(1, 4, 2, 5, 3, 6), dim = 2:3)", (2, 3)),
    "R dput pages": ("structure(c(1, 3, 2, 4, 5, 7, 6, 8), dim = c(2L, 2L, 2L))", (2, 2, 2)),
    "R named columns": ("   a  b\nx  1  2\ny  4  5\n   c\nx  3\ny  6\n", (2, 3)),
    "R write.table": ('"V1" "V2"\n"1" 1 2\n"2" 3 4\n', (2, 2)),
    "R pages": (", , 1\n\n     [,1] [,2]\n[1,]    1    2\n[2,]    3    4\n\n, , 2\n\n     [,1] [,2]\n[1,]    5    6\n[2,]    7    8\n", (2, 2, 2)),
    "old Torch pages": ("(0 ,.,.) = \n  1  2\n  3  4\n\n(1 ,.,.) = \n  5  6\n  7  8\n[torch.FloatTensor of size 2x2x2]", (2, 2, 2)),
    "MATLAB columns": ("A =\n\n  Columns 1 through 3\n\n  1  2  3\n\n  Columns 4 through 5\n\n  4  5\n\n  Column 6\n\n  6\n", (1, 6)),
    "Octave columns": (" Columns 1 through 3:\n\n  1  2  3\n\n Columns 4 and 5:\n\n  4  5\n", (1, 5)),
    "R columns": ("     [,1] [,2]\n[1,]    1    2\n[2,]    4    5\n     [,3]\n[1,]    3\n[2,]    6\n", (2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("form", SHAPES)
def test_shape(form: str) -> None:
    """The entries of every case count up from the first in row-major order of its shape."""
    text, shape = SHAPES[form]
    parsed = parse_matrix(text)
    assert parsed.values.shape == shape
    assert parsed.resolution.shape == shape
    values = parsed.values.ravel()
    if values.size > 2:
        np.testing.assert_array_equal(values, np.arange(1, values.size + 1))


def test_wrapped_one_axis_print_offers_both() -> None:
    """NumPy wraps one long row; when the lines are even they could also be MATLAB's rows."""
    line = " ".join(f"0.1234567{i}" for i in range(6))
    parsed = parse_matrix(f"[{line}\n {line}]")
    assert parsed.values.shape == (2, 6)
    assert [label for label, _ in parsed.alternatives] == ["one_wrapped_row"]
    assert parsed.alternatives[0][1].values.shape == (1, 12)
    uneven = parse_matrix(f"[{line}\n 0.5]")
    assert uneven.values.shape == (1, 7)
    assert uneven.warnings == ("line ends inside the brackets read as wrapping",)


def test_page_factors_are_their_own() -> None:
    """Each page of a MATLAB print has its own display factor."""
    text = "ans(:,:,1) =\n\n   1.0e+03 *\n\n    1.0000    2.0000\n\nans(:,:,2) =\n\n    3.0000    4.0000\n"
    parsed = parse_matrix(text)
    assert parsed.values.tolist() == [[[1000.0, 2000.0]], [[3.0, 4.0]]]
    np.testing.assert_allclose(parsed.resolution, [[[0.05, 0.05]], [[5e-5, 5e-5]]])


def test_factor_holds_for_all_column_blocks() -> None:
    text = (
        "A =\n\n   1.0e+03 *\n\n  Columns 1 through 2\n\n    1.0000    2.0000\n\n  Column 3\n\n    3.0000\n"
    )
    assert parse_matrix(text).values.tolist() == [[1000.0, 2000.0, 3000.0]]


JSON_FORMS = {
    "nested": "[[0.25, -1.5], [12, -7.125]]",
    "named": '{"scores": [[0.25, -1.5], [12, -7.125]]}',
    "named with metadata": '{"model": "a", "n": 2, "scores": [[0.25, -1.5], [12, -7.125]], "seed": 7}',
    "shape and data": '{"shape": [2, 2], "data": [0.25, -1.5, 12, -7.125]}',
    "data and dtype": '{"dtype": "float32", "data": [[0.25, -1.5], [12, -7.125]]}',
    "strings": '[["0.25", "-1.5"], ["12", "-7.125"]]',
    "records": '[{"a": 0.25, "b": -1.5}, {"a": 12, "b": -7.125}]',
    "split": '{"columns": ["a", "b"], "index": [0, 1], "data": [[0.25, -1.5], [12, -7.125]]}',
    "deeper": '{"layer": {"attention": {"out": [[0.25, -1.5], [12, -7.125]]}}}',
    "python dict": "{'out': array([[ 0.25 , -1.5  ],\n       [12.   , -7.125]])}",
}


@pytest.mark.parametrize("form", JSON_FORMS)
def test_json(form: str) -> None:
    assert parse_matrix(JSON_FORMS[form]).values.tolist() == M


def test_json_columns() -> None:
    parsed = parse_matrix('{"a": {"0": 0.25, "1": 12}, "b": {"0": -1.5, "1": -7.125}}')
    assert parsed.values.tolist() == M
    assert parsed.warnings == ("read column by column, as pandas writes it",)


NAMED = {
    "python": "Q = [[1, 0], [0, 1]]\nK = [[2, 0], [0, 2]]",
    "json": '{"Q": [[1, 0], [0, 1]], "K": [[2, 0], [0, 2]]}',
    "python dict": "{'Q': tensor([[1., 0.], [0., 1.]]), 'K': tensor([[2., 0.], [0., 2.]])}",
    "object": "Output(Q=tensor([[1., 0.], [0., 1.]]), K=tensor([[2., 0.], [0., 2.]]))",
    "MATLAB": "Q =\n\n     1     0\n     0     1\n\nK =\n\n     2     0\n     0     2\n",
    "labels": "Q:\n1 0\n0 1\nK:\n2 0\n0 2",
    "OrderedDict": "OrderedDict([('Q', tensor([[1., 0.],\n        [0., 1.]])), ('K', tensor([[2., 0.],\n        [0., 2.]]))])",
    "C": "float Q[2][2] = {{1, 0}, {0, 1}};\nfloat K[2][2] = {{2, 0}, {0, 2}};",
    "R list": "$Q\n     [,1] [,2]\n[1,]    1    0\n[2,]    0    1\n\n$K\n     [,1] [,2]\n[1,]    2    0\n[2,]    0    2\n",
}


@pytest.mark.parametrize("form", NAMED)
def test_several_named(form: str) -> None:
    found = parse_named(NAMED[form])
    assert {name: parsed.values.tolist() for name, parsed in found.items()} == {
        "Q": [[1.0, 0.0], [0.0, 1.0]],
        "K": [[2.0, 0.0], [0.0, 2.0]],
    }


def test_several_unnamed() -> None:
    """A tuple of results, as (output, weights) of a multi-head call prints, is several arrays."""
    found = parse_named("(tensor([[1., 2.]]), tensor([[1.],\n        [2.]]))")
    assert [parsed.values.shape for parsed in found.values()] == [(1, 2), (2, 1)]
    assert list(found) == ["matrix 1", "matrix 2"]


LATEX = {
    "bmatrix": r"\begin{bmatrix} 0.25 & -1.5 \\ 12 & -7.125 \end{bmatrix}",
    "pmatrix": "$$\n\\begin{pmatrix}\n0.25 & -1.5 \\\\\n12 & -7.125\n\\end{pmatrix}\n$$",
    "array": r"\left[\begin{array}{c|c} 0.25 & -1.5 \\[2pt] \hline 12 & -7.125 \end{array}\right]",
    "starred": r"\begin{bmatrix*}[r] 0.25 & -1.5 \\ 12 & -7.125 \\ \end{bmatrix*}",
    "smallmatrix": r"\bigl(\begin{smallmatrix} 0.25 & -1.5 \\ 12 & -7.125 \end{smallmatrix}\bigr)",
    "fractions": r"\begin{pmatrix} \frac{1}{4} & -\frac{3}{2} \\ 12 & -\tfrac{57}{8} \end{pmatrix}",
    "slashes": r"\begin{pmatrix} 1/4 & -3/2 \\ 12 & -57/8 \end{pmatrix}",
    "short fraction": r"\begin{pmatrix} \frac14 & -\frac32 \\ 12 & -7.125 \end{pmatrix}",
    "plain TeX": r"\pmatrix{0.25 & -1.5 \cr 12 & -7.125 \cr}",
    "spacing": r"\begin{bmatrix} \phantom{-}0.25 & \,-1.5 \\ 12\; & -\!7.125 \end{bmatrix}",
    "wrappers": r"\begin{bmatrix} \num{0.25} & \mathbf{-1.5} \\ \text{12} & {-7.125} \end{bmatrix}",
    "powers": r"\begin{bmatrix} 2.5 \times 10^{-1} & -1.5 \\ 1.2 \cdot 10^{1} & -7.125 \end{bmatrix}",
    "assignment": r"Q = \begin{bmatrix} 0.25 & -1.5 \\ 12 & -7.125 \end{bmatrix} \in \mathbb{R}^{2 \times 2}",
    "tabular": "\\begin{tabular}{lr}\n\\toprule\na & b \\\\\n\\midrule\n0.25 & -1.5 \\\\\n12 & -7.125 \\\\\n\\bottomrule\n\\end{tabular}",
    "decimal braces": r"\begin{bmatrix} 0{,}25 & -1{,}5 \\ 12 & -7{,}125 \end{bmatrix}",
    "decimal commas": r"\begin{bmatrix} 0,25 & -1,5 \\ 12 & -7,125 \end{bmatrix}",
    "comment": "\\begin{bmatrix} % Q\n0.25 & -1.5 \\\\ % first & second\n12 & -7.125 \\end{bmatrix}",
    "delimiters": r"Q = \left( \begin{array}{cc} 0.25 & -1.5 \\ 12 & -7.125 \end{array} \right)_{2 \times 2}",
    "percent": r"\begin{bmatrix} 25\% & -150\% \\ 12 & -7.125 \end{bmatrix}",
    "rows alone": "0.25 & -1.5 \\\\ 12 & -7.125",
}


@pytest.mark.parametrize("form", LATEX)
def test_latex(form: str) -> None:
    assert parse_matrix(LATEX[form]).values.tolist() == M


def test_latex_infinity() -> None:
    assert parse_matrix(r"\begin{bmatrix} 0 & -\infty \\ 0 & 0 \end{bmatrix}").values.tolist() == [
        [0, -np.inf],
        [0, 0],
    ]


def test_markdown_in_prose_is_not_a_comment() -> None:
    """“#” begins a comment, but not in 1.#INF or a spreadsheet's error."""
    assert parse_matrix("1.#INF -1.#INF").values.tolist() == [[np.inf, -np.inf]]
    assert parse_matrix("1 2 # and 3").values.tolist() == [[1.0, 2.0]]
