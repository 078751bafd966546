"""Cards to learn from: a question on the front, and on the back an answer that the lessons have decided.

The numbers of a card come from the claims it names; `BASICS` and `CONTRADICTIONS` add only questions and short answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ffnlib.course import Course, Decided, load
from ffnlib.review.pages import ON_WHITE, Page, capital, link, opened, rich

KINDS = {
    "basics": "What the documents ask on their cards",
    "contradictions": "Where the documents contradict each other",
    "laws": "The law of each lesson",
    "contested": "Claims that hold under a condition",
}


@dataclass(frozen=True)
class Card:
    """One card; `id` never changes, so that a deck that is imported again keeps what its owner has learned."""

    id: str
    kind: str
    front: str
    back: str
    lesson: str


# (id, question, answer in one or two sentences, the claims it rests on); a question stands as long as one is decided
BASICS = (
    (
        "what-it-is",
        "What does a Transformer's feed-forward network do, and to what?",
        "It takes each row alone, widens it by a linear map, bends it, and narrows it by a second linear map; "
        "the weights are the same for every row.",
        ("S3-12", "S3-22"),
    ),
    (
        "why-wide",
        "Why is the middle wider than the ends, and why four times?",
        "More units make more bends, and a map is found more easily. No theorem gives the 4; models use other factors.",
        ("S1-06", "S4-12", "S0-04"),
    ),
    (
        "the-formula",
        "What is the formula of the original layer, and what happens without its activation?",
        "`max(0, x W1 + b1) W2 + b2`. Without the `max` it is one linear map with one bias.",
        ("S3-04", "S3-13"),
    ),
    (
        "why-position-wise",
        "Why does the layer look at every position alone?",
        "Other rows are the business of attention. One set of weights serves sequences of every length, "
        "and all rows are computed at once.",
        ("S3-22", "S1-05", "S0-16"),
    ),
    (
        "two-thirds",
        "Which share of a Transformer's parameters is in its feed-forward networks?",
        "Two thirds of a block, if `d_ff` is four times `d_model` and every head has keys of its own. "
        "Of a whole model, less.",
        ("S0-03", "S3-06"),
    ),
    (
        "relu-gelu-silu",
        "What was expected of GELU and SiLU in place of ReLU, and what was found?",
        "A slope that is not 0 at the left, and so fewer dead units. "
        "Silence is no death, the slope can be negative, and which activation is best is not settled.",
        ("S4-03", "S4-17", "S4-19"),
    ),
    (
        "regular-mlp",
        "What is the difference between this layer and a multilayer perceptron?",
        "None but the way it is applied: one perceptron, used on every row.",
        ("S4-14", "S4-11"),
    ),
    (
        "gated",
        "What is a gated unit, and what does it save?",
        "The product of two linear maps of the input, one of them behind an activation. "
        "It saves no parameters; at equal size a better loss is reported.",
        ("S0-20", "S4-06", "S3-15"),
    ),
)

CONTRADICTIONS = (
    (
        "rows-or-columns",
        "Keys and values: rows or columns? The documents say both.",
        "It follows from the convention: what leads into a unit is its key, what leads out is its value.",
        ("S1-01", "S3-05"),
    ),
    (
        "when-attention-overtakes",
        "At which length does attention cost more than the layer? The documents give three answers.",
        "Each is right for a question of its own; the projections decide.",
        ("S0-14", "S1-04", "S2-01"),
    ),
    (
        "always-four",
        "Is `d_ff` always four times `d_model`? One document says so, another gives 8/3 for gated layers.",
        "No: published models use many factors, and a third matrix is one of the reasons.",
        ("S0-04", "S2-11", "S0-08"),
    ),
    (
        "two-thirds-of-what",
        "Two thirds of a block, or two thirds of the model?",
        "Of some blocks. The embeddings and a decoder's second attention were forgotten by those who say of the model.",
        ("S0-03", "S3-06"),
    ),
    (
        "an-mlp-or-not",
        "A two-layer perceptron, or not a regular one?",
        "It is one, applied to every row.",
        ("S4-14",),
    ),
    (
        "a-bottleneck",
        "Which layer is the bottleneck: one that widens and narrows, or one with `d_ff` equal to `d_model`?",
        "Neither: a bottleneck is narrow in the middle.",
        ("S3-03", "S4-01"),
    ),
    (
        "what-swiglu-changes",
        "What does SwiGLU change: only the activation, or three times the expansion?",
        "Neither: one matrix becomes two, and the layer has three in place of two.",
        ("S3-15", "S0-20"),
    ),
    (
        "experiment-or-reason",
        "Is the factor 4 the result of experiments, or of reasoning?",
        "The published table does not single it out, and no theorem does.",
        ("S0-41", "S4-41", "S4-12"),
    ),
)


def cards(course: Course | None = None) -> tuple[Card, ...]:
    """Return every card, in the order of `KINDS`."""
    course = load() if course is None else course
    written = [*_written("basics", BASICS, course), *_written("contradictions", CONTRADICTIONS, course)]
    laws = [
        Card(
            f"law-{each.number}",
            "laws",
            f"Lesson {each.number}, {each.title}: {each.question}",
            f"{each.law} What would change our mind: {each.doubt}",
            each.name,
        )
        for each in course.lessons
    ]
    contested = [_contested(claim) for claim in course.claims if claim.verdict == "depends"]
    return (*written, *laws, *contested)


def _written(kind: str, rows: Sequence, course: Course) -> list[Card]:
    known = {claim.id: claim for claim in course.claims}
    made = []
    for name, front, answer, claims in rows:
        decided = [known[each] for each in claims if each in known]
        if decided:
            made.append(Card(name, kind, front, " ".join([answer, *map(_verdict, decided)]), decided[0].lesson))
    return made


def _verdict(claim: Decided) -> str:
    return f"**{claim.id}** “{capital(claim.claim)}” {claim.verdict.upper()}: {capital(claim.because)}"


def _contested(claim: Decided) -> Card:
    front = f"“{capital(claim.claim)}” When does it hold, and when not?"
    return Card(f"claim-{claim.id}", "contested", front, f"{capital(claim.because)} {claim.measured}", claim.lesson)


def flashcards(course: Course | None = None) -> Page:
    """Return all cards; each opens and closes by mouse, by Enter and by space."""
    made = cards(course)
    groups = []
    for kind, heading in KINDS.items():
        these = [card for card in made if card.kind == kind]
        inner = "\n".join(_shown(card) for card in these)
        groups.append(opened(f"<strong>{heading}</strong>: {len(these)} cards", inner))
    counts = ", ".join(f"{sum(card.kind == kind for card in made)} {kind}" for kind in KINDS)
    words = f"{len(made)} cards ({counts}). Read the front, answer aloud, then open the card."
    return Page(words, "\n".join(groups), "cards")


def _shown(card: Card) -> str:
    back = f"{rich(card.back)} ({link(card.lesson, 'lesson ' + card.lesson[:2])})"
    return opened(rich(card.front), f'<p style="{ON_WHITE} margin: 2px 0px 8px 1.5em;">{back}</p>')
