"""Lesson 05: the activations that followed ReLU, and the units that never fire."""

from __future__ import annotations

import math

import numpy as np

from ffnlib.activations import erf
from ffnlib.examination.exercise import Array, Count, Exercise, Misconception, call
from ffnlib.examination.lessons.endings import absolute, added_up, negated, rounded, whole_for_whole


def activation_probes(rng):
    """Draw a matrix, a square, a vector, more axes, integers, numbers near zero, large ones of either sign, a strided view."""
    large = np.array([-1e4, -800.0, -90.0, -38.0, 38.0, 90.0, 800.0, 1e4]) + rng.uniform(-1, 1, size=8)
    return (
        call(rng.normal(size=(3, 4)) * 2),
        call(rng.normal(size=(3, 3))),
        call(rng.normal(size=7) * 3),
        call(rng.normal(size=(2, 2, 3))),
        call(rng.permutation(np.array([-7, -3, -2, -1, 0, 1, 2, 5]))),
        call(np.concatenate([[0.0], rng.normal(size=4) * 1e-2])),
        call(np.concatenate([large, [-21.0, -6.1]])),
        call((rng.normal(size=(4, 6)) * 2)[:, ::2].T),
    )


def _logistic(z):
    small = np.exp(-np.abs(z))
    return np.where(np.asarray(z) >= 0, 1.0, small) / (1.0 + small)


def _density(z):
    return np.exp(-np.minimum(np.square(z), 1400.0) / 2) / np.sqrt(2 * np.pi)


def _standardised(x):
    return (x - np.mean(x)) / (np.std(x) + 1e-12)


# ---------------------------------------------------------------- gelu


def gelu(x):
    """Return x times the probability that a standard normal number lies below x."""
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


NEIGHBOURS = (
    Misconception("ReLU", lambda x: np.maximum(0, x), "ReLU is computed", "this function is smooth: at x = -1 it is not 0"),
    Misconception("leaky ReLU", lambda x: np.where(np.asarray(x) > 0, x, 0.01 * np.asarray(x)), "the leaky ReLU is computed", "this function is smooth, with no corner at 0"),
    Misconception("ELU", lambda x: np.where(np.asarray(x) > 0, x, np.expm1(np.minimum(x, 0))), "the ELU is computed: exp(x) - 1 below zero", "far below zero this function goes back to 0, not to -1"),
    Misconception("softplus", lambda x: np.logaddexp(0, x), "the softplus ln(1 + exp(x)) is computed", "at x = 0 this function is 0"),
    Misconception("Mish", lambda x: x * np.tanh(np.logaddexp(0, x)), "Mish, x tanh(softplus(x)), is computed", "which function multiplies x here?"),
    Misconception("tanh", lambda x: np.tanh(x), "tanh is computed", "for large x this function follows x, it does not stop at 1"),
    Misconception("logistic function", lambda x: _logistic(np.asarray(x, dtype=float)), "only the logistic function is computed", "the factor x belongs in front of it"),
    Misconception("hard swish", lambda x: x * np.clip(np.asarray(x) + 3, 0, 6) / 6, "the piecewise hard swish is computed", "this function is smooth"),
    Misconception("identity", lambda x: x * 1.0, "x comes back unchanged", "what should come out at x = -1?"),
    Misconception("softmax", lambda x: np.exp(x - np.max(x)) / np.sum(np.exp(x - np.max(x))), "a softmax is computed", "every entry is treated alone here"),
)

EXACT_FORM = Misconception("exact form", gelu, "the exact x Phi(x) with erf is computed", "here the formula with tanh is asked for; the two differ by up to 5e-4")
SILU_FORM = Misconception("SiLU", lambda x: x * _logistic(np.asarray(x, dtype=float)), "SiLU, x times the logistic function of x, is computed", "SiLU and GELU weight x by different curves")
QUICK_FORM = Misconception("logistic approximation", lambda x: x * _logistic(1.702 * np.asarray(x)), "the approximation x sigmoid(1.702 x) is computed", "it differs from the function asked for by up to 0.02")


def gelu_tanh(x):
    """Return the approximation of GELU that needs only tanh."""
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _logistic_with(factor: float) -> Misconception:
    def program(x):
        return x * _logistic(factor * np.asarray(x))

    because = f"x sigmoid({factor} x) is computed"
    return Misconception(f"logistic with factor {factor}", program, because, "that is a rough approximation of GELU, and the factor of the usual one is 1.702")


def _root_of_two_rounded(places: int) -> Misconception:
    root = round(math.sqrt(2), places)

    def program(x):
        return 0.5 * x * (1 + erf(np.asarray(x) / root))

    because = f"sqrt(2) is rounded to {root}"
    return Misconception(f"root of two rounded to {places} digits", program, because, "let math.sqrt(2) keep its digits")


def _endings(program):
    return (*rounded(program), whole_for_whole(program), absolute(program), negated(program), *added_up(program))


