"""One widget for every lesson: controls above, a picture and its sentence below, and a page that reads without either.

`explore` computes the picture of the default position at once. What reaches the cell's output is the words
(`text/plain`), the card of `ffnlib.figures` (`text/html`), and, where a front end can show it, the live widget. A
reader without a kernel, a printed page and nbval therefore see the default position: the static twin.
"""

import inspect
import os
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffnlib.figures import PALETTE, Picture, Table, card

if TYPE_CHECKING:
    from ffnlib.widgets.controls import Control

LIVE = "application/vnd.jupyter.widget-view+json"
"""The entry of a stored output that names a running widget: worthless once the kernel is gone, so not worth storing."""


def explore(function: Callable[..., Any], title: str, **controls: "Control") -> "Explorer | None":
    """A widget that shows `function(**positions)` for the positions of the controls, each named as its parameter.

    The function returns a `Picture`, a `Table`, or `(figure, words)`. In a process that only gathers answers
    (FFNLIB_WORKER=1) nothing is computed and None comes back.

    **Raises** TypeError when the controls are not the function's parameters; what the function raises at the default.
    """
    if os.environ.get("FFNLIB_WORKER") == "1":
        return None
    _same_names(function, controls)
    return Explorer(function, title, controls)


def _same_names(function: Callable[..., Any], controls: dict[str, "Control"]) -> None:
    parameters = inspect.signature(function).parameters
    for name in controls:
        _known(name, parameters, f"parameter of {function.__name__}")
    missing = [name for name, one in parameters.items() if one.default is one.empty and name not in controls]
    if missing:
        raise TypeError(f"{function.__name__} also needs {missing!r}: give each a control or a default.")


def _known(name: str, names: Iterable[str], kind: str) -> None:
    near = get_close_matches(name, names, 1)
    if name not in names:
        hint = f"did you mean {near[0]!r}?" if near else f"there is {', '.join(map(repr, names)) or 'none'}."
        raise TypeError(f"{name!r} is no {kind}: {hint}")


class Explorer:
    """Controls, their positions, and what the function shows there; `move` is what a hand on a control does."""

    def __init__(self, function: Callable[..., Any], title: str, controls: dict[str, "Control"]) -> None:
        self.function, self.title, self.controls = function, title, controls
        self.positions: dict[str, Any] = {name: control.value for name, control in controls.items()}  # type: ignore[attr-defined]
        self.shown = self._show()
        self.note = ""
        self.error: Exception | None = None
        self._live: Any = None

    def move(self, **asked: Any) -> "Explorer":
        """Set some controls and compute again; what cannot be done as asked is said in `note`."""
        notes = []
        for name, position in asked.items():
            _known(name, self.controls, "control of this widget")
            self.positions[name], sentence = self.controls[name].read(position)  # type: ignore[attr-defined]
            notes.append(sentence)
        try:
            self.shown, self.error = self._show(), None
        except Exception as error:
            # Kept and said: an exception in a widget's callback would otherwise end in a log nobody reads.
            self.error = error
            notes.append(
                f"This position cannot be shown: {type(error).__name__}: {error}. You still see the one before."
            )
        self.note = " ".join(filter(None, notes))
        return self

    def _show(self) -> Picture | Table:
        result = self.function(**self.positions)
        shown = Picture(*result) if isinstance(result, tuple) and len(result) == 2 else result
        if not isinstance(shown, Picture | Table):
            kind = type(result).__name__
            raise TypeError(
                f"{self.function.__name__} returned {kind}; a Picture, a Table or (figure, words) is needed."
            )
        _ = shown.body  # drawn now, so that a picture that cannot be drawn is caught where the function is
        return shown

    @property
    def words(self) -> str:
        """The sentence of the present position."""
        return self.shown.words

    def __repr__(self) -> str:
        return self.words

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": self.words, "text/html": card(self._twin(), self.words)}
        live = self._panel()
        if live is not None:
            bundle[LIVE] = {"version_major": 2, "version_minor": 0, "model_id": live.model_id}
        return bundle

    def _twin(self) -> str:
        said = "; ".join(control.said(self.positions[name]) for name, control in self.controls.items())
        heading = f"<strong>{escape(self.title)}</strong><br>Shown for {escape(said)}."
        look = f"color: {PALETTE['ink']}; font-size: 14px; margin: 0px 0px 8px 0px;"
        return f'<p style="{look}">{heading}</p>{self.shown.body}'

    def _panel(self) -> Any:
        """The live widget, made when it is first displayed; None where there is no anywidget."""
        try:
            if self._live is None:
                self._live = _panel_class()(title=self.title, **self._state(), controls=self._specs())
                self._live.on_msg(self._answer)
        except ImportError:
            return None
        return self._live

    def _specs(self) -> list[dict[str, Any]]:
        return [{"name": name, **control.spec()} for name, control in self.controls.items()]

    def _state(self) -> dict[str, Any]:
        plain = {name: control.plain(self.positions[name]) for name, control in self.controls.items()}
        return {"positions": plain, "body": self.shown.body, "words": self.words, "note": self.note}

    def _answer(self, _panel: Any, content: dict[str, Any], _buffers: Any) -> None:
        """What happens when the front end asks for positions: `turn` comes back, so that it knows which are shown."""
        self.move(**{name: asked for name, asked in content["asked"].items() if name in self.controls})
        with self._live.hold_sync():
            for name, value in {**self._state(), "turn": content["turn"]}.items():
                setattr(self._live, name, value)


@cache
def _panel_class() -> type:
    """The one widget class of the course. It is made late: anywidget is imported when something is displayed."""
    import anywidget
    import traitlets

    here = Path(__file__).parent

    class Panel(anywidget.AnyWidget):
        """The front end's half: traits that the script draws, and one message back."""

        _esm = (here / "explorer.js").read_text(encoding="utf-8")
        _css = (here / "explorer.css").read_text(encoding="utf-8")
        title = traitlets.Unicode().tag(sync=True)
        controls = traitlets.List().tag(sync=True)
        positions = traitlets.Dict().tag(sync=True)
        body = traitlets.Unicode().tag(sync=True)
        words = traitlets.Unicode().tag(sync=True)
        note = traitlets.Unicode().tag(sync=True)
        turn = traitlets.Int(0).tag(sync=True)

    return Panel
