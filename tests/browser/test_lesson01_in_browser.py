"""Lesson 01 the way a learner works it: fail an exercise, read why, open a hint, mend it, move the layer."""

from pathlib import Path

import pytest

LESSON = Path(__file__).resolve().parents[2] / "notebooks" / "01_formula.ipynb"
STUB = "    # your code here\n    raise NotImplementedError"


@pytest.fixture(scope="module")
def lesson(open_lesson):
    """The learner's notebook, open and run once from top to bottom."""
    page = open_lesson(LESSON)
    page.run_all()
    return page


def answer(lesson, exercise, body):
    """Write an answer into its cell, run it and the check, and read the verdict."""
    stub = lesson.source("answer", exercise)
    assert STUB in stub
    lesson.run(lesson.cell("answer", exercise), stub.replace(STUB, body))
    return lesson.verdict(lesson.run(lesson.cell("check", exercise)))


def test_a_fresh_notebook_runs_from_top_to_bottom_without_an_error(lesson):
    assert lesson.errors() == []
    assert lesson.verdict(lesson.cell("check", "feed_forward"))[0] == "untouched"


def test_relu_after_w2_is_told_so_helped_and_passes_when_mended(lesson):
    status, message = answer(lesson, "feed_forward", "    return np.maximum(0, (x @ W1 + b1) @ W2 + b2)")
    assert status == "not-yet"
    assert "exactly what comes out when" in message and "after W2" in message
    lesson.photograph(lesson.cell("check", "feed_forward"), "not_yet")

    helped = lesson.run(lesson.cell("hint", "feed_forward"), 'hint("feed_forward")')
    assert len(lesson.said(helped)) > 20
    lesson.photograph(helped, "hint")

    status, message = answer(lesson, "feed_forward", "    return np.maximum(0, x @ W1 + b1) @ W2 + b2")
    assert (status, "exactly what" in message) == ("passed", False)
    lesson.photograph(lesson.cell("check", "feed_forward"), "passed")


def test_the_keyboard_moves_the_layer_and_picture_and_sentence_follow(lesson):
    widget = lesson.widget(lesson.cell("widget"))
    (source, alternative), words = widget.image, widget.words
    assert "h0 and h2 fire" in words
    widget.press("b1, h1", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp")
    assert widget.control("b1, h1").input_value() == "2.5"
    assert "h0, h1 and h2 fire" in widget.words and widget.words != words
    assert widget.image[0] != source and widget.image[1] != alternative and "3 of 4" in widget.image[1]


def test_axe_finds_nothing_in_the_outputs_in_either_theme(lesson):
    for theme in ("Dark", "Light"):
        lesson.theme(f"JupyterLab {theme}")
        assert lesson.violations() == []
        lesson.photograph(lesson.cell("check", "feed_forward"), f"verdict_{theme}")
        lesson.photograph(lesson.cell("widget"), f"widget_{theme}")
