"""Triggers and what they share, on readings small enough to see."""

import numpy as np
import pytest

from ffnlib.memory import Memory, Reading, mixed_keys, shared_label, shared_tokens, top_triggers, triggers

PREFIXES = ((0, 1), (0, 1, 2), (0, 3, 2), (0, 1, 4), (0, 3, 4, 2), (0, 3, 1, 2))
SENTENCE = np.array([0, 0, 1, 2, 3, 3])


@pytest.fixture
def reading():
    return Reading(PREFIXES, np.zeros(6, dtype=int), SENTENCE, np.zeros((1, 6, 2)))


def test_top_triggers_agree_with_a_sorted_list():
    H = np.random.default_rng(0).normal(size=(40, 3))
    wanted = sorted(range(40), key=lambda token: -H[token, 1])[:7]
    assert top_triggers(H, 1, 7).tolist() == wanted


def test_triggers_fire_and_come_from_different_sentences(reading):
    found = triggers(np.array([1.0, 5.0, 0.0, 2.0, 3.0, 4.0]), reading, 3)
    assert found.tolist() == [1, 5, 3]  # 0 is of the sentence of 1, 4 of that of 5, and on 2 the unit is silent
    assert triggers(np.zeros(6), reading).tolist() == []
    assert triggers(np.array([0, 0, 0, 0, 0, 2.0]), reading, 20).tolist() == [5]


def test_triggers_are_those_of_a_plain_loop():
    rng = np.random.default_rng(1)
    n = 3000
    for sentences in (5, 40, 1500):  # so few that the strongest hundreds do not hold enough of them, and plenty
        sentence = rng.integers(0, sentences, size=n)
        long = Reading(tuple((0, i) for i in range(n)), np.zeros(n, dtype=int), sentence, np.zeros((1, n, 1)))
        coefficient = rng.normal(size=n) + 0.5 * (sentence % 5 == 0)
        wanted, seen = [], set()
        for token in np.argsort(-coefficient):
            if coefficient[token] > 0 and sentence[token] not in seen and len(wanted) < 20:
                wanted.append(token)
                seen.add(sentence[token])
        assert triggers(coefficient, long).tolist() == wanted


def test_shared_tokens_count_the_last_and_the_one_before(reading):
    assert shared_tokens(reading, np.array([1, 2, 4, 3])) == (0.75, 0.5)
    assert shared_tokens(reading, np.array([0])) == (1.0, 1.0)


def test_a_label_is_counted_by_sentence_and_can_be_left_out(reading):
    labels = ("prose", "prose", "capital", "capital")
    assert shared_label(labels, reading, np.array([1, 2, 3, 5])) == 0.5
    assert shared_label(labels, reading, np.array([1, 2, 3]), besides=("prose",)) == pytest.approx(1 / 3)
    assert shared_label(labels, reading, np.array([1, 2]), besides=("prose",)) == 0.0


def test_mixed_keys_have_the_covariance_of_the_keys():
    rng = np.random.default_rng(5)
    keys = rng.normal(size=(50, 3)) * [1.0, 2.0, 5.0]
    mixed = mixed_keys(Memory(keys, np.zeros(50), keys, np.zeros(3)), rng, 20_000)
    # 20,000 draws: a second moment is known to about 1 %, five deviations are 5 %
    assert np.allclose(mixed.T @ mixed / 20_000, keys.T @ keys / 50, atol=0.05 * 25)
    assert np.allclose(np.diag(mixed.T @ mixed) / 20_000, np.diag(keys.T @ keys) / 50, rtol=0.06)
