"""The position-wise feed-forward network, in NumPy and in the row convention.

Every function here takes `x` with any number of leading axes and computes in float64. The row convention is
`x @ W1`: the keys of the hidden units are the columns of `W1`, their values the rows of `W2`.
"""

from __future__ import annotations

import numpy as np

from ffnlib.activations import silu, softmax


def relu(x):
    """Return max(0, x), element by element.

    >>> relu(np.array([-1.0, 0.0, 2.0])).tolist()
    [0.0, 0.0, 2.0]
    """
    return np.maximum(0.0, x)


def hidden_units(x, W1, b1):
    """Return the hidden activations `relu(x W1 + b1)`.

    **Shapes** x (..., d_model), W1 (d_model, d_ff), b1 (d_ff,) -> (..., d_ff)
    """
    return relu(x @ W1 + b1)  # (..., d_ff)


def feed_forward(x, W1, b1, W2, b2):
    """Return `relu(x W1 + b1) W2 + b2`, the same function at every position.

    **Shapes** x (..., d_model), W1 (d_model, d_ff), b1 (d_ff,), W2 (d_ff, d_model), b2 (d_model,) -> (..., d_model)

    **Source** Vaswani et al. 2017, section 3.3

    >>> W1, W2 = np.array([[1.0, -1.0]]), np.array([[3.0], [5.0]])
    >>> feed_forward(np.array([2.0]), W1, np.zeros(2), W2, np.ones(1)).tolist()
    [7.0]
    """
    return hidden_units(x, W1, b1) @ W2 + b2  # (..., d_model)


def from_columns(W1, W2):
    """Turn the weights of the column convention, `W2 relu(W1 x)`, into those of the row convention.

    **Shapes** W1 (d_ff, d_model), W2 (d_model, d_ff) -> W1 (d_model, d_ff), W2 (d_ff, d_model)
    """
    return np.swapaxes(W1, -1, -2), np.swapaxes(W2, -1, -2)


def feed_forward_columns(x, W1, b1, W2, b2):
    """Return the feed-forward network for weights of the column convention; x stays (..., d_model).

    **Shapes** x (..., d_model), W1 (d_ff, d_model), b1 (d_ff,), W2 (d_model, d_ff), b2 (d_model,) -> (..., d_model)
    """
    W1, W2 = from_columns(W1, W2)
    return feed_forward(x, W1, b1, W2, b2)


def linear_collapse(W1, b1, W2, b2):
    """Return the one linear map `(W, b)` that is left of the layer when its activation is removed.

    **Shapes** W1 (d_model, d_ff), b1 (d_ff,), W2 (d_ff, d_model), b2 (d_model,) -> W (d_model, d_model), b (d_model,)
    """
    return W1 @ W2, b1 @ W2 + b2


def swiglu(x, W_gate, W_up, W_down):
    """Return the gated layer `(silu(x W_gate) * (x W_up)) W_down`, without biases.

    **Shapes** x (..., d_model), W_gate and W_up (d_model, d_ff), W_down (d_ff, d_model) -> (..., d_model)

    **Source** Shazeer 2020, section 2

    >>> swiglu(np.array([800.0]), np.array([[1.0]]), np.array([[2.0]]), np.array([[1.0]])).tolist()
    [1280000.0]
    """
    return (silu(x @ W_gate) * (x @ W_up)) @ W_down  # (..., d_model)


def swiglu_fused(x, W_gate_up, W_down):
    """Return the gated layer with gate and up side by side in one matrix, gate first.

    **Shapes** x (..., d_model), W_gate_up (d_model, 2 d_ff), W_down (d_ff, d_model) -> (..., d_model)
    """
    gate, up = np.split(x @ W_gate_up, 2, axis=-1)  # (..., d_ff) each
    return (silu(gate) * up) @ W_down  # (..., d_model)


def self_attention(x, Wq, Wk, Wv):
    """Return one head of self-attention: at each position a mixture of all values, weighted by how query and key match.

    It stands here beside the layer that mixes nothing; there is no mask and no output projection.

    **Shapes** x (..., T, d_model), Wq and Wk (d_model, d_key), Wv (d_model, d_value) -> (..., T, d_value)

    **Source** Vaswani et al. 2017, section 3.2.1

    >>> no_preference, as_it_is = np.zeros((1, 1)), np.ones((1, 1))
    >>> self_attention(np.array([[1.0], [3.0]]), no_preference, no_preference, as_it_is).tolist()
    [[2.0], [2.0]]
    """
    scores = (x @ Wq) @ np.swapaxes(x @ Wk, -1, -2) / np.sqrt(Wk.shape[-1])  # (..., T, T)
    return softmax(scores) @ (x @ Wv)  # (..., T, d_value)


def layer_norm(x, gamma, beta, eps):
    """Return x with mean 0 and variance 1 along the last axis, then scaled by gamma and shifted by beta.

    The variance is the biased one (divided by d_model), and eps stands inside the root.

    **Shapes** x (..., d_model), gamma and beta (d_model,) -> (..., d_model)

    **Source** Ba, Kiros and Hinton 2016, section 3

    >>> layer_norm(np.array([1.0, 3.0]), np.array([2.0, 2.0]), np.array([0.0, 1.0]), 0.0).tolist()
    [-2.0, 3.0]
    """
    mean = np.mean(x, axis=-1, keepdims=True)  # (..., 1)
    variance = np.var(x, axis=-1, keepdims=True)  # (..., 1)
    return gamma * (x - mean) / np.sqrt(variance + eps) + beta  # (..., d_model)


def rms_norm(x, gamma, eps):
    """Return x divided by its root mean square along the last axis, then scaled by gamma.

    **Shapes** x (..., d_model), gamma (d_model,) -> (..., d_model)

    **Source** Zhang and Sennrich 2019, section 4

    >>> rms_norm(np.array([1.0, 7.0]), np.array([5.0, 5.0]), 0.0).tolist()
    [1.0, 7.0]
    """
    mean_square = np.mean(np.square(x), axis=-1, keepdims=True)  # (..., 1)
    return gamma * x / np.sqrt(mean_square + eps)  # (..., d_model)


def add_and_norm(x, y, gamma, beta, eps):
    """Return LayerNorm(x + y): how the original Transformer closes every sublayer y = f(x).

    **Shapes** x and y (..., d_model), gamma and beta (d_model,) -> (..., d_model)

    **Source** Vaswani et al. 2017, section 3.1
    """
    return layer_norm(x + y, gamma, beta, eps)  # (..., d_model)


def pre_norm(x, f, ln):
    """Return `x + f(ln(x))`: the norm stands before the sublayer, and x itself passes by unchanged.

    **Source** Xiong et al. 2020, On Layer Normalization in the Transformer Architecture, section 3

    >>> pre_norm(1.0, lambda y: 10 * y, lambda y: y + 1)
    21.0
    """
    return x + f(ln(x))


def post_norm(x, f, ln):
    """Return `ln(x + f(x))`: the norm stands after the sum, on the residual stream itself.

    **Source** Vaswani et al. 2017, section 3.1

    >>> post_norm(1.0, lambda y: 10 * y, lambda y: y + 1)
    12.0
    """
    return ln(x + f(x))


def transformer_block(x, attn, ffn, ln1, ln2):
    """Return a pre-norm block: the attention sublayer, then the feed-forward sublayer on its result.

    **Shapes** x (..., T, d_model) -> (..., T, d_model)

    **Source** Xiong et al. 2020, On Layer Normalization in the Transformer Architecture, section 3
    """
    return pre_norm(pre_norm(x, attn, ln1), ffn, ln2)  # (..., T, d_model)
