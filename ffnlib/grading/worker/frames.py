"""How judge and worker speak: plain data in frames over a socket."""

from __future__ import annotations

import socket

from ffnlib.examination.evidence import from_bytes, to_bytes


class Ended(Exception):
    """The other end is gone."""


def framed(value) -> bytes:
    """Return plain data as one frame."""
    data = to_bytes(value)
    return len(data).to_bytes(8, "big") + data


def send(channel: socket.socket, value) -> None:
    """Send plain data as one frame, however long it takes: the worker's way to speak."""
    channel.sendall(framed(value))


def receive(channel: socket.socket):
    """Return the plain data of the next frame, however long it takes: the worker's way to listen."""
    return from_bytes(exactly(channel, int.from_bytes(exactly(channel, 8), "big")))


def exactly(channel: socket.socket, size: int) -> bytes:
    """Return exactly `size` bytes, however long they take."""
    parts = []
    while size:
        part = channel.recv(min(size, 1 << 20))
        if not part:
            raise Ended
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
