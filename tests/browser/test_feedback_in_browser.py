"""What a graded folder gives to learners and instructors, in both colour schemes and up to a zoom of 400 %."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .looking import WIDTHS, moving, resize, too_wide, violations
from .test_every_lesson_in_browser import MISTAKES

ROOT = Path(__file__).resolve().parents[2]
LESSONS = ("01_formula", "07_counting_parameters")


def mistaken(lesson):
    """Return a learner's notebook with one of the mistakes that people make."""
    notebook = json.loads((ROOT / "notebooks" / f"{lesson}.ipynb").read_text(encoding="utf-8"))
    exercise, mistake = MISTAKES[lesson]
    for cell in notebook["cells"]:
        meaning = cell["metadata"].get("ffn", {})
        if (meaning.get("role"), meaning.get("exercise")) == ("answer", exercise):
            cell["source"] = mistake
    return json.dumps(notebook)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Three learners and two lessons, one of the files no notebook."""
    handed_in, out = tmp_path_factory.mktemp("submissions"), tmp_path_factory.mktemp("graded") / "out"
    for learner in ("ann", "ben", "cho"):
        (handed_in / learner).mkdir()
    for lesson in LESSONS:
        shutil.copyfile(ROOT / "solutions" / f"{lesson}.ipynb", handed_in / "ann" / f"{lesson}.ipynb")
        (handed_in / "ben" / f"{lesson}.ipynb").write_text(mistaken(lesson), encoding="utf-8")
    (handed_in / "cho" / f"{LESSONS[0]}.ipynb").write_text("no notebook", encoding="utf-8")
    command = [sys.executable, "-m", "ffnlib", "grade", handed_in, "--out", out]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (out / "class.html").exists(), run.stderr
    return out


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_learner_and_an_instructor_can_use_their_pages(graded, browser, axe, pictures, scheme):
    context = browser.new_context(color_scheme=scheme, reduced_motion="reduce")
    page, found = context.new_page(), {}
    files = sorted(graded.rglob("*.html"))
    assert len(files) == 5, files
    for file in files:
        page.goto(file.as_uri())
        assert moving(page, "body") == []
        for width in WIDTHS:
            resize(page, width)
            found[f"{file.stem}, {width} px"] = [*violations(page, axe, "html"), *too_wide(page, "html")]
            page.screenshot(path=pictures / f"{file.parent.name}_{file.stem}_{scheme}_{width}.png", full_page=True)
    context.close()
    assert {name: seen for name, seen in found.items() if seen} == {}
