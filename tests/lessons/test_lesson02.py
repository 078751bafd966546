"""Lesson 02: unusual right answers pass, and wrong ones that nobody listed are explained or left unexplained."""

from __future__ import annotations

import ast
import functools
from fractions import Fraction

import numpy as np
import pytest
import torch

from ffnlib.authoring import build
from ffnlib.authoring.notebook import read
from ffnlib.examination import lessons
from ffnlib.examination.lessons.lesson02 import SOURCE_W1, SOURCE_W2
from ffnlib.examination.verdict import NOT_YET
from tests.lessons.answering import assert_passes
from tests.lessons.test_exercises import verdict_on

# ---------------------------------------------------------------- self_test_c


def by_loops(W1, W2, x):
    hidden = [max(0, sum(w * v for w, v in zip(row, x))) for row in W1]
    return [sum(w * h for w, h in zip(row, hidden)) for row in W2]


class Layer:
    def __call__(self, W1, W2, x):
        return np.dot(W2, np.clip(np.dot(W1, x), 0, None))


def in_fractions(W1, W2, x):
    W1, W2, x = ([[Fraction(float(v)) for v in row] for row in m] for m in (W1, W2, [x]))
    hidden = [max(Fraction(0), sum(a * b for a, b in zip(row, x[0]))) for row in W1]
    return [sum(a * b for a, b in zip(row, hidden)) for row in W2]


def in_torch(W1, W2, x):
    W1, W2, x = (torch.tensor(np.array(a, dtype=float), requires_grad=True) for a in (W1, W2, x))
    return W2 @ torch.relu(W1 @ x)


def with_a_mask(W1, W2, x):
    h = W1 @ x
    return W2[:, h > 0] @ h[h > 0]


def scaled(W1, W2, x, scale=1.0):
    return scale * (W2 @ np.maximum(W1 @ x, 0))


RIGHT_C = (
    by_loops,
    Layer(),
    in_fractions,
    in_torch,
    with_a_mask,
    scaled,
    functools.partial(scaled, scale=1),
    lambda W1, W2, x: np.einsum("oh,h->o", W2, np.maximum(0, np.einsum("hi,i->h", W1, x))),
    lambda W1, W2, x: np.maximum(0, x @ W1.T) @ W2.T,
    lambda W1, W2, x: W2 @ ((W1 @ x) * (W1 @ x > 0)),
    lambda W1, W2, x: W2 @ ((W1 @ x + np.abs(W1 @ x)) / 2),
    lambda W1, W2, x: (W2 * np.maximum(0, W1 @ x)).sum(axis=1),
    lambda W1, W2, x: np.longdouble(1) * (W2 @ np.where(W1 @ x < 0, 0, W1 @ x)),
    lambda *args: np.ma.masked_array(by_loops(*args)),
    lambda W1, W2, x: tuple(W2.dot(np.vectorize(lambda v: float(max(v, 0)))(W1.dot(x)))),
)


@pytest.mark.parametrize("answer", RIGHT_C)
def test_self_test_c_accepts_every_right_way(answer):
    assert_passes("self_test_c", answer)


def test_the_worked_numbers_are_those_of_the_example():
    oracle = lessons.exercise("self_test_c").oracle
    assert oracle(SOURCE_W1, SOURCE_W2, np.array([1, 0])).tolist() == [2, 0]
    assert oracle(SOURCE_W1, SOURCE_W2, np.array([0, 1])).tolist() == [1, 2]


WRONG_C = (
    (lambda W1, W2, x: W2 @ np.maximum(0, W1.T @ x), "along its wrong axis"),
    (lambda W1, W2, x: W2 @ np.maximum(0, W1 * x).sum(axis=1), None),
    (lambda W1, W2, x: W2 @ np.maximum(0, W1 @ x - 1), "1"),
    (lambda W1, W2, x: 2 * W2 @ np.maximum(0, W1 @ x), "2"),
    (lambda W1, W2, x: (W2 @ np.maximum(0, W1 @ x))[::-1], None),
    (lambda W1, W2, x: np.maximum(W2 @ W1 @ x, 0), "after W2"),
    (lambda W1, W2, x: np.array([2, 0]), "worked example"),
    (lambda W1, W2, x: W2 @ np.maximum(0, W1 @ x) / len(x), "root of d_model"),
    (lambda W1, W2, x: (W2 @ np.maximum(0, W1 @ x))[:, None], "in shape"),
    (lambda W1, W2, x: (W2 @ np.maximum(0, W1 @ x)).astype(np.float32), "float32"),
    (lambda W1, W2, x: str(W2 @ np.maximum(0, W1 @ x)), "text"),
    (lambda x, W1, W2: W2 @ np.maximum(0, W1 @ x), "in this order"),
    (lambda W1, W2, x: np.asmatrix(W2 @ np.maximum(0, W1 @ x)), "matrix"),
    (lambda W1, W2, x: np.round(W2 @ np.maximum(0, W1 @ x)), "rounded to whole numbers"),
    (lambda W1, W2, x: W2 @ np.maximum(0.1, W1 @ x), None),
    (lambda W1, W2, x: W2 @ np.maximum(0, W1 @ x) + W2 @ np.minimum(0, W1 @ x) * 0.2, None),
)


