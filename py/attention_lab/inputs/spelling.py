"""Words → vectors made from their spelling alone (the hashing trick), not from meaning.

Each word is cut into character 2- and 3-grams with a mark at both ends; a signed hash sends each gram to one of d
coordinates as +1 or -1; the sum is scaled to squared length d. Does not: train, look anything up, or use Python's `hash`
(which differs from run to run).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

START, END = "\x02", "\x03"
"""Word boundaries: control characters, which no token contains."""

_START, _END = ord(START), ord(END)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S21, _S27, _S30, _S31, _S42, _S63 = (np.uint64(s) for s in (21, 27, 30, 31, 42, 63))


@lru_cache(maxsize=4096)
def spelling_of(word: str) -> str:
    """What of a word counts: case and the way an accent was typed do not.

    spelling_of("É") -> "é"
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", word).casefold())


def hash_grams(grams: NDArray[np.uint64], seed: int = 0) -> NDArray[np.uint64]:
    """64-bit hash of each gram: the SplitMix64 output function of `gram + (seed + 1)·0x9E3779B97F4A7C15` mod 2⁶⁴.

    A gram's three code points stand in bits 0-20, 21-41 and 42-62 (the third is 0 in a 2-gram), so two different
    grams always hash different numbers. Source: Steele, Lea and Flood, "Fast splittable pseudorandom number
    generators", OOPSLA 2014.
    """
    step = (int(_STEP) * (seed + 1)) % 2**64
    z = grams + np.uint64(step)
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return np.asarray(z ^ (z >> _S31), dtype=np.uint64)


def spelling_vectors(words: Sequence[str], d: int, seed: int = 0) -> NDArray[np.float64]:
    """(n, d) one vector per word, squared length d. Words hold no control characters (tokens never do).

    Gram g adds +1 or -1 (bit 63 of its hash: 0 or 1) at coordinate `hash mod d`; repeated grams add up.
    spelling_vectors(["cat", "cat"], 8) -> two equal rows whose squares sum to 8.
    """
    if not words:
        return np.zeros((0, d))
    text = "".join([f"{START}{spelling_of(word)}{END}" for word in words])
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    owner = np.cumsum(codes == _START) - 1

    # A pair or triple that crosses from one word into the next holds END before its last character.
    ends = codes == _END
    pairs = np.flatnonzero(~ends[:-1])
    triples = np.flatnonzero(~ends[:-2] & ~ends[1:-1])
    two = codes[pairs] | (codes[pairs + 1] << _S21)
    three = codes[triples] | (codes[triples + 1] << _S21) | (codes[triples + 2] << _S42)
    hashes = hash_grams(np.concatenate((two, three)), seed)
    return vectors_from_hashes(hashes, np.concatenate((owner[pairs], owner[triples])), len(words), d, seed)


def vectors_from_hashes(
    hashes: NDArray[np.uint64], owners: NDArray[np.int64], n: int, d: int, seed: int = 0
) -> NDArray[np.float64]:
    """(n, d) signed sums of the grams of n words, scaled to squared length d; gram g belongs to word `owners[g]`.

    Grams that cancel to zero leave a word without a direction; its vector is then one entry of ±√d, placed by hashing
    the exclusive-or of its hashes once more. A word of c characters has 2c + 1 grams, an odd number of ±1, so whole
    words never cancel; the rule is for other sets of grams.
    """
    places = owners * d + (hashes % np.uint64(d)).astype(np.int64)
    signs = 1.0 - 2.0 * (hashes >> _S63)
    vectors = np.bincount(places, weights=signs, minlength=n * d).reshape(n, d)
    squares = np.einsum("nd,nd->n", vectors, vectors)
    for i in np.flatnonzero(squares == 0):
        again = int(hash_grams(np.bitwise_xor.reduce(hashes[owners == i], keepdims=True), seed)[0])
        vectors[i, again % d] = -1.0 if again >> 63 else 1.0
        squares[i] = 1.0
    return np.asarray(vectors * np.sqrt(d / squares)[:, None], dtype=np.float64)


def grams_of(word: str) -> tuple[str, ...]:
    """The grams of one word, with its ends shown as ‹ and ›.

    grams_of("cat") -> ("‹c", "ca", "at", "t›", "‹ca", "cat", "at›")
    """
    text = f"‹{spelling_of(word)}›"
    return tuple(text[i : i + size] for size in (2, 3) for i in range(len(text) - size + 1))
