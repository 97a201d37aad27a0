"""What a teacher asks of a worksheet, as one value that is also the text of the link's `sheet=`."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from urllib.parse import quote, unquote

from attention_lab.core import LabError

STAGES = ("scores", "scaled", "masked", "exponentials", "sums", "weights", "output")
"""What can be left blank, in the order of the computation."""
RANGES = {
    "seed": (0, 999_999),
    "variants": (1, 26),
    "queries": (1, 6),
    "keys": (2, 6),
    "values": (1, 4),
    "decimals": (2, 4),
}
BASES = ("e", "2")


@dataclass(frozen=True)
class Plan:
    """seed and variants choose the numbers: the same plan gives the same sheets on every machine.

    queries, keys: tokens (self-attention when causal: then equal); values: columns of V; decimals: of every number
    that is not an integer. scaled: d_k is 4 and scores are divided by √d_k = 2; else d_k is 2 and nothing is divided.
    base: "e", or "2" for 2ˣ in place of eˣ (temperature 1/ln 2), where every weight is an exact fraction.
    blank: the stages left for the student. Raises LabError, field "sheet", outside the ranges.
    """

    seed: int = 1
    variants: int = 2
    queries: int = 2
    keys: int = 3
    values: int = 2
    decimals: int = 3
    scaled: bool = True
    causal: bool = False
    base: str = "e"
    blank: tuple[str, ...] = STAGES

    def __post_init__(self) -> None:
        for name, (low, high) in RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise LabError(
                    f"A worksheet takes {name} from {low} to {high}; got {getattr(self, name)}.", "sheet"
                )
        if self.base not in BASES:
            raise LabError(f"A worksheet takes base e or 2; got {self.base}.", "sheet")
        unknown = [name for name in self.blank if name not in STAGES]
        if unknown:
            raise LabError(f"A worksheet can leave blank {', '.join(STAGES)}; got {unknown[0]}.", "sheet")
        if self.causal and self.queries != self.keys:
            object.__setattr__(self, "queries", self.keys)

    @property
    def d_k(self) -> int:
        return 4 if self.scaled else 2

    @classmethod
    def from_text(cls, text: str) -> Plan:
        """Read `seed=7&variants=2&blank=scores,weights`. Raises LabError, field "sheet"."""
        values: dict[str, object] = {}
        kinds = {item.name: item.type for item in fields(cls)}
        for part in text.split("&"):
            key, _, raw = part.partition("=")
            key, raw = unquote(key), unquote(raw)
            if not key:
                continue
            if key not in kinds:
                raise LabError(f"sheet= does not know “{key[:20]}”: expected {', '.join(kinds)}.", "sheet")
            values[key] = _value(key, str(kinds[key]), raw)
        return replace(cls(), **values)  # type: ignore[arg-type]

    def to_text(self) -> str:
        """Every setting that is not the usual one, and the seed: `seed=1`."""
        usual = Plan()
        parts = [f"seed={self.seed}"]
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name != "seed" and value != getattr(usual, item.name):
                text = (
                    ",".join(value)
                    if isinstance(value, tuple)
                    else str(int(value) if isinstance(value, bool) else value)
                )
                parts.append(f"{item.name}={quote(text, safe=',')}")
        return "&".join(parts)


def _value(key: str, kind: str, raw: str) -> object:
    if kind == "int":
        if not (raw.isascii() and raw.isdigit() and len(raw) < 10):
            raise LabError(f"sheet= needs a whole number for {key}; got “{raw[:20]}”.", "sheet")
        return int(raw)
    if kind == "bool":
        if raw not in ("0", "1"):
            raise LabError(f"sheet= needs 0 or 1 for {key}; got “{raw[:20]}”.", "sheet")
        return raw == "1"
    if key == "blank":
        return tuple(name for name in raw.split(",") if name)
    return raw
