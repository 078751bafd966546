"""Lesson 13: the non-embedding parameters of a model, and the width that a budget of them allows."""

from __future__ import annotations

from ffnlib.examination.exercise import Count, Exercise, Grammar, Misconception, call
from ffnlib.examination.lessons.lesson07 import four_d, inputs_of, one, plus, taking
from ffnlib.examination.slips import exact

# ---------------------------------------------------------------- non_embedding_parameters


def non_embedding_parameters(n_layers, d, d_ff):
    """Return the non-embedding parameters of a model whose attention is as wide as the model."""
    attention = 4 * d * d
    ffn = 2 * d * d_ff
    return n_layers * (attention + ffn)


def non_embedding_probes(rng):
    """Draw deep and shallow models, wide and narrow FFNs, one layer, and GPT-2 small."""
    d, other, narrow = (int(n) for n in rng.choice((7, 9, 11, 13, 17, 19), size=3, replace=False))
    d_ff = int(rng.integers(61, 120))
    return (
        call(3, d, d_ff),
        call(1, other, d_ff + 5),
        call(7, narrow, 5),
        call(12, 768, 3072),
        call(96, 12_288, 49_152),
        call(5, other + 1, other + 1),
    )


def non_embedding_terms(n_layers, d, d_ff):
    """Return the parts of the layers."""
    return {"attention": 4 * d * d * n_layers, "ffn": 2 * d * d_ff * n_layers}


