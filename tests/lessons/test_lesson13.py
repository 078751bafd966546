"""Lesson 13: the widest model is the widest, other ways pass, wrong numbers are explained or left alone."""

# ruff: noqa: E501 (one answer and what it is told a line)

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from ffnlib.examination import lessons
from tests.lessons.answering import assert_passes, assert_told, forms

ORACLE = {exercise.id: exercise.oracle for exercise in lessons.exercises("13_width_and_scale")}
size, widest = ORACLE["non_embedding_parameters"], ORACLE["d_ff_for_budget"]


def test_gpt_2_small_and_gpt_3_have_their_non_embedding_parameters():
    assert size(12, 768, 3072) == 84_934_656
    assert size(96, 12_288, 49_152) == 173_946_175_488


@pytest.mark.parametrize(("budget", "n_layers", "d"), [(10_000, 3, 7), (84_934_656, 12, 768), (2 * 5 * (10 + 3), 1, 5)])
def test_the_widest_model_fits_and_the_next_does_not(budget, n_layers, d):
    d_ff = widest(budget, n_layers, d)
    assert size(n_layers, d, d_ff) <= budget < size(n_layers, d, d_ff + 1)


def test_a_budget_below_attention_allows_no_width():
    assert widest(4 * 5 * 5 * 2 - 1, 2, 5) == 0


def by_counting_up(budget, n_layers, d):
    d_ff = 0
    while size(n_layers, d, d_ff + 1) <= budget:
        d_ff += 1
    return d_ff


def by_torch(n_layers, d, d_ff):
    linear = torch.nn.Linear
    with torch.device("meta"):
        layer = [linear(d, d, bias=False)] * 4 + [linear(d, d_ff, bias=False), linear(d_ff, d, bias=False)]
    return n_layers * sum(module.weight.numel() for module in layer)


