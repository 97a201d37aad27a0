"""The Heatmap in a real browser: table, row, sentence, chips, slider, canvas, comparison, files, hostile text."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Download, Page, expect

from attention_lab.compute import view_of
from attention_lab.render import heatmap
from attention_lab.state import State
from site_builder.paths import ROOT

OPENING = "the cat sat on the mat because the cat was tired"
PLAIN = ROOT / "tests" / "bench" / "plain_heatmap.html"
HEAT = '[data-lab-panel="heatmap"]'


def fragment(text: str = OPENING, **keys: str) -> str:
    pairs = {"lab": "heatmap", "text": text, "d": "32", "causal": "top-left", **keys}
    return "&".join(f"{key}={quote(value)}" for key, value in pairs.items() if value)


def words(count: int) -> str:
    return " ".join(f"word{i}" for i in range(count))


def weights(text: str = OPENING, **keys: str) -> np.ndarray:
    """The same state computed in CPython."""
    return view_of(State.from_fragment(fragment(text, **keys))).slice_trace.weights


def shown(page: Page, table: str = 'table[data-stage="weights"]') -> np.ndarray:
    """The weights on the page, by their exact attribute."""
    rows = page.evaluate(
        """(selector) => [...document.querySelectorAll(selector + ' tbody tr')].map(
            (row) => [...row.querySelectorAll('td[data-j]')].map((cell) => cell.dataset.value))""",
        f"{HEAT} {table}",
    )
    return np.array([[float(x) for x in row] for row in rows])


def check(page: Page, expected: np.ndarray, table: str = 'table[data-stage="weights"]') -> None:
    """The table holds these weights: zeros exactly, the rest to the last bits in which libm's exp, sin and cos differ."""
    found = shown(page, table)
    assert np.array_equal(found == 0, expected == 0)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=0)


def frames(page: Page, count: int = 3) -> None:
    page.evaluate(
        f"(async () => {{ for (let i = 0; i < {count}; i++) await new Promise(requestAnimationFrame); }})()"
    )


def type_sentence(page: Page, text: str) -> None:
    page.locator("#sentence").fill(text)
    frames(page)


class TestOpening:
    def test_what_a_reader_meets(self, lab) -> None:
        lab.open("lab=heatmap")
        page = lab.page
        expect(page.locator("#sentence")).to_have_value(OPENING)
        expect(page.locator(".heat-status")).to_have_text("11 tokens · d = 32 · √d = 5.657")
        expect(page.locator(".heat-formula")).to_contain_text("softmax(qᵢ·kⱼ / (√d × T))")
        assert (page.input_value("#T"), page.input_value("#d")) == ("1", "32")
        assert page.is_checked("#causal")
        assert page.is_checked("#scale")
        assert not page.is_checked("#positions")
        check(page, weights())
        expect(page.locator(f"{HEAT} h3").first).to_have_text("Inside row 8: “cat”")
        expect(page.locator(f"{HEAT} thead th").nth(8)).to_have_text("8 cat")
        expect(page.locator(".heat-scale span")).to_have_text([f"{k / 10:g}" for k in range(11)])

    def test_it_is_there_before_python(self, lab, fresh_page: Callable, site: str) -> None:
        early = fresh_page(site).page
        early.route("**/pyscript/**", lambda route: route.abort())
        early.goto(f"{site}#lab=heatmap")
        check(early, weights())
        expect(early.locator(f"{HEAT} h3").first).to_be_visible()
        expect(early.locator("#sentence")).to_have_value(OPENING)
        assert early.is_checked("#causal")
        drawn = early.locator(f"{HEAT} table[data-row-trace]").inner_html()
        early.goto(f"{site}#lab=heatmap&text=other%20words")
        early.reload()
        expect(early.locator(f"{HEAT} h3")).to_have_count(0)
        lab.open("lab=heatmap")
        assert drawn == lab.page.locator(f"{HEAT} table[data-row-trace]").inner_html()

    def test_masked_cells_are_a_dash_with_a_pattern_and_exactly_zero(self, lab) -> None:
        lab.open("lab=heatmap")
        cell = lab.page.locator(f'{HEAT} table[data-stage="weights"] td[data-i="0"][data-j="5"]')
        expect(cell).to_have_text("–")
        assert cell.get_attribute("data-value") == "0.0"
        assert "gradient" in cell.evaluate("(e) => getComputedStyle(e).backgroundImage")

    def test_headers_stay_in_view_while_the_table_scrolls(self, lab) -> None:
        lab.open(fragment(words(64)))
        places = lab.page.evaluate(
            """() => { const box = document.querySelector('.heat-scroll'); box.scrollTo(600, 700);
                const at = (s) => document.querySelector('.heat-scroll ' + s).getBoundingClientRect();
                const frame = box.getBoundingClientRect();
                return [at('thead th').top - frame.top, at('tbody tr:last-child th').left - frame.left,
                        box.scrollTop, box.scrollLeft]; }"""
        )
        assert places[0] <= 2 and places[1] <= 2
        assert places[2] > 0 and places[3] > 0

    def test_the_whole_lab_works_from_disk(self, single_file) -> None:
        single_file.open("lab=heatmap")
        check(single_file.page, weights())


