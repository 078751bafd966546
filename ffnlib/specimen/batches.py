"""Rows of tokens for training: a function of the seed and the step alone, so that any run can be resumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ffnlib.specimen import knowledge
from ffnlib.specimen.tokenizer import load_tokenizer

SHARE_OF_FACTS = 0.72  # of sentences; about half of the tokens
BATCH = 32


@dataclass(frozen=True)
class Sentences:
    """Training sentences as token numbers, facts before prose."""

    numbers: tuple[np.ndarray, ...]
    n_facts: int

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """A sentence about a fact with probability `SHARE_OF_FACTS`, else one of prose."""
        if rng.random() < SHARE_OF_FACTS:
            return self.numbers[rng.integers(self.n_facts)]
        return self.numbers[rng.integers(self.n_facts, len(self.numbers))]


def training_sentences() -> Sentences:
    """The corpus, encoded."""
    about_facts, prose = knowledge.sentences(), knowledge.prose()
    encode = load_tokenizer().encode
    numbers = tuple(np.array(encode(text), dtype=np.int64) for text in (*about_facts, *prose))
    return Sentences(numbers, len(about_facts))


def row(sentences: Sentences, rng: np.random.Generator, length: int) -> np.ndarray:
    """`<bos>`, then whole sentences until `length` tokens are full; the last one is cut."""
    parts, filled = [np.zeros(1, dtype=np.int64)], 1
    while filled < length:
        parts.append(sentences.draw(rng))
        filled += len(parts[-1])
    return np.concatenate(parts)[:length]


def batch(sentences: Sentences, seed: int, step: int, context: int) -> np.ndarray:
    """The rows of one training step, `(BATCH, context + 1)`: inputs and, one to the right, targets."""
    rng = np.random.default_rng([seed, step])
    return np.stack([row(sentences, rng, context + 1) for _ in range(BATCH)])


def padded(prompts: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Prompts of different length as one array, filled at the right, and the place of each one's last token.

    Attention is causal: what stands to the right of the last token cannot change what is read there.
    """
    last = np.array([len(prompt) - 1 for prompt in prompts])
    tokens = np.zeros((len(prompts), last.max() + 1), dtype=np.int64)
    for place, prompt in enumerate(prompts):
        tokens[place, : len(prompt)] = prompt
    return tokens, last
