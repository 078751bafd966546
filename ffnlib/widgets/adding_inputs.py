"""What the layer makes of a sum: two inputs, their outputs added, and the output of their sum, in one plane."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ffnlib.figures import PALETTE, STROKES, WHITE, Picture, panel, style
from ffnlib.layer import feed_forward_columns
from ffnlib.widgets.controls import Matrix
from ffnlib.widgets.explorer import Explorer, explore

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The worked example of "The feed-forward block", self-test (c), in its own column convention.
U, V = np.array([1.0, 0.0]), np.array([0.0, 1.0])
W1 = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 1.0]])
W2 = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])


def adding_inputs() -> Explorer | None:
    """The worked example with all its 20 numbers to change, and whether its outputs add."""
    units = [f"h{unit}" for unit in range(4)]
    return explore(
        adding_inputs_picture,
        "Two inputs and their sum: change a number and see whether the outputs add",
        u=Matrix("u", U, columns=("x0", "x1")),
        v=Matrix("v", V, columns=("x0", "x1")),
        W1=Matrix("W1", W1, rows=units, columns=("x0", "x1")),
        W2=Matrix("W2", W2, rows=("y0", "y1"), columns=units),
    )


def adding_inputs_picture(u: Any = U, v: Any = V, W1: Any = W1, W2: Any = W2) -> Picture:
    """FFN(u), FFN(v) put to its end, and FFN(u + v), in the plane of the outputs.

    **Shapes** u and v (2,), W1 (4, 2), W2 (2, 4): the column convention, without biases
    """
    u, v, W1, W2 = (np.asarray(numbers, dtype=np.float64) for numbers in (u, v, W1, W2))
    inputs = np.array([u, v, u + v])  # (3, 2)
    of_u, of_v, of_sum = feed_forward_columns(inputs, W1, np.zeros(4), W2, np.zeros(2))
    adds = np.allclose(of_u + of_v, of_sum, rtol=0, atol=1e-9)
    title = "Here the outputs add" if adds else f"FFN(u + v) misses the sum by {_point(of_sum - of_u - of_v)}"
    figure, axes = panel(title, x_label="first output", y_label="second output", size=(6.0, 3.9))
    with style():
        _limits(axes, np.array([[0.0, 0.0], of_u, of_u + of_v, of_sum]))
        _stretch(axes, np.zeros(2), of_u, "key")
        _stretch(axes, of_u, of_u + of_v, "quiet")
        _stretch(axes, np.zeros(2), of_sum, "value")
        _name(axes, of_u, "FFN(u)", (0, -14))
        _name(axes, of_u + of_v, "" if adds else "FFN(u) + FFN(v)", (0, 14))
        _name(axes, of_sum, "FFN(u + v)", (0, 14 if adds else -14))
    return Picture(figure, _words(of_u, of_v, of_sum, inputs @ W1.T))


def _words(of_u: np.ndarray, of_v: np.ndarray, of_sum: np.ndarray, hidden: np.ndarray) -> str:
    """The three outputs, and the units that tell the sum from its parts."""
    said = f"FFN(u) = {_point(of_u)} and FFN(v) = {_point(of_v)} add up to {_point(of_u + of_v)}"
    said += f"; FFN(u + v) = {_point(of_sum)}."
    of_parts = np.maximum(0, hidden[:2]).sum(axis=0)
    cut = [f"h{unit}" for unit in np.flatnonzero(~np.isclose(of_parts, np.maximum(0, hidden[2]), rtol=0, atol=1e-9))]
    if not cut:
        return f"{said} The ReLU cuts alike in the parts and in the sum."
    return f"{said} The ReLU cuts {', '.join(cut)} differently in the parts and in the sum."


def _point(numbers: np.ndarray) -> str:
    return f"({', '.join(f'{number + 0.0:g}' for number in np.round(numbers, 4))})"


def _limits(axes: "Axes", points: np.ndarray) -> None:
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.maximum(0.5, 0.3 * (high - low))
    axes.set(xlim=(low[0] - room[0], high[0] + room[0]), ylim=(low[1] - room[1], high[1] + room[1]))


def _stretch(axes: "Axes", start: np.ndarray, stop: np.ndarray, role: str) -> None:
    """A line from one point to the other, with a dot at its end."""
    ends = np.array([start, stop])
    axes.plot(*ends.T, color=PALETTE[role], linestyle=STROKES[role])
    axes.plot(*stop, "o", color=PALETTE[role], zorder=3)


def _name(axes: "Axes", place: np.ndarray, name: str, aside: tuple[int, int]) -> None:
    behind = {"facecolor": WHITE, "edgecolor": "none", "pad": 1}
    look = {"ha": "center", "va": "center", "fontweight": "bold", "bbox": behind, "zorder": 4}
    axes.annotate(name, place, xytext=aside, textcoords="offset points", **look)
