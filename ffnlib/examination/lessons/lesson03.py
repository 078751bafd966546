"""Lesson 03: position-wise: a test for it, the convolution that does the same, and what a global matrix would cost."""

from __future__ import annotations

import numpy as np

from ffnlib.activations import sigmoid
from ffnlib.examination.exercise import Array, Count, Exercise, Grammar, Misconception, Remote, Truth, call
from ffnlib.experts import softmax
from ffnlib.layer import feed_forward, relu

# ---------------------------------------------------------------- is_positionwise


def is_positionwise(f, X):
    """Return whether every row of f(X) is what f gives for that row on its own."""
    together = f(X)
    try:
        alone = np.concatenate([f(X[t : t + 1]) for t in range(len(X))])
    except ValueError:
        return False
    return together.shape == alone.shape and np.allclose(together, alone, rtol=1e-6, atol=1e-6)


def _given(words: str, d: int, function) -> Remote:
    """Return a function of rows with d numbers each; anything else is refused, so that no slip passes by broadcasting."""

    def f(X):
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != d:
            raise ValueError(f"f takes an array of shape (rows, {d}), and was given one of shape {X.shape}")
        return function(X)

    f.__doc__ = words
    return Remote(f)


def zoo(rng) -> tuple:
    """Draw functions that are position-wise and functions that are not, each with an input: `(f, X)`."""
    return (*_position_wise(rng), *_mixing(rng), *_nearly(rng), *_at_one_place(rng))


def _layer(rng, d: int):
    weights = rng.normal(size=(d, 6)), rng.normal(size=6), rng.normal(size=(6, d)), rng.normal(size=d)
    return lambda X: feed_forward(X, *weights)


def _position_wise(rng) -> tuple:
    layer, noisy, M, c = _layer(rng, 3), _layer(rng, 3), rng.normal(size=(3, 2)), rng.normal(size=3)
    return (
        (_given("a feed-forward layer", 3, layer), rng.normal(size=(4, 3))),
        (_given("a linear map to another width", 3, lambda X: X @ M), rng.integers(-4, 5, size=(5, 3)) + np.arange(5)[:, None]),
        (_given("a function that gives the same row everywhere", 3, lambda X: np.tile(c, (len(X), 1))), rng.normal(size=(3, 3))),
        (_given("the identity", 2, lambda X: X * 1.0), rng.normal(size=(3, 2))),
        (_given("a layer norm", 4, lambda X: (X - X.mean(1, keepdims=True)) / X.std(1, keepdims=True)), rng.normal(size=(6, 4))),
        (_given("a ReLU", 3, relu), rng.normal(size=(6, 3))),
        (_given("a feed-forward layer with rounding noise", 3, lambda X: noisy(X) * (1 + 1e-14 * len(X))), rng.normal(size=(5, 3))),
    )


def _mixing(rng) -> tuple:
    A, B, flat = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=(18, 18))
    P, kernel, layer = rng.normal(size=(60, 3)) * 2, rng.normal(size=(3, 3, 3)), _layer(rng, 3)

    def attention(X):
        return softmax(X @ A @ X.T) @ X @ B

    def flattened(X):
        if len(X) != 6:
            raise ValueError(f"f was built for 6 rows, and was given {len(X)}")
        return np.tanh(X.reshape(1, -1) @ flat).reshape(6, 3)

    def convolution(X):
        padded = np.pad(X, ((1, 1), (0, 0)))
        return sum(padded[i : i + len(X)] @ kernel[i] for i in range(3))

    def batch_norm(X):
        return (X - X.mean(0)) / np.sqrt(X.var(0) + 1e-5)

    def rotated(X):
        angle = np.arange(len(X))[:, None] * 0.7
        return X * np.cos(angle) + X[:, ::-1] * np.array([-1.0, 1.0]) * np.sin(angle)

    def pairs(X):
        return np.array([X[t - t % 2 : t - t % 2 + 2].mean(0) for t in range(len(X))]).reshape(X.shape)

    return (
        (_given("self-attention", 3, attention), rng.normal(size=(5, 3))),
        (_given("a centring over the rows", 3, lambda X: X - X.mean(0)), rng.normal(size=(4, 3))),
        (_given("a batch norm over the rows", 3, batch_norm), rng.normal(size=(5, 3))),
        (_given("a running sum over the rows", 3, lambda X: np.cumsum(X, axis=0)), rng.normal(size=(7, 3)) + 0.5),
        (_given("a layer whose bias depends on the position", 3, lambda X: layer(X + P[: len(X)])), rng.normal(size=(5, 3))),
        (_given("a dense layer over all rows at once", 3, flattened), rng.normal(size=(6, 3))),
        (_given("the rows in reverse order", 3, lambda X: X[::-1]), rng.normal(size=(7, 3))),
        (_given("a convolution over three neighbouring rows", 3, convolution), rng.normal(size=(6, 3))),
        (_given("a layer whose result is multiplied by the number of rows", 3, lambda X: len(X) * layer(X)), rng.normal(size=(5, 3))),
        (_given("a rotation by an angle that grows with the position", 2, rotated), rng.normal(size=(9, 2))),
        (_given("a layer that adds the last row everywhere", 3, lambda X: layer(X) + X[-1:]), rng.normal(size=(20, 3))),
        (_given("the mean of every pair of rows", 3, pairs), rng.normal(size=(8, 3))),
        (_given("a layer that adds the last row to its middle number", 3, lambda X: layer(X) + X[-1:] * [0, 1, 0]), rng.normal(size=(9, 3))),
        (_given("a layer that moves a piece of the last row from one number to the next", 3, lambda X: layer(X) + X[-1:, :1] * [1, -1, 0]), rng.normal(size=(9, 3))),
        (_given("a layer whose sign changes with every further row", 3, lambda X: layer(X) * (-1) ** (len(X) - 1)), rng.normal(size=(4, 3))),
        (_given("a layer from which the number of other rows is subtracted", 3, lambda X: layer(X) - len(X) + 1), rng.normal(size=(5, 3))),
        (_given("a layer to which the number of other rows is added", 3, lambda X: layer(X) + len(X) - 1), rng.normal(size=(5, 3))),
        (_given("a layer whose result is halved unless the row is alone", 3, lambda X: layer(X) / min(len(X), 2)), rng.normal(size=(5, 3))),
    )


