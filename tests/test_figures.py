"""A picture says in words what it shows, is small, the same on every run, and readable in every theme by every eye."""

import base64
import itertools
import re
import struct
import subprocess
import sys
from functools import cache
from io import BytesIO

import matplotlib
import numpy as np
import pytest

from ffnlib import figures
from ffnlib.figures import PALETTE, WHITE, Picture, Table, contrast

# Machado, Oliveira and Fernandes 2009, severity 1: what is left of a colour's light for three kinds of eye.
EYES = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
)


def lab(light):
    """CIELAB of an amount of red, green and blue light, white point D65."""
    relative = TO_XYZ @ np.clip(light, 0, 1) / [0.95047, 1, 1.08883]
    x, y, z = np.where(relative > 216 / 24389, np.cbrt(relative), (24389 / 27 * relative + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def seen_distance(colour, other, eye):
    """CIE 1976 distance between two colours as one kind of eye sees them."""
    return np.linalg.norm(lab(eye @ figures.linear_rgb(colour)) - lab(eye @ figures.linear_rgb(other)))


def a_picture(words="From 0 to 2 it rises by 4.", title="Squares grow faster than numbers"):
    x = np.linspace(0, 2, 21)
    return figures.lines(
        x,
        {"square": x**2, "number": x},
        title=title,
        words=words,
        x_label="number",
        y_label="result",
        marks=[(1, 1, "here")],
    )


@cache
def every_kind_of_picture():
    rng = np.random.default_rng(5)
    say = {"title": "It is so", "words": "It is so in 3 of 4 cases."}
    return {
        "lines": a_picture(),
        "log lines": figures.lines(
            [1, 10, 100], {"loss": [3, 2, np.nan]}, x_label="x", y_label="y", x_scale="log", **say
        ),
        "bars": figures.bars(["attention", "FFN"], [2, 4], x_label="parameters", highlight=[-1], **say),
        "a large heat map": figures.heat_map(
            rng.normal(size=(64, 512)), x_label="unit", y_label="token", value_label="activation", **say
        ),
        "large counts": figures.bars(["attention", "FFN"], [2_147_483_648, 4_294_967_296], x_label="parameters", **say),
        "named tokens": figures.heat_map(
            rng.normal(size=(12, 12)),
            x_names=["feed-forward"] * 12,
            y_names=["the longest token"] * 12,
            x_label="",
            y_label="",
            value_label="w",
            **say,
        ),
        "numbers in cells": figures.heat_map(
            rng.normal(size=(3, 4)), x_label="unit", y_label="token", value_label="activation", numbers="{:.1f}", **say
        ),
        "matrices": figures.matrices(
            [("x", np.array([1.0, -2.0])), "@", ("W", np.eye(2), np.eye(2) > 0), "=", ("y", [1, 2])], **say
        ),
    }


KINDS = (
    "lines",
    "log lines",
    "bars",
    "a large heat map",
    "large counts",
    "named tokens",
    "numbers in cells",
    "matrices",
)


@pytest.mark.parametrize("eye", EYES)
def test_the_four_roles_stay_apart_for_this_eye(eye):
    for one, other in itertools.combinations(PALETTE.values(), 2):
        assert seen_distance(one, other, np.array(EYES[eye])) >= 23, (one, other)


def test_the_distance_notices_a_red_and_a_green_that_one_eye_confuses():
    assert seen_distance("#B00000", "#6B5A00", np.array(EYES["deuteranopia"])) < 23
    assert seen_distance("#B00000", "#6B5A00", np.eye(3)) > 50


def test_every_role_reads_as_a_line_on_white_and_ink_reads_as_text():
    assert all(contrast(colour, WHITE) >= 3 for colour in PALETTE.values())  # what WCAG asks of graphics
    assert contrast(PALETTE["ink"], WHITE) >= 7 and contrast(WHITE, PALETTE["key"]) >= 4.5  # and of text
    assert set(figures.STROKES) == set(PALETTE) and len(set(figures.STROKES.values())) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_keeps_the_budget_and_is_opaque_white_at_its_corners(kind):
    from PIL import Image

    data = every_kind_of_picture()[kind].png
    assert 1_000 < len(data) <= 40_000
    image = Image.open(BytesIO(data)).convert("RGBA")
    width, height = image.size
    assert all(image.getpixel(corner) == (255, 255, 255, 255) for corner in [(0, 0), (width - 1, 0), (0, height - 1)])


def in_full_colour_and_as_shown(picture):
    from PIL import Image

    drawings = [BytesIO(), BytesIO()]
    for drawing in drawings:  # the second time, for the layout moves a little once
        with figures.style():
            picture.figure.savefig(drawing, format="png", dpi=144)
    both = [Image.open(data).convert("RGB") for data in (drawings[1], BytesIO(figures.png(picture.figure)))]
    return [np.asarray(image).astype(int) for image in both]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "a large heat map"])  # it is drawn more coarsely