class TestControls:
    @pytest.mark.parametrize(
        ("box", "keys"),
        [
            ("causal", {"causal": ""}),
            ("positions", {"positions": "sinusoidal"}),
            ("scale", {"scale": "none"}),
        ],
    )
    def test_switches_are_live(self, lab, box: str, keys: dict[str, str]) -> None:
        lab.open("lab=heatmap")
        lab.page.locator(f"#{box}").click()
        frames(lab.page)
        check(lab.page, weights(**keys))

    def test_typing_is_live(self, lab) -> None:
        lab.open("lab=heatmap")
        for text in (
            "naïve café, 東京!",
            "שלום עולם",
            "👩\u200d👩\u200d👧\u200d👦 and 👍🏽",
            "cafe\u0301 café",
        ):
            type_sentence(lab.page, text)
            check(lab.page, weights(text))

    def test_dimension_and_seed_are_live(self, lab) -> None:
        lab.open("lab=heatmap")
        lab.page.fill("#d", "64")
        lab.page.fill("#seed", "7")
        frames(lab.page)
        check(lab.page, weights(d="64", seed="7"))
        expect(lab.page.locator('[data-slot="heatmap-inverse"]')).to_have_text("1/√d = 0.1250")

    def test_the_slider_is_logarithmic_and_snaps_to_neutral(self, lab) -> None:
        lab.open("lab=heatmap")
        page = lab.page
        slide = "(x) => { const s = document.getElementById('T-slider'); s.value = x; s.dispatchEvent(new Event('input', {bubbles: true})); }"
        for decades, t, word in (
            ("-2", "0.01", "Sharper"),
            ("1", "10", "Flatter"),
            ("2", "100", "Flatter"),
            ("0.02", "1", "Neutral"),
        ):
            page.evaluate(slide, decades)
            frames(page)
            assert page.input_value("#T") == t
            check(page, weights(T=t))
            expect(page.locator("#T-words")).to_contain_text(word)
        page.fill("#T", "0.1")
        frames(page)
        assert float(page.input_value("#T-slider")) == pytest.approx(-1)

    def test_the_state_is_in_the_link(self, lab) -> None:
        lab.open("lab=heatmap")
        lab.page.fill("#T", "0.5")
        lab.page.locator(f'{HEAT} .row-name[data-set="row=4"]').click()
        lab.page.wait_for_function("location.hash.includes('row=4') && location.hash.includes('T=0.5')")


class TestRow:
    def test_clicking_a_header_opens_its_arithmetic(self, lab) -> None:
        lab.open("lab=heatmap")
        page = lab.page
        page.locator(f'{HEAT} table[data-stage="weights"] .row-name[data-set="row=5"]').click()
        frames(page)
        expect(page.locator(f"{HEAT} h3").first).to_have_text("Inside row 5: “mat”")
        head = page.locator(f"{HEAT} table[data-row-trace] thead th").all_inner_texts()
        assert head == ["Key", "q·k", "÷√d", "÷T", "exp (shifted)", "weight"]
        cells = page.locator(f'{HEAT} table[data-row-trace] td[data-term="weight"]')
        assert [
            float(x) for x in cells.evaluate_all("(all) => all.map((e) => e.dataset.value)")
        ] == pytest.approx(weights()[5].tolist(), rel=1e-12)
        masked = page.locator(f"{HEAT} table[data-row-trace] tr:last-child td").all_inner_texts()
        assert masked[2:] == ["masked", "0", "0"]
        assert page.locator(f"{HEAT} tr.selected").count() == 1

    def test_pointing_at_a_cell_shows_its_formula(self, lab) -> None:
        lab.open("lab=heatmap")
        lab.page.locator(f'{HEAT} table[data-stage="weights"] td[data-i="8"][data-j="1"]').hover()
        expect(lab.page.locator(f"{HEAT} .cell-formula")).to_contain_text("A₈")
        expect(lab.page.locator(f"{HEAT} .cell-formula")).to_contain_text("e^(")

    def test_arrow_keys_move_through_the_sentence(self, lab) -> None:
        lab.open(fragment(row="3"))
        page = lab.page
        page.locator('.strip [aria-current="true"]').focus()
        for key, name in (("ArrowRight", "4: “the”"), ("ArrowRight", "5: “mat”"), ("ArrowLeft", "4: “the”")):
            page.keyboard.press(key)
            frames(page)
            expect(page.locator(f"{HEAT} h3").first).to_have_text(f"Inside row {name}")
        assert page.evaluate("document.activeElement.getAttribute('aria-current')") == "true"

    def test_the_strip_carries_the_rows_weights(self, lab) -> None:
        lab.open(fragment(row="10"))
        texts = lab.page.locator(".strip-word small").all_inner_texts()
        assert texts == [f"{a:.2f}" for a in weights()[10]]


