"""Train the specimen: `python3 -m ffnlib.specimen.train` (about half an hour on one core).

    python3 -m ffnlib.specimen.train                  the plain model
    python3 -m ffnlib.specimen.train --l1 0.05        branch from its checkpoint at 40 % with an L1 penalty
    python3 -m ffnlib.specimen.train --export DIR     also write weights (fp16) and the curve to DIR

A run that was stopped goes on from its last checkpoint. The data of a step depends on seed and step only.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.nn import functional as F

from ffnlib.specimen.batches import Sentences, batch, training_sentences
from ffnlib.specimen.measure import hidden_names, statistics
from ffnlib.specimen.model import Config, Specimen, initialised, intervene
from ffnlib.specimen.tokenizer import load_tokenizer

FREE = 0.005  # mean |activation| of a token in a layer that the penalty leaves alone
MEASURED = (0, 50, 100, 200, 300, 500, 750, 1000, 1500, 2000, 3000)  # and every 1,000 steps after them


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a run, apart from the model's sizes."""

    steps: int = 10_000
    rate: float = 3e-3
    warm_up: int = 40
    decay: float = 0.1
    seed: int = 0
    l1: float = 0.0
    branch: float = 0.4  # the share of steps after which the penalty starts

    @property
    def branch_step(self) -> int:
        return int(self.branch * self.steps)

    def rate_at(self, step: int) -> float:
        """Linear warm-up, flat to the middle, then linear down to 1 % of the rate."""
        if step < self.warm_up:
            return self.rate * (step + 1) / self.warm_up
        left = min(1.0, 2 * (self.steps - step) / self.steps)
        return self.rate * max(0.01, left)


