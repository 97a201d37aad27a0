"""Sentence → tokens → spelling vectors → attention, with properties over random sentences and settings."""

from __future__ import annotations

import math
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lab.core import Options
from attention_lab.core.positions import sinusoidal
from attention_lab.inputs.sentence import (
    MAX_CHARACTERS,
    SentenceError,
    moved,
    read_sentence,
    without,
)
from attention_lab.inputs.spelling import (
    grams_of,
    hash_grams,
    spelling_of,
    spelling_vectors,
    vectors_from_hashes,
)
from attention_lab.inputs.tokenize import tokenize

OPENING = "the cat sat on the mat because the cat was tired"
FAMILY = "👩\u200d👩\u200d👧\u200d👦"

letters = st.characters(codec="utf-8")
visible_letters = st.characters(codec="utf-8", exclude_categories=("Cc",))
texts = st.one_of(
    st.text(letters, max_size=60),
    st.lists(
        st.sampled_from(
            ["the", "cat", "café", "東京", "שלום", "مرحبا", FAMILY, "👍🏽", "don't", "3.14", ".", "!"]
        ),
        max_size=20,
    ).map(" ".join),
)


class TestTokens:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            (OPENING, tuple(OPENING.split())),
            ("Don't panic: 3.14 cats!!", ("Don't", "panic", ":", "3.14", "cats", "!!")),
            ("well-known, l’été… 1,000", ("well-known", ",", "l’été", "…", "1,000")),
            ("(a) -5 a--b", ("(", "a", ")", "-", "5", "a", "--", "b")),
            ("naïve Straße Ångström", ("naïve", "Straße", "Ångström")),
            ("東京へ カタカナ 한국어 단어", ("東", "京", "へ", "カタカナ", "한국어", "단어")),
            (f"hi {FAMILY}👍🏽!", ("hi", FAMILY, "👍🏽", "!")),
            ("🇫🇷🇩🇪 1️⃣ ❤️\u200d🔥", ("🇫🇷", "🇩🇪", "1️⃣", "❤️\u200d🔥")),
            (
                "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f cup",
                ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "cup"),
            ),
            ("שלום עולם צה״ל", ("שלום", "עולם", "צה״ל")),
            ("مرحبا بالعالم می‌خواهم", ("مرحبا", "بالعالم", "می‌خواهم")),
            ("हिन्दी में", ("हिन्दी", "में")),
            ("<b>x</b>", ("<", "b", ">", "x", "<", "/", "b", ">")),
            ("", ()),
            (" \t\n\u3000", ()),
        ],
    )
    def test_words_of_many_scripts(self, text: str, words: tuple[str, ...]) -> None:
        assert tokenize(text).words == words

    def test_an_accent_typed_as_a_combining_mark_is_the_same_token(self) -> None:
        assert tokenize("cafe\u0301").words == tokenize("café").words == ("café",)

    def test_control_characters_are_left_out_and_counted(self) -> None:
        tokens = tokenize("a\x00b\x07 \u202ec\ufeff")
        assert tokens.words == ("ab", "c")
        assert tokens.controls == 4

    def test_half_a_character_is_replaced(self) -> None:
        assert tokenize("\ud83d x").words == ("\ufffd", "x")

    @given(texts)
    def test_nothing_visible_is_lost_and_spans_point_at_the_source(self, text: str) -> None:
        tokens = tokenize(text)
        assert all(tokens.source[t.start : t.end] == t.text for t in tokens.tokens)
        starts = [t.start for t in tokens.tokens]
        assert starts == sorted(starts)
        covered = "".join(tokens.words)
        assert covered == "".join(tokens.source.split())

    @given(texts)
    def test_tokens_joined_by_spaces_are_the_same_tokens(self, text: str) -> None:
        words = tokenize(text).words
        assert tokenize(" ".join(words)).words == words

    @given(texts, st.data())
    def test_removing_and_moving_a_token_changes_nothing_else(self, text: str, data: st.DataObject) -> None:
        tokens = tokenize(text)
        words = list(tokens.words)
        if not words:
            return
        i = data.draw(st.integers(0, len(words) - 1))
        j = data.draw(st.integers(0, len(words) - 1))
        left = words[:i] + words[i + 1 :]
        assert list(tokenize(without(tokens, i)).words) == left
        left.insert(j, words[i])
        assert list(tokenize(moved(tokens, i, j)).words) == left

    def test_moving_keeps_the_spacing_where_it_can(self) -> None:
        assert moved(tokenize("a b, c"), 0, 1) == "b a, c"
        assert without(tokenize("the cat, tired"), 1) == "the , tired"

    @pytest.mark.parametrize(
        "text",
        [
            "a" * 5000,
            "e" + "\u0301" * 5000,
            "'" * 20000,
            "1." * 20000,
            "👩\u200d" * 9000,
            "a-" * 20000,
            "word " * 10000,
        ],
    )
    def test_hostile_lengths_stay_linear(self, text: str) -> None:
        start = time.perf_counter()
        tokenize(text)
        assert time.perf_counter() - start < 2


