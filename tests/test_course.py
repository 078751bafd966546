"""What is collected is read back whole, and asking for what is not there is answered with what is."""

import pytest

from ffnlib.authoring import build, claims, collected
from ffnlib.authoring.notebook import lesson_files, read
from ffnlib.course import load

COURSE = load()


def test_the_file_is_what_the_lessons_say_now():
    assert [str(problem) for problem in collected.difference(build.ROOT)] == []


def test_every_lesson_has_a_question_a_law_and_a_doubt():
    assert [each.name for each in COURSE.lessons] == [file.stem for file in lesson_files(build.ROOT)]
    assert [each.name for each in COURSE.lessons if not (each.question and each.law and each.doubt)] == []


def test_every_claim_of_a_written_lesson_is_collected_with_the_sentence_of_its_cell():
    written = {each.name for each in COURSE.lessons}
    due = [claim.id for claim in claims.load() if claim.lesson in written]
    assert [claim.id for claim in COURSE.claims] == due
    assert [claim.id for claim in COURSE.claims if "You expected" in claim.measured or not claim.measured] == []


def test_every_word_is_collected_once_and_in_bold():
    words = [term.term for term in COURSE.terms]
    assert len(set(words)) == len(words) > 40
    assert [term.term for term in COURSE.terms if f"**{term.term}**".lower() not in term.meaning.lower()] == []
    assert [term.term for term in COURSE.terms if "$" in term.meaning or "\\" in term.meaning] == []


def test_a_word_stands_in_the_lessons_that_are_said_to_use_it():
    for lesson in COURSE.lessons:
        text = " ".join(cell["source"] for cell in read(build.ROOT / "solutions" / f"{lesson.name}.ipynb")["cells"])
        for earlier, words in lesson.uses.items():
            assert earlier < lesson.name
            assert [word for word in words if word.rstrip("s").lower() not in text.lower()] == []


def test_what_is_not_there_is_answered_with_what_is():
    with pytest.raises(KeyError, match="no decided claim"):
        COURSE.claim("S9-99")
    with pytest.raises(KeyError, match="there is 00_start_here, 01_formula"):
        COURSE.lesson("the formula")
