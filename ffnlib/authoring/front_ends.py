"""Opening a lesson elsewhere: badges for Colab and Binder, and the cell that fetches the course where it is missing.

All of it follows from one constant. While it is empty, as before the course is published, there are no badges and no
such cell; whoever publishes it writes "owner/name" here and runs `python3 -m ffnlib build`.
"""

from ffnlib.authoring.notebook import new_cell, role

REPOSITORY = ""  # "owner/name" on GitHub
BRANCH = "main"

FETCH = """\
import importlib.util

if importlib.util.find_spec("ffnlib") is None:  # on Colab, say; where the course is installed this does nothing
    import subprocess
    import sys

    course = "git+https://github.com/{repository}@{branch}"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", course], check=True)"""


def badges(lesson, repository):
    """Return the line of links that opens a lesson on Colab and on Binder; empty while there is no repository."""
    if not repository:
        return ""
    colab = f"https://colab.research.google.com/github/{repository}/blob/{BRANCH}/notebooks/{lesson}.ipynb"
    binder = f"https://mybinder.org/v2/gh/{repository}/{BRANCH}?urlpath=lab/tree/notebooks/{lesson}.ipynb"
    return f"[Open in Colab]({colab}) | [Open on Binder]({binder})"


def opened_elsewhere(cells, lesson, repository):
    """Return a learner's cells with the badges under the header and the fetching cell before the first code."""
    if not repository:
        return cells
    fetch = new_cell("code", "fetch-the-course", FETCH.format(repository=repository, branch=BRANCH), role="setup")
    header = next(cell for cell in cells if role(cell) == "header")
    linked = header | {"source": f"{header['source']}\n\n{badges(lesson, repository)}"}
    first = next(index for index, cell in enumerate(cells) if cell["cell_type"] == "code")
    cells = [linked if cell is header else cell for cell in cells]
    return [*cells[:first], fetch, *cells[first:]]
