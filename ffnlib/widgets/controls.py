"""The four kinds of control, as data: a name to say, a default position, and what becomes of a position asked for.

`read(asked)` returns `(value, sentence)`. It never refuses: a number outside the range becomes the nearest one inside,
something that is no number leaves the control where it was, and the sentence says so; it is empty when all is well.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np


class Control:
    """What all controls share: the description that the front end draws them from."""

    kind: ClassVar[str]

    def spec(self) -> dict[str, Any]:
        """The control as plain data."""
        return {"kind": self.kind, **asdict(self)}

    def plain(self, value: Any) -> Any:
        """The position as numbers, texts and lists, the way the front end wants it."""
        return value

    def said(self, value: Any) -> str:
        """The position in words, for a page on which nothing can be moved."""
        return f"{self.label} = {value}"  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Slider(Control):
    """A number between `low` and `high`, in steps."""

    kind: ClassVar[str] = "slider"
    label: str
    low: float
    high: float
    step: float = 1
    value: float | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        if not self.low < self.high or self.step <= 0:
            raise ValueError(
                f"{self.label}: low={self.low!r}, high={self.high!r}, step={self.step!r} leave nothing to move. "
                "low must be below high and step above 0."
            )
        object.__setattr__(self, "value", self.low if self.value is None else self.value)
        value, sentence = self.read(self.value)
        if sentence or abs(value - self.value) > 1e-9:
            raise ValueError(
                f"{self.label}: value={self.value!r} is not a position from {self.low} in steps of {self.step}."
            )

    def read(self, asked: Any) -> tuple[float, str]:
        """The position nearest to what was asked for."""
        number, sentence = _number(asked, self.low, self.high, self.value, self.label)
        # Decimal counts the steps: with floats 0 + 3 * 0.1 would be 0.30000000000000004.
        low, step = Decimal(str(self.low)), Decimal(str(self.step))
        on_grid = low + round((Decimal(str(number)) - low) / step) * step
        if on_grid > self.high:
            on_grid -= step
        whole = isinstance(self.low, int) and isinstance(self.step, int)
        return (int(on_grid) if whole else float(on_grid)), sentence

    def said(self, value: float) -> str:
        """The position with its unit."""
        return f"{self.label} = {value}{self.unit}"


@dataclass(frozen=True)
class Choice(Control):
    """One of several; the options are handed to the function as they are, and shown as text."""

    kind: ClassVar[str] = "choice"
    label: str
    options: Sequence[Any]
    value: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", tuple(self.options))
        object.__setattr__(self, "value", self.options[0] if self.value is None else self.value)
        if self.value not in self.options:
            raise ValueError(f"{self.label}: value={self.value!r} is none of options={self.options!r}.")

    def spec(self) -> dict[str, Any]:
        """The control as plain data, its options as text."""
        texts = [str(option) for option in self.options]
        return {"kind": self.kind, "label": self.label, "options": texts, "value": str(self.value)}

    def plain(self, value: Any) -> str:
        """The option as it is shown."""
        return str(value)

    def read(self, asked: Any) -> tuple[Any, str]:
        """The option that was asked for, or shown under this text."""
        for option in self.options:
            if asked == option or asked == str(option):
                return option, ""
        return (
            self.value,
            f"{self.label}: {asked!r} is none of {', '.join(map(str, self.options))}; {self.value} is used.",
        )


@dataclass(frozen=True)
class Toggle(Control):
    """On or off."""

    kind: ClassVar[str] = "toggle"
    label: str
    value: bool = False

    def read(self, asked: Any) -> tuple[bool, str]:
        """True or False."""
        return bool(asked), ""

    def said(self, value: bool) -> str:
        """On or off, in words."""
        return f"{self.label}: {'on' if value else 'off'}"


@dataclass(frozen=True)
class Matrix(Control):
    """A small matrix or vector of numbers, each in a field of its own; the function receives a float64 array.

    **Shapes** value (columns,) or (rows, columns)
    """

    kind: ClassVar[str] = "matrix"
    label: str
    value: Any
    low: float = -9
    high: float = 9
    step: float = 0.5
    rows: Sequence[str] = field(default=())
    columns: Sequence[str] = field(default=())

    def __post_init__(self) -> None:
        value = np.array(self.value, dtype=np.float64)
        if value.ndim not in (1, 2) or value.size == 0:
            raise ValueError(f"{self.label}: a value of shape {value.shape} is no vector and no matrix.")
        value.setflags(write=False)
        object.__setattr__(self, "value", value)
        height, width = np.atleast_2d(value).shape
        object.__setattr__(self, "rows", tuple(self.rows) or tuple(f"row {row}" for row in range(height)))
        object.__setattr__(self, "columns", tuple(self.columns) or tuple(f"column {column}" for column in range(width)))
        if (len(self.rows), len(self.columns)) != (height, width):
            raise ValueError(
                f"{self.label}: rows={self.rows!r} and columns={self.columns!r} do not name {value.shape}."
            )

    def spec(self) -> dict[str, Any]:
        """The control as plain data; a vector is one row of fields."""
        one_row = self.value.ndim == 1
        names = [[column if one_row else f"{row}, {column}" for column in self.columns] for row in self.rows]
        return {
            "kind": self.kind,
            "label": self.label,
            "names": [[f"{self.label}, {name}" for name in row] for row in names],
            "rows": [] if one_row else list(self.rows),
            "columns": list(self.columns),
            "step": self.step,
            "value": self.plain(self.value),
        }

    def plain(self, value: np.ndarray) -> list[list[float]]:
        """The numbers, row by row."""
        return np.atleast_2d(value).tolist()

    def read(self, asked: Any) -> tuple[np.ndarray, str]:
        """The numbers asked for, each brought into the range on its own."""
        value, sentences = np.atleast_2d(np.array(self.value)), []
        entries = np.array(asked, dtype=object).reshape(-1)
        if entries.size != value.size:
            return np.array(
                self.value
            ), f"{self.label}: {entries.size} numbers do not fill a shape of {self.value.shape}."
        for place, name, entry in zip(np.ndindex(value.shape), np.ravel(self.spec()["names"]), entries, strict=True):
            value[place], sentence = _number(entry, self.low, self.high, float(value[place]), name)
            sentences.append(sentence)
        return value.reshape(self.value.shape), " ".join(filter(None, sentences))

    def said(self, value: np.ndarray) -> str:
        """The numbers, row by row."""
        rows = [", ".join(f"{number:g}" for number in row) for row in np.atleast_2d(value)]
        return f"{self.label} = ({' | '.join(rows)})"


def _number(asked: Any, low: float, high: float, otherwise: float, label: str) -> tuple[float, str]:
    """The number asked for, brought between low and high, and the sentence that says what was changed."""
    try:
        number = float(asked)
    except (TypeError, ValueError):
        number = np.nan
    if np.isnan(number):
        return (
            otherwise,
            f"{label}: {'an empty field' if asked in ('', None) else repr(asked)} is no number; {otherwise:g} is used.",
        )
    if number < low:
        return low, f"{label}: {number:g} is below {low:g}; {low:g} is used."
    if number > high:
        return high, f"{label}: {number:g} is above {high:g}; {high:g} is used."
    return number, ""
