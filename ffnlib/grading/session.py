"""A conversation with one worker: it runs the cells, then its answers are asked, question by question."""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass, field

import numpy as np

from ffnlib.examination import evidence as gathering
from ffnlib.examination.evidence import Evidence, Handle, asking
from ffnlib.examination.exercise import Exercise, Remote
from ffnlib.grading.examiner import Examiner
from ffnlib.grading.line import MOST_THREADS, Crowded, Ended, Malformed, TooLate, accepted, accepted_exception
from ffnlib.grading.submission import COMMAND

LARGEST_GIFT = 4_000  # numbers an answer may send to a function of the judge's
TORCH = re.compile(r"\btorch\b")


@dataclass(frozen=True)
class Part:
    """A cell to run: `exercise` when it is that exercise's own answer cell, `changed` when the learner wrote in it."""

    number: int
    source: str
    exercise: str = ""
    changed: bool = True
    needed: bool = True


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
        pairs = type(session.outdated) is tuple and all(type(pair) is tuple for pair in session.outdated)
        if word != "loaded" or not pairs or any([*map(type, pair)] != [str, int] for pair in session.outdated):
            raise Malformed("a message out of turn")
    except (TooLate, Ended, Crowded, Malformed, TypeError, ValueError, IndexError) as error:
        raise Stopped(end_in_words(session, error, f"{cell_seconds:.3g} s"), running) from None
    return session


def end_in_words(session: Session, error: Exception, words_of_time: str) -> str:
    """End a session's worker and say why."""
    end = session.worker.end()
    if isinstance(error, TooLate):
        return f"it did not end in {words_of_time}"
    if isinstance(error, Crowded):
        return f"it ran more than {MOST_THREADS} threads at once"
    if isinstance(error, Ended):
        return end
    return "it sent what no honest cell sends"


def ask(session: Session, examiner: Examiner, exercise: Exercise, number: int, deadline: float) -> Evidence:
    """Put an exercise's questions to the answer that one cell bound, and return the evidence.

    **Raises** TooLate, Ended, Crowded or Malformed
    """
    name, line = exercise.answer_name(), session.worker.line
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
        if type(message) is not tuple or len(message) < 2 or type(message[0]) is not str:
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
    """Return how many numbers plain data holds; an axis without an entry counts as one, since the others still cost."""
    if type(value) is np.ndarray:
        return math.prod(max(1, length) for length in value.shape) + value.ndim
    return sum(size_of(item) for item in value) + 1 if type(value) in (tuple, list) else 1
