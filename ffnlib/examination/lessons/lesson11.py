"""Lesson 11: the layer as a key-value memory: what each unit adds, what triggers it, what its value votes for."""

from __future__ import annotations

import re

import numpy as np

from ffnlib.activations import gelu, sigmoid
from ffnlib.examination.exercise import Array, Exercise, Indices, Misconception, call
from ffnlib.examination.lessons.lesson04 import LAYER_NORM_SLIPS
from ffnlib.experts import softmax
from ffnlib.layer import layer_norm, relu

# ---------------------------------------------------------------- kv_contributions


def kv_contributions(x, W1, b1, W2):
    """Return one row for each hidden unit: its coefficient times its value."""
    coefficient = np.maximum(0, x @ W1 + b1)
    return coefficient[:, None] * W2


def kv_probes(rng):
    """Draw a wide, a square, a narrow and a one-unit layer, integers, strided weights, no and all units firing."""
    return (
        _memory(rng, rng.normal(size=3), 5),
        _memory(rng, rng.normal(size=4), 4),
        _memory(rng, rng.normal(size=5), 2),
        _memory(rng, np.array([2, -1, 3]), 6),
        _memory(rng, rng.normal(size=6)[::2], 3),
        call(np.abs(rng.normal(size=2)), -np.abs(rng.normal(size=(2, 3))), -np.ones(3), rng.normal(size=(3, 2))),
        call(np.abs(rng.normal(size=2)), np.abs(rng.normal(size=(2, 3))), np.ones(3), rng.normal(size=(3, 2))),
        call(np.array([1.5]), np.array([[2.0]]), np.array([-0.5]), rng.normal(size=(1, 1))),
        call(np.zeros(3), rng.normal(size=(6, 8))[::2, ::2], rng.normal(size=4), rng.normal(size=(3, 4)).T),
        call(rng.normal(size=3), rng.normal(size=(3, 5)), rng.normal(size=5) + 0.4, rng.integers(-9, 10, size=(5, 3))),
    )


def _memory(rng, x, d_ff: int):
    d_model = len(x)
    return call(x, rng.normal(size=(d_model, d_ff)), rng.normal(size=d_ff) + 0.4, rng.normal(size=(d_ff, d_model)))


def coefficients(x, W1, b1):
    """Return how strongly every unit fires."""
    return relu(x @ W1 + b1)