GELU = Exercise(
    id="gelu",
    probes=activation_probes,
    oracle=gelu,
    variants=(lambda x: x * (0.5 + 0.5 * erf(x / math.sqrt(2))),),
    returns=Array(),
    library="ffnlib.activations.gelu",
    misconceptions=(
        Misconception("tanh form", gelu_tanh, "the tanh approximation is computed", "here the exact form with erf is asked for; the two differ by up to 5e-4"),
        QUICK_FORM,
        SILU_FORM,
        *(_logistic_with(factor) for factor in (1.5, 1.6, 1.7, 2.0)),
        *(_root_of_two_rounded(places) for places in (1, 2, 3, 4, 5)),
        Misconception("half missing", lambda x: x * (1 + erf(np.asarray(x) / math.sqrt(2))), "the factor 1/2 is missing", "for large x the result should be x: what does 1 + erf become there?"),
        Misconception("root of two missing", lambda x: 0.5 * x * (1 + erf(x)), "erf is taken of x instead of x / sqrt(2)", "Phi(x) = (1 + erf(x / sqrt(2))) / 2"),
        Misconception("times root of two", lambda x: 0.5 * x * (1 + erf(np.asarray(x) * math.sqrt(2))), "x is multiplied by sqrt(2) instead of divided", "Phi(x) = (1 + erf(x / sqrt(2))) / 2"),
        Misconception("divided by two", lambda x: 0.5 * x * (1 + erf(np.asarray(x) / 2)), "x is divided by 2 instead of sqrt(2) inside erf", "the divisor inside erf is a root"),
        Misconception("root of pi", lambda x: 0.5 * x * (1 + erf(np.asarray(x) / math.sqrt(math.pi))), "x is divided by sqrt(pi) inside erf", "the divisor inside erf is sqrt(2)"),
        Misconception("root of two pi", lambda x: 0.5 * x * (1 + erf(np.asarray(x) / math.sqrt(2 * math.pi))), "x is divided by sqrt(2 pi) inside erf, as in the density", "the divisor inside erf is sqrt(2)"),
        Misconception("root of two over pi", lambda x: 0.5 * x * (1 + erf(np.asarray(x) * math.sqrt(2 / math.pi))), "sqrt(2 / pi), the constant of the tanh form, stands inside erf", "the factor inside erf is 1 / sqrt(2)"),
        Misconception("root outside erf", lambda x: 0.5 * x * (1 + erf(x) / math.sqrt(2)), "erf(x) is divided by sqrt(2), not x", "which bracket does the division belong to?"),
        Misconception("Phi alone", lambda x: 0.5 * (1 + erf(np.asarray(x) / math.sqrt(2))), "Phi(x) is returned without the factor x", "for large x the result should be x, not 1"),
        Misconception("density", lambda x: x * _density(x), "x is multiplied by the normal density instead of its distribution function", "the density goes to 0 for large x; Phi goes to 1"),
        Misconception("upper tail", lambda x: 0.5 * x * (1 - erf(np.asarray(x) / math.sqrt(2))), "erf enters with a minus, so the upper tail is used", "for large x the result should be x, not 0"),
        Misconception("one missing", lambda x: 0.5 * x * erf(np.asarray(x) / math.sqrt(2)), "the 1 in 1 + erf is missing", "far below zero the result should be 0: what is erf there?"),
        Misconception("x times erf", lambda x: x * erf(x), "x times erf(x) is returned: erf runs from -1 to 1, not from 0 to 1", "Phi(x) = (1 + erf(x / sqrt(2))) / 2"),
        Misconception("x inside the bracket", lambda x: 0.5 * (1 + x * erf(np.asarray(x) / math.sqrt(2))), "x multiplies erf only, not the whole bracket", "at x = 0 the result should be 0"),
        Misconception("brackets missing", lambda x: 0.5 * x * 1 + erf(np.asarray(x) / math.sqrt(2)), "the brackets around 1 + erf are missing", "for large x the result should be x"),
        Misconception("tanh for erf", lambda x: 0.5 * x * (1 + np.tanh(np.asarray(x) / math.sqrt(2))), "tanh stands in the place of erf", "ffnlib.activations.erf works on arrays"),
        Misconception("logistic for Phi", lambda x: 0.5 * x * (1 + _logistic(np.asarray(x) / math.sqrt(2))), "the logistic function stands in the place of erf", "ffnlib.activations.erf works on arrays"),
        Misconception("squared factor", lambda x: 0.5 * np.square(x) * (1 + erf(np.asarray(x) / math.sqrt(2))), "x enters squared", "for large x the result should be x"),
        Misconception("derivative", lambda x: 0.5 * (1 + erf(np.asarray(x) / math.sqrt(2))) + x * _density(x), "the derivative Phi(x) + x phi(x) is computed", "the function itself is asked for"),
        Misconception("cut at zero", lambda x: np.maximum(0, 0.5 * x * (1 + erf(np.asarray(x) / math.sqrt(2)))), "negative results are cut to 0", "between -3 and 0 the result is a little below zero"),
        Misconception("only positive numbers", lambda x: np.where(np.asarray(x) > 0, 0.5 * x * (1 + erf(np.asarray(x) / math.sqrt(2))), x), "negative numbers come back unchanged", "the formula holds for both signs"),
        Misconception("size inside erf", lambda x: 0.5 * x * (1 + erf(np.abs(x) / math.sqrt(2))), "erf is taken of |x|", "far below zero the result should be 0"),
        Misconception("standardised first", lambda x: gelu(_standardised(x)), "x is standardised first", "Phi is that of the standard normal distribution, whatever the mean of x is"),
        Misconception("own mean and spread", lambda x: 0.5 * x * (1 + erf(_standardised(x) / math.sqrt(2))), "Phi uses the mean and the spread of x itself", "the normal distribution is the standard one: mean 0, variance 1"),
        Misconception("a bend at zero", lambda x: np.where(np.asarray(x) > 0, x, 0.5 * x * (1 + erf(np.asarray(x) / math.sqrt(2)))), "positive numbers come back unchanged", "at x = 1 the result is 0.841, a little less than x"),
        *NEIGHBOURS,
        *_endings(gelu),
    ),
    hints=(
        "Look at the two factors: x itself, and the share of a standard normal distribution that lies below x.",
        "That share is Phi(x) = (1 + erf(x / sqrt(2))) / 2, and ffnlib.activations.erf works on arrays.",
        "return 0.5 * x * (1 + erf(x / ___))",
    ),
    why="erf is the normal distribution of variance 1/2, so x is divided by sqrt(2) to bring it to variance 1.",
)


