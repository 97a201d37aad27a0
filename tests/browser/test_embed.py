"""The page inside frames: plain, sandboxed, at a fixed height, growing, hiding parts, opening an exact moment.

The host page comes from a server of its own, so the frame is cross-origin as on other people's sites.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Frame, Page, expect

from attention_lab.render.panels import PANELS, panels_of
from attention_lab.render.recipes import RESIZE, iframe
from attention_lab.render.recipes import Frame as Embedded
from site_builder.serve import running

START_SECONDS = 90
WEIGHTS = [[0.6697615493266569, 0.3302384506733431], [0.3302384506733431, 0.6697615493266569]]
SMALL = "q=1,0;0,1&k=1,0;0,1&v=1,2;3,4&embed=1"
COUNT = "<script>got = []; addEventListener('message', (event) => got.push(event.data))</script>"

Opened = tuple[Page, Frame]
Opener = Callable[..., Opened]


@pytest.fixture
def host(browser: Browser, dist: Path, site: str, tmp_path: Path) -> Iterator[Opener]:
    """`host(body, single=False)`: a page with `body` around the lab. LAB in it is the lab's address."""
    contexts = []

    with running(dist) as other, running(tmp_path) as server:

        def open_host(body: str, single: bool = False, stalled: bool = False, **viewport: int) -> Opened:
            address = f"{other.address}attention-lab.html" if single else site
            page_text = f"<!doctype html><html lang=en><title>Notes</title><body>{COUNT}{body.replace('LAB', address)}"
            (tmp_path / "index.html").write_text(page_text, encoding="utf-8")
            context = browser.new_context(
                viewport={"width": viewport.get("width", 1000), "height": viewport.get("height", 700)},
                service_workers="block",
            )
            contexts.append(context)
            page = context.new_page()
            page.set_default_timeout(15_000)
            if stalled:  # Python's files never come, so that the page stays as it is before Python
                context.route("**/runtime/**", lambda route: None)
            page.goto(server.address, wait_until="commit" if stalled else "load")
            page.wait_for_function("document.querySelector('iframe')")
            page.wait_for_function("frames.length > 0")
            frame = page.frames[1]
            if not stalled:
                ready(frame)
            return page, frame

        yield open_host
        for context in contexts:
            context.close()


def ready(frame: Frame) -> None:
    frame.wait_for_function(
        "['ready', 'failed'].includes(document.documentElement.dataset.python)", timeout=START_SECONDS * 1000
    )
    if frame.evaluate("document.documentElement.dataset.python") != "ready":
        pytest.fail(f"Python did not start in the frame: {frame.inner_text('#python-status')}")


def framed(fragment: str, attributes: str = "", height: int = 540) -> str:
    return f'<iframe src="LAB#{html.escape(fragment)}" width="960" height="{height}" {attributes}></iframe>'


def weights(frame: Frame) -> list[list[float]]:
    rows: dict[int, list[float]] = {}
    for cell in frame.locator('table[data-stage="weights"] td[data-value]').all():
        rows.setdefault(int(str(cell.get_attribute("data-i"))), []).append(
            float(str(cell.get_attribute("data-value")))
        )
    return [rows[i] for i in sorted(rows)]


def shows(frame: Frame, selector: str) -> bool:
    return any(each.is_visible() for each in frame.locator(selector).all())


def test_a_frame_shows_the_view_and_nothing_around_it(host: Opener) -> None:
    _, frame = host(framed(SMALL))
    np.testing.assert_allclose(weights(frame), WEIGHTS, rtol=0, atol=1e-12)
    for chrome in ("[data-chrome]", ".inputs", "header", "footer", ".prose", ".lab-head"):
        assert not shows(frame, chrome), chrome
    assert shows(frame, '[data-slot="calculator-stages"]')


@pytest.mark.parametrize("single", [False, True], ids=["served", "single file"])
def test_a_sandboxed_frame_computes(host: Opener, single: bool) -> None:
    """allow-scripts alone: no origin, no storage, no downloads, no clipboard, no dialogs of the browser."""
    _, frame = host(framed(SMALL, 'sandbox="allow-scripts"'), single)
    assert frame.evaluate("window.origin") == "null"
    np.testing.assert_allclose(weights(frame), WEIGHTS, rtol=0, atol=1e-12)
    frame.locator('[data-stage="weights"] .row-name').nth(1).click()
    expect(frame.locator("table[data-row-trace]")).to_have_attribute("data-i", "1")


