"""One number as people and programs write it: 0.25, 2.5D-1, 0x1.8p+3, 1/4, 25%, -inf, 0.25f, True.

Gives the value and what its digits say about precision. It never evaluates anything; a spelling that
is not listed here is not a number.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import NamedTuple

# The letters of Number.kind.
INTEGER, DECIMAL, PADDED, POWER, POWER_PADDED, EXACT, BOOLEAN = "i", "d", "z", "p", "q", "x", "b"


class Number(NamedTuple):
    """A value and its printed precision.

    kind: INTEGER ("12", "12.", "1e3"), DECIMAL ("0.25"), PADDED ("0.2500": the printer keeps zeros), POWER and
    POWER_PADDED (the same with an exponent), EXACT (hexadecimal, fraction, nan, inf) or BOOLEAN. last: power of ten of the last printed digit. digits:
    significant digits. half: a half-width known from elsewhere, or None. note: a warning, or "".
    """

    value: float
    kind: str
    last: int
    digits: int
    half: float | None = None
    note: str = ""


class LiteralError(Exception):
    """A spelling that is a number but has no usable value; `code` is a PasteError code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


_DECIMAL = re.compile(
    r"([+-]?)(\d*)(?:\.(\d*))?"
    r"(?:[eEdDqQ]([+-]?\d+)|\*\^([+-]?\d+))?"
    r"(`[\d.]*)?"  # Mathematica's precision mark
    r"(%|_?(?:f(?:16|32|64)|[iu](?:8|16|32|64|size))|[fFlLmM]|[uU][lL]{0,2}|[lL][uU]|f[+-]?\d{1,3})?",
    re.ASCII,
)
_FRACTION = re.compile(r"([+-]?)(\d{1,400})//?([+-]?)(\d{1,400})", re.ASCII)
_HEX = re.compile(r"[+-]?0[xX][0-9a-fA-F]*(?:\.[0-9a-fA-F]*)?(?:[pP][+-]?\d{1,6})?", re.ASCII)
_APOSTROPHES = re.compile(r"[+-]?\d{1,3}(?:'\d{3})+(?![\d'])", re.ASCII)
_JULIA_EXPONENT = re.compile(r"f([+-]?\d{1,3})", re.ASCII)

_NAN = {
    "n/a",
    "nan", "na", "null", "none", "1.#ind", "1.#qnan", "1.#snan", "nan(ind)", "nan(snan)", "indeterminate",
    "nan32", "nan16", ".nan", "missing", "<na>", "nan64",
}  # fmt: skip
_INFINITE = {"inf", "infinity", "∞", "1.#inf", "inf32", "inf16", ".inf", "huge_val", "inff", "inf64"}
_PREFIXES = (
    "np.", "numpy.", "math.", "torch.", "jnp.", "f32::", "f64::", "double.", "float.", "tf.", "number.",
    "base.",
)  # fmt: skip
_TRUE = {"true", ".true.", "np.true_"}
_FALSE = {"false", ".false.", "np.false_"}
_MISSING = {"--", "-", "", "?", "#n/a", "#div/0!", "#ref!", "#value!", "#num!", "#name?", "#null!", "."}
_VULGAR = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"


def is_missing(text: str) -> bool:
    """True for the marks that stand for an absent entry: "--", "-", "", "#N/A" …"""
    return text.lower() in _MISSING


def is_elision(text: str) -> bool:
    """True for "...", "…" and longer rows of dots: entries that the printer left out."""
    return "…" in text or (len(text) >= 3 and text.strip(".") == "")


def read_number(text: str) -> Number | None:
    """Read one spelling, or None if it is not a number: `read_number("0.25").value` → 0.25.

    Raises LiteralError for a number that float64 cannot hold (LITERAL_OVERFLOW), and for a fraction
    over zero or a complex number (NOT_A_NUMBER).
    """
    return _read(text) if len(text) > 40 else _read_short(text)


def _read(text: str) -> Number | None:
    match = _DECIMAL.fullmatch(text)
    if match:
        return _decimal(match)
    if not text or len(text) > 4096:
        return None
    if "_" in text[1:-1] or "'" in text:
        return _grouped(text)
    match = _FRACTION.fullmatch(text)
    if match:
        return _fraction(match, text)
    if text[:3].lower().lstrip("+-").startswith("0x"):
        return _hexadecimal(text)
    return _word(text)


_read_short = lru_cache(maxsize=4096)(_read)
"""After an edit nearly every entry is one that was read before."""


