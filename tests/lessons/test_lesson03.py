"""Lesson 03: unusual right answers pass, and wrong ones that nobody listed are explained or left unexplained."""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np
import pytest
import torch

from ffnlib.examination import lessons
from ffnlib.examination.lessons.lesson03 import zoo
from ffnlib.examination.verdict import NOT_YET, PASSED
from ffnlib.layer import feed_forward, self_attention
from tests.lessons.answering import assert_passes
from tests.lessons.test_exercises import verdict_on

# ---------------------------------------------------------------- is_positionwise


def with_a_loop(f, X):
    Y = f(X)
    for t, row in enumerate(X):
        try:
            alone = f(row.reshape(1, -1))
        except Exception:
            return False
        if not np.allclose(alone[0], Y[t]):
            return False
    return True


class Tester:
    def __call__(self, f, X):
        try:
            return bool(np.max(np.abs(np.vstack([f(row[None]) for row in X]) - f(X))) < 1e-6)
        except ValueError:
            return False


def by_recursion(f, X, t=0):
    if t == len(X):
        return True
    try:
        agrees = np.isclose(f(X[[t]]), f(X)[[t]], rtol=0, atol=1e-6).all()
    except (ValueError, IndexError):
        return False
    return agrees and by_recursion(f, X, t + 1)


def with_other_numbers(f, X):
    """A test on rows of its own is as good as one on X."""
    Z = np.random.default_rng(0).normal(size=np.shape(X))
    return with_a_loop(f, Z) and with_a_loop(f, X)


def in_torch(f, X):
    try:
        alone = torch.cat([torch.tensor(np.array(f(x))) for x in torch.tensor(X, dtype=torch.float64).split(1)])
    except Exception:
        return torch.tensor(False)
    return torch.allclose(alone, torch.tensor(np.array(f(X))), rtol=0, atol=1e-6)


def with_a_testing_tool(f, X):
    try:
        np.testing.assert_allclose(np.concatenate([f(r) for r in np.split(X, len(X))]), f(X), rtol=1e-6, atol=1e-6)
    except (AssertionError, ValueError):
        return False
    return True


def as_a_number(f, X):
    return int(with_a_loop(f, X))


def from_lists(f, X):
    try:
        return all(np.allclose(f([X[t].tolist()])[0], f(X.tolist())[t], atol=1e-6) for t in range(len(X)))
    except ValueError:
        return False


def every_order_and_one_alone(f, X):
    """Exchanging rows and running the first one alone says the same when it is asked for every row."""
    try:
        for t in range(len(X)):
            order = np.r_[t, np.delete(np.arange(len(X)), t)]
            Z = X[order]
            if not (np.allclose(f(Z), f(X)[order]) and np.allclose(f(Z[:1])[0], f(Z)[0])):
                return False
    except ValueError:
        return False
    return True


def rows_repeated(f, X):
    """A row alone is the first of its own; a second call settles rounding."""
    try:
        return not any(np.abs(f(X[t : t + 1])[0] - f(X)[t]).max() > 1e-6 for t in reversed(range(len(X))))
    except BaseException:
        return False


def numpy_truth(f, X, tolerance=1e-7):
    try:
        return np.all(np.abs(np.concatenate([f(X[t : t + 1]) for t in range(X.shape[0])]) - f(X)) < tolerance)
    except ValueError:
        return np.False_


RIGHT = (
    with_a_loop,
    Tester(),
    by_recursion,
    with_other_numbers,
    in_torch,
    with_a_testing_tool,
    as_a_number,
    from_lists,
    every_order_and_one_alone,
    rows_repeated,
    numpy_truth,
    functools.partial(numpy_truth, tolerance=1e-6),
)


@pytest.mark.parametrize("answer", RIGHT)
def test_is_positionwise_accepts_every_right_test(answer):
    for seed in (0, 7, 99):
        verdict = verdict_on(lessons.exercise("is_positionwise"), answer, seed)
        assert verdict.status == PASSED, verdict.message


