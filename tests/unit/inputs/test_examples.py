"""The examples file: what ships keeps its promises, and a broken file is refused at the first fault."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import attention_lab.inputs.examples as module
from attention_lab.core import Options
from attention_lab.inputs.examples import Example, ExampleError, load, parse
from attention_lab.problem import Problem

sys.path.insert(0, str(Path(__file__).parent))
from search_walkthrough import found, found_unmasked

FILE = Path(module.__file__).with_name("examples.json")


def trace_of(name: str):  # type: ignore[no-untyped-def]
    """Compute an example with its own options."""
    example = load().get(name)
    given = example.options
    options = Options(
        scale=given.get("scale", "sqrt_dk"),  # type: ignore[arg-type]
        temperature=float(given.get("T", 1)),
        causal=given.get("causal"),  # type: ignore[arg-type]
        precision=given.get("precision", "float64"),  # type: ignore[arg-type]
    )
    return Problem(example.q, example.k, example.v, options).trace()


# what ships


def test_the_calculator_has_at_least_ten_examples_that_teach_different_things() -> None:
    calculator = load().calculator
    assert len(calculator) >= 10
    assert calculator[0].name == "identity"
    for values in (
        [e.name for e in calculator],
        [e.title for e in calculator],
        [e.lesson for e in calculator],
    ):
        assert len(set(values)) == len(values)
    assert all(e.lesson.endswith(".") for e in load().all)
    needed = {"identity", "one-query", "causal-pair", "negative", "ties", "saturation", "cross"}
    needed |= {"naive-overflow", "float16-overflow", "permuted-keys"}
    assert needed <= {e.name for e in calculator}


def test_every_example_is_in_the_form_the_address_knows() -> None:
    for example in load().all:
        assert example.name.replace("-", "").isalnum() and example.name == example.name.lower()
        assert set(example.options) >= {"scale", "decimals"}, "an opened example writes its options out"


def test_identity_gives_the_published_output() -> None:
    """S = I, S/√2 = 0.7071·I, rows of A are 0.6698 and 0.3302, so O = [[1.6605, 2.6605], [2.3395, 3.3395]]."""
    example = load().get("identity")
    assert example.q.tolist() == example.k.tolist() == [[1, 0], [0, 1]]
    assert example.v.tolist() == [[1, 2], [3, 4]]
    assert example.options["decimals"] == "4"
    assert trace_of("identity").output.round(4).tolist() == [[1.6605, 2.6605], [2.3395, 3.3395]]


def test_one_query_two_keys() -> None:
    """Q=[1,0], K=I₂, V=[[1,2],[3,4]]."""
    trace = trace_of("one-query")
    assert trace.scores.tolist() == [[1, 0]]
    assert trace.scaled.round(6).tolist() == [[0.707107, 0]]
    assert trace.weights.round(6).tolist() == [[0.669762, 0.330238]]
    assert trace.output.round(6).tolist() == [[1.660477, 2.660477]]


def test_causal_pair() -> None:
    """Q=K=V=I₂ with the causal mask."""
    assert trace_of("causal-pair").output.round(6).tolist() == [[1, 0], [0.330238, 0.669762]]


def test_negative_and_fractional() -> None:
    """Q=[−1,−2], K=[[0.5,0.5],[1,−1]], V=[[2,0],[0,2]]."""
    trace = trace_of("negative")
    assert trace.scores.tolist() == [[-1.5, 1]]
    assert trace.scaled.round(6).tolist() == [[-1.06066, 0.707107]]
    assert trace.weights.round(6).tolist() == [[0.14582, 0.85418]]
    assert trace.output.round(6).tolist() == [[0.29164, 1.70836]]


def test_ties_share_the_weight_equally() -> None:
    trace = trace_of("ties")
    assert len(set(trace.weights[0].tolist())) == 1
    assert trace.output[0] == pytest.approx(load().get("ties").v.mean(axis=0))
    assert len(set(trace.weights[1].tolist())) == 3


def test_saturation_puts_nearly_all_weight_on_one_key() -> None:
    weights = trace_of("saturation").weights
    assert weights[0].max() < 0.6
    assert weights[1].max() > 0.9999
    assert weights[0].argsort().tolist() == weights[1].argsort().tolist()


def test_cross_attention_is_two_by_three_with_four_columns() -> None:
    trace = trace_of("cross")
    assert trace.scores.shape == (2, 3)
    assert trace.output.shape == (2, 4)


def test_the_naive_softmax_overflows_where_the_example_says() -> None:
    trace = trace_of("naive-overflow")
    assert trace.scaled.max() == pytest.approx(1414.2, abs=0.1)
    assert trace.stable_vs_naive == float("inf")
    assert np.isfinite(trace.output).all()


def test_float16_overflow_is_avoided_by_scores_in_float32() -> None:
    example = load().get("float16-overflow")
    assert trace_of("float16-overflow").scores.tolist() == [[0, 1]]
    with np.errstate(over="ignore"):
        products = (example.q[0] * example.k[0]).astype(np.float16)
    assert np.isinf(products[:2]).all() and products[0] == -products[1]
    assert np.array_equal(example.q.astype(np.float16), example.q), "the inputs themselves fit"


def test_permuted_keys_leave_the_output_of_identity_alone() -> None:
    identity, permuted = trace_of("identity"), trace_of("permuted-keys")
    assert np.array_equal(permuted.weights, identity.weights[:, ::-1])
    assert permuted.output == pytest.approx(identity.output, abs=1e-15)


def test_temperature_doubles_the_scores() -> None:
    trace = trace_of("temperature")
    assert np.array_equal(trace.tempered, 2 * trace.scaled)
    assert trace.weights.max() > trace_of("identity").weights.max()


def test_next_token_sees_every_key_and_the_empty_row_none() -> None:
    assert (trace_of("next-token").weights > 0).all()
    assert trace_of("empty-row").weights[0].tolist() == [0, 0]
    assert trace_of("empty-row").output[0].tolist() == [0, 0]


# the walkthrough examples


def test_two_hand_made_examples_the_first_masked() -> None:
    first, second = load().walkthrough
    assert first.options["causal"] == "top-left"
    assert "causal" not in second.options
    for example in (first, second):
        assert example.tokens is not None and len(example.tokens) == 8
        assert set(np.concatenate([example.q, example.k, example.v]).ravel()) == {0, 1, 2}


def test_the_search_finds_the_examples_that_ship() -> None:
    for example, hits in zip(load().walkthrough, (found(), found_unmasked()), strict=True):
        for rows, expected in zip((example.q, example.k, example.v), next(hits), strict=True):
            assert np.array_equal(rows, expected), example.name


def test_the_unmasked_example_looks_ahead_and_shares_weight_between_equal_words() -> None:
    weights = trace_of("walkthrough-unmasked").weights
    assert weights[0].argmax() > 4
    assert weights[3, 0] == weights[3, 4] == weights[3].max()


# reading and refusing


def test_examples_cannot_be_changed_by_accident() -> None:
    with pytest.raises(ValueError, match="read-only"):
        load().get("identity").q[0, 0] = 7


def test_an_unknown_name_lists_the_names_there_are() -> None:
    with pytest.raises(
        ExampleError, match=r"no example called “nope”\. Expected one of: identity, one-query"
    ):
        load().get("nope")


def whole() -> dict[str, list[dict[str, object]]]:
    return copy.deepcopy(json.loads(FILE.read_text(encoding="utf-8")))


BROKEN: list[tuple[str, object, str]] = [
    ("q", [[1, 0], [0]], r"calculator\[0\]\.q: row 1 has 1 entries, row 0 has 2"),
    ("q", [[1, "0"], [0, 1]], r"calculator\[0\]\.q\[0\]\[1\]: expected a finite number, got '0'"),
    ("q", [[1, True], [0, 1]], r"calculator\[0\]\.q\[0\]\[1\]: expected a finite number, got True"),
    ("q", [[1, 10**400], [0, 1]], r"calculator\[0\]\.q\[0\]\[1\]: expected a finite number"),
    ("q", [], r"calculator\[0\]\.q: expected a list with at least one entry, got an empty list"),
    ("q", None, r"calculator\[0\]\.q: expected a list with at least one entry, got NoneType"),
    ("k", [[1, 0, 0], [0, 1, 0]], r"calculator\[0\]: k has 3 columns, q has 2; both need d_k columns"),
    ("v", [[1, 2]], r"calculator\[0\]: v has 1 rows, k has 2; both need one row per key"),
    ("name", "", r"calculator\[0\]\.name: expected a non-empty text, got ''"),
    ("name", "ties", r"Two examples are called “ties”"),
    ("lesson", 3, r"calculator\[0\]\.lesson: expected a non-empty text, got 3"),
    ("options", {"colour": "red"}, r"calculator\[0\]\.options: “colour” is not an option"),
    ("options", {"T": 2}, r"calculator\[0\]\.options\.T: expected text as in the address, got 2"),
    ("extra", 1, r"calculator\[0\]: unknown entry “extra”"),
    ("tokens", ["a"], r"calculator\[0\]: 1 tokens for 2 query rows and 2 key rows"),
]


@pytest.mark.parametrize(("key", "value", "message"), BROKEN)
def test_a_broken_calculator_example_is_refused_with_its_place(key: str, value: object, message: str) -> None:
    data = whole()
    data["calculator"][0][key] = value
    with pytest.raises(ExampleError, match=message):
        parse(json.dumps(data))


def test_a_walkthrough_example_keeps_to_its_digits_shape_and_repeated_words() -> None:
    for change, message in (
        (lambda e: e["q"][3].__setitem__(1, 3), r"walkthrough\[0\]\.q\[3\]\[1\]: expected 0, 1 or 2, got 3"),
        (
            lambda e: e["q"][3].__setitem__(1, 0.5),
            r"walkthrough\[0\]\.q\[3\]\[1\]: expected 0, 1 or 2, got 0.5",
        ),
        (
            lambda e: e["v"][4].__setitem__(0, 2),
            r"\.v: tokens 0 and 4 are both “light”, so their rows must be equal",
        ),
        (lambda e: [row.pop() for row in e["v"]], r"walkthrough\[0\]\.v: expected 8×4, got 8×3"),
        (lambda e: e.pop("tokens"), r"walkthrough\[0\] lacks “tokens”"),
    ):
        data = whole()
        change(data["walkthrough"][0])
        with pytest.raises(ExampleError, match=message):
            parse(json.dumps(data))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON: Expecting value at line 1, column 1"),
        ('{"calculator": [}', "not JSON: .* at line 1, column 17"),
        ("[]", "the file: expected an object with named entries, got list"),
        ('{"calculator": []}', "lacks the section “walkthrough”"),
        ('{"calculator": [], "walkthrough": []}', "calculator: expected a list with at least one entry"),
        # in Pyodide json's own recursion would end the interpreter; the file is ours, so no reader can cause that
        pytest.param("[" * 100_000, "nested too deeply|not JSON", marks=pytest.mark.needs_cpython),
    ],
)
def test_a_file_that_is_no_examples_file_is_refused(text: str, message: str) -> None:
    with pytest.raises(ExampleError, match=message):
        parse(text)


def test_the_loaded_examples_are_plain_data() -> None:
    example = load().get("cross")
    assert isinstance(example, Example)
    assert example.q.dtype == np.float64
    assert load() is load()
