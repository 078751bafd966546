"""Mixtures of experts: a router sends each token to a few of many feed-forward networks."""

from __future__ import annotations

import math
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
    gates = topk_route(x @ W_router, k)  # (tokens, E)
    mixed = np.zeros(x.shape)
    for expert in range(gates.shape[-1]):
        sent = gates[:, expert] > 0
        output = feed_forward(x[sent], W1[expert], b1[expert], W2[expert], b2[expert])
        mixed[sent] += gates[sent, expert, None] * output
    return mixed  # (tokens, d)
