"""The plots of the lessons: the finding as title, names at the things themselves, axes with units."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from ffnlib.figures.palette import PALETTE, STROKES, WHITE, contrast, style
from ffnlib.figures.showing import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# matplotlib is imported inside the functions: a lesson's first cell answers before it is needed.

SIZE = (6.0, 3.5)  # inches


def panel(
    title: str, *, x_label: str = "", y_label: str = "", size: tuple[float, float] = SIZE
) -> tuple["Figure", "Axes"]:
    """An empty figure with one pair of axes and the finding as its title; draw on it inside `with style():`."""
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        entitle(figure, title)
    return figure, axes


def entitle(figure: "Figure", title: str) -> None:
    """Write the finding above the whole figure, in lines that fit its width."""
    figure.suptitle(fill(title, int(figure.get_figwidth() * 10.5)), x=0.02, ha="left", fontsize=12, fontweight="bold")


def lines(
    x: Sequence[float] | Sequence[str] | np.ndarray,
    series: Mapping[str, Sequence[float] | np.ndarray],
    *,
    title: str,
    words: str,
    x_label: str,
    y_label: str,
    roles: Sequence[str] = ("key", "value", "ink", "quiet"),
    x_scale: str = "linear",
    y_scale: str = "linear",
    y_ticks: Sequence[float] = (),
    marks: Sequence[tuple[float, float, str]] = (),
) -> Picture:
    """One line for each entry of `series`, named at its right end; `marks` are points (x, y, text) worth a word.

    Of `y_ticks`, those that lie beside the lines are written as plain numbers, which a scale of powers needs.
    An `x` of numbers written as texts gets a tick at each of them and none between.

    **Raises** ValueError for more lines than roles, an unknown role, and what `Picture` refuses.
    """
    _known_roles(roles, at_least=len(series))
    figure, axes = panel(title, x_label=x_label, y_label=y_label)
    with style():
        for y, role in zip(series.values(), roles, strict=False):
            axes.plot(x, y, color=PALETTE[role], linestyle=STROKES[role])
        if x_scale != "linear":  # setting it takes the ticks of an x made of texts, one a point, away
            axes.set_xscale(x_scale)
        axes.set_yscale(y_scale)
        if x_scale == "linear":
            _speak(axes.xaxis, x)
        elif len(x) <= 8:
            axes.set_xticks(x, [f"{place:g}" for place in x])
            axes.minorticks_off()
        if y_scale == "linear":
            _speak(axes.yaxis, np.concatenate([np.ravel(y) for y in series.values()]))
        if len(y_ticks):
            low, high = axes.get_ylim()
            axes.set_yticks([tick for tick in y_ticks if low <= tick <= high])
            axes.yaxis.set_major_formatter("{x:g}")
            axes.minorticks_off()
        _name_lines(axes, list(series))
        for at_x, at_y, text in marks:
            axes.plot([at_x], [at_y], "o", color=PALETTE["ink"])
            axes.annotate(
                text,
                (at_x, at_y),
                xytext=(8, 8),
                textcoords="offset points",
                bbox={"facecolor": WHITE, "edgecolor": "none", "pad": 1},
            )
    return Picture(figure, words)


def _speak(axis: Any, numbers: Any) -> None:
    """Write "2 billion" at the ticks of an axis with large numbers, not a lone 1e9 at its end."""
    largest = np.nanmax(np.abs(np.asarray(numbers, dtype=float)))
    for size, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if largest >= size:
            axis.set_major_formatter(lambda tick, _, size=size, name=name: f"{tick / size:g} {name}" if tick else "0")
            axis.get_major_locator().set_params(nbins=5)
            return


def _known_roles(roles: Sequence[str], at_least: int) -> None:
    for role in roles:
        if role not in PALETTE:
            raise ValueError(f"role={role!r} is none of the palette's {', '.join(PALETTE)}.")
    if len(roles) < at_least:
        raise ValueError(
            f"{at_least} lines need {at_least} roles, roles={tuple(roles)!r} has {len(roles)}. Show fewer lines."
        )


def _name_lines(axes: "Axes", names: Sequence[str]) -> None:
    """Write each line's name at its right end, low names first, none closer to the next than a line of text."""
    axes.get_ylim()  # matplotlib finds the limits only when asked, and the transform below needs them
    to_axes = axes.transData - axes.transAxes
    ends = []
    for line, name in zip(axes.get_lines(), names, strict=False):
        points = np.column_stack([line.get_xdata(), line.get_ydata()]).astype(float)
        last = points[np.isfinite(points).all(axis=1)][-1]
        ends.append((to_axes.transform(last)[1], name))
    lowest = -np.inf
    for height, name in sorted(ends):
        lowest = max(height, lowest + 0.075)
        axes.annotate(name, (1.02, lowest), xycoords="axes fraction", va="center", fontweight="bold")


