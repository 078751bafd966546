"""Lesson 12: edits agree with other algebra, unusual right answers pass, wrong ones are explained or left alone."""

# ruff: noqa: E501 (one answer and what it is told a line)

from __future__ import annotations

import itertools
from collections import OrderedDict, namedtuple
from decimal import Decimal

import numpy as np
import pytest
import torch

from ffnlib import editing, layer
from ffnlib.examination import lessons
from ffnlib.examination.lessons import lesson12
from tests.lessons.answering import assert_passes, assert_told

solve, inv = np.linalg.solve, np.linalg.inv
ORACLE = {exercise.id: exercise.oracle for exercise in lessons.exercises("12_editing_facts")}
rome_update, rome_layer = ORACLE["rome_update"], ORACLE["rome_layer"]


@pytest.mark.parametrize(("d", "d_ff"), [(3, 5), (4, 4), (5, 2), (1, 1)])
def test_the_edit_answers_the_target_and_no_other_edit_moves_the_keys_less(d, d_ff):
    rng = np.random.default_rng(d)
    W, C, k, v = lesson12.rome_case(rng, d, d_ff)
    edited = rome_update(W, C, k, v)
    np.testing.assert_allclose(edited @ k, v)
    cost = np.trace((edited - W) @ C @ (edited - W).T)
    for _ in range(5):
        other = edited + rng.normal(size=(d, d_ff)) @ (np.eye(d_ff) - np.outer(k, k) / (k @ k))
        np.testing.assert_allclose(other @ k, v)
        assert np.trace((other - W) @ C @ (other - W).T) >= cost - 1e-9


def test_the_edit_is_the_library_s_in_the_other_convention():
    W, C, k, v = lesson12.rome_case(np.random.default_rng(0), 3, 5)
    np.testing.assert_allclose(rome_update(W, C, k, v), editing.rank_one_update(W.T, k, v - W @ k, C).T)


def test_the_edited_layer_answers_v_to_x():
    W1, b1, W2, b2, x, v, C = lesson12.rome_layer_case(np.random.default_rng(3), 4, 6)
    np.testing.assert_allclose(
        layer.feed_forward_columns(x, *(lambda a, c, d: (a, b1, c, d))(*rome_layer(W1, b1, W2, b2, x, v, C))), v
    )


def test_attributions_add_up_to_the_change_along_the_way():
    a = np.array([1.0, -2.0, 0.5])
    total = lessons.exercise("neuron_attribution").oracle(lambda h: 3 * h**2, a, 2000).sum()
    assert total == pytest.approx((a**3).sum(), rel=1e-2)


def test_an_empty_group_of_prompts_scores_nan():
    nothing = np.zeros(0, dtype=int)
    scores = ORACLE["edit_scores"](np.array([1, 2]), np.array([3, 2]), 3, nothing, np.array([1]))
    assert scores["efficacy"] == 1 and np.isnan(scores["paraphrase"]) and scores["neighbourhood"] == 1


# ---------------------------------------------------------------- right answers, however unusual


def refuse(k):
    if not np.any(k):
        raise ValueError("zero key")


def by_inverse(W, C, k, v):
    refuse(k)
    u = inv(C) @ k
    return W + np.outer(v - W @ k, u) / (k @ u)


def by_least_squares(W, C, k, v):
    if np.linalg.norm(k) == 0:
        raise ValueError
    u = np.linalg.lstsq(C, k, rcond=None)[0]
    return W + ((v - W @ k) / (u @ k))[:, None] * u[None, :]


def by_torch(W, C, k, v):
    refuse(k)
    W, C, k, v = (torch.tensor(np.asarray(a, dtype=float)) for a in (W, C, k, v))
    u = torch.linalg.solve(C, k)
    return W + torch.outer(v - W @ k, u) / (u @ k)


def by_rows(W, C, k, v):
    if all(x == 0 for x in k):
        raise ValueError
    W, u = np.array(W, dtype=float), solve(C, k)
    for i in range(len(W)):
        W[i] += (v[i] - sum(W[i] * k)) * u / sum(u * k)
    return W


def by_lagrange(W, C, k, v):
    refuse(k)
    n = len(k)
    system = np.block([[2 * C, k[:, None]], [k[None, :], np.zeros((1, 1))]])
    return [W[i] + solve(system, np.append(np.zeros(n), v[i] - W[i] @ k))[:n] for i in range(len(v))]


