"""Differences between configurations, seed by seed, with the intervals that say how well they are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import exp, lgamma, pi, sqrt
from statistics import mean, stdev


def student_share(t: float, freedom: int) -> float:
    """Share of Student's distribution between -t and t, by Simpson's rule.

    >>> round(student_share(2.571, 5), 3)  # the tables: 95 % for 5 degrees of freedom
    0.95
    """
    height = exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(freedom * pi)
    pieces = 400
    weights = [1, *[4, 2] * (pieces // 2 - 1), 4, 1]
    places = [t * piece / pieces for piece in range(pieces + 1)]
    density = [height * (1 + x * x / freedom) ** (-(freedom + 1) / 2) for x in places]
    return 2 * t / (3 * pieces) * sum(w * y for w, y in zip(weights, density, strict=True))


@lru_cache
def student_t(share: float, freedom: int) -> float:
    """How far from 0 one must go on both sides to hold a share of Student's distribution.

    >>> round(student_t(0.95, 7), 3)
    2.365
    """
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_share(middle, freedom) < share else (low, middle)
    return low


@dataclass(frozen=True)
class Difference:
    """How much more loss one configuration has than another, in % of the other's, one number per seed."""

    by_seed: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over the seeds."""
        return mean(self.by_seed)

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return stdev(self.by_seed) / sqrt(len(self.by_seed))

    @property
    def sigmas(self) -> float:
        """How many standard errors the mean lies from 0."""
        return abs(self.mean) / self.error

    def half_width(self, share: float = 0.95) -> float:
        """Half the width of the interval that holds the true mean in `share` of such experiments."""
        return student_t(share, len(self.by_seed) - 1) * self.error

    def excludes_zero(self) -> bool:
        """Whether the 95 % interval lies on one side of 0."""
        return abs(self.mean) > self.half_width()

    def within(self, margin: float) -> bool:
        """Whether two one-sided tests at 5 % place the true mean inside the margin.

        That is the same as: the 90 % interval lies inside. Intervals that are too wide never do.

        **Source.** Schuirmann 1987, A comparison of the two one-sided tests procedure, section 2.
        """
        return abs(self.mean) + self.half_width(0.90) < margin


def difference(losses: Mapping[int, float], reference: Mapping[int, float]) -> Difference:
    """The difference for every seed that both have.

    >>> difference({0: 2.02, 1: 2.06}, {0: 2.0, 1: 2.0}).by_seed
    (1.0, 3.0)
    """
    both = sorted(losses.keys() & reference.keys())
    return Difference(tuple(round(100 * (losses[seed] / reference[seed] - 1), 6) for seed in both))


def prediction_half_width(values: tuple[float, ...], share: float = 0.95) -> float:
    """Half the width of the interval around the mean that holds one more value in `share` of such experiments."""
    n = len(values)
    return student_t(share, n - 1) * stdev(values) * sqrt(1 + 1 / n)
