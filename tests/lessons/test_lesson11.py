# ruff: noqa: E501 - one answer and its cause are one line of a table
"""Lesson 11: unusual right answers pass, and wrong ones that nobody listed are explained or left unexplained."""

from __future__ import annotations

import functools
import heapq
import math

import numpy as np
import pytest
import torch

from ffnlib import layer, memory
from ffnlib.examination import lessons
from ffnlib.examination.verdict import NOT_YET
from tests.lessons.answering import assert_passes
from tests.lessons.test_exercises import verdict_on


def rows_by_loops(x, W1, b1, W2):
    rows = []
    for unit in range(W1.shape[1]):
        strength = sum(float(v) * W1[i, unit] for i, v in enumerate(x)) + b1[unit]
        rows.append([max(strength, 0.0) * value for value in W2[unit]])
    return rows


class Contributions:
    def __call__(self, x, W1, b1, W2):
        return np.diag(np.clip(x.dot(W1) + b1, 0, None)) @ W2


def leave_one_out(x, W1, b1, W2):
    """What a unit adds is what is missing without it."""
    whole = layer.feed_forward(x, W1, b1, W2, 0.0)
    others = [
        layer.feed_forward(x, np.delete(W1, i, 1), np.delete(b1, i), np.delete(W2, i, 0), 0.0) for i in range(len(W2))
    ]
    return whole - np.array(others)


def chosen_by_heap(H, unit, k):
    return heapq.nlargest(k, range(len(H)), key=lambda t: H[t, unit])


def chosen_one_by_one(H, unit, k):
    column, found = H[:, unit].astype(float), []
    while len(found) < k:
        found.append(int(np.argmax(column)))
        column[found[-1]] = -np.inf
    return np.array(found)


def chosen_by_partition(H, unit, k):
    column = H[:, unit]
    best = np.argpartition(column, len(column) - k)[len(column) - k :]
    return best[np.argsort(column[best])[::-1]]


def votes_by_loops(v, E):
    scores = [math.fsum(float(e) * float(c) for e, c in zip(row, v)) for row in E]
    largest = max(scores)
    exponentials = [math.exp(s - largest) for s in scores]
    return [e / math.fsum(exponentials) for e in exponentials]


def votes_against_each_other(v, E):
    s = E @ v
    with np.errstate(over="ignore"):
        return 1 / np.exp(s[None, :] - s[:, None]).sum(axis=1)


def lens_row_by_row(h, gamma, beta, W_U, eps):
    if np.ndim(h) > 1:
        return np.array([lens_row_by_row(row, gamma, beta, W_U, eps) for row in h]).reshape(
            *np.shape(h)[:-1], W_U.shape[1]
        )
    return ((h - h.mean()) / np.sqrt(h.var() + eps) * gamma + beta) @ W_U


def lens_in_torch(h, gamma, beta, W_U, eps):
    h, gamma, beta, W_U = (torch.tensor(np.array(a, dtype=float), requires_grad=True) for a in (h, gamma, beta, W_U))
    return torch.nn.functional.layer_norm(h, h.shape[-1:], gamma, beta, eps) @ W_U


def lens_folded(h, gamma, beta, W_U, eps):
    """gamma and beta folded into the unembedding, as interpretability tools do."""
    folded, bias = gamma[:, None] * W_U, beta @ W_U
    return (h - h.mean(-1, keepdims=True)) / np.sqrt(h.var(-1, keepdims=True) + eps) @ folded + bias


