"""Badges, the fetching cell and Binder's files: they follow from one constant, and do nothing where they need not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ffnlib.authoring import front_ends
from ffnlib.authoring.notebook import lesson_files, read, role

ROOT = Path(__file__).resolve().parents[2]
LESSON = "01_formula"
CELLS = read(ROOT / "notebooks" / f"{LESSON}.ipynb")["cells"]


def test_without_a_repository_nothing_is_added():
    assert front_ends.opened_elsewhere(CELLS, LESSON, "") is CELLS and front_ends.badges(LESSON, "") == ""


def test_with_one_every_lesson_fetches_the_course_before_its_first_import():
    for file in lesson_files(ROOT):
        cells = front_ends.opened_elsewhere(read(file)["cells"], file.stem, "someone/course")
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert [role(cell) for cell in code[:2]] == ["setup", "setup"] and code[0]["id"] == "fetch-the-course"
        assert f"someone/course/blob/main/notebooks/{file.stem}.ipynb" in cells[0]["source"]


@pytest.mark.parametrize(("installed", "asked"), [(True, []), (False, ["git+https://github.com/someone/course@main"])])
def test_the_fetching_cell_asks_pip_only_where_the_course_is_missing(installed, asked, monkeypatch):
    calls = []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object() if installed else None)
    monkeypatch.setattr(subprocess, "run", lambda command, check: calls.append(command))
    exec(front_ends.FETCH.format(repository="someone/course", branch="main"), {})
    assert [command[-1] for command in calls] == asked
    assert all(command[:4] == [sys.executable, "-m", "pip", "install"] for command in calls)


def test_binders_script_is_executable_and_its_kernel_is_the_courses_own(tmp_path):
    script = ROOT / ".binder" / "postBuild"
    assert os.access(script, os.X_OK)
    assert subprocess.run(["bash", "-n", script]).returncode == 0
    last = script.read_text(encoding="utf-8").splitlines()[-1].replace(".venv/bin/python", sys.executable)
    run = subprocess.run(["bash", "-c", last], env={**os.environ, "KERNEL_PREFIX": str(tmp_path)}, capture_output=True)
    assert run.returncode == 0, run.stderr
    [kernel] = tmp_path.rglob("kernel.json")
    assert kernel.parent.name == "python3" and sys.executable in kernel.read_text(encoding="utf-8")
