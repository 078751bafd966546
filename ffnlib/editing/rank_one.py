"""The linear algebra of an edit: move one answer of W2 and disturb the others least."""

from __future__ import annotations

import numpy as np

NEAR_ZERO = 1e-6
LARGEST_CHANGE = 2.0  # of W2, relative to W2: beyond it an edit writes a new matrix instead of changing one


class ZeroKey(ValueError):
    """No unit fires for this key: no change of W2 can answer to it."""


class TooLarge(ValueError):
    """The update needed is larger than the matrix it updates."""


def key_covariance(keys: np.ndarray, ridge: float = 1e-3) -> np.ndarray:
    """C = K^T K / n, with `ridge` times its mean diagonal added so that it can be inverted.

    **Shapes** keys (n, d_ff); result (d_ff, d_ff).

    **Source** Meng et al. 2022, Locating and Editing Factual Associations in GPT, section 3.1.

    >>> key_covariance(np.array([[1.0, 0.0], [1.0, 2.0]]), ridge=0).tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """
    keys = np.asarray(keys, dtype=np.float64)
    C = keys.T @ keys / len(keys)  # (d_ff, d_ff)
    return C + ridge * np.diag(C).mean() * np.eye(len(C))


def key_direction(key: np.ndarray, C: np.ndarray | None = None) -> np.ndarray:
    """u with u . key = 1, along C^-1 key: the direction other keys respond to least (along `key` itself without C).

    **Shapes** key (d_ff,), C (d_ff, d_ff); result (d_ff,).

    **Raises** ZeroKey for a key that is zero or nearly so.

    >>> key_direction(np.array([2.0, 0.0])).tolist()
    [0.5, 0.0]
    """
    key = np.asarray(key, dtype=np.float64)
    if not np.linalg.norm(key) > NEAR_ZERO:
        raise ZeroKey(
            f"the key has norm {np.linalg.norm(key):.3g}: no unit fires, so no update of W2 changes this token"
        )
    u = key if C is None else np.linalg.solve(C, key)
    return u / (u @ key)


def rank_one_update(W2: np.ndarray, key: np.ndarray, change: np.ndarray, C: np.ndarray | None = None) -> np.ndarray:
    """A new W2 whose answer to `key` is moved by exactly `change`, and to other keys as little as C allows.

    **Shapes** W2 (d_ff, d_model), key (d_ff,), change (d_model,), C (d_ff, d_ff); result as W2.

    **Raises** ZeroKey for a key that is zero or nearly so.

    **Source** Meng et al. 2022, equation 2, transposed to the row convention.

    >>> rank_one_update(np.zeros((2, 1)), np.array([2.0, 0.0]), np.array([3.0])).tolist()
    [[1.5], [0.0]]
    """
    return np.asarray(W2) + np.outer(key_direction(key, C), change)


def relative_change(before: np.ndarray, after: np.ndarray) -> float:
    """Norm of the difference in units of the norm before.

    >>> relative_change(np.array([[3.0, 4.0]]), np.array([[3.0, 5.0]]))
    0.2
    """
    return float(np.linalg.norm(np.asarray(after) - before) / np.linalg.norm(before))
