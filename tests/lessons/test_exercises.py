"""What holds for every exercise of every lesson. Each failure says what was seen and what an author can do about it."""

from __future__ import annotations

import importlib.util
import inspect
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from ffnlib.authoring.cell_rules import TO_BE_WRITTEN
from ffnlib.examination import lessons
from ffnlib.examination.evidence import gather
from ffnlib.examination.exercise import Exercise, Misconception
from ffnlib.examination.judge import judge
from ffnlib.examination.probing import collisions, draw, flatten
from ffnlib.examination.trials import outcome
from ffnlib.examination.verdict import NOT_YET, PASSED, UNTOUCHED

WRITTEN = [
    name for name in lessons.CATALOGUE if importlib.util.find_spec(f"ffnlib.examination.lessons.lesson{name[:2]}")
]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # wrong programs overflow
EXERCISES = [exercise for lesson in WRITTEN for exercise in lessons.exercises(lesson)]


def by_id(exercise):
    return exercise.id


each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=by_id)
each_function = pytest.mark.parametrize("exercise", [e for e in EXERCISES if e.wanted == "function"], ids=by_id)


def require(condition, told: str) -> None:
    """Fail with a sentence alone: an author need not read this file to understand it."""
    if not condition:
        pytest.fail(told, pytrace=False)


def verdict_on(exercise: Exercise, answer, seed: int = 0):
    probes = draw(exercise, exercise.seed + seed)
    return judge(exercise, probes, gather(probes, answer, exercise.wanted, exercise.library))


# ---- the catalogue ---------------------------------------------------------------------------------


@pytest.mark.parametrize("lesson", WRITTEN)
def test_the_catalogue_and_the_lesson_name_the_same_exercises(lesson):
    written, listed = tuple(exercise.id for exercise in lessons.exercises(lesson)), lessons.CATALOGUE[lesson]
    require(
        written == listed,
        f"EXERCISES at the end of lesson{lesson[:2]}.py holds {written}, and CATALOGUE in lessons/__init__.py lists "
        f"{listed}: name the same exercises in the same order",
    )


def test_exercise_ids_are_unique():
    ids = [exercise_id for group in lessons.CATALOGUE.values() for exercise_id in group]
    twice = {exercise_id for exercise_id in ids if ids.count(exercise_id) > 1}
    require(not twice, f"{twice} stands twice in CATALOGUE: an id is the name of one exercise of the whole course")


def test_an_unknown_lesson_is_refused_with_the_known_ones():
    with pytest.raises(KeyError, match="there is no lesson '99_none'; known are: 00_start_here"):
        lessons.exercises("99_none")


# ---- right and unwritten answers -------------------------------------------------------------------


def unasked_error(exercise: Exercise) -> str:
    """Say in which call the oracle ends in an error that it does not raise on purpose; nothing when it never does."""
    for args in flatten(draw(exercise, exercise.seed)):
        error = outcome(exercise, exercise.oracle, args)[1]
        on_purpose = error and f"raise {error.types[0]}" in inspect.getsource(exercise.oracle)
        if error and (not on_purpose or error.types[0] == "NotImplementedError"):
            takes = f"{', '.join(exercise.parameters())}; a probe gives it {len(args)}"
            return (
                f"the oracle ends in {error.types[0]}: {error.text}\nIt takes {takes}. Mend the oracle or `probes`. "
                "(An error that is asked for is raised by a line `raise ...` of the oracle.)"
            )
    return ""


@each_exercise
def test_the_oracle_has_a_result_for_every_probe(exercise):
    require(not unasked_error(exercise), unasked_error(exercise))


@pytest.mark.parametrize(
    ("oracle", "says"),
    [
        (lambda x, slope: np.where(x > 0, x, slope * x), "It takes x, slope; a probe gives it 1."),
        (lambda x: np.maxmum(0, x), "ends in AttributeError"),
        (lambda x: np.maximum(0, x), ""),
    ],
)
def test_an_oracle_that_does_not_fit_its_probes_is_named(oracle, says):
    fault = unasked_error(replace(lessons.exercise("relu"), oracle=oracle))
    assert says in fault and bool(says) == bool(fault)


