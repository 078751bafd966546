"""Lesson 14 by keyboard: search the claims, open an answer and a card, in either theme and without the network."""

from pathlib import Path

import pytest

from ffnlib.course import load

LESSON = Path(__file__).resolve().parents[2] / "notebooks" / "14_self_test.ipynb"


@pytest.fixture(scope="module")
def lesson(open_lesson):
    """The learner's notebook, open and run once from top to bottom."""
    page = open_lesson(LESSON)
    page.run_all()
    return page


def shown(lesson, kind):
    """The pages of one kind in the outputs."""
    return lesson.page.locator(f".jp-OutputArea-output .ffn-{kind}")


def test_a_fresh_notebook_runs_from_top_to_bottom_without_an_error(lesson):
    assert lesson.errors() == []
    assert [shown(lesson, kind).count() for kind in ("claims", "quiz", "cards", "glossary", "concepts")] == [
        1,
        3,
        1,
        1,
        1,
    ]


def test_typing_into_the_search_field_leaves_the_claims_with_all_the_words(lesson):
    page = shown(lesson, "claims")
    field = page.get_by_label("Search the claims")
    field.click()
    lesson.page.keyboard.type("depends dd s0-14")  # d d would delete the cell if JupyterLab took the keys
    assert field.input_value() == "depends dd s0-14" and page.locator("tbody tr:visible").count() == 0
    field.fill("s0-14 depends")
    assert page.locator("tbody tr:visible").count() == 1
    assert page.locator("output").inner_text() == f"1 of {len(load().claims)} claims"
    lesson.photograph(page, "search")
    field.fill("")
    assert page.locator("details:visible").count() == len({claim.lesson for claim in load().claims})
    assert page.locator("tbody tr:visible").count() == 0


@pytest.mark.parametrize("key", ["Enter", "Space"])
@pytest.mark.parametrize("kind", ["quiz", "cards", "claims", "concepts"])
def test_a_key_opens_and_closes_what_has_the_focus(lesson, kind, key):
    first = shown(lesson, kind).first.locator("details").first
    first.locator("summary").first.focus()
    for wanted in (True, False):
        lesson.page.keyboard.press(key)
        assert first.evaluate("details => details.open") is wanted


def test_an_answer_says_whether_it_is_right(lesson):
    answers = shown(lesson, "quiz").first.locator("details")
    for number in range(4):
        answers.nth(number).locator("summary").click()
    text = shown(lesson, "quiz").first.inner_text()
    assert text.count("Yes.") == 1 and text.count("No.") == 3
    lesson.photograph(shown(lesson, "quiz").first, "quiz")


def test_axe_finds_nothing_in_the_outputs_in_either_theme(lesson):
    everything = lesson.page.locator(".jp-OutputArea details")
    for theme in ("Dark", "Light"):
        lesson.theme(f"JupyterLab {theme}")
        everything.evaluate_all("all => all.forEach((one) => { one.open = true; })")
        assert lesson.violations() == []
        everything.evaluate_all("all => all.forEach((one) => { one.open = false; })")
        for kind in ("claims", "cards", "concepts"):
            shown(lesson, kind).locator("details").first.evaluate("one => { one.open = true; }")
            lesson.photograph(shown(lesson, kind), f"{kind}_{theme.lower()}")


def test_a_word_of_the_glossary_has_the_whole_width_also_in_a_narrow_window(lesson):
    lesson.resize(320)
    entries = shown(lesson, "glossary").locator("dl")
    whole, word = (entries.locator(part).first.bounding_box()["width"] for part in ("xpath=.", "dt"))
    lesson.photograph(entries.locator("dd").first, "glossary_320")
    lesson.resize(1280)
    assert word == whole
