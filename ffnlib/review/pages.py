"""Pages that a notebook shows, and that read as well on paper, on a web page, and without a script."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from ffnlib import learner
from ffnlib.course import Course, Decided, Term, load
from ffnlib.figures import PALETTE, WHITE
from ffnlib.scrolling import framed

ON_WHITE = f"background: {WHITE}; color: {PALETTE['ink']};"
LINK = f"color: {PALETTE['key']};"  # a dark theme's own is too light for a white card
MARK = f"background: #F0F0F0; color: {PALETTE['ink']};"
IN_TURN = "float: none; width: auto;"  # JupyterLab would squeeze a word into a fifth of the width beside its meaning
CELL = f"{ON_WHITE} text-align: left; vertical-align: top; padding: 4px 12px 4px 0px; white-space: normal;"


@dataclass(frozen=True, repr=False)
class Page:
    """Something to look through: `words` say in one sentence what is there, `body` is the page itself."""

    words: str
    body: str
    kind: str
    script: str = ""

    def __repr__(self) -> str:
        return self.words

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": self.words, "text/html": self.html}

    @property
    def html(self) -> str:
        """The page on its opaque card; its keys are its own, not JupyterLab's."""
        return (
            f'<div class="ffn-card ffn-{self.kind}" data-lm-suppress-shortcuts="true" style="{ON_WHITE} '
            "max-width: 60em; padding: 8px 12px; border-radius: 4px; font-family: sans-serif; line-height: 1.45; "
            'overflow-wrap: anywhere;">\n'
            f"{self.body}\n"
            f'<p style="{ON_WHITE} margin: 8px 0px 0px 0px;">In words: {escape(self.words)}</p>\n'
            f"{self.script}</div>"
        )


def opened(summary: str, body: str, attributes: str = "") -> str:
    """Something that opens and closes by mouse, by Enter and by space, without a script."""
    return (
        f'<details{attributes} style="{ON_WHITE} margin: 4px 0px;">'
        f'<summary style="{ON_WHITE} cursor: pointer;">{summary}</summary>\n{body}\n</details>'
    )


def rich(text: str) -> str:
    """Return a sentence of a lesson as HTML: `code`, **bold**, and nothing else, is marked."""
    text = escape(text, quote=False)
    text = re.sub(r"`([^`]+)`", rf'<code style="{MARK}">\1</code>', text)
    return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)


def link(lesson: str, text: str) -> str:
    """Return a link to a lesson that lies beside this one."""
    return f'<a href="{escape(lesson)}.ipynb" style="{LINK}">{escape(text)}</a>'


def capital(text: str) -> str:
    """Return a sentence that begins with a capital letter, unless a name like `d_ff` does, and ends in a full stop."""
    first = text[:1] if "_" in text.split(" ")[0] else text[:1].upper()
    return first + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


# ---------------------------------------------------------------- claims

SEARCH = (
    f'<p class="ffn-search" hidden style="{ON_WHITE}"><label>Search the claims: <input type="search" '
    f'style="{ON_WHITE} max-width: 100%; box-sizing: border-box;" placeholder="sparse, S0-14, depends ..."></label> '
    '<output aria-live="polite"></output></p>'
)
SCRIPT = """<script>
for (const page of document.querySelectorAll(".ffn-claims:not([data-ready])")) {
  page.dataset.ready = "yes";
  const [box, field, count] = [".ffn-search", "input", "output"].map((name) => page.querySelector(name));
  const rows = [...page.querySelectorAll("tbody tr")];
  box.hidden = false;
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    for (const group of page.querySelectorAll("details")) {
      group.hidden = !group.querySelector("tbody tr:not([hidden])");
      group.open = words.length > 0 && !group.hidden;
    }
    count.textContent = words.length ? `${rows.filter((row) => !row.hidden).length} of ${rows.length} claims` : "";
  });
}
</script>
"""


