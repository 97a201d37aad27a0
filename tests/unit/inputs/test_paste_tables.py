"""Spreadsheets, CSV, Markdown, pandas: separators, headers and index columns, and commas with two meanings."""

from __future__ import annotations

import numpy as np
import pytest

from attention_lab.inputs.paste import PasteError, parse_matrix

M = [[0.25, -1.5], [12.0, -7.125]]
HEADER, INDEX, LABELS = "header row left out", "index column left out", "row labels left out"
COMMA, GROUPS, FOOTER = (
    "decimal comma detected",
    "thousands separators removed",
    "text after the numbers left out",
)
SEMICOLON = "semicolons read as separators between entries"

TABLES = {
    "spaces": ("0.25 -1.5\n12 -7.125", []),
    "aligned": ("  0.25  -1.500\n 12.00  -7.125\n", []),
    "tabs": ("0.25\t-1.5\n12\t-7.125", []),
    "tabs and spaces": ("0.25\t -1.5 \n12 -7.125", []),
    "tabs at line ends": ("0.25\t-1.5\t\n12\t-7.125\t\n", []),
    "indented by tabs": ("\t0.25\t-1.5\n\t12\t-7.125\n", []),
    "commas": ("0.25,-1.5\n12,-7.125", []),
    "commas and spaces": ("0.25, -1.5\n12, -7.125", []),
    "commas at line ends": ("0.25, -1.5,\n12, -7.125,", []),
    "fragment": ("0.25,-1.5;12,-7.125", []),
    "semicolon rows": ("0.25 -1.5; 12 -7.125", []),
    "semicolon row ends": ("0.25 -1.5;\n12 -7.125;\n", []),
    "semicolon entries": ("0.25;-1.5\n12;-7.125", [SEMICOLON]),
    "blank lines": ("\n\n0.25 -1.5\n\n12 -7.125\n\n", []),
    "CRLF": ("0.25,-1.5\r\n12,-7.125\r\n", []),
    "old Macintosh line ends": ("0.25,-1.5\r12,-7.125\r", []),
    "byte order mark": ("\ufeff0.25,-1.5\n12,-7.125", []),
    "no-break spaces": ("0.25\u00a0-1.5\n12\u00a0-7.125", []),
    "zero-width spaces": ("0.25\u200b -1.5\n12 \u200b-7.125", []),
    "left-to-right marks": ("\u200e0.25\t\u200e-1.5\n12\t-7.125", []),
    "quoted": ('"0.25","-1.5"\n"12","-7.125"', []),
    "CSV header": ("a,b\n0.25,-1.5\n12,-7.125\n", [HEADER]),
    "CSV header with brackets": ("loss (nats),mean (over 8)\n0.25,-1.5\n12,-7.125\n", [HEADER]),
    "CSV quoted header": ('"a, first","b"\n0.25,-1.5\n12,-7.125\n', [HEADER]),
    "CSV index": (",a,b\n0,0.25,-1.5\n1,12,-7.125\n", [HEADER, INDEX]),
    "CSV index of numbers": (",0,1\n0,0.25,-1.5\n1,12,-7.125\n", [HEADER, INDEX]),
    "CSV named index": ("id,a,b\n1,0.25,-1.5\n2,12,-7.125\n", [HEADER, INDEX]),
    "CSV unnamed index": ("Unnamed: 0,a,b\n0,0.25,-1.5\n1,12,-7.125\n", [HEADER, INDEX]),
    "CSV labels": ("token,a,b\nthe,0.25,-1.5\ncat,12,-7.125\n", [HEADER, LABELS]),
    "labels": ("the 0.25 -1.5\ncat 12 -7.125", [LABELS]),
    "labels with colons": ("the: 0.25 -1.5\ncat: 12 -7.125", []),
    "comments": ("# a b\n0.25 -1.5 # first\n12 -7.125 // second\n", []),
    "title": ("Scores of head 3:\n0.25 -1.5\n12 -7.125", None),
    "one-word title": ("Q\n0.25 -1.5\n12 -7.125", [HEADER]),
    "label line": ("Q =\n0.25 -1.5\n12 -7.125", []),
    "inline label": ("Q = 0.25 -1.5\n    12 -7.125", []),
    "double spaced": ("0.25 -1.5\n\n12 -7.125", []),
    "footer": ("0.25 -1.5\n12 -7.125\nall finite", [FOOTER]),
    "quoted mail": ("> 0.25 -1.5\n> 12 -7.125", []),
    "spreadsheet with corner": ("\tK1\tK2\nQ1\t0.25\t-1.5\nQ2\t12\t-7.125\n", [HEADER, INDEX]),
    "pandas": ("      0      1\n0  0.25 -1.500\n1 12.00 -7.125", [HEADER, INDEX]),
    "pandas stripped": ("0      1\n0  0.25 -1.500\n1 12.00 -7.125", [HEADER, INDEX]),
    "pandas named": ("       a      b\nx   0.25 -1.500\ny  12.00 -7.125", [HEADER, INDEX]),
    "pandas filtered": ("       a      b\n17  0.25 -1.500\n40 12.00 -7.125", [HEADER, INDEX]),
    "pandas footer": ("      0      1\n0  0.25 -1.500\n1 12.00 -7.125\n\n[2 rows x 2 columns]", [HEADER, INDEX]),
    "pandas wrapped": ("       a  \\\n0   0.25   \n1  12.00   \n\n       b  \n0 -1.500  \n1 -7.125  ", [HEADER, INDEX]),
    "R data frame": ("      a      b\n1  0.25 -1.500\n2 12.00 -7.125", [HEADER, INDEX]),
    "R names": ("      a      b\nx  0.25 -1.500\ny 12.00 -7.125", [HEADER, INDEX]),
    "Markdown": ("| a | b |\n|---|---:|\n| 0.25 | -1.5 |\n| 12 | -7.125 |", [HEADER]),
    "Markdown without borders": ("a | b\n--- | ---\n0.25 | -1.5\n12 | -7.125", [HEADER]),
    "Markdown short rule": ("a|b\n-|-\n0.25|-1.5\n12|-7.125", [HEADER]),
    "Markdown empty header": ("| | |\n|-|-|\n| 0.25 | -1.5 |\n| 12 | -7.125 |", None),
    "Markdown index": ("|    |     0 |      1 |\n|---:|------:|-------:|\n|  0 |  0.25 | -1.5   |\n|  1 | 12    | -7.125 |", [HEADER, INDEX]),
    "bars at the ends": ("|0.25 -1.5|\n|12 -7.125|", []),
    "row numbers in brackets": ("[0] 0.25 -1.5\n[1] 12 -7.125", [LABELS]),
    "semicolon rows over lines": ("0.25 -1.5;\n12 -7.125", []),
    "quoted as a whole": ('"0.25\t-1.5\n12\t-7.125"', []),
    "Markdown emphasis": ("| a | b |\n|---|---|\n| **0.25** | `-1.5` |\n| $12$ | -7.125 |", [HEADER]),
    "grid": ("+------+--------+\n| 0.25 | -1.5   |\n+------+--------+\n| 12   | -7.125 |\n+------+--------+", []),
    "polars": ("shape: (2, 2)\n┌──────┬────────┐\n│ a    ┆ b      │\n│ ---  ┆ ---    │\n│ f64  ┆ f64    │\n╞══════╪════════╡\n"
               "│ 0.25 ┆ -1.5   │\n│ 12.0 ┆ -7.125 │\n└──────┴────────┘", [HEADER]),
    "European tabs": ("0,25\t-1,5\n12\t-7,125", [COMMA]),
    "European semicolons": ("0,25;-1,5\n12;-7,125", [COMMA]),
    "European header": ("a;b\n0,25;-1,5\n12;-7,125", [COMMA, HEADER]),
    "European quoted": ('"0,25";"-1,5"\n"12";"-7,125"', [COMMA]),
    "European quoted commas": ('"0,25","-1,5"\n"12","-7,125"', [COMMA]),
    "European Markdown": ("| 0,25 | -1,5 |\n| 12 | -7,125 |", [COMMA]),
    "European columns by spaces": ("0,25  -1,5\n12    -7,125", [COMMA]),
}  # fmt: skip


