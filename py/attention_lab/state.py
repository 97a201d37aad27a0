"""Everything the page shows, as one immutable value that is also the URL fragment.

Reads and writes text only: it computes nothing and knows no browser. A value that cannot be read falls back
to its neutral default and leaves a note; a key that nobody knows is kept, so that newer links survive older pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

LABS = ("calculator", "walkthrough", "heatmap", "check")
STAGES = (
    "auto",
    "scores",
    "scaled",
    "tempered",
    "capped",
    "biased",
    "masked",
    "weights",
    "output",
    "log_sum_exp",
)
TABLE_STAGES = STAGES[1:-1]
"""The stages that stand on the page as tables, which is what `blank=` can hide until the reader has answered."""
OPENING = {
    "calculator": "example=identity",
    "walkthrough": "example=walkthrough-masked&causal=top-left",
    "heatmap": "text=the%20cat%20sat%20on%20the%20mat%20because%20the%20cat%20was%20tired&d=32&causal=top-left",
    "check": "example=cross",
}
MAX_UNPACKED = 8_000_000  # characters of a packed state; a hostile z= must not fill the memory


class Note(NamedTuple):
    """One value of a link that could not be used: the key, and a sentence for the reader."""

    key: str
    message: str


class Spec(NamedTuple):
    """How one key is read and written."""

    parse: Callable[[str], Any]
    write: Callable[[Any], str]
    expected: str


def _number(text: str) -> float:
    if "_" in text:  # Python's own digit separator is no way to write a number here
        raise ValueError
    value = float(text.replace("\u2212", "-"))
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError
    return value


def write_number(value: float) -> str:
    """Shortest text that reads back as the same number: `1.0` → `1`, `0.1` → `0.1`."""
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(float(value))


def _positive(text: str) -> float:
    value = _number(text)
    if value <= 0:
        raise ValueError
    return value


def _not_negative(text: str) -> float:
    value = _number(text)
    if value < 0:
        raise ValueError
    return value


def _integer(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"[+\-\u2212]?\d{1,9}", text.strip()):
            raise ValueError
        value = int(text.replace("\u2212", "-"))
        if not low <= value <= high:
            raise ValueError
        return value

    return parse


def _choice(*names: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in names:
            raise ValueError
        return text

    return parse


def _scale(text: str) -> str | float:
    return text if text in ("sqrt_dk", "none") else _number(text)


def _causal(text: str) -> str | int:
    return text if text in ("top-left", "bottom-right") else _integer(-1_000_000, 1_000_000)(text)


def _window(text: str) -> tuple[int | None, int | None]:
    sides = text.split(",")
    if len(sides) != 2:
        raise ValueError
    left, right = (None if side.strip() in ("", "inf") else _integer(0, 1_000_000)(side) for side in sides)
    return left, right


def _heads(text: str) -> tuple[int, int]:
    query_heads, kv_heads = (_integer(1, 4096)(part) for part in text.split(","))
    return query_heads, kv_heads


def _lengths(text: str) -> tuple[int, ...]:
    return tuple(_integer(0, 1_000_000)(part) for part in text.split(","))


def _decimals(text: str) -> int | str:
    return text if text in ("exact", "auto") else _integer(0, 12)(text)


def _labels(text: str) -> tuple[str, ...]:
    return tuple(unquote(part) for part in text.split(","))


def _names(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


def _stage_names(text: str) -> tuple[str, ...]:
    names = _names(text)
    if not set(names) <= set(TABLE_STAGES):
        raise ValueError
    return names


def _flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError
    return text == "1"


def _text(text: str) -> str:
    return text


def _some_text(text: str) -> str:
    if not text:
        raise ValueError
    return text


def _write_labels(labels: tuple[str, ...]) -> str:
    return ",".join(label.replace("%", "%25").replace(",", "%2C") for label in labels)


def _write_any(value: Any) -> str:
    return value if isinstance(value, str) else write_number(value)


def _write_sequence(values: Iterable[Any]) -> str:
    return ",".join("" if value is None else str(value) for value in values)


def compact_matrix(text: str) -> str:
    """The same numbers on one line for a link: `1 0\\n0 1` → `1,0;0,1`. Any other text comes back unchanged.

    Only text whose reading cannot change is rewritten: plain numbers, and one kind of separator in each row.
    """
    if not re.fullmatch(r"[\d.eE+\-\u2212 \t,;\r\n]*", text):
        return text
    rows = []
    for line in re.split(r"[;\n]", text.replace("\u2212", "-")):
        row = line.strip()
        if not row:
            continue
        row = re.sub(r"[ \t]*,[ \t]*", ",", row)
        spaced = re.sub(r"[ \t\r]+", ",", row)
        if "," in row and spaced != row:
            return text
        rows.append(spaced)
    return ";".join(rows)


def spread_matrix(text: str) -> str:
    """The text of a link as people read a matrix: `1,0;0,1` → `1 0\\n0 1`. Any other text comes back unchanged."""
    if re.fullmatch(r"[\d.eE+\-,;]+", text) and not text.strip("-+.,;").isalpha():
        return text.replace(";", "\n").replace(",", " ")
    return text


SPECS: dict[str, Spec] = {
    "lab": Spec(_choice(*LABS), str, "one of " + ", ".join(LABS)),
    "example": Spec(_some_text, str, "the name of an example"),
    "q": Spec(_text, compact_matrix, "rows by ';', entries by ','"),
    "k": Spec(_text, compact_matrix, "rows by ';', entries by ','"),
    "v": Spec(_text, compact_matrix, "rows by ';', entries by ','"),
    "text": Spec(_text, str, "a sentence"),
    "model": Spec(_choice("minilm"), str, "minilm"),
    "layer": Spec(_integer(0, 5), str, "a layer of the model, 0 to 5"),
    "modelhead": Spec(_integer(0, 11), str, "a head of the model, 0 to 11"),
    "special": Spec(_choice("hide"), str, "hide"),
    "entry": Spec(_integer(0, 31), str, "an entry of the query vector, 0 to 31"),
    "d": Spec(_integer(1, 4096), str, "a whole number of dimensions"),
    "seed": Spec(_integer(0, 999_999_999), str, "a whole number from 0"),
    "scale": Spec(_scale, _write_any, "sqrt_dk, none or a number"),
    "T": Spec(_positive, write_number, "a number above 0"),
    "causal": Spec(_causal, str, "top-left, bottom-right or a whole number"),
    "positions": Spec(_choice("sinusoidal"), str, "sinusoidal"),
    "softcap": Spec(_positive, write_number, "a number above 0"),
    "window": Spec(_window, _write_sequence, "left,right: whole numbers from 0, an empty side is open"),
    "empty": Spec(_choice("zero", "nan", "uniform"), str, "zero, nan or uniform"),
    "precision": Spec(
        _choice("float64", "float32", "float16", "bfloat16"), str, "float64, float32, float16 or bfloat16"
    ),
    "keep": Spec(_text, compact_matrix, "rows of 0 and 1"),
    "bias": Spec(_text, compact_matrix, "rows by ';', entries by ','"),
    "lengths": Spec(_lengths, _write_sequence, "valid keys of each batch entry, separated by ','"),
    "heads": Spec(_heads, _write_sequence, "query heads,key/value heads"),
    "framework": Spec(_some_text, str, "the name of a framework"),
    "batch": Spec(_integer(0, 1_000_000), str, "a whole number from 0"),
    "head": Spec(_integer(0, 1_000_000), str, "a whole number from 0"),
    "labels": Spec(_labels, _write_labels, "labels separated by ','"),
    "row": Spec(_integer(0, 1_000_000), str, "a whole number from 0"),
    "step": Spec(_integer(0, 10_000_000), str, "a whole number from 0"),
    "decimals": Spec(_decimals, str, "0 to 12, exact or auto"),
    "observed": Spec(_text, compact_matrix, "the numbers your code gave"),
    "stage": Spec(_choice(*STAGES), str, "one of " + ", ".join(STAGES)),
    "atol": Spec(_not_negative, write_number, "a number from 0"),
    "rtol": Spec(_not_negative, write_number, "a number from 0"),
    "compare": Spec(_text, str, "options of a second setting"),
    "predict": Spec(_flag, lambda on: "1" if on else "0", "0 or 1"),
    "embed": Spec(_flag, lambda on: "1" if on else "0", "0 or 1"),
    "hide": Spec(_names, _write_sequence, "names separated by ','"),
    "blank": Spec(_stage_names, _write_sequence, "stages separated by ',': " + ", ".join(TABLE_STAGES)),
    "sheet": Spec(_text, str, "the settings of a worksheet"),
}
SOURCE_KEYS = ("example", "q", "k", "v", "text")
MAY_BE_EMPTY = ("q", "k", "v", "text")
"""Keys whose empty text is a state of its own: a box that the reader has emptied."""
OPTION_KEYS = (
    *("scale", "T", "causal", "positions", "softcap", "window", "empty", "precision"),
    *("keep", "bias", "lengths", "heads", "framework", "labels", "d", "seed", "observed"),
)


@dataclass(frozen=True)
class State:
    """What the page shows. Keys and values are those of the fragment in the public contract; None means absent.

    `State.from_fragment("T=2&row=1").T` → `2.0`
    """

    lab: str = "calculator"
    example: str | None = None
    q: str | None = None
    k: str | None = None
    v: str | None = None
    text: str | None = None
    model: str | None = None
    layer: int = 0
    modelhead: int = 0
    special: str | None = None
    entry: int | None = None
    d: int | None = None
    seed: int = 0
    scale: str | float = "sqrt_dk"
    T: float = 1.0
    causal: str | int | None = None
    positions: str | None = None
    softcap: float | None = None
    window: tuple[int | None, int | None] | None = None
    empty: str | None = None
    precision: str = "float64"
    keep: str | None = None
    bias: str | None = None
    lengths: tuple[int, ...] | None = None
    heads: tuple[int, int] | None = None
    framework: str | None = None
    batch: int = 0
    head: int = 0
    labels: tuple[str, ...] | None = None
    row: int | None = None
    step: int | None = None
    decimals: int | str = 4
    observed: str | None = None
    stage: str = "auto"
    atol: float = 1e-8
    rtol: float = 1e-5
    compare: str | None = None
    predict: bool = False
    embed: bool = False
    hide: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()
    sheet: str | None = None
    unknown: tuple[tuple[str, str], ...] = ()
    notes: tuple[Note, ...] = field(default=(), compare=False)

    @classmethod
    def opening(cls, lab: str = "calculator") -> State:
        """What a lab shows when it is opened without any key."""
        return cls.from_values(_split(f"lab={lab}&{OPENING[lab]}"))

    @classmethod
    def from_fragment(cls, text: str) -> State:
        """Read a URL fragment, with or without `#`. Never raises: what cannot be read becomes a note."""
        pairs = _split(text)
        packed = dict(pairs).get("z") or None
        notes: list[Note] = []
        if packed is not None:
            pairs = [pair for pair in pairs if pair[0] != "z"]
            try:
                inner = _split(unpack(packed))
                if any(key == "z" for key, _ in inner):
                    raise ValueError("it holds another packed link")
                pairs = inner + pairs
            except ValueError as error:
                notes.append(Note("z", f"The packed part of this link (z=…) cannot be read: {error}."))
        state = cls.from_values(pairs)
        given = {key for key, value in pairs if value or key in MAY_BE_EMPTY}
        state = _known(state, given)
        if state.example is None:
            given.discard("example")
        if not given.intersection(SOURCE_KEYS):
            opening = cls.opening(state.lab)
            names = SOURCE_KEYS if given.intersection(OPTION_KEYS) else SOURCE_KEYS + OPTION_KEYS
            state = replace(state, **{name: getattr(opening, name) for name in names})
        return replace(state, notes=tuple(notes) + state.notes)

    @classmethod
    def from_values(cls, pairs: Iterable[tuple[str, str]]) -> State:
        """Build a state from raw key and value texts; an empty value means absent, the last of equal keys counts."""
        return cls().with_values(pairs)

    def with_values(self, pairs: Iterable[tuple[str, str]] | Mapping[str, str]) -> State:
        """This state with some keys replaced by raw text: `state.with_values({"row": "2"})`; `""` removes a key."""
        items = pairs.items() if isinstance(pairs, Mapping) else pairs
        changes: dict[str, Any] = {}
        unknown = dict(self.unknown)
        notes: dict[str, Note] = {}
        for key, value in items:
            spec = SPECS.get(key)
            notes.pop(key, None)
            if spec is None:
                unknown.pop(key, None)
                if value or key:
                    unknown[key] = value
            elif value == "" and key not in MAY_BE_EMPTY:
                changes[key] = DEFAULTS[key]
            else:
                try:
                    changes[key] = spec.parse(value)
                except ValueError:
                    changes[key] = DEFAULTS[key]
                    notes[key] = _left_out(key, value, spec.expected)
        return replace(self, **changes, unknown=tuple(unknown.items()), notes=tuple(notes.values()))

    @property
    def size(self) -> int:
        """Characters of the texts that can be long."""
        return sum(
            len(text) for text in (self.q, self.k, self.v, self.keep, self.bias, self.observed) if text
        )

    @property
    def real_head(self) -> bool:
        """Whether Q, K and V come from a head of the model: it reads a sentence, and only where no matrix is given."""
        return self.model is not None and self.text is not None and self.q is None

    def second(self) -> State | None:
        """The other setting that `compare=` describes, or None.

        With Q, K, V, a sentence or an example of its own it stands alone, every absent option neutral; without,
        it is this state with the named keys changed: `compare=T%3D0.5` is this state at temperature 0.5. Beside a real
        head a sentence alone does not stand alone: `compare=text%3D…` is the same head on that sentence.
        """
        if not self.compare:
            return None
        pairs = [pair for pair in _split(self.compare) if pair[0] not in ("compare", "lab")]
        given = {key for key, _ in pairs}
        same_head = (
            self.model is not None and given.intersection(SOURCE_KEYS) == {"text"} and "model" not in given
        )
        alone = bool(given.intersection(SOURCE_KEYS)) and not same_head
        base = State(lab=self.lab, decimals=self.decimals, row=self.row) if alone else self
        return replace(base.with_values(pairs), compare=None)

    def pinned(self) -> State:
        """This state with itself kept as the other setting, so that changes can be compared with it."""
        kept = replace(
            self, compare=None, lab="calculator", unknown=(), row=None, step=None, decimals=4, observed=None
        )
        return replace(self, compare=kept.to_fragment())

    def to_values(self) -> dict[str, str]:
        """Raw texts of every key that is not at its default, in the order of the contract."""
        # A framework sets scale and empty rows; both are written out, so that a neutral one is not taken for absent.
        always = ("scale", "empty") if self.framework else ()
        values = {
            key: spec.write("zero" if key in always and getattr(self, key) is None else getattr(self, key))
            for key, spec in SPECS.items()
            if key in always or getattr(self, key) != DEFAULTS[key]
        }
        return values | dict(self.unknown)

    def to_fragment(self, pack_above: int | None = None) -> str:
        """The fragment of this state, without `#`. A text longer than `pack_above` is packed as `z=`."""
        values = self.to_values()
        text = "&".join(f"{_quote(key)}={_quote(value)}" for key, value in values.items())
        if pack_above is not None and len(text) > pack_above:
            packed = "z=" + pack(text)
            return packed if len(packed) < len(text) else text
        return text


DEFAULTS: dict[str, Any] = {item.name: item.default for item in fields(State)}


def _known(state: State, given: set[str]) -> State:
    """Names of a link settled: an unknown example or framework falls back with a note; a known framework sets the
    scale and the empty rows that the link leaves open."""
    if state.example is not None:
        from attention_lab.inputs.examples import load

        names = [example.name for example in load().all]
        if state.example not in names:
            note = _left_out("example", state.example, f"one of {', '.join(names)}")
            state = replace(state, example=None, notes=(*state.notes, note))
    if state.d is not None and not 8 <= state.d <= 512:
        state = replace(
            state, d=None, notes=(*state.notes, _left_out("d", str(state.d), "8 to 512 dimensions"))
        )
    if state.framework is not None:
        from attention_lab.core import LabError
        from attention_lab.core.conventions import convention, conventions

        try:
            rule = convention(state.framework.lower())
        except LabError:
            note = _left_out("framework", state.framework, f"one of {', '.join(conventions())}")
            return replace(state, framework=None, notes=(*state.notes, note))
        own: dict[str, Any] = {"scale": rule.scale or "sqrt_dk", "empty": rule.empty_row or "zero"}
        changes: dict[str, Any] = {key: value for key, value in own.items() if key not in given}
        state = replace(state, framework=rule.id, **changes)
    return state


def _left_out(key: str, value: str, expected: str) -> Note:
    shown = value if len(value) <= 40 else value[:39] + "…"
    return Note(key, f"{key}={shown} was not understood: expected {expected}. It is left out.")


def _quote(text: str) -> str:
    return quote(text, safe=",;:.+-_~!*()/'@$", errors="replace")  # half a surrogate pair has no UTF-8


def _split(text: str) -> list[tuple[str, str]]:
    pairs = []
    for part in text.removeprefix("#").split("&"):
        if part:
            key, _, value = part.partition("=")
            pairs.append((unquote(key), unquote(value)))
    return pairs


def pack(text: str) -> str:
    """Deflate, then base64url without padding."""
    import base64
    import zlib

    level = 9 if len(text) < 20_000 else 6  # level 9 would take twice as long for half a percent
    squeezer = zlib.compressobj(level, zlib.DEFLATED, -15)
    return base64.urlsafe_b64encode(squeezer.compress(text.encode()) + squeezer.flush()).decode().rstrip("=")


def unpack(packed: str) -> str:
    """Undo `pack`. Raises ValueError with a reason when the text is damaged or unreasonably long."""
    import base64
    import binascii
    import zlib

    try:
        data = base64.b64decode(packed.encode() + b"=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        stretcher = zlib.decompressobj(-15)
        raw = stretcher.decompress(data, MAX_UNPACKED)
        if len(raw) >= MAX_UNPACKED:
            raise ValueError(f"it unpacks to more than {MAX_UNPACKED:,} characters")
        if not stretcher.eof:
            raise ValueError("it is cut short")
        return raw.decode()
    except (binascii.Error, zlib.error, UnicodeError) as error:
        raise ValueError("it is damaged") from error
