"""How long `import ffnlib` takes, as a ratio: `python -c "import ffnlib"` against `python -c pass`, target 1.3.

The two are started in turn, so that a busy machine slows both, and their medians are compared.
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 41
TARGET = 1.3


def seconds(code):
    """Time one fresh Python."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    return time.perf_counter() - started


def main():
    """Print both medians and their ratio; return 1 when the target is missed."""
    seconds("import ffnlib")  # writes the compiled files
    pairs = [(seconds("pass"), seconds("import ffnlib")) for _ in range(ROUNDS)]
    bare, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"bare {1000 * bare:.1f} ms, import ffnlib {1000 * ours:.1f} ms, ratio {ours / bare:.2f} (target {TARGET})")
    return 0 if ours / bare <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
