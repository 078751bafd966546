"""Lesson 02: the layer by hand: one worked example, and what a hidden vector tells."""

from __future__ import annotations

import numpy as np

from ffnlib.activations import gelu, gelu_tanh, sigmoid
from ffnlib.examination.exercise import Array, Exercise, Indices, Misconception, Number, Parts, call
from ffnlib.experts import softmax
from ffnlib.layer import relu

# ---------------------------------------------------------------- self_test_c

SOURCE_W1 = np.array([[1, 0], [0, 1], [1, 1], [-1, 1]])
SOURCE_W2 = np.array([[1, 0, 1, 0], [0, 1, 0, 1]])


def self_test_c(W1, W2, x):
    """Return W2 relu(W1 x), the column convention without biases."""
    return W2 @ np.maximum(0, W1 @ x)


def self_test_c_probes(rng):
    """Draw other weights, then the worked numbers, square layers, a narrow layer and one unit."""
    return (
        call(rng.normal(size=(5, 3)), rng.normal(size=(3, 5)), rng.normal(size=3)),
        call(SOURCE_W1, SOURCE_W2, np.array([1, 0])),
        call(SOURCE_W1 * 1.0, SOURCE_W2 * 1.0, np.array([0.0, 1.0])),
        call(rng.normal(size=(4, 4)), rng.normal(size=(4, 4)), rng.normal(size=4)),
        call(rng.integers(-3, 4, size=(3, 3)), rng.integers(1, 5, size=(3, 3)), np.array([2, -1, 1])),
        call(rng.normal(size=(2, 5)), rng.normal(size=(5, 2)), rng.normal(size=5) * 10),
        call(np.array([[0.5, 0.2]]), rng.normal(size=(2, 1)), np.abs(rng.normal(size=2)) + 1),
        call(rng.normal(size=(6, 8))[:, ::2], rng.normal(size=(6, 4)).T, rng.normal(size=4)),
        call(-np.abs(rng.normal(size=(3, 2))), rng.normal(size=(2, 3)), np.abs(rng.normal(size=2))),
    )


def _the_worked_result(W1, W2, x):
    return np.array([2, 0]) if x[0] == 1 else np.array([1, 2])


