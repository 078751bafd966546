"""Sizes that belong to no model are refused with the field's name."""

import numpy as np
import pytest

from ffnlib.ledger import Spec, SpecError, count_model, known_model

GOOD = {"vocab": 11, "d_model": 12, "n_layers": 2, "n_heads": 4, "d_ff": 20, "ffn_matrices": 2, "tied": True}
MIXTURE = {"n": 4, "top_k": 2, "d_ff": 5}
LATENT = {"kv_rank": 3, "nope_dim": 2, "rope_dim": 1, "v_dim": 2}


def refusal(**changes):
    with pytest.raises(SpecError) as caught:
        count_model({**GOOD, **changes})
    return str(caught.value)


@pytest.mark.parametrize(
    "field, value",
    [
        ("d_model", -12),
        ("d_model", 0),
        ("d_model", 12.0),
        ("d_model", "12"),
        ("d_model", None),
        ("d_model", True),
        ("n_layers", -1),
        ("vocab", -1),
        ("d_ff", 0),
        ("n_heads", 5),
        ("n_heads", 0),
        ("n_heads", "4"),
        ("n_kv_heads", 8),
        ("n_kv_heads", 3),
        ("n_kv_heads", 0),
        ("head_dim", -3),
        ("ffn_matrices", 4),
        ("tied", "yes"),
        ("attention_bias", "qx"),
        ("attention_bias", "qq"),
        ("attention_bias", True),
        ("ffn_bias", 2),
        ("norm_vectors", 3),
        ("norms_per_layer", -1),
        ("other_parameters", -1),
        ("qk_norm", 1.5),
        ("architecture", "recurrent"),
        ("n_encoder_layers", 3),
        ("experts", 8),
        ("latent_attention", [3]),
        ("name", 3),
    ],
)
def test_a_value_that_makes_no_sense_is_named_first(field, value):
    assert refusal(**{field: value}).startswith(f"{field}={value!r}: ")


@pytest.mark.parametrize(
    "part, field, value",
    [
        ("experts", "top_k", 5),
        ("experts", "n", -1),
        ("experts", "dense_layers", 3),
        ("experts", "shared_gate", True),
        ("experts", "tokens", 1),
        ("latent_attention", "kv_rank", 0),
        ("latent_attention", "rank", 2),
    ],
)
def test_a_value_inside_a_part_is_named_with_its_part(part, field, value):
    base = MIXTURE if part == "experts" else LATENT
    assert refusal(**{part: {**base, field: value}}).startswith(f"{part}.{field}={value!r}: ")


@pytest.mark.parametrize("field", GOOD)
def test_a_missing_size_is_named(field):
    with pytest.raises(SpecError, match=f"^{field}: this size is missing"):
        count_model({name: value for name, value in GOOD.items() if name != field})


def test_an_unknown_field_is_answered_with_the_nearest():
    assert refusal(n_kv_head=2) == "n_kv_head=2: no such field; did you mean 'n_kv_heads'?"


def test_an_encoder_decoder_needs_the_layers_of_its_encoder():
    assert refusal(architecture="encoder-decoder").startswith("n_encoder_layers: ")
    assert refusal(architecture="encoder-decoder", n_encoder_layers=2, experts=MIXTURE).startswith("experts=")


def test_what_is_not_a_spec_is_said():
    with pytest.raises(TypeError, match="give a dict of sizes, or the name"):
        count_model(7)
    with pytest.raises(KeyError, match="did you mean 'GPT-2 small'"):
        count_model("GPT2 small")


def test_sizes_left_out_follow_from_the_heads():
    whole = {**GOOD, "n_kv_heads": 4, "head_dim": 3, "architecture": "decoder"}
    assert count_model(GOOD).rows == count_model(whole).rows == count_model(Spec(**GOOD)).rows


def test_whole_numbers_of_numpy_are_whole_numbers():
    arrays = {name: value if name == "tied" else np.int64(value) for name, value in GOOD.items()}
    assert count_model(arrays).total == count_model(GOOD).total


def test_a_head_size_of_its_own_needs_no_division():
    assert count_model({**GOOD, "n_heads": 5, "head_dim": 7})["attention q"].one == 12 * 35


def test_asking_for_a_known_model_gives_a_copy():
    known_model("GPT-2 small")["d_model"] = 1
    assert known_model("GPT-2 small")["d_model"] == 768
