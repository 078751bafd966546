"""Lesson 09: right answers in unusual forms pass, wrong ones nobody listed are explained."""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np
import pytest
import torch

from ffnlib import layer
from ffnlib import sparsity as library
from ffnlib.examination import lessons
from ffnlib.examination.verdict import NOT_YET
from tests.lessons.answering import assert_passes
from tests.lessons.test_exercises import verdict_on


def share_by_recursion(H):
    def count(part):
        if np.ndim(part) == 0:
            return int(part == 0), 1
        pairs = [count(inner) for inner in part]
        return sum(zeros for zeros, _ in pairs), sum(size for _, size in pairs)

    return Fraction(*count(H))


def active_by_recursion(H, eps):
    if np.ndim(H) > 1:
        return [active_by_recursion(part, eps) for part in H]
    return sum(abs(float(h)) > eps for h in H) / len(H)


def fires_by_loop(x, W1, b1, W2, b2):
    out = b2.copy()
    for unit in range(len(b1)):
        h = sum(float(a) * float(w) for a, w in zip(x, W1[:, unit])) + b1[unit]
        if h > 0:
            out = out + h * W2[unit]
    return out


def fires_in_torch(x, W1, b1, W2, b2):
    x, W1, b1, W2, b2 = (torch.tensor(a, dtype=torch.float64) for a in (x, W1, b1, W2, b2))
    h = x @ W1 + b1
    return h[h > 0] @ W2[h > 0] + b2


def fires_by_where(x, W1, b1, W2, b2):
    h = x @ W1 + b1
    return np.maximum(h, 0) @ np.where((h > 0)[:, None], W2, 0.0) + b2


def fires_by_sum(x, W1, b1, W2, b2):
    h = np.dot(x, W1) + b1
    return sum((h[i] * W2[i] for i in range(len(h)) if h[i] > 0), start=b2)


class Fires:
    def __call__(self, x, W1, b1, W2, b2, threshold=0.0):
        h = np.einsum("d,df->f", x, W1) + b1
        return np.einsum("f,fd->d", np.compress(h > threshold, h), np.compress(h > threshold, W2, axis=0)) + b2


RIGHT = {
    "sparsity": [
        share_by_recursion,
        lambda H: 1 - np.count_nonzero(H) / np.size(H),
        lambda H: float((np.asarray(H) == 0).sum()) / np.asarray(H).size,
        lambda H: np.mean(np.logical_not(H)),
        lambda H: np.array([np.mean(H == 0)]),
        lambda H: np.asarray(np.mean(H == 0)),
        lambda H: torch.from_numpy(np.ascontiguousarray(H)).eq(0).double().mean(),
        lambda H: sum(1 for h in np.ravel(H) if not h) / len(np.ravel(H)),
        lambda H: np.average(np.equal(H, 0)),
        lambda H, eps=0: np.mean(np.abs(H) <= eps),
        lambda H: np.ravel(H).tolist().count(0) / np.size(H),
        functools.partial(lambda zero, H: float(np.mean(zero == H)), 0),
    ],
    "active_per_token": [
        active_by_recursion,
        lambda H, eps: np.count_nonzero(np.abs(H) > eps, axis=-1) / np.shape(H)[-1],
        lambda H, eps: 1 - np.mean(np.abs(H) <= eps, axis=-1),
        lambda H, eps: np.mean((eps < H) | (-eps > H), axis=-1),
        lambda H, eps: torch.from_numpy(np.array(H)).abs().gt(eps).double().mean(dim=-1),
        lambda H, eps: np.einsum("...u->...", (np.abs(H) > eps) / np.shape(H)[-1]),
        lambda H, eps: np.apply_along_axis(lambda row: np.mean(np.abs(row) > eps), -1, H),
        lambda H, eps: np.average(np.square(np.asarray(H, dtype=float)) > eps * eps, axis=-1),
        lambda H, eps: np.moveaxis(np.abs(H) > eps, -1, 0).mean(axis=0),
        lambda H, eps: np.vectorize(lambda h: float(abs(h) > eps), otypes=[float])(H).mean(axis=-1),
        lambda H, eps: np.ma.array(np.mean(np.abs(H) > eps, axis=-1)),
    ],
    "sparse_feed_forward": [
        fires_by_loop,
        fires_in_torch,
        fires_by_where,
        fires_by_sum,
        Fires(),
        functools.partial(fires_by_sum),
        lambda x, W1, b1, W2, b2: ((x @ W1 + b1)[:, None] * np.where((x @ W1 + b1 > 0)[:, None], W2, 0)).sum(0) + b2,
        lambda x, W1, b1, W2, b2: np.sum((x @ W1 + b1)[:, None] * W2, axis=0, where=(x @ W1 + b1 > 0)[:, None]) + b2,
        lambda x, W1, b1, W2, b2: fires_by_loop(x, W1, b1, W2, b2).tolist(),
        lambda x, W1, b1, W2, b2: layer.feed_forward(x, W1, b1, np.where((x @ W1 + b1 > 0)[:, None], W2, 0), b2),
        lambda x, W1, b1, W2, b2: b2 + W2[x @ W1 + b1 > 0].T @ (x @ W1 + b1)[x @ W1 + b1 > 0],
        lambda x, W1, b1, W2, b2: np.take(x @ W1 + b1, np.nonzero(x @ W1 + b1 > 0)[0]) @ W2[x @ W1 + b1 > 0] + b2,
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "answer"), [(name, answer) for name, group in RIGHT.items() for answer in group])
def test_an_unusual_right_answer_passes(name, answer):
    assert_passes(name, answer)


