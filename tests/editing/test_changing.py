"""Edits of the shipped model: found, written, undone, refused; and the recorded pass they are tried on."""

from functools import lru_cache

import numpy as np
import pytest
import torch

from ffnlib import editing, specimen
from ffnlib.specimen.batches import padded
from ffnlib.specimen.tokenizer import load_tokenizer

prompt, number = load_tokenizer().prompt, load_tokenizer().number
PROMPTS = [prompt(text) for text in ("the capital of france is", "for france the capital is")]


@lru_cache(maxsize=1)
def plain():
    return specimen.load("plain")


def test_an_edit_is_undone_to_the_last_bit_even_after_an_error():
    before = plain().blocks[3].ffn.W2.clone()
    edit = editing.Edit(3, np.ones(512), np.ones(128), np.full((512, 128), np.nan, dtype=np.float32))
    with pytest.raises(RuntimeError), editing.edited(plain(), edit):
        assert plain().blocks[3].ffn.W2.isnan().all()
        raise RuntimeError
    assert torch.equal(plain().blocks[3].ffn.W2, before)


def test_the_value_found_makes_the_target_follow():
    edit = editing.rank_one_edit(plain(), 3, PROMPTS, number["rome"])
    with editing.edited(plain(), edit):
        scores = editing.score(plain(), {"fitted": [(prompt, number["rome"]) for prompt in PROMPTS]})
    assert scores == {"fitted": 1.0}
    assert editing.score(plain(), {"now": [(PROMPTS[0], number["paris"])]}) == {"now": 1.0}


def test_finding_an_edit_leaves_the_model_as_it_was():
    before = [parameter.clone() for parameter in plain().parameters()]
    editing.rank_one_edit(plain(), 1, PROMPTS, number["rome"])
    assert all(torch.equal(a, b) for a, b in zip(before, plain().parameters()))


def test_many_values_at_once_are_those_found_one_by_one():
    more = [prompt("the capital of italy is"), prompt("the capital of spain is")]
    recorded, targets = editing.record(plain(), 2, [*PROMPTS, *more]), torch.tensor([number["rome"], number["paris"]])
    together = editing.value_changes(plain(), recorded, recorded.last, torch.tensor([0, 0, 1, 1]), targets)
    for found, prompts, target in zip(together, (PROMPTS, more), targets.tolist()):
        alone = editing.value_change(plain(), 2, prompts, target)
        np.testing.assert_allclose(found, alone, atol=1e-3)  # Adam divides by roots of tiny squares: rounding shows


def test_what_is_to_be_kept_changes_less():
    target = torch.tensor([number["rome"]])
    spoken = [prompt("the language of france is")]
    recorded, keep = editing.record(plain(), 1, PROMPTS), editing.record(plain(), 1, spoken)
    at, owner = torch.tensor([4, 2]), torch.zeros(2, dtype=torch.long)
    places = torch.tensor([4])

    def drift(change):
        row = (torch.arange(keep.residual.shape[1]) == places[:, None])[..., None] * change
        after = editing.finish(plain(), keep, keep.residual + row)
        return (after - editing.finish(plain(), keep)).abs().max().item()

    free = editing.value_changes(plain(), recorded, at, owner, target)
    bound = editing.value_changes(plain(), recorded, at, owner, target, keep=(keep, places, owner[:1]))
    assert drift(bound[0]) < drift(free[0])


def test_an_edit_as_large_as_the_matrix_is_refused_with_its_size():
    with pytest.raises(editing.TooLarge, match=r"W2 of layer 3 would change by .* more than 0.001"):
        editing.rank_one_edit(plain(), 3, PROMPTS, number["rome"], largest=1e-3)


def test_a_zero_key_is_refused_before_the_search():
    model = specimen.load("plain")
    model.blocks[2].ffn.b1.data -= 1e6  # no unit of layer 2 fires any more
    with pytest.raises(editing.ZeroKey, match="no unit fires"):
        editing.rank_one_edit(model, 2, PROMPTS, number["rome"])


@pytest.mark.parametrize("layer", range(4))
def test_a_recorded_pass_ends_as_the_whole_one(layer):
    tokens, last = padded(PROMPTS)
    with torch.no_grad():
        whole = plain()(torch.from_numpy(tokens))[[0, 1], last]
        recorded = editing.record(plain(), layer, PROMPTS)
        torch.testing.assert_close(editing.finish(plain(), recorded), whole)
        torch.testing.assert_close(editing.finish(plain(), recorded.rows([1])), whole[1:])


@pytest.mark.parametrize("layer", range(4))
def test_a_change_tried_on_a_recorded_pass_is_the_one_written_into_the_model(layer):
    rng = torch.Generator().manual_seed(0)
    u, v = torch.randn(512, generator=rng) / 50, torch.randn(128, generator=rng)
    recorded = editing.record(plain(), layer, PROMPTS)
    tried = editing.finish(plain(), recorded, editing.moved(recorded, u, v))
    W2 = (plain().blocks[layer].ffn.W2 + torch.outer(u, v)).numpy()
    tokens, last = padded(PROMPTS)
    with torch.no_grad(), editing.edited(plain(), editing.Edit(layer, u.numpy(), v.numpy(), W2)):
        torch.testing.assert_close(tried, plain()(torch.from_numpy(tokens))[[0, 1], last], rtol=1e-3, atol=1e-3)


def test_keys_are_the_coefficients_at_every_token_or_the_last():
    everywhere = editing.keys_everywhere(plain(), 0, PROMPTS)
    assert everywhere.shape == (12, 512) and (everywhere >= 0).all()
    np.testing.assert_array_equal(editing.keys_at_last_token(plain(), 0, PROMPTS), everywhere[[5, 11]])


def test_a_kind_without_questions_scores_nan():
    assert np.isnan(editing.score(plain(), {"none": []})["none"])
