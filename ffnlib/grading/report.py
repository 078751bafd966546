"""What an instructor receives: report.json, grades.csv, exercises.csv and the pages, each written in one step."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import unicodedata
from datetime import datetime, timezone
from pathlib import Path

from ffnlib.examination import lessons
from ffnlib.grading import pages
from ffnlib.grading.interview import NEEDS_HUMAN

GRADES = (  # nbgrader's header, exactly
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)
EXERCISES = ("student", "lesson", "exercise", "status", "points", "max_points", "misconception", "message")
COURSE = "The Transformer's feed-forward network"


def write_everything(
    out: Path, rows: list[dict], times: dict[str, float], sandbox: str, lesson: str | None = None
) -> None:
    """Write all files of a report; `times` says when each file was handed in, `lesson` that only this one is graded."""
    rows = sorted(rows, key=lambda row: (row["student"], row["lesson"] or "", row["file"]))
    report = {"course": COURSE, "sandbox": sandbox, "submissions": rows}
    write(out / "report.json", json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    write(out / "grades.csv", table(GRADES, grade_rows(rows, times, lesson)))
    write(out / "exercises.csv", table(EXERCISES, exercise_rows(rows)))
    feedback = {
        out / "feedback" / slug(row["student"]) / f"{row['lesson']}.html": pages.feedback(row)
        for row in rows
        if row["lesson"] and row["exercises"]
    }
    for path, text in feedback.items():
        write(path, text)
    remove_feedback_of_earlier_runs(out / "feedback", set(feedback))
    write(out / "class.html", pages.class_page(rows, sandbox))


def remove_feedback_of_earlier_runs(folder: Path, current: set[Path]) -> None:
    """Remove the pages that another run has left, lest they be sent to the students with the new ones."""
    for path in folder.glob("*/*.html"):
        if path not in current and path.stem in lessons.CATALOGUE:
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()


def write(path: Path, text: str) -> None:
    """Write a file in one step: readers find the old one or the new one, never a half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")  # the same name again, so that a killed run leaves none behind
    try:
        temporary.write_bytes(text.encode("utf-8", "replace"))
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None  # of a full disk, Python names no file


def slug(name: str) -> str:
    """Return a name as a folder's: short, plain, and different for different names on every file system."""
    if re.fullmatch(r"[a-z][a-z0-9_-]{2,50}", name) and not re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)", name):
        return name
    bare = "".join(sign for sign in unicodedata.normalize("NFKD", name.lower()) if not unicodedata.combining(sign))
    plain = re.sub(r"[^a-z0-9]+", "-", bare).strip("-")[:40]
    return f"{plain or 'student'}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


# ---------------------------------------------------------------- tables


def table(header, rows) -> str:
    """Return rows as CSV under a header."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([[harmless(value) for value in row] for row in rows])
    return stream.getvalue()


def harmless(value):
    """Return a value that no spreadsheet takes for a formula: such text gets an apostrophe in front.

    So does what stands behind a semicolon or a tab, at which spreadsheets of many countries cut a line.
    """
    if not isinstance(value, str):
        return value
    value = re.sub(r"[\r\n\0]+", " ", value)
    return re.sub(r"(^|[;\t])(?=\s*[=+\-@＝＋－＠])", r"\1'", value)


def grade_rows(rows: list[dict], times: dict[str, float], only: str | None = None):
    """Yield a row for every lesson and student.

    Who handed in nothing has no points, as in nbgrader; where a human has to look, the score is not known, and empty.
    """
    graded = {(row["lesson"], row["student"]): row for row in rows if row["lesson"]}
    worth = {row["lesson"]: row["max_score"] for row in rows if row["lesson"] and row["max_score"]}
    unread = {row["student"]: row for row in rows if row["status"] == NEEDS_HUMAN and not row["lesson"]}
    for lesson in [only] if only else sorted({lesson for lesson, _ in graded}) or [""]:
        for student in sorted({row["student"] for row in rows}):
            row = graded.get((lesson, student)) or unread.get(student)
            score = row["score"] if row else 0.0
            handed_in = when(times.get(row["file"], 0.0)) if row else ""
            yield lesson, "", handed_in, student, "", "", "", score, 0.0, score, worth.get(lesson)


def when(time: float) -> str:
    """Return a time as nbgrader writes it, "" when it is not known or no calendar has it."""
    try:
        return datetime.fromtimestamp(int(time), timezone.utc).strftime("%Y-%m-%d %H:%M:%S") if time else ""
    except (ValueError, OverflowError, OSError):
        return ""


def exercise_rows(rows: list[dict]):
    """Yield a row for every exercise of every submission."""
    for row in rows:
        for result in row["exercises"]:
            yield (
                row["student"],
                row["lesson"],
                result["id"],
                result["status"],
                result["points"],
                result["max_points"],
                result["misconception"] or "",
                result["message"],
            )
