"""Pictures that say in words what they show: one palette, one style, one visible sentence beneath every picture.

A lesson makes a `Picture` with `lines`, `bars`, `intervals`, `heat_map` or `matrices`, or from a figure of its own
(`panel`, `style`), and a `Table`; each is the last line of its cell.
"""

from ffnlib.figures.arrays import matrices
from ffnlib.figures.palette import PALETTE, STROKES, WHITE, contrast, linear_rgb, style
from ffnlib.figures.plots import bars, entitle, heat_map, intervals, lines, panel
from ffnlib.figures.showing import NBVAL_SANITIZE, Picture, Table, card, png

__all__ = [
    "NBVAL_SANITIZE",
    "PALETTE",
    "STROKES",
    "WHITE",
    "Picture",
    "Table",
    "bars",
    "card",
    "contrast",
    "entitle",
    "heat_map",
    "intervals",
    "linear_rgb",
    "lines",
    "matrices",
    "panel",
    "png",
    "style",
]
