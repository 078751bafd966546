"""The course as a directory that nbgrader grades: its own source notebooks, its own configuration, nothing else.

An exported course is as safe as nbgrader, which runs a submission and its checks in one process: whoever hands in a
notebook can change the verdict on it. `python3 -m ffnlib grade` judges in another process and cannot be talked to.
"""

from pathlib import Path

from ffnlib.authoring.notebook import lesson_files, read, without_outputs, write

CONFIGURATION = '''"""Settings for nbgrader: https://nbgrader.readthedocs.io"""

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "feed-forward-network"
c.ClearSolutions.code_stub = {"python": "# your code here\\nraise NotImplementedError"}
c.ExecutePreprocessor.timeout = 120
'''


def write_course(root: Path, out: Path) -> list[str]:
    """Write the directory from solutions/ and return the lessons in it.

    Raises: ValueError when `out` holds a course already, or there are no lessons.
    """
    files = lesson_files(root)
    if (out / "gradebook.db").exists():
        raise ValueError(f"{out} holds a course with grades; name an empty folder")
    for file in files:
        write(out / "source" / file.stem / file.name, without_outputs(read(file)))
    (out / "nbgrader_config.py").write_text(CONFIGURATION, encoding="utf-8")
    return [file.stem for file in files]
