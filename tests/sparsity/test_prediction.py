"""A predictor of less rank guesses which units fire, and says what it costs."""

import numpy as np
import pytest

from ffnlib.sparsity import Predictor, fitted_predictor, recall, threshold_for
from ffnlib.sparsity.prediction import closest_predictor


@pytest.fixture(scope="module")
def layer_of_low_rank():
    """Inputs, W1 and b1 whose scores lie near a space of four dimensions, and what fires."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 16)).astype(np.float32)
    W1 = (rng.normal(size=(16, 4)) @ rng.normal(size=(4, 64)) + 0.1 * rng.normal(size=(16, 64))).astype(np.float32)
    b1 = np.full(64, -4, np.float32)
    return x, W1, b1, x @ W1 + b1 > 0


def test_the_full_rank_gives_the_scores_themselves(layer_of_low_rank):
    x, W1, b1, _ = layer_of_low_rank
    np.testing.assert_allclose(closest_predictor(x, W1, b1, 16).scores(x), x @ W1 + b1, atol=1e-3)


def test_no_matrix_of_that_rank_comes_closer(layer_of_low_rank):
    x, W1, b1, _ = layer_of_low_rank
    error = np.linalg.norm(closest_predictor(x, W1, b1, 3).scores(x) - b1 - x @ W1)
    # Eckart and Young, on the scores themselves; the small ridge costs less than 1e-3 of it
    smallest = np.linalg.norm(np.linalg.svd(x @ W1, compute_uv=False)[3:])
    assert smallest * (1 - 1e-5) <= error <= smallest * 1.001


def test_training_finds_what_fires_and_reads_less_than_before(layer_of_low_rank):
    x, W1, b1, fires = layer_of_low_rank
    read = []
    for predictor in (closest_predictor(x, W1, b1, 3), fitted_predictor(x, fires, W1, b1, 3)):
        predicted = predictor.scores(x) >= threshold_for(predictor.scores(x), fires, 0.95)
        assert recall(predicted, fires) == pytest.approx(0.95, abs=0.01)
        read.append(predicted.mean())
    assert fires.mean() < read[1] < read[0] < 0.5


def test_the_cost_is_the_share_of_the_layers_multiply_adds():
    predictor = Predictor(np.zeros((8, 2)), np.zeros((2, 32)), np.zeros(32))
    assert predictor.cost == (8 * 2 + 2 * 32) / (2 * 8 * 32)


def test_all_that_fire_are_above_the_threshold_when_all_are_wanted():
    scores, fires = np.array([[0.1, 0.2], [0.3, 0.0]]), np.array([[True, True], [False, False]])
    assert np.all((scores >= threshold_for(scores, fires, 1.0))[fires])
