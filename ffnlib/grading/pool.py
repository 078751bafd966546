"""Grading many submissions: here, or on any executor, such as one that spreads the work over other machines."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager

from ffnlib.grading.examiner import Settings
from ffnlib.grading.interview import grade_batch
from ffnlib.grading.submission import Submission

AHEAD = 4  # batches that wait for each worker of the executor


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def grade_all(
    submissions: Iterable[Submission], settings: Settings, executor: Executor, lanes: int, batch: int = 1
) -> Iterator[tuple[Submission, dict]]:
    """Yield each submission with its row as soon as it is done; only a few batches wait in the executor."""
    source, pending = iter(submissions), {}

    def more() -> None:
        while len(pending) < lanes * AHEAD and (group := list(itertools.islice(source, batch))):
            pending[executor.submit(grade_batch, group, settings)] = group

    more()
    while pending:
        done, _ = wait(pending, return_when=FIRST_COMPLETED)
        for future in done:
            yield from finished(future, pending.pop(future))
        more()


def finished(future: Future, group: list[Submission]) -> Iterator[tuple[Submission, dict]]:
    """Yield a batch's submissions with their rows."""
    yield from zip(group, future.result())


@contextmanager
def threads(jobs: int) -> Iterator[Executor]:
    """Give the executor for this machine: judging is light, and the submissions run in processes of their own.

    At the end it waits for nothing: after an interruption there is more that nobody needs.
    """
    made = ThreadPoolExecutor(jobs, thread_name_prefix="grading")
    try:
        yield made
    finally:
        made.shutdown(wait=False, cancel_futures=True)