RIGHT = (
    ("kv_contributions", rows_by_loops),
    ("kv_contributions", Contributions()),
    ("kv_contributions", leave_one_out),
    ("kv_contributions", lambda x, W1, b1, W2: tuple(max(0, c) * row for c, row in zip(x @ W1 + b1, W2))),
    ("kv_contributions", lambda x, W1, b1, W2: np.einsum("f,fd->fd", np.maximum(0, x @ W1 + b1), W2)),
    ("kv_contributions", lambda x, W1, b1, W2: (W2.T * np.maximum(0, x @ W1 + b1)).T),
    ("kv_contributions", lambda x, W1, b1, W2: layer.hidden_units(x, W1, b1).reshape(-1, 1) * W2),
    ("kv_contributions", lambda x, W1, b1, W2: torch.relu(torch.tensor(x @ W1 + b1)).unsqueeze(1) * torch.tensor(W2)),
    ("kv_contributions", lambda x, W1, b1, W2: [max(0, c) * row for c, row in zip(x @ W1 + b1, W2)]),
    ("kv_contributions", lambda x, W1, b1, W2: np.where((x @ W1 + b1 > 0)[:, None], np.outer(x @ W1 + b1, np.ones(len(x))) * W2, 0)),
    ("kv_contributions", lambda x, W1, b1, W2: np.multiply(W2, np.expand_dims(np.maximum(W1.T @ x + b1, 0), 1))),
    ("kv_contributions", lambda x, W1, b1, W2, act=layer.relu: act(x @ W1 + b1)[..., None] * W2),
    ("top_triggers", chosen_by_heap),
    ("top_triggers", chosen_one_by_one),
    ("top_triggers", chosen_by_partition),
    ("top_triggers", lambda H, unit, k: np.argsort(H[:, unit])[::-1][:k]),
    ("top_triggers", lambda H, unit, k: np.argsort(H[:, unit])[-k:][::-1]),
    ("top_triggers", lambda H, unit, k: np.argsort(-H, axis=0)[:k, unit]),
    ("top_triggers", lambda H, unit, k: torch.topk(torch.tensor(H[:, unit].copy()), k).indices),
    ("top_triggers", lambda H, unit, k: sorted(range(len(H)), key=lambda t: -H[t][unit])[:k]),
    ("top_triggers", lambda H, unit, k: np.lexsort((-np.arange(len(H)), -H[:, unit]))[:k]),
    ("top_triggers", lambda H, unit, k: np.flip(np.argsort(H.T[unit], kind="mergesort"))[:k] - len(H)),
    ("top_triggers", lambda H, unit, k: tuple(float(t) for t in np.argsort(-H[:, unit])[:k])),
    ("top_triggers", functools.partial(lambda H, unit, k, sign: np.argsort(sign * H[:, unit])[:k], sign=-1)),
    ("value_distribution", votes_by_loops),
    ("value_distribution", votes_against_each_other),
    ("value_distribution", lambda v, E: torch.softmax(torch.tensor(E @ v * 1.0), dim=0)),
    ("value_distribution", lambda v, E: np.exp(E @ v - np.logaddexp.reduce(E @ v))),
    ("value_distribution", lambda v, E: np.exp((v @ E.T) - (v @ E.T).max()) / np.exp((v @ E.T) - (v @ E.T).max()).sum()),
    ("value_distribution", lambda v, E: (lambda s: s / s.sum())(np.exp(np.dot(E, v) - max(np.dot(E, v))))),
    ("value_distribution", lambda v, E: torch.log_softmax(torch.tensor(E, dtype=torch.float64) @ torch.tensor(v, dtype=torch.float64), 0).exp()),
    ("value_distribution", lambda v, E: np.array(votes_by_loops(v, E))),
    ("value_distribution", lambda v, E: (lambda e: e / np.linalg.norm(e, 1))(np.exp(np.einsum("wd,d->w", E, v) - np.amax(E @ v)))),
    ("value_distribution", lambda v, E, temperature=1.0: (lambda e: e / e.sum())(np.exp((E @ v - (E @ v).max()) / temperature))),
    ("logit_lens", lens_row_by_row),
    ("logit_lens", lens_in_torch),
    ("logit_lens", lens_folded),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: layer.layer_norm(h, gamma, beta, eps) @ W_U),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: np.einsum("...d,dv->...v", layer.layer_norm(h, gamma, beta, eps), W_U)),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: np.tensordot(layer.layer_norm(h, gamma, beta, eps), W_U, axes=1)),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: layer.add_and_norm(h, 0, gamma, beta, eps).dot(W_U)),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: layer.rms_norm(h - h.mean(-1, keepdims=True), gamma, eps) @ W_U + beta @ W_U),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: torch.tensor(lens_folded(h, gamma, beta, W_U, eps))),
    ("logit_lens", lambda h, g, b, U, e: lens_folded(h, g, b, U, e).tolist() if h.size else lens_folded(h, g, b, U, e)),
)  # fmt: skip


