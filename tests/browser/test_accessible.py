"""Accessibility measured: axe-core in every view and look, targets, zoom, keyboard, one polite live region."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

MISTAKEN = "0.2447,0.0900,0.6652;0.2447,0.6652,0.0900"
VIEWS = {
    "calculator": "",
    "calculator, every stage": "example=cross&causal=top-left&T=2&softcap=5&bias=1,0,0;0,0,1&row=1",
    "calculator, pinned": "example=cross&T=2&compare=example%3Dcross",
    "calculator, error": "q=1,2;3&k=1,0;0,1&v=1;2",
    "calculator, drawn": "q="
    + ";".join(["1,0"] * 70)
    + "&k="
    + ";".join(["0,1"] * 70)
    + "&v="
    + ";".join(["1"] * 70),
    "walkthrough": "lab=walkthrough",
    "walkthrough, a division": "lab=walkthrough&example=walkthrough-masked&causal=top-left&step=68",
    "walkthrough, last step": "lab=walkthrough&example=walkthrough-masked&causal=top-left&step=99",
    "heatmap": "lab=heatmap",
    "heatmap, compared": "lab=heatmap&text=the%20cat%20sat&causal=top-left&compare=T%3D0.5",
    "check": "lab=check",
    "check, a mistake": f"lab=check&example=cross&observed={MISTAKEN}",
    "embedded": "example=identity&embed=1",
    "embedded walkthrough": "lab=walkthrough&embed=1",
    "answers to fill in": "example=cross&blank=weights,output",
    "worksheet": "sheet=seed%3D3",
    "heatmap, drawn": "lab=heatmap&row=3&text=" + "%20".join(f"w{i}" for i in range(80)),
}
LOOKS = ("light", "dark", "forced-colors", "phone")
OPTIONS = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


def look(lab, name: str) -> None:
    if name == "phone":
        lab.page.set_viewport_size({"width": 390, "height": 800})
    elif name == "forced-colors":
        lab.page.emulate_media(forced_colors="active")
    else:
        lab.page.emulate_media(color_scheme=name)


def settle(lab, fragment: str) -> None:
    lab.open(fragment)
    if "observed" in fragment:
        expect(lab.page.locator("[data-verdict]")).to_have_count(1)
    lab.page.evaluate(
        "for (const d of document.querySelectorAll('main details, .prose details')) d.open = true;"
        "new Promise((done) => setTimeout(done, 100))"
    )


def axe(page: Page, figures: list[str], what: str) -> None:
    """Nothing is found; how much was looked at goes into the figures."""
    answer = Axe().run(page, options=OPTIONS).response
    found = [(item["id"], [node["target"] for node in item["nodes"]][:4]) for item in answer["violations"]]
    figures.append(f"axe: {len(found)} findings by {len(answer['passes'])} rules: {what}")
    assert found == []


@pytest.mark.parametrize("view", sorted(VIEWS))
@pytest.mark.parametrize("name", LOOKS)
def test_axe_finds_nothing(lab, view: str, name: str, figures: list[str]) -> None:
    look(lab, name)
    settle(lab, VIEWS[view])
    axe(lab.page, figures, f"{view}, {name}")


@pytest.mark.parametrize("name", ["light", "dark"])
def test_axe_finds_nothing_in_the_dialogs(lab, name: str, figures: list[str]) -> None:
    look(lab, name)
    page = lab.page
    lab.open("example=cross")
    page.click("#share")
    tabs = page.locator("[data-share-tab]")
    for index in range(tabs.count()):
        tabs.nth(index).click()
        axe(page, figures, f"share dialog, {tabs.nth(index).inner_text()}, {name}")
    page.keyboard.press("Escape")
    page.click("#report")
    axe(page, figures, f"report dialog, {name}")


@pytest.mark.parametrize("name", ["light", "dark"])
def test_axe_finds_nothing_in_the_notices(fresh_page, site: str, name: str, figures: list[str]) -> None:
    other = fresh_page(site + "NOTICES.html")
    look(other, name)
    other.page.goto(other.address)
    axe(other.page, figures, f"notices, {name}")


LIVE = """() => [...document.querySelectorAll('[aria-live]:not([aria-live=off]), [role=status], [role=alert], [role=log], output')]
    .filter((e) => e.checkVisibility()).map((e) => e.id || e.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_there_is_one_polite_live_region(lab, view: str) -> None:
    settle(lab, VIEWS[view])
    if view == "worksheet":  # alone on the screen, and it never changes by itself
        assert lab.page.evaluate(LIVE) == []
        return
    assert lab.page.evaluate(LIVE) == ["announce"]
    assert lab.page.get_attribute("#announce", "aria-live") == "polite"


def test_the_live_region_says_what_changed(lab) -> None:
    """A step, an error, a verdict, a copied text: each in a sentence."""
    page = lab.page
    said = page.locator("#announce")
    lab.open("lab=walkthrough")
    page.click('[data-walk="next"]')
    expect(said).to_have_text(page.inner_text(".walk-sentence"))
    lab.open("example=cross")
    page.fill("#q", "1 x")
    expect(page.locator('[data-error-for="q"]')).to_be_visible()
    expect(said).to_have_text(page.inner_text('[data-error-for="q"]'))
    lab.open(VIEWS["check, a mistake"])
    expect(page.locator("[data-verdict]")).to_have_count(1)
    assert len(said.inner_text()) > 20
    assert said.inner_text() in page.inner_text("[data-verdict]")


@pytest.mark.parametrize("view", ["calculator, every stage", "walkthrough", "heatmap", "check, a mistake"])
def test_targets_are_at_least_24_pixels(lab, view: str) -> None:
    """WCAG 2.2 SC 2.5.8; links inside a sentence are exempt."""
    settle(lab, VIEWS[view])
    small = lab.page.evaluate(
        """() => [...document.querySelectorAll('button, select, input, summary, nav a')]
        .filter((e) => e.checkVisibility() && !e.closest('p.inline'))
        .map((e) => [e.outerHTML.slice(0, 120), e.getBoundingClientRect()])
        .filter(([, r]) => r.width > 0 && (r.width < 24 || r.height < 24))
        .map(([html, r]) => `${Math.round(r.width)}x${Math.round(r.height)} ${html}`)"""
    )
    assert small == []


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_320_pixels_and_400_percent_lose_nothing(lab, view: str) -> None:
    """1280 CSS pixels at 400 % zoom are 320: the page itself must not scroll sideways; tables scroll inside themselves."""
    lab.page.set_viewport_size({"width": 320, "height": 800})
    settle(lab, VIEWS[view])
    assert lab.page.evaluate("document.documentElement.scrollWidth") <= 320


def test_structure(lab) -> None:
    page = lab.page
    assert page.get_attribute("html", "lang") == "en"
    assert "Attention Lab" in page.title()
    assert page.locator('[aria-live="polite"], [role="status"]').count() >= 1
    for table in page.locator("table[data-stage]").all():
        assert table.locator("caption").count() == 1
        assert table.locator("th[scope]").count() >= 2
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.evaluate("document.documentElement.dataset.lab") == "calculator"


@pytest.mark.parametrize("view", ["calculator, every stage", "walkthrough", "heatmap", "check, a mistake"])
def test_every_control_is_reached_and_seen_with_tab(lab, view: str) -> None:
    page = lab.page
    settle(lab, VIEWS[view])
    count = page.evaluate(
        """() => { window.wanted = [...document.querySelectorAll('button, select, input, textarea, summary, a[href]')]
        .filter((e) => e.checkVisibility({visibilityProperty: true}) && !e.disabled && e.tabIndex >= 0
            && !e.closest('[popover]:not(:popover-open)'));
        window.reached = new Set(); window.unseen = []; document.activeElement.blur(); return window.wanted.length }"""
    )
    for _ in range(count + 60):
        page.keyboard.press("Tab")
        done = page.evaluate(
            """() => { const e = document.activeElement; if (e === document.body) return false;
            const again = window.reached.has(e); window.reached.add(e);
            const s = getComputedStyle(e);
            if (s.outlineStyle === 'none' && s.boxShadow === 'none') window.unseen.push(e.outerHTML.slice(0, 100));
            return again }"""
        )
        if done:
            break
    missed = page.evaluate(
        "window.wanted.filter((e) => !window.reached.has(e) && e.isConnected && !(e.type === 'radio')).map((e) => e.outerHTML.slice(0, 120))"
    )
    assert missed == []
    assert page.evaluate("window.unseen") == []


def test_forced_colours_mark_only_the_current_lab_and_phase(lab) -> None:
    look(lab, "forced-colors")
    settle(lab, "lab=walkthrough")
    for tabs in (".top nav a", ".walk-phases button"):
        edges = lab.page.eval_on_selector_all(
            tabs,
            "all => all.map((e) => [e.hasAttribute('aria-current'), getComputedStyle(e).borderBottomColor])",
        )
        paper = lab.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert [marked for marked, _ in edges].count(True) == 1
        assert all((edge != paper) == marked for marked, edge in edges), (paper, edges)
