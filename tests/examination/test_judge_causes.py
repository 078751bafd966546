"""Causes that belong to no single exercise: a missing error, a constant, a refused value, two explanations."""

from __future__ import annotations

import collections
import dataclasses
import importlib
from decimal import Decimal

import numpy as np
import pytest
import torch

from ffnlib.examination import lessons
from ffnlib.examination.exercise import Count, Grammar, Indices, Misconception, Number, Parts, call
from ffnlib.examination.forms import Complaint
from ffnlib.examination.slips import be, grammar_tiers, single_edits
from ffnlib.learner import examine
from tests.examination.asking import COUNT, INDICES, RECORD, made_up, verdict_on


def inverse(x):
    """Return 1 / x. **Raises** ValueError for zeros."""
    if not np.any(x):
        raise ValueError("zeros")
    return 1 / x


INVERSE = made_up(
    oracle=inverse,
    probes=lambda rng: (call(rng.normal(size=3) + 4), call(rng.normal(size=2) + 4), call(np.zeros(2))),
    misconceptions=(Misconception("turned", lambda x: -inverse(x), "the sign is turned", "which sign?"),),
)


def test_a_result_where_an_error_is_asked_for_is_named():
    verdict = verdict_on(lambda x: 1 / np.where(x == 0, 1, x), INVERSE)
    assert verdict.misconception == "no error raised"
    assert "ValueError should be raised" in verdict.message


def test_a_wrong_formula_is_named_although_the_error_is_missing_too():
    verdict = verdict_on(lambda x: -1 / np.where(x == 0, 1, x), INVERSE)
    assert verdict.misconception == "turned"
    assert "besides, no error is raised" in verdict.message


def test_float32_is_named_although_one_call_has_to_raise():
    verdict = verdict_on(lambda x: inverse(x).astype(np.float32), INVERSE)
    assert verdict.misconception == "float32"


@pytest.mark.parametrize("number", [16, 10**30, 1e30])  # the last two are larger than NumPy's integers
def test_one_number_for_every_call_is_named(number):
    verdict = verdict_on(lambda a, b: number, COUNT)
    assert verdict.misconception == "same numbers always"
    assert "the same number comes back for every call" in verdict.message


@pytest.mark.parametrize("answer", [lambda *_: [4.5, 3.0], lambda *_: np.full((2, 3), np.nan), lambda *_: np.ones(2)])
def test_one_array_for_every_call_is_named(answer):
    verdict = examine(lessons.exercise("feed_forward"), answer, 1)
    assert verdict.misconception == "same numbers always"
    assert "next      compute the result from the arguments" in verdict.message


def test_the_same_rows_for_every_call_are_named():
    assert verdict_on(lambda h: np.array([3]), INDICES).misconception == "same numbers always"


def test_zeros_and_results_without_numbers_are_not_called_the_same_numbers():
    verdict = examine(lessons.exercise("feed_forward"), lambda *_: np.zeros(2), 1)
    assert verdict.misconception == "only zeros"
    verdict = examine(lessons.exercise("feed_forward"), lambda *_: np.zeros((0, 4)), 1)
    assert verdict.misconception != "same numbers always"


EITHER_ORDER = made_up(
    oracle=lambda n: (n, 0),
    returns=Parts(("a", "b"), (Count(), Count())),
    probes=lambda rng: (call(3), call(5)),
    misconceptions=(),
    accepts=lambda n, value: None if set(value) == {0, n} else Complaint("neither", "n is missing", "put n in"),
)


@pytest.mark.parametrize("answer", [lambda n: (n, 0), lambda n: [0, n]])
def test_every_value_that_is_accepted_passes(answer):
    assert verdict_on(answer, EITHER_ORDER).passed


def test_a_refused_value_is_named_by_what_refused_it():
    verdict = verdict_on(lambda n: (n, 1), EITHER_ORDER)
    assert verdict.misconception == "neither"
    assert "put n in" in verdict.message


def test_a_yes_or_no_counts_as_one_or_zero_in_a_record():
    verdict = verdict_on(lambda x: {"low": np.min(x), "high": np.max(x)}, RECORD)
    assert verdict.passed
    two = made_up(oracle=lambda x: {"low": 1.0, "high": 0.0}, returns=RECORD.returns, misconceptions=())
    verdict = verdict_on(lambda x: {"low": True, "high": np.bool_(False)}, two)
    assert verdict.passed and "True was read as 1" in verdict.message


