"""PyTorch's FLOP counter with the operations added that it passes over in silence on a CPU."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def count_flops(function: Callable, *args: Any, **kwargs: Any) -> int:
    """Return the FLOPs of calling a PyTorch function: a multiply-add is two, matrix products only.

    PyTorch's own counter says 0 for fused attention on a CPU, for a matrix times a vector, for a dot product, for a
    weighted `embedding_bag`, and for the fast path of its Transformer layers in evaluation. Here they count.

    >>> import torch
    >>> count_flops(torch.mv, torch.ones(3, 5), torch.ones(5))
    30
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    fast_path = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # it is one operation, whose parts the counter cannot see
    try:
        with FlopCounterMode(display=False, custom_mapping=_missing_operations()) as counter:
            function(*args, **kwargs)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast_path)
    return counter.get_total_flops()


def _missing_operations() -> dict:
    import torch

    aten = torch.ops.aten
    return {
        aten._scaled_dot_product_flash_attention_for_cpu: _attention,
        aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
        aten.mv: lambda matrix, vector, *_, **__: 2 * math.prod(matrix),
        aten.addmv: lambda bias, matrix, vector, *_, **__: 2 * math.prod(matrix),
        aten.dot: lambda left, right, *_, **__: 2 * math.prod(left),
        aten._embedding_bag: _embedding_bag,
        aten._embedding_bag_forward_only: _embedding_bag,
    }


# the counter hands in the shapes of the tensors


def _attention(query, key, value, *_, **__) -> int:
    """Scores and mixing; what a causal mask hides is counted, as PyTorch does on other devices."""
    pairs = math.prod(query[:-1]) * key[-2]
    return 2 * pairs * (query[-1] + value[-1])


def _attention_backward(gradient, query, key, value, *_, **__) -> int:
    """Five products: the scores once more, and two for each of the products of the forward pass."""
    pairs = math.prod(query[:-1]) * key[-2]
    return 2 * pairs * (3 * query[-1] + 2 * value[-1])


def _embedding_bag(weight, indices, offsets, scale=False, mode=0, sparse=False, sample_weights=None, *_, **__) -> int:
    """Rows times their weights, added up; without weights nothing is multiplied."""
    return 2 * math.prod(indices) * weight[-1] if sample_weights is not None else 0
