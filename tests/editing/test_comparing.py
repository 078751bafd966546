"""Correlations and shares of variance against other formulas and simulation."""

import numpy as np
import pytest

from ffnlib.editing import correlation, explained, gain_interval

RNG = np.random.default_rng(1)


def test_the_interval_holds_the_true_correlation_nineteen_times_in_twenty():
    truth, inside = 0.6, 0
    for _ in range(2000):
        x = RNG.normal(size=40)
        y = truth * x + np.sqrt(1 - truth**2) * RNG.normal(size=40)
        _, low, high = correlation(x, y)
        inside += low <= truth <= high
    assert inside / 2000 == pytest.approx(0.95, abs=0.02)  # four standard errors of 2000 tries


def test_the_correlation_is_the_cosine_of_what_differs_from_the_mean():
    x, y = RNG.normal(size=(2, 30))
    a, b = x - x.mean(), y - y.mean()
    assert correlation(x, y)[0] == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_pairs_with_nan_are_left_out():
    x, y = RNG.normal(size=(2, 10))
    assert correlation([*x, np.nan, 1], [*y, 2, np.nan]) == pytest.approx(correlation(x, y))


@pytest.mark.parametrize(
    ("x", "y"), [([1, 1, 1, 1], [1, 2, 3, 4]), ([1, 2, 3, 4], [0, 0, 0, 0]), ([1, 2, 3], [1, 3, 2])]
)
def test_without_variation_or_pairs_there_is_no_correlation(x, y):
    assert np.isnan(correlation(x, y)).all()


def test_within_groups_is_what_is_left_when_both_are_regressed_on_the_groups():
    groups = np.repeat(["a", "b", "c"], 20)
    x, y = RNG.normal(size=(2, 60)) + np.repeat([0, 5, -3], 20)
    dummies = np.array([groups == name for name in "abc"], dtype=float).T
    left = [values - dummies @ np.linalg.lstsq(dummies, values, rcond=None)[0] for values in (x, y)]
    assert correlation(x, y, groups)[0] == pytest.approx(np.corrcoef(*left)[0, 1])
    assert abs(correlation(x, y, groups)[0]) < 0.4 < 0.9 < correlation(x, y)[0]


def test_one_group_and_a_slope_explain_the_squared_correlation():
    x, y = RNG.normal(size=(2, 30))
    assert explained(y, ["all"] * 30, x) == pytest.approx(correlation(x, y)[0] ** 2)


def test_pooling_groups_makes_a_correlation_that_neither_group_has():
    groups = np.repeat(["a", "b"], 50)
    x, y = RNG.normal(size=(2, 100)) + 6 * (groups == "b")
    assert correlation(x, y)[1] > 0.8
    assert all(abs(correlation(x[groups == name], y[groups == name])[0]) < 0.4 for name in "ab")
    gain, low, high = gain_interval(y, groups, x, range(100), RNG)
    assert explained(y, groups) > 0.85 and 0 <= low <= high < 0.03 and gain < 0.02
