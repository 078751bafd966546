"""Lesson 12: which units carry a fact, changing one fact by a rank-one edit, and scoring the edit."""

from __future__ import annotations

import numpy as np

from ffnlib.examination.exercise import Array, Exercise, Grammar, Misconception, Parts, Record, Remote, call
from ffnlib.examination.lessons.endings import rounded

# ---------------------------------------------------------------- neuron_attribution


def neuron_attribution(grad, w, m):
    """Return w times the mean gradient at the m points j/m * w, for j = 1 .. m."""
    gradients = [grad(j / m * w) for j in range(1, m + 1)]
    return w * np.mean(gradients, axis=0)


def gradient(rng, n: int) -> Remote:
    """Draw the gradient of a small smooth network of n activations; it stays with the judge."""
    A, c = rng.normal(size=(n + 2, n)), rng.normal(size=n + 2)

    def grad(a):
        """a gradient function"""
        a = np.asarray(a, dtype=np.float64)
        if a.shape != (n,):
            raise ValueError(f"grad takes one activation vector of shape ({n},), and was given shape {a.shape}")
        return A.T @ (c / np.cosh(A @ a) ** 2)

    return Remote(grad)


def attribution_probes(rng):
    """Draw activations of either sign, zeros, whole numbers, one unit, and one step or many."""
    return (
        call(gradient(rng, 4), rng.normal(size=4), 5),
        call(gradient(rng, 4), rng.normal(size=4) * 2, 1),
        call(gradient(rng, 1), rng.normal(size=1) + 2, 3),
        call(gradient(rng, 3), np.array([0.0, 1.5, -0.7]), 2),
        call(gradient(rng, 3), rng.integers(1, 4, size=3) * np.array([1, -1, 1]), 4),
        call(gradient(rng, 5), rng.normal(size=5), 12),
    )


