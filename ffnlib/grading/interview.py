"""One submission, examined: its cells are run in a worker, its answers asked, and what comes back is judged here.

The judge's side. It holds the probes and the oracles, believes nothing a worker sends, and gives points for the right
results of calls and for nothing else.
"""

from __future__ import annotations

import functools
import hashlib
import re
import threading
import time
from dataclasses import dataclass, field, replace

import numpy as np

from ffnlib.examination import evidence as gathering
from ffnlib.examination import lessons
from ffnlib.examination.evidence import Evidence, Handle, asking
from ffnlib.examination.exercise import Exercise, Remote
from ffnlib.examination.judge import draw, judge, separating
from ffnlib.examination.verdict import BROKEN, NOT_YET, PASSED, UNTOUCHED, Verdict
from ffnlib.grading.line import Ended, Malformed, TooLate, accepted, accepted_exception
from ffnlib.grading.submission import COMMAND, Cell, Submission, normalised, released
from ffnlib.grading.worker.sandbox import is_confined
from ffnlib.grading.workshop import CAN_FORK, CannotWork, Missing, Workshop

STOPPED = "stopped"
GRADED, NEEDS_HUMAN = "graded", "needs-human"
MOST_REPLAYS = 3  # without a cell that hangs or dies
LARGEST_GIFT = 20_000  # numbers an answer may send to a function of the judge's
TORCH = re.compile(r"\btorch\b")
SEEDS = 40  # tried until the probes separate


@dataclass(frozen=True)
class Settings:
    """How a run is graded: its secret seed, its limits, and whether inputs and expected values may be shown."""

    seed: int
    timeout: float = 30.0
    memory: int = 1024
    trusted: bool = False
    graded: bool = True
    can_fork: bool = CAN_FORK

    def workshop(self) -> Workshop:
        """Return this process's workshop for these limits."""
        return workshop_for(self.memory, self.timeout, self.can_fork)


@dataclass
class Session:
    """A worker whose cells have run: which of them bound which names, and how cells failed."""

    worker: object
    layers: tuple[str, ...] = ()
    bound: dict[str, list[int]] = field(default_factory=dict)
    failed: dict[int, gathering.Raised] = field(default_factory=dict)
    outdated: tuple = ()  # (name, cell) of answers that use names which later cells give another meaning


class Stopped(Exception):
    """A worker was ended: `words` say why, `cell` which cell was running, 0 for none."""

    def __init__(self, words: str, cell: int = 0):
        super().__init__(words)
        self.words, self.cell = words, cell


# ---------------------------------------------------------------- probes


class Examiner:
    """The probes of one run, drawn once, and the verdicts given so far: the same evidence, the same verdict."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.turn = threading.RLock()  # the judge silences warnings, which Python does for all threads at once
        self.drawn: dict[str, tuple] = {}
        self.given: dict[tuple, Verdict] = {}

    def probes(self, exercise: Exercise) -> tuple:
        """Return the secret probes of an exercise, redrawn until they tell all its programs apart."""
        with self.turn:
            if exercise.id not in self.drawn:
                self.drawn[exercise.id] = self._draw(exercise)
            return self.drawn[exercise.id]

    def _draw(self, exercise: Exercise) -> tuple:
        if not self.settings.graded:
            return draw(exercise, exercise.seed)
        word = f"{self.settings.seed}:{exercise.id}".encode()
        seed = int.from_bytes(hashlib.sha256(word).digest()[:8], "big")
        return separating(exercise, range(seed, seed + SEEDS))

    def verdict(self, exercise: Exercise, evidence: Evidence) -> Verdict:
        """Return the verdict on evidence, whatever the evidence is."""
        with self.turn:
            key = (exercise.id, hashlib.sha256(gathering.to_bytes(evidence)).digest())
            if key not in self.given:
                self.given[key] = self._judged(exercise, evidence)
            return self.given[key]

    def _judged(self, exercise: Exercise, evidence: Evidence) -> Verdict:
        try:
            verdict = judge(exercise, self.probes(exercise), evidence)
        except Exception as error:
            text = f"this is our mistake, the work is safe ({type(error).__name__}); a human has to look at it"
            return Verdict(exercise.id, BROKEN, None, (("because", text),))
        return without_inputs(verdict) if self.settings.graded else verdict


def without_inputs(verdict: Verdict) -> Verdict:
    """Return a verdict for feedback: no input, no expected value, and no warning, whose text an answer chooses."""
    lines = verdict.without_values().lines
    return replace(verdict, lines=tuple(line for line in lines if not line[1].startswith("on the way:")))


# ---------------------------------------------------------------- which cells


def answer_name(exercise: Exercise) -> str:
    """Return the name an answer has in a notebook: the exercise's id, or the class it asks for."""
    return exercise.call_text().split("(")[0].strip()


@dataclass(frozen=True)
class Part:
    """A cell to run: `exercise` when it is that exercise's own answer cell, `changed` when the learner wrote in it."""

    number: int
    source: str
    exercise: str = ""
    changed: bool = True
    needed: bool = True


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


# ---------------------------------------------------------------- the worker


def libraries_for(parts: list[Part]) -> tuple[str, ...]:
    """Return the libraries that these cells need beside NumPy."""
    torch = any(TORCH.search(part.source) for part in parts)
    commands = any(COMMAND.search(part.source) for part in parts)
    return ("torch",) * torch + ("IPython.core.inputtransformer2",) * commands