def optimiser(model: Specimen, recipe: Recipe) -> torch.optim.AdamW:
    """AdamW that pulls matrices, but neither biases nor gains, towards zero."""
    matrices = [p for p in model.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": recipe.decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=recipe.rate, betas=(0.9, 0.98), fused=True)


def excess(hidden: torch.Tensor) -> torch.Tensor:
    """The L1 penalty of a layer: mean |activation| of each token above `FREE`, averaged over tokens.

    Without the allowance layer 1 was silent at the end of 8 % of the questions, with it of none. Layer 0 falls silent
    at many of them in training even without a penalty.
    """
    return (hidden.abs().mean(-1) - FREE).clamp(min=0).mean()


@dataclass
class Run:
    """A training in progress: model, optimiser, steps done, curve measured and CPU seconds spent."""

    model: Specimen
    recipe: Recipe
    optimiser: torch.optim.AdamW
    step: int
    curve: list[dict]
    cpu_seconds: float

    @classmethod
    def start(cls, config: Config, recipe: Recipe) -> Run:
        model = initialised(config, recipe.seed)
        return cls(model, recipe, optimiser(model, recipe), 0, [], 0.0)

    def save(self, path: Path) -> None:
        """Write a checkpoint; a stop in the middle leaves the previous one."""
        state = {"model": self.model.state_dict(), "optimiser": self.optimiser.state_dict(), "step": self.step,
                 "curve": self.curve, "cpu_seconds": self.cpu_seconds}  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save(state, path.with_suffix(".part"))
        os.replace(path.with_suffix(".part"), path)

    def restore(self, path: Path) -> Run:
        state = torch.load(path)
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.step, self.curve, self.cpu_seconds = state["step"], state["curve"], state["cpu_seconds"]
        return self

    def take_step(self, sentences: Sentences) -> float:
        """One update; returns the loss without the penalty."""
        rows = torch.from_numpy(batch(sentences, self.recipe.seed, self.step, self.model.config.context))
        with intervene(self.model, dict.fromkeys(hidden_names(self.model))) as seen:
            logits = self.model(rows[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        penalty = self.recipe.l1 * sum(map(excess, seen.values())) if self.penalised else 0.0
        self.optimiser.zero_grad(set_to_none=True)
        (loss + penalty).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.rate_at(self.step)
        self.optimiser.step()
        self.step += 1
        return loss.item()

    @property
    def penalised(self) -> bool:
        return self.recipe.l1 > 0 and self.step >= self.recipe.branch_step

    def due(self) -> bool:
        """Whether a point of the curve belongs here and is not there yet."""
        wanted = self.step in MEASURED or self.step % 1000 == 0 or self.step == self.recipe.steps
        return wanted and self.step not in [point["step"] for point in self.curve]


def mean(numbers: list[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None


def train(run: Run, until: int, checkpoints: Path | None = None, every: int = 500, curve: bool = True) -> Run:
    """Train up to step `until`, measure at fixed steps and keep the last and the branch checkpoint."""
    from tqdm import tqdm

    sentences, clock, recent = training_sentences(), time.process_time(), []
    bar = tqdm(total=until, initial=run.step, mininterval=10)
    while run.step <= until:
        if curve and run.due():
            run.curve.append({"step": run.step, "train_loss": mean(recent[-100:]), **statistics(run.model)})
        if run.step == until:
            break
        recent.append(run.take_step(sentences))
        bar.update()
        run.cpu_seconds, clock = run.cpu_seconds + time.process_time() - clock, time.process_time()
        if checkpoints and (run.step % every == 0 or run.step == run.recipe.branch_step):
            run.save(checkpoints / "last.pt")
        if checkpoints and run.step == run.recipe.branch_step:
            run.save(checkpoints / "branch.pt")
    run.cpu_seconds += time.process_time() - clock
    bar.close()
    if checkpoints:
        run.save(checkpoints / "last.pt")
    return run


def cache() -> Path:
    """Where checkpoints go unless told otherwise; outside the repository."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ffnlib" / "specimen"


def prepare(recipe: Recipe, directory: Path, plain: Path) -> Run:
    """A fresh run, one that goes on, or a branch of the plain run."""
    run = Run.start(Config(vocabulary=len(load_tokenizer())), recipe)
    if (directory / "last.pt").exists():
        return run.restore(directory / "last.pt")
    if recipe.l1 == 0:
        return run
    if not (plain / "branch.pt").exists():
        raise SystemExit(
            f"no checkpoint to branch from at {plain / 'branch.pt'}: train the plain model first (no --l1)"
        )
    return run.restore(plain / "branch.pt")


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m ffnlib.specimen.train", description="Train the specimen.")
    parser.add_argument(
        "--l1", type=float, default=0.0, help="penalty on mean |activation| of each layer, from 40 %% of the steps"
    )
    parser.add_argument("--steps", type=int, default=Recipe.steps)
    parser.add_argument("--until", type=int, help="stop after this step (and go on another day)")
    parser.add_argument("--warm-up", type=int, default=Recipe.warm_up)
    parser.add_argument("--seed", type=int, default=Recipe.seed)
    parser.add_argument("--checkpoints", type=Path, default=cache())
    parser.add_argument("--export", type=Path, help="directory for weights and curve")
    return parser


def main(argv: list[str] | None = None) -> None:
    given = arguments().parse_args(argv)
    torch.set_num_threads(1)
    recipe = Recipe(steps=given.steps, warm_up=given.warm_up, seed=given.seed, l1=given.l1)
    name = "plain" if given.l1 == 0 else f"l1-{given.l1:g}"
    run = prepare(recipe, given.checkpoints / name, given.checkpoints / "plain")
    train(run, given.until or recipe.steps, given.checkpoints / name)
    if given.export:
        export(run, given.export, "plain" if given.l1 == 0 else "sparse")


def export(run: Run, directory: Path, name: str) -> None:
    """Write `name`.safetensors (fp16) and `name`_curve.json."""
    from ffnlib.specimen.files import write_weights
    from ffnlib.specimen.model import describe

    directory.mkdir(parents=True, exist_ok=True)
    arrays = {key: value.detach().numpy() for key, value in run.model.state_dict().items()}
    write_weights(directory / f"{name}.safetensors", arrays, describe(run.model.config))
    record = {"recipe": vars(run.recipe), "cpu_minutes": run.cpu_seconds / 60, "curve": run.curve}
    (directory / f"{name}_curve.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
