"""Seven models typed from the pages that describe them, against what was published or what PyTorch holds.

None is in the ledger's own table or in `test_further_models`. Where a page gives a rounded figure, PyTorch modules that
are built here from the same sizes are the exact count, and the figure is compared as far as it goes.
"""

import pytest
import torch
from torch import nn

from ffnlib.ledger import count_model, known_model, known_models

from .test_further_models import CASES

# https://huggingface.co/baichuan-inc/Baichuan-7B: 7,000,559,616 parameters
BAICHUAN = {
    "vocab": 64_000,
    "d_model": 4096,
    "n_layers": 32,
    "n_heads": 32,
    "d_ff": 11_008,
    "ffn_matrices": 3,
    "tied": False,
}
# https://huggingface.co/naclbit/gpt-j-japanese-6.8b: 6,876,450,080 parameters
GPT_J_JAPANESE = {
    "vocab": 52_512,
    "d_model": 4096,
    "n_layers": 32,
    "n_heads": 16,
    "d_ff": 16_384,
    "ffn_matrices": 2,
    "tied": False,
    "ffn_bias": True,
    "head_bias": True,
    "norm_vectors": 2,
    "norms_per_layer": 1,
}
# https://huggingface.co/bigscience/bloom-3b: 3.003 billion, 642,252,800 of them in the embedding
BLOOM_3B = {
    "vocab": 250_880,
    "d_model": 2560,
    "n_layers": 30,
    "n_heads": 32,
    "d_ff": 10_240,
    "ffn_matrices": 2,
    "tied": True,
    "attention_bias": "qkvo",
    "ffn_bias": True,
    "norm_vectors": 2,
    "final_norms": 2,
}
# https://arxiv.org/abs/2508.10925, table 1; beside the rows a bias on the router and a sink for each head
GPT_OSS_120B = {
    "vocab": 201_088,
    "d_model": 2880,
    "n_layers": 36,
    "n_heads": 64,
    "n_kv_heads": 8,
    "head_dim": 64,
    "d_ff": 2880,
    "ffn_matrices": 3,
    "tied": False,
    "attention_bias": "qkvo",
    "ffn_bias": True,
    "experts": {"n": 128, "top_k": 4, "d_ff": 2880},
    "other_parameters": 36 * (128 + 64),
}
# https://huggingface.co/Qwen/Qwen2.5-32B/blob/main/config.json
QWEN_32B = {
    "vocab": 152_064,
    "d_model": 5120,
    "n_layers": 64,
    "n_heads": 40,
    "n_kv_heads": 8,
    "d_ff": 27_648,
    "ffn_matrices": 3,
    "tied": False,
    "attention_bias": "qkv",
}
# https://arxiv.org/abs/2412.13663, table 3: 149 million. The first of its 22 blocks has no norm before attention, and
# there is one after the embedding: as many as two in each block.
MODERNBERT = {
    "architecture": "encoder",
    "vocab": 50_368,
    "d_model": 768,
    "n_layers": 22,
    "n_heads": 12,
    "d_ff": 1152,
    "ffn_matrices": 3,
    "tied": True,
}
# https://arxiv.org/abs/2010.11934, table 1: 580 million
MT5_BASE = {
    "architecture": "encoder-decoder",
    "vocab": 250_112,
    "d_model": 768,
    "n_layers": 12,
    "n_encoder_layers": 12,
    "n_heads": 12,
    "d_ff": 2048,
    "ffn_matrices": 3,
    "tied": False,
    "final_norms": 2,
    "other_parameters": 2 * 32 * 12,
}
TYPED = {
    "Baichuan-7B": BAICHUAN,
    "GPT-J Japanese 6.8B": GPT_J_JAPANESE,
    "BLOOM-3B": BLOOM_3B,
    "gpt-oss-120b": GPT_OSS_120B,
    "Qwen2.5-32B": QWEN_32B,
    "ModernBERT-base": MODERNBERT,
    "mT5-base": MT5_BASE,
}


def held(*modules):
    """Count the parameters that PyTorch holds."""
    return sum(parameter.numel() for module in modules for parameter in module.parameters())


