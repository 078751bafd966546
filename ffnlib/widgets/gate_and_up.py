"""One gated unit: the two numbers it computes, the activation on one of them, and their product."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ffnlib.activations import gelu, sigmoid, silu
from ffnlib.figures import PALETTE, STROKES, Picture, panel, style
from ffnlib.layer import relu
from ffnlib.widgets.controls import Choice, Slider
from ffnlib.widgets.explorer import Explorer, explore

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GATES: dict[str, Callable[[Any], Any]] = {
    "SiLU (SwiGLU)": silu,
    "GELU (GEGLU)": gelu,
    "ReLU (ReGLU)": relu,
    "logistic (GLU)": sigmoid,
    "none (bilinear)": lambda z: np.asarray(z, dtype=np.float64),
}


def gate_and_up() -> Explorer | None:
    """A gated unit whose gate, up and activation are in reach."""
    return explore(
        gate_and_up_picture,
        "One gated unit: move gate and up",
        activation=Choice("activation of the gate", tuple(GATES)),
        gate=Slider("gate", -4.0, 4.0, step=0.25, value=2.0),
        up=Slider("up", -3.0, 3.0, step=0.25, value=-1.0),
    )


def gate_and_up_picture(activation: str = "SiLU (SwiGLU)", gate: float = 2.0, up: float = -1.0) -> Picture:
    """What the gate lets through and the hidden value, along all gates, with a dot at the one chosen."""
    function = GATES[activation]
    factor = float(function(gate))
    figure, axes = panel(f"The gate multiplies up by {_short(factor)}", x_label="gate, before its activation")
    along = np.linspace(-4, 4, 321)
    with style():
        axes.axhline(0, color=PALETTE["quiet"], linewidth=0.8)
        axes.plot(along, function(along), color=PALETTE["key"], linestyle=STROKES["key"])
        axes.plot(along, function(along) * up, color=PALETTE["value"], linestyle=STROKES["value"])
        axes.plot([gate, gate], [factor, factor * up], color=PALETTE["quiet"], linestyle=STROKES["quiet"])
        axes.plot([gate], [factor], "o", color=PALETTE["key"], zorder=3)
        axes.plot([gate], [factor * up], "s", color=PALETTE["value"], zorder=3)
        _name_lines(axes, activation.partition(" ")[0], float(function(4.0)), up)
    return Picture(figure, _words(activation, gate, up, factor))


def _name_lines(axes: "Axes", name: str, last: float, up: float) -> None:
    """Write the lines' names at their right ends, apart where the ends meet."""
    gate = "gate" if name == "none" else f"{name}(gate)"
    (low, lower), (high, upper) = sorted([(last, gate), (last * up, "times up")])
    room = 0.09 * float(np.diff(axes.get_ylim())[0])
    aside = room / 2 if high - low < room else 0.0
    for height, text in ((low - aside, lower), (high + aside, upper)):
        axes.annotate(text, (1.02, height), xycoords=("axes fraction", "data"), va="center", fontweight="bold")


def _words(activation: str, gate: float, up: float, factor: float) -> str:
    name = activation.partition(" ")[0]
    after = f"{name}({gate:g}) = {_short(factor)}" if name != "none" else f"Without an activation the gate is {gate:g}"
    return f"{after}; times up, {up:g}, the unit holds {_short(factor * up)}."


def _short(number: float) -> str:
    return f"{round(number, 3) + 0.0:g}"
