"""Lesson 01: the formula, in both conventions, and what is left of it without its activation."""

from __future__ import annotations

import numpy as np

from ffnlib.examination.exercise import Array, Exercise, Misconception, Parts, call


def layer(rng, d_model: int, d_ff: int):
    """Draw the weights W1, b1, W2, b2 of a layer in the row convention, biases well away from zero."""
    return (
        rng.normal(size=(d_model, d_ff)),
        rng.normal(size=d_ff) + 0.3,
        rng.normal(size=(d_ff, d_model)),
        rng.normal(size=d_model) + 0.5,
    )


# ---------------------------------------------------------------- relu


def relu(x):
    """Return max(0, x) for every entry of x."""
    return np.maximum(0, x)


def relu_probes(rng):
    """Draw every kind of input: matrix, square, scalar of either sign, zero, integers, empty, strided, large."""
    return (
        call(rng.normal(size=(3, 4)) * 2),
        call(rng.normal(size=(3, 3))),
        call(-abs(float(rng.normal())) - 0.5),
        call(abs(float(rng.normal())) + 1.5),
        call(0.0),
        call(rng.integers(-5, 6, size=7) - np.array([9, 0, 0, 0, 0, 0, -9])),
        call(np.zeros((0, 4))),
        call(rng.normal(size=(4, 6))[:, ::2].T),
        call(rng.normal(size=9) * 1e9),
        call(rng.normal(size=(2, 3, 4)) * 1e-3),
    )


RELU = Exercise(
    id="relu",
    probes=relu_probes,
    oracle=relu,
    returns=Array(),
    library="ffnlib.layer.relu",
    misconceptions=(
        Misconception("absolute value", lambda x: np.abs(x), "negative numbers are turned positive", "a negative input gives 0, not its size"),
        Misconception("minimum", lambda x: np.minimum(0, x), "the smaller of 0 and x is taken", "which of 0 and x should win for x = 3?"),
        Misconception("maximum over the array", lambda x: np.max(x), "one maximum is taken over the whole array", "np.max reduces an array to one number; which function compares entry by entry?"),
        Misconception("maximum along the first axis", lambda x: np.max(x, 0), "np.max(x, 0) is taken, which reads the 0 as an axis", "np.maximum(0, x) compares every entry with 0"),
        Misconception("loops over the entries", lambda x: [max(0, entry) for entry in x], "a loop takes the entries of x one by one: a single number has none, and those of a matrix are whole rows", "np.maximum needs no loop and takes any shape"),
        Misconception("identity", lambda x: x * 1.0, "x comes back unchanged", "what should happen to -2?"),
        Misconception("negated", lambda x: np.maximum(0, -x), "the sign is the wrong way round", "try x = 3: is the result 3 or 0?"),
        Misconception("step", lambda x: (np.asarray(x) > 0) * 1.0, "1 is returned for every positive number", "a positive number keeps its size"),
        Misconception("sign", lambda x: np.sign(x), "only the sign of x is returned", "a positive number keeps its size"),
        Misconception("leaky", lambda x: np.where(np.asarray(x) > 0, x, 0.01 * np.asarray(x)), "negative numbers are shrunk to 1 % instead of set to zero (the leaky ReLU)", "below zero the result is exactly 0"),
        Misconception("clipped at one", lambda x: np.clip(x, 0, 1), "the result is also cut off at 1", "positive numbers pass unchanged, however large"),
        Misconception("clipped at six", lambda x: np.clip(x, 0, 6), "the result is also cut off at 6 (ReLU6)", "positive numbers pass unchanged, however large"),
        Misconception("maximum with one", lambda x: np.maximum(1, x), "x is compared with 1 instead of 0", "what should come out at x = 0.5?"),
        Misconception("shifted", lambda x: np.maximum(0, x) + 1, "1 is added to the result", "what should come out at x = 0?"),
        Misconception("squared", lambda x: np.maximum(0, x) ** 2, "the result is squared", "a positive number passes unchanged"),
        Misconception("smooth", lambda x: np.logaddexp(0, x), "the softplus ln(1 + exp(x)) is computed", "the ReLU has a corner at 0 and is exactly 0 to its left"),
        Misconception("logistic", lambda x: 1 / (1 + np.exp(-np.clip(x, -700, 700))), "the logistic function is computed: sigma can mean any activation, here it is the ReLU", "below zero the result is exactly 0"),
        Misconception("hyperbolic tangent", lambda x: np.tanh(x), "tanh is computed", "positive numbers pass unchanged"),
        Misconception("SiLU", lambda x: x / (1 + np.exp(-np.clip(x, -700, 700))), "x times the logistic function of x is computed (SiLU)", "below zero the result is exactly 0"),
        Misconception("GELU", lambda x: _gelu(x), "GELU is computed", "below zero the result is exactly 0"),
        Misconception("ELU", lambda x: np.where(np.asarray(x) > 0, x, np.expm1(np.minimum(x, 0))), "exp(x) - 1 is returned below zero (the ELU)", "below zero the result is exactly 0"),
        Misconception("drops the negatives", lambda x: x[x > 0], "the negative numbers are left out", "the result keeps the shape of x"),
        Misconception("only the first axis", lambda x: np.maximum(0, np.asarray(x)[:1]) if np.ndim(x) else np.maximum(0, x), "only the first row is computed", "every entry of x has a result"),
        Misconception("absolute cut", lambda x: np.where(np.abs(x) > 1, x, 0), "small numbers of either sign are set to zero", "the cut is at 0: negative numbers become 0, all others stay"),
        Misconception("whole numbers", lambda x: np.maximum(0, np.trunc(x)), "the fractions are cut off", "is there an int(...) or an integer dtype on the way?"),
    ),
    hints=(
        "Look at what happens to one number: negative ones become 0, the others stay as they are.",
        "NumPy compares entry by entry with np.maximum (not np.max, which reduces an array to one number).",
        "return np.maximum(___, x)",
    ),
    why="np.maximum compares every entry with 0 and keeps the larger one, so the shape of x does not matter.",
)


