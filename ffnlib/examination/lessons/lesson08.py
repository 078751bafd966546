"""Lesson 08: how many operations the FFN and attention take, and from which length on attention takes more."""

from __future__ import annotations

import math

from ffnlib.examination.exercise import Count, Exercise, Grammar, Misconception, call
from ffnlib.examination.lessons.lesson07 import four_d, inputs_of, one, plus, taking, without
from ffnlib.examination.slips import exact

# ---------------------------------------------------------------- ffn_flops


def ffn_flops(batch, T, d, d_ff):
    """Return the FLOPs of the forward pass of one ungated FFN."""
    multiply_adds = batch * T * (d * d_ff + d_ff * d)
    return 2 * multiply_adds


def ffn_flops_probes(rng):
    """Draw batches of sequences: one sequence, one token, wide and narrow layers, and a real size."""
    d, d_ff, T = int(rng.integers(7, 20)), int(rng.integers(61, 120)), int(rng.integers(23, 50))
    return (
        call(3, T, d, d_ff),
        call(1, T + 6, d + 4, d_ff + 3),
        call(5, 1, d, 4 * d),
        call(7, T, d + 20, 5),
        call(1, 2048, 4096, 16_384),
        call(2, 53, 11, 11),
    )


FLOPS_INPUT = inputs_of(ffn_flops)
FFN_FLOPS = Exercise(
    id="ffn_flops",
    probes=ffn_flops_probes,
    oracle=ffn_flops,
    returns=Count(),
    misconceptions=(
        Misconception("multiply-adds counted once", lambda batch, T, d, d_ff: 2 * batch * T * d * d_ff, "each multiply-add is counted once, or one of the two products is left out", "a multiply-add is two operations, and the layer has two products"),
        Misconception("one product, counted once", lambda batch, T, d, d_ff: batch * T * d * d_ff, "one product is counted, and each of its multiply-adds once", "a multiply-add is two operations, and the layer has two products"),
        Misconception("batch left out", lambda batch, T, d, d_ff: 4 * T * d * d_ff, "one sequence is counted instead of the batch", "every sequence of the batch goes through the layer"),
        Misconception("T left out", lambda batch, T, d, d_ff: 4 * batch * d * d_ff, "one position is counted instead of T", "every position goes through the layer"),
        Misconception("one token", lambda batch, T, d, d_ff: 4 * d * d_ff, "one token is counted instead of batch times T", "every position of every sequence goes through the layer"),
        Misconception("parameters", lambda batch, T, d, d_ff: 2 * d * d_ff, "the parameters are counted", "every token uses each weight in one multiply-add, which is two operations"),
        Misconception("T squared", lambda batch, T, d, d_ff: 4 * batch * T * T * d * d_ff, "T enters squared, as in attention", "each position goes through the layer alone"),
        Misconception("batch squared", lambda batch, T, d, d_ff: 4 * batch * batch * T * d * d_ff, "the batch enters squared", "the sequences do not meet in the layer"),
        Misconception("d_ff taken as 4d", taking(ffn_flops, d_ff=four_d), "4d stands for d_ff: 16 T d^2 for each sequence", "use the d_ff that is given"),
        Misconception("8 T d^2", lambda batch, T, d, d_ff: 8 * batch * T * d * d, "4d stands for d_ff, and each multiply-add is counted once", "use the d_ff that is given; a multiply-add is two operations"),
        Misconception("16 T d^2", lambda batch, T, d, d_ff: 16 * T * d * d, "4d stands for d_ff, and one sequence is counted instead of the batch", "use the d_ff and the batch that are given"),
        Misconception("gated", lambda batch, T, d, d_ff: 6 * batch * T * d * d_ff, "three products are counted, as in a gated FFN", "the ungated layer has two products"),
        Misconception("gated, counted once", lambda batch, T, d, d_ff: 3 * batch * T * d * d_ff, "three products are counted, as in a gated FFN, and each multiply-add once", "two products, and two operations for each multiply-add"),
        Misconception("forward and backward", lambda batch, T, d, d_ff: 12 * batch * T * d * d_ff, "the backward pass is counted as well: three times the forward pass", "the forward pass alone is asked for"),
        Misconception("backward only", lambda batch, T, d, d_ff: 8 * batch * T * d * d_ff, "twice the forward pass is counted, as the backward pass takes", "the forward pass alone is asked for"),
        Misconception("biases counted", lambda batch, T, d, d_ff: batch * T * (4 * d * d_ff + d_ff + d), "the additions of the biases are counted", "only the matrix products are asked for"),
        Misconception("biases and activation counted", lambda batch, T, d, d_ff: batch * T * (4 * d * d_ff + 2 * d_ff + d), "the additions of the biases and the activation are counted", "only the matrix products are asked for"),
        Misconception("activation counted", lambda batch, T, d, d_ff: batch * T * (4 * d * d_ff + d_ff), "the activation is counted", "only the matrix products are asked for"),
        Misconception("one addition fewer", lambda batch, T, d, d_ff: batch * T * ((2 * d - 1) * d_ff + (2 * d_ff - 1) * d), "a sum of n products is counted with n - 1 additions", "here a multiply-add is 2, also the first"),
        Misconception("sides added", lambda batch, T, d, d_ff: 4 * batch * T * (d + d_ff), "the sides of the matrices are added instead of multiplied", "a product of (n, d) and (d, d_ff) takes n times d times d_ff multiply-adds"),
        Misconception("model square", lambda batch, T, d, d_ff: 4 * batch * T * d * d, "d stands for d_ff", "W1 leads from d to d_ff"),
        Misconception("hidden square", lambda batch, T, d, d_ff: 4 * batch * T * d_ff * d_ff, "d_ff stands for d", "W1 leads from d to d_ff"),
        Misconception("batch and T added", lambda batch, T, d, d_ff: 4 * (batch + T) * d * d_ff, "batch and T are added instead of multiplied", "batch sequences of T positions are batch times T tokens"),
        Misconception("attention included", lambda batch, T, d, d_ff: 4 * batch * T * d * d_ff + batch * (8 * T * d * d + 4 * T * T * d), "the operations of attention are added", "only the FFN is asked for"),
        Misconception("6 N per token", lambda batch, T, d, d_ff: 6 * d * d_ff, "six operations for one product are counted for one token", "forward only: two operations for each weight and token"),
        Misconception("only the flag of a real size", lambda batch, T, d, d_ff: 549_755_813_888, "the number for T = 2048, d = 4096 and d_ff = 4d comes back for every size", "use the four arguments"),
    ),
    hints=(
        "Look at one token first: how many multiply-adds does x @ W1 take, and how many the second product?",
        "Every weight is used once by every token, in one multiply-add, which is 2 FLOPs; there are batch * T tokens.",
        "return ___ * batch * T * d * d_ff",
    ),
    why="2 FLOPs for each weight and token, 2 d d_ff weights, batch times T tokens: with d_ff = 4d that is 16 T d^2 for each sequence.",
    grammar=Grammar(
        terms=lambda batch, T, d, d_ff: {"products": 4 * batch * T * d * d_ff},
        nouns={},
        inputs=(
            FLOPS_INPUT("one sequence is counted instead of the batch", batch=one),
            FLOPS_INPUT("one position is counted instead of T", T=one),
            FLOPS_INPUT("4d stands for d_ff", d_ff=four_d),
            FLOPS_INPUT("T enters squared", T=lambda T, **_: T * T),
            FLOPS_INPUT("two thirds of d_ff stand for d_ff", d_ff=lambda d_ff, **_: exact(2 * d_ff, 3)),
        ),
        edits=(
            ("three products are counted, as in a gated FFN", lambda terms, *args: {**terms, "products": exact(terms["products"] * 3, 2)}),
            ("each multiply-add is counted once, or one of the two products is left out", lambda terms, *args: {**terms, "products": exact(terms["products"], 2)}),
            ("the sides of the matrices are added instead of multiplied", lambda terms, batch, T, d, d_ff: {**terms, "products": 4 * batch * T * (d + d_ff)}),
            ("the additions of b1 are counted", plus(lambda batch, T, d, d_ff: batch * T * d_ff)),
            ("the additions of b2 are counted", plus(lambda batch, T, d, d_ff: batch * T * d)),
            ("attention's 8 T d^2 for the projections are added", plus(lambda batch, T, d, d_ff: batch * 8 * T * d * d)),
            ("attention's 4 T^2 d are added", plus(lambda batch, T, d, d_ff: batch * 4 * T * T * d)),
        ),
        factors=(
            ("the backward pass is counted as well: three times the forward pass", lambda total, *args: 3 * total),
            ("everything is multiplied by d_ff / d once more", lambda total, batch, T, d, d_ff: exact(total * d_ff, d)),
        ),
    ),
)