SELF_TEST_C = Exercise(
    id="self_test_c",
    probes=self_test_c_probes,
    oracle=self_test_c,
    returns=Array(),
    misconceptions=(
        Misconception("no ReLU", lambda W1, W2, x: W2 @ (W1 @ x), "the ReLU is left out, so negative hidden values pass", "W1 x has negative entries: what becomes of them before W2?"),
        Misconception("ReLU after W2", lambda W1, W2, x: relu(W2 @ (W1 @ x)), "ReLU is applied after W2 instead of before it", "the ReLU belongs to the hidden values W1 x"),
        Misconception("two ReLUs", lambda W1, W2, x: relu(W2 @ relu(W1 @ x)), "a second ReLU is applied to the result", "the output may be negative: only the hidden values are cut"),
        Misconception("ReLU on the input", lambda W1, W2, x: W2 @ (W1 @ relu(x)), "ReLU is applied to x instead of to W1 x", "which values are cut at zero in the formula?"),
        Misconception("ReLU on the input as well", lambda W1, W2, x: W2 @ relu(W1 @ relu(x)), "ReLU is applied to x as well as to W1 x", "x itself is not cut"),
        Misconception("ReLU on the weights", lambda W1, W2, x: W2 @ (relu(W1) @ x), "ReLU is applied to W1 instead of to W1 x", "the product comes first, then the cut"),
        Misconception("ReLU on the weights as well", lambda W1, W2, x: W2 @ relu(relu(W1) @ x), "negative weights of W1 are set to zero", "only the hidden values W1 x are cut"),
        Misconception("ReLU on W2", lambda W1, W2, x: relu(W2) @ relu(W1 @ x), "negative weights of W2 are set to zero", "only the hidden values W1 x are cut"),
        Misconception("absolute value", lambda W1, W2, x: W2 @ np.abs(W1 @ x), "negative hidden values are turned positive", "max(0, -1) is 0, not 1"),
        Misconception("minimum", lambda W1, W2, x: W2 @ np.minimum(0, W1 @ x), "the smaller of 0 and the hidden value is taken", "which of 0 and 3 should win?"),
        Misconception("ReLU with the sign turned", lambda W1, W2, x: W2 @ relu(-(W1 @ x)), "the ReLU keeps the negative hidden values", "max(0, h), not max(0, -h)"),
        Misconception("step", lambda W1, W2, x: W2 @ (W1 @ x > 0), "the hidden values are replaced by 0 and 1", "a hidden unit that fires keeps its size"),
        Misconception("step, zero included", lambda W1, W2, x: W2 @ (W1 @ x >= 0), "the hidden values are replaced by 0 and 1, and a hidden value of 0 by 1", "a hidden unit that fires keeps its size"),
        Misconception("sign", lambda W1, W2, x: W2 @ np.sign(W1 @ x), "only the signs of the hidden values are kept", "a hidden unit that fires keeps its size"),
        Misconception("squared ReLU", lambda W1, W2, x: W2 @ relu(W1 @ x) ** 2, "the hidden values are squared", "a positive hidden value passes unchanged"),
        Misconception("leaky ReLU", lambda W1, W2, x: W2 @ np.where(W1 @ x > 0, W1 @ x, 0.01 * (W1 @ x)), "negative hidden values are shrunk to 1 % instead of set to zero", "below zero the result is exactly 0"),
        Misconception("maximum with one", lambda W1, W2, x: W2 @ np.maximum(1, W1 @ x), "the hidden values are compared with 1 instead of 0", "what should max(0, 0.5) be?"),
        Misconception("logistic", lambda W1, W2, x: W2 @ sigmoid(W1 @ x), "the logistic function stands in the place of ReLU: sigma means 'an activation' here", "the exercise says which one: ReLU"),
        Misconception("tanh", lambda W1, W2, x: W2 @ np.tanh(W1 @ x), "tanh stands in the place of ReLU", "the exercise asks for max(0, .)"),
        Misconception("softmax", lambda W1, W2, x: W2 @ softmax(W1 @ x), "a softmax stands in the place of ReLU, as in attention", "every hidden unit decides alone"),
        Misconception("GELU", lambda W1, W2, x: W2 @ gelu(W1 @ x), "GELU stands in the place of ReLU", "the exercise asks for max(0, .)"),
        Misconception("GELU, tanh form", lambda W1, W2, x: W2 @ gelu_tanh(W1 @ x), "the tanh form of GELU stands in the place of ReLU", "the exercise asks for max(0, .)"),
        Misconception("SiLU", lambda W1, W2, x: W2 @ ((W1 @ x) * sigmoid(W1 @ x)), "SiLU stands in the place of ReLU", "the exercise asks for max(0, .)"),
        Misconception("softplus", lambda W1, W2, x: W2 @ np.logaddexp(0, W1 @ x), "ln(1 + exp(h)) stands in the place of ReLU", "the exercise asks for max(0, .)"),
        Misconception("row convention", lambda W1, W2, x: relu(x @ W1) @ W2, "x W1 and h W2 are computed: that is the row convention", "here W1 has one row for each hidden unit: W1 x"),
        Misconception("W1 in the row convention", lambda W1, W2, x: W2 @ relu(x @ W1), "x meets W1 along its wrong axis", "each row of W1 belongs to one hidden unit"),
        Misconception("W2 in the row convention", lambda W1, W2, x: relu(W1 @ x) @ W2, "the hidden values meet W2 along its wrong axis", "each column of W2 belongs to one hidden unit"),
        Misconception("matrices exchanged", lambda W1, W2, x: W1 @ relu(W2 @ x), "W1 and W2 have changed places", "which matrix does x meet first?"),
        Misconception("exchanged, row convention", lambda W1, W2, x: relu(x @ W2) @ W1, "W1 and W2 have changed places, and both are used in the row convention", "x meets W1 first: W1 x"),
        Misconception("W1 twice", lambda W1, W2, x: W1 @ relu(W1 @ x), "W1 is used at both places", "the second product is with W2"),
        Misconception("W2 twice", lambda W1, W2, x: W2 @ relu(W2 @ x), "W2 is used at both places", "the first product is with W1"),
        Misconception("matrices multiplied first", lambda W1, W2, x: relu(W2 @ W1) @ x, "the matrices are multiplied first and the ReLU is applied to their product", "the ReLU needs W1 x: start from the right"),
        Misconception("hidden values only", lambda W1, W2, x: relu(W1 @ x), "the hidden values are returned", "the product with W2 is missing"),
        Misconception("pre-activations only", lambda W1, W2, x: W1 @ x, "W1 x is returned", "the ReLU and the product with W2 are missing"),
        Misconception("product with x only", lambda W1, W2, x: W2 @ W1, "x is left out", "what does the layer do with its input?"),
        Misconception("entry by entry", lambda W1, W2, x: np.sum(W2 * relu(W1 @ x)[None, :], axis=0), "W2 is multiplied column by column and summed over the wrong axis", "each output is one row of W2 times the hidden values"),
        Misconception("stars for products", lambda W1, W2, x: W2 * relu(W1 * x), "* stands where @ belongs: it multiplies entry by entry", "@ multiplies and sums"),
        Misconception("first unit only", lambda W1, W2, x: W2[:, 0] * max(0, W1[0] @ x), "only the first hidden unit counts", "in a loop over the units: is there a return inside it?"),
        Misconception("not summed", lambda W1, W2, x: W2 * relu(W1 @ x), "the products of W2 and the hidden values are not summed", "@ multiplies and sums, * multiplies only"),
        Misconception("summed up", lambda W1, W2, x: np.sum(W2 @ relu(W1 @ x)), "the outputs are added up", "the result is a vector with d_model entries"),
        Misconception("residual added", lambda W1, W2, x: x + W2 @ relu(W1 @ x), "x is added to the result: the residual connection belongs to the block around the layer", "what does the formula of the layer alone return?"),
        Misconception("biases of one", lambda W1, W2, x: W2 @ relu(W1 @ x + 1) + 1, "biases of 1 are added", "the biases are zero here"),
        Misconception("first bias of one", lambda W1, W2, x: W2 @ relu(W1 @ x + 1), "a bias of 1 is added to the hidden values", "the biases are zero here"),
        Misconception("negated", lambda W1, W2, x: -(W2 @ relu(W1 @ x)), "the sign of the result is turned", "is there a minus on the way?"),
        Misconception("one printed result", lambda W1, W2, x: np.array([2, 0]), "(2, 0), which the worked example gives for (1, 0), comes back whatever is asked", "compute it from W1, W2 and x: other numbers are asked as well"),
        Misconception("the worked result", _the_worked_result, "the result of the worked example comes back whatever the weights are", "compute it from W1, W2 and x: other numbers are asked as well"),
        Misconception("divided by the root", lambda W1, W2, x: W2 @ relu(W1 @ x / np.sqrt(len(x))), "W1 x is divided by the root of d_model, as scores are in attention", "the layer has no scale"),
    ),
    hints=(
        "Look at the order: W1 meets x first, then negative numbers are cut, then W2 meets what is left.",
        "In this convention the matrix stands to the left of the vector: W1 @ x has one number for each row of W1.",
        "return W2 @ np.maximum(0, ___)",
    ),
    why="With x = (1, 0), W1 x = (1, 0, 1, -1); the ReLU cuts the last one, and W2 adds the first and the third: (2, 0).",
)