NEURON_ATTRIBUTION = Exercise(
    id="neuron_attribution",
    probes=attribution_probes,
    oracle=neuron_attribution,
    returns=Array(),
    misconceptions=(
        Misconception("starts at 0", lambda grad, w, m: w * np.mean([grad(j / m * w) for j in range(m)], axis=0), "j runs from 0 to m - 1", "the points are 1/m, 2/m, .. 1 times w"),
        Misconception("both ends", lambda grad, w, m: w * np.mean([grad(j / m * w) for j in range(m + 1)], axis=0), "j runs from 0 to m, and the mean has m + 1 gradients", "the points are 1/m, 2/m, .. 1 times w"),
        Misconception("both ends, divided by m", lambda grad, w, m: w * np.sum([grad(j / m * w) for j in range(m + 1)], axis=0) / m, "j runs from 0 to m: one gradient too many is added", "the points are 1/m, 2/m, .. 1 times w"),
        Misconception("last point missing", lambda grad, w, m: w * np.sum([grad(j / m * w) for j in range(1, m)], axis=0) / m + 0 * w, "j stops at m - 1: range(1, m) leaves out m", "range(1, m + 1) ends with m"),
        Misconception("last point missing, divided by m - 1", lambda grad, w, m: w * np.mean([grad(j / m * w) for j in range(1, m)], axis=0), "j stops at m - 1, and the mean has m - 1 gradients", "range(1, m + 1) ends with m"),
        Misconception("midpoints", lambda grad, w, m: w * np.mean([grad((j - 0.5) / m * w) for j in range(1, m + 1)], axis=0), "the gradients are taken in the middle of each step", "the points are 1/m, 2/m, .. 1 times w"),
        Misconception("trapezoid", lambda grad, w, m: w * (np.sum([grad(j / m * w) for j in range(1, m)], axis=0) + (grad(0.0 * w) + grad(1.0 * w)) / 2) / m, "the first and the last gradient count half, as in the trapezoid rule", "the mean of m gradients, all alike"),
        Misconception("linspace from 0", lambda grad, w, m: w * np.mean([grad(t * w) for t in np.linspace(0, 1, m)], axis=0), "the m points run from 0 to w, both included", "the first point is w / m"),
        Misconception("divided by m + 1", lambda grad, w, m: w * np.mean([grad(j / (m + 1) * w) for j in range(1, m + 1)], axis=0), "the points are j / (m + 1) times w", "the last point is w itself"),
        Misconception("sum", lambda grad, w, m: w * np.sum([grad(j / m * w) for j in range(1, m + 1)], axis=0), "the gradients are added up and not divided by m", "the mean over the m points is asked for"),
        Misconception("sum divided by m + 1", lambda grad, w, m: w * np.sum([grad(j / m * w) for j in range(1, m + 1)], axis=0) / (m + 1), "the sum of m gradients is divided by m + 1", "m points, divided by m"),
        Misconception("divided twice", lambda grad, w, m: w * np.mean([grad(j / m * w) for j in range(1, m + 1)], axis=0) / m, "the mean is divided by m once more", "a mean is divided by m already"),
        Misconception("w left out", lambda grad, w, m: np.mean([grad(j / m * w) for j in range(1, m + 1)], axis=0), "the mean gradient is not multiplied by w", "how far each unit moves, w, is the other factor"),
        Misconception("w left out, sum", lambda grad, w, m: np.sum([grad(j / m * w) for j in range(1, m + 1)], axis=0), "the gradients are added up, not divided by m, and not multiplied by w", "w times the mean gradient"),
        Misconception("gradient at w", lambda grad, w, m: w * grad(1.0 * w), "only the gradient at w is used (gradient times input)", "the gradients along the way from 0 to w are averaged"),
        Misconception("gradient at 0", lambda grad, w, m: w * grad(0.0 * w), "only the gradient at 0 is used", "the gradients along the way from 0 to w are averaged"),
        Misconception("gradient alone", lambda grad, w, m: grad(1.0 * w), "the gradient at w alone is returned", "w times the mean gradient along the way"),
        Misconception("gradient at the mean", lambda grad, w, m: w * grad((m + 1) / (2 * m) * w), "the gradient is taken once, at the mean of the points", "take the gradient at every point, then the mean"),
        Misconception("points not scaled", lambda grad, w, m: w * np.mean([grad(j * w) for j in range(1, m + 1)], axis=0), "the points are j times w, without dividing by m", "the way ends at w"),
        Misconception("first step always", lambda grad, w, m: w * grad(w / m), "every gradient is taken at w / m", "the points move on with j"),
        Misconception("w not in the points", lambda grad, w, m: w * np.mean([grad(j / m + 0 * w) for j in range(1, m + 1)], axis=0), "the points are j / m without w", "the points are j / m times w"),
        Misconception("whole division", lambda grad, w, m: w * np.mean([grad(j // m * w) for j in range(1, m + 1)], axis=0), "j // m is rounded down, so that all points but the last are 0", "use /"),
        Misconception("weighted", lambda grad, w, m: np.mean([j / m * w * grad(j / m * w) for j in range(1, m + 1)], axis=0), "each gradient is multiplied by its own point instead of by w", "w stands outside the mean"),
        Misconception("w squared", lambda grad, w, m: w**2 * np.mean([grad(j / m * w) for j in range(1, m + 1)], axis=0), "w enters squared", "w times the mean gradient"),
        Misconception("size of w", lambda grad, w, m: np.abs(w) * np.mean([grad(j / m * w) for j in range(1, m + 1)], axis=0), "the sign of w is lost", "a unit below zero has its sign in the product"),
        Misconception("size of the result", lambda grad, w, m: np.abs(w * np.mean([grad(j / m * w) for j in range(1, m + 1)], axis=0)), "the sign of the attribution is lost", "units may speak for a fact or against it"),
        Misconception("sizes of the gradients", lambda grad, w, m: w * np.mean([np.abs(grad(j / m * w)) for j in range(1, m + 1)], axis=0), "the signs of the gradients are lost", "average the gradients as they are"),
        Misconception("negated", lambda grad, w, m: -w * np.mean([grad(j / m * w) for j in range(1, m + 1)], axis=0), "the sign is turned round", "w times the mean gradient"),
        Misconception("summed over units", lambda grad, w, m: np.sum(w * np.mean([grad(j / m * w) for j in range(1, m + 1)], axis=0)), "the attributions are added up over the units", "one number for each unit"),
        Misconception("mean over units", lambda grad, w, m: w * np.mean([grad(j / m * w) for j in range(1, m + 1)]), "the mean is taken over the units as well", "axis=0: over the points only"),
        Misconception("mean over units only", lambda grad, w, m: w * np.mean([np.mean(grad(j / m * w)) for j in range(1, m + 1)]) * len(w), "the gradient is added up over the units", "one number for each unit"),
        Misconception("one unit at a time", lambda grad, w, m: w * np.mean([[grad(j / m * w * (np.arange(len(w)) == i))[i] for i in range(len(w))] for j in range(1, m + 1)], axis=0), "the other units are held at 0 while one is scaled", "the whole vector is scaled from 0 to w"),
        Misconception("others at their value", lambda grad, w, m: w * np.mean([[grad(np.where(np.arange(len(w)) == i, j / m * w, w))[i] for i in range(len(w))] for j in range(1, m + 1)], axis=0), "the other units keep their value while one is scaled", "the whole vector is scaled from 0 to w"),
        Misconception("gradient divided by w", lambda grad, w, m: np.mean([grad(j / m * w) for j in range(1, m + 1)], axis=0) / np.where(w == 0, 1, w), "the mean gradient is divided by w", "w times the mean gradient"),
        Misconception("points halved", lambda grad, w, m: w * np.mean([grad(j / (2 * m) * w) for j in range(1, m + 1)], axis=0), "the points end at w / 2", "the last point is w"),
        Misconception("all points at once", lambda grad, w, m: w * np.mean(grad(np.array([j / m * w for j in range(1, m + 1)])), axis=0), "grad is called with all points at once, and it takes one vector", "call grad once for each point", raises="ValueError"),
        Misconception("a number instead of a point", lambda grad, w, m: w * np.mean([grad(j / m) for j in range(1, m + 1)], axis=0), "grad is called with the number j / m instead of with a vector", "the points are j / m times w", raises="ValueError"),
        Misconception("not averaged", lambda grad, w, m: np.array([w * grad(j / m * w) for j in range(1, m + 1)]), "the m products come back without being averaged", "take the mean over the points, axis 0"),
        Misconception("w minus the mean", lambda grad, w, m: w - np.mean([grad(j / m * w) for j in range(1, m + 1)], axis=0), "the mean gradient is subtracted from w, as in a step of training", "w times the mean gradient"),
        Misconception("w plus the mean", lambda grad, w, m: w + np.mean([grad(j / m * w) for j in range(1, m + 1)], axis=0), "the mean gradient is added to w", "w times the mean gradient"),
        Misconception("sizes of the points", lambda grad, w, m: w * np.mean([grad(np.abs(j / m * w)) for j in range(1, m + 1)], axis=0), "the signs of the points are lost", "the points are j / m times w, with its signs"),
        Misconception("way backwards", lambda grad, w, m: w * np.mean([grad(1 - j / m * w) for j in range(1, m + 1)], axis=0), "the points are 1 - j/m w", "the points are j / m times w"),
        Misconception("10 points", lambda grad, w, m: w * np.mean([grad(j / 10 * w) for j in range(1, 11)], axis=0), "10 points are used, whatever m is", "use m"),
        Misconception("20 points", lambda grad, w, m: w * np.mean([grad(j / 20 * w) for j in range(1, 21)], axis=0), "20 points are used, whatever m is", "use m"),
        Misconception("50 points", lambda grad, w, m: w * np.mean([grad(j / 50 * w) for j in range(1, 51)], axis=0), "50 points are used, whatever m is", "use m"),
        Misconception("100 points", lambda grad, w, m: w * np.mean([grad(j / 100 * w) for j in range(1, 101)], axis=0), "100 points are used, whatever m is", "use m"),
        Misconception("median", lambda grad, w, m: w * np.median([grad(j / m * w) for j in range(1, m + 1)], axis=0), "the median of the gradients is taken", "the mean is asked for"),
        Misconception("last gradient", lambda grad, w, m: w * grad(1.0 * w) / m, "only the last gradient is kept, divided by m", "add the gradients up: += inside the loop"),
        Misconception("first gradient", lambda grad, w, m: w * grad(w / m) / m, "only the first gradient is kept, divided by m", "is there a return inside the loop? it ends the loop at its first turn"),
        Misconception("points shrink", lambda grad, w, m: w * np.mean([grad(np.prod(np.arange(1, j + 1) / m) * w) for j in range(1, m + 1)], axis=0), "each point is the one before it times j / m", "each point is j / m times w itself: do not overwrite w"),
        Misconception("points rounded down", lambda grad, w, m: w * np.mean([grad(j * w // m) for j in range(1, m + 1)], axis=0), "the points are rounded down to whole numbers", "/ divides, // rounds down"),
        Misconception("last point missing, but for one", lambda grad, w, m: w * np.sum([grad(j / m * w) for j in range(1, max(2, m))], axis=0) / m, "the point m is left out where m is above 1", "range(2, m + 1) ends with m"),
        Misconception("gradients below zero cut", lambda grad, w, m: w * np.mean([np.maximum(0, grad(j / m * w)) for j in range(1, m + 1)], axis=0), "gradients below 0 are set to 0", "average the gradients as they are"),
        Misconception("attributions below zero cut", lambda grad, w, m: np.maximum(0, neuron_attribution(grad, w, m)), "attributions below 0 are set to 0", "units may speak for a fact or against it"),
        Misconception("shares", lambda grad, w, m: neuron_attribution(grad, w, m) / np.sum(neuron_attribution(grad, w, m)), "the attributions are divided by their sum", "they add up to the change from 0 to w, and not to 1"),
        Misconception("sum divided by the units", lambda grad, w, m: neuron_attribution(grad, w, m) * m / len(w), "the sum of the gradients is divided by the number of units", "the mean runs over the m points"),
        *rounded(neuron_attribution),
    ),
    hints=(
        "Look at the way from 0 to w: m points on it, the last of which is w itself.",
        "Call grad at j / m * w for j = 1 .. m, take the mean over these points (axis 0), and multiply by w.",
        "return w * np.mean([grad(___ * w) for j in range(1, m + 1)], axis=0)",
    ),
    why="The sum of gradients along the way approximates an integral: added over all units it is the change from 0 to w, whatever the curvature.",
)


# ---------------------------------------------------------------- rome_update


def rome_update(W, C, k, v):
    """Return W after the rank-one edit that makes it answer v to the key k, minimal under the key covariance C."""
    if not np.any(k):
        raise ValueError("the key is zero: no edit of W can make it answer")
    direction = np.linalg.solve(C, k)
    return W + np.outer(v - W @ k, direction) / (k @ direction)


def covariance(rng, n: int):
    """Draw a symmetric positive definite matrix that is far from diagonal and well conditioned."""
    A = rng.normal(size=(n, n))
    return A @ A.T / n + np.diag(rng.uniform(0.5, 1.5, size=n)) + 0.3


def rome_case(rng, d: int, d_ff: int):
    """Draw W, C, a key and a target."""
    return rng.normal(size=(d, d_ff)), covariance(rng, d_ff), rng.normal(size=d_ff), rng.normal(size=d) * 2


def rome_probes(rng):
    """Draw wide, square and narrow matrices, one unit, whole numbers, and keys: small, zero, with zeros, of sum zero."""
    W, C, k, v = rome_case(rng, 3, 5)
    small_W, small_C, small_k, small_v = rome_case(rng, 4, 3)
    whole = np.array([[2, 1], [1, 3]])
    sparse = np.array([0.0, 1.3, 0.0, 0.4, 2.1])
    return (
        call(W, C, k, v),
        call(*rome_case(rng, 4, 4)),
        call(small_W, small_C, small_k * 0.05, small_v),
        call(rng.normal(size=(3, 5)), covariance(rng, 5), sparse, rng.normal(size=3)),
        call(rng.normal(size=(2, 4)), covariance(rng, 4), np.array([1.0, -2.0, 1.5, -0.5]), rng.normal(size=2)),
        call(*rome_case(rng, 1, 3)),
        call(*rome_case(rng, 3, 1)),
        call(rng.integers(-4, 5, size=(3, 2)), whole, np.array([1, -2]), rng.integers(-4, 5, size=3)),
        call(W, C, np.zeros(5), v),
        call(*rome_case(rng, 2, 2)),
        call(small_W, small_C, small_k * 1e-5, small_v),
    )


def refuse_zero(k) -> None:
    """Raise ValueError for a zero key, as the exercise asks, so that a wrong program has only its own slip."""
    if not np.any(k):
        raise ValueError("the key is zero")


def unguarded(W, C, k, v):
    """Return the edit for a key that is not zero; a zero key divides zero by zero."""
    direction = np.linalg.solve(C, k)
    return W + np.outer(v - W @ k, direction) / (k @ direction)


def _root(C):
    values, vectors = np.linalg.eigh(C)
    return vectors @ np.diag(values**-0.5) @ vectors.T


def _length(k):
    return np.sqrt(np.sum(np.square(k)))


EDIT_SLIPS = (
    Misconception("C ignored", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, k) / (k @ k), "C is not used: the edit goes along the key itself", "other keys move least along C^-1 k"),
    Misconception("brackets missing in the division", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, np.linalg.solve(C, k)) / k @ np.linalg.solve(C, k), "the product below the fraction has no brackets, so that only k divides", "/ (k @ u)"),
    Misconception("no column times row", lambda W, C, k, v: refuse_zero(k) or W + (v - W @ k) @ np.linalg.solve(C, k).T / (k @ np.linalg.solve(C, k)), "two vectors meet in @, which makes one number of them, or refuses: .T changes nothing in a vector", "a column times a row of vectors is np.outer(a, b), or a[:, None] * b"),
    Misconception("C not inverted", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, C @ k) / (k @ (C @ k)), "C k stands in the place of C^-1 k", "solve C u = k for u"),
    Misconception("C inverted twice", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, np.linalg.solve(C, np.linalg.solve(C, k))) / (k @ np.linalg.solve(C, np.linalg.solve(C, k))), "C is inverted twice", "solve C u = k for u, once"),
    Misconception("root of C", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, _root(C) @ k) / (k @ (_root(C) @ k)), "C^(-1/2) stands in the place of C^-1", "solve C u = k for u"),
    Misconception("C inverted entry by entry", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, (1 / C) @ k) / (k @ ((1 / C) @ k)), "C is inverted entry by entry", "np.linalg.inv or np.linalg.solve inverts the matrix"),
    Misconception("diagonal of C", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, k / np.diag(C)) / (k @ (k / np.diag(C))), "only the diagonal of C is used", "solve C u = k for u with the whole matrix"),
    Misconception("ridge added", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, np.linalg.solve(C + np.eye(len(k)), k)) / (k @ np.linalg.solve(C + np.eye(len(k)), k)), "the identity is added to C", "C can be inverted as it is"),
    Misconception("small ridge added", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, np.linalg.solve(C + 1e-3 * np.eye(len(k)), k)) / (k @ np.linalg.solve(C + 1e-3 * np.eye(len(k)), k)), "a thousandth of the identity is added to C", "C can be inverted as it is"),
    Misconception("not divided", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, np.linalg.solve(C, k)), "the update is not divided by k C^-1 k", "W' k must be v: what does your update make of k?"),
    Misconception("not divided, C ignored", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, k), "C is not used, and the update is not divided by k k", "W' k must be v: what does your update make of k?"),
    Misconception("divided by k k", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, np.linalg.solve(C, k)) / (k @ k), "the update is divided by k k instead of k C^-1 k", "W' k must be v: what does your update make of k?"),
    Misconception("divided by k C k", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, np.linalg.solve(C, k)) / (k @ (C @ k)), "the update is divided by k C k instead of k C^-1 k", "the same C^-1 k stands above and below"),
    Misconception("divided by the key's length", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, np.linalg.solve(C, k)) / _length(k), "the update is divided by the length of k", "divide by k C^-1 k"),
    Misconception("divided by the direction's length", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, np.linalg.solve(C, k)) / _length(np.linalg.solve(C, k)), "the update is divided by the length of C^-1 k", "divide by k C^-1 k"),
    Misconception("divided by the direction's square", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, np.linalg.solve(C, k)) / np.sum(np.linalg.solve(C, k) ** 2), "the update is divided by the squared length of C^-1 k", "divide by k C^-1 k"),
    Misconception("divided by the root", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, np.linalg.solve(C, k)) / np.sqrt(k @ np.linalg.solve(C, k)), "the update is divided by the root of k C^-1 k", "divide by k C^-1 k itself"),
    Misconception("multiplied", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, np.linalg.solve(C, k)) * (k @ np.linalg.solve(C, k)), "the update is multiplied by k C^-1 k instead of divided", "W' k must be v: what does your update make of k?"),
    Misconception("direction along k, divided by k C^-1 k", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, k) / (k @ np.linalg.solve(C, k)), "the edit goes along k, divided by k C^-1 k", "the same C^-1 k stands above and below"),
    Misconception("small number below", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, np.linalg.solve(C, k)) / (k @ np.linalg.solve(C, k) + 1e-8), "1e-8 is added below the fraction bar, so a small key misses its target", "a zero key is refused; no other key divides by zero"),
    Misconception("larger number below", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, np.linalg.solve(C, k)) / (k @ np.linalg.solve(C, k) + 1e-6), "1e-6 is added below the fraction bar, so a small key misses its target", "a zero key is refused; no other key divides by zero"),
    Misconception("v instead of the gap", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v, np.linalg.solve(C, k)) / (k @ np.linalg.solve(C, k)), "v is added instead of v - W k", "W answers W k to the key already"),
    Misconception("v instead of the gap, C ignored", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v, k) / (k @ k), "v is added instead of v - W k, and C is not used", "W answers W k to the key already"),
    Misconception("gap turned round", lambda W, C, k, v: refuse_zero(k) or W + np.outer(W @ k - v, np.linalg.solve(C, k)) / (k @ np.linalg.solve(C, k)), "W k - v stands in the place of v - W k, so the answer moves away from v", "which way must W k move?"),
    Misconception("gap turned round, C ignored", lambda W, C, k, v: refuse_zero(k) or W + np.outer(W @ k - v, k) / (k @ k), "W k - v stands in the place of v - W k, and C is not used", "which way must W k move?"),
    Misconception("gap added", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v + W @ k, np.linalg.solve(C, k)) / (k @ np.linalg.solve(C, k)), "v + W k stands in the place of v - W k", "what is missing from W k to v?"),
    Misconception("gap scaled to length one", lambda W, C, k, v: refuse_zero(k) or W + np.outer((v - W @ k) / _length(v - W @ k), np.linalg.solve(C, k)) / (k @ np.linalg.solve(C, k)), "the gap v - W k is scaled to length 1", "the whole gap has to be closed"),
    Misconception("gap at the direction", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ np.linalg.solve(C, k), np.linalg.solve(C, k)) / (k @ np.linalg.solve(C, k)), "the gap is taken at C^-1 k instead of at k", "W answers to the key itself"),
    Misconception("half the way", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W @ k, np.linalg.solve(C, k)) / (2 * (k @ np.linalg.solve(C, k))), "only half of the update is added", "W' k must be v"),
    Misconception("twice the way", lambda W, C, k, v: refuse_zero(k) or W + 2 * np.outer(v - W @ k, np.linalg.solve(C, k)) / (k @ np.linalg.solve(C, k)), "the update is added twice", "W' k must be v"),
    Misconception("update only", lambda W, C, k, v: refuse_zero(k) or np.outer(v - W @ k, np.linalg.solve(C, k)) / (k @ np.linalg.solve(C, k)), "the update is returned without W", "return W + update"),
    Misconception("W thrown away", lambda W, C, k, v: refuse_zero(k) or np.outer(v, np.linalg.solve(C, k)) / (k @ np.linalg.solve(C, k)), "W is thrown away: the result answers v to the key, and forgets everything else", "change W as little as possible: W + update"),
    Misconception("W unchanged", lambda W, C, k, v: refuse_zero(k) or 1.0 * W, "W comes back unchanged", "W' k must be v"),
    Misconception("update transposed", lambda W, C, k, v: refuse_zero(k) or W + np.outer(np.linalg.solve(C, k), v - W @ k) / (k @ np.linalg.solve(C, k)), "the two factors of the outer product have changed places", "W has a row for each output: np.outer(gap, direction)"),
    Misconception("row convention", lambda W, C, k, v: refuse_zero(k) or W + np.outer(np.linalg.solve(C, k), v - k @ W) / (k @ np.linalg.solve(C, k)), "the row convention k W is used", "here W k = v: W is (d, d_ff)"),
    Misconception("gap through the transpose", lambda W, C, k, v: refuse_zero(k) or W + np.outer(v - W.T @ k, np.linalg.solve(C, k)) / (k @ np.linalg.solve(C, k)), "the gap is taken with W transposed", "W answers W k"),
    Misconception("result transposed", lambda W, C, k, v: refuse_zero(k) or (W + np.outer(v - W @ k, np.linalg.solve(C, k)) / (k @ np.linalg.solve(C, k))).T, "the result is transposed", "W' has the shape of W"),
    Misconception("product entry by entry", lambda W, C, k, v: refuse_zero(k) or W + (v - W @ k)[:, None] + np.linalg.solve(C, k) / (k @ np.linalg.solve(C, k)), "the two factors are added instead of multiplied", "np.outer(gap, direction)"),
    Misconception("factors multiplied entry by entry", lambda W, C, k, v: refuse_zero(k) or W + (v - W @ k) * np.linalg.solve(C, k) / (k @ np.linalg.solve(C, k)), "the gap and the direction are multiplied entry by entry", "a column times a row: np.outer(gap, direction)"),
)


