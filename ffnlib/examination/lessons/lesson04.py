"""Lesson 04: the block around the layer: norms, residual connections, and the layer as a PyTorch module."""

from __future__ import annotations

import re

import numpy as np

from ffnlib.activations import gelu, gelu_tanh, sigmoid
from ffnlib.examination.exercise import Array, Exercise, Misconception, Module, Probe, Remote, call
from ffnlib.examination.lessons.endings import row_by_row
from ffnlib.experts import softmax
from ffnlib.layer import feed_forward, relu


def row_mean(x, **options):
    """Return the mean of every row, as a column."""
    return np.mean(x, axis=-1, keepdims=True, **options)


def row_variance(x, **options):
    """Return the variance of every row, as a column."""
    return np.var(x, axis=-1, keepdims=True, **options)


def row_mean_square(x):
    """Return the mean of the squares of every row, as a column."""
    return np.mean(np.square(x), axis=-1, keepdims=True)


def _scale(rng, d: int):
    """Draw gamma and beta, neither of them near 1 or 0."""
    return rng.normal(size=d) * 0.3 + 1.7, rng.normal(size=d) * 0.3 - 0.9


# ---------------------------------------------------------------- layer_norm


def layer_norm(x, gamma, beta, eps):
    """Return x with mean 0 and variance 1 along its last axis, times gamma plus beta."""
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.var(x, axis=-1, keepdims=True)
    return gamma * (x - mean) / np.sqrt(variance + eps) + beta


def _norm_inputs(rng):
    """Draw `(x, eps)`: a batch, square, one vector, small rows, constant rows, one token, none, integers, one feature."""
    return (
        (rng.normal(size=(2, 3, 4)) + 1.0, 1e-5),
        (rng.normal(size=(4, 4)) * 2 - 1.0, 1e-3),
        (rng.normal(size=5) + 0.5, 0.1),
        (rng.normal(size=(3, 4)) * 1e-3 + 1e-3, 1e-6),
        (np.array([[2.0, 2.0, 2.0], [-1.0, -1.0, -1.0]]) + rng.integers(1, 4), 0.25),
        (rng.normal(size=(1, 6)) * 3, 1.0),
        (np.zeros((0, 4)), 1e-5),
        (rng.integers(-5, 6, size=(3, 4)) + np.array([9, 0, 0, -9]), 0.5),
        (rng.normal(size=(8, 6))[::2, ::2] + 20.0, 0.0),
        (rng.normal(size=(3, 1)) + 2.0, 0.3),
        (rng.normal(size=(3, 3, 3)) * 0.1, 1e-2),
    )


def layer_norm_probes(rng):
    """Draw the inputs of a norm, each with gamma, beta and eps of its own."""
    return tuple(call(x, *_scale(rng, x.shape[-1]), eps) for x, eps in _norm_inputs(rng))


