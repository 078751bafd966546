"""The learner's door and the instructor's door: the same probes and answer give the same evidence and verdict."""

import inspect
import textwrap
import time

import numpy as np
import pytest

from ffnlib.examination import lessons
from ffnlib.examination.evidence import gather
from ffnlib.examination.exercise import Remote
from ffnlib.examination.probing import draw
from ffnlib.grading.collect import Handed
from ffnlib.grading.examiner import Examiner, Settings
from ffnlib.grading.interview import Interview, parts_of
from ffnlib.grading.session import ask, open_session
from ffnlib.grading.submission import read_submission
from ffnlib.grading.workshop import Workshop
from ffnlib.learner import check
from tests.grading import build_submissions as golden

OPEN = Settings(0, graded=False)
HONEST = [
    *("right", "untouched", "wrong", "half", "unusual_but_right", "torch_answer", "warns", "prints"),
    *("library_call", "changes_its_input", "object_that_lies", "exception_with_a_page", "text", "object_array"),
    *("not_a_number", "always_the_same", "generator", "deep_list", "one_patch_for_another"),
]


@pytest.fixture(scope="module")
def workshop():
    made = Workshop(1024, 30.0)
    yield made
    made.close()


def bound_by(submission):
    """Run the cells of a submission here, as a notebook does, and return what they bind."""
    namespace = {}
    for cell in submission.cells:
        exec(compile(cell.source, f"<cell {cell.number}>", "exec"), namespace)
    return namespace


@pytest.mark.parametrize("kind", HONEST)
def test_both_doors_say_the_same(kind, workshop, monkeypatch):
    monkeypatch.setattr(np, "matmul", np.matmul)  # one of them removes it, here from this very process
    submission = read_submission(Handed("ann", "x.ipynb", golden.KINDS[kind][1], 0.0))
    exercises = lessons.exercises(submission.lesson)
    graded = Interview(submission, exercises, Examiner(OPEN), workshop).verdicts()
    here = bound_by(submission)
    for exercise, verdict in zip(exercises, graded):
        own = check(exercise.id, here[exercise.answer_name()])
        assert (verdict.status, verdict.misconception) == (own.status, own.misconception)
        assert verdict.message.replace("<cell", "") == own.message.replace("<cell", "")


def test_both_doors_gather_the_same_evidence(workshop):
    submission = read_submission(Handed("ann", "x.ipynb", golden.KINDS["right"][1], 0.0))
    exercises, here = lessons.exercises(submission.lesson), bound_by(submission)
    examiner = Examiner(OPEN)
    names = [exercise.answer_name() for exercise in exercises]
    soon = time.monotonic() + 30
    session = open_session(workshop.worker(), parts_of(submission, exercises), names, soon, 30.0)
    try:
        for exercise in exercises:
            name = exercise.answer_name()
            far = ask(session, examiner, exercise, session.bound[name][-1], soon)
            near = gather(draw(exercise, exercise.seed), here[name], exercise.wanted, exercise.library)
            assert plain(far) == plain(near)
    finally:
        session.worker.end()


def plain(value):
    """Return evidence with every array as type, shape and bytes."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    return {key: plain(item) for key, item in vars(value).items()} if hasattr(value, "__dict__") else value


def with_functions():
    """Return the exercises whose probes hand over functions of the judge's."""
    for lesson in lessons.CATALOGUE:
        try:
            exercises = lessons.exercises(lesson)
        except ModuleNotFoundError:
            continue
        for exercise in exercises:
            if any(type(arg) is Remote for probe in draw(exercise, 1) for args in probe.calls for arg in args):
                yield lesson, exercise


@pytest.mark.parametrize(("lesson", "exercise"), list(with_functions()), ids=lambda value: getattr(value, "id", ""))
def test_a_function_that_stays_with_the_judge_serves_an_answer(lesson, exercise, workshop):
    source = textwrap.dedent(inspect.getsource(exercise.oracle)).replace(exercise.oracle.__name__, exercise.id, 1)
    made = [golden.cell(golden.SETUP, "setup"), golden.cell(source, "answer", exercise.id)]
    data = golden.notebook(made, metadata={"ffn": {"lesson": lesson}})
    submission = read_submission(Handed("ann", "x.ipynb", data, 0.0))
    (verdict,) = Interview(submission, (exercise,), Examiner(OPEN), workshop).verdicts()
    assert verdict.passed, verdict
