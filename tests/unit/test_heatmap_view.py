"""The Heatmap as HTML, its canvas data and its files: the numbers are the Trace's, and hostile text stays text."""

from __future__ import annotations

import csv
import io
import math
import re
import time
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_lab.compute import view_of
from attention_lab.core import LabError
from attention_lab.render import heat_canvas, heatmap
from attention_lab.render.heat_compare import second_view
from attention_lab.render.heat_export import export_csv, export_svg
from attention_lab.render.heat_row import fixed
from attention_lab.render.heat_table import heat_table, shortest, two_decimals
from attention_lab.render.html import shade
from attention_lab.render.view import View
from attention_lab.state import State

OPENING = "the cat sat on the mat because the cat was tired"
HOSTILE = "<script>alert(1)</script> &amp; \"quoted\" 'single' %s %d {x} = 1+1"


class Cells(HTMLParser):
    """Every td of some HTML: its attributes and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.cells: list[tuple[dict[str, str | None], str]] = []
        self.inside = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "td":
            self.cells.append((dict(attrs), ""))
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "td":
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            attributes, text = self.cells[-1]
            self.cells[-1] = attributes, text + data


def view(text: str = OPENING, **keys: str) -> View:
    return view_of(State.opening("heatmap").with_values({"text": text, **keys}))


def words(count: int) -> str:
    return " ".join(f"word{i}" for i in range(count))


def cells_of(html: str) -> dict[tuple[int, int], tuple[dict[str, str | None], str]]:
    return {
        (int(a["data-i"] or 0), int(a["data-j"] or 0)): (a, text)
        for a, text in Cells(html).cells
        if "data-i" in a
    }


class TestTable:
    def test_opening_state(self) -> None:
        slots = heatmap.render(view())
        assert "11 tokens · d = 32 · √d = 5.657" in slots["heatmap-status"]
        assert "softmax(qᵢ·kⱼ / (√d × T))" in slots["heatmap-status"]
        assert "Inside row 8: “cat”" in slots["heatmap-row"]
        assert '<th scope="col">8 cat</th>' in slots["heatmap-table"]
        assert slots["heatmap-inverse"] == "1/√d = 0.1768"

    @pytest.mark.parametrize(
        "keys", [{}, {"causal": ""}, {"T": "0.1", "positions": "sinusoidal"}, {"window": "2,0"}]
    )
    def test_every_cell_is_the_traces(self, keys: dict[str, str]) -> None:
        made = view(**keys)
        trace = made.slice_trace
        cells = cells_of(heatmap.render(made)["heatmap-table"])
        assert len(cells) == 121
        levels = shade(trace.weights)
        for (i, j), (attributes, text) in cells.items():
            weight = float(trace.weights[i, j])
            assert attributes["data-value"] == repr(weight)
            if trace.mask[i, j]:
                assert text == f"{weight:.2f}"
                assert f"w{levels[i, j]}" in (attributes["class"] or "").split()
                assert "data-masked" not in attributes
            else:
                assert (attributes["data-value"], text) == ("0.0", "–")
                assert "data-masked" in attributes
        assert sum(attributes["tabindex"] == "0" for attributes, _ in cells.values()) == 1

    def test_row_headers_are_buttons_and_sums_stand_at_the_end(self) -> None:
        made = view()
        html = heatmap.render(made)["heatmap-table"]
        assert html.count('class="row-name"') == 11
        assert 'data-set="row=8"' in html
        sums = [(a, text) for a, text in Cells(html).cells if "extra" in (a.get("class") or "")]
        assert [text for _, text in sums] == ["1.00"] * 11
        assert [float(a["data-sum"] or 0) for a, _ in sums] == made.slice_trace.weights.sum(axis=-1).tolist()

    def test_64_tokens_are_a_table_and_65_a_canvas(self) -> None:
        assert "<table" in heatmap.render(view(words(64)))["heatmap-table"]
        large = heatmap.render(view(words(65)))["heatmap-table"]
        assert "<table" not in large
        assert 'data-canvas="weights"' in large

    @given(st.lists(st.floats(0, 1), max_size=50))
    def test_two_decimals_are_pythons(self, numbers: list[float]) -> None:
        assert two_decimals(np.array(numbers)) == [f"{x:.2f}" for x in numbers]

    def test_two_decimals_next_to_a_half(self) -> None:
        numbers = np.array([k / 200 for k in range(201)] + [np.nextafter(k / 200, 2) for k in range(200)])
        assert two_decimals(numbers) == [f"{x:.2f}" for x in numbers]

    @given(st.lists(st.floats(allow_nan=False), max_size=20), st.integers(0, 6))
    def test_fixed_decimals_have_a_true_minus_and_no_negative_zero(
        self, numbers: list[float], decimals: int
    ) -> None:
        for x, text in zip(numbers, fixed(np.array(numbers), decimals), strict=True):
            assert "-" not in text
            if math.isfinite(x) and abs(x) < 1e15:
                plain = f"{x:.{decimals}f}"
                assert text == (
                    "0"
                    if float(plain) == 0 and decimals == 0
                    else plain.replace("-", "−")
                    if float(plain)
                    else plain.lstrip("-")
                )

    @given(st.lists(st.floats(), max_size=20))
    def test_shortest_is_repr(self, numbers: list[float]) -> None:
        assert shortest(np.array(numbers)) == [repr(x) for x in numbers]

    def test_nan_rows_are_shown_as_such(self) -> None:
        weights = np.array([[math.nan, math.nan], [0.25, 0.75]])
        html = heat_table(weights, np.ones((2, 2), bool), ["a", "b"], ["a", "b"], caption="c")
        assert cells_of(html)[0, 0][1] == "NaN"


class TestRow:
    def test_the_arithmetic_of_every_key(self) -> None:
        made = view(T="2")
        trace = made.slice_trace
        rows: dict[int, dict[str, tuple[str, str]]] = {}
        for attributes, text in Cells(heatmap.render(made)["heatmap-row"]).cells:
            key = rows.setdefault(int(attributes["data-j"] or 0), {})
            key[attributes["data-term"] or ""] = (attributes["data-value"] or "", text)
        i = heatmap.selected_row(made)
        assert len(rows) == 11
        for j, terms in rows.items():
            assert list(terms) == ["dot", "scaled", "tempered", "exp", "weight"]
            assert float(terms["dot"][0]) == trace.scores[i, j]
            assert terms["dot"][1] == f"{trace.scores[i, j]:.2f}".replace("-", "−")
            assert terms["scaled"][1] == f"{trace.scaled[i, j]:.3f}".replace("-", "−")
            if j <= i:
                assert terms["tempered"][1] == f"{trace.tempered[i, j]:.3f}".replace("-", "−")
                assert terms["exp"][1] == f"{trace.exponentials[i, j]:.4f}"
                assert terms["weight"][1] == f"{trace.weights[i, j]:.4f}"
                assert float(terms["weight"][0]) == trace.weights[i, j]
            else:
                assert [terms[t] for t in ("tempered", "exp", "weight")] == [
                    ("-inf", "masked"),
                    ("0.0", "0"),
                    ("0.0", "0"),
                ]

    def test_cards(self) -> None:
        html = heatmap.render(view())["heatmap-row"]
        cards = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", html))
        trace = view().slice_trace
        weights = trace.weights[8]
        entropy = -sum(a * math.log(a) for a in weights.tolist() if a > 0)
        assert cards == {
            "weight on the strongest key": f"{weights.max():.4f}",
            "√d": "5.657",
            "visible positions": "9",
            "softmax denominator": f"{trace.denominators[8]:.4f}",
            "entropy": f"{entropy:.4f}",
            "effective number of keys": f"{math.exp(entropy):.2f}",
        }

    def test_a_row_asked_for_is_opened_and_one_out_of_reach_is_the_last(self) -> None:
        assert "Inside row 2: “sat”" in heatmap.render(view(row="2"))["heatmap-row"]
        assert "Inside row 10: “tired”" in heatmap.render(view(row="99"))["heatmap-row"]

    def test_a_large_sentence_leaves_its_row_for_the_next_frame(self) -> None:
        made = view(words(100), row="7")
        assert "heatmap-row" not in heatmap.render(made)
        assert "Inside row 7: “word7”" in heatmap.render_row(made)["heatmap-row"]


class TestOtherSources:
    def test_typed_matrices_are_shown_without_words(self) -> None:
        made = view_of(State.from_fragment("lab=heatmap&q=1,0;0,1&k=1,0;0,1;1,1&v=1;2;3"))
        slots = heatmap.render(made)
        assert "<h3>Inside row 0: “q0”</h3>" in slots["heatmap-row"]
        assert slots["heatmap-chips"] == slots["heatmap-strip"] == ""
        assert len(cells_of(slots["heatmap-table"])) == 6

    def test_a_row_that_sees_nothing(self) -> None:
        made = view_of(State.from_fragment("lab=heatmap&text=a%20b&window=0,0&keep=0,0;0,1&d=8"))
        slots = heatmap.render(made)
        assert made.slice_trace.empty_rows[0]
        opened = heatmap.render(view_of(State.from_fragment("lab=heatmap&text=a%20b&d=8&keep=0,0;0,1&row=0")))
        assert "Every key is masked" in opened["heatmap-row"]
        assert cells_of(slots["heatmap-table"])[0, 0][1] == "–"


class TestText:
    def test_hostile_words_stay_text(self) -> None:
        made = view(HOSTILE)
        for html in (heatmap.render(made) | heatmap.render_row(made)).values():
            assert "<script" not in html
            assert "&amp;amp" not in html or "&amp;amp;" in html
        assert "&lt;" in heatmap.render(made)["heatmap-table"]
        assert "%s" not in heatmap.render(view("plain words"))["heatmap-table"]

    def test_percent_signs_in_words_reach_the_table(self) -> None:
        assert "0 %" in heatmap.render(view("% d"))["heatmap-table"]

    def test_a_word_of_5000_characters_is_cut_in_headers(self) -> None:
        html = heatmap.render(view("x" * 5000 + " cat"))["heatmap-table"]
        assert len(html) < 10_000
        assert f"{'0 ' + 'x' * 15}…" in html

    @pytest.mark.parametrize("text", ["", "   ", "\x00\x07", "word " * 10_000, words(257)])
    def test_text_that_cannot_be_shown_is_refused_with_a_sentence(self, text: str) -> None:
        start = time.perf_counter()
        with pytest.raises(LabError) as caught:
            view(text)
        assert caught.value.field == "text"
        assert str(caught.value).endswith(".")
        assert time.perf_counter() - start < 2

    def test_one_token(self) -> None:
        slots = heatmap.render(view("cat"))
        assert "1 token ·" in slots["heatmap-status"]
        assert cells_of(slots["heatmap-table"])[0, 0][1] == "1.00"
        assert "chip-remove" not in slots["heatmap-chips"]

    @pytest.mark.parametrize(("key", "value"), [("d", "7"), ("d", "513"), ("d", "4096")])
    def test_a_dimension_out_of_range(self, key: str, value: str) -> None:
        with pytest.raises(LabError, match=f"from 8 to 512; got {value}") as caught:
            view(**{key: value})
        assert caught.value.field == key

    def test_the_panel_follows_dimension_and_seed(self) -> None:
        panel = heatmap.render(view(d="256", seed="3"))["heatmap-real"]
        first, second = re.findall(r'data-d="(\d+)" data-value="(.*?)" data-verdict-word="(\w+)"', panel)
        assert first[0] == second[0] == "256"
        assert first[2] == "alike"
        assert f"score {float(first[1]):.2f} out of 256" in panel
        assert "compared at d = 64" in heatmap.render(view(d="32"))["heatmap-real"]

    @pytest.mark.parametrize(("t", "word"), [("1", "Neutral"), ("0.5", "Sharper"), ("3", "Flatter")])
    def test_temperature_in_words(self, t: str, word: str) -> None:
        assert heatmap.render(view(T=t))["heatmap-temperature"].startswith(word)


class TestSentence:
    def test_every_word_carries_its_weight_and_arrow_keys_reach_the_neighbours(self) -> None:
        html = heatmap.render(view(row="4"))["heatmap-strip"]
        weights = view().slice_trace.weights[4]
        found = re.findall(r'class="strip-word (\w+)" data-set="row=(\d+)".*?<small>(.*?)</small>', html)
        assert len(found) == 11
        for kind, j, text in found:
            if int(j) <= 4:
                assert (kind, text) == (f"w{shade(weights)[int(j)]}", f"{weights[int(j)]:.2f}")
            else:
                assert (kind, text) == ("masked", "masked")
        assert re.search(r'data-set="row=3"[^>]*data-key="ArrowLeft"', html)
        assert re.search(r'data-set="row=5"[^>]*data-key="ArrowRight"', html)

    def test_chips_fold_when_there_are_many(self) -> None:
        assert heatmap.render(view())["heatmap-chips"].count("data-chip=") == 11
        folded = heatmap.render(view(words(100)))["heatmap-chips"]
        assert "data-chip=" not in folded
        assert "100 tokens" in folded


class TestCompare:
    def test_nothing_without_a_second_setting(self) -> None:
        slots = heatmap.render(view())
        assert slots["heatmap-second"] == slots["heatmap-difference"] == ""
        assert 'data-set="compare=T%3D0.5"' in slots["heatmap-choices"]

    @pytest.mark.parametrize("compare", ["T=0.5", "positions=sinusoidal", "causal=", "scale=none", "d=64"])
    def test_both_settings_and_the_difference(self, compare: str) -> None:
        made = view(compare=compare)
        other = second_view(made)
        slots = heatmap.render(made)
        second = cells_of(slots["heatmap-second"])
        assert len(second) == 121
        for (i, j), (attributes, _) in second.items():
            assert float(attributes["data-value"] or "nan") == other.slice_trace.weights[i, j]
        i = heatmap.selected_row(made)
        change = {
            int(a["data-j"] or 0): (float(a["data-value"] or "nan"), text)
            for a, text in Cells(slots["heatmap-difference"]).cells
            if a["data-compare"] == "difference"
        }
        for j, (value, text) in change.items():
            expected = other.slice_trace.weights[i, j] - made.slice_trace.weights[i, j]
            assert value == expected
            assert float(text.replace("−", "-")) == pytest.approx(expected, abs=5e-5)

    def test_equal_settings_and_impossible_ones_are_said(self) -> None:
        assert "Both settings are the same" in heatmap.render(view(compare="T=1"))["heatmap-second"]
        assert "from 8 to 512; got 4" in heatmap.render(view(compare="d=4"))["heatmap-second"]

    def test_the_choices_differ_from_the_setting_they_stand_beside(self) -> None:
        html = heatmap.render(view(T="0.5", positions="sinusoidal", causal="", scale="none"))[
            "heatmap-choices"
        ]
        for value in ("T%3D1", "positions%3D", "causal%3Dtop-left", "scale%3Dsqrt_dk"):
            assert f'"compare={value}"' in html


class TestCanvas:
    def test_pixels_are_the_ramp_and_masked_cells_are_transparent(self) -> None:
        made = view(words(70))
        picture = heat_canvas.picture_of(made, "weights")
        image = heat_canvas.pixels(picture)
        assert image.shape == (70, 70, 4)
        assert np.array_equal(image[..., 3] == 255, made.slice_trace.mask)
        assert image[0, 0].tolist() == [254, 232, 56, 255]  # weight 1
        assert np.array_equal(picture.levels, shade(made.slice_trace.weights))

    @pytest.mark.parametrize(
        ("i", "j", "first", "last"),
        [(0, 0, (0, 0), (15, 15)), (69, 69, (54, 54), (69, 69)), (30, 40, (22, 32), (37, 47))],
    )
    def test_the_moving_table_shows_16_by_16_cells_around_the_cursor(
        self, i: int, j: int, first: tuple[int, int], last: tuple[int, int]
    ) -> None:
        made = view(words(70), causal="")
        picture = heat_canvas.picture_of(made, "weights")
        cells = cells_of(heat_canvas.neighbourhood(picture, i, j))
        assert len(cells) == 256
        assert (min(cells), max(cells)) == (first, last)
        for (row, column), (attributes, text) in cells.items():
            assert attributes["data-value"] == repr(float(made.slice_trace.weights[row, column]))
            assert text == f"{made.slice_trace.weights[row, column]:.2f}"

    def test_the_reading_line_has_the_exact_number(self) -> None:
        made = view(words(70))
        picture = heat_canvas.picture_of(made, "weights")
        assert heat_canvas.reading(picture, 9, 3).startswith("9 word9 → 3 word3: ")
        assert float(heat_canvas.reading(picture, 9, 3).split(": ")[1]) == made.slice_trace.weights[9, 3]
        assert heat_canvas.reading(picture, 3, 9) == "3 word3 → 9 word9: masked, exactly 0"

    def test_other_stages_are_drawn_from_their_smallest_to_their_largest_value(self) -> None:
        rng = np.random.default_rng(0)
        rows = ";".join(",".join(f"{x:.3f}" for x in row) for row in rng.normal(size=(80, 3)))
        made = view_of(State().with_values({"q": rows, "k": rows, "v": rows}))
        picture = heat_canvas.picture_of(made, "scores")
        scores = made.slice_trace.scores
        assert picture.levels[np.unravel_index(scores.argmin(), scores.shape)] == 0
        assert picture.levels[np.unravel_index(scores.argmax(), scores.shape)] == 64
        assert picture.rows[0] == "Q₁"
        with pytest.raises(LabError, match="no matrix “tempered”"):
            heat_canvas.picture_of(made, "tempered")


class TestFiles:
    def test_csv_reads_back_as_the_same_floats(self) -> None:
        made = view('a, "b" cat')
        rows = list(csv.reader(io.StringIO(export_csv(made))))
        assert rows[0] == ["query", "0 a", "1 ,", '2 "', "3 b", '4 "', "5 cat", "sum"]
        assert [row[0] for row in rows[1:]] == rows[0][1:-1]
        read = np.array([[float(x) for x in row[1:-1]] for row in rows[1:]])
        assert np.array_equal(read, made.slice_trace.weights)

    @pytest.mark.parametrize("text", [OPENING, HOSTILE, words(70), "a\ufffeb"])
    def test_svg_is_well_formed_and_complete(self, text: str) -> None:
        made = view(text)
        root = ElementTree.fromstring(export_svg(made))
        n = len(made.slice.key_labels or ())
        texts = [item.text for item in root.iter("{http://www.w3.org/2000/svg}text")]
        assert [t for t in texts if t in {f"{k / 10:g}" for k in range(11)}][-11:] == [
            f"{k / 10:g}" for k in range(11)
        ]
        if n <= 64:
            weights, mask = made.slice_trace.weights, made.slice_trace.mask
            numbers = [t for t in texts if t and re.fullmatch(r"\d\.\d\d|–", t)]
            expected = []
            for i in range(n):
                expected += [f"{weights[i, j]:.2f}" if mask[i, j] else "–" for j in range(n)] + ["1.00"]
            assert [t for t in numbers if t in set(expected)][: len(expected)] == expected
        assert "Attention weights" in (texts[0] or "")
