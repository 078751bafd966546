"""The commands `check NOTEBOOK` and `grade SUBMISSIONS`."""

from __future__ import annotations

import sys
import time
import traceback
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from ffnlib.examination import lessons
from ffnlib.grading import pages, pool, report
from ffnlib.grading.collect import Handed, collect, is_in_its_own_place, is_same_place
from ffnlib.grading.examiner import Settings
from ffnlib.grading.interview import NEEDS_HUMAN, OTHER_LESSON, grade_batch, row_without_verdicts, workshop_of
from ffnlib.grading.journal import NAME, Journal, limits_of
from ffnlib.grading.submission import Submission, read_submission
from ffnlib.grading.worker import sandbox
from ffnlib.grading.workshop import CAN_FORK, CannotWork, Workshop

GRADED, SOME_NEED_A_HUMAN, FAILED, INTERRUPTED = 0, 2, 3, 130
MOST_NAMED = 5  # submissions that need a human, on the terminal
GO_ON = "the same command with --resume goes on from there"


def grade(args) -> int:
    """Carry out `ffnlib grade`.

    Return 0 when all is graded, 2 when some need a human, 3 when the tool failed, 130 when it was interrupted.
    """
    try:
        for name, path in (("SUBMISSIONS", args.submissions), ("--out", args.out)):
            if not path:  # a variable of the shell that is not set: Python would take the folder where it stands
                raise ValueError(f"{name} {path!r}: the name of a folder is asked for, and it is empty")
        rows = grade_folder(
            Path(args.submissions),
            Path(args.out),
            lesson=args.lesson,
            jobs=args.jobs,
            timeout=args.timeout,
            memory=args.memory,
            resume=args.resume,
            trusted=args.trusted,
            dask=args.dask,
        )
    except OSError as error:
        say(f"grading failed: {error}; once that is mended, {GO_ON}")
        return FAILED
    except (CannotWork, ValueError) as error:
        say(f"grading failed: {error}")
        return FAILED
    except KeyboardInterrupt:
        say(f"\nstopped; what is done is kept: {GO_ON}")
        return INTERRUPTED
    except Exception:
        say(traceback.format_exc())  # our mistake: the place is worth more than a sentence
        say(f"grading failed; what is done is kept: {GO_ON}")
        return FAILED
    return SOME_NEED_A_HUMAN if any(row["status"] == NEEDS_HUMAN for row in rows) else GRADED


def say(text: str, end: str = "\n", stream=None) -> None:
    """Print on the terminal; where nobody listens any more (a pipe is closed, a disk full), go on without a word."""
    stream = stream or sys.stderr
    with suppress(OSError, ValueError):
        if stream is not None:
            print(text, end=end, file=stream, flush=True)


def grade_folder(
    submissions: Path,
    out: Path,
    *,
    lesson: str | None = None,
    jobs: int | None = None,
    timeout: float = Settings.timeout,
    memory: int = Settings.memory,
    resume: bool = False,
    trusted: bool = False,
    dask: str | None = None,
    executor=None,
    can_fork: bool = CAN_FORK,
) -> list[dict]:
    """Grade everything handed in and write the report into `out`; return the rows.

    `executor` is any `concurrent.futures.Executor`; each of its workers runs the complete grader.

    **Raises** CannotWork, OtherRun, ValueError for options that cannot be, OSError for folders that cannot be read
    """
    refuse_bad_options(submissions, out, lesson, timeout, memory, jobs)
    handed_in = newest_of_each([read_submission(handed) for handed in collect(submissions, out)])
    if not handed_in:
        raise ValueError(f"SUBMISSIONS={str(submissions)!r}: nothing is in it; is it the right folder?")
    settings = Settings(0, float(timeout), int(memory), trusted, can_fork=can_fork)
    with workshop_of(settings) as workshop:
        layers = layers_here(workshop, trusted)
        with Journal(out / NAME, limits_of(settings, lesson), resume) as journal:
            settings = replace(settings, seed=journal.seed)
            found = [each for each in handed_in if lesson is None or each.lesson in (lesson, None)]
            todo = [each for each in found if journal.row(each) is None]
            lanes = max(1, min(jobs or pool.cores(), len(todo)))
            progress = Progress(len(found), len(found) - len(todo))
            with the_executor(executor, dask, lanes) as (chosen, batch):
                for submission, row in pool.grade_all(todo, settings, chosen, lanes, batch):
                    journal.add(submission, row)
                    progress.show()
            rows = [journal.row(each) for each in found] + rows_of_other_lessons(handed_in, lesson)
            times = {each.file: each.time for each in handed_in}
            report.write_everything(out, rows, times, ", ".join(layers), lesson)
    progress.finish(rows, out)
    return rows


