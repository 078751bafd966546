"""What the tests of several lessons share: many forms of one right answer, and how a wrong one is told."""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np

from ffnlib.examination import lessons
from ffnlib.examination.verdict import NOT_YET, PASSED
from tests.lessons.test_exercises import verdict_on


class Callable:
    """A callable object around a function."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *args):
        return self.function(*args)


def with_option(function):
    """Return the function with an extra optional parameter."""
    return lambda *args, precise=True: function(*args)


def forms(function):
    """Return the same right answer in ten unusual forms."""
    return {
        "float": lambda *args: float(function(*args)),
        "Fraction": lambda *args: Fraction(function(*args)),
        "numpy integer": lambda *args: np.int64(function(*args)),
        "0-d array": lambda *args: np.array(function(*args)),
        "one-element array": lambda *args: np.array([function(*args)]),
        "one-element list": lambda *args: [function(*args)],
        "partial": functools.partial(lambda unused, *args: function(*args), None),
        "object": Callable(function),
        "option": with_option(function),
        "numpy float": lambda *args: np.float64(function(*args)),
    }


def assert_passes(exercise_id: str, answer) -> None:
    """Assert that an answer is right on two seeds."""
    for seed in (0, 77):
        verdict = verdict_on(lessons.exercise(exercise_id), answer, seed)
        assert verdict.status == PASSED, verdict.message


def assert_told(exercise_id: str, answer, told: str | None) -> None:
    """Assert that a wrong answer is refused and told `told`, or that nothing is guessed when `told` is None."""
    verdict = verdict_on(lessons.exercise(exercise_id), answer)
    assert verdict.status == NOT_YET, verdict.message
    reasons = [text for label, text in verdict.lines if label == "because"]
    if told is None:
        assert reasons == [], verdict.message
    else:
        assert reasons and told in reasons[0], verdict.message
