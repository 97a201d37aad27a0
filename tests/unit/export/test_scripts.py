"""Generated programs: each is executed, holds to 1e-12 in float64, and fails when a number in it is wrong."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from materials import LINK, PROBLEMS, bare, material

from attention_lab.core import LabError, Options
from attention_lab.export.formats import write
from attention_lab.problem import Problem

CASES = sorted(PROBLEMS)
FLOAT64 = [name for name in CASES if PROBLEMS[name].options.precision == "float64"]


def text(kind: str, name: str) -> str:
    program = write(kind, material(PROBLEMS[name]))
    assert isinstance(program, str)
    return program


def run(program: str, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    """The program's variables and what it printed."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(program, "generated", "exec"), space)
    return space, capsys.readouterr().out


@pytest.mark.parametrize("name", CASES)
def test_the_numpy_program_runs_and_holds(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    problem = PROBLEMS[name]
    space, printed = run(text("numpy", name), capsys)
    checks = re.fullmatch(r"All (\d+) comparisons hold\.\n", printed)
    assert checks and int(checks[1]) >= 4, "scores, exponentials, weights and output at least"
    trace = problem.trace()
    for stage in ("scores", "weights", "output"):
        np.testing.assert_allclose(
            space[stage],
            getattr(trace, stage),
            rtol=space["TOLERANCE"],
            atol=space["TOLERANCE"],
            err_msg=stage,
        )


@pytest.mark.parametrize("name", FLOAT64)
def test_float64_programs_ask_for_1e_12(name: str) -> None:
    tolerance = float(re.findall(r"^TOLERANCE = (\S+)", text("numpy", name), re.M)[0])
    if name in ("large numbers", "example naive-overflow", "example float16-overflow"):
        assert tolerance > 1e-12  # products of 1e5 by 3e5: two right orders of summing differ by more
    else:
        assert tolerance == 1e-12


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("K.swapaxes(-1, -2)", "(K.swapaxes(-1, -2) + 1e-9)"), ("j <= i", "j < i"), ("V = ", "V = 1.00001 * ")],
)
def test_a_changed_program_fails(wrong: str, right: str, capsys: pytest.CaptureFixture[str]) -> None:
    program = text("numpy", "causal top-left")
    assert wrong in program
    with pytest.raises(AssertionError):
        run(program.replace(wrong, right, 1), capsys)


@pytest.mark.needs_cpython
def test_the_program_needs_numpy_alone(tmp_path: Path) -> None:
    file = tmp_path / "again.py"
    file.write_text(text("numpy", "everything"), encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(file)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("comparisons hold.\n")


@pytest.mark.parametrize("kind", ["numpy", "torch", "jax", "keras", "pytest", "numpy-text"])
@pytest.mark.parametrize("name", CASES)
def test_every_program_compiles(kind: str, name: str) -> None:
    ast.parse(text(kind, name))


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", CASES)
def test_the_torch_program_runs_and_holds(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    import torch

    space, printed = run(text("torch", name), capsys)
    assert printed.endswith("comparisons hold.\n")
    assert ("own" in space) == (PROBLEMS[name].options.softcap is None)
    if PROBLEMS[name].options.precision == "float64":
        assert space["output"].dtype == torch.float64


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("torch", "softcap", "has no softcap"),
        ("torch", "causal bottom-right", "is_causal aligns the mask top-left"),
        ("torch", "window", "no sliding window"),
        ("torch", "temperature", "no temperature"),
        ("torch", "keep", "True in a boolean mask means: may attend"),
        ("torch", "empty rows NaN", "A row that may attend to nothing gives 0"),
        ("torch", "bfloat16", "rounds in other places"),
        ("jax", "plain", "softmax is in float32"),
        ("jax", "plain", "K and V equally wide"),
        ("jax", "softcap", "has no softcap"),
        ("jax", "causal bottom-right", "is_causal aligns the mask top-left"),
        ("jax", "empty rows NaN", "gives uniform weights"),
        ("keras", "plain", "does not scale"),
        ("keras", "plain", "turns float64 into float32"),
        ("keras", "softcap", "TPUs only"),
        ("keras", "keep", "masks whole keys only"),
        ("keras", "no valid keys", "nearly uniform weights"),
    ],
)
def test_what_a_framework_cannot_express_is_said_in_a_comment(kind: str, name: str, words: str) -> None:
    program = text(kind, name)
    assert words in program
    assert words not in ast.unparse(ast.parse(program)), "it must be a comment, not code"


