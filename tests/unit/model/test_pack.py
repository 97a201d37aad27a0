"""A pack is used only when every byte is what its list says; rounding stays within half a step."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import synthetic

from attention_lab.model.encoder import Encoder, NotLoaded
from attention_lab.model.pack import PackError, quantized, read_manifest, read_part, restored


@pytest.mark.parametrize(("steps", "stretch"), [(127, None), (127, 8), (79, None)])
def test_rounding_is_within_half_a_step(steps: int, stretch: int | None) -> None:
    matrix = np.random.default_rng(1).normal(size=(20, 48)) * np.logspace(-6, 3, 20)[:, None]
    matrix[3] = 0
    rows, scales = quantized(matrix, steps, stretch)
    assert rows.dtype == np.int8 and scales.dtype == np.float16
    assert np.abs(rows).max() <= steps
    step = np.repeat(scales.astype(float), matrix.shape[1] // scales.shape[1], axis=1)
    assert (np.abs(restored(rows, scales) - matrix) <= step / 2 * (1 + 1e-12)).all()
    assert (restored(rows, scales)[3] == 0).all()


def test_each_part_is_checked() -> None:
    facts, files = synthetic.facts_and_files()
    for part in facts.parts:
        assert read_part(part, files[part.file])
        with pytest.raises(PackError, match="SHA-256"):
            read_part(part, synthetic.damaged(files[part.file]))
        with pytest.raises(PackError, match=f"{part.size:,} were expected"):
            read_part(part, files[part.file][:-1])


def test_a_hash_that_fits_damaged_bytes_does_not_help() -> None:
    """The list itself may be wrong: gzip's own check and the stated size still refuse."""
    import hashlib

    facts, files = synthetic.facts_and_files()
    part = facts.parts[0]
    bad = synthetic.damaged(files[part.file])
    with pytest.raises(PackError, match=r"unpack"):
        read_part(replace(part, sha256=hashlib.sha256(bad).hexdigest()), bad)
    with pytest.raises(PackError, match="were expected"):
        read_part(replace(part, raw=part.raw - 1), files[part.file])


def test_a_refused_part_leaves_no_trace() -> None:
    facts, files = synthetic.facts_and_files()
    encoder = Encoder(facts)
    for part in facts.parts[:2]:
        encoder.add(part, files[part.file])
    layer = facts.parts[2]
    with pytest.raises(PackError):
        encoder.add(layer, synthetic.damaged(files[layer.file]))
    assert encoder.ready == 0
    with pytest.raises(NotLoaded, match="Layer 0 is not loaded yet; 0 of 2 layers are"):
        encoder.pass_of("the cat").layer(0)
    encoder.add(layer, files[layer.file])
    assert encoder.ready == 1


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"format": 1}', '{"format": 2}', '{"format": 1, "parts": [{}]}']
)
def test_a_damaged_list_is_refused(text: str) -> None:
    with pytest.raises(PackError) as caught:
        read_manifest(text)
    assert caught.value.field == "model"


def test_pieces_must_be_as_many_as_stated() -> None:
    text, files = synthetic.synthetic()
    facts = read_manifest(json.dumps(json.loads(text) | {"pieces": 3}))
    encoder = Encoder(facts)
    encoder.add(facts.parts[0], files[facts.parts[0].file])
    with pytest.raises(PackError, match="14 vectors of pieces; 3 were expected"):
        encoder.add(facts.parts[1], files[facts.parts[1].file])
    assert encoder.embeddings is None
