"""The judge's handle on workers: it has them forked, speaks with them, and ends them."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

from ffnlib.grading.line import Ended, Line, TooLate
from ffnlib.grading.worker.server import REPLY

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120.0  # for the libraries to load on a slow disk
FORK_SECONDS = 30.0  # for the machine to have a place for one more process
CAN_FORK = sys.platform.startswith("linux")


class CannotWork(RuntimeError):
    """The grader itself cannot run workers; no submission is to blame."""


class Missing(RuntimeError):
    """A submission needs a library that is not installed here."""


def end_in_words(status: int) -> str:
    """Return what the operating system says of a worker's end."""
    if os.name == "posix" and os.WIFSIGNALED(status):
        return f"the process was ended by {signal.Signals(os.WTERMSIG(status)).name}"
    code = os.WEXITSTATUS(status) if os.name == "posix" else status
    return f"the process ended itself with exit status {code}"


def start_python(module: str, arguments: list[str], **options) -> subprocess.Popen:
    """Start a fresh Python in an empty environment that runs `main()` of one module of ours."""
    code = f"import sys; sys.path[:1] = [{str(ROOT)!r}]; from {module} import main; main()"
    environment = {"PYTHONHASHSEED": "0"}
    for name in ("OPENBLAS", "OMP", "MKL"):
        environment[f"{name}_NUM_THREADS"] = "1"  # threads do not survive a fork
    if os.name == "nt":
        environment["SYSTEMROOT"] = os.environ["SYSTEMROOT"]  # without it Windows opens no socket
    command = [sys.executable, "-s", "-W", "ignore", "-c", code, *arguments]
    lessons = ROOT / "notebooks"  # where a lesson's relative paths begin
    cwd = lessons if lessons.is_dir() else None
    # a session of its own: Ctrl-C reaches the grader alone, which then ends what it has started
    options["start_new_session"] = True
    options["creationflags"] = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # the same on Windows
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, cwd=cwd, **options)


class Server:
    """A running fork server."""

    def __init__(self, memory: int, seconds: float):
        self.control, theirs = socket.socketpair()
        self.turn = threading.Lock()
        self.loaded: set[str] = set()
        with theirs:
            descriptor = theirs.fileno()
            self.process = start_python(
                "ffnlib.grading.worker.server",
                [str(descriptor), str(memory), str(seconds)],
                pass_fds=[descriptor],
                stdin=subprocess.DEVNULL,
            )
        self.control.settimeout(START_SECONDS)

    def ask(self, message: bytes, descriptor: int | None = None) -> int:
        """Send one word to the server and return its reply."""
        with self.turn:
            try:
                socket.send_fds(self.control, [message], [] if descriptor is None else [descriptor])
                reply = b""
                while len(reply) < REPLY.size:
                    part = self.control.recv(REPLY.size - len(reply))
                    if not part:
                        raise CannotWork("the process that starts workers has ended")
                    reply += part
            except OSError as error:
                raise CannotWork(f"the process that starts workers does not answer: {error}") from None
        return REPLY.unpack(reply)[0]

    def load(self, name: str) -> None:
        """Have a library loaded for all workers to come."""
        if name not in self.loaded:
            self.ask(b"load " + name.encode())
            self.loaded.add(name)

    def close(self) -> None:
        """End the server and every worker of it."""
        with contextlib.suppress(OSError):
            self.control.shutdown(socket.SHUT_RDWR)  # whoever waits for a reply is told
        self.control.close()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Forked:
    """A worker forked by a server."""

    def __init__(self, server: Server):
        self.server = server
        ours, theirs = socket.socketpair()
        self.line = Line(ours)
        patience = time.monotonic() + FORK_SECONDS
        with theirs:
            while (pid := server.ask(b"fork", theirs.fileno())) < 0:  # between two questions, others can be ended
                if time.monotonic() > patience:
                    raise CannotWork(
                        "this machine runs as many processes as it may, or has no memory for one more; end others, or "
                        "give fewer --jobs, and go on with --resume"
                    )
                time.sleep(0.1)
        self.pid = self.line.pid = pid

    def end(self) -> str:
        """End the worker, whatever it is doing; return what the operating system says of its end."""
        status = self.server.ask(b"end %d" % self.pid)
        self.line.channel.close()
        return end_in_words(status)


