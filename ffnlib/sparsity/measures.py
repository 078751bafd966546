"""How few hidden units fire, and what that saves."""

from __future__ import annotations

import numpy as np


def sparsity(H):
    """Return the share of exact zeros among all hidden activations.

    **Shapes** H (any, not empty) -> one float

    >>> sparsity([[0.0, 2.0], [0.0, 0.0]])
    0.75
    """
    return float(np.mean(np.asarray(H) == 0))


def active_per_token(H, eps):
    """Return, for each token, the share of hidden units whose size is above `eps`.

    **Shapes** H (..., units) -> (...)

    >>> active_per_token([[0.0, 2.0], [-3.0, 1.0]], 0.5).tolist()
    [0.5, 1.0]
    """
    return np.mean(np.abs(H) > eps, axis=-1)  # (...)


def dead_units(H):
    """Return the number of hidden units that are exactly zero on every token.

    **Shapes** H (tokens, units), at least one token

    >>> dead_units([[0.0, 2.0, 0.0], [0.0, 0.0, -1.0]])
    1
    """
    return int(np.count_nonzero(np.all(np.asarray(H) == 0, axis=0)))


def sparse_feed_forward(x, W1, b1, W2, b2):
    """Return the feed-forward network of one vector, reading only the rows of W2 whose unit fires.

    **Shapes** x (d_model,), W1 (d_model, d_ff), b1 (d_ff,), W2 (d_ff, d_model), b2 (d_model,) -> (d_model,)

    >>> W1, W2 = np.array([[1.0, -1.0]]), np.array([[3.0], [np.nan]])
    >>> sparse_feed_forward(np.array([2.0]), W1, np.zeros(2), W2, np.ones(1)).tolist()
    [7.0]
    """
    hidden = x @ W1 + b1  # (d_ff,)
    firing = np.flatnonzero(hidden > 0)
    return hidden[firing] @ W2[firing] + b2  # (d_model,)
