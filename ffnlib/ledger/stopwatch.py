"""How long works take beside each other: in turn, so that a busy moment of the machine slows all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median


def side_by_side(works: dict[str, Callable[[], object]], rounds: int = 7, clock=time.perf_counter) -> dict[str, float]:
    """Return the median time of each work, after one round that is not counted.

    **Units** seconds; only their ratios mean something, and only within one call
    """
    taken: dict[str, list[float]] = {name: [] for name in works}
    for counted in (False, *[True] * rounds):
        for name, work in works.items():
            start = clock()
            work()
            if counted:
                taken[name].append(clock() - start)
    return {name: median(times) for name, times in taken.items()}
