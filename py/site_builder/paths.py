"""Where things are: the checkout, its output folder and the per-user cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
SINGLE_FILE = "attention-lab.html"
NOTICES = "NOTICES.html"


def cache_dir() -> Path:
    """The per-user cache. ATTENTION_LAB_CACHE overrides the platform's usual place."""
    override = os.environ.get("ATTENTION_LAB_CACHE")
    if override:
        return Path(override).expanduser().resolve()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "attention-lab"