def test_a_picture_looks_like_its_drawing_in_full_colour(kind):
    exact, shown = in_full_colour_and_as_shown(every_kind_of_picture()[kind])
    away = abs(shown - exact).max(axis=-1)  # of 255
    assert away.mean() < 0.8 and (away > 12).mean() < 0.01 and away.max() < 100


def test_cells_a_little_apart_in_value_keep_colours_of_their_own():
    say = {"title": "t", "words": "3 w", "x_label": "x", "y_label": "y", "value_label": "z"}
    exact, shown = in_full_colour_and_as_shown(figures.heat_map(np.array([[0.0, 0.5, 0.515, 0.53, 1.0]]), **say))
    middle = len(exact) // 2
    colours, pixels = np.unique(exact[middle], axis=0, return_counts=True)
    cells = colours[pixels > 50]
    assert len(cells) >= 5
    assert all((shown[middle] == colour).all(axis=-1).sum() > 50 for colour in cells)


def test_a_line_chart_is_stored_in_few_shades():
    from PIL import Image

    image = Image.open(BytesIO(a_picture().png))
    assert len(image.getcolors()) < 50  # 100 with every shade of every edge, and a third more bytes
    assert len(a_picture().png) < 12_500


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_drawn_outside_the_figure(kind):
    figure = every_kind_of_picture()[kind].figure
    figure.draw_without_rendering()
    outside = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert outside.x0 >= -0.01 and outside.y0 >= -0.01, outside
    assert outside.x1 <= width + 0.01 and outside.y1 <= height + 0.01, outside


def test_the_bytes_hold_no_date_and_no_program_and_are_the_same_twice():
    data = a_picture().png
    assert data == a_picture().png
    kinds, at = set(), 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kinds.add(data[at + 4 : at + 8])
        at += 12 + length
    assert kinds <= {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"pHYs"}


def test_a_picture_that_cannot_keep_the_budget_is_refused_with_both_numbers():
    noise = figures.heat_map(
        np.random.default_rng(1).normal(size=(20, 20)), title="t", words="1 w", x_label="", y_label="", value_label=""
    )
    with pytest.raises(ValueError, match=r"bytes is over the budget of budget=500"):
        figures.png(noise.figure, budget=500)


@pytest.mark.parametrize("words", ["", "  \n", None, 3])
def test_a_picture_without_words_is_refused(words):
    with pytest.raises(ValueError, match="one sentence with a number"):
        a_picture(words=words)


def test_words_that_repeat_the_title_are_refused():
    with pytest.raises(ValueError, match="repeats the title"):
        a_picture(title="Half of the\nunits fire", words="half of the units  fire.")


def test_the_plain_text_is_the_words_and_the_card_shows_them_beneath_the_image():
    picture = a_picture(words='For x < 1 the "square" is smaller: 0.25 at 0.5.')
    bundle = picture._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"] == repr(picture) == picture.words
    said = "For x &lt; 1 the &quot;square&quot; is smaller: 0.25 at 0.5."
    assert f'alt="Squares grow faster than numbers. {said}"' in bundle["text/html"]
    assert bundle["text/html"].index("<img") < bundle["text/html"].index(f"In words: {said}</figcaption>")
    (data,) = re.findall(r"data:image/png;base64,([^\"]+)", bundle["text/html"])
    assert base64.b64decode(data) == picture.png


def test_sanitising_takes_out_pixels_and_looks_and_leaves_the_words():
    html = a_picture()._repr_mimebundle_()["text/html"]
    for pattern, replacement in figures.NBVAL_SANITIZE.items():
        html = re.sub(pattern, replacement, html)
    assert "base64" not in html and 'src="IMAGE"' in html and "style=" not in html
    assert html.count("From 0 to 2 it rises by 4.") == 2  # alternative text and sentence


def test_drawing_leaves_matplotlib_as_it_was():
    before = dict(matplotlib.rcParams)
    a_picture().png  # noqa: B018
    assert dict(matplotlib.rcParams) == before


