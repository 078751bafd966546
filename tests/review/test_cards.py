"""Every law and every contested claim has its card; a card's numbers come from the claims it names."""

from collections import Counter

from ffnlib.authoring import claims
from ffnlib.course import load
from ffnlib.review.cards import BASICS, CONTRADICTIONS, cards, flashcards

COURSE = load()
CARDS = cards(COURSE)


def of(kind):
    return [card for card in CARDS if card.kind == kind]


def test_the_ids_are_unique():
    assert [name for name, count in Counter(card.id for card in CARDS).items() if count > 1] == []


def test_there_are_the_eight_of_the_documents():
    assert len(BASICS) == 8 and [card.id for card in of("basics")] == [row[0] for row in BASICS]


def test_every_lesson_has_a_card_for_its_law():
    assert [card.lesson for card in of("laws")] == [lesson.name for lesson in COURSE.lessons]
    for card, lesson in zip(of("laws"), COURSE.lessons, strict=True):
        assert lesson.question in card.front and lesson.law in card.back and lesson.doubt in card.back


def test_every_claim_that_depends_has_a_card():
    assert [card.id for card in of("contested")] == [f"claim-{c.id}" for c in COURSE.claims if c.verdict == "depends"]


def test_written_cards_name_real_claims_and_show_their_verdicts():
    known = {claim.id for claim in claims.load()}
    for name, _, _, names in (*BASICS, *CONTRADICTIONS):
        assert set(names) <= known, name
    for card in (*of("basics"), *of("contradictions")):
        row = next(row for row in (*BASICS, *CONTRADICTIONS) if row[0] == card.id)
        for claim in (claim for claim in COURSE.claims if claim.id in row[3]):
            assert f"**{claim.id}**" in card.back and claim.verdict.upper() in card.back


def test_a_front_does_not_give_its_back_away():
    assert [card.id for card in CARDS if card.back in card.front or not card.back] == []


def test_a_card_waits_until_one_of_its_claims_is_decided(course):
    assert [card.kind for card in cards(course)] == ["laws", "laws", "contested"]


def test_the_page_opens_each_card_by_itself(outline):
    page = flashcards(COURSE)
    assert outline(page.html).count("details") == len(CARDS) + 4
    assert page.words.startswith(f"{len(CARDS)} cards (8 basics")
