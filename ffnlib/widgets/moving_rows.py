"""Touch one row of a sequence and see which rows of the result move: the feed-forward layer beside attention."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ffnlib.figures import PALETTE, WHITE, Picture, panel, style
from ffnlib.layer import feed_forward, self_attention
from ffnlib.widgets.controls import Choice, Slider
from ffnlib.widgets.explorer import Explorer, explore

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROWS = 6
CHANGE, EXCHANGE = "add to it", "exchange it with the first"


def moving_rows() -> Explorer | None:
    """One row to choose, what to do with it, and how much."""
    return explore(
        moving_rows_picture,
        "Touch one row: which rows of the result move?",
        row=Slider("row to touch", 0, ROWS - 1, value=2),
        action=Choice("what to do with it", (CHANGE, EXCHANGE)),
        size=Slider("how much is added", 0.0, 3.0, step=0.25, value=1.0),
    )


def moving_rows_picture(row: int = 2, action: str = CHANGE, size: float = 1.0) -> Picture:
    """How far each row of the result moves, for the layer and for attention, as bars over the positions."""
    x, layer, attention = _two_functions()
    touched = _touched(x, row, action, size)
    moved = {
        "feed-forward": _distance(layer(x), layer(touched)),
        "attention": _distance(attention(x), attention(touched)),
    }
    counts = {name: int(np.sum(far > 1e-9)) for name, far in moved.items()}
    title = "; ".join(f"{name}: {count} of {ROWS} rows move" for name, count in counts.items())
    figure, axes = panel(title, x_label="position", y_label="how far the row moves", size=(6.0, 3.5))
    with style():
        _bars(axes, moved["feed-forward"], -0.2, "key", "")
        _bars(axes, moved["attention"], 0.2, "value", "///")
        axes.set_xticks(range(ROWS))
        axes.set_ylim(0, 1.45 * max(0.1, *(far.max() for far in moved.values())))
        _name_bars(axes)
    return Picture(figure, _words(row, action, size, moved))


def _two_functions() -> tuple[np.ndarray, Any, Any]:
    """A sequence of six rows, a feed-forward layer and one head of attention, the same every time."""
    rng = np.random.default_rng(4)
    d_model, d_ff = 4, 16
    x = rng.normal(size=(ROWS, d_model))
    weights = (
        rng.normal(size=(d_model, d_ff)) * 0.5,
        rng.normal(size=d_ff) * 0.5,
        rng.normal(size=(d_ff, d_model)) * 0.4,
        rng.normal(size=d_model),
    )
    heads = [rng.normal(size=(d_model, d_model)) * 0.5 for _ in range(3)]
    return x, lambda rows: feed_forward(rows, *weights), lambda rows: self_attention(rows, *heads)


def _touched(x: np.ndarray, row: int, action: str, size: float) -> np.ndarray:
    touched = x.copy()
    if action == EXCHANGE:
        touched[[0, row]] = x[[row, 0]]
    else:
        touched[row] += size
    return touched


def _distance(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    return np.linalg.norm(after - before, axis=-1)  # (T,)


def _bars(axes: "Axes", far: np.ndarray, aside: float, role: str, hatch: str) -> None:
    places = np.arange(ROWS) + aside
    drawn = axes.bar(places, far, width=0.36, color=PALETTE[role], hatch=hatch, edgecolor=WHITE, linewidth=0)
    written = [f"{length:.2f}" if length > 1e-9 else "0" for length in far]
    axes.bar_label(drawn, written, padding=2, fontsize=8)


def _name_bars(axes: "Axes") -> None:
    """The two names, each beside a patch that looks like its bars."""
    from matplotlib.patches import Rectangle

    for left, name, role, hatch in ((0.02, "feed-forward", "key", ""), (0.30, "attention", "value", "///")):
        look = {"facecolor": PALETTE[role], "hatch": hatch, "edgecolor": WHITE, "linewidth": 0}
        axes.add_patch(Rectangle((left, 0.91), 0.035, 0.06, transform=axes.transAxes, **look))
        axes.text(left + 0.045, 0.94, name, transform=axes.transAxes, va="center", fontweight="bold")


def _words(row: int, action: str, size: float, moved: dict[str, np.ndarray]) -> str:
    if action == EXCHANGE:
        done = f"Exchange row {row} with row 0, add nothing" if row else "Row 0 changes places with itself"
    else:
        done = f"Add {size:g} to row {row}"
    return f"{done}: the layer moves {_rows(moved['feed-forward'])}, attention moves {_rows(moved['attention'])}."


def _rows(far: np.ndarray) -> str:
    """The rows that move, in words."""
    names = [str(moved) for moved in np.flatnonzero(far > 1e-9)]
    if not names:
        return "no row"
    if len(names) == ROWS:
        return f"all {ROWS} rows"
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"row {listed}" if len(names) == 1 else f"the rows {listed}"