@pytest.mark.parametrize(
    ("kind", "name", "call"),
    [
        ("torch", "plain", "scaled_dot_product_attention(Q, K, V)"),
        ("torch", "causal top-left", "scaled_dot_product_attention(Q, K, V, is_causal=True)"),
        ("torch", "unscaled", "scaled_dot_product_attention(Q, K, V, scale=1.0)"),
        ("torch", "bias", "attn_mask=attn_mask"),
        ("jax", "causal top-left", "is_causal=True"),
        ("keras", "causal top-left", "use_causal_mask=True"),
        ("keras", "batch, lengths alone", "mask=[None, valid]"),
    ],
)
def test_the_frameworks_own_function_is_called(kind: str, name: str, call: str) -> None:
    assert call in text(kind, name)


@pytest.mark.parametrize("kind", ["numpy", "torch", "jax", "keras", "pytest"])
def test_no_token_label_or_link_can_leave_its_place(kind: str) -> None:
    hostile = '"""\nraise SystemExit("out")\n#'
    problem = bare(PROBLEMS["plain"])
    made = Problem(problem.q, problem.k, problem.v, query_labels=(hostile,) * 3, key_labels=(hostile,) * 5)
    program = write(kind, material(made, link="https://example.org/#text=" + hostile + "\\"))
    tree = ast.parse(str(program))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "SystemExit"]


def test_numbers_that_a_program_cannot_hold_are_refused() -> None:
    one = np.ones((1, 1))
    with pytest.raises(LabError, match="finite numbers in V"):
        write("numpy", material(Problem(one, one, np.array([[np.nan]]))))
    with pytest.raises(LabError, match="Keras computes in float32"):
        write("keras", material(Problem(one, one, np.array([[1e60]]))))
    with pytest.raises(LabError, match=r"save \.npz"):
        write("numpy", material(Problem(np.ones((1, 200_001)), np.ones((1, 200_001)), one)))


def test_a_large_stage_is_left_out_and_the_output_still_asserted(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    q, k, v = rng.standard_normal((70, 3)), rng.standard_normal((70, 3)), rng.standard_normal((70, 2))
    program = str(write("numpy", material(Problem(q, k, v, Options(causal="top-left")))))
    assert "too many to write out" in program
    _, printed = run(program, capsys)
    assert printed == "All 1 comparisons hold.\n"


GOOD = """
import numpy as np
def attention(q, k, v, keep=None, bias=None):
    x = q @ k.T / np.sqrt(q.shape[-1])
    if bias is not None: x = x + bias
    if keep is not None: x = np.where(keep, x, -np.inf)
    e = np.exp(x - x.max(-1, keepdims=True))
    w = e / e.sum(-1, keepdims=True)
    return RETURN
"""
BAD = {
    "no scaling": (" / np.sqrt(q.shape[-1])", ""),
    "softmax along the wrong axis": ("e.sum(-1", "e.sum(-2"),
    "changes its argument": ("    x = q", "    q *= 1.0; v += 1; v -= 2\n    x = q"),
    "shape": ("w @ v", "(w @ v).T"),
}


def run_pytest(folder: Path, name: str, attention: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_attention.py").write_text(text("pytest", name), encoding="utf-8")
    (folder / "my_attention.py").write_text(attention, encoding="utf-8")
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-rs",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            ".",
            "-c",
            os.devnull,
        ],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # as for a reader who has pytest alone
        capture_output=True,
        text=True,
    )


@pytest.mark.needs_cpython
@pytest.mark.parametrize(("returns", "outcome"), [("w @ v, w", "4 passed"), ("w @ v", "3 passed, 1 skipped")])
def test_the_pytest_file_passes_a_right_function(tmp_path: Path, returns: str, outcome: str) -> None:
    done = run_pytest(tmp_path, "plain", GOOD.replace("RETURN", returns))
    assert outcome in done.stdout, done.stdout


@pytest.mark.needs_cpython
def test_the_pytest_file_passes_masks_on(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, "finite bias", GOOD.replace("RETURN", "w @ v, w"))
    assert "4 passed" in done.stdout, done.stdout


@pytest.mark.needs_cpython
@pytest.mark.parametrize("mistake", sorted(BAD))
def test_the_pytest_file_fails_a_wrong_function(tmp_path: Path, mistake: str) -> None:
    attention = GOOD.replace("RETURN", "w @ v, w")
    assert BAD[mistake][0] in attention
    done = run_pytest(tmp_path, "plain", attention.replace(*BAD[mistake], 1))
    assert done.returncode == 1 and "failed" in done.stdout, done.stdout
    if mistake == "no scaling":
        assert "First at (0, 0) (from 0)" in done.stdout and LINK in done.stdout
