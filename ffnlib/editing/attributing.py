"""Which units carry an answer, by integrated gradients; and the model with some of them silenced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from ffnlib.editing.recording import Recorded, finish, record

if TYPE_CHECKING:
    from ffnlib.specimen.model import Specimen

Unit = tuple[int, int]  # layer, unit


def attribution(model: Specimen, prompts: Sequence[Sequence[int]], wanted: int, steps: int = 8) -> np.ndarray:
    """How much each unit's coefficient at the last token adds to the probability of `wanted`, mean over the prompts.

    The coefficients of one layer at a time go from 0 to their value in `steps` steps; the gradients met on the way are
    averaged and multiplied by the coefficient. A unit that is silent has 0.

    **Shapes** -> (n_layers, d_ff)

    **Source** Dai et al. 2022, Knowledge Neurons in Pretrained Transformers, equation 2.
    """
    layers = [_of_layer(model, record(model, layer, prompts), wanted, steps) for layer in range(model.config.n_layers)]
    return np.stack(layers)


def _of_layer(model: Specimen, recorded: Recorded, wanted: int, steps: int) -> np.ndarray:
    h, W2 = recorded.keys(), model.blocks[recorded.layer].ffn.W2
    here = (torch.arange(recorded.residual.shape[1]) == recorded.last[:, None])[..., None]  # (N, T, 1)
    total = torch.zeros_like(h)
    for step in range(1, steps + 1):
        scaled = (step / steps * h).requires_grad_()
        logits = finish(model, recorded, recorded.residual + here * ((scaled - h) @ W2)[:, None])
        total += torch.autograd.grad(logits.softmax(-1)[:, wanted].sum(), scaled)[0]
    return (h * total / steps).mean(0).numpy()  # (d_ff,)


def strongest(attributions: np.ndarray, n: int) -> list[Unit]:
    """The `n` units with the largest attribution, those above 0 only.

    >>> strongest(np.array([[0.1, 0.0], [0.3, -1.0]]), 3)
    [(1, 0), (0, 0)]
    """
    order = np.argsort(-attributions, axis=None, kind="stable")[:n]
    places = (divmod(int(place), attributions.shape[1]) for place in order)
    return [place for place in places if attributions[place] > 0]


def others_that_fire(fires: np.ndarray, units: Sequence[Unit], rng: np.random.Generator) -> list[Unit]:
    """As many units of the same layers as `units`, drawn from those that fire and are not among them.

    A fair comparison needs both: units of other layers, or silent ones, would do less whatever the fact.

    **Shapes** fires (n_layers, d_ff), true where a unit fires.
    """
    drawn: list[Unit] = []
    for layer in sorted({layer for layer, _ in units}):
        own = [unit for at, unit in units if at == layer]
        others = np.setdiff1d(np.flatnonzero(fires[layer]), own)
        drawn += [(layer, int(unit)) for unit in rng.permutation(others)[: len(own)]]
    return drawn


def silence(units: Sequence[Unit]) -> dict[str, Callable[[torch.Tensor], torch.Tensor]]:
    """The plan for `intervene` under which these units are 0 at every token."""

    def without(own: list[int]) -> Callable[[torch.Tensor], torch.Tensor]:
        def change(hidden: torch.Tensor) -> torch.Tensor:
            hidden = hidden.clone()
            hidden[..., own] = 0
            return hidden

        return change

    layers = sorted({layer for layer, _ in units})
    return {f"{layer}.hidden": without([unit for at, unit in units if at == layer]) for layer in layers}
