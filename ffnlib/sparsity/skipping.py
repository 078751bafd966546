"""Leaving silent units out: `hidden @ W2` that reads only the rows of W2 whose unit fires, where that is faster.

Five forms compute the same product. Which is fastest depends on how many units fire, on the sizes and on the number
of tokens; `best_form` looks at a sample of the hidden values and takes the one with the least expected cost.
`benchmarks/sparse.py` measures what the costs below only estimate.
"""

from __future__ import annotations

from functools import cache, wraps

import numpy as np

SAMPLED = 8  # every eighth unit is looked at before a form is chosen
CHOICE = ("take", "bag", "union")  # what NumPy and PyTorch offer; ("loop",) asks numba instead
STEPS = 256  # in which the share of firing units of one token is told apart
MARGIN = 0.8  # another form must be expected to take at most this share of the dense product's time

# What one product costs, in rows of W2 read by the dense product of one token, as measured on an x86-64 processor.
CALL = {"take": 120_000, "bag": 170_000, "union": 250_000, "loop": 40_000}  # numbers one could have read meanwhile
ROW = {"take": 2.7, "bag": 2.0, "union": 1.7, "loop": 1.1}  # a gathered row is fetched alone, and perhaps written back


def sparse_ffn(x, W1, b1, W2, b2, forms=CHOICE):
    """Return the ReLU feed-forward network of x; rows of W2 are left unread where that is faster.

    W1 is used in full, since only its product says which units fire. Arrays and CPU tensors are welcome; the result
    is an array. W2 must be finite, for the dense form reads every row.

    **Shapes** x (..., d_model), W1 (d_model, d_ff), b1 (d_ff,), W2 (d_ff, d_model), b2 (d_model,) -> (..., d_model)

    **Raises** as `sparse_product` does

    >>> W1, W2 = np.array([[1.0, -1.0]]), np.array([[3.0], [5.0]])
    >>> sparse_ffn(np.array([2.0]), W1, np.zeros(2), W2, np.ones(1)).tolist()
    [7.0]
    """
    x, W1, b1, b2 = (np.asarray(given) for given in (x, W1, b1, b2))
    hidden = x @ W1 + b1  # (..., d_ff)
    return sparse_product(np.maximum(hidden, 0, out=hidden), W2, forms) + b2  # (..., d_model)


def sparse_product(hidden, W2, forms=CHOICE):
    """Return `hidden @ W2`, computed in that one of these forms, or densely, that `best_form` expects to be fastest.

    **Shapes** hidden (..., d_ff), W2 (d_ff, d_model) -> (..., d_model)

    **Raises** ValueError for sizes that do not fit and for a form that is none of `FORMS`, ImportError when the form
    "loop" is chosen and numba is not installed

    >>> sparse_product(np.array([0.0, 2.0, 0.0]), np.array([[1.0], [10.0], [100.0]])).tolist()
    [20.0]
    """
    hidden, W2 = np.asarray(hidden), np.asarray(W2)
    form = FORMS[best_form(hidden, W2, forms)]
    if hidden.ndim <= 2:
        return form(hidden, W2)
    return form(hidden.reshape(-1, hidden.shape[-1]), W2).reshape(*hidden.shape[:-1], W2.shape[1])


# ---------------------------------------------------------------- the choice


