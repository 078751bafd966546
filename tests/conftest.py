"""For every test: progress goes to a temporary file, and nbformat starts without its slowest import."""

import os
import tempfile
from pathlib import Path

import pytest

from ffnlib.authoring.quick_start import skip_slow_import

skip_slow_import()


def pytest_configure(config):
    """Keep the whole run, doctests and child processes included, away from the person's own progress."""
    folder = tempfile.TemporaryDirectory(prefix="ffnlib-tests-")
    config.add_cleanup(folder.cleanup)
    os.environ["FFNLIB_PROGRESS"] = str(Path(folder.name) / "progress.jsonl")


@pytest.fixture(autouse=True)
def patient_search(monkeypatch):
    """Give the search for unlisted causes more time than a learner waits: a slow machine finds the same ones."""
    monkeypatch.setattr("ffnlib.examination.explain.SEARCH_SECONDS", 1.2)


@pytest.fixture(autouse=True)
def progress_file(tmp_path, monkeypatch):
    """Give each test a progress file of its own, not there yet."""
    file = tmp_path / "ffnlib-progress.jsonl"
    monkeypatch.setenv("FFNLIB_PROGRESS", str(file))
    return file
