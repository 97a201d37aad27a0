"""Contrast measured by WCAG 2.2's formula, written here anew: the colour ramp, and the palette in light and dark."""

from __future__ import annotations

import itertools
import re

import pytest

from attention_lab.render import cividis
from site_builder.paths import ROOT

TEXT, PART = 4.5, 3.0
"""SC 1.4.3: text; SC 1.4.11: what must be seen of controls and pictures."""
PAIRS = {
    ("ink", "paper"): TEXT,
    ("ink", "field"): TEXT,
    ("ink", "behind"): TEXT,
    ("quiet", "paper"): TEXT,
    ("quiet", "field"): TEXT,
    ("quiet", "behind"): TEXT,
    ("accent", "paper"): TEXT,
    ("accent", "field"): TEXT,
    ("accent", "behind"): TEXT,
    ("on-accent", "accent"): TEXT,
    ("lit-ink", "lit"): TEXT,
    ("bad", "paper"): TEXT,
    ("bad", "field"): TEXT,
    ("edge", "paper"): PART,
    ("edge", "field"): PART,
    ("accent", "lit"): PART,
}


def luminance(colour: str) -> float:
    def linear(channel: int) -> float:
        c = channel / 255
        return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """1 for equal colours, 21 for black on white."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def palettes() -> dict[str, dict[str, str]]:
    """The custom properties of style.css: light, dark by the system, dark by choice."""
    css = (ROOT / "static" / "style.css").read_text(encoding="utf-8")
    heads = {
        "light": r":root \{",
        "dark": r':root:not\(\[data-theme="light"\]\) \{',
        "chosen dark": r':root\[data-theme="dark"\] \{',
    }
    found = {}
    for name, head in heads.items():
        match = re.search(head + r"(.*?)\}", css, re.DOTALL)
        assert match, name
        found[name] = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", match[1]))
    return found


def test_the_formula_on_known_pairs() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def test_every_level_of_the_ramp_can_be_read() -> None:
    rules = re.findall(r"\.w(\d+)\{background:(#\w{6});color:(#\w{3})\}", cividis.stylesheet())
    assert [int(level) for level, _, _ in rules] == list(range(65))
    for level, background, ink in rules:
        full = "#" + "".join(2 * c for c in ink[1:])
        assert contrast(background, full) >= TEXT, f"w{level}"


def test_the_ramp_grows_lighter_with_the_weight() -> None:
    lights = [cividis.luminance(cividis.colour(level / 64)) for level in range(65)]
    assert all(a < b for a, b in itertools.pairwise(lights))


@pytest.mark.parametrize("name", ["light", "dark", "chosen dark"])
def test_the_palette_can_be_read(name: str) -> None:
    palette = palettes()[name]
    low = {
        f"{one} on {other}": round(contrast(palette[one], palette[other]), 2)
        for (one, other), least in PAIRS.items()
        if contrast(palette[one], palette[other]) < least
    }
    assert low == {}


def test_both_ways_to_the_dark_palette_agree() -> None:
    assert palettes()["dark"] == palettes()["chosen dark"]
