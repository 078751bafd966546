"""Whether two readings agree, and where they first differ."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ffnlib.examination.forms import Complaint


@dataclass(frozen=True)
class Difference:
    """How a value differs from the one expected, in words; and what to call it, where it has a name of its own."""

    words: str
    kind: str = "value"
    complaint: Complaint | None = None


def close(a: np.ndarray, b: np.ndarray, tolerance: float) -> np.ndarray:
    """Return where two arrays agree to `tolerance`, relative plus absolute; NaN agrees with NaN, inf with inf."""
    with np.errstate(all="ignore"):
        near = np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= tolerance * (1.0 + np.abs(b)))
    return near | (a == b) | (np.isnan(a) & np.isnan(b))


def difference(got, expected, tolerance: float, names: tuple[str, ...] = ()) -> Difference | None:
    """Return None when two values that were read agree, else the first difference in words."""
    if isinstance(expected, tuple):
        for position, (a, b) in enumerate(zip(got, expected)):
            found = difference(a, b, tolerance)
            if found:
                name = names[position] if position < len(names) else f"part {position}"
                return Difference(f"in {name}: {found.words}", found.kind)
        return None
    if got is None or expected is None:
        return None if got is expected else Difference("no number that can be read")
    if isinstance(expected, np.ndarray):
        return _array_difference(got, expected, tolerance)
    if isinstance(expected, bool) or isinstance(got, bool):
        return None if got == expected else Difference(f"{got}, expected {expected}")
    if isinstance(expected, int):
        return None if got == expected else Difference(f"{count_text(got)}, expected {count_text(expected)}")
    near = bool(close(np.float64(got), np.float64(expected), tolerance))
    return None if near else Difference(pair_text(got, expected))


def _array_difference(got: np.ndarray, expected: np.ndarray, tolerance: float) -> Difference | None:
    if got.shape != expected.shape:
        return Difference(f"shape {got.shape}, expected {expected.shape}", "shape")
    agree = close(got, expected, tolerance)
    if agree.all():
        return None
    wrong = np.argwhere(~np.atleast_1d(agree))
    place = tuple(int(i) for i in wrong[0]) if expected.ndim else ()
    with np.errstate(all="ignore"):
        gaps = np.abs(got - expected)[~agree] if expected.ndim else np.abs(got - expected)
    largest = np.nanmax(gaps) if np.isfinite(gaps).any() else math.nan
    where = f"first difference at {list(place)}: " if expected.ndim else ""
    extent = f"   ({len(wrong)} of {expected.size} differ, largest {number_text(largest)})" if expected.size > 1 else ""
    shape = f"shape {got.shape}; " if expected.ndim else ""
    return Difference(f"{shape}{where}{pair_text(got[place], expected[place])}{extent}")


def number_text(value) -> str:
    """Return a number short enough to read, with the digits that matter."""
    return f"{float(value):.6g}"


def pair_text(got, expected) -> str:
    """Return two numbers that differ, with as many digits as it takes to see that.

    >>> pair_text(1.0, 2.0), pair_text(1.00000001, 1.0)
    ('1, expected 2', '1.00000001, expected 1')
    """
    left, right = number_text(got), number_text(expected)
    if left == right:
        left, right = f"{float(got):.12g}", f"{float(expected):.12g}"
    return f"{left}, expected {right}"


def count_text(value) -> str:
    """Return a count with its thousands marked, and a fraction where it has one.

    >>> count_text(762048), count_text(762048.5), count_text(0.25)
    ('762,048', '762,048.5', '0.25')
    """
    if isinstance(value, int):
        return f"{value:,}" if value.bit_length() < 400 else f"an integer of {len(str(abs(value)))} digits"
    if not isinstance(value, (float, Fraction)):
        return str(value)
    short = f"{float(value):,.6g}"
    return short if re.search(r"[.a-z]", short) else f"{float(value):,.12g}"
