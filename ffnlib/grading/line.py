"""The judge's end of the line to a worker: what it says, and what it accepts of what it hears.

The worker's end runs learners' code, so whatever arrives from there is bytes to be refused. Nothing is unpickled or
evaluated; sizes are bounded before anything is read, and every field is checked before the judge sees it.
"""

from __future__ import annotations

import json
import socket
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

from ffnlib.examination.evidence import (
    DEEPEST_LIST,
    LARGEST_ARRAY,
    LARGEST_INTEGER,
    LARGEST_TEXT,
    Evidence,
    Observation,
    Raised,
    Seen,
    from_bytes,
)
from ffnlib.grading.worker.frames import Ended, framed

LARGEST_MESSAGE = 40_000_000  # bytes
LARGEST_HEAD = 16_000_000  # bytes of a message that are not array contents
LARGEST_CONVERSATION = 160_000_000  # bytes about one exercise
MOST_FACTS = 100  # about one module, at every level
MOST_THREADS = 64  # at once; they take next to nothing of a worker's own memory, and a process's place in the machine
LOOKS = 0.1  # seconds from one count of a worker's threads to the next


class Malformed(ValueError):
    """What came from the other end is not a message."""


class TooLate(Exception):
    """The other end did not answer in time."""


class Crowded(Exception):
    """The other end runs more threads than any answer needs."""


class Line:
    """The judge's end: every word has to be spoken before a deadline, and no more than an allowance is listened to.

    While it waits, it counts the threads of the process `pid` at the other end, where the system tells of them.
    """

    def __init__(self, channel: socket.socket):
        self.channel = channel
        self.allowance = LARGEST_CONVERSATION
        self.pid, self.next_look = 0, 0.0

    def allow_conversation(self) -> None:
        """Grant the allowance for the next exercise."""
        self.allowance = LARGEST_CONVERSATION

    def put(self, value, deadline: float) -> None:
        """Send plain data, or raise TooLate, Ended or Crowded."""
        data = memoryview(framed(value))
        while data:
            sent = self._wait(self.channel.send, data, deadline)
            data = data[sent:]

    def get(self, deadline: float):
        """Return the next plain data, or raise TooLate, Ended, Crowded or Malformed."""
        size = int.from_bytes(self.raw(8, deadline), "big")
        self.allowance -= size
        if size > LARGEST_MESSAGE or self.allowance < 0:
            raise Malformed(f"a message of {size} bytes")
        data = self.raw(size, deadline)
        if int.from_bytes(data[:8], "big") > LARGEST_HEAD:
            raise Malformed("a message with too many parts")
        try:
            json.loads(data[8 : 8 + int.from_bytes(data[:8], "big")], object_pairs_hook=_cheap_to_rebuild)
            return from_bytes(data)
        except (ValueError, TypeError, LookupError, RecursionError, MemoryError) as error:
            raise Malformed(str(error)) from None

    def raw(self, size: int, deadline: float) -> bytes:
        """Return exactly `size` bytes, or raise TooLate, Ended or Crowded."""
        parts = []
        while size:
            part = self._wait(self.channel.recv, min(size, 1 << 20), deadline)
            if not part:
                raise Ended
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _wait(self, act, argument, deadline: float):
        """Return what sending or receiving returns, once the other end is ready for it."""
        while True:
            self._look()
            try:
                self.channel.settimeout(min(_left(deadline), LOOKS))
                return act(argument)
            except TimeoutError:
                continue
            except OSError:
                raise Ended from None

    def _look(self) -> None:
        now = time.monotonic()
        if now >= self.next_look:
            self.next_look = now + LOOKS
            if threads_of(self.pid) > MOST_THREADS:
                raise Crowded