def refuse_bad_options(submissions: Path, out: Path, lesson, timeout: float, memory: int, jobs) -> None:
    """Raise ValueError for an option that cannot be meant."""
    if not submissions.exists():
        raise ValueError(f"SUBMISSIONS={str(submissions)!r}: there is no such folder or archive")
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {str(out)!r}: this is a file, and a folder is asked for")
    if out.exists() and is_same_place(out, submissions):
        raise ValueError(f"--out {str(out)!r}: the report cannot go among the submissions; name another folder")
    if lesson is not None and lesson not in lessons.CATALOGUE:
        raise ValueError(f"--lesson {lesson!r}: there is no such lesson; known are {', '.join(lessons.CATALOGUE)}")
    if not 1 <= timeout <= 86_400:
        raise ValueError(f"--timeout {timeout!r}: a number of seconds from 1 to 86400 is asked for")
    if not 64 <= memory <= 2**20:
        raise ValueError(f"--memory {memory!r}: a number of megabytes from 64 upwards is asked for")
    if jobs is not None and jobs < 1:
        raise ValueError(f"--jobs {jobs!r}: at least one is asked for")


def layers_here(workshop: Workshop, trusted: bool) -> tuple[str, ...]:
    """Return the layers that hold around a worker on this machine.

    **Raises** CannotWork when there are too few and the submissions are not said to be trusted
    """
    worker = workshop.worker()
    try:
        layers = tuple(worker.line.get(time.monotonic() + 60)[1])
    except Exception as error:
        raise CannotWork(f"a worker could not be started ({type(error).__name__} {error})") from None
    finally:
        worker.end()
    if not sandbox.is_confined(layers) and not trusted:
        raise CannotWork(
            "this system offers neither Landlock nor seccomp, so a submission could read your files and use your "
            "network; grade in a virtual machine or container, or say --trusted when you trust every submission"
        )
    return layers if sandbox.is_confined(layers) else (*layers, "NO SANDBOX: trusted submissions only")


def newest_of_each(submissions: list[Submission]) -> list[Submission]:
    """Return one submission a student and lesson, the newest, with a note on the others.

    What lies in a place of the student's own goes before what somebody's archive puts down to this student.
    """
    groups: dict[tuple, list[Submission]] = {}
    for position, each in enumerate(submissions):
        key = (each.student, each.lesson) if each.lesson else (each.student, position)
        groups.setdefault(key, []).append(each)
    kept = []
    for group in groups.values():
        newest = max(group, key=lambda each: (is_in_its_own_place(each.student, each.file), each.time, each.file))
        others = [
            f"another file was handed in as well and does not count: {each.file}"
            for each in group
            if each is not newest
        ]
        kept.append(replace(newest, notes=(*newest.notes, *others)))
    return kept


