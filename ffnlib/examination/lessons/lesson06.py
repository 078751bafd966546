"""Lesson 06: gated units, and how wide they may be for the same number of parameters."""

from __future__ import annotations

import math

import numpy as np

from ffnlib.activations import gelu, gelu_tanh, sigmoid, silu
from ffnlib.examination.exercise import Array, Count, Exercise, Grammar, Misconception, call
from ffnlib.examination.lessons.endings import added_up, negated, rounded, row_by_row, whole_for_whole

# ---------------------------------------------------------------- swiglu


def swiglu(x, W_gate, W_up, W_down):
    """Return (silu(x W_gate) * (x W_up)) W_down."""
    gate = x @ W_gate
    return (gate / (1 + np.exp(-gate)) * (x @ W_up)) @ W_down


def gated_layer(rng, d_model: int, d_ff: int):
    """Draw W_gate, W_up and W_down."""
    return tuple(rng.normal(size=shape) for shape in ((d_model, d_ff), (d_model, d_ff), (d_ff, d_model)))


def swiglu_probes(rng):
    """Draw a batch, a square layer, one vector, one token, no token, integers, a narrow layer, strided and large input."""
    return (
        call(rng.normal(size=(2, 3, 4)), *gated_layer(rng, 4, 6)),
        call(rng.normal(size=(4, 4)), *gated_layer(rng, 4, 4)),
        call(rng.normal(size=4), *gated_layer(rng, 4, 6)),
        call(rng.normal(size=(1, 4)), *gated_layer(rng, 4, 2)),
        call(np.zeros((0, 4)), *gated_layer(rng, 4, 6)),
        call(rng.integers(-3, 4, size=(3, 4)) + np.eye(3, 4, dtype=np.int64), *gated_layer(rng, 4, 5)),
        call(rng.normal(size=(8, 6))[::2, ::2], *gated_layer(rng, 3, 12)),
        call(rng.normal(size=(5, 3)) * 3000 + 500, *gated_layer(rng, 3, 3)),
        call(rng.normal(size=(2, 2, 3, 3)), *gated_layer(rng, 3, 3)),
    )


def _normalised(y):
    return (y - np.mean(y, axis=-1, keepdims=True)) / np.sqrt(np.var(y, axis=-1, keepdims=True) + 1e-5)


def _softmax(scores):
    exponentials = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return exponentials / np.sum(exponentials, axis=-1, keepdims=True)


def _over_positions(x, reduce):
    return reduce(x, axis=-2, keepdims=True) + 0 * x if np.ndim(x) > 1 and x.shape[-2] else x


def _overflowing(z):
    return z * (np.exp(z) / (1 + np.exp(z)))


