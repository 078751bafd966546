"""Lesson 09: how few units fire, and a layer that reads only their rows of W2."""

from __future__ import annotations

import numpy as np

from ffnlib.activations import gelu
from ffnlib.examination.exercise import Array, Exercise, Misconception, Number, call
from ffnlib.examination.lessons.endings import negated, rounded

# ---------------------------------------------------------------- sparsity


def sparsity(H):
    """Return the share of entries that are exactly zero."""
    return float(np.mean(np.asarray(H) == 0))


def _activations(rng, shape, zeros: float, tiny: int = 2):
    """Draw activations of either sign, a share of them zero, a few of them tiny but not zero."""
    H = rng.normal(size=shape) + 0.3
    H[rng.uniform(size=shape) < zeros] = 0
    places = rng.permutation(H.size)[: 3 * tiny]
    H.reshape(-1)[places] = np.repeat([1e-30, -1e-5, 3e-3], tiny)
    return H


def sparsity_probes(rng):
    """Draw a matrix, a square, a vector, three axes, integers, a dead unit and a silent token, no zero, all zero."""
    dead = _activations(rng, (7, 9), 0.4)
    dead[:, 5] = np.abs(dead[:, 5]) + 0.1
    dead[:, 3], dead[2] = 0, 0
    square = _activations(rng, (6, 6), 0.3)
    square[1] = np.abs(square[1]) + 0.2
    return (
        call(_activations(rng, (5, 8), 0.5)),
        call(square),
        call(_activations(rng, (11,), 0.4, 1)),
        call(_activations(rng, (2, 3, 7), 0.6)),
        call(np.concatenate([rng.integers(-2, 3, size=(4, 5)), [[0, 0, 3, -1, 2]]])),
        call(dead),
        call(np.abs(rng.normal(size=(3, 4))) + 0.1),
        call(np.zeros((3, 5))),
        call(np.maximum(0, rng.normal(size=(6, 8)) - 0.5)[::2, ::-1]),
    )


def _small(limit: float, name: str) -> Misconception:
    def program(H):
        return float(np.mean(np.abs(H) < limit))

    return Misconception(name, program, f"small numbers count as zero, as with a threshold of {limit:g}", "exact zeros are asked for: == 0")


def _hoyer(H):
    size = np.linalg.norm(H)
    root = np.sqrt(np.size(H))
    return float((root - np.sum(np.abs(H)) / size) / (root - 1)) if size else 0.0


