"""Edits of many facts at every layer and place, beside what causal tracing and attribution say of the same facts.

`python3 -m ffnlib.specimen.sweep` runs the shipped model (some minutes) and writes `weights/sweep.json`, which the
lesson on editing reads. Every list there has one entry for each fact of `facts`, in that order.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from ffnlib import editing
from ffnlib.editing import Recorded, finish, moved, record, value_changes
from ffnlib.specimen import SHA256, load, trial
from ffnlib.specimen import knowledge as corpus
from ffnlib.specimen.files import WEIGHTS
from ffnlib.specimen.knowledge import Fact
from ffnlib.specimen.model import Specimen, intervene
from ffnlib.specimen.picture import subject_span
from ffnlib.specimen.tokenizer import load_tokenizer

MODELS = ("plain",)
FACTS = 105  # fifteen of each relation
SEED = 0
PLACES = ("last", "subject")
DRAWS = 8
TOP = (5, 20)
STEPS = (0.25, 0.5, 0.75, 1.5, 2.0)
WORN = (1, 2, 5, 10, 20, 40, 70, 105)  # edits after which a model that is edited on and on is asked
SWEEP = WEIGHTS / "sweep.json"


@dataclass(frozen=True)
class Setting:
    """Where an edit goes, whether it uses the key covariance, and which part of the step it takes."""

    layer: int
    place: str
    with_covariance: bool = True
    step: float = 1.0

    def __str__(self) -> str:
        step = "" if self.step == 1 else f" step {self.step:g}"
        return f"{self.place} {self.layer}{'' if self.with_covariance else ' without C'}{step}"


def settings(n_layers: int) -> list[Setting]:
    """Every layer at both places; at the last token also without C; in the last layer also with other steps."""
    with_C = [Setting(layer, place) for place in PLACES for layer in range(n_layers)]
    without = [Setting(layer, "last", with_covariance=False) for layer in range(n_layers)]
    return with_C + without + [Setting(n_layers - 1, "last", step=step) for step in STEPS]


@dataclass(frozen=True)
class Case:
    """One fact, the object it is changed to, and what is asked afterwards: prompts with the token wanted, by kind."""

    fact: Fact
    new: str
    questions: dict[str, list[tuple[list[int], int]]]
    own: list[tuple[list[int], int]]  # the fact itself, in every wording it is known in
    same_object: list[tuple[list[int], int]]  # other subjects with the same object

    @property
    def target(self) -> int:
        return load_tokenizer().number[self.new]


def cases(model: Specimen, n: int = FACTS, seed: int = SEED, known: Sequence[Fact] | None = None) -> list[Case]:
    """`n` known facts, relations in turn, each with what to ask; a case does not depend on the others."""
    known = trial.known_facts(model) if known is None else known
    return [case(model, fact, new, known, seed) for fact, new in trial.sample(known, n, seed)]


def case(model: Specimen, fact: Fact, new: str, known: Sequence[Fact], seed: int = SEED) -> Case:
    """One fact with what to ask, drawn by a seed of its own."""
    number, prompt = load_tokenizer().number, load_tokenizer().prompt
    asked = trial.questions(fact, new, known, random.Random(f"{seed} {fact.subject} {fact.relation}"))
    never_seen = [prompt(text) for text in corpus.prompts(fact, "new")]
    right = editing.predicted(model, never_seen) == number[fact.object]
    asked["new_wordings"] = [(p, number[new]) for p, was_right in zip(never_seen, right) if was_right]
    own = [
        (prompt(text), number[fact.object]) for kind in ("trained", "held_out") for text in corpus.prompts(fact, kind)
    ]
    others = [f for f in known if f.object == fact.object and f.subject != fact.subject]
    same = [(prompt(corpus.prompts(f, "held_out")[0]), number[f.object]) for f in others[:20]]
    return Case(fact, new, asked, own, same)


# ---------------------------------------------------------------- edits


def edits(model: Specimen, chosen: Sequence[Case], wanted: Sequence[Setting]) -> dict[str, list[dict]]:
    """For each setting, one row of scores for each case. No weight changes: edits are tried on recorded values."""
    result = {}
    places = _places_of_prompts(chosen)
    for layer in sorted({setting.layer for setting in wanted}):
        asked = record(model, layer, [list(prompt) for prompt in places])
        C = trial.covariance(model, layer)
        for place in PLACES:
            here = [setting for setting in wanted if (setting.layer, setting.place) == (layer, place)]
            if here:
                keys, changes = keys_and_changes(model, layer, place, chosen)
                for setting in here:
                    directions = _directions(keys, C if setting.with_covariance else None)
                    result[str(setting)] = [
                        _scores(model, asked, places, one, key, direction, setting.step * change)
                        for one, key, direction, change in zip(chosen, keys, directions, changes)
                    ]
    return {str(setting): result[str(setting)] for setting in wanted}


def keys_and_changes(
    model: Specimen, layer: int, place: str, chosen: Sequence[Case]
) -> tuple[torch.Tensor, torch.Tensor]:
    """The key and the change of value of every case, (cases, d_ff) and (cases, d_model)."""
    prompts = [prompt for one in chosen for prompt in trial.fitted_prompts(one.fact)]
    owner = torch.tensor([n for n, one in enumerate(chosen) for _ in trial.fitted_prompts(one.fact)])
    fitted = record(model, layer, prompts)
    at, keep = fitted.last, None
    if place == "subject":
        at = torch.tensor([place for one in chosen for place in trial.subject_places(one.fact)])
        keep = _to_keep(model, layer, chosen)
    keys = fitted.keys(at).reshape(len(chosen), -1, model.config.d_ff).mean(1)
    targets = torch.tensor([one.target for one in chosen])
    return keys, value_changes(model, fitted, at, owner, targets, keep=keep)


def _to_keep(model: Specimen, layer: int, chosen: Sequence[Case]) -> tuple[Recorded, torch.Tensor, torch.Tensor]:
    """One wording of each other relation of every subject: what an edit at the subject must be told to leave alone."""
    rows = [
        (load_tokenizer().prompt(text), subject_span(other, text)[1], n)
        for n, one in enumerate(chosen)
        for other in corpus.facts()
        if other.subject == one.fact.subject and other.relation != one.fact.relation
        for text in corpus.prompts(other, "trained")[:1]
    ]
    prompts, places, owner = zip(*rows)
    return record(model, layer, prompts), torch.tensor(places), torch.tensor(owner)


def _directions(keys: torch.Tensor, C: np.ndarray | None) -> torch.Tensor:
    """`editing.key_direction` of every key at once; zeros for a zero key."""
    keys64 = keys.double().numpy()
    u = keys64 if C is None else np.linalg.solve(C, keys64.T).T
    along = np.sum(u * keys64, axis=1, keepdims=True)
    return torch.from_numpy(np.divide(u, along, out=np.zeros_like(u), where=along > 0)).float()


def _places_of_prompts(chosen: Sequence[Case]) -> dict[tuple[int, ...], int]:
    """Every prompt that is asked after some edit, numbered."""
    prompts = {tuple(prompt) for one in chosen for asked in one.questions.values() for prompt, _ in asked}
    return {prompt: number for number, prompt in enumerate(sorted(prompts))}


def _scores(
    model: Specimen, asked: Recorded, places: dict, one: Case,
    key: torch.Tensor, direction: torch.Tensor, change: torch.Tensor,
) -> dict[str, float]:  # fmt: skip
    """Share answered as wanted by kind of question, and how large the edit is; nothing for a zero key."""
    if key.norm() <= editing.NEAR_ZERO:
        return {"key_length": 0.0}
    rows = [(kind, places[tuple(prompt)], wanted) for kind, some in one.questions.items() for prompt, wanted in some]
    recorded = asked.rows([row for _, row, _ in rows])
    with torch.no_grad():
        logits = finish(model, recorded, moved(recorded, direction, change))
    answers, probability = logits.argmax(-1).numpy(), logits.softmax(-1)[:, one.target].numpy()
    kinds, wanted = np.array([kind for kind, _, _ in rows]), np.array([token for _, _, token in rows])
    share = {kind: _mean((answers == wanted)[kinds == kind]) for kind in one.questions}
    W2 = model.blocks[asked.layer].ffn.W2
    return {
        **share,
        "p_new": _mean(probability[kinds == "wordings"]),
        "leak": _mean((answers == one.target)[kinds == "neighbours"]),
        "relative_change": float(direction.norm() * change.norm() / W2.norm()),
        "key_length": float(key.norm()),
    }


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else math.nan


# ---------------------------------------------------------------- edit upon edit


def one_after_another(model: Specimen, chosen: Sequence[Case], layer: int, with_covariance: bool) -> dict[str, list]:
    """Edit every case in turn, each on the model the edits before it left, and ask after some of them.

    `edited` is the share of the facts edited so far that answer their new object, `others` the share of facts never
    edited that are still right, `prose` the share of prose continued as before, `change` that of W2, relative.
    A key of this layer does not depend on its W2: keys and directions are found once.
    """
    C = trial.covariance(model, layer) if with_covariance else None
    fitted = [record(model, layer, trial.fitted_prompts(one.fact)) for one in chosen]
    directions = _directions(torch.stack([recorded.keys().mean(0) for recorded in fitted]), C)
    W2 = model.blocks[layer].ffn.W2
    total, asked = torch.zeros_like(W2), _asked_of_a_worn_model(model, layer, chosen)
    before = {kind: _answers(model, recorded, total) for kind, recorded in asked.items()}
    result: dict[str, list] = {"edits": [], "edited": [], "others": [], "prose": [], "change": []}
    for number, (one, recorded, direction) in enumerate(zip(chosen, fitted, directions), 1):
        now = replace(recorded, residual=recorded.residual + recorded.hidden @ total)
        owner, target = torch.zeros(len(now), dtype=torch.long), torch.tensor([one.target])
        total = total + torch.outer(direction, value_changes(model, now, now.last, owner, target)[0])
        if number in WORN:
            after = {kind: _answers(model, recorded, total) for kind, recorded in asked.items()}
            wanted = np.array([done.target for done in chosen[:number]])
            row = {
                "edits": number, "edited": _mean(after["edited"][:number] == wanted),
                "others": _mean(after["others"] == before["others"]), "prose": _mean(after["prose"] == before["prose"]),
                "change": float(total.norm() / W2.norm()),
            }  # fmt: skip
            for name, value in row.items():
                result[name].append(value)
    return result


def _asked_of_a_worn_model(model: Specimen, layer: int, chosen: Sequence[Case], n: int = 200) -> dict[str, Recorded]:
    """Each edited fact in its first wording, `n` other facts, and the first eight words of `n` sentences of prose."""
    prompt, rng = load_tokenizer().prompt, random.Random(SEED)
    edited = {one.fact for one in chosen}
    others = rng.sample([fact for fact in corpus.facts() if fact not in edited], n)
    texts = {
        "edited": [corpus.prompts(one.fact, "trained")[0] for one in chosen],
        "others": [corpus.prompts(fact, "held_out")[0] for fact in others],
        "prose": [" ".join(text.split()[:8]) for text in corpus.prose("prose_validation")[:n]],
    }
    return {kind: record(model, layer, [prompt(text) for text in some]) for kind, some in texts.items()}


@torch.no_grad()
def _answers(model: Specimen, recorded: Recorded, total: torch.Tensor) -> np.ndarray:
    """The most probable next token with `total` added to W2."""
    return finish(model, recorded, recorded.residual + recorded.hidden @ total).argmax(-1).numpy()


# ---------------------------------------------------------------- tracing and attribution of the same facts


def traces(model: Specimen, chosen: Sequence[Case]) -> dict[str, list[float]]:
    """Probability of each case's object that one restored value brings back, mean over the fitted wordings."""
    rows = [trace_of(model, one.fact) for one in chosen]
    return {name: [row[name] for row in rows] for name in rows[0]}


