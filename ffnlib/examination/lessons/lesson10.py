"""Lesson 10: mixtures of experts: who gets a token, with which weight, and how evenly the work is spread."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from ffnlib.activations import gelu, sigmoid, silu
from ffnlib.examination.exercise import Array, Count, Exercise, Grammar, Misconception, Number, call
from ffnlib.examination.lessons.endings import added_up, negated, rounded, whole_for_whole


def _scores(rng, tokens: int, experts: int):
    """Draw scores for each token in random order, no two of them closer than 0.1."""
    steps = rng.uniform(0.1, 1.0, size=(tokens, experts))
    return rng.permuted(np.cumsum(steps, axis=1), axis=1) - rng.uniform(0, 0.5 * experts, size=(tokens, 1))


def _whole_scores(rng, tokens: int, experts: int):
    """Draw whole numbers as scores, all different within a token."""
    return np.array([rng.permutation(np.arange(-4, 9))[:experts] for _ in range(tokens)])


def _large_scores(rng, experts: int):
    """Draw scores of 1e4: close together far above zero, close together far below, and far apart."""
    close = _scores(rng, 3, experts)
    far = rng.permutation(np.linspace(-1e4, 1e4, experts)[None, :], axis=1)
    return np.concatenate([close[:1] + 1e4, close[1:2] - 1e4, far, close[2:]])


def _softmax(scores):
    exponentials = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return exponentials / np.sum(exponentials, axis=-1, keepdims=True)


def _over_tokens(scores):
    return _softmax(np.asarray(scores).T).T


def _plain(scores):
    """Return the softmax that overflows for large scores."""
    return np.exp(scores) / np.sum(np.exp(scores), axis=-1, keepdims=True)


def _one_maximum(scores):
    """Return the softmax that subtracts the largest score of all tokens, which underflows for the others."""
    exponentials = np.exp(scores - np.max(scores))
    return exponentials / np.sum(exponentials, axis=-1, keepdims=True)


def _to_base_two(scores):
    powers = np.exp2(scores - np.max(scores, axis=-1, keepdims=True))
    return powers / np.sum(powers, axis=-1, keepdims=True)


def _best(scores, k):
    """Return where the k best of each row are, True or False."""
    return _ranks(scores) < k


def _ranks(scores):
    """Return the rank of every score in its row, 0 for the largest."""
    return np.argsort(np.argsort(-np.asarray(scores), axis=-1, kind="stable"), axis=-1)


def _among(chosen, scores, normalise=_softmax):
    """Return the softmax among the chosen entries of each row, 0 elsewhere."""
    return np.where(chosen, normalise(np.where(chosen, scores, -np.inf)), 0.0)


# ---------------------------------------------------------------- topk_route


def topk_route(logits, k):
    """Return the softmax over the k best experts of each token, 0 for the other experts."""
    best = np.argsort(-logits, axis=-1)[:, :k]
    scores = np.take_along_axis(logits, best, axis=-1)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    gates = np.zeros(logits.shape)
    np.put_along_axis(gates, best, weights, axis=-1)
    return gates


def topk_probes(rng):
    """Draw scores for k = 1, k = all, a square, one token, whole numbers, 1e4, negative and skewed scores, a strided view."""
    skewed = _scores(rng, 6, 4)
    skewed[:, 2] += 5
    return (
        call(_scores(rng, 5, 6), 2),
        call(_scores(rng, 4, 4), 2),
        call(_scores(rng, 5, 4), 1),
        call(_scores(rng, 3, 5), 5),
        call(_scores(rng, 1, 6), 3),
        call(_whole_scores(rng, 4, 7), 3),
        call(_large_scores(rng, 5), 2),
        call(_scores(rng, 6, 5) - 9, 3),
        call(skewed, 3),
        call(_scores(rng, 6, 7)[::2, ::-1], 4),
    )


def _placed(logits, k, order):
    """Return the dense gates with the weights of the k best placed by `order(best)`."""
    best = np.argsort(-np.asarray(logits), axis=-1)[:, :k]
    gates = np.zeros(np.shape(logits))
    np.put_along_axis(gates, order(best), _softmax(np.take_along_axis(np.asarray(logits), best, axis=-1)), axis=-1)
    return gates


def _descending(logits, k):
    return -np.sort(-np.asarray(logits), axis=-1)[:, :k]


def _filled(value: float) -> Misconception:
    def program(logits, k):
        return _softmax(np.where(_best(logits, k), logits, value))

    because = f"a number such as {value:g} stands in the place of -inf for the other scores, which is not small beside scores of -1e4"
    return Misconception(f"filled with {value:g}", program, because, "-np.inf is smaller than every score")


def _ranked_softmax_over_tokens(logits, k):
    """Return dense gates whose weights are a softmax over the tokens, among scores of the same rank."""
    best = np.argsort(-np.asarray(logits), axis=-1)[:, :k]
    gates = np.zeros(np.shape(logits))
    np.put_along_axis(gates, best, _over_tokens(np.take_along_axis(np.asarray(logits), best, axis=-1)), axis=-1)
    return gates


def _written_to_all_rows(columns, weights, experts):
    """Return dense gates as gates[:, columns] = weights leaves them."""
    gates = np.zeros((len(columns), experts))
    gates[:, columns] = weights
    return gates


TOPK_ROUTE = Exercise(
    id="topk_route",
    probes=topk_probes,
    oracle=topk_route,
    variants=(
        lambda logits, k: _softmax(np.where(_ranks(logits) < k, logits, -np.inf)),
        lambda logits, k: np.where(_ranks(logits) < k, _softmax(logits), 0) / np.sum(np.where(_ranks(logits) < k, _softmax(logits), 0), axis=-1, keepdims=True),
    ),
    returns=Array(),
    library="ffnlib.experts.topk_route",
    misconceptions=(
        Misconception("not renormalised", lambda logits, k: np.where(_best(logits, k), _softmax(logits), 0), "the softmax is taken over all experts, and the k best keep what they got there", "the gates of a token add up to 1: normalise among the k best"),
        Misconception("all experts", lambda logits, k: _softmax(logits), "the softmax is taken over all experts, and none is left out", "k is not used: only the k best get a gate"),
        Misconception("equal gates", lambda logits, k: _best(logits, k) / k, "each of the k best gets 1 / k", "the better expert gets the larger gate: a softmax among them"),
        Misconception("mask", lambda logits, k: _best(logits, k) * 1.0, "each of the k best gets 1", "the gates of a token add up to 1: a softmax among the k best"),
        Misconception("scores as gates", lambda logits, k: np.where(_best(logits, k), logits, 0.0), "the scores themselves are used as gates", "a softmax among the k best is missing"),
        Misconception("zeros in the softmax", lambda logits, k: _softmax(np.where(_best(logits, k), logits, 0)), "the other scores are set to 0 before the softmax, and exp(0) is 1", "set them to -inf, or leave them out of the softmax"),
        Misconception("zeros in the softmax, cut out again", lambda logits, k: np.where(_best(logits, k), _softmax(np.where(_best(logits, k), logits, 0)), 0), "the other scores are set to 0 before the softmax, where exp(0) = 1 takes a part of the sum", "set them to -inf, or leave them out of the softmax"),
        Misconception("worst experts", lambda logits, k: _among(_best(-np.asarray(logits), k), logits), "the k worst experts are chosen", "argsort is ascending: the best stand at the end"),
        Misconception("worst experts, worst first", lambda logits, k: topk_route(-np.asarray(logits), k), "the scores enter with the opposite sign", "look for a minus that was meant for the sorting only"),
        Misconception("argsort for ranks", lambda logits, k: _among(np.argsort(-np.asarray(logits), axis=-1) < k, logits), "np.argsort is taken for ranks: its entry e is the number of an expert, not the rank of expert e", "the first k entries of argsort name the k best; argsort of argsort gives ranks"),
        Misconception("rising argsort for ranks", lambda logits, k: _among(np.argsort(np.asarray(logits), axis=-1) >= np.shape(logits)[-1] - k, logits), "np.argsort is taken for ranks: its entry e is the number of an expert, not the rank of expert e", "the last k entries of argsort name the k best; argsort of argsort gives ranks"),
        Misconception("one expert too many", lambda logits, k: _among(_best(logits, k + 1), logits), "k + 1 experts are chosen", "which score is the k-th largest?"),
        Misconception("one expert too few", lambda logits, k: _among(_best(logits, max(1, k - 1)), logits), "k - 1 experts are chosen", "which score is the k-th largest?"),
        Misconception("strictly above the k-th", lambda logits, k: _among(_best(logits, k - 1), logits), "only scores above the k-th largest pass, so that k - 1 remain, and none for k = 1", "the k-th largest score passes as well: >="),
        Misconception("best expert only", lambda logits, k: _among(_best(logits, 1), logits), "only the best expert is chosen, whatever k is", "k is not used"),
        Misconception("two experts", lambda logits, k: _among(_best(logits, 2), logits), "two experts are chosen, whatever k is", "k is not used"),
        Misconception("all but k", lambda logits, k: _among(_ranks(logits) >= k, logits) if k < np.shape(logits)[-1] else 0.0 * np.asarray(logits), "the k best are the ones that are left out", "which side of the cut is kept?"),
        Misconception("first experts", lambda logits, k: _among(np.broadcast_to(np.arange(np.shape(logits)[-1]) < k, np.shape(logits)), logits), "the first k experts are chosen, whatever their scores", "sort the scores before taking k of them"),
        Misconception("last experts", lambda logits, k: _among(np.broadcast_to(np.arange(np.shape(logits)[-1])[::-1] < k, np.shape(logits)), logits), "the last k experts are chosen, whatever their scores", "sort the scores before taking k of them"),
        Misconception("softmax over the tokens", lambda logits, k: np.where(_best(logits, k), _over_tokens(logits), 0), "the softmax runs over the tokens, axis 0", "each token's gates add up to 1: the last axis"),
        Misconception("softmax over the tokens among the chosen", lambda logits, k: np.nan_to_num(_among(_best(logits, k), logits, _over_tokens)), "the softmax among the chosen runs over the tokens, axis 0", "each token's gates add up to 1: the last axis"),
        Misconception("experts choose tokens", lambda logits, k: np.nan_to_num(_among(_best(np.asarray(logits).T, k).T, logits)), "each expert chooses its k best tokens", "each token chooses its k best experts: sort along the last axis"),
        Misconception("experts choose and weigh tokens", lambda logits, k: topk_route(np.asarray(logits).T, k).T, "each expert chooses and weighs its k best tokens", "each token chooses its k best experts: the last axis"),
        Misconception("k of all", lambda logits, k: np.nan_to_num(_among(_best(np.ravel(logits)[None], k).reshape(np.shape(logits)), logits)), "the k best scores of the whole array are chosen", "each token chooses its own k best: axis=-1"),
        Misconception("same experts for all", lambda logits, k: _among(np.broadcast_to(_best(np.mean(logits, axis=0)[None], k), np.shape(logits)), logits), "the experts that are best on the average are chosen for every token", "each token chooses its own k best"),
        Misconception("first token's experts", lambda logits, k: _among(np.broadcast_to(_best(logits, k)[:1], np.shape(logits)), logits), "the first token's choice is used for every token", "each token chooses its own k best"),
        Misconception("overflow", lambda logits, k: _among(_best(logits, k), logits, _plain), "exp overflows for large scores and the gates become nan", "subtract the token's largest score before exp"),
        Misconception("overflow, not renormalised", lambda logits, k: np.where(_best(logits, k), _plain(logits), 0), "exp overflows for large scores, and the softmax is taken over all experts", "subtract the largest score; normalise among the k best"),
        Misconception("overflow hidden", lambda logits, k: np.nan_to_num(_among(_best(logits, k), logits, _plain)), "exp overflows for large scores, and nan is replaced by 0", "subtract the token's largest score before exp"),
        Misconception("overflow and underflow", lambda logits, k: _plain(np.where(_best(logits, k), logits, -np.inf)), "exp overflows for large scores and becomes 0 for very negative ones, so that inf / inf and 0 / 0 make nan", "subtract the token's largest score before exp"),
        Misconception("overflow and underflow, not renormalised", lambda logits, k: np.exp(np.where(_best(logits, k), logits, -np.inf)) / np.sum(np.exp(logits), axis=-1, keepdims=True), "the sum runs over all experts, and exp overflows for large scores", "normalise among the k best, and subtract the token's largest score before exp"),
        Misconception("one maximum for all, nan in whole rows", lambda logits, k: _one_maximum(np.where(_best(logits, k), logits, -np.inf)), "the largest score of all tokens is subtracted, so that whole rows of a token far below it become 0 / 0", "subtract each token's own maximum: axis=-1, keepdims=True"),
        Misconception("strictly above the k-th, nan", lambda logits, k: _softmax(np.where(_best(logits, k - 1), logits, -np.inf)), "only scores above the k-th largest pass, so that k - 1 remain, and k = 1 gives nan", "the k-th largest score passes as well: >="),
        Misconception("not renormalised, times k", lambda logits, k: np.where(_best(logits, k), _softmax(logits), 0) * k, "the probabilities under the softmax over all experts are multiplied by k", "normalise among the k best"),
        Misconception("not renormalised, divided by k", lambda logits, k: np.where(_best(logits, k), _softmax(logits), 0) / k, "the softmax is taken over all experts, and the k best are divided by k", "the gates of a token add up to 1: divide by their sum"),
        Misconception("one softmax for all tokens", lambda logits, k: _softmax(np.ravel(np.where(_best(logits, k), logits, -np.inf))).reshape(np.shape(logits)), "one softmax is taken over all tokens together, so that all gates of all tokens add up to 1", "each token's gates add up to 1: axis=-1, keepdims=True"),
        Misconception("softmax over the tokens, unchosen scores far below", lambda logits, k: _over_tokens(np.where(_best(logits, k), logits, -1e9)), "the softmax among the chosen runs over the tokens, axis 0, so that an expert nobody chose gets equal gates", "each token's gates add up to 1: the last axis"),
        Misconception("weights written for every token", lambda logits, k: _written_to_all_rows(np.argsort(-np.asarray(logits), axis=-1)[:, :k], _softmax(_descending(logits, k)), np.shape(logits)[-1]), "each token's weights are written into the rows of all tokens, where the last ones stay", "gates[:, best] is all rows; np.put_along_axis, or gates[np.arange(tokens)[:, None], best], is each row's own"),
        Misconception("softmax over the tokens, rank by rank", _ranked_softmax_over_tokens, "the softmax of the chosen scores runs over the tokens, axis 0", "each token's gates add up to 1: the last axis"),
        Misconception("normalised over the tokens", lambda logits, k: topk_route(np.asarray(logits), k) / np.sum(topk_route(np.asarray(logits), k), axis=0), "the gates are divided by their sum over the tokens", "each token's gates add up to 1: they do already"),
        Misconception("not dense, not renormalised", lambda logits, k: -np.sort(-_softmax(logits), axis=-1)[:, :k], "only the k largest probabilities are returned, best first", "normalise among the k best, and return a column for every expert"),
        Misconception("transposed", lambda logits, k: topk_route(np.asarray(logits), k).T, "tokens and experts have changed places in the result", "one row a token, one column an expert"),
        *(_filled(value) for value in (-10.0, -100.0, -1e4)),
        Misconception("one maximum for all", lambda logits, k: _among(_best(logits, k), logits, _one_maximum), "the largest score of all tokens is subtracted, so that a token far below it gets 0 / 0", "subtract each token's own maximum: axis=-1, keepdims=True"),
        Misconception("scores clipped", lambda logits, k: _among(_best(logits, k), np.clip(logits, -50, 50), _softmax), "the scores are clipped before exp, which makes large ones equal", "subtract the token's largest score instead"),
        Misconception("renormalised too late", lambda logits, k: np.where(_best(logits, k), _softmax(logits), 0) / np.sum(np.where(_best(logits, k), _softmax(logits), 0)), "the gates are divided by the sum over all tokens", "each token's gates add up to 1: axis=-1, keepdims=True"),
        Misconception("logistic gates", lambda logits, k: np.where(_best(logits, k), sigmoid(logits), 0), "each of the k best gets the logistic function of its score", "a softmax among the k best is asked for"),
        Misconception("logistic gates, normalised", lambda logits, k: np.where(_best(logits, k), sigmoid(logits), 0) / np.sum(np.where(_best(logits, k), sigmoid(logits), 0), axis=-1, keepdims=True), "logistic functions of the k best scores are normalised", "a softmax normalises exponentials"),
        Misconception("scores normalised", lambda logits, k: np.where(_best(logits, k), logits, 0.0) / np.sum(np.where(_best(logits, k), logits, 0.0), axis=-1, keepdims=True), "the scores of the k best are divided by their sum", "a softmax normalises exponentials"),
        Misconception("exponentials not normalised", lambda logits, k: np.where(_best(logits, k), np.exp(logits), 0), "the exponentials are not divided by their sum", "each token's gates add up to 1"),
        Misconception("exponentials below one, not normalised", lambda logits, k: np.where(_best(logits, k), np.exp(logits - np.max(logits, axis=-1, keepdims=True)), 0), "the exponentials, with the maximum subtracted, are not divided by their sum", "each token's gates add up to 1"),
        Misconception("softmax twice", lambda logits, k: _among(_best(logits, k), _softmax(logits)), "a softmax over all experts is taken, and another one of its values among the k best", "one softmax of the scores themselves"),
        Misconception("softmax twice, chosen between", lambda logits, k: _among(_best(_softmax(logits), k), _softmax(logits)), "a softmax over all experts is taken, its k best are chosen, and another softmax is taken of them", "one softmax, of the scores themselves"),
        Misconception("softmax twice, chosen by a threshold", lambda logits, k: _softmax(np.where(_softmax(logits) >= -np.sort(-_softmax(logits), axis=-1)[:, k - 1 : k], _softmax(logits), -np.inf)), "a softmax over all experts is taken, those not below its k-th value are chosen, and another softmax is taken of them", "one softmax, of the scores themselves"),
        Misconception("softmax twice, last of the equal ones", lambda logits, k: _among(_best(_softmax(logits)[:, ::-1], k)[:, ::-1], _softmax(logits)), "a softmax over all experts is taken, its k best are chosen, and another softmax is taken of them", "one softmax, of the scores themselves"),
        Misconception("softmax of the gates", lambda logits, k: _softmax(topk_route(np.asarray(logits), k)), "a second softmax is taken of the finished gates", "the others stay exactly 0"),
        Misconception("divided by k", lambda logits, k: topk_route(np.asarray(logits), k) / k, "the gates are divided by k", "each token's gates add up to 1"),
        Misconception("times k", lambda logits, k: topk_route(np.asarray(logits), k) * k, "the gates are multiplied by k", "each token's gates add up to 1"),
        Misconception("scores divided by k", lambda logits, k: topk_route(np.asarray(logits) / k, k), "the scores are divided by k before the softmax", "the softmax has no temperature"),
        Misconception("scaled by the root of experts", lambda logits, k: topk_route(np.asarray(logits) / np.sqrt(np.shape(logits)[-1]), k), "the scores are divided by the root of the number of experts", "the softmax has no temperature"),
        Misconception("powers of two", lambda logits, k: _among(_best(logits, k), logits, _to_base_two), "powers of 2 stand in the place of the exponential", "the softmax uses e"),
        Misconception("chosen by size", lambda logits, k: _among(_best(np.abs(logits), k), logits), "the experts with the largest absolute scores are chosen", "a large negative score is a bad one"),
        Misconception("weights sorted", lambda logits, k: _placed(logits, k, lambda best: np.broadcast_to(np.arange(k), best.shape)), "the weights stand in the first k columns, best first", "put each weight into the column of its expert"),
        Misconception("weights in rising order", lambda logits, k: _placed(logits, k, lambda best: best[:, ::-1]), "the best expert gets the smallest weight, the k-th the largest", "weights and expert numbers must be in the same order"),
        Misconception("weights by expert number", lambda logits, k: _placed(logits, k, lambda best: np.sort(best, axis=-1)), "the weights, best first, are given to the chosen experts in the order of their numbers", "weights and expert numbers must be in the same order"),
        Misconception("rising weights by expert number", lambda logits, k: _placed(logits, k, lambda best: -np.sort(-best, axis=-1)), "the weights, best last, are given to the chosen experts in the order of their numbers", "weights and expert numbers must be in the same order"),
        Misconception("rows chosen", lambda logits, k: _softmax(logits[np.argsort(logits)[:k]]), "the numbers of experts choose whole rows, that is tokens", "take_along_axis chooses in each row; logits[best] takes rows"),
        Misconception("not dense", lambda logits, k: _softmax(_descending(logits, k)), "only the k weights of each token are returned, best first", "a column for every expert is asked for: (tokens, experts)"),
        Misconception("not dense, rising", lambda logits, k: _softmax(_descending(logits, k)[:, ::-1]), "only the k weights of each token are returned, best last", "a column for every expert is asked for: (tokens, experts)"),
        Misconception("expert numbers", lambda logits, k: np.argsort(-np.asarray(logits), axis=-1)[:, :k] * 1.0, "the numbers of the k best experts are returned", "the gates are asked for, one column for every expert"),
        Misconception("logarithms", lambda logits, k: np.log(topk_route(np.asarray(logits), k)), "the logarithms of the gates are returned", "return the gates themselves"),
        Misconception("minus infinity kept", lambda logits, k: np.where(_best(logits, k), logits, -np.inf), "the masked scores are returned, with -inf for the others", "their softmax is missing"),
        Misconception("others shared out", lambda logits, k: np.where(_best(logits, k), _softmax(logits) + (1 - np.sum(np.where(_best(logits, k), _softmax(logits), 0), axis=-1, keepdims=True)) / k, 0), "the probability of the other experts is shared out equally among the k best", "normalise among the k best: each grows in proportion"),
        Misconception("above the mean", lambda logits, k: _among(np.asarray(logits) >= np.mean(logits, axis=-1, keepdims=True), logits), "every expert above the token's mean score is chosen", "exactly k experts are chosen"),
        whole_for_whole(topk_route),
        *rounded(topk_route),
    ),
    hints=(
        "Look at one token: find its k best experts, take the softmax of their k scores, put the weights back into their columns.",
        "np.argsort is ascending; np.take_along_axis reads and np.put_along_axis writes by these numbers; subtract the maximum before exp.",
        "best = np.argsort(-logits, axis=-1)[:, :k]; scores = np.take_along_axis(logits, ___, axis=-1)",
    ),
    why="Choosing first and normalising among the chosen makes each token's gates add up to 1; all other experts get exactly 0.",
)


# ---------------------------------------------------------------- switch_route


def switch_route(logits):
    """Return the probability of each token's best expert under the softmax over all experts, 0 for the other experts."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=-1, keepdims=True)
    winner = np.arange(logits.shape[-1]) == logits.argmax(axis=-1)[:, None]
    return np.where(winner, probabilities, 0.0)


