"""How these tests ask: small made-up exercises, and one way to put an answer to them."""

from __future__ import annotations

import numpy as np

from ffnlib.examination.evidence import gather
from ffnlib.examination.exercise import (
    Array,
    Count,
    Exercise,
    Indices,
    Misconception,
    Number,
    Parts,
    Record,
    Truth,
    call,
)
from ffnlib.examination.judge import judge
from ffnlib.examination.probing import draw

WRONG = (
    Misconception("negated", lambda x: -2 * x, "the sign is turned", "which sign?"),
    Misconception("squared", lambda x: x * x, "x is squared", "which operation?"),
    Misconception("tripled", lambda x: 3 * x, "x is tripled", "how often?"),
)


def doubled(x):
    """Return twice x."""
    return 2 * x


def made_up(oracle=doubled, returns=None, probes=None, misconceptions=WRONG, **more) -> Exercise:
    """Return an exercise for a test: by default, twice an array."""
    return Exercise(
        id="made_up",
        probes=probes or (lambda rng: (call(rng.normal(size=5) + 3), call(rng.normal(size=(2, 3)) - 4))),
        oracle=oracle,
        returns=returns or Array(),
        misconceptions=misconceptions,
        hints=("a", "b", "c ___"),
        why="because",
        **more,
    )


def verdict_on(answer, exercise: Exercise | None = None):
    """Return the verdict on an answer to a made-up exercise."""
    exercise = exercise or made_up()
    probes = draw(exercise, exercise.seed)
    return judge(exercise, probes, gather(probes, answer, exercise.wanted, exercise.library))


NUMBER = made_up(oracle=lambda x: float(np.sum(x)), returns=Number(), misconceptions=())
COUNT = made_up(
    oracle=lambda a, b: a * b + 1,
    returns=Count(),
    probes=lambda rng: (call(3, 5), call(7, 11)),
    misconceptions=(Misconception("no one", lambda a, b: a * b, "1 is left out", "what is added?"),),
)
TRUTH = made_up(
    oracle=lambda a: a > 3,
    returns=Truth(),
    probes=lambda rng: (call(5), call(2), call(3)),
    misconceptions=(Misconception("or equal", lambda a: a >= 3, "3 counts as larger than 3", "what of 3 itself?"),),
)
INDICES = made_up(
    oracle=lambda h: np.flatnonzero(h > 0),
    returns=Indices(length=lambda h: len(h)),
    probes=lambda rng: (call(np.array([1.0, -2.0, 3.0, -4.0])), call(np.array([-1.0, 5.0, 6.0]))),
    misconceptions=(),
)
PAIR = made_up(
    oracle=lambda x: (2 * x, float(np.sum(x))),
    returns=Parts(("double", "total"), (Array(), Number())),
    misconceptions=(),
)
RECORD = made_up(
    oracle=lambda x: {"low": float(np.min(x)), "high": float(np.max(x))},
    returns=Record(("low", "high")),
    misconceptions=(),
)
