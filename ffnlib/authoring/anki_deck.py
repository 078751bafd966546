"""The cards of the course as a deck for Anki: `python3 -m ffnlib export anki --out DIR`.

genanki writes the package (the extra `anki`). The ids below and the id of each card stay for ever: whoever imports a
newer deck keeps what Anki knows of his learning.
"""

from importlib.util import find_spec
from pathlib import Path

from ffnlib.authoring.collected import PLACE
from ffnlib.course import load
from ffnlib.review.cards import Card, cards
from ffnlib.review.pages import rich

DECK_ID, MODEL_ID = 1_706_037_620, 1_706_037_621
DECK = "The feed-forward network of a Transformer"
FILE = "feed_forward_network.apkg"
STYLE = ".card { font-family: sans-serif; font-size: 18px; line-height: 1.45; text-align: left; max-width: 40em; }"


def write_course(root: Path, out: Path) -> list[str]:
    """Write the deck into `out` and return the lessons whose cards are in it.

    Raises: ValueError when genanki is missing, or no lesson has been collected.
    """
    if find_spec("genanki") is None:
        raise ValueError("the deck needs genanki, not installed here; run `pip install '.[anki]'` in the environment")
    course = load(root.joinpath(*PLACE))
    made = cards(course)
    if not made:
        raise ValueError(f"{root}: no lesson has a card; run `python3 -m ffnlib build` first")
    out.mkdir(parents=True, exist_ok=True)
    package(made).write_to_file(str(out / FILE))
    return sorted({card.lesson for card in made})


def package(made: tuple[Card, ...]):
    """Return genanki's package of one deck with a note for each card."""
    import genanki

    model = genanki.Model(
        MODEL_ID,
        "ffnlib: front, back, lesson",
        fields=[{"name": "Front"}, {"name": "Back"}, {"name": "Lesson"}],
        templates=[
            {
                "name": "Card",
                "qfmt": "{{Front}}",
                "afmt": '{{FrontSide}}<hr id="answer">{{Back}}<p><small>{{Lesson}}</small></p>',
            }
        ],
        css=STYLE,
    )
    deck = genanki.Deck(DECK_ID, DECK)
    for card in made:
        fields = [rich(card.front), rich(card.back), f"lesson {card.lesson}"]
        deck.add_note(genanki.Note(model=model, fields=fields, tags=[card.kind, card.lesson], guid=guid(card)))
    return genanki.Package(deck)


def guid(card: Card) -> str:
    """Return the id under which Anki knows a card, whatever becomes of its words."""
    import genanki

    return genanki.guid_for("ffnlib", card.id)
