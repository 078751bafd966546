"""One submission, examined: its cells are run in a worker, its answers asked, and what comes back is judged here.

The judge's side. It holds the probes and the oracles, believes nothing a worker sends, and gives points for the right
results of calls and for nothing else.
"""

from __future__ import annotations

import functools
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from ffnlib.examination import lessons
from ffnlib.examination.evidence import Evidence
from ffnlib.examination.exercise import Exercise
from ffnlib.examination.verdict import BROKEN, PASSED, UNTOUCHED, Verdict
from ffnlib.grading.examiner import Examiner, Settings, with_failure
from ffnlib.grading.line import Ended, Malformed, TooLate
from ffnlib.grading.session import Part, Session, Stopped, answer_name, ask, end_in_words, libraries_for, open_session
from ffnlib.grading.submission import COMMAND, Cell, Submission, normalised, released
from ffnlib.grading.worker.sandbox import is_confined
from ffnlib.grading.workshop import CannotWork, Missing, Workshop

STOPPED = "stopped"
GRADED, NEEDS_HUMAN = "graded", "needs-human"
MOST_REPLAYS = 3  # without a cell that hangs or dies


# ---------------------------------------------------------------- which cells


def parts_of(submission: Submission, exercises: tuple[Exercise, ...]) -> list[Part]:
    """Return the cells with code, marking those that are needed: setup, answers, and whatever the learner wrote."""
    lesson = {normalised(cell.source): cell for cell in released(submission.lesson)}
    ids = {exercise.id for exercise in exercises}
    parts = []
    for cell in submission.cells:
        known = lesson.get(normalised(cell.source))
        own = (known or cell).exercise if (known or cell).role == "answer" else ""
        if cell.kind != "code" and (known is not None or not holds_code(cell, exercises)):
            continue
        needed = known is None or known.role == "setup" or bool(own)
        parts.append(Part(cell.number, cell.source, own if own in ids else "", known is None, needed))
    return parts


def holds_code(cell: Cell, exercises: tuple[Exercise, ...]) -> bool:
    """Return whether a cell that is no code cell defines an answer: its type was changed by a slip of the hand."""
    names = "|".join(re.escape(answer_name(exercise)) for exercise in exercises)
    return bool(re.match(rf"(?:[^\n`]*\n)*?(?:def|class)[ \t]+(?:{names})\b", cell.source[:2000]))


# ---------------------------------------------------------------- one submission


