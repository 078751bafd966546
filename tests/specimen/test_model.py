"""The model's values have names, and one context manager reads or replaces any of them."""

import numpy as np
import pytest
import torch

from ffnlib.specimen.model import Config, Specimen, describe, from_arrays, initialised, intervene

TOKENS = torch.tensor([[0, 3, 5, 7, 2], [0, 4, 4, 1, 9]])


@pytest.fixture(scope="module")
def model():
    return initialised(Config(vocabulary=11, d_model=16, n_layers=2, n_heads=2, d_ff=24), seed=3).requires_grad_(False)


def test_every_named_value_can_be_read(model):
    with intervene(model, dict.fromkeys(model.names())) as seen:
        logits = model(TOKENS)
    assert tuple(seen) == model.names()
    assert torch.equal(seen["logits"], logits)
    assert seen["1.hidden"].shape == (2, 5, 24) and seen["0.pattern"].shape == (2, 2, 5, 5)


def test_the_ffn_is_relu_of_the_row_convention(model):
    with intervene(model, dict.fromkeys(("1.norm2", "1.hidden", "1.ffn"))) as seen:
        model(TOKENS)
    ffn = model.blocks[1].ffn
    hidden = torch.clamp(seen["1.norm2"] @ ffn.W1 + ffn.b1, min=0)
    assert torch.allclose(seen["1.hidden"], hidden, atol=1e-6)
    assert torch.allclose(seen["1.ffn"], hidden @ ffn.W2 + ffn.b2, atol=1e-6)


@pytest.mark.parametrize("name", ["embedding", "0.pattern", "0.q", "1.pre", "1.hidden", "0.ffn", "1.residual", "norm"])
def test_replacing_a_value_changes_what_follows_and_only_inside_the_block(model, name):
    before = model(TOKENS)
    with intervene(model, {name: lambda value: value * 0.5}):
        assert not torch.allclose(model(TOKENS), before)
    assert torch.equal(model(TOKENS), before)


def test_replacing_a_value_by_itself_changes_nothing(model):
    with intervene(model, dict.fromkeys(model.names())) as seen:
        before = model(TOKENS)
    with intervene(model, dict(seen)):
        assert torch.equal(model(TOKENS), before)


def test_interventions_nest_and_the_inner_one_sees_the_outer_ones_result(model):
    with intervene(model, {"0.hidden": torch.zeros_like}), intervene(model, {"0.hidden": None}) as seen:
        model(TOKENS)
    assert not seen["0.hidden"].any()


def test_a_model_is_whole_again_after_an_error_inside_the_block(model):
    before = model(TOKENS)
    with pytest.raises(ZeroDivisionError), intervene(model, {"0.ffn": torch.zeros_like}):
        raise ZeroDivisionError
    assert torch.equal(model(TOKENS), before)


def test_an_unknown_name_is_refused_with_the_names_there_are(model):
    with pytest.raises(KeyError, match=r"2\.hidden.*0\.hidden"), intervene(model, {"2.hidden": None}):
        pass


def test_a_replacement_of_another_shape_is_refused(model):
    with (
        pytest.raises(ValueError, match=r"1\.hidden.*\(1,\).*\(2, 5, 24\)"),
        intervene(model, {"1.hidden": torch.ones(1)}),
    ):
        model(TOKENS)


def test_no_token_sees_a_later_one(model):
    changed = TOKENS.clone()
    changed[:, 3:] = 6
    assert torch.allclose(model(TOKENS)[:, :3], model(changed)[:, :3], atol=1e-6)


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "swiglu"])
def test_a_model_survives_the_way_through_arrays(activation):
    model = initialised(Config(11, 16, 2, 2, 24, 48, activation), seed=1).eval()
    arrays = {name: value.numpy() for name, value in model.state_dict().items()}
    again = from_arrays(arrays, describe(model.config))
    assert again.config == model.config and torch.equal(again(TOKENS), model(TOKENS))


def test_attention_agrees_with_pytorchs_own(model):
    attention = model.blocks[0].attention
    own = torch.nn.MultiheadAttention(16, 2, bias=False, batch_first=True)
    own.in_proj_weight.data = torch.cat([attention.Wq, attention.Wk, attention.Wv], dim=1).T.contiguous()
    own.out_proj.weight.data = attention.Wo.T.contiguous()
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 5, 16)).astype("float32"))
    mask = torch.ones(5, 5, dtype=torch.bool).triu(1)
    assert torch.allclose(attention(x, lambda name, value: value), own(x, x, x, attn_mask=mask)[0], atol=1e-5)


def test_a_specimen_has_1_2_million_parameters_and_starts_half_active():
    model = initialised(Config(vocabulary=3000), seed=0)
    assert isinstance(model, Specimen) and 1.1e6 < sum(p.numel() for p in model.parameters()) < 1.3e6
    with torch.no_grad(), intervene(model, {"2.hidden": None}) as seen:
        model(torch.arange(48)[None])
    assert 0.45 < (seen["2.hidden"] > 0).float().mean() < 0.55
