"""The rows of firing units added up by a loop in machine code. Needs numba: `pip install ffnlib[numba]`."""

from __future__ import annotations

from functools import cache

import numpy as np


@cache
def compiled():
    """Compile `add_rows`, once; the first call of the result takes about a second.

    **Raises** ImportError without numba
    """
    try:
        from numba import njit
    except ImportError as missing:
        raise ImportError(
            'the form "loop" needs numba, which is not installed; install it with `pip install numba`, '
            "or leave the form out and NumPy or PyTorch does the work"
        ) from missing
    # "contract" makes one instruction of a product and a sum, and leaves nan and inf alone
    return njit(fastmath={"contract"}, error_model="numpy")(add_rows)


def add_rows(hidden, W2):
    """Return `hidden @ W2`, eight rows of firing units at a time.

    **Shapes** hidden (tokens, d_ff), W2 (d_ff, d_model) -> (tokens, d_model)
    """
    tokens, units = hidden.shape
    product = np.zeros((tokens, W2.shape[1]), W2.dtype)
    firing = np.empty(units + 1, np.int64)
    for token in range(tokens):
        h, out = hidden[token], product[token]
        count = 0
        for unit in range(units):
            firing[count] = unit
            count += h[unit] != 0
        eights = count - count % 8
        for at in range(0, eights, 8):
            i = firing[at : at + 8]
            h0, h1, h2, h3, h4, h5, h6, h7 = h[i[0]], h[i[1]], h[i[2]], h[i[3]], h[i[4]], h[i[5]], h[i[6]], h[i[7]]
            r0, r1, r2, r3 = W2[i[0]], W2[i[1]], W2[i[2]], W2[i[3]]
            r4, r5, r6, r7 = W2[i[4]], W2[i[5]], W2[i[6]], W2[i[7]]
            for j in range(out.size):
                first = h0 * r0[j] + h1 * r1[j] + h2 * r2[j] + h3 * r3[j]
                out[j] += first + (h4 * r4[j] + h5 * r5[j] + h6 * r6[j] + h7 * r7[j])
        for at in range(eights, count):
            coefficient, row = h[firing[at]], W2[firing[at]]
            for j in range(out.size):
                out[j] += coefficient * row[j]
    return product
