"""An environment that two test files need is made once, also when both begin at the same time."""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from .environments import environment


def test_two_that_need_the_same_environment_make_it_once(tmp_path, monkeypatch):
    calls = []

    def slow(command, check):
        calls.append([str(word) for word in command])
        time.sleep(0.2)
        if "venv" in command:
            command[-1].mkdir()

    monkeypatch.setenv("FFNLIB_TEST_ENVIRONMENTS", str(tmp_path))
    monkeypatch.setenv("FFNLIB_REQUIRE_ALL", "1")
    monkeypatch.setattr(subprocess, "run", slow)
    with ThreadPoolExecutor(2) as pool:
        first, second = [pool.submit(environment, "bare", "numpy") for _ in range(2)]
    assert first.result() == second.result()
    assert [call[2] for call in calls] == ["venv", "pip"]