def by_cholesky(W, C, k, v):
    refuse(k)
    L = np.linalg.cholesky(C)
    whitened = solve(L, k)
    return W + np.outer(v - W @ k, solve(L.T, whitened)) / (whitened @ whitened)


def by_columns(W, C, k, v):
    refuse(k)
    k, v, P = k.reshape(-1, 1), v.reshape(-1, 1), np.linalg.pinv(C)
    return W + (v - W @ k) @ (k.T @ P) / (k.T @ P @ k)


def with_rate(W, C, k, v, alpha=1.0):
    refuse(k)
    u = solve(C, k)
    return W + alpha * np.einsum("i,j->ij", v - W @ k, u / (k @ u))


class LinearRefusal(ValueError):
    """A refusal of one's own."""


def own_error(W, C, k, v):
    if not k.any():
        raise LinearRefusal
    return by_inverse(W, C, k, v)


UPDATES = (by_inverse, by_least_squares, by_torch, by_rows, by_lagrange, by_cholesky, by_columns, with_rate, own_error)


@pytest.mark.parametrize("answer", UPDATES, ids=lambda f: f.__name__)
def test_every_algebra_of_the_edit_passes(answer):
    assert_passes("rome_update", answer)


@pytest.mark.parametrize("update", UPDATES, ids=lambda f: f.__name__)
def test_every_algebra_of_the_edited_layer_passes(update):
    assert_passes(
        "rome_layer", lambda W1, b1, W2, b2, x, v, C: (W1, update(W2, C, np.maximum(0, W1 @ x + b1), v - b2), b2)
    )


def layer_by_library(W1, b1, W2, b2, x, v, C):
    key = layer.hidden_units(x, W1.T, b1)
    return [W1, editing.rank_one_update(W2.T, key, v - b2 - W2 @ key, C).T, b2]


Layer = namedtuple("Layer", "W1 W2 b2")


def layer_with_names(*args):
    return Layer(*layer_by_library(*args))


def layer_in_lists(W1, b1, W2, b2, x, v, C):
    hidden = W1 @ x + b1
    return W1.copy().tolist(), by_rows(W2, C, np.where(hidden > 0, hidden, 0), v - b2).tolist(), b2.tolist()


@pytest.mark.parametrize("answer", [layer_by_library, layer_in_lists, layer_with_names])
def test_other_ways_to_the_edited_layer_pass(answer):
    assert_passes("rome_layer", answer)


def attribution_by_loop(grad, w, m):
    total = 0 * w
    for j in range(m):
        total = total + grad((j + 1) / m * w)
    return (total * w / m).tolist()


def attribution_by_torch(grad, w, m):
    return torch.tensor(w) * torch.stack([torch.tensor(grad(j * w / m)) for j in range(1, m + 1)]).mean(0)


def attribution_by_recursion(grad, w, m, j=1):
    here = w * grad(w * j / m) / m
    return here if j == m else here + attribution_by_recursion(grad, w, m, j + 1)


@pytest.mark.parametrize(
    "answer",
    [
        attribution_by_loop,
        attribution_by_torch,
        attribution_by_recursion,
        lambda grad, w, m: w * sum(grad(w * t) for t in np.linspace(1 / m, 1, m)) / m,
        lambda grad, w, m: np.average([w * grad(np.array(w) * j / m) for j in range(m, 0, -1)], axis=0),
        lambda grad, w, m: np.einsum("i,ji->i", w, [grad(j / m * w) for j in range(1, m + 1)]) / m,
        lambda grad, w, m: w * np.array(list(map(grad, np.outer(np.arange(1, m + 1) / m, w)))).mean(axis=0),
        lambda grad, w, m: w * np.apply_along_axis(grad, 1, np.arange(1, m + 1)[:, None] / m * w).mean(0),
    ],
)
def test_other_ways_to_the_attribution_pass(answer):
    assert_passes("neuron_attribution", answer)


nan = float("nan")


def scores(efficacy, paraphrase, neighbourhood):
    return {"efficacy": efficacy, "paraphrase": paraphrase, "neighbourhood": neighbourhood}


