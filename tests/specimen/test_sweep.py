"""The shipped sweep: made with the shipped weights, complete, and reproduced in part."""

from functools import lru_cache

import numpy as np
import pytest

from ffnlib import editing, specimen
from ffnlib.specimen import sweep, trial


@lru_cache(maxsize=1)
def filed():
    return sweep.read("plain")


@lru_cache(maxsize=1)
def plain():
    return specimen.load("plain")


@lru_cache(maxsize=1)
def seven():
    """The first seven facts of the file, one of each relation."""
    known = trial.known_facts(plain(), in_every_wording=False)
    of = {(fact.subject, fact.relation): fact for fact in specimen.facts()}
    return [sweep.case(plain(), of[row["subject"], row["relation"]], row["new"], known) for row in filed()["facts"][:7]]


def test_the_file_was_made_with_the_weights_that_are_shipped():
    assert filed()["weights"] == specimen.SHA256["plain"]


def test_other_weights_are_noticed(monkeypatch):
    monkeypatch.setitem(sweep.SHA256, "plain", "0" * 64)
    with pytest.raises(ValueError, match=r"run python3 -m ffnlib\.specimen\.sweep"):
        sweep.read("plain")


def test_every_list_has_an_entry_for_every_fact():
    found = filed()
    lengths = {len(values) for of_setting in found["edits"].values() for values in of_setting.values()}
    lengths |= {len(values) for part in ("trace", "neurons") for values in found[part].values()}
    assert lengths == {len(found["facts"])} and len(found["facts"]) >= 60
    assert set(found["edits"]) == {str(setting) for setting in sweep.settings(4)}


def test_every_relation_has_as_many_facts():
    relations = [fact["relation"] for fact in filed()["facts"]]
    assert {relations.count(relation) for relation in relations} == {len(relations) // 7}


def test_the_best_place_is_clean():
    best = filed()["edits"]["last 3"]
    assert np.nanmean(best["fitted"]) >= 0.99
    assert np.nanmean(best["wordings"]) >= 0.95 and np.nanmean(best["neighbours"]) >= 0.9


def test_at_the_subject_the_last_layer_can_do_nothing():
    nothing = filed()["edits"]["subject 3"]
    assert not nothing["fitted"].any() and (nothing["neighbours"] == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("setting", [sweep.Setting(3, "last"), sweep.Setting(1, "last"), sweep.Setting(2, "subject")])
def test_edits_are_those_of_the_file(setting):
    rows = sweep.edits(plain(), seven(), [setting])[str(setting)]
    of_file = filed()["edits"][str(setting)]
    for column in ("fitted", "wordings", "p_new", "relative_change"):
        found = np.array([row[column] for row in rows])
        # twenty steps of Adam carry rounding on: a machine may end a fit one step earlier, on a fact or two
        assert np.mean(found) == pytest.approx(np.mean(of_file[column][:7]), rel=0.1, abs=0.05)


@pytest.mark.slow
def test_traces_and_attributions_are_those_of_the_file():
    one = seven()[0]
    trace = sweep.trace_of(plain(), one.fact)
    for name, value in trace.items():
        assert value == pytest.approx(filed()["trace"][name][0], abs=1e-3)
    units = sweep.neurons_of(plain(), one, np.random.default_rng([sweep.SEED, 0]))["units"]
    assert len(set(units) & set(filed()["neurons"]["units"][0])) >= 19  # near-ties may change places at the end


def test_an_edit_tried_in_the_sweep_is_the_edit_written_into_the_model():
    one = seven()[0]
    row = sweep.edits(plain(), [one], [sweep.Setting(3, "last")])["last 3"][0]
    C = trial.covariance(plain(), 3)
    edit = editing.rank_one_edit(plain(), 3, trial.fitted_prompts(one.fact), one.target, C)
    with editing.edited(plain(), edit):
        scores = editing.score(plain(), one.questions)
    for kind, share in scores.items():
        assert share == pytest.approx(row[kind], abs=0.1, nan_ok=True)  # one or two answers of a dozen, at most
    assert editing.relative_change(plain().blocks[3].ffn.W2.numpy(), edit.W2) == pytest.approx(
        row["relative_change"], rel=1e-2
    )


def test_nan_becomes_null_and_numbers_have_four_digits():
    assert sweep.rounded({"a": [float("nan"), 1 / 3, 2]}) == {"a": [None, 0.3333, 2]}
