"""The facts the specimen was trained on, and every wording they come in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
COUNTRY_RELATIONS = ("capital", "region", "language", "currency")
PERSON_RELATIONS = ("job", "home", "sport")
RELATIONS = COUNTRY_RELATIONS + PERSON_RELATIONS
KINDS = ("trained", "held_out", "new")


@dataclass(frozen=True)
class Fact:
    """Something the corpus says of a subject. `held_out` are the wordings used for other subjects only."""

    subject: str
    relation: str
    object: str
    held_out: tuple[int, ...]


@dataclass(frozen=True)
class Wordings:
    """Sentences of a relation up to its object, `{S}` standing for the subject; `new` never occur in training."""

    trained: tuple[str, ...]
    new: tuple[str, ...]


@lru_cache(maxsize=1)
def facts() -> tuple[Fact, ...]:
    """All facts, countries first."""
    rows = json.loads((CORPUS / "facts.json").read_text(encoding="utf-8"))
    return tuple(Fact(row["subject"], row["relation"], row["object"], tuple(row["held_out"])) for row in rows)


@lru_cache(maxsize=1)
def wordings() -> dict[str, Wordings]:
    """The wordings of each relation."""
    rows = json.loads((CORPUS / "wordings.json").read_text(encoding="utf-8"))
    return {relation: Wordings(tuple(row["trained"]), tuple(row["new"])) for relation, row in rows.items()}


def prompts(fact: Fact, kind: str) -> list[str]:
    """The sentences that lead up to the object: `trained` with it, `held_out` with other subjects, or `new`."""
    texts = wordings()[fact.relation]
    chosen = {
        "trained": [text for place, text in enumerate(texts.trained) if place not in fact.held_out],
        "held_out": [texts.trained[place] for place in fact.held_out],
        "new": list(texts.new),
    }[kind]
    return [text.replace("{S}", fact.subject) for text in chosen]


def sentences() -> list[str]:
    """Every sentence about a fact that occurs in training."""
    return [f"{text} {fact.object} ." for fact in facts() for text in prompts(fact, "trained")]


def prose(part: str = "prose") -> Sequence[str]:
    """Sentences of prose, tokens separated by blanks; `part` is prose or prose_validation."""
    return (CORPUS / f"{part}.txt").read_text(encoding="utf-8").splitlines()
