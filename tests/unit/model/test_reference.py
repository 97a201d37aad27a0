"""The pack against the float32 model of transformers (record_reference.py), on 24 sentences, and 500 tokenized ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attention_lab.model.encoder import Encoder
from attention_lab.model.folder import load_folder
from attention_lab.model.wordpiece import joined, pieces, tokenize, words

HERE = Path(__file__).parent
pytestmark = pytest.mark.needs_model


@pytest.fixture(scope="module")
def encoder(model_pack: Path) -> Encoder:
    return load_folder(model_pack)


@pytest.fixture(scope="module")
def recorded() -> list[tuple[str, list[str]]]:
    """(sentence, pieces of the reference tokenizer with its whole list)."""
    sentences, expected = (
        (HERE / name).read_text(encoding="utf-8").split("\n")[:-1] for name in ("sentences.txt", "pieces.txt")
    )
    return [(sentence, line.split(" ")) for sentence, line in zip(sentences, expected, strict=True)]


def test_the_pack_is_small_enough(model_pack: Path) -> None:
    assert (
        sum(path.stat().st_size for path in model_pack.iterdir() if path.name != "LICENSE.txt") <= 15_000_000
    )


def test_attention_against_the_float32_model(encoder: Encoder) -> None:
    """Where the cut list gives the same pieces: largest difference ≤ 0.06, mean ≤ 0.003, row maxima equal in ≥ 97 %."""
    data = np.load(HERE / "attention.npz")
    sentences, expected = (bytes(data[name]).decode().split("\n") for name in ("sentences", "pieces"))
    assert len(sentences) == 24
    largest = total = cells = equal = rows = compared = 0.0
    for at, (sentence, names) in enumerate(zip(sentences, expected, strict=True)):
        done = encoder.pass_of(sentence)
        assert list(done.pieces) == names.split(" "), "a sentence whose pieces were cut cannot be compared"
        compared += 1
        ours = np.stack([done.layer(layer).weights for layer in range(6)])
        theirs = data[f"weights.{at}"] / 65535
        difference = np.abs(ours - theirs)
        largest = max(largest, float(difference.max()))
        total += float(difference.sum())
        cells += difference.size
        equal += float((ours.argmax(-1) == theirs.argmax(-1)).sum())
        rows += ours[..., 0].size
        np.testing.assert_allclose(done.layer(5).out[:, :8], data[f"output.{at}"], atol=0.15)
    print(
        f"{compared:.0f} sentences: largest {largest:.4f}, mean {total / cells:.5f}, row maxima {equal / rows:.4f}"
    )
    assert compared == 24
    assert largest <= 0.06
    assert total / cells <= 0.003
    assert equal / rows >= 0.97


def test_words_inside_the_cut_list_are_tokenized_alike(
    encoder: Encoder, recorded: list[tuple[str, list[str]]]
) -> None:
    assert encoder.embeddings is not None
    known = encoder.embeddings.vocabulary
    assert len(recorded) == 500
    same, differ = 0, {}
    for sentence, expected in recorded:
        at = 1
        for word in words(sentence):
            theirs = [expected[at]]
            at += 1
            while at < len(expected) and expected[at].startswith("##"):
                theirs.append(expected[at])
                at += 1
            ours = pieces(word, known)
            if all(piece in known for piece in theirs):
                assert ours == theirs, f"{word!r} in {sentence!r}"
                same += 1
            else:
                differ[word] = ours
        assert expected[at:] == ["[SEP]"]
    print(f"{same} words alike; {len(differ)} different words fall into other pieces: {differ}")
    assert same > 0.8 * (same + len(differ))
    for word, ours in differ.items():
        assert joined(ours) in ([word], ["[UNK]"])


def test_latin_text_never_becomes_unknown(encoder: Encoder, recorded: list[tuple[str, list[str]]]) -> None:
    assert encoder.embeddings is not None
    known = encoder.embeddings.vocabulary
    for sentence, expected in recorded:
        for ours in tokenize(sentence, known):
            assert ours != "[UNK]" or "[UNK]" in expected, sentence
    for character in map(chr, range(0x21, 0x180)):
        if character.isprintable():
            found = tokenize(f"{character} x{character}x", known)
            assert "[UNK]" not in found or character in "ĸŀŉŧſĳĲĿŦ" or not character.isalpha(), character
