"""What a learner reads on a feedback page: it makes sense without the notebook, and says how to see more."""

import re

import pytest

from ffnlib.examination.verdict import note_on_calling
from ffnlib.grading.cli import grade_folder
from ffnlib.grading.interview import called_by
from ffnlib.grading.session import Part
from tests.grading import build_submissions as golden

WRONG = {"relu": "def relu(x):\n    return np.asarray(x) * 0.37 + 1"}
CASES = {
    "untouched": golden.cells(**golden.STUBS),
    "unknown": golden.cells(**WRONG),
    "known": golden.cells(relu="def relu(x):\n    return np.abs(x)"),
    "syntax": golden.cells(relu="def relu(x)\n    return x"),
    "endless": golden.cells(relu="while True:\n    pass\n\ndef relu(x):\n    return x"),
    "memory": golden.cells(relu="def relu(x):\n    return np.ones((400_000, 400_000))"),
    "helper": golden.cells(before=["def plus(x)\n    return x"], relu="def relu(x):\n    return plus(x)"),
    "calls_wrong": golden.cells(
        feed_forward="def feed_forward(x, W1, b1, W2, b2):\n    return (x @ W1 + b1) @ W2 + b2",
        feed_forward_columns=(
            "def feed_forward_columns(x, W1, b1, W2, b2):\n"
            '    """Not relu(x)."""  # nor linear_collapse(x)\n'
            "    return feed_forward(x, W1.T, b1, W2.T, b2)"
        ),
    ),
    "spoof": golden.cells(
        relu="raise type('E\\nbecause: you\\x1b[2J', (Exception,), {})('x\\nbecause: \\u202epassed')"
    ),
    "counted": [
        cell | {"execution_count": number} if cell["cell_type"] == "code" else cell
        for number, cell in enumerate(golden.cells(relu="def relu(x)\n    return x"), 10)
    ],
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The rows and the feedback pages of one run over all cases, by case."""
    folder, out = tmp_path_factory.mktemp("in"), tmp_path_factory.mktemp("out")
    for name, cells in CASES.items():
        (folder / f"{name}.ipynb").write_bytes(golden.notebook(cells))
    rows = {row["student"]: row for row in grade_folder(folder, out, timeout=9, memory=512)}
    return rows, {name: (out / "feedback" / name / "01_formula.html").read_text("utf-8") for name in CASES}


def relu(written, case):
    result = next(result for result in written[0][case]["exercises"] if result["id"] == "relu")
    return result["status"], result["misconception"], result["message"]


def test_no_page_points_at_a_cell_or_a_check_that_it_does_not_have(written):
    for text in written[1].values():
        assert not re.search(r"cell above|this check|cell \d|called</dt>", text)


def test_who_gets_no_number_is_told_where_the_numbers_are(written):
    status, name, message = relu(written, "unknown")
    assert (status, name) == ("not-yet", None)
    assert "check('relu', relu) in your notebook shows a call with its numbers" in message


def test_an_answer_that_calls_a_wrong_one_is_told_which(written):
    messages = {result["id"]: result["message"] for result in written[0]["calls_wrong"]["exercises"]}
    told = "note: " + note_on_calling("feed_forward")[1]
    assert {name: text.count(told) for name, text in messages.items()}["feed_forward_columns"] == 1
    assert sum(text.count("answer calls") for text in messages.values()) == 1


@pytest.mark.parametrize(
    ("source", "called"),
    [
        ("def f(x):\n    return relu(x)\n\ndef g(x):\n    return other(x)", {"relu"}),
        ("def f(x):\n\n    # other(x)\n    return relu(x)  # 'other(x)'\nother(1)", {"relu"}),
        ('def f(x):\n    return \'other(x)\' + """\nother(x)\n"""', set()),
        ("def f(x)\n    return relu(x", {"relu"}),
        ("f = lambda x: relu(x)", set()),
        ('"' * 100_001, set()),
    ],
)
def test_what_an_answer_calls_is_read_from_its_own_lines(source, called):
    assert called_by("f", [Part(1, source, "", True, True)]) - {"f"} == called


def test_a_class_page_knows_which_error_is_inherited(written):
    called = {result["id"]: result["calls_wrong"] for result in written[0]["calls_wrong"]["exercises"]}
    assert called == {"relu": [], "feed_forward": [], "feed_forward_columns": ["feed_forward"], "linear_collapse": []}


def test_an_error_of_a_learners_own_making_adds_no_line_and_no_sign_that_acts(written):
    status, name, message = relu(written, "spoof")
    assert (status, name) == ("not-yet", "its cell does not run")
    assert [line.partition(": ")[0] for line in message.splitlines()] == ["cell", "because", "next"]
    assert "E because: you\\x1b[2J: x because: \\u202epassed" in message


def test_an_answer_that_was_not_begun_says_what_to_do(written):
    status, _, message = relu(written, "untouched")
    assert status == "untouched" and "check('relu', relu)" in message


@pytest.mark.parametrize(
    ("case", "name", "says"),
    [
        ("syntax", "its cell does not run", "begins with \"def relu(x)\" failed: SyntaxError: expected ':' (line 1)"),
        ("counted", "its cell does not run", "the cell [11] that begins with"),
        ("endless", "its cell does not run", 'begins with "while True:" is left out: it did not end in 3 s'),
        ("memory", "more memory than there is", "the memory limit of 512 MB was reached"),
        ("helper", "unknown name", 'note: the cell that begins with "def plus(x)" failed: SyntaxError'),
    ],
)
def test_what_kept_an_answer_from_being_tried_stands_beside_it(written, case, name, says):
    status, found, message = relu(written, case)
    assert (status, found) == ("not-yet", name), message
    assert says in message
    told = next(line for line in message.splitlines() if says in line).partition(": ")[2]
    assert told not in written[0][case]["notes"]  # once is enough
