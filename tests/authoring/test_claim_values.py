"""The numbers of the table of claims: computed here once more, and found in the lesson that decides."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from ffnlib.activations import gelu, gelu_tanh
from ffnlib.authoring import build, claims
from ffnlib.authoring.notebook import lesson_files, read
from ffnlib.ledger import count_model, known_model, known_models

CLAIMS = {claim.id: claim for claim in claims.load()}
FILES = {file.stem: file for file in lesson_files(build.ROOT)}
STATEMENTS = list(csv.DictReader((Path(__file__).with_name("statements.csv")).open(encoding="utf-8")))


# ---- every statement of the documents has a claim, and the claim a verdict and a cell -------------


@pytest.mark.parametrize("row", STATEMENTS, ids=lambda row: row["statement"])
def test_a_statement_is_decided(row):
    names = row["claims"].split()
    if not names or not set(names) <= set(CLAIMS):
        assert row["lesson"] and row["lesson"] not in FILES, "its lesson is written: name the claim that decides"
    for claim in (CLAIMS[name] for name in names if name in CLAIMS):
        if claim.lesson in FILES:
            assert claim.verdict != "open" and claims.decided_by(claim, {claim.lesson: read(FILES[claim.lesson])})


def test_a_statement_is_of_a_document_and_stands_once():
    assert {row["document"] for row in STATEMENTS} == {claim.document for claim in CLAIMS.values()}
    found = [(row["document"], row["statement"]) for row in STATEMENTS]
    assert len(set(found)) == len(found) > 75


def test_nothing_is_open_once_all_lessons_are_written():
    if len(FILES) == 15:
        assert [claim.id for claim in CLAIMS.values() if claim.verdict == "open"] == []
        assert [row["statement"] for row in STATEMENTS if not row["claims"]] == []
        assert {claim.lesson for claim in CLAIMS.values()} <= set(FILES)


# ---- numbers, computed from the ledger, the arrays and the functions themselves -------------------


def part(model, word):
    """Return the parameters of the rows of a model's ledger whose names hold a word."""
    return sum(row.one * row.copies for row in count_model(model).rows if word in row.name)


def ratio(model):
    row = known_model(model)
    return f"{row['d_ff'] / row['d_model']:g}"


def flops(T, d):
    return 16 * T * d**2, 4 * T**2 * d, 8 * T * d**2


def has_full_heads(row):
    return (
        "latent_attention" not in row
        and row["n_kv_heads"] == row["n_heads"]
        and row["n_heads"] * row["head_dim"] == row["d_model"]
    )


def ffn_to_attention(name, T):
    """Return the FLOPs of the FFN over those of attention, for models whose heads each have keys and values."""
    row = known_model(name)
    d = row["d_model"]
    return 2 * row["ffn_matrices"] * d * row["d_ff"] / (8 * d**2 + 4 * T * d)


def tanh_error():
    x = np.linspace(-8, 8, 160_001)
    return np.abs(gelu(x) - gelu_tanh(x)).max()