# ---------------------------------------------------------------- feed_forward


def feed_forward(x, W1, b1, W2, b2):
    """Return relu(x W1 + b1) W2 + b2."""
    hidden = np.maximum(0, x @ W1 + b1)
    return hidden @ W2 + b2


def feed_forward_probes(rng):
    """Draw a batch, a square layer, one vector, one token, no token, integers, a narrow layer, strided input."""
    return (
        call(rng.normal(size=(2, 3, 4)), *layer(rng, 4, 6)),
        call(rng.normal(size=(4, 4)), *layer(rng, 4, 4)),
        call(rng.normal(size=4), *layer(rng, 4, 6)),
        call(rng.normal(size=(1, 4)), *layer(rng, 4, 3)),
        call(np.zeros((0, 4)), *layer(rng, 4, 6)),
        call(rng.integers(-3, 4, size=(3, 4)), *layer(rng, 4, 5)),
        call(rng.normal(size=(8, 6))[::2, ::2], *layer(rng, 3, 12)),
        call(rng.normal(size=(5, 5)) * 1e4, *layer(rng, 5, 5)),
        call(rng.normal(size=(2, 2, 3, 3)), *layer(rng, 3, 3)),
    )


def _softmax(scores):
    exponents = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return exponents / np.sum(exponents, axis=-1, keepdims=True)


def _positions_mixed(x, W1, b1, W2, b2):
    mixed = np.mean(x, axis=-2, keepdims=True) + 0 * x if np.ndim(x) > 1 else x
    return feed_forward(mixed, W1, b1, W2, b2)


def _first_row_only(x, W1, b1, W2, b2):
    for row in x:
        return feed_forward(row, W1, b1, W2, b2)


def _last_row_only(x, W1, b1, W2, b2):
    for row in x:
        result = feed_forward(row, W1, b1, W2, b2)
    return result


