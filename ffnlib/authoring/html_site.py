"""The course as a static site of solved lessons, claims and guides: `python3 -m ffnlib export html --out DIR`.

Sphinx and MyST-NB make it (the extra `site`); this file only lays out the pages. Nothing on a page asks the network.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from ffnlib import course, review
from ffnlib.authoring.notebook import canonical, dumps, lesson_files, read, role
from ffnlib.course import Lesson
from ffnlib.review.pages import Page

TOOLS = ("sphinx", "myst_nb", "furo", "latex2mathml")
CONFIGURATION = Path(__file__).with_name("site_conf.py")
STYLE = "figure.ffn-card { margin: 0; }\n"
SCRIPT = """function reach() { // by keyboard, too, what scrolls
  for (const wide of document.querySelectorAll("pre, .math-wrapper, .table-wrapper, .output"))
    if (wide.scrollWidth > wide.clientWidth || wide.scrollHeight > wide.clientHeight) wide.tabIndex = 0;
}
reach();
addEventListener("resize", reach); // more scrolls in a narrow window, or at a zoom
"""
LESSON_LINK = re.compile(r'href="(\d\d_\w+)\.ipynb')
FILE_LINK = re.compile(r"\[([^\]]+)\]\(\.\./[^)]+\)")  # to a file of the checkout, which the site does not hold
LEFT_OUT = ("hint", "reveal", "links")  # calls for a learner's kernel; the theme has its own way to the neighbours
GUIDES = "guides"
LIST = ".ffnlib-site"  # in the folder: the files that the last export put there, so that the next may take them away
CARD = "ffnlib/specimen/CARD.md"


def write_course(root: Path, out: Path) -> list[str]:
    """Write the site into `out` and return the lessons in it.

    Raises: ValueError when a tool is missing, `out` holds something else, or Sphinx finds a fault in a page.
    """
    missing = [tool for tool in TOOLS if find_spec(tool) is None]
    if missing:
        remedy = ".venv/bin/python -m pip install -c constraints.txt -e '.[site]'"
        raise ValueError(f"the site needs {', '.join(missing)}, not installed here; run `{remedy}`")
    if out.exists() and any(out.iterdir()) and not (out / "searchindex.js").exists():
        raise ValueError(f"{out} holds something else than a site; name an empty folder")
    with tempfile.TemporaryDirectory() as folder:
        source, made, doctrees = (Path(folder) / name for name in ("source", "site", "doctrees"))
        lessons = write_source(root, source)
        command = [
            sys.executable,
            "-m",
            "sphinx",
            "-b",
            "html",
            "-q",
            "-W",
            "--keep-going",
            "-d",
            doctrees,
            source,
            made,
        ]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            raise ValueError(f"Sphinx finds faults in the pages, and {out} stays as it was:\n{run.stderr.strip()}")
        replace(made, out)  # only now: `out` may hold a site that works, and .git beside it
    return lessons


def replace(made: Path, out: Path) -> None:
    """Copy the site into `out` and take away what an earlier export left there and this one does not make."""
    new = files_in(made)
    earlier = (out / LIST).read_text(encoding="utf-8").splitlines() if (out / LIST).exists() else []
    shutil.copytree(made, out, dirs_exist_ok=True)
    for name in files_in(out) & set(earlier) - new:
        (out / name).unlink()
        for folder in Path(name).parents:
            with suppress(OSError):  # it is not empty, or gone
                (out / folder).rmdir()
    (out / LIST).write_text("\n".join(sorted(new)), encoding="utf-8")


def files_in(folder: Path) -> set[str]:
    """Return the files in a folder and its folders, as they are called from there."""
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


def write_source(root: Path, source: Path) -> list[str]:
    """Lay out what Sphinx reads and return the names of the lessons.

    Raises: ValueError when there are no lessons.
    """
    files = lesson_files(root)
    (source / "lessons").mkdir(parents=True)
    (source / "_static").mkdir()
    (source / "_static" / "course.css").write_text(STYLE, encoding="utf-8")
    (source / "_static" / "course.js").write_text(SCRIPT, encoding="utf-8")
    shutil.copy(CONFIGURATION, source / "conf.py")
    for file in files:
        (source / "lessons" / file.name).write_text(dumps(folded(read(file))), encoding="utf-8")
    pages = {**collected_pages(root), **guides(root)}
    for name, text in pages.items():
        (source / f"{name}.md").parent.mkdir(exist_ok=True)
        (source / f"{name}.md").write_text(text, encoding="utf-8")
    (source / "index.md").write_text(index(files, list(pages)), encoding="utf-8")
    return [file.stem for file in files]


def folded(notebook: dict) -> dict:
    """Return a lesson for reading: answers open at a click, so that a reader can try first, and it has its number."""
    notebook = canonical(notebook)
    notebook["cells"] = [cell for cell in notebook["cells"] if role(cell) not in LEFT_OUT]
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):  # Sphinx turns the links of Markdown, and leaves those of HTML
                output["data"]["text/html"] = LESSON_LINK.sub(r'href="\1.html', output["data"]["text/html"])
        if cell["cell_type"] == "markdown":
            cell["source"] = FILE_LINK.sub(r"\1", cell["source"])
        if role(cell) == "header":
            cell["source"] = cell["source"].replace("# ", f"# {notebook['metadata']['ffn']['lesson'][:2]} ", 1)
        elif role(cell) in ("answer", "predict"):
            cell["metadata"]["tags"] = [*cell["metadata"].get("tags", []), "hide-input"]
            cell["metadata"]["mystnb"] = {"code_prompt_show": "Show our answer", "code_prompt_hide": "Hide our answer"}
    return notebook


def index(files: list[Path], pages: list[str]) -> str:
    """Return the first page: what the course is, and the way to everything else."""
    parts = [
        "# The feed-forward network of a Transformer, by doing",
        "These are the lessons of the course, solved. To work through them yourself, with answers that are checked and "
        "wrong ones explained, open them in Jupyter: two commands, in the project's README.",
        "| lesson | its question |\n|---|---|\n" + "\n".join(map(row, course.load().lessons)),
        contents("Lessons", [f"lessons/{file.stem}" for file in files]),
        contents("The course", [page for page in pages if not page.startswith(GUIDES)]),
        contents("Guides", [page for page in pages if page.startswith(GUIDES)]),
    ]
    return "\n\n".join(parts) + "\n"


def contents(caption: str, pages: list[str]) -> str:
    """Return a part of the table of contents, which the theme shows at the side of every page."""
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"]) if pages else ""


def row(lesson: Lesson) -> str:
    """Return the row of one lesson in the map: its number, its title and its question."""
    return f"| [{lesson.number} {lesson.title}](lessons/{lesson.name}.ipynb) | {lesson.question} |"


def collected_pages(root: Path) -> dict[str, str]:
    """Return {name: Markdown} of the pages that are collected from the lessons and the small model."""
    return {
        "claims": page("Every claim", review.claims_page(predicted={})),
        "glossary": page("Glossary", review.glossary()),
        "cards": page("Cards", review.flashcards()),
        "specimen": (root / CARD).read_text(encoding="utf-8"),
    }


def page(heading: str, shown: Page) -> str:
    """Return a page of the review, which is HTML, as a page of the site."""
    body = LESSON_LINK.sub(r'href="lessons/\1.html', shown.html)
    return f"# {heading}\n\n````{{raw}} html\n{body}\n````\n"


def guides(root: Path) -> dict[str, str]:
    """Return {name: Markdown} of the guides."""
    files = sorted((root / GUIDES).glob("*.md"))
    return {f"{GUIDES}/{file.stem}": file.read_text(encoding="utf-8") for file in files}
