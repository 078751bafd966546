"""The fork server: a separately started process with the libraries loaded, from which a worker is forked in a moment.

It is started by executing Python afresh, so that its memory, and with it every worker's, holds nothing of the judge's.
It obeys four words on its control socket: load a library, fork a worker onto the socket that comes along, end a worker,
and (by closing) end everything. It never reads a submission.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import signal
import socket
import struct
import sys
import traceback

REPLY = struct.Struct("!q")  # process id or wait status
ALWAYS = ("numpy.random", "numpy.linalg", "numpy.ma", "resource", "ffnlib.grading.worker")
OWN = ("ffnlib.layer", "ffnlib.activations", "ffnlib.examination.verdict", "ffnlib.examination.modules")


def serve(control: socket.socket, memory: int, seconds: float) -> None:
    """Obey the control socket until the judge is gone, and end every worker then."""
    for name in (*ALWAYS, *OWN):
        importlib.import_module(name)
    from ffnlib.grading.worker import sandbox

    rules = sandbox.landlock_rules()
    gc.collect()
    gc.freeze()
    children: set[int] = set()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the judge is gone before it has its reply
        while True:
            message, descriptors, *_ = socket.recv_fds(control, 256, 1)
            word, _, rest = message.partition(b" ")
            if not message:
                break
            if word == b"load":
                load(rest.decode())
                control.sendall(REPLY.pack(0))
            elif word == b"fork":
                child = fork(control, descriptors[0], memory, seconds, rules)
                if child > 0:
                    children.add(child)
                control.sendall(REPLY.pack(child))
            elif word == b"end":
                children.discard(int(rest))
                control.sendall(REPLY.pack(end(int(rest))))
    for child in children:
        end(child)


def load(name: str) -> None:
    """Import a library for all workers to come, without running an operation of it: threads do not survive a fork."""
    module = importlib.import_module(name)
    if name == "torch":
        module.set_num_threads(1)
    gc.collect()
    gc.freeze()


def fork(control: socket.socket, descriptor: int, memory: int, seconds: float, rules) -> int:
    """Fork a worker that speaks over `descriptor`; return its process id, -1 where the machine has no place for one."""
    try:
        child = os.fork()
    except OSError:
        child = -1
    if child:
        os.close(descriptor)
        return child
    status = 1
    try:
        os.setsid()
        control.close()
        from ffnlib.grading.worker import work

        work(socket.socket(fileno=descriptor), memory, seconds, rules)
        status = 0
    except BaseException:
        if os.environ.get("FFNLIB_DEBUG"):
            traceback.print_exc()
    finally:
        os._exit(status)


def end(child: int) -> int:
    """Kill a worker with its process group; return its wait status."""
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except OSError:
            continue
    try:
        return os.waitpid(child, 0)[1]
    except ChildProcessError:
        return 0


def main() -> None:
    """Serve on the descriptor named on the command line."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # die with the judge
    serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), float(sys.argv[3]))