FEED_FORWARD_SLIPS = (
    Misconception("no ReLU", lambda x, W1, b1, W2, b2: (x @ W1 + b1) @ W2 + b2, "the ReLU is left out, so the layer is one linear map", "look between the two products: what happens to a negative hidden value?"),
    Misconception("ReLU after W2", lambda x, W1, b1, W2, b2: relu((x @ W1 + b1) @ W2 + b2), "ReLU is applied after W2 instead of before it", "look at the line with W2: can its result be negative in your version?"),
    Misconception("ReLU after W2, before b2", lambda x, W1, b1, W2, b2: relu((x @ W1 + b1) @ W2) + b2, "ReLU is applied after W2 instead of before it, and b2 is added after that", "the ReLU belongs to the hidden values, before W2"),
    Misconception("two ReLUs", lambda x, W1, b1, W2, b2: relu(relu(x @ W1 + b1) @ W2 + b2), "a second ReLU is applied to the result", "may the output be negative? it may: only the hidden values are cut"),
    Misconception("ReLU before b1", lambda x, W1, b1, W2, b2: (relu(x @ W1) + b1) @ W2 + b2, "ReLU is applied before b1 is added", "the bias shifts where the ReLU bends: add it first"),
    Misconception("ReLU on the input", lambda x, W1, b1, W2, b2: (relu(x) @ W1 + b1) @ W2 + b2, "ReLU is applied to x instead of to the hidden values", "which values are cut at zero in the formula?"),
    Misconception("no b1", lambda x, W1, b1, W2, b2: relu(x @ W1) @ W2 + b2, "b1 is left out", "count the biases you use"),
    Misconception("no b2", lambda x, W1, b1, W2, b2: relu(x @ W1 + b1) @ W2, "b2 is left out", "count the biases you use"),
    Misconception("no biases", lambda x, W1, b1, W2, b2: relu(x @ W1) @ W2, "both biases are left out", "the original layer has b1 and b2"),
    Misconception("b2 twice", lambda x, W1, b1, W2, b2: relu(x @ W1 + b1) @ W2 + 2 * b2, "b2 is added twice", "look for a second + b2 or a += "),
    Misconception("b1 subtracted", lambda x, W1, b1, W2, b2: relu(x @ W1 - b1) @ W2 + b2, "b1 is subtracted", "check the sign before b1"),
    Misconception("b2 subtracted", lambda x, W1, b1, W2, b2: relu(x @ W1 + b1) @ W2 - b2, "b2 is subtracted", "check the sign before b2"),
    Misconception("residual added", lambda x, W1, b1, W2, b2: x + feed_forward(x, W1, b1, W2, b2), "x is added to the result: the residual connection belongs to the block around the layer", "what does the formula of the layer alone return?"),
    Misconception("GELU, tanh form", lambda x, W1, b1, W2, b2: _gelu_tanh(x @ W1 + b1) @ W2 + b2, "GELU stands in the place of ReLU", "this layer uses max(0, .)"),
    Misconception("GELU", lambda x, W1, b1, W2, b2: _gelu(x @ W1 + b1) @ W2 + b2, "the exact GELU stands in the place of ReLU", "this layer uses max(0, .)"),
    Misconception("logistic", lambda x, W1, b1, W2, b2: _logistic(x @ W1 + b1) @ W2 + b2, "the logistic function stands in the place of ReLU: sigma in the formula means 'an activation'", "this layer uses max(0, .)"),
    Misconception("SiLU", lambda x, W1, b1, W2, b2: ((x @ W1 + b1) * _logistic(x @ W1 + b1)) @ W2 + b2, "SiLU stands in the place of ReLU", "this layer uses max(0, .)"),
    Misconception("tanh", lambda x, W1, b1, W2, b2: np.tanh(x @ W1 + b1) @ W2 + b2, "tanh stands in the place of ReLU", "this layer uses max(0, .)"),
    Misconception("softmax", lambda x, W1, b1, W2, b2: _softmax(x @ W1 + b1) @ W2 + b2, "a softmax stands in the place of ReLU, as in attention", "the layer has no softmax: every hidden unit decides alone"),
    Misconception("absolute value", lambda x, W1, b1, W2, b2: np.abs(x @ W1 + b1) @ W2 + b2, "the absolute value stands in the place of ReLU", "a negative hidden value becomes 0"),
    Misconception("step", lambda x, W1, b1, W2, b2: (x @ W1 + b1 > 0) @ W2 + b2, "the hidden values are replaced by 0 and 1", "a hidden unit that fires keeps its size"),
    Misconception("leaky ReLU", lambda x, W1, b1, W2, b2: _leaky(x @ W1 + b1) @ W2 + b2, "a leaky ReLU stands in the place of ReLU", "below zero the result is exactly 0"),
    Misconception("ReLU with the sign turned", lambda x, W1, b1, W2, b2: relu(-(x @ W1 + b1)) @ W2 + b2, "the ReLU keeps the negative hidden values", "max(0, h), not max(0, -h)"),
    Misconception("minimum", lambda x, W1, b1, W2, b2: np.minimum(0, x @ W1 + b1) @ W2 + b2, "the smaller of 0 and the hidden value is taken", "which of 0 and h should win for h = 3?"),
    Misconception("W1 transposed", lambda x, W1, b1, W2, b2: relu(x @ W1.T + b1) @ W2 + b2, "W1 is transposed: that is the other convention", "which axis of W1 has d_model entries?"),
    Misconception("W2 transposed", lambda x, W1, b1, W2, b2: relu(x @ W1 + b1) @ W2.T + b2, "W2 is transposed: that is the other convention", "which axis of W2 has d_ff entries?"),
    Misconception("both transposed", lambda x, W1, b1, W2, b2: relu(x @ W1.T + b1) @ W2.T + b2, "W1 and W2 are transposed: that is the other convention", "here x W1, with W1 of shape (d_model, d_ff)"),
    Misconception("formula for one column vector", lambda x, W1, b1, W2, b2: W2 @ relu(W1 @ x + b1) + b2, "the formula for one column vector, W2 relu(W1 x + b1) + b2, is used: there W1 stands before x", "here each position is a row of x: x @ W1"),
    Misconception("entry by entry", lambda x, W1, b1, W2, b2: relu(x * W1 + b1) * W2 + b2, "* stands in the place of @: it multiplies entry by entry", "a matrix product is written x @ W1"),
    Misconception("parentheses missing", lambda x, W1, b1, W2, b2: relu(x @ W1) + b1 @ W2 + b2, "the parentheses around the hidden values are missing: @ comes before +, so b1 meets W2", "which sum must be there before the second product?"),
    Misconception("parenthesis closed too late", lambda x, W1, b1, W2, b2: relu(x @ W1 + b1 @ W2 + b2), "the parenthesis of the ReLU closes at the end: @ comes before +, so b1 meets W2", "which sum must be there before the second product?"),
    Misconception("loops over the rows", lambda x, W1, b1, W2, b2: np.array([relu(row @ W1 + b1) @ W2 + b2 for row in x]), "a loop takes the rows of x one by one: one vector alone has no rows, and no rows at all leave no numbers", "x @ W1 serves one row, many and none"),
    Misconception("returns in the loop", _first_row_only, "the first row's result comes back: the return stands inside the loop", "collect the rows first; or do without the loop: x @ W1 serves one row, many and none"),
    Misconception("last row kept", _last_row_only, "the loop over the rows keeps the last row's result only", "collect the rows; or do without the loop: x @ W1 serves one row, many and none"),
    Misconception("last unit kept", lambda x, W1, b1, W2, b2: relu(x @ W1[:, -1:] + b1[-1:]) @ W2[-1:] + b2, "only the last hidden unit counts", "in a loop over the units: = where += belongs?"),
    Misconception("last unit left out", lambda x, W1, b1, W2, b2: feed_forward(x, W1[:, :-1], b1[:-1], W2[:-1], b2), "the last hidden unit is left out", "where does the loop over the units end?"),
    Misconception("b2 for each unit", lambda x, W1, b1, W2, b2: relu(x @ W1 + b1) @ W2 + len(b1) * b2, "b2 is added once for every hidden unit", "b2 is added once, after the loop"),
    Misconception("W1 transposed for W2", lambda x, W1, b1, W2, b2: relu(x @ W1 + b1) @ W1.T + b2, "W1 transposed stands in the place of W2", "W2 is a matrix of its own"),
    Misconception("W2 transposed for W1", lambda x, W1, b1, W2, b2: relu(x @ W2.T + b1) @ W2 + b2, "W2 transposed stands in the place of W1", "W1 is a matrix of its own"),
    Misconception("softplus", lambda x, W1, b1, W2, b2: np.logaddexp(0, x @ W1 + b1) @ W2 + b2, "ln(1 + exp(h)) stands in the place of ReLU", "this layer uses max(0, .)"),
    Misconception("ELU", lambda x, W1, b1, W2, b2: _elu(x @ W1 + b1) @ W2 + b2, "ELU stands in the place of ReLU", "below zero the result is exactly 0"),
    Misconception("ReLU on W2", lambda x, W1, b1, W2, b2: relu(x @ W1 + b1) @ relu(W2) + b2, "negative weights of W2 are set to zero", "only the hidden values are cut"),
    Misconception("ReLU before and after b1", lambda x, W1, b1, W2, b2: relu(relu(x @ W1) + b1) @ W2 + b2, "a ReLU is applied before b1 is added, and another one after it", "one ReLU, after b1"),
    Misconception("b1 in W1", lambda x, W1, b1, W2, b2: relu(x @ (W1 + b1)) @ W2 + b2, "b1 is added to the rows of W1 before x meets them", "x @ W1 first, then + b1: look at the brackets"),
    Misconception("b2 in W2", lambda x, W1, b1, W2, b2: relu(x @ W1 + b1) @ (W2 + b2), "b2 is added to the rows of W2 before the hidden values meet them", "hidden @ W2 first, then + b2: look at the brackets"),
    Misconception("ReLU on W1", lambda x, W1, b1, W2, b2: (x @ relu(W1) + b1) @ W2 + b2, "ReLU is applied to W1 instead of to the hidden values", "the product comes first, then b1, then the cut"),
    Misconception("cut off at six", lambda x, W1, b1, W2, b2: np.clip(x @ W1 + b1, 0, 6) @ W2 + b2, "the hidden values are also cut off at 6 (ReLU6)", "positive hidden values pass unchanged, however large"),
    Misconception("cut off at one", lambda x, W1, b1, W2, b2: np.clip(x @ W1 + b1, 0, 1) @ W2 + b2, "the hidden values are also cut off at 1", "positive hidden values pass unchanged, however large"),
    Misconception("W1 and W2 exchanged", lambda x, W1, b1, W2, b2: relu(x @ W2 + b1) @ W1 + b2, "W1 and W2 have changed places", "which matrix does x meet first?"),
    Misconception("biases exchanged", lambda x, W1, b1, W2, b2: relu(x @ W1 + b2) @ W2 + b1, "b1 and b2 have changed places", "b1 belongs to the hidden values"),
    Misconception("b1 at both places", lambda x, W1, b1, W2, b2: relu(x @ W1 + b1) @ W2 + b1, "b1 is added at both places", "the second bias is b2"),
    Misconception("b2 at both places", lambda x, W1, b1, W2, b2: relu(x @ W1 + b2) @ W2 + b2, "b2 is added at both places", "the first bias is b1"),
    Misconception("b2 inside", lambda x, W1, b1, W2, b2: relu(x @ W1 + b1 + b2) @ W2, "b2 is added to the hidden values", "b2 is added after W2"),
    Misconception("W1 at both places", lambda x, W1, b1, W2, b2: relu(x @ W1 + b1) @ W1 + b2, "W1 is used at both places", "the second product is with W2"),
    Misconception("W2 at both places", lambda x, W1, b1, W2, b2: relu(x @ W2 + b1) @ W2 + b2, "W2 is used at both places", "the first product is with W1"),
    Misconception("hidden values only", lambda x, W1, b1, W2, b2: relu(x @ W1 + b1), "the hidden values are returned", "the second product is missing"),
    Misconception("first product only", lambda x, W1, b1, W2, b2: x @ W1 + b1, "only the first linear map is returned", "the ReLU and the second product are missing"),
    Misconception("positions averaged", _positions_mixed, "the positions are averaged first, so every row sees the others", "each row of x goes through the layer alone"),
    Misconception("sum over positions", lambda x, W1, b1, W2, b2: np.sum(feed_forward(x, W1, b1, W2, b2), axis=-2) if np.ndim(x) > 1 else feed_forward(x, W1, b1, W2, b2), "the results are summed over the positions", "the result has the shape of x"),
    Misconception("first position only", lambda x, W1, b1, W2, b2: feed_forward(x[..., :1, :], W1, b1, W2, b2) + 0 * x if np.ndim(x) > 1 else feed_forward(x, W1, b1, W2, b2), "the first position's result is used everywhere", "each row of x has its own result"),
    Misconception("scaled by sqrt(d)", lambda x, W1, b1, W2, b2: relu((x @ W1 + b1) / np.sqrt(W1.shape[0])) @ W2 + b2, "the hidden values are divided by the root of d_model, as scores are in attention", "the layer has no scale"),
    Misconception("rounded to 2", lambda x, W1, b1, W2, b2: np.round(feed_forward(x, W1, b1, W2, b2), 2), "the result is rounded to 2 digits", "return the unrounded numbers"),
    Misconception("rounded to 1", lambda x, W1, b1, W2, b2: np.round(feed_forward(x, W1, b1, W2, b2), 1), "the result is rounded to 1 digit", "return the unrounded numbers"),
    Misconception("rounded to 3", lambda x, W1, b1, W2, b2: np.round(feed_forward(x, W1, b1, W2, b2), 3), "the result is rounded to 3 digits", "return the unrounded numbers"),
    Misconception("rounded to 4", lambda x, W1, b1, W2, b2: np.round(feed_forward(x, W1, b1, W2, b2), 4), "the result is rounded to 4 digits", "return the unrounded numbers"),
    Misconception("normalised", lambda x, W1, b1, W2, b2: _normalised(feed_forward(x, W1, b1, W2, b2)), "the result is normalised, as LayerNorm does around the layer", "the layer alone has no norm"),
    Misconception("whole block", lambda x, W1, b1, W2, b2: _normalised(x + feed_forward(x, W1, b1, W2, b2)), "LayerNorm(x + FFN(x)) is computed: that is the sublayer with its surroundings", "return the layer alone"),
)


