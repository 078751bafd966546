"""For every test: one thread a process, progress in a temporary file, and nbformat without its slowest import."""

import os
import tempfile
from pathlib import Path

import pytest

from ffnlib.authoring.quick_start import skip_slow_import

skip_slow_import()

# Before NumPy or PyTorch is loaded, here and in the kernels that tests start. Several processes run at once, and
# threads that wait for each other keep the cores busy: at a load of 6, two threads a process took seven times as long.
os.environ["OMP_NUM_THREADS"] = "1"


def pytest_configure(config):
    """Keep the whole run, doctests and child processes included, away from the person's own progress."""
    folder = tempfile.TemporaryDirectory(prefix="ffnlib-tests-")
    config.add_cleanup(folder.cleanup)
    os.environ["FFNLIB_PROGRESS"] = str(Path(folder.name) / "progress.jsonl")


@pytest.fixture(autouse=True)
def patient_search(monkeypatch):
    """Give the search for unlisted causes more time than a learner waits: a slow machine finds the same ones."""
    monkeypatch.setattr("ffnlib.examination.explain.SEARCH_SECONDS", 2.4)


@pytest.fixture(autouse=True)
def progress_file(tmp_path, monkeypatch):
    """Give each test a progress file of its own, not there yet."""
    file = tmp_path / "ffnlib-progress.jsonl"
    monkeypatch.setenv("FFNLIB_PROGRESS", str(file))
    return file
