"""The model card, from measurement: `python3 -m ffnlib.specimen.card [plain] [sparse]`.

`measure_all` runs the shipped weights (about three minutes) and writes `weights/measured.json`; `render` makes
CARD.md of that file, the training curves and the race, and nothing else.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ffnlib.specimen import SHA256, load
from ffnlib.specimen.files import WEIGHTS
from ffnlib.specimen.knowledge import COUNTRY_RELATIONS, RELATIONS, facts

MODELS = ("plain", "sparse")
CARD = Path(__file__).parent / "CARD.md"
EDITS = 70


def measure(name: str) -> dict:
    """Everything the card says of one model."""
    from ffnlib.specimen import measure as m
    from ffnlib.specimen import picture, trial

    model = load(name)
    layers = range(model.config.n_layers)
    known = trial.known_facts(model)
    trace = picture.mean_trace(model, known)
    return {
        "bytes": (WEIGHTS / f"{name}.safetensors").stat().st_size,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "prose": m.activity(model, m.prose_rows()),
        "trained_prose": m.activity(model, m.prose_rows("prose")),
        "facts": m.activity(model, m.fact_rows()),
        "known": m.known(model, ("trained", "held_out", "new")),
        "known_among_objects": m.known(model, ("trained", "held_out", "new"), among_objects=True),
        "facts_known_in_all_wordings": len(known),
        "zero_keys": trial.zero_keys(model),
        "edits": edits(model),
        "without_ffn": {
            "every layer": picture.facts_without_ffn(model, layers),
            **{f"layer {layer}": picture.facts_without_ffn(model, [layer]) for layer in layers},
        },
        "trace": {" ".join(map(str, key)) if isinstance(key, tuple) else key: value for key, value in trace.items()},
        "triggers": picture.triggers_and_values(model),
    }


def edits(model) -> dict:
    """Mean scores of rank-one edits per layer, and of the last layer without the key covariance."""
    from ffnlib.specimen import trial

    last = model.config.n_layers - 1
    settings = [(layer, True) for layer in range(last + 1)] + [(last, False)]
    result = {}
    for layer, with_covariance in settings:
        rows = trial.trial(model, EDITS, layer, with_covariance)
        name = f"layer {layer}" + ("" if with_covariance else ", C = I")
        result[name] = {**trial.mean_scores(rows), "zero_keys": sum(row["zero_key"] for row in rows)}
    return result


def measure_all(names: list[str]) -> None:
    """Measure the models of `names` and write `weights/measured.json`; others keep what stands there."""
    before = read("measured.json") if (WEIGHTS / "measured.json").exists() else {}
    measured = {name: measure(name) if name in names else before[name] for name in MODELS if name in (*names, *before)}
    (WEIGHTS / "measured.json").write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


def read(name: str) -> dict:
    return json.loads((WEIGHTS / name).read_text(encoding="utf-8"))


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def percent(numbers: list[float], digits: int = 1) -> str:
    return " / ".join(f"{100 * number:.{digits}f}" for number in numbers)


def identity(measured: dict) -> str:
    rows = []
    for name, m in measured.items():
        curve = read(f"{name}_curve.json")
        penalty = curve["recipe"]["l1"]
        how = "no penalty" if penalty == 0 else f"L1 {penalty:g} from step {int(0.4 * curve['recipe']['steps']):,}"
        cost = f"{curve['cpu_minutes']:.0f}"
        rows.append([f"`{name}`", how, f"{curve['curve'][-1]['step']:,}", cost, f"{m['bytes']:,}", f"`{SHA256[name]}`"])
    return table(["model", "how", "steps", "CPU minutes", "bytes", "sha256"], rows)


def outcome(measured: dict) -> str:
    rows = []
    for name, m in measured.items():
        rows.append([
            f"`{name}`", f"{m['prose']['loss']:.3f}", f"{m['trained_prose']['loss']:.3f}",
            percent(m["prose"]["active"]), percent(m["facts"]["active"]),
            percent(m["prose"]["dead"]), percent([keys["edit"] for keys in m["zero_keys"]]),
            percent([keys["prompt"] for keys in m["zero_keys"]]),
            f"{m['facts_known_in_all_wordings']} of {len(facts())}",
        ])  # fmt: skip
    head = [
        "model",
        "prose loss, nats",
        "on trained prose",
        "units active on prose, %, layers 0 / 1 / 2 / 3",
        "on facts, %",
    ]
    return table(
        [
            *head,
            "never active on prose, %",
            "zero keys of edits, %",
            "of single prompts, %",
            "facts right in all twelve wordings",
        ],
        rows,
    )


def knowledge_table(measured: dict) -> str:
    counts = {relation: sum(fact.relation == relation for fact in facts()) for relation in RELATIONS}
    rows = []
    for name, m in measured.items():
        for relation in RELATIONS:
            strict, among = m["known"][relation], m["known_among_objects"][relation]
            shares = [f"{100 * strict[kind]:.1f}" for kind in ("trained", "held_out", "new")]
            rows.append([f"`{name}`", relation, str(counts[relation]), *shares, f"{100 * among['new']:.1f}"])
    head = [
        "model",
        "relation",
        "facts",
        "wordings trained with it, %",
        "seen with other subjects only, %",
        "never seen, %",
    ]
    return table([*head, "never seen, among the relation's objects, %"], rows)


def curve_table(name: str) -> str:
    rows = []
    for point in read(f"{name}_curve.json")["curve"]:
        training = "" if point["train_loss"] is None else f"{point['train_loss']:.2f}"
        rows.append([
            f"{point['step']:,}", f"{point['step'] * 1536 / 1e6:.2f}", training, f"{point['prose']['loss']:.3f}",
            percent(point["prose"]["active"]), percent(point["facts"]["active"]), percent(point["prose"]["dead"]),
            percent(known_by_kind(point["known"], "held_out")),
        ])  # fmt: skip
    head = ["step", "million tokens", "training loss", "prose loss", "active on prose, %", "active on facts, %"]
    return table([*head, "never active on prose, %", "held-out facts right, %: countries / people"], rows)


def known_by_kind(shares: dict, kind: str) -> list[float]:
    """Countries and people, weighted by the number of facts."""
    counts = {relation: sum(fact.relation == relation for fact in facts()) for relation in RELATIONS}
    groups = (COUNTRY_RELATIONS, [relation for relation in RELATIONS if relation not in COUNTRY_RELATIONS])
    return [sum(shares[r][kind] * counts[r] for r in group) / sum(counts[r] for r in group) for group in groups]


def edit_table(measured: dict) -> str:
    rows = []
    for name, m in measured.items():
        for place, s in m["edits"].items():
            scores = [f"{s[key]:.2f}" for key in ("fitted", "wordings", "neighbours", "same_subject", "unrelated")]
            rows.append([f"`{name}`", place, *scores, f"{s['relative_change']:.2f}", str(s["zero_keys"])])
    head = ["model", "where", "fitted wordings", "other wordings", "neighbours kept", "same subject kept"]
    return table([*head, "unrelated kept", "change of W2", f"zero keys of {EDITS}"], rows)


def without_table(measured: dict) -> str:
    places = list(next(iter(measured.values()))["without_ffn"])
    rows = []
    for name, m in measured.items():
        rows.append([f"`{name}`", *(percent(list(m["without_ffn"][place].values()), 0) for place in places)])
    return table(["model", *(f"{place} off" for place in places)], rows)


def trace_table(measured: dict) -> str:
    rows = []
    for name, m in measured.items():
        for site in ("residual", "attention", "ffn"):
            for place in ("subject", "last"):
                values = [f"{m['trace'][f'{site} {place} {layer}']:.2f}" for layer in range(4)]
                rows.append([f"`{name}`", f"{site}, {place} token", *values])
    return table(["model", "restored", "layer 0", "layer 1", "layer 2", "layer 3"], rows)


def trigger_table(measured: dict) -> str:
    rows = [[f"`{name}`", *(percent(m["triggers"][key], 0) for key in m["triggers"])] for name, m in measured.items()]
    return table(["model", "same token, %", "value promotes what follows, %", "another unit's value does, %"], rows)


def race_table() -> str:
    rows = []
    for row in read("race.json"):
        parts = [row["activation"], str(row["seed"]), f"{row['parameters']:,}", f"{row['loss']:.3f}"]
        rows.append([*parts, percent(row["above_zero"]), percent(list(row["held_out"].values()))])
    head = ["activation", "seed", "parameters", "prose loss", "above zero on prose, %, layers 0 / 1"]
    return table([*head, "held-out facts right, %: countries / people"], rows)


def render() -> str:
    """CARD.md as text."""
    measured = read("measured.json")
    text = (Path(__file__).parent / "card_text.md").read_text(encoding="utf-8")
    tables = {
        "IDENTITY": identity(measured), "OUTCOME": outcome(measured), "KNOWLEDGE": knowledge_table(measured),
        "CURVE_PLAIN": curve_table("plain"), "CURVE_SPARSE": curve_table("sparse"), "EDITS": edit_table(measured),
        "WITHOUT": without_table(measured), "TRACE": trace_table(measured), "TRIGGERS": trigger_table(measured),
        "RACE": race_table(),
    }  # fmt: skip
    for name, content in tables.items():
        text = text.replace(f"{{{name}}}", content)
    return text


if __name__ == "__main__":
    measure_all(sys.argv[1:] or list(MODELS))
    CARD.write_text(render(), encoding="utf-8")
