"""One call: what the oracle gives for its arguments, what the answer gave, and how the two differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ffnlib.examination import evidence as gathering
from ffnlib.examination.compare import Difference, difference
from ffnlib.examination.evidence import Observation, Raised
from ffnlib.examination.exercise import Exercise, Indices, Parts, Remote
from ffnlib.examination.forms import TUPLE_AROUND, Reading, read

LOW_PRECISION = 2e-5  # relative: what float32 carries through a few sums


@dataclass(frozen=True)
class Trial:
    """One call: the arguments, what the oracle gives, what the answer gave, and how they differ (None: not at all)."""

    args: tuple
    expected: Reading | None
    expected_error: Raised | None
    observation: Observation
    reading: Reading | None
    difference: Difference | None


def outcome(exercise: Exercise, program, args: tuple) -> tuple[Reading | None, Raised | None]:
    """Return what a program of ours gives for the arguments: a reading, or what it raises."""
    given = tuple(arg.function if type(arg) is Remote else gathering.copy_plain(arg) for arg in args)
    try:
        return _normalised(exercise.returns, read(exercise.returns, gathering.take(program(*given))), args), None
    except Exception as error:
        return None, gathering.describe(error)


def _normalised(kind, reading: Reading, args: tuple) -> Reading:
    """Return the reading with negative row numbers counted from the start, and ties in the order of their rows."""
    if isinstance(kind, Indices) and reading.value is not None:
        rows = kind.length(*args)
        value = np.where(reading.value < 0, reading.value + rows, reading.value)
        value = in_row_order(value, kind.ties(*args)) if kind.ties else value
        return Reading(value, reading.notes, reading.complaint)
    if isinstance(kind, Parts) and isinstance(reading.value, tuple):
        parts = [_normalised(k, Reading(v), args).value for k, v in zip(kind.kinds, reading.value)]
        return Reading(tuple(parts), reading.notes, reading.complaint)
    return reading


def in_row_order(rows: np.ndarray, strengths: np.ndarray) -> np.ndarray:
    """Return row numbers with rows of equal strength exchanged so that the earlier row is named first.

    A row that is named twice stays named twice.

    >>> in_row_order(np.array([4.0, 0.0, 1.0]), np.array([7.0, 5.0, 7.0, 5.0, 9.0])).tolist()
    [4.0, 0.0, 1.0]
    >>> in_row_order(np.array([2.0, 3.0, 3.0]), np.array([7.0, 5.0, 7.0, 5.0, 9.0])).tolist()
    [0.0, 1.0, 1.0]
    """
    in_range = rows.ndim == 1 and bool(np.all((rows >= 0) & (rows < len(strengths))))
    if not in_range or len(np.unique(strengths)) == len(strengths):
        return rows
    names: dict[int, float] = {}
    for row in rows:
        equal = np.flatnonzero(strengths == strengths[int(row)])
        taken = sum(other in names for other in equal)
        if int(row) not in names:
            names[int(row)] = float(equal[taken])
    return np.array([names[int(row)] for row in rows], dtype=np.float64)


def put_to_trial(exercise: Exercise, args: tuple, seen: Observation) -> Trial:
    """Return one call with what the oracle gives for it beside what was seen."""
    expected, error = outcome(exercise, exercise.oracle, args)
    reading = _normalised(exercise.returns, read(exercise.returns, seen.returned), args) if seen.returned else None
    reading = _as_one_row(reading, expected) if reading and reading.complaint is TUPLE_AROUND else reading
    return Trial(args, expected, error, seen, reading, _difference(exercise, args, expected, error, seen, reading))


def _as_one_row(reading: Reading, expected: Reading | None) -> Reading:
    """Return a tuple around a vector as an array with one row, where one row is what is asked for."""
    if reading.value is None or expected is None or np.shape(expected.value) != (1, *reading.value.shape):
        return reading
    return Reading(reading.value[None], (*reading.notes, "a tuple of numbers was read as an array"))


def _difference(exercise, args, expected, error: Raised | None, seen: Observation, reading) -> Difference | None:
    if seen.raised:
        if error and error.types[0] in seen.raised.types:
            return None
        return Difference(_raised_text(seen.raised), "raised")
    if error:
        return Difference(f"a result, where {error.types[0]} should be raised", "not raised")
    if reading.value is None or (isinstance(reading.value, tuple) and any(part is None for part in reading.value)):
        return Difference(reading.complaint.because if reading.complaint else "no number that can be read", "form")
    if both_empty(seen.returned, reading.value, expected.value):
        return None
    if exercise.accepts is not None:
        refused = exercise.accepts(*args, value=reading.value)
        return Difference(refused.because, "refused", refused) if refused else None
    return difference(
        reading.value,
        expected.value,
        exercise.tolerance,
        getattr(exercise.returns, "names", getattr(exercise.returns, "keys", ())),
    )


def both_empty(returned, got, expected) -> bool:
    """Return whether nested lists without any number stand for an array without any: lists cannot say its shape."""
    arrays = isinstance(got, np.ndarray) and isinstance(expected, np.ndarray)
    return arrays and returned.kind in ("list", "tuple") and got.size == expected.size == 0


def _raised_text(raised) -> str:
    where = f" (line {raised.line} of your code)" if raised.line else ""
    return f"{raised.types[0]}: {raised.text}{where}" if raised.text else f"{raised.types[0]}{where}"


def said(error: Raised) -> tuple[str, str]:
    """Return what tells one error from another: its type and its text."""
    return error.types[0], error.text


def tolerance_for(exercise: Exercise, reading: Reading) -> float:
    """Return the tolerance that the precision of the numbers allows."""
    low = reading.complaint is not None and reading.complaint.name == "float32"
    return max(exercise.tolerance, LOW_PRECISION) if low else exercise.tolerance
