"""What a unit's key answers to: the prefixes on which it fires most, and what they have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ffnlib.memory.contributions import Memory
from ffnlib.memory.reading import Reading

ONE_SENTENCE_EACH = 20  # triggers looked at: enough that a coincidence shows
ENOUGH = 16  # prefixes looked through for each trigger wanted


def top_triggers(H, unit: int, k: int):
    """Return the indices of the k tokens on which a unit fires most strongly, strongest first.

    **Shapes** H (tokens, units) -> (k,)

    **Source** Geva et al. 2021, section 3

    >>> top_triggers(np.array([[0.0, 2.0], [9.0, 3.0], [0.0, 1.0]]), 1, 2).tolist()
    [1, 0]
    """
    return np.argsort(-np.asarray(H)[:, unit], kind="stable")[:k]  # (k,)


def triggers(coefficient: np.ndarray, reading: Reading, k: int = ONE_SENTENCE_EACH) -> np.ndarray:
    """Return up to k prefixes on which a unit fires, strongest first, no two of one sentence.

    **Shapes** coefficient (n,) -> (at most k,)
    """
    firing = np.flatnonzero(coefficient > 0)
    few = firing
    if len(firing) > ENOUGH * k:  # k sentences are nearly always found among the strongest few hundred
        few = firing[np.argpartition(-coefficient[firing], ENOUGH * k)[: ENOUGH * k]]
    chosen = _one_a_sentence(few, coefficient, reading, k)
    return chosen if len(chosen) == k else _one_a_sentence(firing, coefficient, reading, k)


def _one_a_sentence(among: np.ndarray, coefficient: np.ndarray, reading: Reading, k: int) -> np.ndarray:
    order = among[np.argsort(-coefficient[among], kind="stable")]
    _, first = np.unique(reading.sentence[order], return_index=True)  # the strongest of every sentence
    return order[np.sort(first)[:k]]


def shared_tokens(reading: Reading, chosen: np.ndarray) -> tuple[float, float]:
    """Return how many of the chosen prefixes end in the same token, and how many agree in the token before it.

    Both are shares: the most frequent token's count divided by the number of prefixes.

    **Shapes** chosen (k,), at least one
    """
    ends = np.array([reading.prefixes[index][-2:] for index in chosen])  # (k, 2)
    return _commonest(ends[:, 1]), _commonest(ends[:, 0])


def shared_label(labels: Sequence[str], reading: Reading, chosen: np.ndarray, besides: Iterable[str] = ()) -> float:
    """Return the share of the commonest label among the sentences of the chosen prefixes, leaving out `besides`.

    `labels` has one entry for each sentence that was read.
    """
    found = np.array([labels[sentence] for sentence in reading.sentence[chosen]])
    counted = found[~np.isin(found, list(besides))]
    return _commonest(counted) * len(counted) / len(found) if len(counted) else 0.0


def _commonest(entries: np.ndarray) -> float:
    """Return the share of the most frequent entry.

    >>> _commonest(np.array([3, 3, 5, 3]))
    0.75
    """
    return float(np.unique(entries, return_counts=True)[1].max() / len(entries))


def mixed_keys(memory: Memory, rng: np.random.Generator, units: int) -> np.ndarray:
    """Return random mixtures of a layer's keys: directions it could have used, and does not.

    **Shapes** -> (units, d_model)
    """
    return rng.normal(size=(units, len(memory.keys))) @ memory.keys / np.sqrt(len(memory.keys))
