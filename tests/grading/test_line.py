"""What the judge hears from a worker: refused unless every field is what an honest worker sends."""

import os
import random
import socket
import sys
import threading
import time
from fractions import Fraction

import numpy as np
import pytest

from ffnlib.examination.evidence import Evidence, Observation, Raised, Seen, from_bytes, take, to_bytes
from ffnlib.grading.line import (
    LARGEST_MESSAGE,
    MOST_THREADS,
    Crowded,
    Line,
    Malformed,
    TooLate,
    accepted,
    threads_of,
)
from ffnlib.grading.worker.frames import Ended, receive, send

HONEST = [1, 1.5, True, None, ..., 2j, Fraction(1, 3), "text", [1, (2.0, [3])], {"a": 1}, np.zeros((2, 3)), np.int8(3)]
HONEST += [object(), np.longdouble(1), np.array("x"), 10**3000]


@pytest.mark.parametrize("value", HONEST, ids=lambda value: type(value).__name__)
def test_what_an_honest_worker_sees_is_accepted(value):
    reply = from_bytes(to_bytes(Observation(take(value))))
    assert accepted("call", reply) is reply


def test_exceptions_and_looks_are_accepted():
    accepted("call", Observation(raised=Raised(("ValueError", "Exception"), "no", 3, "<cell 4>", 1), changed=(0,)))
    accepted("look", Evidence(parameters=("x",)))
    accepted("look", Evidence(answer=take(3), problem="not callable"))
    accepted("watch", True)


ARRAY = np.zeros((2, 3))
REFUSED = [
    ("watch", 1),
    ("watch", Observation(take(1))),
    ("look", Observation(take(1))),
    ("look", Evidence(problem="passed")),
    ("look", Evidence(problem="not callable")),
    ("look", Evidence((Observation(take(1)),))),
    ("look", Evidence(parameters=("x",) * 1000)),
    ("look", Evidence(parameters="x")),
    ("look", Evidence(library=True)),
    ("look", Evidence(np.zeros(0))),
    ("look", Evidence(problem=np.zeros(2))),
    ("look", Evidence(answer=take(1), problem=np.zeros(2))),
    ("call", None),
    ("call", True),
    ("call", Evidence()),
    ("call", Observation()),
    ("call", Observation(take(1), Raised(("E",)))),
    ("call", Observation(3)),
    ("call", Observation(Seen("passed", "bool", True))),
    ("call", Observation(Seen("int", "int", True))),
    ("call", Observation(Seen("int", "int", 2**9000))),
    ("call", Observation(Seen("float", "float", 1))),
    ("call", Observation(Seen("text", "str", "x" * 10_000))),
    ("call", Observation(Seen("list", "list", [1]))),
    ("call", Observation(Seen("list", "list", (1,)))),
    ("call", Observation(Seen("dict", "dict", (("a",),)))),
    ("call", Observation(Seen("none", "NoneType", 0))),
    ("call", Observation(Seen("array", "ndarray", [1.0]))),
    ("call", Observation(Seen("array", "ndarray", ARRAY, "float64", (3, 2)))),
    ("call", Observation(Seen("array", "ndarray", ARRAY, "float32", (2, 3)))),
    ("call", Observation(Seen("array", "ndarray", None, "float64", (-1,)))),
    ("call", Observation(Seen("array", "ndarray", None, "float64", (True,)))),
    ("call", Observation(Seen("array", None))),
    ("call", Observation(take(1), changed=(-1,))),
    ("call", Observation(take(1), changed=[0])),
    ("call", Observation(take(1), warned=("x",) * 1000)),
    ("call", Observation(raised=Raised(()))),
    ("call", Observation(raised=Raised(("E",), line=-1))),
    ("call", Observation(raised=Raised(("E",), source=3))),
]


@pytest.mark.parametrize(("action", "reply"), REFUSED, ids=[str(number) for number in range(len(REFUSED))])
def test_what_no_honest_worker_sends_is_refused(action, reply):
    with pytest.raises(Malformed):
        accepted(action, reply)


