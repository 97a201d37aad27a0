"""Each verdict, its evidence and its sentence, on problems small enough to check by hand."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from attention_lab import diagnose, make_probe
from attention_lab.core import LabError, Options, attend
from attention_lab.diagnosis import diagnose_stages, diagnose_steps

RNG = np.random.default_rng(4)
Q, K, V = RNG.normal(size=(5, 3)), RNG.normal(size=(7, 3)), RNG.normal(size=(7, 2))
I2 = np.eye(2)
V2 = np.array([[1.0, 2.0], [3.0, 4.0]])


def soft(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_scale_missing_by_hand() -> None:
    """Q = K = I₂: scores 1 and 0, so the unscaled weights are e/(e + 1) = 0.7311 and 0.2689, and O₁₁ = 0.7311 + 3·0.2689."""
    e = np.e
    output = [[(e + 3) / (e + 1), (2 * e + 4) / (e + 1)], [(1 + 3 * e) / (e + 1), (2 + 4 * e) / (e + 1)]]
    result = diagnose(I2, I2, V2, output)
    assert result.verdict == "mistake"
    assert result.matches[0] == "S1"
    assert "L10" in result.matches and not result.separable  # unit vectors: cosines are the scores
    assert result.frameworks == ("Keras Attention",)
    assert result.effective_scale == 1.0
    stage, index, expected, observed = result.first_divergence or ("", (), 0.0, 0.0)
    assert (stage, index) == ("output", (0, 0))
    assert expected == pytest.approx(1.660477, abs=1e-6)
    assert observed == pytest.approx(1.537883, abs=1e-6)
    assert [place[0] for place in result.stages] == [
        "scaled",
        "tempered",
        "capped",
        "biased",
        "masked",
        "weights",
        "output",
    ]
    assert result.stages[0][1:] == ((0, 0), pytest.approx(0.70710678), 1.0)
    assert result.message.startswith("Your output is what comes out when the scores are not divided by √dₖ")
    assert "cannot tell it from" in result.message
    assert result.entries[0].numpy.startswith("scaled = ")


def test_the_effective_scale_is_fitted_when_only_the_scale_differs() -> None:
    for scale in (0.7303, 1.9, -0.4):
        for observed, stage in ((soft(Q @ K.T * scale) @ V, "output"), (soft(Q @ K.T * scale), "weights")):
            result = diagnose(Q, K, V, observed, stage=stage)
            assert result.matches == ("S9",)
            assert result.effective_scale == pytest.approx(scale, rel=1e-9)
    result = diagnose(Q, K, V, np.round(soft(Q @ K.T * 0.7303) @ V, 4), digits=4)
    assert result.matches == ("S9",)
    assert result.effective_scale == pytest.approx(0.7303, rel=2e-3)


def test_other_unknown_numbers_are_fitted() -> None:
    z = Q @ K.T / np.sqrt(3)
    sink = np.exp(z) / (np.exp(0.37) + np.exp(z).sum(-1, keepdims=True)) @ V
    assert diagnose(Q, K, V, sink).matches == ("X10",)
    assert "0.37" in diagnose(Q, K, V, sink).detail
    keep = np.tri(5, 7, 2).astype(bool)
    fill = diagnose(Q, K, V, soft(np.where(keep, z, -3.3)) @ V, keep=keep)
    assert (fill.matches, fill.detail) == (("M7",), "filled with -3.3")
    bias = RNG.normal(size=(5, 7))
    slope = diagnose(Q, K, V, soft(z + 1.7 * bias) @ V, bias=bias)
    assert (slope.matches, slope.detail) == (("A2",), "factor 1.7")
    kept = diagnose(Q, K, V, 0.83 * soft(z) @ V)
    assert (kept.matches, kept.detail) == (("D2",), "all weights times 0.83")


def test_dropout_is_recovered_from_the_weights_and_from_the_output() -> None:
    weights = soft(Q @ K.T / np.sqrt(3))
    kept = np.random.default_rng(0).random(weights.shape) > 0.37
    for observed, stage in ((weights * kept / 0.63, "weights"), (weights * kept / 0.63 @ V, "output")):
        result = diagnose(Q, K, V, observed, stage=stage)
        assert (result.matches, result.detail) == (("D1",), "p = 0.37")
    wide = np.random.default_rng(1).normal(
        size=(7, 9)
    )  # V of rank 7: the weights behind the output are known
    result = diagnose(Q, K, wide, soft(Q @ K.T) @ wide)
    assert result.recovered_weights is not None
    np.testing.assert_allclose(result.recovered_weights[0, 0], soft(Q @ K.T), atol=1e-10)


def test_two_mistakes_at_once_are_a_pair() -> None:
    keep = np.tri(5, 7, 2).astype(bool)
    strict = np.tri(5, 7, 1).astype(bool)
    result = diagnose(Q, K, V, soft(np.where(strict, Q @ K.T, -np.inf)) @ V, Options(causal="bottom-right"))
    assert result.matches[0] == "S1+M12"
    assert [entry.id for entry in result.entries] == ["S1", "M12"]
    assert "not divided by √dₖ and the causal mask also hides" in result.message
    result = diagnose(Q, K, V, np.round(soft(Q @ K.T / 3 + keep) @ V, 5), keep=keep, digits=5)
    assert result.matches[0] in ("S2+M8", "S4+M8")


def test_conventions_name_the_libraries() -> None:
    top_left = attend(Q, K, V, Options(causal="top-left")).output
    result = diagnose(Q, K, V, top_left, Options(causal="bottom-right"))
    assert (result.verdict, result.matches) == ("convention", ("M14",))
    assert "PyTorch SDPA" in result.frameworks and "FlashAttention" not in result.frameworks
    keep = np.ones((5, 7), bool)
    keep[2] = False
    for policy, library in (
        ("nan", "PyTorch nn.MultiheadAttention"),
        ("uniform", "JAX"),
        ("zero", "FlashAttention"),
    ):
        ours = Options(empty_row="uniform" if policy == "zero" else "zero")
        theirs = attend(Q, K, V, Options(empty_row=policy), keep=keep).output  # type: ignore[arg-type]
        result = diagnose(Q, K, V, theirs, ours, keep=keep)
        assert (result.verdict, result.matches[0]) == ("convention", "M21")
        assert library in result.frameworks
        assert result.first_divergence is not None and result.first_divergence[1][0] == 2
    window = Options(causal="top-left", window=(2, 0))
    narrower = attend(Q, K, V, Options(causal="top-left", window=(1, 0))).output
    result = diagnose(Q, K, V, narrower, window)
    assert (result.verdict, result.matches[0], result.frameworks) == ("convention", "M17", ("Hugging Face",))


def test_weights_averaged_over_heads_are_a_convention() -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(2, 4, 6)) for _ in range(3))
    options = Options(heads=(2, 2))
    result = diagnose(q, k, v, attend(q, k, v, options).weights.mean(1), options)
    assert (result.verdict, result.matches, result.stage) == ("convention", ("H4",), "weights")
    assert result.frameworks == ("PyTorch nn.MultiheadAttention",)


def test_one_wrong_number_is_inconsistent() -> None:
    """A published golden of three digits less than it shows: one weight ends in …05 instead of …15, nine digits in."""
    x = np.array([[1 / 4, 1 / 3], [7 / 12, 2 / 3], [11 / 12, 1]])
    weights = attend(x, x, x).weights.copy()
    weights[2, 2] -= 1e-9
    result = diagnose(x, x, x, weights, stage="weights")
    assert result.verdict == "inconsistent"
    assert result.first_divergence is not None and result.first_divergence[1] == (2, 2)
    assert result.message.startswith("One single number of your weights is wrong, at [2, 2]")
    output = np.round(attend(Q, K, V).output, 4)
    output[3, 1] += 0.01
    assert diagnose(Q, K, V, output, digits=4).verdict == "inconsistent"


def test_what_no_softmax_gives_is_inconsistent() -> None:
    rng = np.random.default_rng(7)
    mean = "each output is a mean of visible rows of V"
    outside = V.max(0) + rng.random((5, 2))
    result = diagnose(Q, K, V, outside)
    assert result.verdict == "inconsistent" and not result.matches
    assert {one.name: one.holds for one in result.invariants}[mean] is False
    assert mean in result.message
    inside = rng.dirichlet(np.ones(7), 5) @ V
    result = diagnose(Q, K, V, inside)
    assert result.verdict == "unknown"
    assert {one.name: one.holds for one in result.invariants}[mean] is True
    # In the box around a triangle, but not in the triangle.
    corner = diagnose(Q, K[:3], [[0, 0], [1, 0], [0, 1]], np.full((5, 2), 0.8))
    assert corner.verdict == "inconsistent"
    assert {one.name: one.detail for one in corner.invariants}[mean] == "broken in 5 rows, first row 0"
    sums = rng.random((5, 7))
    result = diagnose(Q, K, V, sums, stage="weights")
    assert result.verdict == "inconsistent"
    assert "each row sums to 1" in result.message


def test_what_nothing_explains_is_unknown_with_its_invariants() -> None:
    weights = np.random.default_rng(3).dirichlet(np.ones(7), size=5)
    result = diagnose(Q, K, V, weights, stage="weights")
    assert (result.verdict, result.matches) == ("unknown", ())
    assert result.invariants and all(one.holds for one in result.invariants)
    assert len(result.candidates) >= 3 and not any(one.fits for one in result.candidates)
    errors = [one.times for one in result.candidates]
    assert errors == sorted(errors)
    assert "differ first at [0, 0]" in result.message


def test_a_right_stage_beats_any_mistake() -> None:
    """Raw scores are what "no softmax and no scale" would give for weights, but they are right scores."""
    assert diagnose(Q, K, V, Q @ K.T).stage == "scores"
    assert diagnose(Q, K, V, Q @ K.T).verdict == "match"
    assert diagnose(Q, K, V, Q @ K.T / np.sqrt(3)).stage == "scaled"
    assert diagnose(Q, K, V, Q @ K.T / np.sqrt(3), stage="weights").matches[0] == "X4"
    assert diagnose(Q, K, V, attend(Q, K, V).log_sum_exp).stage == "log_sum_exp"


def test_every_stage_can_be_checked() -> None:
    options = Options(causal="bottom-right", softcap=2.0, temperature=2.0)
    bias = RNG.normal(size=(5, 7))
    trace = attend(Q, K, V, options, bias=bias)
    for stage in (
        "scores",
        "scaled",
        "tempered",
        "capped",
        "biased",
        "masked",
        "weights",
        "output",
        "log_sum_exp",
    ):
        array = getattr(trace, stage)
        for asked in ("auto", stage):
            result = diagnose(Q, K, V, array, options, bias=bias, stage=asked)
            assert (result.verdict, result.stage) == ("match", stage)
    finite = np.where(np.isneginf(trace.masked), -1e9, trace.masked)  # how much code writes −∞
    assert diagnose(Q, K, V, finite, options, bias=bias, stage="masked").verdict == "match"
    assert diagnose(Q, K, V, trace.scores / 3 / 2, options, bias=bias, stage="tempered").matches[0] in (
        "S2",
        "S4",
    )


def test_stages_together_show_where_it_begins() -> None:
    z = Q @ K.T
    arrays = {"output": soft(z) @ V, "scores": z, "scaled": z, "weights": soft(z)}
    results = diagnose_stages(Q, K, V, arrays)
    assert [result.stage for result in results] == ["scores", "scaled", "weights", "output"]
    assert [result.verdict for result in results] == ["match", "mistake", "mistake", "mistake"]
    assert results[1].matches[0] == "S1"
    with pytest.raises(LabError, match="stages must be among"):
        diagnose_stages(Q, K, V, {"logits": z})


def test_few_decimals_are_taken_as_rounded_when_nothing_else_fits() -> None:
    rounded = np.round(attend(Q, K, V).output, 4)
    result = diagnose(Q, K, V, rounded)
    assert result.verdict == "match"
    assert "taken as rounded to 4 decimals" in result.message
    result = diagnose(Q, K, V, np.round(soft(Q @ K.T) @ V, 3))
    assert result.matches[0] == "S1" and result.notes == ("taken as rounded to 3 decimals",)


def test_a_resolution_for_each_cell_is_the_tolerance() -> None:
    right = attend(Q, K, V).output
    half = np.full(right.shape, 0.5e-4)
    shown = np.round(right, 4)
    assert diagnose(Q, K, V, shown, resolution=half).verdict == "match"
    half[0, 0], shown[0, 0] = 0.05, round(float(right[0, 0]), 1)
    assert diagnose(Q, K, V, shown, resolution=half).verdict == "match"
    half[0, 0] = 0.5e-4
    assert diagnose(Q, K, V, shown, resolution=half).verdict == "inconsistent"


def test_layouts_that_people_use() -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(2, 3, 4, 5)) for _ in range(3))
    trace = attend(q, k, v)
    packed = trace.output.transpose(0, 2, 1, 3)
    assert diagnose(q, k, v, packed).notes == ("read as (batch, queries, heads, dv)",)
    assert diagnose(q, k, v, packed.reshape(2, 4, 15)).verdict == "match"
    assert diagnose(q, k, v, packed.reshape(2, 4, 15)).expected.shape == (2, 4, 15)
    assert diagnose(Q, K, V, attend(Q, K, V).output[None, None]).verdict == "match"
    assert diagnose(Q[None], K[None], V[None], attend(Q, K, V).output).verdict == "match"
    transposed = diagnose(Q, K, V, (soft(Q @ K.T) @ V).T)
    assert diagnose(Q, K, V, attend(Q, K, V).output.T).message.startswith(
        "Your output, read transposed, is right"
    )
    assert transposed.matches[0] == "S1" and transposed.notes == ("read transposed",)


def test_errors_name_the_field_and_the_shapes() -> None:
    with pytest.raises(
        LabError, match=r"shape 3×3; expected scores and weights 5×7, output 5×2, log-sum-exp 5"
    ) as caught:
        diagnose(Q, K, V, np.zeros((3, 3)))
    assert caught.value.field == "observed"
    with pytest.raises(LabError, match=r"expected output 5×2"):
        diagnose(Q, K, V, np.zeros((5, 7)), stage="output")
    for bad in ([[1, 2], [3]], [["a", "b"]], [], 1j * Q):
        with pytest.raises(LabError):
            diagnose(Q, K, V, bad)
    with pytest.raises(LabError, match="stage must be auto or one of") as caught:
        diagnose(Q, K, V, V, stage="logits")
    assert caught.value.field == "stage"
    for digits in (-1, 2.5, True):
        with pytest.raises(LabError, match="digits must be"):
            diagnose(Q, K, V, attend(Q, K, V).output, digits=digits)  # type: ignore[arg-type]
    with pytest.raises(LabError, match="resolution must fit"):
        diagnose(Q, K, V, attend(Q, K, V).output, resolution=np.zeros(3))


@pytest.mark.parametrize("spoil", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite(spoil: float) -> None:
    output = attend(Q, K, V).output.copy()
    output[1] = spoil
    result = diagnose(Q, K, V, output)
    assert result.verdict == "inconsistent"
    assert not result.matches
    assert result.first_divergence is not None and result.first_divergence[1] == (1, 0)
    everything = diagnose(Q, K, V, np.full((5, 2), spoil))
    assert everything.verdict == "inconsistent"
    keep = np.tri(5, 7, 2).astype(bool)
    masked = diagnose(Q, K, V, np.full((5, 2), np.nan), keep=keep)
    assert masked.matches[0] == "M9"


def test_errors_in_three_units_and_by_atol_and_rtol() -> None:
    observed = soft(Q @ K.T) @ V
    result = diagnose(Q, K, V, observed)
    right = attend(Q, K, V).output
    np.testing.assert_allclose(result.absolute_error, np.abs(observed - right), rtol=1e-12)
    np.testing.assert_allclose(result.relative_error, np.abs(observed / right - 1), rtol=1e-9)
    np.testing.assert_allclose(
        result.ulp_error, np.abs(observed - right) / np.spacing(np.abs(right).astype(np.float32)), rtol=1e-6
    )
    np.testing.assert_array_equal(
        result.beyond(1e-2, 1e-2), ~np.isclose(observed, right, atol=1e-2, rtol=1e-2)
    )


def test_in_pieces_it_reports_progress_and_the_same_result() -> None:
    steps = diagnose_steps(Q, K, V, np.random.default_rng(0).normal(size=(5, 2)), Options(causal="top-left"))
    fractions = []
    while True:
        try:
            fractions.append(next(steps))
        except StopIteration as end:
            result = end.value
            break
    assert fractions == sorted(fractions) and fractions[0] >= 0 and fractions[-1] < 1
    assert len(fractions) > 50
    assert result.verdict == "inconsistent"


def test_degenerate_problems() -> None:
    one = np.ones((1, 1))
    assert diagnose(one, one, one, one).verdict == "match"
    assert diagnose(one, one, one, [[2.0]]).verdict in ("mistake", "inconsistent")
    assert diagnose(Q * 0, K, V, np.broadcast_to(V.mean(0), (5, 2))).verdict == "match"
    assert diagnose(Q, K, np.ones((7, 2)), np.ones((5, 2))).verdict == "match"
    assert diagnose(Q, Q, Q, attend(Q, Q, Q).output).verdict == "match"


def test_no_numbers_break_it() -> None:
    """Huge, tiny, constant and half-missing numbers at every stage: a verdict with a sentence, never another error."""
    trace = attend(Q, K, V, Options(causal="bottom-right"))
    for stage in ("scores", "masked", "weights", "output", "log_sum_exp"):
        right = np.array(getattr(trace, stage), float)
        holes = np.where(np.arange(right.size).reshape(right.shape) % 3 == 0, np.nan, right)
        cases = [np.full(right.shape, x) for x in (0.0, 1.0, 1e308, -1e308, 1e-320)]
        for numbers in (*cases, holes, right * 1e6, np.nan_to_num(right) + 1e300):
            for digits in (None, 0, 12):
                result = diagnose(
                    Q, K, V, numbers, Options(causal="bottom-right"), stage=stage, digits=digits
                )
                assert result.message.endswith(".")
                assert result.absolute_error.shape == result.ulp_error.shape == numbers.shape


@pytest.mark.filterwarnings("error")
def test_overflow_inside_never_reaches_the_caller() -> None:
    before = np.geterr()
    for _ in diagnose_steps(Q * 1e150, K * 1e150, V, np.full((5, 2), 1e308)):
        assert np.geterr() == before


def test_a_diagnosis_imports_no_more_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page has numpy.ma and numpy.random only after another download."""

    def loaded() -> list[str]:
        return [name for name in sys.modules if name.split(".")[:2] in (["numpy", "ma"], ["numpy", "random"])]

    for name in loaded():
        monkeypatch.delitem(sys.modules, name)
    for name in {"ma", "random"} & set(vars(np)):  # asking with hasattr would import them
        monkeypatch.delattr(np, name)
    wide = np.eye(7)
    for numbers in (np.ones((5, 2)) / 3, soft(Q @ K.T) @ V, V[:5] * 2):
        diagnose(Q, K, V, numbers, Options(causal="bottom-right"))
    diagnose(Q, K, wide, soft(Q @ K.T) @ wide)
    make_probe(1)
    assert not loaded()