@pytest.mark.parametrize("answer, words", WRONG_C)
def test_self_test_c_explains_wrong_answers_nobody_listed(answer, words):
    verdict = verdict_on(lessons.exercise("self_test_c"), answer)
    assert verdict.status == NOT_YET
    assert (words is None and verdict.misconception is None) or (words or "?") in verdict.message, verdict.message


# ---------------------------------------------------------------- trace_hidden


def trace_by_loops(h):
    a, active = [], []
    for i, value in enumerate(h.tolist()):
        a.append(value if value > 0 else 0)
        if value > 0:
            active.append(i)
    return [a, active, Fraction(a.count(0), len(a))]


def trace_in_torch(h):
    a = torch.relu(torch.tensor(np.array(h, dtype=float)))
    return a, torch.nonzero(a).flatten(), (a == 0).double().mean()


RIGHT_TRACE = (
    trace_by_loops,
    trace_in_torch,
    lambda h: (np.clip(h, 0, None), np.where(h > 0)[0], 1 - np.count_nonzero(h > 0) / h.size),
    lambda h: (h * (h > 0), [i for i, v in enumerate(h) if v > 0], (h <= 0).mean()),
    lambda h: (np.maximum(h, 0.0), np.nonzero(np.maximum(h, 0))[0], sum(v <= 0 for v in h) / len(h)),
    lambda h: (np.where(h > 0, h, 0), np.arange(len(h))[h > 0], np.array(np.mean(h <= 0))),
    lambda h: (np.fmax(h, 0), np.flatnonzero(h > 0) - len(h), np.mean(np.maximum(h, 0) == 0)),
    lambda h: [np.maximum(0, h), tuple(np.flatnonzero(h > 0)), [np.mean(h <= 0)]],
    lambda h: ((np.abs(h) + h) / 2, np.argwhere(h > 0).ravel(), 1.0 - (h > 0).sum() / len(h)),
    lambda h, eps=0: (np.maximum(0, h), np.flatnonzero(h > eps).astype(float), np.mean(~(h > eps))),
    lambda h: (np.maximum(0, h), sorted(int(i) for i in np.flatnonzero(h > 0)), float(np.mean(h <= 0))),
)


@pytest.mark.parametrize("answer", RIGHT_TRACE)
def test_trace_hidden_accepts_every_right_way(answer):
    assert_passes("trace_hidden", answer)


WRONG_TRACE = (
    (lambda h: (np.maximum(0, h), h > 0, np.mean(h <= 0)), "mask"),
    (lambda h: (np.maximum(0, h), np.where(h > 0), np.mean(h <= 0)), "tuple"),
    (lambda h: np.maximum(0, h), "part"),
    (lambda h: (np.maximum(0, h), np.flatnonzero(h > 0)), "2 parts"),
    (lambda h: {"a": np.maximum(0, h), "active": np.flatnonzero(h > 0), "sparsity": np.mean(h <= 0)}, "dict"),
    (lambda h: (np.maximum(0, h), np.flatnonzero(h > 0) + 1, np.mean(h > 0)), "1"),
    (lambda h: (h, np.flatnonzero(h), np.mean(h == 0)), "h"),
    (lambda h: (np.maximum(0, h), np.flatnonzero(h > 0), np.mean(h > 0) + 0 * h), None),
    (lambda h: (np.maximum(0, h), np.flatnonzero(h > 0), 1 - np.mean(np.maximum(0, h))), None),
    (lambda h: (np.maximum(0, h), np.flatnonzero(h > 0), f"{np.mean(h <= 0):.0%}"), "text"),
    (lambda h: (np.maximum(0, h), np.flatnonzero(h >= 0), np.mean(h >= 0)), "0"),
    (lambda h: (np.maximum(0, h), np.flatnonzero(h > 0), np.float32(np.mean(h <= 0))), "float32"),
    (lambda h: (np.maximum(0, h), set(np.flatnonzero(h > 0).tolist()), np.mean(h <= 0)), "set"),
    (lambda h: (np.maximum(0, h), np.flatnonzero(h > 0), 1 - np.mean(h)), None),
    (lambda h: (np.maximum(0, h), np.flatnonzero(h < 0), np.mean(h > 0)), None),
)


