"""The forward pass against a plain one written with loops over heads, and what a head becomes in the page."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator

import numpy as np
import pytest
import synthetic

from attention_lab import diagnose
from attention_lab.compute import view_of
from attention_lab.core import LabError, Options, attend
from attention_lab.explain.origin import origin_of
from attention_lab.export import formats
from attention_lab.model import bert
from attention_lab.model import encoder as encoder_module
from attention_lab.model.bert import gelu
from attention_lab.model.encoder import Current, Encoder, ModelError, NotLoaded, Pass, pass_of
from attention_lab.model.pack import quantized, restored
from attention_lab.render.share import material_of
from attention_lab.state import State

TEXT = "The cats sat."


def plain_norm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return np.array([(row - row.mean()) / math.sqrt(row.var() + 1e-12) * gain + bias for row in x])


def plain_layer(x: np.ndarray, seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """One layer, written anew from the papers' formulae; returns its output and each head's weights."""
    raw = synthetic.layer_weights(seed)
    w = {
        name: restored(*quantized(value, stretch=6)) if value.ndim == 2 else value.astype(float)
        for name, value in raw.items()
    }

    def linear(name: str, value: np.ndarray) -> np.ndarray:
        return np.array([w[name] @ row + w[f"{name}.bias"] for row in value])

    q, k, v = (linear(name, x) for name in ("query", "key", "value"))
    d, joined, all_weights = synthetic.HIDDEN // synthetic.HEADS, [], []
    for head in range(synthetic.HEADS):
        part = slice(head * d, (head + 1) * d)
        scores = q[:, part] @ k[:, part].T / math.sqrt(d)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        all_weights.append(weights)
        joined.append(weights @ v[:, part])
    middle = plain_norm(
        x + linear("after", np.concatenate(joined, 1)), w["after_norm.gain"], w["after_norm.bias"]
    )
    inner = linear("up", middle)
    inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
    return plain_norm(middle + linear("down", inner), w["down_norm.gain"], w["down_norm.bias"]), all_weights


def test_layers_agree_with_a_plain_forward_pass(tiny: Encoder) -> None:
    sentence = tiny.pass_of(TEXT)
    assert sentence.pieces == ("[CLS]", "the", "cat", "##s", "sat", ".", "[SEP]")
    x = sentence.embedded.out
    for layer in range(synthetic.LAYERS):
        np.testing.assert_allclose(sentence.layer(layer).x, x, rtol=1e-10)
        x, weights = plain_layer(x, layer)
        np.testing.assert_allclose(sentence.layer(layer).weights, weights, rtol=1e-6)
        np.testing.assert_allclose(sentence.layer(layer).out, x, rtol=1e-9)


def test_gelu_at_known_places() -> None:
    """Φ(1) = 0.841344746…, so gelu(1) is that and gelu(−1) = −(1 − Φ(1))."""
    np.testing.assert_allclose(
        gelu(np.array([[0.0, 1.0, -1.0]])), [[0, 0.8413447460685429, -0.15865525393145707]]
    )


def test_a_head_is_the_problem_of_the_page(tiny: Encoder) -> None:
    state = State.from_fragment("lab=calculator&text=The%20cats%20sat.&model=minilm&layer=1&modelhead=2")
    view = view_of(state)
    q, k, v = pass_of(TEXT).head(1, 2)
    assert view.problem.query_labels == ("[CLS]", "the", "cat", "##s", "sat", ".", "[SEP]")
    np.testing.assert_array_equal(view.problem.q, q)
    np.testing.assert_array_equal(view.slice_trace.weights, attend(q, k, v).weights)
    np.testing.assert_allclose(view.slice_trace.weights, pass_of(TEXT).layer(1).weights[2], rtol=1e-6)


def test_nothing_is_computed_without_a_model() -> None:
    assert Current.encoder is None
    with pytest.raises(NotLoaded) as caught:
        view_of(State.from_fragment("lab=heatmap&text=a&model=minilm"))
    assert caught.value.field == "model"


@pytest.mark.parametrize(
    ("fragment", "field", "words"),
    [
        ("text=%20&model=minilm", "text", "at least one piece, got 0"),
        ("text=cat%20cat%20cat%20cat%20cat%20cat%20cat%20cat%20cat%20cat%20cat%20cat%20cat%20cat%20cat&model=minilm", "text", "17 pieces .* at most 16. Shorten it by 1"),
        ("text=cat&model=minilm&layer=4", "layer", "no layer 4: expected 0 to 1"),
        ("text=cat&model=minilm&modelhead=7", "modelhead", "no head 7: expected 0 to 2"),
    ],
)  # fmt: skip
def test_errors_name_their_field(tiny: Encoder, fragment: str, field: str, words: str) -> None:
    with pytest.raises(LabError, match=words) as caught:
        view_of(State.from_fragment(f"lab=heatmap&{fragment}"))
    assert caught.value.field == field


def test_products_and_bias_add_up_to_the_query(tiny: Encoder) -> None:
    for layer, head, row in ((0, 0, 1), (1, 2, 4)):
        found = origin_of(tiny.pass_of(TEXT), layer, head, row)
        np.testing.assert_allclose(found.total, found.word + found.position + found.kind, rtol=1e-15)
        for entry in range(4):
            total = math.fsum(found.products(entry)) + found.bias[entry]
            assert total == pytest.approx(found.q[entry], rel=1e-12, abs=1e-12)
    assert origin_of(tiny.pass_of(TEXT), 0, 0, 2).index_in_model == 104  # "cat"


def test_only_a_few_sentences_are_remembered(tiny: Encoder) -> None:
    first = tiny.pass_of("cat")
    assert tiny.pass_of("cat") is first
    for text in ("the", "sat", "it", "flat"):
        tiny.pass_of(text)
    assert tiny.pass_of("cat") is not first


def test_a_pass_is_computed_in_steps_and_taken_up_again(tiny: Encoder) -> None:
    """Whoever asks second goes on where the first one stopped; the numbers are those of one go."""
    whole = synthetic.whole().pass_of(TEXT)
    whole.layer(1)
    sentence = tiny.pass_of(TEXT)
    steps = sentence.steps(1)
    for _ in range(5):
        next(steps)
    assert len(sentence.done) == 0
    assert sum(1 for _ in sentence.steps(1)) == sum(1 for _ in whole_steps(whole)) - 5
    for ours, theirs in zip(sentence.done, whole.done, strict=True):
        for name in ("x", "weights", "out"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert list(sentence.steps(1)) == []


def whole_steps(sentence: Pass) -> Iterator[None]:
    return synthetic.whole().pass_of(sentence.text).steps(1)


def test_small_blocks_give_the_same_numbers(tiny: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few products, cells and values stand between two pauses."""
    expected = tiny.pass_of(TEXT).layer(1)
    steps = sum(1 for _ in tiny.pass_of("The cats sat").steps(1))
    for name in ("PRODUCTS", "CELLS", "VALUES"):
        monkeypatch.setattr(bert, name, 100)
    sentence = synthetic.whole().pass_of(TEXT)
    found = sentence.layer(1)
    np.testing.assert_allclose(found.out, expected.out, rtol=1e-12)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-12)
    assert sum(1 for _ in synthetic.whole().pass_of("The cats sat").steps(1)) > 3 * steps