def edit_terms(W, C, k, v):
    """Return what the edit is put together from; `below` is k u unless a slip sets it."""
    refuse_zero(k)
    return {"base": 1.0 * W, "u": np.linalg.solve(C, k), "gap": v - W @ k, "below": None, "rate": 1.0}


def edit_from(terms, W, C, k, v):
    """Put the edit together from its terms."""
    below = k @ terms["u"] if terms["below"] is None else terms["below"]
    return terms["base"] + terms["rate"] * np.outer(terms["gap"], terms["u"]) / below


def put(name: str, value):
    """Return the edit of a grammar's terms that puts `value(terms, *args)` in the place of one term."""
    return lambda terms, *args: {**terms, name: value(terms, *args)}


EDIT_PARTS = (
    ("C is not used", put("u", lambda terms, W, C, k, v: 1.0 * k)),
    ("C k stands in the place of C^-1 k", put("u", lambda terms, W, C, k, v: C @ k)),
    ("only the diagonal of C is used", put("u", lambda terms, W, C, k, v: k / np.diag(C))),
    ("C^(-1/2) stands in the place of C^-1", put("u", lambda terms, W, C, k, v: _root(C) @ k)),
    ("the Cholesky factor of C stands in the place of C", put("u", lambda terms, W, C, k, v: np.linalg.solve(np.linalg.cholesky(C), k))),
    ("C is inverted twice", put("u", lambda terms, W, C, k, v: np.linalg.solve(C, np.linalg.solve(C, k)))),
    ("C is inverted twice above the fraction bar and once below it", lambda terms, W, C, k, v: {**terms, "u": np.linalg.solve(C, terms["u"]), "below": k @ np.linalg.solve(C, k)}),
    ("the identity is added to C", put("u", lambda terms, W, C, k, v: np.linalg.solve(C + np.eye(len(k)), k))),
    ("a tenth of the identity is added to C", put("u", lambda terms, W, C, k, v: np.linalg.solve(C + 0.1 * np.eye(len(k)), k))),
    ("a hundredth of the identity is added to C", put("u", lambda terms, W, C, k, v: np.linalg.solve(C + 0.01 * np.eye(len(k)), k))),
    ("1e-4 of the identity is added to C", put("u", lambda terms, W, C, k, v: np.linalg.solve(C + 1e-4 * np.eye(len(k)), k))),
    ("1e-6 of the identity is added to C", put("u", lambda terms, W, C, k, v: np.linalg.solve(C + 1e-6 * np.eye(len(k)), k))),
    ("the update is not divided", put("below", lambda terms, W, C, k, v: 1.0)),
    ("the update is divided by k k", put("below", lambda terms, W, C, k, v: k @ k)),
    ("the update is divided by k C k", put("below", lambda terms, W, C, k, v: k @ C @ k)),
    ("the update is divided by k C^-1 k", put("below", lambda terms, W, C, k, v: k @ np.linalg.solve(C, k))),
    ("the update is divided by the length of the direction", put("below", lambda terms, W, C, k, v: _length(terms["u"]))),
    ("the update is divided by the squared length of the direction", put("below", lambda terms, W, C, k, v: terms["u"] @ terms["u"])),
    ("the update is divided by the length of k", put("below", lambda terms, W, C, k, v: _length(k))),
    ("the update is divided by the number of units", put("below", lambda terms, W, C, k, v: len(k))),
    ("v is added instead of v - W k", put("gap", lambda terms, W, C, k, v: 1.0 * v)),
    ("W k - v stands in the place of v - W k", put("gap", lambda terms, W, C, k, v: -terms["gap"])),
    ("v + W k stands in the place of v - W k", put("gap", lambda terms, W, C, k, v: v + W @ k)),
    ("the answer to the key is set to zero: v is left out", put("gap", lambda terms, W, C, k, v: -(W @ k))),
    ("the gap is taken with W transposed", put("gap", lambda terms, W, C, k, v: v - W.T @ k)),
    ("W is left out", put("base", lambda terms, W, C, k, v: 0.0 * W)),
    ("the update is added twice", put("rate", lambda terms, W, C, k, v: 2.0)),
    ("half of the update is added", put("rate", lambda terms, W, C, k, v: 0.5)),
    ("a tenth of the update is added", put("rate", lambda terms, W, C, k, v: 0.1)),
    ("the update is subtracted", put("rate", lambda terms, W, C, k, v: -1.0)),
)


