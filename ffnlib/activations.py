"""Activation functions, in NumPy and exact to float64."""

from __future__ import annotations

import math

import numpy as np

_erf = np.frompyfunc(math.erf, 1, 1)
_erfc = np.frompyfunc(math.erfc, 1, 1)


def erf(x):
    """Return the error function of every entry of x, as float64.

    >>> float(erf(0.0)), round(float(erf(1.0)), 6)
    (0.0, 0.842701)
    """
    return np.asarray(_erf(np.asarray(x, dtype=np.float64)), dtype=np.float64)


def gelu(x):
    """Return x * Phi(x), Phi the distribution function of the standard normal distribution.

    **Source** Hendrycks and Gimpel 2016, section 2

    >>> round(float(gelu(1.0)), 6)
    0.841345
    """
    x = np.asarray(x, dtype=np.float64)
    # 1 + erf(z) = erfc(-z), which keeps its digits far below zero, where 1 + erf(z) cancels
    return 0.5 * x * np.asarray(_erfc(-x / math.sqrt(2.0)), dtype=np.float64)


def gelu_tanh(x):
    """Return the tanh approximation of GELU, 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).

    **Source** Hendrycks and Gimpel 2016, section 2

    >>> round(float(gelu_tanh(1.0)), 6)
    0.841192
    """
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(over="ignore"):  # the cube of 1e110 is inf, and sigmoid(inf) is the right 1
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)
        # (1 + tanh(u)) / 2 = sigmoid(2 u), which keeps its digits far below zero
        return x * sigmoid(2.0 * inner)


def sigmoid(x):
    """Return the logistic function 1 / (1 + exp(-x)), finite for every finite x.

    >>> float(sigmoid(0.0))
    0.5
    """
    x = np.asarray(x, dtype=np.float64)
    small = np.exp(-np.abs(x))  # never overflows, whatever the sign of x
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def silu(x):
    """Return x * sigmoid(x), finite for every finite x.

    **Source** Elfwing et al. 2017; Ramachandran et al. 2017 (Swish)

    >>> float(silu(0.0)), float(silu(-800.0))
    (0.0, -0.0)
    """
    x = np.asarray(x, dtype=np.float64)
    return x * sigmoid(x)


def softmax(scores):
    """Return the softmax over the last axis, finite for scores of any size.

    >>> softmax([1e4, 1e4]).tolist()
    [0.5, 0.5]
    """
    scores = np.asarray(scores, dtype=np.float64)
    exponentials = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return exponentials / np.sum(exponentials, axis=-1, keepdims=True)


def slope(f, x, step=1e-5):
    """Return how steep the curve of f is at every entry of x, from its values a step to either side.

    >>> round(float(slope(np.square, 3.0)), 6)
    6.0
    """
    x = np.asarray(x, dtype=np.float64)
    return (f(x + step) - f(x - step)) / (2 * step)
