"""A layer as a sum over its hidden units: coefficient times value, one row for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ffnlib.layer import hidden_units, relu


def kv_contributions(x, W1, b1, W2):
    """Return what every hidden unit adds to the output: row i is coefficient_i * value_i; their sum plus b2 is FFN(x).

    **Shapes** x (d_model,), W1 (d_model, d_ff), b1 (d_ff,), W2 (d_ff, d_model) -> (d_ff, d_model)

    **Source** Geva et al. 2021, Transformer Feed-Forward Layers Are Key-Value Memories, section 2

    >>> W1, W2 = np.array([[1.0, -1.0]]), np.array([[3.0], [5.0]])
    >>> kv_contributions(np.array([2.0]), W1, np.zeros(2), W2).tolist()
    [[6.0], [0.0]]
    """
    coefficient = hidden_units(x, W1, b1)  # (d_ff,)
    return coefficient[:, None] * W2  # (d_ff, d_model)


@dataclass(frozen=True, eq=False)
class Memory:
    """A feed-forward network of any layout as a memory: unit i holds `keys[i]`, `key_bias[i]` and `values[i]`.

    A gated layer has a second key for each unit, `up_keys[i]`: its coefficient is the activation of the first match
    times the second match.

    **Shapes** keys, up_keys, values (d_ff, d_model), key_bias and up_bias (d_ff,), value_bias (d_model,)
    """

    keys: np.ndarray
    key_bias: np.ndarray
    values: np.ndarray
    value_bias: np.ndarray
    activation: Callable[[np.ndarray], np.ndarray] = relu
    up_keys: np.ndarray | None = None
    up_bias: np.ndarray | float = 0.0

    def coefficients(self, x: np.ndarray) -> np.ndarray:
        """Return how strongly every unit fires.

        **Shapes** x (..., d_model) -> (..., d_ff)
        """
        match = self.activation(x @ self.keys.T + self.key_bias)  # (..., d_ff)
        return match if self.up_keys is None else match * (x @ self.up_keys.T + self.up_bias)

    def contributions(self, x: np.ndarray) -> np.ndarray:
        """Return what every unit adds to the output; the sum over units plus `value_bias` is the layer.

        **Shapes** x (d_model,) -> (d_ff, d_model)
        """
        return self.coefficients(x)[:, None] * self.values

    def output(self, x: np.ndarray) -> np.ndarray:
        """Return the layer's output.

        **Shapes** x (..., d_model) -> (..., d_model)
        """
        return self.coefficients(x) @ self.values + self.value_bias