SWIGLU_SLIPS = (
    Misconception("gate and up exchanged", lambda x, W_gate, W_up, W_down: ((x @ W_gate) * silu(x @ W_up)) @ W_down, "SiLU is applied to the up branch instead of the gate branch", "which of the two products goes through SiLU?"),
    Misconception("SiLU on both", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) * silu(x @ W_up)) @ W_down, "SiLU is applied to both branches", "the up branch stays linear"),
    Misconception("SiLU on the product", lambda x, W_gate, W_up, W_down: silu((x @ W_gate) * (x @ W_up)) @ W_down, "SiLU is applied to the product of the two branches", "only the gate goes through SiLU, before the product"),
    Misconception("SiLU on the gate and on the product", lambda x, W_gate, W_up, W_down: silu(silu(x @ W_gate) * (x @ W_up)) @ W_down, "SiLU is applied a second time, to the product", "SiLU is applied once"),
    Misconception("SiLU twice on the gate", lambda x, W_gate, W_up, W_down: (silu(silu(x @ W_gate)) * (x @ W_up)) @ W_down, "SiLU is applied twice to the gate", "SiLU is applied once"),
    Misconception("SiLU at the end", lambda x, W_gate, W_up, W_down: silu(((x @ W_gate) * (x @ W_up)) @ W_down), "SiLU is applied after W_down", "the gate goes through SiLU, before the product"),
    Misconception("second SiLU at the end", lambda x, W_gate, W_up, W_down: silu((silu(x @ W_gate) * (x @ W_up)) @ W_down), "SiLU is applied a second time, after W_down", "the result of W_down stays as it is"),
    Misconception("SiLU on the input", lambda x, W_gate, W_up, W_down: ((silu(np.asarray(x)) @ W_gate) * (x @ W_up)) @ W_down, "SiLU is applied to x before W_gate", "the product with W_gate comes first"),
    Misconception("SiLU on the input of both", lambda x, W_gate, W_up, W_down: ((silu(x) @ W_gate) * (silu(x) @ W_up)) @ W_down, "SiLU is applied to x before both products", "the product with W_gate comes first, and only the gate is bent"),
    Misconception("no SiLU", lambda x, W_gate, W_up, W_down: ((x @ W_gate) * (x @ W_up)) @ W_down, "SiLU is left out: this is the bilinear layer", "what happens to x W_gate before it multiplies?"),
    Misconception("logistic gate", lambda x, W_gate, W_up, W_down: (sigmoid(x @ W_gate) * (x @ W_up)) @ W_down, "the logistic function stands in the place of SiLU: this is GLU", "SiLU is z times the logistic function of z"),
    Misconception("logistic gate on the wrong branch", lambda x, W_gate, W_up, W_down: ((x @ W_gate) * sigmoid(x @ W_up)) @ W_down, "the logistic function of the up branch is used, and the gate stays linear", "SiLU of the gate is z times the logistic function of the same z"),
    Misconception("GELU gate", lambda x, W_gate, W_up, W_down: (gelu(x @ W_gate) * (x @ W_up)) @ W_down, "the exact GELU stands in the place of SiLU: this is GEGLU", "SwiGLU uses SiLU"),
    Misconception("GELU gate, tanh form", lambda x, W_gate, W_up, W_down: (gelu_tanh(x @ W_gate) * (x @ W_up)) @ W_down, "the tanh form of GELU stands in the place of SiLU: this is GEGLU", "SwiGLU uses SiLU"),
    Misconception("ReLU gate", lambda x, W_gate, W_up, W_down: (np.maximum(0, x @ W_gate) * (x @ W_up)) @ W_down, "ReLU stands in the place of SiLU: this is ReGLU", "SwiGLU uses SiLU"),
    Misconception("GELU on the up branch", lambda x, W_gate, W_up, W_down: ((x @ W_gate) * gelu(x @ W_up)) @ W_down, "GELU stands in the place of SiLU, and on the up branch", "SwiGLU applies SiLU to the gate"),
    Misconception("GELU, tanh form, on the up branch", lambda x, W_gate, W_up, W_down: ((x @ W_gate) * gelu_tanh(x @ W_up)) @ W_down, "the tanh form of GELU stands in the place of SiLU, and on the up branch", "SwiGLU applies SiLU to the gate"),
    Misconception("ReLU on the up branch", lambda x, W_gate, W_up, W_down: ((x @ W_gate) * np.maximum(0, x @ W_up)) @ W_down, "ReLU stands in the place of SiLU, and on the up branch", "SwiGLU applies SiLU to the gate"),
    Misconception("logistic on both", lambda x, W_gate, W_up, W_down: (sigmoid(x @ W_gate) * sigmoid(x @ W_up)) @ W_down, "both branches go through the logistic function", "SiLU on the gate, nothing on the up branch"),
    Misconception("logistic on both branches of a product", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) * sigmoid(x @ W_up)) @ W_down, "the up branch goes through the logistic function", "the up branch stays linear"),
    Misconception("ReLU on both", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) * np.maximum(0, x @ W_up)) @ W_down, "the up branch goes through a ReLU", "the up branch stays linear"),
    Misconception("SiLU on both, added", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) + silu(x @ W_up)) @ W_down, "both branches go through SiLU and are added", "SiLU on the gate only, and a product"),
    Misconception("up added once more", lambda x, W_gate, W_up, W_down: ((1 + silu(x @ W_gate)) * (x @ W_up)) @ W_down, "the up branch is added once more: 1 + silu(gate) multiplies it", "the gate alone multiplies"),
    Misconception("both through W_down", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) @ W_down) * ((x @ W_up) @ W_down), "both branches go through W_down before they are multiplied", "the product comes first, then one W_down"),
    Misconception("size of the up branch", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) * np.abs(x @ W_up)) @ W_down, "the up branch has lost its sign", "the up branch stays linear"),
    Misconception("cut at zero", lambda x, W_gate, W_up, W_down: np.maximum(0, (silu(x @ W_gate) * (x @ W_up)) @ W_down), "a ReLU is applied to the result", "the result may be negative"),
    Misconception("cut hidden values", lambda x, W_gate, W_up, W_down: np.maximum(0, silu(x @ W_gate) * (x @ W_up)) @ W_down, "a ReLU is applied to the hidden values", "the product of gate and up may be negative"),
    Misconception("tanh gate", lambda x, W_gate, W_up, W_down: (np.tanh(x @ W_gate) * (x @ W_up)) @ W_down, "tanh stands in the place of SiLU", "SwiGLU uses SiLU"),
    Misconception("softmax gate", lambda x, W_gate, W_up, W_down: (_softmax(x @ W_gate) * (x @ W_up)) @ W_down, "a softmax stands in the place of SiLU", "every hidden unit has its own gate"),
    Misconception("softplus gate", lambda x, W_gate, W_up, W_down: (np.logaddexp(0, x @ W_gate) * (x @ W_up)) @ W_down, "the softplus stands in the place of SiLU", "SwiGLU uses SiLU, z / (1 + exp(-z))"),
    Misconception("factor 1.702", lambda x, W_gate, W_up, W_down: (((x @ W_gate) * sigmoid(1.702 * (x @ W_gate))) * (x @ W_up)) @ W_down, "z sigmoid(1.702 z) stands in the place of SiLU", "the factor inside SiLU is 1"),
    Misconception("sign in the exponential", lambda x, W_gate, W_up, W_down: (((x @ W_gate) * sigmoid(-(x @ W_gate))) * (x @ W_up)) @ W_down, "the exponential in SiLU has the wrong sign", "SiLU is z / (1 + exp(-z))"),
    Misconception("overflow", lambda x, W_gate, W_up, W_down: (_overflowing(x @ W_gate) * (x @ W_up)) @ W_down, "exp(z) overflows in SiLU for a large gate, and the result becomes nan", "write SiLU as z / (1 + exp(-z)): inf / inf is nan"),
    Misconception("sum for product", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) + (x @ W_up)) @ W_down, "gate and up are added instead of multiplied", "a gate multiplies"),
    Misconception("difference for product", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) - (x @ W_up)) @ W_down, "up is subtracted from the gate", "a gate multiplies"),
    Misconception("larger of the two", lambda x, W_gate, W_up, W_down: np.maximum(silu(x @ W_gate), x @ W_up) @ W_down, "the larger of gate and up is taken", "a gate multiplies"),
    Misconception("from left to right", lambda x, W_gate, W_up, W_down: silu(x @ W_gate) * x @ W_up @ W_down, "parentheses are missing: * and @ are worked off from left to right, so the gate meets x before W_up", "put x @ W_up in parentheses"),
    Misconception("matrix product of gate and up", lambda x, W_gate, W_up, W_down: silu(x @ W_gate) @ (x @ W_up) @ W_down, "@ stands between gate and up, which meet entry by entry", "entry by entry is *"),
    Misconception("up branch missing", lambda x, W_gate, W_up, W_down: silu(x @ W_gate) @ W_down, "the up branch is left out: this is an ungated layer", "W_up is not used"),
    Misconception("gate branch missing", lambda x, W_gate, W_up, W_down: (x @ W_up) @ W_down, "the gate branch is left out", "W_gate is not used"),
    Misconception("up branch through SiLU alone", lambda x, W_gate, W_up, W_down: silu(x @ W_up) @ W_down, "only W_up is used, through SiLU", "W_gate is not used"),
    Misconception("W_gate in both branches", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) * (x @ W_gate)) @ W_down, "W_gate is used in both branches", "the second product is with W_up"),
    Misconception("W_up in both branches", lambda x, W_gate, W_up, W_down: (silu(x @ W_up) * (x @ W_up)) @ W_down, "W_up is used in both branches", "the product inside SiLU is with W_gate"),
    Misconception("W_gate transposed", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate.T) * (x @ W_up)) @ W_down, "W_gate is transposed: that is the other convention", "which axis of W_gate has d_model entries?"),
    Misconception("W_up transposed", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) * (x @ W_up.T)) @ W_down, "W_up is transposed: that is the other convention", "which axis of W_up has d_model entries?"),
    Misconception("W_down transposed", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) * (x @ W_up)) @ W_down.T, "W_down is transposed: that is the other convention", "which axis of W_down has d_ff entries?"),
    Misconception("gate and up transposed", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate.T) * (x @ W_up.T)) @ W_down, "W_gate and W_up are transposed", "here x W_gate, with W_gate of shape (d_model, d_ff)"),
    Misconception("all transposed", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate.T) * (x @ W_up.T)) @ W_down.T, "all three matrices are transposed: that is the other convention", "here x W_gate, with W_gate of shape (d_model, d_ff)"),
    Misconception("W_gate and W_down exchanged", lambda x, W_gate, W_up, W_down: (silu(x @ W_down) * (x @ W_up)) @ W_gate, "W_gate and W_down have changed places", "in which order do the three matrices come?"),
    Misconception("W_up and W_down exchanged", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) * (x @ W_down)) @ W_up, "W_up and W_down have changed places", "in which order do the three matrices come?"),
    Misconception("each matrix one place on", lambda x, W_gate, W_up, W_down: (silu(x @ W_up) * (x @ W_down)) @ W_gate, "the arguments are used in the order W_down, W_gate, W_up", "the order is W_gate, W_up, W_down"),
    Misconception("each matrix one place back", lambda x, W_gate, W_up, W_down: (silu(x @ W_down) * (x @ W_gate)) @ W_up, "the arguments are used in the order W_up, W_down, W_gate", "the order is W_gate, W_up, W_down"),
    Misconception("hidden values only", lambda x, W_gate, W_up, W_down: silu(x @ W_gate) * (x @ W_up), "the hidden values are returned", "the product with W_down is missing"),
    Misconception("gate after W_down", lambda x, W_gate, W_up, W_down: silu(x @ W_gate) * ((x @ W_up) @ W_down), "W_down is applied to the up branch alone, and the gate multiplies after it", "the gate acts on the d_ff hidden values: look at the brackets"),
    Misconception("W_down on the gate alone", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) @ W_down) * (x @ W_up), "W_down is applied to the gate alone, and the up branch multiplies after it", "the product of both branches goes through W_down"),
    Misconception("gates the input", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) * x) @ W_down, "the gate multiplies x itself", "the gate multiplies x W_up"),
    Misconception("gate feeds up", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) @ W_up) @ W_down, "the gated values go through W_up, one layer after the other", "gate and up both start from x and meet in a product"),
    Misconception("residual added", lambda x, W_gate, W_up, W_down: x + (silu(x @ W_gate) * (x @ W_up)) @ W_down, "x is added to the result: the residual connection belongs to the block around the layer", "what does the formula of the layer alone return?"),
    Misconception("up plus one", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) * (x @ W_up + 1)) @ W_down, "1 is added to the up branch", "the formula has no biases"),
    Misconception("halved", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) * (x @ W_up)) @ W_down / 2, "the result is divided by 2", "the two branches are multiplied, not averaged"),
    Misconception("scaled by sqrt(d_ff)", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) * (x @ W_up)) @ W_down / np.sqrt(W_down.shape[0]), "the result is divided by the root of d_ff", "the layer has no scale"),
    Misconception("scaled by sqrt(d_model)", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate / np.sqrt(W_gate.shape[0])) * (x @ W_up)) @ W_down, "the gate is divided by the root of d_model, as scores are in attention", "the layer has no scale"),
    Misconception("normalised", lambda x, W_gate, W_up, W_down: _normalised((silu(x @ W_gate) * (x @ W_up)) @ W_down), "the result is normalised, as a norm does around the layer", "the layer alone has no norm"),
    Misconception("positions averaged", lambda x, W_gate, W_up, W_down: swiglu(_over_positions(x, np.mean), W_gate, W_up, W_down), "the positions are averaged first, so every row sees the others", "each row of x goes through the layer alone"),
    Misconception("first position only", lambda x, W_gate, W_up, W_down: swiglu(x[..., :1, :], W_gate, W_up, W_down) + 0 * x if np.ndim(x) > 1 else swiglu(x, W_gate, W_up, W_down), "the first position's result is used everywhere", "each row of x has its own result"),
    Misconception("sum over positions", lambda x, W_gate, W_up, W_down: np.sum(swiglu(x, W_gate, W_up, W_down), axis=-2) if np.ndim(x) > 1 else swiglu(x, W_gate, W_up, W_down), "the results are summed over the positions", "the result has the shape of x"),
    Misconception("result scaled by sqrt(d_model)", lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) * (x @ W_up)) @ W_down / np.sqrt(W_gate.shape[0]), "the result is divided by the root of d_model", "the layer has no scale"),
    Misconception("SiLU of the sum", lambda x, W_gate, W_up, W_down: silu(x @ W_gate + x @ W_up) @ W_down, "gate and up are added, and SiLU is applied to their sum", "SiLU bends the gate, and the gate multiplies"),
    row_by_row(swiglu),
    *rounded(swiglu),
    whole_for_whole(swiglu),
    *added_up(swiglu),
    negated(swiglu),
)