@pytest.mark.parametrize("kind", ["numpy", "npz"])
def test_a_sandboxed_frame_selects_the_text_it_cannot_save(host: Opener, kind: str, tmp_path: Path) -> None:
    """Without embed=1 the Share button is there; saving and copying are closed, the text is selected instead."""
    page, frame = host(framed("q=1,0;0,1&k=1,0;0,1&v=1,2;3,4", 'sandbox="allow-scripts"'))
    downloads: list[object] = []
    page.on("download", lambda download: downloads.append(download))
    frame.click("#share")
    frame.select_option("#share-format", kind)
    for button, word in (("save", "may not save files"), ("copy", "clipboard is closed")):
        frame.click(f'[data-share-do="{button}"]')
        expect(frame.locator("#share-note")).to_contain_text(word)
        expect(frame.locator("#share-note")).to_contain_text("selected")
        length = frame.evaluate(
            "(box => box.selectionEnd - box.selectionStart)(document.getElementById('share-text'))"
        )
        assert length == len(frame.input_value("#share-text")) > 100
    assert downloads == []
    if kind == "npz":
        program = frame.input_value("#share-text").replace("attention.npz", str(tmp_path / "made.npz"))
        exec(program, {})
        with np.load(tmp_path / "made.npz") as arrays:
            np.testing.assert_allclose(arrays["weights"], WEIGHTS, rtol=0, atol=1e-12)


def test_the_copy_link_button_in_a_sandbox_shows_the_link(host: Opener) -> None:
    _, frame = host(framed("example=cross", 'sandbox="allow-scripts"'))
    frame.click("#copy-link")
    expect(frame.locator("#copy-text")).to_have_value(re.compile("#example=cross$"))


def test_a_worksheet_in_a_sandbox_hands_out_its_latex(host: Opener) -> None:
    _, frame = host(framed("sheet=seed%3D1", 'sandbox="allow-scripts"'))
    frame.click('[data-sheet-do="latex"]')
    expect(frame.locator("#copy-text")).to_have_value(re.compile(r"^\\documentclass"))
    frame.click("#copy-dialog [data-close]")
    frame.click('[data-sheet-do="print"]')
    expect(frame.locator("#copy-words")).to_contain_text("may not print")


def test_the_frame_tells_its_height_in_both_ways(host: Opener) -> None:
    page, frame = host(framed(SMALL))
    page.wait_for_function("got.length >= 2")
    content = frame.evaluate("Math.ceil(document.body.getBoundingClientRect().bottom + scrollY)")
    page.wait_for_function("height => got.at(-1).height === height", arg=content)
    messages = page.evaluate("got")
    plain = [m for m in messages if m.get("type") == "attention-lab:height"]
    lti = [m for m in messages if m.get("subject") == "lti.frameResize"]
    assert len(plain) == len(lti) and len(plain) + len(lti) == len(messages)
    assert all(set(m) == {"type", "height"} for m in plain) and all(
        set(m) == {"subject", "height"} for m in lti
    )
    assert plain[-1]["height"] == lti[-1]["height"] == content > 200


def test_a_page_that_is_not_framed_posts_nothing(lab: Any) -> None:
    lab.page.evaluate("got = []; addEventListener('message', (event) => got.push(event.data))")
    lab.open("example=cross")
    lab.page.wait_for_timeout(200)
    assert [m for m in lab.page.evaluate("got") if "height" in str(m)] == []


@pytest.mark.parametrize("sandboxed", [False, True])
def test_with_the_recipe_the_frame_grows_and_shrinks_with_its_content(host: Opener, sandboxed: bool) -> None:
    """The very code that the dialog gives out."""
    body = iframe(Embedded("LAB#" + SMALL, "Attention", 300, sandboxed)) + RESIZE
    page, frame = host(body)
    fits = "() => document.documentElement.scrollHeight <= innerHeight + 1 && document.body.getBoundingClientRect().height > 100"
    frame.wait_for_function(fits)
    tall = page.evaluate("document.querySelector('iframe').clientHeight")
    assert tall > 500
    frame.evaluate("location.hash = '#lab=calculator&q=1&k=1&v=1&embed=1&hide=row,checks,inputs,summary'")
    page.wait_for_function("tall => document.querySelector('iframe').clientHeight < tall - 100", arg=tall)
    frame.wait_for_function(fits)


@pytest.mark.parametrize(("width", "height"), [(960, 540), (1280, 720), (375, 500)])
@pytest.mark.parametrize(
    "fragment", ["example=cross&embed=1", "lab=walkthrough&embed=1&step=70", "lab=heatmap&embed=1"]
)
def test_at_a_fixed_size_nothing_is_cut_off_sideways(
    host: Opener, fragment: str, width: int, height: int
) -> None:
    """Slides and narrow columns: the page itself never scrolls sideways; wide tables scroll inside themselves."""
    page, frame = host(framed(fragment), width=width + 40, height=height + 40)
    page.evaluate(
        "([w, h]) => { const f = document.querySelector('iframe'); f.style.width = w + 'px'; f.style.height = h + 'px'; }",
        [width, height],
    )
    page.wait_for_timeout(300)
    assert frame.evaluate("innerWidth") == width
    assert frame.evaluate("document.documentElement.scrollWidth") <= width
    assert frame.evaluate("document.body.getBoundingClientRect().top") == 0