def share(hits):
    return float(np.mean(hits)) if len(hits) else nan


def scores_by_loops(before, after, target, paraphrases, neighbours):
    def of(hits):
        return sum(hits) / len(hits) if hits else nan

    return scores(
        int(after[0] == target),
        of([int(after[i] == target) for i in paraphrases]),
        of([after[i] == before[i] for i in neighbours]),
    )


@pytest.mark.parametrize(
    "answer",
    [
        scores_by_loops,
        lambda *args: OrderedDict(scores_by_loops(*args)),
        lambda *args: {name: Decimal(score) for name, score in scores_by_loops(*args).items()},
        lambda b, a, t, p, n: scores(a[0] == t, np.mean(a[p] == t) if len(p) else nan, (a[n] == b[n]).mean() if n.size else np.nan),
        lambda b, a, t, p, n: {"neighbourhood": np.mean(a[n] == b[n]), "efficacy": 1.0 * (a[0] == t), "paraphrase": np.mean(a[p] == t)},
        lambda b, a, t, p, n: dict(zip(("efficacy", "paraphrase", "neighbourhood"), (bool(a[0] == t), 1 - share(a[p] != t), torch.tensor(share((a - b)[n] == 0), dtype=torch.float64)))),
    ],
)  # fmt: skip
def test_other_ways_to_the_scores_pass(answer):
    assert_passes("edit_scores", answer)


# ---------------------------------------------------------------- wrong answers nobody listed


def update(
    direction=lambda C, k: solve(C, k),
    gap=lambda W, k, v: v - W @ k,
    below=lambda k, u: k @ u,
    guard=refuse,
    after=lambda W: W,
):
    """Return an edit with some parts replaced."""

    def answer(W, C, k, v):
        given_up = guard(k)
        if given_up is not None:
            return W
        u = direction(C, k)
        return after(W + np.outer(gap(W, k, v), u) / below(k, u))

    return answer


def unguarded(k):
    return None


def passes_zero(k):
    return None if np.any(k) else "W"


def asserts(k):
    assert np.any(k)


def refuses_any_zero(k):
    if not np.all(k):
        raise ValueError


def refuses_small(k):
    if np.linalg.norm(k) < 0.2:
        raise ValueError


def writes_into_W(W, C, k, v):
    refuse(k)
    u = solve(C, k)
    W += np.outer(v - W @ k, u) / (k @ u)
    return W


def swapped(C, W, k, v):
    return by_inverse(W, C, k, v)


def asks_an_array(W, C, k, v):
    if k == 0:
        raise ValueError("zero")
    return W + np.outer(v - W @ k, np.linalg.solve(C, k)) / (k @ np.linalg.solve(C, k))


def without_a_column(W, C, k, v):
    if not k.any():
        raise ValueError("zero")
    return W + (v - W @ k) @ np.linalg.solve(C, k).T / (k @ np.linalg.solve(C, k))


def divided_without_brackets(W, C, k, v):
    if not k.any():
        raise ValueError("zero")
    return W + np.outer(v - W @ k, np.linalg.solve(C, k)) / k @ np.linalg.solve(C, k)


