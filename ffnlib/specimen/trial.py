"""A trial of rank-one edits over a sample of known facts: does the edit take, and what else does it change?"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import numpy as np
import torch

from ffnlib import editing
from ffnlib.specimen import knowledge as corpus
from ffnlib.specimen.batches import padded
from ffnlib.specimen.knowledge import Fact
from ffnlib.specimen.measure import answers, hidden_names
from ffnlib.specimen.model import Specimen, intervene
from ffnlib.specimen.picture import subject_span
from ffnlib.specimen.tokenizer import load_tokenizer

FITTED = 3  # wordings an edit is fitted on, each alone and after a sentence
CONTEXT = "we must do this work together ."


def known_facts(model: Specimen, in_every_wording: bool = True) -> list[Fact]:
    """Facts answered rightly in all twelve wordings, or in the first held-out one alone, which is faster."""
    kinds = ("trained", "held_out") if in_every_wording else ("held_out",)
    asked = [
        (fact, text)
        for fact in corpus.facts()
        for kind in kinds
        for text in corpus.prompts(fact, kind)[: None if in_every_wording else 1]
    ]
    right = answers(model, asked)
    wrong = {fact for (fact, _), is_right in zip(asked, right) if not is_right}
    return [fact for fact in corpus.facts() if fact not in wrong]


def sample(known: Sequence[Fact], n: int, seed: int) -> list[tuple[Fact, str]]:
    """`n` known facts, relations in turn, each with another object of its relation."""
    rng = random.Random(seed)
    piles = {relation: [fact for fact in known if fact.relation == relation] for relation in corpus.RELATIONS}
    chosen = []
    for place in range(n):
        relation = corpus.RELATIONS[place % len(corpus.RELATIONS)]
        fact = piles[relation].pop(rng.randrange(len(piles[relation])))
        others = sorted({other.object for other in corpus.facts() if other.relation == relation} - {fact.object})
        chosen.append((fact, rng.choice(others)))
    return chosen


def fitted_texts(fact: Fact) -> list[str]:
    """The texts an edit of `fact` is fitted on."""
    texts = corpus.prompts(fact, "trained")[:FITTED]
    return [*texts, *(f"{CONTEXT} {text}" for text in texts)]


def fitted_prompts(fact: Fact) -> list[list[int]]:
    """The prompts an edit of `fact` is fitted on."""
    return [load_tokenizer().prompt(text) for text in fitted_texts(fact)]


def subject_places(fact: Fact) -> list[int]:
    """The place of the subject's last token in each of `fitted_prompts`."""
    return [subject_span(fact, text)[1] for text in fitted_texts(fact)]


def questions(fact: Fact, new: str, known: Sequence[Fact], rng: random.Random, n: int = 40) -> dict:
    """What to ask after `fact` was changed to `new`, as prompts with the token wanted."""
    number, prompt = load_tokenizer().number, load_tokenizer().prompt
    others = [f for f in known if f.relation == fact.relation and f.subject != fact.subject and f.object != new]
    same_subject = [f for f in known if f.subject == fact.subject and f.relation != fact.relation]
    kind = corpus.COUNTRY_RELATIONS if fact.relation in corpus.COUNTRY_RELATIONS else corpus.PERSON_RELATIONS
    unrelated = [f for f in known if f.relation not in kind]

    def about(chosen: Iterable[Fact]) -> list:
        return [(prompt(corpus.prompts(f, "held_out")[0]), number[f.object]) for f in chosen]

    wordings = (*corpus.prompts(fact, "trained")[FITTED:], *corpus.prompts(fact, "held_out"))
    return {
        "fitted": [(p, number[new]) for p in fitted_prompts(fact)],
        "wordings": [(prompt(text), number[new]) for text in wordings],
        "neighbours": about(rng.sample(others, min(n, len(others)))),
        "same_subject": about(same_subject),
        "unrelated": about(rng.sample(unrelated, n // 2)),
    }


def covariance(model: Specimen, layer: int, sentences: int = 1200, seed: int = 0) -> np.ndarray:
    """Key covariance of a layer over training sentences, facts and prose in their training proportion."""
    rng = random.Random(seed)
    n_facts = round(0.72 * sentences)
    rows = rng.sample(corpus.sentences(), n_facts) + rng.sample(list(corpus.prose()), sentences - n_facts)
    keys = editing.keys_everywhere(model, layer, [load_tokenizer().prompt(text) for text in rows])
    return editing.key_covariance(keys)


def trial(
    model: Specimen, n: int, layer: int = -1, with_covariance: bool = True, alpha: float = 1.0, seed: int = 0
) -> list[dict]:
    """Scores of `n` edits at the last token of `layer`, one row per fact; a zero key gives a row that says so."""
    layer %= model.config.n_layers
    known, rng = known_facts(model), random.Random(seed)
    C = covariance(model, layer) if with_covariance else None
    rows = []
    for fact, new in sample(known, n, seed):
        row = {"subject": fact.subject, "relation": fact.relation, "object": fact.object, "new": new}
        try:
            edit = editing.rank_one_edit(
                model, layer, fitted_prompts(fact), load_tokenizer().number[new], C, alpha, largest=float("inf")
            )  # however large: the mean change of W2 is one of the figures
        except editing.ZeroKey:
            rows.append({**row, "zero_key": True})
            continue
        before = model.blocks[layer].ffn.W2.detach().numpy()
        with editing.edited(model, edit):
            scores = editing.score(model, questions(fact, new, known, rng))
        rows.append({**row, "zero_key": False, **scores, "relative_change": editing.relative_change(before, edit.W2)})
    return rows


def zero_keys(model: Specimen) -> list[dict[str, float]]:
    """Per layer, how often no unit fires at the last token: share of the edits of all facts, and of single prompts.

    An edit's key is the mean over the prompts it is fitted on, and zero when no unit fires on any of them.
    """
    prompts = [prompt for fact in corpus.facts() for prompt in fitted_prompts(fact)]
    silent = np.concatenate(
        [silent_layers(model, prompts[start : start + 600]) for start in range(0, len(prompts), 600)]
    )
    by_fact = silent.reshape(len(corpus.facts()), -1, model.config.n_layers)  # (facts, prompts of an edit, n_layers)
    edits, single = by_fact.all(axis=1).mean(0), silent.mean(0)
    return [{"edit": float(edit), "prompt": float(prompt)} for edit, prompt in zip(edits, single)]


def silent_layers(model: Specimen, prompts: Sequence[Sequence[int]]) -> np.ndarray:
    """Which layers have no active unit at the last token of each prompt, (prompts, n_layers)."""
    tokens, last = padded(prompts)
    with torch.no_grad(), intervene(model, dict.fromkeys(hidden_names(model))) as seen:
        model(torch.from_numpy(tokens))
    keys = np.stack([seen[name].numpy()[np.arange(len(last)), last] for name in hidden_names(model)], axis=1)
    return np.linalg.norm(keys, axis=-1) <= editing.NEAR_ZERO


def mean_scores(rows: Sequence[dict]) -> dict[str, float]:
    """Mean of each score over the edits that were possible."""
    done = [row for row in rows if not row["zero_key"]]
    names = ("fitted", "wordings", "neighbours", "same_subject", "unrelated", "relative_change")
    return {name: float(np.nanmean([row[name] for row in done])) for name in names}
