"""The deck reads back: every card once, under ids that stay, with what a page says of it."""

import json
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ffnlib.authoring import anki_deck, build, exports
from ffnlib.review.cards import cards
from ffnlib.review.pages import rich
from tests.environments import environment

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((build.ROOT / "pyproject.toml").read_text("utf-8"))
EXTRA = PROJECT["project"]["optional-dependencies"]["anki"]
EXPORT = """
import sys
from pathlib import Path
from ffnlib.authoring import anki_deck
print(*anki_deck.write_course(Path(sys.argv[1]), Path(sys.argv[2])))
"""


@pytest.fixture(scope="module")
def deck(tmp_path_factory):
    """Export twice, in the environment that has genanki, and open both packages."""
    python = environment("anki", *EXTRA, "numpy>=2")
    folders = [tmp_path_factory.mktemp("deck") / "new" for _ in range(2)]
    return [opened(python, folder) for folder in folders]


def opened(python, folder):
    run = subprocess.run(
        [python, "-c", EXPORT, build.ROOT, folder], cwd=build.ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    with zipfile.ZipFile(folder / anki_deck.FILE) as package:
        package.extract("collection.anki2", folder)
    return run.stdout.split(), sqlite3.connect(Path(folder) / "collection.anki2")


def notes(database):
    return database.execute("select guid, flds, tags, mid from notes order by id").fetchall()


def test_every_card_is_a_note_with_its_front_its_back_and_its_lesson(deck):
    _, database = deck[0]
    found = [tuple(fields.split("\x1f")) for _, fields, _, _ in notes(database)]
    assert sorted(found) == sorted((rich(c.front), rich(c.back), f"lesson {c.lesson}") for c in cards())
    [number] = database.execute("select count(*) from cards").fetchone()
    assert number == len(cards())


def test_the_lessons_are_named_and_a_note_is_tagged_with_its_own(deck):
    lessons, database = deck[0]
    assert lessons == sorted({card.lesson for card in cards()})
    for card, (_, _, tags, _) in zip(cards(), notes(database), strict=True):
        assert set(tags.split()) == {card.kind, card.lesson}


def test_ids_are_the_same_in_every_export_and_unique(deck):
    first, second = ([note[0] for note in notes(database)] for _, database in deck)
    assert first == second and len(set(first)) == len(first)
    for _, database in deck:
        models, decks = database.execute("select models, decks from col").fetchone()
        assert {str(anki_deck.MODEL_ID)} == set(json.loads(models))
        assert str(anki_deck.DECK_ID) in json.loads(decks)


def test_the_id_of_a_card_does_not_depend_on_its_words(deck):
    import hashlib

    # genanki 0.13's guid of ("ffnlib", "law-01"), computed here by its published recipe: SHA-256, 8 bytes, base 91
    table = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&()*+,-./:;<=>?@[]^_`{|}~"
    number = int.from_bytes(hashlib.sha256(b"ffnlib__law-01").digest()[:8], "big")
    wanted = ""
    while number:
        number, rest = divmod(number, len(table))
        wanted = table[rest] + wanted
    place = [card.id for card in cards()].index("law-01")
    assert notes(deck[0][1])[place][0] == wanted


def test_without_genanki_the_remedy_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(anki_deck, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install '\.\[anki\]'"):
        anki_deck.write_course(build.ROOT, tmp_path)


@pytest.mark.parametrize("form", exports.FORMS)
def test_every_form_says_what_to_do_next(form, tmp_path, monkeypatch, capsys):
    class Form:
        write_course = staticmethod(lambda root, out: ["01_formula", "02_worked_examples"])

    class Asked:
        out = tmp_path

    Asked.form = form
    monkeypatch.setattr(exports, "import_module", lambda name: Form)
    assert exports.main(Asked) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"2 lessons are in {tmp_path}. ") and "{" not in printed
    assert ("nbgrader" in printed) == (form == "nbgrader")
