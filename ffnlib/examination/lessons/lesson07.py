"""Lesson 07: how many parameters the FFN, attention and whole models have, and what share of them the FFN holds."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable

from ffnlib.examination.exercise import Count, Exercise, Grammar, Misconception, Number, call
from ffnlib.examination.slips import exact

LLAMA_7B = (32_000, 4096, 32, 11_008, 32, 32, True, False)


def taking(function: Callable, **changes: Callable) -> Callable:
    """Return `function` with some of its arguments replaced; each change takes all arguments by name.

    >>> double = taking(lambda d, d_ff: d * d_ff, d_ff=lambda d, **_: 4 * d)
    >>> double(3, 5)
    36
    """
    return functools.partial(_taking, function, changes)


def _taking(function, changes, *args):
    return function(*replaced(tuple(inspect.signature(function).parameters), changes, *args))


def replaced(names: tuple[str, ...], changes: dict[str, Callable], *args) -> tuple:
    """Return the arguments with some replaced; each change takes all arguments by name."""
    given = dict(zip(names, args))
    return tuple(changes[name](**given) if name in changes else value for name, value in given.items())


def inputs_of(function: Callable) -> Callable:
    """Return a maker of a grammar's input slips: the sentence, and by name what stands for an argument."""
    names = tuple(inspect.signature(function).parameters)

    def slip(sentence: str, **changes: Callable):
        return sentence, functools.partial(replaced, names, changes)

    return slip


def four_d(d, **_):
    """Return the width that many models have, and not all."""
    return 4 * d


def one(**_):
    """Return 1."""
    return 1


def without(*names: str) -> Callable:
    """Return the edit of a grammar's terms that leaves out all of `names`."""
    return functools.partial(_without, names)


def _without(names, terms, *args):
    return {name: 0 if name in names else value for name, value in terms.items()}


def plus(amount: Callable) -> Callable:
    """Return the edit of a grammar's terms that adds what `amount(*args)` says."""
    return functools.partial(_plus, amount)


def _plus(amount, terms, *args):
    return {**terms, f"more {len(terms)}": amount(*args)}


# ---------------------------------------------------------------- ffn_parameters


def ffn_parameters(d, d_ff, bias):
    """Return the number of parameters of one ungated FFN."""
    weights = d * d_ff + d_ff * d
    biases = d_ff + d
    return weights + biases if bias else weights


