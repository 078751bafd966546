"""The skeleton of a new exercise, in the three places where one lives; the tests then say what is still missing."""

import ast
import builtins
import keyword
import re
import sys
from pathlib import Path

from ffnlib.authoring.cell_rules import TO_BE_WRITTEN
from ffnlib.authoring.names import bound
from ffnlib.authoring.notebook import canonical, dumps, new_cell, read, role

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = Path("ffnlib/examination/lessons/__init__.py")
EXERCISE_MODULE = "ffnlib.examination.exercise"
LINE = 120

DATA = '''# ---------------------------------------------------------------- {id}


def {id}(x):
    """Return {to_be_written}."""
    raise NotImplementedError("{id}: write the model answer in {file}")


def {id}_probes(rng):
    """Draw the inputs that tell the right answer from every slip."""
    return (call(rng.normal(size=3)),)


{constant} = Exercise(
    id="{id}",
    probes={id}_probes,
    oracle={id},
    returns=Array(),
    misconceptions=(
        Misconception("first {to_be_written}", lambda x: x, "{to_be_written}", "{to_be_written}"),
        Misconception("second {to_be_written}", lambda x: x, "{to_be_written}", "{to_be_written}"),
        Misconception("third {to_be_written}", lambda x: x, "{to_be_written}", "{to_be_written}"),
    ),
    hints=(
        "Where to look {to_be_written}.",
        "Which operation {to_be_written}.",
        "return ___ {to_be_written}",
    ),
    why="{to_be_written}",
)

'''

TEST = """

def test_{id}_agrees_with_an_independent_computation():
    pytest.fail("{id}: compare the model answer with torch, with a loop or with numbers worked out by hand")
"""

STATEMENT = """### {id}

Return {to_be_written}.

| name | shape |
|---|---|
| `x` | {to_be_written} |
| result | {to_be_written} |

By hand: `{id}({to_be_written})` is `{to_be_written}`."""

HINT = '# hint("{id}")        # remove the first # for a hint; hint("{id}", 2) and 3 say more'
REVEAL = '# reveal("{id}")      # remove the first # to see a right answer and why it is one'
ANSWER = """def {id}(x):
    ### BEGIN SOLUTION
    raise NotImplementedError
    ### END SOLUTION"""


class Refused(ValueError):
    """A new exercise that cannot be made; the text says why and what to do."""


def add_arguments(parser):
    """Describe the options of `python3 -m ffnlib new-exercise`."""
    parser.add_argument("id", metavar="ID", help="name of the function asked for, such as layer_norm")
    parser.add_argument("--lesson", metavar="NN", required=True, help="number of the lesson, such as 04")


def main(args, root=ROOT):
    """Carry out `python3 -m ffnlib new-exercise`; return 0, or 1 when it is refused and nothing was written."""
    try:
        files = skeleton(root, args.id, args.lesson)
    except Refused as reason:
        print(reason, file=sys.stderr)
        return 1
    for file, text in files.items():
        file.write_bytes(text.encode("utf-8"))
        print(f"wrote {args.id} into {file.relative_to(root).as_posix()}")
    print("Write what is marked (to be written). What is missing, and what is wrong with it, these two say:")
    print(f"    python3 -m ffnlib test tests/lessons/test_exercises.py -k {args.id}")
    print("    python3 -m ffnlib build")
    return 0


def skeleton(root, name, number):
    """Return {file: new text} of everything a new exercise needs.

    Raises: Refused for a bad or taken name and an unknown lesson.
    """
    catalogue = (root / CATALOGUE).read_text(encoding="utf-8")
    lessons = ast.literal_eval(assigned(catalogue, "CATALOGUE"))
    lesson = next((each for each in lessons if each[:2] == number), None)
    if lesson is None:
        known = ", ".join(each[:2] for each in lessons)
        where = CATALOGUE.as_posix()
        raise Refused(f"--lesson {number!r} is not in the course (known: {known}); add the lesson to {where} first")
    data = root / CATALOGUE.with_name(f"lesson{number}.py")
    solved = root / "solutions" / f"{lesson}.ipynb"
    for file in (data, solved):
        if not file.exists():
            raise Refused(f"{file.relative_to(root).as_posix()} does not exist; begin the lesson before its exercises")
    module, notebook = data.read_text(encoding="utf-8"), read(solved)
    refuse_bad_name(name, lessons, module, notebook)
    return {
        root / CATALOGUE: extended(catalogue, entry(catalogue, lesson), f'"{name}"'),
        data: with_data(module, name, data.name),
        solved: dumps(with_cells(notebook, name)),
        **with_test(root / "tests" / "lessons" / f"test_lesson{number}.py", number, name),
    }