BOXES = made_up(
    oracle=lambda a, b, c: 2 * a * b + b * c + c,
    returns=Count(),
    probes=lambda rng: (call(3, 5, 7), call(11, 13, 17), call(2, 19, 23)),
    misconceptions=(),
    grammar=Grammar(
        terms=lambda a, b, c: {"floors": 2 * a * b, "walls": b * c, "roof": c},
        nouns={"floors": "the floors", "roof": "the roof"},
        inputs=(("a is doubled", lambda a, b, c: (2 * a, b, c)),),
        edits=(("the walls are left out", lambda terms, *args: {**terms, "walls": 0}),),
        factors=(("everything is counted in dozens", lambda total, *args: total / 12),),
    ),
)


@pytest.mark.parametrize(
    ("answer", "because"),
    [
        (lambda a, b, c: 2 * a * b + b * c, "the roof is left out"),
        (lambda a, b, c: 2 * a * b + c, "the walls are left out"),
        (lambda a, b, c: 2 * a * b, "the walls are left out, and the roof is left out"),
        (lambda a, b, c: (2 * a * b + b * c + c) / 12, "everything is counted in dozens"),
        (lambda a, b, c: (2 * a * b) / 12, "the walls are left out, and the roof is left out, and everything"),
        (lambda a, b, c: 2 * a * c + b * c + b, "b and c have changed places"),
        (lambda a, b, c: 2 * a * b + b * c + c + 1, "1 is added to the result"),
        (lambda a, b, c: 2 * a * a + a * c + c, "a stands where b belongs"),
        (lambda a, b, c: 2 * a * (b + 1) + (b + 1) * c + c, "b + 1 stands for b"),
        (lambda a, b, c: 2 * a * b + b * c - 1, "the roof is left out, and 1 is subtracted from the result"),
    ],
)
def test_a_wrong_count_is_explained_by_the_fewest_slips(answer, because):
    verdict = verdict_on(answer, BOXES)
    assert f"when {because}" in verdict.message


def test_two_explanations_of_a_count_are_both_told():
    verdict = verdict_on(lambda a, b, c: 4 * a * b + b * c + c, BOXES)
    assert "a is doubled" in verdict.message and "the floors are counted twice" in verdict.message
    assert "the same comes out when" in verdict.message


def test_a_number_without_an_explanation_is_not_guessed_at():
    verdict = verdict_on(lambda a, b, c: a**3 + 7 * b + 29, BOXES)
    assert verdict.misconception is None
    assert "because" not in verdict.message


def test_two_slips_of_one_topic_are_never_combined():
    sentences = [m.because for tier in grammar_tiers(BOXES.grammar) for m in tier]
    assert "the floors are left out, and the floors are counted twice" not in sentences
    assert len(sentences) == len(set(sentences))


@pytest.mark.parametrize(
    ("noun", "verb"),
    [("the norms", "are"), ("the bias", "is"), ("b1 and b2", "are"), ("one of the two matrices", "is"), ("b2", "is")],
)
def test_the_verb_follows_the_noun(noun, verb):
    assert be(noun) == verb


def test_an_array_for_a_number_is_told_with_the_shape_of_the_call_that_is_shown():
    two_sizes = made_up(
        oracle=lambda x: float(np.mean(x)),
        returns=Number(),
        probes=lambda rng: (call(rng.normal(size=(5, 8))), call(rng.normal(size=(3, 4)))),
        misconceptions=(),
    )
    message = verdict_on(lambda x: np.mean(x, axis=-1), two_sizes).message
    assert "shape (3,)" in message
    assert "shape (5,)" not in message


TWO_SIZES = made_up(
    oracle=lambda x: np.tanh(x),
    probes=lambda rng: (call(rng.normal(size=(5, 8))), call(rng.normal(size=(3, 4)))),
    misconceptions=(),
)


@pytest.mark.parametrize("answer", [lambda x: np.tanh(x).ravel(), lambda x: [np.tanh(x)]])
def test_right_numbers_in_another_shape_are_told_of_the_call_that_is_shown(answer):
    verdict = verdict_on(answer, TWO_SIZES)
    told = dict(verdict.lines)
    assert verdict.misconception == "another shape"
    assert "(3, 4)" in told["called"] and "(3, 4)" in told["got"] and "(3, 4)" in told["because"]
    assert "(5, 8)" not in verdict.message


def test_no_note_speaks_of_another_call_than_the_one_that_is_shown():
    counting = made_up(
        oracle=lambda x: int(np.sum(x == 0)),
        returns=Count(),
        probes=lambda rng: (call(np.array([0.0, 3, 5])), call(np.array([0.0, 0]))),
        misconceptions=(),
    )
    message = verdict_on(lambda x: np.flatnonzero(x == 0), counting).message
    assert "shape (2,)" in message and "shape (1,)" not in message


