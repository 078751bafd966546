"""How a message speaks of calls and values."""

from __future__ import annotations

import numpy as np

from ffnlib.examination.compare import count_text, number_text
from ffnlib.examination.exercise import Exercise, Remote

NUMBERS_SHOWN = 8  # a call with at most so many numbers in all is shown with them, to be done by hand


def call_words(exercise: Exercise, args: tuple) -> str:
    """Return the call in words: numbers and small arrays by their values, other arrays by their shape."""
    names = exercise.parameters() if not exercise.called_as else ()
    few = numbers_in(args) <= NUMBERS_SHOWN
    detail = ", ".join(_argument_words(name, arg, few) for name, arg in zip(names, args))
    return f"{exercise.call_text()} with {detail}" if detail else exercise.call_text()


def _argument_words(name: str, arg, few: bool) -> str:
    if isinstance(arg, np.ndarray) and not (few and arg.size):
        return f"{name} of shape {arg.shape}"
    return f"{name} = {_argument_text(arg)}"


def _argument_text(arg) -> str:
    if isinstance(arg, np.ndarray):
        entries = [_argument_text(entry) for entry in arg] if arg.ndim else [number_text(arg)]
        return f"[{', '.join(entries)}]" if arg.ndim else entries[0]
    if isinstance(arg, np.generic):
        return number_text(arg)
    if isinstance(arg, Remote):
        return (arg.function.__doc__ or "a function").partition("\n")[0].rstrip(".")
    if isinstance(arg, bool) or arg is None:
        return str(arg)
    if isinstance(arg, int):
        return count_text(arg)
    return number_text(arg) if isinstance(arg, float) else f"a {type(arg).__name__}"


def numbers_in(args: tuple) -> int:
    """Return how many numbers the arguments of a call hold in all."""
    return sum(arg.size if isinstance(arg, np.ndarray) else 1 for arg in args if not isinstance(arg, Remote))


def answer_words(answer) -> str:
    """Return in words what was handed in where something else is asked for."""
    if answer.kind == "array":
        return f"{type_words(answer)} of shape {answer.shape}"
    if answer.kind in ("int", "float", "bool", "text"):
        return f"{answer.value!r} ({type_words(answer)})"
    return type_words(answer)


def type_words(seen) -> str:
    """Return in words what kind of thing a value is."""
    if seen.kind == "array":
        return "an array"
    return "None" if seen.kind == "none" else _a(seen.type)


def _a(noun: str) -> str:
    return f"an {noun}" if noun[:1].lower() in "aeio" else f"a {noun}"
