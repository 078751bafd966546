"""Trials of edits over a sample of facts."""

import pytest

from ffnlib import specimen
from ffnlib.specimen import trial


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "sparse"])
def test_an_edit_in_the_last_layer_keeps_nine_tenths_of_its_neighbours(name):
    rows = trial.trial(specimen.load(name), n=14)
    scores = trial.mean_scores(rows)
    assert scores["fitted"] >= 0.95 and scores["wordings"] >= 0.9
    assert scores["neighbours"] >= 0.9  # 14 edits, 40 neighbours each; the card has 70 edits
    assert sum(row["zero_key"] for row in rows) == 0


def test_the_subject_stands_where_its_place_says():
    for fact in specimen.facts()[::90]:
        for prompt, place in zip(trial.fitted_prompts(fact), trial.subject_places(fact)):
            assert specimen.load_tokenizer().words[prompt[place]] == fact.subject.split()[-1]
