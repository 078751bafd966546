"""solutions/ -> notebooks/: the learner's lessons, built from the solved ones and kept identical to them."""

import sys
from pathlib import Path

from ffnlib.authoring import claims, collected, front_ends, outputs
from ffnlib.authoring.cell_rules import TO_BE_WRITTEN
from ffnlib.authoring.code_rules import learner_source
from ffnlib.authoring.lint import lint, located
from ffnlib.authoring.notebook import (
    NotebookError,
    canonical,
    dumps,
    exercise_of,
    lesson_files,
    meaning,
    new_cell,
    read,
    role,
    title,
    without_outputs,
    write,
)
from ffnlib.authoring.regions import BEGIN

ROOT = Path(__file__).resolve().parents[2]


def add_arguments(parser):
    """Describe the options of `python3 -m ffnlib build`."""
    parser.add_argument("--check", action="store_true", help="write nothing; fail when notebooks/ is not up to date")
    parser.add_argument(
        "--execute",
        nargs="*",
        metavar="LESSON",
        help="first run these solved lessons (all when none is named) and store their outputs",
    )


def main(args, root=ROOT, exercises=None):
    """Carry out `python3 -m ffnlib build`; return 0 when all is well and 1 when there is something to mend."""
    try:
        exercises = exercises_of_lessons(root) if exercises is None else exercises
        problems = []
        if getattr(args, "execute", None) is not None:
            from ffnlib.authoring.execute import execute_lessons

            problems = load(root, exercises)[0] or execute_lessons(root, args.execute)
        problems = problems or (check(root, exercises) if args.check else build(root, exercises))
        if not problems and not args.check:
            problems = show_what_was_collected(root, exercises)
    except NotebookError as problem:
        problems = [problem]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def exercises_of_lessons(root):
    """Return {lesson: {exercise id: Exercise}} for the lessons that are written and in the catalogue."""
    from ffnlib.examination.lessons import CATALOGUE, exercises

    written = [file.stem for file in lesson_files(root)]
    return {lesson: {each.id: each for each in exercises(lesson)} for lesson in written if lesson in CATALOGUE}


def build(root, exercises):
    """Put solutions/ into canonical form and write notebooks/ from it; return the problems that forbid it."""
    problems, solved = load(root, exercises)
    if problems:
        return problems
    for file, notebook in solved.items():
        write(file, notebook)
        write(root / "notebooks" / file.name, learner_notebook(notebook))
        for note in (*outputs.not_run(notebook), *outputs.long_texts(notebook)):
            print(f"note: {shown(root, file)}: {note}")
    for stray in strays(root, solved):
        stray.unlink()
        print(f"removed {shown(root, stray)}: it has no source in solutions/")
    print(f"built {len(solved)} lessons into notebooks/")
    return []


def show_what_was_collected(root, exercises):
    """Collect claims, laws and words again; when they have changed, run the lesson again that shows them."""
    changed = collected.write(root)
    if not changed or not (root / "solutions" / f"{collected.SHOWN_IN}.ipynb").exists():
        return []
    from ffnlib.authoring.execute import execute_lessons

    print(f"{'/'.join(collected.PLACE)} has changed, and {collected.SHOWN_IN} shows it: the lesson is run again")
    problems = execute_lessons(root, [collected.SHOWN_IN])
    collected.write(root)
    return problems or build(root, exercises)


def check(root, exercises):
    """Return what is wrong with solutions/ and what in notebooks/ differs from it; write nothing."""
    problems, solved = load(root, exercises)
    problems += collected.difference(root)
    for file, notebook in solved.items():
        problems += difference(root, file, notebook)
        problems += outputs.problems(notebook, shown(root, file))
        if not any(problem.file == shown(root, file) for problem in problems):
            problems += difference(root, root / "notebooks" / file.name, learner_notebook(notebook))
    for stray in strays(root, solved):
        problems.append(located(shown(root, stray), [], None, 0, "no source in solutions/; delete it or build again"))
    return problems


def load(root, exercises):
    """Return (problems, {file: solved notebook}) with links and nbgrader's metadata as they should be."""
    solved = {file: canonical(read(file)) for file in lesson_files(root)}
    known = [claim.id for claim in claims.load()]
    problems = []
    for file, notebook in solved.items():
        own = exercises.get(file.stem)
        if own is None:
            message = f"{file.stem} is not in ffnlib/examination/lessons; add it to the CATALOGUE there"
            problems.append(located(shown(root, file), [], None, 0, message))
        problems += lint(notebook, shown(root, file), own or {}, known)
        problems += left_to_write(root, file)
        link_neighbours(notebook, file, solved)
        for cell in notebook["cells"]:
            mark_for_nbgrader(cell, own or {})
    return problems + words_defined_twice(root, solved), solved