@pytest.mark.parametrize("form", TABLES)
def test_table(form: str) -> None:
    text, warnings = TABLES[form]
    parsed = parse_matrix(text)
    assert parsed.values.tolist() == M
    if warnings is not None:
        assert list(parsed.warnings) == warnings


GROUPED = {
    "English tabs": ("1,250.5\t-2,000\n3\t4", [GROUPS]),
    "English spaces": ("1,250.5 -2,000\n3 4", [GROUPS]),
    "European tabs": ("1.250,5\t-2.000,0\n3\t4", [COMMA, GROUPS]),
    "European semicolons": ("1.250,5;-2.000,0\n3;4", [COMMA, GROUPS]),
    "Swiss": ("1'250.5\t-2'000\n3\t4", [GROUPS]),
    "Swiss with curly marks": ("1’250.5\t-2’000\n3\t4", [GROUPS]),
    "French": ("1\u202f250,5\t-2\u202f000\n3\t4", [GROUPS, COMMA]),
    "code": ("[[1_250.5, -2_000], [3, 4]]", []),
}


@pytest.mark.parametrize("form", GROUPED)
def test_thousands(form: str) -> None:
    text, warnings = GROUPED[form]
    parsed = parse_matrix(text)
    assert parsed.values.tolist() == [[1250.5, -2000.0], [3.0, 4.0]]
    assert list(parsed.warnings) == warnings


