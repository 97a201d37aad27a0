"""Options: every setting of one attention computation, checked once and then immutable.

Does not: look at arrays; what depends on shapes (lengths, broadcasting) is checked in attend().
"""

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self, get_args

from .errors import OptionError

Causal = Literal["top-left", "bottom-right"] | int | None
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

    Raises OptionError; its `field` is the fragment key: T for temperature, empty for empty_row.
    """

    scale: Literal["sqrt_dk", "none"] | float = "sqrt_dk"
    temperature: float = 1.0
    softcap: float | None = None
    causal: Causal = None
    window: tuple[int | None, int | None] | None = None
    lengths: tuple[int, ...] | None = None
    heads: tuple[int, int] | None = None
    empty_row: EmptyRow = "zero"
    precision: Precision = "float64"

    def __post_init__(self) -> None:
        for name, (key, expected, parse) in _SETTINGS.items():
            value = getattr(self, name)
            try:
                if value is not getattr(Options, name):  # the default, which may be None
                    object.__setattr__(self, name, parse(value))
            except (TypeError, ValueError, OverflowError):
                raise OptionError(f"{name} must be {expected}; got {value!r:.60}", key) from None

    @classmethod
    def for_framework(cls, framework: str, *, causal: Any = False, **settings: Any) -> Self:
        """A framework's default scale and empty rows; causal=True aligns as its causal switch does.

        Options.for_framework("mlx", causal=True) → causal "bottom-right", empty_row "uniform". Other settings
        as in Options. The ids and their facts are in conventions.json.
        """
        from .conventions import convention

        rule = convention(framework)
        if isinstance(causal, bool):
            causal = (rule.causal or "top-left") if causal else None
        defaults = {"scale": rule.scale or "sqrt_dk", "empty_row": rule.empty_row or "zero", "causal": causal}
        return cls(**{**defaults, **settings})


def _one_of(*words: str, other: Any = None) -> Any:
    """A parser that lets these words through and leaves the rest to the parser `other`; None is a TypeError."""
    return lambda value: value if isinstance(value, str) and value in words else other(value)


def _real(value: Any, above: float = -math.inf) -> float:
    if isinstance(value, (bool, str, bytes)) or not above < value < math.inf:
        raise ValueError
    return float(value)


def _whole(value: Any, least: int = -(2**31)) -> int:
    if isinstance(value, bool) or not least <= operator.index(value) <= 2**31:
        raise ValueError
    return operator.index(value)


def _several(value: Any, least: int, fits: Callable[[tuple[Any, ...]], bool]) -> tuple[Any, ...]:
    """Whole numbers from `least` on, and None as it is, if all of them together fit."""
    items = value if isinstance(value, Iterable) else (value,)
    items = tuple(None if item is None else _whole(item, least) for item in items)
    if not fits(items):
        raise ValueError
    return items


_SETTINGS: dict[str, tuple[str, str, Any]] = {
    "scale": ("scale", '"sqrt_dk", "none" or a finite number', _one_of("sqrt_dk", "none", other=_real)),
    "temperature": ("T", "a finite number above 0", partial(_real, above=0)),
    "softcap": ("softcap", "a finite number above 0, or None for no cap", partial(_real, above=0)),
    "causal": ("causal", 'None, "top-left", "bottom-right" or a whole offset',
               _one_of("top-left", "bottom-right", other=_whole)),
    "window": ("window", "(left, right): whole, 0 or more, None for an open side",
               partial(_several, least=0, fits=lambda sides: len(sides) == 2)),
    "lengths": ("lengths", "the valid keys of each batch entry, whole, 0 or more",
                partial(_several, least=0, fits=lambda items: items != () and None not in items)),
    "heads": ("heads", "(query heads, key/value heads), the second dividing the first",
              partial(_several, least=1, fits=lambda pair: len(pair) == 2 and pair[0] % pair[1] == 0)),
    "empty_row": ("empty", '"zero", "nan" or "uniform"', _one_of(*get_args(EmptyRow))),
    "precision": ("precision", f"one of {', '.join(get_args(Precision))}", _one_of(*get_args(Precision))),
}  # fmt: skip