KV_CONTRIBUTIONS = Exercise(
    id="kv_contributions",
    probes=kv_probes,
    oracle=kv_contributions,
    returns=Array(),
    library="ffnlib.memory.kv_contributions",
    misconceptions=(
        Misconception("summed", lambda x, W1, b1, W2: coefficients(x, W1, b1) @ W2, "the contributions are summed: that is the layer's output", "one row for each hidden unit is asked for, before the sum"),
        Misconception("all products", lambda x, W1, b1, W2: np.outer(coefficients(x, W1, b1), W2), "every coefficient is multiplied with every number of W2, as np.outer does", "each coefficient multiplies its own row: [:, None] and *"),
        Misconception("no ReLU", lambda x, W1, b1, W2: (x @ W1 + b1)[:, None] * W2, "the ReLU is left out, so silent units contribute as well", "the coefficient is relu(x W1 + b1)"),
        Misconception("ReLU on the contributions", lambda x, W1, b1, W2: relu((x @ W1 + b1)[:, None] * W2), "ReLU is applied to the products instead of to the coefficients", "cut the coefficient, not the contribution: a value may be negative"),
        Misconception("two ReLUs", lambda x, W1, b1, W2: relu(coefficients(x, W1, b1)[:, None] * W2), "a second ReLU is applied to the contributions", "a value may be negative"),
        Misconception("ReLU before b1", lambda x, W1, b1, W2: (relu(x @ W1) + b1)[:, None] * W2, "ReLU is applied before b1 is added", "add b1 first, then cut"),
        Misconception("no b1", lambda x, W1, b1, W2: relu(x @ W1)[:, None] * W2, "b1 is left out", "the coefficient is relu(x W1 + b1)"),
        Misconception("b1 subtracted", lambda x, W1, b1, W2: relu(x @ W1 - b1)[:, None] * W2, "b1 is subtracted", "check the sign before b1"),
        Misconception("b1 twice", lambda x, W1, b1, W2: relu(x @ W1 + 2 * b1)[:, None] * W2, "b1 is added twice", "count how often b1 is added"),
        Misconception("b1 in every row", lambda x, W1, b1, W2: coefficients(x, W1, b1)[:, None] * W2 + b1[:, None], "b1 is added to the contributions as well", "b1 belongs to the coefficient"),
        Misconception("transposed", lambda x, W1, b1, W2: (coefficients(x, W1, b1)[:, None] * W2).T, "rows and columns of the result are exchanged", "row i belongs to hidden unit i: shape (d_ff, d_model)"),
        Misconception("coefficients along the columns", lambda x, W1, b1, W2: coefficients(x, W1, b1) * W2, "the coefficients run along the columns of W2 instead of its rows", "[:, None] turns the coefficients into a column"),
        Misconception("coefficient of the column", lambda x, W1, b1, W2: np.array([[coefficients(x, W1, b1)[j] * W2[i, j] for j in range(W2.shape[1])] for i in range(len(W2))]), "entry (i, j) is coefficient j times W2[i, j]", "unit i has row i: coefficient i"),
        Misconception("columns of W2", lambda x, W1, b1, W2: coefficients(x, W1, b1)[:, None] * W2.T, "the columns of W2 are used as values", "in the row convention the value of unit i is row i of W2"),
        Misconception("one row a feature", lambda x, W1, b1, W2: np.array([coefficients(x, W1, b1)[i] * W2[:, i] for i in range(W2.shape[1])]), "there is one row for each feature: column i of W2 times coefficient i", "one row for each hidden unit: row i of W2 times coefficient i"),
        Misconception("column i of W2 for unit i", lambda x, W1, b1, W2: np.array([coefficients(x, W1, b1)[i] * W2[:, i] for i in range(len(b1))]), "column i of W2 is taken as the value of unit i", "in the row convention the value of unit i is row i of W2"),
        Misconception("as many units as features", lambda x, W1, b1, W2: np.array([coefficients(x, W1, b1)[i] * W2[i] for i in range(len(x))]), "the loop runs over the entries of x, and not over the hidden units", "one row for each hidden unit: range(len(b1))"),
        Misconception("cut to whole numbers", lambda x, W1, b1, W2: (coefficients(x, W1, b1)[:, None] * W2).astype(W2.dtype), "for whole numbers in W2 the results are cut to whole numbers as well", "np.zeros_like(W2) takes over the integer type of W2: np.zeros(W2.shape)"),
        Misconception("W1 in the column convention", lambda x, W1, b1, W2: relu(W1 @ x + b1)[:, None] * W2, "the rows of W1 are used as keys", "in the row convention the key of unit i is column i of W1: x @ W1"),
        Misconception("keys for values", lambda x, W1, b1, W2: coefficients(x, W1, b1)[:, None] * W1.T, "the keys are weighted instead of the values", "the values are the rows of W2"),
        Misconception("keys and values exchanged", lambda x, W1, b1, W2: relu(x @ W2.T + b1)[:, None] * W1.T, "keys and values have changed places", "W1 holds the keys, W2 the values"),
        Misconception("without coefficients", lambda x, W1, b1, W2: W2 * 1.0, "the values come back without their coefficients", "how strongly does each unit fire?"),
        Misconception("firing or not", lambda x, W1, b1, W2: (x @ W1 + b1 > 0)[:, None] * W2, "each value is taken fully or not at all", "a unit that fires contributes in proportion to its coefficient"),
        Misconception("coefficients only", lambda x, W1, b1, W2: coefficients(x, W1, b1), "the coefficients are returned without the values", "multiply row i of W2 by coefficient i"),
        Misconception("firing units only", lambda x, W1, b1, W2: (coefficients(x, W1, b1)[:, None] * W2)[x @ W1 + b1 > 0], "the rows of the silent units are left out", "a silent unit has a row of zeros"),
        Misconception("attention weights", lambda x, W1, b1, W2: softmax(x @ W1 + b1)[:, None] * W2, "a softmax turns the coefficients into attention weights", "the layer has no softmax: the coefficients need not sum to 1"),
        Misconception("softmax of the coefficients", lambda x, W1, b1, W2: softmax(coefficients(x, W1, b1))[:, None] * W2, "a softmax is applied to the coefficients", "the layer has no softmax: the coefficients need not sum to 1"),
        Misconception("shares", lambda x, W1, b1, W2: (coefficients(x, W1, b1) / np.sum(coefficients(x, W1, b1)))[:, None] * W2, "the coefficients are divided by their sum", "the coefficients need not sum to 1"),
        Misconception("absolute value", lambda x, W1, b1, W2: np.abs(x @ W1 + b1)[:, None] * W2, "the absolute value stands in the place of ReLU", "a negative pre-activation becomes 0"),
        Misconception("squared coefficients", lambda x, W1, b1, W2: coefficients(x, W1, b1)[:, None] ** 2 * W2, "the coefficients are squared", "coefficient times value, once"),
        Misconception("GELU", lambda x, W1, b1, W2: gelu(x @ W1 + b1)[:, None] * W2, "GELU stands in the place of ReLU", "this layer uses ReLU"),
        Misconception("logistic", lambda x, W1, b1, W2: sigmoid(x @ W1 + b1)[:, None] * W2, "the logistic function stands in the place of ReLU", "this layer uses ReLU"),
        Misconception("sizes of the contributions", lambda x, W1, b1, W2: np.linalg.norm(coefficients(x, W1, b1)[:, None] * W2, axis=1), "the lengths of the contributions are returned", "the vectors themselves are asked for"),
        Misconception("sums of the contributions", lambda x, W1, b1, W2: np.sum(coefficients(x, W1, b1)[:, None] * W2, axis=1), "each contribution is summed to one number", "the vectors themselves are asked for"),
        Misconception("unit values", lambda x, W1, b1, W2: coefficients(x, W1, b1)[:, None] * W2 / np.linalg.norm(W2, axis=1, keepdims=True), "the values are scaled to length 1", "the values are the rows of W2 as they are"),
        Misconception("running sum", lambda x, W1, b1, W2: np.cumsum(coefficients(x, W1, b1)[:, None] * W2, axis=0), "each row holds the sum up to its unit", "each row belongs to one unit alone"),
        Misconception("strongest first", lambda x, W1, b1, W2: (coefficients(x, W1, b1)[:, None] * W2)[np.argsort(-coefficients(x, W1, b1), kind="stable")], "the rows are sorted by coefficient", "row i belongs to hidden unit i"),
        Misconception("x added", lambda x, W1, b1, W2: x + coefficients(x, W1, b1)[:, None] * W2, "x is added to every row", "the residual connection is not part of a unit's contribution"),
        Misconception("x times W1 in rows", lambda x, W1, b1, W2: (x[:, None] * W1).T, "the products of x and W1 are returned unsummed", "a unit's contribution is its coefficient times its row of W2"),
        Misconception("output in every row", lambda x, W1, b1, W2: np.tile(coefficients(x, W1, b1) @ W2, (len(W2), 1)), "every row holds the layer's whole output", "row i holds what unit i alone adds"),
        Misconception("shared out evenly", lambda x, W1, b1, W2: np.tile(coefficients(x, W1, b1) @ W2 / len(W2), (len(W2), 1)), "the layer's output is shared out evenly", "row i holds what unit i alone adds"),
        Misconception("minimum", lambda x, W1, b1, W2: np.minimum(0, x @ W1 + b1)[:, None] * W2, "the negative pre-activations are kept", "max(0, .) keeps the positive ones"),
        Misconception("negated", lambda x, W1, b1, W2: -coefficients(x, W1, b1)[:, None] * W2, "the sign is turned", "coefficient times value, without a minus"),
    ),
    hints=(
        "Look at FFN(x) as a sum over hidden units: which part of it belongs to unit i alone?",
        "The coefficients have shape (d_ff,); [:, None] makes a column of them that multiplies the rows of W2.",
        "return coefficient[:, None] * ___",
    ),
    why="A product with a matrix is a weighted sum of its rows; leaving out the sum shows what each unit contributes.",
)