def _logistic(z):
    return 1 / (1 + np.exp(-np.clip(z, -700, 700)))


def _gelu_tanh(z):
    return 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))


def _gelu(z):
    from ffnlib.activations import gelu

    return gelu(z)


def _elu(z):
    return np.where(z > 0, z, np.expm1(np.minimum(z, 0)))


def _leaky(z):
    return np.where(z > 0, z, 0.01 * z)


def _normalised(y):
    return (y - np.mean(y, axis=-1, keepdims=True)) / np.sqrt(np.var(y, axis=-1, keepdims=True) + 1e-5)


FEED_FORWARD = Exercise(
    id="feed_forward",
    probes=feed_forward_probes,
    oracle=feed_forward,
    returns=Array(),
    library="ffnlib.layer.feed_forward",
    misconceptions=FEED_FORWARD_SLIPS,
    hints=(
        "Look at the three stages: expand to d_ff hidden values, cut them at zero, contract back to d_model.",
        "The product x @ W1 works on the last axis for any number of leading axes, and + b1 repeats the bias for every row.",
        "hidden = np.maximum(0, x @ W1 + b1), then return hidden @ ___ + ___",
    ),
    why="The product with @ acts on the last axis only, so the same two lines serve one vector, a sequence and a batch.",
)


# ---------------------------------------------------------------- feed_forward_columns