LAYER_NORM_SLIPS = (
    Misconception("sample variance", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / np.sqrt(row_variance(x, ddof=1) + eps) + beta, "the squares are divided by d - 1 instead of d (the sample variance; the default of torch.var and torch.std)", "the biased variance is asked for: divide by d"),
    Misconception("eps outside the root", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / (np.sqrt(row_variance(x)) + eps) + beta, "eps is added after the root instead of inside it", "np.sqrt(variance + eps)"),
    Misconception("sample deviation plus eps", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / (np.sqrt(row_variance(x, ddof=1)) + eps) + beta, "the sample standard deviation (d - 1) is used and eps is added to it", "the variance divides by d, and eps stands inside the root"),
    Misconception("sample deviation", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / np.sqrt(row_variance(x, ddof=1)) + beta, "the sample standard deviation (d - 1, the default of torch.std) divides, without eps", "the variance divides by d, and eps is added to it inside the root"),
    Misconception("no eps", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / np.sqrt(row_variance(x)) + beta, "eps is left out", "what comes out for a row of equal numbers?"),
    Misconception("eps fixed at 1e-5", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / np.sqrt(row_variance(x) + 1e-5) + beta, "eps is always 1e-5, whatever is passed", "use the argument eps"),
    Misconception("eps fixed at 1e-6", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / np.sqrt(row_variance(x) + 1e-6) + beta, "eps is always 1e-6, whatever is passed", "use the argument eps"),
    Misconception("eps fixed at 1e-8", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / np.sqrt(row_variance(x) + 1e-8) + beta, "eps is always 1e-8, whatever is passed", "use the argument eps"),
    Misconception("eps squared", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / np.sqrt(row_variance(x) + eps**2) + beta, "eps is squared", "eps is added to the variance as it is"),
    Misconception("eps subtracted", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / np.sqrt(row_variance(x) - eps) + beta, "eps is subtracted from the variance", "eps keeps the root away from zero: which sign does that?"),
    Misconception("eps in the numerator", lambda x, gamma, beta, eps: gamma * (x - row_mean(x) + eps) / np.sqrt(row_variance(x)) + beta, "eps is added to the numerator", "eps protects the division: it belongs to the variance"),
    Misconception("eps after the division", lambda x, gamma, beta, eps: gamma * ((x - row_mean(x)) / np.sqrt(row_variance(x)) + eps) + beta, "eps is added after the division", "look at the brackets: eps belongs inside the root"),
    Misconception("eps at the end", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / np.sqrt(row_variance(x)) + eps + beta, "eps is added after gamma", "look at the brackets: eps belongs inside the root"),
    Misconception("eps as a floor of the variance", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / np.sqrt(np.maximum(row_variance(x), eps)) + beta, "eps is used as a floor: the larger of variance and eps is taken", "eps is added to the variance"),
    Misconception("eps as a floor of the deviation", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / np.maximum(np.sqrt(row_variance(x)), eps) + beta, "eps is used as a floor of the standard deviation", "eps is added to the variance"),
    Misconception("no root", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / (row_variance(x) + eps) + beta, "the root is left out: the variance itself divides", "divide by the standard deviation"),
    Misconception("multiplied by the deviation", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) * np.sqrt(row_variance(x) + eps) + beta, "the standard deviation multiplies instead of dividing", "the result should have variance 1"),
    Misconception("mean not subtracted", lambda x, gamma, beta, eps: gamma * x / np.sqrt(row_variance(x) + eps) + beta, "the mean is not subtracted", "the result should have mean 0 before gamma and beta"),
    Misconception("mean added", lambda x, gamma, beta, eps: gamma * (x + row_mean(x)) / np.sqrt(row_variance(x) + eps) + beta, "the mean is added instead of subtracted", "the result should have mean 0 before gamma and beta"),
    Misconception("RMSNorm", lambda x, gamma, beta, eps: gamma * x / np.sqrt(row_mean_square(x) + eps) + beta, "x is divided by its root mean square and not centred: that is RMSNorm", "LayerNorm subtracts the mean first"),
    Misconception("mean square of x", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / np.sqrt(row_mean_square(x) + eps) + beta, "the mean square of x stands in the place of the variance", "the variance is the mean square of x - mean"),
    Misconception("no gamma", lambda x, gamma, beta, eps: (x - row_mean(x)) / np.sqrt(row_variance(x) + eps) + beta, "gamma is left out", "which argument scales the result?"),
    Misconception("no beta", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / np.sqrt(row_variance(x) + eps), "beta is left out", "which argument shifts the result?"),
    Misconception("neither gamma nor beta", lambda x, gamma, beta, eps: (x - row_mean(x)) / np.sqrt(row_variance(x) + eps), "gamma and beta are left out", "the normalised row is scaled and shifted at the end"),
    Misconception("gamma and beta exchanged", lambda x, gamma, beta, eps: beta * (x - row_mean(x)) / np.sqrt(row_variance(x) + eps) + gamma, "gamma and beta have changed places", "gamma multiplies, beta is added"),
    Misconception("one plus gamma", lambda x, gamma, beta, eps: (1 + gamma) * (x - row_mean(x)) / np.sqrt(row_variance(x) + eps) + beta, "1 + gamma scales instead of gamma", "here gamma itself multiplies"),
    Misconception("beta before gamma", lambda x, gamma, beta, eps: gamma * ((x - row_mean(x)) / np.sqrt(row_variance(x) + eps) + beta), "beta is added before gamma multiplies", "scale first, then shift"),
    Misconception("beta subtracted", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / np.sqrt(row_variance(x) + eps) - beta, "beta is subtracted", "check the sign before beta"),
    Misconception("gamma divides", lambda x, gamma, beta, eps: (x - row_mean(x)) / np.sqrt(row_variance(x) + eps) / gamma + beta, "gamma divides instead of multiplying", "the normalised row is multiplied by gamma"),
    Misconception("gamma added", lambda x, gamma, beta, eps: gamma + (x - row_mean(x)) / np.sqrt(row_variance(x) + eps) + beta, "gamma is added instead of multiplied", "the normalised row is multiplied by gamma"),
    Misconception("gamma inside the root", lambda x, gamma, beta, eps: (x - row_mean(x)) / np.sqrt(gamma * row_variance(x) + eps) + beta, "gamma multiplies the variance", "gamma multiplies the normalised row"),
    Misconception("gamma before the norm", lambda x, gamma, beta, eps: (gamma * x - row_mean(gamma * x)) / np.sqrt(row_variance(gamma * x) + eps) + beta, "x is scaled by gamma before it is normalised", "normalise first, then scale"),
    Misconception("scale and shift before the norm", lambda x, gamma, beta, eps: (gamma * x + beta - row_mean(gamma * x + beta)) / np.sqrt(row_variance(gamma * x + beta) + eps), "x is scaled and shifted before it is normalised", "normalise first, then scale and shift"),
    Misconception("over the first axis", lambda x, gamma, beta, eps: gamma * (x - np.mean(x, axis=0, keepdims=True)) / np.sqrt(np.var(x, axis=0, keepdims=True) + eps) + beta, "mean and variance run over the first axis, as in batch norm, instead of the last", "axis=-1: every row is normalised by its own numbers"),
    Misconception("over everything", lambda x, gamma, beta, eps: gamma * (x - np.mean(x)) / np.sqrt(np.var(x) + eps) + beta, "one mean and one variance are taken over the whole array", "axis=-1: every row is normalised by its own numbers"),
    Misconception("over everything, eps outside the root", lambda x, gamma, beta, eps: gamma * (x - np.mean(x)) / (np.std(x) + eps) + beta, "one mean and one standard deviation are taken over the whole array, with eps added to the latter", "axis=-1: every row is normalised by its own numbers, with eps inside the root"),
    Misconception("over the first axis, eps outside the root", lambda x, gamma, beta, eps: gamma * (x - np.mean(x, axis=0)) / (np.std(x, axis=0) + eps) + beta, "mean and standard deviation run over the first axis, with eps added to the latter", "axis=-1: every row is normalised by its own numbers, with eps inside the root"),
    Misconception("over each sequence", lambda x, gamma, beta, eps: gamma * (x - np.mean(x, axis=(-2, -1), keepdims=True)) / np.sqrt(np.var(x, axis=(-2, -1), keepdims=True) + eps) + beta if np.ndim(x) > 1 else layer_norm(x, gamma, beta, eps), "mean and variance run over all rows of a sequence", "axis=-1: every row is normalised by its own numbers"),
    Misconception("over the tokens", lambda x, gamma, beta, eps: gamma * (x - np.mean(x, axis=-2, keepdims=True)) / np.sqrt(np.var(x, axis=-2, keepdims=True) + eps) + beta if np.ndim(x) > 1 else layer_norm(x, gamma, beta, eps), "mean and variance run over the rows instead of along each row", "axis=-1 runs along each row"),
    Misconception("over axis 1", lambda x, gamma, beta, eps: gamma * (x - np.mean(x, axis=1, keepdims=True)) / np.sqrt(np.var(x, axis=1, keepdims=True) + eps) + beta, "mean and variance run over axis 1, which is the last axis of a matrix only", "axis=-1 is the last axis whatever stands before it"),
    Misconception("keepdims missing", lambda x, gamma, beta, eps: gamma * (x - np.mean(x, axis=-1)) / np.sqrt(np.var(x, axis=-1) + eps) + beta, "mean and variance lose their axis, so that row t's mean meets column t", "keepdims=True keeps a 1 where the axis was"),
    Misconception("mean over everything", lambda x, gamma, beta, eps: gamma * (x - np.mean(x)) / np.sqrt(row_variance(x) + eps) + beta, "the mean is taken over the whole array, the variance over the last axis", "both run over the last axis"),
    Misconception("variance over everything", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / np.sqrt(np.var(x) + eps) + beta, "the variance is taken over the whole array, the mean over the last axis", "both run over the last axis"),
    Misconception("gamma and beta down the tokens", lambda x, gamma, beta, eps: gamma[:, None] * (x - row_mean(x)) / np.sqrt(row_variance(x) + eps) + beta[:, None], "gamma and beta run down the rows instead of along each row", "they have d_model entries: one for each column"),
    Misconception("sum of squares", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / np.sqrt(np.sum((x - row_mean(x)) ** 2, axis=-1, keepdims=True) + eps) + beta, "the squares are summed and not divided by d", "the variance is a mean"),
    Misconception("divided by the tokens", lambda x, gamma, beta, eps: gamma * (x - np.sum(x, axis=-1, keepdims=True) / len(x)) / np.sqrt(np.sum((x - np.sum(x, axis=-1, keepdims=True) / len(x)) ** 2, axis=-1, keepdims=True) / len(x) + eps) + beta, "the sums are divided by len(x), the length of the first axis, instead of d", "the last axis has x.shape[-1] entries"),
    Misconception("mean not squared", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / np.sqrt(row_mean_square(x) - row_mean(x) + eps) + beta, "the mean itself, not its square, is subtracted from the mean of the squares", "the variance is the mean of the squares minus the square of the mean"),
    Misconception("mean absolute deviation", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) / (row_mean(np.abs(x - row_mean(x))) + eps) + beta, "the mean absolute deviation stands in the place of the standard deviation", "square, average, add eps, take the root"),
    Misconception("unit length", lambda x, gamma, beta, eps: gamma * x / np.sqrt(np.sum(np.square(x), axis=-1, keepdims=True) + eps) + beta, "each row is scaled to length 1", "subtract the mean, divide by the standard deviation"),
    Misconception("unit length, no eps", lambda x, gamma, beta, eps: gamma * x / np.linalg.norm(x, axis=-1, keepdims=True) + beta, "each row is scaled to length 1, without eps", "subtract the mean, divide by the standard deviation"),
    Misconception("median", lambda x, gamma, beta, eps: gamma * (x - np.median(x, axis=-1, keepdims=True)) / np.sqrt(row_variance(x) + eps) + beta, "the median is subtracted instead of the mean", "np.mean"),
    Misconception("range from 0 to 1", lambda x, gamma, beta, eps: gamma * (x - np.min(x, axis=-1, keepdims=True)) / (np.max(x, axis=-1, keepdims=True) - np.min(x, axis=-1, keepdims=True) + eps) + beta, "each row is stretched to the range from 0 to 1", "subtract the mean, divide by the standard deviation"),
    Misconception("softmax", lambda x, gamma, beta, eps: gamma * softmax(x) + beta, "a softmax stands in the place of the norm", "subtract the mean, divide by the standard deviation"),
    Misconception("centred only", lambda x, gamma, beta, eps: gamma * (x - row_mean(x)) + beta, "the mean is subtracted, and nothing divides", "the result should have variance 1 before gamma"),
    Misconception("scale and shift only", lambda x, gamma, beta, eps: gamma * x + beta, "x is scaled and shifted without being normalised", "subtract the mean and divide by the standard deviation first"),
    Misconception("sign turned", lambda x, gamma, beta, eps: gamma * (row_mean(x) - x) / np.sqrt(row_variance(x) + eps) + beta, "x is subtracted from the mean", "x minus mean, not mean minus x"),
    Misconception("brackets of the difference", lambda x, gamma, beta, eps: gamma * (x - row_mean(x) / np.sqrt(row_variance(x) + eps)) + beta, "only the mean is divided: the brackets around x - mean are missing", "(x - mean) / ..."),
    Misconception("normalised twice", lambda x, gamma, beta, eps: layer_norm(layer_norm(x, 1.0, 0.0, eps), gamma, beta, eps), "x is normalised twice", "once is enough: the second time eps counts again"),
    Misconception("residual added", lambda x, gamma, beta, eps: x + layer_norm(x, gamma, beta, eps), "x is added to the result", "the norm alone has no skip"),
    Misconception("statistics only", lambda x, gamma, beta, eps: np.sqrt(row_variance(x) + eps) + 0 * x, "the standard deviation is returned", "divide x - mean by it"),
    Misconception("rounded", lambda x, gamma, beta, eps: np.round(layer_norm(x, gamma, beta, eps), 4), "the result is rounded to 4 digits", "return the unrounded numbers"),
)