def switch_probes(rng):
    """Draw scores for a square, one token, whole numbers, 1e4, negative and skewed scores, close ones, a strided view."""
    skewed = _scores(rng, 6, 4)
    skewed[:, 1] += 5
    return (
        call(_scores(rng, 5, 6)),
        call(_scores(rng, 4, 4)),
        call(_scores(rng, 1, 6)),
        call(_whole_scores(rng, 4, 7)),
        call(_large_scores(rng, 5)),
        call(_scores(rng, 6, 5) - 9),
        call(skewed),
        call(_scores(rng, 5, 8) / 9),
        call(_scores(rng, 6, 7)[::2, ::-1]),
    )


def _winner(scores):
    return _best(scores, 1)


def _rows_copied(logits):
    """Return zeros with whole rows of probabilities in the rows that the winners' numbers name."""
    probabilities, gates = _softmax(logits), np.zeros(np.shape(logits))
    winner = np.argmax(probabilities, axis=-1)
    gates[winner] = probabilities[winner]
    return gates


SWITCH_ROUTE = Exercise(
    id="switch_route",
    probes=switch_probes,
    oracle=switch_route,
    variants=(lambda logits: np.where(_ranks(logits) == 0, _softmax(logits), 0),),
    returns=Array(),
    library="ffnlib.experts.switch_route",
    misconceptions=(
        Misconception("gate of one", lambda logits: _winner(logits) * 1.0, "the winner gets 1, as after a softmax among the one best, or when exp(0) = 1 is not divided by the sum", "the winner keeps its probability under the softmax over all experts"),
        Misconception("all experts", lambda logits: _softmax(logits), "all probabilities are returned", "only the winner gets a gate, the others get 0"),
        Misconception("score as gate", lambda logits: np.where(_winner(logits), logits, 0.0), "the winner keeps its score instead of its probability", "a softmax over all experts is missing"),
        Misconception("worst expert", lambda logits: np.where(_best(-np.asarray(logits), 1), _softmax(logits), 0), "the worst expert is chosen", "argmax, not argmin"),
        Misconception("sign turned in the scores", lambda logits: switch_route(-np.asarray(logits)), "the scores enter with the opposite sign", "look for a minus that was meant for the sorting only"),
        Misconception("second best", lambda logits: np.where(_ranks(logits) == 1, _softmax(logits), 0), "the second best expert is chosen", "which one is the winner?"),
        Misconception("winner left out", lambda logits: np.where(_winner(logits), 0, _softmax(logits)), "the winner is the one that is left out", "which side of the comparison is kept?"),
        Misconception("two best", lambda logits: np.where(_best(logits, 2), _softmax(logits), 0), "the two best experts are kept", "Switch routing keeps one expert a token"),
        Misconception("two best, renormalised", lambda logits: topk_route(np.asarray(logits), 2), "the softmax among the two best is returned", "Switch routing keeps one expert a token"),
        Misconception("best of two", lambda logits: np.where(_winner(logits), topk_route(np.asarray(logits), 2), 0), "the winner's share of a softmax among the two best is kept", "the winner keeps its probability under the softmax over all experts"),
        Misconception("softmax over the tokens", lambda logits: np.where(_winner(logits), _over_tokens(logits), 0), "the softmax runs over the tokens, axis 0", "each token's probabilities add up to 1: the last axis"),
        Misconception("best token of each expert", lambda logits: np.where(_winner(np.asarray(logits).T).T, _softmax(logits), 0), "each expert chooses its best token", "each token chooses its best expert: argmax along the last axis"),
        Misconception("best token of each expert, by probability", lambda logits: np.where(_softmax(logits) == np.max(_softmax(logits), axis=0), _softmax(logits), 0), "each expert chooses the token that gives it the largest probability", "each token chooses its best expert: the last axis"),
        Misconception("everything over the tokens", lambda logits: switch_route(np.asarray(logits).T).T, "softmax and argmax both run over the tokens", "the experts are the last axis"),
        Misconception("best of the column probabilities", lambda logits: np.where(_winner(_over_tokens(logits)), _over_tokens(logits), 0), "the softmax runs over the tokens, and the winner is the largest of its values in a row", "each token's probabilities add up to 1: the last axis"),
        Misconception("one winner for all", lambda logits: np.where(np.max(logits) == np.asarray(logits), _softmax(logits), 0), "only the best score of the whole array wins", "every token has a winner: axis=-1"),
        Misconception("same expert for all", lambda logits: np.where(_winner(np.mean(logits, axis=0)[None]), _softmax(logits), 0), "the expert that is best on the average is chosen for every token", "each token has its own winner"),
        Misconception("first token's expert", lambda logits: np.where(_winner(logits)[:1], _softmax(logits), 0), "the first token's winner is used for every token", "each token has its own winner"),
        Misconception("logistic gate", lambda logits: np.where(_winner(logits), sigmoid(logits), 0), "the winner gets the logistic function of its score", "a softmax over all experts is asked for"),
        Misconception("exponential, not normalised", lambda logits: np.where(_winner(logits), np.exp(logits), 0), "the winner's exponential is not divided by the sum", "the softmax divides by the sum over all experts"),
        Misconception("overflow", lambda logits: np.where(_winner(logits), _plain(logits), 0), "exp overflows for large scores and the gate becomes nan", "subtract the token's largest score before exp"),
        Misconception("overflow before the choice", lambda logits: np.where(np.arange(np.shape(logits)[-1]) == np.argmax(_plain(logits), axis=-1)[:, None], _plain(logits), 0), "exp overflows for large scores, and the winner is looked for among nan", "subtract the token's largest score before exp"),
        Misconception("overflow hidden", lambda logits: np.nan_to_num(np.where(_winner(logits), _plain(logits), 0)), "exp overflows for large scores, and nan is replaced by 0", "subtract the token's largest score before exp"),
        Misconception("one maximum for all", lambda logits: np.where(_winner(logits), _one_maximum(logits), 0), "the largest score of all tokens is subtracted, so that a token far below it gets 0 / 0", "subtract each token's own maximum: axis=-1, keepdims=True"),
        Misconception("one sum for all", lambda logits: np.where(_winner(logits), np.exp(logits - np.max(logits, axis=-1, keepdims=True)) / np.sum(np.exp(logits - np.max(logits, axis=-1, keepdims=True))), 0), "the exponentials are divided by their sum over all tokens", "each token's probabilities add up to 1: axis=-1, keepdims=True"),
        Misconception("softmax of the whole array", lambda logits: np.where(_winner(logits), _softmax(np.ravel(logits)).reshape(np.shape(logits)), 0), "one softmax is taken over all tokens and experts together", "each token's probabilities add up to 1: axis=-1, keepdims=True"),
        Misconception("scores clipped", lambda logits: np.where(_winner(logits), _softmax(np.clip(logits, -50, 50)), 0), "the scores are clipped before exp, which makes large ones equal", "subtract the token's largest score instead"),
        Misconception("scores clipped, several winners", lambda logits: np.where(_softmax(np.clip(logits, -50, 50)) == np.max(_softmax(np.clip(logits, -50, 50)), axis=-1, keepdims=True), _softmax(np.clip(logits, -50, 50)), 0), "the scores are clipped before exp, which makes large ones equal, so that several win", "subtract the token's largest score instead"),
        Misconception("normalised over the tokens", lambda logits: switch_route(np.asarray(logits)) / np.sum(switch_route(np.asarray(logits))), "the gates are divided by their sum over all tokens", "each gate is a probability and stays as it is"),
        Misconception("probability of the others", lambda logits: np.where(_winner(logits), 1 - _softmax(logits), 0), "the winner gets the probability of all others", "the winner keeps its own probability"),
        Misconception("lead over the second", lambda logits: np.where(_winner(logits), _softmax(logits) - -np.sort(-_softmax(logits), axis=-1)[:, 1:2], 0), "the lead over the second best is returned", "the winner keeps its whole probability"),
        Misconception("squared", lambda logits: switch_route(np.asarray(logits)) ** 2, "the probability enters squared", "look for a gate that is multiplied by itself"),
        Misconception("logarithm", lambda logits: np.where(_winner(logits), np.log(_softmax(logits)), 0), "the logarithm of the probability is returned", "return the probability itself"),
        Misconception("times experts", lambda logits: switch_route(np.asarray(logits)) * np.shape(logits)[-1], "the gate is multiplied by the number of experts", "the gate is the probability itself"),
        Misconception("divided by experts", lambda logits: switch_route(np.asarray(logits)) / np.shape(logits)[-1], "the gate is divided by the number of experts", "the gate is the probability itself"),
        Misconception("scaled by the root of experts", lambda logits: switch_route(np.asarray(logits) / np.sqrt(np.shape(logits)[-1])), "the scores are divided by the root of the number of experts", "the softmax has no temperature"),
        Misconception("powers of two", lambda logits: np.where(_winner(logits), _to_base_two(logits), 0), "powers of 2 stand in the place of the exponential", "the softmax uses e"),
        Misconception("softmax twice", lambda logits: np.where(_winner(logits), _softmax(_softmax(logits)), 0), "the softmax is taken twice", "one softmax of the scores"),
        Misconception("zeros in the softmax", lambda logits: np.where(_winner(logits), _softmax(np.where(_winner(logits), logits, 0)), 0), "the other scores are set to 0 before the softmax", "the softmax runs over all experts with their own scores"),
        Misconception("chosen by size", lambda logits: np.where(_best(np.abs(logits), 1), _softmax(logits), 0), "the expert with the largest absolute score is chosen", "a large negative score is a bad one"),
        Misconception("above one half", lambda logits: np.where(_softmax(logits) > 0.5, _softmax(logits), 0), "experts with more than one half are kept, so that some tokens have none", "every token has a winner, however small its probability"),
        Misconception("above the mean", lambda logits: np.where(_softmax(logits) > 1 / np.shape(logits)[-1], _softmax(logits), 0), "all experts above the mean probability are kept", "one expert a token"),
        Misconception("negative logarithm", lambda logits: np.where(_winner(logits), -np.log(_softmax(logits)), 0), "the negative logarithm of the probability is returned", "return the probability itself"),
        Misconception("minus infinity for the others", lambda logits: np.where(_winner(logits), _softmax(logits), -np.inf), "the others get -inf", "the others get 0"),
        Misconception("zeros in the softmax, not cut out", lambda logits: _softmax(np.where(_winner(logits), logits, 0)), "the other scores are set to 0 before the softmax", "the softmax runs over all experts with their own scores, then only the winner stays"),
        Misconception("divided by each expert's sum", lambda logits: switch_route(np.asarray(logits)) / np.sum(switch_route(np.asarray(logits)), axis=0), "the gates are divided by their sum over the tokens", "each gate is a probability and stays as it is"),
        Misconception("times tokens", lambda logits: switch_route(np.asarray(logits)) * len(logits), "the gate is multiplied by the number of tokens", "the gate is the probability itself"),
        Misconception("transposed", lambda logits: switch_route(np.asarray(logits)).T, "tokens and experts have changed places in the result", "one row a token, one column an expert"),
        Misconception("first expert", lambda logits: np.where(np.arange(np.shape(logits)[-1]) == 0, _softmax(logits), 0), "the first expert is chosen for every token", "look for argmax along the last axis"),
        Misconception("gate in the first column", lambda logits: np.where(np.arange(np.shape(logits)[-1]) == 0, np.max(_softmax(logits), axis=-1, keepdims=True), 0), "the winner's probability stands in the first column", "it stands in the winner's column"),
        Misconception("probability for all", lambda logits: np.max(_softmax(logits), axis=-1, keepdims=True) + 0 * np.asarray(logits), "every expert gets the winner's probability", "the others get 0"),
        Misconception("largest of all", lambda logits: np.where(_softmax(logits) == np.max(_softmax(logits)), _softmax(logits), 0), "only the largest probability of all tokens is kept", "each token has its own winner: max along the last axis, with keepdims=True"),
        Misconception("rows copied", _rows_copied, "the winners' numbers choose whole rows, that is tokens", "gates[np.arange(tokens), winner] is one entry in each row"),
        Misconception("probabilities written for every token", lambda logits: _written_to_all_rows(np.argmax(logits, axis=-1), np.max(_softmax(logits), axis=-1), np.shape(logits)[-1]), "each winner's probability is written into the rows of all tokens", "gates[:, winner] is all rows; gates[np.arange(tokens), winner] is one entry in each"),
        Misconception("not dense", lambda logits: np.max(_softmax(logits), axis=-1), "one probability for each token is returned", "a column for every expert is asked for: (tokens, experts)"),
        Misconception("not dense, a column", lambda logits: np.max(_softmax(logits), axis=-1, keepdims=True), "one column with the winners' probabilities is returned", "a column for every expert is asked for: (tokens, experts)"),
        Misconception("expert numbers", lambda logits: np.argmax(logits, axis=-1), "the winners' numbers are returned", "the gates are asked for, one column for every expert"),
        whole_for_whole(switch_route),
        *rounded(switch_route),
        negated(switch_route),
    ),
    hints=(
        "Look at the order: first the softmax over all experts, then the choice; nothing is normalised after it.",
        "argmax along the last axis gives the winner; compare it with np.arange(experts) to get its column.",
        "winner = np.arange(logits.shape[-1]) == logits.argmax(axis=___)[:, None], then np.where(winner, probabilities, 0.0)",
    ),
    why="With a gate of 1 the router would get no gradient; its probability scales the expert's output, so the router can learn.",
)