def feed_forward_columns(x, W1, b1, W2, b2):
    """Return the same function for W1 (d_ff, d_model) and W2 (d_model, d_ff)."""
    hidden = np.maximum(0, x @ W1.T + b1)
    return hidden @ W2.T + b2


def columns_probes(rng):
    """Draw the probes of feed_forward with both matrices transposed."""
    turned = [(x, W1.T.copy(), b1, W2.T.copy(), b2) for x, W1, b1, W2, b2 in (p.calls[0] for p in feed_forward_probes(rng))]
    return tuple(call(*args) for args in turned)


def _in_columns(misconception: Misconception) -> Misconception:
    def program(x, W1, b1, W2, b2):
        return misconception.program(x, W1.T, b1, W2.T, b2)

    return Misconception(misconception.name, program, misconception.because, misconception.next)


COLUMN_LAYOUTS = (
    Misconception("formula for one column vector", lambda x, W1, b1, W2, b2: W2 @ relu(W1 @ x + b1) + b2, "the formula for one column vector, W2 relu(W1 x + b1) + b2, is applied as it stands: it fits one vector, and here positions are rows", "x @ W1.T is W1 x for every row at once"),
    Misconception("turned there and back", lambda x, W1, b1, W2, b2: (W2 @ relu(W1 @ x.T + b1[:, None]) + b2[:, None]).T, "x is turned with .T and the result is turned back: right for one matrix, wrong for one vector and for a batch, where .T turns round all axes", "x @ W1.T needs no turning of x"),
    Misconception("turned and not back", lambda x, W1, b1, W2, b2: W2 @ relu(W1 @ x.T + b1[:, None]) + b2[:, None], "x is turned with .T and the result is not turned back: positions are its columns", "x @ W1.T needs no turning of x"),
    Misconception("one row at a time", lambda x, W1, b1, W2, b2: np.array([W2 @ relu(W1 @ row + b1) + b2 for row in x]), "a loop takes the rows of x one by one: right for one matrix, while one vector alone has no rows and a batch has matrices", "x @ W1.T serves one row, many and none"),
    Misconception("places exchanged, rows", lambda x, W1, b1, W2, b2: relu(x @ W2 + b1) @ W1 + b2, "W1 and W2 have changed places: the shapes fit, and the numbers are others", "x meets W1 first: which axis of W1 has d_model entries?"),
    Misconception("b1 as a column", lambda x, W1, b1, W2, b2: relu(x @ W1.T + b1[:, None]) @ W2.T + b2, "b1 is added as a column, along the positions", "x @ W1.T + b1 adds b1 to every row"),
    Misconception("turned there and back, biases as rows", lambda x, W1, b1, W2, b2: (W2 @ relu(W1 @ x.T + b1) + b2).T, "x is turned with .T, and the biases are added along its positions", "x @ W1.T + b1 adds b1 to every row"),
    Misconception("row convention", feed_forward, "the row convention x @ W1 is used", "here each row of W1 belongs to one hidden unit: which axis of W1 meets x?"),
    Misconception("reshaped", lambda x, W1, b1, W2, b2: feed_forward(x, W1.reshape(W1.shape[::-1]), b1, W2.reshape(W2.shape[::-1]), b2), "the matrices are reshaped instead of transposed: the shapes are right, the numbers stand elsewhere", "W1.T turns rows into columns"),
    Misconception("W1 not transposed", lambda x, W1, b1, W2, b2: relu(x @ W1 + b1) @ W2.T + b2, "x meets W1 along its wrong axis", "here each row of W1 belongs to one hidden unit"),
    Misconception("W2 not transposed", lambda x, W1, b1, W2, b2: relu(x @ W1.T + b1) @ W2 + b2, "the hidden values meet W2 along its wrong axis", "here each column of W2 belongs to one hidden unit"),
    Misconception("x transposed", lambda x, W1, b1, W2, b2: (W2 @ relu(W1 @ np.swapaxes(x, -1, -2) + b1[:, None]) + b2[:, None]) if np.ndim(x) > 1 else W2 @ relu(W1 @ x + b1) + b2, "the result is left with positions as columns", "the result has the shape of x: turn it back"),
)

