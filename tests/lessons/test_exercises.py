"""What holds for every exercise of every lesson."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from ffnlib.examination import lessons
from ffnlib.examination.evidence import gather
from ffnlib.examination.exercise import Exercise
from ffnlib.examination.judge import judge
from ffnlib.examination.probing import collisions, draw
from ffnlib.examination.verdict import NOT_YET, PASSED, UNTOUCHED

WRITTEN = [
    name for name in lessons.CATALOGUE if importlib.util.find_spec(f"ffnlib.examination.lessons.lesson{name[:2]}")
]
EXERCISES = [exercise for lesson in WRITTEN for exercise in lessons.exercises(lesson)]


def verdict_on(exercise: Exercise, answer, seed: int = 0):
    probes = draw(exercise, exercise.seed + seed)
    return judge(exercise, probes, gather(probes, answer, exercise.wanted, exercise.library))


def by_id(exercise):
    return exercise.id


@pytest.mark.parametrize("lesson", WRITTEN)
def test_the_catalogue_and_the_lesson_name_the_same_exercises(lesson):
    assert tuple(exercise.id for exercise in lessons.exercises(lesson)) == lessons.CATALOGUE[lesson]


def test_exercise_ids_are_unique():
    ids = [exercise_id for group in lessons.CATALOGUE.values() for exercise_id in group]
    assert len(ids) == len(set(ids))


def test_an_unknown_lesson_is_refused_with_the_known_ones():
    with pytest.raises(KeyError, match="there is no lesson '99_none'; known are: 00_start_here"):
        lessons.exercises("99_none")


@pytest.mark.parametrize("exercise", [e for e in EXERCISES if e.wanted == "function"], ids=by_id)
def test_the_oracle_passes_on_several_seeds(exercise):
    for seed in (0, 1, 2, 12345):
        verdict = verdict_on(exercise, exercise.oracle, seed)
        assert verdict.status == PASSED, verdict.message


@pytest.mark.parametrize("exercise", EXERCISES, ids=by_id)
def test_the_starter_is_untouched(exercise):
    def starter(*args):
        raise NotImplementedError

    assert verdict_on(exercise, starter if exercise.wanted == "function" else ...).status == UNTOUCHED


@pytest.mark.parametrize("exercise", EXERCISES, ids=by_id)
def test_the_probes_of_the_learners_seed_separate_all_programs(exercise):
    """With `pytest -s` this prints the matrix: exercises by programs, each told from all others."""
    probes = draw(exercise, exercise.seed)
    together = collisions(exercise, probes)
    programs, calls = 1 + len(exercise.misconceptions), sum(len(probe.calls) for probe in probes)
    print(f"{exercise.id:28} {programs:3} programs on {calls:2} calls, not told apart: {together or 'none'}")
    assert together == []


@pytest.mark.parametrize("exercise", [e for e in EXERCISES if e.wanted == "function"], ids=by_id)
def test_every_wrong_program_earns_exactly_its_own_message(exercise):
    assert len(exercise.misconceptions) >= 3
    for misconception in exercise.misconceptions:
        verdict = verdict_on(exercise, misconception.program)
        assert verdict.status == NOT_YET
        assert verdict.misconception == misconception.name, verdict.message
        assert misconception.because in verdict.message


@pytest.mark.parametrize("exercise", EXERCISES, ids=by_id)
def test_most_seeds_separate_all_programs(exercise):
    separated = [not collisions(exercise, draw(exercise, 1000 + seed)) for seed in range(4)]
    assert sum(separated) >= 2, "graded seeds are redrawn until they separate; here too few do"


@pytest.mark.parametrize("exercise", EXERCISES, ids=by_id)
def test_the_probes_are_plain_and_leave_the_seed_in_charge(exercise):
    first, again = draw(exercise, 7), draw(exercise, 7)
    for a, b in zip(first, again):
        for x, y in zip(a.calls, b.calls):
            assert len(x) == len(y)
            for left, right in zip(x, y):
                assert type(left) is type(right)
                if isinstance(left, np.ndarray):
                    np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("exercise", EXERCISES, ids=by_id)
def test_help_is_complete(exercise):
    assert len(exercise.hints) == 3 and all(exercise.hints) and len(set(exercise.hints)) == 3
    assert "__" in exercise.hints[2], "the third hint is the line with one blank"
    assert exercise.why and exercise.points >= 0
    names = [misconception.name for misconception in exercise.misconceptions]
    assert len(names) == len(set(names))