def test_the_zoo_is_what_its_words_say():
    """An independent test: rows alone, run through a loop over a fresh zoo, against the list of position-wise words."""
    for seed in range(5):
        for f, X in zoo(np.random.default_rng(seed)):
            words = f.function.__doc__
            expected = words in POSITION_WISE
            assert with_a_loop(f.function, X * 1.0) == expected, words


POSITION_WISE = (
    "a feed-forward layer",
    "a linear map to another width",
    "a function that gives the same row everywhere",
    "the identity",
    "a layer norm",
    "a ReLU",
    "a feed-forward layer with rounding noise",
)


def perturbs_each(f, X):
    Y = f(X)
    for t in range(len(X)):
        Z = X.astype(float).copy()
        Z[t] += np.random.default_rng(t).normal(size=X.shape[1])
        if not np.allclose(np.delete(f(Z), t, axis=0), np.delete(Y, t, axis=0), atol=1e-6):
            return False
    return True


def perturbs_first_with_noise(f, X):
    Z = X.astype(float)
    Z[0] = 100
    return np.allclose(f(Z)[1:], f(X)[1:], atol=1e-6)


def shuffles(f, X):
    order = np.random.default_rng(3).permutation(len(X))
    return np.allclose(f(X[order]), f(X)[order], atol=1e-6)


def returns_in_loop(f, X):
    for t in range(len(X)):
        try:
            return bool(np.allclose(f(X[t : t + 1])[0], f(X)[t], atol=1e-6))
        except ValueError:
            return False


def keeps_the_last(f, X):
    good = True
    for t in range(len(X)):
        try:
            good = np.allclose(f(X[t : t + 1])[0], f(X)[t], atol=1e-6)
        except ValueError:
            return False
    return good


def feeds_vectors(f, X):
    return all(np.allclose(f(X[t]), f(X)[t]) for t in range(len(X)))


def feeds_vectors_and_catches(f, X):
    try:
        return feeds_vectors(f, X)
    except Exception:
        return False


def skips_errors(f, X):
    for t in range(len(X)):
        try:
            if not np.allclose(f(X[t : t + 1])[0], f(X)[t]):
                return False
        except ValueError:
            continue
    return True


def lets_errors_pass(f, X):
    return all(np.allclose(f(X[t : t + 1]), f(X)[t : t + 1]) for t in range(len(X)))


def default_tolerance_of_one_percent(f, X):
    try:
        return np.allclose(np.vstack([f(x[None]) for x in X]), f(X), atol=0.01)
    except ValueError:
        return False


def zeros_elsewhere(f, X):
    for t in range(len(X)):
        Z = np.zeros(X.shape)
        Z[t] = X[t]
        if not np.allclose(f(Z)[t], f(X)[t], atol=1e-6):
            return False
    return True


def prefixes(f, X):
    try:
        return all(np.allclose(f(X[:k])[-1], f(X)[k - 1], atol=1e-6) for k in range(1, len(X) + 1))
    except ValueError:
        return False


def sums(f, X):
    try:
        return np.isclose(sum(f(x[None]).sum() for x in X), f(X).sum(), atol=1e-6)
    except ValueError:
        return False


def exact(f, X):
    try:
        return bool((np.vstack([f(x[None]) for x in X]) == f(X)).all())
    except ValueError:
        return False


def same_row_everywhere(f, X):
    Z = np.tile(X[:1], (len(X), 1))
    return bool(np.allclose(f(Z), f(Z)[0], atol=1e-6))


def batch(f, X):
    return np.allclose(f(X[:, None])[:, 0], f(X))


def deterministic(f, X):
    return np.array_equal(f(X), f(X))


def columns(f, X):
    return all(np.allclose(f(X[:, j : j + 1]), f(X)[:, j : j + 1]) for j in range(X.shape[1]))


def prints_only(f, X):
    print(with_a_loop(f, X))


def list_of_truths(f, X):
    try:
        return [bool(np.allclose(f(X[t : t + 1])[0], f(X)[t])) for t in range(len(X))]
    except ValueError:
        return [False]


