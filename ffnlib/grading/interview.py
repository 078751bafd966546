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
from ffnlib.examination.evidence import Evidence, Raised
from ffnlib.examination.exercise import Exercise
from ffnlib.examination.verdict import BROKEN, NOT_YET, PASSED, UNTOUCHED, Verdict, note_on_calling
from ffnlib.grading.collect import visible
from ffnlib.grading.examiner import Examiner, Settings, memory_words, with_failure
from ffnlib.grading.line import Crowded, Ended, Malformed, TooLate
from ffnlib.grading.session import Part, Session, Stopped, ask, end_in_words, libraries_for, open_session
from ffnlib.grading.submission import COMMAND, Cell, Submission, normalised, places, released
from ffnlib.grading.worker.sandbox import is_confined
from ffnlib.grading.workshop import CannotWork, Missing, Workshop

STOPPED = "stopped"
GRADED, NEEDS_HUMAN, OTHER_LESSON = "graded", "needs-human", "other-lesson"  # the last: one that is not asked for
DOES_NOT_RUN = "its cell does not run"
MISSING_NAME = re.compile(r"name '(\w+)' is not defined")
NO_CODE = re.compile(r"""\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|"[^"\n]*"|'[^'\n]*'|#.*""")  # texts and comments
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
    names = "|".join(re.escape(exercise.answer_name()) for exercise in exercises)
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
    failures: dict[int, str] = field(default_factory=dict)  # {cell: how it failed}
    told: set[int] = field(default_factory=set)  # cells whose failure stands beside an exercise
    called: dict[str, list[str]] = field(default_factory=dict)  # {wrong answer: the wrong answers that it calls}
    everything: bool = False  # all cells are run, not only those that are needed
    last: int = 0  # the last cell to run, 0 for all
    session: Session | None = None

    def __post_init__(self):
        self.settings = self.examiner.settings
        self.deadline = time.monotonic() + self.settings.timeout
        self.parts = parts_of(self.submission, self.exercises)
        self.places = places(self.submission.cells)
        self.names = tuple(exercise.answer_name() for exercise in self.exercises)
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
                self.see_failures(parts)
                return True
            except Stopped as stopped:
                if not stopped.cell:
                    self.note(f"the cells could not be run: {stopped.words}")
                    return False
                self.skipped.add(stopped.cell)
                self.failures[stopped.cell] = f"{self.places[stopped.cell]} is left out: {stopped.words}"
        self.note(f"more than {MOST_REPLAYS} cells did not end, or ended the process")
        return False

    def see_failures(self, parts: list[Part]) -> None:
        """Take down how those of the learner's cells failed that have just been run."""
        for part in parts:
            raised = self.session.failed.get(part.number)
            self.failures.pop(part.number, None)  # of an earlier run, without the cells that it needs
            if raised is not None and part.changed:
                self.failures[part.number] = f"{self.places[part.number]} failed: {self.error_words(raised)}"

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
        name = exercise.answer_name()
        bound = [part for part in self.parts if part.number in self.session.bound.get(name, ())]
        written = [part for part in bound if part.changed]
        own = [part for part in written if part.exercise == exercise.id]
        chosen = (own or written or bound)[-1:]
        if len(written) > 1:
            where = ", ".join(self.places[part.number] for part in written)
            self.note(f"{name} is defined in {where}; {self.places[chosen[0].number]} counts")
        return chosen[0].number if chosen else 0

    def examine(self, exercise: Exercise, left: int) -> Verdict:
        """Return the verdict on one exercise; `left` exercises, this one included, share the time that is left."""
        if self.session is None and not self.load():
            return Verdict(exercise.id, STOPPED, None, (("because", self.notes[-1]),))
        try:
            with self.the_clock_stopped():
                self.examiner.probes(exercise)
        except Exception as error:
            text = f"this is our mistake, the work is safe ({type(error).__name__}); whoever grades will look at it"
            return Verdict(exercise.id, BROKEN, None, (("because", text),))
        number = self.own_cell(exercise)
        if not number:
            if self.widen():
                return self.examine(exercise, left)
            text = f"no cell of this notebook defines {exercise.answer_name()}"
            return self.failed_attempt(exercise) or Verdict(exercise.id, UNTOUCHED, None, (("because", text),))
        share = min(self.settings.timeout / 3, (self.deadline - time.monotonic()) / (left + 1))
        try:
            evidence = ask(self.session, self.examiner, exercise, number, time.monotonic() + share)
        except (TooLate, Ended, Crowded, Malformed) as error:
            words = end_in_words(self.session, error, f"its share of the {self.settings.timeout:g} s for a notebook")
            self.session = None
            self.asked += 1
            because = f"while {exercise.answer_name()} was being called, {words}"
            lines = [("because", because)]
            if isinstance(error, TooLate):
                lines.append(("next", "look for a loop that never ends, in it or in what it calls"))
            return Verdict(exercise.id, STOPPED, None, tuple(lines))
        if misses_a_name(evidence) and self.widen():
            return self.examine(exercise, left)
        self.asked += 1
        with self.the_clock_stopped():
            verdict = self.examiner.verdict(exercise, evidence)
        outdated = (exercise.answer_name(), number) in self.session.outdated
        if outdated and not verdict.passed and self.last != number:  # once: a thread may change names without end
            return self.examine_as_it_stood(exercise, number, left)
        if verdict.status == UNTOUCHED:
            return self.failed_attempt(exercise) or verdict
        if self.settings.graded:
            verdict = with_failure(verdict, evidence, self.places, self.settings.memory)
        return replace(verdict, lines=(*verdict.lines, *self.causes_of_missing_names(evidence)))

    def examine_as_it_stood(self, exercise: Exercise, number: int, left: int) -> Verdict:
        """Return the verdict on an answer in the notebook as far as its own cell: later ones change what it uses."""
        self.close()
        self.last = number
        name = exercise.answer_name()
        self.note(f"later cells change names that {name} uses: it was tried as it stood after {self.places[number]}")
        try:
            return self.examine(exercise, left)
        finally:
            self.close()
            self.last = 0

    def failed_attempt(self, exercise: Exercise) -> Verdict | None:
        """Return the verdict on an answer in a cell that does not run as far as its definition, None without one."""
        name = exercise.answer_name()
        trouble = self.trouble_with(name, exercise.id)
        if trouble is None:
            return None
        because = f"the cell that should define {name} did not run to its end, so there is no answer to try"
        step = "run that cell in Jupyter: it has to end, and without an error"
        lines = (("cell", trouble), ("because", because), ("next", step))
        return Verdict(exercise.id, NOT_YET, DOES_NOT_RUN, lines, ())

    def trouble_with(self, name: str, exercise: str = "") -> str | None:
        """Return what happened to the learner's last cell that should define a name and failed."""
        for part in reversed(self.parts):
            own = (exercise and part.exercise == exercise) or defines(part.source, name)
            if own and part.changed and part.number in self.failures:
                self.told.add(part.number)
                return self.failures[part.number]
        return None

    def causes_of_missing_names(self, evidence: Evidence) -> list[tuple[str, str]]:
        """Return a note on every cell that should have defined a name which an answer misses, and failed."""
        texts = [seen.raised.text for seen in evidence.observations if seen.raised is not None]
        names = dict.fromkeys(name for text in texts for name in MISSING_NAME.findall(text))
        found = [self.trouble_with(name) for name in names]
        return [("note", trouble) for trouble in found if trouble is not None]

    def error_words(self, raised: Raised) -> str:
        """Return what a cell raised and in which of its lines, on one line, lest it be taken for more of a message."""
        text = re.sub(r" ?\(<cell \d+>, (line \d+)\)", r" (\1)", raised.text)
        line = f" (line {raised.line})" if raised.source.startswith("<cell ") else ""
        memory = memory_words(raised, self.settings.memory)
        return " ".join(": ".join(part for part in (raised.types[0], text) if part).split()) + line + memory

    def widen(self) -> bool:
        """Run all cells from now on, when an answer misses a name; return False when that has been done."""
        if self.everything or all(part.needed for part in self.parts):
            return False
        self.everything = True
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
            return self.with_notes_on_calls(found)
        except Missing as error:
            self.note(str(error))
            self.asked = 0
            return [Verdict(exercise.id, STOPPED, None, (("because", str(error)),)) for exercise in self.exercises]
        finally:
            self.close()
            self.note_failures()

    def with_notes_on_calls(self, verdicts: list[Verdict]) -> list[Verdict]:
        """Tell every answer that was tried and failed which failed answer it calls: its own lines may be right."""
        failed = {e.answer_name() for e, v in zip(self.exercises, verdicts) if v.status in (NOT_YET, STOPPED)}
        told = []
        for exercise, verdict in zip(self.exercises, verdicts):
            name = exercise.answer_name()
            if name in failed and verdict.misconception != DOES_NOT_RUN:
                self.called[exercise.id] = sorted(called_by(name, self.parts) & failed - {name})
            notes = map(note_on_calling, self.called.get(exercise.id, ()))
            told.append(replace(verdict, lines=(*verdict.lines, *notes)))
        return told

    def note_failures(self) -> None:
        """Note the cells that failed, unless an exercise tells of them, and the commands that were not run."""
        for number in sorted(self.failures.keys() - self.told):
            self.note(self.failures[number])
        commands = [self.places[part.number] for part in self.parts if part.needed and COMMAND.search(part.source)]
        if commands:
            self.note(f"commands (% or !) are not run: {', '.join(commands)}")


