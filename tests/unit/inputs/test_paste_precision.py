"""`Parsed.resolution`: the half-width of what the printed digits could have meant, and that it holds for real printers."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from attention_lab.inputs.paste import parse_matrix

# text: the half-width of its entries. "Alone" means that the other entries say nothing about the printer.
HALF_WIDTHS = {
    "two decimals alone": ("0.25", [0.005]),
    "padded zeros": ("0.2500", [5e-5]),
    "PyTorch": ("tensor([[ 0.2500, 12.0000]])", [5e-5, 5e-5]),
    "padded beside a short one": ("0.2500 1.0", [5e-5, 0.05]),
    "integers": ("1 0 -12", [0, 0, 0]),
    "integers with points": ("[[1. 0. 12.]]", [0, 0, 0]),
    "integer among decimals": ("0 0.2500", [5e-5, 5e-5]),
    "booleans": ("True False", [0, 0]),
    "nan and infinity": ("nan -inf 0.2500", [0, 0, 5e-5]),
    "exponents": ("2.50e-03 1.00e+02", [5e-6, 0.5]),
    "Fortran exponent": ("2.5D-1", [0.005]),
    "power of ten": ("1e3 2e3", [0, 0]),
    "percent": ("25%", [0.005]),
    "percent with decimals": ("12.5%", [0.0005]),
    "hexadecimal": ("0x1.8p-1", [0]),
    "fraction": ("1/4", [0]),
    "fraction that is rounded": ("1/3", [2.0**-55]),
    "float32 scalar": ("[np.float32(0.5)]", [2.0**-25]),
    "float16 scalar": ("[np.float16(0.5)]", [2.0**-12]),
    "float64 scalar": ("[np.float64(0.5)]", [2.0**-54]),
    "integer scalar": ("[np.int64(3)]", [0]),
    "decimal comma": ("0,2500\t1,0000", [5e-5, 5e-5]),
    "display factor": ("1.0e+03 *\n0.2500 1.0000", [0.05, 0.05]),
    "big integer": ("9007199254740993", [1.0]),
}


@pytest.mark.parametrize("kind", HALF_WIDTHS)
def test_half_width(kind: str) -> None:
    text, expected = HALF_WIDTHS[kind]
    np.testing.assert_allclose(parse_matrix(text).resolution.ravel(), expected, rtol=1e-12)


def test_dropped_zeros_count_as_printed() -> None:
    """NumPy pads with spaces: "12." beside "-7.125" was printed with three decimals, so it is not ±0.5.

    The common precision is the looser of three decimals and four significant digits (float16 needs as many),
    so 12 is known to 12 · 2⁻¹¹ and 0.25 to 0.0005.
    """
    parsed = parse_matrix("[[ 0.25  -1.5  ]\n [12.    -7.125]]")
    np.testing.assert_allclose(parsed.resolution, [[5e-4, 1.5 * 2**-11], [12 * 2**-11, 5e-4]])


def test_full_precision_shows_every_bit() -> None:
    """Sixteen digits in one entry: the print is a repr, so 0.5 beside it is exactly 0.5."""
    parsed = parse_matrix("[[0.5, 0.3333333333333333]]")
    assert parsed.resolution.max() < 1e-15


def test_decimals_by_column_and_by_page() -> None:
    """R gives each column its own decimals, Octave each page: other columns and pages say nothing."""
    columns = parse_matrix("      [,1]      [,2]\n[1,] -32.39 -79.21467\n[2,]  45.81  -9.91980")
    np.testing.assert_allclose(columns.resolution, [[0.005, 5e-6], [0.005, 5e-6]])
    pages = parse_matrix("ans(:,:,1) =\n\n  -1.1016  -0.3448\n\nans(:,:,2) =\n\n   0.460584   0.637238\n")
    np.testing.assert_allclose(pages.resolution, [[[5e-5, 5e-5]], [[5e-7, 5e-7]]])


def test_exponents_of_others_do_not_narrow_decimals() -> None:
    """3.0583e-05 beside 0.0005 does not mean that 0.0005 has nine decimals."""
    parsed = parse_matrix("[tensor(0.0005), tensor(-3.0583e-05)]")
    np.testing.assert_allclose(parsed.resolution, [[5e-5, 5e-10]])


MATRICES = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=5),
    elements=st.floats(-1e6, 1e6, allow_subnormal=False),
)


def holds(text: str, truth: np.ndarray) -> None:  # type: ignore[type-arg]
    parsed = parse_matrix(text)
    assert parsed.values.shape == truth.shape
    error = np.abs(parsed.values - truth)
    assert (error <= parsed.resolution * (1 + 1e-9) + np.spacing(np.abs(truth))).all(), (text, error)


@pytest.mark.parametrize("decimals", [1, 3, 4, 8])
@given(matrix=MATRICES)
def test_holds_for_fixed_decimals(decimals: int, matrix: np.ndarray) -> None:  # type: ignore[type-arg]
    """ "%.4f" as C, PyTorch and MATLAB print, and the same without trailing zeros."""
    rows = [[f"{value:.{decimals}f}" for value in row] for row in matrix]
    holds("\n".join(" ".join(row) for row in rows), matrix)
    holds(str([[float(entry) for entry in row] for row in rows]), matrix)


@given(matrix=MATRICES, digits=st.integers(2, 17))
def test_holds_for_significant_digits(matrix: np.ndarray, digits: int) -> None:  # type: ignore[type-arg]
    """ "%.6g" as C++, and "%.3e"."""
    holds("\n".join(" ".join(f"{value:.{digits}e}" for value in row) for row in matrix), matrix)
    # Whole numbers only: then the decimals that %g dropped cannot be told from an exact integer.
    text = "\n".join(" ".join(f"{value:.{digits}g}" for value in row) for row in matrix)
    if "." in text:
        holds(text, matrix)


@given(matrix=MATRICES)
def test_holds_for_exact_prints(matrix: np.ndarray) -> None:  # type: ignore[type-arg]
    """repr, JSON and hexadecimal give the value itself."""
    np.testing.assert_array_equal(parse_matrix(str(matrix.tolist())).values, matrix)
    text = "\n".join(" ".join(float(value).hex() for value in row) for row in matrix)
    np.testing.assert_array_equal(parse_matrix(text).values, matrix)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("seed", range(3))
def test_holds_for_numpy(kind: type, seed: int) -> None:
    """NumPy's own print of matrices and of three and four axes, in its usual and in changed settings."""
    rng = np.random.default_rng(seed)
    for shape in ((1, 3), (3, 1), (4, 5), (3, 30), (2, 3, 4), (1, 2, 3, 2)):
        for scale in (1.0, 1e-3, 1e3):
            truth = (rng.normal(size=shape) * scale).astype(kind)
            for settings in (
                {},
                {"precision": 4},
                {"precision": 3, "floatmode": "fixed"},
                {"linewidth": 40},
                {"sign": "+"},
            ):
                with np.printoptions(threshold=10**6, **settings):  # type: ignore[arg-type]
                    for text in (str(truth), repr(truth)):
                        holds(text, truth.astype(np.float64))


