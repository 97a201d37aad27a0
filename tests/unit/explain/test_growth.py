"""The √d experiment: what it measures, that its draws are sound, and that a seed decides everything."""

from __future__ import annotations

import numpy as np
import pytest

from attention_lab.core import LabError
from attention_lab.explain.growth import (
    DIMENSIONS,
    DISTRIBUTIONS,
    FACES,
    QUERIES,
    Experiment,
    average_largest_weight,
    growth,
    random_bits,
)


def test_the_dimensions_run_from_4_to_4096_with_at_least_2000_queries() -> None:
    assert DIMENSIONS == (4, 16, 64, 256, 1024, 4096)
    assert growth().queries == QUERIES >= 2000


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.parametrize("distribution", ["normal", "uniform", "three"])
def test_eight_keys_of_variance_one_half(seed: int, distribution: str) -> None:
    """Without the division the largest weight goes from 0.34 to 0.965; with it, it stays near 0.23."""
    points = growth(seed, 8, distribution).points
    assert points[0].largest_raw == pytest.approx(0.34, abs=0.02)
    assert points[-1].largest_raw == pytest.approx(0.965, abs=0.02)
    raw = [point.largest_raw for point in points]
    assert raw == sorted(raw)
    assert all(point.largest_scaled == pytest.approx(0.23, abs=0.02) for point in points)


@pytest.mark.parametrize("distribution", list(DISTRIBUTIONS))
def test_the_deviation_is_the_variance_times_the_root_of_d(distribution: str) -> None:
    result = growth(0, 8, distribution)
    for point in result.points:
        assert point.expected == result.variance * point.d**0.5
        assert point.deviation == pytest.approx(point.expected, rel=0.03)
    assert result.constant == pytest.approx(result.variance, rel=0.015)


@pytest.mark.parametrize("distribution", list(DISTRIBUTIONS))
def test_entries_have_mean_zero_and_the_variance_they_claim(distribution: str) -> None:
    chosen = DISTRIBUTIONS[distribution]
    faces = chosen.faces()
    assert faces.shape == (FACES,)
    assert abs(faces.mean()) < 1e-12
    # the shape is what matters here; growth() sets the variance
    scaled = faces * np.sqrt(chosen.variance / np.mean(faces**2))
    assert np.mean(scaled**2) == pytest.approx(chosen.variance, rel=1e-12)


def test_the_normal_table_has_normal_quantiles() -> None:
    faces = DISTRIBUTIONS["normal"].faces()
    for share, quantile in ((0.8413447461, 1.0), (0.9772498681, 2.0), (0.5, 0.0), (0.0227501319, -2.0)):
        assert faces[round(share * FACES) - (share == 1)] == pytest.approx(quantile, abs=2e-3)


def test_the_generator_gives_the_published_outputs_of_splitmix64() -> None:
    """The first outputs for seed 1234567, as other implementations of the algorithm give them."""
    assert random_bits(1234567, 0, 5).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert random_bits(1234567, 3, 2).tolist() == [4593380528125082431, 16408922859458223821]


def test_a_seed_decides_everything_and_another_seed_differs() -> None:
    growth.cache_clear()
    first = growth(5, 4, "uniform")
    growth.cache_clear()
    assert growth(5, 4, "uniform") == first
    assert growth(6, 4, "uniform") != first


@pytest.mark.parametrize("keys", [2, 64])
def test_the_number_of_keys_can_be_changed(keys: int) -> None:
    points = growth(0, keys).points
    assert all(1 / keys <= point.largest_scaled <= point.largest_raw <= 1 for point in points[1:])


def test_the_average_largest_weight_of_known_rows() -> None:
    assert average_largest_weight(np.zeros((3, 8))) == 1 / 8
    assert average_largest_weight(np.array([[0.0, np.log(3)]])) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("arguments", "field", "message"),
    [
        ((-1, 8, "normal"), "growth-seed", "0 to 999999999; got -1"),
        ((0, 1, "normal"), "growth-keys", "2 to 64; got 1"),
        ((0, 65, "normal"), "growth-keys", "2 to 64; got 65"),
        ((0, 8, "cauchy"), "growth-values", "three, normal, uniform, signs; got “cauchy”"),
    ],
)
def test_arguments_out_of_range_are_refused(
    arguments: tuple[int, int, str], field: str, message: str
) -> None:
    with pytest.raises(LabError, match=message) as caught:
        growth(*arguments)
    assert caught.value.field == field


def test_in_portions_it_gives_the_same_figures_as_at_once() -> None:
    experiment = Experiment(3, 8, "signs")
    portions = 0
    while not experiment.done:
        experiment.advance()
        portions += 1
    assert experiment.result == growth(3, 8, "signs")
    assert portions > 20, "no portion may be long enough to be felt"