def _decimal(match: re.Match[str]) -> Number | None:
    sign, whole, fraction, exponent, mathematica, _, suffix = match.groups(default="")
    if not whole and not fraction:
        return None
    shift = int((exponent or mathematica or "0")[:8])
    if suffix:
        julia = _JULIA_EXPONENT.fullmatch(suffix)
        if suffix == "%":
            shift -= 2
        elif julia and suffix not in ("f16", "f32", "f64"):
            shift += int(julia.group(1))
    value = float(f"{sign}{whole or '0'}.{fraction or '0'}e{shift}")
    digits = len((whole + fraction).lstrip("0"))
    if math.isinf(value):
        raise LiteralError("LITERAL_OVERFLOW", "is too large for a 64-bit float (the largest is 1.8e308)")
    note = ""
    if value == 0.0 and digits:
        note = f"{match.string} underflows to 0"
    last = shift - len(fraction)
    if not fraction and last >= 0 and suffix != "%":
        half = None
        if 15 < digits < 400 and shift == 0:
            exact = int(sign + whole)
            if int(value) != exact:
                note = f"{match.string} is not exactly representable"
                half = math.ulp(value) / 2
        return Number(value, INTEGER, last, digits, half, note)
    padded = len(fraction) >= 2 and fraction.endswith("0")
    if exponent or mathematica or (shift and suffix != "%"):
        kind = POWER_PADDED if padded else POWER
    else:
        kind = PADDED if padded else DECIMAL
    return Number(value, kind, last, digits, None, note)


def _grouped(text: str) -> Number | None:
    """Digits grouped by underscores (code) or apostrophes (Swiss spreadsheets, C++)."""
    if "_" in text:
        bare = re.sub(r"(?<=\d)_(?=\d)", "", text)
        return None if "_" in bare and not re.search(r"_[fiu]\d", bare) else _decimal_only(bare)
    if _APOSTROPHES.match(text):
        number = _decimal_only(text.replace("'", ""))
        return number and number._replace(note=number.note or "thousands separators removed")
    return None


def _decimal_only(text: str) -> Number | None:
    match = _DECIMAL.fullmatch(text)
    return _decimal(match) if match else None


def _fraction(match: re.Match[str], text: str) -> Number:
    numerator, denominator = int(match[1] + match[2]), int(match[3] + match[4])
    if denominator == 0:
        raise LiteralError("NOT_A_NUMBER", "divides by zero")
    try:
        value = numerator / denominator
    except OverflowError:
        raise LiteralError("LITERAL_OVERFLOW", "is too large for a 64-bit float") from None
    above, below = value.as_integer_ratio()
    half = 0.0 if above * denominator == numerator * below else math.ulp(value) / 2
    return Number(value, EXACT, 0, 0, half)


def _hexadecimal(text: str) -> Number | None:
    bare = text[:-1] if text[-1:] in "lL" or (text[-1:] in "fF" and "p" in text.lower()) else text
    if not _HEX.fullmatch(bare):
        return None
    try:
        return Number(float.fromhex(bare), EXACT, 0, 0, 0.0)
    except OverflowError:
        raise LiteralError("LITERAL_OVERFLOW", "is too large for a 64-bit float") from None
    except ValueError:
        return None


def _word(text: str) -> Number | None:
    lowered = text.lower()
    if lowered in _TRUE or lowered in _FALSE:
        return Number(1.0 if lowered in _TRUE else 0.0, BOOLEAN, 0, 1, 0.0)
    sign = -1.0 if lowered[:1] == "-" else 1.0
    lowered = lowered.lstrip("+-") if lowered[1:2] not in ("+", "-") else lowered
    for prefix in _PREFIXES:
        lowered = lowered.removeprefix(prefix)
    if lowered in _NAN:
        return Number(math.nan, EXACT, 0, 0, 0.0)
    if lowered in _INFINITE:
        return Number(sign * math.inf, EXACT, 0, 0, 0.0)
    if lowered and lowered[-1] in _VULGAR:
        return _vulgar(lowered, sign)
    if (
        lowered[:1].isdigit()
        and (lowered[-1] in "ji" or lowered.endswith("im"))
        and not lowered[:-2].isalpha()
    ):
        raise LiteralError("NOT_A_NUMBER", "is complex; attention is computed on real numbers")
    return None


def _vulgar(text: str, sign: float) -> Number | None:
    """ "½" and "1½"."""
    import unicodedata

    whole = text[:-1]
    if whole and not (whole.isascii() and whole.isdigit() and len(whole) < 16):
        return None
    value = sign * (int(whole or "0") + unicodedata.numeric(text[-1]))
    return Number(value, EXACT, 0, 0, math.ulp(value) / 2)