def test_long_sentences_are_forgotten_sooner(tiny: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of passes is bounded by their pieces; the two last ones stay in any case."""
    monkeypatch.setattr(encoder_module, "KEPT_PIECES", 12)
    kept = [tiny.pass_of(text) for text in ("cat cat cat", "sat sat sat", "flat flat flat flat flat")]
    assert tiny.pass_of("sat sat sat") is kept[1]
    assert tiny.pass_of("cat cat cat") is not kept[0]


def test_the_same_head_on_another_sentence() -> None:
    """`compare=text=…` beside a real head keeps model, layer and head; beside spelling vectors it stands alone."""
    state = State.from_fragment("lab=heatmap&text=a&model=minilm&layer=3&modelhead=4&compare=text%3Db")
    second = state.second()
    assert second is not None
    assert (second.text, second.model, second.layer, second.modelhead) == ("b", "minilm", 3, 4)
    alone = State.from_fragment("lab=heatmap&text=a&T=2&compare=text%3Db").second()
    assert alone is not None and alone.T == 1


def test_error_class_is_a_lab_error() -> None:
    assert issubclass(ModelError, LabError)


def test_every_export_and_a_diagnosis_work_on_a_head(tiny: Encoder) -> None:
    """What the Share dialog writes of a head, and what Check mine says to its own weights and to wrong ones."""
    view = view_of(
        State.from_fragment("lab=calculator&text=The%20cats%20sat.&model=minilm&layer=1&modelhead=2")
    )
    material = material_of(view, "")
    written = {item.id: formats.write(item.id, material) for item in formats.FORMATS}
    assert all(written.values())
    with np.load(io.BytesIO(written["npz"])) as archive:  # type: ignore[arg-type]
        q, k, v = tiny.pass_of(TEXT).head(1, 2)
        np.testing.assert_array_equal(archive["q"], q)
        np.testing.assert_array_equal(archive["weights"], attend(q, k, v).weights)
    assert diagnose(q, k, v, view.slice_trace.weights).verdict == "match"
    unscaled = attend(q, k, v, Options(scale="none"))
    assert diagnose(q, k, v, unscaled.output).verdict in ("mistake", "convention")
