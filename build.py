"""Attention Lab's one command line: python build.py serve | build | test. The work is in py/site_builder/."""

import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036  (said in one line instead of a traceback)
    sys.exit(f"build.py: Python 3.11 or newer is needed; this is {sys.version.split()[0]}.")

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent / "py"))

from site_builder.cli import main  # noqa: E402  (the path must be set first)

sys.exit(main())
