"""Does one measured quantity go with another? Correlations with intervals, and what groups alone explain."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def correlation(
    x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray, groups: Sequence | None = None
) -> tuple[float, float, float]:
    """Pearson's r and the ends of its 95 % interval, by Fisher's transformation; pairs with a nan are left out.

    With `groups` it is the correlation within them: each group's means are taken off x and y first. nan three times
    when x or y does not vary, or too few pairs are left.

    >>> [round(value, 3) for value in correlation([1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 6, 5])]
    [0.886, 0.264, 0.987]
    """
    pairs = np.array([x, y], dtype=np.float64)
    whole = ~np.isnan(pairs).any(axis=0)
    names = np.zeros(whole.sum()) if groups is None else np.asarray(groups)[whole]
    x, y = (_less_its_means(values[whole], names) for values in pairs)
    free = len(x) - 2 - len(np.unique(names))
    if free < 1 or np.ptp(x) < 1e-12 or np.ptp(y) < 1e-12:
        return math.nan, math.nan, math.nan
    r = float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))
    z, half = math.atanh(max(-1 + 1e-12, min(1 - 1e-12, r))), 1.959964 / math.sqrt(free)
    return r, math.tanh(z - half), math.tanh(z + half)


def _less_its_means(values: np.ndarray, names: np.ndarray) -> np.ndarray:
    result = values.copy()
    for name in np.unique(names):
        result[names == name] -= values[names == name].mean()
    return result


def explained(y: np.ndarray, groups: Sequence, x: np.ndarray | None = None) -> float:
    """Share of the variance of y that a mean for each group explains, and a common slope on x beside it if given.

    >>> explained(np.array([1.0, 3.0, 5.0, 7.0]), ["a", "a", "b", "b"])
    0.8
    """
    y = np.asarray(y, dtype=np.float64)
    columns = [np.array([group == name for group in groups], dtype=np.float64) for name in dict.fromkeys(groups)]
    table = np.column_stack(columns if x is None else [*columns, np.asarray(x, dtype=np.float64)])
    rest = y - table @ np.linalg.lstsq(table, y, rcond=None)[0]
    return float(1 - rest @ rest / np.square(y - y.mean()).sum())


def gain_interval(
    y: np.ndarray, groups: Sequence, x: np.ndarray, owner: Sequence[int], rng: np.random.Generator, draws: int = 400
) -> tuple[float, float, float]:
    """What x adds to `explained` beyond the groups, and its 95 % interval over draws of owners with replacement."""
    y, groups, x, owner = (np.asarray(values) for values in (y, groups, x, owner))

    def gain(rows: np.ndarray) -> float:
        return explained(y[rows], groups[rows], x[rows]) - explained(y[rows], groups[rows])

    of_owner = [np.flatnonzero(owner == name) for name in np.unique(owner)]
    drawn = [
        gain(np.concatenate([of_owner[i] for i in rng.integers(len(of_owner), size=len(of_owner))]))
        for _ in range(draws)
    ]
    return gain(np.arange(len(y))), *(float(end) for end in np.percentile(drawn, [2.5, 97.5]))