def claims_page(course: Course | None = None, predicted: dict[str, str] | None = None) -> Page:
    """Return every claim with its verdict, the cell that decided it, and what the reader had expected.

    `predicted` are the reader's own predictions unless others are given.
    """
    course = load() if course is None else course
    predicted = learner.predictions() if predicted is None else predicted
    groups = [_claims_of(lesson, course, predicted) for lesson in course.lessons]
    body = "\n".join([SEARCH, *filter(None, groups)])
    return Page(_claims_in_words(course, predicted), body, "claims", SCRIPT)


def _claims_in_words(course: Course, predicted: dict[str, str]) -> str:
    count = {word: sum(claim.verdict == word for claim in course.claims) for word in ("true", "false", "depends")}
    known = [claim for claim in course.claims if claim.id in predicted]
    right = sum(predicted[claim.id] == claim.verdict.upper() for claim in known)
    yours = f"You predicted {len(known)}, and {right} came out as you expected." if known else "You predicted none yet."
    return (
        f"of {len(course.claims)} claims {count['true']} are TRUE, {count['false']} FALSE, and {count['depends']} "
        f"DEPENDS. {yours}"
    )


def _claims_of(lesson, course: Course, predicted: dict[str, str]) -> str:
    claims = [claim for claim in course.claims if claim.lesson == lesson.name]
    if not claims:
        return ""
    columns = ("claim", "verdict", "you expected", "why, and what the cell measured")
    head = "".join(f'<th scope="col" style="{CELL}">{name}</th>' for name in columns)
    rows = "\n".join(_claim_row(claim, predicted.get(claim.id, "")) for claim in claims)
    table = (
        f'<table style="{ON_WHITE} border-collapse: collapse;"><thead><tr style="{ON_WHITE}">{head}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table>"
    )
    number = f"{len(claims)} claim{'s' if len(claims) > 1 else ''}"
    place = f'<p style="{ON_WHITE}">{link(lesson.name, "Open the lesson")}</p>'
    shown = place + framed(table, f"claims of lesson {lesson.number}")
    return opened(f"<strong>{lesson.number} {escape(lesson.title)}</strong>: {number}", shown)


def _claim_row(claim: Decided, expected: str) -> str:
    what = f"<strong>{claim.id}</strong> {rich(capital(claim.claim))} <em>{escape(claim.document)}</em>"
    why = f"{rich(capital(claim.because))} Cell {rich(f'`{claim.cell}`')}: {rich(claim.measured)}"
    cells = (what, f"<strong>{claim.verdict.upper()}</strong>", expected or "no prediction", why)
    return f'<tr style="{ON_WHITE}">' + "".join(f'<td style="{CELL}">{each}</td>' for each in cells) + "</tr>"


# ---------------------------------------------------------------- glossary


def glossary(course: Course | None = None) -> Page:
    """Return every word that the course defines, in alphabetical order, with its paragraph and its lesson."""
    course = load() if course is None else course
    together: dict[tuple[str, str], list[Term]] = {}
    for term in sorted(course.terms, key=lambda term: term.term.casefold()):
        together.setdefault((term.lesson, term.cell), []).append(term)
    rows = "\n".join(_entry(terms) for terms in together.values())
    words = f"the course defines {len(course.terms)} words; those that one cell defines stand together."
    return Page(words, f'<dl style="{ON_WHITE} margin: 0px;">\n{rows}\n</dl>', "glossary")


def _entry(terms: list[Term]) -> str:
    lesson = terms[0].lesson
    names = ", ".join(f"<strong>{escape(term.term)}</strong>" for term in terms)
    return (
        f'<dt style="{ON_WHITE} {IN_TURN} margin-top: 6px;">'
        f"{names} ({link(lesson, 'lesson ' + lesson[:2])})</dt>"
        f'<dd style="{ON_WHITE} {IN_TURN} margin: 0px 0px 0px 1.5em;">{rich(terms[0].meaning)}</dd>'
    )
