"""Solution regions: the lines from `### BEGIN SOLUTION` to `### END SOLUTION`, and what a learner gets instead."""

import ast
import re
import textwrap

from ffnlib.authoring.names import bound

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
STUB = "# your code here"


class RegionError(ValueError):
    """A region that cannot be replaced; `line` counts from 1 within the cell."""

    def __init__(self, line, message):
        super().__init__(message)
        self.line = line


def regions(source):
    """Return (first, last) line indices of every region, the marker lines included.

    Raises: RegionError for a nested, unclosed, unopened or misspelt marker.
    """
    found, begin = [], None
    for index, line in enumerate(source.split("\n")):
        marker = line.strip()
        if re.search(r"(BEGIN|END) SOLUTION", marker, re.IGNORECASE) and marker not in (BEGIN, END):
            raise RegionError(index + 1, f"{marker!r} is no marker; write {BEGIN!r} or {END!r} alone on its line")
        if marker == BEGIN and begin is not None:
            raise RegionError(index + 1, f"a region opens inside the one of line {begin + 1}; close that one first")
        if marker == END and begin is None:
            raise RegionError(index + 1, f"{END!r} closes nothing; put {BEGIN!r} above the solution")
        if marker == BEGIN:
            begin = index
        if marker == END:
            found.append((begin, index))
            begin = None
    if begin is not None:
        raise RegionError(begin + 1, f"the region is never closed; put {END!r} below the solution")
    return found


def without_solutions(source, name=None):
    """Return the learner's version of a cell that binds `name`; a prediction binds any names.

    A region inside a function becomes a comment and `raise NotImplementedError`; one at the left margin becomes a
    comment and `name = ...`.
    """
    lines = source.split("\n")
    for first, last in reversed(regions(source)):
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        body = textwrap.dedent("\n".join(lines[first + 1 : last]))
        stub = [indent + "raise NotImplementedError"] if indent else _value_stubs(body, name, first + 1)
        lines[first : last + 1] = [indent + STUB, *stub]
    return "\n".join(lines)


def _value_stubs(body, name, line):
    """Return `name = ...` for a region at the left margin that computes a value."""
    try:
        tree = ast.parse(body)
    except SyntaxError:
        raise RegionError(line, "the region is not Python by itself; put whole statements in it") from None
    if any(isinstance(node, (ast.FunctionDef, ast.ClassDef)) for node in tree.body):
        raise RegionError(line, "the region holds the line of a `def` or `class`; move that line above the region")
    names = list(bound(body))
    if not names or name not in [None, *names]:
        wanted = name or "a name"
        raise RegionError(line, f"the region at the left margin does not bind {wanted}; indent it or bind {wanted}")
    return [f"{each} = ..." for each in ([name] if name else names)]
