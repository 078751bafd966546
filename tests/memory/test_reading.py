"""What a reading keeps of a text, against the model run on every prefix alone."""

import numpy as np
import pytest

from ffnlib import specimen
from ffnlib.memory import inputs_at_the_end, read, reading, specimen_inputs, specimen_sentences
from ffnlib.specimen import knowledge

SENTENCES = ("the capital of france is paris .", "the capital of spain is madrid .", "the people", "of")


@pytest.fixture(scope="module")
def weights():
    return specimen.arrays("plain")


@pytest.fixture(scope="module")
def sentences():
    return [specimen.load_tokenizer().prompt(text) for text in SENTENCES]


def test_every_distinct_prefix_is_kept_once_with_what_follows(weights, sentences):
    found = read(sentences, specimen_inputs(weights))
    wanted = {}
    for number, sentence in enumerate(sentences):
        for length in range(2, len(sentence)):
            wanted.setdefault(tuple(sentence[:length]), (sentence[length], number))
    assert dict(zip(found.prefixes, zip(found.following, found.sentence))) == wanted
    assert len(found.prefixes) == len(wanted) == 6 + 3  # "the capital of" is shared, and so is "the"


def test_the_inputs_are_those_of_each_prefix_run_alone(weights, sentences, monkeypatch):
    monkeypatch.setattr(reading, "CHUNK", 2)  # prefixes then come from several runs
    found = read(sentences, specimen_inputs(weights))
    alone = [specimen.forward(weights, np.array(prefix)) for prefix in found.prefixes]
    for layer in range(4):
        wanted = np.stack([seen[f"{layer}.norm2"][-1] for seen in alone])
        assert np.allclose(found.inputs[layer], wanted, atol=1e-4)  # float32, other shapes of the same products
    assert np.allclose(inputs_at_the_end(found.prefixes, specimen_inputs(weights)), found.inputs, atol=1e-4)


def test_the_tokens_at_the_end_can_be_asked_for(weights, sentences):
    found = read(sentences, specimen_inputs(weights))
    assert found.last().tolist() == [prefix[-1] for prefix in found.prefixes]
    assert found.last(5).tolist() == [prefix[-6] if len(prefix) >= 6 else -1 for prefix in found.prefixes]


def test_the_sample_holds_every_fact_once_and_prose_from_one_end_to_the_other():
    sentences, labels = specimen_sentences(5)
    facts = specimen.facts()
    assert len(sentences) == len(labels) == len(facts) + 5
    assert labels == [fact.relation for fact in facts] + ["prose"] * 5
    number = specimen.load_tokenizer().number
    assert all(number[fact.object] == sentence[-2] for fact, sentence in zip(facts, sentences))
    prose = knowledge.prose()
    assert sentences[-1] == specimen.load_tokenizer().prompt(prose[-1])
    assert sentences[len(facts)] == specimen.load_tokenizer().prompt(prose[0])
