"""Intervals and the test of equivalence, against printed tables and against simulated experiments."""

import numpy as np
import pytest

from ffnlib.scaling.differences import Difference, difference, prediction_half_width, student_t


@pytest.mark.parametrize(
    ("share", "freedom", "table"),
    [(0.95, 5, 2.571), (0.90, 5, 2.015), (0.95, 7, 2.365), (0.90, 7, 1.895), (0.95, 2, 4.303), (0.95, 30, 2.042)],
)
def test_student_agrees_with_the_printed_table(share, freedom, table):
    assert student_t(share, freedom) == pytest.approx(table, abs=6e-4)  # the table has three decimals


def test_a_difference_is_in_percent_and_within_a_seed():
    found = difference({0: 2.2, 1: 3.3, 9: 7.0}, {1: 3.0, 0: 2.0})
    assert found.by_seed == (10.0, 10.0)


def test_mean_and_error_by_hand():
    found = Difference((1.0, 2.0, 3.0))
    assert found.mean == 2
    assert found.error == pytest.approx(1 / 3**0.5)  # standard deviation 1, three seeds
    assert found.half_width() == pytest.approx(4.303 / 3**0.5, abs=1e-3)
    assert found.sigmas == pytest.approx(2 * 3**0.5)


def test_equivalence_is_the_ninety_percent_interval_inside_the_margin():
    found = Difference((0.1, 0.2, 0.3, 0.2, 0.1, 0.3))
    edge = found.mean + found.half_width(0.90)
    assert found.within(edge + 1e-6)
    assert not found.within(edge - 1e-6)
    assert Difference(tuple(-x for x in found.by_seed)).within(edge + 1e-6)


def test_a_wide_interval_shows_nothing():
    noisy = Difference((-3.0, 3.0, -2.0, 2.0, -1.0, 1.0))
    assert not noisy.excludes_zero()
    assert not noisy.within(1.0)


def test_ninety_five_of_a_hundred_intervals_hold_the_truth():
    rng = np.random.default_rng(0)
    experiments = [Difference(tuple(rng.normal(0.7, 0.5, 6))) for _ in range(2000)]
    held = np.mean([abs(found.mean - 0.7) <= found.half_width() for found in experiments])
    assert held == pytest.approx(0.95, abs=0.015)  # three standard errors of a share of 2000


def test_equivalence_is_granted_at_the_margin_in_five_of_a_hundred_at_most():
    rng = np.random.default_rng(1)
    granted = np.mean([Difference(tuple(rng.normal(1.0, 0.3, 6))).within(1.0) for _ in range(2000)])
    assert granted < 0.05 + 0.015


def test_one_more_run_falls_into_the_prediction_interval():
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(2000):
        *seen, new = rng.normal(3.0, 0.1, 7)
        inside += abs(new - np.mean(seen)) <= prediction_half_width(seen)
    assert inside / 2000 == pytest.approx(0.95, abs=0.015)
