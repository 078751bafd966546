"""Rank-one edits: the algebra on small numbers, and both shipped models under real edits."""

import numpy as np
import pytest
import torch

from ffnlib import editing, specimen
from ffnlib.specimen import trial
from ffnlib.specimen.tokenizer import load_tokenizer

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


def test_an_edit_is_undone_to_the_last_bit_even_after_an_error():
    model = specimen.load("plain")
    before = model.blocks[3].ffn.W2.clone()
    edit = editing.Edit(3, np.ones(512), np.ones(128), np.zeros((512, 128), dtype=np.float32))
    with pytest.raises(RuntimeError), editing.edited(model, edit):
        assert not model.blocks[3].ffn.W2.any()
        raise RuntimeError
    assert torch.equal(model.blocks[3].ffn.W2, before)


def test_a_kind_without_questions_scores_nan():
    assert np.isnan(editing.score(specimen.load("plain"), {"none": []})["none"])


def test_the_value_found_makes_the_target_follow():
    model, number = specimen.load("plain"), load_tokenizer().number
    prompts = [load_tokenizer().prompt(text) for text in ("the capital of france is", "for france the capital is")]
    edit = editing.rank_one_edit(model, 3, prompts, number["rome"])
    with editing.edited(model, edit):
        scores = editing.score(model, {"fitted": [(prompt, number["rome"]) for prompt in prompts]})
    assert scores == {"fitted": 1.0}
    assert editing.score(model, {"now": [(prompts[0], number["paris"])]}) == {"now": 1.0}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "sparse"])
def test_an_edit_in_the_last_layer_keeps_nine_tenths_of_its_neighbours(name):
    rows = trial.trial(specimen.load(name), n=14)
    scores = trial.mean_scores(rows)
    assert scores["fitted"] >= 0.95 and scores["wordings"] >= 0.9
    assert scores["neighbours"] >= 0.9  # 14 edits, 40 neighbours each; the card has 70 edits
    assert sum(row["zero_key"] for row in rows) == 0
