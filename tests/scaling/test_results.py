"""The shipped runs: complete, made with the shipped text, and able to see what the lesson says they see."""

import hashlib

import pytest

from ffnlib.scaling import experiment
from ffnlib.scaling.differences import difference
from ffnlib.scaling.experiment import RUNS, SEEDS, TUNING_SEEDS, best_rate, job_of, load_runs, measured, tuned
from ffnlib.scaling.plan import BASE, configurations
from ffnlib.specimen import knowledge

FOUND = load_runs()
NAMES = list(configurations())
TEXT = {
    "prose": "cf28f3a6b6bd878b2cb9b3bc6c4c6dc19f3ad6282ad8d68df522aa2064b61a91",
    "prose_validation": "d60e4579e64a559dad119c534e97f16b54efd5353115e8ebe381fe4e45217657",
}


def gap(name):
    return difference(measured(FOUND, name), measured(FOUND, BASE))


@pytest.mark.parametrize("part", TEXT)
def test_the_runs_were_made_with_the_shipped_text(part):
    text = "\n".join(knowledge.prose(part)) + "\n"
    assert hashlib.sha256(text.encode("utf-8")).hexdigest() == TEXT[part], (
        "the prose has changed, so runs.jsonl no longer belongs to it; run `python3 -m ffnlib.scaling.experiment` anew"
    )


def test_every_planned_run_was_made_once():
    planned = [job for group in experiment.groups(NAMES, RUNS) for job in group]
    planned += [job for group in experiment.hasty_groups() for job in group]
    assert sorted(map(str, planned)) == sorted(str(job_of(run)) for run in FOUND)


def test_every_run_has_the_sizes_of_its_configuration():
    shapes = configurations()
    assert all({**run, **vars(shapes[run["configuration"]])} == run for run in FOUND)


@pytest.mark.parametrize("name", NAMES)
def test_six_seeds_measure_each_configuration_at_its_own_learning_rate(name):
    assert sorted(measured(FOUND, name)) == sorted(seed for seeds in SEEDS for seed in seeds)
    assert not set(measured(FOUND, name)) & set(TUNING_SEEDS)
    assert min(tuned(FOUND, name)) < best_rate(FOUND, name) < max(tuned(FOUND, name))


@pytest.mark.parametrize(("name", "better"), [("N/2", False), ("2N", True)])
def test_half_and_twice_the_parameters_are_seen(name, better):
    assert gap(name).sigmas > 3
    assert (gap(name).mean < 0) == better


@pytest.mark.parametrize("name", [name for name in NAMES if name != BASE])
def test_the_intervals_are_narrow(name):
    assert gap(name).half_width() < 1.2


def test_the_whole_experiment_takes_less_than_an_hour_of_one_core():
    assert sum(run["cpu_seconds"] for run in FOUND) < 3600