# ---------------------------------------------------------------- trace_hidden


def trace_hidden(h):
    """Return relu(h), the indices of the units that fire, and the share of zeros."""
    a = np.maximum(0, h)
    active = np.flatnonzero(h > 0)
    sparsity = np.mean(a == 0)
    return a, active, sparsity


def trace_hidden_probes(rng):
    """Draw vectors with zeros, none and all units firing, integers, one unit, a strided vector."""
    mixed = rng.normal(size=11) * 2
    mixed[[0, 4]], mixed[[1, 7]], mixed[9] = -np.abs(mixed[[0, 4]]) - 0.1, np.abs(mixed[[1, 7]]) + 1.2, 0.0
    return (
        call(mixed),
        call(rng.permutation(np.array([3, 0, 0, -2, 5, -1, 7]))),
        call(np.abs(rng.normal(size=4)) + 0.2),
        call(-np.abs(rng.normal(size=5)) - 0.2),
        call(np.zeros(3)),
        call(np.array([2.5])),
        call(np.array([-1e-12, 1e-12, 0.0, -0.0, 400.0])),
        call((rng.normal(size=14) + 0.4)[::-2]),
        call(np.array([5.0, -1.0, 0.5, 2.0, -3.0, 0.0])),
        call(np.array([-2.0, 1.5, 0.0, 1.5, 0.5, 1.5, -2.0])),
    )


