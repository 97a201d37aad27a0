"""A real head in a real browser: fetched when asked for, checked, kept, cancelled, taken up again; and its numbers.

Its speed and memory are measured by the bench (py/site_builder/bench/head.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Frame, Page, Route, expect

from attention_lab.compute import view_of
from attention_lab.model.encoder import Current
from attention_lab.model.folder import load_folder
from attention_lab.state import State
from site_builder.serve import Handler, Server, background, running

HEAT = '[data-lab-panel="heatmap"]'
LOADED = 60_000


def fragment(
    text: str = "the cat sat because it was tired", layer: int = 0, head: int = 0, **keys: str
) -> str:
    pairs = {
        "lab": "heatmap",
        "text": text,
        "model": "minilm",
        "layer": str(layer),
        "modelhead": str(head),
        **keys,
    }
    return "&".join(f"{key}={quote(value)}" for key, value in pairs.items())


def phase(page: Page, name: str) -> None:
    page.wait_for_function(f"document.documentElement.dataset.model === '{name}'", timeout=LOADED)


def shown(page: Page, table: str = 'table[data-stage="weights"]') -> np.ndarray:
    rows = page.evaluate(
        """(selector) => [...document.querySelectorAll(selector + ' tbody tr')].map(
            (row) => [...row.querySelectorAll('td[data-j]')].map((cell) => cell.dataset.value))""",
        f"{HEAT} {table}",
    )
    return np.array([[float(x) for x in row] for row in rows])


@pytest.fixture(scope="module", autouse=True)
def same_in_cpython(dist: Path) -> Iterator[None]:
    """The same pack in CPython, for the numbers to be compared with; the tests that need none run without it."""
    folder = dist / "models" / "minilm"
    Current.encoder = load_folder(folder) if folder.is_dir() else None
    expect.set_options(timeout=20_000)  # a sentence may take seconds on a machine that others use too
    yield
    expect.set_options(timeout=5_000)
    Current.encoder = None


@pytest.fixture(scope="module")
def with_model(browser: Browser, site: str) -> Iterator[Page]:
    """A page of its own in which the model is loaded."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, service_workers="block")
    page = context.new_page()
    page.goto(f"{site}#lab=heatmap")
    page.wait_for_function("document.documentElement.dataset.python === 'ready'", timeout=90_000)
    page.select_option("#model", "minilm")
    phase(page, "ready")
    yield page
    context.close()


def go(page: Page, state: str) -> None:
    page.evaluate(
        """async (hash) => { location.hash = hash;
            for (let i = 0; i < 4; i++) await new Promise(requestAnimationFrame); }""",
        f"#{state}",
    )


