"""The catalogue as data: complete, unique, well formed, and wide enough."""

from __future__ import annotations

import ast
import re

import numpy as np
import pytest

from attention_lab.core import Options
from attention_lab.diagnosis import CATALOGUE, diagnose, make_probe
from attention_lab.diagnosis.mistakes import FAMILIES, recognisable

# The ids of the public list of mistakes that this catalogue covers.
PUBLISHED = [
    "S1",
    "S2",
    "S3",
    "S4",
    "S5",
    "S6",
    "S7",
    "S8",
    "S9",
    "S10",
    "S12",
    "S13",
    "X1",
    "X2",
    "X3",
    "X4",
    "X5",
    "X6",
    "X7",
    "X8",
    "X9",
    "X10",
    "X11",
    "X12",
    "X13",
    "X14",
    "X15",
    "M1",
    "M2",
    "M3",
    "M4",
    "M5",
    "M6",
    "M7",
    "M8",
    "M9",
    "M10",
    "M11",
    "M12",
    "M13",
    "M14",
    "M15",
    "M16",
    "M17",
    "M19",
    "M20",
    "M21",
    "M23",
    "M24",
    "L1",
    "L2",
    "L3",
    "L4",
    "L5",
    "L6",
    "L7",
    "L8",
    "L9",
    "L10",
    "H1",
    "H2",
    "H3",
    "H4",
    "H5",
    "H6",
    "H7",
    "H8",
    "H10",
    "C1",
    "C2",
    "C3",
    "C4",
    "C5",
    "A1",
    "A2",
    "D1",
    "D2",
    "K1",
    "K2",
    "K3",
    "K4",
    "K5",
    "K6",
    "P1",
    "P2",
]


def test_every_published_mistake_has_an_entry_and_ids_are_unique() -> None:
    ids = [entry.id for family in FAMILIES for entry in family.entries]
    assert len(ids) == len(set(ids))
    assert len(PUBLISHED) == 85
    assert set(PUBLISHED) <= set(ids)
    # Ours are about settings that differ.
    assert {id[0] for id in set(ids) - set(PUBLISHED)} == {"O"}


def test_at_least_sixty_mistakes_have_a_formula_that_runs() -> None:
    assert sum(entry.variants is not None for entry in CATALOGUE.values()) >= 80
    assert set(PUBLISHED) - set(recognisable()) == {"M4"}  # its numbers are right


@pytest.mark.parametrize("id", CATALOGUE)
def test_an_entry_is_complete(id: str) -> None:
    entry = CATALOGUE[id]
    for name in ("name", "says", "formula", "fingerprint", "needs", "numpy", "torch"):
        text = getattr(entry, name)
        assert text and text == text.strip(), name
        assert not re.search(r"\.\.\.$", text), name
    assert not entry.says.endswith("."), "a clause, not a sentence"
    assert entry.variants is not None or entry.note, "why it cannot be run must be said"
    for link in entry.links:
        assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+", link), link
    for code in (entry.numpy, entry.torch):
        ast.parse(code)


def test_ids_named_as_the_same_exist() -> None:
    for entry in CATALOGUE.values():
        for id in re.findall(r"\b[SXMLHCADKPO]\d+\b", entry.same_as):
            assert id in CATALOGUE, (entry.id, id)


def test_the_fix_of_the_scale_gives_the_right_numbers() -> None:
    """The corrections are real code: run the one of S1 on a probe."""
    probe = make_probe(1)
    place = {"np": np, "q": probe.q, "k": probe.k}
    exec(CATALOGUE["S1"].numpy, place)
    z = place["scaled"]
    weights = np.exp(z) / np.exp(z).sum(-1, keepdims=True)
    assert diagnose(probe.q, probe.k, probe.v, weights @ probe.v, Options()).verdict == "match"
