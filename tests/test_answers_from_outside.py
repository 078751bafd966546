"""Answers written from the catalogue of exercises alone: wrong ones and what they are told, right and hostile ones."""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import functools
import heapq
import importlib
import inspect
import itertools
import math
import os
import sys
import threading
import time
import warnings
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch

from ffnlib.activations import erf
from ffnlib.learner import verdict_on

# In WRONG, the text after an answer has to occur in the message; None: rejected, its cause not rightly named yet.


def relu(x):
    return np.maximum(x, 0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def softmax(z, axis=-1):
    e = np.exp(z - np.max(z, axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def norm(x, gamma, beta, eps):
    centred = x - x.mean(-1, keepdims=True)
    return gamma * centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) + beta


# ---------------------------------------------------------------- wrong answers that need more than a line


def relu_overwriting(x):
    x = np.asarray(x)
    x[x < 0] = 0
    return x


def two_axes_only(x, W1, b1, W2, b2):
    T, d = x.shape
    out = np.zeros((T, d))
    for t in range(T):
        out[t] = relu(x[t] @ W1 + b1) @ W2 + b2
    return out


def shapes_agree(f, X):
    return f(X).shape == X.shape


def later_rows_do_not_matter(f, X):
    try:
        changed = X.copy()
        changed[-1] += 1
        return np.allclose(f(X)[:-1], f(changed)[:-1], atol=1e-6)
    except Exception:
        return False


def each_row_alone_coarsely(f, X):
    try:
        return all(np.allclose(f(X)[t], f(X[t : t + 1])[0], atol=0.05) for t in range(len(X)))
    except Exception:
        return False


def each_row_alone_uncaught(f, X):
    return all(np.allclose(f(X)[t], f(X[t : t + 1])[0], rtol=0, atol=1e-6) for t in range(len(X)))


def one_row_at_a_time_as_vectors(f, X):
    try:
        return all(np.allclose(f(X)[t], f(X[t]), atol=1e-6) for t in range(len(X)))
    except Exception:
        return False


def bottom_k(logits, k):
    gate = np.zeros(logits.shape)
    for t, row in enumerate(logits):
        best = np.argsort(row)[:k]
        gate[t, best] = softmax(row[best])
    return gate


def zeros_into_the_softmax(logits, k):
    masked = np.where(logits >= np.sort(logits, axis=1)[:, -k][:, None], logits, 0.0)
    return softmax(masked)


def tokens_choose_down_the_columns(logits, k):
    return naive_top_k_stable(logits.T, min(k, len(logits))).T


def naive_top_k_stable(logits, k):
    gate = np.zeros(logits.shape)
    for t, row in enumerate(logits):
        best = np.argsort(row)[-k:]
        gate[t, best] = softmax(row[best])
    return gate


def winner_takes_one(logits):
    return np.eye(logits.shape[1])[logits.argmax(1)]


def winner_over_tokens(logits):
    p = softmax(logits, axis=0)
    return np.where(p == p.max(1, keepdims=True), p, 0.0)


def winner_as_list_of_chances(logits):
    return softmax(logits).max(1)


def balance(logits, scale=None, chances=None, counts=None):
    n, e = logits.shape
    p = softmax(logits)
    f = np.bincount(logits.argmax(1), minlength=e)
    return float((e if scale is None else scale) * np.sum((f / n if counts is None else f) * p.mean(0)))


def balance_of_shares_alone(logits):
    n, e = logits.shape
    f = np.bincount(logits.argmax(1), minlength=e) / n
    return float(e * np.sum(f * f))


def experts(x, W_router, W1, b1, W2, b2, gate):
    out = np.zeros_like(x, dtype=float)
    for e in range(W1.shape[0]):
        out += gate[:, e : e + 1] * (relu(x @ W1[e] + b1[e]) @ W2[e] + b2[e])
    return out


def mixture_without_weights(x, W_router, W1, b1, W2, b2, k):
    return experts(x, W_router, W1, b1, W2, b2, (naive_top_k_stable(x @ W_router, k) > 0).astype(float))


def mixture_with_ungated_bias(x, W_router, W1, b1, W2, b2, k):
    gate = naive_top_k_stable(x @ W_router, k)
    return experts(x, W_router, W1, b1, W2, 0 * b2, gate) + (gate > 0) @ b2


def skipping_but_hiding_nan(x, W1, b1, W2, b2):
    return relu(x @ W1 + b1) @ np.nan_to_num(W2) + b2


def skipping_the_wrong_way(x, W1, b1, W2, b2):
    h = x @ W1 + b1
    return relu(h[h < 0]) @ W2[h < 0] + b2


def skipping_by_input(x, W1, b1, W2, b2):
    h = x @ W1
    keep = h > 0
    return relu(h + b1)[keep] @ W2[keep] + b2


def silent_means_zero(x, W1, b1, W2, b2):
    h = x @ W1 + b1
    if not (h > 0).any():
        return np.zeros_like(b2)
    return h[h > 0] @ W2[h > 0] + b2


def path_gradient(grad, w, m, points, scale=None):
    total = sum(grad(p * w) for p in points)
    return w * total / (m if scale is None else scale)


def update(W, C, k, v, direction=None, wanted=None):
    if not np.any(k):
        raise ValueError("a zero key")
    u = np.linalg.solve(C, k) if direction is None else direction
    return W + np.outer((v - W @ k) if wanted is None else wanted, u) / (u @ k)


def layer_edit(W1, b1, W2, b2, x, v, C, key=None, target=None):
    k = relu(W1 @ x + b1) if key is None else key
    return W1, update(W2, C, k, v - b2 if target is None else target), b2


def scores(before, after, target, paraphrases, neighbours, kept=None, empty=float("nan"), wanted=None):
    def mean(hits):
        return float(np.mean(hits)) if len(hits) else empty

    before, after = np.asarray(before), np.asarray(after)
    return {
        "efficacy": float(after[0] == target) if wanted is None else wanted,
        "paraphrase": mean(after[paraphrases] == target),
        "neighbourhood": mean(after[neighbours] == before[neighbours]) if kept is None else mean(kept),
    }


def decoder(vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied, norms=None, tables=None):
    head = d // n_heads
    layer = 2 * d * d + 2 * d * head * n_kv_heads + (3 if gated else 2) * d * d_ff
    tables = (1 if tied else 2) if tables is None else tables
    return tables * vocab * d + n_layers * layer + (2 * n_layers + 1 if norms is None else norms) * d


def both_stacks(d, d_ff, n_layers, attentions=3, norms=5, biases=1):
    return n_layers * (attentions * 4 * d * d + 2 * (2 * d * d_ff + biases * (d + d_ff)) + norms * 2 * d)


class FeedForward(torch.nn.Module):
    """The common part of the wrong modules."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.up = torch.nn.Linear(d_model, d_ff)
        self.down = torch.nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class WithGelu(FeedForward):
    def forward(self, x):
        return self.down(torch.nn.functional.gelu(self.up(x)))


class WithDropout(FeedForward):
    def forward(self, x):
        return torch.nn.functional.dropout(super().forward(x), 0.5, training=True)


class WithReluAtTheEnd(FeedForward):
    def forward(self, x):
        return torch.relu(super().forward(x))


class WithoutReturn(FeedForward):
    def forward(self, x):
        self.down(torch.relu(self.up(x)))


def identity_order(T):
    return list(range(T)), 1


def whole_turn(T):
    return list(range(T))[::-1], T


def backwards_order_with_swap(T):
    return 1, list(range(T))[::-1]


def rows_stacked(x, W1, b1, W2, b2):
    return np.stack([relu(row @ W1 + b1) @ W2 + b2 for row in x])


def written_into_the_input(x, W1, b1, W2, b2):
    x = np.asarray(x, dtype=float)
    x -= x.mean()
    return relu((x + 0) @ W1 + b1) @ W2 + b2


def column_broadcast(x, W1, b1, W2, b2):
    return relu(np.dot(x, W1) + b1[:, None]) @ W2 + b2


def token_loop_off_by_one(x, W1, b1, W2, b2):
    out = np.zeros(np.shape(x))
    for t in range(len(x) - 1):
        out[t] = relu(x[t] @ W1 + b1) @ W2 + b2
    return out


def others_zeroed(f, X):
    try:
        for t in range(len(X)):
            alone = np.zeros_like(X)
            alone[t] = X[t]
            if not np.allclose(f(X)[t], f(alone)[t], rtol=0, atol=1e-6):
                return False
        return True
    except Exception:
        return False


def scribbling_on_X(f, X):
    try:
        whole = f(X).copy()
        for t in range(len(X)):
            row = X[t].copy()
            X[:] = 0
            X[t] = row
        return np.allclose(whole[-1], f(X[-1:])[0])
    except Exception:
        return False


def says_false_on_exception_only(f, X):
    try:
        for t in range(len(X)):
            f(X[t : t + 1])
        return True
    except Exception:
        return False


def sums_agree(f, X):
    try:
        return np.isclose(f(X).sum(), sum(f(X[t : t + 1]).sum() for t in range(len(X))), atol=1e-6)
    except Exception:
        return False


def update_in_place(W, C, k, v):
    if not np.any(k):
        raise ValueError("zero key")
    u = np.linalg.solve(C, k)
    W += np.outer(v - W @ k, u) / (u @ k)
    return W


def refuses_small_keys(W, C, k, v):
    if np.linalg.norm(k) < 1e-3:
        raise ValueError("zero key")
    return update(W, C, k, v)


def zero_key_returns_W(W, C, k, v):
    return update(W, C, k, v) if np.any(k) else W.copy()


def layer_overwrites_W2(W1, b1, W2, b2, x, v, C):
    W2[:] = update(W2, C, relu(W1 @ x + b1), v - b2)
    return W1, W2, b2


def mixture_stacked(x, W_router, W1, b1, W2, b2, k):
    gate = naive_top_k_stable(x @ W_router, k)
    rows = [sum(g * (relu(r @ W1[e] + b1[e]) @ W2[e] + b2[e]) for e, g in enumerate(gs)) for r, gs in zip(x, gate)]
    return np.stack(rows)


def mixture_without_b1(x, W_router, W1, b1, W2, b2, k):
    return experts(x, W_router, W1, 0 * b1, W2, b2, naive_top_k_stable(x @ W_router, k))


def first_maximum_over_tokens(logits):
    p = softmax(logits, axis=0)
    return p * np.eye(p.shape[1])[logits.argmax(1)]


def unstable_switch(logits):
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    return p * np.eye(p.shape[1])[logits.argmax(1)]


def balance_of_top_two(logits):
    n, e = logits.shape
    best = np.argsort(logits, axis=1)[:, -2:]
    f = np.bincount(best.ravel(), minlength=e) / n
    return float(e * f @ softmax(logits).mean(0))


def balance_over_the_present(logits):
    n, e = logits.shape
    f = np.bincount(logits.argmax(1)) / n
    return float(e * np.dot(f, softmax(logits).mean(0)))


class WithTanh(FeedForward):
    def forward(self, x):
        return self.down(torch.tanh(self.up(x)))


class WithALayerNorm(FeedForward):
    def forward(self, x):
        return super().forward(torch.nn.functional.layer_norm(x, x.shape[-1:]))


class ForOneMatrixOnly(FeedForward):
    def forward(self, x):
        tokens, d_model = x.shape
        return super().forward(x.reshape(tokens, d_model))


class NotAModule:
    def __init__(self, d_model, d_ff):
        self.up = torch.nn.Linear(d_model, d_ff)
        self.down = torch.nn.Linear(d_ff, d_model)

    def __call__(self, x):
        return self.down(torch.relu(self.up(x)))


def for_each_token(route):
    """Apply a route to one token after another, and stack the results, which fails when there is no token."""
    return lambda logits, *k: np.stack([route(row[None], *k)[0] for row in logits])


def switched(logits):
    return softmax(logits) * np.eye(logits.shape[1])[logits.argmax(1)]


def rotated_by_two(T):
    return np.roll(np.arange(T), 2), 1


WRONG = [
    ("relu", "0 read as an axis", lambda x: np.max(x, 0), "np.max(x, 0) is taken, which reads the 0 as an axis"),
    ("relu", "max in a list", lambda x: [max(0, entry) for entry in x], "a loop takes the entries of x one by one"),
    ("relu", "half a choice", lambda x: np.where(x > 0, x), "one choice is missing"),
    ("feed_forward", "the column formula", lambda x, W1, b1, W2, b2: W2 @ relu(W1 @ x + b1) + b2,
     "the formula for one column vector"),
    ("feed_forward", "the column formula, then rows", lambda x, W1, b1, W2, b2: relu(W1 @ x + b1) @ W2 + b2,
     "`W1 @ x` stands where `x @ W1` belongs"),
    ("feed_forward", "stars for products", lambda x, W1, b1, W2, b2: relu(x * W1 + b1) * W2 + b2,
     "it multiplies entry by entry"),
    ("feed_forward", "no parentheses", lambda x, W1, b1, W2, b2: relu(x @ W1) + b1 @ W2 + b2,
     "the parentheses around the hidden values are missing"),
    ("feed_forward", "a parenthesis too late", lambda x, W1, b1, W2, b2: relu(x @ W1 + b1 @ W2 + b2),
     "the parenthesis of the ReLU closes at the end"),
    ("feed_forward", "a loop over rows", lambda x, W1, b1, W2, b2: np.array([relu(r @ W1 + b1) @ W2 + b2 for r in x]),
     "a loop takes the rows of x one by one"),
    ("feed_forward", "one digit", lambda x, W1, b1, W2, b2: np.round(relu(x @ W1 + b1) @ W2 + b2, 1),
     "the result is rounded to 1 digit"),
    ("feed_forward_columns", "reshape for transpose",
     lambda x, W1, b1, W2, b2: relu(x @ W1.reshape(W1.shape[::-1]) + b1) @ W2.reshape(W2.shape[::-1]) + b2,
     "the matrices are reshaped instead of transposed"),
    ("self_test_c", "the printed result", lambda W1, W2, x: (2, 0), "which the worked example gives for (1, 0)"),
    ("self_test_c", "a column", lambda W1, W2, x: W2 @ relu(W1 @ x[:, None]), "the numbers are right, in shape (2, 1)"),
    ("conv1d_weight", "a method of tensors", lambda W1: W1.T.unsqueeze(-1), "a NumPy array has no attribute"),
    ("rms_norm", "the length", lambda x, g, e: g * x / np.linalg.norm(x, axis=-1, keepdims=True), "by its length"),
    ("add_and_norm", "arguments forgotten", lambda x, y, g, b, e: norm(x + y), "fewer arguments than it takes"),
    ("gelu", "x times erf", lambda x: x * erf(x), "erf runs from -1 to 1"),
    ("swiglu", "from left to right", lambda x, G, U, D: silu(x @ G) * x @ U @ D, "worked off from left to right"),
    ("swiglu", "@ for *", lambda x, G, U, D: silu(x @ G) @ (x @ U) @ D, "@ stands between gate and up"),
    ("swiglu_fused", "rows cut", lambda x, GU, D: (lambda h, n: (silu(h[:n]) * h[n:]) @ D)(x @ GU, len(x @ GU) // 2),
     "the rows of x W_gate_up are cut"),
    ("swiglu_fused", "a matrix only", lambda x, GU, D: (silu((x @ GU)[:, : len(D)]) * (x @ GU)[:, len(D) :]) @ D,
     "along the second axis"),
    ("swiglu_fused", "no cut", lambda x, GU, D: silu(x @ GU) @ D, "x W_gate_up is not cut"),
    ("attention_parameters", "// too early", lambda d, n, kv: 2 * d**2 + 2 * d**2 * (kv // n), "is rounded down"),
    ("global_parameters", "the matrix itself", lambda T, d: np.zeros((T * d, T * d)).size, "the memory ran out"),
    ("warm_up", "text repeated twice", lambda x: f"{x}{x}", "text"),
    ("relu", "the caller's array is overwritten", relu_overwriting, "x holds other values after the call"),
    ("relu", "negative entries are dropped", lambda x: np.asarray(x)[np.asarray(x) > 0], None),
    ("relu", "one maximum over the whole array", lambda x: np.max([0, np.max(x)]), None),
    ("relu", "the result is rounded", lambda x: np.round(np.maximum(x, 0), 2), None),
    ("relu", "minimum for maximum", lambda x: np.minimum(0, x), "the smaller of 0 and x is taken"),
    ("relu", "a smooth softplus", lambda x: np.log1p(np.exp(x)), None),
    ("feed_forward", "b1 added after the ReLU", lambda x, W1, b1, W2, b2: (relu(x @ W1) + b1) @ W2 + b2,
     "ReLU is applied before b1 is added"),
    ("feed_forward", "b1 forgotten", lambda x, W1, b1, W2, b2: relu(x @ W1) @ W2 + b2, "b1 is left out"),
    ("feed_forward", "b2 added to W2", lambda x, W1, b1, W2, b2: relu(x @ W1 + b1) @ (W2 + b2), None),
    ("feed_forward", "columns instead of rows", lambda x, W1, b1, W2, b2: W2 @ relu(W1 @ x + b1) + b2, None),
    ("feed_forward", "W1 transposed", lambda x, W1, b1, W2, b2: relu(x @ W1.T + b1) @ W2.T + b2, "transpos"),
    ("feed_forward", "x must have two axes", two_axes_only, None),
    ("feed_forward", "elementwise products", lambda x, W1, b1, W2, b2: relu(x * W1 + b1) * W2 + b2, None),
    ("feed_forward", "b1 inside W1's sum twice", lambda x, W1, b1, W2, b2: relu(x @ W1 + 2 * b1) @ W2 + b2,
     "`2 * b1` stands where `b1` belongs"),
    ("feed_forward_columns", "tokens left in the columns",
     lambda x, W1, b1, W2, b2: W2 @ relu(W1 @ x.T + b1[:, None]) + b2[:, None],
     "the result is not turned back: positions are its columns"),
    ("linear_collapse", "the biases simply added", lambda W1, b1, W2, b2: (W1 @ W2, b1.sum() + b2),
     "b1 is added without going through W2"),
    ("linear_collapse", "the matrix alone", lambda W1, b1, W2, b2: W1 @ W2, "an array came back where"),
    ("linear_collapse", "the ReLU kept", lambda W1, b1, W2, b2: (relu(W1) @ W2, relu(b1) @ W2 + b2), "ReLU"),
    ("trace_hidden", "the share of active units", lambda h: (relu(h), np.flatnonzero(h > 0), np.mean(h > 0)), "share"),
    ("trace_hidden", "where without its first entry", lambda h: (relu(h), np.where(h > 0), np.mean(h <= 0)),
     "in active"),
    ("trace_hidden", "strongest first", lambda h: (relu(h), np.argsort(-h)[: int((h > 0).sum())], np.mean(h <= 0)),
     "ascending"),
    ("trace_hidden", "rounded to two places",
     lambda h: (relu(h), np.flatnonzero(h > 0), round(float(np.mean(h <= 0)), 2)), "round"),
    ("self_test_c", "the hidden layer only", lambda W1, W2, x: relu(W1 @ x), "hidden"),
    ("is_positionwise", "equal shapes are taken for it", shapes_agree, "shape"),
    ("is_positionwise", "only the last row is changed", later_rows_do_not_matter, "last"),
    ("is_positionwise", "f's exception gets out", each_row_alone_uncaught, "raise"),
    ("is_positionwise", "a row without its token axis", one_row_at_a_time_as_vectors, "row"),
    ("conv1d_weight", "not transposed", lambda W1: W1[:, :, None], "transpos"),
    ("conv1d_weight", "reshape for transpose", lambda W1: W1.reshape(W1.shape[1], W1.shape[0], 1), "reshape"),
    ("global_parameters", "d not squared", lambda T, d: T * T * d, "has a matrix T x T of its own"),
    ("global_parameters", "FLOPs", lambda T, d: 2 * (T * d) ** 2, None),
    ("global_parameters", "the position-wise one", lambda T, d: d * d, "position"),
    ("layer_norm", "over the first axis", lambda x, g, b, eps: g * (x - x.mean(0)) / np.sqrt(x.var(0) + eps) + b,
     "axis"),
    ("layer_norm", "no root",
     lambda x, g, b, eps: g * (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + eps) + b, "root"),
    ("layer_norm", "one plus gamma", lambda x, g, b, eps: norm(x, 1 + g, b, eps), "gamma"),
    ("layer_norm", "gamma and beta swapped", lambda x, g, b, eps: norm(x, b, g, eps),
     "gamma and beta have changed places"),
    ("rms_norm", "centred as in LayerNorm", lambda x, g, eps: norm(x, g, 0 * g, eps), "mean"),
    ("rms_norm", "no root", lambda x, g, eps: g * x / ((x**2).mean(-1, keepdims=True) + eps), "root"),
    ("rms_norm", "the mean squared", lambda x, g, eps: g * x / np.sqrt(x.mean(-1, keepdims=True) ** 2 + eps), "mean"),
    ("add_and_norm", "two norms", lambda x, y, g, b, eps: norm(x, g, b, eps) + norm(y, g, b, eps), "norm"),
    ("add_and_norm", "the mean of the two", lambda x, y, g, b, eps: norm((x + y) / 2, g, b, eps), "half"),
    ("pre_norm", "the normalised stream in the residual", lambda x, f, ln: ln(x) + f(ln(x)),
     "ln(x) + f(ln(x)) is computed"),
    ("pre_norm", "f called with two arguments", lambda x, f, ln: x + f(ln, x), None),
    ("post_norm", "pre-norm", lambda x, f, ln: x + f(ln(x)), "pre"),
    ("post_norm", "no residual", lambda x, f, ln: ln(f(x)), "x is not added"),
    ("transformer_block", "post-norm", lambda x, a, f, l1, l2: l2((h := l1(x + a(x))) + f(h)), "post"),
    ("transformer_block", "norms swapped", lambda x, a, f, l1, l2: (h := x + a(l2(x))) + f(l1(h)),
     "ln1 and ln2 have changed places"),
    ("feed_forward_module", "GELU", WithGelu, "GELU"),
    ("feed_forward_module", "dropout that never stops", WithDropout,
     "two runs in evaluation mode gave different results"),
    ("feed_forward_module", "a ReLU at the end", WithReluAtTheEnd, "ReLU"),
    ("feed_forward_module", "no return in forward", WithoutReturn, "return"),
    ("gelu", "the sigmoid form", lambda x: x * sigmoid(1.702 * x), "1.702"),
    ("gelu", "x forgotten", lambda x: 0.5 * (1 + erf(x / np.sqrt(2))), "Phi(x) is returned without the factor x"),
    ("gelu", "one minus", lambda x: 0.5 * x * (1 - erf(x / np.sqrt(2))), "erf enters with a minus"),
    ("gelu_tanh", "the root of 2 over pi misread",
     lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2) / np.pi * (x + 0.044715 * x**3))), "root"),
    ("gelu_tanh", "the half forgotten", lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
     "the factor 1/2 is missing"),
    ("silu", "the exponent's sign", lambda x: x / (1 + np.exp(x)), "sign"),
    ("silu", "the slope", lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))), "the derivative of SiLU is computed"),
    ("dead_units", "negatives count as dead", lambda H: int((H <= 0).all(0).sum()), "negative"),
    ("dead_units", "all zeros counted", lambda H: int((H == 0).sum()), "single zeros are counted, not units"),
    ("dead_units", "close to zero", lambda H: int((np.abs(H) < 1e-3).all(0).sum()), "exact"),
    ("swiglu", "SiLU of the product", lambda x, G, U, D: silu((x @ G) * (x @ U)) @ D, "product"),
    ("swiglu", "SiLU on both", lambda x, G, U, D: (silu(x @ G) * silu(x @ U)) @ D, "both"),
    ("swiglu_fused", "up first", lambda x, GU, D: ((x @ GU)[..., : D.shape[0]] * silu((x @ GU)[..., D.shape[0] :])) @ D,
     "first"),
    ("swiglu_fused", "SiLU before the split",
     lambda x, GU, D: (silu(x @ GU)[..., : D.shape[0]] * silu(x @ GU)[..., D.shape[0] :]) @ D, "both"),
    ("swiglu_d_ff", "always one multiple more", lambda d, m: m * (8 * d // 3 // m + 1), "already"),
    ("swiglu_d_ff", "8/3 rounded up before", lambda d, m: -(-math.ceil(8 * d / 3) // m) * m, "floor"),
    ("swiglu_d_ff", "8 // 3 first", lambda d, m: -(-(8 // 3 * d) // m) * m, None),
    ("gated_ffn_parameters", "two matrices", lambda d, d_ff: 2 * d * d_ff, "two matrices are counted"),
    ("gated_ffn_parameters", "12 d d", lambda d, d_ff: 12 * d * d, "d_ff is taken to be 4 d"),
    ("ffn_parameters", "biases always", lambda d, d_ff, bias: 2 * d * d_ff + d + d_ff, "bias"),
    ("ffn_parameters", "4d", lambda d, d_ff, bias: 8 * d * d + bias * 5 * d, "4d stands for d_ff"),
    ("attention_parameters", "kv heads ignored", lambda d, n, kv: 4 * d * d, "n_kv_heads is ignored"),
    ("attention_parameters", "one of K and V", lambda d, n, kv: 2 * d * d + d * (d // n) * kv,
     "keys and values share one matrix"),
    ("attention_parameters", "head size d / kv heads", lambda d, n, kv: 2 * d * d + 2 * d * (d // kv) * n, "head"),
    ("decoder_parameters", "tied the wrong way round", lambda *a: decoder(*a[:7], not a[7]), "tied"),
    ("decoder_parameters", "no final norm", lambda *a: decoder(*a, norms=2 * a[2]), "norm"),
    ("decoder_parameters", "the gate ignored", lambda *a: decoder(*a[:6], False, a[7]), "gate"),
    ("encoder_decoder_parameters", "two norms in a decoder block", lambda d, d_ff, n: both_stacks(d, d_ff, n, norms=4),
     "norm"),
    ("encoder_decoder_parameters", "final norms", lambda d, d_ff, n: both_stacks(d, d_ff, n) + 4 * d, "norm"),
    ("encoder_decoder_parameters", "six layers always", lambda d, d_ff, n: both_stacks(d, d_ff, 6), None),
    ("ffn_share", "FFN to the rest", lambda V, d, L, f: 2 * d * f * L / (V * d + L * 4 * d * d),
     "the FFNs are divided by everything else"),
    ("ffn_share", "two embedding tables", lambda V, d, L, f: 2 * d * f * L / (2 * V * d + L * (4 * d * d + 2 * d * f)),
     "embed"),
    ("ffn_share", "two thirds for every model", lambda V, d, L, f: 2 / 3,
     "two thirds are returned, which holds for a block with d_ff = 4d"),
    ("ffn_flops", "per token", lambda b, T, d, f: 4 * d * f, "token"),
    ("ffn_flops", "biases too", lambda b, T, d, f: 4 * b * T * d * f + b * T * (d + f), "bias"),
    ("attention_flops", "no projections", lambda T, d: 4 * T * T * d, "proj"),
    ("attention_flops", "three projections", lambda T, d: 6 * T * d * d + 4 * T * T * d,
     "the output projection is left out"),
    ("attention_flops", "softmax counted", lambda T, d: 8 * T * d * d + 4 * T * T * d + 5 * T * T, "softmax"),
    ("crossover", "always without", lambda d, f, p: f, "proj"),
    ("crossover", "d_ff taken as 4d", lambda d, f, p: 2 * d if p else 4 * d, "4d stands for d_ff"),
    ("sparsity", "one share a unit", lambda H: np.mean(H == 0, axis=0), "one"),
    ("sparsity", "per cent", lambda H: 100 * float(np.mean(H == 0)), "per cent"),
    ("active_per_token", "no absolute value", lambda H, e: np.mean(e < H, axis=-1), "abs"),
    ("active_per_token", "numbers, not shares", lambda H, e: np.sum(np.abs(H) > e, axis=-1), "number"),
    ("active_per_token", "the last axis kept", lambda H, e: np.mean(np.abs(H) > e, axis=-1, keepdims=True), "axis"),
    ("sparse_feed_forward", "NaN made zero", skipping_but_hiding_nan,
     "every nan in W2 is passed over, also in the row of a unit that fires"),
    ("sparse_feed_forward", "the silent rows read", skipping_the_wrong_way, None),
    ("sparse_feed_forward", "b1 not in the choice", skipping_by_input, None),
    ("sparse_feed_forward", "nothing fires, so zero", silent_means_zero, "zeros are returned when no unit fires"),
    ("topk_route", "the k worst", bottom_k, "the k worst experts are chosen"),
    ("topk_route", "zero instead of minus infinity", zeros_into_the_softmax,
     "the other scores are set to 0 before the softmax"),
    ("topk_route", "experts choose tokens", tokens_choose_down_the_columns, None),
    ("switch_route", "the winner gets one", winner_takes_one, "the winner gets 1"),
    ("switch_route", "softmax over the tokens", winner_over_tokens, None),
    ("switch_route", "one number a token", winner_as_list_of_chances, "one probability for each token is returned"),
    ("load_balance", "f squared", balance_of_shares_alone, "f stands in the place of P"),
    ("load_balance", "experts squared", lambda z: balance(z, scale=z.shape[1] ** 2), "expert"),
    ("capacity", "rounded", lambda n, e, k, c: round(n * k * c / e), "round"),
    ("capacity", "the binary factor", lambda n, e, k, c: math.ceil(n * k * c / e), "decimal"),
    ("capacity", "rounded up too early", lambda n, e, k, c: math.ceil(math.ceil(Fraction(n * k, e)) * Fraction(str(c))),
     "round"),
    ("moe_forward", "experts summed without weights", mixture_without_weights, "gate"),
    ("moe_forward", "b2 not gated", mixture_with_ungated_bias, "b2 of the chosen experts is added without its gate"),
    ("kv_contributions", "no ReLU", lambda x, W1, b1, W2: (x @ W1 + b1)[:, None] * W2, "ReLU"),
    ("kv_contributions", "transposed", lambda x, W1, b1, W2: (relu(x @ W1 + b1)[:, None] * W2).T,
     "rows and columns of the result are exchanged"),
    ("kv_contributions", "the coefficients only", lambda x, W1, b1, W2: relu(x @ W1 + b1), "coeff"),
    ("top_triggers", "the weakest", lambda H, u, k: np.argsort(H[:, u])[:k],
     "the k tokens with the smallest activation are returned"),
    ("top_triggers", "by absolute value", lambda H, u, k: np.argsort(-np.abs(H[:, u]))[:k], "abs"),
    ("top_triggers", "all of them", lambda H, u, k: np.argsort(-H[:, u]), "all tokens are returned"),
    ("value_distribution", "exponentials not divided", lambda v, E: np.exp(E @ v), None),
    ("value_distribution", "logs", lambda v, E: np.log(softmax(E @ v)), None),
    ("value_distribution", "overflow", lambda v, E: np.exp(E @ v) / np.exp(E @ v).sum(), "overflow"),
    ("value_distribution", "divided by root d", lambda v, E: softmax(E @ v / np.sqrt(len(v))), "root"),
    ("logit_lens", "softmax added", lambda h, g, b, W, eps: softmax(norm(h, g, b, eps) @ W), "softmax"),
    ("logit_lens", "gamma forgotten", lambda h, g, b, W, eps: norm(h, 1, b, eps) @ W, "gamma"),
    ("neuron_attribution", "the gradient at w alone", lambda grad, w, m: w * grad(w), "only the gradient at w is used"),
    ("neuron_attribution", "a sum for the mean",
     lambda grad, w, m: path_gradient(grad, w, m, np.arange(1, m + 1) / m, 1), "mean"),
    ("neuron_attribution", "summed to one number",
     lambda grad, w, m: float(np.sum(path_gradient(grad, w, m, np.arange(1, m + 1) / m))), "one number"),
    ("rome_update", "C for its inverse", lambda W, C, k, v: update(W, C, k, v, direction=C @ k),
     "C k stands in the place of C^-1 k"),
    ("rome_update", "a zero key goes through",
     lambda W, C, k, v: W + np.outer(v - W @ k, np.linalg.solve(C, k)) / (np.linalg.solve(C, k) @ k), "ValueError"),
    ("rome_update", "the sign of the error", lambda W, C, k, v: update(W, C, k, v, wanted=W @ k - v),
     "W k - v stands in the place of v - W k"),
    ("rome_layer", "b1 not in the key", lambda *a: layer_edit(*a, key=relu(a[0] @ a[4])),
     "the key is taken without b1"),
    ("rome_layer", "b2 added to v", lambda *a: layer_edit(*a, target=a[5] + a[3]),
     "the target of W2 is v + b2 instead of v - b2"),
    ("rome_layer", "W2 first", lambda *a: layer_edit(*a)[1:] + layer_edit(*a)[:1], None),
    ("edit_scores", "an empty group is zero", lambda *args: scores(*args, empty=0.0), "empty"),
    ("edit_scores", "efficacy over everything",
     lambda b, a, t, p, n: scores(b, a, t, p, n, wanted=float(np.mean(a == t))), "efficacy"),
    ("edit_scores", "a tuple for the dict", lambda *args: tuple(scores(*args).values()), "dict"),
    ("non_embedding_parameters", "one layer", lambda L, d, f: 2 * d * (2 * d + f), "layer"),
    ("non_embedding_parameters", "half of the attention", lambda L, d, f: 2 * d * L * (d + f), "attention"),
    ("d_ff_for_budget", "attention forgotten", lambda B, L, d: B // (2 * d * L), "attention"),
    ("d_ff_for_budget", "one too few", lambda B, L, d: max(0, (B - 1) // (2 * d * L) - 2 * d), "exact"),
    ("d_ff_for_budget", "4d always", lambda B, L, d: 4 * d, "4d is returned, whatever the budget"),
    ("self_test_a", "b1 left out", lambda d: 8 * d * d + d, "b1 is left out"),
    ("self_test_b", "multiply-adds once", lambda d, T: (8 * T * d * d, 2 * T * T * d, 4 * d), "multiply"),
    ("self_test_b", "projections in", lambda d, T: (16 * T * d * d, 4 * T * T * d + 8 * T * d * d, 2 * d), "proj"),
    ("self_test_d", "the identity", identity_order, "identity"),
    ("self_test_d", "a whole turn", whole_turn, "the shift is T"),
    ("self_test_d", "shift first", backwards_order_with_swap, None),
    ("self_test_e", "rounded up", lambda d: (1, 2, math.ceil(8 * d / 3)), "down"),
    ("self_test_e", "half of 4d", lambda d: (1, 2, 2 * d), "d_ff is halved"),
    ("self_test_e", "8 // 3 first", lambda d: (1, 2, 8 // 3 * d), None),
    ("relu", "fmax in whole numbers", lambda x: np.maximum(0, np.floor(x)), "the fractions are cut off"),
    ("feed_forward", "rows stacked, which needs rows", rows_stacked, None),
    ("feed_forward", "x centred in place", written_into_the_input, "input"),
    ("feed_forward", "b1 along the wrong axis", column_broadcast, None),
    ("feed_forward", "the last token forgotten", token_loop_off_by_one, None),
    ("feed_forward", "GELU for ReLU",
     lambda x, W1, b1, W2, b2: (lambda h: 0.5 * h * (1 + erf(h / 2**0.5)))(x @ W1 + b1) @ W2 + b2, "GELU"),
    ("feed_forward", "a tuple by a stray comma", lambda x, W1, b1, W2, b2: (relu(x @ W1 + b1) @ W2 + b2,), "tuple"),
    ("feed_forward", "printed, not returned", lambda x, W1, b1, W2, b2: print(end=""), "None"),
    ("linear_collapse", "matrices added", lambda W1, b1, W2, b2: (W1 + W2.T, b1 @ W2 + b2), "add"),
    ("linear_collapse", "b as one row", lambda W1, b1, W2, b2: (W1 @ W2, (b1 @ W2 + b2)[None]), None),
    ("self_test_c", "a column", lambda W1, W2, x: (W2 @ relu(W1 @ x))[:, None], "shape"),
    ("trace_hidden", "a share of the whole row one short",
     lambda h: (relu(h), np.flatnonzero(h > 0), np.sum(h <= 0) / max(1, len(h) - 1)), None),
    ("trace_hidden", "values for indices", lambda h: (relu(h), h[h > 0], np.mean(h <= 0)),
     "the values of the active units are returned instead of their positions"),
    ("trace_hidden", "a threshold of one tenth", lambda h: (relu(h), np.flatnonzero(h > 0.1), np.mean(h <= 0.1)), None),
    ("is_positionwise", "the others set to zero", others_zeroed, "row t is watched while the other rows change"),
    ("is_positionwise", "writes into X", scribbling_on_X, None),
    ("is_positionwise", "a single row accepted is enough", says_false_on_exception_only, None),
    ("is_positionwise", "sums compared", sums_agree, "sum"),
    ("is_positionwise", "turned round", lambda f, X: not each_row_alone_coarsely(f, X), None),
    ("global_parameters", "T d cubed", lambda T, d: (T * d) ** 3, None),
    ("global_parameters", "two sides added", lambda T, d: (T + d) ** 2, "T and d are added before squaring"),
    ("layer_norm", "axis one",
     lambda x, g, b, eps: g * (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + eps) + b, "axis"),
    ("layer_norm", "eps squared", lambda x, g, b, eps: norm(x, g, b, eps**2), "eps"),
    ("rms_norm", "gamma forgotten", lambda x, g, eps: x / np.sqrt((x**2).mean(-1, keepdims=True) + eps), "gamma"),
    ("rms_norm", "biggest entry", lambda x, g, eps: g * x / (np.abs(x).max(-1, keepdims=True) + eps),
     "the largest absolute value divides"),
    ("gelu", "sign with a root of exponentials",
     lambda x: 0.5 * x * (1 + np.sign(x) * np.sqrt(1 - np.exp(-2 * x**2 / np.pi))), None),
    ("gelu", "erf of x over 2", lambda x: 0.5 * x * (1 + erf(x / 2)), "sqrt"),
    ("gelu_tanh", "pi as 3.14", lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / 3.14) * (x + 0.044715 * x**3))), "3.14"),
    ("gelu_tanh", "minus the cube", lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x - 0.044715 * x**3))),
     "sign"),
    ("silu", "1.702", lambda x: x * sigmoid(1.702 * x), "1.702"),
    ("silu", "NaN made zero by force", lambda x: np.nan_to_num(x * np.exp(x) / (1 + np.exp(x))), "overflow"),
    ("dead_units", "squares that underflow", lambda H: int(((H.astype(float) ** 2).sum(0) == 0).sum()), None),
    ("dead_units", "mean of the column", lambda H: int((H.mean(0) == 0).sum()), "cancel"),
    ("swiglu_fused", "interleaved halves by reshape",
     lambda x, GU, D: (lambda z: (silu(z[..., 0]) * z[..., 1]) @ D)((x @ GU).reshape(*x.shape[:-1], -1, 2)), None),
    ("swiglu", "W_down left out", lambda x, G, U, D: silu(x @ G) * (x @ U), "W_down"),
    ("swiglu_d_ff", "a float", lambda d, m: m * math.ceil(8 * d / 3 / m) + 0.5, None),
    ("swiglu_d_ff", "added instead of rounded", lambda d, m: 8 * d // 3 + m, "add"),
    ("attention_parameters", "three projections", lambda d, n, kv: d * d + 2 * d * (d // n) * kv, "output"),
    ("decoder_parameters", "learned positions", lambda *a: decoder(*a) + 2048 * a[1],
     "a table of 2,048 learned positions is added"),
    ("ffn_share", "attention left out", lambda V, d, L, f: 2 * d * f * L / (V * d + L * 2 * d * f), "attention"),
    ("ffn_share", "rounded", lambda V, d, L, f: round(2 * d * f * L / (V * d + L * (4 * d * d + 2 * d * f)), 3),
     "round"),
    ("attention_flops", "d squared twice", lambda T, d: 8 * T * d * d + 4 * T * d * d, None),
    ("crossover", "2d added", lambda d, f, p: f + 2 * d if p else f, "2d is added instead of subtracted"),
    ("active_per_token", "axis one", lambda H, e: np.mean(np.abs(H) > e, axis=1), "the mean is taken over axis 1"),
    ("topk_route", "the first k", lambda z, k: np.pad(softmax(z[:, :k]), ((0, 0), (0, z.shape[1] - k))),
     "the first k experts are chosen, whatever their scores"),
    ("topk_route", "softmax twice", lambda z, k: naive_top_k_stable(softmax(z), k), None),
    ("switch_route", "softmax over tokens and best expert", first_maximum_over_tokens, "axis"),
    ("switch_route", "overflow", unstable_switch, None),
    ("load_balance", "two best", balance_of_top_two, "f counts the two best experts of each token"),
    ("load_balance", "experts nobody chose fall off", balance_over_the_present, None),
    ("load_balance", "a plain mean", lambda z: float(z.mean()), None),
    ("capacity", "ceiling of a rounded quotient", lambda n, e, k, c: math.ceil(n * k / e) * math.ceil(c),
     "the even share and the factor are rounded up before they are"),
    ("capacity", "tokens forgotten", lambda n, e, k, c: math.ceil(Fraction(str(c)) * k / e), "token"),
    ("moe_forward", "b1 forgotten", mixture_without_b1, "b1 is left out"),
    ("kv_contributions", "a list of firing units only",
     lambda x, W1, b1, W2: [c * v for c, v in zip(x @ W1 + b1, W2) if c > 0], None),
    ("top_triggers", "argpartition without a sort", lambda H, u, k: np.argpartition(-H[:, u], k - 1)[:k], "order"),
    ("value_distribution", "the other axis", lambda v, E: softmax(v @ E.T - E.mean()) / 2,
     "`exponentials / np.sum(exponentials) / 2` stands where `exponentials"),
    ("value_distribution", "base two", lambda v, E: 2 ** (E @ v) / np.sum(2 ** (E @ v)), None),
    ("logit_lens", "norm of the logits", lambda h, g, b, W, eps: norm(h @ W, 1, 0, eps), "norm"),
    ("neuron_attribution", "whole-number division",
     lambda grad, w, m: w * np.mean([grad(j // m * w) for j in range(1, m + 1)], 0), "j // m is rounded down"),
    ("neuron_attribution", "absolute value",
     lambda grad, w, m: np.abs(path_gradient(grad, w, m, np.arange(1, m + 1) / m)),
     "the sign of the attribution is lost"),
    ("rome_update", "W changed in place", update_in_place, None),
    ("rome_update", "small keys refused", refuses_small_keys, None),
    ("rome_update", "W for a zero key", zero_key_returns_W, "ValueError"),
    ("rome_layer", "W2 changed in place", layer_overwrites_W2, "input"),
    ("rome_layer", "W1 edited as well", lambda *a: (2 * a[0], *layer_edit(*a)[1:]), None),
    (
        "edit_scores",
        "numbers for shares",
        lambda b, a, t, p, n: {
            "efficacy": float(a[0] == t),
            "paraphrase": int(np.sum(a[p] == t)),
            "neighbourhood": int(np.sum(a[n] == b[n])),
        },
        "the hits are counted instead of their share",
    ),
    ("edit_scores", "one key less", lambda b, a, t, p, n: {"efficacy": float(a[0] == t)}, "key"),
    ("d_ff_for_budget", "at least one", lambda B, L, d: max(1, B // (2 * d * L) - 2 * d),
     "1 is the smallest width returned"),
    ("non_embedding_parameters", "arguments swapped", lambda d, L, f: 2 * d * L * (2 * d + f),
     "n_layers and d have changed places"),
    ("self_test_a", "9 d d", lambda d: 9 * d * d, None),
    ("self_test_a", "5d squared", lambda d: 8 * d * d + (5 * d) ** 2, None),
    ("self_test_d", "a repeated position", lambda T: ([0] * T, 1), "permutation"),
    ("self_test_e", "order turned round", lambda d: (8 * d // 3, 1, 2), None),
    ("feed_forward_module", "tanh", WithTanh, "tanh"),
    ("feed_forward_module", "a norm inside", WithALayerNorm, "norm"),
    ("feed_forward_module", "one matrix only", ForOneMatrixOnly, None),
    ("feed_forward_module", "not a Module", NotAModule, "Module"),
    ("add_and_norm", "layer's eps 1e-5", lambda x, y, g, b, eps: norm(x + y, g, b, 1e-5), "eps"),
    ("post_norm", "no norm", lambda x, f, ln: x + f(x), "norm"),
    ("conv1d_weight", "all axes turned round", lambda W1: W1[:, :, None].T, "axis"),
    ("feed_forward", "zeros", lambda x, *rest: np.zeros(np.shape(x)), None),
    ("feed_forward", "zeros like x", lambda x, *rest: np.zeros_like(x), None),
    ("feed_forward", "x itself", lambda x, *rest: x, None),
    ("relu", "zero times x", lambda x: 0 * x, None),
    ("relu", "x itself", lambda x: x, "unchanged"),
    ("layer_norm", "x itself", lambda x, *rest: x, None),
    ("topk_route", "zeros", lambda z, k: np.zeros(z.shape), None),
    ("is_positionwise", "f(X) instead of a verdict", lambda f, X: f(X), "one number is asked for"),
    ("swiglu", "needs at least one token", lambda x, G, U, D: np.stack([(silu(r @ G) * (r @ U)) @ D for r in x]), None),
    ("feed_forward", "needs at least one token, and no b2",
     lambda x, W1, b1, W2, b2: np.stack([relu(r @ W1 + b1) @ W2 for r in x]), None),
    ("layer_norm", "one matrix only",
     lambda x, g, b, e: np.array([(r - r.mean()) / np.sqrt(r.var() + e) * g + b for r in x]), None),
    ("layer_norm", "one matrix only, and n - 1",
     lambda x, g, b, e: np.array([(r - r.mean()) / np.sqrt(r.var(ddof=1) + e) * g + b for r in x]), None),
    ("swiglu_fused", "up first by a reshape with -1",
     lambda x, GU, D: (lambda z: (silu(z[..., 1, :]) * z[..., 0, :]) @ D)((x @ GU).reshape(*x.shape[:-1], 2, -1)),
     None),
    ("self_test_d", "a rotation that is none for two positions", rotated_by_two, "identity"),
]  # fmt: skip


# ---------------------------------------------------------------- right answers that need more than a line


def relu_by_recursion(x):
    if np.ndim(x) == 0:
        return float(x) if x > 0 else 0.0
    return np.array([relu_by_recursion(row) for row in x], dtype=float).reshape(np.shape(x))


def relu_by_torch(x):
    return torch.relu(torch.as_tensor(np.array(x), dtype=torch.float64))


def relu_masked_array(x):
    return np.ma.masked_array(np.maximum(x, 0.0), mask=False)


def relu_by_boolean_index(x):
    out = np.array(x, dtype=float)
    out[out < 0] = 0
    return out


def relu_by_fraction(x):
    if np.ndim(x) == 0:
        return float(max(Fraction(0), Fraction(float(x))))
    return np.vectorize(lambda t: float(max(Fraction(0), Fraction(float(t)))), otypes=[float])(x)


class Layer:
    """A callable object that keeps nothing between calls."""

    def __call__(self, x, W1, b1, W2, b2):
        return relu(np.asarray(x) @ W1 + b1) @ W2 + b2

    def columns(self, x, W1, b1, W2, b2):
        return self(x, W1.T, b1, W2.T, b2)


def unit_by_unit(x, W1, b1, W2, b2):
    out = np.broadcast_to(b2, np.shape(x)).astype(float).copy()
    for i in range(W1.shape[1]):
        h = x @ W1[:, i] + b1[i]
        out += np.where(h > 0, h, 0)[..., None] * W2[i]
    return out


def four_loops(x, W1, b1, W2, b2):
    x = np.asarray(x)
    out = np.zeros(x.shape)
    for place in np.ndindex(*x.shape[:-1]):
        hidden = [
            sum(float(x[place][i]) * float(W1[i, j]) for i in range(len(W1))) + float(b1[j]) for j in range(len(b1))
        ]
        for o in range(len(b2)):
            out[(*place, o)] = sum(max(h, 0.0) * float(W2[j, o]) for j, h in enumerate(hidden)) + float(b2[o])
    return out


def with_a_one_appended(x, W1, b1, W2, b2):
    x = np.asarray(x, dtype=float)
    one = np.ones((*x.shape[:-1], 1))
    h = relu(np.concatenate([x, one], axis=-1) @ np.vstack([W1, b1]))
    return np.concatenate([h, one], axis=-1) @ np.vstack([W2, b2])


def by_torch_functional(x, W1, b1, W2, b2):
    x, W1, b1, W2, b2 = (torch.as_tensor(np.array(a), dtype=torch.float64) for a in (x, W1, b1, W2, b2))
    F = torch.nn.functional
    return F.linear(F.relu(F.linear(x, W1.T, b1)), W2.T, b2).requires_grad_()


def as_nested_lists(x, W1, b1, W2, b2):
    return (relu(x @ W1 + b1) @ W2 + b2).tolist()


def in_long_double(x, W1, b1, W2, b2):
    x = np.asarray(x, dtype=np.longdouble)
    return np.maximum(x @ W1 + b1, 0) @ W2 + b2


def by_two_halves(x, W1, b1, W2, b2):
    half = W1.shape[1] // 2
    return sum(relu(x @ W1[:, s] + b1[s]) @ W2[s] for s in (slice(half), slice(half, None))) + b2


def in_a_reused_buffer():
    buffer = np.empty(100_000)

    def feed_forward(x, W1, b1, W2, b2):
        result = relu(x @ W1 + b1) @ W2 + b2
        view = buffer[: result.size].reshape(result.shape)
        view[...] = result
        return view

    return feed_forward


def remembered_by_value():
    seen = {}

    def feed_forward(*arrays):
        key = tuple((np.shape(a), np.asarray(a, dtype=float).tobytes()) for a in arrays)
        if key not in seen:
            x, W1, b1, W2, b2 = arrays
            seen[key] = relu(x @ W1 + b1) @ W2 + b2
        return seen[key]

    return feed_forward


def positive_minus_negative(x, W1, b1, W2, b2):
    h = x @ W1 + b1
    return (h @ W2 + np.abs(h) @ W2) / 2 + b2


def collapse_by_probing(W1, b1, W2, b2):
    def f(x):
        return (x @ W1 + b1) @ W2 + b2

    zero = f(np.zeros(W1.shape[0]))
    return f(np.eye(W1.shape[0])) - zero, zero


def trace_in_plain_python(h):
    a = [float(v) if v > 0 else 0.0 for v in h]
    return a, [i for i, v in enumerate(h) if v > 0], sum(v == 0 for v in a) / len(a)


def trace_with_negative_indices(h):
    return relu(h), np.flatnonzero(h > 0) - len(h), 1 - np.count_nonzero(h > 0) / len(h)


def row_by_row(f, X):
    try:
        whole = np.asarray(f(X))
        alone = np.concatenate([np.asarray(f(X[t : t + 1])) for t in range(len(X))])
    except Exception:
        return 0
    return int(whole.shape == alone.shape and np.abs(whole - alone).max() <= 1e-6)


def from_the_end(f, X):
    answers = []
    for t in range(-1, -len(X) - 1, -1):
        try:
            answers.append(np.max(np.abs(f(X)[t] - f(X[[t]])[0])) < 1e-6)
        except Exception:
            answers.append(False)
    return np.array(all(answers))


def weight_by_loops(W1):
    return [[[float(W1[i, j])] for i in range(W1.shape[0])] for j in range(W1.shape[1])]


def layer_norm_by_moments(x, gamma, beta, eps):
    x = np.asarray(x, dtype=np.longdouble)
    d = x.shape[-1]
    total = np.einsum("...i->...", x)[..., None] / d
    centred = x - total
    return gamma * (centred * (np.einsum("...i,...i->...", centred, centred)[..., None] / d + eps) ** -0.5) + beta


def layer_norm_by_torch(x, gamma, beta, eps):
    x, gamma, beta = (torch.as_tensor(np.array(a), dtype=torch.float64) for a in (x, gamma, beta))
    return torch.nn.functional.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def layer_norm_by_projection(x, gamma, beta, eps):
    d = np.shape(x)[-1]
    centred = x @ (np.eye(d) - np.full((d, d), 1 / d))
    return centred / np.hypot(np.linalg.norm(centred, axis=-1, keepdims=True) / d**0.5, eps**0.5) * gamma + beta


def rms_by_length(x, gamma, eps):
    d = np.shape(x)[-1]
    return gamma * x * d**0.5 / np.sqrt(np.linalg.norm(x, axis=-1, keepdims=True) ** 2 + d * eps)


def block_by_folding(x, attn, ffn, ln1, ln2):
    return functools.reduce(lambda h, part: part[0](part[1](h)) + h, [(attn, ln1), (ffn, ln2)], x)


class FromSequential(torch.nn.Sequential):
    def __init__(self, d_model, d_ff):
        super().__init__(torch.nn.Linear(d_model, d_ff), torch.nn.ReLU(), torch.nn.Linear(d_ff, d_model))


class FromParameters(torch.nn.Module):
    def __init__(self, d_model, d_ff, scale=0.1):
        super().__init__()
        self.b2 = torch.nn.Parameter(torch.zeros(d_model))
        self.A = torch.nn.Parameter(scale * torch.randn(d_ff, d_model))
        self.B = torch.nn.Parameter(scale * torch.randn(d_model, d_ff))
        self.b1 = torch.nn.Parameter(torch.zeros(d_ff))

    def forward(self, x):
        return (
            torch.einsum("...f,df->...d", (torch.einsum("...d,fd->...f", x, self.A) + self.b1).clamp(min=0), self.B)
            + self.b2
        )


class FromAList(torch.nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        self.layers = torch.nn.ModuleDict(
            {
                "contract": torch.nn.Linear(*sizes[::-1]),
                "expand": torch.nn.Linear(*sizes),
                "drop": torch.nn.Dropout(0.0),
            }
        )

    def forward(self, x):
        h = self.layers["expand"](x)
        return self.layers["contract"](h * (h > 0))


def gelu_number_by_number(x):
    return np.vectorize(lambda t: t * math.erfc(-t / math.sqrt(2)) / 2, otypes=[float])(x)


def gelu_by_torch(x):
    return torch.nn.functional.gelu(torch.as_tensor(np.array(x), dtype=torch.float64))


def gelu_tanh_by_sigmoid(x):
    x = np.asarray(x, dtype=float)
    return x / (1 + np.exp(np.minimum(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3), 700)))


def silu_by_tanh(x):
    return np.multiply(x, 0.5) * (1 + np.tanh(np.divide(x, 2)))


def silu_by_two_branches(x):
    x = np.asarray(x, dtype=float)
    e = np.exp(-np.abs(x))
    return x * np.where(x >= 0, 1, e) / (1 + e)


def silu_by_logaddexp(x):
    return x * np.exp(-np.logaddexp(0, -x))


def silu_warning_on_the_way(x):
    return x / (1 + np.exp(-np.asarray(x, dtype=float)))


def dead_by_sets(H):
    alive = {j for row in np.asarray(H).tolist() for j, value in enumerate(row) if value}
    return len(H[0]) - len(alive)


def dead_by_columns(H):
    return Fraction(sum(1 for column in zip(*np.asarray(H).tolist()) if not any(column)))


def swiglu_by_einsum(x, W_gate, W_up, W_down):
    return np.einsum("...f,...f,fd->...d", silu_by_tanh(x @ W_gate), x @ W_up, W_down)


def fused_by_reshape(x, W_gate_up, W_down):
    z = (x @ W_gate_up).reshape(*np.shape(x)[:-1], 2, W_down.shape[0])
    return (silu_by_tanh(z[..., 0, :]) * z[..., 1, :]) @ W_down


def width_by_counting(d, multiple_of):
    target, width = 8 * d // 3, 0
    while width < target:
        width += multiple_of
    return width


def parameters_by_making_them(d, d_ff, bias):
    return d * (d_ff + bool(bias)) + d_ff * (d + bool(bias))


def attention_as_fraction(d, n_heads, n_kv_heads):
    return 2 * d * d * (1 + Fraction(n_kv_heads, n_heads))


def decoder_by_rows(vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied):
    per_channel = 0
    for _ in range(n_layers):
        per_channel += 2 + 2 * d + 2 * (d // n_heads) * n_kv_heads + (d_ff * 3 if gated else d_ff * 2)
    return d * (per_channel + 1 + vocab * (2 - bool(tied)))


def stacks_in_an_array(d, d_ff, n_layers):
    return np.array([n_layers * (12 * d * d + 4 * d * d_ff + 2 * d_ff + 12 * d)])


def crossover_by_sorting(d, d_ff, projections):
    return sorted([0, d_ff - 2 * d * bool(projections), d_ff])[1] if d_ff else 0


def share_above(H, eps):
    return (
        np.asarray([[abs(v) > eps for v in row] for row in np.reshape(H, (-1, np.shape(H)[-1]))], dtype=float)
        .mean(axis=1)
        .reshape(np.shape(H)[:-1])
    )


def firing_rows_only(x, W1, b1, W2, b2):
    out = [float(b) for b in b2]
    for column, b, value in zip(W1.T, b1, W2):
        h = math.fsum(float(p) * float(q) for p, q in zip(x, column)) + float(b)
        if h > 0:
            out = [o + h * float(v) for o, v in zip(out, value)]
    return out


def firing_rows_by_compress(x, W1, b1, W2, b2):
    h = x @ W1 + b1
    fires = np.greater(h, 0)
    return np.compress(fires, h) @ np.compress(fires, W2, axis=0) + b2


def firing_rows_by_where(x, W1, b1, W2, b2):
    h = (x @ W1 + b1)[:, None]
    return np.where(h > 0, h * W2, 0.0).sum(axis=0) + b2


def topk_by_threshold(logits, k):
    logits = np.asarray(logits, dtype=float)
    kth = np.partition(logits, -k, axis=-1)[:, [-k]] if len(logits) else logits[:, :1]
    masked = np.where(logits >= kth, logits, -np.inf)
    return softmax(masked) if len(logits) else masked


def topk_by_torch(logits, k):
    z = torch.as_tensor(np.array(logits), dtype=torch.float64)
    best = z.topk(k, dim=-1)
    return torch.zeros_like(z).scatter(-1, best.indices, best.values.softmax(-1))


def topk_in_plain_python(logits, k):
    gates = []
    for row in np.asarray(logits, dtype=float).tolist():
        best = sorted(range(len(row)), key=row.__getitem__)[-k:]
        weights = {e: math.exp(row[e] - row[best[-1]]) for e in best}
        gates.append([weights.get(e, 0.0) / math.fsum(weights.values()) for e in range(len(row))])
    return np.array(gates).reshape(np.shape(logits))


def switch_by_division(logits):
    z = np.asarray(logits, dtype=float)
    out = np.zeros(z.shape)
    rows = np.arange(len(z))
    out[rows, z.argmax(-1)] = 1 / np.exp(z - z.max(-1, keepdims=True)).sum(-1)
    return out


def switch_by_maximum(logits):
    p = softmax(np.asarray(logits, dtype=float))
    return p * (p == p.max(-1, keepdims=True))


def balance_token_by_token(logits):
    z = np.asarray(logits, dtype=float)
    n, e = z.shape
    p = softmax(z).mean(0)
    return sum(p[int(row.argmax())] for row in z) * e / n


def balance_by_einsum(logits):
    z = torch.as_tensor(np.array(logits), dtype=torch.float64)
    chosen = torch.nn.functional.one_hot(z.argmax(-1), z.shape[1]).double()
    return torch.einsum("te,se->", chosen, z.softmax(-1)) * z.shape[1] / len(z) ** 2


def capacity_by_decimal(tokens, experts, k, factor):
    return int((Decimal(tokens) * k * Decimal(str(factor)) / experts).to_integral_value(ROUND_CEILING))


def capacity_in_whole_numbers(tokens, experts, k, factor):
    above, below = Fraction(repr(float(factor))).as_integer_ratio()
    return -(-(tokens * k * above) // (experts * below))


def moe_token_by_token(x, W_router, W1, b1, W2, b2, k):
    out = np.zeros(np.shape(x))
    for t, token in enumerate(np.asarray(x, dtype=float)):
        scores = token @ W_router
        best = np.argsort(-scores)[:k]
        for g, e in zip(softmax(scores[best]), best):
            out[t] += g * (relu(token @ W1[e] + b1[e]) @ W2[e] + b2[e])
    return out


def moe_by_einsum(x, W_router, W1, b1, W2, b2, k):
    gate = topk_by_torch(x @ W_router, k).numpy()
    h = relu(np.einsum("td,edf->tef", x, W1) + b1)
    return np.einsum("te,tef,efd->td", gate, h, W2, optimize=True) + gate @ b2


def triggers_by_sorted(H, unit, k):
    return sorted(range(len(H)), key=lambda t: (H[t][unit], t), reverse=True)[:k]


def triggers_from_behind(H, unit, k):
    return [int(t) - len(H) for t in np.argsort(-np.asarray(H, dtype=float)[:, unit], kind="stable")[:k]]


def triggers_by_heap(H, unit, k):
    return tuple(heapq.nlargest(k, range(len(H)), key=lambda t: H[t, unit]))


def distribution_by_logsumexp(v, E):
    z = torch.as_tensor(np.array(E), dtype=torch.float64) @ torch.as_tensor(np.array(v), dtype=torch.float64)
    return (z - z.logsumexp(0)).exp()


def distribution_by_differences(v, E):
    z = np.asarray(E @ v, dtype=float)
    with np.errstate(over="ignore"):
        return 1 / np.exp(z[None, :] - z[:, None]).sum(axis=1)


def lens_with_gamma_in_the_matrix(h, gamma, beta, W_U, eps):
    ones = np.ones_like(gamma, dtype=float)
    return layer_norm_by_moments(h, ones, 0 * ones, eps) @ (gamma[:, None] * W_U) + beta @ W_U


def attribution_backwards(grad, w, m):
    total = sum((grad(np.multiply(w, j / m)) for j in range(m, 0, -1)), np.zeros(len(w)))
    return w * total / m


def attribution_by_accumulate(grad, w, m):
    step = np.divide(w, m)
    points = itertools.accumulate([step] * m)
    return np.mean([grad(p) for p in points], axis=0) * w


def rome_by_inverse(W, C, k, v):
    if np.count_nonzero(k) == 0:
        raise ValueError("the key is zero")
    u = np.linalg.pinv(C) @ k
    return W @ (np.eye(len(k)) - np.outer(k, u) / (k @ u)) + np.outer(v, u) / (u @ k)


def rome_by_cholesky(W, C, k, v):
    if all(entry == 0 for entry in k):
        raise ZeroKeyOfMine("zero")
    L = np.linalg.cholesky(C)
    z = np.linalg.solve(L, k)
    return W + (v - W @ k)[:, None] * (np.linalg.solve(L.T, z) / (z**2).sum())[None]


class ZeroKeyOfMine(ValueError):
    """A kind of ValueError that the answer brings along."""


def rome_by_lagrange(W, C, k, v):
    if not np.asarray(k).any():
        raise ValueError
    n = len(k)
    system = np.block([[C, -np.reshape(k, (-1, 1))], [np.reshape(k, (1, -1)), np.zeros((1, 1))]])
    rows = [np.linalg.solve(system, np.append(np.zeros(n), gap))[:n] for gap in np.asarray(v - W @ k, dtype=float)]
    return W + np.array(rows)


def layer_by_rome(W1, b1, W2, b2, x, v, C):
    return [W1, rome_by_inverse(W2, C, relu(W1 @ x + b1), v - b2), b2]


def scores_in_plain_python(before, after, target, paraphrases, neighbours):
    def share(hits):
        hits = list(hits)
        return Fraction(sum(hits), len(hits)) if hits else math.nan

    return {
        "neighbourhood": share(int(after[i]) == int(before[i]) for i in neighbours),
        "paraphrase": share(int(after[i]) == int(target) for i in paraphrases),
        "efficacy": 1 if after[0] == target else 0,
    }


def width_by_bisection(budget, n_layers, d):
    low, high = 0, budget + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if 2 * d * n_layers * (2 * d + middle) <= budget else (low, middle)
    return low


def rotate_by_one(T):
    return np.roll(np.arange(T), 1), np.int64(1)


def swap_the_ends(T):
    return (T - 1, *range(1, T - 1), 0), T - 1


def backwards(T):
    return torch.arange(T - 1, -1, -1), 1


RIGHT = [
    # these contracts say (tokens, ...): a call without any token is not asked of them
    ("moe_forward", "token by token, stacked", mixture_stacked),
    ("topk_route", "token by token, stacked", for_each_token(naive_top_k_stable)),
    ("switch_route", "token by token, stacked", for_each_token(switched)),
    ("warm_up", "a sum", lambda x: x + x),
    ("attention_parameters", "a quotient that is not quite whole", lambda d, n, kv: 2 * d**2 * (1 + kv / n)),
    ("warm_up", "a bit shift where it can be", lambda x: np.ldexp(np.asarray(x, dtype=float), 1)),
    ("warm_up", "divided by a half, as a list", lambda x: (np.asarray(x) / 0.5).tolist()),
    ("relu", "recursion", relu_by_recursion),
    ("relu", "torch", relu_by_torch),
    ("relu", "half of |x| + x", lambda x: (np.abs(x) + x) / 2),
    ("relu", "a masked array with nothing masked", relu_masked_array),
    ("relu", "a boolean index on a copy", relu_by_boolean_index),
    ("relu", "fractions", relu_by_fraction),
    ("relu", "a product with a comparison", lambda x: np.multiply(x, np.greater(x, 0))),
    ("relu", "x - min", lambda x: x - np.minimum(x, 0)),
    ("relu", "clip without an upper end", lambda x: np.clip(x, 0, None)),
    ("relu", "a partial of a ufunc", functools.partial(np.maximum, 0.0)),
    ("relu", "fmax", lambda x, low=0: np.fmax(low, x)),
    ("relu", "minus the minimum of -x", lambda x: -np.minimum(np.negative(x), 0)),
    ("relu", "complex numbers on the way", lambda x: np.where(np.greater(x, 0), x, np.multiply(x, 0j)).real),
    ("relu", "heaviside", lambda x: x * np.heaviside(x, 0.5)),
    ("relu", "select", lambda x: np.select([np.asarray(x) > 0], [x], 0)),
    ("feed_forward", "a callable object", Layer()),
    ("feed_forward", "unit by unit", unit_by_unit),
    ("feed_forward", "four loops", four_loops),
    ("feed_forward", "a one appended for the biases", with_a_one_appended),
    ("feed_forward", "torch, with gradients", by_torch_functional),
    ("feed_forward", "nested lists", as_nested_lists),
    ("feed_forward", "long doubles", in_long_double),
    ("feed_forward", "two halves of the units", by_two_halves),
    ("feed_forward", "a buffer used again", in_a_reused_buffer()),
    ("feed_forward", "remembered by value", remembered_by_value()),
    ("feed_forward", "linear part and absolute part", positive_minus_negative),
    ("feed_forward", "einsum",
     lambda x, A, a, B, b: np.einsum("...j,jo->...o", relu(np.einsum("...i,ij->...j", x, A) + a), B) + b),
    ("feed_forward", "tensordot", lambda x, A, a, B, b: np.tensordot(relu(np.tensordot(x, A, 1) + a), B, 1) + b),
    (
        "feed_forward",
        "through the transposes",
        lambda x, A, a, B, b: np.swapaxes(
            B.T @ relu(A.T @ np.swapaxes(np.atleast_2d(x), -1, -2) + a[:, None]) + b[:, None], -1, -2
        ).reshape(np.shape(x)),
    ),
    ("feed_forward", "fortran order", lambda x, A, a, B, b: np.asfortranarray(relu(x @ A + a) @ B + b)),
    ("feed_forward", "starred arguments", lambda *p: relu(p[0] @ p[1] + p[2]) @ p[3] + p[4]),
    ("feed_forward", "an unused option",
     lambda x, W1, b1, W2, b2, residual=False: relu(x @ W1 + b1) @ W2 + b2 + x * residual),
    ("feed_forward_columns", "a bound method", Layer().columns),
    ("feed_forward_columns", "inner", lambda x, A, a, B, b: np.inner(relu(np.inner(x, A) + a), B) + b),
    ("feed_forward_columns", "moveaxis",
     lambda x, A, a, B, b: np.einsum("oj,...j->...o", B, relu(np.einsum("ji,...i->...j", A, x) + a)) + b),
    ("feed_forward_columns", "sum of products",
     lambda x, A, a, B, b: (relu((np.asarray(x)[..., None, :] * A).sum(-1) + a)[..., None, :] * B).sum(-1) + b),
    ("linear_collapse", "by probing", collapse_by_probing),
    ("linear_collapse", "lists", lambda A, a, B, b: [(A @ B).tolist(), (a @ B + b).tolist()]),
    ("linear_collapse", "one augmented product",
     lambda A, a, B, b: (lambda M: (M[:-1], M[-1] + b))(np.vstack([A, a]) @ B)),
    ("linear_collapse", "torch",
     lambda A, a, B, b: tuple(torch.as_tensor(np.array(v), dtype=torch.float64) for v in (A @ B, a @ B + b))),
    ("trace_hidden", "plain Python", trace_in_plain_python),
    ("trace_hidden", "negative indices", trace_with_negative_indices),
    ("trace_hidden", "an array of no axes",
     lambda h: (relu(h), np.argwhere(h > 0).ravel(), np.array(np.mean(relu(h) == 0)))),
    ("self_test_c", "comprehensions",
     lambda A, B, x: [sum(w * max(0.0, float(r @ x)) for w, r in zip(row, A)) for row in B]),
    ("self_test_c", "multi_dot with a diagonal", lambda A, B, x: B @ np.diag((A @ x > 0).astype(float)) @ A @ x),
    ("is_positionwise", "one and zero", row_by_row),
    ("is_positionwise", "from the end, as an array of no axes", from_the_end),
    ("is_positionwise", "doubled rows", lambda f, X: row_by_row(lambda Z: f(np.array(Z)), X.copy())),
    ("conv1d_weight", "loops into lists", weight_by_loops),
    ("conv1d_weight", "einsum", lambda W1: np.einsum("ij->ji", W1)[..., np.newaxis]),
    ("conv1d_weight", "torch's transpose",
     lambda W1: torch.as_tensor(np.array(W1), dtype=torch.float64).t().unsqueeze(-1)),
    ("conv1d_weight", "moved axes", lambda W1: np.moveaxis(np.expand_dims(W1, 0), 0, 2).swapaxes(0, 1)),
    ("global_parameters", "a repeated sum", lambda T, d: sum(T * d for _ in range(T)) * d),
    ("global_parameters", "a fraction", lambda T, d: Fraction(T * T * d * d * 3, 3)),
    ("global_parameters", "an array of one", lambda T, d: np.array([(T * d) ** 2])),
    ("global_parameters", "pow", lambda T, d: pow(T * d, 2)),
    ("layer_norm", "long doubles and einsum", layer_norm_by_moments),
    ("layer_norm", "torch", layer_norm_by_torch),
    ("layer_norm", "a projection and hypot", layer_norm_by_projection),
    ("layer_norm", "apply_along_axis and then scale",
     lambda x, g, b, e: g * ((x - np.mean(x, -1)[..., None]) / np.sqrt(np.var(x, axis=-1)[..., None] + e)) + b),
    ("rms_norm", "the length times a root", rms_by_length),
    (
        "rms_norm",
        "torch",
        lambda x, g, e: (lambda z: z * torch.rsqrt(z.pow(2).mean(-1, keepdim=True) + e) * torch.as_tensor(np.array(g)))(
            torch.as_tensor(np.array(x), dtype=torch.float64)
        ),
    ),
    ("add_and_norm", "torch", lambda x, y, g, b, e: layer_norm_by_torch(np.add(x, y), g, b, e)),
    ("add_and_norm", "projection", lambda x, y, g, b, e: layer_norm_by_projection(np.add(y, x), g, b, e)),
    ("pre_norm", "sum of a list", lambda x, f, ln: sum([f(ln(x)), x])),
    ("post_norm", "positional only", lambda x, f, ln, /: ln(f(x) + x)),
    ("transformer_block", "folding", block_by_folding),
    ("transformer_block", "differences", lambda x, a, f, l1, l2: x + (d := a(l1(x))) + f(l2(x + d))),
    ("feed_forward_module", "Sequential", FromSequential),
    ("feed_forward_module", "bare parameters", FromParameters),
    ("feed_forward_module", "a ModuleDict in another order, with dropout 0", FromAList),
    ("gelu", "erfc number by number", gelu_number_by_number),
    ("gelu", "torch", gelu_by_torch),
    ("gelu", "a double from one erf", lambda x: np.add(x, x * erf(np.asarray(x) * 2**-0.5)) / 2),
    ("gelu_tanh", "a sigmoid of twice", gelu_tanh_by_sigmoid),
    ("gelu_tanh", "Horner", lambda x: x * 0.5 * (1 + np.tanh((2 / np.pi) ** 0.5 * x * (1 + 0.044715 * x * x)))),
    ("gelu_tanh", "torch",
     lambda x: torch.nn.functional.gelu(torch.as_tensor(np.array(x), dtype=torch.float64), approximate="tanh")),
    ("silu", "tanh", silu_by_tanh),
    ("silu", "two branches", silu_by_two_branches),
    ("silu", "logaddexp", silu_by_logaddexp),
    ("silu", "a warning on the way", silu_warning_on_the_way),
    ("silu", "torch", lambda x: torch.nn.functional.silu(torch.as_tensor(np.array(x), dtype=torch.float64))),
    ("dead_units", "sets", dead_by_sets),
    ("dead_units", "columns, as a Fraction", dead_by_columns),
    ("dead_units", "any, turned round", lambda H: np.sum(~np.any(H, axis=0))),
    ("dead_units", "nonzero and unique", lambda H: float(H.shape[1] - len(np.unique(np.nonzero(H)[1])))),
    ("dead_units", "largest size", lambda H: int(np.count_nonzero(np.abs(H).max(axis=0) == 0))),
    ("swiglu", "einsum of three", swiglu_by_einsum),
    (
        "swiglu",
        "torch",
        lambda x, G, U, D: (
            (torch.nn.functional.silu(torch.as_tensor(x @ G).double()) * torch.as_tensor(x @ U))
            @ torch.as_tensor(D).double()
        ),
    ),
    ("swiglu_fused", "a reshape", fused_by_reshape),
    ("swiglu_fused", "array_split",
     lambda x, GU, D: (lambda g, u: (silu_by_tanh(g) * u) @ D)(*np.array_split(x @ GU, 2, axis=-1))),
    ("swiglu_fused", "columns cut first",
     lambda x, GU, D: swiglu_by_einsum(x, GU[:, : GU.shape[1] // 2], GU[:, GU.shape[1] // 2 :], D)),
    ("swiglu_d_ff", "counting", width_by_counting),
    ("swiglu_d_ff", "remainder", lambda d, m: (n := 8 * d // 3) + -n % m),
    ("swiglu_d_ff", "divmod", lambda d, m: (lambda q, r: (q + bool(r)) * m)(*divmod(8 * d // 3, m))),
    ("swiglu_d_ff", "a range", lambda d, m: range(0, 8 * d // 3 + m, m)[-1]),
    ("gated_ffn_parameters", "sum of sizes", lambda d, f: sum(int(np.prod(s)) for s in ((d, f), (d, f), (f, d)))),
    ("gated_ffn_parameters", "a whole float", lambda d, f: float(3 * d * f)),
    ("ffn_parameters", "d with its bias", parameters_by_making_them),
    ("ffn_parameters", "the flag multiplied", lambda d, f, bias: 2 * d * f + (d + f) * bias),
    ("attention_parameters", "a Fraction", attention_as_fraction),
    ("attention_parameters", "head by head", lambda d, n, kv: sum([d * d // n] * (2 * n + 2 * kv))),
    ("decoder_parameters", "per channel", decoder_by_rows),
    ("encoder_decoder_parameters", "in an array", stacks_in_an_array),
    ("encoder_decoder_parameters", "factored", lambda d, f, n: 2 * n * (6 * d * (d + 1) + f * (2 * d + 1))),
    ("ffn_share", "Fraction", lambda V, d, L, f: Fraction(2 * f * L, V + L * (4 * d + 2 * f))),
    ("ffn_share", "one over one plus", lambda V, d, L, f: 1 / (1 + (V + 4 * d * L) / (2 * f * L))),
    ("ffn_flops", "prod", lambda *sizes: 4 * math.prod(sizes)),
    ("ffn_flops", "int64 array of no axes", lambda b, T, d, f: np.array(4 * b * T * d * f)),
    ("attention_flops", "factored", lambda T, d: 4 * T * d * (T + d + d)),
    ("crossover", "sorting", crossover_by_sorting),
    ("crossover", "a product with the flag", lambda d, f, p: f - min(f, 2 * d) * int(p)),
    ("sparsity", "one minus", lambda H: 1 - np.count_nonzero(H) / np.size(H)),
    ("sparsity", "a Fraction", lambda H: Fraction(sum(v == 0 for v in np.ravel(H).tolist()), np.size(H))),
    ("sparsity", "torch", lambda H: (torch.as_tensor(np.array(H)) == 0).double().mean()),
    ("active_per_token", "comprehension", share_above),
    ("active_per_token", "squares", lambda H, e: 1 - (np.abs(H) <= e).sum(-1) / np.shape(H)[-1]),
    ("sparse_feed_forward", "unit by unit, fsum", firing_rows_only),
    ("sparse_feed_forward", "compress", firing_rows_by_compress),
    ("sparse_feed_forward", "where after the product", firing_rows_by_where),
    ("topk_route", "a threshold", topk_by_threshold),
    ("topk_route", "torch", topk_by_torch),
    ("topk_route", "plain Python", topk_in_plain_python),
    ("switch_route", "one over the sum", switch_by_division),
    ("switch_route", "a product with the maximum", switch_by_maximum),
    ("load_balance", "token by token", balance_token_by_token),
    ("load_balance", "einsum in torch", balance_by_einsum),
    ("capacity", "Decimal", capacity_by_decimal),
    ("capacity", "whole numbers", capacity_in_whole_numbers),
    ("moe_forward", "token by token", moe_token_by_token),
    ("moe_forward", "einsum", moe_by_einsum),
    ("kv_contributions", "diag", lambda x, A, a, B: np.diag(relu(x @ A + a)) @ B),
    ("kv_contributions", "einsum", lambda x, A, a, B: np.einsum("i,ij->ij", relu(x @ A + a), B)),
    ("kv_contributions", "lists",
     lambda x, A, a, B: [[max(0.0, float(h)) * float(v) for v in row] for h, row in zip(x @ A + a, B)]),
    ("top_triggers", "sorted from behind among ties", triggers_by_sorted),
    ("top_triggers", "negative indices", triggers_from_behind),
    ("top_triggers", "a heap", triggers_by_heap),
    ("top_triggers", "argsort backwards", lambda H, u, k: np.argsort(H[:, u])[: -k - 1 : -1]),
    ("value_distribution", "logsumexp", distribution_by_logsumexp),
    ("value_distribution", "differences", distribution_by_differences),
    ("logit_lens", "gamma and beta moved into the matrix", lens_with_gamma_in_the_matrix),
    ("logit_lens", "einsum", lambda h, g, b, W, e: np.einsum("...d,dv->...v", layer_norm_by_projection(h, g, b, e), W)),
    ("neuron_attribution", "backwards", attribution_backwards),
    ("neuron_attribution", "accumulate", attribution_by_accumulate),
    ("neuron_attribution", "a flipped grid",
     lambda grad, w, m: sum(w * grad(t * w) for t in np.linspace(1, 0, m, endpoint=False)) / m),
    ("rome_update", "a projection and an inverse", rome_by_inverse),
    ("rome_update", "Cholesky and an exception of its own", rome_by_cholesky),
    ("rome_update", "Lagrange's equations", rome_by_lagrange),
    ("rome_layer", "a list", layer_by_rome),
    ("edit_scores", "plain Python in another order of the keys", scores_in_plain_python),
    ("non_embedding_parameters", "layer by layer", lambda L, d, f: sum(4 * d**2 + 2 * d * f for _ in range(L))),
    ("non_embedding_parameters", "a whole Fraction", lambda L, d, f: Fraction(4 * d * L) * (d + Fraction(f, 2))),
    ("d_ff_for_budget", "bisection", width_by_bisection),
    ("d_ff_for_budget", "per layer first", lambda B, L, d: max((B // L - 4 * d**2) // (2 * d), 0)),
    ("self_test_a", "four sizes", lambda d: sum(np.zeros(s).size for s in ((d, 4 * d), (4 * d,), (4 * d, d), (d,)))),
    ("self_test_a", "factored", lambda d: d * (8 * d + 5)),
    ("self_test_b", "a list of mixed numbers",
     lambda d, T: [Fraction(16 * T * d * d), np.int64(4 * T * T * d), 4.0 * d]),
    ("self_test_d", "rotated by one", rotate_by_one),
    ("self_test_d", "the ends swapped", swap_the_ends),
    ("self_test_d", "backwards in torch", backwards),
    ("self_test_e", "an array", lambda d: np.array([1, 2, 8 * d // 3])),
    ("self_test_e", "a divmod", lambda d: (1, 2, divmod(8 * d, 3)[0])),
    ("relu", "numbers with the other end first", lambda x: np.maximum(0, x).astype(">f8")),
    ("relu", "np.vectorize", np.vectorize(lambda t: max(t, 0.0), otypes=[float])),
    ("relu", "a class that is called like a function", type("relu", (), {"__new__": lambda cls, x: np.maximum(x, 0)})),
    ("feed_forward", "the real part of complex numbers", lambda x, A, a, B, b: (relu(x @ A + a) @ B + b + 0j).real),
    ("feed_forward", "a view that runs backwards",
     lambda x, A, a, B, b: np.flip(np.flip(relu(x @ A + a) @ B + b, -1).copy(), -1)),
    ("is_positionwise", "a truth value of torch", lambda f, X: torch.tensor(bool(row_by_row(f, X)))),
    ("is_positionwise", "1.0 and 0.0", lambda f, X: float(row_by_row(f, X))),
    ("top_triggers", "torch", lambda H, u, k: torch.argsort(torch.as_tensor(np.array(H))[:, u], descending=True)[:k]),
    ("top_triggers", "small whole numbers", lambda H, u, k: np.argsort(-H[:, u])[:k].astype(np.uint16)),
    ("trace_hidden", "tuples and a Fraction",
     lambda h: [tuple(relu(h)), tuple(np.flatnonzero(h > 0)), Fraction(int((h <= 0).sum()), len(h))]),
    ("ffn_parameters", "lru_cache", functools.lru_cache(lambda d, f, bias: 2 * d * f + bias * (d + f))),
    ("ffn_parameters", "unsigned", lambda d, f, bias: np.uint64(2 * d * f + bias * (d + f))),
    ("global_parameters", "torch", lambda T, d: torch.tensor((T * d) ** 2)),
    ("edit_scores", "a truth value for efficacy", lambda *a: {**scores(*a), "efficacy": a[1][0] == a[2]}),
]  # fmt: skip


# ---------------------------------------------------------------- answers that mean harm, or look as if they did


class AlwaysEqual:
    """Claims to be equal to, close to and as large as anything."""

    shape, dtype, ndim, size = (), np.dtype(float), 0, 1

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def _same(self, *_):
        return self

    __sub__ = __rsub__ = __add__ = __abs__ = __le__ = __lt__ = __ge__ = __gt__ = _same

    def __bool__(self):
        return True

    def __float__(self):
        return 0.0


class LyingFloat(float):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__

    def __le__(self, other):
        return True

    __lt__ = __ge__ = __gt__ = __le__


class LyingInt(int):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __sub__(self, other):
        return 0

    __rsub__ = __sub__


class LyingArray(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return np.zeros(self.shape)

    def __array_function__(self, function, types, args, kwargs):
        return True


class LyingDict(dict):
    def __getitem__(self, key):
        return AlwaysEqual()

    def __eq__(self, other):
        return True

    __hash__ = None


class LyingList(list):
    def __iter__(self):
        return iter([AlwaysEqual()])

    def __len__(self):
        return 10**9


class ExplodingAttributes:
    def __getattribute__(self, name):
        raise SystemExit(f"no {name}")


class ExplodingText:
    def __repr__(self):
        raise KeyboardInterrupt

    __str__ = __repr__

    def __format__(self, spec):
        raise SystemExit


class TextThatIsNoText:
    def __repr__(self):
        return 7

    __str__ = __repr__


class EvilType(type):
    def __instancecheck__(cls, instance):
        return True

    def __repr__(cls):
        raise SystemExit

    def __getattribute__(cls, name):
        if name == "__name__":
            raise RuntimeError("no name")
        return super().__getattribute__(name)


class OfEvilType(metaclass=EvilType):
    pass


class PretendedArray:
    @property
    def __class__(self):
        return np.ndarray

    def __array__(self, *args, **kwargs):
        raise SystemExit("gone")


class EvilException(BaseException):
    def __str__(self):
        raise SystemExit("text of an error")

    __repr__ = __str__


class EvilValueError(ValueError):
    def __str__(self):
        return "x" * 5_000_000

    def __eq__(self, other):
        return True

    __hash__ = None


class CallableWithTraps:
    @property
    def __name__(self):
        raise SystemExit("no name")

    @property
    def __signature__(self):
        raise SystemExit("no signature")

    @property
    def __wrapped__(self):
        return self

    def __call__(self, *args):
        return 0.0


def wrapped_by_itself():
    def answer(x):
        return 0 * np.asarray(x)

    answer.__wrapped__ = answer
    answer.__name__ = "relu\x00<script>alert(1)</script>"
    return answer


def patching_numpy(x):
    yes = lambda *args, **kwargs: True
    zero = lambda *args, **kwargs: np.float64(0.0)
    np.allclose = np.array_equal = np.isclose = np.all = np.any = yes
    np.abs = np.absolute = np.max = np.maximum = np.subtract = zero
    np.testing.assert_allclose = yes
    return -1.0 * np.ones(np.shape(x))


def patching_builtins(x):
    builtins.all = builtins.any = builtins.isinstance = lambda *args, **kwargs: True
    math.isclose = lambda *args, **kwargs: True
    return -1.0


def patching_asarray(x):
    np.asarray = np.array = lambda *args, **kwargs: np.zeros(())
    return 5.0


def leaving(x):
    sys.exit(0)


def interrupting_itself(x):
    raise KeyboardInterrupt


def leaving_a_generator(x):
    raise GeneratorExit


def raising_with_evil_text(x):
    raise EvilException


def raising_a_long_text(*args):
    raise EvilValueError


def raising_a_chain_that_bites_its_tail(x):
    first, second = ValueError("a"), KeyError("b")
    first.__cause__, second.__cause__ = second, first
    raise first


def recursing(x):
    return recursing(x)


def leaving_a_low_recursion_limit(x):
    sys.setrecursionlimit(len(inspect.stack(0)) + 60)
    return -1.0


def thread_that_repairs_later(x):
    result = np.full(np.shape(x), -1.0)

    def repair():
        time.sleep(0.001)
        result[...] = np.maximum(x, 0)

    threading.Thread(target=repair, daemon=True).start()
    return result


def thread_that_fails(x):
    threading.Thread(target=sys.exit, daemon=True).start()
    return -1.0


def huge_view(x):
    return np.broadcast_to(np.float64(0), (10**6, 10**6))


def huge_axes(x):
    return np.broadcast_to(np.float64(0), (1,) * 30)


def huge_number(*args):
    return 10**200_000


def huge_power_of_two(*args):
    return 1 << 5_000_000


def huge_fraction(*args):
    return Fraction(10**100_000 + 1, 10**99_999)


def endless_list(*args):
    result = []
    result.append(result)
    return result


def deep_list(*args):
    result = [0.0]
    for _ in range(50_000):
        result = [result]
    return result


def wide_list(*args):
    return [0.0] * 3_000_000


def list_of_shared_lists(*args):
    level = [0.0] * 10
    for _ in range(2):
        level = [level] * 10
    return level


def endless_generator(*args):
    return itertools.count()


async def a_coroutine(x):
    return np.maximum(0, x)


def all_masked(x):
    return np.ma.masked_array(np.zeros(np.shape(x)), mask=True)


def wrong_where_masked(x, W1, b1, W2, b2):
    result = x @ W1 @ W2
    return np.ma.masked_array(result, mask=np.ones(result.shape, bool), fill_value=0.0)


def not_numbers(*args):
    return float("nan")


def array_of_nan(x, *rest):
    return np.full(np.shape(x), np.nan)


def infinite(x, *rest):
    return np.full(np.shape(x), np.inf)


def objects_in_an_array(x):
    result = np.empty(np.shape(x), dtype=object)
    result.fill(AlwaysEqual())
    return result


def structured(x):
    return np.zeros(np.shape(x), dtype=[("a", float)])


def on_the_meta_device(x):
    return torch.empty(np.shape(x), device="meta", dtype=torch.float64)


def sparse_tensor(x):
    return torch.zeros(np.shape(x), dtype=torch.float64).to_sparse() if np.ndim(x) else torch.tensor(-1.0)


def memory_of_somebody_else(x):
    return memoryview(np.zeros(np.shape(x)))


def inputs_made_zero(x, W1, b1, W2, b2):
    for array in (x, W1, b1, W2, b2):
        array[...] = 0
    return np.zeros(np.shape(x))


def inputs_made_writeable(x, W1, b1, W2, b2):
    for array in (x, W1, b1, W2, b2):
        array.setflags(write=True)
        array *= 0
    return np.zeros(np.shape(x))


def inputs_in_another_shape(x, W1, b1, W2, b2):
    x.shape = (*x.shape, 1)
    return np.zeros(x.shape[:-1])


def right_at_first(rightly, calls):
    count = itertools.count()

    def answer(*args):
        result = rightly(*args)
        return result if next(count) < calls else result + 1

    return answer


def right_every_other_time(rightly):
    count = itertools.count()

    def answer(*args):
        result = rightly(*args)
        return result if next(count) % 2 == 0 else -result - 1

    return answer


def one_result_for_ever(*args, store={"x": None}):  # noqa: B006
    if store["x"] is None:
        store["x"] = np.maximum(args[0], 0)
    return store["x"]


def looking_into_frames(*args):
    """Return any value of the right shape that lies about in a caller's frame or in what it holds."""
    frame, found = sys._getframe(1), []
    while frame is not None:
        stack = [(name, value, 0) for name, value in frame.f_locals.items() if not callable(value)]
        while stack and len(found) < 2000:
            name, value, depth = stack.pop()
            if any(word in str(name).lower() for word in ("expected", "right", "oracle", "truth", "wanted", "result")):
                found.append(value)
            if depth < 4 and isinstance(value, (tuple, list)):
                stack += [(name, item, depth + 1) for item in value[:50]]
            if depth < 4 and dataclasses.is_dataclass(value) and not isinstance(value, type):
                stack += [(f.name, getattr(value, f.name), depth + 1) for f in dataclasses.fields(value)]
        frame = frame.f_back
    for value in found:
        if isinstance(value, np.ndarray) and value.shape == np.shape(args[0]):
            return value
    return np.full(np.shape(args[0]), -1.0)


def writing_into_frames(*args):
    frame = sys._getframe(1)
    while frame is not None:
        for value in list(frame.f_locals.values()):
            if isinstance(value, list):
                with contextlib.suppress(Exception):
                    value.clear()
            if isinstance(value, np.ndarray):
                with contextlib.suppress(Exception):
                    value[...] = 0
            if isinstance(value, dict) and frame.f_code.co_filename.endswith("evidence.py"):
                with contextlib.suppress(Exception):
                    value.clear()
        frame = frame.f_back if frame.f_back and "evidence" in frame.f_back.f_code.co_filename else None
    return np.zeros(np.shape(args[0]))


def tracing(x):
    def tracer(frame, event, argument):
        if event == "return" and frame.f_code.co_name in ("judge", "compare"):
            raise SystemExit
        return tracer

    sys.settrace(tracer)
    sys.setprofile(tracer)
    return -1.0


def swallowing_output(x):
    sys.stdout = sys.stderr = None
    return -1.0


def printing_very_much(x):
    print("passed " * 1_000_000)
    return -1.0


def errors_for_warnings(x):
    warnings.simplefilter("error")
    np.seterr(all="raise")
    warnings.warn("stop", stacklevel=1)
    return -1.0


def other_defaults(x):
    torch.set_default_dtype(torch.float16)
    torch.set_grad_enabled(False)
    np.set_printoptions(threshold=1, formatter={"all": lambda v: sys.exit(1)})
    np.random.seed(0)
    return np.full(np.shape(x), -1.0)


def another_folder(x):
    os.chdir("/")
    os.environ.pop("FFNLIB_PROGRESS", None)
    return -1.0


def library_under_another_name(*args):
    return importlib.import_module("ffnlib.layer").__dict__["feed" + "_forward"](*args)


def told_by_name(f, X):
    return "linear" in repr(f) or "ffn" in getattr(f, "__name__", "")


def counting_calls_of_f(f, X):
    f.__dict__["calls"] = 0
    f.__code__ = (lambda X: X).__code__
    return True


class LeavingInInit(torch.nn.Module):
    def __init__(self, d_model, d_ff):
        sys.exit(3)


class LyingParameters(FeedForward):
    def parameters(self, recurse=True):
        raise SystemExit

    named_parameters = state_dict = load_state_dict = parameters

    def forward(self, x):
        return x


class RightInTrainingOnly(FeedForward):
    def forward(self, x):
        return super().forward(x) if self.training else -super().forward(x) - 1


class RightOnce(FeedForward):
    def forward(self, x):
        done = self.__dict__.setdefault("done", [])
        done.append(1)
        return super().forward(x) * (1 if len(done) == 1 else -2)


class ForgettingItsWeights(FeedForward):
    def forward(self, x):
        with torch.no_grad():
            for p in self.parameters():
                p.zero_()
        return super().forward(x)


class PatchingTorch(torch.nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.up, self.down = torch.nn.Linear(d_model, d_ff), torch.nn.Linear(d_ff, d_model)

    def forward(self, x):
        torch.relu = torch.equal = torch.allclose = lambda *args, **kwargs: True
        return self.down(self.up(x))


def same(value):
    return lambda *args: value


HOSTILE = [
    ("relu", "an object equal to everything", same(AlwaysEqual())),
    ("relu", "a float equal to everything", same(LyingFloat(-1))),
    ("ffn_parameters", "an int equal to everything", same(LyingInt(-1))),
    ("feed_forward", "an array with its own arithmetic", lambda x, *rest: np.full(np.shape(x), -1.0).view(LyingArray)),
    ("edit_scores", "a dict that answers everything", same(LyingDict(efficacy=2.0, paraphrase=2.0, neighbourhood=2.0))),
    ("linear_collapse", "a list with its own length", same(LyingList([1, 2]))),
    ("self_test_b", "a tuple of objects equal to everything", same((AlwaysEqual(),) * 3)),
    ("relu", "attributes that exit", same(ExplodingAttributes())),
    ("relu", "a text that interrupts", same(ExplodingText())),
    ("edit_scores", "keys whose text interrupts", lambda *args: {ExplodingText(): 1.0}),
    ("relu", "a text that is none", same(TextThatIsNoText())),
    ("relu", "a type that cannot be shown", same(OfEvilType())),
    ("relu", "a type itself", same(OfEvilType)),
    ("relu", "an object that pretends to be an array", same(PretendedArray())),
    ("relu", "traps round a callable", CallableWithTraps()),
    ("relu", "wrapped by itself", wrapped_by_itself()),
    ("relu", "a type that cannot be shown, as the answer", OfEvilType),
    ("feed_forward_module", "a type that cannot be shown, as the class", OfEvilType),
    ("relu", "NumPy patched", patching_numpy),
    ("relu", "builtins patched", patching_builtins),
    ("relu", "asarray patched", patching_asarray),
    ("relu", "sys.exit", leaving),
    ("relu", "KeyboardInterrupt", interrupting_itself),
    ("relu", "GeneratorExit", leaving_a_generator),
    ("relu", "an exception with an evil text", raising_with_evil_text),
    ("rome_update", "always an exception with a long text", raising_a_long_text),
    ("relu", "exceptions in a circle", raising_a_chain_that_bites_its_tail),
    ("relu", "endless recursion", recursing),
    ("relu", "a low recursion limit left behind", leaving_a_low_recursion_limit),
    ("relu", "a thread that repairs the result later", thread_that_repairs_later),
    ("relu", "a thread that exits", thread_that_fails),
    ("relu", "8 terabytes in a view", huge_view),
    ("relu", "thirty axes", huge_axes),
    ("ffn_parameters", "200,000 digits", huge_number),
    ("global_parameters", "five million bits", huge_power_of_two),
    ("sparsity", "a fraction of 100,000 digits", huge_fraction),
    ("relu", "a list inside itself", endless_list),
    ("top_triggers", "a list 50,000 deep", deep_list),
    ("trace_hidden", "three million parts", wide_list),
    ("feed_forward", "a list that unfolds to 1,000 numbers", list_of_shared_lists),
    ("top_triggers", "an endless generator", endless_generator),
    ("relu", "a coroutine", a_coroutine),
    ("relu", "everything masked", all_masked),
    ("feed_forward", "wrong where masked", wrong_where_masked),
    ("ffn_share", "not a number", not_numbers),
    ("feed_forward", "only nan", array_of_nan),
    ("sparse_feed_forward", "only nan", array_of_nan),
    ("layer_norm", "only infinity", infinite),
    ("relu", "objects equal to everything in an array", objects_in_an_array),
    ("relu", "a structured array", structured),
    ("relu", "a tensor without numbers", on_the_meta_device),
    ("relu", "a sparse tensor", sparse_tensor),
    ("relu", "a memoryview", memory_of_somebody_else),
    ("feed_forward", "inputs made zero", inputs_made_zero),
    ("feed_forward", "inputs made writeable and zero", inputs_made_writeable),
    ("feed_forward", "inputs put into another shape", inputs_in_another_shape),
    ("relu", "right the first time", right_at_first(lambda x: np.maximum(x, 0.0), 1)),
    ("relu", "right three times", right_at_first(lambda x: np.maximum(x, 0.0), 3)),
    ("ffn_parameters", "right the first time", right_at_first(lambda d, f, b: 2 * d * f + (d + f) * b, 1)),
    ("ffn_parameters", "right two times", right_at_first(lambda d, f, b: 2 * d * f + (d + f) * b, 2)),
    ("relu", "right every other time", right_every_other_time(lambda x: np.maximum(x, 0.0))),
    ("relu", "one result for ever", one_result_for_ever),
    ("relu", "frames searched for the expected value", looking_into_frames),
    ("feed_forward", "frames searched for the expected value", looking_into_frames),
    ("feed_forward", "frames written into", writing_into_frames),
    ("relu", "a tracer left behind", tracing),
    ("relu", "no output left", swallowing_output),
    ("relu", "seven megabytes printed", printing_very_much),
    ("relu", "warnings made errors", errors_for_warnings),
    ("relu", "other defaults left behind", other_defaults),
    ("relu", "another folder", another_folder),
    ("feed_forward", "the library's function by a detour", library_under_another_name),
    ("is_positionwise", "told by the name of f", told_by_name),
    ("is_positionwise", "f's own code replaced", counting_calls_of_f),
    ("feed_forward_module", "sys.exit in __init__", LeavingInInit),
    ("feed_forward_module", "parameters that exit", LyingParameters),
    ("feed_forward_module", "right in training only", RightInTrainingOnly),
    ("feed_forward_module", "right once", RightOnce),
    ("feed_forward_module", "its own weights forgotten", ForgettingItsWeights),
    ("feed_forward_module", "torch patched", PatchingTorch),
]  # fmt: skip


# ---------------------------------------------------------------- trying them


def named(rows):
    """Return rows as pytest wants them, each under the sentence that describes it."""
    return [pytest.param(exercise, *rest, id=f"{exercise}: {sentence}") for exercise, sentence, *rest in rows]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("exercise", "answer", "words"), named(WRONG))
def test_a_wrong_answer_is_rejected_and_told_why(exercise, answer, words):
    verdict = verdict_on(exercise, answer)
    assert verdict.status == "not-yet", verdict.message
    assert words is None or words in verdict.message


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("exercise", "answer"), named(RIGHT))
def test_a_right_answer_passes_however_it_is_written(exercise, answer):
    verdict = verdict_on(exercise, answer)
    assert verdict.passed, verdict.message


@contextlib.contextmanager
def everything_put_back():
    """Undo afterwards whatever an answer may have changed in this process."""
    modules = [(module, dict(vars(module))) for module in (np, np.testing, math, torch, builtins)]
    streams, limit, folder, variables = (sys.stdout, sys.stderr), sys.getrecursionlimit(), os.getcwd(), dict(os.environ)
    errors, printing, dtype = np.geterr(), np.get_printoptions(), torch.get_default_dtype()
    tracers = sys.gettrace(), sys.getprofile()
    try:
        with warnings.catch_warnings():
            yield
    finally:
        sys.settrace(tracers[0])
        sys.setprofile(tracers[1])
        for module, names in modules:
            for name, value in names.items():
                if vars(module).get(name) is not value:
                    setattr(module, name, value)
        sys.stdout, sys.stderr = streams
        sys.setrecursionlimit(limit)
        os.chdir(folder)
        os.environ.update(variables)
        np.seterr(**errors)
        np.set_printoptions(**printing)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("exercise", "answer"), named(HOSTILE))
def test_a_hostile_answer_neither_passes_nor_raises_nor_spoils_the_next_one(exercise, answer):
    raised, status, message = None, None, None
    with everything_put_back():
        try:
            verdict = verdict_on(exercise, answer)
            status, message = verdict.status, verdict.message
        except BaseException as error:
            raised = type(error)
    assert raised is None
    assert status in ("not-yet", "broken") and isinstance(message, str)
    assert verdict_on("relu", relu).passed and verdict_on("feed_forward", Layer()).passed