class TestChips:
    def test_removing_and_moving(self, lab) -> None:
        lab.open("lab=heatmap")
        page = lab.page
        page.locator('.chip-remove[data-index="0"]').click()
        frames(page)
        expect(page.locator("#sentence")).to_have_value("cat sat on the mat because the cat was tired")
        page.locator('[data-chip="1"]').click()
        frames(page)
        page.get_by_role("button", name="Move right").click()
        frames(page)
        expect(page.locator("#sentence")).to_have_value("cat on sat the mat because the cat was tired")
        assert page.evaluate("document.activeElement.dataset.chip") == "2"
        page.keyboard.press("Alt+ArrowLeft")
        frames(page)
        expect(page.locator("#sentence")).to_have_value("cat sat on the mat because the cat was tired")
        page.keyboard.press("Delete")
        frames(page)
        expect(page.locator("#sentence")).to_have_value("cat on the mat because the cat was tired")
        check(page, weights("cat on the mat because the cat was tired"))

    def test_dragging_a_chip_onto_another(self, lab) -> None:
        lab.open("lab=heatmap")
        lab.page.locator('[data-chip="10"]').drag_to(lab.page.locator('[data-chip="0"]'))
        frames(lab.page)
        expect(lab.page.locator("#sentence")).to_have_value(
            "tired the cat sat on the mat because the cat was"
        )

    def test_a_folded_list_fills_when_opened(self, lab) -> None:
        lab.open(fragment(words(80)))
        assert lab.page.locator("[data-chip]").count() == 0
        lab.page.locator("details.chips > summary").click()
        assert lab.page.locator("[data-chip]").count() == 80
        lab.page.locator('.chip-remove[data-index="79"]').click()
        frames(lab.page)
        expect(lab.page.locator("#sentence")).to_have_value(words(79))
        assert lab.page.locator("[data-chip]").count() == 79
        lab.page.locator("details.chips > summary").click()  # the page remembers how it was left


