"""How soon a lesson answers: a new kernel and the lesson's first code cell, against a new kernel and `pass`.

The two are started in turn and their medians compared; the target is a ratio of 1.5. Name a lesson to measure another.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 7
TARGET = 1.5


def first_code_cell(lesson: str) -> str:
    """Return the source of the first code cell of a learner's lesson."""
    (file,) = (ROOT / "notebooks").glob(f"{lesson}*.ipynb")
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return next("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def seconds(code: str) -> float:
    """Time a new kernel until it has answered one cell."""
    from jupyter_client.manager import start_new_kernel

    started = time.perf_counter()
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(ROOT / "notebooks"), stderr=subprocess.DEVNULL)
    try:
        reply = client.execute_interactive(code, timeout=120, output_hook=lambda message: None)
        passed = time.perf_counter() - started
        if reply["content"]["status"] != "ok":
            raise SystemExit(f"the cell failed: {reply['content'].get('evalue')}")
        return passed
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def main(lesson: str = "01") -> int:
    """Print both medians and their ratio; return 1 when the target is missed."""
    code = first_code_cell(lesson)
    seconds(code)  # writes the compiled files
    pairs = [(seconds("pass"), seconds(code)) for _ in range(ROUNDS)]
    empty, first = (statistics.median(column) for column in zip(*pairs))
    ratio = first / empty
    print(f"empty {empty:.2f} s, first cell of lesson {lesson} {first:.2f} s, ratio {ratio:.2f} (target {TARGET})")
    return 0 if ratio <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
