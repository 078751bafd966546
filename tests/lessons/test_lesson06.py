"""Lesson 06: right answers in unusual forms pass, wrong ones nobody listed are explained."""

from __future__ import annotations

import functools
import json
import math
from decimal import Decimal
from fractions import Fraction
from statistics import mean, stdev

import numpy as np
import pytest
import torch

from ffnlib import activations
from ffnlib.examination import lessons
from ffnlib.layer import swiglu
from ffnlib.ledger import count_model, known_model, llama_width
from ffnlib.specimen.files import WEIGHTS
from tests.lessons.answering import assert_passes, assert_told
from tests.lessons.test_exercises import verdict_on

silu, sigmoid = activations.silu, activations.sigmoid


def row_by_row_into_the_type_of_x(x, W_gate, W_up, W_down):
    out = np.zeros_like(x)
    for place in np.ndindex(x.shape[:-1]):
        out[place] = swiglu(x[place], W_gate, W_up, W_down)
    return out


def by_einsum(x, W_gate, W_up, W_down):
    gate, up = np.einsum("...d,df->...f", x, W_gate), np.einsum("...d,df->...f", x, W_up)
    return np.einsum("...f,...f,fd->...d", silu(gate), up, W_down)


def by_loops(x, W_gate, W_up, W_down):
    out = np.zeros(np.shape(x))
    for place in np.ndindex(np.shape(x)[:-1]):
        for unit in range(W_gate.shape[1]):
            g, u = float(x[place] @ W_gate[:, unit]), float(x[place] @ W_up[:, unit])
            weight = 1 / (1 + math.exp(-g)) if g > 0 else math.exp(g) / (1 + math.exp(g))
            out[place] += g * weight * u * W_down[unit]
    return out


def in_torch(x, W_gate, W_up, W_down):
    x, gate, up, down = (torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in (x, W_gate, W_up, W_down))
    return (torch.nn.functional.silu(x @ gate) * (x @ up)) @ down


def in_lists(x, W_gate, W_up, W_down):
    if np.ndim(x) > 1:
        return [in_lists(row, W_gate, W_up, W_down) for row in x]
    return ((silu(x @ W_gate) * (x @ W_up)) @ W_down).tolist()


class Layer:
    def __init__(self, bend):
        self.bend = bend

    def __call__(self, x, W_gate, W_up, W_down, dropout=0.0):
        return np.dot(np.multiply(self.bend(np.dot(x, W_gate)), np.dot(x, W_up)), W_down)


def fused_in_torch(x, W_gate_up, W_down):
    gate, up = torch.chunk(torch.tensor(x, dtype=torch.float64) @ torch.from_numpy(W_gate_up), 2, dim=-1)
    return torch.nn.functional.silu(gate).mul(up) @ torch.from_numpy(W_down)


def fused_as_two(x, W_gate_up, W_down):
    half = W_gate_up.shape[1] // 2
    return by_einsum(x, W_gate_up[:, :half], W_gate_up[:, half:], W_down)


def fused_by_reshape(x, W_gate_up, W_down):
    both = (
        (x @ W_gate_up).reshape(*np.shape(x)[:-1], 2, -1)
        if np.size(x)
        else np.zeros((*np.shape(x)[:-1], 2, len(W_down)))
    )
    return (silu(both[..., 0, :]) * both[..., 1, :]) @ W_down


def widen(d, multiple_of):
    width = 8 * d // 3
    while width % multiple_of:
        width += 1
    return width


