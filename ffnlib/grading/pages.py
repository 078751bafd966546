"""The pages of a report: one for every graded notebook, and one for the class; nothing in them can run.

Every page is complete in itself. Whatever came from a submission is escaped, and a content security policy forbids
scripts, pictures and connections even if it were not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from html import escape

from ffnlib.examination.verdict import BROKEN, NOT_YET, as_html
from ffnlib.grading.interview import GRADED, NEEDS_HUMAN, OTHER_LESSON
from ffnlib.scrolling import framed

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
STYLE = """
body { font: 1rem/1.5 system-ui, sans-serif; color: #1B1B1B; background: #FFFFFF; max-width: 60rem;
       margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; margin-bottom: 1.2rem; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.7rem; border-bottom: 1px solid #C8C8C8; }
td { overflow-wrap: anywhere; min-width: 10rem; }
td.number { min-width: 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: bold; padding: 0.5rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 0.8rem; margin: 0.3rem 0 1.2rem; }
dd { margin: 0; }
dt { color: #5A5A5A; }
@media (prefers-color-scheme: dark) {
  :root { color-scheme: dark; }
  body { color: #E4E4E4; background: #1B1B1B; }
  th, td { border-color: #5A5A5A; }
  dt { color: #B4B4B4; }
}
"""
WORDS = {
    "passed": "passed",
    "not-yet": "not yet right",
    "untouched": "not begun",
    "broken": "could not be judged",
    "stopped": "stopped",
}


def page(title: str, body: str) -> str:
    """Return a complete page; `title` is text, `body` is HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(title)}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )


def points(number: float | None) -> str:
    """Return points without needless digits."""
    return "?" if number is None else f"{number:g}"


def feedback(row: dict) -> str:
    """Return the page that a learner receives for one notebook."""
    sure = row["status"] == GRADED
    reached = sum(result["points"] or 0 for result in row["exercises"])
    words = f"{points(reached)} of {points(row['max_score'])} points{'' if sure else ' so far'}"
    parts = [f"<p>{escape(row['student'])}: {words}.</p>"]
    if not sure:
        parts.append("<p><strong>This is not final: a person still looks at this notebook.</strong></p>")
    for result in row["exercises"]:
        parts.append(
            f"<h2>{escape(result['id'])}: {escape(WORDS[result['status']])}, "
            f"{points(result['points'])} of {points(result['max_points'])}</h2>"
        )
        parts.append(message(result["message"]))
    if row["notes"]:
        parts.append("<h2>About the notebook</h2>\n<ul>")
        parts += [f"<li>{escape(note)}</li>" for note in row["notes"]]
        parts.append("</ul>")
    return page(f"Feedback on {row['lesson']}", "\n".join(parts))


def message(text: str) -> str:
    """Return the lines of a message as a list of terms; a line without a term goes on the one before."""
    items = []
    for line in text.split("\n") if text else []:
        label, separator, rest = line.partition(": ")
        label, rest = (label, rest) if separator and label.isalpha() else ("", line)
        items.append(f"<dt>{escape(label)}</dt><dd>{as_html(rest)}</dd>")
    return f"<dl>{''.join(items)}</dl>" if items else ""


# ---------------------------------------------------------------- the class

WHERE_NAMES_ARE = (
    "Names and points are in grades.csv and exercises.csv; the folder feedback holds a page for every student."
)


def totals(rows: list[dict]) -> str:
    """Return in words how many submissions there are, and what is open."""
    count = Counter(row["status"] for row in rows)
    words = f"{len(rows)} submission{'s' * (len(rows) != 1)}: {count[GRADED]} graded"
    if count[NEEDS_HUMAN]:
        words += f", {count[NEEDS_HUMAN]} for you to look at (the score is empty in grades.csv)"
    return words + (f", {count[OTHER_LESSON]} of another lesson" if count[OTHER_LESSON] else "")


def not_handed_in(rows: list[dict]) -> str:
    """Return in words by how many students each lesson was handed in, "" where every one has come from everybody."""
    students = {row["student"] for row in rows}
    by_lesson = defaultdict(set)
    for row in rows:
        if row["lesson"]:
            by_lesson[row["lesson"]].add(row["student"])
    if len(by_lesson) < 2 or all(handed_in == students for handed_in in by_lesson.values()):
        return ""
    counts = ", ".join(f"{lesson} {len(by_lesson[lesson])}" for lesson in sorted(by_lesson))
    return (
        f"Of {len(students)} students handed in: {counts}. The others have 0 there (--lesson grades one lesson only)."
    )


def class_page(rows: list[dict], sandbox: str) -> str:
    """Return the page that shows an instructor what a class understood and what needs a human."""
    parts = [f"<p>{totals(rows)}.</p>", f"<p>{WHERE_NAMES_ARE}</p>"]
    parts += [f"<p>{words}</p>" for words in [not_handed_in(rows)] if words]
    parts += [f"<p>Sandbox around the students' code: {escape(sandbox)}.</p>", humans(rows)]
    for lesson in sorted({row["lesson"] for row in rows if row["lesson"]}):
        parts.append(lesson_part(lesson, [row for row in rows if row["lesson"] == lesson and row["exercises"]]))
    return page("The class", "\n".join(part for part in parts if part))


def humans(rows: list[dict]) -> str:
    """Return the table of submissions that need a human, with the reasons."""
    open_rows = [row for row in rows if row["status"] == NEEDS_HUMAN]
    if not open_rows:
        return ""
    lines = [
        f'<tr><th scope="row">{escape(row["student"])}</th><td>{escape(row["file"])}</td>'
        f"<td>{escape('; '.join(row['notes']))}</td></tr>"
        for row in open_rows
    ]
    return table("For you to look at", ("student", "file", "why"), lines)


def table(caption: str, header: tuple[str, ...], lines: list[str]) -> str:
    """Return a table from finished rows."""
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in header)
    head = f"<caption>{escape(caption)}</caption><thead><tr>{heads}</tr></thead>"
    return framed(f"<table>{head}<tbody>{''.join(lines)}</tbody></table>", caption)


def lesson_part(lesson: str, rows: list[dict]) -> str:
    """Return one lesson: how each exercise went, and which misconceptions how many hold."""
    by_exercise = defaultdict(list)
    for row in rows:
        for result in row["exercises"]:
            by_exercise[result["id"]].append(result)
    parts = [f"<h2>{escape(lesson)}</h2>", outcome_table(by_exercise)]
    if any(result["status"] == BROKEN for results in by_exercise.values() for result in results):
        parts.append("<p>What could not be judged is a fault of the course: give those points by hand.</p>")
    for exercise, results in by_exercise.items():
        parts.append(misconception_table(exercise, results))
    return "\n".join(part for part in parts if part)


def outcome_table(by_exercise: dict[str, list[dict]]) -> str:
    """Return the table with one row an exercise and one column a status."""
    lines = []
    for exercise, results in by_exercise.items():
        counts = Counter(result["status"] for result in results)
        cells = "".join(f'<td class="number">{counts[status]}</td>' for status in WORDS)
        lines.append(f'<tr><th scope="row">{escape(exercise)}</th>{cells}</tr>')
    return table("How many learners", ("exercise", *WORDS.values()), lines)


def misconception_table(exercise: str, results: list[dict]) -> str:
    """Return the misconceptions of one exercise, the most frequent first, each with the sentence it earned.

    A wrong answer that calls the wrong one to another exercise is counted there, and here in a row of its own. A last
    row counts the wrong answers that match none.
    """
    inherited = Counter(", ".join(result["calls_wrong"]) for result in results if result["calls_wrong"])
    results = [result for result in results if not result["calls_wrong"]]
    counts = Counter(result["misconception"] for result in results if result["misconception"])
    sentences = {result["misconception"]: because(result["message"]) for result in results}
    lines = [
        f'<tr><th scope="row">{as_html(name)}</th><td class="number">{count}</td>'
        f"<td>{as_html(sentences[name])}</td></tr>"
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    for called, count in sorted(inherited.items()):
        words = f"the answer calls {called}, which is not right: counted there"
        lines.append(f'<tr><th scope="row">inherited</th><td class="number">{count}</td><td>{words}</td></tr>')
    others = sum(result["status"] == NOT_YET and not result["misconception"] for result in results)
    if others:
        words = "wrong answers that match no misconception we know"
        lines.append(f'<tr><th scope="row">not recognised</th><td class="number">{others}</td><td>{words}</td></tr>')
    return table(f"{exercise}: misconceptions", ("misconception", "learners", "what it is"), lines) if lines else ""


def because(text: str) -> str:
    """Return the sentence of a message that says why."""
    for line in text.split("\n"):
        if line.startswith("because: "):
            return line.removeprefix("because: ")
    return ""
