"""The feed-forward network read as a key-value memory, in the row convention.

A hidden unit's key is its column of W1, its value is its row of W2, and its coefficient is how strongly it fires.
`contributions` takes a layer apart, `reading` lets a model read a text, `triggers` and `votes` say what keys answer to
and what values promote, `lens` follows a prediction through the layers. `huggingface` does for a model of
`transformers` what `reading` does for the specimen; it is imported by its own name, since it needs PyTorch.
"""

from ffnlib.memory.contributions import Memory, kv_contributions
from ffnlib.memory.lens import logit_lens, reading_direction, sub_update_scores
from ffnlib.memory.reading import (
    Reading,
    inputs_at_the_end,
    read,
    specimen_inputs,
    specimen_memories,
    specimen_reading,
    specimen_sentences,
)
from ffnlib.memory.triggers import (
    ONE_SENTENCE_EACH,
    mixed_keys,
    shared_label,
    shared_tokens,
    top_triggers,
    triggers,
)
from ffnlib.memory.votes import Agreement, agreement, promoted, value_distribution

__all__ = [
    "ONE_SENTENCE_EACH",
    "Agreement",
    "Memory",
    "Reading",
    "agreement",
    "inputs_at_the_end",
    "kv_contributions",
    "logit_lens",
    "mixed_keys",
    "promoted",
    "read",
    "reading_direction",
    "shared_label",
    "shared_tokens",
    "specimen_inputs",
    "specimen_memories",
    "specimen_reading",
    "specimen_sentences",
    "sub_update_scores",
    "top_triggers",
    "triggers",
    "value_distribution",
]