# ---------------------------------------------------------------- gelu_tanh


def _root_rounded(places: int) -> Misconception:
    root = round(math.sqrt(2 / math.pi), places)

    def program(x):
        return 0.5 * x * (1 + np.tanh(root * (x + 0.044715 * np.power(x, 3.0))))

    because = f"sqrt(2 / pi) is rounded to {root}"
    return Misconception(f"root rounded to {places} digits", program, because, "let math.sqrt(2 / math.pi) keep its digits")


def _cube_with(coefficient: float, because: str) -> Misconception:
    def program(x):
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + coefficient * np.power(x, 3.0))))

    return Misconception(f"coefficient {coefficient}", program, because, "the coefficient of the cube is 0.044715: compare it digit by digit")


def _with_root(name: str, root: float, words: str) -> Misconception:
    def program(x):
        return 0.5 * x * (1 + np.tanh(root * (x + 0.044715 * np.power(x, 3.0))))

    return Misconception(name, program, f"{words} stands in front of the bracket", "the factor is the root of 2 / pi, about 0.798")


def _bent(x):
    return math.sqrt(2 / math.pi) * (x + 0.044715 * np.power(x, 3.0))


GELU_TANH = Exercise(
    id="gelu_tanh",
    probes=activation_probes,
    oracle=gelu_tanh,
    variants=(lambda x: x * _logistic(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)),),
    returns=Array(),
    library="ffnlib.activations.gelu_tanh",
    misconceptions=(
        EXACT_FORM,
        QUICK_FORM,
        SILU_FORM,
        *(_logistic_with(factor) for factor in (1.5, 1.6, 1.7, 2.0)),
        Misconception("half missing", lambda x: x * (1 + np.tanh(_bent(x))), "the factor 1/2 is missing", "for large x the result should be x: what does 1 + tanh become there?"),
        Misconception("cube missing", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * x)), "the cubic term is missing", "inside the bracket stands x plus 0.044715 times a power of x"),
        _cube_with(0.44715, "the coefficient of the cube is ten times too large, 0.44715"),
        _cube_with(0.0044715, "the coefficient of the cube is ten times too small, 0.0044715"),
        _cube_with(0.47715, "the coefficient of the cube is 0.47715"),
        _cube_with(0.047715, "the coefficient of the cube is 0.047715"),
        _cube_with(0.04475, "the coefficient of the cube is 0.04475"),
        _cube_with(0.04715, "a digit of the coefficient is missing: 0.04715"),
        _cube_with(0.044751, "two digits of the coefficient are exchanged: 0.044751"),
        _cube_with(0.0447, "the coefficient is rounded to 0.0447"),
        _cube_with(0.045, "the coefficient is rounded to 0.045"),
        _cube_with(0.04472, "the coefficient is rounded to 0.04472"),
        _cube_with(0.04, "the coefficient is rounded to 0.04"),
        _cube_with(0.044, "the coefficient is cut to 0.044"),
        _cube_with(4.4715, "the coefficient of the cube is a hundred times too large, 4.4715"),
        _cube_with(1.0, "the cube has no coefficient"),
        Misconception("square for cube", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * np.square(x)))), "x is squared where its cube belongs", "the inner function is odd: at -x it has the opposite sign"),
        Misconception("three times for cube", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * 3 * x))), "x is multiplied by 3 where its cube belongs", "* is a product, ** a power"),
        Misconception("fourth power", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * np.power(x, 4.0)))), "the fourth power stands where the cube belongs", "the inner function is odd: at -x it has the opposite sign"),
        Misconception("x missing in the bracket", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * 0.044715 * np.power(x, 3.0))), "inside tanh only the cubic term is used", "x itself stands in that bracket too"),
        Misconception("everything cubed", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * np.power(x + 0.044715 * x, 3.0))), "the whole bracket is cubed", "only x inside the second term is cubed"),
        Misconception("coefficient cubed", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + np.power(0.044715 * x, 3.0)))), "0.044715 is cubed together with x", "the power binds to x alone"),
        Misconception("root over x only", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * x + 0.044715 * np.power(x, 3.0))), "sqrt(2 / pi) multiplies x only, not the cubic term", "where does the bracket after the root begin and end?"),
        Misconception("cube subtracted", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x - 0.044715 * np.power(x, 3.0)))), "the cubic term is subtracted", "check the sign before 0.044715"),
        Misconception("minus tanh", lambda x: 0.5 * x * (1 - np.tanh(_bent(x))), "tanh enters with a minus", "for large x the result should be x, not 0"),
        Misconception("one missing", lambda x: 0.5 * x * np.tanh(_bent(x)), "the 1 in 1 + tanh is missing", "far below zero the result should be 0: what is tanh there?"),
        Misconception("x in front missing", lambda x: 0.5 * (1 + np.tanh(_bent(x))), "the factor x is missing", "for large x the result should be x, not 1"),
        Misconception("x inside the outer bracket", lambda x: 0.5 * (1 + x * np.tanh(_bent(x))), "x multiplies tanh only, not 1 + tanh", "at x = 0 the result should be 0"),
        Misconception("brackets missing", lambda x: 0.5 * x * 1 + np.tanh(_bent(x)), "the brackets around 1 + tanh are missing", "for large x the result should be x"),
        Misconception("logistic for tanh", lambda x: 0.5 * x * (1 + _logistic(_bent(x))), "the logistic function stands in the place of tanh", "tanh runs from -1 to 1, the logistic function from 0 to 1"),
        Misconception("logistic without its two", lambda x: x * _logistic(_bent(x)), "the factor inside tanh is half of what it should be, 1 / sqrt(2 pi), which is also x sigmoid(u) with u in the place of 2 u", "the factor is sqrt(2 / pi), and (1 + tanh(u)) / 2 = sigmoid(2 u)"),
        Misconception("erf for tanh", lambda x: 0.5 * x * (1 + erf(_bent(x))), "erf stands in the place of tanh", "the approximation replaces erf by tanh"),
        _with_root("root upside down", math.sqrt(math.pi / 2), "sqrt(pi / 2)"),
        _with_root("two over pi", 2 / math.pi, "2 / pi without its root"),
        _with_root("root of two only", math.sqrt(2) / math.pi, "sqrt(2) / pi"),
        _with_root("two over root of pi", 2 / math.sqrt(math.pi), "2 / sqrt(pi)"),
        _with_root("root of two pi", math.sqrt(2 * math.pi), "sqrt(2 pi)"),
        _with_root("one over root of two", 1 / math.sqrt(2), "1 / sqrt(2), the factor of the exact form,"),
        _with_root("one over root of pi", 1 / math.sqrt(math.pi), "1 / sqrt(pi)"),
        _with_root("root of two", math.sqrt(2), "sqrt(2)"),
        _with_root("two over pi squared", (2 / math.pi) ** 2, "the square of 2 / pi, instead of its root,"),
        _with_root("e for pi", math.sqrt(2 / math.e), "sqrt(2 / e)"),
        _with_root("pi rounded to 3.14", math.sqrt(2 / 3.14), "sqrt(2 / 3.14), with a rounded pi,"),
        _with_root("pi rounded to 3.142", math.sqrt(2 / 3.142), "sqrt(2 / 3.142), with a rounded pi,"),
        _with_root("pi rounded to 3.1416", math.sqrt(2 / 3.1416), "sqrt(2 / 3.1416), with a rounded pi,"),
        _with_root("pi rounded to 3.14159", math.sqrt(2 / 3.14159), "sqrt(2 / 3.14159), with a rounded pi,"),
        Misconception("bracket closed too early", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715) * np.power(x, 3.0))), "the inner bracket is closed before the power: (x + 0.044715) x^3", "the cube multiplies 0.044715 only"),
        Misconception("half of x inside the outer bracket", lambda x: 0.5 * (x + np.tanh(_bent(x))), "x and tanh are added: 0.5 (x + tanh(...))", "x multiplies the bracket 1 + tanh(...)"),
        Misconception("x taken out of the inner bracket", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (1 + 0.044715 * np.square(x)))), "x is taken out of the inner bracket and lost: 1 + 0.044715 x^2", "x (1 + 0.044715 x^2) keeps the x in front"),
        Misconception("one for x in the inner bracket", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (1 + 0.044715 * np.power(x, 3.0)))), "1 stands in the place of x in the inner bracket", "x + 0.044715 x^3"),
        Misconception("x cubed twice", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (np.power(x, 3.0) + 0.044715 * np.power(x, 3.0)))), "both terms of the inner bracket are cubed", "x + 0.044715 x^3"),
        Misconception("first power for cube", lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x))), "x stands where its cube belongs", "x + 0.044715 x^3"),
        Misconception("no root", lambda x: 0.5 * x * (1 + np.tanh(x + 0.044715 * np.power(x, 3.0))), "the factor sqrt(2 / pi) is missing", "something stands in front of the inner bracket"),
        *(_root_rounded(places) for places in (1, 3, 4, 5, 6)),
        *NEIGHBOURS,
        *_endings(gelu_tanh),
    ),
    hints=(
        "Look at the formula from the inside out: x plus a small cube, a factor, tanh, plus 1, times x / 2.",
        "The factor is sqrt(2 / pi) and multiplies the whole inner bracket x + 0.044715 x^3.",
        "return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + ___ * x**3)))",
    ),
    why="The cube bends tanh so that it follows erf; sqrt(2 / pi) gives both the same slope at 0.",
)