# ---------------------------------------------------------------- load_balance


def load_balance(logits):
    """Return experts * sum f_i P_i: f the share of tokens whose best expert is i, P the mean probability of i."""
    experts = logits.shape[-1]
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    P = np.mean(exponentials / exponentials.sum(axis=-1, keepdims=True), axis=0)
    f = np.mean(np.arange(experts) == logits.argmax(axis=-1)[:, None], axis=0)
    return float(experts * np.sum(f * P))


def _narrow_wins(rng):
    """Draw scores where one expert wins most tokens by a little and another wins a few by far."""
    scores = _scores(rng, 5, 4) - 6
    winner, other = rng.permutation(4)[:2]
    scores[:3, winner], scores[:3, other] = 1.0, 0.9
    scores[3:, other] = 4.0
    return scores


def _two_levels(rng):
    """Draw scores around 400 for one token and around -400 for another, where exp itself stays finite."""
    return _scores(rng, 2, 4) + np.array([[400.0], [-400.0]])


def balance_probes(rng):
    """Draw scores of a square, one token, one favoured and two favoured experts, whole numbers, 1e4, a strided view."""
    one, two = _scores(rng, 7, 4), _scores(rng, 8, 5)
    one[:, 2] += 6
    two[:5, 0] += 3
    two[5:, 3] += 3
    return (
        call(_scores(rng, 9, 5)),
        call(_scores(rng, 5, 5)),
        call(_scores(rng, 1, 4)),
        call(one),
        call(two),
        call(_whole_scores(rng, 6, 7)),
        call(_large_scores(rng, 5)),
        call(_scores(rng, 10, 3) / 4),
        call(_narrow_wins(rng)),
        call(_two_levels(rng)),
        call(_scores(rng, 12, 6)[::2, ::-1]),
    )


