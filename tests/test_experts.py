"""Experts: the mixture is its formula, rooms are kept, blocks are even, and training shows what the lesson says."""

import numpy as np
import pytest
import torch

from ffnlib.experts import (
    blocks_of_units,
    dispatch,
    load_balance,
    mix_experts,
    moe_forward,
    switch_route,
    topk_route,
    train_mixture,
)
from ffnlib.layer import feed_forward

E, D, D_FF, TOKENS = 4, 6, 5, 30


@pytest.fixture
def rng():
    return np.random.default_rng(10)


def experts(rng):
    shapes = (E, D, D_FF), (E, D_FF), (E, D_FF, D), (E, D)
    return [rng.normal(size=shape) for shape in shapes]


def one_by_one(x, gates, W1, b1, W2, b2):
    """The formula, by loops over tokens and experts in PyTorch."""
    W1, b1, W2, b2 = map(torch.from_numpy, (W1, b1, W2, b2))
    rows = []
    for row, gate in zip(torch.from_numpy(x), gates):
        rows.append(sum(gate[e] * (torch.relu(row @ W1[e] + b1[e]) @ W2[e] + b2[e]) for e in range(E)))
    return torch.stack(rows).numpy()


def test_a_mixture_is_the_sum_over_all_experts_times_their_gates(rng):
    x, weights = rng.normal(size=(TOKENS, D)), experts(rng)
    for gates in (topk_route(rng.normal(size=(TOKENS, E)), 2), switch_route(rng.normal(size=(TOKENS, E)))):
        # float64 sums of a few hundred numbers of size one, in another order
        np.testing.assert_allclose(mix_experts(x, gates, *weights), one_by_one(x, gates, *weights), rtol=0, atol=1e-11)


def test_with_every_expert_and_no_favour_it_is_one_wide_dense_layer(rng):
    x, (W1, b1, W2, b2) = rng.normal(size=(TOKENS, D)), experts(rng)
    wide = feed_forward(x, np.hstack(W1), b1.ravel(), np.vstack(W2), b2.sum(axis=0))
    np.testing.assert_allclose(moe_forward(x, np.zeros((D, E)), W1, b1, E * W2, E * b2, E), wide, rtol=0, atol=1e-11)


def test_no_expert_takes_more_than_its_room_and_earlier_tokens_go_first(rng):
    gates = topk_route(rng.normal(size=(TOKENS, E)), 2)
    for room in (0, 3, 7):
        left = dispatch(gates, room)
        assert np.all(np.sum(left > 0, axis=0) == np.minimum(np.sum(gates > 0, axis=0), room))
        for expert in range(E):
            asked = np.flatnonzero(gates[:, expert])
            np.testing.assert_array_equal(np.flatnonzero(left[:, expert]), asked[:room])


def test_room_for_all_changes_nothing(rng):
    gates = switch_route(rng.normal(size=(TOKENS, E)))
    np.testing.assert_array_equal(dispatch(gates, TOKENS), gates)


def test_blocks_are_of_equal_size_and_find_units_that_point_alike(rng):
    directions = 10 * np.eye(8)[:3]
    order = rng.permutation(np.repeat(np.arange(3), 5))
    W1 = directions[order].T + 0.1 * rng.normal(size=(8, 15))
    block = blocks_of_units(W1, 3, np.random.default_rng(2))
    np.testing.assert_array_equal(np.bincount(block), [5, 5, 5])
    together = order[:, None] == order
    assert np.mean((block[:, None] == block) == together) > 0.7  # k-means may end in a poor local optimum


def test_blocks_that_would_be_uneven_are_refused(rng):
    with pytest.raises(ValueError, match="n=4 blocks of equal size cannot hold 15 units"):
        blocks_of_units(np.ones((2, 15)), 4, rng)


def two_kinds(rng, tokens=2000):
    """Tokens around two centres, each with its own map: what two experts could share."""
    kind = rng.integers(2, size=tokens)
    x = rng.normal(size=(tokens, D)) + 3 * np.where(kind, 1, -1)[:, None]
    maps = rng.normal(size=(2, D, D))
    return x, np.einsum("td,tde->te", x, maps[kind])


def test_training_learns_and_one_expert_is_a_dense_layer(rng):
    x, y = two_kinds(rng)
    trained = train_mixture(x, y, experts=1, d_ff=16, balance=0, seed=0, steps=150)
    untrained = train_mixture(x, y, experts=1, d_ff=16, balance=0, seed=0, steps=0)
    assert np.mean((trained(x) - y) ** 2) < 0.5 * np.mean((untrained(x) - y) ** 2)
    np.testing.assert_array_equal(trained.gates(x), 1)
    dense = feed_forward(x, trained.W1[0], trained.b1[0], trained.W2[0], trained.b2[0])
    np.testing.assert_allclose(trained(x), dense, rtol=0, atol=1e-11)


def test_the_balance_term_evens_the_load(rng):
    x, y = two_kinds(rng)
    term = {
        balance: load_balance(x @ train_mixture(x, y, experts=E, d_ff=8, balance=balance, seed=1, steps=150).W_router)
        for balance in (0.0, 0.5)
    }
    assert term[0.5] < 1.3 < term[0.0]  # 1 is even, 4 is one expert for all


def test_a_seed_gives_the_same_mixture_twice(rng):
    x, y = two_kinds(rng, 300)
    once, twice = (train_mixture(x, y, experts=2, d_ff=3, balance=0.1, seed=5, steps=3) for _ in range(2))
    np.testing.assert_array_equal(once.W_router, twice.W_router)
