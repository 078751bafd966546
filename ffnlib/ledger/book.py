"""A ledger: named rows that add up, printed as a table or as HTML, alone or beside another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from ffnlib.scrolling import framed

GROUPS = ("embeddings", "attention", "FFN", "norms", "other")
ON_WHITE = "background:#FFFFFF;color:#1B1B1B;padding:2px 10px;"  # a dark theme colours rows, not tables


@dataclass(frozen=True)
class Row:
    """One kind of part: how much one of them counts, how many there are, and how many of them a token uses."""

    name: str
    group: str
    one: int
    copies: int = 1
    used: int | None = None

    @property
    def total(self) -> int:
        """What all copies count."""
        return self.one * self.copies

    @property
    def active(self) -> int:
        """What the copies count that one token uses."""
        return self.one * (self.copies if self.used is None else self.used)


@dataclass(frozen=True, repr=False)
class Ledger:
    """Named rows and their sums; `unit` says what is counted."""

    name: str
    rows: tuple[Row, ...]
    unit: str = "parameters"

    @property
    def total(self) -> int:
        """The sum of all rows."""
        return sum(row.total for row in self.rows)

    @property
    def active(self) -> int:
        """The sum of what one token uses: less than `total` in a mixture of experts only."""
        return sum(row.active for row in self.rows)

    def of(self, *groups: str) -> int:
        """Return the sum of some groups of rows, such as "attention" or "FFN"."""
        for group in groups:
            if group not in GROUPS:
                raise KeyError(f"group={group!r}: no such group; there are {', '.join(GROUPS)}")
        return sum(row.total for row in self.rows if row.group in groups)

    def share(self, *groups: str) -> float:
        """Return the part of the total that some groups hold, from 0 to 1."""
        return self.of(*groups) / self.total if self.total else 0.0

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"name={name!r}: no such row; there are {', '.join(row.name for row in self.rows)}")

    def beside(self, other: Ledger) -> Comparison:
        """Return both ledgers row by row, and what the other has more."""
        return Comparison(self, other)

    def table(self) -> tuple[list[str], list[tuple]]:
        """Return headings and rows, the sums last, numbers as numbers."""
        mixture = self.active != self.total
        heads = ["part", "one", "copies", self.unit, *(["active"] if mixture else []), "share"]
        body = [
            (row.name, row.one, row.copies, row.total, *([row.active] if mixture else []), self._percent(row.total))
            for row in self.rows
        ]
        return heads, [
            *body,
            ("all", "", "", self.total, *([self.active] if mixture else []), self._percent(self.total)),
        ]

    def _percent(self, count: int) -> str:
        return f"{100 * count / self.total:.2f} %" if self.total else ""

    def __repr__(self) -> str:
        return as_text(self.name, *self.table())

    def _repr_html_(self) -> str:
        return as_html(self.name, *self.table())


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two ledgers, row by row."""

    left: Ledger
    right: Ledger

    def table(self) -> tuple[list[str], list[tuple]]:
        """Return headings and rows, in the order of the left ledger, then what only the right one has."""
        left, right = ({row.name: row.total for row in book.rows} for book in (self.left, self.right))
        names = [*left, *(name for name in right if name not in left)]
        body = [(name, left.get(name, 0), right.get(name, 0)) for name in names]
        body.append(("all", self.left.total, self.right.total))
        if self.left.active != self.left.total or self.right.active != self.right.total:
            body.append(("active", self.left.active, self.right.active))
        return ["part", self.left.name, self.right.name, "difference"], [(*row, row[2] - row[1]) for row in body]

    @property
    def _title(self) -> str:
        return f"{self.left.name} beside {self.right.name}"

    def __repr__(self) -> str:
        return as_text(self._title, *self.table())

    def _repr_html_(self) -> str:
        return as_html(self._title, *self.table())


def _written(entry: object) -> str:
    return f"{entry:,}" if isinstance(entry, int) else str(entry)


def as_text(title: str, heads: Sequence[str], rows: Sequence[tuple]) -> str:
    """Return a table in columns, numbers to the right."""
    lines = [list(heads), *([_written(entry) for entry in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    written = ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines]
    return "\n".join([title, *written])


def as_html(title: str, heads: Sequence[str], rows: Sequence[tuple]) -> str:
    """Return a table with headings that a screen reader finds; every name is escaped."""
    head = "".join(f'<th scope="col" style="{ON_WHITE}text-align:right">{escape(each)}</th>' for each in heads)
    body = ""
    for name, *numbers in rows:
        line = "border-top:1px solid #8A8A8A;" if name == "all" else ""
        cells = "".join(
            f'<td style="{ON_WHITE}{line}text-align:right">{escape(_written(each))}</td>' for each in numbers
        )
        body += f'<tr><th scope="row" style="{ON_WHITE}{line}text-align:left">{escape(name)}</th>{cells}</tr>'
    caption = f'<caption style="{ON_WHITE}text-align:left;font-weight:bold">{escape(title)}</caption>'
    table = f'<table style="{ON_WHITE}">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return framed(table, title)
