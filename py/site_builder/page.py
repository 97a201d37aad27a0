"""Turn the source `index.html` into a built page: fill its slots and settle its references to `static/`.

Knows nothing of what goes into a slot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from .console import BuildError

SLOT = re.compile(r"<!--slot:(?P<name>[\w-]+)-->(?P<default>.*?)<!--/slot:(?P=name)-->", re.DOTALL)
UNBUILT = re.compile(r"<!--unbuilt-->.*?<!--/unbuilt-->\n?", re.DOTALL)
REFERENCE = re.compile(
    r"""(?P<attribute>\s(?:href|src))=(?P<quote>["'])(?:\./)?static/(?P<path>[^"'?#]+)(?P=quote)"""
)


def fill(source: str, slots: Mapping[str, str]) -> str:
    """Replace the content of each named slot and drop what is meant for the unbuilt page.

    A slot that the page has and `slots` has not keeps its default content, without its markers.
    A name in `slots` that the page lacks is an error: something would silently not be shown.
    """
    present = {match["name"] for match in SLOT.finditer(source)}
    lost = sorted(set(slots) - present)
    if lost:
        raise BuildError(f"index.html has no slot for: {', '.join(lost)}")
    built = SLOT.sub(lambda match: slots.get(match["name"], match["default"]), UNBUILT.sub("", source))
    left = re.search(r"<!--/?(?:slot:|unbuilt)[^>]*>", built)
    if left:
        raise BuildError(f"index.html has an unmatched marker: {left[0]}")
    return built


def slot_names(source: str) -> set[str]:
    """The names of the slots in a page."""
    return {match["name"] for match in SLOT.finditer(source)}


def static_references(source: str) -> list[str]:
    """Paths under static/ that the page refers to, in order."""
    return [match["path"] for match in REFERENCE.finditer(source)]


def map_references(source: str, place: Callable[[str], str]) -> str:
    """Rewrite every `href` or `src` into static/ to what `place` says for the path."""
    return REFERENCE.sub(lambda m: f"{m['attribute']}={m['quote']}{place(m['path'])}{m['quote']}", source)
