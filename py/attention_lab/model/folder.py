"""A pack from a folder, for tests and for programs outside the page."""

from __future__ import annotations

from pathlib import Path

from attention_lab.model.encoder import Encoder
from attention_lab.model.pack import read_manifest


def load_folder(folder: Path) -> Encoder:
    """The whole encoder. Raises PackError when a part is not what the list says."""
    facts = read_manifest((folder / "manifest.json").read_text(encoding="utf-8"))
    encoder = Encoder(facts)
    for part in facts.parts:
        encoder.add(part, (folder / part.file).read_bytes())
    return encoder
