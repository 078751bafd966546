"""The learner's door: check shows and never raises, except in strict mode; help and progress."""

from __future__ import annotations

import json
import multiprocessing
import os

import numpy as np
import pytest

from ffnlib import check, decide, hint, layer, learner, predict, progress, reveal
from ffnlib.examination.verdict import Verdict


@pytest.fixture(autouse=True)
def own_progress(tmp_path, monkeypatch):
    monkeypatch.setenv("FFNLIB_PROGRESS", str(tmp_path / "deep" / "progress.jsonl"))
    for name in ("FFNLIB_STRICT", "NBGRADER_EXECUTION"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "deep" / "progress.jsonl"


def right(x):
    return np.maximum(0, x)


def test_a_right_answer_passes():
    verdict = check("relu", right)
    assert isinstance(verdict, Verdict) and verdict.passed and verdict.status == "passed"
    assert verdict.misconception is None


def test_the_name_of_the_answer_is_enough():
    def relu(x):
        return np.abs(x)

    verdict = check(relu)
    assert verdict.exercise == "relu" and verdict.misconception == "absolute value"


def test_the_two_arguments_may_come_in_either_order():
    assert check(right, "relu").passed


def test_a_misspelt_exercise_gets_the_near_name():
    verdict = check("feed_forwad", right)
    assert verdict.status == "not-yet" and "did you mean 'feed_forward'?" in verdict.message


@pytest.mark.parametrize("thing", [None, 7, 2.5, ..., np.zeros(2), object()])
def test_no_exercise_at_all_is_one_clear_message(thing):
    assert "the exercise's name as text is asked for" in check(thing, right).message or thing is ...


def test_an_exercise_without_an_answer_is_told_how_to_hand_it_in():
    assert "check('relu', relu)" in check("relu").message


HIDDEN = np.array([2.5, 0.0, 4.0, 0.0])


def test_a_wrong_answer_is_told_which_arrays_it_takes_from_another_cell():
    def of_another_cell(x, W1, b1, W2, b2):
        return HIDDEN @ W2 + b2

    message = check("feed_forward", of_another_cell).message
    assert "this answer takes HIDDEN from another cell: the same numbers in every call" in message
    assert "from another cell" not in check("relu", np.abs).message + check("relu", lambda x: -x).message


def test_a_wrong_answer_is_told_which_wrong_answer_it_calls(monkeypatch):
    def feed_forward_columns(x, W1, b1, W2, b2):
        return feed_forward(x, W1.T, b1, W2.T, b2)  # noqa: F821  (put there below)

    note = "this answer calls feed_forward, which is not right yet: begin there"
    here = feed_forward_columns.__globals__
    monkeypatch.setitem(here, "feed_forward", lambda x, W1, b1, W2, b2: (x @ W1 + b1) @ W2 + b2)
    assert note in check("feed_forward_columns", feed_forward_columns).message
    monkeypatch.setitem(here, "feed_forward", layer.feed_forward)
    message = check("feed_forward_columns", lambda x, W1, b1, W2, b2: -feed_forward(x, W1.T, b1, W2.T, b2)).message  # noqa: F821
    assert "not yet" in message and "begin there" not in message


def test_a_wrong_answer_with_a_caret_is_told_how_a_power_is_written():
    assert "a power is written **" in check("global_parameters", lambda T, d: (T * d) ^ 2).message
    assert "a power is written **" not in check("global_parameters", lambda T, d: T * d).message


def test_another_seed_asks_other_numbers():
    first = check("relu", np.abs, seed=1).message
    assert first == check("relu", np.abs, seed=1).message
    assert first != check("relu", np.abs, seed=2).message


def test_our_own_fault_is_called_ours(monkeypatch):
    monkeypatch.setattr(learner, "judge", lambda *args: 1 / 0)
    verdict = check("relu", right)
    assert verdict.status == "broken" and "this is our mistake, your work is safe" in verdict.message


def test_an_endless_answer_that_is_stopped_gets_a_verdict():
    def relu(x):
        raise KeyboardInterrupt

    verdict = check(relu)
    assert verdict.misconception == "interrupted" and "you stopped it" in verdict.message


def test_a_learners_session_never_sees_an_exception():
    class Hostile:
        def __call__(self, x):
            raise ValueError("no")

        def __getattr__(self, name):
            raise RuntimeError("not even a name")

    assert check("relu", Hostile()).status == "not-yet"
    assert check(Hostile()).status == "not-yet"


def test_strict_mode_raises_without_showing_values(monkeypatch):
    monkeypatch.setenv("FFNLIB_STRICT", "1")
    assert check("relu", right).passed
    with pytest.raises(learner.NotPassed) as caught:
        check("relu", np.abs)
    assert "negative numbers are turned positive" in str(caught.value)
    assert "expected" not in str(caught.value)


def test_nbgraders_own_environment_means_strict(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(learner.NotPassed):
        check("relu", ...)


def test_text_and_html_say_the_same_and_escape_what_the_learner_wrote():
    def relu(x):
        raise ValueError("<script>alert(1)</script>")

    verdict = check(relu)
    html = verdict._repr_html_()
    assert "<script>" in verdict.message and "<script>" not in html and "&lt;script&gt;" in html
    for label, _ in verdict.lines:
        assert label in verdict.message and label in html


def test_hints_come_one_at_a_time():
    texts = [hint("relu", number).body for number in (1, 2, 3)]
    assert len(set(texts)) == 3 and "___" in texts[2]
    assert repr(hint("relu")) == repr(hint("relu", 1))
    assert "three hints" in hint("relu", 4).body
    assert "did you mean 'relu'" in hint("rellu").body


def test_a_model_answer_is_shown_with_its_reason():
    card = reveal("relu")
    assert "np.maximum(0, x)" in card.code and card.body
    assert "no exercise" in reveal("nothing like it").body
    assert "<pre" in card._repr_html_()


def test_predictions_are_kept_and_meet_the_verdict():
    assert "noted" in predict("S3-04", "true").body
    assert learner.predictions() == {"S3-04": "TRUE"}
    assert repr(decide("S3-04", np.bool_(False), "It is not.")) == "FALSE\nIt is not. You expected TRUE."
    assert decide("S3-05", "DEPENDS", "On x.").body.endswith("You made no prediction.")


def test_a_prediction_that_is_none_is_not_kept(own_progress):
    assert "replace the ..." in predict("S3-04", ...).body
    assert predict("S3-04", "yes").body == ''''yes' is no prediction: write one of "TRUE", "FALSE", "DEPENDS"'''
    assert not own_progress.exists()


def test_a_verdict_that_decides_nothing_is_refused():
    with pytest.raises(ValueError, match="decides nothing"):
        decide("S3-04", None, "?")


def test_progress_tells_done_not_yet_and_untouched():
    check("relu", np.abs)
    check("feed_forward", ...)
    check("warm_up", lambda x: 2 * x)
    states = dict(dict(progress().lessons)["01_formula"])
    assert states["relu"] == "not yet" and states["feed_forward"] == "untouched"
    check("relu", right)
    check("relu", np.abs)
    assert dict(dict(progress().lessons)["01_formula"])["relu"] == "done"
    assert "1 of 1 done" in repr(progress()) and "1 of 4 done" in progress()._repr_html_()


def test_progress_is_a_map_with_links_questions_and_minutes():
    page = progress()._repr_html_()
    assert '<a href="01_formula.ipynb"' in page and "01 The formula</a>" in page
    assert "which of its parts does it need?</td>" in page and ">45</td>" in page


def test_a_lesson_takes_one_line_of_the_map_unless_its_exercises_are_named():
    check("relu", lambda x: -x)
    rows = progress()._repr_html_().split("</tr>")
    assert sum(row.count("white-space:nowrap") == 2 for row in rows) == len(progress().lessons) - 1
    [begun] = [row for row in rows if "not yet: relu" in row]
    assert begun.count("white-space:nowrap") == 1  # a long list of exercises must not push the map wide


def test_a_damaged_progress_file_loses_only_its_damaged_lines(own_progress):
    check("relu", right)
    with open(own_progress, "ab") as file:
        file.write(b'{"event": "check", "exerc\n[1]\n\xff\xfe\n')
    check("warm_up", lambda x: 2 * x)
    assert repr(progress()).count("1 of") == 2


def test_progress_in_a_folder_that_cannot_be_written_stops_nothing(monkeypatch):
    monkeypatch.setenv("FFNLIB_PROGRESS", os.path.join(os.devnull, "no", "progress.jsonl"))
    assert check("relu", right).passed
    assert "0 of 1 done" in repr(progress())


def _many_checks(path):
    os.environ["FFNLIB_PROGRESS"] = path
    for _ in range(30):
        check("warm_up", lambda x: 2 * x)


def test_two_notebooks_at_once_lose_no_line(own_progress):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_many_checks, args=(str(own_progress),)) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    lines = own_progress.read_text().splitlines()
    assert len(lines) == 60 and all(json.loads(line)["exercise"] == "warm_up" for line in lines)


def test_progress_is_kept_outside_the_course_by_default(monkeypatch):
    monkeypatch.delenv("FFNLIB_PROGRESS")
    assert learner.progress_file().name == "progress.jsonl"
    assert "ffnlib" in learner.progress_file().parts[-2].lower()


def test_a_verdict_is_displayed_once_in_its_cell(monkeypatch):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shown = []
    monkeypatch.setattr(learner, "_display", shown.append)
    try:
        verdict = check("relu", right)
        assert len(shown) == 1
        verdict._ipython_display_()
        assert len(shown) == 1, "the last line of the cell does not show it again"
        shell.execution_count += 1
        verdict._ipython_display_()
        assert len(shown) == 2, "a later cell may show it"
    finally:
        InteractiveShell.clear_instance()