def says_yes(f, X):
    return "yes" if with_a_loop(f, X) else "no"


WRONG = (
    (perturbs_each, "every row changed in turn"),
    (perturbs_first_with_noise, "first row changed"),
    (shuffles, "permutations that keep the last row"),
    (returns_in_loop, "first row only"),
    (keeps_the_last, "last row only"),
    (feeds_vectors, "rows as vectors"),
    (feeds_vectors_and_catches, "always false"),
    (skips_errors, "error counts as a pass"),
    (lets_errors_pass, "error not caught"),
    (default_tolerance_of_one_percent, "too loose"),
    (zeros_elsewhere, "every row changed in turn"),
    (prefixes, "prefixes"),
    (sums, "totals compared"),
    (exact, "exactly equal"),
    (same_row_everywhere, "equal rows"),
    (batch, "rows in a batch"),
    (deterministic, "always true"),
    (columns, "columns for rows"),
    (prints_only, "nothing returned"),
    (list_of_truths, "several for one"),
    (says_yes, "text"),
    (lambda X, f: with_a_loop(f, X), "arguments in another order"),
    (lambda f, X: not with_a_loop(f, X), "turned round"),
    (lambda f, X: f(X).shape == X.shape, "shape only"),
    (lambda f, X: None if with_a_loop(f, X) else False, "nothing returned"),
)


@pytest.mark.parametrize("answer, name", WRONG)
def test_is_positionwise_explains_wrong_tests(answer, name):
    verdict = verdict_on(lessons.exercise("is_positionwise"), answer)
    assert verdict.status == NOT_YET
    assert verdict.misconception == name, verdict.message


def test_too_many_calls_are_stopped():
    def answer(f, X):
        while True:
            f(X)

    assert "more than" in verdict_on(lessons.exercise("is_positionwise"), answer).message


# ---------------------------------------------------------------- conv1d_weight


def conv_by_loops(W1):
    d_model, d_ff = W1.shape
    return [[[W1[i, o]] for i in range(d_model)] for o in range(d_ff)]


RIGHT_CONV = (
    conv_by_loops,
    lambda W1: W1.T[..., np.newaxis],
    lambda W1: np.expand_dims(W1.transpose(), -1),
    lambda W1: W1.T.reshape(*W1.T.shape, 1),
    lambda W1: np.einsum("io->oi", W1)[..., None],
    lambda W1: W1[:, :, None].swapaxes(0, 1),
    lambda W1: W1[None].T,
    lambda W1: torch.tensor(W1).T.unsqueeze(-1),
    lambda W1: torch.nn.Parameter(torch.tensor(W1.astype(float)).t()[:, :, None]),
    lambda W1: np.moveaxis(np.atleast_3d(W1), 0, 1),
    lambda W1: np.stack([np.array(column)[:, None] for column in zip(*W1)]),
    lambda W1: [[[Fraction(float(v))] for v in column] for column in W1.T],
    lambda W1: np.reshape(W1.T, (W1.shape[1], W1.shape[0], 1), order="F"),
)


@pytest.mark.parametrize("answer", RIGHT_CONV)
def test_conv1d_weight_accepts_every_right_way(answer):
    verdict = verdict_on(lessons.exercise("conv1d_weight"), answer)
    assert verdict.status == PASSED, verdict.message


def test_the_convolution_with_that_weight_does_what_the_linear_map_does():
    rng = np.random.default_rng(0)
    W1, x = rng.normal(size=(3, 5)), rng.normal(size=(2, 4, 3))
    weight = torch.tensor(lessons.exercise("conv1d_weight").oracle(W1))
    convolved = torch.nn.functional.conv1d(torch.tensor(x).transpose(1, 2), weight).transpose(1, 2)
    np.testing.assert_allclose(convolved.numpy(), x @ W1, rtol=0, atol=1e-12)


