"""What a solved lesson has stored is the same on every machine, small, and readable without its pictures."""

import base64
import html

import pytest

from ffnlib.authoring.notebook import exercise_of, new_cell, role
from ffnlib.authoring.outputs import NOTEBOOK_BYTES, PICTURE_BYTES, long_texts, problems

DOT = base64.b64encode(b"picture").decode()
SENTENCE = "In words: twice 3 is 6, as drawn.\n"


def stream(text, name="stdout"):
    return {"name": name, "output_type": "stream", "text": text}


def display(**data):
    names = {"png": "image/png", "html": "text/html", "plain": "text/plain"}
    return {"output_type": "display_data", "data": {names[key]: data[key] for key in data}, "metadata": {}}


@pytest.fixture
def solved(lesson):
    """The made-up lesson as if it had been run."""
    for number, cell in enumerate((cell for cell in lesson.notebook["cells"] if cell["cell_type"] == "code"), 1):
        words = f"{exercise_of(cell)} - passed\n" if role(cell) == "check" else "1 2\n"
        cell |= {"execution_count": number, "outputs": [] if role(cell) == "answer" else [stream(words)]}
    return lesson


def found(lesson):
    return [str(problem) for problem in problems(lesson.notebook, "solutions/01_tiny.ipynb")]


def test_the_made_up_lesson_stores_nothing_fleeting(solved):
    assert found(solved) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<FFN at 0x7f3c2a10>", "a memory address"),
        ("saved to /home/ada/course", "an absolute path"),
        ("'/tmp/x.npz'", "an absolute path"),
        ("C:\\Users\\ada", "an absolute path"),
        ("ipykernel_4711/12.py:1: UserWarning", "a kernel's temporary file"),
        ("done at 13:24:14", "a clock"),
        ("2026-11-29", "a date"),
        ("0.25 ms a call", "a measured time"),
        ("3.1µs", "a measured time"),
        ("3f9a0c1e-77aa-4b1c-9d0e-0123456789ab", "a random id"),
        ("d41d8cd98f00b204e9800998ecf8427e", "a random id"),
        (" 40%|####      | 4/10", "a progress bar"),
    ],
)
def test_what_differs_on_every_run_is_not_stored(solved, text, what):
    page = f"<p>{html.escape(text)}</p>"
    for output in (stream(text), display(plain=text), display(html=page, plain="x")):
        solved.cell("table")["outputs"] = [output]
        [problem] = found(solved)
        assert "cell 15 (table)" in problem and what in problem


@pytest.mark.parametrize(
    "text", ["ratio 1/2", "a/tmp/b", "8 s and 3 m", "0x1f", "12:30", "50 % | 60 %", "2,099,712", "d/d_ff", "</div>"]
)
def test_teaching_numbers_are_no_clocks(solved, text):
    solved.cell("table")["outputs"] = [stream(text)]
    assert found(solved) == []


def test_errors_and_stderr_are_not_stored(solved):
    solved.cell("table")["outputs"] = [
        stream("careful\n", "stderr"),
        {"output_type": "error", "ename": "ValueError", "evalue": "x=3", "traceback": []},
    ]
    assert len(found(solved)) == 2
    assert "stderr ('careful')" in found(solved)[0] and "ends in ValueError: x=3" in found(solved)[1]


@pytest.mark.parametrize("counts", [(2, 1), (None, 2), (1, 3), (1, 1)])
def test_cells_were_run_once_from_top_to_bottom(solved, counts):
    first, second = [cell for cell in solved.notebook["cells"] if cell["cell_type"] == "code"][:2]
    first["execution_count"], second["execution_count"] = counts
    assert any("is due; run `python3 -m ffnlib build --execute 01_tiny`" in each for each in found(solved))


@pytest.mark.parametrize("comment", ["# nbval_skip", "# NBVAL_SKIPP", "# Nbval_Ignore_Output", "# NBVAL_CHECK_OUTPUT"])
def test_an_nbval_comment_that_nbval_would_ignore_is_refused(solved, comment):
    solved.cell("table")["source"] += f"\n{comment}"
    [problem] = found(solved)
    assert "line 3" in problem and "does nothing" in problem


def test_an_nbval_comment_stands_on_its_own_line(solved):
    solved.cell("table")["source"] += "\nprint(3)  # NBVAL_IGNORE_OUTPUT"
    assert len(found(solved)) == 1
    solved.cell("table")["source"] = "# NBVAL_IGNORE_OUTPUT\nprint(3)"
    assert found(solved) == []


def test_a_lesson_with_almost_nothing_to_compare_is_refused(solved):
    for cell in solved.notebook["cells"]:
        if cell["cell_type"] == "code" and role(cell) != "check":
            cell["outputs"] = []
    assert "nbval compares 2 cells; store the outputs of 3 or more" in found(solved)[0]


def test_the_solved_answers_pass_their_checks_and_what_a_check_says_is_shown(solved):
    verdict = "half - not yet\n  because   1 is passed on as it is"
    solved.cell("half-check")["outputs"] = [display(plain=verdict, html="<p>half</p>")]
    [problem] = found(solved)
    assert problem.startswith(
        "solutions/01_tiny.ipynb, cell 11 (half-check): the solved answer does not pass its check"
    )
    assert problem.endswith("The check says:\n    half - not yet\n      because   1 is passed on as it is")
    solved.cell("half-check")["outputs"] = []
    assert found(solved)[0].endswith("mend the answer or the exercise.")


@pytest.mark.parametrize(
    "picture",
    [
        display(png=DOT, plain="<Figure size 600x350 with 1 Axes>"),
        display(html=f'<img alt="six dots in a row here" src="data:image/png;base64,{DOT}">', plain=""),
    ],
)
def test_a_picture_has_words_beside_it(solved, picture):
    solved.cell("table")["outputs"] = [picture]
    assert "a picture without words" in found(solved)[0]
    solved.cell("table")["outputs"].append(stream(SENTENCE))
    assert found(solved) == []


def test_a_widget_has_a_static_twin(solved):
    solved.cell("table")["metadata"]["ffn"]["role"] = "widget"
    assert "static twin" in found(solved)[0]
    solved.cell("table")["outputs"] = [display(png=DOT, plain=SENTENCE)]
    assert found(solved) == []


def test_pictures_and_notebooks_keep_their_budgets(solved):
    large = base64.b64encode(b"0" * (PICTURE_BYTES + 1)).decode()
    page = f"<img src='data:image/png;base64,{large}'>" + SENTENCE
    for output in (display(png=large, plain=SENTENCE), display(html=page)):
        solved.cell("table")["outputs"] = [output]
        assert "a picture of 40,001 bytes" in found(solved)[0]
    solved.cell("table")["outputs"] = [stream("word " * (NOTEBOOK_BYTES // 5))]
    assert "bytes, more than 500,000" in found(solved)[0]


def test_long_texts_are_noted(lesson):
    lesson.notebook["cells"].append(new_cell("markdown", "essay", "word " * 200, role="text"))
    assert list(long_texts(lesson.notebook)) == ["cell 17 (essay) has 200 words; lessons aim at about thirty a cell"]
