"""Lesson 10: right answers in unusual forms pass, wrong ones nobody listed are explained."""

from __future__ import annotations

import functools
import math
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch

from ffnlib import experts as library
from ffnlib import layer
from ffnlib.examination import lessons
from ffnlib.examination.verdict import NOT_YET
from tests.lessons.answering import assert_passes
from tests.lessons.test_exercises import verdict_on


def softmax(z, axis=-1):
    e = np.exp(z - z.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def best(logits, k):
    return np.argsort(np.argsort(-logits, axis=-1), axis=-1) < k


def topk_in_torch(logits, k):
    logits = torch.tensor(logits, dtype=torch.float64)
    values, places = torch.topk(logits, k, dim=-1)
    return torch.zeros_like(logits).scatter(-1, places, torch.softmax(values, dim=-1))


def topk_by_loop(logits, k):
    gates = []
    for row in logits.tolist():
        chosen = sorted(range(len(row)), key=row.__getitem__)[-k:]
        weights = {e: math.exp(row[e] - max(row)) for e in chosen}
        gates.append([weights.get(e, 0.0) / sum(weights.values()) for e in range(len(row))])
    return gates


def topk_by_threshold(logits, k):
    kth = np.sort(logits, axis=-1)[:, -k][:, None]
    return softmax(np.where(logits >= kth, logits, -np.inf))


def topk_renormalised(logits, k):
    gates = np.where(best(logits, k), np.exp(logits - logits.max(axis=1, keepdims=True)), 0.0)
    return gates / gates.sum(axis=1, keepdims=True)


def topk_by_partition(logits, k, noise=0.0):
    places = np.argpartition(logits, logits.shape[1] - k, axis=1)[:, -k:]
    gates = np.zeros(logits.shape)
    for token, chosen in enumerate(places):
        gates[token, chosen] = softmax(logits[token, chosen])
    return gates


def switch_in_torch(logits):
    p = torch.softmax(torch.tensor(logits, dtype=torch.float64), dim=-1)
    return torch.zeros_like(p).scatter(1, p.argmax(dim=1, keepdim=True), p.max(dim=1, keepdim=True).values)


def switch_by_loop(logits):
    rows = []
    for row in logits:
        gate = 1 / sum(math.exp(float(v - max(row))) for v in row)
        rows.append([gate if v == max(row) else 0 for v in row])
    return rows


def switch_by_one_hot(logits):
    return np.eye(logits.shape[1])[logits.argmax(1)] * softmax(logits)


def balance_by_loop(logits):
    tokens, experts = logits.shape
    f, P = [Fraction(0)] * experts, [0.0] * experts
    for row in logits.tolist():
        f[row.index(max(row))] += Fraction(1, tokens)
        total = sum(math.exp(v - max(row)) for v in row)
        P = [p + math.exp(v - max(row)) / total / tokens for p, v in zip(P, row)]
    return experts * sum(float(a) * b for a, b in zip(f, P))


def balance_by_expert(logits):
    winners, p = logits.argmax(1), softmax(logits)
    return sum(len(p.T) * np.mean(winners == expert) * p[:, expert].mean() for expert in range(len(p.T)))


def balance_in_torch(logits):
    logits = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
    sent = torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[1]).double().mean(0)
    return logits.shape[1] * (sent * torch.softmax(logits, -1).mean(0)).sum()


def moe_by_token(x, W_router, W1, b1, W2, b2, k):
    out = np.zeros(x.shape)
    for token, row in enumerate(x):
        scores = row @ W_router
        chosen = np.argsort(scores)[::-1][:k]
        for expert, weight in zip(chosen, softmax(scores[chosen])):
            out[token] += weight * layer.feed_forward(row, W1[expert], b1[expert], W2[expert], b2[expert])
    return out


def moe_by_einsum(x, W_router, W1, b1, W2, b2, k):
    hidden = np.maximum(np.einsum("td,edf->etf", x, W1) + b1[:, None], 0)
    return np.einsum("te,etd->td", library.topk_route(x @ W_router, k), hidden @ W2 + b2[:, None])


