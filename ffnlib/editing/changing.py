"""Finding the value an edit must write, and writing it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional as F

from ffnlib.editing.rank_one import LARGEST_CHANGE, TooLarge, key_direction, rank_one_update, relative_change
from ffnlib.editing.recording import Recorded, finish, in_chunks, record

if TYPE_CHECKING:
    from ffnlib.specimen.model import Specimen

Prompt = Sequence[int]


@dataclass(frozen=True)
class Edit:
    """A change of one layer's W2, kept apart from the model."""

    layer: int
    key: np.ndarray
    change: np.ndarray
    W2: np.ndarray


def keys_at_last_token(model: Specimen, layer: int, prompts: Sequence[Prompt]) -> np.ndarray:
    """The coefficients of `layer` at the last token of each prompt, (prompts, d_ff)."""
    return record(model, layer, prompts).keys().numpy()


def keys_everywhere(model: Specimen, layer: int, rows: Sequence[Prompt]) -> np.ndarray:
    """The coefficients of `layer` at every token of every row, in no order, (tokens, d_ff): for `key_covariance`."""
    found = []
    for chunk in in_chunks(rows):
        recorded = record(model, layer, [rows[place] for place in chunk])
        real = torch.arange(recorded.hidden.shape[1]) <= recorded.last[:, None]
        found.append(recorded.hidden[real].numpy())
    return np.concatenate(found)


def value_change(
    model: Specimen, layer: int, prompts: Sequence[Prompt], target: int, places: Sequence[int] | None = None, **how
) -> np.ndarray:
    """What to add to the FFN's output at one place, the last token unless told, so that `target` follows every prompt.

    `how` is handed to `value_changes`.
    """
    recorded = record(model, layer, prompts)
    at = recorded.last if places is None else torch.as_tensor(places)
    owner = torch.zeros(len(prompts), dtype=torch.long)
    return value_changes(model, recorded, at, owner, torch.tensor([target]), **how)[0].numpy()


def value_changes(
    model: Specimen, recorded: Recorded, places: torch.Tensor, owner: torch.Tensor, targets: torch.Tensor,
    *, keep: tuple[Recorded, torch.Tensor, torch.Tensor] | None = None,
    steps: int = 20, rate: float = 0.5, decay: float = 1e-3, enough: float = 0.05,
) -> torch.Tensor:  # fmt: skip
    """The changes of many edits at once: prompt n belongs to edit `owner[n]`, whose token is `targets[owner[n]]`.

    Adam on the mean loss of the target plus `decay` times the squared length; an edit is left alone once its loss is
    below `enough`. `keep` (prompts, places, owners) are prompts whose answers shall stay: their divergence from what
    was predicted before is added to the loss.

    **Shapes** places and owner (N,), targets (edits,) -> (edits, d_model)

    **Source** Meng et al. 2022, section 3.1, step 2.
    """
    change = torch.zeros(len(targets), model.config.d_model, requires_grad=True)
    optimiser = torch.optim.Adam([change], lr=rate)
    found, done = change.detach().clone(), torch.zeros(len(targets), dtype=torch.bool)
    if keep is not None:
        with torch.no_grad():
            before = finish(model, keep[0]).log_softmax(-1)
    for _ in range(steps):
        logits = finish(model, recorded, _shifted(recorded, places, change[owner]))
        loss = _mean_by(owner, F.cross_entropy(logits, targets[owner], reduction="none"), len(targets))
        if keep is not None:
            after = finish(model, keep[0], _shifted(keep[0], keep[1], change[keep[2]])).log_softmax(-1)
            drift = F.kl_div(after, before, reduction="none", log_target=True).sum(-1)
            loss = loss + _mean_by(keep[2], drift, len(targets))
        ready = (loss.detach() < enough) & ~done
        found[ready], done = change.detach()[ready], done | ready
        if done.all():
            break
        optimiser.zero_grad()
        (loss.sum() + decay * change.square().sum()).backward()
        optimiser.step()
    return torch.where(done[:, None], found, change.detach())


def _shifted(recorded: Recorded, places: torch.Tensor, change: torch.Tensor) -> torch.Tensor:
    """The residual stream with `change` added at one place of each prompt."""
    here = (torch.arange(recorded.residual.shape[1]) == places[:, None])[..., None]  # (N, T, 1)
    return recorded.residual + here * change[:, None]


def _mean_by(owner: torch.Tensor, values: torch.Tensor, groups: int) -> torch.Tensor:
    """Mean of the values of each owner; 0 for one without any."""
    total = torch.zeros(groups).index_add(0, owner, values)
    return total / torch.bincount(owner, minlength=groups).clamp(min=1)


def rank_one_edit(
    model: Specimen, layer: int, prompts: Sequence[Prompt], target: int, C: np.ndarray | None = None,
    alpha: float = 1.0, places: Sequence[int] | None = None, largest: float = LARGEST_CHANGE,
) -> Edit:  # fmt: skip
    """The edit after which `target` follows `prompts`; `alpha` takes a part of the step only.

    The key is the mean over prompts of the coefficients at `places`, the last token unless told. The model is left as
    it is.

    **Raises** ZeroKey when no unit of the layer fires there, TooLarge when W2 would change by more than `largest`
    times its own norm.
    """
    W2 = model.blocks[layer].ffn.W2.detach().numpy()
    recorded = record(model, layer, prompts)
    key = recorded.keys(None if places is None else torch.as_tensor(places)).numpy().mean(0)
    key_direction(key)  # refuses a zero key before the search for a value
    change = alpha * value_change(model, layer, prompts, target, places)
    edit = Edit(layer, key, change, rank_one_update(W2, key, change, C).astype(W2.dtype))
    if not relative_change(W2, edit.W2) <= largest:
        raise TooLarge(
            f"W2 of layer {layer} would change by {relative_change(W2, edit.W2):.1f} times its own norm, more than "
            f"{largest:g}: the key is so short (norm {np.linalg.norm(key):.2g}) that the update replaces the matrix"
        )
    return edit


@contextmanager
def edited(model: Specimen, edit: Edit) -> Iterator[Specimen]:
    """The model with the edit inside the block, and exactly as before after it."""
    ffn = model.blocks[edit.layer].ffn
    before = ffn.W2.data  # put back as it was: adding and subtracting would leave rounding, and a NaN for good
    ffn.W2.data = torch.from_numpy(edit.W2)
    try:
        yield model
    finally:
        ffn.W2.data = before