def test_drawing_uses_no_pyplot():
    program = (
        "import sys, numpy; from ffnlib import figures; assert 'matplotlib' not in sys.modules;"
        "figures.bars(['a'], [1], title='t', words='1 w', x_label='x').png;"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_large_numbers_are_spoken_at_the_axis_and_exact_at_the_bar():
    axes = every_kind_of_picture()["large counts"].figure.axes[0]
    axes.figure.draw_without_rendering()
    assert "2 billion" in [label.get_text() for label in axes.get_xticklabels()]
    assert "4,294,967,296" in [text.get_text() for text in axes.texts]


def test_lines_are_named_at_their_ends_in_the_order_of_their_heights():
    figure = a_picture().figure
    names = {text.get_text(): text for text in figure.axes[0].texts}
    assert names["square"].xy[1] > names["number"].xy[1]
    assert figure.axes[0].get_legend() is None


def test_names_of_lines_that_end_together_do_not_overlap():
    same = [0, 1]
    figure = figures.lines(
        same, {"one": same, "two": same, "three": same}, title="t", words="3 w", x_label="x", y_label="y"
    ).figure
    heights = sorted(text.xy[1] for text in figure.axes[0].texts)
    assert np.diff(heights).min() >= 0.07


def test_an_x_of_texts_gets_a_tick_at_each_and_none_between():
    picture = figures.lines(
        list("0123"), {"a": [1, 2, 3, 4]}, title="Four layers", words="4 layers.", x_label="layer", y_label="y"
    )
    axes = picture.figure.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == list("0123")


def test_an_unknown_role_and_too_many_lines_are_refused():
    say = {"title": "t", "words": "1 w", "x_label": "x", "y_label": "y"}
    with pytest.raises(ValueError, match="role='red' is none of the palette's ink, key, value, quiet"):
        figures.lines([0, 1], {"a": [0, 1]}, roles=["red"], **say)
    with pytest.raises(ValueError, match="5 lines need 5 roles"):
        figures.lines([0, 1], {name: [0, 1] for name in "abcde"}, **say)


def test_a_mask_of_another_shape_is_refused_by_name():
    with pytest.raises(ValueError, match=r"mask of W1 has shape \(1, 3\), its matrix \(2, 2\)"):
        figures.matrices([("W1", np.eye(2), [1, 0, 1])], title="t", words="2 w")


def test_the_numbers_of_a_matrix_stand_in_its_cells():
    texts = [
        text.get_text()
        for text in figures.matrices([("W", np.array([[0.5, -2]]))], title="t", words="2 w").figure.axes[0].texts
    ]
    assert texts == ["0.5", "-2", "W\n(1, 2)"]


def test_a_figure_of_ones_own_becomes_a_picture_with_its_title_in_the_alternative_text():
    figure, axes = figures.panel("Half of it")
    with figures.style():
        axes.plot([0, 1], [0, 1])
    assert Picture(figure, "It is 0.5.").alt == "Half of it. It is 0.5."


def test_a_table_escapes_its_entries_and_puts_thousands_apart():
    table = Table(("model", "parameters"), [("<b>", 6_738_415_616)], words="It has 6.7 billion.", title="Count")
    html = table._repr_mimebundle_()["text/html"]
    assert "&lt;b&gt;" in html and ">6,738,415,616</td>" in html and "In words: It has 6.7 billion." in html
    assert repr(table) == "It has 6.7 billion."


def test_a_table_with_a_ragged_row_is_refused():
    with pytest.raises(ValueError, match=r"row=\[1\] has 1 entries"):
        Table(("a", "b"), [(1,)], words="1 row", title="t")


def test_of_the_places_named_for_a_scale_of_powers_those_beside_the_lines_are_plain_numbers():
    picture = figures.lines(
        [1, 2],
        {"y": [0.3, 4]},
        title="t",
        words="2.",
        x_label="x",
        y_label="y",
        y_scale="log",
        y_ticks=(0.1, 0.5, 1, 9),
    )
    axis = picture.figure.axes[0].yaxis
    assert [label.get_text() for label in axis.get_ticklabels()] == ["0.5", "1"]


def test_a_logarithmic_axis_of_a_few_places_is_marked_at_these_places():
    few = figures.lines(
        [2, 4, 16], {"y": [1, 2, 3]}, title="t", words="3 places.", x_label="x", y_label="y", x_scale="log"
    )
    assert [tick.get_text() for tick in few.figure.axes[0].get_xticklabels()] == ["2", "4", "16"]
