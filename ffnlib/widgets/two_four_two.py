"""The smallest layer worth looking at: two numbers in, four hidden units, two numbers out, every weight in reach."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ffnlib.figures import PALETTE, WHITE, Picture, panel, style
from ffnlib.widgets.controls import Matrix, Toggle
from ffnlib.widgets.explorer import Explorer, explore

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Small enough to follow by hand: units 0 and 2 fire, with 2.5 and 4, and the output is (4.5, 3).
X = np.array([2.0, 1.0])
W1 = np.array([[1.0, -1.0, 2.0, 0.5], [0.5, 1.0, 1.0, -3.0]])
B1 = np.array([0.0, 0.5, -1.0, 0.0])
W2 = np.array([[1.0, 0.0], [2.0, -1.0], [0.5, 1.0], [-1.0, 2.0]])
B2 = np.array([0.0, -1.0])


def tiny_layer() -> Explorer | None:
    """The layer with all 24 numbers to change, and what comes out of it."""
    units = [f"h{unit}" for unit in range(4)]
    return explore(
        tiny_layer_picture,
        "A layer with 24 numbers: change one and see what fires",
        x=Matrix("x", X, columns=("x0", "x1")),
        W1=Matrix("W1", W1, rows=("x0", "x1"), columns=units),
        b1=Matrix("b1", B1, columns=units),
        W2=Matrix("W2", W2, rows=units, columns=("y0", "y1")),
        b2=Matrix("b2", B2, columns=("y0", "y1")),
        activation=Toggle("apply ReLU", value=True),
    )


def tiny_layer_picture(
    x: Any = X, W1: Any = W1, b1: Any = B1, W2: Any = W2, b2: Any = B2, activation: bool = True
) -> Picture:
    """The layer as a network of circles: input, hidden units, output; the units that reach the output are filled.

    **Shapes** x (2,), W1 (2, 4), b1 (4,), W2 (4, 2), b2 (2,)
    """
    x, W1, b1, W2, b2 = (np.asarray(numbers, dtype=np.float64) for numbers in (x, W1, b1, W2, b2))
    before = x @ W1 + b1  # (4,)
    hidden = np.maximum(before, 0) if activation else before  # (4,)
    output = hidden @ W2 + b2  # (2,)
    passes = hidden != 0
    verb = "fire" if activation else "pass, the negative ones too"
    figure, axes = panel(f"{int(passes.sum())} of 4 hidden units {verb}", size=(6.0, 3.7))
    with style():
        axes.set(xlim=(-0.5, 6.5), ylim=(-0.5, 3.95), aspect="equal")
        axes.set_axis_off()
        for unit in range(4):
            for end in range(2):
                _edge(axes, (_INPUT, _ENDS[end]), (_HIDDEN, _UNITS[unit]), W1[end, unit], passes[unit])
                _edge(axes, (_HIDDEN, _UNITS[unit]), (_OUTPUT, _ENDS[end]), W2[unit, end], passes[unit])
        for end in range(2):
            _node(axes, (_INPUT, _ENDS[end]), x[end], f"x{end}", fill=WHITE, frame="ink", name_left=True)
            _node(axes, (_OUTPUT, _ENDS[end]), output[end], f"y{end}", fill=WHITE, frame="value")
        for unit in range(4):
            _unit(axes, unit, before[unit], hidden[unit], activation)
    return Picture(figure, _words(before, passes, output, activation))


_INPUT, _HIDDEN, _OUTPUT = 0.6, 3.0, 5.6
_ENDS = (2.6, 0.8)
_UNITS = (3.35, 2.25, 1.15, 0.05)
_RADIUS = 0.34


def _words(before: np.ndarray, passes: np.ndarray, output: np.ndarray, activation: bool) -> str:
    result = f"the output is ({output[0]:g}, {output[1]:g})"
    numbers = ", ".join(f"{number:g}" for number in before)
    if not activation:
        return f"Without ReLU the hidden units keep ({numbers}) as it is, and {result}."
    names = [f"h{unit}" for unit in np.flatnonzero(passes)]
    who = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else "no unit"
    fire = "fires" if len(names) < 2 else "fire"
    return f"Of the hidden units, which hold ({numbers}) before ReLU, {who} {fire}, and {result}."


def _edge(axes: "Axes", start: tuple[float, float], stop: tuple[float, float], weight: float, passes: bool) -> None:
    """A line as wide as its weight is large, dashed when the weight is negative, quiet where nothing passes."""
    if weight == 0:
        return
    colour = PALETTE["ink"] if passes else PALETTE["quiet"]
    width = 0.6 + 0.55 * min(abs(weight), 5)
    stroke = (0, (3, 2)) if weight < 0 else "-"
    line = {"color": colour, "linewidth": width if passes else 0.6, "linestyle": stroke, "zorder": 1}
    axes.plot([start[0], stop[0]], [start[1], stop[1]], **line)


def _node(
    axes: "Axes", place: tuple[float, float], value: float, name: str, fill: str, frame: str, name_left: bool = False
) -> None:
    from matplotlib.patches import Circle

    axes.add_patch(Circle(place, _RADIUS, facecolor=fill, edgecolor=PALETTE[frame], linewidth=2, zorder=2))
    colour = WHITE if fill == PALETTE["key"] else PALETTE["ink"]
    size = 10 if len(f"{value:g}") < 5 else 8
    axes.text(*place, f"{value:g}", ha="center", va="center", color=colour, fontweight="bold", fontsize=size, zorder=3)
    side = -1 if name_left else 1
    axes.text(
        place[0] + side * 0.45, place[1], name, ha="right" if name_left else "left", va="center", fontweight="bold"
    )


def _unit(axes: "Axes", unit: int, before: float, after: float, activation: bool) -> None:
    """A hidden unit: filled when something passes, and the number it held before ReLU beside its name."""
    place = (_HIDDEN, _UNITS[unit])
    filled, framed = (PALETTE["key"], "key") if after != 0 else (WHITE, "quiet")
    _node(axes, place, after, "", fill=filled, frame=framed)
    state = f"h{unit}" if not activation else f"h{unit} fires" if after else f"h{unit}: {before:g}, silent"
    behind = {"facecolor": WHITE, "edgecolor": "none", "pad": 1}
    axes.text(
        place[0], place[1] + 0.44, state, ha="center", va="bottom", fontsize=9, fontweight="bold", bbox=behind, zorder=4
    )