@each_function
def test_the_oracle_passes_on_several_seeds(exercise):
    for seed in (0, 1, 2, 12345):
        verdict = verdict_on(exercise, exercise.oracle, seed)
        require(
            verdict.status == PASSED,
            f"the oracle, handed in as an answer, does not pass with the probes of seed {exercise.seed + seed}: mend "
            f"the oracle, or what `probes` draws. The check says:\n{verdict.message}",
        )


@each_exercise
def test_the_starter_is_untouched(exercise):
    def starter(*args):
        raise NotImplementedError

    verdict = verdict_on(exercise, starter if exercise.wanted == "function" else ...)
    require(
        verdict.status == UNTOUCHED,
        "an answer that nobody has begun must be told 'untouched'; does the oracle itself raise NotImplementedError? "
        f"The check says:\n{verdict.message}",
    )


# ---- wrong programs --------------------------------------------------------------------------------


def apart(exercise: Exercise, probes) -> str:
    """Say which programs the probes do not tell apart, and what to do; nothing when there are none."""
    told = []
    for left, right in collisions(exercise, probes):
        if left == "oracle":
            told.append(f"{right!r} is right on every probe: draw an input on which it goes wrong, or drop it")
        else:
            told.append(f"{left!r} and {right!r} give the same on every probe: draw an input on which they differ, "
                        "or keep one")  # fmt: skip
    return "\n".join(told)


@each_exercise
def test_the_probes_of_the_learners_seed_separate_all_programs(exercise):
    """With `pytest -s` this prints the matrix: exercises by programs, each told from all others."""
    probes = draw(exercise, exercise.seed)
    together = apart(exercise, probes)
    programs, calls = 1 + len(exercise.misconceptions), sum(len(probe.calls) for probe in probes)
    print(f"{exercise.id:28} {programs:3} programs on {calls:2} calls, {'not ' if together else ''}all told apart")
    require(not together, together)


@each_exercise
def test_most_seeds_separate_all_programs(exercise):
    together = [apart(exercise, draw(exercise, 1000 + seed)) for seed in range(4)]
    require(
        together.count("") >= 2,
        "a graded seed is drawn again until it tells all programs apart, and here most seeds do not: let `probes` put "
        f"the telling input in every time, not by luck.\n{max(together, key=len)}",
    )


def ends_in(exercise: Exercise, misconception: Misconception) -> str:
    """Return the error that a wrong program raises wherever the oracle has a result; empty when it does not."""
    calls = flatten(draw(exercise, exercise.seed))
    answered = [args for args in calls if not outcome(exercise, exercise.oracle, args)[1]]
    errors = [outcome(exercise, misconception.program, args)[1] for args in answered]
    return f"{errors[0].types[0]}: {errors[0].text}" if errors and all(errors) else ""


def fault_of_raising(exercise: Exercise, misconception: Misconception) -> str:
    """Say in a sentence what is wrong when a program raises and is not marked so, or the other way round."""
    error, marked = ends_in(exercise, misconception), misconception.raises
    if error.partition(":")[0] == marked:
        return ""
    if not error:
        return f"{misconception.name!r} is marked raises={marked!r}, and it gives a result: drop the mark"
    return (
        f"the program of {misconception.name!r} computes nothing: on every call it ends in {error}. Is there a slip in "
        f"it? If learners really meet this error, write raises={error.partition(':')[0]!r} into the misconception"
    )


@each_exercise
def test_every_wrong_program_computes_something_unless_it_is_marked(exercise):
    faults = [fault_of_raising(exercise, misconception) for misconception in exercise.misconceptions]
    require(not any(faults), "\n".join(filter(None, faults)))


