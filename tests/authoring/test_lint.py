"""Every rule refuses what it is there for, at the right cell and line, and says what to do."""

from dataclasses import replace

import pytest

from ffnlib.authoring.cell_rules import RULES as CELL_RULES
from ffnlib.authoring.code_rules import RULES as CODE_RULES
from ffnlib.authoring.lint import lint
from ffnlib.authoring.notebook import new_cell

from .conftest import ANSWER, SETUP, VALUE_ANSWER, exercise


def problems(lesson):
    return lint(lesson.notebook, "solutions/01_tiny.ipynb", lesson.exercises["01_tiny"], ["S0-01"])


def only(lesson):
    found = problems(lesson)
    assert len(found) == 1, [str(problem) for problem in found]
    return found[0]


def test_the_made_up_lesson_breaks_no_rule(lesson):
    assert problems(lesson) == []


def test_a_problem_names_file_cell_number_and_line(lesson):
    lesson.cell("table")["source"] = "import numpy\n\nhalf = 3"
    assert str(only(lesson)) == (
        "solutions/01_tiny.ipynb, cell 15 (table), line 3: half is the answer to exercise half, which only its answer "
        "cell may bind; use another name here"
    )


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("half = 3", 1),
        ("half: int = 3", 1),
        ("half += 3", 1),
        ("a, (b, half) = 1, (2, 3)", 1),
        ("def half():\n    return 3", 1),
        ("async def half():\n    return 3", 1),
        ("class half:\n    pass", 1),
        ("import half", 1),
        ("import half.of", 1),
        ("from shapes import square as half", 1),
        ("for half in (1, 2):\n    print(half)", 1),
        ("with open('f') as half:\n    print(half)", 1),
        ("print(1)\nif (half := 3) > 2:\n    print(half)", 2),
        ("print([half := 3 for _ in 'ab'])", 1),
        ("try:\n    print(1)\nexcept ValueError as half:\n    pass", 3),
        ("def f():\n    global half\n    half = 3", 2),
        ("class C:\n    def f(self):\n        global half\n        half = 3", 3),
        ("match 3:\n    case half:\n        print(half)", 2),
        ("match [3]:\n    case [*half]:\n        print(half)", 2),
        ("match {}:\n    case {**half}:\n        print(half)", 2),
        ("del half", 1),
    ],
)
def test_every_way_to_bind_an_answers_name_elsewhere_is_refused(lesson, source, line):
    lesson.cell("table")["source"] = source
    problem = only(lesson)
    assert (problem.cell, problem.line) == ("table", line)
    assert "half is the answer to exercise half" in problem.message


@pytest.mark.parametrize(
    "source",
    [
        "print([half for half in (1, 2)])",
        "print({half: 1 for half in 'ab'})",
        "def f(half):\n    half = 3\n    return half",
        "f = lambda half: half",
        "class C:\n    half = 3",
        "factor.half = 3",
        "factor['half'] = 3",
        "print(half)",
    ],
)
def test_a_name_that_stays_inside_is_allowed(lesson, source):
    lesson.cell("table")["source"] = source
    assert problems(lesson) == []


def test_the_setup_may_not_bind_an_answers_name(lesson):
    lesson.cell("setup")["source"] += "\nfrom numbers import half"
    assert "half is the answer" in only(lesson).message


def test_an_answer_cell_may_not_bind_another_answer(lesson):
    lesson.cell("double-answer")["source"] += "\n\n\nhalf = 3"
    assert only(lesson).cell == "double-answer"


@pytest.mark.parametrize("name", ["factor", "check"])
def test_what_an_exercise_uses_is_bound_in_setup_and_answer_cells_only(lesson, name):
    lesson.cell("table")["source"] = f"{name} = 3"
    assert f"{name} is used by exercise" in only(lesson).message
    lesson.cell("table")["metadata"]["ffn"]["role"] = "setup"
    assert problems(lesson) == []


def test_an_answer_may_help_a_later_answer(lesson):
    lesson.cell("half-answer")["source"] = VALUE_ANSWER.replace("0.5", "1 / double(1)")
    assert problems(lesson) == []


def test_star_imports_are_refused(lesson):
    lesson.cell("table")["source"] = "from math import *"
    assert "`import *` binds names that nobody sees" in only(lesson).message


