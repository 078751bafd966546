"""The package as a wheel: installed beside NumPy and nothing else, it grades."""

import csv
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.environments import environment

ROOT = Path(__file__).resolve().parents[1]
BESIDES = (".git", ".venv", "tests", "build", "*.egg-info", "__pycache__", ".*_cache")


@pytest.fixture(scope="module")
def python():
    return environment("wheel", "numpy>=2", "setuptools>=77")


@pytest.fixture(scope="module")
def wheel(python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "checkout", ignore=shutil.ignore_patterns(*BESIDES))
    command = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([python, *command, "-w", folder, folder / "checkout"], check=True)
    [file] = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def installed(python, wheel):
    """Run a command of the installed package, far from the checkout."""
    target = wheel.parent / "installed"
    command = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", target]
    subprocess.run([python, *command, wheel], check=True)

    def run(*arguments):
        variables = {**os.environ, "PYTHONPATH": str(target)}
        command = [python, "-m", "ffnlib", *map(str, arguments)]
        return subprocess.run(command, cwd=wheel.parent, env=variables, capture_output=True, text=True)

    return run


def test_a_wheel_carries_the_learners_lessons_and_no_solution(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    lessons = [Path(name).stem for name in names if name.endswith(".ipynb")]
    assert sorted(lessons) == sorted(file.stem for file in (ROOT / "notebooks").glob("*.ipynb"))
    assert not [name for name in names if name.startswith(("tests/", "solutions/", "benchmarks/"))]


def test_it_grades_without_the_course_around_it(installed, tmp_path):
    for kind in ("right", "half"):
        shutil.copytree(ROOT / "tests" / "submissions" / kind, tmp_path / "in" / kind)
    run = installed("grade", tmp_path / "in", "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    with open(tmp_path / "out" / "grades.csv", encoding="utf-8") as stream:
        points = {row["student_id"]: float(row["score"]) for row in csv.DictReader(stream)}
    assert points["right"] == 4 and 0 < points["half"] < 4


def test_what_needs_the_courses_folder_says_so(installed):
    run = installed("lab", "--install-only")
    assert run.returncode == 1 and "need the course's folder" in run.stderr
