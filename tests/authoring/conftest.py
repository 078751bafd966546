"""A small made-up lesson that breaks no rule; each test breaks one."""

import copy

import pytest

from ffnlib.authoring.notebook import new_cell, new_notebook, write
from ffnlib.examination.exercise import Exercise

ANSWER = '''def double(x):
    """Return twice x."""
    ### BEGIN SOLUTION
    return factor * x
    ### END SOLUTION'''
VALUE_ANSWER = """### BEGIN SOLUTION
half = 0.5
### END SOLUTION"""
SETUP = """factor = 2


def check(name, answer):
    print(name, "- passed")


def hint(name):
    print("think of", name)


reveal = predict = decide = hint"""


def exercise_cells(name, answer):
    """Return the five cells of one exercise."""
    return [
        new_cell("markdown", f"{name}-statement", f"Write `{name}`.", role="statement", exercise=name),
        new_cell("code", f"{name}-answer", answer, role="answer", exercise=name),
        new_cell("code", f"{name}-check", f'check("{name}", {name})', role="check", exercise=name),
        new_cell("code", f"{name}-hint", f'hint("{name}")', role="hint", exercise=name),
        new_cell("code", f"{name}-reveal", f'reveal("{name}")', role="reveal", exercise=name),
    ]


TINY = new_notebook(
    "01_tiny",
    [
        new_cell("markdown", "question", "# What is twice a number?\n\n5 minutes", role="header"),
        new_cell("code", "setup", SETUP, role="setup"),
        *exercise_cells("double", ANSWER),
        new_cell("code", "author-note", "secret = 42", role="solution-only"),
        *exercise_cells("half", VALUE_ANSWER),
        new_cell("markdown", "factor", "The **factor** is 2.", role="text", term=["factor"], claim=["S0-01"]),
        new_cell("code", "table", "for number in (1, 2):\n    print(number, 2 * number)", role="demo"),
        new_cell("markdown", "law", "Twice is plus itself. What would change our mind: 2 + 2 = 5.", role="law"),
    ],
)


def exercise(name, oracle, wanted="function"):
    """Return as much of an exercise as a lesson's rules look at."""
    return Exercise(name, None, oracle, None, (), ("", "", ""), "", wanted=wanted)


EXERCISES = {"01_tiny": {"double": exercise("double", lambda x: 2 * x), "half": exercise("half", lambda: 0.5, "value")}}


class Lesson:
    """A lesson in a folder of its own, with the means to break it."""

    def __init__(self, root):
        self.root = root
        self.notebook = copy.deepcopy(TINY)
        self.exercises = copy.deepcopy(EXERCISES)
        self.file = root / "solutions" / "01_tiny.ipynb"
        self.built = root / "notebooks" / "01_tiny.ipynb"

    def cell(self, name):
        """Return the cell with this id."""
        return next(cell for cell in self.notebook["cells"] if cell["id"] == name)

    def save(self):
        """Write the solved notebook."""
        write(self.file, self.notebook)
        return self


@pytest.fixture
def lesson(tmp_path):
    """A fresh made-up lesson, not written yet."""
    return Lesson(tmp_path)