def left_to_write(root, lesson):
    """Return a Problem for every line that `new-exercise` left open in the examination of a lesson."""
    file = root / "ffnlib" / "examination" / "lessons" / f"lesson{lesson.stem[:2]}.py"
    lines = file.read_text(encoding="utf-8").split("\n") if file.exists() else []
    message = f"still says {TO_BE_WRITTEN!r}; write it"
    return [
        located(shown(root, file), [], None, number, message)
        for number, line in enumerate(lines, 1)
        if TO_BE_WRITTEN in line
    ]


def words_defined_twice(root, solved):
    """Return a Problem for every cell that defines a word which an earlier cell of the course has defined."""
    problems, first = [], {}
    for file, notebook in solved.items():
        for cell in notebook["cells"]:
            for term in meaning(cell).get("term", []):
                earlier = first.setdefault(term.lower(), f"{file.stem}, {cell['id']}")
                if earlier != f"{file.stem}, {cell['id']}":
                    message = f"{term!r} is already defined ({earlier}); define it once and use it here"
                    problems.append(located(shown(root, file), notebook["cells"], cell, 0, message))
    return problems


def strays(root, solved):
    """Return the learner notebooks that no solved lesson stands behind."""
    names = {file.name for file in solved}
    return [file for file in sorted((root / "notebooks").glob("*.ipynb")) if file.name not in names]


def shown(root, file):
    """Return a path as an author types it."""
    return file.relative_to(root).as_posix()


def link_neighbours(notebook, file, solved):
    """Write the links to the lessons before and after into the links cell, the last one unless it stands elsewhere."""
    files = list(solved)
    index = files.index(file)
    neighbours = [("Previous", files[index - 1])] if index else []
    neighbours += [("Next", each) for each in files[index + 1 : index + 2]]
    text = " | ".join(f"[{word}: {title(solved[each])}]({each.name})" for word, each in neighbours)
    cell = next((cell for cell in notebook["cells"] if role(cell) == "links"), None)
    if cell is None and text:
        cell = new_cell("markdown", "links", role="links")
        notebook["cells"].append(cell)
    if cell is not None:
        cell["source"] = text or "This is the only lesson so far."


def mark_for_nbgrader(cell, exercises):
    """Give answers, predictions and checks nbgrader's metadata, schema version 3, and take it from all others."""
    metadata, exercise = cell["metadata"], exercise_of(cell)
    for key in ("nbgrader", "deletable", "editable"):
        metadata.pop(key, None)
    if role(cell) == "answer" and exercise in exercises:
        metadata |= {"deletable": False, "nbgrader": nbgrader_entry(exercise, solution=True)}
    elif role(cell) == "predict" and BEGIN in cell["source"]:
        metadata |= {"deletable": False, "nbgrader": nbgrader_entry(cell["id"], solution=True)}
    elif role(cell) == "check" and exercise in exercises:
        graded = nbgrader_entry(f"{exercise}_check", solution=False) | {"points": exercises[exercise].points}
        metadata |= {"deletable": False, "editable": False, "nbgrader": graded}


def nbgrader_entry(grade_id, solution):
    """Return the metadata of a cell that either is a solution or grades one."""
    kind = {"solution": solution, "grade": not solution, "locked": not solution, "task": False}
    return {"schema_version": 3, "grade_id": grade_id, **kind}


def learner_notebook(solved):
    """Return what a learner opens: no solutions, no solution-only cells, no outputs."""
    cells = [
        cell | {"source": learner_source(solved["cells"], cell)}
        for cell in without_outputs(solved)["cells"]
        if role(cell) != "solution-only"
    ]
    lesson = solved["metadata"].get("ffn", {}).get("lesson", "")
    cells = front_ends.opened_elsewhere(cells, lesson, front_ends.REPOSITORY)
    return canonical({"cells": cells, "metadata": solved["metadata"]})


def difference(root, file, wanted):
    """Return the Problem that names the first cell in which `file` is not what `build` would write, if any."""
    remedy = "run `python3 -m ffnlib build`"
    if not file.exists():
        return [located(shown(root, file), [], None, 0, f"the file is missing; {remedy}")]
    if file.read_bytes() == dumps(wanted).encode("utf-8"):
        return []
    found = read(file)["cells"]
    for have, want in zip(found, wanted["cells"], strict=False):
        if have != want:
            keys = [key for key in sorted(have.keys() | want.keys()) if have.get(key) != want.get(key)]
            return [located(shown(root, file), found, have, 0, f"not up to date in {', '.join(keys)}; {remedy}")]
    if len(found) != len(wanted["cells"]):
        message = f"{len(found)} cells where {len(wanted['cells'])} are due; {remedy}"
        return [located(shown(root, file), found, None, 0, message)]
    return [located(shown(root, file), found, None, 0, f"not in canonical form outside its cells; {remedy}")]
