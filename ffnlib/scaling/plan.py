"""The models of the experiment and the questions they answer, one question at a time."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

LAYERS, HEADS, CONTEXT, WORDS = 2, 2, 16, 256
WIDTH = 28  # of the residual stream, in the model that every other is compared with
BASE = "ratio 4"
MARGIN = 0.2  # % of loss: what doubling N brought the tuning seeds; what is shown to be smaller counts as none


@dataclass(frozen=True)
class Shape:
    """Sizes of one small model: `d_model`, `d_ff`, and one or two hidden layers in each FFN."""

    d_model: int
    d_ff: int
    hidden_layers: int = 1

    @property
    def ratio(self) -> float:
        """How many times wider the FFN is than the residual stream."""
        return self.d_ff / self.d_model

    @property
    def non_embedding(self) -> int:
        """Weights in the layers.

        >>> Shape(32, 128).non_embedding == 2 * 12 * 32**2
        True
        """
        between = (self.hidden_layers - 1) * self.d_ff**2
        return LAYERS * (4 * self.d_model**2 + 2 * self.d_model * self.d_ff + between)

    @property
    def embedding(self) -> int:
        """Weights of the words, used at both ends, and of the positions."""
        return (WORDS + CONTEXT) * self.d_model

    @property
    def total(self) -> int:
        """Weights of the whole model."""
        return self.non_embedding + self.embedding


def shape_for(ratio: float, budget: int) -> Shape:
    """The model whose FFN is about `ratio` times as wide as the stream, at `budget` non-embedding parameters.

    The width of the stream is rounded to an even number, for two heads; then d_ff fills the budget.

    >>> shape_for(4, Shape(32, 128).non_embedding)
    Shape(d_model=32, d_ff=128, hidden_layers=1)
    """
    d_model = 2 * round(sqrt(budget / LAYERS / (4 + 2 * ratio)) / 2)
    return Shape(d_model, round(budget / (2 * LAYERS * d_model)) - 2 * d_model)


def configurations() -> dict[str, Shape]:
    """Every model by its name; the yardsticks come first, and each is trained with every seed."""
    base = Shape(WIDTH, 4 * WIDTH)
    budget = base.non_embedding
    found = {BASE: base, "N/2": shape_for(4, budget // 2), "2N": shape_for(4, 2 * budget)}
    found |= {f"d_ff {times * WIDTH}": Shape(WIDTH, times * WIDTH) for times in (1, 2, 8)}
    found |= {f"ratio {ratio}": shape_for(ratio, budget) for ratio in (1, 2, 8, 16)}
    return found | {"two hidden layers": Shape(WIDTH, 2 * WIDTH, hidden_layers=2)}
