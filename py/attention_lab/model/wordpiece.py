"""Text → WordPiece pieces, as BERT's uncased tokenizer makes them: cleaned, without accents, lower case, longest match first.

Devlin et al. 2018, and the reference tokenizer's documented steps. Does not: know a language other than by its list of
pieces, or treat a typed “[MASK]” as anything but text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence

UNKNOWN, FIRST, SEPARATOR = "[UNK]", "[CLS]", "[SEP]"
LONGEST_WORD = 100
"""Characters of a word above which the reference gives up on it: one [UNK]."""
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


def _is_control(character: str) -> bool:
    return character not in "\t\n\r" and unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co")


def is_punctuation(character: str) -> bool:
    if character.isascii():
        return character.isprintable() and not character.isalnum() and character != " "
    return unicodedata.category(character).startswith("P")


def is_ideograph(character: str) -> bool:
    return any(low <= ord(character) <= high for low, high in _IDEOGRAPHS)


def normalized(text: str) -> str:
    """What is looked up: `normalized("Café\\u200b Zoë")` → "cafe zoe"."""
    kept = []
    for character in text:
        if character in "\0\ufffd" or _is_control(character):
            continue
        if character.isspace():
            kept.append(" ")
        elif is_ideograph(character):
            kept.append(f" {character} ")
        else:
            kept.append(character)
    plain = (c for c in unicodedata.normalize("NFD", "".join(kept)) if unicodedata.category(c) != "Mn")
    return "".join(c.lower() for c in plain)  # letter by letter: a final sigma is a sigma here


def words(text: str) -> Iterator[str]:
    """Runs between spaces, every punctuation mark by itself: "it's flat." → it ' s flat ."""
    for run in normalized(text).split():
        word = ""
        for character in run:
            if is_punctuation(character):
                if word:
                    yield word
                yield character
                word = ""
            else:
                word += character
        if word:
            yield word


def pieces(word: str, vocabulary: Mapping[str, int]) -> list[str]:
    """The longest pieces from the left, `##` before each but the first; [UNK] if there is no way to the end.

    `pieces("purring", {"pur": 0, "##ring": 1, ...})` → ["pur", "##ring"]
    """
    if len(word) > LONGEST_WORD:
        return [UNKNOWN]
    found: list[str] = []
    start = 0
    while start < len(word):
        mark = "##" if start else ""
        for end in range(len(word), start, -1):
            if mark + word[start:end] in vocabulary:
                found.append(mark + word[start:end])
                start = end
                break
        else:
            return [UNKNOWN]
    return found


def tokenize(text: str, vocabulary: Mapping[str, int]) -> list[str]:
    """All pieces of a text, [CLS] before and [SEP] after them."""
    inner = [piece for word in words(text) for piece in pieces(word, vocabulary)]
    return [FIRST, *inner, SEPARATOR]


def joined(found: Sequence[str]) -> list[str]:
    """The pieces as whole words, for reading: ["pur", "##ring", "cat"] → ["purring", "cat"]."""
    whole: list[str] = []
    for piece in found:
        if piece.startswith("##") and whole:
            whole[-1] += piece[2:]
        else:
            whole.append(piece)
    return whole
