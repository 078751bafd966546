"""The exported course, graded by nbgrader itself: honest submissions get the same points from both."""

import csv
import json
import os
import subprocess
from pathlib import Path

import pytest

from ffnlib.__main__ import main
from ffnlib.grading.cli import grade_folder
from tests.environments import environment
from tests.grading import build_submissions as golden

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("nbgrader==0.9.6", "numpy>=2", "matplotlib", "ipywidgets", "anywidget", "platformdirs")
LESSON = golden.LESSON
HONEST = ("right", "wrong", "untouched", "half", "warns", "earlier_exercise_used", "library_call")


def test_the_course_directory_holds_the_lessons_without_outputs(tmp_path, capsys):
    assert main(["export", "nbgrader", "--out", str(tmp_path / "course")]) == 0
    assert "deceive nbgrader" in capsys.readouterr().out
    files = sorted((tmp_path / "course" / "source").glob("*/*.ipynb"))
    assert [file.name for file in files] == [file.name for file in sorted((ROOT / "solutions").glob("*.ipynb"))]
    for file in files:
        cells = json.loads(file.read_text("utf-8"))["cells"]
        assert not [cell for cell in cells if cell.get("outputs")]


def test_a_course_with_grades_is_not_written_over(tmp_path, capsys):
    (tmp_path / "gradebook.db").touch()
    assert main(["export", "nbgrader", "--out", str(tmp_path)]) == 1
    assert "holds a course with grades" in capsys.readouterr().err


def handed_in(release, kind):
    """Return a released notebook with the answers of a golden kind written into it."""
    answers = {}
    for cell in json.loads(golden.KINDS[kind][1])["cells"]:
        if cell["metadata"]["ffn"]["role"] == "answer":
            answers[cell["metadata"]["ffn"]["exercise"]] = cell["source"]
    notebook = json.loads(release)
    for cell in notebook["cells"]:
        if cell["metadata"].get("ffn", {}).get("role") == "answer":
            cell["source"] = answers[cell["metadata"]["ffn"]["exercise"]]
    return json.dumps(notebook)


@pytest.mark.slow
def test_both_graders_give_honest_submissions_the_same_points(tmp_path):
    python = environment("nbgrader-course", *NEEDED)
    course = tmp_path / "course"
    assert main(["export", "nbgrader", "--out", str(course)]) == 0
    variables = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PATH": f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}",
    }

    def nbgrader(*arguments):
        command = [str(python), "-m", "nbgrader", *arguments]
        run = subprocess.run(command, cwd=course, env=variables, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr[-3000:]

    nbgrader("generate_assignment", LESSON)
    release = (course / "release" / LESSON / f"{LESSON}.ipynb").read_text("utf-8")
    for kind in HONEST:
        path = course / "submitted" / kind / LESSON / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(handed_in(release, kind), "utf-8")
    nbgrader("autograde", LESSON)
    nbgrader("export")
    rows = grade_folder(course / "submitted", tmp_path / "out")
    ours = {row["student"]: row["score"] for row in rows}
    with open(course / "grades.csv", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        theirs = {row["student_id"]: float(row["score"]) for row in reader if row["assignment"] == LESSON}
    assert ours == theirs
    assert ours == {kind: golden.KINDS[kind][2]["score"] for kind in HONEST}
    with open(tmp_path / "out" / "grades.csv", encoding="utf-8") as stream:
        assert csv.DictReader(stream).fieldnames == reader.fieldnames
