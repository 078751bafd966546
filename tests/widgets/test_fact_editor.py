"""The editor of facts shows scores before and after, refuses with its reason, and leaves its model as it was."""

import re

import torch

from ffnlib.widgets import fact_editor, fact_editor_picture
from ffnlib.widgets.fact_editor import _model, how_many, the_fact


def test_its_default_edit_takes_and_keeps_nine_tenths_of_everything_else():
    words = fact_editor().words
    assert words.startswith("Asked for the capital of france, the model says rome;")
    follow, kept = re.findall(r"(\d+) %", words)
    assert int(follow) >= 90 and int(kept) >= 90


def test_the_model_is_the_same_after_many_edits():
    before = [parameter.clone() for parameter in _model().parameters()]
    for layer in range(4):
        fact_editor_picture("chile", "language", "german", layer, 0.5, with_covariance=False)
    assert all(torch.equal(a, b) for a, b in zip(before, _model().parameters()))


def test_a_refused_edit_says_why_and_still_shows_what_was_before(monkeypatch):
    monkeypatch.setattr("ffnlib.editing.changing.rank_one_edit.__defaults__", (None, 1.0, None, 0.0))
    picture = fact_editor_picture("japan", "currency", "euro", 1)
    assert picture.words.startswith("Refused: W2 of layer 1 would change by") and picture.png


def test_a_relation_the_text_does_not_tell_of_is_replaced_and_said():
    person = next(control for control in fact_editor().controls["subject"].options if " " in control)
    fact, note = the_fact(person, "capital")
    assert fact.subject == person and note.startswith(f"The text says no capital of {person}; its ")
    assert the_fact("france", "capital") == (the_fact("france", "capital")[0], "")


def test_shares_are_said_as_steps_that_hold_on_every_machine():
    assert [how_many(share) for share in (1, 0.99, 0.5, 0.1, 0.09, 0)] == [
        "100 %", "at least 90 %", "at least 50 %", "at least 10 %", "less than 10 %", "less than 10 %"
    ]  # fmt: skip


def test_every_control_is_labelled_and_has_a_position_of_its_own():
    specs = [control.spec() for control in fact_editor().controls.values()]
    assert [spec["label"] for spec in specs] == [
        "subject", "relation", "new object", "layer", "step, times the one found", "key covariance C"
    ]  # fmt: skip
    assert all("value" in spec for spec in specs)
