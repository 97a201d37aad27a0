"""Texts in many dialects, and the fragments they are made of: seeds for fuzzing. It holds no test."""

from __future__ import annotations

import json
from pathlib import Path

SAMPLES = [
    s["text"] for s in json.loads((Path(__file__).parent / "paste_samples.json").read_text(encoding="utf-8"))
]

DIALECTS = [
    "1 0\n0 1", "1,0;0,1", "0.5\t1\n2\t3\n", "[[1, 2], [3, 4]]", "[[1 2]\n [3 4]]", "[1 2; 3 4]", "[1 2 ...\n 3 4; 5 6 7 8]",
    "array([[ 0.25 , -1.5  ],\n       [12.   , -7.125]], dtype=float32)", "Array([[1., 2.]], dtype=bfloat16)",
    "<tf.Tensor: shape=(1, 2), dtype=float32, numpy=array([[1., 2.]], dtype=float32)>",
    "tensor([[[[0.25, -1.5]]]], grad_fn=<MulBackward0>)", "[tensor([1., 2.]), tensor([3., 4.])]",
    "Q =\n\n   1.0e+03 *\n\n    0.0012    1.5000\n    0.2500   -2.0000\n",
    "A =\n\n  Columns 1 through 2\n\n     1     2\n     3     4\n\n  Column 3\n\n     5\n     6\n",
    "ans(:,:,1) =\n\n     1     2\n\n\nans(:,:,2) =\n\n     5     6\n", "(0 ,.,.) = \n  1 2\n  3 4\n",
    "2×2 Matrix{Bool}:\n 1  0\n 0  1", "      [,1]   [,2]\n[1,]  0.25 -1.500\n[2,] 12.00 -7.125", "[1] 1 2 3\n[4] 4 5 6",
    "matrix(c(1, 2, 3, 4), nrow = 2, byrow = TRUE)", "structure(c(1, 2, 3, 4), dim = c(2L, 2L))",
    "      0      1\n0  0.25 -1.500\n1 12.00 -7.125\n\n[2 rows x 2 columns]",
    "          a         b  \\\n0  1.5  2.5   \n\n          c  \n0  5.5  ", ",a,b\n0,0.25,-1.5\n1,12,-7.125\n",
    "a;b\n0,25;-1,5\n12;-7,125", '"0,25";"-1,5"\n"12";"-7,125"', "1.250,5\t2\n3\t4", "1'250.5\t2\n3\t4",
    "| a | b |\n|---|---:|\n| 0.25 | -1.5 |", "+---+---+\n| 1 | 2 |\n+---+---+", "┌──┬──┐\n│1 ┆ 2│\n└──┴──┘",
    "\\begin{pmatrix} \\frac{1}{4} & -1{,}5 \\\\[2pt] 12 & 1.5 \\times 10^{-3} \\end{pmatrix}", "\\pmatrix{1 & 2 \\cr 3 & 4}",
    '{"q": [[1, 2]], "k": [[3, 4]]}', '{"shape": [2, 2], "data": [1, 2, 3, null]}', '[{"a": 1, "b": 2}, {"a": 3, "b": 4}]',
    '{"a": {"0": 1, "1": 2}, "b": {"0": 3, "1": 4}}', '{"columns": ["a"], "index": [0], "data": [[1]]}',
    "let q: [[f32; 2]; 2] = [[1., 2.], [3., 4.]];", "vec![vec![0.25_f32, -1.5]]", "q := [][]float32{{0.25, -1.5}, {12, -7}}",
    "double[][] q = new double[][] {{1, 2}, {3, 4}};", "{{1.5*^-3, 2.`}, {1/4, 4}}", "Out[3]= MatrixForm[{{1, 2}}]",
    ">>> x\narray([[1, 2],\n       [3, 4]])", "In [3]: x\nOut[3]: array([[1, 2]])", "- [1, 2]\n- [3, 4]", "> 1 2\n> 3 4",
    "1 2 # one\n3 4 // two\n", "% m\n1 2 % one\n3 4", "/* c */ {1, 2}", "25% 50%\n75% 100%", "½ 1¾\n−1 ２", "1.5 × 10⁻³ 2",
    "masked_array(data=[[1, --]], mask=[[False, True]], fill_value=1e+20)", "[[0. 1. ... 2.]]", "1 2 … 3", "np.array([[1]]).T",
    "Tensor {\n  data:\n[[1.0]],\n  shape:  [1, 1],\n}", "[[1.0]], shape=[1, 1], strides=[1, 1], layout=CFcf (0xf), const ndim=2",
    "Q = [[1, 2]]\nK = [[3, 4]]", "Q =\n1 2\n\nK =\n3 4\n", "Array(Array(1, 2), Array(3, 4))", "Fraction(1, 4) 2", "[(1, 2), (3, 4)]",
]  # fmt: skip

PIECES = [
    *"[](){}<>,;:=|&\\/'\"`~!@#$%^*+-_.?0123456789eEdDfxXnNiI \t\n\r",
    "...", "…", "--", "nan", "inf", "-inf", "1e400", "1e-400", "0x1.8p+3", "1/0", "1/4", "1+2j", "True", "False", "null", "\n\n",
    "[[", "]]", "], [", "],\n [", "[]", "[][]", "{{", "}}", "()", "tensor(", "array(", "np.float32(", "dtype=", "shape=(2, 2)",
    "grad_fn=<", "<tf.Tensor:", ">", "\\begin{", "\\end{", "bmatrix}", "\\\\", "\\frac{", "{,}", "&", "1.0e+03 *", "Columns 1 to 2",
    "[,1]", "[1,]", " [1] ", "Q =", "K:", "\\\n", ">>> ", "In [1]: ", "# ", "// ", "/*", "*/", "(*", "*)", "% ", "```", "|---|", "+--+",
    "1,5", "1,250.5", "1.250,5", "0,250", "1'250", "1_000", "\u00a0", "\u2212", "\ufeff", "\u200b", "×", "10^", "⁻³", "½", "∞", "٣", "１",
    "9" * 400, "9007199254740993", "0." + "1" * 50, "1 2 3\n", "0.25 -1.5\n", "a,b\n", ",a,b\n", "x", "Infinity", "1.#IND", "#N/A", "\x00",
    '"', '""', '":', '{"a":', "shape", "data", "ans(:,:,1) =", "(0 ,.,.) = ", "2×2 Matrix{Float64}:", "c(", "nrow=2", "matrix(", "vec![",
]  # fmt: skip
