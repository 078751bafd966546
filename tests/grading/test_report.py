"""What an instructor receives: the same shape for every class, and nothing a submission wrote that can act."""

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ffnlib.grading import pages, report
from tests.grading import build_submissions as golden

EVIL = "<script>alert('x')</script>\"&"
HEADER = (
    "assignment,duedate,timestamp,student_id,last_name,first_name,email,"
    "raw_score,late_submission_penalty,score,max_score"
)


def row(student="ann", lesson="01_formula", status="graded", points=1.0, **more):
    result = {
        "id": "relu",
        "status": "passed" if points else "not-yet",
        "points": points,
        "max_points": 1.0,
        "misconception": None if points else "absolute value",
        "calls_wrong": [],
        "message": "" if points else f"because: {EVIL}\nnext: think",
    }
    base = {"student": student, "lesson": lesson, "file": f"{student}/x.ipynb", "status": status, "notes": [EVIL]}
    score = points if status == "graded" else None
    return base | {"score": score, "max_score": 1.0, "exercises": [result]} | more


@pytest.fixture
def written(tmp_path):
    rows = [
        row("ann"),
        row("=cmd|'/c calc'!A1", points=0.0),
        row("ben", "05_activations", points=0.0),
        row("../../evil", status="needs-human"),
        row("cho", None, "needs-human", exercises=[], max_score=0.0),
    ]
    report.write_everything(tmp_path, rows, {"ann/x.ipynb": 1714564800.0}, "rlimits, seccomp")
    return tmp_path


def table(path):
    return list(csv.reader(io.StringIO(path.read_text("utf-8"))))


def test_grades_have_nbgraders_header_and_a_row_for_every_student_and_lesson(written):
    assert (written / "grades.csv").read_text("utf-8").splitlines()[0] == HEADER
    rows = {(line[0], line[3]): line for line in table(written / "grades.csv")[1:]}
    assert len(rows) == 10
    assert rows["01_formula", "ann"][2] == "2024-05-01 12:00:00" and rows["01_formula", "ann"][9] == "1.0"
    assert rows["05_activations", "ann"][9:] == ["0.0", "1.0"]


def test_a_score_that_is_not_known_is_empty_and_one_that_is_zero_is_zero(written):
    scores = {(line[0], line[3]): (line[7], line[9]) for line in table(written / "grades.csv")[1:]}
    assert scores["01_formula", "../../evil"] == ("", "")  # a human has to look at it
    assert scores["01_formula", "cho"] == scores["05_activations", "cho"] == ("", "")  # of either lesson, or of neither
    assert scores["05_activations", "ben"] == ("0.0", "0.0")  # all wrong
    assert scores["05_activations", "ann"] == ("0.0", "0.0")  # nothing handed in


@pytest.mark.parametrize(("only", "assignment"), [("01_formula", "01_formula"), (None, "")])
def test_a_class_without_one_readable_notebook_has_its_rows(only, assignment, tmp_path):
    report.write_everything(tmp_path, [row("cho", None, "needs-human", exercises=[])], {}, "seccomp", only)
    (line,) = table(tmp_path / "grades.csv")[1:]
    assert (line[0], line[3], line[9]) == (assignment, "cho", "")


def test_the_totals_say_what_is_open(written):
    words = "5 submissions: 3 graded, 2 for you to look at (the score is empty in grades.csv)"
    assert words in (written / "class.html").read_text("utf-8")
    assert pages.totals([row()]) == "1 submission: 1 graded"


def test_feedback_says_that_it_is_not_final(written):
    folder = report.slug("../../evil")
    text = (written / "feedback" / folder / "01_formula.html").read_text("utf-8")
    assert "1 of 1 points so far" in text and "This is not final" in text
    assert "final" not in (written / "feedback" / "ann" / "01_formula.html").read_text("utf-8")


def test_feedback_of_an_earlier_run_does_not_stay(written):
    (written / "feedback" / "ann" / "mine.html").write_text("kept")
    report.write_everything(written, [row("ben")], {}, "seccomp")
    left = sorted(str(path.relative_to(written / "feedback")) for path in (written / "feedback").rglob("*.html"))
    assert left == ["ann/mine.html", "ben/01_formula.html"]


def test_no_cell_of_a_table_is_a_formula(written):
    for name in ("grades.csv", "exercises.csv"):
        assert not [cell for line in table(written / name) for cell in line if cell.startswith(("=", "+", "-", "@"))]


@pytest.mark.parametrize("value", ["=1+1", "+1", "-1", "@sum", "\t=1", " =1", "\n=1", "\uff1d1", "\u3000\uff20a"])
def test_what_a_spreadsheet_takes_for_a_formula_is_disarmed(value):
    assert report.harmless(value)[0] == "'"
    assert report.harmless(f"x; {value};")[:3] == "x;'"  # where a semicolon parts the cells


def test_what_is_no_formula_stays_as_it_is():
    for value in ("ann", "a-b; c+d", "x = 1", "", 1.5, None):
        assert report.harmless(value) == value


@pytest.mark.parametrize("time", [-(2**40), 2**40, 1e300, float("-inf"), float("nan")])
def test_a_time_that_no_calendar_has_is_not_known(time, tmp_path):
    report.write_everything(tmp_path, [row("ann")], {"ann/x.ipynb": time}, "seccomp")
    assert table(tmp_path / "grades.csv")[1][2] == ""


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*report\.json'"):
        report.write(tmp_path / "report.json", "text")


