"""Each mistake that the page offers to load is found again from its own pasted numbers."""

from __future__ import annotations

import pytest

from attention_lab.compute import observed_of, view_of
from attention_lab.core import LabError
from attention_lab.diagnosis import diagnose
from attention_lab.diagnosis.showcase import SHOWS, showcase
from attention_lab.state import State


def test_there_are_six_and_each_has_a_public_report() -> None:
    assert len({show.id for show in SHOWS}) == 6
    assert all(show.report.startswith("https://github.com/") for show in SHOWS)


@pytest.mark.parametrize("id", [show.id for show in SHOWS])
def test_a_showcase_is_diagnosed_as_itself(id: str) -> None:
    state = State(lab="check").with_values(showcase(id))
    problem, observed = view_of(state).problem, observed_of(state)
    found = diagnose(
        problem.q, problem.k, problem.v, observed.values, problem.options, resolution=observed.resolution
    )
    assert found.verdict == "mistake" and id in found.matches, (found.verdict, found.matches, found.message)


def test_another_name_is_refused() -> None:
    with pytest.raises(LabError, match="expected one of S1"):
        showcase("S99")