def open_session(worker, parts: list[Part], names, deadline: float, cell_seconds: float) -> Session:
    """Have a worker run these cells, and return it with what became of them.

    **Raises** Stopped when a cell does not end, or ends the worker
    """
    session = Session(worker)
    line, running = session.worker.line, 0
    try:
        session.layers = tuple(line.get(deadline)[1])
        line.put((tuple((part.number, part.source) for part in parts), tuple(names)), deadline)
        for part in parts:
            running = part.number
            word, number, raised, bound = line.get(min(deadline, time.monotonic() + cell_seconds))
            if word != "ran" or number != part.number or not set(bound) <= set(names):
                raise Malformed("a message out of turn")
            if raised is not None:
                session.failed[number] = accepted_exception(raised)
            for name in bound:
                session.bound.setdefault(name, []).append(number)
        running = 0
        word, session.outdated = line.get(deadline)
        if word != "loaded" or type(session.outdated) is not tuple:
            raise Malformed("a message out of turn")
    except (TooLate, Ended, Malformed, TypeError, ValueError, IndexError) as error:
        raise Stopped(end_in_words(session, error, f"{cell_seconds:g} s"), running) from None
    return session


def end_in_words(session: Session, error: Exception, words_of_time: str) -> str:
    """End a session's worker and say why."""
    end = session.worker.end()
    if isinstance(error, TooLate):
        return f"it did not end in {words_of_time}"
    if isinstance(error, Ended):
        return end.in_words()
    return "it sent what no honest cell sends"


def ask(session: Session, examiner: Examiner, exercise: Exercise, number: int, deadline: float) -> Evidence:
    """Put an exercise's questions to the answer that one cell bound, and return the evidence.

    **Raises** TooLate, Ended or Malformed
    """
    name, line = answer_name(exercise), session.worker.line
    line.allow_conversation()
    conversation = asking(examiner.probes(exercise), exercise.wanted, exercise.library)
    question = next(conversation)
    while True:
        asked, functions = with_handles(question)
        line.put((name, number, asked), deadline)
        reply = accepted(question.action, reply_to(line, functions, deadline))
        try:
            question = conversation.send(reply)
        except StopIteration as finished:
            return finished.value


def with_handles(question):
    """Return the question as it travels, and the functions that stay here."""
    functions, args = [], []
    for arg in question.args:
        if type(arg) is Remote:
            args.append(Handle(len(functions), arg.calls))
            functions.append([arg.function, arg.calls])
        else:
            args.append(arg)
    travelling = gathering.Question(
        question.action, question.name, tuple(args), question.again, question.weights, question.inputs
    )
    return travelling, functions


def reply_to(line, functions: list, deadline: float):
    """Return the worker's reply; on the way, serve the functions that its answer was given."""
    while True:
        message = line.get(deadline)
        if type(message) is not tuple or len(message) < 2:
            raise Malformed("no reply")
        if message[0] == "reply":
            return message[1]
        if message[0] != "given" or len(message) != 3:
            raise Malformed("no reply")
        line.put(serve(functions, *message[1:]), deadline)


def serve(functions: list, number, args) -> tuple:
    """Call a function of the judge's with what an answer sent; return its value, or how it failed."""
    if type(number) is not int or not 0 <= number < len(functions) or type(args) is not tuple:
        raise Malformed("a call of no function")
    functions[number][1] -= 1
    if functions[number][1] < 0 or sum(size_of(arg) for arg in args) > LARGEST_GIFT:
        raise Malformed("more calls, or larger ones, than any answer needs")
    try:
        with np.errstate(all="ignore"):
            value = functions[number][0](*args)
            gathering.to_bytes(value)
        return "gave", value
    except Exception as error:
        return "raised", (type(error).__name__, str(error)[: gathering.LARGEST_TEXT])


def size_of(value) -> int:
    """Return how many numbers plain data holds."""
    if type(value) is np.ndarray:
        return value.size + value.ndim
    return sum(size_of(item) for item in value) + 1 if type(value) in (tuple, list) else 1


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
        started = time.monotonic()
        worker = self.workshop.worker(libraries_for(parts))
        self.deadline += time.monotonic() - started
        return worker

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


def with_failure(verdict: Verdict, evidence: Evidence) -> Verdict:
    """Add to a verdict where an answer raised: the type and the line, never the text, which may hold inputs."""
    raised = next((seen.raised for seen in evidence.observations if seen.raised is not None), None)
    if verdict.status != NOT_YET or raised is None:
        return verdict
    name = raised.types[0] if re.fullmatch(r"[A-Z][A-Za-z]{2,40}", raised.types[0]) else "an exception"
    place = re.fullmatch(r"<cell (\d{1,5})>", raised.source)
    where = f" in cell {place[1]}, line {raised.line}" if place else ""
    return Verdict(verdict.exercise, NOT_YET, verdict.misconception, (("raised", name + where), *verdict.lines), ())


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


def grade_batch(submissions: list[Submission], settings: Settings) -> list[dict]:
    """Grade some submissions where this is called: in a thread, in another process, or on another machine."""
    examiner, workshop = examiner_for(settings), settings.workshop()
    return [grade_submission(submission, examiner, workshop) for submission in submissions]
