"""The course's own notebooks, handed in: solved lessons get every point, untouched ones none, from a few cells each."""

from pathlib import Path

import pytest

from ffnlib.examination import lessons
from ffnlib.grading.collect import Handed
from ffnlib.grading.examiner import Settings
from ffnlib.grading.interview import grade_batch, parts_of, workshop_of
from ffnlib.grading.submission import read_submission

ROOT = Path(__file__).resolve().parents[2]
SOLVED = sorted((ROOT / "solutions").glob("*.ipynb"))
RELEASED = sorted((ROOT / "notebooks").glob("*.ipynb"))


def by_name(path):
    return path.stem


@pytest.fixture(scope="module")
def row_of():
    settings = Settings(2_024, timeout=60.0)
    with workshop_of(settings):  # shared with every run of these limits, the earlier ones of this process too
        yield lambda path: grade_batch([read_submission(Handed("ann", "x.ipynb", path.read_bytes(), 0.0))], settings)[0]


@pytest.mark.parametrize("path", SOLVED, ids=by_name)
def test_a_solved_lesson_gets_every_point(path, row_of):
    row = row_of(path)
    assert (row["lesson"], row["status"]) == (path.stem, "graded")
    assert row["score"] == row["max_score"] == sum(e.points for e in lessons.exercises(path.stem)), row


@pytest.mark.parametrize("path", RELEASED, ids=by_name)
def test_an_untouched_lesson_is_untouched(path, row_of):
    row = row_of(path)
    assert (row["lesson"], row["score"], row["notes"]) == (path.stem, 0.0, [])
    assert {result["status"] for result in row["exercises"]} == {"untouched"}


@pytest.mark.parametrize("path", RELEASED, ids=by_name)
def test_of_an_untouched_lesson_only_setup_and_answers_run(path):
    submission = read_submission(Handed("ann", "x.ipynb", path.read_bytes(), 0.0))
    parts = parts_of(submission, lessons.exercises(path.stem))
    needed = [part for part in parts if part.needed]
    assert not [part for part in parts if part.changed]
    assert 2 <= len(needed) < len(parts)