def ffn_parameters_probes(rng):
    """Draw wide, narrow, square and real layers, with biases and without."""
    d, d_ff, narrow, square = (int(n) for n in rng.integers((7, 60, 40, 11), (19, 120, 60, 30)))
    return (
        call(d, d_ff, True),
        call(d, d_ff + 1, False),
        call(narrow, narrow // 3, True),
        call(square, square, True),
        call(512, 2048, True),
        call(4096, 11_008, False),
        call(1, 5, True),
        call(2003, 9001, True),
    )


def ffn_terms(d, d_ff, bias):
    """Return the sizes of W1, b1, W2 and b2."""
    return {"W1": d * d_ff, "b1": d_ff * bias, "W2": d_ff * d, "b2": d * bias}


FFN_INPUT = inputs_of(ffn_parameters)
FFN_PARAMETERS = Exercise(
    id="ffn_parameters",
    probes=ffn_parameters_probes,
    oracle=ffn_parameters,
    returns=Count(),
    misconceptions=(
        Misconception("biases never counted", lambda d, d_ff, bias: 2 * d * d_ff, "the biases are left out, whether or not the layer has them", "what should change when bias is True?"),
        Misconception("biases always counted", lambda d, d_ff, bias: 2 * d * d_ff + d_ff + d, "the biases are counted, whether or not the layer has them", "what should change when bias is False?"),
        Misconception("flag turned round", lambda d, d_ff, bias: 2 * d * d_ff + (not bias) * (d_ff + d), "the biases are counted exactly when the layer has none", "look at the condition: which branch belongs to bias=True?"),
        Misconception("d_ff taken as 4d", taking(ffn_parameters, d_ff=four_d), "4d stands for d_ff", "use the d_ff that is given: not every model has four times d"),
        Misconception("8 d^2", lambda d, d_ff, bias: 8 * d * d, "8 d^2 is returned: 4d stands for d_ff, and the biases are left out", "use the d_ff that is given, and the biases"),
        Misconception("12 d^2", lambda d, d_ff, bias: 12 * d * d, "12 d^2 is returned, which is a whole block with d_ff = 4d", "only the FFN is asked for, with the d_ff that is given"),
        Misconception("one matrix", lambda d, d_ff, bias: d * d_ff + bias * (d_ff + d), "one of the two matrices is left out", "the layer expands with W1 and contracts with W2"),
        Misconception("one matrix, no biases", lambda d, d_ff, bias: d * d_ff, "one of the two matrices is left out, and so are the biases", "the layer has W1, b1, W2 and b2"),
        Misconception("first layer only", lambda d, d_ff, bias: d * d_ff + bias * d_ff, "only W1 and b1 are counted", "the layer has W1, b1, W2 and b2"),
        Misconception("second layer only", lambda d, d_ff, bias: d * d_ff + bias * d, "only W2 and b2 are counted", "the layer has W1, b1, W2 and b2"),
        Misconception("first layer twice", lambda d, d_ff, bias: 2 * (d * d_ff + bias * d_ff), "both biases are given d_ff numbers", "a bias has one number for every output of its matrix: W2 has d"),
        Misconception("second layer twice", lambda d, d_ff, bias: 2 * (d * d_ff + bias * d), "both biases are given d numbers", "a bias has one number for every output of its matrix: W1 has d_ff"),
        Misconception("three matrices", lambda d, d_ff, bias: 3 * d * d_ff + bias * (d_ff + d), "three matrices are counted, as in a gated FFN", "the ungated FFN has W1 and W2"),
        Misconception("three matrices, no biases", lambda d, d_ff, bias: 3 * d * d_ff, "three matrices are counted, as in a gated FFN, and the biases are left out", "the ungated FFN has W1 and W2, and biases when bias is True"),
        Misconception("three matrices with three biases", lambda d, d_ff, bias: 3 * d * d_ff + bias * (2 * d_ff + d), "three matrices and three biases are counted, as in a gated FFN", "the ungated FFN has W1 and W2"),
        Misconception("b2 left out", lambda d, d_ff, bias: 2 * d * d_ff + bias * d_ff, "b2 is left out", "b2 has d numbers"),
        Misconception("b1 left out", lambda d, d_ff, bias: 2 * d * d_ff + bias * d, "b1 is left out", "b1 has d_ff numbers"),
        Misconception("one number a bias", lambda d, d_ff, bias: 2 * d * d_ff + 2 * bias, "each bias is counted as a single number", "b1 has one number for every hidden unit, b2 one for every output"),
        Misconception("the flag added", lambda d, d_ff, bias: 2 * d * d_ff + bias, "the flag itself is added as 1", "with biases the layer gains d_ff + d numbers"),
        Misconception("choice without brackets", lambda d, d_ff, bias: 2 * d * d_ff + d_ff + d if bias else 0, "the brackets around `d_ff + d if bias else 0` are missing, so that without biases the whole is 0", "put brackets around the choice"),
        Misconception("the flag multiplies", lambda d, d_ff, bias: 2 * d * d_ff * (1 + bias), "the flag multiplies the matrices instead of adding d_ff + d", "b1 has d_ff numbers, b2 has d"),
        Misconception("b1 always", lambda d, d_ff, bias: 2 * d * d_ff + d_ff + bias * d, "b1 is counted whether or not the layer has biases, b2 only with them", "without biases there is neither b1 nor b2"),
        Misconception("b2 always", lambda d, d_ff, bias: 2 * d * d_ff + bias * d_ff + d, "b2 is counted whether or not the layer has biases, b1 only with them", "without biases there is neither b1 nor b2"),
        Misconception("biases only", lambda d, d_ff, bias: bias * (d_ff + d), "the matrices are left out", "a matrix from d to d_ff has d times d_ff entries"),
        Misconception("biases as a matrix", lambda d, d_ff, bias: 2 * d * d_ff + bias * d * d_ff, "the biases are counted as a matrix", "a bias is a vector: b1 has d_ff numbers, b2 has d"),
        Misconception("sides added", lambda d, d_ff, bias: 2 * (d + d_ff) + bias * (d_ff + d), "the sides of each matrix are added instead of multiplied", "a matrix with d rows and d_ff columns has d times d_ff entries"),
        Misconception("hidden square", lambda d, d_ff, bias: 2 * d_ff * d_ff + bias * (d_ff + d), "the matrices are counted as d_ff times d_ff", "W1 leads from d to d_ff"),
        Misconception("model square", lambda d, d_ff, bias: 2 * d * d + bias * (d_ff + d), "the matrices are counted as d times d", "W1 leads from d to d_ff"),
        Misconception("a hidden layer between", lambda d, d_ff, bias: 2 * d * d_ff + d_ff * d_ff + bias * (2 * d_ff + d), "a third layer from d_ff to d_ff is counted", "the hidden values go straight to W2"),
        Misconception("attention included", lambda d, d_ff, bias: 2 * d * d_ff + bias * (d_ff + d) + 4 * d * d, "the 4 d^2 of attention are added", "only the FFN is asked for"),
        Misconception("norm included", lambda d, d_ff, bias: 2 * d * d_ff + bias * (d_ff + d) + 2 * d, "the 2d parameters of a LayerNorm are added", "only the FFN is asked for"),
        Misconception("activation counted", lambda d, d_ff, bias: 2 * d * d_ff + bias * (d_ff + d) + d_ff, "the activation is given d_ff parameters", "ReLU has no parameters"),
        Misconception("bytes", lambda d, d_ff, bias: 4 * (2 * d * d_ff + bias * (d_ff + d)), "every parameter is counted as four bytes", "the number of parameters is asked for, not the memory"),
        Misconception("operations", lambda d, d_ff, bias: 4 * d * d_ff, "the operations of one position are counted", "the number of parameters is asked for"),
        Misconception("always the original layer", lambda d, d_ff, bias: 2_099_712, "the number of the original layer, 2,099,712, comes back for every size", "use d, d_ff and bias"),
    ),
    hints=(
        "Look at the four arrays of the layer and write the shape of each: W1, b1, W2, b2.",
        "A matrix has the product of its sides as entries; a bias has one number for every output of its matrix.",
        "return 2 * d * d_ff + (___ if bias else 0)",
    ),
    why="W1 and W2 hold d d_ff numbers each, b1 has d_ff and b2 has d: the biases add less than one percent at d = 512.",
    grammar=Grammar(
        terms=ffn_terms,
        nouns={"b2": "b2"},
        inputs=(
            FFN_INPUT("the biases are left out, whether or not the layer has them", bias=lambda **_: False),
            FFN_INPUT("the biases are counted, whether or not the layer has them", bias=lambda **_: True),
            FFN_INPUT("the biases are counted exactly when the layer has none", bias=lambda bias, **_: not bias),
            FFN_INPUT("4d stands for d_ff", d_ff=four_d),
            FFN_INPUT("two thirds of d_ff stand for d_ff", d_ff=lambda d_ff, **_: exact(2 * d_ff, 3)),
        ),
        edits=(
            ("each bias is counted as a single number", lambda terms, d, d_ff, bias: {**terms, "b1": bias, "b2": bias}),
            ("a third matrix is counted, as in a gated FFN", lambda terms, d, d_ff, bias: {**terms, "gate": d * d_ff}),
            ("a third bias is counted, as in a gated FFN", lambda terms, d, d_ff, bias: {**terms, "gate bias": d_ff * bias}),
            ("both biases are given d numbers", lambda terms, d, d_ff, bias: {**terms, "b1": d * bias}),
            ("both biases are given d_ff numbers", lambda terms, d, d_ff, bias: {**terms, "b2": d_ff * bias}),
            ("one of the two matrices is left out", without("W1")),
            ("the matrices are counted twice, as operations are", lambda terms, d, d_ff, bias: {**terms, "W1": 2 * d * d_ff, "W2": 2 * d * d_ff}),
            ("the biases are counted twice", lambda terms, *args: {**terms, "b1": 2 * terms["b1"], "b2": 2 * terms["b2"]}),
            ("the biases are subtracted", lambda terms, *args: {**terms, "b1": -terms["b1"], "b2": -terms["b2"]}),
            ("the matrices are counted as d_ff times d_ff and d times d", lambda terms, d, d_ff, bias: {**terms, "W1": d_ff * d_ff, "W2": d * d}),
            ("the 4d of two LayerNorms are added", plus(lambda d, d_ff, bias: 4 * d)),
            ("the biases are multiplied with each other", lambda terms, d, d_ff, bias: {**terms, "b1": d * d_ff * bias, "b2": 0}),
            ("b1 is left out", without("b1")),
            ("the sides of each matrix are added instead of multiplied", lambda terms, d, d_ff, bias: {**terms, "W1": d + d_ff, "W2": d + d_ff}),
            ("the 4 d^2 of attention are added", lambda terms, d, d_ff, bias: {**terms, "attention": 4 * d * d}),
            ("a LayerNorm's 2d are added", lambda terms, d, d_ff, bias: {**terms, "norm": 2 * d}),
            ("d more are added, as for an RMSNorm", lambda terms, d, d_ff, bias: {**terms, "norm": d}),
        ),
        factors=(
            ("everything is doubled, as for two operations or two bytes a parameter", lambda total, *args: 2 * total),
            ("everything is multiplied by 4, as for four bytes a parameter", lambda total, *args: 4 * total),
        ),
    ),
)


# ---------------------------------------------------------------- attention_parameters


def attention_parameters(d, n_heads, n_kv_heads):
    """Return the number of parameters of bias-free attention."""
    head = d // n_heads
    queries_and_output = 2 * d * d
    keys_and_values = 2 * d * n_kv_heads * head
    return queries_and_output + keys_and_values


def attention_parameters_probes(rng):
    """Draw attention with as many key heads as heads, with fewer, and with one; one head only; real sizes."""
    head, small, large, other = (int(n) for n in rng.choice((5, 7, 9, 11, 13, 17), size=4, replace=False))
    return (
        call(12 * head, 12, 4),
        call(8 * small, 8, 2),
        call(6 * large, 6, 6),
        call(10 * other, 10, 1),
        call(4096, 32, 8),
        call(768, 12, 12),
        call(head, 1, 1),
        call(15 * small, 15, 5),
        call(4099, 1, 1),
    )


def attention_terms(d, n_heads, n_kv_heads):
    """Return the sizes of the four projections."""
    keys = d * n_kv_heads * (d // n_heads)
    return {"q": d * d, "k": keys, "v": keys, "o": d * d}


def _kv(d, n_heads, n_kv_heads):
    return d * n_kv_heads * (d // n_heads)


ATTENTION_INPUT = inputs_of(attention_parameters)
ATTENTION_PARAMETERS = Exercise(
    id="attention_parameters",
    probes=attention_parameters_probes,
    oracle=attention_parameters,
    returns=Count(),
    misconceptions=(
        Misconception("4 d^2", lambda d, n_heads, n_kv_heads: 4 * d * d, "n_kv_heads is ignored: keys and values are given as many heads as the queries", "how wide are the keys when only n_kv_heads heads have them?"),
        Misconception("quotient rounded down", lambda d, n_heads, n_kv_heads: 2 * d * d + 2 * d * d * (n_kv_heads // n_heads), "n_kv_heads // n_heads is rounded down, to 0 for every shared head", "multiply first: 2 * d * d * n_kv_heads // n_heads"),
        Misconception("always one", lambda d, n_heads, n_kv_heads: 2 * d * d + 2 * d * (d // n_heads), "keys and values are given one head, whatever n_kv_heads says", "keys have n_kv_heads heads of d / n_heads numbers"),
        Misconception("output left out", lambda d, n_heads, n_kv_heads: d * d + 2 * _kv(d, n_heads, n_kv_heads), "one of the two square matrices is left out: the queries' or the output's", "attention has four projections: queries, keys, values, output"),
        Misconception("3 d^2", lambda d, n_heads, n_kv_heads: 3 * d * d, "n_kv_heads is ignored, and the output projection is left out", "attention has four projections: queries, keys, values, output"),
        Misconception("queries and output left out", lambda d, n_heads, n_kv_heads: 2 * _kv(d, n_heads, n_kv_heads), "only keys and values are counted", "attention has four projections: queries, keys, values, output"),
        Misconception("keys and values left out", lambda d, n_heads, n_kv_heads: 2 * d * d, "only queries and output are counted", "attention has four projections: queries, keys, values, output"),
        Misconception("keys and values once", lambda d, n_heads, n_kv_heads: 2 * d * d + _kv(d, n_heads, n_kv_heads), "keys and values share one matrix", "keys and values have a matrix each"),
        Misconception("all four with few heads", lambda d, n_heads, n_kv_heads: 4 * _kv(d, n_heads, n_kv_heads), "all four projections are given n_kv_heads heads", "queries and output keep n_heads heads"),
        Misconception("output with few heads", lambda d, n_heads, n_kv_heads: d * d + 3 * _kv(d, n_heads, n_kv_heads), "the output projection is counted with n_kv_heads heads", "every query head has an output: it starts from n_heads heads"),
        Misconception("keys only with few heads", lambda d, n_heads, n_kv_heads: 3 * d * d + _kv(d, n_heads, n_kv_heads), "only one of keys and values is given n_kv_heads heads", "keys and values both have n_kv_heads heads"),
        Misconception("ratio turned round", lambda d, n_heads, n_kv_heads: 2 * d * d + 2 * d * n_heads * (d // n_kv_heads), "n_heads and n_kv_heads have changed places in the keys and values", "fewer key heads mean fewer parameters, not more"),
        Misconception("group size", lambda d, n_heads, n_kv_heads: 2 * d * d + 2 * d * (n_heads // n_kv_heads) * (d // n_heads), "the keys are given n_heads / n_kv_heads heads, which is how many queries share one", "keys have n_kv_heads heads"),
        Misconception("square of the heads", lambda d, n_heads, n_kv_heads: 2 * d * d + 2 * (n_kv_heads * (d // n_heads)) ** 2, "the key and value matrices are taken as square", "they lead from d to n_kv_heads times the head size"),
        Misconception("single head", lambda d, n_heads, n_kv_heads: 4 * d * (d // n_heads), "one head is counted instead of all", "multiply by the number of heads: queries and output have n_heads, keys and values n_kv_heads"),
        Misconception("whole d in each head", lambda d, n_heads, n_kv_heads: 2 * d * d * n_heads + 2 * d * d * n_kv_heads, "every head is given d numbers instead of d / n_heads", "the heads share d: each has d / n_heads"),
        Misconception("whole d in each head, n_kv_heads ignored", lambda d, n_heads, n_kv_heads: 4 * d * d * n_heads, "every head is given four d times d matrices", "the heads share d: each has d / n_heads"),
        Misconception("whole d in key heads", lambda d, n_heads, n_kv_heads: 2 * d * d + 2 * d * d * n_kv_heads, "every key and value head is given d numbers instead of d / n_heads", "the head size is d / n_heads"),
        Misconception("head size 64", lambda d, n_heads, n_kv_heads: 2 * d * n_heads * 64 + 2 * d * n_kv_heads * 64, "the head size is taken as 64", "here a head has d / n_heads numbers"),
        Misconception("head size 128", lambda d, n_heads, n_kv_heads: 2 * d * n_heads * 128 + 2 * d * n_kv_heads * 128, "the head size is taken as 128", "here a head has d / n_heads numbers"),
        Misconception("key heads of 64", lambda d, n_heads, n_kv_heads: 2 * d * d + 2 * d * n_kv_heads * 64, "the heads of keys and values are given 64 numbers", "here a head has d / n_heads numbers"),
        Misconception("key heads of 128", lambda d, n_heads, n_kv_heads: 2 * d * d + 2 * d * n_kv_heads * 128, "the heads of keys and values are given 128 numbers", "here a head has d / n_heads numbers"),
        Misconception("head inputs", lambda d, n_heads, n_kv_heads: 2 * (n_heads + n_kv_heads) * (d // n_heads) ** 2, "every head reads only its own d / n_heads numbers of the input", "every head reads all d numbers of the input"),
        Misconception("biases added", lambda d, n_heads, n_kv_heads: 2 * d * d + 2 * _kv(d, n_heads, n_kv_heads) + 2 * d + 2 * n_kv_heads * (d // n_heads), "a bias is counted for each projection", "this attention has no biases"),
        Misconception("4 d^2 + 4 d", lambda d, n_heads, n_kv_heads: 4 * d * d + 4 * d, "n_kv_heads is ignored, and a bias is counted for each projection", "this attention has no biases, and keys have n_kv_heads heads"),
        Misconception("biases of d added", lambda d, n_heads, n_kv_heads: 2 * d * d + 2 * _kv(d, n_heads, n_kv_heads) + 4 * d, "a bias of d numbers is counted for each projection", "this attention has no biases"),
        Misconception("12 d^2", lambda d, n_heads, n_kv_heads: 12 * d * d, "12 d^2 is returned, which is a whole block with d_ff = 4d", "only attention is asked for"),
        Misconception("d^2", lambda d, n_heads, n_kv_heads: d * d, "one matrix is counted", "attention has four projections: queries, keys, values, output"),
        Misconception("extra projection", lambda d, n_heads, n_kv_heads: 3 * d * d + 2 * _kv(d, n_heads, n_kv_heads), "a third d times d matrix is counted", "attention has four projections: queries, keys, values, output"),
        Misconception("scores counted", lambda d, n_heads, n_kv_heads: 2 * d * d + 2 * _kv(d, n_heads, n_kv_heads) + n_heads, "a parameter is added for each head", "the scale of the scores is fixed, not learned"),
        Misconception("bytes", lambda d, n_heads, n_kv_heads: 4 * (2 * d * d + 2 * _kv(d, n_heads, n_kv_heads)), "every parameter is counted as four bytes", "the number of parameters is asked for, not the memory"),
    ),
    hints=(
        "Look at the four projections: queries, keys, values, output. Which of them depend on n_kv_heads?",
        "Queries and output lead from d to n_heads heads and back; keys and values lead from d to n_kv_heads heads of d // n_heads.",
        "return 2 * d * d + 2 * d * ___ * (d // n_heads)",
    ),
    why="Only the keys and values shrink with n_kv_heads; with n_kv_heads = n_heads all four are d times d, which gives 4 d^2.",
    grammar=Grammar(
        terms=attention_terms,
        nouns={"q": "one of the two square matrices", "k": "one of the key and value matrices"},
        inputs=(
            ATTENTION_INPUT("n_kv_heads is ignored", n_kv_heads=lambda n_heads, **_: n_heads),
            ATTENTION_INPUT("keys and values are given one head", n_kv_heads=one),
            ATTENTION_INPUT("keys and values are given n_heads / n_kv_heads heads", n_kv_heads=lambda n_heads, n_kv_heads, **_: n_heads // n_kv_heads),
        ),
        edits=(
            ("keys and values are left out", lambda terms, *args: {**terms, "k": 0, "v": 0}),
            ("queries and output are left out", lambda terms, *args: {**terms, "q": 0, "o": 0}),
            ("the output projection is counted with n_kv_heads heads", lambda terms, *args: {**terms, "o": terms["k"]}),
            ("only one of keys and values is given n_kv_heads heads", lambda terms, d, n_heads, n_kv_heads: {**terms, "k": d * d}),
            ("a bias is counted for each projection", lambda terms, d, n_heads, n_kv_heads: {**terms, "biases": 2 * d + exact(2 * n_kv_heads * d, n_heads)}),
            ("biases are counted for queries, keys and values", lambda terms, d, n_heads, n_kv_heads: {**terms, "biases": d + exact(2 * n_kv_heads * d, n_heads)}),
            ("4d are added for biases", lambda terms, d, n_heads, n_kv_heads: {**terms, "biases": 4 * d}),
            ("a LayerNorm's 2d are added", lambda terms, d, n_heads, n_kv_heads: {**terms, "norm": 2 * d}),
            ("an FFN's 8 d^2 are added", lambda terms, d, n_heads, n_kv_heads: {**terms, "ffn": 8 * d * d}),
        ),
        factors=(
            ("everything is tripled", lambda total, *args: 3 * total),
            ("one head is counted instead of all", lambda total, d, n_heads, n_kv_heads: exact(total, n_heads)),
            ("every head is given d numbers instead of d / n_heads", lambda total, d, n_heads, n_kv_heads: total * n_heads),
            ("everything is doubled, as for two operations or two bytes a parameter", lambda total, *args: 2 * total),
            ("everything is multiplied by 4, as for four bytes a parameter", lambda total, *args: 4 * total),
        ),
    ),
)


# ---------------------------------------------------------------- decoder_parameters


def decoder_parameters(vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied):
    """Return the number of parameters of a bias-free decoder with rotary positions and RMSNorm."""
    embeddings = vocab * d if tied else 2 * vocab * d
    attention = 2 * d * d + 2 * d * n_kv_heads * (d // n_heads)
    ffn = (3 if gated else 2) * d * d_ff
    norms = (2 * n_layers + 1) * d
    return embeddings + n_layers * (attention + ffn) + norms


def decoder_probes(rng):
    """Draw decoders, gated or not, tied or not, with all key heads, fewer or one, with one layer; and LLaMA-7B."""
    layers = [int(n) for n in rng.permutation((3, 5, 6, 7, 9))]
    heads = [int(n) for n in rng.permutation((5, 7, 9, 11, 13))]
    widths = [int(n) for n in rng.integers(41, 400, size=6)]
    words = [int(n) for n in rng.integers(301, 3000, size=6)]
    return (
        call(words[0], 12 * heads[0], layers[0], widths[0], 12, 4, True, False),
        call(words[1], 8 * heads[1], layers[1], widths[1], 8, 2, True, True),
        call(words[2], 6 * heads[2], layers[2], widths[2], 6, 6, False, False),
        call(words[3], 10 * heads[3], layers[3], widths[3], 10, 1, False, True),
        call(*LLAMA_7B),
        call(words[4], 15 * heads[4], 1, widths[4], 15, 5, False, False),
        call(2930, 128, 4, 512, 4, 4, True, True),
        call(words[5], 9 * heads[0], layers[3], widths[5], 9, 3, False, True),
    )


def decoder_terms(vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied):
    """Return the parts of a decoder."""
    return {
        "input": vocab * d,
        "output": 0 if tied else vocab * d,
        "queries and output": 2 * n_layers * d * d,
        "keys and values": 2 * n_layers * d * n_kv_heads * (d // n_heads),
        "ffn": (3 if gated else 2) * n_layers * d * d_ff,
        "layer norms": 2 * n_layers * d,
        "final norm": d,
    }


def _decoder_without(*names):
    return functools.partial(_sum_without, names)


def _sum_without(names, *args):
    return sum(value for name, value in decoder_terms(*args).items() if name not in names)


def _decoder_plus(amount):
    return functools.partial(_sum_plus, amount)


def _sum_plus(amount, *args):
    return decoder_parameters(*args) + amount(*args)


TABLES, NORMS, ATTENTION = ("input", "output"), ("layer norms", "final norm"), ("queries and output", "keys and values")
GATED_AS_TWO = {"gated": lambda **_: False}
ONE_LAYER = {"n_layers": one}
KV_IGNORED = {"n_kv_heads": lambda n_heads, **_: n_heads}
TIED = {"tied": lambda **_: True}
UNTIED = {"tied": lambda **_: False}


def _two_slips(names, changes, *args):
    return _sum_without(names, *replaced(tuple(inspect.signature(decoder_parameters).parameters), changes, *args))


DECODER_INPUT = inputs_of(decoder_parameters)
DECODER_PARAMETERS = Exercise(
    id="decoder_parameters",
    probes=decoder_probes,
    oracle=decoder_parameters,
    returns=Count(),
    misconceptions=(
        Misconception("tied", taking(decoder_parameters, **TIED), "the embeddings are tied, whatever `tied` says", "when tied is False, the output has a matrix of its own"),
        Misconception("untied", taking(decoder_parameters, **UNTIED), "the embeddings are untied, whatever `tied` says", "when tied is True, input and output share one matrix"),
        Misconception("tied turned round", taking(decoder_parameters, tied=lambda tied, **_: not tied), "tied models get two embedding matrices and untied ones get one", "tied means shared: one matrix"),
        Misconception("norms left out", _decoder_without(*NORMS), "the norms are left out", "each layer has two norms of d, and one follows the last layer"),
        Misconception("final norm left out", _decoder_without("final norm"), "the norm after the last layer is left out", "2 n_layers + 1 norms"),
        Misconception("one norm a layer", lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: decoder_parameters(vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied) - n_layers * d, "each layer is given one norm instead of two", "one norm stands before attention and one before the FFN"),
        Misconception("LayerNorm", lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: decoder_parameters(vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied) + (2 * n_layers + 1) * d, "each norm is given 2d parameters, as a LayerNorm has", "an RMSNorm has d: a scale and no shift"),
        Misconception("12 d^2, blocks only", lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: 12 * d * d * n_layers, "only the blocks are counted, with 12 d^2 each", "add embeddings and norms, and use d_ff, n_kv_heads and gated as given"),
        Misconception("12 d^2 and one embedding", lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: 12 * d * d * n_layers + vocab * d, "the blocks are counted with 12 d^2 each, and one embedding is added", "use d_ff, n_kv_heads, gated and tied as given, and add the norms"),
        Misconception("12 d^2 and embeddings", lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: 12 * d * d * n_layers + (1 if tied else 2) * vocab * d, "the blocks are counted with 12 d^2 each, the embeddings are added, and the norms are left out", "use d_ff, n_kv_heads and gated as given, and add the norms"),
        Misconception("12 d^2 and two embeddings", lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: 12 * d * d * n_layers + 2 * vocab * d, "the blocks are counted with 12 d^2 each, and two embeddings are added", "use d_ff, n_kv_heads, gated and tied as given, and add the norms"),
        Misconception("12 d^2, the rest right", lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: decoder_parameters(vocab, d, n_layers, 4 * d, n_heads, n_heads, False, tied), "the blocks are counted with 12 d^2 each", "use d_ff, n_kv_heads and gated as given"),
        Misconception("two FFN matrices, blocks only", functools.partial(_two_slips, TABLES + NORMS, GATED_AS_TWO), "a gated FFN is counted with two matrices, and embeddings and norms are left out", "a gated FFN has three matrices"),
        Misconception("two FFN matrices", taking(decoder_parameters, **GATED_AS_TWO), "a gated FFN is counted with two matrices", "gate, up and down: three matrices"),
        Misconception("always gated", taking(decoder_parameters, gated=lambda **_: True), "three FFN matrices are counted, whatever `gated` says", "an ungated FFN has two matrices"),
        Misconception("gated turned round", taking(decoder_parameters, gated=lambda gated, **_: not gated), "a gated FFN is counted with two matrices and an ungated one with three", "gate, up and down: the gated FFN has three"),
        Misconception("d_ff taken as 4d", taking(decoder_parameters, d_ff=four_d), "4d stands for d_ff", "use the d_ff that is given"),
        Misconception("d_ff taken as 4d, norms left out", functools.partial(_two_slips, NORMS, {"d_ff": four_d}), "4d stands for d_ff, and the norms are left out", "use the d_ff that is given, and add the norms"),
        Misconception("n_kv_heads ignored", taking(decoder_parameters, **KV_IGNORED), "n_kv_heads is ignored: attention is counted as 4 d^2", "keys and values have n_kv_heads heads of d / n_heads"),
        Misconception("attention left out", _decoder_without(*ATTENTION), "attention is left out", "each layer has attention and an FFN"),
        Misconception("FFN left out", _decoder_without("ffn"), "the FFNs are left out", "each layer has attention and an FFN"),
        Misconception("blocks only", _decoder_without(*TABLES, *NORMS), "embeddings and norms are left out: only the blocks are counted", "add the embeddings and 2 n_layers + 1 norms"),
        Misconception("embeddings left out", _decoder_without(*TABLES), "the embeddings are left out", "the vocabulary has d numbers for each entry, once or twice"),
        Misconception("output only", _decoder_without("input"), "the input embedding is left out", "the input embedding is there whether or not the output shares it"),
        Misconception("one layer", taking(decoder_parameters, **ONE_LAYER), "one layer is counted instead of all", "multiply attention, FFN and norms by n_layers"),
        Misconception("FFN once", lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: decoder_parameters(vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied) - (n_layers - 1) * (3 if gated else 2) * d * d_ff, "the FFN is counted once instead of in every layer", "the bracket round attention and FFN: both are multiplied by n_layers"),
        Misconception("attention once", lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: decoder_parameters(vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied) - (n_layers - 1) * (2 * d * d + 2 * d * n_kv_heads * (d // n_heads)), "attention is counted once instead of in every layer", "the bracket round attention and FFN: both are multiplied by n_layers"),
        Misconception("norms of one layer", lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: decoder_parameters(vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied) - 2 * (n_layers - 1) * d, "the norms of one layer are counted instead of those of all", "2 n_layers + 1 norms"),
        Misconception("embeddings in every layer", lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: decoder_parameters(vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied) + (n_layers - 1) * (1 if tied else 2) * vocab * d, "the embeddings are counted once for every layer", "the embeddings stand outside the layers"),
        Misconception("positions added", _decoder_plus(lambda vocab, d, *_: 2048 * d), "a table of 2,048 learned positions is added", "rotary positions have no parameters"),
        Misconception("biases of the FFN added", _decoder_plus(lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: n_layers * ((2 if gated else 1) * d_ff + d)), "biases are counted in the FFN", "this decoder has no biases"),
        Misconception("biases of two matrices added", _decoder_plus(lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: n_layers * (d_ff + d)), "d_ff + d biases are counted in each FFN", "this decoder has no biases"),
        Misconception("biases of attention added", _decoder_plus(lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: n_layers * (2 * d + 2 * n_kv_heads * (d // n_heads))), "biases are counted in attention", "this decoder has no biases"),
        Misconception("output bias added", _decoder_plus(lambda vocab, *_: vocab), "a bias for every word of the vocabulary is added", "this decoder has no biases"),
        Misconception("cross-attention added", _decoder_plus(lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: n_layers * (2 * d * d + 2 * d * n_kv_heads * (d // n_heads))), "two attentions are counted in every layer", "a decoder without an encoder has no cross-attention"),
        Misconception("choice of the FFN without brackets", _decoder_plus(lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: n_layers * (3 - 3 * d * d_ff) if gated else 0), "the brackets around `3 if gated else 2` are missing, so that a gated FFN counts as 3", "put brackets around the choice before you multiply"),
        Misconception("choice of the embeddings without brackets", _decoder_plus(lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: 1 - vocab * d if tied else 0), "the brackets around `1 if tied else 2` are missing, so that tied embeddings count as 1", "put brackets around the choice before you multiply"),
        Misconception("choice of everything", lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: vocab * d if tied else decoder_parameters(vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied), "the brackets around the choice of the embeddings are missing, so that a tied model has nothing else", "put brackets around the choice before you add"),
        Misconception("no table when tied", _decoder_plus(lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: -vocab * d if tied else 0), "a tied model is given no embeddings at all", "tied means shared: one matrix"),
        Misconception("final norm in every layer", _decoder_plus(lambda vocab, d, n_layers, *_: (n_layers - 1) * d), "the final norm is counted in every layer", "two norms in each layer, and one at the end"),
        Misconception("gated width reduced", taking(decoder_parameters, d_ff=lambda d_ff, gated, **_: 2 * d_ff // 3 if gated else d_ff), "d_ff is reduced to 2/3 in a gated FFN", "use the d_ff that is given"),
        Misconception("group size", taking(decoder_parameters, n_kv_heads=lambda n_heads, n_kv_heads, **_: n_heads // n_kv_heads), "the keys are given n_heads / n_kv_heads heads, which is how many queries share one", "keys have n_kv_heads heads"),
        Misconception("biases everywhere", _decoder_plus(lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: n_layers * (d_ff + 5 * d)), "d_ff + d biases are counted in each FFN and 4 d in each attention", "this decoder has no biases"),
        Misconception("always LLaMA-7B", lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: 6_738_415_616, "the number of LLaMA-7B comes back for every model", "use the eight arguments"),
    ),
    hints=(
        "Look at the parts one after the other: embeddings, then attention, FFN and norms of each layer, then the last norm.",
        "Multiply what a layer holds by n_layers; ask tied for one or two embedding matrices, and gated for two or three in the FFN.",
        "return (1 if tied else 2) * vocab * d + n_layers * (attention + ffn) + (___) * d",
    ),
    why="For LLaMA-7B: 262,144,000 in two embedding matrices, 6,476,005,376 in 32 blocks, 266,240 in norms. Norms hardly matter; tying, d_ff, gating and key heads do.",
    grammar=Grammar(
        terms=decoder_terms,
        nouns={"final norm": "the final norm", "ffn": "the FFNs"},
        inputs=(
            DECODER_INPUT("the embeddings are tied", **TIED),
            DECODER_INPUT("the embeddings are untied", **UNTIED),
            DECODER_INPUT("a gated FFN is counted with two matrices", **GATED_AS_TWO),
            DECODER_INPUT("three FFN matrices are always counted", gated=lambda **_: True),
            DECODER_INPUT("a gated FFN is counted with two matrices and an ungated one with three", gated=lambda gated, **_: not gated),
            DECODER_INPUT("tied models get two embedding matrices and untied ones one", tied=lambda tied, **_: not tied),
            DECODER_INPUT("4d stands for d_ff", d_ff=four_d),
            DECODER_INPUT("8d/3 stands for d_ff", d_ff=lambda d, **_: 8 * d // 3),
            DECODER_INPUT("n_kv_heads is ignored", **KV_IGNORED),
            DECODER_INPUT("keys and values are given one head", n_kv_heads=one),
            DECODER_INPUT("one layer is counted instead of all", **ONE_LAYER),
        ),
        edits=(
            ("the norms are left out", without(*NORMS)),
            ("the norms in the blocks are left out", without("layer norms")),
            ("each layer is given one norm instead of two", lambda terms, *args: {**terms, "layer norms": terms["layer norms"] // 2}),
            ("each norm is given 2d parameters, as a LayerNorm has", lambda terms, *args: {**terms, "layer norms": 2 * terms["layer norms"], "final norm": 2 * terms["final norm"]}),
            ("the embeddings are left out", without(*TABLES)),
            ("the FFNs and attention are multiplied by n_layers twice", lambda terms, vocab, d, n_layers, *args: {name: value * (n_layers if name in ("ffn", *ATTENTION) else 1) for name, value in terms.items()}),
            ("the input embedding is left out", without("input")),
            ("attention is left out", without(*ATTENTION)),
            ("keys and values are left out", without("keys and values")),
            ("the output projection of attention is left out", lambda terms, *args: {**terms, "queries and output": terms["queries and output"] // 2}),
            ("biases are counted in attention", plus(lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: n_layers * (2 * d + exact(2 * n_kv_heads * d, n_heads)))),
            ("biases are counted in the FFN", plus(lambda vocab, d, n_layers, d_ff, n_heads, n_kv_heads, gated, tied: n_layers * ((2 if gated else 1) * d_ff + d))),
            ("a bias for every word is added", plus(lambda vocab, *_: vocab)),
            ("each norm is counted as a single number", lambda terms, vocab, d, *args: {**terms, "layer norms": terms["layer norms"] // d, "final norm": 1}),
            ("n_layers multiplies the embeddings as well", lambda terms, vocab, d, n_layers, *args: {**terms, "input": n_layers * terms["input"], "output": n_layers * terms["output"]}),
            ("n_layers multiplies embeddings and final norm as well", lambda terms, vocab, d, n_layers, *args: {**terms, "input": n_layers * terms["input"], "output": n_layers * terms["output"], "final norm": n_layers * d}),
            ("three embedding matrices are counted", lambda terms, vocab, d, *args: {**terms, "input": 2 * vocab * d, "output": vocab * d}),
        ),
        factors=(
            ("everything is doubled, as for two operations or two bytes a parameter", lambda total, *args: 2 * total),
            ("everything is multiplied by 4, as for four bytes a parameter", lambda total, *args: 4 * total),
        ),
    ),
)


# ---------------------------------------------------------------- encoder_decoder_parameters


def encoder_decoder_parameters(d, d_ff, n_layers):
    """Return the number of parameters of n_layers encoder and n_layers decoder blocks, without embeddings."""
    attention = 4 * d * d
    ffn = 2 * d * d_ff + d_ff + d
    norm = 2 * d
    encoder_block = attention + ffn + 2 * norm
    decoder_block = 2 * attention + ffn + 3 * norm
    return n_layers * (encoder_block + decoder_block)


def encoder_decoder_probes(rng):
    """Draw stacks of several depths and widths, one layer and narrow ones among them, and the original model."""
    d, other, narrow = (int(n) for n in rng.choice((7, 9, 11, 13, 17, 19), size=3, replace=False))
    d_ff, small = int(rng.integers(61, 120)), int(rng.integers(3, 6))
    return (
        call(d, d_ff, 3),
        call(other, d_ff + 5, 1),
        call(narrow, small, 7),
        call(512, 2048, 6),
        call(1024, 4096, 6),
        call(other + 1, other + 1, 5),
        call(1001, 4003, 3),
    )


def encoder_decoder_terms(d, d_ff, n_layers):
    """Return the parts of the two stacks."""
    return {
        "encoder attention": 4 * d * d * n_layers,
        "decoder attention": 4 * d * d * n_layers,
        "cross-attention": 4 * d * d * n_layers,
        "encoder weights": 2 * d * d_ff * n_layers,
        "decoder weights": 2 * d * d_ff * n_layers,
        "b1": 2 * d_ff * n_layers,
        "b2": 2 * d * n_layers,
        "encoder norms": 4 * d * n_layers,
        "decoder norms": 6 * d * n_layers,
    }


def _stacks(d, d_ff, n_layers, encoder=1, decoder=1, attentions=2, encoder_norms=2, decoder_norms=3, norm=2, bias=1, attention_bias=0, final=0):
    attention = 4 * d * d + 4 * d * attention_bias
    ffn = 2 * d * d_ff + bias * (d_ff + d)
    blocks = encoder * (attention + ffn + encoder_norms * norm * d) + decoder * (attentions * attention + ffn + decoder_norms * norm * d)
    return n_layers * blocks + final


def _half(terms, kind):
    """Return the terms with the FFNs of only one of the two stacks."""
    return {**terms, f"{kind} weights": 0, "b1": terms["b1"] // 2, "b2": terms["b2"] // 2}


def _one_stack(kind, terms, *args):
    kept = {name: value for name, value in terms.items() if kind in name or (kind == "decoder" and name == "cross-attention")}
    return {**dict.fromkeys(terms, 0), **kept, "b1": terms["b1"] // 2, "b2": terms["b2"] // 2}


STACK_INPUT = inputs_of(encoder_decoder_parameters)
ENCODER_DECODER_PARAMETERS = Exercise(
    id="encoder_decoder_parameters",
    probes=encoder_decoder_probes,
    oracle=encoder_decoder_parameters,
    returns=Count(),
    misconceptions=(
        Misconception("cross-attention left out", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, attentions=1), "the decoder's cross-attention is left out", "a decoder block has two attentions"),
        Misconception("cross-attention and its norm left out", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, attentions=1, decoder_norms=2), "a decoder block is counted like an encoder block: cross-attention and its norm are left out", "a decoder block has two attentions and three norms"),
        Misconception("2d missing", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, decoder_norms=2), "2d are missing in every layer: the decoder block's third norm, or b2 in both blocks", "a decoder block has three norms of 2d; b2 has d numbers in each FFN"),
        Misconception("cross-attention in the encoder", lambda d, d_ff, n_layers: n_layers * 2 * (8 * d * d + 2 * d * d_ff + d_ff + d + 6 * d), "an encoder block is counted like a decoder block", "an encoder block has one attention and two norms"),
        Misconception("norms left out", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, norm=0), "the norms are left out", "two norms in an encoder block, three in a decoder block, 2d each"),
        Misconception("norms of d", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, norm=1), "each norm is given d parameters, as an RMSNorm has", "a LayerNorm has a scale and a shift: 2d"),
        Misconception("one norm a block", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, encoder_norms=1, decoder_norms=1), "6d are missing in every layer: each block has one norm, or the decoder block has none", "one norm for each sublayer: two in an encoder block, three in a decoder block"),
        Misconception("4d missing", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, encoder_norms=1, decoder_norms=2), "4d are missing in every layer: one norm in each block, or the encoder block's norms", "one norm for each sublayer: two in an encoder block, three in a decoder block"),
        Misconception("three norms in the encoder", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, encoder_norms=3), "the encoder block is given three norms, like the decoder block", "one norm for each sublayer"),
        Misconception("biases left out", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, bias=0), "the biases of the FFN are left out", "here the FFN has b1 and b2"),
        Misconception("biases and norms left out", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, bias=0, norm=0), "the biases of the FFN and the norms are left out", "only attention has no biases here"),
        Misconception("biases of attention", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, attention_bias=1), "biases are counted in attention", "here attention has no biases"),
        Misconception("biases of attention, none in the FFN", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, attention_bias=1, bias=0), "attention is given biases and the FFN none", "here it is the other way round"),
        Misconception("as nn.Transformer", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, attention_bias=1, final=4 * d), "biases are counted in attention, and a norm is added after each stack, as PyTorch's nn.Transformer has", "here attention has no biases and no norm follows a stack"),
        Misconception("norm after each stack", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, final=4 * d), "a norm is added after each stack", "no norm at the end here"),
        Misconception("n_layers on the encoder only", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, decoder=0) + _stacks(d, d_ff, 1, encoder=0), "n_layers multiplies the encoder block only", "put brackets around the sum of both blocks"),
        Misconception("n_layers on the decoder only", lambda d, d_ff, n_layers: _stacks(d, d_ff, 1, decoder=0) + _stacks(d, d_ff, n_layers, encoder=0), "n_layers multiplies the decoder block only", "put brackets around the sum of both blocks"),
        Misconception("norm at the end", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, final=2 * d), "a norm is added at the end", "no norm at the end here"),
        Misconception("encoder only", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, decoder=0), "only the encoder is counted", "n_layers encoder blocks and n_layers decoder blocks"),
        Misconception("decoder only", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, encoder=0), "only the decoder is counted", "n_layers encoder blocks and n_layers decoder blocks"),
        Misconception("n_layers in all", lambda d, d_ff, n_layers: exact(_stacks(d, d_ff, n_layers), 2), "n_layers is shared between the two stacks, so half of everything is counted", "n_layers encoder blocks and n_layers decoder blocks"),
        Misconception("one layer", lambda d, d_ff, n_layers: _stacks(d, d_ff, 1), "one block of each stack is counted instead of n_layers", "multiply by n_layers"),
        Misconception("FFN in the encoder only", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers) - n_layers * (2 * d * d_ff + d_ff + d), "the FFN of one stack is left out", "encoder and decoder blocks both have an FFN"),
        Misconception("two FFNs in the decoder", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers) + n_layers * (2 * d * d_ff + d_ff + d), "the decoder block is given two FFNs", "a decoder block has two attentions and one FFN"),
        Misconception("d_ff taken as 4d", taking(encoder_decoder_parameters, d_ff=four_d), "4d stands for d_ff", "use the d_ff that is given"),
        Misconception("12 d^2 a block", lambda d, d_ff, n_layers: 24 * d * d * n_layers, "every block is counted with 12 d^2", "a decoder block has 4 d^2 more, and biases, norms and d_ff count"),
        Misconception("28 d^2 a pair", lambda d, d_ff, n_layers: 28 * d * d * n_layers, "the two blocks are counted with 12 d^2 and 16 d^2: 4d stands for d_ff, and biases and norms are left out", "use the d_ff that is given, and add biases and norms"),
        Misconception("attention left out", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers) - 12 * d * d * n_layers, "attention is left out", "4 d^2 for each attention"),
        Misconception("3 d^2 attention", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers) - 3 * d * d * n_layers, "each attention is counted as 3 d^2: the output projection is left out", "queries, keys, values and output: 4 d^2"),
        Misconception("b1 left out", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers) - 2 * d_ff * n_layers, "b1 is left out", "b1 has d_ff numbers, b2 has d"),
        Misconception("one FFN matrix", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers) - 2 * d * d_ff * n_layers, "the FFN is counted with one matrix", "W1 and W2: 2 d d_ff"),
        Misconception("gated", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers) + 2 * d * d_ff * n_layers, "the FFN is counted with three matrices, as a gated one has", "W1 and W2: 2 d d_ff"),
        Misconception("embedding added", lambda d, d_ff, n_layers: _stacks(d, d_ff, n_layers, final=37_000 * d), "an embedding of 37,000 words is added", "no embeddings are asked for"),
        Misconception("always the original model", lambda d, d_ff, n_layers: 44_101_632, "the number of the original model comes back for every size", "use d, d_ff and n_layers"),
    ),
    hints=(
        "Look at one encoder block and one decoder block: which sublayers does each have, and how many norms?",
        "Count attention (4 d^2), FFN with biases (2 d d_ff + d_ff + d) and norms (2d each) of both blocks, then multiply.",
        "return n_layers * (attention + ffn + 4 * d + ___ + ffn + 6 * d)",
    ),
    why="Cross-attention makes a decoder block 4 d^2 + 2d larger, so that its attention holds as much as its FFN of 4d.",
    grammar=Grammar(
        terms=encoder_decoder_terms,
        nouns={"cross-attention": "cross-attention", "b1": "b1"},
        inputs=(
            STACK_INPUT("4d stands for d_ff", d_ff=four_d),
            STACK_INPUT("one layer is counted instead of all", n_layers=one),
        ),
        edits=(
            ("only the encoder is counted", functools.partial(_one_stack, "encoder")),
            ("only the decoder is counted", functools.partial(_one_stack, "decoder")),
            ("the norms are left out", without("encoder norms", "decoder norms")),
            ("4d are missing in every layer, as when each block lacks a norm, or the encoder block both", without("encoder norms")),
            ("6d are missing in every layer, as when each block has one norm, or the decoder block none", without("decoder norms")),
            ("each norm is given d parameters", lambda terms, *args: {**terms, "encoder norms": terms["encoder norms"] // 2, "decoder norms": terms["decoder norms"] // 2}),
            ("2d are missing in every layer, as when the decoder block lacks a norm, or both blocks lack b2", lambda terms, d, d_ff, n_layers: {**terms, "decoder norms": terms["decoder norms"] * 2 // 3}),
            ("a norm is added after each stack", plus(lambda d, d_ff, n_layers: 4 * d)),
            ("a norm is added at the end", plus(lambda d, d_ff, n_layers: 2 * d)),
            ("biases are counted in attention", plus(lambda d, d_ff, n_layers: 12 * d * n_layers)),
            ("each attention is counted as 3 d^2", lambda terms, *args: {**terms, **{name: value * 3 // 4 for name, value in terms.items() if "attention" in name}}),
            ("attention is left out", without("encoder attention", "decoder attention", "cross-attention")),
            ("the FFNs are left out", without("encoder weights", "decoder weights", "b1", "b2")),
            ("the biases of the FFN are left out", without("b1", "b2")),
            ("the encoder block is given three norms", plus(lambda d, d_ff, n_layers: 2 * d * n_layers)),
            ("the FFN of one stack is left out", lambda terms, *args: _half(terms, "encoder")),
            ("three FFN matrices are counted", lambda terms, *args: {**terms, **{name: value * 3 // 2 for name, value in terms.items() if "weights" in name}}),
            ("the norms of one layer are counted instead of those of all", lambda terms, d, d_ff, n_layers: {**terms, "encoder norms": 4 * d, "decoder norms": 6 * d}),
            ("cross-attention is counted once instead of in every layer", lambda terms, d, d_ff, n_layers: {**terms, "cross-attention": 4 * d * d}),
            ("the biases of only one stack are counted", lambda terms, *args: {**terms, "b1": terms["b1"] // 2, "b2": terms["b2"] // 2}),
            ("one FFN matrix is counted", lambda terms, *args: {**terms, **{name: value // 2 for name, value in terms.items() if "weights" in name}}),
        ),
        factors=(
            ("half of it is counted: n_layers is shared between the two stacks", lambda total, *args: exact(total, 2)),
            ("everything is doubled, as for two operations or two bytes a parameter", lambda total, *args: 2 * total),
            ("everything is multiplied by 4, as for four bytes a parameter", lambda total, *args: 4 * total),
        ),
    ),
)


# ---------------------------------------------------------------- ffn_share


def ffn_share(vocab, d, n_layers, d_ff):
    """Return the share of the parameters that the FFNs hold."""
    ffn = 2 * d * d_ff * n_layers
    attention = 4 * d * d * n_layers
    return ffn / (vocab * d + attention + ffn)


def ffn_share_probes(rng):
    """Draw small models and models with large vocabularies, wide and narrow, one layer, and the original base model."""
    d, other, narrow = (int(n) for n in rng.choice((7, 9, 11, 13, 17, 19), size=3, replace=False))
    vocab, d_ff = int(rng.integers(101, 400)), int(rng.integers(61, 120))
    return (
        call(vocab, d, 3, d_ff),
        call(vocab + 9, other, 1, d_ff + 7),
        call(50_257, 768, 12, 3072),
        call(23, narrow, 7, 5),
        call(37_000, 512, 12, 2048),
        call(vocab, 16, 5, 16),
    )


def share_terms(vocab, d, n_layers, d_ff):
    """Return what stands above the fraction bar, and what stands below it."""
    ffn = 2 * d * d_ff * n_layers
    return {"above": ffn, "embeddings": vocab * d, "attention": 4 * d * d * n_layers, "ffn": ffn}


def divide(terms, *args):
    """Return the first term over the sum of all others."""
    above, *below = terms.values()
    return above / sum(below)


SHARE_INPUT = inputs_of(ffn_share)
FFN_SHARE = Exercise(
    id="ffn_share",
    probes=ffn_share_probes,
    oracle=ffn_share,
    returns=Number(),
    misconceptions=(
        Misconception("embeddings left out", lambda vocab, d, n_layers, d_ff: d_ff / (2 * d + d_ff), "the embeddings are left out: that is the share of a block", "the whole model has a vocabulary too: vocab times d"),
        Misconception("two thirds", lambda vocab, d, n_layers, d_ff: 2 / 3, "two thirds are returned, which holds for a block with d_ff = 4d", "use the four arguments"),
        Misconception("attention left out", lambda vocab, d, n_layers, d_ff: 2 * d * d_ff * n_layers / (vocab * d + 2 * d * d_ff * n_layers), "attention is left out below the fraction bar", "the whole is embeddings, attention and FFNs"),
        Misconception("ratio to attention", lambda vocab, d, n_layers, d_ff: d_ff / (2 * d), "the FFNs are divided by attention", "a share is divided by the whole"),
        Misconception("ratio to the rest", lambda vocab, d, n_layers, d_ff: 2 * d_ff * n_layers / (vocab + 4 * d * n_layers), "the FFNs are divided by everything else", "a share is divided by the whole, which holds the FFNs too"),
        Misconception("the other share", lambda vocab, d, n_layers, d_ff: 1 - ffn_share(vocab, d, n_layers, d_ff), "the share of everything else is returned", "the FFNs stand above the fraction bar"),
        Misconception("turned round", lambda vocab, d, n_layers, d_ff: 1 / ffn_share(vocab, d, n_layers, d_ff), "the whole is divided by the FFNs", "a share is at most 1"),
        Misconception("percent", lambda vocab, d, n_layers, d_ff: 100 * ffn_share(vocab, d, n_layers, d_ff), "the share is given in percent", "return a number between 0 and 1"),
        Misconception("attention's share", lambda vocab, d, n_layers, d_ff: 4 * d * n_layers / (vocab + 4 * d * n_layers + 2 * d_ff * n_layers), "the share of attention is returned", "the FFNs stand above the fraction bar"),
        Misconception("embeddings' share", lambda vocab, d, n_layers, d_ff: vocab / (vocab + 4 * d * n_layers + 2 * d_ff * n_layers), "the share of the embeddings is returned", "the FFNs stand above the fraction bar"),
        Misconception("the number of FFN parameters", lambda vocab, d, n_layers, d_ff: 2 * d * d_ff * n_layers, "the number of the FFNs' parameters is returned", "divide by the number of all parameters"),
        Misconception("the number of all parameters", lambda vocab, d, n_layers, d_ff: vocab * d + n_layers * (4 * d * d + 2 * d * d_ff), "the number of all parameters is returned", "it belongs below the fraction bar"),
        Misconception("integer division", lambda vocab, d, n_layers, d_ff: 0, "0 is returned, as integer division // gives", "use /"),
        Misconception("untied", lambda vocab, d, n_layers, d_ff: ffn_share(2 * vocab, d, n_layers, d_ff), "the embeddings are counted twice", "one matrix of vocab times d"),
        Misconception("d_ff taken as 4d", taking(ffn_share, d_ff=four_d), "4d stands for d_ff", "use the d_ff that is given"),
        Misconception("one layer", taking(ffn_share, n_layers=one), "one layer is counted instead of all", "attention and FFNs are in every layer"),
        Misconception("one layer above", lambda vocab, d, n_layers, d_ff: ffn_share(vocab, d, n_layers, d_ff) / n_layers, "n_layers is left out above the fraction bar", "the FFNs of all layers are asked for"),
        Misconception("one layer below", lambda vocab, d, n_layers, d_ff: 2 * d_ff * n_layers / (vocab + 4 * d + 2 * d_ff), "n_layers is left out below the fraction bar", "attention and FFNs below are those of all layers"),
        Misconception("attention once", lambda vocab, d, n_layers, d_ff: 2 * d_ff * n_layers / (vocab + 4 * d + 2 * d_ff * n_layers), "attention is counted once instead of in every layer", "look at the brackets: n_layers multiplies attention and FFN"),
        Misconception("missing brackets", lambda vocab, d, n_layers, d_ff: 2 * d * d_ff * n_layers / (vocab * d) + n_layers * (4 * d * d + 2 * d * d_ff), "the fraction bar ends after vocab * d", "put brackets round everything below the fraction bar"),
        Misconception("gated", lambda vocab, d, n_layers, d_ff: 3 * d_ff * n_layers / (vocab + 4 * d * n_layers + 3 * d_ff * n_layers), "three FFN matrices are counted, as in a gated FFN", "W1 and W2: 2 d d_ff"),
        Misconception("one FFN matrix", lambda vocab, d, n_layers, d_ff: d_ff * n_layers / (vocab + 4 * d * n_layers + d_ff * n_layers), "one FFN matrix is counted", "W1 and W2: 2 d d_ff"),
        Misconception("gated above", lambda vocab, d, n_layers, d_ff: 1.5 * ffn_share(vocab, d, n_layers, d_ff), "three FFN matrices are counted above the fraction bar", "W1 and W2: 2 d d_ff"),
        Misconception("one FFN matrix below", lambda vocab, d, n_layers, d_ff: 2 * d_ff * n_layers / (vocab + 4 * d * n_layers + d_ff * n_layers), "one FFN matrix is counted below the fraction bar", "W1 and W2: 2 d d_ff"),
        Misconception("n_layers below on attention only", lambda vocab, d, n_layers, d_ff: 2 * d_ff * n_layers / (vocab + 4 * d * n_layers + 2 * d_ff), "below the fraction bar n_layers multiplies attention only", "put brackets around what is in every layer"),
        Misconception("no brackets below", lambda vocab, d, n_layers, d_ff: 2 * d * d_ff * n_layers / vocab * d + n_layers * (4 * d * d + 2 * d * d_ff), "the brackets around the whole below the fraction bar are missing: only vocab divides", "put brackets around the whole"),
        Misconception("one FFN matrix above", lambda vocab, d, n_layers, d_ff: ffn_share(vocab, d, n_layers, d_ff) / 2, "one FFN matrix is counted above the fraction bar", "W1 and W2: 2 d d_ff"),
        Misconception("3 d^2", lambda vocab, d, n_layers, d_ff: 2 * d_ff * n_layers / (vocab + 3 * d * n_layers + 2 * d_ff * n_layers), "attention is counted as 3 d^2: the output projection is left out", "queries, keys, values and output: 4 d^2"),
        Misconception("biases counted", lambda vocab, d, n_layers, d_ff: n_layers * (2 * d * d_ff + d_ff + d) / (vocab * d + n_layers * (4 * d * d + 2 * d * d_ff + d_ff + d)), "the biases of the FFN are counted", "the formula has no biases"),
        Misconception("norms counted", lambda vocab, d, n_layers, d_ff: 2 * d_ff * n_layers / (vocab + n_layers * (4 * d + 2 * d_ff + 4)), "two LayerNorms in each layer are counted", "the formula has no norms"),
        Misconception("RMSNorms counted", lambda vocab, d, n_layers, d_ff: 2 * d_ff * n_layers / (vocab + n_layers * (4 * d + 2 * d_ff) + 2 * n_layers + 1), "the norms are counted", "the formula has no norms"),
        Misconception("rounded to 2", lambda vocab, d, n_layers, d_ff: round(ffn_share(vocab, d, n_layers, d_ff), 2), "the share is rounded to two digits", "return the unrounded number"),
        Misconception("rounded to 3", lambda vocab, d, n_layers, d_ff: round(ffn_share(vocab, d, n_layers, d_ff), 3), "the share is rounded to three digits", "return the unrounded number"),
        Misconception("rounded to 4", lambda vocab, d, n_layers, d_ff: round(ffn_share(vocab, d, n_layers, d_ff), 4), "the share is rounded to four digits", "return the unrounded number"),
    ),
    hints=(
        "Look at the whole first: which three parts does it have, and which of them is in every layer?",
        "Divide the FFNs of all layers by embeddings + attention of all layers + FFNs of all layers.",
        "return 2 * d * d_ff * n_layers / (___ + n_layers * (4 * d * d + 2 * d * d_ff))",
    ),
    why="In a block of d_ff = 4d the FFN holds two thirds; the embeddings push its share of the whole model down, to 45 % in GPT-2 small.",
    grammar=Grammar(
        terms=share_terms,
        nouns={"embeddings": "the embeddings", "attention": "attention"},
        inputs=(
            SHARE_INPUT("4d stands for d_ff", d_ff=four_d),
            SHARE_INPUT("one layer is counted instead of all", n_layers=one),
        ),
        edits=(
            ("n_layers is left out above the fraction bar", lambda terms, vocab, d, n_layers, d_ff: {**terms, "above": 2 * d * d_ff}),
            ("the FFNs are left out below the fraction bar", without("ffn")),
            ("three FFN matrices are counted", lambda terms, *args: {**terms, "above": terms["above"] * 3 / 2, "ffn": terms["ffn"] * 3 / 2}),
            ("one FFN matrix is counted", lambda terms, *args: {**terms, "above": terms["above"] / 2, "ffn": terms["ffn"] / 2}),
            ("attention is counted as 3 d^2", lambda terms, *args: {**terms, "attention": terms["attention"] * 3 / 4}),
            ("the biases of the FFN are counted", lambda terms, vocab, d, n_layers, d_ff: {**terms, "above": terms["above"] + n_layers * (d_ff + d), "ffn": terms["ffn"] + n_layers * (d_ff + d)}),
            ("attention's biases are counted", plus(lambda vocab, d, n_layers, d_ff: 4 * d * n_layers)),
            ("one norm of d is counted in each layer", plus(lambda vocab, d, n_layers, d_ff: d * n_layers)),
            ("two norms of d are counted in each layer", plus(lambda vocab, d, n_layers, d_ff: 2 * d * n_layers)),
            ("attention is counted above the fraction bar as well", lambda terms, *args: {**terms, "above": terms["above"] + terms["attention"]}),
            ("the embeddings are counted above the fraction bar as well", lambda terms, *args: {**terms, "above": terms["above"] + terms["embeddings"]}),
            ("vocab is added instead of vocab times d", lambda terms, vocab, *args: {**terms, "embeddings": vocab}),
        ),
        factors=(
            ("the share is given in percent", lambda total, *args: 100 * total),
            ("the fraction is turned round", lambda total, *args: 1 / total),
            ("the share of everything else is returned", lambda total, *args: 1 - total),
            ("the share is given in whole percent", lambda total, *args: round(100 * total)),
            ("the share is rounded to one digit", lambda total, *args: round(total, 1)),
            ("the share is rounded to two digits", lambda total, *args: round(total, 2)),
            ("the share is rounded to three digits", lambda total, *args: round(total, 3)),
            ("the share is rounded to four digits", lambda total, *args: round(total, 4)),
        ),
        combine=divide,
    ),
)

EXERCISES = (FFN_PARAMETERS, ATTENTION_PARAMETERS, DECODER_PARAMETERS, ENCODER_DECODER_PARAMETERS, FFN_SHARE)