def trace_of(model: Specimen, fact: Fact) -> dict[str, float]:
    """Keys are "clean", "disturbed", and site, place and layer as in "ffn last 3"."""
    found = []
    for text in corpus.prompts(fact, "trained")[: trial.FITTED]:
        prompt, subject = load_tokenizer().prompt(text), subject_span(fact, text)
        wanted = load_tokenizer().number[fact.object]
        one = editing.trace(model, prompt, subject, wanted, places=(len(prompt) - 1, subject[1]), draws=DRAWS)
        restored = {
            f"{site} {place} {layer}": float(value[layer, column])
            for site, value in one.restored.items()
            for column, place in enumerate(PLACES)
            for layer in range(len(value))
        }
        found.append({"clean": one.clean, "disturbed": one.disturbed, **restored})
    return {name: float(np.mean([row[name] for row in found])) for name in found[0]}


def neurons(model: Specimen, chosen: Sequence[Case], seed: int = SEED) -> dict[str, list]:
    """The strongest units of every fact, and what is still answered rightly with some units silenced."""
    rows = [neurons_of(model, one, np.random.default_rng([seed, n])) for n, one in enumerate(chosen)]
    return {name: [row[name] for row in rows] for name in rows[0]}


def neurons_of(model: Specimen, one: Case, rng: np.random.Generator) -> dict[str, object]:
    """`units` are numbered layer * d_ff + unit; the shares are named by what is silenced and what is asked."""
    prompts = [prompt for prompt, _ in one.own]
    attributions = editing.attribution(model, prompts, load_tokenizer().number[one.fact.object])
    fires = np.stack([record(model, layer, prompts).keys().numpy().max(0) > 0 for layer in range(len(attributions))])
    top = editing.strongest(attributions, TOP[-1])
    silenced = {f"top {n}": top[:n] for n in TOP}
    silenced[f"random {TOP[-1]}"] = editing.others_that_fire(fires, top, rng)
    asked = {"own": one.own, "same_object": one.same_object}
    for kind in ("neighbours", "same_subject", "unrelated"):
        asked[kind] = one.questions[kind]
    asked["neighbours"] = [(p, w) for p, w in asked["neighbours"] if w != load_tokenizer().number[one.fact.object]]
    row: dict[str, object] = {"units": [layer * model.config.d_ff + unit for layer, unit in top]}
    for name, units in silenced.items():
        with intervene(model, editing.silence(units)):
            row |= {f"{name}: {kind}": share for kind, share in editing.score(model, asked).items()}
    return row