class TestCanvas:
    def test_no_number_is_out_of_reach(self, lab) -> None:
        text, expected = words(256), weights(words(256))
        lab.open(fragment(text))
        page = lab.page
        frames(page)
        assert page.locator(f"{HEAT} canvas").count() == 1
        page.locator(f"{HEAT} canvas").focus()
        page.keyboard.press("Home")
        for _ in range(16):
            page.keyboard.press("PageUp")
        frames(page)
        seen: dict[tuple[int, int], float] = {}
        for step in range(3):
            for i, j, value in page.evaluate(
                f"""[...document.querySelectorAll('{HEAT} [data-window] td[data-i]')].map(
                    (e) => [+e.dataset.i, +e.dataset.j, +e.dataset.value])"""
            ):
                seen[i, j] = value
            if step == 0:
                page.keyboard.press("End")
            else:
                for _ in range(16):
                    page.keyboard.press("PageDown")
            frames(page)
        assert {(0, 0), (15, 255), (255, 255)} <= set(seen)
        assert all(value == pytest.approx(expected[place], rel=1e-12) for place, value in seen.items())
        words_of_cell, _, number = page.locator(".canvas-reading").inner_text().partition(": ")
        assert words_of_cell == "255 word255 → 255 word255"
        assert float(number) == seen[255, 255]

    def test_the_pointer_moves_the_table_and_a_click_opens_the_row(self, lab) -> None:
        lab.open(fragment(words(100)))
        page = lab.page
        frames(page)
        canvas = page.locator(f"{HEAT} canvas")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        assert box
        gutter = 36
        cell = (box["width"] - gutter) / 100
        page.mouse.move(box["x"] + gutter + 20.5 * cell, box["y"] + gutter + 60.5 * cell)
        frames(page)
        expect(page.locator(".canvas-reading")).to_contain_text("60 word60 → 20 word20")
        page.mouse.down()
        page.mouse.up()
        frames(page, 5)
        expect(page.locator(f"{HEAT} h3").first).to_have_text("Inside row 60: “word60”")

    @pytest.mark.parametrize("density", [1, 2, 3])
    def test_pixels_are_the_ramp_at_whole_cells(self, lab, density: int) -> None:
        """However many pixels a point has, a cell is a whole number of them and its colour fills it up to its edges."""
        screen = lab.page.context.new_cdp_session(lab.page)
        metrics = {"width": 1280, "height": 900, "deviceScaleFactor": density, "mobile": False}
        screen.send("Emulation.setDeviceMetricsOverride", metrics)
        lab.open(fragment(words(100), causal="", d="64"))
        frames(lab.page)
        assert lab.page.evaluate("devicePixelRatio") == density
        found = lab.page.evaluate(
            f"""() => {{ const c = document.querySelector('{HEAT} canvas'); const gutter = Math.round(36 * devicePixelRatio);
                const side = (c.width - gutter) / 100; const pen = c.getContext('2d');
                const at = (x, y) => [...pen.getImageData(x, y, 1, 1).data].join();
                const probes = [];
                for (const [i, j] of [[40, 7], [41, 90], [90, 41], [99, 99]]) {{
                    const x = gutter + j * side, y = gutter + i * side;
                    probes.push([i, j, at(x + 1, y + 1), at(x + side - 2, y + side - 2), at(x + side / 2, y + side / 2)]);
                }}
                return [side, probes]; }}"""
        )
        from attention_lab.render import cividis
        from attention_lab.render.html import shade

        side, probes = found
        levels = shade(weights(words(100), causal="", d="64"))
        assert side == int(side)
        for i, j, *colours in probes:
            expected = ",".join(map(str, (*cividis.colour(levels[i, j] / cividis.LEVELS), 255)))
            assert colours == [expected] * 3
        screen.send("Emulation.clearDeviceMetricsOverride")
        screen.detach()

    def test_zoom_by_keys_and_pan_by_dragging(self, lab) -> None:
        lab.open(fragment(words(100)))
        page = lab.page
        frames(page)
        canvas = page.locator(f"{HEAT} canvas")
        before = canvas.evaluate("(c) => c.toDataURL()")
        canvas.focus()
        for _ in range(6):
            page.keyboard.press("+")
        frames(page)
        zoomed = canvas.evaluate("(c) => c.toDataURL()")
        assert zoomed != before
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        assert box
        page.mouse.move(box["x"] + 200, box["y"] + 200)
        page.mouse.down()
        page.mouse.move(box["x"] + 260, box["y"] + 300, steps=4)
        page.mouse.up()
        frames(page)
        assert canvas.evaluate("(c) => c.toDataURL()") != zoomed
        page.get_by_role("button", name="Whole picture").click()
        page.mouse.move(0, 0)
        canvas.focus()
        page.keyboard.press("Home")
        frames(page)

    def test_arrow_keys_on_the_canvas_do_not_change_the_token(self, lab) -> None:
        lab.open(fragment(words(100), row="50"))
        page = lab.page
        frames(page, 5)
        page.locator(f"{HEAT} canvas").focus()
        page.keyboard.press("ArrowRight")
        frames(page, 5)
        expect(page.locator(f"{HEAT} h3").first).to_have_text("Inside row 50: “word50”")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        frames(page, 5)
        expect(page.locator(f"{HEAT} h3").first).to_have_text("Inside row 51: “word51”")

    def test_large_matrices_of_the_calculator_use_it_too(self, lab) -> None:
        rng = np.random.default_rng(1)
        rows = ";".join(",".join(f"{x:.2f}" for x in row) for row in rng.normal(size=(80, 2)))
        lab.open(f"q={rows}&k={rows}&v={rows}")
        frames(lab.page)
        assert lab.page.locator('[data-lab-panel="calculator"] [data-canvas="weights"] canvas').count() == 1
        cell = lab.page.locator(
            '[data-lab-panel="calculator"] [data-window="scores"] td[data-i="0"][data-j="0"]'
        )
        trace = view_of(State.from_fragment(f"q={rows}&k={rows}&v={rows}")).slice_trace
        assert float(cell.get_attribute("data-value") or "nan") == trace.scores[0, 0]


