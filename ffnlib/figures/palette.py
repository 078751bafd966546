"""What a colour means, how far two stand apart, and matplotlib's settings for all figures of the course."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

PALETTE = {"ink": "#1B1B1B", "key": "#0072B2", "value": "#D55E00", "quiet": "#8A8A8A"}
"""What a colour means, the same in all lessons; words are always set in ink, the one role that reads at any size."""

WHITE = "#FFFFFF"
STROKES = {"ink": "-.", "key": "-", "value": "--", "quiet": ":"}
"""Every role has a stroke of its own, so that colour never carries the meaning alone."""

STYLE = {
    "axes.edgecolor": PALETTE["quiet"],
    "axes.labelcolor": PALETTE["ink"],
    "axes.labelsize": 10,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "figure.facecolor": WHITE,
    "axes.facecolor": WHITE,
    "font.family": ["DejaVu Sans"],
    "font.size": 10,
    "image.cmap": "cividis",
    "lines.linewidth": 2.2,
    "lines.markersize": 6,
    "savefig.facecolor": WHITE,
    "text.color": PALETTE["ink"],
    "xtick.color": PALETTE["quiet"],
    "xtick.labelcolor": PALETTE["ink"],
    "ytick.color": PALETTE["quiet"],
    "ytick.labelcolor": PALETTE["ink"],
}


def contrast(colour: str, other: str) -> float:
    """How far two colours stand apart in lightness, from 1 to 21.

    >>> contrast("#000000", "#FFFFFF")
    21.0

    **Source** Web Content Accessibility Guidelines 2.2, definition of contrast ratio
    """
    darker, lighter = sorted((_luminance(colour), _luminance(other)))
    return round((lighter + 0.05) / (darker + 0.05), 2)


def _luminance(colour: str) -> float:
    return float(linear_rgb(colour) @ [0.2126, 0.7152, 0.0722])


def linear_rgb(colour: str) -> np.ndarray:
    """Amounts of red, green and blue light in a colour such as "#0072B2", each from 0 to 1."""
    coded = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    return np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)


@contextmanager
def style() -> Iterator[None]:
    """The house style, for as long as the `with` block lasts and nowhere else."""
    import matplotlib

    with matplotlib.rc_context({"axes.prop_cycle": _role_cycle(), **STYLE}):
        yield


def _role_cycle() -> Any:
    from cycler import cycler

    order = ("key", "value", "ink", "quiet")
    return cycler(color=[PALETTE[role] for role in order]) + cycler(linestyle=[STROKES[role] for role in order])
