"""Options: every setting of one attention computation, checked once and then immutable.

Does not: look at any array; what depends on shapes (lengths, broadcasting) is checked in attend().
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, get_args

from .errors import OptionError

Scale = Literal["sqrt_dk", "none"] | float
Causal = Literal["top-left", "bottom-right"] | int | None
Window = tuple[int | None, int | None] | None
EmptyRow = Literal["zero", "nan", "uniform"]
Precision = Literal["float64", "float32", "float16", "bfloat16"]


@dataclass(frozen=True)
class Options:
    """Settings of attend(). The defaults are softmax(QKᵀ/√dₖ)V without any mask.

    scale        "sqrt_dk" multiplies the scores by 1/√dₖ, "none" by 1, a number by itself
    temperature  scaled scores are divided by it; above 0
    softcap      None, or c above 0: scores become c·tanh(x/c), before bias and mask
    causal       None, "top-left" (offset 0), "bottom-right" (offset m − n) or the offset o itself:
                 key j is visible to query i if j ≤ i + o
    window       None, or (left, right), inclusive, None for an open side:
                 i + o − left ≤ j ≤ i + o + right, with o = 0 when causal is None
    lengths      None, or the number of valid keys of each batch entry (one number serves all)
    heads        None, or (query heads, key/value heads) packed side by side in the last axis
    empty_row    weights of a query that may attend to nothing: "zero", "nan" or "uniform" (1/m)
    precision    "float64", or "float32", "float16", "bfloat16": inputs, weights and output are rounded
                 to it, everything between is float32

    Raises OptionError with `field` = the fragment key (scale, T, softcap, causal, window, lengths,
    heads, empty, precision).
    """

    scale: Scale = "sqrt_dk"
    temperature: float = 1.0
    softcap: float | None = None
    causal: Causal = None
    window: Window = None
    lengths: tuple[int, ...] | None = None
    heads: tuple[int, int] | None = None
    empty_row: EmptyRow = "zero"
    precision: Precision = "float64"

    def __post_init__(self) -> None:
        checked = {
            "scale": self.scale
            if _word(self.scale, ("sqrt_dk", "none"))
            else _number(self.scale, "scale", 'scale must be "sqrt_dk", "none" or a finite number'),
            "temperature": _positive(self.temperature, "T", "the temperature T must be a number above 0"),
            "softcap": None
            if self.softcap is None
            else _positive(self.softcap, "softcap", "softcap must be a number above 0, or None for no cap"),
            "causal": _causal(self.causal),
            "window": _window(self.window),
            "lengths": _lengths(self.lengths),
            "heads": _heads(self.heads),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        for name, key, words in (
            ("empty_row", "empty", get_args(EmptyRow)),
            ("precision", "precision", get_args(Precision)),
        ):
            if not _word(getattr(self, name), words):
                raise OptionError(
                    f"{name} must be one of {', '.join(words)}; got {getattr(self, name)!r}", key
                )


def _word(value: Any, words: tuple[str, ...]) -> bool:
    return isinstance(value, str) and value in words


def _number(value: Any, field: str, expected: str) -> float:
    try:
        number = math.nan if isinstance(value, (bool, str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise OptionError(f"{expected}; got {value!r}", field)
    return number


def _positive(value: Any, field: str, expected: str) -> float:
    number = _number(value, field, expected)
    if number <= 0:
        raise OptionError(f"{expected}; got {value!r}", field)
    return number


def _whole(value: Any, field: str, expected: str, least: int | None = None) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise OptionError(f"{expected}; got {value!r}", field) from None
    if least is not None and number < least:
        raise OptionError(f"{expected}; got {value!r}", field)
    return number


def _items(value: Any, field: str, expected: str, count: int | None = None) -> tuple[Any, ...]:
    try:
        items = () if isinstance(value, (str, bytes)) else tuple(value)
    except TypeError:
        items = ()
    if not items or (count is not None and len(items) != count):
        raise OptionError(f"{expected}; got {value!r}", field)
    return items


def _causal(value: Any) -> Causal:
    if value is None or _word(value, ("top-left", "bottom-right")):
        return value  # type: ignore[no-any-return]
    return _whole(value, "causal", 'causal must be None, "top-left", "bottom-right" or a whole offset')


def _window(value: Any) -> Window:
    if value is None:
        return None
    expected = "window must be (left, right): how many keys on each side, 0 or more, None for an open side"
    left, right = _items(value, "window", expected, 2)
    return (
        None if left is None else _whole(left, "window", expected, 0),
        None if right is None else _whole(right, "window", expected, 0),
    )


def _lengths(value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    expected = "lengths must be the number of valid keys of each batch entry, whole and 0 or more"
    items = (value,) if isinstance(value, Integral) else _items(value, "lengths", expected)
    return tuple(_whole(item, "lengths", expected, 0) for item in items)


def _heads(value: Any) -> tuple[int, int] | None:
    if value is None:
        return None
    expected = "heads must be (query heads, key/value heads), both 1 or more, the second dividing the first"
    q_heads, kv_heads = (_whole(item, "heads", expected, 1) for item in _items(value, "heads", expected, 2))
    if q_heads % kv_heads:
        raise OptionError(f"{expected}; got {value!r}", "heads")
    return q_heads, kv_heads