def test_running_out_of_memory_is_named():
    verdict = verdict_on(lambda x: np.zeros((2**30, 2**29)), TWO_SIZES)
    assert verdict.misconception == "more memory than there is"


def test_the_call_that_is_shown_is_one_in_which_the_cause_was_seen():
    exercise = made_up(
        oracle=lambda n: (n, 0),
        returns=Parts(("a", "b"), (Count(), Count())),
        probes=lambda rng: (call(3), call(5)),
        misconceptions=(),
    )
    message = verdict_on(lambda n: n if n == 5 else n // 0, exercise).message
    assert "where (a, b) is asked for" in message
    assert "n = 5" in message and "ZeroDivisionError" not in message


SOFTMAX = made_up(
    oracle=lambda x: np.exp(x - x.max(-1, keepdims=True)) / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True),
    probes=lambda rng: (
        call(rng.normal(size=(2, 3))),
        call(rng.normal(size=(4, 5)) * 2),
        call(rng.integers(0, 5, size=(3, 4))),
        call(rng.normal(size=(3, 2)) + 9000),
        call(rng.normal(size=(2, 2, 3))),
        call(rng.normal(size=(3, 5)) - 1),
    ),
    misconceptions=(
        Misconception("not divided", lambda x: np.exp(x - x.max(-1, keepdims=True)), "nothing is divided", "divide"),
    ),
)


def test_an_overflow_of_exp_is_named_where_it_alone_goes_wrong():
    verdict = verdict_on(lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True), SOFTMAX)
    assert verdict.misconception == "overflow", verdict.message


def test_one_number_a_row_that_loses_its_axis_is_named():
    verdict = verdict_on(lambda x: np.exp(x - x.max(-1)) / np.exp(x - x.max(-1)).sum(-1), SOFTMAX)
    assert verdict.misconception == "one number a row, without an axis", verdict.message


def test_an_answer_for_one_number_of_axes_is_told_which():
    def answer(x):
        result = np.zeros(x.shape)
        for t, row in enumerate(x):
            result[t] = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
        return result

    assert "every call in which x has 2 axes is right" in verdict_on(answer, SOFTMAX).message


def test_a_misconception_is_named_although_another_call_raises():
    def answer(x):
        result = np.zeros_like(x)
        result += np.exp(x - x.max(-1, keepdims=True))
        return result

    verdict = verdict_on(answer, SOFTMAX)
    assert verdict.misconception == "not divided", verdict.message
    assert "besides, another call raises UFuncTypeError: an array of whole numbers" in verdict.message
    assert "got       UFuncTypeError" not in verdict.message


def test_an_if_on_an_array_is_not_taken_for_the_error_that_is_asked_for():
    def answer(x):
        if x == 0:
            raise ValueError("zeros")
        return 1 / x

    assert verdict_on(answer, INVERSE).misconception == "an if on an array"


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (lambda x: np.where(x > 0).mean(-1), "a tuple used as an array"),
        (lambda x: (2 * x).mean, "a function for its result"),
    ],
)
def test_half_a_call_is_named(answer, name):
    verdict = verdict_on(answer, SOFTMAX)
    assert verdict.misconception == name, verdict.message


def test_two_precisions_of_pytorch_are_named():
    torch = pytest.importorskip("torch")
    verdict = verdict_on(lambda x: torch.as_tensor(x) @ torch.ones(x.shape[-1], 1), SOFTMAX)
    assert verdict.misconception == "two number types of PyTorch", verdict.message


def test_one_number_that_agrees_is_not_enough_for_two_edits_where_most_calls_raise():
    square = made_up(
        oracle=lambda x: 3 * x + 1,
        probes=lambda rng: tuple(call(rng.normal(size=(n, 3))) for n in (2, 4, 5, 3)),
        misconceptions=(Misconception("no one", lambda x: 3 * x, "1 is left out", "what is added?"),),
    )
    verdict = verdict_on(lambda x: x @ (3 * np.ones((3, 3))) if len(x) == 3 else x @ x, square)
    assert verdict.misconception == "shapes that do not fit", verdict.message


# ---- what any answer can do, whatever the exercise


def first_row_only(x):
    result = np.zeros(x.shape)
    for t in range(len(x)):
        result[t] = 2 * x[t]
        return result


def made_anew_in_the_loop(x):
    for t in range(len(x)):
        result = np.zeros(x.shape)
        result[t] = 2 * x[t]
    return result


def last_row_left(x):
    return np.concatenate([2 * x[:-1], 0 * x[-1:]])