PLAIN = [row for row in known_models() if "experts" not in row]
BASE, LLAMA, XXL = "AIAYN base (V=37000)", "LLaMA-7B", "T5-v1.1-XXL"
ONE = 2 * 512 * 2048 + 2048 + 512
FFN, CORE, PROJECTIONS = flops(2048, 4096)
COMPUTED = {
    "S0-02": lambda: [
        f"{part(XXL, 'decoder FFN') / (part(XXL, 'decoder attention') + part(XXL, 'cross-attention')):.2f}",
        f"{(part(BASE, 'decoder attention') + part(BASE, 'cross-attention')) // 6:,}",
        f"{part(BASE, 'decoder FFN') // 6:,}",
    ],
    "S0-04": lambda: [ratio(name) for name in (LLAMA, "Mistral-7B-v0.1", "Gemma-2B", "T5-3B", "T5-11B")],
    "S0-08": lambda: [f"{part(LLAMA, 'FFN') / part(LLAMA, 'attention'):.3f}"],
    "S0-09": lambda: [
        f"{known_model('PaLM-540B')['d_model']} to {known_model('PaLM-540B')['d_ff']}",
        f"{known_model('GPT-NeoX-20B')['d_model']} to {known_model('GPT-NeoX-20B')['d_ff']}",
    ],
    "S0-11": lambda: [f"{count_model(LLAMA).total:,}", str(known_model(LLAMA)["d_ff"])],
    "S0-14": lambda: [f"{FFN / CORE * 2048 / 4096:g}d", f"{(FFN - PROJECTIONS) / CORE * 2048 / 4096:g}d"],
    "S0-16": lambda: [f"{(2048 * 4096) ** 2:,}"],
    "S0-18": lambda: [f"{FFN:,}", f"{CORE:,}", f"{FFN / CORE:g} : 1", f"{FFN / (CORE + PROJECTIONS):g} : 1"],
    "S0-23": lambda: [f"{FFN / (CORE + PROJECTIONS):g}", f"{FFN / CORE:g}"],
    "S0-25": lambda: [f"{100 * 5 * d / (8 * d * d):.2f} %" for d in (64, 512)],
    "S0-42": lambda: [f"{sum(has_full_heads(row) for row in known_models())} of {len(known_models())}"],
    "S0-45": lambda: [f"{sum(row['d_ff'] == 4 * row['d_model'] for row in PLAIN)} of {len(PLAIN)}"],
    "S0-46": lambda: [
        f"{ffn_to_attention(name, 2048):.2f}" for name in (LLAMA, "Pythia-70M", "OPT-125M")
    ],
    "S0-47": lambda: [f"{1 / ffn_to_attention(LLAMA, 129):.2f}", f"{1 / ffn_to_attention(LLAMA, 131_073):.1f}"],
    "S1-04": lambda: [str(2 * 4096)],
    "S1-23": lambda: [f"{(6 * 14_336 - 5 * 4096) // 4:,}", f"{3 * 14_336 * 4096 // (2 * 1024):,}"],
    "S2-11": lambda: [f"{min(float(ratio(LLAMA)), 4):g}", ratio("T5-11B")],
    "S2-42": lambda: [f"{sum(row['d_ff'] > 4 * row['d_model'] for row in PLAIN)} of {len(PLAIN)}"],
    "S3-01": lambda: [f"12 x {ONE:,} = {12 * ONE:,}"],
    "S3-06": lambda: [
        f"{12 * ONE:,}",
        f"{100 * 12 * ONE / 65e6:.1f} %",
        f"{100 * 12 * ONE / (count_model(BASE).total - part(BASE, 'embedding')):.0f} %",
    ],
    "S3-43": lambda: [f"{known_model('GPT-3 175B')['d_model']:,} to {known_model('GPT-3 175B')['d_ff']:,}"],
    "S4-02": lambda: [f"{tanh_error():.1e}".replace("e-04", "e-4")],
    "S4-45": lambda: [
        f"{sum(12 <= row['n_layers'] <= 24 for row in known_models())} of {len(known_models())}",
        f"{min(row['n_layers'] for row in known_models())} to {max(row['n_layers'] for row in known_models())}",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", COMPUTED)
def test_a_number_of_the_table_is_what_it_is_when_computed_again(name):
    missing = [number for number in COMPUTED[name]() if number not in CLAIMS[name].because]
    assert missing == [], CLAIMS[name].because


NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def numbers(text):
    """Return the numbers of a text that say more than a small count does: three digits, or a decimal point."""
    found = {match.group().rstrip(",").replace(",", "") for match in NUMBER.finditer(text)}
    return {number for number in found if "." in number or len(number) > 2}


@pytest.mark.parametrize("lesson", FILES)
def test_every_number_of_the_table_stands_in_the_lesson_or_is_computed_here(lesson):
    cells = read(FILES[lesson])["cells"]
    shown = " ".join(
        str(output.get("data", {}).get("text/plain", output.get("text", "")))
        for cell in cells
        for output in cell.get("outputs", [])
    )
    shown += " ".join(cell["source"] for cell in cells).replace("_", "")
    for claim in (claim for claim in CLAIMS.values() if claim.lesson == lesson):
        computed = numbers(" ".join(COMPUTED.get(claim.id, list)()))
        assert numbers(claim.because) - computed - numbers(shown) == set(), f"{claim.id}: {claim.because}"
