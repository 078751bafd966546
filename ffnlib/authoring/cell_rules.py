"""What a cell must say about itself and where it may stand. A rule yields (cell or None, line or 0, message)."""

import re
from collections import Counter
from pathlib import PurePath

from ffnlib.authoring.notebook import NOT_COMPARED_TAGS, exercise_of, meaning, role

MARKDOWN_ROLES = ("header", "text", "statement", "law", "links", "solution-only")
CODE_ROLES = ("setup", "predict", "answer", "check", "hint", "reveal", "demo", "widget", "solution-only")
EXERCISE_ROLES = ("statement", "answer", "check", "hint", "reveal")
KEYS = ("role", "exercise", "claim", "term")
TO_BE_WRITTEN = "(to be written)"
NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
MADE_UP_BY_AN_EDITOR = re.compile(r"[0-9a-f]{8}(-[0-9a-f-]+)?")


def file_and_lesson_agree(lesson):
    """The notebook says which lesson it is."""
    name, stem = lesson.notebook.get("metadata", {}).get("ffn", {}).get("lesson"), PurePath(lesson.file).stem
    if name != stem:
        yield None, 0, f"metadata.ffn.lesson is {name!r}; write {stem!r}, the name of the file"


def every_cell_has_a_name(lesson):
    """Ids are words that an author chose, and no two cells share one."""
    count = Counter(cell.get("id") for cell in lesson.cells)
    for cell in lesson.cells:
        name = cell.get("id")
        if not name:
            yield cell, 0, "no id; give the cell a short name for what it does, such as 'relu-by-hand'"
        elif len(name) > 64 or not NAME.fullmatch(name) or MADE_UP_BY_AN_EDITOR.fullmatch(name):
            yield cell, 0, f"id {name!r} is not a name; use lower-case words joined by '-', such as 'relu-by-hand'"
        elif count[name] > 1:
            yield cell, 0, f"{count[name]} cells have the id {name!r}; rename all but one"


def every_cell_has_a_role(lesson):
    """Roles are known and fit the kind of cell; metadata.ffn holds nothing else."""
    for cell in lesson.cells:
        known = MARKDOWN_ROLES if cell["cell_type"] == "markdown" else CODE_ROLES
        if role(cell) is None:
            yield cell, 0, f"no role; set metadata.ffn.role to one of {', '.join(known)}"
        elif role(cell) not in known:
            yield cell, 0, f"role={role(cell)!r} is not one of a {cell['cell_type']} cell: {', '.join(known)}"
        for key in sorted(set(meaning(cell)) - set(KEYS)):
            yield cell, 0, f"metadata.ffn has the key {key!r}; rename or remove it (the keys are {', '.join(KEYS)})"
        for tag in cell["metadata"].get("tags", []):
            if tag not in NOT_COMPARED_TAGS:
                allowed = " and ".join(NOT_COMPARED_TAGS)
                yield cell, 0, f"tag {tag!r} has no use here, {allowed} have; catch an exception that a cell shows"


def exercises_are_named(lesson):
    """Cells of an exercise say which one, and no other cell does."""
    for cell in lesson.cells:
        named = exercise_of(cell)
        if role(cell) in EXERCISE_ROLES and named not in lesson.exercises:
            known = ", ".join(lesson.exercises)
            remedy = "correct metadata.ffn.exercise, or make it with `python3 -m ffnlib new-exercise`"
            yield cell, 0, f"exercise={named!r} is none of this lesson's ({known}); {remedy}"
        if role(cell) not in EXERCISE_ROLES and named is not None:
            yield cell, 0, f"a {role(cell)} cell belongs to no exercise; remove metadata.ffn.exercise={named!r}"


def exercises_are_complete(lesson):
    """Every exercise is stated, answered, checked, hinted at and revealed, in this order."""
    position = {id(cell): index for index, cell in enumerate(lesson.cells)}
    for exercise in lesson.exercises:
        first = {}
        for kind in EXERCISE_ROLES:
            cells = lesson.of(kind, exercise)
            if not cells:
                yield None, 0, f"{exercise} has no {kind} cell; add one with metadata.ffn.exercise={exercise!r}"
                continue
            first[kind] = position[id(cells[0])]
            if kind in ("answer", "check") and len(cells) > 1:
                yield cells[1], 0, f"{exercise} has a second {kind} cell; keep one"
        if list(first.values())[:3] != sorted(list(first.values())[:3]):
            yield None, 0, f"{exercise}: move its cells into the order statement, answer, check"


def claims_and_terms_are_real(lesson):
    """A claim is in the table; a defined word stands in bold in its cell."""
    for cell in lesson.cells:
        for key in ("claim", "term"):
            if not isinstance(meaning(cell).get(key, []), list):
                yield cell, 0, f"metadata.ffn.{key} is {meaning(cell)[key]!r}; write a list"
        for claim in _entries(cell, "claim"):
            if claim not in lesson.claims:
                yield cell, 0, f"claim {claim!r} is not in ffnlib/authoring/claims.csv; correct the id or add the claim"
        for term in _entries(cell, "term"):
            if f"**{term}**".lower() not in cell["source"].lower():
                yield cell, 0, f"the cell defines {term!r} without saying it in bold; write **{term}**"


def _entries(cell, key):
    entries = meaning(cell).get(key, [])
    return entries if isinstance(entries, list) else []


def pictures_in_text_have_words(lesson):
    """A picture in a text cell says in words what it shows."""
    for cell in lesson.cells:
        if cell["cell_type"] == "markdown":
            for line, text in enumerate(cell["source"].split("\n"), 1):
                if re.search(r"!\[\s*\]|<img(?![^>]*\balt=[\"'][^\"'])", text):
                    yield cell, line, "a picture without words; write ![what it shows](...) or <img alt='...'>"


def nothing_is_left_to_write(lesson):
    """What `new-exercise` left open is filled in."""
    for cell in lesson.cells:
        for line, text in enumerate(cell["source"].split("\n"), 1):
            if TO_BE_WRITTEN in text:
                yield cell, line, f"the cell still says {TO_BE_WRITTEN!r}; write it"


def header_first_law_last(lesson):
    """A lesson opens with its question, imports before it computes, and ends with its law."""
    body = [cell for cell in lesson.cells if role(cell) not in ("links", "solution-only")]
    if not body:
        yield None, 0, "the lesson has no cells; begin with a header"
        return
    if role(body[0]) != "header" or not body[0]["source"].startswith("# "):
        yield body[0], 1, "the first cell is the header; give it the role 'header' and a first line '# Title'"
    else:
        for part, what in (("?", "the question"), ("minutes", "how many minutes it takes")):
            if part not in body[0]["source"]:
                yield body[0], 1, f"the header does not say {what} ({part!r}); add it"
    if lesson.code and role(lesson.code[0]) != "setup":
        yield lesson.code[0], 1, "the first code cell is the setup; put the imports there, with the role 'setup'"
    if role(body[-1]) != "law":
        yield body[-1], 1, "the last cell is the law; end with one sentence and what would change our mind"
    elif "change our mind" not in body[-1]["source"]:
        yield body[-1], 1, "the law does not say 'What would change our mind: ...'; add it"
    for kind in ("header", "law", "links"):
        for cell in lesson.of(kind)[1:]:
            yield cell, 0, f"a second {kind} cell; a lesson has one"


RULES = (
    file_and_lesson_agree,
    every_cell_has_a_name,
    every_cell_has_a_role,
    exercises_are_named,
    exercises_are_complete,
    claims_and_terms_are_real,
    pictures_in_text_have_words,
    nothing_is_left_to_write,
    header_first_law_last,
)
