"""Answers to lessons 00 to 07, written from the statements alone: wrong ones and what they are told, right ones."""

from __future__ import annotations

import collections
import functools
import math
import operator
import statistics
from fractions import Fraction

import numpy as np
import pytest
import torch

from ffnlib.learner import verdict_on
from tests.test_answers_from_outside import FeedForward, both_stacks, decoder, named, norm, relu, silu

# In WRONG, the text after an answer has to occur in the message.


def first_row(x, W1, b1, W2, b2):
    for row in x:
        return relu(row @ W1 + b1) @ W2 + b2


def last_row(x, W1, b1, W2, b2):
    for row in x:
        result = relu(row @ W1 + b1) @ W2 + b2
    return result


def set_for_each_unit(x, W1, b1, W2, b2):
    for j in range(len(b1)):
        result = relu(x @ W1[:, j] + b1[j])[..., None] * W2[j] + b2
    return result


def bias_for_each_unit(x, W1, b1, W2, b2):
    result = 0
    for j in range(len(b1)):
        result = result + relu(x @ W1[:, j] + b1[j])[..., None] * W2[j] + b2
    return result


def filled_like_x(x, W1, b1, W2, b2):
    result = np.zeros_like(x)
    result[...] = relu(x @ W1 + b1) @ W2 + b2
    return result


def layer(x, W1, b1, W2, b2):
    return relu(x @ W1 + b1) @ W2 + b2


def normal(x):
    return np.vectorize(statistics.NormalDist().cdf, [float])(np.asarray(x, float))


def in_two_loops(x):
    result = np.array(x, dtype=float)
    for i in range(len(result)):
        for j in range(len(result[i])):
            result[i][j] = max(0, result[i][j])
    return result


def returned_in_a_loop(x):
    for number in np.ravel(x):
        return max(0, number)


def alone(f, X):
    return np.concatenate([f(X[t : t + 1]) for t in range(len(X))])


def refused(test):
    """Return a test that says False where f raises."""

    def answer(f, X):
        try:
            return bool(test(f, X))
        except ValueError:
            return False

    return answer


def near(a, b):
    return a.shape == b.shape and np.allclose(a, b, rtol=0, atol=1e-6)


def one_row_less(f, X):
    return all(near(np.delete(f(X), t, 0), f(np.delete(X, t, 0))) for t in range(len(X)))


def first_unit(H):
    for unit in range(H.shape[1]):
        return int((H[:, unit] == 0).all())


def zeros_before_the_first_value(H):
    dead = 0
    for unit in range(H.shape[1]):
        for token in range(len(H)):
            if H[token, unit] != 0:
                break
            dead += 1
    return dead


class WithoutGradient(FeedForward):
    def forward(self, x):
        with torch.no_grad():
            return super().forward(x)


class WithTheHiddenDetached(FeedForward):
    def forward(self, x):
        return self.down(torch.relu(self.up(x)).detach())


class IntoNumPy(FeedForward):
    def forward(self, x):
        return super().forward(x).detach().numpy()


class ForBatchesOnly(FeedForward):
    def forward(self, x):
        batch, tokens, d_model = x.shape
        return super().forward(x.view(batch * tokens, d_model)).view(batch, tokens, d_model)


def halves(x, W_gate_up, W_down, n):
    h = x @ W_gate_up
    return (silu(h[..., :n]) * h[..., n:]) @ W_down


def divided_by_the_tokens(x, gamma, beta, eps):
    deviation = x - np.sum(x, axis=-1, keepdims=True) / len(x)
    return gamma * deviation / np.sqrt(np.sum(deviation**2, axis=-1, keepdims=True) / len(x) + eps) + beta


def by_moments(x, gamma, beta, eps, power=1):
    mean = np.mean(x, axis=-1, keepdims=True)
    return gamma * (x - mean) / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) - mean**power + eps) + beta


