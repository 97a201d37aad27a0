"""The arithmetic of attention. Imports NumPy and nothing else of ours."""

from .errors import LabError, ShapeError
from .masks import Rule
from .options import Options
from .positions import sinusoidal
from .sdpa import Trace, attend

__all__ = ["LabError", "Options", "Rule", "ShapeError", "Trace", "attend", "sinusoidal"]
