"""Causal tracing: disturb the subject, put one clean value back, and see how much of the answer returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from ffnlib.specimen.model import intervene

if TYPE_CHECKING:
    from ffnlib.specimen.model import Specimen

SITES = ("ffn", "attention", "residual")


@dataclass(frozen=True)
class Trace:
    """Probability of an answer with nothing disturbed, with the subject disturbed, and with one value put back.

    **Shapes** restored[site] (n_layers, places).
    """

    clean: float
    disturbed: float
    restored: dict[str, np.ndarray]


def subject_noise(
    model: Specimen, length: int, subject: tuple[int, int], draws: int = 4, noise: float = 3.0, seed: int = 0
) -> torch.Tensor:
    """Noise of `noise` standard deviations of the embedding on the subject's places, none elsewhere.

    **Shapes** -> (draws, length, d_model)
    """
    first, last = subject
    generator = torch.Generator().manual_seed(seed)
    result = torch.zeros(draws, length, model.config.d_model)
    drawn = torch.randn((draws, last + 1 - first, model.config.d_model), generator=generator)
    result[:, first : last + 1] = noise * model.embedding.std().item() * drawn
    return result


@torch.no_grad()
def trace(
    model: Specimen, prompt: Sequence[int], subject: tuple[int, int], wanted: int,
    sites: Sequence[str] = SITES, places: Sequence[int] | None = None,
    draws: int = 4, noise: float = 3.0, seed: int = 0,
) -> Trace:  # fmt: skip
    """What comes back of `wanted` when the clean value of one site, layer and place replaces the disturbed one.

    `subject` is the first and last place of the subject, counted in `prompt`; `places` are all unless told. A
    probability is the mean over `draws` of the noise.

    **Source** Meng et al. 2022, Locating and Editing Factual Associations in GPT, section 2.
    """
    tokens = torch.tensor([list(prompt)])
    places = range(tokens.shape[1]) if places is None else places
    names = [f"{layer}.{site}" for layer in range(model.config.n_layers) for site in sites]
    with intervene(model, dict.fromkeys(names)) as clean:
        undisturbed = _probability(model, {}, tokens, wanted)
    hit = subject_noise(model, tokens.shape[1], subject, draws, noise, seed)
    disturb = {"embedding": lambda value: value + hit.repeat(len(value) // draws, 1, 1)}

    def restored(name: str) -> np.ndarray:
        def put_back(value: torch.Tensor) -> torch.Tensor:
            value = value.unflatten(0, (len(places), draws)).clone()
            for row, place in enumerate(places):
                value[row, :, place] = clean[name][0, place]
            return value.flatten(0, 1)

        many = tokens.expand(len(places) * draws, -1)
        return _probabilities(model, {**disturb, name: put_back}, many, wanted).reshape(len(places), draws).mean(1)

    return Trace(
        undisturbed,
        _probability(model, disturb, tokens.expand(draws, -1), wanted),
        {site: np.stack([restored(f"{at}.{site}") for at in range(model.config.n_layers)]) for site in sites},
    )


def _probabilities(model: Specimen, plan: dict, rows: torch.Tensor, wanted: int) -> np.ndarray:
    with intervene(model, plan):
        return model(rows)[:, -1].softmax(-1)[:, wanted].numpy()


def _probability(model: Specimen, plan: dict, rows: torch.Tensor, wanted: int) -> float:
    return float(_probabilities(model, plan, rows, wanted).mean())