def threads_of(pid: int) -> int:
    """Return how many threads a process has, 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()  # the name may hold anything
    except OSError:
        return 0
    return int(fields[17])


def _cheap_to_rebuild(pairs: list) -> dict:
    """Return an object of a message's head, unless rebuilding it takes more than a time in proportion to its size.

    Numbers as keys can be chosen so that all of them collide, and a fraction is reduced when it is made.
    """
    found = dict(pairs)
    if not all(type(entry[0]) is str for entry in found.get("dict", ())):
        raise Malformed("a dict with keys that are not text")
    if sum(len(part) for part in found.get("fraction", ())) > LARGEST_INTEGER:
        raise Malformed("a fraction of too many digits")
    return found


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TooLate
    return left


# ---------------------------------------------------------------- what the judge accepts


def accepted(action: str, reply):
    """Return a reply to a question of that kind, unchanged, once every field has been checked.

    **Raises** Malformed
    """
    if action == "watch":
        _require(type(reply) is bool, reply)
    elif action == "look":
        _require(type(reply) is Evidence and reply.library is False, reply)
        _require(type(reply.observations) is tuple and not reply.observations, reply)
        _require(type(reply.problem) is str and reply.problem in ("", "not callable", "not a class"), reply)
        _require(reply.answer is not None or not reply.problem, reply)
        _texts(reply.parameters, 100)
        if reply.answer is not None:
            _seen(reply.answer, 0)
            _require(reply.answer.kind != "module", reply)
    else:
        _observation(reply)
        _require(action == "build" or reply.returned is None or reply.returned.kind != "module", reply)
    return reply


def _require(condition: bool, value) -> None:
    if not condition:
        raise Malformed(f"a {type(value).__name__} that no honest worker sends")


def _texts(values, most: int) -> None:
    _require(type(values) is tuple and len(values) <= most, values)
    for value in values:
        _text(value)


def _text(value) -> None:
    _require(type(value) is str and len(value) <= LARGEST_TEXT + 100, value)


def _observation(value) -> None:
    _require(type(value) is Observation, value)
    _require(value.returned is not None or value.raised is not None, value)
    if value.returned is not None:
        _seen(value.returned, 0)
        _require(value.raised is None or value.returned.kind == "module", value)  # it can be built and fail to run
    if value.raised is not None:
        accepted_exception(value.raised)
    _require(type(value.changed) is tuple and len(value.changed) <= 100, value)
    for position in value.changed:
        _require(type(position) is int and 0 <= position < 100, value)
    _texts(value.warned, 3)


def accepted_exception(value) -> Raised:
    """Return a described exception, unchanged, once every field has been checked.

    **Raises** Malformed
    """
    _require(type(value) is Raised, value)
    _texts(value.types, 8)
    _require(len(value.types) > 0, value)
    _text(value.text)
    _text(value.source)
    for number in (value.line, value.depth):
        _require(type(number) is int and 0 <= number < 2**31, value)
    return value


def _seen(value, depth: int) -> None:
    _require(type(value) is Seen and depth <= DEEPEST_LIST + 1, value)
    for text in (value.kind, value.type, value.dtype, value.note):
        _text(text)
    _require(type(value.shape) is tuple and len(value.shape) <= 64, value)
    for length in value.shape:
        _require(type(length) is int and 0 <= length < 2**40, value)
    check = _CONTENT.get(value.kind)
    _require(check is not None, value)
    check(value, depth)


def _nothing(value: Seen, _depth: int) -> None:
    _require(value.value is None, value)


def _array(value: Seen, _depth: int) -> None:
    if value.value is not None:
        _require(type(value.value) is np.ndarray, value)
        _require(value.value.shape == value.shape and value.value.size <= LARGEST_ARRAY, value)
        _require(value.dtype in (value.value.dtype.name, "longdouble", "complex"), value)


def _integer(value: Seen, _depth: int) -> None:
    _require(type(value.value) is int and value.value.bit_length() <= LARGEST_INTEGER, value)


def _fraction(value: Seen, _depth: int) -> None:
    _require(type(value.value) is Fraction, value)
    size = value.value.numerator.bit_length() + value.value.denominator.bit_length()
    _require(size <= LARGEST_INTEGER, value)


def _exact(kind: type):
    def check(value: Seen, _depth: int) -> None:
        _require(type(value.value) is kind, value)

    return check


def _plain_text(value: Seen, _depth: int) -> None:
    _text(value.value)


def _items(value: Seen, depth: int) -> None:
    _require(type(value.value) is tuple, value)
    for item in value.value:
        _seen(item, depth + 1)


def _entries(value: Seen, depth: int) -> None:
    _require(type(value.value) is tuple, value)
    for entry in value.value:
        _require(type(entry) is tuple and len(entry) == 2, value)
        _text(entry[0])
        _seen(entry[1], depth + 1)


def _module(value: Seen, depth: int) -> None:
    _require(type(value.value) is dict and depth == 0, value)
    _texts(tuple(value.value), MOST_FACTS)
    for fact in value.value.values():
        _fact(fact, 1)
    attempts = value.value.get("attempts", ())
    _require(type(attempts) is tuple, value)
    for attempt in attempts:
        _require(type(attempt) is tuple and [type(part) for part in attempt] == [str, Seen, Seen, Seen], value)


def _fact(value, depth: int) -> None:
    """Refuse whatever is no plain fact about a module."""
    kind = type(value)
    if kind is tuple or kind is list:
        _require(len(value) <= MOST_FACTS and depth <= DEEPEST_LIST, value)
        for item in value:
            _fact(item, depth + 1)
    elif kind is Seen:
        _seen(value, 1)
    elif kind is Raised:
        accepted_exception(value)
    elif kind is str:
        _text(value)
    elif kind is int:
        _require(0 <= value < 2**40, value)
    else:
        _require(value is None or kind is bool, value)


_CONTENT = {
    "array": _array,
    "int": _integer,
    "float": _exact(float),
    "bool": _exact(bool),
    "complex": _exact(complex),
    "fraction": _fraction,
    "text": _plain_text,
    "list": _items,
    "tuple": _items,
    "dict": _entries,
    "none": _nothing,
    "ellipsis": _nothing,
    "module": _module,
    "large": _nothing,
    "other": _nothing,
}