def first_row_left(x):
    return np.concatenate([0 * x[:1], 2 * x[1:]])


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (first_row_only, "the first is right, and all others are 0"),
        (last_row_left, "all are right but the last, which is 0"),
        (first_row_left, "all are right but the first, which is 0"),
        (lambda x: 2 * x[0], "only the first comes back"),
        (lambda x: 2 * x[-1:], "only the last comes back"),
        (lambda x: (np.abs(x), 2 * x), "2 results come back together, and [1] of them is right in every call"),
        (lambda x: [np.abs(x), 2 * x], "[1] of them is right in every call"),
        (lambda x: (np.abs(x), x + 1, -x), "a tuple of 3 arrays comes back, and one array is asked for"),
        (lambda x: (2 * x, x > 0), "[0] of them is right in every call"),
        (lambda x: 2 * x if x.ndim == 1 else None, "1 of 4 calls end without a result"),
        (lambda x: np.abs * x, "a function itself stands in a calculation"),
        (lambda x: first_row_only + x, "a function itself stands in a calculation"),
        (lambda x: len(x)(x), "brackets stand right behind a number"),
        (lambda x: x(2), "brackets stand right behind a number"),
        (lambda x: print(end="") * x, "None stands in a calculation"),
        (lambda x: [None for _ in x], "None stands where a number is asked for"),
        (lambda x: (2 * row for row in x), "list(...) makes a list of it"),
        (lambda x: torch.max(torch.tensor(x), 0), "torch.max along an axis gives values and indices together"),
        (lambda x: np.sum(x).backward(), "a NumPy array has no attribute of this name"),
        (lambda x: x[len(x)], "is asked for where there are"),
        (lambda x: x.ravel() + np.ones(99), "and (99,) meet entry by entry"),
        (lambda x: x + np.ones((9, 1, 9)), "and (9,1,9) meet entry by entry, where lengths"),
        (lambda x: x[np.ones(9, bool)], "9 truth values choose along an axis of"),
        (lambda x: np.linalg.solve(np.eye(9), x.ravel()), "np.linalg.solve(A, b) needs as many numbers in b"),
        (lambda x: list(x).sum(), "a list is calculated with as if it were an array"),
        (lambda x: -list(x), "a list is calculated with as if it were an array"),
        (lambda x: list(x) * 2.0, "a list is calculated with as if it were an array"),
        (lambda x: list(x) / 2, "a list is calculated with as if it were an array"),
        (made_anew_in_the_loop, "the last is right, and all others are 0"),
        (lambda x: first_row_only(x, 2), "a function with more arguments than it takes"),
        (lambda x: map(abs, x) * 2, "cannot be calculated with"),
        (
            lambda x: importlib.import_module("scipy_that_is_not_here").softmax(x),
            "a package is imported that is not here",
        ),
        (lambda x: "never" if x.ndim == 1 else 2 * x, "text comes back where numbers are asked for"),
        (lambda x: np.array([(row, 2) for row in x], dtype=object), "an array of Python objects, not of numbers"),
    ],
)
def test_what_an_answer_does_to_any_result_is_told(answer, told):
    verdict = verdict_on(answer)
    assert verdict.status == "not-yet" and told in verdict.message, verdict.message


def test_rows_that_are_right_by_themselves_are_no_part_of_several():
    assert verdict_on(lambda x: tuple(2 * row for row in x)).passed
    verdict = verdict_on(lambda x: tuple(-2 * row for row in x))
    assert verdict.misconception == "negated", verdict.message


def test_one_row_in_a_tuple_is_one_row_and_one_array_in_a_tuple_is_not_that_array():
    rows = made_up(probes=lambda rng: tuple(call(rng.normal(size=(n, 3))) for n in (2, 1, 4)))
    assert verdict_on(lambda x: tuple(2 * row for row in x), rows).passed
    assert verdict_on(lambda x: (2 * x,), rows).misconception == "tuple around"


def test_none_inside_several_results_is_told_with_what_returns_it():
    verdict = verdict_on(lambda x: {"low": None, "high": np.max(x)}, RECORD)
    assert "in low: None stands where a number is asked for" in verdict.message


def test_an_error_in_every_call_is_no_answer_to_the_one_that_asks_for_it():
    def refuses_all(x):
        raise ValueError("zeros")

    verdict = verdict_on(refuses_all, INVERSE)
    assert "ValueError is raised for arguments that have an answer, in every call" in verdict.message


