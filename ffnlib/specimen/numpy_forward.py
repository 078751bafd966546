"""The specimen's forward pass in NumPy: the same names and, to 1e-4, the same numbers as `model.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

N_HEADS = 4


def layer_norm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    """Rows of `x` with mean 0 and variance 1, then scaled and shifted."""
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) * gain + bias


def softmax(x: np.ndarray) -> np.ndarray:
    """Probabilities along the last axis.

    >>> softmax(np.array([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def split_heads(x: np.ndarray, n_heads: int) -> np.ndarray:
    """(..., T, d_model) to (..., n_heads, T, d_head)."""
    return np.swapaxes(x.reshape(*x.shape[:-1], n_heads, -1), -3, -2)


def join_heads(x: np.ndarray) -> np.ndarray:
    """(..., n_heads, T, d_head) to (..., T, d_model)."""
    x = np.swapaxes(x, -3, -2)
    return x.reshape(*x.shape[:-2], -1)


def attention(x: np.ndarray, weights: Mapping[str, np.ndarray], name: Callable, n_heads: int) -> np.ndarray:
    """Causal self-attention of every row of `x` to the rows before it."""
    q, k, v = (name(letter, split_heads(x @ weights[f"attention.W{letter}"], n_heads)) for letter in "qkv")
    scores = q @ np.swapaxes(k, -2, -1) / q.shape[-1] ** 0.5  # (..., n_heads, T, T)
    future = np.triu(np.ones(scores.shape[-2:], dtype=bool), 1)
    pattern = name("pattern", softmax(np.where(future, -np.inf, scores)))
    return name("mixed", join_heads(pattern @ v)) @ weights["attention.Wo"]  # (..., T, d_model)


def feed_forward(x: np.ndarray, weights: Mapping[str, np.ndarray], name: Callable) -> np.ndarray:
    """Two matrices with a ReLU between them."""
    pre = name("pre", x @ weights["ffn.W1"] + weights["ffn.b1"])  # (..., d_ff)
    hidden = name("hidden", np.maximum(pre, 0))  # (..., d_ff)
    return hidden @ weights["ffn.W2"] + weights["ffn.b2"]  # (..., d_model)


def forward(
    weights: Mapping[str, np.ndarray],
    tokens: np.ndarray,
    replace: Mapping[str, object] | None = None,
    n_heads: int = N_HEADS,
) -> dict[str, np.ndarray]:
    """Every named value of the forward pass of `tokens` (..., T), logits last.

    `replace` maps names to arrays, or to functions of the value, that stand in for it.
    """
    values: dict[str, np.ndarray] = {}

    def name(key: str, value: np.ndarray) -> np.ndarray:
        change = (replace or {}).get(key)
        values[key] = value if change is None else change(value) if callable(change) else np.asarray(change)
        return values[key]

    tokens = np.asarray(tokens)
    x = name("embedding", weights["embedding"][tokens] + weights["position"][: tokens.shape[-1]])
    for layer in range(sum(key.endswith("ffn.W1") for key in weights)):
        x = _block(
            x, _inside(weights, f"blocks.{layer}."), lambda key, value, at=layer: name(f"{at}.{key}", value), n_heads
        )
    x = name("norm", layer_norm(x, weights["norm.gain"], weights["norm.bias"]))
    name("logits", x @ weights["embedding"].T)  # (..., T, vocabulary)
    return values


def _inside(weights: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {key.removeprefix(prefix): value for key, value in weights.items() if key.startswith(prefix)}


def _block(x: np.ndarray, weights: Mapping[str, np.ndarray], name: Callable, n_heads: int) -> np.ndarray:
    normed = name("norm1", layer_norm(x, weights["norm1.gain"], weights["norm1.bias"]))
    x = name("middle", x + name("attention", attention(normed, weights, name, n_heads)))
    normed = name("norm2", layer_norm(x, weights["norm2.gain"], weights["norm2.bias"]))
    return name("residual", x + name("ffn", feed_forward(normed, weights, name)))  # (..., T, d_model)
