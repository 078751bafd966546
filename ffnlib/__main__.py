"""The command line, `python3 -m ffnlib COMMAND`: it runs on a bare Python and hands over to the course's environment.

This file keeps to syntax that every Python can parse, so that an old one is answered with a sentence.
"""

import argparse
import os
import subprocess
import sys

from ffnlib import __version__

OLDEST, NEWEST = (3, 10), (3, 13)

# command -> (module, function) that does the work; imported only when the command is given
WORK = {
    "lab": ("ffnlib.launcher", "lab"),
    "test": ("ffnlib.launcher", "test"),
    "doctor": ("ffnlib.doctor", "main"),
    "check": ("ffnlib.grading.cli", "check_notebook"),
    "grade": ("ffnlib.grading.cli", "grade"),
    "build": ("ffnlib.authoring.build", "main"),
    "new-exercise": ("ffnlib.authoring.new_exercise", "main"),
    "export": ("ffnlib.authoring.exports", "main"),
}
BARE = ("lab", "test")  # these two make the environment themselves
PASSING_ON = ("lab", "test")  # what these two do not know goes to JupyterLab or pytest


def make_parser():
    """Describe every command; the argument definitions of all commands are in this function."""
    parser = argparse.ArgumentParser(
        prog="python3 -m ffnlib", description="A course on the Transformer's feed-forward network.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version="ffnlib " + __version__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    def command(name, summary, **more):
        return commands.add_parser(name, help=summary, description=summary, allow_abbrev=False, **more)

    lab = command(
        "lab", "Make the environment if needed and open the course.", epilog="Other options are passed to JupyterLab."
    )
    lab.add_argument("--install-only", action="store_true", help="make the environment, do not start JupyterLab")
    command("test", "Make the environment if needed and run every test.", epilog="Other options are passed to pytest.")
    command("doctor", "Say what works on this machine.")

    check = command("check", "Print the verdict on every exercise of one notebook.")
    check.add_argument("notebook", metavar="NOTEBOOK")

    grade = command("grade", "Grade a folder (or archive) of submitted notebooks.")
    grade.add_argument("submissions", metavar="SUBMISSIONS")
    grade.add_argument("--out", metavar="OUT", required=True, help="folder for the report, the grades and the feedback")
    grade.add_argument("--lesson", metavar="NN_NAME", help="grade this lesson only, such as 01_formula")
    grade.add_argument("--jobs", metavar="N", type=int, help="submissions graded at once (default: one a core)")
    grade.add_argument("--timeout", metavar="S", type=float, default=30.0, help="seconds a submission (default: 30)")
    grade.add_argument("--memory", metavar="MB", type=int, help="memory a submission may take")
    grade.add_argument("--resume", action="store_true", help="go on with an interrupted run in OUT")
    grade.add_argument("--dask", metavar="ADDRESS", help="spread the work over a Dask cluster")
    grade.add_argument("--trusted", action="store_true", help="run without a sandbox where none can be had")

    build = command("build", "Make notebooks/ from solutions/.")
    build.add_argument("--check", action="store_true", help="write nothing; fail when notebooks/ is not up to date")

    new = command("new-exercise", "Start a new exercise.")
    new.add_argument("id", metavar="ID")
    new.add_argument("--lesson", metavar="NN", required=True)

    export = command("export", "Write the course in another form.")
    export.add_argument("format", choices=("nbgrader", "anki", "html"))
    export.add_argument("--out", metavar="DIR", required=True)
    return parser


def refusal(version):
    """Say why this Python cannot run the course and which one can, or None when it can."""
    if OLDEST <= tuple(version[:2]) <= NEWEST:
        return None
    seen = "{}.{}".format(*version[:2])
    from ffnlib import __file__ as here

    lines = [
        "ffnlib needs Python 3.10, 3.11, 3.12 or 3.13; this is Python {} ({}).".format(seen, sys.executable),
        "The course lies in " + os.path.dirname(os.path.dirname(os.path.abspath(here))) + ".",
    ]
    found = suitable_pythons()
    if found:
        lines.append("This machine has a suitable one. Try:  {} -m ffnlib lab".format(found[0]))
    else:
        lines.append("Install one of them (https://www.python.org/downloads/) and start again with it,")
        lines.append("for example:  python3.12 -m ffnlib lab     (Windows:  py -3.12 -m ffnlib lab)")
    return "\n".join(lines)


def suitable_pythons():
    """Name the commands that start a suitable Python here, newest first."""
    names = ["python3.{}".format(minor) for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
    return [name for name in names if starts(name)]


def starts(command):
    """Say whether a command can be started: one that is found may still be an empty shim."""
    try:
        with open(os.devnull, "w") as nowhere:
            return subprocess.call([command, "-c", ""], stdout=nowhere, stderr=nowhere) == 0
    except OSError:
        return False


def work_of(command):
    """Import the function that carries out a command."""
    from importlib import import_module

    module, function = WORK[command]
    return getattr(import_module(module), function)


def main(argv=None):
    """Carry out one command and return its exit status."""
    sentence = refusal(sys.version_info)
    if sentence:
        sys.stderr.write(sentence + "\n")
        return 1
    argv = sys.argv[1:] if argv is None else list(argv)
    parser = make_parser()
    args, extra = parser.parse_known_args(argv)
    if args.command is None:
        parser.print_help()
        return 0
    if extra and args.command not in PASSING_ON:
        parser.error("unrecognized arguments: " + " ".join(extra))
    args.extra = extra

    from ffnlib import launcher

    if args.command not in BARE:
        launcher.enter_environment(argv)
    try:
        work = work_of(args.command)
    except ModuleNotFoundError as error:
        if not WORK[args.command][0].startswith(error.name or "?"):
            raise
        sys.stderr.write("The command '{}' is not part of this version of the course.\n".format(args.command))
        return 1
    return work(args) or 0


if __name__ == "__main__":
    sys.exit(main())
