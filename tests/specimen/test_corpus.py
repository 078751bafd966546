"""The corpus keeps the rules its facts can only be learned under."""

import json
from collections import Counter

import pytest

from ffnlib.specimen import knowledge
from ffnlib.specimen.tokenizer import UNK, load_tokenizer, split

FACTS, WORDINGS = knowledge.facts(), knowledge.wordings()
CORPUS = knowledge.CORPUS


def read(name):
    return json.loads((CORPUS / name).read_text(encoding="utf-8"))


def substituted():
    """Every wording of every relation with every subject it can have, as words."""
    for relation, texts in WORDINGS.items():
        subjects = sorted({fact.subject for fact in FACTS if fact.relation == relation})
        for text in (*texts.trained, *texts.new):
            for subject in subjects:
                yield tuple(split(text.replace("{S}", subject))), (relation, text)


def test_no_wording_is_a_prefix_of_another():
    prompts = dict(substituted())
    for words, wording in prompts.items():
        for length in range(1, len(words)):
            other = prompts.get(words[:length])
            assert other is None, f"{wording} begins like {other}"


def test_no_two_relations_share_a_prompt():
    prompts = list(substituted())
    assert len(prompts) == len(dict(prompts))


def test_the_last_two_words_of_a_never_seen_wording_occur_in_no_other_relation():
    for relation, texts in WORDINGS.items():
        others = " | ".join(t for r, w in WORDINGS.items() if r != relation for t in (*w.trained, *w.new))
        for text in texts.new:
            assert " ".join(text.split()[-2:]) not in others, text


def test_no_wording_ends_with_its_subject():
    assert not [text for w in WORDINGS.values() for text in (*w.trained, *w.new) if text.endswith("{S}")]


def test_each_relation_has_twelve_wordings_for_training_and_two_never_used():
    assert all(len(set(w.trained)) == 12 and len(set(w.new)) == 2 for w in WORDINGS.values())
    sentences = set(knowledge.sentences())
    new = {f"{text} {fact.object} ." for fact in FACTS for text in knowledge.prompts(fact, "new")}
    assert not sentences & new


def test_a_held_out_wording_is_trained_with_other_subjects():
    for relation in knowledge.RELATIONS:
        group = [fact for fact in FACTS if fact.relation == relation]
        for wording in range(12):
            assert sum(wording not in fact.held_out for fact in group) >= len(group) / 2


def test_held_out_pairs_do_not_occur_in_training():
    sentences = set(knowledge.sentences())
    held_out = {f"{text} {fact.object} ." for fact in FACTS for text in knowledge.prompts(fact, "held_out")}
    assert not sentences & held_out and len(held_out) == 2 * len(FACTS)


def test_there_are_about_120_countries_and_80_people():
    subjects = {fact.relation: 0 for fact in FACTS} | Counter(fact.relation for fact in FACTS)
    assert 115 <= subjects["capital"] <= 125 and subjects["job"] == subjects["home"] == subjects["sport"] == 80


def test_a_first_or_last_name_alone_decides_no_fact():
    for relation in knowledge.PERSON_RELATIONS:
        for part in (0, 1):
            objects = {}
            for fact in (fact for fact in FACTS if fact.relation == relation):
                objects.setdefault(fact.subject.split()[part], []).append(fact.object)
            best = sum(Counter(values).most_common(1)[0][1] for values in objects.values())
            assert best / 80 < 0.6


@pytest.mark.parametrize("relation", knowledge.COUNTRY_RELATIONS)
def test_every_country_fact_is_confirmed_by_two_sources_or_says_why_not(relation):
    checks, decisions = read("checks.json"), read("decisions.json")
    for fact in (fact for fact in FACTS if fact.relation == relation):
        name = f"{fact.subject}.{relation}"
        confirmed = checks[name]["confirmed"]
        assert ("factbook" in confirmed and len(confirmed) >= 2) or len(decisions.get(name, "")) > 20, name


def test_no_reason_is_kept_for_a_fact_that_is_gone():
    assert set(read("decisions.json")) <= {f"{fact.subject}.{fact.relation}" for fact in FACTS}


def test_every_object_is_one_known_token_and_every_prompt_is_known():
    tokenizer = load_tokenizer()
    for fact in FACTS:
        assert len(tokenizer.encode(fact.object)) == 1
        for kind in knowledge.KINDS:
            assert all(UNK not in tokenizer.decode(tokenizer.encode(text)) for text in knowledge.prompts(fact, kind))


def test_a_sentence_of_prose_has_at_most_one_unknown_word_and_fits_the_context():
    known = set(load_tokenizer().words)
    for part in ("prose", "prose_validation"):
        for line in knowledge.prose(part):
            words = line.split()
            assert 8 <= len(words) <= 46 and words.count(UNK) <= 1 and known.issuperset(words)


def test_prose_is_about_two_megabytes_without_duplicates_and_validation_is_apart():
    prose, validation = knowledge.prose(), knowledge.prose("prose_validation")
    assert 1.8e6 < sum(map(len, prose)) < 2.6e6 and len(validation) == len(set(validation)) == 800
    assert not set(prose) & set(validation)
    repeated = [line for line, times in Counter(prose).items() if times > 1]
    assert len(repeated) < 10 and all(UNK in line for line in repeated)  # they differed in their unknown word


def test_the_sources_name_every_published_source_used():
    text = (CORPUS / "SOURCES.md").read_text(encoding="utf-8")
    for source in ("World Factbook", "Unicode Common Locale", "GeoNames", "countryinfo", "American Presidency Project"):
        assert source in text