# ---------------------------------------------------------------- top_triggers


def top_triggers(H, unit, k):
    """Return the k tokens on which the unit is most active, strongest first."""
    order = np.argsort(-H[:, unit], kind="stable")
    return order[:k]


def trigger_probes(rng):
    """Draw activations with k = 1, some and all tokens, negative ones, ties, square, one token, integers, strides."""
    fired = rng.normal(size=(7, 4))
    fired[:, 1] = relu(fired[:, 1] - 0.5)  # ties at zero, and between two tokens that fire
    fired[[2, 5], 1], fired[4, 1] = 4.5 + rng.random(), 4.0
    return (
        call(rng.normal(size=(6, 4)), 2, 3),
        call(rng.normal(size=(5, 5)), 1, 2),
        call(rng.normal(size=(6, 3)), 0, 6),
        call(-np.abs(rng.normal(size=(5, 3))) - 0.1, 2, 4),
        call(fired, 1, 3),
        call(rng.normal(size=(1, 3)), 1, 1),
        call(rng.integers(-1000, 1000, size=(8, 3)), 1, 3),
        call(rng.normal(size=(14, 8))[::2, ::2], 3, 4),
        call(rng.normal(size=(4, 7)), 3, 1),
        call(rng.normal(size=(8, 8)), 5, 4),
        call(rng.normal(size=(300, 2)), 0, 250),  # so long that a partition is not a sort
    )


def strongest(strengths, k):
    """Return the positions of the k largest numbers, largest first."""
    return np.argsort(-strengths, kind="stable")[:k]


