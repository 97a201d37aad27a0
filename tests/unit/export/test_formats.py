"""Exports read back: JSON, CSV, TSV, NumPy text, .npz, .safetensors, LaTeX and Markdown give the numbers of the Trace."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from materials import LINK, PROBLEMS, bare, material

from attention_lab.core import LabError, Options
from attention_lab.explain.row import row
from attention_lab.export.delimited import one_table
from attention_lab.export.formats import FORMATS, format_of, write
from attention_lab.export.latex import document, latex_number, worked_row
from attention_lab.export.material import Material, stages_of
from attention_lab.export.safetensors import safetensors
from attention_lab.inputs.files import read_arrays
from attention_lab.inputs.paste import parse_matrix, parse_named
from attention_lab.problem import Problem
from attention_lab.render.html import formatter

CASES = sorted(PROBLEMS)
SPECIAL = {"Infinity": np.inf, "-Infinity": -np.inf, "NaN": np.nan}


def same(read: dict[str, np.ndarray], made: dict[str, np.ndarray]) -> None:
    """The same names, shapes, types and bits."""
    assert sorted(read) == sorted(made)
    for name, array in made.items():
        assert (read[name].dtype, read[name].shape) == (array.dtype, array.shape), name
        np.testing.assert_array_equal(read[name], array, err_msg=name)


def text_of(kind: str, item: Material) -> str:
    made = write(kind, item)
    assert isinstance(made, str)
    return made


def bytes_of(kind: str, item: Material) -> bytes:
    made = write(kind, item)
    assert isinstance(made, bytes)
    return made


@pytest.mark.parametrize("name", CASES)
def test_json_reads_back_exactly(name: str) -> None:
    item = material(PROBLEMS[name])
    read = json.loads(text_of("json", item), parse_constant=pytest.fail)

    def numbers(value: Any) -> Any:
        if isinstance(value, list):
            return [numbers(x) for x in value]
        return SPECIAL[value] if isinstance(value, str) else value

    arrays = {}
    for key, array in read["arrays"].items():
        arrays[key] = np.array(numbers(array["data"]), dtype=array["dtype"]).reshape(array["shape"])
    same(arrays, item.whole)
    assert read["link"] == LINK
    again = Options(
        **{
            key: tuple(value) if isinstance(value, list) else value
            for key, value in read["options"].items()
            if key != "effective_scale"
        }
    )
    assert again == item.options
    assert read["options"]["effective_scale"] == item.trace.scale
    labels = item.problem.query_labels
    assert read["query_labels"] == (None if labels is None else list(labels))


@pytest.mark.parametrize("name", CASES)
def test_npz_reads_back_exactly(name: str) -> None:
    item = material(PROBLEMS[name])
    with np.load(io.BytesIO(bytes_of("npz", item)), allow_pickle=False) as read:
        same(dict(read), item.whole)


def test_data_files_are_the_same_every_time() -> None:
    item = material(PROBLEMS["everything"])
    for kind in ("npz", "safetensors"):
        assert write(kind, item) == write(kind, item)


@pytest.mark.needs_cpython
@pytest.mark.parametrize("name", CASES)
def test_the_safetensors_library_reads_the_file(name: str) -> None:
    from safetensors.numpy import load

    item = material(PROBLEMS[name])
    same(load(bytes_of("safetensors", item)), item.whole)


@pytest.mark.needs_cpython
def test_the_safetensors_library_reads_the_metadata(tmp_path: Path) -> None:
    from safetensors import safe_open

    item = material(PROBLEMS["everything"])
    file = tmp_path / "a.safetensors"
    file.write_bytes(bytes_of("safetensors", item))
    with safe_open(file, framework="numpy") as read:
        metadata = read.metadata()
    assert metadata["link"] == LINK
    assert json.loads(metadata["options"])["softcap"] == 3.0


@pytest.mark.parametrize("shape", [(0, 3), (1,), (), (2, 3, 4)])
def test_safetensors_layout(shape: tuple[int, ...]) -> None:
    """Eight bytes of length, JSON, then the numbers without gaps, each tensor on its own alignment."""
    arrays = {"b": np.ones(shape, bool), "x": np.ones(shape, np.float32), "y": np.ones(shape) * 0.1}
    data = safetensors(arrays, {"note": "ü"})
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    assert length % 8 == 0 and header.pop("__metadata__") == {"note": "ü"}
    ends = sorted(tuple(entry["data_offsets"]) for entry in header.values())
    assert ends[0][0] == 0 and ends[-1][1] == len(data) - 8 - length
    assert all(left[1] == right[0] for left, right in pairwise(ends))
    for name, entry in header.items():
        assert entry["data_offsets"][0] % arrays[name].dtype.itemsize == 0


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_the_long_table_reads_back_exactly(kind: str, name: str) -> None:
    item = material(PROBLEMS[name])
    lines = list(csv.DictReader(io.StringIO(text_of(kind, item)), delimiter="," if kind == "csv" else "\t"))
    read = {key: np.zeros(array.shape, array.dtype) for key, array in item.tables.items()}
    for line in lines:
        array = read[line["array"]]
        array[int(line["row"]), int(line["column"])] = float(line["value"])
    same(read, item.tables)
    assert len(lines) == sum(array.size for array in item.tables.values())


@pytest.mark.needs_cpython
@pytest.mark.parametrize("name", ["plain", "everything", "example naive-overflow"])
def test_pandas_reads_the_long_table(name: str) -> None:
    import pandas

    item = material(PROBLEMS[name])
    frame = pandas.read_csv(io.StringIO(text_of("csv", item)))
    for key, array in item.tables.items():
        part = frame[frame["array"] == key].pivot(index="row", columns="column", values="value")
        np.testing.assert_array_equal(part.to_numpy(), array.astype(float), err_msg=key)


@pytest.mark.needs_cpython
def test_pandas_reads_one_table_with_any_label() -> None:
    import pandas

    labels = ["a,b", 'say "hi"', "two\nlines", "tab\there", "naïve 👍🏽"]
    values = np.arange(10.0).reshape(2, 5) / 7
    for sign in ",\t":
        text = one_table(values, "query", ["x", "y"], labels, sign)
        frame = pandas.read_csv(io.StringIO(text), sep=sign, index_col=0)
        assert list(frame.columns) == labels
        np.testing.assert_array_equal(frame.to_numpy(), values)


@pytest.mark.parametrize("label", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"])
def test_no_label_is_a_formula_for_a_spreadsheet(label: str) -> None:
    line = next(csv.reader(io.StringIO(one_table(np.ones((1, 1)), "query", ["a"], [label], ","))))
    assert line[1] == "'" + label


@pytest.mark.parametrize("name", CASES)
def test_numpy_text_runs_and_is_exact(name: str) -> None:
    item = material(PROBLEMS[name])
    space: dict[str, Any] = {}
    exec(text_of("numpy-text", item), space)
    same({key: space[key] for key in item.whole}, item.whole)


@pytest.mark.parametrize("name", ["plain", "causal top-left", "example cross", "bias"])
def test_our_own_reader_takes_the_exports_back(name: str) -> None:
    """What the page writes can be pasted into the page again."""
    item = material(bare(PROBLEMS[name]), write=formatter("exact"))
    named = parse_named(text_of("numpy-text", item))
    for key in ("q", "k", "v", "weights", "output"):
        np.testing.assert_array_equal(named[key].values, item.tables[key], err_msg=key)
    for line in text_of("latex", item).split("\n"):
        if line.startswith(r"\[ A ="):
            np.testing.assert_array_equal(parse_matrix(line[2:-2]).values, item.tables["weights"])


@pytest.mark.parametrize("kind", ["json", "npz", "safetensors"])
@pytest.mark.parametrize("name", ["plain", "everything", "packed heads", "float32"])
def test_the_page_opens_its_own_data_files(kind: str, name: str) -> None:
    """Drop an export on the page and the same arrays come out."""
    item = material(PROBLEMS[name])
    made = write(kind, item)
    read = read_arrays(f"attention.{kind}", made.encode() if isinstance(made, str) else made)
    assert set(read) == set(item.whole)
    for key, array in item.whole.items():
        if array.ndim >= 2:
            np.testing.assert_array_equal(read[key], array, err_msg=key)


def decimals(name: str, places: int = 6) -> Material:
    return material(PROBLEMS[name], write=formatter(places))


@pytest.mark.parametrize("name", CASES)
def test_markdown_tables_hold_the_rounded_numbers(name: str) -> None:
    item = decimals(name)
    text = text_of("markdown", item)
    tables = [block for block in text.split("\n\n") if block.startswith("| |")]
    assert len(tables) == len(item.tables)
    for table, (key, array) in zip(tables, item.tables.items(), strict=True):
        lines = table.strip().split("\n")
        assert len(lines) == array.shape[0] + 2
        cells = [line.strip("| ").split(" | ")[1:] for line in lines[2:]]
        read = [[float(x.replace("−", "-").replace("∞", "inf")) for x in line] for line in cells]
        limit = (
            np.where(np.isfinite(array), np.abs(array), 0).max() * 1e-4
            if np.abs(array).max() >= 1e15
            else 5.1e-7
        )
        np.testing.assert_allclose(read, array.astype(float), rtol=0, atol=limit, err_msg=key)
    assert text.endswith(f"({LINK}).\n")


def test_a_label_stays_in_its_markdown_cell() -> None:
    problem = bare(PROBLEMS["plain"])
    made = Problem(problem.q, problem.k, problem.v, query_labels=("a|b", "<b>", "*x*\ny"))
    text = text_of("markdown", material(made))
    for cell in (r"| a\|b |", r"| \<b\> |", r"| \*x\* y |"):
        assert cell in text


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (-1.5, "-1.50"),
        (float("-inf"), r"-\infty"),
        (float("nan"), r"\mathrm{NaN}"),
        (2e20, r"2.00 \cdot 10^{20}"),
    ],
)
def test_numbers_in_latex(x: float, text: str) -> None:
    assert latex_number(formatter(2))(x) == text


def test_the_worked_row_of_a_small_example() -> None:
    """q = (1, 0), k = (1, 0), (0, 1), v = (1, 2), (3, 4): the identity example's first row."""
    item = material(PROBLEMS["example one-query"], write=formatter(4))
    text = worked_row(row(item.part, item.part_trace, 0), latex_number(item.write), item)
    for line in (
        r"q_{1} &= (1.0000,\ 0.0000)",
        r"q_{1}\cdot k_{1} &= 1.0000\cdot 1.0000 + 0.0000\cdot 0.0000 = 1.0000",
        r"s_{1} = q_{1}\cdot k_{1}/\sqrt{d_k} &= 0.7071",
        r"m = \max_j s_j &= 0.7071",
        r"e_{2} = \exp(0.0000 - 0.7071) &= 0.4931",
        r"\textstyle\sum_j e_j = 1.0000 + 0.4931 &= 1.4931",
        r"a_{12} = 0.4931/1.4931 &= 0.3302",
        r"o_{1} = 0.6698\,v_{1} + 0.3302\,v_{2} &= (1.6605,\ 2.6605)",
    ):
        assert line in text