AMBIGUOUS = {
    "space between pairs": ("1,5 2,5\n3,5 4,5", {"comma_and_space_separators": (2, 4), "decimal_comma": (2, 2)}),
    "space between, one row": ("1,5 2,5", {"comma_and_space_separators": (1, 4), "decimal_comma": (1, 2)}),
    "comma and space between": ("1,5, 2,5", {"comma_and_space_separators": (1, 4), "decimal_comma": (1, 2)}),
    "groups or decimals": ("2,000\t3,000", {"decimal_comma": (1, 2), "thousands_separators": (1, 2)}),
    "semicolons over lines": ("1,5;2,5\n3,5;4,5", {"comma_and_space_separators": (4, 2), "decimal_comma": (2, 2)}),
    "groups in a column": ("1,250.5\n2,000", {"comma_and_space_separators": (2, 2), "thousands_separators": (2, 1)}),
    "one column or two": ("0,34558\n0,33043", {"comma_and_space_separators": (2, 2), "decimal_comma": (2, 1)}),
    "header and one column": ("a\n0,25\n0,75", {"comma_and_space_separators": (2, 2), "decimal_comma": (2, 1)}),
    "three readings": ("1,250\n2,500", {"comma_and_space_separators": (2, 2), "decimal_comma": (2, 1), "thousands_separators": (2, 1)}),
    "brackets": ("[1,5 2,5]", None),
}  # fmt: skip


@pytest.mark.parametrize("form", [form for form in AMBIGUOUS if form != "brackets"])
def test_two_readings_are_both_offered(form: str) -> None:
    text, readings = AMBIGUOUS[form]
    with pytest.raises(PasteError, match="commas can be read as") as caught:
        parse_matrix(text)
    assert caught.value.code == "AMBIGUOUS_COMMA"
    assert {label: parsed.values.shape for label, parsed in caught.value.alternatives} == readings
    assert caught.value.line is not None