def silent(W, C, k, v):
    """Return W as it is for a zero key, and the edit for any other."""
    return unguarded(W, C, k, v) if np.any(k) else 1.0 * W


ROME_UPDATE = Exercise(
    id="rome_update",
    probes=rome_probes,
    oracle=rome_update,
    returns=Array(),
    misconceptions=(
        *EDIT_SLIPS,
        Misconception("key of length one", lambda W, C, k, v: refuse_zero(k) or unguarded(W, C, k / _length(k), v), "the key is scaled to length 1, so that W' answers v to that one", "W' k must be v for k itself"),
        Misconception("rounded", lambda W, C, k, v: np.round(rome_update(W, C, k, v), 4), "the result is rounded to 4 digits", "return the unrounded numbers"),
        Misconception("rounded to 2", lambda W, C, k, v: np.round(rome_update(W, C, k, v), 2), "the result is rounded to 2 digits", "return the unrounded numbers"),
        Misconception("zero key divides by zero", unguarded, "a zero key is not refused, and zero is divided by zero", "raise ValueError for k = 0 before dividing"),
        Misconception("zero key passes", silent, "a zero key is not refused: W comes back unchanged", "no edit can make W answer v to a zero key: raise ValueError"),
        Misconception("zero key gives zeros", lambda W, C, k, v: unguarded(W, C, k, v) if np.any(k) else 0.0 * W, "a zero key is not refused: zeros come back", "no edit can make W answer v to a zero key: raise ValueError"),
    ),
    hints=(
        "Look at what the edit must do: W' k = v, and other keys, whose covariance is C, should notice as little as possible.",
        "The update is an outer product of the gap v - W k and the direction u = C^-1 k, divided by k u; refuse a zero key first.",
        "u = np.linalg.solve(C, k); return W + np.outer(v - W @ k, u) / (___)",
    ),
    grammar=Grammar(terms=edit_terms, nouns={}, edits=EDIT_PARTS, combine=edit_from),
    why="Among all updates with W' k = v, this one makes the mean squared change over keys with covariance C smallest: that is the C^-1 in it.",
)


# ---------------------------------------------------------------- rome_layer


def rome_layer(W1, b1, W2, b2, x, v, C):
    """Return (W1, W2', b2) with W2 edited so that the layer, in the column convention, answers v to x."""
    key = np.maximum(0, W1 @ x + b1)
    if not np.any(key):
        raise ValueError("no unit fires for x: no edit of W2 can change the answer")
    direction = np.linalg.solve(C, key)
    gap = (v - b2) - W2 @ key
    return W1, W2 + np.outer(gap, direction) / (key @ direction), b2


def rome_layer_case(rng, d: int, d_ff: int):
    """Draw a layer, an input for which some units fire and some do not where there are several, a target and C."""
    W1, b1 = rng.normal(size=(d_ff, d)), rng.normal(size=d_ff)
    x = rng.normal(size=d)
    hidden = W1 @ x + b1
    while not (hidden > 0.2).any() or (d_ff > 2 and (hidden > 0).all()):
        x = rng.normal(size=d)
        hidden = W1 @ x + b1
    W2, b2 = rng.normal(size=(d, d_ff)), rng.normal(size=d) + 0.5
    return W1, b1, W2, b2, x, rng.normal(size=d) * 2, covariance(rng, d_ff)


