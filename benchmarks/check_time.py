"""How long a check takes: a passing answer (target 20 ms), and each listed wrong one (target 50 ms).

Times are medians of repeated checks in one process, in milliseconds and as ratios to the time the answer's own calls
take. The first check of a process, which also imports the lesson's exercises, is given apart.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time

PASSING, FAILING = 20.0, 50.0  # milliseconds


def milliseconds(work, rounds=7):
    """Return the median time of a call."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times)


def main():
    """Print a line for each exercise and the slowest of all; return 1 when a target is missed."""
    os.environ["FFNLIB_PROGRESS"] = os.path.join(tempfile.mkdtemp(), "progress.jsonl")
    started = time.perf_counter()
    from ffnlib import check

    check("relu", abs)
    print(f"first check of a process, imports included: {1000 * (time.perf_counter() - started):.0f} ms")
    from ffnlib.examination import lessons
    from ffnlib.examination.evidence import gather
    from ffnlib.examination.probing import draw

    slowest_pass = slowest_fail = 0.0
    for exercise in (e for lesson in lessons.CATALOGUE for e in lessons.exercises(lesson)):
        if exercise.wanted != "function":
            continue
        probes = draw(exercise, exercise.seed)
        calls = milliseconds(lambda e=exercise, p=probes: gather(p, e.oracle, e.wanted))
        passing = milliseconds(lambda e=exercise: check(e.id, e.oracle))
        wrong = [milliseconds(lambda e=exercise, m=m: check(e.id, m.program), 3) for m in exercise.misconceptions]
        slowest_pass, slowest_fail = max(slowest_pass, passing), max(slowest_fail, *wrong)
        print(
            f"{exercise.id:28} pass {passing:6.1f} ms ({passing / calls:4.1f} x its calls)   "
            f"fail: median {statistics.median(wrong):6.1f}, slowest {max(wrong):6.1f} ms of {len(wrong)}"
        )
    print(f"slowest pass {slowest_pass:.1f} ms (target {PASSING:g})")
    print(f"slowest fail {slowest_fail:.1f} ms (target {FAILING:g})")
    return 0 if slowest_pass <= PASSING and slowest_fail <= FAILING else 1


if __name__ == "__main__":
    sys.exit(main())
