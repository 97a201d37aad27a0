"""Text → tokens: words of any script, numbers, emoji and punctuation, each with its place in the text.

Every character is first reduced to a one-letter kind (a table of its Unicode category), and one regular expression then
runs over the string of kinds. Does not: know a language, a dictionary or a trained vocabulary, so Chinese and Hiragana
come out character by character, and Thai in runs between spaces.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

WORD, DIGIT, MARK, IDEOGRAPH, EMOJI, SKIN, FLAG, JOINER, TAG = "LNMIEFRZT"
APOSTROPHE, HYPHEN, POINT, SPACE, CONTROL, OTHER = "AHDSCP"

_SPECIAL = {
    **dict.fromkeys("'’ʼ׳״", APOSTROPHE),  # the last two stand inside Hebrew abbreviations
    **dict.fromkeys("-‐‑־", HYPHEN),
    **dict.fromkeys(".,٫٬", POINT),
    "\u200c": JOINER,
    "\u200d": JOINER,
    "\u00ad": CONTROL,  # soft hyphen: invisible, and not part of the spelling
}

# Blocks whose kind the category does not tell. Ideographs and Hiragana are split as the default word boundaries of
# Unicode Standard Annex 29 split them; pictographs unknown to this Python's Unicode tables are still pictographs.
_BLOCKS = (
    (0x3041, 0x309F, IDEOGRAPH),
    (0x3400, 0x4DBF, IDEOGRAPH),
    (0x4E00, 0x9FFF, IDEOGRAPH),
    (0xF900, 0xFAFF, IDEOGRAPH),
    (0x1F1E6, 0x1F1FF, FLAG),
    (0x1F3FB, 0x1F3FF, SKIN),
    (0x1F000, 0x1FAFF, EMOJI),
    (0x20000, 0x3FFFD, IDEOGRAPH),
    (0xE0020, 0xE007F, TAG),
)

_TOKEN = re.compile(
    r"(?P<space>S+)"
    r"|(?P<control>C+)"
    r"|(?P<token>"
    r"RR?M*"  # a flag is two regional letters
    r"|[EF](?:[MF]|T)*(?:Z+E(?:[MF]|T)*)*Z*"  # skin tone, presentation, tags; joined sequences stay one
    r"|IM*Z*"
    r"|(?:[LN][MZ]*)+(?:(?:[AH]C*(?=[LN])|(?<=N)D(?=N))(?:[LN][MZ]*)+)*"  # don't, well-known, 3.14
    r"|.[MZT]*"  # punctuation, a lone mark
    r")",
    re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """One token and where it stood: `text == source[start:end]`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Tokens:
    """`source` is the cleaned text (NFC, no control characters) that the spans refer to."""

    source: str
    tokens: tuple[Token, ...]
    controls: int
    """How many control and invisible formatting characters were left out."""

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(token.text for token in self.tokens)


def tokenize(text: str) -> Tokens:
    """Split `text` into tokens; nothing visible is lost.

    tokenize("Don't panic: 3.14 cats!!").words -> ("Don't", "panic", ":", "3.14", "cats", "!!")

    Words keep inner apostrophes and hyphens, numbers keep inner points and commas, a run of one punctuation sign is one
    token. The text is normalised to NFC first, so that an accent typed as a combining mark is the same token.
    """
    source, kinds, controls = _clean(text)
    tokens: list[Token] = []
    for match in _TOKEN.finditer(kinds):
        if match.lastgroup == "space":
            continue
        start, end = match.span()
        piece = source[start:end]
        last = tokens[-1] if tokens else None
        if (
            last is not None
            and last.end == start
            and len(piece) == 1
            and kinds[start] in "PADH"
            and last.text == piece * len(last.text)
        ):
            tokens[-1] = Token(last.text + piece, last.start, end)
        else:
            tokens.append(Token(piece, start, end))
    return Tokens(source, tuple(tokens), controls)


def _clean(text: str) -> tuple[str, str, int]:
    """The text in NFC without control characters, the kind of each character, and how many were left out.

    A lone surrogate (half a character, as broken links hold it) becomes the replacement character.
    """
    kinds = "".join(map(_kind, text))
    controls = kinds.count(CONTROL)
    if controls or not unicodedata.is_normalized("NFC", text) or re.search("[\ud800-\udfff]", text):
        kept = "".join(c for c, kind in zip(text, kinds, strict=True) if kind != CONTROL)
        text = unicodedata.normalize("NFC", re.sub("[\ud800-\udfff]", "\ufffd", kept))
        kinds = "".join(map(_kind, text))
    return text, kinds, controls


@lru_cache(maxsize=4096)
def _kind(character: str) -> str:
    special = _SPECIAL.get(character)
    if special is not None:
        return special
    code = ord(character)
    if code >= 0x3041:
        for first, last, kind in _BLOCKS:
            if first <= code <= last:
                return kind
    category = unicodedata.category(character)
    if category[0] == "Z" or character in "\t\n\r\v\f\x85":
        return SPACE
    if category[0] == "L" or category == "Pc":
        return WORD
    if category[0] == "N":
        return DIGIT
    if category[0] == "M":
        return MARK
    if category == "So":
        return EMOJI
    if category in ("Cc", "Cf"):
        return CONTROL
    return OTHER