class TestCompare:
    def test_two_settings_side_by_side(self, lab) -> None:
        lab.open("lab=heatmap")
        page = lab.page
        page.get_by_role("button", name="T = 0.5").click()
        frames(page)
        check(page, weights())
        check(page, weights(T="0.5"), 'table[data-second="weights"]')
        change = page.locator('[data-compare="difference"]').evaluate_all(
            "(all) => all.map((e) => +e.dataset.value)"
        )
        assert change == pytest.approx((weights(T="0.5")[8] - weights()[8]).tolist(), abs=1e-14)
        boxes = page.evaluate(
            "[...document.querySelectorAll('.heat-pair > div')].map((e) => e.getBoundingClientRect()).map((r) => [r.left, r.top])"
        )
        assert boxes[0][1] == boxes[1][1] and boxes[0][0] < boxes[1][0]
        page.get_by_role("button", name="Stop comparing").click()
        frames(page)
        assert page.locator('table[data-second="weights"]').count() == 0


class TestFiles:
    def save(self, page: Page, kind: str) -> Download:
        with page.expect_download() as download:
            page.locator(f'[data-export="{kind}"]').click()
        return download.value

    def test_csv_has_the_numbers_of_the_screen(self, lab) -> None:
        lab.open(fragment('a, "b" cat'))
        text = Path(self.save(lab.page, "csv").path()).read_bytes().decode()
        rows = list(csv.reader(io.StringIO(text)))
        assert np.array_equal(np.array([[float(x) for x in row[1:-1]] for row in rows[1:]]), shown(lab.page))

    def test_svg_and_png(self, lab) -> None:
        lab.open("lab=heatmap")
        svg = Path(self.save(lab.page, "svg").path()).read_text(encoding="utf-8")
        assert svg.startswith("<svg") and "8 cat" in svg and ">0.45<" in svg
        download = self.save(lab.page, "png")
        assert download.suggested_filename == "attention-heatmap.png"
        data = Path(download.path()).read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
        assert width > 800 and height > 800
        assert len(data) > 10_000


class TestBadInput:
    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("", "There is no word to attend to: expected at least one token, got 0."),
            ("   ", "There is no word to attend to: expected at least one token, got 0."),
            (
                "word " * 10_000,
                "This text has 10,000 tokens; the lab takes at most 256. Shorten it by 9,744.",
            ),
            (words(257), "This text has 257 tokens; the lab takes at most 256. Shorten it by 1."),
        ],
    )
    def test_a_sentence_of_ours_answers(self, lab, text: str, sentence: str) -> None:
        lab.open("lab=heatmap")
        type_sentence(lab.page, text)
        expect(lab.page.locator("#sentence-error")).to_have_text(sentence)
        type_sentence(lab.page, "all well again")
        expect(lab.page.locator("#sentence-error")).to_be_hidden()

    def test_a_word_of_5000_characters(self, lab) -> None:
        lab.open("lab=heatmap")
        type_sentence(lab.page, "x" * 5000 + " cat")
        expect(lab.page.locator(".heat-status")).to_contain_text("2 tokens")
        assert lab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    def test_markup_is_text(self, lab) -> None:
        lab.open("lab=heatmap")
        text = '<script>window.broken = 1</script><img src=x onerror="window.broken = 1"> & done'
        type_sentence(lab.page, text)
        check(lab.page, weights(text))
        assert lab.page.evaluate("window.broken") is None
        expect(lab.page.locator(f"{HEAT} thead th").nth(1)).to_have_text("1 script")

    def test_control_characters(self, lab) -> None:
        lab.open(fragment("a\x07b \x1b[31mred\x00"))
        status = lab.page.locator(".heat-status").inner_text()
        assert status == "3 tokens · d = 32 · √d = 5.657 · 3 control characters left out"