def refuse_bad_name(name, lessons, module, notebook):
    """Raise Refused unless `name` is a good name for a function and new in the course, the lesson's code and cells."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise Refused(f"{name!r} is no name for an exercise; use lower-case words joined by '_', such as layer_norm")
    for lesson, ids in lessons.items():
        if name in ids:
            raise Refused(f"{name} is already an exercise of {lesson}; choose another name")
    if hasattr(builtins, name) or name in bound(module):
        raise Refused(f"{name} is already a name in Python or in the lesson's module; choose another name")
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and name in bound(cell["source"]):
            raise Refused(f"{name} is bound by cell {cell.get('id')!r}; rename it there or choose another name")


def assigned(source, name):
    """Return the syntax tree of the value that a module assigns to `name`."""
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(getattr(target, "id", None) == name for target in targets):
            return node.value
    raise Refused(f"{name} = ... is not where it was; add the exercise by hand")


def entry(source, lesson):
    """Return the syntax tree of one lesson's tuple in the catalogue."""
    table = assigned(source, "CATALOGUE")
    return next(value for key, value in zip(table.keys, table.values, strict=True) if key.value == lesson)


def extended(source, node, element):
    """Return the source with one more element in the tuple at `node`, on several lines when one is not enough."""
    elements = [ast.get_source_segment(source, each) for each in node.elts] + [element]
    lines = source.encode("utf-8").splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    text = f"({', '.join(elements)}{',' if len(elements) == 1 else ''})"
    if node.col_offset + len(text) >= LINE:
        indent = " " * (len(lines[node.lineno - 1]) - len(lines[node.lineno - 1].lstrip()))
        text = "".join(["(\n", *(f"{indent}    {each},\n" for each in elements), f"{indent})"])
    return (source.encode("utf-8")[:start] + text.encode("utf-8") + source.encode("utf-8")[end:]).decode("utf-8")


def with_data(module, name, file):
    """Return the lesson's module with the exercise's data above its table of exercises."""
    constant = name.upper()
    module = with_imports(module)
    module = extended(module, assigned(module, "EXERCISES"), constant)
    above = assigned(module, "EXERCISES").lineno - 1
    lines = module.splitlines(keepends=True)
    block = DATA.format(id=name, constant=constant, file=file, to_be_written=TO_BE_WRITTEN)
    return "".join([*lines[:above], "\n" if lines[above - 2 : above] != ["\n", "\n"] else "", block, *lines[above:]])


def with_imports(module):
    """Return the lesson's module with what the frame needs imported from `exercise`, in the order ruff asks for."""
    node = next(each for each in ast.parse(module).body if getattr(each, "module", None) == EXERCISE_MODULE)
    names = {ast.unparse(each) for each in node.names} | {"Array", "Exercise", "Misconception", "call"}
    names = sorted(names, key=lambda name: (name[0].islower(), name))
    text = f"from {EXERCISE_MODULE} import {', '.join(names)}"
    if len(text) > LINE:
        text = "\n".join([f"from {EXERCISE_MODULE} import (", *(f"    {name}," for name in names), ")"])
    lines = module.split("\n")
    return "\n".join([*lines[: node.lineno - 1], text, *lines[node.end_lineno :]])


def with_cells(notebook, name):
    """Return the solved notebook with the exercise's five cells above its law."""
    slug = name.replace("_", "-")
    words = {"id": name, "to_be_written": TO_BE_WRITTEN}
    cells = [
        new_cell("markdown", f"{slug}-statement", STATEMENT.format(**words), role="statement", exercise=name),
        new_cell("code", f"{slug}-answer", ANSWER.format(**words), role="answer", exercise=name),
        new_cell("code", f"{slug}-check", f'check("{name}", {name})', role="check", exercise=name),
        new_cell("code", f"{slug}-hint", HINT.format(**words), role="hint", exercise=name),
        new_cell("code", f"{slug}-reveal", REVEAL.format(**words), role="reveal", exercise=name),
    ]
    old = notebook["cells"]
    above = next((index for index, cell in enumerate(old) if role(cell) == "law"), len(old))
    return canonical(notebook | {"cells": [*old[:above], *cells, *old[above:]]})


def with_test(file, number, name):
    """Return {file: text} of the lesson's tests with one that fails until it is written."""
    text = f'"""Lesson {number}: its model answers against independent computations."""\n\nimport pytest\n'
    if file.exists():
        text = file.read_text(encoding="utf-8")
        if "pytest" not in bound(text):
            raise Refused(f"tests/lessons/{file.name} does not import pytest; import it there, the new test needs it")
    return {file: text + TEST.format(id=name)}
