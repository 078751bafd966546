"""Lesson 08: operations agree with PyTorch's counter, other ways pass, wrong numbers are explained or left alone."""

# ruff: noqa: E501 (one answer and what it is told a line)

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from ffnlib.examination import lessons
from ffnlib.ledger import crossovers
from ffnlib.widgets import crossover_explorer
from tests.lessons.answering import assert_passes, assert_told, forms

ORACLE = {exercise.id: exercise.oracle for exercise in lessons.exercises("08_counting_flops")}


def counted(program) -> int:
    with FlopCounterMode(display=False) as counter:
        program()
    return counter.get_total_flops()


@pytest.mark.parametrize(("batch", "T", "d", "d_ff"), [(1, 1, 3, 5), (4, 7, 6, 10), (2, 9, 8, 3)])
def test_an_ffn_takes_the_flops_that_pytorch_counts(batch, T, d, d_ff):
    x, W1, W2 = torch.ones(batch, T, d), torch.ones(d, d_ff), torch.ones(d_ff, d)
    assert ORACLE["ffn_flops"](batch, T, d, d_ff) == counted(lambda: torch.relu(x @ W1) @ W2)


@pytest.mark.parametrize(("T", "d"), [(1, 4), (5, 3), (8, 8)])
def test_attention_takes_the_flops_that_pytorch_counts(T, d):
    x, W = torch.ones(T, d), torch.ones(d, d)

    def attention():
        queries, keys, values = x @ W, x @ W, x @ W
        return torch.softmax(queries @ keys.T, -1) @ values @ W

    assert ORACLE["attention_flops"](T, d) == counted(attention)


@pytest.mark.parametrize(("d", "d_ff"), [(4, 16), (7, 30), (5, 10), (6, 7)])
def test_at_the_crossover_both_take_the_same(d, d_ff):
    T = ORACLE["crossover"](d, d_ff, False)
    assert 4 * T * T * d == ORACLE["ffn_flops"](1, T, d, d_ff)
    T = ORACLE["crossover"](d, d_ff, True)
    assert ORACLE["attention_flops"](T + 1, d) > ORACLE["ffn_flops"](1, T + 1, d, d_ff)
    if T > 1:
        assert ORACLE["attention_flops"](T, d) == ORACLE["ffn_flops"](1, T, d, d_ff)
        assert ORACLE["attention_flops"](T - 1, d) < ORACLE["ffn_flops"](1, T - 1, d, d_ff)


def crossover_by_search(d, d_ff, projections):
    if projections and d_ff <= 2 * d:
        return 0
    low, high = 1, 10 * d_ff
    while low < high:
        middle = (low + high) // 2
        attention = 4 * middle * middle * d + (8 * middle * d * d if projections else 0)
        if attention >= 4 * middle * d * d_ff:
            high = middle
        else:
            low = middle + 1
    return low


def product(*factors):
    return functools.reduce(lambda a, b: a * b, factors, 1)


RIGHT = [
    ("ffn_flops", lambda batch, T, d, d_ff: product(4, batch, T, d, d_ff)),
    ("ffn_flops", lambda batch, T, d, d_ff: sum(2 * batch * T * np.prod(shape) for shape in ((d, d_ff), (d_ff, d)))),
    ("ffn_flops", lambda batch, T, d, d_ff: 2 * (2 * d * d_ff) * (batch * T)),
    ("attention_flops", lambda T, d: 4 * T * d * (2 * d + T)),
    ("attention_flops", lambda T, d: sum(2 * np.prod(s) for s in [(T, d, d)] * 4 + [(T, d, T), (T, T, d)])),
    ("attention_flops", lambda T, d: torch.tensor(8 * T * d**2 + 4 * T**2 * d)),
    ("crossover", crossover_by_search),
    ("crossover", lambda d, d_ff, projections: (d_ff - 2 * d * projections) * (d_ff >= 2 * d * projections)),
    ("crossover", lambda d, d_ff, projections: max(Fraction(4 * d * d_ff - (8 * d * d if projections else 0), 4 * d), 0)),
    ("crossover", lambda d, d_ff, projections: float(np.clip(d_ff - 2 * d * int(projections), 0, None))),
]  # fmt: skip


