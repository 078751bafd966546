"""What five documents on the feed-forward network claim, what the course finds, and the cells that decide it."""

import csv
from pathlib import Path

from ffnlib.authoring.notebook import meaning, read
from ffnlib.course import Claim

TABLE = Path(__file__).with_name("claims.csv")
VERDICTS = ("true", "false", "depends", "open")


def load(table=TABLE):
    """Return every claim, in the order of the table."""
    with open(table, encoding="utf-8", newline="") as lines:
        return [Claim(**row) for row in csv.DictReader(lines)]


def deciding_cells(folder):
    """Return {claim id: [(lesson, cell id), ...]}, collected from the cells of the solved lessons in `folder`."""
    found = {}
    for file in sorted(Path(folder).glob("[0-9][0-9]_*.ipynb")):
        for cell in read(file)["cells"]:
            for claim in meaning(cell).get("claim", []):
                found.setdefault(claim, []).append((file.stem, cell["id"]))
    return found


def decided_by(claim, folder):
    """Return (lesson, cell id) of the cell of its own lesson that decides a claim, or None.

    A claim may come up again in later lessons; it is decided where the table says it belongs.
    """
    cells = deciding_cells(folder).get(claim.id, [])
    return next((place for place in cells if place[0] == claim.lesson), None)