@pytest.mark.parametrize("exercise_id, answer", RIGHT)
def test_every_right_way_is_accepted(exercise_id, answer):
    assert_passes(exercise_id, answer)


def test_contributions_add_up_to_the_layer():
    rng = np.random.default_rng(0)
    x, W1, b1 = rng.normal(size=3), rng.normal(size=(3, 5)), rng.normal(size=5)
    W2, b2 = rng.normal(size=(5, 3)), rng.normal(size=3)
    for function in (memory.kv_contributions, lessons.exercise("kv_contributions").oracle):
        np.testing.assert_allclose(
            function(x, W1, b1, W2).sum(0) + b2, layer.feed_forward(x, W1, b1, W2, b2), atol=1e-12
        )


def test_the_librarys_own_functions_are_recognised():
    for name in ("kv_contributions", "top_triggers", "value_distribution", "logit_lens"):
        assert verdict_on(lessons.exercise(name), getattr(memory, name)).misconception == "library call"


def relu(z):
    return np.maximum(0, z)


def softmax(s):
    return np.exp(s - s.max()) / np.exp(s - s.max()).sum()


def lens_in_single_precision(h, gamma, beta, W_U, eps):
    ln = torch.nn.LayerNorm(h.shape[-1], eps=eps)
    ln.weight.data, ln.bias.data = torch.tensor(gamma), torch.tensor(beta)
    return (ln(torch.tensor(h).float()) @ torch.tensor(W_U)).detach().numpy()


def filled(rows, hidden, W2):
    for i, h in enumerate(hidden):
        rows[i] = max(0, h) * W2[i]
    return rows


def sorted_in_place(H, unit, k):
    H.sort(axis=0)
    return np.arange(len(H))[::-1][:k]


