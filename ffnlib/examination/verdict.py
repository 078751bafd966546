"""What an answer is told: a verdict, the same as text and as HTML."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from html import escape

UNTOUCHED = "untouched"
NOT_YET = "not-yet"
PASSED = "passed"
BROKEN = "broken"

HEADLINES = {UNTOUCHED: "untouched", NOT_YET: "not yet", PASSED: "passed", BROKEN: "broken"}
COLOURS = {UNTOUCHED: "#5F5F5F", NOT_YET: "#A94400", PASSED: "#00568A", BROKEN: "#1B1B1B"}
CODE = '<code style="background:none;color:inherit;padding:0">'  # JupyterLab's dark theme has a dark ground for code


def as_html(text: str) -> str:
    """Return a sentence as HTML, with code where it stands between backticks.

    >>> as_html("is `a < b` meant?")
    'is <code style="background:none;color:inherit;padding:0">a &lt; b</code> meant?'
    """
    return re.sub(r"`([^`]+)`", rf"{CODE}\1</code>", escape(text))


def note_on_calling(name: str) -> tuple[str, str]:
    """Return the line that sends the author of a wrong answer to another one, which it calls."""
    return "note", f"this answer calls {name}, which is not right yet: begin there"


@dataclass(frozen=True)
class Verdict:
    """The judgement of one answer to one exercise.

    `status` is "untouched", "not-yet", "passed" or "broken" (our fault, never the learner's). `lines` holds the parts
    of the message in order: called, got, because, next, note. `private` names the parts that show an input or an
    expected value and are left out where answers are graded.
    """

    exercise: str
    status: str
    misconception: str | None = None
    lines: tuple[tuple[str, str], ...] = ()
    private: tuple[str, ...] = ("called", "got")

    @property
    def passed(self) -> bool:
        """Whether the answer is right."""
        return self.status == PASSED

    @property
    def message(self) -> str:
        """The whole message as text, one line a part."""
        head = f"{self.exercise} - {HEADLINES[self.status]}"
        return "\n".join([head, *(f"  {label:<10}{text}" for label, text in self.lines)])

    def without_values(self) -> Verdict:
        """Return the verdict without the parts that show inputs or expected values."""
        return replace(self, lines=tuple(line for line in self.lines if line[0] not in self.private))

    def __repr__(self) -> str:
        return self.message

    def _repr_html_(self) -> str:
        colour = COLOURS[self.status]
        rows = "".join(
            f'<div style="display:flex;flex-wrap:wrap;column-gap:0.8em;margin-top:0.25em">'
            f'<span style="flex:0 0 5.2em;color:#5F5F5F">{escape(label)}</span>'
            f'<span style="flex:1 1 14em;min-width:0">{as_html(text)}</span></div>'
            for label, text in self.lines
        )
        return (
            f'<div class="ffn-verdict" data-status="{self.status}" data-exercise="{escape(self.exercise)}" '
            'role="status" style="background:#FFFFFF;color:#1B1B1B;border:1px solid #D0D0D0;'
            f"border-left:5px solid {colour};"
            f'padding:0.6em 0.9em;font-family:sans-serif;line-height:1.45;max-width:52em;overflow-wrap:anywhere">'
            f"<div>{CODE}{escape(self.exercise)}</code> "
            f'<strong style="color:{colour}">{HEADLINES[self.status]}</strong></div>{rows}</div>'
        )
