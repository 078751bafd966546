"""Slips found in other ways to write the oracle, and errors whose text says what went wrong."""

from __future__ import annotations

import ast
import itertools
import math

import numpy as np
import pytest

from ffnlib.examination.exercise import Count, call
from ffnlib.examination.slips import single_edits, source_tree, tiers
from tests.examination.asking import made_up, verdict_on


def halves(x):
    """Return the logistic function, in a form whose edits are not those of the usual one."""
    return (1 + np.tanh(x / 2)) / 2


def usual(x):
    return 1 / (1 + np.exp(-x))


def test_an_edit_of_another_way_to_write_the_oracle_is_found():
    exercise = made_up(oracle=halves, misconceptions=(), variants=(usual,))
    verdict = verdict_on(lambda x: 1 / (2 + np.exp(-x)), exercise)
    assert "`2 + np.exp(-x)` stands where `1 + np.exp(-x)` belongs" in verdict.message
    assert verdict_on(lambda x: 1 / (2 + np.exp(-x)), made_up(oracle=halves, misconceptions=())).misconception is None


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (lambda x: 2 * x if x > 0 else 0 * x, "an if on an array"),
        (lambda x: max(2 * x, 3 * x), "an if on an array"),
        (lambda x: 2 * math.sin(x), "a function for single numbers"),
        (lambda x: float(2 * x), "a function for single numbers"),
        (lambda x: np.vectorize(lambda v: math.exp(900 + v))(x), "overflow raised"),
        (
            lambda x: np.add(np.zeros(x.shape, dtype=int), 2 * x, out=np.zeros(x.shape, dtype=int)),
            "fractions in an integer array",
        ),
        (lambda x: np.stack([]), "no rows"),
        (lambda x: 2 * unheard_of(x), "unknown name"),  # noqa: F821
    ],
)
def test_an_error_that_says_what_went_wrong_is_explained(answer, name):
    verdict = verdict_on(answer)
    assert verdict.misconception == name, verdict.message


def test_an_error_is_no_explanation_where_wrong_numbers_came_back_too():
    verdict = verdict_on(lambda x: 7 * x if x.ndim == 1 else math.sin(x))
    assert verdict.misconception is None, verdict.message


def test_another_error_is_left_to_be_read():
    assert "read the error" in verdict_on(lambda x: {}["x"]).message


def test_an_argument_added_to_the_result_is_named():
    assert "x is added to the result" in verdict_on(lambda x: halves(x) + x, made_up(oracle=halves)).message


def test_edits_leave_the_program_they_start_from_as_it_was():
    before = ast.dump(source_tree(usual))
    assert len(single_edits(usual)) > 20
    assert ast.dump(source_tree(usual)) == before


def test_no_edit_of_a_count_raises_a_number_to_the_power_of_a_count():
    exercise = made_up(
        oracle=lambda d, d_ff: 3 * d * d_ff,
        returns=Count(),
        probes=lambda rng: (call(40_960, 110_080), call(4_097, 16_000)),
        misconceptions=(),
    )
    pairs = next(itertools.islice(tiers(exercise), 2, None))
    assert all("2 ** (" not in candidate.because for candidate in pairs)