TOP_TRIGGERS = Exercise(
    id="top_triggers",
    probes=trigger_probes,
    oracle=top_triggers,
    returns=Indices(length=lambda H, unit, k: len(H), ties=lambda H, unit, k: H[:, unit]),
    library="ffnlib.memory.top_triggers",
    misconceptions=(
        Misconception("weakest", lambda H, unit, k: np.argsort(H[:, unit], kind="stable")[:k], "the k tokens with the smallest activation are returned: argsort is ascending", "the largest ones stand at the other end of argsort"),
        Misconception("strongest last", lambda H, unit, k: np.argsort(H[:, unit], kind="stable")[-k:], "the right tokens are in ascending order, strongest last", "turn the order round: strongest first"),
        Misconception("weakest, largest first", lambda H, unit, k: np.argsort(-H[:, unit], kind="stable")[-k:], "the last k of the descending order are returned", "the first k are the strongest"),
        Misconception("in the order of the text", lambda H, unit, k: np.sort(strongest(H[:, unit], k)), "the right tokens are sorted by position instead of activation", "strongest first"),
        Misconception("units for tokens", lambda H, unit, k: strongest(H[unit], k), "row `unit` of H is ranked: those are the units of one token", "a unit is a column: H[:, unit]"),
        Misconception("weakest units of a token", lambda H, unit, k: np.argsort(H[unit], kind="stable")[:k], "row `unit` of H is ranked, smallest first", "a unit is a column: H[:, unit], and the largest are asked for"),
        Misconception("transposed twice", lambda H, unit, k: np.argsort(-H, axis=1, kind="stable")[:k, unit], "each token's units are ranked instead of each unit's tokens", "sort along the axis of the tokens"),
        Misconception("by size", lambda H, unit, k: strongest(np.abs(H[:, unit]), k), "the absolute activation is ranked", "a strongly negative activation is not a trigger"),
        Misconception("ReLU first", lambda H, unit, k: strongest(relu(H[:, unit]), k), "activations below 0 are set to 0 before the ranking, which makes them equal", "rank H[:, unit] as it is"),
        Misconception("values", lambda H, unit, k: np.sort(H[:, unit])[::-1][:k], "the activations are returned instead of the positions of their tokens", "np.argsort gives positions"),
        Misconception("counted from one", lambda H, unit, k: strongest(H[:, unit], k) + 1, "the tokens are counted from 1", "the first token has the index 0"),
        Misconception("unit counted from one", lambda H, unit, k: strongest(H[:, unit - 1], k), "the unit before the one asked for is ranked", "units are counted from 0: H[:, unit]"),
        Misconception("one too few", lambda H, unit, k: strongest(H[:, unit], k - 1), "one token too few is returned", "[:k] has k entries"),
        Misconception("one too many", lambda H, unit, k: strongest(H[:, unit], k + 1), "one token too many is returned", "[:k] has k entries"),
        Misconception("strongest left out", lambda H, unit, k: np.argsort(-H[:, unit], kind="stable")[1 : k + 1], "the strongest token is left out and the k after it are returned", "counting starts at 0, and a slice from the end reaches the end: [-k:]"),
        Misconception("from the k-th down", lambda H, unit, k: np.argsort(H[:, unit], kind="stable")[-k::-1], "the k-th strongest comes first, and all weaker ones after it, as with [-k::-1]", "turn first, then cut: [::-1][:k]"),
        Misconception("turned before the sort", lambda H, unit, k: np.argsort(H[::-1, unit], kind="stable")[:k], "the column is turned round before it is sorted", "sort first, then turn the order"),
        Misconception("all tokens", lambda H, unit, k: np.argsort(-H[:, unit], kind="stable"), "all tokens are returned", "the first k are asked for"),
        Misconception("strongest only", lambda H, unit, k: np.argmax(H[:, unit]).reshape(1), "only the strongest token is returned", "k tokens are asked for"),
        Misconception("strongest only, as a number", lambda H, unit, k: np.argmax(H[:, unit]), "only the strongest token is returned, as a single number", "k tokens are asked for"),
        Misconception("first k cut off", lambda H, unit, k: np.argsort(H[:, unit], kind="stable")[k:], "the first k of the ascending order are cut off instead of the last k kept", "[-k:] keeps the last k; then turn the order round"),
        Misconception("first tokens", lambda H, unit, k: np.arange(k), "the first k tokens are returned", "rank them by H[:, unit]"),
        Misconception("looked up by value", lambda H, unit, k: np.array([list(H[:, unit]).index(a) for a in np.sort(H[:, unit])[::-1][:k]]), "each activation is looked up by its value, so that of two equal ones the first token is named twice", "sort positions, not values: np.argsort"),
        Misconception("every unit ranked", lambda H, unit, k: np.argsort(-H, axis=0, kind="stable")[:k], "all units are ranked at once", "one unit is asked for: column `unit`"),
        Misconception("ranks", lambda H, unit, k: np.argsort(np.argsort(-H[:, unit], kind="stable"), kind="stable")[:k], "the ranks of the first k tokens are returned", "argsort once gives the tokens in order; twice gives ranks"),
        Misconception("rising ranks", lambda H, unit, k: np.argsort(np.argsort(H[:, unit], kind="stable"), kind="stable")[:k], "the ranks of the first k tokens are returned, smallest first", "argsort once gives the tokens in order"),
        Misconception("all units together", lambda H, unit, k: strongest(np.sum(H, axis=1), k), "the tokens are ranked by the sum over all units", "one unit is asked for: H[:, unit]"),
        Misconception("strongest of any unit", lambda H, unit, k: strongest(np.max(H, axis=1), k), "the tokens are ranked by their largest activation in any unit", "one unit is asked for: H[:, unit]"),
        Misconception("flattened", lambda H, unit, k: strongest(np.ravel(H), k), "the whole array is ranked as one long list", "one unit is asked for: H[:, unit]"),
        Misconception("unit and k exchanged", lambda H, unit, k: strongest(H[:, k], unit), "unit and k have changed places", "top_triggers(H, unit, k)"),
        Misconception("firing tokens only", lambda H, unit, k: np.array([t for t in strongest(H[:, unit], k) if H[t, unit] > 0], dtype=int), "tokens on which the unit does not fire are left out", "k tokens are returned whatever their sign"),
        Misconception("first firing tokens", lambda H, unit, k: np.flatnonzero(H[:, unit] > 0)[:k], "the first k tokens on which the unit fires are returned", "rank them by activation"),
        Misconception("first column", lambda H, unit, k: strongest(H[:, 0], k), "unit 0 is ranked whatever unit is asked for", "H[:, unit]"),
        Misconception("last column", lambda H, unit, k: strongest(H[:, -1], k), "the last unit is ranked whatever unit is asked for", "H[:, unit]"),
        Misconception("share of the token", lambda H, unit, k: strongest(H[:, unit] / np.sum(np.abs(H), axis=1), k), "the unit's share of the token's activation is ranked", "the activation itself is ranked"),
        Misconception("strongest named k times", lambda H, unit, k: np.full(k, np.argmax(H[:, unit])), "the strongest token is named k times", "k different tokens are asked for"),
        Misconception("a column", lambda H, unit, k: strongest(H[:, unit], k)[:, None], "the tokens stand in a column", "a plain vector of k indices"),
        Misconception("whole rows", lambda H, unit, k: H[strongest(H[:, unit], k)], "the rows of the tokens are returned instead of their indices", "np.argsort gives the indices"),
        Misconception("pairs of token and unit", lambda H, unit, k: np.stack([strongest(H[:, unit], k), np.full(k, unit)], axis=1), "pairs of token and unit are returned", "the tokens alone are asked for"),
    ),
    hints=(
        "Look at one column of H: it holds the unit's activation on every token.",
        "np.argsort gives positions in ascending order; sort the negated column, or turn the order round.",
        "return np.argsort(-H[:, ___])[:k]",
    ),
    why="A unit's key is understood by its triggers: the inputs on which its coefficient is largest.",
)


