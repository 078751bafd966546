"""Guessing which units will fire, from fewer numbers than W1 has, so that most of W1 need not be read either."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RATE, BATCH = 1e-2, 512


@dataclass(frozen=True)
class Predictor:
    """Two thin matrices in the place of W1: `x @ down @ up + bias` is large where a unit will fire.

    **Shapes** down (d_model, rank), up (rank, d_ff), bias (d_ff,)
    """

    down: np.ndarray
    up: np.ndarray
    bias: np.ndarray

    def scores(self, x):
        """Return a score for each unit.

        **Shapes** x (..., d_model) -> (..., d_ff)
        """
        return x @ self.down @ self.up + self.bias

    @property
    def cost(self) -> float:
        """The multiply-adds of a prediction, as a share of the two matrices' 2 d_model d_ff."""
        return (self.down.size + self.up.size) / (2 * self.down.shape[0] * self.up.shape[1])


def closest_predictor(x, W1, b1, rank):
    """Return the predictor of this rank whose scores come closest to `x @ W1 + b1` in the mean of squares over x.

    **Shapes** x (tokens, d_model), more tokens than d_model; W1 (d_model, d_ff), b1 (d_ff,)
    """
    spread = np.linalg.cholesky(x.T @ x / len(x) + 1e-6 * np.eye(x.shape[1]))  # spread @ spread.T = mean of x x^T
    left, sizes, right = np.linalg.svd(spread.T @ W1, full_matrices=False)
    down = np.linalg.solve(spread.T, left[:, :rank] * sizes[:rank])
    return Predictor(down.astype(W1.dtype), right[:rank].astype(W1.dtype), np.array(b1))


def fitted_predictor(x, fires, W1, b1, rank, steps=200, seed=0):
    """Return a predictor trained to tell firing from silent units; it starts from `closest_predictor`. Needs PyTorch.

    **Shapes** x (tokens, d_model), fires (tokens, d_ff) of truth values, W1 (d_model, d_ff), b1 (d_ff,)
    """
    import torch

    start = closest_predictor(x, W1, b1, rank)
    inputs, targets = torch.as_tensor(x).float(), torch.as_tensor(fires).float()
    parts = [torch.tensor(part, dtype=torch.float32, requires_grad=True) for part in (start.down, start.up, start.bias)]
    missing_costs = torch.tensor(5.0)  # a firing unit that is missed weighs as much as five read in vain
    loss_of = torch.nn.BCEWithLogitsLoss(pos_weight=missing_costs)
    optimiser = torch.optim.Adam(parts, lr=RATE)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        drawn = torch.randint(len(inputs), (BATCH,), generator=generator)
        down, up, bias = parts
        loss = loss_of(2 * (inputs[drawn] @ down @ up + bias), targets[drawn])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return Predictor(*(part.detach().numpy() for part in parts))


def threshold_for(scores, fires, wanted):
    """Return the score above which a share `wanted` of the firing units lies.

    **Shapes** scores and fires (tokens, d_ff)

    >>> threshold_for(np.array([[4.0, 3.0, 2.0, 1.0, 9.0]]), np.array([[True, True, True, True, False]]), 0.75)
    1.0
    """
    hits = np.sort(np.asarray(scores)[np.asarray(fires)])
    return float(hits[max(0, round((1 - wanted) * len(hits)) - 1)])


def recall(predicted, fires):
    """Return the share of the firing units that were predicted.

    **Shapes** predicted and fires, both (tokens, d_ff) of truth values, at least one unit fires

    >>> recall(np.array([[True, False, True]]), np.array([[True, True, False]]))
    0.5
    """
    return float(np.sum(predicted & fires) / np.sum(fires))
