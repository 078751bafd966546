"""The stopwatch, with a clock that stands still until a work moves it."""

import sys
import time

import pytest

from ffnlib.ledger import side_by_side


def test_the_median_of_each_work_is_returned_and_the_first_round_is_not_counted():
    now, order = [0.0], []
    lasting = {"a": iter([100, 1, 9, 2]), "b": iter([100, 5, 5, 6])}

    def work(name):
        def run():
            order.append(name)
            now[0] += next(lasting[name])

        return run

    assert side_by_side({name: work(name) for name in lasting}, rounds=3, clock=lambda: now[0]) == {"a": 2, "b": 5}
    assert order == ["a", "b"] * 4


@pytest.mark.skipif(sys.platform == "win32", reason="there the clock on the wall is read")
def test_waiting_for_others_is_not_counted():
    times = side_by_side({"waits": lambda: time.sleep(0.05)}, rounds=3)
    assert times["waits"] < 0.025  # half of the sleep; the few calls around it take microseconds
