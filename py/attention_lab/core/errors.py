"""The one family of errors a reader can meet. A message says what was expected, what came, and where.

Does not: cover programming mistakes; those raise Python's own errors.
"""

from __future__ import annotations


class LabError(ValueError):
    """Something given cannot be used; `field` is the form field and fragment key that caused it, or None."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class ShapeError(LabError):
    """Arrays whose shapes do not fit together, or that are empty."""


class DtypeError(LabError):
    """Entries of the wrong kind: not real numbers, or not booleans for a mask."""


class OptionError(LabError):
    """A setting outside its range."""


class LimitError(LabError):
    """More scores than the limit allows."""


class OverflowLabError(LabError):
    """Finite inputs gave a number too large for the precision, at index `cell`, counted from 0."""

    def __init__(self, message: str, field: str | None = None, cell: tuple[int, ...] = ()) -> None:
        super().__init__(message, field)
        self.cell = cell
