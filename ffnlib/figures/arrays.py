"""Small matrices drawn side by side, number by number, as one writes them on paper."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ffnlib.figures.palette import PALETTE, style
from ffnlib.figures.plots import SIZE, entitle
from ffnlib.figures.showing import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OPERATOR, _GAP = 0.8, 0.2  # in cells


def matrices(
    parts: Sequence[str | tuple[Any, ...]],
    *,
    title: str,
    words: str,
    number: str = "{:g}",
) -> Picture:
    """Small matrices in a row, their numbers in the cells: `(name, array)` or `(name, array, mask)`, and "@", "+", "=".

    Cells where the mask is true get a heavy frame in the key colour. A vector is drawn as one row.

    **Shapes** arrays (columns,) or (rows, columns); a mask has the shape of its array.
    """
    from matplotlib.figure import Figure

    grids = [part if isinstance(part, str) else _Grid.of(number, *part) for part in parts]
    rows = max(grid.text.shape[0] for grid in grids if not isinstance(grid, str))
    columns = sum(_OPERATOR if isinstance(grid, str) else grid.text.shape[1] + _GAP for grid in grids)
    cell = min(0.55, (SIZE[0] - 0.2) / columns)  # inches
    longest = max(len(entry) for grid in grids if not isinstance(grid, str) for entry in grid.text.flat)
    with style():
        height = rows * cell + 0.95
        figure = Figure(figsize=(SIZE[0], height))
        entitle(figure, title)
        axes = figure.add_axes((0.1 / SIZE[0], 0, 1 - 0.2 / SIZE[0], (rows * cell + 0.5) / height))
        axes.set(xlim=(0, (SIZE[0] - 0.2) / cell), ylim=(-rows / 2 - 0.45 / cell, rows / 2 + 0.05 / cell))
        axes.set_axis_off()
        left = 0.0
        for grid in grids:
            if isinstance(grid, str):
                axes.text(left + _OPERATOR / 2 - 0.1, 0, grid, ha="center", va="center", fontsize=13, fontweight="bold")
                left += _OPERATOR
            else:
                grid.draw(axes, left, font_size=min(10, 100 * cell / longest))
                left += grid.text.shape[1] + _GAP
    return Picture(figure, words)


@dataclass(frozen=True)
class _Grid:
    """One matrix of `matrices`: what stands beneath it, in its cells, and which cells are framed."""

    label: str
    text: np.ndarray
    framed: np.ndarray

    @classmethod
    def of(cls, number: str, name: str, values: Any, mask: Any = None) -> "_Grid":
        grid = np.atleast_2d(np.asarray(values))
        framed = np.zeros(grid.shape, dtype=bool) if mask is None else np.atleast_2d(np.asarray(mask, dtype=bool))
        if framed.shape != grid.shape:
            raise ValueError(f"the mask of {name} has shape {framed.shape}, its matrix {grid.shape}.")
        written = [number.format(value) if isinstance(value, np.number) else str(value) for value in grid.flat]
        return cls(f"{name}\n{np.shape(values)}", np.array(written).reshape(grid.shape), framed)

    def draw(self, axes: "Axes", left: float, font_size: float) -> None:
        from matplotlib.patches import Rectangle

        rows, columns = self.text.shape
        for (row, column), text in np.ndenumerate(self.text):
            corner = (left + column + 0.04, rows / 2 - row - 0.96)
            colour, width = (PALETTE["key"], 2.4) if self.framed[row, column] else (PALETTE["quiet"], 0.8)
            axes.add_patch(Rectangle(corner, 0.92, 0.92, facecolor="none", edgecolor=colour, linewidth=width))
            weight = "bold" if self.framed[row, column] else "normal"
            axes.text(
                corner[0] + 0.46,
                corner[1] + 0.46,
                text,
                ha="center",
                va="center",
                fontsize=font_size,
                fontweight=weight,
            )
        axes.text(left + columns / 2, -rows / 2 - 0.1, self.label, ha="center", va="top", fontsize=9)
