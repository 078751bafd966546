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
    """The file with a run's secret seed, its settings, and the row of every submission that is done.

    It is one run's as long as it is open: two into one folder would mix their rows and their pages.
    """

    def __init__(self, path: Path, limits: dict, resume: bool):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = open(path, "ab+", buffering=0, opener=readable_by_the_owner_only)  # noqa: SIM115 - as long as the run
        self.rows: dict[str, dict] = {}
        if not claim(self.file):
            self.file.close()
            raise OtherRun(f"another grading is writing into {path.parent}; wait for its end, or name another --out")
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
            self.file.truncate(0)
            self._append({"seed": self.seed, "limits": limits})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def _lines(self) -> list[dict]:
        """Return the lines that were written whole; a kill can cut the last one."""
        found = []
        self.file.seek(0)
        for line in self.file.read().decode("utf-8", "replace").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return [line for line in found if isinstance(line, dict)]

    def _append(self, entry: dict) -> None:
        """Write one line; one that a kill has cut is ended first."""
        data = b"\n" + json.dumps(entry).encode() + b"\n"
        try:
            while data:  # a disk that is nearly full takes a part, and refuses the next
                data = data[self.file.write(data) :]
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.file.name) from None  # Python names no file here

    def add(self, submission: Submission, row: dict) -> None:
        """Remember a row."""
        self.rows[key_of(submission)] = row
        self._append({"key": key_of(submission), "row": row})

    def row(self, submission: Submission) -> dict | None:
        """Return the row of a submission that is done already, or None: a file that was changed is not done."""
        return self.rows.get(key_of(submission))


def readable_by_the_owner_only(path: str, flags: int) -> int:
    """Open a file that others may not read, whoever could before: it holds the seed."""
    descriptor = os.open(path, flags, 0o600)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, 0o600)
    return descriptor


def claim(file) -> bool:
    """Return whether a file is this process's alone from now until it is closed, or true where nobody can tell."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):  # Windows; a network's folder that knows no locks
        return True
    return True


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