LAYER_NORM = Exercise(
    id="layer_norm",
    probes=layer_norm_probes,
    oracle=layer_norm,
    returns=Array(),
    library="ffnlib.layer.layer_norm",
    misconceptions=(*LAYER_NORM_SLIPS, row_by_row(layer_norm)),
    hints=(
        "Look at one row of numbers: subtract its mean, divide by its standard deviation, then scale and shift.",
        "np.mean and np.var over axis=-1 with keepdims=True keep an axis of length 1 that meets x again.",
        "return gamma * (x - mean) / np.sqrt(___) + beta",
    ),
    why="Every row is normalised by its own d_model numbers; eps inside the root keeps a row of equal numbers finite.",
)


# ---------------------------------------------------------------- rms_norm


def rms_norm(x, gamma, eps):
    """Return x divided by its root mean square along the last axis, times gamma."""
    mean_square = np.mean(np.square(x), axis=-1, keepdims=True)
    return gamma * x / np.sqrt(mean_square + eps)


def rms_norm_probes(rng):
    """Draw the inputs of a norm, each with gamma and eps of its own, and one row of zeros."""
    drawn = tuple(call(x, _scale(rng, x.shape[-1])[0], eps) for x, eps in _norm_inputs(rng))
    return (*drawn, call(np.zeros((2, 3)), _scale(rng, 3)[0], 1e-5))


RMS_NORM = Exercise(
    id="rms_norm",
    probes=rms_norm_probes,
    oracle=rms_norm,
    returns=Array(),
    library="ffnlib.layer.rms_norm",
    misconceptions=(
        Misconception("LayerNorm", lambda x, gamma, eps: gamma * (x - row_mean(x)) / np.sqrt(row_variance(x) + eps), "the mean is subtracted as well: that is LayerNorm", "RMSNorm does not centre: it divides only"),
        Misconception("standard deviation", lambda x, gamma, eps: gamma * x / np.sqrt(row_variance(x) + eps), "the standard deviation divides instead of the root mean square", "square x itself, without subtracting the mean"),
        Misconception("centred, mean square of x", lambda x, gamma, eps: gamma * (x - row_mean(x)) / np.sqrt(row_mean_square(x) + eps), "the mean is subtracted from x in the numerator", "RMSNorm does not centre"),
        Misconception("eps outside the root", lambda x, gamma, eps: gamma * x / (np.sqrt(row_mean_square(x)) + eps), "eps is added after the root instead of inside it", "np.sqrt(mean_square + eps)"),
        Misconception("no eps", lambda x, gamma, eps: gamma * x / np.sqrt(row_mean_square(x)), "eps is left out", "what comes out for a row of zeros?"),
        Misconception("eps fixed at 1e-5", lambda x, gamma, eps: gamma * x / np.sqrt(row_mean_square(x) + 1e-5), "eps is always 1e-5, whatever is passed", "use the argument eps"),
        Misconception("eps fixed at 1e-6", lambda x, gamma, eps: gamma * x / np.sqrt(row_mean_square(x) + 1e-6), "eps is always 1e-6, whatever is passed", "use the argument eps"),
        Misconception("eps fixed at 1e-8", lambda x, gamma, eps: gamma * x / np.sqrt(row_mean_square(x) + 1e-8), "eps is always 1e-8, whatever is passed", "use the argument eps"),
        Misconception("eps squared", lambda x, gamma, eps: gamma * x / np.sqrt(row_mean_square(x) + eps**2), "eps is squared", "eps is added to the mean square as it is"),
        Misconception("eps subtracted", lambda x, gamma, eps: gamma * x / np.sqrt(row_mean_square(x) - eps), "eps is subtracted from the mean square", "eps keeps the root away from zero: which sign does that?"),
        Misconception("eps before the square", lambda x, gamma, eps: gamma * x / np.sqrt(row_mean_square(x + eps)), "eps is added to x before it is squared", "eps is added to the mean of the squares"),
        Misconception("eps in every square", lambda x, gamma, eps: gamma * x / np.sqrt(np.sum(np.square(x) + eps, axis=-1, keepdims=True)), "the squares are summed instead of averaged, with eps in every one of them", "a mean is asked for, and eps is added once"),
        Misconception("divided by the length", lambda x, gamma, eps: gamma * x / np.linalg.norm(x, axis=-1, keepdims=True), "x is divided by its length: the squares are summed instead of averaged, and eps is left out", "root of (mean of the squares plus eps)"),
        Misconception("eps in the numerator", lambda x, gamma, eps: gamma * (x + eps) / np.sqrt(row_mean_square(x)), "eps is added to the numerator", "eps protects the division: it belongs to the mean square"),
        Misconception("eps after the division", lambda x, gamma, eps: gamma * (x / np.sqrt(row_mean_square(x)) + eps), "eps is added after the division", "look at the brackets: eps belongs inside the root"),
        Misconception("eps at the end", lambda x, gamma, eps: gamma * x / np.sqrt(row_mean_square(x)) + eps, "eps is added at the end", "look at the brackets: eps belongs inside the root"),
        Misconception("eps as a floor of the square", lambda x, gamma, eps: gamma * x / np.sqrt(np.maximum(row_mean_square(x), eps)), "eps is used as a floor: the larger of mean square and eps is taken", "eps is added to the mean square"),
        Misconception("eps as a floor of the root", lambda x, gamma, eps: gamma * x / np.maximum(np.sqrt(row_mean_square(x)), eps), "eps is used as a floor of the root", "eps is added to the mean square"),
        Misconception("no root", lambda x, gamma, eps: gamma * x / (row_mean_square(x) + eps), "the root is left out: the mean square itself divides", "root, mean, square: all three, from right to left"),
        Misconception("no mean", lambda x, gamma, eps: gamma * x / np.sqrt(np.sum(np.square(x), axis=-1, keepdims=True) + eps), "the squares are summed and not averaged: each row gets length 1", "root, mean, square: the mean divides by d"),
        Misconception("length plus eps", lambda x, gamma, eps: gamma * x / (np.sqrt(np.sum(np.square(x), axis=-1, keepdims=True)) + eps), "each row is divided by its length plus eps", "the mean of the squares, eps inside the root"),
        Misconception("length divided by d", lambda x, gamma, eps: gamma * x / (np.sqrt(np.sum(np.square(x), axis=-1, keepdims=True)) / np.shape(x)[-1] + eps), "the root is taken of the sum, and its result is divided by d and added to eps", "root, mean, square: divide by d and add eps before the root is taken"),
        Misconception("divided by the tokens", lambda x, gamma, eps: gamma * x / np.sqrt(np.sum(np.square(x), axis=-1, keepdims=True) / np.shape(x)[0] + eps), "the squares are divided by the length of the first axis instead of d", "the mean over the last axis divides by d"),
        Misconception("divided by d - 1", lambda x, gamma, eps: gamma * x / np.sqrt(np.sum(np.square(x), axis=-1, keepdims=True) / (np.shape(x)[-1] - 1) + eps), "the squares are divided by d - 1 instead of d", "the mean divides by d"),
        Misconception("root of d times", lambda x, gamma, eps: gamma * x / np.sqrt(np.sum(np.square(x), axis=-1, keepdims=True) + eps) * np.sqrt(np.shape(x)[-1]), "the squares are summed, and the root of d is multiplied in outside, so that eps counts d times less", "add eps to the mean of the squares, not to their sum"),
        Misconception("no square", lambda x, gamma, eps: gamma * x / np.sqrt(row_mean(x) + eps), "the mean of x stands in the place of the mean of its squares", "square first, then average"),
        Misconception("square of the mean", lambda x, gamma, eps: gamma * x / np.sqrt(row_mean(x) ** 2 + eps), "the mean is squared instead of the entries", "square first, then average"),
        row_by_row(rms_norm),
        Misconception("mean size", lambda x, gamma, eps: gamma * x / (row_mean(np.abs(x)) + eps), "the mean absolute value divides", "root, mean, square: all three, from right to left"),
        Misconception("mean of the lengths", lambda x, gamma, eps: gamma * x / (row_mean(np.sqrt(np.square(x) + eps))), "the root is taken before the mean", "root, mean, square: from right to left"),
        Misconception("largest entry", lambda x, gamma, eps: gamma * x / (np.max(np.abs(x), axis=-1, keepdims=True) + eps), "the largest absolute value divides", "the root mean square divides"),
        Misconception("multiplied", lambda x, gamma, eps: gamma * x * np.sqrt(row_mean_square(x) + eps), "the root mean square multiplies instead of dividing", "the result should have root mean square 1 before gamma"),
        Misconception("no gamma", lambda x, gamma, eps: x / np.sqrt(row_mean_square(x) + eps), "gamma is left out", "which argument scales the result?"),
        Misconception("one plus gamma", lambda x, gamma, eps: (1 + gamma) * x / np.sqrt(row_mean_square(x) + eps), "1 + gamma scales instead of gamma", "here gamma itself multiplies"),
        Misconception("gamma added", lambda x, gamma, eps: gamma + x / np.sqrt(row_mean_square(x) + eps), "gamma is added instead of multiplied", "gamma scales"),
        Misconception("gamma divides", lambda x, gamma, eps: x / np.sqrt(row_mean_square(x) + eps) / gamma, "gamma divides instead of multiplying", "gamma scales"),
        Misconception("gamma before the norm", lambda x, gamma, eps: gamma * x / np.sqrt(row_mean_square(gamma * x) + eps), "x is scaled by gamma before it is normalised", "normalise x, then scale"),
        Misconception("over the first axis", lambda x, gamma, eps: gamma * x / np.sqrt(np.mean(np.square(x), axis=0, keepdims=True) + eps), "the mean runs over the first axis instead of the last", "axis=-1: every row is normalised by its own numbers"),
        Misconception("over everything", lambda x, gamma, eps: gamma * x / np.sqrt(np.mean(np.square(x)) + eps), "one mean is taken over the whole array", "axis=-1: every row is normalised by its own numbers"),
        Misconception("over each sequence", lambda x, gamma, eps: gamma * x / np.sqrt(np.mean(np.square(x), axis=(-2, -1), keepdims=True) + eps) if np.ndim(x) > 1 else rms_norm(x, gamma, eps), "the mean runs over all rows of a sequence", "axis=-1: every row is normalised by its own numbers"),
        Misconception("over the tokens", lambda x, gamma, eps: gamma * x / np.sqrt(np.mean(np.square(x), axis=-2, keepdims=True) + eps) if np.ndim(x) > 1 else rms_norm(x, gamma, eps), "the mean runs over the rows instead of along each row", "axis=-1 runs along each row"),
        Misconception("over axis 1", lambda x, gamma, eps: gamma * x / np.sqrt(np.mean(np.square(x), axis=1, keepdims=True) + eps), "the mean runs over axis 1, which is the last axis of a matrix only", "axis=-1 is the last axis whatever stands before it"),
        Misconception("keepdims missing", lambda x, gamma, eps: gamma * x / np.sqrt(np.mean(np.square(x), axis=-1) + eps), "the mean square loses its axis, so that row t's number meets column t", "keepdims=True keeps a 1 where the axis was"),
        Misconception("gamma only", lambda x, gamma, eps: gamma * x, "x is scaled without being normalised", "divide by the root mean square first"),
        Misconception("root mean square only", lambda x, gamma, eps: np.sqrt(row_mean_square(x) + eps) + 0 * x, "the root mean square itself is returned", "divide x by it"),
        Misconception("softmax", lambda x, gamma, eps: gamma * softmax(x), "a softmax stands in the place of the norm", "divide by the root mean square"),
        Misconception("residual added", lambda x, gamma, eps: x + gamma * x / np.sqrt(row_mean_square(x) + eps), "x is added to the result", "the norm alone has no skip"),
        Misconception("rounded", lambda x, gamma, eps: np.round(gamma * x / np.sqrt(row_mean_square(x) + eps), 4), "the result is rounded to 4 digits", "return the unrounded numbers"),
    ),
    hints=(
        "Look at the name from right to left: square, mean, root; then divide x by it.",
        "np.mean(np.square(x), axis=-1, keepdims=True) has one number for each row.",
        "return gamma * x / np.sqrt(___ + eps)",
    ),
    why="Before gamma, RMSNorm keeps the direction of x and sets its size only: nothing is subtracted, and nothing is added.",
)


