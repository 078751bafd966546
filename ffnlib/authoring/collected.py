"""What the last lesson shows of all the others: their claims, laws and words, collected from cells into one file.

The file is `ffnlib/collected.json`, which `ffnlib.course` reads; `build` writes it and `build --check` compares it.
"""

import json
import re

from ffnlib.authoring import claims
from ffnlib.authoring.lint import located
from ffnlib.authoring.notebook import lesson_files, meaning, read, role, title

PLACE = ("ffnlib", "collected.json")
SHOWN_IN = "14_self_test"
BESIDE_THE_PREDICTION = re.compile(r"\s*(?:You expected \w+|You made no prediction)\.\s*$")
SYMBOLS = {
    r"\max": "max", r"\cdot": "·", r"\odot": "⊙", r"\Phi": "Φ", r"\sigma": "σ", r"\sqrt": "√", r"\,": " ", r"\big": "",
    r"\text": "", r"\mathrm": "", r"\sum": "Σ", "{": "", "}": "", "$": "",
}  # fmt: skip


def write(root):
    """Collect again and write the file; return whether it has changed. A folder without the package has none."""
    file = root.joinpath(*PLACE)
    if not file.parent.is_dir():
        return False
    text = dumps(collect(root)).encode("utf-8")
    if file.exists() and file.read_bytes() == text:
        return False
    file.write_bytes(text)
    return True


def difference(root):
    """Return the Problem that the file is not what `write` would write, if so."""
    file = root.joinpath(*PLACE)
    wanted = dumps(collect(root)).encode("utf-8") if file.parent.is_dir() else None
    if wanted is None or (file.exists() and file.read_bytes() == wanted):
        return []
    return [located("/".join(PLACE), [], None, 0, "not up to date with solutions/; run `python3 -m ffnlib build`")]


def dumps(collected):
    """Return the file's text: one entry a line, so that two people who change two lessons meet no conflict."""
    parts = []
    for name, rows in collected.items():
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        parts.append(f'"{name}": [\n{lines}\n]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def collect(root):
    """Return {"claims": rows, "lessons": rows, "terms": rows} of the solved lessons."""
    notebooks = {file.stem: read(file) for file in lesson_files(root)}
    terms = [row for name, notebook in notebooks.items() for row in terms_of(name, notebook)]
    return {
        "claims": list(filter(None, (decided(claim, notebooks) for claim in claims.load()))),
        "lessons": [lesson_row(name, notebook, terms) for name, notebook in notebooks.items()],
        "terms": terms,
    }


# ---------------------------------------------------------------- claims


def decided(claim, notebooks):
    """Return a claim with its deciding cell and what that cell said, or None until a cell has decided it."""
    cell = claims.decided_by(claim, notebooks)
    measured = sentence(cell, claim.verdict) if cell else None
    return None if measured is None else {**vars(claim), "cell": cell["id"], "measured": measured}


def sentence(cell, verdict):
    """Return what a deciding cell said beside its verdict, without the reader's prediction; None when it did not."""
    for output in cell.get("outputs", []):
        word, _, rest = output.get("data", {}).get("text/plain", "").partition("\n")
        if word == verdict.upper():
            return BESIDE_THE_PREDICTION.sub("", rest)
    return None


# ---------------------------------------------------------------- words


def terms_of(lesson, notebook):
    """Return a row for every word a lesson defines, with the paragraph in which it stands in bold."""
    return [
        {"term": term, "meaning": defining_paragraph(cell["source"], term), "lesson": lesson, "cell": cell["id"]}
        for cell in notebook["cells"]
        for term in meaning(cell).get("term", [])
    ]


def defining_paragraph(source, term):
    r"""Return the paragraph of a cell that holds the word in bold, in plain text, and the formula it announces.

    >>> defining_paragraph("A title\n\nA **unit** is $x_{ff}$ ([Doe 2016](https://x.org)):\n\n$$\\max x$$", "unit")
    'A **unit** is x_ff (Doe 2016): max x'
    """
    paragraphs = source.split("\n\n")
    number = next(number for number, part in enumerate(paragraphs) if f"**{term}**".lower() in part.lower())
    announced = paragraphs[number + 1 : number + 2] if paragraphs[number].rstrip().endswith(":") else []
    return without_marks(" ".join([paragraphs[number], *announced]))


def without_marks(text):
    """Return Markdown without headings, links and formulas; code and bold stay."""
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)
    text = re.sub(r"\$+([^$]+)\$+", lambda formula: _plain_formula(formula.group(1)), text)
    return " ".join(line for line in text.split("\n") if not line.startswith("#"))


def _plain_formula(formula):
    formula = re.sub(r"\\frac\{(.+?)\}\{(.+?)\}", r"\1/\2", formula)
    for symbol, plain in SYMBOLS.items():
        formula = formula.replace(symbol, plain)
    return re.sub(r"\s+", " ", formula).strip()


# ---------------------------------------------------------------- lessons


def lesson_row(name, notebook, terms):
    """Return what a lesson asks, its law, and which words of earlier lessons it uses."""
    source = {kind: _first(notebook, kind) for kind in ("header", "law")}
    question = re.search(r"\*\*The question:\*\* (.+)", source["header"])
    minutes = re.search(r"(\d+) minutes", source["header"])
    law = re.search(r"\*\*(.+?)\*\*", source["law"], re.DOTALL)
    doubt = re.search(r"change our mind: *(.+)", source["law"], re.DOTALL)
    return {
        "name": name,
        "title": title(notebook),
        "question": question.group(1).strip() if question else "",
        "minutes": int(minutes.group(1)) if minutes else 0,
        "law": without_marks(law.group(1)) if law else "",
        "doubt": without_marks(doubt.group(1)).strip() if doubt else "",
        "uses": words_used(name, notebook, terms),
    }


def _first(notebook, kind):
    return next((cell["source"] for cell in notebook["cells"] if role(cell) == kind), "")


def words_used(name, notebook, terms):
    """Return {earlier lesson: its words that stand in the text of this one}; words of two letters do not count."""
    text = "\n".join(
        cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "markdown" and role(cell) != "links"
    )
    used = {}
    for row in terms:
        if row["lesson"] < name and len(row["term"]) > 2 and occurs(row["term"], text):
            used.setdefault(row["lesson"], []).append(row["term"])
    return used


def occurs(term, text):
    """Return whether a word stands in a text, in the singular or the plural.

    >>> occurs("hidden units", "one hidden unit"), occurs("norm", "a normal distribution"), occurs("fires", "it fired")
    (True, False, True)
    """
    stem = re.escape(re.sub(r"s$", "", term))
    return re.search(rf"\b{stem}(?:s|es|d|ed)?\b", text, re.IGNORECASE) is not None