def best_form(hidden, W2, forms=CHOICE):
    """Return the form with the least expected cost for these hidden values: "dense" unless another clearly wins.

    **Shapes** hidden (..., d_ff), W2 (d_ff, d_model)

    **Raises** ValueError for sizes that do not fit and for a form that is none of `FORMS`
    """
    if not gathers(hidden, W2):
        return "dense"
    if hidden.ndim == 1:
        sample = hidden[::SAMPLED]
        return _for_one_token(*W2.shape, tuple(forms))[STEPS * np.count_nonzero(sample) // sample.size]
    sample = hidden.reshape(-1, hidden.shape[-1])[:, ::SAMPLED]  # (tokens, d_ff / 8)
    together = np.count_nonzero(sample.any(axis=0)) / sample.shape[1]
    return _cheapest(forms, expected_costs(*W2.shape, np.count_nonzero(sample) / sample.size, len(sample), together))


@cache
def _for_one_token(d_ff, d_model, forms):
    """Name the cheapest form for each share of firing units in steps, once for all tokens."""
    return [_cheapest(forms, expected_costs(d_ff, d_model, step / STEPS)) for step in range(STEPS + 1)]


def _cheapest(forms, costs):
    if not set(forms) <= set(FORMS):
        raise ValueError(f"forms={forms!r} are not all among {', '.join(FORMS)}; leave them out and one is chosen")
    best = min((*forms, "dense"), key=costs.__getitem__)
    return best if costs[best] < MARGIN * costs["dense"] else "dense"


def expected_costs(d_ff, d_model, fires, tokens=1, together=None):
    """Return what each form is expected to cost when a share `fires` of the units fires for a token.

    `together` is the share that fires for any of the tokens; without it they are taken to fire independently.

    **Units** rows of W2 read by the dense product of one token; only ratios mean something
    """
    if together is None:
        together = 1 - (1 - fires) ** tokens
    dense = 1 if tokens == 1 else max(2 * tokens**0.5, tokens / 5)  # a product of several tokens shares what it reads
    rows = {"take": fires, "bag": fires, "loop": fires}
    costs = {form: tokens * (CALL[form] / d_model + ROW[form] * share * d_ff) for form, share in rows.items()}
    costs["union"] = CALL["union"] / d_model + (ROW["union"] + dense) * together * d_ff
    return {"dense": dense * d_ff, **costs}


def gathers(hidden, W2):
    """Say whether rows of W2 can be read one by one at all: floats of one type, rows in one piece, not empty."""
    if hidden.ndim == 0 or W2.ndim != 2 or hidden.shape[-1] != W2.shape[0]:
        raise ValueError(
            f"hidden of shape {hidden.shape} and W2 of shape {W2.shape} do not fit; "
            "the last axis of hidden counts the units, and W2 has one row for each"
        )
    known = hidden.dtype == W2.dtype and W2.dtype in (np.float32, np.float64)
    return bool(known and W2.flags.c_contiguous and W2.flags.writeable and hidden.size and W2.size)


# ---------------------------------------------------------------- the forms


def dense_product(hidden, W2):
    """Read every row."""
    return hidden @ W2


def each_token(form):
    """Let a form of one token (d_ff,) do several, (tokens, d_ff), one after the other."""

    @wraps(form)
    def for_all(hidden, W2):
        if hidden.ndim == 1:
            return form(hidden, W2)
        product = np.empty((len(hidden), W2.shape[1]), W2.dtype)
        for token, row in zip(hidden, product):
            row[:] = form(token, W2)
        return product

    return for_all


@each_token
def taken_rows(hidden, W2):
    """Copy the rows of the units that fire and multiply what was copied."""
    firing = (hidden != 0).nonzero()[0]  # asking a mask takes a third of the time of asking the floats
    return hidden.take(firing) @ W2.take(firing, 0)


@each_token
def bag_of_rows(hidden, W2):
    """Add up the rows of the units that fire without copying them: PyTorch's weighted bag of embeddings."""
    tensor, start, bag = _torch()
    firing = (hidden != 0).nonzero()[0]
    weights = tensor(hidden.take(firing))
    return bag(tensor(W2), tensor(firing.astype(np.int32)), start, False, 0, False, weights)[0].numpy()[0]


@cache
def _torch():
    """Load PyTorch once: a view of an array as a tensor, the start of the only bag, the sum over bags (mode 0)."""
    import torch

    return torch.from_numpy, torch.zeros(1, dtype=torch.int32), torch.embedding_bag


def union_of_rows(hidden, W2):
    """Copy the rows of the units that fire for any token, once, and multiply all tokens with them."""
    firing = (hidden != 0).reshape(-1, len(W2)).any(axis=0).nonzero()[0]
    return hidden.take(firing, -1) @ W2.take(firing, 0)


def loop_over_rows(hidden, W2):
    """Add up the rows in a compiled loop; needs numba."""
    from ffnlib.sparsity.compiled import compiled

    return compiled()(hidden.reshape(-1, len(W2)), W2).reshape(*hidden.shape[:-1], W2.shape[1])


FORMS = {
    "dense": dense_product,
    "take": taken_rows,
    "bag": bag_of_rows,
    "union": union_of_rows,
    "loop": loop_over_rows,
}