# ---------------------------------------------------------------- add_and_norm


def add_and_norm(x, y, gamma, beta, eps):
    """Return LayerNorm(x + y)."""
    z = x + y
    mean = np.mean(z, axis=-1, keepdims=True)
    variance = np.var(z, axis=-1, keepdims=True)
    return gamma * (z - mean) / np.sqrt(variance + eps) + beta


def add_and_norm_probes(rng):
    """Draw the inputs of a norm, and a second summand of the size that each row has."""
    drawn = tuple((x, rng.normal(size=x.shape) * np.std(x, axis=-1, keepdims=True), eps) for x, eps in _norm_inputs(rng))
    return tuple(call(x, y, *_scale(rng, x.shape[-1]), eps) for x, y, eps in drawn)


def _of_the_sum(slip: Misconception) -> Misconception:
    """Return a slip of layer_norm as it shows on x + y."""

    def program(x, y, gamma, beta, eps):
        return slip.program(x + y, gamma, beta, eps)

    because, step = (re.sub(r"\bx\b", "the sum", text) for text in (slip.because, slip.next))
    return Misconception(slip.name, program, because, step)


ADD_AND_NORM = Exercise(
    id="add_and_norm",
    probes=add_and_norm_probes,
    oracle=add_and_norm,
    returns=Array(),
    library="ffnlib.layer.add_and_norm",
    misconceptions=(
        Misconception("y not added", lambda x, y, gamma, beta, eps: layer_norm(x, gamma, beta, eps), "only x is normalised and y is left out", "add first, then normalise the sum"),
        Misconception("x not added", lambda x, y, gamma, beta, eps: layer_norm(y, gamma, beta, eps), "only y is normalised and x is left out", "add first, then normalise the sum"),
        Misconception("x added afterwards", lambda x, y, gamma, beta, eps: x + layer_norm(y, gamma, beta, eps), "y is normalised and x is added afterwards", "the norm comes after the sum"),
        Misconception("y added afterwards", lambda x, y, gamma, beta, eps: layer_norm(x, gamma, beta, eps) + y, "x is normalised and y is added afterwards", "the norm comes after the sum"),
        Misconception("each normalised", lambda x, y, gamma, beta, eps: layer_norm(x, gamma, beta, eps) + layer_norm(y, gamma, beta, eps), "x and y are normalised one by one and then added", "add first, then normalise the sum once"),
        Misconception("sum only", lambda x, y, gamma, beta, eps: x + y, "the sum is returned without being normalised", "the norm is missing"),
        Misconception("difference", lambda x, y, gamma, beta, eps: layer_norm(x - y, gamma, beta, eps), "y is subtracted", "the skip adds"),
        Misconception("difference the other way", lambda x, y, gamma, beta, eps: layer_norm(y - x, gamma, beta, eps), "x is subtracted from y", "the skip adds"),
        Misconception("product", lambda x, y, gamma, beta, eps: layer_norm(x * y, gamma, beta, eps), "x and y are multiplied", "the skip adds"),
        Misconception("mean of both", lambda x, y, gamma, beta, eps: layer_norm((x + y) / 2, gamma, beta, eps), "half the sum is normalised: it differs by what eps does", "add x and y as they are"),
        Misconception("x twice", lambda x, y, gamma, beta, eps: layer_norm(2 * x + y, gamma, beta, eps), "x is added twice", "count how often x enters the sum"),
        Misconception("y twice", lambda x, y, gamma, beta, eps: layer_norm(x + 2 * y, gamma, beta, eps), "y is added twice", "count how often y enters the sum"),
        Misconception("x added again", lambda x, y, gamma, beta, eps: x + layer_norm(x + y, gamma, beta, eps), "x is added once more after the norm", "the norm comes last"),
        Misconception("y added again", lambda x, y, gamma, beta, eps: y + layer_norm(x + y, gamma, beta, eps), "y is added once more after the norm", "the norm comes last"),
        Misconception("larger of both", lambda x, y, gamma, beta, eps: layer_norm(np.maximum(x, y), gamma, beta, eps), "the larger of x and y is normalised", "the skip adds"),
        Misconception("x normalised before", lambda x, y, gamma, beta, eps: layer_norm(layer_norm(x, gamma, beta, eps) + y, gamma, beta, eps), "x is normalised before the sum as well", "one norm, after the sum"),
        Misconception("y normalised before", lambda x, y, gamma, beta, eps: layer_norm(x + layer_norm(y, gamma, beta, eps), gamma, beta, eps), "y is normalised before the sum as well", "one norm, after the sum"),
        Misconception("concatenated", lambda x, y, gamma, beta, eps: np.concatenate([layer_norm(x, gamma, beta, eps), layer_norm(y, gamma, beta, eps)], axis=-1), "x and y are set side by side instead of added", "the result has the shape of x"),
        Misconception("sum standardised, then x", lambda x, y, gamma, beta, eps: gamma * (x - row_mean(x + y)) / np.sqrt(row_variance(x + y) + eps) + beta, "mean and variance are those of the sum, and x alone is normalised with them", "x + y stands in the numerator as well"),
        Misconception("statistics of x", lambda x, y, gamma, beta, eps: gamma * (x + y - row_mean(x)) / np.sqrt(row_variance(x) + eps) + beta, "x + y is normalised with the mean and variance of x", "take mean and variance of the sum"),
        Misconception("statistics of y", lambda x, y, gamma, beta, eps: gamma * (x + y - row_mean(y)) / np.sqrt(row_variance(y) + eps) + beta, "x + y is normalised with the mean and variance of y", "take mean and variance of the sum"),
        *(_of_the_sum(slip) for slip in LAYER_NORM.misconceptions if slip.name != "residual added"),
        Misconception("sum added again", lambda x, y, gamma, beta, eps: x + y + layer_norm(x + y, gamma, beta, eps), "the sum is added once more after the norm", "the norm comes last"),
    ),
    hints=(
        "Look at the order in the name: add, then norm.",
        "Give the sum x + y to the same operations as in layer_norm.",
        "z = ___, then return gamma * (z - mean) / np.sqrt(variance + eps) + beta",
    ),
    why="The original Transformer closes every sublayer so: the sum keeps x in play, the norm brings it back to scale.",
)


