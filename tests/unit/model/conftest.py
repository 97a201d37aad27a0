"""What the tests of the model share: the tiny encoder, installed as the current one and taken out again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from attention_lab.model.encoder import Current, Encoder

sys.path.insert(0, str(Path(__file__).parent))

import synthetic


@pytest.fixture
def tiny() -> Iterator[Encoder]:
    encoder = synthetic.whole()
    before, Current.encoder = Current.encoder, encoder
    yield encoder
    Current.encoder = before
