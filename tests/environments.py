"""Python environments for tools that no learner needs, made once and kept in the person's cache."""

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ffnlib.environment import lock


def required():
    """Say whether a missing tool is a failure, as it is where the whole course is tested."""
    return os.environ.get("CI") == "true" or os.environ.get("FFNLIB_REQUIRE_ALL") == "1"


def environment(name, *requirements):
    """Return the interpreter of the environment `name` that holds these requirements.

    It is made where the tests are required to run everything; elsewhere the test is skipped unless it is there already.
    """
    folder = cache() / f"{name}-{fingerprint(requirements)}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    complete = folder / "complete"
    if complete.exists():
        return python
    if not required():
        pytest.skip(f"needs an environment with {', '.join(requirements)}; FFNLIB_REQUIRE_ALL=1 makes it")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("a") as file:
        while not lock(file):  # another process of the same tests makes it
            time.sleep(0.5)
        if not complete.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
            complete.touch()
    return python


def cache():
    """Name the folder that keeps the environments between runs."""
    if chosen := os.environ.get("FFNLIB_TEST_ENVIRONMENTS"):
        return Path(chosen)
    home = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "ffnlib" / "test-environments"


def fingerprint(requirements):
    """Tell environments apart that differ in their packages or their Python."""
    return hashlib.sha256("\n".join([sys.version, *requirements]).encode()).hexdigest()[:12]
