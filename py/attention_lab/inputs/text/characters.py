"""Cleans a pasted text without moving anything: every replacement keeps its line and column.

Unicode minus signs, spaces and digits become ASCII; prompts, comments and code fences become spaces.
It does not know what a matrix is.
"""

from __future__ import annotations

import re

_MINUS = "−–—‐‑‒﹣－"
_SPACES = (
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\v\f"
)
_GROUP_SPACES = "\u00a0\u202f\u2007\u2009"
_INVISIBLE = (
    "\ufeff\u200b\u200c\u200d\u200e\u200f\u2060\u2066\u2067\u2068\u2069"
    "\u202a\u202b\u202c\u202d\u202e\u00ad\ufe0e\ufe0f"
)
_BRACKET_PIECES = "⎡⎢⎣⎤⎥⎦⎛⎜⎝⎞⎟⎠⎧⎨⎩⎫⎬⎭"
_VISIBLE: dict[str, str] = {  # replaced and worth a warning
    **dict.fromkeys(_MINUS, "-"),
    **{chr(0xFF10 + i): str(i) for i in range(10)},
    "＋": "+",
    "．": ".",
    "，": ",",
    "；": ";",
    "：": ":",
    "（": "(",
    "）": ")",
    "［": "[",
    "］": "]",
    "｛": "{",
    "｝": "}",
    "＝": "=",
    "％": "%",
    "٪": "%",
    "／": "/",
    "⁄": "/",
    "∕": "/",
    "、": ",",
    "٫": ".",
    "٬": ",",
    "ｅ": "e",
    "Ｅ": "E",
}
_QUIET: dict[str, str] = {
    **dict.fromkeys(_SPACES, " "),
    **dict.fromkeys(_BRACKET_PIECES, " "),
    **dict.fromkeys("“”„«»", '"'),
    **dict.fromkeys("‘’‚", "'"),
    **{chr(code): "+" for code in range(0x2500, 0x2580)},  # box drawing
    **dict.fromkeys("│┃║┆┇┊┋╎╏╽╿╷╵╹╻", "|"),
    **dict.fromkeys("─━═┄┅┈┉╌╍╼╾╴╶╸╺", "-"),
    **dict.fromkeys("⋯⋮⋱⋰", "…"),
    "\x85": "\n",
    "\u2028": "\n",
    "\u2029": "\n",
}
_REPLACED = _VISIBLE | _QUIET | dict.fromkeys(_INVISIBLE, "")
_TABLE = {ord(character): plain for character, plain in _REPLACED.items()}
_VISIBLE_PATTERN = re.compile("[" + "".join(map(re.escape, _VISIBLE)) + "]")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_GROUPED_BY_SPACE = re.compile(rf"(?<=\d)[{_GROUP_SPACES}](?=\d\d\d(?!\d))")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_POWER_OF_TEN = re.compile(
    r"(?<=[\d.])(?: ?(?:×|·|⋅|∙|\*|x) ?)10(?:\^\{?([+-]?\d{1,4})\}?|([⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,4}))"
)
_SUPERSCRIPT = re.compile("[⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹]")
_SUPERSCRIPTS = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")

