"""Running `pip install` for a person who watches: what is being fetched, how far it is, and why it failed.

Standard library only: nothing is installed yet when this file runs.
"""

from __future__ import annotations

import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

DELIVERING = re.compile(r"\s*(Downloading|Using cached|Processing|Requirement already)")
FETCHING = re.compile(r"\s+(?:Downloading|Using cached) (?P<file>\S+)(?: \((?P<size>.*)\))?$")

# what pip's complaint looks like -> what the person can do about it
REASONS = {
    "No space left": "The disk is full. The course needs about 1.5 GB.",
    r"connection broken|Failed to establish|name resolution|getaddrinfo|ConnectTimeout|Read timed out|Max retries"
    r"|ProxyError|Could not fetch URL": "The package index could not be reached. Is this machine connected to the "
    "network? Behind a proxy, set HTTPS_PROXY or pip's own configuration.",
}
OFFLINE = list(REASONS)[1]


def run_pip(
    python: Path, arguments: list[str], *, cwd: Path, log: Path, step: str, patience: float | None = None
) -> tuple[int, list[str]]:
    """Run `pip install` and show how far this step is; give its exit status and its lines.

    With `patience`, it is stopped unless something is being delivered after so many seconds.
    """
    command = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar=off"]
    process = subprocess.Popen(
        [*command, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    try:
        lines = follow(process, python.parent.parent, step, patience)
    finally:
        process.kill()  # after an interruption; a finished process does not mind
    with log.open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in [f"$ pip install {' '.join(arguments)}", *lines, ""])
    return process.wait(), lines


def follow(process: subprocess.Popen, environment: Path, step: str, patience: float | None) -> list[str]:
    """Read a running pip to its end, telling every second what it does."""
    arriving: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=forward, args=(process.stdout, arriving.put), daemon=True).start()
    began, since, lines = time.monotonic(), time.time(), []
    show = status_line()
    while True:
        try:
            line = arriving.get(timeout=1)
        except queue.Empty:
            line = ""
        if line is None:
            show("", final=True)
            return lines
        if line:
            lines.append(line)
        if DELIVERING.match(line):
            patience = None
        seconds = time.monotonic() - began
        show(f"  {step}: {seconds:4.0f} s  {activity(lines, lambda: packages_installed(environment, since))}")
        if patience and seconds > patience:
            process.kill()


def forward(stream, put: Callable[[str | None], None]) -> None:
    """Hand on every line of a stream, then None."""
    for line in stream:
        put(line.rstrip())
    put(None)


def activity(lines: list[str], installed: Callable[[], int]) -> str:
    """Say in a few words what pip is doing, from what it has written so far.

    >>> activity(["Collecting numpy", "  Downloading numpy-2.4.6-cp311-manylinux.whl (16.9 MB)"], lambda: 0)
    '1 found, fetching numpy-2.4.6 (16.9 MB)'
    >>> activity(["Installing collected packages: six, numpy, torch"], lambda: 2)
    'installing: 2 of 3 are in place'
    """
    found = sum(line.startswith("Collecting ") for line in lines)
    for line in reversed(lines):
        if line.startswith("Installing collected packages: "):
            return f"installing: {installed()} of {line.count(',') + 1} are in place"
        if match := FETCHING.match(line):
            name = "-".join(match["file"].rsplit("/", 1)[-1].split("-")[:2])
            size = "" if match["file"].endswith(".metadata") or not match["size"] else f" ({match['size']})"
            return f"{found} found, fetching {name}{size}"
    return f"{found} found" if found else "asking the package index"


def packages_installed(environment: Path, since: float) -> int:
    """Count the packages that have become complete in an environment since a time.

    pip writes INSTALLER when a package is unpacked and compiled; the wheel's own RECORD is there long before.
    """
    places = ("lib/python*/site-packages", "Lib/site-packages")
    marks = [mark for place in places for mark in environment.glob(f"{place}/*.dist-info/INSTALLER")]
    return sum(written_at(mark) >= since for mark in marks)


def written_at(file: Path) -> float:
    """Say when a file was written; never, when it has gone since it was listed."""
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def status_line() -> Callable[..., None]:
    """Make a function that keeps one line up to date on a terminal, and elsewhere prints a line every five seconds."""
    live = sys.stdout.isatty()
    shown, at = "", -5.0

    def show(text: str, final: bool = False) -> None:
        nonlocal shown, at
        if live:
            text = fitting(text, shutil.get_terminal_size().columns - 1)
            sys.stdout.write("\r" + " " * len(shown) + "\r" if final else "\r" + text.ljust(len(shown)))
            shown = text
        elif text and time.monotonic() - at >= 5:
            sys.stdout.write(text + "\n")
            at = time.monotonic()
        sys.stdout.flush()

    return show


def fitting(text: str, width: int) -> str:
    """Cut a line that is too long, and show that it was cut.

    >>> fitting("12 found, fetching numpy-2.4.6 (16.9 MB)", 28)
    '12 found, fetching numpy-...'
    """
    return text if len(text) <= width else text[: max(0, width - 3)] + "..."


def is_offline(lines: list[str]) -> bool:
    """Say whether pip failed because nothing answered."""
    return bool(re.search(OFFLINE, "\n".join(lines)))


def explain(lines: list[str]) -> str:
    """Say why pip failed and what to do about it; where we do not know, give pip's own last words."""
    text = "\n".join(lines)
    for sign, advice in REASONS.items():
        if re.search(sign, text):
            return advice
    errors = [line for line in lines if line.lower().startswith("error")][-3:] or lines[-3:]
    return "\n".join(["pip says:", *(f"    {line}" for line in errors)])
