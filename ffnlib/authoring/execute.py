"""Runs solved lessons in place, on one thread and with an empty progress file, and stores what they print."""

import os
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from ffnlib.authoring import collected, outputs
from ffnlib.authoring.notebook import NotebookError, canonical, lesson_files, read, without_outputs, write

SECONDS_A_CELL = 120
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def execute_lessons(root, names):
    """Run the named lessons (all when none is named) and store their outputs; return the Problems that forbid it.

    Raises: NotebookError for a name that is no lesson, and when there is none.
    """
    files = {file.stem: file for file in lesson_files(root)}
    unknown = [name for name in names if name not in files]
    if unknown:
        raise NotebookError(f"{unknown[0]!r} is no lesson of solutions/; the lessons are {', '.join(files)}")
    problems = []
    for name in names or files:
        collected.write(root)  # the lesson that shows what all have found is the last
        executed = execute(files[name])
        found = outputs.problems(executed, files[name].relative_to(root).as_posix())
        problems += found
        if not found:
            write(files[name], executed)
            print(f"executed {name}")
    return problems


def execute(file):
    """Return the notebook in `file` as it stands after a run from top to bottom, in canonical form."""
    notebook = without_outputs(read(file))  # nothing of an earlier run can survive
    with tempfile.TemporaryDirectory() as folder, environment(FFNLIB_PROGRESS=str(Path(folder) / "progress.jsonl")):
        return canonical(_run(notebook, Path(file).parent))


def _run(notebook, folder):
    from ffnlib.authoring.quick_start import skip_slow_import

    skip_slow_import()
    import ipykernel.kernelspec
    import nbformat
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from nbclient import NotebookClient

    class ThisPython(KernelSpecManager):
        """Starts the Python that runs the build, whatever kernels the machine offers."""

        def get_kernel_spec(self, kernel_name):
            return KernelSpec(resource_dir=ipykernel.kernelspec.RESOURCES, **ipykernel.kernelspec.get_kernel_dict())

    class Manager(AsyncKernelManager):
        """Made by the client itself, which then shuts the kernel down as well."""

        def __init__(self, **options):
            super().__init__(kernel_spec_manager=ThisPython(), **options)

    node = nbformat.from_dict(notebook)
    client = NotebookClient(
        node,
        kernel_manager_class=Manager,
        timeout=SECONDS_A_CELL,
        allow_errors=True,
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(stderr=subprocess.DEVNULL)  # the kernel's own remarks; a cell's stderr is part of its outputs
    return node


@contextmanager
def environment(**values):
    """Set environment variables, and one thread, for as long as a lesson runs."""
    before = dict(os.environ)
    os.environ.update(ONE_THREAD | values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