@pytest.mark.needs_model
class TestNumbers:
    @pytest.mark.parametrize(("layer", "head"), [(0, 2), (3, 7), (5, 11)])
    def test_the_weights_are_those_of_cpython(self, with_model: Page, layer: int, head: int) -> None:
        state = fragment(layer=layer, head=head)
        go(with_model, state)
        expect(with_model.locator(".heat-status")).to_contain_text(
            f"layer {layer}, head {head} · 9 pieces · d = 32"
        )
        expected = view_of(State.from_fragment(state)).slice_trace.weights
        np.testing.assert_allclose(shown(with_model), expected, rtol=1e-7, atol=1e-12)

    def test_choosing_another_head(self, with_model: Page) -> None:
        go(with_model, fragment())
        with_model.locator('.heads [data-layer="5"][data-head="11"]').wait_for()
        assert with_model.locator(".heads button").count() == 72
        with_model.locator('.heads [data-layer="1"][data-head="8"] button').click()
        expect(with_model.locator(".heat-status")).to_contain_text("layer 1, head 8")
        name = (
            with_model.locator('.heads [data-layer="1"][data-head="8"] button').get_attribute("aria-label")
            or ""
        )
        assert name.startswith("Layer 1, head 8: ") and name[-4:].replace(".", "").isdigit()

    def test_the_head_goes_into_the_other_labs(self, with_model: Page) -> None:
        state = State.from_fragment(fragment(layer=2, head=3))
        expected = view_of(state).slice_trace
        go(with_model, fragment(layer=2, head=3))
        with_model.locator('.carry [data-set^="lab=calculator"]').click()
        expect(
            with_model.locator('[data-lab-panel="calculator"] table[data-stage="weights"] th').first
        ).to_contain_text("[CLS]")
        found = with_model.locator(
            '[data-lab-panel="calculator"] table[data-stage="output"] td[data-i="2"][data-j="5"]'
        ).get_attribute("data-value")
        assert float(found or "nan") == pytest.approx(float(expected.output[2, 5]), rel=1e-7)
        with_model.locator('.carry [data-set^="lab=walkthrough"]').click()
        with_model.wait_for_function("Number(document.documentElement.dataset.steps) > 9 * 9")
        with_model.locator('.carry [data-set^="lab=check"]').click()
        expect(with_model.locator('[data-slot="check-inputs"]')).to_contain_text("[CLS]")

    def test_the_way_back_from_a_query(self, with_model: Page) -> None:
        go(with_model, fragment(layer=1, head=4, row="2"))
        with_model.locator('[data-query="7"]').click()
        expect(with_model.locator("[data-origin-terms] tbody tr")).to_have_count(384)
        value = float(with_model.locator('[data-query="7"]').get_attribute("data-value") or "nan")
        products = with_model.evaluate(
            "[...document.querySelectorAll('[data-origin-terms] tbody td:last-child')].map((cell) => Number(cell.dataset.value))"
        )
        assert Current.encoder is not None
        bias = Current.encoder.layers[1].query.bias[4 * 32 + 7]
        assert sum(products) + bias == pytest.approx(value, abs=1e-9)

    def test_two_sentences_and_spelling_beside_the_head(self, with_model: Page) -> None:
        go(with_model, fragment(layer=4, head=5))
        with_model.get_by_role("button", name="this head on").click()
        expect(with_model.locator("[data-difference]")).to_be_visible()
        second = State.from_fragment(fragment("The cat sat because it was flat.", 4, 5))
        np.testing.assert_allclose(
            shown(with_model, 'table[data-second="weights"]'),
            view_of(second).slice_trace.weights,
            rtol=1e-7,
            atol=1e-12,
        )
        with_model.locator('.heads [data-layer="2"][data-head="1"] button').click()
        expect(with_model.locator("table[data-second] caption")).to_contain_text("layer 2, head 1")
        with_model.get_by_role("button", name="spelling vectors, same sentence").click()
        expect(with_model.locator('[data-slot="heatmap-second"]')).to_contain_text("different tokens")

    def test_special_pieces_are_left_out_of_view(self, with_model: Page) -> None:
        go(with_model, fragment())
        corner = with_model.locator(f'{HEAT} td[data-i="0"][data-j="0"]')
        expect(corner).to_be_visible()
        whole = shown(with_model)
        with_model.get_by_role("button", name="Leave out [CLS] and [SEP]").click()
        expect(corner).to_have_count(0)
        np.testing.assert_array_equal(shown(with_model), whole[1:-1, 1:-1])
        sums = with_model.locator(f'{HEAT} table[data-stage="weights"] [data-sum]').evaluate_all(
            "(cells) => cells.map((cell) => Number(cell.dataset.sum))"
        )
        np.testing.assert_allclose(sums, 1)
        with_model.locator(f'{HEAT} td[tabindex="0"]').first.focus()
        with_model.keyboard.press("ArrowDown")
        with_model.keyboard.press("ArrowLeft")  # there is no column to the left
        assert with_model.evaluate(
            "[document.activeElement.dataset.i, document.activeElement.dataset.j]"
        ) == [
            "2",
            "1",
        ]
        with_model.get_by_role("button", name="Show [CLS] and [SEP]").click()
        expect(corner).to_be_visible()

    def test_special_pieces_are_left_out_of_the_canvas(self, with_model: Page) -> None:
        """Above 64 pieces: the first row of the canvas is the first word, and Enter opens that word's row."""
        go(with_model, fragment("cat " * 40 + "dog " * 30, 2, 1, special="hide"))
        canvas = with_model.locator(f"{HEAT} canvas")
        expect(canvas).to_have_attribute(
            "aria-label", re.compile("^Heatmap of 70 rows and 70 columns"), timeout=30_000
        )
        canvas.focus()
        for key in ("Home", *["PageUp"] * 5, "ArrowDown", "Enter"):
            canvas.press(key)
        expect(with_model.locator(f"{HEAT} table[data-row-trace]")).to_have_attribute("data-i", "2")
        expect(with_model.locator(f"{HEAT} .canvas-reading")).to_contain_text("2 cat → 1 cat: ")
        expect(with_model.locator(f"{HEAT} [data-left-out]")).to_contain_text("71 [SEP]")

    def test_files_without_and_with_the_special_pieces(self, with_model: Page) -> None:
        go(with_model, fragment(special="hide"))
        saved = {}
        for kind in ("svg", "csv"):
            with with_model.expect_download() as download:
                with_model.locator(f'[data-export="{kind}"]').click()
            saved[kind] = Path(str(download.value.path())).read_bytes().decode()
        assert "[CLS] and [SEP] not shown" in saved["svg"] and ">0 [CLS]<" not in saved["svg"]
        assert saved["csv"].startswith("query,0 [CLS],1 the") and saved["csv"].count("\r\n") == 10
        with with_model.expect_download() as download:
            with_model.locator('[data-export="png"]').click()
        assert Path(str(download.value.path())).read_bytes().startswith(b"\x89PNG")

    def test_a_long_sentence_leaves_the_page_its_turns(self, with_model: Page) -> None:
        """128 pieces: between the slices the page's own timers run, and it says how far the work is."""
        go(with_model, fragment("short", 5, 0))
        turns, words = with_model.evaluate(
            """async (hash) => {
                let turns = 0;
                const words = new Set();
                const timer = setInterval(() => {
                    turns++;
                    const note = document.getElementById("stale-note");
                    if (!note.hidden) words.add(note.textContent);
                }, 1);
                location.hash = hash;
                const there = () => document.querySelector(".heat-status")?.textContent.includes("128 pieces");
                for (let i = 0; i < 2000 && !there(); i++) await new Promise((done) => setTimeout(done, 10));
                clearInterval(timer);
                return [turns, [...words]]; }""",
            "#" + fragment("bird " * 126, 5, 0),
        )
        assert turns >= 25
        assert any("layers for 128 pieces" in text and "the one before" in text for text in words)
        expect(with_model.locator("#stale-note")).to_be_hidden()

    def test_work_on_a_sentence_that_is_gone_is_dropped(self, with_model: Page) -> None:
        go(with_model, fragment("short", 5, 0))
        done = with_model.evaluate(
            """async ([long, short]) => {
                location.hash = long;
                await new Promise((done) => setTimeout(done, 60));
                location.hash = short;
                const there = () => document.querySelector(".heat-status")?.textContent.includes(" 4 pieces");
                for (let i = 0; i < 2000 && !there(); i++) await new Promise((done) => setTimeout(done, 10));
                await new Promise((done) => setTimeout(done, 300));
                const { loadPyodide } = await import(new URL("./runtime.mjs", location.href).href);
                const python = await loadPyodide({});
                return python.runPython(`
from attention_lab.model.encoder import Current
len(Current.encoder.pass_of("fish " * 125 + "fish").done)`); }""",
            ["#" + fragment("fish " * 125 + "fish", 5, 0), "#" + fragment("two words", 5, 0)],
        )
        assert done < 6

    def test_up_to_128_pieces(self, with_model: Page) -> None:
        go(with_model, fragment("cat " * 126, 5, 0))
        expect(with_model.locator(".heat-status")).to_contain_text("128 pieces", timeout=30_000)
        go(with_model, fragment("cat " * 127, 5, 0))
        expect(with_model.locator('[data-error-for="text"]')).to_contain_text("129 pieces")

    @pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 320)])
    def test_axe_and_targets(self, with_model: Page, scheme: str, width: int) -> None:
        """A head compared on two sentences with a query traced back: nothing found, 24 pixels to hit, nothing wider than the page."""
        with_model.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        with_model.set_viewport_size({"width": width, "height": 900})
        other = quote("text=the cat sat because it was flat", safe="")
        go(with_model, fragment(layer=2, head=3, row="5") + f"&compare={other}")
        with_model.locator('.heads [data-layer="5"][data-head="11"]').wait_for()
        with_model.evaluate("for (const d of document.querySelectorAll('main details')) d.open = true")
        # What is far below is laid out only when it comes into view; axe would find it under the footer.
        with_model.evaluate(
            "document.styleSheets[0].insertRule('* { content-visibility: visible !important }')"
        )
        answer = Axe().run(
            with_model, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]}
        )
        found = [
            (item["id"], [node["target"] for node in item["nodes"]][:4])
            for item in answer.response["violations"]
        ]
        assert found == []
        small = with_model.evaluate(
            """() => [...document.querySelectorAll('button, select, input, summary')].filter((e) => e.checkVisibility())
                .map((e) => [e.outerHTML.slice(0, 90), e.getBoundingClientRect()])
                .filter(([, r]) => r.width > 0 && (r.width < 24 || r.height < 24)).map(([html]) => html)"""
        )
        assert small == []
        assert with_model.evaluate("document.documentElement.scrollWidth") <= width
        with_model.evaluate("document.styleSheets[0].deleteRule(0)")
        with_model.emulate_media(color_scheme="light")
        with_model.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.needs_model
