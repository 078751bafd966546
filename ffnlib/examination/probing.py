"""Which questions are asked: the probes of a seed, and whether they tell all programs apart."""

from __future__ import annotations

import itertools
import warnings

import numpy as np

from ffnlib.examination.compare import difference
from ffnlib.examination.exercise import Exercise, Probe
from ffnlib.examination.trials import outcome, said


def draw(exercise: Exercise, seed: int) -> tuple[Probe, ...]:
    """Return the probes of an exercise for a seed, with the first one repeated in ways that find memory and state.

    The first probe is called three times: with its arguments, with new numbers in the same array objects, and with
    the first arguments again.
    """
    probes = tuple(exercise.probes(np.random.default_rng(seed)))
    first, others = probes[0], probes[1:]
    if first.action == "call" and len(first.calls) == 1:
        fresh = exercise.probes(np.random.default_rng(seed + 1))[0].calls[0]
        first = Probe(calls=(first.calls[0], fresh, first.calls[0]))
    return (first, *others)


def flatten(probes: tuple[Probe, ...]) -> list[tuple]:
    """Return the argument tuples of all calls, in the order of the observations."""
    return [
        args if probe.action == "call" else (*args, probe.weights, probe.inputs)
        for probe in probes
        for args in probe.calls
    ]


def collisions(exercise: Exercise, probes: tuple[Probe, ...]) -> list[tuple[str, str]]:
    """Return the pairs of programs (oracle, misconceptions) that the probes cannot tell apart by ten tolerances."""
    calls = flatten(probes)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        programs = [("oracle", exercise.oracle), *[(m.name, m.program) for m in exercise.misconceptions]]
        results = [(name, [outcome(exercise, program, args) for args in calls]) for name, program in programs]
        return [(a, b) for (a, x), (b, y) in itertools.combinations(results, 2) if _same_results(exercise, x, y)]


def _same_results(exercise: Exercise, left, right) -> bool:
    for (a, error_a), (b, error_b) in zip(left, right):
        if error_a or error_b:
            if bool(error_a) != bool(error_b) or said(error_a) != said(error_b):
                return False
            continue
        same_form = (a.complaint is None) == (b.complaint is None)
        if (a.value is None) != (b.value is None) or not same_form:
            return False
        if a.value is not None and difference(a.value, b.value, 10 * exercise.tolerance):
            return False
    return True


def separating(exercise: Exercise, seeds) -> tuple[Probe, ...]:
    """Return the probes of the first seed that tell all programs apart.

    **Raises** ValueError when none of the seeds does, with the pair that stays together.
    """
    for seed in seeds:
        probes = draw(exercise, seed)
        pairs = collisions(exercise, probes)
        if not pairs:
            return probes
    raise ValueError(
        f"exercise {exercise.id!r}: its probes never tell {pairs[0][0]!r} from {pairs[0][1]!r}; draw others"
    )