WRONG_CONV = (
    (lambda W1: W1[..., None], "not transposed"),
    (lambda W1: np.expand_dims(W1, 2), "not transposed"),
    (lambda W1: W1.T, "kernel axis missing"),
    (lambda W1: W1[:, :, None].T, "kernel axis first"),
    (lambda W1: W1.reshape(W1.shape[1], W1.shape[0], 1), "reshaped"),
    (lambda W1: torch.tensor(W1).T[..., None].float(), "float32"),
    (lambda W1: (W1.T[:, :, None], np.zeros(W1.shape[1])), "several for one"),
    (lambda W1: torch.nn.Conv1d(*W1.shape, 1), "type"),
    (lambda W1: torch.nn.Conv1d(*W1.shape, 1).weight, "changes between calls"),
    (lambda W1: W1.T[:, :, None] * 2, "`2 * W1` stands where `W1` belongs"),
    (lambda W1: W1.T[:, :, None].copy().clip(0), "ReLU applied"),
    (lambda W1: np.linalg.inv(W1)[:, :, None] if len(W1) == W1.shape[1] else W1.T[:, :, None], None),
    (lambda W1: W1.T[:, None], "kernel axis in the middle"),
    (lambda W1: np.flip(W1.T)[..., None], "both turned"),
    (lambda W1: (W1.T[:, :, None],), "tuple around"),
    (lambda W1: np.tile(W1.T[:, :, None], 3), "kernel of size three, repeated"),
)


@pytest.mark.parametrize("answer, name", WRONG_CONV)
def test_conv1d_weight_explains_wrong_answers(answer, name):
    verdict = verdict_on(lessons.exercise("conv1d_weight"), answer)
    assert verdict.status == NOT_YET
    assert verdict.misconception == name, verdict.message


# ---------------------------------------------------------------- global_parameters


def counted(T, d):
    return torch.nn.Linear(T * d, T * d, bias=False).weight.numel() if T * d < 2000 else (T * d) ** 2


RIGHT_GLOBAL = (
    counted,
    lambda T, d: T**2 * d**2,
    lambda T, d: pow(T * d, 2),
    lambda T, d: np.int64(T * d) ** 2,
    lambda T, d: float(T * d) ** 2,
    lambda T, d: Fraction(T * d) ** 2,
    lambda T, d: [T * T * d * d],
    lambda T, d: sum(T * d for _ in range(T)) * d,
    lambda T, d: np.prod([T, d, T, d]),
    lambda T, d: torch.tensor(T * d) ** 2,
    lambda T, d, bias=False: (T * d) ** 2 + bias * T * d,
)


@pytest.mark.parametrize("answer", RIGHT_GLOBAL)
def test_global_parameters_accepts_every_right_way(answer):
    assert_passes("global_parameters", answer)


