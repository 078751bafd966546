"""Every rule of a lesson's source, applied at once: an author sees all problems of a notebook in one run."""

from collections.abc import Mapping
from dataclasses import dataclass

from ffnlib.authoring import cell_rules, code_rules
from ffnlib.authoring.notebook import exercise_of, role
from ffnlib.examination.exercise import Exercise


@dataclass(frozen=True)
class Problem:
    """One broken rule: where it is and what to do about it. Cells are numbered from 1, all kinds counted."""

    file: str
    cell: str
    number: int
    line: int
    message: str

    def __str__(self):
        place = f", cell {self.number} ({self.cell})" if self.number else ""
        return f"{self.file}{place}{f', line {self.line}' if self.line else ''}: {self.message}"


@dataclass(frozen=True)
class Lesson:
    """A solved notebook, its file name, and the exercises, by their ids, and claims it may speak of."""

    notebook: dict
    file: str
    exercises: Mapping[str, Exercise]
    claims: frozenset[str]

    @property
    def cells(self):
        """The cells, in order."""
        return self.notebook["cells"]

    @property
    def code(self):
        """The code cells, in order."""
        return [cell for cell in self.cells if cell["cell_type"] == "code"]

    def of(self, wanted, exercise=None):
        """Return the cells of one role, and of one exercise when it is given."""
        cells = [cell for cell in self.cells if role(cell) == wanted]
        return [cell for cell in cells if exercise is None or exercise_of(cell) == exercise]


def lint(notebook, file, exercises, claims):
    """Return every Problem of a solved notebook; `exercises` is {id: Exercise}, `claims` the ids it may use."""
    lesson = Lesson(notebook, str(file), exercises, frozenset(claims))
    return [
        located(lesson.file, lesson.cells, cell, line, message)
        for rule in (*cell_rules.RULES, *code_rules.RULES)
        for cell, line, message in rule(lesson)
    ]


def located(file, cells, cell, line, message):
    """Return the Problem of `cell`, or of the whole file when `cell` is None; line 0 means the whole cell."""
    number = next((index for index, each in enumerate(cells, 1) if each is cell), 0)
    return Problem(str(file), cell.get("id", "no id") if cell else "", number, line, message)
