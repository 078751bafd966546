"""The race: the specimen's recipe at a smaller size with ReLU, GELU, SiLU and SwiGLU at equal parameters.

`python3 -m ffnlib.specimen.race` trains every kind with several seeds (about a minute a run on one core) and writes
what `weights/race.json` ships: one row per run, so that intervals can be computed. Runs found in the file are not
repeated.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from ffnlib.specimen.batches import padded
from ffnlib.specimen.measure import activity, grouped, hidden_names, known, prose_rows
from ffnlib.specimen.model import Config, Specimen, describe, intervene
from ffnlib.specimen.tokenizer import load_tokenizer
from ffnlib.specimen.train import Recipe, Run, cache, train

WIDTHS = {"relu": 256, "gelu": 256, "silu": 256, "swiglu": 171}  # SwiGLU has three matrices: 2/3 of the width
THRESHOLDS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
SHARES = (1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02)
STEPS = 800
SENTENCES = 400  # of prose for the losses with fewer coefficients; entry 0 of each grid is their baseline


def contestant(activation: str) -> Config:
    """Sizes of a runner: half the width and half the depth of the specimen."""
    vocabulary = len(load_tokenizer())
    return Config(vocabulary, d_model=64, n_layers=2, n_heads=2, d_ff=WIDTHS[activation], activation=activation)


def above(threshold: float) -> Callable:
    """Keep coefficients whose size exceeds `threshold`."""
    return lambda hidden: hidden * (hidden.abs() > threshold)


def largest(share: float) -> Callable:
    """Keep the largest coefficients of each token by size."""

    def keep(hidden: torch.Tensor) -> torch.Tensor:
        count = max(1, round(share * hidden.shape[-1]))
        smallest = hidden.abs().topk(count, dim=-1).values[..., -1:]
        return hidden * (hidden.abs() >= smallest)

    return keep


def loss_when(model: Specimen, change: Callable) -> float:
    """Prose loss, on the first `SENTENCES`, with every layer's coefficients replaced by `change` of them."""
    with intervene(model, dict.fromkeys(hidden_names(model), change)):
        return activity(model, prose_rows(n=SENTENCES))["loss"]


@torch.no_grad()
def kept_shares(model: Specimen, thresholds: Sequence[float] = THRESHOLDS) -> list[list[float]]:
    """Per threshold and layer, the share of coefficients on prose whose size exceeds it."""
    tokens, last = (torch.from_numpy(array) for array in padded(prose_rows(n=SENTENCES)))
    real = torch.arange(tokens.shape[1]) <= last[:, None]
    with intervene(model, dict.fromkeys(hidden_names(model))) as seen:
        model(tokens)
    hidden = [seen[name][real].abs() for name in hidden_names(model)]
    return [[(h > threshold).float().mean().item() for h in hidden] for threshold in thresholds]


def result(run: Run) -> dict:
    """Everything measured on a runner at the end."""
    model = run.model.eval()
    on_prose = activity(model, prose_rows())
    return {
        "activation": model.config.activation,
        "seed": run.recipe.seed,
        "steps": run.step,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "cpu_minutes": run.cpu_seconds / 60,
        "loss": on_prose["loss"],
        "above_zero": on_prose["active"],
        "held_out": grouped(known(model), "held_out"),
        "threshold": {
            "grid": THRESHOLDS,
            "kept": kept_shares(model),
            "loss": [loss_when(model, above(threshold)) for threshold in THRESHOLDS],
        },
        "largest": {"grid": SHARES, "loss": [loss_when(model, largest(share)) for share in SHARES]},
    }


def compete(activation: str, seed: int, steps: int, directory: Path) -> dict:
    """Train one runner, keep its weights in `directory`, return its row."""
    from ffnlib.specimen.files import write_weights

    run = Run.start(contestant(activation), Recipe(steps=steps, seed=seed, warm_up=100))
    train(run, steps, curve=False)
    directory.mkdir(parents=True, exist_ok=True)
    arrays = {key: value.detach().numpy() for key, value in run.model.state_dict().items()}
    write_weights(directory / f"{activation}_{seed}.safetensors", arrays, describe(run.model.config))
    return result(run)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python3 -m ffnlib.specimen.race", description="Train the small models to compare."
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--directory", type=Path, default=cache() / "race")
    given = parser.parse_args(argv)
    torch.set_num_threads(1)
    file = given.directory / "race.json"
    rows = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    for seed in range(given.seeds):
        for activation in WIDTHS:
            if (activation, seed) not in [(row["activation"], row["seed"]) for row in rows]:
                rows.append(compete(activation, seed, given.steps, given.directory))
                file.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