def test_a_slide_with_one_table_fits_without_scrolling(host: Opener) -> None:
    hidden = "status,strip,choices,row,difference,export,real,formula"
    _, frame = host(framed(f"lab=heatmap&text=the%20cat%20sat%20down&embed=1&hide={hidden}"))
    assert frame.evaluate("document.documentElement.scrollHeight <= innerHeight")
    expect(frame.locator('table[data-stage="weights"]')).to_be_visible()


def test_step_and_row_open_an_exact_moment(host: Opener) -> None:
    _, frame = host(framed("lab=walkthrough&embed=1&step=70") + framed("example=cross&row=1&embed=1"))
    second = frame.page.frames[2]
    ready(second)
    assert frame.get_attribute("html", "data-step") == "70"
    expect(second.locator("table[data-row-trace]")).to_have_attribute("data-i", "1")


@pytest.mark.parametrize("lab_name", ["calculator", "walkthrough", "heatmap", "check"])
def test_hide_hides_each_part_by_its_name(host: Opener, lab_name: str) -> None:
    """Every name hides what it stands for and lets the others be; a part that is not there in this state is passed over."""
    states = {
        "calculator": "lab=calculator&q=1,0;0,1&k=1,0;0,1&v=1,2;3,4&T=2&softcap=3&causal=top-left&bias=0,1;1,0&compare=T%3D1",
        "walkthrough": "lab=walkthrough&step=40",
        "heatmap": "lab=heatmap&compare=T%3D0.5",
        "check": "lab=check&example=cross&observed=1,2,3;4,5,6&stage=scores",
    }
    _, frame = host(framed(states[lab_name] + "&embed=1"))
    seen = {panel.name: shows(frame, ",".join(panel.selectors)) for panel in panels_of(lab_name)}
    assert sum(seen.values()) >= 5, seen
    for panel in panels_of(lab_name):
        frame.evaluate("hash => { location.hash = hash }", f"#{states[lab_name]}&embed=1&hide={panel.name}")
        frame.wait_for_function("name => document.documentElement.dataset.hide === name", arg=panel.name)
        assert not shows(frame, ",".join(panel.selectors)), panel.name
    frame.evaluate(
        "hash => { location.hash = hash }",
        f"#{states[lab_name]}&embed=1&hide={','.join(p.name for p in panels_of(lab_name))}",
    )
    frame.wait_for_function("document.documentElement.dataset.hide.includes(' ')")
    left = frame.locator(".results > .lab > *:visible").all()
    assert len(left) <= 2, [each.get_attribute("class") for each in left]


def test_every_panel_name_is_used_once_in_a_lab() -> None:
    for lab_name in ("calculator", "walkthrough", "heatmap", "check"):
        names = [panel.name for panel in PANELS if lab_name in panel.labs]
        assert len(names) == len(set(names))


def test_hidden_parts_never_flash_up(host: Opener) -> None:
    """hide= takes effect before Python has started."""
    _, frame = host(framed("embed=1&hide=row,summary"), stalled=True)
    frame.wait_for_selector('[data-slot="calculator-stages"]', state="visible")
    assert frame.evaluate("document.documentElement.dataset.python") in ("static", "loading")
    assert not shows(frame, '[data-slot="calculator-row"]') and not shows(
        frame, '[data-slot="calculator-summary"]'
    )
    assert shows(frame, '[data-slot="calculator-stages"]')


def test_while_python_starts_a_frame_says_so_and_then_falls_silent(host: Opener) -> None:
    _, frame = host(framed(SMALL), stalled=True)
    expect(frame.locator("#python-status")).to_be_visible()
    _, frame = host(framed(SMALL))
    expect(frame.locator("#python-status")).to_be_hidden()


def test_hide_works_without_embed_too(lab: Any) -> None:
    lab.open("example=cross&hide=chrome,row")
    expect(lab.page.locator("#copy-link")).to_be_hidden()
    expect(lab.page.locator("#q")).to_be_visible()
    expect(lab.page.locator('[data-slot="calculator-row"]')).to_be_hidden()
    lab.open("example=cross")
    expect(lab.page.locator("#copy-link")).to_be_visible()


def test_an_unknown_part_is_named(lab: Any) -> None:
    lab.open("example=cross&hide=rows,copy")
    expect(lab.page.locator("#notes")).to_contain_text("no part called “rows”")
    expect(lab.page.locator(".copy").first).to_be_hidden()
