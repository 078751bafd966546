"""The ledger of parameters against published totals, and against PyTorch modules that hold no numbers."""

import statistics
import time

import pytest
import torch
from torch import nn

from ffnlib.ledger import count_model, known_model, known_models, llama_width

MODELS = known_models()


def size(*modules):
    """Count every parameter of modules once, as PyTorch holds them."""
    return sum(parameter.numel() for parameter in {p for module in modules for p in module.parameters()})


@pytest.fixture(autouse=True)
def on_meta():
    with torch.device("meta"):
        yield


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model["name"])
def test_a_known_model_is_counted_to_the_last_parameter(model):
    ledger = count_model(model)
    assert (ledger.total, ledger.active) == (model["total"], model["active"])


def test_there_are_82_known_models_with_names_of_their_own():
    assert len({model["name"] for model in MODELS}) == 82


def test_published_exact_totals_come_out():
    assert count_model("LLaMA-7B").total == 6_738_415_616
    assert count_model("Llama-3-8B").total == 8_030_261_248
    assert count_model("Mistral-7B-v0.1").total == 7_241_732_096


@pytest.mark.parametrize("d, heads, layers, vocab, positions", [(48, 4, 3, 101, 17), (96, 6, 1, 7, 5)])
def test_a_model_like_gpt2_holds_what_pytorch_holds(d, heads, layers, vocab, positions):
    block = nn.TransformerEncoderLayer(d, heads, 4 * d, norm_first=True)
    body = nn.TransformerEncoder(block, layers, norm=nn.LayerNorm(d), enable_nested_tensor=False)
    whole = size(nn.Embedding(vocab, d), nn.Embedding(positions, d), body)
    spec = {
        "vocab": vocab,
        "d_model": d,
        "n_layers": layers,
        "n_heads": heads,
        "d_ff": 4 * d,
        "ffn_matrices": 2,
        "tied": True,
    }
    spec |= {"attention_bias": "qkvo", "ffn_bias": True, "norm_vectors": 2, "learned_positions": positions}
    assert count_model(spec).total == whole


def llama_block(d, heads, kv_heads, d_ff):
    head = d // heads
    outputs = [(d, d), (d, kv_heads * head), (d, kv_heads * head), (d, d), (d, d_ff), (d, d_ff), (d_ff, d)]
    return nn.ModuleList([*(nn.Linear(*sides, bias=False) for sides in outputs), nn.RMSNorm(d), nn.RMSNorm(d)])


@pytest.mark.parametrize("d, heads, kv_heads, d_ff, layers, tied", [(48, 6, 2, 130, 3, False), (40, 5, 1, 33, 2, True)])
def test_a_model_like_llama_holds_what_pytorch_holds(d, heads, kv_heads, d_ff, layers, tied):
    embedding, output = nn.Embedding(103, d), nn.Linear(d, 103, bias=False)
    if tied:
        output.weight = embedding.weight
    blocks = [llama_block(d, heads, kv_heads, d_ff) for _ in range(layers)]
    spec = {"vocab": 103, "d_model": d, "n_layers": layers, "n_heads": heads, "n_kv_heads": kv_heads, "d_ff": d_ff}
    ledger = count_model({**spec, "ffn_matrices": 3, "tied": tied})
    assert ledger.total == size(embedding, output, *blocks, nn.RMSNorm(d))
    attention = sum(size(*block[:4]) for block in blocks)
    assert ledger.of("attention") == attention
    assert ledger.of("FFN") == sum(size(*block[4:7]) for block in blocks)


def test_the_original_model_is_pytorchs_without_the_biases_of_attention_and_the_two_last_norms():
    whole = nn.Transformer(512, 8, 6, 6, 2048, batch_first=True)
    attentions = [each for each in whole.modules() if isinstance(each, nn.MultiheadAttention)]
    extra = sum(a.in_proj_bias.numel() + a.out_proj.bias.numel() for a in attentions)
    extra += size(whole.encoder.norm, whole.decoder.norm)
    assert count_model({**known_model("AIAYN base (V=37000)"), "vocab": 0}).total == size(whole) - extra == 44_101_632
    spec = {**known_model("AIAYN base (V=37000)"), "vocab": 0, "attention_bias": "qkvo", "final_norms": 2}
    assert count_model(spec).total == size(whole)


