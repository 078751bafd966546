"""Pictures that say in words what they show: one palette, one style, one visible sentence beneath every picture.

How a picture travels. `Picture` and `Table` put two things into a cell's output: `text/plain`, which is the words and
nothing else, and `text/html`, a white card holding the picture and the sentence "In words: ...". The card carries the
image as a data URI in an `<img>`, because JupyterLab gives a bare `image/png` output no alternative text at all, and
because a notebook page on the web shows an `image/png` output as the very same kind of `<img>`.
nbval compares both texts. The words it must compare; the image bytes it must not, since another machine's fonts move a
pixel. `NBVAL_SANITIZE` holds the pattern that takes the bytes out and leaves alternative text and sentence in.
"""

import base64
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# matplotlib is imported inside the functions: a lesson's first cell answers before it is needed.

PALETTE = {"ink": "#1B1B1B", "key": "#0072B2", "value": "#D55E00", "quiet": "#8A8A8A"}
"""What a colour means, the same in all lessons; words are always set in ink, the one role that reads at any size."""

WHITE = "#FFFFFF"
STROKES = {"ink": "-.", "key": "-", "value": "--", "quiet": ":"}
"""Every role has a stroke of its own, so that colour never carries the meaning alone."""

SIZE = (6.0, 3.5)  # inches
BUDGET = 40_000  # bytes of one picture
RESOLUTIONS = (144, 96)  # dots per inch, the first that keeps the budget is taken
COLOURS = 128
CARD_WIDTH = 640  # pixels

DATA_URI = re.compile(r"data:image/png;base64,[A-Za-z0-9+/=]+")
NBVAL_SANITIZE = {DATA_URI.pattern: "IMAGE"}
"""Pattern -> replacement for nbval's sanitising: the words are compared, the pixels are not."""

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


def png(figure: "Figure", budget: int = BUDGET) -> bytes:
    """The figure as a PNG of at most `budget` bytes: few colours, no time stamp, the same bytes for the same figure.

    **Raises** ValueError when even the coarsest resolution is too large.
    """
    from PIL import Image

    for resolution in RESOLUTIONS:
        drawn, packed = io.BytesIO(), io.BytesIO()
        with style():
            figure.savefig(drawn, format="png", dpi=resolution)
        # An adaptive palette keeps flat colours exact and makes a quarter of the size of full colour.
        flat = Image.open(drawn).convert("RGB").quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        flat.save(packed, format="PNG", optimize=True)
        if packed.tell() <= budget:
            return packed.getvalue()
    raise ValueError(
        f"a picture of {packed.tell():,} bytes is over the budget of budget={budget:,}. "
        "Draw fewer points or cells, or make the figure smaller."
    )


def card(body: str, words: str) -> str:
    """The opaque white card: something to see, and beneath it the sentence that says it."""
    return (
        f'<figure class="ffn-card" style="background: {WHITE}; color: {PALETTE["ink"]}; max-width: {CARD_WIDTH}px; '
        'margin: 4px 0px; padding: 8px 12px; border-radius: 4px;">'
        f"{body}"
        f'<figcaption class="ffn-words" style="color: {PALETTE["ink"]}; font-size: 14px; line-height: 1.5;">'
        f"In words: {escape(words)}</figcaption></figure>"
    )


def _checked_words(words: str, title: str) -> None:
    if not isinstance(words, str) or not words.strip():
        raise ValueError(
            f"words={words!r}: a picture needs one sentence with a number in it, computed from the arrays you plotted."
        )
    if _letters(words) == _letters(title):
        raise ValueError(f"words={words!r} repeats the title. The title names the finding; the words give its numbers.")


def _letters(text: str) -> str:
    return " ".join(text.split()).rstrip(".").casefold()


class _Shown:
    """What `Picture` and `Table` share: they show a card and read as their words."""

    words: str
    body: str

    def __repr__(self) -> str:
        return self.words

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": self.words, "text/html": card(self.body, self.words)}


