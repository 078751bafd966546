"""How a picture or a table reaches the reader: a white card, something to see on it, and the sentence that says it.

`Picture` and `Table` put two things into a cell's output: `text/plain`, which is the words and nothing else, and
`text/html`, the card with "In words: ..." beneath. The card carries the image as a data URI in an `<img>`, because
JupyterLab gives a bare `image/png` output no alternative text at all, and because a notebook page on the web shows an
`image/png` output as the very same kind of `<img>`.
nbval compares both texts. The words it must compare, the image bytes it must not, since another machine's fonts move a
pixel; `NBVAL_SANITIZE` takes them out, and the colours and margins with them: a new look is no reason to run a lesson.
"""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ffnlib.figures.palette import PALETTE, WHITE, style
from ffnlib.scrolling import framed

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL import Image

BUDGET = 40_000  # bytes of one picture
RESOLUTIONS = (144, 96)  # dots per inch, the first that keeps the budget is taken
COLOURS = 128
AREA = 8  # pixels of one colour side by side are an area; a shade that never fills so many only softens an edge
NEAR = 12  # of 255: so close, two shades of an edge look alike at any size
CARD_WIDTH = 640  # pixels
NBVAL_SANITIZE = {r"data:image/png;base64,[A-Za-z0-9+/=]+": "IMAGE", r' style="[^"]*"': ""}
"""Pattern -> replacement for nbval's sanitising: the words are compared, the looks are not."""


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
        _with_fewer_shades_at_edges(flat).save(packed, format="PNG", optimize=True)
        if packed.tell() <= budget:
            return packed.getvalue()
    raise ValueError(
        f"a picture of {packed.tell():,} bytes is over the budget of budget={budget:,}. "
        "Draw fewer points or cells, or make the figure smaller."
    )


def _with_fewer_shades_at_edges(flat: "Image.Image") -> "Image.Image":
    """The same picture, a quarter smaller: of the shades that soften edges, those that are `NEAR` become one."""
    pixels = np.asarray(flat)
    palette = np.reshape(flat.getpalette(), (-1, 3)).astype(int)
    windows = np.lib.stride_tricks.sliding_window_view(pixels, AREA, axis=1)
    areas = np.unique(windows[(windows == windows[..., :1]).all(axis=-1)]).tolist()
    frequent_first = np.argsort(-np.bincount(pixels.ravel(), minlength=len(palette)), kind="stable").tolist()
    kept, becomes = list(areas), list(range(256))
    for shade in frequent_first:
        distances = abs(palette[kept] - palette[shade]).max(axis=-1).tolist()
        nearest = min(distances, default=256)
        if shade not in areas and nearest <= NEAR:
            becomes[shade] = kept[distances.index(nearest)]
        elif shade not in areas:
            kept.append(shade)
    return flat.point(becomes).remap_palette(kept)


def card(body: str, words: str) -> str:
    """The opaque white card: something to see, and beneath it the sentence that says it."""
    return (
        f'<figure class="ffn-card" style="background: {WHITE}; color: {PALETTE["ink"]}; max-width: {CARD_WIDTH}px; '
        'margin: 4px 0px; padding: 8px 12px; border-radius: 4px; overflow-wrap: anywhere;">'
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
        table = (
            f'<table style="{_ON_WHITE} border-collapse: collapse; margin: 0px 0px 8px 0px;">'
            f'<thead><tr style="{_ON_WHITE}">{heading}</tr></thead><tbody>{lines}</tbody></table>'
        )
        title = f'<p style="{_ON_WHITE} margin: 0px 0px 4px 0px;"><strong>{escape(self.title)}</strong></p>'
        return title + framed(table, self.title)


_ON_WHITE = f"background: {WHITE}; color: {PALETTE['ink']};"


def _cell(tag: str, entry: object, attributes: str = "") -> str:
    number = isinstance(entry, int | float | np.number) and not isinstance(entry, bool)
    text = f"{entry:,}" if isinstance(entry, int) and not isinstance(entry, bool) else str(entry)
    align = "right" if number else "left"
    return (
        f'<{tag}{attributes} style="{_ON_WHITE} text-align: {align}; padding: 4px 12px 4px 0px;">{escape(text)}</{tag}>'
    )
