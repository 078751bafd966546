"""Training: the recipe, thirty real steps, and stopping and going on. Nothing here trains a shipped model."""

import json

import numpy as np
import pytest
import torch

from ffnlib.specimen import train as training
from ffnlib.specimen.batches import BATCH, batch, padded, training_sentences
from ffnlib.specimen.files import WEIGHTS, read_weights
from ffnlib.specimen.measure import activity, prose_rows
from ffnlib.specimen.model import Config, initialised
from ffnlib.specimen.tokenizer import load_tokenizer
from ffnlib.specimen.train import Recipe, Run, train

SMALL = Config(vocabulary=len(load_tokenizer()), d_model=16, n_layers=1, n_heads=2, d_ff=32)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def same(one, two):
    return all(torch.equal(a, b) for a, b in zip(one.model.state_dict().values(), two.model.state_dict().values()))


def test_thirty_steps_of_the_real_recipe_learn_the_commonest_words():
    run = Run.start(Config(vocabulary=len(load_tokenizer())), Recipe())
    train(run, 30, curve=False)
    assert run.step == 30 and run.cpu_seconds > 0
    assert activity(run.model, prose_rows()[:100])["loss"] < 7.0  # from ln 3011 = 8.01


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not(tmp_path):
    recipe = Recipe(steps=6, warm_up=2, l1=0.1, branch=0.5)
    whole = train(Run.start(SMALL, recipe), 6, curve=False)
    train(Run.start(SMALL, recipe), 3, tmp_path, curve=False)
    resumed = train(Run.start(SMALL, recipe).restore(tmp_path / "last.pt"), 6, curve=False)
    assert same(whole, resumed)


def test_the_penalty_changes_nothing_before_its_branch_and_something_after():
    plain = train(Run.start(SMALL, Recipe(steps=6)), 2, curve=False)
    sparse = train(Run.start(SMALL, Recipe(steps=6, l1=0.1)), 2, curve=False)
    assert same(plain, sparse)
    assert not same(train(plain, 4, curve=False), train(sparse, 4, curve=False))


def test_the_rows_of_a_step_depend_on_seed_and_step_alone():
    sentences = training_sentences()
    rows = batch(sentences, seed=0, step=7, context=48)
    assert rows.shape == (BATCH, 49) and (rows[:, 0] == 0).all()
    assert np.array_equal(rows, batch(sentences, 0, 7, 48))
    assert not np.array_equal(rows, batch(sentences, 0, 8, 48)) and not np.array_equal(rows, batch(sentences, 1, 7, 48))


def test_the_rate_warms_up_stays_flat_to_the_middle_and_falls_to_a_hundredth():
    recipe = Recipe(steps=100, rate=1.0, warm_up=10)
    assert [recipe.rate_at(step) for step in (0, 9, 10, 50, 75, 100)] == pytest.approx([0.1, 1, 1, 1, 0.5, 0.01])


def test_prompts_are_filled_at_the_right_and_their_last_token_is_known():
    tokens, last = padded([[5], [7, 8, 9]])
    assert tokens.tolist() == [[5, 0, 0], [7, 8, 9]] and last.tolist() == [0, 2]


def test_the_command_writes_weights_and_curve_and_a_second_call_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "Config", lambda vocabulary: SMALL)
    monkeypatch.setattr(training, "statistics", lambda model: {"prose": {}})
    arguments = ["--steps", "4", "--checkpoints", str(tmp_path / "runs"), "--export", str(tmp_path / "out")]
    training.main([*arguments, "--until", "2"])
    training.main(arguments)
    arrays, _ = read_weights(tmp_path / "out" / "plain.safetensors")
    curve = json.loads((tmp_path / "out" / "plain_curve.json").read_text(encoding="utf-8"))
    assert arrays["embedding"].shape == (len(load_tokenizer()), 16)
    assert [point["step"] for point in curve["curve"]] == [0, 4] and curve["recipe"]["steps"] == 4


def test_a_branch_without_its_plain_run_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="train the plain model first"):
        training.main(["--l1", "0.1", "--checkpoints", str(tmp_path)])


@pytest.mark.parametrize("name", ["plain", "sparse"])
def test_a_shipped_curve_has_the_default_recipe_and_cost_under_forty_minutes(name):
    record = json.loads((WEIGHTS / f"{name}_curve.json").read_text(encoding="utf-8"))
    assert record["recipe"] == vars(Recipe(l1=record["recipe"]["l1"]))
    assert record["curve"][-1]["step"] == 10_000 and 5 < record["cpu_minutes"] < 40


def test_both_models_share_the_curve_up_to_the_branch():
    plain, sparse = (
        json.loads((WEIGHTS / f"{n}_curve.json").read_text(encoding="utf-8"))["curve"] for n in ("plain", "sparse")
    )
    shared = [point for point in plain if point["step"] < 4000]
    assert len(shared) > 8 and shared == sparse[: len(shared)]


def test_fresh_weights_depend_on_the_seed_alone():
    one, two, other = (initialised(SMALL, seed) for seed in (0, 0, 1))
    assert torch.equal(one.embedding, two.embedding) and not torch.equal(one.embedding, other.embedding)
