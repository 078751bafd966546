"""How a prediction comes about: the logits a layer's stream would give, and what each part of it adds to a word."""

from __future__ import annotations

import numpy as np

from ffnlib.layer import layer_norm
from ffnlib.memory.contributions import Memory


def logit_lens(h, gamma, beta, W_U, eps):
    """Return the logits a hidden state would give if the model stopped there: final LayerNorm, then unembedding.

    **Shapes** h (..., d_model), gamma and beta (d_model,), W_U (d_model, vocab) -> (..., vocab)

    **Source** nostalgebraist 2020, interpreting GPT: the logit lens

    >>> logit_lens(np.array([1.0, 3.0]), np.ones(2), np.zeros(2), np.array([[1.0, 0.0], [1.0, 2.0]]), 0.0).tolist()
    [0.0, 2.0]
    """
    return layer_norm(h, gamma, beta, eps) @ W_U  # (..., vocab)


def reading_direction(stream, gamma, wanted, eps):
    """Return the direction r in which the final norm reads `wanted` off a stream: each part of it adds part @ r.

    `wanted` is a direction behind the norm, such as one word's embedding minus the mean of others. With the norm's
    deviation as it is for this stream, `layer_norm(stream, gamma, beta, eps) @ wanted` equals
    `stream @ r + beta @ wanted`, and the stream is a sum of parts.

    **Shapes** stream, gamma, wanted (d_model,) -> (d_model,)

    **Source** Elhage et al. 2021, A Mathematical Framework for Transformer Circuits: logits as a sum over components

    >>> reading_direction(np.array([1.0, 3.0]), np.ones(2), np.array([0.0, 2.0]), 0.0).tolist()
    [-1.0, 1.0]
    """
    scaled = gamma * wanted / np.sqrt(np.var(stream) + eps)  # (d_model,)
    return scaled - np.mean(scaled)  # the norm subtracts the stream's mean


def sub_update_scores(memory: Memory, x, direction) -> np.ndarray:
    """Return what every unit's sub-update, coefficient times value, adds along a direction.

    **Shapes** x and direction (d_model,) -> (d_ff,)

    **Source** Geva et al. 2022, Transformer Feed-Forward Layers Build Predictions by Promoting Concepts
    """
    return memory.coefficients(x) * (memory.values @ direction)  # (d_ff,)