@pytest.mark.parametrize(
    ("program", "raises", "says"),
    [
        (lambda x: np.maxmum(x, 0), "", "computes nothing: on every call it ends in AttributeError"),
        (lambda x: x.reshape(7, 11), "AttributeError", "write raises='ValueError' into the misconception"),
        (lambda x: x, "ValueError", "it gives a result: drop the mark"),
        (lambda x: x.reshape(7, 11), "ValueError", ""),
        (lambda x: x, "", ""),
    ],
)
def test_a_program_that_only_raises_is_named(program, raises, says):
    wrong = replace(lessons.exercise("relu").misconceptions[0], name="a slip", program=program, raises=raises)
    fault = fault_of_raising(lessons.exercise("relu"), wrong)
    assert says in fault and bool(says) == bool(fault)
    assert not fault or "'a slip'" in fault


@each_function
def test_every_wrong_program_earns_exactly_its_own_message(exercise):
    number = len(exercise.misconceptions)
    require(
        number >= 3, f"{number} misconceptions: write down at least three wrong programs that people really hand in"
    )
    for misconception in exercise.misconceptions:
        verdict = verdict_on(exercise, misconception.program)
        told = f"The check says:\n{verdict.message}"
        require(verdict.status == NOT_YET, f"the wrong program {misconception.name!r} is not found wrong. {told}")
        require(
            verdict.misconception == misconception.name,
            f"the wrong program {misconception.name!r} is taken for {verdict.misconception!r}, an explanation that is "
            f"tried before and fits as well: draw an input on which the two differ, or drop this one. {told}",
        )
        require(
            misconception.because in verdict.message, f"the sentence of {misconception.name!r} is not shown. {told}"
        )


# ---- probes and help -------------------------------------------------------------------------------


@each_exercise
def test_the_probes_are_plain_and_leave_the_seed_in_charge(exercise):
    first, again = draw(exercise, 7), draw(exercise, 7)
    for a, b in zip(first, again):
        for x, y in zip(a.calls, b.calls):
            assert len(x) == len(y)
            for left, right in zip(x, y):
                assert type(left) is type(right)
                same = not isinstance(left, np.ndarray) or np.array_equal(left, right, equal_nan=left.dtype.kind == "f")
                require(same, "one seed gives two inputs: draw all numbers from `rng`, none from np.random")


@each_exercise
def test_help_is_complete(exercise):
    hints, names = exercise.hints, [misconception.name for misconception in exercise.misconceptions]
    require(len(hints) == 3 and all(hints) and len(set(hints)) == 3, f"three different hints are due, here are {hints}")
    require("__" in hints[2], f"the third hint is the line with one blank, ___, and here it is {hints[2]!r}")
    require(exercise.why, "`why` is empty: write the sentence under `reveal` that says why the answer is right")
    assert exercise.points >= 0
    require(len(names) == len(set(names)), f"two misconceptions have one name: {sorted(names)}")
    texts = [*hints, exercise.why, *(text for m in exercise.misconceptions for text in (m.name, m.because, m.next))]
    unwritten = [text for text in texts if TO_BE_WRITTEN in text]
    require(not unwritten, f"write these: {', '.join(unwritten)}")


# ---- results that nothing can be computed with -------------------------------------------------------

STRANGE = [
    10**400,  # larger than any float
    Fraction(2 * 10**400 + 1, 2),
    [10**400],
    Decimal("1e5000"),
    [[1], [1, 2]],
    complex(1, float("inf")),
    np.zeros(3, dtype=[("a", int)]),
]


@each_function
def test_a_result_that_cannot_be_computed_with_is_wrong_and_no_fault_of_the_course(exercise):
    told = {repr(value)[:20]: verdict_on(exercise, lambda *_, value=value: value) for value in STRANGE}
    other = {value: verdict.message for value, verdict in told.items() if verdict.status != NOT_YET}
    require(not other, f"{exercise.id}: these results should be told that they are wrong: {other}")
