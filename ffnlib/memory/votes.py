"""What a unit's value votes for: its products with the words' rows of the embedding, as scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ffnlib.experts import softmax
from ffnlib.memory.reading import Reading


def value_distribution(v, E):
    """Return the distribution over the vocabulary that a value votes for: softmax(E v).

    **Shapes** v (d_model,), E (vocab, d_model) -> (vocab,)

    **Source** Geva et al. 2021, section 4

    >>> value_distribution(np.array([1.0, 0.0]), np.array([[2.0, 5.0], [2.0, 7.0]])).tolist()
    [0.5, 0.5]
    """
    return softmax(E @ v)  # (vocab,)


def promoted(values: np.ndarray, E: np.ndarray, k: int = 10) -> np.ndarray:
    """Return the k words each value promotes most, strongest first.

    **Shapes** values (..., d_model), E (vocab, d_model) -> (..., k)

    >>> promoted(np.array([1.0, 0.0]), np.array([[2.0, 5.0], [3.0, 7.0]]), 1).tolist()
    [1]
    """
    return np.argsort(-(values @ E.T), axis=-1, kind="stable")[..., :k]


@dataclass(frozen=True)
class Agreement:
    """How often a value's first word is what follows the unit's strongest trigger.

    `chance` and `deviation` are mean and standard deviation of that rate when the triggers are dealt to the units anew.
    """

    rate: float
    chance: float
    deviation: float
    units: int


def agreement(coefficients: np.ndarray, values: np.ndarray, E: np.ndarray, reading: Reading) -> Agreement:
    """Return the rate at which values agree with what follows, over all units that fire at least once.

    Dealing the triggers anew keeps both frequencies: a word that is often promoted and often follows agrees often
    by chance alone.

    **Shapes** coefficients (n, d_ff), values (d_ff, d_model), E (vocab, d_model)

    **Source** Geva et al. 2021, section 4; mean and variance of a random matching are exact
    """
    firing = (coefficients > 0).any(axis=0)  # (d_ff,)
    first_word = promoted(values[firing], E, 1)[:, 0]  # (firing,)
    follows = reading.following[coefficients[:, firing].argmax(axis=0)]  # (firing,)
    p, q = (np.bincount(words, minlength=len(E)) / len(words) for words in (first_word, follows))  # (vocab,) each
    chance = p @ q
    variance = (chance - p @ q**2 - p**2 @ q + chance**2) / (len(follows) - 1)
    return Agreement(float(np.mean(first_word == follows)), float(chance), float(variance) ** 0.5, len(follows))
