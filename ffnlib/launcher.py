"""From a bare Python to a running course: makes the environment, then opens JupyterLab or runs the tests.

Standard library only: nothing is installed yet when this file runs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"


def python_of(environment: Path) -> Path:
    """Give the interpreter of a virtual environment."""
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def hand_over(command: list[str], env: dict[str, str] | None = None):
    """Become another program: signals, terminal and exit status are its own from here on."""
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "nt":  # exec there gives the prompt back while the new program still runs
        sys.exit(subprocess.call(command, env=env))
    os.execve(command[0], command, os.environ if env is None else env)


def enter_environment(argv: list[str]) -> None:
    """Go on in the course's environment: stay when inside, hand over when there is one, else say how to make it."""
    if Path(sys.prefix).resolve() == ENVIRONMENT.resolve():
        return
    if python_of(ENVIRONMENT).exists() and (ENVIRONMENT / "pyvenv.cfg").exists():
        hand_over([str(python_of(ENVIRONMENT)), "-m", "ffnlib", *argv])
    raise SystemExit("The course's environment is not there yet. Make it first:  python3 -m ffnlib lab --install-only")