def bias_in_the_loop(x, W1, b1, W2, b2):
    out = np.zeros_like(b2)
    for h, value in zip(x @ W1 + b1, W2):
        if h > 0:
            out += h * value + b2
    return out


def overwritten(x, W1, b1, W2, b2):
    out = np.zeros_like(b2)
    for h, value in zip(x @ W1 + b1, W2):
        if h > 0:
            out = h * value
    return out + b2


def broken_off(x, W1, b1, W2, b2):
    out = np.zeros_like(b2)
    for h, value in zip(x @ W1 + b1, W2):
        if h <= 0:
            break
        out += h * value
    return out + b2


def writes_into_b2(x, W1, b1, W2, b2):
    for h, value in zip(x @ W1 + b1, W2):
        if h > 0:
            b2 += h * value
    return b2


def none_when_silent(x, W1, b1, W2, b2):
    firing = np.flatnonzero(x @ W1 + b1 > 0)
    return (x @ W1 + b1)[firing] @ W2[firing] + b2 if len(firing) else None


def counted_in_rows(H):
    zeros = 0
    for row in H:
        for h in row:
            if h == 0:
                zeros += 1
    return zeros / H.size


def by_columns(x, W1, b1, W2, b2):
    firing = x @ W1 + b1 > 0
    return (x @ W1 + b1)[firing] @ W2[:, firing] + b2


def at_least_zero(x, W1, b1, W2, b2):
    h = np.maximum(0, x @ W1 + b1)
    return h[h >= 0] @ W2[h >= 0] + b2


def fires_beyond(limit, x, W1, b1, W2, b2):
    h = x @ W1 + b1
    return h[h > limit] @ W2[h > limit] + b2


