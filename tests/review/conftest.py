"""A made-up course of two lessons, small enough to count by hand, and a reader of pages."""

from html.parser import HTMLParser

import pytest

from ffnlib.course import Course, Decided, Lesson, Term


@pytest.fixture
def course():
    """Three claims, two lessons, three words."""
    return Course(
        claims=(
            Decided("S0-91", "A text", "Twice is < plus", "true", "counted", "01_sums", "twice", "2 + 2 = 4."),
            Decided("S0-92", "A text", "Half is less", "depends", "not below 0", "01_sums", "half", "-1 < -0.5."),
            Decided("S1-91", "Another", "All is one", "false", "there are 2", "02_more", "all", "2, not 1."),
        ),
        lessons=(
            Lesson("01_sums", "Sums", "what is twice?", 10, "Twice is plus itself.", "2 + 2 = 5.", {}),
            Lesson("02_more", "More", "what is more?", 20, "More is more.", "less.", {"01_sums": ["sum", "half"]}),
        ),
        terms=(
            Term("sum", "A **sum** is `a + b`; a **half** is less.", "01_sums", "words"),
            Term("half", "A **sum** is `a + b`; a **half** is less.", "01_sums", "words"),
            Term("more", "**more** is not less.", "02_more", "more"),
        ),
    )


class Outline(HTMLParser):
    """The tags of a page in order, and that each which opens is closed."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open = [], []
        self.feed(html)
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("input", "img", "hr", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def count(self, tag):
        """How many of a tag there are."""
        return sum(name == tag for name, _ in self.tags)


@pytest.fixture
def outline():
    """Read a page and give its outline."""
    return Outline