@pytest.mark.parametrize("source", ["%timeit f()", "!ls", "x = = 3"])
def test_what_is_not_plain_python_is_refused(lesson, source):
    lesson.cell("table")["source"] = "print(1)\n" + source
    problem = only(lesson)
    assert problem.line == 2 and "not plain Python" in problem.message


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        (ANSWER.replace("    ### END SOLUTION", "    pass"), 3, "never closed"),
        (ANSWER.replace("return factor", "### BEGIN SOLUTION\n    return factor"), 4, "opens inside the one of line 3"),
        (ANSWER.replace("    ### BEGIN SOLUTION\n", ""), 4, "closes nothing"),
        (ANSWER.replace("### BEGIN SOLUTION", "# BEGIN SOLUTION"), 3, "is no marker"),
        (ANSWER.replace("### END", "### end"), 5, "is no marker"),
        ("### BEGIN SOLUTION\n" + ANSWER.replace("    ###", "    #"), 4, "is no marker"),
        ("def double(x):\n    return 2 * x", 1, "no solution region"),
        ("### BEGIN SOLUTION\ndef double(x):\n    return 2 * x\n### END SOLUTION", 1, "move that line above"),
        (ANSWER + "\n\n\n### BEGIN SOLUTION\ntriple = 3\n### END SOLUTION", 8, "does not bind double"),
        ("def double(x):\n    if x:\n    ### BEGIN SOLUTION\n        pass\n    ### END SOLUTION", 3, "not Python"),
        ("if x:\n### BEGIN SOLUTION\n    double = 3\nelse:\n    x = 2\n### END SOLUTION", 2, "whole statements"),
    ],
)
def test_a_region_that_cannot_be_replaced_is_refused(lesson, source, line, message):
    lesson.cell("double-answer")["source"] = source
    problem = only(lesson)
    assert (problem.cell, problem.line) == ("double-answer", line) and message in problem.message


def test_a_region_outside_an_answer_cell_is_refused(lesson):
    lesson.cell("table")["source"] = "print(1)\n### BEGIN SOLUTION\nprint(2)\n### END SOLUTION"
    problem = only(lesson)
    assert problem.line == 2 and "outside an answer cell" in problem.message


def test_an_answer_cell_must_bind_what_its_check_hands_in(lesson):
    lesson.cell("double-answer")["source"] = ANSWER.replace("def double", "def twofold")
    assert "does not bind double" in only(lesson).message


@pytest.mark.parametrize(
    ("cell", "source", "message"),
    [
        ("double-check", 'check("half", double)', "belongs to double and checks 'half'"),
        ("double-check", "check(half)", "checks"),
        ("double-check", "print(double)", "hands in no answer by name"),
        ("double-check", 'check("double", lambda x: 2 * x)', "hands in no answer by name"),
        ("double-hint", 'hint("half")', "belongs to double and names half"),
        ("double-reveal", "print(1)", "belongs to double and names nothing"),
    ],
)
def test_a_cell_that_calls_for_another_exercise_is_refused(lesson, cell, source, message):
    lesson.cell(cell)["source"] = source
    found = problems(lesson)
    assert any(problem.cell == cell and message in problem.message for problem in found), [*map(str, found)]


def test_check_may_find_the_exercise_by_the_answers_own_name(lesson):
    lesson.cell("double-check")["source"] = "check(double)"
    assert problems(lesson) == []


@pytest.mark.parametrize("kind", ["statement", "answer", "check", "hint", "reveal"])
def test_an_exercise_lacks_nothing(lesson, kind):
    lesson.notebook["cells"].remove(lesson.cell(f"half-{kind}"))
    assert f"half has no {kind} cell" in " ".join(problem.message for problem in problems(lesson))


@pytest.mark.parametrize("kind", ["answer", "check"])
def test_an_exercise_has_one_answer_and_one_check(lesson, kind):
    lesson.notebook["cells"].insert(-1, lesson.cell(f"half-{kind}") | {"id": "again"})
    assert f"half has a second {kind} cell" in only(lesson).message


def test_an_exercise_is_stated_before_it_is_answered(lesson):
    cells = lesson.notebook["cells"]
    cells.remove(statement := lesson.cell("double-statement"))
    cells.insert(-1, statement)
    assert "the order statement, answer, check" in only(lesson).message


UUID = "3f9a0c1e-77aa-4b1c-9d0e-0123456789ab"