def test_an_error_is_told_by_the_call_that_is_shown():
    def masked(x):
        return x[np.ones(3, bool)] if x.ndim == 1 else x + np.ones(9)

    message = verdict_on(masked).message
    assert ("truth values choose" in message) == ("boolean index did not match" in message), message
    assert ("meet entry by entry" in message) == ("could not be broadcast" in message), message


def test_a_condition_that_is_turned_round_is_told():
    def refuses_all_but_zeros(x):
        if np.any(x):
            raise ValueError("zeros")
        return x

    verdict = verdict_on(refuses_all_but_zeros, INVERSE)
    assert "is raised for arguments that have an answer, and not for those that have none" in verdict.message


def test_a_changed_argument_is_told_beside_another_cause():
    def turned_in_place(x):
        x *= -2
        return x

    verdict = verdict_on(turned_in_place)
    assert verdict.misconception == "negated" and "besides, x holds other values after the call" in verdict.message


def test_how_many_calls_are_right_is_told_beside_an_error_nobody_knows():
    one_by_one = made_up(probes=lambda rng: tuple(call(np.array([n])) for n in (1.0, 2.0, 3.0)))

    def refuses_two(x):
        if x[0] == 2:
            raise KeyError("two")
        return 2 * x

    assert "known     4 of 5 calls are right" in verdict_on(refuses_two, one_by_one).message


@pytest.mark.parametrize("container", [collections.OrderedDict, lambda found: collections.defaultdict(float, found)])
def test_a_dict_of_collections_is_a_dict(container):
    assert verdict_on(lambda x: container({"low": float(np.min(x)), "high": float(np.max(x))}), RECORD).passed


Ends = collections.namedtuple("Ends", "low high")


def test_a_named_tuple_is_a_tuple_whatever_else_it_says():
    ends = made_up(
        oracle=lambda x: (x[0], x[-1]), returns=Parts(("low", "high"), (Number(), Number())), misconceptions=()
    )
    vectors = dataclasses.replace(ends, probes=lambda rng: (call(rng.normal(size=3)), call(rng.normal(size=4))))
    assert verdict_on(lambda x: Ends(x[0], x[-1]), vectors).passed

    class Liar(tuple):
        def __iter__(self):
            return iter((0.0, 0.0))

        def __eq__(self, other):
            return True

    assert verdict_on(lambda x: Liar((x[0], x[-1])), vectors).passed
    assert not verdict_on(lambda x: Liar((x[0], x[0])), vectors).passed


@pytest.mark.parametrize(
    ("decimal", "status"), [("16", "passed"), ("16.5", "not-yet"), ("nan", "not-yet"), ("1e999999", "not-yet")]
)
def test_a_decimal_number_is_read_as_the_number_it_is(decimal, status):
    once = dataclasses.replace(COUNT, probes=lambda rng: (call(3, 5), call(3, 5)))
    assert verdict_on(lambda a, b: Decimal(decimal), once).status == status


def test_a_range_is_a_list_of_numbers_however_long():
    order = made_up(
        oracle=lambda n: np.arange(n)[::-1],
        returns=Indices(length=lambda n: n),
        probes=lambda rng: (call(3), call(5)),
        misconceptions=(),
    )
    assert verdict_on(lambda n: range(n - 1, -1, -1), order).passed
    assert verdict_on(lambda n: range(10**30), order).misconception == "too large"


@pytest.mark.parametrize(("answer", "shown"), [(lambda a, b: a * b + 1.5, "16.5, expected 16"), (lambda a, b: 16, "")])
def test_a_count_that_is_not_whole_is_shown_with_its_fraction(answer, shown):
    assert shown in verdict_on(answer, COUNT).message


@pytest.mark.parametrize(("unit", "noun"), [(1e3, "thousands"), (1e6, "millions"), (1e9, "billions")])
def test_a_count_in_another_unit_is_told(unit, noun):
    verdict = verdict_on(lambda a, b, c: (2 * a * b + b * c + c) / unit, BOXES)
    assert f"the result is given in {noun}" in verdict.message


def test_one_of_several_results_that_never_changes_is_told():
    pair = made_up(
        oracle=lambda n: (n, 2 * n),
        returns=Parts(("once", "twice"), (Count(), Count())),
        probes=lambda rng: (call(3), call(5), call(8)),
        misconceptions=(),
    )
    verdict = verdict_on(lambda n: (n, 6), pair)
    assert "in twice: the same number comes back for every call" in verdict.message


def test_a_message_shows_no_name_that_is_private_to_the_course():
    sentences = [sentence for each in lessons.exercise("topk_route").variants for sentence, _ in single_edits(each)]
    assert sentences and not any("_softmax" in sentence for sentence in sentences)
