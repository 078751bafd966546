"""Words in, numbers out: the specimen's word tokenizer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

BOS, UNK = "<bos>", "<unk>"
VOCABULARY = Path(__file__).parent / "corpus" / "vocabulary.txt"

_TOKEN = re.compile(r"<bos>|<unk>|[a-z]+(?:[-'][a-z]+)*|\d+(?:[.,]\d+)*|[.,;:?!]")


def split(text: str) -> list[str]:
    """The tokens of a text: lower-case words, numbers and marks.

    >>> split("The capital of France is Paris.")
    ['the', 'capital', 'of', 'france', 'is', 'paris', '.']
    """
    return _TOKEN.findall(text.lower())


@dataclass(frozen=True)
class Tokenizer:
    """A fixed list of words; the number of a word is its place in the list."""

    words: tuple[str, ...]

    @cached_property
    def number(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, text: str) -> list[int]:
        """Numbers of the tokens of `text`; a word outside the list becomes `<unk>`."""
        unknown = self.number[UNK]
        return [self.number.get(word, unknown) for word in split(text)]

    def prompt(self, text: str) -> list[int]:
        """`text` as the model expects it: after the token that opens every row."""
        return [self.number[BOS], *self.encode(text)]

    def decode(self, numbers: Iterable[int]) -> str:
        """The words of `numbers`, separated by blanks."""
        return " ".join(self.words[int(number)] for number in numbers)


@lru_cache(maxsize=1)
def load_tokenizer() -> Tokenizer:
    """The tokenizer the shipped models were trained with."""
    return Tokenizer(tuple(VOCABULARY.read_text(encoding="utf-8").split()))