def rome_layer_probes(rng):
    """Draw wide, square and narrow layers, one dimension, inputs for which no unit fires, or every unit, and x = 0."""
    W1, b1, W2, b2, x, v, C = rome_layer_case(rng, 3, 6)
    return (
        call(W1, b1, W2, b2, x, v, C),
        call(*rome_layer_case(rng, 4, 4)),
        call(*rome_layer_case(rng, 4, 3)),
        call(*rome_layer_case(rng, 1, 4)),
        call(W1, -np.abs(W1 @ x) - 1, W2, b2, x, v, C),
        call(*rome_layer_case(rng, 3, 3)),
        call(W1, np.abs(W1 @ x) + 1, W2, b2, x, v, C),
        call(W1 * 1e-4, b1 * 1e-4, W2, b2, x, v, C),
        call(W1, np.abs(b1) + 0.2, W2, b2, np.zeros(3), v, C),
    )


def fire(W1, b1, x):
    """Return the key of x. **Raises** ValueError when no unit fires."""
    key = np.maximum(0, W1 @ x + b1)
    refuse_zero(key)
    return key


def _through(slip: Misconception) -> Misconception:
    """Return a slip of rome_update as it looks inside rome_layer."""

    def program(W1, b1, W2, b2, x, v, C):
        return W1, slip.program(W2, C, fire(W1, b1, x), v - b2), b2

    because = slip.because.replace("W k", "W2 key").replace("W comes", "W2 comes")
    return Misconception(slip.name, program, f"in the edit of W2, with W2, key and v - b2 as W, k and v: {because}", slip.next)


def _gelu(z):
    from ffnlib.activations import gelu

    return gelu(z)


LAYER_SLIPS = (
    Misconception("b2 not subtracted", lambda W1, b1, W2, b2, x, v, C: (W1, rome_update(W2, C, fire(W1, b1, x), v), b2), "the target of W2 is v instead of v - b2", "b2 is added after W2: what must W2 answer so that the layer answers v?"),
    Misconception("b2 added", lambda W1, b1, W2, b2, x, v, C: (W1, rome_update(W2, C, fire(W1, b1, x), v + b2), b2), "the target of W2 is v + b2 instead of v - b2", "b2 is added after W2: what must W2 answer so that the layer answers v?"),
    Misconception("b2 subtracted twice", lambda W1, b1, W2, b2, x, v, C: (W1, rome_update(W2, C, fire(W1, b1, x), v - 2 * b2), b2), "b2 is subtracted twice: in the target and in the gap", "the gap is v - (W2 key + b2)"),
    Misconception("b1 subtracted from the target", lambda W1, b1, W2, b2, x, v, C: (W1, rome_update(W2, C, fire(W1, b1, x), v - b1), b2), "b1 is subtracted from the target instead of b2", "which bias is added after W2?"),
    Misconception("no ReLU", lambda W1, b1, W2, b2, x, v, C: (fire(W1, b1, x), (W1, rome_update(W2, C, W1 @ x + b1, v - b2), b2))[1], "the key is taken without ReLU", "W2 meets the hidden values after the ReLU"),
    Misconception("no b1", lambda W1, b1, W2, b2, x, v, C: (fire(W1, b1, x), (W1, rome_update(W2, C, np.maximum(0, W1 @ x), v - b2), b2))[1], "the key is taken without b1", "key = relu(W1 x + b1)"),
    Misconception("no b1, no ReLU", lambda W1, b1, W2, b2, x, v, C: (fire(W1, b1, x), (W1, rome_update(W2, C, W1 @ x, v - b2), b2))[1], "the key is taken without b1 and without ReLU", "key = relu(W1 x + b1)"),
    Misconception("b1 after the ReLU", lambda W1, b1, W2, b2, x, v, C: (fire(W1, b1, x), (W1, rome_update(W2, C, np.maximum(0, W1 @ x) + b1, v - b2), b2))[1], "b1 is added to the key after the ReLU", "key = relu(W1 x + b1)"),
    Misconception("b1 subtracted", lambda W1, b1, W2, b2, x, v, C: (fire(W1, b1, x), (W1, rome_update(W2, C, np.maximum(0, W1 @ x - b1), v - b2), b2))[1], "b1 is subtracted in the key", "key = relu(W1 x + b1)"),
    Misconception("GELU", lambda W1, b1, W2, b2, x, v, C: (fire(W1, b1, x), (W1, rome_update(W2, C, _gelu(W1 @ x + b1), v - b2), b2))[1], "the key is taken with GELU in the place of ReLU", "this layer uses ReLU"),
    Misconception("absolute value", lambda W1, b1, W2, b2, x, v, C: (fire(W1, b1, x), (W1, rome_update(W2, C, np.abs(W1 @ x + b1), v - b2), b2))[1], "the key is the absolute value of the hidden values", "a negative hidden value becomes 0"),
    Misconception("which units fire", lambda W1, b1, W2, b2, x, v, C: (W1, rome_update(W2, C, 1.0 * (fire(W1, b1, x) > 0), v - b2), b2), "the key holds 1 for every unit that fires", "a unit that fires keeps its size"),
    Misconception("key of length one", lambda W1, b1, W2, b2, x, v, C: (W1, rome_update(W2, C, fire(W1, b1, x) / _length(fire(W1, b1, x)), v - b2), b2), "the key is scaled to length 1", "W2 meets the hidden values as they are"),
    Misconception("row convention for the key", lambda W1, b1, W2, b2, x, v, C: (fire(W1, b1, x), (W1, rome_update(W2, C, np.maximum(0, x @ W1 + b1), v - b2), b2))[1], "the key is taken in the row convention, x W1", "here it is W1 x"),
    Misconception("x as the key", lambda W1, b1, W2, b2, x, v, C: (fire(W1, b1, x), (W1, rome_update(W2, C, x, v - b2), b2))[1], "x itself is taken as the key", "W2 meets the hidden values: key = relu(W1 x + b1)"),
    Misconception("v and x exchanged", lambda W1, b1, W2, b2, x, v, C: rome_layer(W1, b1, W2, b2, v, x, C), "x and v have changed places", "x goes in, v is to come out"),
    Misconception("b2 changed instead", lambda W1, b1, W2, b2, x, v, C: (W1, W2, v - W2 @ fire(W1, b1, x)), "b2 is changed instead of W2: then every input is answered differently", "only W2 changes"),
    Misconception("b2 changed as well", lambda W1, b1, W2, b2, x, v, C: (W1, rome_layer(W1, b1, W2, b2, x, v, C)[1], v - W2 @ fire(W1, b1, x)), "b2 is changed as well as W2", "only W2 changes"),
    Misconception("b2 dropped", lambda W1, b1, W2, b2, x, v, C: (W1, rome_update(W2, C, fire(W1, b1, x), v), 0 * b2), "b2 is set to zero, and W2 answers v alone", "only W2 changes"),
    Misconception("b2 returned as zero", lambda W1, b1, W2, b2, x, v, C: (W1, rome_layer(W1, b1, W2, b2, x, v, C)[1], 0 * b2), "b2 comes back as zeros", "only W2 changes: return b2 as it is"),
    Misconception("target returned", lambda W1, b1, W2, b2, x, v, C: (W1, rome_layer(W1, b1, W2, b2, x, v, C)[1], v - b2), "v - b2 is returned in the place of b2", "only W2 changes: return b2 as it is"),
    Misconception("v returned", lambda W1, b1, W2, b2, x, v, C: (W1, rome_layer(W1, b1, W2, b2, x, v, C)[1], v), "v is returned in the place of b2", "return (W1, W2', b2)"),
    Misconception("b1 returned", lambda W1, b1, W2, b2, x, v, C: (W1, rome_layer(W1, b1, W2, b2, x, v, C)[1], b1), "b1 is returned in the place of b2", "return (W1, W2', b2)"),
    Misconception("W2 before W1", lambda W1, b1, W2, b2, x, v, C: (rome_layer(W1, b1, W2, b2, x, v, C)[1], W1, b2), "W2 comes before W1", "return (W1, W2', b2)"),
    Misconception("W2' transposed", lambda W1, b1, W2, b2, x, v, C: (W1, rome_layer(W1, b1, W2, b2, x, v, C)[1].T, b2), "W2' is transposed", "W2' has the shape of W2"),
    Misconception("W1 transposed", lambda W1, b1, W2, b2, x, v, C: (W1.T, rome_layer(W1, b1, W2, b2, x, v, C)[1], b2), "W1 is transposed", "W1 comes back as it is"),
    Misconception("nothing changed", lambda W1, b1, W2, b2, x, v, C: (fire(W1, b1, x), (W1, W2, b2))[1], "all three come back unchanged", "return the edited W2"),
    Misconception("silent layer divides by zero", lambda W1, b1, W2, b2, x, v, C: (W1, unguarded(W2, C, np.maximum(0, W1 @ x + b1), v - b2), b2), "a zero key is not refused, and zero is divided by zero", "raise ValueError when no unit fires"),
    Misconception("silent layer passes", lambda W1, b1, W2, b2, x, v, C: (W1, silent(W2, C, np.maximum(0, W1 @ x + b1), v - b2), b2), "a zero key is not refused: W2 comes back unchanged", "no edit of W2 can help when no unit fires: raise ValueError"),
    Misconception("b2 takes over when silent", lambda W1, b1, W2, b2, x, v, C: (W1, W2, v) if not np.any(np.maximum(0, W1 @ x + b1)) else rome_layer(W1, b1, W2, b2, x, v, C), "a zero key is not refused: b2 is changed then", "only W2 may change: raise ValueError"),
)