def test_spaces_that_group_or_separate_are_both_offered() -> None:
    """ "100 200" between tabs is one number or two; where only one reading is even, it is taken and said."""
    with pytest.raises(PasteError, match="spaces can be read as") as caught:
        parse_matrix("100 200\t5 300")
    assert caught.value.code == "AMBIGUOUS_SPACE"
    readings = {label: parsed.values.tolist() for label, parsed in caught.value.alternatives}
    assert readings == {"thousands_separators": [[100200, 5300]], "spaces_and_tabs": [[100, 200, 5, 300]]}
    parsed = parse_matrix("1 234 567,89\t1 000,5\n2,5\t3")
    assert parsed.values.tolist() == [[1234567.89, 1000.5], [2.5, 3.0]]
    assert parsed.warnings == (GROUPS, COMMA)


UNAMBIGUOUS = {
    "page field": ("1,0;0,1", [[1, 0], [0, 1]]),
    "two rows of a CSV": ("1,0\n0,1", [[1, 0], [0, 1]]),
    "one pair": ("1,5", [[1, 5]]),
    "large pair in the fragment": ("1,123", [[1, 123]]),
    "large pairs in the fragment": ("1,123;4,567", [[1, 123], [4, 567]]),
    "points decide": ("1.5,2.5 3,4", [[1.5, 2.5, 3, 4]]),
    "leading zero decides": ("0,250\t0,125", [[0.25, 0.125]]),
    "uneven decides": ("0,25\n-1,5\n12\n-7,125", [[0.25], [-1.5], [12], [-7.125]]),
    "comma with space": ("1, 5\n2, 5", [[1, 5], [2, 5]]),
    "two groups": ("1,000,000\t2,5", None),
}


@pytest.mark.parametrize("form", [form for form, (_, values) in UNAMBIGUOUS.items() if values])
def test_one_reading(form: str) -> None:
    text, values = UNAMBIGUOUS[form]
    assert parse_matrix(text).values.tolist() == values


def test_mild_ambiguity_is_offered_beside_the_value() -> None:
    """Two-digit pairs in several lines are read as two columns; one column with decimal commas is offered."""
    parsed = parse_matrix("0,25\n1,75")
    assert parsed.values.tolist() == [[0, 25], [1, 75]]
    ((label, other),) = parsed.alternatives
    assert label == "decimal_comma"
    assert other.values.tolist() == [[0.25], [1.75]]


KEPT = {
    "counting column without a header": ("0 0.25\n1 0.5\n2 0.75", (3, 2)),
    "counting column under a title": ("Q\n0 1\n1 0", (2, 2)),
    "counting first row": ("0 1 2\n5 6 7", (2, 3)),
    "identity": ("1 0\n0 1", (2, 2)),
    "labelled counting rows": ("a 1\nb 2\nc 3", (3, 1)),
    "labelled ones and zeros": ("a 0 1\nb 1 0", (2, 2)),
    "column numbers without a corner": ("0,1,2\n3,4,5", (2, 3)),
    "CSV counting column with a name": ("a,b\n0,0.5\n1,0.25", (2, 2)),
}


@pytest.mark.parametrize("form", KEPT)
def test_data_that_looks_like_an_index_is_kept(form: str) -> None:
    text, shape = KEPT[form]
    assert parse_matrix(text).values.shape == shape


def test_vectors_under_names_offer_rows_and_columns() -> None:
    with pytest.raises(PasteError) as caught:
        parse_matrix('{"a": [1, 3], "b": [2, 4]}')
    readings = dict(caught.value.alternatives)
    assert readings["as_columns"].values.tolist() == [[1, 2], [3, 4]]
    assert readings["as_rows"].values.tolist() == [[1, 3], [2, 4]]


def test_blank_lines_between_parts_are_said() -> None:
    """Two blocks of rows are read as one matrix, with a warning; double spacing alone is none."""
    parsed = parse_matrix("1 2\n3 4\n\n5 6\n7 8")
    assert parsed.values.shape == (4, 2)
    assert parsed.warnings == ("blank lines left out: read as one matrix",)


def test_a_copied_half_is_the_same_matrix() -> None:
    """The same matrix twice, as an echo prints it, is one."""
    text = "Q = [[1, 0], [0, 1]]\narray([[1, 0],\n       [0, 1]])"
    np.testing.assert_array_equal(parse_matrix(text).values, np.eye(2))