def bars(
    labels: Sequence[str],
    lengths: Sequence[float] | np.ndarray,
    *,
    title: str,
    words: str,
    x_label: str,
    highlight: Sequence[int] = (),
    number: str | None = None,
) -> Picture:
    """Horizontal bars in the order given, each with its number; the highlighted ones hatched in the value colour."""
    if number is None:
        number = "{:,.0f}" if np.all(np.mod(lengths, 1) == 0) else "{:,g}"
    figure, axes = panel(title, x_label=x_label, size=(SIZE[0], max(2.0, 1.2 + 0.38 * len(labels))))
    marked = {range(len(labels))[index] for index in highlight}
    colours = [PALETTE["value" if index in marked else "key"] for index in range(len(labels))]
    hatches = ["///" if index in marked else "" for index in range(len(labels))]
    with style():
        drawn = axes.barh(labels, lengths, color=colours, hatch=hatches, edgecolor=WHITE, linewidth=0, height=0.7)
        axes.bar_label(drawn, [number.format(length) for length in lengths], padding=4)
        axes.margins(x=0.2)
        _speak(axes.xaxis, lengths)
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
    return Picture(figure, words)


def intervals(
    runs: Mapping[str, Sequence[float] | np.ndarray],
    half_widths: Mapping[str, float],
    *,
    title: str,
    words: str,
    x_label: str,
) -> Picture:
    """One row for each entry of `runs`: a dot a run, their mean, and a bar of `half_widths` to either side of it.

    A line at 0 shows whether an interval contains it.
    """
    figure, axes = panel(title, x_label=x_label, size=(SIZE[0], 1.3 + 0.6 * len(runs)))
    with style():
        axes.axvline(0, color=PALETTE["quiet"], linestyle=STROKES["quiet"])
        for row, (name, values) in enumerate(runs.items()):
            mean = np.mean(values)
            axes.errorbar([mean], [row], xerr=half_widths[name], fmt="s", color=PALETTE["ink"], capsize=5, zorder=3)
            axes.plot(values, np.full(len(values), row + 0.22), "o", color=PALETTE["key"], markersize=5)
        axes.set_yticks(range(len(runs)), list(runs))
        axes.set_ylim(len(runs) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
    return Picture(figure, words)


def heat_map(
    values: np.ndarray,
    *,
    title: str,
    words: str,
    x_label: str,
    y_label: str,
    value_label: str,
    x_names: Sequence[str] = (),
    y_names: Sequence[str] = (),
    numbers: str | None = None,
    colours: str = "cividis",
    size: tuple[float, float] = SIZE,
) -> Picture:
    """A matrix as magnitudes; `x_names` and `y_names` name columns and rows, such as tokens.

    `numbers`, a format such as "{:.1f}", writes each number into its cell.

    **Shapes** values (rows, columns).
    """
    values = np.asarray(values, dtype=float)
    figure, axes = panel(title, x_label=x_label, y_label=y_label, size=size)
    with style():
        image = axes.imshow(values, aspect="auto", interpolation="nearest", cmap=colours)
        figure.colorbar(image, ax=axes, label=value_label)
        for axis, names in ((axes.xaxis, x_names), (axes.yaxis, y_names)):
            axis.get_major_locator().set_params(integer=True)
            if len(names):
                axis.set_ticks(range(len(names)), names)
        if len(x_names) > 8:
            axes.tick_params(axis="x", labelrotation=45)
            for label in axes.get_xticklabels():
                label.set(ha="right", rotation_mode="anchor")
        if numbers is not None:
            _write_into_cells(axes, image, values, numbers)
    return Picture(figure, words)


def _write_into_cells(axes: "Axes", image: Any, values: np.ndarray, numbers: str) -> None:
    from matplotlib.colors import to_hex

    for (row, column), value in np.ndenumerate(values):
        behind = to_hex(image.cmap(image.norm(value)))
        colour = max((PALETTE["ink"], WHITE), key=lambda letter: contrast(letter, behind))
        axes.text(column, row, numbers.format(value), ha="center", va="center", color=colour)
