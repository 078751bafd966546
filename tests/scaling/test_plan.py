"""The models of the experiment: what they hold, and that one question varies one thing."""

import pytest

from ffnlib.ledger import count_model
from ffnlib.scaling.plan import BASE, CONTEXT, HEADS, LAYERS, WORDS, Shape, configurations, shape_for

FOUND = configurations()


def sizes(shape):
    """The same model as the ledger of lesson 07 wants it."""
    return {
        "name": "small",
        "vocab": WORDS,
        "d_model": shape.d_model,
        "n_layers": LAYERS,
        "n_heads": HEADS,
        "d_ff": shape.d_ff,
        "ffn_matrices": 2,
        "learned_positions": CONTEXT,
        "norm_vectors": 0,
        "tied": True,
    }


@pytest.mark.parametrize("name", [name for name, shape in FOUND.items() if shape.hidden_layers == 1])
def test_the_ledger_counts_the_same(name):
    shape = FOUND[name]
    ledger = count_model(sizes(shape))
    assert ledger.total == shape.total
    assert ledger.total - (WORDS + CONTEXT) * shape.d_model == shape.non_embedding


def test_widths_at_a_fixed_stream_differ_in_nothing_else():
    ours = [FOUND[name] for name in FOUND if name.startswith("d_ff")]
    assert {shape.d_model for shape in ours} == {FOUND[BASE].d_model}
    assert len({shape.d_ff for shape in ours}) == len(ours) == 3


def test_ratios_share_one_budget():
    budget = FOUND[BASE].non_embedding
    ours = {name: FOUND[name] for name in FOUND if name.startswith("ratio")}
    assert all(abs(shape.non_embedding / budget - 1) < 0.004 for shape in ours.values())
    # d is even and d_ff fills the budget, so the true ratio is a little off the nominal one
    assert all(abs(shape.ratio / float(name.split()[1]) - 1) < 0.1 for name, shape in ours.items())


def test_yardsticks_have_half_and_twice_the_parameters():
    budget = FOUND[BASE].non_embedding
    assert FOUND["N/2"].non_embedding / budget == pytest.approx(0.5, rel=0.01)
    assert FOUND["2N"].non_embedding / budget == pytest.approx(2, rel=0.01)
    assert all(abs(FOUND[name].ratio / 4 - 1) < 0.1 for name in ("N/2", "2N"))


def test_a_second_hidden_layer_costs_nothing_more():
    deep, base = FOUND["two hidden layers"], FOUND[BASE]
    assert (deep.non_embedding, deep.total, deep.d_model) == (base.non_embedding, base.total, base.d_model)
    assert deep.hidden_layers == 2


def test_heads_share_the_width_evenly():
    assert all(shape.d_model % HEADS == 0 for shape in FOUND.values())


def test_a_shape_for_a_budget_fills_it():
    shape = shape_for(3, 50_000)
    one_unit = 2 * LAYERS * shape.d_model
    assert abs(shape.non_embedding - 50_000) <= one_unit / 2


def test_parameters_grow_along_a_straight_line_in_d_ff():
    counts = [Shape(32, d_ff).non_embedding for d_ff in (10, 20, 30)]
    assert counts[2] - counts[1] == counts[1] - counts[0] == 10 * 2 * LAYERS * 32