# ---------------------------------------------------------------- pre_norm and post_norm


def _sublayer(rng, d: int):
    """Draw a feed-forward layer as a function of its input alone."""
    W1, b1, W2, b2 = rng.normal(size=(d, 5)), rng.normal(size=5) + 0.4, rng.normal(size=(5, d)), rng.normal(size=d)

    def sublayer(x):
        """a feed-forward layer."""
        return feed_forward(np.asarray(x, dtype=np.float64), W1, b1, W2, b2)

    return Remote(sublayer)


def _norm(rng, d: int):
    """Draw a layer norm as a function of its input alone."""
    gamma, beta = _scale(rng, d)

    def norm(x):
        """a layer norm."""
        return layer_norm(np.asarray(x, dtype=np.float64), gamma, beta, 1e-5)

    return Remote(norm)


def _attention(rng, d: int):
    """Draw an attention that lets every token see itself and those before it; it serves an empty sequence as well."""
    A, B = rng.normal(size=(d, d)), rng.normal(size=(d, d))

    def attention(x):
        """an attention over the rows so far."""
        x = np.asarray(x, dtype=np.float64)
        weights = np.exp(np.tanh(x @ A @ np.swapaxes(x, -1, -2))) * np.tri(x.shape[-2])
        return weights / np.sum(weights, axis=-1, keepdims=True) @ x @ B

    return Remote(attention)


def norm_place_probes(rng):
    """Draw a matrix, a batch, one vector, one token, no token, integers, strided input, a square input."""
    inputs = (
        rng.normal(size=(3, 4)) + 0.5,
        rng.normal(size=(2, 3, 4)) * 2,
        rng.normal(size=5),
        rng.normal(size=(1, 3)) - 1.0,
        np.zeros((0, 4)),
        rng.integers(-3, 4, size=(2, 4)) + np.array([5, 0, 0, -5]),
        rng.normal(size=(6, 6))[::2, ::2],
        rng.normal(size=(4, 4)).T,
    )
    return tuple(call(x, _sublayer(rng, x.shape[-1]), _norm(rng, x.shape[-1])) for x in inputs)


def pre_norm(x, f, ln):
    """Return x + f(ln(x))."""
    return x + f(ln(x))


def post_norm(x, f, ln):
    """Return ln(x + f(x))."""
    return ln(x + f(x))


NORM_PLACES = (
    Misconception("no residual, pre-norm", lambda x, f, ln: f(ln(x)), "f(ln(x)) is returned and x is not added", "the skip adds x"),
    Misconception("no residual, post-norm", lambda x, f, ln: ln(f(x)), "ln(f(x)) is returned and x is not added", "the skip adds x"),
    Misconception("no norm", lambda x, f, ln: x + f(x), "x + f(x) is returned and ln is not used", "where does the norm stand?"),
    Misconception("sublayer only", lambda x, f, ln: f(x), "f(x) alone is returned", "skip and norm are missing"),
    Misconception("norm only", lambda x, f, ln: ln(x), "ln(x) alone is returned", "f and the skip are missing"),
    Misconception("norm of the sublayer's result", lambda x, f, ln: x + ln(f(x)), "the norm is applied to the result of f, and x is added after it", "compare what stands inside ln with the formula"),
    Misconception("norm on both sides of f", lambda x, f, ln: x + ln(f(ln(x))), "the norm is applied before f and to its result as well", "there is one norm"),
    Misconception("two norms", lambda x, f, ln: ln(x + f(ln(x))), "the norm is applied before f and to the sum as well", "there is one norm"),
    Misconception("residual of the normalised", lambda x, f, ln: ln(x) + f(ln(x)), "ln(x) + f(ln(x)) is computed: the normalised x is added instead of x", "which x goes past the sublayer?"),
    Misconception("norm on the residual only", lambda x, f, ln: ln(x) + f(x), "the norm is applied to the x that goes past f", "which x does f receive, and which is added?"),
    Misconception("norms one by one", lambda x, f, ln: ln(x) + ln(f(x)), "x and f(x) are normalised one by one and then added", "there is one norm"),
    Misconception("norm in the place of f", lambda x, f, ln: x + ln(x), "f is left out: x + ln(x) is computed", "where does the sublayer stand?"),
    Misconception("f after the sum", lambda x, f, ln: f(x + ln(x)), "f is applied to the sum of x and ln(x)", "f and ln have changed places"),
    Misconception("norm of the sum of norms", lambda x, f, ln: ln(ln(x) + f(x)), "x is normalised before it is added as well as at the end", "there is one norm"),
    Misconception("normalised throughout", lambda x, f, ln: ln(ln(x) + f(ln(x))), "x is normalised first and everything is normalised again at the end", "there is one norm"),
    Misconception("f of the normalised sum", lambda x, f, ln: f(ln(x + f(x))), "f is applied once more at the end", "f stands once in the formula"),
    Misconception("sublayer twice", lambda x, f, ln: x + f(f(ln(x))), "f is applied twice", "f stands once in the formula"),
    Misconception("sublayer twice, post-norm", lambda x, f, ln: ln(x + f(f(x))), "f is applied twice", "f stands once in the formula"),
    Misconception("norm twice at the end", lambda x, f, ln: ln(ln(x + f(x))), "the norm is applied twice in a row at the end", "there is one norm"),
    Misconception("norm twice in a row", lambda x, f, ln: x + f(ln(ln(x))), "the norm is applied twice in a row", "there is one norm"),
    Misconception("x subtracted", lambda x, f, ln: f(ln(x)) - x, "x is subtracted", "the skip adds"),
    Misconception("f subtracted", lambda x, f, ln: x - f(ln(x)), "f(ln(x)) is subtracted", "the skip adds"),
    Misconception("difference inside", lambda x, f, ln: ln(x - f(x)), "f(x) is subtracted inside the norm", "the skip adds"),
    Misconception("difference inside, turned", lambda x, f, ln: ln(f(x) - x), "x is subtracted inside the norm", "the skip adds"),
    Misconception("product", lambda x, f, ln: x * f(ln(x)), "x and f(ln(x)) are multiplied", "the skip adds"),
    Misconception("product inside", lambda x, f, ln: ln(x * f(x)), "x and f(x) are multiplied", "the skip adds"),
    Misconception("x twice", lambda x, f, ln: 2 * x + f(ln(x)), "x is added twice", "count how often x is added"),
    Misconception("x after the norm", lambda x, f, ln: x + ln(x + f(x)), "x is added once more after the norm", "count how often x is added"),
    Misconception("f twice", lambda x, f, ln: x + 2 * f(ln(x)), "f(ln(x)) is added twice", "count how often f's result is added"),
    Misconception("f with and without norm", lambda x, f, ln: x + f(x) + f(ln(x)), "f(x) and f(ln(x)) are both added", "f is called once"),
    Misconception("normalised x added as well", lambda x, f, ln: x + ln(x) + f(ln(x)), "ln(x) is added as well", "two terms are added: x and the result of f"),
    Misconception("half of the sum", lambda x, f, ln: (x + f(ln(x))) / 2, "half of the sum is returned", "the skip adds and does not average"),
    Misconception("f of x plus norm", lambda x, f, ln: x + f(x + ln(x)), "f receives x + ln(x)", "what does f receive in the formula?"),
    Misconception("f and ln exchanged, inside", lambda x, f, ln: f(ln(x) + ln(f(x))), "f is applied to a sum of norms", "write the formula from the inside out"),
    Misconception("unchanged", lambda x, f, ln: x * 1.0, "x comes back unchanged", "f and ln are not used"),
    Misconception("norm of f of norm", lambda x, f, ln: ln(f(ln(x))), "ln(f(ln(x))) is returned and x is not added", "the skip adds x"),
    Misconception("f of the sum", lambda x, f, ln: f(x + ln(f(x))), "f is applied to a sum that holds f(x) already", "f stands once in the formula"),
)

