"""What is collected comes from cells alone, changes with them, and is noticed when it is old."""

import json

from ffnlib.authoring import collected
from ffnlib.authoring.notebook import new_cell, new_notebook, write

SAID = [
    {
        "output_type": "execute_result",
        "execution_count": 1,
        "metadata": {},
        "data": {"text/plain": "TRUE\nIt is 4. You expected FALSE."},
    }
]


def folder_with(root, *cells):
    """Write a lesson and an empty place for what is collected."""
    (root / "ffnlib").mkdir(parents=True)
    header = new_cell("markdown", "question", "# Two\n\n**The question:** what?\n\n5 minutes", role="header")
    law = new_cell("markdown", "law", "**The law is $x_{ff}$.**\n\nWhat would change our mind: a doubt.", role="law")
    write(root / "solutions" / "01_formula.ipynb", new_notebook("01_formula", [header, *cells, law]))
    return root


def test_a_deciding_cell_gives_its_sentence_without_the_prediction(tmp_path):
    cell = new_cell("code", "decided", 'decide("S3-04", True, "")', role="demo", claim=["S3-04"])
    root = folder_with(tmp_path, cell | {"outputs": SAID})
    [claim] = collected.collect(root)["claims"]
    assert (claim["id"], claim["cell"], claim["measured"]) == ("S3-04", "decided", "It is 4.")


def test_a_cell_that_says_another_verdict_decides_nothing(tmp_path):
    cell = new_cell("code", "decided", "decide()", role="demo", claim=["S3-05"])  # FALSE in the table
    root = folder_with(tmp_path, cell | {"outputs": SAID})
    assert collected.collect(root)["claims"] == []


def test_question_law_doubt_and_words(tmp_path):
    words = new_cell("markdown", "words", "## Head\n\nA **unit** is $\\mathrm{a}$.", role="text", term=["unit"])
    [lesson] = collected.collect(folder_with(tmp_path, words))["lessons"]
    assert lesson["question"] == "what?" and lesson["law"] == "The law is x_ff." and lesson["doubt"] == "a doubt."
    [term] = collected.collect(tmp_path)["terms"]
    assert term == {"term": "unit", "meaning": "A **unit** is a.", "lesson": "01_formula", "cell": "words"}


def test_an_old_file_is_noticed_and_written_once(tmp_path):
    root = folder_with(tmp_path)
    assert "not up to date" in str(collected.difference(root)[0])
    assert collected.write(root) and not collected.write(root)
    assert collected.difference(root) == []
    json.loads(root.joinpath(*collected.PLACE).read_text("utf-8"))


def test_a_folder_without_the_package_collects_nothing(tmp_path):
    assert not collected.write(tmp_path) and collected.difference(tmp_path) == []
