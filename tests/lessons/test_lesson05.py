"""Lesson 05: right answers in unusual forms pass, wrong ones nobody listed are explained."""

from __future__ import annotations

import functools
import json
import math
from statistics import NormalDist

import numpy as np
import pytest
import torch

from ffnlib import activations
from ffnlib.examination import lessons
from ffnlib.layer import relu
from ffnlib.specimen.files import WEIGHTS
from tests.lessons.answering import assert_passes, assert_told
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
        lambda x: list(0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
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
    assert_passes(name, answer)


def itanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


ROOT = math.sqrt(2)
WRONG = [
    ("gelu", lambda x: 0.5 * x * (1 + erf(x / math.sqrt(3))), "`math.sqrt(3)` stands where `math.sqrt(2)` belongs"),
    (
        "gelu",
        lambda x: 0.5 * x * (2 + erf(x / ROOT)),
        "`2 + erf(x / math.sqrt(2))` stands where `1 + erf(x / math.sqrt(2))` belongs",
    ),
    ("gelu", lambda x: x * (1 + erf(x)), "the factor 1/2 is missing, and"),
    ("gelu", lambda x: 0.5 * x * (1 + erf(-x / ROOT)), "erf enters with a minus"),
    ("gelu", lambda x: 0.5 * x * (1 + erf(x / ROOT)) + x, "x is added to the result"),
    ("gelu", lambda x: x * activations.sigmoid(1.7 * x), "x sigmoid(1.7 x)"),
    ("gelu", lambda x: 0.5 * x * (1 + erf(x / 1.41)), "rounded to 1.41"),
    ("gelu", lambda x: 0.5 * x * (1 + math.erf(x / ROOT)), "for single numbers"),
    ("gelu", lambda x: 0.5 * x * (1 + erf(x / ROOT)) if x > 0 else 0, "one question of a whole array"),
    ("gelu", lambda x: torch.nn.functional.gelu(torch.tensor(x, dtype=torch.float32)), "float32"),
    ("gelu", lambda x: 0.5 * x * (1 + erf(x / ROOT)) * (x > 0), "negative results are cut to 0"),
    ("gelu", lambda x: np.ravel(0.5 * x * (1 + erf(x / ROOT))), "shape (9,) where (3, 3)"),
    ("gelu_tanh", lambda x: itanh(x) / 2, "/ 2` stands where"),
    ("gelu_tanh", lambda x: itanh(x) * 2, "the factor 1/2 is missing"),
    ("gelu_tanh", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / 3.14) * (x + 0.044715 * x**3))), "a rounded pi"),
    ("gelu_tanh", lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * x)), "the cubic term is missing, and"),
    ("gelu_tanh", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.0447 * x**3))), "0.0447"),
    ("gelu_tanh", lambda x: 0.5 * x * (1 + np.sinh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), "`np.sinh`"),
    ("gelu_tanh", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715) * x**3)), "closed before"),
    (
        "gelu_tanh",
        lambda x: 0.5 * (x + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        "x and tanh are added",
    ),
    ("gelu_tanh", lambda x: x * activations.sigmoid(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)), "half of what"),
    ("gelu_tanh", lambda x: itanh(x) + x, "x is added to the result"),
    ("gelu_tanh", lambda x: 0.5 * x * (1 + math.tanh(x)), "for single numbers"),
    ("silu", lambda x: x / (2 + np.exp(-x)), "`2 + np.exp(-x)` stands where `1 + np.exp(-x)` belongs"),
    ("silu", lambda x: x * np.exp(x) / (1 + np.exp(x)), "exp(x) overflows"),
    ("silu", lambda x: x * np.exp(-x) / (1 + np.exp(-x)), "stands where"),
    ("silu", lambda x: x / (1 + np.exp(-np.abs(x))), "is taken of |x|"),
    ("silu", lambda x: x * (1 / (1 + np.exp(-x))) * 2, "1/2 before 1 + tanh(x / 2) is missing"),
    ("silu", lambda x: x / (1 + math.exp(-x)), "for single numbers"),
    ("silu", lambda x: x / (1 + np.exp(-x)) + x, "x is added to the result"),
    ("silu", lambda x: np.clip(x, -100, 100) / (1 + np.exp(-np.clip(x, -100, 100))), "clipped to 100"),
    ("silu", lambda x: np.maximum(x, 0) / (1 + np.exp(-x)), "negative results are cut to 0"),
    ("silu", lambda x: x / 1 + np.exp(-x), "brackets around 1 + exp(-x)"),
    ("silu", lambda x: x * (1 + np.tanh(x)), "tanh"),
    ("dead_units", lambda H: int((H.mean(axis=0) == 0).sum()), "its sum is zero"),
    ("dead_units", lambda H: int((H.sum(axis=1) == 0).sum()), "tokens without any active unit"),
    ("dead_units", lambda H: int((np.prod(H, axis=0) == 0).sum()), "the product of its values is zero"),
    ("dead_units", lambda H: int(np.isclose(H, 0).all(axis=0).sum()), "stays close to zero"),
    ("dead_units", lambda H: int((np.linalg.norm(H, axis=0) < 1e-12).sum()), "stays close to zero"),
    ("dead_units", lambda H: int((H.std(axis=0) == 0).sum()), "do not change from token to token"),
    ("dead_units", lambda H: int((H > 0).any(axis=0).sum()), "positive on at least one token"),
    ("dead_units", lambda H: len(H[:, (H == 0).all(axis=0)]), "the tokens are counted"),
    ("dead_units", lambda H: (H == 0).all(axis=0).sum() / H.shape[1] * 100, "in per cent"),
    ("dead_units", lambda H: np.flatnonzero((H == 0).all(axis=0)), "one number is asked for"),
    ("dead_units", lambda H: int((H == 0).sum() // H.shape[0]), "divided by the number of tokens"),
    ("dead_units", lambda H: 7, "the same number comes back for every call"),
]


@pytest.mark.parametrize(("name", "answer", "words"), WRONG)
def test_a_wrong_answer_nobody_listed_is_explained(name, answer, words):
    assert_told(name, answer, words)


def test_a_wrong_number_of_no_known_cause_is_left_unexplained():
    verdict = verdict_on(lessons.exercise("gelu"), lambda x: np.cos(3 * x) - 0.123)
    assert verdict.misconception is None, verdict.message


def test_activations_agree_with_torch_far_into_both_tails():
    x = np.concatenate([np.linspace(-30, 30, 241), [-1e4, -800.0, 800.0, 1e4, 1e200, -1e200]])
    tensor = torch.from_numpy(x)
    pairs = (
        (activations.silu, torch.nn.functional.silu(tensor)),
        (activations.gelu, torch.nn.functional.gelu(tensor)),
        (activations.gelu_tanh, torch.nn.functional.gelu(tensor, approximate="tanh")),
        (activations.sigmoid, torch.sigmoid(tensor)),
        (activations.erf, torch.erf(tensor)),
    )
    for function, expected in pairs:
        result = function(x)
        assert np.isfinite(result).all()
        np.testing.assert_allclose(result, expected.numpy(), rtol=1e-13, atol=2e-14)


def test_the_tails_keep_their_digits():
    exact = -20 * 2.7536241186062337e-89  # Phi(-20), from tables of the normal distribution
    assert math.isclose(float(activations.gelu(-20.0)), exact, rel_tol=1e-12)
    assert math.isclose(float(activations.silu(-700.0)), -700 * math.exp(-700), rel_tol=1e-12)
    assert -1e-200 < float(activations.gelu_tanh(-20.0)) < 0


# ---------------------------------------------------------------- the lesson's deciding values, computed another way


def race(activation, number):
    """The numbers of an activation's three runs, in the order of their seeds."""
    rows = json.loads((WEIGHTS / "race.json").read_text(encoding="utf-8"))
    return [number(row) for row in sorted(rows, key=lambda row: row["seed"]) if row["activation"] == activation]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (relu, torch.relu),
        (activations.gelu, torch.nn.functional.gelu),
        (activations.gelu_tanh, functools.partial(torch.nn.functional.gelu, approximate="tanh")),
        (activations.silu, torch.nn.functional.silu),
    ],
)
def test_our_slopes_are_torchs_gradients(ours, theirs):
    x = torch.linspace(-5, 5, 40, dtype=torch.float64, requires_grad=True)  # 0 is not among them
    theirs(x).sum().backward()
    assert np.allclose(activations.slope(ours, x.detach().numpy()), x.grad.numpy(), rtol=0, atol=1e-8)


