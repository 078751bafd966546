"""What a model answers, and which share of it is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from ffnlib.editing.recording import finish, in_chunks, record

if TYPE_CHECKING:
    from ffnlib.specimen.model import Specimen

Prompt = Sequence[int]


def predicted(model: Specimen, prompts: Sequence[Prompt]) -> np.ndarray:
    """The most probable next token after each prompt."""
    answers = np.zeros(len(prompts), dtype=np.int64)
    for chunk in in_chunks(prompts):
        recorded = record(model, model.config.n_layers - 1, [prompts[place] for place in chunk])
        with torch.no_grad():
            answers[chunk] = finish(model, recorded).argmax(-1).numpy()
    return answers


def score(model: Specimen, questions: Mapping[str, Sequence[tuple[Prompt, int]]]) -> dict[str, float]:
    """Share of questions of each kind whose most probable next token is the one wanted; nan for a kind without any."""
    asked = [(kind, prompt, wanted) for kind, some in questions.items() for prompt, wanted in some]
    right = predicted(model, [prompt for _, prompt, _ in asked]) == np.array([wanted for _, _, wanted in asked])
    kinds = np.array([kind for kind, _, _ in asked])
    return {kind: float(right[kinds == kind].mean()) if some else float("nan") for kind, some in questions.items()}
