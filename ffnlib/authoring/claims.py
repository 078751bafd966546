"""What five documents on the feed-forward network claim, what the course finds, and the cells that decide it."""

import csv
from pathlib import Path

from ffnlib.authoring.notebook import meaning
from ffnlib.course import Claim

TABLE = Path(__file__).with_name("claims.csv")
VERDICTS = ("true", "false", "depends", "open")


def load(table=TABLE):
    """Return every claim, in the order of the table."""
    with open(table, encoding="utf-8", newline="") as lines:
        return [Claim(**row) for row in csv.DictReader(lines)]


def decided_by(claim, notebooks):
    """Return the cell that decides a claim, the first of its own lesson that names it, or None.

    `notebooks` is {lesson: solved notebook}. A claim may come up again in later lessons.
    """
    cells = notebooks[claim.lesson]["cells"] if claim.lesson in notebooks else []
    return next((cell for cell in cells if claim.id in meaning(cell).get("claim", [])), None)