def _nearly(rng) -> tuple:
    layer, M = _layer(rng, 3), rng.normal(size=(3, 3)) * 0.3

    def leak(X):
        return layer(X) + 1e-3 * sigmoid(X[-1:])

    def small_leak(X):
        return 0.05 * np.tanh(X @ M) + 2e-5 * X[-1:]

    return (
        (_given("a layer into which 1/1000 of the last row leaks", 3, leak), rng.normal(size=(20, 3))),
        (_given("a layer into which a trace of the last row leaks", 3, small_leak), rng.normal(size=(20, 3))),
        (_given("a layer far from zero into which 1/300 of the last row leaks", 3, lambda X: 10 + np.tanh(X @ M) + sigmoid(X[-1:]) / 300), rng.normal(size=(9, 3))),
    )


def _at_one_place(rng) -> tuple:
    layer = _layer(rng, 3)

    def with_first(X):
        return layer(X) + X[:1]

    def second_and_third_exchanged(X):
        order = np.arange(len(X))
        order[1:3] = order[1:3][::-1]
        return layer(X[order])

    def first_sees_last(X):
        return layer(X) + (np.arange(len(X)) == 0)[:, None] * X[-1:] * (len(X) > 1)

    def last_sees_first(X):
        return layer(X) + (np.arange(len(X)) == len(X) - 1)[:, None] * X[:1] * (len(X) > 1)

    def sees(row: int, other: int):
        return lambda X: layer(X) + (np.arange(len(X)) == row)[:, None] * X[other % len(X)]

    return (
        (_given("a layer whose third row sees the first", 3, sees(2, 0)), rng.normal(size=(12, 3))),
        (_given("a layer whose fourth row sees the second", 3, sees(3, 1)), rng.normal(size=(12, 3))),
        (_given("a layer that adds the first row everywhere", 3, with_first), rng.normal(size=(20, 3))),
        (_given("a layer that exchanges the second and the third row", 3, second_and_third_exchanged), rng.normal(size=(12, 3))),
        (_given("a layer whose first row sees the last", 3, first_sees_last), rng.normal(size=(10, 3))),
        (_given("a layer whose last row sees the first", 3, last_sees_first), rng.normal(size=(10, 3))),
    )


def positionwise_probes(rng):
    """Draw the zoo."""
    return tuple(call(f, X) for f, X in zoo(rng))


def _same(a, b, tolerance: float = 1e-6) -> bool:
    return np.shape(a) == np.shape(b) and bool(np.all(np.abs(a - b) <= tolerance * (1 + np.abs(b))))


def _alone(f, X):
    return np.concatenate([f(X[t : t + 1]) for t in range(len(X))])


def _at(*rows):
    """Return the test that looks at some rows only, numbered as a list is."""
    return lambda f, X: all(_same(f(X[[t]])[0], f(X)[t]) for t in rows)


def _but(first: int, last: int):
    """Return the test that leaves out rows at the beginning and at the end."""
    return lambda f, X: all(_same(f(X[[t]])[0], f(X)[t]) for t in range(first, len(X) - last))


def _within(tolerance: float):
    return lambda f, X: bool(np.all(np.abs(_alone(f, X) - f(X)) <= tolerance))


def _changed(X, t: int):
    other = np.array(X, dtype=np.float64)
    other[t] += 1.7
    return other