@dataclass(frozen=True, repr=False, eq=False)
class Picture(_Shown):
    """A figure and the sentence that says what it shows; make it the last line of a cell, or `display` it.

    **Raises** ValueError for empty words, for words that repeat the title, and for a picture over the budget.
    """

    figure: "Figure"
    words: str

    def __post_init__(self) -> None:
        _checked_words(self.words, self.title)

    @cached_property
    def title(self) -> str:
        """The finding written above the figure, in one line."""
        headings = [
            self.figure.get_suptitle(),
            *(axes.get_title(where) for axes in self.figure.axes for where in ("left", "center")),
        ]
        return next((" ".join(heading.split()) for heading in headings if heading), "")

    @cached_property
    def png(self) -> bytes:
        """The bytes of the picture, at most `BUDGET`."""
        return png(self.figure)

    @property
    def alt(self) -> str:
        """What a screen reader says in place of the picture: the finding, then the words."""
        return f"{self.title}. {self.words}" if self.title else self.words

    @property
    def body(self) -> str:
        """The picture as one `<img>` that needs no file beside it."""
        data = base64.b64encode(self.png).decode()
        width = min(CARD_WIDTH, round(self.figure.get_figwidth() * 96))
        return (
            f'<img class="ffn-image" alt="{escape(self.alt)}" src="data:image/png;base64,{data}" width="{width}" '
            f'style="background: {WHITE}; max-width: 100%; height: auto;">'
        )


@dataclass(frozen=True, repr=False, eq=False)
class Table(_Shown):
    """Rows of text or numbers with a heading each column, and the sentence that says what they show.

    **Raises** ValueError for empty words, for words that repeat the title, and for a row of another length.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    words: str
    title: str

    def __post_init__(self) -> None:
        _checked_words(self.words, self.title)
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"row={list(row)!r} has {len(row)} entries, the columns are {list(self.columns)!r}.")

    @property
    def body(self) -> str:
        """The table in black on white, whatever the theme around it."""
        heading = "".join(_cell("th", column, ' scope="col"') for column in self.columns)
        lines = "".join(
            f'<tr style="{_ON_WHITE}">{"".join(_cell("td", entry) for entry in row)}</tr>' for row in self.rows
        )
        return (
            f'<p style="{_ON_WHITE} margin: 0px 0px 4px 0px;"><strong>{escape(self.title)}</strong></p>'
            f'<table style="{_ON_WHITE} border-collapse: collapse; margin: 0px 0px 8px 0px;">'
            f'<thead><tr style="{_ON_WHITE}">{heading}</tr></thead><tbody>{lines}</tbody></table>'
        )


_ON_WHITE = f"background: {WHITE}; color: {PALETTE['ink']};"


def _cell(tag: str, entry: object, attributes: str = "") -> str:
    number = isinstance(entry, int | float | np.number) and not isinstance(entry, bool)
    text = f"{entry:,}" if isinstance(entry, int) and not isinstance(entry, bool) else str(entry)
    align = "right" if number else "left"
    return (
        f'<{tag}{attributes} style="{_ON_WHITE} text-align: {align}; padding: 4px 12px 4px 0px;">{escape(text)}</{tag}>'
    )


def lines(
    x: Sequence[float] | np.ndarray,
    series: Mapping[str, Sequence[float] | np.ndarray],
    *,
    title: str,
    words: str,
    x_label: str,
    y_label: str,
    roles: Sequence[str] = ("key", "value", "ink", "quiet"),
    x_scale: str = "linear",
    y_scale: str = "linear",
    marks: Sequence[tuple[float, float, str]] = (),
) -> Picture:
    """One line for each entry of `series`, named at its right end; `marks` are points (x, y, text) worth a word.

    **Raises** ValueError for more lines than roles, an unknown role, and what `Picture` refuses.
    """
    _known_roles(roles, at_least=len(series))
    figure, axes = panel(title, x_label=x_label, y_label=y_label)
    with style():
        for y, role in zip(series.values(), roles, strict=False):
            axes.plot(x, y, color=PALETTE[role], linestyle=STROKES[role])
        axes.set_xscale(x_scale)
        axes.set_yscale(y_scale)
        if x_scale == "linear":
            _speak(axes.xaxis, x)
        if y_scale == "linear":
            _speak(axes.yaxis, np.concatenate([np.ravel(y) for y in series.values()]))
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


_OPERATOR, _GAP = 0.8, 0.2  # in cells


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