PRE_NORM = Exercise(
    id="pre_norm",
    probes=norm_place_probes,
    oracle=pre_norm,
    returns=Array(),
    library="ffnlib.layer.pre_norm",
    misconceptions=(
        Misconception("post-norm", lambda x, f, ln: ln(x + f(x)), "ln(x + f(x)) is computed: that is the post-norm order", "in pre-norm the norm stands before f, and x passes by untouched"),
        *NORM_PLACES,
    ),
    hints=(
        "Look at the path of x: one copy goes through the norm and f, the other goes past both.",
        "Write the branch from the inside out: first ln, then f; then add x itself.",
        "return x + f(___)",
    ),
    why="x itself is never normalised: it passes from block to block by additions only, which keeps deep stacks trainable.",
)

POST_NORM = Exercise(
    id="post_norm",
    probes=norm_place_probes,
    oracle=post_norm,
    returns=Array(),
    library="ffnlib.layer.post_norm",
    misconceptions=(
        Misconception("pre-norm", lambda x, f, ln: x + f(ln(x)), "x + f(ln(x)) is computed: that is the pre-norm order", "in post-norm f receives x itself, and the norm comes last"),
        *NORM_PLACES,
    ),
    hints=(
        "Look at the order: the sublayer, the sum, and the norm at the very end.",
        "f receives x itself; the norm receives the sum.",
        "return ln(___)",
    ),
    why="The original Transformer normalises after every sum, so whatever leaves the sublayer has the norm's scale.",
)


# ---------------------------------------------------------------- transformer_block


def transformer_block(x, attn, ffn, ln1, ln2):
    """Return the pre-norm block: attention first, then the feed-forward layer on the result."""
    h = x + attn(ln1(x))
    return h + ffn(ln2(h))


def block_probes(rng):
    """Draw a sequence, a batch, one token, no token, integers, a square and a strided sequence."""
    inputs = (
        rng.normal(size=(3, 4)) + 0.5,
        rng.normal(size=(2, 3, 4)) * 2,
        rng.normal(size=(1, 3)) - 1.0,
        np.zeros((0, 4)),
        rng.integers(-3, 4, size=(2, 4)) + np.array([5, 0, 0, -5]),
        rng.normal(size=(4, 4)),
        rng.normal(size=(10, 6))[::2, ::2],
    )
    return tuple(_block_call(rng, x) for x in inputs)


def _block_call(rng, x) -> Probe:
    d = x.shape[-1]
    return call(x, _attention(rng, d), _sublayer(rng, d), _norm(rng, d), _norm(rng, d))


def _block(first, second):
    """Return the program `second(x, h, ...)` with `h = first(x, ...)`."""

    def program(x, attn, ffn, ln1, ln2):
        return second(x, first(x, attn, ln1), ffn, ln2)

    return program


def _right_first(x, attn, ln1):
    return x + attn(ln1(x))


def _right_second(x, h, ffn, ln2):
    return h + ffn(ln2(h))