def test_exercises_have_a_row_each(written):
    assert len(table(written / "exercises.csv")) == 1 + 4


def test_report_json_keeps_every_row_sorted(written):
    data = json.loads((written / "report.json").read_text("utf-8"))
    assert list(data) == ["course", "sandbox", "submissions"]
    assert [each["student"] for each in data["submissions"]] == sorted(each["student"] for each in data["submissions"])
    keys = {"student", "lesson", "file", "status", "score", "max_score", "notes", "exercises"}
    assert all(set(each) == keys for each in data["submissions"])


def test_nothing_is_written_outside_the_folder(written):
    assert not list(written.parent.glob("evil*"))
    assert len(list((written / "feedback").iterdir())) == 4


def test_different_names_never_share_a_folder():
    names = ["ann", "Ann", "ANN", "ann ", "ann/", "..", ".", "", "con", "é", "e", "a" * 300, "a" * 301, "nul", "com1"]
    slugs = [report.slug(name).lower() for name in names]
    assert len(set(slugs)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]*(-[0-9a-f]{8})?", slug) and len(slug) < 64 for slug in slugs)


def test_a_letter_with_a_mark_keeps_its_letter_in_the_name_of_a_folder():
    assert report.slug("Jörg Müller").startswith("jorg-muller-")
    assert report.slug("Zoë").startswith("zoe-")


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found, self.attributes = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)
        self.attributes += attrs


def every_page(folder):
    return [path.read_text("utf-8") for path in folder.rglob("*.html")]


def test_pages_hold_no_script_no_link_and_a_strict_policy(written):
    found = every_page(written)
    assert len(found) == 5
    for text in found:
        tags = Tags(text)
        assert not {"script", "img", "iframe", "object", "form", "a", "link"} & set(tags.found)
        assert not [name for name, _ in tags.attributes if name.startswith("on") or name in ("src", "href")]
        assert ("content", pages.POLICY) in tags.attributes


def test_pages_can_be_read_without_seeing_them(written):
    for text in every_page(written):
        tags = Tags(text)
        assert ("lang", "en") in tags.attributes and {"title", "main", "h1"} <= set(tags.found)
        assert tags.found.count("h1") == 1
        assert tags.found.count("table") == tags.found.count("caption")
        assert all(value in ("row", "col") for name, value in tags.attributes if name == "scope")


def test_a_lesson_that_some_did_not_hand_in_is_named_with_its_zeros():
    apart = [row("ann"), row("ben"), row("ben", "05_activations")]
    words = "Of 2 students handed in: 01_formula 2, 05_activations 1. The others have 0 there"
    assert words in pages.not_handed_in(apart) and words in pages.class_page(apart, "seccomp")
    for nobody_is_missing in ([row("ann"), row("ben")], [*apart, row("ann", "05_activations")]):
        assert pages.not_handed_in(nobody_is_missing) == ""


def test_the_class_page_says_where_the_names_are():
    text = pages.class_page([row("ann")], "seccomp")
    assert all(name in text for name in ("grades.csv", "exercises.csv", "feedback"))


def test_the_class_page_counts_wrong_answers_that_match_no_misconception():
    unknown = row("bo")
    unknown["exercises"] = [{**each, "status": "not-yet", "misconception": None} for each in unknown["exercises"]]
    text = pages.class_page([unknown, row("ann")], "seccomp")
    assert re.search(r'<th scope="row">not recognised</th><td class="number">1</td>', text)
    assert "not recognised" not in pages.class_page([row("ann")], "seccomp")


def test_the_class_page_counts_misconceptions_with_their_sentences():
    wrong = [row(f"s{n}", points=0.0) for n in range(3)]
    text = pages.class_page([*wrong, row("ann")], "seccomp")
    found = re.search(r'<th scope="row">absolute value</th><td class="number">3</td><td>(.*?)</td>', text)
    assert found and found[1].startswith("&lt;script&gt;")
    assert re.search(r'<th scope="row">relu</th><td class="number">1</td><td class="number">3</td>', text)


def test_an_inherited_error_is_counted_at_its_root_only():
    wrong = row("bo", points=0.0)
    inherited = {**wrong["exercises"][0], "id": "feed_forward", "calls_wrong": ["relu"]}
    wrong["exercises"].append(inherited)
    own = row("cho", points=0.0)
    own["exercises"][0]["id"] = "feed_forward"
    text = pages.class_page([wrong, own], "seccomp")
    of_relu, of_forward = re.findall(r"<table><caption>\w+: misconceptions.*?</table>", text)
    number = '</th><td class="number">1</td><td>'
    assert of_relu.count("absolute value" + number) == of_forward.count("absolute value" + number) == 1
    assert f"inherited{number}the answer calls relu, which is not right: counted there" in of_forward
    assert "inherited" not in of_relu


def test_a_report_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    report.write(tmp_path / "x.json", "old")
    monkeypatch.setattr(report.os, "replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        report.write(tmp_path / "x.json", "new")
    assert (tmp_path / "x.json").read_text("utf-8") == "old"


def test_names_reach_the_report_as_they_are(hand_in, grade):
    hand_in("Zoë O'Neil <b>/01_formula.ipynb")
    folder = hand_in("=1+1/01_formula.ipynb", golden.KINDS["wrong"][1])
    assert [each["student"] for each in grade(folder)] == ["=1+1", "Zoë O'Neil <b>"]
