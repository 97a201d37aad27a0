"""Scaled dot-product attention with every intermediate kept.

Names are loaded on first use, so that `import attention_lab.core` costs only the engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attention_lab.core import Options as Options
    from attention_lab.core import attend as attend
    from attention_lab.diagnosis import diagnose as diagnose
    from attention_lab.diagnosis import make_probe as make_probe
    from attention_lab.explain.differences import differences as differences
    from attention_lab.problem import Problem as Problem

__version__ = "0.1.0"
__all__ = ["Options", "Problem", "__version__", "attend", "diagnose", "differences", "make_probe"]

_HOMES = {
    "attend": "attention_lab.core",
    "Options": "attention_lab.core",
    "Problem": "attention_lab.problem",
    "diagnose": "attention_lab.diagnosis",
    "make_probe": "attention_lab.diagnosis",
    "differences": "attention_lab.explain.differences",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
