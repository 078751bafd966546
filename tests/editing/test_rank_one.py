"""Rank-one updates: the algebra, on small numbers."""

import numpy as np
import pytest

from ffnlib import editing

RNG = np.random.default_rng(5)
W2, KEY, CHANGE = RNG.normal(size=(6, 4)), RNG.normal(size=6), RNG.normal(size=4)
C = editing.key_covariance(RNG.normal(size=(50, 6)))


def test_the_updated_matrix_moves_its_key_by_exactly_the_change():
    np.testing.assert_allclose(KEY @ editing.rank_one_update(W2, KEY, CHANGE, C), KEY @ W2 + CHANGE, atol=1e-12)


def test_the_update_has_rank_one_and_leaves_its_inputs_alone():
    copies = [array.copy() for array in (W2, KEY, CHANGE, C)]
    assert np.linalg.matrix_rank(editing.rank_one_update(W2, KEY, CHANGE, C) - W2) == 1
    assert all(np.array_equal(a, b) for a, b in zip(copies, (W2, KEY, CHANGE, C)))


def test_with_the_covariance_the_keys_it_was_made_of_are_disturbed_least():
    keys = RNG.normal(size=(200, 6)) * [3, 1, 1, 1, 1, 0.1]
    covariance = editing.key_covariance(keys, ridge=0)
    disturbance = [
        np.square(keys @ (editing.rank_one_update(W2, KEY, CHANGE, matrix) - W2)).sum()
        for matrix in (covariance, None, covariance + 0.5 * np.eye(6))
    ]
    assert disturbance[0] == min(disturbance) and disturbance[1] > 2 * disturbance[0]


def test_without_covariance_the_direction_is_the_keys_own():
    np.testing.assert_allclose(editing.key_direction(KEY), KEY / (KEY @ KEY))


@pytest.mark.parametrize("key", [np.zeros(6), np.full(6, 1e-9), np.full(6, np.nan)])
def test_a_key_without_an_active_unit_is_refused(key):
    with pytest.raises(editing.ZeroKey, match="no unit fires"):
        editing.rank_one_update(W2, key, CHANGE, C)


def test_a_name_that_is_not_there_is_answered_with_those_that_are():
    with pytest.raises(AttributeError, match="it offers Edit, LARGEST_CHANGE"):
        editing.rome  # noqa: B018
    assert all(hasattr(editing, name) for name in editing.__all__) and set(editing.__all__) <= set(dir(editing))
