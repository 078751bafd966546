"""What one layer held on some prompts, and the rest of the pass after it.

A change of W2 of one layer leaves everything before that layer as it was. Recorded once, any number of changes can be
tried at the price of the layers after it, and none is written into the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from ffnlib.specimen.batches import padded

if TYPE_CHECKING:
    from ffnlib.specimen.model import Specimen


@dataclass(frozen=True)
class Recorded:
    """Coefficients and residual stream of `layer` on N prompts, padded at the right; `last` is each one's last place.

    **Shapes** last (N,), hidden (N, T, d_ff), residual (N, T, d_model).
    """

    layer: int
    last: torch.Tensor
    hidden: torch.Tensor
    residual: torch.Tensor

    def __len__(self) -> int:
        return len(self.last)

    def rows(self, places: Sequence[int] | torch.Tensor) -> Recorded:
        """The prompts at these places alone."""
        places = torch.as_tensor(places, dtype=torch.long)
        longest = int(self.last[places].max()) + 1
        return Recorded(
            self.layer, self.last[places], self.hidden[places, :longest], self.residual[places, :longest]
        )  # fmt: skip

    def keys(self, places: torch.Tensor | None = None) -> torch.Tensor:
        """The coefficients at one place of each prompt, the last unless told, (N, d_ff)."""
        return self.hidden[torch.arange(len(self)), self.last if places is None else places]


@torch.no_grad()
def record(model: Specimen, layer: int, prompts: Sequence[Sequence[int]]) -> Recorded:
    """Run the model on the prompts as far as `layer`, and keep what that layer held; `intervene` works as ever."""
    tokens, last = (torch.from_numpy(array) for array in padded(prompts))
    x = model.visit("embedding", model.embedding[tokens] + model.position[: tokens.shape[1]])
    seen: dict[str, torch.Tensor] = {}

    def visit(name: str, value: torch.Tensor) -> torch.Tensor:
        seen[name] = model.visit(f"{at}.{name}", value)
        return seen[name]

    for at, block in enumerate(model.blocks[: layer + 1]):  # noqa: B007 (`visit` reads it)
        x = block(x, visit)
    return Recorded(layer, last, seen["hidden"], x)


def in_chunks(prompts: Sequence[Sequence[int]], size: int = 128) -> list[list[int]]:
    """Places of the prompts in groups of like length, so that little is padded.

    >>> in_chunks([[1], [1, 2, 3], [1, 2]], size=2)
    [[0, 2], [1]]
    """
    order = sorted(range(len(prompts)), key=lambda place: len(prompts[place]))
    return [order[start : start + size] for start in range(0, len(order), size)]


def moved(recorded: Recorded, direction: torch.Tensor, change: torch.Tensor) -> torch.Tensor:
    """The residual stream had W2 been W2 + outer(direction, change); one direction and change, or one for each prompt.

    **Shapes** direction (d_ff,) or (N, d_ff), change (d_model,) or (N, d_model) -> (N, T, d_model)
    """
    answer = (recorded.hidden @ direction.unsqueeze(-1)).squeeze(-1)  # (N, T)
    return recorded.residual + answer[..., None] * change.unsqueeze(-2)


def finish(model: Specimen, recorded: Recorded, residual: torch.Tensor | None = None) -> torch.Tensor:
    """Logits after each prompt's last token, with `residual` in place of the recorded one, (N, vocabulary)."""
    x = recorded.residual if residual is None else residual
    for block in model.blocks[recorded.layer + 1 :]:
        x = block(x, lambda name, value: value)
    x = x[torch.arange(len(recorded)), recorded.last]  # (N, d_model)
    return model.norm(x) @ model.embedding.T