def moe_in_torch(x, W_router, W1, b1, W2, b2, k):
    x, W_router, W1, b1, W2, b2 = (torch.tensor(a, dtype=torch.float64) for a in (x, W_router, W1, b1, W2, b2))
    gates = torch.from_numpy(library.topk_route((x @ W_router).numpy(), k))
    return sum(gates[:, [e]] * (torch.relu(x @ W1[e] + b1[e]) @ W2[e] + b2[e]) for e in range(len(W1)))


def moe_stacked(x, W_router, W1, b1, W2, b2, k):
    rows = [moe_by_token(row[None], W_router, W1, b1, W2, b2, k)[0] for row in x]
    return np.array(rows).reshape(x.shape)


class Mixture:
    def __call__(self, x, W_router, W1, b1, W2, b2, k, capacity=None):
        return moe_by_einsum(np.asarray(x, dtype=float), W_router, W1, b1, W2, b2, k)


RIGHT = {
    "topk_route": [
        topk_in_torch,
        topk_by_loop,
        topk_by_threshold,
        topk_renormalised,
        topk_by_partition,
        functools.partial(topk_by_partition, noise=0.0),
        lambda logits, k: topk_in_torch(logits, k).numpy().tolist(),
        lambda logits, k: np.where(best(logits, k), softmax(logits), 0)
        / np.where(best(logits, k), softmax(logits), 0).sum(-1, keepdims=True),
        lambda logits, k: softmax(np.where(best(logits, k), logits, -1e9)),
        lambda logits, k: np.ma.array(topk_by_threshold(logits, k)),
        lambda logits, k: np.array([topk_by_partition(row[None], k)[0] for row in logits]),
        lambda logits, k: np.asfortranarray(topk_renormalised(logits, k)),
    ],
    "switch_route": [
        switch_in_torch,
        switch_by_loop,
        switch_by_one_hot,
        lambda logits: np.where(best(logits, 1), softmax(logits), 0),
        lambda logits: softmax(logits) * (logits == logits.max(axis=1, keepdims=True)),
        lambda logits: np.apply_along_axis(lambda row: np.where(row == row.max(), softmax(row), 0), 1, logits),
        lambda logits: library.topk_route(logits, 1) * softmax(logits).max(1)[:, None],
        lambda logits: topk_by_partition(logits, 1) * softmax(logits),
        lambda logits: np.exp(np.where(best(logits, 1), np.log(softmax(logits) + 1e-300), -np.inf)),
        lambda logits, jitter=0: list(switch_by_one_hot(logits)),
        functools.partial(switch_by_one_hot),
    ],
    "load_balance": [
        balance_by_loop,
        balance_in_torch,
        lambda logits: len(logits[0]) * np.dot(best(logits, 1).mean(0), softmax(logits).mean(0)),
        lambda logits: np.einsum("te,se->", best(logits, 1), softmax(logits)) * logits.shape[1] / len(logits) ** 2,
        lambda logits: np.array(balance_by_loop(logits)),
        lambda logits: [balance_by_loop(logits)],
        lambda logits: logits.shape[1] ** 2 * np.mean(best(logits, 1).mean(0) * softmax(logits).mean(0)),
        lambda logits: logits.shape[1] * softmax(logits).mean(0)[logits.argmax(1)].mean(),
        lambda logits: np.float64(balance_by_loop(logits)),
        lambda logits, coefficient=1: coefficient * balance_by_loop(logits),
        balance_by_expert,
    ],
    "capacity": [
        lambda t, E, k, factor: int((Decimal(str(factor)) * t * k / E).to_integral_value(ROUND_CEILING)),
        lambda t, E, k, factor: (Decimal(str(factor)) * t * k / E).to_integral_value(ROUND_CEILING),
        lambda t, E, k, factor: -(-Fraction(repr(float(factor))) * t * k // E),
        lambda t, E, k, factor: math.ceil(Fraction(str(factor)) * Fraction(t * k, E)),
        lambda t, E, k, factor: -(-t * k * round(factor * 1000) // (1000 * E)),
        lambda t, E, k, factor: math.ceil(round(t * k * factor / E, 8)),
        lambda t, E, k, factor: math.ceil(Fraction(factor).limit_denominator(1000) * t * k / E),
        lambda t, E, k, factor: float(math.ceil(Fraction(str(factor)) * t * k / E)),
        lambda t, E, k, factor: np.int64(math.ceil(Fraction(str(factor)) * t * k / E)),
        lambda t, E, k, factor: np.array([math.ceil(Fraction(f"{factor}") * t * k / E)]),
        lambda t, E, k, factor, minimum=0: max(minimum, math.ceil(Fraction(str(factor)) * t * k / E)),
        lambda t, E, k, factor: next(c for c in range(10**6) if c * E >= Fraction(str(factor)) * t * k),
    ],
    "moe_forward": [
        moe_by_token,
        moe_by_einsum,
        moe_in_torch,
        moe_stacked,
        Mixture(),
        functools.partial(moe_by_token),
        lambda *args: moe_by_token(*args).tolist(),
        lambda x, R, W1, b1, W2, b2, k: sum(
            library.topk_route(x @ R, k)[:, e, None] * layer.feed_forward(x, W1[e], b1[e], W2[e], b2[e])
            for e in range(R.shape[1])
        ),
        lambda x, R, W1, b1, W2, b2, k, noise=0: moe_by_einsum(x, R, W1, b1, W2, b2, k),
        lambda *args: np.ma.array(moe_by_einsum(*args)),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "answer"), [(name, answer) for name, group in RIGHT.items() for answer in group])
def test_an_unusual_right_answer_passes(name, answer):
    assert_passes(name, answer)


def weights_in_rising_order(logits, k):
    gates = np.zeros(logits.shape)
    np.put_along_axis(gates, np.argsort(-logits, -1)[:, :k], softmax(np.sort(logits, -1)[:, -k:]), -1)
    return gates


def gates_like_logits(logits, k):
    gates = np.zeros_like(logits)
    places = np.argsort(-logits, -1)[:, :k]
    np.put_along_axis(gates, places, softmax(np.take_along_axis(logits, places, -1)), -1)
    return gates


def moe_with(gate, bend=lambda z: np.maximum(z, 0)):
    def forward(x, R, W1, b1, W2, b2, k):
        gates = gate(x @ R, k)
        return sum(gates[:, [e]] * (bend(x @ W1[e] + b1[e]) @ W2[e] + b2[e]) for e in range(len(W1)))

    return forward


def moe_by_rank(x, R, W1, b1, W2, b2, k):
    out = np.zeros(x.shape)
    for token, row in enumerate(x):
        weights = np.sort(softmax(np.sort(row @ R)[-k:]))[::-1]
        for rank, weight in enumerate(weights):
            out[token] += weight * layer.feed_forward(row, W1[rank], b1[rank], W2[rank], b2[rank])
    return out


def moe_overwritten(x, R, W1, b1, W2, b2, k):
    out = np.zeros(x.shape)
    for token, row in enumerate(x):
        chosen = np.argsort(-(row @ R))[:k]
        for expert, weight in zip(chosen, softmax((row @ R)[chosen])):
            out[token] = weight * layer.feed_forward(row, W1[expert], b1[expert], W2[expert], b2[expert])
    return out


def moe_into_whole_numbers(x, R, W1, b1, W2, b2, k):
    out, gates = np.zeros_like(x), library.topk_route(x @ R, k)
    for e in range(len(W1)):
        out += gates[:, [e]] * layer.feed_forward(x, W1[e], b1[e], W2[e], b2[e])
    return out


def shares(logits):
    return np.eye(logits.shape[1])[logits.argmax(-1)].mean(0)


def normalised(weights):
    return weights / weights.sum(-1, keepdims=True)


def naive(logits):
    return normalised(np.exp(logits))


topk, switch = library.topk_route, library.switch_route


def balance_with(z, f):
    return z.shape[1] * np.sum(f * softmax(z).mean(0))


def rows_of_the_winners(z):
    p, gates = softmax(z), np.zeros(z.shape)
    gates[p.argmax(-1)] = p[p.argmax(-1)]
    return gates


def topk_in_single_precision(z, k):
    values, places = torch.topk(torch.as_tensor(z), k)
    return torch.zeros(z.shape).scatter(-1, places, torch.softmax(values, -1))


def moe_first_k(x, R, W1, b1, W2, b2, k):
    gates, result = topk(x @ R, k), np.zeros_like(x)
    for e in range(k):
        result += gates[:, e, None] * layer.feed_forward(x, W1[e], b1[e], W2[e], b2[e])
    return result


def moe_without_relu(x, R, W1, b1, W2, b2, k):
    gates, result = topk(x @ R, k), np.zeros_like(x)
    for e in range(len(W1)):
        result += gates[:, e, None] * ((x @ W1[e] + b1[e]) @ W2[e] + b2[e])
    return result


def moe_gates_along_the_numbers(x, R, W1, b1, W2, b2, k):
    outputs = [layer.feed_forward(x, W1[e], b1[e], W2[e], b2[e]) for e in range(len(W1))]
    return sum(gate * output for gate, output in zip(topk(x @ R, k).T, outputs))


def rows_written(columns, logits, k):
    gates = np.zeros(logits.shape)
    gates[:, columns] = softmax(np.take_along_axis(logits, columns, 1)) if columns.ndim == 2 else softmax(logits).max(1)
    return gates


def chosen_of(p, k):
    return softmax(np.where(p >= np.sort(p, axis=1)[:, [-k]], p, -np.inf))


def whole_softmax(scores):
    return np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()


def rising_by_number(logits, k):
    gates = np.zeros(logits.shape)
    columns = np.sort(np.argsort(logits, axis=1)[:, -k:], axis=1)
    np.put_along_axis(gates, columns, softmax(np.sort(logits, axis=1)[:, -k:]), 1)
    return gates


def first_token_only(logits, k):
    gates = np.zeros(logits.shape)
    for t, gate in enumerate(topk(logits, k)):
        gates[t] = gate
        return gates


def moe_of_mixed_weights(x, R, W1, b1, W2, b2, k):
    mixed = [
        layer.feed_forward(token, np.tensordot(gate, W1, 1), gate @ b1, np.tensordot(gate, W2, 1), gate @ b2)
        for token, gate in zip(x, topk(x @ R, k))
    ]
    return np.array(mixed).reshape(x.shape)


def largest_of(p):
    return p * (p == p.max(1, keepdims=True))


def counted(logits):
    return np.bincount(logits.argmax(1)) / len(logits)


WRONG = [
    ("topk_route", lambda z, k: best(z, k) * softmax(z), "keep what they got there"),
    ("topk_route", weights_in_rising_order, "the best expert gets the smallest weight"),
    ("topk_route", gates_like_logits, "cut to whole numbers"),
    ("topk_route", lambda z, k: softmax(best(z, k) * z), "set to 0 before the softmax"),
    ("topk_route", lambda z, k: naive(np.where(best(z, k), z, -np.inf)), "overflows for large scores"),
    ("topk_route", lambda z, k: normalised(np.where(best(z, k), np.exp(z), 0)), "overflows"),
    ("topk_route", lambda z, k: best(z, k) / k, "each of the k best gets 1 / k"),
    ("topk_route", lambda z, k: softmax(np.where(z > np.sort(z, -1)[:, [-k]], z, -np.inf)), "above the k-th"),
    ("topk_route", lambda z, k: -np.sort(-softmax(z), -1)[:, :k], "k largest probabilities"),
    ("topk_route", lambda z, k: topk_by_partition(z, k).T, "changed places in the result"),
    ("topk_route", lambda z, k: topk_by_partition(2 * z, k), "2 * "),
    ("topk_route", lambda z, k: topk_by_partition(z, min(k + 1, z.shape[1])), "k + 1 experts"),
    ("topk_route", lambda z, k: np.argsort(-z, -1)[:, :k], "numbers of the k best experts"),
    ("topk_route", lambda z, k: softmax(np.where(best(z, k), z, -10)), "a number such as -10"),
    ("topk_route", lambda z, k: softmax(np.where(z >= np.sort(z, -1)[:, -k], z, -np.inf)), "one number for each row"),
    ("topk_route", lambda z, k: normalised(np.exp(z) * best(z, k)), "exp overflows in every call that goes wrong"),
    ("topk_route", topk_in_single_precision, "different number types"),
    ("topk_route", lambda z, k: softmax(z[np.argsort(z)[:k]]), "choose whole rows"),
    ("switch_route", lambda z: np.where(softmax(z) == softmax(z).max(), softmax(z), 0), "probability of all tokens"),
    ("switch_route", rows_of_the_winners, "choose whole rows"),
    ("switch_route", lambda z: topk(z, 1), "the winner gets 1"),
    ("switch_route", lambda z: np.eye(z.shape[1])[z.argmax(-1)] * z, "keeps its score"),
    ("switch_route", lambda z: np.where(z == z.max(), softmax(z), 0), "best score of the whole array"),
    ("switch_route", lambda z: np.where(z == z.max(0), softmax(z), 0), "each expert chooses its best token"),
    ("switch_route", lambda z: np.where(z == z.max(-1, keepdims=True), naive(z), 0), "overflows"),
    ("switch_route", lambda z: switch_by_one_hot(z) * softmax(z), "enters squared"),
    ("switch_route", lambda z: softmax(z).max(-1), "one probability for each token"),
    ("switch_route", lambda z: np.where(softmax(z) >= 0.5, softmax(z), 0), "more than one half"),
    ("switch_route", lambda z: switch_by_one_hot(z).T, "changed places in the result"),
    ("switch_route", lambda z: best(z, 1) * softmax(z.reshape(1, -1)).reshape(z.shape), "one softmax is taken"),
    ("load_balance", lambda z: (shares(z) * softmax(z).mean(0)).sum(), "the factor experts is missing"),
    ("load_balance", lambda z: balance_with(z, z.argmax(1)), "the winners' numbers stand in the place"),
    ("load_balance", lambda z: balance_with(z, [np.mean(z.argmax(1) == e + 1) for e in range(z.shape[1])]), "from 1"),
    ("load_balance", lambda z: balance_with(z, np.bincount(z.argmax(1)) / len(z)), "counts end"),
    ("load_balance", lambda z: balance_with(z, (z.argmax(1) == np.arange(z.shape[1])).mean()), "along the experts"),
    ("load_balance", lambda z: z.shape[1] * (shares(z) * z.mean(0)).sum(), "mean of the scores"),
    ("load_balance", lambda z: z.shape[1] * (shares(z) * naive(z).mean(0)).sum(), "overflows"),
    ("load_balance", lambda z: z.shape[1] * switch(z).mean(0).sum(), "multiplied token by token"),
    ("load_balance", lambda z: z.shape[1] * (shares(z) * softmax(z, 0).mean(0)).sum(), "runs over the tokens"),
    ("load_balance", lambda z: z.shape[1] * (shares(z) * softmax(z).sum(0)).sum(), "sums of probabilities"),
    ("load_balance", lambda z: len(np.unique(z.argmax(-1))) * (shares(z) * softmax(z).mean(0)).sum(), "received a"),
    ("load_balance", lambda z: z.shape[1] * (shares(z) * softmax(z.mean(0))).sum(), "of the mean scores"),
    ("load_balance", lambda z: float(np.float32(balance_by_loop(z))), "went through float32"),
    ("load_balance", lambda z: z.shape[1] * shares(z) * softmax(z).mean(0), "one number is asked for"),
    ("capacity", lambda t, E, k, f: math.ceil(t * k * f / E), "a float stands for the factor"),
    ("capacity", lambda t, E, k, f: math.ceil(t / E * f * k), "a float stands for the factor"),
    ("capacity", lambda t, E, k, f: math.ceil(Decimal(f) * t * k / E), "exact value of the float"),
    ("capacity", lambda t, E, k, f: int(t * k * f / E), "rounded down"),
    ("capacity", lambda t, E, k, f: int(t * k * f / E) + 1, "share is a whole number"),
    ("capacity", lambda t, E, k, f: math.ceil(t * f / E), "k is left out"),
    ("capacity", lambda t, E, k, f: math.ceil(t * k * f), "division by the number of experts"),
    ("capacity", lambda t, E, k, f: math.ceil(math.ceil(t * k / E) * f), "rounded up before the factor"),
    ("capacity", lambda t, E, k, f: math.ceil(t * k / E) * f, "its product with the factor is not"),
    ("capacity", lambda t, E, k, f: k * math.ceil(t * f / E), "then multiplied by k"),
    ("capacity", lambda t, E, k, f: math.ceil(t * k / E), "the factor is left out"),
    ("capacity", lambda t, E, k, f: t * k * f / E, "not rounded up"),
    ("capacity", lambda t, E, k, f: math.ceil(Fraction(str(f)) * (t + k) / E), "`tokens + k` stands where"),
    ("capacity", lambda t, E, k, f: math.ceil(Fraction(str(f)) * t * k / E**2), "`experts ** 2` stands where"),
    ("moe_forward", moe_first_k, "only the first k experts are visited"),
    ("moe_forward", moe_first_k, "besides, another call raises UFuncTypeError: an array of whole numbers"),
    ("moe_forward", moe_without_relu, "ReLU is left out"),
    ("moe_forward", moe_gates_along_the_numbers, "one number for each row"),
    ("moe_forward", moe_by_rank, "given to the first k experts"),
    ("moe_forward", moe_overwritten, "k-th best expert is kept"),
    ("moe_forward", moe_into_whole_numbers, "cannot take fractions"),
    ("moe_forward", moe_with(lambda z, k: best(z, k) * softmax(z)), "softmax over all experts"),
    ("moe_forward", moe_with(lambda z, k: best(z, k) / k), "equal weights"),
    ("moe_forward", moe_with(lambda z, k: switch_by_one_hot(z)), "Switch routing"),
    ("moe_forward", moe_with(topk, np.tanh), "tanh stands in the place"),
    ("moe_forward", moe_with(topk, lambda z: z), "ReLU is left out"),
    ("moe_forward", lambda *args: 2 * moe_by_token(*args), "2 * "),
    ("moe_forward", lambda *args: moe_by_token(*args) + args[0], "x is added"),
    ("moe_forward", lambda x, R, *rest: moe_by_token(x, R / 2, *rest), "/ 2` stands where"),
    ("topk_route", lambda z, k: rows_written(np.argsort(z)[:, -k:], z, k), "written into the rows of all tokens"),
    ("topk_route", lambda z, k: best(z, k) * softmax(z) / k, "the k best are divided by k"),
    ("topk_route", lambda z, k: chosen_of(softmax(z), k), "another softmax is taken of them"),
    ("topk_route", lambda z, k: whole_softmax(np.where(best(z, k), z, -np.inf)), "all gates of all tokens add up to 1"),
    ("topk_route", lambda z, k: softmax(np.where(best(z, k), z, -1e9).T).T, "gets equal gates"),
    ("topk_route", lambda z, k: rising_by_number(z, k), "best last, are given to the chosen experts"),
    ("topk_route", lambda z, k: first_token_only(z, k), "the first is right, and all others are 0"),
    ("topk_route", lambda z, k: (-np.sort(-z)[:, :k], np.argsort(-z)[:, :k]), "a tuple of 2 arrays comes back"),
    ("switch_route", lambda z: rows_written(z.argmax(1), z, 1), "each winner's probability is written"),
    ("switch_route", lambda z: best(z, 1) * topk(z, 2), "among the two best is kept"),
    ("switch_route", lambda z: (z.argmax(1), softmax(z).max(1)), "a tuple of 2 arrays comes back"),
    ("load_balance", lambda z: z.shape[1] * counted(z) @ softmax(z).mean(0), "the counts end with"),
    ("load_balance", lambda z: z.shape[1] * np.dot(counted(z), softmax(z).mean(0)), "the counts end with"),
    ("load_balance", lambda z: z.shape[1] * best(z, 1).mean(0)[0] * softmax(z).mean(0)[0], "only expert 0 enters"),
    ("load_balance", lambda z: z.shape[1] * (softmax(z) > 0.5).mean(0) @ softmax(z).mean(0), "with more than one half"),
    ("capacity", lambda t, E, k, f: math.ceil(t * k * f / E - 1e-3), "a thousandth is subtracted"),
    ("capacity", lambda t, E, k, f: -(-t * k * int(f * 100) // (100 * E)), "cut to whole per cent"),
    ("capacity", lambda t, E, k, f: -(-t * k * round(f * 100) // (100 * E)), "rounded to two decimals"),
    ("capacity", lambda t, E, k, f: int(-(-(Decimal(str(f)) * t * k) // E)), "not for Decimal"),
    ("moe_forward", moe_of_mixed_weights, "mixed by the gates into one network"),
    ("moe_forward", moe_with(lambda z, k: softmax(z.T).T * best(z, k)), "softmax of the scores runs over the tokens"),
    ("moe_forward", moe_with(lambda z, k: topk(z, k) * (np.arange(z.shape[1]) == 0)), "only expert 0 contributes"),
    ("moe_forward", lambda x, R, *rest: (moe_by_token(x, R, *rest), topk(x @ R, rest[-1])), "[0] of them is right"),
    ("topk_route", lambda z, k: softmax(np.where(np.argsort(-z, axis=1) < k, z, -np.inf)), "argsort is taken for"),
    ("topk_route", lambda z, k: softmax(np.where(np.argsort(z) >= z.shape[1] - k, z, -np.inf)), "argsort is taken for"),
    ("switch_route", lambda z: softmax(z) * (softmax(z) == softmax(z).max(0)), "the token that gives it the largest"),
    ("switch_route", lambda z: largest_of(softmax(np.clip(z, -99, 99))), "several win"),
    ("moe_forward", moe_with(lambda z, k: topk(z, k) * (np.cumsum(best(z, k), axis=1) == 1)), "with the lowest number"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "answer", "words"), WRONG)
def test_a_wrong_answer_nobody_listed_is_explained(name, answer, words):
    verdict = verdict_on(lessons.exercise(name), answer)
    assert verdict.status == NOT_YET
    assert words in verdict.message, verdict.message


FLOAT_FORMULAS = (
    lambda t, E, k, f: math.ceil(t * k * f / E),
    lambda t, E, k, f: math.ceil(f * (t * k / E)),
    lambda t, E, k, f: math.ceil(f / E * t * k),
)


@pytest.mark.parametrize("seed", range(12))
def test_every_order_of_a_float_calculation_is_found_out_on_every_seed(seed):
    for answer in FLOAT_FORMULAS:
        assert verdict_on(lessons.exercise("capacity"), answer, seed).status == NOT_YET


def test_the_factor_is_the_decimal_that_is_written():
    for capacity in (library.capacity, lessons.exercise("capacity").oracle):
        assert capacity(100, 11, 1, 1.1) == 10
        assert capacity(101, 11, 1, 1.1) == 11
        assert capacity(10, 4, 2, 1) == 5


def test_routing_agrees_with_torch_and_the_library_with_the_exercises():
    rng = np.random.default_rng(9)
    logits = rng.normal(size=(6, 5)) * 3
    np.testing.assert_allclose(library.topk_route(logits, 2), topk_in_torch(logits, 2), rtol=0, atol=1e-14)
    np.testing.assert_allclose(library.switch_route(logits), switch_in_torch(logits), rtol=0, atol=1e-14)
    assert math.isclose(library.load_balance(logits), balance_in_torch(logits).item(), rel_tol=1e-13)
    for name, args in (("topk_route", (logits, 3)), ("switch_route", (logits,)), ("load_balance", (logits,))):
        np.testing.assert_allclose(getattr(library, name)(*args), lessons.exercise(name).oracle(*args), atol=1e-14)


def test_the_mixture_agrees_with_a_loop_over_tokens_and_takes_no_tokens_too():
    rng = np.random.default_rng(4)
    layers = tuple(rng.normal(size=size) for size in ((3, 5), (5, 3, 4), (5, 4), (5, 4, 3), (5, 3)))
    x = rng.normal(size=(7, 3))
    for forward in (library.moe_forward, lessons.exercise("moe_forward").oracle):
        np.testing.assert_allclose(forward(x, *layers, 2), moe_by_token(x, *layers, 2), rtol=0, atol=1e-12)
        assert forward(x[:0], *layers, 2).shape == (0, 3)
