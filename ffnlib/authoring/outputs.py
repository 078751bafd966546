"""The rules for what a solved lesson has stored: the same on every machine, small, and readable without pictures."""

import base64
import re
import textwrap

from ffnlib.authoring.lint import located
from ffnlib.authoring.notebook import NOT_COMPARED_COMMENTS, dumps, exercise_of, role

PICTURE_BYTES = 40_000
NOTEBOOK_BYTES = 500_000
WORDS_IN_A_TEXT = 60
WORDS_BESIDE_A_PICTURE = 5
CELLS_COMPARED = 3
DATA_URI = re.compile(r"data:image/[a-z+]+;base64,([A-Za-z0-9+/=\s]+)")
FLEETING = {
    "a memory address": r"\b0x[0-9a-f]{6,}\b",
    "an absolute path": r"(?<![\w.:/<])/(?:home|root|Users|usr|opt|tmp|var|private|work|mnt|srv)/|\b[A-Z]:\\",
    "a kernel's temporary file": r"ipykernel_\d+|<ipython-input-",
    "a clock": r"\b\d{1,2}:\d{2}:\d{2}\b",
    "a date": r"\b20\d\d-\d\d-\d\d\b",
    "a measured time": r"\d ?(?:ms|µs|μs|us|ns)\b",
    "a random id": r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b",
    "a progress bar": r"\d+%\s?\|",
}


def problems(notebook, file):
    """Return the Problems of a solved notebook's counts, comments and outputs."""
    found = [*_counts(notebook), *_comments(notebook), *_enough_compared(notebook), *_size(notebook)]
    for cell in _code(notebook):
        found += [(cell, line, message) for line, message in cell_problems(cell)]
    return [located(file, notebook["cells"], *each) for each in found]


def _code(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _counts(notebook):
    """nbval passes a cell without a count unseen, so every cell must have run, from top to bottom."""
    for number, cell in enumerate(_code(notebook), 1):
        if cell["execution_count"] != number:
            seen = f"execution_count={cell['execution_count']!r} where {number} is due"
            yield cell, 0, f"{seen}; run `python3 -m ffnlib build --execute {notebook['metadata']['ffn']['lesson']}`"
            return


def _comments(notebook):
    """nbval ignores its own comments when they are in lower case."""
    for cell in _code(notebook):
        for line, text in enumerate(cell["source"].split("\n"), 1):
            comment = re.search(r"#\s*((?:nbval|pytest_validate)\w*)", text, re.IGNORECASE)
            if comment and (comment.group(1) not in NOT_COMPARED_COMMENTS or not text.strip().startswith("#")):
                allowed = " or ".join(NOT_COMPARED_COMMENTS)
                yield cell, line, f"{comment.group(1)!r} does nothing; write {allowed} on a line of its own"


def _enough_compared(notebook):
    """nbval passes a cell that has nothing stored, so a lesson must have something to compare."""
    compared = [cell for cell in _code(notebook) if cell["outputs"]]
    if len(compared) < CELLS_COMPARED:
        yield None, 0, f"nbval compares {len(compared)} cells; store the outputs of {CELLS_COMPARED} or more"


def _size(notebook):
    size = len(dumps(notebook).encode("utf-8"))
    if size > NOTEBOOK_BYTES:
        yield None, 0, f"{size:,} bytes, more than {NOTEBOOK_BYTES:,}; make its pictures smaller or fewer"


def cell_problems(cell):
    """Yield (0, message) for each thing among a cell's outputs that must not be stored."""
    for output in cell["outputs"]:
        if output["output_type"] == "error":
            yield 0, f"the cell ends in {output['ename']}: {output['evalue']}; mend it, or catch it and print one line"
        if output.get("name") == "stderr":
            yield 0, f"something was written to stderr ({output['text'].strip()[:80]!r}); remove its cause"
    pictures = list(_pictures(cell))
    words = " ".join(_words(cell))
    for name, pattern in FLEETING.items():
        seen = re.search(pattern, words)
        if seen:
            yield 0, f"the output holds {name} ({seen.group()!r}), different on every run; do not print it"
    for picture in pictures:
        size = len(base64.b64decode(picture))
        if size > PICTURE_BYTES:
            yield 0, f"a picture of {size:,} bytes, more than {PICTURE_BYTES:,}; draw less or save fewer dots an inch"
    if role(cell) == "widget" and not pictures:
        yield 0, "the widget stored no picture; give it a static twin, which paper and GitHub show instead"
    verdict = textwrap.indent("\n".join(_plain(cell)).strip(), "    ")
    if role(cell) == "check" and f"    {exercise_of(cell)} - passed" not in verdict.split("\n"):
        says = f" The check says:\n{verdict}" if verdict else ""
        yield 0, f"the solved answer does not pass its check; mend the answer or the exercise.{says}"
    if pictures and len(re.findall(r"[^\W\d_]{2,}", words)) < WORDS_BESIDE_A_PICTURE:
        yield 0, "a picture without words; print one sentence with a number computed from what is plotted"


def _pictures(cell):
    """Yield every stored picture of a cell, in base64."""
    for output in cell["outputs"]:
        data = output.get("data", {})
        yield from [data["image/png"]] if "image/png" in data else []
        yield from DATA_URI.findall(data.get("text/html", ""))


def _plain(cell):
    """Yield the outputs of a cell as text."""
    for output in cell["outputs"]:
        yield output.get("text", "") or output.get("data", {}).get("text/plain", "")


def _words(cell):
    """Yield what a reader reads of a cell's outputs: no pictures, no tags, no name a figure prints for itself."""
    for output in cell["outputs"]:
        yield output.get("text", "")
        for mime, text in output.get("data", {}).items():
            if mime == "text/html":
                yield re.sub(r"<style.*?</style>|<[^>]*>", " ", DATA_URI.sub(" ", text), flags=re.DOTALL)
            elif mime.startswith("text/"):
                yield re.sub(r"<Figure size [^>]*>", " ", text)


def not_run(notebook):
    """Yield a note when a lesson was not run from top to bottom as it stands."""
    for cell, _, message in _counts(notebook):
        yield f"cell {cell['id']} has not been run as it stands: {message}"


def long_texts(notebook):
    """Yield a note for every text cell twice as long as the thirty words lessons aim at; tables do not count."""
    for number, cell in enumerate(notebook["cells"], 1):
        words = sum(len(line.split()) for line in cell["source"].split("\n") if not line.startswith("|"))
        if role(cell) in ("text", "law") and words > WORDS_IN_A_TEXT:
            yield f"cell {number} ({cell['id']}) has {words} words; lessons aim at about thirty a cell"
