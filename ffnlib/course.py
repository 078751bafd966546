"""The course at a glance, as `python3 -m ffnlib build` collects it from the cells of all lessons; none is typed here.

`collected.json` holds what every claim came to and which cell decided it, the law of every lesson, and every word the
course defines.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

COLLECTED = Path(__file__).with_name("collected.json")


@dataclass(frozen=True)
class Claim:
    """One statement of one document; `because` says what decides it, or under which condition it holds.

    `verdict` is "true", "false", "depends" or, until its lesson has measured it, "open".
    """

    id: str
    document: str
    claim: str
    verdict: str
    because: str
    lesson: str


@dataclass(frozen=True)
class Decided(Claim):
    """A claim with the cell of its lesson that decided it, and what that cell said."""

    cell: str
    measured: str


@dataclass(frozen=True)
class Lesson:
    """One lesson: its question, how long it takes, its law, what would change our mind, and the words it uses."""

    name: str
    title: str
    question: str
    minutes: int
    law: str
    doubt: str
    uses: dict[str, list[str]]

    @property
    def number(self) -> str:
        """The two digits the lesson's files begin with."""
        return self.name[:2]


@dataclass(frozen=True)
class Term:
    """A word of the course: the sentence that defines it, and the lesson and cell in which it stands."""

    term: str
    meaning: str
    lesson: str
    cell: str


@dataclass(frozen=True)
class Course:
    """Everything that was collected, in the order of the table of claims and of the lessons."""

    claims: tuple[Decided, ...]
    lessons: tuple[Lesson, ...]
    terms: tuple[Term, ...]

    def claim(self, name: str) -> Decided:
        """Return the claim of that id.

        **Raises** KeyError when it is not decided
        """
        found = next((each for each in self.claims if each.id == name), None)
        if found is None:
            raise KeyError(f"name={name!r} is no decided claim; the page of claims in lesson 14 lists all of them")
        return found

    def lesson(self, name: str) -> Lesson:
        """Return the lesson of that name.

        **Raises** KeyError when there is none
        """
        found = next((each for each in self.lessons if each.name == name), None)
        if found is None:
            raise KeyError(f"name={name!r} is no lesson; there is {', '.join(each.name for each in self.lessons)}")
        return found


def load(file: Path = COLLECTED) -> Course:
    """Return the course as it was last collected."""
    data = json.loads(file.read_text(encoding="utf-8"))
    return Course(
        tuple(Decided(**row) for row in data["claims"]),
        tuple(Lesson(**row) for row in data["lessons"]),
        tuple(Term(**row) for row in data["terms"]),
    )
