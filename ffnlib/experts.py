"""Mixtures of experts: a router sends each token to a few of many feed-forward networks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ffnlib.activations import softmax
from ffnlib.layer import feed_forward


def topk_route(logits, k):
    """Return the gates of each token: a softmax over its k best experts, 0 for all others.

    **Shapes** logits (tokens, experts) -> (tokens, experts)

    **Source** Shazeer et al. 2017, section 2.1, without noise; Jiang et al. 2024 (Mixtral), section 2.1

    >>> topk_route([[0.0, 5.0, 5.0]], 2).tolist()
    [[0.0, 0.5, 0.5]]
    """
    logits = np.asarray(logits, dtype=np.float64)
    best = np.argsort(-logits, axis=-1, kind="stable")[:, :k]  # (tokens, k)
    gates = np.zeros(logits.shape)
    np.put_along_axis(gates, best, softmax(np.take_along_axis(logits, best, axis=-1)), axis=-1)
    return gates  # (tokens, experts)


def switch_route(logits):
    """Return the gates of top-1 routing: the winner keeps its probability under the softmax over all experts.

    **Shapes** logits (tokens, experts) -> (tokens, experts)

    **Source** Fedus et al. 2021, section 2.1

    >>> switch_route([[0.0, math.log(3.0)]]).round(6).tolist()
    [[0.0, 0.75]]
    """
    probabilities = softmax(logits)  # (tokens, experts)
    winner = np.argmax(logits, axis=-1)[:, None]
    gates = np.zeros(probabilities.shape)
    np.put_along_axis(gates, winner, np.take_along_axis(probabilities, winner, axis=-1), axis=-1)
    return gates


def load_balance(logits):
    """Return experts * sum f_i P_i: f_i the share of tokens sent to expert i, P_i its mean probability.

    It is 1 when both are uniform, and grows towards the number of experts as one expert takes all.

    **Source** Fedus et al. 2021, section 2.2, equation 4, without its coefficient

    >>> load_balance([[1e4, 0.0], [0.0, 1e4]]), load_balance([[1e4, 0.0], [1e4, 0.0]])
    (1.0, 2.0)
    """
    logits = np.asarray(logits)
    tokens, experts = logits.shape
    sent = np.bincount(np.argmax(logits, axis=-1), minlength=experts) / tokens  # (experts,)
    return float(experts * np.sum(sent * np.mean(softmax(logits), axis=0)))


def capacity(tokens, experts, k, factor):
    """Return how many tokens one expert takes: ceil(tokens * k * factor / experts), factor as the decimal written.

    **Source** Fedus et al. 2021, section 2.2; Lepikhin et al. 2020 (GShard), section 2.2

    >>> capacity(100, 11, 1, 1.1)
    10
    """
    # the float 1.1 is a little more than 1.1, and a ceiling would turn that into one token more
    return math.ceil(tokens * k * Fraction(str(factor)) / experts)


def moe_forward(x, W_router, W1, b1, W2, b2, k):
    """Return the mixture of experts: each token's k best experts, weighted by `topk_route`.

    **Shapes** x (tokens, d), W_router (d, E), W1 (E, d, d_ff), b1 (E, d_ff), W2 (E, d_ff, d), b2 (E, d) -> (tokens, d)

    **Source** Shazeer et al. 2017, section 2
    """
    return mix_experts(x, topk_route(x @ W_router, k), W1, b1, W2, b2)


def mix_experts(x, gates, W1, b1, W2, b2):
    """Return the sum of the experts' outputs times their gates; an expert computes no token whose gate is 0.

    **Shapes** as in `moe_forward`, and gates (tokens, E)
    """
    mixed = np.zeros(x.shape)
    for expert in range(gates.shape[-1]):
        sent = gates[:, expert] > 0
        output = feed_forward(x[sent], W1[expert], b1[expert], W2[expert], b2[expert])
        mixed[sent] += gates[sent, expert, None] * output
    return mixed  # (tokens, d)


def dispatch(gates, room: int):
    """Return the gates that remain when no expert takes more than `room` tokens, the earlier ones first.

    A token whose gates are all gone is dropped: the layer adds nothing to it, the residual connection carries it on.

    **Shapes** gates (tokens, experts) -> (tokens, experts)

    **Source** Fedus et al. 2021, section 2.2

    >>> dispatch([[0.9, 0.0], [0.8, 0.0], [0.0, 0.7]], 1).tolist()
    [[0.9, 0.0], [0.0, 0.0], [0.0, 0.7]]
    """
    gates = np.asarray(gates)
    place_in_queue = np.cumsum(gates > 0, axis=0)  # (tokens, experts)
    return np.where(place_in_queue <= room, gates, 0.0)


# ---------------------------------------------------------------- blocks of units


def blocks_of_units(W1, n: int, rng: np.random.Generator, rounds: int = 8):
    """Return the block of each hidden unit: n blocks of equal size, units whose keys point alike together.

    It is k-means with places: the best fitting pair of a unit and a block with room comes first.

    **Shapes** W1 (d_model, d_ff) -> (d_ff,), numbers below n

    **Raises** ValueError when d_ff is no multiple of n

    **Source** Zhang et al. 2021 (MoEfication), expert construction by clustering
    """
    keys = _unit_length(np.transpose(W1))  # (d_ff, d_model)
    if len(keys) % n:
        raise ValueError(f"n={n!r} blocks of equal size cannot hold {len(keys)} units; choose a divisor of {len(keys)}")
    centres = keys[rng.choice(len(keys), n, replace=False)]
    for _ in range(rounds):
        block = _fill_blocks(keys @ centres.T)
        centres = _unit_length(np.stack([keys[block == each].mean(axis=0) for each in range(n)]))
    return block


def _unit_length(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)


def _fill_blocks(fit):
    """Return a block for each unit, best fit first; `fit` is (units, blocks), and all blocks have the same size."""
    units, n = fit.shape
    block, room = np.full(units, -1), np.full(n, units // n)
    for unit, candidate in zip(*np.unravel_index(np.argsort(-fit, axis=None, kind="stable"), fit.shape)):
        if block[unit] < 0 and room[candidate]:
            block[unit] = candidate
            room[candidate] -= 1
    return block


# ---------------------------------------------------------------- a small mixture, trained


@dataclass(frozen=True, eq=False)
class Mixture:
    """A trained top-1 mixture, called like a layer.

    **Shapes** as in `moe_forward`
    """

    W_router: np.ndarray
    W1: np.ndarray
    b1: np.ndarray
    W2: np.ndarray
    b2: np.ndarray

    def gates(self, x):
        """Return the gates of `switch_route`, (tokens, E)."""
        return switch_route(x @ self.W_router)

    def __call__(self, x):
        return mix_experts(x, self.gates(x), self.W1, self.b1, self.W2, self.b2)


def train_mixture(x, y, experts: int, d_ff: int, *, balance: float, seed: int, steps: int = 300) -> Mixture:
    """Return a top-1 mixture trained to map x to y, with `balance` times `load_balance` added to its error.

    With one expert it is a dense layer. The error is the mean square over the variance of y. Needs PyTorch.

    **Shapes** x and y (tokens, d)
    """
    import torch
    from torch.nn import functional as F

    generator = torch.Generator().manual_seed(seed)
    x, y = (torch.as_tensor(rows, dtype=torch.float32) for rows in (x, y))
    spread = (y - y.mean(0)).square().mean()
    W_router, W1, W2 = (
        torch.randn(shape, generator=generator) / shape[-2] ** 0.5
        for shape in ((x.shape[1], experts), (experts, x.shape[1], d_ff), (experts, d_ff, x.shape[1]))
    )
    weights = [W_router, W1, torch.zeros(experts, 1, d_ff), W2 / 2, y.mean(0).repeat(experts, 1, 1)]
    optimiser = torch.optim.Adam([each.requires_grad_() for each in weights], 3e-3)
    for _ in range(steps):
        chosen = torch.randint(len(x), (256,), generator=generator)
        W_router, W1, b1, W2, b2 = weights
        p = (x[chosen] @ W_router).softmax(-1)  # (256, experts)
        sent = F.one_hot(p.argmax(-1), experts)
        gates = (sent * p).T[..., None]  # (experts, 256, 1)
        # here every expert computes every token and most gates delete it: more work by count, but in few large products
        output = (gates * ((x[chosen] @ W1 + b1).relu() @ W2 + b2)).sum(0)
        uneven = experts * (sent.float().mean(0) * p.mean(0)).sum()
        optimiser.zero_grad()
        ((output - y[chosen]).square().mean() / spread + balance * uneven).backward()
        optimiser.step()
    W_router, W1, b1, W2, b2 = (each.detach().double().numpy() for each in weights)
    return Mixture(W_router, W1, b1[:, 0], W2, b2[:, 0])