WRONG_UPDATES = [
    (divided_without_brackets, "has no brackets, so that only k divides"),
    (asks_an_array, "if, and, or, not, min and max ask one question of a whole array"),
    (without_a_column, "two vectors meet in @"),
    (update(guard=unguarded), "a zero key is not refused, and zero is divided by zero"),
    (update(guard=passes_zero), "a zero key is not refused: W comes back unchanged"),
    (update(guard=asserts), "AssertionError is raised where ValueError is asked for"),
    (update(guard=refuses_any_zero), "ValueError is raised for arguments that have an answer"),
    (update(guard=refuses_small), "ValueError is raised for arguments that have an answer"),
    (update(direction=lambda C, k: k, guard=passes_zero), "C is not used"),
    (update(gap=lambda W, k, v: v, guard=passes_zero), "v is added instead of v - W k"),
    (update(direction=lambda C, k: C @ k), "C k stands in the place of C^-1 k"),
    (update(direction=lambda C, k: solve(C + 0.1 * np.eye(len(k)), k)), "a tenth of the identity is added to C"),
    (update(direction=lambda C, k: solve(np.linalg.cholesky(C), k)), "the Cholesky factor of C"),
    (update(direction=lambda C, k: k / np.diag(C), gap=lambda W, k, v: v), "only the diagonal of C is used, and v is added instead of v - W k"),
    (update(below=lambda k, u: u @ u), "the squared length of C^-1 k"),
    (update(below=lambda k, u: k @ k / 2), "the update is divided by k k, and the update is added twice"),
    (update(below=lambda k, u: -(k @ u)), "W k - v stands in the place of v - W k"),
    (update(gap=lambda W, k, v: -(W @ k)), "the answer to the key is set to zero"),
    (update(gap=lambda W, k, v: 0.1 * (v - W @ k)), "a tenth of the update is added"),
    (update(after=lambda W: W.astype(np.float32)), "float32"),
    (update(after=lambda W: np.round(W, 4)), "rounded to 4 digits"),
    (update(after=lambda W: W.T), "the result is transposed"),
    (update(after=lambda W: np.asmatrix(W)), "np.matrix"),
    (update(after=lambda W: (W,)), "tuple"),
    (writes_into_W, "an array of whole numbers cannot take fractions"),
    (swapped, "the definition takes (C, W, k, v)"),
    (lambda W, C, k, v: refuse(k) or np.outer(v - W @ k, k) / (k @ k), "C is not used, and W is left out"),
    (lambda W, C, k, v: refuse(k) or W + np.outer(v - W @ k, solve(C, solve(C, k))) / (k @ solve(C, k)), "C is inverted twice above the fraction bar"),
    (lambda W, C, k, v: refuse(k) or W * 1.5 + np.outer(v, k), None),
    (lambda W, C, k, v: refuse(k) or W + (v - W @ k) * solve(C, k) / (k @ solve(C, k)), "multiplied entry by entry"),
    (lambda W, C, k, v: refuse(k) or by_inverse(W, C, k / np.linalg.norm(k), v), "the key is scaled to length 1"),
    (lambda W, C, k, v: refuse(k) or (by_inverse(W, C, k, v), by_inverse(0 * W, C, k, v)), "[0] of them is right in every call"),
    (lambda W, C, k, v: refuse(0 * k), "ValueError is raised for arguments that have an answer, in every call"),
    (lambda W, C, k, v: refuse(k) or W + np.outer(v - W @ k, solve(k, C)), "a vector where a matrix belongs"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "told"), WRONG_UPDATES)
def test_a_wrong_edit_is_explained_or_left_alone(answer, told):
    assert_told("rome_update", answer, told)


def edited(
    key=lambda W1, b1, x: np.maximum(0, W1 @ x + b1),
    target=lambda b2, v: v - b2,
    by=by_inverse,
    returns=lambda W1, W2, b1, b2, v: (W1, W2, b2),
):
    """Return an edited layer with some parts replaced."""

    def answer(W1, b1, W2, b2, x, v, C):
        return returns(W1, by(W2, C, key(W1, b1, x), target(b2, v)), b1, b2, v)

    return answer


def moves_b2(W1, b1, W2, b2, x, v, C):
    return W1, W2, v - W2 @ np.maximum(0, W1 @ x + b1)


def writes_into_W2(W1, b1, W2, b2, x, v, C):
    W2 += by_inverse(W2, C, np.maximum(0, W1 @ x + b1), v - b2) - W2
    return W1, W2, b2


