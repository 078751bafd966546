"""Lesson 07: counts agree with real modules, unusual right answers pass, wrong numbers are explained or left alone."""

# ruff: noqa: E501 (one answer and what it is told a line)

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

from ffnlib.examination import lessons
from ffnlib.examination.probing import draw, flatten
from ffnlib.ledger import count_model
from ffnlib.widgets import model_size
from tests.lessons.answering import assert_passes, assert_told, forms

ORACLE = {exercise.id: exercise.oracle for exercise in lessons.exercises("07_counting_parameters")}
LLAMA_7B = (32_000, 4096, 32, 11_008, 32, 32, True, False)


def size(module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(("d", "d_ff", "bias"), [(5, 7, True), (12, 4, False), (512, 2048, True)])
def test_an_ffn_has_as_many_parameters_as_its_torch_module(d, d_ff, bias):
    module = torch.nn.Sequential(
        torch.nn.Linear(d, d_ff, bias=bias), torch.nn.ReLU(), torch.nn.Linear(d_ff, d, bias=bias)
    )
    assert ORACLE["ffn_parameters"](d, d_ff, bias) == size(module)


@pytest.mark.parametrize(("d", "heads", "kv"), [(12, 4, 4), (24, 6, 2), (30, 5, 1)])
def test_attention_has_as_many_parameters_as_its_four_projections(d, heads, kv):
    widths = (d, kv * (d // heads), kv * (d // heads))
    projections = [torch.nn.Linear(d, width, bias=False) for width in widths] + [torch.nn.Linear(d, d, bias=False)]
    assert ORACLE["attention_parameters"](d, heads, kv) == sum(map(size, projections))


@pytest.mark.parametrize(
    ("model", "total"),
    [
        (LLAMA_7B, 6_738_415_616),
        ((128_256, 4096, 32, 14_336, 32, 8, True, False), 8_030_261_248),
        ((32_000, 4096, 32, 14_336, 32, 8, True, False), 7_241_732_096),
        ((49_152, 576, 30, 1536, 9, 3, True, True), 134_515_008),
    ],
)
def test_published_decoders_have_their_published_totals(model, total):
    assert ORACLE["decoder_parameters"](*model) == total


def test_the_original_stacks_are_nn_transformer_without_attention_biases_and_final_norms():
    module = torch.nn.Transformer(16, 2, 3, 3, 40)
    attention_biases = sum(p.numel() for name, p in module.named_parameters() if "attn" in name and "bias" in name)
    final_norms = sum(p.numel() for name, p in module.named_parameters() if "coder.norm" in name)
    assert ORACLE["encoder_decoder_parameters"](16, 40, 3) == size(module) - attention_biases - final_norms
    assert ORACLE["encoder_decoder_parameters"](512, 2048, 6) == 44_101_632


def test_the_share_of_the_original_base_model_is_forty_percent_not_two_thirds():
    assert ORACLE["ffn_share"](50_257, 768, 12, 3072) == pytest.approx(0.4574, abs=1e-3)


def test_llama_7b_is_among_the_probes():
    exercise = lessons.exercise("decoder_parameters")
    assert LLAMA_7B in flatten(draw(exercise, exercise.seed)) and LLAMA_7B in flatten(draw(exercise, 5))


@pytest.mark.parametrize(
    "name", ["ffn_parameters", "attention_parameters", "gated_ffn_parameters", "encoder_decoder_parameters"]
)
def test_whoever_counts_by_building_the_layer_has_the_memory_for_it(name):
    exercise = lessons.exercise(name)
    largest = max(exercise.oracle(*args) for seed in range(5) for args in flatten(draw(exercise, seed)))
    assert 4 * largest < 1_000_000_000  # bytes in float32; a grader gives 2,048 MB


def decoder(vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied, **parts):
    """Return the count with some parts given: tables, attention, ffn, norms."""
    tables = parts.get("tables", vocab * d * (1 if tied else 2))
    attention = parts.get("attention", 2 * d * d + 2 * d * n_kv_heads * (d // n_heads))
    ffn = parts.get("ffn", (3 if gated else 2) * d * d_ff)
    return tables + n_layers * (attention + ffn) + parts.get("norms", (2 * n_layers + 1) * d)


@pytest.mark.parametrize(
    ("answer", "number", "told"),
    [
        (lambda V, d, n, f, h, k, g, t: 12 * d * d * n, 6_442_450_944, "only the blocks are counted, with 12 d^2 each"),
        (lambda V, d, n, f, h, k, g, t: 12 * d * d * n + V * d, 6_573_522_944, "with 12 d^2 each, and one embedding is added"),
        (lambda V, d, n, f, h, k, g, t: decoder(V, d, n, f, h, k, False, t, tables=0, norms=0), 5_033_164_800, "a gated FFN is counted with two matrices, and embeddings and norms are left out"),
        (lambda V, d, n, f, h, k, g, t: decoder(V, d, n, f, h, k, g, True), 6_607_343_616, "the embeddings are tied"),
        (lambda V, d, n, f, h, k, g, t: decoder(V, d, n, f, h, k, g, t, norms=0), 6_738_149_376, "the norms are left out"),
        (lambda V, d, n, f, h, k, g, t: 12 * d * d * n + 2 * V * d, 6_704_594_944, "with 12 d^2 each, and two embeddings are added"),
        (lambda V, d, n, f, h, k, g, t: decoder(V, d, n, 4 * d, h, k, g, t, norms=0), 8_852_078_592, "4d stands for d_ff, and the norms are left out"),
    ],
)  # fmt: skip
def test_the_known_wrong_totals_of_llama_7b_are_explained(answer, number, told):
    assert answer(*LLAMA_7B) == number
    assert_told("decoder_parameters", answer, told)


def by_modules(d, d_ff, bias):
    return size(torch.nn.Linear(d, d_ff, bias=bias)) + size(torch.nn.Linear(d_ff, d, bias=bias))


def by_shapes(d, d_ff, bias):
    shapes = [(d, d_ff), (d_ff, d)] + ([(d_ff,), (d,)] if bias else [])
    return np.sum([np.prod(shape) for shape in shapes])


def share_of_arrays(vocab, d, n_layers, d_ff):
    parts = np.array([vocab * d, 4 * d * d * n_layers, 2 * d * d_ff * n_layers], dtype=float)
    return (parts / parts.sum())[-1]


RIGHT = [
    ("ffn_parameters", by_modules),
    ("ffn_parameters", by_shapes),
    ("ffn_parameters", lambda d, d_ff, bias: (d + bool(bias)) * d_ff + (d_ff + bool(bias)) * d),
    ("attention_parameters", lambda d, n_heads, n_kv_heads: 2 * d * d * (1 + Fraction(n_kv_heads, n_heads))),
    ("attention_parameters", lambda d, n_heads, n_kv_heads: sum(d * (d // n_heads) * heads for heads in (n_heads, n_kv_heads, n_kv_heads, n_heads))),
    ("attention_parameters", lambda d, n_heads, n_kv_heads: d / n_heads * d * 2 * (n_heads + n_kv_heads)),
    ("decoder_parameters", decoder),
    ("decoder_parameters", lambda V, d, n, f, h, k, g, t: sum([V * d] * (2 - t)) + sum(2 * d * d + 2 * d * k * d // h + (2 + g) * d * f + 2 * d for _ in range(n)) + d),
    ("encoder_decoder_parameters", lambda d, d_ff, n: n * (12 * d * d + 2 * (2 * d * d_ff + d_ff + d) + 10 * d)),
    ("encoder_decoder_parameters", lambda d, d_ff, n: n * d * (12 * d + 12) + 4 * n * d * d_ff + 2 * n * d_ff),
    ("ffn_share", share_of_arrays),
    ("ffn_share", lambda vocab, d, n, f: Fraction(2 * f * n, vocab + n * (4 * d + 2 * f))),
    ("ffn_share", lambda vocab, d, n, f: 1 / (1 + (vocab + 4 * d * n) / (2 * f * n))),
    ("ffn_share", lambda vocab, d, n, f: np.array([2 * f * n / (vocab + n * (4 * d + 2 * f))])),
    ("ffn_share", lambda vocab, d, n, f: torch.tensor(2 * f * n / (vocab + n * (4 * d + 2 * f)), dtype=torch.float64, requires_grad=True)),
]  # fmt: skip


@pytest.mark.parametrize(("exercise_id", "answer"), RIGHT)
def test_other_ways_to_the_right_number_pass(exercise_id, answer):
    assert_passes(exercise_id, answer)


@pytest.mark.parametrize("exercise_id", [e for e in ORACLE if e != "ffn_share"])
@pytest.mark.parametrize("form", forms(None))
def test_the_right_number_passes_in_every_accepted_form(exercise_id, form):
    assert_passes(exercise_id, forms(ORACLE[exercise_id])[form])


def stacks(d, f, n, attentions=2, encoder_norms=2, decoder_norms=3, norm=2, bias=1, attention_bias=0, attention=None):
    attention = (4 * d * d if attention is None else attention) + 4 * d * attention_bias
    ffn = 2 * d * f + bias * (f + d)
    return n * ((1 + attentions) * attention + 2 * ffn + (encoder_norms + decoder_norms) * norm * d)


WRONG = [
    ("ffn_parameters", lambda d, d_ff, bias: 2 * d * d_ff + bias * (d_ff + d) + d_ff, "the activation is given d_ff parameters"),
    ("ffn_parameters", lambda d, d_ff, bias: 2 * d * d_ff + bias * 2 * d_ff + 2 * d, "both biases are given d_ff numbers, and a LayerNorm's 2d are added"),
    ("ffn_parameters", lambda d, d_ff, bias: 8 * d * d + bias * 2 * d, "4d stands for d_ff, and both biases are given d numbers"),
    ("ffn_parameters", lambda d, d_ff, bias: (d + 1) * d_ff + d_ff * d, "the biases are counted, whether or not the layer has them, and b2 is left out"),
    ("ffn_parameters", lambda d, d_ff, bias: 2 * (d + bias) * (d_ff + bias), None),
    ("ffn_parameters", lambda d, d_ff, bias: 2 * d * d_ff - bias * (d_ff + d), "the biases are subtracted"),
    ("ffn_parameters", lambda d, d_ff, bias: 4 * d * d_ff + bias * (d_ff + d), "the matrices are counted twice"),
    ("ffn_parameters", lambda d, d_ff, bias: 2 * (2 * d * d_ff + bias * (d_ff + d)), "everything is doubled"),
    ("ffn_parameters", lambda d, d_ff, bias: d * d_ff + bias * 2 * d_ff, "both biases are given d_ff numbers, and one of the two matrices is left out"),
    ("ffn_parameters", lambda d, d_ff, bias: 8 * d * d + (not bias) * 5 * d, "the biases are counted exactly when the layer has none, and 4d stands for d_ff"),
    ("ffn_parameters", lambda d, d_ff, bias: 2 * d * d_ff + bias * (d_ff + d) + 1, "1 is added to the result"),
    ("ffn_parameters", lambda d, d_ff, bias: d_ff * d_ff + d * d + bias * (d_ff + d), "d_ff times d_ff and d times d"),
    ("ffn_parameters", lambda d, d_ff, bias: 2 * d * d_ff + bias * (d_ff + d) + 4 * d, "the 4d of two LayerNorms are added"),
    ("ffn_parameters", lambda d, d_ff, bias: 3 * d * d_ff + bias * 2 * d, "a third matrix is counted, as in a gated FFN, and both biases are given d numbers"),
    ("ffn_parameters", lambda d, d_ff, bias: 2 * (d - 1) * d_ff + bias * (d_ff + d - 1), "d - 1 stands for d"),
    ("ffn_parameters", lambda d, d_ff, bias: 2 * d * d_ff + bias * (d_ff**2 + 3 * d), None),
    ("ffn_parameters", lambda d, d_ff, bias: 7, "the same number comes back for every call"),
    ("ffn_parameters", lambda d, d_ff, bias: f"{2 * d * d_ff}", "text"),
    ("attention_parameters", lambda d, h, k: 2 * d * d + 2 * d * k * (d // h) + d, "d is added to the result"),
    ("attention_parameters", lambda d, h, k: d * d + 2 * d * k * (d // h) + 4 * d, "one of the two square matrices is left out"),
    ("attention_parameters", lambda d, h, k: 2 * d * d + 2 * d * k, "d stands where n_heads belongs"),
    ("attention_parameters", lambda d, h, k: 2 * d * d * (1 + k), "every key and value head is given d numbers"),
    ("attention_parameters", lambda d, h, k: 4 * d * d // h * k, "all four projections are given n_kv_heads heads"),
    ("attention_parameters", lambda d, h, k: 2 * (2 * d * d + 2 * d * k * (d // h)), "everything is doubled"),
    ("attention_parameters", lambda d, h, k: 3 * (2 * d * d + 2 * d * k * (d // h)), "everything is tripled"),
    ("attention_parameters", lambda d, h, k: 10 * d * d + 2 * d * k * (d // h), "an FFN's 8 d^2 are added"),
    ("attention_parameters", lambda d, h, k: 2 * d * d + 2 * d * k * (d // h) + d + 2 * k * (d // h), "biases are counted for queries, keys and values"),
    ("attention_parameters", lambda d, h, k: 2 * d * d + 2 * d * (h - k) * (d // h), None),
    ("decoder_parameters", lambda *a: decoder(*a[:-1], True, norms=0), "the embeddings are tied, and the norms are left out"),
    ("decoder_parameters", lambda *a: decoder(*a[:5], a[4], a[6], True, norms=0), "the embeddings are tied, and n_kv_heads is ignored, and the norms are left out"),
    ("decoder_parameters", lambda *a: decoder(*a[:5], a[4], False, True, norms=0), "the embeddings are tied, and a gated FFN is counted with two matrices, and n_kv_heads is ignored, and the norms are left out"),
    ("decoder_parameters", lambda *a: decoder(*a, norms=2 * a[2] * a[1]), "the norm after the last layer is left out"),
    ("decoder_parameters", lambda *a: decoder(*a, norms=a[2] * a[1]), "each layer is given one norm instead of two, and the final norm is left out"),
    ("decoder_parameters", lambda *a: decoder(*a, norms=4 * a[2] * a[1]), "each norm is given 2d parameters, as a LayerNorm has, and the final norm is left out"),
    ("decoder_parameters", lambda *a: decoder(*a, norms=2 * a[2] + 1), "each norm is counted as a single number"),
    ("decoder_parameters", lambda *a: decoder(*a, attention=3 * a[1] ** 2), "n_kv_heads is ignored, and the output projection of attention is left out"),
    ("decoder_parameters", lambda *a: decoder(*a[:3], 8 * a[1] // 3, *a[4:]), "8d/3 stands for d_ff"),
    ("decoder_parameters", lambda *a: decoder(*a[:3], 4 * a[1], a[4], a[4], *a[6:]), "4d stands for d_ff, and n_kv_heads is ignored"),
    ("decoder_parameters", lambda *a: decoder(*a[:2], a[2] - 1, *a[3:]), "n_layers - 1 stands for n_layers"),
    ("decoder_parameters", lambda *a: a[2] * decoder(*a[:2], 1, *a[3:]), "n_layers multiplies embeddings and final norm as well"),
    ("decoder_parameters", lambda *a: decoder(*a[:6], not a[6], not a[7]), "a gated FFN is counted with two matrices and an ungated one with three, and tied models"),
    ("decoder_parameters", lambda *a: decoder(*a[:4], a[5], a[4], *a[6:]), "n_heads and n_kv_heads have changed places"),
    ("decoder_parameters", lambda *a: decoder(*a[:5], 1, a[6], True), "the embeddings are tied, and keys and values are given one head"),
    ("decoder_parameters", lambda *a: decoder(*a, tables=0, norms=a[1]), "the norms in the blocks are left out, and the embeddings are left out"),
    ("encoder_decoder_parameters", lambda d, f, n: stacks(d, f, n, attentions=1, norm=0), "the norms are left out, and cross-attention is left out"),
    ("encoder_decoder_parameters", lambda d, f, n: stacks(d, f, n, attentions=1, bias=0, norm=0), "the norms are left out, and the biases of the FFN are left out, and cross-attention is left out"),
    ("encoder_decoder_parameters", lambda d, f, n: stacks(d, f, n, norm=1, bias=0), "each norm is given d parameters, and the biases of the FFN are left out"),
    ("encoder_decoder_parameters", lambda d, f, n: stacks(d, f, n, norm=1, attention_bias=1), "each norm is given d parameters, and biases are counted in attention"),
    ("encoder_decoder_parameters", lambda d, f, n: stacks(d, 4 * d, n, norm=0), "4d stands for d_ff, and the norms are left out"),
    ("encoder_decoder_parameters", lambda d, f, n: stacks(d, f, n, attentions=3), "cross-attention is counted twice"),
    ("encoder_decoder_parameters", lambda d, f, n: stacks(d, f, 1, norm=0), "one layer is counted instead of all, and the norms are left out"),
    ("encoder_decoder_parameters", lambda d, f, n: stacks(d, f, n, attention=3 * d * d, norm=0), "the norms are left out, and each attention is counted as 3 d^2"),
    ("encoder_decoder_parameters", lambda d, f, n: stacks(d, f, n - 1), "n_layers - 1 stands for n_layers"),
    ("encoder_decoder_parameters", lambda d, f, n: stacks(d, f, n, norm=0) + 10 * d, "the norms of one layer are counted"),
    ("encoder_decoder_parameters", lambda d, f, n: stacks(d, f, n) - n * (f + d), "the biases of only one stack are counted"),
    ("encoder_decoder_parameters", lambda d, f, n: stacks(d, f, n, attentions=1) + 4 * d * d, "cross-attention is counted once"),
    ("encoder_decoder_parameters", lambda d, f, n: 2 * stacks(d, f, n), "everything is doubled"),
    ("encoder_decoder_parameters", lambda d, f, n: d**3 + f + n, None),
    ("ffn_share", lambda V, d, n, f: 2 * f * n / (V + 8 * d * n + 2 * f * n), "attention is counted twice"),
    ("ffn_share", lambda V, d, n, f: 2 * f / (3 * d + 2 * f), "attention is counted as 3 d^2, and the embeddings are left out"),
    ("ffn_share", lambda V, d, n, f: 3 * f * n / (2 * V + 4 * d * n + 3 * f * n), "three FFN matrices are counted, and the embeddings are counted twice"),
    ("ffn_share", lambda V, d, n, f: 100 * f / (2 * d + f), "the embeddings are left out, and the share is given in percent"),
    ("ffn_share", lambda V, d, n, f: 2 * d / (2 * d + f), "the embeddings are left out, and the share of everything else is returned"),
    ("ffn_share", lambda V, d, n, f: (2 * f + 4 * d) * n / (V + 4 * d * n + 2 * f * n), "attention is counted above the fraction bar as well"),
    ("ffn_share", lambda V, d, n, f: round(200 * f * n / (V + 4 * d * n + 2 * f * n)), "the share is given in whole percent"),
    ("ffn_share", lambda V, d, n, f: 2 * f * n / (d + 4 * V * n + 2 * f * n), "vocab and d have changed places"),
    ("ffn_share", lambda V, d, n, f: 2 * d * f * n / (V + 4 * d * d * n + 2 * d * f * n), "vocab is added instead of vocab times d"),
    ("ffn_share", lambda V, d, n, f: 2 * f * n // (V + 4 * d * n + 2 * f * n), "0 is returned, as integer division // gives"),
    ("ffn_share", lambda V, d, n, f: 4 * f * n / (V + 4 * d * n + 2 * f * n), "everything is counted twice"),
    ("ffn_share", lambda V, d, n, f: 2 * f * n / (V + 512 + 4 * d * n + 2 * f * n), None),
]  # fmt: skip


@pytest.mark.parametrize(("exercise_id", "answer", "told"), WRONG)
def test_a_wrong_number_nobody_listed_is_explained_or_left_alone(exercise_id, answer, told):
    assert_told(exercise_id, answer, told)


# ---------------------------------------------------------------- what the lesson's cells decide


def test_gpt2_has_888_576_parameters_that_a_bare_decoder_lacks():
    positions, biases, shifts = 1024 * 768, 12 * (4 + 5) * 768, (2 * 12 + 1) * 768
    assert positions + biases + shifts == 888_576
    assert ORACLE["decoder_parameters"](50_257, 768, 12, 3072, 12, 12, False, True) == 124_439_808 - 888_576


def test_the_premises_of_the_document_give_six_point_five_seven_billion():
    blocks, table = 32 * 12 * 4096**2, 32_000 * 4096
    assert f"{(blocks + table) / 1e9:.2f}" == "6.57"
    assert f"{ORACLE['decoder_parameters'](*LLAMA_7B) / 1e9:.2f}" == "6.74"
    assert round(100 * Fraction(3 * 11_008, 2 * 4 * 4096) - 100, 2) == Fraction("0.78")


def test_every_wrong_number_of_the_lesson_is_told_its_mistake():
    wrong = (5_033_164_800, 6_442_450_944, 6_573_522_944, 6_607_343_616, 6_738_149_376)
    d, table = 4096, 32_000 * 4096
    exact_block = 4 * d * d + 3 * d * 11_008
    made = (
        *(32 * (4 * d * d + 2 * d * 11_008), 32 * 12 * d * d, 32 * 12 * d * d + table),
        *(32 * exact_block + 65 * d + table, 32 * exact_block + 2 * table),
    )
    assert made == wrong


@pytest.mark.parametrize(
    ("name", "d", "d_ff", "ratio"),
    [("T5-v1.1-base", 768, 2048, 1), ("T5-v1.1-XL", 2048, 5120, 0.9375), ("T5-v1.1-XXL", 4096, 10_240, 0.9375)],
)
def test_a_gated_layer_beside_two_attentions_is_not_larger(name, d, d_ff, ratio):
    book = count_model(name)
    attentions = sum(row.one for row in book if row.name.startswith(("decoder attention", "cross-attention")))
    assert sum(row.one for row in book if row.name.startswith("decoder FFN")) == 3 * d * d_ff
    assert Fraction(3 * d * d_ff, attentions) == Fraction(3 * d_ff, 8 * d) == ratio


def test_the_original_decoder_block_is_level_up_to_the_biases():
    block = torch.nn.TransformerDecoderLayer(512, 8, 2048)
    weights = sum(p.numel() for name, p in block.named_parameters() if "attn" in name and p.ndim == 2)
    assert size(block.linear1) + size(block.linear2) - weights == 5 * 512


def test_the_share_of_the_base_model_is_below_two_thirds_of_any_whole():
    ffns, body = 12 * 2_099_712, ORACLE["encoder_decoder_parameters"](512, 2048, 6)
    shares = [round(100 * ffns / whole, 1) for whole in (65_000_000, body + 37_000 * 512, body)]
    assert shares == [38.8, 40.0, 57.1]


def test_eight_mistrals_are_not_a_mixtral():
    ffn, rest = 3 * 4096 * 14_336, 7_241_732_096 - 32 * 3 * 4096 * 14_336
    assert rest + 32 * (8 * ffn + 8 * 4096) == 46_702_792_704
    assert rest + 32 * (2 * ffn + 8 * 4096) == 12_879_925_248


def test_the_widget_shows_the_count_of_real_models_at_their_sizes():
    widget = model_size()
    assert widget.words.startswith("6,738,415,616 parameters") and "2.02 : 1" in widget.words
    assert widget.move(kv_heads=8, ratio=3.5, vocab=128_256).words.startswith("8,030,261,248 parameters")
    assert widget.shown.title == "FFNs hold 70.2 % of 8.03 billion parameters"


def test_the_widget_counts_no_more_key_value_heads_than_heads_and_says_so():
    widget = model_size().move(heads=8, kv_heads=64)
    assert "8 are counted" in widget.words
    assert widget.words.split(" More")[0] == model_size().move(heads=8, kv_heads=8).words


@pytest.mark.parametrize("heads", [8, 16, 32, 64, 128])
@pytest.mark.parametrize("d_model", [1024, 3072, 16_384])
def test_every_position_of_the_widget_can_be_shown(heads, d_model):
    for kv_heads in (1, 8, 128):
        assert model_size().move(heads=heads, d_model=d_model, kv_heads=kv_heads, ratio=1.0625, tied=True).error is None