def attention(d, n, kv):
    return 2 * d * d + 2 * d * kv * (d // n)


WRONG = [
    ("warm_up", "right for two axes", lambda x: 2 * x if np.ndim(x) < 3 else x, "7 of 8 calls are right"),
    ("warm_up", "whole numbers", lambda x: np.asarray(2 * x).astype(int), "the fractions are cut off"),
    ("warm_up", "float32 on the way", lambda x: (np.asarray(x, np.float32) * 2).astype(float), "1 part in 100,000"),
    ("warm_up", "eight bits", lambda x: 2 * (np.int8(x) if np.asarray(x).dtype.kind == "i" else x), "7 of 8"),
    ("relu", "cut off at a million", lambda x: np.clip(x, 0, 1e6), "11 of 12 calls are right"),
    ("relu", "right for two axes", lambda x: np.maximum(x, 0) if np.ndim(x) < 3 else x, "11 of 12 calls are right"),
    ("relu", "a threshold of a thousandth", lambda x: np.where(np.asarray(x) > 1e-3, x, 0), "11 of 12 calls are right"),
    ("relu", "a threshold of a hundredth", lambda x: np.where(np.asarray(x) > 1e-2, x, 0), "11 of 12 calls are right"),
    ("relu", "GELU", lambda x: np.asarray(x) * normal(x),
     "GELU is computed"),
    ("relu", "two loops", in_two_loops, "a single number is treated as an array"),
    ("relu", "a method of arrays", lambda x: x.clip(min=0), "a single number is treated as an array"),
    ("relu", "a copy", lambda x: x.copy() * (x > 0), "a single number is treated as an array"),
    ("relu", "a return in a loop", returned_in_a_loop, "1 of 12 calls end without a result"),
    ("feed_forward", "a return in a loop", first_row, "the return stands inside the loop"),
    ("feed_forward", "the last row", last_row, "keeps the last row's result only"),
    ("feed_forward", "= for +=", set_for_each_unit, "only the last hidden unit counts"),
    ("feed_forward", "b2 in the loop", bias_for_each_unit, "b2 is added once for every hidden unit"),
    ("feed_forward", "a unit less", lambda x, A, a, B, b: layer(x, A[:, :-1], a[:-1], B[:-1], b), "unit is left out"),
    ("feed_forward", "filled like x", filled_like_x, "np.zeros_like(x) of whole numbers makes whole numbers"),
    ("feed_forward", "six digits", lambda *args: np.round(layer(*args), 6), "the result is rounded to 6 digits"),
    ("feed_forward", "tied", lambda x, A, a, B, b: relu(x @ A + a) @ A.T + b,
     "W1 transposed stands in the place of W2"),
    ("feed_forward", "softplus", lambda x, A, a, B, b: np.logaddexp(0, x @ A + a) @ B + b, "ln(1 + exp(h)) stands in"),
    ("feed_forward", "ELU", lambda x, A, a, B, b: (lambda h: np.where(h > 0, h, np.exp(h) - 1))(x @ A + a) @ B + b,
     "ELU stands in the place of ReLU"),
    ("feed_forward", "relu(W2)", lambda x, A, a, B, b: relu(x @ A + a) @ relu(B) + b, "negative weights of W2"),
    ("feed_forward", "two ReLUs", lambda x, A, a, B, b: relu(relu(x @ A) + a) @ B + b, "before b1 is added, and"),
    ("feed_forward", "W1 + b1", lambda x, A, a, B, b: relu(x @ (A + a)) @ B + b, "b1 is added to the rows of W1"),
    ("feed_forward", "W2 + b2", lambda x, A, a, B, b: relu(x @ A + a) @ (B + b), "b2 is added to the rows of W2"),
    ("feed_forward", "cut off", lambda x, A, a, B, b: np.clip(x @ A + a, 0, 1000) @ B + b, "calls are right"),
    ("feed_forward", "ReLU6", lambda x, A, a, B, b: np.clip(x @ A + a, 0, 6) @ B + b, "cut off at 6 (ReLU6)"),
    ("feed_forward", "a tuple", lambda x, A, a, B, b: (relu(x @ A + a), layer(x, A, a, B, b)), "[1] of them is right"),
    ("feed_forward", "three letters", lambda x, A, a, B, b: relu(np.einsum("btd,df->btf", x, A) + a) @ B + b,
     "an axis is asked for that the array of this call does not have"),
    ("feed_forward_columns", "W1 for W2", lambda x, A, a, B, b: relu(x @ B + a) @ A + b, "have changed places"),
    ("feed_forward_columns", "b1 as a column", lambda x, A, a, B, b: relu(x @ A.T + a[:, None]) @ B.T + b,
     "as a column"),
    ("feed_forward_columns", "rows one by one", lambda x, A, a, B, b: np.array([B @ relu(A @ r + a) + b for r in x]),
     "a loop takes the rows of x one by one"),
    ("linear_collapse", "stars", lambda A, a, B, b: (A * B, a * B + b), "* stands where @ belongs"),
    ("linear_collapse", "b as a row", lambda A, a, B, b: (A @ B, a[None] @ B + b), "the numbers are right, in shape"),
    ("linear_collapse", "b1 through W1", lambda A, a, B, b: (A @ B, A @ a + b), "b1 goes through W1"),
    ("linear_collapse", "a ReLU on b1", lambda A, a, B, b: (A @ B, relu(a) @ B + b), "a ReLU is applied to b1"),
    ("linear_collapse", "three digits", lambda A, a, B, b: (np.round(A @ B, 3), np.round(a @ B + b, 3)), "3 digits"),
    ("linear_collapse", "the example", lambda *_: (np.array([[11.0]]), np.array([8.0])), "the same numbers come back"),
    ("self_test_c", "stars", lambda A, B, x: B * relu(A * x), "* stands where @ belongs"),
    ("self_test_c", "a return in a loop", lambda A, B, x: B[:, 0] * max(0, A[0] @ x),
     "only the first hidden unit counts"),
    ("trace_hidden", "looked up", lambda h: (relu(h), [list(h).index(v) for v in h if v > 0], np.mean(h <= 0)),
     "equal values all get the first one's"),
    ("trace_hidden", "a dict",
     lambda h: (relu(h), [{v: i for i, v in enumerate(h)}[v] for v in h if v > 0], np.mean(h <= 0)),
     "equal values all get the last one's"),
    ("trace_hidden", "a set", lambda h: (relu(h), np.flatnonzero(h > 0), 1 - len(set(h[h > 0])) / len(h)),
     "counted once"),
    ("trace_hidden", "the example", lambda h: (np.array([3.0, 0, 0, 2]), np.array([0, 3]), 0.5),
     "the same numbers come back"),
    ("conv1d_weight", "PyTorch's name", lambda W1: np.unsqueeze(W1.T, -1), "NumPy has no function of this name"),
    ("is_positionwise", "one column", refused(lambda f, X: near(f(X)[:, 0], alone(f, X)[:, 0])),
     "only the first number"),
    ("is_positionwise", "the last column", refused(lambda f, X: near(f(X)[:, -1], alone(f, X)[:, -1])),
     "calls are right"),
    ("is_positionwise", "row sums", refused(lambda f, X: near(f(X).sum(1), alone(f, X).sum(1))),
     "the sums of the rows"),
    ("is_positionwise", "all summed", refused(lambda f, X: abs((f(X) - alone(f, X)).mean()) < 1e-6),
     "over all entries"),
    ("is_positionwise", "sizes", refused(lambda f, X: near(abs(f(X)), abs(alone(f, X)))), "without their sign"),
    ("is_positionwise", "no size", refused(lambda f, X: (f(X) - alone(f, X)).max() < 1e-6),
     "a result that is too small passes"),
    ("is_positionwise", "a quotient", refused(lambda f, X: np.allclose(f(X) / alone(f, X), 1, atol=1e-6)), "0 / 0"),
    ("is_positionwise", "one per cent", refused(lambda f, X: np.allclose(f(X), alone(f, X), rtol=1e-2)),
     "one per cent"),
    ("is_positionwise", "pairs",
     refused(lambda f, X: all(near(f(X)[t : t + 2], f(X[t : t + 2])) for t in range(len(X) - 1))),
     "two neighbouring rows are run together"),
    ("is_positionwise", "one less", refused(one_row_less),
     "a row is never alone"),
    ("is_positionwise", "the end", refused(lambda f, X: all(near(f(X[t:])[0], f(X)[t]) for t in range(len(X)))),
     "looks ahead"),
    ("is_positionwise", "an error is enough", refused(lambda f, X: alone(f, X).shape == f(X).shape),
     "numbers are not compared"),
    ("is_positionwise", "turned round", refused(lambda f, X: not near(alone(f, X), f(X))),
     "True and False are exchanged"),
    ("global_parameters", "half", lambda T, d: (T * d) ** 2 // 2, "half of the entries"),
    ("global_parameters", "32 bits", lambda T, d: np.int32(T * d) * np.int32(T * d),
     "kept in 32 bits"),
    ("global_parameters", "float32", lambda T, d: np.float32(T * d) ** 2, "1 part in 100,000"),
    ("global_parameters", "billions", lambda T, d: (T * d) ** 2 / 1e9, "given in billions"),
    ("layer_norm", "a loop", lambda x, g, b, e: np.array([norm(row, g, b, e) for row in x]),
     "takes the rows of x one by one"),
    ("layer_norm", "len(x)", divided_by_the_tokens,
     "the length of the first axis, instead of d"),
    ("layer_norm", "the mean itself", by_moments,
     "the mean itself, not its square"),
    ("layer_norm", "a tuple", lambda x, g, b, e: (norm(x, g, b, e), x.mean(-1)), "[0] of them is right"),
    ("layer_norm", "whole for whole", lambda x, g, b, e: norm(x, g, b, e).astype(np.asarray(x).dtype), "are cut off"),
    ("rms_norm", "a loop", lambda x, g, e: np.array([g * r / np.sqrt(np.mean(r**2, -1, keepdims=True) + e) for r in x]),
     "one by one"),
    ("pre_norm", "a tuple", lambda x, f, ln: (x, f(ln(x))), "a tuple of 2 arrays"),
    ("pre_norm", "not called", lambda x, f, ln: x + f(ln), "such as a function that was not called"),
    ("transformer_block", "three arguments", lambda x, attn, ffn, ln1, ln2: x + attn(ln1(x), ln1(x), ln1(x)),
     "more arguments"),
    ("feed_forward_module", "no_grad", WithoutGradient, "no gradient of the result reaches"),
    ("feed_forward_module", "detach", WithTheHiddenDetached, "no gradient of the result reaches"),
    ("feed_forward_module", "numpy", IntoNumPy, "no gradient of the result reaches"),
    ("feed_forward_module", "three axes", ForBatchesOnly, "another number of axes"),
    ("dead_units", "a return in a loop", first_unit, "only the first unit is looked at"),
    ("dead_units", "a counter in the loop", zeros_before_the_first_value, "up to its first value"),
    ("dead_units", "len(H) units", lambda H: sum(bool((H[:, j] == 0).all()) for j in range(len(H))),
     "as there are tokens"),
    ("dead_units", "product", lambda H: int((np.prod(H, 0) == 0).sum()), "the product of its values is zero"),
    ("dead_units", "whole numbers", lambda H: int((H.astype(int) == 0).all(0).sum()), "values between -1 and 1"),
    ("gelu", "float32 inside",
     lambda x: 0.5 * x * (1 + np.vectorize(math.erf, [float])(np.float32(x) / np.float32(2**0.5))),
     "1 part in 100,000"),
    ("gelu", "cut at 6", lambda x: np.where(np.abs(x) > 6, relu(x), x * normal(x)), "1 part in 100,000"),
    ("silu", "cut at 20", lambda x: np.where(x < -20, 0, silu(np.maximum(x, -20))), "1 part in 100,000"),
    ("swiglu", "a loop", lambda x, G, U, D: np.array([(silu(r @ G) * (r @ U)) @ D for r in x]),
     "takes the rows of x one by one"),
    ("swiglu", "scaled", lambda x, G, U, D: (silu(x @ G) * (x @ U)) @ D / np.sqrt(len(G)),
     "divided by the root of d_model"),
    ("swiglu", "the sum", lambda x, G, U, D: silu(x @ G + x @ U) @ D, "SiLU is applied to their sum"),
    ("swiglu_fused", "half of d_model", lambda x, GU, D: halves(x, GU, D, GU.shape[0] // 2), "at half of d_model"),
    ("swiglu_fused", "/ in a slice", lambda x, GU, D: halves(x, GU, D, GU.shape[1] / 2),
     "the end of a slice or a range"),
    ("swiglu_d_ff", "/ in a range", lambda d, m: sum(1 for _ in range(8 * d / 3)), "the end of a slice or a range"),
    ("swiglu_d_ff", "no brackets", lambda d, m: 8 * d // 3 + m - 1 // m * m, "only the 1 is divided"),
    ("swiglu_d_ff", "2 d / 3 first", lambda d, m: -(-4 * int(2 * d / 3) // m) * m, "before it is multiplied by 4"),
    ("gated_ffn_parameters", "float32", lambda d, f: np.float32(3 * d * f), "1 part in 100,000"),
    ("ffn_parameters", "a choice", lambda d, f, bias: 2 * d * f + d + f if bias else 0,
     "without biases the whole is 0"),
    ("ffn_parameters", "the flag", lambda d, f, bias: 2 * d * f * (1 + bias), "the flag multiplies the matrices"),
    ("ffn_parameters", "b1 always", lambda d, f, bias: 2 * d * f + f + (d if bias else 0),
     "b1 is counted whether or not"),
    ("ffn_parameters", "b2 always", lambda d, f, bias: 2 * d * f + bias * f + d, "b2 is counted whether or not"),
    ("ffn_parameters", "in millions", lambda d, f, bias: (2 * d * f + bias * (d + f)) / 1e6, "given in millions"),
    ("ffn_parameters", "float32", lambda d, f, bias: np.float32(2 * d * f + bias * (d + f)), "1 part in 100,000"),
    ("ffn_parameters", "None", lambda d, f, bias: 2 * d * f + d + f if bias else None,
     "end without a result"),
    ("attention_parameters", "64", lambda d, n, kv: 2 * d * d + 2 * d * kv * 64, "are given 64 numbers"),
    ("attention_parameters", "float32", lambda d, n, kv: np.float32(2 * d * d + 2 * d * d * kv // n),
     "1 part in 100,000"),
    ("decoder_parameters", "gated",
     lambda V, d, L, f, n, kv, g, t: (2 - t) * V * d + L * (attention(d, n, kv) + (3 if g else 2 * d * f) + 2 * d) + d,
     "so that a gated FFN counts as 3"),
    ("decoder_parameters", "tied",
     lambda V, d, L, f, n, kv, g, t: (1 if t else 2 * V * d) + decoder(0, d, L, f, n, kv, g, t),
     "so that tied embeddings count as 1"),
    ("decoder_parameters", "all", lambda V, *a: V * a[0] if a[-1] else 2 * V * a[0] + decoder(0, *a),
     "a tied model has nothing else"),
    ("decoder_parameters", "no table", lambda *a: decoder(*a, tables=0 if a[-1] else 2), "given no embeddings at all"),
    ("decoder_parameters", "norms", lambda *a: decoder(*a, norms=3 * a[2]), "the final norm is counted in every layer"),
    ("decoder_parameters", "2/3", lambda V, d, L, f, n, kv, g, t: decoder(V, d, L, 2 * f // 3 if g else f, n, kv, g, t),
     "reduced to 2/3"),
    ("decoder_parameters", "groups", lambda V, d, L, f, n, kv, g, t: decoder(V, d, L, f, n, n // kv, g, t),
     "how many queries share one"),
    ("decoder_parameters", "GB", lambda *a: decoder(*a) / 1e9, "given in billions"),
    ("encoder_decoder_parameters", "n * encoder + decoder",
     lambda d, f, n: both_stacks(d, f, n) - (n - 1) * (8 * d * d + 2 * d * f + f + 7 * d),
     "n_layers multiplies the encoder block only"),
    ("encoder_decoder_parameters", "encoder + n * decoder",
     lambda d, f, n: both_stacks(d, f, n) - (n - 1) * (4 * d * d + 2 * d * f + f + 5 * d),
     "n_layers multiplies the decoder block only"),
    ("ffn_share", "3 above", lambda V, d, L, f: 3 * d * f * L / (V * d + L * (4 * d * d + 2 * d * f)),
     "above the fraction bar"),
    ("ffn_share", "1 below", lambda V, d, L, f: 2 * d * f * L / (V * d + L * (4 * d * d + d * f)),
     "below the fraction bar"),
    ("ffn_share", "L * attention", lambda V, d, L, f: 2 * d * f * L / (V * d + L * 4 * d * d + 2 * d * f),
     "multiplies attention only"),
    ("ffn_share", "no brackets", lambda V, d, L, f: 2 * d * f * L / V * d + L * (4 * d * d + 2 * d * f),
     "only vocab divides"),
]  # fmt: skip

Pair = collections.namedtuple("Pair", "W b")
Trace = collections.namedtuple("Trace", "a active sparsity")


def apart(x, *weights):
    """Return the layer by recursion over the leading axes."""
    if np.ndim(x) == 1:
        return layer(x, *weights)
    return np.stack([apart(part, *weights) for part in x]) if len(x) else np.zeros(np.shape(x))


def by_linear_modules(x, W1, b1, W2, b2):
    up, down = (torch.nn.Linear(*W.shape[::-1], dtype=torch.float64) for W in (W1, W2))
    up.load_state_dict({"weight": torch.tensor(W1), "bias": torch.tensor(b1)})
    down.load_state_dict({"weight": torch.tensor(W2), "bias": torch.tensor(b2)})
    return down(torch.relu(up(torch.tensor(np.asarray(x, float)))))


class Frozen(FeedForward):
    def __init__(self, d_model, d_ff):
        super().__init__(d_model, d_ff)
        self.requires_grad_(False)


class ByConvolution(torch.nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.up, self.down = torch.nn.Conv1d(d_model, d_ff, 1), torch.nn.Conv1d(d_ff, d_model, 1)

    def forward(self, x):
        return self.down(torch.relu(self.up(x.reshape(-1, x.shape[-1], 1)))).reshape(x.shape)


class Calling(FeedForward):
    forward = None

    def __call__(self, x):
        return self.down(torch.relu(self.up(x)))


def row_by_row_in_torch(f, X):
    rows = [torch.tensor(f(row[None])) for row in X]
    return torch.allclose(torch.tensor(f(X)), torch.cat(rows), rtol=0, atol=1e-6)


RIGHT = [
    ("warm_up", "a partial", functools.partial(operator.mul, 2)),
    ("warm_up", "a running sum", lambda x: np.cumsum([x, x], axis=0)[1]),
    ("relu", "piecewise", lambda x: np.piecewise(np.asarray(x, float), [np.asarray(x) > 0], [lambda v: v, 0])),
    ("relu", "a maximum over a new axis", lambda x: np.max(np.stack([x, np.zeros(np.shape(x))]), axis=0)),
    ("relu", "PyTorch with a gradient", lambda x: torch.relu(torch.tensor(np.asarray(x, float), requires_grad=True))),
    ("feed_forward", "recursion over the axes", apart),
    ("feed_forward", "along an axis",
     lambda x, *w: np.apply_along_axis(layer, -1, x, *w) if np.size(x) else np.zeros(np.shape(x))),
    ("feed_forward_columns", "two modules", by_linear_modules),
    ("feed_forward_columns", "columns",
     lambda x, A, a, B, b: (B @ relu(A @ np.asarray(x)[..., None] + a[:, None]) + b[:, None])[..., 0]),
    ("linear_collapse", "a named tuple", lambda A, a, B, b: Pair(A @ B, a @ B + b)),
    ("linear_collapse", "outer products",
     lambda A, a, B, b: (sum(map(np.outer, A.T, B)), sum(n * v for n, v in zip(a, B)) + b)),
    ("self_test_c", "firing columns", lambda A, B, x: B[:, A @ x > 0] @ (A @ x)[A @ x > 0]),
    ("trace_hidden", "a named tuple", lambda h: Trace(relu(h), np.flatnonzero(h > 0), np.mean(h <= 0))),
    ("trace_hidden", "negative zeros", lambda h: (np.where(h > 0, h, -0.0), np.flatnonzero(h > 0), np.mean(h <= 0))),
    ("is_positionwise", "in PyTorch", refused(row_by_row_in_torch)),
    ("is_positionwise", "lengths of differences",
     refused(lambda f, X: max(np.linalg.norm(f(X) - alone(f, X), axis=1)) < 1e-6)),
    ("conv1d_weight", "at least three axes", lambda W1: np.atleast_3d(W1.T)),
    ("conv1d_weight", "a parameter", lambda W1: torch.nn.Parameter(torch.tensor(np.asarray(W1, float)).T[:, :, None])),
    ("global_parameters", "the size of a view", lambda T, d: np.broadcast_to(0, (T * d, T * d)).size),
    ("layer_norm", "mean of squares", functools.partial(by_moments, power=2)),
    ("rms_norm", "a hypotenuse",
     lambda x, g, e: g * x / np.hypot(np.sqrt(np.mean(np.square(x), -1)), np.sqrt(e))[..., None]),
    ("feed_forward_module", "nothing to train", Frozen),
    ("feed_forward_module", "convolutions", ByConvolution),
    ("feed_forward_module", "its own __call__", Calling),
    ("gelu", "a distribution", lambda x: x * normal(x)),
    ("dead_units", "columns", lambda H: sum(not any(column) for column in zip(*H.tolist()))),
    ("swiglu_d_ff", "a next", lambda d, m: next(n for n in range(8 * d // 3, 8 * d // 3 + m) if n % m == 0)),
    ("gated_ffn_parameters", "a fused matrix", lambda d, f: d * (2 * f) + f * d),
    ("ffn_parameters", "lists", lambda d, f, bias: sum([d * f, f * d] + [d, f] * bias)),
    ("attention_parameters", "a Fraction", lambda d, n, kv: 2 * d * d * (1 + Fraction(kv, n))),
    ("decoder_parameters", "a factor d",
     lambda V, d, L, f, n, kv, g, t: d * (V * (2 - t) + L * (2 * d + 2 * d * kv // n + (2 + g) * f + 2) + 1)),
    ("ffn_share", "without d", lambda V, d, L, f: f * L / (V / 2 + L * (2 * d + f))),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("exercise", "answer", "words"), named(WRONG))
def test_a_wrong_answer_is_told_its_cause(exercise, answer, words):
    verdict = verdict_on(exercise, answer)
    assert verdict.status == "not-yet", verdict.message
    assert words in verdict.message, verdict.message


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("exercise", "answer"), named(RIGHT))
def test_an_unusual_right_answer_passes(exercise, answer):
    verdict = verdict_on(exercise, answer)
    assert verdict.passed, verdict.message
