"""FLOPs by formula and by PyTorch's repaired counter, each against the other and against hand numbers."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from ffnlib.ledger import SpecError, count_flops, count_model, crossovers, flop_ledger, known_models

SIZES = [(64, 5, 4), (32, 33, 2), (96, 16, 3)]  # d, T, heads


def layer(d, heads, d_ff, **more):
    """Give the sizes of one block without embeddings."""
    return {
        "vocab": 0,
        "d_model": d,
        "n_layers": 1,
        "n_heads": heads,
        "d_ff": d_ff,
        "ffn_matrices": 2,
        "tied": True,
    } | more


class Attention(nn.Module):
    def __init__(self, d, heads, kv_heads=None, fused=True):
        super().__init__()
        self.heads, self.kv_heads, self.fused = heads, kv_heads or heads, fused
        narrow = d // heads * self.kv_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d, n, bias=False) for n in (d, narrow, narrow, d))

    def forward(self, x):
        split = lambda y, heads: y.unflatten(-1, (heads, -1)).transpose(-2, -3)
        q = split(self.q(x), self.heads)
        k, v = (
            split(y, self.kv_heads).repeat_interleave(self.heads // self.kv_heads, -3) for y in (self.k(x), self.v(x))
        )
        mixed = F.scaled_dot_product_attention(q, k, v) if self.fused else (q @ k.transpose(-1, -2)).softmax(-1) @ v
        return self.o(mixed.transpose(-2, -3).flatten(-2))


@pytest.mark.parametrize("d, T, heads", SIZES)
def test_a_layer_takes_16_T_d_squared(d, T, heads):
    ffn = nn.Sequential(nn.Linear(d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d))
    assert count_flops(ffn, torch.ones(T, d)) == 16 * T * d * d == flop_ledger(layer(d, heads, 4 * d), T).of("FFN")


@pytest.mark.parametrize("d, T, heads", SIZES)
@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("gradients", [True, False])
def test_attention_takes_8_T_d_squared_and_4_T_squared_d(d, T, heads, fused, gradients):
    with torch.set_grad_enabled(gradients):
        counted = count_flops(Attention(d, heads, fused=fused), torch.ones(1, T, d))
    assert counted == 8 * T * d * d + 4 * T * T * d == flop_ledger(layer(d, heads, d), T).of("attention")


def test_pytorchs_own_counter_still_passes_over_fused_attention():
    with FlopCounterMode(display=False) as counter:
        Attention(64, 4)(torch.ones(1, 5, 64))
    assert counter.get_total_flops() == 8 * 5 * 64 * 64


@pytest.mark.parametrize("d, T, heads", SIZES)
def test_an_encoder_layer_in_evaluation_is_counted(d, T, heads):
    block = nn.TransformerEncoderLayer(d, heads, 4 * d, batch_first=True).eval()
    with torch.no_grad():
        assert count_flops(block, torch.ones(1, T, d)) == 24 * T * d * d + 4 * T * T * d
    assert torch.backends.mha.get_fastpath_enabled()


def test_shared_keys_and_values_make_two_projections_narrow():
    counted = count_flops(Attention(96, 6, 2), torch.ones(1, 7, 96))
    assert counted == flop_ledger(layer(96, 6, 5, n_kv_heads=2), 7).of("attention")


def test_small_products_are_counted():
    matrix, vector = torch.ones(3, 5), torch.ones(5)
    assert count_flops(torch.mv, matrix, vector) == 30
    assert count_flops(lambda: matrix @ vector) == 30
    assert count_flops(torch.addmv, torch.ones(3), matrix, vector) == 30
    assert count_flops(torch.dot, vector, vector) == 10


@pytest.mark.parametrize("gradients", [True, False])
def test_a_weighted_embedding_bag_is_rows_times_weights(gradients):
    rows, picked, weights = torch.ones(9, 5, requires_grad=gradients), torch.tensor([[1, 4, 7]]), torch.ones(1, 3)
    assert count_flops(lambda: F.embedding_bag(picked, rows, per_sample_weights=weights, mode="sum")) == 2 * 3 * 5
    assert count_flops(lambda: F.embedding_bag(picked, rows, mode="sum")) == 0


def test_the_backward_pass_of_fused_attention_takes_five_products():
    q, k, v = (torch.ones(1, 2, 7, 4, requires_grad=True) for _ in range(3))
    forward = 2 * 2 * 7 * 7 * (4 + 4)
    counted = count_flops(lambda: F.scaled_dot_product_attention(q, k, v).sum().backward())
    assert counted == forward + 2 * 2 * 7 * 7 * 5 * 4


def test_a_gated_layer_takes_6_T_d_d_ff():
    assert flop_ledger(layer(8, 2, 20, ffn_matrices=3), 3).of("FFN") == 6 * 3 * 8 * 20


def test_a_mixture_takes_what_its_active_experts_take():
    experts = {"n": 8, "top_k": 2, "d_ff": 20}
    ledger = flop_ledger(layer(8, 2, 20, ffn_matrices=3, experts=experts), 3)
    assert ledger.of("FFN") == 2 * 6 * 3 * 8 * 20 + 2 * 3 * 8 * 8  # two experts and the router


def test_a_causal_mask_leaves_the_diagonal_and_one_half():
    full, half = (flop_ledger(layer(8, 2, 20), 5, causal=causal) for causal in (False, True))
    assert half["attention scores"].total * 25 == full["attention scores"].total * 15


@pytest.mark.parametrize("model", known_models(), ids=lambda model: model["name"])
def test_a_token_of_a_known_model_takes_two_flops_for_each_entry_of_its_matrices(model):
    small, large = (flop_ledger(model, T) for T in (1, 2))
    quadratic = sum(row.total for row in small if row.name.endswith(("scores", "mixing")))
    assert large.total - 2 * small.total == 2 * quadratic
    matrices = [row.active for row in count_model(model) if "bias" not in row.name]
    assert small.total - quadratic <= 2 * sum(matrices) + 2 * model["vocab"] * model["d_model"]


@pytest.mark.parametrize("d, d_ff, matrices, kv_share, causal", [(64, 256, 2, 1.0, False), (64, 160, 3, 0.25, False)])
def test_at_a_crossover_the_two_sides_are_equal(d, d_ff, matrices, kv_share, causal):
    meets = crossovers(d, d_ff, matrices=matrices, kv_share=kv_share, causal=causal)
    spec = layer(d, 8, d_ff, ffn_matrices=matrices, n_kv_heads=int(8 * kv_share))
    for which, T in meets.items():
        ledger = flop_ledger(spec, round(T))
        core = ledger["attention scores"].total + ledger["attention mixing"].total
        sides = {
            "scores and mixing = FFN": (core, ledger.of("FFN")),
            "whole attention = FFN": (ledger.of("attention"), ledger.of("FFN")),
            "scores and mixing = all the rest": (core, ledger.total - core),
        }
        assert sides[which][0] == sides[which][1], which


def test_the_three_crossovers_are_d_ff_and_2d_to_either_side():
    assert list(crossovers(512, 3000).values()) == [3000, 3000 - 1024, 3000 + 1024]
    assert list(crossovers(512, 2048, causal=True).values()) == [4096, 2048, 6144]
    assert crossovers(512, 512)["whole attention = FFN"] == 0


@pytest.mark.parametrize("T", [0, -3, 2.0, True, None])
def test_a_length_that_is_none_is_refused(T):
    with pytest.raises(SpecError, match=f"^T={T!r}: "):
        flop_ledger("GPT-2 small", T)