RIGHT = [
    ("non_embedding_parameters", lambda n, d, f: 2 * d * n * (2 * d + f)),
    ("non_embedding_parameters", by_torch),
    ("non_embedding_parameters", lambda n, d, f: sum(4 * d**2 + 2 * d * f for _ in range(n))),
    ("non_embedding_parameters", lambda n, d, f: np.multiply(n, np.add(4 * d * d, 2 * d * f))),
    ("d_ff_for_budget", by_counting_up),
    ("d_ff_for_budget", lambda B, n, d: max(0, (B - 4 * d * d * n) // (2 * d * n))),
    ("d_ff_for_budget", lambda B, n, d: max(0, (B // n - 4 * d * d) // (2 * d))),
    ("d_ff_for_budget", lambda B, n, d: max(0, math.floor(Fraction(B, 2 * d * n) - 2 * d))),
    ("d_ff_for_budget", lambda B, n, d: max(0.0, np.floor(B / (2 * d * n) - 2 * d))),
    ("d_ff_for_budget", lambda B, n, d: int(max(0, B / (2 * d * n) - 2 * d))),
]


@pytest.mark.parametrize(("exercise_id", "answer"), RIGHT)
def test_other_ways_to_the_right_number_pass(exercise_id, answer):
    assert_passes(exercise_id, answer)


@pytest.mark.parametrize("exercise_id", ORACLE)
@pytest.mark.parametrize("form", forms(None))
def test_the_right_number_passes_in_every_accepted_form(exercise_id, form):
    assert_passes(exercise_id, forms(ORACLE[exercise_id])[form])


WRONG = [
    ("d_ff_for_budget", lambda b, n, d: (b - 4 * d * d) // (2 * d), "the whole budget is given to one layer"),
    ("d_ff_for_budget", lambda b, n, d: int((b / n - 4 * d * d) / (2 * d)), "below zero is returned when nothing fits"),
    ("non_embedding_parameters", lambda n, d, f: n * (4 * d * d + 2 * d * f) + d, "a last norm of d is counted"),
    ("non_embedding_parameters", lambda n, d, f: n * (3 * d * d + 3 * d * f), "three FFN matrices are counted, and attention is counted as 3 d^2"),
    ("non_embedding_parameters", lambda n, d, f: n * (4 * d * d + 3 * d * f + 4 * d), "three FFN matrices are counted, and the biases of attention are counted"),
    ("non_embedding_parameters", lambda n, d, f: 12 * d * d, "4d stands for d_ff, and one layer is counted instead of all"),
    ("non_embedding_parameters", lambda n, d, f: 2 * n * (2 * d + f), "the result is divided by d"),
    ("non_embedding_parameters", lambda n, d, f: n * (4 * d * d + 2 * d * f + f), "b1 is counted"),
    ("non_embedding_parameters", lambda n, d, f: 6 * n * (4 * d * d + 2 * d * f), "everything is multiplied by 6"),
    ("non_embedding_parameters", lambda n, d, f: n * (4 * d * d + 2 * d * f + 2 * d) + d, "two norms of d in each layer are counted, and a last norm of d is counted"),
    ("non_embedding_parameters", lambda n, d, f: n * (d * d + d * f), "attention is counted as 2 d^2, and everything is counted half"),
    ("non_embedding_parameters", lambda n, d, f: n * (2 * d * d + 3 * d * f), "three FFN matrices are counted, and attention is counted as 2 d^2"),
    ("non_embedding_parameters", lambda n, d, f: n * 2 * d * d * (2 * d + f), "the result is multiplied by d once more"),
    ("non_embedding_parameters", lambda n, d, f: n * 2 * f * (2 * f + d), "d and d_ff have changed places"),
    ("non_embedding_parameters", lambda n, d, f: (n - 1) * (4 * d * d + 2 * d * f), "n_layers - 1 stands for n_layers"),
    ("non_embedding_parameters", lambda n, d, f: 4 * (4 * d * d + 2 * d * f), "one layer is counted instead of all, and everything is multiplied by 4"),
    ("non_embedding_parameters", lambda n, d, f: 6 * d * d, "one layer is counted instead of all, and d stands where d_ff belongs"),
    ("non_embedding_parameters", lambda n, d, f: n * (3 * d * d + 2 * d * f + f + d), "attention is counted as 3 d^2, and the biases of the FFN are counted"),
    ("non_embedding_parameters", lambda n, d, f: n * (8 * d * d + 3 * d * f), "three FFN matrices are counted, and attention is counted twice"),
    ("non_embedding_parameters", lambda n, d, f: n * (4 * d * d + 2 * d * f) - d, "d is subtracted"),
    ("non_embedding_parameters", lambda n, d, f: n * (4 * d * d + 2 * d * f) + 32_000 * d, None),
    ("non_embedding_parameters", lambda n, d, f: n**3 + 5 * f, None),
    ("d_ff_for_budget", lambda B, n, d: max(0, int(B / (2 * d * n) - 2 * d + 0.5)), "the width is rounded to the nearest"),
    ("d_ff_for_budget", lambda B, n, d: max(0, -(-B // (2 * d * n)) - 2 * d), "the width is rounded up"),
    ("d_ff_for_budget", lambda B, n, d: max(0, B // (2 * d * n) - 2 * d) or None, "calls end without a result: None comes back"),
    ("d_ff_for_budget", lambda B, n, d: max(0, B // (2 * n * d)) - 2 * d, "a width below zero is returned when nothing fits"),
    ("d_ff_for_budget", lambda B, n, d: max(0, B // (3 * d * n) - 2 * d), "the 2 in front is a 3"),
    ("d_ff_for_budget", lambda B, n, d: max(0, B // (2 * d * n) - 2), "2 is subtracted instead of 2d"),
    ("d_ff_for_budget", lambda B, n, d: max(0, (B - 4 * d * d) // (2 * d) // n), "attention is counted once instead of in every layer"),
    ("d_ff_for_budget", lambda B, n, d: max(0, (B // n - 4 * d * d) // d), "the FFN is counted with one matrix"),
    ("d_ff_for_budget", lambda B, n, d: max(0, (B // n - 4 * d * d) // (2 * d + 1)), "b1 is counted"),
    ("d_ff_for_budget", lambda B, n, d: min(4 * d, max(0, B // (2 * d * n) - 2 * d)), "the width is cut to 4d"),
    ("d_ff_for_budget", lambda B, n, d: max(0, B // (2 * d) - 2 * d * n), "n_layers multiplies the 2d"),
    ("d_ff_for_budget", lambda B, n, d: max(0, (B - 12 * d * d * n) // (2 * d * n)), "12 d^2 a layer are subtracted"),
    ("d_ff_for_budget", lambda B, n, d: 4 * d if 12 * n * d * d <= B else 0, "4d is returned when it fits"),
    ("d_ff_for_budget", lambda B, n, d: max(0, B // (2 * d * n) - 2 * d - 2), "two LayerNorms in each layer are counted"),
    ("d_ff_for_budget", lambda B, n, d: max(0, (B // (2 * d * n) - 2 * d) // 16 * 16), "a multiple of 16"),
    ("d_ff_for_budget", lambda B, n, d: max(0, (B - 3 * d * d * n) // (3 * d * n)), "attention is counted as 3 d^2, and the FFN is counted with three matrices"),
    ("d_ff_for_budget", lambda B, n, d: max(0, (B - 4 * d * d * n) // (3 * d * n)) // 64 * 64, "the FFN is counted with three matrices, and the width is rounded down to a multiple of 64"),
    ("d_ff_for_budget", lambda B, n, d: max(0, (B - 4 * d * d) // (2 * d)), "the whole budget is given to one layer"),
    ("d_ff_for_budget", lambda B, n, d: max(0, B // 2 * d * n - 2 * d), "the brackets below the division are lost"),
    ("d_ff_for_budget", lambda B, n, d: B % 97, None),
    ("non_embedding_parameters", lambda n, d, f: n * 6 * d * f, "counted as d times d_ff"),
    ("non_embedding_parameters", lambda n, d, f: n * (4 * d * d + 2 * d * f) / 1e6, "the result is given in millions"),
    ("d_ff_for_budget", lambda B, n, d: next((f for f in range(1, 10**4) if n * (4 * d * d + 2 * d * f) <= B), 0), "1 is returned wherever it fits"),
    ("d_ff_for_budget", lambda B, n, d: abs(B - 4 * d * d * n) // (2 * d * n), "the sign is dropped"),
    ("non_embedding_parameters", lambda n, d, f: n * (4 * d * 2 + 2 * d * f), "2 d stands for d^2"),
    ("non_embedding_parameters", lambda n, d, f: n * (8 * 4 * d * d + 2 * d * f), "once for each of eight heads"),
    ("non_embedding_parameters", lambda n, d, f: n * (4 * d * d + 2 * d * f) + 1024 * d, "a table of 1,024 positions"),
    ("d_ff_for_budget", lambda B, n, d: max(0, (B - 50257 * d - 4 * d * d * n) // (2 * d * n)), "an embedding of 50,257 words"),
]  # fmt: skip


@pytest.mark.parametrize(("exercise_id", "answer", "told"), WRONG)
def test_a_wrong_number_nobody_listed_is_explained_or_left_alone(exercise_id, answer, told):
    assert_told(exercise_id, answer, told)
