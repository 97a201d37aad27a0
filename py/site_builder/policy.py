"""The Content-Security-Policy of the built pages, as a meta element. Everything is forbidden except what is named.

Exceptions and why: 'unsafe-eval' because PyScript and Pyodide evaluate the JavaScript they make; 'wasm-unsafe-eval' to
compile Python; data: and blob: in connect-src because the runtime reads its own parts so, and neither can send anything;
in the single file also blob: scripts, since its modules have no addresses, and the hashes of its own inline parts.
"""

from __future__ import annotations

import base64
import hashlib
import re

INLINE = re.compile(
    r"<(?P<tag>script|style)(?P<attributes>[^>]*)>(?P<text>.*?)</(?P=tag)>", re.DOTALL | re.IGNORECASE
)
DATA_TYPE = re.compile(r"""\stype=["']?(?:text/plain|application/json|py)["']?""")
SLOT = "policy"


def policy(scripts: list[str], styles: list[str]) -> str:
    """The directives, with these further sources of scripts and styles."""
    rules = {
        "default-src": ["'none'"],
        "script-src": ["'self'", "'unsafe-eval'", "'wasm-unsafe-eval'", *scripts],
        "style-src": ["'self'", *styles],
        "img-src": ["'self'", "data:", "blob:"],
        "connect-src": ["'self'", "data:", "blob:"],
        "manifest-src": ["'self'"],
        "worker-src": ["'self'"],
        "form-action": ["'none'"],
        "base-uri": ["'none'"],
    }
    return "; ".join(f"{name} {' '.join(sources)}" for name, sources in rules.items())


def meta(scripts: list[str] | None = None, styles: list[str] | None = None) -> str:
    """The element for the head. A policy in a meta element applies to what follows it, so it stands first."""
    return f'<meta http-equiv="Content-Security-Policy" content="{policy(scripts or [], styles or [])}">'


def for_inline(page: str, nonce: str) -> str:
    """The element for a page whose scripts and styles stand in it: each by its hash.

    `nonce` is for the import map alone, which a script makes; right after it that script adds `LOCK`, under which
    no inline script runs any more.
    """
    hashes: dict[str, list[str]] = {"script": ["blob:", f"'nonce-{nonce}'"], "style": []}
    for match in INLINE.finditer(page):
        tag = match["tag"].lower()
        if tag == "script" and DATA_TYPE.search(match["attributes"]):
            continue
        digest = base64.b64encode(hashlib.sha256(match["text"].encode()).digest()).decode()
        hashes[tag].append(f"'sha256-{digest}'")
    return meta(hashes["script"], hashes["style"])


LOCK = "script-src 'self' blob: 'unsafe-eval' 'wasm-unsafe-eval'"
