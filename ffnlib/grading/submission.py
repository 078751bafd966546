"""A notebook as it was handed in: bytes become cells, whatever state they are in, and the lesson is told by content."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ffnlib.examination import lessons
from ffnlib.grading.collect import LESSON, Handed

CHECKOUT = Path(__file__).resolve().parents[2] / "notebooks"
LESSONS = CHECKOUT if CHECKOUT.exists() else Path(__file__).with_name("notebooks")  # the second in a wheel
MOST_CELLS = 2_000
CLEAR = 8  # cells of one lesson, and of no other, that settle which lesson it is
LONGEST_QUOTE = 40  # characters of a cell's first line that name it
LONGEST_CODE = 2_000_000  # characters, all cells together
COMMAND = re.compile(r"^[ \t]*(?:\w+[ \t]*=[ \t]*)?[%!]", re.MULTILINE)
NAMING = re.compile(r"^[ \t]*(?:def|class)[ \t]+(\w+)|^(\w+)[ \t]*=|\bcheck\([\"'](\w+)[\"']", re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """A cell: its place in the notebook, counted from 1, what its metadata claims, and the `[count]` beside it."""

    number: int
    source: str
    role: str = ""
    exercise: str = ""
    kind: str = "code"
    count: int = 0


@dataclass(frozen=True)
class Submission:
    """One notebook, read: `problem` says why it cannot be graded, "" when it can."""

    student: str
    file: str
    time: float
    lesson: str | None = None
    cells: tuple[Cell, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    digest: str = ""


class Unreadable(ValueError):
    """A file that is no notebook; the text says what it is."""


def read_submission(handed: Handed) -> Submission:
    """Return what was handed in, as cells of a lesson, or with the problem that needs a human."""
    base = {"student": handed.student, "file": handed.file, "time": handed.time}
    if handed.data is None:
        return Submission(**base, notes=handed.notes, problem=handed.problem)
    base["digest"] = hashlib.sha256(handed.data).hexdigest()
    try:
        notebook, notes = read_notebook(handed.data)
        cells = cells_of(notebook)
        lesson = recognise(notebook, cells, handed.file)
    except Unreadable as error:
        return Submission(**base, notes=handed.notes, problem=str(error))
    except (RecursionError, MemoryError) as error:
        return Submission(**base, notes=handed.notes, problem=f"it cannot be read ({type(error).__name__})")
    notes = (*handed.notes, *notes)
    if lesson is None:
        problem = "nothing in it belongs to a lesson of this course"
        return Submission(**base, notes=notes, problem=problem)
    known = {normalised(cell.source) for cell in released(lesson)}
    kept = tuple(cell for cell in cells if cell.kind == "code" or normalised(cell.source) not in known)
    return Submission(**base, lesson=lesson, cells=kept, notes=notes)


# ---------------------------------------------------------------- bytes


def read_notebook(data: bytes) -> tuple[dict, list[str]]:
    """Return a notebook as plain data with notes on its encoding.

    **Raises** Unreadable
    """
    if not data.strip(b"\0 \r\n\t"):
        raise Unreadable("the file is empty")
    text, notes = decode(data)
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        what = "it is a web page" if text.lstrip()[:1] == "<" else "it is not a notebook: not JSON"
        raise Unreadable(f"{what} ({str(error)[:80]})") from None
    if not isinstance(notebook, dict) or not isinstance(raw_cells(notebook), list):
        raise Unreadable("it is JSON, and not a notebook: it has no list of cells")
    if notebook.get("nbformat") not in (4,):
        notes.append(f"notebook format {str(notebook.get('nbformat'))[:10]}, read as well as possible")
    return notebook, notes


def decode(data: bytes) -> tuple[str, list[str]]:
    """Return bytes as text, with a note when they are not UTF-8."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace"), ["encoded as UTF-16"]
    if b"\0" in data[:4]:
        return data.decode("utf-16-le" if data[1:2] == b"\0" else "utf-16-be", "replace"), ["encoded as UTF-16"]
    try:
        return data.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        return data.decode("latin-1"), ["encoded as Latin-1"]


# ---------------------------------------------------------------- cells


def raw_cells(notebook: dict):
    """Return the list of cells of any format: format 3 keeps them in worksheets."""
    cells = notebook.get("cells")
    if isinstance(cells, list):
        return cells
    sheets = notebook.get("worksheets")
    if not isinstance(sheets, list):
        return None
    return [cell for sheet in sheets if isinstance(sheet, dict) for cell in listed(sheet.get("cells"))]


def listed(value) -> list:
    """Return a list as it is, and anything else as an empty one."""
    return value if isinstance(value, list) else []


