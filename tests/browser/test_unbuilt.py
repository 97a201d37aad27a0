"""The source page, opened from a checkout without a build: its text is there, and it says what to run."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from site_builder.paths import ROOT


def test_the_unbuilt_page_shows_its_text_and_the_command(fresh_page: Callable) -> None:
    page = fresh_page((ROOT / "index.html").as_uri(), offline=True).page
    page.goto((ROOT / "index.html").as_uri())
    expect(page.locator(".unbuilt").first).to_contain_text("python build.py serve")
    expect(page.locator("#python-status")).to_have_text("Not built: Python is not here")
    for text in ("Calculator", "How it works", "read every score, weight and output"):
        expect(page.get_by_text(text).first).to_be_visible()
    page.click('[data-lab-link="heatmap"]')
    expect(page.get_by_text("Type a sentence and see which words attend")).to_be_visible()
