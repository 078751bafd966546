"""What can still happen to a right result on its way out of an answer, as misconceptions for any array exercise."""

from __future__ import annotations

import numpy as np

from ffnlib.examination.exercise import Misconception


def rounded(program, digits=(2, 3, 4, 6)) -> tuple[Misconception, ...]:
    """Return the misconceptions that round a program's result."""
    return tuple(_rounded(program, places) for places in digits)


def _rounded(program, places: int) -> Misconception:
    def round_result(*args):
        return np.round(program(*args), places)

    digits = "1 digit" if places == 1 else f"{places} digits"
    return Misconception(
        f"rounded to {digits}", round_result, f"the result is rounded to {digits}", "return the unrounded numbers"
    )


def row_by_row(program) -> Misconception:
    """Return the misconception that runs a program on one row of the first argument after another."""
    return Misconception(
        "loops over the rows",
        lambda x, *others: np.array([program(row, *others) for row in x]),
        "a loop takes the rows of x one by one: one vector alone has no rows, and no rows at all leave no numbers",
        "@ and axis=-1 act on the last axis, whatever comes before it",
    )


def whole_for_whole(program) -> Misconception:
    """Return the misconception that writes a program's result into an array of the first argument's integer type."""

    def cut(*args):
        first = np.asarray(args[0])
        return np.asarray(program(*args)).astype(first.dtype if first.dtype.kind == "i" else np.float64)

    because = "for whole numbers as input the results are cut to whole numbers as well"
    step = "np.zeros_like(x) and np.empty_like(x) take over the integer type of x: ask for dtype=float"
    return Misconception("cut to whole numbers", cut, because, step)


def absolute(program) -> Misconception:
    """Return the misconception that drops the sign of a program's result."""
    return Misconception(
        "sign dropped",
        lambda *args: np.abs(program(*args)),
        "every result has lost its sign",
        "may the result be negative? look for np.abs, and on which factor it acts",
    )


def negated(program) -> Misconception:
    """Return the misconception that turns the sign of a program's result."""
    return Misconception(
        "sign turned", lambda *args: -np.asarray(program(*args)), "the result has the opposite sign", "look for a minus"
    )


def added_up(program) -> tuple[Misconception, ...]:
    """Return the misconceptions that add up or average a program's result."""
    step = "look for sum or mean: the result has one number for every entry"
    return (
        Misconception("added up", lambda *args: np.sum(program(*args)), "all results are added up to one number", step),
        Misconception(
            "averaged", lambda *args: np.mean(program(*args)), "all results are averaged to one number", step
        ),
        Misconception(
            "added up along the last axis",
            lambda *args: np.sum(program(*args), axis=-1),
            "the results are added up along the last axis",
            step,
        ),
        Misconception(
            "averaged along the last axis",
            lambda *args: np.mean(program(*args), axis=-1),
            "the results are averaged along the last axis",
            step,
        ),
    )
