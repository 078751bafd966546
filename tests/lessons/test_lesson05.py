"""Lesson 05: right answers in unusual forms pass, wrong ones nobody listed are explained."""

from __future__ import annotations

import functools
import math
from statistics import NormalDist

import numpy as np
import pytest
import torch

from ffnlib import activations, sparsity
from ffnlib.examination import lessons
from ffnlib.examination.verdict import PASSED
from tests.lessons.test_exercises import verdict_on

erf = activations.erf


def gelu_by_loops(x):
    flat = [0.5 * float(v) * (1 + math.erf(float(v) / math.sqrt(2))) for v in np.ravel(x)]
    return np.array(flat).reshape(np.shape(x))


def gelu_in_lists(x):
    if np.ndim(x) == 0:
        return float(x) * NormalDist().cdf(float(x))
    return [gelu_in_lists(row) for row in x]


class CallableGelu:
    def __call__(self, x):
        return x * (1 + erf(x / 2**0.5)) / 2


def gelu_in_two_halves(x):
    out = np.empty(np.shape(x))
    positive = x > 0
    out[positive] = x[positive] - x[positive] * 0.5 * (1 - erf(x[positive] / np.sqrt(2)))
    out[~positive] = x[~positive] * 0.5 * (1 + erf(x[~positive] / np.sqrt(2)))
    return out


def gelu_with_option(x, approximate="none"):
    return torch.nn.functional.gelu(torch.tensor(x, dtype=torch.float64), approximate=approximate)


def silu_by_parts(x):
    out = np.zeros(x.shape)
    positive = x >= 0
    out[positive] = x[positive] / (1 + np.exp(-x[positive]))
    out[~positive] = x[~positive] * np.exp(x[~positive]) / (1 + np.exp(x[~positive]))
    return out


def silu_by_recursion(x):
    if np.ndim(x):
        return np.array([silu_by_recursion(part) for part in x], dtype=float).reshape(np.shape(x))
    x = float(x)
    return x / (1 + math.exp(-x)) if x > 0 else x * math.exp(x) / (1 + math.exp(x))


def silu_with_grad(x):
    return torch.nn.functional.silu(torch.tensor(x, dtype=torch.float64, requires_grad=True))


def dead_by_loops(H):
    count = 0
    for unit in range(H.shape[1]):
        for token in range(H.shape[0]):
            if H[token, unit] != 0:
                break
        else:
            count += 1
    return count


def tanh_by_exponentials(x):
    u = np.sqrt(2 / np.pi) * (x + 0.044715 * np.power(x, 3.0))
    return 0.5 * x * (1 + np.sign(u) * (1 - np.exp(-2 * np.abs(u))) / (1 + np.exp(-2 * np.abs(u))))


RIGHT = {
    "gelu": [
        gelu_by_loops,
        gelu_in_lists,
        CallableGelu(),
        gelu_in_two_halves,
        gelu_with_option,
        np.vectorize(lambda v: v * NormalDist().cdf(v), otypes=[float]),
        functools.partial(gelu_with_option, approximate="none"),
        lambda x: np.ma.array(0.5 * x * (1 + erf(x / math.sqrt(2)))),
        lambda x: (x / 2) + (x / 2) * erf(x * math.sqrt(0.5)),
        lambda x: np.multiply(x, np.add(1, erf(np.divide(x, np.sqrt(2))))) * 0.5,
        lambda x: np.asarray(x, dtype=np.longdouble) * (1 + erf(x / np.sqrt(2))) / 2,
        lambda x: x - x * 0.5 * (1 - erf(x / math.sqrt(2))),
        lambda x: np.asfortranarray(0.5 * x * (1 + erf(x / 1.4142135623730951))),
        lambda x: torch.from_numpy(x * 1.0) * torch.distributions.Normal(0.0, 1.0).cdf(torch.from_numpy(x * 1.0)),
    ],
    "gelu_tanh": [
        lambda x: x * activations.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)),
        tanh_by_exponentials,
        functools.partial(gelu_with_option, approximate="tanh"),
        np.vectorize(
            lambda v: 0.5 * v * (1 + math.tanh(0.7978845608028654 * v * (1 + 0.044715 * v * v))), otypes=[float]
        ),
        lambda x: 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x))),
        lambda x: x / 2 + x / 2 * np.tanh(np.sqrt(2) / np.sqrt(np.pi) * x * (1 + 0.044715 * x**2)),
        lambda x: [row for row in 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))],
        lambda x, *ignored: 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * np.power(x, 3)))),
        lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 44715e-6 * x**3))),
        lambda x: x * 0.5 * (np.tanh(math.sqrt(2 / math.pi) * x + math.sqrt(2 / math.pi) * 0.044715 * x**3) + 1),
    ],
    "silu": [
        silu_by_parts,
        silu_by_recursion,
        silu_with_grad,
        lambda x: x / (1 + np.exp(-x)),
        lambda x: x * (1 + np.tanh(x / 2)) / 2,
        lambda x: x * activations.sigmoid(x),
        lambda x: x * np.exp(-np.logaddexp(0, -np.asarray(x, dtype=float))),
        lambda x: x / (1 + np.exp(-np.clip(x, -500, 500))),
        lambda x: np.where(x > 0, x / (1 + np.exp(-np.abs(x))), x * np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x)))),
        lambda x: torch.from_numpy(x * 1.0) * torch.sigmoid(torch.from_numpy(x * 1.0)),
        lambda x: np.nan_to_num(x / (1 + np.exp(-x))),
        lambda x: x - x / (1 + np.exp(np.minimum(x, 700))),
        np.vectorize(lambda v: v / (1 + math.exp(min(700, -v))), otypes=[float]),
    ],
    "dead_units": [
        dead_by_loops,
        sparsity.dead_units.__wrapped__ if hasattr(sparsity.dead_units, "__wrapped__") else dead_by_loops,
        lambda H: np.sum(~np.any(H, axis=0)),
        lambda H: H.shape[1] - len(np.unique(np.nonzero(H)[1])),
        lambda H: sum(not any(column) for column in zip(*H.tolist())),
        lambda H: int((np.abs(H).max(axis=0) == 0).sum()),
        lambda H: np.array([np.count_nonzero(np.abs(H).sum(axis=0) == 0)]),
        lambda H: float(np.sum(np.count_nonzero(H, axis=0) == 0)),
        lambda H: torch.from_numpy(H * 1.0).eq(0).all(dim=0).sum(),
        lambda H: list(map(bool, np.logical_or.reduce(H != 0, axis=0))).count(False),
        lambda H: len([u for u in range(H.shape[1]) if not H[:, u].any()]),
        lambda H: np.logical_and.reduce(H == 0).sum(),
    ],
}


@pytest.mark.parametrize(("name", "answer"), [(name, answer) for name, group in RIGHT.items() for answer in group])
def test_an_unusual_right_answer_passes(name, answer):
    for seed in (0, 77):
        verdict = verdict_on(lessons.exercise(name), answer, seed)
        assert verdict.status == PASSED, verdict.message
