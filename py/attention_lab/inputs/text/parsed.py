"""What reading a text gives: numbers with their printed precision, or an error that says where.

It reads nothing itself. `Parsed` and `PasteError` are shared by every reader in this package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core.errors import LabError

MAX_CHARACTERS = 64 * 2**20
MAX_ENTRIES = 2**22  # a 2048 x 2048 matrix
MAX_AXES = 16
EMPTY_MESSAGE = "numbers in rows were expected, none came. Example: “1 0” on one line, “0 1” on the next."


@dataclass(frozen=True, eq=False)
class Parsed:
    """Numbers read from text.

    values: float64 or bool, at least 2-D. resolution: same shape, the half-width of what the printed
    digits could have meant (0 for integers, booleans and non-finite entries). warnings: what was changed
    or assumed, one sentence each. alternatives: other readings that the text allows, as (label, Parsed).
    """

    values: NDArray[np.float64] | NDArray[np.bool_]
    resolution: NDArray[np.float64]
    warnings: tuple[str, ...] = ()
    alternatives: tuple[tuple[str, Parsed], ...] = ()

    @classmethod
    def later(
        cls,
        values: NDArray[np.float64],
        resolution: Callable[[], NDArray[np.float64]],
        warnings: tuple[str, ...] = (),
    ) -> Parsed:
        """The same with a resolution that is found when it is first asked for: most readers never ask."""
        made = object.__new__(cls)
        vars(made).update(values=values, warnings=warnings, _find=resolution)
        return made

    def __getattr__(self, name: str) -> Any:
        if name != "resolution" or "_find" not in vars(self):
            raise AttributeError(name)
        vars(self)["resolution"] = found = vars(self).pop("_find")()
        return found


class PasteError(LabError):
    """A text that is not one unambiguous matrix.

    line, column: 1-based place in the text, or None when the whole text is meant; the message says the
    place in words. code: EMPTY, NOT_A_MATRIX, NOT_A_NUMBER, UNBALANCED, RAGGED, ELIDED, MISSING_VALUE,
    LITERAL_OVERFLOW, AMBIGUOUS_COMMA, AMBIGUOUS_SPACE, SEVERAL_MATRICES, NOT_FINITE, TOO_DEEP or TOO_LARGE.
    alternatives: for the ambiguous codes and several matrices, each possible reading as (label, Parsed).
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        line: int | None = None,
        column: int | None = None,
        alternatives: Sequence[tuple[str, Parsed]] = (),
        field: str | None = None,
    ) -> None:
        super().__init__(message, field=field)
        self.code = code
        self.line = line
        self.column = column
        self.alternatives = tuple(alternatives)


def error_at(text: str, position: int, code: str, message: str) -> PasteError:
    """An error at a character of the text: `error_at("1\\n2 x", 4, …)` says line 2, column 3."""
    position = max(0, min(position, len(text)))
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    return PasteError(f"line {line}, column {column}: {message}", code=code, line=line, column=column)


def shorten(text: str, limit: int = 24) -> str:
    """A piece of the reader's text short enough to quote: `shorten("abc")` → `“abc”`."""
    text = " ".join(text[: 4 * limit].split())
    return f"“{text}”" if len(text) <= limit else f"“{text[: limit - 1]}…”"
