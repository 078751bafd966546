"""Lesson 14: the self-test of the chapter, its questions (a), (b), (d) and (e); (c) is asked in lesson 02."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ffnlib.examination.exercise import Count, Exercise, Grammar, Indices, Misconception, Parts, call
from ffnlib.examination.forms import Complaint
from ffnlib.examination.lessons.lesson07 import plus, without
from ffnlib.examination.slips import exact

# ---------------------------------------------------------------- self_test_a


def self_test_a(d):
    """Return the number of parameters of an FFN with d_ff = 4d, as the sum of its four arrays."""
    d_ff = 4 * d
    W1, b1, W2, b2 = d * d_ff, d_ff, d_ff * d, d
    return W1 + b1 + W2 + b2


def self_test_a_probes(rng):
    """Draw widths: small ones, 1, and real ones."""
    return (call(int(rng.integers(7, 40))), call(1), call(512), call(int(rng.integers(41, 99))), call(4096))


SELF_TEST_A = Exercise(
    id="self_test_a",
    probes=self_test_a_probes,
    oracle=self_test_a,
    returns=Count(),
    misconceptions=(
        Misconception("biases left out", lambda d: 8 * d * d, "the biases are left out", "b1 has 4d numbers and b2 has d"),
        Misconception("b2 left out", lambda d: 8 * d * d + 4 * d, "b2 is left out", "b2 has d numbers"),
        Misconception("b1 left out", lambda d: 8 * d * d + d, "b1 is left out", "b1 has 4d numbers"),
        Misconception("both biases of d", lambda d: 8 * d * d + 2 * d, "both biases are given d numbers", "b1 has one number for every hidden unit: 4d"),
        Misconception("both biases of 4d", lambda d: 8 * d * d + 8 * d, "both biases are given 4d numbers", "b2 has one number for every output: d"),
        Misconception("one number a bias", lambda d: 8 * d * d + 2, "each bias is counted as a single number", "b1 has 4d numbers and b2 has d"),
        Misconception("one matrix", lambda d: 4 * d * d + 5 * d, "one of the two matrices is left out", "W1 and W2 have 4 d^2 entries each"),
        Misconception("one matrix, no biases", lambda d: 4 * d * d, "one matrix is counted, or attention: 4 d^2", "W1 and W2 have 4 d^2 entries each, and there are two biases"),
        Misconception("first layer only", lambda d: 4 * d * d + 4 * d, "only W1 and b1 are counted", "W2 and b2 belong to the layer as well"),
        Misconception("second layer only", lambda d: 4 * d * d + d, "only W2 and b2 are counted", "W1 and b1 belong to the layer as well"),
        Misconception("three matrices", lambda d: 12 * d * d + 5 * d, "three matrices are counted, as in a gated FFN", "W1 and W2"),
        Misconception("three matrices with three biases", lambda d: 12 * d * d + 9 * d, "three matrices and three biases are counted, as in a gated FFN", "W1, b1, W2 and b2"),
        Misconception("12 d^2", lambda d: 12 * d * d, "12 d^2 is returned: three matrices without biases, or a block with its attention", "W1, b1, W2 and b2 of one FFN"),
        Misconception("block with biases", lambda d: 12 * d * d + 9 * d + 4 * d, "attention with its biases is added", "W1, b1, W2 and b2 of one FFN"),
        Misconception("hidden width d", lambda d: 2 * d * d + 2 * d, "d stands for d_ff", "d_ff = 4d"),
        Misconception("hidden width 2d", lambda d: 4 * d * d + 3 * d, "2d stands for d_ff", "d_ff = 4d"),
        Misconception("hidden square", lambda d: 32 * d * d + 5 * d, "the matrices are counted as d_ff times d_ff", "W1 leads from d to 4d"),
        Misconception("sides added", lambda d: 10 * d + 5 * d, "the sides of each matrix are added instead of multiplied", "a matrix with d rows and 4d columns has 4 d^2 entries"),
        Misconception("d * 2 for d squared", lambda d: 8 * d * 2 + 5 * d, "2 d stands for d^2, as when * is typed for **", "a power is written **"),
        Misconception("biases only", lambda d: 5 * d, "the matrices are left out", "W1 and W2 have 4 d^2 entries each"),
        Misconception("norm added", lambda d: 8 * d * d + 7 * d, "the 2d of a LayerNorm are added", "W1, b1, W2 and b2"),
        Misconception("power taken last", lambda d: (8 * d) ** 2 + 5 * d, "8d is squared as a whole", "8 d^2 is 8 times the square of d"),
        Misconception("4d squared", lambda d: (4 * d) ** 2 + 5 * d, "4d is squared as a whole", "2 times d times 4d is 8 d^2"),
        Misconception("biases squared", lambda d: 13 * d * d, "the biases are counted as 5 d^2", "a bias is a vector"),
        Misconception("operations", lambda d: 16 * d * d, "the operations of one position are counted", "the number of parameters is asked for"),
        Misconception("always the original layer", lambda d: 2_099_712, "the number for d = 512 comes back for every d", "use d"),
    ),
    hints=(
        "Look at the shapes of the four arrays when d_ff = 4d.",
        "W1 is (d, 4d), b1 is (4d,), W2 is (4d, d), b2 is (d,): multiply the sides and add up.",
        "return d * 4 * d + 4 * d + 4 * d * d + ___",
    ),
    why="4 d^2 + 4d + 4 d^2 + d = 8 d^2 + 5d.",
    grammar=Grammar(
        terms=lambda d: {"W1": 4 * d * d, "b1": 4 * d, "W2": 4 * d * d, "b2": d},
        nouns={"b1": "b1", "b2": "b2"},
        edits=(
            ("one of the two matrices is left out", without("W1")),
            ("the matrices are left out", without("W1", "W2")),
            ("the biases are subtracted", lambda terms, *args: {**terms, "b1": -terms["b1"], "b2": -terms["b2"]}),
            ("the biases are counted twice", lambda terms, *args: {**terms, "b1": 2 * terms["b1"], "b2": 2 * terms["b2"]}),
            ("the biases are counted without d: 4 and 1", lambda terms, d: {**terms, "b1": 4, "b2": 1}),
            ("a third matrix is counted, as in a gated FFN", plus(lambda d: 4 * d * d)),
            ("an attention with its 4 biases is added", plus(lambda d: 4 * d * d + 4 * d)),
            ("the 2d of a LayerNorm are added", plus(lambda d: 2 * d)),
        ),
        factors=(("everything is multiplied by 4, as for four bytes a parameter", lambda total, d: 4 * total),),
    ),
)


# ---------------------------------------------------------------- self_test_b


def self_test_b(d, T):
    """Return the FLOPs of an FFN with d_ff = 4d, those of attention without projections, and the T of equality."""
    ffn = 16 * T * d * d
    attention = 4 * T * T * d
    return ffn, attention, 4 * d


def self_test_b_probes(rng):
    """Draw short and long sequences, one token, the length of equality, and LLaMA-7B's size."""
    d, T = int(rng.integers(7, 20)), int(rng.integers(91, 150))
    return (
        call(d, T),
        call(4096, 2048),
        call(d + 5, 4 * (d + 5)),
        call(d + 11, 3),
        call(d + 2, 1),
    )


