"""Arrays from a file become the values of a State: roles, layout, masks, results."""

from __future__ import annotations

import numpy as np

from attention_lab.compute import observed_of, view_of
from attention_lab.core import attend
from attention_lab.inputs.bundle import bundle
from attention_lab.state import State


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal(shape) for shape in ((1, 2, 5, 4), (1, 2, 7, 4), (1, 2, 7, 3)))
    keep = rng.random((5, 7)) < 0.7
    return {"q": q, "k": k, "v": v, "mask": keep, "out": attend(q, k, v, keep=keep).output}


def test_heads_first_arrays_are_taken_as_they_are() -> None:
    given = arrays()
    values = bundle(given).values()
    view = view_of(State().with_values(values))
    np.testing.assert_array_equal(view.trace.q, given["q"])
    np.testing.assert_array_equal(view.trace.output, given["out"])
    assert values["stage"] == "output"
    np.testing.assert_array_equal(observed_of(State().with_values(values)).values, given["out"])


def test_length_first_arrays_are_recognised_and_turned() -> None:
    given = arrays()
    turned = {name: np.swapaxes(a, 1, 2) if a.ndim == 4 else a for name, a in given.items()}
    found = bundle(turned)
    assert found.layout == "blhd"
    np.testing.assert_array_equal(view_of(State().with_values(found.values())).trace.output, given["out"])
    chosen = found.with_layout("bhld")
    assert chosen.values()["q"] != found.values()["q"]


def test_a_role_moves_and_leaves_its_old_array() -> None:
    found = bundle(arrays()).with_role("out", "q")
    assert found.roles["q"] == "out" and "out" not in found.roles
    assert "observed" not in found.values()
    assert "q" not in found.with_role("out", "").values()


def test_a_float_mask_is_a_bias() -> None:
    given = arrays()
    given["mask"] = np.where(given["mask"], 0.0, -np.inf)
    values = bundle(given).values()
    assert "keep" not in values
    np.testing.assert_array_equal(view_of(State().with_values(values)).trace.output, given["out"])


def test_log_sum_exp_has_its_stage() -> None:
    given = arrays() | {"lse": attend(*(arrays()[n] for n in "qkv")).log_sum_exp}
    del given["out"]
    assert bundle(given).values()["stage"] == "log_sum_exp"