@pytest.mark.needs_cpython
def test_latex_compiles(typeset: Callable[[str], str]) -> None:
    """Every material in one document, so that TeX starts once; the free class has no other way to fail than a message."""
    body = "\n\\newpage\n".join(text_of("latex", decimals(name, 3)) for name in CASES)
    pages = re.search(r"\((\d+) pages?,", typeset(document(body)))
    assert pages and int(pages[1]) >= len(CASES)


@pytest.mark.parametrize("name", CASES)
def test_latex_is_balanced_and_plain(name: str) -> None:
    """Without TeX: braces and environments close, and only ASCII is in it."""
    text = text_of("latex", decimals(name))
    assert text.isascii()
    assert text.count("{") == text.count("}")
    for environment in ("bmatrix", "align*"):
        assert text.count(rf"\begin{{{environment}}}") == text.count(rf"\end{{{environment}}}") > 0
    item = decimals(name)
    assert text.count("bmatrix") == 2 * len(item.tables)


def test_a_wide_matrix_raises_the_limit_of_amsmath() -> None:
    problem = Problem(np.ones((1, 12)), np.ones((2, 12)), np.ones((2, 2)))
    assert r"\setcounter{MaxMatrixCols}{12}" in text_of("latex", material(problem))


def test_a_worked_row_with_many_keys_shows_the_strongest() -> None:
    rng = np.random.default_rng(1)
    problem = Problem(rng.standard_normal((2, 3)), rng.standard_normal((40, 3)), rng.standard_normal((40, 2)))
    item = material(problem, row=1, write=formatter(4))
    text = text_of("latex", item)
    assert "24 keys with smaller weights are left out" in text
    best = int(np.argmax(item.part_trace.weights[1])) + 1
    assert f"a_{{2,{best}}}" in text or f"a_{{2{best}}}" in text


