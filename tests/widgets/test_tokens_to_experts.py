"""Tokens to experts: the sentence counts what the picture draws, and the default position shows a dropped token."""

import re

import numpy as np
import pytest

from ffnlib.widgets import flow_picture, tokens_to_experts, tokens_to_experts_picture
from ffnlib.widgets.tokens_to_experts import EXPERTS, TOKENS

POSITIONS = [(0.0, 1.0, 1), (2.0, 1.0, 1), (4.0, 0.5, 1), (2.0, 1.0, 2), (0.0, 4.0, 2), (4.0, 4.0, 1)]


def drawn(picture):
    """Read from the figure: (tokens asked, taken) of each expert, and how many tokens are marked as dropped."""
    texts = [text.get_text() for text in picture.figure.axes[0].texts]
    counts = [tuple(map(int, re.findall(r"(\d+) (?:asked|taken)", text))) for text in texts if "asked" in text]
    return counts, sum("dropped" in text for text in texts)


@pytest.mark.parametrize(("favour", "factor", "k"), POSITIONS)
def test_the_sentence_counts_what_is_drawn(favour, factor, k):
    picture = tokens_to_experts_picture(favour, factor, k)
    room, away, requests, dropped, empty, places = map(int, re.findall(r"\d+", picture.words))
    counts, marked = drawn(picture)
    asked, taken = np.sum(counts, axis=0)
    assert (asked, asked - taken, marked) == (requests, away, dropped) == (TOKENS * k, away, dropped)
    assert all(each <= room for _, each in counts)
    assert (places, empty) == (room * EXPERTS, room * EXPERTS - taken)


def test_the_default_position_shows_dropped_tokens_and_empty_places():
    widget = tokens_to_experts()
    assert drawn(widget.shown)[1] > 0 and "places stay empty" in widget.words


def test_room_for_all_drops_nobody():
    assert tokens_to_experts_picture(4.0, 4.0, 1).title == "Every token finds an expert"


def test_a_line_turned_away_is_broken():
    gates = np.array([[0.9, 0.0], [0.8, 0.0]])
    axes = flow_picture(gates, 1, ["a", "b"], title="One place", words="1 of 2 is taken.").figure.axes[0]
    assert [line.get_linestyle() for line in axes.get_lines()] == ["-", "--"]
