"""The map joins the lessons that share words, and says how many."""

import base64
import re

from ffnlib.course import load
from ffnlib.review.concepts import concept_map, ties
from ffnlib.review.pages import Page


def test_the_first_lesson_ties_nothing(course):
    assert ties(course) == {}
    later = course.lessons[1].__class__("03_most", "Most", "?", 5, "l", "d", {"01_sums": ["sum"], "02_more": ["more"]})
    more = course.__class__(course.claims, (*course.lessons, later), course.terms)
    assert ties(more) == {("02_more", "03_most"): 1}


def test_the_words_behind_every_line_are_listed():
    page, course = concept_map(), load()
    for lesson in course.lessons:
        for words in lesson.uses.values():
            assert ", ".join(words) in page.html


def test_the_picture_is_small_and_its_sentence_counts_the_ties():
    page = concept_map()
    assert isinstance(page, Page)
    [picture] = re.findall(r"data:image/png;base64,([A-Za-z0-9+/=]+)", page.html)
    assert len(base64.b64decode(picture)) <= 40_000
    assert page.words.startswith(f"{sum(ties(load()).values())} times ")
