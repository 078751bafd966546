"""What Sphinx is given to make the site of; the site itself is looked at in tests/browser."""

import json
import shutil
from html import escape
from pathlib import Path

import pytest

from ffnlib.authoring import html_site
from ffnlib.authoring.claims import load
from ffnlib.authoring.notebook import role

ROOT = Path(__file__).resolve().parents[2]
LESSONS = sorted(file.stem for file in (ROOT / "solutions").glob("[0-9][0-9]_*.ipynb"))


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "source"
    assert html_site.write_source(ROOT, folder) == LESSONS
    return folder


def test_every_lesson_is_a_page_with_its_number_and_in_the_map(source):
    index = (source / "index.md").read_text(encoding="utf-8")
    for lesson in LESSONS:
        first = json.loads((source / "lessons" / f"{lesson}.ipynb").read_text(encoding="utf-8"))["cells"][0]
        assert first["source"][0].startswith(f"# {lesson[:2]} ")
        assert f"](lessons/{lesson}.ipynb) | " in index and f"\nlessons/{lesson}\n" in index


def test_answers_are_folded_and_calls_for_a_kernel_left_out(source):
    for file in (source / "lessons").glob("*.ipynb"):
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        assert not {"hint", "reveal", "links"} & {role(cell) for cell in cells}
        answers = [cell for cell in cells if role(cell) == "answer"]
        assert answers and all("hide-input" in cell["metadata"]["tags"] for cell in answers)


def test_every_claim_stands_on_its_page_with_its_verdict(source):
    page = (source / "claims.md").read_text(encoding="utf-8")
    for claim in load():
        if claim.lesson in LESSONS:
            assert escape(claim.claim[1:], quote=False) in page, claim.id  # it begins with a capital there
    assert "lessons/01_formula.html" in page and ".ipynb" not in page


def test_missing_tools_are_named_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(html_site, "TOOLS", ("sphinx_of_nobody",))
    with pytest.raises(ValueError, match=r"sphinx_of_nobody.*pip install -c constraints.txt"):
        html_site.write_course(ROOT, tmp_path)


def test_a_folder_with_other_things_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(html_site, "TOOLS", ())
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="something else than a site"):
        html_site.write_course(ROOT, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


SPHINX = """
import pathlib, sys

made = pathlib.Path(sys.argv[-1])
made.mkdir(parents=True)
(made / "index.html").write_text("new")
if "broken" in pathlib.Path(sys.argv[-2], "index.md").read_text():
    sys.exit("index.md:7: WARNING: 'broken' is no page")
(made / "searchindex.js").touch()
"""


def test_a_site_appears_when_sphinx_is_done_and_a_failure_changes_nothing(tmp_path, monkeypatch):
    (tmp_path / "sphinx").mkdir()
    (tmp_path / "sphinx" / "__main__.py").write_text(SPHINX)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(html_site, "TOOLS", ())
    text = "broken"

    def write_source(root, source):
        source.mkdir()
        (source / "index.md").write_text(text)
        return ["01_formula"]

    monkeypatch.setattr(html_site, "write_source", write_source)
    out = tmp_path / "public" / "site"
    with pytest.raises(ValueError, match=r"stays as it was:\nindex\.md:7: WARNING: 'broken' is no page"):
        html_site.write_course(ROOT, out)
    assert not out.exists()
    text = "whole"
    for _ in range(2):
        assert html_site.write_course(ROOT, out) == ["01_formula"]
        assert sorted(file.name for file in out.iterdir()) == [".ffnlib-site", "index.html", "searchindex.js"]
    text = "broken"
    (out / "index.html").write_text("old")
    with pytest.raises(ValueError, match="stays as it was"):
        html_site.write_course(ROOT, out)
    assert (out / "index.html").read_text() == "old"


def test_a_new_site_takes_away_what_the_last_one_left_and_nothing_else(tmp_path):
    def site(*names):
        made = tmp_path / f"made {len(names)}"
        for name in names:
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_text(name)
        return made

    out = tmp_path / "site"
    html_site.replace(site("index.html", "lessons/old.html", "_static/old/a.css", "_static/b.css"), out)
    theirs = ("CNAME", "lessons/notes.txt", ".git/HEAD")
    shutil.copytree(site(*theirs), out, dirs_exist_ok=True)
    (tmp_path / "beside.txt").write_text("not ours, whatever the list says")
    with (out / ".ffnlib-site").open("a") as listed:
        listed.write("\n../beside.txt")
    html_site.replace(site("index.html", "_static/b.css"), out)
    ours = (".ffnlib-site", "index.html", "_static/b.css")
    assert html_site.files_in(out) == {*ours, *theirs}
    assert not (out / "_static" / "old").exists() and (tmp_path / "beside.txt").exists()


def test_a_checkout_without_lessons_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"no lesson NN_name\.ipynb is here"):
        html_site.write_source(tmp_path, tmp_path / "source")
