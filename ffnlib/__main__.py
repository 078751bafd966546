"""The command line, `python3 -m ffnlib COMMAND`: it runs on a bare Python and hands over to the course's environment.

This file keeps to syntax that every Python can parse, so that an old one is answered with a sentence. What takes time
to import is imported inside `main`, which knows what to say to Ctrl-C.
"""

import os
import sys
from importlib import import_module

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
MAKE_THE_ENVIRONMENT = ("lab", "test")  # what these two do not know is passed to JupyterLab or pytest
DESCRIBE_THEMSELVES = ("build", "new-exercise", "export")  # by add_arguments(parser), which needs no package


def make_parser(asked):
    """Describe the commands; of those that describe themselves, only the one that is asked for is imported."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="python3 -m ffnlib", description="A course on the Transformer's feed-forward network.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version="ffnlib " + __version__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    def command(name, summary, **more):
        described = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False, **more)
        if name == asked and name in DESCRIBE_THEMSELVES:
            import_module(WORK[name][0]).add_arguments(described)
        return described

    lab = command(
        "lab", "Make the environment if needed and open the course.", epilog="Other options are passed to JupyterLab."
    )
    lab.add_argument("--install-only", action="store_true", help="make the environment, do not start JupyterLab")
    command("test", "Make the environment if needed and run every test.", epilog="Other options are passed to pytest.")
    command("doctor", "Say what works on this machine.")

    check = command("check", "Print the verdict on every exercise of one notebook.")
    check.add_argument("notebook", metavar="NOTEBOOK", help="an .ipynb file of the course")

    grade = command("grade", "Grade a folder (or archive) of submitted notebooks.")
    grade.add_argument(
        "submissions", metavar="SUBMISSIONS", help="folder of notebooks, or the zip file of Moodle or Canvas as it is"
    )
    grade.add_argument("--out", metavar="OUT", required=True, help="folder for the report, the grades and the feedback")
    grade.add_argument("--lesson", metavar="NN_NAME", help="grade this lesson only, such as 01_formula (default: all)")
    grade.add_argument("--jobs", metavar="N", type=int, help="submissions graded at once (default: one a core)")
    grade.add_argument(
        "--timeout", metavar="S", type=float, default=30.0, help="seconds that a submission may take (default: 30)"
    )
    grade.add_argument(
        "--memory",
        metavar="MB",
        type=int,
        default=1024,
        help="megabytes that a submission may take on top of the libraries (default: 1024)",
    )
    grade.add_argument(
        "--resume", action="store_true", help="go on with an interrupted run in OUT (default: begin anew)"
    )
    grade.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="spread the work over this Dask cluster, as tcp://host:8786 (default: none)",
    )
    grade.add_argument(
        "--trusted", action="store_true", help="run without a sandbox where none can be had (default: refuse)"
    )

    command("build", "Make notebooks/ from solutions/.")
    command("new-exercise", "Start a new exercise.")
    command("export", "Write the course in another form.")
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
    import subprocess

    try:
        with open(os.devnull, "w") as nowhere:
            return subprocess.call([command, "-c", ""], stdout=nowhere, stderr=nowhere) == 0
    except OSError:
        return False


def main(argv=None):
    """Carry out one command and return its exit status."""
    argv = sys.argv[1:] if argv is None else list(argv)
    try:
        sentence = refusal(sys.version_info)
        if sentence:
            sys.stderr.write(sentence + "\n")
            return 1
        print_in_any_encoding()
        status = carry_out(argv)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped\n")
        return 130
    except BrokenPipeError:  # as of `| head -1`: who listened has heard enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141  # as the shell says of a program that ends so
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("ffnlib"):
            raise
        sys.stderr.write("'{}' is not part of this version of the course: it has no {}.\n".format(argv[0], error.name))
        return 1


def print_in_any_encoding():
    """Have signs that the output cannot show spelt out: no command is to end over a letter."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def carry_out(argv):
    """Read the command line, go to where the packages are, and do the work."""
    parser = make_parser(argv[0] if argv else None)
    args, args_left = parser.parse_known_args(argv)
    if args.command is None:
        parser.print_help()
        return 0
    if args.command in MAKE_THE_ENVIRONMENT:
        args.extra = args_left
    elif args_left:
        parser.error("unrecognized arguments: " + " ".join(args_left))
    else:
        import_module("ffnlib.launcher").enter_environment(argv)
    module, function = WORK[args.command]
    return getattr(import_module(module), function)(args) or 0


if __name__ == "__main__":
    sys.exit(main())