def cells_of(notebook: dict) -> tuple[Cell, ...]:
    """Return every cell that has text, in order; cells that are not cells are passed over.

    **Raises** Unreadable for more text than anybody writes
    """
    cells = []
    for number, raw in enumerate(raw_cells(notebook), start=1):
        if not isinstance(raw, dict):
            continue
        source = text_of(raw.get("source", raw.get("input")))
        if source.strip():
            ffn = mapping(mapping(raw.get("metadata")).get("ffn"))
            kind = raw.get("cell_type") if raw.get("cell_type") in ("markdown", "raw", "heading") else "code"
            count = count_of(raw.get("execution_count", raw.get("prompt_number")))
            cells.append(Cell(number, source, text_of(ffn.get("role")), text_of(ffn.get("exercise")), kind, count))
    if len(cells) > MOST_CELLS or sum(len(cell.source) for cell in cells) > LONGEST_CODE:
        raise Unreadable(f"it has {len(cells)} cells or more text than a notebook of this course can have")
    return tuple(cells)


def text_of(value) -> str:
    """Return a text, or a list of texts as one; anything else is empty."""
    if isinstance(value, list):
        value = "".join(part for part in value if isinstance(part, str))
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def count_of(value) -> int:
    """Return the number that Jupyter wrote beside a cell when it ran, 0 for a cell that has not run."""
    return value if type(value) is int and 0 < value < 100_000 else 0


def mapping(value) -> dict:
    """Return a mapping as it is, and anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def normalised(source: str) -> str:
    """Return source with what no reader sees taken out: line ends, trailing blanks, blank lines around."""
    return "\n".join(line.rstrip() for line in source.splitlines()).strip("\n")


def places(cells: tuple[Cell, ...]) -> dict[int, str]:
    """Return {number: words} by which a reader finds each cell: Jupyter shows the count and the first line, no number.

    >>> places((Cell(1, "x = 1", count=3), Cell(4, "x = 2"), Cell(5, "x = 2")))[5]
    'the 2nd cell that begins with "x = 2"'
    """
    named = {cell.number: ((f"[{cell.count}] " if cell.count else ""), first_line(cell.source)) for cell in cells}
    total, seen, found = Counter(named.values()), Counter(), {}
    for number, name in named.items():
        seen[name] += 1
        which = f"{ordinal(seen[name])} " if total[name] > 1 else ""
        found[number] = f'the {which}cell {name[0]}that begins with "{name[1]}"'
    return found


def first_line(source: str) -> str:
    """Return the first line of a cell that is not blank, short enough to quote."""
    line = source.strip().split("\n")[0].strip()
    return line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 3] + "..."


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th and so on."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


# ---------------------------------------------------------------- the lesson


@functools.lru_cache(maxsize=32)
def released(lesson: str) -> tuple[Cell, ...]:
    """Return the cells of a lesson as learners receive it; none when it is not there."""
    try:
        return cells_of(json.loads((LESSONS / f"{lesson}.ipynb").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return ()


@functools.lru_cache(maxsize=1)
def owners() -> dict[str, str]:
    """Return {normalised source: lesson} for every released cell that belongs to one lesson only."""
    found: dict[str, set] = {}
    for lesson in lessons.CATALOGUE:
        for cell in released(lesson):
            found.setdefault(normalised(cell.source), set()).add(lesson)
    return {source: next(iter(owned_by)) for source, owned_by in found.items() if len(owned_by) == 1}


def recognise(notebook: dict, cells: tuple[Cell, ...], file: str) -> str | None:
    """Return the lesson a notebook belongs to by what it contains, or None; claims and names only break ties."""
    score = dict.fromkeys(lessons.CATALOGUE, 0.0)
    for cell in cells:
        lesson = owners().get(normalised(cell.source))
        if lesson:
            score[lesson] += 1
    if max(score.values()) > max(CLEAR, sum(score.values()) / 2):
        return max(score, key=score.get)
    named = {name for cell in cells for found in NAMING.findall(cell.source) for name in found if name}
    for lesson, ids in lessons.CATALOGUE.items():
        score[lesson] += 2 * len(named.intersection(ids))
        score[lesson] += 2 * len({cell.exercise for cell in cells}.intersection(ids))
    if not any(score.values()):
        return None
    claimed = mapping(mapping(notebook.get("metadata")).get("ffn")).get("lesson")
    in_name = LESSON.search(file)
    for hint, weight in ((claimed, 0.5), (in_name[0] if in_name else None, 0.25)):
        if isinstance(hint, str) and hint in score:
            score[hint] += weight
    return max(score, key=score.get)
