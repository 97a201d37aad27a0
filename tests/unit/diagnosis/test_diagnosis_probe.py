"""Probes: seeded, small, printed as code that runs, and separating what can be separated."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attention_lab import make_probe
from attention_lab.core import LabError, Options, attend
from attention_lab.diagnosis import diagnose, probe_code, separable
from attention_lab.diagnosis.probe import SHAPES
from attention_lab.problem import Problem

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"options": Options(causal="bottom-right")},
    "all": {
        "options": Options(causal="top-left", softcap=2.5, temperature=2.0, scale=0.4, lengths=(3,)),
        "masked": True,
        "biased": True,
    },
}
# Sets that no input can tell apart, because their formulas are the same.
SAME = [
    {"S2", "S4"},
    {"X10", "M23"},
    {"M1", "M16"},
    {"M5", "M6"},
    {"M11", "M15"},
    {"M10", "M11"},
    {"correct", "X8", "X12", "C5", "P2"},
    {"S2", "S4", "S9"},
    {"S6", "S9"},
]


def test_a_probe_unpacks_and_has_the_promised_shape() -> None:
    q, k, v = make_probe(seed=5)
    assert (q.shape, k.shape, v.shape) == ((5, 3), (7, 3), (7, 2))
    assert [make_probe(1, kind).q.shape for kind in SHAPES] == [(5, 3), (5, 3), (4, 4), (2, 4, 6), (2, 4, 12)]
    assert make_probe(1, "grouped").options.heads == (4, 2)


def test_a_seed_makes_the_same_probe_everywhere() -> None:
    """The first numbers of seed 0 are written here: SplitMix64 and sums give the same on every machine."""
    assert make_probe(0).q[0].tolist() == make_probe(seed=0).q[0].tolist()
    np.testing.assert_array_equal(np.round(make_probe(0).q, 2), make_probe(0).q)
    assert not np.array_equal(make_probe(0).q, make_probe(1).q)
    assert make_probe(0).q[0].tolist() == [3.26, 0.82, -0.03]


@pytest.mark.parametrize("kind", ["oblong", "square", "heads", "grouped"])
@pytest.mark.parametrize("setting", ["plain", "causal"])
def test_a_probe_separates_all_that_can_be_separated(kind: Any, setting: str) -> None:
    for seed in range(3):
        probe = make_probe(seed, kind, **SETTINGS[setting])
        for group in probe.separation.groups:
            assert any(set(group) <= same for same in SAME), group
        assert probe.separation.count >= 29
        assert probe.separation.total == probe.separation.count + sum(
            len(g) - ("correct" in g) for g in probe.separation.groups
        )


def test_what_only_large_scores_show_has_a_probe_of_its_own() -> None:
    hidden = {"X8", "X12", "P2"}
    assert hidden <= set(make_probe(0).separation.groups[0])
    large = make_probe(0, "large", Options(softcap=2.0))
    assert "C5" not in {id for group in large.separation.groups for id in group}
    assert not hidden & {id for group in make_probe(0, "large").separation.groups for id in group}


def test_the_meter_shows_how_little_the_identity_tells() -> None:
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    identity = separable(Problem(np.eye(2), np.eye(2), values))
    probe = make_probe(0, "square").separation
    assert identity.groups[0][0] == "correct" and {"X1", "L1", "L2", "L5", "L7"} <= set(identity.groups[0])
    assert identity.total - identity.count >= 14
    assert probe.total - probe.count < identity.total - identity.count
    count, groups = identity
    assert count == identity.count and groups == identity.groups


def test_fewer_digits_and_earlier_stages_separate_less() -> None:
    probe = make_probe(2)
    assert separable(probe, digits=1).count < separable(probe, digits=4).count <= separable(probe).count
    scores = separable(probe, stage="scores")
    assert scores.count < 10


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", SHAPES)
def test_the_numpy_code_runs_and_is_right(kind: Any, setting: str) -> None:
    probe = make_probe(3, kind, **SETTINGS[setting])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), np.errstate(all="ignore"):
        exec(probe_code(probe, "numpy"), {})
    result = diagnose(
        *probe, json.loads(printed.getvalue().replace("nan", "NaN")), probe.options, probe.keep, probe.bias
    )
    assert result.verdict == "match", result.message
    assert f"seed {probe.seed}" in probe_code(probe, "numpy")


@pytest.mark.parametrize("language", ["pytorch", "jax"])
def test_the_other_python_code_is_valid_and_holds_the_same_numbers(language: Any) -> None:
    probe = make_probe(3, "grouped", **SETTINGS["all"])
    code = probe_code(probe, language)
    compile(code, language, "exec")
    for array in (probe.q, probe.k, probe.v):
        assert repr(array.tolist()) in code


@pytest.mark.needs_torch
def test_the_pytorch_code_runs_and_is_right() -> None:
    torch = pytest.importorskip("torch", reason="compares with PyTorch, which only .ci/run installs")
    before = torch.get_default_dtype()
    try:
        for kind in ("oblong", "grouped"):
            probe = make_probe(3, kind, **SETTINGS["all"])  # type: ignore[arg-type]
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(probe_code(probe, "pytorch"), {})
            assert diagnose(
                *probe, json.loads(printed.getvalue()), probe.options, probe.keep, probe.bias
            ).verdict in ("match", "rounding")
    finally:
        torch.set_default_dtype(before)


@pytest.mark.needs_cpython
@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_c_code_compiles_and_is_right(tmp_path: Path, kind: Any, setting: str) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler on this machine to run the printed C code")
    probe = make_probe(3, kind, **SETTINGS[setting])
    source = tmp_path / "probe.c"
    source.write_text(probe_code(probe, "c"))
    subprocess.run(
        [compiler, "-std=c99", "-Wall", "-Werror", str(source), "-o", str(tmp_path / "probe"), "-lm"],
        check=True,
    )
    printed = subprocess.run([str(tmp_path / "probe")], check=True, capture_output=True, text=True).stdout
    observed = json.loads(printed)
    assert diagnose(*probe, observed, probe.options, probe.keep, probe.bias).verdict == "match"


def test_a_wrong_kind_or_language_is_refused() -> None:
    with pytest.raises(LabError, match="kind must be one of oblong, large, square, heads, grouped"):
        make_probe(0, "round")  # type: ignore[arg-type]
    with pytest.raises(LabError, match="language must be one of numpy, pytorch, jax, c"):
        probe_code(make_probe(0), "cobol")  # type: ignore[arg-type]


def test_every_query_of_a_masked_probe_sees_a_key_and_misses_one() -> None:
    for seed in range(5):
        keep = make_probe(seed, masked=True).keep
        assert keep is not None and keep.any(-1).all() and not keep.all(-1).any()
        assert attend(*make_probe(seed), keep=keep).output.shape == (5, 2)
