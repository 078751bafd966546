"""The notebooks of `outside_submissions`, and what their author found around them."""

import json
import os
import socket
import time

import numpy as np
import pytest

from ffnlib.examination.evidence import Evidence, Observation, Seen, take
from ffnlib.grading.cli import grade_folder
from ffnlib.grading.collect import collect
from ffnlib.grading.examiner import Examiner, without_giants
from ffnlib.grading.line import Line, Malformed, accepted
from ffnlib.grading.worker import sandbox
from tests.grading.outside_submissions import MADE
from tests.grading.test_collect import RIGHT, archive
from tests.grading.test_sandbox import decide


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("submissions")
    for name, (lesson, data, _) in MADE.items():
        (folder / name).mkdir()
        (folder / name / f"{lesson}.ipynb").write_bytes(data)
    found = grade_folder(folder, tmp_path_factory.mktemp("out"), timeout=20, jobs=2)
    return {row["student"]: row for row in found}


@pytest.mark.parametrize("name", MADE)
def test_a_notebook_gets_its_row(rows, name):
    lesson, _, score = MADE[name]
    assert (rows[name]["lesson"], rows[name]["score"], rows[name]["status"]) == (lesson, score, "graded"), rows[name]


# ---------------------------------------------------------------- the judge's time


def test_a_giant_is_called_large_and_what_is_as_large_as_it_should_be_is_left_alone():
    giant, usual = Observation(take([[0.0] * 1000] * 30)), Observation(take([1.0, [2.0]]))
    large, same = without_giants(Evidence((giant, usual))).observations
    assert large.returned.kind == "large" and same == usual


def test_the_time_of_the_judge_is_not_the_submissions(hand_in, grade, monkeypatch):
    drawn, clock, ahead = Examiner._draw, time.monotonic, [0]

    def draw_for_100_seconds(examiner, exercise):
        ahead[0] += 100
        return drawn(examiner, exercise)

    monkeypatch.setattr(time, "monotonic", lambda: clock() + ahead[0])
    monkeypatch.setattr(Examiner, "_draw", draw_for_100_seconds)
    (row,) = grade(hand_in("ann.ipynb"), timeout=60)
    assert ahead[0] >= 100
    assert row["score"] == 4.0, row


# ---------------------------------------------------------------- folders and archives


def students(folder):
    return sorted((each.student, each.problem[:20]) for each in collect(folder))


def test_folders_without_end_cost_one_row_and_no_run(hand_in):
    folder = hand_in("ben/01_formula.ipynb")
    os.makedirs(folder / "/".join(["deep"] * 40))  # pytest itself fails to remove the 1,400 that ended a run
    assert [student for student, _ in students(folder)] == ["ben", "deep"]


def test_a_folder_that_cannot_be_read_costs_one_row_and_no_run(hand_in, monkeypatch):
    hand_in("ann/01_formula.ipynb")
    folder, listed = hand_in("ben/01_formula.ipynb"), type(hand_in("ben/01_formula.ipynb")).iterdir

    def refuse(self):
        if self.name == "ann":
            raise PermissionError(13, "Permission denied")
        return listed(self)

    monkeypatch.setattr(type(folder), "iterdir", refuse)
    assert students(folder) == [("ann", "it is a folder that "), ("ben", "")]


def test_names_that_are_no_text_stay_different(hand_in):
    folder = hand_in("ben/01_formula.ipynb")
    for name in (b"\xff", b"\xfe"):
        os.makedirs(os.path.join(os.fsencode(folder), name))
        with open(os.path.join(os.fsencode(folder), name, b"01_formula.ipynb"), "wb") as file:
            file.write(RIGHT)
    assert len({student for student, _ in students(folder)}) == 3


@pytest.mark.parametrize("name", ["pipe.zip", "pipe.ipynb", "ann/timestamp.txt"])
def test_a_pipe_is_not_waited_for(hand_in, name):
    folder = hand_in("ann/01_formula.ipynb")
    os.mkfifo(folder / name)
    assert ("ann", "") in students(folder)


def test_learners_whose_archives_hold_a_folder_of_the_same_name_stay_apart(hand_in):
    hand_in("ann.zip", archive({"homework/01_formula.ipynb": RIGHT}))
    hand_in("cho_11_22_homework.zip", archive({"homework/new/01_formula.ipynb": RIGHT}))
    folder = hand_in("ben.zip", archive({"homework/01_formula.ipynb": RIGHT}))
    assert students(folder) == [("ann", ""), ("ben", ""), ("cho_11", "")]


