"""Lesson 00: how an exercise works, tried on one that needs no network at all."""

from __future__ import annotations

import numpy as np

from ffnlib.examination.exercise import Array, Exercise, Misconception, call


def warm_up(x):
    """Return twice x."""
    return 2 * x


def warm_up_probes(rng):
    """Draw numbers and arrays, integers and negative values among them."""
    return (
        call(rng.normal(size=(3, 2))),
        call(float(rng.normal()) + 3.0),
        call(rng.integers(-9, 9, size=4) * 100),
        call(np.zeros((0, 2))),
        call(-5),
        call(rng.normal(size=(2, 3, 2))),
    )


WARM_UP = Exercise(
    id="warm_up",
    probes=warm_up_probes,
    oracle=warm_up,
    returns=Array(),
    misconceptions=(
        Misconception("squares", lambda x: x**2, "x is squared instead of doubled", "compare 3 * 3 with 2 * 3"),
        Misconception("returns x", lambda x: x, "x comes back unchanged", "which line of yours changes the value?"),
        Misconception("adds two", lambda x: x + 2, "2 is added instead of multiplied", "try x = 5 by hand: is it 7 or 10?"),
        Misconception("halves", lambda x: x / 2, "x is halved instead of doubled", "which operation undoes a half?"),
        Misconception(
            "sums up", lambda x: 2 * np.sum(x), "all entries are added up first", "an array goes in, an array of that shape comes out"
        ),
        Misconception("loses the sign", lambda x: 2 * np.abs(x), "the sign of x is lost", "try a negative x by hand"),
        Misconception("loops over the entries", lambda x: [2 * entry for entry in x], "a loop takes the entries of x one by one, and a single number has none", "multiplying by 2 serves numbers and arrays alike"),
        Misconception("two to the x", lambda x: 2.0**x, "2 is raised to the power x", "2 * x and 2 ** x differ in one star"),
    ),
    hints=(
        "Look at the statement: which one operation turns 5 into 10 and -1 into -2?",
        "Multiply; NumPy multiplies every entry of an array by a number at once.",
        "return 2 * ___",
    ),
    why="Multiplying an array by a number multiplies every entry, so one line serves numbers and arrays alike.",
)

EXERCISES = (WARM_UP,)
