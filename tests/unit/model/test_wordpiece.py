"""WordPiece against what the reference tokenizer does, on small lists of pieces."""

from __future__ import annotations

import pytest

from attention_lab.model.wordpiece import joined, normalized, pieces, tokenize, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Café Zoë", "cafe zoe"),
        ("a\u200bb\u00adc", "abc"),  # format characters vanish
        ("tab\tand\nline\u00a0break", "tab and line break"),
        ("\0a\ufffdb", "ab"),
        ("ΣΑΣ", "σασ"),  # letter by letter, so no final sigma
        ("東京", " 東  京 "),
        ("İ", "i"),
    ],
)
def test_normalized(text: str, expected: str) -> None:
    assert normalized(text) == expected


def test_every_punctuation_mark_stands_alone() -> None:
    assert list(words("it's flat... (yes) $5 «no»")) == [
        *("it", "'", "s", "flat", ".", ".", ".", "(", "yes", ")", "$", "5", "«", "no", "»")
    ]


def test_longest_match_first_from_the_left() -> None:
    known = dict.fromkeys(("un", "##aff", "##able", "una", "##ff", "##ffab", "##le"), 0)
    assert pieces("unaffable", known) == ["una", "##ffab", "##le"]
    assert pieces("unx", known) == ["[UNK]"]


def test_a_word_of_more_than_100_characters_is_unknown() -> None:
    known = {"a": 0, "##a": 1}
    assert pieces("a" * 100, known) == ["a", *["##a"] * 99]
    assert pieces("a" * 101, known) == ["[UNK]"]


def test_tokenize_and_back() -> None:
    known = dict.fromkeys(("cat", "##s", "."), 0)
    found = tokenize("Cats cat.", known)
    assert found == ["[CLS]", "cat", "##s", "cat", ".", "[SEP]"]
    assert joined(found) == ["[CLS]", "cats", "cat", ".", "[SEP]"]
