"""The exercises of every lesson, as data: lesson NN's are in `lessonNN.py`.

`CATALOGUE` is the table of contents. It names the exercises without importing them, so that a check loads only its own
lesson; a test keeps the two equal.
"""

from __future__ import annotations

import difflib
import importlib

from ffnlib.examination.exercise import Exercise

CATALOGUE: dict[str, tuple[str, ...]] = {
    "00_start_here": ("warm_up",),
    "01_formula": ("relu", "feed_forward", "feed_forward_columns", "linear_collapse"),
    "02_worked_examples": ("self_test_c", "trace_hidden"),
    "03_position_wise": ("is_positionwise", "conv1d_weight", "global_parameters"),
    "04_the_block": (
        "layer_norm",
        "rms_norm",
        "add_and_norm",
        "pre_norm",
        "post_norm",
        "transformer_block",
        "feed_forward_module",
    ),
    "05_activations": ("gelu", "gelu_tanh", "silu", "dead_units"),
    "06_gated_units": ("swiglu", "swiglu_fused", "swiglu_d_ff", "gated_ffn_parameters"),
    "07_counting_parameters": (
        "ffn_parameters",
        "attention_parameters",
        "decoder_parameters",
        "encoder_decoder_parameters",
        "ffn_share",
    ),
    "08_counting_flops": ("ffn_flops", "attention_flops", "crossover"),
    "09_sparsity": ("sparsity", "active_per_token", "sparse_feed_forward"),
    "10_mixture_of_experts": ("topk_route", "switch_route", "load_balance", "capacity", "moe_forward"),
    "11_key_value_memory": ("kv_contributions", "top_triggers", "value_distribution", "logit_lens"),
    "12_editing_facts": ("neuron_attribution", "rome_update", "rome_layer", "edit_scores"),
    "13_width_and_scale": ("non_embedding_parameters", "d_ff_for_budget"),
    "14_self_test": ("self_test_a", "self_test_b", "self_test_d", "self_test_e"),
}


def lesson_of(exercise_id: str) -> str:
    """Return the lesson an exercise belongs to.

    **Raises** KeyError for an unknown id, with the nearest known one.
    """
    for lesson, ids in CATALOGUE.items():
        if exercise_id in ids:
            return lesson
    known = [known_id for ids in CATALOGUE.values() for known_id in ids]
    near = difflib.get_close_matches(str(exercise_id), known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known are: {', '.join(known[:8])} ..."
    raise KeyError(f"there is no exercise {exercise_id!r}; {hint}")


def exercises(lesson: str) -> tuple[Exercise, ...]:
    """Return the exercises of a lesson, in order.

    **Raises** KeyError for an unknown lesson.
    """
    if lesson not in CATALOGUE:
        raise KeyError(f"there is no lesson {lesson!r}; known are: {', '.join(CATALOGUE)}")
    return importlib.import_module(f"ffnlib.examination.lessons.lesson{lesson[:2]}").EXERCISES


def exercise(exercise_id: str) -> Exercise:
    """Return the exercise of that id.

    **Raises** KeyError for an unknown id, with the nearest known one.
    """
    return next(found for found in exercises(lesson_of(exercise_id)) if found.id == exercise_id)