SWIGLU = Exercise(
    id="swiglu",
    probes=swiglu_probes,
    oracle=swiglu,
    variants=(lambda x, W_gate, W_up, W_down: (silu(x @ W_gate) * (x @ W_up)) @ W_down,),
    returns=Array(),
    library="ffnlib.layer.swiglu",
    misconceptions=SWIGLU_SLIPS,
    hints=(
        "Look at the two branches: both start from x, one goes through SiLU, and they meet in a product, entry by entry.",
        "* multiplies entry by entry, @ is the matrix product; SiLU is z / (1 + exp(-z)), or ffnlib.activations.silu.",
        "gate = x @ W_gate, then return (gate / (1 + np.exp(-gate)) * (x @ ___)) @ W_down",
    ),
    why="The gate multiplies the up branch, unit by unit; W_down then brings the product back to d_model.",
)


# ---------------------------------------------------------------- swiglu_fused


def swiglu_fused(x, W_gate_up, W_down):
    """Return the same layer, with the gate's columns first and the up branch's columns after them."""
    d_ff = W_down.shape[0]
    both = x @ W_gate_up
    gate, up = both[..., :d_ff], both[..., d_ff:]
    return (gate / (1 + np.exp(-gate)) * up) @ W_down


def fused_probes(rng):
    """Draw the probes of swiglu with gate and up side by side, and a layer whose fused matrix is square."""
    narrow = (rng.normal(size=(3, 4)), *gated_layer(rng, 4, 2))
    separate = [probe.calls[0] for probe in swiglu_probes(rng)]
    return tuple(call(x, np.concatenate([gate, up], axis=1), down) for x, gate, up, down in [*separate, narrow])


