"""In which form right numbers are accepted, and which wrong forms are named.

`read(kind, seen)` turns a value as it was seen into a `Reading`: the numbers, the friendly notes it earns, and the
complaint when the form itself is not what the exercise asks for. Nothing here compares numbers with the right ones.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ffnlib.examination.exercise import Array, Count, Indices, Module, Number, Parts, Record, Truth
from ffnlib.examination.wording import type_words


@dataclass(frozen=True)
class Complaint:
    """A wrong form: its name, what it is, and what to do about it."""

    name: str
    because: str
    next: str


@dataclass(frozen=True)
class Reading:
    """What was read: the numbers (None when there are none), notes for the reader, and a complaint about the form."""

    value: object = None
    notes: tuple[str, ...] = ()
    complaint: Complaint | None = None


MATRIX = Complaint(
    "matrix", "the result is an np.matrix, whose * means a matrix product", "work with plain arrays: np.asarray(...)"
)
TEXT = Complaint("text", "text comes back where numbers are asked for", "return the numbers themselves, not their text")
COMPLEX = Complaint("complex", "the result has a complex dtype", "return real numbers; what made them complex?")
OBJECTS = Complaint(
    "object dtype",
    "the result is an array of Python objects, not of numbers",
    "build it of rows of numbers, all of one length",
)
MASKED = Complaint("masked", "some values of the result are masked, so they are missing", "fill or remove the mask")
BOOLEANS = Complaint(
    "booleans", "the result holds truth values where numbers are asked for", "return the numbers, not a comparison"
)
RAGGED = Complaint("ragged list", "the lists do not have equal lengths at every level", "return a rectangular array")
LARGE = Complaint("too large", "the result is far larger than the exercise asks for", "check its shape or its size")
NOTHING = Complaint("nothing returned", "the answer returns None", "let its last line begin with return")
ELLIPSIS = Complaint("ellipsis", "the answer returns the placeholder ...", "replace the ... by your own result")
NONE_INSIDE = Complaint(
    "None inside",
    "None stands where a number is asked for",
    "where there is no number, float('nan') stands for it; sort(), reverse() and shuffle() return None",
)
MASK_FOR_INDICES = Complaint(
    "mask for indices", "the result is a True/False mask, not row numbers", "np.flatnonzero(mask) gives the row numbers"
)
TUPLE_AROUND = Complaint(
    "tuple around", "the array sits inside a tuple with one item", "look for a comma at the end, or take item [0]"
)
VALUES_AND_INDICES = ("topk", "max", "min", "sort", "median", "mode", "kthvalue")
ONE_BY_ONE = ("map", "filter", "zip", "reversed", "list_reverseiterator", "range_iterator", "dict_values")


def low_precision(dtype: str) -> Complaint:
    """Return the complaint about a float type shorter than float64."""
    return Complaint("float32", f"the numbers are {dtype}, and the exercise asks for float64", "keep or make float64")


def unknown(type_name: str) -> Complaint:
    """Return the complaint about a type that is not read."""
    if type_name in ("function", "method", "builtin_function_or_method"):
        because = "a function comes back, and not what it gives"
        return Complaint("a function for its result", because, "call it: the brackets () are missing behind its name")
    if type_name in VALUES_AND_INDICES:
        because = f"torch.{type_name} along an axis gives values and indices together"
        return Complaint("values and indices", because, "take one of them: .values or .indices")
    step = "list(...) makes a list of it" if type_name in ONE_BY_ONE else "return plain numbers or arrays"
    step = "list(...) makes a list of it; where yield stands, return belongs" if type_name == "generator" else step
    return Complaint("type", f"the result is of type {type_name}, which is not read", step)


def read(kind, seen) -> Reading:
    """Return what `seen` says, read as `kind`."""
    if seen.kind == "none":
        return Reading(complaint=NOTHING)
    if seen.kind == "ellipsis":
        return Reading(complaint=ELLIPSIS)
    if seen.kind == "large":
        return Reading(complaint=LARGE)
    return READERS[type(kind)](kind, seen)


# ---------------------------------------------------------------- arrays


def read_array(_kind, seen) -> Reading:
    """Read numbers in any rectangular arrangement as a float64 array."""
    if seen.kind == "array":
        return _read_ndarray(seen)
    if seen.kind in ("int", "float", "fraction"):
        return _one_number(seen)
    if seen.kind in ("list", "tuple"):
        return _read_nested(seen)
    return Reading(complaint=_wrong_kind(seen))


def _read_ndarray(seen) -> Reading:
    notes = {"tensor": ("a torch tensor was read as an array",), "masked": ("nothing was masked, so it was read",)}
    if seen.note == "matrix":
        return Reading(_floats(seen.value), complaint=MATRIX)
    if seen.note == "masked values":
        return Reading(complaint=MASKED)
    if seen.value is None:
        return Reading(complaint=TEXT if seen.dtype == "text" else _unread_dtype(seen.dtype))
    if seen.value.dtype.kind == "c":
        return Reading(_floats(seen.value.real), complaint=COMPLEX)
    if seen.value.dtype.kind == "b":
        return Reading(_floats(seen.value), complaint=BOOLEANS)
    if seen.value.dtype.kind == "f" and seen.value.dtype.itemsize < 8:
        return Reading(_floats(seen.value), complaint=low_precision(seen.dtype))
    extra = ("longdouble numbers were rounded to float64",) if seen.dtype == "longdouble" else ()
    return Reading(_floats(seen.value), notes.get(seen.note, ()) + extra)


def _unread_dtype(dtype: str) -> Complaint:
    if dtype == "float64":
        return Complaint(
            "tensor without plain numbers",
            "the tensor holds no plain block of numbers",
            "make it dense and real: tensor.to_dense()",
        )
    return low_precision(dtype) if "float" in dtype else OBJECTS


def _floats(array) -> np.ndarray:
    return np.asarray(array, dtype=np.float64)


def _one_number(seen) -> Reading:
    try:
        return Reading(_floats(float(seen.value)))
    except OverflowError:
        return Reading(complaint=LARGE)


def _wrong_kind(seen) -> Complaint:
    if seen.kind == "none":
        return NONE_INSIDE
    if seen.kind == "text":
        return TEXT
    if seen.kind == "complex":
        return COMPLEX
    if seen.kind == "bool":
        return BOOLEANS
    return unknown(seen.type)


def _read_nested(seen) -> Reading:
    """Read nested lists of numbers (or of equally shaped arrays) as one array, with a note."""
    if seen.kind == "tuple" and len(seen.value) == 1 and seen.value[0].kind == "array" and seen.value[0].shape:
        inner = read_array(None, seen.value[0])
        return Reading(inner.value, inner.notes, TUPLE_AROUND)
    readings = [read_array(None, item) for item in seen.value]
    for reading in readings:
        if reading.complaint:
            return Reading(complaint=reading.complaint)
    values = [reading.value for reading in readings]
    if len({value.shape for value in values}) > 1:
        return Reading(complaint=RAGGED)
    return Reading(np.array(values, dtype=np.float64), (f"a {seen.kind} of numbers was read as an array",))


# ---------------------------------------------------------------- single values


def _scalar(seen):
    """Return the one Python number in `seen`, its notes and a complaint."""
    if seen.kind == "array":
        if seen.note == "matrix":
            return None, (), MATRIX
        if seen.value is None:
            return None, (), TEXT if seen.dtype == "text" else _unread_dtype(seen.dtype)
        if seen.value.size != 1:
            shape = Complaint(
                "an array for a number",
                f"the result has shape {seen.shape}, and one number is asked for",
                "which one number is meant?",
            )
            return None, (), shape
        notes = (
            ()
            if seen.note == "scalar" and not seen.shape
            else (f"an array of shape {seen.shape} was read as its one number",)
        )
        return seen.value.reshape(-1)[0], notes, None
    if seen.kind in ("list", "tuple") and len(seen.value) == 1:
        value, notes, complaint = _scalar(seen.value[0])
        if seen.kind == "tuple":
            return (
                value,
                notes,
                complaint
                or Complaint(
                    "tuple around", "the number sits inside a tuple", "look for a comma at the end of the line"
                ),
            )
        return value, (*notes, "a list with one number was read as the number"), complaint
    if seen.kind in ("list", "tuple"):
        because = f"the result is a {seen.kind} of {len(seen.value)} items, and one value is asked for"
        return None, (), Complaint("several for one", because, "bring them together into the one value that is meant")
    if seen.kind in ("int", "fraction") and abs(seen.value) > sys.float_info.max:
        return None, (), LARGE  # nothing can be computed with it beside floats
    if seen.kind in ("int", "float", "bool", "fraction", "complex"):
        return seen.value, (), None
    return None, (), _wrong_kind(seen)


def read_number(_kind, seen) -> Reading:
    """Read one real number."""
    value, notes, complaint = _scalar(seen)
    if complaint and value is None:
        return Reading(complaint=complaint)
    if isinstance(value, (bool, np.bool_)):
        return Reading(float(value), notes, BOOLEANS)
    if isinstance(value, (complex, np.complexfloating)):
        return Reading(float(value.real), notes, COMPLEX)
    if isinstance(value, np.floating) and value.dtype.itemsize < 8:
        return Reading(float(value), notes, low_precision(value.dtype.name))
    return Reading(float(value), notes, complaint)


def read_count(_kind, seen) -> Reading:
    """Read an exact integer; the value stays a float or Fraction when it is not whole, for the explanation."""
    value, notes, complaint = _scalar(seen)
    if complaint and value is None:
        return Reading(complaint=complaint)
    if isinstance(value, (bool, np.bool_)):
        return Reading(int(value), notes, BOOLEANS)
    if isinstance(value, (complex, np.complexfloating)):
        return Reading(None, notes, COMPLEX)
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return Reading(value, notes, complaint)
    if isinstance(value, float) and value != int(value) and abs(value - round(value)) <= min(4 * math.ulp(value), 1e-3):
        note = f"{value!r} was read as {round(value)}: / may leave a rounding error in a whole number, // does not"
        return Reading(round(value), (*notes, note), complaint)
    if isinstance(value, (float, Fraction)) and value != int(value):
        return Reading(value, notes, complaint)
    if isinstance(value, (float, Fraction)):
        notes = (*notes, f"a {type(value).__name__} with a whole value was read as an integer")
    return Reading(int(value), notes, complaint)


def read_truth(_kind, seen) -> Reading:
    """Read True or False; 1 and 0 count."""
    value, notes, complaint = _scalar(seen)
    if complaint and value is None:
        return Reading(complaint=complaint)
    if value == 1 or value == 0:
        extra = () if isinstance(value, (bool, np.bool_)) else (f"{value!r} was read as {bool(value)}",)
        return Reading(bool(value), (*notes, *extra), complaint)
    neither = Complaint("not a truth value", f"the result is {value!r}, neither True nor False", "return a comparison")
    return Reading(None, notes, neither)


def read_indices(_kind, seen) -> Reading:
    """Read row numbers; a mask, a tuple around them and a column of them are named."""
    if seen.kind == "array" and seen.value is not None and seen.value.dtype.kind == "b" and seen.value.size:
        return Reading(complaint=MASK_FOR_INDICES)
    if seen.kind in ("list", "tuple") and seen.value and all(item.kind == "bool" for item in seen.value):
        return Reading(complaint=MASK_FOR_INDICES)
    reading = read_array(None, seen)
    if reading.value is None or reading.complaint:
        return reading
    if not np.array_equal(reading.value, np.round(reading.value)):
        fractional = Complaint(
            "not row numbers",
            "the result holds fractions where row numbers are asked for",
            "return the positions, not the values",
        )
        return Reading(None, reading.notes, fractional)
    return reading if seen.kind == "array" else Reading(reading.value)  # a list of row numbers needs no remark


# ---------------------------------------------------------------- several values


def read_parts(kind, seen) -> Reading:
    """Read a tuple or list of results, each in its own form."""
    items = _items(kind, seen)
    if items is None:
        return Reading(
            complaint=Complaint(
                "parts",
                f"{type_words(seen)} came back where ({', '.join(kind.names)}) is asked for",
                "return all parts, separated by commas",
            )
        )
    if len(items) != len(kind.kinds):
        return Reading(
            complaint=Complaint(
                "parts",
                f"{len(items)} parts came back where ({', '.join(kind.names)}) is asked for",
                "return all parts in this order",
            )
        )
    readings = [Reading(complaint=NONE_INSIDE) if i.kind == "none" else read(k, i) for k, i in zip(kind.kinds, items)]
    notes = tuple(f"{name}: {note}" for name, reading in zip(kind.names, readings) for note in reading.notes)
    complaint = next((_about(name, r.complaint) for name, r in zip(kind.names, readings) if r.complaint), None)
    return Reading(tuple(reading.value for reading in readings), notes, complaint)


def _items(kind, seen):
    """Return the parts of a value; an array is taken for several parts only when each of them is one number."""
    if seen.kind in ("list", "tuple"):
        return seen.value
    single = not any(isinstance(part, (Array, Indices)) for part in kind.kinds)
    if single and seen.kind == "array" and seen.value is not None and seen.value.ndim >= 1 and seen.note != "matrix":
        return [
            type(seen)("array", seen.type, part, seen.dtype, part.shape, seen.note)
            for part in map(np.asarray, seen.value)
        ]
    return None


def _about(name: str, complaint: Complaint) -> Complaint:
    return Complaint(complaint.name, f"in {name}: {complaint.because}", complaint.next)


def read_record(kind, seen) -> Reading:
    """Read a dict with the keys asked for, each one number."""
    if seen.kind != "dict":
        return Reading(
            complaint=Complaint(
                "not a dict",
                f"the result is a {seen.type}, and a dict with the keys {', '.join(kind.keys)} is asked for",
                "return {...} with these keys",
            )
        )
    found = dict(seen.value)
    if set(found) != set(kind.keys):
        return Reading(
            complaint=Complaint(
                "keys",
                f"the keys are {', '.join(sorted(found)) or 'none'}, asked for are {', '.join(kind.keys)}",
                "use exactly these keys",
            )
        )
    readings = {key: _read_score(found[key]) for key in kind.keys}
    notes = tuple(f"{key}: {note}" for key, reading in readings.items() for note in reading.notes)
    complaint = next((_about(key, r.complaint) for key, r in readings.items() if r.complaint), None)
    return Reading(tuple(reading.value for reading in readings.values()), notes, complaint)


def _read_score(seen) -> Reading:
    """Read one number of a record; a yes or no counts as 1 or 0, since a share of one case is a yes or no."""
    reading = read_number(None, seen)
    if reading.complaint is not BOOLEANS:
        return reading
    return Reading(reading.value, (*reading.notes, f"{bool(reading.value)} was read as {reading.value:g}"))


def read_module(_kind, seen) -> Reading:
    """Read what a module gave; a plain array stands for the result of one."""
    from ffnlib.examination.module_forms import read_facts

    return read_facts(seen) if seen.kind == "module" else read_array(None, seen)


READERS = {
    Array: read_array,
    Number: read_number,
    Count: read_count,
    Truth: read_truth,
    Indices: read_indices,
    Parts: read_parts,
    Record: read_record,
    Module: read_module,
}