def _f(logits):
    return np.mean(_winner(logits), axis=0)


def _P(logits, normalise=_softmax):
    return np.mean(normalise(logits), axis=0)


def _experts(logits):
    return np.shape(logits)[-1]


def _entropy(p):
    return -np.sum(np.where(p > 0, p * np.log(np.maximum(p, 1e-300)), 0))


LOAD_BALANCE = Exercise(
    id="load_balance",
    probes=balance_probes,
    oracle=load_balance,
    variants=(lambda logits: np.shape(logits)[-1] * np.sum(_f(logits) * _P(logits)),),
    returns=Number(),
    library="ffnlib.experts.load_balance",
    misconceptions=(
        Misconception("experts missing", lambda logits: np.sum(_f(logits) * _P(logits)), "the factor experts is missing, as with a mean over the experts", "the result is 1 for perfect balance: experts * sum f_i P_i"),
        Misconception("tokens for experts", lambda logits: len(logits) * np.sum(_f(logits) * _P(logits)), "the number of tokens stands in the place of the number of experts", "experts is the length of the last axis"),
        Misconception("divided by experts", lambda logits: np.sum(_f(logits) * _P(logits)) / _experts(logits), "the sum is divided by the number of experts, as by a mean without its factor", "experts times the sum"),
        Misconception("experts twice", lambda logits: _experts(logits) ** 2 * np.sum(_f(logits) * _P(logits)), "the factor experts is used twice", "experts * sum f_i P_i"),
        Misconception("coefficient", lambda logits: 0.01 * load_balance(np.asarray(logits)), "the result is multiplied by the coefficient 0.01", "no coefficient is asked for"),
        Misconception("probabilities twice", lambda logits: _experts(logits) * np.sum(_P(logits) ** 2), "P stands in the place of f: the mean probabilities are squared", "f counts where the tokens are sent: argmax"),
        Misconception("shares twice", lambda logits: _experts(logits) * np.sum(_f(logits) ** 2), "f stands in the place of P: the shares are squared", "P is the mean probability, before any choice"),
        Misconception("counts for shares", lambda logits: _experts(logits) * np.sum(np.sum(_winner(logits), axis=0) * _P(logits)), "f holds the numbers of tokens, or P the sums of probabilities, instead of their means", "both are divided by the number of tokens"),
        Misconception("both as sums", lambda logits: _experts(logits) * np.sum(np.sum(_winner(logits), axis=0) * np.sum(_softmax(logits), axis=0)), "f and P are sums over the tokens", "both are divided by the number of tokens"),
        Misconception("two experts a token", lambda logits: _experts(logits) * np.sum(np.mean(_best(logits, 2), axis=0) * _P(logits)), "f counts the two best experts of each token", "top-1 dispatch: one expert a token"),
        Misconception("two experts a token, halved", lambda logits: _experts(logits) * np.sum(np.mean(_best(logits, 2), axis=0) / 2 * _P(logits)), "f counts the two best experts of each token, each with one half", "top-1 dispatch: one expert a token"),
        Misconception("worst expert", lambda logits: _experts(logits) * np.sum(_f(-np.asarray(logits)) * _P(logits)), "f counts the worst expert of each token", "argmax, not argmin"),
        Misconception("softmax over the tokens", lambda logits: _experts(logits) * np.sum(_f(logits) * _P(logits, _over_tokens)), "the softmax or the argmax runs over the tokens, so that every P_i or every f_i is 1 / tokens", "each token's probabilities add up to 1, and each token has one best expert: the last axis"),
        Misconception("no minlength", lambda logits: _experts(logits) * np.sum(np.bincount(np.argmax(logits, axis=-1)) / len(logits) * _P(logits)), "the counts end with the last expert that is the best of some token", "np.bincount(winner, minlength=experts) counts the others as 0"),
        Misconception("no minlength, in a product", lambda logits: _experts(logits) * (np.bincount(np.argmax(logits, axis=-1)) / len(logits)) @ _P(logits), "the counts end with the last expert that is the best of some token", "np.bincount(winner, minlength=experts) counts the others as 0"),
        Misconception("no minlength, in np.dot", lambda logits: _experts(logits) * np.dot(np.bincount(np.argmax(logits, axis=-1)) / len(logits), _P(logits)), "the counts end with the last expert that is the best of some token", "np.bincount(winner, minlength=experts) counts the others as 0"),
        Misconception("first expert only", lambda logits: _experts(logits) * _f(logits)[0] * _P(logits)[0], "only expert 0 enters the sum", "is there a return inside the loop? it ends the loop at its first turn"),
        Misconception("above one half", lambda logits: _experts(logits) * np.sum(np.mean(_softmax(logits) > 0.5, axis=0) * _P(logits)), "f counts experts with more than one half, so that some tokens have none", "every token has a best expert, however small its probability"),
        Misconception("only experts that occur", lambda logits: _experts(logits) * np.sum(np.unique(np.argmax(logits, axis=-1), return_counts=True)[1] / len(logits) * _P(logits)), "only experts that are the best of some token are counted", "np.bincount(winner, minlength=experts) counts the others as 0"),
        Misconception("winners as shares", lambda logits: _experts(logits) * np.sum(np.argmax(logits, axis=-1) * _P(logits)), "the winners' numbers stand in the place of their shares", "f_i counts how often i is among the winners, divided by the tokens"),
        Misconception("experts counted from 1", lambda logits: _experts(logits) * np.sum(np.append(_f(logits)[1:], 0.0) * _P(logits)), "the experts are counted from 1, so that the first is never counted", "experts are columns, and those are counted from 0: range(experts)"),
        Misconception("winners beside experts", lambda logits: _experts(logits) * np.sum(np.mean(np.equal(np.argmax(logits, axis=-1), np.arange(_experts(logits)))) * _P(logits)), "the winners, one for each token, are laid along the experts", "winner[:, None] == np.arange(experts) has a row for each token; then the mean over axis 0"),
        Misconception("best token of each expert, counted", lambda logits: _experts(logits) * np.sum(np.bincount(np.argmax(logits, axis=0), minlength=_experts(logits)) / len(logits) * _P(logits)), "argmax runs over the tokens, axis 0", "each token has one best expert: argmax along the last axis"),
        Misconception("best token of each expert, counted by probability", lambda logits: _experts(logits) * np.sum(np.bincount(np.argmax(_softmax(logits), axis=0), minlength=_experts(logits)) / len(logits) * _P(logits)), "argmax runs over the tokens, axis 0", "each token has one best expert: argmax along the last axis"),
        Misconception("best token of each expert", lambda logits: _experts(logits) * np.sum(np.bincount(np.argmax(logits, axis=0) % _experts(logits), minlength=_experts(logits)) / len(logits) * _P(logits)), "argmax runs over the tokens, axis 0", "each token has one best expert: argmax along the last axis"),
        Misconception("means over the experts", lambda logits: np.shape(logits)[-1] * np.sum(np.mean(_winner(logits), axis=1) * np.mean(_softmax(logits), axis=1)), "f and P are means over the experts instead of the tokens", "f and P have one entry for every expert: axis=0"),
        Misconception("no softmax", lambda logits: _experts(logits) * np.sum(_f(logits) * np.mean(logits, axis=0)), "P is the mean of the scores instead of the probabilities", "take the softmax over the experts first"),
        Misconception("softmax of the mean", lambda logits: _experts(logits) * np.sum(_f(logits) * _softmax(np.mean(logits, axis=0))), "the softmax is taken of the mean scores", "first the softmax of each token, then the mean"),
        Misconception("probabilities of the winners only", lambda logits: _experts(logits) * np.sum(_f(logits) * np.mean(switch_route(np.asarray(logits)), axis=0)), "P counts an expert's probability only where it wins", "P is the mean over all tokens"),
        Misconception("mean winning probability", lambda logits: np.mean(np.max(_softmax(logits), axis=-1)), "the mean probability of the winners is returned", "f and P are first averaged on their own, then multiplied"),
        Misconception("product before the mean", lambda logits: _experts(logits) * np.mean(np.max(_softmax(logits), axis=-1)), "choice and probability are multiplied token by token, so that P averages only over the tokens an expert receives", "f and P are first averaged over all tokens, each on its own, then multiplied"),
        Misconception("entropy of the probabilities", lambda logits: _entropy(_P(logits)), "the entropy of P is computed", "experts * sum f_i P_i"),
        Misconception("entropy of the shares", lambda logits: _entropy(_f(logits)), "the entropy of f is computed", "experts * sum f_i P_i"),
        Misconception("cross entropy", lambda logits: -np.sum(_f(logits) * np.log(_P(logits))), "the cross entropy of f and P is computed", "experts * sum f_i P_i"),
        Misconception("variation of the shares", lambda logits: np.var(_f(logits)) / np.mean(_f(logits)) ** 2, "the squared coefficient of variation of f is computed, an older balance loss", "experts * sum f_i P_i"),
        Misconception("variation of the probabilities", lambda logits: np.var(_P(logits)) / np.mean(_P(logits)) ** 2, "the squared coefficient of variation of P is computed, an older balance loss", "experts * sum f_i P_i"),
        Misconception("largest share", lambda logits: _experts(logits) * np.max(_f(logits)), "experts times the largest share is computed", "the sum over all experts is asked for"),
        Misconception("largest probability", lambda logits: _experts(logits) * np.max(_P(logits)), "experts times the largest mean probability is computed", "the sum over all experts is asked for"),
        Misconception("largest product", lambda logits: _experts(logits) * np.max(_f(logits) * _P(logits)), "experts times the largest product is computed", "the sum over all experts is asked for"),
        Misconception("minus one", lambda logits: load_balance(np.asarray(logits)) - 1, "1 is subtracted", "perfect balance gives 1, not 0"),
        Misconception("sum for product", lambda logits: _experts(logits) * np.sum(_f(logits) + _P(logits)), "f and P are added instead of multiplied", "sum f_i P_i"),
        Misconception("difference squared", lambda logits: _experts(logits) * np.sum((_f(logits) - _P(logits)) ** 2), "the squared differences of f and P are added", "sum f_i P_i"),
        Misconception("product of the sums", lambda logits: _experts(logits) * np.sum(_f(logits)) * np.sum(_P(logits)), "the sums of f and P are multiplied, and both are 1", "multiply entry by entry, then add"),
        Misconception("root", lambda logits: np.sqrt(load_balance(np.asarray(logits))), "the root of the result is taken", "experts * sum f_i P_i"),
        Misconception("variation of the shares, not squared", lambda logits: np.std(_f(logits)) / np.mean(_f(logits)), "the coefficient of variation of f is computed", "experts * sum f_i P_i"),
        Misconception("absolute differences", lambda logits: _experts(logits) * np.sum(np.abs(_f(logits) - _P(logits))), "the absolute differences of f and P are added", "sum f_i P_i"),
        Misconception("upside down", lambda logits: 1 / load_balance(np.asarray(logits)), "the result is upside down", "experts * sum f_i P_i"),
        Misconception("one expert less", lambda logits: (_experts(logits) - 1) * np.sum(_f(logits) * _P(logits)), "one expert less is counted in front", "experts is the length of the last axis"),
        Misconception("gates of two experts", lambda logits: _experts(logits) * np.sum(np.mean(topk_route(np.asarray(logits), 2), axis=0) * _P(logits)), "f is the mean gate of the two best experts", "f counts tokens: one best expert each"),
        Misconception("float32 on the way", lambda logits: float(np.float32(load_balance(np.asarray(logits)))), "the result went through float32", "look for a float32 array or tensor: ask for float64"),
        Misconception("per cent", lambda logits: 100 * load_balance(np.asarray(logits)), "the result is given in per cent", "experts * sum f_i P_i"),
        Misconception("f backwards", lambda logits: _experts(logits) * np.sum(_f(logits)[::-1] * _P(logits)), "f and P are in opposite order", "entry i of both belongs to expert i"),
        Misconception("both sorted", lambda logits: _experts(logits) * np.sum(np.sort(_f(logits)) * np.sort(_P(logits))), "f and P are sorted before they are multiplied", "entry i of both belongs to expert i"),
        Misconception("experts that nobody chose left out", lambda logits: np.sum(_f(logits) > 0) * np.sum(_f(logits) * _P(logits)), "only the experts that received a token are counted", "experts is the length of the last axis: minlength in bincount"),
        Misconception("overflow", lambda logits: _experts(logits) * np.sum(_f(logits) * _P(logits, _plain)), "exp overflows for large scores and the result becomes nan", "subtract the token's largest score before exp"),
        Misconception("overflow hidden", lambda logits: _experts(logits) * np.sum(_f(logits) * np.mean(np.nan_to_num(_plain(logits)), axis=0)), "exp overflows for large scores, and nan is replaced by 0", "subtract the token's largest score before exp"),
        Misconception("one maximum for all", lambda logits: _experts(logits) * np.sum(_f(logits) * _P(logits, _one_maximum)), "the largest score of all tokens is subtracted, so that a token far below it gets 0 / 0", "subtract each token's own maximum: axis=-1, keepdims=True"),
        Misconception("scores clipped", lambda logits: _experts(logits) * np.sum(_f(logits) * _P(np.clip(logits, -50, 50))), "the scores are clipped before exp, which makes large ones equal", "subtract the token's largest score instead"),
        Misconception("softmax of the whole array", lambda logits: _experts(logits) * np.sum(_f(logits) * np.mean(_softmax(np.ravel(logits)).reshape(np.shape(logits)), axis=0)), "one softmax is taken over all tokens and experts together", "each token's probabilities add up to 1: the last axis"),
        Misconception("logistic function", lambda logits: _experts(logits) * np.sum(_f(logits) * np.mean(sigmoid(logits), axis=0)), "P is the mean of the logistic function of the scores", "a softmax over the experts is asked for"),
        Misconception("router z-loss", lambda logits: np.mean((np.max(logits, axis=-1) + np.log(np.sum(np.exp(logits - np.max(logits, axis=-1, keepdims=True)), axis=-1))) ** 2), "the router z-loss is computed", "experts * sum f_i P_i"),
        *rounded(load_balance, (1, 2, 3, 4, 6)),
        negated(load_balance),
    ),
    hints=(
        "Look at the two vectors, one entry for every expert: where the tokens go, and what probability the router gives on the average.",
        "f is the mean over the tokens of the one-hot choice, P the mean over the tokens of the softmax; multiply entry by entry and add.",
        "return float(experts * np.sum(___ * P))",
    ),
    why="f cannot be differentiated, P can: the product pushes probability away from the experts that already receive most tokens.",
)


