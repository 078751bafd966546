"""`python3 -m ffnlib export`: the course in other forms."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FORMS = ("nbgrader",)


def add_arguments(parser):
    """Describe the options of `python3 -m ffnlib export`."""
    parser.add_argument("form", choices=FORMS, help="nbgrader: a course directory that nbgrader grades")
    parser.add_argument("--out", metavar="DIR", required=True, type=Path, help="folder to write into")


def main(args, root=ROOT):
    """Carry out `python3 -m ffnlib export`; return 0 when it is written and 1 when it cannot be."""
    from ffnlib.authoring import nbgrader_course

    try:
        lessons = nbgrader_course.write_course(root, args.out)
    except (OSError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"{len(lessons)} lessons are in {args.out}. Go on there with:  nbgrader generate_assignment {lessons[0]}")
    print("Whoever hands in a notebook can deceive nbgrader. `python3 -m ffnlib grade` judges in another process.")
    return 0
