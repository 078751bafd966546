"""What is asked: an exercise, the probes that try an answer, and the misconceptions it can recognise."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Remote:
    """A function that stays with the judge: an answer holds a proxy and never sees its name or code.

    `calls` caps how often an answer may call it during one probe.
    """

    function: Callable
    calls: int = 2_000


@dataclass(frozen=True)
class Probe:
    """One thing to do with an answer, as plain data.

    `action` is "call" (call the answer with each tuple of `calls` in turn), "build" (construct the answer with
    `calls[0]`, load `weights`, run it on `inputs`) or "read" (take the answer as a value). Where a later tuple of
    `calls` holds an array of the same shape and type, the same array object is filled again, so that an answer that
    remembers objects instead of numbers is found out.
    """

    calls: tuple[tuple, ...] = ((),)
    action: str = "call"
    weights: tuple = ()
    inputs: tuple = ()


def call(*args: Any) -> Probe:
    """Return the probe that calls an answer once with `args`."""
    return Probe(calls=(args,))


@dataclass(frozen=True)
class Misconception:
    """A wrong program, the sentence it earns and where to look next.

    `because` completes "this is exactly what comes out when ..."; `program` takes the arguments of the oracle.
    `raises` names the error in which the program ends on every call, where the misconception comes to that.
    """

    name: str
    program: Callable
    because: str
    next: str
    raises: str = ""


@dataclass(frozen=True)
class Grammar:
    """How a count, or another result, is put together, so that a wrong one can be explained.

    `terms(*args)` returns the named terms; their sum is the result, unless `combine(terms, *args)` says otherwise.
    `nouns` says what a term is in a sentence ("the norms"): each of these may be left out or counted twice. `inputs`
    are slips about what goes in: a sentence and a function from the arguments to other arguments. `edits` are slips
    about the terms: a sentence and a function `(terms, *args)` to other terms. `factors` are slips about the whole: a
    sentence and a function `(total, *args)` to another number. Every sentence completes "this is exactly what comes
    out when ...".
    """

    terms: Callable
    nouns: dict[str, str]
    inputs: tuple[tuple[str, Callable], ...] = ()
    factors: tuple[tuple[str, Callable], ...] = ()
    edits: tuple[tuple[str, Callable], ...] = ()
    combine: Callable | None = None


@dataclass(frozen=True)
class Array:
    """A float64 array of the oracle's shape."""


@dataclass(frozen=True)
class Count:
    """An exact integer."""


@dataclass(frozen=True)
class Number:
    """One real number."""


@dataclass(frozen=True)
class Truth:
    """True or False."""


@dataclass(frozen=True)
class Indices:
    """A one-dimensional array of row numbers; negative ones count from the end of `length(args)` rows.

    `ties(args)` returns the strength of every row where rows of equal strength may stand for each other.
    """

    length: Callable
    ties: Callable | None = None


@dataclass(frozen=True)
class Parts:
    """A tuple or list of results, with the names the messages use for them."""

    names: tuple[str, ...]
    kinds: tuple


@dataclass(frozen=True)
class Record:
    """A dict with exactly these keys, each holding one number."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class Module:
    """A PyTorch module whose output, once known weights are loaded, is a float64 array."""


@dataclass(frozen=True)
class Exercise:
    """One exercise, complete: what is asked, what is right, what each slip looks like, and the help it offers.

    `probes(rng)` draws the probes; `oracle` is the answer that `reveal` shows, so it is written to be read. `accepts`
    replaces the comparison with the oracle where several values are right: it takes the arguments and the value and
    returns None or the Complaint that says what is wrong. `grammar` explains wrong counts that no listed misconception
    explains. `library` is the dotted name of ffnlib's own function for this exercise, which an answer may not
    merely call. `solution` is the source that `reveal` shows where the oracle is not itself an answer. `variants` are
    other ways to write the oracle, whose small edits explain wrong answers as well.
    """

    id: str
    probes: Callable
    oracle: Callable
    returns: Any
    misconceptions: tuple[Misconception, ...]
    hints: tuple[str, str, str]
    why: str
    wanted: str = "function"
    points: float = 1.0
    tolerance: float = 1e-9
    accepts: Callable | None = None
    grammar: Grammar | None = None
    library: str | None = None
    called_as: str = ""
    solution: str = ""
    variants: tuple[Callable, ...] = ()
    seed: int = 0

    def parameters(self) -> tuple[str, ...]:
        """Return the names of the arguments, in the order in which an answer receives them."""
        return tuple(inspect.signature(self.oracle).parameters)

    def call_text(self) -> str:
        """Return how an answer is called, for messages: `relu(x)`."""
        return self.called_as or f"{self.id}({', '.join(self.parameters())})"

    def answer_name(self) -> str:
        """Return the name an answer has in a notebook: the exercise's id, or the class it asks for."""
        return self.call_text().split("(")[0].strip()

    def check_text(self) -> str:
        """Return the line that checks an answer in a notebook, for messages: `check('relu', relu)`."""
        return f"check({self.id!r}, {self.answer_name()})"