class Started:
    """A worker started as a program of its own, where none can be forked."""

    def __init__(self, memory: int, seconds: float):
        with socket.create_server(("127.0.0.1", 0)) as door:
            door.settimeout(START_SECONDS)
            arguments = [str(door.getsockname()[1]), str(memory), str(seconds)]
            self.process = start_python("ffnlib.grading.worker.cells", arguments, stdin=subprocess.PIPE)
            token = secrets.token_bytes(32)
            self.process.stdin.write(token)
            self.process.stdin.close()
            self.line = Line(self._admit(door, token))
            self.line.pid = self.process.pid

    def _admit(self, door: socket.socket, token: bytes) -> socket.socket:
        """Return the connection of whoever knows the token: other programs of this machine can knock as well."""
        while True:
            try:
                channel, _ = door.accept()
            except TimeoutError:
                raise CannotWork("a worker was started and never answered") from None
            try:
                if Line(channel).raw(32, time.monotonic() + 5) == token:
                    return channel
            except (TooLate, Ended):
                pass
            channel.close()

    def end(self) -> str:
        """End the worker, whatever it is doing; return what the operating system says of its end."""
        self.line.channel.close()
        if os.name == "posix":
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        status = self.process.wait()
        return end_in_words((-status if status < 0 else status << 8) if os.name == "posix" else status)


class Workshop:
    """Hands out workers: forked from a server with the needed libraries, or started one by one.

    Used in a `with`, it gives none away after the end, when threads of an interrupted run may still ask.
    """

    def __init__(self, memory: int, seconds: float, can_fork: bool = CAN_FORK):
        self.memory, self.seconds, self.can_fork = memory, seconds, can_fork
        self.servers: dict[bool, Server] = {}
        self.started: weakref.WeakSet[Started] = weakref.WeakSet()
        self.turn = threading.Lock()
        self.closed = False

    def __enter__(self):
        self.closed = False
        return self

    def __exit__(self, *_):
        self.closed = True
        self.close()

    def worker(self, libraries: tuple[str, ...] = ()):
        """Return a fresh worker.

        **Raises** Missing for a library that is not installed; CannotWork when no worker can be had
        """
        for name in libraries:
            if importlib.util.find_spec(name.partition(".")[0]) is None:
                raise Missing(f"it needs {name}, which is not installed where it is graded")
        if not self.can_fork:
            self._refuse_when_closed()
            worker = Started(self.memory, self.seconds)
            self.started.add(worker)
            return worker
        try:
            return Forked(self._server(libraries))
        except CannotWork:  # a server can be the victim of a machine without memory: one more is tried
            self.close()
            return Forked(self._server(libraries))

    def _refuse_when_closed(self) -> None:
        if self.closed:
            raise CannotWork("the run is over")

    def _server(self, libraries: tuple[str, ...]) -> Server:
        """Return the server for these libraries; torch has one of its own, so that other workers stay small."""
        heavy = "torch" in libraries
        with self.turn:
            self._refuse_when_closed()
            if heavy not in self.servers:
                self.servers[heavy] = Server(self.memory, self.seconds)
            server = self.servers[heavy]
            for name in libraries:
                server.load(name)
            return server

    def close(self) -> None:
        """End everything that was started."""
        for worker in list(self.started):
            worker.process.kill()
        for server in list(self.servers.values()):  # at once: a server that loads keeps others waiting for their turn
            server.close()
        with self.turn:
            for server in self.servers.values():
                server.close()
            self.servers = {}