def _fused(misconception: Misconception) -> Misconception:
    def program(x, W_gate_up, W_down):
        W_gate, W_up = np.split(W_gate_up, 2, axis=-1)
        return misconception.program(x, W_gate, W_up, W_down)

    if misconception.name == "gate and up exchanged":
        words = "the up branch is taken to come first, so SiLU bends the second half"
        return Misconception("up first", program, words, "the gate's columns come first")
    return Misconception(misconception.name, program, misconception.because, misconception.next)


def _gated(gate, up, W_down):
    return (silu(gate) * up) @ W_down


FUSED_SLIPS = (
    Misconception("interleaved", lambda x, W_gate_up, W_down: _gated((x @ W_gate_up)[..., 0::2], (x @ W_gate_up)[..., 1::2], W_down), "gate and up are taken to alternate, column by column, as after a reshape to (..., d_ff, 2)", "side by side means: first all of the gate, then all of up"),
    Misconception("interleaved, up first", lambda x, W_gate_up, W_down: _gated((x @ W_gate_up)[..., 1::2], (x @ W_gate_up)[..., 0::2], W_down), "up and gate are taken to alternate, column by column", "side by side means: first all of the gate, then all of up"),
    Misconception("cut in rows", lambda x, W_gate_up, W_down: _gated(x @ np.reshape(W_gate_up, (2, *np.shape(W_gate_up)[:1], -1))[0], x @ np.reshape(W_gate_up, (2, *np.shape(W_gate_up)[:1], -1))[1], W_down), "the matrix is reshaped into two blocks, which cuts it into rows", "cut along the last axis: W_gate_up[:, :d_ff]"),
    Misconception("SiLU on both halves", lambda x, W_gate_up, W_down: _gated(silu(x @ W_gate_up)[..., : len(W_down)], silu(x @ W_gate_up)[..., len(W_down) :], W_down), "SiLU is applied before the cut, and again to the gate", "cut first, then bend the gate once"),
    Misconception("up backwards", lambda x, W_gate_up, W_down: _gated((x @ W_gate_up)[..., : len(W_down)], (x @ W_gate_up)[..., : len(W_down) - 1 : -1], W_down), "the up half is read backwards", "look at the slice of the second half"),
    Misconception("up one column early", lambda x, W_gate_up, W_down: _gated((x @ W_gate_up)[..., : len(W_down)], np.roll(x @ W_gate_up, 1, axis=-1)[..., len(W_down) :], W_down), "the up half begins one column too early", "the up half begins at column d_ff"),
    Misconception("cut along the first axis", lambda x, W_gate_up, W_down: _gated(*np.split(x @ W_gate_up, 2, axis=0), W_down), "the result is cut along its first axis, which runs over tokens or sequences", "the halves lie side by side along the last axis: axis=-1"),
    Misconception("rows cut in half", lambda x, W_gate_up, W_down: (lambda h: _gated(h[: len(h) // 2], h[len(h) // 2 :], W_down))(x @ W_gate_up), "the rows of x W_gate_up are cut into two halves instead of its columns", "the halves lie side by side along the last axis: h[..., :n]"),
    Misconception("second axis for the last", lambda x, W_gate_up, W_down: (lambda h, n: _gated(h[:, :n], h[:, n:], W_down))(x @ W_gate_up, (x @ W_gate_up).shape[1] // 2), "the cut is made along the second axis, which is the last one of a matrix only", "h[..., :n] cuts the last axis whatever comes before it"),
    Misconception("second axis for the last, cut at d_ff", lambda x, W_gate_up, W_down: (lambda h, n: _gated(h[:, :n], h[:, n:], W_down))(x @ W_gate_up, len(W_down)), "the cut is made along the second axis, which is the last one of a matrix only", "h[..., :n] cuts the last axis whatever comes before it"),
    Misconception("not cut", lambda x, W_gate_up, W_down: silu(x @ W_gate_up) @ W_down, "x W_gate_up is not cut: it holds gate and up side by side", "which columns are the gate's, which are those of up?", raises="ValueError"),
    Misconception("matrix cut along the first axis", lambda x, W_gate_up, W_down: _gated(*(x @ half for half in np.split(W_gate_up, 2, axis=0)), W_down), "the matrix is cut along its first axis, which has d_model entries", "the halves lie side by side along the last axis: axis=-1", raises="ValueError"),
    Misconception("fused matrix transposed", lambda x, W_gate_up, W_down: _gated((x @ W_gate_up.T)[..., : len(W_down)], (x @ W_gate_up.T)[..., len(W_down) :], W_down), "W_gate_up is transposed: that is the other convention", "W_gate_up has shape (d_model, 2 d_ff)"),
    Misconception("both transposed", lambda x, W_gate_up, W_down: _gated((x @ W_gate_up.T)[..., : len(W_down)], (x @ W_gate_up.T)[..., len(W_down) :], W_down.T), "W_gate_up and W_down are transposed: that is the other convention", "W_gate_up has shape (d_model, 2 d_ff)", raises="ValueError"),
    Misconception("cut at half of d_model", lambda x, W_gate_up, W_down: (lambda h, n: _gated(h[..., :n], h[..., n:], W_down))(x @ W_gate_up, W_gate_up.shape[0] // 2), "the cut is made at half of d_model instead of half of the columns", "W_gate_up.shape[1] // 2, or W_down.shape[0]"),
    Misconception("first columns of width d_model", lambda x, W_gate_up, W_down: _gated((x @ W_gate_up)[..., : np.shape(x)[-1]], (x @ W_gate_up)[..., np.shape(x)[-1] :], W_down), "the cut is made at d_model instead of d_ff", "each half has d_ff columns: W_down has d_ff rows"),
)

ONLY_SEPARATE = ("gate and up transposed", "W_gate transposed", "W_up transposed", "all transposed")

SWIGLU_FUSED = Exercise(
    id="swiglu_fused",
    probes=fused_probes,
    oracle=swiglu_fused,
    returns=Array(),
    library="ffnlib.layer.swiglu_fused",
    misconceptions=FUSED_SLIPS + tuple(_fused(slip) for slip in SWIGLU_SLIPS if slip.name not in ONLY_SEPARATE),
    hints=(
        "Look at the last axis of x @ W_gate_up: its first d_ff entries are the gate, the others are up.",
        "One product, then a cut along the last axis: both[..., :d_ff] and both[..., d_ff:].",
        "gate, up = both[..., :d_ff], both[..., ___], then as before",
    ),
    why="One large product is faster than two small ones; cutting its result gives the same numbers as cutting the matrix.",
)


# ---------------------------------------------------------------- swiglu_d_ff


def swiglu_d_ff(d, multiple_of):
    """Return floor(8 d / 3), rounded up to a multiple."""
    width = 8 * d // 3
    return -(-width // multiple_of) * multiple_of


def _width_where(rng, rest: int, multiple_of: int, residue: int) -> int:
    """Draw d with d % 3 == rest and floor(8 d / 3) % multiple_of == residue."""
    candidates = [d for d in range(40, 4000) if d % 3 == rest and 8 * d // 3 % multiple_of == residue]
    return int(rng.choice(candidates))


def d_ff_probes(rng):
    """Draw widths whose 8 d / 3 lies just above, just below, in the middle of and exactly at a multiple."""
    return (
        call(4096, 256),
        call(_width_where(rng, 1, 64, 10), 64),
        call(_width_where(rng, 2, 32, 29), 32),
        call(_width_where(rng, 0, 16, 0), 16),
        call(_width_where(rng, 1, 7, 0), 7),
        call(_width_where(rng, 2, 11, 0), 11),
        call(_width_where(rng, 0, 24, 8), 24),
        call(_width_where(rng, 1, 9, 8), 9),
        call(int(rng.integers(1700, 1800)) * 3 + 2, 1),
        call(int(rng.integers(700, 800)) * 3 + 1, 1),
        call(int(rng.integers(300_000, 400_000)) * 3 + 1, 1),
        call(int(rng.integers(2, 9)), 64),
        call(8192, 1024),
    )


def _up(width, multiple_of):
    return -(-width // multiple_of) * multiple_of


def _of(share: float, name: str, words: str) -> Misconception:
    def program(d, multiple_of):
        return _up(math.floor(share * d + 1e-9), multiple_of)

    return Misconception(name, program, words, "a gated layer has three matrices: 3 d d_ff equals 8 d^2 at d_ff = 8 d / 3")


SWIGLU_D_FF = Exercise(
    id="swiglu_d_ff",
    probes=d_ff_probes,
    oracle=swiglu_d_ff,
    variants=(
        lambda d, multiple_of: (8 * d // 3 + multiple_of - 1) // multiple_of * multiple_of,
        lambda d, multiple_of: math.ceil(int(2 * (4 * d) / 3) / multiple_of) * multiple_of,
    ),
    returns=Count(),
    misconceptions=(
        Misconception("rounded down", lambda d, multiple_of: 8 * d // 3 // multiple_of * multiple_of, "the width is rounded down to a multiple", "the next multiple above is asked for"),
        Misconception("to the nearest multiple", lambda d, multiple_of: round(8 * d // 3 / multiple_of) * multiple_of, "the width is rounded to the nearest multiple", "it is always rounded up"),
        Misconception("nearest multiple of 8 d / 3", lambda d, multiple_of: round(8 * d / 3 / multiple_of) * multiple_of, "8 d / 3 is rounded to the nearest multiple", "take the floor of 8 d / 3, then round up to a multiple"),
        Misconception("always one more", lambda d, multiple_of: (8 * d // 3 // multiple_of + 1) * multiple_of, "one multiple is added also when the width is one already", "what should come out when floor(8 d / 3) is a multiple?"),
        Misconception("no multiple", lambda d, multiple_of: 8 * d // 3, "the width is not rounded to a multiple", "multiple_of is not used"),
        Misconception("no multiple and no floor", lambda d, multiple_of: 8 * d / 3, "8 d / 3 is returned as it is", "a whole width is asked for, and a multiple"),
        Misconception("no multiple, ceiling", lambda d, multiple_of: -(-8 * d // 3), "8 d / 3 is rounded up to a whole number, and no multiple is used", "multiple_of is not used"),
        Misconception("number of multiples", lambda d, multiple_of: -(-(8 * d // 3) // multiple_of), "the number of multiples is returned", "multiply it by multiple_of"),
        Misconception("ceiling for floor", lambda d, multiple_of: _up(-(-8 * d // 3), multiple_of), "8 d / 3 is rounded up, not down, before the multiple", "first the floor, then up to a multiple: the two differ when the floor is a multiple already"),
        Misconception("rounded for floor", lambda d, multiple_of: _up(round(8 * d / 3), multiple_of), "8 d / 3 is rounded to the nearest whole number first", "the floor comes first"),
        Misconception("down to a multiple of 8 d / 3 rounded up", lambda d, multiple_of: -(-8 * d // 3) // multiple_of * multiple_of, "8 d / 3 is rounded up first and then down to a multiple", "it is the other way round: floor, then up"),
        Misconception("multiple added", lambda d, multiple_of: 8 * d // 3 + multiple_of, "multiple_of is added to the width", "the next multiple above the width is asked for"),
        Misconception("multiple minus one added", lambda d, multiple_of: 8 * d // 3 + multiple_of - 1, "multiple_of - 1 is added, and the rest is not cut off", "after adding, divide and multiply by multiple_of"),
        Misconception("brackets of the sum", lambda d, multiple_of: 8 * d // 3 + multiple_of - 1 // multiple_of * multiple_of, "the brackets around the sum are missing: only the 1 is divided by multiple_of", "(floor(8 d / 3) + multiple_of - 1) // multiple_of * multiple_of"),
        Misconception("floor before the 4", lambda d, multiple_of: _up(4 * int(2 * d / 3), multiple_of), "2 d / 3 is cut to a whole number before it is multiplied by 4", "multiply first: 8 * d // 3"),
        Misconception("rest added", lambda d, multiple_of: 8 * d // 3 + 8 * d // 3 % multiple_of, "the rest is added to the width", "multiple_of minus the rest is missing up to the next multiple"),
        Misconception("ungated width", lambda d, multiple_of: 4 * d, "4 d, the width of the ungated layer, is returned", "the gated layer has a third matrix, so its width is 2/3 of that"),
        _of(4, "ungated width, rounded up", "4 d, the width of the ungated layer, is rounded up"),
        _of(2 / 3, "two thirds of d", "2 d / 3 is rounded up: two thirds of d instead of 4 d"),
        _of(4 / 3, "four thirds", "4 d / 3 is rounded up"),
        _of(2, "half of 4 d", "2 d, half of 4 d, is rounded up"),
        _of(3, "three quarters of 4 d", "3 d is rounded up"),
        _of(16 / 3, "sixteen thirds", "16 d / 3 is rounded up: two thirds of 8 d instead of 4 d"),
        _of(3 / 8, "upside down", "3 d / 8 is rounded up: the fraction is upside down"),
        _of(8, "not divided", "8 d is rounded up without being divided by 3"),
        _of(1, "d itself", "d itself is rounded up"),
        _of(2.6, "2.6", "2.6 d stands for 8 d / 3"),
        _of(5 / 2, "five halves", "5 d / 2 is rounded up"),
        _of(1 / 3, "a third", "d / 3 is rounded up"),
        _of(2.66, "fraction cut to two digits", "2.66 d stands for 8 d / 3"),
        _of(2.67, "fraction rounded to two digits", "2.67 d stands for 8 d / 3"),
        _of(2.667, "fraction rounded to three digits", "2.667 d stands for 8 d / 3"),
        _of(2.6667, "fraction rounded to four digits", "2.6667 d stands for 8 d / 3"),
        _of(2.66667, "fraction rounded to five digits", "2.66667 d stands for 8 d / 3"),
        _of(2.7, "fraction rounded to one digit", "2.7 d stands for 8 d / 3"),
        Misconception("divided first", lambda d, multiple_of: _up(8 * (d // 3), multiple_of), "d is divided by 3 with a floor before it is multiplied by 8", "multiply first: 8 * d // 3"),
        Misconception("rounded before the share", lambda d, multiple_of: 2 * _up(4 * d, multiple_of) // 3, "4 d is rounded up to a multiple and two thirds of that are taken", "round up last"),
        Misconception("d rounded up first", lambda d, multiple_of: 8 * _up(d, multiple_of) // 3, "d is rounded up to a multiple before 8 / 3 is applied", "round up last"),
        Misconception("gate and up together", lambda d, multiple_of: 2 * _up(8 * d // 3, multiple_of), "the width of gate and up side by side is returned", "d_ff is the width of one of them"),
        Misconception("power of two", lambda d, multiple_of: 1 << (8 * d // 3 - 1).bit_length(), "the next power of two is returned", "the next multiple of multiple_of is asked for"),
        Misconception("power of two from below", lambda d, multiple_of: 1 << ((8 * d // 3).bit_length() - 1), "the largest power of two below is returned", "the next multiple of multiple_of is asked for"),
        Misconception("256 always", lambda d, multiple_of: _up(8 * d // 3, 256), "256 stands in the place of multiple_of", "use the argument"),
        Misconception("64 always", lambda d, multiple_of: _up(8 * d // 3, 64), "64 stands in the place of multiple_of", "use the argument"),
        Misconception("128 always", lambda d, multiple_of: _up(8 * d // 3, 128), "128 stands in the place of multiple_of", "use the argument"),
        Misconception("8 always", lambda d, multiple_of: _up(8 * d // 3, 8), "8 stands in the place of multiple_of", "use the argument"),
        Misconception("32 always", lambda d, multiple_of: _up(8 * d // 3, 32), "32 stands in the place of multiple_of", "use the argument"),
        Misconception("two thirds of d, not cut", lambda d, multiple_of: _up(-(-2 * d // 3), multiple_of), "2 d / 3 is rounded up: two thirds of d instead of 4 d", "8 d / 3 is two thirds of 4 d"),
        Misconception("multiplier 1.3", lambda d, multiple_of: _up(int(1.3 * (8 * d // 3)), multiple_of), "the width is multiplied by 1.3 before it is rounded up, as in one large model", "floor(8 d / 3) is rounded up as it is"),
        Misconception("missing to the multiple", lambda d, multiple_of: -(8 * d // 3) % multiple_of, "what is missing up to the multiple is returned", "add it to floor(8 d / 3)"),
        Misconception("rest", lambda d, multiple_of: 8 * d // 3 % multiple_of, "the rest of the division by multiple_of is returned", "the multiple above is asked for"),
        Misconception("multiple as the factor", lambda d, multiple_of: 8 * d // 3 * multiple_of, "the width is multiplied by multiple_of", "rounding up to a multiple: divide, round up, multiply"),
        Misconception("at least the multiple", lambda d, multiple_of: max(8 * d // 3, multiple_of), "multiple_of is taken as a lower bound", "the width must be divisible by it"),
        Misconception("parameters", lambda d, multiple_of: 3 * d * _up(8 * d // 3, multiple_of), "the parameters of the layer are counted", "only its width is asked for"),
    ),
    grammar=Grammar(
        terms=lambda d, multiple_of: {"width": 8 * d // 3},
        nouns={},
        inputs=(
            ("d is doubled first", lambda d, multiple_of: (2 * d, multiple_of)),
            ("d is halved first", lambda d, multiple_of: (d // 2, multiple_of)),
            ("twice multiple_of is used", lambda d, multiple_of: (d, 2 * multiple_of)),
            ("half of multiple_of is used", lambda d, multiple_of: (d, max(1, multiple_of // 2))),
            ("d + 1 stands in the place of d", lambda d, multiple_of: (d + 1, multiple_of)),
            ("d - 1 stands in the place of d", lambda d, multiple_of: (d - 1, multiple_of)),
        ),
        edits=(
            ("the ungated width 4 d is used", lambda terms, d, multiple_of: {"width": 4 * d}),
            ("one is added to floor(8 d / 3)", lambda terms, d, multiple_of: {"width": 8 * d // 3 + 1}),
            ("8 d / 3 is rounded up to a whole number", lambda terms, d, multiple_of: {"width": -(-8 * d // 3)}),
        ),
        factors=(
            ("the width is rounded down to a multiple", lambda total, d, multiple_of: total if 8 * d // 3 % multiple_of == 0 else total - multiple_of),
        ),
        combine=lambda terms, d, multiple_of: _up(terms["width"], multiple_of),
    ),
    hints=(
        "Look at the order: first floor(8 d / 3), then the smallest multiple that is not below it.",
        "Whole-number division rounds down; (n + m - 1) // m, or -(-n // m), rounds up.",
        "width = 8 * d // 3, then return (width + ___) // multiple_of * multiple_of",
    ),
    why="Three matrices of d x d_ff hold as much as two of d x 4d at d_ff = 8 d / 3; hardware likes multiples.",
)


# ---------------------------------------------------------------- gated_ffn_parameters


def gated_ffn_parameters(d, d_ff):
    """Return the number of weights of the three matrices."""
    return 3 * d * d_ff


def gated_parameters_probes(rng):
    """Draw odd and even widths whose ratio is not a whole number, a known model's, and d_ff below d."""
    return (
        call(4096, 11008),
        call(1501, 6007),
        call(int(rng.integers(60, 90)) * 2 + 1, int(rng.integers(200, 300))),
        call(int(rng.integers(90, 130)), int(rng.integers(17, 40)) * 2 + 1),
        call(int(rng.integers(10, 20)), int(rng.integers(40, 60))),
        call(int(rng.integers(300, 400)), int(rng.integers(1000, 1200))),
    )


GATED_FFN_PARAMETERS = Exercise(
    id="gated_ffn_parameters",
    probes=gated_parameters_probes,
    oracle=gated_ffn_parameters,
    returns=Count(),
    misconceptions=(
        Misconception("two matrices", lambda d, d_ff: 2 * d * d_ff, "two matrices are counted, as in the ungated layer", "W_gate, W_up and W_down are three"),
        Misconception("one matrix", lambda d, d_ff: d * d_ff, "one matrix is counted", "W_gate, W_up and W_down are three"),
        Misconception("four matrices", lambda d, d_ff: 4 * d * d_ff, "four matrices are counted", "the fused matrix is W_gate and W_up together: three in all"),
        Misconception("five matrices", lambda d, d_ff: 5 * d * d_ff, "five matrices are counted", "W_gate, W_up and W_down are three"),
        Misconception("six matrices", lambda d, d_ff: 6 * d * d_ff, "every weight is counted twice", "parameters are counted, not multiply-adds"),
        Misconception("biases of all three", lambda d, d_ff: 3 * d * d_ff + 2 * d_ff + d, "the biases of all three maps are added", "the layer is bias-free"),
        Misconception("one bias each of d_ff and d", lambda d, d_ff: 3 * d * d_ff + d_ff + d, "the biases b1 and b2 of the ungated layer are added", "the layer is bias-free"),
        Misconception("two matrices with biases", lambda d, d_ff: 2 * d * d_ff + d_ff + d, "the ungated layer is counted, with its biases", "W_gate, W_up and W_down are three, without biases"),
        Misconception("width scaled by 2/3", lambda d, d_ff: 3 * d * (2 * d_ff // 3), "d_ff is first reduced to 2/3", "d_ff is taken as given"),
        Misconception("width fixed at 8 d / 3", lambda d, d_ff: 3 * d * (8 * d // 3), "floor(8 d / 3) stands in the place of d_ff", "d_ff is taken as given"),
        Misconception("8 d^2", lambda d, d_ff: 8 * d * d, "8 d^2 is returned, whatever d_ff is", "d_ff is taken as given"),
        Misconception("12 d^2", lambda d, d_ff: 12 * d * d, "d_ff is taken to be 4 d", "d_ff is taken as given"),
        Misconception("3 d^2", lambda d, d_ff: 3 * d * d, "d stands in the place of d_ff", "each matrix has d rows or columns and d_ff of the other"),
        Misconception("3 d_ff^2", lambda d, d_ff: 3 * d_ff * d_ff, "d_ff stands in the place of d", "each matrix has d rows or columns and d_ff of the other"),
        Misconception("gate as a vector", lambda d, d_ff: 2 * d * d_ff + d_ff, "the gate is counted as one number for each hidden unit", "W_gate is a whole matrix (d, d_ff)"),
        Misconception("gate of d x d", lambda d, d_ff: 2 * d * d_ff + d * d, "the gate is counted as a matrix of d x d", "W_gate is (d, d_ff)"),
        Misconception("gate of d_ff x d_ff", lambda d, d_ff: 2 * d * d_ff + d_ff * d_ff, "the gate is counted as a matrix of d_ff x d_ff", "W_gate is (d, d_ff)"),
        Misconception("sum of the sides", lambda d, d_ff: 3 * (d + d_ff), "the sides of the matrices are added instead of multiplied", "a matrix of d x d_ff holds d d_ff numbers"),
        Misconception("product of the three", lambda d, d_ff: (d * d_ff) ** 3, "the sizes of the matrices are multiplied", "the three sizes are added"),
        Misconception("norm added", lambda d, d_ff: 3 * d * d_ff + d, "d numbers are added, as by a norm before the layer or one bias of W_down", "the layer alone, without biases"),
        Misconception("layer norm added", lambda d, d_ff: 3 * d * d_ff + 2 * d, "2 d numbers are added, as by a LayerNorm", "the layer alone, without its surroundings"),
        Misconception("hidden bias added", lambda d, d_ff: 3 * d * d_ff + d_ff, "d_ff numbers are added, as by one bias of the hidden units", "the layer is bias-free"),
        Misconception("gate and up biases added", lambda d, d_ff: 3 * d * d_ff + 2 * d_ff, "2 d_ff numbers are added, the biases of gate and up", "the layer is bias-free"),
        Misconception("one bias of d each", lambda d, d_ff: 3 * d * d_ff + 3 * d, "a bias of d is added for each of the three matrices", "the layer is bias-free"),
        Misconception("one bias of d_ff each", lambda d, d_ff: 3 * d * d_ff + 3 * d_ff, "a bias of d_ff is added for each of the three matrices", "the layer is bias-free"),
        Misconception("with attention", lambda d, d_ff: 3 * d * d_ff + 4 * d * d, "the four projections of attention are added", "the feed-forward layer alone is asked for"),
        Misconception("bytes in fp32", lambda d, d_ff: 12 * d * d_ff, "four bytes a parameter are counted", "the parameters are asked for, not their bytes"),
    ),
    grammar=Grammar(
        terms=lambda d, d_ff: {"W_gate and W_up": 2 * d * d_ff, "W_down": d * d_ff},
        nouns={},
        inputs=(
            ("d_ff is first reduced to 2/3", lambda d, d_ff: (d, 2 * d_ff // 3)),
            ("d_ff is doubled first", lambda d, d_ff: (d, 2 * d_ff)),
            ("4 d_ff stands in the place of d_ff", lambda d, d_ff: (d, 4 * d_ff)),
            ("4 d stands in the place of d_ff", lambda d, d_ff: (d, 4 * d)),
            ("floor(8 d / 3) stands in the place of d_ff", lambda d, d_ff: (d, 8 * d // 3)),
            ("d stands in the place of d_ff", lambda d, d_ff: (d, d)),
            ("d_ff stands in the place of d", lambda d, d_ff: (d_ff, d_ff)),
        ),
        edits=(
            ("one matrix is left out", lambda terms, d, d_ff: {**terms, "W_down": 0}),
            ("one matrix too many is counted", lambda terms, d, d_ff: {**terms, "W_down": 2 * d * d_ff}),
            ("the biases of gate and up are added", lambda terms, d, d_ff: {**terms, "hidden biases": 2 * d_ff}),
            ("one bias of d_ff is added", lambda terms, d, d_ff: {**terms, "hidden bias": d_ff}),
            ("a bias of d is added", lambda terms, d, d_ff: {**terms, "bias": d}),
            ("a LayerNorm of 2 d is added", lambda terms, d, d_ff: {**terms, "norm": 2 * d}),
            ("the gate is counted as d x d", lambda terms, d, d_ff: {**terms, "W_gate and W_up": d * d + d * d_ff}),
            ("the four projections of attention are added", lambda terms, d, d_ff: {**terms, "attention": 4 * d * d}),
        ),
        factors=(
            ("every weight is counted twice, as a multiply-add is", lambda total, d, d_ff: 2 * total),
            ("the result is given in bytes of fp32", lambda total, d, d_ff: 4 * total),
            ("the result is multiplied by d once more", lambda total, d, d_ff: total * d),
            ("the result is divided by d", lambda total, d, d_ff: total // d),
            ("the result is divided by d_ff", lambda total, d, d_ff: total // d_ff),
        ),
    ),
    hints=(
        "Look at the matrices of a gated layer: which of them exist, and what are their two sides?",
        "W_gate and W_up are (d, d_ff), W_down is (d_ff, d); without biases nothing else is counted.",
        "return ___ * d * d_ff",
    ),
    why="Gating adds one matrix: three of d x d_ff instead of two, half as many again at the same d_ff.",
)

EXERCISES = (SWIGLU, SWIGLU_FUSED, SWIGLU_D_FF, GATED_FFN_PARAMETERS)
