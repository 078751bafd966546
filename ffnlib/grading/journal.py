"""What a run has done so far, one line each, so that a killed run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from pathlib import Path

from ffnlib.grading.examiner import Settings
from ffnlib.grading.submission import Submission

NAME = "journal.jsonl"


class OtherRun(ValueError):
    """The journal belongs to a run with other settings."""


class Journal:
    """The file with a run's secret seed, its settings, and the row of every submission that is done."""

    def __init__(self, path: Path, limits: dict, resume: bool):
        self.path = path
        self.rows: dict[str, dict] = {}
        lines = self._lines() if resume else []
        if lines and "seed" in lines[0]:
            self.seed = lines[0]["seed"]
            if lines[0]["limits"] != limits:
                raise OtherRun(
                    f"{path} was begun with {options(lines[0]['limits'])}, and this run has {options(limits)}; "
                    "give the same options, or leave out --resume to begin anew"
                )
            self.rows = {line["key"]: line["row"] for line in lines[1:] if "key" in line and "row" in line}
        else:
            self.seed = secrets.randbits(63)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            self._append({"seed": self.seed, "limits": limits})

    def _lines(self) -> list[dict]:
        """Return the lines that were written whole; a kill can cut the last one."""
        found = []
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        for line in text.splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return [line for line in found if isinstance(line, dict)]

    def _append(self, entry: dict) -> None:
        """Write one line in one step, readable by its owner only, since it holds the seed."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            # a line that a kill has cut is ended first
            os.write(descriptor, b"\n" + json.dumps(entry).encode() + b"\n")
        finally:
            os.close(descriptor)

    def add(self, submission: Submission, row: dict) -> None:
        """Remember a row."""
        self.rows[key_of(submission)] = row
        self._append({"key": key_of(submission), "row": row})

    def row(self, submission: Submission) -> dict | None:
        """Return the row of a submission that is done already, or None: a file that was changed is not done."""
        return self.rows.get(key_of(submission))


def options(limits: dict) -> str:
    """Return settings as they are given on the command line."""
    return " ".join(f"--{name} {value}" for name, value in limits.items() if value is not None)


def key_of(submission: Submission) -> str:
    """Return what identifies a submission with its whole content."""
    parts = (submission.student, submission.file, submission.digest, submission.problem, *submission.notes)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


def limits_of(settings: Settings, lesson: str | None) -> dict:
    """Return the settings that a resumed run has to share."""
    return {"timeout": settings.timeout, "memory": settings.memory, "lesson": lesson}
