"""Runs the lessons again and compares them, all settings in one place.

    python -m pytest -p ffnlib.authoring.nbval_plugin solutions notebooks

solutions/ is compared with its stored outputs. notebooks/ has none: there every cell must run, as for a new learner.
"""

import os
import tempfile
from pathlib import Path

import pytest

from ffnlib.authoring.execute import ONE_THREAD
from ffnlib.authoring.quick_start import skip_slow_import

skip_slow_import()  # a plugin named with -p is loaded before nbval, and so before nbformat

from nbval.plugin import IPyNbCell, IPyNbFile  # noqa: E402

SECONDS_A_CELL = 120  # also how long a dead kernel goes unnoticed; nbval's own limit is 2,000
SECONDS_FOR_OUTPUT = 30  # nbval's own 5 are few on a busy machine
PROGRESS = pytest.StashKey()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Take the kernel of this environment, limits that end a stuck lesson, and one thread."""
    config.option.nbval = False  # nbval would collect every notebook a second time
    config.option.nbval_current_env = True
    for name in ("nbval_cell_timeout", "nbval_kernel_startup_timeout"):
        setattr(config.option, name, min(getattr(config.option, name), SECONDS_A_CELL))
    os.environ.update(ONE_THREAD)
    progress = tempfile.TemporaryDirectory(prefix="ffnlib-progress-")
    config.add_cleanup(progress.cleanup)
    config.stash[PROGRESS] = Path(progress.name)


def pytest_collect_file(file_path, parent):
    """Collect every notebook as a lesson."""
    return Lesson.from_parent(parent, path=file_path) if file_path.suffix == ".ipynb" else None


class Lesson(IPyNbFile):
    """A notebook whose cells are known by their ids, which survive moving; nbval counts code cells from 0."""

    def __init__(self, *args, **kwargs):
        from ffnlib.figures import NBVAL_SANITIZE

        super().__init__(*args, **kwargs)
        self.skip_compare += ("image/svg+xml",)
        self.sanitize_patterns.update(NBVAL_SANITIZE)  # words are compared, pixels differ with the machine's fonts

    def collect(self):
        """Yield the code cells."""
        for found in super().collect():
            cell = IPyNbCell.from_parent(
                self, name=found.cell["id"], cell_num=found.cell_num, cell=found.cell, options=found.options
            )
            cell.output_timeout = SECONDS_FOR_OUTPUT
            yield cell

    def setup(self):
        """Start the kernel with an empty progress file of its own."""
        name = self.nodeid.replace("/", "-")
        os.environ["FFNLIB_PROGRESS"] = str(self.config.stash[PROGRESS] / f"{name}.jsonl")
        super().setup()