# ---------------------------------------------------------------- silu


def silu(x):
    """Return x times the logistic function of x, without an exponential that can overflow."""
    small = np.exp(-np.abs(x))
    return x * np.where(x >= 0, 1, small) / (1 + small)


def _overflowing_silu(x):
    return x * (np.exp(x) / (1 + np.exp(x)))


def _clipped(limit: int) -> Misconception:
    def program(x):
        bounded = np.clip(x, -limit, limit)
        return x / (1 + np.exp(-bounded))

    because = f"x is clipped to {limit} inside the exponential, which is too narrow: far below zero the result is not 0"
    return Misconception(f"clipped to {limit} inside", program, because, "clip at 500 or so, or use exp(-|x|), which cannot overflow")


SILU = Exercise(
    id="silu",
    probes=activation_probes,
    oracle=silu,
    variants=(
        lambda x: x / (1 + np.exp(-x)),
        lambda x: x * (1 / (1 + np.exp(-x))),
        lambda x: x * (1 + np.tanh(x / 2)) / 2,
    ),
    returns=Array(),
    library="ffnlib.activations.silu",
    misconceptions=(
        Misconception("GELU", gelu, "the exact GELU is computed", "SiLU weights x by the logistic function, not by Phi"),
        Misconception("GELU, tanh form", gelu_tanh, "the tanh form of GELU is computed", "SiLU weights x by the logistic function"),
        Misconception("factor 1.702", lambda x: x * _logistic(1.702 * np.asarray(x)), "x sigmoid(1.702 x), the approximation of GELU, is computed", "here the factor inside is 1"),
        Misconception("overflow", _overflowing_silu, "exp(x) overflows for large x and the result becomes nan there", "inf / inf is nan: use exp(-x), or exp(-|x|), which stays finite"),
        Misconception("overflow hidden", lambda x: np.nan_to_num(_overflowing_silu(x)), "exp(x) overflows for large x, and the nan is replaced by 0", "at x = 800 the result is 800: use exp(-x)"),
        Misconception("overflow raised", lambda x: np.vectorize(lambda v: v / (1 + math.exp(-v)))(np.asarray(x, dtype=float)), "math.exp raises an error far below zero", "at x = -800 use exp(x) / (1 + exp(x)), or np.exp, which gives inf"),
        _clipped(5),
        _clipped(10),
        _clipped(20),
        Misconception("x clipped", lambda x: np.clip(x, -500, 500) * _logistic(np.asarray(x, dtype=float)), "x itself is clipped to 500, in front too", "at x = 800 the result is 800: clip only inside the exponential"),
        Misconception("x clipped to 20", lambda x: np.clip(x, -20, 20) * _logistic(np.asarray(x, dtype=float)), "x itself is clipped to 20, in front too", "at x = 800 the result is 800: clip only inside the exponential"),
        Misconception("x clipped to 100", lambda x: np.clip(x, -100, 100) * _logistic(np.asarray(x, dtype=float)), "x itself is clipped to 100, in front too", "at x = 800 the result is 800: clip only inside the exponential"),
        Misconception("sign in the exponential", lambda x: x * _logistic(-np.asarray(x, dtype=float)), "the exponential has the wrong sign: x / (1 + exp(x))", "for large x the result should be x, not 0"),
        Misconception("brackets missing", lambda x: x / 1 + np.exp(-np.asarray(x, dtype=float)), "the brackets around 1 + exp(-x) are missing", "what does x / 1 + exp(-x) divide?"),
        Misconception("x in the denominator", lambda x: 1 / (1 + x * np.exp(-np.clip(x, -700, 700))), "x multiplies the exponential in the denominator", "x stands in front of the logistic function"),
        Misconception("added", lambda x: x + _logistic(np.asarray(x, dtype=float)), "x and the logistic function are added", "SiLU is a product"),
        Misconception("squared factor", lambda x: np.square(x) * _logistic(np.asarray(x, dtype=float)), "x enters squared", "for large x the result should be x"),
        Misconception("squared logistic", lambda x: x * _logistic(np.asarray(x, dtype=float)) ** 2, "the logistic function enters squared", "it is used once"),
        Misconception("logistic of the product", lambda x: _logistic(x * _logistic(np.asarray(x, dtype=float))), "the logistic function is applied once more to the product", "for large x the result should be x, not 1"),
        Misconception("derivative", lambda x: _logistic(np.asarray(x, dtype=float)) * (1 + x * (1 - _logistic(np.asarray(x, dtype=float)))), "the derivative of SiLU is computed", "the function itself is asked for"),
        Misconception("derivative of the logistic function", lambda x: x * _logistic(np.asarray(x, dtype=float)) * (1 - _logistic(np.asarray(x, dtype=float))), "x s (1 - s) is computed, s the logistic function", "only x s is asked for"),
        Misconception("logistic times its complement", lambda x: _logistic(np.asarray(x, dtype=float)) * (1 - _logistic(np.asarray(x, dtype=float))), "s (1 - s) is computed, s the logistic function", "x s is asked for"),
        Misconception("tanh for the logistic function", lambda x: x * np.tanh(x), "x is multiplied by tanh(x)", "far below zero the result should be 0"),
        Misconception("half missing", lambda x: x * (1 + np.tanh(np.asarray(x) / 2)), "the factor 1/2 before 1 + tanh(x / 2) is missing", "for large x the result should be x"),
        Misconception("factor two inside", lambda x: x * _logistic(2 * np.asarray(x, dtype=float)), "the logistic function is taken of 2 x, which is also (1 + tanh(x)) / 2", "sigmoid(x) is (1 + tanh(x / 2)) / 2"),
        Misconception("factor one half inside", lambda x: x * _logistic(np.asarray(x) / 2), "the logistic function is taken of x / 2", "the factor inside is 1"),
        Misconception("log of the logistic function", lambda x: -np.logaddexp(0, -np.asarray(x, dtype=float)), "the logarithm of the logistic function is computed", "SiLU is x times the logistic function"),
        Misconception("times softplus", lambda x: x * np.logaddexp(0, x), "x is multiplied by the softplus", "the weight of x lies between 0 and 1"),
        Misconception("cut at zero", lambda x: np.maximum(0, x * _logistic(np.asarray(x, dtype=float))), "negative results are cut to 0", "at x = -1 the result is -0.269"),
        Misconception("a bend at zero", lambda x: np.where(np.asarray(x) > 0, x, x * _logistic(np.asarray(x, dtype=float))), "positive numbers come back unchanged", "at x = 1 the result is 0.731"),
        Misconception("only positive numbers", lambda x: np.where(np.asarray(x) > 0, x * _logistic(np.asarray(x, dtype=float)), x), "negative numbers come back unchanged", "the formula holds for both signs"),
        Misconception("size inside", lambda x: x * _logistic(np.abs(x)), "the logistic function is taken of |x|", "far below zero the result should be 0: exp(-|x|) needs another numerator for negative x"),
        Misconception("minus in the denominator", lambda x: x / (1 - np.exp(-np.asarray(x, dtype=float))), "the denominator is 1 - exp(-x)", "check the sign in the denominator"),
        Misconception("one missing", lambda x: x / np.exp(-np.asarray(x, dtype=float)), "the 1 in the denominator is missing", "the logistic function is 1 / (1 + exp(-x))"),
        Misconception("base two", lambda x: x / (1 + np.exp2(-np.asarray(x, dtype=float))), "powers of 2 stand in the place of the exponential", "the logistic function uses e"),
        *NEIGHBOURS,
        *_endings(silu),
    ),
    hints=(
        "Look at the two factors: x itself, and the logistic function 1 / (1 + exp(-x)) of the same x.",
        "Think of x = -800 and x = 800: which exponential overflows, and what does your formula make of it?",
        "small = np.exp(-np.abs(x)), then return x * np.where(x >= 0, 1, ___) / (1 + small)",
    ),
    why="exp(-|x|) lies between 0 and 1, so nothing overflows; for negative x the same fraction is exp(x) / (1 + exp(x)).",
)