WRONG = (
    ("kv_contributions", lambda x, W1, b1, W2: np.outer(relu(x @ W1 + b1), W2), "all products"),
    ("kv_contributions", lambda x, W1, b1, W2: [m * v for m, v in zip(x @ W1 + b1, W2) if m > 0], "firing units only"),
    ("logit_lens", lens_in_single_precision, "two number types of PyTorch"),
    ("kv_contributions", lambda x, W1, b1, W2: relu(x @ W1 + b1) @ W2, "summed"),
    ("kv_contributions", lambda x, W1, b1, W2: (x @ W1 + b1)[:, None] * W2, "no ReLU"),
    ("kv_contributions", lambda x, W1, b1, W2: relu(x @ W1 + b1) * W2, "coefficients along the columns"),
    ("kv_contributions", lambda x, W1, b1, W2: relu(x @ W1 + b1) * W2.T, "transposed"),
    ("kv_contributions", lambda x, W1, b1, W2: np.outer(relu(x @ W1 + b1), x), "`x` stands where `W2` belongs"),
    ("kv_contributions", lambda x, W1, b1, W2: np.outer(relu(x @ W1 + b1), W2.sum(0)), None),
    ("kv_contributions", lambda x, W1, b1, W2: relu(x @ W1 + b1)[:, None] * W2 / len(W2), None),
    ("kv_contributions", lambda x, W1, b1, W2: 2 * relu(x @ W1 + b1)[:, None] * W2, "2 *"),
    ("kv_contributions", lambda x, W1, b1, W2: relu(x @ W1 + b1)[:, None] + W2, "+"),
    ("kv_contributions", lambda x, W1, b1, W2: relu(x @ W1 + b1)[:, None] * W2 + layer.relu(b1)[:, None], None),
    ("kv_contributions", lambda x, W1, b1, W2: np.tanh(x @ W1 + b1)[:, None] * W2, None),
    ("kv_contributions", lambda x, W1, b1, W2: (relu(x @ W1)[:, None] * W2) + b1[:, None], None),
    ("kv_contributions", lambda x, W1, b1, W2: relu(x @ W1 + b1)[:, None] * W2[::-1], None),
    ("kv_contributions", lambda x, b1, W1, W2: relu(x @ W1 + b1)[:, None] * W2, "arguments in another order"),
    ("kv_contributions", lambda x, W1, b1, W2: {i: c * W2[i] for i, c in enumerate(relu(x @ W1 + b1))}, "type"),
    ("kv_contributions", lambda x, W1, b1, W2: (relu(x @ W1 + b1)[:, None] * W2).astype(np.float16), "float32"),
    ("top_triggers", lambda H, unit, k: np.argsort(H[:, unit])[:k], "weakest"),
    ("top_triggers", lambda H, unit, k: np.argsort(H[:, unit])[-k:], "strongest last"),
    ("top_triggers", lambda H, unit, k: np.argsort(H[:, unit])[k:], "first k cut off"),
    ("top_triggers", lambda H, unit, k: np.argsort(-H[unit])[:k], "units for tokens"),
    ("top_triggers", lambda H, unit, k: np.argsort(-np.abs(H[:, unit]))[:k], "by size"),
    ("top_triggers", lambda H, unit, k: -np.sort(-H[:, unit])[:k], "values"),
    ("top_triggers", lambda H, unit, k: H[:, unit] >= np.sort(H[:, unit])[-k], "mask for indices"),
    ("top_triggers", lambda H, unit, k: np.flatnonzero(H[:, unit] >= np.sort(H[:, unit])[-k]), "in the order of the text"),
    ("top_triggers", lambda H, unit, k: np.argpartition(-H[:, unit], k - 1)[:k], "another order"),
    ("top_triggers", lambda H, unit, k: np.argmax(H[:, unit]), "strongest only, as a number"),
    ("top_triggers", lambda H, unit, k: np.argsort(-H[:, unit])[: k + 1], "one too many"),
    ("top_triggers", lambda H, unit, k: np.argsort(-H[:, unit])[1 : k + 1], "strongest left out"),
    ("top_triggers", lambda H, unit, k: np.argsort(H[:, unit])[-k:-1], None),
    ("top_triggers", lambda H, unit, k: np.argsort(-H[:, unit - 1])[:k], "unit counted from one"),
    ("top_triggers", lambda H, unit, k: np.argsort(-H[:, unit])[:k] + 1, "counted from one"),
    ("top_triggers", lambda H, unit, k: list(zip(np.argsort(-H[:, unit])[:k].tolist(), (-np.sort(-H[:, unit])[:k]).tolist())), "not row numbers"),
    ("top_triggers", lambda H, unit, k: np.argsort(-H.mean(axis=1))[:k], "all units together"),
    ("top_triggers", lambda H, unit, k: set(np.argsort(-H[:, unit])[:k].tolist()), "type"),
    ("value_distribution", lambda v, E: np.exp(E @ v) / np.exp(E @ v).sum(), "overflow"),
    ("value_distribution", lambda v, E: softmax(E @ v / np.sqrt(E.shape[1])), "scaled by the root"),
    ("value_distribution", lambda v, E: E @ v / (E @ v).sum(), "scores to shares"),
    ("value_distribution", lambda v, E: softmax(-(E @ v)), "sign turned"),
    ("value_distribution", lambda v, E: softmax(v @ E), "transposed"),
    ("value_distribution", lambda v, E: softmax(E + v), "`E + v` stands where `E @ v` belongs"),
    ("value_distribution", lambda v, E: np.log(softmax(E @ v)), None),
    ("value_distribution", lambda v, E: softmax(E @ v).round(3), "round"),
    ("value_distribution", lambda v, E: torch.softmax(torch.tensor(E @ v).float(), 0), "float32"),
    ("value_distribution", lambda v, E: softmax(E @ v)[:, None], "a column for a vector"),
    ("value_distribution", lambda v, E: softmax(E @ v)[::-1], "reversed"),
    ("value_distribution", lambda v, E: np.argsort(-(E @ v)), "ranking"),
    ("value_distribution", lambda v, E: 1 / (1 + np.exp(-(E @ v))), "logistic"),
    ("value_distribution", lambda v, E: np.exp(E @ v - np.max(E)) / np.exp(E @ v - np.max(E)).sum(), "overflow"),
    ("value_distribution", lambda E, v: softmax(E @ v), "arguments in another order"),
    ("value_distribution", lambda v, E: softmax(np.tanh(E @ v)), None),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: h @ W_U, "no norm"),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: layer.rms_norm(h, gamma, eps) @ W_U, None),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: layer.rms_norm(h, gamma, eps) @ W_U + beta @ W_U, "RMSNorm"),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: softmax(layer.layer_norm(h, gamma, beta, eps) @ W_U), None),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: layer.layer_norm(h, gamma, beta, 1e-5) @ W_U, "eps fixed at 1e-5"),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: layer.layer_norm(h, gamma, 0, eps) @ W_U, "no beta"),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: layer.layer_norm(h, 1, 0, eps) @ W_U, "neither gamma nor beta"),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: layer.layer_norm(h, gamma, beta, eps) @ W_U.T, "transposed"),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: (gamma * (h - h.mean(-1, keepdims=True)) / (h.std(-1, keepdims=True) + eps) + beta) @ W_U, "eps outside the root"),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: (gamma * h + beta) @ W_U, "scale and shift only"),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: layer.layer_norm(h, beta, gamma, eps) @ W_U, "gamma and beta exchanged"),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: layer.layer_norm(layer.layer_norm(h, gamma, beta, eps), gamma, beta, eps) @ W_U, "scaled and shifted twice"),
    ("logit_lens", lambda h, W_U, gamma, beta, eps: layer.layer_norm(h, gamma, beta, eps) @ W_U, "arguments in another order"),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: layer.layer_norm(h, gamma, beta, eps) @ W_U / 2, "/ 2"),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: np.argmax(layer.layer_norm(h, gamma, beta, eps) @ W_U, -1), "best word"),
    ("kv_contributions", lambda x, W1, b1, W2: filled(np.zeros_like(W2), x @ W1 + b1, W2), "cut to whole numbers"),
    ("kv_contributions", lambda x, W1, b1, W2: filled(np.zeros(W2.shape), (x @ W1 + b1)[:-1], W2), "a part is missing"),
    ("kv_contributions", lambda x, W1, b1, W2: np.stack([m * W2[:, i] for i, m in enumerate(layer.relu(x @ W1 + b1))]), "column i of W2 for unit i"),
    ("kv_contributions", lambda x, W1, b1, W2: [layer.relu(x @ W1 + b1)[i] * W2[i] for i in range(len(x))], "as many units as features"),
    ("top_triggers", lambda H, unit, k: np.argsort(-layer.relu(H[:, unit]), kind="stable")[:k], "ReLU first"),
    ("top_triggers", lambda H, unit, k: np.argsort(H[:, unit])[-k::-1], "from the k-th down"),
    ("top_triggers", lambda H, unit, k: torch.topk(torch.tensor(H[:, unit].copy()), k), "values and indices"),
    ("top_triggers", sorted_in_place, "modifies its input"),
    ("value_distribution", lambda v, E: torch.softmax(torch.tensor(1.0 * E * v), -1), "per feature, not summed"),
    ("value_distribution", lambda v, E: torch.softmax(torch.tensor(1.0 * E @ v)[:, None], -1), "each score alone"),
    ("value_distribution", lambda v, E: softmax(E @ v / (E @ v).max()), "divided by the largest"),
    ("value_distribution", lambda v, E: np.exp(E @ v - max(E @ v)) / (np.exp(E @ v - max(E @ v)).sum() + 1e-6), "1e-06 added below"),
    ("logit_lens", lambda h, gamma, beta, W_U, eps: np.array([layer.layer_norm(t, gamma, beta, eps) @ W_U for t in h]), "loops over the rows"),
    ("kv_contributions", lambda x, W1, b1, W2: [[layer.relu(x @ W1 + b1)[j] * row[j] for j in range(len(row))] for row in W2], "coefficient of the column"),
    ("value_distribution", lambda v, E: np.exp(E @ v) / np.exp(E @ v - max(E @ v)).sum(), "sum shifted only"),
)  # fmt: skip


@pytest.mark.parametrize("exercise_id, answer, name", WRONG)
def test_wrong_answers_are_explained_by_what_they_are(exercise_id, answer, name):
    verdict = verdict_on(lessons.exercise(exercise_id), answer)
    assert verdict.status == NOT_YET
    assert verdict.misconception == name or (name and name in str(verdict.misconception)), verdict.message
