"""What works on this machine, one line each: `python3 -m ffnlib doctor`."""

from __future__ import annotations

import platform
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module, metadata
from pathlib import Path

LAB_EXTENSIONS = ("anywidget", "@jupyter-widgets/jupyterlab-manager")


class Unwell(Exception):
    """Something does not work here; the text says what was seen and what to do."""


def check_python() -> str:
    """Name the Python, the system and the environment."""
    return f"{platform.python_version()} on {platform.system()} {platform.machine()}, in {sys.prefix}"


def check_packages() -> str:
    """Import what the lessons import."""
    names = ("numpy", "torch", "matplotlib", "jupyterlab")
    for name in names:
        import_module(name)
    return ", ".join(f"{name} {metadata.version(name)}" for name in names)


def check_float64() -> str:
    """Compare a small feed-forward layer in double precision, computed by NumPy and by PyTorch."""
    import numpy as np
    import torch

    rng = np.random.default_rng(0)
    x, W1, W2 = rng.normal(size=(8, 64)), rng.normal(size=(64, 256)), rng.normal(size=(256, 64))
    ours = np.maximum(x @ W1, 0) @ W2  # (8, 64)
    theirs = (torch.relu(torch.from_numpy(x) @ torch.from_numpy(W1)) @ torch.from_numpy(W2)).numpy()
    apart = np.abs(ours - theirs).max() / np.abs(ours).max()
    if not apart < 1e-12:
        raise Unwell(f"NumPy and PyTorch differ by {apart:.1e}, where 1e-12 is the limit: do not trust verdicts here")
    return "NumPy and PyTorch compute the same layer, apart from rounding"


def check_device() -> str:
    """Say where the lessons compute."""
    import torch

    gpu = "the GPU here stays unused" if torch.cuda.is_available() else "no GPU is needed"
    return f"CPU with {torch.get_num_threads()} threads; {gpu}"


def check_widgets() -> str:
    """Look for both halves of the interactive cells: the Python packages and what JupyterLab loads."""
    for name in ("anywidget", "ipywidgets"):
        import_module(name)
    folder = Path(sys.prefix) / "share" / "jupyter" / "labextensions"
    missing = [name for name in LAB_EXTENSIONS if not (folder / name / "package.json").exists()]
    if missing:
        raise Unwell(f"JupyterLab lacks {' and '.join(missing)} in {folder}: make the environment again")
    return (
        f"anywidget {metadata.version('anywidget')}, ipywidgets {metadata.version('ipywidgets')}, known to JupyterLab"
    )


def check_checking() -> str:
    """Have a right and a wrong answer judged while every way to the network is closed."""
    from ffnlib.learner import verdict_on

    with no_network():
        right, wrong = verdict_on("warm_up", lambda x: 2 * x), verdict_on("warm_up", lambda x: x)
    if not right.passed or wrong.passed:
        raise Unwell(f"a right answer was {right.status!r} and a wrong one {wrong.status!r}: please report this line")
    return "a right answer passes, a wrong one does not, and neither needs a network"


@contextmanager
def no_network() -> Iterator[None]:
    """Make every attempt to connect from Python fail."""

    def refuse(*_):
        raise Unwell("something tried to reach the network: please report this line")

    socket.socket.connect, before = refuse, socket.socket.connect
    try:
        yield
    finally:
        socket.socket.connect = before


def check_progress() -> str:
    """Try to write where progress is kept, without leaving anything there."""
    from ffnlib.learner import progress_file

    file = progress_file()
    folder = next(folder for folder in file.absolute().parents if folder.exists())
    try:
        with open(file, "a") if file.exists() else tempfile.TemporaryFile(dir=folder):
            return f"kept in {file}"
    except OSError as error:
        raise Unwell(f"{file}: {error.strerror}; set FFNLIB_PROGRESS to a file that can be written") from None


def check_small_model() -> str:
    """Read the weights of the trained models that lessons 09 to 13 look into."""
    from ffnlib import specimen

    if not any(specimen.WEIGHTS.glob("*.safetensors")):
        return "not part of this version of the course"
    sizes = {name: sum(array.size for array in specimen.arrays(name).values()) for name in specimen.SHA256}
    return ", ".join(f"{name} ({size:,} numbers)" for name, size in sizes.items())


CHECKS: dict[str, Callable[[], str]] = {
    "python": check_python,
    "packages": check_packages,
    "float64": check_float64,
    "device": check_device,
    "widgets": check_widgets,
    "checking": check_checking,
    "progress": check_progress,
    "small model": check_small_model,
}


def main(args) -> int:
    """Print a line for each check; return 1 when something does not work."""
    found = [examine(name, check) for name, check in CHECKS.items()]
    well = sum(found)
    print(f"\n{well} of {len(found)} work." + ("" if all(found) else " The lines with 'no' say what to do."))
    return 0 if all(found) else 1


def examine(name: str, check: Callable[[], str]) -> bool:
    """Run one check and print its line."""
    try:
        answer, text = "yes", check()
    except Unwell as problem:
        answer, text = "no", str(problem)
    except Exception as problem:  # a doctor that falls over tells nobody anything
        answer, text = "no", f"{type(problem).__name__}: {problem}"
    print(f"{answer:4} {name:15} {text}")
    return answer == "yes"