def deep(levels):
    return take(1) if not levels else Seen("list", "list", (deep(levels - 1),))


def test_values_deeper_than_any_that_are_taken_are_refused():
    with pytest.raises(Malformed):
        accepted("call", Observation(deep(12)))


def test_changed_bytes_are_refused_or_harmless():
    """Any bytes become plain data or a ValueError, and any plain data is accepted as it is or refused."""
    draw = random.Random(5)
    whole = to_bytes(Observation(take([np.zeros(3), {"a": 1}, "x", 2**70])))
    for _ in range(3000):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            where = draw.randrange(len(data))
            data[where : where + draw.randint(0, 3)] = draw.randbytes(draw.randint(0, 3))
        try:
            accepted("call", from_bytes(bytes(data)))
        except ValueError:
            continue


HOSTILE_HEADS = [
    '{"int":"' + "f" * 1000 + "z" + '"}',
    '{"array":["<f8",[1e9],8,false]}',
    '{"array":["O",[1],8,false]}',
    '{"array":["<f8",[-1],0,false]}',
    '{"array":["<f8,<f8",[1],16,false]}',
    '{"array":[["<f8"],[1],8,false]}',
    '{"array":["<f8",{"a":1},8,false]}',
    '{"dict":[[{"list":[]},{"int":"1"}]]}',
    '{"__class__":"os.system"}',
    '{"Seen":[]}',
    '{"Seen":[1,2,3,4,5,6,7,8,9]}',
    '{"fraction":["1","0"]}',
    '{"float":"nan_"}',
    '{"scalar":{"list":[]}}',
    "[1]",
    "1",
    "1" * 5000,
    "{}",
    '{"int":"1","float":"1"}',
    "",
    "nul",
]


@pytest.mark.parametrize("head", HOSTILE_HEADS)
def test_a_hostile_head_is_a_value_error(head):
    with pytest.raises(ValueError, match="not evidence"):
        from_bytes(len(head).to_bytes(8, "big") + head.encode())


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Line(ours), theirs


def soon():
    return time.monotonic() + 60


def test_plain_data_arrives_as_it_was_sent(ends):
    line, worker = ends
    send(worker, ("reply", np.arange(3)))
    assert line.get(soon())[1].tolist() == [0, 1, 2]
    line.put({"a": 1}, soon())
    assert receive(worker) == {"a": 1}


def test_a_large_message_is_refused_before_it_is_read(ends):
    line, worker = ends
    worker.sendall((LARGEST_MESSAGE + 1).to_bytes(8, "big"))
    with pytest.raises(Malformed):
        line.get(soon())


def test_many_messages_use_up_the_allowance(ends):
    line, worker = ends
    line.allowance = 100
    with pytest.raises(Malformed):
        for _ in range(100):
            send(worker, 1)
            line.get(soon())


def test_slow_drops_do_not_move_the_deadline(ends):
    line, worker = ends
    worker.sendall(b"\0")
    with pytest.raises(TooLate):
        line.get(time.monotonic() + 0.2)


def test_a_worker_that_does_not_listen_is_too_late(ends):
    line, _ = ends
    with pytest.raises(TooLate):
        line.put(np.zeros(3_000_000), time.monotonic() + 0.5)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells how many threads a process has")
def test_a_crowd_of_threads_is_seen_while_the_line_waits(ends):
    line, _ = ends
    line.pid, over = os.getpid(), threading.Event()
    assert threads_of(line.pid) <= MOST_THREADS
    crowd = [threading.Thread(target=over.wait) for _ in range(MOST_THREADS)]
    for thread in crowd:
        thread.start()
    try:
        for wait in (lambda: line.get(soon()), lambda: line.put(np.zeros(3_000_000), soon())):
            line.next_look = 0.0
            with pytest.raises(Crowded):
                wait()
    finally:
        over.set()
        for thread in crowd:
            thread.join()
    assert threads_of(line.pid) <= MOST_THREADS


def test_a_closed_line_is_an_end(ends):
    line, worker = ends
    worker.close()
    with pytest.raises(Ended):
        line.get(soon())
