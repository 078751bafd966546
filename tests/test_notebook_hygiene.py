"""What running the lessons again cannot show: that each is built, clean, small, and gives no solution away."""

import json
import os
import re
import subprocess

import pytest

from ffnlib.authoring import build, claims, outputs
from ffnlib.authoring.lint import lint
from ffnlib.authoring.notebook import exercise_of, lesson_files, read, role
from ffnlib.authoring.regions import regions

from .environments import environment

SOLVED = lesson_files(build.ROOT)
LEARNERS = [build.ROOT / "notebooks" / file.name for file in SOLVED]
EXERCISES = build.exercises_of_lessons(build.ROOT)
NBGRADER = "nbgrader>=0.9,<1"
GRADE_ID = re.compile(r"[a-zA-Z0-9_\-]+")


def by_place(file):
    return f"{file.parent.name}/{file.stem}"


each_solved = pytest.mark.parametrize("file", SOLVED, ids=by_place)
each_learners = pytest.mark.parametrize("file", LEARNERS, ids=by_place)
each_notebook = pytest.mark.parametrize("file", SOLVED + LEARNERS, ids=by_place)


def said(problems):
    """Return problems as pytest shows them best: one a line."""
    return "\n".join(str(problem) for problem in problems)


@each_solved
def test_a_lesson_keeps_the_rules_of_its_cells(file):
    known = [claim.id for claim in claims.load()]
    assert said(lint(read(file), f"solutions/{file.name}", EXERCISES[file.stem], known)) == ""


@each_solved
def test_what_a_lesson_has_stored_is_the_same_everywhere_and_small(file):
    assert said(outputs.problems(read(file), f"solutions/{file.name}")) == ""


def test_notebooks_are_what_build_makes_of_solutions():
    assert said(build.check(build.ROOT, EXERCISES)) == ""


@each_notebook
def test_the_bytes_are_canonical(file):
    text = file.read_bytes().decode("utf-8")
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=1, sort_keys=True) + "\n"


@each_notebook
def test_jupyter_accepts_the_format(file):
    import nbformat

    nbformat.validate(nbformat.read(file, as_version=4))


@each_learners
def test_a_learners_notebook_has_neither_outputs_nor_counts(file):
    code = [cell for cell in read(file)["cells"] if cell["cell_type"] == "code"]
    assert [cell["id"] for cell in code if cell["outputs"] or cell["execution_count"] is not None] == []


@pytest.mark.parametrize(("solved", "learners"), list(zip(SOLVED, LEARNERS, strict=True)), ids=lambda file: file.stem)
def test_no_solution_can_be_read_in_the_learners_notebook(solved, learners):
    text = squeezed("\n".join(cell["source"] for cell in read(learners)["cells"]))
    hidden = [cell for cell in read(solved)["cells"] if role(cell) in ("answer", "solution-only")]
    for cell in hidden:
        secrets = bodies(cell["source"]) if role(cell) == "answer" else [cell["source"]]
        assert [secret for secret in secrets if squeezed(secret) in text] == [], cell["id"]


def bodies(source):
    """Return the text inside every region."""
    lines = source.split("\n")
    return ["\n".join(lines[first + 1 : last]) for first, last in regions(source)]


def squeezed(text):
    """Return code without comments and white space, which do not hide it."""
    return re.sub(r"#[^\n]*|\s+", "", text)


@each_learners
def test_a_learner_who_writes_nothing_has_every_answer_untouched(file):
    for cell in read(file)["cells"]:
        if role(cell) == "answer":
            assert re.search(r"# your code here\n *(raise NotImplementedError|\w+ = \.\.\.)$", cell["source"], re.M)
            assert "SOLUTION" not in cell["source"]


@each_notebook
def test_the_metadata_keeps_nbgraders_schema_3(file):
    entries = [(cell, cell["metadata"].get("nbgrader")) for cell in read(file)["cells"]]
    marked = [(cell, entry) for cell, entry in entries if entry]
    ids = [entry["grade_id"] for _, entry in marked]
    assert len(ids) == len(set(ids)) and all(GRADE_ID.fullmatch(name) for name in ids)
    for cell, entry in marked:
        assert cell["cell_type"] == "code" and entry["schema_version"] == 3
        assert entry["solution"] is not entry["grade"] and entry["locked"] is entry["grade"]
        assert ("points" in entry) is entry["grade"]
        assert entry.keys() <= {"schema_version", "grade_id", "solution", "grade", "locked", "task", "points"}
    graded = {exercise_of(cell): entry["points"] for cell, entry in marked if entry["grade"]}
    assert graded == {each.id: each.points for each in EXERCISES[file.stem].values()}


ONE_PROCESS = """
import sys
from nbgrader import nbgraderformat
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

for file in sys.argv[2].split(","):
    nbgraderformat.read(open(file, encoding="utf-8"), 4)
api = NbGraderAPI(config=Config({"CourseDirectory": {"root": "."}}))
for lesson in sys.argv[1].split(","):
    done = api.generate_assignment(lesson)
    if not done["success"]:
        sys.exit(done["log"])
"""


def test_nbgrader_accepts_every_notebook_and_makes_assignments_of_the_solved_ones(tmp_path):
    python = environment("nbgrader", NBGRADER)
    for file in SOLVED:
        source = tmp_path / "source" / file.stem
        source.mkdir(parents=True)
        (source / file.name).write_bytes(file.read_bytes())
    lessons = ",".join(file.stem for file in SOLVED)
    notebooks = ",".join(str(file) for file in SOLVED + LEARNERS)
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"  # nbgrader starts its database tool by name
    done = subprocess.run(
        [python, "-c", ONE_PROCESS, lessons, notebooks],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for file in SOLVED:
        released = read(tmp_path / "release" / file.stem / file.name)
        entries = [cell["metadata"]["nbgrader"] for cell in released["cells"] if "nbgrader" in cell["metadata"]]
        assert sum(entry.get("points", 0) for entry in entries) == sum(
            each.points for each in EXERCISES[file.stem].values()
        )
        assert "SOLUTION" not in "".join(cell["source"] for cell in released["cells"])