WRONG_LAYERS = [
    (edited(target=lambda b2, v: v), "the target of W2 is v instead of v - b2"),
    (edited(target=lambda b2, v: v, by=update(direction=lambda C, k: k)), "the target of W2 is v instead of v - b2, and in the edit of W2 C is not used"),
    (edited(target=lambda b2, v: (v - b2) / 2), "half of the target is used"),
    (edited(by=update(guard=unguarded)), "a zero key is not refused, and zero is divided by zero"),
    (edited(by=update(guard=asserts)), "AssertionError is raised where ValueError is asked for"),
    (edited(by=update(guard=refuses_any_zero)), "ValueError is raised"),
    (edited(key=lambda W1, b1, x: W1 @ x + b1), "the key is taken without ReLU"),
    (edited(key=lambda W1, b1, x: np.maximum(0, W1 @ x)), "the key is taken without b1"),
    (edited(key=lambda W1, b1, x: np.maximum(0.01 * (W1 @ x + b1), W1 @ x + b1)), "a leaky ReLU"),
    (edited(key=lambda W1, b1, x: np.maximum(0, W1 @ x + b1), by=update(direction=lambda C, k: C @ k)), "C k stands in the place of C^-1 k"),
    (edited(by=update(below=lambda k, u: 1.0)), "the update is not divided"),
    (edited(returns=lambda W1, W2, b1, b2, v: W2), "is asked for"),
    (edited(returns=lambda W1, W2, b1, b2, v: (W1, b1, W2, b2)), "4 parts came back"),
    (edited(returns=lambda W1, W2, b1, b2, v: (W1, W2, b1)), "b1 is returned in the place of b2"),
    (edited(returns=lambda W1, W2, b1, b2, v: (W1, W2, v - b2)), "v - b2 is returned in the place of b2"),
    (edited(target=lambda b2, v: v, returns=lambda W1, W2, b1, b2, v: (W1, W2, v)), "the target of W2 is v instead of v - b2, and v is returned in the place of b2"),
    (edited(returns=lambda W1, W2, b1, b2, v: {"W2": W2}), "a dict came back"),
    (moves_b2, "b2 is changed instead of W2"),
    (writes_into_W2, "the answer writes into its input"),
    (edited(returns=lambda W1, W2, b1, b2, v: (W1 + 1, 3 * W2, b2)), None),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "told"), WRONG_LAYERS)
def test_a_wrongly_edited_layer_is_explained_or_left_alone(answer, told):
    assert_told("rome_layer", answer, told)


def test_an_input_of_zeros_may_fire_units_and_is_not_to_be_refused():
    def answer(W1, b1, W2, b2, x, v, C):
        refuse(x)
        return rome_layer(W1, b1, W2, b2, x, v, C)

    assert_told("rome_layer", answer, "ValueError is raised for arguments that have an answer")


