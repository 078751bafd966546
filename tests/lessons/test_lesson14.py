"""Lesson 14: the self-test's answers agree with arrays and networks, other ways pass, wrong ones are explained."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

from ffnlib.examination import lessons
from ffnlib.examination.lessons import lesson14
from tests.lessons.answering import assert_passes, assert_told, forms
from tests.lessons.test_exercises import verdict_on

ORACLE = {exercise.id: exercise.oracle for exercise in lessons.exercises("14_self_test")}


def test_the_count_is_that_of_four_arrays():
    arrays = np.zeros((6, 24)), np.zeros(24), np.zeros((24, 6)), np.zeros(6)
    assert ORACLE["self_test_a"](6) == sum(array.size for array in arrays) == 8 * 36 + 30


def test_the_length_of_equality_is_that_of_llama_7b():
    ffn, attention, length = ORACLE["self_test_b"](4096, 2048)
    assert (ffn, attention, length) == (549_755_813_888, 68_719_476_736, 16_384)
    assert ORACLE["self_test_b"](4096, length)[0] == ORACLE["self_test_b"](4096, length)[1]


@pytest.mark.parametrize("T", [2, 3, 5, 8])
def test_every_order_but_the_identity_is_noticed_by_the_global_network_alone(T):
    rng = np.random.default_rng(T)
    for _ in range(10):
        order = rng.permutation(T)
        moved = not np.array_equal(order, np.arange(T))
        assert lesson14.breaks(lesson14.global_ffn, order, T) == moved
        assert not lesson14.breaks(lesson14.position_wise_ffn, order, T)


@pytest.mark.parametrize("d", [3, 100, 4096])
def test_the_gated_layer_keeps_the_total_as_far_as_whole_units_allow(d):
    _, _, d_ff = ORACLE["self_test_e"](d)
    assert 3 * d * d_ff <= 8 * d * d < 3 * d * (d_ff + 1)


RIGHT = [
    (
        "self_test_a",
        lambda d: (
            sum(
                p.numel()
                for layer in (torch.nn.Linear(d, 4 * d), torch.nn.Linear(4 * d, d))
                for p in layer.parameters()
            )
            if d < 600
            else 8 * d * d + 5 * d
        ),
    ),
    ("self_test_a", lambda d: d * (8 * d + 5)),
    ("self_test_b", lambda d, T: [16 * T * d**2, 4 * d * T**2, 4 * d]),
    ("self_test_b", lambda d, T: np.array([16 * T * d**2, 4 * d * T**2, 4 * d])),
    ("self_test_b", lambda d, T: (Fraction(16 * T * d**2), 4.0 * d * T**2, (16 * T * d * d) / (4 * T * d))),
    ("self_test_d", lambda T: (np.roll(np.arange(T), 1), T - 1)),
    ("self_test_d", lambda T: [list(range(T))[::-1], 1]),
    ("self_test_d", lambda T: ([1, 0, *range(2, T)], 1.0)),
    ("self_test_d", lambda T: (tuple(range(T - 1, -1, -1)), np.int64(T // 2))),
    ("self_test_d", lambda T: (torch.arange(T).flip(0), torch.tensor(1))),
    ("self_test_d", lambda T: ([-1, *range(T - 1)], 1)),
    ("self_test_d", lambda T: (np.roll(np.arange(T), 1 + np.random.default_rng().integers(T - 1)), 1)),
    ("self_test_d", lambda T, seed=0: (np.roll(np.arange(T), -1).astype(float), np.array([1]))),
    ("self_test_e", lambda d: [1, 2, 8 * d // 3]),
    ("self_test_e", lambda d: (1, 2, int(8 / 3 * d))),
    ("self_test_e", lambda d: (1.0, np.int64(2), Fraction(8 * d - 8 * d % 3, 3))),
    ("self_test_e", lambda d: np.array([1, 2, 2 * 4 * d // 3])),
    ("self_test_d", lambda T: (range(T - 1, -1, -1), 1)),
]


@pytest.mark.parametrize(("exercise_id", "answer"), RIGHT)
def test_other_right_answers_pass(exercise_id, answer):
    assert_passes(exercise_id, answer)


@pytest.mark.parametrize("form", forms(None))
def test_the_right_number_passes_in_every_accepted_form(form):
    assert_passes("self_test_a", forms(ORACLE["self_test_a"])[form])


def reverse(T):
    return list(range(T))[::-1]


WRONG = [
    ("self_test_a", lambda d: 8 * d * d + 9 * d, "b1 is counted twice"),
    ("self_test_a", lambda d: 8 * d * d + 5, "the biases are counted without d: 4 and 1"),
    ("self_test_a", lambda d: 8 * d * d + 6 * d, "b2 is counted twice"),
    ("self_test_a", lambda d: 4 * d * d + 9 * d, "one of the two matrices is left out, and b1 is counted twice"),
    ("self_test_a", lambda d: 2 * (8 * d * d + 5 * d), "everything is counted twice"),
    ("self_test_a", lambda d: 8 * d * d - 5 * d, "the biases are subtracted"),
    ("self_test_a", lambda d: 8 * d * d + 10 * d, "the biases are counted twice"),
    ("self_test_a", lambda d: 8 * d * d + 5 * d + 1, "1 is added to the result"),
    ("self_test_a", lambda d: 16 * d * d + 5 * d, "4d is squared"),
    ("self_test_a", lambda d: 8 * d * d + 3 * d, "the 2d of a LayerNorm are added, and b1 is left out"),
    ("self_test_a", lambda d: 12 * d * d + 9 * d, "three matrices and three biases"),
    ("self_test_a", lambda d: 4 * (8 * d * d + 5 * d), "everything is multiplied by 4"),
    ("self_test_a", lambda d: 8 * (d + 1) ** 2 + 5 * (d + 1), "d + 1 stands for d"),
    ("self_test_a", lambda d: d * (8 * d * d + 5 * d), "the result is multiplied by d once more"),
    ("self_test_a", lambda d: 8 * d + 5, "the result is divided by d"),
    ("self_test_a", lambda d: 12 * d * d + 4 * d, "a third matrix is counted, as in a gated FFN, and b2 is left out"),
    ("self_test_a", lambda d: 8 * d * d + 23 * d + 7, None),
    ("self_test_a", lambda d: d**3 + 100, None),
    ("self_test_a", lambda d: 12, "the same number comes back for every call"),
    ("self_test_a", lambda d: (8 * d * d, 5 * d), "and one value is asked for"),
    (
        "self_test_b",
        lambda d, T: (16 * T * d * d, 8 * T * T * d, 2 * d),
        "attention is counted twice, and the length is given as 2d",
    ),
    (
        "self_test_b",
        lambda d, T: (8 * T * d * d, 2 * T * T * d, 2 * d),
        "of the FFN is counted once, or only one of its products, and each multiply-add of attention is counted once",
    ),
    ("self_test_b", lambda d, T: (16 * T * d * d, 4 * T * T * d, 4 * T), "the length is given as 4T"),
    ("self_test_b", lambda d, T: (16 * T * d * d, 4 * T * T * d, T / (4 * d)), "the ratio turned round"),
    (
        "self_test_b",
        lambda d, T: (16 * d * d, 4 * T * T * d, d),
        "the FFN of one position is counted, and the length is given as d",
    ),
    (
        "self_test_b",
        lambda d, T: (16 * T * d * d, 4 * T * T * d, "4d"),
        "in the length: text comes back where numbers are asked for",
    ),
    ("self_test_b", lambda d, T: (16 * T * d * d, 4 * T * T * d), "2 parts came back"),
    (
        "self_test_b",
        lambda d, T: (16 * T * d * d, 4 * T * T * d, 4 * d < T),
        "in the length: the result holds truth values",
    ),
    ("self_test_b", lambda d, T: 4 * d, "an int came back"),
    (
        "self_test_b",
        lambda d, T: (24 * T * d * d, 4 * T * T * d, 4 * d + 1),
        "the FFN is counted with three products, and the length is one too large",
    ),
    ("self_test_b", lambda d, T: (16 * T * d * d, 6 * T * T * d, 4 * d), "attention is counted with three products"),
    ("self_test_b", lambda d, T: (8 * T * d * d, 2 * T * d, 4 * d), "each multiply-add is counted once"),
    (
        "self_test_b",
        lambda d, T: (16 * T * d * d, 4 * T * T * d, 16_384),
        "the length is given as 16,384, whatever d is",
    ),
    ("self_test_b", lambda d, T: (32 * T * d * d, 8 * T * T * d, 4 * d), "the FLOPs are counted twice"),
    ("self_test_b", lambda d, T: (16 * T * d * d, 4 * T * d * d, 4 * d), "T and d have changed places in attention"),
    ("self_test_b", lambda d, T: (16 * T * T * d, 4 * T * T * d, 4 * d), "T and d have changed places in the FFN"),
    ("self_test_b", lambda d, T: (16 * T * d * d, 12 * T * T * d + 3, 4 * d), None),
    ("self_test_b", lambda d, T: (48 * T * d * d, 12 * T * T * d, 4 * d), "the backward pass is counted as well"),
    (
        "self_test_b",
        lambda d, T: (16 * T * d * d, 8 * T * d * d + 4 * T * T * d, d),
        "attention's projections are counted as well, and the length is given as d",
    ),
    (
        "self_test_b",
        lambda d, T: (8 * d * d, 4 * T * T * d, 2 * d),
        "the FFN's parameters are counted, and the length is given as 2d",
    ),
    ("self_test_d", lambda T: (list(range(T)), 0), "neither the permutation nor the shift moves anything"),
    ("self_test_d", lambda T: (list(range(T)), T - 1), "the permutation is the identity"),
    ("self_test_d", lambda T: (np.roll(np.arange(T), T), 1), "the permutation is the identity"),
    ("self_test_d", lambda T: (list(range(1, T + 1)), 1), "the positions are counted from 1"),
    ("self_test_d", lambda T: ([0] * T, 1), "does not hold each of 0 .. T-1 once"),
    ("self_test_d", lambda T: ([*range(T - 1), 0], 1), "does not hold each of 0 .. T-1 once"),
    ("self_test_d", lambda T: (reverse(T), 0), "the shift is 0"),
    ("self_test_d", lambda T: (reverse(T), T), "a full turn"),
    ("self_test_d", lambda T: (reverse(T), -1), "the shift is below zero"),
    ("self_test_d", lambda T: (reverse(T), 2), "a full turn"),
    ("self_test_d", lambda T: (reverse(T), T + 3), "which is not one of 1 .. T-1"),
    ("self_test_d", lambda T: (reverse(T), 1.5), "which is not one of 1 .. T-1"),
    ("self_test_d", lambda T: (reverse(T), True), "in shift: the result holds truth values"),
    ("self_test_d", lambda T: (reverse(T), "1"), "in shift: text comes back where numbers are asked for"),
    ("self_test_d", lambda T: (reverse(T), None), "in shift: None stands where a number is asked for"),
    (
        "self_test_d",
        lambda T: ([str(i) for i in reverse(T)], 1),
        "in permutation: text comes back where numbers are asked for",
    ),
    ("self_test_d", lambda T: (np.eye(T)[::-1], 1), "a T by T matrix"),
    ("self_test_d", lambda T: ([1, 0], 1), "names two positions"),
    ("self_test_d", lambda T: (reverse(T + 1), 1), "the permutation has shape"),
    ("self_test_d", lambda T: (np.array(reverse(T))[None], 1), "the permutation has shape"),
    ("self_test_d", lambda T: (np.array(reverse(T)) > 0, 1), "mask"),
    ("self_test_d", lambda T: ([i + 0.5 for i in reverse(T)], 1), "fractions where row numbers"),
    ("self_test_d", reverse, "parts"),
    (
        "self_test_e",
        lambda d: (2, 4, 8 * d // 3),
        "without a gate are counted as 2, and the matrices with a gate are counted as 4",
    ),
    ("self_test_e", lambda d: (1, 2, int(2.67 * d)), "8 / 3 is taken as 2.67"),
    ("self_test_e", lambda d: (1, 3, 8 / 3 * d), "with a gate are counted as 3, and 8d / 3 is not rounded down"),
    ("self_test_e", lambda d: (1, 2, int(8 / 3 * d) + 1), "d_ff is one too large"),
    ("self_test_e", lambda d: (1, 2, d), "d stands for 8d / 3"),
    ("self_test_e", lambda d: (2, 3, 4 * d), "counted as 3, and d_ff stays at 4d"),
    ("self_test_e", lambda d: (1, 2, 2.6875 * d), "8 / 3 is taken as 2.6875, not rounded"),
    ("self_test_e", lambda d: (1, 2, 12 * d), "12 d stands for 8 d / 3"),
    ("self_test_e", lambda d: (1, 2, ((8 * d // 3) + 63) // 64 * 64), "rounded up to a multiple of 64"),
    ("self_test_e", lambda d: (2, 3, 8 * d // 3 + 1), "counted as 3, and d_ff is one too large"),
    ("self_test_e", lambda d: (1, 2), "2 parts came back"),
    ("self_test_e", lambda d: 8 * d // 3, "an int came back"),
    ("self_test_e", lambda d: ("one", "two", 8 * d // 3), "text"),
    ("self_test_e", lambda d: (1, 2, 16 * d // 3), "16 d / 3 stands for 8 d / 3"),
    ("self_test_e", lambda d: (0, 1, 8 * d // 3), "counted as 0, and the matrices with a gate are counted as 1"),
    ("self_test_e", lambda d: (3, 1, 2 * d), "counted as 1, and d_ff is halved"),
    ("self_test_e", lambda d: (1, 2, d * d), None),
    ("self_test_e", lambda d: (1, 3, 2 * d), "with a gate are counted as 3, and d_ff is halved"),
    ("self_test_e", lambda d: (1, 2, 8 * d // 3 - 1), "d_ff is one too small"),
    ("self_test_e", lambda d: (2, 3, 8 * d / 3), "and 8d / 3 is not rounded down"),
    ("self_test_b", lambda d, T: (16 * T * d * d, 4 * T * T * d, 4 * d // T), "the ratio of the two, rounded down"),
    ("self_test_b", lambda d, T: (16 * T * d * d, 4 * T * T * d + 3 * T * T, 4 * d), "three operations of the softmax"),
    ("self_test_e", lambda d: (1, 2, int(0.667 * 4 * d)), "2 / 3 is taken as 0.667"),
    ("self_test_e", lambda d: (1, 2, 16), "in d_ff: the same number comes back for every call"),
    ("self_test_a", lambda d: 8 * d * 2 + 5 * d, "2 d stands for d^2"),
    ("self_test_b", lambda d, T: (32 * 16 * T * d * d, 32 * 4 * T * T * d, 4 * d), "the FLOPs of 32 layers"),
    ("self_test_b", lambda d, T: (16 * T * d * d / 1e12, 4 * T * T * d / 1e12, 4 * d), "given in trillions"),
    ("self_test_e", lambda d: (1, 2, int(2.66 * d)), "8 / 3 is taken as 2.66"),
]


@pytest.mark.parametrize(("exercise_id", "answer", "told"), WRONG)
def test_a_wrong_answer_nobody_listed_is_explained_or_left_alone(exercise_id, answer, told):
    assert_told(exercise_id, answer, told)


def test_what_came_back_is_not_told_twice():
    told = dict(verdict_on(lessons.exercise("self_test_d"), lambda T: (list(range(T)), 1)).lines)
    assert "nothing moves" in told["because"] and "got" not in told