# ---------------------------------------------------------------- value_distribution


def value_distribution(v, E):
    """Return softmax(E v), finite for scores of any size."""
    scores = E @ v
    exponentials = np.exp(scores - np.max(scores))
    return exponentials / np.sum(exponentials)


def distribution_probes(rng):
    """Draw a vocabulary that is larger, square, smaller, of one word; integers, zero, and scores of 1e4."""
    return (
        call(rng.normal(size=3), rng.normal(size=(6, 3))),
        call(rng.normal(size=4), rng.normal(size=(4, 4))),
        call(rng.normal(size=5), rng.normal(size=(2, 5))),
        call(np.array([2, -1, 1]), rng.integers(-2, 3, size=(7, 3))),
        call(np.zeros(3), rng.normal(size=(5, 3))),
        call(rng.normal(size=2) + 1, rng.normal(size=(1, 2))),
        call(np.array([1e4, -1e4]), np.array([[1.0, 0.0], [1.0, 1e-4], [0.0, 1.0], [0.9999, 0.0]])),
        call(np.array([-1e4]), np.array([[1.0], [1.00005], [2.0]])),
        call(np.array([800.0]), np.array([[0.0], [1.0], [0.9875], [0.99875]])),
        call(rng.normal(size=6)[::2], rng.normal(size=(3, 8)).T[::2]),
    )


def _added_below(small: float) -> Misconception:
    def program(v, E):
        exponentials = np.exp(E @ v - np.max(E @ v))
        return exponentials / (np.sum(exponentials) + small)

    because = f"{small:g} is added to the sum, so that the shares do not add up to 1"
    return Misconception(f"{small:g} added below", program, because, "the sum is at least 1: nothing has to be added")