WRONG_ATTRIBUTIONS = [
    (lambda grad, w, m: w * sum(grad(w * t) for t in np.linspace(0, 1, m + 1)) / m, "one gradient too many is added"),
    (lambda grad, w, m: w * sum(grad(w * t) for t in np.linspace(0, 1, m + 1)) / (m + 1), "the mean has m + 1 gradients"),
    (lambda grad, w, m: np.dot(w, sum(grad(w * j / m) for j in range(1, m + 1)) / m), "the attributions are added up over the units"),
    (lambda grad, w, m: w * np.mean([grad(j / m * w) for j in range(1, m)], axis=0), "j stops at m - 1"),
    (lambda grad, w, m: w * grad(np.mean([j / m * w for j in range(1, m + 1)], axis=0)), "the gradient is taken once"),
    (lambda grad, w, m: w * np.mean(grad(np.arange(1, m + 1)[:, None] / m * w), axis=0), "grad is called with all points at once"),
    (lambda grad, w, m: [w * grad(j / m * w) for j in range(1, m + 1)], "the m products come back without being averaged"),
    (lambda grad, w, m: w * np.mean([grad(w * (j / m) ** 2) for j in range(1, m + 1)], axis=0), "(j / m) ** 2"),
    (lambda grad, w, m: w - np.mean([grad(j / m * w) for j in range(1, m + 1)], axis=0), "the mean gradient is subtracted from w"),
    (lambda grad, w, m: w * np.mean([grad(j / 20 * w) for j in range(1, 21)], axis=0), "20 points are used"),
    (lambda grad, w, m: w * np.mean([grad(np.abs(j / m * w)) for j in range(1, m + 1)], axis=0), "the signs of the points are lost"),
    (lambda grad, w, m: w * np.mean([grad(j / m) for j in range(1, m + 1)], axis=0), "with the number j / m"),
    (lambda grad, w, m: (w * grad(w)).astype(np.float32), "only the gradient at w is used"),
    (lambda grad, w, m: w * grad(w + 1) + 3, None),
    (lambda grad, w, m: next(w * grad(j / m * w) / m for j in range(1, m + 1)), "only the first gradient is kept"),
    (lambda grad, w, m: w * sum(grad(p) for p in itertools.accumulate(range(1, m + 1), lambda p, j: p * j / m, initial=w) if p is not w) / m, "the one before it times j / m"),
    (lambda grad, w, m: w * np.mean([grad((j * w) // m) for j in range(1, m + 1)], axis=0), "rounded down to whole numbers"),
    (lambda grad, w, m: w * sum([grad(j / m * w) for j in range(2, m)], grad(w / m)) / m, "left out where m is above 1"),
    (lambda grad, w, m: w * np.mean([np.maximum(grad(j / m * w), 0) for j in range(1, m + 1)], axis=0), "gradients below 0"),
    (lambda grad, w, m: np.round(attribution_by_loop(grad, w, m), 2), "the result is rounded to 2 digits"),
    (lambda grad, w, m: w * grad, "a function itself stands in a calculation"),
    (lambda grad, w, m: np.maximum(attribution_by_loop(grad, w, m), 0), "attributions below 0 are set to 0"),
    (lambda grad, w, m: np.divide(attribution_by_loop(grad, w, m), np.sum(attribution_by_loop(grad, w, m))), "divided by their sum"),
    (lambda grad, w, m: w * sum(grad(j / m * w) for j in range(1, m + 1)) / len(w), "divided by the number of units"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "told"), WRONG_ATTRIBUTIONS)
def test_a_wrong_attribution_is_explained_or_left_alone(answer, told):
    assert_told("neuron_attribution", answer, told)


WRONG_SCORES = [
    (lambda b, a, t, p, n: scores(float(a[0] == t), share(b[p] == t), share(b[n] == t)), "looks at the answers before the edit, and the neighbourhood score compares the answers before the edit"),
    (lambda b, a, t, p, n: scores(float(b[0] != a[0]), share(a[p] == t), share(a[n] != b[n])), "efficacy counts any change of the answer, and the neighbourhood score counts neighbours that changed"),
    (lambda b, a, t, p, n: scores(float(a[0] == t), share(a[1:] == t), share(a[1:] == b[1:])), "over all prompts but the edited one, and the neighbourhood score"),
    (lambda b, a, t, p, n: scores(float(a[0] == t), sum(a[p] == t), share(a[n] == b[n])), "the paraphrases that hit are counted"),
    (lambda b, a, t, p, n: scores(float(a[0] == t), share(a[p - 1] == t), share(a[n] == b[n])), "one prompt too early"),
    (lambda b, a, t, p, n: scores(100.0 * (a[0] == t), share(a[p] == t), share(a[n] == b[n])), "efficacy is given in percent"),
    (lambda b, a, t, p, n: scores(float(a[0] == t), share(a[p] == t), share((a[n] == b[n]) & (a[n] != t))), "answered the target all along do not count"),
    (lambda b, a, t, p, n: scores(float(a[0] == t), sum((a[p] == t).tolist()) / len(p), sum((a[n] == b[n]).tolist()) / len(n)), "an empty group divides by zero"),
    (lambda b, a, t, p, n: (float(a[0] == t), share(a[p] == t), share(a[n] == b[n])), "a dict with the keys"),
    (lambda b, a, t, p, n: {"efficacy": 1.0, "paraphrases": share(a[p] == t), "neighbourhood": share(a[n] == b[n])}, "the keys are"),
    (lambda b, a, t, p, n: scores(a[0] == t, a[p] == t, a[n] == b[n]), "in paraphrase"),
    (lambda b, a, t, p, n: scores(float(a[0] == t), share(a[n] == t), share(a[p] == b[p])), "paraphrases and neighbours have changed places"),
    (lambda b, a, t, p, n: scores(float(b[0] == t), share(b[p] == t), share(a[n] == b[n])), "before and after have changed places"),
    (lambda b, a, t, p, n: scores(0.5, share(a[p] == t) ** 2, share(a[n] == b[n])), None),
    (lambda b, a, t, p, n: scores(float(t in a), share(a[p] == t), share(a[n] == b[n])), "as soon as any prompt answers the target"),
    (lambda b, a, t, p, n: scores(float(a[0] == t), np.mean(a[p] == t) if len(p) else None, share(a[n] == b[n])), "in paraphrase: None stands where a number is asked for"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "told"), WRONG_SCORES)
def test_wrong_scores_are_explained_or_left_alone(answer, told):
    assert_told("edit_scores", answer, told)