@pytest.fixture(autouse=True)
def on_meta():
    with torch.device("meta"):
        yield


def plain(*sides, bias=False):
    return nn.ModuleList(nn.Linear(*pair, bias=bias) for pair in sides)


def gated(d, d_ff):
    return plain((d, d_ff), (d, d_ff), (d_ff, d))


def test_none_of_them_was_counted_before():
    assert not set(TYPED) & ({model["name"] for model in known_models()} | {case.id for case in CASES})


def test_baichuan_has_the_parameters_of_its_card():
    assert count_model(BAICHUAN).total == 7_000_559_616


def test_a_second_card_of_gpt_j_differs_by_the_vectors_of_seven_more_devices_as_the_first_does():
    for spec, published in ((known_model("GPT-J-6B"), 6_053_381_344), (GPT_J_JAPANESE, 6_876_450_080)):
        vectors = 3 * spec["n_layers"] + 3  # a norm's two and the output bias in each block; the last norm, the table's
        assert published - count_model(spec).total == spec["d_model"] * (7 * vectors + 1)


def test_bloom_3b_holds_what_pytorch_holds_and_what_is_published():
    d, ledger = 2560, count_model(BLOOM_3B)
    block = nn.TransformerEncoderLayer(d, 32, 4 * d)
    whole = held(nn.Embedding(250_880, d), *[block] * 30, nn.LayerNorm(d), nn.LayerNorm(d))
    assert ledger.total == whole
    assert (round(ledger.total / 1e9, 3), ledger.of("embeddings")) == (3.003, 642_252_800)


def test_gpt_oss_120b_has_the_five_figures_of_its_card():
    ledger = count_model(GPT_OSS_120B)
    active = ledger.active - 201_088 * 2880  # the card leaves the input table out
    figures = (ledger.total, active, ledger.of("FFN"), ledger.of("attention"), ledger.of("embeddings"))
    assert [round(figure / 1e9, 2) for figure in figures] == [116.83, 5.13, 114.71, 0.96, 1.16]


def test_qwen_32b_holds_what_pytorch_holds_which_is_more_than_its_card_says():
    d, narrow = 5120, 8 * 128
    attention = [*plain((d, d), (d, narrow), (d, narrow), bias=True), *plain((d, d))]
    block = [*attention, gated(d, 27_648), nn.RMSNorm(d), nn.RMSNorm(d)]
    whole = held(nn.Embedding(152_064, d), nn.Linear(d, 152_064, bias=False), nn.RMSNorm(d)) + 64 * held(*block)
    ledger = count_model(QWEN_32B)
    assert ledger.total == whole
    assert round(ledger.total / 1e9, 1) == 32.8 != 32.5  # 32.5 is on the card
    assert round(count_model({**QWEN_32B, "d_ff": 27_392}).total / 1e9, 1) == 32.5


def test_modernbert_holds_what_pytorch_holds_and_149_million():
    d = 768
    block = [plain((d, 3 * d), (d, d), (d, 2 * 1152), (1152, d)), nn.RMSNorm(d), nn.RMSNorm(d)]
    whole = held(nn.Embedding(50_368, d), nn.RMSNorm(d)) + 22 * held(*block)
    assert count_model(MODERNBERT).total == whole
    assert round(whole / 1e6) == 149


def test_mt5_base_holds_what_pytorch_holds_and_580_million():
    d = 768
    attention, norm, ffn = plain(*[(d, d)] * 4), nn.RMSNorm(d), gated(d, 2048)
    encoder, decoder = [attention, norm, ffn, norm], [attention, norm, attention, norm, ffn, norm]
    tables = held(
        nn.Embedding(250_112, d), nn.Linear(d, 250_112, bias=False), nn.Embedding(32, 12), nn.Embedding(32, 12)
    )
    whole = tables + 12 * (held(*encoder) + held(*decoder)) + 2 * held(norm)
    assert count_model(MT5_BASE).total == whole
    assert round(whole / 1e7) * 10 == 580
