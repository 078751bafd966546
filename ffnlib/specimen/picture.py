"""How much of the published picture of feed-forward memories shows at the specimen's size.

Four measurements: facts without the FFNs, causal tracing, how alike a key's triggers are, and whether a value
promotes what follows them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import torch

from ffnlib import editing
from ffnlib.specimen import knowledge as corpus
from ffnlib.specimen.batches import padded
from ffnlib.specimen.knowledge import Fact
from ffnlib.specimen.measure import answers, hidden_names
from ffnlib.specimen.model import Specimen, intervene
from ffnlib.specimen.tokenizer import load_tokenizer


def facts_without_ffn(model: Specimen, layers: Sequence[int]) -> dict[str, float]:
    """Share of facts right (first trained wording) while the FFNs of `layers` add nothing, for countries and people."""
    asked = [(fact, corpus.prompts(fact, "trained")[0]) for fact in corpus.facts()]
    with intervene(model, {f"{layer}.ffn": torch.zeros_like for layer in layers}):
        right = answers(model, asked)
    country = np.array([fact.relation in corpus.COUNTRY_RELATIONS for fact, _ in asked])
    return {"country": float(right[country].mean()), "person": float(right[~country].mean())}


def subject_span(fact: Fact, text: str) -> tuple[int, int]:
    """First and last place of the subject in the prompt `text`."""
    encode = load_tokenizer().encode
    first = 1 + len(encode(text[: text.index(fact.subject)]))
    return first, first + len(encode(fact.subject)) - 1


def trace(model: Specimen, fact: Fact, draws: int = 4, noise: float = 3.0, seed: int = 0) -> dict:
    """Probability of the object when one clean value is put back into a pass whose subject embeddings carry noise.

    Keys are (site, "subject" or "last", layer), and "clean" and "corrupted" for the passes without restoring.

    **Source** Meng et al. 2022, section 2.
    """
    text = corpus.prompts(fact, "trained")[0]
    prompt, subject = load_tokenizer().prompt(text), subject_span(fact, text)
    places = {"subject": subject[1], "last": len(prompt) - 1}
    found = editing.trace(
        model, prompt, subject, load_tokenizer().number[fact.object],
        places=tuple(places.values()), draws=draws, noise=noise, seed=seed,
    )  # fmt: skip
    restored = {
        (site, place, layer): float(value[layer, column])
        for site, value in found.restored.items()
        for column, place in enumerate(places)
        for layer in range(len(value))
    }
    return {"clean": found.clean, "corrupted": found.disturbed, **restored}


def mean_trace(model: Specimen, known: Sequence[Fact], n: int = 84, seed: int = 0) -> dict:
    """Mean of `trace` over a sample of known facts."""
    chosen = random.Random(seed).sample(list(known), n)
    traces = [trace(model, fact) for fact in chosen]
    return {key: float(np.mean([one[key] for one in traces])) for key in traces[0]}


def corpus_keys(
    model: Specimen, sentences: int = 1500, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Tokens, the tokens after them, and the coefficients of every layer on a sample of the training text."""
    rng = random.Random(seed)
    texts = rng.sample(corpus.sentences(), sentences * 72 // 100) + rng.sample(
        list(corpus.prose()), sentences * 28 // 100
    )
    tokens, last = padded([load_tokenizer().prompt(text) for text in texts])
    real = np.arange(tokens.shape[1] - 1) < last[:, None]
    with torch.no_grad(), intervene(model, dict.fromkeys(hidden_names(model))) as seen:
        model(torch.from_numpy(tokens[:, :-1]))
    return tokens[:, :-1][real], tokens[:, 1:][real], [seen[name].numpy()[real] for name in hidden_names(model)]


def triggers_and_values(model: Specimen, top: int = 20, promoted: int = 10) -> dict[str, list[float]]:
    """Per layer: how often a unit's strongest triggers share a token, and how often its value promotes what follows.

    `same_token` is the share of a unit's `top` triggers that hold their most common token; `agreement` the share of the
    tokens that follow them which are among the `promoted` tokens the value raises most; `chance` is the same share for
    the value of another unit of the layer. Units that fire on fewer than `top` tokens are not counted.

    **Source** Geva et al. 2021, Transformer Feed-Forward Layers Are Key-Value Memories, sections 3 and 4.
    """
    current, following, layers = corpus_keys(model)
    result: dict[str, list[float]] = {"same_token": [], "agreement": [], "chance": []}
    for block, hidden in zip(model.blocks, layers):
        units = np.flatnonzero((hidden > 0).sum(0) >= top)
        strongest = np.argsort(-hidden[:, units], axis=0)[:top]  # (top, units)
        raised = (block.ffn.W2.detach()[units] @ model.embedding.detach().T).topk(promoted).indices.numpy()
        result["same_token"].append(float(np.mean([most_common_share(current[rows]) for rows in strongest.T])))
        result["agreement"].append(overlap(following[strongest], raised))
        result["chance"].append(overlap(following[strongest], np.roll(raised, 1, axis=0)))
    return result


def most_common_share(tokens: np.ndarray) -> float:
    """Share of `tokens` equal to the most common one.

    >>> most_common_share(np.array([3, 3, 7, 3]))
    0.75
    """
    return float(np.unique(tokens, return_counts=True)[1].max() / len(tokens))


def overlap(following: np.ndarray, raised: np.ndarray) -> float:
    """Mean share of column i of `following` found in row i of `raised`."""
    return float(np.mean([np.isin(tokens, allowed).mean() for tokens, allowed in zip(following.T, raised)]))
