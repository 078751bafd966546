"""Pages hold all they should, escape what they show, and read without a script."""

import re

import pytest

from ffnlib import learner
from ffnlib.course import load
from ffnlib.review.cards import flashcards
from ffnlib.review.concepts import concept_map
from ffnlib.review.pages import claims_page, glossary, rich
from ffnlib.review.questions import final_quiz, wrong_programs, wrong_sentences

PAGES = (claims_page, flashcards, concept_map, glossary, final_quiz, wrong_programs, wrong_sentences)


def rows(page):
    """Give the rows of a page's tables as plain text."""
    return [re.sub(r"<[^>]+>", " ", row) for row in re.findall(r"<tr.*?</tr>", page.html, re.S) if "<td" in row]


def test_a_claim_stands_beside_its_verdict_what_was_expected_its_cell_and_what_it_measured(course):
    first, second, third = rows(claims_page(course, {"S0-92": "TRUE"}))
    for part in ("S0-91", "Twice is &lt; plus.", "A text", "TRUE", "no prediction", "twice", "2 + 2 = 4."):
        assert part in first
    assert re.search(r"DEPENDS\s+TRUE", second) and "FALSE" in third


def test_the_words_count_verdicts_and_predictions(course):
    page = claims_page(course, {"S0-92": "TRUE", "S1-91": "FALSE", "S7-77": "TRUE"})
    assert repr(page) == (
        "of 3 claims 1 are TRUE, 1 FALSE, and 1 DEPENDS. You predicted 2, and 1 came out as you expected."
    )
    assert repr(claims_page(course, {})).endswith("You predicted none yet.")


def test_the_readers_own_predictions_are_shown(course):
    learner.predict("S1-91", "depends")
    assert re.search(r"FALSE\s+DEPENDS", rows(claims_page(course))[2])


def test_the_real_page_has_every_claim_once():
    found = re.findall(r"<strong>(S\d-\d\d)</strong>", claims_page(predicted={}).html)
    assert sorted(found) == sorted(claim.id for claim in load().claims)


def test_without_a_script_the_search_stays_hidden_and_every_row_can_be_opened(course, outline):
    page = claims_page(course, {})
    html = page.html.replace(page.script, "")
    assert '<p class="ffn-search" hidden' in html and "<script" not in html
    assert outline(html).count("details") == 2


@pytest.mark.parametrize("make", PAGES, ids=lambda make: make.__name__)
def test_a_page_is_well_formed_white_and_the_same_every_time(make, outline):
    page = make()
    seen = outline(page.html)
    assert page.html == make().html
    assert page._repr_mimebundle_() == {"text/plain": page.words, "text/html": page.html}
    assert re.search(r"\d", page.words) and "In words: " in page.html
    assert "background: #FFFFFF" in page.html.split(">")[0]
    for tag, attributes in seen.tags:
        assert not attributes.keys() & {"onclick", "oninput", "onload"}
        assert not re.match(r"https?:", attributes.get("src", "")), "a page works offline"
        if tag == "summary":
            assert seen.count("summary") == seen.count("details")


@pytest.mark.parametrize("make", PAGES, ids=lambda make: make.__name__)
def test_a_page_links_only_lessons_that_are_there(make):
    lessons = {f"{lesson.name}.ipynb" for lesson in load().lessons}
    assert set(re.findall(r'href="([^"]+)"', make().html)) <= lessons


def test_a_glossary_groups_the_words_of_one_cell(course):
    page = glossary(course)
    assert re.findall(r"<strong>(\w+)</strong>", page.html.split("<dd")[0]) == ["half", "sum"]
    assert page.html.count("<dd") == 2 and ">a + b</code>" in page.html


def test_only_code_and_bold_are_marked():
    plain = re.sub(r' style="[^"]*"', "", rich("`a < b` is **not** <i>"))
    assert plain == "<code>a &lt; b</code> is <strong>not</strong> &lt;i&gt;"