def layer_terms(W1, b1, W2, b2, x, v, C):
    """Return what the edited layer is put together from."""
    return {"key": fire(W1, b1, x), "target": v - b2, "b2": b2, "C": C}


def layer_from(terms, W1, b1, W2, b2, x, v, C):
    """Put the edited layer together from its terms."""
    args = (W2, C, terms["key"], terms["target"])
    parts = edit_terms(*args)
    for change in terms.get("edits", ()):
        parts = change(parts, *args)
    return W1, edit_from(parts, *args), terms["b2"]


def within(change):
    """Return the edit of a layer's terms that changes the edit of W2."""
    return lambda terms, *args: {**terms, "edits": (*terms.get("edits", ()), change)}


LAYER_PARTS = (
    ("the target of W2 is v instead of v - b2", put("target", lambda terms, W1, b1, W2, b2, x, v, C: 1.0 * v)),
    ("the target of W2 is v + b2", put("target", lambda terms, W1, b1, W2, b2, x, v, C: v + b2)),
    ("b2 is subtracted twice", put("target", lambda terms, W1, b1, W2, b2, x, v, C: v - 2 * b2)),
    ("W2 key is subtracted twice, in the target and in the gap", put("target", lambda terms, W1, b1, W2, b2, x, v, C: v - b2 - W2 @ terms["key"])),
    ("half of the target is used", put("target", lambda terms, W1, b1, W2, b2, x, v, C: (v - b2) / 2)),
    ("the residual x is subtracted from the target", put("target", lambda terms, W1, b1, W2, b2, x, v, C: v - b2 - x)),
    ("the key is taken without ReLU", put("key", lambda terms, W1, b1, W2, b2, x, v, C: W1 @ x + b1)),
    ("the key is taken without b1", put("key", lambda terms, W1, b1, W2, b2, x, v, C: np.maximum(0, W1 @ x))),
    ("the key is taken without b1 and without ReLU", put("key", lambda terms, W1, b1, W2, b2, x, v, C: W1 @ x)),
    ("b1 is added to the key after the ReLU", put("key", lambda terms, W1, b1, W2, b2, x, v, C: np.maximum(0, W1 @ x) + b1)),
    ("the key is taken with GELU", put("key", lambda terms, W1, b1, W2, b2, x, v, C: _gelu(W1 @ x + b1))),
    ("the key is taken with a leaky ReLU", put("key", lambda terms, W1, b1, W2, b2, x, v, C: np.where(W1 @ x + b1 > 0, 1.0, 0.01) * (W1 @ x + b1))),
    ("the key is taken in the row convention", put("key", lambda terms, W1, b1, W2, b2, x, v, C: np.maximum(0, x @ W1 + b1))),
    ("1e-6 is added to the key", put("key", lambda terms, W1, b1, W2, b2, x, v, C: terms["key"] + 1e-6)),
    ("b2 comes back as zeros", put("b2", lambda terms, W1, b1, W2, b2, x, v, C: 0 * b2)),
    ("v is returned in the place of b2", put("b2", lambda terms, W1, b1, W2, b2, x, v, C: v)),
    ("b1 is returned in the place of b2", put("b2", lambda terms, W1, b1, W2, b2, x, v, C: b1)),
    *((f"in the edit of W2 {sentence}", within(change)) for sentence, change in EDIT_PARTS),
)

ROME_LAYER = Exercise(
    id="rome_layer",
    probes=rome_layer_probes,
    oracle=rome_layer,
    returns=Parts(("W1", "W2", "b2"), (Array(), Array(), Array())),
    misconceptions=LAYER_SLIPS
    + tuple(_through(slip) for slip in EDIT_SLIPS if slip.name not in ("small number below", "larger number below", "W unchanged", "result transposed")),
    hints=(
        "Look at what W2 meets when x goes in: that is the key. Then ask what W2 must answer so that b2 completes it to v.",
        "key = relu(W1 x + b1), target v - b2, and the update of rome_update; refuse a key of zeros.",
        "return W1, rome_update(W2, C, np.maximum(0, W1 @ x + b1), ___), b2",
    ),
    grammar=Grammar(terms=layer_terms, nouns={}, edits=LAYER_PARTS, combine=layer_from),
    why="W2' key = v - b2 gives FFN(x) = W2' key + b2 = v, and only the answers to keys that share its direction move.",
)


# ---------------------------------------------------------------- edit_scores


def edit_scores(before, after, target, paraphrases, neighbours):
    """Return the efficacy, paraphrase and neighbourhood scores of an edit; an empty group scores nan."""

    def share(hits):
        return float(np.mean(hits)) if len(hits) else float("nan")

    return {
        "efficacy": float(after[0] == target),
        "paraphrase": share(after[paraphrases] == target),
        "neighbourhood": share(after[neighbours] == before[neighbours]),
    }


def _scores(efficacy, paraphrase, neighbourhood):
    return {"efficacy": efficacy, "paraphrase": paraphrase, "neighbourhood": neighbourhood}


def _share(hits):
    return float(np.mean(hits)) if len(hits) else float("nan")


def _changed(**parts):
    """Return edit_scores with some scores computed by other programs."""

    def program(before, after, target, paraphrases, neighbours):
        right = edit_scores(before, after, target, paraphrases, neighbours)
        wrong = {name: float(part(before, after, target, paraphrases, neighbours)) for name, part in parts.items()}
        return right | wrong

    return program


