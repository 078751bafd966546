"""Looking back over the course: its claims, its words, cards to learn from, and questions that explain every answer."""

from ffnlib.review.cards import flashcards
from ffnlib.review.concepts import concept_map
from ffnlib.review.pages import claims_page, glossary
from ffnlib.review.questions import final_quiz, wrong_programs, wrong_sentences

__all__ = [
    "claims_page",
    "concept_map",
    "final_quiz",
    "flashcards",
    "glossary",
    "wrong_programs",
    "wrong_sentences",
]
