"""One activation as a curve: its height and its slope at a place you choose."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ffnlib.activations import gelu, gelu_tanh, sigmoid, silu, slope
from ffnlib.figures import PALETTE, STROKES, WHITE, Picture, panel, style
from ffnlib.layer import relu
from ffnlib.widgets.controls import Choice, Slider
from ffnlib.widgets.explorer import Explorer, explore

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "GELU": gelu,
    "GELU with tanh": gelu_tanh,
    "SiLU": silu,
    "ReLU": relu,
    "logistic": sigmoid,
    "tanh": np.tanh,
}
BESIDE = 1e-3  # how far from a place its two sides are looked at


def activation_curve() -> Explorer | None:
    """An activation to choose and a place to move along it."""
    return explore(
        activation_curve_picture,
        "Move along an activation: how high is it, and how steep?",
        activation=Choice("activation", tuple(FUNCTIONS)),
        x=Slider("x", -4.0, 4.0, step=0.25, value=-1.0),
    )


def activation_curve_picture(activation: str = "GELU", x: float = -1.0) -> Picture:
    """The curve, its slope as a second line, and the tangent at x."""
    function = FUNCTIONS[activation]
    height, steep = float(function(x)), float(slope(function, x))
    sides = [float(slope(function, x + aside)) for aside in (-BESIDE, BESIDE)]
    corner = abs(sides[1] - sides[0]) > 0.1
    title = f"At {x:g} {activation} {'has a corner' if corner else _going(steep)}"
    figure, axes = panel(title, x_label="x")
    along = np.linspace(-4, 4, 401)
    with style():
        axes.plot(along, function(along), color=PALETTE["key"], linestyle=STROKES["key"])
        slopes = slope(function, along)
        slopes[np.abs(np.diff(slopes, append=slopes[-1])) > 0.3] = np.nan  # a jump is not drawn as a rise
        axes.plot(along, slopes, color=PALETTE["value"], linestyle=STROKES["value"])
        if not corner:
            ends = np.array([x - 1, x + 1])
            axes.plot(ends, height + steep * (ends - x), color=PALETTE["ink"], linewidth=1.2)
        axes.plot([x], [height], "o", color=PALETTE["ink"], zorder=3)
        axes.set(xlim=(-4, 4), ylim=(-1.3, 4.2))
        _name(axes, activation, 2.25, float(function(2.6)) + 0.25, side="right")
        _name(axes, "its slope", -3.9, float(slope(function, -3.9)) + 0.3, side="left")
    return Picture(figure, _words(activation, x, height, steep, sides if corner else None))


def _going(steep: float) -> str:
    if abs(steep) < 0.005:
        return "is flat"
    return f"{'rises' if steep > 0 else 'falls'} with slope {steep:.2f}"


def _words(activation: str, x: float, height: float, steep: float, sides: list[float] | None) -> str:
    at = f"{activation}({x:g}) = {_short(height)}"
    if sides is not None:
        return f"{at}; the slope is {_short(sides[0])} on the left and {_short(sides[1])} on the right."
    return f"{at}, and the slope there is {_short(steep)}."


def _short(number: float) -> str:
    return f"{round(number, 3) + 0.0:g}"


def _name(axes: "Axes", name: str, x: float, y: float, side: str) -> None:
    behind = {"facecolor": WHITE, "edgecolor": "none", "pad": 1}
    axes.text(x, y, name, ha=side, va="center", fontweight="bold", bbox=behind, zorder=2)