class TestVectors:
    @given(
        st.lists(st.text(visible_letters, min_size=1, max_size=12), min_size=1, max_size=12),
        st.integers(8, 512),
        st.integers(0, 2**64),
    )
    def test_squared_length_is_d(self, words: list[str], d: int, seed: int) -> None:
        vectors = spelling_vectors(words, d, seed)
        assert vectors.shape == (len(words), d)
        assert np.abs((vectors**2).sum(axis=1) - d).max() <= 1e-9

    def test_the_hash_is_the_documented_one(self) -> None:
        """SplitMix64 from state 0 starts 0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F."""
        zero = np.zeros(1, dtype=np.uint64)
        assert [int(hash_grams(zero, seed)[0]) for seed in range(3)] == [
            0xE220A8397B1DCDAF,
            0x6E789E6AA1B965F4,
            0x06C45D188009454F,
        ]

    def test_vectors_follow_the_documented_rule(self) -> None:
        """One gram at a time, in plain Python integers, gives the same vector."""
        word, d, seed, full = "kitten", 24, 5, 2**64 - 1
        expected = [0.0] * d
        padded = [2, *map(ord, word), 3]
        for size in (2, 3):
            for at in range(len(padded) - size + 1):
                gram = sum(code << (21 * place) for place, code in enumerate(padded[at : at + size]))
                z = (gram + (seed + 1) * 0x9E3779B97F4A7C15) & full
                z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & full
                z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & full
                z ^= z >> 31
                expected[z % d] += -1.0 if z >> 63 else 1.0
        norm = math.sqrt(d / sum(x * x for x in expected))
        assert np.allclose(
            spelling_vectors([word], d, seed)[0], [x * norm for x in expected], rtol=0, atol=1e-12
        )

    def test_vectors_are_the_same_in_another_process(self) -> None:
        """Python's own hash of a string changes with PYTHONHASHSEED; these vectors must not."""
        if sys.platform == "emscripten":
            pytest.skip("no processes in WebAssembly; the rule itself is checked above")
        code = "from attention_lab.inputs.spelling import spelling_vectors as s; print(s(['cat', 'né'], 16, 7).tolist())"
        outputs = {
            subprocess.run(
                [sys.executable, "-c", code],
                env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for hash_seed in ("1", "2")
        }
        assert outputs == {f"{spelling_vectors(['cat', 'né'], 16, 7).tolist()}\n"}

    def test_the_seed_changes_the_vectors(self) -> None:
        assert not np.array_equal(spelling_vectors(["cat"], 64, 0), spelling_vectors(["cat"], 64, 1))

    def test_scores_can_be_negative(self) -> None:
        words = OPENING.split()
        x = spelling_vectors(words, 32)
        assert (x @ x.T).min() < -1

    def test_shared_spelling_scores_high_and_case_does_not_count(self) -> None:
        runs, running, loud = spelling_vectors(["runs", "running", "RUNS"], 256)
        assert runs @ running > 0.3 * 256
        assert np.array_equal(runs, loud)
        assert spelling_of("E\u0301") == "é"

    def test_grams_carry_word_boundaries(self) -> None:
        assert grams_of("cat") == ("‹c", "ca", "at", "t›", "‹ca", "cat", "at›")

    @given(st.text(visible_letters, min_size=1, max_size=30))
    def test_a_word_has_an_odd_number_of_grams(self, word: str) -> None:
        """So their signs can never add up to zero everywhere."""
        assert len(grams_of(word)) % 2 == 1

    def test_grams_that_cancel_get_one_entry_of_length_root_d(self) -> None:
        d = 8
        hashes = np.array(
            [3, 3 + 2**63, 5], dtype=np.uint64
        )  # +1 and -1 at coordinate 3; the third belongs to word 1
        first, second = vectors_from_hashes(hashes, np.array([0, 0, 1]), 2, d)
        assert np.count_nonzero(first) == 1
        assert math.isclose(float(first @ first), d, rel_tol=1e-15)
        place = int(hash_grams(np.array([2**63], dtype=np.uint64))[0])
        assert first[place % d] == pytest.approx(-math.sqrt(d) if place >> 63 else math.sqrt(d))
        assert second[5] == pytest.approx(math.sqrt(d))

    def test_256_tokens_at_512_dimensions_are_quick(self) -> None:
        words = [f"word{i}" for i in range(256)]
        start = time.perf_counter()
        spelling_vectors(words, 512)
        assert time.perf_counter() - start < 0.5


class TestSentence:
    def test_opening_sentence(self) -> None:
        sentence = read_sentence(OPENING)
        assert len(sentence.words) == 11
        assert sentence.vectors.shape == (11, 32)
        assert sentence.labels[8] == "8 cat"
        trace = sentence.problem(Options(causal="top-left")).trace()
        assert np.abs(np.diag(trace.scores) - 32).max() <= 1e-9
        assert trace.weights[8, 1] == pytest.approx(trace.weights[8, 8])  # the same word twice

    def test_positions_are_added_to_the_vectors(self) -> None:
        plain, placed = read_sentence(OPENING), read_sentence(OPENING, positions=True)
        assert np.array_equal(placed.vectors, plain.vectors + sinusoidal(11, 32))

    def test_one_token_attends_to_itself(self) -> None:
        trace = read_sentence("cat").problem().trace()
        assert trace.weights.tolist() == [[1.0]]

    @pytest.mark.parametrize("text", ["", "   \n\t ", "\x00\x01"])
    def test_no_token(self, text: str) -> None:
        with pytest.raises(SentenceError, match="expected at least one token, got 0") as caught:
            read_sentence(text)
        assert caught.value.field == "text"

    def test_256_tokens_pass_and_257_do_not(self) -> None:
        assert len(read_sentence("a " * 256).words) == 256
        with pytest.raises(SentenceError, match=r"257 tokens; the lab takes at most 256\. Shorten it by 1\."):
            read_sentence("a " * 257)

    def test_ten_thousand_words_are_answered_quickly(self) -> None:
        start = time.perf_counter()
        with pytest.raises(SentenceError, match="10,000 tokens; the lab takes at most 256"):
            read_sentence("word " * 10_000)
        assert time.perf_counter() - start < 1

    def test_a_word_of_5000_characters_is_a_token(self) -> None:
        sentence = read_sentence("x" * 5000 + " cat", d=512)
        assert len(sentence.words) == 2
        assert np.abs((sentence.vectors**2).sum(axis=1) - 512).max() <= 1e-9

    def test_a_text_beyond_reason(self) -> None:
        with pytest.raises(SentenceError, match="200,001 characters"):
            read_sentence("x" * (MAX_CHARACTERS + 1))

    @pytest.mark.parametrize(("d", "field"), [(7, "d"), (513, "d"), (0, "d"), (-1, "d")])
    def test_dimension_out_of_range(self, d: int, field: str) -> None:
        with pytest.raises(SentenceError, match=f"from 8 to 512; got {d}") as caught:
            read_sentence("cat", d=d)
        assert caught.value.field == field

    def test_negative_seed(self) -> None:
        with pytest.raises(SentenceError, match="whole number from 0; got -1"):
            read_sentence("cat", seed=-1)


words_lists = st.lists(
    st.sampled_from(["the", "cat", "sat", "running", "runs", "東", "שלום", "👍🏽", ".", "x" * 40, "a"])
    | st.text(st.characters(codec="utf-8", categories=("L",)), min_size=1, max_size=8),
    min_size=1,
    max_size=40,
)


class TestProperties:
    @settings(max_examples=150)
    @given(
        words=words_lists,
        d=st.integers(8, 512),
        seed=st.integers(0, 1000),
        temperature=st.floats(0.01, 100),
        causal=st.booleans(),
        positions=st.booleans(),
        scale=st.sampled_from(["sqrt_dk", "none"]),
    )
    def test_masked_is_zero_and_rows_sum_to_one(
        self,
        words: list[str],
        d: int,
        seed: int,
        temperature: float,
        causal: bool,
        positions: bool,
        scale: str,
    ) -> None:
        sentence = read_sentence(" ".join(words), d, seed, positions)
        options = Options(scale=scale, temperature=temperature, causal="top-left" if causal else None)
        trace = sentence.problem(options).trace()
        n = len(sentence.words)
        bound = (4 + math.log2(n)) * 2**-52
        assert max(abs(math.fsum(row) - 1) for row in trace.weights.tolist()) <= bound
        if causal:
            assert np.all(trace.weights[~np.tri(n, dtype=bool)] == 0)
        if not positions:
            assert np.abs(np.diag(trace.scores) - d).max() <= 1e-9

    @given(words=words_lists, d=st.sampled_from([8, 32, 128]), causal=st.booleans())
    def test_low_temperature_is_uniform_over_the_tied_maxima(
        self, words: list[str], d: int, causal: bool
    ) -> None:
        trace = (
            read_sentence(" ".join(words), d)
            .problem(Options(temperature=0.01, causal="top-left" if causal else None))
            .trace()
        )
        gaps = np.where(
            np.isneginf(trace.masked), np.inf, trace.masked.max(axis=1, keepdims=True) - trace.masked
        )
        tied = gaps < 1e-9
        clear = np.all(tied | (gaps > 40), axis=1)  # a runner-up that close at T = 0.01 still gets a share
        expected = tied / tied.sum(axis=1, keepdims=True)
        assert np.abs(trace.weights - expected)[clear].max(initial=0) <= 1e-12

    @given(words=words_lists, causal=st.booleans())
    def test_high_temperature_is_uniform_over_visible_keys(self, words: list[str], causal: bool) -> None:
        trace = (
            read_sentence(" ".join(words), 32)
            .problem(Options(temperature=100.0, causal="top-left" if causal else None))
            .trace()
        )
        visible = ~np.isneginf(trace.masked)
        uniform = visible / visible.sum(axis=1, keepdims=True)
        # Scores lie in ±√32, so at T = 100 two logits differ by at most 2·√32/100 and weights by that factor.
        factor = math.exp(2 * math.sqrt(32) / 100)
        assert np.all(trace.weights <= uniform * factor + 1e-15)
        assert np.all(trace.weights >= uniform / factor - 1e-15)
