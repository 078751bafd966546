"""Causal tracing: what must come back does, what cannot does not."""

from functools import lru_cache

import numpy as np
import pytest
import torch

from ffnlib import editing, specimen
from ffnlib.specimen.tokenizer import load_tokenizer

PROMPT, PARIS = load_tokenizer().prompt("the capital of france is"), load_tokenizer().number["paris"]


@lru_cache(maxsize=1)
def found():
    return editing.trace(specimen.load("plain"), PROMPT, (4, 4), PARIS)


def test_the_shapes_are_layers_by_places():
    assert {site: value.shape for site, value in found().restored.items()} == dict.fromkeys(
        ("ffn", "attention", "residual"), (4, 6)
    )


def test_without_the_subject_the_answer_is_lost():
    assert found().clean > 0.9 and found().disturbed < 0.5


def test_the_residual_stream_after_the_last_layer_brings_everything_back_at_the_last_token():
    assert found().restored["residual"][3, -1] == pytest.approx(found().clean, abs=1e-5)


def test_after_the_last_layer_no_other_place_is_read_any_more():
    np.testing.assert_allclose(found().restored["residual"][3, :-1], found().disturbed, atol=1e-5)


def test_places_before_the_subject_hold_nothing_of_it():
    for value in found().restored.values():
        np.testing.assert_allclose(value[:, :4], found().disturbed, atol=1e-5)


def test_some_places_alone_give_the_same_numbers_as_all():
    some = editing.trace(specimen.load("plain"), PROMPT, (4, 4), PARIS, sites=("ffn",), places=(5, 4))
    np.testing.assert_allclose(some.restored["ffn"], found().restored["ffn"][:, [5, 4]], atol=1e-6)


def test_noise_falls_on_the_subject_alone_and_has_its_size():
    model = specimen.load("plain")
    noise = editing.subject_noise(model, 6, (2, 3), draws=50, noise=2.0)
    assert not noise[:, [0, 1, 4, 5]].any()
    # 12,800 draws: the deviation is known to about half a percent
    assert noise[:, 2:4].std().item() == pytest.approx(2 * model.embedding.std().item(), rel=0.03)
    assert torch.equal(noise, editing.subject_noise(model, 6, (2, 3), draws=50, noise=2.0))