@pytest.mark.parametrize("name", [None, "", "3f9a0c1e", "abcdef12", UUID, "Relu", "two words", "x" * 65])
def test_an_id_is_a_name_that_somebody_chose(lesson, name):
    lesson.cell("table")["id"] = name
    assert "short name" in only(lesson).message or "is not a name" in only(lesson).message


def test_no_two_cells_share_an_id(lesson):
    lesson.cell("table")["id"] = "factor"
    assert [problem.number for problem in problems(lesson)] == [14, 15]


@pytest.mark.parametrize("role", [None, "answr", "statement", "widgets"])
def test_a_role_is_known_and_fits_the_cell(lesson, role):
    lesson.cell("table")["metadata"]["ffn"] = {"role": role} if role else {}
    assert "role" in problems(lesson)[0].message and problems(lesson)[0].cell == "table"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"claims": ["S0-01"]}, "has the key 'claims'"),
        ({"claim": ["S9-99"]}, "claim 'S9-99' is not in"),
        ({"claim": "S0-01"}, "write a list"),
        ({"term": ["width"]}, "write **width**"),
        ({"exercise": "half"}, "belongs to no exercise"),
    ],
)
def test_metadata_says_only_what_is_so(lesson, change, message):
    lesson.cell("factor")["metadata"]["ffn"] |= change
    assert message in only(lesson).message


@pytest.mark.parametrize("exercise", [None, "triple"])
def test_an_exercise_cell_belongs_to_an_exercise_of_this_lesson(lesson, exercise):
    lesson.notebook["cells"].insert(-1, new_cell("markdown", "more", "Write it.", role="statement", exercise=exercise))
    assert "is none of this lesson's (double, half)" in only(lesson).message


def test_tags_that_hide_failures_are_refused(lesson):
    lesson.cell("table")["metadata"]["tags"] = ["raises-exception", "nbval-ignore-output"]
    assert "tag 'raises-exception' has no use here" in only(lesson).message


def test_the_notebook_says_which_lesson_it_is(lesson):
    lesson.notebook["metadata"]["ffn"]["lesson"] = "02_tiny"
    assert only(lesson).message.startswith("metadata.ffn.lesson is '02_tiny'; write '01_tiny'")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda cells: cells.pop(0), "the first cell is the header"),
        (lambda cells: cells[0].update(source="What?"), "the first cell is the header"),
        (lambda cells: cells[0].update(source="# What?"), "how many minutes it takes"),
        (lambda cells: cells[0].update(source="# What.\n\n5 minutes"), "does not say the question"),
        (lambda cells: cells.insert(1, cells.pop(-2)), "the first code cell is the setup"),
        (lambda cells: cells.pop(), "the last cell is the law"),
        (lambda cells: cells[-1].update(source="Twice is plus itself."), "What would change our mind"),
        (lambda cells: cells.insert(3, cells[-1] | {"id": "law-two"}), "a second law cell"),
        (lambda cells: cells.clear(), "the lesson has no cells"),
    ],
)
def test_a_lesson_opens_with_its_question_and_ends_with_its_law(lesson, change, message):
    change(lesson.notebook["cells"])
    assert message in " ".join(problem.message for problem in problems(lesson))


def test_the_links_may_follow_the_law(lesson):
    lesson.notebook["cells"].append(new_cell("markdown", "links", "[Next](02.ipynb)", role="links"))
    assert problems(lesson) == []


@pytest.mark.parametrize("picture", ["![](a.png)", "![ ](a.png)", "<img src='a.png'>", "<img alt='' src='a.png'>"])
def test_a_picture_in_a_text_has_words(lesson, picture):
    lesson.cell("factor")["source"] += f"\n\n{picture}"
    problem = only(lesson)
    assert problem.line == 3 and "a picture without words" in problem.message
    lesson.cell("factor")["source"] = "The **factor** is 2. ![two dots](a.png) <img src='b.png' alt='two dots'>"
    assert problems(lesson) == []


def test_a_prediction_is_hidden_and_kept_under_a_claim_of_the_table(lesson):
    source = '### BEGIN SOLUTION\nguess = "TRUE"\n### END SOLUTION\npredict("S0-01", guess)'
    lesson.notebook["cells"].insert(2, new_cell("code", "guess", source, role="predict"))
    assert problems(lesson) == []
    lesson.cell("guess")["source"] = source.replace("S0-01", "S0-99")
    problem = only(lesson)
    assert problem.line == 4 and "claim 'S0-99'" in problem.message


