"""One hidden unit of the specimen: what it fires on, in context, how often, and which words its value promotes."""

from functools import lru_cache

import numpy as np

from ffnlib import specimen
from ffnlib.figures import PALETTE, Picture, bars, panel, style
from ffnlib.memory import (
    ONE_SENTENCE_EACH,
    Memory,
    Reading,
    promoted,
    shared_tokens,
    specimen_memories,
    specimen_reading,
    triggers,
)
from ffnlib.widgets.controls import Choice, Slider
from ffnlib.widgets.explorer import Explorer, explore

SHOWN = 10  # triggers in the picture, and promoted words
CONTEXT = 5  # tokens of a trigger that are shown before its last


def neuron_browser() -> Explorer | None:
    """A layer and a unit to choose; it opens on the unit that `telling_unit` finds."""
    layer, unit = telling_unit()
    memories, _, _ = _specimen()
    return explore(
        neuron_picture,
        "Choose a hidden unit: what does its key answer to, what does its value promote?",
        layer=Choice("layer", tuple(range(len(memories))), value=layer),
        unit=Slider("unit", 0, len(memories[0].keys) - 1, value=unit),
    )


@lru_cache(maxsize=1)
def telling_unit() -> tuple[int, int]:
    """Return layer and unit whose promoted words most often hold what follows its triggers; of equals the first."""
    memories, reading, E = _specimen()
    best = (-1.0, 0, 0)
    for layer, memory in enumerate(memories):
        coefficients = memory.coefficients(reading.inputs[layer])  # (n, d_ff)
        words = promoted(memory.values, E, SHOWN)  # (d_ff, SHOWN)
        for unit in range(len(memory.keys)):
            chosen = triggers(coefficients[:, unit], reading)
            if len(chosen) == ONE_SENTENCE_EACH:
                share = float(np.isin(reading.following[chosen], words[unit]).mean())
                best = max(best, (share, -layer, -unit))
    return -best[1], -best[2]


def neuron_picture(layer: int | None = None, unit: int | None = None) -> Picture:
    """The strongest triggers as bars, each named by its last words and, behind an arrow, by what follows."""
    if layer is None or unit is None:
        layer, unit = telling_unit()
    memories, reading, E = _specimen()
    memory, words = memories[layer], specimen.load_tokenizer().words
    coefficient = memory.coefficients(reading.inputs[layer])[:, unit]  # (n,)
    chosen = triggers(coefficient, reading)
    if not len(chosen):
        return _silent(layer, unit, len(reading.prefixes))
    best = promoted(memory.values[unit], E, SHOWN)
    hits = [place for place, index in enumerate(chosen[:SHOWN]) if reading.following[index] in best]
    promotes = [_named(words[word]) for word in best]
    return bars(
        [_in_context(reading, index, words) for index in chosen[:SHOWN]],
        coefficient[chosen[:SHOWN]],
        title=f"Unit {unit} of layer {layer} promotes {', '.join(promotes[:4])}",
        words=f"{_said_of_triggers(layer, unit, coefficient, chosen, reading, words)} "
        f"Its value promotes {', '.join(promotes)}; "
        f"one of these follows {len(hits)} of the {min(SHOWN, len(chosen))} triggers shown (hatched).",
        x_label="coefficient",
        highlight=hits,
        number="{:.2f}",
    )


@lru_cache(maxsize=1)
def _specimen() -> tuple[tuple[Memory, ...], Reading, np.ndarray]:
    """The plain specimen's layers, its reading of the course's sample, and the embedding."""
    weights = specimen.arrays("plain")
    return specimen_memories(weights), specimen_reading("plain"), weights["embedding"]


def _said_of_triggers(
    layer: int, unit: int, coefficient: np.ndarray, chosen: np.ndarray, reading: Reading, words: tuple[str, ...]
) -> str:
    ends = reading.last()[chosen]
    commonest = words[np.bincount(ends).argmax()]
    share, _ = shared_tokens(reading, chosen)
    often = f"{100 * np.mean(coefficient > 0):.1f} % of {len(coefficient):,} prefixes"
    return (
        f"Unit {unit} of layer {layer} fires on {often}; "
        f"{round(share * len(chosen))} of its {len(chosen)} strongest triggers end in '{commonest}'."
    )


def _in_context(reading: Reading, index: int, words: tuple[str, ...]) -> str:
    prefix = [words[token] for token in reading.prefixes[index][1:]]  # without the token that opens every row
    before = " ".join(prefix[-1 - CONTEXT : -1])
    dots = "... " if len(prefix) > CONTEXT + 1 else ""
    return f"{dots}{before} [{prefix[-1]}] \N{RIGHTWARDS ARROW} {words[reading.following[index]]}".replace("  ", " ")


def _named(word: str) -> str:
    """A word as it is, and a sign in quotes, which a list would swallow."""
    return word if word[0].isalnum() else f"'{word}'"


def _silent(layer: int, unit: int, prefixes: int) -> Picture:
    figure, axes = panel(f"Unit {unit} of layer {layer} never fires here", size=(6.0, 2.0))
    with style():
        axes.set_axis_off()
        axes.text(0.5, 0.5, "no trigger to show", ha="center", va="center", color=PALETTE["ink"])
    return Picture(figure, f"Of {prefixes:,} prefixes none makes unit {unit} of layer {layer} fire: 0 triggers.")