VALUE_DISTRIBUTION = Exercise(
    id="value_distribution",
    probes=distribution_probes,
    oracle=value_distribution,
    returns=Array(),
    library="ffnlib.memory.value_distribution",
    misconceptions=(
        Misconception("overflow", lambda v, E: np.exp(E @ v) / np.sum(np.exp(E @ v)), "exp overflows: the largest score is not subtracted first", "softmax does not change when the same number is subtracted from all scores"),
        Misconception("smallest subtracted", lambda v, E: np.exp(E @ v - np.min(E @ v)) / np.sum(np.exp(E @ v - np.min(E @ v))), "the smallest score is subtracted, so that large ones still overflow", "subtract the largest"),
        Misconception("mean subtracted", lambda v, E: np.exp(E @ v - np.mean(E @ v)) / np.sum(np.exp(E @ v - np.mean(E @ v))), "the mean score is subtracted, so that large ones still overflow", "subtract the largest"),
        Misconception("size of the largest subtracted", lambda v, E: np.exp(E @ v - np.max(np.abs(E @ v))) / np.sum(np.exp(E @ v - np.max(np.abs(E @ v)))), "the largest absolute score is subtracted, so that everything can vanish", "subtract the largest score itself"),
        Misconception("first subtracted", lambda v, E: np.exp(E @ v - (E @ v)[0]) / np.sum(np.exp(E @ v - (E @ v)[0])), "the first score is subtracted", "subtract the largest"),
        Misconception("scores cut off", lambda v, E: np.exp(np.clip(E @ v, -700, 700)) / np.sum(np.exp(np.clip(E @ v, -700, 700))), "scores beyond 700 are cut off, so that different ones become equal", "subtract the largest instead"),
        Misconception("numerator shifted only", lambda v, E: np.exp(E @ v - np.max(E @ v)) / np.sum(np.exp(E @ v)), "the largest score is subtracted in the numerator only", "divide by the sum of the same exponentials"),
        Misconception("sum shifted only", lambda v, E: np.exp(E @ v) / np.sum(np.exp(E @ v - np.max(E @ v))), "the largest score is subtracted in the sum only", "the same exponentials stand above and below"),
        Misconception("scores", lambda v, E: E @ v, "the scores are returned without a softmax", "a distribution is positive and sums to 1"),
        Misconception("not normalised", lambda v, E: np.exp(E @ v - np.max(E @ v)), "the exponentials are not divided by their sum", "a distribution sums to 1"),
        Misconception("divided by the number of words", lambda v, E: np.exp(E @ v - np.max(E @ v)) / len(E), "the exponentials are divided by the number of words", "divide by their sum"),
        Misconception("log of the distribution", lambda v, E: E @ v - np.max(E @ v) - np.log(np.sum(np.exp(E @ v - np.max(E @ v)))), "the logarithm of the distribution is returned", "a distribution is positive and sums to 1"),
        Misconception("scores to shares", lambda v, E: E @ v / np.sum(E @ v), "the scores are divided by their sum without exp", "exp first: a probability is never negative"),
        Misconception("sizes to shares", lambda v, E: np.abs(E @ v) / np.sum(np.abs(E @ v)), "the absolute scores are divided by their sum", "exp makes the scores positive"),
        Misconception("positive scores to shares", lambda v, E: relu(E @ v) / np.sum(relu(E @ v)), "the positive scores are divided by their sum", "exp makes the scores positive"),
        Misconception("sign turned", lambda v, E: softmax(-(E @ v)), "the signs of the scores are turned", "the word with the largest score is the most likely"),
        Misconception("transposed", lambda v, E: softmax(E.T @ v), "E is transposed", "one score for each row of E: E @ v"),
        Misconception("logistic", lambda v, E: sigmoid(E @ v), "each score goes through the logistic function on its own", "softmax: the words share a probability of 1"),
        Misconception("logistic to shares", lambda v, E: sigmoid(E @ v) / np.sum(sigmoid(E @ v)), "the logistic function stands in the place of exp", "exp of the shifted scores, divided by their sum"),
        Misconception("softmax twice", lambda v, E: softmax(softmax(E @ v)), "the softmax is applied twice", "once is enough"),
        Misconception("scaled by the root", lambda v, E: softmax(E @ v / np.sqrt(len(v))), "the scores are divided by the root of d, as in attention", "the scores are E v as they are"),
        Misconception("divided by d", lambda v, E: softmax(E @ v / len(v)), "the scores are divided by d", "the scores are E v as they are"),
        Misconception("doubled scores", lambda v, E: softmax(2 * (E @ v)), "the scores are doubled", "the scores are E v as they are"),
        Misconception("cosine", lambda v, E: softmax(E @ v / np.linalg.norm(E, axis=1)), "the rows of E are scaled to length 1", "the scores are E v as they are"),
        Misconception("cosine on both sides", lambda v, E: softmax(E @ v / np.linalg.norm(E, axis=1) / np.linalg.norm(v)), "cosines stand in the place of the scores", "the scores are E v as they are"),
        Misconception("unit value", lambda v, E: softmax(E @ v / np.linalg.norm(v)), "v is scaled to length 1", "the scores are E v as they are"),
        Misconception("ReLU on the scores", lambda v, E: softmax(relu(E @ v)), "negative scores are set to zero before the softmax", "the softmax receives the scores as they are"),
        Misconception("ReLU on the value", lambda v, E: softmax(E @ relu(v)), "negative entries of v are set to zero", "v is used as it is"),
        Misconception("powers of two", lambda v, E: np.exp2(E @ v - np.max(E @ v)) / np.sum(np.exp2(E @ v - np.max(E @ v))), "powers of 2 stand in the place of exp", "np.exp"),
        Misconception("length one", lambda v, E: np.exp(E @ v - np.max(E @ v)) / np.linalg.norm(np.exp(E @ v - np.max(E @ v))), "the exponentials are scaled to length 1", "divide by their sum"),
        Misconception("mean of one", lambda v, E: softmax(E @ v) * len(E), "the exponentials are divided by their mean", "divide by their sum"),
        Misconception("squared scores to shares", lambda v, E: (E @ v) ** 2 / np.sum((E @ v) ** 2), "the squared scores are divided by their sum", "exp makes the scores positive"),
        Misconception("winner only", lambda v, E: (np.arange(len(E)) == np.argmax(E @ v)) * 1.0, "the best word gets 1 and all others 0", "a softmax gives every word a share"),
        Misconception("best word", lambda v, E: np.argmax(E @ v) * 1.0, "the index of the best word is returned", "the whole distribution is asked for"),
        Misconception("largest probability", lambda v, E: np.max(softmax(E @ v)), "only the largest probability is returned", "the whole distribution is asked for"),
        Misconception("sorted", lambda v, E: np.sort(softmax(E @ v))[::-1], "the probabilities are sorted", "entry i belongs to word i"),
        Misconception("reversed", lambda v, E: softmax(E @ v)[::-1], "the probabilities are in reverse order", "entry i belongs to word i"),
        Misconception("ranking", lambda v, E: np.argsort(-(E @ v), kind="stable") * 1.0, "the words are ranked, and their numbers returned", "the probability of every word is asked for"),
        Misconception("distances", lambda v, E: softmax(-np.sum((E - v) ** 2, axis=1)), "words near v score high: squared distances stand in the place of products", "the score of a word is its row of E times v"),
        Misconception("per feature", lambda v, E: np.sum(softmax(E * v), axis=1), "the softmax runs over the features before they are summed", "sum first: E @ v, then softmax over the words"),
        Misconception("per feature, not summed", lambda v, E: softmax(E * v), "the softmax runs over the features of each word, and nothing is summed", "sum first: E @ v, then softmax over the words"),
        Misconception("each score alone", lambda v, E: np.ones((len(E), 1)), "the softmax runs over one score at a time, as over the last axis of a column, so that each becomes 1", "a plain vector of scores: E @ v"),
        Misconception("divided by the largest", lambda v, E: softmax(E @ v / np.max(E @ v)), "the scores are divided by the largest one", "subtract the largest: a difference stays a difference"),
        *(_added_below(small) for small in (1e-5, 1e-6, 1e-7)),
        Misconception("over the words, per feature", lambda v, E: softmax((E * v).T).T, "the products are not summed over the features", "E @ v multiplies and sums"),
        Misconception("softmax of E", lambda v, E: softmax(E) @ v, "the softmax is applied to E before the product with v", "product first, then softmax"),
        Misconception("softmax of v", lambda v, E: E @ softmax(v), "the softmax is applied to v", "product first, then softmax"),
        Misconception("percentages", lambda v, E: 100 * softmax(E @ v), "the probabilities are given in per cent", "a distribution sums to 1"),
        Misconception("uniform", lambda v, E: np.ones(len(E)) / len(E), "every word gets the same share", "the scores E v decide"),
        Misconception("complement", lambda v, E: 1 - softmax(E @ v), "1 minus the probability is returned", "the probabilities themselves sum to 1"),
        Misconception("rounded", lambda v, E: np.round(softmax(E @ v), 4), "the probabilities are rounded to 4 digits", "return the unrounded numbers"),
        Misconception("in a row", lambda v, E: softmax(E @ v)[None], "the distribution stands in a row of its own, shape (1, vocab)", "a plain vector with one entry for each word"),
    ),
    hints=(
        "Look at the two steps: one score for each word of the vocabulary, then a softmax over the words.",
        "E @ v gives the scores; subtract the largest before np.exp, so that nothing overflows.",
        "exponentials = np.exp(scores - ___), then return exponentials / np.sum(exponentials)",
    ),
    why="A value vector lives in the same space as the words' rows of E, so its products with them read as votes.",
)