def edit_scores_case(rng, edited: bool, rest: int, paraphrases: int, neighbours: int):
    """Draw the predictions before and after an edit that reaches the first prompt or does not."""
    n = 1 + paraphrases + neighbours + rest
    target = int(rng.integers(20, 30))
    before = rng.integers(0, 6, size=n)
    after = np.where(rng.random(n) < 0.5, before, rng.integers(0, 6, size=n))
    order = 1 + rng.permutation(n - 1)
    group, others = order[:paraphrases], order[paraphrases : paraphrases + neighbours]
    after[group[: (2 * paraphrases + 2) // 3]] = target
    after[others[: neighbours // 3]] = target
    before[group[:1]] = target
    after[0] = target if edited else before[0]
    after[group[2:][-1:]] = after[0]
    after[others[3:4]], before[others[3:4]] = before[0], before[0] + 1
    after[others[4:5]] = before[others[4:5]]
    return before, after, target, group, others


def edit_scores_probes(rng):
    """Draw edits that worked and that did not, both groups, one of them, or none, and a neighbour that knew the target."""
    before, after, target, group, others = edit_scores_case(rng, True, 3, 5, 7)
    known = before.copy(), after.copy(), target, group, others
    known[0][others[:2]] = target
    known[1][others[:2]] = target
    return (
        call(before, after, target, group, others),
        call(*edit_scores_case(rng, False, 2, 4, 6)),
        call(*edit_scores_case(rng, True, 1, 0, 5)),
        call(*edit_scores_case(rng, True, 4, 3, 0)),
        call(*edit_scores_case(rng, False, 2, 0, 0)),
        call(*known),
        call(*edit_scores_case(rng, False, 0, 7, 9)),
        call(np.array([4, 1]), np.array([9, 9]), 9, np.array([1]), np.array([1])),
        call(np.array([4, 1, 9]), np.array([5, 1, 9]), 9, np.array([1, 2]), np.array([2, 1])),
    )


def _mean_or(value, hits):
    return float(np.mean(hits)) if len(hits) else value


def _divided(hits):
    return sum([bool(hit) for hit in hits]) / len(hits)


EFFICACY = {
    "efficacy looks at the answer before the edit": lambda before, after, target, p, n: before[0] == target,
    "efficacy counts any change of the answer": lambda before, after, target, p, n: after[0] != before[0],
    "efficacy is the share of all prompts that answer the target": lambda before, after, target, p, n: np.mean(after == target),
    "efficacy looks at the last prompt": lambda before, after, target, p, n: after[-1] == target,
    "efficacy is 1 as soon as any prompt answers the target": lambda before, after, target, p, n: np.any(after == target),
    "efficacy is 1 when the edit failed": lambda before, after, target, p, n: after[0] != target,
    "efficacy is 1 whatever happened": lambda before, after, target, p, n: 1.0,
    "efficacy is 0 whatever happened": lambda before, after, target, p, n: 0.0,
    "efficacy is given in percent": lambda before, after, target, p, n: 100.0 * (after[0] == target),
}
PARAPHRASE = {
    "the paraphrase score looks at the answers before the edit": lambda before, after, target, p, n: _share(before[p] == target),
    "the paraphrase score counts answers that stayed": lambda before, after, target, p, n: _share(after[p] == before[p]),
    "the paraphrase score counts any change of the answer": lambda before, after, target, p, n: _share(after[p] != before[p]),
    "paraphrases are compared with the edited prompt's new answer": lambda before, after, target, p, n: _share(after[p] == after[0]),
    "the paraphrase score includes the edited prompt": lambda before, after, target, p, n: _share(after[np.append(0, p)] == target),
    "the paraphrase score is taken over all prompts": lambda before, after, target, p, n: _share(after == target),
    "the paraphrase score is taken over all prompts but the edited one": lambda before, after, target, p, n: _share(after[1:] == target),
    "the paraphrase score is taken over the neighbours": lambda before, after, target, p, n: _share(after[n] == target),
    "the paraphrase score is taken over the first prompts, as many as there are paraphrases": lambda before, after, target, p, n: _share(after[: len(p)] == target),
    "the paraphrase score looks one prompt too early": lambda before, after, target, p, n: _share(after[p - 1] == target),
    "the paraphrases that hit are counted": lambda before, after, target, p, n: np.sum(after[p] == target),
    "the paraphrases that hit are divided by the number of all prompts": lambda before, after, target, p, n: np.sum(after[p] == target) / len(after),
    "an empty group of paraphrases scores 0": lambda before, after, target, p, n: _mean_or(0, after[p] == target),
    "an empty group of paraphrases scores 1": lambda before, after, target, p, n: _mean_or(1, after[p] == target),
    "an empty group of paraphrases scores -1": lambda before, after, target, p, n: _mean_or(-1, after[p] == target),
    "the paraphrase score is given in percent": lambda before, after, target, p, n: 100 * _share(after[p] == target),
    "the paraphrase score is rounded to 2 digits": lambda before, after, target, p, n: np.round(_share(after[p] == target), 2),
    "the paraphrase score is 1 only when all hit": lambda before, after, target, p, n: np.all(after[p] == target) if len(p) else np.nan,
    "the paraphrase score is 1 as soon as one hits": lambda before, after, target, p, n: np.any(after[p] == target) if len(p) else np.nan,
    "the paraphrase score counts those that miss": lambda before, after, target, p, n: _share(after[p] != target),
}
NEIGHBOURHOOD = {
    "the neighbourhood score counts neighbours that now answer the target": lambda before, after, target, p, n: _share(after[n] == target),
    "the neighbourhood score counts neighbours that do not answer the target": lambda before, after, target, p, n: _share(after[n] != target),
    "the neighbourhood score counts neighbours that changed": lambda before, after, target, p, n: _share(after[n] != before[n]),
    "the neighbourhood score compares the answers before the edit with the target": lambda before, after, target, p, n: _share(before[n] == target),
    "the neighbourhood score counts neighbours that did not answer the target before the edit": lambda before, after, target, p, n: _share(before[n] != target),
    "neighbours are compared with the edited prompt's old answer": lambda before, after, target, p, n: _share(after[n] == before[0]),
    "neighbours are compared with the edited prompt's new answer": lambda before, after, target, p, n: _share(after[n] == after[0]),
    "the neighbourhood score is taken over all prompts": lambda before, after, target, p, n: _share(after == before),
    "the neighbourhood score is taken over all prompts but the edited one": lambda before, after, target, p, n: _share(after[1:] == before[1:]),
    "the neighbourhood score is taken over the paraphrases": lambda before, after, target, p, n: _share(after[p] == before[p]),
    "the neighbourhood score is taken over the first prompts, as many as there are neighbours": lambda before, after, target, p, n: _share(after[: len(n)] == before[: len(n)]),
    "neighbours that answered the target all along do not count": lambda before, after, target, p, n: _share((after[n] == before[n]) & (after[n] != target)),
    "the neighbours that stayed are counted": lambda before, after, target, p, n: np.sum(after[n] == before[n]),
    "the neighbours that stayed are divided by the number of all prompts": lambda before, after, target, p, n: np.sum(after[n] == before[n]) / len(after),
    "an empty group of neighbours scores 0": lambda before, after, target, p, n: _mean_or(0, after[n] == before[n]),
    "an empty group of neighbours scores 1": lambda before, after, target, p, n: _mean_or(1, after[n] == before[n]),
    "an empty group of neighbours scores -1": lambda before, after, target, p, n: _mean_or(-1, after[n] == before[n]),
    "the neighbourhood score is given in percent": lambda before, after, target, p, n: 100 * _share(after[n] == before[n]),
    "the neighbourhood score is rounded to 2 digits": lambda before, after, target, p, n: np.round(_share(after[n] == before[n]), 2),
    "the neighbourhood score is 1 only when all stay": lambda before, after, target, p, n: np.all(after[n] == before[n]) if len(n) else np.nan,
    "the neighbourhood score is 1 as soon as one stays": lambda before, after, target, p, n: np.any(after[n] == before[n]) if len(n) else np.nan,
}


def _score(name: str, program):
    return lambda terms, *args: {**terms, name: float(program(*args))}


SCORE_PARTS = tuple(
    (sentence, _score(name, program))
    for name, slips in (("efficacy", EFFICACY), ("paraphrase", PARAPHRASE), ("neighbourhood", NEIGHBOURHOOD))
    for sentence, program in slips.items()
)

EDIT_SCORES = Exercise(
    id="edit_scores",
    probes=edit_scores_probes,
    oracle=edit_scores,
    returns=Record(("efficacy", "paraphrase", "neighbourhood")),
    misconceptions=(
        Misconception("neighbours should follow", _changed(neighbourhood=lambda before, after, target, p, n: _share(after[n] == target)), "the neighbourhood score counts neighbours that now answer the target", "a neighbour should keep its own answer: compare with before"),
        Misconception("neighbours away from the target", _changed(neighbourhood=lambda before, after, target, p, n: _share(after[n] != target)), "the neighbourhood score counts neighbours that do not answer the target", "a neighbour should keep its own answer: compare with before"),
        Misconception("changed neighbours", _changed(neighbourhood=lambda before, after, target, p, n: _share(after[n] != before[n])), "the neighbourhood score counts neighbours that changed", "a neighbour should keep its own answer: =="),
        Misconception("neighbours before the edit", _changed(neighbourhood=lambda before, after, target, p, n: _share(before[n] == target)), "the neighbourhood score compares the answers before the edit with the target", "compare after with before"),
        Misconception("neighbours with prompt 0", _changed(neighbourhood=lambda before, after, target, p, n: _share(after[n] == before[0])), "neighbours are compared with the edited prompt's old answer", "compare each neighbour with its own answer before"),
        Misconception("neighbourhood over all", _changed(neighbourhood=lambda before, after, target, p, n: _share(after == before)), "the neighbourhood score is taken over all prompts", "index with neighbours first"),
        Misconception("neighbourhood over the paraphrases", _changed(neighbourhood=lambda before, after, target, p, n: _share(after[p] == before[p])), "the neighbourhood score is taken over the paraphrases", "index with neighbours"),
        Misconception("paraphrase over the neighbours", _changed(paraphrase=lambda before, after, target, p, n: _share(after[n] == target)), "the paraphrase score is taken over the neighbours", "index with paraphrases"),
        Misconception("groups exchanged", lambda before, after, target, paraphrases, neighbours: edit_scores(before, after, target, neighbours, paraphrases), "paraphrases and neighbours have changed places", "paraphrases should answer the target, neighbours their old answer"),
        Misconception("scores exchanged", lambda before, after, target, paraphrases, neighbours: (lambda s: _scores(s["efficacy"], s["neighbourhood"], s["paraphrase"]))(edit_scores(before, after, target, paraphrases, neighbours)), "the paraphrase and the neighbourhood score have changed places", "which of the two compares with the target?"),
        Misconception("before and after exchanged", lambda before, after, target, paraphrases, neighbours: edit_scores(after, before, target, paraphrases, neighbours), "before and after have changed places", "efficacy and paraphrase look at the answers after the edit"),
        Misconception("efficacy before", _changed(efficacy=lambda before, after, target, p, n: before[0] == target), "efficacy looks at the answer before the edit", "after[0]"),
        Misconception("efficacy as change", _changed(efficacy=lambda before, after, target, p, n: after[0] != before[0]), "efficacy counts any change of the answer", "the new answer has to be the target"),
        Misconception("efficacy over all", _changed(efficacy=lambda before, after, target, p, n: np.mean(after == target)), "efficacy is the share of all prompts that answer the target", "prompt 0 is the edited one"),
        Misconception("efficacy of the last prompt", _changed(efficacy=lambda before, after, target, p, n: after[-1] == target), "efficacy looks at the last prompt", "prompt 0 is the edited one"),
        Misconception("efficacy of prompt 1", _changed(efficacy=lambda before, after, target, p, n: after[1] == target), "efficacy looks at the second prompt", "prompt 0 is the edited one"),
        Misconception("efficacy turned round", _changed(efficacy=lambda before, after, target, p, n: after[0] != target), "efficacy is 1 when the edit failed", "after[0] == target"),
        Misconception("efficacy with the paraphrases", _changed(efficacy=lambda before, after, target, p, n: np.mean(after[np.append(0, p)] == target)), "efficacy is taken over prompt 0 and the paraphrases", "prompt 0 alone"),
        Misconception("efficacy always", _changed(efficacy=lambda before, after, target, p, n: 1.0), "efficacy is 1 whatever happened", "after[0] == target"),
        Misconception("paraphrase before", _changed(paraphrase=lambda before, after, target, p, n: _share(before[p] == target)), "the paraphrase score looks at the answers before the edit", "after[paraphrases]"),
        Misconception("paraphrase unchanged", _changed(paraphrase=lambda before, after, target, p, n: _share(after[p] == before[p])), "the paraphrase score counts answers that stayed", "a paraphrase should answer the target"),
        Misconception("paraphrase as change", _changed(paraphrase=lambda before, after, target, p, n: _share(after[p] != before[p])), "the paraphrase score counts any change of the answer", "the new answer has to be the target"),
        Misconception("paraphrase with prompt 0's answer", _changed(paraphrase=lambda before, after, target, p, n: _share(after[p] == after[0])), "paraphrases are compared with the edited prompt's new answer", "compare them with the target"),
        Misconception("paraphrase and prompt 0", _changed(paraphrase=lambda before, after, target, p, n: _share(after[np.append(0, p)] == target)), "the paraphrase score includes the edited prompt", "index with paraphrases alone"),
        Misconception("paraphrase over all", _changed(paraphrase=lambda before, after, target, p, n: _share(after == target)), "the paraphrase score is taken over all prompts", "index with paraphrases first"),
        Misconception("paraphrase over all but prompt 0", _changed(paraphrase=lambda before, after, target, p, n: _share(after[1:] == target)), "the paraphrase score is taken over all prompts but the edited one", "index with paraphrases first"),
        Misconception("paraphrase missed", _changed(paraphrase=lambda before, after, target, p, n: _share(after[p] != target)), "the paraphrase score counts those that miss the target", "after[paraphrases] == target"),
        Misconception("paraphrase newly right", _changed(paraphrase=lambda before, after, target, p, n: _share((after[p] == target) & (before[p] != target))), "paraphrases that answered the target before do not count", "the answer after the edit decides"),
        Misconception("indices compared", _changed(paraphrase=lambda before, after, target, p, n: _share(p == target)), "the row numbers are compared with the target", "after[paraphrases] picks the answers"),
        Misconception("numbers instead of shares", _changed(paraphrase=lambda before, after, target, p, n: np.sum(after[p] == target), neighbourhood=lambda before, after, target, p, n: np.sum(after[n] == before[n])), "the hits are counted instead of their share, and an empty group scores 0", "np.mean instead of np.sum, and nan for an empty group"),
        Misconception("divided by all prompts", _changed(paraphrase=lambda before, after, target, p, n: np.sum(after[p] == target) / len(after), neighbourhood=lambda before, after, target, p, n: np.sum(after[n] == before[n]) / len(after)), "the hits are divided by the number of all prompts", "divide by the size of the group"),
        Misconception("percent", lambda before, after, target, paraphrases, neighbours: {name: 100 * score for name, score in edit_scores(before, after, target, paraphrases, neighbours).items()}, "the scores are given in percent", "return shares between 0 and 1"),
        Misconception("empty is zero", _changed(paraphrase=lambda before, after, target, p, n: _mean_or(0, after[p] == target), neighbourhood=lambda before, after, target, p, n: _mean_or(0, after[n] == before[n])), "an empty group scores 0", "an empty group says nothing: nan"),
        Misconception("empty is one", _changed(paraphrase=lambda before, after, target, p, n: _mean_or(1, after[p] == target), neighbourhood=lambda before, after, target, p, n: _mean_or(1, after[n] == before[n])), "an empty group scores 1", "an empty group says nothing: nan"),
        Misconception("empty paraphrases are zero", _changed(paraphrase=lambda before, after, target, p, n: _mean_or(0, after[p] == target)), "an empty group of paraphrases scores 0", "an empty group says nothing: nan"),
        Misconception("empty neighbours are one", _changed(neighbourhood=lambda before, after, target, p, n: _mean_or(1, after[n] == before[n])), "an empty group of neighbours scores 1", "an empty group says nothing: nan"),
        Misconception("empty paraphrases are one", _changed(paraphrase=lambda before, after, target, p, n: _mean_or(1, after[p] == target)), "an empty group of paraphrases scores 1", "an empty group says nothing: nan"),
        Misconception("empty neighbours are zero", _changed(neighbourhood=lambda before, after, target, p, n: _mean_or(0, after[n] == before[n])), "an empty group of neighbours scores 0", "an empty group says nothing: nan"),
        Misconception("zero and one", _changed(paraphrase=lambda before, after, target, p, n: _mean_or(0, after[p] == target), neighbourhood=lambda before, after, target, p, n: _mean_or(1, after[n] == before[n])), "an empty group of paraphrases scores 0 and an empty group of neighbours 1", "an empty group says nothing: nan"),
        Misconception("all or nothing", _changed(paraphrase=lambda before, after, target, p, n: np.all(after[p] == target) if len(p) else np.nan, neighbourhood=lambda before, after, target, p, n: np.all(after[n] == before[n]) if len(n) else np.nan), "a group scores 1 only when all of it is right", "the share that is right"),
        Misconception("one is enough", _changed(paraphrase=lambda before, after, target, p, n: np.any(after[p] == target) if len(p) else np.nan, neighbourhood=lambda before, after, target, p, n: np.any(after[n] == before[n]) if len(n) else np.nan), "a group scores 1 as soon as one of it is right", "the share that is right"),
        Misconception("empty divides by zero", lambda before, after, target, paraphrases, neighbours: _scores(float(after[0] == target), _divided(after[paraphrases] == target), _divided(after[neighbours] == before[neighbours])), "an empty group divides by zero", "return nan for an empty group"),
        Misconception("multiplied by efficacy", _changed(paraphrase=lambda before, after, target, p, n: _share(after[p] == target) * (after[0] == target)), "paraphrases count only when the edit worked", "the three scores stand alone"),
    ),
    hints=(
        "Look at each score's question: did prompt 0 reach the target, did its paraphrases, did the neighbours keep their answers?",
        "after[paraphrases] == target and after[neighbours] == before[neighbours] are arrays of hits; the mean is their share, nan when there are none.",
        'return {"efficacy": ..., "paraphrase": ..., "neighbourhood": share(after[neighbours] == ___)}',
    ),
    grammar=Grammar(terms=edit_scores, nouns={}, edits=SCORE_PARTS, combine=lambda terms, *args: terms),
    why="Efficacy alone is met by a model that answers the target to everything: the neighbourhood score is what such an edit loses.",
)

EXERCISES = (NEURON_ATTRIBUTION, ROME_UPDATE, ROME_LAYER, EDIT_SCORES)
