"""The browser of hidden units, beside a plain count over the specimen."""

import numpy as np
import pytest

from ffnlib import specimen
from ffnlib.memory import specimen_memories, specimen_reading
from ffnlib.widgets import neuron_browser, neuron_picture
from ffnlib.widgets.neuron_browser import telling_unit


@pytest.fixture(scope="module")
def read():
    weights = specimen.arrays("plain")
    return specimen_memories(weights), specimen_reading(), weights["embedding"]


def coefficients(read, layer):
    memories, reading, _ = read
    return np.maximum(0, reading.inputs[layer] @ memories[layer].keys.T + memories[layer].key_bias)


def test_it_opens_on_a_unit_whose_promoted_words_follow_its_triggers(read):
    layer, unit = telling_unit()
    memories, reading, E = read
    fired = coefficients(read, layer)[:, unit]
    seen, follows = set(), []
    for index in np.argsort(-fired):
        if reading.sentence[index] not in seen and len(follows) < 20:
            seen.add(reading.sentence[index])
            follows.append(reading.following[index])
    ten = set(np.argsort(-(E @ memories[layer].values[unit]))[:10])
    assert sum(word in ten for word in follows) >= 12  # the point is to be seen without moving anything
    widget = neuron_browser()
    assert widget.positions == {"layer": layer, "unit": unit}
    assert widget.words == neuron_picture().words == neuron_picture(layer, unit).words


def test_the_words_say_how_often_the_unit_fires_and_what_it_promotes(read):
    memories, reading, E = read
    fired = coefficients(read, 2)
    unit = int((fired > 0).sum(0).argmax())
    words = neuron_picture(2, unit).words
    assert f"fires on {100 * np.mean(fired[:, unit] > 0):.1f} % of {len(reading.prefixes):,} prefixes" in words
    vocabulary = specimen.load_tokenizer().words
    for word in np.argsort(-(E @ memories[2].values[unit]))[:10]:
        assert vocabulary[word] in words


def test_a_sign_among_the_promoted_words_stands_in_quotes(read):
    memories, _, E = read
    vocabulary = specimen.load_tokenizer().words
    comma = vocabulary.index(",")
    layer, unit = next(
        (layer, unit)
        for layer, memory in enumerate(memories)
        for unit in np.flatnonzero((np.argsort(-(memory.values @ E.T), axis=1)[:, :4] == comma).any(axis=1))
        if (coefficients(read, layer)[:, unit] > 0).any()
    )
    assert "','" in neuron_picture(layer, int(unit)).words and ", , ," not in neuron_picture(layer, int(unit)).words


@pytest.mark.parametrize(("layer", "unit"), [(1, 0), (0, 460), (3, 460)])  # none, one and several
def test_the_words_count_the_hatched_among_the_triggers_shown(read, layer, unit):
    memories, reading, E = read
    fired = coefficients(read, layer)[:, unit]
    ten = np.argsort(-(E @ memories[layer].values[unit]))[:10]
    seen, follows = set(), []
    for index in np.argsort(-fired, kind="stable"):
        if reading.sentence[index] not in seen and len(follows) < 10:
            seen.add(reading.sentence[index])
            follows.append(reading.following[index])
    expected = f"one of these follows {np.isin(follows, ten).sum()} of the 10 triggers shown (hatched)."
    assert neuron_picture(layer, unit).words.endswith(expected)


def test_a_unit_that_never_fires_says_so(read):
    silent = [(layer, unit) for layer in range(4) for unit in np.flatnonzero(~(coefficients(read, layer) > 0).any(0))]
    if not silent:
        pytest.skip("every unit of these weights fires somewhere")
    layer, unit = map(int, silent[0])
    assert (
        neuron_browser().move(layer=layer, unit=unit).words.endswith(f"unit {unit} of layer {layer} fire: 0 triggers.")
    )


def test_a_unit_that_does_not_exist_is_brought_back_and_said():
    assert neuron_browser().move(unit=9999).note == "unit: 9999 is above 511; 511 is used."


@pytest.mark.parametrize("layer", range(4))
def test_every_layer_can_be_drawn(layer):
    picture = neuron_picture(layer, 7)
    assert f"unit 7 of layer {layer}" in picture.words.lower() and len(picture.png) < 40_000