def test_a_mixture_holds_what_pytorch_holds_and_uses_what_a_token_meets():
    d, layers, n, top_k, width, shared = 24, 5, 7, 3, 11, 13

    def gated(d_ff):
        return nn.ModuleList(nn.Linear(*sides, bias=False) for sides in ((d, d_ff), (d, d_ff), (d_ff, d)))

    def rest_of_a_block():
        return nn.ModuleList([*(nn.Linear(d, d, bias=False) for _ in range(4)), nn.RMSNorm(d), nn.RMSNorm(d)])

    def mixture():
        router, gate = nn.Linear(d, n, bias=False), nn.Linear(d, 1, bias=False)
        return nn.ModuleList([router, gate, gated(shared), *(gated(width) for _ in range(n))])

    blocks = [rest_of_a_block() for _ in range(layers)]
    first, others = gated(29), [mixture() for _ in range(layers - 1)]
    whole = size(nn.Embedding(31, d), nn.Linear(d, 31, bias=False), nn.RMSNorm(d), *blocks, first, *others)
    idle = sum(size(*each[3 + top_k :]) for each in others)
    experts = {"n": n, "top_k": top_k, "d_ff": width, "shared_d_ff": shared, "dense_layers": 1, "shared_gate": True}
    spec = {
        "vocab": 31,
        "d_model": d,
        "n_layers": layers,
        "n_heads": 3,
        "d_ff": 29,
        "ffn_matrices": 3,
        "tied": False,
        "experts": experts,
    }
    assert (count_model(spec).total, count_model(spec).active) == (whole, whole - idle)


def test_latent_attention_holds_what_pytorch_holds():
    d, heads, q_rank, kv_rank, nope, rope, v = 40, 3, 12, 10, 8, 4, 6
    sides = [(d, q_rank), (q_rank, heads * (nope + rope)), (d, kv_rank + rope), (kv_rank, heads * (nope + v))]
    matrices = [nn.Linear(*each, bias=False) for each in (*sides, (heads * v, d))]
    latent = {"q_rank": q_rank, "kv_rank": kv_rank, "nope_dim": nope, "rope_dim": rope, "v_dim": v}
    spec = {"vocab": 0, "d_model": d, "n_layers": 1, "n_heads": heads, "d_ff": 9, "ffn_matrices": 2, "tied": True}
    ledger = count_model({**spec, "latent_attention": latent})
    assert ledger.of("attention") == size(*matrices)
    assert ledger["attention latent norms"].total == size(nn.RMSNorm(q_rank), nn.RMSNorm(kv_rank))


def test_every_bias_of_a_gated_layer_with_biases_is_counted():
    spec = {
        "vocab": 0,
        "d_model": 6,
        "n_layers": 2,
        "n_heads": 2,
        "d_ff": 10,
        "ffn_matrices": 3,
        "tied": True,
        "ffn_bias": True,
    }
    assert count_model(spec).of("FFN") == 2 * size(nn.Linear(6, 10), nn.Linear(6, 10), nn.Linear(10, 6))


@pytest.mark.parametrize(
    "d, multiple_of, multiplier, d_ff",
    [
        (4096, 256, 1, 11008),
        (5120, 256, 1, 13824),
        (6656, 256, 1, 17920),
        (8192, 256, 1, 22016),
        (8192, 4096, 1.3, 28672),
        (4096, 1024, 1.3, 14336),
        (16384, 4096, 1.2, 53248),
    ],
)
def test_the_widths_of_released_models_follow_the_rule(d, multiple_of, multiplier, d_ff):
    assert llama_width(d, multiple_of, multiplier) == d_ff


def test_a_model_is_counted_in_a_moment():
    """About 0.15 ms; the bound is loose since the machine may be busy."""
    durations = []
    for model in MODELS:
        start = time.perf_counter()
        count_model(model)
        durations.append(time.perf_counter() - start)
    assert statistics.median(durations) < 0.02