# ---------------------------------------------------------------- the file


def sweep(name: str, n: int = FACTS) -> dict:
    """Everything the file says of one model."""
    model = load(name)
    known = trial.known_facts(model)
    chosen = cases(model, n, known=known)
    rows = edits(model, chosen, settings(model.config.n_layers))
    columns = dict.fromkeys(key for of_setting in rows.values() for row in of_setting for key in row)
    return {
        "weights": SHA256[name],
        "known": len(known),
        "facts": [
            {"subject": one.fact.subject, "relation": one.fact.relation, "object": one.fact.object, "new": one.new}
            for one in chosen
        ],
        "edits": {
            setting: {column: [row.get(column, math.nan) for row in of_setting] for column in columns}
            for setting, of_setting in rows.items()
        },
        "one_after_another": {
            "with C": one_after_another(model, chosen, model.config.n_layers - 1, True),
            "without C": one_after_another(model, chosen, model.config.n_layers - 1, False),
        },
        "trace": traces(model, chosen),
        "neurons": neurons(model, chosen),
    }


def read(name: str = "plain") -> dict:
    """What the shipped file says of a model, its numbers as arrays; an edit that was not possible has nan.

    **Raises** ValueError when the file was made with other weights than those shipped.
    """
    found = json.loads(SWEEP.read_text(encoding="utf-8"))[name]
    if found["weights"] != SHA256[name]:
        raise ValueError(f"{SWEEP.name} was made with other weights of {name!r}: run python3 -m ffnlib.specimen.sweep")
    columns = {
        setting: {column: np.array(values, dtype=np.float64) for column, values in of_setting.items()}
        for setting, of_setting in found["edits"].items()
    }
    return {**found, "edits": columns, "trace": {key: np.array(values) for key, values in found["trace"].items()}}


def rounded(value: object) -> object:
    """Numbers to four digits and nan as null, so that the file is plain JSON."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    if isinstance(value, float):
        return None if math.isnan(value) else float(f"{value:.4g}")
    return value


def write(names: Sequence[str] = MODELS) -> None:
    """Run the models of `names` and write the file; others keep what stands there."""
    before = json.loads(SWEEP.read_text(encoding="utf-8")) if SWEEP.exists() else {}
    found = {**before, **{name: rounded(sweep(name)) for name in names}}
    lines = json.dumps(found, separators=(",", ":")).replace('],"', '],\n"').replace('},"', '},\n"')
    SWEEP.write_text(lines + "\n", encoding="utf-8")


if __name__ == "__main__":
    torch.set_num_threads(1)
    write(sys.argv[1:] or MODELS)
