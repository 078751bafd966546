"""A new exercise appears in all its places at once, and until it is written the checks say what is missing."""

import argparse
import ast
import re
import runpy
import shutil
import subprocess
import sys

import pytest

from ffnlib.authoring import build, new_exercise
from ffnlib.authoring.lint import lint
from ffnlib.authoring.notebook import read, write

from .conftest import EXERCISES, exercise
from .test_build import options

LESSONS = new_exercise.CATALOGUE.parent


@pytest.fixture
def course(tmp_path, lesson):
    """A copy of the course's exercises with a lesson 01 of one's own."""
    shutil.copytree(build.ROOT / LESSONS, tmp_path / LESSONS)
    (tmp_path / "tests" / "lessons").mkdir(parents=True)
    lesson.notebook["metadata"]["ffn"]["lesson"] = "01_formula"
    write(tmp_path / "solutions" / "01_formula.ipynb", lesson.notebook)
    return tmp_path


def make(root, *words):
    parser = argparse.ArgumentParser()
    new_exercise.add_arguments(parser)
    return new_exercise.main(parser.parse_args(words), root)


def everything(root):
    return {file: file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}


def test_the_exercise_is_in_the_catalogue_the_module_the_notebook_and_the_tests(course):
    assert make(course, "triple", "--lesson", "01") == 0
    text = (course / new_exercise.CATALOGUE).read_text()
    assert ast.literal_eval(new_exercise.assigned(text, "CATALOGUE"))["01_formula"][-1] == "triple"
    module = runpy.run_path(str(course / LESSONS / "lesson01.py"))
    assert module["EXERCISES"][-1] is module["TRIPLE"] and module["TRIPLE"].id == "triple"
    with pytest.raises(NotImplementedError, match=r"triple: write the model answer in lesson01\.py"):
        module["TRIPLE"].oracle(1)
    cells = read(course / "solutions" / "01_formula.ipynb")["cells"]
    assert [cell["id"] for cell in cells[-6:]] == [
        "triple-statement", "triple-answer", "triple-check", "triple-hint", "triple-reveal", "law",
    ]  # fmt: skip
    stub = (course / "tests" / "lessons" / "test_lesson01.py").read_text()
    assert "def test_triple_agrees_with_an_independent_computation" in stub


def test_the_lint_finds_only_what_is_still_to_be_written(course):
    make(course, "triple", "--lesson", "01")
    notebook = read(course / "solutions" / "01_formula.ipynb")
    exercises = EXERCISES["01_tiny"] | {"triple": exercise("triple", lambda x: 3 * x)}
    found = lint(notebook, "solutions/01_formula.ipynb", exercises, ["S0-01"])
    assert {problem.cell for problem in found} == {"triple-statement"}
    assert all("(to be written)" in problem.message for problem in found)


def test_build_refuses_what_is_still_to_be_written_in_the_examination(course, capsys):
    make(course, "triple", "--lesson", "01")
    exercises = {"01_formula": EXERCISES["01_tiny"] | {"triple": exercise("triple", lambda x: 3 * x)}}
    for words in ([], ["--check"]):
        assert build.main(options(*words), course, exercises) == 1
        told = capsys.readouterr().err
        lines = re.findall(r"lessons/lesson01\.py, line \d+: still says '\(to be written\)'; write it", told)
        assert len(lines) == 8, told  # the docstring, three misconceptions, three hints, why
    data = course / LESSONS / "lesson01.py"
    data.write_text(data.read_text().replace("(to be written)", "written"))
    build.main(options(), course, exercises)
    assert "lesson01.py" not in capsys.readouterr().err


def test_every_lesson_takes_the_frame_and_imports_what_it_needs(course):
    catalogue = ast.literal_eval(new_exercise.assigned((course / new_exercise.CATALOGUE).read_text(), "CATALOGUE"))
    for lesson in catalogue:
        data = course / LESSONS / f"lesson{lesson[:2]}.py"
        data.write_text(new_exercise.with_data(data.read_text("utf-8"), "triple", data.name), "utf-8")
    ours = ["--isolated", "--config", 'lint.isort.known-first-party=["ffnlib"]', "--line-length", "120"]
    ruff = [sys.executable, "-m", "ruff", "check", *ours, "--select", "F,I", "."]
    run = subprocess.run(ruff, cwd=course, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


def test_the_new_test_fails_until_it_is_written(course):
    make(course, "triple", "--lesson", "01")
    stub = runpy.run_path(str(course / "tests" / "lessons" / "test_lesson01.py"))
    with pytest.raises(pytest.fail.Exception, match="triple: compare the model answer"):
        stub["test_triple_agrees_with_an_independent_computation"]()


def test_twenty_exercises_in_one_lesson_stay_readable_and_in_order(course):
    names = [f"exercise_number_{letter}" for letter in "abcdefghijklmnopqrst"]
    for name in names:
        assert make(course, name, "--lesson", "01") == 0
    text = (course / new_exercise.CATALOGUE).read_text()
    assert list(ast.literal_eval(new_exercise.assigned(text, "CATALOGUE"))["01_formula"][-20:]) == names
    module = runpy.run_path(str(course / LESSONS / "lesson01.py"))
    assert [each.id for each in module["EXERCISES"][-20:]] == names
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["Triple", "--lesson", "01"], "'Triple' is no name for an exercise"),
        (["tri-ple", "--lesson", "01"], "is no name for an exercise"),
        (["2fold", "--lesson", "01"], "is no name for an exercise"),
        (["lambda", "--lesson", "01"], "is no name for an exercise"),
        (["../x", "--lesson", "01"], "is no name for an exercise"),
        (["print", "--lesson", "01"], "already a name in Python"),
        (["relu_probes", "--lesson", "01"], "already a name in Python or in the lesson's module"),
        (["warm_up", "--lesson", "01"], "warm_up is already an exercise of 00_start_here"),
        (["factor", "--lesson", "01"], "factor is bound by cell 'setup'"),
        (["triple", "--lesson", "99"], "--lesson '99' is not in the course (known: 00, 01"),
        (["triple", "--lesson", "1"], "--lesson '1' is not in the course"),
        (["triple", "--lesson", "00"], "solutions/00_start_here.ipynb does not exist"),
    ],
)
def test_what_cannot_be_made_is_refused_and_nothing_is_written(course, capsys, words, message):
    before = everything(course)
    assert make(course, *words) == 1
    assert message in capsys.readouterr().err
    assert everything(course) == before
