"""Does one measured quantity go with another? Correlations with intervals, and what groups alone explain."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def correlation(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> tuple[float, float, float]:
    """Pearson's r and the ends of its 95 % interval, by Fisher's transformation; pairs with a nan are left out.

    nan three times when x or y does not vary, or fewer than four pairs are left.

    >>> [round(value, 3) for value in correlation([1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 6, 5])]
    [0.886, 0.264, 0.987]
    """
    pairs = np.array([x, y], dtype=np.float64)
    x, y = pairs[:, ~np.isnan(pairs).any(axis=0)]
    if len(x) < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan, math.nan, math.nan
    r = float(np.corrcoef(x, y)[0, 1])
    z, half = math.atanh(max(-1 + 1e-12, min(1 - 1e-12, r))), 1.959964 / math.sqrt(len(x) - 3)
    return r, math.tanh(z - half), math.tanh(z + half)


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
