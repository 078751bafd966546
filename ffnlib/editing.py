"""Changing one fact by a rank-one update of W2 (row convention: a key is what multiplies W2 from the left).

The linear algebra is NumPy; finding the value and scoring an edit run a specimen and need PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch

    from ffnlib.specimen.model import Specimen

NEAR_ZERO = 1e-6
Prompt = Sequence[int]


class ZeroKey(ValueError):
    """No unit fires for this key: no change of W2 can answer to it."""


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


@dataclass(frozen=True)
class Edit:
    """A change of one layer's W2, kept apart from the model."""

    layer: int
    key: np.ndarray
    change: np.ndarray
    W2: np.ndarray


def keys_at_last_token(model: Specimen, layer: int, prompts: Sequence[Prompt]) -> np.ndarray:
    """The coefficients of `layer` at the last token of each prompt, (prompts, d_ff)."""
    import torch

    from ffnlib.specimen.batches import padded
    from ffnlib.specimen.model import intervene

    tokens, last = padded(prompts)
    with torch.no_grad(), intervene(model, {f"{layer}.hidden": None}) as seen:
        model(torch.from_numpy(tokens))
    return seen[f"{layer}.hidden"][np.arange(len(last)), last].numpy()


def keys_everywhere(model: Specimen, layer: int, rows: Sequence[Prompt]) -> np.ndarray:
    """The coefficients of `layer` at every token of every row, (tokens, d_ff): what `key_covariance` takes."""
    import torch

    from ffnlib.specimen.batches import padded
    from ffnlib.specimen.model import intervene

    tokens, last = padded(rows)
    with torch.no_grad(), intervene(model, {f"{layer}.hidden": None}) as seen:
        model(torch.from_numpy(tokens))
    return seen[f"{layer}.hidden"].numpy()[np.arange(tokens.shape[1]) <= last[:, None]]


def value_change(
    model: Specimen, layer: int, prompts: Sequence[Prompt], target: int,
    steps: int = 20, rate: float = 0.5, decay: float = 1e-3, enough: float = 0.05,
) -> np.ndarray:  # fmt: skip
    """What to add to the FFN's output at the last token so that `target` follows every prompt.

    Adam on the mean loss of `target` plus `decay` times the squared length; stops when the loss is below `enough`.

    **Source** Meng et al. 2022, section 3.1, step 2.
    """
    import torch
    from torch.nn import functional as F

    from ffnlib.specimen.batches import padded
    from ffnlib.specimen.model import intervene

    tokens, last = (torch.from_numpy(array) for array in padded(prompts))
    here = (torch.arange(tokens.shape[1]) == last[:, None])[..., None]  # (prompts, T, 1)
    change = torch.zeros(model.config.d_model, requires_grad=True)
    optimiser = torch.optim.Adam([change], lr=rate)
    for _ in range(steps):
        with intervene(model, {f"{layer}.ffn": lambda ffn: ffn + here * change}):
            logits = model(tokens)[torch.arange(len(last)), last]
        loss = F.cross_entropy(logits, torch.full((len(last),), target))
        if loss.item() < enough:
            break
        optimiser.zero_grad()
        (loss + decay * change.square().sum()).backward()
        optimiser.step()
    return change.detach().numpy()


def rank_one_edit(
    model: Specimen, layer: int, prompts: Sequence[Prompt], target: int, C: np.ndarray | None = None, alpha: float = 1.0
) -> Edit:
    """The edit after which `target` follows `prompts`; `alpha` takes a part of the step only.

    The key is the mean over prompts of the coefficients at the last token. The model is left as it is.

    **Raises** ZeroKey when no unit of the layer fires there.
    """
    W2 = model.blocks[layer].ffn.W2.detach().numpy()
    key = keys_at_last_token(model, layer, prompts).mean(0)
    key_direction(key)  # refuses a zero key before the search for a value
    change = alpha * value_change(model, layer, prompts, target)
    return Edit(layer, key, change, rank_one_update(W2, key, change, C).astype(W2.dtype))


@contextmanager
def edited(model: Specimen, edit: Edit) -> Iterator[Specimen]:
    """The model with the edit inside the block, and exactly as before after it."""
    import torch

    ffn = model.blocks[edit.layer].ffn
    before = ffn.W2.data
    ffn.W2.data = torch.from_numpy(edit.W2)
    try:
        yield model
    finally:
        ffn.W2.data = before


def score(model: Specimen, questions: Mapping[str, Sequence[tuple[Prompt, int]]]) -> dict[str, float]:
    """Share of questions of each kind whose most probable next token is the one wanted; nan for a kind without any."""
    return {kind: float(np.mean(_right(model, asked))) if asked else float("nan") for kind, asked in questions.items()}


def _right(model: Specimen, asked: Sequence[tuple[Prompt, int]]) -> np.ndarray:
    return _best(model, [prompt for prompt, _ in asked]).numpy() == np.array([wanted for _, wanted in asked])


def _best(model: Specimen, prompts: Sequence[Prompt]) -> torch.Tensor:
    from ffnlib.specimen.measure import next_token_logits

    return next_token_logits(model, prompts).argmax(-1)
