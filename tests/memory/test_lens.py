"""The lens and its parts: what the parts of a stream add is what the model says."""

import numpy as np
import pytest
import torch

from ffnlib import specimen
from ffnlib.memory import logit_lens, reading_direction, specimen_memories, sub_update_scores

EPS = 1e-5


@pytest.fixture(scope="module")
def weights():
    return {name: array.astype(np.float64) for name, array in specimen.arrays("plain").items()}


@pytest.fixture(scope="module")
def seen(weights):
    prompt = specimen.load_tokenizer().prompt("the capital of france is")
    return specimen.forward(weights, np.array(prompt))


def test_the_lens_on_the_last_stream_is_the_model(weights, seen):
    found = logit_lens(seen["3.residual"], weights["norm.gain"], weights["norm.bias"], weights["embedding"].T, EPS)
    assert np.allclose(found, seen["logits"], atol=1e-9)


def test_the_lens_is_layer_norm_and_a_product_in_torch():
    rng = np.random.default_rng(3)
    h, gamma, beta, W_U = rng.normal(size=(2, 5, 4)), rng.normal(size=4), rng.normal(size=4), rng.normal(size=(4, 7))
    tensors = [torch.from_numpy(array) for array in (h, gamma, beta, W_U)]
    wanted = torch.nn.functional.layer_norm(tensors[0], (4,), tensors[1], tensors[2], eps=0.1) @ tensors[3]
    assert np.allclose(logit_lens(h, gamma, beta, W_U, 0.1), wanted.numpy(), atol=1e-12)


def test_the_parts_of_the_stream_add_up_to_the_difference_of_two_logits(weights, seen):
    one, other = 17, 230
    wanted = weights["embedding"][one] - weights["embedding"][other]
    r = reading_direction(seen["3.residual"][-1], weights["norm.gain"], wanted, EPS)
    parts = seen["embedding"][-1] @ r + weights["norm.bias"] @ wanted
    for layer, memory in enumerate(specimen_memories(weights)):
        x = seen[f"{layer}.norm2"][-1]
        scores = sub_update_scores(memory, x, r)
        assert np.allclose(scores, memory.contributions(x) @ r, atol=1e-12)
        parts += seen[f"{layer}.attention"][-1] @ r + scores.sum() + memory.value_bias @ r
    assert parts == pytest.approx(seen["logits"][-1, one] - seen["logits"][-1, other], abs=1e-9)