def rows_of_other_lessons(submissions: list[Submission], lesson: str | None) -> list[dict]:
    """Return a row for every notebook of another lesson than the one that is graded.

    A student who handed in nothing else may have taken the wrong file: a human has to look at the newest one.
    """
    if lesson is None:
        return []
    seen = {each.student for each in submissions if each.lesson == lesson}
    rows = []
    for each in sorted(submissions, key=lambda each: (each.time, each.file), reverse=True):
        if each.lesson not in (lesson, None):
            note = f"it is the lesson {each.lesson}, and only {lesson} is graded"
            row = row_without_verdicts(replace(each, lesson=None), (*each.notes, note))
            rows.append(row | ({"status": OTHER_LESSON} if each.student in seen else {}))
            seen.add(each.student)
    return rows


@contextmanager
def the_executor(executor, dask: str | None, lanes: int):
    """Give the executor to use and how many submissions go to it at a time; end it only when it was made here."""
    if executor is not None:
        yield executor, 4
    elif dask is not None:
        try:
            from distributed import Client
        except ImportError:
            raise ValueError("--dask needs the package distributed: pip install 'ffnlib[dask]'") from None
        with Client(dask) as client:
            yield client.get_executor(), 8
    else:
        with pool.threads(lanes) as made:
            yield made, 1


class Progress:
    """How far a run is: a bar that moves on a terminal, plain lines elsewhere."""

    def __init__(self, total: int, done: int, stream=None):
        self.total, self.done, self.stream = total, done, stream or sys.stderr
        self.terminal = self.stream is not None and self.stream.isatty()
        if done:
            self.say(f"{done} of {total} are done already")

    def say(self, text: str = "", end: str = "\n") -> None:
        """Print on the stream."""
        say(text, end, self.stream)

    def show(self) -> None:
        """Show that one more submission is done."""
        self.done += 1
        if self.terminal:
            filled = 30 * self.done // max(1, self.total)
            bar = "#" * filled + "." * (30 - filled)
            self.say(f"\r[{bar}] {self.done}/{self.total}", end="")
        elif self.done == self.total or self.done % max(1, self.total // 10) == 0:
            self.say(f"{self.done} of {self.total} done")

    def finish(self, rows: list[dict], out: Path) -> None:
        """Say what came out and where it lies."""
        if self.terminal and self.total:
            self.say()
        self.say(pages.totals(rows))
        if words := pages.not_handed_in(rows):
            self.say(words)
        human = [row for row in rows if row["status"] == NEEDS_HUMAN]
        for row in human[:MOST_NAMED]:
            self.say(f"  {row['file']}: {row['notes'][-1] if row['notes'] else ''}")
        if len(human) > MOST_NAMED:
            self.say(f"  and {len(human) - MOST_NAMED} more, named in class.html")
        self.say(f"report: {out / 'class.html'}, grades: {out / 'grades.csv'}")


# ---------------------------------------------------------------- one notebook


def check_notebook(args) -> int:
    """Carry out `ffnlib check`: print every verdict; return 0 when all are passed, 2 if not, 3 for a failure."""
    path = Path(args.notebook)
    try:
        data = path.read_bytes()
    except OSError as error:
        print(f"NOTEBOOK={args.notebook!r} cannot be read: {error.strerror}", file=sys.stderr)
        return FAILED
    settings = Settings(0, trusted=True, graded=False)
    try:
        with workshop_of(settings):
            (row,) = grade_batch([read_submission(Handed("you", path.name, data, 0.0))], settings)
    except CannotWork as error:
        print(f"checking failed: {error}", file=sys.stderr)
        return FAILED
    for result in row["exercises"]:
        print(f"{result['id']} - {result['status'].replace('-', ' ')}")
        for line in result["message"].splitlines():
            label, _, text = line.partition(": ")
            print(f"  {label:<10}{text}")
    for note in row["notes"]:
        print(f"note: {note}")
    points = sum(result["points"] or 0 for result in row["exercises"])
    if row["exercises"]:
        print(f"{row['lesson']}: {points:g} of {row['max_score']:g} points")
    return GRADED if row["exercises"] and points == row["max_score"] else SOME_NEED_A_HUMAN
