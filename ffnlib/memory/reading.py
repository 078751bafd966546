"""A model reads a text: what enters every feed-forward network at every prefix of every sentence.

A prefix is a sentence up to and including one of its tokens. Attention looks back only, so equal prefixes give equal
numbers, and each is kept once. A unit's coefficient is a function of the layer's input; keeping the inputs is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ffnlib import specimen
from ffnlib.memory.contributions import Memory
from ffnlib.specimen import knowledge
from ffnlib.specimen.batches import padded
from ffnlib.specimen.numpy_forward import forward

InputsOf = Callable[[np.ndarray], np.ndarray]  # tokens (B, T) -> inputs of the layers (layers, B, T, d_model)
CHUNK = 64  # sentences run at once


@dataclass(frozen=True, eq=False)
class Reading:
    """The distinct prefixes of a text, in the order of its sentences, and what enters each layer at their last token.

    `following` is the token that comes next where the prefix first occurs, `sentence` the number of that sentence.

    **Shapes** following and sentence (n,), inputs (layers, n, d_model)
    """

    prefixes: tuple[tuple[int, ...], ...]
    following: np.ndarray
    sentence: np.ndarray
    inputs: np.ndarray

    def last(self, back: int = 0) -> np.ndarray:
        """Return the last token of every prefix, or the one `back` tokens before it; -1 where there is none.

        **Shapes** -> (n,)
        """
        return np.array([prefix[-1 - back] if len(prefix) > back else -1 for prefix in self.prefixes])


def read(sentences: Sequence[Sequence[int]], inputs_of: InputsOf) -> Reading:
    """Let a model read sentences of token numbers; the first token of each only opens it and counts as no prefix.

    >>> same = lambda tokens: tokens[None, ..., None] * 1.0
    >>> reading = read([[0, 7, 8, 9], [0, 7, 8, 5]], same)
    >>> reading.prefixes, reading.following.tolist(), reading.sentence.tolist()
    (((0, 7), (0, 7, 8)), [8, 9], [0, 0])
    """
    first = _first_places(sentences)
    prefixes = tuple(first)
    number, length = np.array(list(first.values()), dtype=int).reshape(-1, 2).T
    following = np.array([sentences[s][t] for s, t in first.values()], dtype=int)
    by_length = sorted(range(len(sentences)), key=lambda index: len(sentences[index]))  # little padding in a chunk
    parts, places = [], []
    for start in range(0, len(sentences), CHUNK):
        chunk = np.array(by_length[start : start + CHUNK])
        tokens, _ = padded([sentences[index] for index in chunk])
        row, here = np.nonzero(chunk[:, None] == number)
        parts.append(inputs_of(tokens)[:, row, length[here] - 1])  # (layers, some, d_model)
        places.append(here)
    inputs = np.concatenate(parts, axis=1)[:, np.argsort(np.concatenate(places))]
    return Reading(prefixes, following, number, inputs)


def _first_places(sentences: Sequence[Sequence[int]]) -> dict[tuple[int, ...], tuple[int, int]]:
    """Return each distinct prefix that something follows, with its sentence and its length."""
    first: dict[tuple[int, ...], tuple[int, int]] = {}
    for number, sentence in enumerate(sentences):
        for length in range(2, len(sentence)):
            first.setdefault(tuple(int(token) for token in sentence[:length]), (number, length))
    return first


def inputs_at_the_end(prefixes: Sequence[Sequence[int]], inputs_of: InputsOf) -> np.ndarray:
    """Return what enters each layer at the last token of each prefix.

    **Shapes** -> (layers, n, d_model)
    """
    by_length = sorted(range(len(prefixes)), key=lambda index: len(prefixes[index]))
    parts = []
    for start in range(0, len(prefixes), CHUNK):
        tokens, last = padded([prefixes[index] for index in by_length[start : start + CHUNK]])
        parts.append(inputs_of(tokens)[:, np.arange(len(last)), last])
    return np.concatenate(parts, axis=1)[:, np.argsort(by_length)]


# ---------------------------------------------------------------- the specimen


def specimen_memories(weights: Mapping[str, np.ndarray]) -> tuple[Memory, ...]:
    """Return the feed-forward networks of a specimen, layer by layer."""
    n_layers = sum(name.endswith("ffn.W1") for name in weights)
    return tuple(_memory(weights, f"blocks.{layer}.ffn.") for layer in range(n_layers))


def _memory(weights: Mapping[str, np.ndarray], prefix: str) -> Memory:
    W1, b1, W2, b2 = (weights[prefix + name] for name in ("W1", "b1", "W2", "b2"))
    return Memory(keys=W1.T, key_bias=b1, values=W2, value_bias=b2)


def specimen_inputs(weights: Mapping[str, np.ndarray]) -> InputsOf:
    """Return the function that runs a specimen on tokens and gives the inputs of its feed-forward networks."""
    names = [f"{layer}.norm2" for layer in range(len(specimen_memories(weights)))]
    one_row = {"norm": lambda value: value[..., :1, :]}  # nobody asks for the logits here: one row of them is made

    def inputs_of(tokens: np.ndarray) -> np.ndarray:
        seen = forward(weights, tokens, one_row)
        return np.stack([seen[name] for name in names])  # (layers, B, T, d_model)

    return inputs_of


PROSE = "prose"  # the label of a sentence that states no fact
N_PROSE = 800


def specimen_sentences(n_prose: int = N_PROSE) -> tuple[list[list[int]], list[str]]:
    """Return training sentences of the specimen and their labels: each fact in one of its wordings, and some prose.

    A fact's label is its relation. The prose is spread evenly over all there is.
    """
    prompt = specimen.load_tokenizer().prompt
    sentences, labels = [], []
    for place, fact in enumerate(specimen.facts()):
        wordings = specimen.prompts(fact, "trained")
        sentences.append(prompt(f"{wordings[place % len(wordings)]} {fact.object} ."))
        labels.append(fact.relation)
    prose = knowledge.prose()
    for place in np.linspace(0, len(prose) - 1, n_prose, dtype=int):
        sentences.append(prompt(prose[place]))
        labels.append(PROSE)
    return sentences, labels


@lru_cache(maxsize=2)
def specimen_reading(name: str = "plain") -> Reading:
    """Return the reading of `specimen_sentences` by a specimen; it takes a few seconds once, and is kept."""
    return read(specimen_sentences()[0], specimen_inputs(specimen.arrays(name)))
