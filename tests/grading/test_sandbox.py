"""The layers around a worker, and the worker that is started where none can be forked."""

import socket
import struct
import sys
from types import SimpleNamespace

import pytest

from ffnlib.grading import cli, workshop
from ffnlib.grading.cli import grade_folder
from ffnlib.grading.examiner import Settings
from ffnlib.grading.worker import sandbox, server
from ffnlib.grading.workshop import CannotWork, Forked, Workshop
from tests.grading import build_submissions as golden

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Landlock and seccomp are Linux's")


@linux
def test_the_report_names_the_layers(hand_in, tmp_path):
    grade_folder(hand_in("ann.ipynb"), tmp_path / "out")
    words = (tmp_path / "out" / "report.json").read_text("utf-8")
    assert "rlimits" in words and "no_new_privs" in words
    assert "landlock" in words or "seccomp" in words


def instructions(code):
    return [struct.unpack("=HBBI", code[at : at + 8]) for at in range(0, len(code), 8)]


def decide(code, number, arguments=(0,) * 6, architecture=0xC000003E):
    """Return what a filter does with a system call: the few instructions it uses, interpreted."""
    data = struct.pack("=iIQ6Q", number, architecture, 0, *arguments)
    value, at = 0, 0
    program = instructions(code)
    while True:
        operation, yes, no, constant = program[at]
        at += 1
        if operation == sandbox.LOAD:
            (value,) = struct.unpack_from("=I", data, constant)
        elif operation == sandbox.RETURN:
            return constant
        else:
            true = {
                sandbox.EQUAL: value == constant,
                sandbox.AT_LEAST: value >= constant,
                sandbox.ANY_BIT: bool(value & constant),
            }[operation]
            at += yes if true else no


@pytest.mark.parametrize("machine", sandbox.ARCHITECTURES)
def test_the_filter_decides_as_its_table_says(machine):
    column, audit = sandbox.ARCHITECTURES[machine]
    code = sandbox.seccomp_filter(machine, 4711)
    refused, allowed = sandbox.ERRNO | sandbox.EPERM, sandbox.ALLOW

    def call(number, *arguments):
        return decide(code, number, (*arguments, *(0,) * (6 - len(arguments))), audit)

    for name, numbers in sandbox.DENIED.items():
        if numbers[column] is not None:
            assert call(numbers[column]) == refused, name
    number = {name: numbers[column] for name, numbers in sandbox.CONDITIONAL.items()}
    assert call(number["clone"], 0x11) == refused and call(number["clone"], 0x3D0F00) == allowed
    assert call(number["clone3"]) == sandbox.ERRNO | sandbox.ENOSYS
    assert call(number["tgkill"], 1) == refused and call(number["tgkill"], 4711) == allowed
    assert call(number["prlimit64"], 0, 9, 0) == allowed
    assert call(number["prlimit64"], 0, 9, 1 << 40) == call(number["prlimit64"], 0, 9, 8) == refused
    for flags, wanted in ((0, allowed), (0o2000000, allowed), (1, refused), (2, refused), (0o100, refused)):
        assert call(number["openat"], 0, 0, flags) == wanted
    assert decide(code, 0, architecture=0x40000003) == sandbox.KILL
    assert call(0x40000000 + 1) == refused
    assert call(0) == allowed or machine == "aarch64"


def test_an_unknown_machine_has_no_filter():
    assert sandbox.seccomp_filter("riscv64", 1) is None


def test_nothing_counts_as_a_sandbox_without_landlock_or_seccomp():
    assert not sandbox.is_confined(["rlimits", "no_new_privs"])
    assert sandbox.is_confined(["landlock 1"]) and sandbox.is_confined(["seccomp"])


def test_without_a_sandbox_the_submissions_have_to_be_trusted(hand_in, tmp_path, monkeypatch):
    monkeypatch.setattr(cli.sandbox, "is_confined", lambda layers: False)
    with pytest.raises(CannotWork, match="--trusted"):
        grade_folder(hand_in("ann.ipynb"), tmp_path / "out")


@pytest.fixture(scope="module")
def portable_rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("submissions")
    for kind in ("right", "wrong", "endless_answer", "exits_in_a_cell"):
        file, data, _ = golden.KINDS[kind]
        (folder / kind).mkdir()
        (folder / kind / file).write_bytes(data)
    rows = grade_folder(folder, tmp_path_factory.mktemp("out"), can_fork=False, trusted=True, timeout=15)
    return {row["student"]: row for row in rows}


@pytest.mark.parametrize("kind", ["right", "wrong", "endless_answer", "exits_in_a_cell"])
def test_a_started_worker_gives_the_same_rows_as_a_forked_one(portable_rows, kind):
    _, _, expected = golden.KINDS[kind]
    assert portable_rows[kind]["score"] == expected["score"]
    assert all(says in str(portable_rows[kind]) for says in expected["says"])


def test_a_worker_does_not_outlive_its_workshop():
    workshop = Workshop(256, 5.0)
    worker = workshop.worker()
    workshop.close()
    with pytest.raises(CannotWork):
        worker.end()


def test_a_machine_without_a_place_for_one_more_process_is_waited_for(monkeypatch):
    replies, asked = [-1, -1, 4711], []
    server = SimpleNamespace(ask=lambda word, descriptor: asked.append(word) or replies.pop(0))
    assert Forked(server).pid == 4711 and asked == [b"fork"] * 3
    monkeypatch.setattr(workshop, "FORK_SECONDS", -1.0)
    with pytest.raises(CannotWork, match="as many processes as it may"):
        Forked(SimpleNamespace(ask=lambda *_: -1))


@linux
def test_a_process_that_could_not_be_forked_ends_no_server(monkeypatch):
    def full():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(server.os, "fork", full)
    ours, theirs = socket.socketpair()
    descriptor = theirs.detach()
    assert server.fork(ours, descriptor, 64, 1.0, (-1, "")) == -1
    with ours, pytest.raises(OSError):
        server.os.close(descriptor)  # it is closed: the judge's end would never hear of an end


def test_settings_are_plain_data_that_can_travel():
    import pickle

    assert pickle.loads(pickle.dumps(Settings(5))) == Settings(5)
