"""Errors that tell, ties that may be broken either way, and functions that messages can name."""

from __future__ import annotations

import numpy as np

from ffnlib.examination.exercise import Array, Indices, Misconception, Parts, Remote, Truth, call
from ffnlib.examination.probing import collisions, draw
from ffnlib.examination.verdict import NOT_YET, PASSED
from tests.examination.asking import made_up, verdict_on


def picky(x):
    """a function that refuses three rows."""
    if len(x) == 3:
        raise ValueError("three rows are refused")
    return x


def accepts_all(f, x):
    """Return whether f takes x."""
    try:
        f(x)
    except ValueError:
        return False
    return True


ASKING = made_up(
    oracle=accepts_all,
    returns=Truth(),
    probes=lambda rng: (
        call(Remote(picky), rng.normal(size=2)),
        call(Remote(picky), rng.normal(size=3)),
        call(Remote(picky), rng.normal(size=5)),
    ),
    misconceptions=(
        Misconception("error passed on", lambda f, x: len(f(x)) > 0, "the error goes on to the caller", "catch it"),
        Misconception("too short", lambda f, x: len(f(x[:2])) > 0, "only two rows are tried", "try them all"),
    ),
)


def test_an_answer_that_lets_a_functions_error_pass_is_named_by_that_error():
    def answer(f, x):
        return f(x) is not None

    verdict = verdict_on(answer, ASKING)
    assert verdict.misconception == "error passed on", verdict.message
    assert "three rows are refused" in verdict.message
    own_line = answer.__code__.co_firstlineno + 1
    assert f"(line {own_line} of your code)" in verdict.message, "where the answer calls f, not where f raises"


def test_another_error_at_the_same_place_is_not_named():
    def answer(f, x):
        if len(x) == 3:
            raise ValueError("something else")
        return True

    assert verdict_on(answer, ASKING).misconception is None


def test_programs_that_differ_in_the_text_of_their_errors_are_told_apart():
    assert collisions(ASKING, draw(ASKING, 0)) == []


def test_a_function_among_the_arguments_is_shown_by_its_own_first_line():
    assert "f = a function that refuses three rows" in verdict_on(lambda f, x: True, ASKING).message


def strongest(h, k):
    """Return the rows of the k largest numbers."""
    return np.argsort(-h, kind="stable")[:k]


TIES = made_up(
    oracle=strongest,
    returns=Indices(length=lambda h, k: len(h), ties=lambda h, k: h),
    probes=lambda rng: (
        call(np.array([1.0, 5.0, 5.0, 0.0, 5.0]), 2),
        call(np.array([2.0, 2.0, 3.0]), 3),
        call(np.array([1.0, 4.0, 2.0, 3.0]), 3),
    ),
    misconceptions=(
        Misconception("weakest", lambda h, k: np.argsort(h)[:k], "the order is ascending", "which is largest?"),
    ),
)


def test_rows_of_equal_strength_may_stand_for_each_other():
    assert verdict_on(lambda h, k: np.argsort(h)[::-1][:k], TIES).status == PASSED


def test_a_wrong_order_is_named_however_its_ties_fall():
    verdict = verdict_on(lambda h, k: np.argsort(h[::-1], kind="stable")[:k] * -1 + len(h) - 1, TIES)
    assert verdict.misconception == "weakest", verdict.message


def test_a_list_of_row_numbers_passes_without_a_remark():
    verdict = verdict_on(lambda h, k: strongest(h, k).tolist(), TIES)
    assert verdict.status == PASSED and "was read" not in verdict.message, verdict.message


def test_one_row_named_twice_is_no_tie():
    def answer(h, k):
        rows = np.argsort(-h)[:k]
        return np.where(h[rows] == h[rows[0]], rows[0], rows)

    assert verdict_on(answer, TIES).status == NOT_YET


def test_a_part_that_cannot_be_read_is_no_sign_of_memory_and_can_still_be_named():
    exercise = made_up(
        oracle=lambda h: (h * 2, np.flatnonzero(h > 0)),
        returns=Parts(("double", "rows"), (Array(), Indices(length=lambda h: len(h)))),
        probes=lambda rng: (call(rng.normal(size=4) + 0.5), call(np.array([1, -1, 3]))),
        misconceptions=(
            Misconception("values", lambda h: (h * 2, h[h > 0]), "values are returned for rows", "which rows?"),
        ),
    )
    verdict = verdict_on(lambda h: (h + h, h[h > 0]), exercise)
    assert verdict.misconception == "values", verdict.message


def test_a_value_that_cannot_be_read_agrees_with_a_wrong_program_whose_value_cannot_either():
    exercise = made_up(
        oracle=strongest,
        returns=Indices(length=lambda h, k: len(h)),
        probes=lambda rng: (call(rng.normal(size=6), 2), call(np.array([7, 3, 9]), 2)),
        misconceptions=(Misconception("values", lambda h, k: np.sort(h)[::-1][:k], "the values come back", "argsort"),),
    )
    verdict = verdict_on(lambda h, k: sorted(h.tolist(), reverse=True)[:k], exercise)
    assert verdict.misconception == "values", verdict.message


def test_the_right_rows_in_another_order_are_named():
    verdict = verdict_on(lambda h, k: np.argsort(-h, kind="stable")[:k][[1, 0, *range(2, k)]], TIES)
    assert verdict.misconception == "another order", verdict.message


def test_a_pair_of_slips_is_told_in_its_smallest_parts():
    exercise = made_up(oracle=halves, misconceptions=())
    verdict = verdict_on(lambda x: (x + 2) ** 2, exercise)
    assert "def " not in verdict.message, verdict.message


def halves(x):
    """Return half of x, and 3 more."""
    half = x / 2
    return half + 3
