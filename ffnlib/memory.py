"""The feed-forward network read as a key-value memory, in the row convention.

A hidden unit's key is its column of W1, its value is its row of W2, and its coefficient is how strongly it fires.
"""

from __future__ import annotations

import numpy as np

from ffnlib.experts import softmax
from ffnlib.layer import hidden_units, layer_norm


def kv_contributions(x, W1, b1, W2):
    """Return what every hidden unit adds to the output: row i is coefficient_i * value_i; their sum plus b2 is FFN(x).

    **Shapes** x (d_model,), W1 (d_model, d_ff), b1 (d_ff,), W2 (d_ff, d_model) -> (d_ff, d_model)

    **Source** Geva et al. 2021, Transformer Feed-Forward Layers Are Key-Value Memories, section 2

    >>> W1, W2 = np.array([[1.0, -1.0]]), np.array([[3.0], [5.0]])
    >>> kv_contributions(np.array([2.0]), W1, np.zeros(2), W2).tolist()
    [[6.0], [0.0]]
    """
    coefficient = hidden_units(x, W1, b1)  # (d_ff,)
    return coefficient[:, None] * W2  # (d_ff, d_model)


def top_triggers(H, unit: int, k: int):
    """Return the indices of the k tokens on which a unit fires most strongly, strongest first.

    **Shapes** H (tokens, units) -> (k,)

    **Source** Geva et al. 2021, section 3

    >>> top_triggers(np.array([[0.0, 2.0], [9.0, 3.0], [0.0, 1.0]]), 1, 2).tolist()
    [1, 0]
    """
    return np.argsort(-np.asarray(H)[:, unit], kind="stable")[:k]  # (k,)


def value_distribution(v, E):
    """Return the distribution over the vocabulary that a value votes for: softmax(E v).

    **Shapes** v (d_model,), E (vocab, d_model) -> (vocab,)

    **Source** Geva et al. 2021, section 4

    >>> value_distribution(np.array([1.0, 0.0]), np.array([[2.0, 5.0], [2.0, 7.0]])).tolist()
    [0.5, 0.5]
    """
    return softmax(E @ v)  # (vocab,)


def logit_lens(h, gamma, beta, W_U, eps):
    """Return the logits a hidden state would give if the model stopped there: final LayerNorm, then unembedding.

    **Shapes** h (..., d_model), gamma and beta (d_model,), W_U (d_model, vocab) -> (..., vocab)

    **Source** nostalgebraist 2020, interpreting GPT: the logit lens

    >>> logit_lens(np.array([1.0, 3.0]), np.ones(2), np.zeros(2), np.array([[1.0, 0.0], [1.0, 2.0]]), 0.0).tolist()
    [0.0, 2.0]
    """
    return layer_norm(h, gamma, beta, eps) @ W_U  # (..., vocab)
