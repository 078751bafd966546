"""What a specimen can do and how many of its units fire."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn import functional as F

from ffnlib.specimen import knowledge as corpus
from ffnlib.specimen.batches import padded
from ffnlib.specimen.knowledge import Fact
from ffnlib.specimen.model import Specimen, intervene
from ffnlib.specimen.tokenizer import load_tokenizer

CHUNK = 128


def hidden_names(model: Specimen) -> list[str]:
    return [f"{layer}.hidden" for layer in range(model.config.n_layers)]


def prose_rows(part: str = "prose_validation", n: int = 800) -> list[list[int]]:
    """The first `n` sentences of a part of the prose, each on a row of its own."""
    return [load_tokenizer().prompt(text) for text in corpus.prose(part)[:n]]


def fact_rows() -> list[list[int]]:
    """Each fact in its first held-out wording, with its object."""
    return [
        load_tokenizer().prompt(f"{corpus.prompts(fact, 'held_out')[0]} {fact.object} .") for fact in corpus.facts()
    ]


@torch.no_grad()
def activity(model: Specimen, rows: Sequence[Sequence[int]]) -> dict:
    """Loss per token, share of units above zero per layer, and units of each layer that never fire on `rows`."""
    fired = [torch.zeros(model.config.d_ff) for _ in range(model.config.n_layers)]
    total, tokens_seen, rows = 0.0, 0, sorted(rows, key=len)
    for start in range(0, len(rows), CHUNK):
        tokens, last = (torch.from_numpy(array) for array in padded(rows[start : start + CHUNK]))
        real = torch.arange(tokens.shape[1]) < last[:, None]  # every token but the last has a target
        with intervene(model, dict.fromkeys(hidden_names(model))) as seen:
            logits = model(tokens)[:, :-1][real[:, :-1]]
        total += F.cross_entropy(logits, tokens[:, 1:][real[:, :-1]], reduction="sum").item()
        tokens_seen += int(real.sum())
        for count, name in zip(fired, hidden_names(model)):
            count += (seen[name][real] > 0).float().sum(0)
    return {
        "loss": total / tokens_seen, "tokens": tokens_seen,
        "active": [(count.mean() / tokens_seen).item() for count in fired],
        "dead": [(count == 0).float().mean().item() for count in fired],
    }  # fmt: skip


@torch.no_grad()
def next_token_logits(model: Specimen, prompts: Sequence[Sequence[int]]) -> torch.Tensor:
    """Logits after the last token of each prompt, (prompts, vocabulary)."""
    parts = []
    for start in range(0, len(prompts), CHUNK):
        tokens, last = (torch.from_numpy(array) for array in padded(prompts[start : start + CHUNK]))
        parts.append(model(tokens)[torch.arange(len(last)), last])
    return torch.cat(parts)


def objects_of(relation: str) -> list[int]:
    """Token numbers of every object of a relation."""
    names = sorted({fact.object for fact in corpus.facts() if fact.relation == relation})
    return [load_tokenizer().number[name] for name in names]


def answers(model: Specimen, asked: Sequence[tuple[Fact, str]], among_objects: bool = False) -> np.ndarray:
    """Whether the most probable next word is the object, for pairs of a fact and a prompt about it.

    With `among_objects` only the objects of the fact's relation compete.
    """
    logits = next_token_logits(model, [load_tokenizer().prompt(text) for _, text in asked])
    if among_objects:
        allowed = torch.full_like(logits, float("-inf"))
        for place, (fact, _) in enumerate(asked):
            allowed[place, objects_of(fact.relation)] = 0
        logits = logits + allowed
    wanted = np.array([load_tokenizer().number[fact.object] for fact, _ in asked])
    return logits.argmax(-1).numpy() == wanted


def known(model: Specimen, kinds: Sequence[str] = ("held_out", "new"), among_objects: bool = False) -> dict:
    """Share of right answers per relation and kind of wording."""
    asked = [(fact, text, kind) for kind in kinds for fact in corpus.facts() for text in corpus.prompts(fact, kind)]
    right = answers(model, [(fact, text) for fact, text, _ in asked], among_objects)
    result: dict[str, dict[str, float]] = {}
    for relation in corpus.RELATIONS:
        result[relation] = {
            kind: float(np.mean([r for r, (f, _, k) in zip(right, asked) if f.relation == relation and k == kind]))
            for kind in kinds
        }
    return result


def grouped(shares: dict, kind: str) -> dict[str, float]:
    """Accuracy over all country and all person questions, weighted by the number of facts."""
    counts = {relation: sum(fact.relation == relation for fact in corpus.facts()) for relation in corpus.RELATIONS}
    groups = {"country": corpus.COUNTRY_RELATIONS, "person": corpus.PERSON_RELATIONS}
    return {
        group: sum(shares[r][kind] * counts[r] for r in relations) / sum(counts[r] for r in relations)
        for group, relations in groups.items()
    }


def statistics(model: Specimen) -> dict:
    """One point of the training curve."""
    model.eval()
    shares = known(model)
    point = {"prose": activity(model, prose_rows()), "facts": activity(model, fact_rows()), "known": shares}
    model.train()
    return point
