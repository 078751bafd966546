"""Lessons are run in place, and run again by nbval: with their own progress file, and without anything fleeting."""

import os
import subprocess
import sys

import pytest

from ffnlib.authoring import build, execute
from ffnlib.authoring.notebook import new_cell, read

from .test_build import options


def printed(file, name):
    cell = next(cell for cell in read(file)["cells"] if cell["id"] == name)
    return "".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in cell["outputs"])


def run(lesson, *words):
    return build.main(options(*words), lesson.root, lesson.exercises)


def nbval(root, *folders):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "ffnlib.authoring.nbval_plugin", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(build.ROOT)}
    return subprocess.run(
        [*command, *folders], cwd=root, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_a_lesson_is_run_from_top_to_bottom_and_its_words_are_stored(lesson):
    lesson.save()
    assert run(lesson, "--execute", "01_tiny") == 0
    code = [cell for cell in read(lesson.file)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert printed(lesson.file, "table") == "1 2\n2 4\n"
    assert run(lesson, "--check") == 0


def test_running_twice_stores_the_same_bytes_even_where_a_cell_measures_time(lesson):
    lesson.cell("table")["source"] = "import time\nprint(time.perf_counter())"
    lesson.cell("table")["metadata"]["tags"] = ["nbval-ignore-output"]
    lesson.notebook["cells"].insert(-1, new_cell("code", "clock", "# NBVAL_IGNORE_OUTPUT\ntime.time()", role="demo"))
    lesson.save()
    run(lesson, "--execute")
    first = lesson.file.read_bytes()
    run(lesson, "--execute")
    assert lesson.file.read_bytes() == first and printed(lesson.file, "clock") == ""
    again = nbval(lesson.root, "solutions")
    assert again.returncode == 0, again.stdout


def test_a_lesson_finds_an_empty_progress_file_and_one_thread(lesson, monkeypatch):
    monkeypatch.setenv("FFNLIB_PROGRESS", "of the reader")
    lesson.cell("table")["source"] = (
        "import os\nprint(os.path.exists(os.environ['FFNLIB_PROGRESS']), os.environ['OMP_NUM_THREADS'])"
    )
    lesson.save()
    assert run(lesson, "--execute") == 0
    assert printed(lesson.file, "table") == "False 1\n"
    assert os.environ["FFNLIB_PROGRESS"] == "of the reader"


def test_a_lesson_that_fails_is_reported_and_keeps_its_old_outputs(lesson, capsys):
    lesson.cell("table")["source"] = "import sys\nprint('careful', file=sys.stderr)\n1 / 0"
    before = lesson.save().file.read_bytes()
    assert run(lesson, "--execute") == 1
    seen = capsys.readouterr().err
    assert "cell 15 (table): the cell ends in ZeroDivisionError" in seen and "stderr ('careful')" in seen
    assert lesson.file.read_bytes() == before


def test_a_failure_is_reported_even_in_a_cell_that_is_not_compared(lesson, capsys):
    lesson.cell("table")["source"] = "# NBVAL_IGNORE_OUTPUT\n1 / 0"
    lesson.save()
    assert run(lesson, "--execute") == 1
    assert "cell 15 (table): the cell ends in ZeroDivisionError" in capsys.readouterr().err


def test_a_lesson_that_breaks_a_rule_is_not_run(lesson, capsys, monkeypatch):
    monkeypatch.setattr(execute, "execute_lessons", lambda *_: pytest.fail("it ran"))
    lesson.cell("table")["source"] = "print(nowhere)"
    lesson.save()
    assert run(lesson, "--execute") == 1
    assert "nowhere is bound by no cell above" in capsys.readouterr().err


def test_a_lesson_that_is_not_there_is_named(lesson, capsys):
    lesson.save()
    assert run(lesson, "--execute", "07_gone") == 1
    assert "'07_gone' is no lesson of solutions/; the lessons are 01_tiny" in capsys.readouterr().err


def test_the_kernel_ends_with_its_lesson(lesson):
    import psutil

    before = {child.pid for child in psutil.Process().children(recursive=True)}
    execute.execute(lesson.save().file)
    new = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    assert psutil.wait_procs(new, timeout=60)[1] == []


def test_environment_variables_come_back_even_after_a_failure():
    before = dict(os.environ)
    with pytest.raises(KeyError), execute.environment(FFNLIB_PROGRESS="elsewhere"):
        raise KeyError
    assert dict(os.environ) == before


def test_nbval_passes_a_fresh_lesson_and_names_the_cell_whose_output_changed(lesson):
    lesson.save()
    run(lesson, "--execute")
    lesson.root.joinpath("pytest.ini").write_text("[pytest]\n")
    both = nbval(lesson.root, "solutions", "notebooks")
    assert both.returncode == 0 and "21 passed" in both.stdout, both.stdout + both.stderr
    lesson.file.write_text(lesson.file.read_text().replace('"1 2\\n"', '"1 3\\n"'))
    changed = nbval(lesson.root, "solutions")
    assert changed.returncode == 1 and "FAILED solutions/01_tiny.ipynb::table" in changed.stdout, changed.stdout
