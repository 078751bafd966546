"""Every claim is in the table once, belongs to a lesson, and is decided by a cell of that lesson once it is written."""

import re
from collections import Counter

import pytest

from ffnlib.authoring import build, claims
from ffnlib.authoring.notebook import lesson_files, read

CLAIMS = claims.load()
SOLVED = {file.stem: read(file) for file in lesson_files(build.ROOT)}
LESSONS = {claim.lesson for claim in CLAIMS} | {"00_start_here"}


def test_ids_are_unique_and_of_one_form():
    count = Counter(claim.id for claim in CLAIMS)
    assert [name for name in count if count[name] > 1 or not re.fullmatch(r"S[0-4]-\d\d", name)] == []


def test_an_id_begins_with_its_document():
    assert len({(claim.id[:2], claim.document) for claim in CLAIMS}) == len({claim.document for claim in CLAIMS}) == 5


def test_every_verdict_is_one_of_four_and_says_why():
    assert {claim.verdict for claim in CLAIMS} <= set(claims.VERDICTS)
    assert [claim.id for claim in CLAIMS if bool(claim.because) == (claim.verdict == "open")] == []


def test_lessons_are_numbered_without_a_gap():
    assert [lesson[:2] for lesson in sorted(LESSONS)] == [f"{number:02}" for number in range(15)]


def test_a_written_lesson_has_the_name_that_the_table_uses():
    assert set(SOLVED) <= LESSONS


@pytest.mark.parametrize("lesson", SOLVED)
def test_every_claim_of_a_written_lesson_is_decided_by_one_of_its_cells(lesson):
    here = [claim for claim in CLAIMS if claim.lesson == lesson]
    undecided = [f"{claim.id}: {claim.claim}" for claim in here if not claims.decided_by(claim, SOLVED)]
    assert undecided == [], "name the deciding cell in its metadata.ffn.claim"
    assert [claim.id for claim in here if claim.verdict == "open"] == [], "the lesson is written; give a verdict"


@pytest.mark.parametrize("lesson", SOLVED)
def test_what_the_lesson_measures_is_what_the_table_says(lesson):
    for claim in (claim for claim in CLAIMS if claim.lesson == lesson):
        cell = claims.decided_by(claim, SOLVED)
        shown = [output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", [])]
        assert claim.verdict.upper() in [text.split("\n")[0] for text in shown], (
            f"{claim.id}, decided by {cell['id']}: {shown}"
        )


def test_a_claim_is_decided_by_the_first_cell_of_its_own_lesson(lesson):
    lesson.cell("factor")["metadata"]["ffn"]["claim"] = ["S0-01", "S0-02"]
    lesson.cell("table")["metadata"]["ffn"]["claim"] = ["S0-01"]
    notebooks = {"01_tiny": lesson.notebook, "02_later": lesson.notebook}
    here = claims.Claim("S0-01", "a document", "twice is plus itself", "true", "counted", "01_tiny")
    elsewhere = claims.Claim("S0-02", "a document", "half is less", "true", "counted", "03_other")
    assert claims.decided_by(here, notebooks) is lesson.cell("factor")
    assert claims.decided_by(elsewhere, notebooks) is None
