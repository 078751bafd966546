"""The order of the runs, the choice of the learning rate, and going on where it stood."""

import json
import math
from itertools import islice, pairwise

import pytest

from ffnlib.scaling import experiment
from ffnlib.scaling.experiment import (
    RATES,
    SEEDS,
    TUNING_SEEDS,
    YARDSTICKS,
    Job,
    best_rate,
    groups,
    load_runs,
    measured,
)


def finished(job, loss):
    return {**vars(job), "loss": loss}


@pytest.fixture
def cheap(monkeypatch):
    """Runs that cost nothing: the best learning rate is 0.012, whatever the configuration."""
    made = []

    def run(jobs):
        made.extend(jobs)
        return [finished(job, 3 + abs(job.learning_rate - 0.012) + job.seed / 1e6) for job in jobs]

    monkeypatch.setattr(experiment, "run", run)
    return made


def test_tuning_seeds_are_thrown_away():
    assert not set(TUNING_SEEDS) & {seed for seeds in SEEDS for seed in seeds}


def test_the_learning_rate_with_the_lowest_mean_is_chosen_by_tuning_seeds_alone():
    tuning = {0.006: (3.0, 3.2), 0.012: (3.05, 3.05), 0.024: (3.1, 3.1)}
    runs = [
        finished(Job("2N", rate, seed), loss) for rate, pair in tuning.items() for seed, loss in zip(TUNING_SEEDS, pair)
    ]
    runs.append(finished(Job("2N", 0.024, 0), 1.0))
    assert best_rate(runs, "2N") == 0.012
    assert measured(runs, "2N") == {}


def test_all_configurations_of_a_seed_come_before_the_next_seed(cheap, tmp_path):
    experiment.main(["--file", str(tmp_path / "runs.jsonl")])
    full = [job for job in cheap if job.seed not in TUNING_SEEDS and job.steps == experiment.STEPS]
    later = [job.seed for job in full if job.configuration not in YARDSTICKS]
    assert later == sorted(later, key=lambda seed: next(i for i, group in enumerate(SEEDS) if seed in group))
    assert {job.learning_rate for job in full} == {0.012}


def test_yardsticks_are_measured_before_anything_else(cheap, tmp_path):
    experiment.main(["--file", str(tmp_path / "runs.jsonl"), "--yardsticks"])
    assert {job.configuration for job in cheap} == set(YARDSTICKS)
    before = list(cheap)
    experiment.main(["--file", str(tmp_path / "runs.jsonl")])
    assert cheap[: len(before)] == before


def test_a_stopped_experiment_goes_on_where_it_stood(cheap, tmp_path):
    file = tmp_path / "runs.jsonl"
    experiment.work_off(islice(groups(YARDSTICKS, file), 2), file)
    half = len(cheap)
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[:-1]) + "\n")  # the last run was lost
    experiment.main(["--file", str(file)])
    assert cheap[half] == experiment.job_of(json.loads(lines[-1]))
    assert len({experiment.job_of(run) for run in load_runs(file)}) == len(load_runs(file)) == len(cheap) - 1


def test_a_run_says_what_it_was_and_what_came_out():
    job = Job("ratio 16", 0.012, 3, steps=2)
    (found,) = experiment.run([job])
    assert experiment.job_of(found) == job
    assert (found["d_model"], found["d_ff"], found["hidden_layers"]) == (16, 262, 1)
    assert 2 < found["loss"] < 9
    assert found["cpu_seconds"] >= 0


@pytest.mark.parametrize(("best", "tried"), [(0.012, 3), (0.05, 5), (0.003, 5)])
def test_the_best_learning_rate_has_a_worse_one_on_each_side(monkeypatch, tmp_path, best, tried):
    def run(jobs):
        return [finished(job, abs(math.log(job.learning_rate / best))) for job in jobs]

    monkeypatch.setattr(experiment, "run", run)
    file = tmp_path / "runs.jsonl"
    experiment.work_off(experiment.tuning("2N", file), file)
    rates = experiment.tuned(load_runs(file), "2N")
    assert len(rates) == tried
    assert min(rates) < best_rate(load_runs(file), "2N") < max(rates)


def test_three_learning_rates_are_tried_a_factor_of_two_apart():
    assert [b / a for a, b in pairwise(RATES)] == pytest.approx([2] * (len(RATES) - 1))