_PROMPT = re.compile(
    r"^[ \t]*(?:(>>>|>>(?=[ \t]+[A-Za-z_])|>(?=[ \t])|In ?\[\d*\]:=?|julia>|th>|octave:\d+>|ipdb>|\(Pdb\)|sage:"
    r"|\$(?=[ \t]+[A-Za-z]))|(Out ?\[\d*\](?://\w+)?[:=]))",
    re.MULTILINE,
)
_CONTINUED_PROMPT = re.compile(r"^(?:\.\.\.(?=[ \t]+[^ \t\n,])|[ \t]{1,12}\.\.\.:)", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*", re.MULTILINE)
_HASH = re.compile(r"(?<!1\.)#(?!(?:N/A|DIV/0!|REF!|VALUE!|NUM!|NAME\?|NULL!))[^\n]*", re.IGNORECASE)
_SLASHES = re.compile(r"(?:(?<=[\s,;\[\](){}])|^)//(?!\d)[^\n]*", re.MULTILINE)
_PERCENT = re.compile(
    r"(?:^[ \t]*|(?<=[\s;,\]]))%(?![ \t]*(?:$|[\d.,;\])|&+\-\\]))[^\n]*|^[ \t]*%[^\n]*", re.MULTILINE
)
_BANG = re.compile(r"(?:(?<=\s)|^)![^\n]*", re.MULTILINE)
_DIGIT = re.compile(r"\d")


def clean_characters(text: str) -> tuple[str, list[str]]:
    """ASCII for look-alike characters: `clean_characters("−１")` → `("-1", [warning])`."""
    warnings: list[str] = []
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if text.isascii():
        return _powers(text.replace("\v", " ").replace("\f", " ")), warnings
    if ("\t" in text or ";" in text) and _GROUPED_BY_SPACE.search(text):
        # A space between digits can only group them where tabs or semicolons separate the entries.
        text = _GROUPED_BY_SPACE.sub("_", text)
        warnings.append("thousands separators removed")
    found = sorted(set(_VISIBLE_PATTERN.findall(text)))
    text = text.translate(_TABLE)
    other = sorted(set(_OTHER_DIGIT.findall(text)))
    if other:
        import unicodedata

        text = text.translate({ord(digit): str(unicodedata.digit(digit)) for digit in other})
        found += other
    if found:
        warnings.append(f"read as their plain forms: {' '.join(found[:8])}")
    return _powers(text), warnings


def _powers(text: str) -> str:
    """Write 1.5 × 10⁻³ as 1.5e-3, padded so that later columns stay where they were."""
    if "10^" not in text and (text.isascii() or not _SUPERSCRIPT.search(text)):
        return text

    def exponent(match: re.Match[str]) -> str:
        power = match[1] or match[2].translate(_SUPERSCRIPTS)
        return f"e{power}".ljust(len(match[0]))

    return _POWER_OF_TEN.sub(exponent, text)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def strip_comments(text: str) -> str:
    """Blank out comments (#, //, %, !, /* */, (* *)) and code fences; entries stay where they were."""
    if "`" in text or "~~~" in text:
        text = _FENCE.sub(_blank, text)
    if "#" in text:
        text = _HASH.sub(_blank, text)
    if "//" in text:
        text = _SLASHES.sub(_blank, text)
    if "%" in text:
        text = _PERCENT.sub(_blank, text)
    if "!" in text:
        text = _BANG.sub(_blank, text)
    for opening, closing in (("/*", "*/"), ("(*", "*)")):
        if opening in text and closing in text:
            text = _strip_enclosed(text, opening, closing)
    return text


def _strip_enclosed(text: str, opening: str, closing: str) -> str:
    pieces: list[str] = []
    position = 0
    while (start := text.find(opening, position)) >= 0:
        end = text.find(closing, start + 2)
        if end < 0:
            break
        pieces.append(text[position:start])
        pieces.append("".join("\n" if c == "\n" else " " for c in text[start : end + 2]))
        position = end + 2
    return "".join(pieces) + text[position:]


def strip_prompts(text: str) -> str:
    """Blank out prompts; and the commands after them where the text also holds what they printed."""
    if ">" not in text and "In" not in text and "Out" not in text and "$" not in text and "sage:" not in text:
        return text
    if not _PROMPT.search(text):
        return text
    commands: list[str] = []
    outputs: list[str] = []
    printed = False
    for line in text.split("\n"):
        prompt = _PROMPT.match(line)
        continued = _CONTINUED_PROMPT.match(line)
        blank = " " * len(line)
        if prompt and prompt[1]:
            commands.append(" " * prompt.end() + line[prompt.end() :])
            outputs.append(blank)
        elif continued:
            commands.append(" " * continued.end() + line[continued.end() :])
            outputs.append(blank)
        else:
            kept = " " * prompt.end() + line[prompt.end() :] if prompt else line
            printed = (
                printed or bool(_DIGIT.search(kept)) or "nan" in kept or "True" in kept or "False" in kept
            )
            commands.append(kept)
            outputs.append(kept)
    return "\n".join(outputs if printed else commands)
