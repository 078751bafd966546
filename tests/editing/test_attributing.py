"""Attribution adds up along its way, agrees with finite differences, and silencing silences."""

from functools import lru_cache

import numpy as np
import pytest
import torch

from ffnlib import editing, specimen
from ffnlib.specimen.model import intervene
from ffnlib.specimen.tokenizer import load_tokenizer

PROMPT, PARIS = load_tokenizer().prompt("the capital of france is"), load_tokenizer().number["paris"]


@lru_cache(maxsize=1)
def plain():
    return specimen.load("plain")


def probability(factor, layer):
    """The probability of paris with the coefficients of one layer at the last token multiplied."""

    def scale(hidden):
        hidden = hidden.clone()
        hidden[:, -1] *= factor
        return hidden

    with torch.no_grad(), intervene(plain(), {f"{layer}.hidden": scale}):
        return plain()(torch.tensor([PROMPT]))[0, -1].softmax(-1)[PARIS].item()


@pytest.mark.parametrize("layer", range(4))
def test_attributions_of_a_layer_add_up_to_what_its_coefficients_add(layer):
    found = editing.attribution(plain(), [PROMPT], PARIS, steps=400)[layer].sum()
    # the mean over 400 points is within about a two-hundredth of the integral
    assert found == pytest.approx(probability(1, layer) - probability(0, layer), abs=0.01)


def test_silent_units_have_no_attribution():
    key = editing.keys_at_last_token(plain(), 3, [PROMPT])[0]
    assert not editing.attribution(plain(), [PROMPT], PARIS)[3][key == 0].any()


def test_attribution_is_the_mean_over_the_prompts():
    other = load_tokenizer().prompt("for france the capital is")
    together = editing.attribution(plain(), [PROMPT, other], PARIS)
    apart = [editing.attribution(plain(), [one], PARIS) for one in (PROMPT, other)]
    np.testing.assert_allclose(together, np.mean(apart, axis=0), atol=1e-6)


def test_silenced_units_are_zero_at_every_token_and_others_are_not_touched():
    units = [(1, 3), (3, 0), (3, 7)]
    with torch.no_grad(), intervene(plain(), {"1.hidden": None, "3.hidden": None}) as before:
        plain()(torch.tensor([PROMPT]))
    with torch.no_grad(), intervene(plain(), editing.silence(units)) as after:
        plain()(torch.tensor([PROMPT]))
    assert not after["1.hidden"][..., 3].any() and not after["3.hidden"][..., [0, 7]].any()
    kept = [unit for unit in range(512) if unit != 3]
    torch.testing.assert_close(after["1.hidden"][..., kept], before["1.hidden"][..., kept])


def test_the_comparison_draws_firing_units_of_the_same_layers_and_none_of_the_fact_s():
    fires = np.zeros((3, 6), dtype=bool)
    fires[0, :4], fires[2, :3] = True, True
    drawn = editing.others_that_fire(fires, [(0, 0), (0, 1), (2, 2)], np.random.default_rng(0))
    assert sorted(drawn[:2]) == [(0, 2), (0, 3)] and drawn[2] in [(2, 0), (2, 1)]
