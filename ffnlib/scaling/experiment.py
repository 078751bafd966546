"""The experiment: which runs it has, in which order, and the file their results go to.

`python3 -m ffnlib.scaling.experiment` trains what `runs.jsonl` does not hold yet and adds a line for each run, so it
can be stopped at any time and goes on where it stood. With `--file`, it begins a file of your own.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ffnlib.scaling.plan import BASE, configurations

RUNS = Path(__file__).with_name("runs.jsonl")
RATES = (0.006, 0.012, 0.024)
TUNING_SEEDS = (100, 101)  # decide the learning rate and nothing else
SEEDS = ((0, 1, 2), (3, 4, 5))  # those of a group are trained side by side
STEPS, SHORT = 1_600, 400
CLIPPED, UNCLIPPED = 1.0, 1e9
HASTY_RATE = 0.012  # one for all: part of what is wrong with the hasty experiment
YARDSTICKS = (BASE, "N/2", "2N")
HASTY = (*YARDSTICKS, "ratio 1", "ratio 16")


@dataclass(frozen=True)
class Job:
    """One run: which configuration, with which learning rate and seed, how long, and where gradients are clipped."""

    configuration: str
    learning_rate: float
    seed: int
    steps: int = STEPS
    clip: float = CLIPPED


def load_runs(file: Path = RUNS) -> list[dict]:
    """Every finished run, in the order they were made."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def job_of(run: dict) -> Job:
    """What a finished run was asked to do."""
    return Job(**{name: run[name] for name in Job.__dataclass_fields__})


def losses(runs: Sequence[dict], configuration: str, **wanted) -> dict[int, float]:
    """Loss of each seed among the runs of a configuration that agree with what is wanted."""
    wanted = {"configuration": configuration, "steps": STEPS, "clip": CLIPPED} | wanted
    return {run["seed"]: run["loss"] for run in runs if all(run[name] == value for name, value in wanted.items())}


def tuned(runs: Sequence[dict], configuration: str) -> dict[float, float]:
    """Mean loss of the tuning seeds at each learning rate they have tried, in the order of the rates."""
    of_seed = [losses_by_rate(runs, configuration, seed) for seed in TUNING_SEEDS]
    both = sorted(set.intersection(*map(set, of_seed)))
    return {rate: sum(loss[rate] for loss in of_seed) / len(TUNING_SEEDS) for rate in both}


def losses_by_rate(runs: Sequence[dict], configuration: str, seed: int) -> dict[float, float]:
    """Loss of one seed at each learning rate it has tried."""
    wanted = {"configuration": configuration, "steps": STEPS, "clip": CLIPPED, "seed": seed}
    return {run["learning_rate"]: run["loss"] for run in runs if wanted.items() <= run.items()}


def best_rate(runs: Sequence[dict], configuration: str) -> float:
    """The learning rate with the lowest mean loss; the seeds that choose it are used for nothing else."""
    means = tuned(runs, configuration)
    return min(means, key=means.__getitem__)


def measured(runs: Sequence[dict], configuration: str) -> dict[int, float]:
    """Loss of each seed of the experiment, at the configuration's own learning rate."""
    of_seed = losses(runs, configuration, learning_rate=best_rate(runs, configuration))
    return {seed: loss for seed, loss in of_seed.items() if seed not in TUNING_SEEDS}


# ---- the order of the runs ---------------------------------------------------------------------


def tuning(name: str, file: Path) -> Iterator[list[Job]]:
    """Three learning rates; then, as long as the best is the largest or the smallest tried, the next one out there."""
    tried, ahead = [], RATES
    while ahead:
        yield [Job(name, rate, seed) for rate in ahead for seed in TUNING_SEEDS]
        tried = sorted([*tried, *ahead])
        means = tuned(load_runs(file), name)
        best = min(tried, key=means.__getitem__)
        ahead = [2 * best] if best == tried[-1] else [best / 2] if best == tried[0] else []


def groups(names: Sequence[str], file: Path) -> Iterator[list[Job]]:
    """Learning rates first; then every configuration with the first seeds, every configuration with the next."""
    for name in names:
        yield from tuning(name, file)
    for seeds in SEEDS:
        for name in names:
            rate = best_rate(load_runs(file), name)
            yield [Job(name, rate, seed) for seed in seeds]


def hasty_groups() -> Iterator[list[Job]]:
    """A quarter of the steps, one learning rate for all, with and without clipping."""
    for seeds in SEEDS:
        for name in HASTY:
            for clip in (CLIPPED, UNCLIPPED):
                yield [Job(name, HASTY_RATE, seed, SHORT, clip) for seed in seeds]


def run(jobs: Sequence[Job]) -> list[dict]:
    """Train runs of one configuration and length side by side; what was asked, the sizes, the losses, the time."""
    from ffnlib.scaling.training import train, validation_losses

    first, shape, start = jobs[0], configurations()[jobs[0].configuration], time.process_time()
    rates, seeds = [job.learning_rate for job in jobs], [job.seed for job in jobs]
    found = validation_losses(train(shape, rates, seeds, first.steps, first.clip), shape)
    seconds = round((time.process_time() - start) / len(jobs), 2)
    return [
        asdict(job) | asdict(shape) | {"loss": round(loss, 5), "cpu_seconds": seconds}
        for job, loss in zip(jobs, found, strict=True)
    ]


def work_off(todo: Iterator[list[Job]], file: Path) -> None:
    """Train what the file does not hold yet, and add the lines of each group."""
    for jobs in todo:
        done = {job_of(entry) for entry in load_runs(file)}
        missing = [job for job in jobs if job not in done]
        if missing:
            with file.open("a", encoding="utf-8") as lines:
                lines.write("".join(json.dumps(entry) + "\n" for entry in run(missing)))


def main(argv: Sequence[str] | None = None) -> None:
    """Show the yardsticks to be visible before anything is measured with them; the hasty experiment comes last."""
    import torch

    parser = argparse.ArgumentParser(prog="python3 -m ffnlib.scaling.experiment", description=__doc__)
    parser.add_argument("--file", type=Path, default=RUNS, help="where the results go")
    parser.add_argument("--yardsticks", action="store_true", help="stop after N/2, N and 2N")
    given = parser.parse_args(argv)
    torch.set_num_threads(1)
    work_off(groups(YARDSTICKS, given.file), given.file)
    if not given.yardsticks:
        work_off(groups(tuple(configurations()), given.file), given.file)
        work_off(hasty_groups(), given.file)


if __name__ == "__main__":
    main()
