"""`python3 -m ffnlib export`: the course in other forms.

Each form is a module with `write_course(root, out) -> lessons`; a form whose module is missing is named as such.
"""

import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FORMS = {
    "nbgrader": "ffnlib.authoring.nbgrader_course",
    "anki": "ffnlib.authoring.anki_deck",
    "html": "ffnlib.authoring.html_site",
}
WHAT_NEXT = {
    "nbgrader": "Go on there with:  nbgrader generate_assignment {first}\n"
    "Whoever hands in a notebook can deceive nbgrader. `python3 -m ffnlib grade` judges in another process.",
    "anki": "Open the .apkg file there with Anki; a later export brings the same cards up to date.",
    "html": "Open index.html there in a browser; it needs neither a server nor a network.",
}


def add_arguments(parser):
    """Describe the options of `python3 -m ffnlib export`."""
    forms = "nbgrader: a course directory; anki: flashcards; html: a site"
    parser.add_argument("form", choices=tuple(FORMS), help=forms)
    parser.add_argument("--out", metavar="DIR", required=True, type=Path, help="folder to write into")


def main(args, root=ROOT):
    """Carry out `python3 -m ffnlib export`; return 0 when it is written and 1 when it cannot be."""
    form = import_module(FORMS[args.form])
    try:
        lessons = form.write_course(root, args.out)
    except (OSError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"{len(lessons)} lessons are in {args.out}.", WHAT_NEXT[args.form].format(first=lessons[0]))
    return 0
