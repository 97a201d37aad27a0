"""NumPy's wheel in the parts that the page needs: two compiled libraries that every start links, and the rest.

Without tests, type stubs and headers: half of the wheel. The wheel itself was checked when it was fetched.
"""

from __future__ import annotations

import io
import re
import zipfile

from .archive import zip_bytes
from .fetch import PINS

SITE = f"/lib/python{PINS['pyodide']['python'].rpartition('.')[0]}/site-packages/"
LIBRARIES = {
    "multiarray": "numpy/_core/_multiarray_umath.cpython-313-wasm32-emscripten.so",
    "linalg": "numpy/linalg/_umath_linalg.cpython-313-wasm32-emscripten.so",
}
"""What `import numpy` loads, as {asset name: path in site-packages}, in the order in which it is linked."""

KEPT = re.compile(
    r"numpy/(?!f2py/|_pyinstaller/)(?!.*\btests/).*\.(?:py|so)|.*/(?:METADATA|RECORD|WHEEL|LICENSE[^/]*)"
)


def libraries(wheel: bytes) -> dict[str, bytes]:
    """The two libraries as {asset name: WebAssembly}."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        return {name: archive.read(member) for name, member in LIBRARIES.items()}


def other_files(wheel: bytes) -> dict[str, bytes]:
    """Everything else that Python can import or that belongs to the licence, as {path: content}."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        names = [
            name for name in archive.namelist() if KEPT.fullmatch(name) and name not in LIBRARIES.values()
        ]
        return {name: archive.read(name) for name in names}


def other_files_zip(wheel: bytes) -> bytes:
    """The same as a zip archive."""
    return zip_bytes(other_files(wheel))