TRANSFORMER_BLOCK = Exercise(
    id="transformer_block",
    probes=block_probes,
    oracle=transformer_block,
    returns=Array(),
    library="ffnlib.layer.transformer_block",
    misconceptions=(
        Misconception("post-norm", lambda x, attn, ffn, ln1, ln2: ln2(ln1(x + attn(x)) + ffn(ln1(x + attn(x)))), "both sublayers are built post-norm, ln(x + f(x))", "in pre-norm each sublayer receives ln(x), and x itself is added"),
        Misconception("post-norm attention", lambda x, attn, ffn, ln1, ln2: _right_second(x, ln1(x + attn(x)), ffn, ln2), "the attention sublayer is built post-norm", "ln1 stands before attn, not after the sum"),
        Misconception("post-norm FFN", _block(_right_first, lambda x, h, ffn, ln2: ln2(h + ffn(h))), "the FFN sublayer is built post-norm", "ln2 stands before ffn, not after the sum"),
        Misconception("post-norm, second residual from x", lambda x, attn, ffn, ln1, ln2: ln2(x + ffn(ln1(x + attn(x)))), "both sublayers are built post-norm, and the second skip adds x", "each sublayer adds to what has entered it, and its norm stands before it"),
        Misconception("sublayers alone", lambda x, attn, ffn, ln1, ln2: ffn(attn(x)), "only ffn(attn(x)) is computed", "norms and skips are missing"),
        Misconception("one residual, no norms", lambda x, attn, ffn, ln1, ln2: x + ffn(attn(x)), "x + ffn(attn(x)) is computed", "each sublayer has a norm and a skip of its own"),
        Misconception("parallel", lambda x, attn, ffn, ln1, ln2: x + attn(ln1(x)) + ffn(ln2(x)), "both sublayers receive x: that is the parallel block", "the FFN receives what attention has made of x"),
        Misconception("parallel, one norm", lambda x, attn, ffn, ln1, ln2: x + attn(ln1(x)) + ffn(ln1(x)), "both sublayers receive ln1(x): that is the parallel block with one norm", "the FFN receives ln2 of what attention has made of x"),
        Misconception("norms exchanged", lambda x, attn, ffn, ln1, ln2: transformer_block(x, attn, ffn, ln2, ln1), "ln1 and ln2 have changed places", "ln1 belongs to attention, ln2 to the FFN"),
        Misconception("FFN first", lambda x, attn, ffn, ln1, ln2: transformer_block(x, ffn, attn, ln2, ln1), "the FFN sublayer comes before attention, each with its own norm", "attention first, then the FFN"),
        Misconception("sublayers exchanged", lambda x, attn, ffn, ln1, ln2: transformer_block(x, ffn, attn, ln1, ln2), "attn and ffn have changed places", "attention first, then the FFN"),
        Misconception("no residual around attention", _block(lambda x, attn, ln1: attn(ln1(x)), _right_second), "x is not added after attention", "each sublayer has its own skip"),
        Misconception("no residual around the FFN", _block(_right_first, lambda x, h, ffn, ln2: ffn(ln2(h))), "the input of the FFN sublayer is not added after it", "each sublayer has its own skip"),
        Misconception("no residual at all", lambda x, attn, ffn, ln1, ln2: ffn(ln2(attn(ln1(x)))), "nothing is added: the sublayers follow one another", "each sublayer has its own skip"),
        Misconception("one residual around both", lambda x, attn, ffn, ln1, ln2: x + ffn(ln2(attn(ln1(x)))), "one skip runs around both sublayers", "each sublayer has its own skip"),
        Misconception("second residual from x", _block(_right_first, lambda x, h, ffn, ln2: x + ffn(ln2(h))), "the second skip adds x instead of the result of the first sublayer", "what enters the FFN sublayer is what is added after it"),
        Misconception("x added once more", _block(_right_first, lambda x, h, ffn, ln2: x + h + ffn(ln2(h))), "x is added once more at the end: h holds it already", "count how often x is added"),
        Misconception("no norms", lambda x, attn, ffn, ln1, ln2: x + attn(x) + ffn(x + attn(x)), "neither norm is used", "each sublayer receives the normalised stream"),
        Misconception("no first norm", _block(lambda x, attn, ln1: x + attn(x), _right_second), "ln1 is left out", "attention receives ln1(x)"),
        Misconception("no second norm", _block(_right_first, lambda x, h, ffn, ln2: h + ffn(h)), "ln2 is left out", "the FFN receives ln2(h)"),
        Misconception("first norm twice", lambda x, attn, ffn, ln1, ln2: transformer_block(x, attn, ffn, ln1, ln1), "ln1 is used at both places", "the second norm is ln2"),
        Misconception("second norm twice", lambda x, attn, ffn, ln1, ln2: transformer_block(x, attn, ffn, ln2, ln2), "ln2 is used at both places", "the first norm is ln1"),
        Misconception("attention sublayer only", lambda x, attn, ffn, ln1, ln2: x + attn(ln1(x)), "only the attention sublayer is computed", "the FFN sublayer follows"),
        Misconception("FFN sublayer only", lambda x, attn, ffn, ln1, ln2: x + ffn(ln2(x)), "only the FFN sublayer is computed", "the attention sublayer comes first"),
        Misconception("attention alone", lambda x, attn, ffn, ln1, ln2: attn(ln1(x)), "only attn(ln1(x)) is returned", "skip and FFN sublayer are missing"),
        Misconception("norm at the end", lambda x, attn, ffn, ln1, ln2: ln2(transformer_block(x, attn, ffn, ln1, ln2)), "ln2 is applied once more to the result", "the stream leaves a pre-norm block without a norm"),
        Misconception("first norm at the end", lambda x, attn, ffn, ln1, ln2: ln1(transformer_block(x, attn, ffn, ln1, ln2)), "ln1 is applied once more to the result", "the stream leaves a pre-norm block without a norm"),
        Misconception("stream overwritten by the norms", _block(lambda x, attn, ln1: ln1(x) + attn(ln1(x)), lambda x, h, ffn, ln2: ln2(h) + ffn(ln2(h))), "the normalised stream is added after each sublayer instead of the stream itself", "is a variable overwritten by its own norm?"),
        Misconception("stream overwritten by the first norm", _block(lambda x, attn, ln1: ln1(x) + attn(ln1(x)), _right_second), "ln1(x) is added after attention instead of x", "is x overwritten by ln1(x)?"),
        Misconception("stream overwritten by the second norm", _block(_right_first, lambda x, h, ffn, ln2: ln2(h) + ffn(ln2(h))), "ln2(h) is added after the FFN instead of h", "is h overwritten by ln2(h)?"),
        Misconception("norms after the sublayers", _block(lambda x, attn, ln1: x + ln1(attn(x)), lambda x, h, ffn, ln2: h + ln2(ffn(h))), "each norm is applied to the result of its sublayer", "each norm stands before its sublayer"),
        Misconception("norm after attention", _block(lambda x, attn, ln1: x + ln1(attn(x)), _right_second), "ln1 is applied to the result of attention", "ln1 stands before attention"),
        Misconception("norm after the FFN", _block(_right_first, lambda x, h, ffn, ln2: h + ln2(ffn(h))), "ln2 is applied to the result of the FFN", "ln2 stands before the FFN"),
        Misconception("FFN on attention's result alone", lambda x, attn, ffn, ln1, ln2: x + attn(ln1(x)) + ffn(ln2(attn(ln1(x)))), "the FFN receives the result of attention without x", "the FFN receives ln2 of the sum"),
        Misconception("both norms before attention", lambda x, attn, ffn, ln1, ln2: x + attn(ln2(ln1(x))) + ffn(x + attn(ln2(ln1(x)))), "both norms stand before attention", "ln2 stands before the FFN"),
        Misconception("FFN inside attention", lambda x, attn, ffn, ln1, ln2: x + attn(ln1(x + ffn(ln2(x)))), "the FFN sublayer is computed inside the attention sublayer", "attention first, then the FFN on its result"),
        Misconception("attention twice", lambda x, attn, ffn, ln1, ln2: transformer_block(x, attn, attn, ln1, ln2), "attention is used in both sublayers", "the second sublayer is the FFN"),
        Misconception("FFN twice", lambda x, attn, ffn, ln1, ln2: transformer_block(x, ffn, ffn, ln1, ln2), "the FFN is used in both sublayers", "the first sublayer is attention"),
        Misconception("attention not normalised, FFN on the norm of x", lambda x, attn, ffn, ln1, ln2: x + attn(x) + ffn(ln2(x)), "attention receives x, and the FFN receives ln2(x) instead of ln2 of the sum", "each sublayer receives the norm of the stream so far"),
        Misconception("first difference", _block(lambda x, attn, ln1: x - attn(ln1(x)), _right_second), "the result of attention is subtracted", "skips add"),
        Misconception("second difference", _block(_right_first, lambda x, h, ffn, ln2: h - ffn(ln2(h))), "the result of the FFN is subtracted", "skips add"),
        Misconception("averaged", lambda x, attn, ffn, ln1, ln2: (x + attn(ln1(x))) / 2 + ffn(ln2((x + attn(ln1(x))) / 2)), "half of the first sum goes on", "skips add and do not average"),
        Misconception("block inside a residual", lambda x, attn, ffn, ln1, ln2: transformer_block(x, attn, ffn, ln1, ln2) - x, "x is missing from the result", "the stream x passes through the whole block"),
        Misconception("unchanged", lambda x, attn, ffn, ln1, ln2: x * 1.0, "x comes back unchanged", "which functions are called?"),
        Misconception("two blocks", lambda x, attn, ffn, ln1, ln2: transformer_block(transformer_block(x, attn, ffn, ln1, ln2), attn, ffn, ln1, ln2), "the block is applied twice", "one attention sublayer, one FFN sublayer"),
    ),
    hints=(
        "Look at the two sublayers one after the other: what leaves the first is what enters the second.",
        "Each sublayer is x + f(ln(x)): first with attn and ln1, then with ffn and ln2 on the new stream.",
        "h = x + attn(ln1(x)), then return h + ffn(ln2(___))",
    ),
    why="A block is two additions to the stream: attention brings in the other rows, the FFN works on each row alone.",
)


# ---------------------------------------------------------------- feed_forward_module

SOLUTION = '''
class FeedForward(torch.nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.expand = torch.nn.Linear(d_model, d_ff)
        self.contract = torch.nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.contract(torch.relu(self.expand(x)))
'''


def feed_forward_module(d_model, d_ff, weights, inputs):
    """Return what the module should give for these inputs once it holds these weights."""
    W1, b1, W2, b2 = weights
    (x,) = inputs
    return np.maximum(0, x @ W1 + b1) @ W2 + b2


def module_probes(rng):
    """Draw weights for modules that are wide, narrow, with d_ff = 4 d_model; and a batch or a matrix."""
    sizes = ((3, 7, (2, 3)), (5, 2, (1, 3)), (2, 8, (3, 3)), (6, 4, (2, 3)), (4, 5, (4,)))
    return tuple(_build(rng, d_model, d_ff, leading) for d_model, d_ff, leading in sizes)


def _build(rng, d_model: int, d_ff: int, leading: tuple[int, ...]) -> Probe:
    W1, b1 = rng.normal(size=(d_model, d_ff)), rng.normal(size=d_ff) + 0.3
    W2, b2 = rng.normal(size=(d_ff, d_model)), rng.normal(size=d_model) + 0.5
    x = rng.normal(size=(*leading, d_model)) * 4  # large enough to show a cut at 6
    return Probe(calls=((d_model, d_ff),), action="build", weights=(W1, b1, W2, b2), inputs=(x,))


