"""The same numbers in every lab: matrices, a sentence and a pasted case travel from view to view."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect

LABS = ("calculator", "walkthrough", "heatmap", "check")
SOURCES = {
    "matrices": "q=1,0,2;0,1,1&k=1,1,0;0,2,1;2,0,1&v=1;2;3&causal=top-left",
    "a sentence": "lab=heatmap&text=the%20cat%20sat&d=16&causal=top-left",
    "an example": "example=cross",
}


def carry(lab, name: str) -> None:
    lab.page.click(f'.carry [data-set^="lab={name}"]')
    expect(lab.page.locator("html")).to_have_attribute("data-lab", name)
    expect(lab.page.locator(".error:visible")).to_have_count(0)


@pytest.mark.parametrize("source", sorted(SOURCES))
def test_numbers_travel(lab, source: str) -> None:
    lab.open(SOURCES[source])
    if lab.page.get_attribute("html", "data-lab") != "calculator":
        carry(lab, "calculator")
    weights = np.array(lab.table("weights"))
    carry(lab, "walkthrough")
    n, m = weights.shape
    masked = n if "causal" in SOURCES[source] else 0
    expect(lab.page.locator("html")).to_have_attribute("data-steps", str(n * m + n + masked + n + n + 4))
    carry(lab, "heatmap")
    np.testing.assert_array_equal(np.array(lab.table("weights")), weights)
    carry(lab, "check")
    expect(lab.page.locator('[data-lab-panel="check"] table[data-stage="q"]')).to_have_count(1)
    carry(lab, "calculator")
    np.testing.assert_array_equal(np.array(lab.table("weights")), weights)


def test_a_stage_stands_in_the_page_once(lab) -> None:
    for name in (*LABS, *reversed(LABS)):
        lab.open(f"lab={name}")
        stages = lab.page.evaluate(
            "[...document.querySelectorAll('table[data-stage]')].map((t) => t.dataset.stage)"
        )
        assert len(stages) == len(set(stages)), (name, stages)
