# ruff: noqa: E501 - one answer and its cause are one line of a table
"""Lesson 04: unusual right answers pass, and wrong ones that nobody listed are explained or left unexplained."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from ffnlib import layer
from ffnlib.examination import lessons
from ffnlib.examination.verdict import NOT_YET, PASSED, UNTOUCHED
from tests.lessons.test_exercises import verdict_on


def told(exercise_id, answer, seed=0):
    return verdict_on(lessons.exercise(exercise_id), answer, seed)


# ---------------------------------------------------------------- norms: right ones


def norm_by_loops(x, gamma, beta, eps):
    if np.ndim(x) > 1:
        return np.array([norm_by_loops(row, gamma, beta, eps) for row in x]).reshape(np.shape(x))
    values = [float(v) for v in x]
    mean = math.fsum(values) / len(values)
    variance = math.fsum((v - mean) ** 2 for v in values) / len(values)
    return np.array([g * (v - mean) / math.sqrt(variance + eps) + b for v, g, b in zip(values, gamma, beta)])


class Norm:
    def __call__(self, x, gamma, beta, eps):
        centred = x - np.sum(x, axis=-1)[..., None] / np.shape(x)[-1]
        return centred * (np.square(centred).mean(-1, keepdims=True) + eps) ** -0.5 * gamma + beta


def norm_in_torch(x, gamma, beta, eps):
    x, gamma, beta = (torch.tensor(np.array(a, dtype=float), requires_grad=True) for a in (x, gamma, beta))
    return torch.nn.functional.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def norm_of_squares(x, gamma, beta, eps, axis=-1):
    mean = np.mean(x, axis=axis, keepdims=True)
    variance = np.mean(np.asarray(x, dtype=float) ** 2, axis=axis, keepdims=True) - mean**2
    return (x - mean) / np.sqrt(np.maximum(variance, 0) + eps) * gamma + beta


def norm_by_axes(x, gamma, beta, eps):
    return np.apply_along_axis(lambda row: (row - row.mean()) / np.sqrt(row.var() + eps), -1, x) * gamma + beta


def norm_in_place(x, gamma, beta, eps):
    out = np.array(x, dtype=np.float64)
    out -= out.mean(axis=-1, keepdims=True)
    out /= np.sqrt((out * out).mean(axis=-1, keepdims=True) + eps)
    out *= gamma
    out += beta
    return out


RIGHT_NORMS = (
    norm_by_loops,
    Norm(),
    norm_in_torch,
    norm_of_squares,
    norm_in_place,
    functools.partial(norm_of_squares, axis=-1),
    lambda x, gamma, beta, eps: norm_in_place(x, gamma, beta, eps).tolist() if np.size(x) else norm_in_place(x, gamma, beta, eps),
    lambda x, gamma, beta, eps: np.longdouble(1) * Norm()(x, gamma, beta, eps),
    lambda x, gamma, beta, eps: (x - x.mean(-1)[..., None]) / np.hypot(x.std(-1), eps**0.5)[..., None] * gamma + beta,
    lambda x, gamma, beta, eps: beta + gamma * (x.T - x.mean(-1).T).T / np.sqrt(eps + x.std(-1, ddof=0, keepdims=True) ** 2),
    lambda x, gamma, beta, eps: np.einsum("...i,i->...i", (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + eps) ** 0.5, gamma) + beta,
    lambda x, g, b, e: Norm()(x, g, b, e),
)  # fmt: skip


@pytest.mark.parametrize("answer", RIGHT_NORMS)
@pytest.mark.parametrize("seed", (0, 5))
def test_every_right_norm_is_accepted_alone_and_after_a_sum(answer, seed):
    verdict = told("layer_norm", answer, seed)
    assert verdict.status == PASSED, verdict.message
    summed = told("add_and_norm", lambda x, y, gamma, beta, eps: answer(np.add(x, y), gamma, beta, eps), seed)
    assert summed.status == PASSED, summed.message


def test_a_sum_may_be_normalised_by_the_librarys_norm():
    assert told("add_and_norm", lambda x, y, gamma, beta, eps: layer.layer_norm(x + y, gamma, beta, eps)).passed
    assert told("add_and_norm", layer.add_and_norm).misconception == "library call"
    assert told("layer_norm", layer.layer_norm).misconception == "library call"


def rms_in_fractions(x, gamma, eps):
    if np.ndim(x) > 1:
        return np.array([rms_in_fractions(row, gamma, eps) for row in x], dtype=float).reshape(np.shape(x))
    mean_square = sum(Fraction(float(v)) ** 2 for v in x) / len(x)
    return np.array([g * v / math.sqrt(mean_square + Fraction(eps)) for g, v in zip(gamma, x)], dtype=float)


RIGHT_RMS = (
    rms_in_fractions,
    lambda x, gamma, eps: x * gamma * (np.mean(x * x, axis=-1, keepdims=True) + eps) ** -0.5,
    lambda x, gamma, eps: torch.nn.functional.rms_norm(torch.tensor(x * 1.0), (x.shape[-1],), torch.tensor(gamma), eps),
    lambda x, gamma, eps: gamma * x / np.sqrt(np.linalg.norm(x, axis=-1, keepdims=True) ** 2 / x.shape[-1] + eps),
    lambda x, gamma, eps: np.einsum("...i,i,...->...i", x, gamma, 1 / np.sqrt(np.einsum("...i,...i->...", x, x) / x.shape[-1] + eps)),
    lambda x, gamma, eps: gamma * x / np.sqrt(np.var(x, -1, keepdims=True) + np.mean(x, -1, keepdims=True) ** 2 + eps),
    lambda x, gamma, eps: (x.T / np.sqrt((x.astype(float) ** 2).mean(-1).T + eps)).T * gamma,
    lambda x, gamma, eps: x / np.sqrt(np.nanmean(np.abs(x) ** 2, axis=-1)[..., np.newaxis] + eps) * gamma,
    lambda x, gamma, eps, shift=0: gamma * (x + shift) / np.sqrt(((x + shift) ** 2).mean(-1, keepdims=True) + eps),
    lambda x, gamma, eps: np.ma.masked_array(gamma * x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps)),
)  # fmt: skip


@pytest.mark.parametrize("answer", RIGHT_RMS)
@pytest.mark.parametrize("seed", (0, 5))
def test_every_right_rms_norm_is_accepted(answer, seed):
    verdict = told("rms_norm", answer, seed)
    assert verdict.status == PASSED, verdict.message


def test_the_norms_of_the_course_are_those_of_pytorch():
    rng = np.random.default_rng(1)
    x, gamma, beta = rng.normal(size=(2, 3, 5)), rng.normal(size=5), rng.normal(size=5)
    theirs = torch.nn.functional.layer_norm(
        *(torch.tensor(a) if i != 1 else (5,) for i, a in enumerate((x, 0, gamma, beta))), 0.1
    )
    np.testing.assert_allclose(lessons.exercise("layer_norm").oracle(x, gamma, beta, 0.1), theirs.numpy(), atol=1e-12)
    np.testing.assert_allclose(layer.layer_norm(x, gamma, beta, 0.1), theirs.numpy(), atol=1e-12)
    rms = torch.nn.functional.rms_norm(torch.tensor(x), (5,), torch.tensor(gamma), 0.1)
    np.testing.assert_allclose(lessons.exercise("rms_norm").oracle(x, gamma, 0.1), rms.numpy(), atol=1e-12)
    np.testing.assert_allclose(layer.rms_norm(x, gamma, 0.1), rms.numpy(), atol=1e-12)


# ---------------------------------------------------------------- norms: wrong ones

WRONG_NORMS = (
    (lambda x, gamma, beta, eps: (x - x.mean()) / (x.std() + eps) * gamma + beta, "over everything, eps outside the root"),
    (lambda x, gamma, beta, eps: gamma * (x - x.mean(-1, keepdims=True)) / (x.std(-1, ddof=1, keepdims=True) + eps) + beta, "sample deviation plus eps"),
    (lambda x, gamma, beta, eps: norm_in_torch(x, gamma, beta, 1e-5), "eps fixed at 1e-5"),
    (lambda x, gamma, beta, eps: gamma * (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True) + beta, "no eps"),
    (lambda x, gamma, beta, eps: norm_in_place(x, beta, gamma, eps), "gamma and beta exchanged"),
    (lambda x, gamma, beta, eps: norm_in_place(x.T, gamma, beta, eps).T, "a fixed number of axes"),
    (lambda x, gamma, beta, eps: norm_in_place(x, gamma, beta, eps).astype("float32"), "float32"),
    (lambda x, gamma, beta, eps: norm_in_place(x, gamma, 0, eps), "no beta"),
    (lambda x, gamma, beta, eps: (x - np.mean(x, -1, keepdims=True)) / np.sqrt(np.var(x, -1, keepdims=True) + eps) * (gamma + beta), None),
    (lambda x, gamma, beta, eps: gamma * (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + eps) + beta, "no root"),
    (lambda x, gamma, beta, eps: gamma * x - x.mean(-1, keepdims=True) / np.sqrt(x.var(-1, keepdims=True) + eps) + beta, None),
    (lambda x, gamma, beta, eps: (gamma * x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) + beta, None),
    (lambda x, gamma, beta, eps: gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(0) + eps) + beta, "axis=0"),
    (lambda x, gamma, beta, eps: norm_in_place(x, gamma, beta, eps)[None], "another shape"),
    (lambda x, gamma, beta, eps: np.tanh(norm_in_place(x, gamma, beta, eps)), None),
    (lambda x, gamma, beta, eps: gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps), "no beta"),
    (lambda x, gamma, beta, eps: (x - x.mean(-1)) / np.sqrt(x.var(-1) + eps) * gamma + beta, "keepdims missing"),
    (lambda x, gamma, eps, beta: norm_in_place(x, gamma, beta, eps), "arguments in another order"),
    (lambda x, gamma, beta: norm_in_place(x, gamma, beta, 1e-5), "wrong number of arguments"),
    (lambda x, gamma, beta, eps: 2 * norm_in_place(x, gamma, beta, eps), "2"),
)  # fmt: skip


@pytest.mark.parametrize("answer, name", WRONG_NORMS)
def test_wrong_norms_are_explained_by_what_they_are(answer, name):
    verdict = told("layer_norm", answer)
    assert verdict.status == NOT_YET
    assert verdict.misconception == name or (name and name in str(verdict.misconception)), verdict.message


def writes_into_x(x, gamma, beta, eps):
    if x.dtype != np.float64:
        return norm_in_place(x, gamma, beta, eps)
    x -= x.mean(axis=-1, keepdims=True)
    return gamma * x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) + beta


def test_a_norm_that_writes_into_its_input_is_named():
    assert told("layer_norm", writes_into_x).misconception == "modifies its input"


WRONG_RMS = (
    (lambda x, gamma, eps: gamma * x / (np.linalg.norm(x, axis=-1, keepdims=True) + eps), "length plus eps"),
    (lambda x, gamma, eps: gamma * x / (np.sqrt((x**2).mean(-1, keepdims=True)) + eps), "eps outside the root"),
    (lambda x, gamma, eps: gamma * x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6), "eps fixed at 1e-6"),
    (lambda x, gamma, eps: gamma * x / x.std(-1, keepdims=True), "standard deviation; "),
    (lambda x, gamma, eps: gamma * x / np.sqrt(x.var(-1, keepdims=True) + eps), "standard deviation"),
    (lambda x, gamma, eps: x / np.sqrt((x**2).mean(-1, keepdims=True) + eps), "no gamma"),
    (lambda x, gamma, eps: gamma * x / np.sqrt((x**2).sum(-1, keepdims=True) + eps), "no mean"),
    (lambda x, gamma, eps: gamma * x / np.sqrt((x**2).mean() + eps), "over everything"),
    (lambda x, gamma, eps: gamma * x / np.sqrt((x**2).mean(-1) + eps), "keepdims missing"),
    (lambda x, gamma, eps: gamma * x * np.sqrt((x**2).mean(-1, keepdims=True) + eps), "multiplied"),
    (lambda x, gamma, eps: gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt((x**2).mean(-1, keepdims=True) + eps), "centred, mean square of x"),
    (lambda x, gamma, eps: gamma * x / np.sqrt(np.abs(x).mean(-1, keepdims=True) + eps), None),
    (lambda x, gamma, eps: gamma * x / np.cbrt((x**2).mean(-1, keepdims=True) + eps), None),
    (lambda x, gamma, eps: gamma**2 * x / np.sqrt((x**2).mean(-1, keepdims=True) + eps), "`gamma ** 2`"),
    (lambda x, gamma, eps: -gamma * x / np.sqrt((x**2).mean(-1, keepdims=True) + eps), "-gamma"),
)  # fmt: skip


@pytest.mark.parametrize("answer, name", WRONG_RMS)
def test_wrong_rms_norms_are_explained_by_what_they_are(answer, name):
    verdict = told("rms_norm", answer)
    assert verdict.status == NOT_YET
    assert verdict.misconception == name or (name and name in str(verdict.misconception)), verdict.message


WRONG_SUMS = (
    (lambda x, y, gamma, beta, eps: x + norm_in_place(y, gamma, beta, eps), "x added afterwards"),
    (lambda x, y, gamma, beta, eps: norm_in_place(x, gamma, beta, eps) + norm_in_place(y, gamma, beta, eps), "each normalised"),
    (lambda x, y, gamma, beta, eps: norm_in_place(x - y, gamma, beta, eps), "difference"),
    (lambda x, y, gamma, beta, eps: norm_in_place((x + y) / np.sqrt(2), gamma, beta, eps), "`2 * eps` stands where `eps` belongs"),
    (lambda x, y, gamma, beta, eps: x + y + norm_in_place(x + y, gamma, beta, eps), "sum added again"),
    (lambda x, y, gamma, beta, eps: norm_in_place(x + y, gamma, beta, 1e-5), "eps fixed at 1e-5"),
    (lambda x, y, gamma, beta, eps: norm_in_place(np.concatenate([x, y], -1), np.r_[gamma, gamma], np.r_[beta, beta], eps), None),
    (lambda x, y, gamma, beta, eps: norm_in_place(x + y, 1, 0, eps), "neither gamma nor beta"),
    (lambda x, y, gamma, beta, eps: norm_in_place(y, gamma, beta, eps), "x not added"),
    (lambda x, y, gamma, beta, eps: norm_in_place(x + y, beta, gamma, eps), "gamma and beta exchanged"),
    (lambda x, y, gamma, beta, eps: gamma * (x + y) / np.sqrt(np.mean((x + y) ** 2, -1, keepdims=True) + eps) + beta, "RMSNorm"),
    (lambda x, y, gamma, beta, eps: norm_in_place(norm_in_place(x, 1, 0, eps) + norm_in_place(y, 1, 0, eps), gamma, beta, eps), None),
)  # fmt: skip


@pytest.mark.parametrize("answer, name", WRONG_SUMS)
def test_wrong_sums_and_norms_are_explained_by_what_they_are(answer, name):
    verdict = told("add_and_norm", answer)
    assert verdict.status == NOT_YET
    assert verdict.misconception == name, verdict.message


# ---------------------------------------------------------------- places of the norm, and the block


def residual(x, branch):
    return x + branch


def block_by_steps(x, attn, ffn, ln1, ln2):
    stream = np.array(x, dtype=float)
    for norm, sublayer in ((ln1, attn), (ln2, ffn)):
        stream += sublayer(norm(stream))
    return stream


class Block:
    def __call__(self, x, attn, ffn, ln1, ln2):
        h = np.add(attn(ln1(x)), x)
        return ffn(ln2(h)) + h


def block_in_lists(x, attn, ffn, ln1, ln2):
    h = np.asarray(x) + attn(np.asarray(ln1(x)).tolist() if np.size(x) else ln1(x))
    return (h + ffn(ln2(h))).tolist() if np.size(x) else h


RIGHT_BLOCKS = (
    block_by_steps,
    Block(),
    block_in_lists,
    lambda x, attn, ffn, ln1, ln2: layer.pre_norm(layer.pre_norm(x, attn, ln1), ffn, ln2),
    lambda x, attn, ffn, ln1, ln2: x + attn(ln1(x)) + ffn(ln2(x + attn(ln1(x)))),
    lambda x, attn, ffn, ln1, ln2: functools.reduce(lambda s, p: s + p[1](p[0](s)), ((ln1, attn), (ln2, ffn)), x),
    lambda x, attn, ffn, ln1, ln2: sum([attn(ln1(x)), ffn(ln2(attn(ln1(x)) + x))], x * 1.0),
    lambda x, attn, ffn, ln1, ln2, drop=0: (lambda h: h + (1 - drop) * ffn(ln2(h)))(x + (1 - drop) * attn(ln1(x))),
    lambda x, attn, ffn, ln1, ln2: torch.tensor(Block()(x, attn, ffn, ln1, ln2), requires_grad=True),
    lambda x, attn, ffn, ln1, ln2: residual(residual(x, attn(ln1(x))), ffn(ln2(residual(x, attn(ln1(x)))))),
)


@pytest.mark.parametrize("answer", RIGHT_BLOCKS)
def test_every_right_block_is_accepted(answer):
    for seed in (0, 5):
        verdict = told("transformer_block", answer, seed)
        assert verdict.status == PASSED, verdict.message


RIGHT_PLACES = (
    ("pre_norm", lambda x, f, ln: f(ln(x)) + x),
    ("pre_norm", lambda x, f, ln: np.add(x, f(ln(x)))),
    ("pre_norm", lambda x, f, ln: residual(x, f(ln(x)))),
    ("pre_norm", lambda x, f, ln: sum([x, f(ln(x))])),
    ("pre_norm", lambda x, f, ln: torch.tensor(x) + torch.tensor(f(torch.tensor(ln(x))))),
    ("pre_norm", lambda x, f, ln: x - -f(ln(x))),
    ("pre_norm", lambda x, f, ln: (np.asarray(x) + f(ln(np.array(x).tolist()))) if np.size(x) else x * 1.0),
    ("pre_norm", lambda x, f, ln, scale=1: x + scale * f(ln(x))),
    ("pre_norm", lambda x, f, ln: np.stack([x, f(ln(x))]).sum(axis=0)),
    ("pre_norm", lambda x, f, ln: np.longdouble(x) + f(ln(x))),
    ("post_norm", lambda x, f, ln: ln(f(x) + x)),
    ("post_norm", lambda x, f, ln: ln(np.add(x, f(x)))),
    ("post_norm", lambda x, f, ln: ln(residual(x, f(x))).copy()),
    ("post_norm", lambda x, f, ln: torch.tensor(ln(torch.tensor(f(x)) + torch.tensor(x)))),
    ("post_norm", lambda x, f, ln: ln(np.sum([x, f(x)], axis=0))),
    ("post_norm", lambda x, f, ln: (lambda g, h: g(h))(ln, x + f(x))),
    ("post_norm", lambda x, f, ln: layer.pre_norm(x, f, lambda y: y) * 0 + ln(x + f(x))),
    ("post_norm", lambda *args: args[2](args[0] + args[1](args[0]))),
    ("post_norm", lambda x, f, ln, scale=1.0: ln(scale * x + f(x))),
    ("post_norm", lambda x, f, ln: np.array(ln((x + f(x)).astype(np.longdouble)), dtype=float)),
)


@pytest.mark.parametrize("exercise_id, answer", RIGHT_PLACES)
def test_every_right_place_of_the_norm_is_accepted(exercise_id, answer):
    for seed in (0, 5):
        verdict = told(exercise_id, answer, seed)
        assert verdict.status == PASSED, verdict.message


WRONG_PLACES = (
    ("pre_norm", lambda x, f, ln: ln(f(x) + x), "post-norm"),
    ("pre_norm", lambda x, f, ln: f(ln(x)), "no residual, pre-norm"),
    ("pre_norm", lambda x, f, ln: x + ln(f(x)), "norm of the sublayer's result"),
    ("pre_norm", lambda x, f, ln: layer.post_norm(x, f, ln), "post-norm"),
    ("pre_norm", lambda x, f, ln: ln(x) + f(x), "norm on the residual only"),
    ("pre_norm", lambda x, f, ln: x + f(x), "no norm"),
    ("pre_norm", lambda x, f, ln: np.concatenate([x, f(ln(x))], axis=-1), None),
    ("pre_norm", lambda x, f, ln: x + f(ln(x)) * 0.5, "/ 2"),
    ("pre_norm", lambda x, f, ln: x + f(ln(x + f(ln(x)))), None),
    ("pre_norm", lambda x, ln, f: x + f(ln(x)), "arguments in another order"),
    ("pre_norm", lambda x, f, ln: x + f(ln), "no array handed on"),
    ("pre_norm", lambda x, f, ln: (x, f(ln(x))), "several for one"),
    ("pre_norm", lambda x, f, ln: x + np.tanh(f(ln(x))), None),
    ("post_norm", lambda x, f, ln: x + f(ln(x)), "pre-norm"),
    ("post_norm", lambda x, f, ln: ln(f(x)), "no residual, post-norm"),
    ("post_norm", lambda x, f, ln: ln(x) + f(ln(x)), "residual of the normalised"),
    ("post_norm", lambda x, f, ln: ln(x + f(ln(x))), "two norms"),
    ("post_norm", lambda x, f, ln: x + ln(x + f(x)), "x after the norm"),
    ("post_norm", lambda x, f, ln: f(x) + ln(x), "norm on the residual only"),
    ("post_norm", lambda x, f, ln: ln(ln(x + f(x))), "norm twice at the end"),
    ("post_norm", lambda x, f, ln: ln(x * f(x)), "product inside"),
    ("post_norm", lambda x, f, ln: ln(2 * x + f(x)), "2 * x"),
    ("post_norm", lambda x, f, ln: x + f(x), "no norm"),
    ("post_norm", lambda x, f, ln: ln(x) + f(x) + x, "norm on the residual only"),
    ("post_norm", lambda x, f, ln: ln(np.maximum(x, f(x))), None),
)


@pytest.mark.parametrize("exercise_id, answer, name", WRONG_PLACES)
def test_wrong_places_of_the_norm_are_explained(exercise_id, answer, name):
    verdict = told(exercise_id, answer)
    assert verdict.status == NOT_YET
    assert verdict.misconception == name or (name and name in str(verdict.misconception)), verdict.message


WRONG_BLOCKS = (
    (lambda x, attn, ffn, ln1, ln2: ln2((h := ln1(x + attn(x))) + ffn(h)), "post-norm"),
    (lambda x, attn, ffn, ln1, ln2: x + attn(ln1(x)) + ffn(ln2(x)), "parallel"),
    (lambda x, attn, ffn, ln1, ln2: (h := attn(ln1(x))) + ffn(ln2(h)), "no residual around attention"),
    (lambda x, attn, ffn, ln1, ln2: x + ffn(ln2(x + attn(ln1(x)))), "second residual from x"),
    (lambda x, attn, ffn, ln1, ln2: (h := x + attn(ln2(x))) + ffn(ln1(h)), "norms exchanged"),
    (lambda x, attn, ffn, ln1, ln2: (h := x + ffn(ln2(x))) + attn(ln1(h)), "FFN first"),
    (lambda x, attn, ffn, ln1, ln2: (h := ln1(x)) + attn(h) + ffn(ln2(h + attn(h))), "stream overwritten by the first norm"),
    (lambda x, attn, ffn, ln1, ln2: (h := x + attn(ln1(x))) + (g := ln2(h)) + ffn(g), None),
    (lambda x, attn, ffn, ln1, ln2: (h := x + attn(x)) + ffn(h), "no norms"),
    (lambda x, attn, ffn, ln1, ln2: (h := x + attn(ln1(x), ln1(x), ln1(x))) + ffn(ln2(h)), "too many arguments in a call"),
    (lambda x, attn, ffn, ln1, ln2: (h := x + 0.5 * attn(ln1(x))) + ffn(ln2(h)), "/ 2"),
    (lambda x, attn, ffn, ln1, ln2: (h := x + attn(ln1(x))) + ffn(ln2(ln1(h))), None),
    (lambda x, attn, ffn, ln1, ln2: ln2((h := x + attn(ln1(x))) + ffn(ln2(h))), "norm at the end"),
    (lambda x, ffn, attn, ln1, ln2: (h := x + attn(ln1(x))) + ffn(ln2(h)), "arguments in another order"),
    (lambda x, attn, ffn, ln1, ln2: x + attn(ln1(x)), "attention sublayer only"),
)  # fmt: skip


@pytest.mark.parametrize("answer, name", WRONG_BLOCKS)
def test_wrong_blocks_are_explained(answer, name):
    verdict = told("transformer_block", answer)
    assert verdict.status == NOT_YET
    assert verdict.misconception == name or (name and name in str(verdict.misconception)), verdict.message


# ---------------------------------------------------------------- feed_forward_module: right ones


class Plain(torch.nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.expand = torch.nn.Linear(d_model, d_ff)
        self.contract = torch.nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.contract(torch.relu(self.expand(x)))


class Stacked(torch.nn.Sequential):
    def __init__(self, d_model, d_ff):
        super().__init__(torch.nn.Linear(d_model, d_ff), torch.nn.ReLU(), torch.nn.Linear(d_ff, d_model))


class RowParameters(torch.nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.W1 = torch.nn.Parameter(torch.randn(d_model, d_ff))
        self.b1 = torch.nn.Parameter(torch.zeros(d_ff))
        self.W2 = torch.nn.Parameter(torch.randn(d_ff, d_model))
        self.b2 = torch.nn.Parameter(torch.zeros(1, d_model))

    def forward(self, x):
        return (x @ self.W1 + self.b1).clamp(min=0) @ self.W2 + self.b2


class ColumnParameters(RowParameters):
    def __init__(self, d_model, d_ff):
        super().__init__(d_ff, d_model)
        self.b1, self.b2 = self.b2, self.b1

    def forward(self, x):
        hidden = torch.nn.functional.linear(x, self.W1, self.b1.flatten())
        return torch.nn.functional.linear(torch.relu(hidden), self.W2, self.b2.flatten())


class MixedParameters(torch.nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.key = torch.nn.Parameter(torch.randn(d_model, d_ff))
        self.value = torch.nn.Parameter(torch.randn(d_model, d_ff))
        self.b = torch.nn.Parameter(torch.randn(d_ff))
        self.c = torch.nn.Parameter(torch.randn(d_model))

    def forward(self, x):
        return torch.einsum("...f,df->...d", torch.relu(x @ self.key + self.b), self.value) + self.c


class Convolutions(torch.nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.up, self.down = torch.nn.Conv1d(d_model, d_ff, 1), torch.nn.Conv1d(d_ff, d_model, 1)

    def forward(self, x):
        return self.down(self.up(x.transpose(-1, -2)).relu()).transpose(-1, -2)


class ReversedRegistration(torch.nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.contract = torch.nn.Linear(d_ff, d_model)
        self.expand = torch.nn.Linear(d_model, d_ff)

    def forward(self, x):
        return self.contract(torch.nn.functional.relu_(self.expand(x)))


class Lazy(torch.nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.a, self.b = torch.nn.LazyLinear(d_ff), torch.nn.LazyLinear(d_model)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


class InAList(torch.nn.Module):
    def __init__(self, d_model, d_ff, bias=True):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)])

    def forward(self, x, mask=None):
        return self.layers[1](torch.maximum(self.layers[0](x), torch.tensor(0.0, dtype=x.dtype)))


class NoDropout(torch.nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(d_model, d_ff), torch.nn.ReLU(inplace=True), torch.nn.Dropout(dropout), torch.nn.Linear(d_ff, d_model)
        )  # fmt: skip

    def forward(self, x):
        return self.net(x)


class Nested(torch.nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.inner = Plain(d_model, d_ff)

    def forward(self, x):
        return self.inner(x.reshape(-1, x.shape[-1])).view(x.shape)


class Halves(Plain):
    def forward(self, x):
        h = self.expand(x)
        return self.contract((h + h.abs()) / 2)


class Doubles(torch.nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.a = torch.nn.Linear(d_model, d_ff, dtype=torch.float64)
        self.b = torch.nn.Linear(d_ff, d_model, dtype=torch.float64)
        for parameter in self.parameters():
            parameter.requires_grad_(False)

    def forward(self, x):
        return self.b(torch.where(self.a(x) > 0, self.a(x), 0))


@pytest.mark.parametrize(
    "answer",
    [Plain, Stacked, RowParameters, ColumnParameters, MixedParameters, Convolutions, ReversedRegistration, Lazy, InAList, NoDropout, Nested, Halves, Doubles],
)  # fmt: skip
def test_every_right_module_is_accepted(answer):
    for seed in (0, 5):
        verdict = told("feed_forward_module", answer, seed)
        assert verdict.status == PASSED, verdict.message


def test_the_model_answer_passes():
    space = {"torch": torch}
    exec(lessons.exercise("feed_forward_module").solution, space)
    assert told("feed_forward_module", space["FeedForward"]).passed


# ---------------------------------------------------------------- feed_forward_module: wrong ones


def module(init=None, forward=None, base=Plain):
    """Return a variation of the plain module."""
    members = {}
    if init:
        members["__init__"] = init
    if forward:
        members["forward"] = forward
    return type("FeedForward", (base,), members)


def layers(expand, contract, more=None):
    def init(self, d_model, d_ff):
        torch.nn.Module.__init__(self)
        self.expand, self.contract = expand(d_model, d_ff), contract(d_model, d_ff)
        if more:
            self.more = more(d_model, d_ff)

    return init


Linear, F = torch.nn.Linear, torch.nn.functional


def no_super(self, d_model, d_ff):
    self.expand = Linear(d_model, d_ff)


def plain_list(self, d_model, d_ff):
    torch.nn.Module.__init__(self)
    self.layers = [Linear(d_model, d_ff), Linear(d_ff, d_model)]


def plain_tensors(self, d_model, d_ff):
    torch.nn.Module.__init__(self)
    self.W1, self.W2 = torch.randn(d_model, d_ff), torch.randn(d_ff, d_model)


class OnlyWidth(Plain):
    def __init__(self, d_model):
        super().__init__(d_model, 4 * d_model)


class OneMore(Plain):
    def forward(self, x, mask):
        return super().forward(x)


class NoSelf(Plain):
    def forward(x):
        return x


def one_matrix(self, d_model, d_ff):
    torch.nn.Module.__init__(self)
    self.expand, self.b = Linear(d_model, d_ff), torch.nn.Parameter(torch.zeros(d_model))


class WithoutForward(torch.nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.expand, self.contract = Linear(d_model, d_ff), Linear(d_ff, d_model)

    def foward(self, x):
        return self.contract(torch.relu(self.expand(x)))


class NotAModule:
    def __init__(self, d_model, d_ff):
        self.expand, self.contract = Linear(d_model, d_ff), Linear(d_ff, d_model)

    def __call__(self, x):
        return self.contract(torch.relu(self.expand(x)))


class NoInit(torch.nn.Module):
    def forward(self, x):
        return x


class InitMisspelt(torch.nn.Module):
    def _init_(self, d_model, d_ff):
        self.expand = Linear(d_model, d_ff)

    def forward(self, x):
        return self.expand(x)


class Flattened(Plain):
    def forward(self, x):
        return super().forward(x.flatten(0, 1))


def batches_only(self, x):
    batch, tokens, d_model = x.shape
    return Plain.forward(self, x.view(batch * tokens, d_model)).view(batch, tokens, d_model)


WRONG_MODULES = (
    (module(forward=lambda self, x: self.contract(self.expand(x))), "no activation"),
    (module(forward=lambda self, x: torch.relu(self.contract(self.expand(x)))), "ReLU after W2"),
    (module(forward=lambda self, x: torch.relu(self.contract(torch.relu(self.expand(x))))), "two ReLUs"),
    (module(forward=lambda self, x: self.contract(F.gelu(self.expand(x)))), "GELU"),
    (module(forward=lambda self, x: self.contract(F.gelu(self.expand(x), approximate="tanh"))), "GELU, tanh form"),
    (module(forward=lambda self, x: self.contract(F.silu(self.expand(x)))), "SiLU"),
    (module(forward=lambda self, x: self.contract(F.leaky_relu(self.expand(x)))), "leaky ReLU"),
    (module(forward=lambda self, x: self.contract(F.relu6(self.expand(x)))), "ReLU6"),
    (module(forward=lambda self, x: self.contract(F.selu(self.expand(x)))), "SELU"),
    (module(forward=lambda self, x: self.contract(torch.sigmoid(self.expand(x)))), "logistic"),
    (module(forward=lambda self, x: self.contract(F.softmax(self.expand(x), dim=-1))), "softmax"),
    (module(forward=lambda self, x: x + self.contract(torch.relu(self.expand(x)))), "residual added"),
    (module(forward=lambda self, x: torch.relu(self.expand(x))), "hidden values only"),
    (module(forward=lambda self, x: self.expand(torch.relu(self.contract(x)))), "shapes in forward"),
    (module(layers(lambda d, f: Linear(f, d), lambda d, f: Linear(d, f))), "layers the wrong way round"),
    (module(layers(lambda d, f: Linear(d, f, bias=False), lambda d, f: Linear(f, d, bias=False))), "no biases"),
    (module(layers(lambda d, f: Linear(d, f, bias=False), lambda d, f: Linear(f, d))), "one bias missing"),
    (module(layers(lambda d, f: Linear(d, f), lambda d, f: Linear(f, d, bias=False))), "one bias missing"),
    (module(layers(lambda d, f: Linear(512, 2048), lambda d, f: Linear(2048, 512))), "shapes of the parameters"),
    (module(layers(lambda d, f: Linear(d, 4 * d), lambda d, f: Linear(4 * d, d))), "d_ff not used"),
    (module(layers(lambda d, f: Linear(d, d), lambda d, f: Linear(d, d))), "d_ff not used"),
    (module(layers(lambda d, f: Linear(d, f), lambda d, f: Linear(f, f))), "shapes of the parameters"),
    (module(layers(lambda d, f: Linear(d, f), lambda d, f: Linear(f, d), lambda d, f: torch.nn.LayerNorm(d))), "extra parameters"),
    (module(layers(lambda d, f: Linear(d, f), lambda d, f: Linear(f, d), lambda d, f: torch.nn.PReLU())), "extra parameters"),
    (module(layers(lambda d, f: Linear(d, f), lambda d, f: Linear(f, d), lambda d, f: Linear(d, f))), "three weight matrices"),
    (module(layers(lambda d, f: torch.nn.Conv1d(d, f, 3), lambda d, f: torch.nn.Conv1d(f, d, 3))), "kernel size"),
    (module(layers(lambda d, f: Linear(d, f), lambda d, f: Linear(f, d), lambda d, f: torch.nn.Dropout(0.5)), lambda self, x: self.contract(self.more(torch.relu(self.expand(x))))), "dropout"),
    (module(forward=lambda self, x: self.contract(F.dropout(torch.relu(self.expand(x)), 0.5))), "random in evaluation mode"),
    (module(forward=lambda self, x: self.contract(F.relu(self.expand(F.relu(x, inplace=True))))), "ReLU on the input as well"),
    (module(forward=lambda self, x: Plain.forward(self, x) + 0 * x.mul_(2)), "modifies its input"),
    (module(forward=lambda self, x: self.contract(torch.relu(self.expand(x.float())))), "float32 on the way"),
    (module(forward=lambda self, x: Plain.forward(self, x).float()), "float32"),
    (module(forward=lambda self, x: (Plain.forward(self, x), x)), "several results"),
    (module(forward=lambda self, x: print(Plain.forward(self, x))), "nothing returned"),
    (OneMore, "arguments of forward"),
    (NoSelf, "arguments of forward"),
    (module(forward=lambda self, x: Plain.forward(self, x) * 2), "2"),
    (module(forward=lambda self, x: Plain.forward(self, x).mean(dim=1)), "tokens averaged"),
    (module(forward=lambda self, x: self.contract(torch.relu(x @ self.expand.weight.T))), "no first bias"),
    (module(forward=lambda self, x: torch.relu(x @ self.expand.weight.T) @ self.contract.weight.T), "no biases used"),
    (module(forward=lambda self, x: self.contract(torch.tanh(self.expand(x)))), "tanh"),
    (module(forward=lambda self, x: self.contract(self.activation(self.expand(x)))), "no such attribute"),
    (module(init=no_super), "no super().__init__()"),
    (module(init=plain_list, forward=lambda self, x: self.layers[1](torch.relu(self.layers[0](x)))), "nothing registered"),
    (module(init=plain_tensors, forward=lambda self, x: torch.relu(x @ self.W1) @ self.W2), "nothing registered"),
    (OnlyWidth, "arguments of __init__"),
    (module(init=one_matrix, forward=lambda self, x: torch.relu(self.expand(x)) @ self.expand.weight + self.b), "one weight matrix"),
    (WithoutForward, "no forward"),
    (NotAModule, "not a Module"),
    (NoInit, "no __init__"),
    (InitMisspelt, "no __init__"),
    (Flattened, "shapes in forward"),
    (module(forward=batches_only), "a fixed number of axes"),
    (module(forward=lambda self, x: self.contract(torch.relu(self.expand(x.transpose(1, 2).transpose(1, 2))))), "a fixed number of axes"),
    (module(forward=lambda self, x: self.contract(torch.einsum("btd,fd->btf", x, self.expand.weight).add(self.expand.bias).relu())), "a fixed number of axes"),
    (module(forward=lambda self, x: Plain.forward(self, x).detach()), "no gradient"),
    (module(forward=lambda self, x: Plain.forward(self, x).detach().numpy()), "no gradient"),
    (module(forward=lambda self, x: self.contract(torch.relu(self.expand(x)).data)), "no gradient"),
    (module(forward=torch.no_grad()(Plain.forward)), "no gradient"),
    (Plain(3, 7), "not a class"),
    (lambda d_model, d_ff: Plain(d_model, d_ff), "not a class"),
    (module(forward=lambda self, x: self.contract(torch.relu(self.expand(x))) if self.training else x), "unchanged"),
    (module(forward=lambda self, x: self.contract(torch.relu(self.expand(x))) if not self.training else x), "two modes"),
    (type("FeedForward", (RowParameters,), {"forward": lambda self, x: (x @ self.W1 + self.b1) @ self.W2 + self.b2}), "no activation"),
    (type("FeedForward", (RowParameters,), {"forward": lambda self, x: F.gelu(x @ self.W1 + self.b1) @ self.W2 + self.b2}), "GELU"),
    (type("FeedForward", (Convolutions,), {"forward": lambda self, x: self.down(self.up(x.transpose(-1, -2))).transpose(-1, -2)}), "no activation"),
    (type("FeedForward", (Convolutions,), {"forward": lambda self, x: self.down(self.up(x).relu())}), None),
    (Linear, "one weight matrix"),
    (torch.nn.Module, "no __init__"),
)  # fmt: skip


@pytest.mark.parametrize("answer, name", WRONG_MODULES)
def test_wrong_modules_are_explained(answer, name):
    verdict = told("feed_forward_module", answer)
    assert verdict.status == NOT_YET
    assert verdict.misconception == name or (name and name in str(verdict.misconception)), verdict.message


def test_a_module_that_is_still_a_stub_is_untouched():
    def stub(self, *args):
        raise NotImplementedError

    assert told("feed_forward_module", module(init=stub)).status == UNTOUCHED
    assert told("feed_forward_module", module(forward=stub)).status == UNTOUCHED
    assert told("feed_forward_module", ...).status == UNTOUCHED


def test_the_generator_of_the_learner_is_left_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    told("feed_forward_module", Plain)
    assert torch.equal(torch.rand(1), expected)


# ---------------------------------------------------------------- the lesson's deciding values, computed another way


def test_the_sum_of_lesson_02_is_normalised_as_exact_fractions_say():
    total = [Fraction(17, 10), Fraction(-7, 10), Fraction(14, 10), Fraction(12, 10)]
    mean = sum(total) / 4
    variance = sum((v - mean) ** 2 for v in total) / 4
    assert (mean, variance) == (Fraction(9, 10), Fraction(885, 1000))
    assert sum(v**2 for v in total) / 4 == Fraction(1695, 1000)
    by_hand = [float(v - mean) / float(variance) ** 0.5 for v in total]
    ours = layer.layer_norm(np.array(total, dtype=float), np.ones(4), np.zeros(4), 0)
    assert np.allclose(ours, by_hand, rtol=0, atol=1e-12) and np.round(by_hand, 2).tolist() == [0.85, -1.7, 0.53, 0.32]


@pytest.mark.parametrize(("wiring", "norm_first"), [(layer.pre_norm, True), (layer.post_norm, False)])
def test_the_block_in_numpy_is_torchs_with_one_head(wiring, norm_first):
    torch.manual_seed(0)
    theirs = torch.nn.TransformerEncoderLayer(6, 1, 24, 0.0, batch_first=True, norm_first=norm_first).double()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    torch.nn.init.zeros_(theirs.self_attn.in_proj_bias)
    w = {name: value.numpy() for name, value in theirs.state_dict().items()}
    Wq, Wk, Wv = (part.T for part in np.split(w["self_attn.in_proj_weight"], 3))

    def attention(x):
        mixed = layer.self_attention(x, Wq, Wk, Wv)
        return mixed @ w["self_attn.out_proj.weight"].T + w["self_attn.out_proj.bias"]

    def ffn(x):
        return layer.feed_forward(x, w["linear1.weight"].T, w["linear1.bias"], w["linear2.weight"].T, w["linear2.bias"])

    def norm(number):
        return lambda x: layer.layer_norm(x, w[f"norm{number}.weight"], w[f"norm{number}.bias"], 1e-5)

    x = np.random.default_rng(0).normal(size=(2, 5, 6))
    ours = wiring(wiring(x, attention, norm(1)), ffn, norm(2))
    with torch.no_grad():
        assert np.allclose(ours, theirs(torch.from_numpy(x)).numpy(), rtol=0, atol=1e-9)
    if norm_first:
        assert np.array_equal(ours, layer.transformer_block(x, attention, ffn, norm(1), norm(2)))


def test_a_mixture_of_one_head_never_leaves_the_range_of_the_values_and_a_projection_does():
    rng = np.random.default_rng(0)
    x, Wq, Wk, Wv = rng.normal(size=(9, 4)), *rng.normal(size=(3, 4, 4))
    mixed, values = layer.self_attention(x, Wq, Wk, Wv), x @ Wv
    assert (mixed <= values.max(0) + 1e-12).all() and (mixed >= values.min(0) - 1e-12).all()
    assert ((mixed @ (9 * np.eye(4))).max(0) > values.max(0)).any()


def test_attention_is_no_linear_map_of_the_sequence_unless_the_sequence_is_one_row():
    rng = np.random.default_rng(1)
    x, *heads = rng.normal(size=(4, 4, 4))
    assert not np.allclose(layer.self_attention(2 * x, *heads), 2 * layer.self_attention(x, *heads))
    assert np.allclose(layer.self_attention(2 * x[:1], *heads), 2 * layer.self_attention(x[:1], *heads))


def test_without_the_skip_the_chain_rule_alone_makes_the_gradient_vanish():
    rng, d, d_ff = np.random.default_rng(2), 16, 64
    sizes = {}
    for skip in (0, 1):
        jacobian, x = np.eye(d), rng.normal(size=d)
        for _ in range(24):
            W1, W2 = rng.uniform(-1, 1, (d, d_ff)) / d**0.5, rng.uniform(-1, 1, (d_ff, d)) / d_ff**0.5
            step = W1 * (x @ W1 > 0) @ W2 + skip * np.eye(d)  # d next / d x, in rows
            jacobian, x = jacobian @ step, np.maximum(0, x @ W1) @ W2 + skip * x
        sizes[skip] = np.linalg.norm(jacobian) / d**0.5
    assert sizes[0] < 1e-12 and 0.5 < sizes[1] < 20