def defines(source: str, name: str) -> bool:
    """Return whether a cell, which may not even be Python, sets out to define a name."""
    return bool(re.search(rf"^[ \t]*(?:(?:def|class)[ \t]+{name}\b|{name}[ \t]*=)", source, re.MULTILINE))


def called_by(name: str, parts: list[Part]) -> set[str]:
    """Return the names that the last definition of a function calls; its source is read here, and never parsed."""
    for part in reversed(parts):
        code = NO_CODE.sub("", part.source)
        if body := re.search(rf"^def[ \t]+{name}\b(?P<rest>.*(?:\n(?!\S).*)*)", code, re.MULTILINE):
            return set(re.findall(r"\b(\w+)\(", body["rest"]))  # with \b in one pass, however long a word is
    return set()


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
    try:
        exercises = lessons.exercises(submission.lesson) if submission.lesson else ()
    except ImportError:
        exercises, submission = (), replace(submission, problem="its lesson is not installed")
    if submission.problem or not exercises:
        notes = (*submission.notes, *([submission.problem] if submission.problem else []))
        return row_without_verdicts(submission, notes, exercises)
    interview = Interview(submission, exercises, examiner, workshop, list(submission.notes))
    verdicts = interview.verdicts()
    if not interview.asked:
        interview.note("nothing could be asked: a human has to look at it")
    broken = [verdict.exercise for verdict in verdicts if verdict.status == BROKEN]
    if broken:
        interview.note(f"not judged, which is our mistake: {', '.join(broken)}")
    human = bool(broken) or not interview.asked
    results = [
        result_row(exercise, verdict, bool(interview.asked), interview.called.get(exercise.id, []))
        for exercise, verdict in zip(exercises, verdicts)
    ]
    row = row_without_verdicts(submission, interview.notes, exercises) | {"exercises": results}
    return row if human else row | {"status": GRADED, "score": sum(result["points"] for result in results)}