RIGHT = {
    "swiglu": [
        by_einsum,
        by_loops,
        in_torch,
        in_lists,
        Layer(silu),
        functools.partial(by_einsum),
        lambda x, g, u, d: ((x @ g) * (x @ u) * sigmoid(x @ g)) @ d,
        lambda x, g, u, d: (x @ g / (1 + np.exp(-(x @ g))) * (x @ u)) @ d,
        lambda x, g, u, d: ((x @ u) * (x @ g) * (0.5 + 0.5 * np.tanh((x @ g) / 2))) @ d,
        lambda x, g, u, d: np.tensordot(silu(np.tensordot(x, g, 1)) * np.tensordot(x, u, 1), d, 1),
        lambda x, g, u, d, *rest: np.matmul(silu(np.matmul(x, g)) * np.matmul(x, u), d),
        lambda x, g, u, d: np.ma.array((silu(x @ g) * (x @ u)) @ d),
    ],
    "swiglu_fused": [
        fused_in_torch,
        fused_as_two,
        fused_by_reshape,
        lambda x, W, d: (lambda h: (silu(h[..., : len(d)]) * h[..., len(d) :]) @ d)(x @ W),
        lambda x, W, d: (lambda g, u: (silu(g) * u) @ d)(*np.split(x @ W, 2, axis=-1)),
        lambda x, W, d: (lambda g, u: (silu(x @ g) * (x @ u)) @ d)(*np.hsplit(W, 2)),
        lambda x, W, d: np.multiply(*(lambda h: (silu(h[..., : -len(d)]), h[..., -len(d) :]))(x @ W)) @ d,
        lambda x, W, d: in_lists(x, W[:, : W.shape[1] // 2], W[:, W.shape[1] // 2 :], d),
        lambda x, W, d: by_loops(x, *np.array_split(W, 2, axis=1), d),
        lambda x, W, d, act=silu: (act((x @ W)[..., : d.shape[0]]) * (x @ W)[..., d.shape[0] :]) @ d,
    ],
    "swiglu_d_ff": [
        widen,
        lambda d, m: math.ceil(int(8 * d / 3) / m) * m,
        lambda d, m: (8 * d // 3 + m - 1) // m * m,
        lambda d, m: m * ((int(2 * (4 * d) / 3) + m - 1) // m),
        lambda d, m: 8 * d // 3 + -(8 * d // 3) % m,
        lambda d, m: float(np.ceil(np.floor(8 * d / 3) / m) * m),
        lambda d, m: Fraction(m * math.ceil(Fraction(8 * d // 3, m))),
        lambda d, m: np.array([-(-(8 * d // 3) // m) * m]),
        lambda d, m: next(width for width in range(8 * d // 3, 8 * d // 3 + m) if width % m == 0),
        lambda d, m, factor=1: int(Decimal(-(-(8 * d // 3) // m)) * m * factor),
        lambda d, m: (8 * d // 3) if (8 * d // 3) % m == 0 else (8 * d // 3 // m + 1) * m,
    ],
    "gated_ffn_parameters": [
        lambda d, d_ff: d * d_ff + d * d_ff + d_ff * d,
        lambda d, d_ff: sum(a * b for a, b in ((d, d_ff), (d, d_ff), (d_ff, d))),
        lambda d, d_ff: float(3 * d * d_ff),
        lambda d, d_ff: Fraction(3 * d * d_ff),
        lambda d, d_ff: np.int64(3) * d * d_ff,
        lambda d, d_ff: np.array(3 * d * d_ff),
        lambda d, d_ff: int(np.prod([3, d, d_ff])),
        lambda d, d_ff: 2 * d * d_ff + d_ff * d,
        lambda d, d_ff, bias=False: d * (2 * d_ff) + d_ff * d,
        lambda d, d_ff: torch.tensor(3 * d * d_ff),
        functools.partial(lambda matrices, d, d_ff: matrices * d * d_ff, 3),
    ],
}


@pytest.mark.parametrize(("name", "answer"), [(name, answer) for name, group in RIGHT.items() for answer in group])
def test_an_unusual_right_answer_passes(name, answer):
    assert_passes(name, answer)


def on_halves(layer):
    return lambda x, W, d: layer(*np.split(x @ W, 2, axis=-1)) @ d


WRONG = [
    ("swiglu", lambda x, g, u, d: ((x @ g) * sigmoid(x @ u) * (x @ u)) @ d, "applied to the up branch instead"),
    ("swiglu", lambda x, g, u, d: (sigmoid(x @ g) * (x @ g)) @ d, "the up branch is left out"),
    ("swiglu", row_by_row_into_the_type_of_x, "cut to whole numbers"),
    ("swiglu", lambda x, g, u, d: silu(x @ g) @ d + (x @ u) @ d, "added instead of multiplied"),
    ("swiglu", lambda x, g, u, d: np.concatenate([silu(x @ g), x @ u], -1) @ np.concatenate([d, d]), "added instead"),
    ("swiglu", lambda x, g, u, d: (silu(x @ g) ** 2 * (x @ u)) @ d, "** 2` stands where"),
    ("swiglu", lambda x, g, u, d: (silu(x @ g) * (x @ u) + x @ u) @ d, "up branch is added once more"),
    ("swiglu", lambda x, g, u, d: ((x @ g) / (1 + np.exp(x @ g)) * (x @ u)) @ d, "the wrong sign"),
    ("swiglu", lambda x, g, u, d: (silu(x @ g) / (x @ u)) @ d, "/ (x @ W_up)` stands where"),
    ("swiglu", lambda x, g, u, d: 2 * (silu(x @ g) * (x @ u)) @ d, "`2 * ("),
    ("swiglu", lambda x, g, u, d: ((silu(x @ g) * (x @ u)) @ d,), "inside a tuple"),
    ("swiglu", lambda x, g, u, d: torch.from_numpy((silu(x @ g) * (x @ u)) @ d).float(), "float32"),
    ("swiglu_fused", on_halves(lambda gate, up: gate * silu(up)), "the up branch is taken to come first"),
    ("swiglu_fused", on_halves(lambda gate, up: silu(gate) * silu(up)), "applied to both branches"),
    ("swiglu_fused", on_halves(lambda gate, up: silu(gate)), "the up branch is left out"),
    ("swiglu_fused", lambda x, W, d: (silu((x @ W)[..., ::2]) * (x @ W)[..., 1::2]) @ d, "taken to alternate"),
    ("swiglu_fused", lambda x, W, d: (silu(x @ W) * (x @ W))[..., : len(d)] @ d, "W_gate is used in both branches"),
    ("swiglu_fused", lambda x, W, d: silu(x @ W) @ np.concatenate([d, d]), "through SiLU and are added"),
    ("swiglu_fused", on_halves(np.multiply), "SiLU is left out"),
    ("swiglu_fused", lambda x, W, d: on_halves(lambda g, u: silu(g) * u)(x, W, d) + x, "x is added"),
    ("swiglu_fused", lambda x, W, d: on_halves(lambda g, u: silu(g) * u)(x, W, d.T), "W_down is transposed"),
    ("swiglu_fused", lambda x, W, d: (lambda g, u: (silu(g) * u) @ d)(*np.split(x @ W, 2)), "along its first axis"),
    ("swiglu_d_ff", lambda d, m: math.ceil(8 * d / 3 / m) * m, "rounded up, not down, before the multiple"),
    ("swiglu_d_ff", lambda d, m: (8 * d // 3 + m) // m * m, "one multiple is added also when"),
    ("swiglu_d_ff", lambda d, m: 8 * d // 3 - 8 * d // 3 % m, "rounded down to a multiple"),
    ("swiglu_d_ff", lambda d, m: math.ceil(8 * d // 3 / m), "number of multiples"),
    ("swiglu_d_ff", lambda d, m: math.ceil(7 * d // 3 / m) * m, "`7 * d` stands where `8 * d` belongs"),
    ("swiglu_d_ff", lambda d, m: math.ceil(16 * d // 3 / m) * m, "two thirds of 8 d"),
    ("swiglu_d_ff", lambda d, m: math.ceil(2 * d / 3 / m) * m, "two thirds of d instead of 4 d"),
    ("swiglu_d_ff", lambda d, m: math.ceil(8 * (d + 1) // 3 / m) * m, "d + 1 stands in the place of d"),
    ("swiglu_d_ff", lambda d, m: -(-(8 * d // 3) // m) * m - m, "multiple_of is subtracted"),
    ("swiglu_d_ff", lambda d, m: math.ceil(8 * d // 3 / 8) * 8, "8 stands in the place of multiple_of"),
    ("gated_ffn_parameters", lambda d, d_ff: 2 * d * d_ff + d_ff * d_ff, "a matrix of d_ff x d_ff"),
    ("gated_ffn_parameters", lambda d, d_ff: 3 * d * (d_ff + 1), "a bias of d is added for each"),
    ("gated_ffn_parameters", lambda d, d_ff: 3 * (d + 1) * d_ff, "a bias of d_ff is added for each"),
    ("gated_ffn_parameters", lambda d, d_ff: 3 * d * int(d_ff * 2 / 3), "reduced to 2/3"),
    ("gated_ffn_parameters", lambda d, d_ff: 3 * d * d * d_ff, "multiplied by d once more"),
    ("gated_ffn_parameters", lambda d, d_ff: 3 * d * d_ff / 1e6, "in millions"),
    ("gated_ffn_parameters", lambda d, d_ff: 3 * d * d_ff + 1, "1 is added"),
    ("gated_ffn_parameters", lambda d, d_ff: 4 * d * d_ff + d_ff, "one matrix too many is counted"),
    ("gated_ffn_parameters", lambda d, d_ff: 2 * 3 * d * d_ff, "counted twice"),
    ("gated_ffn_parameters", lambda d, d_ff: str(3 * d * d_ff), "text"),
]


@pytest.mark.parametrize(("name", "answer", "words"), WRONG)
def test_a_wrong_answer_nobody_listed_is_explained(name, answer, words):
    assert_told(name, answer, words)


def test_the_layer_agrees_with_torch():
    rng = np.random.default_rng(3)
    x, gate, up, down = (rng.normal(size=size) for size in ((2, 5, 3), (3, 7), (3, 7), (7, 3)))
    for name, args in (("swiglu", (x, gate, up, down)), ("swiglu_fused", (x, np.hstack([gate, up]), down))):
        expected = in_torch(x, gate, up, down).detach().numpy()
        np.testing.assert_allclose(lessons.exercise(name).oracle(*args), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("d", "multiple_of", "width"), [(4096, 256, 11008), (3, 8, 8), (4, 5, 10), (512, 1, 1365)])
def test_known_widths(d, multiple_of, width):
    assert lessons.exercise("swiglu_d_ff").oracle(d, multiple_of) == width


def test_a_number_without_an_explanation_is_left_unexplained():
    verdict = verdict_on(lessons.exercise("gated_ffn_parameters"), lambda d, d_ff: d**2 * 17 + d_ff * 5)
    assert verdict.misconception is None, verdict.message


# ---------------------------------------------------------------- the lesson's deciding values, computed another way


@pytest.mark.parametrize(("a", "b"), [(3.0, -2.0), (-0.5, 7.0), (0.0, 4.0), (-1e3, 1e-3)])
def test_two_gated_units_multiply(a, b):
    x, keys = torch.tensor([a, b], dtype=torch.float64), torch.tensor([[1.0, -1.0]], dtype=torch.float64)
    gate, up = torch.nn.functional.silu(x[:1] @ keys), x[1:] @ keys
    assert math.isclose((gate * up).sum().item(), a * b, rel_tol=0, abs_tol=1e-12)


def test_exchanging_the_branches_is_harmless_only_with_their_matrices():
    rng = np.random.default_rng(0)
    x, W1, W3, W2 = rng.normal(size=(5, 4)), rng.normal(size=(4, 7)), rng.normal(size=(4, 7)), rng.normal(size=(7, 4))
    right = by_loops(x, W1, W3, W2)
    assert not np.allclose(swiglu(x, W3, W1, W2), right, rtol=0, atol=0.1)
    assert np.allclose(((x @ W3) * silu(x @ W1)) @ W2, right, rtol=0, atol=1e-12)


def test_a_third_matrix_doubles_what_expands_and_adds_half_to_the_layer():
    class Gated(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w1, self.w3, self.w2 = (torch.nn.Linear(*sides, bias=False) for sides in ((6, 24), (6, 24), (24, 6)))

    weights = {name: weight.numel() for name, weight in Gated().named_parameters()}
    assert weights["w1.weight"] + weights["w3.weight"] == 2 * 6 * 24
    assert sum(weights.values()) == Fraction(3, 2) * (2 * 6 * 24)


@pytest.mark.parametrize(
    ("rule", "width"),
    [
        ((4096, 256), 11008),
        ((5120, 256), 13824),
        ((6656, 256), 17920),
        ((8192, 256), 22016),
        ((8192, 4096, 1.3), 28672),
        ((4096, 1024, 1.3), 14336),
        ((16384, 4096, 1.2), 53248),
    ],
)
def test_the_rule_gives_the_published_widths(rule, width):
    assert llama_width(*rule) == width


def test_the_two_t5_models_have_equally_many_feed_forward_weights():
    plain, gated = (count_model(known_model(name)).of("FFN") for name in ("T5-base", "T5-v1.1-base"))
    assert plain == gated == 24 * 2 * 768 * 3072 == 24 * 3 * 768 * 2048 == 113_246_208


def test_no_difference_of_swiglu_in_the_race_stands_clear_of_zero():
    rows = json.loads((WEIGHTS / "race.json").read_text(encoding="utf-8"))
    loss = {(row["activation"], row["seed"]): row["loss"] for row in rows}
    for other in ("relu", "gelu", "silu"):
        gaps = [loss["swiglu", seed] - loss[other, seed] for seed in range(3)]
        assert abs(mean(gaps)) < 4.303 * stdev(gaps) / math.sqrt(3)
