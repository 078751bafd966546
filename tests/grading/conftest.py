"""What the tests of grading share: folders of submissions made on the spot, and one way to grade them."""

import json
from pathlib import Path

import pytest

from ffnlib.grading.cli import grade_folder
from tests.grading import build_submissions as golden

SUBMISSIONS = Path(__file__).resolve().parents[1] / "submissions"


@pytest.fixture
def hand_in(tmp_path):
    """Return a function that writes a file into a folder of submissions and returns that folder."""

    def write(name, data=None):
        path = tmp_path / "submissions" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(golden.notebook(golden.cells()) if data is None else data)
        return tmp_path / "submissions"

    return write


@pytest.fixture
def grade(tmp_path):
    """Return a function that grades a folder and returns the rows of report.json."""

    def run(folder, **options):
        grade_folder(folder, tmp_path / "out", **{"jobs": 2, "timeout": 20, **options})
        return json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))["submissions"]

    return run
