"""Promoted words and agreement, against loops and against dealing the triggers anew."""

import numpy as np
import pytest
import torch

from ffnlib.memory import Reading, agreement, promoted, value_distribution


def test_the_distribution_is_the_softmax_of_torch():
    rng = np.random.default_rng(2)
    v, E = rng.normal(size=4), rng.normal(size=(9, 4))
    assert np.allclose(value_distribution(v, E), torch.softmax(torch.from_numpy(E @ v), 0), atol=1e-12)
    assert promoted(v, E, 9).tolist() == sorted(range(9), key=lambda word: -value_distribution(v, E)[word])


def test_words_are_promoted_value_by_value():
    values, E = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    assert promoted(values, E, 2).tolist() == [[0, 2], [2, 1]]


@pytest.fixture
def drawn():
    rng = np.random.default_rng(7)
    words, units, n = 6, 40, 300
    E, values = np.eye(words), rng.normal(size=(units, words)) + np.array([1.5, 0.5, 0, 0, 0, 0])
    coefficients = np.maximum(0, rng.normal(size=(n, units)) - 1)
    coefficients[:, :3] = 0  # three units that never fire
    following = rng.choice(words, size=n, p=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    return (
        coefficients,
        values,
        E,
        Reading(tuple((0, i) for i in range(n)), following, np.arange(n), np.zeros((1, n, 1))),
    )


def test_agreement_is_counted_over_the_units_that_fire(drawn):
    coefficients, values, E, reading = drawn
    hits = [
        int(np.argmax(E @ values[unit])) == reading.following[int(np.argmax(coefficients[:, unit]))]
        for unit in range(40)
        if coefficients[:, unit].any()
    ]
    found = agreement(*drawn)
    assert found.units == len(hits) == 37 and found.rate == np.mean(hits)


def test_chance_is_what_dealing_the_triggers_anew_gives(drawn):
    coefficients, values, E, reading = drawn
    best = np.argmax(values @ E.T, axis=1)[3:]
    follows = reading.following[coefficients[:, 3:].argmax(axis=0)]
    rng = np.random.default_rng(0)
    dealt = [np.mean(best == rng.permutation(follows)) for _ in range(4000)]
    found = agreement(*drawn)
    # 4,000 deals of deviation 0.05: their mean is known to 0.0008, their deviation to 1.1 %; five times that
    assert found.chance == pytest.approx(np.mean(dealt), abs=0.004)
    assert found.deviation == pytest.approx(np.std(dealt), rel=0.056)


def test_values_that_say_what_follows_agree_always():
    following = np.array([2, 0, 1])
    reading = Reading(((0, 1), (0, 2), (0, 3)), following, np.arange(3), np.zeros((1, 3, 1)))
    found = agreement(np.eye(3), np.eye(3)[following], np.eye(3), reading)
    assert (found.rate, found.chance) == (1.0, pytest.approx(1 / 3))
