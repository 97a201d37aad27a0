"""Settings that differ: temperature, a causal mask or a scale that the given options do not ask for.

Does not: come from bug reports; these ids (O…) are ours and say "your settings and mine differ".
"""

from __future__ import annotations

from collections.abc import Iterator

from .entry import Family
from .flow import Label, State, Variant, single
from .mask import causal_mask, masked_by
from .scale import scaled_by
from .setting import Array, Setting, meet

FAMILY = Family("settings")


def set_temperature(setting: Setting, state: State, divisor: Array) -> None:
    state["tempered"] = state["scaled"] / divisor


@FAMILY.mistake(
    "O1",
    name="temperature ignored",
    says="the temperature is not applied",
    formula="softmax(Z) V instead of softmax(Z/T) V",
    fingerprint="effective scale c = 1/√d",
    needs="T different from 1",
    numpy="z = scores * scale / T",
    torch="z = scores * scale / T",
)
def ignored(setting: Setting) -> Iterator[Variant]:
    if setting.options.temperature != 1.0:
        yield single("tempered", set_temperature, Label("O1", rank=0.1), 1.0)


@FAMILY.mistake(
    "O2",
    name="multiplied by the temperature",
    says="the scores are multiplied by the temperature instead of divided by it",
    formula="softmax(Z · T) V",
    fingerprint="effective scale c = T/√d",
    needs="T different from 1",
    numpy="z = scores * scale / T",
    torch="z = scores * scale / T",
)
def multiplied(setting: Setting) -> Iterator[Variant]:
    if setting.options.temperature != 1.0:
        yield single("tempered", set_temperature, Label("O2", rank=0.1), 1 / setting.options.temperature)


@FAMILY.mistake(
    "O4",
    name="causal mask that was not asked for",
    says="a causal mask is applied, but the settings here have none",
    formula="softmax(Z where j ≤ i, else −∞) V",
    fingerprint="no weight above the diagonal",
    needs="settings without a causal mask",
    numpy="z = scores * scale  # no mask",
    torch="F.scaled_dot_product_attention(q, k, v, is_causal=False)",
)
def unasked_causal(setting: Setting) -> Iterator[Variant]:
    if "causal" in setting.parts:
        return
    corners = (
        {0: "top-left"} if setting.n == setting.m else {0: "top-left", setting.m - setting.n: "bottom-right"}
    )
    for offset, detail in corners.items():
        yield from masked_by(
            setting, "O4", meet(setting.keep, causal_mask(setting, offset)[None, None]), detail, 0.2
        )


@FAMILY.mistake(
    "O5",
    name="scale that was not asked for",
    says="the scores are divided by √dₖ, but the settings here have another scale",
    formula="softmax(Q Kᵀ / √d) V",
    fingerprint="effective scale c = 1/√d",
    needs="settings with another scale",
    numpy="z = scores * scale",
    torch="F.scaled_dot_product_attention(q, k, v, scale=scale)",
)
def unasked_scale(setting: Setting) -> Iterator[Variant]:
    yield from scaled_by(setting, "O5", setting.d**-0.5, rank=0.05)