FEED_FORWARD_COLUMNS = Exercise(
    id="feed_forward_columns",
    probes=columns_probes,
    oracle=feed_forward_columns,
    returns=Array(),
    library="ffnlib.layer.feed_forward_columns",
    misconceptions=COLUMN_LAYOUTS
    + tuple(_in_columns(m) for m in FEED_FORWARD_SLIPS if m.name not in ("W1 transposed", "W2 transposed", "both transposed", "formula for one column vector")),
    hints=(
        "Look at the shapes: W1 is (d_ff, d_model) here, so its last axis is the one that x has.",
        "W1 x for one column vector x is x @ W1.T for rows; transposing serves any number of leading axes.",
        "hidden = np.maximum(0, x @ W1.T + b1), then return hidden @ ___ + b2",
    ),
    why="W1 x written for a column vector is x W1^T written for rows; the function is the same, the storage is turned.",
)


# ---------------------------------------------------------------- linear_collapse


def linear_collapse(W1, b1, W2, b2):
    """Return the one linear map that is left without the activation."""
    return W1 @ W2, b1 @ W2 + b2


def collapse_probes(rng):
    """Draw layers of several sizes: wide, square, narrow, one unit."""
    return tuple(call(*layer(rng, d_model, d_ff)) for d_model, d_ff in ((3, 5), (4, 4), (5, 2), (1, 3), (2, 1)))