WIDTH_INPUT = inputs_of(non_embedding_parameters)
NON_EMBEDDING_PARAMETERS = Exercise(
    id="non_embedding_parameters",
    probes=non_embedding_probes,
    oracle=non_embedding_parameters,
    returns=Count(),
    misconceptions=(
        Misconception("12 L d^2", lambda n_layers, d, d_ff: 12 * n_layers * d * d, "4d stands for d_ff: 12 d^2 a layer", "use the d_ff that is given"),
        Misconception("8 L d^2", lambda n_layers, d, d_ff: 8 * n_layers * d * d, "4d stands for d_ff, and attention is left out", "use the d_ff that is given, and add 4 d^2 for attention"),
        Misconception("attention left out", lambda n_layers, d, d_ff: 2 * n_layers * d * d_ff, "attention is left out", "each layer has attention as well: 4 d^2"),
        Misconception("FFN left out", lambda n_layers, d, d_ff: 4 * n_layers * d * d, "the FFNs are left out", "each layer has an FFN as well: 2 d d_ff"),
        Misconception("one layer", taking(non_embedding_parameters, n_layers=one), "one layer is counted instead of all", "multiply by n_layers"),
        Misconception("one FFN matrix", lambda n_layers, d, d_ff: n_layers * d * (4 * d + d_ff), "one of the two FFN matrices is left out", "W1 and W2: 2 d d_ff"),
        Misconception("gated", lambda n_layers, d, d_ff: n_layers * d * (4 * d + 3 * d_ff), "three FFN matrices are counted, as in a gated FFN", "W1 and W2: 2 d d_ff"),
        Misconception("3 d^2", lambda n_layers, d, d_ff: n_layers * d * (3 * d + 2 * d_ff), "the output projection is left out: attention is counted as 3 d^2", "queries, keys, values and output: 4 d^2"),
        Misconception("2 d^2", lambda n_layers, d, d_ff: n_layers * d * (2 * d + 2 * d_ff), "attention is counted as 2 d^2", "queries, keys, values and output: 4 d^2"),
        Misconception("d^2", lambda n_layers, d, d_ff: n_layers * d * (d + 2 * d_ff), "attention is counted as one matrix", "queries, keys, values and output: 4 d^2"),
        Misconception("d * 2 for d squared", lambda n_layers, d, d_ff: n_layers * (4 * d * 2 + 2 * d * d_ff), "2 d stands for d^2, as when * is typed for **", "a power is written **"),
        Misconception("roles exchanged", lambda n_layers, d, d_ff: 2 * d * n_layers * (2 * d_ff + d), "d and d_ff have changed places in the bracket", "attention is 4 d^2, so 2d stands in the bracket beside d_ff"),
        Misconception("half", lambda n_layers, d, d_ff: d * n_layers * (2 * d + d_ff), "half of everything is counted: the 2 in front is missing", "2 d n_layers (2d + d_ff)"),
        Misconception("twice", lambda n_layers, d, d_ff: 4 * d * n_layers * (2 * d + d_ff), "everything is counted twice", "2 d n_layers (2d + d_ff): once for each weight, without a 2 for operations"),
        Misconception("brackets lost", lambda n_layers, d, d_ff: 2 * d * n_layers * 2 * d + d_ff, "the brackets are lost: d_ff is added at the end", "2 d n_layers multiplies the whole bracket"),
        Misconception("layers only in attention", lambda n_layers, d, d_ff: 4 * n_layers * d * d + 2 * d * d_ff, "the FFN is counted once instead of in every layer", "n_layers multiplies attention and FFN"),
        Misconception("layers only in the FFN", lambda n_layers, d, d_ff: 4 * d * d + 2 * n_layers * d * d_ff, "attention is counted once instead of in every layer", "n_layers multiplies attention and FFN"),
        Misconception("FFN twice", lambda n_layers, d, d_ff: 4 * n_layers * d * (d + d_ff), "the FFNs are counted twice", "W1 and W2: 2 d d_ff"),
        Misconception("hidden square", lambda n_layers, d, d_ff: n_layers * (4 * d * d + 2 * d_ff * d_ff), "the FFN matrices are counted as d_ff times d_ff", "W1 leads from d to d_ff"),
        Misconception("biases counted", lambda n_layers, d, d_ff: n_layers * (4 * d * d + 2 * d * d_ff + d_ff + d), "the biases of the FFN are counted", "weights only"),
        Misconception("all biases counted", lambda n_layers, d, d_ff: n_layers * (4 * d * d + 2 * d * d_ff + d_ff + 5 * d), "the biases of FFN and attention are counted", "weights only"),
        Misconception("all vectors counted", lambda n_layers, d, d_ff: n_layers * (4 * d * d + 2 * d * d_ff + d_ff + 9 * d), "biases and LayerNorms are counted", "weights only"),
        Misconception("norms counted", lambda n_layers, d, d_ff: n_layers * (4 * d * d + 2 * d * d_ff + 4 * d), "two LayerNorms in each layer are counted", "weights only"),
        Misconception("RMSNorms counted", lambda n_layers, d, d_ff: n_layers * (4 * d * d + 2 * d * d_ff + 2 * d), "two norms of d in each layer are counted", "weights only"),
        Misconception("embedding counted", lambda n_layers, d, d_ff: n_layers * (4 * d * d + 2 * d * d_ff) + 50_257 * d, "an embedding of 50,257 words is added", "the embeddings are left out on purpose"),
        Misconception("cross-attention counted", lambda n_layers, d, d_ff: n_layers * (8 * d * d + 2 * d * d_ff), "two attentions are counted in every layer", "a layer has one attention: 4 d^2"),
        Misconception("a layer more", lambda n_layers, d, d_ff: (n_layers + 1) * (4 * d * d + 2 * d * d_ff), "one layer too many is counted", "n_layers layers"),
        Misconception("squared layers", lambda n_layers, d, d_ff: n_layers**2 * (4 * d * d + 2 * d * d_ff), "n_layers enters squared", "n_layers layers of the same size: multiply once"),
        Misconception("always GPT-2 small", lambda n_layers, d, d_ff: 84_934_656, "the number of GPT-2 small comes back for every size", "use the three arguments"),
    ),
    hints=(
        "Look at one layer: which matrices does attention have, and which the FFN?",
        "Attention of width d has 4 d^2 weights, the FFN 2 d d_ff; multiply by n_layers.",
        "return 2 * d * n_layers * (2 * d + ___)",
    ),
    why="4 d^2 + 2 d d_ff = 2 d (2d + d_ff); with d_ff = 4d it becomes 12 d^2 a layer.",
    grammar=Grammar(
        terms=non_embedding_terms,
        nouns={"attention": "attention", "ffn": "the FFNs"},
        inputs=(
            WIDTH_INPUT("4d stands for d_ff", d_ff=four_d),
            WIDTH_INPUT("one layer is counted instead of all", n_layers=one),
        ),
        edits=(
            ("one FFN matrix is counted", lambda terms, *args: {**terms, "ffn": terms["ffn"] // 2}),
            ("three FFN matrices are counted", lambda terms, *args: {**terms, "ffn": terms["ffn"] * 3 // 2}),
            ("attention is counted as 3 d^2", lambda terms, *args: {**terms, "attention": terms["attention"] * 3 // 4}),
            ("attention is counted as 2 d^2", lambda terms, *args: {**terms, "attention": terms["attention"] // 2}),
            ("attention is counted eight times, as once for each of eight heads", lambda terms, *args: {**terms, "attention": 8 * terms["attention"]}),
            ("the matrices of attention are counted as d times d_ff", lambda terms, n_layers, d, d_ff: {**terms, "attention": 4 * d * d_ff * n_layers}),
            ("the biases of the FFN are counted", plus(lambda n_layers, d, d_ff: n_layers * (d_ff + d))),
            ("b1 is counted", plus(lambda n_layers, d, d_ff: n_layers * d_ff)),
            ("the biases of attention are counted", plus(lambda n_layers, d, d_ff: 4 * d * n_layers)),
            ("two norms of d in each layer are counted", plus(lambda n_layers, d, d_ff: 2 * d * n_layers)),
            ("one norm of d in each layer is counted", plus(lambda n_layers, d, d_ff: d * n_layers)),
            ("a last norm of d is counted", plus(lambda n_layers, d, d_ff: d)),
            ("a table of 1,024 positions is counted", plus(lambda n_layers, d, d_ff: 1024 * d)),
            ("a table of 2,048 positions is counted", plus(lambda n_layers, d, d_ff: 2048 * d)),
            ("a last LayerNorm of 2d is counted", plus(lambda n_layers, d, d_ff: 2 * d)),
        ),
        factors=(
            ("everything is multiplied by 6, as for the operations of training on one token", lambda total, *args: 6 * total),
            ("everything is multiplied by 4, as for four bytes a parameter", lambda total, *args: 4 * total),
        ),
    ),
)


# ---------------------------------------------------------------- d_ff_for_budget


def d_ff_for_budget(budget, n_layers, d):
    """Return the largest d_ff whose model stays within the budget of non-embedding parameters."""
    widest = budget // (2 * d * n_layers) - 2 * d
    return max(0, widest)


def d_ff_for_budget_probes(rng):
    """Draw budgets that fit exactly, that miss by one, that lie between, that allow nothing, and a real one."""
    d, other = (int(n) for n in rng.choice((7, 9, 11, 13, 17, 19), size=2, replace=False))
    n_layers, width = int(rng.choice((3, 5, 7))), int(rng.integers(61, 120))
    size = 2 * d * n_layers
    exactly = size * (2 * d + width)
    return (
        call(exactly + size // 3, n_layers, d),
        call(exactly, n_layers, d),
        call(exactly - 1, n_layers, d),
        call(2 * other * (2 * other + width) + (3 * other) // 2, 1, other),
        call(4 * other * other * n_layers - 5, n_layers, other),
        call(84_934_656, 12, 768),
        call(89_000_000, 12, 768),
        call(3, n_layers, d),
        call(2 * other * n_layers * (2 * other + 3) + other, n_layers, other),
        call(2 * other * n_layers * 2 * other, n_layers, other),
    )


def budget_terms(budget, n_layers, d):
    """Return the budget, what a unit of width costs, and what attention costs."""
    return {"budget": budget, "unit": 2 * d * n_layers, "attention": 4 * d * d * n_layers}


def widest(terms, *args):
    """Return how many units of width the budget leaves."""
    return max(0, int((terms["budget"] - terms["attention"]) // terms["unit"]))


def _exact_width(budget, n_layers, d):
    return exact(budget - 4 * d * d * n_layers, 2 * d * n_layers)


BUDGET_INPUT = inputs_of(d_ff_for_budget)
D_FF_FOR_BUDGET = Exercise(
    id="d_ff_for_budget",
    probes=d_ff_for_budget_probes,
    oracle=d_ff_for_budget,
    returns=Count(),
    misconceptions=(
        Misconception("below zero", lambda budget, n_layers, d: budget // (2 * d * n_layers) - 2 * d, "a width below zero is returned when nothing fits", "the answer is 0 when nothing fits"),
        Misconception("below zero, cut", lambda budget, n_layers, d: int(_exact_width(budget, n_layers, d)), "a width below zero is returned when nothing fits, cut towards zero", "the answer is 0 when nothing fits"),
        Misconception("one layer, below zero", lambda budget, n_layers, d: budget // (2 * d) - 2 * d, "the whole budget is given to one layer, and a width below zero is returned when nothing fits", "the layers share the budget: divide by n_layers"),
        Misconception("not whole", lambda budget, n_layers, d: max(0, _exact_width(budget, n_layers, d)), "the width is not rounded down to a whole number", "a layer has a whole number of units: //"),
        Misconception("not whole, below zero", lambda budget, n_layers, d: _exact_width(budget, n_layers, d), "the width is neither rounded down nor kept at 0 when nothing fits", "use //, and max(0, ...)"),
        Misconception("rounded up", lambda budget, n_layers, d: max(0, -((4 * d * d * n_layers - budget) // (2 * d * n_layers))), "the width is rounded up, so the model exceeds the budget", "round down: the largest width within the budget"),
        Misconception("rounded", lambda budget, n_layers, d: max(0, round(_exact_width(budget, n_layers, d))), "the width is rounded to the nearest number, so the model may exceed the budget", "round down: the largest width within the budget"),
        Misconception("one too few", lambda budget, n_layers, d: max(0, budget // (2 * d * n_layers) - 2 * d - 1), "one less than the largest width is returned", "within the budget includes the budget itself"),
        Misconception("strictly below", lambda budget, n_layers, d: max(0, (budget - 1) // (2 * d * n_layers) - 2 * d), "a model that uses the whole budget is refused", "within the budget includes the budget itself"),
        Misconception("one too many", lambda budget, n_layers, d: max(0, budget // (2 * d * n_layers) - 2 * d + 1), "one more than the largest width is returned: the first that exceeds the budget", "the largest width within the budget"),
        Misconception("first that fits", lambda budget, n_layers, d: int(budget // (2 * d * n_layers) - 2 * d >= 1), "1 is returned wherever it fits, and nothing wider is tried", "a loop that returns the first width that fits returns the smallest: keep the largest"),
        Misconception("distance to the budget", lambda budget, n_layers, d: abs(budget - 4 * d * d * n_layers) // (2 * d * n_layers), "the sign is dropped where attention alone exceeds the budget", "the answer is 0 when nothing fits: max(0, ...)"),
        Misconception("attention ignored", lambda budget, n_layers, d: budget // (2 * d * n_layers), "attention is left out: the whole budget goes to the FFNs", "attention takes 4 d^2 in every layer"),
        Misconception("d subtracted", lambda budget, n_layers, d: max(0, budget // (2 * d * n_layers) - d), "attention is counted as 2 d^2", "4 d^2 divided by 2d is 2d"),
        Misconception("4d subtracted", lambda budget, n_layers, d: max(0, budget // (2 * d * n_layers) - 4 * d), "attention is counted as 8 d^2", "4 d^2 divided by 2d is 2d"),
        Misconception("3 d^2", lambda budget, n_layers, d: max(0, (budget - 3 * d * d * n_layers) // (2 * d * n_layers)), "attention is counted as 3 d^2: the output projection is left out", "queries, keys, values and output: 4 d^2"),
        Misconception("attention of one layer", lambda budget, n_layers, d: max(0, (budget - 4 * d * d) // (2 * d * n_layers)), "attention is counted once instead of in every layer", "attention takes 4 d^2 in every layer"),
        Misconception("embedding counted", lambda budget, n_layers, d: max(0, (budget - 50_257 * d - 4 * d * d * n_layers) // (2 * d * n_layers)), "an embedding of 50,257 words is paid from the budget", "the budget is one of non-embedding parameters"),
        Misconception("added", lambda budget, n_layers, d: budget // (2 * d * n_layers) + 2 * d, "2d is added instead of subtracted", "attention takes a part of the budget"),
        Misconception("one layer", lambda budget, n_layers, d: max(0, budget // (2 * d) - 2 * d), "the whole budget is given to one layer", "the layers share the budget: divide by n_layers"),
        Misconception("one matrix", lambda budget, n_layers, d: max(0, (budget - 4 * d * d * n_layers) // (d * n_layers)), "the FFN is counted with one matrix", "W1 and W2: each unit costs 2d"),
        Misconception("factor 2 missing", lambda budget, n_layers, d: max(0, budget // (d * n_layers) - 2 * d), "the 2 in front is missing", "2 d n_layers (2d + d_ff) is the size of the model"),
        Misconception("gated", lambda budget, n_layers, d: max(0, (budget - 4 * d * d * n_layers) // (3 * d * n_layers)), "the FFN is counted with three matrices, as a gated one has", "W1 and W2: each unit costs 2d"),
        Misconception("d left out", lambda budget, n_layers, d: max(0, budget // (2 * n_layers) - 2 * d), "d is left out of the division", "each unit of width costs 2d in every layer"),
        Misconception("d squared", lambda budget, n_layers, d: max(0, budget // (2 * d * d * n_layers) - 2 * d), "d enters squared in the division", "each unit of width costs 2d in every layer"),
        Misconception("4d", lambda budget, n_layers, d: 4 * d, "4d is returned, whatever the budget", "solve 2 d n_layers (2d + d_ff) <= budget for d_ff"),
        Misconception("2d at least", lambda budget, n_layers, d: max(2 * d, budget // (2 * d * n_layers) - 2 * d), "2d is the smallest width returned", "the answer is 0 when nothing fits"),
        Misconception("one at least", lambda budget, n_layers, d: max(1, budget // (2 * d * n_layers) - 2 * d), "1 is the smallest width returned", "the answer is 0 when nothing fits"),
        Misconception("absolute value", lambda budget, n_layers, d: abs(budget // (2 * d * n_layers) - 2 * d), "the sign of a width below zero is dropped", "the answer is 0 when nothing fits"),
        Misconception("multiple of 64", lambda budget, n_layers, d: max(0, budget // (2 * d * n_layers) - 2 * d) // 64 * 64, "the width is rounded down to a multiple of 64", "any whole number is allowed"),
        Misconception("multiple of 8", lambda budget, n_layers, d: max(0, budget // (2 * d * n_layers) - 2 * d) // 8 * 8, "the width is rounded down to a multiple of 8", "any whole number is allowed"),
        Misconception("biases counted", lambda budget, n_layers, d: max(0, (budget - 4 * d * d * n_layers - d * n_layers) // ((2 * d + 1) * n_layers)), "the biases of the FFN are counted", "weights only: 2 d n_layers (2d + d_ff)"),
        Misconception("norms counted", lambda budget, n_layers, d: max(0, (budget - 4 * d * d * n_layers - 4 * d * n_layers) // (2 * d * n_layers)), "two LayerNorms in each layer are counted", "weights only: 2 d n_layers (2d + d_ff)"),
        Misconception("what is left", lambda budget, n_layers, d: max(0, budget - 4 * d * d * n_layers), "the parameters left for the FFNs are returned", "divide them by what one unit of width costs"),
        Misconception("the budget of one layer", lambda budget, n_layers, d: budget // n_layers, "the budget of one layer is returned", "solve 2 d n_layers (2d + d_ff) <= budget for d_ff"),
        Misconception("the size of the model", lambda budget, n_layers, d: 2 * d * n_layers * (2 * d + max(0, budget // (2 * d * n_layers) - 2 * d)), "the size of the largest model is returned", "its d_ff is asked for"),
        Misconception("2d when nothing fits", lambda budget, n_layers, d: budget // (2 * d * n_layers) - 2 * d if budget >= 4 * d * d * n_layers else 2 * d, "2d is returned when nothing fits", "the answer is 0 when nothing fits"),
        Misconception("4d or nothing", lambda budget, n_layers, d: 4 * d if 12 * d * d * n_layers <= budget else 0, "4d is returned when it fits, and 0 otherwise", "the largest width within the budget, whatever its ratio to d"),
        Misconception("brackets lost", lambda budget, n_layers, d: budget // 2 * d * n_layers - 2 * d, "the brackets below the division are lost: d and n_layers multiply", "budget // (2 * d * n_layers)"),
        Misconception("2 instead of 2d", lambda budget, n_layers, d: max(0, budget // (2 * d * n_layers) - 2), "2 is subtracted instead of 2d", "4 d^2 divided by 2d is 2d"),
        Misconception("2 d n_layers subtracted", lambda budget, n_layers, d: max(0, budget // (2 * d) - 2 * d * n_layers), "n_layers multiplies the 2d instead of dividing the budget", "divide by 2 d n_layers, then subtract 2d"),
        Misconception("a block subtracted", lambda budget, n_layers, d: max(0, (budget - 12 * d * d * n_layers) // (2 * d * n_layers)), "12 d^2 a layer are subtracted, which holds an FFN already", "attention takes 4 d^2 in every layer"),
        Misconception("2 as 3", lambda budget, n_layers, d: max(0, budget // (3 * d * n_layers) - 2 * d), "the FFN is counted with three matrices and attention with 6 d^2: the 2 in front is a 3", "2 d n_layers (2d + d_ff) is the size of the model"),
        Misconception("2 as 4", lambda budget, n_layers, d: max(0, budget // (4 * d * n_layers) - 2 * d), "everything is counted twice: the 2 in front is a 4", "2 d n_layers (2d + d_ff) is the size of the model"),
        Misconception("-1 when nothing fits", lambda budget, n_layers, d: budget // (2 * d * n_layers) - 2 * d if budget >= 4 * d * d * n_layers else -1, "-1 is returned when nothing fits", "the answer is 0 when nothing fits"),
    ),
    hints=(
        "Look at the size of the model, 2 d n_layers (2d + d_ff), and require it to be at most the budget.",
        "Divide by 2 d n_layers with //, which rounds down, subtract 2d, and keep the result at 0 or above.",
        "return max(0, budget // (2 * d * n_layers) - ___)",
    ),
    why="2 d n_layers (2d + d_ff) <= budget is d_ff <= budget / (2 d n_layers) - 2d; 2d is whole, so rounding down may come first.",
    grammar=Grammar(
        terms=budget_terms,
        nouns={"attention": "attention"},
        inputs=(BUDGET_INPUT("the whole budget is given to one layer", n_layers=one),),
        edits=(
            ("attention is counted once instead of in every layer", lambda terms, budget, n_layers, d: {**terms, "attention": 4 * d * d}),
            ("attention is counted as 3 d^2", lambda terms, *args: {**terms, "attention": exact(3 * terms["attention"], 4)}),
            ("attention is counted as 2 d^2", lambda terms, *args: {**terms, "attention": exact(terms["attention"], 2)}),
            ("attention is counted as d^2", lambda terms, *args: {**terms, "attention": exact(terms["attention"], 4)}),
            ("the FFN is counted with one matrix", lambda terms, *args: {**terms, "unit": exact(terms["unit"], 2)}),
            ("the FFN is counted with three matrices", lambda terms, *args: {**terms, "unit": exact(3 * terms["unit"], 2)}),
            ("b1 is counted", lambda terms, budget, n_layers, d: {**terms, "unit": terms["unit"] + n_layers}),
            ("b2 is counted", lambda terms, budget, n_layers, d: {**terms, "budget": terms["budget"] - n_layers * d}),
            ("two norms of d in each layer are counted", lambda terms, budget, n_layers, d: {**terms, "budget": terms["budget"] - 2 * n_layers * d}),
            ("a model that uses the whole budget is refused", lambda terms, *args: {**terms, "budget": terms["budget"] - 1}),
        ),
        factors=(
            ("the width is rounded down to a multiple of 64", lambda total, *args: total // 64 * 64),
            ("the width is rounded down to a multiple of 32", lambda total, *args: total // 32 * 32),
            ("the width is rounded down to a multiple of 16", lambda total, *args: total // 16 * 16),
            ("the width is rounded down to a multiple of 128", lambda total, *args: total // 128 * 128),
            ("the width is rounded down to a multiple of 256", lambda total, *args: total // 256 * 256),
            ("the width is rounded down to an even number", lambda total, *args: total // 2 * 2),
            ("the width is cut to 4d", lambda total, budget, n_layers, d: min(total, 4 * d)),
        ),
        combine=widest,
    ),
)

EXERCISES = (NON_EMBEDDING_PARAMETERS, D_FF_FOR_BUDGET)
