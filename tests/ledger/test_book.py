"""The ledger as a table, as HTML, and beside another."""

import re
from html.parser import HTMLParser

import pytest

from ffnlib.ledger import Ledger, Row, count_model, known_models


@pytest.mark.parametrize("model", known_models(), ids=lambda model: model["name"])
def test_the_rows_have_names_of_their_own_and_the_groups_add_up(model):
    ledger = count_model(model)
    assert len({row.name for row in ledger}) == len(ledger.rows)
    assert ledger.of("embeddings", "attention", "FFN", "norms", "other") == ledger.total


def test_the_printed_rows_add_up_to_the_printed_total():
    lines = repr(count_model("GPT-2 small")).splitlines()
    totals = [int(re.split(r"\s{2,}", line)[-2].replace(",", "")) for line in lines[2:]]
    assert sum(totals[:-1]) == totals[-1] == 124_439_808


def test_a_mixture_shows_what_a_token_uses():
    assert "active" in repr(count_model("Mixtral-8x7B")) and "12,879,925,248" in repr(count_model("Mixtral-8x7B"))
    assert "active" not in repr(count_model("GPT-2 small"))


def test_a_name_is_escaped_in_html():
    page = Ledger("<script>", (Row("<b>", "other", 3),))._repr_html_()
    assert "<script>" not in page and "<b>" not in page and "&lt;script&gt;" in page


def test_every_tag_of_the_html_is_closed_and_every_row_has_a_heading():
    open_tags, rows = [], []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            open_tags.append(tag)
            rows.extend([dict(attributes)["scope"]] if tag == "th" else [])

        def handle_endtag(self, tag):
            assert open_tags.pop() == tag

    ledger = count_model("Mixtral-8x7B")
    Reader().feed(ledger._repr_html_())
    assert not open_tags and rows.count("row") == len(ledger.rows) + 1


def test_two_models_stand_side_by_side_row_by_row():
    small, mixture = count_model("GPT-2 small"), count_model("Mixtral-8x7B")
    heads, rows = small.beside(mixture).table()
    assert heads == ["part", "GPT-2 small", "Mixtral-8x7B", "difference"]
    assert {row[0] for row in rows} == {row.name for row in (*small, *mixture)} | {"all", "active"}
    assert all(right - left == difference for _, left, right, difference in rows)
    body = rows[:-2]
    assert [sum(row[side] for row in body) for side in (1, 2)] == [small.total, mixture.total]
    assert "46,702,792,704" in repr(small.beside(mixture)) and "<table" in small.beside(mixture)._repr_html_()


def test_asking_for_a_row_or_group_that_is_not_there_says_which_there_are():
    with pytest.raises(KeyError, match="there are token embedding"):
        count_model("GPT-2 small")["router"]
    with pytest.raises(KeyError, match="there are embeddings, attention"):
        count_model("GPT-2 small").of("MLP")