@pytest.mark.parametrize(("exercise_id", "answer"), RIGHT)
def test_other_ways_to_the_right_number_pass(exercise_id, answer):
    assert_passes(exercise_id, answer)


@pytest.mark.parametrize("exercise_id", ORACLE)
@pytest.mark.parametrize("form", forms(None))
def test_the_right_number_passes_in_every_accepted_form(exercise_id, form):
    assert_passes(exercise_id, forms(ORACLE[exercise_id])[form])


ONCE = "each multiply-add is counted once"
WRONG = [
    ("ffn_flops", lambda b, T, d, f: 2 * T * d * f, "one sequence is counted instead of the batch, and each multiply-add is counted once"),
    ("ffn_flops", lambda b, T, d, f: 2 * b * d * f, "one position is counted instead of T, and each multiply-add is counted once"),
    ("ffn_flops", lambda b, T, d, f: 8 * T * d * d, "one sequence is counted instead of the batch, and 4d stands for d_ff, and each multiply-add is counted once"),
    ("ffn_flops", lambda b, T, d, f: 16 * b * d * d, "one position is counted instead of T, and 4d stands for d_ff"),
    ("ffn_flops", lambda b, T, d, f: 6 * T * d * f, "one sequence is counted instead of the batch, and three products are counted"),
    ("ffn_flops", lambda b, T, d, f: 4 * b * T * T * d, "T stands where d_ff belongs"),
    ("ffn_flops", lambda b, T, d, f: 2 * b * T * d * f + b * T * f, "each multiply-add is counted once, or one of the two products is left out, and the additions of b1 are counted"),
    ("ffn_flops", lambda b, T, d, f: b * T * (2 * d * f + f + d), "and the additions of b1 are counted, and the additions of b2 are counted"),
    ("ffn_flops", lambda b, T, d, f: 4 * b * T * d * f + 1, "1 is added to the result"),
    ("ffn_flops", lambda b, T, d, f: 4 * b * T * d * f * f, "the result is multiplied by d_ff once more"),
    ("ffn_flops", lambda b, T, d, f: 4 * T * T * d * f, "T stands where batch belongs"),
    ("ffn_flops", lambda b, T, d, f: b * T * d * f * 8 / 3, "two thirds of d_ff stand for d_ff"),
    ("ffn_flops", lambda b, T, d, f: 2 * b * T * (d + f), "the sides of the matrices are added"),
    ("ffn_flops", lambda b, T, d, f: 24 * b * T * d * f, "the backward pass is counted as well: three times the forward pass, and everything is counted twice"),
    ("ffn_flops", lambda b, T, d, f: 12 * T * d * f, "one sequence is counted instead of the batch, and the backward pass is counted"),
    ("ffn_flops", lambda b, T, d, f: 12 * b * T * T * d * f, "T enters squared, and the backward pass is counted"),
    ("ffn_flops", lambda b, T, d, f: 4 * b * T * d * f + 8 * b * T * d * d, "attention's 8 T d^2 for the projections are added"),
    ("ffn_flops", lambda b, T, d, f: 4 * b * T * d, "the result is divided by d_ff"),
    ("ffn_flops", lambda b, T, d, f: 4 * b * (T - 1) * d * f, "T - 1 stands for T"),
    ("ffn_flops", lambda b, T, d, f: b + T**2 + d * f, None),
    ("attention_flops", lambda T, d: 6 * T * d * d + 2 * T * T * d, "the output projection is left out, and one of scores and mixing is left out"),
    ("attention_flops", lambda T, d: 3 * T * d * d + 2 * T * T * d, "each multiply-add is counted once, and the output projection is left out"),
    ("attention_flops", lambda T, d: 4 * T * d * d + T * T * d, "each multiply-add is counted once, and one of scores and mixing is left out"),
    ("attention_flops", lambda T, d: 6 * T * d * d, "scores and mixing are left out, and the output projection is left out"),
    ("attention_flops", lambda T, d: 16 * T * d * d + 4 * T * T * d, "the projections are counted twice"),
    ("attention_flops", lambda T, d: 8 * T * d * d + 2 * T * d, "scores and mixing are counted for one position, and one of scores"),
    ("attention_flops", lambda T, d: T * T * d, "the four projections are left out, and each multiply-add is counted once, and one of scores"),
    ("attention_flops", lambda T, d: 12 * T * T * d, "the four projections are left out, and the backward pass is counted"),
    ("attention_flops", lambda T, d: 8 * T * d * d + 4 * T * T * d + T * d, "the additions of one bias are counted"),
    ("attention_flops", lambda T, d: 4 * T * d * d + 4 * T * T, "and scores and mixing are counted without d"),
    ("attention_flops", lambda T, d: 6 * T * d * d + 4 * T * T * d + T * T, "one operation is added for each score, and the output projection is left out"),
    ("attention_flops", lambda T, d: 8 * T * d * d + 4 * T * T * d + 2 * T * T, "two operations are added for each score"),
    ("attention_flops", lambda T, d: 8 * T * d + 4 * T * T * d, "the projections are counted with d instead of d^2"),
    ("attention_flops", lambda T, d: 4 * T * d * d + 2 * T * T * d + T * T, "each multiply-add is counted once, and one operation is added for each score"),
    ("attention_flops", lambda T, d: 2 * (8 * T * d * d + 4 * T * T * d), "everything is counted twice"),
    ("attention_flops", lambda T, d: 8 * T * d * d + 2 * T * (T - 1) * d, "only the scores below the diagonal are counted"),
    ("attention_flops", lambda T, d: 12 * T * d * d + 6 * T * T * d, "each multiply-add is counted once, and the backward pass is counted"),
    ("attention_flops", lambda T, d: 8 * (T + 1) * d * d + 4 * (T + 1) ** 2 * d, "T + 1 stands for T"),
    ("attention_flops", lambda T, d: 8 * d * d + 4 * T * d + 1, "one position is counted instead of the sequence, and 1 is added"),
    ("attention_flops", lambda T, d: T**3 + 5 * d, None),
    ("crossover", lambda d, f, p: max(0, f - 2 * d) / 2 if p else f, "with projections half of the length is returned"),
    ("crossover", lambda d, f, p: d if p and f < 2 * d else f - 2 * d if p else f, "d is returned for a narrow FFN"),
    ("crossover", lambda d, f, p: f / 2 - 2 * d if p else f / 2, "a length below zero is returned for a narrow FFN"),
    ("crossover", lambda d, f, p: max(0, 2 * f - 2 * d) if p else 2 * f, "or two projections, and only one of scores and mixing is counted"),
    ("crossover", lambda d, f, p: max(0, f - 8 * d) if p else f, "8d is subtracted instead of 2d"),
    ("crossover", lambda d, f, p: f if p else 0, "0 is returned without projections, and d_ff with them"),
    ("crossover", lambda d, f, p: max(0, 3 * f // 2 - 2 * d) if p else 3 * f // 2, "as a gated one has, and the result is rounded down"),
    ("crossover", lambda d, f, p: max(0, f - 3 * d) if p else f, "3d is subtracted instead of 2d"),
    ("crossover", lambda d, f, p: (f - 2 * d if f > 2 * d else float("inf")) if p else f, "infinity is returned"),
    ("crossover", lambda d, f, p: f / 2 - d if p else f, "a length below zero is returned for a narrow FFN, and with projections half"),
    ("crossover", lambda d, f, p: -(f - 2 * d) if p else f, "a length below zero is returned for a narrow FFN, and the sign is turned round"),
    ("crossover", lambda d, f, p: max(0, f - 2 * d - 1) if p else f, "with projections the length is one too small"),
    ("crossover", lambda d, f, p: max(0, f - 2 * d) + 1 if p else f, "with projections the length is one too large"),
    ("crossover", lambda d, f, p: f + 2 * d if p else 4 * d, None),
    ("crossover", lambda d, f, p: f - 3 * d if p else f, "3d is subtracted instead of 2d"),
    ("crossover", lambda d, f, p: max(0, 2 * f - 4 * d) if p else f, "with projections the length is doubled"),
    ("crossover", lambda d, f, p: f // 2 if not p else max(0, f // 2 - 2 * d), "each multiply-add of the FFN is counted once, or one product, and the result is rounded down"),
    ("crossover", lambda d, f, p: max(0, f - d) if p else f, "d is subtracted instead of 2d"),
    ("crossover", lambda d, f, p: None if p and f < 2 * d else f - 2 * d if p else f, "calls end without a result: None comes back"),
    ("crossover", lambda d, f, p: str(f), "text"),
    ("ffn_flops", lambda b, T, d, f: 4 * b * T * d * f / 1e9, "the result is given in billions"),
    ("ffn_flops", lambda b, T, d, f: (4 * b * T * d * f + 2**31) % 2**32 - 2**31, "the numbers are kept in 32 bits"),
    ("crossover", lambda d, f, p: next((T for T in range(1, 4 * d) if 4 * T * d + 8 * d * d * p >= 4 * d * f), 0), "only those below 4d"),
    ("attention_flops", lambda T, d: 8 * T * d * d + 4 * T * 2 * d, "2 T stands for T^2"),
    ("attention_flops", lambda T, d: 8 * T * d * 2 + 4 * T * T * d, "2 d stands for d^2"),
]  # fmt: skip


@pytest.mark.parametrize(("exercise_id", "answer", "told"), WRONG)
def test_a_wrong_number_nobody_listed_is_explained_or_left_alone(exercise_id, answer, told):
    assert_told(exercise_id, answer, told)


# ---------------------------------------------------------------- what the lesson's cells decide


def test_the_self_test_of_the_document_is_eight_to_one_or_one_point_six():
    T, d = 2**11, 2**12
    ffn, core = ORACLE["ffn_flops"](1, T, d, 4 * d), 4 * T * T * d
    assert (ffn, core) == (2**39, 2**36) == (549_755_813_888, 68_719_476_736)
    assert Fraction(ffn, ORACLE["attention_flops"](T, d)) == Fraction(8, 5)
    assert round(Fraction(6 * T * d * 11_008, core), 2) == Fraction("8.06")


def test_the_lengths_of_the_table_by_hand():
    assert crossovers(4096, 11_008, matrices=3)["scores and mixing = FFN"] == Fraction(3, 2) * 11_008 == 16_512
    grouped = crossovers(4096, 14_336, matrices=3, kv_share=1 / 4)["whole attention = FFN"]
    assert grouped == (6 * 14_336 - 5 * 4096) / 4 == 16_384


@pytest.mark.parametrize("d", [512, 768, 1024, 4096])
def test_the_rule_of_1000_to_2000_tokens_is_2d(d):
    T = ORACLE["crossover"](d, 4 * d, True)
    assert T == 2 * d == crossovers(d, 4 * d)["whole attention = FFN"]
    assert ORACLE["ffn_flops"](1, T, d, 4 * d) == ORACLE["attention_flops"](T, d)


def test_the_explorer_names_three_lengths_and_says_when_attention_always_costs_more():
    widget = crossover_explorer()
    assert all(length in widget.words for length in ("8,192", "16,384", "24,576"))
    assert "more than the FFN at any length" in widget.move(ratio=1.5).words
    assert "16,512" in widget.move(ratio=2.6875, ffn="three matrices, gated").words
    assert "33,024" in widget.move(causal=True).words


@pytest.mark.parametrize("d_model", [256, 16_384])
@pytest.mark.parametrize("ratio", [1.0, 2.0, 8.0])
def test_every_position_of_the_explorer_can_be_shown(d_model, ratio):
    for sharing in (1, 32):
        assert crossover_explorer().move(d_model=d_model, ratio=ratio, sharing=sharing).error is None