def test_a_folder_around_a_whole_class_is_passed_over(hand_in):
    members = {f"submissions/{name}/01_formula.ipynb": RIGHT for name in ("ann", "ben")}
    folder = hand_in("submissions.zip", archive(members))
    assert students(folder / "submissions.zip") == students(folder) == [("ann", ""), ("ben", "")]
    lessons_of_one = {f"ann/{name}/{name}.ipynb": RIGHT for name in ("01_formula", "05_activations")}
    folder = hand_in("submissions.zip", archive(lessons_of_one))
    assert students(folder / "submissions.zip") == [("ann", ""), ("ann", "")]


def test_an_archive_that_knows_no_dates_is_read(hand_in):
    data = bytearray(archive({"ann/01_formula.ipynb": RIGHT}))
    at = data.rindex(b"PK\x01\x02")
    data[at + 12 : at + 16] = bytes(4)
    (found,) = collect(hand_in("class.zip", bytes(data)) / "class.zip")
    assert (found.student, found.time, found.problem) == ("ann", 0.0, "")


def test_a_name_that_takes_long_to_read_is_refused(hand_in):
    started = time.process_time()
    ((_, problem),) = students(hand_in("ann.zip", archive({" " * 60_000 + "x.ipynb": RIGHT})))
    assert problem and time.process_time() - started < 5


# ---------------------------------------------------------------- the layers


def test_no_process_is_signalled_or_typed_to_by_way_of_a_descriptor_and_none_outlives_the_grader():
    for machine, (column, audit) in sandbox.ARCHITECTURES.items():
        code = sandbox.seccomp_filter(machine, 4711)
        for numbers, position, commands in sandbox.COMMANDS.values():
            assert decide(code, numbers[column], (3, 3, 0, 0, 0, 0), audit) == sandbox.ALLOW
            for command in commands:
                arguments = [3, 3, 0, 0, 0, 0]
                arguments[position] = command
                assert decide(code, numbers[column], arguments, audit) == sandbox.ERRNO | sandbox.EPERM


def test_the_exercises_stay_closed_where_the_course_is_installed_among_libraries(tmp_path, monkeypatch):
    for name in ("numpy", "ffnlib/examination/lessons"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setattr(sandbox, "FFNLIB", tmp_path / "ffnlib")
    assert sandbox.without_course(tmp_path) == [tmp_path / "numpy"]
    assert sandbox.without_course(tmp_path.parent).count(tmp_path) == 0
    assert sandbox.without_course(tmp_path / "numpy") == [tmp_path / "numpy"]


def test_a_module_is_accepted_with_plain_facts_only():
    facts = {"sizes": (3, 7), "base": True, "attempts": (("a", *[take(1.0)] * 3),), "raised": None}
    module = Seen("module", "FeedForward", facts)
    accepted("build", Observation(module))
    for action, reply in (("call", Observation(module)), ("look", Evidence(answer=module))):
        with pytest.raises(Malformed):  # a hundred attempts at any exercise
            accepted(action, reply)
    attempts = 5, [], (5,), ("abcd",), (("a", take(1.0)),), ((np.zeros(2), *[take(1.0)] * 3),)
    for wrong in (
        *({"attempts": each} for each in attempts),
        {"attempts": ((0,),) * 1000},
        {"base": 1.5},
        {"a": object()},
        {"x" * 1000: 1},
        {"a": -1},
    ):
        with pytest.raises(Malformed):
            accepted("build", Observation(Seen("module", "FeedForward", wrong)))


@pytest.mark.parametrize(
    "value",
    [
        {"dict": [[{"int": "1"}, None]]},
        {"dict": [{"a": 1}]},
        {"dict": [[]]},
        {"dict": 5},
        {"fraction": ["f" * 9000, "1"]},
        {"fraction": 5},
        {"fraction": [5, 5]},
    ],
    ids=str,
)
def test_what_takes_long_to_rebuild_is_refused_before_it_is_rebuilt(value):
    head = json.dumps(value).encode()
    judge, worker = socket.socketpair()
    with judge, worker:
        worker.sendall((len(head) + 8).to_bytes(8, "big") + len(head).to_bytes(8, "big") + head)
        with pytest.raises(Malformed):
            Line(judge).get(time.monotonic() + 60)
