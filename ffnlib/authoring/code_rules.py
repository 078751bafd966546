"""What the code of a cell may do: regions, check calls, names. A rule yields (cell, line, message)."""

import ast
import re

from ffnlib.authoring.names import bound, used
from ffnlib.authoring.notebook import exercise_of, meaning, role
from ffnlib.authoring.regions import BEGIN, END, RegionError, regions, without_solutions

KERNELS_OWN = ("display", "get_ipython", "__annotations__")  # what every cell finds bound


def syntax_error(source):
    """Return the SyntaxError of a cell, or None when it is plain Python."""
    try:
        ast.parse(source)
    except SyntaxError as problem:
        return problem
    return None


def cells_are_plain_python(lesson):
    """Magics and shell lines run differently on other machines, so there are none."""
    for cell in lesson.code:
        problem = syntax_error(cell["source"])
        if problem:
            yield cell, problem.lineno or 1, f"not plain Python ({problem.msg}); write it without %magics and !commands"


def regions_hide_solutions(lesson):
    """Answers have regions and predictions may, no other cell does, and without them the cell still is Python."""
    for cell in lesson.code:
        try:
            found = regions(cell["source"])
            if found and role(cell) not in ("answer", "predict"):
                remedy = "give the cell the role 'answer', or hide all of it with the role 'solution-only'"
                yield cell, found[0][0] + 1, f"a solution region outside an answer cell; {remedy}"
            elif role(cell) == "answer" and not found:
                yield cell, 1, f"no solution region; put {BEGIN!r} and {END!r} around what the learner writes"
            elif found and not syntax_error(cell["source"]) and syntax_error(learner_source(lesson.cells, cell)):
                yield cell, found[0][0] + 1, "without its region the cell is not Python; put whole statements in it"
        except RegionError as problem:
            yield cell, problem.line, str(problem)


def checked(source):
    """Return (exercise id, name of the answer or None, line) of the first `check` call in a cell, or None."""
    if syntax_error(source):
        return None
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "check" and node.args:
            answer = node.args[-1].id if isinstance(node.args[-1], ast.Name) else None
            return getattr(node.args[0], "value", answer), answer, node.lineno
    return None


def answer_name(cells, exercise):
    """Return the name under which an exercise's check cell hands the answer in; the id when that cell is missing."""
    calls = [checked(cell["source"]) for cell in cells if role(cell) == "check" and exercise_of(cell) == exercise]
    return next((call[1] for call in calls if call and call[1]), exercise)


def learner_source(cells, cell):
    """Return the source of a cell as a learner gets it."""
    if role(cell) == "answer":
        return without_solutions(cell["source"], answer_name(cells, exercise_of(cell)))
    return without_solutions(cell["source"]) if role(cell) == "predict" else cell["source"]


def calls_name_their_exercise(lesson):
    """Check, hint and reveal cells call for the exercise they belong to."""
    for cell in lesson.of("check"):
        exercise, call = exercise_of(cell), checked(cell["source"])
        if call is None or call[1] is None:
            yield cell, 1, f'the check cell hands in no answer by name; write check("{exercise}", {exercise})'
        elif call[0] != exercise:
            yield cell, call[2], f"the cell belongs to {exercise} and checks {call[0]!r}; make them agree"
    for kind in ("hint", "reveal"):
        for cell in lesson.of(kind):
            named = re.findall(rf"\b{kind}\(\s*[\"']?(\w+)", cell["source"])
            if set(named) != {exercise_of(cell)}:
                remedy = f'write {kind}("{exercise_of(cell)}")'
                names = ", ".join(named) or "nothing"
                yield cell, 1, f"the cell belongs to {exercise_of(cell)} and names {names}; {remedy}"


def predictions_name_a_claim(lesson):
    """A prediction is kept under the id of a claim, where the verdict finds it again."""
    for cell in lesson.code:
        for claim, line in _calls(cell, "predict"):
            if claim not in lesson.claims:
                yield cell, line, f"claim {claim!r} is not in ffnlib/authoring/claims.csv; correct the id"


def verdicts_are_marked(lesson):
    """A cell that decides a claim says so in its metadata, from which the page of claims is collected."""
    for cell in lesson.code:
        for claim, line in _calls(cell, "decide"):
            if claim not in meaning(cell).get("claim", []):
                yield cell, line, f"the cell decides {claim!r}; add it to metadata.ffn.claim"


def _calls(cell, function):
    """Return (first argument, line) of every call of `function` in a cell."""
    if syntax_error(cell["source"]):
        return []
    nodes = ast.walk(ast.parse(cell["source"]))
    calls = [node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == function]
    return [(getattr(node.args[0], "value", None) if node.args else None, node.lineno) for node in calls]


def answers_are_bound_by_their_own_cell(lesson):
    """The name of an answer is bound in its answer cell and nowhere else."""
    owner = {answer_name(lesson.cells, exercise): exercise for exercise in lesson.exercises}
    for cell, binds in _bindings(lesson):
        own = exercise_of(cell) if role(cell) == "answer" else None
        for name, line in binds.items():
            if name in owner and owner[name] != own:
                rule = f"{name} is the answer to exercise {owner[name]}, which only its answer cell may bind"
                yield cell, line, f"{rule}; use another name here"
        for name in owner:
            if owner[name] == own and name not in binds:
                yield cell, 1, f"the answer cell does not bind {name}, which its check cell hands in; bind it"