@pytest.mark.parametrize("delimiter", [" ", ",", "\t", ", ", ";"])
def test_holds_for_savetxt(delimiter: str) -> None:
    truth = np.random.default_rng(3).normal(size=(4, 5))
    for form in ("%.18e", "%.4f", "%g", "%10.5f"):
        stream = io.StringIO()
        np.savetxt(stream, truth, fmt=form, delimiter=delimiter, header="a b")
        holds(stream.getvalue(), truth)


@pytest.mark.needs_cpython
def test_holds_for_pandas() -> None:
    """pandas' print, CSV, JSON and Markdown-free forms. pandas is not part of the page."""
    pandas = pytest.importorskip("pandas", reason="pandas is installed for tests on CPython only")
    rng = np.random.default_rng(5)
    for shape in ((2, 2), (3, 1), (4, 12)):
        truth = rng.normal(size=shape)
        frame = pandas.DataFrame(truth)
        named = pandas.DataFrame(
            truth, columns=[f"k{i}" for i in range(shape[1])], index=[f"q{i}" for i in range(shape[0])]
        )
        with pandas.option_context("display.max_columns", None, "display.max_rows", None):
            texts = [str(frame), str(named), frame.to_string(), named.to_string(index=False)]
        texts += [frame.to_csv(), named.to_csv(), named.to_csv(index=False), frame.to_csv(sep="\t")]
        texts += [frame.to_json(orient=orient) for orient in ("split", "records", "columns", "values")]
        if shape[1] > 1:
            texts += [named.to_csv(sep=";", decimal=","), named.to_csv(sep="\t", decimal=",", index=False)]
        for text in texts:
            holds(text, truth)
