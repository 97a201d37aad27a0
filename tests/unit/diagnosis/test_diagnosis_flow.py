"""The steps that mistakes replace compute attention like core does, as long as nothing is replaced."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lab.core import Options, attend
from attention_lab.diagnosis.case import join
from attention_lab.diagnosis.flow import Label, base_state, run, single, softmax, stack
from attention_lab.diagnosis.mistakes import variants
from attention_lab.diagnosis.reading import LOGITS
from attention_lab.diagnosis.scale import set_scale
from attention_lab.diagnosis.setting import packed, setting_of, split

OPTIONS = st.builds(
    Options,
    scale=st.sampled_from(["sqrt_dk", "none", 0.3]),
    temperature=st.sampled_from([1.0, 2.0]),
    softcap=st.sampled_from([None, 1.5]),
    causal=st.sampled_from([None, "top-left", "bottom-right", -1, 2]),
    window=st.sampled_from([None, (1, 1), (2, None)]),
    empty_row=st.sampled_from(["zero", "nan", "uniform"]),
)


@settings(max_examples=60, deadline=None)
@given(
    OPTIONS,
    st.integers(0, 2**32 - 1),
    st.sampled_from([(), (3,), (2, 4), (2, 1, 4)]),
    st.integers(1, 6),
    st.integers(1, 6),
)
def test_unchanged_steps_agree_with_attend(
    options: Options, seed: int, lead: tuple[int, ...], n: int, m: int
) -> None:
    rng = np.random.default_rng(seed)
    kv_lead = (*lead[:-1], 2) if lead and lead[-1] == 4 else lead
    q, k, v = (
        rng.normal(size=(*lead, n, 3)),
        rng.normal(size=(*kv_lead, m, 3)),
        rng.normal(size=(*kv_lead, m, 2)),
    )
    keep = rng.random((n, m)) < 0.7 if seed % 2 else None
    bias = np.where(rng.random((n, m)) < 0.2, -np.inf, rng.normal(size=(n, m))) if seed % 3 else None
    trace = attend(q, k, v, options, keep=keep, bias=bias)
    state = base_state(setting_of(trace, kv_lead[-1] if kv_lead else None))
    for stage in (*LOGITS[:-2], "weights", "output"):
        ours = np.asarray(getattr(trace, stage), float)
        np.testing.assert_allclose(
            state[stage].reshape(ours.shape), ours, rtol=1e-12, atol=1e-13, err_msg=stage
        )


@pytest.mark.parametrize("lengths", [None, (3, 5)])
def test_packed_heads_agree_with_attend(lengths: tuple[int, ...] | None) -> None:
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(2, 4, 12)), rng.normal(size=(2, 5, 6)), rng.normal(size=(2, 5, 4))
    trace = attend(q, k, v, Options(heads=(4, 2), lengths=lengths))
    state = base_state(setting_of(trace, 2))
    np.testing.assert_allclose(packed(state["output"]), trace.output, atol=1e-14)
    assert state["own_k"].shape == (2, 2, 5, 3)


def test_split_undoes_packed() -> None:
    array = np.arange(24.0).reshape(1, 2, 3, 4)
    assert packed(array).shape == (1, 3, 8)
    np.testing.assert_array_equal(split(packed(array), 2), array)


def test_softmax_of_nothing_is_zero_and_of_nan_is_nan() -> None:
    rows = np.array([[-np.inf, -np.inf], [np.nan, 0.0], [0.0, 0.0], [1e4, 0.0]])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(softmax(rows), [[0, 0], [np.nan, np.nan], [0.5, 0.5], [1, 0]])


def test_stacked_parameters_give_what_each_alone_gives() -> None:
    rng = np.random.default_rng(1)
    q, k, v = rng.normal(size=(3, 2)), rng.normal(size=(4, 2)), rng.normal(size=(4, 2))
    setting = setting_of(attend(q, k, v, Options(causal="bottom-right")), None)
    base = base_state(setting)
    together = [single("scaled", set_scale, Label("S1"), 1.0), single("scaled", set_scale, Label("S2"), 0.5)]
    (both,) = stack(together)
    joint = run(setting, base, both, "output")["output"]
    assert joint.shape == (2, 1, 1, 3, 2)
    for place, alone in enumerate(together):
        np.testing.assert_array_equal(joint[place], run(setting, base, alone, "output")["output"][0])


def test_running_a_variant_leaves_the_base_untouched() -> None:
    rng = np.random.default_rng(2)
    q, k, v = (rng.normal(size=(2, 4, 12)) for _ in range(3))
    setting = setting_of(attend(q, k, v, Options(heads=(4, 4), causal="top-left", softcap=2.0)), 4)
    base = base_state(setting)
    before = {name: array.copy() for name, array in base.items() if isinstance(array, np.ndarray)}
    for variant in variants(setting):
        run(setting, base, variant, "output")
    for name, array in before.items():
        np.testing.assert_array_equal(base[name], array)


def test_a_pair_names_both_and_keeps_their_parameters() -> None:
    label = join(Label("H1", "after 3 cached keys", 0.2), Label("S1", scale=1.0))
    assert (label.id, label.detail, label.scale) == ("H1+S1", "H1: after 3 cached keys", 1.0)