@dataclass
class Interview:
    """The examination of one submission, from its cells to a row of the report."""

    submission: Submission
    exercises: tuple[Exercise, ...]
    examiner: Examiner
    workshop: Workshop
    notes: list[str] = field(default_factory=list)
    skipped: set[int] = field(default_factory=set)
    everything: bool = False  # all cells are run, not only those that are needed
    last: int = 0  # the last cell to run, 0 for all
    session: Session | None = None

    def __post_init__(self):
        self.settings = self.examiner.settings
        self.deadline = time.monotonic() + self.settings.timeout
        self.parts = parts_of(self.submission, self.exercises)
        self.names = tuple(answer_name(exercise) for exercise in self.exercises)
        self.asked = 0

    def note(self, text: str) -> None:
        """Add a note to the row, once."""
        if text not in self.notes:
            self.notes.append(text)

    def load(self) -> bool:
        """Have a fresh worker run the cells, leaving out any that hang or die; return whether one stands ready."""
        self.close()
        for _ in range(MOST_REPLAYS + 1):
            parts = [p for p in self.parts if (p.needed or self.everything) and p.number not in self.skipped]
            parts = [p for p in parts if not self.last or p.number <= self.last]
            worker = self.fresh_worker(parts)
            try:
                self.session = open_session(worker, parts, self.names, self.deadline, self.settings.timeout / 3)
                if not (self.settings.trusted or is_confined(self.session.layers)):
                    raise CannotWork("a worker stands outside the sandbox that the others have")
                return True
            except Stopped as stopped:
                if not stopped.cell:
                    self.note(f"the cells could not be run: {stopped.words}")
                    return False
                self.skipped.add(stopped.cell)
                self.note(f"cell {stopped.cell} is left out: {stopped.words}")
            except TooLate:
                break
        self.note(
            f"the cells did not end within {self.settings.timeout:.0f} s, or more than {MOST_REPLAYS} ended badly"
        )
        return False

    def fresh_worker(self, parts: list[Part]):
        """Return a worker; the time that loading its libraries takes is not the submission's."""
        with self.the_clock_stopped():
            return self.workshop.worker(libraries_for(parts))

    @contextmanager
    def the_clock_stopped(self):
        """Leave out of the submission's time what the judge does, and how long it waits for its turn."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.deadline += time.monotonic() - started

    def close(self) -> None:
        """End the worker, if there is one."""
        if self.session is not None:
            self.session.worker.end()
            self.session = None

    def own_cell(self, exercise: Exercise) -> int:
        """Return the number of the cell whose binding is the answer, 0 when no cell binds the name.

        A cell that the learner wrote in wins over the starter, the exercise's own cell over others, the last over the
        ones before.
        """
        name = answer_name(exercise)
        bound = [part for part in self.parts if part.number in self.session.bound.get(name, ())]
        written = [part for part in bound if part.changed]
        own = [part for part in written if part.exercise == exercise.id]
        chosen = (own or written or bound)[-1:]
        if len(written) > 1:
            places = ", ".join(str(part.number) for part in written)
            self.note(f"{name} is defined in the cells {places}; the definition in cell {chosen[0].number} counts")
        return chosen[0].number if chosen else 0

    def examine(self, exercise: Exercise, left: int) -> Verdict:
        """Return the verdict on one exercise; `left` exercises, this one included, share the time that is left."""
        if self.session is None and not self.load():
            return Verdict(exercise.id, STOPPED, None, (("because", self.notes[-1]),))
        try:
            with self.the_clock_stopped():
                self.examiner.probes(exercise)
        except Exception as error:
            text = f"this is our mistake, the work is safe: no probes could be drawn ({type(error).__name__})"
            return Verdict(exercise.id, BROKEN, None, (("because", text),))
        number = self.own_cell(exercise)
        if not number:
            if self.widen():
                return self.examine(exercise, left)
            text = f"no cell of this notebook defines {answer_name(exercise)}"
            return Verdict(exercise.id, UNTOUCHED, None, (("because", text),))
        share = min(self.settings.timeout / 3, (self.deadline - time.monotonic()) / (left + 1))
        try:
            evidence = ask(self.session, self.examiner, exercise, number, time.monotonic() + share)
        except (TooLate, Ended, Malformed) as error:
            words = end_in_words(self.session, error, f"its share of {self.settings.timeout:g} s")
            self.session = None
            self.asked += 1
            return Verdict(exercise.id, STOPPED, None, (("because", f"{answer_name(exercise)}: {words}"),))
        if misses_a_name(evidence) and self.widen():
            return self.examine(exercise, left)
        self.asked += 1
        with self.the_clock_stopped():
            verdict = self.examiner.verdict(exercise, evidence)
        if not verdict.passed and (answer_name(exercise), number) in self.session.outdated:
            return self.examine_as_it_stood(exercise, number, left)
        return with_failure(verdict, evidence) if self.settings.graded else verdict

    def examine_as_it_stood(self, exercise: Exercise, number: int, left: int) -> Verdict:
        """Return the verdict on an answer in the notebook as far as its own cell: later ones change what it uses."""
        self.close()
        self.last = number
        self.note(
            f"later cells change names that {answer_name(exercise)} uses: it was tried as it stood in cell {number}"
        )
        try:
            return self.examine(exercise, left)
        finally:
            self.close()
            self.last = 0

    def widen(self) -> bool:
        """Run all cells from now on, when an answer misses a name; return False when that has been done."""
        if self.everything or all(part.needed for part in self.parts):
            return False
        self.everything = True
        self.note("an answer needs cells of the lesson that were not changed: all cells were run")
        self.load()
        return True

    def verdicts(self) -> list[Verdict]:
        """Return the verdict on every exercise."""
        try:
            if not self.load():
                text = self.notes[-1]
                return [Verdict(exercise.id, STOPPED, None, (("because", text),)) for exercise in self.exercises]
            found = []
            for position, exercise in enumerate(self.exercises):
                found.append(self.examine(exercise, len(self.exercises) - position))
            self.note_failures()
            return found
        except Missing as error:
            self.note(str(error))
            self.asked = 0
            return [Verdict(exercise.id, STOPPED, None, (("because", str(error)),)) for exercise in self.exercises]
        finally:
            self.close()

    def note_failures(self) -> None:
        """Note the cells that raised, and the commands that were not run."""
        for number, raised in (self.session.failed if self.session else {}).items():
            text = f": {raised.text}" if raised.text else ""
            self.note(f"cell {number} raised {raised.types[0]}{text}")
        commands = [str(part.number) for part in self.parts if part.needed and COMMAND.search(part.source)]
        if commands:
            self.note(f"commands (% or !) are not run: cell {', '.join(commands)}")


def misses_a_name(evidence: Evidence) -> bool:
    """Return whether an answer failed for want of a name that another cell may define."""
    return any(seen.raised is not None and seen.raised.types[0] == "NameError" for seen in evidence.observations)


# ---------------------------------------------------------------- rows


def grade_submission(submission: Submission, examiner: Examiner, workshop: Workshop) -> dict:
    """Return the row of the report for one submission, whatever happens to it."""
    try:
        return graded_row(submission, examiner, workshop)
    except CannotWork:
        raise
    except Exception as error:
        why = f"the grader failed on it, which is our mistake ({type(error).__name__}: {error})"
        return graded_row(replace(submission, problem=why), examiner, workshop)


def graded_row(submission: Submission, examiner: Examiner, workshop: Workshop) -> dict:
    """Return the row of the report for one submission."""
    row = {"student": submission.student, "lesson": submission.lesson, "file": submission.file}
    try:
        exercises = lessons.exercises(submission.lesson) if submission.lesson else ()
    except ImportError:
        exercises, submission = (), replace(submission, problem="its lesson is not installed")
    if submission.problem or not exercises:
        notes = [*submission.notes, *([submission.problem] if submission.problem else [])]
        most = float(sum(exercise.points for exercise in exercises))
        return {**row, "status": NEEDS_HUMAN, "score": 0.0, "max_score": most, "notes": notes, "exercises": []}
    interview = Interview(submission, exercises, examiner, workshop, list(submission.notes))
    verdicts = interview.verdicts()
    if not interview.asked:
        interview.note("nothing could be asked: a human has to look at it")
    human = not interview.asked or any(verdict.status == BROKEN for verdict in verdicts)
    results = [result_row(exercise, verdict) for exercise, verdict in zip(exercises, verdicts)]
    return {
        **row,
        "status": NEEDS_HUMAN if human else GRADED,
        "score": sum(result["points"] for result in results),
        "max_score": float(sum(exercise.points for exercise in exercises)),
        "notes": interview.notes,
        "exercises": results,
    }


def result_row(exercise: Exercise, verdict: Verdict) -> dict:
    """Return one exercise's part of a row."""
    return {
        "id": exercise.id,
        "status": verdict.status,
        "points": float(exercise.points) if verdict.status == PASSED else 0.0,
        "max_points": float(exercise.points),
        "misconception": verdict.misconception,
        "message": "\n".join(f"{label}: {text}" for label, text in verdict.lines),
    }


examiner_for = functools.lru_cache(maxsize=4)(Examiner)  # a run's, shared by the threads of this process
workshop_for = functools.lru_cache(maxsize=4)(Workshop)


def workshop_of(settings: Settings) -> Workshop:
    """Return this process's workshop for the limits of a run."""
    return workshop_for(settings.memory, settings.timeout, settings.can_fork)


def grade_batch(submissions: list[Submission], settings: Settings) -> list[dict]:
    """Grade some submissions where this is called: in a thread, in another process, or on another machine."""
    examiner, workshop = examiner_for(settings), workshop_of(settings)
    return [grade_submission(submission, examiner, workshop) for submission in submissions]