def answers_depend_on_setup_and_answers_only(lesson):
    """What an answer or its check takes from outside is bound in a setup or an answer cell."""
    needed = {}
    for cell in lesson.code:
        if role(cell) in ("answer", "check", "hint", "reveal") and not syntax_error(cell["source"]):
            needed |= dict.fromkeys(used(cell["source"]), exercise_of(cell))
    for exercise in lesson.exercises:
        needed.pop(answer_name(lesson.cells, exercise), None)
    for cell, binds in _bindings(lesson):
        for name, line in binds.items():
            if name == "*":
                yield cell, line, "`import *` binds names that nobody sees; import what is used by its name"
            elif name in needed and role(cell) not in ("setup", "answer"):
                yield cell, line, f"{name} is used by exercise {needed[name]}; bind it in the setup or rename it here"


def answers_take_what_they_are_called_with(lesson):
    """A model answer is defined with the arguments that its check calls it with, under the names learners read."""
    for cell in lesson.of("answer"):
        exercise = lesson.exercises.get(exercise_of(cell))
        defined = exercise and parameters(cell["source"], answer_name(lesson.cells, exercise.id))
        called = exercise and [ast.unparse(each) for each in ast.parse(exercise.call_text(), mode="eval").body.args]
        if defined and defined[0] != called:
            takes = f"the definition takes ({', '.join(defined[0])})"
            yield cell, defined[1], f"{takes} and is called as {exercise.call_text()}; make them agree"


def parameters(source, name):
    """Return (parameters, line) of the function or class that a cell defines under a name, or None without one."""
    body = [] if syntax_error(source) else ast.parse(source).body
    node = next((node for node in body if getattr(node, "name", None) == name), None)
    inside = node.body if isinstance(node, ast.ClassDef) else []
    node = next((each for each in inside if getattr(each, "name", None) == "__init__"), node)
    if not isinstance(node, ast.FunctionDef):
        return None
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    names += [f"*{node.args.vararg.arg}"] if node.args.vararg else []
    return names[1:] if inside else names, node.lineno


def names_are_bound_above(lesson):
    """What a cell uses is bound by itself or above it, and as well for a learner, who lacks some cells and lines.

    A learner may also leave out sections marked optional; they may use each other's names.
    """
    here, learners, hasty = (set(KERNELS_OWN) for _ in range(3))
    optional = optional_cells(lesson.cells)
    for cell in lesson.code:
        if syntax_error(cell["source"]):
            continue
        hidden, skipped = role(cell) == "solution-only", cell["id"] in optional
        for name in sorted(used(cell["source"]) - (here if hidden else learners if skipped else hasty)):
            why = "only by lines that a learner does not get" if name in here else "by no cell above"
            why = "only in a section marked optional" if name in learners else why
            yield cell, _line_of(name, cell["source"]), f"{name} is bound {why}; bind it in the setup, or correct it"
            for names in (here, learners, hasty):
                names.add(name)
        answer = {answer_name(lesson.cells, exercise_of(cell))} if role(cell) == "answer" else set()
        here |= bound(cell["source"]).keys() | answer  # that it binds its answer is a rule of its own
        for_learners = set() if hidden else bound(_learner_source(lesson, cell)).keys() | answer
        learners |= for_learners
        hasty |= set() if skipped else for_learners


def optional_cells(cells):
    """Return the ids of the cells in sections whose heading ends in "(optional)"."""
    found, level = set(), 0  # the level of the optional heading that stands above, 0 for none
    for cell in cells:
        heading = re.match(r"(#+) .*", cell["source"]) if cell["cell_type"] == "markdown" else None
        if heading and (not level or len(heading.group(1)) <= level):
            level = len(heading.group(1)) if heading.group(0).rstrip().endswith("(optional)") else 0
        if level:
            found.add(cell["id"])
    return found


def _learner_source(lesson, cell):
    """Return what a learner gets of a cell; all of it when its region is wrong, which is another rule's concern."""
    try:
        source = learner_source(lesson.cells, cell)
    except RegionError:
        source = cell["source"]
    return cell["source"] if syntax_error(source) else source


def _line_of(name, source):
    return next((each.lineno for each in ast.walk(ast.parse(source)) if getattr(each, "id", None) == name), 1)


def _bindings(lesson):
    return [(cell, bound(cell["source"])) for cell in lesson.code if not syntax_error(cell["source"])]


RULES = (
    cells_are_plain_python,
    regions_hide_solutions,
    calls_name_their_exercise,
    predictions_name_a_claim,
    verdicts_are_marked,
    answers_are_bound_by_their_own_cell,
    answers_depend_on_setup_and_answers_only,
    answers_take_what_they_are_called_with,
    names_are_bound_above,
)
