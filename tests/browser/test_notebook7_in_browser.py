"""Two lessons and one with several kinds of control in Notebook 7: a file of its own, for a process of its own."""

import pytest

from .test_every_lesson_in_browser import LESSONS, go_through

SOME = [file for file in LESSONS if file.stem in ("00_start_here", "01_formula", "04_the_block")]


@pytest.mark.parametrize("file", SOME, ids=lambda file: file.stem)
def test_a_learner_goes_through_the_lesson(open_lesson_alone, file):
    go_through(open_lesson_alone(file, f"notebook7_{file.name}", "notebooks"), file.stem)