SPARSITY = Exercise(
    id="sparsity",
    probes=sparsity_probes,
    oracle=sparsity,
    variants=(lambda H: 1 - np.count_nonzero(H) / np.size(H),),
    returns=Number(),
    library="ffnlib.sparsity.sparsity",
    misconceptions=(
        Misconception("share that fires", lambda H: float(np.mean(np.asarray(H) != 0)), "the share of entries that are not zero is returned", "sparsity is the share of zeros"),
        Misconception("share that fires, by count", lambda H: float(np.mean(np.asarray(H) > 0)), "the share of positive entries is returned", "sparsity is the share of zeros"),
        Misconception("not positive", lambda H: float(np.mean(np.asarray(H) <= 0)), "negative entries are counted as zeros", "H may hold either sign: == 0"),
        Misconception("not negative", lambda H: float(np.mean(np.asarray(H) >= 0)), "all entries that are not negative are counted", "exact zeros are asked for: == 0"),
        Misconception("negative", lambda H: float(np.mean(np.asarray(H) < 0)), "the share of negative entries is returned", "exact zeros are asked for: == 0"),
        Misconception("number of zeros", lambda H: float(np.sum(np.asarray(H) == 0)), "the zeros are counted, not their share", "divide by the number of entries, or take the mean"),
        Misconception("number that fires", lambda H: float(np.count_nonzero(H)), "the entries that are not zero are counted", "the share of zeros is asked for"),
        Misconception("per cent", lambda H: 100 * float(np.mean(np.asarray(H) == 0)), "the share is given in per cent", "a share lies between 0 and 1"),
        Misconception("divided by the rows", lambda H: float(np.sum(np.asarray(H) == 0) / len(H)), "the number of zeros is divided by the length of the first axis", "H.size is the number of entries, len(H) that of the first axis"),
        Misconception("divided by the units", lambda H: float(np.sum(np.asarray(H) == 0) / np.shape(H)[-1]), "the number of zeros is divided by the number of units", "H.size is the number of entries"),
        Misconception("divided by those that fire", lambda H: float(np.sum(np.asarray(H) == 0) / max(1, np.count_nonzero(H))), "the zeros are divided by the entries that are not zero", "divide by all entries"),
        Misconception("firing by zeros", lambda H: float(np.count_nonzero(H) / max(1, np.sum(np.asarray(H) == 0))), "the entries that are not zero are divided by the zeros", "the share of zeros among all entries is asked for"),
        Misconception("divided by one too many", lambda H: float(np.sum(np.asarray(H) == 0) / (np.size(H) + 1)), "the number of zeros is divided by one more than the number of entries", "divide by H.size"),
        Misconception("divided by one too few", lambda H: float(np.sum(np.asarray(H) == 0) / (np.size(H) - 1)), "the number of zeros is divided by one less than the number of entries", "divide by H.size"),
        Misconception("all or nothing", lambda H: float(np.sum(np.asarray(H) == 0) // np.size(H)), "1 is returned where every entry is zero and 0 everywhere else, as by // or np.all", "/ divides, // rounds down; mean counts the share, all asks whether it is all of them"),
        Misconception("silent units", lambda H: float(np.mean(np.all(np.reshape(H, (-1, np.shape(H)[-1])) == 0, axis=0))), "the share of dead units is returned", "single entries are counted, not whole columns"),
        Misconception("dead columns", lambda H: float(np.mean(np.all(np.asarray(H) == 0, axis=0))), "only columns, along the first axis, that are zero throughout are counted", "single entries are counted, not whole columns"),
        Misconception("zero slices", lambda H: float(np.mean([not np.any(part) for part in H])), "only slices along the first axis that are zero throughout are counted", "single entries are counted, not whole rows"),
        Misconception("one minus active over the rows", lambda H: 1 - np.count_nonzero(H) / len(H), "the number of entries that are not zero is divided by the length of the first axis, and taken from 1", "H.size is the number of entries, len(H) that of the first axis"),
        Misconception("zeros before the first active entry", lambda H: float(np.argmax(np.append(np.ravel(H) != 0, True)) / np.size(H)), "only the zeros before the first other entry are counted", "is there a return inside the loop? it ends the loop too early"),
        Misconception("first entry", lambda H: float(np.ravel(H)[0] == 0) / np.size(H), "only the first entry is counted, and divided by the number of all", "is there a return inside the loop? it ends the loop at its first turn"),
        Misconception("last row", lambda H: float(np.sum(np.atleast_2d(H)[-1] == 0) / np.size(H)), "only the zeros of the last row are counted, and divided by the number of all entries", "look for = where += belongs"),
        Misconception("rows that are the number 0", lambda H: float(np.mean(H == 0)) if np.ndim(H) == 1 else 0.0, "the rows themselves are compared with 0, as by count(0) on a list of lists", "H == 0 compares every entry"),
        Misconception("silent tokens", lambda H: float(np.mean(np.all(np.asarray(H) == 0, axis=-1))), "the share of silent tokens is returned", "single entries are counted, not whole rows"),
        Misconception("units with a zero", lambda H: float(np.mean(np.any(np.reshape(H, (-1, np.shape(H)[-1])) == 0, axis=0))), "the share of units with at least one zero is returned", "single entries are counted"),
        Misconception("tokens with a zero", lambda H: float(np.mean(np.any(np.asarray(H) == 0, axis=-1))), "the share of tokens with at least one zero is returned", "single entries are counted"),
        Misconception("first token only", lambda H: float(np.mean(np.asarray(H)[0] == 0)), "only the first row is looked at", "all entries of H are meant"),
        Misconception("last token only", lambda H: float(np.mean(np.asarray(H)[-1] == 0)), "only the last row is looked at", "all entries of H are meant"),
        Misconception("first unit only", lambda H: float(np.mean(np.asarray(H)[..., 0] == 0)), "only the first unit is looked at", "all entries of H are meant"),
        Misconception("after a ReLU", lambda H: float(np.mean(np.maximum(0, np.asarray(H) - 1) == 0)), "everything up to 1 counts as zero", "exact zeros are asked for: == 0"),
        Misconception("cut to whole numbers", lambda H: float(np.mean(np.trunc(H) == 0)), "the activations are cut to whole numbers first", "0.4 is not zero: look for int"),
        Misconception("rounded to whole numbers", lambda H: float(np.mean(np.round(H) == 0)), "the activations are rounded to whole numbers first", "0.4 is not zero"),
        Misconception("mean activation", lambda H: float(np.mean(H)), "the mean of the activations is returned", "compare with zero first"),
        Misconception("mean size", lambda H: float(np.mean(np.abs(H))), "the mean size of the activations is returned", "compare with zero first"),
        Misconception("Hoyer's measure", _hoyer, "Hoyer's measure from the L1 and L2 norms is computed", "here the share of exact zeros is asked for"),
        Misconception("median per token", lambda H: float(np.median(np.mean(np.asarray(H) == 0, axis=-1))), "the median of the tokens' shares is returned", "the mean over all entries is asked for"),
        Misconception("largest share", lambda H: float(np.max(np.mean(np.asarray(H) == 0, axis=-1))), "the largest of the tokens' shares is returned", "the mean over all entries is asked for"),
        Misconception("smallest share", lambda H: float(np.min(np.mean(np.asarray(H) == 0, axis=-1))), "the smallest of the tokens' shares is returned", "the mean over all entries is asked for"),
        Misconception("zero or one", lambda H: float(np.any(np.asarray(H) == 0)), "only whether there is a zero is returned", "mean counts the share, any asks whether there is one"),
        Misconception("spread", lambda H: float(np.std(np.asarray(H) == 0)), "the standard deviation of the comparison is returned", "the mean is asked for"),
        _small(1e-8, "nearly zero"),
        _small(1e-3, "below a thousandth"),
        _small(1e-2, "below a hundredth"),
        _small(0.1, "below a tenth"),
        *rounded(sparsity, (1, 2, 3, 4)),
    ),
    hints=(
        "Look at one entry: it is exactly zero or it is not. The answer is one number for all entries together.",
        "A comparison gives True and False, and their mean is a share.",
        "return float(np.mean(H == ___))",
    ),
    why="True counts as 1 and False as 0, so the mean of a comparison is the share for which it holds.",
)


# ---------------------------------------------------------------- active_per_token


def active_per_token(H, eps):
    """Return, for each token, the share of units above eps in size."""
    return np.mean(np.abs(H) > eps, axis=-1)


def active_probes(rng):
    """Draw tokens of three axes, a square, one vector, integers with sizes equal to eps, eps = 0, one token, a strided view."""
    exact = rng.permutation(np.array([[-2, -1, 0, 1, 2, 1, 0, 3, -3], [1, 1, 1, 2, 0, 0, 4, -1, -2]]), axis=1)
    return (
        call(rng.normal(size=(3, 5, 7)), 0.6),
        call(rng.normal(size=(4, 9)) + 0.4, 0.5),
        call(rng.normal(size=(6, 6)), 0.8),
        call(rng.normal(size=11), 0.7),
        call(exact, 1),
        call(_activations(rng, (5, 8), 0.5), 0.0),
        call(_activations(rng, (4, 13), 0.3), 1e-4),
        call(rng.normal(size=(1, 9)), 0.5),
        call(rng.normal(size=(8, 10))[::2, ::2].T, 0.3),
        call(rng.normal(size=(2, 2, 2, 5)) * 40, 30.0),
    )


ACTIVE_PER_TOKEN = Exercise(
    id="active_per_token",
    probes=active_probes,
    oracle=active_per_token,
    returns=Array(),
    library="ffnlib.sparsity.active_per_token",
    misconceptions=(
        Misconception("eps included", lambda H, eps: np.mean(np.abs(H) >= eps, axis=-1), "units whose size equals eps are counted as active", "strictly above eps: > eps"),
        Misconception("no absolute value", lambda H, eps: np.mean(np.asarray(H) > eps, axis=-1), "the sign is kept, so that large negative activations do not count", "the size of an activation is abs(h)"),
        Misconception("no absolute value, eps included", lambda H, eps: np.mean(np.asarray(H) >= eps, axis=-1), "the sign is kept, and units equal to eps are counted", "abs(h) > eps"),
        Misconception("silent share", lambda H, eps: np.mean(np.abs(H) <= eps, axis=-1), "the share of silent units is returned", "the active ones are asked for: > eps"),
        Misconception("silent share, eps excluded", lambda H, eps: np.mean(np.abs(H) < eps, axis=-1), "the share of units below eps is returned", "the active ones are asked for: > eps"),
        Misconception("below eps without absolute value", lambda H, eps: np.mean(np.asarray(H) < eps, axis=-1), "the share of activations below eps is returned, with their sign", "abs(h) > eps"),
        Misconception("number of units", lambda H, eps: np.sum(np.abs(H) > eps, axis=-1), "the active units are counted, not their share", "divide by the number of units, or take the mean"),
        Misconception("per cent", lambda H, eps: 100 * np.mean(np.abs(H) > eps, axis=-1), "the shares are given in per cent", "a share lies between 0 and 1"),
        Misconception("per unit", lambda H, eps: np.mean(np.abs(H) > eps, axis=0), "the mean is taken over the first axis", "one share for each token: the units are the last axis"),
        Misconception("second axis", lambda H, eps: np.mean(np.abs(H) > eps, axis=1), "the mean is taken over axis 1, whatever the number of axes", "the units are the last axis: -1"),
        Misconception("second axis from the end", lambda H, eps: np.mean(np.abs(H) > eps, axis=-2 if np.ndim(H) > 1 else 0), "the mean is taken over the tokens", "one share for each token: the units are the last axis"),
        Misconception("one number", lambda H, eps: np.mean(np.abs(H) > eps), "one share for all tokens is returned", "one share for each token: axis=-1"),
        Misconception("one number, repeated", lambda H, eps: np.full(np.shape(H)[:-1], np.mean(np.abs(H) > eps)), "every token gets the share of all tokens together", "axis=-1 keeps the tokens apart"),
        Misconception("units kept", lambda H, eps: np.mean(np.abs(H) > eps, axis=-1, keepdims=True), "the last axis is kept with length 1", "look for keepdims=True"),
        Misconception("tokens flattened", lambda H, eps: np.ravel(np.mean(np.abs(H) > eps, axis=-1)), "the leading axes are flattened", "the result has the shape of H without its last axis"),
        Misconception("mean size compared", lambda H, eps: (np.mean(np.abs(H), axis=-1) > eps) * 1.0, "the mean size of a token is compared with eps", "compare every unit first, then take the mean"),
        Misconception("mean compared", lambda H, eps: (np.mean(H, axis=-1) > eps) * 1.0, "the mean of a token is compared with eps", "compare every unit first, then take the mean"),
        Misconception("threshold of a half", lambda H, eps: np.mean(np.abs(H) > 0.5, axis=-1), "0.5 stands in the place of eps", "use the argument"),
        Misconception("threshold of a thousandth", lambda H, eps: np.mean(np.abs(H) > 1e-3, axis=-1), "1e-3 stands in the place of eps", "use the argument"),
        Misconception("threshold of a millionth", lambda H, eps: np.mean(np.abs(H) > 1e-6, axis=-1), "1e-6 stands in the place of eps", "use the argument"),
        Misconception("values kept", lambda H, eps: np.where(np.abs(H) > eps, H, 0), "the active values themselves are returned", "their share along the last axis is asked for"),
        Misconception("active values only", lambda H, eps: np.abs(H)[np.abs(H) > eps], "the sizes of the active units are returned as one list", "their share along the last axis is asked for"),
        Misconception("mask", lambda H, eps: (np.abs(H) > eps) * 1.0, "the comparison itself is returned", "its mean along the last axis is missing"),
        Misconception("eps ignored", lambda H, eps: np.mean(np.asarray(H) != 0, axis=-1), "everything that is not zero counts as active, whatever eps is", "eps is not used"),
        Misconception("eps ignored, positive", lambda H, eps: np.mean(np.asarray(H) > 0, axis=-1), "everything positive counts as active, whatever eps is", "abs(h) > eps"),
        Misconception("squared sizes", lambda H, eps: np.mean(np.square(H) > eps, axis=-1), "the square of the activation is compared with eps", "abs(h) > eps, not h^2 > eps"),
        Misconception("eps squared", lambda H, eps: np.mean(np.abs(H) > eps**2, axis=-1), "the size is compared with eps^2", "abs(h) > eps"),
        Misconception("absolute value of the comparison", lambda H, eps: np.mean(np.abs(np.asarray(H) - eps) > 0, axis=-1), "everything that differs from eps counts as active", "abs belongs to h, before the comparison"),
        Misconception("distance from eps", lambda H, eps: np.mean(np.abs(np.asarray(H) - eps) > eps, axis=-1), "abs(h - eps) is compared with eps", "abs(h) > eps"),
        Misconception("sum above eps", lambda H, eps: np.mean(np.abs(H) + eps > 1, axis=-1), "abs(h) + eps is compared with 1", "abs(h) > eps"),
        Misconception("relative to the largest", lambda H, eps: np.mean(np.abs(H) > eps * np.max(np.abs(H), initial=0), axis=-1), "eps is taken relative to the largest activation of all", "eps is an absolute threshold"),
        Misconception("relative to the token's largest", lambda H, eps: np.mean(np.abs(H) > eps * np.max(np.abs(H), axis=-1, keepdims=True), axis=-1), "eps is taken relative to the token's largest activation", "eps is an absolute threshold"),
        Misconception("above the mean", lambda H, eps: np.mean(np.abs(H) > np.mean(np.abs(H), axis=-1, keepdims=True) + eps, axis=-1), "eps is added to the token's mean size", "eps is an absolute threshold"),
        Misconception("below minus eps", lambda H, eps: np.mean(np.asarray(H) < -eps, axis=-1), "only activations below -eps count", "abs(h) > eps holds for either sign"),
        Misconception("above minus eps", lambda H, eps: np.mean(np.asarray(H) > -eps, axis=-1), "everything above -eps counts", "abs(h) > eps"),
        Misconception("divided by the tokens", lambda H, eps: np.sum(np.abs(H) > eps, axis=-1) / max(1, len(H)), "the number of active units is divided by the length of the first axis", "divide by the number of units, H.shape[-1]"),
        Misconception("divided by all entries", lambda H, eps: np.sum(np.abs(H) > eps, axis=-1) / max(1, np.size(H)), "the number of active units is divided by the number of all entries", "divide by the number of units, H.shape[-1]"),
        Misconception("divided by one too few", lambda H, eps: np.sum(np.abs(H) > eps, axis=-1) / (np.shape(H)[-1] - 1), "the number of active units is divided by one less than the number of units", "divide by H.shape[-1]"),
        Misconception("divided by one too many", lambda H, eps: np.sum(np.abs(H) > eps, axis=-1) / (np.shape(H)[-1] + 1), "the number of active units is divided by one more than the number of units", "divide by H.shape[-1]"),
        Misconception("divided by the non-zero ones", lambda H, eps: np.sum(np.abs(H) > eps, axis=-1) / np.maximum(1, np.count_nonzero(H, axis=-1)), "the number of active units is divided by the units that are not zero", "divide by all units, H.shape[-1]"),
        Misconception("all or nothing", lambda H, eps: np.sum(np.abs(H) > eps, axis=-1) // np.shape(H)[-1], "1 is returned where every unit is active and 0 everywhere else, as by // or np.all", "/ divides, // rounds down; mean counts the share, all asks whether it is all of them"),
        Misconception("any active", lambda H, eps: np.any(np.abs(H) > eps, axis=-1) * 1.0, "only whether a token has an active unit is returned", "mean counts the share, any asks whether there is one"),
        Misconception("mean size", lambda H, eps: np.mean(np.abs(H), axis=-1), "the mean size of the activations is returned", "compare with eps first"),
        Misconception("mean size above eps", lambda H, eps: np.mean(np.where(np.abs(H) > eps, np.abs(H), 0), axis=-1), "the sizes of the active units are averaged, not counted", "the mean of the comparison is the share"),
        Misconception("first token only", lambda H, eps: np.mean(np.abs(H)[:1] > eps, axis=-1) if np.ndim(H) > 1 else np.mean(np.abs(H) > eps, axis=-1), "only the first entry of the leading axis is computed", "one share for every token"),
        Misconception("last unit left out", lambda H, eps: np.mean(np.abs(H)[..., :-1] > eps, axis=-1), "the last unit is left out", "all units count"),
        Misconception("first unit left out", lambda H, eps: np.mean(np.abs(H)[..., 1:] > eps, axis=-1), "the first unit is left out", "all units count"),
        *rounded(active_per_token, (1, 2, 3, 4)),
    ),
    hints=(
        "Look at one token: which of its units have a size above eps? The answer is their share, for every token.",
        "np.abs(H) > eps is True or False for every unit; the mean along the last axis is a share.",
        "return np.mean(np.abs(H) > eps, axis=___)",
    ),
    why="axis=-1 reduces the units and leaves every leading axis as it is, so one line serves a vector, a sequence and a batch.",
)


# ---------------------------------------------------------------- sparse_feed_forward


def sparse_feed_forward(x, W1, b1, W2, b2):
    """Return relu(x W1 + b1) W2 + b2 without reading the rows of silent units."""
    hidden = x @ W1 + b1
    firing = np.flatnonzero(hidden > 0)
    return hidden[firing] @ W2[firing] + b2


def _layer(rng, d_model: int, d_ff: int, whole: bool = False):
    """Draw x, W1, b1, W2 and b2, with whole numbers throughout if asked for."""
    shapes = (d_model, (d_model, d_ff), d_ff, (d_ff, d_model), d_model)
    if whole:
        return tuple(rng.integers(-3, 4, size=shape).astype(float) for shape in shapes)
    x, W1, b1, W2, b2 = (rng.normal(size=shape) for shape in shapes)
    return x, W1, b1 + 0.2, W2, b2 + 0.5


def _silent_rows_missing(args):
    """Return the arguments with nan in every row of W2 whose unit stays silent."""
    x, W1, b1, W2, b2 = args
    W2 = W2.copy()
    W2[~(x @ W1 + b1 > 0)] = np.nan
    return x, W1, b1, W2, b2


def _some_fire(rng, d_model: int, d_ff: int, whole: bool = False):
    """Draw a layer of which at least two units fire and at least two stay silent, one of them at exactly zero if whole."""
    for _ in range(1000):
        x, W1, b1, W2, b2 = _layer(rng, d_model, d_ff, whole)
        hidden = x @ W1 + b1
        if (hidden > 0).sum() >= 2 and (hidden < 0).sum() >= 2 and (not whole or (hidden == 0).any()):
            return x, W1, b1, W2, b2
    raise ValueError(f"no layer of {d_model} x {d_ff} with firing and silent units in 1000 draws")


def _one_entry_missing(args):
    """Return the arguments with one nan in the row of the unit that fires most."""
    x, W1, b1, W2, b2 = args
    W2 = W2.copy()
    W2[np.argmax(x @ W1 + b1), 1] = np.nan
    return x, W1, b1, W2, b2


def _biased(args, shift: float):
    """Return the arguments with b1 shifted so far that all units fire, or none."""
    x, W1, b1, W2, b2 = args
    return x, W1, b1 + shift * (1 + np.max(np.abs(x @ W1 + b1))), W2, b2


def _faint(args, sizes):
    """Return the arguments with the first hidden values moved to these sizes."""
    x, W1, b1, W2, b2 = args
    b1 = b1.copy()
    b1[: len(sizes)] = sizes - (x @ W1)[: len(sizes)]
    return x, W1, b1, W2, b2


def _loud_first(args):
    """Return the arguments with a large first row of W2, so that however little its unit fires, it is heard."""
    x, W1, b1, W2, b2 = args
    return x, W1, b1, np.concatenate([W2[:1] * 1e5, W2[1:]]), b2


def sparse_probes(rng):
    """Draw layers whose silent rows are nan or not, with a nan in a firing row, none or all firing, zero and faint units."""
    quiet = _biased(_some_fire(rng, 4, 5), -1)
    return (
        call(*_some_fire(rng, 4, 6)),
        call(*_silent_rows_missing(_some_fire(rng, 4, 7))),
        call(*_silent_rows_missing(_some_fire(rng, 5, 5))),
        call(*_one_entry_missing(_some_fire(rng, 3, 9))),
        call(*_silent_rows_missing(_one_entry_missing(_some_fire(rng, 4, 8)))),
        call(*_silent_rows_missing(_some_fire(rng, 4, 8, whole=True))),
        call(*_silent_rows_missing(quiet)),
        call(*_biased(_some_fire(rng, 4, 5), 1)),
        call(*_some_fire(rng, 5, 5)),
        call(rng.integers(1, 4, size=4), *_some_fire(rng, 4, 6)[1:]),
        call(*_silent_rows_missing(_faint(_some_fire(rng, 4, 9), np.array([4e-4, 0.04, 0.3, 0.8, -0.2])))),
        call(*_loud_first(_faint(_some_fire(rng, 4, 6), np.array([3e-9, 0.6, -0.2])))),
    )


def _hidden(x, W1, b1):
    return x @ W1 + b1


def _firing(x, W1, b1):
    return np.flatnonzero(x @ W1 + b1 > 0)


def _relu(z):
    return np.maximum(0, z)


def _rows_of(x, W1, b1, W2, b2, chosen):
    """Return the layer that reads only the chosen rows of W2, each scaled by its hidden value."""
    return _hidden(x, W1, b1)[chosen] @ W2[chosen] + b2


def _above(limit: float) -> Misconception:
    def program(x, W1, b1, W2, b2):
        return _rows_of(x, W1, b1, W2, b2, _hidden(x, W1, b1) > limit)

    return Misconception(f"fires above {limit}", program, f"a small positive h does not count as firing, as with a threshold of {limit:g}", "every h above 0 fires, however small")


SPARSE_SLIPS = (
    Misconception("all hidden values, selected rows", lambda x, W1, b1, W2, b2: _hidden(x, W1, b1) @ W2[_firing(x, W1, b1)] + b2, "all hidden values meet the selected rows of W2 only", "select the hidden values as well: one for each row that is read"),
    Misconception("columns chosen", lambda x, W1, b1, W2, b2: _hidden(x, W1, b1)[_firing(x, W1, b1)] @ W2[:, _firing(x, W1, b1)] + b2, "columns of W2 are selected instead of rows", "a unit's value is a row of W2: W2[firing]", raises="IndexError"),
    Misconception("columns chosen, by yes and no", lambda x, W1, b1, W2, b2: _hidden(x, W1, b1)[_hidden(x, W1, b1) > 0] @ W2[:, _hidden(x, W1, b1) > 0] + b2, "columns of W2 are selected instead of rows", "a unit's value is a row of W2: W2[firing]", raises="IndexError"),
    Misconception("dense product", lambda x, W1, b1, W2, b2: _relu(_hidden(x, W1, b1)) @ W2 + b2, "the silent rows of W2 are multiplied by 0 and added: 0 times nan is nan", "read only the rows of units with h > 0; after the ReLU h >= 0 holds for all"),
    Misconception("masked with zeros", lambda x, W1, b1, W2, b2: np.sum((_relu(_hidden(x, W1, b1)))[:, None] * W2, axis=0, where=~np.isnan(W2)) + b2, "every nan in W2 is passed over, also in the row of a unit that fires", "a nan in a firing row must reach the output: select by the hidden value, not by W2"),
    Misconception("nan in the result replaced", lambda x, W1, b1, W2, b2: np.nan_to_num(_relu(_hidden(x, W1, b1)) @ W2) + b2, "nan in the result is replaced by 0", "select the rows of W2 instead: then no nan of a silent unit can arise"),
    Misconception("nan in the output replaced", lambda x, W1, b1, W2, b2: np.nan_to_num(_relu(_hidden(x, W1, b1)) @ W2 + b2), "nan in the result is replaced by 0, b2 included", "select the rows of W2 instead: then no nan of a silent unit can arise"),
    Misconception("nan replaced after selecting", lambda x, W1, b1, W2, b2: np.nan_to_num(_hidden(x, W1, b1)[_firing(x, W1, b1)] @ W2[_firing(x, W1, b1)] + b2), "the firing rows are selected, and nan in the result is replaced by 0", "a nan in a firing row must reach the output"),
    Misconception("nan becomes b2", lambda x, W1, b1, W2, b2: np.nan_to_num(_hidden(x, W1, b1)[_firing(x, W1, b1)] @ W2[_firing(x, W1, b1)]) + b2, "the firing rows are selected, and nan in their sum is replaced by 0", "a nan in a firing row must reach the output"),
    Misconception("rows with nan left out", lambda x, W1, b1, W2, b2: _relu(_hidden(x, W1, b1))[~np.isnan(W2).any(axis=1)] @ W2[~np.isnan(W2).any(axis=1)] + b2, "rows of W2 that hold nan are left out, also when their unit fires", "the hidden value decides which rows are read"),
    Misconception("zero counts as firing", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, b2, _hidden(x, W1, b1) >= 0), "a unit at exactly 0 counts as firing, so that its row is read", "a unit fires when h > 0"),
    Misconception("silent rows read", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, b2, _hidden(x, W1, b1) <= 0), "the rows of the silent units are read", "h > 0 fires"),
    Misconception("no ReLU", lambda x, W1, b1, W2, b2: _hidden(x, W1, b1) @ W2 + b2, "negative units pass as well: the ReLU is left out, or != 0 decides before it", "a unit fires when h > 0"),
    Misconception("size decides", lambda x, W1, b1, W2, b2: np.abs(_hidden(x, W1, b1)) @ W2 + b2, "the absolute value of h is used", "a unit fires when h > 0"),
    Misconception("large negative units fire", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, b2, np.abs(_hidden(x, W1, b1)) > 0.5), "units fire by the size of h, whatever its sign", "a unit fires when h > 0"),
    Misconception("no b2", lambda x, W1, b1, W2, b2: _hidden(x, W1, b1)[_firing(x, W1, b1)] @ W2[_firing(x, W1, b1)], "b2 is left out", "b2 is added whatever fires"),
    Misconception("no b1", lambda x, W1, b1, W2, b2: _rows_of(x, W1, 0 * b1, W2, b2, x @ W1 > 0), "b1 is left out", "h = x W1 + b1"),
    Misconception("b1 for the choice only", lambda x, W1, b1, W2, b2: (x @ W1)[_firing(x, W1, b1)] @ W2[_firing(x, W1, b1)] + b2, "b1 decides which units fire, but is missing from their value", "the coefficient of a row is h = x W1 + b1"),
    Misconception("chosen before b1", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, b2, x @ W1 > 0), "x W1 decides which units fire, before b1 is added", "h = x W1 + b1 decides"),
    Misconception("chosen before b1, cut after it", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, b2, (x @ W1 > 0) & (_hidden(x, W1, b1) > 0)), "a unit must be positive both without b1 and with it", "h = x W1 + b1 alone decides"),
    Misconception("no biases", lambda x, W1, b1, W2, b2: _rows_of(x, W1, 0 * b1, W2, 0 * b2, x @ W1 > 0), "both biases are left out", "the layer has b1 and b2"),
    Misconception("b1 subtracted", lambda x, W1, b1, W2, b2: _rows_of(x, W1, -b1, W2, b2, _hidden(x, W1, -b1) > 0), "b1 is subtracted", "check the sign before b1"),
    Misconception("b2 subtracted", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, -b2, _firing(x, W1, b1)), "b2 is subtracted", "check the sign before b2"),
    Misconception("b2 for each unit", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, b2 * len(_firing(x, W1, b1)), _firing(x, W1, b1)), "b2 is added once for every unit that fires", "b2 is added once, after the loop"),
    Misconception("b2 twice", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, 2 * b2, _firing(x, W1, b1)), "b2 is added twice", "look for a start value and a + b2"),
    Misconception("b2 only when something fires", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, b2 if len(_firing(x, W1, b1)) else 0 * b2, _firing(x, W1, b1)), "zeros are returned when no unit fires", "b2 is added whatever fires"),
    Misconception("nan when nothing fires", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, b2 if len(_firing(x, W1, b1)) else b2 * np.nan, _firing(x, W1, b1)), "nan is returned when no unit fires", "a sum over no rows is zero, so b2 remains"),
    Misconception("x when nothing fires", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, b2, _firing(x, W1, b1)) if len(_firing(x, W1, b1)) else x * 1.0, "x comes back when no unit fires", "a sum over no rows is zero, so b2 remains"),
    Misconception("rows without coefficients", lambda x, W1, b1, W2, b2: np.sum(W2[_firing(x, W1, b1)], axis=0) + b2, "the rows of the firing units are added without their hidden values", "each row is multiplied by its unit's h"),
    Misconception("mean of the rows", lambda x, W1, b1, W2, b2: _hidden(x, W1, b1)[_firing(x, W1, b1)] @ W2[_firing(x, W1, b1)] / max(1, len(_firing(x, W1, b1))) + b2, "the contributions are averaged over the firing units", "they are added"),
    Misconception("mean over all units", lambda x, W1, b1, W2, b2: _hidden(x, W1, b1)[_firing(x, W1, b1)] @ W2[_firing(x, W1, b1)] / len(b1) + b2, "the contributions are divided by the number of units", "they are added"),
    Misconception("strongest unit only", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, b2, _firing(x, W1, b1)[np.argsort(-_hidden(x, W1, b1)[_firing(x, W1, b1)])[:1]]), "only the strongest unit's row is read", "every unit with h > 0 fires"),
    Misconception("strongest unit always", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, b2, [np.argmax(_hidden(x, W1, b1))]), "only the largest hidden value's row is read, even when it is negative", "every unit with h > 0 fires, and no other"),
    Misconception("stops at the first silent unit", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, b2, np.cumsum(_hidden(x, W1, b1) <= 0) == 0), "the loop ends at the first silent unit", "look for a break where a continue belongs"),
    Misconception("first unit only", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, b2, _firing(x, W1, b1)[:1]), "only the first firing unit's row is read", "look for a return inside the loop"),
    Misconception("last unit only", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, b2, _firing(x, W1, b1)[-1:]), "only the last firing unit's row is read", "look for = where += belongs"),
    Misconception("last firing unit left out", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, b2, _firing(x, W1, b1)[:-1]), "the last firing unit is left out", "look for a range that ends early"),
    Misconception("first firing unit left out", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b1, W2, b2, _firing(x, W1, b1)[1:]), "the first firing unit is left out", "look for a range that begins at 1"),
    Misconception("logistic function", lambda x, W1, b1, W2, b2: (1 / (1 + np.exp(-_hidden(x, W1, b1)[_firing(x, W1, b1)]))) @ W2[_firing(x, W1, b1)] + b2, "the firing units go through the logistic function", "a firing unit keeps its h"),
    Misconception("GELU", lambda x, W1, b1, W2, b2: gelu(_hidden(x, W1, b1)[_firing(x, W1, b1)]) @ W2[_firing(x, W1, b1)] + b2, "the firing units go through GELU", "a firing unit keeps its h"),
    Misconception("squared", lambda x, W1, b1, W2, b2: np.square(_hidden(x, W1, b1)[_firing(x, W1, b1)]) @ W2[_firing(x, W1, b1)] + b2, "the firing units enter squared", "a firing unit keeps its h"),
    Misconception("rows in order", lambda x, W1, b1, W2, b2: _hidden(x, W1, b1)[_firing(x, W1, b1)] @ W2[: len(_firing(x, W1, b1))] + b2, "the first rows of W2 are read, as many as units fire", "row i of W2 belongs to unit i: use the same indices for both"),
    Misconception("better half", lambda x, W1, b1, W2, b2: (lambda best: _relu(_hidden(x, W1, b1))[best] @ W2[best] + b2)(np.argsort(_hidden(x, W1, b1))[len(b1) // 2 :]), "half of the units are read, those with the largest h, whether they fire or not", "every unit with h > 0 fires, and no other"),
    Misconception("coefficients in order", lambda x, W1, b1, W2, b2: _hidden(x, W1, b1)[: len(_firing(x, W1, b1))] @ W2[_firing(x, W1, b1)] + b2, "the first hidden values are used, as many as units fire", "use the same indices for the hidden values and the rows"),
    Misconception("coefficients sorted", lambda x, W1, b1, W2, b2: -np.sort(-_hidden(x, W1, b1)[_firing(x, W1, b1)]) @ W2[_firing(x, W1, b1)] + b2, "the hidden values are sorted, the rows are not", "use the same indices for the hidden values and the rows"),
    Misconception("columns of W2", lambda x, W1, b1, W2, b2: _hidden(x, W1, b1)[_firing(x, W1, b1)] @ W2[:, _firing(x, W1, b1)].T + b2, "columns of W2 are read instead of rows, as if W2 were transposed", "unit i's value is row i of W2"),
    Misconception("W1 transposed", lambda x, W1, b1, W2, b2: _rows_of(x, W1.T, b1, W2, b2, _firing(x, W1.T, b1)), "W1 is transposed: that is the other convention", "x W1 with W1 of shape (d_model, d_ff)"),
    Misconception("both transposed", lambda x, W1, b1, W2, b2: _rows_of(x, W1.T, b1, W2.T, b2, _firing(x, W1.T, b1)), "W1 and W2 are transposed: that is the other convention", "x W1 with W1 of shape (d_model, d_ff)"),
    Misconception("W1 and W2 exchanged", lambda x, W1, b1, W2, b2: _rows_of(x, W2, b1, W1, b2, _firing(x, W2, b1)), "W1 and W2 have changed places", "which matrix does x meet first?"),
    Misconception("biases exchanged", lambda x, W1, b1, W2, b2: _rows_of(x, W1, b2, W2, b1, _firing(x, W1, b2)), "b1 and b2 have changed places", "b1 belongs to the hidden values"),
    Misconception("residual added", lambda x, W1, b1, W2, b2: x + _rows_of(x, W1, b1, W2, b2, _firing(x, W1, b1)), "x is added to the result: the residual connection belongs to the block around the layer", "the layer alone is asked for"),
    Misconception("ReLU after W2", lambda x, W1, b1, W2, b2: _relu(_rows_of(x, W1, b1, W2, b2, _firing(x, W1, b1))), "a second ReLU is applied to the result", "may the output be negative? it may"),
    Misconception("x decides", lambda x, W1, b1, W2, b2: _relu(_hidden(_relu(x), W1, b1)) @ np.where((_hidden(_relu(x), W1, b1) > 0)[:, None], W2, 0) + b2, "the negative entries of x are cut", "the hidden values are cut at zero, not x"),
    Misconception("only the hidden values", lambda x, W1, b1, W2, b2: _relu(_hidden(x, W1, b1)), "the hidden values are returned", "the rows of W2 are missing"),
    Misconception("contributions not added", lambda x, W1, b1, W2, b2: _hidden(x, W1, b1)[_firing(x, W1, b1)][:, None] * W2[_firing(x, W1, b1)] + b2, "the contributions of the firing units are returned without adding them up", "sum over the units, axis 0"),
    _above(1e-6),
    _above(1e-3),
    _above(0.1),
    _above(0.5),
    _above(1),
    *rounded(sparse_feed_forward),
    negated(sparse_feed_forward),
)

SPARSE_FEED_FORWARD = Exercise(
    id="sparse_feed_forward",
    probes=sparse_probes,
    oracle=sparse_feed_forward,
    variants=(lambda x, W1, b1, W2, b2: (x @ W1 + b1)[x @ W1 + b1 > 0] @ W2[x @ W1 + b1 > 0] + b2,),
    returns=Array(),
    library="ffnlib.sparsity.sparse_feed_forward",
    misconceptions=SPARSE_SLIPS,
    hints=(
        "Look at the hidden values first: only the units with h > 0 contribute, each with its own row of W2.",
        "np.flatnonzero(hidden > 0) gives their numbers; index the hidden values and W2 with the same numbers.",
        "firing = np.flatnonzero(hidden > 0), then return hidden[firing] @ W2[___] + b2",
    ),
    why="A silent unit's row is multiplied by 0, so it need not be read; and what is not read cannot leak, not even nan.",
)

EXERCISES = (SPARSITY, ACTIVE_PER_TOKEN, SPARSE_FEED_FORWARD)
