"""Every golden submission gets the row that its `expected.json` asks for: nothing undeserved, nothing lost."""

import json

import pytest

from ffnlib.grading.cli import grade_folder
from tests.grading import build_submissions as golden
from tests.grading.conftest import SUBMISSIONS

KINDS = sorted(folder.name for folder in SUBMISSIONS.iterdir() if folder.is_dir())
LIED = "relu"  # the exercise that hostile kinds try to get undeserved points for


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The rows of one run over all kinds, by kind. Nine seconds a submission: those that hang wait for a third."""
    found = grade_folder(SUBMISSIONS, tmp_path_factory.mktemp("out"), timeout=9, jobs=2)
    return {row["student"]: row for row in found}


def expected(kind):
    return json.loads((SUBMISSIONS / kind / "expected.json").read_text("utf-8"))


def test_the_folder_holds_what_the_generator_writes():
    assert sorted(golden.KINDS) == KINDS
    for kind, (file, data, wanted) in golden.KINDS.items():
        assert (SUBMISSIONS / kind / file).read_bytes() == data
        assert expected(kind) == wanted


def test_there_is_a_row_for_every_file(rows):
    assert sorted(rows) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_a_submission_gets_its_row(rows, kind):
    row, wanted = rows[kind], expected(kind)
    statuses = {result["id"]: result["status"] for result in row["exercises"]}
    if wanted["status"] != "*":
        assert row["status"] == wanted["status"], row
    if wanted["score"] != "*":
        assert row["score"] == wanted["score"], row
    for exercise, status in wanted["statuses"].items():
        assert status in ("*", statuses[exercise]), row
    words = json.dumps(row, ensure_ascii=False)
    for text in wanted["says"]:
        assert text in words


def test_the_maximum_comes_from_the_key_and_never_from_a_notebook(rows):
    assert {row["max_score"] for row in rows.values() if row["lesson"]} == {4.0}


def test_points_are_given_for_passed_exercises_and_for_nothing_else(rows):
    for row in rows.values():
        passed = sum(result["status"] == "passed" for result in row["exercises"])
        assert row["score"] == (passed if row["status"] == "graded" else None)


def test_points_that_nobody_could_judge_are_not_known(rows):
    for row in rows.values():
        for result in row["exercises"]:
            assert (result["points"] is None) <= (row["status"] == "needs-human")
    assert [result["points"] for result in rows["answers_deleted"]["exercises"]] == [None] * 4


def test_no_hidden_input_is_shown(rows):
    for row in rows.values():
        for result in row["exercises"]:
            labels = {line.partition(":")[0] for line in result["message"].splitlines()}
            assert not labels & {"called", "got"}, result