# ---------------------------------------------------------------- capacity


def capacity(tokens, experts, k, factor):
    """Return how many tokens an expert takes, with the factor as the decimal that is written."""
    return math.ceil(tokens * k * Fraction(str(factor)) / experts)


FACTORS = (1.05, 1.1, 1.15, 1.2, 1.3, 1.35, 1.4, 1.6, 1.7, 1.9, 2.2, 2.3, 0.7, 0.9)
FLOAT_ORDERS = (
    ("tokens * k * factor / experts", lambda tokens, experts, k, factor: tokens * k * factor / experts),
    ("tokens * k / experts * factor", lambda tokens, experts, k, factor: tokens * k / experts * factor),
    ("tokens / experts * k * factor", lambda tokens, experts, k, factor: tokens / experts * k * factor),
    ("tokens / experts * factor * k", lambda tokens, experts, k, factor: tokens / experts * factor * k),
    ("tokens * factor * k / experts", lambda tokens, experts, k, factor: tokens * factor * k / experts),
    ("tokens * factor / experts * k", lambda tokens, experts, k, factor: tokens * factor / experts * k),
    ("k * factor * tokens / experts", lambda tokens, experts, k, factor: k * factor * tokens / experts),
    ("k * factor * (tokens / experts)", lambda tokens, experts, k, factor: k * factor * (tokens / experts)),
    ("k / experts * tokens * factor", lambda tokens, experts, k, factor: k / experts * tokens * factor),
    ("the exact value of the float", lambda tokens, experts, k, factor: tokens * k * Fraction(factor) / experts),
)


def _share(tokens, experts, k, factor):
    return tokens * k * Fraction(str(factor)) / experts


def _in_floats(order: str, value) -> Misconception:
    def program(tokens, experts, k, factor):
        return math.ceil(value(tokens, experts, k, factor))

    because = f"a float stands for the factor ({order}): 1.1 is stored as a little more than 1.1, and the ceiling makes a whole token of it"
    return Misconception(f"binary factor, {order}", program, because, "take the decimal as it is written: Fraction(str(factor)) or Decimal(str(factor))")


