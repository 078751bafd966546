"""How long works take beside each other: in turn, in time of the processor, so that a busy machine disturbs little."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median

# Windows counts a process's own time in steps of 15 ms, too coarse for what is timed here.
CLOCK = time.perf_counter if sys.platform == "win32" else time.process_time


def side_by_side(works: dict[str, Callable[[], object]], rounds: int = 7, clock=CLOCK) -> dict[str, float]:
    """Return the median time of each work, after one round that is not counted.

    It is time that the processor spent on this process; several threads at work add up.

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
