"""The widget of lesson 09 counts what is read as the layer's own sizes say."""

import pytest

from ffnlib.widgets import work_left, work_left_picture
from ffnlib.widgets.work_left import shares_left, together


@pytest.mark.parametrize(("fires", "rank"), [(0.05, 0.0625), (0.25, 0.5), (0.5, 0.01)])
def test_the_shares_are_the_weights_counted(fires, rank):
    d = 1600
    d_ff, r = 4 * d, round(rank * d)
    layer = 2 * d * d_ff
    left = shares_left(fires, 1, rank)
    assert left["W2 only: known after W1"] == pytest.approx((d * d_ff + fires * d_ff * d) / layer)
    assert left["both, predicted"] == pytest.approx((d * r + r * d_ff + 2 * fires * d_ff * d) / layer)


def test_together_is_the_chance_that_one_of_several_fires():
    assert together(0.25, 1) == 0.25
    assert together(0.5, 3) == 7 / 8


def test_the_default_shows_the_cap_of_two():
    widget = work_left()
    assert "W2 alone: 1.90 times as fast at most" in widget.words
    assert widget.shown.title.endswith("at most 1.90 times as fast")


def test_many_tokens_leave_nothing_to_skip():
    assert work_left_picture(tokens=64).words.startswith("5 % fire for a token, 96 % for any of 64 tokens.")
