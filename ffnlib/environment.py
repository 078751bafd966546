"""The course's own Python environment, `.venv`: made once, completed when interrupted, then left alone.

Standard library only: nothing is installed yet when this file runs.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ffnlib.installing import explain, is_offline, run_pip

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
LOCK = ROOT / ".venv.lock"
LOG = ENVIRONMENT / "ffnlib-install.log"
DECIDING = ("requirements.txt", "constraints.txt", "pyproject.toml")  # a change in these means installing again

# The ordinary PyTorch for Linux brings about 3 GB of NVIDIA libraries; this index has the build without them.
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
SOCKET_SECONDS = 15  # how long that index may be silent
ANSWER_SECONDS = 30  # when it must have begun to deliver, however slowly it talks

# JupyterLab asks its makers for news and newer versions unless told not to.
QUIET_JUPYTER = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}


class CannotPrepare(Exception):
    """The environment could not be made; the text is for the person who asked for it."""


class Offline(CannotPrepare):
    """It could not be made because nothing answers on the network."""


def say(text: str) -> None:
    """Tell the person at the terminal, at once."""
    print(text, flush=True)


def python_of(environment: Path | None = None) -> Path:
    """Give the interpreter of a virtual environment, the course's own unless another is named."""
    return (environment or ENVIRONMENT) / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


# ---- is there anything to do? ------------------------------------------------------------------


def prepare(extra: str | None = None) -> None:
    """Bring the environment up to date, with the packages of one optional group if named.

    Raises: CannotPrepare.
    """
    if is_current(extra):
        return
    if not can_write(ROOT):
        raise CannotPrepare(
            f"The environment is made in the course's folder, and {ROOT} cannot be written.\n"
            "Copy the folder to a place of your own and start there."
        )
    with only_one_at_a_time():
        if not is_current(extra):  # another start may have made it while this one waited
            bring_up_to_date(extra)


def is_current(extra: str | None) -> bool:
    """Say whether exactly these requirements were installed into this environment by its present Python."""
    try:
        return stamp(extra).read_text() == fingerprint()
    except OSError:
        return False


def stamp(extra: str | None) -> Path:
    """Name the file that remembers what was installed."""
    return ENVIRONMENT / f"ffnlib-{extra or 'course'}.stamp"


def fingerprint() -> str:
    """Hash what decides which packages belong into the environment, its place and its Python."""
    facts = [str(ENVIRONMENT), version_inside(), *((ROOT / name).read_text("utf-8") for name in DECIDING)]
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()