def _perturbed(f, X, t: int) -> bool:
    """Return whether changing row t leaves all others as they are."""
    others = np.arange(len(X)) != t % len(X)
    return _same(f(_changed(X, t))[others], f(X)[others])


def _perturbed_all(f, X) -> bool:
    return all(_perturbed(f, X, t) for t in range(len(X)))


def _moves(f, X) -> bool:
    return all(not _same(f(_changed(X, t))[t], f(X)[t]) for t in range(len(X)))


def _equivariant(f, X, first: int = 0, last: int = 0) -> bool:
    """Return whether f commutes with an exchange of rows that keeps so many at the beginning and at the end."""
    order = np.arange(len(X))
    order[first : len(X) - last] = np.roll(order[first : len(X) - last], 1)
    return _same(f(X[order]), f(X)[order])


def _others_shuffled(f, X) -> bool:
    """Return whether row 0 stays the same while the others change places."""
    order = np.concatenate([[0], np.roll(np.arange(1, len(X)), 1)])
    return _same(f(X[order])[0], f(X)[0])


def _refused_as_wrong(test):
    """Return a test that says False where f raises."""

    def program(f, X):
        try:
            return test(f, X)
        except ValueError:
            return False

    return program


ROW_TESTS = (
    ("first row only", _at(0), "only the first row decides: it is the only one that is run on its own, or the loop returns at once", "every row has to agree: is there a return inside the loop?"),
    ("last row only", _at(-1), "only the last row decides: it is the only one that is run on its own, or each comparison overwrites the one before", "every row has to agree: how do the comparisons come together?"),
    ("middle row only", lambda f, X: _same(f(X[[len(X) // 2]])[0], f(X)[len(X) // 2]), "only the row in the middle is run on its own", "every row has to agree"),
    ("second row only", _at(1), "only the second row is run on its own", "every row has to agree: counting starts at 0"),
    ("first and last row only", _at(0, -1), "only the first and the last row are run on their own", "every row has to agree"),
    ("first two rows only", _at(0, 1), "only the first two rows are run on their own", "every row has to agree"),
    ("first three rows only", _at(0, 1, 2), "only the first three rows are run on their own", "every row has to agree: len(X) says how many there are"),
    ("first row left out", _but(1, 0), "the first row is never run on its own", "where does the loop start?"),
    ("last row left out", _but(0, 1), "the last row is never run on its own", "where does the loop end?"),
    ("ends left out", _but(1, 1), "the first and the last row are never run on their own", "where does the loop start and end?"),
    ("one agreeing row is enough", lambda f, X: any(_same(f(X[[t]])[0], f(X)[t]) for t in range(len(X))), "True is returned as soon as one row agrees", "all rows have to agree, not any"),
    ("prefixes", lambda f, X: all(_same(f(X[:k]), f(X)[:k]) for k in range(1, len(X) + 1)), "the first rows are run together without those after them, so a function that looks back passes", "run each row on its own: X[t:t+1]"),
    ("all rows but the last", lambda f, X: _same(f(X[:-1]), f(X)[:-1]), "only the last row is taken away, so functions that never look at it pass", "run each row on its own: X[t:t+1]"),
    ("all rows but the first", lambda f, X: _same(f(X[1:]), f(X)[1:]), "only the first row is taken away, so functions that never look at it pass", "run each row on its own: X[t:t+1]"),
    ("first two together", lambda f, X: _same(f(X[:2]), f(X)[:2]), "only the first two rows are run, and together", "run each row on its own: X[t:t+1]"),
    ("halves", lambda f, X: _same(np.concatenate([f(X[: len(X) // 2]), f(X[len(X) // 2 :])]), f(X)), "the input is cut into halves, so rows of one half may see each other", "run each row on its own: X[t:t+1]"),
    ("input doubled", lambda f, X: _same(f(np.concatenate([X, X])), np.concatenate([f(X), f(X)])), "the input is given twice over instead of row by row", "run each row on its own: X[t:t+1]"),
    ("exactly equal", lambda f, X: np.array_equal(_alone(f, X), f(X)), "the results have to be equal to the last bit, and a row alone may differ in it", "compare with a tolerance of 1e-6"),
    ("too loose", _within(1e-2), "differences of a thousandth are let pass", "compare with a tolerance of 1e-6"),
    ("ten times too loose", _within(1e-4), "differences of 1e-4 are let pass", "compare with a tolerance of 1e-6"),
    ("sums compared", lambda f, X: _same(np.sum(_alone(f, X), axis=0), np.sum(f(X), axis=0)), "sums or means over the rows are compared instead of the rows", "compare row t with row t"),
    ("rows in any order", lambda f, X: _same(np.sort(_alone(f, X), axis=0), np.sort(f(X), axis=0)), "the rows are compared without their order", "compare row t with row t"),
    ("row lengths compared", lambda f, X: _same(np.linalg.norm(_alone(f, X)), np.linalg.norm(f(X))), "lengths are compared instead of entries", "compare every entry of row t with row t"),
    ("suffixes", lambda f, X: all(_same(f(X[t:])[0], f(X)[t]) for t in range(len(X))), "the last rows are run together without those before them, so a function that looks ahead passes", "run each row on its own: X[t:t+1]"),
    ("totals compared", lambda f, X: _same(np.sum(_alone(f, X)), np.sum(f(X))), "sums or means over all entries are compared instead of the rows", "compare row t with row t"),
    ("one number of each row", lambda f, X: _same(_alone(f, X)[:, 0], f(X)[:, 0]), "only the first number of each row is compared", "compare whole rows"),
    ("row sums compared", lambda f, X: _same(np.sum(_alone(f, X), axis=1), np.sum(f(X), axis=1)), "the sums of the rows are compared instead of their entries", "compare every entry of row t with row t"),
    ("length of each row compared", lambda f, X: _same(np.linalg.norm(_alone(f, X), axis=1), np.linalg.norm(f(X), axis=1)), "the lengths of the rows are compared instead of their entries", "compare every entry of row t with row t"),
    ("sizes compared", lambda f, X: _same(np.abs(_alone(f, X)), np.abs(f(X))), "the entries are compared without their sign", "compare the entries, then take the size of the difference"),
    ("largest entry compared", lambda f, X: np.array_equal(np.argmax(_alone(f, X), axis=1), np.argmax(f(X), axis=1)), "only the place of the largest entry is compared", "compare every entry of row t with row t"),
    ("differences of one sign", lambda f, X: bool(np.max(f(X) - _alone(f, X)) < 1e-6), "a result that is too small passes: the differences are compared without np.abs", "np.abs(f(X) - alone)"),
    ("differences of the other sign", lambda f, X: bool(np.max(_alone(f, X) - f(X)) < 1e-6), "a result that is too large passes: the differences are compared without np.abs", "np.abs(f(X) - alone)"),
    ("quotients compared", lambda f, X: bool(np.all(np.abs(f(X) / _alone(f, X) - 1) < 1e-6)), "the results are divided by each other, and 0 / 0 is not a number", "compare the difference with 1e-6"),
    ("one per cent let pass", lambda f, X: bool(np.allclose(f(X), _alone(f, X), rtol=1e-2)), "differences of one per cent are let pass", "compare with a tolerance of 1e-6"),
    ("neighbours together", lambda f, X: all(_same(f(X[t : t + 2]), f(X)[t : t + 2]) for t in range(len(X) - 1)), "two neighbouring rows are run together", "run each row on its own: X[t:t+1]"),
    ("one row taken away", lambda f, X: all(_same(f(np.delete(X, t, 0)), np.delete(f(X), t, 0)) for t in range(len(X))), "one row is taken away and the others are watched, so a row is never alone", "run each row on its own: X[t:t+1]"),
    ("only the shapes of the rows", lambda f, X: _alone(f, X).shape == f(X).shape, "every row is run on its own, and its numbers are not compared", "compare alone with f(X)"),
    ("answer turned round", lambda f, X: not _same(_alone(f, X), f(X)), "True and False are exchanged", "True means: every row alone gives the same"),
    ("compared with one row", lambda f, X: _same(_alone(f, X), np.tile(f(X)[:1], (len(X), 1))), "every row is compared with one and the same row, so that a constant alone passes", "compare row t of f(X) with f of row t"),
)


IS_POSITIONWISE = Exercise(
    id="is_positionwise",
    probes=positionwise_probes,
    oracle=is_positionwise,
    returns=Truth(),
    misconceptions=(
        Misconception("error not caught", lambda f, X: _same(_alone(f, X), f(X)), "an f that refuses a single row raises its ValueError out of the test", "such an f is not position-wise: catch the error and return False"),
        Misconception("error counts as a pass", lambda f, X: True if "6 rows" in _refusal(f, X) else is_positionwise(f, X), "an f that refuses a single row is called position-wise", "an f that raises for fewer rows is not position-wise"),
        Misconception("always true", lambda f, X: True, "True is returned whatever f is", "what does a function that mixes rows give?"),
        Misconception("always false", lambda f, X: False, "False is returned whatever f is", "f takes rows as a matrix: X[t] has shape (d,), X[t:t+1] has shape (1, d). Is an error caught that your own call makes?"),
        Misconception("turned round", lambda f, X: not is_positionwise(f, X), "True and False are exchanged", "True means: every row alone gives the same"),
        Misconception("shape only", lambda f, X: f(X).shape == X.shape, "only the shapes of X and f(X) are compared", "attention keeps the shape as well: compare the numbers"),
        Misconception("rows as vectors", lambda f, X: _same(np.stack([f(x) for x in X]), f(X)), "f receives a row as a vector of shape (d,)", "f takes a matrix of rows: X[t:t+1] keeps the axis", raises="ValueError"),
        Misconception("columns for rows", lambda f, X: _same(np.concatenate([f(X[:, [j]]) for j in range(X.shape[1])], axis=1), f(X)), "f receives columns of X instead of rows", "a position is a row: X[t:t+1]", raises="ValueError"),
        Misconception("columns as vectors", lambda f, X: _same(np.stack([f(x) for x in X.T]), f(X)), "f receives a column as a vector", "a position is a row: X[t:t+1]", raises="ValueError"),
        Misconception("transposed", lambda f, X: _same(f(X.T).T, f(X)), "f receives X transposed", "f takes rows of d numbers: X[t:t+1]"),
        Misconception("rows in a batch", lambda f, X: _same(f(X[:, None, :])[:, 0], f(X)), "f receives an array with three axes", "f takes a matrix of rows: call it once for each X[t:t+1]", raises="ValueError"),
        Misconception("permutations", _equivariant, "rows are exchanged before and after f (permutation equivariance), which attention passes as well", "order is not the point: run each row on its own"),
        Misconception("permutations that keep the last row", lambda f, X: _equivariant(f, X, 0, 1), "rows are exchanged before and after f, with the last one left in its place (permutation equivariance)", "order is not the point: run each row on its own"),
        Misconception("permutations that keep the first row", lambda f, X: _equivariant(f, X, 1, 0), "rows are exchanged before and after f, with the first one left in its place (permutation equivariance)", "order is not the point: run each row on its own"),
        Misconception("reversal", lambda f, X: _same(f(X[::-1]), f(X)[::-1]), "the rows are reversed before and after f, which attention passes as well", "order is not the point: run each row on its own"),
        Misconception("others shuffled", _others_shuffled, "the other rows change places and row 0 is watched, which attention passes as well", "run each row on its own: X[t:t+1]"),
        Misconception("first row changed", lambda f, X: _perturbed(f, X, 0), "only the first row is changed and the others are watched", "a row may depend on any other: run each row on its own"),
        Misconception("last row changed", lambda f, X: _perturbed(f, X, -1), "only the last row is changed and the others are watched", "a row may depend on any other: run each row on its own"),
        Misconception("middle row changed", lambda f, X: _perturbed(f, X, len(X) // 2), "only a row in the middle is changed and the others are watched", "a row may depend on any other: run each row on its own"),
        Misconception("second row changed", lambda f, X: _perturbed(f, X, 1), "only the second row is changed and the others are watched", "a row may depend on any other: run each row on its own"),
        Misconception("last row changed, first watched", lambda f, X: _same(f(_changed(X, -1))[0], f(X)[0]), "the last row is changed and only the first is watched", "a row may depend on any other: run each row on its own"),
        Misconception("first row changed, last watched", lambda f, X: _same(f(_changed(X, 0))[-1], f(X)[-1]), "the first row is changed and only the last is watched", "a row may depend on any other: run each row on its own"),
        Misconception("every row changed in turn", _perturbed_all, "row t is watched while the other rows change, and never run on its own: alike at every position is not tested", "'alone and alike': a bias that depends on the position passes your test"),
        Misconception("changes must show", lambda f, X: _perturbed_all(f, X) and _moves(f, X), "a row that is changed must change its own result, and no other may move", "a constant is position-wise, and a bias that depends on the position is not: run each row on its own"),
        Misconception("changes must show, row by row", lambda f, X: is_positionwise(f, X) and _moves(f, X), "a row that is changed must change its own result", "a constant is position-wise too"),
        Misconception("changes and permutations", lambda f, X: _perturbed_all(f, X) and _equivariant(f, X), "rows are changed and exchanged, and never run on their own, so a function of the number of rows passes", "row t of f(X) has to equal f of that row on its own"),
        Misconception("equal rows", lambda f, X: bool(np.ptp(f(np.tile(X[:1], (len(X), 1))), axis=0).max() < 1e-6), "equal rows are fed in and equal rows are expected, which attention passes as well", "run each row of X on its own"),
        Misconception("linear", lambda f, X: _same(f(2 * X), 2 * f(X)), "linearity is tested", "position-wise says nothing about linear: run each row on its own"),
        Misconception("negative test of linearity", lambda f, X: not _same(f(2 * X), 2 * f(X)), "a linear f is refused and any other is accepted", "position-wise says nothing about linear: run each row on its own"),
        Misconception("same shape demanded", lambda f, X: f(X).shape == X.shape and is_positionwise(f, X), "a result of another width than X is refused", "f may change the width: compare f(X) with f of the rows"),
        Misconception("f of f", lambda f, X: f(X).shape == X.shape and _same(f(f(X)), f(X)), "f is applied to its own result", "run each row of X on its own"),
        Misconception("unchanged input", lambda f, X: _same(f(X), X), "f(X) is compared with X", "compare f(X) with f of the rows"),
        *(Misconception(name, _refused_as_wrong(test), because, step) for name, test, because, step in ROW_TESTS),
        *(Misconception(f"{name}, error not caught", test, f"{because}, and an f that refuses other lengths raises its error out of the test", step) for name, test, because, step in ROW_TESTS),
    ),
    hints=(
        "Look at the definition: row t of f(X) on one side, f of row t alone on the other, for every t.",
        "X[t:t+1] is row t as a matrix of shape (1, d); np.allclose compares with a tolerance; an f that raises is not position-wise.",
        "alone = np.concatenate([f(___) for t in range(len(X))]), inside try; then return np.allclose(f(X), alone, atol=1e-6)",
    ),
    why="Exchanging rows passes attention, changing rows passes a position bias: only a row on its own shows both.",
)


def _refusal(f, X) -> str:
    """Return what f says against a single row, "" when it takes it."""
    try:
        f(X[:1])
    except ValueError as error:
        return str(error)
    return ""


# ---------------------------------------------------------------- conv1d_weight


def conv1d_weight(W1):
    """Return the weight (d_ff, d_model, 1) of the convolution with kernel size 1."""
    return W1.T[:, :, None]


def conv1d_probes(rng):
    """Draw a wide, a square, a narrow matrix, one unit, one feature, integers, Fortran order and a strided view."""
    return (
        call(rng.normal(size=(3, 5))),
        call(rng.normal(size=(4, 4))),
        call(rng.normal(size=(5, 2))),
        call(rng.normal(size=(3, 1))),
        call(rng.normal(size=(1, 4))),
        call(rng.integers(-5, 6, size=(2, 3)) + np.array([[20], [0]])),
        call(np.asfortranarray(rng.normal(size=(3, 4)))),
        call(rng.normal(size=(6, 6))[::2, ::3]),
        call(rng.normal(size=(2, 2))),
    )


CONV1D_WEIGHT = Exercise(
    id="conv1d_weight",
    probes=conv1d_probes,
    oracle=conv1d_weight,
    returns=Array(),
    misconceptions=(
        Misconception("not transposed", lambda W1: W1[:, :, None], "W1 is not transposed: the shape is (d_model, d_ff, 1)", "a convolution stores outputs first: (d_ff, d_model, 1)"),
        Misconception("kernel axis missing", lambda W1: W1.T * 1.0, "the axis of the kernel is missing: the shape is (d_ff, d_model)", "the kernel has one position: a last axis of length 1"),
        Misconception("unchanged", lambda W1: W1 * 1.0, "W1 comes back unchanged", "transpose it and add a last axis of length 1"),
        Misconception("kernel axis first", lambda W1: W1.T[None], "the axis of the kernel stands first: the shape is (1, d_ff, d_model)", "it stands last: (d_ff, d_model, 1); .T after [:, :, None] turns all three axes round"),
        Misconception("kernel axis in the middle", lambda W1: W1.T[:, None, :], "the axis of the kernel stands in the middle", "it stands last: (d_ff, d_model, 1)"),
        Misconception("kernel axis first, not transposed", lambda W1: W1[None], "W1 is not transposed and the axis of the kernel stands first", "(d_ff, d_model, 1): outputs, inputs, kernel"),
        Misconception("kernel axis in the middle, not transposed", lambda W1: W1[:, None, :], "W1 is not transposed and the axis of the kernel stands in the middle", "(d_ff, d_model, 1): outputs, inputs, kernel"),
        Misconception("reshaped", lambda W1: np.reshape(W1, (W1.shape[1], W1.shape[0], 1)), "reshape gives the right shape with the numbers in the wrong places", "reshape keeps the order of the numbers: transpose instead"),
        Misconception("reshaped in column order", lambda W1: np.reshape(W1, (W1.shape[1], W1.shape[0], 1), order="F"), "reshape in column order gives the right shape with the numbers in the wrong places", "transpose instead"),
        Misconception("reshaped, not transposed", lambda W1: np.reshape(W1.T, (W1.shape[0], W1.shape[1], 1)), "the transposed matrix is reshaped back, which scrambles it", "W1.T has the right order already: add an axis"),
        Misconception("kernel of size three", lambda W1: np.pad(W1.T[:, :, None], ((0, 0), (0, 0), (1, 1))), "the kernel has three positions, two of them zero", "kernel size 1: the last axis has length 1"),
        Misconception("kernel of size three, repeated", lambda W1: np.repeat(W1.T[:, :, None], 3, axis=2), "the kernel has three equal positions, so that neighbours are added in", "kernel size 1: the last axis has length 1"),
        Misconception("two kernel axes", lambda W1: W1.T[:, :, None, None], "there are two axes for the kernel, as a two-dimensional convolution has", "one axis: (d_ff, d_model, 1)"),
        Misconception("kernel turned", lambda W1: W1.T[::-1, :, None], "the output channels are in reverse order", "nothing is turned round in a kernel of size 1"),
        Misconception("inputs turned", lambda W1: W1.T[:, ::-1, None], "the input channels are in reverse order", "nothing is turned round in a kernel of size 1"),
        Misconception("both turned", lambda W1: W1.T[::-1, ::-1, None], "both channel axes are in reverse order", "nothing is turned round in a kernel of size 1"),
        Misconception("negated", lambda W1: -W1.T[:, :, None], "the sign is turned", "the numbers stay as they are"),
        Misconception("scaled", lambda W1: W1.T[:, :, None] / W1.shape[0], "the weights are divided by d_model", "the numbers stay as they are"),
        Misconception("scaled by the root", lambda W1: W1.T[:, :, None] / np.sqrt(W1.shape[0]), "the weights are divided by the root of d_model", "the numbers stay as they are"),
        Misconception("pseudo-inverse", lambda W1: np.linalg.pinv(W1)[:, :, None], "W1 is inverted instead of transposed", ".T"),
        Misconception("zeros", lambda W1: np.zeros((W1.shape[1], W1.shape[0], 1)), "an array of zeros in the right shape comes back", "fill in the numbers of W1"),
        Misconception("ones", lambda W1: np.ones((W1.shape[1], W1.shape[0], 1)), "an array of ones in the right shape comes back", "fill in the numbers of W1"),
        Misconception("shape only", lambda W1: np.array([W1.shape[1], W1.shape[0], 1]), "the shape is returned instead of the weight", "return the array itself"),
        Misconception("ReLU applied", lambda W1: relu(W1.T)[:, :, None], "negative weights are set to zero", "the numbers stay as they are"),
        Misconception("columns as kernels", lambda W1: W1.T[:, :, None] * np.eye(W1.shape[0])[None], "each input gets a kernel of its own", "the kernel has one position"),
        Misconception("depth-wise", lambda W1: np.diagonal(W1)[:, None, None] * 1.0, "only the diagonal is kept, as in a depth-wise convolution", "every output channel reads every input channel"),
        Misconception("averaged over inputs", lambda W1: np.mean(W1, axis=0)[:, None, None], "the weights are averaged over the inputs", "every output channel has d_model weights"),
    ),
    hints=(
        "Look at the two shapes: W1 is (d_model, d_ff), and a convolution stores (outputs, inputs, kernel).",
        "Transpose W1, then add a last axis of length 1 with [:, :, None].",
        "return W1.___[:, :, None]",
    ),
    why="A kernel of size 1 sees one position, so its weight is W1 with the outputs in front: the layer is a convolution.",
)


# ---------------------------------------------------------------- global_parameters


def global_parameters(T, d):
    """Return the entries of one dense matrix from all T d inputs to all T d outputs."""
    return (T * d) * (T * d)


def global_probes(rng):
    """Draw odd sizes without a common factor, a model's size, one token, one feature."""
    T = int(rng.choice([7, 11, 13, 17, 19]))
    d = int(rng.choice([23, 29, 31, 37, 41]))
    return (call(T, d), call(d, T), call(2048, 4096), call(3, 10), call(1, 6), call(5, 1), call(9, 9), call(127, 3), call(1001, 303))


GLOBAL_PARAMETERS = Exercise(
    id="global_parameters",
    probes=global_probes,
    oracle=global_parameters,
    returns=Count(),
    misconceptions=(
        Misconception("position-wise", lambda T, d: d * d, "one matrix d x d is shared by all tokens: that is the position-wise layer", "the global matrix connects every token's numbers with every token's"),
        Misconception("one matrix a token", lambda T, d: T * d * d, "every position has a matrix d x d of its own and sees no other", "every output reads all T d inputs"),
        Misconception("a matrix over the tokens a feature", lambda T, d: T * T * d, "each of the d numbers has a matrix T x T of its own", "every output reads all T d inputs"),
        Misconception("matrix over the tokens", lambda T, d: T * T, "one matrix T x T over the tokens is counted", "each token has d numbers, and all are connected"),
        Misconception("inputs only", lambda T, d: T * d, "the inputs are counted instead of the entries of the matrix", "the matrix has T d rows and T d columns"),
        Misconception("two matrices added", lambda T, d: T * T + d * d, "a matrix over the tokens and a matrix over the features are counted one after the other", "one matrix over all T d numbers"),
        Misconception("square of the sum", lambda T, d: (T + d) ** 2, "T and d are added before squaring", "T tokens with d numbers each: T times d"),
        Misconception("rows and columns added", lambda T, d: 2 * T * d, "rows and columns are added instead of multiplied", "a matrix has rows times columns entries"),
        Misconception("with a bias", lambda T, d: (T * d) ** 2 + T * d, "a bias for each of the T d outputs is added", "no bias is asked for"),
        Misconception("with a bias of d", lambda T, d: (T * d) ** 2 + d, "a bias of d is added", "no bias is asked for"),
        Misconception("two matrices", lambda T, d: 2 * (T * d) ** 2, "two matrices are counted, or two operations for each entry", "one dense matrix is asked for"),
        Misconception("expanded four times", lambda T, d: 4 * (T * d) ** 2, "the matrix expands to four times its width, or four bytes are counted for each entry", "entries are asked for: T d inputs, T d outputs"),
        Misconception("whole layer with four times the width", lambda T, d: 8 * (T * d) ** 2, "two matrices with an expansion of 4 are counted", "one dense matrix T d x T d"),
        Misconception("position-wise layer", lambda T, d: 8 * d * d, "the position-wise layer with d_ff = 4 d is counted", "one dense matrix over all T d numbers"),
        Misconception("causal", lambda T, d: T * (T + 1) // 2 * d * d, "only the blocks from earlier to later tokens are counted", "dense: every token reads every token"),
        Misconception("strictly causal", lambda T, d: T * (T - 1) // 2 * d * d, "only the blocks between different tokens, in one direction, are counted", "dense: every token reads every token, itself included"),
        Misconception("without the diagonal blocks", lambda T, d: T * (T - 1) * d * d, "the blocks from a token to itself are left out", "dense: every token reads itself as well"),
        Misconception("symmetric", lambda T, d: T * d * (T * d + 1) // 2, "the matrix is taken to be symmetric", "every entry is a parameter of its own"),
        Misconception("half", lambda T, d: (T * d) ** 2 // 2, "half of the entries are counted", "every entry is a parameter of its own"),
        Misconception("without the diagonal", lambda T, d: T * d * (T * d - 1), "the diagonal is left out", "every entry is a parameter"),
        Misconception("difference to position-wise", lambda T, d: (T * d) ** 2 - d * d, "the position-wise matrix is subtracted", "the number of parameters itself is asked for"),
        Misconception("T squared times d to the fourth", lambda T, d: T * T * d**4, "d is squared twice", "(T d) squared is T squared times d squared"),
        Misconception("fourth powers", lambda T, d: (T * d) ** 4, "the square is squared", "(T d) x (T d)"),
        Misconception("cubed", lambda T, d: T * T * d**3, "d enters three times", "(T d) squared is T squared times d squared"),
        Misconception("attention", lambda T, d: 4 * d * d, "the four matrices of attention are counted", "one dense matrix over all T d numbers"),
        Misconception("FLOPs", lambda T, d: 2 * T * d * d, "the operations of the position-wise product are counted", "parameters are asked for: the entries of one matrix"),
        Misconception("attention FLOPs", lambda T, d: 4 * T * T * d, "the operations of attention are counted", "parameters are asked for: the entries of one matrix"),
        Misconception("square of d to the T", lambda T, d: d ** (2 * T) if T < 200 else 0, "a power with T in the exponent is returned", "T tokens: T times d numbers"),
    ),
    grammar=Grammar(
        terms=lambda T, d: {"matrix": T * T * d * d},
        nouns={},
        inputs=(
            ("T is left out", lambda T, d: (1, d)),
            ("d is left out", lambda T, d: (T, 1)),
            ("one more token is counted", lambda T, d: (T + 1, d)),
            ("4 d stands for d", lambda T, d: (T, 4 * d)),
        ),
        edits=(
            ("a bias for each of the T d outputs is added", lambda terms, T, d: {**terms, "bias": T * d}),
            ("a bias of d is added", lambda terms, T, d: {**terms, "bias": d}),
            ("a bias of T is added", lambda terms, T, d: {**terms, "bias": T}),
        ),
        factors=(
            ("a second matrix of the same size is counted", lambda total, T, d: 2 * total),
            ("three matrices are counted", lambda total, T, d: 3 * total),
            ("four matrices, or an expansion of 4, are counted", lambda total, T, d: 4 * total),
            ("two matrices with an expansion of 4 are counted", lambda total, T, d: 8 * total),
        ),
    ),
    hints=(
        "Look at what goes in and what comes out: T rows of d numbers each, on both sides.",
        "A dense matrix has one entry for every pair of an input and an output.",
        "return (T * d) * ___",
    ),
    why="Every one of the T d outputs reads every one of the T d inputs: T squared times what a matrix for one row costs.",
)

EXERCISES = (IS_POSITIONWISE, CONV1D_WEIGHT, GLOBAL_PARAMETERS)