LINEAR_COLLAPSE = Exercise(
    id="linear_collapse",
    probes=collapse_probes,
    oracle=linear_collapse,
    returns=Parts(("W", "b"), (Array(), Array())),
    library="ffnlib.layer.linear_collapse",
    misconceptions=(
        Misconception("order of the product", lambda W1, b1, W2, b2: (W2 @ W1, b1 @ W2 + b2), "W is W2 W1 instead of W1 W2", "x meets W1 first: x W1 W2"),
        Misconception("b1 forgotten", lambda W1, b1, W2, b2: (W1 @ W2, b2), "b1 is left out of b", "b1 goes through W2 as well"),
        Misconception("biases added", lambda W1, b1, W2, b2: (W1 @ W2, b1.sum() + b2), "b1 is added without going through W2", "b1 is a hidden vector: W2 brings it back to d_model"),
        Misconception("b2 forgotten", lambda W1, b1, W2, b2: (W1 @ W2, b1 @ W2), "b2 is left out of b", "what is added last?"),
        Misconception("b2 through W2", lambda W1, b1, W2, b2: (W1 @ W2, (b1 + b2) @ W2), "b2 goes through W2 as well", "b2 is added after W2, so it stays as it is"),
        Misconception("no bias", lambda W1, b1, W2, b2: (W1 @ W2, np.zeros_like(b2)), "b is zero", "set x = 0 in (x W1 + b1) W2 + b2: what remains?"),
        Misconception("sum of the matrices", lambda W1, b1, W2, b2: (W1 + W2.T, b1 @ W2 + b2), "the matrices are added instead of multiplied", "two maps one after the other are a product"),
        Misconception("transposed", lambda W1, b1, W2, b2: ((W1 @ W2).T, b1 @ W2 + b2), "W is transposed", "in the row convention x W, W is W1 W2"),
        Misconception("b before W", lambda W1, b1, W2, b2: (b1 @ W2 + b2, W1 @ W2), "b comes before W", "return (W, b) in this order"),
        Misconception("ReLU kept", lambda W1, b1, W2, b2: (relu(W1) @ W2, relu(b1) @ W2 + b2), "a ReLU is applied to the weights", "the activation is removed: nothing is cut"),
        Misconception("b2 twice", lambda W1, b1, W2, b2: (W1 @ W2, b1 @ W2 + 2 * b2), "b2 is added twice", "count how often b2 occurs in (x W1 + b1) W2 + b2"),
        Misconception("b1 subtracted", lambda W1, b1, W2, b2: (W1 @ W2, b2 - b1 @ W2), "b1 enters with a minus", "check the sign of b1 W2"),
        Misconception("stars for products", lambda W1, b1, W2, b2: (W1 * W2, b1 * W2 + b2), "* stands where @ belongs: it multiplies entry by entry", "@ is the matrix product, * is not"),
        Misconception("star between the matrices", lambda W1, b1, W2, b2: (W1 * W2, b1 @ W2 + b2), "* stands between the matrices: it multiplies entry by entry", "@ is the matrix product, * is not"),
        Misconception("b1 through W1", lambda W1, b1, W2, b2: (W1 @ W2, W1 @ b1 + b2), "b1 goes through W1", "b1 is added after W1, so it goes through W2"),
        Misconception("ReLU on b1", lambda W1, b1, W2, b2: (W1 @ W2, relu(b1) @ W2 + b2), "a ReLU is applied to b1", "the activation is removed: nothing is cut"),
        Misconception("elementwise product", lambda W1, b1, W2, b2: (W1 * W2.T, b1 @ W2 + b2), "the matrices are multiplied entry by entry", "@ is the matrix product, * is not"),
    ),
    hints=(
        "Write (x W1 + b1) W2 + b2 without brackets: which part contains x, and which does not?",
        "The part with x gives W, the part without gives b; W2 multiplies both.",
        "return W1 @ W2, ___ @ W2 + b2",
    ),
    why="(x W1 + b1) W2 + b2 = x (W1 W2) + (b1 W2 + b2): two linear maps in a row are one, however wide the middle is.",
)

EXERCISES = (RELU, FEED_FORWARD, FEED_FORWARD_COLUMNS, LINEAR_COLLAPSE)
