"""The colour ramp for weights, as CSS classes w0 … w64.

Cividis: Nuñez, Anderton & Renslow, PLOS ONE 13(7) e0199239 (2018), readable with colour-vision deficiency and in
print. Seventeen sRGB samples of it, joined by straight lines. Does not decide which weight gets which level.
"""

from __future__ import annotations

LEVELS = 64
SAMPLES = (
    *((0, 34, 78), (0, 46, 106), (26, 56, 111), (50, 67, 109), (67, 78, 108), (83, 90, 109)),
    *((97, 101, 111), (111, 112, 115), (125, 124, 120), (140, 136, 120), (155, 148, 118), (171, 160, 114)),
    *((188, 174, 108), (205, 187, 99), (222, 201, 88), (240, 216, 70), (254, 232, 56)),
)


def colour(t: float) -> tuple[int, int, int]:
    """sRGB at t in [0, 1]: `colour(0)` → `(0, 34, 78)`."""
    place = min(max(t, 0.0), 1.0) * (len(SAMPLES) - 1)
    left = min(int(place), len(SAMPLES) - 2)
    part = place - left
    low, high = SAMPLES[left], SAMPLES[left + 1]
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(low, high, strict=True))
    return red, green, blue


def luminance(rgb: tuple[int, int, int]) -> float:
    """Relative luminance as WCAG 2.2 defines it, 0 to 1."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (value / 255 for value in rgb)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink(rgb: tuple[int, int, int]) -> str:
    """Black or white text, whichever contrasts more with this background."""
    light = luminance(rgb)
    return "#fff" if 1.05 / (light + 0.05) >= (light + 0.05) / 0.05 else "#000"


def stylesheet() -> str:
    """`.w0{…} … .w64{…}`, background and text colour for each level."""
    rules = []
    for level in range(LEVELS + 1):
        rgb = colour(level / LEVELS)
        rules.append(f".w{level}{{background:#{bytes(rgb).hex()};color:{ink(rgb)}}}")
    return "\n".join(rules) + "\n"