# ---------------------------------------------------------------- logit_lens


def logit_lens(h, gamma, beta, W_U, eps):
    """Return the logits of the normalised hidden state."""
    mean = np.mean(h, axis=-1, keepdims=True)
    variance = np.var(h, axis=-1, keepdims=True)
    normalised = gamma * (h - mean) / np.sqrt(variance + eps) + beta
    return normalised @ W_U


def lens_probes(rng):
    """Draw a batch, square, one vector, small and constant rows, one token, none, integers, strides, eps = 0."""
    return (
        _lens(rng, rng.normal(size=(2, 3, 4)) + 1.0, 5, 1e-5),
        _lens(rng, rng.normal(size=(4, 4)) * 2 - 1.0, 4, 1e-3),
        _lens(rng, rng.normal(size=5) + 0.5, 3, 0.1),
        _lens(rng, rng.normal(size=(3, 4)) * 1e-3 + 1e-3, 6, 1e-6),
        _lens(rng, np.array([[2.0, 2.0, 2.0], [-1.0, -1.0, -1.0]]) + rng.integers(1, 4), 3, 0.25),
        _lens(rng, rng.normal(size=(1, 6)) * 3, 2, 1.0),
        _lens(rng, np.zeros((0, 4)), 5, 1e-5),
        _lens(rng, rng.integers(-5, 6, size=(3, 4)) + np.array([9, 0, 0, -9]), 7, 0.5),
        _lens(rng, rng.normal(size=(8, 6))[::2, ::2] + 20.0, 1, 0.0),
        _lens(rng, rng.normal(size=(3, 3, 3)) * 0.1, 3, 1e-2),
    )


def _lens(rng, h, vocab: int, eps: float):
    d = h.shape[-1]
    gamma, beta = rng.normal(size=d) * 0.3 + 1.7, rng.normal(size=d) * 0.3 - 0.9
    return call(h, gamma, beta, rng.normal(size=(d, vocab)), eps)


def _in_the_lens(slip: Misconception) -> Misconception:
    """Return a slip of layer_norm as it shows in the logits."""

    def program(h, gamma, beta, W_U, eps):
        return slip.program(h, gamma, beta, eps) @ W_U

    because, step = (re.sub(r"\bx\b", "h", text) for text in (slip.because, slip.next))
    return Misconception(slip.name, program, f"in the norm, {because}", step)


