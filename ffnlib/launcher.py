"""The two commands of the README: open the course, and run every test. Both make the environment when it is missing.

Standard library only: nothing is installed yet when this file runs.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from ffnlib.environment import DECIDING, ENVIRONMENT, ROOT, CannotPrepare, can_write, prepare, python_of, say

FIRST_LESSON = ROOT / "notebooks" / "00_start_here.ipynb"
NEEDED = (*DECIDING, "setup.py", "README.md", "LICENSE", "notebooks")  # what pip reads, and what there is to open

TESTS = ["-p", "no:nbval"]  # only the notebooks need nbval, and it starts slowly
NOTEBOOKS = ["-p", "ffnlib.authoring.nbval_plugin"]
NOTEBOOK_FOLDERS = ("solutions", "notebooks")
WORKERS = min(4, (os.cpu_count() or 1) + 1)  # one more than cores: many tests wait for a browser or a kernel
IN_PARALLEL = ["-n", str(WORKERS), "--dist", "loadfile"]  # a file's fixtures are made once
NOTHING_SELECTED = 5  # pytest's exit status


# ---- lab ---------------------------------------------------------------------------------------


def lab(args) -> int:
    """Open JupyterLab on the first lesson."""
    if not prepared():
        return 1
    if args.install_only:
        say(f"The environment is ready: {ENVIRONMENT}")
        return 0
    if not can_write(FIRST_LESSON.parent):
        say(f"{FIRST_LESSON.parent} cannot be written: you can run the lessons, not save them.")
    say("JupyterLab is starting. Ctrl-C twice in this window stops it, and the same command starts it again.")
    return hand_over(
        [str(python_of()), "-m", "jupyterlab", *lab_options(), *args.extra],
        {**os.environ, "JUPYTER_PREFER_ENV_PATH": "1"},  # our kernel before one of the same name in the home folder
    )


def prepared(extra: str | None = None) -> bool:
    """Make the environment ready, or say what stands in the way."""
    if lacking := what_is_lacking():
        print(lacking, file=sys.stderr)
        return False
    try:
        prepare(extra)
    except CannotPrepare as reason:
        print(f"\n{reason}", file=sys.stderr)
        return False
    except KeyboardInterrupt:
        print("\nInterrupted. The same command goes on where it stopped.", file=sys.stderr)
        return False
    return True


def lab_options() -> list[str]:
    """Choose JupyterLab's options for this machine."""
    options = [
        f"--ServerApp.root_dir={FIRST_LESSON.parent}",
        f"--LabApp.default_url=/lab/tree/{FIRST_LESSON.name}",  # so that the printed address leads to the lesson, too
        "--ServerApp.log_level=ERROR",  # the address is printed all the same
        "--LabApp.log_level=ERROR",
        "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly",  # the other one asks the package index
        "--MappingKernelManager.transport_encryption=auto",  # without it every kernel warns on the terminal
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--allow-root")
    if not has_screen():
        say("No screen was found to open a browser on: copy the address that begins with http://localhost into one.")
        options.append("--no-browser")
    return options


def has_screen() -> bool:
    """Say whether a browser window can open here; a text browser would take the terminal away from Jupyter."""
    if sys.platform in ("win32", "darwin"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "BROWSER"))


def hand_over(command: list[str], env: dict[str, str]) -> int:
    """Become another program: signals, terminal and exit status are its own from here on."""
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name != "nt":
        os.execve(command[0], command, env)
    process = subprocess.Popen(command, env=env)  # exec on Windows gives the prompt back at once
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # meant for the other program


# ---- every other command -----------------------------------------------------------------------


def is_installed_package() -> bool:
    """Say whether this is the package installed from a wheel, and not the course's folder."""
    return any(ROOT.glob("ffnlib-*.dist-info"))


def what_is_lacking() -> str | None:
    """Say why no course can be opened from this folder and what to do; None when all is there."""
    if is_installed_package():
        return f"{ROOT} holds the package only. `lab` and `test` need the course's folder: get that, and start there."
    missing = [name for name in NEEDED if not (ROOT / name).exists()]
    if not missing:
        return None
    return (
        f"{ROOT} is only a part of the course. It lacks: {', '.join(missing)}\n"
        "The packages are installed by what these files say. Copy the whole folder of the course, and start there."
    )


def enter_environment(argv: list[str]) -> None:
    """Go on where the course's packages are: stay when they are here, else hand over to the environment.

    A package installed from a wheel brought its packages along, and stays.

    Raises: SystemExit when there is none.
    """
    if Path(sys.prefix).resolve() == ENVIRONMENT.resolve() or is_installed_package():
        return
    if python_of().exists() and (ENVIRONMENT / "pyvenv.cfg").exists():
        sys.exit(hand_over([str(python_of()), "-m", "ffnlib", *argv], dict(os.environ)))
    if not all(importlib.util.find_spec(name) for name in ("numpy", "torch")):
        make_it = "The course's environment is not there yet. Make it first:  python3 -m ffnlib lab --install-only"
        sys.exit(what_is_lacking() or make_it)


# ---- test --------------------------------------------------------------------------------------


def test(args) -> int:
    """Run every test, then every notebook; what the command line adds goes to pytest."""
    if not prepared("test"):
        return 1
    with tempfile.TemporaryDirectory() as folder:
        reports = [Path(folder) / f"{number}.xml" for number in range(len(runs(args.extra)))]
        statuses = [
            subprocess.call([python_of(), "-m", "pytest", *run, f"--junitxml={report}"], cwd=ROOT)
            for run, report in zip(runs(args.extra), reports, strict=True)
        ]
        say(summary([report for report in reports if report.exists()]))
    return worst(statuses)


def runs(extra: list[str]) -> list[list[str]]:
    """Give pytest's arguments for each of its runs: one for what was named, else the tests and the notebooks.

    Everything runs in several processes; what was named in one, so that it can be stopped and read.
    """
    named = [word for word in extra if (ROOT / word.split("::")[0]).exists()]
    if any(word.startswith(NOTEBOOK_FOLDERS) for word in named):
        return [[*NOTEBOOKS, *extra]]
    if named:
        return [[*TESTS, *extra]]
    return [[*TESTS, *IN_PARALLEL, "tests", "ffnlib", *extra], [*NOTEBOOKS, *IN_PARALLEL, *NOTEBOOK_FOLDERS, *extra]]


def worst(statuses: list[int]) -> int:
    """Join pytest's exit statuses: a failure anywhere is a failure, and so is no test at all."""
    ran = [status for status in statuses if status != NOTHING_SELECTED]
    return max(ran, key=abs) if ran else NOTHING_SELECTED


def summary(reports: list[Path]) -> str:
    """Name the slowest tests of all runs and count what passed, from pytest's reports."""
    cases = [case for report in reports for case in ElementTree.parse(report).iter("testcase")]
    slowest = sorted(cases, key=seconds, reverse=True)[:10]
    failed = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    rows = [f"{seconds(case):7.1f} s  {case.get('classname')}  {case.get('name')}" for case in slowest]
    total = f"total: {len(cases) - failed - skipped} passed, {failed} failed, {skipped} skipped"
    return "\n".join(["", "The slowest:", *rows, "", total])


def seconds(case: ElementTree.Element) -> float:
    """Read how long a test took."""
    return float(case.get("time", 0))
