"""The arithmetic of attention. Imports NumPy and nothing else of ours."""

from .errors import DtypeError, LabError, LimitError, OptionError, OverflowLabError, ShapeError
from .masks import Reason, Rule
from .options import Options
from .positions import sinusoidal
from .sdpa import LIMIT, Trace, attend

__all__ = [
    "LIMIT",
    "DtypeError",
    "LabError",
    "LimitError",
    "OptionError",
    "Options",
    "OverflowLabError",
    "Reason",
    "Rule",
    "ShapeError",
    "Trace",
    "attend",
    "sinusoidal",
]