LOGIT_LENS = Exercise(
    id="logit_lens",
    probes=lens_probes,
    oracle=logit_lens,
    returns=Array(),
    library="ffnlib.memory.logit_lens",
    misconceptions=(
        Misconception("no norm", lambda h, gamma, beta, W_U, eps: h @ W_U, "the final norm is left out", "the model normalises before it unembeds, and so does the lens"),
        Misconception("norm after the unembedding", lambda h, gamma, beta, W_U, eps: layer_norm(h @ W_U, 1.0, 0.0, eps), "the logits are normalised instead of the hidden state", "norm first, then W_U"),
        Misconception("scaled norm after the unembedding", lambda h, gamma, beta, W_U, eps: layer_norm(h @ W_U, gamma, beta, eps), "the logits are normalised, scaled and shifted instead of the hidden state", "norm first, then W_U"),
        Misconception("transposed", lambda h, gamma, beta, W_U, eps: layer_norm(h, gamma, beta, eps) @ W_U.T, "W_U is transposed", "W_U has shape (d_model, vocab): normalised @ W_U"),
        Misconception("norm only", lambda h, gamma, beta, W_U, eps: layer_norm(h, gamma, beta, eps), "the normalised hidden state is returned", "the unembedding is missing"),
        Misconception("probabilities", lambda h, gamma, beta, W_U, eps: softmax(layer_norm(h, gamma, beta, eps) @ W_U), "a softmax turns the logits into probabilities", "the logits themselves are asked for"),
        Misconception("log-probabilities", lambda h, gamma, beta, W_U, eps: np.log(softmax(layer_norm(h, gamma, beta, eps) @ W_U)), "the logarithms of the probabilities are returned", "the logits themselves are asked for"),
        Misconception("best word", lambda h, gamma, beta, W_U, eps: np.argmax(layer_norm(h, gamma, beta, eps) @ W_U, axis=-1) * 1.0, "the index of the best word is returned", "the logits of all words are asked for"),
        Misconception("residual added", lambda h, gamma, beta, W_U, eps: (h + layer_norm(h, gamma, beta, eps)) @ W_U, "h is added to its norm before the unembedding", "the lens has no residual connection"),
        Misconception("normalised, scaled and shifted twice", lambda h, gamma, beta, W_U, eps: logit_lens(layer_norm(h, gamma, beta, eps), gamma, beta, W_U, eps), "the whole norm is applied twice, gamma and beta included", "h comes as it stands in the stream: one norm"),
        Misconception("loops over the rows", lambda h, gamma, beta, W_U, eps: np.array([logit_lens(row, gamma, beta, W_U, eps) for row in h]), "a loop takes the rows of h one by one: one vector alone has no rows, and no rows at all leave nothing to stack", "axis=-1 and @ serve any number of rows at once"),
        Misconception("beta after the unembedding", lambda h, gamma, beta, W_U, eps: layer_norm(h, gamma, 0.0, eps) @ W_U + beta, "beta is added to the logits", "beta belongs to the norm, before W_U"),
        Misconception("last token only", lambda h, gamma, beta, W_U, eps: layer_norm(h[-1:], gamma, beta, eps) @ W_U if np.ndim(h) > 1 else logit_lens(h, gamma, beta, W_U, eps), "only the last row of the first axis is read", "every leading axis stays"),
        Misconception("ReLU on the hidden state", lambda h, gamma, beta, W_U, eps: layer_norm(relu(h), gamma, beta, eps) @ W_U, "negative entries of h are set to zero first", "the lens reads h as it is"),
        Misconception("ReLU on the logits", lambda h, gamma, beta, W_U, eps: relu(layer_norm(h, gamma, beta, eps) @ W_U), "negative logits are set to zero", "logits may be negative"),
        Misconception("scaled by the root", lambda h, gamma, beta, W_U, eps: layer_norm(h, gamma, beta, eps) @ W_U / np.sqrt(np.shape(h)[-1]), "the logits are divided by the root of d_model", "the lens has no scale of its own"),
        Misconception("centred logits", lambda h, gamma, beta, W_U, eps: centred(layer_norm(h, gamma, beta, eps) @ W_U), "the mean logit is subtracted", "the logits themselves are asked for"),
        *(_in_the_lens(slip) for slip in LAYER_NORM_SLIPS if slip.name not in ("residual added", "rounded")),
        Misconception("rounded", lambda h, gamma, beta, W_U, eps: np.round(layer_norm(h, gamma, beta, eps) @ W_U, 4), "the logits are rounded to 4 digits", "return the unrounded numbers"),
    ),
    hints=(
        "Look at what the model does after its last block: a final LayerNorm, then the unembedding.",
        "Normalise h along its last axis with gamma, beta and eps; the product with W_U gives one logit for each word.",
        "normalised = gamma * (h - mean) / np.sqrt(variance + eps) + beta, then return normalised @ ___",
    ),
    why="The lens asks what the model would say if it stopped here, so it ends as the model ends: norm, then W_U.",
)


def centred(logits):
    """Return logits with mean 0."""
    return logits - np.mean(logits, axis=-1, keepdims=True)


EXERCISES = (KV_CONTRIBUTIONS, TOP_TRIGGERS, VALUE_DISTRIBUTION, LOGIT_LENS)
