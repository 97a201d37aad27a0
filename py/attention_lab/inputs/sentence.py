"""A sentence → a self-attention Problem: tokens, one spelling vector each, and sinusoidal positions when asked for.

Q, K and V are the same vectors, unprojected: what stands in for a trained model is said on the page. Does not compute
attention, and does not decide what the page shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import LabError, Options, sinusoidal
from attention_lab.inputs.spelling import spelling_vectors
from attention_lab.inputs.tokenize import Tokens, tokenize
from attention_lab.problem import Problem

MAX_TOKENS = 256
MAX_CHARACTERS = 200_000
MIN_DIMENSION, MAX_DIMENSION = 8, 512
DEFAULT_DIMENSION = 32


class SentenceError(LabError):
    """The sentence, or a setting of its vectors, cannot be used. `field` is "text", "d" or "seed"."""


@dataclass(frozen=True, eq=False)
class Sentence:
    """The tokens of a sentence and their vectors, (n, d) float64, squared length d before positions are added."""

    tokens: Tokens
    vectors: NDArray[np.float64]
    seed: int
    positions: bool

    @property
    def words(self) -> tuple[str, ...]:
        return self.tokens.words

    @property
    def labels(self) -> tuple[str, ...]:
        """Position and word, as the table's headers show them: `8 cat`."""
        return tuple(f"{i} {word}" for i, word in enumerate(self.words))

    def problem(self, options: Options | None = None) -> Problem:
        """Self-attention over these vectors: q = k = v, each token named by its word."""
        x, words = self.vectors, self.words
        return Problem(x, x, x, options or Options(), query_labels=words, key_labels=words)


def read_sentence(text: str, d: int = DEFAULT_DIMENSION, seed: int = 0, positions: bool = False) -> Sentence:
    """Tokenize `text` and give each token its vector.

    Raises SentenceError when there is no token, when there are more than 256, or when d is outside 8 … 512.
    """
    if not MIN_DIMENSION <= d <= MAX_DIMENSION:
        raise SentenceError(
            f"The head dimension d must be from {MIN_DIMENSION} to {MAX_DIMENSION}; got {d}.", field="d"
        )
    if seed < 0:
        raise SentenceError(f"The seed of the hash must be a whole number from 0; got {seed}.", field="seed")
    tokens = read_tokens(text)
    vectors = _vectors(tokens.words, d, seed)
    if positions:
        vectors = vectors + sinusoidal(len(tokens.words), d)
    return Sentence(tokens, vectors, seed, positions)


@lru_cache(maxsize=8)
def read_tokens(text: str) -> Tokens:
    """The tokens of `text`, 1 to 256 of them. Raises SentenceError, field "text", otherwise."""
    if len(text) > MAX_CHARACTERS:
        raise SentenceError(
            f"The text has {len(text):,} characters; expected a sentence of at most {MAX_TOKENS} tokens "
            f"(and at most {MAX_CHARACTERS:,} characters).",
            field="text",
        )
    tokens = tokenize(text)
    count = len(tokens.tokens)
    if count == 0:
        left_out = f" ({tokens.controls} control characters were left out)" if tokens.controls else ""
        raise SentenceError(
            f"There is no word to attend to: expected at least one token, got 0{left_out}.", field="text"
        )
    if count > MAX_TOKENS:
        raise SentenceError(
            f"This text has {count:,} tokens; the lab takes at most {MAX_TOKENS}. Shorten it by {count - MAX_TOKENS:,}.",
            field="text",
        )
    return tokens


@lru_cache(maxsize=8)
def _vectors(words: tuple[str, ...], d: int, seed: int) -> NDArray[np.float64]:
    vectors = spelling_vectors(words, d, seed)
    vectors.flags.writeable = False
    return vectors


def without(tokens: Tokens, index: int) -> str:
    """The text with token `index` removed: `without(tokenize("a b c"), 1)` -> "a c"."""
    kept = list(tokens.words)
    token = tokens.tokens[index]
    del kept[index]
    text = " ".join(
        (tokens.source[: token.start].rstrip() + " " + tokens.source[token.end :].lstrip()).split()
    )
    return _if_same(text, kept)


def moved(tokens: Tokens, index: int, to: int) -> str:
    """The text with token `index` standing at position `to`: `moved(tokenize("a b, c"), 0, 1)` -> "b a, c".

    The spaces between tokens stay where they were, unless that would join two tokens into one.
    """
    words = list(tokens.words)
    words.insert(max(0, min(to, len(words) - 1)), words.pop(index))
    parts, end = [], 0
    for token, word in zip(tokens.tokens, words, strict=True):
        parts += [tokens.source[end : token.start], word]
        end = token.end
    return _if_same("".join(parts).strip(), words)


def _if_same(text: str, words: list[str]) -> str:
    return text if list(tokenize(text).words) == words else " ".join(words)
