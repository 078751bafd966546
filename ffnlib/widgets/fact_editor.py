"""Choose a fact, what it shall become, and where: what the specimen answers before and after the rank-one edit."""

import random
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ffnlib.figures import PALETTE, Picture, panel, style
from ffnlib.specimen import facts, load_tokenizer
from ffnlib.specimen.knowledge import RELATIONS
from ffnlib.widgets.controls import Choice, Slider, Toggle
from ffnlib.widgets.explorer import Explorer, explore

if TYPE_CHECKING:
    from ffnlib.specimen.knowledge import Fact

KINDS = {
    "fitted": "three wordings, fitted: new object",
    "wordings": "nine other wordings: new object",
    "neighbours": "same relation, other subjects: kept",
    "same_subject": "same subject, other relations: kept",
    "unrelated": "unrelated facts: kept",
}
ASKED_FOR_NEW = ("fitted", "wordings")
STEPS_OF_WORDS = (1.0, 0.9, 0.75, 0.5, 0.25, 0.1)


def fact_editor() -> Explorer | None:
    """Every fact of the specimen, every object as its new one, every layer."""
    subjects = sorted({fact.subject for fact in facts()})
    objects = sorted({fact.object for fact in facts()})
    return explore(
        fact_editor_picture,
        "Edit a fact",
        subject=Choice("subject", subjects, value="france"),
        relation=Choice("relation", RELATIONS),
        new=Choice("new object", objects, value="rome"),
        layer=Slider("layer", 0, 3, value=3),
        step=Slider("step, times the one found", 0.25, 2.0, step=0.25, value=1.0),
        with_covariance=Toggle("key covariance C", value=True),
    )


def fact_editor_picture(
    subject: str = "france", relation: str = "capital", new: str = "rome", layer: int = 3, step: float = 1.0,
    with_covariance: bool = True,
) -> Picture:  # fmt: skip
    """Bars for what is answered before and after the edit, by kind of question."""
    from ffnlib import editing

    fact, note = the_fact(subject, relation)
    try:
        outcome = edit_and_ask(fact, new, layer, step, with_covariance)
    except (editing.ZeroKey, editing.TooLarge) as refusal:
        outcome = Outcome(before_edit(fact, new), None, fact.object, str(refusal))
    return Picture(_figure(fact, new, layer, outcome), note + _words(fact, new, outcome))


@dataclass(frozen=True)
class Outcome:
    """Scores before and after an edit, what its first prompt is answered, and why there was no edit."""

    before: dict[str, float]
    after: dict[str, float] | None
    said: str
    refusal: str = ""


def the_fact(subject: str, relation: str) -> "tuple[Fact, str]":
    """The fact of this subject and relation, or another of the subject's with a sentence that says so.

    >>> the_fact("france", "job")[1]
    'The text says no job of france; its capital is used. '
    """
    own = [fact for fact in facts() if fact.subject == subject]
    for fact in own:
        if fact.relation == relation:
            return fact, ""
    return own[0], f"The text says no {relation} of {subject}; its {own[0].relation} is used. "


def edit_and_ask(fact: "Fact", new: str, layer: int, step: float, with_covariance: bool) -> Outcome:
    """Edit a model of the widget's own, ask, and undo it.

    **Raises** ZeroKey or TooLarge when the edit refuses.
    """
    from ffnlib import editing
    from ffnlib.specimen import trial

    model = _model()
    C = _covariance(layer) if with_covariance else None
    target = load_tokenizer().number[new]
    edit = editing.rank_one_edit(model, layer, trial.fitted_prompts(fact), target, C, step)
    before = before_edit(fact, new)
    with editing.edited(model, edit):
        after = editing.score(model, _questions(fact, new))
        said = editing.predicted(model, trial.fitted_prompts(fact)[:1])[0]
    return Outcome(before, after, load_tokenizer().words[said])


def before_edit(fact: "Fact", new: str) -> dict[str, float]:
    """The scores of the model as it is."""
    from ffnlib import editing

    return editing.score(_model(), _questions(fact, new))


@lru_cache(maxsize=1)
def _model() -> Any:
    from ffnlib import specimen

    return specimen.load("plain")


@lru_cache(maxsize=1)
def _known() -> "list[Fact]":
    from ffnlib.specimen import trial

    return trial.known_facts(_model(), in_every_wording=False)


@lru_cache(maxsize=4)
def _covariance(layer: int) -> np.ndarray:
    from ffnlib.specimen import trial

    return trial.covariance(_model(), layer)


def _questions(fact: "Fact", new: str) -> dict:
    from ffnlib.specimen import trial

    asked = trial.questions(fact, new, _known(), random.Random(0))
    return {kind: asked[kind] for kind in KINDS}


def _figure(fact: "Fact", new: str, layer: int, outcome: Outcome) -> Any:
    question = f"{fact.subject}, {fact.relation}: {fact.object}"
    finding = f"now {outcome.said}" if outcome.after else "the edit refuses"
    figure, axes = panel(f"{question} -> {new} in layer {layer}: {finding}", x_label="answered as wanted, %")
    rows = np.arange(len(KINDS))
    series = [("before", outcome.before, "quiet", "")]
    if outcome.after:
        series.append(("after", outcome.after, "value", "///"))
    with style():
        for place, (name, scores, role, hatch) in enumerate(series):
            lengths = [100 * np.nan_to_num(scores[kind]) for kind in KINDS]
            drawn = axes.barh(
                rows + 0.38 * place - 0.19, lengths, height=0.36, color=PALETTE[role], hatch=hatch, edgecolor="white",
                linewidth=0,
            )  # fmt: skip
            labels = [
                f"{name} {100 * scores[kind]:.0f}" if np.isfinite(scores[kind]) else f"{name}: none to ask"
                for kind in KINDS
            ]
            axes.bar_label(drawn, labels, padding=3)
        axes.set_yticks(rows, list(KINDS.values()))
        axes.invert_yaxis()
        axes.set_xlim(0, 135)
        axes.set_xticks(range(0, 101, 25))
    return figure


def _words(fact: "Fact", new: str, outcome: Outcome) -> str:
    if outcome.after is None:
        return f"Refused: {outcome.refusal}."
    kept = [kind for kind in KINDS if kind not in ASKED_FOR_NEW]
    least = min((outcome.after[kind] for kind in kept if np.isfinite(outcome.after[kind])), default=1.0)
    follow = how_many(outcome.after["wordings"])
    return (
        f"Asked for the {fact.relation} of {fact.subject}, the model says {outcome.said}; {follow} of the other "
        f"wordings say {new}, and of each kind that shall stay {how_many(least)} does."
    )


def how_many(share: float) -> str:
    """A share in words that hold on every machine.

    >>> how_many(0.93), how_many(1.0), how_many(0.02)
    ('at least 90 %', '100 %', 'less than 10 %')
    """
    if share == 1:
        return "100 %"
    for step in STEPS_OF_WORDS[1:]:
        if share >= step:
            return f"at least {100 * step:.0f} %"
    return "less than 10 %"