def _trace(a=lambda h: relu(h), active=lambda h: np.flatnonzero(h > 0), sparsity=lambda h: np.mean(h <= 0)):
    """Return the wrong program with one of its parts replaced."""
    return lambda h: (a(h), active(h), sparsity(h))


TRACE_HIDDEN = Exercise(
    id="trace_hidden",
    probes=trace_hidden_probes,
    oracle=trace_hidden,
    returns=Parts(("a", "active", "sparsity"), (Array(), Indices(length=lambda h: len(h)), Number())),
    misconceptions=(
        Misconception("a is h", _trace(a=lambda h: h * 1.0), "a is h itself, without the ReLU", "a negative entry of h becomes 0 in a"),
        Misconception("a and active are about size", _trace(a=np.abs, active=np.flatnonzero, sparsity=lambda h: np.mean(h == 0)), "the absolute value stands in the place of ReLU in all three parts", "a negative entry of h does not fire"),
        Misconception("a is the absolute value", _trace(a=np.abs), "a is the absolute value of h", "a negative entry of h becomes 0 in a"),
        Misconception("a is the other half", _trace(a=lambda h: np.minimum(0, h)), "a keeps the negative entries of h", "max(0, h)"),
        Misconception("a is turned", _trace(a=lambda h: relu(-h)), "a is the ReLU of -h", "check the sign inside the maximum"),
        Misconception("a is a step", _trace(a=lambda h: (h > 0) * 1.0), "a holds 0 and 1 instead of the sizes", "a unit that fires keeps its size"),
        Misconception("a is leaky", _trace(a=lambda h: np.where(h > 0, h, 0.01 * h)), "a is the leaky ReLU of h", "below zero the result is exactly 0"),
        Misconception("a without the zeros", _trace(a=lambda h: h[h > 0]), "the units that do not fire are left out of a", "a has as many entries as h"),
        Misconception("zero counts as active", _trace(active=lambda h: np.flatnonzero(h >= 0)), "a unit at exactly 0 counts as active (>= instead of >)", "active means h > 0"),
        Misconception("zero counts as active everywhere", _trace(active=lambda h: np.flatnonzero(h >= 0), sparsity=lambda h: np.mean(h < 0)), "a unit at exactly 0 counts as active, in the indices and in the share", "active means h > 0; an exact 0 counts as zero"),
        Misconception("not negative for active", _trace(active=lambda h: np.flatnonzero(h != 0)), "negative entries of h count as active", "active means h > 0, not h != 0"),
        Misconception("indices of the silent units", _trace(active=lambda h: np.flatnonzero(h <= 0)), "the indices of the units that do not fire are returned", "which comparison selects h > 0?"),
        Misconception("indices of the negative units", _trace(active=lambda h: np.flatnonzero(h < 0)), "the indices of the negative entries are returned", "active means h > 0"),
        Misconception("values for indices", _trace(active=lambda h: h[h > 0]), "the values of the active units are returned instead of their positions", "np.flatnonzero gives positions"),
        Misconception("counted from one", _trace(active=lambda h: np.flatnonzero(h > 0) + 1), "the positions are counted from 1", "the first unit has the index 0"),
        Misconception("descending indices", _trace(active=lambda h: np.flatnonzero(h > 0)[::-1]), "the indices are in descending order", "ascending order is asked for"),
        Misconception("indices by size", _trace(active=lambda h: np.argsort(-h, kind="stable")[: int(np.sum(h > 0))]), "the indices are ordered by the size of the activation", "ascending order of the positions is asked for"),
        Misconception("indices by rising size", _trace(active=lambda h: np.argsort(h, kind="stable")[len(h) - int(np.sum(h > 0)) :]), "the indices are ordered by the size of the activation, smallest first", "ascending order of the positions is asked for"),
        Misconception("first of equal values", _trace(active=lambda h: np.array([list(h).index(value) for value in h if value > 0], dtype=int)), "the index of a value is looked up, and equal values all get the first one's", "go through the positions: enumerate(h), or np.flatnonzero(h > 0)"),
        Misconception("last of equal values", _trace(active=lambda h: np.array([np.flatnonzero(h == value)[-1] for value in h if value > 0], dtype=int)), "the index of a value is looked up, and equal values all get the last one's", "go through the positions: enumerate(h), or np.flatnonzero(h > 0)"),
        Misconception("equal values once", _trace(sparsity=lambda h: 1 - len(set(h[h > 0].tolist())) / len(h)), "equal values are counted once in the share", "count positions, not different values"),
        Misconception("a column of indices", _trace(active=lambda h: np.argwhere(h > 0)), "the indices stand in a column, as np.argwhere returns them", "np.flatnonzero gives a plain vector of positions"),
        Misconception("number of active units", _trace(active=lambda h: np.sum(h > 0)), "the number of active units is returned instead of their indices", "which positions are active?"),
        Misconception("first active only", _trace(active=lambda h: np.flatnonzero(h > 0)[:1]), "only the first active unit is listed", "all active units are asked for"),
        Misconception("strongest only", _trace(active=lambda h: np.argmax(h).reshape(1)), "only the strongest unit is listed", "all units with h > 0 are asked for"),
        Misconception("strongest only, as a number", _trace(active=lambda h: np.argmax(h)), "the index of the strongest unit is returned as a single number", "all units with h > 0 are asked for"),
        Misconception("a is sorted", _trace(a=lambda h: np.sort(relu(h))), "a is sorted", "entry i of a belongs to unit i"),
        Misconception("a is sorted, largest first", _trace(a=lambda h: np.sort(relu(h))[::-1]), "a is sorted, largest first", "entry i of a belongs to unit i"),
        Misconception("above one", _trace(active=lambda h: np.flatnonzero(h > 1)), "only entries above 1 count as active", "the border is 0"),
        Misconception("above the mean", _trace(active=lambda h: np.flatnonzero(h > np.mean(h))), "entries above the mean count as active", "the border is 0"),
        Misconception("active share", _trace(sparsity=lambda h: np.mean(h > 0)), "the share of active units is returned: sparsity is the share of zeros", "how many entries of a are 0?"),
        Misconception("active share, zero included", _trace(sparsity=lambda h: np.mean(h >= 0)), "the share of entries that are not negative is returned: sparsity is the share of zeros in a", "how many entries of a are 0?"),
        Misconception("zeros of h", _trace(sparsity=lambda h: np.mean(h == 0)), "the zeros of h are counted instead of those of a", "the ReLU makes new zeros: count after it"),
        Misconception("nonzeros of h", _trace(sparsity=lambda h: np.mean(h != 0)), "the share of entries of h that are not 0 is returned", "how many entries of a are 0?"),
        Misconception("negative share", _trace(sparsity=lambda h: np.mean(h < 0)), "the share of negative entries is returned, so an exact 0 is not counted", "an entry of a is 0 for h = 0 as well"),
        Misconception("number of zeros", _trace(sparsity=lambda h: np.sum(h <= 0)), "the zeros are counted and not divided by the number of units", "a share lies between 0 and 1"),
        Misconception("number of active units for a share", _trace(sparsity=lambda h: np.sum(h > 0)), "the active units are counted", "sparsity is the share of zeros, between 0 and 1"),
        Misconception("per cent", _trace(sparsity=lambda h: 100 * np.mean(h <= 0)), "the share is given in per cent", "a share lies between 0 and 1"),
        Misconception("active per cent", _trace(sparsity=lambda h: 100 * np.mean(h > 0)), "the share of active units is given in per cent", "a share of zeros between 0 and 1 is asked for"),
        Misconception("rounded share", _trace(sparsity=lambda h: np.round(np.mean(h <= 0), 2)), "the share is rounded to 2 digits", "return the unrounded number"),
        Misconception("coarsely rounded share", _trace(sparsity=lambda h: np.round(np.mean(h <= 0), 1)), "the share is rounded to 1 digit", "return the unrounded number"),
        Misconception("whole share", _trace(sparsity=lambda h: int(np.mean(h <= 0))), "the share is cut to a whole number", "is there an int(...) or a // on the way?"),
        Misconception("zeros to active", _trace(sparsity=lambda h: np.sum(h <= 0) / max(int(np.sum(h > 0)), 1)), "the zeros are divided by the number of active units", "a share is divided by all units"),
        Misconception("mean for share", _trace(sparsity=lambda h: np.mean(relu(h))), "the mean of a is returned", "sparsity counts zeros: np.mean(a == 0)"),
        Misconception("mean of h for share", _trace(sparsity=lambda h: np.mean(h)), "the mean of h is returned", "sparsity counts zeros: np.mean(a == 0)"),
        Misconception("one less than all", _trace(sparsity=lambda h: np.sum(h <= 0) / (len(h) + 1)), "the zeros are divided by one unit too many", "how many entries has a?"),
        Misconception("nearly zero", _trace(sparsity=lambda h: np.mean(relu(h) < 1e-6)), "very small activations count as zeros", "only an exact 0 counts"),
        Misconception("sparsity before active", lambda h: (relu(h), np.mean(h <= 0), np.flatnonzero(h > 0)), "sparsity and active have changed places", "return a, active, sparsity in this order"),
        Misconception("active before a", lambda h: (np.flatnonzero(h > 0), relu(h), np.mean(h <= 0)), "a and active have changed places", "return a, active, sparsity in this order"),
        Misconception("h everywhere", _trace(a=lambda h: h * 1.0, sparsity=lambda h: np.mean(h == 0)), "the ReLU is left out: a is h, and the zeros of h are counted", "which function cuts the negative entries?"),
    ),
    hints=(
        "Look at three questions one after the other: what is left after the ReLU, where is it positive, how much of it is zero?",
        "np.maximum cuts, np.flatnonzero of a comparison gives positions, and the mean of a comparison gives a share.",
        "a = np.maximum(0, h), then return a, np.flatnonzero(h > 0), np.mean(___)",
    ),
    why="A comparison gives True and False; their positions are the active units, and their mean is a share.",
)

EXERCISES = (SELF_TEST_C, TRACE_HIDDEN)