def _even_split(rng):
    """Draw sizes for which tokens * k * factor / experts is a whole number, so that floats may land just above it."""
    experts, k, factor = int(rng.integers(3, 40)), int(rng.integers(1, 8)), float(rng.choice(FACTORS))
    step = experts / (k * Fraction(str(factor)))
    return step.numerator * int(rng.integers(1, 1 + max(1, 900 // step.numerator))), experts, k, factor


def _telling_splits(rng):
    """Return even splits on which the orders of a float calculation go wrong, each in a pattern of its own."""
    chosen = [(100, 11, 1, 1.1)]
    patterns = [_pattern(*chosen[0])]
    for _ in range(2000):
        columns = list(zip(*patterns))
        if len(set(columns)) == len(columns) and all(any(column) for column in columns):
            return chosen
        sizes = _even_split(rng)
        pattern = _pattern(*sizes)
        if any(pattern) and not _any_below(*sizes) and len(set(zip(*patterns, pattern))) > len(set(columns)):
            chosen.append(sizes)
            patterns.append(pattern)
    raise ValueError("no sizes in 2000 draws tell the orders of a float calculation apart")


def _pattern(*sizes) -> tuple[bool, ...]:
    right = capacity(*sizes)
    return tuple(math.ceil(value(*sizes)) != right for _, value in FLOAT_ORDERS)


def _any_below(*sizes) -> bool:
    """Return whether a float lands below the exact value, where rounding down would go wrong as well."""
    exact = _share(*sizes)
    return any(value(*sizes) < exact for _, value in FLOAT_ORDERS)


def capacity_probes(rng):
    """Draw uneven splits, k = 1 and all, factors below one and of three decimals, small remainders, splits that fool floats."""
    return (
        call(int(rng.integers(200, 300)) * 2 + 1, 8, 2, 1.25),
        call(int(rng.integers(1000, 1100)), 17, 1, 1.0),
        call(int(rng.integers(30, 60)), 7, 7, 1.5),
        call(int(rng.integers(40, 60)) * 6 + 5, 6, 1, 2.0),
        call(int(rng.integers(5, 9)), 3, 2, 2.75),
        call(int(rng.integers(200, 300)), 13, 3, 0.8),
        call(3, 64, 5, 1.0),
        call(int(rng.integers(900_000, 1_000_000)) * 128 + 1, 128, 1, 1.0),
        call(int(rng.integers(20, 30)) * 16, 16, 2, 1.5),
        *(call(*sizes) for sizes in _telling_splits(rng)),
        call(int(rng.integers(3, 9)) * 20_000 + 1, 20_000, 1, 1.0),
        call(int(rng.integers(100, 200)) * 32, 8, 1, 1.125),
        call(int(rng.integers(100, 200)) * 40, 2, 1, 1.15),
    )


IN_FLOATS = "the factor is used as a float, where 1.1 is a little more than 1.1"
FLOAT_SLIPS = (
    Misconception("k missing, in floats", lambda tokens, experts, k, factor: math.ceil(tokens * factor / experts), f"k is left out, and {IN_FLOATS}", "each token is sent to k experts"),
    Misconception("experts missing, in floats", lambda tokens, experts, k, factor: math.ceil(tokens * k * factor), f"the division by the number of experts is missing, and {IN_FLOATS}", "one expert's share is asked for"),
    Misconception("multiplied by the experts, in floats", lambda tokens, experts, k, factor: math.ceil(tokens * k * factor * experts), f"the number of experts multiplies, and {IN_FLOATS}", "the assignments are spread over the experts"),
    Misconception("share rounded up, result not", lambda tokens, experts, k, factor: math.ceil(tokens * k / experts) * factor, "the even share is rounded up, and its product with the factor is not", "round up once, at the end, and take the factor as a decimal"),
    Misconception("rounded up before the factor, in floats", lambda tokens, experts, k, factor: math.ceil(math.ceil(tokens * k / experts) * factor), f"the even share is rounded up before the factor is applied, and {IN_FLOATS}", "round up once, at the end"),
    Misconception("rounded up before k and factor, in floats", lambda tokens, experts, k, factor: math.ceil(math.ceil(tokens / experts) * k * factor), f"tokens / experts is rounded up before k and the factor are applied, and {IN_FLOATS}", "round up once, at the end"),
    Misconception("rounded up before k, in floats", lambda tokens, experts, k, factor: k * math.ceil(tokens * factor / experts), f"the share of one choice is rounded up and then multiplied by k, and {IN_FLOATS}", "round up once, at the end"),
    Misconception("divided by k, in floats", lambda tokens, experts, k, factor: math.ceil(tokens * factor / (experts * k)), f"the share is divided by k, and {IN_FLOATS}", "k times as many assignments have to be placed"),
    Misconception("all experts together, in floats", lambda tokens, experts, k, factor: experts * math.ceil(tokens * k * factor / experts), f"the room of all experts together is returned, and {IN_FLOATS}", "one expert's room is asked for"),
    Misconception("at most all tokens, in floats", lambda tokens, experts, k, factor: min(tokens, math.ceil(tokens * k * factor / experts)), f"the result is cut off at the number of tokens, and {IN_FLOATS}", "the formula has no such limit"),
    Misconception("at least four, in floats", lambda tokens, experts, k, factor: max(4, math.ceil(tokens * k * factor / experts)), f"the result is at least 4, and {IN_FLOATS}", "the formula has no such limit"),
    Misconception("at least k, in floats", lambda tokens, experts, k, factor: max(k, math.ceil(tokens * k * factor / experts)), f"the result is at least k, and {IN_FLOATS}", "the formula has no such limit"),
    Misconception("factor and share rounded up", lambda tokens, experts, k, factor: math.ceil(tokens * k / experts) * math.ceil(factor), "the even share and the factor are rounded up before they are multiplied", "round up once, at the end"),
)

CAPACITY = Exercise(
    id="capacity",
    probes=capacity_probes,
    oracle=capacity,
    returns=Count(),
    library="ffnlib.experts.capacity",
    misconceptions=(
        *(_in_floats(order, value) for order, value in FLOAT_ORDERS),
        Misconception("rounded down", lambda tokens, experts, k, factor: math.floor(_share(tokens, experts, k, factor)), "the result is rounded down", "a part of a token needs a whole place: math.ceil; -(-a // b) does it for whole numbers and fractions, not for Decimal"),
        Misconception("rounded to the nearest", lambda tokens, experts, k, factor: round(_share(tokens, experts, k, factor)), "the result is rounded to the nearest whole number", "a part of a token needs a whole place: round up"),
        Misconception("always one more", lambda tokens, experts, k, factor: math.floor(_share(tokens, experts, k, factor)) + 1, "1 is added also when the share is a whole number", "what should come out when the share is exactly 10?"),
        Misconception("not rounded", lambda tokens, experts, k, factor: float(_share(tokens, experts, k, factor)) * (1 + 1e-12), "the share is not rounded up to a whole number of tokens", "math.ceil is missing"),
        Misconception("factor missing", lambda tokens, experts, k, factor: -(-tokens * k // experts), "the factor is left out", "how much room is there beyond the even share?"),
        Misconception("k missing", lambda tokens, experts, k, factor: math.ceil(_share(tokens, experts, 1, factor)), "k is left out", "each token is sent to k experts"),
        Misconception("k and factor missing", lambda tokens, experts, k, factor: -(-tokens // experts), "k and the factor are left out", "each token is sent to k experts"),
        Misconception("experts missing", lambda tokens, experts, k, factor: math.ceil(_share(tokens, 1, k, factor)), "the division by the number of experts is missing", "one expert's share is asked for"),
        Misconception("divided by k", lambda tokens, experts, k, factor: math.ceil(tokens * Fraction(str(factor)) / (experts * k)), "the share is divided by k", "k times as many assignments have to be placed"),
        Misconception("divided by the factor", lambda tokens, experts, k, factor: math.ceil(tokens * k / Fraction(str(factor)) / experts), "the share is divided by the factor", "a factor above 1 makes more room"),
        Misconception("multiplied by the experts", lambda tokens, experts, k, factor: math.ceil(tokens * k * Fraction(str(factor)) * experts), "the number of experts multiplies", "the assignments are spread over the experts"),
        Misconception("tokens and experts exchanged", lambda tokens, experts, k, factor: math.ceil(_share(experts, tokens, k, factor)), "tokens and experts have changed places", "tokens are spread over the experts"),
        Misconception("experts and k exchanged", lambda tokens, experts, k, factor: math.ceil(_share(tokens, k, experts, factor)), "experts and k have changed places", "the arguments come as tokens, experts, k, factor"),
        Misconception("tokens and k exchanged", lambda tokens, experts, k, factor: math.ceil(_share(k, experts, 1, factor)), "the tokens are left out", "tokens * k assignments have to be placed"),
        Misconception("rounded up before the factor", lambda tokens, experts, k, factor: math.ceil(-(-tokens * k // experts) * Fraction(str(factor))), "the even share is rounded up before the factor is applied, and once more after it", "round up once, at the end"),
        Misconception("rounded up before the factor, down after it", lambda tokens, experts, k, factor: math.floor(-(-tokens * k // experts) * Fraction(str(factor))), "the even share is rounded up before the factor is applied, and down after it", "round up once, at the end"),
        Misconception("rounded down before the factor", lambda tokens, experts, k, factor: math.ceil(tokens * k // experts * Fraction(str(factor))), "the even share is rounded down before the factor is applied", "round up once, at the end"),
        Misconception("rounded down twice", lambda tokens, experts, k, factor: math.floor(tokens * k // experts * Fraction(str(factor))), "the even share is rounded down, and the result as well", "round up once, at the end"),
        Misconception("rounded up before k", lambda tokens, experts, k, factor: k * math.ceil(_share(tokens, experts, 1, factor)), "the share of one choice is rounded up and then multiplied by k", "round up once, at the end"),
        Misconception("rounded up before k and factor", lambda tokens, experts, k, factor: math.ceil(-(-tokens // experts) * k * Fraction(str(factor))), "tokens / experts is rounded up before k and the factor are applied", "round up once, at the end"),
        Misconception("rounded down before k and factor", lambda tokens, experts, k, factor: math.ceil(tokens // experts * k * Fraction(str(factor))), "tokens / experts is rounded down before k and the factor are applied", "round up once, at the end"),
        Misconception("factor cut to a whole number", lambda tokens, experts, k, factor: -(-tokens * k * int(factor) // experts), "the factor is cut to a whole number", "look for int(factor) or //"),
        Misconception("factor rounded up", lambda tokens, experts, k, factor: -(-tokens * k * math.ceil(factor) // experts), "the factor is rounded up to a whole number", "round up once, at the end"),
        Misconception("factor on top", lambda tokens, experts, k, factor: math.ceil(_share(tokens, experts, k, 1) * (1 + Fraction(str(factor)))), "1 + factor stands in the place of the factor", "a factor of 1.25 already contains the even share"),
        Misconception("factor added", lambda tokens, experts, k, factor: math.ceil(_share(tokens, experts, k, 1) + Fraction(str(factor))), "the factor is added instead of multiplied", "a factor multiplies the even share"),
        Misconception("at most all tokens", lambda tokens, experts, k, factor: min(tokens, math.ceil(_share(tokens, experts, k, factor))), "the result is cut off at the number of tokens", "the formula has no such limit"),
        Misconception("at least k", lambda tokens, experts, k, factor: max(k, math.ceil(_share(tokens, experts, k, factor))), "the result is at least k", "the formula has no such limit"),
        Misconception("at least four", lambda tokens, experts, k, factor: max(4, math.ceil(_share(tokens, experts, k, factor))), "the result is at least 4, as some implementations want it", "the formula has no such limit"),
        Misconception("multiple of eight", lambda tokens, experts, k, factor: -(-math.ceil(_share(tokens, experts, k, factor)) // 8) * 8, "the result is rounded up to a multiple of 8", "the next whole number is asked for"),
        Misconception("multiple of four", lambda tokens, experts, k, factor: -(-math.ceil(_share(tokens, experts, k, factor)) // 4) * 4, "the result is rounded up to a multiple of 4", "the next whole number is asked for"),
        Misconception("all experts together", lambda tokens, experts, k, factor: experts * math.ceil(_share(tokens, experts, k, factor)), "the room of all experts together is returned", "one expert's room is asked for"),
        Misconception("k squared", lambda tokens, experts, k, factor: math.ceil(_share(tokens, experts, k * k, factor)), "k is used twice", "tokens * k assignments have to be placed"),
        Misconception("factor squared", lambda tokens, experts, k, factor: math.ceil(_share(tokens, experts, k, factor) * Fraction(str(factor))), "the factor is used twice", "the factor multiplies once"),
        Misconception("two choices", lambda tokens, experts, k, factor: math.ceil(_share(tokens, experts, 2, factor)), "two choices a token are counted, whatever k is", "use the argument k"),
        Misconception("factor 1.25", lambda tokens, experts, k, factor: math.ceil(_share(tokens, experts, k, 1.25)), "1.25 stands in the place of the factor", "use the argument factor"),
        Misconception("one expert less", lambda tokens, experts, k, factor: math.ceil(_share(tokens, experts - 1, k, factor)), "the tokens are spread over one expert less", "all experts share them"),
        Misconception("one expert more", lambda tokens, experts, k, factor: math.ceil(_share(tokens, experts + 1, k, factor)), "the tokens are spread over one expert more", "only the given experts share them"),
        *FLOAT_SLIPS,
        Misconception("a thousandth forgiven", lambda tokens, experts, k, factor: math.ceil(_share(tokens, experts, k, factor) - Fraction(1, 1000)), "a thousandth is subtracted before rounding up, or the share is rounded to three digits, so that a small remainder is lost", "with the factor as a decimal nothing has to be forgiven: Fraction(str(factor))"),
        Misconception("factor in whole per cent, rounded down", lambda tokens, experts, k, factor: -(-tokens * k * int(100 * factor) // (100 * experts)), "the factor is cut to whole per cent by int(100 * factor)", "keep every digit that is written: Fraction(str(factor))"),
        Misconception("factor with two decimals", lambda tokens, experts, k, factor: math.ceil(_share(tokens, experts, k, Decimal(f"{factor:.2f}"))), "the factor is rounded to two decimals", "keep every digit that is written: str(factor)"),
        Misconception("factor with one decimal", lambda tokens, experts, k, factor: math.ceil(_share(tokens, experts, k, Decimal(f"{factor:.1f}"))), "the factor is rounded to one decimal", "keep every digit that is written: str(factor)"),
    ),
    grammar=Grammar(
        terms=lambda tokens, experts, k, factor: {"share": _share(tokens, experts, k, factor)},
        nouns={},
        inputs=(
            ("the factor is left out", lambda tokens, experts, k, factor: (tokens, experts, k, 1)),
            ("k is left out", lambda tokens, experts, k, factor: (tokens, experts, 1, factor)),
            ("the tokens are doubled", lambda tokens, experts, k, factor: (2 * tokens, experts, k, factor)),
            ("the factor is used twice", lambda tokens, experts, k, factor: (tokens, experts, k, Fraction(str(factor)) ** 2)),
            ("1 is taken off the factor", lambda tokens, experts, k, factor: (tokens, experts, k, Fraction(str(factor)) - 1)),
            ("1 is added to the factor", lambda tokens, experts, k, factor: (tokens, experts, k, Fraction(str(factor)) + 1)),
            ("k + 1 choices are counted", lambda tokens, experts, k, factor: (tokens, experts, k + 1, factor)),
            ("one token too many is counted", lambda tokens, experts, k, factor: (tokens + 1, experts, k, factor)),
            ("one token too few is counted", lambda tokens, experts, k, factor: (tokens - 1, experts, k, factor)),
        ),
        factors=(
            ("the result is rounded up to a multiple of 8", lambda total, tokens, experts, k, factor: -(-total // 8) * 8),
            ("the result is rounded up to a multiple of 4", lambda total, tokens, experts, k, factor: -(-total // 4) * 4),
            ("the room of all experts together is returned", lambda total, tokens, experts, k, factor: total * experts),
            ("the result is cut off at the number of tokens", lambda total, tokens, experts, k, factor: min(total, tokens)),
            ("what is left of the tokens is returned", lambda total, tokens, experts, k, factor: tokens - total),
        ),
        combine=lambda terms, tokens, experts, k, factor: math.ceil(terms["share"]),
    ),
    hints=(
        "Look at the order: tokens times k assignments, times the factor, spread over the experts, rounded up once at the end.",
        "The float 1.1 is not 1.1: fractions.Fraction(str(factor)), or decimal.Decimal, takes the decimal as it is written.",
        "return math.ceil(tokens * k * Fraction(___) / experts)",
    ),
    why="In floats 100 * 1.1 is 110.00000000000001, and the ceiling of its eleventh part is 11; exact arithmetic gives 10.",
)


# ---------------------------------------------------------------- moe_forward


def moe_forward(x, W_router, W1, b1, W2, b2, k):
    """Return, for each token, the weighted sum of its k best experts' outputs."""
    gates = topk_route(x @ W_router, k)
    mixed = np.zeros(x.shape)
    for expert in range(W_router.shape[1]):
        hidden = np.maximum(0, x @ W1[expert] + b1[expert])
        mixed += gates[:, expert, None] * (hidden @ W2[expert] + b2[expert])
    return mixed


def expert_layers(rng, d: int, d_ff: int, experts: int):
    """Draw W_router, W1, b1, W2 and b2 for a mixture of experts."""
    return (
        rng.normal(size=(d, experts)),
        rng.normal(size=(experts, d, d_ff)),
        rng.normal(size=(experts, d_ff)) + 0.2,
        rng.normal(size=(experts, d_ff, d)),
        rng.normal(size=(experts, d)) + 0.5,
    )


def _large_router(rng):
    """Draw a router with scores of 1e4, close together for one token and far apart for the others."""
    x = np.concatenate([np.ones((4, 1)), rng.normal(size=(4, 2))], axis=1)
    layers = expert_layers(rng, 3, 4, 5)
    router = layers[0].copy()
    router[0] = 1e4
    router[1] *= 0.3
    x[2] *= -1
    return x, router, *layers[1:]


def _favouring_router(rng):
    """Draw a router that sends every token to experts 1 and 3, so that the others receive none."""
    layers = expert_layers(rng, 4, 5, 5)
    router = 0.1 * layers[0]
    router[0, [1, 3]] += 4
    return np.abs(rng.normal(size=(5, 4))) + 0.5, router, *layers[1:]


def moe_probes(rng):
    """Draw k = 1, k = all, a square, one token, whole numbers, 1e4, unused experts, a narrow layer, a strided view."""
    return (
        call(rng.normal(size=(6, 4)), *expert_layers(rng, 4, 3, 5), 2),
        call(rng.normal(size=(4, 4)), *expert_layers(rng, 4, 4, 4), 2),
        call(rng.normal(size=(5, 3)), *expert_layers(rng, 3, 6, 4), 1),
        call(rng.normal(size=(4, 4)), *expert_layers(rng, 4, 5, 3), 3),
        call(rng.normal(size=(1, 4)), *expert_layers(rng, 4, 6, 5), 3),
        call(rng.integers(-3, 4, size=(5, 4)) + np.eye(5, 4, dtype=np.int64), *expert_layers(rng, 4, 5, 6), 2),
        call(*_large_router(rng), 2),
        call(*_favouring_router(rng), 2),
        call(rng.normal(size=(8, 6))[::2, ::2], *expert_layers(rng, 3, 4, 4), 3),
    )


def _relu(z):
    return np.maximum(0, z)


def _each(x, W1, b1, W2, b2, bend=_relu):
    """Return every expert's output for every token, (tokens, experts, d)."""
    hidden = bend(np.einsum("td,edf->tef", x, W1) + b1)
    return np.einsum("tef,efd->ted", hidden, W2) + b2


def _mix(gates, outputs):
    return np.einsum("te,ted->td", gates, outputs)


def _gates(x, W_router, k):
    return topk_route(x @ W_router, k)


def _turned(W):
    return np.swapaxes(W, -1, -2)


def _last_kept(gates, outputs):
    """Return the contribution of each token's last chosen expert only."""
    last = np.cumsum(gates[:, ::-1] > 0, axis=1)[:, ::-1] == 1
    return _mix(gates * (last & (gates > 0)), outputs)


def _cut_at_every_step(x, W_router, W1, b1, W2, b2, k):
    """Return the sum of contributions, cut to whole numbers after each of them when x holds whole numbers."""
    gates, outputs, mixed = _gates(x, W_router, k), _each(x, W1, b1, W2, b2), np.zeros_like(x)
    for expert in range(gates.shape[1]):
        mixed = (mixed + gates[:, expert, None] * outputs[:, expert]).astype(x.dtype)
    return mixed


def _with_room_for(gates, room):
    """Return the gates with those tokens dropped that come after an expert is full."""
    return np.where(np.cumsum(gates > 0, axis=0) <= room, gates, 0)


def _weights_mixed(x, W_router, W1, b1, W2, b2, k):
    gates = _gates(x, W_router, k)
    hidden = _relu(np.einsum("td,te,edf->tf", x, gates, W1) + gates @ b1)
    return np.einsum("tf,te,efd->td", hidden, gates, W2) + gates @ b2


def _one_after_the_other(x, W_router, W1, b1, W2, b2, k):
    gates, stream = _gates(x, W_router, k), x * 1.0
    for e in range(len(W1)):
        stream = stream + gates[:, e, None] * (_relu(stream @ W1[e] + b1[e]) @ W2[e] + b2[e])
    return stream


MOE_FORWARD = Exercise(
    id="moe_forward",
    probes=moe_probes,
    oracle=moe_forward,
    returns=Array(),
    library="ffnlib.experts.moe_forward",
    misconceptions=(
        Misconception("gates not renormalised", lambda x, W_router, W1, b1, W2, b2, k: _mix(np.where(_best(x @ W_router, k), _softmax(x @ W_router), 0), _each(x, W1, b1, W2, b2)), "the k best experts keep their probabilities under the softmax over all experts", "each token's gates add up to 1: a softmax among the k best"),
        Misconception("all experts", lambda x, W_router, W1, b1, W2, b2, k: _mix(_softmax(x @ W_router), _each(x, W1, b1, W2, b2)), "all experts take part, weighted by the softmax over all of them", "k is not used: only the k best take part"),
        Misconception("Switch gate", lambda x, W_router, W1, b1, W2, b2, k: _mix(np.where(_best(x @ W_router, 1), _softmax(x @ W_router), 0), _each(x, W1, b1, W2, b2)), "only the best expert takes part, with its probability among all: Switch routing", "k experts take part, with a softmax among them"),
        Misconception("equal gates", lambda x, W_router, W1, b1, W2, b2, k: _mix(_best(x @ W_router, k) / k, _each(x, W1, b1, W2, b2)), "the k best experts are averaged with equal weights", "the gates are a softmax among the k best"),
        Misconception("first k experts, own gates", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k)[:, :k], _each(x, W1, b1, W2, b2)[:, :k]), "only the first k experts are visited, each with its gate", "every expert may be among a token's k best: visit them all"),
        Misconception("plain sum", lambda x, W_router, W1, b1, W2, b2, k: _mix(_best(x @ W_router, k) * 1.0, _each(x, W1, b1, W2, b2)), "the k best experts are added without gates", "each output is multiplied by its gate"),
        Misconception("sum of all experts", lambda x, W_router, W1, b1, W2, b2, k: np.sum(_each(x, W1, b1, W2, b2), axis=1), "all experts are added, and the router is not used", "each output is multiplied by its gate"),
        Misconception("mean of all experts", lambda x, W_router, W1, b1, W2, b2, k: np.mean(_each(x, W1, b1, W2, b2), axis=1), "all experts are averaged, and the router is not used", "each output is multiplied by its gate"),
        Misconception("divided by k", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, b1, W2, b2)) / k, "the weighted sum is divided by k", "the gates add up to 1 already"),
        Misconception("scores as gates", lambda x, W_router, W1, b1, W2, b2, k: _mix(np.where(_best(x @ W_router, k), x @ W_router, 0), _each(x, W1, b1, W2, b2)), "the router's scores themselves are used as gates", "a softmax among the k best is missing"),
        Misconception("logistic gates", lambda x, W_router, W1, b1, W2, b2, k: _mix(np.where(_best(x @ W_router, k), sigmoid(x @ W_router), 0), _each(x, W1, b1, W2, b2)), "the gates are logistic functions of the scores", "a softmax among the k best is asked for"),
        Misconception("zeros in the softmax", lambda x, W_router, W1, b1, W2, b2, k: _mix(_softmax(np.where(_best(x @ W_router, k), x @ W_router, 0)), _each(x, W1, b1, W2, b2)), "the other scores are set to 0 before the softmax, and exp(0) is 1", "set them to -inf, or leave them out of the softmax"),
        Misconception("exponentials not normalised", lambda x, W_router, W1, b1, W2, b2, k: _mix(np.where(_best(x @ W_router, k), np.exp(x @ W_router), 0), _each(x, W1, b1, W2, b2)), "the gates are exponentials that are not divided by their sum", "each token's gates add up to 1"),
        Misconception("overflow", lambda x, W_router, W1, b1, W2, b2, k: _mix(_among(_best(x @ W_router, k), x @ W_router, _plain), _each(x, W1, b1, W2, b2)), "exp overflows for large scores and the result becomes nan", "subtract the token's largest score before exp"),
        Misconception("softmax over the tokens", lambda x, W_router, W1, b1, W2, b2, k: _mix(np.nan_to_num(_among(_best(x @ W_router, k), x @ W_router, _over_tokens)), _each(x, W1, b1, W2, b2)), "the softmax runs over the tokens, axis 0", "each token's gates add up to 1: the last axis"),
        Misconception("experts choose tokens", lambda x, W_router, W1, b1, W2, b2, k: _mix(topk_route((x @ W_router).T, k).T, _each(x, W1, b1, W2, b2)), "each expert chooses its k best tokens", "each token chooses its k best experts"),
        Misconception("worst experts", lambda x, W_router, W1, b1, W2, b2, k: _mix(_among(_best(-(x @ W_router), k), x @ W_router), _each(x, W1, b1, W2, b2)), "the k worst experts are chosen", "argsort is ascending: the best stand at the end"),
        Misconception("router with the sign turned", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, -W_router, k), _each(x, W1, b1, W2, b2)), "the router's scores enter with the opposite sign", "look for a minus that was meant for the sorting only"),
        Misconception("one expert too many", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k + 1), _each(x, W1, b1, W2, b2)), "k + 1 experts take part", "exactly k experts take part"),
        Misconception("one expert too few", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, max(1, k - 1)), _each(x, W1, b1, W2, b2)), "k - 1 experts take part", "exactly k experts take part"),
        Misconception("best expert only", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, 1), _each(x, W1, b1, W2, b2)), "only the best expert takes part, whatever k is", "k is not used"),
        Misconception("two experts", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, 2), _each(x, W1, b1, W2, b2)), "two experts take part, whatever k is", "k is not used"),
        Misconception("best expert only, with its gate", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k) * _best(x @ W_router, 1), _each(x, W1, b1, W2, b2)), "only the best expert's contribution is kept", "the contributions of all k experts are added: += in the loop"),
        Misconception("last expert only", lambda x, W_router, W1, b1, W2, b2, k: _last_kept(_gates(x, W_router, k), _each(x, W1, b1, W2, b2)), "only the contribution of the last chosen expert is kept", "look for = where += belongs"),
        Misconception("first chosen expert only", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k) * (np.cumsum(_best(x @ W_router, k), axis=-1) == 1), _each(x, W1, b1, W2, b2)), "of the chosen experts only the one with the lowest number contributes", "is there a return or break inside the loop? it ends the loop at its first turn"),
        Misconception("first expert left out", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k)[:, 1:], _each(x, W1, b1, W2, b2)[:, 1:]), "expert 0 is left out", "look for a range that begins at 1"),
        Misconception("last of all experts left out", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k)[:, :-1], _each(x, W1, b1, W2, b2)[:, :-1]), "the last expert is left out", "look for a range that ends early"),
        Misconception("first k experts", lambda x, W_router, W1, b1, W2, b2, k: _mix(_among(np.broadcast_to(np.arange(W_router.shape[1]) < k, (len(x), W_router.shape[1])), x @ W_router), _each(x, W1, b1, W2, b2)), "the first k experts take part, whatever their scores", "sort the scores before taking k of them"),
        Misconception("weights sorted", lambda x, W_router, W1, b1, W2, b2, k: _mix(_placed(x @ W_router, k, lambda best: np.broadcast_to(np.arange(k), best.shape)), _each(x, W1, b1, W2, b2)), "the sorted weights are given to the first k experts", "each weight belongs to the expert whose score it comes from"),
        Misconception("weights in rising order", lambda x, W_router, W1, b1, W2, b2, k: _mix(_placed(x @ W_router, k, lambda best: best[:, ::-1]), _each(x, W1, b1, W2, b2)), "the best expert gets the smallest weight, the k-th the largest", "weights and expert numbers must be in the same order"),
        Misconception("same experts for all", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(np.mean(x, axis=0, keepdims=True) + 0 * x, W_router, k), _each(x, W1, b1, W2, b2)), "the mean of the tokens is routed, and every token takes its experts", "each token is routed on its own"),
        Misconception("first token's gates", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x[:1] + 0 * x, W_router, k), _each(x, W1, b1, W2, b2)), "the first token's gates are used for every token", "each token is routed on its own"),
        Misconception("tokens dropped", lambda x, W_router, W1, b1, W2, b2, k: _mix(_with_room_for(_gates(x, W_router, k), -(-len(x) * k // W_router.shape[1])), _each(x, W1, b1, W2, b2)), "tokens beyond an expert's even share are dropped", "there is no capacity here: every token gets its k experts"),
        Misconception("no ReLU", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, b1, W2, b2, lambda z: z)), "the experts' ReLU is left out", "look between W1 and W2: what happens to a negative hidden value?"),
        Misconception("ReLU after W2", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _relu(_each(x, W1, b1, W2, b2, lambda z: z))), "the experts' ReLU stands after W2", "the ReLU belongs to the hidden values, before W2"),
        Misconception("two ReLUs", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _relu(_each(x, W1, b1, W2, b2))), "a second ReLU is applied to each expert's output", "an expert's output may be negative"),
        Misconception("ReLU on the result", lambda x, W_router, W1, b1, W2, b2, k: _relu(_mix(_gates(x, W_router, k), _each(x, W1, b1, W2, b2))), "a ReLU is applied to the result", "the result may be negative"),
        Misconception("GELU", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, b1, W2, b2, gelu)), "GELU stands in the place of ReLU", "the experts use ReLU here"),
        Misconception("tanh", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, b1, W2, b2, np.tanh)), "tanh stands in the place of ReLU", "the experts use ReLU here"),
        Misconception("logistic function", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, b1, W2, b2, sigmoid)), "the logistic function stands in the place of ReLU", "the experts use ReLU here"),
        Misconception("absolute value", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, b1, W2, b2, np.abs)), "the absolute value stands in the place of ReLU", "a negative hidden value becomes 0"),
        Misconception("ReLU on the input", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(_relu(x), W_router, k), _each(_relu(x), W1, b1, W2, b2)), "x goes through a ReLU first, for router and experts", "x is used as it is"),
        Misconception("k-th best only", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k) * (_ranks(x @ W_router) == k - 1), _each(x, W1, b1, W2, b2)), "only the contribution of the k-th best expert is kept", "the contributions are added: look for = where += belongs"),
        Misconception("experts in reverse order", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k)[:, ::-1], _each(x, W1, b1, W2, b2)), "the gates meet the experts in reverse order", "column e of the gates belongs to W1[e]"),
        Misconception("one expert on", lambda x, W_router, W1, b1, W2, b2, k: _mix(np.roll(_gates(x, W_router, k), 1, axis=1), _each(x, W1, b1, W2, b2)), "each gate meets the expert after its own", "column e of the gates belongs to W1[e]: look for e + 1"),
        Misconception("one expert back", lambda x, W_router, W1, b1, W2, b2, k: _mix(np.roll(_gates(x, W_router, k), -1, axis=1), _each(x, W1, b1, W2, b2)), "each gate meets the expert before its own", "column e of the gates belongs to W1[e]: look for e - 1"),
        Misconception("cut to whole numbers at every step", _cut_at_every_step, "for whole numbers as input the sum is cut to whole numbers after every expert", "np.zeros_like(x) takes over the integer type of x: np.zeros(x.shape)"),
        Misconception("SiLU", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, b1, W2, b2, silu)), "SiLU stands in the place of ReLU", "the experts use ReLU here"),
        Misconception("gate on the input", lambda x, W_router, W1, b1, W2, b2, k: sum(np.where(_gates(x, W_router, k)[:, e, None] > 0, _relu(_gates(x, W_router, k)[:, e, None] * x @ W1[e] + b1[e]) @ W2[e] + b2[e], 0) for e in range(W_router.shape[1])), "the gate multiplies an expert's input instead of its output", "route, compute the expert, then multiply by the gate"),
        Misconception("gate on the input of every expert", lambda x, W_router, W1, b1, W2, b2, k: sum(_relu(_gates(x, W_router, k)[:, e, None] * x @ W1[e] + b1[e]) @ W2[e] + b2[e] for e in range(W_router.shape[1])), "the gate multiplies the input of every expert, so that unchosen ones still add their biases", "multiply the output by the gate"),
        Misconception("b2 without gate", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, b1, W2, 0 * b2)) + _mix(_best(x @ W_router, k) * 1.0, 0 * _each(x, W1, b1, W2, b2) + b2), "b2 of the chosen experts is added without its gate", "the gate multiplies the whole output, b2 included"),
        Misconception("all b2 added", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, b1, W2, 0 * b2)) + np.sum(b2, axis=0), "b2 of every expert is added, chosen or not", "the gate multiplies the whole output, b2 included"),
        Misconception("no b1", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, 0 * b1, W2, b2)), "b1 is left out", "each expert has b1 and b2"),
        Misconception("no b2", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, b1, W2, 0 * b2)), "b2 is left out", "each expert has b1 and b2"),
        Misconception("no biases", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, 0 * b1, W2, 0 * b2)), "both biases are left out", "each expert has b1 and b2"),
        Misconception("ReLU before b1", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), np.einsum("tef,efd->ted", _relu(np.einsum("td,edf->tef", x, W1)) + b1, W2) + b2), "the ReLU is applied before b1 is added", "the bias shifts where the ReLU bends: add it first"),
        Misconception("b1 subtracted", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, -b1, W2, b2)), "b1 is subtracted", "check the sign before b1"),
        Misconception("b2 subtracted", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, b1, W2, -b2)), "b2 is subtracted", "check the sign before b2"),
        Misconception("weights of expert 0", lambda x, W_router, W1, b1, W2, b2, k: _each(x, W1[:1], b1[:1], W2[:1], b2[:1])[:, 0], "expert 0 computes for all, so that the gates have no effect", "use the expert's number in W1[e], b1[e], W2[e], b2[e]"),
        Misconception("W1 of expert 0", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1[:1] + 0 * W1, b1, W2, b2)), "W1 of expert 0 is used by all experts", "W1[e] belongs to expert e"),
        Misconception("W2 of expert 0", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, b1, W2[:1] + 0 * W2, b2)), "W2 of expert 0 is used by all experts", "W2[e] belongs to expert e"),
        Misconception("biases of expert 0", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, b1[:1] + 0 * b1, W2, b2[:1] + 0 * b2)), "the biases of expert 0 are used by all experts", "b1[e] and b2[e] belong to expert e"),
        Misconception("b1 of expert 0", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, b1[:1] + 0 * b1, W2, b2)), "b1 of expert 0 is used by all experts", "b1[e] belongs to expert e"),
        Misconception("b2 of expert 0", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, b1, W2, b2[:1] + 0 * b2)), "b2 of expert 0 is used by all experts", "b2[e] belongs to expert e"),
        Misconception("mean expert", lambda x, W_router, W1, b1, W2, b2, k: _each(x, np.mean(W1, axis=0)[None], np.mean(b1, axis=0)[None], np.mean(W2, axis=0)[None], np.mean(b2, axis=0)[None])[:, 0], "the experts' weights are averaged into one layer", "the outputs are mixed, not the weights"),
        Misconception("weights mixed by the gates", _weights_mixed, "each token's experts are mixed by the gates into one network, which computes once", "the outputs are mixed, not the weights: between them stands the ReLU"),
        Misconception("expert after expert", _one_after_the_other, "each expert's share is added to x, and the next expert takes that sum as its input", "every expert takes x itself, and the result starts at 0"),
        Misconception("first expert only", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k)[:, :1], _each(x, W1, b1, W2, b2)[:, :1]), "only expert 0 contributes", "is there a return inside the loop? it ends the loop at its first turn"),
        Misconception("softmax over the tokens, kept for the k best", lambda x, W_router, W1, b1, W2, b2, k: _mix(np.where(_best(x @ W_router, k), _over_tokens(x @ W_router), 0), _each(x, W1, b1, W2, b2)), "the softmax of the scores runs over the tokens, axis 0", "each token's gates add up to 1: the last axis"),
        Misconception("W1 transposed", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, _turned(W1), b1, W2, b2)), "W1 is transposed: that is the other convention", "W1[e] has shape (d, d_ff)"),
        Misconception("W2 transposed", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, b1, _turned(W2), b2)), "W2 is transposed: that is the other convention", "W2[e] has shape (d_ff, d)"),
        Misconception("both transposed", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, _turned(W1), b1, _turned(W2), b2)), "W1 and W2 are transposed: that is the other convention", "W1[e] has shape (d, d_ff)"),
        Misconception("router transposed", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router.T, k), _each(x, W1, b1, W2, b2)), "W_router is transposed", "W_router has shape (d, experts)"),
        Misconception("W1 and W2 exchanged", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W2, b1, W1, b2)), "W1 and W2 have changed places", "which matrix does x meet first?"),
        Misconception("biases exchanged", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router, k), _each(x, W1, b2, W2, b1)), "b1 and b2 have changed places", "b1 belongs to the hidden values"),
        Misconception("residual added", lambda x, W_router, W1, b1, W2, b2, k: x + _mix(_gates(x, W_router, k), _each(x, W1, b1, W2, b2)), "x is added to the result: the residual connection belongs to the block around the layer", "the layer alone is asked for"),
        Misconception("router after ReLU", lambda x, W_router, W1, b1, W2, b2, k: _mix(topk_route(_relu(x @ W_router) - 1e-3 * (x @ W_router < 0) * _ranks(x @ W_router), k), _each(x, W1, b1, W2, b2)), "the router's scores go through a ReLU", "the scores are x W_router, negative ones too"),
        Misconception("routed by the cut input", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(_relu(x), W_router, k), _each(x, W1, b1, W2, b2)), "the router sees relu(x)", "the scores are x W_router"),
        Misconception("scaled router", lambda x, W_router, W1, b1, W2, b2, k: _mix(_gates(x, W_router / np.sqrt(len(W_router)), k), _each(x, W1, b1, W2, b2)), "the scores are divided by the root of d", "the softmax has no temperature"),
        Misconception("gates returned", lambda x, W_router, W1, b1, W2, b2, k: _gates(x, W_router, k), "the gates are returned", "the experts' outputs are still to be mixed"),
        Misconception("outputs returned", lambda x, W_router, W1, b1, W2, b2, k: _gates(x, W_router, k)[..., None] * _each(x, W1, b1, W2, b2), "the weighted outputs are returned without adding them up", "sum over the experts"),
        Misconception("sum over the tokens", lambda x, W_router, W1, b1, W2, b2, k: np.sum(_mix(_gates(x, W_router, k), _each(x, W1, b1, W2, b2)), axis=0), "the results are added over the tokens", "the result has the shape of x"),
        whole_for_whole(moe_forward),
        *rounded(moe_forward),
        *added_up(moe_forward),
        negated(moe_forward),
    ),
    hints=(
        "Look at the parts you have: gates as in topk_route from the scores x W_router, and one feed-forward network for each expert.",
        "Loop over the experts; gates[:, e, None] has shape (tokens, 1) and multiplies every number of an expert's output.",
        "mixed += ___ * (hidden @ W2[e] + b2[e])",
    ),
    why="Unchosen experts have gate 0, so their outputs need not be computed: that is what makes many experts affordable.",
)

EXERCISES = (TOPK_ROUTE, SWITCH_ROUTE, LOAD_BALANCE, CAPACITY, MOE_FORWARD)