WRONG_GLOBAL = (
    (lambda T, d: 3 * (T * d) ** 2, "three matrices"),
    (lambda T, d: (T * d) ** 2 + T, "bias of T"),
    (lambda T, d: (T * d) * (T * d + 2), "bias"),
    (lambda T, d: 2 * ((T * d) ** 2 + T * d), "bias"),
    (lambda T, d: 4 * T * T * d * d + T * d, "4"),
    (lambda T, d: T * d * d + d, "own"),
    (lambda T, d: ((T + 1) * d) ** 2, "token"),
    (lambda T, d: (T * 4 * d) ** 2, "4 d"),
    (lambda T, d: 16 * (T * d) ** 2, "4 d"),
    (lambda T, d: T * d * T, "T x T"),
    (lambda T, d: (T * d) ** 2 / 2, "half"),
    (lambda T, d: (T * d) ** 2 - T * d, "diagonal"),
    (lambda T, d: d * d + d, "T is left out"),
    (lambda T, d: T**2 + d**2, "one after the other"),
    (lambda T, d: T**3 * d**2, "once more"),
    (lambda T, d: T**2 * d**3, "d enters three times"),
    (lambda T, d: 2 * T * d, "added instead of multiplied"),
    (lambda T, d: 2 * T**2 * d, "divided by d"),
    (lambda T, d: (T * d) ** 2 + 1, "1 is added"),
    (lambda T, d: -((T * d) ** 2), "sign"),
    (lambda T, d: ((T - 1) * d) ** 2, "T - 1"),
    (lambda T, d: (T * d) ** 2 * 4 // 3, "by hand"),
    (lambda T, d: True, "truth values"),
    (lambda T, d: f"{(T * d) ** 2:,}", "text"),
    (lambda T, d: ((T * d) ** 2, T * d), "tuple of 2 items"),
    (lambda d, T: (T * d) ** 2 + d, "in this order"),
)


@pytest.mark.parametrize("answer, words", WRONG_GLOBAL)
def test_global_parameters_explains_wrong_numbers(answer, words):
    verdict = verdict_on(lessons.exercise("global_parameters"), answer)
    assert verdict.status == NOT_YET
    assert words in verdict.message, verdict.message


# ---------------------------------------------------------------- the lesson's deciding values, computed another way


@pytest.mark.parametrize("rows", [2, 5, 33])
@pytest.mark.parametrize(("d", "d_ff"), [(6, 24), (64, 256)])
def test_a_row_of_the_layer_keeps_its_bits_when_another_row_changes(rows, d, d_ff):
    rng = np.random.default_rng(rows)
    X, W1, W2 = rng.normal(size=(rows, d)), rng.normal(size=(d, d_ff)), rng.normal(size=(d_ff, d))
    before = feed_forward(X, W1, np.ones(d_ff), W2, np.ones(d))
    changed = X.copy()
    changed[0] = 1e6
    assert np.array_equal(feed_forward(changed, W1, np.ones(d_ff), W2, np.ones(d))[1:], before[1:])


def test_our_attention_is_torchs():
    rng = np.random.default_rng(0)
    x, Wq, Wk, Wv = rng.normal(size=(2, 5, 6)), *rng.normal(size=(2, 6, 4)), rng.normal(size=(6, 3))
    theirs = torch.nn.functional.scaled_dot_product_attention(*(torch.from_numpy(x @ W) for W in (Wq, Wk, Wv)))
    assert np.allclose(self_attention(x, Wq, Wk, Wv), theirs.numpy(), rtol=0, atol=1e-12)


def test_attention_does_not_mind_the_order_of_the_rows_and_a_shift_does():
    rng = np.random.default_rng(1)
    x, heads, order = rng.normal(size=(5, 6)), rng.normal(size=(3, 6, 6)), [1, 0, 2, 3, 4]
    assert np.allclose(self_attention(x[order], *heads), self_attention(x, *heads)[order], rtol=0, atol=1e-12)
    assert not np.allclose(np.roll(x[order], 1, axis=0), np.roll(x, 1, axis=0)[order])


@pytest.mark.parametrize("pairs", [2, 16])
def test_a_head_written_by_hand_looks_up_names_it_has_never_seen(pairs):
    rng = np.random.default_rng(2)
    names = rng.normal(size=(200, pairs, 8))
    names /= np.linalg.norm(names, axis=-1, keepdims=True)
    colours, asked = rng.integers(4, size=(200, pairs)), rng.integers(pairs, size=200)
    stored = np.concatenate([names, np.eye(4)[colours]], axis=-1)
    question = np.concatenate([names[np.arange(200), asked], np.zeros((200, 4))], axis=-1)
    rows = np.concatenate([stored, question[:, None]], axis=1)
    compare, tell = 20 * np.eye(12)[:, :8], np.eye(12)[:, 8:]
    told = self_attention(rows, compare, compare, tell)[:, -1]
    assert np.mean(told.argmax(-1) == colours[np.arange(200), asked]) > 0.95


def test_a_matrix_over_2048_rows_of_4096_has_two_to_the_46_weights():
    assert (2**11 * 2**12) ** 2 == 2**46 == 70_368_744_177_664


def test_twelve_blocks_of_their_own_would_not_fit_into_albert():
    block = torch.nn.TransformerEncoderLayer(768, 12, 3072, bias=False)
    matrices = sum(weights.numel() for weights in block.parameters() if weights.ndim == 2)
    assert 12 * matrices == 84_934_656 > 2 * 12_000_000
