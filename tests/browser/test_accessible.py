"""Accessibility measured: axe-core in every view and look, targets, zoom, keyboard, one polite live region."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

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


@pytest.mark.parametrize("view", sorted(VIEWS))
@pytest.mark.parametrize("name", LOOKS)
def test_axe_finds_nothing(lab, view: str, name: str) -> None:
    look(lab, name)
    settle(lab, VIEWS[view])
    found = Axe().run(lab.page, options=OPTIONS).response["violations"]
    assert [(item["id"], [node["target"] for node in item["nodes"]][:4]) for item in found] == []


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