@pytest.mark.parametrize("call", ['decide("S0-01", True, "")', "decide(\n    'S0-01',\n    True,\n    '',\n)"])
def test_a_cell_that_decides_a_claim_says_so(lesson, call):
    lesson.cell("table")["source"] = f"print(1)\n{call}"
    problem = only(lesson)
    assert problem.line == 2 and "the cell decides 'S0-01'" in problem.message
    lesson.cell("table")["metadata"]["ffn"]["claim"] = ["S0-01"]
    assert problems(lesson) == []


def test_every_rule_says_what_it_is_for():
    assert all(rule.__doc__ for rule in CELL_RULES + CODE_RULES)


@pytest.mark.parametrize(
    ("source", "takes"),
    [
        (ANSWER.replace("(x)", "(number)"), "number"),
        (ANSWER.replace("(x)", "(x, y)"), "x, y"),
        (ANSWER.replace("(x)", "(*x)"), "*x"),
        (ANSWER.replace("(x)", "()").replace("* x", "* 3"), ""),
    ],
)
def test_an_answer_takes_what_its_check_calls_it_with(lesson, source, takes):
    lesson.cell("double-answer")["source"] = source.replace("factor * x", "factor")
    problem = only(lesson)
    assert (problem.cell, problem.line) == ("double-answer", 1)
    assert f"the definition takes ({takes}) and is called as double(x)" in problem.message


def test_a_class_takes_what_its_check_builds_it_with(lesson):
    module = (
        "class Double:\n    def __init__(self, {}):\n        ### BEGIN SOLUTION\n        pass\n        ### END SOLUTION"
    )
    built = exercise("double", lambda width, weights: 0, "class")
    lesson.exercises["01_tiny"]["double"] = replace(built, called_as="Double(width)")
    lesson.cell("double-check")["source"] = 'check("double", Double)'
    lesson.cell("double-answer")["source"] = module.format("width, *, bias=True")
    assert problems(lesson) == []
    lesson.cell("double-answer")["source"] = module.format("height")
    assert only(lesson).line == 2
    assert "takes (height) and is called as Double(width)" in only(lesson).message


@pytest.mark.parametrize(
    ("cell", "source", "line", "message"),
    [
        ("double-answer", ANSWER.replace("factor", "fcator"), 4, "fcator is bound by no cell above"),
        ("table", "print(1)\nprint(np.ones(3), np.zeros(3))", 2, "np is bound by no cell above"),
        ("setup", SETUP + "\n\nprint(half)", 14, "half is bound by no cell above"),
        ("table", "print(secret)", 1, "secret is bound only by lines that a learner does not get"),
        ("double-answer", ANSWER + "\n\n\nprint(later)", 8, "later is bound by no cell above"),
    ],
)
def test_a_name_is_bound_before_it_is_used(lesson, cell, source, line, message):
    lesson.cell(cell)["source"] = source
    lesson.notebook["cells"].insert(-1, new_cell("code", "after", "later = 3", role="setup"))
    problem = only(lesson)
    assert (problem.cell, problem.line) == (cell, line) and message in problem.message


def test_what_only_an_optional_section_binds_is_not_there_for_who_skips_it(lesson):
    cells = lesson.notebook["cells"]
    cells[-1:-1] = [
        new_cell("markdown", "more", "## More (optional)", role="text"),
        new_cell("code", "more-bound", "extra = 3", role="demo"),
        new_cell("code", "more-used", "print(extra)", role="demo"),
        new_cell("markdown", "on", "## On", role="text"),
        new_cell("code", "on-used", "print(extra)", role="demo"),
    ]
    problem = only(lesson)
    assert problem.cell == "on-used" and "extra is bound only in a section marked optional" in problem.message


def test_what_a_region_binds_beside_its_answer_is_not_there_for_a_learner(lesson):
    lesson.cell("half-answer")["source"] = VALUE_ANSWER.replace("half =", "quarter = 0.25\nhalf =")
    lesson.cell("table")["source"] = "print(half, quarter)"
    assert "quarter is bound only by lines that a learner does not get" in only(lesson).message


def test_the_kernels_own_names_need_no_binding(lesson):
    lesson.cell("table")["source"] = "display(half)\nprint(__name__)"
    assert problems(lesson) == []
