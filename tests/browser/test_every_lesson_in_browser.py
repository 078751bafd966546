"""Every lesson from notebooks/, as a person goes through it: run all, be wrong, read why, mend, move what moves."""

import json
from pathlib import Path

import pytest

from .looking import WIDTHS

ROOT = Path(__file__).resolve().parents[2]
LESSONS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))

# One mistake that people make in each lesson: (exercise, what they write).
MISTAKES = {
    "00_start_here": ("warm_up", "def warm_up(x):\n    return x + 2"),
    "01_formula": ("relu", "def relu(x):\n    return np.abs(x)"),
    "02_worked_examples": ("self_test_c", "def self_test_c(W1, W2, x):\n    return W2 @ (W1 @ x)"),
    "03_position_wise": ("global_parameters", "def global_parameters(T, d):\n    return T * d * d"),
    "04_the_block": (
        "rms_norm",
        "def rms_norm(x, gamma, eps):\n    return gamma * x / np.sqrt(np.mean(x**2) + eps)",
    ),
    "05_activations": ("silu", "def silu(x):\n    return 1 / (1 + np.exp(-np.asarray(x, dtype=float)))"),
    "06_gated_units": ("gated_ffn_parameters", "def gated_ffn_parameters(d, d_ff):\n    return 2 * d * d_ff"),
    "07_counting_parameters": ("ffn_parameters", "def ffn_parameters(d, d_ff, bias):\n    return 2 * d * d_ff"),
    "08_counting_flops": ("ffn_flops", "def ffn_flops(batch, T, d, d_ff):\n    return batch * T * 2 * d * d_ff"),
    "09_sparsity": ("sparsity", "def sparsity(H):\n    return float(np.mean(np.asarray(H) != 0))"),
    "10_mixture_of_experts": (
        "capacity",
        "def capacity(tokens, experts, k, factor):\n    return int(tokens * k * factor / experts)",
    ),
    "11_key_value_memory": ("top_triggers", "def top_triggers(H, unit, k):\n    return np.argsort(H[:, unit])[:k]"),
    "12_editing_facts": (
        "rome_update",
        "def rome_update(W, C, k, v):\n    return W + np.outer(v - W @ k, k) / (k @ k)",
    ),
    "13_width_and_scale": (
        "non_embedding_parameters",
        "def non_embedding_parameters(n_layers, d, d_ff):\n    return n_layers * (4 * d * d + d * d_ff)",
    ),
    "14_self_test": ("self_test_a", "def self_test_a(d):\n    return 8 * d * d"),
}


def right_answer(lesson, exercise):
    """Return what the solved lesson writes into the answer cell."""
    cells = json.loads((ROOT / "solutions" / f"{lesson}.ipynb").read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        if (cell["metadata"]["ffn"]["role"], cell["metadata"]["ffn"].get("exercise")) == ("answer", exercise):
            return "".join(cell["source"])
    raise LookupError(f"{lesson} has no answer to {exercise}")


@pytest.mark.parametrize("file", LESSONS, ids=lambda file: file.stem)
def test_a_learner_goes_through_the_lesson(open_lesson_alone, file):
    go_through(open_lesson_alone(file, f"lab_{file.name}"), file.stem)


def go_through(page, lesson):
    """Do in an open lesson what a learner does, and look at it in both themes and every width."""
    page.run_all()
    assert page.errors() == []
    assert page.pictures_without_words() == []
    be_wrong_then_right(page, lesson)
    move_everything(page)
    assert page.moving() == []
    for theme in ("Dark", "Light"):
        page.theme(f"JupyterLab {theme}")
        for width in WIDTHS:
            page.resize(width)
            assert (width, page.violations(), page.too_wide()) == (width, [], [])
            page.photograph_all(f"{theme}_{width}")


def be_wrong_then_right(page, lesson):
    """Write a common mistake, read what is said of it, take a hint, and mend the answer."""
    exercise, mistake = MISTAKES[lesson]
    answer, check, hint = (page.cell(role, exercise) for role in ("answer", "check", "hint"))
    assert page.verdict(check)[0] == "untouched"
    page.run(answer, mistake)
    status, message = page.verdict(page.run(check))
    assert status == "not-yet" and "exactly what comes out" in message, message
    helped = page.run(hint, f'hint("{exercise}")')
    assert len(page.said(helped)) > 20
    page.run(answer, right_answer(lesson, exercise))
    status, message = page.verdict(page.run(check))
    assert status == "passed", message


def move_everything(page):
    """Move every control of every widget by its keys; picture and sentence of the widget follow."""
    for widget in page.widgets():
        before = (widget.words, widget.look())
        for control in widget.controls():
            assert control.move(), f"{page.name}: {control.name} stays where it is"
        assert widget.follows(before), f"{page.name}: neither picture nor sentence follows"
