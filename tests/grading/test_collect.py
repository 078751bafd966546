"""Folders and archives in every shape in which they are handed in."""

import io
import os
import stat
import zipfile

import pytest

from ffnlib.grading import collect as collecting
from ffnlib.grading.collect import collect, student_from_name
from ffnlib.grading.submission import read_submission
from tests.grading import build_submissions as golden

RIGHT = golden.notebook(golden.cells())


def archive(members):
    """Return the bytes of a zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in members.items():
            opened.writestr(name, data)
    return stream.getvalue()


def students(folder):
    return {(each.student, each.problem) for each in collect(folder)}


def test_a_folder_a_student(hand_in):
    hand_in("ann/01_formula.ipynb")
    folder = hand_in("ben/05_activations.ipynb")
    assert students(folder) == {("ann", ""), ("ben", "")}


def test_the_tree_of_nbgrader_with_its_timestamps(hand_in):
    hand_in("ann/week1/01_formula.ipynb")
    folder = hand_in("ann/week1/timestamp.txt", b"2024-05-01 12:00:00.000000 UTC")
    (found,) = collect(folder)
    assert found.student == "ann" and found.time == 1714564800.0


def test_a_flat_folder_is_sorted_out_by_file_names(hand_in):
    for name in ("ann.ipynb", "01_formula_ben.ipynb", "cho-01_formula (1).ipynb", "dee_01_formula-Copy1.ipynb"):
        folder = hand_in(name)
    assert {student for student, _ in students(folder)} == {"ann", "ben", "cho", "dee"}


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("Ann Example_123456_assignsubmission_file_01_formula.ipynb", "Ann Example_123456"),
        ("exampleann_LATE_4711_99887_01_formula-2.ipynb", "exampleann_4711"),
        ("exampleann_4711_99887_01_formula.ipynb", "exampleann_4711"),
        ("ann.ipynb.json", "ann"),
        ("01_formula.ipynb", "01_formula"),
    ],
)
def test_a_name_says_whose_it_is(name, student):
    assert student_from_name(name) == student


def test_moodles_archive(hand_in):
    members = {
        "Ann Example_1_assignsubmission_file_/01_formula.ipynb": RIGHT,
        "Ben Example_2_assignsubmission_file_/homework/01_formula.ipynb": RIGHT,
        "__MACOSX/Ben Example_2_assignsubmission_file_/._01_formula.ipynb": b"\0",
        "Ben Example_2_assignsubmission_file_/.ipynb_checkpoints/01_formula-checkpoint.ipynb": RIGHT,
    }
    folder = hand_in("course-week1.zip", archive(members))
    assert students(folder) == {("Ann Example_1", ""), ("Ben Example_2", "")}
    assert students(folder / "course-week1.zip") == students(folder)


def test_canvas_archive_with_a_late_one(hand_in):
    folder = hand_in("submissions.zip", archive({"exampleann_LATE_1_2_nb.ipynb": RIGHT, "b_3_4_nb.ipynb": RIGHT}))
    found = {each.student: each.notes for each in collect(folder)}
    assert found == {"exampleann_1": ("Canvas marks it as late",), "b_3": ()}


@pytest.mark.parametrize(("around", "notebooks"), [("", 0), ("", 2), ("Homework 1/", 2)])
def test_a_student_of_an_archive_without_a_notebook_has_a_row(around, notebooks, hand_in):
    made = {f"{around}{name}_1_assignsubmission_file/01_formula.ipynb": RIGHT for name in ("Ann", "Bo")[:notebooks]}
    made[f"{around}Ann_1_assignsubmission_file/notes.txt"] = b"beside a notebook"
    made[f"{around}Cho_1_assignsubmission_onlinetext/onlinetext.html"] = b"<p>sorry</p>"
    made[f"{around}Dee_1_assignsubmission_file/all.zip"] = b"PK"
    made[f"{around}__MACOSX/Eve_1_assignsubmission_file/x"] = b""
    found = dict(students(hand_in("class.zip", archive(made)) / "class.zip"))
    assert found["Cho_1"] == "no notebook was handed in, only onlinetext.html"
    assert found["Dee_1"].startswith("no notebook was handed in, only all.zip; unpack")
    assert set(found) == {"Ann_1", "Cho_1", "Dee_1", *(["Bo_1"] if notebooks else [])}


def test_a_student_of_a_canvas_archive_without_a_notebook_has_a_row(hand_in):
    members = {"annlee_7_8_01_formula.ipynb": RIGHT, "bocole_9_10_notes.txt": b"hello", "read me.txt": b""}
    assert students(hand_in("submissions.zip", archive(members))) == {
        ("annlee_7", ""),
        ("bocole_9", "no notebook was handed in, only bocole_9_10_notes.txt"),
    }


def test_an_archive_of_one_student(hand_in):
    hand_in("ann.zip", archive({"01_formula.ipynb": RIGHT}))
    folder = hand_in("ben/all.zip", archive({"x/01_formula.ipynb": RIGHT}))
    assert students(folder) == {("ann", ""), ("ben", "")}


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"../../evil.ipynb": RIGHT}, "leads outside"),
        ({"/etc/evil.ipynb": RIGHT}, "leads outside"),
        ({"..\\evil.ipynb": RIGHT}, "leads outside"),
        ({"C:/evil.ipynb": RIGHT}, "leads outside"),
        ({f"{n}.ipynb": b"" for n in range(1001)}, "1001 files"),
        ({"notes.txt": b""}, "no notebook is in this archive"),
    ],
    ids=["parent", "absolute", "backslash", "drive", "many", "none"],
)
def test_an_archive_that_is_not_opened(hand_in, members, says):
    (found,) = collect(hand_in("ann.zip", archive(members)))
    assert found.student == "ann" and found.data is None and says in found.problem


def test_an_archive_that_unpacks_to_too_much(hand_in, monkeypatch):
    monkeypatch.setattr(collecting, "LARGEST_ARCHIVE", 50_000)
    (found,) = collect(hand_in("ann.zip", archive({"a.ipynb": bytes(30_000), "b.ipynb": bytes(30_000)})))
    assert "it unpacks to 0 MB and the limit is 0" in found.problem and "unpack it and give the folder" in found.problem


def test_a_link_in_an_archive_is_refused(hand_in):
    link = zipfile.ZipInfo("01_formula.ipynb")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    (found,) = collect(hand_in("ann.zip", archive({link: b"/etc/passwd"})))
    assert "a link" in found.problem


def test_a_member_that_lies_about_its_size_is_cut(hand_in, monkeypatch):
    monkeypatch.setattr(collecting, "LARGEST_FILE", 1000)
    (found,) = collect(hand_in("ann.zip", archive({"01_formula.ipynb": RIGHT})))
    assert found.data is None and "limit" in found.problem


def test_damaged_archives(hand_in):
    whole = archive({"01_formula.ipynb": RIGHT})
    hand_in("ann.zip", b"PK nothing")
    hand_in("ben.zip", whole[: len(whole) // 2])
    folder = hand_in("cho.zip", whole[:60] + bytes(20) + whole[80:])
    assert all(each.data is None and each.problem for each in collect(folder))
    assert len(list(collect(folder))) == 3


def test_what_is_no_notebook_gets_a_row_that_says_so(hand_in):
    hand_in("ann/report.pdf", b"%PDF")
    hand_in("ben.py", b"def relu(x): pass")
    folder = hand_in("cho/x.ipynb", b"")
    (folder / "dee").mkdir()
    problems = {each.student: read_submission(each).problem for each in collect(folder)}
    assert "only report.pdf" in problems["ann"] and "not a notebook" in problems["ben"]
    assert "empty" in problems["cho"] and "nothing was handed in" in problems["dee"]


def test_links_are_not_followed(hand_in, tmp_path):
    (tmp_path / "secret.ipynb").write_bytes(RIGHT)
    folder = hand_in("ann/x.ipynb")
    os.symlink(tmp_path / "secret.ipynb", folder / "ben.ipynb")
    os.symlink(tmp_path / "secret.ipynb", folder / "ann" / "y.ipynb")
    assert sum("a link" in each.problem for each in collect(folder)) == 2


def test_large_files_are_not_read(hand_in, monkeypatch):
    monkeypatch.setattr(collecting, "LARGEST_FILE", 100)
    (found,) = collect(hand_in("ann.ipynb"))
    assert found.data is None and "clear its outputs" in found.problem


@pytest.mark.parametrize("sign", ["\n", "\r", "\x1b[2J", "\x07", "\x9b", "\u202e", "\u2066", "\u2028"])
def test_signs_that_act_on_what_stands_around_them_are_spelt_out(sign, hand_in):
    hand_in(f"an{sign}n/01_formula.ipynb")
    hand_in(f"be{sign}n.ipynb")
    folder = hand_in("class.zip", archive({f"ch{sign}o/01_formula.ipynb": RIGHT}))
    found = list(collect(folder))
    spelt = sign.encode("unicode_escape").decode()
    assert {each.student for each in found} == {f"an{spelt}n", f"be{spelt}n", "class"}
    assert not any(sign in each.student + each.file for each in found)


def test_names_are_told_apart_by_what_a_file_system_tells_them_apart_by(hand_in):
    for name in ("ann", "ann ", " ann", "Ann", "\u00e9", "e\u0301"):
        folder = hand_in(f"{name}/01_formula.ipynb")
    assert len(students(folder)) == 6


@pytest.mark.parametrize("around", ["", "homework/"])
def test_a_student_of_an_archive_of_folders_without_a_notebook_has_a_row(around, hand_in):
    made = {f"{around}{name}/01_formula.ipynb": RIGHT for name in ("ann", "ben")}
    made |= {f"{around}ann/notes.txt": b"", f"{around}cho/report.pdf": b"%PDF", f"{around}dee/all.zip": b"PK"}
    folder = hand_in("class.zip", archive(made))
    for place in (folder, folder / "class.zip"):
        found = dict(students(place))
        assert found["ann"] == found["ben"] == "" and len(found) == 4
        assert found["cho"] == "no notebook was handed in, only report.pdf"
        assert "archives in it are read" in found["dee"]


def test_a_folder_of_pictures_in_an_archive_of_one_student_is_nobody(hand_in):
    hand_in("ann.zip", archive({"01_formula.ipynb": RIGHT, "pictures/a.png": b""}))
    folder = hand_in("ben.zip", archive({"work/01_formula.ipynb": RIGHT, "pictures/a.png": b""}))
    assert students(folder) == {("ann", ""), ("ben", "")}


def test_names_that_are_no_text(hand_in):
    folder = hand_in("ann.ipynb")
    os.rename(os.fsencode(folder / "ann.ipynb"), os.fsencode(folder) + b"/\xff\xfe.ipynb")
    (found,) = collect(folder)
    assert found.student.encode("utf-8")


def test_the_newest_of_several_files_counts(hand_in, grade):
    older = golden.notebook(golden.cells(**golden.STUBS))
    folder = hand_in("ann/01_formula.ipynb", older)
    hand_in("ann/01_formula (1).ipynb")
    os.utime(folder / "ann" / "01_formula.ipynb", (1000, 1000))
    (row,) = grade(folder)
    assert row["score"] == 4.0 and "does not count: ann/01_formula.ipynb" in row["notes"][0]


def test_nobody_is_displaced_by_what_another_ones_archive_holds(hand_in, grade):
    wrong = golden.notebook(golden.cells(**golden.STUBS))
    for own in ("ann.ipynb", "ben/01_formula.ipynb"):
        os.utime(hand_in(own) / own, (1000, 1000))
    hand_in("cho.zip", archive({"01_formula.ipynb": RIGHT}))
    names = ("ann", "ben", "cho", "dee")
    hand_in("eve.zip", archive({f"all/{name}/01_formula.ipynb": wrong for name in names}))
    folder = hand_in("fay.zip", archive({f"{name}/01_formula.ipynb": wrong for name in names}))
    rows = {row["student"]: row for row in grade(folder, timeout=10)}
    assert {name: rows[name]["score"] for name in names} == {"ann": 4.0, "ben": 4.0, "cho": 4.0, "dee": 0.0}
    assert "does not count: eve.zip/all/ann/01_formula.ipynb" in str(rows["ann"]["notes"])


def test_the_report_inside_the_submissions_is_no_submission(hand_in, tmp_path):
    from ffnlib.grading.cli import grade_folder

    folder = hand_in("ann.ipynb")
    for _ in range(2):
        assert len(grade_folder(folder, folder / "out")) == 1
