"""What grading costs: CPU seconds a submission for classes of 30 and 300, as a ratio to nbgrader in the same run.

The submissions are a released lesson with what learners write into it: mostly right answers, some wrong ones, some not
begun, and a cell of their own. CPU seconds count every process, the start and the pages; they hardly depend on how busy
the machine is, but caches do, so the two graders take turns. nbgrader grades a few submissions, ours a whole class.

    python3 benchmarks/grading.py [--lesson 01_formula] [--rounds 2] [--sample 2] [--without-nbgrader]

Targets: at most 1/30 of nbgrader's CPU for a class of 30, and 1/50 for one of 300.
"""

import argparse
import inspect
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ffnlib.examination import lessons  # noqa: E402

TARGETS = {30: 30, 300: 50}
SCRATCH = "print(np.arange(6).reshape(2, 3) @ np.ones((3, 2)))"


def written(exercise, number):
    """Return what learner `number` has in the answer cell: the model answer, a slip of it, or nothing yet (None)."""
    if number % 10 == 9:
        return None
    body = textwrap.dedent(inspect.getsource(exercise.oracle))
    body = body.replace(f"def {exercise.oracle.__name__}(", f"def {exercise.answer_name()}(", 1)
    if number % 10 in (3, 6):
        first, _, last = body.rstrip().rpartition("return ")
        return f"{first}return 2 * ({last})" if not first.rstrip().endswith("(") and "\n" not in last else body
    return body


def submission(lesson, number):
    """Return the released lesson as learner `number` hands it in."""
    notebook = json.loads((ROOT / "notebooks" / f"{lesson}.ipynb").read_text("utf-8"))
    exercises = {exercise.id: exercise for exercise in lessons.exercises(lesson)}
    for cell in notebook["cells"]:
        ffn = cell["metadata"].get("ffn", {})
        if ffn.get("role") == "answer" and (answer := written(exercises[ffn["exercise"]], number)):
            cell["source"] = answer.splitlines(keepends=True)
    own = {
        "cell_type": "code",
        "execution_count": None,
        "id": "own",
        "metadata": {},
        "outputs": [],
        "source": [SCRATCH],
    }
    notebook["cells"].append(own)
    return json.dumps(notebook, indent=1)


def make_class(folder, lesson, size):
    """Write the submissions of a class in nbgrader's tree, which both graders read."""
    for number in range(size):
        path = folder / f"s{number:03}" / lesson / f"{lesson}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(submission(lesson, number), "utf-8")


def cpu(command, **options):
    """Run a command; return the CPU seconds of all its processes, and its wall time."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    run = subprocess.run(command, capture_output=True, text=True, **options)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode not in (0, 2):
        raise SystemExit(f"{command} ended with {run.returncode}:\n{run.stderr[-3000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def ours(folder, out, jobs=1):
    """Grade a class with `ffnlib grade`."""
    command = [sys.executable, "-m", "ffnlib", "grade", str(folder), "--out", str(out), "--jobs", str(jobs)]
    return cpu(command, cwd=ROOT)


def nbgrader_course(folder, lesson, size):
    """Make a course directory with `size` submissions; return the command that grades them."""
    from tests.environments import environment

    # what the lesson imports, beside nbgrader itself
    python = environment(
        "nbgrader-course", "nbgrader==0.9.6", "numpy>=2", "matplotlib", "ipywidgets", "anywidget", "platformdirs"
    )
    subprocess.run(
        [sys.executable, "-m", "ffnlib", "export", "nbgrader", "--out", str(folder)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    make_class(folder / "submitted", lesson, size)
    tools = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"  # nbgrader starts its database tool by name
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": tools}
    nbgrader = [str(python), "-m", "nbgrader"]
    subprocess.run(
        [*nbgrader, "generate_assignment", lesson], cwd=folder, env=variables, check=True, capture_output=True
    )
    return [*nbgrader, "autograde", lesson, "--force"], {"cwd": folder, "env": variables}


def main():
    """Print the figures; return 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lesson", default="01_formula")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--sample", type=int, default=2, help="submissions that nbgrader grades a round")
    parser.add_argument("--sizes", type=int, nargs="*", default=list(TARGETS))
    parser.add_argument("--without-nbgrader", action="store_true")
    args = parser.parse_args()
    missed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in args.sizes:
            make_class(folder / str(size), args.lesson, size)
        theirs = None if args.without_nbgrader else nbgrader_course(folder / "course", args.lesson, args.sample)
        costs = {size: [] for size in args.sizes} | {"nbgrader": []}
        for _ in range(args.rounds):
            for size in args.sizes:
                seconds, wall = ours(folder / str(size), folder / "out")
                costs[size].append(seconds / size)
                print(f"class of {size}: {seconds / size:.4f} CPU-s a submission, {wall:.1f} s in all")
                shutil.rmtree(folder / "out")
            if theirs:
                seconds, wall = cpu(theirs[0], **theirs[1])
                costs["nbgrader"].append(seconds / args.sample)
                print(f"nbgrader: {seconds / args.sample:.2f} CPU-s a submission, {wall / args.sample:.1f} s each")
        for size in args.sizes:
            own = statistics.median(costs[size])
            print(f"median, class of {size}: {own:.4f} CPU-s a submission")
            if theirs:
                ratio = statistics.median(costs["nbgrader"]) / own
                wanted = TARGETS.get(size, 30)
                missed |= ratio < wanted
                print(f"  nbgrader takes {ratio:.0f} times as much (target {wanted})")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