def set_term(name: str, value: Callable) -> Callable:
    """Return the edit of a grammar's terms that puts `value(*args)` in the place of one term."""
    return lambda terms, *args: {**terms, name: value(*args)}


SELF_TEST_B = Exercise(
    id="self_test_b",
    probes=self_test_b_probes,
    oracle=self_test_b,
    returns=Parts(("the FFN's FLOPs", "attention's FLOPs", "the length"), (Count(), Count(), Count())),
    misconceptions=(
        Misconception("order", lambda d, T: (4 * T * T * d, 16 * T * d * d, 4 * d), "attention's FLOPs come before the FFN's", "the FFN comes first"),
        Misconception("length first", lambda d, T: (4 * d, 16 * T * d * d, 4 * T * T * d), "the length comes first", "FFN, attention, length"),
        Misconception("multiply-adds counted once", lambda d, T: (8 * T * d * d, 2 * T * T * d, 4 * d), "each multiply-add is counted once", "a multiply-add is two operations"),
        Misconception("FFN counted once", lambda d, T: (8 * T * d * d, 4 * T * T * d, 4 * d), "each multiply-add of the FFN is counted once, or only one of its products", "two products of 4 T d^2 multiply-adds, two operations each"),
        Misconception("FFN counted once, length to match", lambda d, T: (8 * T * d * d, 4 * T * T * d, 2 * d), "each multiply-add of the FFN is counted once, or only one of its products, and the length follows from that", "two products of 4 T d^2 multiply-adds, two operations each"),
        Misconception("attention counted once", lambda d, T: (16 * T * d * d, 2 * T * T * d, 4 * d), "each multiply-add of attention is counted once, or only one of its products", "scores and mixing: two products of T^2 d multiply-adds, two operations each"),
        Misconception("attention counted once, length to match", lambda d, T: (16 * T * d * d, 2 * T * T * d, 8 * d), "each multiply-add of attention is counted once, or only one of its products, and the length follows from that", "scores and mixing: two products of T^2 d multiply-adds, two operations each"),
        Misconception("projections counted", lambda d, T: (16 * T * d * d, 8 * T * d * d + 4 * T * T * d, 4 * d), "the projections are counted in attention", "here only 4 T^2 d is compared"),
        Misconception("projections counted, length to match", lambda d, T: (16 * T * d * d, 8 * T * d * d + 4 * T * T * d, 2 * d), "the projections are counted in attention, and the length follows from that", "here only 4 T^2 d is compared"),
        Misconception("length 2d", lambda d, T: (16 * T * d * d, 4 * T * T * d, 2 * d), "2d is given as the length, which holds when the projections are counted", "solve 16 T d^2 = 4 T^2 d for T"),
        Misconception("length 6d", lambda d, T: (16 * T * d * d, 4 * T * T * d, 6 * d), "6d is given as the length, where the scores take as much as all products with weights", "solve 16 T d^2 = 4 T^2 d for T"),
        Misconception("length d", lambda d, T: (16 * T * d * d, 4 * T * T * d, d), "d is given as the length", "solve 16 T d^2 = 4 T^2 d for T"),
        Misconception("length 8d", lambda d, T: (16 * T * d * d, 4 * T * T * d, 8 * d), "8d is given as the length", "solve 16 T d^2 = 4 T^2 d for T"),
        Misconception("length 16d", lambda d, T: (16 * T * d * d, 4 * T * T * d, 16 * d), "16d is given as the length: the 4 of attention is not divided out", "16 T d^2 = 4 T^2 d: divide both sides by 4 T d"),
        Misconception("length d / 4", lambda d, T: (16 * T * d * d, 4 * T * T * d, exact(d, 4)), "d / 4 is given as the length: the quotient is turned round", "16 T d^2 = 4 T^2 d: divide both sides by 4 T d"),
        Misconception("length 4", lambda d, T: (16 * T * d * d, 4 * T * T * d, 4), "4 is given as the length: the d is missing", "16 T d^2 = 4 T^2 d: divide both sides by 4 T d"),
        Misconception("length 4 d^2", lambda d, T: (16 * T * d * d, 4 * T * T * d, 4 * d * d), "4 d^2 is given as the length", "16 T d^2 = 4 T^2 d: divide both sides by 4 T d"),
        Misconception("the given length", lambda d, T: (16 * T * d * d, 4 * T * T * d, T), "the length that went in is returned", "the length at which both are equal depends on d alone"),
        Misconception("ratio", lambda d, T: (16 * T * d * d, 4 * T * T * d, exact(4 * d, T)), "the ratio of the two is given in the place of the length", "the length at which the ratio is 1 is asked for"),
        Misconception("ratio rounded down", lambda d, T: (16 * T * d * d, 4 * T * T * d, 4 * d // T), "the ratio of the two, rounded down, is given in the place of the length", "the length at which the ratio is 1 is asked for"),
        Misconception("32 layers", lambda d, T: (32 * 16 * T * d * d, 32 * 4 * T * T * d, 4 * d), "the FLOPs of 32 layers are counted", "one layer is asked for"),
        Misconception("trillions", lambda d, T: (16 * T * d * d / 1e12, 4 * T * T * d / 1e12, 4 * d), "the FLOPs are given in trillions", "return them as whole numbers"),
        Misconception("difference", lambda d, T: (16 * T * d * d, 4 * T * T * d, 16 * T * d * d - 4 * T * T * d), "the difference of the two is given in the place of the length", "the length at which the difference is 0 is asked for"),
        Misconception("one later", lambda d, T: (16 * T * d * d, 4 * T * T * d, 4 * d + 1), "the first length at which attention takes more is given", "the length at which both are equal is asked for"),
        Misconception("per position", lambda d, T: (16 * d * d, 4 * T * d, 4 * d), "one position is counted instead of the sequence", "multiply by the T positions"),
        Misconception("FFN of one position", lambda d, T: (16 * d * d, 4 * T * T * d, 4 * d), "the FFN of one position is counted", "multiply by the T positions"),
        Misconception("parameters", lambda d, T: (8 * d * d, 4 * T * T * d, 4 * d), "the FFN's parameters are counted instead of its operations", "every position uses each weight once: 2 operations"),
        Misconception("attention linear in T", lambda d, T: (16 * T * d * d, 4 * T * d, 4 * d), "attention is counted as growing with T, not with T^2", "every position has a score with every position"),
        Misconception("attention with d^2", lambda d, T: (16 * T * d * d, 4 * T * T * d * d, 4 * d), "attention is counted with d^2", "a score is a dot product of d numbers"),
        Misconception("attention's projections only", lambda d, T: (16 * T * d * d, 8 * T * d * d, 4 * d), "attention's projections are counted instead of its scores and mixing", "here 4 T^2 d is compared"),
        Misconception("FFN with T^2", lambda d, T: (16 * T * T * d * d, 4 * T * T * d, 4 * d), "T enters squared in the FFN", "each position goes through the FFN alone"),
        Misconception("FFN linear in d", lambda d, T: (16 * T * d, 4 * T * T * d, 4 * d), "d enters the FFN once instead of squared", "d times d_ff, with d_ff = 4d"),
        Misconception("d_ff = d", lambda d, T: (4 * T * d * d, 4 * T * T * d, 4 * d), "the FFN is counted with d_ff = d", "d_ff = 4d"),
        Misconception("d_ff = d, length to match", lambda d, T: (4 * T * d * d, 4 * T * T * d, d), "the FFN is counted with d_ff = d, and the length follows from that", "d_ff = 4d"),
        Misconception("gated", lambda d, T: (24 * T * d * d, 4 * T * T * d, 4 * d), "the FFN is counted with three products", "two products: 16 T d^2"),
        Misconception("gated, length to match", lambda d, T: (24 * T * d * d, 4 * T * T * d, 6 * d), "the FFN is counted with three products, and the length follows from that", "two products: 16 T d^2"),
        Misconception("d and T exchanged", lambda d, T: self_test_b(T, d), "d and T have changed places", "the FFN takes T d^2, attention T^2 d"),
        Misconception("always LLaMA-7B", lambda d, T: self_test_b(4096, 2048), "the numbers of d = 4096 and T = 2048 come back for every size", "use d and T"),
    ),
    hints=(
        "Look at both formulas of lesson 08: 16 T d^2 for the FFN, 4 T^2 d for attention.",
        "Set them equal and divide both sides by 4 T d.",
        "return 16 * T * d**2, 4 * T**2 * d, ___",
    ),
    why="16 T d^2 = 4 T^2 d at T = 4d: 16,384 for d = 4096. Counting the projections halves it, counting only the causal half doubles it.",
    grammar=Grammar(
        terms=lambda d, T: {"ffn": 16 * T * d * d, "attention": 4 * T * T * d, "length": 4 * d},
        nouns={},
        edits=(
            ("each multiply-add of the FFN is counted once, or only one of its products", set_term("ffn", lambda d, T: 8 * T * d * d)),
            ("the FFN of one position is counted", set_term("ffn", lambda d, T: 16 * d * d)),
            ("the FFN's parameters are counted", set_term("ffn", lambda d, T: 8 * d * d)),
            ("the FFN is counted with d_ff = d", set_term("ffn", lambda d, T: 4 * T * d * d)),
            ("the FFN is counted with three products", set_term("ffn", lambda d, T: 24 * T * d * d)),
            ("T enters squared in the FFN", set_term("ffn", lambda d, T: 16 * T * T * d * d)),
            ("the FFN's backward pass is counted as well", set_term("ffn", lambda d, T: 48 * T * d * d)),
            ("each multiply-add of attention is counted once, or only one of its products", set_term("attention", lambda d, T: 2 * T * T * d)),
            ("attention's projections are counted as well", set_term("attention", lambda d, T: 8 * T * d * d + 4 * T * T * d)),
            ("only attention's projections are counted", set_term("attention", lambda d, T: 8 * T * d * d)),
            ("attention is counted as growing with T, not with T^2", set_term("attention", lambda d, T: 4 * T * d)),
            ("attention is counted with d^2", set_term("attention", lambda d, T: 4 * T * T * d * d)),
            ("the scores are counted without d", set_term("attention", lambda d, T: 4 * T * T)),
            ("T and d have changed places in the FFN", set_term("ffn", lambda d, T: 16 * T * T * d)),
            ("T and d have changed places in attention", set_term("attention", lambda d, T: 4 * T * d * d)),
            ("attention is counted with three products", set_term("attention", lambda d, T: 6 * T * T * d)),
            ("one operation is added for each score", set_term("attention", lambda d, T: 4 * T * T * d + T * T)),
            ("three operations of the softmax are counted for each score", set_term("attention", lambda d, T: 4 * T * T * d + 3 * T * T)),
            ("five operations of scale and softmax are counted for each score", set_term("attention", lambda d, T: 4 * T * T * d + 5 * T * T)),
            ("attention is counted with one operation for each pair and number", set_term("attention", lambda d, T: T * T * d)),
            ("the length is given as 16,384, whatever d is", set_term("length", lambda d, T: 16_384)),
            ("the length is given as 3d", set_term("length", lambda d, T: 3 * d)),
            ("the length is given as 5d", set_term("length", lambda d, T: 5 * d)),
            ("the length is given as 4T", set_term("length", lambda d, T: 4 * T)),
            ("the FLOPs are counted twice", lambda terms, *args: {**terms, "ffn": 2 * terms["ffn"], "attention": 2 * terms["attention"]}),
            ("the backward pass is counted as well: three times the forward pass", lambda terms, *args: {**terms, "ffn": 3 * terms["ffn"], "attention": 3 * terms["attention"]}),
            ("attention is counted twice", set_term("attention", lambda d, T: 8 * T * T * d)),
            ("the length is given as 2d", set_term("length", lambda d, T: 2 * d)),
            ("the length is given as d", set_term("length", lambda d, T: d)),
            ("the length is given as 6d", set_term("length", lambda d, T: 6 * d)),
            ("the length is given as 8d", set_term("length", lambda d, T: 8 * d)),
            ("the length is given as 16d", set_term("length", lambda d, T: 16 * d)),
            ("the length is given as 12d", set_term("length", lambda d, T: 12 * d)),
            ("the length is given as 4", set_term("length", lambda d, T: 4)),
            ("the length is given as d / 4", set_term("length", lambda d, T: exact(d, 4))),
            ("the length that went in is returned", set_term("length", lambda d, T: T)),
            ("the ratio is given in the place of the length", set_term("length", lambda d, T: exact(4 * d, T))),
            ("the ratio turned round is given in the place of the length", set_term("length", lambda d, T: exact(T, 4 * d))),
            ("the length is one too large", set_term("length", lambda d, T: 4 * d + 1)),
            ("the length is one too small", set_term("length", lambda d, T: 4 * d - 1)),
        ),
        combine=lambda terms, *args: tuple(terms.values()),
    ),
)


# ---------------------------------------------------------------- self_test_d

WIDTH, HIDDEN = 3, 8
BROKEN_BY = 1e-6  # far above the rounding of float64, far below what a random network changes by


def self_test_d(T):
    """Return a permutation of the positions and a cyclic shift that only the position-wise FFN commutes with."""
    permutation = list(range(T))[::-1]
    shift = 1
    return permutation, shift


def global_ffn(X, rng):
    """Return an FFN of the whole sequence as one long vector, so that every position reads every other."""
    size = X.size
    hidden = np.maximum(0, X.reshape(size) @ rng.normal(size=(size, HIDDEN)) + rng.normal(size=HIDDEN))
    return (hidden @ rng.normal(size=(HIDDEN, size)) + rng.normal(size=size)).reshape(X.shape)


def position_wise_ffn(X, rng):
    """Return an FFN of every row on its own."""
    hidden = np.maximum(0, X @ rng.normal(size=(WIDTH, HIDDEN)) + rng.normal(size=HIDDEN))
    return hidden @ rng.normal(size=(HIDDEN, WIDTH)) + rng.normal(size=WIDTH)


def breaks(network, order, T: int) -> bool:
    """Return whether g(P X) differs from P g(X) for the seeded network and the order P of T positions."""
    X = np.random.default_rng([T, 1]).normal(size=(T, WIDTH))
    moved_first = network(X[order], np.random.default_rng([T, 2]))
    moved_last = network(X, np.random.default_rng([T, 2]))[order]
    return bool(np.max(np.abs(moved_first - moved_last)) > BROKEN_BY)


PERMUTATION_STEP = "return the T numbers 0 .. T-1 in another order, each once"
SHIFT_STEP = "the shift is a whole number from 1 to T - 1"


def refuse_permutation(order, T: int) -> Complaint | None:
    """Return what is wrong with a permutation, or None."""
    if order.shape == (T, T):
        return Complaint("matrix for a permutation", "the permutation is a T by T matrix", PERMUTATION_STEP)
    if order.shape != (T,):
        return Complaint("another length", f"the permutation has shape {order.shape} for T = {T}", PERMUTATION_STEP)
    if sorted(order) == list(range(1, T + 1)):
        return Complaint("counted from 1", "the positions are counted from 1", "count them from 0: range(T)")
    if sorted(order) != list(range(T)):
        because = "the permutation does not hold each of 0 .. T-1 once"
        return Complaint("not a permutation", because, PERMUTATION_STEP)
    if list(order) == list(range(T)):
        because = "the permutation is the identity: nothing moves, so nothing can break"
        return Complaint("identity", because, "move at least two positions")
    return None


def refuse_shift(shift, T: int) -> Complaint | None:
    """Return what is wrong with a shift, or None."""
    if shift == 0:
        return Complaint("shift 0", "the shift is 0: nothing moves, so nothing can break", SHIFT_STEP)
    if shift == T:
        return Complaint("shift T", "the shift is T: a full turn, after which nothing has moved", SHIFT_STEP)
    if -T < shift < 0:
        return Complaint("shift below zero", "the shift is below zero", "a shift of -s is the same as one of T - s")
    if not isinstance(shift, int) or not 0 < shift < T:
        return Complaint("shift out of range", f"the shift is {shift}, which is not one of 1 .. T-1", SHIFT_STEP)
    return None


def refuse_answer(T, value) -> Complaint | None:
    """Return what is wrong with a permutation and a shift, or None.

    A shift is cyclic: the position t goes to t + shift, counted on from the start after the last. Both orders must
    break g(P x) = P g(x) for the seeded global FFN and must not break it for the position-wise one.
    """
    order, shift = value
    refused = refuse_permutation(order, T) or refuse_shift(shift, T)
    if refused:
        return refused
    for name, P in (("permutation", order.astype(int)), ("shift", np.roll(np.arange(T), int(shift)))):
        if not breaks(global_ffn, P, T):
            return Complaint("breaks nothing", f"the global FFN does not notice the {name}", "move more positions")
        if breaks(position_wise_ffn, P, T):
            raise AssertionError(f"a position-wise FFN notices the {name} {P.tolist()}: the judge is broken")
    return None


SELF_TEST_D = Exercise(
    id="self_test_d",
    probes=lambda rng: tuple(call(T) for T in (int(rng.integers(4, 7)), 2, 3, 8, 7)),
    oracle=self_test_d,
    returns=Parts(("permutation", "shift"), (Indices(length=lambda T: T), Count())),
    accepts=refuse_answer,
    misconceptions=(
        Misconception("identity", lambda T: (list(range(T)), 1), "the permutation is the identity: nothing moves, so nothing can break", "move at least two positions"),
        Misconception("identity and shift 0", lambda T: (list(range(T)), 0), "neither the permutation nor the shift moves anything", "move at least two positions, and shift by at least one"),
        Misconception("shift 0", lambda T: (list(range(T))[::-1], 0), "the shift is 0: nothing moves, so nothing can break", "the shift is a whole number from 1 to T - 1"),
        Misconception("shift T", lambda T: (list(range(T))[::-1], T), "the shift is T: a full turn, after which nothing has moved", "the shift is a whole number from 1 to T - 1"),
        Misconception("shift below zero", lambda T: (list(range(T))[::-1], -1), "the shift is below zero", "a shift of -s is the same as one of T - s"),
        Misconception("counted from 1", lambda T: (list(range(T, 0, -1)), 1), "the positions are counted from 1", "count them from 0: range(T)"),
        Misconception("not a permutation", lambda T: ([0] * T, 1), "the permutation does not hold each of 0 .. T-1 once", "return the T numbers 0 .. T-1 in another order, each once"),
        Misconception("one position missing", lambda T: (list(range(T - 1))[::-1], 1), "the permutation leaves one position out", "range(T) has T numbers"),
        Misconception("two positions only", lambda T: ([1, 0], 1), "the permutation names two positions, whatever T is", "return all T numbers, also those that stay"),
        Misconception("matrix for a permutation", lambda T: (np.eye(T)[::-1], 1), "the permutation is a T by T matrix", "return the T numbers 0 .. T-1 in another order, each once"),
        Misconception("shift out of range", lambda T: (list(range(T))[::-1], T + 1), "the shift is T + 1, beyond the largest", "the shift is a whole number from 1 to T - 1"),
        Misconception("half a shift", lambda T: (list(range(T))[::-1], 0.5), "the shift is not a whole number", "the shift is a whole number from 1 to T - 1"),
    ),
    hints=(
        "Look at what a dense layer over the whole sequence does when two positions are exchanged: which weights do they meet?",
        "Any order other than 0, 1, .., T-1 will do, and any cyclic shift that does not return to the start.",
        "return list(range(T))[::___], 1",
    ),
    why="A dense layer over the sequence has its own weights for every position, so moving the positions changes what they meet; the position-wise FFN has one set for all.",
)


# ---------------------------------------------------------------- self_test_e


def self_test_e(d):
    """Return the number of expanding matrices without a gate and with one, and the d_ff that keeps the total."""
    without_gate, with_gate = 1, 2
    return without_gate, with_gate, 8 * d // 3


def self_test_e_probes(rng):
    """Draw widths of every remainder by 3, small and real."""
    base = 3 * int(rng.integers(11, 40))
    return call(base + 1), call(base + 2), call(base), call(4096), call(512), call(3 * base)


SELF_TEST_E = Exercise(
    id="self_test_e",
    probes=self_test_e_probes,
    oracle=self_test_e,
    returns=Parts(("matrices without a gate", "matrices with a gate", "d_ff"), (Count(), Count(), Count())),
    misconceptions=(
        Misconception("tripled", lambda d: (1, 3, 8 * d // 3), "the expanding matrices are said to triple", "gate and up: two matrices expand, where one did"),
        Misconception("all matrices", lambda d: (2, 3, 8 * d // 3), "all matrices of the layer are counted, those that contract as well", "only the matrices from d to d_ff are asked for"),
        Misconception("unchanged", lambda d: (1, 1, 8 * d // 3), "the gate is not counted as a matrix", "gate and up: two matrices expand"),
        Misconception("order", lambda d: (2, 1, 8 * d // 3), "the numbers with and without a gate have changed places", "before the gate there is one"),
        Misconception("d_ff kept", lambda d: (1, 2, 4 * d), "d_ff stays at 4d, so the total grows by half", "three matrices of d times d_ff must hold 8 d^2"),
        Misconception("d_ff halved", lambda d: (1, 2, 2 * d), "d_ff is halved", "the contracting matrix is there as well: two matrices become three, so d_ff becomes two thirds"),
        Misconception("tripled, d_ff kept", lambda d: (1, 3, 4 * d), "the expanding matrices are said to triple, and d_ff stays at 4d", "gate and up: two matrices expand, and three matrices of d times d_ff must hold 8 d^2"),
        Misconception("tripled, a third", lambda d: (1, 3, 4 * d // 3), "the expanding matrices are said to triple, and d_ff becomes a third of 4d", "gate and up: two matrices expand, and three matrices of d times d_ff must hold 8 d^2"),
        Misconception("a third of 4d", lambda d: (1, 2, 4 * d // 3), "d_ff becomes a third of 4d", "two matrices become three, so d_ff becomes two thirds of 4d"),
        Misconception("not whole", lambda d: (1, 2, exact(8 * d, 3)), "8d / 3 is not rounded down", "a layer has a whole number of units: //"),
        Misconception("rounded up", lambda d: (1, 2, -(-8 * d // 3)), "8d / 3 is rounded up", "round down"),
        Misconception("rounded", lambda d: (1, 2, round(exact(8 * d, 3))), "8d / 3 is rounded to the nearest number", "round down"),
        Misconception("two thirds of d", lambda d: (1, 2, 2 * d // 3), "two thirds of d are returned", "two thirds of 4d"),
        Misconception("half more", lambda d: (1, 2, 6 * d), "d_ff becomes larger by half", "more matrices of the same total means a smaller d_ff"),
        Misconception("8d", lambda d: (1, 2, 8 * d), "8d is returned: it is not divided by the three matrices", "three matrices of d times d_ff must hold 8 d^2"),
        Misconception("3d/8", lambda d: (1, 2, 3 * d // 8), "3d / 8 is returned: the fraction is turned round", "three matrices of d times d_ff must hold 8 d^2"),
        Misconception("3d", lambda d: (1, 2, 3 * d), "3d is returned", "three matrices of d times d_ff must hold 8 d^2"),
        Misconception("multiple of 256", lambda d: (1, 2, -(-(8 * d // 3) // 256) * 256), "8d / 3 is rounded up to a multiple of 256, as LLaMA does", "here it is only rounded down"),
        Misconception("divided too early", lambda d: (1, 2, 8 * (d // 3)), "d is divided by 3 and rounded before it is multiplied by 8", "multiply first: 8 * d // 3"),
        Misconception("thirds rounded early", lambda d: (1, 2, 2 * (4 * d // 3)), "4d is divided by 3 and rounded before it is doubled", "multiply first: 8 * d // 3"),
        Misconception("thirds of d rounded early", lambda d: (1, 2, 4 * (2 * d // 3)), "2d is divided by 3 and rounded before it is multiplied by 4", "multiply first: 8 * d // 3"),
        Misconception("parameters", lambda d: (4 * d * d, 8 * d * d, 8 * d // 3), "the parameters of the expanding matrices are returned", "the number of matrices is asked for"),
        Misconception("parameters of all", lambda d: (8 * d * d, 12 * d * d, 8 * d // 3), "the parameters of the layer are returned", "the number of expanding matrices is asked for"),
        Misconception("always LLaMA", lambda d: (1, 2, 11_008), "LLaMA-7B's 11,008 comes back for every d", "use d"),
    ),
    hints=(
        "Look at which matrices lead from d to d_ff: W1 before, gate and up after. The one that leads back is not among them.",
        "Before, 2 matrices of d times 4d hold 8 d^2; afterwards 3 matrices of d times d_ff have to.",
        "return 1, 2, 8 * d // ___",
    ),
    why="The expanding part doubles (it does not triple), the layer grows from 2 matrices to 3, and two thirds of 4d keep 8 d^2.",
    grammar=Grammar(
        terms=lambda d: {"before": 1, "after": 2, "d_ff": 8 * d // 3},
        nouns={},
        edits=(
            ("the matrices without a gate are counted as 2", set_term("before", lambda d: 2)),
            ("the matrices without a gate are counted as 0", set_term("before", lambda d: 0)),
            ("the matrices without a gate are counted as 3", set_term("before", lambda d: 3)),
            ("the matrices with a gate are counted as 3", set_term("after", lambda d: 3)),
            ("the matrices with a gate are counted as 1", set_term("after", lambda d: 1)),
            ("the matrices with a gate are counted as 4", set_term("after", lambda d: 4)),
            ("d_ff stays at 4d", set_term("d_ff", lambda d: 4 * d)),
            ("d_ff is halved", set_term("d_ff", lambda d: 2 * d)),
            ("8d / 3 is not rounded down", set_term("d_ff", lambda d: exact(8 * d, 3))),
            ("8d / 3 is rounded up", set_term("d_ff", lambda d: -(-8 * d // 3))),
            ("8d / 3 is rounded to the nearest number", set_term("d_ff", lambda d: round(exact(8 * d, 3)))),
            ("d_ff becomes a third of 4d", set_term("d_ff", lambda d: 4 * d // 3)),
            ("two thirds of d are returned", set_term("d_ff", lambda d: 2 * d // 3)),
            ("d_ff becomes larger by half", set_term("d_ff", lambda d: 6 * d)),
            ("8d is not divided by 3", set_term("d_ff", lambda d: 8 * d)),
            ("3d stands for 8d / 3", set_term("d_ff", lambda d: 3 * d)),
            ("d stands for 8d / 3", set_term("d_ff", lambda d: d)),
            ("8 / 3 is taken as 2.67", set_term("d_ff", lambda d: int(2.67 * d))),
            ("8 / 3 is taken as 2.7", set_term("d_ff", lambda d: int(2.7 * d))),
            ("8 / 3 is taken as 2.6875, as LLaMA-7B has it", set_term("d_ff", lambda d: int(2.6875 * d))),
            ("8 / 3 is taken as 2.6875, not rounded", set_term("d_ff", lambda d: 2.6875 * d)),
            ("8 / 3 is taken as 2.667", set_term("d_ff", lambda d: int(2.667 * d))),
            ("2 / 3 is taken as 0.667", set_term("d_ff", lambda d: int(0.667 * 4 * d))),
            ("2 / 3 is taken as 0.67", set_term("d_ff", lambda d: int(0.67 * 4 * d))),
            ("2 / 3 is taken as 0.66", set_term("d_ff", lambda d: int(0.66 * 4 * d))),
            ("8 / 3 is taken as 2.66", set_term("d_ff", lambda d: int(2.66 * d))),
            ("8 / 3 is taken as 2.5", set_term("d_ff", lambda d: int(2.5 * d))),
            ("16 d / 3 stands for 8 d / 3", set_term("d_ff", lambda d: 16 * d // 3)),
            ("12 d stands for 8 d / 3", set_term("d_ff", lambda d: 12 * d)),
            ("d_ff is one too large", set_term("d_ff", lambda d: 8 * d // 3 + 1)),
            ("d_ff is one too small", set_term("d_ff", lambda d: 8 * d // 3 - 1)),
            ("8d / 3 is rounded up to a multiple of 256", set_term("d_ff", lambda d: -(-(8 * d // 3) // 256) * 256)),
            ("8d / 3 is rounded up to a multiple of 64", set_term("d_ff", lambda d: -(-(8 * d // 3) // 64) * 64)),
            ("8d / 3 is rounded down to a multiple of 64", set_term("d_ff", lambda d: 8 * d // 3 // 64 * 64)),
            ("8d / 3 is rounded down to a multiple of 256", set_term("d_ff", lambda d: 8 * d // 3 // 256 * 256)),
        ),
        combine=lambda terms, *args: tuple(terms.values()),
    ),
)

EXERCISES = (SELF_TEST_A, SELF_TEST_B, SELF_TEST_D, SELF_TEST_E)
