"""A wide table is reached by keyboard and has a name, in everything of the course that draws one."""

from html.parser import HTMLParser

import pytest

from ffnlib.figures import Table
from ffnlib.grading.pages import class_page
from ffnlib.learner import progress
from ffnlib.ledger import count_model
from ffnlib.review import claims_page
from ffnlib.scrolling import framed

RESULT = {"id": "relu", "status": "passed", "points": 1, "max_points": 1, "misconception": "", "message": ""}
RESULT |= {"calls_wrong": []}
ROW = {"student": "s", "file": "f", "lesson": "01", "status": "graded", "notes": [], "exercises": [RESULT]}
SHOWN = {
    "a table of figures": lambda: Table(("n",), [(1,)], title="Ones", words="1 row.")._repr_mimebundle_()["text/html"],
    "a ledger": lambda: count_model("GPT-2 small")._repr_html_(),
    "progress": lambda: progress()._repr_html_(),
    "the claims": lambda: claims_page(predicted={}).html,
    "the class": lambda: class_page([ROW], "none"),
}


class Frames(HTMLParser):
    """For every table, what the element around it says of itself."""

    def __init__(self, html):
        super().__init__()
        self.open, self.around = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        if tag == "table":
            self.around.append(self.open[-1])
        if tag not in ("meta", "input", "img", "br"):
            self.open.append(dict(attributes))

    def handle_endtag(self, tag):
        self.open.pop()


@pytest.mark.parametrize("shown", SHOWN)
def test_every_table_scrolls_in_a_frame_that_has_a_name_and_takes_the_focus(shown):
    frames = Frames(SHOWN[shown]()).around
    assert frames
    for frame in frames:
        assert frame["tabindex"] == "0" and frame["role"] == "group" and frame["aria-label"].strip()
        assert "overflow-x: auto" in frame["style"] and frame["data-lm-suppress-shortcuts"] == "true"


def test_a_name_is_escaped():
    assert 'aria-label="&lt;b&gt; &quot;"' in framed("<table></table>", '<b> "')