def row_without_verdicts(submission: Submission, notes, exercises: tuple[Exercise, ...] = ()) -> dict:
    """Return the row of a submission that needs a human: its score is not known, which is not the same as 0."""
    return {
        "student": submission.student,
        "lesson": submission.lesson,
        "file": submission.file,
        "status": NEEDS_HUMAN,
        "score": None,
        "max_score": float(sum(exercise.points for exercise in exercises)),
        "notes": [readable(note) for note in notes],
        "exercises": [],
    }


def result_row(exercise: Exercise, verdict: Verdict, asked: bool, called: list[str]) -> dict:
    """Return one exercise's part of a row; its points are not known when nothing was `asked`, or nothing judged.

    `called` names the wrong answers to other exercises that a wrong answer calls.
    """
    points = float(exercise.points) if verdict.status == PASSED else 0.0
    return {
        "id": exercise.id,
        "status": verdict.status,
        "points": points if asked and verdict.status != BROKEN else None,
        "max_points": float(exercise.points),
        "misconception": verdict.misconception,
        "calls_wrong": called,
        "message": readable("\n".join(f"{label}: {text}" for label, text in verdict.lines)),
    }


def readable(text: str) -> str:
    """Return a text of several lines in which no sign of a learner's acts on the rest of it."""
    return "\n".join(visible(line) for line in text.split("\n"))


examiner_for = functools.lru_cache(maxsize=4)(Examiner)  # a run's, shared by the threads of this process
workshop_for = functools.lru_cache(maxsize=4)(Workshop)


def workshop_of(settings: Settings) -> Workshop:
    """Return this process's workshop for the limits of a run."""
    return workshop_for(settings.memory, settings.timeout, settings.can_fork)


def grade_batch(submissions: list[Submission], settings: Settings) -> list[dict]:
    """Grade some submissions where this is called: in a thread, in another process, or on another machine."""
    examiner, workshop = examiner_for(settings), workshop_of(settings)
    return [grade_submission(submission, examiner, workshop) for submission in submissions]