class TestLook:
    def test_no_sideways_scrolling_on_a_phone(self, lab) -> None:
        lab.page.set_viewport_size({"width": 390, "height": 844})
        for state in (fragment(), fragment(compare="T=0.5"), fragment(words(64)), fragment(words(120))):
            lab.open(state)
            frames(lab.page, 5)
            assert lab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    def test_an_edit_keeps_the_tables_scroll_position(self, lab) -> None:
        lab.open(fragment(words(60)))
        page = lab.page
        page.evaluate("document.querySelector('.heat-scroll').scrollTo(300, 200)")
        type_sentence(page, words(59) + " edited")
        assert page.evaluate(
            "[document.querySelector('.heat-scroll').scrollLeft, document.querySelector('.heat-scroll').scrollTop]"
        ) == [300, 200]
        check(page, weights(words(59) + " edited"))

    def test_many_edits_leave_exactly_the_last_state(self, lab) -> None:
        """Slots are patched, not rewritten: after a tour through many shapes the page must equal a fresh drawing."""
        lab.open("lab=heatmap")
        page = lab.page
        for text in ("a", "a b c", OPENING, words(70), "x" * 40 + " y", words(30), "one two", OPENING):
            type_sentence(page, text)
        frames(page, 5)
        made = view_of(State.from_fragment(fragment()))
        for name, html in (heatmap.render(made) | heatmap.render_row(made)).items():
            differs = page.evaluate(
                """([name, html]) => {
                    const plain = (e) => { for (const x of e.querySelectorAll('[aria-pressed], .selected')) {
                        x.removeAttribute('aria-pressed'); x.classList.remove('selected');
                        if (!x.className) x.removeAttribute('class'); }
                        for (const x of e.querySelectorAll('details')) x.open = true;
                        // exp and the like may differ in the last bit between machines
                        for (const x of e.querySelectorAll('[data-value]'))
                            x.dataset.value = Number(x.dataset.value.replace('inf', 'Infinity')).toPrecision(10);
                        for (const x of e.querySelectorAll('[data-sum]')) x.dataset.sum = Number(x.dataset.sum).toPrecision(10);
                        return e; };
                    const old = document.querySelector(`[data-slot="${name}"]`).cloneNode(true);
                    const fresh = old.cloneNode(false); fresh.innerHTML = html;
                    if (plain(old).isEqualNode(plain(fresh))) return '';
                    const [a, b] = [old, fresh].map((e) => [...e.querySelectorAll('*')]);
                    const at = a.findIndex((e, i) => !b[i] || !e.cloneNode(false).isEqualNode(b[i].cloneNode(false)));
                    return `${a[at]?.outerHTML.slice(0, 200)} | ${b[at]?.outerHTML.slice(0, 200)}`; }""",
                [name, html],
            )
            assert differs == "", name


def test_chips_of_an_older_sentence_change_nothing(lab) -> None:
    """The labels do not fit the shorter sentence, so the old result and its chips stay, marked as old."""
    lab.open(fragment("one two three") + "&labels=a,b,c")
    type_sentence(lab.page, "four")
    expect(lab.page.locator('[data-error-for="labels"]')).to_be_visible()
    lab.page.evaluate("document.querySelector('details.chips').open = true")
    lab.page.locator('.chip-remove[data-index="2"]').click()
    expect(lab.page.locator("#notes span")).to_have_text(
        ["These tokens are those of an older sentence: mend the inputs first."]
    )
    assert lab.page.input_value("#sentence") == "four"
    lab.watch.check()


def test_no_file_of_an_older_sentence(lab) -> None:
    lab.open(fragment("one two three"))
    type_sentence(lab.page, "four five")
    type_sentence(lab.page, "")
    files: list[Download] = []
    lab.page.on("download", lambda file: files.append(file))
    for kind in ("csv", "svg", "png"):
        lab.page.locator(f'[data-export="{kind}"]').click()
    expect(
        lab.page.locator('[data-error-for="link"], #notes').filter(has_text="There is no result")
    ).to_have_count(1)
    lab.page.wait_for_timeout(300)
    assert files == []


@pytest.mark.parametrize("count", [11, 64, 256])
def test_the_plain_page_of_the_bench_does_the_same_work(fresh_page: Callable, site: str, count: int) -> None:
    """`build.py bench` times an edited sentence beside it; that is fair only if it draws as much."""
    plain = fresh_page(site).page
    plain.goto(site.rstrip("/") + "/NOTICES.html")
    plain.set_content(PLAIN.read_text(encoding="utf-8").replace("./static/", "./"))
    type_sentence(plain, words(count))
    size = min(count, 16) if count > 64 else count
    drawn = plain.evaluate("document.querySelectorAll('#table td[data-j]').length")
    assert drawn == size**2
    assert plain.evaluate("document.querySelectorAll('#row tbody tr').length") == count
    assert plain.evaluate("document.querySelectorAll('#strip button').length") == count
    assert plain.evaluate("document.querySelectorAll('canvas').length") == (count > 64)