def test_stages_that_do_nothing_are_not_exported() -> None:
    item = material(PROBLEMS["plain"])
    assert list(stages_of(item.trace)) == ["scores", "scaled", "exponentials", "weights", "output"]
    everything = stages_of(material(PROBLEMS["everything"]).trace)
    assert list(everything)[:6] == ["scores", "scaled", "tempered", "capped", "biased", "masked"]


@pytest.mark.parametrize("kind", [item.id for item in FORMATS if not item.binary])
def test_a_text_export_refuses_what_nobody_reads(kind: str) -> None:
    large = Problem(np.ones((500, 1)), np.ones((500, 1)), np.ones((500, 1)))
    with pytest.raises(LabError, match=r"save \.npz or \.safetensors"):
        write(kind, material(large)) if kind not in ("numpy", "torch", "jax", "keras") else write(
            kind, material(Problem(np.ones((1, 99_999)), np.ones((2, 99_999)), np.ones((2, 2))))
        )


def test_every_format_is_in_the_catalogue_once() -> None:
    assert len({item.id for item in FORMATS}) == len({item.file for item in FORMATS}) == len(FORMATS) == 13
    assert format_of("npz").binary and not format_of("csv").binary
    with pytest.raises(KeyError):
        format_of("docx")


def test_numbers_of_the_page_in_latex_are_the_pages_decimals() -> None:
    assert "0.67" in text_of("latex", decimals("example one-query", 2))
    assert "0.669762" in text_of("latex", decimals("example one-query", 6))