# ---------------------------------------------------------------- dead_units


def dead_units(H):
    """Return the number of columns of H that hold nothing but zeros."""
    return int(np.sum(np.all(H == 0, axis=0)))


def _activity(rng, tokens: int, dead: int, silent_tokens: int = 0):
    """Draw activations with units that only seem dead, each kind in another number, in any order."""
    live = rng.normal(size=(tokens, 23)) + 0.1
    live[:, 2:5] = -np.abs(live[:, 2:5]) - 0.1
    live[:, [5, 21, 22]] = 0.75  # exact in binary, so that its spread is exactly 0
    live[:, 6:8] *= 1e-30
    live[:, 8:11] *= 1e-4
    live[: tokens // 2, 11:13] = 0
    live[0, 13:18] = 0
    half = tokens // 2
    eighths = 0.125 + np.round(np.abs(live[:half, 0]) * 8) / 8  # exact in binary, so that they cancel exactly
    live[:, 0] = np.concatenate([eighths, -eighths, np.zeros(tokens % 2)])
    if tokens > 1:
        live[1:, 18] = 0
        live[:-1, 19:21] = 0
    live[-1, 14:17] = 0
    H = np.concatenate([live, np.zeros((tokens, dead))], axis=1)
    H[tokens - silent_tokens :] = 0
    H[:, -1:] *= -1.0
    return H[:, rng.permutation(H.shape[1])]


def dead_units_probes(rng):
    """Draw activations with dead, cancelling, negative, constant, tiny and rarely active units, and one token alone."""
    whole = rng.integers(-2, 3, size=(5, 8))
    whole[:, 2:4] = 0
    square = rng.normal(size=(6, 6))
    square[:, 1] = 0
    square[2:4] = 0
    faint = np.full((3, 4), 1e-200)  # its squares are zero, it is not
    faint[:, 2] = 0
    return (
        call(_activity(rng, 7, 6)),
        call(_activity(rng, 8, int(rng.integers(8, 11)), 2)),
        call(faint),
        call(_activity(rng, 9, int(rng.integers(13, 17)))),
        call(square),
        call(whole),
        call(_activity(rng, 1, 4)),
        call(rng.normal(size=(4, 9)) + 0.3),
        call(np.zeros((3, 5))),
        call(np.maximum(0, rng.normal(size=(8, 12)) - 0.4)[::2, ::-1]),
    )


def _close_to_zero(limit: float, name: str) -> Misconception:
    def program(H):
        return int(np.sum(np.all(np.abs(H) < limit, axis=0)))

    because = f"a unit counts as dead when it stays close to zero, as below {limit:g}"
    return Misconception(name, program, because, "dead means exactly zero on every token: small is not zero")


DEAD_UNITS = Exercise(
    id="dead_units",
    probes=dead_units_probes,
    oracle=dead_units,
    variants=(lambda H: int(H.shape[1] - np.sum(np.any(H != 0, axis=0))), lambda H: int(np.sum(np.sum(np.abs(H), axis=0) == 0))),
    returns=Count(),
    library="ffnlib.sparsity.dead_units",
    misconceptions=(
        Misconception("silent tokens", lambda H: int(np.sum(np.all(H == 0, axis=1))), "tokens without any active unit are counted, not units without any active token", "which axis of H runs over the tokens?"),
        Misconception("ever zero", lambda H: int(np.sum(np.any(H == 0, axis=0))), "units that are zero on at least one token are counted", "dead means zero on every token: any or all?"),
        Misconception("tokens with a zero", lambda H: int(np.sum(np.any(H == 0, axis=1))), "tokens with at least one zero are counted", "count units, and only those that are zero on every token"),
        Misconception("zero entries", lambda H: int(np.sum(H == 0)), "single zeros are counted, not units", "a unit is a whole column of H"),
        Misconception("entries that are not zero", lambda H: int(np.count_nonzero(H)), "the entries that are not zero are counted", "np.count_nonzero counts what is not zero; a unit is a whole column of H"),
        Misconception("live units", lambda H: int(np.sum(np.any(H != 0, axis=0))), "the units that do fire are counted", "the others are asked for"),
        Misconception("never zero", lambda H: int(np.sum(np.all(H != 0, axis=0))), "units that are never zero are counted", "dead means zero on every token"),
        Misconception("sum is zero", lambda H: int(np.sum(np.sum(H, axis=0) == 0)), "a unit counts as dead when its sum is zero, though its values may cancel", "H may hold either sign: 2 and -2 add up to 0"),
        Misconception("sum not positive", lambda H: int(np.sum(np.sum(H, axis=0) <= 0)), "a unit counts as dead when its sum is not positive", "H may hold either sign: compare every entry with zero"),
        Misconception("never positive", lambda H: int(np.sum(np.max(H, axis=0) <= 0)), "a unit counts as dead when it is never positive", "a negative activation is not zero"),
        Misconception("largest is zero", lambda H: int(np.sum(np.max(H, axis=0) == 0)), "a unit counts as dead when its largest value is zero", "a unit may be zero once and negative otherwise"),
        Misconception("smallest is zero", lambda H: int(np.sum(np.min(H, axis=0) == 0)), "a unit counts as dead when its smallest value is zero", "a unit may be zero once and positive otherwise"),
        Misconception("never negative", lambda H: int(np.sum(np.min(H, axis=0) >= 0)), "units that are never negative are counted", "dead means zero on every token"),
        Misconception("constant units", lambda H: int(np.sum(np.all(H[0] == H, axis=0))), "units that do not change from token to token are counted", "a unit that always gives 0.75 is not dead"),
        Misconception("product is zero", lambda H: int(np.sum(np.prod(H, axis=0) == 0)), "a unit counts as dead when the product of its values is zero, for which one zero suffices", "dead means zero on every token"),
        Misconception("first unit only", lambda H: int(np.all(H[:, 0] == 0)), "only the first unit is looked at", "is there a return inside the loop?"),
        Misconception("as many units as tokens", lambda H: sum(bool(np.all(H[:, unit] == 0)) for unit in range(len(H))), "as many units are looked at as there are tokens", "len(H) is the number of tokens; H.shape[1] is the number of units"),
        Misconception("zeros up to the first value", lambda H: int(np.sum(np.cumprod(H == 0, axis=0))), "the zeros of each unit up to its first value are counted, token by token", "count a unit once, after all its tokens"),
        Misconception("whole numbers", lambda H: int(np.sum(np.all(H.astype(int) == 0, axis=0))), "values between -1 and 1 count as zero, as after astype(int)", "dead means exactly zero on every token"),
        Misconception("first token only", lambda H: int(np.sum(H[0] == 0)), "only the first token is looked at", "dead means zero on every token"),
        Misconception("last token only", lambda H: int(np.sum(H[-1] == 0)), "only the last token is looked at", "dead means zero on every token"),
        Misconception("first token left out", lambda H: int(np.sum(np.all(H[1:] == 0, axis=0))), "the first token is left out", "dead means zero on every token, the first one too"),
        Misconception("last token left out", lambda H: int(np.sum(np.all(H[:-1] == 0, axis=0))), "the last token is left out", "dead means zero on every token, the last one too"),
        Misconception("first unit left out", lambda H: int(np.sum(np.all(H[:, 1:] == 0, axis=0))), "the first unit is left out", "does your loop begin at 1?"),
        Misconception("half of the time", lambda H: int(np.sum(np.mean(H == 0, axis=0) >= 0.5)), "units that are zero on at least half of the tokens are counted", "dead means zero on every token"),
        Misconception("more than half of the time", lambda H: int(np.sum(np.mean(H == 0, axis=0) > 0.5)), "units that are zero on more than half of the tokens are counted", "dead means zero on every token"),
        Misconception("median is zero", lambda H: int(np.sum(np.median(H, axis=0) == 0)), "units whose median is zero are counted", "dead means zero on every token"),
        Misconception("share of the units", lambda H: float(np.mean(np.all(H == 0, axis=0))), "the share of dead units is returned", "their number is asked for: sum, not mean"),
        Misconception("per cent of the units", lambda H: 100 * float(np.mean(np.all(H == 0, axis=0))), "the share of dead units is returned in per cent", "their number is asked for: sum, not mean"),
        Misconception("zeros a token", lambda H: float(np.sum(H == 0) / len(H)), "the zeros are divided by the number of tokens: that is how many units are silent on the average", "dead means zero on every token"),
        Misconception("zeros a token, rounded down", lambda H: int(np.sum(H == 0) // len(H)), "the zeros are divided by the number of tokens and rounded down", "dead means zero on every token"),
        Misconception("ever positive", lambda H: int(np.sum(np.any(H > 0, axis=0))), "units that are positive on at least one token are counted", "those that are zero on every token are asked for"),
        Misconception("dead units and silent tokens", lambda H: int(np.sum(np.all(H == 0, axis=0))) + int(np.sum(np.all(H == 0, axis=1))), "silent tokens are added to the dead units", "only units are asked for"),
        Misconception("entries of dead units", lambda H: int(np.sum(np.all(H == 0, axis=0)) * len(H)), "every entry of a dead unit is counted", "a dead unit counts once, however many tokens there are"),
        Misconception("number of units", lambda H: int(H.shape[1]), "all units are counted", "only those that never fire are asked for"),
        Misconception("number of tokens", lambda H: len(H), "the tokens are counted", "only the units that never fire are asked for"),
        Misconception("not positive at all", lambda H: int(np.sum(H <= 0)), "the entries that are not positive are counted", "a unit is a whole column of H, and a negative activation is not zero"),
        Misconception("always zero at once", lambda H: int(np.all(H == 0)), "one question is asked of the whole array", "all(..., axis=0) asks it of every unit"),
        Misconception("not twice", lambda H: int(np.sum(np.count_nonzero(H, axis=0) <= 1)), "units that fire at most once are counted", "dead means that they never fire"),
        Misconception("exactly once", lambda H: int(np.sum(np.count_nonzero(H, axis=0) == 1)), "units that fire exactly once are counted", "dead means that they never fire"),
        Misconception("zero exactly once", lambda H: int(np.sum(np.sum(H == 0, axis=0) == 1)), "units that are zero on exactly one token are counted", "dead means zero on every token"),
        Misconception("one too many", lambda H: int(np.sum(np.all(H == 0, axis=0))) + 1, "one unit is counted too many", "look for a counter that begins at 1"),
        Misconception("one too few", lambda H: int(np.sum(np.all(H == 0, axis=0))) - 1, "one unit is counted too few", "look for a counter that begins at -1 or a range that ends early"),
        Misconception("nothing above zero on the average", lambda H: int(np.sum(np.abs(np.mean(H, axis=0)) < 1e-9)), "a unit counts as dead when its mean is zero or tiny", "H may hold either sign: 2 and -2 have the mean 0"),
        _close_to_zero(1e-8, "close to zero"),
        _close_to_zero(1e-3, "below a thousandth"),
        _close_to_zero(0.1, "below a tenth"),
    ),
    hints=(
        "Look at one column of H: a unit is dead when every token gives it exactly zero.",
        "Compare with zero first, then ask 'all of them?' along the tokens, then count.",
        "return int(np.sum(np.all(H == 0, axis=___)))",
    ),
    why="The comparison is made before anything is added up, so that values of opposite sign cannot cancel.",
)

EXERCISES = (GELU, GELU_TANH, SILU, DEAD_UNITS)