def version_inside() -> str:
    """Ask the environment's Python for its version; empty when it does not start."""
    try:
        return subprocess.run(
            [python_of(), "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True
        ).stdout.strip()
    except OSError:
        return ""


def can_write(folder: Path) -> bool:
    """Find out by writing: permissions alone do not tell it for root or a read-only disk."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@contextmanager
def only_one_at_a_time() -> Iterator[None]:
    """Wait while another start prepares the same environment; the lock falls when its holder ends, however it ends."""
    with open(LOCK, "a") as file:
        if not lock(file):
            say("Another start is preparing the environment. Waiting for it ...")
            while not lock(file):
                time.sleep(0.5)
        yield


def lock(file) -> bool:
    """Try to take the lock on an open file."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


# ---- making it ---------------------------------------------------------------------------------


def bring_up_to_date(extra: str | None) -> None:
    """Make or complete the environment, see that it works, and remember what was installed."""
    worked_before = stamp(None).exists()
    if not has_pip():
        make_anew()
    try:
        install(extra)
    except Offline:
        if extra or not worked_before or missing_imports():
            raise
        say("The packages of this version could not be fetched: no network. Starting with those of the last time.")
        return
    if missing_imports():  # what an interrupted installation left behind can look complete to pip
        say("The environment is damaged. Making it again.")
        make_anew()
        install(extra)
        if missing := missing_imports():
            raise CannotPrepare(f"Installed, but this cannot be imported: {missing}\nThe whole story is in {LOG}")
    quiet_jupyter()
    for group in {None, extra}:
        stamp(group).write_text(fingerprint())


def has_pip() -> bool:
    """Say whether the environment's Python starts and has a working pip."""
    try:
        return subprocess.run([python_of(), "-m", "pip", "--version"], capture_output=True).returncode == 0
    except OSError:
        return False


def make_anew() -> None:
    """Make an empty environment, in place of a broken one if there is one."""
    if missing := missing_from_python():
        raise CannotPrepare(missing)
    if ENVIRONMENT.is_symlink():
        ENVIRONMENT.unlink()
    elif ENVIRONMENT.exists():
        say(f"Removing the unfinished environment in {ENVIRONMENT}")
        shutil.rmtree(ENVIRONMENT)
    say(f"Making an environment for the course in {ENVIRONMENT}")
    base = getattr(sys, "_base_executable", sys.executable)  # our own is about to be replaced when we run inside it
    made = subprocess.run([base, "-m", "venv", ENVIRONMENT], capture_output=True, text=True)
    if made.returncode:
        raise CannotPrepare(f"Python could not make it:\n{made.stdout}{made.stderr}")


def missing_from_python() -> str | None:
    """Say which part of Python has to be installed first; Debian and Ubuntu deliver it separately."""
    if importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip"):
        return None
    package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
    return (
        f"This Python ({sys.executable}) comes without the module that makes environments.\n"
        f"On Debian and Ubuntu install it with\n\n    sudo apt install {package}\n\nand start again."
    )


def missing_imports() -> str:
    """Import every required package inside the environment; give the last line of the failure, or nothing."""
    names = [re.match(r"[\w.-]+", line)[0] for line in requirement_lines()]
    code = "import importlib\nfor name in %r: importlib.import_module(name)" % [*names, "ffnlib"]
    run = subprocess.run([python_of(), "-c", code], capture_output=True, text=True, cwd=ENVIRONMENT)
    return run.stderr.strip().splitlines()[-1] if run.returncode else ""


def requirement_lines() -> list[str]:
    """Read requirements.txt without its comments."""
    lines = (line.split("#")[0].strip() for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines())
    return [line for line in lines if line]


def quiet_jupyter() -> None:
    """Set JupyterLab's defaults inside the environment: no news, no looking for updates."""
    settings = ENVIRONMENT / "share" / "jupyter" / "lab" / "settings"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "overrides.json").write_text(json.dumps(QUIET_JUPYTER, indent=1))


# ---- installing --------------------------------------------------------------------------------


def install(extra: str | None) -> None:
    """Install the course and what it needs at the tested versions.

    Raises: Offline, CannotPrepare.
    """
    say("Installing what the course needs. The first time takes some minutes; later starts install nothing.")
    two_steps = prefers_cpu_torch()
    if two_steps and not install_cpu_torch():
        say("PyTorch's index of CPU builds gave nothing. Taking the ordinary build: that can be a download of 3 GB.")
    target = f".[{extra}]" if extra else "."
    step = "step 2 of 2, the others" if two_steps else "all packages"
    status, lines = pip("-c", "constraints.txt", "-e", target, step=step)
    if status:
        failure = Offline if is_offline(lines) else CannotPrepare
        raise failure(f"The packages could not be installed.\n{explain(lines)}\nThe whole story is in {LOG}")


def pip(*arguments: str, step: str, patience: float | None = None) -> tuple[int, list[str]]:
    """Run `pip install` in the environment, from the course's folder."""
    return run_pip(python_of(), list(arguments), cwd=ROOT, log=LOG, step=step, patience=patience)


def prefers_cpu_torch() -> bool:
    """Say whether the ordinary PyTorch would bring NVIDIA libraries that this machine cannot use."""
    nvidia = shutil.which("nvidia-smi") or os.path.exists("/proc/driver/nvidia/version")
    return sys.platform == "linux" and platform.machine() == "x86_64" and not nvidia


def install_cpu_torch() -> bool:
    """Try PyTorch's index of CPU builds once, briefly; what torch itself needs comes later, from the ordinary index."""
    [torch] = [line for line in requirement_lines() if line.startswith("torch")]
    brief = ["--retries", "0", "--timeout", str(SOCKET_SECONDS), "--index-url", TORCH_CPU_INDEX]
    options = ("--no-deps", "-c", "constraints.txt", *brief)
    status, _ = pip(*options, torch, step="step 1 of 2, PyTorch", patience=ANSWER_SECONDS)
    return status == 0
