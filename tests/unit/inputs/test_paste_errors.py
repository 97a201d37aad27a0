"""Texts that are not one matrix: each is refused with a code and the place, in words that say what to change."""

from __future__ import annotations

import numpy as np
import pytest

from attention_lab.core import LabError
from attention_lab.inputs.paste import PasteError, parse_matrix, require_finite

# text: (code, line, column, a part of the message)
REFUSED = {
    "ragged lines": ("1 2\n3 4 5", "RAGGED", 2, 5, "row 1 has 2, row 2 has 3"),
    "ragged short": ("1 2 3\n4 5", "RAGGED", 2, 1, "row 1 has 3, row 2 has 2"),
    "ragged list": ("[[1, 2], [3]]", "RAGGED", 1, 10, "row 1 has 2, row 2 has 1"),
    "ragged numpy": ("[[1 2]\n [3 4 5]]", "RAGGED", 2, 2, "row 1 has 2, row 2 has 3"),
    "ragged MATLAB": ("[1 2; 3 4 5]", "RAGGED", 1, 7, "row 2 has 3"),
    "ragged CSV": ("1.5,2\n3,4,5", "RAGGED", 2, 5, "row 2 has 3"),
    "ragged deep": ("[[[1, 2]], [[3, 4], [5, 6]]]", "RAGGED", 1, 12, "row 1 has 1×2, row 2 has 2×2"),
    "ragged LaTeX": (r"\begin{bmatrix} 1 & 2 \\ 3 \end{bmatrix}", "RAGGED", 1, 26, "row 2 has 1"),
    "number beside a row": ("[[1, 2], 3]", "RAGGED", 1, 10, "a row in brackets was expected"),
    "ragged records": ('[{"a": 1}, {"b": 2}]', "RAGGED", 1, 12, "record 2"),
    "ragged blocks": ("Columns 1 to 2\n1 2\n3 4\nColumn 3\n5\n", "RAGGED", 5, 1, "same rows"),
    "wrong shape": ('{"shape": [2, 3], "data": [1, 2]}', "RAGGED", 1, 11, "needs 6 entries, 2 came"),
    "elided numpy": ("[[0. 1. ... 8. 9.]\n ...\n [0. 1. ... 8. 9.]]", "ELIDED", 1, 9, "threshold=sys.maxsize"),
    "elided torch": ("tensor([[0.1, 0.2,  ..., 0.3],\n        [0.1, 0.2,  ..., 0.3]])", "ELIDED", 1, 21, "profile='full'"),
    "elided at a wrap": ("[" + " ".join(["0.12345678"] * 6) + " ...\n 0.5]", "ELIDED", 1, 68, "left out"),
    "elided rows only": ("[[1, 2],\n ...,\n [3, 4]]", "ELIDED", 2, 2, "left out"),
    "elided pandas": ("    0    1   ...   8    9\n0  1.0  2.0  ...  3.0  4.0\n", "ELIDED", None, None, "left out"),
    "elided julia": ("9×9 Matrix{Float64}:\n 0.1  0.2  …  0.9\n ⋮         ⋱\n 0.5  0.2  …  0.9", "ELIDED", 2, 12, "left out"),
    "elided LaTeX": (r"\begin{bmatrix} 1 & \cdots & 3 \end{bmatrix}", "ELIDED", 1, 21, "left out"),
    "elided Mathematica": ("{{1, 2, <<5>>, 8}}", "ELIDED", 1, 9, "left out"),
    "MATLAB dots inside a row": ("[1 2 ... 3 4]", "ELIDED", 1, 6, "left out"),
    "missing in CSV": ("1,,3\n4,5,6", "MISSING_VALUE", 1, 3, "nothing came"),
    "missing at the end": ("1,2,\n3,4,5", "MISSING_VALUE", 1, 5, "nothing came"),
    "missing in TSV": ("1\t\t3\n4\t5\t6", "MISSING_VALUE", 1, 3, "nothing came"),
    "missing in a list": ("[1,,2]", "MISSING_VALUE", 1, 4, "before this comma"),
    "missing first": ("[,1]", "MISSING_VALUE", 1, 2, "before this comma"),
    "missing in Markdown": ("| 1 | |\n| 2 | 3 |", "MISSING_VALUE", 1, 6, "nothing came"),
    "masked": ("[[1.0 --]\n [2.0 3.0]]", "MISSING_VALUE", 1, 7, "“--” came"),
    "masked row": ("1 2\n-- --\n3 4", "MISSING_VALUE", 2, 1, "“--” came"),
    "spreadsheet error": ("1\t#DIV/0!\n2\t3", "MISSING_VALUE", 1, 3, "“#DIV/0!” came"),
    "spreadsheet N/A": ("#N/A\t1", "MISSING_VALUE", 1, 1, "“#N/A” came"),
    "labelled row without numbers": (",a\nq0,0.5\nq1,\n", "MISSING_VALUE", 3, 4, "nothing came"),
    "overflow": ("1 1e400", "LITERAL_OVERFLOW", 1, 3, "too large"),
    "overflow in a list": ("[[1, 2],\n [3, -1e999]]", "LITERAL_OVERFLOW", 2, 6, "too large"),
    "overflow in a fraction": (f"1{'0' * 399}/1 2", "LITERAL_OVERFLOW", 1, 1, "too large"),
    "overflow in hexadecimal": ("0x1p99999 1", "LITERAL_OVERFLOW", 1, 1, "too large"),
    "overflow of an integer": ("1" * 400, "LITERAL_OVERFLOW", 1, 1, "too large"),
    "overflow of a display factor": ("1.0e+999 *\n1 2", "LITERAL_OVERFLOW", 1, 1, "too large"),
    "overflow by a display factor": ("1.0e+300 *\n1 1e300", "LITERAL_OVERFLOW", 2, 3, "times its display factor"),
    "word in a row": ("1 2\n3 four", "NOT_A_NUMBER", 2, 3, "“four” came"),
    "letter for a digit": ("1 o.5\n2 3", "NOT_A_NUMBER", 1, 3, "“o.5” came"),
    "letter for a digit in front": ("l 2\n3 4", "NOT_A_NUMBER", 1, 1, "“l” came"),
    "two points": ("1.5.2 3\n4 5", "NOT_A_NUMBER", 1, 1, "“1.5.2” came"),
    "glued numbers": ("-1.5-2.5 3", "NOT_A_NUMBER", 1, 1, "“-1.5-2.5” came"),
    "unfinished exponent": ("1e 2", "NOT_A_NUMBER", 1, 1, "“1e” came"),
    "accounting negative": ("(0.25)\t1\n2\t3", "NOT_A_NUMBER", 1, 1, "“(0.25)” came"),
    "complex": ("[[1+2j, 3]]", "NOT_A_NUMBER", 1, 3, "is complex"),
    "complex of MATLAB": ("0.5+1.5i 2", "NOT_A_NUMBER", 1, 1, "is complex"),
    "division by zero": ("1/0 2", "NOT_A_NUMBER", 1, 1, "divides by zero"),
    "date": ("2026/11/29 1", "NOT_A_NUMBER", 1, 1, "“2026/11/29” came"),
    "comparison": ("[[1 < 2]]", "NOT_A_NUMBER", 1, 5, "“<” came"),
    "expression in an entry": ("[[1+2, 3]]", "NOT_A_NUMBER", 1, 3, "“1+2” came"),
    "word in a list": ("[[1, x]]", "NOT_A_NUMBER", 1, 6, "“x” came"),
    "no separator": ("[[1'2']]", None, 1, None, ""),
    "transposed": ("np.array([[1, 2]]).T", "NOT_A_MATRIX", 1, 19, "“.T” is a computation"),
    "transposed in MATLAB": ("[1 2; 3 4]'", "NOT_A_MATRIX", 1, 11, "is a computation"),
    "transposed later": ("torch.tensor([[1, 2]]).cuda().T", "NOT_A_MATRIX", 1, 30, "“.T” is a computation"),
    "transposed by a sign": ("[[1, 2]]ᵀ", "NOT_A_MATRIX", 1, 9, "“ᵀ” is a computation"),
    "rounded": ("torch.tensor([[1, 2]]).half()", "NOT_A_MATRIX", 1, 23, "“.half” is a computation"),
    "LaTeX transposed": (r"\left(\begin{matrix}1&2\end{matrix}\right)^T", "NOT_A_MATRIX", 1, 43, "“^” is a computation"),
    "LaTeX top": (r"\begin{bmatrix}1&2\end{bmatrix}^{\top}", "NOT_A_MATRIX", 1, 32, "computation"),
    "LaTeX scaled": (r"2\begin{bmatrix}1&2\end{bmatrix}", "NOT_A_MATRIX", 1, 1, "“2” is a computation"),
    "LaTeX negated": (r"Q = -\left[\begin{matrix}1&2\end{matrix}\right]", "NOT_A_MATRIX", 1, 5, "“-” is a computation"),
    "LaTeX divided": (r"\frac{1}{\sqrt 2}\begin{bmatrix}1&2\end{bmatrix}", None, 1, None, ""),
    "LaTeX halved": (r"\frac{1}{2} \begin{bmatrix}1&2\end{bmatrix}", "NOT_A_MATRIX", 1, 1, "computation"),
    "LaTeX times": (r"\begin{bmatrix}1&2\end{bmatrix} \cdot 2", "NOT_A_MATRIX", 1, 33, "computation"),
    "row of commas only": ("1,2\n,\n3,4", "MISSING_VALUE", 2, 1, "nothing came"),
    "sparse": ("tensor(indices=tensor([[0, 1]]),\n       values=tensor([1., 2.]),\n       size=(2,), nnz=2)", "NOT_A_MATRIX", 1, 7, "to_dense"),
    "top k": ("torch.return_types.topk(\nvalues=tensor([[1.]]),\nindices=tensor([[1]]))", "NOT_A_MATRIX", 1, 1, "computation"),
    "unknown argument": ("np.array([1, 2], 3)", "NOT_A_MATRIX", 1, 1, "“np.array(” is a computation"),
    "OpenCV": ("cv::Mat_<float>(2,2) << 1,2,3,4", None, 1, None, ""),
    "reshaped": ("torch.tensor([1, 2]).reshape(2, 1)", "NOT_A_MATRIX", 1, 21, "“.reshape” is a computation"),
    "scaled": ("2 * [[1, 2]]", "NOT_A_MATRIX", 1, 3, "“*” is a computation"),
    "scaled without spaces": ("2*[[1, 2]]", "NOT_A_MATRIX", 1, 1, "“2*” is a computation"),
    "negated": ("-[[1, 2]]", "NOT_A_MATRIX", 1, 1, "“-” is a computation"),
    "divided": ("[[1, 2]] / 8", "NOT_A_MATRIX", 1, 9, "“/” is a computation"),
    "subtracted": ("[[1, 2]] -1", "NOT_A_MATRIX", 1, 9, "“-1” is a computation"),
    "product": ("[[1, 2]] @ [[3], [4]]", "NOT_A_MATRIX", 1, 9, "“@” is a computation"),
    "indexed": ("[[1, 2], [3, 4]][0]", "NOT_A_MATRIX", 1, 17, "“[” is a computation"),
    "softmax": ("softmax([[1, 2]])", "NOT_A_MATRIX", 1, 1, "“softmax(” is a computation"),
    "exp of a tensor": ("torch.exp(torch.tensor([[1., 2.]]))", "NOT_A_MATRIX", 1, 1, "“torch.exp(” is a computation"),
    "call in an entry": ("[[sqrt(2), 1]]", None, 1, None, ""),
    "call around a row": ("[exp([1, 2]), [3, 4]]", "NOT_A_MATRIX", 1, 2, "“exp(” is a computation"),
    "Rust repeat": ("vec![0.0; 4]", "NOT_A_MATRIX", 1, 5, "“;” inside"),
    "MATLAB horizontal": ("[[1;2] [3;4]]", "NOT_A_MATRIX", 1, 2, "“;” inside"),
    "range": ("array(1:4, dim = c(2, 2))", None, 1, None, ""),
    "code": ("__import__('os').system('x')", "NOT_A_MATRIX", 1, 1, "numbers in rows were expected"),
    "lambda": ("(lambda: [1, 2])()", None, 1, None, ""),
    "prose": ("hello world", "NOT_A_MATRIX", 1, 1, "“hello world” came"),
    "HTML": ("<script>alert(1)</script>", "NOT_A_MATRIX", 1, 1, "numbers in rows"),
    "LaTeX figure": (r"\begin{figure} 1 & 2 \end{figure}", "NOT_A_MATRIX", 1, 1, "bmatrix"),
    "unclosed": ("[[1, 2], [3, 4]", "UNBALANCED", 1, 1, "never closed"),
    "unopened": ("1, 2], [3, 4]]", "UNBALANCED", 1, 5, "never opened"),
    "wrong closing": ("[[1, 2)]", "UNBALANCED", 1, 7, "“]” was expected, “)” came"),
    "unclosed LaTeX": (r"\begin{bmatrix} 1 & 2", "UNBALANCED", 1, 1, "never closed"),
    "nested too deep": ("[" * 40 + "1" + "]" * 40, "TOO_DEEP", 1, 33, "16 axes"),
    "seventeen axes": ("[" * 17 + "1" + "]" * 17, "TOO_DEEP", 1, 17, "16 axes"),
    "two matrices": ("Q = [[1, 2]]\nK = [[3, 4]]", "SEVERAL_MATRICES", 2, 5, "2 came (Q, K)"),
    "two LaTeX matrices": (r"\begin{bmatrix}1\end{bmatrix} \begin{bmatrix}2\end{bmatrix}", "SEVERAL_MATRICES", 1, 31, "2 came"),
    "empty list": ("[[1, 2], []]", "EMPTY", 1, 10, "none came"),
    "nul": ("1 \x00 2", "NOT_A_NUMBER", 1, 3, "was expected"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind: str) -> None:
    text, code, line, column, part = REFUSED[kind]
    with pytest.raises(PasteError) as caught:
        parse_matrix(text)
    error = caught.value
    assert isinstance(error, LabError)
    assert error.code == code or code is None
    assert part in str(error)
    assert f"line {error.line}, column {error.column}" in str(error)
    if line is not None:
        assert error.line == line
    if column is not None:
        assert error.column == column


@pytest.mark.parametrize(
    "text", ["", "   ", "\n\n\t\n", "\ufeff", "[]", "[[], []]", "# only a comment", "```\n```", "{}"]
)
def test_empty(text: str) -> None:
    with pytest.raises(PasteError, match="none came") as caught:
        parse_matrix(text)
    assert caught.value.code == "EMPTY"


@pytest.mark.parametrize("text", [",1\n,2", ";1\n;2", ",,1\n,,2", "\n".join([",1"] * 3000)])
def test_an_empty_first_column_is_left_out_aloud(text: str) -> None:
    """A mark before every row may be a lost column; tabs there are an indentation."""
    assert "empty first column left out" in parse_matrix(text).warnings
    assert parse_matrix("\t1\n\t2").warnings == ()


def test_places_count_what_the_reader_sees() -> None:
    """A byte order mark, CRLF and marks without width do not shift line and column."""
    with pytest.raises(PasteError) as caught:
        parse_matrix("\ufeff1 2\r\n3 \u200bx\r\n")
    assert (caught.value.line, caught.value.column) == (2, 3)


def test_long_quotes_are_cut() -> None:
    """The message quotes the start of a long entry only."""
    with pytest.raises(PasteError) as caught:
        parse_matrix("1 2\n3 " + "x" * 10_000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "spelling", ["nan", "NaN", "NA", "null", "None", "-nan", "-1.#IND", "1.#QNAN", "np.nan", "NaN32"]
)
def test_not_a_number_is_read(spelling: str) -> None:
    """Legal in a mask or an observed output."""
    assert np.isnan(parse_matrix(f"[[{spelling}, 1]]").values[0, 0])
    assert np.isnan(parse_matrix(f"{spelling} 1").values[0, 0])


@pytest.mark.parametrize(
    "spelling",
    ["inf", "Inf", "Infinity", "∞", "1.#INF", "np.inf", "float('inf')", "+inf", "INFINITY", "f32::INFINITY"],
)
def test_infinity_is_read(spelling: str) -> None:
    assert parse_matrix(f"[[{spelling}, 1]]").values[0, 0] == np.inf


@pytest.mark.parametrize(
    "spelling", ["-inf", "-Infinity", "-∞", "−∞", "-1.#INF", "-np.inf", "float('-inf')", "-Inf"]
)
def test_minus_infinity_is_read(spelling: str) -> None:
    assert parse_matrix(f"[[{spelling}, 1]]").values[0, 0] == -np.inf


def test_not_finite_is_refused_where_asked() -> None:
    """Q, K and V must be finite: the first entry that is not is named by row and column."""
    parsed = parse_matrix("1 2\n3 -inf")
    with pytest.raises(
        PasteError, match="K: a finite number was expected at row 2, column 2, -inf came"
    ) as caught:
        require_finite(parsed, "k")
    assert (caught.value.code, caught.value.field) == ("NOT_FINITE", "k")
    deep = parse_matrix("[[[1, 2]], [[nan, 4]]]")
    with pytest.raises(PasteError, match="slice 2, row 1, column 1, nan came"):
        require_finite(deep, "q")
    fine = parse_matrix("1 2")
    assert require_finite(fine, "q") is fine


def test_nothing_is_evaluated(tmp_path: object) -> None:
    """Calls, attributes and formats of code stay text."""
    for text in (
        "__import__('os').getpid()",
        "[[__import__('os').getpid()]]",
        "[exec('x = 1')]",
        "{{7*7}}",
        "${7*7}",
        "=1+1\t2",
    ):
        with pytest.raises(PasteError):
            parse_matrix(text)