@pytest.mark.parametrize("answer, words", WRONG_TRACE)
def test_trace_hidden_explains_wrong_answers_nobody_listed(answer, words):
    verdict = verdict_on(lessons.exercise("trace_hidden"), answer)
    assert verdict.status == NOT_YET
    assert (words is None and verdict.misconception is None) or (words or "?") in verdict.message, verdict.message


# ---------------------------------------------------------------- the lesson's deciding values, computed another way


def in_the_lesson(cell_id, name):
    """Return the numbers that a cell of the lesson writes down for `name`, as exact decimals."""
    cells = {
        cell["id"]: cell["source"] for cell in read(build.ROOT / "solutions" / "02_worked_examples.ipynb")["cells"]
    }
    for node in ast.parse(cells[cell_id]).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == name:
            return exact(ast.literal_eval(node.value.args[0]))
    raise LookupError(f"{cell_id} does not bind {name}")


def exact(numbers):
    return [exact(each) for each in numbers] if isinstance(numbers, list) else Fraction(str(numbers))


def times(row, matrix):
    return [sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*matrix, strict=True)]


def test_the_worked_example_gives_these_three_outputs_in_whole_numbers():
    outputs = [by_loops(SOURCE_W1.tolist(), SOURCE_W2.tolist(), x) for x in ([1, 0], [0, 1], [1, 1])]
    assert outputs == [[2, 0], [1, 2], [3, 1]]


def test_the_weights_of_the_trace_reproduce_every_printed_number_exactly():
    x, h, y = (in_the_lesson("the-printed-numbers", f"{name}_printed") for name in "xhy")
    W1, W2 = in_the_lesson("first-matrix", "V1"), in_the_lesson("second-matrix", "V2")
    b2 = in_the_lesson("second-matrix", "c2")
    assert times(x, W1) == h == exact([2.1, -0.7, 1.4, -1.2, 0.0, 0.9, -0.3, 1.8])
    a = [max(Fraction(0), value) for value in h]
    assert [sum(pair) for pair in zip(times(a, W2), b2, strict=True)] == y == exact([0.7, -0.2, 1.1, 0.4])
    assert [sum(pair) for pair in zip(x, y, strict=True)] == exact([1.7, -0.7, 1.4, 1.2])


def test_the_normalised_sum_is_the_one_torch_finds():
    found = torch.nn.functional.layer_norm(torch.tensor([1.7, -0.7, 1.4, 1.2], dtype=torch.float64), (4,))
    assert [f"{value:.2f}" for value in found.tolist()] == ["0.85", "-1.70", "0.53", "0.32"]


def test_the_micro_example_keeps_the_numbers_it_was_given():
    W1, b1 = in_the_lesson("micro-first-matrix", "M1"), in_the_lesson("micro-first-matrix", "m1")
    assert [row[:2] for row in W1[:2]] == exact([[0.5, -0.3], [0.2, 0.4]])
    assert b1 == exact([0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7, -0.8])
    h = [sum(pair) for pair in zip(times(exact([1, 0, -1, 2]), W1), b1, strict=True)]
    assert h == exact([1.6, -0.5, 0.4, 0.3, -0.9, 0.7, -0.7, 0.4])


@pytest.mark.parametrize(("d_model", "d_ff", "numbers"), [(768, 3072, 4_722_432), (512, 2048, 2_099_712)])
def test_the_layers_of_bert_base_and_of_the_original_have_that_many_numbers(d_model, d_ff, numbers):
    layer = torch.nn.Sequential(torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model))
    assert sum(weights.numel() for weights in layer.parameters()) == numbers