class TestFetching:
    def start(self, fresh_page: Callable, site: str, state: str = "lab=heatmap") -> Page:
        lab = fresh_page(site)
        lab.start(state)
        page: Page = lab.page
        return page

    def test_nothing_is_fetched_before_it_is_asked_for(self, fresh_page: Callable, site: str) -> None:
        lab = fresh_page(site)
        lab.start("lab=heatmap")
        assert not [url for url in lab.watch.requests if "/models/" in url]
        lab.open(fragment())
        phase(lab.page, "offer")
        expect(lab.page.locator("#model-box")).to_contain_text("fetched only when you ask")
        assert not [url for url in lab.watch.requests if "/models/" in url]
        lab.page.get_by_role("button", name="Use spelling vectors").click()
        expect(lab.page.locator(".heat-status")).to_contain_text("7 tokens")

    def test_a_damaged_part_is_fetched_again(self, fresh_page: Callable, site: str) -> None:
        page = self.start(fresh_page, site)
        seen: list[str] = []

        def damage(route: Route) -> None:
            seen.append(route.request.url)
            body = route.fetch().body()
            route.fulfill(body=body[:-1000] if len(seen) == 1 else body)

        page.route("**/layer-0-*", damage)
        page.select_option("#model", "minilm")
        phase(page, "ready")
        assert len(seen) == 2
        expect(page.locator(".heat-status")).to_contain_text("MiniLM layer 0")

    def test_a_part_that_stays_damaged_is_never_used(self, fresh_page: Callable, site: str) -> None:
        page = self.start(fresh_page, site)

        def damage(route: Route) -> None:
            body = bytearray(route.fetch().body())
            body[len(body) // 2] ^= 1
            route.fulfill(body=bytes(body))

        page.route("**/embeddings-1-*", damage)
        page.select_option("#model", "minilm")
        phase(page, "failed")
        expect(page.locator("#model-box")).to_contain_text("SHA-256")
        expect(page.locator(".heat-status")).not_to_contain_text("MiniLM")
        assert page.locator("#results").get_attribute("data-stale") is not None
        page.unroute("**/embeddings-1-*")
        page.get_by_role("button", name="Try again").click()
        phase(page, "ready")
        expect(page.locator(".heat-status")).to_contain_text("MiniLM")

    def test_cancel_and_go_on(self, fresh_page: Callable, site: str) -> None:
        page = self.start(fresh_page, site)
        held: list[Route] = []
        page.route("**/layer-2-*", lambda route: held.append(route))
        page.select_option("#model", "minilm")
        expect(page.locator(".heat-status")).to_contain_text(
            "MiniLM layer 0", timeout=LOADED
        )  # read while the rest arrives
        page.wait_for_timeout(300)
        page.get_by_role("button", name="Cancel").click()
        phase(page, "offer")
        expect(page.locator("#model-box")).to_contain_text("MB are here already")
        page.unroute("**/layer-2-*")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/models/" in request.url else None)
        page.get_by_role("button", name="Go on").click()
        phase(page, "ready")
        assert not [url for url in asked if "embeddings" in url or "layer-0" in url or "layer-1" in url]

    def test_kept_for_the_next_visit_and_offline(self, fresh_page: Callable, site: str) -> None:
        page = self.start(fresh_page, site)
        page.select_option("#model", "minilm")
        phase(page, "ready")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/models/" in request.url else None)
        page.route("**/models/**", lambda route: route.abort())
        page.goto("about:blank")
        page.goto(f"{site}#{fragment(layer=3, head=3)}")
        phase(page, "ready")
        expect(page.locator(".heat-status")).to_contain_text("MiniLM layer 3, head 3")
        assert [url for url in asked if not url.endswith("manifest.json")] == []

    def test_a_damaged_copy_in_the_cache_is_replaced(self, fresh_page: Callable, site: str) -> None:
        page = self.start(fresh_page, site)
        page.select_option("#model", "minilm")
        phase(page, "ready")
        page.evaluate(
            """async () => { const cache = await caches.open('attention-lab-model');
                const part = (await cache.keys()).find(({ url }) => url.includes('layer-1-'));
                await cache.put(part, new Response(new Uint8Array(1000))); }"""
        )
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/layer-" in request.url else None)
        page.goto("about:blank")
        page.goto(f"{site}#{fragment(layer=1)}")
        phase(page, "ready")
        assert len(asked) == 1 and "layer-1-" in asked[0]

    def test_a_damaged_list_is_neither_used_nor_kept(self, fresh_page: Callable, site: str) -> None:
        page = self.start(fresh_page, site)
        page.route("**/models/**/manifest.json", lambda route: route.fulfill(body='{"format": 1}'))
        page.select_option("#model", "minilm")
        phase(page, "failed")
        expect(page.locator("#model-box")).to_contain_text("damaged")
        assert (
            page.evaluate(
                "caches.open('attention-lab-model').then((cache) => cache.keys()).then((keys) => keys.length)"
            )
            == 0
        )
        page.unroute("**/models/**/manifest.json")
        page.get_by_role("button", name="Try again").click()
        phase(page, "ready")

    def test_parts_of_an_older_pack_are_forgotten(self, fresh_page: Callable, site: str) -> None:
        page = self.start(fresh_page, site)
        page.evaluate(
            """caches.open('attention-lab-model').then((cache) =>
                cache.put('./models/minilm/layer-0-000000000000.bin', new Response('old')))"""
        )
        page.select_option("#model", "minilm")
        phase(page, "ready")
        page.wait_for_function(
            """async () => { const keys = await (await caches.open('attention-lab-model')).keys();
                return keys.length === 11 && !keys.some(({ url }) => url.includes('000000000000')); }"""
        )

    def test_the_network_is_gone(self, fresh_page: Callable, site: str) -> None:
        page = self.start(fresh_page, site)
        page.route("**/models/**", lambda route: route.abort())
        page.select_option("#model", "minilm")
        phase(page, "failed")
        expect(page.locator("#model-box")).to_contain_text("The spelling vectors still work")


class Closed(Handler):
    """Serves the model to pages of its own origin only."""

    def reply(self, status: int, content: bytes, body: bool, headers: dict[str, str]) -> None:
        if "/models/" in self.path:
            headers = {
                name: value for name, value in headers.items() if not name.startswith("Access-Control")
            }
        super().reply(status, content, body, headers)


@pytest.mark.needs_model
class TestOpaqueFrame:
    """A frame with sandbox="allow-scripts" alone has no origin of its own: no caches, and every fetch is foreign."""

    def frame(self, page: Page, site: str, folder: Path) -> Frame:
        source = f"{site}#{fragment(embed='1')}".replace("&", "&amp;")
        body = f'<iframe src="{source}" width="1000" height="800" sandbox="allow-scripts"></iframe>'
        (folder / "index.html").write_text(f"<!doctype html><title>Notes</title>{body}", encoding="utf-8")
        with running(folder) as host:
            page.goto(host.address)
            page.wait_for_function("frames.length > 0")
            frame = page.frames[1]
            frame.wait_for_function("document.documentElement.dataset.model === 'offer'", timeout=90_000)
        assert frame.evaluate("window.origin") == "null"
        return frame

    def test_the_head_works(self, fresh_page: Callable, site: str, tmp_path: Path) -> None:
        """The host sends Access-Control-Allow-Origin, as build.py serve and most static hosts do."""
        page = fresh_page(site).page
        frame = self.frame(page, site, tmp_path)
        frame.get_by_role("button", name="Fetch it").click()
        frame.wait_for_function("document.documentElement.dataset.model === 'ready'", timeout=LOADED)
        expect(frame.locator(".heat-status")).to_contain_text("MiniLM layer 0, head 0")
        expected = view_of(State.from_fragment(fragment())).slice_trace.weights
        cells = frame.locator(f'{HEAT} table[data-stage="weights"] td[data-j]')
        found = cells.evaluate_all("(cells) => cells.map((cell) => Number(cell.dataset.value))")
        np.testing.assert_allclose(found, expected.ravel(), rtol=1e-7, atol=1e-12)

    def test_a_host_that_does_not_allow_it(
        self, fresh_page: Callable, dist: Path, site: str, tmp_path: Path
    ) -> None:
        """The page itself is here, the model stands on a host that answers its own pages only."""
        closed = Server(dist, 0, urlsplit(site).path)
        closed.RequestHandlerClass = Closed
        with background(closed):
            page = fresh_page(closed.address).page
            frame = self.frame(page, closed.address, tmp_path)
            frame.get_by_role("button", name="Fetch it").click()
            frame.wait_for_function("document.documentElement.dataset.model === 'failed'", timeout=LOADED)
            expect(frame.locator("#model-box")).to_contain_text("this frame may not read from")
            expect(frame.locator("#model-box")).to_contain_text("The spelling vectors still work.")
            frame.get_by_role("button", name="Use spelling vectors").click()
            expect(frame.locator(".heat-status")).to_contain_text("7 tokens")


def test_the_single_file_says_that_it_has_no_model(single_file: object) -> None:
    single_file.open("lab=heatmap")  # type: ignore[attr-defined]
    page: Page = single_file.page  # type: ignore[attr-defined]
    page.select_option("#model", "minilm")
    expect(page.locator("#model-box")).to_contain_text("This single file does not hold the model")
    page.get_by_role("button", name="Use spelling vectors").click()
    expect(page.locator(".heat-status")).to_contain_text("11 tokens")
    expect(page.locator("#model-box")).to_be_hidden()


def test_the_pack_is_in_the_built_site(dist: Path) -> None:
    """The page's own facts about the model agree with what is beside it."""
    text = (dist / "index.html").read_text(encoding="utf-8")
    packed = (dist / "models" / "minilm" / "manifest.json").is_file()
    assert ('data-url="./models/minilm/manifest.json"' in text) is packed
    assert ('data-why="absent"' in text) is not packed