def better_half(x, W1, b1, W2, b2):
    h = x @ W1 + b1
    order = np.argsort(h)[len(h) // 2 :]
    return np.maximum(h[order], 0) @ W2[order] + b2


WRONG = [
    ("sparsity", lambda H: 1 - float((np.asarray(H) > 0).mean()), "negative entries are counted as zeros"),
    ("sparsity", lambda H: (H == 0).mean(axis=-1), "one number is asked for"),
    ("sparsity", lambda H: float(np.isclose(H, 0).mean()), "small numbers count as zero"),
    ("sparsity", lambda H: float((np.abs(H) < 1e-12).mean()), "small numbers count as zero"),
    ("sparsity", lambda H: (H == 0).sum() / len(H), "length of the first axis"),
    ("sparsity", lambda H: float((np.round(H, 2) == 0).mean()), "small numbers"),
    ("sparsity", lambda H: float((H.astype(int) == 0).mean()), "cut to whole numbers first"),
    ("sparsity", lambda H: (H == 0).sum() // H.size, "by // or np.all"),
    ("sparsity", lambda H: round(float((H == 0).mean()), 2), "rounded to 2 digits"),
    ("sparsity", lambda H: float((H == 0).mean()) ** 2, "** 2` stands where"),
    ("sparsity", lambda H: float((H[0] == 0).mean()), "only the first row"),
    ("sparsity", lambda H: f"{(H == 0).mean():.2f}", "text"),
    ("sparsity", lambda H: 1 - np.count_nonzero(H), "`np.count_nonzero(H)` stands where"),
    ("sparsity", counted_in_rows, "every call in which H has 2 axes is right"),
    ("active_per_token", lambda H, eps: np.array([np.mean(np.abs(row) > eps) for row in H]), "H has 2 axes is right"),
    ("sparse_feed_forward", lambda x, W1, b1, W2, b2: (x @ W1 + b1) @ W2[x @ W1 + b1 > 0] + b2, "all hidden values"),
    ("sparse_feed_forward", by_columns, "columns of W2"),
    ("sparse_feed_forward", at_least_zero, "h >= 0 holds for all"),
    ("active_per_token", lambda H, eps: (torch.as_tensor(H).abs() > eps).mean(-1), "neither truth values nor whole"),
    ("active_per_token", lambda H, eps: np.abs(eps < H).mean(-1), "the sign is kept"),
    ("active_per_token", lambda H, eps: (np.maximum(H, 0) > eps).mean(-1), "the sign is kept"),
    ("active_per_token", lambda H, eps: (np.abs(H) >= eps).mean(-1), "whose size equals eps"),
    ("active_per_token", lambda H, eps: (np.abs(H).mean(-1) > eps) * 1.0, "mean size of a token is compared"),
    ("active_per_token", lambda H, eps: (np.abs(H) > eps).mean(1), "taken over axis 1"),
    ("active_per_token", lambda H, eps: [sum(abs(v) > eps for v in row) / len(row) for row in H], "taken over axis 1"),
    ("active_per_token", lambda H, eps: (np.abs(H) > eps).mean(-1).mean(), "one share for all tokens"),
    ("active_per_token", lambda H, eps: (np.abs(H) > 2 * eps).mean(-1), "stands where"),
    ("active_per_token", lambda H, eps: (np.abs(H) > 0.5).mean(-1), "0.5 stands in the place of eps"),
    ("active_per_token", lambda H, eps: (np.abs(H) > eps).sum(-1) / len(H), "length of the first axis"),
    ("active_per_token", lambda H, eps: (np.abs(H) > eps) * H, "values themselves are returned"),
    ("active_per_token", lambda H, eps: (np.abs(H) > eps).mean(-1, keepdims=True), "kept with length 1"),
    ("active_per_token", lambda H, eps: (np.abs(H) > eps).mean(-1).astype(np.float32), "float32"),
    ("sparse_feed_forward", layer.feed_forward, "0 times nan is nan"),
    ("sparse_feed_forward", bias_in_the_loop, "added once for every unit"),
    ("sparse_feed_forward", overwritten, "only the last firing unit"),
    ("sparse_feed_forward", broken_off, "ends at the first silent unit"),
    ("sparse_feed_forward", writes_into_b2, "b2 holds other values after the call"),
    ("sparse_feed_forward", none_when_silent, "end without a result: None comes back"),
    ("sparse_feed_forward", lambda x, W1, b1, W2, b2: fires_by_where(x, W1, b1, np.nan_to_num(W2), b2), "every nan"),
    ("sparse_feed_forward", lambda *args: np.nan_to_num(layer.feed_forward(*args)), "nan in the result"),
    ("sparse_feed_forward", lambda x, W1, b1, W2, b2: W2[x @ W1 + b1 > 0].sum(0) + b2, "without their hidden values"),
    ("sparse_feed_forward", lambda x, W1, b1, W2, b2: (x @ W1)[x @ W1 > 0] @ W2[x @ W1 > 0] + b2, "b1 is left out"),
    ("sparse_feed_forward", lambda x, W1, b1, W2, b2: fires_by_loop(x, W1, b1, W2, b2) + x, "x is added"),
    ("sparse_feed_forward", lambda *args: np.maximum(fires_by_loop(*args), 0), "second ReLU"),
    ("sparsity", lambda H: next(float(h == 0) / H.size for h in H.flat), "only the first entry is counted"),
    ("sparsity", lambda H: np.sum(np.atleast_2d(H)[-1] == 0) / H.size, "only the zeros of the last row"),
    ("sparsity", lambda H: H.tolist().count(0) / len(H), "the rows themselves are compared with 0"),
    ("sparsity", lambda H: np.mean(np.all(H == 0, axis=0)), "only columns, along the first axis"),
    ("sparse_feed_forward", lambda *args: fires_beyond(1e-6, *args), "a threshold of 1e-06"),
    ("sparse_feed_forward", lambda *args: (fires_by_loop(*args), args[0] > 0), "[0] of them is right in every call"),
    ("sparse_feed_forward", better_half, "half of the units are read"),
    ("sparsity", lambda H: 1 - np.count_nonzero(H) / len(H), "first axis, and taken from 1"),
    ("sparsity", lambda H: sum(not np.any(part) for part in H) / len(H), "only slices along the first"),
    ("sparsity", lambda H: next((i for i, h in enumerate(H.flat) if h), H.size) / H.size, "before the first other"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "answer", "words"), WRONG)
def test_a_wrong_answer_nobody_listed_is_explained(name, answer, words):
    verdict = verdict_on(lessons.exercise(name), answer)
    assert verdict.status == NOT_YET
    assert words in verdict.message, verdict.message


def test_silent_rows_never_leak_and_firing_ones_always_do():
    rng = np.random.default_rng(5)
    x, W1, b1, W2, b2 = (rng.normal(size=size) for size in (4, (4, 9), 9, (9, 4), 4))
    h = x @ W1 + b1
    expected = layer.feed_forward(x, W1, b1, W2, b2)
    W2[h <= 0] = np.nan
    for sparse in (library.sparse_feed_forward, lessons.exercise("sparse_feed_forward").oracle):
        np.testing.assert_allclose(sparse(x, W1, b1, W2, b2), expected, rtol=0, atol=1e-12)
        leaking = W2.copy()
        leaking[np.argmax(h), 2] = np.nan
        assert np.isnan(sparse(x, W1, b1, leaking, b2)).tolist() == [False, False, True, False]


def test_the_shares_agree_with_counting_by_hand():
    H = np.array([[0.0, -2.0, 0.5, 0.0], [0.0, 0.0, 0.0, 1.0]])
    assert lessons.exercise("sparsity").oracle(H) == library.sparsity(H) == 5 / 8
    for active in (library.active_per_token, lessons.exercise("active_per_token").oracle):
        assert active(H, 0.5).tolist() == [0.25, 0.25]
    assert library.dead_units(H) == lessons.exercise("dead_units").oracle(H) == 1