def _activation(function):
    """Return the module's wrong program with another activation."""

    def program(d_model, d_ff, weights, inputs):
        W1, b1, W2, b2 = weights
        return function(inputs[0] @ W1 + b1) @ W2 + b2

    return program


def _formula(function):
    """Return a wrong program of the layer, `function(x, W1, b1, W2, b2)`, as one of the module."""
    return lambda d_model, d_ff, weights, inputs: function(inputs[0], *weights)


SELU = (1.0507009873554805, 1.6732632423543772)  # scale and alpha of Klambauer et al. 2017, as PyTorch has them

FEED_FORWARD_MODULE = Exercise(
    id="feed_forward_module",
    probes=module_probes,
    oracle=feed_forward_module,
    returns=Module(),
    wanted="class",
    called_as="FeedForward(d_model, d_ff)",
    solution=SOLUTION,
    misconceptions=(
        Misconception("no activation", _activation(lambda z: z), "there is no activation between the two linear layers", "torch.relu stands between them"),
        Misconception("ReLU after W2", _formula(lambda x, W1, b1, W2, b2: relu((x @ W1 + b1) @ W2 + b2)), "ReLU is applied after the second linear layer instead of before it", "may the output be negative? it may: only the hidden values are cut"),
        Misconception("two ReLUs", _formula(lambda x, W1, b1, W2, b2: relu(relu(x @ W1 + b1) @ W2 + b2)), "a second ReLU is applied to the result", "the output may be negative: only the hidden values are cut"),
        Misconception("ReLU on the input", _formula(lambda x, W1, b1, W2, b2: (relu(x) @ W1 + b1) @ W2 + b2), "ReLU is applied to x instead of to the hidden values", "the ReLU stands between the two layers"),
        Misconception("ReLU on the input as well", _formula(lambda x, W1, b1, W2, b2: relu(relu(x) @ W1 + b1) @ W2 + b2), "ReLU is applied to x as well", "x itself is not cut"),
        Misconception("ReLU everywhere", _formula(lambda x, W1, b1, W2, b2: relu(relu(relu(x) @ W1 + b1) @ W2 + b2)), "ReLU is applied to x, to the hidden values and to the result", "only the hidden values are cut"),
        Misconception("residual added", _formula(lambda x, W1, b1, W2, b2: x + feed_forward(x, W1, b1, W2, b2)), "x is added to the result: the skip belongs to the block around the layer", "the layer alone has no skip"),
        Misconception("GELU", _activation(gelu), "GELU stands in the place of ReLU", "this layer uses ReLU"),
        Misconception("GELU, tanh form", _activation(gelu_tanh), "the tanh form of GELU stands in the place of ReLU", "this layer uses ReLU"),
        Misconception("SiLU", _activation(lambda z: z * sigmoid(z)), "SiLU stands in the place of ReLU", "this layer uses ReLU"),
        Misconception("logistic", _activation(sigmoid), "the logistic function stands in the place of ReLU", "this layer uses ReLU"),
        Misconception("tanh", _activation(np.tanh), "tanh stands in the place of ReLU", "this layer uses ReLU"),
        Misconception("leaky ReLU", _activation(lambda z: np.where(z > 0, z, 0.01 * z)), "a leaky ReLU stands in the place of ReLU", "below zero the result is exactly 0"),
        Misconception("leaky ReLU, 0.25", _activation(lambda z: np.where(z > 0, z, 0.25 * z)), "negative hidden values are multiplied by 0.25 instead of set to zero", "below zero the result is exactly 0"),
        Misconception("ELU", _activation(lambda z: np.where(z > 0, z, np.expm1(np.minimum(z, 0)))), "ELU stands in the place of ReLU", "below zero the result is exactly 0"),
        Misconception("SELU", _activation(lambda z: SELU[0] * np.where(z > 0, z, SELU[1] * np.expm1(np.minimum(z, 0)))), "SELU stands in the place of ReLU", "this layer uses ReLU"),
        Misconception("ReLU6", _activation(lambda z: np.clip(z, 0, 6)), "the hidden values are also cut off at 6", "positive hidden values pass unchanged"),
        Misconception("hardtanh", _activation(lambda z: np.clip(z, -1, 1)), "the hidden values are cut to the range from -1 to 1", "this layer uses ReLU"),
        Misconception("softplus", _activation(lambda z: np.logaddexp(0, z)), "softplus stands in the place of ReLU", "this layer uses ReLU"),
        Misconception("softmax", _activation(softmax), "a softmax stands in the place of ReLU", "every hidden unit decides alone"),
        Misconception("absolute value", _activation(np.abs), "the absolute value stands in the place of ReLU", "a negative hidden value becomes 0"),
        Misconception("squared ReLU", _activation(lambda z: relu(z) ** 2), "the hidden values are squared", "a positive hidden value passes unchanged"),
        Misconception("sine", _activation(np.sin), "the sine stands in the place of ReLU", "this layer uses ReLU"),
        Misconception("ReLU with the sign turned", _activation(lambda z: relu(-z)), "the ReLU keeps the negative hidden values", "max(0, h), not max(0, -h)"),
        Misconception("no first bias", _formula(lambda x, W1, b1, W2, b2: relu(x @ W1) @ W2 + b2), "the first bias is there and is not used", "add b1 to the hidden values"),
        Misconception("no second bias", _formula(lambda x, W1, b1, W2, b2: relu(x @ W1 + b1) @ W2), "the second bias is there and is not used", "add b2 to the result"),
        Misconception("no biases used", _formula(lambda x, W1, b1, W2, b2: relu(x @ W1) @ W2), "both biases are there and are not used", "add b1 to the hidden values and b2 to the result"),
        Misconception("ReLU before b1", _formula(lambda x, W1, b1, W2, b2: (relu(x @ W1) + b1) @ W2 + b2), "ReLU is applied before b1 is added", "the bias shifts where the ReLU bends: add it first"),
        Misconception("unchanged", _formula(lambda x, W1, b1, W2, b2: x * 1.0), "x comes back unchanged", "does forward return the result of the layers?"),
        Misconception("hidden values only", _formula(lambda x, W1, b1, W2, b2: relu(x @ W1 + b1)), "the hidden values are returned", "the second linear layer brings them back to d_model"),
        Misconception("first layer only", _formula(lambda x, W1, b1, W2, b2: x @ W1 + b1), "only the first linear layer is applied", "ReLU and the second linear layer follow"),
        Misconception("normalised", _formula(lambda x, W1, b1, W2, b2: layer_norm(feed_forward(x, W1, b1, W2, b2), 1.0, 0.0, 1e-5)), "the result is normalised", "the layer alone has no norm"),
        Misconception("normalised input", _formula(lambda x, W1, b1, W2, b2: feed_forward(layer_norm(x, 1.0, 0.0, 1e-5), W1, b1, W2, b2)), "x is normalised first", "the layer alone has no norm"),
        Misconception("tokens averaged", _formula(lambda x, W1, b1, W2, b2: np.mean(feed_forward(x, W1, b1, W2, b2), axis=1)), "the results are averaged over the rows", "the result has the shape of x"),
        Misconception("first token only", _formula(lambda x, W1, b1, W2, b2: feed_forward(x[:, 0], W1, b1, W2, b2)), "only the first row is computed", "every row goes through the layer"),
        Misconception("applied twice", _formula(lambda x, W1, b1, W2, b2: feed_forward(feed_forward(x, W1, b1, W2, b2), W1, b1, W2, b2)), "the layer is applied twice", "once through both linear layers"),
    ),
    hints=(
        "Look at the two methods: __init__ creates the layers, forward uses them.",
        "torch.nn.Linear(a, b) maps the last axis from a to b numbers and has a bias; torch.relu stands between two of them.",
        "return self.contract(torch.relu(___))",
    ),
    why="nn.Linear acts on the last axis and holds weight and bias as parameters, so nothing else has to be registered.",
)

EXERCISES = (LAYER_NORM, RMS_NORM, ADD_AND_NORM, PRE_NORM, POST_NORM, TRANSFORMER_BLOCK, FEED_FORWARD_MODULE)
