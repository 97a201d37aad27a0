"""The one family of errors a reader can meet. A message says what was expected, what came, and where.

Does not: cover programming mistakes; those raise Python's own errors.
"""


class LabError(ValueError):
    """Something given cannot be used; `field` is the form field and fragment key that caused it, or None.

    `cell` is the index of the entry that caused it, counted from 0; () where there is no single one.
    """

    def __init__(self, message: str, field: str | None = None, cell: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.message, self.field, self.cell = message, field, cell


class ShapeError(LabError):
    """Arrays whose shapes do not fit together, or that are empty."""


class DtypeError(LabError):
    """Entries of the wrong kind: not real numbers, or not booleans for a mask."""


class OptionError(LabError):
    """A setting outside its range."""


class LimitError(LabError):
    """More scores than the limit allows."""


class OverflowLabError(LabError):
    """Finite inputs gave a number too large for the precision, at index `cell`."""