# ---------------------------------------------------------------- attention_flops


def attention_flops(T, d):
    """Return the FLOPs of attention over one unmasked sequence, its four projections included."""
    projections = 4 * (2 * T * d * d)
    scores = 2 * T * T * d
    weighted_values = 2 * T * T * d
    return projections + scores + weighted_values


def attention_flops_probes(rng):
    """Draw short and long sequences, one token, T = d, and a real size."""
    d, T = int(rng.integers(7, 20)), int(rng.integers(23, 60))
    return (
        call(T, d),
        call(T // 5, d + 30),
        call(1, d + 2),
        call(2048, 4096),
        call(d, d),
        call(1001, 3),
    )


def attention_flop_terms(T, d):
    """Return the FLOPs of the products in attention."""
    return {"q": 2 * T * d * d, "k and v": 4 * T * d * d, "o": 2 * T * d * d, "scores": 2 * T * T * d, "values": 2 * T * T * d}


ATTENTION_INPUT = inputs_of(attention_flops)
ATTENTION_FLOPS = Exercise(
    id="attention_flops",
    probes=attention_flops_probes,
    oracle=attention_flops,
    returns=Count(),
    misconceptions=(
        Misconception("projections left out", lambda T, d: 4 * T * T * d, "the four projections are left out", "queries, keys, values and output are matrix products as well"),
        Misconception("projections only", lambda T, d: 8 * T * d * d, "only the projections are counted", "scores and mixing are two products of T^2 d multiply-adds each"),
        Misconception("multiply-adds counted once", lambda T, d: 4 * T * d * d + 2 * T * T * d, "each multiply-add is counted once", "a multiply-add is two operations"),
        Misconception("projections left out, counted once", lambda T, d: 2 * T * T * d, "the four projections are left out, and each multiply-add is counted once, or only one of the two products", "queries, keys, values and output are matrix products as well; a multiply-add is two operations"),
        Misconception("mixing left out", lambda T, d: 8 * T * d * d + 2 * T * T * d, "only one of scores and mixing is counted", "the T by T weights meet the keys once and the values once"),
        Misconception("causal half", lambda T, d: 8 * T * d * d + 2 * T * (T + 1) * d, "only the scores a causal mask leaves are counted", "the sequence is unmasked: every position sees all T"),
        Misconception("causal half without the diagonal", lambda T, d: 8 * T * d * d + 2 * T * (T - 1) * d, "only the scores below the diagonal are counted", "the sequence is unmasked: every position sees all T"),
        Misconception("three projections", lambda T, d: 6 * T * d * d + 4 * T * T * d, "the output projection is left out", "four projections: queries, keys, values, output"),
        Misconception("one projection", lambda T, d: 2 * T * d * d + 4 * T * T * d, "one projection is counted", "four projections: queries, keys, values, output"),
        Misconception("two projections", lambda T, d: 4 * T * d * d + 4 * T * T * d, "two projections are counted, or each multiply-add in the projections once", "four projections of T d^2 multiply-adds, two operations each"),
        Misconception("products counted once", lambda T, d: 8 * T * d * d + T * T * d, "scores and mixing are counted as one product of T^2 d operations", "two products of T^2 d multiply-adds, two operations each"),
        Misconception("projections of one position", lambda T, d: 8 * d * d + 4 * T * T * d, "the projections of one position are counted instead of those of T", "every position is projected"),
        Misconception("per position", lambda T, d: 8 * d * d + 4 * T * d, "one position is counted instead of the sequence", "multiply by the T positions"),
        Misconception("d squared in the scores", lambda T, d: 8 * T * d * d + 4 * T * T * d * d, "the scores are counted with d^2", "a score is a dot product of d numbers"),
        Misconception("scores without d", lambda T, d: 8 * T * d * d + 4 * T * T, "the scores are counted without d", "a score is a dot product of d numbers"),
        Misconception("linear in T", lambda T, d: 8 * T * d * d + 4 * T * d, "the scores are counted as growing with T, not with T^2", "every position has a score with every position"),
        Misconception("T and d exchanged", lambda T, d: attention_flops(d, T), "T and d have changed places", "the projections take T d^2, the scores T^2 d"),
        Misconception("T squared in the projections", lambda T, d: 8 * T * T * d * d + 4 * T * T * d, "the projections are counted with T^2", "each position is projected alone"),
        Misconception("T * 2 for T squared", lambda T, d: 8 * T * d * d + 4 * 2 * T * d, "2 T stands for T^2, as when * is typed for **", "a power is written **"),
        Misconception("d * 2 for d squared", lambda T, d: 8 * T * 2 * d + 4 * T * T * d, "2 d stands for d^2, as when * is typed for **", "a power is written **"),
        Misconception("softmax counted", lambda T, d: 8 * T * d * d + 4 * T * T * d + 3 * T * T, "three operations of the softmax are counted for each score", "only the matrix products are asked for"),
        Misconception("scale and softmax counted", lambda T, d: 8 * T * d * d + 4 * T * T * d + 5 * T * T, "five operations of scale and softmax are counted for each score", "only the matrix products are asked for"),
        Misconception("softmax counted once", lambda T, d: 8 * T * d * d + 4 * T * T * d + T * T, "one operation is added for each score", "only the matrix products are asked for"),
        Misconception("parameters", lambda T, d: 4 * d * d, "the parameters are counted", "the operations on T positions are asked for"),
        Misconception("forward and backward", lambda T, d: 3 * (8 * T * d * d + 4 * T * T * d), "the backward pass is counted as well: three times the forward pass", "the forward pass alone is asked for"),
        Misconception("FFN included", lambda T, d: 24 * T * d * d + 4 * T * T * d, "the FFN's 16 T d^2 are added", "only attention is asked for"),
        Misconception("the FFN", lambda T, d: 16 * T * d * d, "the FFN's 16 T d^2 are returned", "attention is asked for"),
        Misconception("biases counted", lambda T, d: 8 * T * d * d + 4 * T * T * d + 4 * T * d, "the additions of four biases are counted", "only the matrix products are asked for"),
        Misconception("three products", lambda T, d: 8 * T * d * d + 6 * T * T * d, "three products with T^2 d multiply-adds are counted", "two: the scores and the mixing"),
        Misconception("four products", lambda T, d: 8 * T * d * d + 8 * T * T * d, "scores and mixing are counted twice", "two products, two operations for each multiply-add"),
        Misconception("T cubed", lambda T, d: 8 * T * d * d + 4 * T**3, "the scores are counted with T^3", "a score is a dot product of d numbers"),
        Misconception("one addition fewer", lambda T, d: 4 * T * d * (2 * d - 1) + T * T * (2 * d - 1) + T * d * (2 * T - 1), "a sum of n products is counted with n - 1 additions", "here a multiply-add is 2, also the first"),
    ),
    hints=(
        "Look for the six matrix products: four projections, the scores, and the weights times the values.",
        "A projection takes T d d multiply-adds; scores and mixing take T T d each; a multiply-add is 2 FLOPs.",
        "return 8 * T * d * d + ___ * T * T * d",
    ),
    why="Projections grow with T, scores and mixing with T squared: 8 T d^2 + 4 T^2 d, and the heads change nothing in it.",
    grammar=Grammar(
        terms=attention_flop_terms,
        nouns={"o": "the output projection", "scores": "one of scores and mixing"},
        inputs=(ATTENTION_INPUT("one position stands for T", T=one),),
        edits=(
            ("the four projections are left out", without("q", "k and v", "o")),
            ("the projections are counted twice", lambda terms, *args: {**terms, "q": 4 * terms["q"], "k and v": 0, "o": 4 * terms["o"]}),
            ("scores and mixing are left out", without("scores", "values")),
            ("two projections are counted, or each multiply-add in the projections once", lambda terms, *args: {**terms, "q": 0, "o": 0}),
            ("the projections of one position are counted instead of those of T", lambda terms, T, d: {**terms, "q": 2 * d * d, "k and v": 4 * d * d, "o": 2 * d * d}),
            ("scores and mixing are counted for one position", lambda terms, T, d: {**terms, "scores": 2 * T * d, "values": 2 * T * d}),
            ("each multiply-add is counted once", lambda terms, *args: {name: exact(value, 2) for name, value in terms.items()}),
            ("scores and mixing are counted without d", lambda terms, T, d: {**terms, "scores": 2 * T * T, "values": 2 * T * T}),
            ("the projections are counted with d instead of d^2", lambda terms, T, d: {**terms, "q": 2 * T * d, "k and v": 4 * T * d, "o": 2 * T * d}),
            ("one operation is added for each score", plus(lambda T, d: T * T)),
            ("two operations are added for each score", plus(lambda T, d: 2 * T * T)),
            ("three operations of the softmax are added for each score", plus(lambda T, d: 3 * T * T)),
            ("the additions of one bias are counted", plus(lambda T, d: T * d)),
            ("the additions of four biases are counted", plus(lambda T, d: 4 * T * d)),
            ("an FFN's 16 T d^2 are added", plus(lambda T, d: 16 * T * d * d)),
        ),
        factors=(
            ("one position is counted instead of the sequence", lambda total, T, d: exact(total, T)),
            ("the backward pass is counted as well: three times the forward pass", lambda total, *args: 3 * total),
        ),
    ),
)


# ---------------------------------------------------------------- crossover


def crossover(d, d_ff, projections):
    """Return the length T at which attention takes as many FLOPs as the FFN."""
    if not projections:
        return d_ff  # 4 T^2 d = 4 T d d_ff
    return max(0, d_ff - 2 * d)  # 8 T d^2 + 4 T^2 d = 4 T d d_ff


def crossover_probes(rng):
    """Draw wide and narrow layers, with and without projections; d_ff below, at and above 2d."""
    d, wide, narrow = int(rng.integers(7, 30)), int(rng.integers(91, 200)), int(rng.integers(31, 60))
    return (
        call(d, wide, True),
        call(d, wide + 1, False),
        call(narrow, narrow + 3, True),
        call(narrow, narrow - 8, False),
        call(narrow, 2 * narrow, True),
        call(4096, 16_384, False),
        call(4096, 11_008, True),
        call(512, 2048, True),
        call(narrow, 5, True),
        call(d, 2 * d + 1, True),
    )


def crossover_terms(d, d_ff, projections):
    """Return the FLOPs of one position (FFN, projections, scores and values a position seen), and the least length."""
    return {"ffn": 4 * d * d_ff, "projections": 8 * d * d if projections else 0, "scores": 4 * d, "least": 0}


def solve_for_length(terms, *args):
    """Return the length at which FFN and attention take the same."""
    return max(terms["least"], exact(terms["ffn"] - terms["projections"], terms["scores"]))


CROSSOVER_INPUT = inputs_of(crossover)
CROSSOVER = Exercise(
    id="crossover",
    probes=crossover_probes,
    oracle=crossover,
    returns=Count(),
    misconceptions=(
        Misconception("projections ignored", lambda d, d_ff, projections: d_ff, "the projections are left out, whatever `projections` says", "with projections attention already takes 8 T d^2 before the scores"),
        Misconception("projections always", lambda d, d_ff, projections: max(0, d_ff - 2 * d), "the projections are counted, whatever `projections` says", "without projections only 4 T^2 d is compared"),
        Misconception("flag turned round", lambda d, d_ff, projections: d_ff if projections else max(0, d_ff - 2 * d), "the projections are counted exactly when they should not be", "look at the condition: which branch belongs to projections=True?"),
        Misconception("below zero", lambda d, d_ff, projections: d_ff - 2 * d if projections else d_ff, "a length below zero is returned for a narrow FFN", "when d_ff is below 2d attention takes more from the first token: the answer is 0"),
        Misconception("below zero, flag ignored", lambda d, d_ff, projections: d_ff - 2 * d, "the projections are counted, whatever `projections` says, and a length below zero is returned for a narrow FFN", "the answer is at least 0, and without projections it is d_ff"),
        Misconception("absolute value", lambda d, d_ff, projections: abs(d_ff - 2 * d) if projections else d_ff, "the sign of a length below zero is dropped", "when d_ff is below 2d attention takes more from the first token: the answer is 0"),
        Misconception("at least one", lambda d, d_ff, projections: max(1, d_ff - 2 * d) if projections else d_ff, "1 is the smallest length returned", "the answer is at least 0"),
        Misconception("tried below 4d", lambda d, d_ff, projections: max(1, crossover(d, d_ff, projections)) if crossover(d, d_ff, projections) < 4 * d else 0, "lengths are tried one by one from 1, and only those below 4d", "solve for T: no length has to be tried"),
        Misconception("added", lambda d, d_ff, projections: d_ff + 2 * d if projections else d_ff, "2d is added instead of subtracted", "the projections make attention dearer, so it catches up earlier"),
        Misconception("d instead of 2d", lambda d, d_ff, projections: max(0, d_ff - d) if projections else d_ff, "d is subtracted instead of 2d: each multiply-add of the projections is counted once, or two projections", "four projections: 8 T d^2; divide by 4 T d"),
        Misconception("4d subtracted", lambda d, d_ff, projections: max(0, d_ff - 4 * d) if projections else d_ff, "4d is subtracted instead of 2d", "8 T d^2 divided by 4 T d is 2d"),
        Misconception("three projections", lambda d, d_ff, projections: max(0, exact(2 * d_ff - 3 * d, 2)) if projections else d_ff, "three projections are counted", "four projections: queries, keys, values, output"),
        Misconception("4d", lambda d, d_ff, projections: 4 * d, "4d is returned, which holds for d_ff = 4d without projections", "use d_ff, and ask the flag"),
        Misconception("2d", lambda d, d_ff, projections: 2 * d, "2d is returned, which holds for d_ff = 4d with projections", "use d_ff, and ask the flag"),
        Misconception("4d or 2d", lambda d, d_ff, projections: 2 * d if projections else 4 * d, "4d stands for d_ff", "use the d_ff that is given"),
        Misconception("6d", lambda d, d_ff, projections: 6 * d, "6d is returned: where the scores take as much as all products with weights of a 4d model", "compare attention with the FFN alone"),
        Misconception("projections on the FFN's side", lambda d, d_ff, projections: 6 * d if projections else 4 * d, "4d stands for d_ff, and the projections are added to the FFN's side", "the projections belong to attention, and d_ff is given"),
        Misconception("half", lambda d, d_ff, projections: exact(d_ff, 2) if not projections else max(0, exact(d_ff - 2 * d, 2)), "half of the length is returned: each multiply-add is counted once on the FFN's side, or twice on the other", "count both sides in the same way"),
        Misconception("half, rounded down", lambda d, d_ff, projections: d_ff // 2 if not projections else max(0, d_ff - 2 * d) // 2, "half of the length is returned, rounded down", "count both sides in the same way"),
        Misconception("one product of attention", lambda d, d_ff, projections: 2 * d_ff if not projections else max(0, 2 * d_ff - 4 * d), "twice the length is returned: only one of scores and mixing is counted, or the half a causal mask leaves", "two products of T^2 d multiply-adds, unmasked"),
        Misconception("FFN counted once", lambda d, d_ff, projections: exact(d_ff, 2) if not projections else max(0, exact(d_ff, 2) - 2 * d), "the FFN is counted with one product, or each of its multiply-adds once", "two products, two operations for each multiply-add"),
        Misconception("gated", lambda d, d_ff, projections: exact(3 * d_ff, 2) if not projections else max(0, exact(3 * d_ff, 2) - 2 * d), "the FFN is counted with three products, as a gated one has", "two products: 4 T d d_ff"),
        Misconception("one later", lambda d, d_ff, projections: d_ff + 1 if not projections else max(0, d_ff - 2 * d) + 1, "the first length at which attention takes more is returned", "the length at which both take the same is asked for"),
        Misconception("one earlier", lambda d, d_ff, projections: d_ff - 1 if not projections else max(0, d_ff - 2 * d - 1), "the last length at which the FFN takes more is returned", "the length at which both take the same is asked for"),
        Misconception("squared", lambda d, d_ff, projections: d * d_ff if not projections else max(0, d * d_ff - 2 * d * d), "d is not divided out", "4 T^2 d = 4 T d d_ff: divide both sides by 4 T d"),
        Misconception("ratio", lambda d, d_ff, projections: exact(d_ff, d) if not projections else max(0, exact(d_ff, d) - 2), "the length is divided by d", "4 T^2 d = 4 T d d_ff: divide both sides by 4 T d"),
        Misconception("zero with projections", lambda d, d_ff, projections: 0 if projections else d_ff, "0 is returned whenever the projections are counted", "d_ff - 2d, when that is above 0"),
        Misconception("d_ff when narrow", lambda d, d_ff, projections: d_ff - 2 * d if projections and d_ff > 2 * d else d_ff, "d_ff is returned for a narrow FFN with projections", "when d_ff is below 2d attention takes more from the first token: the answer is 0"),
        Misconception("infinite when narrow", lambda d, d_ff, projections: (d_ff - 2 * d if d_ff > 2 * d else float("inf")) if projections else d_ff, "infinity is returned when attention takes more from the first token", "the length at which attention has caught up is 0 then"),
        Misconception("nothing without projections", lambda d, d_ff, projections: d_ff if projections else 0, "0 is returned without projections, and d_ff with them", "without projections the length is d_ff"),
        Misconception("clamped at d", lambda d, d_ff, projections: max(d, d_ff - 2 * d) if projections else d_ff, "d is the smallest length returned", "the answer is at least 0"),
    ),
    hints=(
        "Look at the two sides of the equation: FFN 4 T d d_ff, attention 4 T^2 d, and 8 T d^2 more with projections.",
        "Divide both sides by 4 T d and solve for T; a length cannot be below zero.",
        "return max(0, d_ff - ___) if projections else d_ff",
    ),
    why="4 T^2 d = 4 T d d_ff gives T = d_ff; the projections take 2d positions' worth, so with d_ff at or below 2d attention takes more from the start.",
    grammar=Grammar(
        terms=crossover_terms,
        nouns={},
        inputs=(
            CROSSOVER_INPUT("the projections are left out, whatever `projections` says", projections=lambda **_: False),
            CROSSOVER_INPUT("the projections are counted, whatever `projections` says", projections=lambda **_: True),
            CROSSOVER_INPUT("4d stands for d_ff", d_ff=four_d),
        ),
        edits=(
            ("the FFN is counted with three products, as a gated one has", lambda terms, *args: {**terms, "ffn": exact(3 * terms["ffn"], 2)}),
            ("each multiply-add of the FFN is counted once, or one product", lambda terms, *args: {**terms, "ffn": exact(terms["ffn"], 2)}),
            ("each multiply-add of the projections is counted once, or two projections", lambda terms, *args: {**terms, "projections": exact(terms["projections"], 2)}),
            ("three projections are counted", lambda terms, *args: {**terms, "projections": exact(3 * terms["projections"], 4)}),
            ("only one of scores and mixing is counted, or the half a causal mask leaves", lambda terms, *args: {**terms, "scores": exact(terms["scores"], 2)}),
            ("scores and mixing are counted twice", lambda terms, *args: {**terms, "scores": 2 * terms["scores"]}),
            ("a length below zero is returned for a narrow FFN", lambda terms, *args: {**terms, "least": -math.inf}),
            ("1 is the smallest length returned", lambda terms, *args: {**terms, "least": 1}),
            ("d is returned for a narrow FFN", lambda terms, d, *args: {**terms, "least": d if terms["ffn"] < terms["projections"] else 0}),
            ("8d is subtracted instead of 2d: the projections are not divided by 4 T d", lambda terms, d, *args: {**terms, "projections": 4 * terms["projections"]}),
            ("4d is subtracted instead of 2d", lambda terms, d, *args: {**terms, "projections": 2 * terms["projections"]}),
            ("3d is subtracted instead of 2d", lambda terms, d, *args: {**terms, "projections": exact(3 * terms["projections"], 2)}),
            ("0 is returned without projections", lambda terms, d, d_ff, projections: {**terms, "ffn": terms["ffn"] * projections}),
            ("the projections are put on the FFN's side", lambda terms, *args: {**terms, "projections": -terms["projections"]}),
        ),
        factors=(
            ("the result is rounded down", lambda total, *args: int(total // 1)),
            ("with projections half of the length is returned", lambda total, d, d_ff, projections: exact(total, 2) if projections else total),
            ("with projections the length is doubled", lambda total, d, d_ff, projections: 2 * total if projections else total),
            ("with projections the length is one too small", lambda total, d, d_ff, projections: max(0, total - projections)),
            ("with projections the length is one too large", lambda total, d, d_ff, projections: total + projections),
            ("the sign is turned round with projections", lambda total, d, d_ff, projections: -total if projections else total),
            ("the result is rounded up", lambda total, *args: -int(-total // 1)),
        ),
        combine=solve_for_length,
    ),
)

EXERCISES = (FFN_FLOPS, ATTENTION_FLOPS, CROSSOVER)