def test_gelu_turns_where_its_derivative_is_zero():
    low, high = -1.0, -0.5
    for _ in range(60):
        middle = (low + high) / 2
        rising = NormalDist().cdf(middle) + middle * NormalDist().pdf(middle) > 0
        low, high = (low, middle) if rising else (middle, high)
    assert round(low, 3) == -0.752


def test_the_two_forms_of_gelu_differ_by_less_than_five_ten_thousandths():
    x = torch.linspace(-8, 8, 16001, dtype=torch.float64)
    exact, formula = (torch.nn.functional.gelu(x, approximate=form) for form in ("none", "tanh"))
    assert 4.7e-4 < (exact - formula).abs().max().item() < 4.8e-4


def test_a_straight_piece_for_each_unit_draws_one_wave_better_than_six():
    def error(waves, units):
        x, bends = np.linspace(-1, 1, 401), np.linspace(-1, 1, units + 1)
        return np.abs(np.interp(x, bends, np.sin(waves * np.pi * bends)) - np.sin(waves * np.pi * x)).max()

    assert error(1, 16) < 0.02 < error(6, 64) / 2


def test_squares_of_shifted_numbers_span_parabolas_only():
    x = np.linspace(-1, 1, 50)
    assert np.linalg.matrix_rank(np.column_stack([(x - place) ** 2 for place in np.linspace(-1, 1, 30)])) == 3


def test_silu_leads_in_no_seed_neither_on_prose_nor_on_people():
    prose = np.array([race(kind, lambda row: row["loss"]) for kind in ("relu", "gelu", "silu")])
    people = np.array([race(kind, lambda row: row["held_out"]["person"]) for kind in ("relu", "gelu", "silu")])
    assert list(prose.argmin(axis=0)).count(2) == 0
    assert list(people.argmax(axis=0)).count(2) == 0


def test_the_runners_have_equally_many_weights():
    weights = [row for kind in ("relu", "gelu", "silu", "swiglu") for row in race(kind, lambda row: row["parameters"])]
    assert len(weights) == 12 and max(weights) - min(weights) == 42
